// asc-devkit's path to what kernels print and assert.
#pragma once
#include "kernel_operator.h"
