"""Calls that one rule of a contract refuses, beside those of the error tables, by what the rule says."""

from typing import Any

import numpy as np

from tests.support import error_table_incre as incre
from tests.support import error_table_nsa as nsa
from tests.support import error_table_self_attention as sa
from tests.support.error_table_self_attention import (
    F16,
    F32,
    I32,
    bypass,
    decode,
    fa,
    full,
    int8,
    mla,
    pa,
    pa_alibi,
    pa_mask,
    prefix,
    triangle,
    window,
    without,
)

Call = dict[str, Any]
TOKENS = ("query", "key", "value")


def lists(**changes: Any) -> Call:
    """A bypassed decoder whose caches are lists."""
    caches = {name: [full(9, 32), full(9, 32)] for name in ("cacheK", "cacheV")}
    return without(decode(**({"kvcacheCfg": 1, **caches} | changes)), "key", "value")


def padded(**changes: Any) -> Call:
    """Padded tokens with a cache: two batch rows of up to 4."""
    return fa(**({name: full(2, 4, 2, 16) for name in ("query", "key", "value")} | changes))


def latent(**changes: Any) -> Call:
    """Padded tokens of PA_ENCODER: latent attention has them, two batch rows of up to 4."""
    return mla(**({name: full(2, 4, 2, 16) for name in ("query", "key")} | changes))


def prompt(count: int, **changes: Any) -> Call:
    """A call of PA_ENCODER of one batch row of ``count`` tokens."""
    return pa(**of_size(*TOKENS, rows=count, size=16), seqLen=[count], **changes)


def cached_prompt(count: int, **changes: Any) -> Call:
    """One batch row of ``count`` tokens that fill its cache."""
    tokens = {name: full(count, 32) for name in TOKENS}
    caches = {name: full(1, 1, count, 32) for name in ("cacheK", "cacheV")}
    return fa(**tokens, **caches, seqLen=[count], tokenOffset=[count], layerId=[0], **changes)


def pages(heads: int, size: int, **changes: Any) -> Call:
    """Paged keys of so many heads."""
    cache = np.broadcast_to(F16(1), (1, 16, heads * size))
    return incre.paged(
        query=np.ones((1, 1, heads * size), F16),
        **incre.both(cache),
        **({"num_heads": heads, "num_key_value_heads": 0, "block_table": np.zeros((1, 1), I32)} | changes),
        actual_seq_lengths=[1],
    )


def listed(*rows: int, lengths: list[int]) -> Call:
    """A tensor a batch row, of so many rows."""
    entries = [np.ones((1, count, 32), F16) for count in rows]
    return incre.dense(key=entries, value=entries, actual_seq_lengths=lengths)


def of_size(*names: str, rows: int, size: int) -> Call:
    """Tensors of two heads of so many channels."""
    return {name: full(rows, 2, size) for name in names}


