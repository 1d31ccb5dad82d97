"""The judgement of one backend on one call: whose results they are, what ends a run, what a miss says."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from attndsl import ops
from attndsl.base.disk_cache import CacheNotWritable
from attndsl.base.errors import InternalError, OutsideError, UserError
from attndsl.base.provenance import note, noted
from attndsl.base.source_location import SourceLine
from attndsl.campaign import judging
from attndsl.campaign.judging import ENGINES, Wanted, bound_of, judge, oracle
from attndsl.campaign.results import BEYOND_TARGET, MEASURED, MISS, NOT_LOWERED, PASS, BackendResult
from attndsl.emulator.errors import CompilerMissing, EmulatorNotCompiled, WrongCompiler
from attndsl.lowering.errors import NotLowered
from attndsl.reference import run as reference
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.spec.errors import TargetLimitError
from attndsl.verify.cases.cases import Stream
from attndsl.verify.cases.effects import effective_features
from attndsl.verify.judge import benchmark
from attndsl.verify.judge.compare import LEVELS, Comparison, Errors, Ratios
from attndsl.verify.judge.golden import Golden, Importance, Result
from attndsl.verify.space.argument_roles import ArgumentRoles
from attndsl.verify.space.values import FILL, PROBE, SATURATED, SUNK
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_call, decode_spec

BACKENDS = ("reference", "tile", "emulator")
TWO_RESULTS = """
r = attend.softmax(s) @ attend.rows(value)
op.output("first", r, like=query)
op.output("second", r * 2.0, like=query)
"""


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Call:
    operator = decode_spec(tmp_path_factory.mktemp("one"), DECODE_SCORES, DECODE_RESULT)
    return operator.bind(**decode_call(t=20, d=16))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Call:
    operator = decode_spec(tmp_path_factory.mktemp("two"), DECODE_SCORES, TWO_RESULTS)
    return operator.bind(**decode_call(t=20, d=16))


def wanted(call: Call, reach: int = 1) -> Wanted:
    return Wanted(oracle(call), benchmark.run(call), LEVELS[0], reach)


def judged(
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
    *,
    backend: str = "tile",
    change: Callable[[list[Array]], object] = lambda outputs: None,
    findings: tuple[str, ...] = (),
    engines: tuple[str, ...] | None = None,
    touch: Callable[[Call], object] = lambda call: None,
) -> BackendResult:
    """The judgement of the right results, changed, by these engines or by the backend's own."""

    def run(own: Call) -> Any:
        with noted():
            outputs = [each.copy() for each in reference.run(own)]
        change(outputs)
        touch(own)
        for each in (ENGINES[backend],) if engines is None else engines:
            note(each)
        return tuple(outputs), findings

    monkeypatch.setitem(judging._BACKENDS, backend, run)
    return judge(call, backend, wanted(call))


# Whose results ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_computes_alone(monkeypatch: pytest.MonkeyPatch, call: Call, backend: str) -> None:
    """Right numbers of anybody else, of the oracle, of several or of nobody are no results."""
    names = {"reference in float32", "reference in float64", "tile interpreter", "emulator"}
    assert names == {*ENGINES.values(), "reference in float64"}
    found = judged(monkeypatch, call, backend=backend)
    assert (found.status, found.message, found.backend) == (PASS, "", backend)
    for other in sorted(names - {ENGINES[backend]}):
        for engines in ((other,), (ENGINES[backend], other), (other, ENGINES[backend])):
            found = judged(monkeypatch, call, backend=backend, engines=engines)
            assert found.status == MISS and f"no results of the {backend} backend" in found.message
            assert f"the {other}" in found.message
    nobody = judged(monkeypatch, call, backend=backend, engines=())
    assert nobody.status == MISS and "nothing ran" in nobody.message


