"""Sizes of 0: divisors of constraints, and calls with nothing to compute; Python and the host's C++ agree."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from attndsl import emulator
from attndsl.api import ops
from attndsl.base.errors import UserError
from attndsl.codegen.host.checks import check_text
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.names.arguments import names_of
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator.toolchain import find_compiler
from attndsl.execute import execute
from attndsl.expr import Symbol, compare, select
from attndsl.spec import Operator, attend, ceil_div
from attndsl.spec.contract.divisions import guarded
from attndsl.spec.operator.loader import shipped_names

from .host_calls import checked
from .op_host_calls import op_host

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")

H, I, STEP, Z = Symbol("H"), Symbol("i"), Symbol("step"), Symbol("rest")  # noqa: E741


def told(operator, call):
    """Class and message in Python, its target's limits included."""
    try:
        operator.bind(**call).check_target()
    except UserError as error:
        return type(error).__name__, str(error)
    return "", ""


def ruled(condition, when=None, over=None, name="ruled"):
    """An operator with one constraint over its sizes N and K, lengths and two parameters."""
    op = Operator(name, document="none")
    B, N, K, T, D = op.dims("B N K T D")
    op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D)
    q = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
    k = op.input("key", "B K T D", dtype=q, axes="B K T D")
    v = op.input("value", "B K T D", dtype=q, axes="B K T E")
    lengths = op.lengths("ends", "B", optional=True)
    op.param("step", int, default=0, ge=0)
    op.param("rest", int, default=0)
    keep = condition(lengths) if callable(condition) else condition
    op.require(keep, "must hold", when=when, over=over, argument="query")
    op.output("out", attend.softmax(attend.scores(q, attend.rows(k))) @ attend.rows(v), like=q)
    return op


