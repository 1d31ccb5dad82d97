"""The axes that masks in bytes can have, and what to write where a mask has no rule of its own."""

from __future__ import annotations

from attndsl.graph import nodes

OF_ALL_ROWS: tuple[nodes.Axes, ...] = (("T",), ("B", "T"))
"""Masks that hide the same keys from all rows of a batch row."""
OF_POSITIONS: tuple[nodes.Axes, ...] = (("Q", "T"), ("B", "Q", "T"))
"""Masks with a row for each query position."""
BYTE_MASK_AXES = " or ".join(f"({', '.join(axes)})" for axes in (*OF_ALL_ROWS, *OF_POSITIONS))
WITH_COLUMNS = (
    f"declare a mask in bytes with a column for each key, over {BYTE_MASK_AXES}, and pass it expanded"
)
