"""Attention of prompts with grouped heads, whose scores pass between the cores in fp16: faster, less exact.

out = softmax(q k^T * scale) v, each product of q and k rounded to fp16: none may be beyond 65504, and a score
s is off by up to 2^-11 |s|.
"""

from attndsl.spec import Operator, attend

op = Operator("narrow_scores", summary="Attention of prompts, scores in fp16 between the cores.")
B, N, K, S, D = op.dims("B N K S D")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)

query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
scale = op.param("scale", float, default=0.125, finite=True)
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

s = attend.scores(query, attend.rows(key)) * scale
op.output("out", attend.softmax(s) @ attend.rows(value), like=query)
op.schedule(score_dtype="float16")
