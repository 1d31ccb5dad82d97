"""A spec as a user writes it: sliding-window attention with grouped heads."""

from attndsl.spec import Operator, attend

op = Operator("sliding_window_attention")
B, N, KN, S, T, D, DV = op.dims("B N KN S T D DV")
op.axes(B=B, N=N, K=KN, Q=S, T=T, D=D, E=DV)

q = op.input("query", "B N S D", dtype=("float16", "float32"))
k = op.input("key", "B KN T D", dtype=q)
v = op.input("value", "B KN T DV", dtype=q)
bias = op.input("bias", "N S T", dtype=q, optional=True)
scale = op.param("scale_value", float, default=1.0)
op.keyword_only()
window = op.param("window", int, ge=1)
op.require(N % KN == 0, "query heads are a multiple of kv heads")
op.require(T >= S, "every query has its own key")

s = attend.scores(q, k) * scale + bias
i, j = attend.QUERY + (T - S), attend.KEY
s = s.where((j <= i) & (i - j < window))
op.output("out", attend.softmax(s) @ v, like=q)
