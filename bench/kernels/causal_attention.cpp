// Causal attention, written by hand to time the emulator on: out = softmax(scale * Q K^T, causal) V over [N, S, 128] half.
// A block's cube core multiplies 128 query rows with tiles of 256 keys; its two vector cores keep the online softmax of 64
// rows each. Scores, probabilities and weighted values pass through rings of two workspace slots, the cube core one tile
// ahead. S is a multiple of 128. Workspace: blocks * kWorkspaceBytes.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kRows = 128, kKeys = 256, kHalf = 128, kHead = 128, kMine = kRows / 2, kLanes = 64;
constexpr uint32_t kSquare = kRows * kHalf;  // elements of the tiles that the cube core multiplies
constexpr uint32_t kSlots = 2;
constexpr uint32_t kScoreBytes = kSlots * kRows * kKeys * sizeof(float), kWeightBytes = kSlots * kRows * kKeys * sizeof(half);
constexpr uint32_t kWorkspaceBytes = kScoreBytes + kWeightBytes + kSlots * kRows * kHead * sizeof(float);
constexpr uint16_t kScoresReady = 1, kWeightsReady = 2, kPartsReady = 3;
constexpr float kLowest = -1e30f;

struct Tiling {
  int64_t heads, length;
  float scale;
};

// The key tiles of a block's tasks, one after the other; a task is 128 rows of a head.
struct Walk {
  uint32_t step = 0, task, tasks, per_head, tile = 0;
  __aicore__ inline Walk(uint32_t block, const Tiling &t) : task(block), tasks(t.heads * t.length / kRows), per_head(t.length / kRows) {}
  __aicore__ inline bool Done() const { return task >= tasks; }
  __aicore__ inline uint32_t Head() const { return task / per_head; }
  __aicore__ inline uint32_t FirstRow() const { return task % per_head * kRows; }
  __aicore__ inline uint32_t FirstKey() const { return tile * kKeys; }
  // Keys of this tile that some row sees: 128 or 256.
  __aicore__ inline uint32_t Keys() const {
    uint32_t left = FirstRow() + kRows - FirstKey();
    return left < kKeys ? left : kKeys;
  }
  __aicore__ inline bool First() const { return tile == 0; }
  __aicore__ inline bool Last() const { return FirstKey() + Keys() == FirstRow() + kRows; }
  __aicore__ inline uint32_t Slot() const { return step % kSlots; }
  __aicore__ inline void Next() {
    bool last = Last();
    task += last ? GetBlockNum() : 0;
    tile = last ? 0 : tile + 1;
    ++step;
  }
};

struct Rings {
  GlobalTensor<float> scores, parts;
  GlobalTensor<half> weights;
  __aicore__ inline Rings(GM_ADDR workspace, uint32_t block) {
    GM_ADDR mine = workspace + block * kWorkspaceBytes;
    scores.SetGlobalBuffer((__gm__ float *)mine);
    weights.SetGlobalBuffer((__gm__ half *)(mine + kScoreBytes));
    parts.SetGlobalBuffer((__gm__ float *)(mine + kScoreBytes + kWeightBytes));
  }
};

