"""Named jobs of a campaign, run wherever there are processors; what they give does not depend on where.

A job is a function with arguments under a key that no other job has. Whoever runs jobs gives back each
result once, in any order; a job whose worker is lost runs again. Finished jobs are kept in a journal, by
which an interrupted campaign goes on.
"""

from __future__ import annotations

import base64
import contextlib
import json
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from attndsl.base.errors import UserError
from attndsl.base.jobs import Failed, can_fork, completed, forked, worker_count
from attndsl.reference.threads import limit_threads


class WrongJournal(UserError, ValueError):
    """A file is no journal of jobs, or cannot be read or written."""


@dataclass(frozen=True)
class Job:
    """``function(*arguments)`` under a key.

    ``key`` says all that decides the result, so that a journal may be asked for it. For other processes the
    function is one of a module, and arguments and result can be pickled.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return self.key

    def run(self) -> Any:
        """The result, computed here."""
        return self.function(*self.arguments)


Results: TypeAlias = Generator[tuple[Job, Any], None, None]
"""Each job with its result, once, in any order; closing it ends what still runs."""


class Jobs(Protocol):
    """Whoever runs jobs."""

    def run(self, jobs: Iterable[Job]) -> Results:
        """The results; ``jobs`` may be made while others run.

        Raises:
            As a job; then no further one is begun.
        """


@dataclass(frozen=True)
class LocalProcesses:
    """Processes on this machine, forked; ``workers``: how many, by default as many as processors."""

    workers: int | None = None

    def run(self, jobs: Iterable[Job]) -> Results:
        """As :meth:`Jobs.run`. Where nothing can be forked, as in a process with threads, threads run them.

        Raises:
            WorkersLost: workers died, and nothing was finished in between.
        """
        count = worker_count() if self.workers is None else self.workers
        if not can_fork(count):
            yield from LocalThreads(count).run(jobs)
            return
        with contextlib.closing(forked(Job.run, jobs, count, begin=partial(limit_threads, 1))) as running:
            for job, result in running:
                yield job, job.run() if isinstance(result, Failed) else result


@dataclass(frozen=True)
class LocalThreads:
    """Threads of this process, for jobs that cannot travel; ``workers``: how many."""

    workers: int

    def run(self, jobs: Iterable[Job]) -> Results:
        """As :meth:`Jobs.run`; one worker is this thread."""
        if self.workers < 2:
            for job in jobs:
                yield job, job.run()
            return
        errors: list[BaseException] = []

        def run(job: Job) -> Any:
            if errors:  # other threads end with their job, and begin no further one
                raise errors[0]
            try:
                return job.run()
            except BaseException as error:
                errors.append(error)
                raise errors[0] from None

        with ThreadPoolExecutor(self.workers) as pool:
            try:
                yield from completed(pool, run, enumerate(jobs), {})
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


def results_of(
    jobs: Iterable[Job],
    runner: Jobs,
    journal: Path | None = None,
    progress: Callable[[int], object] | None = None,
) -> dict[str, Any]:
    """The results of jobs by key.

    Args:
        jobs: no two with one key.
        runner: runs those that the journal does not hold.
        journal: a file of finished jobs, read first and continued; None: nothing is kept.
        progress: called with the number of finished jobs after each.

    Raises:
        WrongJournal: the file is none.
        As the jobs, and as ``runner``.
    """
    found: dict[str, Any] = {}

    def add(key: str, result: Any) -> None:
        found[key] = result
        if progress is not None:
            progress(len(found))

    def open_jobs() -> Iterator[Job]:
        for job in jobs:
            if job.key in kept:
                add(job.key, kept[job.key])
            else:
                yield job

    kept = {} if journal is None else read_journal(journal)
    with contextlib.ExitStack() as stack:
        notes = None if journal is None else stack.enter_context(_Notes(journal))
        running = stack.enter_context(contextlib.closing(runner.run(open_jobs())))
        for job, result in running:
            if notes is not None:
                notes.add(job.key, result)
            add(job.key, result)
    return found


# ------------------------------------------------------------------------------------------------
# The journal: one line a finished job


def read_journal(path: Path) -> dict[str, Any]:
    """The results that a journal holds, by key; none where there is no file. A last line that was not
    written to its end counts for nothing.

    Raises:
        WrongJournal: another line is none of a journal, or the file cannot be read.
    """
    try:
        lines = path.read_bytes().split(b"\n") if path.exists() else []
    except OSError as error:
        raise WrongJournal(f"{path}: the journal cannot be read: {error.strerror}") from error
    found: dict[str, Any] = {}
    for number, line in enumerate(lines[:-1], 1):
        try:
            entry = json.loads(line)
            found[entry["key"]] = pickle.loads(base64.b64decode(entry["result"], validate=True))
        except Exception as error:  # a damaged pickle may raise anything
            raise WrongJournal(
                f"{path}:{number}: no line of a journal of jobs ({type(error).__name__}); name another file"
            ) from error
    return found


class _Notes:
    """A journal that is being continued."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> _Notes:
        try:
            whole = self._path.read_bytes().rpartition(b"\n") if self._path.exists() else (b"", b"", b"")
            self._file = self._path.open("ab")
            self._file.truncate(len(whole[0]) + len(whole[1]))
        except OSError as error:
            raise WrongJournal(f"{self._path}: the journal cannot be written: {error.strerror}") from error
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(OSError):  # told by the write that failed
            self._file.close()

    def add(self, key: str, result: Any) -> None:
        """Keep a result; after this call no end of the process loses it.

        Raises:
            WrongJournal: the disk takes nothing more.
        """
        entry = {"key": key, "result": base64.b64encode(pickle.dumps(result, protocol=5)).decode()}
        try:
            self._file.write(json.dumps(entry).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise WrongJournal(f"{self._path}: the journal cannot be written: {error.strerror}") from error
