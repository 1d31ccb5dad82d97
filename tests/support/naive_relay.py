"""An independent fp64 oracle of relay_attention: plain loops over the concatenation of a row's keys."""

import math

import numpy as np


def naive(
    query,
    key,
    value,
    keyShare,
    valueShare,
    kvSeqLen,
    kvShareMap,
    kvShareLen,
    headNum,
    kvHeadNum=0,
    qkScale=1.0,
):
    """The result in fp64, shaped like query."""
    kv_heads = kvHeadNum or headNum
    head = query.shape[1] // headNum
    out = np.zeros(query.shape)

    def row(tensor, t, h):
        cells = tensor[t].reshape(kv_heads, head)  # merged or not, a row is heads times channels
        return cells[h].astype(float)

    for b in range(query.shape[0]):
        g = int(kvShareMap[b])
        shared = int(kvShareLen[g]) if g >= 0 else 0
        own = int(kvSeqLen[b]) - shared
        sources = [(key[b], value[b], t) for t in range(own)]
        sources += [(keyShare[g], valueShare[g], t) for t in range(shared)]
        for n in range(headNum):
            h = n // (headNum // kv_heads)
            channels = slice(n * head, (n + 1) * head)
            q = query[b, channels].astype(float)
            scores = [qkScale * float(q @ row(k, t, h)) for k, _, t in sources]
            top = max(scores)
            weights = [math.exp(s - top) for s in scores]
            for (_, v, t), w in zip(sources, weights, strict=True):
                out[b, channels] += w / sum(weights) * row(v, t, h)
    return out
