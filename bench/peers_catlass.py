"""Problems of catlass' examples, and of our operators on the same numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from catlass_kernels import built
from peer_runs import DTYPES, Problem, PublicRun, numbers

from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load

Array = npt.NDArray[Any]
_BLOCK = 128
_HERE = ("--datapath", ".")
_VARIANTS = Path(__file__).parents[1] / "specs" / "variants"


def _pages(rows: Array, lengths: Sequence[int], table: Array) -> Array:
    """Packed rows of keys as blocks of 128, where a table has them; the rest of the last blocks is NaN."""
    pool = np.full((table.size, _BLOCK, *rows.shape[1:]), np.nan, rows.dtype)
    begin = 0
    for row, length in enumerate(lengths):
        for block in range(-(-length // _BLOCK)):
            part = rows[begin + block * _BLOCK : begin + min((block + 1) * _BLOCK, length)]
            pool[table[row, block], : len(part)] = part
        begin += length
    return pool


def _table(lengths: Sequence[int]) -> Array:
    width = -(-max(lengths) // _BLOCK)
    order = np.random.default_rng(3).permutation(len(lengths) * width)
    return order.reshape(len(lengths), width).astype(np.int32)


@dataclass(frozen=True)
class Prompts:
    """Packed prompts of several lengths with heads of 128 channels: our call and its tensors."""

    call: Call
    query: Array
    key: Array
    value: Array
    mask: Array | None


def prompts(lengths: Sequence[int], heads: int, kv_heads: int, dtype: str, *, causal: bool) -> Prompts:
    """All keys seen, or those before a query and its own."""
    size, tokens = 128, sum(lengths)
    query = numbers(0, dtype, tokens, heads, size)
    key, value = (numbers(seed, dtype, tokens, kv_heads, size) for seed in (1, 2))
    mask: Array | None = None
    arguments: dict[str, Any] = {}
    if causal:
        hidden = -65504.0 if dtype == "half" else 1.0
        mask = np.triu(np.full((_BLOCK, _BLOCK), hidden, np.float32), 1).astype(DTYPES[dtype])
        arguments = {"mask": mask, "maskType": "NORM_COMPRESS", "isTriuMask": 1}
    call = (
        load("self_attention")
        .mode_named("PA_ENCODER")
        .bind(
            query=query,
            key=key,
            value=value,
            seqLen=np.array(lengths, np.int32),
            headNum=heads,
            kvHeadNum=kv_heads,
            qkScale=1 / math.sqrt(size),
            **arguments,
        )
    )
    return Prompts(call, query, key, value, mask)


def prompt(
    checkout: Path, lengths: Sequence[int], heads: int, kv_heads: int, dtype: str, *, causal: bool
) -> Problem:
    """Prompts by its examples of flash attention."""
    made = prompts(lengths, heads, kv_heads, dtype, causal=causal)
    query, key, value = made.query, made.key, made.value
    tokens, _, size = query.shape
    table = _table(lengths)
    files = {
        "q": query,
        "k": _pages(key, lengths, table),
        "v": _pages(value, lengths, table),
        "mask": np.triu(np.ones((1024, 1024), np.float32), 1).astype(DTYPES[dtype]),
        "q_ntokens": np.array([tokens], np.int32),
        "q_seqlen": np.array(lengths, np.int64),
        "kv_seqlen": np.array(lengths, np.int64),
        "block_table": table,
    }
    sizes = (len(lengths), max(lengths), max(lengths), heads, kv_heads, size, 0, int(causal))
    command = (*map(str, sizes), "--dtype", dtype, *_HERE)
    runs = {
        f"catlass {number}": PublicRun(partial(built, checkout, f"examples/{folder}/fai.cpp"), command, files)
        for number, folder in ((23, "23_flash_attention_infer"), (40, "40_flash_attention_infer_tla"))
    }
    return Problem(
        prompt_name(lengths, heads, kv_heads, dtype, causal=causal),
        made.call,
        lambda values: values.reshape(query.shape),
        runs,
    )


def latent(name: str, checkout: Path, lengths: Sequence[int], heads: int, dtype: str) -> Problem:
    """Absorbed latent decoding over a paged cache: 512 latent channels, then 64 rotary ones."""
    batch, latent_size, size = len(lengths), 512, 576
    query = numbers(0, dtype, batch, heads, size)
    table = _table(lengths)
    cache = _pages(numbers(1, dtype, sum(lengths), 1, size), lengths, table)
    call = load(str(_VARIANTS / "mla_decode.py")).bind(
        query=query.reshape(batch, heads, 1, size),
        cache=np.nan_to_num(cache).transpose(0, 2, 1, 3).copy(),
        table=table,
        lengths=np.array(lengths, np.int32),
        scale=1 / math.sqrt(size),
        latent=latent_size,
    )
    files = {
        "q": query[..., :latent_size],
        "q_rope": query[..., latent_size:],
        "k": np.nan_to_num(cache)[..., :latent_size],
        "k_rope": np.nan_to_num(cache)[..., latent_size:],
        "q_ntokens": np.array([batch], np.int32),
        "q_seqlen": np.ones(batch, np.int32),
        "kv_seqlen": np.array(lengths, np.int32),
        "block_table": table,
    }
    arguments = (batch, ",".join(["1"] * batch), ",".join(map(str, lengths)), heads, table.size, _BLOCK)
    run = PublicRun(
        partial(built, checkout, "examples/19_mla/mla.cpp", ("examples/19_mla/mla_tiling.cpp",)),
        (*map(str, arguments), "--dtype", dtype, *_HERE),
        files,
    )
    return Problem(
        name, call, lambda values: values.reshape(batch, heads, 1, latent_size), {"catlass 19": run}
    )


PROMPTS = (
    ([1024], 8, 8, "half", False),
    ([1024], 8, 8, "half", True),
    ([700, 1, 129, 512], 8, 2, "half", True),
    ([640, 333], 4, 1, "bf16", False),
    ([640, 333], 4, 1, "bf16", True),
)
"""Lengths, heads of queries and of keys, dtype, causal."""


def prompt_name(lengths: Sequence[int], heads: int, kv_heads: int, dtype: str, *, causal: bool) -> str:
    """As readers know the problem, whoever solves it."""
    on = f" on {kv_heads}" if kv_heads != heads else ""
    tokens = ", ".join(map(str, lengths))
    return f"{'causal' if causal else 'full'}, {heads} heads{on}, {tokens} tokens, {dtype}"


def catlass_problems(checkout: Path) -> Iterator[Problem]:
    """Problems that catlass' examples solve."""
    for lengths, heads, kv_heads, dtype, causal in PROMPTS:
        yield prompt(checkout, lengths, heads, kv_heads, dtype, causal=causal)
    yield latent("latent, 128 heads, 4 rows of 1024 keys, half", checkout, [1024] * 4, 128, "half")
    yield latent("latent, 32 heads, 700, 64, 1500 keys, half", checkout, [700, 64, 1500], 32, "half")
    yield latent("latent, 16 heads, 2 rows of 900 keys, bf16", checkout, [900] * 2, 16, "bf16")
