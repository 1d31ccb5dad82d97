// The plan of a launch of CANN's incre_flash_attention on Atlas A2 as its operator's documents and public host code have
// it, and its tensors: what our hosts of its kernels share.
// AIV LAYOUT B N KVN D S SCALE PARTS PAGE RATIO, tensors from files in the folder.
#pragma once
#include <algorithm>

#include "../host_files.h"
#include "ifa_tiling.h"

inline bool given(const char* name) { return std::ifstream(std::string(name) + ".bin").good(); }
inline void* optional(const char* name) { return given(name) ? copied(numbers<uint8_t>(name)) : nullptr; }
// Keys and values of int8 come with factors, and so does a result of int8; the first are multiplied with a query that is cut into
// two int8 parts.
inline bool small_keys() { return given("antiquant_scale"); }
inline bool small_result() { return given("quant_scale"); }
inline uint32_t query_parts() { return small_keys() ? 2 : 1; }

// What a launch computes. Parts: into how many the keys of a row are cut among cores, 0: not at all; block: rows of a page, 0: not paged;
// ratio: vector cores of a block.
struct Shape {
  explicit Shape(int count, char** words) {
    require(count == 12, "arguments");
    uint32_t *fields[] = {&batch, &heads, &kv_heads, &size, &capacity}, *more[] = {&parts, &block, &ratio};
    vectors = std::atoi(words[1]);
    rows_last = std::string(words[2]) == "BNSD";
    for (int i = 0; i < 5; ++i) *fields[i] = std::atoi(words[3 + i]);
    scale = std::strtof(words[8], nullptr);
    for (int i = 0; i < 3; ++i) *more[i] = std::atoi(words[9 + i]);
  }
  uint32_t vectors, batch, heads, kv_heads, size, capacity, parts, block, ratio;
  float scale;
  bool rows_last;
  uint32_t pairs() const { return batch * kv_heads; }
  uint32_t group() const { return heads / kv_heads; }
  uint32_t pages() const { return static_cast<uint32_t>(numbers<uint8_t>("k").size()) / (block * kv_heads * size * (small_keys() ? 1 : 2)); }
};

inline uint32_t aligned(uint32_t value, uint32_t step) { return (value + step - 1) / step * step; }

// A tensor, or one a row NAME0, NAME1, ..., each with its own rows.
inline bool listed() { return given("k0"); }
// Tensors as kernels read lists of them: where the addresses are, in bytes; of each its number, the count of its sizes and these; the
// addresses.
inline void* list_of(const std::string& name, const Shape& s) {
  const uint64_t rows_at = s.rows_last ? 2 : 1, element = small_keys() ? 1 : 2;
  std::vector<uint64_t> words(1), addresses;
  for (uint32_t row = 0; row < (listed() ? s.batch : 1); ++row) {
    const auto bytes = numbers<uint8_t>(listed() ? name + std::to_string(row) : name);
    std::vector<uint64_t> sizes{s.batch, s.capacity, s.kv_heads * s.size};
    if (s.rows_last) sizes = {s.batch, s.kv_heads, s.capacity, s.size};
    if (s.block) sizes = {s.pages(), s.block, s.kv_heads * s.size};
    if (listed()) {
      sizes[0] = 1;
      sizes[rows_at] = bytes.size() / (element * s.kv_heads * s.size);
    }
    words.push_back(uint64_t{row} << 32 | sizes.size());
    words.insert(words.end(), sizes.begin(), sizes.end());
    addresses.push_back(reinterpret_cast<uint64_t>(copied(bytes)));
  }
  words[0] = words.size() * sizeof(uint64_t);
  words[1] |= uint64_t{addresses.size()} << 32;
  words.insert(words.end(), addresses.begin(), addresses.end());
  return copied(words);
}

struct Tensors {
  explicit Tensors(const Shape& s) {
    query = copied(numbers<uint16_t>("q"));
    key = list_of("k", s);
    value = list_of("v", s);
    bytes = s.batch * s.heads * s.size * (small_result() ? 1 : 2);
    out = device(bytes);
  }
  void *query, *key, *value, *out;
  void *pse = optional("pse"), *mask = optional("mask"), *lengths = optional("lengths"), *table = optional("table"), *padding = optional("padding");
  void *antiquant_scale = optional("antiquant_scale"), *antiquant_offset = optional("antiquant_offset"), *quant_scale = optional("quant_scale"),
       *quant_offset = optional("quant_offset");
  size_t bytes;
};

// Keys that a core works on at once: 8192, fewer where more queries share a key, still fewer of int8; whole pages.
inline uint32_t keys_at_once(const Shape& s, uint32_t keys) {
  static constexpr uint32_t kAtOnce[] = {8192, 4096, 2048};
  uint32_t most = !small_keys() ? kAtOnce[std::min(s.group() / 5, 2u)] : s.group() > 1 ? 1024 : 8192;
  if (s.block) most = most / s.block * s.block;
  return std::min(most, keys);
}

