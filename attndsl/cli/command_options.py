"""What several commands share: options, help with examples, suggestions, operators by name, what is told.

Nothing heavy is imported here: every command line, ``--help`` too, loads this file.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from attndsl.cli.command_values import LARGEST, Place, named_values, whole

if TYPE_CHECKING:
    from rich.console import Console

    from attndsl.codegen.kernel_set.request import KernelRequest
    from attndsl.spec.operator.operator import Operator

Function = TypeVar("Function", bound=Callable[..., Any])


class Command(click.Command):
    """A command whose line in the list of commands is the whole first line of its help, and that takes an
    option with one value once, another one with each of its values once."""

    def get_short_help_str(self, limit: int = 45) -> str:
        return (self.help or "").strip().partition("\n")[0]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        values, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option in (each for each in self.params if isinstance(each, click.Option)):
            if ctx.resilient_parsing or option.is_flag:
                continue
            if option.multiple:
                _check_once(option.opts[0], values.get(option.name or "") or ())
            elif order.count(option) > 1:
                raise click.UsageError(f"{option.opts[0]} takes one value; give it once", ctx)
        return super().parse_args(ctx, args)


class Commands(click.Group):
    """A group that lists commands in the order of their use, and suggests the nearest one for an unknown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.commands and not name.startswith("-") and not ctx.resilient_parsing:
            close = difflib.get_close_matches(name, self.commands, 1)
            advice = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(self.commands)}"
            raise click.UsageError(f"no such command '{name}'; {advice}", ctx)
        return super().resolve_command(ctx, args)


