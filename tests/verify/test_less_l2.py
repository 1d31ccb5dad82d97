"""Cases on a device whose L2 holds keys and values of few heads: tasks come in groups, and results stay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from attndsl.api.backends import run_checked
from attndsl.base.package_files import specs_dir
from attndsl.campaign.less_l2 import call_of, with_less_l2
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator import find_compiler
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load_file
from attndsl.verify.cases.case import Case
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_call, decode_spec


def prompt(heads: int, positions: int) -> Call:
    """ALiBi of one batch row."""
    rng = np.random.default_rng(0)
    operator = load_file(Path(specs_dir()) / "variants" / "alibi.py")
    rows = {
        name: rng.standard_normal((1, heads, positions, 128)).astype(np.float16)
        for name in ("query", "key", "value")
    }
    return operator.bind(**rows, slopes=np.full(heads, 0.01, np.float32))


def tiling(call: Call) -> Mapping[str, Any]:
    return prepare(call).tiling


@pytest.mark.parametrize(("heads", "at_once"), [(3, 2), (5, 3), (7, 4)])
def test_the_last_group_is_smaller_and_all_else_as_before(heads: int, at_once: int) -> None:
    whole = prompt(heads, 600)
    less = with_less_l2(whole)
    assert less.l2_bytes is not None
    assert tiling(less) == {**tiling(whole), "headsAtOnce": at_once}


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_groups_of_one_size_are_no_other_order(heads: int) -> None:
    whole = prompt(heads, 600)
    assert with_less_l2(whole) is whole


def test_kernels_without_groups_keep_their_l2(tmp_path: Path) -> None:
    call = decode_spec(tmp_path, DECODE_SCORES, DECODE_RESULT).bind(**decode_call(t=20, d=16))
    assert with_less_l2(call) is call


def test_every_other_case_has_less() -> None:
    call = prompt(3, 600)
    cases = [cast(Case, SimpleNamespace(number=number, call=lambda: call)) for number in range(3)]
    assert [call_of(case).l2_bytes is None for case in cases] == [False, True, False]


@pytest.mark.skipif(find_compiler() is None, reason="there is no C++ compiler")
def test_another_order_of_tasks_gives_the_same_results() -> None:
    whole = prompt(5, 600)
    outputs = []
    for call in (whole, with_less_l2(whole)):
        (output,), findings = run_checked(call, "emulator")
        assert findings == ()
        outputs.append(output)
    assert np.array_equal(*outputs)
