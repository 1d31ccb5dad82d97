// The contract of incre_flash_attention, checked on the host before a launch. Plain C++17, no CANN
// headers.
// Document: mindspore.ops.incre_flash_attention
//
// Checks have the spec's order, and the messages of the spec's Python function.
//
// Not checked here, because the content is on the device:
//   block_table: must name a block of the cache wherever rows are valid (reads block_table)
#ifndef ATTNDSL_INCRE_FLASH_ATTENTION_CHECK_H
#define ATTNDSL_INCRE_FLASH_ATTENTION_CHECK_H

#include <cmath>

#include "sizes.h"

namespace incre_flash_attention_host {

using namespace attndsl;

constexpr const char *kOperator = "incre_flash_attention";

// The arguments, in the order of the document.
struct Call {
    Tensor query;
    TensorList key_list;  // a list of one tensor, or a list of one a batch row
    Tensor key;  // the tensor in key_list
    TensorList value_list;  // a list of one tensor, or a list of one a batch row
    Tensor value;  // the tensor in value_list
    Tensor attn_mask;  // optional; non-zero hides the key
    Tensor actual_seq_lengths;  // optional; read by the host; valid rows of the cache; S if absent
    Tensor pse_shift;  // optional
    Tensor dequant_scale1;  // optional; disabled
    Tensor quant_scale1;  // optional; disabled
    Tensor dequant_scale2;  // optional; disabled
    Tensor quant_scale2;  // optional
    Tensor quant_offset2;  // optional
    Tensor antiquant_scale;  // optional
    Tensor antiquant_offset;  // optional
    Tensor block_table;  // optional
    int64_t num_heads = 1;
    std::string input_layout = "BSH";
    double scale_value = 1.0;
    int64_t num_key_value_heads = 0;  // 0: as num_heads
    int64_t block_size = 0;  // rows in a block of a paged cache
    int64_t inner_precise = 1;  // 0: precise, 1: fast
    Tensor kv_padding_size;  // optional; left padding
};

// Sizes that follow from the shapes of a call.
struct Sizes {
    int64_t B = attndsl::kUnknown;
    int64_t N = attndsl::kUnknown;  // num_heads
    // num_heads if num_key_value_heads == 0 else num_key_value_heads
    int64_t kvN = attndsl::kUnknown;
    int64_t D = attndsl::kUnknown;
    int64_t num_blocks = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t max_block_num_per_seq = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t S = attndsl::kUnknown;  // if no shape shows it: max_block_num_per_seq * block_size
    std::string query_layout = "None";  // layout of query
    RowCounts key_rows = {};  // rows of each tensor of key
    std::string key_layout = "None";  // layout of key
    RowCounts value_rows = {};  // rows of each tensor of value
    std::string value_layout = "None";  // layout of value
    std::string attn_mask_layout = "None";  // layout of attn_mask
    std::string actual_seq_lengths_layout = "None";  // layout of actual_seq_lengths
    std::string pse_shift_layout = "None";  // layout of pse_shift
    std::string quant_scale2_layout = "None";  // layout of quant_scale2
    std::string quant_offset2_layout = "None";  // layout of quant_offset2
    std::string antiquant_scale_layout = "None";  // layout of antiquant_scale
    std::string antiquant_offset_layout = "None";  // layout of antiquant_offset
    std::string block_table_layout = "None";  // layout of block_table
    std::string kv_padding_size_layout = "None";  // layout of kv_padding_size
};

// What has to be passed is there; arguments that are lists stand for what they hold.
inline Status ResolveLists(Call &call)
{
    if (!call.query.given) {
        return Missing(kOperator, "query");
    }
    if (!call.key_list.given) {
        return Missing(kOperator, "key");
    }
    if (!call.value_list.given) {
        return Missing(kOperator, "value");
    }
    if (const Status status = OneOrMany(kOperator, "key", true, call.key_list, call.key);
        !status.Ok()) {
        return status;
    }
    if (const Status status = OneOrMany(kOperator, "value", true, call.value_list, call.value);
        !status.Ok()) {
        return status;
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
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16, DataType::kInt8},
            {DataType::kInt8}, {{"query", call.query.dtype}}};
        const Status status = attndsl::CheckDtypes(kOperator, "key", call.key_list, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.value.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16, DataType::kInt8},
            {}, {{"key", call.key.dtype}}};
        const Status status = attndsl::CheckDtypes(kOperator, "value", call.value_list, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.attn_mask.given) {
        const DtypeRule rule{{DataType::kBool, DataType::kInt8, DataType::kUint8},
            {DataType::kBool, DataType::kInt8, DataType::kUint8}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "attn_mask", call.attn_mask.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.actual_seq_lengths.given) {
        const DtypeRule rule{{DataType::kInt64, DataType::kInt32},
            {DataType::kInt64, DataType::kInt32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "actual_seq_lengths", call.actual_seq_lengths.dtype,
                rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.pse_shift.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {}, {{"query", call.query.dtype}}};
        const Status status =
            attndsl::CheckDtype(kOperator, "pse_shift", call.pse_shift.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.dequant_scale1.given) {
        const DtypeRule rule{{DataType::kUint64, DataType::kFloat32},
            {DataType::kUint64, DataType::kFloat32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "dequant_scale1", call.dequant_scale1.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.quant_scale1.given) {
        const DtypeRule rule{{DataType::kFloat32},
            {DataType::kFloat32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "quant_scale1", call.quant_scale1.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.dequant_scale2.given) {
        const DtypeRule rule{{DataType::kUint64, DataType::kFloat32},
            {DataType::kUint64, DataType::kFloat32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "dequant_scale2", call.dequant_scale2.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.quant_scale2.given) {
        const DtypeRule rule{{DataType::kFloat32},
            {DataType::kFloat32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "quant_scale2", call.quant_scale2.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.quant_offset2.given) {
        const DtypeRule rule{{DataType::kFloat32},
            {DataType::kFloat32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "quant_offset2", call.quant_offset2.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.antiquant_scale.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {}, {{"query", call.query.dtype}}};
        const Status status =
            attndsl::CheckDtype(kOperator, "antiquant_scale", call.antiquant_scale.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.antiquant_offset.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {}, {{"query", call.query.dtype}}};
        const Status status =
            attndsl::CheckDtype(kOperator, "antiquant_offset", call.antiquant_offset.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.block_table.given) {
        const DtypeRule rule{{DataType::kInt32},
            {DataType::kInt32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "block_table", call.block_table.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.kv_padding_size.given) {
        const DtypeRule rule{{DataType::kInt64},
            {DataType::kInt64}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "kv_padding_size", call.kv_padding_size.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    return Status{};
}

// Parameters are legal values.
inline Status CheckRanges(const Call &call)
{
    if (!(call.num_heads > 0)) {
        return Fail("HeadCountError", std::string(kOperator) + ": num_heads: must be > 0, got " +
            Text(call.num_heads) + "; the nearest legal value is 1");
    }
    if (call.input_layout != "BSH" && call.input_layout != "BNSD") {
        return Fail("ChoiceError",
            std::string(kOperator) + ": input_layout: " + Quoted(call.input_layout) + " is none of "
            "'BSH', 'BNSD'" + std::string(""));
    }
    if (call.scale_value - call.scale_value != 0) {
        return Fail("RangeError",
            std::string(kOperator) + ": scale_value: must be finite, got "
                + Text(call.scale_value) +
            "; pass a number such as 1.0");
    }
    if (!(call.num_key_value_heads >= 0)) {
        return Fail("RangeError",
            std::string(kOperator) + ": num_key_value_heads: must be >= 0, got " +
            Text(call.num_key_value_heads) + "; the nearest legal value is 0");
    }
    if (call.inner_precise != 0 && call.inner_precise != 1) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": inner_precise: " + Text(call.inner_precise) + " is none of "
            "0, 1" + std::string("; " + NearestOf(call.inner_precise, {0, 1})));
    }
    return Status{};
}

// What parameters alone decide.
inline Status CheckParameters(const Call &call)
{
    // value: must be one tensor, or one a batch row, as key is
    if (!((call.value_list.entries.size() != 1) == (call.key_list.entries.size() != 1))) {
        return Violation("SequenceLengthError", kOperator, "value",
            "must be one tensor, or one a batch row, as key is", Values{},
            "pass as many tensors in value as in key");
    }
    return Status{};
}

// The sizes of the contract from the shapes of the arguments.
inline Status SolveSizes(const Call &call, Sizes &sizes)
{
    SizeSolver solver(kOperator);
    Size B_("B", sizes.B);
    Size N_("N", sizes.N);
    Size kvN_("kvN", sizes.kvN);
    Size D_("D", sizes.D);
    Size num_blocks_("num_blocks", sizes.num_blocks);
    Size max_block_num_per_seq_("max_block_num_per_seq", sizes.max_block_num_per_seq);
    Size S_("S", sizes.S);
    int64_t block_size_value = call.block_size;
    Size block_size_("block_size", block_size_value);
    block_size_.parameter = true;
    N_.Define(call.num_heads, "num_heads");
    kvN_.Define(call.num_key_value_heads == 0 ? call.num_heads : call.num_key_value_heads,
        "num_heads, num_key_value_heads");
    {
        const Status status = solver.Match(Shaped{"query"}, call.query, {
                {call.input_layout == "BSH", "BSH", {{B_}, {1}, {N_, D_}},
                {{"input_layout", "input_layout is " + Text(call.input_layout)}}},
                {call.input_layout == "BNSD", "BNSD", {{B_}, {N_}, {1}, {D_}},
                {{"input_layout", "input_layout is " + Text(call.input_layout)}}},
            }, sizes.query_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.key_list.given && call.key_list.list) {
        const Status status = solver.MatchRows(Shaped{"key"}, call.key_list, true,
            B_, S_, {}, {
                {call.input_layout == "BSH" && !call.block_table.given, "BSH",
                    {{1}, {S_}, {kvN_, D_}},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")},
                 {"input_layout", "input_layout is " + Text(call.input_layout)}}},
                {call.input_layout == "BNSD" && !call.block_table.given, "BNSD",
                    {{1}, {kvN_}, {S_}, {D_}},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")},
                 {"input_layout", "input_layout is " + Text(call.input_layout)}}},
                {call.block_table.given, "paged", {},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")}}},
                {call.block_table.given && call.input_layout == "BNSD", "paged BNSD", {},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")},
                 {"input_layout", "input_layout is " + Text(call.input_layout)}}},
            }, sizes.key_rows, sizes.key_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    else {
        const Status status = solver.Match(Shaped{"key"}, call.key, {
                {call.input_layout == "BSH" && !call.block_table.given, "BSH",
                    {{B_}, {S_}, {kvN_, D_}},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")},
                 {"input_layout", "input_layout is " + Text(call.input_layout)}}},
                {call.input_layout == "BNSD" && !call.block_table.given, "BNSD",
                    {{B_}, {kvN_}, {S_}, {D_}},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")},
                 {"input_layout", "input_layout is " + Text(call.input_layout)}}},
                {call.block_table.given, "paged", {{num_blocks_}, {block_size_}, {kvN_, D_}},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")}}},
                {call.block_table.given && call.input_layout == "BNSD", "paged BNSD",
                    {{num_blocks_}, {kvN_}, {block_size_}, {D_}},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")},
                 {"input_layout", "input_layout is " + Text(call.input_layout)}}},
            }, sizes.key_layout);
        if (!status.Ok()) {
            // block_size: must be positive with block_table
            if (call.block_table.given && !(call.block_size > 0)) {
                Values values;
                values.Add("block_size", call.block_size);
                return Violation("PagingError", kOperator, "block_size",
                    "must be positive with block_table", values,
                    NearestLegal(1, ""));
            }
            // block_size: must be at most 512
            if (call.block_table.given && !(call.block_size <= 512)) {
                Values values;
                values.Add("block_size", call.block_size);
                return Violation("PagingError", kOperator, "block_size",
                    "must be at most 512", values,
                    NearestLegal(512, ""));
            }
            // block_size: must be a multiple of 16
            if (call.block_table.given && !(FloorModOrZero(call.block_size, 16) == 0)) {
                Values values;
                values.Add("block_size", call.block_size);
                return Violation("PagingError", kOperator, "block_size",
                    "must be a multiple of 16", values,
                    NearestMultiples(call.block_size, 16, 16, ""));
            }
            // block_size: must be a multiple of 32 for int8
            if (call.block_table.given
                && call.key.dtype == DataType::kInt8
                && !(FloorModOrZero(call.block_size, 32) == 0)) {
                Values values;
                values.Add("block_size", call.block_size);
                return Violation("PagingError", kOperator, "block_size",
                    "must be a multiple of 32 for int8", values,
                    NearestMultiples(call.block_size, 32, 32, ""));
            }
            return status;
        }
    }
    if (call.value_list.given && call.value_list.list) {
        const Status status = solver.MatchRows(Shaped{"value"}, call.value_list, true,
            B_, S_, {}, {
                {call.input_layout == "BSH" && !call.block_table.given, "BSH",
                    {{1}, {S_}, {kvN_, D_}},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")},
                 {"input_layout", "input_layout is " + Text(call.input_layout)}}},
                {call.input_layout == "BNSD" && !call.block_table.given, "BNSD",
                    {{1}, {kvN_}, {S_}, {D_}},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")},
                 {"input_layout", "input_layout is " + Text(call.input_layout)}}},
                {call.block_table.given, "paged", {},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")}}},
                {call.block_table.given && call.input_layout == "BNSD", "paged BNSD", {},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")},
                 {"input_layout", "input_layout is " + Text(call.input_layout)}}},
            }, sizes.value_rows, sizes.value_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    else {
        const Status status = solver.Match(Shaped{"value"}, call.value, {
                {call.input_layout == "BSH" && !call.block_table.given, "BSH",
                    {{B_}, {S_}, {kvN_, D_}},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")},
                 {"input_layout", "input_layout is " + Text(call.input_layout)}}},
                {call.input_layout == "BNSD" && !call.block_table.given, "BNSD",
                    {{B_}, {kvN_}, {S_}, {D_}},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")},
                 {"input_layout", "input_layout is " + Text(call.input_layout)}}},
                {call.block_table.given, "paged", {{num_blocks_}, {block_size_}, {kvN_, D_}},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")}}},
                {call.block_table.given && call.input_layout == "BNSD", "paged BNSD",
                    {{num_blocks_}, {kvN_}, {block_size_}, {D_}},
                {{"given(block_table)",
                    "block_table"
                        + std::string(call.block_table.given ? " is passed" : " is absent")},
                 {"input_layout", "input_layout is " + Text(call.input_layout)}}},
            }, sizes.value_layout);
        if (!status.Ok()) {
            // block_size: must be positive with block_table
            if (call.block_table.given && !(call.block_size > 0)) {
                Values values;
                values.Add("block_size", call.block_size);
                return Violation("PagingError", kOperator, "block_size",
                    "must be positive with block_table", values,
                    NearestLegal(1, ""));
            }
            // block_size: must be at most 512
            if (call.block_table.given && !(call.block_size <= 512)) {
                Values values;
                values.Add("block_size", call.block_size);
                return Violation("PagingError", kOperator, "block_size",
                    "must be at most 512", values,
                    NearestLegal(512, ""));
            }
            // block_size: must be a multiple of 16
            if (call.block_table.given && !(FloorModOrZero(call.block_size, 16) == 0)) {
                Values values;
                values.Add("block_size", call.block_size);
                return Violation("PagingError", kOperator, "block_size",
                    "must be a multiple of 16", values,
                    NearestMultiples(call.block_size, 16, 16, ""));
            }
            // block_size: must be a multiple of 32 for int8
            if (call.block_table.given
                && call.key.dtype == DataType::kInt8
                && !(FloorModOrZero(call.block_size, 32) == 0)) {
                Values values;
                values.Add("block_size", call.block_size);
                return Violation("PagingError", kOperator, "block_size",
                    "must be a multiple of 32 for int8", values,
                    NearestMultiples(call.block_size, 32, 32, ""));
            }
            return status;
        }
    }
    {
        const Status status =
            solver.Match(Shaped{"attn_mask", "MaskShapeError", "MaskShapeError"}, call.attn_mask, {
                {true, "B S", {{B_}, {S_}},
                {}},
                {true, "B 1 S", {{B_}, {1}, {S_}},
                {}},
                {true, "B 1 1 S", {{B_}, {1}, {1}, {S_}},
                {}},
            }, sizes.attn_mask_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status =
            solver.MatchLengths(Shaped{"actual_seq_lengths"}, call.actual_seq_lengths, {
                {true, "", {{B_}},
                {}},
            }, true, sizes.actual_seq_lengths_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"pse_shift"}, call.pse_shift, {
                {true, "1 N 1 S", {{1}, {N_}, {1}, {S_}},
                {}},
                {true, "B N 1 S", {{B_}, {N_}, {1}, {S_}},
                {}},
            }, sizes.pse_shift_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"quant_scale2"}, call.quant_scale2, {
                {true, "per tensor", {{1}},
                {}},
                {true, "per channel", {{N_, D_}},
                {}},
            }, sizes.quant_scale2_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"quant_offset2"}, call.quant_offset2, {
                {true, "per tensor", {{1}},
                {}},
                {true, "per channel", {{N_, D_}},
                {}},
            }, sizes.quant_offset2_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"antiquant_scale"}, call.antiquant_scale, {
                {call.input_layout == "BSH", "BSH", {{2}, {kvN_, D_}},
                {{"input_layout", "input_layout is " + Text(call.input_layout)}}},
                {call.input_layout == "BNSD", "BNSD", {{2}, {kvN_}, {1}, {D_}},
                {{"input_layout", "input_layout is " + Text(call.input_layout)}}},
            }, sizes.antiquant_scale_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"antiquant_offset"}, call.antiquant_offset, {
                {call.input_layout == "BSH", "BSH", {{2}, {kvN_, D_}},
                {{"input_layout", "input_layout is " + Text(call.input_layout)}}},
                {call.input_layout == "BNSD", "BNSD", {{2}, {kvN_}, {1}, {D_}},
                {{"input_layout", "input_layout is " + Text(call.input_layout)}}},
            }, sizes.antiquant_offset_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"block_table"}, call.block_table, {
                {true, "", {{B_}, {max_block_num_per_seq_}},
                {}},
            }, sizes.block_table_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"kv_padding_size"}, call.kv_padding_size, {
                {true, "", {},
                {}},
                {true, "1", {{1}},
                {}},
            }, sizes.kv_padding_size_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    if (const Status status = solver.Finish(); !status.Ok()) {
        return status;
    }
    if (!num_blocks_.Known()) {
        num_blocks_.Define(0, "default");
    }
    if (!max_block_num_per_seq_.Known()) {
        max_block_num_per_seq_.Define(0, "default");
    }
    if (!S_.Known() && max_block_num_per_seq_.Known()) {
        S_.Define(sizes.max_block_num_per_seq * call.block_size, "default");
    }
    if (const Status status = solver.Shown(B_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(N_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(kvN_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(D_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(num_blocks_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(max_block_num_per_seq_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(S_); !status.Ok()) {
        return status;
    }
    return Status{};
}

// The constraints, in the contract's order.
inline Status CheckConstraints(const Call &call, const Sizes &sizes)
{
    // query: must have at least one batch row
    if (!(sizes.B > 0)) {
        Values values;
        values.Add("B", sizes.B);
        return Violation("EmptyTensorError", kOperator, "query",
            "must have at least one batch row", values,
            NearestLegal(1, " of B"));
    }
    // query: must have a head size of at least 1
    if (!(sizes.D > 0)) {
        Values values;
        values.Add("D", sizes.D);
        return Violation("EmptyTensorError", kOperator, "query",
            "must have a head size of at least 1", values,
            NearestLegal(1, " of D"));
    }
    // pse_shift: needs a head size that is a multiple of 16
    if (call.pse_shift.given && !(FloorModOrZero(sizes.D, 16) == 0)) {
        Values values;
        values.Add("D", sizes.D);
        return Violation("ShapeError", kOperator, "pse_shift",
            "needs a head size that is a multiple of 16", values,
            NearestMultiples(sizes.D, 16, 16, " of D"));
    }
    // num_heads: must be a multiple of num_key_value_heads
    if (!(sizes.kvN != 0 && FloorModOrZero(sizes.N, sizes.kvN) == 0)) {
        Values values;
        values.Add("N", sizes.N);
        values.Add("kvN", sizes.kvN);
        return Violation("DivisibilityError", kOperator, "num_heads",
            "must be a multiple of num_key_value_heads", values,
            NearestMultiples(sizes.N, sizes.kvN, sizes.kvN, " of N"));
    }
    // actual_seq_lengths: must not be negative
    if (call.actual_seq_lengths.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.actual_seq_lengths.GetValue(b) >= 0)) {
                Values values;
                values.AddElement("actual_seq_lengths", call.actual_seq_lengths, b);
                return Violation("LengthRangeError", kOperator, "actual_seq_lengths",
                    "must not be negative", values,
                    NearestLegal(0, ""));
            }
        }
    }
    // actual_seq_lengths: must be at most the rows of its tensor
    if (call.actual_seq_lengths.Readable() && sizes.key_rows.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.actual_seq_lengths.GetValue(b) <= sizes.key_rows.GetValue(b))) {
                Values values;
                values.AddElement("actual_seq_lengths", call.actual_seq_lengths, b);
                values.AddElement("rows of key", sizes.key_rows, b);
                return Violation("LengthRangeError", kOperator, "actual_seq_lengths",
                    "must be at most the rows of its tensor", values,
                    NearestLegal(sizes.key_rows.GetValue(b), ""));
            }
        }
    }
    // actual_seq_lengths: must be at most the cache size
    if (call.actual_seq_lengths.Readable() && !call.block_table.given) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.actual_seq_lengths.GetValue(b) <= sizes.S)) {
                Values values;
                values.AddElement("actual_seq_lengths", call.actual_seq_lengths, b);
                values.Add("S", sizes.S);
                return Violation("LengthRangeError", kOperator, "actual_seq_lengths",
                    "must be at most the cache size", values,
                    NearestLegal(sizes.S, ""));
            }
        }
    }
    // actual_seq_lengths: needed by a paged cache
    if (call.block_table.given && !call.actual_seq_lengths.given) {
        return Violation("PagingError", kOperator, "actual_seq_lengths",
            "needed by a paged cache", Values{},
            "pass actual_seq_lengths");
    }
    // key: must be one tensor with block_table
    if (call.block_table.given && (call.key_list.entries.size() != 1)) {
        return Violation("PagingError", kOperator, "key",
            "must be one tensor with block_table", Values{},
            "");
    }
    // block_size: must be positive with block_table
    if (call.block_table.given && !(call.block_size > 0)) {
        Values values;
        values.Add("block_size", call.block_size);
        return Violation("PagingError", kOperator, "block_size",
            "must be positive with block_table", values,
            NearestLegal(1, ""));
    }
    // block_size: must be at most 512
    if (call.block_table.given && !(call.block_size <= 512)) {
        Values values;
        values.Add("block_size", call.block_size);
        return Violation("PagingError", kOperator, "block_size",
            "must be at most 512", values,
            NearestLegal(512, ""));
    }
    // block_size: must be a multiple of 16
    if (call.block_table.given && !(FloorModOrZero(call.block_size, 16) == 0)) {
        Values values;
        values.Add("block_size", call.block_size);
        return Violation("PagingError", kOperator, "block_size",
            "must be a multiple of 16", values,
            NearestMultiples(call.block_size, 16, 16, ""));
    }
    // block_size: must be a multiple of 32 for int8
    if (call.block_table.given
        && call.key.dtype == DataType::kInt8
        && !(FloorModOrZero(call.block_size, 32) == 0)) {
        Values values;
        values.Add("block_size", call.block_size);
        return Violation("PagingError", kOperator, "block_size",
            "must be a multiple of 32 for int8", values,
            NearestMultiples(call.block_size, 32, 32, ""));
    }
    // block_table: must have at most 16384 columns, longer rows need a larger block_size
    if (call.block_table.given && !(sizes.max_block_num_per_seq <= 16384)) {
        Values values;
        values.Add("max_block_num_per_seq", sizes.max_block_num_per_seq);
        return Violation("PagingError", kOperator, "block_table",
            "must have at most 16384 columns, longer rows need a larger block_size", values,
            NearestLegal(16384, " of max_block_num_per_seq"));
    }
    // actual_seq_lengths: must fit in the columns of block_table
    if (call.actual_seq_lengths.Readable() && call.block_table.given) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.actual_seq_lengths.GetValue(b)
                <= sizes.max_block_num_per_seq * call.block_size)) {
                Values values;
                values.AddElement("actual_seq_lengths", call.actual_seq_lengths, b);
                values.Add("max_block_num_per_seq", sizes.max_block_num_per_seq);
                values.Add("block_size", call.block_size);
                return Violation("PagingError", kOperator, "actual_seq_lengths",
                    "must fit in the columns of block_table", values,
                    NearestLegal(sizes.max_block_num_per_seq * call.block_size, ""));
            }
        }
    }
    // attn_mask: attn_mask and pse_shift must cover the columns of block_table
    if (call.block_table.given && !(sizes.max_block_num_per_seq * call.block_size <= sizes.S)) {
        Values values;
        values.Add("max_block_num_per_seq", sizes.max_block_num_per_seq);
        values.Add("block_size", call.block_size);
        values.Add("S", sizes.S);
        return Violation("PagingError", kOperator, "attn_mask",
            "attn_mask and pse_shift must cover the columns of block_table", values,
            NearestLegal(sizes.max_block_num_per_seq * call.block_size, " of S"));
    }
    // key: must fit int32
    if (call.block_table.given
        && !(sizes.num_blocks * call.block_size * sizes.kvN * sizes.D <= 2147483647)) {
        Values values;
        values.Add("num_blocks", sizes.num_blocks);
        values.Add("block_size", call.block_size);
        values.Add("kvN", sizes.kvN);
        values.Add("D", sizes.D);
        return Violation("PagingError", kOperator, "key",
            "must fit int32", values,
            "use fewer or smaller blocks");
    }
    // D, kvN: must have at most 65535 channels a row
    if (call.block_table.given && sizes.key_layout == "paged" && !(sizes.kvN * sizes.D <= 65535)) {
        Values values;
        values.Add("kvN", sizes.kvN);
        values.Add("D", sizes.D);
        return Violation("PagingError", kOperator, "D, kvN",
            "must have at most 65535 channels a row", values,
            "");
    }
    // dequant_scale1: not supported, must be None
    if (call.dequant_scale1.given) {
        return Violation("NotSupportedError", kOperator, "dequant_scale1",
            "not supported, must be None", Values{},
            "leave dequant_scale1 out");
    }
    // quant_scale1: not supported, must be None
    if (call.quant_scale1.given) {
        return Violation("NotSupportedError", kOperator, "quant_scale1",
            "not supported, must be None", Values{},
            "leave quant_scale1 out");
    }
    // dequant_scale2: not supported, must be None
    if (call.dequant_scale2.given) {
        return Violation("NotSupportedError", kOperator, "dequant_scale2",
            "not supported, must be None", Values{},
            "leave dequant_scale2 out");
    }
    // antiquant_scale: needed by int8 key and value
    if (call.key.dtype == DataType::kInt8 && !call.antiquant_scale.given) {
        return Violation("QuantizationError", kOperator, "antiquant_scale",
            "needed by int8 key and value", Values{},
            "pass antiquant_scale");
    }
    // antiquant_scale: is for int8 key and value alone
    if (call.antiquant_scale.given && !(call.key.dtype == DataType::kInt8)) {
        Values values;
        values.Add("dtype of key", call.key.dtype);
        return Violation("QuantizationError", kOperator, "antiquant_scale",
            "is for int8 key and value alone", values,
            Both("it must be " + Text("int8"), "leave antiquant_scale out"));
    }
    // antiquant_scale: needed by antiquant_offset
    if (call.antiquant_offset.given && !call.antiquant_scale.given) {
        return Violation("QuantizationError", kOperator, "antiquant_scale",
            "needed by antiquant_offset", Values{},
            "pass antiquant_scale");
    }
    // quant_scale2: needed by quant_offset2
    if (call.quant_offset2.given && !call.quant_scale2.given) {
        return Violation("QuantizationError", kOperator, "quant_scale2",
            "needed by quant_offset2", Values{},
            "pass quant_scale2");
    }
    // quant_offset2: must have the shape of quant_scale2
    if (call.quant_offset2.given && !(sizes.quant_offset2_layout == sizes.quant_scale2_layout)) {
        Values values;
        values.Add("layout of quant_offset2", sizes.quant_offset2_layout);
        values.Add("layout of quant_scale2", sizes.quant_scale2_layout);
        return Violation("QuantizationError", kOperator, "quant_offset2",
            "must have the shape of quant_scale2", values,
            "it must be " + Text(sizes.quant_scale2_layout));
    }
    // quant_scale2: must have one entry with a paged cache
    if (call.quant_scale2.given
        && call.block_table.given
        && !(sizes.quant_scale2_layout == "per tensor")) {
        Values values;
        values.Add("layout of quant_scale2", sizes.quant_scale2_layout);
        return Violation("QuantizationError", kOperator, "quant_scale2",
            "must have one entry with a paged cache", values,
            "it must be " + Text("per tensor"));
    }
    return Status{};
}

