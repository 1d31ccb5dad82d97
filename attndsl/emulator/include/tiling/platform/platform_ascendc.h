// What a host program asks about the device: Atlas A2 or a die of Atlas A3 by the name of its part.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "acl/acl_rt.h"
#include "attnemu/limits.h"

namespace fe {
class PlatFormInfos;
}

enum class NpuArch : uint32_t { DAV_1001 = 1001, DAV_2002 = 2002, DAV_2201 = 2201, DAV_3002 = 3002, DAV_3510 = 3510 };

namespace platform_ascendc {

enum class CoreMemType { L0_A = 0, L0_B, L0_C, L1, L2, UB, HBM, FB, BT, RESERVED };
enum class ReservedSize { RESERVED_SIZE_8K, RESERVED_SIZE_16K, RESERVED_SIZE_32K };
enum class SocVersion { ASCEND910 = 0, ASCEND910B, ASCEND310P, ASCEND310B, ASCEND910_93, RESERVED_VERSION = 99999 };

// Cores, MiB of L2 and GiB of memory of a part (platform_config/Ascend910B*.ini and Ascend910_93*.ini, CANN 8.1.RC1).
struct Part {
  const char* name;
  uint32_t cubes, l2_mib, memory_gib;
  SocVersion soc = SocVersion::ASCEND910B;
};
// The part of a name, null (and a message) for others.
inline const Part* part_of(const char* name) {
  constexpr SocVersion kA3 = SocVersion::ASCEND910_93;
  static constexpr Part kParts[] = {{"Ascend910B1", 24, 192, 64}, {"Ascend910B2", 24, 192, 64}, {"Ascend910B2C", 24, 192, 64}, {"Ascend910B3", 20, 192, 64},
                                    {"Ascend910B4", 20, 96, 32}, {"Ascend910B4-1", 20, 168, 32},
                                    {"Ascend910_9391", 24, 192, 64, kA3}, {"Ascend910_9392", 24, 192, 64, kA3}, {"Ascend910_9381", 24, 192, 64, kA3},
                                    {"Ascend910_9382", 24, 192, 64, kA3}, {"Ascend910_9372", 20, 192, 64, kA3}, {"Ascend910_9362", 20, 168, 32, kA3}};
  for (const Part& p : kParts)
    if (name && std::strcmp(p.name, name) == 0) return &p;
  std::fprintf(stderr, "the emulator has no part '%s'; it has", name ? name : "");
  for (const Part& p : kParts) std::fprintf(stderr, " %s", p.name);
  std::fprintf(stderr, "\n");
  return nullptr;
}

class PlatformAscendC {
 public:
  PlatformAscendC() = delete;
  explicit PlatformAscendC(fe::PlatFormInfos*) : part_(*part_of(aclrtGetSocName())) {}
  explicit PlatformAscendC(const Part& part) : part_(part) {}
  uint32_t GetCoreNum() const { return part_.cubes; }
  uint32_t GetCoreNumAic() const { return part_.cubes; }
  uint32_t GetCoreNumAiv() const { return 2 * part_.cubes; }
  uint32_t GetCoreNumVector() const { return 0; }
  // Blocks for so many slices: with both kinds of cores a block has as many vector cores as a cube core has.
  uint32_t CalcTschBlockDim(uint32_t slices, uint32_t cubes, uint32_t vectors) const {
    if (!cubes || !vectors || cubes > vectors) return slices;
    uint32_t ratio = vectors / cubes;
    return (slices + ratio - 1) / ratio;
  }
  uint32_t GetLibApiWorkSpaceSize() const { return attnemu::kSystemWorkspace; }
  // Of UB and L1 the framework keeps 256 bytes, of UB also what was reserved.
  void GetCoreMemSize(const CoreMemType& type, uint64_t& size) const {
    switch (type) {
      case CoreMemType::L0_A: size = attnemu::kL0aBytes; return;
      case CoreMemType::L0_B: size = attnemu::kL0bBytes; return;
      case CoreMemType::L0_C: size = attnemu::kL0cBytes; return;
      case CoreMemType::L1: size = attnemu::kL1Bytes - kReserved; return;
      case CoreMemType::UB: size = attnemu::kUbBytes - kReserved - reserved_; return;
      case CoreMemType::L2: size = static_cast<uint64_t>(part_.l2_mib) << 20; return;
      case CoreMemType::HBM: size = static_cast<uint64_t>(part_.memory_gib) << 30; return;
      case CoreMemType::FB: size = 2048; return;
      case CoreMemType::BT: size = 1024; return;
      default: size = 0;
    }
  }
  void ReserveLocalMemory(ReservedSize size) { reserved_ = (8u << 10) << static_cast<int>(size); }
  // Bytes a cycle and core.
  void GetCoreMemBw(const CoreMemType& type, uint64_t& bytes) const { bytes = type == CoreMemType::L2 ? 110 : type == CoreMemType::HBM ? 32 : 0; }
  SocVersion GetSocVersion() const { return part_.soc; }
  NpuArch GetCurNpuArch() const { return NpuArch::DAV_2201; }

 private:
  static constexpr uint32_t kReserved = 256;
  const Part& part_;
  uint32_t reserved_ = 0;
};

class PlatformAscendCManager {
 public:
  static PlatformAscendC* GetInstance() { return GetInstance(nullptr); }
  // The first call decides; null where it names a part that the emulator does not have.
  static PlatformAscendC* GetInstance(const char* name) {
    static const Part* part = part_of(name ? name : aclrtGetSocName());
    if (!part) return nullptr;
    static PlatformAscendC instance(*part);
    return &instance;
  }
};

}  // namespace platform_ascendc
