# ruff: noqa: E501  (C++ statements stay on one line)
"""Programs with their own host main: launch syntax, acl runtime, findings, limits, the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from attndsl.emulator import CompileFailed, Knobs, LaunchError
from attndsl.emulator.conditionals import active_text
from attndsl.emulator.launch_syntax import guessed_kind, kernels, mask, packed_launches, rewrite_launches
from attndsl.emulator.program import FOREIGN, build_program

PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include "acl/acl.h"
#include "kernel_operator.h"
#include "sizes.h"
using namespace AscendC;
// a comment is no launch: scale<<<1, 0, s>>>(b)
template <uint32_t kLength, class T>
__global__ __vector__ void scale(__gm__ T* x, __gm__ T* z, T factor, uint32_t extra, uint32_t stale, bool barrier) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 4096);
  auto u = buffer.Get<T>();
  GlobalTensor<T> from, to;
  from.SetGlobalBuffer(x + GetBlockIdx() * kLength);
  to.SetGlobalBuffer(z + GetBlockIdx() * kLength);
  DataCopy(u, from, kLength + extra);
  SetFlag<HardEvent::MTE2_V>(0);
  WaitFlag<HardEvent::MTE2_V>(0);
  Muls(u, u, factor, kLength);
  Muls(u, u, factor, kLength);
  if (barrier) PipeBarrier<PIPE_ALL>();
  DataCopy(to, u, kLength + (GetBlockIdx() == GetBlockNum() - 1 ? stale : 0));
}
namespace inner {
__global__ __aicore__ void endless(GM_ADDR x) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); volatile int go = 1; while (go) {} }
__global__ __mix__(1, 2) void count(__gm__ int32_t* z) {
  if ASCEND_IS_AIV {
    TPipe pipe;
    GlobalTensor<int32_t> to;
    to.SetGlobalBuffer(z);
    to.SetValue(GetBlockIdx() * 16, 10 + GetBlockIdx() + block_idx * 100);
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(to[GetBlockIdx() * 16]);
  }
}
}
int main(int argc, char** argv) {
  constexpr uint32_t kLength = 64;
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "exit") return 7;
  if (mode == "loop") for (volatile int go = 1; go;) {}
  if (mode == "chatter") for (;;) puts("and so on, and so on, and so on, and so on, and so on, and so on, and so on");
  if (mode == "bomb") for (;;) { auto* p = new char[1 << 30]; p[0] = 1; }
  int32_t device = 0;
  aclInit(nullptr);
  if (mode != "homeless") aclrtSetDevice(device);
  aclrtGetDevice(&device);
  aclrtContext context = nullptr;
  if (mode != "homeless") aclrtCreateContext(&context, device);
  aclrtStream stream = nullptr; aclrtCreateStream(&stream);
  std::vector<float> z(kLength * kBlocks);
  size_t bytes = z.size() * 4;
  float *xHost = nullptr, *xDevice = nullptr, *zDevice = nullptr;
  aclrtMallocHost((void**)&xHost, bytes);
  for (size_t i = 0; i < z.size(); ++i) xHost[i] = i;
  aclrtMalloc((void**)&xDevice, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc(reinterpret_cast<void**>(&zDevice), bytes + 32, ACL_MEM_MALLOC_HUGE_FIRST);
  if (mode == "unasked") { static_cast<volatile char*>(std::malloc(8ull << 30))[0] = 1; return 0; }
  if (mode == "device") { void* p; aclrtMalloc(&p, 8ull << 30, ACL_MEM_MALLOC_HUGE_FIRST); return 0; }
  if (mode == "huge") { void* p; return aclrtMalloc(&p, 1ull << 40, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS; }
  if (mode == "touch") zDevice[0] = 1;
  aclrtMemcpy(xDevice, bytes, xHost, bytes, mode == "direction" ? ACL_MEMCPY_DEVICE_TO_HOST : ACL_MEMCPY_HOST_TO_DEVICE);
  if (mode == "freed") aclrtFree(xDevice);
  if (mode == "endless") inner::endless<<<1, 0, stream>>>((GM_ADDR)xDevice);
  uint32_t blocks = mode == "none" ? 0 : kBlocks;
  scale<kLength, float><<<blocks, nullptr, stream>>>(
      mode == "host" ? xHost : xDevice, zDevice, 2.0f, mode == "past" ? 8 : 0, mode.find("stale") == 0 ? 8 : 0, mode != "race");
  if (mode != "early") aclrtSynchronizeStream(stream);
  aclrtMemcpy(z.data(), bytes + (mode == "room" ? 4 : 0), zDevice, bytes + (mode == "room" ? 8 : 0), ACL_MEMCPY_DEVICE_TO_HOST);
  if (mode == "part" || mode == "stale") { char all[1056]; aclrtMemcpy(all, 1056, zDevice, 1056, ACL_MEMCPY_DEVICE_TO_HOST); }
  if (mode == "tail") { char tail[32]; aclrtMemcpy(tail, 32, zDevice + z.size(), 32, ACL_MEMCPY_DEVICE_TO_HOST); }
  if (mode == "set_tail") { char tail[32]; aclrtMemset(zDevice + z.size(), 32, 0, 32); aclrtMemcpy(tail, 32, zDevice + z.size(), 32, ACL_MEMCPY_DEVICE_TO_HOST); }
  if (mode == "count") {
    int32_t got[64];
    aclrtMemset(zDevice, 256, 0, 256);
    inner::count<<<2, 0, stream>>>((int32_t*)zDevice);
    aclrtSynchronizeStream(stream);
    aclrtMemcpy(got, 256, zDevice, 256, ACL_MEMCPY_DEVICE_TO_HOST);
    printf("%d %d %d %d\\n", got[0], got[16], got[32], got[48]);
  }
  printf("<<<%g>>>\\n", z.back());
  aclrtFree(xDevice); aclrtFree(zDevice); aclrtFreeHost(xHost);
  aclrtDestroyStream(stream); aclrtDestroyContext(context); aclrtResetDevice(device); aclFinalize();
  return z.back() == 4 * 255 ? 0 : 1;
}
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "sizes.h").write_text("#pragma once\nconstexpr int kBlocks = BLOCKS;\n")
    path = folder / "scale.asc"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def program(file):
    return build_program(file, defines=["BLOCKS=4"])


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


def test_a_correct_program(program):
    report = program.run()
    assert report.ok, report
    assert report.stdout == "<<<1020>>>\n"
    counters = report.counters()
    assert counters["gm_read_bytes"] == {"xDevice": 1024, "zDevice": 0}
    assert counters["gm_write_bytes"] == {"xDevice": 0, "zDevice": 1024}
    assert counters["instructions"]["V"] == 8
    assert [(one["kernel"], one["cores"]) for one in counters["launches"]] == [("scale", [4, 0, 1])]


def test_a_trace_of_all_launches(program, tmp_path):
    report = program.run(["count"], trace=tmp_path / "t.json")
    counters = report.counters()
    assert counters["total_cycles"] == pytest.approx(
        sum(one["cycles"] for one in counters["launches"]), abs=0.1
    )
    assert counters["busy_cycles"]["V"] > 0 and counters["microseconds"] > 0
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    launches = [event for event in events if event["name"].startswith("launch of")]
    assert [event["name"] for event in launches] == [
        f"launch of {one['kernel']}" for one in counters["launches"]
    ]
    last = [event for event in events if event["ph"] == "X" and event["ts"] >= launches[-1]["ts"]]
    assert last and all(event["dur"] > 0 for event in last)


def test_time_alone_is_the_same_without_data(program, file):
    whole, timed = (program.run(["count"], knobs=replace(FOREIGN, timing=on)) for on in (False, True))
    assert timed.error is None and not timed.findings and len(timed.launches) == len(whole.launches)
    for key in ("kernel", "cores", "cycles", "active_by_core", "critical_path"):
        assert [one[key] for one in timed.launches] == [one[key] for one in whole.launches]
    done = command(file, "-D", "BLOCKS=4", "--timing")
    assert "scale: " in done.stdout and "us on 4 blocks; us by pipe: AIV V " in done.stdout


def test_a_trace_that_cannot_be_written_is_an_error(program, tmp_path):
    with pytest.raises(LaunchError, match="cannot write the trace"):
        program.run(["count"], trace=tmp_path / "no" / "t.json")


def test_a_mixed_kernel_in_a_namespace(program):
    report = program.run(["count"])
    assert report.stdout.splitlines()[0] == "10 11 112 113"
    assert report.counters()["launches"][1]["cores"] == [2, 1, 2]
    assert report.ok, report


@pytest.mark.parametrize(
    ("mode", "rules", "source"),
    [
        ("past", {"memcheck/out_of_range"}, "DataCopy(u, from"),
        ("host", {"memcheck/unknown_address"}, "DataCopy(u, from"),
        ("race", {"racecheck/read_after_write"}, "DataCopy(to, u"),
        ("homeless", {"memcheck/no_device"}, "aclrtMalloc((void**)&xDevice"),
        ("none", {"memcheck/illegal_blocks"}, "scale<kLength, float>"),
        ("early", {"racecheck/stream_not_synchronized"}, "aclrtMemcpy(z.data()"),
        ("room", {"memcheck/out_of_range"}, "aclrtMemcpy(z.data()"),
        ("tail", {"initcheck/never_written"}, 'mode == "tail"'),
        ("huge", {"memcheck/out_of_memory"}, 'mode == "huge"'),
        ("set_tail", set(), ""),
        ("part", set(), ""),
        ("stale", {"initcheck/undefined_value"}, "DataCopy(to, u"),
        ("stale_unread", set(), ""),
    ],
)
def test_findings(program, mode, rules, source):
    report = program.run([mode])
    found = {f"{finding.check}/{finding.rule}" for finding in report.findings}
    assert rules <= found and bool(found) == bool(rules), report
    if not rules:
        assert report.ok
        return
    first = next(finding for finding in report.findings if f"{finding.check}/{finding.rule}" in rules)
    assert not report.ok
    assert first.source == f"scale.asc:{line_of(source)}"


def test_findings_of_the_runtime_name_the_call(program):
    (freed, *_) = [f for f in program.run(["freed"]).findings if f.rule == "illegal_free"]
    assert freed.core == "host" and "freed before" in freed.message
    (wrong, *_) = [f for f in program.run(["direction"]).findings if f.rule == "wrong_direction"]
    assert wrong.buffer == "xDevice"


def test_the_program_s_own_failure(program):
    report = program.run(["exit"])
    assert (report.exit_code, report.findings, report.ok) == (7, [], False)


def test_ends_that_are_no_exit(program):
    report = program.run(["loop"], timeout=0.5)
    assert report.error is not None and "0.5 s" in report.error
    report = program.run(["endless"], timeout=0.5)
    assert report.error is not None and "block 0 AIV0 before its first instruction" in report.error
    report = program.run(["bomb"], memory=4 << 30)
    assert report.error is not None and "4096 MiB it may have" in report.error
    assert report.error.endswith("; raise --memory")
    report = program.run(["unasked"], memory=4 << 30)
    assert report.error is not None and "refused memory: it may have 4096 MiB (--memory)" in report.error
    report = program.run(["device"], memory=4 << 30)
    assert [each.rule for each in report.findings] == ["out_of_memory"]
    assert "the limit of 4096 MiB on the memory of this run allows (--memory)" in report.findings[0].message
    report = program.run(["touch"])
    assert report.error is not None and "zDevice, which is device memory" in report.error
    report = program.run(["chatter"], timeout=20)
    assert report.error is not None and "64 MiB" in report.error


VECTOR = """
#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;
__global__ __vector__ void chain(__gm__ float* z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 256);
  auto u = buffer.Get<float>();
  Duplicate(u, 1.0f, 64);
  Adds(u, u, 1.0f, 64);
  u.SetValue(0, u.GetValue(1) + 1.0f);
  Adds(u, u, 1.0f, 64);
  SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0);
  GlobalTensor<float> to;
  to.SetGlobalBuffer(z);
  DataCopy(to, u, 64);
}
int main() {
  float *zDevice, z[64];
  aclrtSetDevice(0);
  aclrtMalloc((void**)&zDevice, 256, ACL_MEM_MALLOC_NORMAL_ONLY);
  chain<<<1, 0, nullptr>>>(zDevice);
  aclrtMemcpy(z, 256, zDevice, 256, ACL_MEMCPY_DEVICE_TO_HOST);
  return z[0] == 4.0f && z[1] == 3.0f ? 0 : 1;
}
"""


def test_what_a_program_copies_to_the_host_is_kept(tmp_path):
    path, copies = tmp_path / "chain.cpp", tmp_path / "copies"
    path.write_text(VECTOR)
    copies.mkdir()
    program = build_program(path)
    assert program.run(copies=copies).ok
    kept = np.fromfile(copies / "000.bin", np.float32)
    assert [each.name for each in copies.iterdir()] == ["000.bin"]
    assert (kept.size, kept[0], kept[1]) == (64, 4.0, 3.0)
    copies.joinpath("000.bin").unlink()
    assert program.run().ok and not list(copies.iterdir())


def test_more_cores_than_memory_are_refused(tmp_path):
    path = tmp_path / "chain.cpp"
    path.write_text(VECTOR.replace("<<<1,", "<<<65000,"))
    report = build_program(path).run()
    assert report.exit_code == 3
    assert report.error is not None and "launch of chain: 65000 blocks of 1 cores need" in report.error


def test_cores_have_the_stack_of_a_process(tmp_path):
    path = tmp_path / "chain.cpp"
    big = "volatile uint8_t big[4 << 20]; for (int i = 0; i < 4 << 20; i += 512) big[i] = 1;"
    path.write_text(VECTOR.replace("  TPipe pipe;", f"  {big}\n  TPipe pipe;"))
    program = build_program(path)
    assert program.run().ok
    report = program.run(knobs=replace(FOREIGN, stack_bytes=1 << 20))
    assert report.error is not None and "stack is exhausted" in report.error


def test_automatic_synchronisation_is_a_switch(tmp_path):
    path = tmp_path / "chain.cpp"
    path.write_text(VECTOR)
    program = build_program(path)
    assert program.run().ok
    report = program.run(knobs=Knobs(auto_sync=False))
    assert report.exit_code == 0
    assert {finding.check for finding in report.findings} == {"racecheck"}


def test_a_kernel_launched_by_name_from_another_file(tmp_path):
    (tmp_path / "store.cpp").write_text(
        '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void store(GM_ADDR z, int32_t value) {\n'
        "  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n  AscendC::GlobalTensor<int32_t> to;\n  to.SetGlobalBuffer((__gm__ int32_t*)z);\n"
        "  to.SetValue(0, value);\n"
        "  AscendC::DataCacheCleanAndInvalid<int32_t, AscendC::CacheLine::SINGLE_CACHE_LINE, AscendC::DcciDst::CACHELINE_OUT>(to);\n}\n"
    )
    main = tmp_path / "main.cpp"
    main.write_text(
        '#include "acl/acl.h"\n#include "aclrtlaunch_store.h"\nint main() {\n  uint8_t* zDevice;\n  int32_t z = 0;\n  aclrtSetDevice(0);\n'
        "  aclrtMalloc((void**)&zDevice, 32, ACL_MEM_MALLOC_HUGE_FIRST);\n"
        "  ACLRT_LAUNCH_KERNEL(store)(1, nullptr, zDevice, 41);\n"
        "  aclrtMemcpy(&z, 4, zDevice, 4, ACL_MEMCPY_DEVICE_TO_HOST);\n  return z == 41 ? 0 : 1;\n}\n"
    )
    assert build_program(main).run().ok
    (tmp_path / "store.cpp").unlink()
    with pytest.raises(LaunchError, match="'store'"):
        build_program(main)


def test_functions_that_a_host_program_only_declares(tmp_path):
    other = tmp_path / "store.cpp"
    other.write_text(
        '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void store(GM_ADDR z, int32_t value) {\n'
        "  AscendC::GlobalTensor<int32_t> to;\n  to.SetGlobalBuffer((__gm__ int32_t*)z);\n  to.SetValue(0, value);\n}\n"
        "void store_do(uint32_t blocks, void* stream, uint8_t* z)\n{\n  store<<<blocks, nullptr, stream>>>(z, 41);\n}\n"
    )
    # another program beside it is no part of this one
    (tmp_path / "second.cpp").write_text(
        "void store_do(unsigned, void*, unsigned char*) {}\nint main() { return 1; }\n"
    )
    main = tmp_path / "main.cpp"
    main.write_text(
        '#include "acl/acl.h"\nextern void store_do(uint32_t blocks, void* stream, uint8_t* z);\n'
        "int main() {\n  uint8_t* zDevice;\n  int32_t z = 0;\n  aclrtSetDevice(0);\n"
        "  aclrtMalloc((void**)&zDevice, 32, ACL_MEM_MALLOC_HUGE_FIRST);\n  store_do(1, nullptr, zDevice);\n"
        "  aclrtMemcpy(&z, 4, zDevice, 4, ACL_MEMCPY_DEVICE_TO_HOST);\n  return z == 41 ? 0 : 1;\n}\n"
    )
    assert build_program(main).run().exit_code == 0
    (tmp_path / "third.cpp").write_text(other.read_text())
    with pytest.raises(LaunchError, match=r"'store_do', which store\.cpp, third\.cpp define: .* --source"):
        build_program(main)
    assert build_program(main, sources=[other]).run().exit_code == 0


def test_a_host_is_told_times_addresses_and_bounds(tmp_path):
    main = tmp_path / "main.cpp"
    main.write_text(
        '#include "acl/acl.h"\n#include "acl/acl_prof.h"\n#include "kernel_operator.h"\n#include "platform/platform_ascendc.h"\n'
        '#include "tiling/tiling_api.h"\n'
        'extern "C" __global__ __aicore__ void wait(uint64_t base) {\n  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n'
        "  AscendC::SetSyncBaseAddr(base);\n  if (unlikely(base == 0)) return;\n  AscendC::PipeBarrier<PIPE_ALL>();\n}\n"
        "int main() {\n  aclrtSetDevice(0);\n  aclrtEvent start, end, never;\n  aclrtCreateEvent(&start);\n  aclrtCreateEvent(&end);\n"
        "  aclrtCreateEvent(&never);\n  void* base = nullptr;\n  uint64_t same = 0;\n  uint32_t length = 0;\n"
        "  aclrtGetHardwareSyncAddr(&base);\n  rtGetC2cCtrlAddr(&same, &length);\n"
        "  aclrtRecordEvent(start, nullptr);\n  if (static_cast<int32_t>(wait<<<1, nullptr, nullptr>>>(same)) != 0) return 10;\n"
        "  aclrtRecordEvent(end, nullptr);\n"
        "  float ms = 0, none = 0;\n  if (aclrtEventElapsedTime(&ms, start, end) != 0 || !(ms > 0 && ms < 1)) return 1;\n"
        "  if (aclrtEventElapsedTime(&none, start, never) == 0 || (uint64_t)base != same) return 2;\n"
        '  char to[4] = "xyz";\n  if (memcpy_s(to, 3, "abc", 4) == 0 || to[0] != \'x\') return 3;\n'
        "  if (memcpy_s(to, 4, \"abc\", 4) != EOK || to[0] != 'a' || memset_s(to, 2, 0, 3) == 0) return 4;\n"
        '  if (strcpy_s(to, 3, "abc") == 0 || sprintf_s(to, 4, "%d", 123) != 3 || sprintf_s(to, 3, "%d", 123) != -1) return 5;\n'
        "  std::vector<int64_t> sizes{4, 32};\n  AscendC::TensorShape shape(sizes);\n  uint32_t most, least;\n"
        "  AscendC::GetAscendDequantMaxMinTmpSize(shape, 4, most, least);\n  if (least != 544 || most != 928) return 6;\n"
        "  AscendC::GetPadMaxMinTmpSize(shape, 4, most, least);\n  if (least != 1024) return 7;\n"
        "  auto* platform = platform_ascendc::PlatformAscendCManager::GetInstance();\n  uint64_t bytes = 0;\n"
        "  if (AscendC::GetSortTmpSize(*platform, 96, 2) != 768 || AscendC::GetConcatTmpSize(*platform, 96, 2) != 0) return 11;\n"
        "  platform->ReserveLocalMemory(platform_ascendc::ReservedSize::RESERVED_SIZE_16K);\n"
        "  platform->GetCoreMemSize(platform_ascendc::CoreMemType::UB, bytes);\n  if (bytes != (176 << 10) - 256) return 8;\n"
        "  platform->GetCoreMemSize(platform_ascendc::CoreMemType::BT, bytes);\n  if (bytes != 1024) return 9;\n"
        '  aclprofTensor tensor{0, ACL_FORMAT_ND, ACL_FLOAT, 1, {4}};\n  aclprofTensorInfo info{aclprofStr2Id("a"), 0, 0, 1, 0, 1, nullptr, &tensor};\n'
        "  aclprofEventAttributes range{ACL_PROF_EVENT_ATTR_VERSION, 8, ACL_PROF_MESSAGE_TYPE_TENSOR_INFO, {&info}};\n"
        "  return aclprofRangePushEx(&range) + aclprofRangePop();\n}\n"
    )
    report = build_program(main).run()
    assert (report.exit_code, report.findings, report.error) == (0, [], None)


def test_kernels_that_a_host_program_only_declares(tmp_path):
    (tmp_path / "store.cpp").write_text(
        '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void store(GM_ADDR z, int32_t value) {\n'
        "  AscendC::GlobalTensor<int32_t> to;\n  to.SetGlobalBuffer((__gm__ int32_t*)z);\n  to.SetValue(0, value);\n}\n"
    )
    main = tmp_path / "main.cpp"
    main.write_text(
        '#ifndef ASCENDC_CPU_DEBUG\n#include "acl/acl.h"\n#include "aclrtlaunch_store.h"\n#include "aclrtlaunch_never.h"\n'
        '#else\n#include "tikicpulib.h"\nextern "C" __global__ __aicore__ void store(GM_ADDR z, int32_t value);\n'
        'extern "C" __global__ __aicore__ void never(GM_ADDR z);\n#endif\n'
        "int main() {\n  uint8_t* zDevice;\n  int32_t z = 0;\n  aclrtSetDevice(0);\n"
        "  aclrtMalloc((void**)&zDevice, 32, ACL_MEM_MALLOC_HUGE_FIRST);\n"
        "  ACLRT_LAUNCH_KERNEL(store)(1, nullptr, zDevice, 41);\n"
        "  aclrtMemcpy(&z, 4, zDevice, 4, ACL_MEMCPY_DEVICE_TO_HOST);\n  return z == 41 ? 0 : 1;\n}\n"
    )
    assert build_program(main).run().ok


def test_a_host_of_cpu_debugging_shares_memory_with_kernels(tmp_path):
    (tmp_path / "scale.cpp").write_text(
        '#include "kernel_operator.h"\nusing namespace AscendC;\n'
        'extern "C" __global__ __aicore__ void scale(GM_ADDR x, GM_ADDR y, GM_ADDR factor) {\n'
        "  TPipe pipe;\n  TBuf<TPosition::VECCALC> buffer;\n  pipe.InitBuffer(buffer, 256);\n"
        "  GlobalTensor<float> from, to;\n  from.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * 64);\n"
        "  to.SetGlobalBuffer((__gm__ float*)y + GetBlockIdx() * 64);\n  LocalTensor<float> t = buffer.Get<float>();\n"
        "  DataCopy(t, from, 64);\n  PipeBarrier<PIPE_ALL>();\n  Muls(t, t, *(__gm__ float*)factor, 64);\n"
        "  PipeBarrier<PIPE_ALL>();\n  DataCopy(to, t, 64);\n}\n"
    )
    main = tmp_path / "main.cpp"
    main.write_text(
        '#ifdef ASCENDC_CPU_DEBUG\n#include "tikicpulib.h"\n'
        'extern "C" __global__ __aicore__ void scale(GM_ADDR x, GM_ADDR y, GM_ADDR factor);\n#endif\n'
        "int main(int count, char**) {\n  auto* x = (float*)AscendC::GmAlloc(512);\n  auto* y = (float*)AscendC::GmAlloc(512);\n"
        "  auto* factor = (float*)AscendC::GmAlloc(4);\n  for (int i = 0; i < 128; ++i) x[i] = i;\n"
        "  AscendC::SetKernelMode(KernelMode::AIV_MODE);\n  int wrong = 0;\n"
        "  for (int turn = 1; turn < 3; ++turn) {\n    *factor = turn;\n"
        "    ICPU_RUN_KF(scale, count, (uint8_t*)x, (uint8_t*)y, (uint8_t*)factor);\n"
        "    for (int i = 0; i < 128; ++i) wrong += y[i] != i * turn;\n  }\n"
        "  AscendC::GmFree(x);\n  AscendC::GmFree(y);\n  AscendC::GmFree(factor);\n  return wrong;\n}\n"
    )
    program = build_program(main, defines=["ASCENDC_CPU_DEBUG"])
    assert program.run(["two"]).ok
    past = program.run(["more", "blocks"])
    assert {finding.rule for finding in past.findings} == {"out_of_range"}


def test_kinds_are_guessed_from_what_is_compiled(tmp_path):
    (tmp_path / "other.h").write_text("inline int fractals() { return Mmad; }  // of another chip\n")
    (tmp_path / "both.asc").write_text(
        '#ifdef OTHER_CHIP\n#include "other.h"\n#endif\n'
        '#include "kernel_operator.h"\n__global__ __aicore__ void lanes(GM_ADDR z) {\n'
        "  AscendC::TPipe pipe;\n  AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;\n  pipe.InitBuffer(buffer, 256);\n"
        "  AscendC::Duplicate(buffer.Get<float>(), 1.0f, 64);\n}\n"
        '#include "acl/acl.h"\nint main() {\n  aclrtSetDevice(0);\n  lanes<<<1, nullptr, nullptr>>>(nullptr);\n  return 0;\n}\n'
    )
    assert build_program(tmp_path / "both.asc").run().ok


def test_conditions_that_can_be_told():
    code = """
