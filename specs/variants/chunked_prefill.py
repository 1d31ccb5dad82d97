"""Chunked prefill over a paged cache: the queries of a batch row are the last of its tokens, packed.

Query i of a batch row with c queries and L cached tokens is token i + L - c (causal from the bottom right).
"""

from attndsl.spec import Operator, attend

op = Operator(
    "chunked_prefill", summary="Causal attention of the last tokens of prompts, over a paged cache."
)
B, N, K, S, D, C, P, R, W = op.dims("B N K S D C P R W")
op.let(C, op.longest("query_ends"))
op.axes(B=B, N=N, K=K, S=S, Q=C, T=W * R, D=D, E=D, P=P, R=R, W=W)

query = op.input("query", "S N D", dtype=("float16", "bfloat16"), axes="S N D")
key_cache = op.input("key_cache", "P K R D", dtype=query, axes="P K R D")
value_cache = op.input("value_cache", "P K R D", dtype=query, axes="P K R E")
table = op.input("table", "B W", dtype="int32", axes="B W")
queries = op.prefix_sums("query_ends", "B", total=S)
lengths = op.lengths("lengths", "B", one_for_all=False, meaning="cached tokens, the queries among them")
scale = op.param("scale", float, default=0.125, finite=True)

b, i, j = attend.BATCH, attend.QUERY, attend.KEY
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")
op.require(R % 16 == 0, "must have a multiple of 16 rows a block", argument="key_cache")
op.require(lengths[b] >= 0, "must not be negative", over={b: B})

keys = attend.paged(key_cache, table, R, length=lengths)
values = attend.paged(value_cache, table, R, length=lengths)
s = attend.scores(attend.packed(query, queries), keys) * scale
s = s.where(j <= i + lengths[b] - queries.length(b))
op.output("out", attend.softmax(s) @ values, like=query)
