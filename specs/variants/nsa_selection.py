"""Selected attention (Native Sparse Attention, arXiv 2502.11089): each token and key/value head attends to
the blocks of keys that its list names. Entries may be in any order; -1 stands for none."""

from attndsl.spec import Operator, attend

op = Operator("nsa_selection", summary="Causal attention to blocks of keys that lists name.")
B, N, K, S, U, D, E, C, M, X = op.dims("B N K S U D E C M X")
op.let(C, op.longest("query_ends"))
op.let(M, op.longest("key_ends"))
op.axes(B=B, N=N, K=K, S=S, Q=C, U=U, T=M, D=D, E=E, X=X)

query = op.input("query", "S N D", dtype=("float16", "bfloat16"), axes="S N D")
key = op.input("key", "U K D", dtype=query, axes="U K D")
value = op.input("value", "U K E", dtype=query, axes="U K E")
topk_indices = op.input("topk_indices", "S K X", dtype="int32", axes="S K X")
queries = op.prefix_sums("query_ends", "B", total=S)
tokens = op.prefix_sums("key_ends", "B", total=U)
scale = op.param("scale", float, default=0.125, finite=True)
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")

b, i, j = attend.BATCH, attend.QUERY, attend.KEY
keys = attend.selected(attend.packed(key, tokens), topk_indices, 64)
values = attend.selected(attend.packed(value, tokens), topk_indices, 64)
s = attend.scores(attend.packed(query, queries), keys) * scale
p = attend.softmax(s.where(j <= i + tokens.length(b) - queries.length(b)))
op.output("out", p @ values, like=query)
op.output("lse", p.lse, like=query, layouts="S N", dtype="float32")
