"""Exit codes and JSON documents: the same for every command, whatever happens."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click.shell_completion
import numpy as np
import pytest

import attndsl.campaign
import attndsl.cli.call_files
import attndsl.cli.doctor
import attndsl.cli.show
import attndsl.cli.tune
import attndsl.emulator.program
import attndsl.mutate.runner
import attndsl.spec.operator.starting_specs
import attndsl.verify.cases.shaped_call
from attndsl.base import disk_cache
from attndsl.base.source_location import UNKNOWN_LINE
from attndsl.campaign import judging, records
from attndsl.cli.cli import cli
from attndsl.cli.command_frame import (
    CLOSED_PIPE,
    DEFECT,
    FAILED,
    INTERRUPTED,
    OK,
    SCHEMA,
    TERMINATED,
    WRONG_USAGE,
    run_command,
)
from attndsl.cli.doctor import Check
from attndsl.codegen.project import finished
from attndsl.emulator.errors import FindingsError, KernelCrashed
from attndsl.lowering.errors import NotLowered

MINE = """
from attndsl.spec.authoring import attend
from attndsl.spec import Operator
print("a spec may print")
op = Operator("plain_attention", document="mine", summary="Attention, nothing else.")
B, N, KN, T, D = op.dims("B N KN T D")
op.axes(B=B, N=N, K=KN, Q=1, T=T, D=D, E=D)
q = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
k = op.input("key", "B KN T D", dtype=q, axes="B K T D")
v = op.input("value", "B KN T D", dtype=q, axes="B K T E")
op.require(N % KN == 0, "query heads are a multiple of key/value heads")
s = attend.scores(q, attend.rows(k))
op.output("out", attend.softmax(s) @ attend.rows(v), like=q)
"""
PROGRAM = "int main() { return 0; }\n"
COMMANDS = {
    "list": (),
    "new": ("another", "--like", "paged-decode"),
    "show": ("mine.py", "--stage", "contract"),
    "generate": ("mine.py", "--out", "out", "--feature", "none"),
    "verify": ("mine.py", "--cases", "2", "--backend", "tile"),
    "run": ("mine.py", "in.npz"),
    "profile": ("mine.py", "--shape", "B=1,N=1,KN=1,T=16,D=16"),
    "tune": ("mine.py", "--shape", "B=1,N=1,KN=1,T=16,D=16", "--top", "1"),
    "mutate": ("mine.py", "--mutants", "1", "--cases", "2", "--seed", "1"),
    "emulate": ("program.cpp",),
    "doctor": (),
    "cache": ("dir",),
    "completion": ("zsh",),
}
KEYS = {
    "list": {"operators"},
    "new": {"operator", "kind", "file"},
    "show": {"operator", "contract"},
    "generate": {"projects"},
    "verify": {"ok", "verifications", "not_verified"},
    "run": {"operator", "backend", "results"},
    "profile": {"operator", "kernel", "predicted_microseconds"},
    "tune": {"operator", "kernel", "default_microseconds", "best_microseconds", "candidates"},
    "mutate": {"operator", "mutants", "killed", "survivors"},
    "emulate": {"exit_code", "stdout", "findings", "counters"},
    "doctor": {"ok", "checks"},
    "cache": {"action", "folder", "entries", "bytes", "limit_bytes", "removed_bytes"},
    "completion": {"shell", "script"},
}
# What each command calls to do its work.
WORK = {
    "list": (records, "features_by_backend"),
    "new": (attndsl.spec.operator.starting_specs, "starting_spec"),
    "show": (attndsl.cli.show, "stage_texts"),
    "generate": (finished, "all_finished_projects"),
    "verify": (attndsl.campaign, "verify"),
    "run": (attndsl.cli.call_files, "load_call"),
    "profile": (attndsl.verify.cases.shaped_call, "call_of_shape"),
    "tune": (attndsl.cli.tune, "tune_call"),
    "mutate": (attndsl.mutate.runner, "mutate"),
    "emulate": (attndsl.emulator.program, "build_program"),
    "doctor": (attndsl.cli.doctor, "examine"),
    "cache": (disk_cache, "cache_place"),
    "completion": (click.shell_completion, "get_completion_class"),
}
TAKES_A_SPEC = ["show", "generate", "verify", "run", "profile", "tune", "mutate"]


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """Runs a command line in a folder with a spec, a call and a program: exit code, output, errors."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "program.cpp").write_text(PROGRAM)
    half = np.ones((1, 1, 1, 16), np.float16)
    np.savez(tmp_path / "in.npz", query=half, key=half, value=half)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def run(*arguments):
        capfd.readouterr()
        code = run_command(cli, arguments)
        said = capfd.readouterr()
        return code, said.out, said.err

    return run


