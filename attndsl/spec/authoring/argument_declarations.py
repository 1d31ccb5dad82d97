"""The arguments of an operator: tensors, lengths and parameters, in the order of its signature."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from attndsl.base.source_location import author_line
from attndsl.expr import Expr, Symbol
from attndsl.expr.argument_facts import given, longest_of
from attndsl.graph.nodes import Input
from attndsl.spec import errors
from attndsl.spec.authoring.argument_checks import (
    check_choices,
    check_count,
    check_error_class,
    check_expression,
    check_flags,
    check_members,
    check_name,
    check_number,
    check_param,
    check_text,
    check_texts,
    wrong,
)
from attndsl.spec.authoring.constraint_declarations import ConstraintDeclarations
from attndsl.spec.authoring.declared import DeclaredTensor, resolve_tensor
from attndsl.spec.authoring.prefix_sums import PrefixSums
from attndsl.spec.authoring.size_declarations import SizeDeclarations
from attndsl.spec.authoring.values import TensorValue
from attndsl.spec.contract.arguments import DTYPES, REQUIRED, ParamSpec

Dtypes: TypeAlias = "str | TensorValue | tuple[str | TensorValue, ...]"
Layouts: TypeAlias = "str | list[str] | Mapping[str, object]"
_MOST_TENSORS, _MOST_RESERVED = 1 << 16, 1 << 16
"""Tensors in a sequence, reserved bytes; beyond them an author has mistyped."""


class ArgumentDeclarations(SizeDeclarations, ConstraintDeclarations):
    """How an author declares arguments."""

    def ahead(self, names: str) -> tuple[Symbol, ...]:
        """Symbols of parameters that are declared further down, because the signature's order is fixed."""
        check_text("the names of parameters", names)
        return tuple(Symbol(name) for name in names.split())

    def given(self, name: str) -> Symbol:
        """Whether a call passes the optional argument ``name``, which may be declared further down."""
        check_name(name)
        return given(name)

    def longest(self, name: str) -> Symbol:
        """Rows of the longest batch row that the prefix sums ``name`` tell; they may come further down."""
        check_name(name)
        self._longest_lines[name] = author_line()
        return longest_of(name)

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
        check_texts(axes=axes, meaning=meaning)
        check_flags(optional=optional, at_least=at_least, indexed=indexed, split=split)
        check_count("sequence_of", sequence_of, 0, _MOST_TENSORS)
        if shape_error is not None:
            check_error_class("shape_error", shape_error)
        declared = DeclaredTensor(
            name=name,
            layouts=layouts_by_key(layouts),
            axes=tuple(axes.split()),
            optional=optional,
            sequence_of=sequence_of,
            list_of=None if list_of is None else check_expression("list_of", list_of),
            at_least=at_least,
            indexed=indexed,
            split=split,
            shape_error=shape_error,
            meaning=meaning,
        )
        return self._declare(declared, dtype)

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
        check_flags(optional=optional, one_for_all=one_for_all)
        check_text("meaning", meaning)
        declared = DeclaredTensor(
            name=name,
            layouts=layouts_by_key(layout),
            indexed=not isinstance(layout, str),
            optional=optional,
            kind="lengths",
            one_for_all=one_for_all,
            meaning=meaning,
        )
        return self._declare(declared, dtype)

    def prefix_sums(
        self, name: str, layout: str, *, total: Expr | None = None, arrays: bool = True, meaning: str = ""
    ) -> PrefixSums:
        """The ends of rows that are packed back to back: a list, tuple or array of integers, one a batch row.

        There is no 0 in front of them: of ``cu_seqlens`` with B + 1 entries a call passes ``cu_seqlens[1:]``.
        ``arrays``: whether a call may pass an array; a contract that names lists and tuples alone says False.
        That there is one, that they do not decrease and that they end at ``total`` become constraints.
        """
        self._reserve(name)
        check_texts(layout=layout, meaning=meaning)
        check_flags(arrays=arrays)
        if total is not None:
            check_expression("total", total)
        declared = DeclaredTensor(
            name=name,
            layouts={"": layout},
            kind="lengths",
            one_for_all=False,
            prefix_sums=True,
            arrays=arrays,
            meaning=meaning,
        )
        value = self._declare(declared, "int64")
        ends = PrefixSums(value.node, value.spec)
        with self.constraints_on(error=errors.LengthRangeError):
            for condition, text, over in ends.demands(Symbol(layout), total):
                if not any(condition.same(rule.condition) for rule in self.constraints):
                    self.require(condition, text, over=over, argument=name)
        return ends

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
        check_flags(takes_int=takes_int, finite=finite)
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

    def _declare(self, asked: DeclaredTensor, dtype: Dtypes) -> TensorValue:
        """A tensor of what an author asked for, with its dtypes, its line, and how calls pass it."""
        alone, like = self._dtypes(dtype)
        declared = replace(
            asked, dtypes_alone=alone, dtype_like=like, by_name=self._keyword_only, where=author_line()
        )
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


def layouts_by_key(layouts: Layouts | None) -> dict[str, str | tuple[str, Expr]]:
    """The layouts that an author gives, by key; none of None.

    Raises:
        SpecError: they are no texts, or texts by key.
    """
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
