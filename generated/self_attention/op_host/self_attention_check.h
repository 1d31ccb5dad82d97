// The contract of self_attention, checked on the host before a launch. Plain C++17, no CANN
// headers.
// Document: ATB SelfAttentionOperation
//
// Checks have the spec's order, and the messages of the spec's Python function.
//
// Not checked here, because the content is on the device:
//   attentionMask: must not be negative, it is 1 or 0 (reads attentionMask)
//   attentionMask: must be 1 or 0 (reads attentionMask)
//   attentionMask: must not be 1, which is added (reads attentionMask)
//   attentionMask: must be at most 1, which hides (reads attentionMask)
//   attentionMask: must not have entries below and above 0 (reads attentionMask)
//   attentionMask: must hide the keys after the query and nothing else (reads attentionMask)
//   attentionMask: must hide what the compressed window hides and nothing else (reads
//   attentionMask)
//   attentionMask: must hide what the window hides and nothing else (reads attentionMask)
//   attentionMask: must have the bias of the compressed form on and below the diagonal, and hide
//   above it (reads attentionMask)
#ifndef ATTNDSL_SELF_ATTENTION_CHECK_H
#define ATTNDSL_SELF_ATTENTION_CHECK_H

#include <cmath>

#include "sizes.h"

namespace self_attention_host {

using namespace attndsl;

constexpr const char *kOperator = "self_attention";

// The arguments, in the order of the document.
struct Call {
    Tensor query;
    Tensor key;  // optional; new tokens alone
    Tensor value;  // optional; new tokens alone
    TensorList cacheK_list;  // a tensor, or a list of one a batch row
    Tensor cacheK;  // the tensor in cacheK_list
    TensorList cacheV_list;  // a tensor, or a list of one a batch row
    Tensor cacheV;  // the tensor in cacheV_list
    Tensor attentionMask;  // optional
    Tensor tokenOffset;  // read by the host; keys, new ones too
    Tensor seqLen;  // read by the host; query tokens
    Tensor layerId;  // read by the host; the layer of the cache
    Tensor batchStatus;  // optional; read by the host; 0: skip the row
    Tensor logN;  // optional
    int64_t quantType = 0;
    int64_t outDataType = -1;  // of quantised calls
    int64_t headNum = 0;
    int64_t kvHeadNum = 0;  // 0: as headNum
    double qScale = 1.0;  // on the query, in its dtype; with a cache
    double qkScale = 1.0;  // on the scores
    bool batchRunStatusEnable = false;
    int64_t isTriuMask = 0;  // 1: the mask hides all later keys
    int64_t calcType = 0;
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
    int64_t headSizeV = attndsl::kUnknown;
    int64_t nTokens = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t qRows = attndsl::kUnknown;  // if no shape shows it: max(seqLen[b] for b < batch)
    int64_t newRows = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t maxLogN = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t maskRows = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t maskCols = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t layerNum = attndsl::kUnknown;  // if no shape shows it: 1
    int64_t maxSeqLen = attndsl::kUnknown;
    std::string query_layout = "None";  // layout of query
    std::string key_layout = "None";  // layout of key
    std::string value_layout = "None";  // layout of value
    RowCounts cacheK_rows = {};  // rows of each tensor of cacheK
    std::string cacheK_layout = "None";  // layout of cacheK
    RowCounts cacheV_rows = {};  // rows of each tensor of cacheV
    std::string cacheV_layout = "None";  // layout of cacheV
    std::string attentionMask_layout = "None";  // layout of attentionMask
    std::string tokenOffset_layout = "None";  // layout of tokenOffset
    std::string seqLen_layout = "None";  // layout of seqLen
    std::string layerId_layout = "None";  // layout of layerId
    std::string batchStatus_layout = "None";  // layout of batchStatus
    std::string logN_layout = "None";  // layout of logN
};

// What has to be passed is there; arguments that are lists stand for what they hold.
inline Status ResolveLists(Call &call)
{
    if (!call.query.given) {
        return Missing(kOperator, "query");
    }
    if (!call.cacheK_list.given) {
        return Missing(kOperator, "cacheK");
    }
    if (!call.cacheV_list.given) {
        return Missing(kOperator, "cacheV");
    }
    if (!call.tokenOffset.given) {
        return Missing(kOperator, "tokenOffset");
    }
    if (!call.seqLen.given) {
        return Missing(kOperator, "seqLen");
    }
    if (!call.layerId.given) {
        return Missing(kOperator, "layerId");
    }
    if (const Status status = OneOrMany(kOperator, "cacheK", false, call.cacheK_list, call.cacheK);
        !status.Ok()) {
        return status;
    }
    if (const Status status = OneOrMany(kOperator, "cacheV", false, call.cacheV_list, call.cacheV);
        !status.Ok()) {
        return status;
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
    if (call.calcType != 0
        && call.calcType != 1
        && call.calcType != 2
        && call.calcType != 3
        && call.calcType != 4) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": calcType: " + Text(call.calcType) + " is none of "
            "0 or 'UNDEFINED', 1 or 'ENCODER', 2 or 'DECODER', 3 or 'PA_ENCODER', 4 or "
            "'PREFIX_ENCODER'" + std::string("; " + NearestOf(call.calcType, {0, 1, 2, 3, 4})));
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
    // calcType: is for self_attention_pa_encoder
    if (!(call.calcType != 3)) {
        Values values;
        values.Add("calcType", call.calcType);
        return Violation("ParameterError", kOperator, "calcType",
            "is for self_attention_pa_encoder", values,
            "use that operator");
    }
    // calcType: is for self_attention_prefix_encoder
    if (!(call.calcType != 4)) {
        Values values;
        values.Add("calcType", call.calcType);
        return Violation("ParameterError", kOperator, "calcType",
            "is for self_attention_prefix_encoder", values,
            "use that operator");
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
    // quantType: quantised queries are for PA_ENCODER alone
    if (!(call.quantType == 0)) {
        Values values;
        values.Add("quantType", call.quantType);
        return Violation("ParameterError", kOperator, "quantType",
            "quantised queries are for PA_ENCODER alone", values,
            NearestLegal(0, ""));
    }
    // mlaVHeadSize: values that are channels of keys are for PA_ENCODER alone
    if (!(call.mlaVHeadSize == 0)) {
        Values values;
        values.Add("mlaVHeadSize", call.mlaVHeadSize);
        return Violation("ParameterError", kOperator, "mlaVHeadSize",
            "values that are channels of keys are for PA_ENCODER alone", values,
            NearestLegal(0, ""));
    }
    // maskType: must not be compressed ALiBi
    if (call.maskType == 4 || call.maskType == 5 || call.maskType == 6) {
        Values values;
        values.Add("maskType", call.maskType);
        return Violation("ParameterError", kOperator, "maskType",
            "must not be compressed ALiBi", values,
            "use ALIBI, or PA_ENCODER");
    }
    // maskType: MASK_TYPE_CAUSAL_MASK is for PREFIX_ENCODER alone
    if (!(call.maskType != 9)) {
        Values values;
        values.Add("maskType", call.maskType);
        return Violation("ParameterError", kOperator, "maskType",
            "MASK_TYPE_CAUSAL_MASK is for PREFIX_ENCODER alone", values,
            "use NORM_COMPRESS, or calcType PREFIX_ENCODER");
    }
    // maskType: must not be compressed in DECODER
    if (call.calcType == 2 && !(call.maskType != 8)) {
        Values values;
        values.Add("maskType", call.maskType);
        return Violation("ParameterError", kOperator, "maskType",
            "must not be compressed in DECODER", values,
            "use SLIDING_WINDOW_NORM, which takes no mask");
    }
    // batchRunStatusEnable: a sliding window takes no batch status
    if ((call.maskType == 7 || call.maskType == 8) && call.batchRunStatusEnable) {
        Values values;
        values.Add("batchRunStatusEnable", call.batchRunStatusEnable);
        return Violation("ParameterError", kOperator, "batchRunStatusEnable",
            "a sliding window takes no batch status", values,
            "it must be " + Text((0) != 0));
    }
    // kvcacheCfg: TYPE_BNSD needs K_BYPASS_V_BYPASS
    if (call.inputLayout == 1 && !(call.kvcacheCfg == 1)) {
        Values values;
        values.Add("kvcacheCfg", call.kvcacheCfg);
        return Violation("ParameterError", kOperator, "kvcacheCfg",
            "TYPE_BNSD needs K_BYPASS_V_BYPASS", values,
            NearestLegal(1, ""));
    }
    // maskType: TYPE_BNSD needs a mask
    if (call.inputLayout == 1 && !(call.maskType != 0)) {
        Values values;
        values.Add("maskType", call.maskType);
        return Violation("ParameterError", kOperator, "maskType",
            "TYPE_BNSD needs a mask", values,
            "pass maskType NORM and attentionMask");
    }
    // batchRunStatusEnable: TYPE_BNSD takes no batch status
    if (call.inputLayout == 1 && call.batchRunStatusEnable) {
        Values values;
        values.Add("batchRunStatusEnable", call.batchRunStatusEnable);
        return Violation("ParameterError", kOperator, "batchRunStatusEnable",
            "TYPE_BNSD takes no batch status", values,
            "it must be " + Text((0) != 0));
    }
    // cacheK: only a bypassed DECODER takes lists
    if (call.cacheK_list.list && !(call.calcType == 2 && call.kvcacheCfg == 1)) {
        Values values;
        values.Add("calcType", call.calcType);
        values.Add("kvcacheCfg", call.kvcacheCfg);
        return Violation("ParameterError", kOperator, "cacheK",
            "only a bypassed DECODER takes lists", values,
            Both((call.calcType == 2
                ? std::string(NearestLegal(1, " of kvcacheCfg"))
                : std::string(NearestLegal(2, " of calcType"))),
                "pass one tensor, or calcType DECODER with K_BYPASS_V_BYPASS"));
    }
    // cacheV: only a bypassed DECODER takes lists
    if (call.cacheV_list.list && !(call.calcType == 2 && call.kvcacheCfg == 1)) {
        Values values;
        values.Add("calcType", call.calcType);
        values.Add("kvcacheCfg", call.kvcacheCfg);
        return Violation("ParameterError", kOperator, "cacheV",
            "only a bypassed DECODER takes lists", values,
            Both((call.calcType == 2
                ? std::string(NearestLegal(1, " of kvcacheCfg"))
                : std::string(NearestLegal(2, " of calcType"))),
                "pass one tensor, or calcType DECODER with K_BYPASS_V_BYPASS"));
    }
    // key: needed by K_CACHE_V_CACHE
    if (!(call.kvcacheCfg == 1) && !call.key.given) {
        return Violation("InputCountError", kOperator, "key",
            "needed by K_CACHE_V_CACHE", Values{},
            "pass key");
    }
    // key: only for K_CACHE_V_CACHE
    if ((call.kvcacheCfg == 1) && call.key.given) {
        return Violation("InputCountError", kOperator, "key",
            "only for K_CACHE_V_CACHE", Values{},
            "leave key out");
    }
    // value: needed by K_CACHE_V_CACHE
    if (!(call.kvcacheCfg == 1) && !call.value.given) {
        return Violation("InputCountError", kOperator, "value",
            "needed by K_CACHE_V_CACHE", Values{},
            "pass value");
    }
    // value: only for K_CACHE_V_CACHE
    if ((call.kvcacheCfg == 1) && call.value.given) {
        return Violation("InputCountError", kOperator, "value",
            "only for K_CACHE_V_CACHE", Values{},
            "leave value out");
    }
    // attentionMask: needed by a maskType (but for the window of a DECODER)
    if (!(call.maskType == 0 || (call.calcType == 2 && call.maskType == 7))
        && !call.attentionMask.given) {
        return Violation("InputCountError", kOperator, "attentionMask",
            "needed by a maskType (but for the window of a DECODER)", Values{},
            "pass attentionMask");
    }
    // attentionMask: only for a maskType (but for the window of a DECODER)
    if ((call.maskType == 0 || (call.calcType == 2 && call.maskType == 7))
        && call.attentionMask.given) {
        return Violation("InputCountError", kOperator, "attentionMask",
            "only for a maskType (but for the window of a DECODER)", Values{},
            "leave attentionMask out");
    }
    // batchStatus: needed by batchRunStatusEnable
    if (call.batchRunStatusEnable && !call.batchStatus.given) {
        return Violation("InputCountError", kOperator, "batchStatus",
            "needed by batchRunStatusEnable", Values{},
            "pass batchStatus");
    }
    // batchStatus: only for batchRunStatusEnable
    if (!call.batchRunStatusEnable && call.batchStatus.given) {
        return Violation("InputCountError", kOperator, "batchStatus",
            "only for batchRunStatusEnable", Values{},
            "leave batchStatus out");
    }
    // logN: needed by SCALE_TYPE_LOGN
    if (call.scaleType == 1 && !call.logN.given) {
        return Violation("InputCountError", kOperator, "logN",
            "needed by SCALE_TYPE_LOGN", Values{},
            "pass logN");
    }
    // logN: only for SCALE_TYPE_LOGN
    if (!(call.scaleType == 1) && call.logN.given) {
        return Violation("InputCountError", kOperator, "logN",
            "only for SCALE_TYPE_LOGN", Values{},
            "leave logN out");
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
    if (call.cacheK.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {}, {{"query", call.query.dtype}}};
        const Status status = attndsl::CheckDtypes(kOperator, "cacheK", call.cacheK_list, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.cacheV.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {}, {{"query", call.query.dtype}}};
        const Status status = attndsl::CheckDtypes(kOperator, "cacheV", call.cacheV_list, rule);
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
    if (call.tokenOffset.given) {
        const DtypeRule rule{{DataType::kInt32, DataType::kUint32},
            {DataType::kInt32, DataType::kUint32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "tokenOffset", call.tokenOffset.dtype, rule);
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
    if (call.layerId.given) {
        const DtypeRule rule{{DataType::kInt32, DataType::kUint32},
            {DataType::kInt32, DataType::kUint32}, {}};
        const Status status = attndsl::CheckDtype(kOperator, "layerId", call.layerId.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.batchStatus.given) {
        const DtypeRule rule{{DataType::kInt32, DataType::kUint32},
            {DataType::kInt32, DataType::kUint32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "batchStatus", call.batchStatus.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.logN.given) {
        const DtypeRule rule{{DataType::kFloat32},
            {DataType::kFloat32}, {}};
        const Status status = attndsl::CheckDtype(kOperator, "logN", call.logN.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    return Status{};
}

// What parameters alone decide.
inline Status CheckParameters(const Call &call)
{
    // cacheV: must be a list where cacheK is one
    if (!(call.cacheV_list.list == call.cacheK_list.list)) {
        return Violation("RankError", kOperator, "cacheV",
            "must be a list where cacheK is one", Values{},
            "pass both as lists");
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
    Size headSizeV_("headSizeV", sizes.headSizeV);
    Size nTokens_("nTokens", sizes.nTokens);
    Size qRows_("qRows", sizes.qRows);
    Size newRows_("newRows", sizes.newRows);
    Size maxLogN_("maxLogN", sizes.maxLogN);
    Size maskRows_("maskRows", sizes.maskRows);
    Size maskCols_("maskCols", sizes.maskCols);
    Size layerNum_("layerNum", sizes.layerNum);
    Size maxSeqLen_("maxSeqLen", sizes.maxSeqLen);
    int64_t headNum_value = call.headNum;
    Size headNum_("headNum", headNum_value);
    headNum_.parameter = true;
    kvHeads_.Define(call.kvHeadNum == 0 ? call.headNum : call.kvHeadNum, "headNum, kvHeadNum");
    {
        const Status status = solver.Match(Shaped{"query"}, call.query, {
                {call.inputLayout == 0, "packed", {{nTokens_}, {headNum_, headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0, "padded", {{batch_}, {qRows_}, {headNum_}, {headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 1, "BNSD", {{batch_}, {headNum_}, {qRows_}, {headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
            }, sizes.query_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"key"}, call.key, {
                {call.inputLayout == 0, "packed", {{newRows_}, {kvHeads_, headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0, "padded", {{batch_}, {newRows_}, {kvHeads_}, {headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
            }, sizes.key_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"value"}, call.value, {
                {call.inputLayout == 0, "packed", {{newRows_}, {kvHeads_, headSizeV_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0, "padded", {{batch_}, {newRows_}, {kvHeads_}, {headSizeV_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
            }, sizes.value_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.cacheK_list.given && call.cacheK_list.list) {
        const Status status = solver.MatchRows(Shaped{"cacheK"}, call.cacheK_list, false,
            batch_, maxSeqLen_, {&layerNum_}, {
                {call.inputLayout == 0 && !call.batchRunStatusEnable, "layers",
                    {{1}, {1}, {maxSeqLen_}, {kvHeads_, headSize_}},
                {{"batchRunStatusEnable",
                    "batchRunStatusEnable is " + Text(call.batchRunStatusEnable)},
                 {"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0 && call.batchRunStatusEnable, "layer",
                    {{1}, {maxSeqLen_}, {kvHeads_, headSize_}},
                {{"batchRunStatusEnable",
                    "batchRunStatusEnable is " + Text(call.batchRunStatusEnable)},
                 {"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 1, "BNSD", {{1}, {1}, {kvHeads_}, {maxSeqLen_}, {headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
            }, sizes.cacheK_rows, sizes.cacheK_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    else {
        const Status status = solver.Match(Shaped{"cacheK"}, call.cacheK, {
                {call.inputLayout == 0 && !call.batchRunStatusEnable, "layers",
                    {{layerNum_}, {batch_}, {maxSeqLen_}, {kvHeads_, headSize_}},
                {{"batchRunStatusEnable",
                    "batchRunStatusEnable is " + Text(call.batchRunStatusEnable)},
                 {"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0 && call.batchRunStatusEnable, "layer",
                    {{batch_}, {maxSeqLen_}, {kvHeads_, headSize_}},
                {{"batchRunStatusEnable",
                    "batchRunStatusEnable is " + Text(call.batchRunStatusEnable)},
                 {"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 1, "BNSD",
                    {{layerNum_}, {batch_}, {kvHeads_}, {maxSeqLen_}, {headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
            }, sizes.cacheK_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.cacheV_list.given && call.cacheV_list.list) {
        const Status status = solver.MatchRows(Shaped{"cacheV"}, call.cacheV_list, false,
            batch_, maxSeqLen_, {&layerNum_}, {
                {call.inputLayout == 0 && !call.batchRunStatusEnable, "layers",
                    {{1}, {1}, {maxSeqLen_}, {kvHeads_, headSizeV_}},
                {{"batchRunStatusEnable",
                    "batchRunStatusEnable is " + Text(call.batchRunStatusEnable)},
                 {"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0 && call.batchRunStatusEnable, "layer",
                    {{1}, {maxSeqLen_}, {kvHeads_, headSizeV_}},
                {{"batchRunStatusEnable",
                    "batchRunStatusEnable is " + Text(call.batchRunStatusEnable)},
                 {"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 1, "BNSD", {{1}, {1}, {kvHeads_}, {maxSeqLen_}, {headSizeV_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
            }, sizes.cacheV_rows, sizes.cacheV_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    else {
        const Status status = solver.Match(Shaped{"cacheV"}, call.cacheV, {
                {call.inputLayout == 0 && !call.batchRunStatusEnable, "layers",
                    {{layerNum_}, {batch_}, {maxSeqLen_}, {kvHeads_, headSizeV_}},
                {{"batchRunStatusEnable",
                    "batchRunStatusEnable is " + Text(call.batchRunStatusEnable)},
                 {"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0 && call.batchRunStatusEnable, "layer",
                    {{batch_}, {maxSeqLen_}, {kvHeads_, headSizeV_}},
                {{"batchRunStatusEnable",
                    "batchRunStatusEnable is " + Text(call.batchRunStatusEnable)},
                 {"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 1, "BNSD",
                    {{layerNum_}, {batch_}, {kvHeads_}, {maxSeqLen_}, {headSizeV_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
            }, sizes.cacheV_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"attentionMask"}, call.attentionMask, {
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
            }, sizes.attentionMask_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchLengths(Shaped{"tokenOffset"}, call.tokenOffset, {
                {true, "", {{batch_}},
                {}},
            }, false, sizes.tokenOffset_layout);
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
        const Status status = solver.MatchLengths(Shaped{"layerId"}, call.layerId, {
                {true, "", {{1}},
                {}},
            }, false, sizes.layerId_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.MatchLengths(Shaped{"batchStatus"}, call.batchStatus, {
                {true, "", {{batch_}},
                {}},
            }, false, sizes.batchStatus_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"logN"}, call.logN, {
                {true, "", {{maxLogN_}},
                {}},
            }, sizes.logN_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    if (const Status status = solver.Finish(); !status.Ok()) {
        return status;
    }
    if (!nTokens_.Known()) {
        nTokens_.Define(0, "default");
    }
    if (!qRows_.Known() && batch_.Known() && call.seqLen.Readable()) {
        qRows_.Define(
            MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }),
            "default");
    }
    if (!newRows_.Known()) {
        newRows_.Define(0, "default");
    }
    if (!maxLogN_.Known()) {
        maxLogN_.Define(0, "default");
    }
    if (!maskRows_.Known()) {
        maskRows_.Define(0, "default");
    }
    if (!maskCols_.Known()) {
        maskCols_.Define(0, "default");
    }
    if (!layerNum_.Known()) {
        layerNum_.Define(1, "default");
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
    if (const Status status = solver.Shown(headSizeV_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(nTokens_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(qRows_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(newRows_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(maxLogN_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(maskRows_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(maskCols_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(layerNum_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(maxSeqLen_); !status.Ok()) {
        return status;
    }
    return Status{};
}

// The constraints, in the contract's order.
inline Status CheckConstraints(const Call &call, const Sizes &sizes)
{
    // seqLen: must have at least one batch row
    if (!(sizes.batch > 0)) {
        Values values;
        values.Add("batch", sizes.batch);
        return Violation("EmptyTensorError", kOperator, "seqLen",
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
    // query: must have a head size of at most 1024
    if (!(sizes.headSize <= 1024)) {
        Values values;
        values.Add("headSize", sizes.headSize);
        return Violation("HeadSizeError", kOperator, "query",
            "must have a head size of at most 1024", values,
            NearestLegal(1024, " of headSize"));
    }
    // query: the head size must be at most 256 with windows, logN and BNSD
    if ((call.maskType == 7 || call.maskType == 8 || call.inputLayout == 1 || call.scaleType == 1)
        && !(sizes.headSize <= 256)) {
        Values values;
        values.Add("headSize", sizes.headSize);
        return Violation("HeadSizeError", kOperator, "query",
            "the head size must be at most 256 with windows, logN and BNSD", values,
            NearestLegal(256, " of headSize"));
    }
    // cacheV: must have a head size of at most 1024
    if (!(sizes.headSizeV <= 1024)) {
        Values values;
        values.Add("headSizeV", sizes.headSizeV);
        return Violation("HeadSizeError", kOperator, "cacheV",
            "must have a head size of at most 1024", values,
            NearestLegal(1024, " of headSizeV"));
    }
    // cacheV: must have the head size of query with these features
    if ((call.maskType == 7 || call.maskType == 8 || call.inputLayout == 1 || call.scaleType == 1)
        && !(sizes.headSizeV == sizes.headSize)) {
        Values values;
        values.Add("headSizeV", sizes.headSizeV);
        values.Add("headSize", sizes.headSize);
        return Violation("HeadSizeError", kOperator, "cacheV",
            "must have the head size of query with these features", values,
            NearestLegal(sizes.headSize, " of headSizeV"));
    }
    // key: must have a multiple of 16 channels a row
    if (call.key.given && !(FloorModOrZero(sizes.kvHeads * sizes.headSize, 16) == 0)) {
        Values values;
        values.Add("kvHeads", sizes.kvHeads);
        values.Add("headSize", sizes.headSize);
        return Violation("DivisibilityError", kOperator, "key",
            "must have a multiple of 16 channels a row", values,
            NearestMultiples(sizes.kvHeads * sizes.headSize, 16, 0, " of kvHeads * headSize"));
    }
    // value: must have a multiple of 16 channels a row
    if (call.key.given && !(FloorModOrZero(sizes.kvHeads * sizes.headSizeV, 16) == 0)) {
        Values values;
        values.Add("kvHeads", sizes.kvHeads);
        values.Add("headSizeV", sizes.headSizeV);
        return Violation("DivisibilityError", kOperator, "value",
            "must have a multiple of 16 channels a row", values,
            NearestMultiples(sizes.kvHeads * sizes.headSizeV, 16, 0, " of kvHeads * headSizeV"));
    }
    // key, value: must be packed as key is
    if (call.value.given && !(sizes.value_layout == sizes.key_layout)) {
        Values values;
        values.Add("layout of value", sizes.value_layout);
        values.Add("layout of key", sizes.key_layout);
        return Violation("ShapeError", kOperator, "key, value",
            "must be packed as key is", values,
            "it must be " + Text(sizes.key_layout));
    }
    // logN: must have an entry for each query token
    if (call.seqLen.Readable()
        && call.logN.given
        && !(call.calcType == 2)
        && !(sizes.maxLogN
            >= MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }))) {
        Values values;
        values.Add("maxLogN", sizes.maxLogN);
        values.Add("max(seqLen[b] for b < batch)",
            MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }));
        return Violation("ShapeError", kOperator, "logN",
            "must have an entry for each query token", values,
            NearestLegal(
                MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }),
                " of maxLogN"));
    }
    // logN: must have an entry for each batch row
    if (call.logN.given && call.calcType == 2 && !(sizes.maxLogN == sizes.batch)) {
        Values values;
        values.Add("maxLogN", sizes.maxLogN);
        values.Add("batch", sizes.batch);
        return Violation("ShapeError", kOperator, "logN",
            "must have an entry for each batch row", values,
            NearestLegal(sizes.batch, " of maxLogN"));
    }
    // seqLen: must be at least 1
    if ((!call.batchStatus.given || call.batchStatus.Readable()) && call.seqLen.Readable()) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if ((call.batchStatus.given ? call.batchStatus.GetValue(b) : int64_t(1)) != 0
                && !(call.seqLen.GetValue(b) > 0)) {
                Values values;
                values.AddElement("seqLen", call.seqLen, b);
                return Violation("LengthRangeError", kOperator, "seqLen",
                    "must be at least 1", values,
                    NearestLegal(1, ""));
            }
        }
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
    // seqLen: must be 1 for DECODER
    if ((!call.batchStatus.given || call.batchStatus.Readable())
        && call.seqLen.Readable()
        && call.calcType == 2) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if ((call.batchStatus.given ? call.batchStatus.GetValue(b) : int64_t(1)) != 0
                && !(call.seqLen.GetValue(b) == 1)) {
                Values values;
                values.AddElement("seqLen", call.seqLen, b);
                return Violation("LengthRangeError", kOperator, "seqLen",
                    "must be 1 for DECODER", values,
                    NearestLegal(1, ""));
            }
        }
    }
    // seqLen: must be at most the rows of query
    if (call.seqLen.Readable() && sizes.query_layout != "packed") {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if (!(call.seqLen.GetValue(b) <= sizes.qRows)) {
                Values values;
                values.AddElement("seqLen", call.seqLen, b);
                values.Add("qRows", sizes.qRows);
                return Violation("LengthRangeError", kOperator, "seqLen",
                    "must be at most the rows of query", values,
                    NearestLegal(sizes.qRows, ""));
            }
        }
    }
    // seqLen: must add up to the tokens of query
    if (call.seqLen.Readable()
        && sizes.query_layout == "packed"
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
    // seqLen: must add up to the tokens of key
    if (call.seqLen.Readable()
        && sizes.key_layout == "packed"
        && !(SumOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); })
            == sizes.newRows)) {
        Values values;
        values.Add("sum(seqLen[b] for b < batch)",
            SumOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }));
        values.Add("newRows", sizes.newRows);
        return Violation("LengthRangeError", kOperator, "seqLen",
            "must add up to the tokens of key", values,
            NearestLegal(sizes.newRows, " of " + std::string("sum(seqLen[b] for b < batch)")));
    }
    // seqLen: must be at most the rows of key
    if (call.seqLen.Readable() && sizes.key_layout == "padded") {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if (!(call.seqLen.GetValue(b) <= sizes.newRows)) {
                Values values;
                values.AddElement("seqLen", call.seqLen, b);
                values.Add("newRows", sizes.newRows);
                return Violation("LengthRangeError", kOperator, "seqLen",
                    "must be at most the rows of key", values,
                    NearestLegal(sizes.newRows, ""));
            }
        }
    }
    // tokenOffset: must be at least seqLen, new tokens count
    if ((!call.batchStatus.given || call.batchStatus.Readable())
        && call.tokenOffset.Readable()
        && call.seqLen.Readable()) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if ((call.batchStatus.given ? call.batchStatus.GetValue(b) : int64_t(1)) != 0
                && !(call.tokenOffset.GetValue(b) >= call.seqLen.GetValue(b))) {
                Values values;
                values.AddElement("tokenOffset", call.tokenOffset, b);
                values.AddElement("seqLen", call.seqLen, b);
                return Violation("LengthRangeError", kOperator, "tokenOffset",
                    "must be at least seqLen, new tokens count", values,
                    NearestLegal(call.seqLen.GetValue(b), ""));
            }
        }
    }
    // tokenOffset: must be at most the rows of the cache
    if ((!call.batchStatus.given || call.batchStatus.Readable())
        && call.tokenOffset.Readable()
        && !(call.cacheType == 1 && (call.calcType == 2 || !(call.kvcacheCfg == 1)))) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if ((call.batchStatus.given ? call.batchStatus.GetValue(b) : int64_t(1)) != 0
                && !(call.tokenOffset.GetValue(b) <= sizes.maxSeqLen)) {
                Values values;
                values.AddElement("tokenOffset", call.tokenOffset, b);
                values.Add("maxSeqLen", sizes.maxSeqLen);
                return Violation("LengthRangeError", kOperator, "tokenOffset",
                    "must be at most the rows of the cache", values,
                    NearestLegal(sizes.maxSeqLen, ""));
            }
        }
    }
    // tokenOffset: must be at most the rows of its tensor
    if ((!call.batchStatus.given || call.batchStatus.Readable())
        && call.tokenOffset.Readable()
        && sizes.cacheK_rows.Readable()) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if ((call.batchStatus.given ? call.batchStatus.GetValue(b) : int64_t(1)) != 0
                && !((call.cacheType == 1 ? MinOf<int64_t,
                    int64_t>(call.tokenOffset.GetValue(b), call.windowSize)
                        : call.tokenOffset.GetValue(b))
                    <= sizes.cacheK_rows.GetValue(b))) {
                Values values;
                if (call.cacheType == 1) {
                    values.AddElement("tokenOffset", call.tokenOffset, b);
                    values.Add("windowSize", call.windowSize);
                }
                if (!(call.cacheType == 1)) {
                    values.AddElement("tokenOffset", call.tokenOffset, b);
                }
                values.AddElement("rows of cacheK", sizes.cacheK_rows, b);
                return Violation("LengthRangeError", kOperator, "tokenOffset",
                    "must be at most the rows of its tensor", values,
                    (call.cacheType == 1
                        ? std::string("")
                        : std::string(NearestLegal(sizes.cacheK_rows.GetValue(b), ""))));
            }
        }
    }
    // tokenOffset: the cache must hold the window
    if ((!call.batchStatus.given || call.batchStatus.Readable())
        && call.tokenOffset.Readable()
        && call.cacheType == 1
        && (call.calcType == 2 || !(call.kvcacheCfg == 1))) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if ((call.batchStatus.given ? call.batchStatus.GetValue(b) : int64_t(1)) != 0
                && !(MinOf<int64_t,
                    int64_t>(call.tokenOffset.GetValue(b), call.windowSize) <= sizes.maxSeqLen)) {
                Values values;
                values.AddElement("tokenOffset", call.tokenOffset, b);
                values.Add("windowSize", call.windowSize);
                values.Add("maxSeqLen", sizes.maxSeqLen);
                return Violation("LengthRangeError", kOperator, "tokenOffset",
                    "the cache must hold the window", values,
                    NearestLegal(MinOf<int64_t,
                        int64_t>(call.tokenOffset.GetValue(b), call.windowSize), " of maxSeqLen"));
            }
        }
    }
    // layerId: must not be negative
    if (call.layerId.Readable() && !call.batchRunStatusEnable && !(call.layerId.GetValue(0) >= 0)) {
        Values values;
        values.AddElement("layerId", call.layerId, 0);
        return Violation("LayerError", kOperator, "layerId",
            "must not be negative", values,
            NearestLegal(0, ""));
    }
    // layerId: must be a layer of the cache
    if (call.layerId.Readable()
        && !call.batchRunStatusEnable
        && !(call.layerId.GetValue(0) < sizes.layerNum)) {
        Values values;
        values.AddElement("layerId", call.layerId, 0);
        values.Add("layerNum", sizes.layerNum);
        return Violation("LayerError", kOperator, "layerId",
            "must be a layer of the cache", values,
            NearestLegal(sizes.layerNum - 1, ""));
    }
    // attentionMask: must have a row for each query
    if (call.seqLen.Readable()
        && call.attentionMask.given
        && (sizes.attentionMask_layout == "square"
            || sizes.attentionMask_layout == "per batch"
            || sizes.attentionMask_layout == "per head"
            || sizes.attentionMask_layout == "full"
            || sizes.attentionMask_layout == "columns")
        && !(sizes.maskRows
            >= MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }))) {
        Values values;
        values.Add("maskRows", sizes.maskRows);
        values.Add("max(seqLen[b] for b < batch)",
            MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }));
        return Violation("ShapeError", kOperator, "attentionMask",
            "must have a row for each query", values,
            NearestLegal(
                MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }),
                " of maskRows"));
    }
    // attentionMask: must have a column for each key
    if ((!call.batchStatus.given || call.batchStatus.Readable())
        && call.tokenOffset.Readable()
        && call.attentionMask.given
        && (sizes.attentionMask_layout == "square"
            || sizes.attentionMask_layout == "per batch"
            || sizes.attentionMask_layout == "per head"
            || sizes.attentionMask_layout == "full")
        && !(sizes.maskCols
            >= MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return call.batchStatus.given
                    ? (call.batchStatus.GetValue(b) == 0
                        ? int64_t(0)
                        : call.tokenOffset.GetValue(b))
                    : call.tokenOffset.GetValue(b); }))) {
        Values values;
        values.Add("maskCols", sizes.maskCols);
        values.Add((call.batchStatus.given)
            ? "max(0 if batchStatus[b] == 0 else tokenOffset[b] for b < batch)"
            : "max(tokenOffset[b] for b < batch)",
            MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return call.batchStatus.given
                    ? (call.batchStatus.GetValue(b) == 0
                        ? int64_t(0)
                        : call.tokenOffset.GetValue(b))
                    : call.tokenOffset.GetValue(b); }));
        return Violation("ShapeError", kOperator, "attentionMask",
            "must have a column for each key", values,
            NearestLegal(MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return call.batchStatus.given
                    ? (call.batchStatus.GetValue(b) == 0
                        ? int64_t(0)
                        : call.tokenOffset.GetValue(b))
                    : call.tokenOffset.GetValue(b); }),
                " of maskCols"));
    }
    // attentionMask: needs isTriuMask for more than 128 queries
    if (call.seqLen.Readable()
        && call.attentionMask.given
        && sizes.attentionMask_layout == "128"
        && call.isTriuMask == 0
        && !(MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); })
            <= 128)) {
        Values values;
        values.Add("max(seqLen[b] for b < batch)",
            MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }));
        return Violation("ShapeError", kOperator, "attentionMask",
            "needs isTriuMask for more than 128 queries", values,
            NearestLegal(128, " of " + std::string("max(seqLen[b] for b < batch)")));
    }
    // attentionMask: needs isTriuMask for more than 128 keys
    if ((!call.batchStatus.given || call.batchStatus.Readable())
        && call.tokenOffset.Readable()
        && call.attentionMask.given
        && sizes.attentionMask_layout == "128"
        && call.isTriuMask == 0
        && !(MaxOver(sizes.batch,
            [&](int64_t b) -> int64_t { return call.batchStatus.given
                ? (call.batchStatus.GetValue(b) == 0 ? int64_t(0) : call.tokenOffset.GetValue(b))
                : call.tokenOffset.GetValue(b); })
            <= 128)) {
        Values values;
        values.Add((call.batchStatus.given)
            ? "max(0 if batchStatus[b] == 0 else tokenOffset[b] for b < batch)"
            : "max(tokenOffset[b] for b < batch)",
            MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return call.batchStatus.given
                    ? (call.batchStatus.GetValue(b) == 0
                        ? int64_t(0)
                        : call.tokenOffset.GetValue(b))
                    : call.tokenOffset.GetValue(b); }));
        return Violation("ShapeError", kOperator, "attentionMask",
            "needs isTriuMask for more than 128 keys", values,
            NearestLegal(128,
                " of "
                    + std::string((call.batchStatus.given)
                        ? "max(0 if batchStatus[b] == 0 else tokenOffset[b] for b < batch)"
                        : "max(tokenOffset[b] for b < batch)")));
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
        if (sizes.query_layout == "packed") {
            return {sizes.nTokens, call.headNum * sizes.headSizeV};
        }
        if (sizes.query_layout == "padded") {
            return {sizes.batch, sizes.qRows, call.headNum * sizes.headSizeV};
        }
        return {sizes.batch, call.headNum, sizes.qRows, sizes.headSizeV};
    }
    return {};
}

// Whether a call computes nothing: no result has an element, and no argument is updated.
inline bool IsEmpty(const Call &call, const Sizes &sizes)
{
    for (size_t index = 0; index < 1; ++index) {
        const std::vector<int64_t> shape = ResultShape(index, call, sizes);
        if (std::find(shape.begin(), shape.end(), 0) == shape.end()) {
            return false;
        }
    }
    return !call.cacheK.given && !call.cacheV.given;
}

}  // namespace self_attention_host

#endif  // ATTNDSL_SELF_ATTENTION_CHECK_H
