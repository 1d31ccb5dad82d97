"""Calls without batch rows, heads, channels or tokens: empty results, or the rule that they break."""

from pathlib import Path
from typing import Any

import pytest

from attndsl.spec.errors import CallError
from tests.support.small_specs import (
    DECODE_RESULT,
    DECODE_SCORES,
    PACKED_RESULT,
    assert_computes,
    decode_call,
    decode_spec,
    packed_call,
    packed_spec,
)

BACKENDS = pytest.mark.parametrize("backend", ["reference", "tile", "emulator"])


@BACKENDS
@pytest.mark.parametrize("sizes", [{"b": 0}, {"n": 0}])
def test_results_without_elements(tmp_path: Path, sizes: dict[str, Any], backend: str) -> None:
    call = decode_call(**sizes)
    found = decode_spec(tmp_path, DECODE_SCORES, DECODE_RESULT)(**call, backend=backend)
    assert found.shape == call["query"].shape and found.dtype == call["query"].dtype and not found.size


def test_heads_without_channels_are_refused(tmp_path: Path) -> None:
    op = decode_spec(tmp_path, DECODE_SCORES, DECODE_RESULT)
    with pytest.raises(CallError, match="D: must be at least 1, channels of a head; D is 0"):
        op(**decode_call(d=0))


@BACKENDS
def test_no_tokens(tmp_path: Path, backend: str) -> None:
    found = packed_spec(tmp_path, PACKED_RESULT)(**packed_call([0, 0], [40, 30]), backend=backend)
    assert found.shape == (0, 4, 32)


@pytest.mark.parametrize("heads", [0, 4])
def test_no_key_heads_break_the_rule_of_groups(tmp_path: Path, heads: int) -> None:
    op = decode_spec(tmp_path, DECODE_SCORES, DECODE_RESULT)
    with pytest.raises(CallError, match=f"query: a multiple; N is {heads}; K is 0"):
        op(**decode_call(n=heads, k=0))


@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_no_keys_give_zeros(tmp_path: Path, backend: str) -> None:
    op = decode_spec(tmp_path, DECODE_SCORES, DECODE_RESULT)
    assert_computes(op, backend, **decode_call(t=0))
    assert not op(**decode_call(t=0), backend=backend).any()
