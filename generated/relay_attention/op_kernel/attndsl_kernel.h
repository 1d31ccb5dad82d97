// The base of all kernels: scalar arithmetic, the core's place, the on-chip memories.
#ifndef ATTNDSL_KERNEL_H
#define ATTNDSL_KERNEL_H

#include "kernel_operator.h"

namespace attndsl {

// A kernel of one cube core and two vector cores a block.
class KernelBase {
protected:
    static constexpr int64_t kVectorCores = 2;  // of a block

    __aicore__ static inline constexpr int64_t MinOf(int64_t a, int64_t b) { return a < b ? a : b; }

    __aicore__ static inline constexpr int64_t MaxOf(int64_t a, int64_t b) { return a > b ? a : b; }

    // For numbers >= 0: the quotient rounded up, and the next multiple of `b`.
    __aicore__ static inline constexpr int64_t CeilDiv(int64_t a, int64_t b)
    {
        return (a + b - 1) / b;
    }

    __aicore__ static inline constexpr int64_t RoundUp(int64_t a, int64_t b)
    {
        return (a + b - 1) / b * b;
    }

    // Quotient and remainder of division rounded down; C++ rounds towards zero.
    __aicore__ static inline constexpr int64_t FloorDiv(int64_t a, int64_t b)
    {
        return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
    }

    __aicore__ static inline constexpr int64_t FloorMod(int64_t a, int64_t b)
    {
        return a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
    }

    // The number of blocks, and which block and vector core this is.
    __aicore__ inline void FindCore()
    {
        blockCount_ = AscendC::GetBlockNum();
        blockIndex_ = AscendC::GetBlockIdx();
        if ASCEND_IS_AIV {
            blockIndex_ = AscendC::GetBlockIdx() / kVectorCores;
            subBlock_ = AscendC::GetSubBlockIdx();
        }
    }

    // Allocates the memories of a cube core; sizes in bytes.
    __aicore__ inline void TakeCubeMemories(
        AscendC::TPipe &pipe, uint32_t l1, uint32_t l0a, uint32_t l0b, uint32_t l0c)
    {
        pipe.InitBuffer(l1Storage_, l1);
        l1_ = l1Storage_.Get<uint8_t>();
        pipe.InitBuffer(l0aStorage_, l0a);
        l0a_ = l0aStorage_.Get<uint8_t>();
        pipe.InitBuffer(l0bStorage_, l0b);
        l0b_ = l0bStorage_.Get<uint8_t>();
        pipe.InitBuffer(l0cStorage_, l0c);
        l0c_ = l0cStorage_.Get<uint8_t>();
    }

    // Allocates the memory of a vector core; size in bytes.
    __aicore__ inline void TakeVectorMemory(AscendC::TPipe &pipe, uint32_t ub)
    {
        pipe.InitBuffer(ubStorage_, ub);
        ub_ = ubStorage_.Get<uint8_t>();
    }

    // A global tensor at an address.
    template <typename Element>
    __aicore__ static inline void Bind(AscendC::GlobalTensor<Element> &tensor, GM_ADDR address)
    {
        tensor.SetGlobalBuffer(reinterpret_cast<__gm__ Element *>(address));
    }

    // The elements of a memory from a byte offset on.
    template <typename Element>
    __aicore__ static inline AscendC::LocalTensor<Element> View(
        const AscendC::LocalTensor<uint8_t> &memory, uint32_t byte)
    {
        return memory[byte].ReinterpretCast<Element>();
    }

    int64_t blockIndex_ = 0;
    int64_t blockCount_ = 0;
    int64_t subBlock_ = 0;  // which of the block's vector cores

    AscendC::TBuf<AscendC::TPosition::A1> l1Storage_;
    AscendC::LocalTensor<uint8_t> l1_;
    AscendC::TBuf<AscendC::TPosition::A2> l0aStorage_;
    AscendC::LocalTensor<uint8_t> l0a_;
    AscendC::TBuf<AscendC::TPosition::B2> l0bStorage_;
    AscendC::LocalTensor<uint8_t> l0b_;
    AscendC::TBuf<AscendC::TPosition::CO1> l0cStorage_;
    AscendC::LocalTensor<uint8_t> l0c_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> ubStorage_;
    AscendC::LocalTensor<uint8_t> ub_;
};

}  // namespace attndsl

#endif  // ATTNDSL_KERNEL_H
