"""The host checks in C++ say what the Python function says, for every row of the contracts' error tables."""

from __future__ import annotations

import re

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.codegen.host.host_files import host_files
from attndsl.codegen.names.arguments import names_of
from attndsl.emulator.toolchain import find_compiler
from attndsl.spec import Operator, attend, errors
from attndsl.spec.operator.loader import shipped_names
from tests.support.error_table_incre import dense
from tests.support.error_table_self_attention import pa

from .contract_calls import LEGAL, TABLES, in_python
from .host_calls import Untold, checked

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")

# What the host cannot see, or what C++ types rule out before any check.
BEYOND = (
    errors.MaskValueError,
    errors.ArgumentTypeError,
    errors.NotASequenceError,
    errors.ReadOnlyError,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("host")


def reads_the_device(operator, message):
    """Whether the constraint that failed looks at content that the host does not have."""
    from attndsl.codegen.host.host_constraints import on_host
    from attndsl.codegen.names.arguments import Names

    for each in (operator, *operator.modes):
        for rule in each.constraints:
            words = f"{each.name}: {rule.subject}: {rule.text}"
            if message.startswith(words) and not on_host(rule, Names(each)):
                return True
    return False


def wording(message):
    """Without the suggestion of a similar spelling, which stays with Python."""
    return message.partition("; did you mean")[0]


@pytest.mark.parametrize("name", LEGAL)
def test_legal_calls_pass(name, folder):
    for label, call in LEGAL[name].items():
        error, message, found = in_python(name, call)
        if error is not None:
            assert error is errors.TargetLimitError, label
        wanted = ("" if error is None else error.__name__, message, found)
        assert checked(getattr(ops, name), call, folder) == wanted, label


# Rows where Python's nearest value also keeps the rules that come later.
KEEPS_OTHER_RULES = {"block_size 0", "D1 0", "D2 0"}


def without_number(message):
    """A message without the nearest legal value, which it must have."""
    start, between, number = message.rpartition(" is ")
    assert "the nearest legal value" in start and number.isdigit(), message
    return start + between


COMPARED = {
    "incre_flash_attention": 50,
    "relay_attention": 40,
    "nsa_compress_attention": 30,
    "self_attention": 90,
}


def test_every_shipped_operator_is_compared() -> None:
    assert {*TABLES} == {*LEGAL} == {*COMPARED} == {*shipped_names()}


@pytest.mark.parametrize("name", TABLES)
def test_every_violation_has_the_wording_of_python(name, folder):
    operator, compared, different = getattr(ops, name), 0, []
    for label, call in TABLES[name].items():
        error, message, found = in_python(name, call)
        assert error is not None, label
        try:
            got = checked(operator, call, folder)
        except (Untold, errors.SignatureError):
            assert issubclass(error, TypeError | ValueError), label  # a matter of Python's types
            continue
        if issubclass(error, BEYOND) or reads_the_device(operator, message):
            continue
        compared += 1
        if label in KEEPS_OTHER_RULES:
            got, message = (got[0], without_number(got[1]), got[2]), without_number(message)
        if (got[0], wording(got[1]), got[2]) != (error.__name__, wording(message), found):
            different.append((label, got[:2], (error.__name__, message)))
    assert not different, "\n".join(map(str, different))
    assert compared >= COMPARED[name], compared


@pytest.mark.parametrize(
    "number",
    [0.0, 1.0, -0.125, 0.1, 1e-5, 123456.789, 1e15, 1e16, 1.5e300, 1 / 3, float("inf"), float("nan")],
)
def test_numbers_are_spelled_as_python_spells_them(number, folder):
    call = pa(qScale=number)
    _, _, found = checked(ops.self_attention, call, folder)
    assert found == ([] if number == 1.0 else in_python("self_attention", call)[2])


def with_ranges():
    op = Operator("ranges")
    B, N, Q, T, D = op.dims("B N Q T D")
    op.axes(B=B, N=N, K=N, Q=Q, T=T, D=D, E=D)
    query = op.input("query", "B N Q D", dtype="float16")
    key = op.input("key", "B N T D", dtype=query, axes="B K T D")
    op.param("open", float, default=1.0, gt=0.0, lt=4)
    op.param("closed", float, default=1.0, ge=0, le=4.0)
    op.param("count", int, default=1, gt=0.5, lt=4)
    op.output("out", attend.softmax(attend.scores(query, key)) @ attend.rows(key), like=query)
    return op


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"open": 0.0}, "must be > 0.0, got 0.0"),
        ({"open": 4.5}, "must be < 4, got 4.5"),
        ({"closed": -0.5}, "must be >= 0, got -0.5; the nearest legal value is 0.0"),
        ({"closed": 4.5}, "must be <= 4.0, got 4.5; the nearest legal value is 4.0"),
        ({"count": 0}, "must be > 0.5, got 0; the nearest legal value is 1"),
        ({"count": 4}, "must be < 4, got 4; the nearest legal value is 3"),
    ],
)
def test_the_nearest_value_of_a_range_is_legal_or_left_out(wrong, said, folder):
    half = np.ones((1, 1, 4, 16), np.float16)
    call, (name,) = {"query": half, "key": half} | wrong, wrong
    with pytest.raises(errors.RangeError) as caught:
        with_ranges().bind(**call)
    assert str(caught.value) == f"ranges: {name}: {said}"
    assert checked(with_ranges(), call, folder)[:2] == ("RangeError", str(caught.value))


def test_a_check_that_is_left_out_would_be_noticed(folder):
    """The near twin: the very call, legal but for one number."""
    good = dense(actual_seq_lengths=[3, 10])
    bad = dense(actual_seq_lengths=[3, 11])
    assert checked(ops.incre_flash_attention, good, folder)[0] == ""
    assert checked(ops.incre_flash_attention, bad, folder)[0] == "LengthRangeError"
    assert np.array_equal(good["query"], bad["query"])


@pytest.mark.parametrize("name", LEGAL)
def test_conditions_are_written_plainly(name):
    """No double negation, no brackets around a whole condition, no value shown twice in any case."""
    for operator in (getattr(ops, name), *getattr(ops, name).modes):
        text = host_files(names_of(operator))[f"op_host/{names_of(operator).op}_check.h"]
        assert "!!" not in text and "values.Add" in text
        assert not re.findall(r"if \(\(([^()]|\([^()]*\))*\)\) \{", text)
        for indent, message in re.findall(r"^( +)Values values;\n(.*?)return Violation", text, re.M | re.S):
            shown = re.findall(rf"^{indent}values\.Add.*$", message, re.M)
            assert len(shown) == len(set(shown)), shown
