"""Which problems a kernel takes: the conditions by which a host picks one of an operator's kernels.

They follow from the graph: a kernel takes the calls that decide every choice of the spec as it does
(:func:`attndsl.graph.branch_conditions.decisions`), whatever else their parameters say.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import product
from math import prod
from operator import and_, or_
from typing import Any

from attndsl.codegen.host.problem_members import (
    counted,
    head_symbol,
    io_tensor,
    member_of,
    number_of_value,
)
from attndsl.codegen.host.problem_words import Words, with_words
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.compiler.compile import Compiled, signature_of
from attndsl.expr import Compare, Const, Expr, Logic, Named, Symbol
from attndsl.expr.argument_facts import DTYPE, GIVEN, asks, dtype_of, given, kind_of, layout_of
from attndsl.graph.branch_conditions import Decision
from attndsl.graph.errors import GraphError
from attndsl.lowering.signature.enum_parameters import enums_as_numbers
from attndsl.lowering.signature.host_scalars import length_count
from attndsl.lowering.signature.kernel_signature import KernelSignature
from attndsl.lowering.signature.specialization import (
    Specialization,
    decisions_of,
    feature_names,
    kernel_inputs,
    settings_of,
)
from attndsl.spec.contract.contract import Contract
from attndsl.spec.errors import SpecError
from attndsl.tile.naming import camel

_MOST_COMBINATIONS = 4096


@dataclass(frozen=True, slots=True)
class DispatchGuard:
    """A condition that the problems of a kernel meet: ``condition`` comes out as ``holds``.

    Its symbols are those of the spec's conditions, such as ``layout(key)``, and the host's head sizes.
    Dtypes, layouts and words are compared by their numbers.
    """

    condition: Expr
    holds: bool = True

    def accepts(self, problem: Mapping[str, Any]) -> bool:
        """Whether a problem with these values of the symbols meets the condition."""
        return bool(self.condition.evaluate(problem)) == self.holds

    def shown(self, words: Mapping[str, Words]) -> str:
        """The condition in C++ with names for words, as an operand of ``&&``."""
        spelled = {name: f"problem.{member_of(name)}" for name in self.condition.symbols()}
        spelled |= {name: text for each in words.values() for name, text in each.spelled.items()}
        text = cxx_text(with_words(self.condition, words), spelled)
        return (
            text
            if self.holds and _binds_tighter(self.condition)
            else f"({text})"
            if self.holds
            else f"!({text})"
        )

    def name(self, words: Mapping[str, Words]) -> str:
        """A name for a variable that has the condition's truth; empty where it has none."""
        return _name_of(with_words(self.condition, words)) if self.holds else ""


_SIGNS = {"==": "Is", "!=": "IsNot"}


def _name_of(condition: Expr) -> str:
    """``queryIsPackedOrPadded`` and the like for comparisons with words and numbers."""
    if isinstance(condition, Logic) and isinstance(condition.left, Compare):
        first = condition.left.left
        if condition.op == "or" and isinstance(first, Symbol) and kind_of(first.name) == GIVEN:
            return f"{camel(asks(first.name)[1])}IsNotRead"
    if isinstance(condition, Logic):
        left, right = _name_of(condition.left), _name_of(condition.right)
        if not left or not right:
            return ""
        subject = left.partition("Is")[0]
        if condition.op == "or" and right.startswith(f"{subject}Is"):
            right = right.removeprefix(f"{subject}Is")
        return f"{left}{condition.op.capitalize()}{right[:1].upper()}{right[1:]}"
    if not isinstance(condition, Compare) or condition.op not in _SIGNS:
        return ""
    symbol, value = condition.left, condition.right
    if not isinstance(symbol, Symbol) or not isinstance(value, Const):
        return ""
    subject = re.sub(r"(Layout|Dtype|Value)$", "", member_of(symbol.name))
    word = value.name.partition(".")[2].removeprefix("k") if isinstance(value, Named) else str(value)
    return f"{subject}{_SIGNS[condition.op]}{word}" if word.isalnum() else ""


def _binds_tighter(condition: Expr) -> bool:
    """Whether a condition needs no brackets between ``&&``."""
    return isinstance(condition, Compare) or (isinstance(condition, Logic) and condition.op == "and")


def guards(compiled: Compiled) -> tuple[DispatchGuard, ...]:
    """The guards of a kernel: a problem is its own if it meets all of them."""
    return guards_of(compiled.operator, compiled.specialization)


