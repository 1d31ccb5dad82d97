"""An independent fp64 oracle of incre_flash_attention: plain loops, written from the contract alone."""

import math

import numpy as np


def naive(
    query,
    key,
    value,
    attn_mask=None,
    actual_seq_lengths=None,
    pse_shift=None,
    quant_scale2=None,
    quant_offset2=None,
    antiquant_scale=None,
    antiquant_offset=None,
    block_table=None,
    num_heads=1,
    input_layout="BSH",
    scale_value=1.0,
    num_key_value_heads=0,
    block_size=0,
    kv_padding_size=None,
    inner_precise=1,
):
    """The result in fp64, shaped like query; int8 values as floats with quant_scale2."""
    n_heads, kv_heads = num_heads, num_key_value_heads or num_heads
    batch = query.shape[0]
    head = query.shape[-1] // n_heads if input_layout == "BSH" else query.shape[-1]
    group = n_heads // kv_heads
    out = np.zeros((batch, n_heads, head))

    def q_row(b, n):
        return query[b, 0, n * head : (n + 1) * head] if input_layout == "BSH" else query[b, n, 0]

    def cell(cache, b, h, t):
        if block_table is not None:
            block, slot = block_table[b, t // block_size], t % block_size
            if cache.ndim == 3:
                return cache[block, slot, h * head : (h + 1) * head]
            return cache[block, h, slot]
        return cache[b, t, h * head : (h + 1) * head] if input_layout == "BSH" else cache[b, h, t]

    def factor(tensor, which, h):
        if input_layout == "BSH":
            return tensor[which, h * head : (h + 1) * head].astype(float)
        return tensor[which, h, 0].astype(float)

    def row(cache, which, b, h, t):
        x = cell(cache, b, h, t).astype(float)
        if antiquant_scale is not None:
            if antiquant_offset is not None:
                x = x + factor(antiquant_offset, which, h)
            x = x * factor(antiquant_scale, which, h)
        return x

    if block_table is None:
        capacity = key.shape[1] if input_layout == "BSH" else key.shape[2]
    else:
        capacity = block_table.shape[1] * block_size
    lengths = (
        [capacity] * batch if actual_seq_lengths is None else [int(x) for x in np.ravel(actual_seq_lengths)]
    )
    lengths = lengths * batch if len(lengths) == 1 else lengths
    for b in range(batch):
        first = 0
        if kv_padding_size is not None and actual_seq_lengths is not None and block_table is None:
            end = capacity - max(int(np.ravel(kv_padding_size)[0]), 0)
            first = end - lengths[b]
            if first < 0 or end < 0:
                continue
        columns = range(first, first + lengths[b])
        if not columns:
            continue
        for n in range(n_heads):
            h = n // group
            scores = []
            for t in columns:
                s = scale_value * float(np.dot(q_row(b, n).astype(float), row(key, 0, b, h, t)))
                if pse_shift is not None:
                    s += float(pse_shift[b if pse_shift.shape[0] > 1 else 0, n, 0, t])
                if attn_mask is not None and attn_mask.reshape(batch, -1)[b, t] != 0:
                    s = -1e12
                scores.append(s)
            top = max(scores)
            weights = [math.exp(s - top) for s in scores]
            for t, w in zip(columns, weights, strict=True):
                out[b, n] += w / sum(weights) * row(value, 1, b, h, t)
    if quant_scale2 is not None:
        shape = (1, 1, 1) if quant_scale2.size == 1 else (1, n_heads, head)
        scaled = out * quant_scale2.astype(float).reshape(shape)
        if quant_offset2 is not None:
            scaled = scaled + quant_offset2.astype(float).reshape(shape)
        out = np.clip(np.round(scaled), -128, 127)
    return out.reshape(query.shape)
