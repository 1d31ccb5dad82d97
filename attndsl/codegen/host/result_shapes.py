"""Shapes of results from shapes that hold symbols or unknown sizes, as data for their template."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.codegen.host.checks import tensor_of
from attndsl.codegen.host.host_expr import HostExpr
from attndsl.codegen.names.arguments import Argument, Names, literal
from attndsl.codegen.names.identifiers import string
from attndsl.expr import Const, Expr, Load, Symbol
from attndsl.expr.argument_facts import LONGEST, kind_of
from attndsl.expr.reductions import Fold
from attndsl.spec.contract.layout import Axis, Layout
from attndsl.spec.contract.split import BATCH, batch_extent, one_row


@dataclass(frozen=True, slots=True)
class KnownSize:
    """A size that is an expression of parameters and of the sizes ``needs``, names as literals."""

    name: str
    value: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasuredArgument:
    """An argument whose shape is read, and its layouts.

    ``entries``: the member of the call with its tensors, if it is a list; ``single``: the layouts of each of
    several tensors in it, whose number is the size ``batch``.
    """

    name: str
    member: str
    layouts: tuple[str, ...]
    entries: str = ""
    single: tuple[str, ...] = ()
    batch: str = ""


@dataclass(frozen=True, slots=True)
class ResultDims:
    """The dimensions of a result by the layout of the argument that it follows."""

    like: str
    layouts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class ShapesText:
    """Everything the template prints; ``tensors``, ``lists`` and ``integers`` are members of the call."""

    names: Names
    defined: tuple[KnownSize, ...]
    measured: tuple[MeasuredArgument, ...]
    defaults: tuple[KnownSize, ...]
    results: tuple[ResultDims, ...]
    tensors: tuple[str, ...]
    lists: tuple[str, ...]
    integers: tuple[str, ...]


def shapes_text(names: Names) -> ShapesText:
    """The arguments that the shapes of an operator's results are read from, and how."""
    operator = names.operator
    chosen = _measured(names)
    layouts = [layout for item in chosen for layout in _layouts(item)]
    layouts += [layout for output in operator.outputs for layout in output.layouts.values()]
    sizes = {name for layout in layouts for name in _symbols(layout)}
    plain = [item for item in names.tensors if not item.listed]
    return ShapesText(
        names=names,
        defined=tuple(_defined(names, sizes)),
        measured=tuple(_read(names, item) for item in chosen),
        defaults=tuple(_defaults(names, sizes)),
        results=tuple(_results(names)),
        tensors=tuple(item.name for item in plain if not item.on_host),
        lists=tuple(item.entries for item in names.tensors if item.listed),
        integers=tuple(item.name for item in plain if item.on_host),
    )


class _Solved(HostExpr):
    """Expressions whose sizes are those that the solver has found."""

    def __init__(self, names: Names) -> None:
        super().__init__(names)
        self._sizes = names.operator.dims_by_name

    def symbol(self, name: str) -> str:
        """A size, or a symbol's place in the call."""
        return f"solver[{string(name)}]" if name in self._sizes else super().symbol(name)


def _defined(names: Names, sizes: set[str]) -> Iterator[KnownSize]:
    for item in names.params:
        if item.spec.name in sizes:
            yield KnownSize(string(item.spec.name), f"call.{item.name}")
    for name, dim in names.operator.dims_by_name.items():
        if name in sizes and dim.definition is not None and not _reads(dim.definition):
            yield KnownSize(string(name), _Solved(names).text(dim.definition))


def _defaults(names: Names, sizes: set[str]) -> Iterator[KnownSize]:
    dims = names.operator.dims_by_name
    for name, dim in dims.items():
        if name in sizes and dim.default is not None and not _reads(dim.default):
            needs = tuple(string(each) for each in sorted(dim.default.symbols() & set(dims)))
            yield KnownSize(string(name), _Solved(names).text(dim.default), needs)


def _reads(expr: Expr) -> bool:
    """Whether a size depends on elements, which may not be there."""
    folds = any(isinstance(node, Load | Fold) for node in expr.walk())
    return folds or any(kind_of(name) == LONGEST for name in expr.symbols())


def _layouts(item: Argument) -> tuple[Layout, ...]:
    return tuple(tensor_of(item).layouts.values())


def _factors(dim: tuple[Axis, ...]) -> set[str]:
    return {axis.extent.name for axis in dim if isinstance(axis.extent, Symbol)}


def _symbols(layout: Layout) -> set[str]:
    return {name for dim in layout.dims for name in _factors(dim)}


def _measured(names: Names) -> list[Argument]:
    """What results follow; then, in the contract's order, whatever tells the sizes that those do not show."""
    operator = names.operator
    first = [names.argument(name) for name in dict.fromkeys(output.like for output in operator.outputs)]
    wanted: set[str] = set()
    for output in operator.outputs:
        for key, layout in operator.tensor(output.like).layouts.items():
            wanted |= _symbols(output.layout(key)) - _symbols(layout)
    exact = [item for item in names.tensors if not item.on_host and not tensor_of(item).at_least]
    chosen: list[Argument] = []
    while True:
        grown = wanted | _beside(names, wanted, chosen)
        found = [item for item in exact if any(_symbols(layout) & grown for layout in _layouts(item))]
        if (grown, found) == (wanted, chosen):
            return first + [item for item in chosen if item not in first]
        wanted, chosen = grown, found


def _beside(names: Names, wanted: set[str], chosen: list[Argument]) -> set[str]:
    """What has to be known to tell the sizes that are wanted; what parameters tell is known."""
    dims = names.operator.dims_by_name
    found: set[str] = set()
    for name in wanted & set(dims):
        for expr in (dims[name].definition, dims[name].default):
            found |= expr.symbols() if expr is not None and not _reads(expr) else set()
    for item in chosen:
        for layout in _layouts(item):
            found |= {name for dim in layout.dims if _factors(dim) & wanted for name in _factors(dim)}
    return {name for name in found if name in dims and dims[name].definition is None}


def _read(names: Names, item: Argument) -> MeasuredArgument:
    spec, whole = tensor_of(item), _layouts(item)
    rows = [_printed(names, layout) for layout in whole]
    name, entries = string(spec.name), item.entries if item.listed else ""
    if not spec.split:
        return MeasuredArgument(name, item.name, tuple(rows), entries)
    batched = [layout for layout in whole if BATCH in layout.roles]
    single = tuple(_printed(names, one_row(layout)) for layout in batched)
    batch = string(batch_extent(batched[0]).name)
    return MeasuredArgument(name, item.name, tuple(rows), entries, single, batch)


def _printed(names: Names, layout: Layout) -> str:
    applies = "true" if layout.when is None else HostExpr(names).text(layout.when)
    return f"{{{applies}, {string(layout.key)}, {_dims(layout)}}}"


def _dims(layout: Layout) -> str:
    dims = (f"{{{', '.join(_factor(axis.extent) for axis in dim)}}}" for dim in layout.dims)
    return f"{{{', '.join(dims)}}}"


def _factor(extent: object) -> str:
    if isinstance(extent, Const):
        return literal(extent.value)
    assert isinstance(extent, Symbol)
    return string(extent.name)


def _results(names: Names) -> Iterator[ResultDims]:
    operator = names.operator
    for output in operator.outputs:
        like = operator.tensor(output.like)
        rows = tuple((string(key), _dims(output.layout(key))) for key in like.layouts)
        yield ResultDims(string(output.like), rows)