@lru_cache(maxsize=1024)
def guards_of(operator: Contract, special: Specialization) -> tuple[DispatchGuard, ...]:
    """The guards of the kernel of a specialization, compiled or not."""
    io = io_tensor(operator)
    fractal = operator.device.architecture.fractal
    found = [
        DispatchGuard(_is(dtype_of(io.name), io.dtypes.index(special.dtype))),
        _within_padded_size(head_symbol(operator), special.padded_head_size, fractal),
    ]
    if special.padded_value_size is not None:
        found.append(_within_padded_size(head_symbol(operator, "E"), special.padded_value_size, fractal))
    ignored = ignored_features(operator, special)
    for feature in feature_names(operator):
        lengths = [length_count(name) for name in _lengths_it_needs(operator, special, feature)]
        if feature in special.features:
            is_read = Compare("!=", given(feature), Const(0))
            found.append(DispatchGuard(reduce(and_, (count > 0 for count in lengths), is_read)))
        elif feature not in ignored:
            found.append(
                DispatchGuard(reduce(or_, (_is(count, 0) for count in lengths), _is(given(feature), 0)))
            )
    return (*found, *_decided(operator, special, ignored))


def asked_symbols(kernels: Sequence[Compiled]) -> tuple[str, ...]:
    """The parameters, dtypes, layouts and splits that these kernels are picked by besides the io dtype, in
    order of first use."""
    every = {
        name: None for each in kernels for guard in guards(each) for name in sorted(guard.condition.symbols())
    }
    others = {dtype_of(io_tensor(each.operator).name).name for each in kernels}
    others |= {head_symbol(each.operator, axis).name for each in kernels for axis in "DE"}
    return tuple(name for name in every if name not in others and kind_of(name) != GIVEN)


def _within_padded_size(size: Symbol, padded_size: int, fractal: int) -> DispatchGuard:
    return DispatchGuard((size > padded_size - fractal) & (size <= padded_size))


@lru_cache(maxsize=1024)
def ignored_features(operator: Contract, special: Specialization) -> frozenset[str]:
    """The optional tensors that a call may pass without being computed any differently."""
    settings, ignored = settings_of(operator, special), frozenset[str]()
    computed = operator.graph(kernel_inputs(operator, special.features), settings).key
    asked = {condition for condition, _ in decisions_of(operator, special)}
    for feature in feature_names(operator):
        more = ignored | {feature}
        if feature in special.features:
            continue
        if {condition for condition, _ in decisions_of(operator, special, more)} != asked:
            continue
        if operator.graph(kernel_inputs(operator, special.features | more), settings).key == computed:
            ignored = more
    return ignored


def _lengths_it_needs(operator: Contract, special: Specialization, feature: str) -> Iterator[str]:
    """The optional lengths without which a tensor is not looked at, as a padding in front of them."""
    settings = settings_of(operator, special)
    for spec in operator.tensors:
        if spec.kind == "lengths" and spec.optional and spec.name not in feature_names(operator):
            others = kernel_inputs(operator, special.features) - {spec.name, feature}
            with contextlib.suppress(GraphError, SpecError):  # without them there is no such call
                without, passed = (operator.graph(each, settings) for each in (others, others | {feature}))
                if without.key == passed.key:
                    yield spec.name


def _decided(operator: Contract, special: Specialization, ignored: frozenset[str]) -> Iterator[DispatchGuard]:
    """The choices of the spec that are made as in this kernel."""
    signature = signature_of(operator, special)
    settled = decisions_of(operator, special)
    own = (*_layouts_of_kernel(operator, signature), *_free_dtypes(operator, signature))
    asked = dict.fromkeys((*own, *(name for each, _ in settled for name in sorted(each.symbols()))))
    domains = {name: _domain(operator, signature, ignored, name) for name in asked}
    possible = {name: _domain(operator, signature, ignored, name, declared=True) for name in asked}
    left = _narrow(domains, possible, settled, _contract(operator, special, ignored, frozenset(asked)))
    for name, values in domains.items():
        told = kind_of(name) == DTYPE and name not in own  # by the io dtype
        if values is not None and values != possible[name] and not told:
            yield _one_of(operator, name, values, possible[name] or ())
    for condition, holds in left:
        yield _by_number(operator, condition, holds)


def _contract(
    operator: Contract, special: Specialization, ignored: frozenset[str], asked: frozenset[str]
) -> tuple[Decision, ...]:
    """What the contract says of these symbols alone, for calls that pass what the kernel takes."""
    passed = kernel_inputs(operator, special.features)
    told = (spec.name for spec in operator.tensors if spec.name not in ignored)
    known = {given(name).name: name in passed for name in told}
    found = []
    for rule in operator.constraints:
        if rule.symbols() <= known.keys() or rule.warns:
            continue
        if rule.decided_by(known.keys() | asked):
            condition = rule.condition if rule.when is None else (rule.when == 0) | rule.condition
            found.append((condition.substitute(known), True))
    return tuple(found)


def _layouts_of_kernel(operator: Contract, signature: KernelSignature) -> Iterator[str]:
    """The layouts that the computation asks for, of tensors that the kernel takes."""
    for name in signature.layouts:
        if layout_of(name).name in operator.specialization_parameters:
            yield layout_of(name).name