#if defined(A) && !defined(B)
one
#elif C > 3
two
#else
three
#endif
#ifndef __x86_64__
four
#endif
#ifdef B
five
#if 0
six
#endif
#endif"""

    def left(given, perhaps=()):
        return active_text(code, given, perhaps).split()

    words = {"one", "two", "three", "four", "five", "six"}
    assert set(left({"A"})) & words == {"one", "four"}
    assert set(left({"A", "B"})) & words == {"two", "three", "four", "five"}
    assert set(left(set())) & words == {"two", "three", "four"}
    assert set(left({"A"}, {"B"})) & words == {"one", "two", "three", "four", "five"}
    numbered = "#if CASE == 2\none\n#elif CASE != 1\ntwo\n#else\nthree\n#endif"
    for given, perhaps, word in (("CASE=2", (), "one"), ("CASE=3", (), "two"), ("CASE", (), "three")):
        kept = active_text(numbered, {given}, perhaps).split()
        assert [line for line in kept if line in words] == [word]
    assert set(active_text(numbered, {"CASE=2"}, {"CASE"}).split()) >= {"one", "two", "three"}


def test_launch_syntax():
    def call(name, launch):
        return f'::attnemu::prepare_launch("k", [&](auto... attnemu_a) {{ {name}(attnemu_a...); }}, {launch})'

    for name in ("k", "k<int, 3>", "a::k<b<c>, (1 > 0)>", "k<\n  4>"):
        assert (
            rewrite_launches(f"return {name}<<<f(1), 0, s>>>(x);") == f"return {call(name, 'f(1), 0, s')}(x);"
        )
    for untouched in ("// k<<<1, 0, s>>>(x)\n", '"k<<<1"', 'R"(k<<<1)"', "/* k<<<1 */", "1 << 2 << 3"):
        assert rewrite_launches(untouched) == untouched
    assert rewrite_launches("int n = 1'000; k<<<1, 0>>>();") == f"int n = 1'000; {call('k', '1, 0')}();"
    with pytest.raises(LaunchError, match="line 2: '<<<' has no matching"):
        rewrite_launches("\nk<<<1, 0, s(x);")
    with pytest.raises(LaunchError, match="no kernel name"):
        rewrite_launches("(<<<1, 0, s>>>(x);")
    assert packed_launches("ACLRT_LAUNCH_KERNEL(b)(1, s); // ACLRT_LAUNCH_KERNEL(c)\n") == ["b"]
    assert len(mask("a // b\n'c'")) == 10


