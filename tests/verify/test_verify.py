"""The whole way: cases on all backends, a broken backend seen, and what is reported."""

import io
import itertools
import json
import math
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from attndsl.api import ops
from attndsl.base.disk_cache import CacheNotWritable
from attndsl.base.errors import InternalError
from attndsl.base.source_location import UNKNOWN_LINE
from attndsl.campaign import judging, run_case, verify
from attndsl.campaign.results import BEYOND_TARGET, MISS, NOT_LOWERED, PASS, Verification
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator.errors import (
    CompileFailed,
    CompilerMissing,
    EmulatorNotCompiled,
    KernelCrashed,
)
from attndsl.lowering.errors import NotLowered
from attndsl.reference import run as reference
from attndsl.reference.threads import cores
from attndsl.spec.errors import TargetLimitError
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import Stream, stream_of
from attndsl.verify.data.integers import Integers
from attndsl.verify.judge import golden as golden_module
from attndsl.verify.judge.compare import LEVELS
from attndsl.verify.judge.golden import Golden, Result
from attndsl.verify.space.solve import solve
from attndsl.verify.space.values import FILL, RECIPROCAL_ROOT, WORKLOAD
from tests.support.disguise import posing_as

operator = ops.incre_flash_attention
compiler = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="needs a compiler")


def drawn(stream, most):
    """The cases of a stream, made one by one."""
    return (stream.take(count)[-1] for count in range(1, most + 1))


def filled(case, how):
    """The case with its tensors filled in this way."""
    return replace(case, assignment={**case.assignment, FILL: how})


@pytest.fixture(scope="module")
def stream():
    return stream_of(operator)


@pytest.fixture(scope="module")
def probe(stream):
    """A small case that shows every key."""

    def wanted(case):
        result = reference.run(case.call())[0]
        return result.size > 100 and result.dtype != np.int8 and result.all()

    return next(case for each in drawn(stream, 40) if wanted(case := filled(each, "probe")))


def replaced(monkeypatch, backend, function):
    monkeypatch.setitem(judging._BACKENDS, backend, posing_as(backend, function))


def altered(change):
    """A backend that computes the right result and then changes it."""

    def run(call):
        outputs = [output.copy() for output in reference.run(call)]
        change(outputs[0])
        return tuple(outputs), []

    return run


def work_of(case):
    """About what a run takes: products, and elements that are filled and compared."""
    call = case.outline()
    products = math.prod(call.extents[axis] for axis in "BNTD")
    return products + 64 * (case.result_elements() + sum(array.size for array in call.arrays.values()))


def lowers(case):
    try:
        prepare(case.call())
    except NotLowered:
        return False
    return True


@compiler
def test_three_backends_agree_on_generated_cases():
    """On small cases that have a kernel."""
    cases = sorted(stream_of(operator).take(8), key=work_of)
    numbers = list(itertools.islice((case.number for case in cases if lowers(case)), 3))
    found = verify(operator, only=numbers)
    messages = [(row.case, result.message) for row in found.misses for result in row.results]
    assert found.ok and len(found.rows) == len(numbers) == 3, messages
    for backend in ("reference", "tile", "emulator"):
        assert found.counts(backend) == {PASS: len(numbers)}
        assert all(each.level == "L2" for each in found.pooled(backend).values())


@pytest.mark.parametrize(
    ("name", "count"), [("relay_attention", 2), ("nsa_compress_attention", 2), ("self_attention", 3)]
)
def test_the_reference_agrees_with_float64_for_every_operator(name, count):
    """Committed records hold it of more than a hundred cases each."""
    found = verify(getattr(ops, name), cases=count, backends=())
    assert [(row.case, row.results[0].message) for row in found.misses] == []
    assert found.counts("reference") == {PASS: count}


@pytest.mark.parametrize(
    ("backend", "who", "told"),
    [
        ("tile", "reference", "reference in float32 ran"),
        ("reference", "tile", "tile interpreter ran"),
        ("tile", "oracle", "reference in float64 ran"),
        ("tile", "nobody", "nothing ran"),
        ("tile", "both", "tile interpreter and the reference in float32 ran"),
    ],
)
def test_results_of_another_backend_or_the_oracle_are_no_results(stream, monkeypatch, backend, who, told):
    """Right numbers all the same: only who computed them tells them apart."""
    case = next(each for each in drawn(stream, 40) if lowers(each))
    call = case.call()
    wanted = judging.wanted_of(case, call)
    own = {name: judging._BACKENDS[name] for name in ("reference", "tile")}
    told_before = own["reference"](case.call())

    def both(call):
        return own["tile"](call)[0], own["reference"](call)[1]

    runs = {
        **own,
        "oracle": lambda call: (reference.run(call, precision="float64"), ()),
        "nobody": lambda call: told_before,
        "both": both,
    }
    assert judging.judge(call, backend, wanted).status == PASS
    monkeypatch.setitem(judging._BACKENDS, backend, runs[who])
    found = judging.judge(call, backend, wanted)
    assert found.status == MISS and f"no results of the {backend} backend" in found.message
    assert told in found.message


