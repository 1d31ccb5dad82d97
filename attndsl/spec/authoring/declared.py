"""A tensor as its author wrote it, and its resolution once all sizes and roles are declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from attndsl.base.source_location import UNKNOWN_LINE, SourceLine
from attndsl.expr import Const, Expr, Logic, Symbol, compare, negation
from attndsl.graph.nodes import AXIS_MEANINGS, AXIS_ORDER, Output
from attndsl.spec import errors
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.contract.layout import Layout, check_extents, layout_tokens, parse_layout, token_extent


@dataclass(frozen=True)
class DeclaredTensor:
    """The arguments of ``op.input`` or ``op.lengths``; see :class:`TensorSpec` for the fields."""

    name: str
    layouts: Mapping[str, str | tuple[str, Expr]] = field(default_factory=dict)
    axes: tuple[str, ...] = ()
    dtypes_alone: tuple[str, ...] = ()
    dtype_like: tuple[str, ...] = ()
    optional: bool = False
    kind: str = "tensor"
    sequence_of: int = 0
    shape_error: type[Exception] | None = None
    meaning: str = ""
    where: SourceLine = UNKNOWN_LINE
    list_of: Expr | None = None
    one_for_all: bool = True
    indexed: bool = False
    split: bool = False
    prefix_sums: bool = False
    arrays: bool = True
    at_least: bool = False
    by_name: bool = False

    def texts(self) -> tuple[str, ...]:
        """The layout texts alone."""
        return tuple(map(_text, self.layouts.values()))

    def canonical_axes(self, extents: Mapping[str, Expr]) -> tuple[str, ...]:
        """The axes given by the author, or those whose sizes the first layout names.

        An axis of fixed extent 1, as the query axis of a decode operator, is taken for a 1 in the layout.
        """
        if self.axes or not self.layouts or self.indexed:
            return self.axes
        return self.axes_of(self.texts()[0], dict(extents))

    def axes_of(self, text: str, free: dict[str, Expr]) -> tuple[str, ...]:
        """The axes whose sizes ``text`` names; the first role of that size in ``free`` counts."""
        check_extents(text, self.where)
        found: list[str] = []
        ones = 0
        for token in layout_tokens(text):
            extent = token_extent(token)
            if isinstance(extent, Const) and extent.value == 1:
                ones += 1
                continue
            role = next((role for role, size in free.items() if size.same(extent)), None)
            if role is None:
                raise errors.LayoutTextError(
                    f"layout '{text}' of {self.name}: the role of '{token}' is unknown;"
                    f" declare it with op.axes before, or give axes=",
                    self.where,
                )
            found.append(role)
            del free[role]
        singles = [role for role, size in free.items() if isinstance(size, Const) and size.value == 1]
        found += singles[:ones]
        return tuple(sorted(found, key=AXIS_ORDER.index))


def resolve_tensor(
    declared: DeclaredTensor,
    extents: Mapping[str, Expr],
    dtypes: tuple[str, ...],
    names: frozenset[str] | None = None,
    choices: Mapping[str, str] | None = None,
) -> TensorSpec:
    """The tensor with its layouts read.

    Args:
        declared: what the author wrote.
        extents: the size of each axis role.
        dtypes: every legal dtype, the same-as ones resolved.
        names: declared dimensions and parameters, or None while they are not complete.
        choices: the parameter of which a layout key is a choice.
    """
    axes = declared.canonical_axes(extents)
    missing = [axis for axis in axes if axis not in extents]
    if missing:
        raise errors.LayoutTextError(
            f"{declared.name}: axis '{missing[0]}' has no size in op.axes; {_sized(missing[0], extents)}",
            declared.where,
        )
    if names is not None:
        for text in declared.texts():
            _names_are_known(declared, text, names)
    layouts = {key: _read_layout(declared, key, axes, extents, choices or {}) for key in declared.layouts}
    return TensorSpec(
        name=declared.name,
        dtypes=dtypes,
        layouts=layouts,
        optional=declared.optional,
        kind=declared.kind,
        axes=axes,
        dtypes_alone=declared.dtypes_alone,
        dtype_like=declared.dtype_like,
        sequence_of=declared.sequence_of,
        shape_error=declared.shape_error,
        meaning=declared.meaning,
        where=declared.where,
        list_of=declared.list_of,
        one_for_all=declared.one_for_all,
        indexed=declared.indexed,
        split=declared.split,
        prefix_sums=declared.prefix_sums,
        arrays=declared.arrays,
        at_least=declared.at_least,
        by_name=declared.by_name,
    )


def _sized(axis: str, extents: Mapping[str, Expr]) -> str:
    """What an author writes of an axis without a size."""
    if axis not in AXIS_MEANINGS:
        return f"'{axis}' is no axis; there are {', '.join(AXIS_MEANINGS)}"
    there = f", or take one of {' '.join(extents)}" if extents else " in front of the arguments"
    return f"write op.axes({axis}=...) for {AXIS_MEANINGS[axis]}{there}"


def _text(item: str | tuple[str, Expr]) -> str:
    """A layout's text, whether or not a condition is beside it."""
    return item if isinstance(item, str) else item[0]


