// The contract of self_attention_prefix_encoder, checked on the host before a launch. Plain C++17,
// no CANN headers.
// Document: ATB SelfAttentionOperation
//
// Checks have the spec's order, and the messages of the spec's Python function.
//
// Not checked here, because the content is on the device:
//   blockTables: must name a block of the cache wherever rows are valid (reads blockTables)
//   mask: must not be negative, it is 1 or 0 (reads mask)
//   mask: must be 1 or 0 (reads mask)
//   mask: must not be 1, which is added (reads mask)
//   mask: must be at most 1, which hides (reads mask)
//   mask: must not have entries below and above 0 (reads mask)
//   mask: must hide the keys after the query and nothing else (reads mask)
//   mask: must hide what the compressed window hides and nothing else (reads mask)
//   mask: must hide what the window hides and nothing else (reads mask)
//   mask: must have the bias of the compressed form on and below the diagonal, and hide above it
//   (reads mask)
#ifndef ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_CHECK_H
#define ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_CHECK_H

#include <cmath>

#include "sizes.h"

namespace self_attention_prefix_encoder_host {

using namespace attndsl;

constexpr const char *kOperator = "self_attention_prefix_encoder";

// The arguments, in the order of the document.
struct Call {
    Tensor query;
    Tensor key;
    Tensor value;
    Tensor blockTables;
    Tensor mask;  // optional
    Tensor seqLen;  // read by the host; query tokens
    Tensor kvSeqLen;  // read by the host; keys, prefix and new
    Tensor slopes;  // optional
    int64_t quantType = 0;
    int64_t outDataType = -1;  // of quantised calls
    int64_t headNum = 0;
    int64_t kvHeadNum = 0;  // 0: as headNum
    double qScale = 1.0;  // on the query, in its dtype; with a cache
    double qkScale = 1.0;  // on the scores
    bool batchRunStatusEnable = false;
    int64_t isTriuMask = 0;  // 1: the mask hides all later keys
    int64_t calcType = 4;
    int64_t kernelType = 0;
    int64_t clampType = 0;  // of scores, before the mask
    double clampMin = 0.0;
    double clampMax = 0.0;
    int64_t maskType = 0;
    int64_t kvcacheCfg = 0;
    int64_t scaleType = 0;
    int64_t inputLayout = 0;
    int64_t mlaVHeadSize = 0;  // channels of keys that are values
    int64_t cacheType = 0;
    int64_t windowSize = 0;  // keys that a query sees, its own included
};

// Sizes that follow from the shapes of a call.
struct Sizes {
    int64_t batch = attndsl::kUnknown;
    int64_t kvHeads = attndsl::kUnknown;  // headNum if kvHeadNum == 0 else kvHeadNum
    int64_t headSize = attndsl::kUnknown;
    int64_t numBlocks = attndsl::kUnknown;
    int64_t blockSize = attndsl::kUnknown;
    int64_t maxBlockNum = attndsl::kUnknown;
    int64_t nTokens = attndsl::kUnknown;
    int64_t maskRows = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t maskCols = attndsl::kUnknown;  // if no shape shows it: 0
    std::string query_layout = "None";  // layout of query
    std::string key_layout = "None";  // layout of key
    std::string value_layout = "None";  // layout of value
    std::string blockTables_layout = "None";  // layout of blockTables
    std::string mask_layout = "None";  // layout of mask
    std::string seqLen_layout = "None";  // layout of seqLen
    std::string kvSeqLen_layout = "None";  // layout of kvSeqLen
    std::string slopes_layout = "None";  // layout of slopes
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
    if (!call.blockTables.given) {
        return Missing(kOperator, "blockTables");
    }
    if (!call.seqLen.given) {
        return Missing(kOperator, "seqLen");
    }
    if (!call.kvSeqLen.given) {
        return Missing(kOperator, "kvSeqLen");
    }
    return Status{};
}

// Parameters are legal values.
inline Status CheckRanges(const Call &call)
{
    if (call.quantType != 0 && call.quantType != 2 && call.quantType != 3) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": quantType: " + Text(call.quantType) + " is none of "
            "0 or 'UNDEFINED', 2 or 'QKV_OFFLINE', 3 or 'QKV_ONLINE'"
                + std::string("; " + NearestOf(call.quantType, {0, 2, 3})));
    }
    if (call.outDataType != -1
        && call.outDataType != 0
        && call.outDataType != 1
        && call.outDataType != 2
        && call.outDataType != 3
        && call.outDataType != 4
        && call.outDataType != 6
        && call.outDataType != 7
        && call.outDataType != 8
        && call.outDataType != 9
        && call.outDataType != 10
        && call.outDataType != 11
        && call.outDataType != 12
        && call.outDataType != 27) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": outDataType: " + Text(call.outDataType) + " is none of "
            "-1 or 'DT_UNDEFINED', 0 or 'FLOAT', 1 or 'FLOAT16', 2 or 'INT8', 3 or 'INT32', 4 or "
            "'UINT8', 6 or 'INT16', 7 or 'UINT16', 8 or 'UINT32', 9 or 'INT64', 10 or 'UINT64', 11 "
            "or 'DOUBLE', 12 or 'BOOL', 27 or 'BF16'"
                + std::string("; "
                    + NearestOf(call.outDataType,
                        {-1, 0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 27})));
    }
    if (!(call.headNum > 0)) {
        return Fail("RangeError", std::string(kOperator) + ": headNum: must be > 0, got " +
            Text(call.headNum) + "; the nearest legal value is 1");
    }
    if (!(call.kvHeadNum >= 0)) {
        return Fail("RangeError", std::string(kOperator) + ": kvHeadNum: must be >= 0, got " +
            Text(call.kvHeadNum) + "; the nearest legal value is 0");
    }
    if (call.qScale - call.qScale != 0) {
        return Fail("RangeError",
            std::string(kOperator) + ": qScale: must be finite, got " + Text(call.qScale) +
            "; pass a number such as 1.0");
    }
    if (call.qkScale - call.qkScale != 0) {
        return Fail("RangeError",
            std::string(kOperator) + ": qkScale: must be finite, got " + Text(call.qkScale) +
            "; pass a number such as 1.0");
    }
    if (call.isTriuMask != 0 && call.isTriuMask != 1) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": isTriuMask: " + Text(call.isTriuMask) + " is none of "
            "0, 1" + std::string("; " + NearestOf(call.isTriuMask, {0, 1})));
    }
    if (call.calcType != 4) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": calcType: " + Text(call.calcType) + " is none of "
            "4 or 'PREFIX_ENCODER'" + std::string("; " + NearestOf(call.calcType, {4})));
    }
    if (call.kernelType != 0 && call.kernelType != 1) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": kernelType: " + Text(call.kernelType) + " is none of "
            "0 or 'DEFAULT', 1 or 'HIGH_PRECISION'"
                + std::string("; " + NearestOf(call.kernelType, {0, 1})));
    }
    if (call.clampType != 0 && call.clampType != 1) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": clampType: " + Text(call.clampType) + " is none of "
            "0 or 'UNDEFINED', 1 or 'MIN_MAX'"
                + std::string("; " + NearestOf(call.clampType, {0, 1})));
    }
    if (call.clampMin != call.clampMin) {
        return Fail("RangeError",
            std::string(kOperator) + ": clampMin: must be a number, got " + Text(call.clampMin) +
            "; pass a number such as 1.0");
    }
    if (call.clampMax != call.clampMax) {
        return Fail("RangeError",
            std::string(kOperator) + ": clampMax: must be a number, got " + Text(call.clampMax) +
            "; pass a number such as 1.0");
    }
    if (call.maskType != 0
        && call.maskType != 1
        && call.maskType != 2
        && call.maskType != 3
        && call.maskType != 4
        && call.maskType != 5
        && call.maskType != 6
        && call.maskType != 7
        && call.maskType != 8
        && call.maskType != 9) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": maskType: " + Text(call.maskType) + " is none of "
            "0 or 'UNDEFINED', 1 or 'NORM', 2 or 'ALIBI', 3 or 'NORM_COMPRESS', 4 or "
            "'ALIBI_COMPRESS', 5 or 'ALIBI_COMPRESS_SQRT', 6 or 'ALIBI_COMPRESS_LEFT_ALIGN', 7 or "
            "'SLIDING_WINDOW_NORM', 8 or 'SLIDING_WINDOW_COMPRESS', 9 or 'CAUSAL_MASK'"
                + std::string("; " + NearestOf(call.maskType, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})));
    }
    if (call.kvcacheCfg != 0 && call.kvcacheCfg != 1) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": kvcacheCfg: " + Text(call.kvcacheCfg) + " is none of "
            "0 or 'K_CACHE_V_CACHE', 1 or 'K_BYPASS_V_BYPASS'"
                + std::string("; " + NearestOf(call.kvcacheCfg, {0, 1})));
    }
    if (call.scaleType != 0 && call.scaleType != 1) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": scaleType: " + Text(call.scaleType) + " is none of "
            "0 or 'TOR', 1 or 'LOGN'" + std::string("; " + NearestOf(call.scaleType, {0, 1})));
    }
    if (call.inputLayout != 0 && call.inputLayout != 1) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": inputLayout: " + Text(call.inputLayout) + " is none of "
            "0 or 'BSND', 1 or 'BNSD'" + std::string("; " + NearestOf(call.inputLayout, {0, 1})));
    }
    if (!(call.mlaVHeadSize >= 0)) {
        return Fail("RangeError", std::string(kOperator) + ": mlaVHeadSize: must be >= 0, got " +
            Text(call.mlaVHeadSize) + "; the nearest legal value is 0");
    }
    if (!(call.mlaVHeadSize <= 576)) {
        return Fail("RangeError", std::string(kOperator) + ": mlaVHeadSize: must be <= 576, got " +
            Text(call.mlaVHeadSize) + "; the nearest legal value is 576");
    }
    if (call.cacheType != 0 && call.cacheType != 1) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": cacheType: " + Text(call.cacheType) + " is none of "
            "0 or 'NORM', 1 or 'SWA'" + std::string("; " + NearestOf(call.cacheType, {0, 1})));
    }
    if (!(call.windowSize >= 0)) {
        return Fail("RangeError", std::string(kOperator) + ": windowSize: must be >= 0, got " +
            Text(call.windowSize) + "; the nearest legal value is 0");
    }
    return Status{};
}

