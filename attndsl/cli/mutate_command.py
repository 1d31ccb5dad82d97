"""``attndsl mutate``: seeded defects in kernels and host plans, and whether the checks see them."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from attndsl.cli.command_frame import answer
from attndsl.cli.command_options import (
    StatusLine,
    campaign_options,
    command,
    is_quiet,
    json_option,
    loudness_options,
    operator_names,
    operators,
)
from attndsl.cli.command_values import Place, Whole

_MOST_MUTANTS, _MOST_CASES = 100_000, 1_000
_MUTANTS = 100
USUAL_CASES = 24
"""Cases of a kernel, if nothing else is said: each demand on them has its turn."""


@command(
    "mutate",
    "mutate incre_flash_attention --mutants 100 --seed 7",
    "mutate relay_attention --project generated/relay_attention --journal relay.jsonl",
    "mutate relay_attention specs/variants/*.py --mutants 1000 --journal all.jsonl",
    "mutate incre_flash_attention --only 3f2a90c1d4",
)
@operator_names
@click.option(
    "--mutants",
    "count",
    default=_MUTANTS,
    show_default=True,
    type=Whole(1, _MOST_MUTANTS),
    help="mutants that compile",
)
@click.option("--seed", default=0, show_default=True, type=Whole(0), help="seed of the draw")
@click.option(
    "--cases",
    default=USUAL_CASES,
    show_default=True,
    type=Whole(1, _MOST_CASES),
    help="cases of a kernel; a mutant runs on those that execute its line, until one shows it",
)
@click.option("--only", multiple=True, metavar="ID", help="only this mutant; repeatable")
@click.option(
    "--project",
    type=Place(file=False),
    metavar="DIR",
    help="change the kernels and the plan of the project in DIR, as they are there",
)
@campaign_options("mutants")
@loudness_options
@json_option
def mutate(
    names: tuple[str, ...],
    count: int,
    seed: int,
    cases: int,
    only: tuple[str, ...],
    project: Path | None,
    scheduler: str | None,
    journal: Path | None,
    as_json: bool,
) -> None:
    """Put seeded defects into kernels and host plans, and see whether the checks find them.

    A mutant is killed by a finding of the emulator, a wrong value or a static check. Survivors are
    equivalent to the kernel, or show what is not checked. Several operators are one draw, from all
    places of all; without a name, those that are shipped.
    """
    from attndsl.base.disk_cache import cache_dir
    from attndsl.campaign.cluster import Cluster
    from attndsl.emulator.toolchain import require_compiler
    from attndsl.mutate.runner import Draw
    from attndsl.mutate.runner import mutate as mutate_operator

    if project is not None and len(names) != 1:
        raise click.UsageError("--project DIR is the project of one operator; name it alone")
    require_compiler()
    cache_dir()
    chosen = operators(names)
    status = StatusLine(wanted=not as_json)
    options = f"--cases {cases}" if cases != USUAL_CASES else ""
    options += f" --project {shlex.quote(str(project))}" if project else ""
    found = mutate_operator(
        chosen,
        Draw(count=count, seed=seed, cases=cases, only=only),
        project=project,
        jobs=Cluster(scheduler) if scheduler else None,
        journal=journal,
        progress=status.progress(" ".join(each.name for each in chosen), "mutants"),
        options=options.strip(),
    )
    status.clear()
    if as_json:
        answer(**found.to_json())
    elif not is_quiet() or found.survivors:
        for line in found.lines():
            click.echo(line)
