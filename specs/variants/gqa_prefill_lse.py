"""Causal attention of prompts with grouped heads, and the log-sum-exp of each row.

out = softmax(q k^T * scale, j <= i) v and lse = log(sum_j exp(s_ij)), as split prefill keeps them.
"""

from attndsl.spec import Operator, attend

op = Operator("gqa_prefill_lse", summary="Causal attention of prompts, with the log-sum-exp of each row.")
B, N, K, S, D = op.dims("B N K S D")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)

query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
scale = op.param("scale", float, default=0.125, finite=True)
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

i, j = attend.QUERY, attend.KEY
s = attend.scores(query, attend.rows(key)) * scale
p = attend.softmax(s.where(j <= i))
op.output("out", p @ attend.rows(value), like=query)
op.output("lse", p.lse, like=query, layouts="B N S", dtype="float32")
