"""The host code that CANN builds, run against stand-ins of its interfaces: definition, inference, tiling."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.codegen.host.tiling_text import host_text, waits_for_all
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.project import plan_project
from attndsl.codegen.samples.device_cases import device_cases
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator.toolchain import find_compiler
from attndsl.execute.execute import plan_of, written
from attndsl.spec.contract.arguments import DTYPES

from .contract_calls import LEGAL, TABLES, in_python
from .host_calls import Untold
from .op_host_calls import GE_TYPES, fields_of, mostly_long, op_host

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
OPTIONAL, REQUIRED, DYNAMIC = 1, 2, 3
REFUSED_DEFAULTS = {"self_attention_prefix_encoder": {"headNum", "isTriuMask", "kernelType", "maskType"}}
"""ATB's defaults that no legal call has."""
EVERY = [each for name in LEGAL for each in (getattr(ops, name), *getattr(ops, name).modes)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("op_host")


@pytest.mark.parametrize("operator", mostly_long(EVERY, lambda op: op.name))
def test_the_definition_has_every_argument(operator, folder):
    """Names, kinds and order of the contract; one column a combination of dtypes; both series of devices."""
    made = op_host(operator, folder).definition()
    ports = {port["name"]: port for port in made["inputs"]}
    assert list(ports) == [spec.name for spec in operator.tensors]
    for spec in operator.tensors:
        listed = spec.sequence_of or spec.list_of is not None or spec.split
        wanted = DYNAMIC if listed else REQUIRED if spec.required else OPTIONAL
        assert ports[spec.name]["kind"] == wanted, spec.name
        depends = (REQUIRED if spec.required else OPTIONAL) if spec.kind == "lengths" else 0
        assert ports[spec.name]["depends"] == depends, spec.name
    every = [*made["inputs"], *made["outputs"]]
    columns = {len(port["dtypes"]) for port in every} | {port["formats"] for port in every}
    assert len(columns) == 1 and columns == {port["unknown"] for port in every}
    rows = list(zip(*(port["dtypes"] for port in every), strict=True))
    assert len(set(rows)) == len(rows), "a column twice"
    for spec in operator.tensors:
        legal = {"int64"} if spec.kind == "lengths" else set(spec.dtypes)
        assert {GE_TYPES[d] for d in ports[spec.name]["dtypes"]} <= legal
    params = [spec for spec in operator.params if spec.type is not bytes]
    refused = REFUSED_DEFAULTS.get(operator.name, {"headNum"})
    kinds = {
        spec.name: OPTIONAL if spec.optional and spec.name not in refused else REQUIRED for spec in params
    }
    assert {attr["name"]: attr["kind"] for attr in made["attrs"]} == kinds
    assert made["socs"] == ["ascend910b", "ascend910_93"]
    outputs = [spec.name for spec in operator.outputs]
    assert [port["name"] for port in made["outputs"]][: len(outputs)] == outputs


@pytest.mark.long
def test_what_is_updated_in_place_is_an_output_of_the_same_name(folder):
    made = op_host(ops.self_attention, folder).definition()
    assert [port["name"] for port in made["outputs"]] == ["output", "cacheK", "cacheV"]
    assert len(op_host(ops.nsa_compress_attention, folder).definition()["outputs"]) == 4


def results(name, call):
    found = getattr(ops, name)(**call)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", mostly_long(LEGAL))
def test_inferred_shapes_and_dtypes_are_those_of_the_results(name, folder):
    operator = getattr(ops, name)
    for label, call in LEGAL[name].items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = [(array.dtype.name, array.shape) for array in results(name, call)]
        chosen = operator._modes.chosen(operator, call)
        got = op_host(chosen, folder).infer(call)
        assert got is not None and got[: len(expected)] == expected, label


def test_a_context_without_an_output_is_refused(folder, capfd):
    """Shapes and dtypes are written where there is room for them alone."""
    made = op_host(ops.incre_flash_attention, folder / "small", DTYPES_FIRST)
    rows = np.zeros((2, 4, 16), np.float16)
    call = {"query": rows[:, :1], "key": [rows], "value": [rows], "num_heads": 1}
    assert made.infer(call) == [("float16", (2, 1, 16))] and not capfd.readouterr().err
    for missing in ({"shapeless": 0}, {"typeless": 0}):
        assert made.infer(call, **missing) is None
        assert "the context has no output 0" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("slot", "said"),
    [("tiling key", "tiling key"), ("block dim", "number of blocks"), ("schedule mode", "schedule mode")],
)
def test_a_launch_that_the_context_does_not_take_is_refused(slot, said, folder, capfd):
    """A launch whose blocks wait for each other without batch mode would hang the device."""
    made = op_host(ops.incre_flash_attention, folder / "small", DTYPES_FIRST)
    rows = np.zeros((2, 4, 16), np.float16)
    call = {"query": rows[:, :1], "key": [rows], "value": [rows], "num_heads": 1}
    assert made.tile(call, 20) is not None and not capfd.readouterr().err
    assert made.tile(call, 20, missing=slot) is None
    assert f"the context has no slot for the {said}" in capfd.readouterr().err


LENGTHS = [None, [3, 10], [7]]
TILED_FAST = [("BSH", ("attn_mask",), None), ("BNSD", (), [3, 10])]
DTYPES_FIRST = KernelRequest(dtypes=("float16",), head_sizes=(16,))


