"""Calls with one tensor a batch row: legal ones, wrong ones, and strategies that draw them."""

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from tests.support.self_attention_masks import filled

F16 = np.float16


@st.composite
def listed(draw):
    """A call of incre_flash_attention with lists, and the same call for each batch row."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from([F16, ml_dtypes.bfloat16]))
    kv_heads, group, d = draw(st.integers(1, 2)), draw(st.sampled_from([1, 3])), 16
    rows = draw(st.lists(st.integers(0, 40), min_size=2, max_size=4))
    bnsd, int8 = draw(st.booleans()), draw(st.booleans())
    batch, heads, longest = len(rows), kv_heads * group, max(rows)

    def one(count):
        shape = (1, kv_heads, count, d) if bnsd else (1, count, kv_heads * d)
        floats = rng.standard_normal(shape)
        return (floats * 30).astype(np.int8) if int8 else floats.astype(dtype)

    query = rng.standard_normal((batch, heads, 1, d) if bnsd else (batch, 1, heads * d)).astype(dtype)
    call = {"query": query, "key": [one(count) for count in rows], "value": [one(count) for count in rows]}
    call |= {"num_heads": heads, "num_key_value_heads": kv_heads, "scale_value": 0.4}
    call |= {"input_layout": "BNSD" if bnsd else "BSH"}
    if int8:
        scale = rng.uniform(0.01, 0.05, (2, kv_heads, 1, d) if bnsd else (2, kv_heads * d)).astype(dtype)
        call |= {"antiquant_scale": scale, "antiquant_offset": (scale * 20).astype(dtype)}
    lengths = [int(rng.integers(0, count + 1)) for count in rows]
    if draw(st.booleans()):
        call["actual_seq_lengths"] = lengths
        if draw(st.booleans()):  # left padding is for one tensor: here it has no effect
            call["kv_padding_size"] = np.array([draw(st.integers(-1, 3))])
    if draw(st.booleans()):
        call["attn_mask"] = rng.random((batch, longest)) < 0.3
    if draw(st.booleans()):
        call["pse_shift"] = rng.standard_normal((batch, heads, 1, longest)).astype(dtype)
    single = []
    for b, count in enumerate(rows):
        each = {name: call[name] for name in call if name != "kv_padding_size"}
        each |= {"query": query[b : b + 1], "key": [call["key"][b]], "value": [call["value"][b]]}
        each |= (
            {"actual_seq_lengths": [call["actual_seq_lengths"][b]]} if "actual_seq_lengths" in call else {}
        )
        each |= {"attn_mask": call["attn_mask"][b : b + 1, :count]} if "attn_mask" in call else {}
        each |= {"pse_shift": call["pse_shift"][b : b + 1, ..., :count]} if "pse_shift" in call else {}
        single.append(each)
    return call, single


def lists(**changes):
    """A legal call with lists: BSH, B 3, N 4, kvN 2, D 16, 5, 9 and 7 rows."""
    call = {"query": np.ones((3, 1, 64), F16), "num_heads": 4, "num_key_value_heads": 2}
    call |= {name: [np.ones((1, rows, 32), F16) for rows in (5, 9, 7)] for name in ("key", "value")}
    return call | changes


def tensors(*rows, dtype=F16, batch=1, channels=32):
    return [np.ones((batch, count, channels), dtype) for count in rows]


LEGAL = {
    "as it is": lists(),
    "lengths": lists(actual_seq_lengths=[5, 9, 0]),
    "one length for all": lists(actual_seq_lengths=[5]),
    "without the batch dimension": lists(key=[x[0] for x in tensors(5, 9, 7)]),
    "mask of the longest": lists(attn_mask=np.zeros((3, 9), bool)),
    "tuples": lists(key=tuple(tensors(5, 9, 7))),
    "an empty tensor": lists(key=tensors(5, 0, 7), value=tensors(5, 0, 7)),
    "int8": lists(
        key=tensors(5, 9, 7, dtype=np.int8),
        value=tensors(5, 9, 7, dtype=np.int8),
        antiquant_scale=np.ones((2, 32), F16),
    ),
}
BAD = {
    "two of three": (lists(key=tensors(5, 9), value=tensors(5, 9)), RuntimeError, "must hold 1 or B = 3"),
    "value of another number": (lists(value=tensors(5, 9)), RuntimeError, "value: must hold 1 or B = 3"),
    "value as one tensor": (lists(value=tensors(9, batch=3)), RuntimeError, "as many tensors in value"),
    "key as one tensor": (lists(key=tensors(9, batch=3)), RuntimeError, "as many tensors in value"),
    "rows of value": (lists(value=tensors(5, 8, 7)), RuntimeError, "value[1]: has 8 rows (S), must have 9"),
    "rows of value, less": (lists(value=tensors(4, 9, 7)), RuntimeError, "value[0]: has 4 rows"),
    "all batch rows in each": (
        lists(key=tensors(5, 9, 7, batch=3)),
        RuntimeError,
        "dimension 0 is 3, must be 1",
    ),
    "channels": (lists(key=tensors(5, 9, 7, channels=31)), RuntimeError, "kvN * D = 32"),
    "ranks": (lists(key=[x[..., None] for x in tensors(5, 9, 7)]), RuntimeError, "4 dimensions"),
    "a dtype of its own": (
        lists(key=[*tensors(5, 9), *tensors(7, dtype=np.int8)]),
        TypeError,
        "key[2]: dtype int8",
    ),
    "a wrong dtype": (lists(value=tensors(5, 9, 7, dtype=np.float32)), TypeError, "value[0]: dtype float32"),
    "no tensor": (lists(key=[*tensors(5, 9), None]), ValueError, "key[2]: is None"),
    "no array": (lists(key=[*tensors(5, 9), 7]), TypeError, "key[2]"),
    "length beyond its tensor": (
        lists(actual_seq_lengths=[5, 9, 8]),
        ValueError,
        "actual_seq_lengths[2] is 8; rows of key[2] is 7; the nearest legal value is 7",
    ),
    "one length beyond one tensor": (lists(actual_seq_lengths=[6]), ValueError, "actual_seq_lengths[0] is 6"),
    "mask of another width": (lists(attn_mask=np.zeros((3, 10), bool)), RuntimeError, "S = 9"),
    "paged": (
        lists(block_table=np.zeros((3, 1), np.int32), block_size=16, actual_seq_lengths=[1]),
        RuntimeError,
        "must hold exactly 1 tensor",
    ),
}


@st.composite
def split_caches(draw):
    """A bypassed DECODER with whole caches, and with lists of them that end behind what is used."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    form = draw(st.sampled_from(["layers", "layer", "BNSD"]))
    batch, kv_heads, group, d = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 2)),
        draw(st.sampled_from([1, 2])),
        16,
    )
    used = [int(each) for each in rng.integers(1, 9, batch)]
    window = draw(st.sampled_from([0, 3])) if form == "layers" else 0
    ring = bool(window) and draw(st.booleans())
    e = d if window or form == "BNSD" else draw(st.sampled_from([d, 32]))
    heads, capacity = kv_heads * group, 10

    def cache(size):
        shape = (batch, kv_heads, capacity, size) if form == "BNSD" else (batch, capacity, kv_heads * size)
        return rng.standard_normal(shape).astype(F16)

    query = (batch, heads, 1, d) if form == "BNSD" else (batch, heads * d)
    call = {"query": rng.standard_normal(query).astype(F16), "headNum": heads, "kvHeadNum": kv_heads}
    call |= {
        "calcType": "DECODER",
        "kvcacheCfg": "K_BYPASS_V_BYPASS",
        "tokenOffset": used,
        "seqLen": [1] * batch,
    }
    call |= {"layerId": [0], "windowSize": window, "maskType": 7 if window else 0, "cacheType": int(ring)}
    if form == "layer":
        call |= {"batchRunStatusEnable": True, "batchStatus": rng.integers(0, 2, batch).astype(np.int32)}
    if form == "BNSD":
        mask = filled(rng.random((batch, 1, capacity)) < 0.3, F16, False)
        call |= {"inputLayout": "BNSD", "maskType": "NORM", "attentionMask": mask}
    whole, split = {}, {}
    own = [min(rows, window) if ring else rows for rows in used]
    own = [rows + draw(st.integers(0, 2)) for rows in own]
    leading = draw(st.integers(0, 1 if form == "layer" else 2))
    for name, size in (("cacheK", d), ("cacheV", e)):
        rows = cache(size)
        whole[name] = rows if form == "layer" else rows[None]
        cut = [row[..., :count, :] for row, count in zip(rows, own, strict=True)]
        split[name] = [row[(None,) * leading] for row in cut]
    return call, whole, split


