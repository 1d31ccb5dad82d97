// The contract of relay_attention, checked on the host before a launch. Plain C++17, no CANN
// headers.
// Document: ATB RelayAttentionOperation
//
// Checks have the spec's order, and the messages of the spec's Python function.
#ifndef ATTNDSL_RELAY_ATTENTION_CHECK_H
#define ATTNDSL_RELAY_ATTENTION_CHECK_H

#include <cmath>

#include "sizes.h"

namespace relay_attention_host {

using namespace attndsl;

constexpr const char *kOperator = "relay_attention";

// The arguments, in the order of the document.
struct Call {
    Tensor query;
    TensorList key;
    TensorList value;
    TensorList keyShare;
    TensorList valueShare;
    Tensor attentionMask;  // reserved, its content is ignored
    Tensor seqLen;  // read by the host; query tokens, all 1
    Tensor kvSeqLen;  // read by the host; own and shared keys
    Tensor kvShareMap;  // read by the host; group of a row, or -1
    Tensor kvShareLen;  // read by the host; keys of a group
    int64_t headNum = 0;
    double qkScale = 1.0;
    int64_t kvHeadNum = 0;  // 0: as headNum
    int64_t maskType = 0;
};

// Sizes that follow from the shapes of a call.
struct Sizes {
    int64_t B = attndsl::kUnknown;
    int64_t BS = attndsl::kUnknown;
    int64_t N = attndsl::kUnknown;  // headNum if kvHeadNum == 0 else kvHeadNum
    int64_t D = attndsl::kUnknown;
    int64_t S1 = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t S2 = attndsl::kUnknown;  // if no shape shows it: 0
    std::string query_layout = "None";  // layout of query
    std::string key_layout = "None";  // layout of key
    std::string value_layout = "None";  // layout of value
    std::string keyShare_layout = "None";  // layout of keyShare
    std::string valueShare_layout = "None";  // layout of valueShare
    std::string seqLen_layout = "None";  // layout of seqLen
    std::string kvSeqLen_layout = "None";  // layout of kvSeqLen
    std::string kvShareMap_layout = "None";  // layout of kvShareMap
    std::string kvShareLen_layout = "None";  // layout of kvShareLen
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
    if (!call.keyShare.given) {
        return Missing(kOperator, "keyShare");
    }
    if (!call.valueShare.given) {
        return Missing(kOperator, "valueShare");
    }
    if (!call.attentionMask.given) {
        return Missing(kOperator, "attentionMask");
    }
    if (!call.seqLen.given) {
        return Missing(kOperator, "seqLen");
    }
    if (!call.kvSeqLen.given) {
        return Missing(kOperator, "kvSeqLen");
    }
    if (!call.kvShareMap.given) {
        return Missing(kOperator, "kvShareMap");
    }
    if (!call.kvShareLen.given) {
        return Missing(kOperator, "kvShareLen");
    }
    if (const Status status = CheckEntries(kOperator, "key", call.key); !status.Ok()) {
        return status;
    }
    if (!call.key.entries.empty()) {
        call.key.dtype = call.key.entries[0].dtype;
    }
    if (const Status status = CheckEntries(kOperator, "value", call.value); !status.Ok()) {
        return status;
    }
    if (!call.value.entries.empty()) {
        call.value.dtype = call.value.entries[0].dtype;
    }
    if (const Status status = CheckEntries(kOperator, "keyShare", call.keyShare); !status.Ok()) {
        return status;
    }
    if (!call.keyShare.entries.empty()) {
        call.keyShare.dtype = call.keyShare.entries[0].dtype;
    }
    if (const Status status = CheckEntries(kOperator, "valueShare", call.valueShare);
        !status.Ok()) {
        return status;
    }
    if (!call.valueShare.entries.empty()) {
        call.valueShare.dtype = call.valueShare.entries[0].dtype;
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
        const Status status = attndsl::CheckDtypes(kOperator, "key", call.key, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.value.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {}, {{"query", call.query.dtype}}};
        const Status status = attndsl::CheckDtypes(kOperator, "value", call.value, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.keyShare.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {}, {{"query", call.query.dtype}}};
        const Status status = attndsl::CheckDtypes(kOperator, "keyShare", call.keyShare, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.valueShare.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {}, {{"query", call.query.dtype}}};
        const Status status = attndsl::CheckDtypes(kOperator, "valueShare", call.valueShare, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.attentionMask.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {}, {{"query", call.query.dtype}}};
        const Status status =
            attndsl::CheckDtype(kOperator, "attentionMask", call.attentionMask.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.seqLen.given) {
        const DtypeRule rule{{DataType::kInt32},
            {DataType::kInt32}, {}};
        const Status status = attndsl::CheckDtype(kOperator, "seqLen", call.seqLen.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.kvSeqLen.given) {
        const DtypeRule rule{{DataType::kInt32},
            {DataType::kInt32}, {}};
        const Status status = attndsl::CheckDtype(kOperator, "kvSeqLen", call.kvSeqLen.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.kvShareMap.given) {
        const DtypeRule rule{{DataType::kInt32},
            {DataType::kInt32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "kvShareMap", call.kvShareMap.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.kvShareLen.given) {
        const DtypeRule rule{{DataType::kInt32},
            {DataType::kInt32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "kvShareLen", call.kvShareLen.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    return Status{};
}

// Parameters are legal values.
inline Status CheckRanges(const Call &call)
{
    if (!(call.headNum > 0)) {
        return Fail("RangeError", std::string(kOperator) + ": headNum: must be > 0, got " +
            Text(call.headNum) + "; the nearest legal value is 1");
    }
    if (call.qkScale - call.qkScale != 0) {
        return Fail("RangeError",
            std::string(kOperator) + ": qkScale: must be finite, got " + Text(call.qkScale) +
            "; pass a number such as 1.0");
    }
    if (!(call.kvHeadNum >= 0)) {
        return Fail("RangeError", std::string(kOperator) + ": kvHeadNum: must be >= 0, got " +
            Text(call.kvHeadNum) + "; the nearest legal value is 0");
    }
    if (!(call.kvHeadNum <= 8)) {
        return Fail("RangeError", std::string(kOperator) + ": kvHeadNum: must be <= 8, got " +
            Text(call.kvHeadNum) + "; the nearest legal value is 8");
    }
    if (call.maskType != 0 && call.maskType != 1) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": maskType: " + Text(call.maskType) + " is none of "
            "0 or 'UNDEFINED', 1 or 'NORM'" + std::string("; " + NearestOf(call.maskType, {0, 1})));
    }
    return Status{};
}

// What parameters alone decide.
inline Status CheckParameters(const Call &call)
{
    // kvHeadNum: must be at most headNum
    if (call.kvHeadNum > 0 && !(call.kvHeadNum <= call.headNum)) {
        Values values;
        values.Add("kvHeadNum", call.kvHeadNum);
        values.Add("headNum", call.headNum);
        return Violation("DivisibilityError", kOperator, "kvHeadNum",
            "must be at most headNum", values,
            NearestLegal(call.headNum, ""));
    }
    // headNum: must be a multiple of kvHeadNum
    if (call.kvHeadNum > 0
        && !(call.kvHeadNum != 0 && FloorModOrZero(call.headNum, call.kvHeadNum) == 0)) {
        Values values;
        values.Add("headNum", call.headNum);
        values.Add("kvHeadNum", call.kvHeadNum);
        return Violation("DivisibilityError", kOperator, "headNum",
            "must be a multiple of kvHeadNum", values,
            NearestMultiples(call.headNum, call.kvHeadNum, call.kvHeadNum, ""));
    }
    // maskType: must be MASK_TYPE_UNDEFINED
    if (!(call.maskType == 0)) {
        Values values;
        values.Add("maskType", call.maskType);
        return Violation("ChoiceError", kOperator, "maskType",
            "must be MASK_TYPE_UNDEFINED", values,
            NearestLegal(0, ""));
    }
    return Status{};
}

// The sizes of the contract from the shapes of the arguments.
inline Status SolveSizes(const Call &call, Sizes &sizes)
{
    SizeSolver solver(kOperator);
    Size B_("B", sizes.B);
    Size BS_("BS", sizes.BS);
    Size N_("N", sizes.N);
    Size D_("D", sizes.D);
    Size S1_("S1", sizes.S1);
    Size S2_("S2", sizes.S2);
    int64_t headNum_value = call.headNum;
    Size headNum_("headNum", headNum_value);
    headNum_.parameter = true;
    N_.Define(call.kvHeadNum == 0 ? call.headNum : call.kvHeadNum, "headNum, kvHeadNum");
    {
        const Status status = solver.Match(Shaped{"query"}, call.query, {
                {true, "", {{B_}, {headNum_, D_}},
                {}},
            }, sizes.query_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchList(Shaped{"key"}, call.key, B_, {
                {true, "S1 N D", {{S1_}, {N_}, {D_}},
                {}},
                {true, "S1 (N D)", {{S1_}, {N_, D_}},
                {}},
            }, sizes.key_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchList(Shaped{"value"}, call.value, B_, {
                {true, "S1 N D", {{S1_}, {N_}, {D_}},
                {}},
                {true, "S1 (N D)", {{S1_}, {N_, D_}},
                {}},
            }, sizes.value_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchList(Shaped{"keyShare"}, call.keyShare, BS_, {
                {true, "S2 N D", {{S2_}, {N_}, {D_}},
                {}},
                {true, "S2 (N D)", {{S2_}, {N_, D_}},
                {}},
            }, sizes.keyShare_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchList(Shaped{"valueShare"}, call.valueShare, BS_, {
                {true, "S2 N D", {{S2_}, {N_}, {D_}},
                {}},
                {true, "S2 (N D)", {{S2_}, {N_, D_}},
                {}},
            }, sizes.valueShare_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchLengths(Shaped{"seqLen"}, call.seqLen, {
                {true, "", {{B_}},
                {}},
            }, false, sizes.seqLen_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchLengths(Shaped{"kvSeqLen"}, call.kvSeqLen, {
                {true, "", {{B_}},
                {}},
            }, false, sizes.kvSeqLen_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchLengths(Shaped{"kvShareMap"}, call.kvShareMap, {
                {true, "", {{B_}},
                {}},
            }, false, sizes.kvShareMap_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchLengths(Shaped{"kvShareLen"}, call.kvShareLen, {
                {true, "", {{BS_}},
                {}},
            }, false, sizes.kvShareLen_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    if (const Status status = solver.Finish(); !status.Ok()) {
        return status;
    }
    if (!S1_.Known()) {
        S1_.Define(0, "default");
    }
    if (!S2_.Known()) {
        S2_.Define(0, "default");
    }
    if (const Status status = solver.Shown(B_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(BS_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(N_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(D_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(S1_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(S2_); !status.Ok()) {
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
        return Violation("RangeError", kOperator, "query",
            "must have at least one batch row", values,
            NearestLegal(1, " of B"));
    }
    // query: must have at most 60 batch rows
    if (!(sizes.B <= 60)) {
        Values values;
        values.Add("B", sizes.B);
        return Violation("RangeError", kOperator, "query",
            "must have at most 60 batch rows", values,
            NearestLegal(60, " of B"));
    }
    // query: must have a head size of at least 1
    if (!(sizes.D > 0)) {
        Values values;
        values.Add("D", sizes.D);
        return Violation("RangeError", kOperator, "query",
            "must have a head size of at least 1", values,
            NearestLegal(1, " of D"));
    }
    // query: must have a head size of at most 256
    if (!(sizes.D <= 256)) {
        Values values;
        values.Add("D", sizes.D);
        return Violation("RangeError", kOperator, "query",
            "must have a head size of at most 256", values,
            NearestLegal(256, " of D"));
    }
    // value: must have merged axes if and only if key has
    if (!(sizes.value_layout == sizes.key_layout)) {
        Values values;
        values.Add("layout of value", sizes.value_layout);
        values.Add("layout of key", sizes.key_layout);
        return Violation("RankError", kOperator, "value",
            "must have merged axes if and only if key has", values,
            "it must be " + Text(sizes.key_layout));
    }
    // valueShare: must have merged axes if and only if keyShare has
    if (!(sizes.valueShare_layout == sizes.keyShare_layout)) {
        Values values;
        values.Add("layout of valueShare", sizes.valueShare_layout);
        values.Add("layout of keyShare", sizes.keyShare_layout);
        return Violation("RankError", kOperator, "valueShare",
            "must have merged axes if and only if keyShare has", values,
            "it must be " + Text(sizes.keyShare_layout));
    }
    // seqLen: must be 1, one query token a batch row
    if (call.seqLen.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.seqLen.GetValue(b) == 1)) {
                Values values;
                values.AddElement("seqLen", call.seqLen, b);
                return Violation("LengthRangeError", kOperator, "seqLen",
                    "must be 1, one query token a batch row", values,
                    NearestLegal(1, ""));
            }
        }
    }
    // kvSeqLen: must be at least 1, the keys of a batch row
    if (call.kvSeqLen.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.kvSeqLen.GetValue(b) > 0)) {
                Values values;
                values.AddElement("kvSeqLen", call.kvSeqLen, b);
                return Violation("LengthRangeError", kOperator, "kvSeqLen",
                    "must be at least 1, the keys of a batch row", values,
                    NearestLegal(1, ""));
            }
        }
    }
    // kvShareLen: must not be negative
    if (call.kvShareLen.Readable()) {
        for (int64_t g = 0; g < sizes.BS; ++g) {
            if (!(call.kvShareLen.GetValue(g) >= 0)) {
                Values values;
                values.AddElement("kvShareLen", call.kvShareLen, g);
                return Violation("LengthRangeError", kOperator, "kvShareLen",
                    "must not be negative", values,
                    NearestLegal(0, ""));
            }
        }
    }
    // kvShareLen: must be at most the capacity of keyShare
    if (call.kvShareLen.Readable()) {
        for (int64_t g = 0; g < sizes.BS; ++g) {
            if (!(call.kvShareLen.GetValue(g) <= sizes.S2)) {
                Values values;
                values.AddElement("kvShareLen", call.kvShareLen, g);
                values.Add("S2", sizes.S2);
                return Violation("LengthRangeError", kOperator, "kvShareLen",
                    "must be at most the capacity of keyShare", values,
                    NearestLegal(sizes.S2, ""));
            }
        }
    }
    // kvShareMap: must be a share group, or -1 for none
    if (call.kvShareMap.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.kvShareMap.GetValue(b) >= -1)) {
                Values values;
                values.AddElement("kvShareMap", call.kvShareMap, b);
                return Violation("ShareGroupError", kOperator, "kvShareMap",
                    "must be a share group, or -1 for none", values,
                    NearestLegal(-1, ""));
            }
        }
    }
    // kvShareMap: must be a share group, or -1 for none
    if (call.kvShareMap.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.kvShareMap.GetValue(b) < sizes.BS)) {
                Values values;
                values.AddElement("kvShareMap", call.kvShareMap, b);
                values.Add("BS", sizes.BS);
                return Violation("ShareGroupError", kOperator, "kvShareMap",
                    "must be a share group, or -1 for none", values,
                    NearestLegal(sizes.BS - 1, ""));
            }
        }
    }
    // kvSeqLen: must count own and shared keys
    if (call.kvSeqLen.Readable() && call.kvShareMap.Readable() && call.kvShareLen.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.kvSeqLen.GetValue(b)
                >= (call.kvShareMap.GetValue(b) >= 0
                    ? call.kvShareLen.GetValue(call.kvShareMap.GetValue(b))
                    : int64_t(0)))) {
                Values values;
                values.AddElement("kvSeqLen", call.kvSeqLen, b);
                values.AddElement("kvShareMap", call.kvShareMap, b);
                if (call.kvShareMap.GetValue(b) >= 0) {
                    values.AddElement("kvShareLen", call.kvShareLen, call.kvShareMap.GetValue(b));
                }
                return Violation("LengthRangeError", kOperator, "kvSeqLen",
                    "must count own and shared keys", values,
                    NearestLegal(call.kvShareMap.GetValue(b) >= 0
                        ? call.kvShareLen.GetValue(call.kvShareMap.GetValue(b))
                        : int64_t(0),
                        ""));
            }
        }
    }
    // kvSeqLen: the keys that are not shared must fit in key
    if (call.kvSeqLen.Readable() && call.kvShareMap.Readable() && call.kvShareLen.Readable()) {
        for (int64_t b = 0; b < sizes.B; ++b) {
            if (!(call.kvSeqLen.GetValue(b)
                <= (call.kvShareMap.GetValue(b) >= 0
                    ? call.kvShareLen.GetValue(call.kvShareMap.GetValue(b))
                    : int64_t(0))
                    + sizes.S1)) {
                Values values;
                values.AddElement("kvSeqLen", call.kvSeqLen, b);
                values.AddElement("kvShareMap", call.kvShareMap, b);
                if (call.kvShareMap.GetValue(b) >= 0) {
                    values.AddElement("kvShareLen", call.kvShareLen, call.kvShareMap.GetValue(b));
                }
                values.Add("S1", sizes.S1);
                return Violation("LengthRangeError", kOperator, "kvSeqLen",
                    "the keys that are not shared must fit in key", values,
                    NearestLegal((call.kvShareMap.GetValue(b) >= 0
                        ? call.kvShareLen.GetValue(call.kvShareMap.GetValue(b))
                        : int64_t(0))
                        + sizes.S1,
                        ""));
            }
        }
    }
    return Status{};
}

// What kernels on the target take.
inline Status CheckTarget(const Call &call, const Sizes &sizes)
{
    static_cast<void>(call);
    static_cast<void>(sizes);
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
        return {sizes.B, call.headNum * sizes.D};
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

}  // namespace relay_attention_host

#endif  // ATTNDSL_RELAY_ATTENTION_CHECK_H
