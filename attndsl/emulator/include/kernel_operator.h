// The AscendC API of Atlas A2 on the emulator: what a kernel file includes. Names, signatures and defaults are those of
// CANN 8.1.RC1; what is not here is not covered, and using it is a compile error.
#pragma once
#include "ascendc/cube.h"
#include "ascendc/data_copy.h"
#include "ascendc/macros.h"
#include "ascendc/params.h"
#include "ascendc/pipe.h"
#include "ascendc/sync.h"
#include "ascendc/sys.h"
#include "ascendc/tensor.h"
#include "ascendc/types.h"
#include "ascendc/vector_arith.h"
#include "ascendc/vector_cast.h"
#include "ascendc/vector_compare.h"
#include "ascendc/vector_gather.h"
#include "ascendc/vector_reduce.h"
#include "ascendc/vector_sort.h"