def document(command, *arguments):
    """Exit code and the one document of a command line with --json."""
    code, out, err = command(*arguments, "--json")
    return code, json.loads(out), err


def raising(error):
    def work(*_, **__):
        raise error

    return work


def test_every_command_is_tested_here() -> None:
    assert set(COMMANDS) == set(KEYS) == set(WORK) == set(cli.commands)


PAGE = Path(__file__).parents[2] / "docs" / "json.md"


_ANSWERS = {}


def answer(command, name):
    """Exit code and document of a command that is right, run once for all who look at it."""
    if name not in _ANSWERS:
        _ANSWERS[name] = document(command, name, *COMMANDS[name])[:2]
    return _ANSWERS[name]


@pytest.mark.sweep(fast=7)
@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_names_every_key_of_an_answer(command, name) -> None:
    _, found = answer(command, name)
    section = PAGE.read_text().split(f"### `{name}`")[1].split("\n### ")[0]
    inner = (
        found.get("operators") or found.get("projects") or found.get("checks") or found.get("verifications")
    )
    keys = {*found, *(inner[0] if inner else ())} - {"schema", "command"}
    assert {key for key in keys if f"`{key}`" not in section} == set()


def test_the_page_names_every_exit_code_and_the_version() -> None:
    page = PAGE.read_text()
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert codes == {OK, FAILED, WRONG_USAGE, DEFECT, INTERRUPTED, CLOSED_PIPE, TERMINATED}
    assert f"now {SCHEMA}." in page


@pytest.mark.parametrize("name", COMMANDS)
def test_an_answer_is_one_document(command, name) -> None:
    code, found = answer(command, name)
    assert code == OK and found["schema"] == SCHEMA and found["command"] == name
    assert KEYS[name] <= set(found) and "error" not in found


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_usage_is_one_document(command, name) -> None:
    code, found, err = (
        document(command, name, *COMMANDS[name], "--cases", "0", "--frobnicate")
        if (name != "emulate")
        else document(command, name, *COMMANDS[name], "--timeout", "soon")
    )
    assert code == found["exit_code"] == WRONG_USAGE
    assert found["schema"] == SCHEMA and found["command"] == name
    assert found["error"] in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("name", TAKES_A_SPEC)
def test_a_wrong_spec_is_one_document(command, tmp_path, name) -> None:
    (tmp_path / "mine.py").write_text("print('before')\nraise ValueError('of mine')\n")
    code, found, err = document(command, name, *COMMANDS[name])
    assert code == found["exit_code"] == WRONG_USAGE
    assert found["error"] == "mine.py:2: ValueError: of mine" and found["error_class"] == "SpecFileError"
    assert err.splitlines() == ["before", f"attndsl: {found['error']}"]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_went_wrong_at_work_is_one_document(command, monkeypatch, name) -> None:
    """Findings of the checks, a crash of a kernel: neither the user's mistake nor a defect of the command."""
    for error in (KernelCrashed("it died of SIGSEGV"), FindingsError("racecheck/write_after_read")):
        monkeypatch.setattr(*WORK[name], raising(error))
        code, found, _ = document(command, name, *COMMANDS[name])
        assert code == found["exit_code"] == FAILED
        assert found["error"] == str(error) and found["error_class"] == type(error).__name__


@pytest.mark.parametrize("name", COMMANDS)
def test_a_defect_is_one_document_and_one_line(command, monkeypatch, name) -> None:
    monkeypatch.setattr(*WORK[name], raising(ZeroDivisionError("of\nours")))
    code, found, err = document(command, name, *COMMANDS[name])
    assert code == found["exit_code"] == DEFECT and found["error_class"] == "ZeroDivisionError"
    assert [line for line in err.splitlines() if line.startswith("attndsl:")] == [
        f"attndsl: {found['error']}"
    ]
    assert "please report" in found["error"] and found["traceback"] in found["error"]
    text = Path(found["traceback"]).read_text()
    assert "Traceback" in text and f"attndsl {name}" in text and "test_command_frame.py" in text
    code, out, err = command(name, *COMMANDS[name])
    assert code == DEFECT and "Traceback" not in out + err


