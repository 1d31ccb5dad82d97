"""BLAS is kept to one thread while tasks run, and has its own number of threads afterwards."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from attndsl.reference import threads


class _Blas:
    def __init__(self, count: int) -> None:
        self.count, self.calls = count, 0

    def get(self) -> int:
        return self.count

    def put(self, count: int) -> None:
        self.count, self.calls = count, self.calls + 1


@pytest.fixture
def blas(monkeypatch: pytest.MonkeyPatch) -> _Blas:
    found = _Blas(7)
    monkeypatch.setattr(threads, "_openblas", lambda: (found.get, found.put))
    monkeypatch.setattr(threads, "_holders", 0)
    return found


def test_nested_uses_share_one_setting(blas: _Blas) -> None:
    with threads.single_threaded_blas():
        assert blas.count == 1
        with threads.single_threaded_blas():
            assert blas.count == 1 and blas.calls == 1
        assert blas.count == 1
    assert blas.count == 7 and blas.calls == 2
    with threads.single_threaded_blas():
        assert blas.count == 1
    assert blas.count == 7


def test_the_setting_comes_back_after_an_error(blas: _Blas) -> None:
    with pytest.raises(KeyError), threads.single_threaded_blas():
        raise KeyError
    assert blas.count == 7


def test_where_numpy_has_another_library_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_openblas", lambda: None)
    with threads.single_threaded_blas():
        pass


def test_so_many_cores_are_used_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_present_cores", lambda: 4)
    monkeypatch.setattr(threads, "_most", None)
    assert threads.cores() == 4
    for most, wanted in ((1, 1), (3, 3), (9, 4)):
        threads.limit_threads(most)
        assert threads.cores() == wanted


@pytest.mark.parametrize("most", [1, 3])
def test_each_task_runs_once_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(threads, "_present_cores", lambda: 3)
    monkeypatch.setattr(threads, "_most", most)
    done: list[int] = []
    threads.for_each(done.append, range(40))
    assert sorted(done) == list(range(40))
    threads.for_each(done.append, range(2), parallel=False)
    assert done[40:] == [0, 1]
    threads.for_each(done.append, [])
    assert len(done) == 42


@pytest.mark.parametrize("parallel", [True, False])
def test_the_error_of_a_task_is_raised(monkeypatch: pytest.MonkeyPatch, parallel: bool) -> None:
    monkeypatch.setattr(threads, "_present_cores", lambda: 3)
    monkeypatch.setattr(threads, "_most", None)

    def work(task: int) -> None:
        if task == 5:
            raise ValueError(task)

    with pytest.raises(ValueError, match="5"):
        threads.for_each(work, range(9), parallel=parallel)


def test_little_work_starts_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_present_cores", lambda: 3)
    monkeypatch.setattr(threads, "_most", None)
    monkeypatch.setattr(threads, "_pool", None)  # not to be called
    done: list[int] = []
    threads.for_each(done.append, range(4), parallel=False)
    threads.for_each(done.append, [4])
    assert done == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("fails", ["nobody", "the caller", "a helper"])
def test_helpers_are_waited_for(monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    """Also where the caller's own task fails: BLAS has its threads back then. Their errors are raised."""
    monkeypatch.setattr(threads, "_present_cores", lambda: 2)
    monkeypatch.setattr(threads, "_most", None)
    caller, meet, done = threading.current_thread(), threading.Barrier(2), []

    def work(task: int) -> None:
        meet.wait(10)
        own = threading.current_thread() is caller
        if not own:
            time.sleep(0.02)
            done.append(task)
        if fails == ("the caller" if own else "a helper"):
            raise KeyError(fails)

    if fails == "nobody":
        threads.for_each(work, range(2))
    else:
        with pytest.raises(KeyError, match=fails):
            threads.for_each(work, range(2))
    assert len(done) == 1


def test_cores_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 4, 5}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert threads._present_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert threads._present_cores() == 8


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"), True),
        (("openblas_get_num_threads", "openblas_set_num_threads"), True),
        (("openblas_get_num_threads", "openblas_put_num_threads"), False),
    ],
)
def test_the_blas_of_this_process_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, names: tuple[str, str], found: bool
) -> None:
    """Under any of its names; other libraries are not loaded, and there may be no list of them."""
    maps, loaded = tmp_path / "maps", list[str]()
    maps.write_text("7f0 r-xp /lib/libm.so\n7f1 r-xp /lib/libopenblas.so\n7f2 rw-p 00\n")
    monkeypatch.setattr(threads, "Path", lambda path: maps)

    def library(file: str) -> Any:
        loaded.append(file)
        return SimpleNamespace(**dict.fromkeys(names, file))

    monkeypatch.setattr(ctypes, "CDLL", library)
    assert threads._openblas.__wrapped__() == (("/lib/libopenblas.so",) * 2 if found else None)
    assert loaded == ["/lib/libopenblas.so"]
    maps.unlink()
    assert threads._openblas.__wrapped__() is None


def test_helpers_that_have_not_started_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool may be busy with the caller itself."""
    monkeypatch.setattr(threads, "_present_cores", lambda: 3)
    monkeypatch.setattr(threads, "_most", None)
    waited: list[Any] = []
    pending = SimpleNamespace(cancel=lambda: True, result=lambda: waited.append("result"))
    monkeypatch.setattr(
        threads, "_pool", lambda process, count: SimpleNamespace(submit=lambda *what: pending)
    )
    monkeypatch.setattr(threads, "wait", waited.extend)
    done: list[int] = []
    threads.for_each(done.append, range(4))
    assert done == [0, 1, 2, 3] and not waited
