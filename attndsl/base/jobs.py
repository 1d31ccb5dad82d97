"""One function over many items in forked processes on this machine.

Whatever workers are lost, each item has one result. What fails in a worker is run again by the process that
asked for it, which raises the error as it is.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from attndsl.base.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")
WORKERS_VARIABLE = "ATTNDSL_WORKERS"
_LOSSES = 3
"""Losses of workers in a row, with nothing finished between, after which no further workers are started."""
_PR_SET_PDEATHSIG = 1
"""Of ``linux/prctl.h``."""


class WrongWorkerCount(UserError, ValueError):
    """The number of workers is no positive integer."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{WORKERS_VARIABLE}={text!r} must be a number of processes, 1 or more")


class WorkersLost(UserError, RuntimeError):
    """Workers died again and again, and nothing was finished in between."""

    def __init__(self, items: Iterable[object]) -> None:
        names = sorted(map(str, items))
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        super().__init__(
            f"workers were killed {_LOSSES} times in a row while they ran {shown}: most likely for want of "
            f"memory; set {WORKERS_VARIABLE} to a smaller number"
        )


@dataclass(frozen=True)
class Failed:
    """In the place of a result: the item runs again in the process that asked for it, which raises its error.

    ``text``: the error, for whoever cannot run the item.
    """

    text: str = ""


_work: tuple[Callable[[Any], Any], Callable[[], object]] | None = None
"""What forked workers run, and what they begin with: no pickle carries it, so it may be anything."""


def fork_map(
    function: Callable[[Item], Result], items: Sequence[Item], workers: int | None = None
) -> Iterator[Result]:
    """``map(function, items)`` by forked processes; only results travel, and must be such as can be pickled.

    An item that fails in a worker runs again in this process, so that its error is raised here and at its
    turn. Where :func:`can_fork` says no, and after workers were lost again and again, all items run here.

    Args:
        function: of one item; what it changes in a worker is lost.
        items: what to run it on.
        workers: processes; by default :func:`worker_count`.

    Raises:
        As ``function``.
    """
    count = min(worker_count() if workers is None else workers, len(items))
    made = _in_turn(lambda number: function(items[number]), range(len(items)), count)
    return (result for _, result in made)


def fork_map_while_made(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None
) -> Iterator[tuple[Item, Result]]:
    """As :func:`fork_map`, each item with its result, for items that are made while others run: they travel,
    too, and must be such as can be pickled.

    Raises:
        As ``function``; as ``items``, at the turn of the item that was to be made.
    """
    return _in_turn(function, items, worker_count() if workers is None else workers)


def _in_turn(
    function: Callable[[Item], Result], items: Iterable[Item], count: int
) -> Iterator[tuple[Item, Result]]:
    """Each item with its result, in the order of the items, by ``count`` processes where these can be
    forked."""
    waiting, taken = iter(items), list[Item]()
    turn, ended = 0, dict[int, Result | Failed]()
    unmade = list[Exception]()

    def numbered() -> Iterator[tuple[int, Item]]:
        try:
            for item in waiting:
                taken.append(item)
                yield len(taken) - 1, item
        except Exception as error:
            unmade.append(error)

    if can_fork(count):
        running = forked(lambda each: function(each[1]), numbered(), count)
        with contextlib.closing(running), contextlib.suppress(WorkersLost):
            for (number, _), found in running:
                ended[number] = found
                while turn in ended:
                    item, known = taken[turn], ended.pop(turn)
                    yield item, function(item) if isinstance(known, Failed) else known
                    turn += 1
    for number, item in enumerate(chain(taken[turn:], waiting), turn):
        known = ended.pop(number, Failed())
        yield item, function(item) if isinstance(known, Failed) else known
    if unmade:
        raise unmade[0]


def can_fork(workers: int) -> bool:
    """Whether so many workers can be forked: on Linux, in a process without threads that is no worker."""
    return workers > 1 and sys.platform == "linux" and threading.active_count() < 2 and _work is None


def forked(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    begin: Callable[[], object] = lambda: None,
) -> Generator[tuple[Item, Result | Failed], None, None]:
    """Each item with its result, as they end, by forked processes; closing it ends what still runs.

    Args:
        function: of one item; what it changes in a worker is lost.
        items: made while others run; they and the results travel, and must be such as can be pickled.
        workers: processes, as many as :func:`can_fork` allows.
        begin: called once in each worker.

    Raises:
        WorkersLost: workers died, and nothing was finished in between.
    """
    global _work
    import ctypes  # noqa: F401 - here, once: forked workers have it then

    waiting, unfinished, losses = enumerate(items), dict[int, Item](), 0
    _work = function, begin
    try:
        while True:
            fork = multiprocessing.get_context("fork")
            pool = ProcessPoolExecutor(workers, fork, initializer=_begin, initargs=(os.getpid(),))
            try:
                for ended in completed(pool, _guarded, waiting, unfinished):
                    losses = 0
                    yield ended
                return
            except BrokenProcessPool:
                losses += 1
                if losses == _LOSSES:
                    raise WorkersLost(unfinished.values()) from None
            finally:
                _end(pool, busy=bool(unfinished))
    finally:
        _work = None


def completed(
    pool: Executor,
    run: Callable[[Item], Any],
    waiting: Iterator[tuple[int, Item]],
    unfinished: dict[int, Item],
) -> Iterator[tuple[Item, Any]]:
    """Items with what ``run`` makes of them, as they end.

    Args:
        waiting: numbered items, taken while the pool works.
        unfinished: those that were taken and have not ended; those that are there already run first.

    Raises:
        BrokenProcessPool: a worker has died.
        As ``run``.
    """
    running: dict[Future[Any], int] = {pool.submit(run, item): number for number, item in unfinished.items()}
    more = True
    while more or running:
        taken = next(waiting, None) if more else None
        more = taken is not None
        if taken is not None:
            number, item = taken
            unfinished[number] = item
            running[pool.submit(run, item)] = number
        done, _ = wait(running, timeout=0 if more else None, return_when=FIRST_COMPLETED)
        for each in done:
            result = each.result()
            yield unfinished.pop(running.pop(each)), result


def _guarded(item: Any) -> Any:
    """The result of an item in a worker; an error may be one that no pickle restores."""
    assert _work is not None, "only a forked worker runs this"
    try:
        return _work[0](item)
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}")


def _begin(parent: int) -> None:
    """A worker ends with its parent, also where that is killed, and leaves interrupts to it."""
    import ctypes

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it ended before it was asked to tell
        os._exit(1)
    assert _work is not None
    _work[1]()


def _end(pool: ProcessPoolExecutor, *, busy: bool) -> None:
    """End a pool; ``busy``: its processes too, which still work for somebody who has given up."""
    processes = [*(pool._processes or {}).values()]
    pool.shutdown(wait=not busy, cancel_futures=True)
    if busy:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(5)


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
