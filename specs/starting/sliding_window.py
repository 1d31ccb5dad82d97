"""Causal attention in a sliding window, with a learned sink for each head.

A starting point: `attndsl verify sliding_window.py` proves it, `attndsl generate sliding_window.py` writes
its project.
"""

from attndsl.spec import Operator, attend

op = Operator("sliding_window", summary="Causal attention in a window, with a sink for each head.")

# Sizes have any names. op.axes says what they are in attention: B batch rows, N query heads, K key/value
# heads, Q query positions, T key positions, D channels of queries and keys, E channels of values.
B, N, K, S, D = op.dims("B N K S D")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)

# Arguments, in the order of the signature: name, layout in memory, and axes of the layout in this order.
query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
sink = op.input("sink", "N", dtype="float32", axes="N")  # numbers of heads and rows are float32
scale = op.param("scale", float, default=0.125, finite=True)
window = op.param("window", int, default=128, ge=1, meaning="keys that a query sees, its own among them")

# What must hold of each call; Python, the host code and the generator of cases all read it.
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

# What is computed. Conditions are joined by & and |, each in parentheses, and negated by ~. Keys that no
# row of a task sees are neither loaded nor multiplied.
i, j = attend.QUERY, attend.KEY
s = attend.scores(query, attend.rows(key)) * scale
s = s.where((j <= i) & (j > i - window))

# A sink is a further logit in the denominator that no key has. Leave it out for a plain softmax.
p = attend.softmax(s, sink=sink)
op.output("out", p @ attend.rows(value), like=query)
