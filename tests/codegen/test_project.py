"""A project as its user gets it: the sample runs on the emulator, bindings compile, its test has verdicts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import attndsl
from attndsl.api import ops
from attndsl.codegen.bindings.torch_text import torch_text
from attndsl.codegen.host.host_files import host_files
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.project.attributes import attribute_rows, reserved_inputs
from attndsl.codegen.project.project import plan_project
from attndsl.codegen.project.project_files import ReadmeFacts, binding_files, build_files
from attndsl.codegen.samples.device_cases import random_tensor
from attndsl.emulator.toolchain import INCLUDE, find_compiler
from attndsl.spec.contract.arguments import DTYPES
from tests.support.compile_once import compile_once

HERE = Path(__file__).parent
PACKAGE = Path(attndsl.__file__).parent.parent
NAMES = ("incre_flash_attention", "nsa_compress_attention", "relay_attention", "self_attention")
EVERY = [each for name in NAMES for each in (getattr(ops, name), *getattr(ops, name).modes)]
SMALL = KernelRequest(dtypes=("float16",), features=frozenset({"attn_mask"}), head_sizes=(16,))
OP = "incre_flash_attention"

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


@lru_cache(maxsize=1)
def files():
    return plan_project(ops.incre_flash_attention, SMALL).files()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project") / OP
    for name, text in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def python(*arguments, cwd, **environment):
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), **environment}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, text=True)


def emulate(folder, *arguments):
    """Exit code, and all that the program and the checks print."""
    source = f"direct/{OP}_custom_direct.cpp"
    done = python("-m", "attndsl", "emulate", "direct/main.cpp", "--source", source, *arguments, cwd=folder)
    return done.returncode, done.stdout + done.stderr


@needs_compiler
@pytest.mark.parametrize("sync", ["on", pytest.param("off", marks=pytest.mark.long)])
def test_the_direct_launch_sample_runs_on_the_emulator(project, sync):
    """Host code, plan, launch, kernel and comparison, without findings; more cores than work, and one."""
    for cores in ("1", "20"):
        code, said = emulate(project, "--auto-sync", sync, cores)
        assert code == 0 and said.endswith("ok\n") and said.count("\n") == 2, said


@needs_compiler
@pytest.mark.sweep(fast=1)
@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("direct/sample_case.h", r"(attention_out = \{\n    )[-\d.e]+", r"\g<1>9.5", "WRONG"),
        ("direct/main.cpp", r"call\.num_heads = \d+", "call.num_heads = 7", "N = 7 from num_heads"),
        ("op_kernel/*_d16_attn_mask.h", r"\bDiv\(", "Mul(", "WRONG"),
    ],
)
def test_the_sample_notices_what_is_wrong(project, tmp_path, file, old, new, words):
    """Expected results, a call that breaks the contract, a kernel with another arithmetic."""
    folder = tmp_path / OP
    shutil.copytree(project, folder)
    (path,) = folder.glob(file)
    text = path.read_text()
    changed = re.sub(old, new, text, count=0)
    assert changed != text
    path.write_text(changed)
    code, said = emulate(folder)
    assert code == 1 and words in said, said


def strict(*arguments):
    flags = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unknown-pragmas"]
    return compile_once([*flags, *arguments])


LAUNCHER = """#pragma once
#include <cstdint>
template <class... A>
uint32_t aclrtlaunch_{}(uint32_t, void *, A...);
#undef ACLRT_LAUNCH_KERNEL
#define ACLRT_LAUNCH_KERNEL(k) aclrtlaunch_##k
"""


@needs_compiler
def test_the_sample_is_free_of_warnings(project, tmp_path):
    (tmp_path / f"aclrtlaunch_{OP}_custom.h").write_text(LAUNCHER.format(f"{OP}_custom"))
    includes = ["-isystem", INCLUDE, "-isystem", tmp_path]
    assert strict(*includes, project / "direct/main.cpp") == (0, "")


@needs_compiler
@pytest.mark.parametrize(
    "operator",
    [each if each.name in NAMES[2:3] else pytest.param(each, marks=pytest.mark.long) for each in EVERY],
    ids=lambda op: op.name,
)
def test_the_torch_extension_compiles(operator, tmp_path):
    """Against stand-ins of PyTorch's interface and of the launcher, for every operator."""
    names = names_of(operator)
    texts = {"command": "", "verify": "", "name": operator.name, "document": "", "summary": ""}
    page = ReadmeFacts(names=names, features=(), not_lowered={}, **texts)
    made = host_files(names) | binding_files(names, page)
    members = ", ".join([item.name for item in names.tensors] + list(names.outputs.values()))
    made[f"direct/{names.op}_run.h"] = RUN_STAND_IN.format(names=names, members=members)
    for name, text in made.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    source = tmp_path / f"torch/{names.op}_npu.cpp"
    assert strict("-isystem", HERE / "torch_host", source) == (0, "")
    text = source.read_text()
    assert text.count(f'library.impl("{names.op}"') == 2 and "Meta" in text and "PrivateUse1" in text


