"""What is proved of a kernel's tiling fields for all legal calls: ranges, divisors that are not 0, alignment.

The facts are those of the contract (ranges of parameters, constraints that always hold) and that a call's
tensors are in the device's memory. A bound that does not follow from them is told as such; whether a call
keeps it is then up to its sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import compiled_for
from attndsl.expr import Binary, Expr, Select, Symbol, product
from attndsl.expr.argument_facts import passed, split_of
from attndsl.expr.interval_rules import Range
from attndsl.expr.proofs import Facts, Prover, common_factors, divisors, equal
from attndsl.expr.reductions import Fold
from attndsl.lowering.signature.host_scalars import (
    CORES,
    L2_BYTES,
    START_TOGETHER,
    dimension,
    fold_name,
    layout_choice,
    length_count,
)
from attndsl.lowering.signature.specialization import Specialization, decisions_of, kernel_inputs
from attndsl.lowering.signature.stated_ranges import plain_rules
from attndsl.lowering.signature.tensor_layouts import legal_layouts
from attndsl.lowering.signature.window_bounds import parameter_ranges
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.contract.contract import Contract
from attndsl.tile.buffers import item_bytes
from attndsl.tile.program import tiling_field_ref

INT64: Range = (-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True)
class FieldProof:
    """What is proved of one tiling field.

    Attributes:
        range: between which numbers it lies; an end may be infinite.
        overflows: parts of its value that are not proved to stay within int64, though their operands are.
        zeros: what it divides by and is not proved to be >= 1.
        divisor: what divides it, in every call.
    """

    name: str
    ctype: str
    range: Range
    overflows: tuple[Expr, ...]
    zeros: tuple[Expr, ...]
    divisor: int

    @property
    def open(self) -> tuple[str, ...]:
        """What could not be proved, in words."""
        beyond = (f"'{part}' may leave int64" for part in self.overflows)
        return (*beyond, *(f"'{part}' is not proved to be >= 1" for part in self.zeros))


@lru_cache(maxsize=256)
def prove_tiling(operator: Contract, special: Specialization) -> tuple[FieldProof, ...]:
    """The proofs of all tiling fields of a kernel, in the struct's order."""
    compiled = compiled_for(operator, special)
    cases = [_proofs(compiled, facts) for facts in _cases(contract_facts(compiled))]
    return tuple(_joined(proofs) for proofs in zip(*cases, strict=True))


def _cases(facts: Facts) -> Iterator[Facts]:
    """The facts of each case that definitions of sizes tell apart, such as ``N if kvN == 0 else kvN``."""
    for name, value in facts.definitions.items():
        if isinstance(value, Select):
            for side, holds in ((value.then, True), (value.otherwise, False)):
                case = facts.given(value.condition, holds)
                yield from _cases(replace(case, definitions={**facts.definitions, name: side}))
            return
    yield facts


def _joined(proofs: tuple[FieldProof, ...]) -> FieldProof:
    """What is proved of a field in all cases."""
    lows, highs = zip(*(proof.range for proof in proofs), strict=True)
    return replace(
        proofs[0],
        range=(min(lows), max(highs)),
        overflows=tuple(dict.fromkeys(part for proof in proofs for part in proof.overflows)),
        zeros=tuple(dict.fromkeys(part for proof in proofs for part in proof.zeros)),
        divisor=math.gcd(*(proof.divisor for proof in proofs)),
    )


def _proofs(compiled: Compiled, facts: Facts) -> tuple[FieldProof, ...]:
    """The proofs under facts, those of a field with what was proved of the ones in front of it."""
    prover, found = Prover(_with_conditional(compiled, facts)), []
    for item in compiled.program.tiling:
        integral = item.ctype != "float32"
        parts = (node for node in item.value.nodes() if integral and isinstance(node, Binary))
        found.append(
            FieldProof(
                item.name,
                item.ctype,
                prover.range(item.value),
                tuple(dict.fromkeys(node for node in parts if _overflows(prover, node))),
                tuple(dict.fromkeys(by for by in divisors(item.value) if prover.range(by)[0] < 1)),
                prover.divisor(item.value) if integral else 1,
            )
        )
        prover.define(tiling_field_ref(item.name), item.value)
    return tuple(found)


def _overflows(prover: Prover, node: Expr) -> bool:
    """Whether a value may leave int64 although its operands do not: they are told of by themselves."""
    return not _inside(prover.range(node)) and all(_inside(prover.range(each)) for each in node.children())


def _inside(found: Range) -> bool:
    return bool(INT64[0] <= found[0] and found[1] <= INT64[1])


