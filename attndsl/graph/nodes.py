"""The tensor-level IR: what an operator computes, with no word about tiles or hardware.

Every node is immutable, carries the spec line it comes from, and names the axes of its value. The
attention axes are

    B  batch row          N  query head      K  key/value head (N = K * group)
    Q  query position     T  key position    D  channel of query and key       E  channel of value

and those of storage and selection in ``AXIS_MEANINGS``.

A score has the axes (B, N, Q, T); query head ``n`` reads key/value head ``n // (N / K)``. Where the queries
of all batch rows are packed into tokens, what leaves the score space has the axis S instead of B and Q.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import ClassVar

from attndsl.base.facts import kept
from attndsl.base.source_location import UNKNOWN_LINE, SourceLine
from attndsl.expr import Expr, Load

Axes = tuple[str, ...]
AXIS_ORDER: Axes = (
    "C",
    "P",
    "B",
    "G",
    "S",
    "N",
    "K",
    "Q",
    "H",
    "R",
    "U",
    "T",
    "W",
    "J",
    "X",
    "D",
    "E",
    "L",
    "Y",
)
AXIS_MEANINGS = {
    "B": "batch rows",
    "N": "query heads",
    "K": "key/value heads",
    "Q": "query positions of a batch row",
    "H": "blocks of query positions that share a list",
    "T": "key positions of a batch row",
    "D": "channels of queries and keys",
    "E": "channels of values",
    "P": "blocks of a cache",
    "R": "rows of a cache block",
    "W": "columns of a block table",
    "C": "components, such as key and value, of one tensor",
    "J": "blocks of keys of a selection",
    "G": "groups of batch rows that share keys",
    "X": "ranks in a selection",
    "L": "copies of a value",
    "U": "stored key rows, of a group or of all batch rows",
    "S": "packed query tokens of all batch rows",
    "Y": "layers of a cache",
}
# The index symbols of conditions and of computed scalars, and the axes they count.
INDEX_AXES = {"b": "B", "n": "N", "i": "Q", "j": "T"}
SCORE_AXES: Axes = ("B", "N", "Q", "T")


@dataclass(frozen=True, eq=False, kw_only=True)
class Node:
    """A value of the graph. Identity is object identity: the graph is a DAG of shared nodes."""

    where: SourceLine = UNKNOWN_LINE

    @kept
    def operands(self) -> tuple[Node, ...]:
        """The nodes this one reads, in field order."""
        found: list[Node] = []
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, tuple):
                found.extend(item for item in value if isinstance(item, Node))
        return tuple(found)

    def walk(self) -> Iterator[Node]:
        """Every node below and including this one, operands first, each once."""
        return iter(self.inside())

    @kept
    def inside(self) -> tuple[Node, ...]:
        """Every node below and including this one, operands first, each once."""
        found, seen = list[Node](), {self}
        open_ = [(self, iter(self.operands()))]  # no recursion: chains may be long
        while open_:
            node, operands = open_[-1]
            for operand in operands:
                if operand not in seen:
                    seen.add(operand)
                    open_.append((operand, iter(operand.operands())))
                    break
            else:
                open_.pop()
                found.append(node)
        return tuple(found)

    def at(self, where: SourceLine) -> Node:
        """The same node, attributed to another spec line."""
        return replace(self, where=where)


# ------------------------------------------------------------------------------------------------
# Leaves


@dataclass(frozen=True, eq=False, kw_only=True)
class Input(Node):
    """A tensor argument, seen through its canonical axes whatever its layout.

    ``dtypes``: every dtype that it may have.
    """

    name: str
    axes: Axes
    optional: bool = False
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Scalar(Node):
    """A scalar argument or a symbolic scalar of the dimensions.

    With the axes (B,) it may depend on the batch row, symbol ``b``, as in ``S - lengths[b]``; in the score
    space on all of ``b``, ``n``, ``i`` and ``j``, as :class:`IndexCondition`.
    """

    value: Expr
    axes: Axes = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Take(Node):
    """Entry ``index`` along ``axis`` (none if empty); the remaining axes may be renamed, D to E."""

    source: Node
    axis: str
    index: int | Expr
    axes: Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class Leading(Node):
    """The first ``count`` channels of a stored tensor; its axis D becomes E."""

    source: Node
    count: Expr
    axes: Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup(Node):
    """The element of a stored tensor at ``index``: for each dimension an expression of b, n, i and j."""

    source: Node
    index: tuple[Expr, ...]
    axes: Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class Conditional(Node):
    """``then`` where ``condition`` holds, else ``otherwise``. Gone once specialized.

    ``condition``: over parameters, and dtypes, layouts and presence of arguments.
    """

    condition: Expr
    then: Node
    otherwise: Node
    axes: Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class Choose(Node):
    """The first alternative whose ``needs`` a call passes, else the last. Gone once specialized.

    ``needs``: names of optional inputs, one set for each alternative but the last.
    """

    needs: tuple[frozenset[str], ...]
    alternatives: tuple[Node, ...]
    axes: Axes


# ------------------------------------------------------------------------------------------------
# Key sources: where row t of a batch row's keys or values lives


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows(Node):
    """Base of all key sources. Axes (B, K, T, D) or (B, K, T, E).

    ``length``: valid rows of each batch row, axes (B,): an Input or a Scalar of the batch index. None: all.

    Class attribute ``wraps``: whether the numbers of rows go on behind the last place of the tensor. False of
    a source in which row t has place t, or place ``start + t``; None where it says nothing, or has the
    numbers of the source that it adapts. Nothing bounds the keys of a source that says nothing.
    """

    wraps: ClassVar[bool | None] = None

    axes: Axes
    length: Node | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Dense(Rows):
    """Rows 0 .. length-1 of a tensor with a row axis.

    ``start``: first row of each batch row (left padding), axes (B,), or None for 0. The rows are then
    ``start .. start + length - 1``; if one of them lies outside the tensor, the batch row has no rows.
    """

    wraps = False

    tensor: Node
    start: Node | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Packed(Rows):
    """Rows of all batch rows back to back in a tensor with the axis U; batch row b owns
    ``ends[b-1] .. ends[b]-1``, or ``length`` rows behind those of the batch row before where ``ends`` is
    None."""

    wraps = False

    tensor: Node
    ends: Node | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Paged(Rows):
    """Row t of batch row b is slot ``t % block_size`` of page ``table[b, t // block_size]``.

    ``tensor`` has the axes (P, K, R, D) or (P, K, R, E), ``table`` (B, W).
    """

    wraps = False

    tensor: Node
    table: Node
    block_size: Expr


@dataclass(frozen=True, eq=False, kw_only=True)
class Listed(Rows):
    """A list of tensors, the first axis of ``tensors`` (B or G), each holding rows along T or U.

    Batch row b reads tensor b; with ``index``, axes (B,), it reads tensor ``index[b]``, and a negative
    index means that it has no rows.
    """

    wraps = False

    tensors: Node
    index: Node | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Ring(Rows):
    """A ring cache, which keeps the last ``size`` rows: row t lives in row ``t % size`` of ``source``.

    ``overwritten``: whether earlier rows are read, too, as what later ones wrote there.
    """

    wraps = True

    source: Rows
    size: Expr
    overwritten: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Windowed(Rows):
    """The rows from ``start`` on of another source; they keep their numbers."""

    source: Rows
    start: Node


@dataclass(frozen=True, eq=False, kw_only=True)
class Selected(Rows):
    """The rows of another source in the blocks that a list names, for each query position and key/value head;
    they keep their numbers.

    Block c has the rows ``c * size`` and on. A block counts once however often a list names it; entries that
    are negative, or name a block without a row, name none.

    Attributes:
        blocks: integers, axes X (entries of a list) and any of B, K, and Q, H, or S of packed queries.
        queries: query positions that share a list: position i has list ``i // queries`` along H.
        count: entries of each list that count, the axes of ``blocks`` but X; None: all of them.
    """

    source: Rows
    blocks: Node
    size: Expr
    queries: Expr | None = None
    count: Node | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class CacheAppend(Rows):
    """The rows of ``cache`` below ``position``, then the new ``rows``; and an effect: these are written into
    the cache from ``position`` on.

    ``cache`` is :class:`Dense`, or a :class:`Ring` over it, of an input. ``length``: rows in the end.
    """

    wraps = True

    cache: Rows
    rows: Rows
    position: Node


# ------------------------------------------------------------------------------------------------
# Scores and their modifiers


@dataclass(frozen=True, eq=False, kw_only=True)
class PackedQueries(Node):
    """Queries of all batch rows back to back in a tensor with the axis S; as :class:`Packed`."""

    tensor: Node
    ends: Node | None = None
    length: Node | None = None
    axes: Axes = ("B", "N", "Q", "D")


@dataclass(frozen=True, eq=False, kw_only=True)
class Scores(Node):
    """``query . key^T`` in fp32, axes (B, N, Q, T)."""

    query: Node
    keys: Rows
    axes: Axes = SCORE_AXES


@dataclass(frozen=True, eq=False, kw_only=True)
class Elementwise(Node):
    """``op`` of the operands, one of ``ARITY`` (``elementwise.py``), broadcast over axes by name; computed
    in fp32."""

    op: str
    inputs: tuple[Node, ...]
    axes: Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class Replace(Node):
    """``value`` where ``condition`` is non-zero, else ``source``."""

    source: Node
    condition: Node
    value: float
    axes: Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class Opposite(Node):
    """True where ``source``, a mask, is zero."""

    source: Node
    axes: Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class IndexCondition(Node):
    """A truth value computed from indices: symbols ``b``, ``n``, ``i`` (query) and ``j`` (key)."""

    condition: Expr
    axes: Axes = SCORE_AXES


# ------------------------------------------------------------------------------------------------
# Softmax and what follows it


@dataclass(frozen=True, eq=False, kw_only=True)
class Softmax(Node):
    """Probabilities over T in fp32. Rows without a key are all zero.

    ``sink``: a further logit of each row that no key has, axes of (B, N, Q), or None: it adds to the sum that
    rows are divided by, and counts in their maximum. -inf adds nothing.
    """

    scores: Node
    sink: Node | None = None
    axes: Axes = SCORE_AXES


@dataclass(frozen=True, eq=False, kw_only=True)
class RowMax(Node):
    """The maximum of each score row, axes (B, N, Q) or (S, N): of a softmax, or of all segments of a merge,
    where an earlier partial counts as one key of its log-sum-exp. -inf in rows without a key."""

    softmax: Node
    axes: Axes = ("B", "N", "Q")


@dataclass(frozen=True, eq=False, kw_only=True)
class RowSum(Node):
    """``sum(exp(score - row max))`` of each row, axes (B, N, Q) or (S, N); 0 in rows without a key."""

    softmax: Node
    axes: Axes = ("B", "N", "Q")


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedSum(Node):
    """``weights . values`` over T, accumulated in fp32, axes (B, N, Q, E) or (S, N, E)."""

    weights: Node
    values: Rows
    axes: Axes = ("B", "N", "Q", "E")


@dataclass(frozen=True, eq=False, kw_only=True)
class EarlierPartial(Node):
    """Attention over keys of an earlier call, as it is passed in: its rows ``out``, axes (B, N, Q, E) or
    (S, N, E), and their log-sum-exps ``lse``, without E.

    A row whose log-sum-exp is -inf is absent, whatever ``out`` holds there.
    """

    out: Node
    lse: Node
    axes: Axes = ("B", "N", "Q", "E")


@dataclass(frozen=True, eq=False, kw_only=True)
class LogSumExpMerge(Node):
    """Attention over the rows of several segments, each a weighted sum of a softmax of its own, or an
    :class:`EarlierPartial`.

    With the row maximum m and sum l of each segment, its weight is ``exp(m + ln l)`` over their sum; a
    segment without keys has the weight 0. An earlier partial has its log-sum-exp for m, and l is 1. One that
    a call does not pass is no part.
    """

    parts: tuple[Node, ...]
    axes: Axes = ("B", "N", "Q", "E")


@dataclass(frozen=True, eq=False, kw_only=True)
class WindowSum(Node):
    """Strided sums over T, for each block j: the sum of ``source[step * j + last - m - n - ...]`` over all
    ``m < counts[0]``, ``n < counts[1]``, ...

    Terms out of range add 0. Axes (B, N, Q, J) or (S, N, J).
    """

    source: Node
    step: Expr
    last: Expr
    counts: tuple[Expr, ...]
    axes: Axes = ("B", "N", "Q", "J")


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupSum(Node):
    """The sum over the query heads of each key/value head: axis N becomes K."""

    source: Node
    axes: Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class TopK(Node):
    """Indices of the ``count`` largest along J, in descending order along X, ties to the lower index.

    ``forced``: entries taken first whatever their value, in the order of their index. ``length``: entries
    of each batch row, axes (B,), or None for all. NaN is smaller than any number.
    """

    source: Node
    count: Expr
    axes: Axes
    forced: Node | None = None
    length: Node | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Repeat(Node):
    """``source`` copied along a further axis."""

    source: Node
    axes: Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class Cast(Node):
    """``source`` rounded to ``dtype`` (half to even)."""

    source: Node
    dtype: str
    axes: Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class Dequantize(Node):
    """``(source + offset) * scale`` in fp32."""

    source: Node
    scale: Node
    offset: Node | None
    axes: Axes


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantize(Node):
    """``clip(round_half_even(source * scale + offset))`` to int8."""

    source: Node
    scale: Node
    offset: Node | None
    axes: Axes
    dtype: str = "int8"


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockRequantize(Node):
    """Probabilities through int8, block by block of ``block`` keys; the block is part of the meaning.

    With the running row maximum m behind the block, ``p = exp(score - m)`` becomes
    ``a * clip(round_half_even(p / a), -128, 127)``, with the step a = ``scale`` or, where that is None, a
    127th of the largest p of the row in the block. The sum that the result is divided by is that of p itself.
    """

    source: Node
    block: Expr
    scale: Node | None = None
    axes: Axes = SCORE_AXES


@dataclass(frozen=True, eq=False, kw_only=True)
class Output(Node):
    """A result of the operator; ``dtype`` as in the contract, usually an input's name or a dtype."""

    name: str
    source: Node
    dtype: str
    axes: Axes


def expressions_of(roots: Iterable[Node]) -> Iterator[Expr]:
    """The symbolic scalars inside nodes, those of choices that calls make aside."""
    for node in dict.fromkeys(node for root in roots for node in root.walk()):
        if isinstance(node, Conditional):
            continue
        values = (getattr(node, item.name) for item in fields(node))
        parts = (part for value in values for part in (value if isinstance(value, tuple) else (value,)))
        yield from (part for part in parts if isinstance(part, Expr))


def formula_of(node: Node) -> Expr | None:
    """What a condition asks or a number is, over indices; None of other nodes."""
    if isinstance(node, IndexCondition):
        return node.condition
    return node.value if isinstance(node, Scalar) else None


def names_read(roots: Iterable[Node]) -> frozenset[str]:
    """The arguments that values are computed from, by index or otherwise."""
    kept = tuple(roots)
    inputs = (node.name for root in kept for node in root.walk() if isinstance(node, Input))
    loads = (part for expr in expressions_of(kept) for part in expr.walk() if isinstance(part, Load))
    return frozenset(inputs) | frozenset(load.source for load in loads)


def stored(node: Node) -> Input | None:
    """The input in which rows are stored, if nothing is computed with it on the way."""
    while not isinstance(node, Input):
        below = {Ring: "source", Dense: "tensor", Take: "source"}.get(type(node))
        if below is None:
            return None
        node = getattr(node, below)
    return node
