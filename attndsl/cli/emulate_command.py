"""``attndsl emulate``: somebody's program under the emulator's checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from attndsl.cli.command_frame import FAILED, answer
from attndsl.cli.command_options import cann_option, command, device_option, json_option
from attndsl.cli.command_values import Decimal, Place


@command(
    "emulate",
    "emulate main.cpp --source kernel.cpp -I include",
    "emulate direct/main.cpp --source direct/NAME_custom_direct.cpp -- 64 128",
    "emulate main.cpp --source kernel.cpp --cann /usr/local/Ascend/ascend-toolkit/latest",
    ignore_unknown_options=True,
)
@click.argument("file", type=Place())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="preprocessor definition")
@click.option("-I", "include_dirs", multiple=True, metavar="DIR", help="folder of headers")
@click.option("--source", "sources", multiple=True, metavar="FILE", help="further source file")
@cann_option
@click.option(
    "--auto-sync",
    default="on",
    show_default=True,
    type=click.Choice(["on", "off"]),
    help="order as the compiler's automatic synchronization adds it; off: the kernel's own alone",
)
@click.option("--timeout", default=300.0, show_default=True, type=Decimal(0.1, 1e7), metavar="SECONDS")
@click.option("--memory", default=16.0, show_default=True, type=Decimal(0.5, 1 << 20), metavar="GIB")
@click.option("--trace", type=Place(folder=False), help="timeline, for Perfetto")
@click.option(
    "--copies", type=Place(file=False), help="new or empty folder for what it copies from the device"
)
@click.option("--timing", is_flag=True, help="time alone: no data is computed or moved, and none is checked")
@device_option
@json_option
def emulate(
    file: Path,
    args: tuple[str, ...],
    defines: tuple[str, ...],
    include_dirs: tuple[str, ...],
    sources: tuple[str, ...],
    cann: Path | None,
    auto_sync: str,
    timeout: float,
    memory: float,
    trace: Path | None,
    copies: Path | None,
    timing: bool,
    device: str | None,
    as_json: bool,
) -> None:
    """Compile and run an AscendC program with its own host main, with every check on.

    ARGS are the program's own, behind -- when one of ours has the same name. It runs in the current folder.
    """
    from attndsl.emulator import VendorHeaders
    from attndsl.emulator.program import FOREIGN, build_program
    from attndsl.target import device as device_named

    if copies is not None:
        _make_empty(copies)
    chosen = None if device is None else device_named(device)
    headers = None if cann is None else VendorHeaders.at(cann)
    program = build_program(
        file, sources=sources, include_dirs=include_dirs, defines=defines, headers=headers
    )
    result = program.run(
        args,
        knobs=replace(FOREIGN, auto_sync=auto_sync == "on", clean_at_end=auto_sync == "on", timing=timing),
        timeout=timeout,
        memory=int(memory * (1 << 30)),
        capture=as_json,
        trace=trace,
        copies=copies,
        device=chosen,
    )
    if as_json:
        answer(**result.to_json())
    else:
        for line in result.times() if timing else ():
            click.echo(line)
        for finding in result.findings:
            click.echo(str(finding))
        if result.error or result.exit_code:
            click.echo(f"attndsl: {result.error or f'{file} ended with code {result.exit_code}'}", err=True)
    if not result.ok:
        raise click.exceptions.Exit(FAILED)


def _make_empty(folder: Path) -> None:
    """A folder, made where there is none.

    Raises:
        click.UsageError: it holds something, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = next(folder.iterdir(), None)
    except OSError as error:
        raise click.UsageError(f"--copies {folder}: {error.strerror}") from None
    if held is not None:
        raise click.UsageError(f"--copies {folder} holds {held.name}; give a new or an empty folder")
