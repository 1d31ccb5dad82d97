// The contract of nsa_compress_attention, checked on the host before a launch. Plain C++17, no CANN
// headers.
// Document: mindspore.ops.nsa_compress_attention
//
// Checks have the spec's order, and the messages of the spec's Python function.
#ifndef ATTNDSL_NSA_COMPRESS_ATTENTION_CHECK_H
#define ATTNDSL_NSA_COMPRESS_ATTENTION_CHECK_H

#include <cmath>

#include "sizes.h"

namespace nsa_compress_attention_host {

using namespace attndsl;

constexpr const char *kOperator = "nsa_compress_attention";

// The arguments, in the order of the document.
struct Call {
    Tensor query;
    Tensor key;
    Tensor value;
    double scale_value = 0.0;
    int64_t head_num = 0;
    int64_t compress_block_size = 0;  // l, keys of a compressed block
    int64_t compress_stride = 0;  // d, keys between the starts of compressed blocks
    int64_t select_block_size = 0;  // l', keys of a selected block
    int64_t select_block_count = 0;
    Tensor topk_mask;  // optional; non-zero: the block is selected before all others
    Tensor atten_mask;  // optional; non-zero hides the key
    Tensor actual_seq_qlen;  // read by the host; queries
    Tensor actual_cmp_seq_kvlen;  // read by the host; compressed keys
    Tensor actual_sel_seq_kvlen;  // read by the host; selection blocks
    // where the sums of step 4 begin: as shipped kernels do, as the paper does, all from 0
    std::string index_reading = "op";
    bool relaxed = false;  // head sizes need not be multiples of 16
};

// Sizes that follow from the shapes of a call.
struct Sizes {
    int64_t T1 = attndsl::kUnknown;
    int64_t T2 = attndsl::kUnknown;
    int64_t N1 = attndsl::kUnknown;
    int64_t N2 = attndsl::kUnknown;
    int64_t D1 = attndsl::kUnknown;
    int64_t D2 = attndsl::kUnknown;
    int64_t B = attndsl::kUnknown;
    int64_t S1 = attndsl::kUnknown;  // longest(actual_seq_qlen)
    int64_t cmpS2 = attndsl::kUnknown;  // longest(actual_cmp_seq_kvlen)
    int64_t selS2 = attndsl::kUnknown;  // longest(actual_sel_seq_kvlen)
    int64_t longest_actual_seq_qlen = 0;  // rows of the longest batch row of actual_seq_qlen
    // rows of the longest batch row of actual_cmp_seq_kvlen
    int64_t longest_actual_cmp_seq_kvlen = 0;
    // rows of the longest batch row of actual_sel_seq_kvlen
    int64_t longest_actual_sel_seq_kvlen = 0;
    std::string query_layout = "None";  // layout of query
    std::string key_layout = "None";  // layout of key
    std::string value_layout = "None";  // layout of value
    std::string topk_mask_layout = "None";  // layout of topk_mask
    std::string atten_mask_layout = "None";  // layout of atten_mask
    std::string actual_seq_qlen_layout = "None";  // layout of actual_seq_qlen
    std::string actual_cmp_seq_kvlen_layout = "None";  // layout of actual_cmp_seq_kvlen
    std::string actual_sel_seq_kvlen_layout = "None";  // layout of actual_sel_seq_kvlen
};

// What has to be passed is there; arguments that are lists stand for what they hold.
inline Status ResolveLists(Call &call)
{
    if (!call.query.given) {
        return Missing(kOperator, "query");
    }
    if (!call.key.given) {
        return Missing(kOperator, "key");
    }
    if (!call.value.given) {
        return Missing(kOperator, "value");
    }
    if (!call.actual_seq_qlen.given) {
        return Missing(kOperator, "actual_seq_qlen");
    }
    if (!call.actual_cmp_seq_kvlen.given) {
        return Missing(kOperator, "actual_cmp_seq_kvlen");
    }
    if (!call.actual_sel_seq_kvlen.given) {
        return Missing(kOperator, "actual_sel_seq_kvlen");
    }
    return Status{};
}

// Dtypes.
inline Status CheckDtypes(const Call &call)
{
    if (call.query.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {DataType::kFloat16, DataType::kBfloat16}, {}};
        const Status status = attndsl::CheckDtype(kOperator, "query", call.query.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.key.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {}, {{"query", call.query.dtype}}};
        const Status status = attndsl::CheckDtype(kOperator, "key", call.key.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.value.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {}, {{"query", call.query.dtype}}};
        const Status status = attndsl::CheckDtype(kOperator, "value", call.value.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.topk_mask.given) {
        const DtypeRule rule{{DataType::kBool, DataType::kUint8},
            {DataType::kBool, DataType::kUint8}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "topk_mask", call.topk_mask.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.atten_mask.given) {
        const DtypeRule rule{{DataType::kBool, DataType::kUint8},
            {DataType::kBool, DataType::kUint8}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "atten_mask", call.atten_mask.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.actual_seq_qlen.given) {
        const DtypeRule rule{{DataType::kInt64},
            {DataType::kInt64}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "actual_seq_qlen", call.actual_seq_qlen.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.actual_cmp_seq_kvlen.given) {
        const DtypeRule rule{{DataType::kInt64},
            {DataType::kInt64}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "actual_cmp_seq_kvlen", call.actual_cmp_seq_kvlen.dtype,
                rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.actual_sel_seq_kvlen.given) {
        const DtypeRule rule{{DataType::kInt64},
            {DataType::kInt64}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "actual_sel_seq_kvlen", call.actual_sel_seq_kvlen.dtype,
                rule);
        if (!status.Ok()) {
            return status;
        }
    }
    return Status{};
}

// Parameters are legal values.
inline Status CheckRanges(const Call &call)
{
    if (call.scale_value - call.scale_value != 0) {
        return Fail("RangeError",
            std::string(kOperator) + ": scale_value: must be finite, got "
                + Text(call.scale_value) +
            "; pass a number such as 1.0");
    }
    if (!(call.head_num > 0)) {
        return Fail("RangeError", std::string(kOperator) + ": head_num: must be > 0, got " +
            Text(call.head_num) + "; the nearest legal value is 1");
    }
    if (!(call.compress_block_size >= 16)) {
        return Fail("RangeError",
            std::string(kOperator) + ": compress_block_size: must be >= 16, got " +
            Text(call.compress_block_size) + "; the nearest legal value is 16");
    }
    if (!(call.compress_block_size <= 128)) {
        return Fail("RangeError",
            std::string(kOperator) + ": compress_block_size: must be <= 128, got " +
            Text(call.compress_block_size) + "; the nearest legal value is 128");
    }
    if (!(call.compress_stride >= 16)) {
        return Fail("RangeError",
            std::string(kOperator) + ": compress_stride: must be >= 16, got " +
            Text(call.compress_stride) + "; the nearest legal value is 16");
    }
    if (!(call.compress_stride <= 64)) {
        return Fail("RangeError",
            std::string(kOperator) + ": compress_stride: must be <= 64, got " +
            Text(call.compress_stride) + "; the nearest legal value is 64");
    }
    if (!(call.select_block_size >= 16)) {
        return Fail("RangeError",
            std::string(kOperator) + ": select_block_size: must be >= 16, got " +
            Text(call.select_block_size) + "; the nearest legal value is 16");
    }
    if (!(call.select_block_size <= 128)) {
        return Fail("RangeError",
            std::string(kOperator) + ": select_block_size: must be <= 128, got " +
            Text(call.select_block_size) + "; the nearest legal value is 128");
    }
    if (!(call.select_block_count >= 1)) {
        return Fail("RangeError",
            std::string(kOperator) + ": select_block_count: must be >= 1, got " +
            Text(call.select_block_count) + "; the nearest legal value is 1");
    }
    if (!(call.select_block_count <= 32)) {
        return Fail("RangeError",
            std::string(kOperator) + ": select_block_count: must be <= 32, got " +
            Text(call.select_block_count) + "; the nearest legal value is 32");
    }
    if (call.index_reading != "op"
        && call.index_reading != "paper"
        && call.index_reading != "literal0") {
        return Fail("ChoiceError",
            std::string(kOperator) + ": index_reading: " + Quoted(call.index_reading)
                + " is none of "
            "'op', 'paper', 'literal0'" + std::string(""));
    }
    return Status{};
}

// What parameters alone decide.
inline Status CheckParameters(const Call &call)
{
    // compress_block_size: must be a multiple of 16
    if (!(FloorModOrZero(call.compress_block_size, 16) == 0)) {
        Values values;
        values.Add("compress_block_size", call.compress_block_size);
        return Violation("DivisibilityError", kOperator, "compress_block_size",
            "must be a multiple of 16", values,
            NearestMultiples(call.compress_block_size, 16, 16, ""));
    }
    // compress_stride: must be a multiple of 16
    if (!(FloorModOrZero(call.compress_stride, 16) == 0)) {
        Values values;
        values.Add("compress_stride", call.compress_stride);
        return Violation("DivisibilityError", kOperator, "compress_stride",
            "must be a multiple of 16", values,
            NearestMultiples(call.compress_stride, 16, 16, ""));
    }
    // select_block_size: must be a multiple of 16
    if (!(FloorModOrZero(call.select_block_size, 16) == 0)) {
        Values values;
        values.Add("select_block_size", call.select_block_size);
        return Violation("DivisibilityError", kOperator, "select_block_size",
            "must be a multiple of 16", values,
            NearestMultiples(call.select_block_size, 16, 16, ""));
    }
    // select_block_size: must be a multiple of compress_stride
    if (!(call.compress_stride != 0
        && FloorModOrZero(call.select_block_size, call.compress_stride) == 0)) {
        Values values;
        values.Add("select_block_size", call.select_block_size);
        values.Add("compress_stride", call.compress_stride);
        return Violation("DivisibilityError", kOperator, "select_block_size",
            "must be a multiple of compress_stride", values,
            NearestMultiples(call.select_block_size, call.compress_stride, call.compress_stride,
                ""));
    }
    // compress_block_size: must be at least compress_stride
    if (!(call.compress_block_size >= call.compress_stride)) {
        Values values;
        values.Add("compress_block_size", call.compress_block_size);
        values.Add("compress_stride", call.compress_stride);
        return Violation("RangeError", kOperator, "compress_block_size",
            "must be at least compress_stride", values,
            NearestLegal(call.compress_stride, ""));
    }
    // select_block_size: must be at least compress_block_size
    if (!(call.select_block_size >= call.compress_block_size)) {
        Values values;
        values.Add("select_block_size", call.select_block_size);
        values.Add("compress_block_size", call.compress_block_size);
        return Violation("RangeError", kOperator, "select_block_size",
            "must be at least compress_block_size", values,
            NearestLegal(call.compress_block_size, ""));
    }
    return Status{};
}

// The sizes of the contract from the shapes of the arguments.
inline Status SolveSizes(const Call &call, Sizes &sizes)
{
    SizeSolver solver(kOperator);
    sizes.longest_actual_seq_qlen = LongestRow(call.actual_seq_qlen);
    sizes.longest_actual_cmp_seq_kvlen = LongestRow(call.actual_cmp_seq_kvlen);
    sizes.longest_actual_sel_seq_kvlen = LongestRow(call.actual_sel_seq_kvlen);
    Size T1_("T1", sizes.T1);
    Size T2_("T2", sizes.T2);
    Size N1_("N1", sizes.N1);
    Size N2_("N2", sizes.N2);
    Size D1_("D1", sizes.D1);
    Size D2_("D2", sizes.D2);
    Size B_("B", sizes.B);
    Size S1_("S1", sizes.S1);
    Size cmpS2_("cmpS2", sizes.cmpS2);
    Size selS2_("selS2", sizes.selS2);
    S1_.Define(sizes.longest_actual_seq_qlen, "longest(actual_seq_qlen)");
    cmpS2_.Define(sizes.longest_actual_cmp_seq_kvlen, "longest(actual_cmp_seq_kvlen)");
    selS2_.Define(sizes.longest_actual_sel_seq_kvlen, "longest(actual_sel_seq_kvlen)");
    {
        const Status status = solver.Match(Shaped{"query"}, call.query, {
                {true, "", {{T1_}, {N1_}, {D1_}},
                {}},
            }, sizes.query_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"key"}, call.key, {
                {true, "", {{T2_}, {N2_}, {D1_}},
                {}},
            }, sizes.key_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"value"}, call.value, {
                {true, "", {{T2_}, {N2_}, {D2_}},
                {}},
            }, sizes.value_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchLengths(Shaped{"actual_seq_qlen"}, call.actual_seq_qlen, {
                {true, "", {{B_}},
                {}},
            }, false, sizes.actual_seq_qlen_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status =
            solver.MatchLengths(Shaped{"actual_cmp_seq_kvlen"}, call.actual_cmp_seq_kvlen, {
                {true, "", {{B_}},
                {}},
            }, false, sizes.actual_cmp_seq_kvlen_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status =
            solver.MatchLengths(Shaped{"actual_sel_seq_kvlen"}, call.actual_sel_seq_kvlen, {
                {true, "", {{B_}},
                {}},
            }, false, sizes.actual_sel_seq_kvlen_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    if (const Status status = solver.Finish(); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(T1_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(T2_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(N1_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(N2_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(D1_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(D2_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(B_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(S1_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(cmpS2_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(selS2_); !status.Ok()) {
        return status;
    }
    // actual_seq_qlen: must have at least one batch row
    if (!(sizes.B > 0)) {
        Values values;
        values.Add("B", sizes.B);
        return Violation("LengthRangeError", kOperator, "actual_seq_qlen",
            "must have at least one batch row", values,
            NearestLegal(1, " of B"));
    }
    // actual_seq_qlen: prefix sums must begin at 0 or above and not decrease
    if (call.actual_seq_qlen.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.actual_seq_qlen.GetValue(b)
                >= (b == 0 ? int64_t(0) : call.actual_seq_qlen.GetValue(b - 1)))) {
                Values values;
                values.AddElement("actual_seq_qlen", call.actual_seq_qlen, b);
                if (!(b == 0)) {
                    values.AddElement("actual_seq_qlen", call.actual_seq_qlen, b - 1);
                }
                return Violation("LengthRangeError", kOperator, "actual_seq_qlen",
                    "prefix sums must begin at 0 or above and not decrease", values,
                    NearestLegal(b == 0 ? int64_t(0) : call.actual_seq_qlen.GetValue(b - 1), ""));
            }
        }
    }
    // actual_seq_qlen: the last prefix sum must be T1
    if (call.actual_seq_qlen.Readable()
        && !(call.actual_seq_qlen.GetValue(sizes.B - 1) == sizes.T1)) {
        Values values;
        values.AddElement("actual_seq_qlen", call.actual_seq_qlen, sizes.B - 1);
        values.Add("T1", sizes.T1);
        return Violation("LengthRangeError", kOperator, "actual_seq_qlen",
            "the last prefix sum must be T1", values,
            NearestLegal(sizes.T1, ""));
    }
    // actual_cmp_seq_kvlen: prefix sums must begin at 0 or above and not decrease
    if (call.actual_cmp_seq_kvlen.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.actual_cmp_seq_kvlen.GetValue(b)
                >= (b == 0 ? int64_t(0) : call.actual_cmp_seq_kvlen.GetValue(b - 1)))) {
                Values values;
                values.AddElement("actual_cmp_seq_kvlen", call.actual_cmp_seq_kvlen, b);
                if (!(b == 0)) {
                    values.AddElement("actual_cmp_seq_kvlen", call.actual_cmp_seq_kvlen, b - 1);
                }
                return Violation("LengthRangeError", kOperator, "actual_cmp_seq_kvlen",
                    "prefix sums must begin at 0 or above and not decrease", values,
                    NearestLegal(b == 0 ? int64_t(0) : call.actual_cmp_seq_kvlen.GetValue(b - 1),
                        ""));
            }
        }
    }
    // actual_cmp_seq_kvlen: the last prefix sum must be T2
    if (call.actual_cmp_seq_kvlen.Readable()
        && !(call.actual_cmp_seq_kvlen.GetValue(sizes.B - 1) == sizes.T2)) {
        Values values;
        values.AddElement("actual_cmp_seq_kvlen", call.actual_cmp_seq_kvlen, sizes.B - 1);
        values.Add("T2", sizes.T2);
        return Violation("LengthRangeError", kOperator, "actual_cmp_seq_kvlen",
            "the last prefix sum must be T2", values,
            NearestLegal(sizes.T2, ""));
    }
    // actual_sel_seq_kvlen: prefix sums must begin at 0 or above and not decrease
    if (call.actual_sel_seq_kvlen.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.actual_sel_seq_kvlen.GetValue(b)
                >= (b == 0 ? int64_t(0) : call.actual_sel_seq_kvlen.GetValue(b - 1)))) {
                Values values;
                values.AddElement("actual_sel_seq_kvlen", call.actual_sel_seq_kvlen, b);
                if (!(b == 0)) {
                    values.AddElement("actual_sel_seq_kvlen", call.actual_sel_seq_kvlen, b - 1);
                }
                return Violation("LengthRangeError", kOperator, "actual_sel_seq_kvlen",
                    "prefix sums must begin at 0 or above and not decrease", values,
                    NearestLegal(b == 0 ? int64_t(0) : call.actual_sel_seq_kvlen.GetValue(b - 1),
                        ""));
            }
        }
    }
    // actual_cmp_seq_kvlen: must give each batch row at least one key
    if (call.actual_cmp_seq_kvlen.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.actual_cmp_seq_kvlen.GetValue(b)
                > (b == 0 ? int64_t(0) : call.actual_cmp_seq_kvlen.GetValue(b - 1)))) {
                Values values;
                values.AddElement("actual_cmp_seq_kvlen", call.actual_cmp_seq_kvlen, b);
                if (!(b == 0)) {
                    values.AddElement("actual_cmp_seq_kvlen", call.actual_cmp_seq_kvlen, b - 1);
                }
                return Violation("LengthRangeError", kOperator, "actual_cmp_seq_kvlen",
                    "must give each batch row at least one key", values,
                    NearestLegal(
                        (b == 0 ? int64_t(0) : call.actual_cmp_seq_kvlen.GetValue(b - 1)) + 1, ""));
            }
        }
    }
    // actual_sel_seq_kvlen: must have blocks for all keys of a batch row
    if (call.actual_sel_seq_kvlen.Readable() && call.actual_cmp_seq_kvlen.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.compress_stride != 0
                && FloorDivOrZero(call.select_block_size, call.compress_stride) != 0
                && call.actual_sel_seq_kvlen.GetValue(b)
                    >= (b == 0 ? int64_t(0) : call.actual_sel_seq_kvlen.GetValue(b - 1))
                        + CeilDivOrZero(call.actual_cmp_seq_kvlen.GetValue(b)
                            - (b == 0 ? int64_t(0) : call.actual_cmp_seq_kvlen.GetValue(b - 1)),
                            FloorDivOrZero(call.select_block_size, call.compress_stride)))) {
                Values values;
                values.AddElement("actual_sel_seq_kvlen", call.actual_sel_seq_kvlen, b);
                if (!(b == 0)) {
                    values.AddElement("actual_sel_seq_kvlen", call.actual_sel_seq_kvlen, b - 1);
                }
                values.AddElement("actual_cmp_seq_kvlen", call.actual_cmp_seq_kvlen, b);
                if (!(b == 0)) {
                    values.AddElement("actual_cmp_seq_kvlen", call.actual_cmp_seq_kvlen, b - 1);
                }
                values.Add("select_block_size", call.select_block_size);
                values.Add("compress_stride", call.compress_stride);
                return Violation("LengthRangeError", kOperator, "actual_sel_seq_kvlen",
                    "must have blocks for all keys of a batch row", values,
                    NearestLegal((b == 0 ? int64_t(0) : call.actual_sel_seq_kvlen.GetValue(b - 1))
                        + CeilDivOrZero(call.actual_cmp_seq_kvlen.GetValue(b)
                            - (b == 0 ? int64_t(0) : call.actual_cmp_seq_kvlen.GetValue(b - 1)),
                            FloorDivOrZero(call.select_block_size, call.compress_stride)),
                        ""));
            }
        }
    }
    {
        const Status status =
            solver.Match(Shaped{"topk_mask", "RankError", "ShapeError", true}, call.topk_mask, {
                {true, "", {{S1_}, {selS2_}},
                {}},
            }, sizes.topk_mask_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status =
            solver.Match(Shaped{"atten_mask", "RankError", "ShapeError", true}, call.atten_mask, {
                {true, "", {{S1_}, {cmpS2_}},
                {}},
            }, sizes.atten_mask_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    if (const Status status = solver.Finish(); !status.Ok()) {
        return status;
    }
    return Status{};
}

// The constraints, in the contract's order.
inline Status CheckConstraints(const Call &call, const Sizes &sizes,
    std::vector<std::string> &warnings)
{
    // head_num: must be the number of heads of query
    if (!(call.head_num == sizes.N1)) {
        Values values;
        values.Add("head_num", call.head_num);
        values.Add("N1", sizes.N1);
        return Violation("HeadMismatchError", kOperator, "head_num",
            "must be the number of heads of query", values,
            NearestLegal(sizes.N1, ""));
    }
    // key: must have at least one head
    if (!(sizes.N2 > 0)) {
        Values values;
        values.Add("N2", sizes.N2);
        return Violation("HeadMismatchError", kOperator, "key",
            "must have at least one head", values,
            NearestLegal(1, " of N2"));
    }
    // query: must have a multiple of the number of heads of key
    if (!(sizes.N2 != 0 && FloorModOrZero(sizes.N1, sizes.N2) == 0)) {
        Values values;
        values.Add("N1", sizes.N1);
        values.Add("N2", sizes.N2);
        return Violation("DivisibilityError", kOperator, "query",
            "must have a multiple of the number of heads of key", values,
            NearestMultiples(sizes.N1, sizes.N2, sizes.N2, " of N1"));
    }
    // query: must have a head size of at least 1
    if (!(sizes.D1 > 0)) {
        Values values;
        values.Add("D1", sizes.D1);
        return Violation("HeadSizeError", kOperator, "query",
            "must have a head size of at least 1", values,
            NearestLegal(1, " of D1"));
    }
    // value: must have a head size of at least 1
    if (!(sizes.D2 > 0)) {
        Values values;
        values.Add("D2", sizes.D2);
        return Violation("HeadSizeError", kOperator, "value",
            "must have a head size of at least 1", values,
            NearestLegal(1, " of D2"));
    }
    // value: must have a head size of at most that of key
    if (!(sizes.D2 <= sizes.D1)) {
        Values values;
        values.Add("D2", sizes.D2);
        values.Add("D1", sizes.D1);
        return Violation("HeadSizeError", kOperator, "value",
            "must have a head size of at most that of key", values,
            NearestLegal(sizes.D1, " of D2"));
    }
    // query: must have a head size that is a multiple of 16
    if (!call.relaxed && !(FloorModOrZero(sizes.D1, 16) == 0)) {
        Values values;
        values.Add("D1", sizes.D1);
        return Violation("HeadSizeError", kOperator, "query",
            "must have a head size that is a multiple of 16", values,
            NearestMultiples(sizes.D1, 16, 16, " of D1"));
    }
    // value: must have a head size that is a multiple of 16
    if (!call.relaxed && !(FloorModOrZero(sizes.D2, 16) == 0)) {
        Values values;
        values.Add("D2", sizes.D2);
        return Violation("HeadSizeError", kOperator, "value",
            "must have a head size that is a multiple of 16", values,
            NearestMultiples(sizes.D2, 16, 16, " of D2"));
    }
    // select_block_count: must be at most the blocks of each batch row
    if (call.actual_sel_seq_kvlen.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.select_block_count
                <= call.actual_sel_seq_kvlen.GetValue(b)
                    - (b == 0 ? int64_t(0) : call.actual_sel_seq_kvlen.GetValue(b - 1)))) {
                Values values;
                values.Add("select_block_count", call.select_block_count);
                values.AddElement("actual_sel_seq_kvlen", call.actual_sel_seq_kvlen, b);
                if (!(b == 0)) {
                    values.AddElement("actual_sel_seq_kvlen", call.actual_sel_seq_kvlen, b - 1);
                }
                return Violation("LengthRangeError", kOperator, "select_block_count",
                    "must be at most the blocks of each batch row", values,
                    NearestLegal(call.actual_sel_seq_kvlen.GetValue(b)
                        - (b == 0 ? int64_t(0) : call.actual_sel_seq_kvlen.GetValue(b - 1)),
                        ""));
            }
        }
    }
    // actual_sel_seq_kvlen: blocks beyond the keys of a row have the score 0
    if (call.actual_sel_seq_kvlen.Readable() && call.actual_cmp_seq_kvlen.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.compress_stride != 0
                && FloorDivOrZero(call.select_block_size, call.compress_stride) != 0
                && call.actual_sel_seq_kvlen.GetValue(b)
                    <= (b == 0 ? int64_t(0) : call.actual_sel_seq_kvlen.GetValue(b - 1))
                        + CeilDivOrZero(call.actual_cmp_seq_kvlen.GetValue(b)
                            - (b == 0 ? int64_t(0) : call.actual_cmp_seq_kvlen.GetValue(b - 1)),
                            FloorDivOrZero(call.select_block_size, call.compress_stride)))) {
                Values values;
                values.AddElement("actual_sel_seq_kvlen", call.actual_sel_seq_kvlen, b);
                if (!(b == 0)) {
                    values.AddElement("actual_sel_seq_kvlen", call.actual_sel_seq_kvlen, b - 1);
                }
                values.AddElement("actual_cmp_seq_kvlen", call.actual_cmp_seq_kvlen, b);
                if (!(b == 0)) {
                    values.AddElement("actual_cmp_seq_kvlen", call.actual_cmp_seq_kvlen, b - 1);
                }
                values.Add("select_block_size", call.select_block_size);
                values.Add("compress_stride", call.compress_stride);
                warnings.push_back(Violation("ContractWarning", kOperator, "actual_sel_seq_kvlen",
                    "blocks beyond the keys of a row have the score 0", values, NearestLegal((b == 0
                        ? int64_t(0)
                        : call.actual_sel_seq_kvlen.GetValue(b - 1))
                        + CeilDivOrZero(call.actual_cmp_seq_kvlen.GetValue(b)
                            - (b == 0 ? int64_t(0) : call.actual_cmp_seq_kvlen.GetValue(b - 1)),
                            FloorDivOrZero(call.select_block_size, call.compress_stride)),
                        "")).message);
            }
        }
    }
    return Status{};
}

