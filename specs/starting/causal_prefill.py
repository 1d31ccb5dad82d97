"""Causal attention of prompts, with grouped heads.

A starting point: `attndsl verify causal_prefill.py` proves it, `attndsl generate causal_prefill.py` writes
its project.
"""

from attndsl.spec import Operator, attend

op = Operator("causal_prefill", summary="Causal attention of prompts, with grouped heads.")

# Sizes have any names. op.axes says what they are in attention: B batch rows, N query heads, K key/value
# heads, Q query positions, T key positions, D channels of queries and keys, E channels of values.
B, N, K, S, D = op.dims("B N K S D")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)

# Arguments, in the order of the signature: name, layout in memory, and axes of the layout in this order.
# For queries of (B, S, N, D) write "B S N D"; the axes stay as they are.
query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
scale = op.param("scale", float, default=0.125, finite=True)

# What must hold of each call; Python, the host code and the generator of cases all read it.
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

# What is computed. Scores have the axes B, N, Q and T; i and j are the positions of query and key.
i, j = attend.QUERY, attend.KEY
s = attend.scores(query, attend.rows(key)) * scale
s = s.where(j <= i)  # what is visible; other keys weigh nothing, and tiles without visible keys are skipped
p = attend.softmax(s)
op.output("out", p @ attend.rows(value), like=query)

# A second result: the log-sum-exp of each row, as training and split prefill keep it.
op.output("lse", p.lse, like=query, layouts="B N S", dtype="float32")
