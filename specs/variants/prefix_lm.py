"""Prefix language model: the first prefix[b] tokens see each other, later ones all before them."""

from attndsl.spec import Operator, attend

op = Operator("prefix_lm", summary="Attention that is causal after a prefix.")
B, N, K, S, D = op.dims("B N K S D")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)

query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
prefix = op.lengths("prefix", "B", one_for_all=False)
scale = op.param("scale", float, default=0.125, finite=True)
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

b, i, j = attend.BATCH, attend.QUERY, attend.KEY
op.require((prefix[b] >= 0) & (prefix[b] <= S), "must be within the tokens", over={b: B}, argument="prefix")
s = attend.scores(query, attend.rows(key)) * scale
op.output("out", attend.softmax(s.where((j <= i) | (j < prefix[b]))) @ attend.rows(value), like=query)
