// What a program's kernels start with, on a CANN's headers.
#pragma once
#include "kernel_operator.h"
