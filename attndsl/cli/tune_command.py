"""``attndsl tune``: the best schedule that a search finds for the kernel of one call."""

from __future__ import annotations

import click

from attndsl.cli.command_frame import answer
from attndsl.cli.command_options import (
    command,
    device_option,
    json_option,
    operator_name,
    operators,
)
from attndsl.cli.command_values import Whole
from attndsl.cli.requested_calls import call_options, requested_call, requested_sizes

_TOP, _MOST = 10, 64


@command(
    "tune",
    "tune relay_attention --shape B=32,headNum=32,kvHeadNum=8,S1=256,S2=2048",
    "tune incre_flash_attention --shape B=16,num_heads=32 --device ascend910b4 --top 16 --write",
)
@operator_name
@call_options
@device_option
@click.option(
    "--top",
    type=Whole(1, _MOST),
    default=_TOP,
    show_default=True,
    help="schedules that the emulator predicts, besides the default",
)
@click.option("--write", is_flag=True, help="store the best one beside the spec, for kernels compiled later")
@json_option
def tune(
    name: str,
    shapes: tuple[str, ...],
    dtypes: tuple[str, ...],
    settings: tuple[str, ...],
    features: tuple[str, ...],
    device: str | None,
    top: int,
    write: bool,
    as_json: bool,
) -> None:
    """Search for the schedule with the lowest predicted time of one call's kernel.

    Legal schedules are ranked by what each resource takes alone; the emulator predicts the best few, without
    data. What the spec states stays as it is.
    """
    from attndsl.cli.tune import tune_call

    operator = operators((name,), device)[0]
    call = requested_call(operator, shapes, dtypes, settings, features)
    found = tune_call(call, top, write=requested_sizes(shapes) if write else None)
    if as_json:
        answer(**found.to_json())
        return
    for line in found.lines():
        click.echo(line)
