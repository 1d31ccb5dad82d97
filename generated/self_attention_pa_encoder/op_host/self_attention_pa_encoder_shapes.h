// Shapes of the results of self_attention_pa_encoder where sizes are symbols, or not known yet.
// Plain C++17, no CANN headers.
#ifndef ATTNDSL_SELF_ATTENTION_PA_ENCODER_SHAPES_H
#define ATTNDSL_SELF_ATTENTION_PA_ENCODER_SHAPES_H

#include "shapes.h"
#include "self_attention_pa_encoder_check.h"

namespace self_attention_pa_encoder_host {

// Whether a call says all that its results' sizes may depend on: every size, and what the host
// reads.
inline bool IsMeasured(const Call &call)
{
    const auto told = [](const Tensor &tensor) {
        return std::none_of(tensor.shape.begin(), tensor.shape.end(),
            [](int64_t size) { return size < 0; });
    };
    if (!told(call.query)) {
        return false;
    }
    if (!told(call.key)) {
        return false;
    }
    if (!told(call.value)) {
        return false;
    }
    if (!told(call.mask)) {
        return false;
    }
    if (!told(call.slopes)) {
        return false;
    }
    if (!told(call.qkDescale)) {
        return false;
    }
    if (!told(call.qkOffset)) {
        return false;
    }
    if (!told(call.vpvDescale)) {
        return false;
    }
    if (!told(call.vpvOffset)) {
        return false;
    }
    if (!told(call.pScale)) {
        return false;
    }
    if (!told(call.logN)) {
        return false;
    }
    if (call.seqLen.given && !(told(call.seqLen) && call.seqLen.Readable())) {
        return false;
    }
    return true;
}

// The arguments that ResultShapes looks at; of a list, its first tensor.
inline std::map<std::string, Tensor> MeasuredTensors(const Call &call)
{
    std::map<std::string, Tensor> found;
    if (call.query.given) {
        found["query"] = call.query;
    }
    if (call.key.given) {
        found["key"] = call.key;
    }
    if (call.value.given) {
        found["value"] = call.value;
    }
    return found;
}

// The shape of each result; nothing where a size of it has not been seen. `shapes`: of
// MeasuredTensors.
template <typename Integer>
std::vector<std::optional<std::vector<Integer>>> ResultShapes(
    [[maybe_unused]] const Call &call, const std::map<std::string, std::vector<Integer>> &shapes)
{
    ShapeSolver<Integer> solver(shapes);
    solver.Define("headNum", call.headNum);
    solver.Define("kvHeads", call.kvHeadNum == 0 ? call.headNum : call.kvHeadNum);
    std::map<std::string, std::string> layouts;
    layouts["query"] = solver.Match("query", {
        {call.inputLayout == 0, "tokens", {{"nTokens"}, {"headNum"}, {"headSize"}}},
        {call.inputLayout == 0, "merged", {{"nTokens"}, {"headNum", "headSize"}}},
        {call.inputLayout == 0 && call.mlaVHeadSize > 0, "padded",
            {{"batch"}, {"qRows"}, {"headNum"}, {"headSize"}}},
        {call.inputLayout == 1, "BNSD", {{"batch"}, {"headNum"}, {"qRows"}, {"headSize"}}},
    });
    layouts["key"] = solver.Match("key", {
        {call.inputLayout == 0, "tokens", {{"kvRows"}, {"kvHeads"}, {"headSize"}}},
        {call.inputLayout == 0, "merged", {{"kvRows"}, {"kvHeads", "headSize"}}},
        {call.inputLayout == 0 && call.mlaVHeadSize > 0, "padded",
            {{"batch"}, {"kvRows"}, {"kvHeads"}, {"headSize"}}},
        {call.inputLayout == 1, "BNSD", {{"batch"}, {"kvHeads"}, {"kvRows"}, {"headSize"}}},
    });
    layouts["value"] = solver.Match("value", {
        {call.inputLayout == 0, "tokens", {{"kvRows"}, {"kvHeads"}, {"headSizeV"}}},
        {call.inputLayout == 0, "merged", {{"kvRows"}, {"kvHeads", "headSizeV"}}},
        {call.inputLayout == 0 && call.mlaVHeadSize > 0, "padded",
            {{"batch"}, {"kvRows"}, {"kvHeads"}, {"headSizeV"}}},
        {call.inputLayout == 1, "BNSD", {{"batch"}, {"kvHeads"}, {"kvRows"}, {"headSizeV"}}},
    });
    if (!solver.Known("headSizeV") && solver.Known("headSize")) {
        solver.Define("headSizeV", call.mlaVHeadSize > 0 ? call.mlaVHeadSize : solver["headSize"]);
    }
    if (!solver.Known("nTokens")) {
        solver.Define("nTokens", 0);
    }
    if (!solver.Known("kvRows")) {
        solver.Define("kvRows", 0);
    }
    std::vector<std::optional<std::vector<Integer>>> found;
    found.emplace_back();
    if (layouts["query"] == "tokens") {
        found.back() = solver.Of({{"nTokens"}, {"headNum"}, {"headSizeV"}});
    }
    if (layouts["query"] == "merged") {
        found.back() = solver.Of({{"nTokens"}, {"headNum", "headSizeV"}});
    }
    if (layouts["query"] == "padded") {
        found.back() = solver.Of({{"batch"}, {"qRows"}, {"headNum", "headSizeV"}});
    }
    if (layouts["query"] == "BNSD") {
        found.back() = solver.Of({{"batch"}, {"headNum"}, {"qRows"}, {"headSizeV"}});
    }
    return found;
}

// Shapes of the results as far as a graph's compilation can tell: -1 for a size, -2 alone for the
// rank where it cannot.
inline Status InferShapes(Call &call, std::vector<std::vector<int64_t>> &found)
{
    if (IsMeasured(call)) {
        Sizes sizes;
        const Status status = Measure(call, sizes);
        for (size_t index = 0; status.Ok() && index < 1; ++index) {
            found.push_back(ResultShape(index, call, sizes));
        }
        return status;
    }
    const Status status = ResolveLists(call);
    if (!status.Ok()) {
        return status;
    }
    std::map<std::string, std::vector<Extent>> shapes;
    for (const auto &tensor : MeasuredTensors(call)) {
        shapes[tensor.first].assign(tensor.second.shape.begin(), tensor.second.shape.end());
    }
    for (const auto &result : ResultShapes(call, shapes)) {
        found.emplace_back();
        for (const Extent &size : result.value_or(std::vector<Extent>())) {
            found.back().push_back(size.value);
        }
        if (!result.has_value()) {
            found.back().push_back(-2);
        }
    }
    return status;
}

}  // namespace self_attention_pa_encoder_host

#endif  // ATTNDSL_SELF_ATTENTION_PA_ENCODER_SHAPES_H
