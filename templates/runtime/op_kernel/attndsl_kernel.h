// The base of all kernels: scalar arithmetic, the core's place, the on-chip memories, and calls of
// AscendC's API with the parameters that kernels use. Pitches are elements from row to row.
#ifndef ATTNDSL_KERNEL_H
#define ATTNDSL_KERNEL_H

#include "kernel_operator.h"
#include "attndsl_device.h"

namespace attndsl {

// A kernel of one cube core and two vector cores a block.
class KernelBase {
protected:
    // Who waits for whom in a flag between cores: all cores of a kind, or those of a block.
    static constexpr uint8_t kAllCores = 0;
    static constexpr uint8_t kBlockCores = 2;

    // The smaller of two numbers.
    __aicore__ static inline constexpr int64_t MinOf(int64_t a, int64_t b) { return a < b ? a : b; }

    // The larger of two numbers.
    __aicore__ static inline constexpr int64_t MaxOf(int64_t a, int64_t b) { return a > b ? a : b; }

    // The quotient rounded up, for a >= 0 and b > 0.
    __aicore__ static inline constexpr int64_t CeilDiv(int64_t a, int64_t b)
    {
        return (a + b - 1) / b;
    }

    // The next multiple of `b`, for a >= 0 and b > 0.
    __aicore__ static inline constexpr int64_t RoundUp(int64_t a, int64_t b)
    {
        return (a + b - 1) / b * b;
    }

    // The quotient rounded down, for b != 0; C++ rounds towards zero.
    __aicore__ static inline constexpr int64_t FloorDiv(int64_t a, int64_t b)
    {
        return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
    }

    // The remainder of a quotient rounded down, for b != 0; C++ rounds towards zero.
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

    // The second pipe of the pair goes on when the first has done its work so far.
    template <AscendC::HardEvent kPipes>
    __aicore__ static inline void SetAndWaitFlag(int32_t event)
    {
        AscendC::SetFlag<kPipes>(event);
        AscendC::WaitFlag<kPipes>(event);
    }

    // Rows from global memory to the unified buffer. Pad lanes up to the next block hold garbage.
    template <typename Element>
    __aicore__ static inline void LoadRows(const AscendC::LocalTensor<Element> &local,
        const AscendC::GlobalTensor<Element> &global, int64_t rows, int64_t columns,
        int64_t globalPitch, int64_t localPitch)
    {
        constexpr int64_t kSize = sizeof(Element);
        constexpr int64_t kBlock = kBlockBytes / kSize;
        AscendC::DataCopyPad(local, global,
            AscendC::DataCopyExtParams(rows, columns * kSize, (globalPitch - columns) * kSize,
                (localPitch - RoundUp(columns, kBlock)) / kBlock, 0),
            AscendC::DataCopyPadExtParams<Element>());
    }

    // Rows from global memory to the unified buffer, with zeros in pad lanes up to the next block.
    template <typename Element>
    __aicore__ static inline void LoadRowsWithZeros(const AscendC::LocalTensor<Element> &local,
        const AscendC::GlobalTensor<Element> &global, int64_t rows, int64_t columns,
        int64_t globalPitch, int64_t localPitch)
    {
        constexpr int64_t kSize = sizeof(Element);
        constexpr int64_t kBlock = kBlockBytes / kSize;
        const int64_t pad = RoundUp(columns, kBlock) - columns;
        AscendC::DataCopyPad(local, global,
            AscendC::DataCopyExtParams(rows, columns * kSize, (globalPitch - columns) * kSize,
                (localPitch - columns - pad) / kBlock, 0),
            AscendC::DataCopyPadExtParams<Element>(true, 0, pad, 0));
    }

    // One row from global memory to the unified buffer. Pad lanes up to the next block hold
    // garbage.
    template <typename Element>
    __aicore__ static inline void LoadRow(const AscendC::LocalTensor<Element> &local,
        const AscendC::GlobalTensor<Element> &global, int64_t columns)
    {
        constexpr int64_t kSize = sizeof(Element);
        AscendC::DataCopyPad(local, global,
            AscendC::DataCopyExtParams(1, columns * kSize, 0, 0, 0),
            AscendC::DataCopyPadExtParams<Element>());
    }