def test_each_backend_is_run_by_its_name(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    """And each says itself what computes; only cases for a launch of one's own pass an ``execute``."""
    asked: list[str] = []
    monkeypatch.setattr("attndsl.api.backends.run_checked", None)
    for backend in BACKENDS:
        assert judging._BACKENDS[backend].keywords == {"backend": backend}  # type: ignore[attr-defined]
        result = judged(monkeypatch, call, backend=backend)
        asked.append(result.backend)
        monkeypatch.undo()
    assert asked == list(BACKENDS) == list(judging._BACKENDS)
    with noted() as engines:
        judging._BACKENDS["reference"](call)
    assert engines == [ENGINES["reference"]]
    found = judge(call, "tile", wanted(call))
    assert (found.status, found.message) == (PASS, "")
    assert found.facts is not None and found.facts.tiles == 1
    assert judge(call, "reference", wanted(call)).facts is None


def test_a_launch_of_ones_own_is_the_emulators_alone(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    ran = []

    def execute(launch: Any) -> Any:
        ran.append(launch)
        return SimpleNamespace(first_findings=lambda: ("a finding",))

    launch = SimpleNamespace(outputs=lambda: ("outputs",))
    monkeypatch.setattr(judging, "prepare", lambda _: launch)
    assert judging._run(call, "emulator", cast("Any", execute)) == (("outputs",), ("a finding",))
    assert ran == [launch]
    for backend in BACKENDS:
        monkeypatch.setitem(judging._BACKENDS, backend, lambda _, told=backend: ((told,), ()))
        if backend != "emulator":
            assert judging._run(call, backend, cast("Any", execute)) == ((backend,), ())
        assert judging._run(call, backend, None) == ((backend,), ())
    assert ran == [launch]


def test_the_oracle_computes_in_float64_or_is_none(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    with noted() as engines:
        found = oracle(call)
    assert engines == [] and found.results[0].values.dtype == np.float64
    plain = judging.golden
    for said in ((), ("reference in float32",), ("tile interpreter",), ("emulator",)):

        def another(of: Call, said: tuple[str, ...] = said) -> Golden:
            with noted():
                made = plain(of)
            for each in said:
                note(each)
            return made

        monkeypatch.setattr(judging, "golden", another)
        with pytest.raises(InternalError, match=said[0] if said else "nothing"):
            oracle(call)


# What ends a run, and what is a miss ------------------------------------------------------------------------


def raising(error: Exception) -> Callable[[Call], Any]:
    def run(call: Call) -> Any:
        raise error

    return run


@pytest.mark.parametrize(
    "error",
    [
        InternalError("broken"),
        CompilerMissing(("g++",)),
        WrongCompiler("cc", "none"),
        CacheNotWritable("folder", "full"),
        EmulatorNotCompiled("header", "log"),
        OSError(errno.ENOSPC, "full"),
        OSError(errno.EDQUOT, "full"),
    ],
    ids=lambda error: f"{type(error).__name__} {error}"[:40],
)
@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_what_says_nothing_about_the_case_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, call: Call, backend: str, error: Exception
) -> None:
    monkeypatch.setitem(judging._BACKENDS, backend, raising(error))
    with pytest.raises(type(error)) as raised:
        judge(call, backend, wanted(call))
    assert raised.value is error


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (NotLowered("no rule", SourceLine("spec.py", 3)), NOT_LOWERED, "no rule"),
        (TargetLimitError("too large"), BEYOND_TARGET, "too large"),
        (UserError("wrong"), MISS, "UserError: wrong"),
        (OutsideError("beyond"), MISS, "OutsideError: beyond"),
        (ValueError("odd"), MISS, "ValueError: odd (test_judging.py:"),
        (OSError(errno.ENOENT, "absent"), MISS, "absent (test_judging.py:"),
    ],
)
@pytest.mark.parametrize("backend", ["reference", "tile", "emulator"])
def test_what_a_backend_raises(
    monkeypatch: pytest.MonkeyPatch, call: Call, backend: str, error: Exception, status: str, told: str
) -> None:
    monkeypatch.setitem(judging._BACKENDS, backend, raising(error))
    found = judge(call, backend, wanted(call))
    assert (found.backend, found.status) == (backend, status) and told in found.message


def test_everything_that_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch, call: Call, two: Call) -> None:
    """With the name of the result where there are several; findings count though the result is right."""
    found = judged(monkeypatch, call, findings=("a race", "a leak"))
    assert found.status == MISS and found.message.startswith("a race; a leak") and found.error <= 1
    wrong = judged(monkeypatch, call, change=lambda outputs: outputs[0].__setitem__((0, 0, 0, 0), 9))
    assert wrong.status == MISS and wrong.message.startswith("off by") and wrong.error > 1
    both = judged(monkeypatch, two, change=lambda outputs: outputs[1].__setitem__((0, 0, 0, 0), 9))
    assert both.status == MISS and both.message.startswith("second: off by") and "first" not in both.message
    missing = judged(monkeypatch, two, change=lambda outputs: outputs.pop())
    assert missing.status == MISS and "1 results instead of 2" in missing.message
    shape = judged(monkeypatch, call, change=lambda outputs: outputs.__setitem__(0, outputs[0][:1]))
    assert shape.status == MISS and "shape" in shape.message


