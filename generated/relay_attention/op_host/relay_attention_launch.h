// From a checked call of relay_attention to its launch. Plain C++17, no CANN headers.
#ifndef ATTNDSL_RELAY_ATTENTION_LAUNCH_H
#define ATTNDSL_RELAY_ATTENTION_LAUNCH_H

#include "relay_attention_check.h"
#include "relay_attention_plan.h"

namespace relay_attention_host {

// A layout's place among those that apply to the passed tensors, which is how tiling functions tell layouts apart.
inline int64_t LayoutIndex(const std::string &key, const std::vector<std::pair<const char *, bool>> &layouts)
{
    int64_t index = 0;
    for (const auto &layout : layouts) {
        if (key == layout.first) {
            return index;
        }
        index += layout.second ? 1 : 0;
    }
    return 0;
}

// What the launch of a call depends on; `cores` is the number of cube cores.
inline Problem Describe(const Call &call, const Sizes &sizes, int64_t cores)
{
    static_cast<void>(call);
    Problem problem;
    problem.queryDtype = call.query.dtype == DataType::kFloat16 ? 0 : 1;
    problem.headSize = sizes.D;
    problem.N = sizes.N;
    problem.headNum = call.headNum;
    problem.B = sizes.B;
    problem.cores = cores;
    problem.S1 = sizes.S1;
    problem.BS = sizes.BS;
    problem.S2 = sizes.S2;
    problem.qkScale = static_cast<float>(call.qkScale);
    problem.D = sizes.D;
    return problem;
}

// Checks a call and plans its launch.
inline Status PlanCall(Call &call, Sizes &sizes, int64_t cores, Plan &plan,
    std::vector<std::string> &warnings)
{
    Status status = Check(call, sizes, warnings);
    if (status.Ok()) {
        status = CheckTarget(call, sizes);
    }
    if (!status.Ok()) {
        return status;
    }
    plan = PlanLaunch(Describe(call, sizes, cores));
    if (plan.key == 0) {
        return Fail("NotGenerated",
            std::string(kOperator) + ": no kernel of this project takes the call; generate one: "
            "attndsl generate, with --dtype, --set D= and --feature as needed");
    }
    return status;
}

}  // namespace relay_attention_host

#endif  // ATTNDSL_RELAY_ATTENTION_LAUNCH_H
