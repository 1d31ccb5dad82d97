// What an installation links under this name.
#pragma once
#include "lib/matmul/tiling.h"