// Every vector core has the same number of pairs of row and head, the first ones one more. The operator balances rows of several
// lengths where there are more pairs than cores, which is not done here.
inline void split_pairs(const Shape& s, const std::vector<int64_t>& lengths, IncreFlashAttentionTilingData& t) {
  auto& one = t.increFlashAttentionSingleCoreParams;
  auto& begin = t.increFlashAttentionCoreParams.coreSidxEnd;
  const uint32_t pairs = s.pairs();
  const bool alike = std::all_of(lengths.begin(), lengths.end(), [&](int64_t each) { return each == lengths.front(); });
  require(pairs <= s.vectors || alike, "more rows of several lengths than cores");
  one.formerCoreNum = pairs % s.vectors;
  one.tailSplitedBatchRange = pairs / s.vectors;
  one.blockSplitBn2Range = one.tailSplitedBatchRange + (one.formerCoreNum ? 1 : 0);
  one.usedCoreNum = std::min(pairs, s.vectors);
  for (uint32_t i = 0; i < 50; ++i) begin[i] = std::min(pairs, i * one.tailSplitedBatchRange + std::min(i, one.formerCoreNum));
}

inline IncreFlashAttentionTilingData planned(const Shape& s) {
  IncreFlashAttentionTilingData t{};
  auto& base = t.baseParams;
  const auto lengths = given("lengths") ? numbers<int64_t>("lengths") : std::vector<int64_t>();
  const uint32_t longest = lengths.empty() ? s.capacity : static_cast<uint32_t>(*std::max_element(lengths.begin(), lengths.end()));
  base.batchSize = s.batch;
  base.seqSize = s.capacity;
  base.headSize = s.size;
  base.blockSize = s.block;
  base.scaleValue = s.scale;
  base.kvHeadNum = s.kv_heads;
  base.qHeadNum = s.heads;
  base.nNumOfQInOneGroup = s.group();
  base.batchContinuousFlag = !listed();
  base.msdIterNum = query_parts();
  base.actualLenDims = static_cast<uint32_t>(lengths.size());
  base.kvPaddingFlag = given("padding");
  if (s.block) base.maxBlockNumPerBatch = static_cast<uint32_t>(numbers<int32_t>("table").size()) / s.batch;
  if (s.block) base.totalBlockNum = s.pages();
  if (given("pse")) {
    base.pseShiftFlag = 1;
    base.pseShiftS = s.capacity;
    base.pseShiftB = static_cast<uint32_t>(numbers<uint16_t>("pse").size()) / (s.heads * s.capacity);
  }
  const uint32_t parts = std::max(s.parts, 1u), keys = (s.capacity + parts - 1) / parts;
  auto& one = t.increFlashAttentionSingleCoreParams;
  one.singleProcessSInnerSize = keys_at_once(s, keys);
  one.sInnerLoopTimes = (keys + one.singleProcessSInnerSize - 1) / one.singleProcessSInnerSize;
  one.singleProcessSInnerSizeTail = keys - (one.sInnerLoopTimes - 1) * one.singleProcessSInnerSize;
  if (s.parts) {
    one.blockSplitBn2Range = one.tailSplitedBatchRange = 1;
    one.usedCoreNum = s.pairs() * s.parts;
  } else {
    split_pairs(s, lengths, t);
  }
  if (small_result()) t.outputParams.isPerChnOut = numbers<float>("quant_scale").size() > 1;
  t.splitKVParams.s2 = s.parts;
  t.splitKVParams.sInnerLoopSize = (longest + parts - 1) / parts;
  t.splitKVParams.accumOutSize = s.batch * s.heads * parts * aligned(s.size, 32);
  t.splitKVParams.logSumExpSize = 2 * s.batch * s.heads * parts * 8;  // maxima and sums, a block of floats each
  if (given("mask")) {
    base.attenMaskFlag = 1;
    base.attenMaskSize = s.capacity;
    // halves of at most 4096 bytes of a mask, and their bits: the least that the documents allow for SelectWithBytesMask
    base.selectWithByteMaskTmpMinSize = std::max(1024u, std::min(aligned(one.singleProcessSInnerSize, 32) * base.nNumOfQInOneGroup * base.msdIterNum, 4096u) * 2 + 512);
  }
  return t;
}

// Blocks of a cube core and its vector cores; all of them where keys are cut.
inline uint32_t blocks_of(const Shape& s, const IncreFlashAttentionTilingData& t) {
  return s.parts ? s.vectors / 2 : (t.increFlashAttentionSingleCoreParams.usedCoreNum + s.ratio - 1) / s.ratio;
}
inline aclrtStream started() {
  aclrtStream stream = nullptr;
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtCreateStream(&stream);
  return stream;
}
