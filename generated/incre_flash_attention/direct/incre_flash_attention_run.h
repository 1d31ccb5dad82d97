// Runs incre_flash_attention without an operator package: checks the call, plans it, launches the
// kernel function.
#ifndef ATTNDSL_INCRE_FLASH_ATTENTION_RUN_H
#define ATTNDSL_INCRE_FLASH_ATTENTION_RUN_H

#include <algorithm>
#include <functional>

#include "acl/acl.h"
#include "aclrtlaunch_incre_flash_attention_custom.h"
#include "../op_host/incre_flash_attention_launch.h"

namespace incre_flash_attention_host {

// Where the tensors of a call are in device memory; null where one is absent.
struct Addresses {
    void * query = nullptr;
    std::vector<void *> key;
    std::vector<void *> value;
    void * attn_mask = nullptr;
    void * actual_seq_lengths = nullptr;
    void * pse_shift = nullptr;
    void * dequant_scale1 = nullptr;
    void * quant_scale1 = nullptr;
    void * dequant_scale2 = nullptr;
    void * quant_scale2 = nullptr;
    void * quant_offset2 = nullptr;
    void * antiquant_scale = nullptr;
    void * antiquant_offset = nullptr;
    void * block_table = nullptr;
    void * kv_padding_size = nullptr;
    void * attention_out = nullptr;
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
    void *keyList = ListOnDevice(call.key_list.entries, at.key, copy);
    void *valueList = ListOnDevice(call.value_list.entries, at.value, copy);
    void *workspace = allocate(kSystemWorkspace + static_cast<size_t>(plan.tiling.workspaceBytes));
    void *tiling = copy(&plan.tiling, sizeof(plan.tiling));
    if (workspace == nullptr
        || tiling == nullptr
        || (at.key.size() > 0 && keyList == nullptr)
        || (at.value.size() > 0 && valueList == nullptr)) {
        return Fail("OutOfMemory",
            std::string(kOperator) + ": device memory for workspace and tiling data is missing");
    }
    const auto refused =
        ACLRT_LAUNCH_KERNEL(incre_flash_attention_custom)(static_cast<uint32_t>(plan.tiling.blocks),
            stream,
        at.query,
        keyList,
        valueList,
        at.attn_mask,
        at.actual_seq_lengths,
        at.pse_shift,
        at.dequant_scale1,
        at.quant_scale1,
        at.dequant_scale2,
        at.quant_scale2,
        at.quant_offset2,
        at.antiquant_scale,
        at.antiquant_offset,
        at.block_table,
        at.kv_padding_size,
        at.attention_out,
        workspace, tiling);
    if (refused != 0) {
        return Fail("LaunchFailed",
            std::string(kOperator) + ": the launch was refused, error "
                + Text(static_cast<int64_t>(refused)));
    }
    return status;
}

}  // namespace incre_flash_attention_host

#endif  // ATTNDSL_INCRE_FLASH_ATTENTION_RUN_H
