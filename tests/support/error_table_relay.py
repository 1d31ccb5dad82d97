"""The error table of relay_attention: legal calls, wrong calls, and what is said of them."""

import ml_dtypes
import numpy as np

F16, F32, I8, I32, I64, BF16 = np.float16, np.float32, np.int8, np.int32, np.int64, ml_dtypes.bfloat16
EITHER = (ValueError, RuntimeError)


def t(*shape, dtype=F16):
    return np.ones(shape, dtype)


def call(**changes):
    """A legal call: B 3, BS 2, headNum 4, N 2, D 2, S1 4, S2 3."""
    found = {
        "query": t(3, 8),
        "key": [t(4, 2, 2)] * 3,
        "value": [t(4, 2, 2)] * 3,
        "keyShare": [t(3, 4)] * 2,
        "valueShare": [t(3, 4)] * 2,
        "attentionMask": t(1),
        "seqLen": np.array([1, 1, 1], I32),
        "kvSeqLen": np.array([5, 4, 3], I32),
        "kvShareMap": np.array([0, -1, 1], I32),
        "kvShareLen": np.array([3, 2], I32),
        "headNum": 4,
        "kvHeadNum": 2,
    }
    return {**found, **changes}


def pair(name, tensor, count=3):
    return {name: [tensor] * count, name.replace("key", "value"): [tensor] * count}


def wide(batch):
    """A legal call but for its number of rows."""
    return call(
        query=t(batch, 8),
        **pair("key", t(4, 2, 2), batch),
        seqLen=[1] * batch,
        kvSeqLen=[4] * batch,
        kvShareMap=[-1] * batch,
    )


def heads(number, kv, head=2):
    """A legal call but for its numbers of heads."""
    rows = kv or number
    return call(
        query=t(3, number * head),
        **pair("key", t(4, rows, head)),
        **pair("keyShare", t(3, rows * head), 2),
        headNum=number,
        kvHeadNum=kv,
    )


LEGAL = {
    "plain": call(),
    "bfloat16": {
        k: [x.astype(BF16) for x in v]
        if isinstance(v, list)
        else v.astype(BF16)
        if k in ("query", "attentionMask")
        else v
        for k, v in call().items()
    },
    "lists of integers": call(seqLen=[1] * 3, kvSeqLen=(5, 4, 3), kvShareMap=[0, -1, 1], kvShareLen=[3, 2]),
    "60 rows": wide(60),
    "kvHeadNum 8": heads(16, 8),
    "kvHeadNum 0 with many heads": heads(12, 0),
    "D 256": heads(1, 1, 256),
    "both pairs merged": call(**pair("key", t(4, 4))),
    "no group": call(keyShare=[], valueShare=[], kvShareLen=[], kvShareMap=[-1] * 3, kvSeqLen=[4] * 3),
    "S1 0": call(**pair("key", t(0, 2, 2)), kvSeqLen=[3, 2, 2], kvShareMap=[0, 1, 1]),
}


