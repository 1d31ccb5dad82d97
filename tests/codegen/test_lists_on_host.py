"""Lists of one tensor a batch row in the host code: checked, measured and planned as Python does."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.codegen.host.tiling_text import host_text
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator.toolchain import find_compiler
from attndsl.execute.execute import plan_of, written
from tests.support.tensor_lists import BAD, BAD_SPLIT, LEGAL, decoder, lists

from . import op_host_calls
from .contract_calls import in_python
from .host_calls import Untold, checked
from .op_host_calls import OpHost, fields_of

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
CALLS = {f"incre: {name}": ("incre_flash_attention", call) for name, call in LEGAL.items()}
CALLS |= {f"incre: {name}": ("incre_flash_attention", row[0]) for name, row in BAD.items()}
CALLS |= {"incre: no tensors": ("incre_flash_attention", lists(key=[], value=[]))}
CALLS |= {"split": ("self_attention", decoder())}
CALLS |= {f"split: {row[2]}": ("self_attention", decoder(**row[0])) for row in BAD_SPLIT}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lists")


@pytest.mark.parametrize("operator", ["incre_flash_attention", "self_attention"])
def test_lists_are_checked_with_the_words_of_python(operator: str, folder: Path) -> None:
    compared, different = 0, []
    for label, (name, call) in CALLS.items():
        if name != operator:
            continue
        error, message, warned = in_python(name, call)
        try:
            got = checked(getattr(ops, name), call, folder)
        except Untold:
            continue
        compared += 1
        wanted = ("" if error is None else error.__name__, message, warned)
        if got != wanted:
            different.append((label, got, wanted))
    assert not different, "\n".join(map(str, different))
    assert compared >= (25 if operator == "incre_flash_attention" else 9), compared


def test_tiling_of_lists_is_that_of_the_emulated_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call finds its kernel; rows that are not told count in the tiling as the longest tensor's."""
    operator = ops.incre_flash_attention
    dense = lists(key=[np.ones((3, 9, 32), np.float16)], value=[np.ones((3, 9, 32), np.float16)])
    calls = [lists(), lists(actual_seq_lengths=[5, 9, 0]), LEGAL["without the batch dimension"], dense]
    launches = [prepare(operator.bind(**call), 3) for call in calls]
    kernels = {each.compiled.specialization: each.compiled for each in launches}
    assert len(kernels) == 2
    project = SimpleNamespace(kernels=tuple(kernels.values()))
    monkeypatch.setattr(op_host_calls, "plan_project", lambda *_: project)
    made = OpHost(operator, tmp_path, KernelRequest())
    for call, launch in zip(calls, launches, strict=True):
        got, plan = made.tile(call, 3), plan_of(launch, written(launch.compiled))
        assert got is not None and got["key"] == plan.key and got["blocks"] == launch.blocks
        assert got["workspace"] == (16 << 20) + launch.workspace_bytes
        emulated = fields_of(host_text([launch.compiled]).fields, plan.tiling.tobytes())
        assert emulated.items() <= got["data"].items()
        assert made.infer(call) == [("float16", (3, 1, 64))]