def test_kinds_of_kernels():
    text = """
    extern "C" __global__ __aicore__ void plain(GM_ADDR x);
    template <int N> __vector__ __global__ void lanes(GM_ADDR x) {}
    __global__ __cube__ void product(GM_ADDR x) {}
    __global__ __mix__(1, 1) void both(GM_ADDR x) {}
    // __global__ __cube__ void gone(GM_ADDR x) {}
    """
    assert {k.name: k.kind for k in kernels(text)} == {"plain": None, "lanes": 0, "product": 1, "both": 4}
    assert {k.name for k in kernels(text) if not k.defined} == {"plain"}
    assert guessed_kind(["TQue<QuePosition::VECIN, 1> q;"]) == 0
    assert guessed_kind(["Mmad(c, a, b, p); // VECIN"]) == 1
    assert guessed_kind(["Mmad(c, a, b, p);", "TQue<TPosition::VECIN, 1> q;"]) == 5
    assert guessed_kind(["Matmul<A, B, C> mm; mm.IterateBatch(c, 3, 3, false);"]) == 5


def test_what_cannot_be_built(tmp_path):
    with pytest.raises(LaunchError, match="no such program file"):
        build_program(tmp_path / "nowhere.asc")
    wrong = tmp_path / "wrong.asc"
    wrong.write_text("int main() {\n  return aclrtBilinear();\n}\n")
    with pytest.raises(CompileFailed, match=r"wrong\.asc:2.*\n?.*aclrtBilinear"):
        build_program(wrong)


