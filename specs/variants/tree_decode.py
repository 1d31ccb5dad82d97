"""Speculative decoding: draft tokens of a tree over a paged cache; each sees the prefix and its ancestors."""

from attndsl.spec import Operator, attend

op = Operator("tree_decode", summary="Attention of the draft tokens of a tree, over a paged cache.")
B, N, K, T, L, D, P, R, W = op.dims("B N K T L D P R W")
op.axes(B=B, N=N, K=K, Q=T, T=L, D=D, E=D, P=P, R=R, W=W)

query = op.input("query", "B N T D", dtype=("float16", "bfloat16"), axes="B N Q D")
key_cache = op.input("key_cache", "P K R D", dtype=query, axes="P K R D")
value_cache = op.input("value_cache", "P K R D", dtype=query, axes="P K R E")
table = op.input("table", "B W", dtype="int32", axes="B W")
lengths = op.lengths("lengths", "B", one_for_all=False, meaning="cached tokens, the drafts among them")
ancestors = op.input("ancestors", "B T L", dtype="bool", axes="B Q T", meaning="the draft sees the token")
scale = op.param("scale", float, default=0.125, finite=True)

b = attend.BATCH
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")
op.require(W * R == L, "must have a column for each token of the table", argument="ancestors")
op.require(R % 16 == 0, "must have a multiple of 16 rows a block", argument="key_cache")
op.require(lengths[b] >= 0, "must not be negative", over={b: B})

keys = attend.paged(key_cache, table, R, length=lengths)
values = attend.paged(value_cache, table, R, length=lengths)
s = attend.scores(query, keys) * scale
op.output("out", attend.softmax(s.where(ancestors)) @ values, like=query)
