#pragma once
#include "kernel_operator.h"
#include "ascendc/matmul.h"
