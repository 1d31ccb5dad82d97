"""The cache as a user sees it, and completion of names."""

import json
import subprocess
import sys

import pytest

from attndsl.base import disk_cache
from attndsl.cli.cli import cli
from attndsl.cli.command_frame import OK, WRONG_USAGE, run_command


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path / "cache"))
    for number in range(3):
        disk_cache.make_entry(f"programs/{number}", lambda path: (path / "data").write_bytes(bytes(1000)))
    return tmp_path / "cache"


def test_the_cache_is_told_and_removed(folder, capsys) -> None:
    assert run_command(cli, ["cache", "dir"]) == OK and capsys.readouterr().out == f"{folder}\n"
    assert run_command(cli, ["cache", "--json"]) == OK
    told = json.loads(capsys.readouterr().out)
    assert (told["action"], told["entries"], told["bytes"]) == ("size", 3, 3000)
    assert told["limit_bytes"] == disk_cache.DEFAULT_LIMIT and told["removed_bytes"] == 0
    assert run_command(cli, ["cache", "clean", "--json"]) == OK
    told = json.loads(capsys.readouterr().out)
    assert (told["entries"], told["bytes"], told["removed_bytes"]) == (0, 0, 3000)
    assert list(disk_cache.entries()) == []
    assert run_command(cli, ["cache", "clean"]) == OK  # an empty one too
    assert run_command(cli, ["cache", "size"]) == OK and "0 entries" in capsys.readouterr().out


def test_a_cache_that_is_none_is_told(tmp_path, monkeypatch, capsys) -> None:
    """Nothing is made by looking."""
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path / "none"))
    assert run_command(cli, ["cache", "size", "--json"]) == OK
    assert json.loads(capsys.readouterr().out)["entries"] == 0 and not (tmp_path / "none").exists()


def test_a_folder_of_ones_own_is_not_cleaned(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "letters").mkdir()
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path))
    assert run_command(cli, ["cache", "clean"]) == WRONG_USAGE
    assert "ATTNDSL_CACHE_DIR" in capsys.readouterr().err and (tmp_path / "letters").is_dir()


def _completed(words: str, monkeypatch, capsys) -> list[str]:
    monkeypatch.setenv("_ATTNDSL_COMPLETE", "zsh_complete")
    monkeypatch.setenv("COMP_WORDS", f"attndsl {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
    assert run_command(cli, []) == OK
    return capsys.readouterr().out.splitlines()


def test_names_of_operators_are_completed(monkeypatch, capsys) -> None:
    assert "relay_attention" in _completed("show rel", monkeypatch, capsys)
    assert "nsa_compress_attention" in _completed("verify relay_attention nsa", monkeypatch, capsys)
    assert "self_attention" not in _completed("show rel", monkeypatch, capsys)
    assert _completed("show my", monkeypatch, capsys)[:2] == ["file", "my"]
    assert "--dtype" in _completed("show self_attention --dt", monkeypatch, capsys)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(shell, capsys) -> None:
    if shell == "bash" and subprocess.run(["bash", "-c", "((BASH_VERSINFO >= 5))"], check=False).returncode:
        pytest.skip("completion needs bash 4.4")
    assert run_command(cli, ["completion", shell]) == OK
    text = capsys.readouterr().out
    assert f"_ATTNDSL_COMPLETE={shell}_complete" in text and "attndsl" in text


def test_help_tells_each_command_in_full(capsys) -> None:
    assert run_command(cli, ["--help"]) == OK
    text = " ".join(capsys.readouterr().out.split())
    assert "..." not in text.replace("[ARGS]...", "")
    for name, command in cli.commands.items():
        assert f"{name} {(command.help or '').strip().splitlines()[0]}" in text


@pytest.mark.parametrize("name", cli.commands)
def test_help_has_examples_that_are_parsed(name, capsys) -> None:
    assert run_command(cli, [name, "--help"]) == OK
    lines = capsys.readouterr().out.partition("Examples:\n")[2].splitlines()
    found = [line.split(" >")[0].split()[2:] for line in lines if line.strip().startswith(f"attndsl {name}")]
    assert found
    for words in found:
        cli.commands[name].make_context(name, words, resilient_parsing=False).close()


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("generat",), "'generate'"),
        (("zzz",), "verify"),
        (("verify", "--case-", "1"), "--case"),
        (("show", "self_atention"), "'self_attention'"),
        (("show", "self_attention", "--set", "maskTipe=NORM"), "did you mean 'maskType'"),
        (("show", "incre_flash_attention", "--feature", "atn_mask"), "did you mean 'attn_mask'"),
        (("show", "incre_flash_attention", "--dtype", "float61"), "float16"),
        (("cache", "clear"), "clean"),
    ],
)
def test_the_nearest_word_is_suggested(words, near, capsys) -> None:
    assert run_command(cli, words) == WRONG_USAGE
    said = capsys.readouterr().err
    assert near in said and len(said.splitlines()) == 1


def test_no_colour_where_none_is_wanted(tmp_path) -> None:
    code = (
        "from attndsl.cli.command_options import console; c = console(); "
        "c._force_terminal = True; c.print('[red]miss[/red]')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"NO_COLOR": "1"}
    )
    assert done.stdout.strip().endswith("miss") and "\x1b[31m" not in done.stdout
