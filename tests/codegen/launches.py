"""Launches of the shipped decode attention on random input, small enough to run in a fraction of a second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from attndsl.api import ops
from attndsl.compiler.prepare_launch import Launch, prepare


@dataclass(frozen=True)
class Case:
    """A problem and the number of blocks it may use; features are the optional tensors it passes."""

    name: str
    batch: int = 1
    kv_heads: int = 1
    group: int = 1
    keys: int = 16
    head_dim: int = 128
    lengths: Sequence[int] | None = None
    layout: str = "BNSD"
    cores: int = 1
    dtype: str = "float16"


def launch_of(case: Case, features: frozenset[str], seed: int = 0) -> Launch:
    """A fresh launch: arrays of its own, so that runs cannot see each other's results."""
    n, d = case.kv_heads * case.group, case.head_dim
    drawn = {name: array.copy() for name, array in _drawn(_key(case), features, seed).items()}
    query, key, value = (drawn.pop(name) for name in ("query", "key", "value"))
    optional: dict[str, Any] = {}
    if case.lengths is not None:
        optional["actual_seq_lengths"] = list(case.lengths)
    call = ops.incre_flash_attention.bind(
        query,
        [key],
        [value],
        num_heads=n,
        num_key_value_heads=case.kv_heads,
        scale_value=float(d) ** -0.5,
        input_layout=case.layout,
        **optional,
        **drawn,
    )
    return prepare(call, case.cores)


def _key(case: Case) -> Case:
    """The case as far as its arrays depend on it."""
    return replace(case, lengths=None, cores=1)


@lru_cache(maxsize=16)
def _drawn(case: Case, features: frozenset[str], seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """The random arrays of a case, drawn once for hundreds of runs."""
    rng = np.random.default_rng(seed)
    b, k, n, s, d = case.batch, case.kv_heads, case.kv_heads * case.group, case.keys, case.head_dim

    def normal(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape).astype(case.dtype)

    query, cache = {"BNSD": ((b, n, 1, d), (b, k, s, d)), "BSH": ((b, 1, n * d), (b, s, k * d))}[case.layout]
    drawn = {}
    if "attn_mask" in features:
        drawn["attn_mask"] = rng.random((b, s)) < 0.3
    if "pse_shift" in features:
        drawn["pse_shift"] = normal(b, n, 1, s)
    return drawn | {"query": normal(*query), "key": normal(*cache), "value": normal(*cache)}
