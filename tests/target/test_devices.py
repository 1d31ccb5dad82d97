"""Devices by name: what differs between them, who asks for one, and what does not know any."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import attndsl
from attndsl.base.errors import UserError
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.finished import finished_projects
from attndsl.compiler.compile import compile_operator
from attndsl.compiler.stored_programs import entry_name
from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.match.resolve_schedule import resolve
from attndsl.lowering.signature.specialization import Specialization
from attndsl.profile.calibration_text import calibration_lines
from attndsl.spec import Operator
from attndsl.spec.errors import SpecError, UnknownTargetError
from attndsl.spec.operator.loader import load, load_file, shipped_names
from attndsl.target import (
    DEFAULT_DEVICE,
    Core,
    Pipe,
    UnknownDeviceError,
    architecture,
    costs,
    device,
    device_names,
    devices,
)
from attndsl.target.costs import Rate, cost_lines
from attndsl.target.devices import Calibration
from tests.support.small_specs import decode_spec

BODY = ("s = attend.scores(query, key)", 'op.output("out", attend.softmax(s) @ value, like=query)')
SPECIAL = Specialization(dtype="float16", padded_head_size=64)


@pytest.mark.parametrize("name", device_names())
def test_a_device_is_one_object_also_after_a_pickle(name: str) -> None:
    found = device(name)
    assert found.name == name and found is device(name)
    assert pickle.loads(pickle.dumps(found)) is found


@pytest.mark.parametrize("name", device_names())
def test_every_device_has_all_costs_and_rates(name: str) -> None:
    found, default = device(name), device(DEFAULT_DEVICE)
    assert found.costs.keys() == default.costs.keys() and found.rates.keys() == default.rates.keys()
    assert all(rate.value > 0 and rate.source for rate in found.rates.values())
    assert found.aiv == 2 * found.aic
    assert f"rate clock {found.clock!r}\n" in cost_lines(found.costs, found.rates)


DOCUMENTED = {
    "atlas-a2": (24, 1.8e9, 64),
    "ascend910b1": (24, 1.85e9, 64),
    "ascend910b2": (24, 1.8e9, 64),
    "ascend910b3": (20, 1.8e9, 64),
    "ascend910b4": (20, 1.5e9, 32),
    "atlas-a3": (24, 1.85e9, 64),
}
"""Cube cores, clock and GiB of memory."""


@pytest.mark.parametrize("name", device_names())
def test_what_the_documents_say_of_a_device(name: str) -> None:
    found, (cores, clock, gibibytes) = device(name), DOCUMENTED[name]
    assert (found.aic, found.clock, found.global_memory) == (cores, clock, gibibytes << 30)
    assert found.architecture is device(DEFAULT_DEVICE).architecture


def parts_of_host_code() -> dict[str, tuple[int, int, int]]:
    """Cores, bytes of L2 and of memory that the emulator tells host code of each part, by its name."""
    header = Path(attndsl.__file__).parent / "emulator/include/tiling/platform/platform_ascendc.h"
    found = re.findall(r'{"(\w+(?:-\d)?)", (\d+), (\d+), (\d+)(?:, kA3)?}', header.read_text())
    return {name: (int(cores), int(l2) << 20, int(memory) << 30) for name, cores, l2, memory in found}


def test_host_code_is_told_the_numbers_of_the_table() -> None:
    parts = parts_of_host_code()
    told = {
        name: (each.aic, each.l2_bytes, each.global_memory)
        for name in device_names()
        for each in [device(name)]
    }
    single = {name: told[name] for name in told if name.startswith("ascend")}
    assert {name.lower(): parts[name] for name in parts if name.lower() in told} == single
    assert sum(name.startswith("Ascend910B") for name in parts) == 6
    of_a3 = [each for name, each in parts.items() if name.startswith("Ascend910_")]
    assert len(of_a3) == 6 and max(of_a3) == told["atlas-a3"]  # a family has the numbers of its largest parts
    assert max(each for name, each in parts.items() if name.startswith("Ascend910B")) == told[DEFAULT_DEVICE]


def test_a_device_without_measurements_of_its_own_says_whose_figures_it_has() -> None:
    none = "    calibration: none for this device, the figures are those of 910B1 and 910B3"
    for name in device_names():
        found = device(name)
        lines = list(calibration_lines(found))
        assert (lines[0] == none) is (name in ("ascend910b2", "ascend910b4", "atlas-a3")), name
        assert found.calibration_error["of_this_device"] is (none not in lines)
    assert not replace(device("ascend910b1"), name="ascend910b9").is_calibrated


def test_a_device_has_rates_and_a_calibration_of_its_own() -> None:
    known = device(DEFAULT_DEVICE)
    own = Calibration(measured_on="a test", devices=frozenset(("mine",)), errors=known.calibration.errors)
    rates = {**known.core_rates, "miss": Rate(48, "a test")}
    mine = replace(known, name="mine", core_rates=rates, calibration=own)
    assert mine.rates == {**known.rates, "miss": Rate(48, "a test")}
    assert mine.cube_loads(mine.rates) == 1.5 * known.cube_loads(known.rates)
    assert mine.model_version != known.model_version == replace(known, name="twin").model_version
    assert mine.is_calibrated and mine.calibration_error["measured_on"] == "a test"


TAG = re.compile(r"\b(?:INI|GUIDE|H81|DEVKIT|PTO|KPP|MODEL|EST)\b")


def untold(text: str) -> set[str]:
    """The tags of sources that a module uses and does not list."""
    head, rest = text.split('"""', 2)[1:]
    listed = re.findall(r"^    ([A-Z0-9]+) ", head.split("Sources, by tag")[1], re.MULTILINE)
    stated = re.findall(r'(?:Cost|Rate)\([^"\n]*"([A-Z][A-Z0-9]+)\b', rest)
    return {*TAG.findall(rest), *stated} - {*listed}


