// From a checked call of relay_attention to its launch. Plain C++17, no CANN headers.
#ifndef ATTNDSL_RELAY_ATTENTION_LAUNCH_H
#define ATTNDSL_RELAY_ATTENTION_LAUNCH_H

#include <initializer_list>

#include "relay_attention_check.h"
#include "relay_attention_plan.h"

namespace relay_attention_host {

// The number of a layout, a word or a dtype in a plan's problem; -1 if it is unknown.
inline int64_t NumberOf(const std::string &value, std::initializer_list<const char *> known)
{
    int64_t number = 0;
    for (const char *each : known) {
        if (value == each) {
            return number;
        }
        ++number;
    }
    return -1;
}

inline int64_t NumberOf(DataType value, std::initializer_list<DataType> known)
{
    int64_t number = 0;
    for (DataType each : known) {
        if (value == each) {
            return number;
        }
        ++number;
    }
    return -1;
}

// The inputs of a call's plan; `cores` is the number of cube cores.
inline Problem Describe(const Call &call, const Sizes &sizes, int64_t cores)
{
    static_cast<void>(call);
    Problem problem;
    problem.queryDtype = NumberOf(call.query.dtype, {DataType::kFloat16, DataType::kBfloat16});
    problem.D = sizes.D;
    problem.N = sizes.N;
    problem.headNum = call.headNum;
    problem.B = sizes.B;
    problem.S1 = sizes.S1;
    problem.cores = cores;
    problem.BS = sizes.BS;
    problem.S2 = sizes.S2;
    problem.qkScale = static_cast<float>(call.qkScale);
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
    if (cores <= 0) {
        return Fail("TargetLimitError",
            std::string(kOperator) + ": the device has " + std::to_string(cores) +
            " cube cores; a launch needs at least 1");
    }
    plan = PlanLaunch(Describe(call, sizes, cores), IsEmpty(call, sizes));
    if (plan.rowsBeyondLimit > 0) {
        return Fail("TargetLimitError", std::string(kOperator) + ": a task would have " +
            std::to_string(plan.rowsBeyondLimit)
                + " query rows, more than kMaxRows of the kernel's schedule header; "
            "use the header as it was generated");
    }
    if (plan.key == 0) {
        return Fail("NotGenerated",
            std::string(kOperator) + ": no kernel of this project takes the call; generate one: "
            "attndsl generate, with --dtype, --set D= and --feature as needed");
    }
    return status;
}

}  // namespace relay_attention_host

#endif  // ATTNDSL_RELAY_ATTENTION_LAUNCH_H