def test_the_worst_of_several_results_is_told(monkeypatch: pytest.MonkeyPatch, two: Call) -> None:
    def change(outputs: list[Array]) -> None:
        outputs[0][...] += np.float16(0.001)

    plain, off = judged(monkeypatch, two), judged(monkeypatch, two, change=change)
    assert plain.ratios is not None and off.ratios is not None and off.ratios.mere > plain.ratios.mere
    assert plain.errors is not None and off.errors is not None and plain.benchmark == off.benchmark
    assert off.errors.total > plain.errors.total
    assert plain.errors.count + plain.errors.small == 2 * two.arrays["query"].size
    assert off.error > plain.error


def test_worst_ratios_and_sums() -> None:
    one, other = Ratios(1, 5, 2, 7, 0, 4, 1), Ratios(3, 4, 1, 9, 2, 3, 0)
    assert judging._worst([one, other]) == Ratios(3, 5, 2, 9, 2, 4, 1)
    assert judging._worst([]) is None and judging._worst([one]) == one
    sums = [Errors(count=1, total=2.0), None, Errors(count=3, total=0.5)]
    assert judging._sum(sums) == Errors(count=4, total=2.5)
    assert judging._sum([None]) is None and judging._sum([]) is None


ADVICE = "declare a range of"
OPEN = """
gain = op.param("gain", float)
op.output("out", attend.softmax(s) @ attend.rows(value) * gain, like=query)
"""


def test_only_misses_of_the_reference_advise_to_declare_ranges(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    call = decode_spec(tmp_path, DECODE_SCORES, OPEN).bind(**decode_call(t=9, d=16), gain=2.0)
    for backend in BACKENDS:
        right = judged(monkeypatch, call, backend=backend)
        wrong = judged(monkeypatch, call, backend=backend, change=lambda o: o[0].__setitem__(0, 9))
        assert right.status == PASS and not right.message
        assert (ADVICE in wrong.message) is (backend == "reference")


# Arguments afterwards ---------------------------------------------------------------------------------------


def test_arguments_stay_as_they_were(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    """Of the call itself in any case: a backend has copies."""
    before = call.arrays["key"].copy()
    found = judged(monkeypatch, call, touch=lambda own: own.arrays["key"].__setitem__(0, 1))
    assert found.status == MISS and "input key was changed" in found.message
    assert (call.arrays["key"] == before).all()


def arrays(**named: list[float]) -> Any:
    return {name: np.array(values, np.float16) for name, values in named.items()}


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ([5.0, 2.0, 9.0], ""),
        ([1.0, 2.0, 9.0], "1 elements differ after the call, first [0]: not updated"),
        ([5.0, 7.0, 9.0], "1 elements differ after the call, first [1]: written though it should stay"),
        ([5.0, 2.0, 8.0], "1 elements differ after the call, first [2]: updated to another value"),
        ([5.0, 7.0, 3.0], "2 elements differ after the call, first [1]: written though it should stay"),
        ([5.0, 2.0, np.nan], "1 elements differ after the call, first [2]: updated to another value"),
    ],
)
def test_updated_arguments_are_compared_bit_by_bit(after: list[float], told: str) -> None:
    call = SimpleNamespace(arrays=arrays(cache=[1, 2, 3], other=[4]), lists={})
    own = SimpleNamespace(arrays=arrays(cache=after, other=[4]), lists={})
    golden = Golden((), arrays(cache=[5, 2, 9]))
    found = judging._arguments_after(cast("Call", call), cast("Call", own), golden)
    assert found == ([f"cache: {told}"] if told else [])


def test_tensors_of_lists_stay_as_they_were() -> None:
    def listed(*values: float) -> Any:
        return SimpleNamespace(arrays={}, lists={"key": tuple(np.array([each]) for each in values)})

    none = Golden((), {})
    assert judging._arguments_after(listed(1, 2), listed(1, 2), none) == []
    for after in ((1, 3), (3, 2)):
        assert judging._arguments_after(listed(1, 2), listed(*after), none) == ["input key was changed"]
    negative = judging._arguments_after(listed(0.0), listed(-0.0), none)
    assert negative == ["input key was changed"], "the sign of a zero, too"


# By what ----------------------------------------------------------------------------------------------------


def case_of(data: str) -> Any:
    return SimpleNamespace(data=data)


