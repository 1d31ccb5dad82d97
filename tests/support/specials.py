"""Specialisations of the shipped operator, compiled once a test run."""

from __future__ import annotations

from functools import lru_cache

from attndsl.api import ops
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.lowering.signature.specialisation import Specialisation


@lru_cache(maxsize=64)
def compiled(padded_size: int = 128, dtype: str = "float16", *features: str) -> Compiled:
    special = Specialisation(dtype=dtype, padded_head_size=padded_size, features=frozenset(features))
    return compile_operator(ops.incre_flash_attention, special)
