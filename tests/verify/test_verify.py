"""The whole way: cases on all backends, a broken backend seen, and what is reported."""

import io
import json
import shutil

import numpy as np
import pytest
from rich.console import Console

from attndsl import ops
from attndsl.emulator.errors import KernelCrashed
from attndsl.schedule.errors import NotLowered
from attndsl.source_line import UNKNOWN_LINE
from attndsl.spec.errors import TargetLimitError
from attndsl.verify import run_case, runner, verify
from attndsl.verify.cases import EVERY_NOT_LOWERED, Stream
from attndsl.verify.compare import LEVELS
from attndsl.verify.results import BEYOND_TARGET, MISS, NOT_LOWERED, PASS

operator = ops.incre_flash_attention
compiler = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="needs a compiler")


@pytest.fixture(scope="module")
def stream():
    return Stream(operator, seed=0)


@pytest.fixture(scope="module")
def probe(stream):
    """A small case that shows every key."""

    def wanted(case):
        result = np.zeros(0) if case.data != "probe" else runner.reference.run(case.call())[0]
        return result.size > 100 and result.dtype != np.int8 and result.all()

    return next(case for case in stream.take(40) if wanted(case))


def replaced(monkeypatch, backend, function):
    monkeypatch.setitem(runner._BACKENDS, backend, function)


def altered(change):
    """A backend that computes the right result and then changes it."""

    def run(call):
        outputs = [output.copy() for output in runner.reference.run(call)]
        change(outputs[0])
        return tuple(outputs), []

    return run


@compiler
def test_three_backends_agree_on_generated_cases():
    numbers = [number for number in range(10) if number % EVERY_NOT_LOWERED != EVERY_NOT_LOWERED - 1]
    found = verify(operator, seed=5, only=numbers)
    assert [
        (row.case, result.message) for row in found.misses for result in row.results if result.message
    ] == []
    assert found.ok and len(found.rows) == len(numbers)
    assert found.counts("reference") == {PASS: len(numbers)}
    for backend in ("tile", "emulator"):
        assert found.counts(backend) == {PASS: len(numbers)}
        assert len(found.checked(backend)["dtype"]) == 2
        assert all(each.level == "L2" for each in found.pooled(backend).values())


@pytest.mark.long
@compiler
@pytest.mark.parametrize("seed", [0, 1])
def test_many_cases(seed):
    """At least 300 cases executed on the emulator over both seeds together."""
    found = verify(operator, cases=200, seed=seed)
    found.print()
    assert found.ok
    executed = found.counts("emulator")[PASS]
    assert executed >= 160
    groups = found.checked("emulator")
    assert set(groups["dtype"]) == {"float16", "bfloat16"}
    assert set(groups["bucket"]) == {"16", "48", "64", "80", "112", "128", "256", "512"}
    assert {"attn_mask", "actual_seq_lengths", "pse_shift"} <= set(groups["feature"])


def change_one(output):
    flat = output.reshape(-1)
    flat[flat.size // 2] += np.asarray(0.5, output.dtype)


def make_nan(output):
    output.reshape(-1)[-1] = np.nan


def drop_a_head(output):
    output.reshape(-1)[: output.size // 2] = 0


@pytest.mark.parametrize("change", [change_one, make_nan, drop_a_head])
def test_a_wrong_result_is_a_miss(monkeypatch, probe, change):
    replaced(monkeypatch, "tile", altered(lambda output: None))
    assert run_case(probe, ("tile",)).ok
    replaced(monkeypatch, "tile", altered(change))
    row = run_case(probe, ("reference", "tile"))
    assert [result.status for result in row.results] == [PASS, MISS] and not row.ok


def test_findings_of_the_checks_are_a_miss_though_the_result_is_right(monkeypatch, probe):
    def run(call):
        return runner.reference.run(call), ["racecheck/write_after_read at kernel.cpp:7 (block 0 AIV0): ..."]

    replaced(monkeypatch, "emulator", run)
    (result,) = run_case(probe, ("emulator",)).results
    assert result.status == MISS and "kernel.cpp:7" in result.message


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (KernelCrashed("it died of SIGSEGV"), MISS),
        (ZeroDivisionError("a bug of ours"), MISS),
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


def test_a_changed_input_is_a_miss(monkeypatch, probe):
    def run(call):
        outputs = runner.reference.run(call)
        call.arrays["query"].reshape(-1)[0] += 1
        return outputs, []

    replaced(monkeypatch, "tile", run)
    (result,) = run_case(probe, ("tile",)).results
    assert result.status == MISS and "query" in result.message


def test_a_missing_result_is_a_miss(monkeypatch, probe):
    replaced(monkeypatch, "tile", lambda call: ((), []))
    assert run_case(probe, ("tile",)).results[0].status == MISS


def test_the_ratios_are_part_of_the_verdict(monkeypatch, stream):
    """Probabilities or results with fewer bits keep the elementwise bound, but not the ratios."""

    def blur(output):
        output *= np.asarray(1 + 2**-9, output.dtype)

    def wanted(case):
        return (
            case.data == "normal" and case.call().dtype == "float16" and "quant_scale2" not in case.features
        )

    case = next(case for case in stream.take(120) if wanted(case))
    replaced(monkeypatch, "tile", altered(blur))
    strict, measured = (run_case(case, ("tile",), level).results[0] for level in (LEVELS[0], None))
    assert measured.status == PASS and strict.status == MISS and "MERE" in strict.message


# Reports -------------------------------------------------------------------------------------------


@pytest.fixture
def report(monkeypatch):
    replaced(monkeypatch, "tile", altered(lambda output: None))
    replaced(monkeypatch, "emulator", altered(change_one))
    seen = []
    found = verify(operator, seed=0, cases=12, progress=lambda done, total: seen.append((done, total)))
    return found, seen


def test_a_report(report):
    found, seen = report
    assert not found.ok and seen[-1][1] == 12 and sorted(done for done, _ in seen) == list(range(1, 13))
    data = found.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["misses"] == len(found.misses) > 0 and len(data["rows"]) == 12
    assert sum(data["backends"]["tile"]["counts"].values()) == 12
    assert data["excluded"] == ["dequant_scale1", "quant_scale1", "dequant_scale2"]
    text = io.StringIO()
    found.print(Console(file=text))
    for row in found.misses:
        assert f"attndsl verify incre_flash_attention --seed 0 --case {row.case}\n" in text.getvalue()
    assert f"{len(found.misses)} cases with a miss" in text.getvalue()
    assert max(map(len, text.getvalue().split("miss case")[0].splitlines())) <= 200


def test_the_snippet_runs_the_case_again(report, capsys):
    found, _ = report
    row = found.misses[0]
    exec(row.snippet, {})
    assert "1 cases with a miss" in capsys.readouterr().out


def test_not_lowered_is_counted_apart_from_passed(monkeypatch):
    def run(call):
        raise NotLowered("anything", UNKNOWN_LINE)

    replaced(monkeypatch, "tile", run)
    found = verify(operator, seed=0, cases=4, backends=("tile",))
    assert found.ok and found.counts("tile") == {NOT_LOWERED: 4}
    assert found.checked("tile")["dtype"] == {} and found.backends == ("reference", "tile")
