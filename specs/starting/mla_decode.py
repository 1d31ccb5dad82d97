"""Decoding with latent attention, absorbed: one cached row a token, whose first channels are its value.

A starting point: `attndsl verify mla_decode.py` proves it, `attndsl generate mla_decode.py` writes its
project.
"""

from attndsl.spec import Operator, attend

op = Operator("mla_decode", summary="Absorbed latent attention of one token, over a paged cache.")

# D counts the latent channels and the rotary ones behind them, 512 + 64 as a rule; a call says how many are
# latent, and these are the values: axis E. Parameters that sizes need are named ahead of their declaration.
B, N, P, R, D, W = op.dims("B N P R D W")
(latent,) = op.ahead("latent")
op.axes(B=B, N=N, K=1, Q=1, T=W * R, D=D, E=latent, P=P, R=R, W=W)

# Arguments, in the order of the signature: name, layout in memory, and axes of the layout in this order.
query = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
cache = op.input("cache", "P 1 R D", dtype=query, axes="P K R D", meaning="latent channels, then rotary ones")
table = op.input("table", "B W", dtype="int32", axes="B W")
lengths = op.lengths("lengths", "B", one_for_all=False, meaning="cached tokens of each request")
scale = op.param("scale", float, default=0.0722, finite=True)
op.param("latent", int, default=512, ge=1, le=512, meaning="channels that are values")

# What must hold of each call. Elements are read by indices, and `over` says how many of each there are. That
# rows fit the columns of the table, and that these name blocks of the cache, is demanded by itself.
b = attend.BATCH
op.require(latent <= D, "must be channels of the cache", argument="latent")
op.require(R % 16 == 0, "must have a multiple of 16 rows a block", argument="cache")
op.require(lengths[b] >= 0, "must not be negative", over={b: B})

# What is computed. attend.leading takes the first channels; nothing is read twice that the tile still holds.
keys = attend.paged(cache, table, R, length=lengths)
values = attend.paged(attend.leading(cache, latent), table, R, length=lengths)
p = attend.softmax(attend.scores(query, keys) * scale)

# A result of other channels than the query says its own layout.
op.output("out", p @ values, like=query, layouts="B N 1 latent")