def test_an_oracle_in_float32_is_no_oracle(probe, monkeypatch):
    monkeypatch.setattr(golden_module, "_FLOAT64", np.dtype(np.float32))
    with pytest.raises(InternalError, match="golden results are computed by the reference in float32"):
        judging.wanted_of(probe, probe.call())


def test_integer_queries_are_pooled_by_the_dtype_of_their_results():
    """Thresholds are those of floats; the table shows what is passed."""
    space = next(
        member.space
        for member in Stream(ops.self_attention).members
        if "quantType" in member.space.operator.specialization_parameters
    )
    rng = np.random.default_rng(0)
    assignment = solve(space, rng, {"quantType": 3, "outDataType": 27, FILL: "normal", WORKLOAD: "any"})
    case = Case(ops.self_attention, space, 0, 0, assignment, Integers(space, assignment, rng).solve())
    row = run_case(case, ("reference",))
    assert (row.dtype, row.computes_in, row.ok) == ("int8", "bfloat16", True)
    found = Verification(
        operator="self_attention", seed=0, backends=("reference",), rows=(row,), excluded=(), seconds=0.0
    )
    assert list(found.to_json()["backends"]["reference"]["pooled"]) == ["bfloat16"]


WANTED = {
    "incre_flash_attention": 300,
    "relay_attention": 300,
    "self_attention": 300,
    "nsa_compress_attention": 200,
}


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(WANTED))
def test_many_cases_on_the_reference(name):
    found = verify(getattr(ops, name), cases=WANTED[name], seed=1, backends=())
    found.print()
    assert found.ok
    cases = found.distribution()
    for share in ("beyond the ring", "several tasks a core"):
        assert 3 * cases[share] >= WANTED[name]
    assert 3 * cases["split keys"] >= WANTED[name] - cases["keys never split"]


@pytest.mark.long
@compiler
@pytest.mark.parametrize("name", sorted(WANTED))
def test_many_cases_on_all_backends(name):
    """What lowers agrees; how many cases were executed is in the record, see attndsl list."""
    found = verify(getattr(ops, name), cases=WANTED[name], seed=0)
    found.print()
    assert found.ok


