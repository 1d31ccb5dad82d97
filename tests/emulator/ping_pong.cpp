// A 1:2 mix kernel without queues: per tile, S = Q * K^T on the cube core goes through a two-slot workspace ring to the
// two vector cores, which add 1 and round to half; then the cube core computes O = 2 * P * V from what they wrote.
// Q, K, V are [M, D], [T, D], [T, D] half with M = 32, D = 64, T = 64 a tile; O is [tiles * M, D] float.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t M = 32, T = 64, D = 64;

__aicore__ inline Nd2NzParams Fractals(uint16_t rows, uint16_t columns) {
  return Nd2NzParams(1, rows, columns, 0, columns, rows, 1, 0);
}

class CubeCore {
 public:
  __aicore__ inline void Init(TPipe& pipe, GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR o, GM_ADDR s, GM_ADDR p) {
    queries.SetGlobalBuffer((__gm__ half*)q);
    keys.SetGlobalBuffer((__gm__ half*)k);
    values.SetGlobalBuffer((__gm__ half*)v);
    output.SetGlobalBuffer((__gm__ float*)o);
    scores.SetGlobalBuffer((__gm__ float*)s);
    weights.SetGlobalBuffer((__gm__ half*)p);
    pipe.InitBuffer(l1, (M * D + T * D + T * D + M * T) * 2);
    pipe.InitBuffer(l0a, M * D * 2);
    pipe.InitBuffer(l0b, T * D * 2);
    pipe.InitBuffer(l0c, M * D * 4);
    q1 = l1.Get<half>();
    k1 = q1[M * D];
    v1 = k1[T * D];
    p1 = v1[T * D];
  }
  // A [M, width] from L1 to L0A, one row of fractals a time.
  __aicore__ inline void LoadLeft(LocalTensor<half> from, uint32_t width) {
    LocalTensor<half> to = l0a.Get<half>();
    for (uint32_t band = 0; band < M / 16; ++band) {
      LoadData(to[band * 16 * width], from[band * 256], LoadData2DParams(0, width / 16, M / 16, 0, 0, false, 0));
    }
  }
  __aicore__ inline void Scores(uint32_t tile) {
    DataCopy(q1, queries[tile * M * D], Fractals(M, D));
    DataCopy(k1, keys[tile * T * D], Fractals(T, D));
    SetFlag<HardEvent::MTE2_MTE1>(0);    // @
    WaitFlag<HardEvent::MTE2_MTE1>(0);   // @
    WaitFlag<HardEvent::M_MTE1>(0);      // @
    LoadLeft(q1, D);
    LoadData(l0b.Get<half>(), k1, LoadData2DParams(0, T * D / 256, 1, 0, 0, false, 0));
    SetFlag<HardEvent::MTE1_MTE2>(0);    // @
    SetFlag<HardEvent::MTE1_M>(0);       // @
    WaitFlag<HardEvent::MTE1_M>(0);      // @
    WaitFlag<HardEvent::FIX_M>(0);       // @
    Mmad(l0c.Get<float>(), l0a.Get<half>(), l0b.Get<half>(), MmadParams(M, T, D, 0, false, true));
    SetFlag<HardEvent::M_MTE1>(0);       // @
    SetFlag<HardEvent::M_FIX>(0);        // @
    WaitFlag<HardEvent::M_FIX>(0);       // @
    FixpipeParamsV220 out(T, M, M, T, false);
    Fixpipe<float, float, CFG_ROW_MAJOR>(scores[(GetBlockIdx() * 2 + tile % 2) * M * T], l0c.Get<float>(), out);
    SetFlag<HardEvent::FIX_M>(0);        // @
    CrossCoreSetFlag<2, PIPE_FIX>(4);    // @
    WaitFlag<HardEvent::MTE1_MTE2>(0);   // @
  }
  __aicore__ inline void Weighted(uint32_t tile) {
    CrossCoreWaitFlag(5);                // @
    DataCopy(p1, weights[(GetBlockIdx() * 2 + tile % 2) * M * T], Fractals(M, T));
    DataCopy(v1, values[tile * T * D], Fractals(T, D));
    SetFlag<HardEvent::MTE2_MTE1>(1);    // @
    WaitFlag<HardEvent::MTE2_MTE1>(1);   // @
    WaitFlag<HardEvent::M_MTE1>(0);      // @
    LoadLeft(p1, T);
    LocalTensor<half> to = l0b.Get<half>();
    for (uint32_t band = 0; band < T / 16; ++band) {
      LoadDataWithTranspose(to[band * 16 * D], v1[band * 256], LoadData2dTransposeParams(0, D / 16, T / 16, 0, 0));
    }
    SetFlag<HardEvent::MTE1_MTE2>(1);    // @
    SetFlag<HardEvent::MTE1_M>(1);       // @
    WaitFlag<HardEvent::MTE1_M>(1);      // @
    WaitFlag<HardEvent::FIX_M>(0);       // @
    Mmad(l0c.Get<float>(), l0a.Get<half>(), l0b.Get<half>(), MmadParams(M, D, T, 0, false, true));
    PipeBarrier<PIPE_M>();               // @
    Mmad(l0c.Get<float>(), l0a.Get<half>(), l0b.Get<half>(), MmadParams(M, D, T, 0, false, false));
    SetFlag<HardEvent::M_MTE1>(0);       // @
    SetFlag<HardEvent::M_FIX>(1);        // @
    WaitFlag<HardEvent::M_FIX>(1);       // @
    FixpipeParamsV220 out(D, M, M, D, false);
    Fixpipe<float, float, CFG_ROW_MAJOR>(output[tile * M * D], l0c.Get<float>(), out);
    SetFlag<HardEvent::FIX_M>(0);        // @
    WaitFlag<HardEvent::MTE1_MTE2>(1);   // @
  }
  __aicore__ inline void Run(uint32_t first, uint32_t last) {
    SetFlag<HardEvent::M_MTE1>(0);       // @
    SetFlag<HardEvent::FIX_M>(0);        // @
    for (uint32_t tile = first; tile <= last; ++tile) {
      if (tile < last) Scores(tile);
      if (tile > first) Weighted(tile - 1);
    }
    WaitFlag<HardEvent::M_MTE1>(0);      // @
    WaitFlag<HardEvent::FIX_M>(0);       // @
  }