// What kernels on the target take.
inline Status CheckTarget(const Call &call, const Sizes &sizes)
{
    static_cast<void>(call);
    // B: at most 4096 batch rows
    if (!(sizes.B <= 4096)) {
        Values values;
        values.Add("B", sizes.B);
        return Violation("TargetLimitError", kOperator, "B",
            "at most 4096 batch rows", values,
            NearestLegal(4096, ""));
    }
    // cmpS2: at most 14000 compressed keys a batch row
    if (!(sizes.cmpS2 <= 14000)) {
        Values values;
        values.Add("cmpS2", sizes.cmpS2);
        return Violation("TargetLimitError", kOperator, "cmpS2",
            "at most 14000 compressed keys a batch row", values,
            NearestLegal(14000, ""));
    }
    // N1, N2: at most 127 query heads a key/value head
    if (!(sizes.N2 != 0 && FloorDivOrZero(sizes.N1, sizes.N2) < 128)) {
        Values values;
        values.Add("N1", sizes.N1);
        values.Add("N2", sizes.N2);
        return Violation("TargetLimitError", kOperator, "N1, N2",
            "at most 127 query heads a key/value head", values,
            "");
    }
    // N1, N2: query heads a key/value head divide 128
    if (!(sizes.N2 != 0
        && FloorDivOrZero(sizes.N1, sizes.N2) != 0
        && FloorModOrZero(128, FloorDivOrZero(sizes.N1, sizes.N2)) == 0)) {
        Values values;
        values.Add("N1", sizes.N1);
        values.Add("N2", sizes.N2);
        return Violation("TargetLimitError", kOperator, "N1, N2",
            "query heads a key/value head divide 128", values,
            "");
    }
    // D1: a head size of at most 512
    if (!(sizes.D1 <= 512)) {
        Values values;
        values.Add("D1", sizes.D1);
        return Violation("TargetLimitError", kOperator, "D1",
            "a head size of at most 512", values,
            NearestLegal(512, ""));
    }
    return Status{};
}

