// The instances of the AscendC API that kernels share; ascendc/instances.h lists them.
#define ATTNEMU_INSTANCE
#include "kernel_operator.h"
