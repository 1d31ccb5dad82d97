"""Three levels of shared keys: a system prompt, the prefix of a group of requests, and the request's own.

Each level has a capacity and lengths of its own; the log-sum-exp merge of their softmaxes is attention over
all keys.
"""

from attndsl.spec import Operator, attend, maximum

op = Operator("cascade", summary="Attention of one token over three levels of keys.")
B, N, K, T1, T2, T3, D = op.dims("B N K T1 T2 T3 D")
op.axes(B=B, N=N, K=K, Q=1, T=maximum(maximum(T1, T2), T3), D=D, E=D)

query = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
levels = []
for level, rows in (("system", T1), ("group", T2), ("own", T3)):
    key = op.input(f"{level}_key", f"B K {rows} D", dtype=query, axes="B K T D")
    value = op.input(f"{level}_value", f"B K {rows} D", dtype=query, axes="B K T E")
    levels.append((key, value, op.lengths(f"{level}_length", "B", one_for_all=False)))
scale = op.param("scale", float, default=0.125, finite=True)
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")
for _, _, length in levels:
    op.require(length[attend.BATCH] >= 0, "must not be negative", over={attend.BATCH: B})

parts = []
for key, value, length in levels:
    s = attend.scores(query, attend.rows(key, length=length)) * scale
    parts.append(attend.softmax(s) @ attend.rows(value, length=length))
merged = attend.merge(*parts)
op.output("out", merged, like=query)
op.output("lse", merged.lse, like=query, layouts="B N 1", dtype="float32")
