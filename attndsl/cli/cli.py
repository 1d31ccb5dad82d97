"""The ``attndsl`` command: the group of all commands, which stand in ``*_command.py`` and ``*_commands.py``.

Commands only call the packages; they decide nothing themselves. They import what they need when they run, for
help to be fast. Exit codes and errors: ``command_frame.py``.
"""

from __future__ import annotations

import sys

import click

from attndsl import __version__
from attndsl.base.garbage import seldom_collected
from attndsl.cli.call_commands import profile, run
from attndsl.cli.command_frame import PROGRAM, run_command
from attndsl.cli.command_options import Commands
from attndsl.cli.emulate_command import emulate
from attndsl.cli.generate_command import generate
from attndsl.cli.machine_commands import cache, completion, doctor
from attndsl.cli.mutate_command import mutate
from attndsl.cli.new_command import new
from attndsl.cli.operator_commands import list_operators, show
from attndsl.cli.tune_command import tune
from attndsl.cli.verify_command import verify

COMMANDS = (
    list_operators,
    new,
    show,
    generate,
    verify,
    mutate,
    run,
    profile,
    tune,
    emulate,
    doctor,
    cache,
    completion,
)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="attndsl COMMAND --help has examples of each.",
)
@click.version_option(__version__, prog_name=PROGRAM)
def cli() -> None:
    """Attention operators for Ascend NPUs: from a declarative spec to checked AscendC."""


for _each in COMMANDS:
    cli.add_command(_each)


def main() -> None:
    """Run the command of ``sys.argv`` and end with its exit code."""
    with seldom_collected(for_good=True):
        code = run_command(cli, sys.argv[1:])
    sys.exit(code)


if __name__ == "__main__":
    main()