N, K = Symbol("N"), Symbol("K")
RULES = {
    "a remainder": (N % K == 0, None, None),
    "a quotient": (N // K < 3, None, None),
    "of a parameter": (ceil_div(N, STEP) <= 2, None, None),
    "asked for first": ((STEP == 0) | (N % STEP == 0), None, None),
    "the other way round": ((N % STEP == 0) | (STEP == 0), None, None),
    "a choice": (compare("==", select(STEP == 0, 4, N % STEP), Z + 4), None, None),
    "one inside the other": (N % (K // STEP) == 0, None, None),
    "in the scope": (N > 100, N % STEP == 0, None),
    "over rows": (lambda ends: ends[I] % STEP == 0, None, {I: Symbol("B")}),
    "over rows, as quotient": (lambda ends: ends[I] // STEP <= 3, None, {I: Symbol("B")}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rules")


@lru_cache(maxsize=1)
def ruled_each():
    """An operator for each rule."""
    return {rule: ruled(*args, name=f"ruled{i}") for i, (rule, args) in enumerate(RULES.items())}


@pytest.mark.parametrize("rule", RULES)
def test_what_divides_by_zero_does_not_hold(rule, folder):
    """With divisors of 0 and without, the same class and the same words in C++ as in Python."""
    op, together, found = ruled_each()[rule], tuple(ruled_each().values()), []
    for heads, shared, step in ((4, 2, 1), (4, 0, 2), (0, 0, 0), (4, 2, 0), (4, 2, 3)):
        query, key = np.zeros((2, heads, 1, 16), np.float16), np.zeros((2, shared, 8, 16), np.float16)
        call = {"query": query, "key": key, "value": key, "ends": [4, 6], "step": step}
        found.append(told(op, call))
        assert checked(op, call, folder, together)[:2] == found[-1], (heads, shared, step)
    assert len(set(found)) > 1 or rule == "in the scope", found


def test_guards_stand_in_front_of_what_divides():
    assert str(guarded(N % K == 0)) == "K != 0 and N % K == 0"
    assert str(guarded(N % 16 == 0)) == "N % 16 == 0"
    assert guarded((STEP == 0) | (N % STEP == 0)).evaluate({"step": 0, "N": 4})
    assert not guarded(N // (K // STEP) < 3).evaluate({"step": 0, "N": 4, "K": 4})


@pytest.mark.sweep(fast=1)
@pytest.mark.parametrize(("rows", "heads"), [(0, 4), (2, 0)])
def test_an_empty_call_is_a_launch_of_one_block(rows, heads, tmp_path):
    """Nothing is computed: the contract takes it, the shape follows, and one block finds no work."""
    operator = ruled(N % K == 0)
    call = {
        "query": np.zeros((rows, heads, 1, 16), np.float16),
        "key": np.zeros((rows, 2, 8, 16), np.float16),
    }
    call["value"] = call["key"]
    assert checked(operator, call, tmp_path)[:2] == told(operator, call) == ("", "")
    made = op_host(operator, tmp_path, KernelRequest(dtypes=("float16",), head_sizes=(16,)))
    got = made.tile(call, 24)
    assert got["blocks"] == 1 and got["workspace"] == 16 << 20
    assert {name for name, value in got["data"].items() if value} == {"key", "blocks"}
    assert made.infer(call)[0] == ("float16", call["query"].shape)
    for backend in ("reference", "tile", "emulator"):
        assert operator(**call, backend=backend).shape == call["query"].shape


@pytest.mark.parametrize("rows", [0, 2])
def test_one_block_without_work_ends(rows):
    """Whatever the arguments are: the kernel reads nothing and writes nothing."""
    operator = ruled(N % K == 0)
    query, key = np.ones((rows, 4, 1, 16), np.float16), np.ones((rows, 2, 8, 16), np.float16)
    launch = prepare(operator.bind(query=query, key=key, value=key), 24)
    assert launch.blocks == (rows * 2 or 1)
    folder = execute.written(launch.compiled)
    plan = execute.plan_of(launch, folder)
    tiling = np.zeros_like(plan.tiling)
    tiling.view(np.int64)[0] = plan.key
    before = [each.copy() for each in launch.outputs()]
    kernel = emulator.build(folder / "op_kernel" / "ruled_custom.cpp", entry="ruled_custom")
    kernel.run(1, execute.arguments_of(launch, tiling), tiling_key=plan.key).raise_for_findings()
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, launch.outputs(), strict=True))


def test_a_contract_that_refuses_empty_calls_does_so_everywhere(tmp_path):
    """With the class that its document names."""
    operator, cache = ops.incre_flash_attention, [np.zeros((0, 10, 32), np.float16)]
    call = {"query": np.zeros((0, 1, 64), np.float16), "key": cache, "value": cache}
    call |= {"num_heads": 4, "num_key_value_heads": 2}
    wanted = told(operator, call)
    assert wanted[0] == "EmptyTensorError" and checked(operator, call, tmp_path)[:2] == wanted
    with pytest.raises(UserError, match="the nearest legal value of B is 1"):
        operator(**call, backend="emulator")


@pytest.mark.parametrize("name", shipped_names())
def test_limits_of_the_target_are_checked_on_the_host(name):
    """Whatever kernels need beyond the contract, for every mode of the operator."""
    for operator in (getattr(ops, name), *getattr(ops, name).modes):
        lines = "\n".join(check_text(names_of(operator)).target.lines)
        for rule in (each for each in operator.constraints if each.target):
            assert f"{rule.subject}: {rule.text}" in lines
        assert lines.count("return Violation(") == sum(rule.target for rule in operator.constraints)


def test_a_call_beyond_the_target_is_refused_alike(tmp_path):
    operator = ops.incre_flash_attention
    query = np.zeros((1, 1, 257 * 16), np.float16)
    cache = [np.zeros((1, 2, 257 * 16), np.float16)]
    call = {"query": query, "key": cache, "value": cache, "num_heads": 257, "num_key_value_heads": 257}
    wanted = told(operator, call)
    assert wanted[0] == "TargetLimitError" and checked(operator, call, tmp_path)[:2] == wanted
    near = call | {"query": query[..., :4096], "key": [cache[0][..., :4096]], "value": [cache[0][..., :4096]]}
    near |= {"num_heads": 256, "num_key_value_heads": 256}
    assert checked(operator, near, tmp_path)[:2] == told(operator, near) == ("", "")