// Checks a call against the contract: the first mistake, if any. Advice is left in `warnings`.
inline Status Check(Call &call, Sizes &sizes, [[maybe_unused]] std::vector<std::string> &warnings)
{
    Status status;
    status = ResolveLists(call);
    if (!status.Ok()) {
        return status;
    }
    status = CheckDtypes(call);
    if (!status.Ok()) {
        return status;
    }
    status = CheckRanges(call);
    if (!status.Ok()) {
        return status;
    }
    status = CheckParameters(call);
    if (!status.Ok()) {
        return status;
    }
    status = SolveSizes(call, sizes);
    if (!status.Ok()) {
        return status;
    }
    status = CheckConstraints(call, sizes, warnings);
    if (!status.Ok()) {
        return status;
    }
    return status;
}

// The sizes that follow from shapes and host values alone, for shape inference.
inline Status Measure(Call &call, Sizes &sizes)
{
    const Status status = ResolveLists(call);
    return status.Ok() ? SolveSizes(call, sizes) : status;
}

// Shapes of the results, once the sizes of a call are known.
inline std::vector<int64_t> ResultShape(size_t index, [[maybe_unused]] const Call &call,
    const Sizes &sizes)
{
    if (index == 0) {
        return {sizes.T1, sizes.N1, sizes.D2};
    }
    if (index == 1) {
        return {sizes.T1, sizes.N2, call.select_block_count};
    }
    if (index == 2) {
        return {sizes.T1, sizes.N1, 8};
    }
    if (index == 3) {
        return {sizes.T1, sizes.N1, 8};
    }
    return {};
}

// Whether a call computes nothing: no result has an element.
inline bool IsEmpty(const Call &call, const Sizes &sizes)
{
    for (size_t index = 0; index < 4; ++index) {
        const std::vector<int64_t> shape = ResultShape(index, call, sizes);
        if (std::find(shape.begin(), shape.end(), 0) == shape.end()) {
            return false;
        }
    }
    return true;
}

}  // namespace nsa_compress_attention_host

#endif  // ATTNDSL_NSA_COMPRESS_ATTENTION_CHECK_H
