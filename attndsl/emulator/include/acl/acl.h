// What a host program includes for the acl runtime.
#pragma once
#include "acl_base.h"
#include "acl_rt.h"