RUN_STAND_IN = """#pragma once
#include <functional>
#include "../op_host/{names.op}_check.h"
namespace {names.host} {{
struct Any {{
    template <typename T> Any &operator=(T &&) {{ return *this; }}
    void push_back(void *) {{}}
}};
struct Addresses {{
    Any {members};
}};
struct DeviceShare {{}};
inline Status ShareOf(int32_t, bool, DeviceShare &) {{ return Status{{}}; }}
inline Status Run(Call &, const Addresses &, const DeviceShare &, void *,
    const std::function<void *(size_t)> &, const std::function<void *(const void *, size_t)> &,
    std::vector<std::string> &) {{ return Status{{}}; }}
}}
"""


def test_schemas_are_those_of_the_contract():
    schema = torch_text(names_of(ops.incre_flash_attention)).schema
    start = "incre_flash_attention(Tensor query, Tensor[] key, Tensor[] value, Tensor? attn_mask=None,"
    assert schema.startswith(start)
    assert "SymInt[]? actual_seq_lengths=None" in schema and "str input_layout='BSH'" in schema
    assert schema.endswith("-> Tensor")
    nsa = torch_text(names_of(ops.nsa_compress_attention)).schema
    assert nsa.endswith("-> (Tensor, Tensor, Tensor, Tensor)") and ", *, Tensor? topk_mask=None" in nsa
    cache = torch_text(names_of(ops.self_attention)).schema
    assert "Tensor(a!)[] cacheK" in cache or "Tensor(a!)" in cache


# ------------------------------------------------------------------------------------------------
# The test on a device, the wrapper


def verdict(folder, *arguments):
    done = python("test/test_on_device.py", "--report", "report.json", *arguments, cwd=folder)
    report = folder / "report.json"
    return done, json.loads(report.read_text()) if report.is_file() else None


def test_the_device_test_agrees_with_the_reference(project):
    done, report = verdict(project, "--reference")
    assert done.returncode == 0, done.stdout + done.stderr
    assert report["ok"] and report["operator"] == OP and len(report["cases"]) == 1
    found = report["cases"][0]["outputs"]["attention_out"]
    assert 0 <= found["largest_difference"] <= found["allowed"] < 0.1 and found["allowed"] > 0


def test_the_device_test_notices_a_wrong_result(project, tmp_path):
    saved = json.loads((project / "test/cases.json").read_text())
    saved["cases"][0]["arguments"]["scale_value"] += 0.5
    (tmp_path / "cases.json").write_text(json.dumps(saved))
    done, report = verdict(project, "--reference", "--cases", str(tmp_path / "cases.json"))
    assert done.returncode == 1 and not report["ok"] and "WRONG" in done.stdout


def test_without_an_npu_there_is_no_verdict(project):
    done, _ = verdict(project)
    assert done.returncode == 2 and "no NPU" in done.stderr


def test_the_wrapper_falls_back_to_the_reference_and_says_so(project):
    code = f"""
import sys, warnings
import numpy as np
sys.path.insert(0, "torch")
from {OP} import {OP}, available
q = np.ones((1, 1, 16), np.float16)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    out = {OP}(q, [q], [q])
assert not available() and out.shape == (1, 1, 16)
assert "NumPy reference" in str(caught[0].message), caught
"""
    done = python("-c", code, cwd=project)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_tensors_of_torch_give_tensors_of_torch(project, monkeypatch, dtype):
    """The reference's results, bit for bit; integers may be a tensor, too."""
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(project / "torch"))
    import incre_flash_attention as wrapper

    arrays = [random_tensor(dtype, shape, 1) for shape in ((2, 1, 32), (2, 9, 32), (2, 9, 32))]
    query, key, value = (wrapper._as_torch(array.copy()) for array in arrays)
    lengths = [3, 9]
    with pytest.warns(RuntimeWarning, match="NumPy reference"):
        found = wrapper.incre_flash_attention(
            query, [key], [value], actual_seq_lengths=torch.tensor(lengths), num_heads=2
        )
    want = ops.incre_flash_attention(
        arrays[0], [arrays[1]], [arrays[2]], actual_seq_lengths=lengths, num_heads=2
    )
    assert str(found.dtype) == f"torch.{dtype}"
    assert wrapper._as_numpy(found).tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "bool", "int8"])