def test_limits_of_ratios_by_data(call: Call) -> None:
    """All for a random sample, means for saturated softmax, squares of probes by the most lenient level."""
    level = LEVELS[0]
    assert judging._level(case_of("normal"), call, level) == level
    assert judging._level(case_of(SUNK), call, level) == level, "nothing is merged"
    assert judging._level(case_of(SATURATED), call, level) == level.of_means()
    assert judging._level(case_of(PROBE), call, level) == LEVELS[-1].of_squares()
    assert all(judging._level(case_of(each), call, None) is None for each in ("normal", PROBE))


def test_limits_of_ratios_by_computation() -> None:
    """Of merged parts sunk scores are no sample; of int8 the squares alone are judged."""
    level, rows = LEVELS[0], np.zeros((40, 32), np.float16)
    merged = ops.relay_attention.bind(
        query=rows[:1], key=[rows], value=[rows], keyShare=[rows], valueShare=[rows], kvSeqLen=[9],
        kvShareMap=[0], kvShareLen=[4], seqLen=[1], attentionMask=rows[:1], headNum=2,
    )  # fmt: skip
    assert judging._level(case_of(SUNK), merged, level) == level.of_means()
    assert judging._level(case_of("normal"), merged, level) == level
    assert judging._level(case_of("normal"), quantized(), level) == level.of_squares()
    assert judging._level(case_of(SATURATED), quantized(), level) == level.of_squares()
    assert judging._level(case_of(PROBE), quantized(), level) == LEVELS[-1].of_squares()


def quantized(keys: int = 9) -> Call:
    """Keys and values in int8, dequantized."""
    rows = np.ones((1, 2, keys, 16), np.int8)
    return ops.incre_flash_attention.bind(
        np.ones((1, 2, 1, 16), np.float16), key=[rows], value=[rows],
        antiquant_scale=np.ones((2, 2, 1, 16), np.float16), num_heads=2, num_key_value_heads=2,
        input_layout="BNSD",
    )  # fmt: skip


def test_bounds_are_those_of_the_contract(call: Call) -> None:
    assert bound_of(call, "out") == 2.0**-8
    (name,) = (each.name for each in quantized().operator.outputs)
    assert bound_of(quantized(), name) == 5e-3, "of dequantized keys"
    assert bound_of(quantized(2048), name) == 2.0**-7


def test_more_keys_of_a_group_than_of_a_row_count() -> None:
    def sized(**extents: int) -> Any:
        return SimpleNamespace(extents=extents)

    assert judging._keys(sized(T=5, U=9, G=1)) == 9 and judging._keys(sized(T=9, U=5, G=1)) == 9
    assert judging._keys(sized(T=5, U=9)) == 5, "packed tokens are no keys of a row"
    assert judging._keys(sized()) == 1


def test_how_far_the_benchmark_may_extend_a_bound(tmp_path: Path, call: Call) -> None:
    """Of probes alone, and farther where weights are no powers of two."""
    assert judging._reach(case_of("normal"), call) == 1 and judging._reach(case_of(PROBE), call) == 4
    declared = 'bias = op.input("bias", "B N 1 T", dtype=query, axes="B N Q T")'
    scores = "s = attend.scores(query, attend.rows(key)) * 0.2 + bias"
    biased = decode_spec(tmp_path, scores, DECODE_RESULT, declared=declared)
    bias = np.zeros((2, 4, 1, 20), np.float16)
    found = biased.bind(**decode_call(t=20, d=16), bias=bias)
    assert judging._reach(case_of(PROBE), found) == 8 and judging._reach(case_of("normal"), found) == 1


@pytest.mark.parametrize("role", ["bias", "slope", "score factor", "earlier partial", "out factor", "mask"])
def test_what_makes_weights_of_probes_no_powers_of_two(
    monkeypatch: pytest.MonkeyPatch, call: Call, role: str
) -> None:
    monkeypatch.setattr(judging.argument_roles, "roles_of", lambda graph: ArgumentRoles({"x": role}))
    exact = role in ("out factor", "mask")
    assert judging._reach(case_of(PROBE), call) == (4 if exact else 8)


def test_a_result_is_held_to_its_own_bound(call: Call) -> None:
    """Extended by what the benchmark is off, to four bounds of a probe at most."""
    values = np.ones(call.arrays["query"].shape)
    exact, bound = np.zeros(values.shape, bool), 2.0**-8
    want = Result("out", values, exact, values, values)
    for away, off, reach, ok in ((0, 1, 1, True), (0, 2, 1, False), (9, 4, 4, True), (9, 5, 4, False)):
        base = (values + away * bound).astype(np.float16)
        told = Wanted(Golden((want,), {}), (base,), None, reach)
        actual = (values + off * bound).astype(np.float16)
        assert judging._compared(call, actual, want, base, told).ok is ok, (away, off)
        assert judging._compared(call, base, replace(want, values=base.astype(float)), base, told).ok


