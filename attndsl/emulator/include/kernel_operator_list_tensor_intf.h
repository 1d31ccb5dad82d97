// Tensor lists: a kernel that takes one includes this file by itself, as with CANN.
#pragma once
#include "ascendc/list_tensor.h"
