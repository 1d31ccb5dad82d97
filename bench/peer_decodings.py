"""Numbers of decoding, one query a row over a cache, and the calls of our incre_flash_attention on them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from peer_inputs import BLOCK, block_table, heads_told, pages
from peer_runs import DTYPES, numbers

from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load

Array = npt.NDArray[Any]
SIZE = 128
SCALE = 1 / math.sqrt(SIZE)
_SHORT = {
    "attn_mask": "mask",
    "pse_shift": "pse",
    "kv_padding_size": "padding",
    "quant_scale2": "quant_scale",
    "quant_offset2": "quant_offset",
}
"""Names of files, where they are not those of arguments."""


@dataclass(frozen=True)
class Decoding:
    """A call with its tensors.

    Attributes:
        name: as readers know the problem, whoever solves it.
        lengths: keys of the rows, none where all have the cache's ``capacity``.
        size: channels of a head.
        block: rows of a page; 0 where the cache is not paged.
        files: tensors by a short name, as kernels read them.
    """

    name: str
    call: Call
    layout: str
    batch: int
    heads: int
    kv_heads: int
    capacity: int
    dtype: str
    lengths: tuple[int, ...]
    files: Mapping[str, Array]
    size: int = SIZE
    block: int = 0

    @property
    def longest(self) -> int:
        """The most keys of a row."""
        return max(self.lengths, default=self.capacity)

    def result(self, values: Array) -> Array:
        """A result as ours is."""
        return values.reshape(self.files["q"].shape)


def decoding(
    says: str,
    heads: int,
    kv_heads: int,
    dtype: str,
    *,
    batch: int = 0,
    lengths: Sequence[int] = (),
    capacity: int = 0,
    layout: str = "BSH",
    size: int = SIZE,
    features: Sequence[str] = (),
) -> Decoding:
    """Over a cache of ``capacity`` rows, by default those of the longest row.

    ``features``: "mask", "pse", "left padding", "int8 keys" with factors and offsets, "int8 result", and "a
    tensor a row" of keys and values, which has the row's keys alone.
    """
    batch, capacity = batch or len(lengths), capacity or max(lengths)
    listed = "a tensor a row" in features
    stored = "int8" if "int8 keys" in features else dtype

    def tensors(seed: int) -> list[Array]:
        return [
            _numbers(seed + 10 * number, stored, layout, 1 if listed else batch, rows, kv_heads, size)
            for number, rows in enumerate(lengths if listed else [capacity])
        ]

    query = _numbers(0, dtype, layout, batch, 1, heads, size)
    key, value = tensors(1), tensors(2)
    arguments: dict[str, Any] = dict(
        _optional(features, batch, heads, kv_heads, capacity, size, dtype, layout)
    )
    files = {"q": query} | {_SHORT.get(name, name): tensor for name, tensor in arguments.items()}
    for short, given in (("k", key), ("v", value)):
        files |= {f"{short}{row}" if listed else short: tensor for row, tensor in enumerate(given)}
    if lengths and not listed:
        arguments["actual_seq_lengths"] = list(lengths)
        files["lengths"] = np.array(lengths, np.int64)
    call = load("incre_flash_attention").bind(
        query=query,
        key=key,
        value=value,
        num_heads=heads,
        num_key_value_heads=kv_heads,
        input_layout=layout,
        scale_value=1 / math.sqrt(size),
        **arguments,
    )
    told = (
        layout,
        heads_told(heads, kv_heads),
        *([f"size {size}"] if size != SIZE else []),
        says,
        *features,
        dtype,
    )
    name = f"decoding, {', '.join(told)}"
    return Decoding(name, call, layout, batch, heads, kv_heads, capacity, dtype, tuple(lengths), files, size)


def _numbers(seed: int, dtype: str, layout: str, batch: int, rows: int, heads: int, size: int) -> Array:
    shape = (batch, heads, rows, size) if layout == "BNSD" else (batch, rows, heads * size)
    if dtype == "int8":
        return np.random.default_rng(seed).integers(-127, 128, shape).astype(np.int8)
    return numbers(seed, dtype, *shape)


def _optional(
    features: Sequence[str],
    batch: int,
    heads: int,
    kv_heads: int,
    capacity: int,
    size: int,
    dtype: str,
    layout: str,
) -> Iterator[tuple[str, Array]]:
    """Tensors that features are, by the name of their argument."""
    rng = np.random.default_rng(5)
    if "mask" in features:
        yield "attn_mask", rng.random((batch, capacity)) < 0.3
    if "pse" in features:
        yield "pse_shift", numbers(4, dtype, batch, heads, 1, capacity)
    if "left padding" in features:
        yield "kv_padding_size", np.array([5], np.int64)
    if "int8 keys" in features:
        factors = (2, kv_heads, 1, size) if layout == "BNSD" else (2, kv_heads * size)
        yield "antiquant_scale", rng.uniform(0.004, 0.012, factors).astype(DTYPES[dtype])
        yield "antiquant_offset", rng.integers(-9, 10, factors).astype(DTYPES[dtype])
    if "int8 result" in features:
        yield "quant_scale2", np.array([97], np.float32)
        yield "quant_offset2", np.array([-3], np.float32)


def paged_decoding(
    says: str, lengths: Sequence[int], heads: int, kv_heads: int, dtype: str, block: int = BLOCK
) -> Decoding:
    """Over pages of a cache, whose other rows are NaN."""
    batch, total = len(lengths), sum(lengths)
    query = numbers(0, dtype, batch, 1, heads * SIZE)
    table = block_table(lengths, block)
    key, value = (
        pages(numbers(seed, dtype, total, kv_heads * SIZE), lengths, table, block) for seed in (1, 2)
    )
    call = load("incre_flash_attention").bind(
        query=query,
        key=[key],
        value=[value],
        actual_seq_lengths=list(lengths),
        block_table=table,
        num_heads=heads,
        num_key_value_heads=kv_heads,
        scale_value=SCALE,
        block_size=block,
    )
    name = f"paged by {block}, {heads_told(heads, kv_heads)}, {says}, {dtype}"
    files = {"q": query, "k": key, "v": value, "table": table, "lengths": np.array(lengths, np.int64)}
    capacity = table.shape[1] * block
    return Decoding(
        name, call, "BSH", batch, heads, kv_heads, capacity, dtype, tuple(lengths), files, block=block
    )


UNEVEN = ("100, 300, 17, 64, 700, 1 keys", [100, 300, 17, 64, 700, 1], 8, 2)
EVEN = ("24 rows of 1024 keys", [1024] * 24, 8, 8)
LONG = ("2 rows of 7000 and 6200 keys", [7000, 6200], 8, 1)
"""What the name says, lengths, heads of queries and of keys."""
PAGES = (
    (*EVEN, "half"),
    (*UNEVEN, "half"),
    (*UNEVEN, "bf16"),
    (*LONG, "half"),
    (*UNEVEN, "half", 64),
)
"""The same, the dtype and the rows of a page."""
