"""What an author computes with: values whose operators build graph nodes.

    s = attend.scores(query, attend.rows(key, length=lengths)) * scale_value + pse_shift
    op.output("out", attend.softmax(s.replace(mask, -1e12)) @ attend.rows(value), like=query)

Each node remembers the line of the spec that it comes from. A node with an operand that a call may leave
out collapses to its other operand in such a call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np

from attndsl.base.source_location import author_line
from attndsl.expr import (
    Compare,
    Const,
    Expr,
    ExprLike,
    Load,
    Logic,
    Symbol,
    TakesScalars,
    negation,
)
from attndsl.expr.argument_facts import dtype_of, given, layout_of, rows_of, split_of
from attndsl.expr.expression import MOST_FACTORS, power
from attndsl.expr.parted_comparisons import parted
from attndsl.expr.reductions import of_all_elements
from attndsl.graph.elementwise import sign_of
from attndsl.graph.next_steps import of_summed_keys
from attndsl.graph.nodes import (
    AXIS_ORDER,
    INDEX_AXES,
    Axes,
    Cast,
    Choose,
    Conditional,
    Dense,
    Elementwise,
    GroupSum,
    IndexCondition,
    Input,
    LogSumExpMerge,
    Lookup,
    Node,
    Opposite,
    PackedQueries,
    Repeat,
    Replace,
    RowMax,
    Rows,
    RowSum,
    Scalar,
    Scores,
    Softmax,
    Take,
    TopK,
    WeightedSum,
    WindowSum,
)
from attndsl.spec.authoring.argument_checks import (
    check_condition,
    check_expression,
    check_index,
    check_number,
    scalar,
    wrong,
)
from attndsl.spec.contract.arguments import FLOATS, TensorSpec
from attndsl.spec.errors import GraphError, SpecError

_KEY = next(symbol for symbol, axis in INDEX_AXES.items() if axis == "T")
Operand: TypeAlias = "Value | Expr | int | float"


class Value(TakesScalars):
    """A value of the computation; ``node`` is its graph node."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    @property
    def axes(self) -> Axes:
        """The axes of the value."""
        axes: Axes = getattr(self.node, "axes", ())
        return axes

    def __add__(self, other: Operand) -> Value:
        return elementwise("add", self, other)

    def __radd__(self, other: Operand) -> Value:
        return elementwise("add", other, self)

    def __sub__(self, other: Operand) -> Value:
        return elementwise("subtract", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return elementwise("subtract", other, self)

    def __mul__(self, other: Operand) -> Value:
        return elementwise("multiply", self, other)

    def __rmul__(self, other: Operand) -> Value:
        return elementwise("multiply", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return elementwise("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return elementwise("divide", other, self)

    def __neg__(self) -> Value:
        return elementwise("negate", self)

    def __abs__(self) -> Value:
        return elementwise("abs", self)

    def __invert__(self) -> Value:
        """Of a mask: true where it is zero."""
        if isinstance(self.node, Opposite):
            return Value(self.node.source)
        if not isinstance(self.node, Input | IndexCondition | Lookup):
            raise GraphError("'~' is of a mask: a bool or integer input, as in s.where(~mask)", author_line())
        return Value(Opposite(source=self.node, axes=self.axes, where=author_line()))

    def __and__(self, other: object) -> Value:
        raise GraphError(
            "masks are joined one after the other: write s.where(a).where(b) for s.where(a & b)",
            author_line(),
        )

    __rand__ = __and__

    def __or__(self, other: object) -> Value:
        raise GraphError(
            "a mask tensor is not joined by '|': pass one tensor, or write both sides as conditions on "
            "indices",
            author_line(),
        )

    __ror__ = __or__

    def __pow__(self, exponent: object) -> Value:
        if exponent == 0.5:
            return elementwise("sqrt", self)
        found = power(self, exponent)
        if found is None:
            raise GraphError(
                f"'**' of values takes 0.5 or a whole number from 1 to {MOST_FACTORS}, got {exponent!r}; "
                "write attend.exp(attend.log(x) * power) for others",
                author_line(),
            )
        return found

    def __lt__(self, other: object) -> Any:
        raise self._compared()

    __le__ = __gt__ = __ge__ = __lt__

    def _compared(self) -> GraphError:
        name = self.node.name if isinstance(self.node, Input) else "x"
        return GraphError(
            f"whole tensors and values are not compared: compare elements in a condition on indices, as in "
            f"{name}[b, j] > 0 with b, j = attend.BATCH, attend.KEY, or pass a mask",
            author_line(),
        )

    def __bool__(self) -> bool:
        name = f"'{self.node.name}'" if isinstance(self.node, Input) else "a value of the computation"
        raise SpecError(
            f"{name} is neither true nor false while the spec is read; x.given tells whether a call passes "
            "an input x, s.where(visible) acts on each score, x is not None asks whether Python has it",
            author_line(),
        )

    def __matmul__(self, values: Value) -> Value:
        """The weighted sum of value rows over the keys, axes (B, N, Q, E); (S, N, E) of packed queries."""
        where = author_line()
        return Value(
            WeightedSum(
                weights=self.node, values=as_rows(values), axes=result_axes(self.node, "E"), where=where
            )
        )

    def replace(self, condition: Value | Expr, value: float) -> Value:
        """``value`` where ``condition``, a mask or a condition over indices, is non-zero; this value
        elsewhere."""
        where = author_line()
        if isinstance(condition, Expr):
            condition = index_condition(condition)
        mask = node_of("the condition of replace", condition)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong("the value of replace", value, "a number")
        axes = merge_axes(self.axes, condition.axes)
        return Value(Replace(source=self.node, condition=mask, value=float(value), axes=axes, where=where))

    def where(self, visible: Value | Expr) -> Value:
        """This value where ``visible`` holds, -inf elsewhere: a mask as a condition over indices, or a mask
        tensor that is non-zero where keys are visible (``~mask`` of one that hides them).

        The condition is written with ``attend.BATCH``, ``HEAD``, ``QUERY`` and ``KEY``, as in
        ``s.where(attend.KEY <= attend.QUERY)``.
        """
        if isinstance(visible, Value):
            return self.replace(~visible, float("-inf"))
        check_condition("what is visible", visible)
        hidden = index_condition(negation(visible))
        return self.replace(hidden, float("-inf"))

    def cast(self, dtype: str | TensorValue) -> Value:
        """This value rounded to ``dtype`` or to that of an argument, half to even."""
        name = dtype.spec.name if isinstance(dtype, TensorValue) else dtype
        if not isinstance(dtype, TensorValue) and name not in FLOATS:
            known = ", ".join(sorted(FLOATS))
            raise wrong("the dtype of cast", dtype, f"an input that has it, or one of {known}")
        return Value(Cast(source=self.node, dtype=name, axes=self.axes, where=author_line()))

    def part(self, index: int) -> Value:
        """Entry ``index`` of the component axis C, as of a tensor that stacks a scale for key and value."""
        if "C" not in self.axes:
            raise GraphError("part() needs a value with a component axis 'C'", author_line())
        axes = tuple(axis for axis in self.axes if axis != "C")
        return Value(Take(source=self.node, axis="C", index=index, axes=axes, where=author_line()))

    @property
    def row_max(self) -> Value:
        """The maximum of each score row, axes (B, N, Q); (S, N) of packed queries; -inf without a key.

        Of a softmax, or of what ``attend.merge`` gives: over the rows of all its parts.
        """
        return Value(RowMax(softmax=self._softmax(), axes=result_axes(self.node), where=author_line()))

    @property
    def row_sum(self) -> Value:
        """The sum of ``exp(score - row_max)`` of each row, axes as :attr:`row_max`; 0 without a key."""
        return Value(RowSum(softmax=self._softmax(), axes=result_axes(self.node), where=author_line()))

    @property
    def lse(self) -> Value:
        """The log-sum-exp of each row, ``row_max + log(row_sum)``, axes as :attr:`row_max`; -inf without a
        key."""
        return self.row_max + elementwise("log", self.row_sum)

    def window_sum(self, *, step: ExprLike, last: ExprLike, counts: tuple[ExprLike, ...]) -> Value:
        """Strided sums over the keys, one for each block j: the sum of the terms ``step * j + last - m - n``
        over all ``m < counts[0]`` and ``n < counts[1]``, for any number of counts. Terms out of range add 0.
        """
        node = WindowSum(
            source=self.node,
            step=scalar("step", step),
            last=scalar("last", last),
            counts=tuple(scalar("a count", count) for count in counts),
            axes=result_axes(self.node, "J"),
            where=author_line(),
        )
        return Value(node)

    def top(
        self, count: ExprLike, *, forced: Value | None = None, length: Value | Expr | None = None
    ) -> Value:
        """Indices of the ``count`` largest entries along J, in descending order along X.

        Args:
            count: how many.
            forced: entries that are taken before all others where it is non-zero.
            length: entries of each batch row; all of them if None.
        """
        where = author_line()
        if isinstance(length, Expr):
            length = Value(Scalar(value=scalar("length", length), axes=("B",), where=where))
        node = TopK(
            source=self.node,
            count=scalar("count", count),
            forced=None if forced is None else forced.node,
            length=None if length is None else length.node,
            axes=tuple("X" if axis == "J" else axis for axis in self.axes),
            where=where,
        )
        return Value(node)

    def repeated(self) -> Value:
        """This value copied along the further axis L, whose size is that of ``op.axes(L=...)``."""
        return Value(Repeat(source=self.node, axes=(*self.axes, "L"), where=author_line()))

    def sum_over_group(self) -> Value:
        """The sum over the query heads of each key/value head: axis N becomes K."""
        axes = tuple("K" if axis == "N" else axis for axis in self.axes)
        return Value(GroupSum(source=self.node, axes=axes, where=author_line()))

    def _softmax(self) -> Softmax | LogSumExpMerge:
        if not isinstance(self.node, Softmax | LogSumExpMerge):
            raise GraphError(
                "row_max, row_sum and lse belong to the result of attend.softmax or attend.merge: keep it, "
                "as in p = attend.softmax(s), and write p.lse beside p @ values",
                author_line(),
            )
        return self.node


class TensorValue(Value):
    """A tensor argument, usable in the computation and in constraints."""

    __slots__ = ("spec",)
    __iter__ = None
    """An element is read by index; without this, Python would count indices for ever."""

    def __init__(self, node: Node, spec: TensorSpec) -> None:
        super().__init__(node)
        self.spec = spec

    def __eq__(self, other: object) -> Any:
        """``mask == 0``: true where it is zero; anything else is compared by identity."""
        return ~self if self._meets_zero(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        """``mask != 0``: the mask itself."""
        return Value(self.node) if self._meets_zero(other) else NotImplemented

    __hash__ = object.__hash__

    def _meets_zero(self, other: object) -> bool:
        """Whether a mask is compared with 0 or False; no other number is legal."""
        if isinstance(other, int) and other == 0:
            return True
        if isinstance(other, int | float | Expr):
            raise self._compared()
        return False

    @property
    def given(self) -> Symbol:
        """Whether a call passes it."""
        return given(self.spec.name)

    @property
    def absent(self) -> Compare:
        """Whether a call leaves it out."""
        return negation(self.given)

    @property
    def dtype(self) -> Symbol:
        """The name of its dtype in a call."""
        return dtype_of(self.spec.name)

    @property
    def layout(self) -> Symbol:
        """The key of its layout in a call."""
        return layout_of(self.spec.name)

    @property
    def split(self) -> Symbol:
        """Whether a call passes it as a list of one tensor a batch row."""
        return split_of(self.spec.name)

    def rows(self, b: Expr) -> Load:
        """Rows of the tensor of batch row ``b``, in a call that passes a list of one tensor a batch row."""
        return Load(rows_of(self.spec.name), check_expression("a batch row", b))

    def form(self, layout: str) -> Value:
        """The tensor as its layout alternative of this key shows it, with that alternative's axes."""
        if layout not in self.spec.layouts or not isinstance(self.node, Input):
            known = ", ".join(map(repr, self.spec.layouts))
            raise SpecError(f"'{self.spec.name}' has no layout '{layout}'; there are {known}", author_line())
        return Value(replace(self.node, axes=self.spec.layouts[layout].roles, where=author_line()))

    def at(self, *index: Expr | int) -> Value:
        """The element at ``index``, expressions of ``attend.BATCH``, ``HEAD``, ``QUERY`` and ``KEY``.

        One expression for each dimension of the layout of an ``indexed`` argument; nothing where a call
        leaves the argument out.
        """
        parts = tuple(check_index(each) for each in index)
        used = frozenset().union(*(part.symbols() for part in parts))
        axes = tuple(axis for symbol, axis in INDEX_AXES.items() if symbol in used)
        return Value(Lookup(source=self.node, index=parts, axes=axes, where=author_line()))

    @property
    def lowest(self) -> Expr:
        """Its smallest element."""
        return of_all_elements("min", self.spec.name)

    @property
    def highest(self) -> Expr:
        """Its largest element."""
        return of_all_elements("max", self.spec.name)

    def __getitem__(self, index: Expr | int | tuple[Expr | int, ...]) -> Load:
        """One element of an integer tensor, by index symbols or numbers, one for each dimension; of a tensor
        with several layouts, by its place among all elements."""
        indices = index if isinstance(index, tuple) else (index,)
        layouts = tuple(self.spec.layouts.values())
        if len(indices) == 1 and (len(layouts) != 1 or layouts[0].rank == 1):
            return Load(self.spec.name, check_index(indices[0]))
        if len(layouts) != 1 or layouts[0].rank != len(indices):
            raise SpecError(self._other_rank(len(indices)), author_line())
        flat: Expr = Const(0)
        for position, extent in zip(indices, layouts[0].shape(), strict=True):
            flat = flat * extent + check_index(position)
        return Load(self.spec.name, flat)

    def _other_rank(self, given: int) -> str:
        texts = " or ".join(f"'{layout.text}'" for layout in self.spec.layouts.values())
        if len(self.spec.layouts) > 1:
            return (
                f"'{self.spec.name}' has one of the layouts {texts}, got {given} indices; x.form(layout) is "
                "the tensor in one of them"
            )
        count = f"{given} dimensions" if given != 1 else "one dimension"
        return f"'{self.spec.name}' does not have {count}: its layout is {texts}"


def elementwise(op: str, *operands: Operand) -> Value:
    """The named elementwise operation, broadcast over axes by name."""
    where = author_line()
    if not any(isinstance(operand, Value) for operand in operands):
        raise wrong(
            f"an operand of attend.{op}",
            operands[0],
            "a value of the computation; numbers are computed before, or passed as parameters "
            "(attndsl.spec has maximum and minimum of numbers)",
        )
    nodes = tuple(as_node(operand, partial(_spelled, op, operands)) for operand in operands)
    divisor = nodes[-1].value if op == "divide" and isinstance(nodes[-1], Scalar) else None
    if isinstance(divisor, Const) and divisor.value == 0:
        raise wrong("the divisor", operands[-1], "another number than 0")
    _check_results_meet_no_keys(nodes)
    axes = merge_axes(*(getattr(node, "axes", ()) for node in nodes))
    return Value(Elementwise(op=op, inputs=nodes, axes=axes, where=where))


def _check_results_meet_no_keys(nodes: tuple[Node, ...]) -> None:
    """Keys are summed up in a result, so that nothing of each key can meet it.

    Raises:
        GraphError: an operand is a result, and another one has an axis of keys.
    """
    of_keys = [node for node in nodes if "T" in getattr(node, "axes", ())]
    results = [node for node in nodes if "E" in getattr(node, "axes", ()) and node not in of_keys]
    if of_keys and any(isinstance(below, WeightedSum) for node in results for below in node.walk()):
        raise GraphError(of_summed_keys(of_keys[0]), author_line())


def result_axes(node: Node, *last: str) -> Axes:
    """The axes of what is computed for each row of the scores below ``node``, with further axes ``last``."""
    packed = any(
        isinstance(below, Scores) and isinstance(below.query, PackedQueries) for below in node.walk()
    )
    return ("S", "N", *last) if packed else ("B", "N", "Q", *last)


def node_of(argument: str, value: object) -> Node:
    """The node of an argument of an authoring function.

    Raises:
        AuthorArgumentError: it is no value of the computation.
    """
    if not isinstance(value, Value):
        raise wrong(argument, value, "a value of the computation, such as an input")
    return value.node


def number_node(argument: str, value: object) -> Node:
    """The node of a value, of a number or of a symbolic scalar.

    Raises:
        AuthorArgumentError: it is none of these.
    """
    if isinstance(value, Value):
        return value.node
    return Scalar(value=check_expression(argument, value), where=author_line())


def as_rows(value: object) -> Rows:
    """The node of key or value rows; a bare tensor with a row axis stands for all its rows."""
    node = value.node if isinstance(value, Value) else None
    if _are_rows(node):
        return cast(Rows, node)  # choices are gone before anybody reads the fields of rows
    if isinstance(node, Node) and "T" in getattr(node, "axes", ()):
        return Dense(axes=getattr(node, "axes", ()), tensor=node, where=author_line())
    found = type(value).__name__ if node is None else f"axes ({', '.join(getattr(node, 'axes', ()))})"
    raise GraphError(
        f"key or value rows are needed here, as of attend.rows(key), or a tensor with an axis T, not {found}",
        author_line(),
    )


def _are_rows(node: Node | None) -> bool:
    if isinstance(node, Choose):
        return all(_are_rows(each) for each in node.alternatives)
    if isinstance(node, Conditional):
        return _are_rows(node.then) and _are_rows(node.otherwise)
    return isinstance(node, Rows)


def _spelled(op: str, operands: tuple[object, ...], indexed: str) -> str:
    """An operation whose number with an index is ``indexed``: beside an input as it is written, else the
    number alone."""
    nodes = [operand.node if isinstance(operand, Value) else None for operand in operands]
    names = [node.name if isinstance(node, Input) else "" for node in nodes]
    if len(operands) != 2 or not any(names) or sign_of(op).isidentifier():
        return indexed
    return f" {sign_of(op)} ".join(name or indexed for name in names)


def as_node(operand: object, spelled: Callable[[str], str] = str) -> Node:
    """The node of a value, or a scalar node for a number or a symbolic scalar.

    ``spelled``: how what the operand stands in is written, with this in its place.
    """
    if isinstance(operand, Value):
        return operand.node
    if isinstance(operand, Expr | int | float | np.generic):
        number = scalar("an operand", operand)
        for part in number.walk():
            if isinstance(part, Const):
                check_number("an operand", part.value)
        _check_no_index(number, spelled)
        return Scalar(value=number, where=author_line())
    raise GraphError(f"a value, a parameter or a number is needed here, got {operand!r}", author_line())


def _check_no_index(operand: Expr, spelled: Callable[[str], str]) -> None:
    """A number that differs from row to row or from key to key says so by ``attend.index``.

    Raises:
        GraphError: it has an index and does not, or is a condition on indices.
    """
    if not operand.symbols() & INDEX_AXES.keys():
        return
    if isinstance(operand, Compare | Logic):
        raise GraphError(
            f"'{operand}' is a condition, no number: s.where({operand}) keeps the scores where it holds",
            author_line(),
        )
    text = str(operand)
    shown, inside = (f"'{text}'", text) if len(text) <= _MOST_SHOWN else ("a number with indices", "...")
    element = ""
    if isinstance(operand, Load):
        element = f", or {spelled(f'{operand.source}.at(...)')} for an element of any dtype"
    raise GraphError(
        f"{shown} differs from row to row or from key to key: write {spelled(f'attend.index({inside})')}"
        f"{element}",
        author_line(),
    )


_MOST_SHOWN = 40
"""Letters of a number that a message repeats: starts of packed rows are written out in it."""


def index_condition(condition: Expr) -> Value:
    """A truth value computed from the symbols b, n, i and j: batch row, head, query and key index."""
    check_condition("a condition over indices", condition)
    used = tuple(axis for symbol, axis in INDEX_AXES.items() if symbol in condition.symbols())
    of_keys = parted(condition, _KEY)
    return Value(IndexCondition(condition=of_keys, axes=used, where=author_line()))


def merge_axes(*groups: Axes) -> Axes:
    """All axes of the operands in canonical order."""
    found = {axis for group in groups for axis in group}
    return tuple(sorted(found, key=AXIS_ORDER.index))
