"""Latent attention, absorbed: one cached row a token, whose first latent channels are its value.

The queries are the last tokens: one, or several where tokens are guessed ahead."""

from attndsl.spec import Operator, attend

op = Operator("mla_decode", summary="Absorbed latent attention of the last tokens, over a paged cache.")
B, N, Q, P, R, D, W = op.dims("B N Q P R D W")
(latent,) = op.ahead("latent")
op.axes(B=B, N=N, K=1, Q=Q, T=W * R, D=D, E=latent, P=P, R=R, W=W)

query = op.input("query", "B N Q D", dtype=("float16", "bfloat16"), axes="B N Q D")
cache = op.input("cache", "P 1 R D", dtype=query, axes="P K R D", meaning="latent channels, then rotary ones")
table = op.input("table", "B W", dtype="int32", axes="B W")
lengths = op.lengths("lengths", "B", one_for_all=False)
scale = op.param("scale", float, default=0.0722, finite=True)
latent = op.param("latent", int, default=512, ge=1, le=512)

b, i, j = attend.BATCH, attend.QUERY, attend.KEY
op.require(latent <= D, "must be channels of the cache", argument="latent")
op.require(R % 16 == 0, "must have a multiple of 16 rows a block", argument="cache")
op.require(lengths[b] >= 0, "must not be negative", over={b: B})

keys = attend.paged(cache, table, R, length=lengths)
values = attend.paged(attend.leading(cache, latent), table, R, length=lengths)
s = attend.scores(query, keys) * scale
p = attend.softmax(s.where(j <= lengths[b] - Q + i))
op.output("out", p @ values, like=query, layouts="B N Q latent")
op.output("lse", p.lse, like=query, layouts="B N Q", dtype="float32")
