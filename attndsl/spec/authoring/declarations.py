"""What an author says about an operator: sizes, arguments, constraints, modes, results.

Declarations come in the order of the document's signature, because calls are positional too.
"""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from attndsl.base.source_location import SourceLine, author_line
from attndsl.expr import Expr, ExprLike, Symbol
from attndsl.expr.argument_facts import given, longest_of
from attndsl.graph.nodes import AXIS_ORDER, Axes, Input, Output
from attndsl.spec import errors
from attndsl.spec.authoring.argument_checks import (
    check_choices,
    check_condition,
    check_count,
    check_error_class,
    check_expression,
    check_flag,
    check_members,
    check_name,
    check_number,
    check_param,
    check_text,
    wrong,
)
from attndsl.spec.authoring.declared import DeclaredTensor, inherits_layout, resolve_tensor
from attndsl.spec.authoring.prefix_sums import PrefixSums
from attndsl.spec.authoring.values import TensorValue, Value
from attndsl.spec.contract.arguments import DTYPES, REQUIRED, Dim, ParamSpec
from attndsl.spec.contract.capacity import capacity_constraints
from attndsl.spec.contract.constraint import Constraint
from attndsl.target import DEFAULT_DEVICE, Device, UnknownDeviceError
from attndsl.target import device as device_named

Dtypes: TypeAlias = "str | TensorValue | tuple[str | TensorValue, ...]"
Layouts: TypeAlias = "str | list[str] | Mapping[str, object]"


_MOST_TENSORS, _MOST_RESERVED = 1 << 16, 1 << 16
"""Tensors in a sequence, reserved bytes; beyond them an author has mistyped."""
_OF_CALLS = ("backend", "precision")
"""Options of :meth:`attndsl.spec.operator.operator.Operator.__call__` itself."""
INDICES = {
    "b": "the batch row (attend.BATCH)",
    "n": "the head (attend.HEAD)",
    "i": "the query (attend.QUERY)",
    "j": "the key (attend.KEY)",
    "g": "the group (attend.GROUP)",
}
"""The names that indices have in expressions, and what they are."""


@dataclass(frozen=True, slots=True)
class _Group:
    """What the constraints that are declared together share, see :meth:`Declarations.constraints_on`."""

    when: Expr | None = None
    error: type[Exception] = errors.UnclassifiedError
    argument: str = ""
    early: bool = False


