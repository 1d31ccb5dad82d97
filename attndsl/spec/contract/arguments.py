"""The arguments of an operator as its contract lists them: tensors, scalars, outputs."""

from __future__ import annotations

import builtins
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from attndsl.base.source_location import UNKNOWN_LINE, SourceLine
from attndsl.expr import Compare, Const, Expr, Symbol
from attndsl.spec.contract.layout import Array, Layout


class _Required:
    """The default of a parameter that has none."""

    def __repr__(self) -> str:
        return "<required>"


REQUIRED: Any = _Required()

DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(name)
    for name in (
        "bool",
        "int8",
        "uint8",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float16",
        "float32",
        "float64",
    )
} | {"bfloat16": np.dtype(ml_dtypes.bfloat16)}
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})


def extent_of(name: str, dim: int) -> Symbol:
    """The size of dimension ``dim`` of tensor ``name`` as passed, as a symbol."""
    return Symbol(f"{name}.shape[{dim}]")


@dataclass(frozen=True)
class TensorSpec:
    """A tensor argument.

    ``dtypes``: every dtype that it can have; ``dtype_like``: names of the tensors whose dtype is legal for
    it too (then ``dtypes_alone`` are the further ones). ``layouts``: alternatives by key (``""`` if only
    one); none means that any shape is taken. ``kind``: ``"tensor"``, or ``"lengths"`` (a list, tuple or
    array of integers, bound as int64 of shape (rows,), one entry standing for all rows).
    ``sequence_of``: number of tensors in the tuple or list that is passed, 0 for a bare tensor.
    ``list_of``: the size that is the number of tensors in a list; its axis is then the first of ``axes``
    and ``layouts`` are those of one tensor. ``one_for_all``: of lengths, that a single entry may stand for
    all rows. ``indexed``: elements are read by index alone, so that the sizes have no roles.
    ``prefix_sums``: of lengths, that they are the ends of rows. ``arrays``: of these, that an array may
    hold them. ``at_least``: larger tensors are taken too, what exceeds the layout is not looked at.
    ``by_name``: calls should name it. ``split``: a list of one tensor a batch row, each with rows of its own,
    may stand for it.
    """

    name: str
    dtypes: tuple[str, ...]
    layouts: Mapping[str, Layout]
    optional: bool = False
    kind: str = "tensor"
    axes: tuple[str, ...] = ()
    dtypes_alone: tuple[str, ...] = ()
    dtype_like: tuple[str, ...] = ()
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

    @property
    def free_layouts(self) -> list[str]:
        """The keys of the layouts that no other choice decides."""
        return [key for key, layout in self.layouts.items() if layout.when is None]

    @property
    def required(self) -> bool:
        """Whether every call must pass it."""
        return not self.optional

    @property
    def follows(self) -> bool:
        """Whether it always has the dtype of one other tensor."""
        return len(self.dtype_like) == 1 and not self.dtypes_alone

    def legal_dtypes(self, of: Mapping[str, str | None]) -> set[str]:
        """Its dtypes in a call, where ``of`` has those of the tensors that are passed, by name."""
        followed = {found for name in self.dtype_like if (found := of.get(name)) is not None}
        return {*self.dtypes_alone, *(followed or self.dtypes)}


@dataclass(frozen=True)
class ParamSpec:
    """A scalar argument: ``type`` int, float, str, bool or bytes, with its range or its choices.

    ``choices`` maps each legal spelling to the value that is bound; ``alias`` is a second name;
    ``takes_int`` and ``finite``: of a float, that an int stands for it, that it is no NaN or infinity.
    """

    name: str
    type: builtins.type
    default: Any = REQUIRED
    choices: Mapping[Any, Any] = field(default_factory=dict)
    gt: Any = None
    ge: Any = None
    lt: Any = None
    le: Any = None
    error: builtins.type[Exception] | None = None
    meaning: str = ""
    keyword_only: bool = False
    where: SourceLine = UNKNOWN_LINE
    alias: str = ""
    takes_int: bool = False
    finite: bool = False

    @property
    def optional(self) -> bool:
        """Whether a call may leave it out."""
        return self.default is not REQUIRED

    def bounds(self) -> tuple[Compare, ...]:
        """The range as comparisons over the parameter's symbol."""
        value = Symbol(self.name)
        limits = ((">", self.gt), (">=", self.ge), ("<", self.lt), ("<=", self.le))
        return tuple(Compare(op, value, Const(limit)) for op, limit in limits if limit is not None)

    def nearest(self, bound: Compare) -> str:
        """Advice for a value that one of its bounds excludes; of an exclusive bound on a float, which has no
        nearest value worth writing, none."""
        limit, exclusive = bound.right.evaluate({}), bound.op in "<>"
        if self.type is not int:
            return "" if exclusive else f"; the nearest legal value is {self.type(limit)}"
        down = bound.op.startswith("<")
        inside = math.floor(limit) if down else math.ceil(limit)
        step = (-1 if down else 1) if exclusive and inside == limit else 0
        return f"; the nearest legal value is {inside + step}"


@dataclass(frozen=True)
class OutputSpec:
    """A result. ``like``: the input whose dtype and layout it takes; ``layouts``: by that input's key.

    ``dtype``: its own dtype, if not that input's.

    ``quantized``: the dtypes that replace the input's where a quantization is in use.
    """

    name: str
    like: str
    layouts: Mapping[str, Layout]
    axes: tuple[str, ...]
    dtype: str = ""
    quantized: tuple[str, ...] = ()
    where: SourceLine = UNKNOWN_LINE

    def layout(self, key: str) -> Layout:
        """The layout that goes with the input's layout ``key``."""
        return self.layouts[key] if key in self.layouts else next(iter(self.layouts.values()))


@dataclass(frozen=True)
class Dim:
    """A symbolic size. ``definition``: its value where a call does not show it in a shape."""

    name: str
    definition: Expr | None = None
    default: Expr | None = None

    @property
    def symbol(self) -> Symbol:
        """The symbol of expressions."""
        return Symbol(self.name)


def dtype_name(array: Array) -> str:
    """``"bfloat16"`` and the like, or NumPy's own name for dtypes that we do not know."""
    return str(array.dtype.name)