def decoder(**changes):
    caches = {name: [np.ones((rows, 32), F16) for rows in (5, 9)] for name in ("cacheK", "cacheV")}
    call = {"query": np.ones((2, 32), F16), "headNum": 2, "calcType": 2, "kvcacheCfg": 1, "layerId": [0]}
    return call | caches | {"tokenOffset": [5, 9], "seqLen": [1, 1]} | changes


BAD_SPLIT = [
    ({"tokenOffset": [6, 9]}, ValueError, "rows of cacheK[0] is 5; the nearest legal value is 5"),
    ({"layerId": [1]}, ValueError, "layerNum is 1; the nearest legal value is 0"),
    ({"cacheV": np.ones((1, 2, 9, 32), F16)}, ValueError, "cacheV: must be a list where cacheK is one"),
    ({"cacheV": [np.ones((rows, 32), F16) for rows in (5, 8)]}, ValueError, "cacheV[1]: has 8 rows"),
    ({"cacheV": [np.ones((5, 32), F16)]}, ValueError, "cacheV: must hold batch = 2 tensors"),
    ({"cacheK": []}, ValueError, "cacheK: an empty list"),
    ({"cacheK": [np.ones((2, 1, 5, 32), F16)] * 2}, ValueError, "cacheK[0]: shape [2, 1, 5, 32]"),
    ({"calcType": 0}, ValueError, "only a bypassed DECODER takes lists"),
]