IN_CACHE: dict[str, Call] = {
    "quantType: a sliding window takes no quantisation": window(quantType=2),
    "cacheV: must be a list where cacheK is one": lists(cacheV=full(1, 2, 9, 32)),
    "cacheV: only a bypassed DECODER takes lists": bypass(cacheV=[full(9, 32)] * 2),
    "value: needed by K_CACHE_V_CACHE": without(fa(), "value"),
    "value: only for K_CACHE_V_CACHE": bypass(value=full(7, 32)),
    "attentionMask: needed by a maskType (but for the window of a DECODER)": fa(maskType=1),
    "logN: only for SCALE_TYPE_LOGN": fa(logN=full(9, dtype=F32)),
    "query: must have a head size of at least 1": bypass(
        query=full(7, 0), cacheK=full(2, 2, 9, 0), cacheV=full(2, 2, 9, 32)
    ),
    "cacheV: must have a head size of at most 1024": bypass(cacheV=full(2, 2, 9, 2 * 1040)),
    "value: must have a multiple of 16 channels a row": fa(value=full(7, 24), cacheV=full(2, 2, 9, 24)),
    "key, value: must be packed as key is": padded(value=full(4, 32)),
    "logN: must have an entry for each query token": fa(scaleType=1, logN=full(3, dtype=F32)),
    "seqLen: must not be negative": sa.dynamic(seqLen=[-1, 8], tokenOffset=[5, 9]),
    "tokenOffset: must be at most the rows of its tensor": lists(
        **{name: [full(9, 32), full(3, 32)] for name in ("cacheK", "cacheV")}
    ),
    "attentionMask: must have a row for each query": fa(maskType=1, attentionMask=full(3, 9)),
    "attentionMask: must have a column for each key": fa(maskType=1, attentionMask=full(9, 4)),
    "attentionMask: needs isTriuMask for more than 128 queries": cached_prompt(
        129, maskType=3, attentionMask=triangle()
    ),
    "attentionMask: needs isTriuMask for more than 128 keys": fa(
        maskType=3,
        attentionMask=triangle(),
        tokenOffset=[5, 129],
        cacheK=full(2, 2, 130, 32),
        cacheV=full(2, 2, 130, 32),
    ),
    "attentionMask: must not be negative, it is 1 or 0": fa(
        maskType=1, kernelType=1, attentionMask=triangle(9)
    ),
    "attentionMask: must be 1 or 0": fa(maskType=1, kernelType=1, attentionMask=triangle(9, 2.0)),
    "attentionMask: must not be 1, which is added": fa(maskType=1, attentionMask=triangle(9, 1.0)),
    "attentionMask: must hide the keys after the query and nothing else": fa(
        maskType=3, attentionMask=full(128, 128)
    ),
}
IN_PROMPTS: dict[str, Call] = {
    "headNum: must be a multiple of kvHeadNum": pa(headNum=8, kvHeadNum=3),
    "kernelType: must be HIGH_PRECISION with a float16 mask": pa_alibi(kernelType=0),
    "logN: needed by SCALE_TYPE_LOGN": pa(scaleType=1, kernelType=1),
    "logN: only for SCALE_TYPE_LOGN": pa(logN=full(9, dtype=F32)),
    "maskType: latent attention takes few types": mla(maskType=4, mask=sa.alibi()),
    "seqLen: must have at least one batch row": pa(**of_size(*TOKENS, rows=0, size=16), seqLen=[]),
    "query: must have a head size of at most 1024": pa(**of_size("query", "key", rows=7, size=1040)),
    "value: must have a head size of at most 1024": pa(**of_size("value", rows=7, size=1040)),
    "query: must have a head size of at most 256 with these features": pa(
        **of_size(*TOKENS, rows=7, size=272), scaleType=1, kernelType=1, logN=full(9, dtype=F32)
    ),
    "seqLen: must not be negative": pa(seqLen=[-1, 8]),
    "seqLen: must add up to the tokens of query": pa(seqLen=[3, 3]),
    "seqLen: must add up to the tokens of key": pa(
        **of_size("key", "value", rows=6, size=16), seqLen=[[3, 4], [3, 4]]
    ),
    "seqLen: must be at most the rows of query": latent(seqLen=[3, 5]),
    "seqLen: must be at most the rows of key": latent(key=full(2, 3, 2, 16)),
    "seqLen: the longest keys must cover the longest query": pa(
        **of_size("query", rows=1, size=16),
        **of_size("key", "value", rows=0, size=16),
        seqLen=[[1, 0], [0, 0]],
    ),
    "logN: must have an entry for each query token": pa(scaleType=1, kernelType=1, logN=full(3, dtype=F32)),
    "mask: must be 1 or 0": pa_mask(mask=triangle(5, 2.0), kernelType=1),
    "mask: must be at most 1, which hides": int8(maskType=1, mask=triangle(9, 2)),
    "mask: must not have entries below and above 0": int8(maskType=1, mask=sa.both_signs(1)),
    "mask: needs isTriuMask for more than 128 queries": prompt(129, maskType=3, mask=triangle()),
    "mask: must have the bias of the compressed form on and below the diagonal, and hide above it": pa_alibi(
        maskType=6
    ),
    "scaleType: a sliding window takes no logN": pa(maskType=7, windowSize=3, scaleType=1),
}
OF_PREFIXES: dict[str, Call] = {
    "isTriuMask: a triangular mask needs a maskType": prefix(maskType=0),
    "windowSize: only a sliding window has a size": prefix(windowSize=3),
    "cacheType: only a sliding window has a cache of fixed length": prefix(cacheType=1),
    "maskType: PREFIX_ENCODER takes compressed masks": prefix(maskType=1, mask=full(9, 9)),
    "slopes: needed by compressed ALiBi": prefix(maskType=4, mask=sa.alibi()),
    "slopes: only for compressed ALiBi": prefix(slopes=full(2, dtype=F32)),
    "blockTables: must have at least one batch row": prefix(
        query=full(0, 32), blockTables=full(0, 2, dtype=I32), seqLen=[], kvSeqLen=[]
    ),
    "query: must have a head size of at least 1": prefix(
        query=full(7, 0), key=full(3, 128, 0), value=full(3, 128, 0)
    ),
    "seqLen: must not be negative": prefix(seqLen=[-1, 8], kvSeqLen=[127, 136]),
    "kvSeqLen: must be at least seqLen, new tokens count": prefix(
        seqLen=[3, 4], kvSeqLen=[131, 3], blockTables=np.array([[0, 2], [1, 0]], I32)
    ),
    "mask: must have a row for each query": prefix(
        maskType=4, mask=full(2, 130, 128), slopes=full(2, dtype=F32)
    ),
    "mask: must hide the keys after the query and nothing else": prefix(maskType=3, mask=full(128, 128)),
}
DECODING: dict[str, Call] = {
    "query: must have a head size of at least 1": incre.dense(
        query=np.ones((2, 1, 0), F16), **incre.both(np.ones((2, 10, 0), F16))
    ),
    "actual_seq_lengths: must be at most the rows of its tensor": listed(10, 4, lengths=[10, 5]),
    "D, kvN: must have at most 65535 channels a row": pages(128, 512),
    "quant_offset2: must have the shape of quant_scale2": incre.dense(
        quant_scale2=np.ones(64, F32), quant_offset2=np.ones(1, F32)
    ),
    "actual_seq_lengths: must be at most the cache size": incre.dense(actual_seq_lengths=[3, 11]),
}
COMPRESSED: dict[str, Call] = {
    "value: must have a head size of at least 1": nsa.call(value=nsa.t(13, 2, 0)),
}
BY_OPERATOR: dict[str, dict[str, Call]] = {
    "self_attention": IN_CACHE,
    "self_attention_pa_encoder": IN_PROMPTS,
    "self_attention_prefix_encoder": OF_PREFIXES,
    "incre_flash_attention": DECODING,
    "nsa_compress_attention": COMPRESSED,
}
