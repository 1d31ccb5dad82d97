// Shapes of the results of relay_attention where sizes are symbols, or not known yet. Plain C++17,
// no CANN headers.
#ifndef ATTNDSL_RELAY_ATTENTION_SHAPES_H
#define ATTNDSL_RELAY_ATTENTION_SHAPES_H

#include "shapes.h"
#include "relay_attention_check.h"

namespace relay_attention_host {

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
    if (!told(call.attentionMask)) {
        return false;
    }
    if (!std::all_of(call.key.entries.begin(), call.key.entries.end(), told)) {
        return false;
    }
    if (!std::all_of(call.value.entries.begin(), call.value.entries.end(), told)) {
        return false;
    }
    if (!std::all_of(call.keyShare.entries.begin(), call.keyShare.entries.end(), told)) {
        return false;
    }
    if (!std::all_of(call.valueShare.entries.begin(), call.valueShare.entries.end(), told)) {
        return false;
    }
    if (call.seqLen.given && !(told(call.seqLen) && call.seqLen.Readable())) {
        return false;
    }
    if (call.kvSeqLen.given && !(told(call.kvSeqLen) && call.kvSeqLen.Readable())) {
        return false;
    }
    if (call.kvShareMap.given && !(told(call.kvShareMap) && call.kvShareMap.Readable())) {
        return false;
    }
    if (call.kvShareLen.given && !(told(call.kvShareLen) && call.kvShareLen.Readable())) {
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
    std::map<std::string, std::string> layouts;
    layouts["query"] = solver.Match("query", {
        {true, "", {{"B"}, {"headNum", "D"}}},
    });
    std::vector<std::optional<std::vector<Integer>>> found;
    found.push_back(solver.Of({{"B"}, {"headNum", "D"}}));
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

}  // namespace relay_attention_host

#endif  // ATTNDSL_RELAY_ATTENTION_SHAPES_H
