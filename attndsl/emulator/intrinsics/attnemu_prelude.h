// What a program's kernels start with, on a CANN's headers.
#pragma once
#include <kernel_operator.h>  // quoted, it would be found here, and its namesake behind it not at all
