"""An independent fp64 oracle of self_attention: loops over batch rows and heads, from the contract alone.

Enumerations are integers here. Compressed ALiBi masks are unfolded by the kernel's rule for 128 x 128 tiles,
not by the closed form.
"""

import numpy as np


def softmax_rows(s):
    """Row softmax; rows that are -inf all over become zeros."""
    top = s.max(axis=1, keepdims=True, initial=-np.inf)
    e = np.exp(s - np.where(np.isneginf(top), 0, top))
    total = e.sum(axis=1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def int8_attention(s, v, p_scale, v_scale):
    """Blocks of 128 columns, online softmax, probabilities through int8."""
    rows = s.shape[0]
    m, length, out = np.full((rows, 1), -np.inf), np.zeros((rows, 1)), np.zeros((rows, v.shape[1]))
    for start in range(0, s.shape[1], 128):
        block, values = s[:, start : start + 128], v[start : start + 128].astype(np.int64)
        new = np.maximum(m, block.max(axis=1, keepdims=True))
        p = np.exp(block - np.where(np.isneginf(new), 0, new))
        step = np.full((rows, 1), p_scale) if p_scale is not None else p.max(axis=1, keepdims=True) / 127
        x = np.clip(np.round(p / np.where(step == 0, 1, step)), -128, 127).astype(np.int64)
        decay = np.where(np.isneginf(m), 0, np.exp(m - np.where(np.isneginf(new), 0, new)))
        out = out * decay + (x @ values) * v_scale * step
        length = length * decay + p.sum(axis=1, keepdims=True)
        m = new
    return out / np.where(length == 0, 1, length)


def dense_mask(mask, b, h, rows, columns, heads, kind):
    if mask.ndim == 2:
        found = mask
    elif mask.ndim == 4:
        found = mask[b, h]
    else:
        found = mask[h] if kind == 2 and mask.shape[0] == heads else mask[b]
    return found[:rows, :columns].astype(float)


def unfolded_alibi(mask, slope, kind, h, rows, columns):
    """A compressed ALiBi mask as the kernel's tiles see it, -inf above the diagonal."""
    full = np.full((-(-rows // 128) * 128, -(-columns // 128) * 128), -np.inf)
    for m in range(full.shape[0] // 128):
        for n in range(min(m + 1, full.shape[1] // 128)):
            if mask.ndim == 3:
                part = mask[h, 128 * (m - n) : 128 * (m - n) + 128].astype(float)
                part = np.pad(part, ((0, 128 - part.shape[0]), (0, 0)))
            elif kind == 6:
                part = slope * (
                    mask[:128, :128].astype(float) + 128 * n if m == n else np.arange(128) + 128 * n
                )
            elif m == n:
                part = slope * mask[:128, :128].astype(float)
            else:
                distance = np.subtract.outer(np.arange(128), np.arange(128)) + 128.0 * (m - n)
                part = slope * (distance if kind == 4 else np.sqrt(distance))
            full[128 * m : 128 * m + 128, 128 * n : 128 * n + 128] = part
    full = np.where(np.tril(np.ones(full.shape, bool)), full, -np.inf)
    return full[:rows, :columns]


def scores_of(q, k, p, b, h, heads, first_row, mask, slopes, descale, log_n):
    """Scores of one batch row and head, masked. ``first_row``: mask row of the first query."""
    rows, columns = q.shape[0], k.shape[0]
    s = q.astype(float) @ k.astype(float).T
    if descale is not None:
        s = s * float(descale[h])
    if log_n is not None:
        s = s * log_n[:, None]
    s = s * p["qkScale"]
    if p["clampType"] == 1:
        s = np.clip(s, p["clampMin"], p["clampMax"])
    kind, i, j = p["maskType"], first_row + np.arange(rows)[:, None], np.arange(columns)
    if kind in (1, 2):
        term = dense_mask(mask, b, h, rows, columns, heads, kind)
        s = s + (np.float32(-3e38).astype(float) * term if p["zero_one"] else term)
    elif kind in (3, 9):
        s = np.where(j <= i, s, -np.inf)
    elif kind in (4, 5, 6):
        slope = float(slopes[h])
        term = unfolded_alibi(mask, slope, kind, h, first_row + rows, max(columns, first_row + rows))
        s = s + term[first_row:, :columns]
    elif kind in (7, 8):
        s = np.where((j <= i) & (i - j < p["windowSize"]), s, -np.inf)
    return s


DEFAULTS = {
    "kvHeadNum": 0,
    "qScale": 1.0,
    "qkScale": 1.0,
    "clampType": 0,
    "clampMin": 0.0,
    "clampMax": 0.0,
    "maskType": 0,
    "kernelType": 0,
    "calcType": 0,
    "quantType": 0,
    "kvcacheCfg": 0,
    "inputLayout": 0,
    "mlaVHeadSize": 0,
    "cacheType": 0,
    "windowSize": 0,
    "batchRunStatusEnable": False,
}


def uses_zero_one(query, mask, p):
    """Whether hidden entries hold 1 and are multiplied by -3e38."""
    if p["maskType"] != 1 or mask is None or mask.ndim == 4:
        return False
    bf16 = query.dtype.name == "bfloat16"
    return bf16 or (p["kernelType"] == 1 and p["calcType"] in (0, 1, 3))


def flash(
    query,
    key=None,
    value=None,
    cacheK=None,
    cacheV=None,
    attentionMask=None,
    tokenOffset=None,
    seqLen=None,
    layerId=None,
    batchStatus=None,
    logN=None,
    **params,
):
    """calcType 0, 1, 2: (output rows as (tokens, heads, channels), cacheK, cacheV after the call).

    Padded and BNSD queries give (batch, rows, heads, channels).
    """
    p = DEFAULTS | params
    p["zero_one"] = uses_zero_one(query, attentionMask, p)
    heads, kv_heads = p["headNum"], p["kvHeadNum"] or p["headNum"]
    cacheK, cacheV = cacheK.copy(), cacheV.copy()
    bnsd = p["inputLayout"] == 1

    def layer(cache):
        one = cache if p["batchRunStatusEnable"] else cache[int(layerId[0])]
        if bnsd:
            return one.transpose(0, 2, 1, 3)
        return one.reshape(*one.shape[:2], kv_heads, -1)

    k_layer, v_layer = layer(cacheK), layer(cacheV)
    k_old, v_old = k_layer.copy(), v_layer.copy()
    ends = np.cumsum(seqLen)
    starts = ends - np.asarray(seqLen)
    channels = v_layer.shape[-1]
    if bnsd:
        query = query.transpose(0, 2, 1, 3)
    if query.ndim == 4:
        out = np.zeros((*query.shape[:3], channels))
    else:
        query = query.reshape(query.shape[0], heads, -1)
        out = np.zeros((query.shape[0], heads, channels))
    ring = p["cacheType"] == 1
    for b in range(len(seqLen)):
        if batchStatus is not None and batchStatus[b] == 0:
            continue
        ql, kl = int(seqLen[b]), int(tokenOffset[b])
        before, rows = kl - ql, slice(starts[b], ends[b])
        q = query[b, :ql] if query.ndim == 4 else query[rows]
        places = [t % p["windowSize"] if ring else t for t in range(before, kl)]
        if key is not None:
            new_k, new_v = (
                (x[b, :ql] if x.ndim == 4 else x[rows]).reshape(ql, kv_heads, -1) for x in (key, value)
            )
            for t, place in enumerate(places):
                k_layer[b, place], v_layer[b, place] = new_k[t], new_v[t]
        decoder, window = p["calcType"] == 2, p["windowSize"]
        if decoder and window:
            slots = range(min(window, kl)) if ring else range(max(kl - window, 0), kl)
            k, v = k_layer[b, list(slots)], v_layer[b, list(slots)]
            p = p | {"maskType": 0}
        elif ring and key is not None:
            old = [t % window for t in range(before)]
            k, v = np.concatenate([k_old[b, old], new_k]), np.concatenate([v_old[b, old], new_v])
        else:
            k, v = k_layer[b, :kl], v_layer[b, :kl]
        with np.errstate(all="ignore"):
            q = (q.astype(np.float32) * np.float32(p["qScale"])).astype(query.dtype)
        factor = None if logN is None else np.full(ql, logN[b]) if decoder else logN[:ql].astype(float)
        for h in range(heads):
            g = h // (heads // kv_heads)
            s = scores_of(q[:, h], k[:, g], p, b, h, heads, 0, attentionMask, None, None, factor)
            result = softmax_rows(s) @ v[:, g].astype(float)
            if out.ndim == 4:
                out[b, :ql, h] = result
            else:
                out[rows, h] = result
    return out, cacheK, cacheV


def prompt(
    query,
    key,
    value=None,
    mask=None,
    seqLen=None,
    slopes=None,
    qkDescale=None,
    qkOffset=None,
    vpvDescale=None,
    vpvOffset=None,
    pScale=None,
    logN=None,
    **params,
):
    """calcType 3: (tokens, heads, channels), or (batch, rows, heads, channels) of 4-D queries."""
    p = DEFAULTS | params
    p["zero_one"] = uses_zero_one(query, mask, p)
    heads, kv_heads = p["headNum"], p["kvHeadNum"] or p["headNum"]
    lengths = np.atleast_2d(np.asarray(seqLen))
    q_lens, k_lens = lengths[0], lengths[-1]
    if p["inputLayout"] == 1:
        query, key, value = (x.transpose(0, 2, 1, 3) for x in (query, key, value))

    def row_of(tensor, b, lens, count):
        if tensor.ndim == 4:
            return tensor[b, : lens[b]]
        first = int(lens[:b].sum())
        return tensor[first : first + lens[b]].reshape(lens[b], count, -1)

    if value is None:
        parts = key.reshape(*key.shape[:-1], kv_heads, -1) if key.ndim == 2 else key
        value = parts[..., : p["mlaVHeadSize"]]
    channels = value.shape[-1] if value.ndim > 2 else value.shape[-1] // kv_heads
    shape = query.shape[:3] if query.ndim == 4 else (query.shape[0], heads)
    out = np.zeros((*shape, channels))
    for b in range(len(q_lens)):
        q, k, v = (
            row_of(x, b, lens, count)
            for x, lens, count in ((query, q_lens, heads), (key, k_lens, kv_heads), (value, k_lens, kv_heads))
        )
        factor = None if logN is None else logN[: q_lens[b]].astype(float)
        for h in range(heads):
            g = h // (heads // kv_heads)
            s = scores_of(q[:, h], k[:, g], p, b, h, heads, 0, mask, slopes, qkDescale, factor)
            if p["quantType"]:
                step = float(pScale[h]) if p["quantType"] == 2 else None
                result = int8_attention(s, v[:, g], step, float(vpvDescale[h]))
            else:
                result = softmax_rows(s) @ v[:, g].astype(float)
            if query.ndim == 4:
                out[b, : q_lens[b], h] = result
            else:
                first = int(q_lens[:b].sum())
                out[first : first + q_lens[b], h] = result
    return out


def prefixed(query, key, value, blockTables, mask=None, seqLen=None, kvSeqLen=None, slopes=None, **params):
    """calcType 4: (tokens, heads, channels)."""
    p = DEFAULTS | params | {"zero_one": False}
    heads, kv_heads = p["headNum"], p["kvHeadNum"] or p["headNum"]
    block = key.shape[1]
    k_pages, v_pages = (x.reshape(x.shape[0], block, kv_heads, -1) for x in (key, value))
    query = query.reshape(query.shape[0], heads, -1)
    out, first = np.zeros(query.shape), 0
    for b, (ql, kl) in enumerate(zip(seqLen, kvSeqLen, strict=True)):
        ids = [blockTables[b, t // block] for t in range(kl)]
        slots = [t % block for t in range(kl)]
        k, v = k_pages[ids, slots], v_pages[ids, slots]
        for h in range(heads):
            g = h // (heads // kv_heads)
            q = query[first : first + ql, h]
            s = scores_of(q, k[:, g], p, b, h, heads, kl - ql, mask, slopes, None, None)
            out[first : first + ql, h] = softmax_rows(s) @ v[:, g].astype(float)
        first += ql
    return out