    // Rows from the unified buffer to global memory, exactly their columns.
    template <typename Element>
    __aicore__ static inline void StoreRows(const AscendC::GlobalTensor<Element> &global,
        const AscendC::LocalTensor<Element> &local, int64_t rows, int64_t columns,
        int64_t globalPitch, int64_t localPitch)
    {
        constexpr int64_t kSize = sizeof(Element);
        constexpr int64_t kBlock = kBlockBytes / kSize;
        AscendC::DataCopyPad(global, local,
            AscendC::DataCopyExtParams(rows, columns * kSize,
                (localPitch - RoundUp(columns, kBlock)) / kBlock,
                (globalPitch - columns) * kSize, 0));
    }

    // One row from the unified buffer to global memory, exactly its columns.
    template <typename Element>
    __aicore__ static inline void StoreRow(const AscendC::GlobalTensor<Element> &global,
        const AscendC::LocalTensor<Element> &local, int64_t columns)
    {
        constexpr int64_t kSize = sizeof(Element);
        AscendC::DataCopyPad(global, local,
            AscendC::DataCopyExtParams(1, columns * kSize, 0, 0, 0));
    }

    // `rows` rows of a task, of `heads` a position, from its row `first` on to where their heads
    // and positions are stored; `global` is the place of row 0. `run` rows leave in one copy at
    // most: the heads of a position, or all positions of a single head.
    template <typename Element>
    __aicore__ static inline void StoreRuns(const AscendC::GlobalTensor<Element> &global,
        const AscendC::LocalTensor<Element> &local, int64_t first, int64_t rows, int64_t run,
        int64_t heads, int64_t columns, int64_t headPitch, int64_t positionPitch,
        int64_t localPitch)
    {
        const int64_t pitch = heads == 1 ? positionPitch : headPitch;
        int64_t row = 0;
        while (row < rows) {
            const int64_t taskRow = first + row;
            const int64_t count = MinOf(run - taskRow % run, rows - row);
            StoreRows(global[taskRow / heads * positionPitch + taskRow % heads * headPitch],
                local[row * localPitch], count, columns, pitch, localPitch);
            row += count;
        }
    }

    // Rows of whole blocks from global memory to L1, as they are.
    template <typename Element>
    __aicore__ static inline void LoadBlocks(const AscendC::LocalTensor<Element> &l1,
        const AscendC::GlobalTensor<Element> &global, int64_t rows, int64_t columns,
        int64_t globalPitch, int64_t l1Pitch)
    {
        constexpr int64_t kBlock = kBlockBytes / sizeof(Element);
        AscendC::DataCopy(l1, global,
            AscendC::DataCopyParams(rows, columns / kBlock, (globalPitch - columns) / kBlock,
                (l1Pitch - columns) / kBlock));
    }

    // A row-major matrix to Nz in L1, in an image of `imageRows` rows. Of the last column
    // group what lies behind the columns is filled with zeros.
    template <typename Element>
    __aicore__ static inline void LoadNz(const AscendC::LocalTensor<Element> &l1,
        const AscendC::GlobalTensor<Element> &global, int64_t rows, int64_t columns, int64_t pitch,
        int64_t imageRows)
    {
        AscendC::Nd2NzParams matrix;
        matrix.ndNum = 1;
        matrix.nValue = rows;
        matrix.dValue = columns;
        matrix.srcDValue = pitch;
        matrix.dstNzC0Stride = imageRows;
        matrix.dstNzNStride = 1;
        AscendC::DataCopy(l1, global, matrix);
    }

