"""relay_attention: decoding with keys and values that batch rows share, such as a system prompt's.

B batch rows (one query token each), BS share groups, S1 capacity of a row's own keys, S2 capacity of a
group's shared keys, N key/value heads, D head size; query rows have headNum * D channels.
"""

from attndsl.spec import Operator, Value, attend, errors, select

op = Operator(
    "relay_attention",
    document="ATB RelayAttentionOperation",
    target="atlas-a2",
    summary="Attention of one new query token a batch row over its own keys and those of its share group.",
)

B, BS, N, D = op.dims("B BS N D")
S1, S2 = op.dims("S1 S2", default=0)
(headNum,) = op.ahead("headNum")
op.axes(B=B, G=BS, N=headNum, K=N, Q=1, T=S1, U=S2, D=D, E=D)

# Inputs, in the order of the document -------------------------------------------------------------

OWN = ["S1 N D", "S1 (N D)"]
SHARED = ["S2 N D", "S2 (N D)"]

query = op.input("query", "B (headNum D)", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", OWN, dtype=query, axes="B K T D", list_of=B)
value = op.input("value", OWN, dtype=query, axes="B K T E", list_of=B)
keyShare = op.input("keyShare", SHARED, dtype=query, axes="G K U D", list_of=BS)
valueShare = op.input("valueShare", SHARED, dtype=query, axes="G K U E", list_of=BS)
attentionMask = op.input("attentionMask", dtype=query, meaning="reserved, its content is ignored")
seqLen = op.lengths("seqLen", "B", dtype="int32", one_for_all=False, meaning="query tokens, all 1")
kvSeqLen = op.lengths("kvSeqLen", "B", dtype="int32", one_for_all=False, meaning="own and shared keys")
kvShareMap = op.lengths("kvShareMap", "B", dtype="int32", one_for_all=False, meaning="group of a row, or -1")
kvShareLen = op.lengths("kvShareLen", "BS", dtype="int32", one_for_all=False, meaning="keys of a group")

# Parameters ---------------------------------------------------------------------------------------

op.keyword_only()
headNum = op.param("headNum", int, default=0, gt=0)
qkScale = op.param("qkScale", float, default=1.0, alias="qkscale", takes_int=True, finite=True)
kvHeadNum = op.param("kvHeadNum", int, default=0, ge=0, le=8, meaning="0: as headNum")
maskType = op.enum("maskType", "UNDEFINED NORM", prefix="MASK_TYPE_")
op.reserved("rsv", 32)

op.let(N, select(kvHeadNum == 0, headNum, kvHeadNum))

# Constraints, in the order of the checks ----------------------------------------------------------

b, g = attend.BATCH, attend.GROUP
group = kvShareMap[b]
shared = select(group >= 0, kvShareLen[group], 0)

with op.constraints_on(kvHeadNum > 0, error=errors.DivisibilityError):
    op.require(kvHeadNum <= headNum, "must be at most headNum", argument="kvHeadNum")
    op.require(headNum % kvHeadNum == 0, "must be a multiple of kvHeadNum", argument="headNum")
op.require(maskType == 0, "must be MASK_TYPE_UNDEFINED", error=errors.ChoiceError)
with op.constraints_on(error=errors.RangeError):
    op.require(B > 0, "must have at least one batch row", argument="query")
    op.require(B <= 60, "must have at most 60 batch rows", argument="query")
    op.require(D > 0, "must have a head size of at least 1", argument="query")
    op.require(D <= 256, "must have a head size of at most 256", argument="query")
with op.constraints_on(error=errors.RankError):
    op.require(value.layout == key.layout, "must have merged axes if and only if key has", argument="value")
    op.require(
        valueShare.layout == keyShare.layout,
        "must have merged axes if and only if keyShare has",
        argument="valueShare",
    )
with op.constraints_on(error=errors.LengthRangeError):
    op.require(seqLen[b] == 1, "must be 1, one query token a batch row", over={b: B})
    op.require(kvSeqLen[b] > 0, "must be at least 1, the keys of a batch row", over={b: B})
    op.require(kvShareLen[g] >= 0, "must not be negative", over={g: BS})
    op.require(kvShareLen[g] <= S2, "must be at most the capacity of keyShare", over={g: BS})
with op.constraints_on(error=errors.ShareGroupError):
    op.require(group >= -1, "must be a share group, or -1 for none", over={b: B})
    op.require(group < BS, "must be a share group, or -1 for none", over={b: B})
with op.constraints_on(error=errors.LengthRangeError):
    op.require(kvSeqLen[b] >= shared, "must count own and shared keys", argument="kvSeqLen", over={b: B})
    op.require(
        kvSeqLen[b] <= shared + S1,
        "the keys that are not shared must fit in key",
        argument="kvSeqLen",
        over={b: B},
    )

# The computation ----------------------------------------------------------------------------------


def segment(keys: Value, values: Value) -> Value:
    """Attention over one of the two segments."""
    return attend.softmax(attend.scores(query, keys) * qkScale) @ values


own = kvSeqLen[b] - shared
out = attend.merge(
    segment(attend.listed(key, length=own), attend.listed(value, length=own)),
    segment(
        attend.listed(keyShare, index=group, length=shared),
        attend.listed(valueShare, index=group, length=shared),
    ),
)
op.output("out", out, like=query)
