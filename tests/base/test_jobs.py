"""Jobs in processes: results in order, errors as without processes, lost workers made up for."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attndsl.base.jobs import WrongWorkerCount, fork_map, fork_map_while_made, worker_count


class Awkward(Exception):
    """No pickle restores it: it takes two arguments and passes one on."""

    def __init__(self, what: str, where: int) -> None:
        super().__init__(f"{what} at {where}")


def test_results_stand_in_the_order_of_the_items() -> None:
    offset = 7  # a closure: it travels by fork alone
    assert list(fork_map(lambda item: item + offset, range(20), 3)) == [item + 7 for item in range(20)]


_WHERE = """
import os
import subprocess
import sys
from attndsl.base.jobs import fork_map
if {threads}:
    import threading
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print(os.getpid() in set(fork_map(lambda _: os.getpid(), range(6), {workers})))
"""


@pytest.mark.parametrize(
    ("workers", "threads", "here"), [(2, False, False), (1, False, True), (2, True, True)]
)
def test_other_processes_do_the_work(workers: int, threads: bool, here: bool) -> None:
    """In a process of its own: one with threads, as another test may leave, has no workers."""
    code = _WHERE.format(workers=workers, threads=threads)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(here)


def test_an_error_is_raised_at_its_turn() -> None:
    def function(item: int) -> int:
        if item == 2:
            raise Awkward("item", item)
        return item

    results = fork_map(function, range(4), 2)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(Awkward, match="item at 2"):
        next(results)


@pytest.mark.parametrize("workers", [1, 2])
def test_items_are_made_while_others_run(workers: int) -> None:
    """An item that cannot be made is told of at its turn, however long those in front of it take."""

    def items():
        yield from range(3)
        raise Awkward("item", 3)

    results = fork_map_while_made(lambda item: time.sleep(0.01 * (3 - item)) or item * item, items(), workers)
    assert [next(results) for _ in range(3)] == [(0, 0), (1, 1), (2, 4)]
    with pytest.raises(Awkward, match="item at 3"):
        next(results)


def test_an_item_that_fails_comes_before_one_that_is_not_made() -> None:
    def items():
        yield 0
        raise Awkward("item", 1)

    def function(item: int) -> int:
        raise Awkward("work", item)

    with pytest.raises(Awkward, match="work at 0"):
        next(fork_map_while_made(function, items(), 2))


def test_what_a_lost_worker_had_is_done_here() -> None:
    mine = os.getpid()

    def function(item: int) -> int:
        if item == 3 and os.getpid() != mine:
            os.kill(os.getpid(), 9)
        return item * item

    assert list(fork_map(function, range(8), 2)) == [item * item for item in range(8)]


def test_workers_have_no_workers() -> None:
    def function(item: int) -> set[int]:
        return set(fork_map(lambda _: os.getpid(), range(4), 2))

    assert all(len(each) == 1 for each in fork_map(function, range(3), 2))


@pytest.mark.parametrize("text", ["0", "-2", "two", "\u0662"])
def test_a_wrong_number_of_workers_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNDSL_WORKERS", text)
    with pytest.raises(WrongWorkerCount, match="1 or more"):
        worker_count()


def test_the_number_of_workers_can_be_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNDSL_WORKERS", "5")
    assert worker_count() == 5


_ENDLESS = """
import os, time
from attndsl.base.jobs import fork_map
def work(item):
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(600)
list(fork_map(work, range(2), 2))
"""


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux alone")
def test_workers_end_with_the_process_that_forked_them() -> None:
    with subprocess.Popen([sys.executable, "-c", _ENDLESS], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        try:
            workers = [int(parent.stdout.readline()) for _ in range(2)]
            assert all(_runs(each) for each in workers)
        finally:
            parent.kill()
    end = time.monotonic() + 60
    while any(_runs(each) for each in workers) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(_runs(each) for each in workers)
