"""A step of ring attention: a block of keys, merged with what earlier steps gave for the same queries.

With the log-sum-exp L of the step's own scores and its result O: lse = log(exp(L) + exp(prev_lse)) and
out = exp(L - lse) O + exp(prev_lse - lse) prev_out. Rows with prev_lse = -inf have seen no key yet; the
first step passes neither. A query at position i sees the keys up to i + behind of the block.
"""

from attndsl.spec import Operator, attend

op = Operator("ring_step", summary="One step of causal ring attention, out and lse carried in fp32.")
B, N, K, S, T, D = op.dims("B N K S T D")
op.axes(B=B, N=N, K=K, Q=S, T=T, D=D, E=D)

query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
value = op.input("value", "B K T D", dtype=query, axes="B K T E")
prev_out = op.input("prev_out", "B N S D", dtype="float32", axes="B N Q E", optional=True)
prev_lse = op.input("prev_lse", "B N S", dtype="float32", axes="B N Q", optional=True)
length = op.lengths("length", "B", one_for_all=False, meaning="keys of the block")
scale = op.param("scale", float, default=0.125, finite=True)
behind = op.param("behind", int, default=0, ge=0, meaning="from the block's first key to the first query")
b, i, j = attend.BATCH, attend.QUERY, attend.KEY
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")
op.require(length[b] >= 0, "must not be negative", over={b: B})

s = attend.scores(query, attend.rows(key, length=length)) * scale
p = attend.softmax(s.where(j <= i + behind))
merged = attend.merge((prev_out, prev_lse), p @ attend.rows(value, length=length))
op.output("out", merged, like=query, dtype="float32")
op.output("lse", merged.lse, like=query, layouts="B N S", dtype="float32")