// What kernels on the target take.
inline Status CheckTarget(const Call &call, const Sizes &sizes)
{
    // B: at most 65536 batch rows
    if (!(sizes.B <= 65536)) {
        Values values;
        values.Add("B", sizes.B);
        return Violation("TargetLimitError", kOperator, "B",
            "at most 65536 batch rows", values,
            NearestLegal(65536, ""));
    }
    // kvN: at most 256 key/value heads
    if (!(sizes.kvN <= 256)) {
        Values values;
        values.Add("kvN", sizes.kvN);
        return Violation("TargetLimitError", kOperator, "kvN",
            "at most 256 key/value heads", values,
            NearestLegal(256, ""));
    }
    // D: a head size of at most 512
    if (!(sizes.D <= 512)) {
        Values values;
        values.Add("D", sizes.D);
        return Violation("TargetLimitError", kOperator, "D",
            "a head size of at most 512", values,
            NearestLegal(512, ""));
    }
    // S: at most 262144 cache rows
    if (!(sizes.S <= 262144)) {
        Values values;
        values.Add("S", sizes.S);
        return Violation("TargetLimitError", kOperator, "S",
            "at most 262144 cache rows", values,
            NearestLegal(262144, ""));
    }
    // B: at most 256 tensors in a list
    if ((call.key_list.entries.size() != 1) && !(sizes.B <= 256)) {
        Values values;
        values.Add("B", sizes.B);
        return Violation("TargetLimitError", kOperator, "B",
            "at most 256 tensors in a list", values,
            NearestLegal(256, ""));
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
    status = CheckConstraints(call, sizes);
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
        if (sizes.query_layout == "BSH") {
            return {sizes.B, 1, sizes.N * sizes.D};
        }
        return {sizes.B, sizes.N, 1, sizes.D};
    }
    return {};
}

// Whether a call computes nothing: no result has an element.
inline bool IsEmpty(const Call &call, const Sizes &sizes)
{
    for (size_t index = 0; index < 1; ++index) {
        const std::vector<int64_t> shape = ResultShape(index, call, sizes);
        if (std::find(shape.begin(), shape.end(), 0) == shape.end()) {
            return false;
        }
    }
    return true;
}

}  // namespace incre_flash_attention_host

#endif  // ATTNDSL_INCRE_FLASH_ATTENTION_CHECK_H
