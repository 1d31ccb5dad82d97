"""The problems that ``bench/kernels.py`` prices: calls of the shipped operators, and what is asked of each.

Lengths, sharing and block tables are real; tensors that no length, index or check depends on are zeros, of
which timing without data reads none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load
from attndsl.spec.operator.operator import Operator

Array = npt.NDArray[Any]
FP16, BF16 = "fp16", "bf16"
_DTYPES: dict[str, Any] = {FP16: np.float16, BF16: ml_dtypes.bfloat16}
_VARIANTS = Path(__file__).parents[1] / "specs" / "variants"
_HIDDEN = -65504.0
"""What a mask adds to a score that it hides, in float16."""


@dataclass(frozen=True)
class Work:
    """What a problem needs, whoever computes it.

    Attributes:
        scores: visible (query row, key) pairs of all query heads.
        depth: head sizes of queries and of values together.
        read: bytes that must be read at least once: queries, and keys and values of true lengths.
        written: bytes of the results.
        mask: bytes of a mask that is read for every score.
        vector: operations of the vector cores on each score besides those of softmax, by device name.
    """

    scores: int
    depth: int
    read: int
    written: int
    mask: int = 0
    vector: tuple[str, ...] = ()

    @property
    def flops(self) -> int:
        """Useful floating-point operations: a multiplication and an addition a channel, of both products."""
        return 2 * self.depth * self.scores


@dataclass(frozen=True)
class Row:
    """A problem and what is asked of it.

    Attributes:
        of: what the share is of: ``cube`` (the part's peak), ``R`` (what keys and values can be read at),
            ``bound`` (the slowest of cube, vector cores, L2 and memory) or ``stated`` (microseconds).
        least: the share that is asked for; None where the time alone or another row decides.
        most: microseconds at most.
        beside: another row's name, and how many times its time is allowed.
        stated: microseconds of the bound where it is a number of its own.
        once: whether bytes read from memory must be those of ``work`` within 1 %.
        vector_cycles: of a vector core for 64 scores, at most.
        long: whether it takes most of a minute.
        says: what a reader should know of how the problem is expressed.
    """

    name: str
    call: Callable[[], Call]
    work: Work
    of: str = "cube"
    least: float | None = None
    most: float | None = None
    beside: tuple[str, float] | None = None
    stated: float = 0.0
    once: bool = False
    vector_cycles: float | None = None
    long: bool = False
    says: str = ""


def zeros(*shape: int, dtype: Any = np.float16) -> Array:
    """A tensor without numbers; pages that nobody reads take no memory."""
    return np.zeros(shape, dtype)


def triangle(size: int, dtype: str) -> Array:
    """A mask that hides later keys: of float16 what is added to scores, of bfloat16 1 where it hides."""
    hides = _HIDDEN if dtype == FP16 else 1.0
    return np.triu(np.full((size, size), hides, np.float32), 1).astype(_DTYPES[dtype])


def square(rows: int) -> int:
    """Scores of as many queries as keys, a head."""
    return rows * rows


def causal(rows: int, prefix: int = 0) -> int:
    """Scores of queries that see a prefix, themselves and what is before them, a head."""
    return rows * prefix + rows * (rows + 1) // 2


def window(rows: int, size: int) -> int:
    """Scores of queries that see at most ``size`` keys, themselves with them, a head."""
    return causal(min(rows, size)) + max(rows - size, 0) * size


@cache
def _mode(name: str) -> Operator:
    return load("self_attention").mode_named(name)


# ------------------------------------------------------------------------------------------------
# Prompts


def prompt(
    rows: int,
    *,
    heads: int = 8,
    kv_heads: int = 0,
    batch: int = 1,
    size: int = 128,
    dtype: str = FP16,
    **arguments: Any,
) -> Callable[[], Call]:
    """Prompts of equal length with their own keys, packed."""
    element = _DTYPES[dtype]

    def call() -> Call:
        tokens, shared = batch * rows, kv_heads or heads
        return _mode("PA_ENCODER").bind(
            query=zeros(tokens, heads, size, dtype=element),
            key=zeros(tokens, shared, size, dtype=element),
            value=zeros(tokens, shared, size, dtype=element),
            seqLen=np.full(batch, rows, np.int32),
            headNum=heads,
            kvHeadNum=shared,
            qkScale=1 / math.sqrt(size),
            **{name: each() if callable(each) else each for name, each in arguments.items()},
        )

    return call


def prompt_work(
    scores: int,
    rows: int,
    *,
    heads: int = 8,
    kv_heads: int = 0,
    size: int = 128,
    mask: int = 0,
    vector: tuple[str, ...] = (),
) -> Work:
    """``scores``: a head; ``rows``: of all prompts together; elements have two bytes."""
    read = 2 * rows * size * (heads + 2 * (kv_heads or heads))
    return Work(heads * scores, 2 * size, read, 2 * rows * heads * size, mask, vector)


def _triangular(dtype: str) -> dict[str, Any]:
    return {"mask": lambda: triangle(128, dtype), "maskType": "NORM_COMPRESS", "isTriuMask": 1}


def _prompts(dtype: str) -> Iterator[Row]:
    for rows, least in ((4096, 0.60), (8192, 0.66)):
        work = prompt_work(square(rows), rows)
        limit = 9.0 if rows == 4096 else None
        name = f"prefill full S{rows} {dtype}"
        yield Row(name, prompt(rows, dtype=dtype), work, least=least, vector_cycles=limit)
    for rows, least in ((4096, 0.52), (8192, 0.63), (32768, 0.66)):
        call = prompt(rows, dtype=dtype, **_triangular(dtype))
        work = prompt_work(causal(rows), rows)
        yield Row(f"prefill causal S{rows} {dtype}", call, work, least=least, long=rows > 8192)


def narrow_prompt(rows: int, heads: int = 8, size: int = 128) -> Callable[[], Call]:
    """A prompt whose scores pass between the cores in fp16."""

    def call() -> Call:
        tokens = {name: zeros(1, heads, rows, size) for name in ("query", "key", "value")}
        return load(str(_VARIANTS / "narrow_scores.py")).bind(**tokens, scale=1 / math.sqrt(size))

    return call


def _further_prompts() -> Iterator[Row]:
    rows = 4096
    work = prompt_work(square(rows), rows)
    says = "specs/variants/narrow_scores.py: results have an error bound of their own"
    yield Row("prefill full S4096, fp16 scores", narrow_prompt(rows), work, least=0.70, says=says)
    work = prompt_work(square(rows), rows, heads=32)
    yield Row("prefill full S4096 N32/32", prompt(rows, heads=32), work)
    work = prompt_work(square(rows), rows, heads=32, kv_heads=8)
    call = prompt(rows, heads=32, kv_heads=8)
    yield Row("prefill full S4096 N32/8", call, work, beside=("prefill full S4096 N32/32", 1.03))
    work = prompt_work(square(rows), rows, size=64)
    yield Row("prefill full S4096 D64", prompt(rows, size=64), work, least=0.33)
    work = prompt_work(16 * square(512), 16 * 512)
    yield Row("prefill 16 x S512", prompt(512, batch=16), work, least=0.45)


def _masked_prompts() -> Iterator[Row]:
    rows, least = 4096, 0.80
    work = prompt_work(square(rows), rows, mask=2 * 8 * square(rows), vector=("Convert", "Add"))
    call = prompt(rows, mask=lambda: zeros(1, rows, rows), maskType="NORM")
    yield Row("prefill S4096 NORM mask (1, S, S)", call, work, of="bound", least=least)
    work = prompt_work(causal(rows), rows, vector=("Convert", "Axpy"))
    call = prompt(
        rows,
        mask=lambda: alibi_bias(256),
        slopes=lambda: np.full(8, 0.25, np.float32),
        maskType="ALIBI_COMPRESS",
        isTriuMask=1,
        kernelType="HIGH_PRECISION",
    )
    yield Row("prefill S4096 ALiBi", call, work, of="bound", least=least, says="compressed, causal")
    work = prompt_work(square(rows), rows, vector=("Maxs", "Mins"))
    call = prompt(rows, clampType="MIN_MAX", clampMin=-30.0, clampMax=30.0)
    says = "the contract clamps scores; it has no tanh"
    yield Row("prefill S4096 soft-cap", call, work, of="bound", least=least, says=says)
    rows = 8192
    work = prompt_work(window(rows, 1024), rows)
    call = prompt(rows, mask=lambda: window_mask(1024), maskType="SLIDING_WINDOW_COMPRESS", windowSize=1024)
    yield Row("prefill S8192 window 1024", call, work, of="bound", least=least)


def alibi_bias(size: int) -> Array:
    """The compressed bias: distances on and below the diagonal, a hiding number above it."""
    at = np.arange(size)
    return np.where(at[None] > at[:, None], -_HIDDEN, at[:, None] - at[None]).astype(np.float16)


def window_mask(size: int) -> Array:
    """The compressed mask of a window: 512 rows, of which those of three blocks and its rest count."""
    row, column = np.indices((512, 512))
    short = min(size, 3 * 128) if size <= 3 * 128 or size % 128 == 0 else 2 * 128 + size % 128
    return np.where((column > row) | (row - column >= short), _HIDDEN, 0.0).astype(np.float16)


# ------------------------------------------------------------------------------------------------
# Decoding


LAYOUTS = ("BNSD", "BSH", "paged")
_BLOCK = 128


def decode(
    lengths: Array,
    heads: int,
    kv_heads: int,
    layout: str = "BSH",
    *,
    dtype: str = FP16,
    int8: bool = False,
    size: int = 128,
) -> Callable[[], Call]:
    """One query a row; ``layout``: that of a contiguous cache, or ``paged``, its blocks in random order."""
    element = _DTYPES[dtype]

    def call() -> Call:
        batch, most = len(lengths), int(max(lengths))
        arguments: dict[str, Any] = {}
        shape = {"BSH": (batch, most, kv_heads * size), "BNSD": (batch, kv_heads, most, size)}.get(layout)
        if layout == "paged":
            blocks = -(-lengths // _BLOCK)
            table = np.zeros((batch, int(max(blocks))), np.int32)
            order = np.random.default_rng(0).permutation(int(blocks.sum())).astype(np.int32)
            for row, (first, count) in enumerate(zip(np.cumsum(blocks) - blocks, blocks, strict=True)):
                table[row, :count] = order[first : first + count]
            shape = (int(blocks.sum()), _BLOCK, kv_heads * size)
            arguments |= {"block_table": table, "block_size": _BLOCK}
        if layout == "paged" or min(lengths) < most:
            arguments["actual_seq_lengths"] = lengths
        if int8:
            scale = (2, kv_heads, 1, size) if layout == "BNSD" else (2, kv_heads * size)
            arguments["antiquant_scale"] = np.ones(scale, element)
        assert shape is not None
        cache_element = np.int8 if int8 else element
        return load("incre_flash_attention").bind(
            query=zeros(
                *((batch, heads, 1, size) if layout == "BNSD" else (batch, 1, heads * size)), dtype=element
            ),
            key=[zeros(*shape, dtype=cache_element)],
            value=[zeros(*shape, dtype=cache_element)],
            num_heads=heads,
            num_key_value_heads=kv_heads,
            input_layout="BNSD" if layout == "BNSD" else "BSH",
            scale_value=1 / math.sqrt(size),
            **arguments,
        )

    return call


def decode_work(lengths: Array, heads: int, kv_heads: int, *, size: int = 128, bytes_each: int = 2) -> Work:
    """Keys and values of true lengths, once, and the queries."""
    keys, rows = int(lengths.sum()), len(lengths) * heads * size * 2
    return Work(heads * keys, 2 * size, 2 * kv_heads * size * bytes_each * keys + rows, rows)


def uneven() -> Array:
    """64 lengths, uniform in 256..4096."""
    return np.random.default_rng(0).integers(256, 4097, 64)


def _decodes(dtype: str) -> Iterator[Row]:
    problems = (
        ("B16 N32/8 S4096", np.full(16, 4096), 32, 8, 0.93),
        ("B64 N32/8 S2048", np.full(64, 2048), 32, 8, 0.93),
        ("B1 N64/8 S65536", np.full(1, 65536), 64, 8, 0.93),
        ("B4 N32/8 S4096", np.full(4, 4096), 32, 8, 0.75),
        ("B64 N32/8 S256..4096", uneven(), 32, 8, 0.85),
    )
    for name, lengths, heads, kv_heads, least in problems:
        for layout in LAYOUTS:
            beside = (f"decode {name} BNSD {dtype}", 1.05) if layout == "BSH" else None
            call = decode(lengths, heads, kv_heads, layout, dtype=dtype)
            work = decode_work(lengths, heads, kv_heads)
            yield Row(f"decode {name} {layout} {dtype}", call, work, of="R", least=least, beside=beside)


def _int8_decodes() -> Iterator[Row]:
    lengths = np.full(16, 4096)
    work = decode_work(lengths, 32, 8, bytes_each=1)
    for layout in LAYOUTS:
        call = decode(lengths, 32, 8, layout, int8=True)
        yield Row(f"decode int8 B16 N32/8 S4096 {layout}", call, work, of="R", most=125.0)


# ------------------------------------------------------------------------------------------------
# Relay, latent, prefix and compressed attention


def relay(groups: list[tuple[int, int]], own: int, heads: int, kv_heads: int) -> Callable[[], Call]:
    """``groups``: rows and shared keys of each; every row has ``own`` keys besides."""

    def call() -> Call:
        rows = sum(count for count, _ in groups)
        shared = [length for _, length in groups]
        of_row = np.repeat(np.arange(len(groups)), [count for count, _ in groups]).astype(np.int32)
        lengths = np.array([own + shared[group] for group in of_row], np.int32)
        keys = {name: [zeros(own, kv_heads, 128) for _ in range(rows)] for name in ("key", "value")} | {
            # tensors of a list are equally long; their lengths say what counts
            name: [zeros(max(shared), kv_heads, 128) for _ in shared]
            for name in ("keyShare", "valueShare")
        }
        return load("relay_attention").bind(
            query=zeros(rows, heads * 128),
            **keys,
            attentionMask=zeros(1),
            seqLen=np.ones(rows, np.int32),
            kvSeqLen=lengths,
            kvShareMap=of_row,
            kvShareLen=np.array(shared, np.int32),
            headNum=heads,
            kvHeadNum=kv_heads,
            qkScale=1 / math.sqrt(128),
        )

    return call


def relay_work(groups: list[tuple[int, int]], own: int, heads: int, kv_heads: int) -> Work:
    """Own keys and values of all rows, those of a group once, and the queries."""
    rows = sum(count for count, _ in groups)
    seen = sum(count * (own + length) for count, length in groups)
    keys = rows * own + sum(length for _, length in groups)
    queries = 2 * rows * heads * 128
    return Work(heads * seen, 256, 2 * 2 * kv_heads * 128 * keys + queries, queries)


def _relays() -> Iterator[Row]:
    for name, groups, own, heads, least in (
        ("B32 N32/8 256 + 2048", [(32, 2048)], 256, 32, 0.65),
        ("B60 N64/8 256 + 1024", [(60, 1024)], 256, 64, 0.72),
        ("B60 N32/8 512 + 8192", [(60, 8192)], 512, 32, 0.82),
        ("B48 N32/8 256 + 40 of 4096, 8 of 512", [(40, 4096), (8, 512)], 256, 32, 0.70),
    ):
        work = relay_work(groups, own, heads, 8)
        yield Row(f"relay {name}", relay(groups, own, heads, 8), work, of="R", least=least, once=True)


def latent(keys: int) -> Callable[[], Call]:
    """24 rows of 128 heads on one key head of 576 channels, of which 512 are the values."""

    def call() -> Call:
        return _mode("PA_ENCODER").bind(
            query=zeros(24, 1, 128, 576),
            key=zeros(24, keys, 1, 576),
            seqLen=np.array([[1] * 24, [keys] * 24], np.int32),
            headNum=128,
            kvHeadNum=1,
            mlaVHeadSize=512,
            qkScale=1 / math.sqrt(576),
        )

    return call


def latent_pages(keys: int, tokens: int) -> Callable[[], Call]:
    """The same with ``tokens`` queries a row, which are its last keys, over a paged cache in random order."""

    def call() -> Call:
        blocks = keys // _BLOCK
        order = np.random.default_rng(0).permutation(24 * blocks).astype(np.int32)
        return load(str(_VARIANTS / "mla_decode.py")).bind(
            query=zeros(24, 128, tokens, 576),
            cache=zeros(24 * blocks, 1, _BLOCK, 576),
            table=order.reshape(24, blocks),
            lengths=np.full(24, keys, np.int32),
            scale=1 / math.sqrt(576),
            latent=512,
        )

    return call


def _latents() -> Iterator[Row]:
    rows = 24 * 128
    for keys, least in ((4096, 0.60), (16384, 0.68)):
        work = Work(rows * keys, 576 + 512, 2 * 576 * (24 * keys + rows), 2 * 512 * rows)
        says = "values are channels of the keys, which are not paged; AMLA states 0.868"
        yield Row(f"MLA decode B24 N128 S{keys}", latent(keys), work, least=least, says=says)
    keys, tokens = 16384, 2
    scores = rows * sum(keys - back for back in range(tokens))
    work = Work(scores, 576 + 512, 2 * 576 * (24 * keys + tokens * rows), 2 * 512 * tokens * rows)
    says = "specs/variants/mla_decode.py, over a paged cache"
    name = f"MLA decode B24 N128 S{keys}, two queries"
    yield Row(name, latent_pages(keys, tokens), work, least=0.72, says=says)


def prefix(batch: int, rows: int, before: int) -> Callable[[], Call]:
    """Rows of new queries, with themselves behind a prefix in a paged cache of blocks in random order."""

    def call() -> Call:
        blocks = -(-(before + rows) // _BLOCK)
        order = np.random.default_rng(0).permutation(batch * blocks)
        return _mode("PREFIX_ENCODER").bind(
            query=zeros(batch * rows, 32, 128),
            key=zeros(batch * blocks, _BLOCK, 8, 128),
            value=zeros(batch * blocks, _BLOCK, 8, 128),
            blockTables=order.reshape(batch, blocks).astype(np.int32),
            seqLen=np.full(batch, rows, np.int32),
            kvSeqLen=np.full(batch, before + rows, np.int32),
            headNum=32,
            kvHeadNum=8,
            qkScale=1 / math.sqrt(128),
            maskType="CAUSAL_MASK",
            kernelType="HIGH_PRECISION",
            isTriuMask=1,
        )

    return call


def _prefixes() -> Iterator[Row]:
    for batch, rows, before in ((1, 512, 8192), (4, 1024, 2048)):
        queries = 2 * batch * rows * 32 * 128
        read = 2 * 2 * 8 * 128 * batch * (before + rows) + queries
        work = Work(32 * batch * causal(rows, before), 256, read, queries)
        name = f"prefix N32/8 {batch} x {rows} over {before}"
        yield Row(name, prefix(batch, rows, before), work, least=0.55)


def appended(rows: int) -> Callable[[], Call]:
    """A prompt of 8 heads that is the first of a cache, which its keys and values are appended to."""

    def call() -> Call:
        return _mode("ENCODER").bind(
            **{name: zeros(rows, 8 * 128) for name in ("query", "key", "value")},
            **{name: zeros(1, 1, rows, 8 * 128) for name in ("cacheK", "cacheV")},
            tokenOffset=np.array([rows], np.int32),
            seqLen=np.array([rows], np.int32),
            layerId=np.zeros(1, np.int32),
            headNum=8,
            qkScale=1 / math.sqrt(128),
            calcType="ENCODER",
        )

    return call


def _appended() -> Iterator[Row]:
    rows = 4096
    plain = prompt_work(square(rows), rows)
    work = replace(plain, written=plain.written + 2 * 2 * rows * 8 * 128)
    says = "no share is asked; a prompt's keys and values are appended to a cache, too"
    yield Row(f"prefill appended S{rows}", appended(rows), work, says=says)


def compressed(tokens: int, length: int) -> Callable[[], Call]:
    """Blocks of 32 keys every 16 in ``length`` tokens, of which the last ``tokens`` ask; a query sees blocks
    that end before it."""

    def call() -> Call:
        keys = (length - 32) // 16 + 1
        ends = np.arange(keys) * 16 + 31
        asking = np.arange(length - tokens, length)
        return load("nsa_compress_attention").bind(
            query=zeros(tokens, 64, 192),
            key=zeros(keys, 4, 192),
            value=zeros(keys, 4, 128),
            scale_value=1 / math.sqrt(192),
            head_num=64,
            compress_block_size=32,
            compress_stride=16,
            select_block_size=64,
            select_block_count=16,
            atten_mask=ends[None] > asking[:, None],
            actual_seq_qlen=[tokens],
            actual_cmp_seq_kvlen=[keys],
            actual_sel_seq_kvlen=[length // 64],
        )

    return call


def _compressed() -> Iterator[Row]:
    tokens = 8192
    keys = (tokens - 32) // 16 + 1
    seen = sum(max(tokens - end - 1, 0) for end in range(31, tokens, 16)[:keys])
    read = 2 * (tokens * 64 * 192 + keys * 4 * 320)
    work = Work(64 * seen, 320, read, 2 * tokens * 64 * 128)
    says = "the mask hides later keys as data: the kernel finds where they end"
    name = "NSA compress T8192 N64/4"
    yield Row(name, compressed(tokens, tokens), work, of="stated", stated=362.0, least=0.70, says=says)


def rows() -> tuple[Row, ...]:
    """All problems, in the order of the table."""
    return (
        *_prompts(FP16),
        *_prompts(BF16),
        *_further_prompts(),
        *_masked_prompts(),
        *_decodes(FP16),
        *_decodes(BF16),
        *_int8_decodes(),
        *_relays(),
        *_latents(),
        *_prefixes(),
        *_appended(),
        *_compressed(),
    )
