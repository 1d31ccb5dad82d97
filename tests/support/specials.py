"""Specializations of the shipped operator, compiled once a test run."""

from __future__ import annotations

from functools import lru_cache

from attndsl.api import ops
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.lowering.signature.specialization import Specialization


@lru_cache(maxsize=64)
def compiled(padded_size: int = 128, dtype: str = "float16", *features: str) -> Compiled:
    special = Specialization(dtype=dtype, padded_head_size=padded_size, features=frozenset(features))
    return compile_operator(ops.incre_flash_attention, special)