def test_tensors_of_a_seed_are_the_same_everywhere(project, dtype):
    """In the generator, in the project's own test, and exactly representable."""
    sys.path.insert(0, str(project / "test"))
    try:
        import test_on_device
    finally:
        sys.path.pop(0)
    mine = random_tensor(dtype, (3, 5, 7), 11)
    theirs = test_on_device.random_tensor(dtype, [3, 5, 7], 11)
    assert mine.dtype == DTYPES[dtype] and np.array_equal(mine.astype(np.float32), theirs.astype(np.float32))
    assert len(np.unique(mine)) > 1
    assert ml_dtypes.bfloat16 is not None


# ------------------------------------------------------------------------------------------------
# Build files


def test_build_files_are_well_formed(project):
    presets = json.loads((project / "CMakePresets.json").read_text())
    units = presets["configurePresets"][0]["cacheVariables"]["ASCEND_COMPUTE_UNIT"]["value"]
    assert units == "ascend910b;ascend910_93"
    assert subprocess.run(["bash", "-n", "build.sh"], cwd=project).returncode == 0
    for path in project.rglob("CMakeLists.txt"):
        for source in re.findall(r"[\w/{}$]*?(\w+\.cpp)", path.read_text()):
            assert list(path.parent.glob(source)) or source.startswith(("aclnn_", "fallback_")), (
                path,
                source,
            )


def test_build_needs_cann_and_says_so(project):
    env = {key: value for key, value in os.environ.items() if key != "ASCEND_HOME_PATH"}
    done = subprocess.run(["bash", "build.sh"], cwd=project, env=env, capture_output=True, text=True)
    assert done.returncode == 1 and "set_env.sh" in done.stderr


def test_every_file_that_the_readme_names_is_there(project):
    text = (project / "README.md").read_text()
    for name in re.findall(r"`(\w+/)`", text):
        assert (project / name).is_dir(), name
    for name in re.findall(r"`(\w+/[\w./]+\.\w+)`", text):
        assert (project / name).is_file(), name


def test_the_readme_tells_every_attribute():
    """Type, default or that it is required, what some call may have, and what the contract says of it."""
    for name in ("relay_attention", "self_attention", "nsa_compress_attention"):
        names = names_of(getattr(ops, name))
        assert [row.name for row in attribute_rows(names)] == [f"`{item.name}`" for item in names.params]
    relay = {row.name: row for row in attribute_rows(names_of(ops.relay_attention))}
    assert relay["`headNum`"].default == "required" and relay["`headNum`"].values == "> 0", "0 is refused"
    assert relay["`kvHeadNum`"].default == "`0`" and relay["`kvHeadNum`"].values == "0 to 8"
    assert relay["`maskType`"].values == "0 = UNDEFINED", "NORM is declared, and no call may have it"
    prefix = {r.name: r for r in attribute_rows(names_of(ops.self_attention.modes[-1]))}
    assert (
        prefix["`kernelType`"].default == "required" and prefix["`kernelType`"].values == "1 = HIGH_PRECISION"
    )
    nsa = {row.name: row for row in attribute_rows(names_of(ops.nsa_compress_attention))}
    assert (nsa["`index_reading`"].type, nsa["`index_reading`"].default) == ("string", "`op`")
    assert nsa["`index_reading`"].values == "`op`, `paper`, `literal0`"
    assert nsa["`compress_stride`"].values == "16 to 64"
    assert nsa["`compress_stride`"].meaning.endswith("; must be a multiple of 16")


def test_git_leaves_out_what_the_build_writes(project):
    ignored = (project / ".gitignore").read_text().split("\n")
    build = (project / "build.sh").read_text()
    for folder in ("cmake", "scripts", "build_out"):
        assert folder in build and f"/{folder}/" in ignored
    for folder in ("op_host", "op_kernel", "direct", "torch", "test"):
        assert f"/{folder}/" not in ignored


def test_the_readme_tells_of_cut_names_where_there_are_some(project):
    assert "_keyNUMBER" not in (project / "README.md").read_text()
    names = names_of(ops.relay_attention)
    page = ReadmeFacts(
        command="", verify="", names=names, name="", document="", summary="", features=(), not_lowered={}
    )
    assert "_keyNUMBER" in build_files(names, page, samples=False, tests=False, cut=True)["README.md"]


def test_the_readme_tells_reserved_inputs():
    told = [*reserved_inputs(names_of(ops.relay_attention))]
    assert told == ["`attentionMask` has to be passed: reserved, its content is ignored."]
    assert not [*reserved_inputs(names_of(ops.nsa_compress_attention))]
