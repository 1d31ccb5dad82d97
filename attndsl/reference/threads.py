"""Independent tasks on all cores: a small thread pool, with BLAS kept to one thread a task.

NumPy releases the interpreter lock inside its loops and BLAS calls; two pools that both want every core
(ours and that of BLAS) would be slower than either.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

import numpy as np

Task = TypeVar("Task")

_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "")
_lock = threading.Lock()
_holders = 0
_saved = 1
_most: int | None = None


def for_each(work: Callable[[Task], None], tasks: Sequence[Task], *, parallel: bool = True) -> None:
    """Run ``work`` on every task, on as many threads as there are cores. The first exception is raised.

    ``parallel``: False for so little work that starting threads would cost more.
    """
    count = min(cores(), len(tasks)) if parallel else 1
    if count <= 1:
        _run_all(work, iter(tasks))
        return
    # Each thread takes the next task when it is done with one, so that none waits for a slower one.
    remaining = iter(tasks)
    pool = _pool(os.getpid(), cores() - 1)
    with single_threaded_blas():
        others = [pool.submit(_run_all, work, remaining) for _ in range(count - 1)]
        try:
            _run_all(work, remaining)
        finally:  # helpers that have not started (the pool is busy, perhaps with our caller) are not needed
            started = [other for other in others if not other.cancel()]
            wait(started)
        for done in started:
            done.result()


def _run_all(work: Callable[[Task], None], remaining: Iterator[Task]) -> None:
    """Work until nothing remains; ``next`` on a list's iterator is one step of the interpreter."""
    with np.errstate(all="ignore"):  # every thread has a setting of its own
        for task in remaining:
            work(task)


@functools.cache
def _pool(process: int, count: int) -> ThreadPoolExecutor:
    """Threads that stay, as starting them takes as long as a small call; a forked process has none."""
    return ThreadPoolExecutor(count, thread_name_prefix=f"attndsl-{process}")


def limit_threads(count: int) -> None:
    """Let this process use so many cores at most, because others work beside it."""
    global _most
    _most = count


def cores() -> int:
    """Cores that this process may use."""
    return _present_cores() if _most is None else min(_most, _present_cores())


def _present_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep OpenBLAS, if NumPy uses it, to one thread; nested and concurrent uses share one setting."""
    global _holders, _saved
    functions = _openblas()
    if functions is None:
        yield
        return
    get, put = functions
    with _lock:
        if _holders == 0:
            _saved = get()
            put(1)
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                put(_saved)


@functools.cache
def _openblas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Getter and setter of the thread count of the OpenBLAS in this process, or None."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return None
    files = {line.split()[-1] for line in maps.read_text().splitlines() if "openblas" in line}
    for file in sorted(files):
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(file)
            for prefix in _PREFIXES:
                for suffix in _SUFFIXES:
                    get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                    put = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                    if get is not None and put is not None:
                        return get, put
    return None