class _Silent(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize("error", [SystemExit(0), GeneratorExit(), _Silent(), EOFError()])
def test_no_error_ends_a_command_with_success(command, monkeypatch, error) -> None:
    monkeypatch.setattr(*WORK["list"], raising(error))
    code, out, err = command("list")
    assert code == DEFECT and out == "" and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [(KeyboardInterrupt(), INTERRUPTED, "attndsl: interrupted\n"), (BrokenPipeError(), CLOSED_PIPE, "")],
)
def test_an_end_from_outside_is_no_defect(command, monkeypatch, error, code, said) -> None:
    monkeypatch.setattr(*WORK["list"], raising(error))
    monkeypatch.setattr("attndsl.cli.command_frame._drop", lambda stream: None)
    assert command("list") == (code, "", said)


def test_failed_checks_are_documents_with_the_answer(command, monkeypatch) -> None:
    monkeypatch.setattr(*WORK["doctor"], lambda: (Check("compiler", False, "none", "get one"),))
    code, found, _ = document(command, "doctor")
    assert code == FAILED and not found["ok"] and found["checks"][0]["advice"] == "get one"
    monkeypatch.setitem(judging._BACKENDS, "tile", raising(ValueError("wrong numbers")))
    code, found, _ = document(command, "verify", *COMMANDS["verify"])
    assert code == FAILED and not found["ok"] and found["verifications"][0]["misses"] == 2


def test_a_backend_that_ran_no_case_is_no_success(command, monkeypatch) -> None:
    monkeypatch.setitem(judging._BACKENDS, "tile", raising(NotLowered("anything", UNKNOWN_LINE)))
    code, out, _ = command("verify", *COMMANDS["verify"])
    assert code == FAILED
    assert re.search("tile ran no case, so nothing was verified on it: not lowered: .*anything has no", out)
    code, found, _ = document(command, "verify", *COMMANDS["verify"])
    assert code == FAILED and list(found["verifications"][0]["ran_no_case"]) == ["tile"]
    assert found["verifications"][0]["misses"] == 0
    code, _, _ = command("verify", "mine.py", "--cases", "2", "--backend", "reference")
    assert code == OK  # nothing else was asked for


def test_one_case_that_ran_is_enough(command, monkeypatch) -> None:
    whole, seen = judging._BACKENDS["tile"], []

    def first_only(call):
        seen.append(call)
        if len(seen) > 1:
            raise NotLowered("anything", UNKNOWN_LINE)
        return whole(call)

    monkeypatch.setitem(judging._BACKENDS, "tile", first_only)
    monkeypatch.setenv("ATTNDSL_WORKERS", "1")
    code, found, _ = document(command, "verify", *COMMANDS["verify"])
    assert code == OK and found["verifications"][0]["ran_no_case"] == {} and len(seen) == 2


def test_help_is_text_and_wrong_commands_are_documents(command) -> None:
    code, out, _ = command("list", "--help", "--json")
    assert code == OK and out.startswith("Usage:")
    for wrong in (("frobnicate",), (), ("show",)):
        code, found, _ = document(command, *wrong)
        assert code == WRONG_USAGE and found["error"]
    # behind -- words are the program's own: this is text
    code, out, err = command("emulate", "missing.cpp", "--", "--json")
    assert code == WRONG_USAGE and out == "" and "missing.cpp" in err


def test_names_that_the_terminal_cannot_show(command) -> None:
    code, found, err = document(command, "show", "\udcff.py")
    assert code == WRONG_USAGE and "\udcff.py" in found["error"] and "\\udcff.py" in err


