"""A kernel is chosen for exactly the calls that compute what it computes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.codegen.host.problem_members import (
    dtype_member,
    given_member,
    head_symbol,
    io_tensor,
    member_of,
    number_of_value,
)
from attndsl.codegen.host.problem_words import problem_words
from attndsl.codegen.kernel_set.asked_sizes import HeadSizes
from attndsl.codegen.kernel_set.dispatch_guards import DispatchGuard, guards_of
from attndsl.codegen.kernel_set.kernel_request import (
    KernelRequest,
    specialization_of_choice,
    wanted_specializations,
)
from attndsl.expr import Symbol
from attndsl.expr.argument_facts import given
from attndsl.lowering.signature.host_scalars import length_count
from attndsl.lowering.signature.specialization import feature_names, kernel_inputs, settings_of
from attndsl.spec.operator.covering import choosable, nearest_choice
from attndsl.spec.operator.loader import load, shipped_names

SHIPPED = [each for name in shipped_names() for each in (load(name), *load(name).modes)]
EVERY = [each for each in SHIPPED if feature_names(each)]  # those with something to choose


def legal_choices(operator, count):
    """Choices that settle up to three things at random."""
    rng, values = np.random.default_rng(7), choosable(operator)
    names = [f"given({name})" for name in feature_names(operator)]
    names += sorted(operator.specialization_parameters)
    names = [name for name in names if name in values]
    for _ in range(count):
        picked = rng.choice(names, min(3, len(names)), replace=False)
        wanted = {str(name): values[name][int(rng.integers(len(values[name])))] for name in picked}
        choice = nearest_choice(operator, wanted)
        if choice is not None:
            yield choice


def problem_of(operator, choice, dtype):
    """The members of the problem as a host fills them."""
    found = {dtype_member(operator): io_tensor(operator).dtypes.index(dtype)}
    for name in operator.specialization_parameters:
        found[member_of(name)] = number_of_value(operator, name, choice.settings[name])
    for name in feature_names(operator):
        found[given_member(name)] = int(name in choice.present)
    for spec in operator.tensors:
        if spec.kind == "lengths":
            found[member_of(length_count(spec.name).name)] = 1  # choices are of calls with lengths
    return SimpleNamespace(**found)


class Guarded:
    """What the guards of a kernel take, as expressions and as the plan has them; sizes aside, which decide no
    computation."""

    def __init__(self, operator, special, words):
        self.special = special
        sizes = {head_symbol(operator, axis).name for axis in "DE"}
        self.guards = [each for each in guards_of(operator, special) if not sizes & each.condition.symbols()]
        shown = " and ".join(f"({each.shown(words)})" for each in self.guards)
        for cpp, python in (("&&", " and "), ("||", " or "), ("!(", " not ("), ("::", ".")):
            shown = shown.replace(cpp, python)
        self.shown = compile(shown, "the plan", "eval")
        self.values = values_of(words)

    def takes(self, problem):
        members = vars(problem)
        found = all(
            guard.accepts({name: members[member_of(name)] for name in guard.condition.symbols()})
            for guard in self.guards
        )
        assert bool(eval(self.shown, {"problem": problem, "values": self.values})) == found
        return found


def values_of(words):
    """The constants of the plan, by struct."""
    structs = {each.name: SimpleNamespace(**dict(each.constants)) for each in words.values()}
    return SimpleNamespace(**structs)


@pytest.mark.parametrize("operator", EVERY, ids=lambda each: each.name)
def test_kernels_take_the_calls_that_compute_the_same_and_no_others(operator):
    words = problem_words(operator)
    wanted = wanted_specializations(operator, KernelRequest())
    kernels = [Guarded(operator, each.special, words) for each in wanted]
    accepted, refused = 0, 0
    for choice in legal_choices(operator, 60):
        dtype = choice.settings[f"dtype({io_tensor(operator).name})"]
        own = specialization_of_choice(operator, choice, dtype, HeadSizes(128, 128))
        problem = problem_of(operator, choice, dtype)
        assert Guarded(operator, own, words).takes(problem), own
        passed = kernel_inputs(operator, choice.present & frozenset(feature_names(operator)))
        computed = operator.graph(passed, choice.settings).key
        for kernel in kernels:
            other = kernel.special
            graph = operator.graph(kernel_inputs(operator, other.features), settings_of(operator, other))
            if kernel.takes(problem):
                assert graph.key == computed and other.dtype == dtype, (own, other)
                accepted += 1
            else:
                assert other != own
                refused += 1
    assert accepted >= 10 and refused > accepted


def test_what_makes_no_difference_is_not_asked():
    """A kernel without modifiers serves every calcType, kernel type and scale of its signature."""
    plain = wanted_specializations(ops.self_attention, KernelRequest(dtypes=("float16",)))[0]
    guards = guards_of(ops.self_attention, plain.special)
    asked = {name for guard in guards for name in guard.condition.symbols()}
    assert not asked & {"calcType", "kernelType", "quantType", "isTriuMask"}
    assert DispatchGuard(Symbol("maskType") == 0) in guards
    assert "problem.keyGiven != 0" in [guard.shown({}) for guard in guards]


def test_a_tensor_that_is_passed_and_not_read_may_be_passed():
    """Compressed windows come from indices; the contract wants their tensor all the same."""
    selection = KernelRequest(dtypes=("float16",), settings=(("maskType", "SLIDING_WINDOW_COMPRESS"),))
    special = wanted_specializations(ops.self_attention, selection)[0].special
    asked = {name for guard in guards_of(ops.self_attention, special) for name in guard.condition.symbols()}
    assert "given(attentionMask)" not in asked and "given(logN)" in asked


@pytest.mark.parametrize(("lengths", "reads"), [(0, False), (3, True)])
def test_a_tensor_that_is_read_beside_lengths_alone_decides_with_them(lengths, reads):
    """The padding in front of the keys of each batch row: without lengths rows are whole, and the kernel
    without padding takes the call."""
    operator = ops.incre_flash_attention
    requests = (
        KernelRequest(dtypes=("float16",), features=each) for each in (frozenset(), {"kv_padding_size"})
    )
    plain, padded = (wanted_specializations(operator, each)[-1].special for each in requests)
    assert padded.features == {"kv_padding_size"} and not plain.features
    call = {given("kv_padding_size").name: 1, length_count("actual_seq_lengths").name: lengths}
    for special, takes in ((plain, not reads), (padded, reads)):
        (guard,) = (each for each in guards_of(operator, special) if each.condition.symbols() <= call.keys())
        assert guard.accepts(call) == takes
        assert guard.accepts({**call, given("kv_padding_size").name: 0}) == (special is plain)
        assert guard.name({}) == ("kvPaddingSizeIsNotRead" if special is plain else "")


def test_guards_are_told_apart_by_their_conditions():
    x, y = Symbol("x"), Symbol("y")
    assert DispatchGuard(x > 0) == DispatchGuard(x > 0)
    assert len({DispatchGuard(x > 0), DispatchGuard(x > 0), DispatchGuard(x > 0, False)}) == 2
    assert DispatchGuard(x > 0) != DispatchGuard(x > 1) and DispatchGuard(x > 0) != DispatchGuard(y > 0)


@pytest.mark.parametrize(
    ("guard", "shown"),
    [
        (DispatchGuard(Symbol("x") > 0), "problem.x > 0"),
        (DispatchGuard(Symbol("x") > 0, False), "!(problem.x > 0)"),
        (DispatchGuard((Symbol("x") > 0) & (Symbol("y") == 1)), "problem.x > 0 && problem.y == 1"),
        (DispatchGuard((Symbol("x") > 0) | (Symbol("y") == 1)), "(problem.x > 0 || problem.y == 1)"),
    ],
    ids=str,
)
def test_guards_are_operands_of_a_conjunction(guard, shown):
    assert guard.shown({}) == shown
