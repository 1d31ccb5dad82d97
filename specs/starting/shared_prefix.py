"""Decoding with prefixes that requests share: each attends to the prefix of its group and to its own keys.

A starting point: `attndsl verify shared_prefix.py` proves it, `attndsl generate shared_prefix.py` writes its
project.
"""

from attndsl.spec import Operator, Value, attend

op = Operator("shared_prefix", summary="Attention of one token over a shared prefix and its own keys.")

# There are G prefixes, each stored once, and each request's own keys, both with room for T tokens.
B, N, K, G, T, D = op.dims("B N K G T D")
op.axes(B=B, N=N, K=K, Q=1, G=G, T=T, D=D, E=D)

# Arguments, in the order of the signature: name, layout in memory, and axes of the layout in this order.
query = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
prefix_key = op.input("prefix_key", "G K T D", dtype=query, axes="G K T D")
prefix_value = op.input("prefix_value", "G K T D", dtype=query, axes="G K T E")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
value = op.input("value", "B K T D", dtype=query, axes="B K T E")
group = op.lengths("group", "B", one_for_all=False, meaning="the prefix of each request; -1: none")
prefix_lengths = op.lengths("prefix_lengths", "B", one_for_all=False, meaning="prefix tokens of each request")
lengths = op.lengths("lengths", "B", one_for_all=False, meaning="own tokens of each request")
scale = op.param("scale", float, default=0.125, finite=True)

# What must hold of each call. Elements are read by indices, and `over` says how many of each there are.
b = attend.BATCH
op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")
op.require((group[b] >= -1) & (group[b] < G), "must name a prefix, or be -1", over={b: B}, argument="group")
op.require((prefix_lengths[b] >= 0) & (prefix_lengths[b] <= T), "must be tokens of a prefix", over={b: B})
op.require(lengths[b] >= 0, "must not be negative", over={b: B}, argument="lengths")


def part(keys: Value, values: Value) -> Value:
    """Attention over one of the two sources."""
    return attend.softmax(attend.scores(query, keys) * scale) @ values


# What is computed: attention over the keys of both, by the log-sum-exp merge of two softmaxes.
prefixes = (attend.listed(each, index=group[b], length=prefix_lengths) for each in (prefix_key, prefix_value))
own = (attend.rows(each, length=lengths) for each in (key, value))
merged = attend.merge(part(*prefixes), part(*own))
op.output("out", merged, like=query)

# What is merged has row statistics of all its parts.
op.output("lse", merged.lse, like=query, layouts="B N 1", dtype="float32")
