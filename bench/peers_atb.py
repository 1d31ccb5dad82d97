"""Problems of ATB's kernels (ascend-transformer-boost), and of our operators on the same numbers.

How they are compiled: ``atb_build``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from atb_build import FLASH, Atb, words_of
from peer_inputs import PROMPTS, prompt_name, prompts
from peer_runs import Problem, PublicRun, numbers
from peers_atb_caches import cache_problems

from attndsl.emulator.vendor_headers import VendorHeaders
from attndsl.spec.operator.loader import load

Array = npt.NDArray[Any]
_NO_OWN = "a row without keys of its own merges what nobody wrote (contract of relay_attention, section 5)"


def _prompt(atb: Atb, lengths: Sequence[int], heads: int, kv_heads: int, dtype: str, causal: bool) -> Problem:
    made = prompts(lengths, heads, kv_heads, dtype, causal=causal)
    files = {"q": made.query, "k": made.key, "v": made.value, "seqlen": np.array(lengths, np.int32)}
    if made.mask is not None:
        files["mask"] = made.mask
    size = made.query.shape[-1]
    builds = {
        "half": partial(atb.program, "prompt_fp16.cpp", "unpad_flash_attention_mix.cce", FLASH),
        "bf16": partial(atb.program, "prompt_bf16.cpp", "unpad_flashattention_bf16_mix.cce", FLASH),
    }

    def run(build: str, precise: bool) -> PublicRun:
        words = words_of(dtype, heads, kv_heads, size, 1 / math.sqrt(size), int(precise), int(causal))
        read = dict(files)
        if precise and made.mask is not None:  # with HIGH_PRECISION a mask holds 1 where a key is hidden
            read["mask"] = (made.mask != 0).astype(made.mask.dtype)
        return PublicRun(builds[build], words, read)

    runs = {"ATB": run(dtype, False)}
    if dtype == "half":
        runs["ATB precise"] = run("bf16", True)
    return Problem(
        prompt_name(lengths, heads, kv_heads, dtype, causal=causal),
        made.call,
        lambda values: values.reshape(made.query.shape),
        runs,
    )


def _relay(
    atb: Atb,
    name: str,
    own: Sequence[int],
    groups: Sequence[int],
    shared: Sequence[int],
    heads: int,
    kv_heads: int,
    dtype: str,
    size: int = 128,
    explained: str = "",
) -> Problem:
    """Rows with ``own`` keys; ``groups``: whose shared keys each sees, or -1; ``shared``: their number."""
    batch, room, shared_room = len(own), max(own) + 5, max(shared) + 3
    query = numbers(0, dtype, batch, heads * size)

    def cache(seed: int, count: int, rows: int) -> list[Array]:
        return list(numbers(seed, dtype, count, rows, kv_heads * size))

    key, value = cache(1, batch, room), cache(2, batch, room)
    key_share, value_share = cache(3, len(shared), shared_room), cache(4, len(shared), shared_room)
    keys = np.array([n + (shared[g] if g >= 0 else 0) for n, g in zip(own, groups, strict=True)], np.int32)
    share_map, share_len = np.array(groups, np.int32), np.array(shared, np.int32)
    call = load("relay_attention").bind(
        query=query,
        key=key,
        value=value,
        keyShare=key_share,
        valueShare=value_share,
        attentionMask=np.zeros((1, 1), query.dtype),
        seqLen=np.ones(batch, np.int32),
        kvSeqLen=keys,
        kvShareMap=share_map,
        kvShareLen=share_len,
        headNum=heads,
        kvHeadNum=kv_heads,
        qkScale=1 / math.sqrt(size),
    )
    files = {"q": query, "kv_seqlen": keys, "share_map": share_map, "share_len": share_len}
    for prefix, tensors in (("k", key), ("v", value), ("ks", key_share), ("vs", value_share)):
        files |= {f"{prefix}{number}": each for number, each in enumerate(tensors)}
    words = words_of(dtype, batch, len(shared), heads, kv_heads, size, 1 / math.sqrt(size))
    build = partial(atb.program, "relay.cpp", "relay_attention_decoder_mix.cce", FLASH)
    run = PublicRun(build, words, files, explained)
    return Problem(f"relay, {name}, {dtype}", call, lambda values: values.reshape(query.shape), {"ATB": run})


def atb_problems(checkout: Path, headers: VendorHeaders) -> Iterator[Problem]:
    """Problems that ATB's kernels solve."""
    atb = Atb(checkout, headers)
    for lengths, heads, kv_heads, dtype, causal in PROMPTS:
        yield _prompt(atb, lengths, heads, kv_heads, dtype, causal)
    rows = [100, 300, 17, 64, 700, 1]
    groups = [0, 0, 1, -1, 1, 0]
    yield _relay(atb, "6 rows, 8 heads on 2, groups of 256 and 513", rows, groups, [256, 513], 8, 2, "half")
    yield _relay(atb, "6 rows, 8 heads on 2, groups of 256 and 513", rows, groups, [256, 513], 8, 2, "bf16")
    yield _relay(atb, "24 rows, 8 heads, a group of 1024", [128] * 24, [0] * 24, [1024], 8, 8, "half")
    yield _relay(
        atb, "a row with shared keys alone", [0, 50], [0, -1], [128], 4, 4, "half", explained=_NO_OWN
    )
    yield from cache_problems(atb)
