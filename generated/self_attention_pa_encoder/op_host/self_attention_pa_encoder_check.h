// The contract of self_attention_pa_encoder, checked on the host before a launch. Plain C++17, no
// CANN headers.
// Document: ATB SelfAttentionOperation
//
// Checks have the spec's order, and the messages of the spec's Python function.
//
// Not checked here, because the content is on the device:
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
#ifndef ATTNDSL_SELF_ATTENTION_PA_ENCODER_CHECK_H
#define ATTNDSL_SELF_ATTENTION_PA_ENCODER_CHECK_H

#include <cmath>

#include "sizes.h"

namespace self_attention_pa_encoder_host {

using namespace attndsl;

constexpr const char *kOperator = "self_attention_pa_encoder";

// The arguments, in the order of the document.
struct Call {
    Tensor query;
    Tensor key;
    Tensor value;  // optional
    Tensor mask;  // optional
    Tensor seqLen;  // read by the host; query tokens, and keys if others
    Tensor slopes;  // optional
    Tensor qkDescale;  // optional
    Tensor qkOffset;  // optional; reserved
    Tensor vpvDescale;  // optional
    Tensor vpvOffset;  // optional; reserved
    Tensor pScale;  // optional
    Tensor logN;  // optional
    int64_t quantType = 0;
    int64_t outDataType = -1;  // of quantised calls
    int64_t headNum = 0;
    int64_t kvHeadNum = 0;  // 0: as headNum
    double qScale = 1.0;  // on the query, in its dtype; with a cache
    double qkScale = 1.0;  // on the scores
    bool batchRunStatusEnable = false;
    int64_t isTriuMask = 0;  // 1: the mask hides all later keys
    int64_t calcType = 3;
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
    // if no shape shows it: mlaVHeadSize if mlaVHeadSize > 0 else headSize
    int64_t headSizeV = attndsl::kUnknown;
    int64_t nTokens = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t qRows = attndsl::kUnknown;  // if no shape shows it: max(seqLen[b] for b < batch)
    int64_t kvRows = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t maskRows = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t maskCols = attndsl::kUnknown;  // if no shape shows it: 0
    int64_t maxLogN = attndsl::kUnknown;  // if no shape shows it: 0
    std::string query_layout = "None";  // layout of query
    std::string key_layout = "None";  // layout of key
    std::string value_layout = "None";  // layout of value
    std::string mask_layout = "None";  // layout of mask
    std::string seqLen_layout = "None";  // layout of seqLen
    std::string slopes_layout = "None";  // layout of slopes
    std::string qkDescale_layout = "None";  // layout of qkDescale
    std::string vpvDescale_layout = "None";  // layout of vpvDescale
    std::string pScale_layout = "None";  // layout of pScale
    std::string logN_layout = "None";  // layout of logN
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
    if (!call.seqLen.given) {
        return Missing(kOperator, "seqLen");
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
    if (call.calcType != 3) {
        return Fail("ChoiceError",
            std::string(kOperator) + ": calcType: " + Text(call.calcType) + " is none of "
            "3 or 'PA_ENCODER'" + std::string("; " + NearestOf(call.calcType, {3})));
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
    // kvcacheCfg: PA_ENCODER has no cache to bypass
    if (!(call.kvcacheCfg == 0)) {
        Values values;
        values.Add("kvcacheCfg", call.kvcacheCfg);
        return Violation("ParameterError", kOperator, "kvcacheCfg",
            "PA_ENCODER has no cache to bypass", values,
            NearestLegal(0, ""));
    }
    // batchRunStatusEnable: PA_ENCODER takes no batch status
    if (call.batchRunStatusEnable) {
        Values values;
        values.Add("batchRunStatusEnable", call.batchRunStatusEnable);
        return Violation("ParameterError", kOperator, "batchRunStatusEnable",
            "PA_ENCODER takes no batch status", values,
            "it must be " + Text((0) != 0));
    }
    // maskType: MASK_TYPE_CAUSAL_MASK is for PREFIX_ENCODER alone
    if (!(call.maskType != 9)) {
        Values values;
        values.Add("maskType", call.maskType);
        return Violation("ParameterError", kOperator, "maskType",
            "MASK_TYPE_CAUSAL_MASK is for PREFIX_ENCODER alone", values,
            "use NORM_COMPRESS, or calcType PREFIX_ENCODER");
    }
    // kernelType: logN needs HIGH_PRECISION
    if (call.scaleType == 1 && !(call.kernelType == 1)) {
        Values values;
        values.Add("kernelType", call.kernelType);
        return Violation("ParameterError", kOperator, "kernelType",
            "logN needs HIGH_PRECISION", values,
            NearestLegal(1, ""));
    }
    // mlaVHeadSize: TYPE_BNSD takes no latent attention
    if (call.inputLayout == 1 && !(call.mlaVHeadSize == 0)) {
        Values values;
        values.Add("mlaVHeadSize", call.mlaVHeadSize);
        return Violation("ParameterError", kOperator, "mlaVHeadSize",
            "TYPE_BNSD takes no latent attention", values,
            NearestLegal(0, ""));
    }
    // kernelType: TYPE_BNSD needs the DEFAULT kernel
    if (call.inputLayout == 1 && !(call.kernelType == 0)) {
        Values values;
        values.Add("kernelType", call.kernelType);
        return Violation("ParameterError", kOperator, "kernelType",
            "TYPE_BNSD needs the DEFAULT kernel", values,
            NearestLegal(0, ""));
    }
    // maskType: TYPE_BNSD takes no mask
    if (call.inputLayout == 1 && !(call.maskType == 0)) {
        Values values;
        values.Add("maskType", call.maskType);
        return Violation("ParameterError", kOperator, "maskType",
            "TYPE_BNSD takes no mask", values,
            NearestLegal(0, ""));
    }
    // maskType: latent attention takes few types
    if (call.mlaVHeadSize > 0
        && !(call.maskType == 0
            || call.maskType == 1
            || call.maskType == 7
            || call.maskType == 8)) {
        Values values;
        values.Add("maskType", call.maskType);
        return Violation("ParameterError", kOperator, "maskType",
            "latent attention takes few types", values,
            "it must be 0, 1, 7 or 8");
    }
    // scaleType: latent attention takes no logN
    if (call.mlaVHeadSize > 0 && !(call.scaleType == 0)) {
        Values values;
        values.Add("scaleType", call.scaleType);
        return Violation("ParameterError", kOperator, "scaleType",
            "latent attention takes no logN", values,
            NearestLegal(0, ""));
    }
    // clampType: latent attention takes no clamp
    if (call.mlaVHeadSize > 0 && !(call.clampType == 0)) {
        Values values;
        values.Add("clampType", call.clampType);
        return Violation("ParameterError", kOperator, "clampType",
            "latent attention takes no clamp", values,
            NearestLegal(0, ""));
    }
    // outDataType: must be FLOAT16 or BF16
    if (call.quantType > 0 && !(call.outDataType == 1 || call.outDataType == 27)) {
        Values values;
        values.Add("outDataType", call.outDataType);
        return Violation("ParameterError", kOperator, "outDataType",
            "must be FLOAT16 or BF16", values,
            "it must be 1 or 27");
    }
    // scaleType: quantised calls take no logN
    if (call.quantType > 0 && !(call.scaleType == 0)) {
        Values values;
        values.Add("scaleType", call.scaleType);
        return Violation("ParameterError", kOperator, "scaleType",
            "quantised calls take no logN", values,
            NearestLegal(0, ""));
    }
    // maskType: quantised calls take no compressed mask
    if (call.quantType > 0 && !(call.maskType != 3)) {
        Values values;
        values.Add("maskType", call.maskType);
        return Violation("ParameterError", kOperator, "maskType",
            "quantised calls take no compressed mask", values,
            "use NORM");
    }
    // value: needed by mlaVHeadSize 0
    if (!(call.mlaVHeadSize > 0) && !call.value.given) {
        return Violation("InputCountError", kOperator, "value",
            "needed by mlaVHeadSize 0", Values{},
            "pass value");
    }
    // value: only for mlaVHeadSize 0
    if ((call.mlaVHeadSize > 0) && call.value.given) {
        return Violation("InputCountError", kOperator, "value",
            "only for mlaVHeadSize 0", Values{},
            "leave value out");
    }
    // mask: needed by a maskType
    if (call.maskType != 0 && !call.mask.given) {
        return Violation("InputCountError", kOperator, "mask",
            "needed by a maskType", Values{},
            "pass mask");
    }
    // mask: only for a maskType
    if (!(call.maskType != 0) && call.mask.given) {
        return Violation("InputCountError", kOperator, "mask",
            "only for a maskType", Values{},
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
    // qkDescale: needed by quantType
    if (call.quantType > 0 && !call.qkDescale.given) {
        return Violation("InputCountError", kOperator, "qkDescale",
            "needed by quantType", Values{},
            "pass qkDescale");
    }
    // qkDescale: only for quantType
    if (!(call.quantType > 0) && call.qkDescale.given) {
        return Violation("InputCountError", kOperator, "qkDescale",
            "only for quantType", Values{},
            "leave qkDescale out");
    }
    // qkOffset: needed by quantType
    if (call.quantType > 0 && !call.qkOffset.given) {
        return Violation("InputCountError", kOperator, "qkOffset",
            "needed by quantType", Values{},
            "pass qkOffset");
    }
    // qkOffset: only for quantType
    if (!(call.quantType > 0) && call.qkOffset.given) {
        return Violation("InputCountError", kOperator, "qkOffset",
            "only for quantType", Values{},
            "leave qkOffset out");
    }
    // vpvDescale: needed by quantType
    if (call.quantType > 0 && !call.vpvDescale.given) {
        return Violation("InputCountError", kOperator, "vpvDescale",
            "needed by quantType", Values{},
            "pass vpvDescale");
    }
    // vpvDescale: only for quantType
    if (!(call.quantType > 0) && call.vpvDescale.given) {
        return Violation("InputCountError", kOperator, "vpvDescale",
            "only for quantType", Values{},
            "leave vpvDescale out");
    }
    // vpvOffset: needed by quantType
    if (call.quantType > 0 && !call.vpvOffset.given) {
        return Violation("InputCountError", kOperator, "vpvOffset",
            "needed by quantType", Values{},
            "pass vpvOffset");
    }
    // vpvOffset: only for quantType
    if (!(call.quantType > 0) && call.vpvOffset.given) {
        return Violation("InputCountError", kOperator, "vpvOffset",
            "only for quantType", Values{},
            "leave vpvOffset out");
    }
    // pScale: needed by TYPE_QUANT_QKV_OFFLINE
    if (call.quantType == 2 && !call.pScale.given) {
        return Violation("InputCountError", kOperator, "pScale",
            "needed by TYPE_QUANT_QKV_OFFLINE", Values{},
            "pass pScale");
    }
    // pScale: only for TYPE_QUANT_QKV_OFFLINE
    if (!(call.quantType == 2) && call.pScale.given) {
        return Violation("InputCountError", kOperator, "pScale",
            "only for TYPE_QUANT_QKV_OFFLINE", Values{},
            "leave pScale out");
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
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16, DataType::kInt8},
            {DataType::kFloat16, DataType::kBfloat16, DataType::kInt8}, {}};
        const Status status = attndsl::CheckDtype(kOperator, "query", call.query.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.key.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16, DataType::kInt8},
            {}, {{"query", call.query.dtype}}};
        const Status status = attndsl::CheckDtype(kOperator, "key", call.key.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.value.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16, DataType::kInt8},
            {}, {{"query", call.query.dtype}}};
        const Status status = attndsl::CheckDtype(kOperator, "value", call.value.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.mask.given) {
        const DtypeRule rule{{DataType::kFloat16, DataType::kBfloat16},
            {DataType::kFloat16, DataType::kBfloat16}, {}};
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
    if (call.slopes.given) {
        const DtypeRule rule{{DataType::kFloat32},
            {DataType::kFloat32}, {}};
        const Status status = attndsl::CheckDtype(kOperator, "slopes", call.slopes.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.qkDescale.given) {
        const DtypeRule rule{{DataType::kFloat32},
            {DataType::kFloat32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "qkDescale", call.qkDescale.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.qkOffset.given) {
        const DtypeRule rule{{DataType::kInt32},
            {DataType::kInt32}, {}};
        const Status status = attndsl::CheckDtype(kOperator, "qkOffset", call.qkOffset.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.vpvDescale.given) {
        const DtypeRule rule{{DataType::kFloat32},
            {DataType::kFloat32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "vpvDescale", call.vpvDescale.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.vpvOffset.given) {
        const DtypeRule rule{{DataType::kInt32},
            {DataType::kInt32}, {}};
        const Status status =
            attndsl::CheckDtype(kOperator, "vpvOffset", call.vpvOffset.dtype, rule);
        if (!status.Ok()) {
            return status;
        }
    }
    if (call.pScale.given) {
        const DtypeRule rule{{DataType::kFloat32},
            {DataType::kFloat32}, {}};
        const Status status = attndsl::CheckDtype(kOperator, "pScale", call.pScale.dtype, rule);
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
inline Status CheckParameters(const Call &call, std::vector<std::string> &warnings)
{
    // qScale: has no effect in PA_ENCODER
    if (!(call.qScale == 1.0)) {
        Values values;
        values.Add("qScale", call.qScale);
        warnings.push_back(Violation("IgnoredParameterWarning", kOperator, "qScale",
            "has no effect in PA_ENCODER", values, Both(NearestLegal(1.0, ""),
                "multiply qkScale instead")).message);
    }
    // mlaVHeadSize: must be a multiple of 32 for int8
    if (call.mlaVHeadSize > 0
        && call.quantType > 0
        && !(FloorModOrZero(call.mlaVHeadSize, 32) == 0)) {
        Values values;
        values.Add("mlaVHeadSize", call.mlaVHeadSize);
        return Violation("HeadSizeError", kOperator, "mlaVHeadSize",
            "must be a multiple of 32 for int8", values,
            NearestMultiples(call.mlaVHeadSize, 32, 32, ""));
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
    Size kvRows_("kvRows", sizes.kvRows);
    Size maskRows_("maskRows", sizes.maskRows);
    Size maskCols_("maskCols", sizes.maskCols);
    Size maxLogN_("maxLogN", sizes.maxLogN);
    int64_t headNum_value = call.headNum;
    Size headNum_("headNum", headNum_value);
    headNum_.parameter = true;
    kvHeads_.Define(call.kvHeadNum == 0 ? call.headNum : call.kvHeadNum, "headNum, kvHeadNum");
    {
        const Status status = solver.Match(Shaped{"query"}, call.query, {
                {call.inputLayout == 0, "tokens", {{nTokens_}, {headNum_}, {headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0, "merged", {{nTokens_}, {headNum_, headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0 && call.mlaVHeadSize > 0, "padded",
                    {{batch_}, {qRows_}, {headNum_}, {headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)},
                 {"mlaVHeadSize", "mlaVHeadSize is " + Text(call.mlaVHeadSize)}}},
                {call.inputLayout == 1, "BNSD", {{batch_}, {headNum_}, {qRows_}, {headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
            }, sizes.query_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"key"}, call.key, {
                {call.inputLayout == 0, "tokens", {{kvRows_}, {kvHeads_}, {headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0, "merged", {{kvRows_}, {kvHeads_, headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0 && call.mlaVHeadSize > 0, "padded",
                    {{batch_}, {kvRows_}, {kvHeads_}, {headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)},
                 {"mlaVHeadSize", "mlaVHeadSize is " + Text(call.mlaVHeadSize)}}},
                {call.inputLayout == 1, "BNSD", {{batch_}, {kvHeads_}, {kvRows_}, {headSize_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
            }, sizes.key_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"value"}, call.value, {
                {call.inputLayout == 0, "tokens", {{kvRows_}, {kvHeads_}, {headSizeV_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0, "merged", {{kvRows_}, {kvHeads_, headSizeV_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
                {call.inputLayout == 0 && call.mlaVHeadSize > 0, "padded",
                    {{batch_}, {kvRows_}, {kvHeads_}, {headSizeV_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)},
                 {"mlaVHeadSize", "mlaVHeadSize is " + Text(call.mlaVHeadSize)}}},
                {call.inputLayout == 1, "BNSD", {{batch_}, {kvHeads_}, {kvRows_}, {headSizeV_}},
                {{"inputLayout", "inputLayout is " + Text(call.inputLayout)}}},
            }, sizes.value_layout);
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
                {true, "batch", {{batch_}},
                {}},
                {true, "2 batch", {{2}, {batch_}},
                {}},
            }, false, sizes.seqLen_layout);
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
    {
        const Status status = solver.Match(Shaped{"qkDescale"}, call.qkDescale, {
                {true, "", {{headNum_}},
                {}},
            }, sizes.qkDescale_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"vpvDescale"}, call.vpvDescale, {
                {true, "", {{headNum_}},
                {}},
            }, sizes.vpvDescale_layout);
        if (!status.Ok()) {
            return status;
        }
    }
    {
        const Status status = solver.Match(Shaped{"pScale"}, call.pScale, {
                {true, "", {{headNum_}},
                {}},
            }, sizes.pScale_layout);
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
    if (!headSizeV_.Known() && headSize_.Known()) {
        headSizeV_.Define(call.mlaVHeadSize > 0 ? call.mlaVHeadSize : sizes.headSize, "default");
    }
    if (!nTokens_.Known()) {
        nTokens_.Define(0, "default");
    }
    if (!qRows_.Known() && batch_.Known() && call.seqLen.Readable()) {
        qRows_.Define(
            MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }),
            "default");
    }
    if (!kvRows_.Known()) {
        kvRows_.Define(0, "default");
    }
    if (!maskRows_.Known()) {
        maskRows_.Define(0, "default");
    }
    if (!maskCols_.Known()) {
        maskCols_.Define(0, "default");
    }
    if (!maxLogN_.Known()) {
        maxLogN_.Define(0, "default");
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
    if (const Status status = solver.Shown(kvRows_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(maskRows_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(maskCols_); !status.Ok()) {
        return status;
    }
    if (const Status status = solver.Shown(maxLogN_); !status.Ok()) {
        return status;
    }
    return Status{};
}

// The constraints, in the contract's order.
inline Status CheckConstraints(const Call &call, const Sizes &sizes)
{
    // query: must be int8 with a quantType
    if (call.quantType > 0 && !(call.query.dtype == DataType::kInt8)) {
        Values values;
        values.Add("dtype of query", call.query.dtype);
        return Violation("DtypeError", kOperator, "query",
            "must be int8 with a quantType", values,
            "it must be " + Text("int8"));
    }
    // query: must not be int8 without a quantType
    if (call.quantType == 0 && !(call.query.dtype != DataType::kInt8)) {
        Values values;
        values.Add("dtype of query", call.query.dtype);
        return Violation("DtypeError", kOperator, "query",
            "must not be int8 without a quantType", values,
            "pass quantType");
    }
    // mask: must have the dtype of query
    if (call.mask.given && call.quantType == 0 && !(call.mask.dtype == call.query.dtype)) {
        Values values;
        values.Add("dtype of mask", call.mask.dtype);
        values.Add("dtype of query", call.query.dtype);
        return Violation("DtypeError", kOperator, "mask",
            "must have the dtype of query", values,
            "it must be " + Text(call.query.dtype));
    }
    // kernelType: must be HIGH_PRECISION with a float16 mask
    if ((call.maskType == 4 || call.maskType == 5 || call.maskType == 6)
        && call.mask.dtype == DataType::kFloat16
        && !(call.kernelType == 1)) {
        Values values;
        values.Add("kernelType", call.kernelType);
        return Violation("ParameterError", kOperator, "kernelType",
            "must be HIGH_PRECISION with a float16 mask", values,
            NearestLegal(1, ""));
    }
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
    // key: must have as many dimensions as query
    if (!(call.mlaVHeadSize > 0) && !(sizes.key_layout == sizes.query_layout)) {
        Values values;
        values.Add("layout of key", sizes.key_layout);
        values.Add("layout of query", sizes.query_layout);
        return Violation("RankError", kOperator, "key",
            "must have as many dimensions as query", values,
            "it must be " + Text(sizes.query_layout));
    }
    // value: must have as many dimensions as query
    if (call.value.given && !(sizes.value_layout == sizes.key_layout)) {
        Values values;
        values.Add("layout of value", sizes.value_layout);
        values.Add("layout of key", sizes.key_layout);
        return Violation("RankError", kOperator, "value",
            "must have as many dimensions as query", values,
            "it must be " + Text(sizes.key_layout));
    }
    // query: must have a head size of at most 1024
    if (!(sizes.headSize <= 1024)) {
        Values values;
        values.Add("headSize", sizes.headSize);
        return Violation("HeadSizeError", kOperator, "query",
            "must have a head size of at most 1024", values,
            NearestLegal(1024, " of headSize"));
    }
    // query: must have a head size of at most 576 with mlaVHeadSize
    if (call.mlaVHeadSize > 0 && !(sizes.headSize <= 576)) {
        Values values;
        values.Add("headSize", sizes.headSize);
        return Violation("HeadSizeError", kOperator, "query",
            "must have a head size of at most 576 with mlaVHeadSize", values,
            NearestLegal(576, " of headSize"));
    }
    // query: must have a head size of at most 256 with these features
    if ((call.maskType == 7
        || call.maskType == 8
        || call.inputLayout == 1
        || call.scaleType == 1
        || call.quantType > 0
        || call.maskType == 4
        || call.maskType == 5
        || call.maskType == 6)
        && !(call.mlaVHeadSize > 0)
        && !(sizes.headSize <= 256)) {
        Values values;
        values.Add("headSize", sizes.headSize);
        return Violation("HeadSizeError", kOperator, "query",
            "must have a head size of at most 256 with these features", values,
            NearestLegal(256, " of headSize"));
    }
    // query: must have a head size of at most 128 with ALiBi
    if ((call.maskType == 4 || call.maskType == 5 || call.maskType == 6)
        && !(sizes.headSize <= 128)) {
        Values values;
        values.Add("headSize", sizes.headSize);
        return Violation("HeadSizeError", kOperator, "query",
            "must have a head size of at most 128 with ALiBi", values,
            NearestLegal(128, " of headSize"));
    }
    // query: the head size must be a multiple of 32 for int8
    if (call.quantType > 0 && !(FloorModOrZero(sizes.headSize, 32) == 0)) {
        Values values;
        values.Add("headSize", sizes.headSize);
        return Violation("HeadSizeError", kOperator, "query",
            "the head size must be a multiple of 32 for int8", values,
            NearestMultiples(sizes.headSize, 32, 32, " of headSize"));
    }
    // value: must have a head size of at most 1024
    if (!(sizes.headSizeV <= 1024)) {
        Values values;
        values.Add("headSizeV", sizes.headSizeV);
        return Violation("HeadSizeError", kOperator, "value",
            "must have a head size of at most 1024", values,
            NearestLegal(1024, " of headSizeV"));
    }
    // value: must have the head size of query with these features
    if ((call.maskType == 7
        || call.maskType == 8
        || call.inputLayout == 1
        || call.scaleType == 1
        || call.quantType > 0
        || call.maskType == 4
        || call.maskType == 5
        || call.maskType == 6)
        && !(call.mlaVHeadSize > 0)
        && !(sizes.headSizeV == sizes.headSize)) {
        Values values;
        values.Add("headSizeV", sizes.headSizeV);
        values.Add("headSize", sizes.headSize);
        return Violation("HeadSizeError", kOperator, "value",
            "must have the head size of query with these features", values,
            NearestLegal(sizes.headSize, " of headSizeV"));
    }
    // mlaVHeadSize: must be at most the channels of a key
    if (call.mlaVHeadSize > 0 && !(call.mlaVHeadSize <= sizes.headSize)) {
        Values values;
        values.Add("mlaVHeadSize", call.mlaVHeadSize);
        values.Add("headSize", sizes.headSize);
        return Violation("HeadSizeError", kOperator, "mlaVHeadSize",
            "must be at most the channels of a key", values,
            NearestLegal(sizes.headSize, ""));
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
    // seqLen: must not be negative
    if (call.seqLen.Readable()) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if (!((sizes.seqLen_layout == "2 batch"
                ? call.seqLen.GetValue(sizes.batch + b)
                : call.seqLen.GetValue(b))
                >= 0)) {
                Values values;
                if (sizes.seqLen_layout == "2 batch") {
                    values.AddElement("seqLen", call.seqLen, sizes.batch + b);
                }
                if (!(sizes.seqLen_layout == "2 batch")) {
                    values.AddElement("seqLen", call.seqLen, b);
                }
                return Violation("LengthRangeError", kOperator, "seqLen",
                    "must not be negative", values,
                    (sizes.seqLen_layout == "2 batch"
                        ? std::string(NearestLegal(0, ""))
                        : std::string(NearestLegal(0, ""))));
            }
        }
    }
    // seqLen: must tell as many keys as tokens, or one token
    if (call.seqLen.Readable()) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if (!((sizes.seqLen_layout == "2 batch"
                ? call.seqLen.GetValue(sizes.batch + b)
                : call.seqLen.GetValue(b))
                == call.seqLen.GetValue(b)
                || call.seqLen.GetValue(b) == 1)) {
                Values values;
                if (sizes.seqLen_layout == "2 batch") {
                    values.AddElement("seqLen", call.seqLen, sizes.batch + b);
                }
                if (!(sizes.seqLen_layout == "2 batch")) {
                    values.AddElement("seqLen", call.seqLen, b);
                }
                values.AddElement("seqLen", call.seqLen, b);
                return Violation("LengthRangeError", kOperator, "seqLen",
                    "must tell as many keys as tokens, or one token", values,
                    "use PREFIX_ENCODER");
            }
        }
    }
    // seqLen: must add up to the tokens of query
    if (call.seqLen.Readable()
        && (sizes.query_layout == "tokens" || sizes.query_layout == "merged")
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
        && (sizes.key_layout == "tokens" || sizes.key_layout == "merged")
        && !(SumOver(sizes.batch,
            [&](int64_t b) -> int64_t { return sizes.seqLen_layout == "2 batch"
                ? call.seqLen.GetValue(sizes.batch + b)
                : call.seqLen.GetValue(b); })
            == sizes.kvRows)) {
        Values values;
        values.Add((sizes.seqLen_layout == "batch")
            ? "sum(seqLen[b] for b < batch)"
            : "sum(seqLen[batch + b] for b < batch)",
            SumOver(sizes.batch,
                [&](int64_t b) -> int64_t { return sizes.seqLen_layout == "2 batch"
                    ? call.seqLen.GetValue(sizes.batch + b)
                    : call.seqLen.GetValue(b); }));
        values.Add("kvRows", sizes.kvRows);
        return Violation("LengthRangeError", kOperator, "seqLen",
            "must add up to the tokens of key", values,
            NearestLegal(sizes.kvRows,
                " of "
                    + std::string((sizes.seqLen_layout == "batch")
                        ? "sum(seqLen[b] for b < batch)"
                        : "sum(seqLen[batch + b] for b < batch)")));
    }
    // seqLen: must be at most the rows of query
    if (call.seqLen.Readable()) {
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
    // seqLen: must be at most the rows of key
    if (call.seqLen.Readable()) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            if (!((sizes.seqLen_layout == "2 batch"
                ? call.seqLen.GetValue(sizes.batch + b)
                : call.seqLen.GetValue(b))
                <= sizes.kvRows)) {
                Values values;
                if (sizes.seqLen_layout == "2 batch") {
                    values.AddElement("seqLen", call.seqLen, sizes.batch + b);
                }
                if (!(sizes.seqLen_layout == "2 batch")) {
                    values.AddElement("seqLen", call.seqLen, b);
                }
                values.Add("kvRows", sizes.kvRows);
                return Violation("LengthRangeError", kOperator, "seqLen",
                    "must be at most the rows of key", values,
                    NearestLegal(sizes.seqLen_layout == "2 batch"
                        ? call.seqLen.GetValue(sizes.batch + b)
                        : call.seqLen.GetValue(b),
                        " of kvRows"));
            }
        }
    }
    // seqLen: the longest keys must cover the longest query
    if (call.seqLen.Readable()
        && !(MaxOver(sizes.batch,
            [&](int64_t b) -> int64_t { return sizes.seqLen_layout == "2 batch"
                ? call.seqLen.GetValue(sizes.batch + b)
                : call.seqLen.GetValue(b); })
            >= MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }))) {
        Values values;
        values.Add((sizes.seqLen_layout == "batch")
            ? "max(seqLen[b] for b < batch)"
            : "max(seqLen[batch + b] for b < batch)",
            MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return sizes.seqLen_layout == "2 batch"
                    ? call.seqLen.GetValue(sizes.batch + b)
                    : call.seqLen.GetValue(b); }));
        values.Add("max(seqLen[b] for b < batch)",
            MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }));
        return Violation("LengthRangeError", kOperator, "seqLen",
            "the longest keys must cover the longest query", values,
            NearestLegal(
                MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }),
                " of "
                    + std::string((sizes.seqLen_layout == "batch")
                        ? "max(seqLen[b] for b < batch)"
                        : "max(seqLen[batch + b] for b < batch)")));
    }
    // logN: must have an entry for each query token
    if (call.seqLen.Readable()
        && call.logN.given
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
    // mask: must have a row for each query
    if (call.seqLen.Readable()
        && call.mask.given
        && (sizes.mask_layout == "square"
            || sizes.mask_layout == "per batch"
            || sizes.mask_layout == "per head"
            || sizes.mask_layout == "full"
            || sizes.mask_layout == "columns")
        && !(sizes.maskRows
            >= MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }))) {
        Values values;
        values.Add("maskRows", sizes.maskRows);
        values.Add("max(seqLen[b] for b < batch)",
            MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }));
        return Violation("ShapeError", kOperator, "mask",
            "must have a row for each query", values,
            NearestLegal(
                MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }),
                " of maskRows"));
    }
    // mask: must have a column for each key
    if (call.seqLen.Readable()
        && call.mask.given
        && (sizes.mask_layout == "square"
            || sizes.mask_layout == "per batch"
            || sizes.mask_layout == "per head"
            || sizes.mask_layout == "full")
        && !(sizes.maskCols
            >= MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return sizes.seqLen_layout == "2 batch"
                    ? call.seqLen.GetValue(sizes.batch + b)
                    : call.seqLen.GetValue(b); }))) {
        Values values;
        values.Add("maskCols", sizes.maskCols);
        values.Add((sizes.seqLen_layout == "batch")
            ? "max(seqLen[b] for b < batch)"
            : "max(seqLen[batch + b] for b < batch)",
            MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return sizes.seqLen_layout == "2 batch"
                    ? call.seqLen.GetValue(sizes.batch + b)
                    : call.seqLen.GetValue(b); }));
        return Violation("ShapeError", kOperator, "mask",
            "must have a column for each key", values,
            NearestLegal(MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return sizes.seqLen_layout == "2 batch"
                    ? call.seqLen.GetValue(sizes.batch + b)
                    : call.seqLen.GetValue(b); }),
                " of maskCols"));
    }
    // mask: needs isTriuMask for more than 128 queries
    if (call.seqLen.Readable()
        && call.mask.given
        && sizes.mask_layout == "128"
        && call.isTriuMask == 0
        && !(MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); })
            <= 128)) {
        Values values;
        values.Add("max(seqLen[b] for b < batch)",
            MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); }));
        return Violation("ShapeError", kOperator, "mask",
            "needs isTriuMask for more than 128 queries", values,
            NearestLegal(128, " of " + std::string("max(seqLen[b] for b < batch)")));
    }
    // mask: needs isTriuMask for more than 128 keys
    if (call.seqLen.Readable()
        && call.mask.given
        && sizes.mask_layout == "128"
        && call.isTriuMask == 0
        && !(MaxOver(sizes.batch,
            [&](int64_t b) -> int64_t { return sizes.seqLen_layout == "2 batch"
                ? call.seqLen.GetValue(sizes.batch + b)
                : call.seqLen.GetValue(b); })
            <= 128)) {
        Values values;
        values.Add((sizes.seqLen_layout == "batch")
            ? "max(seqLen[b] for b < batch)"
            : "max(seqLen[batch + b] for b < batch)",
            MaxOver(sizes.batch,
                [&](int64_t b) -> int64_t { return sizes.seqLen_layout == "2 batch"
                    ? call.seqLen.GetValue(sizes.batch + b)
                    : call.seqLen.GetValue(b); }));
        return Violation("ShapeError", kOperator, "mask",
            "needs isTriuMask for more than 128 keys", values,
            NearestLegal(128,
                " of "
                    + std::string((sizes.seqLen_layout == "batch")
                        ? "max(seqLen[b] for b < batch)"
                        : "max(seqLen[batch + b] for b < batch)")));
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
    status = CheckParameters(call, warnings);
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
        if (sizes.query_layout == "tokens") {
            return {sizes.nTokens, call.headNum, sizes.headSizeV};
        }
        if (sizes.query_layout == "merged") {
            return {sizes.nTokens, call.headNum * sizes.headSizeV};
        }
        if (sizes.query_layout == "padded") {
            return {sizes.batch, sizes.qRows, call.headNum * sizes.headSizeV};
        }
        return {sizes.batch, call.headNum, sizes.qRows, sizes.headSizeV};
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

}  // namespace self_attention_pa_encoder_host

#endif  // ATTNDSL_SELF_ATTENTION_PA_ENCODER_CHECK_H