def _read_layout(
    declared: DeclaredTensor,
    key: str,
    axes: tuple[str, ...],
    extents: Mapping[str, Expr],
    choices: Mapping[str, str],
) -> Layout:
    item = declared.layouts[key]
    text, when = _text(item), _condition(declared, key, choices)
    if declared.indexed:
        return parse_layout(text, None, {}, key=key, when=when, where=declared.where)
    roles = axes if isinstance(item, str) else declared.axes_of(text, _own_first(axes, extents))
    if declared.list_of is not None:
        roles = roles[1:]
    return parse_layout(text, roles, dict(extents), key=key, when=when, where=declared.where)


def roles_of_result(node: Output, text: str, extents: Mapping[str, Expr]) -> tuple[str, ...]:
    """The axes of a result in the layout ``text``: its own, or those that the text names where a call's
    layout decides which they are. Queries of decoding may have no axis: then there is one a batch row."""
    declared = DeclaredTensor(node.name, where=node.where)
    own = tuple(axis for axis in node.axes if axis in extents)
    try:
        named = declared.axes_of(text, _own_first(own, extents))
    except errors.LayoutTextError:
        return own
    return own if set(named) <= set(own) else named


def inherits_layout(axes: tuple[str, ...], like: tuple[str, ...]) -> bool:
    """Whether a result with these axes can be stored as an input with the axes ``like``: D for E, and rows
    of packed queries for those of batch rows."""
    own, stored = ({"D" if axis == "E" else axis for axis in each} for each in (axes, like))
    return own == stored or not like or own ^ stored <= {"S", "B", "Q"}


def _own_first(axes: tuple[str, ...], extents: Mapping[str, Expr]) -> dict[str, Expr]:
    """The roles with the tensor's own before the others, so that a value's D stays its E."""
    return {role: extents[role] for role in (*axes, *(role for role in extents if role not in axes))}


def _condition(declared: DeclaredTensor, key: str, choices: Mapping[str, str]) -> Expr | None:
    """When this alternative is meant: the author's condition, or its parameter's choice and no condition
    of another alternative."""
    item = declared.layouts[key]
    if not isinstance(item, str):
        return item[1]
    when: Expr | None = compare("==", Symbol(choices[key]), Const(key)) if key in choices else None
    others = [other[1] for other in declared.layouts.values() if not isinstance(other, str)]
    for other in others:
        if isinstance(other, Logic) and any(other.left.same(wider) for wider in others):
            continue  # implied by the negation of the wider condition
        negated = negation(other)
        when = negated if when is None else when & negated
    return when


def _names_are_known(declared: DeclaredTensor, text: str, names: frozenset[str]) -> None:
    for token in layout_tokens(text):
        if not token.isdigit() and token not in names:
            raise errors.LayoutTextError(
                f"layout '{text}' of {declared.name}: '{token}' is no declared size or parameter",
                declared.where,
            )
