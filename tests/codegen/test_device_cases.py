"""Each project's cases for devices, run on the emulator by its own kernels and judged by its own test."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.base.package_files import generated_dir
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.project.project import plan_project
from attndsl.codegen.samples.device_cases import cases_of as cases_made
from attndsl.codegen.samples.device_cases import unread_numbers
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.emulator.toolchain import find_compiler
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.loader import load, shipped_names

from .project_runs import Emulated, device_test

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
EVERY = [each for name in shipped_names() for each in (load(name), *load(name).modes)]
SMALL = KernelRequest(dtypes=("float16",), features=frozenset({"kv_padding_size"}), head_sizes=(16,))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    for name, text in plan_project(ops.incre_flash_attention, SMALL).files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def cases_of(folder):
    return json.loads((folder / "test/cases.json").read_text())["cases"]


@needs_compiler
def test_a_kernel_passes_and_what_it_breaks_is_named(project, tmp_path):
    """One that reads a tensor beside integers alone; then with one element spoilt, and with a NaN there."""
    device, module = Emulated(ops.incre_flash_attention, project, tmp_path), device_test(project)
    (case,) = cases_of(project)
    assert {"kv_padding_size", "actual_seq_lengths"} <= set(case["arguments"])
    row = module.run(device, case)
    assert row["ok"], row
    ran, shape = device.call, case["expected"]["attention_out"]["shape"]
    place = tuple(size - 1 for size in shape)
    for spoil in (8.0, np.nan):

        def spoilt(_spoil=spoil, **arguments):
            (result,) = ran(**arguments)
            result[place] = _spoil
            return result

        device.call = spoilt
        row = module.run(device, case)
        found = row["outputs"]["attention_out"]
        assert not row["ok"] and found["at"] == list(place) and found["wrong_elements"] == 1
        assert f"attention_out{list(place)} is {spoil:.6g}" in module.words("attention_out", found)


def test_rounded_integers_may_differ_by_one_here_and_there(project):
    module, golden = device_test(project), np.zeros((4, 50), np.int8)
    for wrong, value, good in ((4, 1, True), (5, 1, False), (1, 2, False)):
        got = golden.copy()
        got.reshape(-1)[:wrong] = value
        assert module.compare(got, golden, "int8")["ok"] is good
    assert not module.compare(golden[1:], golden, "int8")["ok"]


@pytest.mark.parametrize("operator", EVERY, ids=lambda each: each.name)
def test_every_kernel_has_a_case(operator):
    folder = generated_dir() / names_of(operator).op
    entry = (folder / f"op_kernel/{names_of(operator).kernel}.cpp").read_text()
    kernels = re.findall(r"TILING_KEY_IS\(", entry)
    first = [case for case in cases_of(folder) if case["name"].endswith("-0")]
    assert kernels and len(first) == len(kernels)


def test_a_kernel_of_shared_keys_has_a_case_without_groups():
    """Lists of a tensor for each group are empty then, and have nothing that a kernel could decode."""
    special = Specialization(dtype="float16", padded_head_size=128)
    shared, alone = cases_made(compile_operator(ops.relay_attention, special), 0)
    assert shared.arguments["keyShare"] and alone.arguments["keyShare"] == ()
    assert [*alone.values()["kvShareMap"]] == [-1, -1] and alone.to_json()["arguments"]["valueShare"] == []
    assert {case.name for case in (shared, alone)} == {"float16-0-0", "float16-0-1"}


@pytest.mark.parametrize("operator", EVERY, ids=lambda each: each.name)
def test_the_wrapper_takes_what_the_cases_pass(operator):
    """Arguments that a call leaves out may stand in front of others that it passes."""
    folder = generated_dir() / names_of(operator).op
    source = folder / f"torch/{names_of(operator).op}.py"
    made = importlib.util.spec_from_file_location("wrapper", source)
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    signature = inspect.signature(getattr(module, names_of(operator).op))
    for case in cases_of(folder):
        signature.bind(**case["arguments"])
        for name, value in case["arguments"].items():
            plain = module._plain(name, value) if isinstance(value, str) else value
            spec = operator.find_param(operator_name(operator, name))
            assert spec is None or isinstance(plain, (float, int) if spec.type is float else spec.type), name


def operator_name(operator, identifier):
    """What the contract calls an argument of generated code."""
    return names_of(operator).renamed.get(identifier, identifier)


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize("operator", EVERY, ids=lambda each: each.name)
def test_all_cases_pass_on_the_emulator(operator, tmp_path):
    folder = generated_dir() / names_of(operator).op
    device, module = Emulated(operator, folder, tmp_path), device_test(folder)
    rows = [module.run(device, case) for case in cases_of(folder)]
    assert [row for row in rows if not row["ok"]] == []


def test_numbers_that_a_kernel_does_not_read_are_left_out():
    """Bounds of clamped scores, where none are clamped; not where they are, nor what all kernels read."""
    operator = next(mode for mode in ops.self_attention.modes if mode.name.endswith("pa_encoder"))

    def unread(**settings):
        special = Specialization(
            dtype="float16",
            padded_head_size=128,
            features=frozenset({"value"}),
            settings=tuple(settings.items()),
        )
        made = Compiled(
            operator=operator, specialization=special, begun=None, schedule=None, joint=None, program=None
        )
        return unread_numbers(made)

    plain, clamped = unread(), unread(clampType=1)
    assert {"clampMin", "clampMax"} <= plain and "qkScale" not in plain
    assert not {"clampMin", "clampMax"} & clamped
