"""Costs that were fitted to public measurements: what the fit holds to, and how it reaches the tables."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attndsl.target.costs import COSTS, measurements

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from calibration import fit, fit_instructions
from calibration_rows import Key, Row, keys, pieces_of

ROWS = """
    {"VEXP_FP32_FP32_1_core_910b1", { {64, 0, 0, 1, 3.1}, {128, 0, 0, 2, 4.0}, {192, 0, 0, 3, 6.0}, {256, 0, 0, 4, 8.0} }},
    {"GM_TO_UB_910b3", { {1, 7.9, 0.0009765625, 123.1, 221664, 8192, 2054}, {192, 186.7, 0.1875, 1004.3, 1807825, 0, 0} }},
"""  # noqa: E501


def test_errors_of_the_sizes_that_were_left_out() -> None:
    errors = measurements()["instructions"]
    assert errors["keys"] >= 120 and errors["sizes"] >= 1000
    assert errors["median"] <= 0.02 and errors["p95"] <= 0.10


def test_what_was_fitted_is_what_the_tables_have() -> None:
    fitted = measurements()["costs"]
    assert fitted.keys() <= COSTS.keys()
    assert COSTS["LoadUB"].per_unit == fitted["LoadUB"]["any"]["per_unit"]
    assert COSTS["Exp"].per_unit == fitted["Exp"]["float32"]["per_unit"]
    head, per_unit, least = COSTS["Exp"].of_type["float16"]
    own = {"head": 0, "least": 0} | fitted["Exp"]["float16"]
    assert {"head": head, "per_unit": per_unit, "least": least} == own
    # measured of 16 and of 32 bits, each as integers
    assert COSTS["Gather"].of_type["float16"] == COSTS["Gather"].of_type["uint16"]


def test_a_fit_finds_the_floor_and_the_line() -> None:
    found = fit([Row(units, max(30.0, 10 + 2.5 * units)) for units in range(1, 40)])
    assert (found.floor, found.offset, found.slope) == pytest.approx((30, 10, 2.5), rel=1e-6)


def test_errors_are_of_sizes_that_the_fit_has_not_seen() -> None:
    rows = tuple(Row(units, 2.0 * units * (1.1 if units == 4 else 1)) for units in (1, 2, 3, 4, 5))
    (one,) = fit_instructions([Key("VEXP", "Exp", "float32", rows, whole=False)]).predicted
    assert one.errors == pytest.approx((0, 1 / 1.1 - 1), abs=1e-6)


def test_rows_are_read_as_cycles(tmp_path: Path) -> None:
    (tmp_path / "csrc" / "prof_data").mkdir(parents=True)
    (tmp_path / "csrc" / "prof_data" / "resource910b.cpp").write_text(ROWS)
    exp, load = keys(tmp_path)
    assert (exp.operation, exp.dtype, exp.rows[1]) == ("Exp", "float32", Row(2, 4.0))
    # 1024 loads of one KiB
    assert load.operation == "LoadUB" and load.rows[0].cycles == pytest.approx(221664 / 1024)


def test_rows_of_a_matrix_are_cut_in_pieces() -> None:
    assert [pieces_of(width) for width in (32, 128, 160, 256, 384, 416, 512, 1472)] == [
        1,
        1,
        2,
        1,
        2,
        3,
        1,
        5,
    ]