# The row of the contract's table, the call, the builtin class, what the message names.
TABLE = [
    (2, "rsv not 0", call(rsv=[0] * 31 + [7]), EITHER, "rsv[31]: is 7"),
    (2, "rsv too short", call(rsv=bytes(31)), EITHER, "32 bytes, got 31"),
    (2, "rsv no bytes", call(rsv="x"), TypeError, "rsv: must be bytes"),
    (
        3,
        "headNum left out",
        {k: v for k, v in call().items() if k != "headNum"},
        ValueError,
        "headNum: must be",
    ),
    (
        3,
        "headNum 0",
        call(headNum=0),
        ValueError,
        "headNum: must be > 0, got 0; the nearest legal value is 1",
    ),
    (3, "headNum negative", call(headNum=-4), ValueError, "headNum"),
    (
        4,
        "kvHeadNum 9",
        heads(18, 9),
        ValueError,
        "kvHeadNum: must be <= 8, got 9; the nearest legal value is 8",
    ),
    (4, "kvHeadNum -1", call(kvHeadNum=-1), ValueError, "kvHeadNum: must be >= 0"),
    (5, "kvHeadNum > headNum", call(kvHeadNum=8), ValueError, "kvHeadNum: must be at most headNum"),
    (5, "headNum % kvHeadNum", call(kvHeadNum=3), ValueError, "the nearest legal values are 3 and 6"),
    (7, "mask NORM", call(maskType="NORM"), ValueError, "must be MASK_TYPE_UNDEFINED"),
    (7, "mask 1", call(maskType=1), ValueError, "maskType is 1; the nearest legal value is 0"),
    (7, "mask 2", call(maskType=2), ValueError, "maskType: 2 is none of"),
    (7, "mask -1", call(maskType=-1), ValueError, "maskType: -1 is none of"),
    (7, "mask name", call(maskType="NORN"), ValueError, "'NORM'"),
    (7, "mask type", call(maskType=0.0), TypeError, "maskType"),
    (8, "one input less", {k: v for k, v in call().items() if k != "kvShareLen"}, TypeError, "kvShareLen"),
    (8, "an unknown argument", call(headnum=4), TypeError, "headNum"),
    (8, "the mask None", call(attentionMask=None), TypeError, "attentionMask"),
    (8, "a list None", call(keyShare=None), TypeError, "keyShare"),
    (9, "float32", call(query=t(3, 8, dtype=F32)), TypeError, "query: dtype float32"),
    (
        9,
        "key bf16",
        call(key=[t(4, 2, 2, dtype=BF16)] * 3),
        TypeError,
        "key[0]: dtype bfloat16 differs from query",
    ),
    (9, "one key bf16", call(key=[t(4, 2, 2)] * 2 + [t(4, 2, 2, dtype=BF16)]), TypeError, "key[2]"),
    (9, "value", call(value=[t(4, 2, 2, dtype=F32)] * 3), TypeError, "value[0]"),
    (9, "keyShare", call(keyShare=[t(3, 4, dtype=BF16)] * 2), TypeError, "keyShare[0]"),
    (9, "valueShare", call(valueShare=[t(3, 4, dtype=I8)] * 2), TypeError, "valueShare[0]"),
    (9, "mask", call(attentionMask=t(1, dtype=BF16)), TypeError, "attentionMask"),
    (9, "mask int8", call(attentionMask=t(1, dtype=I8)), TypeError, "attentionMask"),
    *(
        (9, f"{name} int64", call(**{name: call()[name].astype(I64)}), TypeError, f"{name}: dtype int64")
        for name in ("seqLen", "kvSeqLen", "kvShareMap", "kvShareLen")
    ),
    (9, "float length", call(kvSeqLen=[5.0, 4, 3]), TypeError, "kvSeqLen[0]"),
    (9, "a length beyond int32", call(kvSeqLen=[2**31, 4, 3]), ValueError, "does not fit int32"),
    (9, "headNum bool", call(headNum=True), TypeError, "headNum"),
    (9, "headNum float", call(headNum=4.0), TypeError, "headNum"),
    (9, "qkScale text", call(qkScale="1"), TypeError, "qkScale"),
    (9, "qkScale NaN", call(qkScale=float("nan")), ValueError, "qkScale: must be finite, got nan"),
    (9, "key no list", call(key=3), TypeError, "write [key_0, key_1, ...]"),
    (9, "key of lists", call(key=[[1.0]] * 3), TypeError, "key[0]"),
    (10, "query 3-D", call(query=t(3, 4, 2)), ValueError, "query"),
    (10, "key 1-D", call(**pair("key", t(4))), ValueError, "key[0]"),
    (
        10,
        "key 4-D",
        call(**pair("key", t(1, 4, 2, 2))),
        ValueError,
        "key[0]: shape [1, 4, 2, 2] has 4 dimensions",
    ),
    (10, "seqLen 2-D", call(seqLen=t(3, 1, dtype=I32)), ValueError, "seqLen"),
    (10, "kvShareLen 0-D", call(kvShareLen=np.array(3, I32)), ValueError, "kvShareLen"),
    (11, "two keys", call(key=[t(4, 2, 2)] * 2), ValueError, "key: must hold B = 3 tensors"),
    (11, "four values", call(value=[t(4, 2, 2)] * 4), ValueError, "got 4"),
    (11, "one seqLen", call(seqLen=[1]), ValueError, "seqLen: must have B = 3"),
    (11, "two kvSeqLen", call(kvSeqLen=[5, 4]), ValueError, "kvSeqLen"),
    (11, "four kvShareMap", call(kvShareMap=[0, -1, 1, 0]), ValueError, "kvShareMap"),
    (
        12,
        "61 rows",
        wide(61),
        ValueError,
        "at most 60 batch rows; B is 61; the nearest legal value of B is 60",
    ),
    (12, "no row", wide(0), ValueError, "at least one batch row"),
    (13, "one valueShare", call(valueShare=[t(3, 4)]), ValueError, "valueShare: must hold BS = 2 tensors"),
    (13, "three kvShareLen", call(kvShareLen=[1, 2, 3]), ValueError, "kvShareLen: must have BS = 2"),
    (14, "S1 of value", call(value=[t(5, 2, 2)] * 3), ValueError, "S1 = 4 from key[0]"),
    (
        14,
        "S1 within a list",
        call(key=[t(4, 2, 2)] * 2 + [t(5, 2, 2)]),
        ValueError,
        "key[2]: shape [5, 2, 2]",
    ),
    (14, "S2 of valueShare", call(valueShare=[t(2, 4)] * 2), ValueError, "S2 = 3 from keyShare[0]"),
    (15, "N of key", call(**pair("key", t(4, 4, 2))), ValueError, "N = 2 from headNum, kvHeadNum"),
    (15, "D of key", call(**pair("key", t(4, 2, 3))), ValueError, "D = 2 from query"),
    (15, "N*D of keyShare", call(**pair("keyShare", t(3, 6), 2)), ValueError, "N * D = 4"),
    (15, "N and D swapped", call(**pair("keyShare", t(3, 1, 4), 2)), ValueError, "keyShare[0]"),
    (15, "D of value", call(value=[t(4, 2, 1)] * 3), ValueError, "value[0]"),
    (
        16,
        "key merged alone",
        call(key=[t(4, 4)] * 3),
        ValueError,
        "value: must have merged axes if and only if key has",
    ),
    (16, "valueShare alone", call(valueShare=[t(3, 2, 2)] * 2), ValueError, "if and only if keyShare has"),
    (16, "one entry merged", call(key=[t(4, 2, 2), t(4, 4), t(4, 2, 2)]), ValueError, "key[1]"),
    (17, "seqLen 2", call(seqLen=[1, 2, 1]), ValueError, "seqLen[1] is 2; the nearest legal value is 1"),
    (17, "seqLen 0", call(seqLen=[0, 1, 1]), ValueError, "seqLen[0] is 0"),
    (
        18,
        "kvSeqLen 0",
        call(kvSeqLen=[5, 0, 3]),
        ValueError,
        "kvSeqLen[1] is 0; the nearest legal value is 1",
    ),
    (18, "kvSeqLen negative", call(kvSeqLen=[5, -1, 3]), ValueError, "kvSeqLen[1] is -1"),
    (19, "D 257", heads(1, 1, 257), ValueError, "at most 256; D is 257; the nearest legal value of D is 256"),
    (19, "D 0", heads(4, 2, 0), ValueError, "a head size of at least 1"),
    (20, "qHiddenSize % headNum", call(query=t(3, 9)), ValueError, "the nearest legal sizes are 8 and 12"),
    (21, "map too large", call(kvShareMap=[0, -1, 2]), ValueError, "kvShareMap[2] is 2; BS is 2"),
    (
        21,
        "map -2",
        call(kvShareMap=[-2, -1, 1]),
        ValueError,
        "kvShareMap[0] is -2; the nearest legal value is -1",
    ),
    (
        21,
        "a group where there is none",
        call(keyShare=[], valueShare=[], kvShareLen=[], kvSeqLen=[4, 4, 4]),
        ValueError,
        "kvShareMap[0] is 0; BS is 0; the nearest legal value is -1",
    ),
    (22, "kvShareLen > S2", call(kvShareLen=[3, 4]), ValueError, "kvShareLen[1] is 4; S2 is 3"),
    (22, "kvShareLen negative", call(kvShareLen=[-1, 2]), ValueError, "kvShareLen[0] is -1"),
    (
        22,
        "own > S1, no group",
        call(kvSeqLen=[5, 5, 3]),
        ValueError,
        "kvSeqLen[1] is 5; kvShareMap[1] is -1; S1 is 4",
    ),
    (22, "own > S1, group", call(kvSeqLen=[8, 4, 3]), ValueError, "the nearest legal value is 7"),
    (
        23,
        "own length < 0",
        call(kvSeqLen=[2, 4, 3]),
        ValueError,
        "must count own and shared keys; kvSeqLen[0] is 2",
    ),
    (24, "a null pointer", call(key=[t(4, 2, 2), None, t(4, 2, 2)]), ValueError, "key[1]: is None"),
    (24, "a null pointer among shares", call(keyShare=[None, t(3, 4)]), ValueError, "keyShare[0]: is None"),
    (25, "int8 query", call(query=t(3, 8, dtype=I8)), TypeError, "query: dtype int8"),
]
