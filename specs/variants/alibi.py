"""ALiBi: a linear bias of the distance, with a slope for each head."""

from attndsl.spec import Operator, attend

op = Operator("alibi", summary="Causal attention with a linear bias of the distance.")
B, N, K, S, D = op.dims("B N K S D")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)

query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
slopes = op.input("slopes", "N", dtype="float32", axes="N")
scale = op.param("scale", float, default=0.125, finite=True)
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

i, j = attend.QUERY, attend.KEY
s = attend.scores(query, attend.rows(key)) * scale + slopes * attend.index(j - i)
op.output("out", attend.softmax(s.where(j <= i)) @ attend.rows(value), like=query)
