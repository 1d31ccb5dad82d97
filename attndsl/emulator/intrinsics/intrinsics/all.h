// The device compiler's own names, as AscendC's headers call them in a split compile, over the device model.
#pragma once
#include "attnemu/harness.h"
#include "copy.h"
#include "cube.h"
#include "pointers.h"
#include "sync.h"
#include "types.h"
#include "unmodelled.h"
#include "vector.h"
