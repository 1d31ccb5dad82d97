"""The command as a user meets it: output, exit codes, and nothing half written."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from attndsl import campaign
from attndsl.api import ops
from attndsl.campaign import records
from attndsl.campaign.results import Verification
from attndsl.cli.cli import cli
from attndsl.cli.command_frame import run_command
from attndsl.spec.operator.operator import Operator

SMALL = ("--feature", "none", "--dtype", "float16")
Done = subprocess.CompletedProcess[str]
Command = Callable[..., Done]


def in_a_process(*arguments: str, cwd: Path | None = None, **environment: str) -> Done:
    """A command where its environment matters."""
    return subprocess.run(
        [sys.executable, "-m", "attndsl", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.fixture
def attndsl(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """A command in this process, which has imported what most of its time would go to."""

    def run(*arguments: str, cwd: Path | None = None) -> Done:
        with monkeypatch.context() as patched:
            if cwd is not None:
                patched.chdir(cwd)
            capfd.readouterr()
            code = run_command(cli, arguments)
            said = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    return run


def test_list_names_operator_and_features(attndsl: Command) -> None:
    done = attndsl("list", "--json")
    rows = {row["name"]: row for row in json.loads(done.stdout)["operators"]}
    assert rows["incre_flash_attention"]["document"] == "mindspore.ops.incre_flash_attention"
    assert {"attn_mask", "pse_shift"} <= set(rows["incre_flash_attention"]["features"])
    assert "dequant_scale1" not in rows["incre_flash_attention"]["features"]  # reserved: never computed with


def test_show_prints_each_stage(attndsl: Command) -> None:
    done = attndsl("show", "incre_flash_attention", "--json", "--stage", "graph", "--stage", "cores", *SMALL)
    texts = json.loads(done.stdout)
    assert "Softmax" in texts["graph"]
    assert "set MTE2->V scoreReady" in texts["cores"]


def test_generate_writes_once_and_then_touches_nothing(tmp_path: Path, attndsl: Command) -> None:
    command = ("generate", "incre_flash_attention", "--out", str(tmp_path), "--set", "D=40", *SMALL)
    first = attndsl(*command)
    assert first.returncode == 0, first.stderr
    folder = tmp_path / "incre_flash_attention"
    stamps = {path.name: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert "incre_flash_attention_d48.h" in stamps
    assert "0 written" in attndsl(*command).stdout
    assert stamps == {path.name: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert [path.name for path in tmp_path.iterdir()] == ["incre_flash_attention"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("show", "incre_flash_atention"), ["incre_flash_atention", "incre_flash_attention"]),
        (("generate", "--frobnicate"), ["--frobnicate"]),
        (("generate", "incre_flash_attention", "--feature", "colour"), ["colour", "attn_mask"]),
        (("generate", "incre_flash_attention", "--dtype", "float64"), ["float64", "bfloat16"]),
        (("generate", "incre_flash_attention", "--set", "D=513"), ["513", "512"]),
        (("generate", "incre_flash_attention", "--set", "D"), ["NAME=VALUE"]),
        (("generate", "self_attention", "--set", "calcType=PA"), ["calcType", "'PA'", "PA_ENCODER"]),
        (("show", "self_attention", "--set", "maskTipe=NORM"), ["maskTipe", "maskType"]),
        (("generate", "self_attention", "--set", "maskType=HIDE"), ["HIDE", "SLIDING_WINDOW_NORM"]),
        (("generate", "self_attention", "--set", "calcType=DECODER,maskType=9"), ["no call", "maskType=9"]),
        (("show", "no_such_file.py"), ["no_such_file.py"]),
        (("show", "self_attention", "--stage", "contract", "--set", "D=0"), ["D=0", "1 to 1024"]),
        (("show", "self_attention", "--set", "windowSize=٣"), ["windowSize=٣", "digits 0 to 9"]),
        (("show", "self_attention", "--set", "windowSize=1_0"), ["windowSize=1_0", "windowSize >= 0"]),
        (("show", "self_attention", "--set", "clampMin=nan"), ["clampMin=nan", "numbers"]),
        (("generate", "self_attention", "--set", "D=64", "--set", "D=128"), ["'D' twice", "D=64 and D=128"]),
        (("show", "self_attention", "--set", "given(value)=true"), ["--set given(value)", "--feature"]),
        (
            ("generate", "self_attention", "--set", "dtype(query)=float16", "--dtype", "bfloat16"),
            ["dtype(query)=float16", "--dtype bfloat16"],
        ),
        (("generate", "incre_flash_attention", "--out", ""), ["--out", "''"]),
        (
            ("profile", "self_attention", "--shape", "batch=1,batch=2"),
            ["'batch' twice", "batch=1 and batch=2"],
        ),
        (("profile", "self_attention", "--shape", "batch=-1"), ["'batch' is -1", "at least 0"]),
        (("profile", "self_attention", "--shape", "batch=²"), ["--shape batch", "'²'", "digits 0 to 9"]),
        (("profile", "self_attention", "--shape", f"batch={1 << 63}"), ["--shape batch", str((1 << 63) - 1)]),
        (("profile", "self_attention", "--shape", "headNum=-3"), ["headNum > 0", "nearest legal value is 1"]),
        (("profile", "self_attention", "--shape", "headNum=2", "--set", "headNum=4"), ["headNum", "once"]),
        (("profile", "self_attention", "--set", "D=64"), ["--set D", "--shape"]),
        (
            ("profile", "self_attention", "--dtype", "float16", "--set", "dtype(query)=bfloat16"),
            ["float16", "bfloat16"],
        ),
        (("verify", "relay_attention", "--seed", "-1"), ["--seed", "'-1'", "at least 0"]),
        (("verify", "relay_attention", "--seed", "1_000"), ["--seed", "'1_000'", "digits 0 to 9"]),
        (("verify", "relay_attention", "--cases", "٣"), ["--cases", "'٣'", "1 to 1000000"]),
        (("verify", "relay_attention", "--case", "5", "--cases", "5"), ["--case 5", "--cases 5", "0 to 4"]),
        (("verify", "relay_attention", "--project", ""), ["--project", "''"]),
        (("verify", "relay_attention", "--with", "B=1"), ["--with", "--case"]),
        (("verify", "relay_attention", "--case", "1", "--with", "B"), ["--with B", "NAME=VALUE"]),
        (("verify", "relay_attention", "--case", "1", "--with", "B=1", "--with", "B=2"), ["'B' twice"]),
        (("emulate", "file.cpp", "--timeout", "nan"), ["--timeout", "'nan'", "0.1"]),
        (("emulate", "file.cpp", "--memory", "1e999"), ["--memory", "'1e999'"]),
        (("run", "incre_flash_attention", "missing.npz"), ["missing.npz"]),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...], names: list[str], tmp_path: Path, attndsl: Command
) -> None:
    done = attndsl(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().split("\n")) == 1, done.stderr
    assert all(name in done.stderr for name in names)
    assert list(tmp_path.iterdir()) == []


def test_near_twins_of_wrong_usage_are_taken(tmp_path: Path, attndsl: Command) -> None:
    shape = ("--shape", "B=1,N=2,KN=2,T=32,D=16")
    (tmp_path / "mine.py").write_text(MINE)
    for arguments in (
        ("show", "self_attention", "--stage", "contract", "--set", "D=256,windowSize=10,clampMin=-1.5e0"),
        (
            "show",
            "self_attention",
            "--stage",
            "contract",
            "--dtype",
            "float16",
            "--set",
            "dtype(query)=float16",
        ),
        ("profile", "mine.py", *shape, "--dtype", "float16", "--set", "dtype(query)=float16"),
        ("verify", "mine.py", "--case", "4", "--cases", "5", "--seed", "0", "--backend", "reference"),
    ):
        done = attndsl(*arguments, cwd=tmp_path)
        assert done.returncode == 0, (arguments, done.stderr)


def test_a_case_may_lie_beyond_the_default_number(
    tmp_path: Path, attndsl: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a stream without an end; to search for so many takes long, so that another is run in its place."""
    (tmp_path / "mine.py").write_text(MINE)
    asked = []

    def first(operator: Operator, *, only: tuple[int, ...], **options: Any) -> Verification:
        asked.append(only)
        return campaign.runner.verify(operator, only=(0,), **options)

    monkeypatch.setattr(campaign, "verify", first)
    done = attndsl("verify", "mine.py", "--case", "49", "--backend", "reference", cwd=tmp_path)
    assert done.returncode == 0 and asked == [(49,)], done.stderr