class Cube {
 public:
  __aicore__ inline Cube(TPipe &pipe, GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR workspace, const Tiling &t)
      : tiling(t), rings(workspace, GetBlockIdx()) {
    queries.SetGlobalBuffer((__gm__ half *)q);
    keys.SetGlobalBuffer((__gm__ half *)k);
    values.SetGlobalBuffer((__gm__ half *)v);
    pipe.InitBuffer(l1, (1 + 3 * kSlots * 2) * kSquare * sizeof(half));
    pipe.InitBuffer(l0a, 2 * kSquare * sizeof(half));
    pipe.InitBuffer(l0b, 2 * kSquare * sizeof(half));
    pipe.InitBuffer(l0c, 2 * kSquare * sizeof(float));
    q1 = l1.Get<half>();
    k1 = q1[kSquare];
    v1 = k1[kSlots * 2 * kSquare];
    p1 = v1[kSlots * 2 * kSquare];
  }
  __aicore__ inline void Run() {
    for (int32_t id = 0; id < 2; ++id) {
      SetFlag<HardEvent::M_MTE1>(id);
      SetFlag<HardEvent::FIX_M>(id);
    }
    for (int32_t id = 0; id < 7; ++id) SetFlag<HardEvent::MTE1_MTE2>(id);
    Walk now(GetBlockIdx(), tiling), before = now;
    for (; !before.Done(); ) {
      if (!now.Done()) Scores(now);
      if (now.step > 0) {
        Weighted(before);
        before.Next();
      }
      if (!now.Done()) now.Next();
    }
    for (int32_t id = 0; id < 2; ++id) {
      WaitFlag<HardEvent::M_MTE1>(id);
      WaitFlag<HardEvent::FIX_M>(id);
    }
    for (int32_t id = 0; id < 7; ++id) WaitFlag<HardEvent::MTE1_MTE2>(id);
  }

 private:
  __aicore__ inline void LoadSquare(LocalTensor<half> to, GlobalTensor<half> from, uint32_t pitch) {
    DataCopy(to, from, Nd2NzParams(1, kRows, kHalf, 0, pitch, kRows, 1, 0));
  }
  __aicore__ inline void LoadLeft(LocalTensor<half> to, LocalTensor<half> from) {
    for (uint32_t band = 0; band < kRows / 16; ++band)
      LoadData(to[band * 16 * kHalf], from[band * 256], LoadData2DParams(0, kHalf / 16, kRows / 16, 0, 0, false, 0));
  }
  __aicore__ inline void Multiply(bool initial) {
    uint32_t side = product % 2;
    SetFlag<HardEvent::MTE1_M>(side);
    WaitFlag<HardEvent::MTE1_M>(side);
    if (initial) WaitFlag<HardEvent::FIX_M>(result % 2);
    Mmad(l0c.Get<float>()[result % 2 * kSquare], l0a.Get<half>()[side * kSquare], l0b.Get<half>()[side * kSquare],
         MmadParams(kRows, kHalf, kHalf, 0, false, initial));
    SetFlag<HardEvent::M_MTE1>(side);
    ++product;
  }
  __aicore__ inline void Store(GlobalTensor<float> to, uint32_t pitch) {
    uint32_t side = result % 2;
    SetFlag<HardEvent::M_FIX>(side);
    WaitFlag<HardEvent::M_FIX>(side);
    Fixpipe<float, float, CFG_ROW_MAJOR>(to, l0c.Get<float>()[side * kSquare], FixpipeParamsV220(kHalf, kRows, kRows, pitch, false));
    SetFlag<HardEvent::FIX_M>(side);
    ++result;
  }
  __aicore__ inline void Scores(const Walk &w) {
    uint32_t slot = w.Slot(), halves = w.Keys() / kHalf, base = w.Head() * tiling.length;
    if (w.First()) {
      WaitFlag<HardEvent::MTE1_MTE2>(0);
      LoadSquare(q1, queries[(base + w.FirstRow()) * kHead], kHead);
      SetFlag<HardEvent::MTE2_MTE1>(0);
      WaitFlag<HardEvent::MTE2_MTE1>(0);
    }
    LocalTensor<half> mine = k1[slot * 2 * kSquare];
    WaitFlag<HardEvent::MTE1_MTE2>(1 + slot);
    for (uint32_t i = 0; i < halves; ++i) LoadSquare(mine[i * kSquare], keys[(base + w.FirstKey() + i * kHalf) * kHead], kHead);
    SetFlag<HardEvent::MTE2_MTE1>(1 + slot);
    WaitFlag<HardEvent::MTE2_MTE1>(1 + slot);
    for (uint32_t i = 0; i < halves; ++i) {
      uint32_t side = product % 2;
      WaitFlag<HardEvent::M_MTE1>(side);
      LoadLeft(l0a.Get<half>()[side * kSquare], q1);
      LoadData(l0b.Get<half>()[side * kSquare], mine[i * kSquare], LoadData2DParams(0, kSquare / 256, 1, 0, 0, false, 0));
      Multiply(true);
      Store(rings.scores[slot * kRows * kKeys + i * kHalf], w.Keys());
    }
    SetFlag<HardEvent::MTE1_MTE2>(1 + slot);
    if (w.Last()) SetFlag<HardEvent::MTE1_MTE2>(0);
    CrossCoreSetFlag<2, PIPE_FIX>(kScoresReady);
  }
  __aicore__ inline void Weighted(const Walk &w) {
    uint32_t slot = w.Slot(), halves = w.Keys() / kHalf, base = w.Head() * tiling.length;
    LocalTensor<half> left = p1[slot * 2 * kSquare], right = v1[slot * 2 * kSquare];
    WaitFlag<HardEvent::MTE1_MTE2>(3 + slot);
    for (uint32_t i = 0; i < halves; ++i) LoadSquare(right[i * kSquare], values[(base + w.FirstKey() + i * kHalf) * kHead], kHead);
    CrossCoreWaitFlag(kWeightsReady);
    WaitFlag<HardEvent::MTE1_MTE2>(5 + slot);
    for (uint32_t i = 0; i < halves; ++i) LoadSquare(left[i * kSquare], rings.weights[slot * kRows * kKeys + i * kHalf], w.Keys());
    SetFlag<HardEvent::MTE2_MTE1>(3 + slot);
    WaitFlag<HardEvent::MTE2_MTE1>(3 + slot);
    for (uint32_t i = 0; i < halves; ++i) {
      uint32_t side = product % 2;
      WaitFlag<HardEvent::M_MTE1>(side);
      LoadLeft(l0a.Get<half>()[side * kSquare], left[i * kSquare]);
      for (uint32_t band = 0; band < kHalf / 16; ++band)
        LoadDataWithTranspose(l0b.Get<half>()[side * kSquare + band * 16 * kHead], right[i * kSquare + band * 256],
                              LoadData2dTransposeParams(0, kHead / 16, kHalf / 16, 0, 0));
      Multiply(i == 0);
    }
    SetFlag<HardEvent::MTE1_MTE2>(3 + slot);
    SetFlag<HardEvent::MTE1_MTE2>(5 + slot);
    Store(rings.parts[slot * kRows * kHead], kHead);
    CrossCoreSetFlag<2, PIPE_FIX>(kPartsReady);
  }

