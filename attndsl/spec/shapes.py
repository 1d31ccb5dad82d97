"""Sizes from shapes: each passed tensor's dimensions are matched against its layouts.

A dimension with one unknown factor defines it; one without any is checked. What a parameter defines
(``op.let``) is known from the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attndsl.spec import errors
from attndsl.spec.arguments import TensorSpec
from attndsl.spec.layout import Array, Layout
from attndsl.spec.lists import check_same_shape
from attndsl.symbolic import Const, Expr, Symbol

if TYPE_CHECKING:
    from attndsl.spec.operator import Operator


@dataclass(frozen=True)
class Mismatch:
    """A dimension that contradicts its layout; ``divides``: the known factor that does not divide it."""

    dim: int
    size: int
    expected: Expr
    legal: int | None
    divides: int | None = None


class ShapeSolver:
    """Solves for the sizes of one call. After :meth:`solve`, ``dims`` holds all of them."""

    def __init__(self, operator: Operator, known: Mapping[str, Any]) -> None:
        self.operator = operator
        self.known = dict(known)
        self.dims: dict[str, int] = {}
        self.origin: dict[str, str] = {}
        for name, dim in operator.dims_by_name.items():
            if dim.definition is not None:
                self.dims[name] = int(dim.definition.evaluate(self.known))
                self.origin[name] = ", ".join(sorted(dim.definition.symbols()))

    def env(self) -> dict[str, Any]:
        """All that is known by now."""
        return {**self.known, **self.dims}

    def solve(
        self, arrays: Mapping[str, Array], lists: Mapping[str, tuple[Array, ...]] | None = None
    ) -> dict[str, str]:
        """The key of the layout of each tensor, and of those of each list.

        Raises:
            RankError, ShapeError: or the class that the spec gives for the tensor.
            DivisibilityError: a merged dimension is no multiple of its known factor.
        """
        chosen: dict[str, str] = {}
        indivisible: tuple[TensorSpec, Layout, Mismatch] | None = None
        for spec in self.operator.tensors:
            if spec.layouts and lists and spec.name in lists:
                layout, mismatch = self._choose_for_list(spec, lists[spec.name])
            elif spec.layouts and spec.name in arrays:
                layout, mismatch = self._choose(spec, arrays[spec.name])
            else:
                continue
            chosen[spec.name] = layout.key
            if mismatch is not None:
                indivisible = indivisible or (spec, layout, mismatch)
        if indivisible is not None:
            self._raise_indivisible(*indivisible)
        self._defaults()
        return chosen

    def _choose(self, spec: TensorSpec, array: Array) -> tuple[Layout, Mismatch | None]:
        candidates = self._candidates(spec)
        same_rank = [layout for layout in candidates if layout.rank == array.ndim]
        if spec.kind == "lengths" and not (array.ndim > 1 and same_rank):
            self._check_lengths(spec, candidates[0], array)
            return candidates[0], None
        if not same_rank:
            self._raise_rank(spec, candidates, array)
        shape = self.cropped(spec.name, array).shape
        attempts = [(layout, *self._match(layout, shape)) for layout in same_rank]
        layout, solved, mismatch = next((a for a in attempts if a[2] is None), attempts[-1])
        if mismatch is not None and mismatch.divides is None:
            self._raise_shape(spec, layout, mismatch, array)
        for name, size in solved.items():
            self.dims[name] = size
            self.origin[name] = spec.name
        return layout, mismatch

    def cropped(self, name: str, array: Array) -> Array:
        """``array`` without what exceeds its layout, where its tensor may be larger than that."""
        spec = self.operator.tensor(name.partition("[")[0])
        layout = next((each for each in spec.layouts.values() if each.rank == array.ndim), None)
        if not spec.at_least or layout is None:
            return array
        return array[tuple(slice(int(size.evaluate(self.env()))) for size in layout.shape())]

    def _choose_for_list(
        self, spec: TensorSpec, entries: tuple[Array, ...]
    ) -> tuple[Layout, Mismatch | None]:
        """The layout of the entries; their number is, or defines, the size that the spec names."""
        count = spec.list_of
        if isinstance(count, Symbol) and count.name not in self.env():
            self.dims[count.name], self.origin[count.name] = len(entries), spec.name
        elif count is not None and len(entries) != count.evaluate(self.env()):
            wanted = count.evaluate(self.env())
            origin = self.origin.get(str(count), "the call")
            raise errors.SequenceLengthError(
                f"{self.operator.name}: {spec.name}: must hold {count} = {wanted} tensors ({count} from"
                f" {origin}), got {len(entries)}"
            )
        if not entries:
            return self._candidates(spec)[0], None
        found = self._choose(replace(spec, name=f"{spec.name}[0]"), entries[0])
        check_same_shape(self.operator.name, spec, entries)
        return found

    def _candidates(self, spec: TensorSpec) -> list[Layout]:
        env = self.env()
        found = [item for item in spec.layouts.values() if item.when is None or item.when.evaluate(env)]
        if not found:
            conditions = "; ".join(f"'{item.text}' when {item.when}" for item in spec.layouts.values())
            raise errors.ShapeError(f"{self.operator.name}: {spec.name}: no layout applies: {conditions}")
        return found

    def _match(self, layout: Layout, shape: tuple[int, ...]) -> tuple[dict[str, int], Mismatch | None]:
        """The sizes that ``shape`` adds, and the first contradiction; indivisible ones come last."""
        solved: dict[str, int] = {}
        indivisible: Mismatch | None = None
        for position, (dim, size) in enumerate(zip(layout.dims, shape, strict=True)):
            factors = [axis.extent for axis in dim]
            unknown = [f for f in factors if not self._value_known(f, solved)]
            known = 1
            for factor in factors:
                if not any(factor is other for other in unknown):
                    known *= int(factor.evaluate({**self.env(), **solved}))
            expected = layout.shape()[position]
            if not unknown:
                if size != known:
                    return solved, Mismatch(position, size, expected, known)
            elif len(unknown) == 1 and isinstance(unknown[0], Symbol):
                if known <= 0 or size % known:
                    indivisible = indivisible or Mismatch(position, size, expected, None, known)
                else:
                    solved[unknown[0].name] = size // known
        return solved, indivisible

    def _value_known(self, factor: Expr, solved: Mapping[str, int]) -> bool:
        return isinstance(factor, Const) or factor.symbols() <= set(self.env()) | set(solved)

    def _check_lengths(self, spec: TensorSpec, layout: Layout, array: Array) -> None:
        extent = layout.shape()[0]
        if isinstance(extent, Symbol) and extent.name not in self.env() and array.ndim == 1:
            self.dims[extent.name], self.origin[extent.name] = array.size, spec.name
        rows = int(extent.evaluate(self.env())) if extent.symbols() <= set(self.env()) else array.size
        legal = (1, rows) if spec.one_for_all else (rows,)
        if array.ndim > 1 or array.size not in legal or (array.ndim == 0 and not spec.one_for_all):
            wanted = f"{'1 or ' if spec.one_for_all else ''}{extent} = {rows}"
            raise errors.LengthCountError(
                f"{self.operator.name}: {spec.name}: must have {wanted} entries in"
                f" one dimension, got shape {list(array.shape)}"
            )

    def _defaults(self) -> None:
        for name, dim in self.operator.dims_by_name.items():
            if name not in self.dims and dim.default is not None and dim.default.symbols() <= set(self.env()):
                self.dims[name] = int(dim.default.evaluate(self.env()))
                self.origin[name] = "default"
        missing = [name for name in self.operator.dims_by_name if name not in self.dims]
        if missing:
            raise errors.MissingInputError(
                f"{self.operator.name}: no tensor that is passed shows the size {missing[0]}"
            )

    def _raise_rank(self, spec: TensorSpec, candidates: list[Layout], array: Array) -> None:
        legal = " or ".join(dict.fromkeys(_shape_text(layout) for layout in candidates))
        error = spec.shape_error or errors.RankError
        raise error(
            f"{self.operator.name}: {spec.name}: shape {list(array.shape)} has {array.ndim} dimensions;"
            f" it must be {legal}{self._situation(candidates)}"
        )

    def _raise_shape(self, spec: TensorSpec, layout: Layout, mismatch: Mismatch, array: Array) -> None:
        error = spec.shape_error or errors.ShapeError
        sources = {
            f"{name} = {self.dims[name]} from {self.origin[name]}"
            for name in sorted(mismatch.expected.symbols())
            if name in self.dims
        }
        because = f" ({'; '.join(sorted(sources))})" if sources else ""
        raise error(
            f"{self.operator.name}: {spec.name}: shape {list(array.shape)} should be {_shape_text(layout)}:"
            f" dimension {mismatch.dim} is {mismatch.size}, must be {'at least ' * spec.at_least}"
            f"{mismatch.expected} = {mismatch.legal}"
            f"{because}{self._situation([layout])}"
        )

    def _raise_indivisible(self, spec: TensorSpec, layout: Layout, mismatch: Mismatch) -> None:
        size, step = mismatch.size, mismatch.divides or 1
        known = [
            f"{name} = {self.dims[name]} from {self.origin[name]}"
            for name in sorted(mismatch.expected.symbols())
            if name in self.dims
        ]
        below = size - size % step if step > 0 else 0
        raise errors.DivisibilityError(
            f"{self.operator.name}: {spec.name}: dimension {mismatch.dim} is {size}, which is no multiple of"
            f" {step} in {_shape_text(layout)} ({'; '.join(known)});"
            f" the nearest legal sizes are {max(below, step)} and {below + step}"
        )

    def _situation(self, candidates: list[Layout]) -> str:
        conditions = dict.fromkeys(str(layout.when) for layout in candidates if layout.when is not None)
        return f", as {' or '.join(conditions)}" if conditions else ""


def _shape_text(layout: Layout) -> str:
    return f"({', '.join(str(extent) for extent in layout.shape())})"
