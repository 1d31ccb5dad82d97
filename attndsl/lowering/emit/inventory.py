"""Registry of tiling fields, constants, buffers and workspace of one kernel.

Each has one entry, in the order in which lowering rules first ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from attndsl.base.errors import InternalError
from attndsl.expr import Expr, ExprLike, Named, Symbol, as_expr
from attndsl.expr.reductions import Fold
from attndsl.lowering.emit.field_names import NamesTaken
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.program import (
    BLOCK_INDEX,
    Constant,
    Requirement,
    TilingField,
    tiling_field_ref,
    tiling_scalar,
)


class Inventory:
    """The registry of one program.

    Attributes:
        asked_axes: by tensor the axes along which rules go.
    """

    def __init__(self) -> None:
        self._fields: dict[str, TilingField] = {}
        self._constants: dict[str, Constant] = {}
        self._requirements: list[Requirement] = []
        self._buffers: dict[str, Buffer] = {}
        self._workspace: dict[str, GlobalTensor] = {}
        self._sums: list[Fold] = []
        self._topic = ""
        self.asked_axes: dict[str, set[str]] = {}

    @property
    def fields(self) -> tuple[TilingField, ...]:
        """The tiling fields."""
        return tuple(self._fields.values())

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The compile-time numbers."""
        return tuple(self._constants.values())

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What the statements rely on if a constant is changed."""
        return tuple(self._requirements)

    @property
    def workspace(self) -> tuple[GlobalTensor, ...]:
        """The workspace tensors."""
        return tuple(self._workspace.values())

    def is_field(self, name: str) -> bool:
        """Whether there is a tiling field of that name."""
        return name in self._fields

    @contextmanager
    def about(self, topic: str) -> Iterator[None]:
        """What the fields that are added meanwhile are about (:attr:`TilingField.topic`)."""
        before, self._topic = self._topic, topic
        try:
            yield
        finally:
            self._topic = before

    def host_number(self, name: str, value: Expr, meaning: str, ctype: str = "int64") -> Symbol:
        """A number, or a truth, that the host computes others from, as their values name it; kernels do not
        see it."""
        made = TilingField(name, ctype, value, meaning, host_only=True, topic=self._topic)
        known = self._fields.setdefault(name, made)
        if not known.value.same(value) or not known.host_only:
            raise NamesTaken(frozenset({name}), f"tiling field {name} is both {known.value} and {value}")
        return tiling_field_ref(name)

    def host_constant(self, name: str, value: int, meaning: str) -> Named:
        """A compile-time number that tiling fields are computed with and that no kernel has."""
        return self.constant(name, value, meaning, host_only=True)

    def field(
        self, name: str, value: Expr, meaning: str, ctype: str = "int64", *, layout: Symbol | None = None
    ) -> Symbol:
        """A number that the host computes, as the kernel sees it. ``layout``: of a stride, what tells it."""
        topic = "strides" if layout is not None else self._topic
        made = TilingField(name, ctype, value, meaning, topic=topic, layout=layout)
        known = self._fields.setdefault(name, made)
        if not known.value.same(value) or known.ctype != ctype or known.host_only:
            raise NamesTaken(frozenset({name}), f"tiling field {name} is both {known.value} and {value}")
        return known.symbol

    def host_value(self, symbol: Expr) -> Expr | None:
        """What the host computes for a number as the kernel sees it; None of what is no field."""
        return next((each.value for each in self._fields.values() if each.symbol.same(symbol)), None)

    def constant(
        self,
        name: str,
        value: int | float | Expr,
        meaning: str,
        option: str = "",
        *,
        host_only: bool = False,
    ) -> Named:
        """A named compile-time number; an expression of other constants is its definition.

        ``option``: the schedule option that it is.
        """
        definition = value if isinstance(value, Expr) else None
        number = value.evaluate({}) if isinstance(value, Expr) else value
        known = self._constants.get(name)
        if known is None:
            known = self._constants[name] = Constant(
                Named(number, name), meaning, definition, option, host_only
            )
        if known.named.value != number:
            raise InternalError(f"constant {name} is both {known.named.value} and {number}")
        return known.named

    def require(self, condition: Expr, meaning: str) -> None:
        """Note a condition on constants that statements rely on; it holds for the constants' own values.

        Raises:
            InternalError: it does not.
        """
        if not condition.evaluate({}):
            raise InternalError(f"{meaning}: {condition} does not hold")
        if not any(known.condition.same(condition) for known in self._requirements):
            self._requirements.append(Requirement(condition, meaning))

    def has_sum(self, wanted: Fold) -> bool:
        """Whether an equal sum is a function of the kernel already."""
        return any(known.computes_like(wanted) for known in self._sums)

    def running_sum(self, wanted: Fold) -> Fold:
        """A sum over what comes before a batch row. Equal sums are one function of the kernel: the first is
        ``RowsBefore``, others have their own names."""
        for known in self._sums:
            if known.computes_like(wanted):
                return replace(wanted, title=known.title)
        made = wanted if self._sums else replace(wanted, title="RowsBefore")
        self._sums.append(made)
        return made

    def buffer(
        self,
        name: str,
        space: MemorySpace,
        dtype: str,
        elements: ExprLike,
        meaning: str = "",
        slots: int = 1,
        *,
        by_step: bool = False,
    ) -> Buffer:
        """An on-chip buffer, unplaced; ``elements``: a number, or an expression of constants alone."""
        size, known = as_expr(elements), self._buffers.get(name)
        if known is None:
            known = Buffer(
                name=name,
                space=space,
                dtype=dtype,
                size=size,
                slots=slots,
                meaning=meaning,
                by_step=by_step,
            )
            self._buffers[name] = known
        elif (known.dtype, known.elements, known.slots) != (dtype, int(size.evaluate({})), slots):
            raise InternalError(f"buffer {name} has two shapes")
        return known

    def tensor(self, name: str, dtype: str, elements: Expr, shared: str, meaning: str) -> GlobalTensor:
        """A workspace tensor.

        Its place are tiling fields that :func:`attndsl.lowering.work_partition.place_workspace` computes.
        """
        offset: Expr = tiling_scalar(f"{name}Offset")
        if shared == "block":
            offset = offset + BLOCK_INDEX * tiling_scalar(f"{name}Part")
        made = GlobalTensor(
            name=name,
            dtype=dtype,
            role="workspace",
            elements=elements,
            offset=offset,
            shared=shared,
            meaning=meaning,
        )
        known = self._workspace.setdefault(name, made)
        if known.dtype != dtype or not known.elements.same(elements):
            raise InternalError(f"workspace tensor {name} has two shapes")
        return known