    // A row-major matrix to Nz in L1, row by row where its pitch exceeds the limit of one copy.
    template <typename Element>
    __aicore__ static inline void LoadNzOfAnyPitch(const AscendC::LocalTensor<Element> &l1,
        const AscendC::GlobalTensor<Element> &global, int64_t rows, int64_t columns, int64_t pitch,
        int64_t imageRows)
    {
        if (pitch <= kMaxNd2NzPitch) {
            LoadNz(l1, global, rows, columns, pitch, imageRows);
        } else {
            for (int64_t row = 0; row < rows; ++row) {
                LoadNz(l1[row * (kBlockBytes / sizeof(Element))], global[row * pitch], 1, columns,
                    columns, imageRows);
            }
        }
    }

    // The `heads` rows of some positions to Nz in L1, position by position, in an image of
    // `imageRows` rows: in one copy, or in one each position where the pitch of positions exceeds
    // its limit. The pitch of heads is within the limit.
    template <typename Element>
    __aicore__ static inline void LoadPositions(const AscendC::LocalTensor<Element> &l1,
        const AscendC::GlobalTensor<Element> &global, int64_t positions, int64_t heads,
        int64_t columns, int64_t positionPitch, int64_t headPitch, int64_t imageRows)
    {
        constexpr int64_t kBlock = kBlockBytes / sizeof(Element);
        if (heads == 1 && positionPitch <= kMaxNd2NzPitch) {
            LoadNz(l1, global, positions, columns, positionPitch, imageRows);
        } else if (positionPitch <= kMaxNd2NzPitch) {
            AscendC::Nd2NzParams matrices;
            matrices.ndNum = positions;
            matrices.nValue = heads;
            matrices.dValue = columns;
            matrices.srcNdMatrixStride = positionPitch;
            matrices.srcDValue = headPitch;
            matrices.dstNzC0Stride = imageRows;
            matrices.dstNzNStride = 1;
            matrices.dstNzMatrixStride = heads * kBlock;
            AscendC::DataCopy(l1, global, matrices);
        } else {
            for (int64_t position = 0; position < positions; ++position) {
                LoadNz(l1[position * heads * kBlock], global[position * positionPitch], heads,
                    columns, headPitch, imageRows);
            }
        }
    }

    // `count` fractals of L1, each `stride` after the one before, to L0A or L0B side by side.
    template <typename Element>
    __aicore__ static inline void LoadFractals(const AscendC::LocalTensor<Element> &l0,
        const AscendC::LocalTensor<Element> &l1, int64_t count, int64_t stride)
    {
        AscendC::LoadData2DParams fractals;
        fractals.repeatTimes = count;
        fractals.srcStride = stride;
        AscendC::LoadData(l0, l1, fractals);
    }

    // `rows` x `columns` fractals from Nz in L1, an image of `imageRows` rows of fractals, to Zz in
    // L0A.
    template <typename Element>
    __aicore__ static inline void LoadLeft(const AscendC::LocalTensor<Element> &l0a,
        const AscendC::LocalTensor<Element> &l1, int64_t rows, int64_t columns, int64_t imageRows)
    {
        constexpr int64_t kElements = kFractal * kBlockBytes / sizeof(Element);
        for (int64_t row = 0; row < rows; ++row) {
            LoadFractals(l0a[row * columns * kElements], l1[row * kElements], columns, imageRows);
        }
    }

    // `rows` x `columns` fractals of 16-bit elements, from Nz in L1 with `imageRows` rows of
    // fractals, to Zn in L0B, each transposed: all at once, as an image of one line over which a
    // window of one element moves.
    template <typename Element>
    __aicore__ static inline void LoadTransposed(const AscendC::LocalTensor<Element> &l0b,
        const AscendC::LocalTensor<Element> &l1, int64_t rows, int64_t columns, int64_t imageRows)
    {
        AscendC::LoadData3DParamsV2<Element> image;
        image.l1H = 1;
        image.l1W = imageRows * kFractal;
        image.channelSize = columns * kFractal;
        image.kExtension = columns * kFractal;
        image.mExtension = rows * kFractal;
        AscendC::LoadData(l0b, l1, image);
    }

