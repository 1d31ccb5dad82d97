"""What a graph must satisfy beyond its shape to be lowered: a table of rules that name what is not covered.

Whatever the lowering takes for granted stands here, so that a spec outside it is refused with its line and
never compiled into something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from attndsl.graph import nodes
from attndsl.schedule.errors import NotLowered
from attndsl.schedule.pattern import Attention
from attndsl.source_line import SourceLine
from attndsl.spec.arguments import OutputSpec, TensorSpec
from attndsl.spec.layout import Layout
from attndsl.spec.operator import Operator
from attndsl.symbolic import Const, Expr

# The io dtypes that cube and vector instructions of the lowering take.
IO_DTYPES = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A recognised attention with the declarations it came from.

    ``layouts``: the layouts that each tensor, results included, can have in this specialisation.
    """

    operator: Operator
    attention: Attention
    dtype: str
    layouts: dict[str, tuple[Layout, ...]]


Finding = tuple[str, SourceLine]
Rule = Callable[[Candidate], Iterator[Finding]]


def check_lowerable(candidate: Candidate) -> None:
    """Refuse what the lowering would not compute as the graph says.

    Raises:
        NotLowered: the first rule that does not hold.
    """
    for rule in RULES:
        for what, where in rule(candidate):
            raise NotLowered(what, where)


def io_dtype_is_16_bit(c: Candidate) -> Iterator[Finding]:
    """Probabilities are stored in the io dtype and multiplied on the cube."""
    if c.dtype not in IO_DTYPES:
        yield f"io dtype {c.dtype} (kernels take {' and '.join(IO_DTYPES)})", c.attention.query.where


def one_query_position(c: Candidate) -> Iterator[Finding]:
    """The rows of a task are the query heads of one key/value head."""
    if "Q" in c.attention.query.axes and not _is_one(c.operator.axis_extents.get("Q", Const(1))):
        yield "more than one query position a batch row", c.attention.query.where


def value_heads_have_the_key_size(c: Candidate) -> Iterator[Finding]:
    """One head size sizes keys, values and results."""
    extents = c.operator.axis_extents
    if not extents["E"].same(extents["D"]):
        yield "a value head size of its own (E other than D)", c.attention.values.where


def rows_are_contiguous(c: Candidate) -> Iterator[Finding]:
    """The last axis of every tensor is contiguous in all its layouts."""
    wanted = [(node.name, node.axes[-1], node.where) for node in _inputs(c.attention)]
    wanted.append((c.attention.output.name, c.attention.output.axes[-1], c.attention.output.where))
    for name, axis, where in wanted:
        for layout in c.layouts[name]:
            stride = layout.strides().get(axis)
            if stride is None or not _is_one(stride):
                yield f"{name} in layout '{layout.text}', whose axis {axis} is not contiguous", where


def tensors_have_the_io_dtype(c: Candidate) -> Iterator[Finding]:
    """Floating-point tensors have the dtype of the query."""
    for node in _inputs(c.attention):
        spec = c.operator.tensor(node.name)
        if not _follows(spec, c.attention.query.name) and not _is_bytes(spec):
            yield f"{node.name} of a dtype of its own ({', '.join(spec.dtypes)})", node.where


def output_follows_the_query(c: Candidate) -> Iterator[Finding]:
    """The result has the query's dtype."""
    output: OutputSpec = next(o for o in c.operator.outputs if o.name == c.attention.output.name)
    if output.dtype or output.like != c.attention.query.name:
        wanted = output.dtype or f"that of {output.like}"
        yield f"result {output.name} of dtype {wanted}", c.attention.output.where


def differences_have_the_score_first(c: Candidate) -> Iterator[Finding]:
    """``scores - x`` is lowered, ``x - scores`` is not."""
    for node in c.attention.modifiers:
        if isinstance(node, nodes.Elementwise) and node.op in ("subtract", "divide"):
            first = node.inputs[0]
            if not any(isinstance(inner, nodes.Scores) for inner in first.walk()):
                yield f"'{node.op}' with the scores as second operand", node.where


RULES: tuple[Rule, ...] = (
    io_dtype_is_16_bit,
    one_query_position,
    value_heads_have_the_key_size,
    rows_are_contiguous,
    tensors_have_the_io_dtype,
    output_follows_the_query,
    differences_have_the_score_first,
)


def _inputs(attention: Attention) -> tuple[nodes.Input, ...]:
    """Every floating-point or mask tensor that the attention reads."""
    found: dict[str, nodes.Input] = {}
    tensors = (attention.query, attention.keys.tensor, attention.values.tensor)
    for node in (*tensors, *(o for m in attention.modifiers for o in m.operands())):
        if isinstance(node, nodes.Input):
            found.setdefault(node.name, node)
    return tuple(found.values())


def _follows(spec: TensorSpec, query: str) -> bool:
    return spec.name == query or query in spec.dtype_like or bool(spec.dtype_like)


def _is_bytes(spec: TensorSpec) -> bool:
    return {"bool", "int8", "uint8"}.issuperset(spec.dtypes)


def _is_one(extent: Expr) -> bool:
    return isinstance(extent, Const) and extent.value == 1