def _heeding_interrupts() -> None:
    """A shell starts what runs in the background with interrupts ignored, and children inherit it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _started(*arguments, **options):
    line = [sys.executable, "-m", "attndsl", *arguments]
    return subprocess.Popen(
        line, stderr=subprocess.PIPE, text=True, preexec_fn=_heeding_interrupts, **options
    )


@pytest.mark.parametrize("arguments", [("--help",), ("show", "relay_attention"), ("list", "--json")])
def test_a_closed_pipe_is_quiet(arguments) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with _started(*arguments, stdout=writer) as process:
        os.close(writer)
        _, said = process.communicate()
    assert (process.returncode, said) == (CLOSED_PIPE, "")


def test_a_full_disk_is_told() -> None:
    full = Path("/dev/full").open("w")  # noqa: SIM115
    with full, _started("show", "relay_attention", stdout=full) as process:
        _, said = process.communicate()
    assert process.returncode == FAILED and len(said.splitlines()) == 1 and "No space left" in said


def test_an_interrupt_inside_exec_has_the_same_exit_code(tmp_path) -> None:
    """Python notes there that a process is to end by the signal; dataclasses are made by exec."""
    interrupt = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nfor _ in range(1000): pass\n"
    (tmp_path / "mine.py").write_text(f"exec({interrupt!r})\n")
    with _started("show", "mine.py", cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (INTERRUPTED, "attndsl: interrupted\n")


def test_an_interrupt_ends_a_verification_soon() -> None:
    with _started(
        "verify", "relay_attention", "--backend", "reference", stdout=subprocess.DEVNULL
    ) as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (INTERRUPTED, "attndsl: interrupted\n")


COMPILER = """#!/bin/sh
[ "$1" = --version ] && echo g++ && exit
sleep 600 &
echo $! > "$PIDS.$$.new" && mv "$PIDS.$$.new" "$PIDS.$$"
wait
"""


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGTERM, TERMINATED, "attndsl: terminated\n"),
        (signal.SIGINT, INTERRUPTED, "attndsl: interrupted\n"),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
)
def test_compilers_and_temporary_folders_end_with_a_command(tmp_path, number, code, said) -> None:
    """Also those that a compiler started in its turn; only a kill leaves folders behind."""
    (tmp_path / "cxx").write_text(COMPILER)
    (tmp_path / "cxx").chmod(0o755)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "program.cpp").write_text(PROGRAM)
    environment = {
        "CXX": str(tmp_path / "cxx"),
        "PIDS": str(tmp_path / "compiling"),
        "TMPDIR": str(tmp_path / "tmp"),
        "ATTNDSL_CACHE_DIR": str(tmp_path / "cache"),
    }
    with _started("emulate", str(tmp_path / "program.cpp"), env={**os.environ, **environment}) as process:
        end = time.monotonic() + 60
        while len(found := [*tmp_path.glob("compiling.*[0-9]")]) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        children = [int(each.read_text()) for each in found]
        assert len(children) >= 2 and all(_alive(each) for each in children)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    while any(_alive(each) for each in children) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(_alive(each) for each in children)
    building = "attndsl: building the emulator's runtime once (about 10 s) with"
    lines = errors.splitlines(keepends=True)
    assert lines[0].startswith(building) and "".join(lines[1:]) == said and process.returncode == code
    if number != signal.SIGKILL:
        assert [*(tmp_path / "tmp").iterdir()] == []
        assert [each.name for each in (tmp_path / "cache").iterdir()] == [disk_cache.TAG]


@pytest.mark.parametrize(
    ("arguments", "not_imported"),
    [
        (("--help",), {"numpy", "sympy", "networkx", "rich", "jinja2", "attndsl.spec", "attndsl.verify"}),
        (("list",), {"sympy", "networkx", "rich", "jinja2", "attndsl.codegen"}),
        (
            ("show", "relay_attention", "--stage", "contract"),
            {"sympy", "networkx", "rich", "jinja2", "attndsl.campaign"},
        ),
        (("doctor",), {"sympy", "networkx", "rich", "jinja2", "attndsl.spec", "attndsl.verify"}),
    ],
)
def test_a_command_imports_what_it_uses(arguments, not_imported) -> None:
    assert not_imported & imported_by(arguments, os.environ) == set()


def imported_by(arguments, environment) -> set[str]:
    """The modules that a command has imported when it ends, in a process of its own."""
    code = (
        "import sys; from attndsl.cli.cli import cli; from attndsl.cli.command_frame import run_command\n"
        f"code = run_command(cli, {arguments!r}); print(code, *sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    ended, *modules = done.stderr.split()
    assert ended == "0" and "click" in modules
    return set(modules)


@pytest.mark.parametrize(
    ("arguments", "packages"),
    [
        (("list",), {"base", "cli"}),
        (
            ("show", "relay_attention", "--stage", "contract"),
            {"base", "cli", "codegen", "expr", "graph", "spec", "target"},
        ),
    ],
    ids=["list", "show"],
)
def test_a_stored_answer_imports_nothing_of_what_finds_it(arguments, packages, tmp_path) -> None:
    """What a command answers again and again: one import for its words, and it is four times as slow."""
    environment = os.environ | {disk_cache.FOLDER_VARIABLE: str(tmp_path), disk_cache.STORE_VARIABLE: "1"}

    def packages_imported() -> set[str]:
        found = imported_by(arguments, environment)
        return {name.split(".")[1] for name in found if name.startswith("attndsl.")}

    assert packages_imported() > packages
    assert packages_imported() == packages