@pytest.mark.parametrize("module", [architecture, costs, devices])
def test_the_sources_of_numbers_are_listed(module: ModuleType) -> None:
    assert untold(Path(str(module.__file__)).read_text()) == set()


def test_a_source_that_is_not_listed_is_found() -> None:
    text = '"""Numbers.\n\nSources, by tag\n    INI   a file\n"""\nA = Rate(1, "INI{}")  # KPPS\n'
    assert untold(text.format(", KPP")) == {"KPP"} and untold(text.format("")) == set()


def test_bandwidths_are_seconds_of_the_device() -> None:
    fast, slow = device("ascend910b1"), device("ascend910b4")
    for found, bytes_a_second in ((fast, 1.49e12), (slow, 0.745e12)):
        assert found.rates["hbm"].value * found.clock == pytest.approx(bytes_a_second)
    assert fast.microseconds(1850) == 1.0 and slow.microseconds(1850) == 1.233


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(
        UnknownDeviceError, match="unknown device 'Atlas-A4'; did you mean 'atlas-a3'"
    ) as said:
        device("Atlas-A4")
    assert isinstance(said.value, UserError)
    with pytest.raises(UnknownDeviceError, match=f"'h100'; there are {', '.join(device_names())}$"):
        device("h100")


def test_a_spec_with_an_unknown_target_is_refused_at_its_line(tmp_path: Path) -> None:
    spec = tmp_path / "far.py"
    spec.write_text('from attndsl.spec import Operator\n\nop = Operator("far", target="atlas-b3")\n')
    with pytest.raises(UnknownTargetError, match=r"far\.py:3: .*'atlas-b3'; did you mean 'atlas-a3'") as said:
        load_file(spec)
    assert isinstance(said.value, SpecError)


def test_an_operator_is_compiled_for_its_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNDSL_STORE_PROGRAMS", "1")
    first = decode_spec(tmp_path, *BODY)
    other = first.on(device("atlas-a3"))
    assert (first.device.name, other.device.name) == (DEFAULT_DEVICE, "atlas-a3")
    programs = [compile_operator(each, SPECIAL).program for each in (first, other)]
    assert [program.device.name for program in programs] == [DEFAULT_DEVICE, "atlas-a3"]
    names = {entry_name(each, SPECIAL) for each in (first, other)}
    assert len(names) == 2 and None not in names


def test_generated_files_are_those_of_the_architecture(tmp_path: Path) -> None:
    first = decode_spec(tmp_path, *BODY)
    made = {}
    for name in (DEFAULT_DEVICE, "atlas-a3", "ascend910b1"):
        (project,) = finished_projects(first.on(device(name)), KernelRequest(dtypes=("float16",)))
        option = "" if name == DEFAULT_DEVICE else f" --device {name}"
        command = f"attndsl generate {first.in_commands}"
        page = " ".join(project.files["README.md"].split())
        assert f"{command}{option} " in page  # what writes the same project again
        made[name] = {**project.files, "README.md": page.replace(option, "")}
    assert made["atlas-a3"] == made[DEFAULT_DEVICE]
    assert made["ascend910b1"] == made[DEFAULT_DEVICE]  # cores and L2 are asked of the device


def test_modes_go_with_their_operator() -> None:
    a3 = device("atlas-a3")
    plain = next(operator for operator in map(load, shipped_names()) if operator.modes)
    other = plain.on(a3)
    assert [mode.name for mode in other.modes] == [mode.name for mode in plain.modes]
    assert all(mode.device is a3 for mode in other.modes)
    assert all(mode.device is not a3 for mode in plain.modes)
    assert all(
        mode.content_key != plain_mode.content_key
        for mode, plain_mode in zip(other.modes, plain.modes, strict=True)
    )


def test_a_schedule_may_use_the_cores_that_there_are() -> None:
    assert resolve({"cores": 24}, device("ascend910b1")).cores == 24
    with pytest.raises(IllegalScheduleValue, match="1 to 20"):
        resolve({"cores": 24}, device("ascend910b3"))


def test_the_default_is_the_device_of_an_operator_that_names_none() -> None:
    assert Operator("plain").device is device(DEFAULT_DEVICE)
    assert Operator("other", target="ascend910b4").device is device("ascend910b4")


def test_pipes_of_a_core_are_told_in_the_order_of_data() -> None:
    """Loads, work, stores: what fills a memory comes before what reads it."""
    assert Core.AIC.pipes == (Pipe.S, Pipe.MTE2, Pipe.MTE1, Pipe.M, Pipe.FIX)
    assert Core.AIV.pipes == (Pipe.S, Pipe.MTE2, Pipe.V, Pipe.MTE3)
