"""What the lowering needs from an operator's declaration: kernel arguments, sizes by axis, strides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

from attndsl.folds import Fold
from attndsl.graph.errors import GraphError
from attndsl.graph.graph import Graph
from attndsl.graph.nodes import Dequantize, Input, Node, Scores, WeightedSum, expressions_of, names_read
from attndsl.intervals import Range
from attndsl.schedule.lowerable import Candidate
from attndsl.schedule.pattern import Computation
from attndsl.schedule.windows import parameter_ranges
from attndsl.schedule.words import Words, counted_words, number_of, word_parameters
from attndsl.spec.arguments import DTYPES, TensorSpec, dtype_of, given, layout_of, split_of
from attndsl.spec.call import Call
from attndsl.spec.errors import SpecError
from attndsl.spec.layout import Layout
from attndsl.spec.operator import Operator
from attndsl.spec.settings import first_settings
from attndsl.symbolic import Compare, Const, Expr, Logic, Symbol, select
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.naming import camel

# What the host knows besides dimensions and parameters.
CORES = Symbol("cores")

_BYTES = frozenset({"bool", "int8", "uint8"})
_INTEGERS = ("int64", "int32", "uint32")


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """A tensor's strides in each of its layouts: name -> axis -> elements, in the declared order.

    ``keys``: the names of the layouts. ``shapes``: their dimensions.
    """

    name: str
    strides: tuple[dict[str, Expr], ...]
    keys: tuple[str, ...] = ()
    shapes: tuple[tuple[Expr, ...], ...] = ()

    @property
    def choice(self) -> Symbol:
        """The host scalar that tells which layout a call uses: its index."""
        return layout_choice(self.name)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What the lowering needs to know of an operator besides its graph.

    Attributes:
        bucket, value_bucket: head sizes the kernel is specialised on, multiples of 16.
        present: the tensors that calls pass.
        extents: size of each attention axis, over the operator's own names.
        parameters: global tensors in the kernel's argument order.
        layouts: strides of the tensors by name.
        one_for_all: lengths of which a single entry may stand for all batch rows.
        float_params: parameters that are no integers.
        ranges: between which numbers parameters and sizes lie.
        words: the values of parameters that are words. The host counts them: it knows the number of a word.
        taken_names: names that no tiling field of a size or parameter can have in this kernel.
    """

    name: str
    summary: str
    dtype: str
    bucket: int
    value_bucket: int
    present: frozenset[str]
    extents: Mapping[str, Expr]
    parameters: tuple[GlobalTensor, ...]
    layouts: Mapping[str, TensorLayout]
    one_for_all: frozenset[str]
    float_params: frozenset[str]
    ranges: Mapping[str, Range] = field(default_factory=dict)
    words: Words = field(default_factory=dict)
    taken_names: frozenset[str] = frozenset()

    def settled(self, expr: Expr) -> Expr:
        """``expr`` with dtypes filled in; layouts and words asked for by their index, as hosts know them."""
        return _settled(
            counted_words(expr, self.words), self.layouts, {item.name: item for item in self.parameters}
        )

    @property
    def one_head_size(self) -> bool:
        """Whether values have the head size of keys by declaration."""
        return self.extents["E"].same(self.extents["D"])


