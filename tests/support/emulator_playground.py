"""Small kernels around a body: an image of UB is loaded, the body runs, the image is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attndsl.emulator import Argument, Kernel, Knobs, Report, build_all

IMAGE = 64 * 1024

_HEADER = """
#include "kernel_operator.h"
using namespace AscendC;
constexpr uint32_t kImage = IMAGE_BYTES;
struct Image {
  TBuf<TPosition::VECCALC> buffer;
  LocalTensor<uint8_t> all;
  template <class T> __aicore__ inline LocalTensor<T> at(uint32_t byte) {
    return all[byte].template ReinterpretCast<T>();
  }
};
""".replace("IMAGE_BYTES", str(IMAGE))

_KERNEL = """
extern "C" __global__ __aicore__ void %(name)s(GM_ADDR in, GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  TPipe pipe;
  Image ub;
  pipe.InitBuffer(ub.buffer, kImage);
  ub.all = ub.buffer.Get<uint8_t>();
  GlobalTensor<uint8_t> from, to;
  from.SetGlobalBuffer((__gm__ uint8_t*)in);
  to.SetGlobalBuffer((__gm__ uint8_t*)out);
  DataCopy(ub.all, from, kImage);
  PipeBarrier<PIPE_ALL>();
  %(body)s
  PipeBarrier<PIPE_ALL>();
  DataCopy(to, ub.all, kImage);
  PipeBarrier<PIPE_ALL>();
}
"""


def vector_kernels(bodies: Mapping[str, str]) -> dict[str, Kernel]:
    """A kernel for each named body; in a body `ub.at<T>(byte)` is the tensor at a byte of UB."""
    text = _HEADER + "".join(_KERNEL % {"name": name, "body": body} for name, body in bodies.items())
    return build_all(text, entries=list(bodies))


def run_image(
    kernel: Kernel, image: np.ndarray[Any, Any], **knobs: Any
) -> tuple[np.ndarray[Any, Any], Report]:
    """The image after the body, and the report."""
    out = np.zeros(IMAGE, np.uint8)
    report = kernel.run(
        1, [Argument("in", image.copy()), Argument("out", out, output=True)], knobs=Knobs(**knobs)
    )
    return out, report


def fresh_image(seed: int = 0) -> np.ndarray[Any, Any]:
    """Random bytes, none of which is a NaN or inf of half, bfloat16 or float."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 0x3C, IMAGE, dtype=np.uint8)


def put(image: np.ndarray[Any, Any], byte: int, values: np.ndarray[Any, Any]) -> None:
    """Stores an array into the image."""
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    image[byte : byte + raw.size] = raw


def get(image: np.ndarray[Any, Any], byte: int, count: int, dtype: Any) -> np.ndarray[Any, Any]:
    """Reads an array from the image."""
    size = np.dtype(dtype).itemsize
    return image[byte : byte + count * size].view(dtype)