// What parameters and presence decide.
inline Status CheckEarly(const Call &call)
{
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
    // isTriuMask: a triangular mask needs a maskType
    if (call.maskType == 0 && !(call.isTriuMask == 0)) {
        Values values;
        values.Add("isTriuMask", call.isTriuMask);
        return Violation("ParameterError", kOperator, "isTriuMask",
            "a triangular mask needs a maskType", values,
            NearestLegal(0, ""));
    }
    // windowSize: a sliding window needs its size
    if ((call.maskType == 7 || call.maskType == 8) && !(call.windowSize > 0)) {
        Values values;
        values.Add("windowSize", call.windowSize);
        return Violation("ParameterError", kOperator, "windowSize",
            "a sliding window needs its size", values,
            NearestLegal(1, ""));
    }
    // windowSize: only a sliding window has a size
    if (!(call.maskType == 7 || call.maskType == 8) && !(call.windowSize == 0)) {
        Values values;
        values.Add("windowSize", call.windowSize);
        return Violation("ParameterError", kOperator, "windowSize",
            "only a sliding window has a size", values,
            NearestLegal(0, ""));
    }
    // cacheType: only a sliding window has a cache of fixed length
    if (!(call.maskType == 7 || call.maskType == 8) && !(call.cacheType == 0)) {
        Values values;
        values.Add("cacheType", call.cacheType);
        return Violation("ParameterError", kOperator, "cacheType",
            "only a sliding window has a cache of fixed length", values,
            NearestLegal(0, ""));
    }
    // kernelType: a sliding window needs the DEFAULT kernel
    if ((call.maskType == 7 || call.maskType == 8) && !(call.kernelType == 0)) {
        Values values;
        values.Add("kernelType", call.kernelType);
        return Violation("ParameterError", kOperator, "kernelType",
            "a sliding window needs the DEFAULT kernel", values,
            NearestLegal(0, ""));
    }
    // clampType: a sliding window takes no clamp
    if ((call.maskType == 7 || call.maskType == 8) && !(call.clampType == 0)) {
        Values values;
        values.Add("clampType", call.clampType);
        return Violation("ParameterError", kOperator, "clampType",
            "a sliding window takes no clamp", values,
            NearestLegal(0, ""));
    }
    // scaleType: a sliding window takes no logN
    if ((call.maskType == 7 || call.maskType == 8) && !(call.scaleType == 0)) {
        Values values;
        values.Add("scaleType", call.scaleType);
        return Violation("ParameterError", kOperator, "scaleType",
            "a sliding window takes no logN", values,
            NearestLegal(0, ""));
    }
    // quantType: a sliding window takes no quantisation
    if ((call.maskType == 7 || call.maskType == 8) && !(call.quantType == 0)) {
        Values values;
        values.Add("quantType", call.quantType);
        return Violation("ParameterError", kOperator, "quantType",
            "a sliding window takes no quantisation", values,
            NearestLegal(0, ""));
    }
    // inputLayout: a sliding window needs TYPE_BSND
    if ((call.maskType == 7 || call.maskType == 8) && !(call.inputLayout == 0)) {
        Values values;
        values.Add("inputLayout", call.inputLayout);
        return Violation("ParameterError", kOperator, "inputLayout",
            "a sliding window needs TYPE_BSND", values,
            NearestLegal(0, ""));
    }
    // scaleType: TYPE_BNSD takes no logN
    if (call.inputLayout == 1 && !(call.scaleType == 0)) {
        Values values;
        values.Add("scaleType", call.scaleType);
        return Violation("ParameterError", kOperator, "scaleType",
            "TYPE_BNSD takes no logN", values,
            NearestLegal(0, ""));
    }
    // quantType: TYPE_BNSD takes no quantisation
    if (call.inputLayout == 1 && !(call.quantType == 0)) {
        Values values;
        values.Add("quantType", call.quantType);
        return Violation("ParameterError", kOperator, "quantType",
            "TYPE_BNSD takes no quantisation", values,
            NearestLegal(0, ""));
    }
    // quantType: PREFIX_ENCODER takes no quantisation
    if (!(call.quantType == 0)) {
        Values values;
        values.Add("quantType", call.quantType);
        return Violation("ParameterError", kOperator, "quantType",
            "PREFIX_ENCODER takes no quantisation", values,
            NearestLegal(0, ""));
    }
    // outDataType: PREFIX_ENCODER has no result dtype of its own
    if (!(call.outDataType == -1)) {
        Values values;
        values.Add("outDataType", call.outDataType);
        return Violation("ParameterError", kOperator, "outDataType",
            "PREFIX_ENCODER has no result dtype of its own", values,
            NearestLegal(-1, ""));
    }
    // qScale: PREFIX_ENCODER takes no qScale
    if (!(call.qScale == 1.0)) {
        Values values;
        values.Add("qScale", call.qScale);
        return Violation("ParameterError", kOperator, "qScale",
            "PREFIX_ENCODER takes no qScale", values,
            NearestLegal(1.0, ""));
    }
    // batchRunStatusEnable: PREFIX_ENCODER takes no batch status
    if (call.batchRunStatusEnable) {
        Values values;
        values.Add("batchRunStatusEnable", call.batchRunStatusEnable);
        return Violation("ParameterError", kOperator, "batchRunStatusEnable",
            "PREFIX_ENCODER takes no batch status", values,
            "it must be " + Text((0) != 0));
    }
    // isTriuMask: PREFIX_ENCODER is causal, isTriuMask must be 1
    if (!(call.isTriuMask == 1)) {
        Values values;
        values.Add("isTriuMask", call.isTriuMask);
        return Violation("ParameterError", kOperator, "isTriuMask",
            "PREFIX_ENCODER is causal, isTriuMask must be 1", values,
            NearestLegal(1, ""));
    }
    // kernelType: PREFIX_ENCODER needs HIGH_PRECISION
    if (!(call.kernelType == 1)) {
        Values values;
        values.Add("kernelType", call.kernelType);
        return Violation("ParameterError", kOperator, "kernelType",
            "PREFIX_ENCODER needs HIGH_PRECISION", values,
            NearestLegal(1, ""));
    }
    // clampType: PREFIX_ENCODER takes no clamp
    if (!(call.clampType == 0 && call.clampMin == 0.0 && call.clampMax == 0.0)) {
        Values values;
        values.Add("clampType", call.clampType);
        values.Add("clampMin", call.clampMin);
        values.Add("clampMax", call.clampMax);
        return Violation("ParameterError", kOperator, "clampType",
            "PREFIX_ENCODER takes no clamp", values,
            Both((call.clampType == 0
                && call.clampMin == 0.0
                ? std::string(NearestLegal(0.0, " of clampMax"))
                : std::string((call.clampType == 0
                    ? std::string(NearestLegal(0.0, " of clampMin"))
                    : std::string(NearestLegal(0, ""))))),
                "leave it all at 0"));
    }
    // maskType: PREFIX_ENCODER takes compressed masks
    if (!(call.maskType == 3 || call.maskType == 4 || call.maskType == 5 || call.maskType == 9)) {
        Values values;
        values.Add("maskType", call.maskType);
        return Violation("ParameterError", kOperator, "maskType",
            "PREFIX_ENCODER takes compressed masks", values,
            "it must be 3, 4, 5 or 9");
    }
    // kvcacheCfg: PREFIX_ENCODER needs K_CACHE_V_CACHE
    if (!(call.kvcacheCfg == 0)) {
        Values values;
        values.Add("kvcacheCfg", call.kvcacheCfg);
        return Violation("ParameterError", kOperator, "kvcacheCfg",
            "PREFIX_ENCODER needs K_CACHE_V_CACHE", values,
            NearestLegal(0, ""));
    }
    // scaleType: PREFIX_ENCODER takes no logN
    if (!(call.scaleType == 0)) {
        Values values;
        values.Add("scaleType", call.scaleType);
        return Violation("ParameterError", kOperator, "scaleType",
            "PREFIX_ENCODER takes no logN", values,
            NearestLegal(0, ""));
    }
    // inputLayout: PREFIX_ENCODER needs TYPE_BSND
    if (!(call.inputLayout == 0)) {
        Values values;
        values.Add("inputLayout", call.inputLayout);
        return Violation("ParameterError", kOperator, "inputLayout",
            "PREFIX_ENCODER needs TYPE_BSND", values,
            NearestLegal(0, ""));
    }
    // mlaVHeadSize: PREFIX_ENCODER takes no latent attention
    if (!(call.mlaVHeadSize == 0)) {
        Values values;
        values.Add("mlaVHeadSize", call.mlaVHeadSize);
        return Violation("ParameterError", kOperator, "mlaVHeadSize",
            "PREFIX_ENCODER takes no latent attention", values,
            NearestLegal(0, ""));
    }
    // mask: needed by a maskType other than CAUSAL_MASK
    if (call.maskType != 9 && !call.mask.given) {
        return Violation("InputCountError", kOperator, "mask",
            "needed by a maskType other than CAUSAL_MASK", Values{},
            "pass mask");
    }
    // mask: only for a maskType other than CAUSAL_MASK
    if (!(call.maskType != 9) && call.mask.given) {
        return Violation("InputCountError", kOperator, "mask",
            "only for a maskType other than CAUSAL_MASK", Values{},
            "leave mask out");
    }
    // slopes: needed by compressed ALiBi
    if ((call.maskType == 4 || call.maskType == 5 || call.maskType == 6) && !call.slopes.given) {
        return Violation("InputCountError", kOperator, "slopes",
            "needed by compressed ALiBi", Values{},
            "pass slopes");
    }
    // slopes: only for compressed ALiBi
    if (!(call.maskType == 4 || call.maskType == 5 || call.maskType == 6) && call.slopes.given) {
        return Violation("InputCountError", kOperator, "slopes",
            "only for compressed ALiBi", Values{},
            "leave slopes out");
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
    if (call.blockTables.given) {
        const DtypeRule rule{{DataType::kInt32},
            {DataType::kInt32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "blockTables", call.blockTables.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.mask.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {}, {{"query", call.query.dtype}}};
        const Status status = attndsl::CheckDtype(kOperator, "mask", call.mask.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.seqLen.given) {
        const DtypeRule rule{{DataType::kInt32, DataType::kUint32},
            {DataType::kInt32, DataType::kUint32}, {}};
        const Status status = attndsl::CheckDtype(kOperator, "seqLen", call.seqLen.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.kvSeqLen.given) {
        const DtypeRule rule{{DataType::kInt32, DataType::kUint32},
            {DataType::kInt32, DataType::kUint32}, {}};
        const Status status = attndsl::CheckDtype(kOperator, "kvSeqLen", call.kvSeqLen.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.slopes.given) {
        const DtypeRule rule{{DataType::kFloat32},
            {DataType::kFloat32}, {}};
        const Status status = attndsl::CheckDtype(kOperator, "slopes", call.slopes.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    return Status{};
}

// The sizes of the contract from the shapes of the arguments.
inline Status SolveSizes(const Call &call, Sizes &sizes)
{
    SizeSolver solver(kOperator);
    Size batch_("batch", sizes.batch);
    Size kvHeads_("kvHeads", sizes.kvHeads);
    Size headSize_("headSize", sizes.headSize);
    Size numBlocks_("numBlocks", sizes.numBlocks);
    Size blockSize_("blockSize", sizes.blockSize);
    Size maxBlockNum_("maxBlockNum", sizes.maxBlockNum);
    Size nTokens_("nTokens", sizes.nTokens);
    Size maskRows_("maskRows", sizes.maskRows);
    Size maskCols_("maskCols", sizes.maskCols);
    int64_t headNum_value = call.headNum;
    Size headNum_("headNum", headNum_value);
    headNum_.parameter = true;
    kvHeads_.Define(call.kvHeadNum == 0 ? call.headNum : call.kvHeadNum, "headNum, kvHeadNum");
    {
        const Status status = solver.Match(Shaped{"query"}, call.query, {
                {true, "nTokens (headNum headSize)", {{nTokens_}, {headNum_, headSize_}},
                {}},
                {true, "nTokens headNum headSize", {{nTokens_}, {headNum_}, {headSize_}},
                {}},
            }, sizes.query_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"key"}, call.key, {
                {true, "numBlocks blockSize (kvHeads headSize)",
                    {{numBlocks_}, {blockSize_}, {kvHeads_, headSize_}},
                {}},
                {true, "numBlocks blockSize kvHeads headSize",
                    {{numBlocks_}, {blockSize_}, {kvHeads_}, {headSize_}},
                {}},
            }, sizes.key_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"value"}, call.value, {
                {true, "numBlocks blockSize (kvHeads headSize)",
                    {{numBlocks_}, {blockSize_}, {kvHeads_, headSize_}},
                {}},
                {true, "numBlocks blockSize kvHeads headSize",
                    {{numBlocks_}, {blockSize_}, {kvHeads_}, {headSize_}},
                {}},
            }, sizes.value_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"blockTables"}, call.blockTables, {
                {true, "", {{batch_}, {maxBlockNum_}},
                {}},
            }, sizes.blockTables_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"mask"}, call.mask, {
                {call.maskType == 1 || call.maskType == 2 || call.maskType == 7, "square",
                    {{maskRows_}, {maskCols_}},
                {{"maskType", "maskType is " + Text(call.maskType)}}},
                {call.maskType == 2, "per head", {{headNum_}, {maskRows_}, {maskCols_}},
                {{"maskType", "maskType is " + Text(call.maskType)}}},
                {call.maskType == 1 || call.maskType == 2, "per batch",
                    {{batch_}, {maskRows_}, {maskCols_}},
                {{"maskType", "maskType is " + Text(call.maskType)}}},
                {call.maskType == 1 || call.maskType == 2, "full",
                    {{batch_}, {headNum_}, {maskRows_}, {maskCols_}},
                {{"maskType", "maskType is " + Text(call.maskType)}}},
                {call.maskType == 3, "128", {{128}, {128}},
                {{"maskType", "maskType is " + Text(call.maskType)}}},
                {call.maskType == 4 || call.maskType == 5 || call.maskType == 6, "256",
                    {{256}, {256}},
                {{"maskType", "maskType is " + Text(call.maskType)}}},
                {call.maskType == 4 || call.maskType == 5, "columns",
                    {{headNum_}, {maskRows_}, {128}},
                {{"maskType", "maskType is " + Text(call.maskType)}}},
                {call.maskType == 8, "512", {{512}, {512}},
                {{"maskType", "maskType is " + Text(call.maskType)}}},
            }, sizes.mask_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchLengths(Shaped{"seqLen"}, call.seqLen, {
                {true, "", {{batch_}},
                {}},
            }, false, sizes.seqLen_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchLengths(Shaped{"kvSeqLen"}, call.kvSeqLen, {
                {true, "", {{batch_}},
                {}},
            }, false, sizes.kvSeqLen_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"slopes"}, call.slopes, {
                {true, "", {{headNum_}},
                {}},
            }, sizes.slopes_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    if (const Status status = solver.Finish(); !status.Ok()) {
        return status;
    }
    if (!maskRows_.Known()) {
        maskRows_.Define(0, "default");
    }
    if (!maskCols_.Known()) {
        maskCols_.Define(0, "default");
    }
    if (const Status status = solver.Shown(batch_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(kvHeads_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(headSize_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(numBlocks_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(blockSize_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(maxBlockNum_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(nTokens_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(maskRows_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(maskCols_); !status.Ok()) {
        return status;
    }
    return Status{};
}

// The constraints, in the contract's order.
inline Status CheckConstraints(const Call &call, const Sizes &sizes)
{
    // blockTables: must have at least one batch row
    if (!(sizes.batch > 0)) {
        Values values;
        values.Add("batch", sizes.batch);
        return Violation("EmptyTensorError", kOperator, "blockTables",
            "must have at least one batch row", values,
            NearestLegal(1, " of batch"));
    }
    // query: must have a head size of at least 1
    if (!(sizes.headSize > 0)) {
        Values values;
        values.Add("headSize", sizes.headSize);
        return Violation("EmptyTensorError", kOperator, "query",
            "must have a head size of at least 1", values,
            NearestLegal(1, " of headSize"));
    }
    // key: must have blocks of at least one row
    if (!(sizes.blockSize > 0)) {
        Values values;
        values.Add("blockSize", sizes.blockSize);
        return Violation("EmptyTensorError", kOperator, "key",
            "must have blocks of at least one row", values,
            NearestLegal(1, " of blockSize"));
    }
    // query: must have a head size of at most 128
    if (!(sizes.headSize <= 128)) {
        Values values;
        values.Add("headSize", sizes.headSize);
        return Violation("HeadSizeError", kOperator, "query",
            "must have a head size of at most 128", values,
            NearestLegal(128, " of headSize"));
    }
    // query: must have a head size that is a multiple of 16
    if (!(FloorModOrZero(sizes.headSize, 16) == 0)) {
        Values values;
        values.Add("headSize", sizes.headSize);
        return Violation("HeadSizeError", kOperator, "query",
            "must have a head size that is a multiple of 16", values,
            NearestMultiples(sizes.headSize, 16, 16, " of headSize"));
    }
    // value: must have the shape of key
    if (!(sizes.value_layout == sizes.key_layout)) {
        Values values;
        values.Add("layout of value", sizes.value_layout);
        values.Add("layout of key", sizes.key_layout);
        return Violation("ShapeError", kOperator, "value",
            "must have the shape of key", values,
            "it must be " + Text(sizes.key_layout));
    }
    // key: a head must have at most 128 * 128 elements a block
    if (!(sizes.headSize != 0 && sizes.blockSize <= FloorDivOrZero(16384, sizes.headSize))) {
        Values values;
        values.Add("blockSize", sizes.blockSize);
        values.Add("headSize", sizes.headSize);
        return Violation("PagingError", kOperator, "key",
            "a head must have at most 128 * 128 elements a block", values,
            NearestLegal(FloorDivOrZero(16384, sizes.headSize), " of blockSize"));
    }
    // seqLen: must not be negative
    if (call.seqLen.Readable()) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if (!(call.seqLen.GetValue(b) >= 0)) {
                Values values;
                values.AddElement("seqLen", call.seqLen, b);
                return Violation("LengthRangeError", kOperator, "seqLen",
                    "must not be negative", values,
                    NearestLegal(0, ""));
            }
        }
    }
    // seqLen: must add up to the tokens of query
    if (call.seqLen.Readable()
        && !(SumOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); })
            == sizes.nTokens)) {
        Values values;
        values.Add("sum(seqLen[b] for b < batch)",
            SumOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }));
        values.Add("nTokens", sizes.nTokens);
        return Violation("LengthRangeError", kOperator, "seqLen",
            "must add up to the tokens of query", values,
            NearestLegal(sizes.nTokens, " of " + std::string("sum(seqLen[b] for b < batch)")));
    }
    // kvSeqLen: must be at least seqLen, new tokens count
    if (call.kvSeqLen.Readable() && call.seqLen.Readable()) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if (!(call.kvSeqLen.GetValue(b) >= call.seqLen.GetValue(b))) {
                Values values;
                values.AddElement("kvSeqLen", call.kvSeqLen, b);
                values.AddElement("seqLen", call.seqLen, b);
                return Violation("LengthRangeError", kOperator, "kvSeqLen",
                    "must be at least seqLen, new tokens count", values,
                    NearestLegal(call.seqLen.GetValue(b), ""));
            }
        }
    }
    // kvSeqLen: the prefix must be a multiple of 128
    if (call.kvSeqLen.Readable() && call.seqLen.Readable()) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if (!(FloorModOrZero(call.kvSeqLen.GetValue(b) - call.seqLen.GetValue(b), 128) == 0)) {
                Values values;
                values.AddElement("kvSeqLen", call.kvSeqLen, b);
                values.AddElement("seqLen", call.seqLen, b);
                return Violation("LengthRangeError", kOperator, "kvSeqLen",
                    "the prefix must be a multiple of 128", values,
                    NearestMultiples(call.kvSeqLen.GetValue(b) - call.seqLen.GetValue(b), 128, 0,
                        " of kvSeqLen[b] - seqLen[b]"));
            }
        }
    }
    // kvSeqLen: must fit in blockTables' columns
    if (call.kvSeqLen.Readable()) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if (!(call.kvSeqLen.GetValue(b) <= sizes.maxBlockNum * sizes.blockSize)) {
                Values values;
                values.AddElement("kvSeqLen", call.kvSeqLen, b);
                values.Add("maxBlockNum", sizes.maxBlockNum);
                values.Add("blockSize", sizes.blockSize);
                return Violation("LengthRangeError", kOperator, "kvSeqLen",
                    "must fit in blockTables' columns", values,
                    NearestLegal(sizes.maxBlockNum * sizes.blockSize, ""));
            }
        }
    }
    // mask: must have a row for each query
    if (call.kvSeqLen.Readable()
        && call.mask.given
        && (sizes.mask_layout == "square"
            || sizes.mask_layout == "per batch"
            || sizes.mask_layout == "per head"
            || sizes.mask_layout == "full"
            || sizes.mask_layout == "columns")
        && !(sizes.maskRows
            >= MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return call.kvSeqLen.GetValue(b); }))) {
        Values values;
        values.Add("maskRows", sizes.maskRows);
        values.Add("max(kvSeqLen[b] for b < batch)",
            MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.kvSeqLen.GetValue(b); }));
        return Violation("ShapeError", kOperator, "mask",
            "must have a row for each query", values,
            NearestLegal(MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return call.kvSeqLen.GetValue(b); }),
                " of maskRows"));
    }
    // mask: must have a column for each key
    if (call.kvSeqLen.Readable()
        && call.mask.given
        && (sizes.mask_layout == "square"
            || sizes.mask_layout == "per batch"
            || sizes.mask_layout == "per head"
            || sizes.mask_layout == "full")
        && !(sizes.maskCols
            >= MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return call.kvSeqLen.GetValue(b); }))) {
        Values values;
        values.Add("maskCols", sizes.maskCols);
        values.Add("max(kvSeqLen[b] for b < batch)",
            MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.kvSeqLen.GetValue(b); }));
        return Violation("ShapeError", kOperator, "mask",
            "must have a column for each key", values,
            NearestLegal(MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return call.kvSeqLen.GetValue(b); }),
                " of maskCols"));
    }
    // mask: needs isTriuMask for more than 128 queries
    if (call.kvSeqLen.Readable()
        && call.mask.given
        && sizes.mask_layout == "128"
        && call.isTriuMask == 0
        && !(MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.kvSeqLen.GetValue(b); })
            <= 128)) {
        Values values;
        values.Add("max(kvSeqLen[b] for b < batch)",
            MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.kvSeqLen.GetValue(b); }));
        return Violation("ShapeError", kOperator, "mask",
            "needs isTriuMask for more than 128 queries", values,
            NearestLegal(128, " of " + std::string("max(kvSeqLen[b] for b < batch)")));
    }
    // mask: needs isTriuMask for more than 128 keys
    if (call.kvSeqLen.Readable()
        && call.mask.given
        && sizes.mask_layout == "128"
        && call.isTriuMask == 0
        && !(MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.kvSeqLen.GetValue(b); })
            <= 128)) {
        Values values;
        values.Add("max(kvSeqLen[b] for b < batch)",
            MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.kvSeqLen.GetValue(b); }));
        return Violation("ShapeError", kOperator, "mask",
            "needs isTriuMask for more than 128 keys", values,
            NearestLegal(128, " of " + std::string("max(kvSeqLen[b] for b < batch)")));
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
    status = CheckRanges(call);
    if (!status.Ok()) {
        return status;
    }
    status = CheckEarly(call);
    if (!status.Ok()) {
        return status;
    }
    status = CheckDtypes(call);
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
        if (sizes.query_layout == "nTokens (headNum headSize)") {
            return {sizes.nTokens, call.headNum * sizes.headSize};
        }
        return {sizes.nTokens, call.headNum, sizes.headSize};
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

}  // namespace self_attention_prefix_encoder_host

#endif  // ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_CHECK_H