def test_output_folder_that_cannot_be_written(tmp_path: Path, attndsl: Command) -> None:
    (tmp_path / "taken").write_text("a file")
    done = attndsl("generate", "incre_flash_attention", "--out", str(tmp_path / "taken"), *SMALL)
    assert done.returncode == 2
    assert "--out" in done.stderr and len(done.stderr.strip().split("\n")) == 1
    assert (tmp_path / "taken").read_text() == "a file"


def test_missing_compiler_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    q, k = (rng.standard_normal((1, 1, 1, 16)).astype(np.float16) for _ in range(2))
    np.savez(tmp_path / "in.npz", query=q, **{"key.0": k, "value.0": k}, input_layout="BNSD", num_heads=1)
    (tmp_path / "bin").mkdir()
    done = in_a_process(
        "run",
        "incre_flash_attention",
        str(tmp_path / "in.npz"),
        "--backend",
        "emulator",
        CXX="/no/such/compiler",
        PATH=str(tmp_path / "bin"),
        ATTNDSL_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert done.returncode == 2, done.stderr
    assert "compiler" in done.stderr and len(done.stderr.strip().split("\n")) == 1


def test_run_answers_a_call_from_a_file(tmp_path: Path, attndsl: Command) -> None:
    rng = np.random.default_rng(1)
    q = rng.standard_normal((2, 4, 1, 32)).astype(ml_dtypes.bfloat16)
    k, v = (rng.standard_normal((2, 2, 50, 32)).astype(ml_dtypes.bfloat16) for _ in range(2))
    scalars = {"num_heads": 4, "num_key_value_heads": 2, "scale_value": 0.25, "input_layout": "BNSD"}
    np.savez(tmp_path / "in.npz", query=q, **{"key.0": k, "value.0": v}, **scalars)
    done = attndsl(
        "run",
        "incre_flash_attention",
        str(tmp_path / "in.npz"),
        "--backend",
        "tile",
        "--out",
        str(tmp_path / "o.npz"),
    )
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "o.npz") as file:
        got = file["attention_out"].view(ml_dtypes.bfloat16)
    expected = ops.incre_flash_attention(q, [k], [v], **scalars, precision="float64")
    np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), atol=2**-7)


