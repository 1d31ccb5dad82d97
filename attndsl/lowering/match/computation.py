"""What a kernel computes: attentions with modifiers, how their rows are joined, and an epilogue.

Made of a graph by ``recognize`` in attention_pattern.py, which has a drawn example.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const
from attndsl.graph import nodes

USUAL_BLOCK = 128
"""Rows of a block of keys, where nothing tells how many they are."""


@dataclass(frozen=True, slots=True)
class Attention:
    """One softmax over one key source; ``modifiers`` act on the scores in this order.

    ``softmax``: None where the weights are what the modifiers make of the scores. ``weights``: the node that
    values are multiplied with. ``earlier``: partials of earlier calls that its rows are merged with.
    ``factors`` act on the probabilities, in this order; the sums of rows are those before them.
    """

    query: nodes.Node
    keys: nodes.Rows
    values: nodes.Rows
    modifiers: tuple[nodes.Node, ...]
    weights: nodes.Node
    softmax: nodes.Softmax | None
    requantize: nodes.BlockRequantize | None
    where: SourceLine
    earlier: tuple[nodes.EarlierPartial, ...] = ()
    factors: tuple[nodes.Node, ...] = ()

    @property
    def selected(self) -> nodes.Selected | None:
        """The lists that its keys are selected by."""
        return next((each for each in self.keys.walk() if isinstance(each, nodes.Selected)), None)

    @property
    def block_of_keys(self) -> int | None:
        """The rows of a selected block of keys; those of a usual one where calls differ in them, None where
        nothing is selected."""
        if self.selected is None:
            return None
        size = self.selected.size
        return int(size.value) if isinstance(size, Const) else USUAL_BLOCK

    @property
    def reaches_all_rows(self) -> bool:
        """Whether each row has an item; those that name no tensor of a list have none."""
        return not any(isinstance(each, nodes.Listed) and each.index for each in self.keys.walk())


@dataclass(frozen=True, slots=True)
class Term:
    """What is added to a result, or taken from it: ``operations`` on the rows of one attention."""

    operations: tuple[nodes.Node, ...]
    negative: bool


@dataclass(frozen=True, slots=True)
class Computation:
    """All that the outputs ask for.

    Attributes:
        attentions: the parts of a log-sum-exp merge or of a sum, or the only one.
        epilogue: operations on result rows, in this order.
        statistics: results that are functions of row maxima and sums.
        selection: the result that names the key blocks that matter most.
    """

    attentions: tuple[Attention, ...]
    epilogue: tuple[nodes.Node, ...]
    output: nodes.Output
    statistics: tuple[nodes.Output, ...] = ()
    selection: nodes.Output | None = None
    terms: tuple[Term, ...] = ()
    """Of a sum of attentions: what each adds to it."""