def change_one(output):
    flat = output.reshape(-1)
    flat[flat.size // 2] += np.asarray(0.5, output.dtype)


def make_nan(output):
    output.reshape(-1)[-1] = np.nan


def drop_a_head(output):
    output.reshape(-1)[: output.size // 2] = 0


@pytest.mark.parametrize("biased", [False, True])
def test_probes_whose_weights_a_bias_makes_inexact_may_differ_twice_as_far(stream, biased):
    case = next(each for each in drawn(stream, 40) if ("pse_shift" in each.features) == biased)
    for how, reach in (("probe", 8 if biased else 4), ("normal", 1)):
        case = filled(case, how)
        assert judging._reach(case, case.call()) == reach


@pytest.mark.parametrize(
    ("reach", "away", "ok"), [(8, 0.02, True), (8, 0.04, False), (1, 0.003, True), (1, 0.02, False)]
)
def test_what_is_rounded_to_integers_is_bounded_as_other_results_are(reach, away, ok):
    """In a call of float16: a bound is 2^-8, the benchmark is off by 0.05, and ``away`` the distance of what
    is rounded from the middle of two integers."""
    query = np.ones((2, 2, 16), np.float16)
    rows = {"query": query, "key": query, "value": query, "seqLen": np.array([2], np.int32)}
    call = ops.self_attention.bind(**rows, calcType=3, headNum=2)
    unrounded, step = np.array([1.5 - away]), np.ones(1)
    result = Result("out", np.ones(1, np.int8), np.zeros(1, bool), step, step, unrounded, step)
    wanted = judging.Wanted(Golden((result,), {}), (), None, reach)
    plain, two = (unrounded + 0.05).astype(np.float32), np.full(1, 2, np.int8)
    assert judging._compared(call, two, result, plain, wanted).ok is ok


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
@pytest.mark.parametrize(("how", "ok"), [("probe", True), ("normal", False)])
def test_of_probes_an_element_near_zero_has_the_errors_of_its_row(stream, dtype, how, ok):
    """Off by less than a bound of its row, and four bounds of its own."""
    cases = drawn(stream_of(ops.relay_attention) if dtype is np.float16 else stream, 40)
    plain = (each for each in cases if not judging._dequantized(each.call()))
    case = filled(next(each for each in plain if each.call().dtype == "float16"), how)
    values = np.tile([6.0, -6.0, 0.0, 6.0], 8).reshape(2, 16)
    sizes, row_sizes = np.maximum(1, np.abs(values)), np.full(values.shape, 5.2)
    result = Result(case.operator.outputs[0].name, values, np.zeros(values.shape, bool), sizes, row_sizes)
    actual = values.copy()
    actual[0, 2] = 0.02 if dtype is np.float16 else 1
    if dtype is np.int8:
        unrounded, step = values + np.where(values, 0, 0.45), np.full(values.shape, 3.0)
        result = replace(result, unrounded=unrounded, step=step)
    reach = judging._reach(case, case.call())
    wanted = judging.Wanted(Golden((result,), {}), (), None, reach)
    base = (values if result.unrounded is None else result.unrounded).astype(np.float16)
    found = judging._compared(case.call(), actual.astype(dtype), result, base, wanted)
    assert found.ok is ok


@pytest.mark.parametrize("change", [change_one, make_nan, drop_a_head])
def test_a_wrong_result_is_a_miss(monkeypatch, probe, change):
    replaced(monkeypatch, "tile", altered(lambda output: None))
    assert run_case(probe, ("tile",)).ok
    replaced(monkeypatch, "tile", altered(change))
    row = run_case(probe, ("reference", "tile"))
    assert [result.status for result in row.results] == [PASS, MISS] and not row.ok


def test_findings_of_the_checks_are_a_miss_though_the_result_is_right(monkeypatch, probe):
    def run(call):
        return reference.run(call), ["racecheck/write_after_read at kernel.cpp:7 (block 0 AIV0): ..."]

    replaced(monkeypatch, "emulator", run)
    (result,) = run_case(probe, ("emulator",)).results
    assert result.status == MISS and "kernel.cpp:7" in result.message


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (KernelCrashed("it died of SIGSEGV"), MISS),
        (ZeroDivisionError("a bug of ours"), MISS),
        (CompileFailed("kernel.cpp", "error: no such type"), MISS),
        (NotLowered("Paged", UNKNOWN_LINE), NOT_LOWERED),
        (TargetLimitError("too many heads"), BEYOND_TARGET),
    ],
)
def test_errors(monkeypatch, probe, error, status):
    def run(call):
        raise error

    replaced(monkeypatch, "tile", run)
    row = run_case(probe, ("tile",))
    assert row.results[0].status == status and row.ok == (status != MISS)
    assert str(error) in row.results[0].message