def test_generated_text_does_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    texts = set()
    for seed in ("0", "7"):
        command = ("generate", "incre_flash_attention", "--out", str(tmp_path / seed), *SMALL)
        assert in_a_process(*command, PYTHONHASHSEED=seed).returncode == 0
        folder = tmp_path / seed / "incre_flash_attention"
        files = (path for path in folder.rglob("*") if path.is_file())
        texts.add(tuple(sorted((path.name, path.read_text()) for path in files)))
    assert len(texts) == 1


MINE = """
from attndsl.spec.authoring import attend
from attndsl.spec import Operator
op = Operator("plain_attention", document="mine", summary="Attention, nothing else.")
B, N, KN, T, D = op.dims("B N KN T D")
op.axes(B=B, N=N, K=KN, Q=1, T=T, D=D, E=D)
q = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
k = op.input("key", "B KN T D", dtype=q, axes="B K T D")
v = op.input("value", "B KN T D", dtype=q, axes="B K T E")
op.require(N % KN == 0, "query heads are a multiple of key/value heads")
scale = op.param("scale_value", float, default=1.0)
s = attend.scores(q, attend.rows(k)) * scale
op.output("out", attend.softmax(s) @ attend.rows(v), like=q)
"""


def test_a_spec_of_ones_own(tmp_path: Path, attndsl: Command) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    done = attndsl("generate", "mine.py", "--out", "out", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/plain_attention/op_kernel/plain_attention_d128.h").is_file()


def test_generate_tells_before_it_writes(tmp_path: Path, attndsl: Command) -> None:
    """--dry-run and --diff touch nothing; what is removed is named; a diff stands alone on its output."""
    (tmp_path / "mine.py").write_text(MINE)
    command = ("generate", "mine.py", "--out", "out", "--dtype", "float16", "--set")
    told = attndsl(*command, "D=16", "--dry-run", cwd=tmp_path)
    assert told.returncode == 0 and "to be written" in told.stdout and not (tmp_path / "out").exists()
    assert attndsl(*command, "D=16", "-q", cwd=tmp_path).stdout == ""
    manifest = (tmp_path / "out/plain_attention/.attndsl.json").read_text()
    gone = "op_kernel/plain_attention_d16.h"
    diff = attndsl(*command, "D=32", "--prune", "--diff", cwd=tmp_path)
    assert diff.stdout.startswith("--- ") and f"--- out/plain_attention/{gone}\n+++ /dev/null" in diff.stdout
    assert f"to be removed {gone}" in diff.stderr and gone in manifest
    assert (tmp_path / "out/plain_attention/.attndsl.json").read_text() == manifest
    (row,) = json.loads(attndsl(*command, "D=32", "--diff", "--json", cwd=tmp_path).stdout)["projects"]
    assert row["removed"] == [] and row["requests"] == [
        "--dtype float16 --set D=16",
        "--dtype float16 --set D=32",
    ]
    assert row["diff"].startswith("--- ") and "op_kernel/plain_attention_d32.h" in row["written"]
    done = attndsl(*command, "D=32", "--prune", "-v", cwd=tmp_path)
    assert f"    removed {gone}\n" in done.stdout and "    written README.md" not in done.stdout
    assert not (tmp_path / "out/plain_attention" / gone).exists()


def test_verify_ends_and_records_nothing_when_the_emulator_does_not_compile(tmp_path: Path) -> None:
    record = records.FOLDER / "relay_attention.json"
    before = record.read_bytes()
    broken = tmp_path / "cxx"
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo g++ && exit\necho "error: broken" >&2; exit 1\n'
    )
    broken.chmod(0o755)
    command = ("verify", "relay_attention", "--cases", "2", "--backend", "emulator", "--record")
    environment = {"CXX": str(broken), "ATTNDSL_CACHE_DIR": str(tmp_path / "cache")}
    done = in_a_process(*command, cwd=tmp_path, **environment)
    assert done.returncode == 1 and done.stdout == "", done.stdout
    assert "does not compile" in done.stderr and "recorded" not in done.stderr
    assert record.read_bytes() == before


