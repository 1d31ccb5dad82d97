"""``attndsl doctor``, ``cache`` and ``completion``: what this machine has, and what attndsl keeps on it."""

from __future__ import annotations

import click

from attndsl.cli.command_frame import FAILED, answer
from attndsl.cli.command_options import command, is_quiet, json_option, loudness_options

CACHE_ACTIONS = ("dir", "size", "clean")
SHELLS = ("bash", "zsh", "fish")


@command("doctor", "doctor", "doctor --json")
@loudness_options
@json_option
def doctor(as_json: bool) -> None:
    """What is installed, which compiler is used, what is missing and how to get it."""
    from attndsl.cli.doctor import examine

    checks = []
    for check in examine():
        checks.append(check)
        if not (as_json or (check.ok and is_quiet())):
            click.echo(check.line())
    if as_json:
        answer(ok=all(check.ok for check in checks), checks=[check.to_json() for check in checks])
    if not all(check.ok for check in checks):
        raise click.exceptions.Exit(FAILED)


@command("cache", "cache size", "cache dir", "cache clean --json")
@click.argument("action", type=click.Choice(CACHE_ACTIONS), default="size")
@json_option
def cache(action: str, as_json: bool) -> None:
    """Where the cache on disk is, how large it is, and its removal.

    ACTION is one of dir (print the folder), size (the default: entries, bytes and the bound on them) and
    clean (remove all entries). ATTNDSL_CACHE_DIR names another folder, ATTNDSL_CACHE_BYTES another bound.
    Nothing is lost with an entry but the time to make it again; do not clean while attndsl runs elsewhere.
    """
    from attndsl.base import disk_cache

    folder, limit = disk_cache.cache_place(), disk_cache.size_limit()
    if folder.exists() and not folder.is_dir():
        raise disk_cache.CacheNotWritable(folder, "it is no folder")
    removed = disk_cache.clean() if action == "clean" else 0
    found = list(disk_cache.entries()) if as_json or action == "size" else []
    total = sum(each.bytes for each in found)
    if as_json:
        answer(
            action=action,
            folder=str(folder),
            entries=len(found),
            bytes=total,
            limit_bytes=limit,
            removed_bytes=removed,
        )
    elif action == "dir":
        click.echo(str(folder))
    elif action == "clean":
        click.echo(f"{folder}: {_megabytes(removed)} removed")
    else:
        noun = "entry" if len(found) == 1 else "entries"
        click.echo(f"{folder}: {len(found)} {noun}, {_megabytes(total)} of at most {_megabytes(limit)}")


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


@command(
    "completion",
    "completion bash >> ~/.bashrc",
    "completion zsh >> ~/.zshrc",
    "completion fish > ~/.config/fish/completions/attndsl.fish",
)
@click.argument("shell", type=click.Choice(SHELLS))
@json_option
def completion(shell: str, as_json: bool) -> None:
    """The script that makes a shell complete commands, options and names of operators."""
    from click.shell_completion import get_completion_class

    from attndsl.cli.command_frame import COMPLETION_VARIABLE, PROGRAM

    found = get_completion_class(shell)
    assert found is not None, "click has no completion for a shell that we offer"
    commands = click.get_current_context().find_root().command
    script = found(commands, {}, PROGRAM, COMPLETION_VARIABLE).source()
    if as_json:
        answer(shell=shell, script=script)
    else:
        click.echo(script)
