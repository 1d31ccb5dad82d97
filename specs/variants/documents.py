"""Documents in one sequence: tokens see earlier ones of their own document, in a window. Documents may lie in
any order; segment_ids names that of each token."""

from attndsl.spec import Operator, attend

op = Operator("documents", summary="Causal attention within documents, in a window.")
B, N, K, S, D = op.dims("B N K S D")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)

query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
segment_ids = op.input("segment_ids", "B S", dtype="int32", indexed=True)
scale = op.param("scale", float, default=0.125, finite=True)
window = op.param("window", int, default=256, ge=1)
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

b, i, j = attend.BATCH, attend.QUERY, attend.KEY
same = segment_ids[b, i] == segment_ids[b, j]
s = attend.scores(query, attend.rows(key)) * scale
p = attend.softmax(s.where(same & (j <= i) & (j > i - window)))
op.output("out", p @ attend.rows(value), like=query)