def command(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "attndsl.cli.cli", "emulate", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_the_command(program, file, tmp_path):
    done = command(file, "-D", "BLOCKS=4", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["exit_code"] == 0 and document["stdout"] == "<<<1020>>>\n" and document["findings"] == []
    done = command("-D", "BLOCKS=4", file, "past", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("<<<1020>>>\nmemcheck/out_of_range at scale.asc:")
    done = command("-D", "BLOCKS=4", file, "past", "--json")
    fields = {"check", "rule", "message", "core", "pipe", "buffer", "address", "source"}
    assert done.returncode == 1 and fields <= set(json.loads(done.stdout)["findings"][0])
    done = command(file, "--json")
    assert done.returncode == 1 and "BLOCKS" in json.loads(done.stdout)["error"]
    for wrong in ([tmp_path / "nowhere.asc"], [tmp_path], [file, "--auto-sync", "maybe"], []):
        done = command(*wrong)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
        done = command(*wrong, "--json")
        assert done.returncode == 2 and json.loads(done.stdout)["error"] in done.stderr
    # a folder that is not there, as compilers take it; the program's own failure is told
    done = command("-I", tmp_path / "nowhere", "-D", "BLOCKS=4", file, "exit")
    assert done.returncode == 1 and done.stderr.endswith("scale.asc ended with code 7\n")
    empty, foreign = tmp_path / "empty.cpp", tmp_path / "foreign.cpp"
    empty.write_text("")
    foreign.write_bytes(b"int main( { \xff\xfe }\n")
    for path, said in ((empty, "undefined reference to "), (foreign, "error: ")):
        done = command(path, "--json")
        assert done.returncode == 1 and said in json.loads(done.stdout)["error"]
    assert "macro names" in json.loads(command(file, "-D", "", "--json").stdout)["error"]


PLATFORM = """
#include <cstdio>
#include "kernel_basic_intf.h"
#include "tiling/platform/platform_ascendc.h"
int main(int argc, char** argv) {
  auto* platform = platform_ascendc::PlatformAscendCManager::GetInstance(argc > 1 ? argv[1] : nullptr);
  if (!platform) return 3;
  uint64_t ub = 0, l2 = 0;
  platform->GetCoreMemSize(platform_ascendc::CoreMemType::UB, ub);
  platform->GetCoreMemSize(platform_ascendc::CoreMemType::L2, l2);
  bool a3 = platform->GetSocVersion() == platform_ascendc::SocVersion::ASCEND910_93;
  printf("%u %u %llu %llu %u%s\\n", platform->GetCoreNumAic(), platform->GetCoreNumAiv(), (unsigned long long)ub, (unsigned long long)l2 >> 20,
         platform->CalcTschBlockDim(9, 20, 40), a3 ? " A3" : "");
}
"""


def test_a_host_asks_what_the_device_has(tmp_path, capfd):
    path = tmp_path / "platform.cpp"
    path.write_text(PLATFORM)
    program = build_program(path)
    assert program.run([]).stdout == "24 48 196352 192 5\n"
    assert program.run(["Ascend910B4"]).stdout == "20 40 196352 96 5\n"
    assert program.run(["Ascend910_9362"]).stdout == "20 40 196352 168 5 A3\n"
    unknown = program.run(["Ascend910_9363"])
    assert (unknown.exit_code, unknown.stdout) == (3, "")
    assert "no part 'Ascend910_9363'; it has Ascend910B1 " in capfd.readouterr().err