def test_indices_are_judged_by_what_they_select(call: Call) -> None:
    values, golden = np.array([[3.0, 1.0, 2.0]]), np.array([[0, 2]])
    importance = Importance(values, np.full((1, 3), 1e-6), None, np.array([3]))
    want = Result("out", golden, np.zeros((1, 2), bool), importance=importance)
    told = Wanted(Golden((want,), {}), (None,), None)
    for actual, ok in (([[0, 2]], True), ([[0, 1]], False), ([[2, 0]], False)):
        assert judging._compared(call, np.array(actual, np.int32), want, None, told).ok is ok


def test_what_is_right_and_worth_a_word_is_noted(monkeypatch: pytest.MonkeyPatch, two: Call) -> None:
    said = iter(["off by one", ""])
    monkeypatch.setattr(
        judging, "_compared", lambda *_: Comparison(0.0, 1.0, None, None, "int8", (), next(said))
    )
    assert judged(monkeypatch, two).notes == ("off by one",)


# The record of a case ---------------------------------------------------------------------------------------

RECORDED = """
scale = op.param("scale", float, default=1.0)
kind = op.param("kind", int, choices=(1, 2), default=1)
gain = op.param("gain", float)
op.output("out", attend.softmax(s * scale) @ attend.rows(value) * gain, like=query)
"""


def test_a_case_is_recorded_as_it_is(tmp_path: Path) -> None:
    """Sizes that tell something, layouts, the parameters and those that a user would have to state."""
    operator = decode_spec(tmp_path, DECODE_SCORES, RECORDED)
    case = Stream(operator).take(1)[0]
    row = judging.run_case(case, ("reference",))
    call = case.call()
    assert (row.operator, row.mode, row.seed, row.case) == ("small_decode", "small_decode", 0, 0)
    sizes = call.extents
    assert row.shape == " ".join(f"{axis}{sizes[axis]}" for axis in "BNKTD")
    assert row.layout == " ".join(dict.fromkeys(key for key in call.layouts.values() if key))
    assert row.parameters == call.params and row.dtype == row.computes_in == call.dtype
    defaults = {"scale": 1.0, "kind": 1}
    assert row.stated == tuple(n for n in ("scale", "kind", "gain") if call.params[n] != defaults.get(n))
    assert [each.backend for each in row.results] == ["reference"] and row.data == case.data
    assert set(row.declared) <= set(row.features) and set(row.effective) <= set(row.declared)
    assert row.effective == tuple(sorted(effective_features(call, row.declared)))
    assert row.situations and all(isinstance(held, bool) for held in row.situations.values())
    assert "" not in row.layout.split(" ") or not row.layout


