"""Block-sparse attention: a byte for each head, block of 64 queries and block of 64 keys tells what is seen.

Key tiles that no row of a task sees are neither loaded nor multiplied.
"""

from attndsl.spec import Operator, attend

op = Operator("block_sparse", summary="Causal attention to the blocks of keys that a mask shows.")
B, N, K, S, D, X = op.dims("B N K S D X")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=D)

query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K S D", dtype=query, axes="B K T D")
value = op.input("value", "B K S D", dtype=query, axes="B K T E")
blocks = op.input("blocks", "B N X X", dtype=("bool", "int8"), indexed=True, meaning="queries see keys")
scale = op.param("scale", float, default=0.125, finite=True)

op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")
op.require(X * 64 >= S, "must have a column for each 64 keys", argument="blocks")

b, n, i, j = attend.BATCH, attend.HEAD, attend.QUERY, attend.KEY
s = attend.scores(query, attend.rows(key)) * scale
p = attend.softmax(s.where(blocks[b, n, i // 64, j // 64] & (j <= i)))
op.output("out", p @ attend.rows(value), like=query)
