"""Differential attention: the difference of two softmaxes over one value, lam times the second one.

out = (softmax(q1 k1^T * scale) - lam softmax(q2 k2^T * scale)) v, causal.
"""

from attndsl.spec import Operator, TensorValue, Value, attend

op = Operator("differential", summary="The difference of two causal attentions with the same values.")
B, N, K, S, D, E = op.dims("B N K S D E")
op.axes(B=B, N=N, K=K, Q=S, T=S, D=D, E=E)

query1 = op.input("query1", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
query2 = op.input("query2", "B N S D", dtype=query1, axes="B N Q D")
key1 = op.input("key1", "B K S D", dtype=query1, axes="B K T D")
key2 = op.input("key2", "B K S D", dtype=query1, axes="B K T D")
value = op.input("value", "B K S E", dtype=query1, axes="B K T E")
lam = op.param("lam", float, default=0.8, finite=True)
scale = op.param("scale", float, default=0.125, finite=True)
op.require(N % K == 0, "must be a multiple of the heads of key1", argument="query1")


def part(query: TensorValue, key: TensorValue) -> Value:
    """One of the two attentions."""
    s = attend.scores(query, attend.rows(key)) * scale
    return attend.softmax(s.where(attend.KEY <= attend.QUERY)) @ attend.rows(value)


op.output("out", part(query1, key1) - part(query2, key2) * lam, like=query1, layouts="B N S E")