    // `rows` x `columns` fractals of int8, from Nz in L1 with `imageRows` rows of squares of two
    // fractals, to Zn in L0B, each square transposed; `rows`: of squares.
    __aicore__ static inline void LoadTransposedInt8(const AscendC::LocalTensor<int8_t> &l0b,
        const AscendC::LocalTensor<int8_t> &l1, int64_t rows, int64_t columns, int64_t imageRows)
    {
        AscendC::LoadData2dTransposeParams squares;
        squares.repeatTimes = columns * kFractal / kBlockBytes;
        squares.srcStride = imageRows;
        squares.dstGap = 1;
        for (int64_t row = 0; row < rows; ++row) {
            AscendC::LoadDataWithTranspose(l0b[row * columns * (kFractal * kBlockBytes)],
                l1[row * (kBlockBytes * kBlockBytes)], squares);
        }
    }

    // The parameters of a product of `rows` x `depth` by `depth` x `columns`: it `starts` a sum in
    // L0C, or is added to the one there. Events order the pipes, so that there is no unit flag.
    // What lies behind `depth` in the last fractals, and may be stale, the device leaves out.
    __aicore__ static inline AscendC::MmadParams ProductParams(
        int64_t rows, int64_t columns, int64_t depth, bool starts)
    {
        AscendC::MmadParams product;
        product.m = rows;
        product.n = columns;
        product.k = depth;
        product.unitFlag = 0;
        product.cmatrixSource = false;  // the sum is in L0C
        product.cmatrixInitVal = starts;
        return product;
    }

    // `rows` rows of a product of `productRows` rows in L0C to row-major global memory; float is
    // rounded where that is of half or bfloat16_t.
    template <typename Element, typename Product>
    __aicore__ static inline void StoreProduct(const AscendC::GlobalTensor<Element> &global,
        const AscendC::LocalTensor<Product> &l0c, int64_t rows, int64_t columns, int64_t pitch,
        int64_t productRows)
    {
        AscendC::FixpipeParamsV220 product;
        product.nSize = columns;
        product.mSize = rows;
        product.srcStride = productRows;
        product.dstStride = pitch;
        if constexpr (sizeof(Element) < sizeof(Product)) {
            product.quantPre =
                std::is_same_v<Element, half> ? QuantMode_t::F322F16 : QuantMode_t::F322BF16;
        }
        AscendC::Fixpipe<Element, Product, AscendC::CFG_ROW_MAJOR>(global, l0c, product);
    }

    // A copy of any number of lanes. DataCopy within the unified buffer moves whole blocks, so that
    // it would write lanes after the last.
    template <typename Element>
    __aicore__ static inline void CopyLanes(const AscendC::LocalTensor<Element> &to,
        const AscendC::LocalTensor<Element> &from, int64_t count)
    {
        AscendC::Adds(to, from, Element(0), count);
    }

    // One number a row becomes a block of equal numbers a row. Two copies stand 64 lanes apart, for
    // each group of eight rows, in different halves of the banks.
    template <int64_t kCopies>
    __aicore__ static inline void SpreadOverBlocks(const AscendC::LocalTensor<float> &blocks,
        const AscendC::LocalTensor<float> &numbers, int64_t rows)
    {
        for (int64_t copy = 0; copy < kCopies * kRepeatLanes; copy += kRepeatLanes) {
            AscendC::Brcb(blocks[copy], numbers, rows / kBlockLanes,
                AscendC::BrcbRepeatParams(1, kCopies * kBlockLanes));
        }
    }

    // rows[r] *= blocks[r]: whole repeats of columns.
    template <int64_t kCopies>
    __aicore__ static inline void MulRows(const AscendC::LocalTensor<float> &rows,
        const AscendC::LocalTensor<float> &blocks, int64_t count, int64_t columns, int64_t pitch)
    {
        for (int64_t c0 = 0; c0 < columns; c0 += kRepeatLanes) {
            for (int64_t r0 = 0; r0 < count; r0 += RowsAtOnce<kCopies>(count)) {
                AscendC::Mul(rows[c0 + r0 * pitch], rows[c0 + r0 * pitch],
                    blocks[CopyOffset<kCopies>(r0, c0)], kRepeatLanes,
                    MinOf(RowsAtOnce<kCopies>(count), count - r0), OfBlocks(pitch));
            }
        }
    }

