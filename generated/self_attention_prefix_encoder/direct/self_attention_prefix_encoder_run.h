// Runs self_attention_prefix_encoder without an operator package: checks the call, plans it,
// launches the kernel function.
#ifndef ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_RUN_H
#define ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_RUN_H

#include <algorithm>
#include <functional>

#include "acl/acl.h"
#include "aclrtlaunch_self_attention_prefix_encoder_custom.h"
#include "../op_host/self_attention_prefix_encoder_launch.h"

namespace self_attention_prefix_encoder_host {

// Where the tensors of a call are in device memory; null where one is absent.
struct Addresses {
    void * query = nullptr;
    void * key = nullptr;
    void * value = nullptr;
    void * blockTables = nullptr;
    void * mask = nullptr;
    void * seqLen = nullptr;
    void * kvSeqLen = nullptr;
    void * slopes = nullptr;
    void * output = nullptr;
};

// Device memory of so many bytes, and a copy of so many bytes there; null where there is none. Both
// have to live until the stream has run. A copy is there when the function returns, in memory that
// nothing in the stream still uses.
using Allocate = std::function<void *(size_t)>;
using CopyToDevice = std::function<void *(const void *, size_t)>;

// The system's part at the start of every workspace.
constexpr size_t kSystemWorkspace = 16 << 20;

// A list of tensors as kernels decode it: per tensor the number of dimensions and the sizes, then
// the addresses. All have as many dimensions: leading ones of size 1 may be left out.
inline void *ListOnDevice(std::vector<Tensor> entries, const std::vector<void *> &addresses,
    const CopyToDevice &copy)
{
    std::vector<uint64_t> words(1);
    size_t rank = 0;
    for (const Tensor &entry : entries) {
        rank = std::max(rank, entry.shape.size());
    }
    for (Tensor &entry : entries) {
        entry.shape.insert(entry.shape.begin(), rank - entry.shape.size(), 1);
    }
    for (size_t i = 0; i < entries.size(); ++i) {
        const uint64_t index = i == 0 ? entries.size() : i;
        words.push_back(index << 32 | entries[i].shape.size());
        words.insert(words.end(), entries[i].shape.begin(), entries[i].shape.end());
    }
    words[0] = words.size() * sizeof(uint64_t);
    for (void *address : addresses) {
        words.push_back(reinterpret_cast<uint64_t>(address));
    }
    return copy(words.data(), words.size() * sizeof(uint64_t));
}

// What a launch has of a device. `alone`: while it runs, no other stream holds cores. A direct
// launch cannot ask for batch mode, as a package does: only alone do its blocks start together.
inline Status ShareOf(int32_t number, bool alone, DeviceShare &share)
{
    const uint32_t device = static_cast<uint32_t>(number);
    if (aclGetDeviceCapability(device, ACL_DEVICE_INFO_AI_CORE_NUM, &share.cores) != ACL_SUCCESS ||
        aclGetDeviceCapability(device, ACL_DEVICE_INFO_L2_SIZE, &share.l2Bytes) != ACL_SUCCESS) {
        return Fail("NoDevice",
            std::string(kOperator) + ": device " + std::to_string(number)
                + " does not tell its cores and L2");
    }
    share.blocksStartTogether = alone;
    return Status{};
}

// Launches a call. The stream still has to be synchronized.
inline Status Run(Call &call, const Addresses &at, const DeviceShare &device, aclrtStream stream,
    const Allocate &allocate,
    const CopyToDevice &copy, std::vector<std::string> &warnings)
{
    Sizes sizes;
    Plan plan;
    const Status status = PlanCall(call, sizes, device, plan, warnings);
    if (!status.Ok()) {
        return status;
    }
    if (IsEmpty(call, sizes)) {
        return status;  // there is nothing to launch for
    }
    void *workspace = allocate(kSystemWorkspace + static_cast<size_t>(plan.tiling.workspaceBytes));
    void *tiling = copy(&plan.tiling, sizeof(plan.tiling));
    if (workspace == nullptr || tiling == nullptr) {
        return Fail("OutOfMemory",
            std::string(kOperator) + ": device memory for workspace and tiling data is missing");
    }
    const auto refused =
        ACLRT_LAUNCH_KERNEL(
            self_attention_prefix_encoder_custom)(static_cast<uint32_t>(plan.tiling.blocks), stream,
        at.query,
        at.key,
        at.value,
        at.blockTables,
        at.mask,
        at.seqLen,
        at.kvSeqLen,
        at.slopes,
        at.output,
        workspace, tiling);
    if (refused != 0) {
        return Fail("LaunchFailed",
            std::string(kOperator) + ": the launch was refused, error "
                + Text(static_cast<int64_t>(refused)));
    }
    return status;
}

}  // namespace self_attention_prefix_encoder_host

#endif  // ATTNDSL_SELF_ATTENTION_PREFIX_ENCODER_RUN_H