def describe_problem(
    operator: Operator,
    dtype: str,
    bucket: int,
    features: frozenset[str],
    value_bucket: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Problem:
    """The operator's part of a lowering, for one specialisation.

    ``settings``: values that the computation depends on; layouts among them exclude those of other axes.
    Lengths are always an argument of the kernel; a call without them passes a null pointer.
    """
    present = kernel_inputs(operator, features)
    graph = operator.graph(present, settings)
    own = {node.name: node.dtype for node in graph.outputs if node.dtype in DTYPES}
    int8 = _stored_int8(graph, dtype)
    tensors = [spec for spec in operator.tensors if spec.name in present]
    layouts = {}
    for spec in tensors:
        legal = legal_layouts(spec, present, settings)
        stored = [measured(spec, layout) for layout in legal] if spec.at_least else legal
        layouts[spec.name] = _tensor_layout(spec.name, stored)
    chosen = settings or {}
    arguments = {
        spec.name: replace(_argument(spec, "int8", chosen), dtype="int8")
        if spec.name in int8 and "int8" in spec.dtypes
        else _argument(spec, dtype, chosen)
        for spec in tensors
    }
    outputs = []
    for output in operator.outputs:
        like = legal_layouts(operator.tensor(output.like), present, settings)
        layouts[output.name] = _tensor_layout(output.name, [output.layout(layout.key) for layout in like])
        outputs.append(GlobalTensor(name=output.name, dtype=own.get(output.name, dtype), role="output"))
    return Problem(
        name=operator.name,
        summary=operator.summary,
        dtype=dtype,
        bucket=bucket,
        value_bucket=bucket if value_bucket is None else value_bucket,
        present=present,
        extents={
            axis: _without_folds(_settled(size, layouts, arguments))
            for axis, size in operator.axis_extents.items()
        },
        parameters=(*arguments.values(), *outputs),
        layouts=layouts,
        one_for_all=frozenset(spec.name for spec in tensors if spec.kind == "lengths" and spec.one_for_all),
        float_params=frozenset(spec.name for spec in operator.params if spec.type is float),
        ranges=parameter_ranges(operator),
        words=word_parameters(operator),
    )


def candidate(
    operator: Operator,
    computation: Computation,
    dtype: str,
    present: frozenset[str],
    settings: Mapping[str, Any] | None = None,
    *,
    head_sizes: tuple[int, int],
) -> Candidate:
    """What the lowerability rules look at."""
    passed = [spec for spec in operator.tensors if spec.name in present]
    layouts = {spec.name: legal_layouts(spec, present, settings) for spec in passed}
    for output in operator.outputs:
        layouts[output.name] = tuple(output.layout(layout.key) for layout in layouts[output.like])
    return Candidate(operator, computation, dtype, layouts, head_sizes)


def kernel_inputs(operator: Operator, features: frozenset[str]) -> frozenset[str]:
    """The tensors that a kernel with these features takes."""
    chosen = features | _choosing_lengths(operator)
    always = (spec.name for spec in operator.tensors if spec.required or spec.kind == "lengths")
    return (frozenset(always) - chosen) | features


@cache
def _choosing_lengths(operator: Operator) -> frozenset[str]:
    """Optional lengths whose presence the computation asks for, so that kernels are specialised on it."""
    asked = {name for expr in expressions_of(operator.roots) for name in expr.symbols()}
    lengths = (spec for spec in operator.tensors if spec.optional and spec.kind == "lengths")
    return frozenset(spec.name for spec in lengths if given(spec.name).name in asked)


@cache
def feature_names(operator: Operator) -> tuple[str, ...]:
    """The optional tensors a kernel can be specialised on, in signature order.

    Tensors that the computation never looks at (reserved arguments) are none.
    """
    read, choosing = names_read(operator.roots), _choosing_lengths(operator)
    optional = (spec for spec in operator.tensors if spec.optional)
    told = (spec.name for spec in optional if spec.kind != "lengths" or spec.name in choosing)
    return tuple(name for name in told if name in read)


Settings = tuple[tuple[str, Any], ...]


@lru_cache(maxsize=4096)
def canonical_settings(operator: Operator, features: frozenset[str], settings: Settings) -> Settings:
    """The settings in which a computation differs from that of the defaults.

    Those that change nothing are left out, so that one kernel serves all calls that compute the same. A
    layout counts as changed where it has other axes than the first, a dtype where the call chooses it.
    """
    present, defaults, chosen = kernel_inputs(operator, features), first_settings(operator), dict(settings)
    wanted = operator.graph(present, chosen).key
    layouts = {layout_of(spec.name).name: spec.layouts for spec in operator.tensors}
    free = {dtype_of(spec.name).name for spec in operator.free_tensors if spec.name in present}
    for name, value in settings:
        default = defaults.get(name)
        if name in free and value is not None:
            continue
        if name in layouts and value in layouts[name] and not _same_axes(layouts[name], value, default):
            continue
        trial = chosen | {name: default}
        try:
            if operator.graph(present, trial).key == wanted:
                chosen = trial
        except (GraphError, SpecError):
            continue  # no call has these settings
    return tuple((name, value) for name, value in chosen.items() if value != defaults.get(name))


def _same_axes(layouts: Mapping[str, Layout], one: Any, other: Any) -> bool:
    return layouts[one].strides().keys() == layouts[other].strides().keys()


def used_inputs(
    operator: Operator, features: frozenset[str], settings: Settings | None = None
) -> frozenset[str]:
    """The tensors that the computation looks at when these features are in use."""
    chosen = None if settings is None else dict(settings)
    return names_read(operator.graph(kernel_inputs(operator, features), chosen).outputs)


def legal_layouts(
    spec: TensorSpec, present: frozenset[str], settings: Mapping[str, Any] | None = None
) -> tuple[Layout, ...]:
    """The layouts that a tensor can have when exactly these tensors are passed.

    Where ``settings`` name its layout, those that have the same axes: one kernel serves them all.
    """
    found = tuple(layout for layout in spec.layouts.values() if _may_apply(layout, present))
    chosen = spec.layouts.get((settings or {}).get(layout_of(spec.name).name, ""))
    if chosen is None:
        return found
    axes = chosen.strides().keys()
    if spec.indexed:
        return (chosen,)
    return tuple(layout for layout in found if layout.strides().keys() == axes) or found


def layout_choice(tensor: str) -> Symbol:
    """The host scalar that holds the index of a tensor's layout."""
    return Symbol(f"{camel(tensor)}Layout")


def length_count(tensor: str) -> Symbol:
    """The host scalar that holds the number of entries of lengths."""
    return Symbol(f"{camel(tensor)}Count")


def stride_value(layout: TensorLayout, axis: str) -> Expr:
    """The stride along an axis in the layout of the call."""
    value: Expr = layout.strides[-1].get(axis, Const(0))
    for index in reversed(range(len(layout.strides) - 1)):
        value = select(layout.choice == index, layout.strides[index].get(axis, Const(0)), value)
    return value


def host_scalars(call: Call, problem: Problem, cores: int) -> dict[str, Any]:
    """Everything the tiling fields of a call are computed from: sizes, parameters, layouts, cores."""
    env: dict[str, Any] = {**call.env(), **call.arrays, CORES.name: cores}
    for spec in call.operator.tensors:
        if spec.kind == "lengths":
            array = call.arrays.get(spec.name)
            env[length_count(spec.name).name] = 0 if array is None else array.size
        if spec.name in call.layouts:
            keys = problem.layouts[spec.name].keys if spec.name in problem.layouts else ()
            chosen = call.layouts[spec.name]
            env[layout_choice(spec.name).name] = keys.index(chosen) if chosen in keys else 0
        if spec.at_least:
            shape = call.arrays[spec.name].shape if spec.name in call.arrays else ()
            for number in range(max(layout.rank for layout in spec.layouts.values())):
                env[dimension(spec.name, number).name] = shape[number] if number < len(shape) else 0
    for output in call.operator.outputs:
        env[layout_choice(output.name).name] = env[layout_choice(output.like).name]
    for name, words in problem.words.items():
        env[name] = number_of(env[name], words)
    for fold in (node for size in call.operator.axis_extents.values() for node in folds_of(size)):
        env[fold_name(fold)] = fold.evaluate(env)
    return env


def folds_of(size: Expr) -> tuple[Fold, ...]:
    """The sums and maxima of lengths that a size depends on: the host of a kernel supplies them."""
    return tuple(node for node in size.walk() if isinstance(node, Fold))


def fold_name(fold: Fold) -> str:
    """The host scalar that holds a sum or a maximum, such as ``maxOfSeqLen``."""
    return fold.function[:1].lower() + fold.function[1:]


def _without_folds(size: Expr) -> Expr:
    return size.mapped(lambda node: Symbol(fold_name(node)) if isinstance(node, Fold) else None)


def measured(spec: TensorSpec, layout: Layout) -> Layout:
    """The layout of a tensor that may be larger than its contract says: its dimensions are those it has."""
    if any(len(dim) != 1 for dim in layout.dims):
        return layout
    dims = tuple(
        (replace(axis, extent=dimension(spec.name, number)),) for number, (axis,) in enumerate(layout.dims)
    )
    return replace(layout, dims=dims)


def dimension(tensor: str, number: int) -> Symbol:
    """The host scalar that holds the size of a dimension of a tensor that is passed."""
    return Symbol(f"{camel(tensor)}Dim{number}")


def _tensor_layout(name: str, layouts: Sequence[Layout]) -> TensorLayout:
    return TensorLayout(
        name,
        tuple(layout.strides() for layout in layouts),
        tuple(layout.key for layout in layouts),
        tuple(tuple(layout.shape()) for layout in layouts),
    )


_ABOUT = re.compile(r"(dtype|layout)\((.+)\)")


def _settled(expr: Expr, layouts: Mapping[str, TensorLayout], arguments: Mapping[str, GlobalTensor]) -> Expr:
    """Comparisons of dtypes are decided, those of layouts become comparisons of their index."""

    def settle(node: Expr) -> Expr:
        known = decided(node)
        if known is not None:
            return known
        children = node.children()
        new = tuple(settle(child) for child in children)
        if any(a is not b for a, b in zip(new, children, strict=True)):
            node = node.with_children(new)
        return _folded(node) if isinstance(node, Logic) else node

    def decided(node: Expr) -> Expr | None:
        if not isinstance(node, Compare) or not isinstance(node.left, Symbol):
            return None
        about = _ABOUT.fullmatch(node.left.name)
        if about is None or not isinstance(node.right, Const):
            return None
        kind, name = about.groups()
        if kind == "dtype":
            equal: Expr = Const(name in arguments and arguments[name].dtype == node.right.value)
        elif name not in layouts or node.right.value not in layouts[name].keys:
            equal = Const(False)
        else:
            found = layouts[name]
            index = found.keys.index(str(node.right.value))
            equal = Const(True) if len(found.keys) == 1 else found.choice == index
        if node.op == "==":
            return equal
        return Const(not equal.value) if isinstance(equal, Const) else Compare("==", equal, Const(False))

    return settle(expr)


def _folded(node: Logic) -> Expr:
    """``and`` and ``or`` without the sides that decide nothing."""
    absorbing = node.op == "or"
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(side, Const):
            return side if bool(side.value) is absorbing else other
    return node


def _may_apply(layout: Layout, present: frozenset[str]) -> bool:
    """Whether presence alone does not rule the layout out."""
    if layout.when is None:
        return True
    known = {name: name[6:-1] in present for name in layout.when.symbols() if name.startswith("given(")}
    try:
        return bool(layout.when.evaluate(known))
    except KeyError:  # it depends on more than presence
        return True


def _stored_int8(graph: Graph, dtype: str) -> frozenset[str]:
    """The tensors of int8 numbers: dequantised where they are read, or multiplied as they are."""
    sources: list[Node] = [node.source for node in graph.nodes if isinstance(node, Dequantize)]
    for node in graph.nodes if dtype == "int8" else ():
        if isinstance(node, Scores):
            sources += [node.query, node.keys]
        if isinstance(node, WeightedSum):
            sources.append(node.values)
    return frozenset(inner.name for node in sources for inner in node.walk() if isinstance(inner, Input))


def _argument(spec: TensorSpec, dtype: str, settings: Mapping[str, Any]) -> GlobalTensor:
    if spec.kind == "lengths":
        return GlobalTensor(name=spec.name, dtype="int64", role="scalars", optional=True)
    if set(spec.dtypes) <= set(_INTEGERS):
        return GlobalTensor(name=spec.name, dtype=spec.dtypes[0], role="scalars", optional=spec.optional)
    if _BYTES.issuperset(spec.dtypes):
        return GlobalTensor(name=spec.name, dtype="uint8", role="input", optional=spec.optional)
    chosen = dtype if dtype in spec.dtypes else settings.get(dtype_of(spec.name).name) or spec.dtypes[0]
    listed = spec.list_of is not None or bool(settings.get(split_of(spec.name).name))
    return GlobalTensor(name=spec.name, dtype=chosen, role="input", optional=spec.optional, listed=listed)