class Declarations:
    """The declaring side of an operator.

    Args:
        name: the name of the operator, of its Python function and of its kernel.
        document: where the contract is published.
        target: the name of the device that kernels are made for, see :mod:`attndsl.target.devices`.
        summary: one sentence of what it computes.
    """

    def __init__(
        self, name: str, *, document: str = "", target: str = DEFAULT_DEVICE, summary: str = ""
    ) -> None:
        for argument, text in (
            ("name", name),
            ("document", document),
            ("target", target),
            ("summary", summary),
        ):
            check_text(f"{argument} of an operator", text)
        if not name.isidentifier():
            raise errors.SpecError(f"operator name {name!r} is no identifier", author_line())
        self.name, self.document, self.summary = name, document, summary
        self.where = author_line()
        self.device = _device(target, self.where)
        self.source = name
        """The name that :func:`attndsl.spec.operator.loader.load` takes: its own, or the spec file's."""
        self.constraints: tuple[Constraint, ...] = ()
        self.schedule_choices: dict[str, Any] = {}
        self.schedule_lines: dict[str, SourceLine] = {}
        self._dims: dict[str, Dim] = {}
        self._axes: dict[str, Expr] = {}
        self._arguments: dict[str, DeclaredTensor | ParamSpec] = {}
        self._results: dict[str, tuple[Output, str, dict[str, str | tuple[str, Expr]]]] = {}
        self._group = _Group()
        self._keyword_only = False

    def dims(self, names: str, *, default: int | None = None) -> tuple[Symbol, ...]:
        """Symbolic sizes, in the document's letters; ``default``: value where no shape shows them."""
        check_text("the names of sizes", names)
        fixed = None if default is None else check_expression("default", default)
        for name in names.split():
            self._reserve_symbol(name)
            self._dims[name] = Dim(name, default=fixed)
        return tuple(Symbol(name) for name in names.split())

    def dim(self, name: str, *, default: ExprLike | None = None) -> Symbol:
        """One symbolic size; ``default``: an expression for where no shape shows it."""
        self._reserve_symbol(name)
        self._dims[name] = Dim(
            name, default=None if default is None else check_expression("default", default)
        )
        return Symbol(name)

    def ahead(self, names: str) -> tuple[Symbol, ...]:
        """Symbols of parameters that are declared further down, because the signature's order is fixed."""
        check_text("the names of parameters", names)
        return tuple(Symbol(name) for name in names.split())

    def given(self, name: str) -> Symbol:
        """Whether a call passes the optional argument ``name``, which may be declared further down."""
        check_name(name)
        return given(name)

    def let(self, dim: Symbol, value: Expr) -> None:
        """Define a size by parameters, as in ``op.let(N, num_heads)``; shapes are then checked against it."""
        self._declared_dim(dim)
        definition = check_expression(f"the definition of '{dim.name}'", value)
        chain = self._dims_behind(definition)
        if dim.name in chain:
            raise errors.SpecError(f"size '{dim.name}' is defined by itself: {definition}", author_line())
        self._dims[dim.name] = Dim(dim.name, definition, self._dims[dim.name].default)

    def default(self, dim: Symbol, value: ExprLike) -> None:
        """The value of a size where no shape shows it, which may read lengths declared by now."""
        self._declared_dim(dim)
        self._dims[dim.name] = replace(self._dims[dim.name], default=check_expression("default", value))

    def axes(self, **extents: ExprLike) -> None:
        """The roles of the sizes in attention (see :mod:`attndsl.graph.nodes`), as in ``op.axes(K=kvN)``."""
        for role, extent in extents.items():
            if role not in AXIS_ORDER:
                known = " ".join(AXIS_ORDER)
                raise errors.UnknownNameError(f"'{role}' is no axis; there are {known}", author_line())
            self._axes[role] = check_expression(f"the extent of axis {role}", extent)

    def input(
        self,
        name: str,
        layouts: Layouts | None = None,
        *,
        dtype: Dtypes,
        axes: str = "",
        optional: bool = False,
        sequence_of: int = 0,
        list_of: Expr | None = None,
        at_least: bool = False,
        indexed: bool = False,
        split: bool = False,
        shape_error: type[Exception] | None = None,
        meaning: str = "",
    ) -> TensorValue:
        """A tensor argument.

        Args:
            name: as in the document.
            layouts: one text (``"B N 1 D"``), a list of alternatives, or alternatives by key. A key that is
                a choice of a parameter is meant when that parameter has this value; ``(text, condition)``
                is meant when the condition holds, and then hides the alternatives without one. None: any.
            dtype: legal dtypes; another tensor stands for "the same as its".
            axes: canonical axes, where they do not follow from the sizes' roles.
            optional: whether a call may leave it out.
            sequence_of: the argument is a tuple or list of so many tensors.
            list_of: the argument is a list of so many tensors of one shape, or an array that stacks them;
                ``layouts`` are those of one tensor, and the first of ``axes`` is that of the list.
            at_least: larger tensors are taken too; what exceeds the layout is not looked at.
            indexed: elements are read by index alone, ``mask.at(i, j)``; sizes in ``layouts`` need no role.
            split: a list of one tensor a batch row may stand for it. In each, batch row and layer have the
                extent 1 (and may be left out in front), and there are as many rows T as it likes.
            shape_error: class raised for a wrong shape, if the contract names one.
            meaning: a phrase for the printed contract.
        """
        self._reserve(name)
        check_text("axes", axes)
        check_text("meaning", meaning)
        flags = {"optional": optional, "at_least": at_least, "indexed": indexed, "split": split}
        for flag, chosen in flags.items():
            check_flag(flag, chosen)
        check_count("sequence_of", sequence_of, 0, _MOST_TENSORS)
        if shape_error is not None:
            check_error_class("shape_error", shape_error)
        alone, like = self._dtypes(dtype)
        declared = DeclaredTensor(
            name=name,
            layouts=_by_key(layouts),
            axes=tuple(axes.split()),
            dtypes_alone=alone,
            dtype_like=like,
            optional=optional,
            sequence_of=sequence_of,
            list_of=None if list_of is None else check_expression("list_of", list_of),
            at_least=at_least,
            indexed=indexed,
            split=split,
            by_name=self._keyword_only,
            shape_error=shape_error,
            meaning=meaning,
            where=author_line(),
        )
        return self._declare(declared)

    def lengths(
        self,
        name: str,
        layout: str | list[str],
        *,
        dtype: Dtypes = ("int64", "int32"),
        optional: bool = False,
        one_for_all: bool = True,
        meaning: str = "",
    ) -> TensorValue:
        """One integer a row: a list, tuple or array, bound as int64; some layouts may have two dimensions.

        ``one_for_all``: whether a single entry may stand for all rows.
        """
        self._reserve(name)
        check_flag("optional", optional)
        check_flag("one_for_all", one_for_all)
        check_text("meaning", meaning)
        alone, like = self._dtypes(dtype)
        declared = DeclaredTensor(
            name=name,
            layouts=_by_key(layout),
            indexed=not isinstance(layout, str),
            dtypes_alone=alone,
            dtype_like=like,
            optional=optional,
            kind="lengths",
            one_for_all=one_for_all,
            by_name=self._keyword_only,
            meaning=meaning,
            where=author_line(),
        )
        return self._declare(declared)

    def prefix_sums(
        self, name: str, layout: str, *, total: Expr | None = None, meaning: str = ""
    ) -> PrefixSums:
        """The ends of rows that are packed back to back: a list or tuple of integers, one a batch row.

        That there is one, that they do not decrease and that they end at ``total`` become constraints.
        """
        self._reserve(name)
        check_text("layout", layout)
        check_text("meaning", meaning)
        if total is not None:
            check_expression("total", total)
        declared = DeclaredTensor(
            name=name,
            layouts={"": layout},
            dtypes_alone=("int64",),
            kind="lengths",
            one_for_all=False,
            prefix_sums=True,
            by_name=self._keyword_only,
            meaning=meaning,
            where=author_line(),
        )
        value = self._declare(declared)
        ends = PrefixSums(value.node, value.spec)
        with self.constraints_on(error=errors.LengthRangeError):
            for condition, text, over in ends.demands(Symbol(layout), total):
                if not any(condition.same(rule.condition) for rule in self.constraints):
                    self.require(condition, text, over=over, argument=name)
        return ends

    def longest(self, name: str) -> Symbol:
        """Rows of the longest batch row that the prefix sums ``name`` tell; they may come further down."""
        check_name(name)
        return longest_of(name)

    def param(
        self,
        name: str,
        type: builtins.type,
        *,
        default: Any = REQUIRED,
        choices: tuple[Any, ...] | Mapping[Any, Any] = (),
        gt: Any = None,
        ge: Any = None,
        lt: Any = None,
        le: Any = None,
        error: builtins.type[Exception] | None = None,
        meaning: str = "",
        alias: str = "",
        takes_int: bool = False,
        finite: bool = False,
    ) -> Symbol:
        """A scalar argument; as a symbol it is usable in sizes, constraints and the computation.

        ``choices``: the legal values, or a mapping from each legal spelling to the value that is meant.
        ``error``: class raised for a value out of range, if the contract names one.
        ``alias``: a second name that calls may use. ``takes_int`` and ``finite``: of a float, that an int
        stands for it, that it is no NaN or infinity.
        """
        self._reserve_symbol(name)
        check_choices(name, choices)
        check_text(f"alias of parameter '{name}'", alias)
        check_flag("takes_int", takes_int)
        check_flag("finite", finite)
        if error is not None:
            check_error_class("error", error)
        legal = dict(choices) if isinstance(choices, Mapping) else {choice: choice for choice in choices}
        check_param(name, type, {"gt": gt, "ge": ge, "lt": lt, "le": le}, legal)
        if default is not REQUIRED and not isinstance(default, bool | int | float | str | bytes | None):
            raise wrong(f"default of parameter '{name}'", default, "a number, a text, bytes or None")
        check_number(f"default of parameter '{name}'", default)
        check_text(f"meaning of parameter '{name}'", meaning)
        self._arguments[name] = ParamSpec(
            name=name,
            type=type,
            default=default,
            choices=legal,
            gt=gt,
            ge=ge,
            lt=lt,
            le=le,
            error=error,
            meaning=meaning,
            keyword_only=self._keyword_only,
            where=author_line(),
            alias=alias,
            takes_int=takes_int,
            finite=finite,
        )
        return Symbol(name)

    def enum(
        self,
        name: str,
        members: str | Mapping[str, int],
        *,
        prefix: str = "",
        default: int | str = 0,
        meaning: str = "",
    ) -> Symbol:
        """An enumeration: passed as its integer, or as a member's name with or without ``prefix``.

        ``members``: the names, numbered from 0, or a mapping from each name to its integer.
        """
        check_members(name, members)
        check_text("prefix", prefix)
        if not isinstance(default, int | str):
            raise wrong(f"default of '{name}'", default, "a member or its integer")
        numbers = (
            {each: n for n, each in enumerate(members.split())} if isinstance(members, str) else dict(members)
        )
        choices: dict[int | str, int] = {number: number for number in numbers.values()}
        for each, number in numbers.items():
            choices |= {each: number, prefix + each: number}
        return self.param(name, int, default=default, choices=choices, meaning=meaning)

    def reserved(self, name: str, size: int) -> None:
        """Reserved bytes, all of which must be 0: bytes, a list or tuple of integers, or a uint8 array."""
        check_count(f"the size of '{name}'", size, 0, _MOST_RESERVED)
        zeros = bytes(size)
        self.param(
            name, bytes, default=zeros, choices={zeros: zeros}, meaning=f"{size} reserved bytes, all 0"
        )

    def keyword_only(self) -> None:
        """What is declared from here on is passed by name; tensors by position are tolerated."""
        self._keyword_only = True

    def require(
        self,
        condition: Expr,
        text: str,
        *,
        error: type[Exception] | None = None,
        when: Expr | None = None,
        over: Mapping[Symbol, ExprLike] | None = None,
        argument: str = "",
        hint: str = "",
    ) -> None:
        """A constraint of the contract: raised in Python, checked on the host, printed.

        Args:
            condition: what must hold; elements of integer tensors are read with index symbols.
            text: the constraint in words.
            error: the class of the contract for its violation; without one, both ValueError and RuntimeError.
            when: it matters only where this holds.
            over: extent of each index symbol that the condition uses.
            argument: the argument to blame, where it does not follow from the condition.
            hint: the next step, where no nearest legal value can be computed.
        """
        check_condition("the condition of a constraint", condition)
        check_text("the text of a constraint", text)
        check_text("hint", hint)
        check_text("argument", argument)
        if when is not None:
            check_condition("when", when)
        if error is not None:
            check_error_class("error", error)
        if over is not None and not (
            isinstance(over, Mapping) and all(isinstance(index, Symbol) for index in over)
        ):
            raise wrong("over", over, "a mapping from index symbols to their extents")
        ranges = {index.name: check_expression("over", extent) for index, extent in (over or {}).items()}
        group = self._group
        scope = when if group.when is None else group.when if when is None else group.when & when
        self._add(
            Constraint(
                condition,
                text,
                error=error or group.error,
                when=scope,
                over=ranges,
                argument=argument or group.argument,
                hint=hint,
                where=author_line(),
                early=group.early,
            )
        )

    @contextlib.contextmanager
    def constraints_on(
        self,
        when: Expr | None = None,
        *,
        error: type[Exception] = errors.UnclassifiedError,
        argument: str = "",
        early: bool = False,
    ) -> Iterator[None]:
        """The constraints declared inside share an error class and matter only where ``when`` holds.

        ``argument``: the argument that they blame, where they name no other.
        ``early``: parameters and the presence of arguments decide them, so that they are checked before any
        tensor is looked at.
        """
        check_error_class("error", error)
        check_text("argument", argument)
        check_flag("early", early)
        if when is not None:
            check_condition("when", when)
        before, self._group = self._group, _Group(when, error, argument, early)
        try:
            yield
        finally:
            self._group = before

    def limit(self, condition: Expr, text: str, *, when: Expr | None = None) -> None:
        """A limit of the kernels on the target, not of the operator: the reference takes more."""
        check_condition("the condition of a limit", condition)
        check_text("the text of a limit", text)
        if when is not None:
            check_condition("when", when)
        line = author_line()
        self._add(Constraint(condition, text, errors.TargetLimitError, when, target=True, where=line))

    def schedule(self, **choices: Any) -> None:
        """Tile sizes, ring depth and splits that the author wants; what is left out is filled in with
        usual values."""
        for name, value in choices.items():
            if not isinstance(value, int | float | str):
                raise wrong(f"schedule choice '{name}'", value, "a number or a text")
            check_number(f"schedule choice '{name}'", value)
            if name in self.schedule_choices:
                raise errors.DuplicateNameError(f"schedule choice '{name}' is made twice", author_line())
            self.schedule_choices[name] = value
            self.schedule_lines[name] = author_line()

    def output(
        self,
        name: str,
        value: Value,
        *,
        like: TensorValue,
        layouts: Layouts | None = None,
        dtype: str = "",
    ) -> None:
        """A result.

        Args:
            name: as in the document.
            value: what it is.
            like: the input whose dtype and layout it takes, its head size replaced by that of the value.
            layouts: its own layout, or one for each key of ``like``'s.
            dtype: its own dtype.
        """
        self._reserve(name)
        if not isinstance(value, Value):
            raise wrong(f"output '{name}'", value, "a value of the computation")
        if not isinstance(like, TensorValue):
            raise wrong("like", like, "an input, whose dtype and layout the output takes")
        check_text("dtype", dtype)
        node = Output(
            name=name, source=value.node, dtype=dtype or like.spec.name, axes=value.axes, where=author_line()
        )
        own = _by_key(layouts)
        if not own and not inherits_layout(value.axes, like.spec.axes):
            raise errors.LayoutTextError(
                f"output '{name}' has the axes ({', '.join(value.axes)}), '{like.spec.name}' "
                f'({", ".join(like.spec.axes)}): say layouts=, such as layouts="{self._sizes(value.axes)}"',
                node.where,
            )
        self._results[name] = (node, like.spec.name, own)
        lengths = frozenset(
            each.name
            for each in self._arguments.values()
            if isinstance(each, DeclaredTensor) and each.kind == "lengths"
        )
        for rule in capacity_constraints(node, lengths, self._axes, self.constraints):
            self._add(rule)

    # --------------------------------------------------------------------------------------------

    def _sizes(self, axes: Axes) -> str:
        return " ".join(str(self._axes.get(axis, axis)) for axis in axes)

    def _add(self, constraint: Constraint) -> None:
        self.constraints = (*self.constraints, constraint)

    def _declared_dim(self, dim: object) -> None:
        if not isinstance(dim, Symbol):
            raise wrong("the size", dim, "a dimension that op.dims or op.dim declared")
        if dim.name not in self._dims:
            raise errors.UnknownNameError(f"'{dim.name}' is no declared dimension", author_line())

    def _dims_behind(self, expr: Expr) -> set[str]:
        """The symbols that an expression depends on, through definitions of sizes too."""
        found: set[str] = set()
        open_ = [expr]
        while open_:
            for name in open_.pop().symbols() - found:
                found.add(name)
                known = self._dims.get(name)
                if known is not None and known.definition is not None:
                    open_.append(known.definition)
        return found

    def _reserve(self, name: str) -> None:
        check_name(name)
        if not name.isidentifier():
            raise errors.SpecError(f"{name!r} is no identifier", author_line())
        if name in _OF_CALLS:
            raise errors.SpecError(f"'{name}' is an option of calls: no argument can have it", author_line())
        if name in self._dims or name in self._arguments or name in self._results:
            raise errors.DuplicateNameError(f"'{name}' is declared twice", author_line())

    def _reserve_symbol(self, name: str) -> None:
        """A name that stands in expressions, where indices have names too."""
        self._reserve(name)
        if name in INDICES:
            raise errors.SpecError(
                f"'{name}' is what expressions call {INDICES[name]}: no size or parameter can have the name; "
                f"call it '{name}_', say",
                author_line(),
            )

    def _declare(self, declared: DeclaredTensor) -> TensorValue:
        self._arguments[declared.name] = declared
        spec = resolve_tensor(declared, self._axes, self._all_dtypes(declared))
        node = Input(
            name=spec.name, axes=spec.axes, optional=spec.optional, dtypes=spec.dtypes, where=spec.where
        )
        return TensorValue(node, spec)

    def _dtypes(self, dtype: Dtypes) -> tuple[tuple[str, ...], tuple[str, ...]]:
        parts = dtype if isinstance(dtype, tuple) else (dtype,)
        for part in parts:
            if not isinstance(part, str | TensorValue):
                raise wrong("dtype", part, "the name of a dtype, an input that has it, or a tuple of these")
        if not parts:
            raise wrong("dtype", dtype, "at least one dtype")
        alone = tuple(part for part in parts if isinstance(part, str))
        for name in alone:
            if name not in DTYPES:
                known = " ".join(DTYPES)
                raise errors.UnknownNameError(f"unknown dtype '{name}'; there are {known}", author_line())
        return alone, tuple(part.spec.name for part in parts if isinstance(part, TensorValue))

    def _all_dtypes(self, declared: DeclaredTensor) -> tuple[str, ...]:
        found: list[str] = []
        for name in declared.dtype_like:
            other = self._arguments[name]
            assert isinstance(other, DeclaredTensor)
            found += self._all_dtypes(other)
        return tuple(dict.fromkeys([*found, *declared.dtypes_alone]))