 private:
  GlobalTensor<half> queries, keys, values, weights;
  GlobalTensor<float> output, scores;
  TBuf<TPosition::A1> l1;
  TBuf<TPosition::A2> l0a;
  TBuf<TPosition::B2> l0b;
  TBuf<TPosition::CO1> l0c;
  LocalTensor<half> q1, k1, v1, p1;
};

class VectorCore {
 public:
  __aicore__ inline void Init(TPipe& pipe, GM_ADDR s, GM_ADDR p) {
    uint32_t rows = M / 2 * GetSubBlockIdx();
    scores.SetGlobalBuffer((__gm__ float*)s + rows * T);
    weights.SetGlobalBuffer((__gm__ half*)p + rows * T);
    pipe.InitBuffer(ub, M / 2 * T * 6);
    x = ub.Get<float>();
    y = x[M / 2 * T].ReinterpretCast<half>();
  }
  __aicore__ inline void Run(uint32_t first, uint32_t last) {
    uint32_t block = GetBlockIdx() / GetTaskRation();
    SetFlag<HardEvent::V_MTE2>(0);       // @
    SetFlag<HardEvent::MTE3_V>(0);       // @
    for (uint32_t tile = first; tile < last; ++tile) {
      uint32_t slot = (block * 2 + tile % 2) * M * T;
      CrossCoreWaitFlag(4);              // @
      WaitFlag<HardEvent::V_MTE2>(0);    // @
      DataCopy(x, scores[slot], M / 2 * T);
      SetFlag<HardEvent::MTE2_V>(0);     // @
      WaitFlag<HardEvent::MTE2_V>(0);    // @
      Adds(x, x, 1.0f, M / 2 * T);
      PipeBarrier<PIPE_V>();             // @
      WaitFlag<HardEvent::MTE3_V>(0);    // @
      Cast(y, x, RoundMode::CAST_RINT, M / 2 * T);
      SetFlag<HardEvent::V_MTE2>(0);     // @
      SetFlag<HardEvent::V_MTE3>(0);     // @
      WaitFlag<HardEvent::V_MTE3>(0);    // @
      DataCopy(weights[slot], y, M / 2 * T);
      SetFlag<HardEvent::MTE3_V>(0);     // @
      CrossCoreSetFlag<2, PIPE_MTE3>(5); // @
    }
    WaitFlag<HardEvent::V_MTE2>(0);      // @
    WaitFlag<HardEvent::MTE3_V>(0);      // @
  }

 private:
  GlobalTensor<float> scores;
  GlobalTensor<half> weights;
  TBuf<TPosition::VECCALC> ub;
  LocalTensor<float> x;
  LocalTensor<half> y;
};

extern "C" __global__ __aicore__ void ping_pong(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR o, GM_ADDR s, GM_ADDR p, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  TPipe pipe;
  pipe.Destroy();                        // @
  GlobalTensor<uint32_t> counts;
  counts.SetGlobalBuffer((__gm__ uint32_t*)tiling, 1);
  uint32_t tiles = counts.GetValue(0), blocks = GetBlockNum();
  if ASCEND_IS_AIC {
    CubeCore cube;
    cube.Init(pipe, q, k, v, o, s, p);
    cube.Run(GetBlockIdx() * tiles / blocks, (GetBlockIdx() + 1) * tiles / blocks);
  }
  if ASCEND_IS_AIV {
    uint32_t block = GetBlockIdx() / GetTaskRation();
    VectorCore vector;
    vector.Init(pipe, s, p);
    vector.Run(block * tiles / blocks, (block + 1) * tiles / blocks);
  }
}
