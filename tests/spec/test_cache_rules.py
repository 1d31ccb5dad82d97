"""What a cache that rows are written to demands by itself, and what it leaves to the author."""

from pathlib import Path

import pytest

from attndsl.spec.operator.loader import load

SPEC = """
from attndsl.spec import Operator, attend, minimum
op = Operator("cached", summary="One new token a batch row behind a cache.")
B, N, K, T, D, U = op.dims("B N K T D U")
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D, U=U)
query = op.input("query", "B N D", dtype="float16", axes="B N D")
named = (("keys", "D"), ("values", "E"))
caches = [op.input(name, "B K T D", dtype=query, axes=f"B K T {size}") for name, size in named]
tokens = [op.input(f"new_{name}", "U K D", dtype=query, axes=f"U K {size}") for name, size in named]
total, added = op.lengths("total", "B", one_for_all=False), op.lengths("added", "B", one_for_all=False)
ring = op.param("ring", int, default=0)
window = op.param("window", int, default=4)
b = attend.BATCH
op.require(added[b] >= 0, "is no number of rows", over={b: B})
FIRST
def grown(cache, new):
    old = attend.rows(cache)
    OLD
    rows = attend.packed(new, length=added[b])
    return attend.append(old, rows, position=total[b] - added[b], length=total[b])
k, v = (grown(*each) for each in zip(caches, tokens))
op.output("out", attend.softmax(attend.scores(query, k)) @ v, like=query)
"""
FRONT, FITS = "total[b] - added[b] >= 0", "total[b] <= T"
CHOSEN = "old = attend.when(ring == 1, attend.ring(attend.rows(cache), window, length=total[b]), old)"
BEHIND = 'op.require(total[b] >= added[b], "counts the new ones", over={b: B}'
WITHIN = 'op.require(total[b] <= T, "is in the cache", over={b: B}'
IN_RING = 'op.require(minimum(total[b], window) <= T, "is in the ring", over={b: B}, when=ring == 1)'


@pytest.mark.parametrize(
    ("stated", "old", "made"),
    [
        ("", "", [FRONT, FITS]),
        (f"{BEHIND})", "", [FITS]),
        (f"{BEHIND}, when=ring == 1)", "", [FRONT, FITS]),
        (f"{WITHIN})", "", [FRONT]),
        (f"{WITHIN}, when=ring == 1)", "", [FRONT, FITS]),
        (f"{BEHIND})\n{WITHIN}, when=ring != 1)\n{IN_RING}", CHOSEN, []),
        (f"{BEHIND})\n{WITHIN}, when=ring == 1)\n{IN_RING}", CHOSEN, [FITS]),
        (f"{BEHIND})\n{WITHIN}, when=ring != 1)", CHOSEN, ["min(total[b], window) <= T"]),
    ],
)
def test_rules_of_a_cache_are_made_where_the_contract_has_none(
    tmp_path: Path, stated: str, old: str, made: list[str]
) -> None:
    """A rule of rows that are not negative is none of where they are written, and one that holds under a
    condition is none of the other rows."""
    path = tmp_path / "cached.py"
    path.write_text(SPEC.replace("FIRST", stated).replace("    OLD\n", f"    {old}\n" if old else ""))
    found = [rule for rule in load(path).constraints if "cache, whose" in rule.text or "row 0" in rule.text]
    assert [str(rule.condition) for rule in found] == made
