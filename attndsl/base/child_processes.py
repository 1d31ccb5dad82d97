"""Child processes that end with this one, however it ends, and stay within a bound on their memory."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

_GUARD = """
bytes=$1; shift
exec 3<&0 </dev/null
( read -r _ <&3; kill -KILL 0 ) >/dev/null 2>&1 &
guard=$!
exec 3<&-
ulimit -v "$bytes" 2>/dev/null
"$@"
code=$?
exec 2>/dev/null
kill -KILL $guard
wait $guard
exit $code
"""
"""Runs a command in the process group that it leads. Its standard input is a pipe that this process holds
open and never writes to: when that is closed, also because this process was killed, the group is killed."""

_lock = threading.Lock()
_groups: set[int] = set()
_ending = False


def run_guarded(
    command: Sequence[str], *, seconds: float, memory: int, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; it reads no input, and what it starts in its turn ends with it.

    Args:
        command: the program and its arguments.
        seconds: the command is killed after so many.
        memory: bytes that each of its processes may have as its address space.
        cwd: the folder that it runs in.

    Raises:
        KeyboardInterrupt: this process is about to end.
        subprocess.TimeoutExpired: it did not end within ``seconds``.
        OSError: it could not be started.
    """
    reader, writer = os.pipe()
    try:
        with _started(["sh", "-c", _GUARD, "sh", str(memory >> 10), *command], reader, cwd) as process:
            # messages quote the source, whatever its encoding
            out, errors = (each.decode(errors="replace") for each in process.communicate(timeout=seconds))
            return subprocess.CompletedProcess(command, process.returncode, out, errors)
    finally:
        os.close(reader)
        os.close(writer)


@contextlib.contextmanager
def _started(command: Sequence[str], reader: int, cwd: Path | None) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    with _lock:
        if _ending:
            raise KeyboardInterrupt
        process = subprocess.Popen(command, stdin=reader, stdout=pipe, stderr=pipe, cwd=cwd, process_group=0)
        _groups.add(process.pid)
    try:
        if not _ending:
            yield process
        if _ending:  # it was said while this one started or ran
            raise KeyboardInterrupt
    except BaseException:
        _kill(process.pid)
        process.communicate()
        raise
    finally:
        with _lock:
            _groups.discard(process.pid)


def end_children() -> None:
    """Kill all that :func:`run_guarded` runs in any thread, and start no more: this process is about to end.

    A signal's handler may call it, also one that interrupts :func:`run_guarded`.
    """
    global _ending
    _ending = True
    for group in [*_groups]:
        _kill(group)


def start_again() -> None:
    """Take :func:`end_children` back: the process goes on after all."""
    global _ending
    _ending = False


def _kill(group: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)