@pytest.mark.parametrize(
    "error",
    [
        InternalError("a pass broke its rule"),
        CompilerMissing(("g++",)),
        CacheNotWritable("/cache", "it is read-only"),
        EmulatorNotCompiled("the emulator's core.cpp", "error: no such type"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_is_no_fault_of_a_case_ends_the_run_at_once(monkeypatch, error):
    ran, told = [], []

    def run(call):
        ran.append(call)
        raise error

    replaced(monkeypatch, "tile", run)
    with pytest.raises(type(error)) as caught:
        verify(operator, cases=8, backends=("tile",), progress=lambda done, total: told.append(done))
    assert caught.value is error and told == []
    assert 1 <= len(ran) <= cores() < 8 or len(ran) < 8 <= cores()  # one a thread at most


def test_a_changed_input_is_a_miss(monkeypatch, probe):
    def run(call):
        outputs = reference.run(call)
        call.arrays["query"].reshape(-1)[0] += 1
        return outputs, []

    replaced(monkeypatch, "tile", run)
    (result,) = run_case(probe, ("tile",)).results
    assert result.status == MISS and "query" in result.message


def test_a_missing_result_is_a_miss(monkeypatch, probe):
    replaced(monkeypatch, "tile", lambda call: ((), []))
    assert run_case(probe, ("tile",)).results[0].status == MISS


@pytest.fixture(scope="module")
def plain(stream):
    """A float16 case without any optional tensor."""
    stream.take(1)
    space, rng = stream.members[0].space, np.random.default_rng(0)
    pins = dict.fromkeys(map("given({})".format, space.optional), False)
    pins |= {"dtype(query)": "float16", "dtype(key)": "float16", "S": 257, "D": 64, WORKLOAD: "any"}
    found = (solve(space, rng, {**pins, "scale_value": RECIPROCAL_ROOT}) for _ in range(20))
    return Case(operator, space, 0, 0, next(each for each in found if each is not None), {})


def test_the_ratios_are_part_of_the_verdict(monkeypatch, plain):
    """Probabilities or results with fewer bits keep the elementwise bound, but not the ratios."""

    def blur(output):
        output *= np.asarray(1 + 2**-9, output.dtype)

    case = filled(plain, "normal")
    replaced(monkeypatch, "tile", altered(lambda output: None))
    assert run_case(case, ("tile",), LEVELS[0]).results[0].status == PASS
    replaced(monkeypatch, "tile", altered(blur))
    strict, measured = (run_case(case, ("tile",), level).results[0] for level in (LEVELS[0], None))
    assert measured.status == PASS and strict.status == MISS and "MERE" in strict.message


def test_one_element_that_cancels_is_no_miss_where_softmax_is_saturated(monkeypatch, plain):
    """The benchmark may be exact there; the means are judged still, and the elementwise bound."""

    def off_where_small(output):
        flat = output.reshape(-1)
        size = np.abs(flat.astype(np.float32))
        at = int(np.argmin(np.where(size > 2**-7, size, np.inf)))
        flat[at] *= np.asarray(1 + 2**-4, output.dtype)

    def blur(output):
        output *= np.asarray(1 + 2**-7, output.dtype)

    monkeypatch.setattr(judging.benchmark, "run", lambda call: reference.run(call))
    verdicts = {}
    for how, change in itertools.product(("extreme", "normal"), (off_where_small, blur)):
        replaced(monkeypatch, "tile", altered(change))
        (result,) = run_case(filled(plain, how), ("tile",)).results
        verdicts[how, change] = (result.status, "(means)" in result.message, "MERE" in result.message)
    assert verdicts["extreme", off_where_small] == (PASS, False, False)
    assert verdicts["normal", off_where_small][0] == MISS
    assert verdicts["extreme", blur] == (MISS, True, True)


def test_a_cache_must_be_updated_and_nothing_else(monkeypatch):
    cases = drawn(stream_of(ops.self_attention), 30)
    case = next(
        case for case in cases if case.space.operator.name == "self_attention" and "key" in case.features
    )
    updated = case.call().graph.updated()
    assert len(updated) == 2

    def forgetful(call):
        before = {name: call.arrays[name].copy() for name in updated}
        outputs = reference.run(call)
        call.arrays[updated[1]][...] = before[updated[1]]
        return outputs, []

    def careless(call):
        outputs = reference.run(call)
        unwritten = call.arrays[updated[0]].view(np.uint16)
        unwritten.reshape(-1)[-1] ^= 1
        return outputs, []

    assert run_case(case, ("reference",)).ok
    for backend, name in ((forgetful, updated[1]), (careless, updated[0])):
        replaced(monkeypatch, "tile", backend)
        (result,) = run_case(case, ("tile",)).results
        assert result.status == MISS and result.message.startswith(f"{name}: ")


def test_wrong_indices_are_a_miss(monkeypatch):
    cases = stream_of(ops.nsa_compress_attention).take(6)
    case = filled(min(filter(_selects, cases), key=work_of), "normal")

    def rotated(call):
        outputs = reference.run(call)
        return (outputs[0], np.roll(outputs[1], 1, axis=-1), *outputs[2:]), []

    replaced(monkeypatch, "tile", rotated)
    (result,) = run_case(case, ("tile",)).results
    assert result.status == MISS and result.message.startswith("topk_indices_out: ")


def _selects(case):
    """Whether it has tokens, and more than one block each that differ in their weight."""
    several = case.assignment["select_block_count"] > 1 and case.assignment["scale_value"] != 0.0
    return several and case.outline().extents["S"] > 0


# Reports -------------------------------------------------------------------------------------------


_BROKEN = {"tile": altered(lambda output: None), "emulator": altered(change_one)}


@pytest.fixture(scope="module")
def made_report():
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        for backend, function in _BROKEN.items():
            replaced(patch, backend, function)
        found = verify(operator, seed=0, cases=4, progress=lambda done, total: seen.append((done, total)))
    return found, seen


@pytest.fixture
def report(made_report, monkeypatch):
    """What was found with a right and a wrong backend, which are there still."""
    for backend, function in _BROKEN.items():
        replaced(monkeypatch, backend, function)
    return made_report


def test_a_report(report):
    found, seen = report
    assert not found.ok and seen[-1][1] == 4 and sorted(done for done, _ in seen) == list(range(1, 5))
    data = found.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["misses"] == len(found.misses) > 0 and len(data["rows"]) == 4
    assert sum(data["backends"]["tile"]["counts"].values()) == 4
    assert data["excluded"] == ["dequant_scale1", "quant_scale1", "dequant_scale2"]
    cases = data["distribution"]
    assert cases["cases"] == 4 and sum(cases["key tiles of an item"].values()) == 4
    assert sum(cases["features"].get(f"dtype {each}", 0) for each in ("float16", "bfloat16")) == 4
    text = io.StringIO()
    found.print(Console(file=text))
    for row in found.misses:
        assert f"attndsl verify incre_flash_attention --seed 0 --case {row.case}\n" in text.getvalue()
    assert f"{len(found.misses)} cases with a miss" in text.getvalue()
    assert max(map(len, text.getvalue().split("miss case")[0].splitlines())) <= 200


@pytest.mark.parametrize("width", [60, 100, 140, 240])
def test_a_narrow_table_has_what_does_not_fit_below_each_case(made_report, width) -> None:
    """No cell is cut or wrapped; a wide table has a line a case and nothing below."""
    found, text = made_report[0], io.StringIO()
    shown = replace(found, rows=tuple(replace(row, results=row.results[:1]) for row in found.rows))
    shown = replace(shown, backends=found.backends[:1])
    shown.print(Console(file=text, width=width, force_terminal=True, color_system=None))
    lines = text.getvalue().partition(f"{found.backends[0]}: ")[0].splitlines()
    assert "\u2026" not in "".join(lines) and max(map(len, lines)) <= width
    marked = [line.split("\u2502") for line in lines if line.startswith("\u2502")]
    below = " ".join(" ".join(line.split()) for line in lines if line.startswith(" "))
    assert [cells[1].strip() for cells in marked if cells[1].strip()] == [str(row.case) for row in shown.rows]
    assert bool(below) is (width < 240)
    for row in shown.rows if below else ():
        assert (row.shape in below) is (width < 140)
        assert all(f"{name}=" in below for name in row.stated) and ", ".join(row.tensors) in below


def test_the_snippet_runs_the_case_again(report, capsys):
    found, _ = report
    row = min(found.misses, key=lambda each: work_of(stream_of(operator).take(4)[each.case]))
    exec(row.snippet, {})
    assert "1 cases with a miss" in capsys.readouterr().out


@pytest.fixture
def own_spec(tmp_path, monkeypatch):
    """A spec file as its author names it, in a folder whose name a shell would take apart."""
    folder = tmp_path / "my specs"
    folder.mkdir()
    shutil.copy(Path(__file__).parents[1] / "spec" / "my_window.py", folder / "window2.py")
    monkeypatch.chdir(tmp_path)
    return "my specs/window2.py"


def test_a_spec_file_is_named_as_it_was_given(own_spec, monkeypatch, capsys):
    replaced(monkeypatch, "tile", altered(change_one))
    found = verify(load(own_spec), seed=0, cases=3, backends=("tile",))
    row = found.misses[0]
    wanted = ["attndsl", "verify", own_spec, "--seed", "0", "--case", str(row.case)]
    assert shlex.split(row.reproduce) == wanted
    document = next(each for each in found.to_json()["rows"] if each["case"] == row.case)
    assert shlex.split(document["reproduce"]) == wanted
    found.print(Console(file=(text := io.StringIO())))
    lines = [line.strip() for line in text.getvalue().splitlines()]
    assert row.reproduce in lines
    (program,) = {words[2] for line in lines if (words := _words(line))[:2] == ["python", "-c"]} & {
        row.snippet
    }
    exec(program, {})
    assert "1 cases with a miss" in capsys.readouterr().out


def _words(line):
    return shlex.split(line) if line.startswith("python") else []


def test_not_lowered_is_counted_apart_from_passed(monkeypatch, capsys):
    def run(call):
        raise NotLowered("anything", UNKNOWN_LINE)

    replaced(monkeypatch, "tile", run)
    found = verify(operator, seed=0, cases=2, backends=("tile",))
    assert not found.ok and found.counts("tile") == {NOT_LOWERED: 2}
    assert found.checked("tile")["dtype"] == {} and found.backends == ("reference", "tile")
    found.print()
    said = capsys.readouterr().out
    assert said.count("anything has no lowering rule yet") == 1 and "split keys" not in said
    lowered = [replace(each, status=PASS, message="") for each in found.rows[0].results]
    replace(found, rows=(replace(found.rows[0], results=tuple(lowered)),)).print()
    said = capsys.readouterr().out
    assert "no lowering rule" not in said and "split keys" in said
