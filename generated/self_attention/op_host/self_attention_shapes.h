// Shapes of the results of self_attention where sizes are symbols, or not known yet. Plain C++17,
// no CANN headers.
#ifndef ATTNDSL_SELF_ATTENTION_SHAPES_H
#define ATTNDSL_SELF_ATTENTION_SHAPES_H

#include "shapes.h"
#include "self_attention_check.h"

namespace self_attention_host {

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
    if (!told(call.attentionMask)) {
        return false;
    }
    if (!told(call.logN)) {
        return false;
    }
    if (!std::all_of(call.cacheK_list.entries.begin(), call.cacheK_list.entries.end(), told)) {
        return false;
    }
    if (!std::all_of(call.cacheV_list.entries.begin(), call.cacheV_list.entries.end(), told)) {
        return false;
    }
    if (call.tokenOffset.given && !(told(call.tokenOffset) && call.tokenOffset.Readable())) {
        return false;
    }
    if (call.seqLen.given && !(told(call.seqLen) && call.seqLen.Readable())) {
        return false;
    }
    if (call.layerId.given && !(told(call.layerId) && call.layerId.Readable())) {
        return false;
    }
    if (call.batchStatus.given && !(told(call.batchStatus) && call.batchStatus.Readable())) {
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
    if (call.value.given) {
        found["value"] = call.value;
    }
    if (!call.cacheV_list.entries.empty()) {
        found["cacheV"] = call.cacheV_list.entries[0];
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
        {call.inputLayout == 0, "packed", {{"nTokens"}, {"headNum", "headSize"}}},
        {call.inputLayout == 0, "padded", {{"batch"}, {"qRows"}, {"headNum"}, {"headSize"}}},
        {call.inputLayout == 1, "BNSD", {{"batch"}, {"headNum"}, {"qRows"}, {"headSize"}}},
    });
    layouts["value"] = solver.Match("value", {
        {call.inputLayout == 0, "packed", {{"newRows"}, {"kvHeads", "headSizeV"}}},
        {call.inputLayout == 0, "padded", {{"batch"}, {"newRows"}, {"kvHeads"}, {"headSizeV"}}},
    });
    if (call.cacheV_list.list) {
        solver.Define("batch", static_cast<int64_t>(call.cacheV_list.entries.size()));
        layouts["cacheV"] = solver.Match("cacheV", {
            {call.inputLayout == 0 && !call.batchRunStatusEnable, "layers",
                {{1}, {1}, {"maxSeqLen"}, {"kvHeads", "headSizeV"}}},
            {call.inputLayout == 0 && call.batchRunStatusEnable, "layer",
                {{1}, {"maxSeqLen"}, {"kvHeads", "headSizeV"}}},
            {call.inputLayout == 1, "BNSD", {{1}, {1}, {"kvHeads"}, {"maxSeqLen"}, {"headSizeV"}}},
        }, true);
    } else {
        layouts["cacheV"] = solver.Match("cacheV", {
            {call.inputLayout == 0 && !call.batchRunStatusEnable, "layers",
                {{"layerNum"}, {"batch"}, {"maxSeqLen"}, {"kvHeads", "headSizeV"}}},
            {call.inputLayout == 0 && call.batchRunStatusEnable, "layer",
                {{"batch"}, {"maxSeqLen"}, {"kvHeads", "headSizeV"}}},
            {call.inputLayout == 1, "BNSD",
                {{"layerNum"}, {"batch"}, {"kvHeads"}, {"maxSeqLen"}, {"headSizeV"}}},
        });
    }
    if (!solver.Known("nTokens")) {
        solver.Define("nTokens", 0);
    }
    if (!solver.Known("newRows")) {
        solver.Define("newRows", 0);
    }
    if (!solver.Known("layerNum")) {
        solver.Define("layerNum", 1);
    }
    std::vector<std::optional<std::vector<Integer>>> found;
    found.emplace_back();
    if (layouts["query"] == "packed") {
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

}  // namespace self_attention_host

#endif  // ATTNDSL_SELF_ATTENTION_SHAPES_H
