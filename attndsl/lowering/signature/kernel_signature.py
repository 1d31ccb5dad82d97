"""What the lowering needs from an operator's declaration: kernel arguments, sizes by axis, strides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from attndsl.expr import Compare, Const, Expr, Logic, Symbol, negation
from attndsl.expr.argument_facts import asks, dtype_of, split_of
from attndsl.expr.intervals import Range
from attndsl.expr.reductions import Fold
from attndsl.graph.graph import Graph
from attndsl.graph.nodes import Dequantize, Input, Node, Scores, WeightedSum
from attndsl.lowering.signature.enum_parameters import EnumValues, enum_parameters, enums_as_numbers
from attndsl.lowering.signature.host_scalars import fold_name
from attndsl.lowering.signature.looked_up_rows import row_indices
from attndsl.lowering.signature.specialization import kernel_inputs
from attndsl.lowering.signature.stated_ranges import stated_ranges
from attndsl.lowering.signature.tensor_layouts import (
    TensorLayout,
    legal_layouts,
    list_layout,
    measured,
    tensor_layout,
)
from attndsl.lowering.signature.window_bounds import parameter_ranges
from attndsl.spec.contract.arguments import DTYPES, OutputSpec, TensorSpec
from attndsl.spec.contract.contract import Contract
from attndsl.tile.buffers import GlobalTensor

_BYTES = frozenset({"bool", "int8", "uint8"})
_INTEGERS = ("int64", "int32", "uint32")


@dataclass(frozen=True, kw_only=True)
class KernelSignature:
    """What the lowering needs to know of an operator besides its graph.

    Attributes:
        padded_head_size, padded_value_size: padded head sizes the kernel is specialized on, multiples of 16.
        present: the tensors that calls pass.
        extents: size of each attention axis, over the operator's own names.
        parameters: global tensors in the kernel's argument order.
        layouts: strides of the tensors by name.
        one_for_all: lengths of which a single entry may stand for all batch rows.
        float_params: parameters that are no integers.
        ranges: between which numbers parameters and sizes lie, by their declarations.
        stated: the same where a score is computed, by all that the contract states, too.
        sizes: the names of sizes.
        enums: the values of enum parameters. The host knows a value by its number.
        row_indices: by tensor in which rows of keys are looked up, the indices that tell rows apart, of b, n
            and i, in this kernel or in another one of the operator.
        taken_names: names that no tiling field of a size or parameter can have in this kernel.
        spec_file: the name of the operator's file, whose lines comments name by number alone.
    """

    name: str
    summary: str
    dtype: str
    padded_head_size: int
    padded_value_size: int
    present: frozenset[str]
    extents: Mapping[str, Expr]
    parameters: tuple[GlobalTensor, ...]
    layouts: Mapping[str, TensorLayout]
    one_for_all: frozenset[str]
    float_params: frozenset[str]
    ranges: Mapping[str, Range] = field(default_factory=dict)
    stated: Mapping[str, Range] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()
    enums: EnumValues = field(default_factory=dict)
    row_indices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    taken_names: frozenset[str] = frozenset()
    spec_file: str = ""

    def settled(self, expr: Expr) -> Expr:
        """``expr`` with dtypes and parameters of one legal value filled in; layouts and words asked for by
        their index, as hosts know them."""
        return _settled(enums_as_numbers(expr, self.enums), self.layouts, self._arguments, self._fixed)

    @cached_property
    def _arguments(self) -> dict[str, GlobalTensor]:
        return {item.name: item for item in self.parameters}

    @cached_property
    def _fixed(self) -> dict[str, float]:
        """The parameters and sizes of one legal value."""
        return {name: low for name, (low, high) in self.ranges.items() if low == high}

    @property
    def one_head_size(self) -> bool:
        """Whether values have the head size of keys by declaration."""
        return self.extents["E"].same(self.extents["D"])


def kernel_signature_of(
    operator: Contract,
    dtype: str,
    padded_head_size: int,
    features: frozenset[str],
    padded_value_size: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> KernelSignature:
    """The operator's part of a lowering, for one specialization.

    ``settings``: values that the computation depends on; layouts among them exclude those of other axes.
    Lengths are always an argument of the kernel; a call without them passes a null pointer.
    """
    chosen = settings or {}
    present = kernel_inputs(operator, features)
    graph = operator.graph(present, settings)
    tensors = [spec for spec in operator.tensors if spec.name in present]
    int8 = _stored_int8(graph, dtype)
    arguments = {spec.name: _argument(spec, dtype, chosen, spec.name in int8) for spec in tensors}
    layouts = {spec.name: _layout(spec, present, chosen) for spec in tensors}
    layouts |= {
        output.name: _layout_of_result(operator, output, present, chosen) for output in operator.outputs
    }
    own = {node.name: node.dtype for node in graph.outputs if node.dtype in DTYPES}
    return KernelSignature(
        name=operator.name,
        summary=operator.summary,
        dtype=dtype,
        padded_head_size=padded_head_size,
        padded_value_size=padded_head_size if padded_value_size is None else padded_value_size,
        present=present,
        extents={
            axis: _without_folds(_settled(size, layouts, arguments))
            for axis, size in operator.axis_extents.items()
        },
        parameters=(
            *arguments.values(),
            *(
                GlobalTensor(name=output.name, dtype=own.get(output.name, dtype), role="output")
                for output in operator.outputs
            ),
        ),
        layouts=layouts,
        one_for_all=frozenset(spec.name for spec in tensors if spec.kind == "lengths" and spec.one_for_all),
        float_params=frozenset(spec.name for spec in operator.params if spec.type is float),
        ranges=parameter_ranges(operator),
        stated=stated_ranges(operator),
        sizes=frozenset(operator.dims_by_name),
        enums=enum_parameters(operator),
        row_indices=row_indices(operator, graph),
        spec_file=operator.spec_file,
    )


def _layout(spec: TensorSpec, present: frozenset[str], chosen: Mapping[str, Any]) -> TensorLayout:
    """How a kernel finds the elements of an argument."""
    legal = legal_layouts(spec, present, chosen)
    stored = [measured(spec, layout) for layout in legal] if spec.at_least else legal
    made = list_layout if chosen.get(split_of(spec.name).name) else tensor_layout
    return made(spec.name, stored, spec)


def _layout_of_result(
    operator: Contract, output: OutputSpec, present: frozenset[str], chosen: Mapping[str, Any]
) -> TensorLayout:
    """How a kernel finds the elements of a result, which follows the layout of an argument."""
    source = operator.tensor(output.like)
    stored = [output.layout(layout.key) for layout in legal_layouts(source, present, chosen)]
    return tensor_layout(output.name, stored, source)


def _without_folds(size: Expr) -> Expr:
    return size.mapped(lambda node: Symbol(fold_name(node)) if isinstance(node, Fold) else None)


def _settled(
    expr: Expr,
    layouts: Mapping[str, TensorLayout],
    arguments: Mapping[str, GlobalTensor],
    fixed: Mapping[str, float] | None = None,
) -> Expr:
    """Comparisons of dtypes and of ``fixed`` parameters are decided, those of layouts become comparisons of
    their index."""

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
        if fixed and node.left.name in fixed and isinstance(node.right, Const):
            return Const(bool(node.substitute(fixed).evaluate({})))
        kind, name = asks(node.left.name)
        if kind not in ("dtype", "layout") or not isinstance(node.right, Const):
            return None
        if kind == "dtype":
            equal: Expr = Const(name in arguments and arguments[name].dtype == node.right.value)
        elif name not in layouts or node.right.value not in layouts[name].keys:
            equal = Const(False)
        else:
            found = layouts[name]
            place = found.keys.index(str(node.right.value))
            equal = Const(True) if len(found.keys) == 1 else found.holds(place)
        if node.op == "==":
            return equal
        return Const(not equal.value) if isinstance(equal, Const) else negation(equal)

    return settle(expr)


def _folded(node: Logic) -> Expr:
    """``and`` and ``or`` without the sides that decide nothing."""
    absorbing = node.op == "or"
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(side, Const):
            return side if bool(side.value) is absorbing else other
    return node


def _stored_int8(graph: Graph, dtype: str) -> frozenset[str]:
    """The tensors of int8 numbers: dequantized where they are read, or multiplied as they are."""
    sources: list[Node] = [node.source for node in graph.nodes if isinstance(node, Dequantize)]
    for node in graph.nodes if dtype == "int8" else ():
        if isinstance(node, Scores):
            sources += [node.query, node.keys]
        if isinstance(node, WeightedSum):
            sources.append(node.values)
    return frozenset(inner.name for node in sources for inner in node.walk() if isinstance(inner, Input))


def _argument(spec: TensorSpec, dtype: str, settings: Mapping[str, Any], int8: bool) -> GlobalTensor:
    """The kernel's argument for a tensor; ``int8``: the computation takes its elements for int8."""
    if spec.kind == "lengths":
        return GlobalTensor(name=spec.name, dtype="int64", role="scalars", optional=True)
    if set(spec.dtypes) <= set(_INTEGERS):
        return GlobalTensor(name=spec.name, dtype=spec.dtypes[0], role="scalars", optional=spec.optional)
    if _BYTES.issuperset(spec.dtypes) and not int8:
        return GlobalTensor(name=spec.name, dtype="uint8", role="input", optional=spec.optional)
    chosen = dtype if dtype in spec.dtypes else settings.get(dtype_of(spec.name).name) or spec.dtypes[0]
    if int8 and "int8" in spec.dtypes:
        chosen = "int8"
    listed = spec.list_of is not None or bool(settings.get(split_of(spec.name).name))
    return GlobalTensor(name=spec.name, dtype=chosen, role="input", optional=spec.optional, listed=listed)
