"""A child process that always ends: within its time, its memory and a bound on what it prints."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

OUTPUT_LIMIT = 64 << 20
"""Most bytes of output; a process that prints more is stopped."""
GRACE = 3.0
"""Seconds a process has to write its findings after it was told to end."""
TETHER = "ATTNEMU_TETHER"
"""Tells a program of the emulator whose child it is and how much processor time it may take."""
_CRASH, _ERROR = "attnemu-crash: ", "attnemu-error: "


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    exit_code: int
    """Its own; minus the signal's number when it was killed."""
    stdout: str
    stderr: str
    stopped: str | None = None
    """Why it was stopped, when it was."""

    @property
    def refusal(self) -> str | None:
        """What the emulator refused to run, when it did."""
        lines = [line for line in self.stderr.splitlines() if line.startswith(_ERROR)]
        return lines[-1].removeprefix(_ERROR) if self.exit_code == 3 and lines else None

    @property
    def own_words(self) -> str:
        """Its standard error without the emulator's lines."""
        ours = ("attnemu-", "terminate called", "  what():  std::bad_alloc")
        return "".join(f"{line}\n" for line in self.stderr.splitlines() if not line.startswith(ours))

    @property
    def last_words(self) -> str:
        """Where it was when it crashed or was stopped; empty when nothing is known."""
        lines = [line for line in self.stderr.splitlines() if line.startswith(_CRASH)]
        return lines[0].removeprefix(_CRASH) if lines else ""

    def death(self, name: str, memory: int, advice: str = "") -> str | None:
        """How it died, when a signal killed it; ``advice`` says how it gets more ``memory``, in bytes."""
        if self.exit_code >= 0:
            return None
        if "bad_alloc" in self.stderr:
            where = f" ({self.last_words})" if self.last_words else ""
            return f"{name} asked for more memory than the {memory >> 20} MiB it may have{where}{advice}"
        try:
            how = signal.Signals(-self.exit_code).name
        except ValueError:
            how = f"signal {-self.exit_code}"
        return f"{name} died of {how}: {self.last_words or 'no more is known'}"


def run_process(
    command: Sequence[str],
    *,
    timeout: float,
    patience: float = 1.0,
    environment: Mapping[str, str] | None = None,
    capture: bool = True,
) -> Ended:
    """Runs a command to its end, or stops it at `timeout` seconds or `OUTPUT_LIMIT` bytes of output.

    With a `patience` above 1, time it waits for a busy machine's processors is not counted, so that it has
    `timeout` seconds of processor time; but one that takes none ends after `patience` times as many seconds.
    Without `capture` its standard output goes where ours goes. Programs of the emulator end with this
    process, however it ends: they read `TETHER` when they start.
    """
    environment = {**(os.environ if environment is None else environment), TETHER: _tether(timeout)}
    with tempfile.TemporaryDirectory(prefix="attndsl-") as name:
        folder = Path(name)
        with (folder / "stdout").open("w+b") as out, (folder / "stderr").open("w+b") as errors:
            process = subprocess.Popen(
                command, env=environment, stdout=out if capture else None, stderr=errors
            )
            stopped = _wait(process, timeout, patience, (out, errors))
            return Ended(process.returncode, _content(out), _content(errors), stopped)


def _tether(timeout: float) -> str:
    """Our process, and seconds that no run within `timeout` takes, on all processors; 0: any."""
    seconds = timeout * (os.cpu_count() or 1) + GRACE
    return f"{os.getpid()} {math.ceil(seconds) if seconds < 1e9 else 0}"


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(OUTPUT_LIMIT).decode(errors="replace")


def _wait(
    process: subprocess.Popen[bytes], timeout: float, patience: float, files: Sequence[IO[bytes]]
) -> str | None:
    """Waits for the end; why the process was stopped, or None when it ended by itself."""
    start = time.monotonic()
    pause = 0.002
    reason = None
    rest = _rest(process)
    try:
        while process.poll() is None:
            waited = time.monotonic() - start
            if waited > timeout and (waited > patience * timeout or processor_time(process.pid) > timeout):
                reason = f"did not end within {timeout:g} s: an endless loop, or raise the timeout"
            elif any(os.fstat(file.fileno()).st_size > OUTPUT_LIMIT for file in files):
                reason = f"printed more than {OUTPUT_LIMIT >> 20} MiB"
            if reason:
                break
            rest.until_end(pause)
            pause = min(pause * 1.5, 0.05)
    finally:
        rest.close()
        if process.poll() is None:
            _stop(process)
    return reason


class _Sleeping:
    """Waits for a process as long as it is told to."""

    def until_end(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        pass


class _Polling(_Sleeping):
    """Waits for a process no longer than it runs: of most runs a quarter was slept away."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._poll = descriptor, select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def until_end(self, seconds: float) -> None:
        self._poll.poll(math.ceil(seconds * 1000))

    def close(self) -> None:
        os.close(self._descriptor)


def _rest(process: subprocess.Popen[bytes]) -> _Sleeping:
    """How to wait for a process: by a descriptor of it, where the system has such."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return _Polling(os.pidfd_open(process.pid))
    return _Sleeping()


def processor_time(process: int) -> float:
    """Seconds of processor time that a process has taken; infinity where the system does not tell."""
    try:
        # behind the name, which is in parentheses and may hold anything: from field 3 on
        fields = Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return math.inf


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