def _device(name: str, where: SourceLine) -> Device:
    try:
        return device_named(name)
    except UnknownDeviceError as unknown:
        raise errors.UnknownTargetError(f"target of an operator: {unknown}", where) from None


def _by_key(layouts: Layouts | None) -> dict[str, str | tuple[str, Expr]]:
    if layouts is not None and not isinstance(layouts, str | list | tuple | Mapping):
        raise wrong("layouts", layouts, "a text, a list of texts, or texts by key")
    if layouts is not None and not layouts:
        raise wrong("layouts", layouts, "at least one layout; leave it out for any")
    if not isinstance(layouts, Mapping):
        texts = [layouts] if isinstance(layouts, str) else list(layouts or ())
        if not all(isinstance(text, str) for text in texts):
            sizes = " ".join(map(str, texts))
            raise errors.LayoutTextError(f'write the layout as a text, "{sizes}"', author_line())
        return {"": layouts} if isinstance(layouts, str) else {text: text for text in texts}
    found: dict[str, str | tuple[str, Expr]] = {}
    for key, item in layouts.items():
        match item:
            case str():
                found[key] = item
            case (str() as text, Expr() as when):
                found[key] = (text, when)
            case _:
                raise errors.LayoutTextError(
                    f"layout '{key}' must be a text or a tuple (text, condition), got {item!r}", author_line()
                )
    return found