@pytest.mark.parametrize("option", ["--record", "--renew-record"])
def test_a_file_of_a_user_has_no_record(option: str, tmp_path: Path, attndsl: Command) -> None:
    """It would get into the package, and the next list would not tell it."""
    (tmp_path / "mine.py").write_text(MINE)
    refused = attndsl("verify", "mine.py", option, cwd=tmp_path)
    assert refused.returncode == 2
    assert f"{option} is for the records of shipped operators, and mine.py is none" in refused.stderr


def test_verify_prints_what_no_case_reached(tmp_path: Path, attndsl: Command) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    command = ("verify", "mine.py", "--case", "0", "--coverage")
    done = attndsl(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"plain_attention_\w+\.h: \d+ of \d+ statements reached by 1 cases?", done.stdout)
    assert re.search(r"^    plain_attention_\w+\.h:\d+: \S", done.stdout, re.MULTILINE)
    (shown,) = json.loads(attndsl(*command, "--json", cwd=tmp_path).stdout)["verifications"]
    (kernel,) = shown["coverage"]["kernels"]
    assert 0 < kernel["reached"] == kernel["statements"] - len(kernel["missed"])
    refused = attndsl(*command, "--backend", "tile", cwd=tmp_path)
    assert refused.returncode == 2 and "--backend emulator" in refused.stderr


