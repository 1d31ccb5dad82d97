"""``attndsl new``: each kind is a right spec under its new name; one is verified; nothing is overwritten."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from attndsl.base.package_files import starting_specs_dir
from attndsl.cli.cli import cli
from attndsl.cli.command_frame import OK, WRONG_USAGE, run_command
from attndsl.compiler.compile import compile_operator
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.starting_specs import kinds

ASKED_FOR = {
    "causal-prefill",
    "packed-prefill",
    "sliding-window",
    "paged-decode",
    "mla-decode",
    "shared-prefix",
}
VALUE_SIZES = {"mla-decode": 512}


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = run_command(cli, arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.mark.parametrize("kind", kinds())
def test_each_kind_compiles_under_its_new_name(kind: str, told, tmp_path: Path) -> None:
    code, out, err = told("new", "my_own", "--like", kind)
    lines = (tmp_path / "my_own.py").read_text().splitlines()
    assert (code, out, err) == (
        OK,
        f"my_own.py: a spec like {kind}, {len(lines)} lines\n    attndsl verify my_own.py\n",
        "",
    )
    op = load_file(tmp_path / "my_own.py")
    assert op.name == "my_own" and not any(kind.replace("-", "_") in line for line in lines)
    sizes = {"padded_head_size": 576 if kind in VALUE_SIZES else 64}
    if kind in VALUE_SIZES:
        sizes["padded_value_size"] = VALUE_SIZES[kind]
    compile_operator(op, Specialization(dtype="float16", **sizes))


def test_the_kinds_are_those_of_the_families() -> None:
    """Help names them by hand, so that it needs not look at files."""
    assert set(kinds()) == ASKED_FOR
    (option,) = (each for each in cli.commands["new"].params if each.name == "kind")
    assert set(re.findall(r"[a-z]+-[a-z]+", option.help)) == ASKED_FOR  # type: ignore[attr-defined]


def test_each_block_of_statements_has_a_comment() -> None:
    for path in starting_specs_dir().glob("*.py"):
        head, *blocks = path.read_text().split("\n\n")
        wanted = [each for each in blocks if each.startswith(("B, ", "query =", "op.require", "i, j"))]
        assert head.startswith('"""') and not wanted, f"{path.name}: {wanted}"


def test_a_new_spec_verifies_as_it_stands(told) -> None:
    told("new", "mine", "--like", "paged-decode")
    code, out, _ = told("verify", "mine.py", "--cases", "2", "--json")
    document = json.loads(out)
    assert code == OK, document
    (found,) = document["verifications"]
    assert found["ok"] and found["misses"] == 0
    assert {name: each["counts"] for name, each in found["backends"].items()} == {
        name: {"pass": 2} for name in ("reference", "tile", "emulator")
    }


def test_a_file_that_is_there_stays(told, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("precious")
    code, _, err = told("new", "mine", "--like", "paged-decode")
    assert code == WRONG_USAGE
    assert err == "attndsl: mine.py is there already; take another name, or remove it\n"
    assert (tmp_path / "mine.py").read_text() == "precious"
    assert told("new", "mine", "--like", "paged-decode", "--out", "other")[0] == OK
    assert (tmp_path / "other" / "mine.py").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("mine", "--like", "pagd-decode"),
            "no starting spec is like 'pagd-decode'; did you mean 'paged-decode'? there are causal-prefill, "
            "mla-decode, packed-prefill, paged-decode, shared-prefix, sliding-window",
        ),
        (
            ("my-own.py", "--like", "paged-decode"),
            "an operator cannot be called 'my-own.py': a name has letters, digits and _, and begins with "
            "none of the digits; take 'my_own'",
        ),
        (("mine",), "Missing option '--like'."),
    ],
)
def test_what_there_is_not_is_refused(arguments: tuple[str, ...], said: str, told, tmp_path: Path) -> None:
    code, out, err = told("new", *arguments)
    assert (code, out, err) == (WRONG_USAGE, "", f"attndsl: {said}\n")
    code, out, _ = told("new", *arguments, "--json")
    assert code == WRONG_USAGE and json.loads(out)["error"] == said
    assert not list(tmp_path.iterdir())
