// The operations of the device: what a cost is kept for. Tests hold this list against the table of costs.
#pragma once
#include <cstdint>

namespace attnemu {

// Lane by lane: dst = op(sources..., scalar).
#define ATTNEMU_LANE_OPS(X)                                                                                             \
  X(Add) X(Sub) X(Mul) X(Div) X(Max) X(Min) X(And) X(Or) X(AddRelu) X(SubRelu) X(MulAddDst) X(FusedMulAdd)              \
  X(FusedMulAddRelu) X(Exp) X(Ln) X(Abs) X(Sqrt) X(Rsqrt) X(Reciprocal) X(Relu) X(Not) X(Adds) X(Muls) X(Maxs) X(Mins)  \
  X(ShiftLeft) X(ShiftRight) X(LeakyRelu) X(Axpy) X(Fill) X(Index) X(Copy)

// The rest of the vector unit.
#define ATTNEMU_VECTOR_OPS(X)                                                                                           \
  X(Convert) X(Compound) X(Compare) X(CompareScalar) X(MoveCompareMask) X(Select) X(ReduceRepeatsSum) X(ReduceRepeatsExtreme)       \
  X(ReduceBlocksSum) X(ReduceBlocksExtreme) X(ReducePairs) X(BroadcastBlocks) X(Gather) X(GatherBlocks) X(GatherMask)   \
  X(Sort32) X(MergeSorted) X(SplitRecords) X(TransposeBlocks)

// Between memories; global memory is what has no other name.
#define ATTNEMU_MOVE_OPS(X)                                                                                             \
  X(LoadUB) X(LoadL1) X(LoadL1Fractals) X(LoadL0) X(StoreUB) X(StoreL1) X(CopyUB) X(LoadL0A) X(LoadL0B)                 \
  X(LoadL0Transposed) X(LoadL0Window) X(LoadBias) X(LoadQuantWords) X(FillL1) X(FillL0) X(WriteBack) X(WriteBackL1)

// The scalar unit and synchronization; Issue: handing one instruction to a pipe.
#define ATTNEMU_SCALAR_OPS(X)                                                                                           \
  X(Issue) X(ScalarLoad) X(ScalarStore) X(ScalarLoadGlobal) X(ScalarStoreGlobal) X(ScalarMiss) X(CleanCache) X(SetFlag) \
  X(WaitFlag) X(Barrier) X(CrossCoreSet) X(CrossCoreWait) X(SoftSync)

#define ATTNEMU_OPS(X) ATTNEMU_LANE_OPS(X) ATTNEMU_VECTOR_OPS(X) ATTNEMU_MOVE_OPS(X) X(Product) ATTNEMU_SCALAR_OPS(X)

enum class Op : uint8_t {
#define ATTNEMU_NAME(name) name,
  ATTNEMU_OPS(ATTNEMU_NAME)
#undef ATTNEMU_NAME
};

#define ATTNEMU_ONE(name) +1
constexpr int kOps = 0 ATTNEMU_OPS(ATTNEMU_ONE);
#undef ATTNEMU_ONE

const char* name_of(Op op);

}  // namespace attnemu
