"""``attndsl verify``: reference, tile program and executed kernel over generated cases."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from attndsl.cli.command_frame import FAILED, answer
from attndsl.cli.command_options import (
    StatusLine,
    campaign_options,
    cann_option,
    command,
    console,
    device_option,
    is_quiet,
    json_option,
    loudness_options,
    operator_names,
    operators,
    tell,
)
from attndsl.cli.command_values import Place, Whole

if TYPE_CHECKING:
    from attndsl.campaign.results import Verification
    from attndsl.diagnosis.miss import SmallestMiss
    from attndsl.spec.operator.operator import Operator
    from attndsl.verify.cases.case import Case

MOST_CASES = 1_000_000
DEFAULT_CASES = 48


@command(
    "verify",
    "verify incre_flash_attention",
    "verify my_attention.py --backend tile --cases 200 --seed 7",
    "verify relay_attention --project generated/relay_attention",
    "verify relay_attention --cann /usr/local/Ascend/ascend-toolkit/latest",
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
    "--with",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="with --case: that case with another value of one of its variables; repeatable",
)
@click.option(
    "--shrink/--no-shrink",
    default=True,
    show_default=True,
    help="look for the smallest case of an operator's first miss, and where it goes wrong",
)
@click.option(
    "--precise",
    is_flag=True,
    help="say of an operator's first miss whether rounding explains it: its tile program runs in fp64, too",
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
@cann_option
@click.option("--record", is_flag=True, help="write what was checked to attndsl/campaign/recorded")
@click.option(
    "--renew-record",
    is_flag=True,
    help="run no case: compare the record with today's code, tile programs included, and say that it holds",
)
@campaign_options("cases")
@loudness_options
@json_option
def verify(
    names: tuple[str, ...],
    cases: int,
    seed: int,
    only: tuple[int, ...],
    changes: tuple[str, ...],
    shrink: bool,
    precise: bool,
    backends: tuple[str, ...],
    device: str | None,
    coverage: bool,
    project: Path | None,
    cann: Path | None,
    record: bool,
    renew_record: bool,
    scheduler: str | None,
    journal: Path | None,
    as_json: bool,
) -> None:
    """Compare reference, tile program and executed kernel over generated cases.

    Exit code 0 only if every backend that was asked for ran at least one case of each operator
    and none missed.
    """
    if renew_record:
        _renew(names, as_json)
        return
    from attndsl.campaign import NotGenerated, records
    from attndsl.campaign import verify as verify_operator
    from attndsl.campaign.cluster import Cluster
    from attndsl.diagnosis.smallest_miss import TRIES, smallest_miss
    from attndsl.emulator import VendorHeaders
    from attndsl.execute.coverage import Coverage
    from attndsl.execute.second_face import SecondFace
    from attndsl.execute.user_project import UserProject

    chosen = backends or (("emulator",) if coverage or project or cann else ("tile", "emulator"))
    _check_numbers(cases, only)
    stated = _stated(changes, only, record)
    if record:
        _check_for_record("--record", names)
    if record and only:
        raise click.UsageError("--record keeps what all cases have checked; leave out --case")
    if record and device:
        raise click.UsageError("--record keeps what was checked for the targets of the specs, not --device")
    if (coverage or project or cann) and "emulator" not in chosen:
        option = "--coverage" if coverage else "--project" if project else "--cann"
        raise click.UsageError(f"{option} speaks of what the emulator runs; add --backend emulator")
    if project:
        _check_for_project(names, record)
    if cann and (coverage or project or record):
        raise click.UsageError(
            "--cann compares generated kernels on two faces, without --coverage, --project, --record"
        )
    if (scheduler or journal) and (coverage or project or cann):
        option = "--scheduler" if scheduler else "--journal"
        raise click.UsageError(
            f"{option} cannot be joined with --coverage, --project or --cann: they run here alone"
        )
    if "emulator" in chosen:
        from attndsl.base.disk_cache import cache_dir
        from attndsl.emulator.toolchain import require_compiler

        require_compiler()
        cache_dir()
    headers = VendorHeaders.at(cann) if cann else None
    results, gaps = [], []
    status = StatusLine(wanted=not as_json)
    for operator in operators(names, device):
        seen = Coverage() if coverage else None
        edited = UserProject.at(project, operator, seen) if project else None
        face = SecondFace(headers) if headers else None
        runs = edited or seen or face
        made: dict[int, Case] = {}
        try:
            result = verify_operator(
                operator,
                cases=cases,
                seed=seed,
                backends=chosen,
                progress=status.progress(operator.name, "cases"),
                only=only,
                changes=stated,
                made=made,
                execute=runs.execute if runs else None,
                kernels=edited.kernels() if edited else (),
                jobs=Cluster(scheduler) if scheduler else None,
                journal=journal,
                options=_options(operator, project, cann, changes),
            )
        except NotGenerated as gap:
            if names:
                raise
            gaps.append({"operator": operator.name, "reason": str(gap)})
            click.echo(f"not verified: {gap}", err=True)
        else:
            immaterial = records.known_immaterial(operator, result.features_effective())
            result = replace(result, immaterial=immaterial)
            status.clear()
            smallest: SmallestMiss | None = None
            if result.misses and (shrink or precise):
                row = result.misses[0]
                smallest = smallest_miss(
                    made[row.case],
                    row,
                    execute=runs.execute if runs else None,
                    same_kernel=edited is not None,
                    tries=0 if stated or not shrink else TRIES,
                    precise=precise,
                    progress=partial(_shrinking, status, row.case),
                )
                status.clear()
            results.append((result, seen or face, smallest))
            if not status.shown and len(result.rows) > 0:
                tell(_in_one_line(result))
            if record:
                path = records.write(operator, result, made.values())
                click.echo(f"recorded in {path}", err=True)
    if as_json:
        answer(
            ok=not gaps and all(result.ok for result, _, _ in results),
            verifications=[
                {
                    **result.to_json(),
                    "smallest_miss": smallest and smallest.to_json(),
                    **({"faces" if cann else "coverage": told.to_json()} if told else {}),
                }
                for result, told, smallest in results
            ],
            not_verified=gaps,
        )
    else:
        for result, told, smallest in results:
            if result.ok and is_quiet():
                continue
            result.print(console())
            for line in (*(told.lines() if told else ()), *(smallest.lines() if smallest else ())):
                click.echo(line)
    if gaps or not all(result.ok for result, _, _ in results):
        raise click.exceptions.Exit(FAILED)


def _renew(names: tuple[str, ...], as_json: bool) -> None:
    """Renew the records that hold, and name what is another in those that do not."""
    from attndsl.campaign import records

    _refuse_others("renew_record", beside={"names", "as_json", "quiet", "verbose"})
    _check_for_record("--renew-record", names)
    stale = {}
    for operator in operators(names):
        stale[operator.name] = records.renew(operator.name)
        for backend, parts in stale[operator.name].items():
            click.echo(f"stale: {operator.name} on {backend} by {', '.join(parts)}", err=True)
        if not stale[operator.name]:
            tell(f"{operator.name}: as recorded")
    ok = not any(stale.values())
    if as_json:
        answer(ok=ok, stale={name: found for name, found in stale.items() if found})
    if not ok:
        raise click.exceptions.Exit(FAILED)


def _refuse_others(option: str, beside: Collection[str]) -> None:
    """An option that runs no case takes none of those that say how cases are run."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name != option and name not in beside:
            raise click.UsageError(
                f"--{option.replace('_', '-')} runs no case; leave out {parameter.opts[0]}"
            )


