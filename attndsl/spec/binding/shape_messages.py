"""What a call is told whose tensor has a shape that no layout takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attndsl.expr import Const, Expr
from attndsl.spec import errors
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.contract.layout import Array, Layout
from attndsl.spec.contract.wording import alternatives, fact


@dataclass(frozen=True)
class Mismatch:
    """A dimension that contradicts its layout; ``divides``: the known factor ``expected`` that does not
    divide it.

    ``others``: how many further dimensions contradict it too.
    """

    dim: int
    size: int
    expected: Expr
    legal: int | None
    divides: int | None = None
    others: int = 0


@dataclass(frozen=True)
class ShapeMessages:
    """The errors of one operator.

    ``known``: parameters and presence; ``dims`` and ``origin``: the sizes known by now, and what showed them.
    """

    operator: str
    known: Mapping[str, Any]
    dims: Mapping[str, int]
    origin: Mapping[str, str]

    def wrong_rank(self, spec: TensorSpec, candidates: Sequence[Layout], array: Array) -> Exception:
        """Another number of dimensions than any layout has."""
        error = spec.shape_error or errors.RankError
        count = f"{array.ndim} dimension{'s' * (array.ndim != 1)}"
        return error(
            f"{self.operator}: {spec.name}: shape {list(array.shape)} has {count};"
            f" it must be {_shapes(candidates)}{situation(candidates, self.known)}"
        )

    def wrong_size(
        self, spec: TensorSpec, attempts: Sequence[tuple[Layout, Mismatch]], array: Array
    ) -> Exception:
        """A dimension of another size; ``attempts``: the layouts that come equally close."""
        layouts, dim, size = [layout for layout, _ in attempts], attempts[-1][1].dim, attempts[-1][1].size
        here = [found for _, found in attempts if found.dim == dim and found.divides is None]
        legal = alternatives(list(dict.fromkeys(_legal(found) for found in here)))
        sources = self._sources(*(found.expected for found in here))
        error = spec.shape_error or errors.ShapeError
        return error(
            f"{self.operator}: {spec.name}: shape {list(array.shape)} should be {_shapes(layouts)}:"
            f" dimension {dim} is {size}, must be {'at least ' * spec.at_least}{legal}"
            f"{f' ({sources})' if sources else ''}{situation(layouts, self.known)}"
        )

    def wrong_count(self, spec: TensorSpec, extent: Expr, rows: int, array: Array) -> Exception:
        """A list of lengths with another number of entries, or of more than one dimension."""
        wanted = _legal(Mismatch(0, array.size, extent, rows))
        many = "entry" if wanted == "1" else "entries"
        sources = self._sources(extent)
        return errors.LengthCountError(
            f"{self.operator}: {spec.name}: must have {'1 or ' * spec.one_for_all}{wanted} {many} in"
            f" one dimension{f' ({sources})' if sources else ''}, got shape {list(array.shape)}"
        )

    def indivisible(self, spec: TensorSpec, layout: Layout, found: Mismatch) -> Exception:
        """Merged axes whose product is no multiple of the factors that are known."""
        size, step = found.size, found.divides or 1
        below = size - size % step if step > 0 else 0
        legal = sorted({max(below, step), below + step})
        many, sources = len(legal) > 1, self._sources(found.expected)
        because = f" ({sources})" if sources else ""
        return errors.DivisibilityError(
            f"{self.operator}: {spec.name}: dimension {found.dim} is {size}, which is no multiple of"
            f" {_legal(replace(found, legal=step))} in {_shapes([layout])}{because};"
            f" the nearest legal size{'s are' if many else ' is'} {' and '.join(map(str, legal))}"
        )

    def _sources(self, *expected: Expr) -> str:
        names = sorted({name for each in expected for name in each.symbols() if name in self.dims})
        return "; ".join(f"{name} = {self.dims[name]} from {self.origin[name]}" for name in names)


def situation(candidates: Sequence[Layout], env: Mapping[str, Any]) -> str:
    """Why these layouts and no others, as the end of a message: what the call says of their conditions."""
    names = {name for layout in candidates if layout.when is not None for name in layout.when.symbols()}
    facts = [fact(name, env[name]) for name in sorted(names) if name in env]
    return f", as {' and '.join(facts)}" if facts else ""


def _legal(found: Mismatch) -> str:
    constant = isinstance(found.expected, Const)
    return str(found.legal) if constant else f"{found.expected} = {found.legal}"


def _shapes(layouts: Sequence[Layout]) -> str:
    texts = [f"({', '.join(str(extent) for extent in layout.shape())})" for layout in layouts]
    return alternatives(list(dict.fromkeys(texts)))
