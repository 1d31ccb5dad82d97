// A stand-in of ours: the cores of a device, and the system's part of the workspace.
#pragma once
#include "register/op_def_registry.h"

namespace platform_ascendc {
enum class CoreMemType { L2 = 4 };
class PlatformAscendC {
public:
    explicit PlatformAscendC(fe::PlatFormInfos *infos) : infos_(infos) {}
    uint32_t GetCoreNumAic() const { return infos_->cubeCores; }
    void GetCoreMemSize(CoreMemType, uint64_t &size) const { size = infos_->l2Bytes; }
    uint32_t GetLibApiWorkSpaceSize() const { return 16 << 20; }

private:
    fe::PlatFormInfos *infos_;
};
}  // namespace platform_ascendc
