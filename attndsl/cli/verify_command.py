"""``attndsl verify``: reference, tile program and executed kernel over generated cases."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

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
from attndsl.cli.verify_request import VerifyRequest, check_for_record

if TYPE_CHECKING:
    from attndsl.campaign.results import Row, Verification
    from attndsl.cli.verify_request import ChosenKernels
    from attndsl.diagnosis.miss import SmallestMiss
    from attndsl.emulator import VendorHeaders
    from attndsl.execute.coverage import Coverage
    from attndsl.execute.second_face import SecondFace
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
def verify(names: tuple[str, ...], renew_record: bool, as_json: bool, **given: Any) -> None:
    """Compare reference, tile program and executed kernel over generated cases.

    Exit code 0 only if every backend that was asked for ran at least one case of each operator
    and none missed.
    """
    if renew_record:
        _renew(names, as_json)
        return
    from attndsl.campaign import NotGenerated

    asked = VerifyRequest(names=names, **given)
    asked.check()
    headers = _prepared(asked)
    status = StatusLine(wanted=not as_json)
    found, gaps = [], []
    for operator in operators(names, asked.device):
        kernels = asked.kernels_of(operator, headers)
        made: dict[int, Case] = {}
        try:
            result = _verified(operator, asked, kernels, status, made)
        except NotGenerated as gap:
            if names:
                raise
            gaps.append({"operator": operator.name, "reason": str(gap)})
            click.echo(f"not verified: {gap}", err=True)
        else:
            found.append(_told(operator, asked, kernels, status, made, result))
    if as_json:
        answer(
            ok=not gaps and all(each.result.ok for each in found),
            verifications=[each.to_json(asked) for each in found],
            not_verified=gaps,
        )
    else:
        for each in found:
            each.print()
    if gaps or not all(each.result.ok for each in found):
        raise click.exceptions.Exit(FAILED)


@dataclass(frozen=True)
class _Verified:
    """How the cases of one operator ended."""

    result: Verification
    notes: Coverage | SecondFace | None
    smallest: SmallestMiss | None

    def to_json(self, asked: VerifyRequest) -> dict[str, Any]:
        notes = {"faces" if asked.cann else "coverage": self.notes.to_json()} if self.notes else {}
        smallest = self.smallest and self.smallest.to_json()
        return {**self.result.to_json(), "smallest_miss": smallest, **notes}

    def print(self) -> None:
        if self.result.ok and is_quiet():
            return
        self.result.print(console())
        for part in (self.notes, self.smallest):
            for line in part.lines() if part else ():
                click.echo(line)


def _prepared(asked: VerifyRequest) -> VendorHeaders | None:
    """The headers of ``--cann``; what every case would lack is told before the first."""
    from attndsl.base.disk_cache import cache_dir
    from attndsl.emulator import VendorHeaders
    from attndsl.emulator.toolchain import require_compiler

    if "emulator" in asked.chosen:
        require_compiler()
        cache_dir()
    return VendorHeaders.at(asked.cann) if asked.cann else None


def _verified(
    operator: Operator,
    asked: VerifyRequest,
    kernels: ChosenKernels,
    status: StatusLine,
    made: dict[int, Case],
) -> Verification:
    """The cases of an operator, run; ``made`` receives them."""
    from attndsl.campaign import verify as verify_operator
    from attndsl.campaign.cluster import Cluster

    return verify_operator(
        operator,
        cases=asked.cases,
        seed=asked.seed,
        backends=asked.chosen,
        progress=status.progress(operator.name, "cases"),
        only=asked.only,
        changes=asked.stated,
        made=made,
        execute=kernels.execute,
        kernels=kernels.wanted,
        jobs=Cluster(asked.scheduler) if asked.scheduler else None,
        journal=asked.journal,
        options=asked.options_of(operator),
    )


def _told(
    operator: Operator,
    asked: VerifyRequest,
    kernels: ChosenKernels,
    status: StatusLine,
    made: dict[int, Case],
    result: Verification,
) -> _Verified:
    """A verification with its first miss made small; told in a line, and recorded where that is asked for."""
    from attndsl.campaign import records

    immaterial = records.known_immaterial(operator, result.features_effective())
    result = replace(result, immaterial=immaterial)
    status.clear()
    smallest: SmallestMiss | None = None
    if result.misses and (asked.shrink or asked.precise):
        smallest = _smallest(asked, kernels, status, made, result.misses[0])
        status.clear()
    if not status.shown and len(result.rows) > 0:
        tell(_in_one_line(result))
    if asked.record:
        path = records.write(operator, result, made.values())
        click.echo(f"recorded in {path}", err=True)
    return _Verified(result, kernels.notes, smallest)


def _smallest(
    asked: VerifyRequest, kernels: ChosenKernels, status: StatusLine, made: dict[int, Case], row: Row
) -> SmallestMiss:
    from attndsl.diagnosis.smallest_miss import TRIES, smallest_miss

    return smallest_miss(
        made[row.case],
        row,
        execute=kernels.execute,
        same_kernel=asked.project is not None,
        tries=0 if asked.stated or not asked.shrink else TRIES,
        precise=asked.precise,
        progress=partial(_shrinking, status, row.case),
    )


def _renew(names: tuple[str, ...], as_json: bool) -> None:
    """Renew the records that hold, and name what is another in those that do not."""
    from attndsl.campaign import records

    _refuse_others("renew_record", beside={"names", "as_json", "quiet", "verbose"})
    check_for_record("--renew-record", names)
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


def _shrinking(status: StatusLine, case: int, tried: int) -> None:
    """How far the search for a smaller case is."""
    status.show(f"making case {case} smaller: {tried} tried")


def _in_one_line(result: Verification) -> str:
    """How a verification ended, for who reads a log."""
    how = "no miss" if result.ok else f"{len(result.misses)} missed"
    return f"{result.operator}: {len(result.rows)} cases, {how}, {result.seconds:.1f} s"
