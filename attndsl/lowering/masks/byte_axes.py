"""The axes that masks in bytes can have, and what to write where a mask has no rule of its own."""

from __future__ import annotations

from attndsl.graph import nodes

OF_ALL_ROWS: tuple[nodes.Axes, ...] = (("T",), ("B", "T"))
"""The axes of masks that hide the same keys from all rows of a batch row."""
OF_POSITIONS: tuple[nodes.Axes, ...] = (("Q", "T"), ("B", "Q", "T"))
"""The axes of masks with a row for each query position, which its heads share."""
LEGAL_AXES = frozenset({"B", "S", "N", "K", "Q", "T"})
"""Each axis that a mask may have: batch row or packed token, query or key/value head, position and key."""
BYTE_MASK_AXES = "any of the axes B, S, N, K, Q and T"
WITH_COLUMNS = (
    f"declare a mask in bytes over {BYTE_MASK_AXES}, with a column for each key, and pass it expanded"
)
