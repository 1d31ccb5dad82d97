"""catlass' examples of attention, timed by the model that times ours.

A checkout of catlass (CANN Open Software License) is read where it is; nothing of it is stored. Tensors are
zeros, which timing without data does not read; lengths and block tables are those of the problem. Their
templates need g++ 14 or clang++: set CXX.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from public_programs import HERE, run_with_files

from attndsl.emulator.program import FOREIGN, Program, build_program
from attndsl.target import Device

_BLOCK = 128


@dataclass(frozen=True)
class Peer:
    """A run of an example.

    Attributes:
        name: as readers know it.
        row: our problem that it is set beside, and ``most``: how many times its time ours may take.
        main: the program, in the checkout.
        arguments: of its command line.
        files: what it reads, in bytes; ``numbers``: those with values.
        needs: sources besides the main one.
    """

    name: str
    row: str
    most: float
    main: Path
    arguments: tuple[str, ...]
    files: Mapping[str, int]
    numbers: Mapping[str, npt.NDArray[Any]]
    needs: tuple[str, ...] = ()


def _prompt(rows: int, mask: int, row: str) -> Peer:
    heads, size = 8, 128
    tensor = 2 * rows * heads * size
    return Peer(
        name=f"catlass 23, {'causal' if mask else 'full'} S{rows}",
        row=row,
        most=0.78,
        main=Path("examples/23_flash_attention_infer/fai.cpp"),
        arguments=(
            "1",
            str(rows),
            str(rows),
            str(heads),
            str(heads),
            str(size),
            "0",
            str(mask),
            "--dtype",
            "half",
        ),
        files={"q": tensor, "k": tensor, "v": tensor, "mask": 2 << 20, "golden": 2 * tensor},
        numbers={
            "q_ntokens": np.array([rows], np.int32),
            "q_seqlen": np.array([rows], np.int64),
            "kv_seqlen": np.array([rows], np.int64),
            "block_table": np.arange(rows // _BLOCK, dtype=np.int32),
        },
    )


def _latent(batch: int, keys: int, row: str) -> Peer:
    heads, blocks = 128, batch * keys // _BLOCK
    queries, cached = 2 * batch * heads, 2 * batch * keys
    return Peer(
        name=f"catlass 19, B{batch} S{keys}",
        row=row,
        most=0.75,
        main=Path("examples/19_mla/mla.cpp"),
        arguments=(
            str(batch),
            ",".join(["1"] * batch),
            ",".join([str(keys)] * batch),
            str(heads),
            str(blocks),
            str(_BLOCK),
            "--dtype",
            "half",
        ),
        files={
            "q": queries * 512,
            "q_rope": queries * 64,
            "k": cached * 512,
            "k_rope": cached * 64,
            "golden": 2 * queries * 512,
        },
        numbers={
            "q_ntokens": np.array([batch], np.int32),
            "q_seqlen": np.ones(batch, np.int32),
            "kv_seqlen": np.full(batch, keys, np.int32),
            "block_table": np.arange(blocks, dtype=np.int32),
        },
        needs=("examples/19_mla/mla_tiling.cpp",),
    )


def peers() -> tuple[Peer, ...]:
    """The runs beside which our figures are set."""
    return (
        _prompt(4096, 0, "prefill full S4096 fp16"),
        _prompt(4096, 1, "prefill causal S4096 fp16"),
        _latent(24, 4096, "MLA decode B24 N128 S4096"),
    )


def built(checkout: Path, main: str, needs: Sequence[str] = ()) -> Program:
    """An example's program; ``main`` and ``needs``: its sources, in the checkout.

    Raises:
        EmulatorError: it does not compile.
    """
    return build_program(
        checkout / main,
        sources=tuple(str(checkout / each) for each in needs),
        include_dirs=(str(checkout / "include"), str(checkout / "examples/common")),
        defines=("CATLASS_ARCH=2201",),
    )


def launches_of(peer: Peer, checkout: Path, on: Device) -> Iterator[float]:
    """Predicted microseconds of each launch of a run.

    Raises:
        EmulatorError: the program does not compile.
        RuntimeError: it launches nothing.
    """
    program = built(checkout.resolve(), str(peer.main), peer.needs)
    arguments = (*peer.arguments, "--datapath", HERE)
    files: dict[str, Any] = {**peer.files, **peer.numbers}
    report = run_with_files(program, arguments, files, on, knobs=replace(FOREIGN, timing=True))
    for each in report.launches:
        yield on.microseconds(each["cycles"])