def command(name: str, *examples: str, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """The decorator of a command, whose help ends with ``examples``, command lines without the program.

    ``settings``: of the command's context.
    """
    lines = "\n".join(f"  attndsl {each}" for each in examples)
    return click.command(
        name, cls=Command, epilog=f"\b\nExamples:\n{lines}", context_settings=settings or None
    )


def operators(names: Iterable[str], device: str | None = None) -> list[Operator]:
    """The operators of these names or files; all shipped ones without a name.

    ``device``: the name of the one that kernels are made for; without it the target of each spec.
    """
    from attndsl.spec.operator.loader import load, shipped_names
    from attndsl.target import device as device_named

    given = tuple(names)
    _check_once("the operator", given)
    on = None if device is None else device_named(device)
    found = (load(name) for name in given or shipped_names())
    return [each if on is None else each.on(on) for each in found]


def _check_once(what: str, values: Iterable[Any]) -> None:
    """Who gives a value twice meant another one."""
    seen = set[Any]()
    for value in values:
        if value in seen:
            raise click.UsageError(f"{what} {value} is given twice; give it once")
        seen.add(value)


def _operator_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Shipped operators that begin so, for the shell's completion, and the word for the user's own files."""
    from attndsl.base.package_files import spec_names

    found = [CompletionItem(name) for name in spec_names() if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


operator_name = click.argument("name", shell_complete=_operator_names)
operator_names = click.argument("names", nargs=-1, shell_complete=_operator_names)


def request_of(
    dtypes: tuple[str, ...], settings: tuple[str, ...], features: tuple[str, ...]
) -> KernelRequest:
    """The kernels that ``--dtype``, ``--set`` and ``--feature`` ask for."""
    from attndsl.codegen.kernel_set.request import KernelRequest

    found = named_values(settings, "--set", "NAME=VALUE, for example D=128")
    sizes = {axis: found.pop(axis) for axis in ("D", "E") if axis in found}
    heads, values = (
        (whole(sizes[axis], f"--set {axis}", least=-LARGEST),) if axis in sizes else () for axis in "DE"
    )
    if "none" in features and len(features) > 1:
        raise click.UsageError("--feature none stands alone; several --feature together name one kernel")
    wanted = None if not features else frozenset(features) - {"none"}
    return KernelRequest(
        dtypes=dtypes or None,
        head_sizes=heads,
        value_sizes=values,
        features=wanted,
        settings=tuple(found.items()),
    )


def _at_most_one(_: click.Context, __: click.Parameter, dtypes: tuple[str, ...]) -> tuple[str, ...]:
    if len(dtypes) > 1:
        raise click.UsageError(f"--dtype names one io dtype here, got {' and '.join(dtypes)}")
    return dtypes


dtype_option = click.option(
    "--dtype", "dtypes", multiple=True, metavar="NAME", help="io dtype; may be repeated"
)
one_dtype_option = click.option(
    "--dtype", "dtypes", multiple=True, metavar="NAME", callback=_at_most_one, help="io dtype, one"
)
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="head size (D=128 where that is legal), size of values (E), or the spec's own names; a parameter, "
    "layout(x), dtype(x), split(x) that kernels depend on",
)
feature_option = click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="NAME",
    help="optional tensor in use; repeat it for a kernel with several; 'none' for none",
)
device_option = click.option(
    "--device", metavar="NAME", help="the device, such as atlas-a3; default: the target of the spec"
)
cann_option = click.option(
    "--cann",
    type=Place(file=False),
    metavar="DIR",
    help="compile kernels against AscendC's own headers, of the CANN or the checkout of asc-devkit in DIR",
)
json_option = click.option("--json", "as_json", is_flag=True, help="print one JSON document")


def _set_loudness(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    """What is told on standard error: warnings alone with ``-q``, details too with ``-v``."""
    if not given:
        return
    import logging

    logger = logging.getLogger("attndsl")
    if logger.level not in (logging.NOTSET, logging.INFO):
        raise click.UsageError("-q and -v contradict each other; give one of them")
    logger.setLevel(logging.WARNING if parameter.name == "quiet" else logging.DEBUG)


def loudness_options(function: Function) -> Function:
    """``-q`` and ``-v``."""
    for flags, text in (
        (("-q", "--quiet"), "print nothing but errors and results that failed"),
        (("-v", "--verbose"), "print more of what is done"),
    ):
        function = click.option(
            *flags, is_flag=True, expose_value=False, callback=_set_loudness, is_eager=True, help=text
        )(function)
    return function


def campaign_options(what: str) -> Callable[[Function], Function]:
    """``--scheduler`` and ``--journal``; ``what``: what runs there and is kept there."""

    def decorated(function: Function) -> Function:
        kept = f"keep finished {what} in FILE; those that it holds are not run again"
        function = click.option("--journal", type=Place(folder=False), metavar="FILE", help=kept)(function)
        where = f"run the {what} on the workers of a Dask cluster (pip install 'attndsl[cluster]')"
        return click.option("--scheduler", metavar="tcp://HOST:PORT", help=where)(function)

    return decorated


def is_quiet() -> bool:
    """Whether only errors are wanted."""
    import logging

    return logging.getLogger("attndsl").level == logging.WARNING


def is_verbose() -> bool:
    """Whether details are wanted."""
    import logging

    return logging.getLogger("attndsl").level == logging.DEBUG


def tell(text: str) -> None:
    """A line of progress on standard error, unless ``-q`` is given."""
    if not is_quiet():
        click.echo(text, err=True)


def console() -> Console:
    """Wide enough for tables when the output is a pipe or a file; without colour where NO_COLOR is set."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 200
    return Console(width=width, highlight=False)


class StatusLine:
    """One line on a terminal that is written over again; nothing where standard error is none."""

    def __init__(self, *, wanted: bool = True) -> None:
        self.shown = wanted and sys.stderr.isatty() and not is_quiet()

    def show(self, text: str) -> None:
        """Put ``text`` in the place of what is shown."""
        if self.shown:
            click.echo(f"\r\x1b[K{text}", err=True, nl=False)

    def progress(self, name: str, what: str) -> Callable[[int, int], object] | None:
        """Tells how far it is: on a terminal here, elsewhere by lines with ``-v`` alone."""
        if self.shown:
            return lambda done, total: self.show(f"{name}: {done} of {total} {what}")
        return (lambda done, total: tell(f"{name}: {done} of {total} {what}")) if is_verbose() else None

    def clear(self) -> None:
        """Take the line away, before something else is printed."""
        self.show("")
