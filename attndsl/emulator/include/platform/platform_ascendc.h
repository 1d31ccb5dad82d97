// The path of newer host programs.
#pragma once
#include "tiling/platform/platform_ascendc.h"
