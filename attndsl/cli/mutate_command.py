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
    operator_name,
    operators,
)
from attndsl.cli.command_values import Place, Whole

_MOST_MUTANTS, _MOST_CASES = 100_000, 1_000
_MUTANTS, _CASES = 100, 16


@command(
    "mutate",
    "mutate incre_flash_attention --mutants 100 --seed 7",
    "mutate relay_attention --project generated/relay_attention --journal relay.jsonl",
    "mutate incre_flash_attention --only 3f2a90c1d4",
)
@operator_name
@click.option(
    "--mutants",
    "count",
    default=_MUTANTS,
    show_default=True,
    type=Whole(1, _MOST_MUTANTS),
    help="mutants that compile",
)
@click.option("--seed", default=0, show_default=True, type=Whole(0), help="seed of the draw and of the cases")
@click.option(
    "--cases",
    default=_CASES,
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
    name: str,
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
    equivalent to the kernel, or show what is not checked.
    """
    from attndsl.base.disk_cache import cache_dir
    from attndsl.campaign.cluster import Cluster
    from attndsl.emulator.toolchain import require_compiler
    from attndsl.mutate.runner import Draw
    from attndsl.mutate.runner import mutate as mutate_operator

    require_compiler()
    cache_dir()
    (operator,) = operators((name,))
    status = StatusLine(wanted=not as_json)
    options = f"--cases {cases}" if cases != _CASES else ""
    options += f" --project {shlex.quote(str(project))}" if project else ""
    found = mutate_operator(
        operator,
        Draw(count=count, seed=seed, cases=cases, only=only),
        project=project,
        jobs=Cluster(scheduler) if scheduler else None,
        journal=journal,
        progress=status.progress(operator.name, "mutants"),
        options=options.strip(),
    )
    status.clear()
    if as_json:
        answer(**found.to_json())
    elif not is_quiet() or found.survivors:
        for line in found.lines():
            click.echo(line)
