// From a checked call of nsa_compress_attention to its launch. Plain C++17, no CANN headers.
#ifndef ATTNDSL_NSA_COMPRESS_ATTENTION_LAUNCH_H
#define ATTNDSL_NSA_COMPRESS_ATTENTION_LAUNCH_H

#include <initializer_list>

#include "nsa_compress_attention_check.h"
#include "nsa_compress_attention_plan.h"

namespace nsa_compress_attention_host {

// A layout, a word or a dtype, and its number in a plan's problem.
template <typename Value>
struct Numbered {
    Value value;
    int64_t number;
};

// The number of a value in a plan's problem; -1 if it is unknown.
inline int64_t NumberOf(const std::string &value,
    std::initializer_list<Numbered<const char *>> known)
{
    for (const auto &each : known) {
        if (value == each.value) {
            return each.number;
        }
    }
    return -1;
}

inline int64_t NumberOf(DataType value, std::initializer_list<Numbered<DataType>> known)
{
    for (const auto &each : known) {
        if (value == each.value) {
            return each.number;
        }
    }
    return -1;
}

// What a launch has of the device.
struct DeviceShare {
    int64_t cores = 0;  // cube cores that its blocks can run on
    int64_t l2Bytes = 0;  // size of L2
    // all at once or none: only then may they wait for each other
    bool blocksStartTogether = false;
};

// The inputs of a call's plan.
inline Problem Describe([[maybe_unused]] const Call &call, const Sizes &sizes,
    const DeviceShare &device)
{
    Problem problem;
    problem.queryDtype =
        NumberOf(call.query.dtype,
            {{DataType::kFloat16, values::QueryDtype::kFloat16},
                {DataType::kBfloat16, values::QueryDtype::kBfloat16}});
    problem.D1 = sizes.D1;
    problem.D2 = sizes.D2;
    problem.topkMaskGiven = call.topk_mask.given ? 1 : 0;
    problem.attenMaskGiven = call.atten_mask.given ? 1 : 0;
    problem.N2 = sizes.N2;
    problem.N1 = sizes.N1;
    problem.T1 = sizes.T1;
    problem.cores = device.cores;
    problem.S1 = sizes.S1;
    problem.B = sizes.B;
    problem.scale_value = static_cast<float>(call.scale_value);
    problem.selS2 = sizes.selS2;
    problem.select_block_size = call.select_block_size;
    problem.compress_stride = call.compress_stride;
    problem.compress_block_size = call.compress_block_size;
    problem.index_reading =
        NumberOf(call.index_reading,
            {{"op", values::IndexReading::kOp}, {"paper", values::IndexReading::kPaper},
                {"literal0", values::IndexReading::kLiteral0}});
    problem.select_block_count = call.select_block_count;
    problem.T2 = sizes.T2;
    problem.topkMaskDim1 = call.topk_mask.Rank() > 1 ? call.topk_mask.shape[1] : 0;
    problem.attenMaskDim1 = call.atten_mask.Rank() > 1 ? call.atten_mask.shape[1] : 0;
    problem.cmpS2 = sizes.cmpS2;
    return problem;
}

// Checks a call and plans its launch.
inline Status PlanCall(Call &call, Sizes &sizes, const DeviceShare &device, Plan &plan,
    std::vector<std::string> &warnings)
{
    Status status = Check(call, sizes, warnings);
    if (status.Ok()) {
        status = CheckTarget(call, sizes);
    }
    if (!status.Ok()) {
        return status;
    }
    if (device.cores <= 0) {
        return Fail("TargetLimitError",
            std::string(kOperator) + ": the device has " + std::to_string(device.cores) +
            " cube cores; a launch needs at least 1");
    }
    plan = PlanLaunch(Describe(call, sizes, device), IsEmpty(call, sizes));
    if (plan.status == PlanStatus::kTooManyRows) {
        return Fail("TargetLimitError", std::string(kOperator) + ": a task would have " +
            std::to_string(plan.taskRows)
                + " query rows, more than kMaxRows of the kernel's schedule header; "
            "use the header as it was generated");
    }
    if (plan.status == PlanStatus::kNoKernel) {
        return Fail("NotGenerated",
            std::string(kOperator) + ": no kernel of this project takes the call; generate one: "
            "attndsl generate, with --dtype, --set D= and --feature as needed");
    }
    if (plan.scheduleMode == kBatchMode && plan.tiling.blocks > 1 && !device.blocksStartTogether) {
        return Fail("NeedsBatchMode",
            std::string(kOperator) + ": the blocks of this call's kernel wait for each other, "
            "and nothing makes them start together: launch it from the operator package, "
            "or where no other stream holds cores, and say so");
    }
    return status;
}

}  // namespace nsa_compress_attention_host

#endif  // ATTNDSL_NSA_COMPRESS_ATTENTION_LAUNCH_H
