"""Names of the scalars that the host of a kernel knows of a call; tiling fields are computed from them."""

from __future__ import annotations

from attndsl.expr import Expr, Symbol
from attndsl.expr.reductions import Fold
from attndsl.tile.naming import camel

HOST = "host."
"""In front of what the host knows besides sizes and parameters, so that none of these has its name."""
CORES = Symbol(f"{HOST}cores")
L2_BYTES = Symbol(f"{HOST}l2Bytes")
START_TOGETHER = Symbol(f"{HOST}startTogether")
"""1 where all blocks of a launch start at once, so that they may wait for each other, else 0."""
DEVICE_MEANINGS = {
    CORES.name: "cube cores of the device",
    L2_BYTES.name: "bytes of the device's L2",
    START_TOGETHER.name: "whether all blocks start at once, so that they may wait for each other",
}


def layout_choice(tensor: str) -> Symbol:
    """The host scalar that holds the number of a tensor's layout among those that are declared."""
    return Symbol(f"{HOST}{camel(tensor)}Layout")


def length_count(tensor: str) -> Symbol:
    """The host scalar that holds the number of entries of lengths."""
    return Symbol(f"{HOST}{camel(tensor)}Count")


def folds_of(size: Expr) -> tuple[Fold, ...]:
    """The sums and maxima of lengths that a size depends on: the host of a kernel supplies them."""
    return tuple(node for node in size.walk() if isinstance(node, Fold))


def fold_name(fold: Fold) -> str:
    """The host scalar that holds a sum or a maximum, such as ``maxOfSeqLen``."""
    return f"{HOST}{fold.name[:1].lower()}{fold.name[1:]}"


def dimension(tensor: str, number: int) -> Symbol:
    """The host scalar that holds the size of a dimension of a tensor that is passed."""
    return Symbol(f"{HOST}{camel(tensor)}Dim{number}")
