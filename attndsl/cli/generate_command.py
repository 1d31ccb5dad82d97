"""``attndsl generate``: the operators' projects as files."""

from __future__ import annotations

from pathlib import Path

import click

from attndsl.cli.command_frame import answer
from attndsl.cli.command_options import (
    command,
    dtype_option,
    feature_option,
    json_option,
    loudness_options,
    operator_names,
    operators,
    request_of,
    set_option,
)
from attndsl.cli.command_values import Place


@command(
    "generate",
    "generate incre_flash_attention --out out",
    "generate incre_flash_attention --set D=64 --feature attn_mask --feature pse_shift",
    "generate my_attention.py --dtype float16",
)
@operator_names
@click.option("--out", default="generated", show_default=True, type=Place(file=False), help="folder")
@dtype_option
@set_option
@feature_option
@loudness_options
@json_option
def generate(
    names: tuple[str, ...],
    out: Path,
    dtypes: tuple[str, ...],
    settings: tuple[str, ...],
    features: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write the operators' projects to OUT/NAME/: kernels, host code, build files, bindings, tests.

    Files that an earlier generation wrote there and this one does not are removed; others are left alone.
    A spec file is a Python program of yours, which is executed to load it; nothing else is.
    """
    from attndsl.codegen.project.finished import FinishedProject, finished_projects

    request = request_of(dtypes, settings, features)
    # Everything is computed before the first file is written.
    projects: list[FinishedProject] = []
    for operator in operators(names):
        made = finished_projects(operator, request)
        if names and not any(project.files for project in made):
            raise click.UsageError(f"{operator.name} has no kernel yet: {made[0].reason}")
        projects += made
    rows = []
    for project in projects:
        changed = project.write(out)
        rows.append(
            {
                "operator": project.operator,
                "folder": str(out / project.folder),
                "files": sorted(project.files),
                "written": [path.name for path in changed if path.exists()],
                "removed": [path.name for path in changed if not path.exists()],
                "without_kernel": list(project.not_lowered),
                "reason": project.reason,
            }
        )
    if as_json:
        answer(projects=rows)
        return
    for row in rows:
        if row["reason"]:
            click.echo(f"{row['operator']}: no kernel yet, {row['reason']}")
            continue
        removed = f", {len(row['removed'])} of earlier generations removed" if row["removed"] else ""
        click.echo(f"{row['folder']}: {len(row['files'])} files, {len(row['written'])} written{removed}")
        if row["without_kernel"]:
            click.echo(f"    no kernel yet for {', '.join(row['without_kernel'])}")
