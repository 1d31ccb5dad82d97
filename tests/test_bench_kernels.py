"""bench/kernels.py: formulas, aims, and committed figures of all rows; bench/without_work.py: what is left
out."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCH = Path(__file__).parents[1] / "bench"
sys.path.insert(0, str(BENCH))
import kernel_rows  # noqa: E402
import kernels  # noqa: E402
import without_work  # noqa: E402

from attndsl.compiler.prepare_launch import prepare  # noqa: E402
from attndsl.emulator import find_compiler  # noqa: E402
from attndsl.execute.execute import written  # noqa: E402
from attndsl.target import device  # noqa: E402
from attndsl.target.costs import Rate  # noqa: E402

DEVICE = device("ascend910b2")
ROWS = {row.name: row for row in kernel_rows.rows()}


def test_the_part_has_the_published_peaks():
    assert DEVICE.cube_peak == pytest.approx(353.9e12, rel=1e-3)
    assert DEVICE.readable(DEVICE.rates) == pytest.approx(1.382e12, rel=1e-3)
    assert DEVICE.readable({**DEVICE.rates, "miss": Rate(64, "test")}) == pytest.approx(1.49e12)


def test_the_default_device_is_the_part_that_aims_are_for():
    default = device("atlas-a2")
    assert (default.aic, default.clock) == (DEVICE.aic, DEVICE.clock)
    assert {name: rate.value for name, rate in default.rates.items()} == {
        name: rate.value for name, rate in DEVICE.rates.items()
    }


@pytest.mark.parametrize(
    ("name", "gigaflops", "megabytes"),
    [
        ("prefill full S4096 fp16", 68.7, 25.2),
        ("prefill causal S8192 fp16", 137.5, 50.3),
        ("prefix N32/8 1 x 512 over 8192", 70.9, 39.8),
        ("prefix N32/8 4 x 1024 over 2048", 171.8, 83.9),
        ("decode B16 N32/8 S4096 BSH fp16", 1.07, 268.6),
        ("decode int8 B16 N32/8 S4096 BSH", 1.07, 134.3),
        ("relay B32 N32/8 256 + 2048", 1.21, 42.2),
        ("MLA decode B24 N128 S4096", 27.4, 116.8),
        ("NSA compress T8192 N64/4", 85, 202.6),
    ],
)
def test_work_by_hand(name, gigaflops, megabytes):
    work = ROWS[name].work
    assert work.flops / 1e9 == pytest.approx(gigaflops, rel=0.01)
    assert work.read / 1e6 == pytest.approx(megabytes, rel=0.01)


def test_counts_of_scores():
    for rows, size in ((7, 3), (5, 9), (4, 4)):
        pairs = [(row, key) for row in range(rows) for key in range(row + 1)]
        assert kernel_rows.causal(rows) == len(pairs)
        assert kernel_rows.window(rows, size) == sum(row - key < size for row, key in pairs)
    assert kernel_rows.causal(3, prefix=10) == 11 + 12 + 13


def test_a_bound_is_the_slowest_part():
    work = ROWS["prefill full S4096 fp16"].work
    found = kernels.bound_of(work, DEVICE, DEVICE.rates)
    assert found.cube == pytest.approx(194.2, rel=1e-3)
    assert found.l2 == found.slowest == pytest.approx(8 * 4096**2 * 14.4 / 7e6, rel=1e-3)
    assert found.vector == pytest.approx(8 * 4096**2 / 64 / 48 * 7 / 1.8e3, rel=1e-3)
    masked = kernels.bound_of(replace(work, mask=1 << 40, vector=("Add",)), DEVICE, DEVICE.rates)
    assert masked.l2 > 100 * found.l2 and masked.vector == pytest.approx(found.vector * 8 / 7, rel=1e-3)


def test_an_aim_follows_the_rates_of_its_bound():
    row = ROWS["prefill full S4096 fp16"]
    half = {**DEVICE.rates, "l2": Rate(DEVICE.rates["l2"].value / 2, "test")}
    assert kernels.asked_share(row, DEVICE, DEVICE.rates) == pytest.approx(0.60)
    assert kernels.asked_share(row, DEVICE, half) == pytest.approx(0.30)
    decode = ROWS["decode B16 N32/8 S4096 BSH fp16"]
    assert kernels.asked_share(decode, DEVICE, half) == 0.93


def test_what_a_row_is_judged_beside_comes_with_it():
    names = [row.name for row in kernels.chosen("B16 .* BSH fp16", with_long=False)]
    assert names == ["decode B16 N32/8 S4096 BNSD fp16", "decode B16 N32/8 S4096 BSH fp16"]
    assert not any(row.long for row in kernels.chosen("", with_long=False))


def test_names_are_of_one_row_and_calls_are_legal():
    assert len(ROWS) == len(kernel_rows.rows())
    assert all(row.beside is None or row.beside[0] in ROWS for row in ROWS.values())
    for row in ROWS.values():
        call = row.call()
        assert call.dtype == ("bfloat16" if row.name.endswith("bf16") else "float16")


def test_every_row_has_a_committed_figure():
    committed = json.loads(kernels.FIGURES.read_text())
    assert set(committed["figures"]) == set(ROWS)
    assert set(committed["peers"]) == {peer.name for peer in kernels.peers()}


def test_a_committed_figure_misses_its_aim_below_it_alone(monkeypatch):
    name, committed = "decode B4 N32/8 S4096 BNSD fp16", kernels.read_committed()
    for share, missed in ((0.751, 0), (0.749, 1)):
        figure = {**committed["figures"][name], "share": share}
        changed = {"figures": {**committed["figures"], name: figure}, "peers": committed["peers"]}
        monkeypatch.setattr(kernels, "read_committed", lambda changed=changed: changed)
        found = [aim.words for row, _, aim in kernels.committed_misses() if row == name]
        assert found == ["0.749 >= 0.75 of R"] * missed


def test_the_page_tells_of_each_committed_miss_what_would_move_it():
    page = (BENCH.parent / "docs" / "performance.md").read_text()
    table = page.split("| figure | the limit | what would move it |", 1)[1].split("\n\n", 1)[0]
    told = {line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]}
    missed = {name.removesuffix(" fp16").removesuffix(" bf16") for name, _, _ in kernels.committed_misses()}
    assert told == missed | {"NSA importance and top-k"}


@pytest.mark.parametrize(("factor", "said"), [(1.019, 0), (0.981, 0), (1.03, 1), (0.97, 1)])
def test_a_check_holds_figures_within_two_percent(factor, said):
    profile = SimpleNamespace(time=100.0 * factor, bytes={"hbm_read": 1000})
    figures = {"a": SimpleNamespace(profile=profile)}
    committed = {"a": {"microseconds": 100.0, "hbm_read": 1000}}
    found = list(kernels.deviations(figures, committed))
    assert len(found) == said
    assert list(kernels.deviations(figures, {})) == ["a: no committed figure; run --update"]
    committed["a"]["hbm_read"] = 900
    assert len(list(kernels.deviations(figures, committed))) == said + 1


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
def test_a_row_is_priced():
    row = ROWS["decode B4 N32/8 S4096 BNSD fp16"]
    figure = kernels.figure_of(row, None)
    assert figure.share == pytest.approx(row.work.read / 1.3824e12 * 1e6 / figure.profile.time, rel=1e-3)
    assert figure.worst_share <= figure.share <= 1
    assert figure.text.lines > 100 and 1000 < figure.text.vector_bytes < 1 << 20
    ((words, holds),) = figure.judgements({})
    assert holds and words == f"{figure.share:.3f} >= 0.75 of R"
    slower = kernels.figure_of(row, {"miss": Rate(16, "test")})
    assert slower.profile.time > 1.5 * figure.profile.time
    assert slower.share == pytest.approx(figure.share, rel=0.1)  # R is half, too


_KERNEL = """
    __aicore__ inline void AddRows(int64_t rows)
    {
        PipeBarrier<PIPE_V>();
        Add(sums_, sums_,
            rows_, rows);
    }

    __aicore__ inline void Finish()
    {
        PipeBarrier<PIPE_V>();
    }
"""


def test_work_is_left_out_of_one_function_and_lines_stay():
    rest = without_work.LeftOut("AddRows", r"Add\(").of(_KERNEL)
    assert "Add(" not in rest and rest.count("PipeBarrier") == 2
    assert rest.count("\n") == _KERNEL.count("\n")
    rest = without_work.LeftOut("AddRows").of(_KERNEL)
    assert rest.count("PipeBarrier") == 1 and "Finish" in rest and rest.count("\n") == _KERNEL.count("\n")


@pytest.mark.parametrize(("function", "head"), [("AddRows", "Mul"), ("Finish", "Add"), ("Scale", "")])
def test_work_that_no_kernel_has_is_an_error(function, head):
    with pytest.raises(without_work.NoSuchWork, match=function):
        without_work.LeftOut(function, head).of(_KERNEL)


@pytest.mark.parametrize("studies", [without_work.window_studies, without_work.selection_studies])
def test_kernels_have_the_work_that_is_left_out(studies):
    asked = [each for each in studies() if each.left_out]
    launch = prepare(asked[0].call())
    folders = {without_work.changed(launch, each.left_out) for each in asked}
    assert len(folders | {written(launch.compiled)}) == len(asked) + 1
