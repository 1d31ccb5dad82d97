"""Jobs on a Dask cluster that the user has: ``attndsl verify NAME --scheduler tcp://HOST:PORT``.

Results must not depend on where they were computed: a worker whose attndsl, whose sources or whose compiler
differ is refused by name, those that are there at the start and those that come later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from attndsl import __version__
from attndsl.base.errors import UserError
from attndsl.base.jobs import Failed
from attndsl.base.package_files import sources_key
from attndsl.campaign.jobs import Job, Results
from attndsl.campaign.runner import emulator_identity

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_SECONDS = 30


class SchedulerMissing(UserError, RuntimeError):
    """The scheduler does not answer, has no workers, or Dask is not installed."""


class WorkerRefused(UserError, RuntimeError):
    """A worker differs from this process in what decides results."""

    def __init__(self, worker: str, differences: Iterable[str]) -> None:
        super().__init__(
            f"worker {worker} is refused: {'; '.join(differences)}; install on it what runs here, or end it"
        )


@dataclass(frozen=True)
class Identity:
    """What must be the same in all processes of a campaign."""

    version: str
    sources: str
    compiler: str

    def differences(self, here: Identity) -> list[str]:
        """Where a worker's identity differs from ``here``, for the message that refuses it."""
        return [
            f"its {each.name} {getattr(self, each.name)!r}, here {getattr(here, each.name)!r}"
            for each in fields(self)
            if getattr(self, each.name) != getattr(here, each.name)
        ]

    @staticmethod
    @cache
    def of_here() -> Identity:
        """That of this process, which runs the code of its start."""
        emulator, compiler = emulator_identity()
        return Identity(__version__, f"{sources_key()}-{emulator}", compiler)


def identity() -> Identity:
    """The identity of the process that is asked."""
    return Identity.of_here()


@dataclass(frozen=True)
class Cluster:
    """The workers of a Dask cluster; ``address``: of its scheduler, ``tcp://HOST:PORT``."""

    address: str

    def run(self, jobs: Iterable[Job]) -> Results:
        """As :meth:`attndsl.campaign.jobs.Jobs.run`; a job whose worker is lost runs on another.

        Raises:
            SchedulerMissing: it does not answer, or has no workers.
            WorkerRefused: a worker differs from this process.
        """
        with self._client() as client:
            _check_workers(client, self.address)
            yield from _completed(client, jobs)

    def _client(self) -> Client:
        try:
            from distributed import Client
        except ImportError as error:
            raise SchedulerMissing(
                "a scheduler needs Dask: pip install 'attndsl[cluster]', here and on the workers"
            ) from error
        try:
            return Client(self.address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise SchedulerMissing(
                f"no scheduler answers at '{self.address}' ({type(error).__name__}: {error}); "
                "give the address that 'dask scheduler' prints, tcp://HOST:PORT"
            ) from error


def _check_workers(client: Client, address: str) -> None:
    """Refuse the first of the present workers, by address, that differs from this process."""
    found = client.run(identity, on_error="return")
    if not found:
        raise SchedulerMissing(f"the scheduler at '{address}' has no workers; start some")
    for worker, told in sorted(found.items()):
        if not isinstance(told, Identity):
            raise WorkerRefused(worker, [f"it cannot load attndsl ({type(told).__name__}: {told})"])
        if told != identity():
            raise WorkerRefused(worker, told.differences(identity()))


@dataclass(frozen=True)
class _Differs:
    """In the place of a result: a worker that came later is another one than it should be."""

    worker: str
    told: Identity


def _run(job: Job, expected: Identity) -> Any:
    """What a worker does."""
    if identity() != expected:
        from distributed import get_worker

        return _Differs(get_worker().address, identity())
    try:
        return job.run()
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}")


def _completed(client: Client, jobs: Iterable[Job]) -> Results:
    from distributed import as_completed

    # pure=False: the scheduler never takes two jobs for one; here they are told apart by their futures.
    running = {client.submit(_run, job, identity(), pure=False): job for job in jobs}
    try:
        for future in as_completed(list(running), loop=client.loop):
            result = future.result()
            if isinstance(result, _Differs):
                raise WorkerRefused(result.worker, result.told.differences(identity()))
            job = running.pop(future)
            yield job, job.run() if isinstance(result, Failed) else result
    finally:
        client.cancel(list(running), force=True)
