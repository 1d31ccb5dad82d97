"""``attndsl run`` and ``attndsl profile``: one call, its results and its predicted time."""

from __future__ import annotations

from pathlib import Path

import click

from attndsl.cli.command_frame import answer
from attndsl.cli.command_options import (
    command,
    device_option,
    json_option,
    operator_name,
    operators,
)
from attndsl.cli.command_values import Place, Whole
from attndsl.cli.requested_calls import call_options, requested_call

MOST_CORE_CYCLES = 200_000_000
"""That are simulated of one call; some 10 s."""


@command(
    "run",
    "run incre_flash_attention call.npz --out results.npz",
    "run incre_flash_attention call.npz --backend emulator",
)
@operator_name
@click.argument("inputs", type=Place())
@click.option("--backend", default="reference", show_default=True, help="reference, tile or emulator")
@click.option("--out", type=Place(folder=False), help="where to write the results (.npz)")
@json_option
def run(name: str, inputs: Path, backend: str, out: Path | None, as_json: bool) -> None:
    """One call from a file: arrays by argument name, lists as key.0, key.1, scalars as 0-d arrays."""
    from attndsl.cli.call_files import load_call, save_results

    operator = operators((name,))[0]
    results = operator(**load_call(inputs), backend=backend)
    results = results if isinstance(results, tuple) else (results,)
    named = {output.name: array for output, array in zip(operator.outputs, results, strict=True)}
    if out is not None:
        save_results(out, named)
    summary = {key: {"shape": list(array.shape), "dtype": str(array.dtype)} for key, array in named.items()}
    if as_json:
        answer(operator=operator.name, backend=backend, results=summary)
        return
    for key, row in summary.items():
        click.echo(f"{key}: {row['dtype']} {tuple(row['shape'])}" + (f" -> {out}" if out else ""))


@command(
    "profile",
    "profile self_attention --shape batch=1,qRows=512,headNum=8 --set calcType=PA_ENCODER",
    "profile incre_flash_attention call.npz --trace timeline.json --html page.html",
)
@operator_name
@click.argument("inputs", required=False, type=Place())
@call_options
@click.option("--cores", type=Whole(1), help="blocks at most; default: all cores of the device")
@device_option
@click.option(
    "--most-core-cycles",
    type=Whole(0),
    default=MOST_CORE_CYCLES,
    show_default=True,
    help="of a call that takes more, over all cores, the rest is extrapolated; 0: all is simulated",
)
@click.option("--trace", type=Place(folder=False), help="timeline, for Perfetto")
@click.option("--html", type=Place(folder=False), help="one page: timeline, memories, roofline")
@json_option
def profile(
    name: str,
    inputs: Path | None,
    shapes: tuple[str, ...],
    dtypes: tuple[str, ...],
    settings: tuple[str, ...],
    features: tuple[str, ...],
    cores: int | None,
    device: str | None,
    most_core_cycles: int,
    trace: Path | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Predicted time of a call, its bounds and how busy each pipe is.

    The call is one from a file, as `run` takes it, or one of normal numbers with the sizes of --shape.
    """
    from attndsl.cli.call_files import load_call
    from attndsl.profile.profile import profile_call

    operator = operators((name,), device)[0]
    if inputs is not None:
        if shapes or dtypes or settings or features:
            raise click.UsageError(
                "--shape, --dtype, --set and --feature describe a call; the file is one already"
            )
        call = operator.bind(**load_call(inputs))
    else:
        call = requested_call(operator, shapes, dtypes, settings, features)
    result = profile_call(call, cores=cores, trace=trace, most_core_cycles=most_core_cycles)
    if html is not None:
        from attndsl.cli.profile_page.page import write_page

        write_page(call, result, html, cores=cores, most_core_cycles=most_core_cycles)
    if as_json:
        answer(**result.to_json())
        return
    for line in result.lines():
        click.echo(line)
