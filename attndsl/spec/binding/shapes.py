"""Sizes from shapes: each passed tensor's dimensions are matched against its layouts.

A dimension with one unknown factor defines it; one without any is checked. What a parameter defines
(``op.let``) is known from the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attndsl.expr import Const, Expr, Symbol, product
from attndsl.spec import errors
from attndsl.spec.binding.shape_messages import Mismatch, ShapeMessages, situation
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.contract.contract import Contract
from attndsl.spec.contract.layout import Array, Layout
from attndsl.spec.contract.lists import check_same_shape
from attndsl.spec.contract.split import BATCH, SINGLE, batch_extent, one_row, row_extent, whole_rank


class ShapeSolver:
    """Solves for the sizes of one call. After :meth:`solve`, ``dims`` holds all of them."""

    def __init__(self, operator: Contract, known: Mapping[str, Any]) -> None:
        self.operator = operator
        self.known = dict(known)
        self.dims: dict[str, int] = {}
        self.origin: dict[str, str] = {}
        self.entry_rows: dict[str, tuple[int, ...]] = {}
        self.messages = ShapeMessages(operator.name, self.known, self.dims, self.origin)
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
                choose = self._choose_split if spec.split else self._choose_for_list
                layout, mismatch = choose(spec, lists[spec.name])
            elif spec.layouts and spec.name in arrays:
                layout, mismatch = self._choose(spec, arrays[spec.name])
            else:
                continue
            chosen[spec.name] = layout.key
            if mismatch is not None:
                indivisible = indivisible or (spec, layout, mismatch)
        if indivisible is not None:
            raise self.messages.indivisible(*indivisible)
        self._defaults()
        return chosen

    def _choose(self, spec: TensorSpec, array: Array) -> tuple[Layout, Mismatch | None]:
        candidates = self._candidates(spec)
        same_rank = [layout for layout in candidates if layout.rank == array.ndim]
        if spec.kind == "lengths" and not (array.ndim > 1 and same_rank):
            self._check_lengths(spec, candidates[0], array)
            return candidates[0], None
        if not same_rank:
            raise self.messages.wrong_rank(spec, candidates, array)
        shape = self.cropped(spec.name, array).shape
        attempts = [(layout, *self._match(layout, shape)) for layout in same_rank]
        layout, solved, mismatch = next((a for a in attempts if a[2] is None), attempts[-1])
        if mismatch is not None:
            found = [(each, wrong) for each, _, wrong in attempts if wrong is not None]
            fewest = min(wrong.others for _, wrong in found)
            closest = [(each, wrong) for each, wrong in found if wrong.others == fewest]
            layout, mismatch = closest[-1]
            if mismatch.divides is None:
                self._check_parameters_of(mismatch.expected)
                raise self.messages.wrong_size(spec, closest, array)
        for name, size in solved.items():
            self.dims[name] = size
            self.origin[name] = spec.name
        return layout, mismatch

    def _check_parameters_of(self, expected: Expr) -> None:
        """What parameters demand of a size comes before what its tensors show."""
        env, params = self.env(), {spec.name for spec in self.operator.params}
        for rule in self.operator.constraints:
            stated = rule.condition.symbols() <= params and bool(rule.symbols() & expected.symbols())
            if stated and not (rule.target or rule.tensors()) and rule.symbols() <= env.keys():
                failing = rule.violation(env)
                if failing is not None:
                    rule.raise_for(self.operator.name, failing, self.operator.rules)

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
        assert spec.list_of is not None
        self._count(spec, spec.list_of, len(entries))
        if not entries:
            return self._candidates(spec)[0], None
        found = self._choose(replace(spec, name=f"{spec.name}[0]"), entries[0])
        check_same_shape(self.operator.name, spec, entries)
        return found

    def _choose_split(self, spec: TensorSpec, entries: tuple[Array, ...]) -> tuple[Layout, Mismatch | None]:
        """The layout of the tensor that the list stands for; each entry has rows of its own."""
        name = f"{self.operator.name}: {spec.name}"
        if not entries:
            raise errors.EmptyTensorError(f"{name}: an empty list, pass a tensor a batch row")
        legal = self._candidates(spec)
        whole = [layout for layout in legal if BATCH in layout.roles]
        if not whole:
            raise errors.SequenceLengthError(
                f"{name}: must hold exactly 1 tensor{situation(legal, self.known)}, got {len(entries)}"
            )
        self._count(spec, batch_extent(whole[0]), len(entries), "1 or " * bool(spec.sequence_of))
        rows, before = row_extent(whole[0]).name, self.dims.get(row_extent(whole[0]).name)
        found, worst = [], None
        for position, entry in enumerate(entries):
            self.dims.pop(rows, None)
            one = {layout.key: one_row(layout) for layout in whole}
            alone = replace(spec, name=f"{spec.name}[{position}]", layouts=one)
            layout, mismatch = self._choose(alone, whole_rank(whole[0], entry))
            whole, worst = [spec.layouts[layout.key]], worst or mismatch
            found.append(self.dims.get(rows, 0))
        for size in (axis.extent for dim in whole[0].dims for axis in dim if axis.role in SINGLE):
            if isinstance(size, Symbol) and size.name not in self.env():
                self.dims[size.name], self.origin[size.name] = 1, spec.name
        self._same_rows(spec, tuple(found), rows, before)
        return whole[0], worst

    def _same_rows(self, spec: TensorSpec, found: tuple[int, ...], rows: str, before: int | None) -> None:
        """Keeps the rows of each tensor of a list, which are those of any list before it."""
        for other, counts in self.entry_rows.items() if before is not None else ():
            for position, (count, wanted) in enumerate(zip(found, counts, strict=True)):
                if count != wanted:
                    raise (spec.shape_error or errors.ShapeError)(
                        f"{self.operator.name}: {spec.name}[{position}]: has {count} rows ({rows}),"
                        f" must have {wanted} as {other}[{position}]"
                    )
        self.dims[rows] = max(found)
        self.origin.setdefault(rows, spec.name)
        self.entry_rows[spec.name] = found

    def _count(self, spec: TensorSpec, count: Expr, found: int, others: str = "") -> None:
        """The number of tensors in a list is, or defines, the size ``count``."""
        if isinstance(count, Symbol) and count.name not in self.env():
            self.dims[count.name], self.origin[count.name] = found, spec.name
        elif found != (wanted := count.evaluate(self.env())):
            origin = self.origin.get(str(count), "the call")
            raise errors.SequenceLengthError(
                f"{self.operator.name}: {spec.name}: must hold {others}{count} = {wanted} tensors"
                f" ({count} from {origin}), got {found}"
            )

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
        wrong: list[Mismatch] = []
        indivisible: list[Mismatch] = []
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
                    wrong.append(Mismatch(position, size, expected, known))
            elif len(unknown) == 1 and isinstance(unknown[0], Symbol):
                if known <= 0 or size % known:
                    step = product([each for each in factors if each is not unknown[0]])
                    indivisible.append(Mismatch(position, size, step, None, known))
                else:
                    solved[unknown[0].name] = size // known
        found = wrong + indivisible
        return solved, replace(found[0], others=len(found) - 1) if found else None

    def _value_known(self, factor: Expr, solved: Mapping[str, int]) -> bool:
        return isinstance(factor, Const) or factor.symbols() <= set(self.env()) | set(solved)

    def _check_lengths(self, spec: TensorSpec, layout: Layout, array: Array) -> None:
        extent = layout.shape()[0]
        if isinstance(extent, Symbol) and extent.name not in self.env() and array.ndim == 1:
            self.dims[extent.name], self.origin[extent.name] = array.size, spec.name
        rows = int(extent.evaluate(self.env())) if extent.symbols() <= set(self.env()) else array.size
        legal = (1, rows) if spec.one_for_all else (rows,)
        if array.ndim > 1 or array.size not in legal or (array.ndim == 0 and not spec.one_for_all):
            raise self.messages.wrong_count(spec, extent, rows, array)

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
