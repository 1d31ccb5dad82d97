"""An independent fp64 oracle of nsa_compress_attention: plain loops, written from the contract alone."""

import math

import numpy as np


def naive(
    query,
    key,
    value,
    scale,
    l,  # noqa: E741 - the document's letter
    d,
    l_sel,
    count,
    q_ends,
    k_ends,
    j_ends,
    topk_mask=None,
    atten_mask=None,
    reading="op",
):
    """(out, indices, max, sum, importance) in fp64; importance is a list of (tokens, N2, J) a batch row."""
    tokens, heads, _ = query.shape
    kv_heads = key.shape[1]
    group = heads // kv_heads
    big_m, big_r = l_sel // d, l // d
    out = np.zeros((tokens, heads, value.shape[2]))
    indices = np.zeros((tokens, kv_heads, count), int)
    top, total = np.zeros((tokens, heads)), np.zeros((tokens, heads))
    scores_of_blocks = []
    q_start = k_start = j_start = 0
    for q_end, k_end, j_end in zip(q_ends, k_ends, j_ends, strict=True):
        keys, blocks = k_end - k_start, j_end - j_start
        found = np.zeros((q_end - q_start, kv_heads, blocks))
        for i, t in enumerate(range(q_start, q_end)):
            for h in range(heads):
                s = [
                    scale * float(query[t, h].astype(float) @ key[k_start + c, h // group].astype(float))
                    for c in range(keys)
                ]
                if atten_mask is not None:
                    s = [-3.4028234663852886e38 if atten_mask[i, c] else x for c, x in enumerate(s)]
                top[t, h] = max(s)
                e = [math.exp(x - top[t, h]) for x in s]
                total[t, h] = sum(e)
                p = [x / total[t, h] for x in e]
                for c in range(keys):
                    out[t, h] += p[c] * value[k_start + c, h // group].astype(float)
                for j in range(blocks):
                    first = {"op": big_m * (j + 1), "paper": big_m * (j + 1) - 1, "literal0": big_m * j}[
                        reading
                    ]
                    for m in range(big_m):
                        for n in range(big_r):
                            at = first - m - n
                            if 0 <= at < keys:
                                found[i, h // group, j] += p[at]
            for n2 in range(kv_heads):
                forced = topk_mask[i, :blocks] != 0 if topk_mask is not None else np.zeros(blocks, bool)
                order = sorted(
                    range(blocks), key=lambda j: (not forced[j], -found[i, n2, j] * (not forced[j]), j)
                )
                indices[t, n2] = order[:count]
        scores_of_blocks.append(found)
        q_start, k_start, j_start = q_end, k_end, j_end
    return out, indices, top, total, scores_of_blocks
