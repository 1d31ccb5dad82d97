"""``attndsl verify``: reference, tile program and executed kernel over generated cases."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from attndsl.cli.command_frame import FAILED, answer
from attndsl.cli.command_options import (
    StatusLine,
    command,
    console,
    device_option,
    is_quiet,
    is_verbose,
    json_option,
    loudness_options,
    operator_names,
    operators,
    tell,
)
from attndsl.cli.command_values import Place, Whole

if TYPE_CHECKING:
    from attndsl.campaign.results import Verification
    from attndsl.spec.operator.operator import Operator

MOST_CASES = 1_000_000
DEFAULT_CASES = 48


@command(
    "verify",
    "verify incre_flash_attention",
    "verify my_attention.py --backend tile --cases 200 --seed 7",
    "verify relay_attention --project generated/relay_attention",
)
@operator_names
@click.option(
    "--cases", default=DEFAULT_CASES, show_default=True, type=Whole(1, MOST_CASES), help="cases an operator"
)
@click.option("--seed", default=0, show_default=True, type=Whole(0), help="seed of the cases")
@click.option(
    "--case", "only", multiple=True, type=Whole(0, MOST_CASES - 1), help="only this case; repeatable"
)
@click.option(
    "--backend",
    "backends",
    multiple=True,
    type=click.Choice(["reference", "tile", "emulator"]),
    help="default: all; the reference always runs",
)
@device_option
@click.option("--coverage", is_flag=True, help="print the statements of the kernels that no case reached")
@click.option(
    "--project",
    type=Place(file=False),
    metavar="DIR",
    help="run the kernels and the tiling of the project in DIR, as they are there, over cases for them",
)
@click.option("--record", is_flag=True, help="write what was checked to attndsl/campaign/recorded")
@click.option(
    "--scheduler",
    metavar="tcp://HOST:PORT",
    help="run the cases on the workers of a Dask cluster (pip install 'attndsl[cluster]')",
)
@click.option(
    "--journal",
    type=Place(folder=False),
    metavar="FILE",
    help="keep finished cases in FILE; those that it holds are not run again",
)
@loudness_options
@json_option
def verify(
    names: tuple[str, ...],
    cases: int,
    seed: int,
    only: tuple[int, ...],
    backends: tuple[str, ...],
    device: str | None,
    coverage: bool,
    project: Path | None,
    record: bool,
    scheduler: str | None,
    journal: Path | None,
    as_json: bool,
) -> None:
    """Compare reference, tile program and executed kernel over generated cases.

    Exit code 0 only if every backend that was asked for ran at least one case of each operator
    and none missed.
    """
    from attndsl.campaign import NotGenerated, records
    from attndsl.campaign import verify as verify_operator
    from attndsl.campaign.cluster import Cluster
    from attndsl.execute.coverage import Coverage
    from attndsl.execute.user_project import UserProject

    chosen = backends or (("emulator",) if coverage or project else ("tile", "emulator"))
    _check_numbers(cases, only)
    if record and device:
        raise click.UsageError("--record keeps what was checked for the targets of the specs, not --device")
    if (coverage or project) and "emulator" not in chosen:
        option = "--coverage" if coverage else "--project"
        raise click.UsageError(f"{option} speaks of what the emulator runs; add --backend emulator")
    if project:
        _check_for_project(names, record)
    if (scheduler or journal) and (coverage or project):
        option = "--scheduler" if scheduler else "--journal"
        raise click.UsageError(f"{option} cannot be joined with --coverage or --project: they run here alone")
    if "emulator" in chosen:
        from attndsl.base.disk_cache import cache_dir
        from attndsl.emulator.toolchain import require_compiler

        require_compiler()
        cache_dir()
    results, gaps = [], []
    status = StatusLine(wanted=not as_json)
    for operator in operators(names, device):
        seen = Coverage() if coverage else None
        edited = UserProject.at(project, operator, seen) if project else None
        runs = edited or seen
        try:
            result = verify_operator(
                operator,
                cases=cases,
                seed=seed,
                backends=chosen,
                progress=_progress(operator.name, status),
                only=only,
                execute=runs.execute if runs else None,
                kernels=edited.kernels() if edited else (),
                jobs=Cluster(scheduler) if scheduler else None,
                journal=journal,
                options=_options(operator, project),
            )
        except NotGenerated as gap:
            if names:
                raise
            gaps.append({"operator": operator.name, "reason": str(gap)})
            click.echo(f"not verified: {gap}", err=True)
        else:
            status.clear()
            results.append((result, seen))
            if not status.shown and len(result.rows) > 0:
                tell(_in_one_line(result))
            if record and not only:
                path = records.write(operator, result)
                click.echo(f"recorded in {path}", err=True)
    if as_json:
        answer(
            ok=not gaps and all(result.ok for result, _ in results),
            verifications=[
                {**result.to_json(), **({"coverage": seen.to_json()} if seen else {})}
                for result, seen in results
            ],
            not_verified=gaps,
        )
    else:
        for result, seen in results:
            if result.ok and is_quiet():
                continue
            result.print(console())
            for line in seen.lines() if seen else ():
                click.echo(line)
    if gaps or not all(result.ok for result, _ in results):
        raise click.exceptions.Exit(FAILED)


def _options(operator: Operator, project: Path | None) -> str:
    """What the command that runs a case again has besides its seed and number."""
    of_project = f" --project {shlex.quote(str(project))}" if project else ""
    return f"{operator.device_option}{of_project}".strip()


def _check_numbers(cases: int, only: tuple[int, ...]) -> None:
    """Any case of the seed's stream can be run alone; where its length is given, one of these."""
    given = click.get_current_context().get_parameter_source("cases") is ParameterSource.COMMANDLINE
    for number in only:
        if given and number >= cases:
            raise click.UsageError(
                f"--case {number} is beyond --cases {cases}; cases are numbered from 0 to {cases - 1}"
            )


def _progress(name: str, status: StatusLine) -> Callable[[int, int], object] | None:
    """How far it is: on a terminal one line that is written over again, elsewhere lines with ``-v`` alone."""
    if status.shown:
        return lambda done, total: status.show(f"{name}: {done} of {total} cases")
    return (lambda done, total: tell(f"{name}: {done} of {total} cases")) if is_verbose() else None


def _in_one_line(result: Verification) -> str:
    """How a verification ended, for who reads a log."""
    how = "no miss" if result.ok else f"{len(result.misses)} missed"
    return f"{result.operator}: {len(result.rows)} cases, {how}, {result.seconds:.1f} s"


def _check_for_project(names: tuple[str, ...], record: bool) -> None:
    if len(names) != 1:
        raise click.UsageError("--project DIR is the project of one operator; name it")
    if record:
        raise click.UsageError("--record keeps what was found of generated kernels, not those of --project")