def contract_facts(compiled: Compiled) -> Facts:
    """What holds of the sizes and parameters of every call that the kernel may get."""
    operator, special = compiled.operator, compiled.specialization
    present = kernel_inputs(operator, special.features)
    ranges: dict[Expr, Range] = {}
    for name, (low, high) in parameter_ranges(operator).items():
        if isinstance(low, int | float):
            ranges[Symbol(name)] = max(low, INT64[0]), min(high, INT64[1])
    bounded = {symbol.name for symbol in ranges if isinstance(symbol, Symbol)}
    ranges |= {CORES: (1, operator.device.aic), L2_BYTES: (1, 1 << 40), START_TOGETHER: (0, 1)}
    for spec in operator.tensors:
        ranges[layout_choice(spec.name)] = (0, max(len(spec.layouts) - 1, 0))
    definitions = {
        dim.name: dim.definition for dim in operator.dims_by_name.values() if dim.definition is not None
    }
    floats = frozenset(spec.name for spec in operator.params if spec.type is float)
    facts = Facts(ranges, definitions=definitions, floats=floats)
    for rule in plain_rules(operator):
        if rule.when is None:
            facts = facts.given(rule.condition)
    for condition, holds in decisions_of(operator, special):  # its settings stand for all that decide so
        if condition.symbols() <= bounded:
            facts = facts.given(condition, holds)
    for expr, most in _memory(compiled, present):
        facts = facts.bounded(expr, 0, most)
    return replace(facts, sizes=dict(_strides(compiled, present)))


def _with_conditional(compiled: Compiled, facts: Facts) -> Facts:
    """The facts and the constraints whose own condition always holds under them."""
    operator, special = compiled.operator, compiled.specialization
    present = kernel_inputs(operator, special.features)
    known = passed((spec.name for spec in operator.tensors), present)
    for rule in plain_rules(operator):
        if rule.when is not None and Prover(facts).range(rule.when.substitute(known))[0] is True:
            facts = facts.given(rule.condition)
    return facts


def _memory(compiled: Compiled, present: frozenset[str]) -> Iterator[tuple[Expr, int]]:
    """The products of sizes that are the elements of a tensor, and how many of them memory has room for."""
    operator = compiled.operator
    tensors = {tensor.name: tensor for tensor in compiled.program.parameters}
    for spec in operator.tensors:
        if spec.name not in present or spec.name not in tensors:
            continue
        most = operator.device.global_memory // item_bytes(tensors[spec.name].dtype)
        if spec.kind == "lengths":
            yield length_count(spec.name), most
            continue
        for number in range(max((layout.rank for layout in spec.layouts.values()), default=0)):
            yield dimension(spec.name, number), most
        sizes = _elements(spec, compiled, present)
        if sizes and all(equal(sizes[0], other) for other in sizes[1:]):
            yield sizes[0], most
    for size in operator.axis_extents.values():
        for fold in (node for node in size.nodes() if isinstance(node, Fold)):
            yield Symbol(fold_name(fold)), operator.device.global_memory


def _strides(compiled: Compiled, present: frozenset[str]) -> Iterator[tuple[Expr, int]]:
    """Products of sizes that are strides of a tensor whatever its layout: whoever made the tensor computed
    them in int64, with 1 for a size of 0 (so do NumPy and PyTorch), and refused it if they did not fit."""
    for spec in compiled.operator.tensors:
        sizes = _elements(spec, compiled, present) if spec.name in present else []
        if sizes:
            yield common_factors(sizes), INT64[1]


def _elements(spec: TensorSpec, compiled: Compiled, present: frozenset[str]) -> list[Expr]:
    """How many elements a tensor has, in each layout in which a call may pass it to the kernel."""
    chosen = dict(compiled.specialization.settings)
    if spec.split and chosen.get(split_of(spec.name).name) is not False:
        return []  # each batch row may have a tensor of its own size
    return [product(layout.shape()) for layout in legal_layouts(spec, present, chosen)]


def print_proofs(operator: Contract, special: Specialization) -> str:
    """The tiling fields with the ranges that are proved, one a line, and below what could not be proved."""
    proofs = prove_tiling(operator, special)
    width = max(len(proof.name) for proof in proofs)
    lines = []
    for proof in proofs:
        low, high = (_end(end) for end in proof.range)
        aligned = f"  multiple of {proof.divisor}" if proof.divisor > 1 and low != high else ""
        lines.append(f"  {proof.name:<{width}}  {proof.ctype:<8} {low:>8} .. {high:<10}{aligned}".rstrip())
    unproved = [f"  {proof.name}: {text}" for proof in proofs for text in proof.open]
    lines += ["", "not proved:", *unproved] if unproved else ["", "every field is proved to fit its type"]
    return "\n".join(lines)


def _end(end: float) -> str:
    """An end of a range; a large one as the next power of two."""
    if math.isinf(end):
        return "?"
    if isinstance(end, float) or abs(end) < 10**6:
        return str(end)
    return f"{'-' if end < 0 else ''}2**{(abs(end) - 1).bit_length()}"