def _free_dtypes(operator: Contract, signature: KernelSignature) -> Iterator[str]:
    """The dtypes that a call chooses, of tensors that the kernel takes."""
    for spec in operator.free_tensors:
        if spec.name in signature.present:
            yield dtype_of(spec.name).name


def _domain(
    operator: Contract,
    signature: KernelSignature,
    ignored: frozenset[str],
    name: str,
    *,
    declared: bool = False,
) -> tuple[Any, ...] | None:
    """The values that a symbol can have in calls of the kernel; None for a number that may be anything.

    ``declared``: in all calls that pass the same tensors. Tensors that are ``ignored`` may be passed, or not.
    """
    kind, argument = asks(name)
    if not kind:
        param = operator.find_param(name)
        if param is None or param.type is bool:
            return None if param is None else (False, True)
        return tuple(dict.fromkeys(param.choices.values())) if param.choices else None
    spec = operator.tensor(argument)
    if argument not in signature.present:
        every = {"dtype": spec.dtypes, "layout": tuple(spec.layouts), "split": (False, True)}[kind]
        return (None, *every) if argument in ignored else (None,)
    if kind == "split":
        return (False, True)
    if kind == "dtype":
        chosen = next(item.dtype for item in signature.parameters if item.name == argument)
        return spec.dtypes if declared else (chosen,)
    stored = signature.layouts[argument].keys if argument in signature.layouts else ()
    return tuple(spec.layouts) if declared or not stored else stored


_Domains = dict[str, tuple[Any, ...] | None]


def _narrow(
    domains: _Domains, possible: _Domains, settled: Sequence[Decision], contract: Sequence[Decision]
) -> tuple[Decision, ...]:
    """Take from the domains the values with which the decisions cannot come out so in legal calls, and from
    ``possible`` those that no legal call has.

    Returns the decisions that the domains and the contract do not ensure.
    """
    left: list[Decision] = []
    for group in _sharing_symbols(settled):
        names = sorted({name for condition, _ in group for name in condition.symbols()})
        sizes = [len(possible[name] or ()) for name in names]
        if any(domains[name] is None for name in names) or prod(sizes) > _MOST_COMBINATIONS:
            left += group
            continue
        legal = [each for each in contract if each[0].symbols() <= set(names)]
        if not _project(domains, names, (*group, *legal)):
            legal = []  # the specialization stands for calls with other values, which compute the same
            _project(domains, names, group)
        _project(possible, names, legal)
        calls = [values for values in _combinations(names, domains) if _all_hold(legal, values)]
        left += [each for each in group if not all(_all_hold([each], values) for values in calls)]
    return tuple(left)


def _project(domains: _Domains, names: Sequence[str], kept: Sequence[Decision]) -> bool:
    """Leave the values of combinations in which all of ``kept`` hold; false, and nothing done, if none."""
    good = [values for values in _combinations(names, domains) if _all_hold(kept, values)]
    for name in names if good else ():
        found = {values[name] for values in good}
        domains[name] = tuple(value for value in domains[name] or () if value in found)
    return bool(good)


def _combinations(
    names: Sequence[str], domains: Mapping[str, tuple[Any, ...] | None]
) -> Iterator[dict[str, Any]]:
    for values in product(*(domains[name] or () for name in names)):
        yield dict(zip(names, values, strict=True))


def _all_hold(group: Sequence[Decision], values: Mapping[str, Any]) -> bool:
    return all(bool(condition.evaluate(values)) == holds for condition, holds in group)


def _sharing_symbols(settled: Sequence[Decision]) -> list[list[Decision]]:
    """The decisions in groups that have no symbol in common."""
    import networkx as nx  # here: those who only show a kernel need no graphs

    graph = nx.Graph()
    for number, (condition, _) in enumerate(settled):
        graph.add_node(number)
        graph.add_edges_from((number, name) for name in condition.symbols())
    parts = ([node for node in part if isinstance(node, int)] for part in nx.connected_components(graph))
    return [[settled[number] for number in sorted(part)] for part in parts]


def _one_of(operator: Contract, name: str, values: Sequence[Any], full: Sequence[Any]) -> DispatchGuard:
    excluded = [value for value in full if value not in values]
    if len(excluded) == 1 and len(values) > 1:
        number = number_of_value(operator, name, excluded[0])
        return DispatchGuard(Compare("!=", Symbol(name), Const(number)))
    numbers = [number_of_value(operator, name, value) for value in values]
    return DispatchGuard(reduce(or_, (_is(Symbol(name), number) for number in numbers)))


def _is(symbol: Symbol, number: int | float) -> Expr:
    return Compare("==", symbol, Const(number))


def _by_number(operator: Contract, condition: Expr, holds: bool) -> DispatchGuard:
    """A condition of the spec over the numbers that hosts know words by."""
    words = {name: values for name in condition.symbols() if (values := counted(operator, name))}
    return DispatchGuard(enums_as_numbers(condition, words), holds)
