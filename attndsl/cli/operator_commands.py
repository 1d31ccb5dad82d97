"""``attndsl list`` and ``attndsl show``: what operators there are, and each stage on the way to source."""

from __future__ import annotations

from typing import Any

import click

from attndsl.base.feature_states import FEATURES_TOLD
from attndsl.cli.command_frame import NO_KERNEL, WRONG_USAGE, answer
from attndsl.cli.command_options import (
    command,
    device_option,
    feature_option,
    json_option,
    one_dtype_option,
    operator_name,
    operators,
    request_of,
    set_option,
)

STAGES = ("contract", "graph", "schedule", "tile", "memory", "cores", "source", "tiling")


@command("list", "list", "list --json")
@json_option
def list_operators(as_json: bool) -> None:
    """The shipped operators, and which of their features are checked on which backend.

    The last comes from recorded verifications (attndsl verify --record), never from declarations; a record
    of other code than today's is shown as stale, features without effect on the results of any case apart.
    Nothing is compiled: where sources have changed that decide nothing but tile programs, the list says so,
    and attndsl verify --renew-record compares these.
    """
    from attndsl.cli.stored_answers import everything_shipped, stored_answer

    rows: list[dict[str, Any]] = stored_answer(("list", *everything_shipped()), _rows)
    if as_json:
        answer(operators=rows)
        return
    for row in rows:
        click.echo(f"{row['name']}  ({row['document']})")
        click.echo(f"    {row['summary']}")
        click.echo(f"    dtypes {', '.join(row['dtypes'])}; {len(row['features'])} features")
        for backend in ("reference", "tile", "emulator"):
            states = [states[backend] for states in row["features"].values()]
            others = ((states.count(name), told) for name, told in FEATURES_TOLD.items())
            rest = "".join(f", {count} {told}" for count, told in others if count)
            changed = backend in row["sources_changed"] and "stale" not in states
            since = ", sources changed since" if changed else ""
            click.echo(f"    {backend}: {states.count('checked')} of them checked{rest}{since}")


def _rows() -> list[dict[str, Any]]:
    """Each shipped operator with the state of its features on each backend."""
    from attndsl.campaign.records import features_by_backend, read, sources_changed

    found = []
    for operator in operators(()):
        record = read(operator.name)
        found.append(
            {
                "name": operator.name,
                "document": operator.document,
                "summary": operator.summary,
                "target": operator.device.name,
                "dtypes": list(operator.tensors[0].dtypes),
                "features": features_by_backend(operator, record),
                "sources_changed": list(sources_changed(record)),
                "immaterial": dict(record.immaterial) if record else {},
            }
        )
    return found


@command(
    "show",
    "show incre_flash_attention --stage contract",
    "show self_attention --set maskType=NORM --stage tile --stage memory",
)
@operator_name
@one_dtype_option
@set_option
@feature_option
@click.option(
    "--stage", "stages", multiple=True, type=click.Choice(STAGES), help="default: all but the last three"
)
@device_option
@json_option
def show(
    name: str,
    dtypes: tuple[str, ...],
    settings: tuple[str, ...],
    features: tuple[str, ...],
    stages: tuple[str, ...],
    device: str | None,
    as_json: bool,
) -> None:
    """Contract, graph, schedule, tile program and memory map of one operator.

    `--stage schedule` also tells the schedule's bound for usual sizes, and those of other schedules. Of a
    spec that has no kernel a stage says why, and the exit code is 2, as of generate.
    """
    from attndsl.cli.show import stage_texts

    operator = operators((name,), device)[0]
    request = request_of(dtypes, settings, features)
    texts = stage_texts(operator, request, stages or STAGES[:-3], explained=bool(stages))
    if as_json:
        answer(operator=operator.name, **texts)
    for stage, text in () if as_json else texts.items():
        click.echo(f"== {stage} " + "=" * (96 - len(stage)))
        click.echo(text.rstrip() + "\n")
    if any(text.startswith(NO_KERNEL) for text in texts.values()):
        raise click.exceptions.Exit(WRONG_USAGE)
