// From a checked call of self_attention_prefix_encoder to its launch. Plain C++17, no CANN headers.
#ifndef ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_LAUNCH_H
#define ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_LAUNCH_H

#include <initializer_list>

#include "self_attention_prefix_encoder_check.h"
#include "self_attention_prefix_encoder_plan.h"

namespace self_attention_prefix_encoder_host {

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
    problem.headSize = sizes.headSize;
    problem.maskGiven = call.mask.given ? 1 : 0;
    problem.slopesGiven = call.slopes.given ? 1 : 0;
    problem.maskType = call.maskType;
    problem.clampType = call.clampType;
    problem.maskLayout =
        NumberOf(sizes.mask_layout,
            {{"square", values::MaskLayout::kSquare}, {"per head", values::MaskLayout::kPerHead},
                {"per batch", values::MaskLayout::kPerBatch}, {"full", values::MaskLayout::kFull},
                {"128", 4}, {"256", 5}, {"columns", values::MaskLayout::kColumns}, {"512", 7}});
    problem.kvHeads = sizes.kvHeads;
    problem.headNum = call.headNum;
    problem.maxBlockNum = sizes.maxBlockNum;
    problem.blockSize = sizes.blockSize;
    problem.l2Bytes = device.l2Bytes;
    problem.batch = sizes.batch;
    problem.maxOfSeqLen =
        MaxOver(sizes.batch, [&](int64_t b) -> int64_t { return call.seqLen.GetValue(b); });
    problem.cores = device.cores;
    problem.nTokens = sizes.nTokens;
    problem.startTogether = device.blocksStartTogether;
    problem.qkScale = static_cast<float>(call.qkScale);
    problem.maskRows = sizes.maskRows;
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

}  // namespace self_attention_prefix_encoder_host

#endif  // ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_LAUNCH_H
