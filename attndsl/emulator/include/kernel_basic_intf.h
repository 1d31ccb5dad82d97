// asc-devkit's path to a part of the API; here all of it comes at once.
#pragma once
#include "kernel_operator.h"
