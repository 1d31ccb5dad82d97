"""Memory layouts: an ordered list of dimensions, each a product of axes, as in ``B S (kvN D)``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl.base.source_location import UNKNOWN_LINE, SourceLine
from attndsl.expr import Binary, Const, Expr, Symbol, product
from attndsl.spec.errors import LayoutTextError

_OPERATOR = re.compile(r"[-+*/%]")
_TOKEN = re.compile(r"\(([^()]*)\)|([^\s()]+)")
UNIT = Const(1)
OF_STORED_ROWS = ("T", "U", "W", "P")
"""Axes of which tensors may have a size of their own: how many rows, columns or blocks one has place for."""
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Axis:
    """One factor of a dimension: its extent and, where it has one, its role in the attention.

    ``broadcast``: extent 1 here whatever the extent of the role. ``own``: the extent is one of several whose
    largest the role has, as of caches with capacities of their own.
    """

    extent: Expr
    role: str | None = None
    broadcast: bool = False
    own: bool = False


@dataclass(frozen=True)
class Layout:
    """A C-contiguous arrangement of axes.

    ``key`` names the alternative; ``dims`` are the dimensions, outermost first, each the product of
    its axes; ``roles`` are the canonical axes of the tensor, in the order of its views; ``when`` is the
    condition under which this alternative is meant, None for always.
    """

    key: str
    text: str
    dims: tuple[tuple[Axis, ...], ...]
    roles: tuple[str, ...]
    when: Expr | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    def shape(self) -> tuple[Expr, ...]:
        """The extents of the dimensions."""
        return self._shape

    def strides(self) -> dict[str, Expr]:
        """Elements between neighbours along each canonical axis; 0 where the tensor is broadcast."""
        found: dict[str, Expr] = {role: Const(0) for role in self.roles}
        step: Expr = UNIT
        for axis in reversed(self._axes):
            if axis.role is not None and not axis.broadcast:
                found[axis.role] = step
            step = axis.extent * step
        return found

    def view(self, array: Array, env: Mapping[str, Any], extents: Mapping[str, int]) -> Array:
        """``array`` seen with the canonical axes, without a copy; ``extents``: size of each role."""
        sizes = [int(axis.extent.evaluate(env)) for axis in self._axes]
        split = array.reshape(sizes)
        kept = [i for i, axis in enumerate(self._axes) if axis.role is not None]
        dropped = tuple(i for i, axis in enumerate(self._axes) if axis.role is None)
        split = split.squeeze(axis=dropped) if dropped else split
        present = [self._axes[i].role for i in kept]
        ordered = split.transpose([present.index(role) for role in self.roles if role in present])
        for position, role in enumerate(self.roles):
            if role not in present:
                ordered = np.expand_dims(ordered, position)
        own = {role: int(extent.evaluate(env)) for role, extent in self.own_extents.items()}
        shape = tuple(own.get(role, extents[role]) for role in self.roles)
        return ordered if ordered.shape == shape else np.broadcast_to(ordered, shape)

    def restore(self, values: Array, env: Mapping[str, Any]) -> Array:
        """The inverse of :meth:`view` for an unbroadcast tensor: canonical axes to a contiguous array."""
        present = [axis.role for axis in self._axes if axis.role is not None]
        absent = [position for position, role in enumerate(self.roles) if role not in present]
        ordered = values.transpose([*(self.roles.index(role) for role in present), *absent])
        return np.ascontiguousarray(ordered).reshape([int(size.evaluate(env)) for size in self.shape()])

    @cached_property
    def own_extents(self) -> dict[str, Expr]:
        """The extents by role that are others than those of the role in all tensors."""
        return {axis.role: axis.extent for axis in self._axes if axis.own and axis.role is not None}

    @cached_property
    def _shape(self) -> tuple[Expr, ...]:
        return tuple(product([axis.extent for axis in dim]) for dim in self.dims)

    @cached_property
    def _axes(self) -> tuple[Axis, ...]:
        return tuple(axis for dim in self.dims for axis in dim)


def parse_layout(
    text: str,
    roles: tuple[str, ...] | None,
    extents: dict[str, Expr],
    *,
    key: str = "",
    when: Expr | None = None,
    where: SourceLine = UNKNOWN_LINE,
) -> Layout:
    """Read a layout text.

    Args:
        text: dimensions separated by blanks; parentheses merge axes; numbers are fixed extents.
        roles: canonical axes of the tensor; None where its dimensions have no role.
        extents: size of each role in the operator.
        key: name of this alternative.
        when: condition for this alternative.
        where: the author's line, for messages.

    Raises:
        LayoutTextError: unbalanced parentheses, or a role that no axis of the text can carry.
    """
    if re.sub(r"\([^()]*\)|[^\s()]+|\s", "", text):
        raise LayoutTextError(f"layout '{text}' has unbalanced or nested parentheses", where)
    check_extents(text, where)
    groups = [
        (m.group(1) or "").split() if m.group(2) is None else [m.group(2)] for m in _TOKEN.finditer(text)
    ]
    free = list(roles or ())
    dims: list[list[Axis]] = [[_take_role(token, free, extents) for token in group] for group in groups]
    for role in list(free):  # what is left can only be an axis of extent 1, or absent (broadcast)
        spot = next(
            ((d, a) for d, dim in enumerate(dims) for a, axis in enumerate(dim) if _is_open(axis)), None
        )
        if spot is not None:
            dims[spot[0]][spot[1]] = Axis(UNIT, role, broadcast=not _is_one(extents[role]))
            free.remove(role)
    unnamed = [
        str(a.extent) for dim in dims for a in dim if a.role is None and not isinstance(a.extent, Const)
    ]
    if unnamed and roles is not None:
        raise LayoutTextError(
            f"layout '{text}': '{unnamed[0]}' is none of the axes {' '.join(roles)} of this tensor;"
            f" {_instead(unnamed, groups, free, extents, roles)}",
            where,
        )
    return Layout(key, text, tuple(tuple(dim) for dim in dims), roles or (), when)


def _instead(
    unnamed: list[str],
    groups: list[list[str]],
    free: list[str],
    extents: Mapping[str, Expr],
    roles: tuple[str, ...],
) -> str:
    """How a layout is written that has sizes of none of the axes."""
    return (
        _apart(unnamed[0], extents)
        or _as_one_size(groups, unnamed, free, extents)
        or _of_all_tensors(unnamed[0], free, extents, roles)
    )


def _apart(token: str, extents: Mapping[str, Expr]) -> str:
    """How sizes are written that stand together; empty if they are others."""
    sizes = {str(extent) for extent in extents.values() if isinstance(extent, Symbol)}
    parts = [part for part in re.split(r"[,;*x]", token) if part] if not token.isalnum() else [*token]
    return f'part sizes by blanks, "{" ".join(parts)}"' if len(parts) > 1 and set(parts) <= sizes else ""


def _as_one_size(
    groups: list[list[str]], unnamed: list[str], free: list[str], extents: Mapping[str, Expr]
) -> str:
    """How sizes in parentheses are written that are one axis together; empty of others."""
    group = next((each for each in groups if len(each) > 1 and {*each} == {*unnamed}), None)
    role = next((each for each in free if not isinstance(extents[each], Const)), None)
    if group is None or role is None:
        return ""
    told = f"({' '.join(group)})"
    return (
        f'axis {role} is one size: declare M = op.dim("M"), write M for {told} and op.axes({role}=M); '
        f"{' and '.join(group)} may be parameters, as the size of a block is"
    )


def _of_all_tensors(token: str, free: list[str], extents: Mapping[str, Expr], roles: tuple[str, ...]) -> str:
    """How a size is written that none of the axes has; ``free``: the axes that no size of the layout has, of
    all ``roles``."""
    role = next((each for each in free if not isinstance(extents[each], Const)), None)
    if role is None:
        return "give its role with axes=, or declare it with op.axes"
    size, sentence = extents[role], f"axis {role} has the size {extents[role]} in all tensors: "
    if role == "T" and {"D", "E"} & {*roles}:
        further = f"op.axes(T=maximum({size}, {token})) where caches have place for different numbers of rows"
        return f"{sentence}write {f'{size} for {token}, or ' if isinstance(size, Symbol) else ''}{further}"
    if role == "P":
        pools = [str(each) for each in (*(largest_of(size) or (size,)), token)]
        return (
            f"{sentence}write {' or '.join(pools[:-1])} for {token}, of one pool for all tables, or "
            f"op.axes(P={_nested(pools)}) of several pools"
        )
    if not isinstance(size, Symbol):
        return f"{sentence}write op.axes({role}={token}) and op.require({size} == {token}, text)"
    if role == "D":
        return (
            f"{sentence}write {size} for {token}; channels in parts, as rotary ones, are one tensor: "
            "join them in the caller, a rotary key of all heads once for each head; latent rows that all "
            "heads share (MLA, absorbed) have one key/value head: specs/variants/mla_decode.py"
        )
    return f"{sentence}write {size} for {token}"


def _nested(sizes: list[str]) -> str:
    """The largest of sizes, as it is written."""
    return sizes[0] if len(sizes) == 1 else f"maximum({sizes[0]}, {_nested(sizes[1:])})"


def token_extent(token: str) -> Expr:
    """A layout token as an extent: a number or the symbol of that name."""
    return Const(int(token)) if token.isdigit() else Symbol(token)


def same_axes(one: Layout, other: Layout) -> bool:
    """Whether two layouts store rows of the same axes, in whatever order: strides alone tell them apart."""
    return one.strides().keys() == other.strides().keys()


def layout_tokens(text: str) -> list[str]:
    """All axis names and numbers in a layout text."""
    return text.replace("(", " ").replace(")", " ").split()


def check_extents(text: str, where: SourceLine) -> None:
    """A layout names sizes; what is computed of them has a name, too.

    Raises:
        LayoutTextError: it has an operator.
    """
    found = next((token for token in layout_tokens(text) if _OPERATOR.search(token)), None)
    if found is not None:
        raise LayoutTextError(
            f"layout '{text}' has the operator '{found}', and a layout is names of sizes and whole numbers: "
            'give the extent a size of its own, as A = op.dim("A"), and state it, as in '
            'op.require(A == B + 1, "must be B + 1")',
            where,
        )


def _take_role(token: str, free: list[str], extents: dict[str, Expr]) -> Axis:
    extent = token_extent(token)
    if not _is_one(extent):
        for role in free:
            if extents[role].same(extent):
                free.remove(role)
                return Axis(extent, role)
        for role in free:
            if role in OF_STORED_ROWS and any(extent.same(each) for each in largest_of(extents[role])):
                free.remove(role)
                return Axis(extent, role, own=True)
    return Axis(extent)


def largest_of(extent: Expr) -> tuple[Expr, ...]:
    """The sizes whose largest an extent is; none of another extent."""
    if not isinstance(extent, Binary) or extent.op != "max":
        return ()
    sides = ((side, largest_of(side)) for side in (extent.left, extent.right))
    return tuple(each for side, found in sides for each in (found or (side,)))


def _is_open(axis: Axis) -> bool:
    return axis.role is None and _is_one(axis.extent)


def _is_one(extent: Expr) -> bool:
    return isinstance(extent, Const) and extent.value == 1
