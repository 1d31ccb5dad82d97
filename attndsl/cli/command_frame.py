"""What every command of the command line shares: exit codes, the one JSON document, how errors are told.

Exit codes: 0 all is well; 1 a check failed, or what the user asked to run did; 2 wrong usage or a wrong spec;
3 a defect of attndsl; 130 interrupted; 141 the reader of the output has gone; 143 ended by SIGTERM.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import platform
import shlex
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import click
from click.shell_completion import shell_complete

from attndsl import __version__
from attndsl.base.child_processes import end_children, start_again
from attndsl.base.errors import AttnDslError, InternalError, UserError, error_text

OK, FAILED, WRONG_USAGE, DEFECT, INTERRUPTED, CLOSED_PIPE, TERMINATED = 0, 1, 2, 3, 130, 141, 143
NO_KERNEL = "no kernel yet: "
"""How the text of a stage begins that a spec without a kernel does not have."""

SCHEMA = 2
"""Version of the JSON documents; another number when a key is renamed, removed or changes its meaning."""
PROGRAM, COMPLETION_VARIABLE = "attndsl", "_ATTNDSL_COMPLETE"


class Interrupted(KeyboardInterrupt):
    """An interrupt from the keyboard, as a class of its own.

    Where ``exec`` of a text meets KeyboardInterrupt itself, ``python -m`` ends by the signal, even if the
    error was caught and whatever the exit code is.
    """


class Terminated(KeyboardInterrupt):
    """SIGTERM was sent. As an interrupt it passes whoever catches errors, and temporary folders go."""


@dataclass
class Answer:
    """The text of a command's JSON document, printed when the command has ended; empty until it has one."""

    text: str = ""


@dataclass(frozen=True)
class Failure:
    """Why a command ended without its answer. ``kind``: the class of the error; ``details``: further keys of
    its document."""

    code: int
    message: str
    kind: str
    details: Mapping[str, Any] = field(default_factory=dict)


def answer(**document: Any) -> None:
    """Make ``document`` the JSON document of the command that runs; called once, as its last step."""
    context = click.get_current_context()
    whole = {"schema": SCHEMA, "command": context.info_name, **document}
    if isinstance(context.obj, Answer):
        context.obj.text = _as_text(whole)
    else:  # the command was called by a program, without the frame
        click.echo(_as_text(whole))