def test_verify_runs_a_project_that_was_edited(tmp_path: Path, attndsl: Command) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    assert attndsl("generate", "mine.py", "--out", "out", *SMALL, cwd=tmp_path).returncode == 0
    command = ("verify", "mine.py", "--cases", "1", "--project", "out/plain_attention")
    (shown,) = json.loads(attndsl(*command, "--json", cwd=tmp_path).stdout)["verifications"]
    assert shown["ok"] and shown["rows"][0]["reproduce"].endswith("--project out/plain_attention")
    kernel = next((tmp_path / "out/plain_attention/op_kernel").glob("*_d128.h"))
    kernel.write_text(kernel.read_text().replace("PipeBarrier<PIPE_V>();", ""))
    done = attndsl(*command, cwd=tmp_path)
    place = rf"racecheck/\w+ at (attndsl_kernel\.h|{kernel.name}):\d+"
    assert done.returncode == 1 and re.search(place, done.stdout), done.stdout
    (again,) = re.findall(r"attndsl (verify mine.py .*--with .*)", done.stdout)
    small = attndsl(*shlex.split(again), "-q", cwd=tmp_path)
    assert small.returncode == 1 and "racecheck/" in small.stdout
    for wrong, word in (
        (("verify", "--project", "out"), "name it"),
        (("verify", "mine.py", "--project", "out"), "no op_kernel/plain_attention_custom.cpp"),
        ((*command, "--record"), "--record"),
    ):
        refused = attndsl(*wrong, cwd=tmp_path)
        assert refused.returncode == 2 and word in refused.stderr


@pytest.mark.parametrize("command", ["show", "profile"])
def test_what_speaks_of_one_program_takes_one_dtype(command: str, attndsl: Command) -> None:
    done = attndsl(command, "incre_flash_attention", "--dtype", "float16", "--dtype", "bfloat16")
    assert done.returncode == 2 and "one io dtype here, got float16 and bfloat16" in done.stderr


IMPOSSIBLE = """
from attndsl.spec import attend, Operator
op = Operator("impossible")
B, N, T, D = op.dims("B N T D")
op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
q = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
k = op.input("key", "B N T D", dtype=q, axes="B K T D")
v = op.input("value", "B N T D", dtype=q, axes="B K T E")
op.require({first}, "one rule")
op.require({second}, "another rule")
op.output("out", attend.softmax(attend.scores(q, attend.rows(k))) @ attend.rows(v), like=q)
"""


@pytest.mark.parametrize(
    ("command", "first", "second", "said"),
    [
        ("show", "N % 2 == 1", "N % 2 == 0", "no value of 'N'"),
        ("show", "D > 5000", "D < 10", "no value of 'D'"),
        ("verify", "N + D > 5000", "N + D < 10", "no legal case of impossible was found"),
    ],
)
def test_a_spec_whose_rules_exclude_each_other_is_wrong(
    command: str, first: str, second: str, said: str, tmp_path: Path, attndsl: Command
) -> None:
    (tmp_path / "mine.py").write_text(IMPOSSIBLE.format(first=first, second=second))
    done = attndsl(command, "mine.py", "--json", cwd=tmp_path)
    assert done.returncode == 2 and said in json.loads(done.stdout)["error"], done.stderr


def test_a_spec_whose_rules_leave_a_size_is_shown(tmp_path: Path, attndsl: Command) -> None:
    (tmp_path / "mine.py").write_text(IMPOSSIBLE.format(first="N % 2 == 1", second="D > 16"))
    assert attndsl("show", "mine.py", "--stage", "contract", cwd=tmp_path).returncode == 0
