"""``attndsl new``: a commented spec to start from."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from attndsl.cli.command_frame import answer
from attndsl.cli.command_options import command, json_option
from attndsl.cli.command_values import Place


def _kinds(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds that begin so, for the shell's completion."""
    from attndsl.spec.operator.starting_specs import kinds

    return [CompletionItem(kind) for kind in kinds() if kind.startswith(incomplete)]


@command("new", "new my_attention --like paged-decode", "new my_attention --like causal-prefill --out specs")
@click.argument("name")
@click.option(
    "--like",
    "kind",
    metavar="KIND",
    required=True,
    shell_complete=_kinds,
    help="causal-prefill, packed-prefill, sliding-window, paged-decode, mla-decode or shared-prefix",
)
@click.option("--out", default=".", show_default=True, type=Place(file=False), help="folder")
@json_option
def new(name: str, kind: str, out: Path, as_json: bool) -> None:
    """Write a commented spec of a kind to OUT/NAME.py, which verifies as it stands.

    A file that is there is not overwritten.
    """
    from attndsl.spec.operator.starting_specs import starting_spec

    text, path = starting_spec(kind, name), out / f"{name}.py"
    out.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise click.UsageError(f"{path} is there already; take another name, or remove it") from None
    if as_json:
        answer(operator=name, kind=kind, file=str(path))
        return
    click.echo(f"{path}: a spec like {kind}, {len(text.splitlines())} lines")
    click.echo(f"    attndsl verify {path}")
