"""A constant of generated C++ with its meaning."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConstantText:
    """``constexpr ctype name = value;  // meaning``."""

    ctype: str
    name: str
    value: str
    meaning: str
