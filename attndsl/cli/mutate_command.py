"""``attndsl mutate``: seeded defects in kernels and host plans, and whether the checks see them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import click

from attndsl.cli.command_frame import answer
from attndsl.cli.command_options import (
    StatusLine,
    command,
    is_quiet,
    is_verbose,
    json_option,
    loudness_options,
    operator_name,
    operators,
    tell,
)
from attndsl.cli.command_values import Place, Whole

_MOST_MUTANTS, _MOST_CASES = 100_000, 1_000


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
    default=100,
    show_default=True,
    type=Whole(1, _MOST_MUTANTS),
    help="mutants that compile",
)
@click.option("--seed", default=0, show_default=True, type=Whole(0), help="seed of the draw and of the cases")
@click.option(
    "--cases",
    default=16,
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
@click.option(
    "--scheduler",
    metavar="tcp://HOST:PORT",
    help="run the mutants on the workers of a Dask cluster (pip install 'attndsl[cluster]')",
)
@click.option(
    "--journal",
    type=Place(folder=False),
    metavar="FILE",
    help="keep finished mutants in FILE; those that it holds are not run again",
)
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
    options = f"--cases {cases}" if cases != 16 else ""
    options += f" --project {shlex.quote(str(project))}" if project else ""
    found = mutate_operator(
        operator,
        Draw(count=count, seed=seed, cases=cases, only=only),
        project=project,
        jobs=Cluster(scheduler) if scheduler else None,
        journal=journal,
        progress=_progress(operator.name, status),
        options=options.strip(),
    )
    status.clear()
    if as_json:
        answer(**found.to_json())
    elif not is_quiet() or found.survivors:
        for line in found.lines():
            click.echo(line)


def _progress(name: str, status: StatusLine) -> Callable[[int, int], object] | None:
    """How far it is: on a terminal one line that is written over again, elsewhere lines with ``-v`` alone."""
    if status.shown:
        return lambda done, total: status.show(f"{name}: {done} of {total} mutants")
    return (lambda done, total: tell(f"{name}: {done} of {total} mutants")) if is_verbose() else None