    // rows[r] /= blocks[r]: whole repeats of columns.
    template <int64_t kCopies>
    __aicore__ static inline void DivRows(const AscendC::LocalTensor<float> &rows,
        const AscendC::LocalTensor<float> &blocks, int64_t count, int64_t columns, int64_t pitch)
    {
        for (int64_t c0 = 0; c0 < columns; c0 += kRepeatLanes) {
            for (int64_t r0 = 0; r0 < count; r0 += RowsAtOnce<kCopies>(count)) {
                AscendC::Div(rows[c0 + r0 * pitch], rows[c0 + r0 * pitch],
                    blocks[CopyOffset<kCopies>(r0, c0)], kRepeatLanes,
                    MinOf(RowsAtOnce<kCopies>(count), count - r0), OfBlocks(pitch));
            }
        }
    }

    // rows[r] -= blocks[r]: whole repeats of columns.
    template <int64_t kCopies>
    __aicore__ static inline void SubRows(const AscendC::LocalTensor<float> &rows,
        const AscendC::LocalTensor<float> &blocks, int64_t count, int64_t columns, int64_t pitch)
    {
        for (int64_t c0 = 0; c0 < columns; c0 += kRepeatLanes) {
            for (int64_t r0 = 0; r0 < count; r0 += RowsAtOnce<kCopies>(count)) {
                AscendC::Sub(rows[c0 + r0 * pitch], rows[c0 + r0 * pitch],
                    blocks[CopyOffset<kCopies>(r0, c0)], kRepeatLanes,
                    MinOf(RowsAtOnce<kCopies>(count), count - r0), OfBlocks(pitch));
            }
        }
    }

    // Rows that one instruction takes with blocks: a copy of them serves eight rows.
    template <int64_t kCopies>
    __aicore__ static inline constexpr int64_t RowsAtOnce(int64_t count)
    {
        return kCopies == 1 ? count : kBlockLanes;
    }

    // Where the copy of blocks begins whose banks the other operand leaves free, so that no banks
    // conflict.
    template <int64_t kCopies>
    __aicore__ static inline constexpr int64_t CopyOffset(int64_t row, int64_t column)
    {
        return kCopies == 1 ? 0
                            : row * kCopies * kBlockLanes + kRepeatLanes
                                - column % (kCopies * kRepeatLanes);
    }

    // The strides of rows that stand `pitch` apart and take a block each.
    __aicore__ static inline AscendC::BinaryRepeatParams OfBlocks(int64_t pitch)
    {
        return AscendC::BinaryRepeatParams(1, 1, 0, pitch / kBlockLanes, pitch / kBlockLanes, 1);
    }

