"""Every call that the contract admits has a kernel: no drawn case is "not lowered"."""

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.compiler.compile import _stated, compile_operator, recognized, resolved
from attndsl.compiler.prepare_launch import specialization_of
from attndsl.lowering.emit.field_names import NamesTaken
from attndsl.lowering.errors import DoesNotFit
from attndsl.lowering.lower import lower
from attndsl.lowering.match.required_options import required_options
from attndsl.spec.operator.loader import shipped_names
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import Stream, spaces, stream_of
from attndsl.verify.data.integers import Integers
from attndsl.verify.space.solve import solve
from attndsl.verify.space.values import WORKLOAD

OPERATORS = shipped_names()


def check_lowers(operator, specialization):
    """Raises NotLowered for one that has no kernel; without the passes, which take most of the time."""
    computation, interface = recognized(operator, specialization)
    stated = _stated(operator, required_options(computation))
    schedule = resolved(operator, computation, interface, specialization, stated)
    try:
        lower(computation, interface, schedule, operator.device)
    except (DoesNotFit, NamesTaken):  # another schedule or other names will do
        compile_operator(operator, specialization)


def check_all_lower(cases):
    """Raises NotLowered for the first that has no kernel; how many kernels they need."""
    wanted = {(call.operator, specialization_of(call)) for call in (case.outline() for case in cases)}
    for mode, specialization in wanted:
        check_lowers(mode, specialization)
    return len(wanted)


@pytest.mark.parametrize("name", OPERATORS)
def test_drawn_cases_lower(name):
    assert check_all_lower(stream_of(getattr(ops, name)).take(9)) >= 5


@pytest.mark.long
@pytest.mark.parametrize("name", OPERATORS)
def test_many_drawn_cases_lower(name):
    assert check_all_lower(Stream(getattr(ops, name), seed=4).take(120)) >= 20


def latent_cases(most):
    """Calls of quantized latent attention, with any number of channels as values."""
    operator, rng = ops.self_attention, np.random.default_rng(0)
    space = next(each for each in spaces(operator) if each.operator.name.endswith("pa_encoder"))
    for number in range(most):
        pins = {"given(value)": False, "dtype(query)": "int8", WORKLOAD: "any"}
        sizes = [size for size in space.variables["mlaVHeadSize"] if size > 0]
        assignment = solve(space, rng, {**pins, "mlaVHeadSize": sizes[number % len(sizes)]})
        integers = assignment and Integers(space, assignment, rng).solve()
        if assignment and integers is not None:
            yield Case(operator, space, 0, number, assignment, integers)


def test_values_of_quantized_latent_attention_are_whole_squares():
    """As many channels as lower, and no others, are legal."""
    cases = list(latent_cases(40))
    sizes = {case.assignment["mlaVHeadSize"] for case in cases}
    assert len(sizes) >= 2 and check_all_lower(cases) >= 2, sizes
