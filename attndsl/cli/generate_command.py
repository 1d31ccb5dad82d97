"""``attndsl generate``: the operators' projects as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attndsl.cli.command_frame import answer
from attndsl.cli.command_options import (
    StatusLine,
    command,
    device_option,
    dtype_option,
    feature_option,
    is_quiet,
    is_verbose,
    json_option,
    loudness_options,
    operator_names,
    operators,
    request_of,
    set_option,
)
from attndsl.cli.command_values import Place

if TYPE_CHECKING:
    from attndsl.codegen.project.generation import Planned


@command(
    "generate",
    "generate incre_flash_attention --out out",
    "generate incre_flash_attention --set D=64 --feature attn_mask --feature pse_shift",
    "generate my_attention.py --diff",
)
@operator_names
@click.option("--out", default="generated", show_default=True, type=Place(file=False), help="folder")
@dtype_option
@set_option
@feature_option
@device_option
@click.option(
    "--prune", is_flag=True, help="forget earlier requests: remove kernels that only they asked for"
)
@click.option("--dry-run", is_flag=True, help="say what would be written and removed; touch nothing")
@click.option("--diff", is_flag=True, help="print what would change as a unified diff; touch nothing")
@loudness_options
@json_option
def generate(
    names: tuple[str, ...],
    out: Path,
    dtypes: tuple[str, ...],
    settings: tuple[str, ...],
    features: tuple[str, ...],
    device: str | None,
    prune: bool,
    dry_run: bool,
    diff: bool,
    as_json: bool,
) -> None:
    """Write the operators' projects to OUT/NAME/: kernels, host code, build files, bindings, tests.

    A project keeps the kernels of earlier requests for it, unless --prune is given. Files that an earlier
    generation wrote there, this one does not and nobody has changed are removed; others are left alone.

    A spec file is a Python program of yours, which is executed to load it; nothing else is.
    """
    from attndsl.codegen.project.generation import Generation

    request = request_of(dtypes, settings, features)
    wanted = operators(names, device)
    status = StatusLine(wanted=not as_json)
    generation = Generation(
        wanted,
        request,
        out,
        prune=prune,
        progress=lambda each, done: status.show(f"{each.name}, {done + 1} of {len(wanted)} operators"),
    )
    # Everything is computed before the first file is written.
    planned = generation.plan()
    status.clear()
    _check_named(names, wanted, planned)
    if not (dry_run or diff):
        planned = generation.write(planned)
        status.clear()
    if as_json:
        answer(dry_run=dry_run or diff, projects=[_as_row(each, diff) for each in planned])
        return
    for each in planned:
        for line in each.change.diff() if diff else ():
            click.echo(line)
        for line in _lines(each, would=dry_run or diff):
            click.echo(line, err=diff)  # a diff is read by patch: nothing else stands beside it


def _check_named(names: Sequence[str], wanted: Sequence[Any], planned: Sequence[Planned]) -> None:
    """An operator that is named and has no kernel is an error; of all operators some may have none."""
    for operator in wanted if names else ():
        own = {operator.name, *(mode.name for mode in operator.modes)}
        made = [each.project for each in planned if each.project.operator in own]
        if not any(project.files for project in made):
            raise click.UsageError(f"{operator.name} has no kernel yet: {made[0].reason}")


def _as_row(planned: Planned, diff: bool) -> dict[str, Any]:
    project, change = planned.project, planned.change
    row = {
        "operator": project.operator,
        "folder": str(change.folder),
        "files": sorted(project.files),
        "written": list(change.written),
        "removed": list(change.removed),
        "requests": [request.options for request in project.requests],
        "without_kernel": list(project.not_lowered),
        "reason": project.reason,
    }
    return row | ({"diff": "\n".join([*change.diff(), ""])} if diff else {})


def _lines(planned: Planned, *, would: bool) -> list[str]:
    """What was done, or would be; each file that is removed, with ``-v`` also those that are written."""
    project, change = planned.project, planned.change
    if project.reason:
        return [f"{project.operator}: no kernel yet, {project.reason}"]
    to_be = "to be " if would else ""
    removed = f", {len(change.removed)} {to_be}removed" if change.removed else ""
    lines = [f"{change.folder}: {len(project.files)} files, {len(change.written)} {to_be}written{removed}"]
    if is_verbose():
        lines += [f"    {to_be}written {name}" for name in change.written]
    lines += [f"    {to_be}removed {name}" for name in change.removed]
    if len(project.requests) > 1 and (change.texts or is_verbose()):
        told = ", ".join(f"'{each.options}'" if each.options else "by default" for each in project.requests)
        lines.append(f"    with the kernels of {len(project.requests)} requests: {told}")
    if project.not_lowered:
        lines.append(f"    no kernel yet for {', '.join(project.not_lowered)}")
    return [] if is_quiet() else lines
