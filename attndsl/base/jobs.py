"""One function over many items in processes on this machine, with the results in the order of the items."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, TypeVar

from attndsl.base.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")
WORKERS_VARIABLE = "ATTNDSL_WORKERS"
_PR_SET_PDEATHSIG = 1
"""Of ``linux/prctl.h``."""


class WrongWorkerCount(UserError, ValueError):
    """The number of workers is no positive integer."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{WORKERS_VARIABLE}={text!r} must be a number of processes, 1 or more")


@dataclass(frozen=True)
class _Work:
    """What forked workers find when they start: no pickle carries it, so it may be anything."""

    function: Callable[[Any], Any]
    items: Sequence[Any]


@dataclass(frozen=True)
class _Failed:
    """In the place of a result: the item is run again by the process that asked for it."""


_work: _Work | None = None


def fork_map(
    function: Callable[[Item], Result], items: Sequence[Item], workers: int | None = None
) -> Iterator[Result]:
    """``map(function, items)`` by forked processes; only results travel, and must be such as can be pickled.

    An item that fails in a worker, or whose worker is lost, runs again in this process, so that its error is
    raised here and at its turn. Without ``fork``, in a process with threads, and in a worker, all items run
    in this process.

    Args:
        function: of one item; what it changes in a worker is lost.
        items: what to run it on.
        workers: processes; by default :func:`worker_count`.

    Raises:
        As ``function``.
    """
    global _work
    count = min(worker_count() if workers is None else workers, len(items))
    if count < 2 or sys.platform != "linux" or threading.active_count() > 1 or _work is not None:
        yield from map(function, items)
        return
    import ctypes  # noqa: F401 - here, once: forked workers have it then

    _work = _Work(function, items)
    try:
        fork = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(count, fork, end_with_parent, (os.getpid(), signal.SIGKILL)) as pool:
            running = [pool.submit(_run, number) for number in range(len(items))]
            try:
                for item, job in zip(items, running, strict=True):
                    try:
                        result = job.result()
                    except BrokenProcessPool:
                        result = _Failed()
                    yield function(item) if isinstance(result, _Failed) else result
            finally:
                for job in running:
                    job.cancel()
    finally:
        _work = None


def end_with_parent(parent: int, by: signal.Signals) -> None:
    """Let a worker end by a signal when the process that forked it ends, also where that is killed."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, by)
    if os.getppid() != parent:  # it ended before it was asked to tell
        os._exit(1)


def _run(number: int) -> Any:
    assert _work is not None, "only a forked worker runs this"
    try:
        return _work.function(_work.items[number])
    except Exception:  # it may be one that no pickle restores
        return _Failed()


def worker_count() -> int:
    """Processors that this process may use, or ``$ATTNDSL_WORKERS``.

    Raises:
        WrongWorkerCount: the variable holds no positive integer.
    """
    stated = os.environ.get(WORKERS_VARIABLE, "")
    if not stated:
        return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    if not (stated.isascii() and stated.isdigit() and int(stated) > 0):
        raise WrongWorkerCount(stated)
    return int(stated)