def test_what_matters_in_a_case_is_asked_once_for_each_case(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Kept under all that a case is made of: another seed, number, attempt, value or element is another."""
    case = Stream(decode_spec(tmp_path, DECODE_SCORES, RECORDED)).take(1)[0]
    call = case.call()
    others = [
        replace(case, seed=7),
        replace(case, number=7),
        replace(case, attempt=7),
        replace(case, assignment={**case.assignment, "scale": 77.0}),
        replace(case, integers={"length": np.array([7])}),
        replace(case, integers={"length": np.array([8])}),
        replace(case, integers={"length": np.array([8], np.int32)}),
        replace(case, space=replace(case.space, operator=ops.relay_attention)),
    ]
    told = []
    monkeypatch.setattr(
        judging, "stored_effects", lambda operator, key, find: told.append(repr(key)) or find()
    )
    assert judging._effective(case, call, {"dtype float16"}) == {"dtype float16"}
    for other in others:
        judging._effective(other, call, set())
    judging._effective(replace(case), call, set())
    assert len(set(told)) == len(others) + 1 and told[0] == told[-1]


def test_probes_are_judged_by_the_size_of_their_rows(call: Call) -> None:
    """An element near zero has the rounding errors of its neighbours, where large terms cancel."""
    (spec,) = call.operator.outputs
    values = np.full(call.arrays["query"].shape, 100.0)
    values[..., 0] = 0.0
    exact, ones = np.zeros(values.shape, bool), np.maximum(1, np.abs(values))
    want = Result(spec.name, values, exact, ones, np.full(values.shape, 97.0))
    off = values.copy()
    off[..., 0] = 0.2
    base = values.astype(np.float16)
    for reach, ok in ((1, False), (4, True)):
        told = Wanted(Golden((want,), {}), (base,), None, reach)
        found = judging._compared(call, off.astype(np.float16), want, base, told)
        assert found.ok is ok


def test_quantized_results_are_judged_before_rounding(call: Call) -> None:
    """Off by one at a boundary between two integers, up to what the benchmark says; nowhere else."""
    unrounded = np.array([[1.5, 2.0, -3.5]])
    golden, step = np.rint(unrounded).astype(np.int8), np.ones((1, 3))
    want = Result("out", golden, np.zeros((1, 3), bool), step, step, unrounded, step)
    for actual, base, reach, ok in (
        ([[1, 2, -4]], unrounded, 1, True),
        ([[1, 3, -4]], unrounded, 1, False),
        ([[1, 1, -4]], unrounded, 1, False),
        ([[1, 2, -2]], unrounded, 1, False),
        ([[1, 3, -4]], unrounded + 0.3, 200, True),
        ([[1, 3, -4]], unrounded + 0.3, 1, False),
        ([[1, 3, -4]], unrounded, 200, False),
    ):
        told = Wanted(Golden((want,), {}), (base,), None, reach)
        found = judging._compared(call, np.array(actual, np.int8), want, base, told)
        assert found.ok is ok, (actual, reach)
    slack = replace(want, slack=np.array([[0.0, 0.6, 0.0]]))
    told = Wanted(Golden((slack,), {}), (unrounded,), None)
    assert judging._compared(call, np.array([[2, 3, -4]], np.int8), slack, unrounded, told).ok
    assert not judging._compared(call, np.array([[2, 4, -4]], np.int8), slack, unrounded, told).ok


def test_elements_that_a_score_beyond_float16_makes_are_right_whatever_they_are() -> None:
    """Others keep their slack, as it is."""
    values = np.array([1.0, 2.0, 3.0])
    want = Result("out", values, values == 0, values, slack=np.array([np.nan, 0.5, 0.0]))
    found, told = judging._specified(np.array([np.inf, 7.0, 3.0], np.float16), want)
    assert found.tolist() == [1, 7, 3] and told.slack is not None and told.slack.tolist() == [0, 0.5, 0]
    whole = replace(want, slack=np.zeros(3))
    assert judging._specified(found, whole) == (found, whole)


@pytest.mark.parametrize(
    ("extents", "shown"),
    [
        ({"B": 1, "Q": 1, "D": 16, "E": 16}, "BD"),
        ({"B": 1, "Q": 2, "D": 16, "E": 8}, "BQDE"),
        ({"D": 16, "E": 16, "P": 3, "R": 4, "W": 0}, "D"),
        ({"D": 16, "E": 16, "P": 3, "R": 4, "W": 2}, "DPRW"),
    ],
)
def test_sizes_that_tell_something_are_shown(extents: dict[str, int], shown: str) -> None:
    assert "".join(r for r in "BQDEPRW" if r in extents and judging._shown(extents, r)) == shown


def test_reserved_bytes_are_told_as_numbers() -> None:
    assert judging._plain(b"\x01\x02") == [1, 2] and judging._plain("a") == "a" and judging._plain(3) == 3


def test_what_results_are_judged_by_besides(call: Call) -> None:
    """The level's name, or none where the ratios are measured only."""
    found = wanted(call)
    assert judging._accuracy(call, found) == LEVELS[0].name
    assert judging._accuracy(call, replace(found, level=None)) == MEASURED


def test_parameters_that_a_call_states(tmp_path: Path) -> None:
    """All but those at their defaults."""
    declared = 'scale = op.param("scale", float, default=0.125)\nmust = op.param("must", int, ge=1)'
    scores = "s = attend.scores(query, attend.rows(key)) * scale * must"
    operator = decode_spec(tmp_path, scores, DECODE_RESULT, declared=declared)
    (case,) = Stream(operator).take(1)
    for scale, stated in ((0.125, ("must",)), (0.5, ("scale", "must"))):
        own = {**case.assignment, "scale": scale, FILL: "normal"}
        some = replace(case, assignment=own)
        row = judging.run_case(some, ("reference",))
        assert row.stated == stated and row.parameters["scale"] == scale
