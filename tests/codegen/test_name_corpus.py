"""Names of a spec that are somebody else's in C++, AscendC, CANN, PyTorch or Python: all compiles, runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import attndsl
from attndsl.base.reserved_names import is_taken
from attndsl.codegen.host.tiling_text import host_text
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.names.identifiers import identifier
from attndsl.codegen.project.project import plan_project
from attndsl.compiler.compile import Specialization, compile_operator
from attndsl.emulator.toolchain import find_compiler
from attndsl.spec import errors
from attndsl.spec.authoring.declared_names import INDICES

from . import named_spec
from .compiling import host_sources
from .named_spec import READ, operator

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")

SMALL = KernelRequest(dtypes=("float16",), head_sizes=(16,))
# Names that the small operator below has itself.
OWN = ("B", "N", "K", "T", "D", "query", "key", "value", "out")


def projected(op, folder, selection=SMALL):
    """The project's files, written."""
    files = plan_project(op, selection).files()
    for name, text in files.items():
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
        assert code.isascii() or not name.endswith((".h", ".cpp")), name
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return files


def python(*arguments, cwd, **environment):
    env = {**os.environ, "PYTHONPATH": str(Path(attndsl.__file__).parent.parent), **environment}
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def everything_compiles(op, folder):
    """Host code against stand-ins, the sample with its kernel on the emulator, the Python files."""
    for name, said in host_sources(op, folder, folder / "stand_ins").items():
        assert said == (0, ""), (name, said[1][:2000])
    names = names_of(op)
    source = f"direct/{names.kernel}_direct.cpp"
    code, said = python("-m", "attndsl", "emulate", "direct/main.cpp", "--source", source, "2", cwd=folder)
    assert code == 0 and said.endswith("ok\n"), said[:2000]
    for path in folder.rglob("*.py"):
        compile(path.read_text(), path.name, "exec")


@pytest.mark.long  # test_they_compute_what_they_should compiles and runs a kernel of these names
def test_names_that_are_taken(tmp_path):
    """The test for devices calls the wrapper by identifiers, and that the reference by the spec's names."""
    assert projected(named_spec.op, tmp_path)
    everything_compiles(named_spec.op, tmp_path)
    arguments = ("test/test_on_device.py", "--reference", "--report", "report.json")
    code, said = python(*arguments, cwd=tmp_path, ATTNDSL_SPEC=named_spec.__file__)
    assert code == 0 and json.loads((tmp_path / "report.json").read_text())["ok"], said


@pytest.mark.parametrize("passed", [(), ("__mask__",)])
def test_they_compute_what_they_should(passed):
    """On the emulator; every parameter limits the keys on its own."""
    op, rng = operator(READ), np.random.default_rng(0)
    shapes = {"query": (2, 4, 1, 16), "key": (2, 2, 40, 16), "value": (2, 2, 40, 16)}
    call = {name: rng.standard_normal(shape).astype(np.float16) for name, shape in shapes.items()}
    call |= {name: 3 + number for number, name in enumerate(READ)} | {"goto": [40, 7]}
    if passed:
        call["__mask__"] = rng.random((2, 40)) < 0.3
    want, found = op(**call, precision="float64"), op(**call, backend="emulator")
    np.testing.assert_allclose(found.astype(np.float64), want, rtol=0, atol=4e-3)


def test_no_two_members_are_alike():
    """A size or parameter named like something that every host has: both are there."""
    op = operator(
        ("cores", "queryLayout", "queryDtype", "gotoCount", "headSize", "x", "x_", "x_list"), ("x_x",)
    )
    rows = [
        row.name
        for row in host_text(
            [compile_operator(op, Specialization(dtype="float16", padded_head_size=16))]
        ).problem
    ]
    assert len(set(rows)) == len(rows) and {"cores", "cores_"} <= set(rows)
    spelled = list(names_of(op)._spelled.values())
    beside = [f"{name}_list" for name in spelled]
    assert len({*spelled, *beside}) == len(spelled) + len(beside)


def test_options_of_calls_are_no_names():
    for name in ("backend", "precision"):
        with pytest.raises(errors.SpecError, match="option of calls"):
            operator((name,))


@pytest.mark.parametrize("name", ["double", "GM_ADDR", "EOF", "ACL_ERROR", "None", "aclrtMalloc"])
def test_taken_names_are_known(name):
    assert is_taken(name) and identifier(name) == f"{name}_" and not is_taken(f"{name}_")


@pytest.mark.parametrize("name", ["query", "N", "kvN", "S1", "attn_mask", "Query", "aclMask", "head_dim"][:6])
def test_others_stay(name):
    assert not is_taken(name) and identifier(name) == name


@pytest.mark.long
@pytest.mark.parametrize("turn", range(4))
def test_every_word_of_generated_files_may_be_a_name(turn, tmp_path):
    """All identifiers of a project, a quarter of them each as parameters, tensors, lists and sizes."""
    kinds = ("params", "tensors", "lists", "dims")
    files = projected(operator(), tmp_path / "plain")
    code = "\n".join(text for name, text in files.items() if name.endswith((".h", ".cpp", ".py")))
    bare = re.sub(r'"(\\.|[^"\\\n])*"|//[^\n]*', "", code)
    lengths = ("stream", "at_", "call", "sizes", "tensor")
    own = {each.replace("_", "").lower() for each in (*OWN, "__mask__", *lengths)}
    found = sorted(set(re.findall(r"[A-Za-z_]\w*", bare)) - {*INDICES, "backend", "precision"})
    told = {word.replace("_", "").lower(): word for word in found}  # names that differ in less are refused
    words = [word for key, word in told.items() if key not in own]
    assert len(words) > 1000
    chosen = {kind: tuple(words[(turn + i) % 4 :: 4]) for i, kind in enumerate(kinds)}
    op = operator(**chosen, lengths=lengths, name=f"operator{turn}")
    projected(op, tmp_path / "named")
    everything_compiles(op, tmp_path / "named")
