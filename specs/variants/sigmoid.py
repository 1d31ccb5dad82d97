"""Sigmoid attention: weights of each key on their own, without a row normalization; bias is about -log(S)."""

from attndsl.spec import Operator, attend

op = Operator("sigmoid", summary="Causal attention by sigmoid weights.")
B, N, K, S, D = op.dims("B N K S D")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)

query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
scale = op.param("scale", float, default=0.125, finite=True)
bias = op.param("bias", float, default=-4.0, finite=True)
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

s = attend.scores(query, attend.rows(key)) * scale + bias
weights = attend.sigmoid(s.where(attend.KEY <= attend.QUERY))
op.output("out", weights @ attend.rows(value), like=query)
