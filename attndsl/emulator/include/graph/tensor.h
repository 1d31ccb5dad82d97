// Shapes of host programs, where those of the graph engine find them.
#pragma once
#include "tiling/shape.h"
