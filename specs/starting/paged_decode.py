"""Decoding: one token of each request over a paged cache.

A starting point: `attndsl verify paged_decode.py` proves it, `attndsl generate paged_decode.py` writes its
project.
"""

from attndsl.spec import Operator, attend

op = Operator("paged_decode", summary="Attention of one token over a paged cache.")

# The cache has P blocks of R tokens; row b of the table has W columns that name the blocks of request b.
B, N, K, D, P, R, W = op.dims("B N K D P R W")
op.axes(B=B, N=N, K=K, Q=1, T=W * R, D=D, E=D, P=P, R=R, W=W)

# Arguments, in the order of the signature: name, layout in memory, and axes of the layout in this order.
# For a cache of (blocks, tokens, heads, channels) write "P R K D"; the axes stay as they are.
query = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
key_cache = op.input("key_cache", "P K R D", dtype=query, axes="P K R D")
value_cache = op.input("value_cache", "P K R D", dtype=query, axes="P K R E")
table = op.input("table", "B W", dtype="int32", axes="B W")
lengths = op.lengths("lengths", "B", one_for_all=False, meaning="cached tokens of each request")
scale = op.param("scale", float, default=0.125, finite=True)

# What must hold of each call. Elements are read by indices, and `over` says how many of each there are. That
# rows fit the columns of the table, and that these name blocks of the cache, is demanded by itself.
b = attend.BATCH
op.require(N % K == 0, "must be a multiple of the heads of key_cache", argument="query")
op.require(R % 16 == 0, "must have a multiple of 16 rows a block", argument="key_cache")
op.require(lengths[b] >= 0, "must not be negative", over={b: B})

# What is computed. Keys and values are read alike: the same table, block size and lengths.
keys = attend.paged(key_cache, table, R, length=lengths)
values = attend.paged(value_cache, table, R, length=lengths)
s = attend.scores(query, keys) * scale
p = attend.softmax(s)
op.output("out", p @ values, like=query)

# The schedule is chosen by itself; `attndsl tune paged_decode.py --shape B=16,N=32,K=8,D=128,...` looks for
# a faster one, and op.schedule(tile_k=512, split_kv="auto") states one.