def run_command(commands: click.Group, arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code. Nothing escapes, whatever a command raises.

    With ``--json`` standard output gets exactly one document. What else is printed meanwhile, by a spec for
    example, goes to standard error.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        _print_anything(stream)
    wants_json = _wants_json(arguments)
    given = Answer()
    aside = contextlib.redirect_stdout(sys.stderr) if wants_json else contextlib.nullcontext()
    failure: Failure | None = None
    try:
        with aside, _told(), _ended_by_signals():
            code = _invoke(commands, arguments, given)
    except BaseException as error:
        failure = explain(error, arguments)
        code = failure.code
    document = given.text if failure is None else ""
    if wants_json and not document:
        document = _as_text(_error(_name(commands, arguments), failure, code))
    return _finish(code, failure.message if failure else "", document if wants_json else "")


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Packages log; a command tells it on standard error. ``-q`` and ``-v`` say how much."""
    logger, handler = logging.getLogger("attndsl"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("attndsl: %(message)s"))
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Turn SIGTERM into an exception, and let an interrupt end the compilers that other threads wait for."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is told of signals
        return
    process = os.getpid()

    def end(number: int, _: FrameType | None) -> None:
        if os.getpid() != process:  # a worker that was forked: its pool ends it so
            os._exit(128 + number)
        end_children()
        raise Terminated if number == signal.SIGTERM else Interrupted

    # What the caller ignores, as nohup does of interrupts, stays ignored.
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
    ours = [each for each, handler in before.items() if handler is not signal.SIG_IGN]
    for each in ours:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in ours:
            signal.signal(each, before[each])
        start_again()


def _invoke(commands: click.Group, arguments: Sequence[str], given: Answer) -> int:
    """As click's ``main``, but errors keep their class; there a closed pipe and an exit look alike."""
    instruction = os.environ.get(COMPLETION_VARIABLE)
    if instruction:
        return shell_complete(commands, {}, PROGRAM, COMPLETION_VARIABLE, instruction)
    try:
        with commands.make_context(PROGRAM, [*arguments], obj=given) as context:
            commands.invoke(context)
    except click.exceptions.Exit as request:
        return request.exit_code
    return OK


def explain(error: BaseException, arguments: Sequence[str]) -> Failure:
    """What an error means for the user; the traceback of a defect is in a file, which the message names."""
    kind = type(error).__name__
    if isinstance(error, BrokenPipeError):
        return Failure(CLOSED_PIPE, "", kind)
    if isinstance(error, Terminated):
        return Failure(TERMINATED, "terminated", kind)
    if isinstance(error, KeyboardInterrupt):
        return Failure(INTERRUPTED, "interrupted", kind)
    if isinstance(error, click.ClickException):
        return Failure(WRONG_USAGE, error.format_message(), kind)
    if isinstance(error, UserError):
        return Failure(WRONG_USAGE, error_text(error), kind)
    if isinstance(error, MemoryError):
        return Failure(FAILED, "there is not enough memory for this", kind)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Failure(FAILED, f"{error.filename or 'output'} cannot be written: {error.strerror}", kind)
    if isinstance(error, AttnDslError) and not isinstance(error, InternalError):
        return Failure(FAILED, error_text(error), kind)
    file = _write_report(error, arguments)
    what = " ".join(f"{kind}: {error_text(error)}".split())
    where = f"its traceback is in {file}" if file else "its traceback could not be written to a file"
    message = f"this is a defect of attndsl, please report it: {what}; {where}"
    return Failure(DEFECT, message, kind, {"traceback": file})


def _write_report(error: BaseException, arguments: Sequence[str]) -> str | None:
    """The file that holds what a report of a defect needs."""
    head = (
        f"attndsl {__version__}, Python {platform.python_version()} on {platform.platform()}\n"
        f"attndsl {shlex.join(arguments)}\n\n"
    )
    try:
        text = "".join(traceback.format_exception(error))
    except Exception:
        text = "".join(traceback.format_tb(error.__traceback__))
    try:
        handle, name = tempfile.mkstemp(prefix="attndsl-defect-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(head + text)
    except OSError:
        return None
    return name


def _finish(code: int, message: str, document: str) -> int:
    """Print what is left to print; returns the exit code, which is another where that cannot be done."""
    try:
        if message:
            click.echo(f"attndsl: {message}", err=True)
        if document and code != CLOSED_PIPE:
            click.echo(document)
        sys.stdout.flush()
    except BrokenPipeError:
        code = CLOSED_PIPE
    except OSError as error:  # a full disk
        _drop(sys.stdout)
        with contextlib.suppress(OSError):
            if not message:
                click.echo(f"attndsl: output cannot be written: {error.strerror or error}", err=True)
        return code or FAILED
    if code == CLOSED_PIPE:
        _drop(sys.stdout)
    return code


def _drop(stream: Any) -> None:
    """Let the interpreter's own flush at its end succeed: what is left has no reader."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


def _error(command: str | None, failure: Failure | None, code: int) -> dict[str, Any]:
    """The document of a command line that has no answer."""
    document: dict[str, Any] = {"schema": SCHEMA, "command": command}
    if command == "emulate":  # its own keys, whatever happened
        from attndsl.emulator.program import ProgramReport

        document |= ProgramReport(code).to_json()
    document |= {"exit_code": code}
    if failure is None:
        return document
    return document | {"error": failure.message, "error_class": failure.kind, **failure.details}


def _as_text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, default=str, allow_nan=False)


def _name(commands: click.Group, arguments: Sequence[str]) -> str | None:
    return next((each for each in arguments[:1] if each in commands.commands), None)


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether a document is asked for; what stands behind ``--`` is for somebody else's program.

    Read from the words themselves: a command line that cannot be parsed is answered by a document too.
    """
    ours = [*arguments[: arguments.index("--")]] if "--" in arguments else [*arguments]
    return "--json" in ours and not {"-h", "--help", "--version"} & {*ours}


def _open_closed_streams() -> None:
    """Standard streams that the caller has closed lead nowhere; else the next files that are opened would
    get their numbers, and what child processes print."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _print_anything(stream: Any) -> None:
    """Names of files and texts of specs may hold what the terminal's encoding has not: print it escaped."""
    reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
