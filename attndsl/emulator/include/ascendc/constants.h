// Constants that kernels take from the API's headers: units, sizes of Atlas A2's memories, limits (values of CANN 8.1.RC1).
#pragma once
#include <cstddef>
#include <cstdint>

#include "attnemu/limits.h"

namespace AscendC {

constexpr uint64_t MASK_PLACEHOLDER = 0;
constexpr uint64_t FULL_MASK = ~0ull;
constexpr int32_t FULL_MASK_LEN = 128;
constexpr uint16_t MAX_HALF_MASK_LEN = 64;
constexpr int32_t MAX_REPEAT_TIMES = attnemu::kMaxRepeat;
constexpr int32_t MIN_REPEAT_TIMES = 0;
constexpr int32_t MAX_BLOCK_COUNT = attnemu::kMaxCopyBlocks;
constexpr uint16_t UINT12_MAX = 4095;
constexpr uint16_t UINT15_MAX = 32767;

constexpr uint16_t ONE_BLK_SIZE = attnemu::kBlock;
constexpr int32_t DEFAULT_C0_SIZE = attnemu::kBlock;
constexpr int32_t ONE_REPEAT_BYTE_SIZE = attnemu::kRepeatBytes;
constexpr int32_t DEFAULT_BLOCK_SIZE = 256;
constexpr int32_t DEFAULT_BLK_NUM = 8;
constexpr int32_t DEFAULT_BLK_STRIDE = 1;
constexpr uint8_t DEFAULT_REPEAT_STRIDE = 8;
constexpr uint8_t HALF_DEFAULT_REPEAT_STRIDE = 4;
constexpr uint8_t ONE_FOURTH_DEFAULT_REPEAT_STRIDE = 2;
constexpr int32_t ONE_BYTE_BIT_SIZE = 8;
constexpr uint8_t B64_BYTE_SIZE = 8, B32_BYTE_SIZE = 4, B16_BYTE_SIZE = 2, B8_BYTE_SIZE = 1;
constexpr uint8_t B32_DATA_NUM_PER_BLOCK = 8, B16_DATA_NUM_PER_BLOCK = 16;
constexpr int32_t B16_DATA_NUM_PER_REPEAT = 128, B32_DATA_NUM_PER_REPEAT = 64;
constexpr uint32_t HALF_REPEAT_SIZE = 128, FLOAT_REPEAT_SIZE = 64;
constexpr uint32_t ONE_REPEAT_HALF_SIZE = 128, ONE_REPEAT_FLOAT_SIZE = 64;
constexpr uint32_t ONE_BLK_HALF_NUM = 16, ONE_BLK_FLOAT_NUM = 8;
constexpr uint32_t BRCB_BROADCAST_NUMBER = 8;
constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;
constexpr uint8_t MRG_SORT_ELEMENT_LEN = 4;
constexpr uint32_t BF16_TO_FP32_MAN_LEN = 16;

constexpr int32_t BLOCK_CUBE = 16;
constexpr int32_t CUBE_MAX_SIZE = 256;
constexpr int32_t BYTE_PER_FRACTAL = attnemu::kFractal;
constexpr uint32_t PAD_SIZE = 4;
constexpr uint32_t K_MAX_DIM = 8;
constexpr uint32_t K_MAX_SHAPE_DIM = 8;

constexpr uint32_t TOTAL_UB_SIZE = attnemu::kUbBytes;
constexpr int32_t TOTAL_VEC_LOCAL_SIZE = attnemu::kSelectScratch;
constexpr uint32_t TMP_UB_OFFSET = attnemu::kSelectScratch, TMP_UB_SIZE = TOTAL_UB_SIZE - TMP_UB_OFFSET;
constexpr uint32_t TOTAL_L0A_SIZE = attnemu::kL0aBytes, TOTAL_L0B_SIZE = attnemu::kL0bBytes, TOTAL_L0C_SIZE = attnemu::kL0cBytes;
constexpr uint32_t CACHE_LINE_SIZE = 64;
constexpr size_t RESERVED_WORKSPACE = attnemu::kSystemWorkspace;

}  // namespace AscendC
