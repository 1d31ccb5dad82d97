"""Right specs of three kinds. Each mistake is one of them with a few words changed."""

from __future__ import annotations

DENSE = """\
from attndsl.spec import Operator, attend, select

op = Operator("mine", summary="Causal attention of prompts.")
B, N, K, S, T, D = op.dims("B N K S T D")
op.axes(B=B, N=N, K=K, Q=S, T=T, D=D, E=D)

query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
value = op.input("value", "B K T D", dtype=query, axes="B K T E")
lengths = op.lengths("lengths", "B", one_for_all=False)
scale = op.param("scale", float, default=0.125, finite=True)
window = op.param("window", int, default=256, ge=1)
# more
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

b, n, i, j = attend.BATCH, attend.HEAD, attend.QUERY, attend.KEY
keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)
s = attend.scores(query, keys) * scale
s = s.where(j <= i)
p = attend.softmax(s)
out = p @ values
op.output("out", out, like=query)
"""

PAGED = """\
from attndsl.spec import Operator, attend

op = Operator("mine", summary="Attention of one token over a paged cache.")
B, N, K, D, P, R, W = op.dims("B N K D P R W")
op.axes(B=B, N=N, K=K, Q=1, T=W * R, D=D, E=D, P=P, R=R, W=W)

query = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
key_cache = op.input("key_cache", "P K R D", dtype=query, axes="P K R D")
value_cache = op.input("value_cache", "P K R D", dtype=query, axes="P K R E")
table = op.input("table", "B W", dtype="int32", axes="B W")
lengths = op.lengths("lengths", "B", one_for_all=False)
scale = op.param("scale", float, default=0.125, finite=True)

op.require(N % K == 0, "must be a multiple of the heads of key_cache", argument="query")
op.require(R % 16 == 0, "must have a multiple of 16 rows a block", argument="key_cache")

keys = attend.paged(key_cache, table, R, length=lengths)
values = attend.paged(value_cache, table, R, length=lengths)
s = attend.scores(query, keys) * scale
op.output("out", attend.softmax(s) @ values, like=query)
"""

PACKED = """\
from attndsl.spec import Operator, attend

op = Operator("mine", summary="Causal attention of prompts, packed back to back.")
B, N, K, S, U, D, C, M = op.dims("B N K S U D C M")
op.let(C, op.longest("query_ends"))
op.let(M, op.longest("key_ends"))
op.axes(B=B, N=N, K=K, S=S, Q=C, U=U, T=M, D=D, E=D)

query = op.input("query", "S N D", dtype=("float16", "bfloat16"), axes="S N D")
key = op.input("key", "U K D", dtype=query, axes="U K D")
value = op.input("value", "U K D", dtype=query, axes="U K E")
queries = op.prefix_sums("query_ends", "B", total=S)
tokens = op.prefix_sums("key_ends", "B", total=U)
scale = op.param("scale", float, default=0.125, finite=True)

op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")
i, j = attend.QUERY, attend.KEY
keys, values = attend.packed(key, tokens), attend.packed(value, tokens)
s = attend.scores(attend.packed(query, queries), keys) * scale
p = attend.softmax(s.where(j <= i))
op.output("out", p @ values, like=query)
"""


def changed(text: str, changes: tuple[tuple[str, str], ...]) -> str:
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} is not there once"
        text = text.replace(old, new)
    return text
