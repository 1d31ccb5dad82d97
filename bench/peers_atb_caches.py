"""Problems of ATB's kernels over caches, and of our operators on the same numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from atb_build import FLASH, PAGED, Atb, words_of
from atb_build import LATENT as LATENT_KERNELS
from peer_decodings import EVEN, PAGES, SCALE, SIZE, UNEVEN, Decoding, paged_decoding
from peer_inputs import BLOCK, LATENT, Latent, block_table, causal_tile, heads_told, latent, pages
from peer_runs import DTYPES, Problem, PublicRun, numbers

from attndsl.spec.operator.loader import load

Array = npt.NDArray[Any]


def _paged(atb: Atb, made: Decoding) -> Problem:
    """One query a row over a paged cache: our incre_flash_attention."""
    kept = ("q", "k", "v", "table")
    files = {name: made.files[name] for name in kept} | {"kv_seqlen": np.array(made.lengths, np.int32)}
    build = partial(atb.program, "paged.cpp", "paged_attention_mask_mix.cce", PAGED)
    words = words_of(made.dtype, made.heads, made.kv_heads, SIZE, SCALE, made.block)
    return Problem(made.name, made.call, made.result, {"ATB": PublicRun(build, words, files)})


def _decoder(atb: Atb, says: str, lengths: Sequence[int], heads: int, kv_heads: int, dtype: str) -> Problem:
    """One query a row over a cache of one layer: self_attention with calcType DECODER."""
    batch, room = len(lengths), max(lengths) + 3
    query = numbers(0, dtype, batch, heads * SIZE)
    key, value = (numbers(seed, dtype, batch, room, kv_heads * SIZE) for seed in (1, 2))
    keys = np.array(lengths, np.int32)
    call = load("self_attention").bind(
        query=query,
        cacheK=key[None],
        cacheV=value[None],
        tokenOffset=keys,
        seqLen=np.ones(batch, np.int32),
        layerId=np.zeros(1, np.int32),
        headNum=heads,
        kvHeadNum=kv_heads,
        qkScale=SCALE,
        calcType="DECODER",
        kvcacheCfg="K_BYPASS_V_BYPASS",
    )
    files = {"q": query, "k": key, "v": value, "kv_seqlen": keys, "layer": np.zeros(1, np.int32)}
    build = partial(atb.program, "decoder.cpp", "unpad_flash_attention_decoder_hp_mix.cce", FLASH)
    run = PublicRun(build, words_of(dtype, heads, kv_heads, SIZE, SCALE), files)
    name = f"cached, {heads_told(heads, kv_heads)}, {says}, {dtype}"
    return Problem(name, call, lambda values: values.reshape(query.shape), {"ATB": run})


def _prefix(
    atb: Atb,
    tokens: Sequence[int],
    blocks: Sequence[int],
    heads: int,
    kv_heads: int,
    dtype: str,
    masked: bool,
) -> Problem:
    """Prompts behind cached blocks of 128 keys: self_attention with calcType PREFIX_ENCODER."""
    lengths = [own + cached * BLOCK for own, cached in zip(tokens, blocks, strict=True)]
    query = numbers(0, dtype, sum(tokens), heads, SIZE)
    table = block_table(lengths)
    key, value = (
        pages(numbers(seed, dtype, sum(lengths), kv_heads, SIZE), lengths, table) for seed in (1, 2)
    )
    mask: dict[str, Array] = {}
    if masked:
        mask["mask"] = causal_tile(dtype)
    own, keys = np.array(tokens, np.int32), np.array(lengths, np.int32)
    call = (
        load("self_attention")
        .mode_named("PREFIX_ENCODER")
        .bind(
            query=query,
            key=key,
            value=value,
            blockTables=table,
            seqLen=own,
            kvSeqLen=keys,
            headNum=heads,
            kvHeadNum=kv_heads,
            qkScale=SCALE,
            isTriuMask=1,
            kernelType="HIGH_PRECISION",
            maskType="NORM_COMPRESS" if masked else "CAUSAL_MASK",
            **mask,
        )
    )
    files = {"q": query, "k": key, "v": value, "table": table, "seqlen": own, "kv_seqlen": keys, **mask}
    build = partial(atb.program, "prefix.cpp", "unpad_flashattention_bf16_prefix_cache.cce", FLASH)
    run = PublicRun(build, words_of(dtype, heads, kv_heads, SIZE, SCALE), files)
    told = ", ".join(f"{n} after {c}" for n, c in zip(tokens, blocks, strict=True))
    how = "a tile of the mask" if masked else "no mask"
    name = f"prefix, {heads_told(heads, kv_heads)}, {told} blocks, {how}, {dtype}"
    return Problem(name, call, lambda values: values.reshape(query.shape), {"ATB": run})


def _latent(atb: Atb, made: Latent) -> Problem:
    """Absorbed latent decoding: our mla_decode."""
    heads, size = made.query.shape[1:]
    files = {**made.split(), "table": made.table, "kv_seqlen": made.lengths}
    build = partial(atb.program, "latent.cpp", "mla.cce", LATENT_KERNELS)
    run = PublicRun(build, words_of(made.dtype, heads, 1 / math.sqrt(size), BLOCK), files)
    return Problem(made.name, made.call, made.result, {"ATB": run})


def cache_problems(atb: Atb) -> Iterator[Problem]:
    """Problems over caches that ATB's kernels solve."""
    for case in PAGES:
        yield _paged(atb, paged_decoding(*case))
    for case, dtype in ((EVEN, "half"), (UNEVEN, "half"), (UNEVEN, "bf16")):
        yield _decoder(atb, *case, dtype)
    for dtype in DTYPES:
        for masked in (True, False):
            yield _prefix(atb, [200, 1, 333], [2, 5, 0], 8, 2, dtype, masked=masked)
    for each in LATENT:
        yield _latent(atb, latent(*each))