@pytest.mark.parametrize(
    ("layout", "features", "lengths"),
    [
        pytest.param(*case, marks=() if case in TILED_FAST else pytest.mark.long)
        for case in product(["BSH", "BNSD"], [(), ("attn_mask",), ("attn_mask", "pse_shift")], LENGTHS)
    ],
)
def test_tiling_is_that_of_the_emulated_launch(layout, features, lengths, folder):
    """Key, blocks, workspace, schedule mode and every byte of the tiling data."""
    rng = np.random.default_rng(0)
    shapes = {"BSH": ((2, 1, 64), (2, 10, 32)), "BNSD": ((2, 4, 1, 16), (2, 2, 10, 16))}[layout]
    query, key, value = (rng.standard_normal(shapes[i]).astype(np.float16) for i in (0, 1, 1))
    call = {"query": query, "key": [key], "value": [value], "num_heads": 4, "num_key_value_heads": 2}
    call |= {"input_layout": layout, "scale_value": 0.25}
    if lengths is not None:
        call["actual_seq_lengths"] = lengths
    if "attn_mask" in features:
        call["attn_mask"] = np.zeros((2, 10), bool)
    if "pse_shift" in features:
        call["pse_shift"] = np.zeros((2, 4, 1, 10), np.float16)
    made = op_host(ops.incre_flash_attention, folder / "small", DTYPES_FIRST)
    if len(features) > 1:  # kernels for several have to be asked for
        asked = replace(DTYPES_FIRST, features=frozenset(features))
        made = op_host(ops.incre_flash_attention, folder / "both", asked)
    for cores in (1, 3, 24):
        got = made.tile(call, cores)
        launch = prepare(ops.incre_flash_attention.bind(**call), cores)
        plan = plan_of(launch, written(launch.compiled))
        assert got["key"] == plan.key and got["mode"] == plan.schedule_mode
        assert got["mode"] == int(waits_for_all(launch.compiled).evaluate(got["data"]))
        assert got["blocks"] == launch.blocks
        assert got["workspace"] == (16 << 20) + launch.workspace_bytes
        emulated = fields_of(host_text([launch.compiled]).fields, plan.tiling.tobytes())
        assert emulated.items() <= got["data"].items()


MODES = {each.name: each for each in (ops.self_attention, *ops.self_attention.modes)}


@pytest.mark.long
@pytest.mark.parametrize("name", MODES)
def test_the_host_finds_the_kernel_of_every_case_of_its_project(name, folder):
    """Among kernels that differ in parameters, layouts and dtypes: key, tiling data, blocks of each."""
    made = op_host(MODES[name], folder / name, DTYPES_FIRST)
    kernels = plan_project(MODES[name], DTYPES_FIRST).kernels
    cases = device_cases(kernels)
    assert len(cases) >= len(kernels) - 2
    for case in cases:
        got = made.tile(case.values(), 20)
        launch = prepare(MODES[name].bind(**case.values()), 20)
        plan = plan_of(launch, written(launch.compiled))
        assert (got["key"], got["mode"], got["blocks"]) == (plan.key, plan.schedule_mode, launch.blocks)
        emulated = fields_of(host_text([launch.compiled]).fields, plan.tiling.tobytes())
        assert emulated.items() <= got["data"].items()


def test_a_call_without_kernel_is_refused_and_says_how_to_get_one(folder, capfd):
    made = op_host(ops.incre_flash_attention, folder / "small", DTYPES_FIRST)
    wide = np.zeros((2, 1, 128), np.float16)
    call = {
        "query": wide,
        "key": [np.zeros((2, 4, 64), np.float16)],
        "value": [np.zeros((2, 4, 64), np.float16)],
    }
    assert made.tile(call | {"num_heads": 4, "num_key_value_heads": 2}, 24) is None
    assert "attndsl generate" in capfd.readouterr().err


@pytest.mark.long
def test_bad_calls_are_refused_with_the_words_of_python(folder, capfd):
    operator, refused = ops.incre_flash_attention, 0
    for call in TABLES["incre_flash_attention"].values():
        _, message, _ = in_python("incre_flash_attention", call)
        try:
            tiled = op_host(operator, folder).tile(call, 24)
        except (Untold, TypeError):
            continue
        said = capfd.readouterr().err
        if tiled is None and message.partition("; did you mean")[0] in said:
            refused += 1
            assert "[ERROR] OP(node, Type): " in said, "as CANN's operators write"
    assert refused >= 50, refused


def test_a_device_without_cores_is_refused(folder, capfd):
    made = op_host(ops.incre_flash_attention, folder / "small", DTYPES_FIRST)
    rows = np.zeros((2, 4, 16), np.float16)
    call = {"query": rows[:, :1], "key": [rows], "value": [rows], "num_heads": 1}
    assert made.tile(call, 1) is not None
    for cores, said in (
        (0, "TargetLimitError: incre_flash_attention: the device has 0 cube cores"),
        (-1, "no platform"),
    ):
        assert made.tile(call, cores) is None
        assert said in capfd.readouterr().err


def test_every_dtype_has_its_names():
    assert set(GE_TYPES.values()) - {""} == set(DTYPES)