  Tiling tiling;
  Rings rings;
  GlobalTensor<half> queries, keys, values;
  TBuf<TPosition::A1> l1;
  TBuf<TPosition::A2> l0a;
  TBuf<TPosition::B2> l0b;
  TBuf<TPosition::CO1> l0c;
  LocalTensor<half> q1, k1, v1, p1;
  uint32_t product = 0, result = 0;
};

class Vector {
 public:
  __aicore__ inline Vector(TPipe &pipe, GM_ADDR o, GM_ADDR workspace, const Tiling &t)
      : tiling(t), block(GetBlockIdx() / 2), rings(workspace, block), first(GetSubBlockIdx() * kMine) {
    out.SetGlobalBuffer((__gm__ half *)o);
    pipe.InitBuffer(ub, (kMine * (kKeys + kKeys / 2 + 2 * kHead + kLanes + 8) + 7 * kMine) * sizeof(float));
    scores = ub.Get<float>();
    parts = scores[kMine * kKeys];
    sums = parts[kMine * kHead];
    folded = sums[kMine * kHead];
    columns = folded[kMine * kLanes];
    highest = columns[kMine * 8];
    total = highest[kMine];
    fresh = total[kMine];
    rescale = fresh[kMine];
    divisor = rescale[kSlots * kMine];
    weights = divisor[kSlots * kMine].ReinterpretCast<half>();
  }
  __aicore__ inline void Run() {
    SetFlag<HardEvent::V_MTE2>(0);
    SetFlag<HardEvent::V_MTE2>(1);
    SetFlag<HardEvent::MTE3_V>(0);
    Walk now(block, tiling), before = now;
    for (; !before.Done(); ) {
      if (!now.Done()) Softmax(now);
      if (now.step > 0) {
        Update(before);
        before.Next();
      }
      if (!now.Done()) now.Next();
    }
    WaitFlag<HardEvent::V_MTE2>(0);
    WaitFlag<HardEvent::V_MTE2>(1);
    WaitFlag<HardEvent::MTE3_V>(0);
  }

