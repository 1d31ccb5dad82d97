// Shapes of the results of nsa_compress_attention where sizes are symbols, or not known yet. Plain
// C++17, no CANN headers.
#ifndef ATTNDSL_NSA_COMPRESS_ATTENTION_SHAPES_H
#define ATTNDSL_NSA_COMPRESS_ATTENTION_SHAPES_H

#include "shapes.h"
#include "nsa_compress_attention_check.h"

namespace nsa_compress_attention_host {

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
    if (!told(call.topk_mask)) {
        return false;
    }
    if (!told(call.atten_mask)) {
        return false;
    }
    if (call.actual_seq_qlen.given
        && !(told(call.actual_seq_qlen) && call.actual_seq_qlen.Readable())) {
        return false;
    }
    if (call.actual_cmp_seq_kvlen.given
        && !(told(call.actual_cmp_seq_kvlen) && call.actual_cmp_seq_kvlen.Readable())) {
        return false;
    }
    if (call.actual_sel_seq_kvlen.given
        && !(told(call.actual_sel_seq_kvlen) && call.actual_sel_seq_kvlen.Readable())) {
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
    solver.Define("select_block_count", call.select_block_count);
    std::map<std::string, std::string> layouts;
    layouts["query"] = solver.Match("query", {
        {true, "", {{"T1"}, {"N1"}, {"D1"}}},
    });
    layouts["key"] = solver.Match("key", {
        {true, "", {{"T2"}, {"N2"}, {"D1"}}},
    });
    layouts["value"] = solver.Match("value", {
        {true, "", {{"T2"}, {"N2"}, {"D2"}}},
    });
    std::vector<std::optional<std::vector<Integer>>> found;
    found.push_back(solver.Of({{"T1"}, {"N1"}, {"D2"}}));
    found.push_back(solver.Of({{"T1"}, {"N2"}, {"select_block_count"}}));
    found.push_back(solver.Of({{"T1"}, {"N1"}, {8}}));
    found.push_back(solver.Of({{"T1"}, {"N1"}, {8}}));
    return found;
}

// Shapes of the results as far as a graph's compilation can tell: -1 for a size, -2 alone for the
// rank where it cannot.
inline Status InferShapes(Call &call, std::vector<std::vector<int64_t>> &found)
{
    if (IsMeasured(call)) {
        Sizes sizes;
        const Status status = Measure(call, sizes);
        for (size_t index = 0; status.Ok() && index < 4; ++index) {
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

}  // namespace nsa_compress_attention_host

#endif  // ATTNDSL_NSA_COMPRESS_ATTENTION_SHAPES_H
