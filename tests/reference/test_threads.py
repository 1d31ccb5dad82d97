"""BLAS is kept to one thread while tasks run, and has its own number of threads afterwards."""

from __future__ import annotations

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