    // Merges a partial of `count` rows into the rows, log-sum-exp: both sides are rescaled to the
    // larger maximum of a row and added. Maxima and sums have a block of equal lanes a row, rows
    // whole repeats of columns without a gap. The partial, `newMaxima` and `rescale` are scratch.
    __aicore__ static inline void MergePartial(const AscendC::LocalTensor<float> &rows,
        const AscendC::LocalTensor<float> &maxima, const AscendC::LocalTensor<float> &sums,
        const AscendC::LocalTensor<float> &partRows, const AscendC::LocalTensor<float> &partMaxima,
        const AscendC::LocalTensor<float> &partSums, const AscendC::LocalTensor<float> &newMaxima,
        const AscendC::LocalTensor<float> &rescale, int64_t count, int64_t columns)
    {
        const int64_t lanes = count * kBlockLanes;
        AscendC::Max(newMaxima, maxima, partMaxima, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Sub(rescale, maxima, newMaxima, lanes);
        AscendC::Sub(partMaxima, partMaxima, newMaxima, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Exp(rescale, rescale, lanes);
        AscendC::Exp(partMaxima, partMaxima, lanes);
        CopyLanes(maxima, newMaxima, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Mul(sums, sums, rescale, lanes);
        AscendC::Mul(partSums, partSums, partMaxima, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(sums, sums, partSums, lanes);
        MulRows<1>(rows, rescale, count, columns, columns);
        MulRows<1>(partRows, partMaxima, count, columns, columns);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(rows, rows, partRows, count * columns);
    }

    // `value` in the lanes of `count` rows of one repeat from lane `first` on, which is below 64.
    __aicore__ static inline void FillLanes(const AscendC::LocalTensor<float> &rows, int64_t first,
        float value, int64_t count, int64_t pitch)
    {
        uint64_t lanes[2] = {~uint64_t(0) << first, 0};
        AscendC::Duplicate(rows, value, lanes, count, 1, pitch / kBlockLanes);
    }

    // `value` in lanes `begin` to `end` of a row, none if `end` is not above: by a mask up to the
    // next whole repeat, then by a count.
    __aicore__ static inline void FillInterval(const AscendC::LocalTensor<float> &row,
        int64_t begin, int64_t end, float value)
    {
        const int64_t first = begin % kRepeatLanes;
        if (first != 0 && begin < end) {
            const int64_t base = begin - first;
            const int64_t last = MinOf(end - base, kRepeatLanes);
            uint64_t lanes[2] = {LanesBetween(first, last), 0};
            AscendC::Duplicate(row[base], value, lanes, 1, 1, kRepeatLanes / kBlockLanes);
            begin = base + last;
        }
        if (begin < end) {
            AscendC::Duplicate(row[begin], value, end - begin);
        }
    }

    // `value` in lanes `begin` to `end` of `count` rows, none if `end` is not above: by a mask for
    // each repeat of columns that the interval touches.
    __aicore__ static inline void FillIntervalOfRows(const AscendC::LocalTensor<float> &rows,
        int64_t begin, int64_t end, float value, int64_t count, int64_t pitch)
    {
        for (int64_t c0 = begin - begin % kRepeatLanes; begin < end && c0 < end;
             c0 += kRepeatLanes) {
            uint64_t lanes[2] =
                {LanesBetween(MaxOf(begin - c0, 0), MinOf(end - c0, kRepeatLanes)), 0};
            AscendC::Duplicate(rows[c0], value, lanes, count, 1, pitch / kBlockLanes);
        }
    }

    // The bits of the lanes of a repeat from `first` to before `last`, which is above 0.
    __aicore__ static inline constexpr uint64_t LanesBetween(int64_t first, int64_t last)
    {
        return (~uint64_t(0) << first) & (~uint64_t(0) >> (kRepeatLanes - last));
    }

    // The maximum of each block of 8 lanes of `count` rows, whole repeats of columns.
    __aicore__ static inline void MaxOfBlocks(const AscendC::LocalTensor<float> &results,
        const AscendC::LocalTensor<float> &rows, int64_t count, int64_t columns,
        int64_t resultPitch, int64_t pitch)
    {
        for (int64_t c0 = 0; c0 < columns; c0 += kRepeatLanes) {
            AscendC::BlockReduceMax(results[c0 / kBlockLanes], rows[c0], count, kRepeatLanes,
                resultPitch / kBlockLanes, 1, pitch / kBlockLanes);
        }
    }

    // The sum of each block of 8 lanes of `count` rows, whole repeats of columns.
    __aicore__ static inline void SumOfBlocks(const AscendC::LocalTensor<float> &results,
        const AscendC::LocalTensor<float> &rows, int64_t count, int64_t columns,
        int64_t resultPitch, int64_t pitch)
    {
        for (int64_t c0 = 0; c0 < columns; c0 += kRepeatLanes) {
            AscendC::BlockReduceSum(results[c0 / kBlockLanes], rows[c0], count, kRepeatLanes,
                resultPitch / kBlockLanes, 1, pitch / kBlockLanes);
        }
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
