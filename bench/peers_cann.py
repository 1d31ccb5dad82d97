"""Problems of the kernels that CANN ships as source, and of our operators on the same numbers.

How they are compiled: ``cann_build``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from cann_build import Cann
from peer_decodings import PAGES, SIZE, Decoding, decoding, paged_decoding
from peer_inputs import prompt_name, prompts
from peer_runs import Problem, PublicRun

from attndsl.emulator.vendor_headers import VendorHeaders
from attndsl.target import DEFAULT_DEVICE, device

_LEAST_KEYS_OF_A_PART = 512
_GROUP_IS_CUT_FROM = 2048
_WIDEST_OF_VECTOR = 512
_FOLDED = "; its softmax folds blocks of numbers in place, inside a repeat"
_NOTED = (
    "CANN's Matmul library tells both vector cores of a block that a product is done, and one has not asked; "
    "words of a page are read by the scalar unit, whose reads order nothing by themselves"
)


@dataclass(frozen=True)
class Choice:
    """What the operator's public host code chooses for a call on Atlas A2.

    Attributes:
        vector: vector cores do all of it.
        parts: into how many the keys of a row are cut among cores; 0: not at all.
        ratio: vector cores that a cube core works for.
        key: the tiling key.
    """

    vector: bool
    parts: int
    ratio: int
    key: int


def choice(made: Decoding, cores: int) -> Choice:
    """For ``cores`` vector cores."""
    kind = {"half": 0, "bf16": 2}[made.dtype]
    pairs, group = made.batch * made.kv_heads, made.heads // made.kv_heads
    keys_kind, result_kind = (
        3 if name in made.files else kind for name in ("antiquant_scale", "quant_scale")
    )
    vector = (
        not made.block
        and group == 1
        and made.size <= _WIDEST_OF_VECTOR
        and kind == keys_kind == result_kind == 0
    )
    idle = pairs < (0.5 if vector else 0.4) * cores
    cut = idle and not made.block and (group == 1 or made.longest >= _GROUP_IS_CUT_FROM)
    parts = _parts(pairs, made.longest, cores) if cut else 0
    ratio = 1 if not vector and not cut and 2 * pairs <= cores else 2
    digits = (made.layout == "BSH", kind, keys_kind, result_kind, kind, 2 * bool(made.block) + cut)
    mode = 1 if vector else 2 if ratio == 1 else 0
    key = 10**16 + mode * 10**15 + sum(digit * 10**place for place, digit in enumerate(digits))
    return Choice(vector, parts, ratio, key)


def _parts(pairs: int, longest: int, cores: int) -> int:
    most = range(cores // pairs, 1, -1)
    return next((parts for parts in most if longest // parts >= _LEAST_KEYS_OF_A_PART), 1)


def _problem(cann: Cann, made: Decoding) -> Problem:
    cores = device(DEFAULT_DEVICE).aiv
    chosen = choice(made, cores)
    sizes = (made.batch, made.heads, made.kv_heads, made.size, made.capacity)
    shape = (cores, made.layout, *sizes, 1 / math.sqrt(made.size))
    words = (made.dtype, *shape, chosen.parts, made.block, chosen.ratio)
    build = partial(
        cann.program, "incre_flash_attention", "ifa_vector" if chosen.vector else "ifa_cube", chosen.key
    )
    run = PublicRun(build, tuple(map(str, words)), made.files, noted=_NOTED)
    return Problem(made.name, made.call, made.result, {"CANN": run})


_TWO = ("100, 300 keys", (100, 300), 0)
_LONG = ("2048, 3000 keys", (2048, 3000), 0)
_PARTS = ("1500, 700 keys", (1500, 700), 1504)
_NONE = ("333, 0, 100 keys", (333, 0, 100), 0)
_PADDED = ("333, 100, 328 keys", (333, 100, 328), 352)
DECODINGS = (
    ("BNSD", *_NONE, 16, 16, SIZE, "half", ("mask",)),
    ("BSH", *_NONE, 16, 16, 72, "half", ()),
    ("BNSD", *_PARTS, 4, 4, SIZE, "half", ()),
    ("BSH", *_PARTS, 4, 4, SIZE, "half", ("mask", "pse")),
    ("BNSD", *_PADDED, 16, 16, 256, "half", ("left padding", "mask")),
    ("BSH", *_PADDED, 8, 8, SIZE, "half", ("a tensor a row",)),
    ("BNSD", *_TWO, 8, 2, 64, "half", ()),
    ("BSH", *_TWO, 8, 2, SIZE, "bf16", ("mask",)),
    ("BSH", *_LONG, 8, 2, SIZE, "half", ()),
    ("BNSD", *_TWO, 4, 4, SIZE, "bf16", ("pse",)),
    ("BSH", *_PADDED, 8, 2, SIZE, "half", ("left padding", "mask", "pse")),
    ("BNSD", *_PADDED, 8, 2, SIZE, "half", ("a tensor a row",)),
    ("BSH", *_TWO, 8, 2, SIZE, "half", ("int8 keys",)),
    ("BNSD", *_PADDED, 8, 8, SIZE, "bf16", ("int8 keys",)),
    ("BSH", *_NONE, 8, 2, SIZE, "half", ("int8 result",)),
)
"""Layout, what the name says, lengths, rows of the cache, heads of queries and of keys, their size, dtype,
features."""


PROMPTS = (
    (1, 1024, 8, 8, "half", False),
    (1, 1024, 8, 8, "half", True),
    (2, 333, 4, 1, "bf16", False),
    (2, 333, 4, 1, "bf16", True),
    (1, 1500, 4, 2, "half", True),
)
"""Rows, queries and keys of each, heads of queries and of keys, dtype, causal."""
_PROMPT_KEYS = {"half": 10000000000220130943, "bf16": 10000000000220120943}
_CAUSAL_TILE = 2048


def _decodings() -> Iterator[Decoding]:
    for layout, says, lengths, capacity, heads, kv_heads, size, dtype, features in DECODINGS:
        yield decoding(
            says,
            heads,
            kv_heads,
            dtype,
            lengths=lengths,
            capacity=capacity,
            layout=layout,
            size=size,
            features=features,
        )
    yield decoding("24 rows of 260 keys", 8, 2, "half", batch=24, capacity=260)
    for case in PAGES:
        yield paged_decoding(*case)


def _prompt(
    cann: Cann, batch: int, rows: int, heads: int, kv_heads: int, dtype: str, *, causal: bool
) -> Problem:
    """So many rows of as many queries and keys: our self_attention with calcType PA_ENCODER."""
    lengths = [rows] * batch
    made = prompts(lengths, heads, kv_heads, dtype, causal=causal)
    files = {"q": made.query, "k": made.key, "v": made.value}
    if causal:
        files["mask"] = np.triu(np.ones((_CAUSAL_TILE, _CAUSAL_TILE), np.uint8), 1)
    size = made.query.shape[-1]
    words = (dtype, device(DEFAULT_DEVICE).aiv, batch, heads, kv_heads, size, rows, 1 / math.sqrt(size))
    key = _PROMPT_KEYS[dtype] + causal * 10**10
    build = partial(cann.program, "flash_attention_score", "fas", key)
    name = prompt_name(lengths, heads, kv_heads, dtype, causal=causal)
    run = PublicRun(build, tuple(map(str, words)), files, noted=_NOTED + _FOLDED)
    return Problem(name, made.call, lambda values: values.reshape(made.query.shape), {"CANN": run})


def cann_problems(headers: VendorHeaders) -> Iterator[Problem]:
    """Problems that CANN's kernels solve."""
    cann = Cann(headers)
    for made in _decodings():
        yield _problem(cann, made)
    for case in PROMPTS:
        yield _prompt(cann, *case[:-1], causal=case[-1])