 private:
  // Rows of 64 lanes from rows of `keys`: the widest of each row's parts, or their sum.
  __aicore__ inline void FoldMax(uint32_t keys) {
    uint8_t pitch = keys / 8;
    Max(folded, scores, scores[kLanes], kLanes, kMine, BinaryRepeatParams(1, 1, 1, 8, pitch, pitch));
    PipeBarrier<PIPE_V>();
    for (uint32_t at = 2 * kLanes; at < keys; at += kLanes) {
      Max(folded, folded, scores[at], kLanes, kMine, BinaryRepeatParams(1, 1, 1, 8, 8, pitch));
      PipeBarrier<PIPE_V>();
    }
    WholeReduceMax(fresh, folded, kLanes, kMine, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
    PipeBarrier<PIPE_V>();
  }
  __aicore__ inline void FoldSum(uint32_t keys) {
    uint8_t pitch = keys / 8;
    Add(folded, scores, scores[kLanes], kLanes, kMine, BinaryRepeatParams(1, 1, 1, 8, pitch, pitch));
    PipeBarrier<PIPE_V>();
    for (uint32_t at = 2 * kLanes; at < keys; at += kLanes) {
      Add(folded, folded, scores[at], kLanes, kMine, BinaryRepeatParams(1, 1, 1, 8, 8, pitch));
      PipeBarrier<PIPE_V>();
    }
    WholeReduceSum(fresh, folded, kLanes, kMine, 1, 1, 8);
    PipeBarrier<PIPE_V>();
  }
  __aicore__ inline void Columns(LocalTensor<float> rows) {
    Brcb(columns, rows, kMine / 8, BrcbRepeatParams(1, 8));
    PipeBarrier<PIPE_V>();
  }
  // The tile on the diagonal: row r of its last 128 keys sees the keys up to r.
  __aicore__ inline void Mask(uint32_t keys) {
    for (uint32_t row = 0; row < kMine; ++row) {
      uint32_t hidden = keys - kHalf + first + row + 1, at = row * keys + hidden / kLanes * kLanes;
      if (hidden == keys) continue;
      uint64_t lanes[2] = {~0ull << (hidden % kLanes), 0};
      Duplicate(scores[at], kLowest, lanes, 1, 1, 8);
      if (hidden / kLanes + 1 < keys / kLanes) Duplicate(scores[at + kLanes], kLowest, keys - (hidden / kLanes + 1) * kLanes);
    }
    PipeBarrier<PIPE_V>();
  }
  __aicore__ inline void Softmax(const Walk &w) {
    uint32_t slot = w.Slot(), keys = w.Keys(), count = kMine * keys;
    LocalTensor<float> factor = rescale[slot * kMine];
    CrossCoreWaitFlag(kScoresReady);
    WaitFlag<HardEvent::V_MTE2>(0);
    DataCopy(scores, rings.scores[slot * kRows * kKeys + first * keys], count);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    if (w.First()) {
      Duplicate(highest, kLowest, kMine);
      Duplicate(total, 0.0f, kMine);
    }
    Muls(scores, scores, tiling.scale, count);
    PipeBarrier<PIPE_V>();
    if (w.Last()) Mask(keys);
    FoldMax(keys);
    Max(fresh, fresh, highest, kMine);
    PipeBarrier<PIPE_V>();
    Sub(factor, highest, fresh, kMine);
    Columns(fresh);
    Exp(factor, factor, kMine);
    Muls(highest, fresh, 1.0f, kMine);
    for (uint32_t at = 0; at < keys; at += kLanes)
      Sub(scores[at], scores[at], columns, kLanes, kMine, BinaryRepeatParams(1, 1, 0, keys / 8, keys / 8, 1));
    PipeBarrier<PIPE_V>();
    Exp(scores, scores, count);
    PipeBarrier<PIPE_V>();
    WaitFlag<HardEvent::MTE3_V>(0);
    Cast(weights, scores, RoundMode::CAST_RINT, count);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(rings.weights[slot * kRows * kKeys + first * keys], weights, count);
    SetFlag<HardEvent::MTE3_V>(0);
    CrossCoreSetFlag<2, PIPE_MTE3>(kWeightsReady);
    FoldSum(keys);
    SetFlag<HardEvent::V_MTE2>(0);
    Mul(total, total, factor, kMine);
    PipeBarrier<PIPE_V>();
    Add(total, total, fresh, kMine);
    PipeBarrier<PIPE_V>();
    if (w.Last()) Muls(divisor[slot * kMine], total, 1.0f, kMine);
    PipeBarrier<PIPE_V>();
  }
  __aicore__ inline void Update(const Walk &w) {
    uint32_t slot = w.Slot(), count = kMine * kHead;
    BinaryRepeatParams by_row(1, 1, 0, kHead / 8, kHead / 8, 1);
    CrossCoreWaitFlag(kPartsReady);
    WaitFlag<HardEvent::V_MTE2>(1);
    DataCopy(parts, rings.parts[slot * kRows * kHead + first * kHead], count);
    SetFlag<HardEvent::MTE2_V>(1);
    WaitFlag<HardEvent::MTE2_V>(1);
    if (w.First()) {
      Muls(sums, parts, 1.0f, count);
    } else {
      Columns(rescale[slot * kMine]);
      for (uint32_t at = 0; at < kHead; at += kLanes) Mul(sums[at], sums[at], columns, kLanes, kMine, by_row);
      PipeBarrier<PIPE_V>();
      Add(sums, sums, parts, count);
    }
    PipeBarrier<PIPE_V>();
    SetFlag<HardEvent::V_MTE2>(1);
    if (!w.Last()) return;
    Columns(divisor[slot * kMine]);
    for (uint32_t at = 0; at < kHead; at += kLanes) Div(sums[at], sums[at], columns, kLanes, kMine, by_row);
    PipeBarrier<PIPE_V>();
    WaitFlag<HardEvent::MTE3_V>(0);
    Cast(weights, sums, RoundMode::CAST_RINT, count);
    PipeBarrier<PIPE_V>();
    SetFlag<HardEvent::V_MTE3>(1);
    WaitFlag<HardEvent::V_MTE3>(1);
    DataCopy(out[(w.Head() * tiling.length + w.FirstRow() + first) * kHead], weights, count);
    SetFlag<HardEvent::MTE3_V>(0);
  }

  Tiling tiling;
  uint32_t block;
  Rings rings;
  uint32_t first;
  GlobalTensor<half> out;
  TBuf<TPosition::VECCALC> ub;
  LocalTensor<float> scores, parts, sums, folded, columns, highest, total, fresh, rescale, divisor;
  LocalTensor<half> weights;
};

extern "C" __global__ __aicore__ void causal_attention(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR o, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  GET_TILING_DATA_WITH_STRUCT(Tiling, t, tiling);
  TPipe pipe;
  pipe.Destroy();
  if ASCEND_IS_AIC {
    Cube cube(pipe, q, k, v, workspace, t);
    cube.Run();
  }
  if ASCEND_IS_AIV {
    Vector vector(pipe, o, workspace, t);
    vector.Run();
  }
}
