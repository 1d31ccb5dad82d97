# ruff: noqa: E501  (C++ statements stay on one line)
"""Messages between the cores of a block, below headers of ours that stand for a CANN's."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, Kernel, Report, VendorHeaders, build
from tests.emulator.small_cann import write_small_cann

_PIPE = """#pragma once
struct TPipe {
  template <AscendC::HardEvent> int AllocEventID() { return 1; }
  int FetchEventID(AscendC::HardEvent) { return 2; }
};
inline TPipe* GetTPipePtr() { static TPipe one; return &one; }
"""
# a message has 64 bytes; there are 4 of each vector core, and room for 3 operands of 256 bytes
_MESSAGES = """#pragma once
#include "kernel_tensor.h"
constexpr uint64_t TOTAL_UB_SIZE = 192 << 10, TOTAL_L1_SIZE = (512 << 10) - 64;
constexpr uint32_t WORKSPACE_UB_SIZE = 800;
constexpr int MAX_MSG_COUNT = 4;
enum CoreType { AIC, AIV };
#if defined(__DAV_C220_CUBE__)
constexpr CoreType g_coreType = AIC;
#else
constexpr CoreType g_coreType = AIV;
#endif
namespace AscendC {
enum class HardEvent { S_MTE3, MTE3_S, MTE3_MTE2, MTE2_MTE3 };
constexpr pipe_t kFrom[] = {PIPE_S, PIPE_MTE3, PIPE_MTE3, PIPE_MTE2}, kTo[] = {PIPE_MTE3, PIPE_S, PIPE_MTE2, PIPE_MTE3};
template <HardEvent e> void SetFlag(int64_t id) { set_flag(kFrom[int(e)], kTo[int(e)], id); }
template <HardEvent e> void WaitFlag(int64_t id) { wait_flag(kFrom[int(e)], kTo[int(e)], id); }
enum class KFC_Enum : uint16_t { COPY = 0x100, SERVICE_QUIT = 0xfd00 };
struct KfcMsg { uint32_t head = 0; int32_t ubAddr = -1; uint64_t from, to, rest[5]; };
inline uint32_t KfcMsgGetState(uint32_t head) { return head & 0x8000; }
inline uint32_t KfcMsgMakeFlag(KFC_Enum function, uint16_t) { return uint32_t(function) << 16 | 0x8000; }
inline uint8_t* GetMsgHead(uint8_t* workspace, int) { return workspace + get_block_idx() * 2048; }
inline uint8_t* GetUBMapAddr(uint8_t* workspace) { return workspace + get_block_idx() * 2048 + 1024; }
inline uint8_t* GetUBAvaliedAddr(uint8_t* workspace, int = 0) { return workspace + get_block_idx() * 2048 + 512; }
}  // namespace AscendC
"""
_KERNEL = """#include "kernel_operator.h"
using namespace AscendC;
constexpr int kTimes = 7;
// The cube core copies 64 floats for the vector core, which writes them anew each time.
extern "C" __global__ __aicore__ void asked(GM_ADDR numbers, GM_ADDR out, GM_ADDR workspace) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
  numbers += get_block_idx() * 256; out += get_block_idx() * 256 * kTimes;
  if ASCEND_IS_AIC {
    KfcCommServer server; server.Init(workspace, 0);
    for (bool quits = false; !quits;) {
      KfcMsg* m = server.RcvMessage();
      if (!m) continue;
      quits = m->head >> 16 == 0xfd00;
      if (!quits) {
        copy_gm_to_cbuf((void*)0, (void*)m->from, 0, 1, 8, 0, 0, PAD_NONE);
        set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0); wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
        copy_cbuf_to_gm((void*)m->to, (void*)0, 0, 1, 8, 0, 0);
        set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0); wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        if (m->ubAddr >= 0) server.FreeUB(m->ubAddr);
        else ffts_cross_core_sync(PIPE_MTE3, 1 | 2 << 4 | 3 << 8);
      }
      server.FreeMessage(m);
    }
  } else {
    KfcCommClient client(workspace, 0);
    set_vector_mask(0, ~0ull);
    for (int n = 0; n < kTimes; ++n) {
      int32_t last = -1;
      uint8_t* mine = TILING_KEY_VAR == 1 ? client.AllocUB(256, last) : numbers;
      set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0); wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
      vector_dup((float*)0, float(n + 1), 1, 1, 1, 8, 0);
      set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
      if (TILING_KEY_VAR != 2) copy_ubuf_to_gm(mine, (void*)0, 0, 1, 8, 0, 0);
      KfcMsg* m = client.AllocMessage();
      client.ubMsg->head = KfcMsgMakeFlag(KFC_Enum::COPY, 0);
      client.ubMsg->ubAddr = last;
      client.ubMsg->from = (uint64_t)mine; client.ubMsg->to = (uint64_t)(out + 256 * n);
      client.PostMessage<false>(m);
      if (TILING_KEY_VAR == 2) copy_ubuf_to_gm(mine, (void*)0, 0, 1, 8, 0, 0);
      if (TILING_KEY_VAR == 0 || TILING_KEY_VAR == 2 || (TILING_KEY_VAR == 3 && n == kTimes - 1)) wait_flag_dev(3);
    }
    if (TILING_KEY_VAR == 3) for (int n = 1; n < kTimes; ++n) wait_flag_dev(3);
  }
}
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    root = write_small_cann(tmp_path_factory.mktemp("small") / "cann")
    base = root / "compiler" / "tikcpp" / "tikcfw"
    (base / "impl" / "dav_c220" / "kfc").mkdir()
    (base / "impl" / "dav_c220" / "kfc" / "kfc_comm.h").write_text(_MESSAGES)
    (base / "interface" / "kernel_tpipe.h").write_text(_PIPE)
    return build(_KERNEL, entry="asked", headers=VendorHeaders.at(root))


def _run(asked: Kernel, key: int) -> tuple[np.ndarray, Report]:
    out = np.zeros((2, 7, 64), np.float32)
    arguments = [
        Argument("numbers", np.zeros((2, 64), np.float32)),
        Argument("out", out, output=True),
        Argument("workspace", np.zeros(4096, np.uint8)),
    ]
    return out, asked.run(2, arguments, tiling_key=key)


@pytest.mark.parametrize("key", [0, 1])
def test_a_message_orders_its_reader_behind_what_was_written_before_it(asked: Kernel, key: int) -> None:
    """Seven by four places: by a flag that answers each, and by room that the reader frees."""
    out, report = _run(asked, key)
    assert [str(finding) for finding in report.findings] == []
    np.testing.assert_array_equal(out, np.broadcast_to(np.arange(1, 8)[:, None], out.shape))
    assert report.cores == (2, 1, 1)


@pytest.mark.parametrize(
    ("key", "rule"), [(2, "racecheck/read_after_write"), (3, "racecheck/write_after_read")]
)
def test_a_message_orders_nothing_else(asked: Kernel, key: int, rule: str) -> None:
    """Numbers that are written behind it, and new ones before the reader has answered."""
    _, report = _run(asked, key)
    assert rule in report.finding_counts
