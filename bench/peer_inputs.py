"""Numbers of problems that several public kernels solve, and the calls of ours on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from peer_runs import DTYPES, numbers

from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load

Array = npt.NDArray[Any]
BLOCK = 128
_VARIANTS = Path(__file__).parents[1] / "specs" / "variants"


def pages(rows: Array, lengths: Sequence[int], table: Array, block: int = BLOCK) -> Array:
    """Packed rows of keys as blocks, where a table has them; the rest of the last blocks is NaN."""
    pool = np.full((table.size, block, *rows.shape[1:]), np.nan, rows.dtype)
    begin = 0
    for row, length in enumerate(lengths):
        for column in range(-(-length // block)):
            part = rows[begin + column * block : begin + min((column + 1) * block, length)]
            pool[table[row, column], : len(part)] = part
        begin += length
    return pool


def block_table(lengths: Sequence[int], block: int = BLOCK) -> Array:
    """Blocks of rows of several lengths, in random order, none twice."""
    width = -(-max(lengths) // block)
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


def causal_tile(dtype: str) -> Array:
    """One tile of a causal mask, which hides the keys behind each query."""
    hidden = -65504.0 if dtype == "half" else 1.0
    tile: Array = np.triu(np.full((BLOCK, BLOCK), hidden, np.float32), 1).astype(DTYPES[dtype])
    return tile


def prompts(lengths: Sequence[int], heads: int, kv_heads: int, dtype: str, *, causal: bool) -> Prompts:
    """All keys seen, or those before a query and its own."""
    size, tokens = 128, sum(lengths)
    query = numbers(0, dtype, tokens, heads, size)
    key, value = (numbers(seed, dtype, tokens, kv_heads, size) for seed in (1, 2))
    mask: Array | None = None
    arguments: dict[str, Any] = {}
    if causal:
        mask = causal_tile(dtype)
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
    tokens = ", ".join(map(str, lengths))
    return f"{'causal' if causal else 'full'}, {heads_told(heads, kv_heads)}, {tokens} tokens, {dtype}"


def heads_told(heads: int, kv_heads: int) -> str:
    """How many heads there are of queries and, if they are others, of keys."""
    return f"{heads} heads" + (f" on {kv_heads}" if kv_heads != heads else "")


@dataclass(frozen=True)
class Latent:
    """Absorbed latent decoding over a paged cache: 512 latent channels, then 64 rotary ones."""

    name: str
    call: Call
    query: Array
    cache: Array
    table: Array
    lengths: Array
    dtype: str
    channels: int = 512

    def split(self) -> dict[str, Array]:
        """Query and cache as files, latent and rotary channels apart."""
        split = self.channels
        return {
            "q": self.query[..., :split],
            "q_rope": self.query[..., split:],
            "k": self.cache[..., :split],
            "k_rope": self.cache[..., split:],
        }

    def result(self, values: Array) -> Array:
        """A result as ours is: a query a row."""
        return values.reshape(*self.query.shape[:2], 1, self.channels)


LATENT = (
    ("4 rows of 1024 keys", [1024] * 4, 128, "half"),
    ("700, 64, 1500 keys", [700, 64, 1500], 32, "half"),
    ("2 rows of 900 keys", [900] * 2, 16, "bf16"),
)
"""What the name says, lengths, heads, dtype."""


def latent(says: str, lengths: Sequence[int], heads: int, dtype: str) -> Latent:
    """One query a row of so many keys."""
    batch, size = len(lengths), 576
    query = numbers(0, dtype, batch, heads, size)
    table = block_table(lengths)
    cache = np.nan_to_num(pages(numbers(1, dtype, sum(lengths), 1, size), lengths, table))
    keys = np.array(lengths, np.int32)
    call = load(str(_VARIANTS / "mla_decode.py")).bind(
        query=query.reshape(batch, heads, 1, size),
        cache=cache.transpose(0, 2, 1, 3).copy(),
        table=table,
        lengths=keys,
        scale=1 / math.sqrt(size),
        latent=Latent.channels,
    )
    return Latent(f"latent, {heads} heads, {says}, {dtype}", call, query, cache, table, keys, dtype)
