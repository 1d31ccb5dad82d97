"""Each rule of the checkers: a kernel it must flag and the near twin it must not."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, Knobs, build_all
from tests.support.rule_kernels import CUBE, HEAD, INIT, MIX, VECTOR, texts_of_all


@pytest.fixture(scope="module")
def kernels():
    texts = texts_of_all()
    return build_all(HEAD + "".join(texts.values()), entries=list(texts))


def _run(kernel, blocks, size=64, **knobs):
    out = np.zeros(size, np.float32)
    args = [
        Argument("a", np.ones(1024, np.float32)),
        Argument("b", np.ones(1024, np.float32)),
        Argument("o", out, output=True),
    ]
    return kernel.run(blocks, args, knobs=Knobs(**knobs))


def _rules(report):
    return {name.split("/")[1] for name in report.finding_counts}


@pytest.mark.parametrize("rule", VECTOR)
def test_vector_core(kernels, rule):
    assert rule.partition("__")[0] in _rules(_run(kernels[f"v_{rule}_bad"], 1))
    good = _run(kernels[f"v_{rule}_good"], 1)
    assert good.ok, good.findings


@pytest.mark.parametrize("name", INIT)
def test_definedness(kernels, name):
    assert "undefined_value" in _rules(_run(kernels[f"i_{name}_bad"], 1))
    good = _run(kernels[f"i_{name}_good"], 1)
    assert good.ok, good.findings


@pytest.mark.parametrize("rule", CUBE)
def test_cube_core(kernels, rule):
    assert rule in _rules(_run(kernels[f"c_{rule}_bad"], 1, 64 * 64))
    good = _run(kernels[f"c_{rule}_good"], 1, 64 * 64)
    assert good.ok, good.findings


@pytest.mark.parametrize(("rule", "kind"), MIX)
def test_between_cores(kernels, rule, kind):
    blocks = 2 if kind == "AIV_ONLY" else 1
    assert rule in _rules(_run(kernels[f"m_{rule}_{kind}_bad"], blocks, 128))
    good = _run(kernels[f"m_{rule}_{kind}_good"], blocks, 128)
    assert good.ok, good.findings


def test_a_finding_names_both_lines_core_pipe_and_range(kernels):
    (finding,) = _run(kernels["v_read_after_write_bad"], 1).findings
    assert (finding.check, finding.core, finding.pipe, finding.buffer) == (
        "racecheck",
        "block 0 AIV0",
        "V",
        "UB",
    )
    assert (finding.address, finding.bytes) == (0, 256)
    assert finding.source.startswith("kernel.cpp:") and finding.other.startswith("kernel.cpp:")


def test_checks_can_be_switched_off(kernels):
    assert _run(kernels["v_read_after_write_bad"], 1, racecheck=False).ok
    assert _run(kernels["v_unpaired_flag_bad"], 1, synccheck=False).ok
    assert _run(kernels["v_undefined_value_bad"], 1, initcheck=False).ok
    assert _run(kernels["v_mask_range_bad"], 1, memcheck=False).ok


def test_the_compilers_own_barriers_hide_vector_hazards_only(kernels):
    assert _run(kernels["v_read_after_write_bad"], 1, auto_sync=True).ok
    assert not _run(kernels["v_write_after_read_bad"], 1, auto_sync=True).ok
