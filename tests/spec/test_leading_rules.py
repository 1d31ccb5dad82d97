"""Values that are the first channels of the keys: what a contract demands of their number by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.spec.operator.loader import load

SPEC = """
from attndsl.spec import Operator, attend
op = Operator("latent", summary="Values are the first channels of the keys.")
B, N, K, T, D, V = op.dims("B N K T D V")
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=V)
query = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
scale = op.input("scale", "V", dtype="float32", axes="E")
STATED
keys = attend.rows(key)
rows = attend.softmax(attend.scores(query, keys)) @ attend.leading(keys, V)
op.output("out", rows * scale, like=query, layouts="B N 1 V")
"""


@pytest.mark.parametrize(
    ("stated", "made"),
    [
        ("", ["V <= D"]),
        ('op.require(V >= 16, "is no smaller")', ["V <= D"]),
        ('op.require(V < D, "leaves rotary channels")', []),
    ],
)
def test_leading_channels_are_channels_of_the_keys(tmp_path: Path, stated: str, made: list[str]) -> None:
    """A rule about both sizes is the author's; one about the number alone does not bound it."""
    path = tmp_path / "latent.py"
    path.write_text(SPEC.replace("STATED", stated))
    rules = [rule for rule in load(path).constraints if "channels of the keys" in rule.text]
    assert [str(rule.condition) for rule in rules] == made
