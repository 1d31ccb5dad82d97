"""Attention of Gemma 2: scores capped by tanh, a sliding window on every other layer (0: none)."""

from attndsl.spec import Operator, attend, select

op = Operator("gemma2", summary="Causal attention with capped scores, in a window.")
B, N, K, S, D = op.dims("B N K S D")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)

query = op.input("query", "B S N D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B S K D", dtype=query, axes="B K T D")
value = op.input("value", "B S K D", dtype=query, axes="B K T E")
scale = op.param("scale", float, default=0.0625, finite=True)
cap = op.param("cap", float, default=50.0, gt=0)
window_size = op.param("window_size", int, default=4096, ge=0, meaning="0: no window")
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

i, j = attend.QUERY, attend.KEY
window = select(window_size == 0, S, window_size)
s = attend.tanh(attend.scores(query, attend.rows(key)) * scale / cap) * cap
p = attend.softmax(s.where((j <= i) & (j > i - window)))
op.output("out", p @ attend.rows(value), like=query)