def _options(operator: Operator, project: Path | None, cann: Path | None, changes: tuple[str, ...]) -> str:
    """What the command that runs a case again has besides its seed and number."""
    words = [word for change in changes for word in ("--with", change)]
    words += ["--project", str(project)] if project else []
    words += ["--cann", str(cann)] if cann else []
    return f"{operator.device_option} {shlex.join(words)}".strip()


def _check_numbers(cases: int, only: tuple[int, ...]) -> None:
    """Any case of the seed's stream can be run alone; where its length is given, one of these."""
    given = click.get_current_context().get_parameter_source("cases") is ParameterSource.COMMANDLINE
    for number in only:
        if given and number >= cases:
            raise click.UsageError(
                f"--case {number} is beyond --cases {cases}; cases are numbered from 0 to {cases - 1}"
            )


def _stated(changes: tuple[str, ...], only: tuple[int, ...], record: bool) -> dict[str, str]:
    """The values that ``--with`` states, by variable."""
    if changes and (len(only) != 1 or record):
        raise click.UsageError("--with changes one case, which --case names; it makes no record")
    found: dict[str, str] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--with {change}: write NAME=VALUE, a variable of the case and its value")
        if name in found:
            raise click.UsageError(f"--with states '{name}' twice, {found[name]} and {value}")
        found[name] = value
    return found


def _shrinking(status: StatusLine, case: int, tried: int) -> None:
    """How far the search for a smaller case is."""
    status.show(f"making case {case} smaller: {tried} tried")


def _in_one_line(result: Verification) -> str:
    """How a verification ended, for who reads a log."""
    how = "no miss" if result.ok else f"{len(result.misses)} missed"
    return f"{result.operator}: {len(result.rows)} cases, {how}, {result.seconds:.1f} s"


def _check_for_record(option: str, names: tuple[str, ...]) -> None:
    """Records are of shipped operators: one of a user's file would get into the package, and nothing reads
    it there."""
    for name in names:
        if Path(name).is_file():
            raise click.UsageError(
                f"{option} is for the records of shipped operators, and {name} is none; "
                "--json tells what its cases have checked, --journal FILE keeps them"
            )


def _check_for_project(names: tuple[str, ...], record: bool) -> None:
    if len(names) != 1:
        raise click.UsageError("--project DIR is the project of one operator; name it")
    if record:
        raise click.UsageError("--record keeps what was found of generated kernels, not those of --project")
