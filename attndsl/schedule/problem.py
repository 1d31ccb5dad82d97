"""What the lowering needs from an operator's declaration: kernel arguments, sizes by axis, strides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from attndsl.graph.graph import Graph
from attndsl.graph.nodes import Dequantize, Input, Scalar
from attndsl.schedule.lowerable import Candidate
from attndsl.schedule.pattern import Computation
from attndsl.spec.arguments import DTYPES, TensorSpec
from attndsl.spec.call import Call
from attndsl.spec.layout import Layout
from attndsl.spec.operator import Operator
from attndsl.symbolic import Const, Expr, Load, Symbol, select
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.naming import camel

# What the host knows besides dimensions and parameters.
CORES = Symbol("cores")

_BYTES = frozenset({"bool", "int8", "uint8"})
_INTEGERS = ("int64", "int32", "uint32")


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """A tensor's strides in each of its layouts: name -> axis -> elements, in the declared order."""

    name: str
    strides: tuple[dict[str, Expr], ...]

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

    Lengths are always an argument of the kernel; a call without them passes a null pointer.
    """
    present = kernel_inputs(operator, features)
    graph = operator.graph(present, settings)
    own = {node.name: node.dtype for node in graph.outputs if node.dtype in DTYPES}
    int8 = _dequantised(graph)
    tensors = [spec for spec in operator.tensors if spec.name in present]
    layouts = {
        spec.name: TensorLayout(spec.name, tuple(layout.strides() for layout in legal_layouts(spec, present)))
        for spec in tensors
    }
    outputs = []
    for output in operator.outputs:
        like = legal_layouts(operator.tensor(output.like), present)
        strides = tuple(output.layout(layout.key).strides() for layout in like)
        layouts[output.name] = TensorLayout(output.name, strides)
        outputs.append(GlobalTensor(name=output.name, dtype=own.get(output.name, dtype), role="output"))
    return Problem(
        name=operator.name,
        summary=operator.summary,
        dtype=dtype,
        bucket=bucket,
        value_bucket=bucket if value_bucket is None else value_bucket,
        present=present,
        extents=operator.axis_extents,
        parameters=(*(_argument(spec, "int8" if spec.name in int8 else dtype) for spec in tensors), *outputs),
        layouts=layouts,
        one_for_all=frozenset(spec.name for spec in tensors if spec.kind == "lengths" and spec.one_for_all),
        float_params=frozenset(spec.name for spec in operator.params if spec.type is float),
    )


def candidate(operator: Operator, computation: Computation, dtype: str, present: frozenset[str]) -> Candidate:
    """What the lowerability rules look at."""
    layouts = {spec.name: legal_layouts(spec, present) for spec in operator.tensors if spec.name in present}
    for output in operator.outputs:
        layouts[output.name] = tuple(output.layout(layout.key) for layout in layouts[output.like])
    return Candidate(operator, computation, dtype, layouts)


def kernel_inputs(operator: Operator, features: frozenset[str]) -> frozenset[str]:
    """The tensors that a kernel with these features takes."""
    always = (spec.name for spec in operator.tensors if spec.required or spec.kind == "lengths")
    return frozenset(always) | features


@cache
def feature_names(operator: Operator) -> tuple[str, ...]:
    """The optional tensors a kernel can be specialised on, in signature order.

    Tensors that the computation never looks at (reserved arguments) are none.
    """
    optional = tuple(spec.name for spec in operator.tensors if spec.optional and spec.kind != "lengths")
    together = used_inputs(operator, frozenset(optional))
    return tuple(
        name for name in optional if name in together or name in used_inputs(operator, frozenset({name}))
    )


def used_inputs(operator: Operator, features: frozenset[str]) -> frozenset[str]:
    """The tensors that the computation looks at when these features are in use."""
    graph = operator.graph(kernel_inputs(operator, features))
    scalars = (node.value for node in graph.nodes if isinstance(node, Scalar))
    loads = (inner.source for expr in scalars for inner in expr.walk() if isinstance(inner, Load))
    return frozenset(node.name for node in graph.inputs()) | frozenset(loads)


def legal_layouts(spec: TensorSpec, present: frozenset[str]) -> tuple[Layout, ...]:
    """The layouts that a tensor can have when exactly these tensors are passed."""
    return tuple(layout for layout in spec.layouts.values() if _may_apply(layout, present))


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
            keys = [layout.key for layout in legal_layouts(spec, problem.present)]
            env[layout_choice(spec.name).name] = keys.index(call.layouts[spec.name])
    for output in call.operator.outputs:
        env[layout_choice(output.name).name] = env[layout_choice(output.like).name]
    return env


def _may_apply(layout: Layout, present: frozenset[str]) -> bool:
    """Whether presence alone does not rule the layout out."""
    if layout.when is None:
        return True
    known = {name: name[6:-1] in present for name in layout.when.symbols() if name.startswith("given(")}
    try:
        return bool(layout.when.evaluate(known))
    except KeyError:  # it depends on more than presence
        return True


def _dequantised(graph: Graph) -> frozenset[str]:
    """The tensors that are stored in int8 and dequantised where they are read."""
    sources = (node.source for node in graph.nodes if isinstance(node, Dequantize))
    return frozenset(inner.name for node in sources for inner in node.walk() if isinstance(inner, Input))


def _argument(spec: TensorSpec, dtype: str) -> GlobalTensor:
    if spec.kind == "lengths":
        return GlobalTensor(name=spec.name, dtype="int64", role="scalars", optional=True)
    if set(spec.dtypes) <= set(_INTEGERS):
        return GlobalTensor(name=spec.name, dtype=spec.dtypes[0], role="scalars", optional=spec.optional)
    if _BYTES.issuperset(spec.dtypes):
        return GlobalTensor(name=spec.name, dtype="uint8", role="input", optional=spec.optional)
    chosen = dtype if dtype in spec.dtypes else spec.dtypes[0]
    listed = spec.list_of is not None
    return GlobalTensor(name=spec.name, dtype=chosen, role="input", optional=spec.optional, listed=listed)
