"""Causal attention of prompts of different lengths, packed back to back.

A starting point: `attndsl verify packed_prefill.py` proves it, `attndsl generate packed_prefill.py` writes
its project.
"""

from attndsl.spec import Operator, attend

op = Operator("packed_prefill", summary="Causal attention of prompts, packed back to back.")

# S counts the query tokens of all prompts, U their key tokens; Q and T are positions within one prompt, at
# most as many as the longest has. op.let defines a size by what a call tells beside shapes.
B, N, K, S, U, D, longest_query, longest_key = op.dims("B N K S U D longest_query longest_key")
op.let(longest_query, op.longest("query_ends"))
op.let(longest_key, op.longest("key_ends"))
op.axes(B=B, N=N, K=K, S=S, Q=longest_query, U=U, T=longest_key, D=D, E=D)

# Arguments, in the order of the signature: name, layout in memory, and axes of the layout in this order.
query = op.input("query", "S N D", dtype=("float16", "bfloat16"), axes="S N D")
key = op.input("key", "U K D", dtype=query, axes="U K D")
value = op.input("value", "U K D", dtype=query, axes="U K E")

# The ends of the prompts: [3, 3, 8] for prompts of 3, 0 and 5 tokens. That they do not fall and end at the
# number of tokens is demanded by itself.
queries = op.prefix_sums("query_ends", "B", total=S)
tokens = op.prefix_sums("key_ends", "B", total=U)
scale = op.param("scale", float, default=0.125, finite=True)

# What must hold of each call; Python, the host code and the generator of cases all read it.
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

# What is computed. The last query of a prompt sees all of its keys: causal from the bottom right.
b, i, j = attend.BATCH, attend.QUERY, attend.KEY
keys, values = attend.packed(key, tokens), attend.packed(value, tokens)
s = attend.scores(attend.packed(query, queries), keys) * scale
s = s.where(j <= i + tokens.length(b) - queries.length(b))
p = attend.softmax(s)
op.output("out", p @ values, like=query)

# Results of packed queries have the axes S and N, too.
op.output("lse", p.lse, like=query, layouts="S N", dtype="float32")
