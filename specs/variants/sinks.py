"""Attention of gpt-oss: a sliding window, and for each head a learned logit in the denominator."""

from attndsl.spec import Operator, attend

op = Operator("sinks", summary="Causal attention in a window, with a sink for each head.")
B, N, K, S, D = op.dims("B N K S D")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)

query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
sink = op.input("sink", "N", dtype="float32", axes="N")
scale = op.param("scale", float, default=0.125, finite=True)
window = op.param("window", int, default=128, ge=1)
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

i, j = attend.QUERY, attend.KEY
s = attend.scores(query, attend.rows(key)) * scale
p = attend.softmax(s.where((j <= i) & (j > i - window)), sink=sink)
op.output("out", p @ attend.rows(value), like=query)
op.output("lse", p.lse, like=query, layouts="B N S", dtype="float32")  # counts the sink
