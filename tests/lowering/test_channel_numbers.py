"""Results with numbers of channels: gates, scales and residuals, of each head, row or call."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.row_results import OUT, PACKED, check
from tests.support.small_specs import (
    DECODE_SCORES,
    decode_call,
    decode_spec,
    halves,
    packed_call,
    packed_spec,
)

GATE = 'gate = op.input("gate", "B N 1 D", dtype=query, axes="B N Q E")'
CHANNEL = 'channel = op.input("channel", "N D", dtype="float32", axes="N E")'
FORMS = {
    "a gate": "attend.sigmoid(gate) * out",
    "a residual in front": "gate * 0.5 - out * 2.0",
    "a scale of the channels of each head": "out * (1.0 + channel)",
    "a quotient": "out / attend.exp(channel)",
    "a gate of what is scaled": "(out + channel) * attend.sigmoid(gate * 2.0)",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", [32, 20])
def test_numbers_of_channels(tmp_path: Path, form: str, d: int) -> None:
    """Of head sizes with and without padding."""
    text = FORMS[form]
    declared = [line for name, line in (("gate", GATE), ("channel", CHANNEL)) if name in text]
    body = (DECODE_SCORES, "out = attend.softmax(s) @ attend.rows(value)", f"out = {text}", OUT)
    op = decode_spec(tmp_path, *body, declared="\n".join(declared), schedule="tile_k=128")
    more = {"gate": halves(2, 4, 1, d), "channel": halves(4, d).astype(np.float32)}
    call = {name: more[name] for name in more if name in text}
    check(op, "tile", **decode_call(d=d), **call)


@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_a_gate_of_packed_rows(tmp_path: Path, backend: str) -> None:
    gate = 'gate = op.input("gate", "T1 N D", dtype=query, axes="S N E")'
    op = packed_spec(tmp_path, PACKED, "out = out * attend.sigmoid(gate)", OUT, declared=gate)
    check(op, backend, **packed_call([5, 3, 40], [200, 0, 300]), gate=halves(48, 4, 32))
