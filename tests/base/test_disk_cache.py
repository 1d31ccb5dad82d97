"""The cache on disk: whole entries only, least recently used ones go first, none that is in use."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attndsl.base import disk_cache
from attndsl.base.disk_cache import CacheNotWritable, ForeignFolder, WrongCacheLimit


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def filled(count: int):
    return lambda path: (path / "data").write_bytes(bytes(count))


def aged(name: str, count: int, seconds: float) -> Path:
    path = disk_cache.make_entry(name, filled(count))
    os.utime(path, (time.time() - seconds,) * 2)
    return path


def test_an_entry_is_made_once_and_found_again() -> None:
    path = disk_cache.make_entry("programs/a", filled(3))
    assert (path / "data").read_bytes() == bytes(3)
    assert disk_cache.make_entry("programs/a", lambda _: pytest.fail("made again")) == path
    assert disk_cache.find_entry("programs/a") == path
    assert disk_cache.find_entry("programs/b") is None


def test_what_fails_leaves_nothing(folder: Path) -> None:
    def fails(path: Path) -> None:
        (path / "half").write_text("x")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        disk_cache.make_entry("a", fails)
    assert [path for path in folder.iterdir() if path.is_dir()] == []


def test_another_process_may_be_faster() -> None:
    def slow(path: Path) -> None:
        disk_cache.make_entry("a", filled(7))
        (path / "data").write_text("late")

    assert (disk_cache.make_entry("a", slow) / "data").read_bytes() == bytes(7)


def test_the_least_recently_used_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, older, young = aged("a", 100, 8000), aged("programs/b", 100, 9000), aged("c", 100, 60)
    monkeypatch.setenv("ATTNDSL_CACHE_BYTES", "250")
    assert disk_cache.trim(folder) == 100
    assert (old.exists(), older.exists(), young.exists()) == (True, False, True)


def test_an_entry_in_use_stays_whatever_the_bound(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, young = aged("a", 100, 8000), aged("b", 100, 60)
    monkeypatch.setenv("ATTNDSL_CACHE_BYTES", "0")
    assert disk_cache.trim(folder) == 100
    assert (old.exists(), young.exists()) == (False, True)


def test_a_use_renews_an_entry() -> None:
    path = aged("a", 1, 8000)
    disk_cache.find_entry("a")
    assert time.time() - path.stat().st_mtime < 600


def test_clean_takes_all() -> None:
    aged("a", 10, 0)
    aged("programs/b", 5, 0)
    assert sum(each.bytes for each in disk_cache.entries()) == 15
    assert disk_cache.clean() == 15
    assert list(disk_cache.entries()) == []


def test_a_folder_of_somebody_elses_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sets the variable to a folder in use, a home for example, loses nothing in it."""
    (folder / "letters").mkdir(parents=True)
    (folder / "letters" / "a.txt").write_text("dear")
    made = aged("a", 10, 8000)
    monkeypatch.setenv("ATTNDSL_CACHE_BYTES", "0")
    assert disk_cache.trim(folder) == 0
    with pytest.raises(ForeignFolder, match="set ATTNDSL_CACHE_DIR to a folder of its own"):
        disk_cache.clean()
    assert made.is_dir() and (folder / "letters" / "a.txt").is_file()
    (folder / disk_cache.TAG).touch()  # its owner says that it is one
    assert disk_cache.clean() > 0 and not made.exists()


@pytest.mark.parametrize("text", ["many", "-1", "1e9", "\u0661"])
def test_a_bound_that_is_no_number_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNDSL_CACHE_BYTES", text)
    with pytest.raises(WrongCacheLimit, match="ATTNDSL_CACHE_BYTES"):
        disk_cache.size_limit()


def test_a_file_in_the_place_of_the_folder_is_named(folder: Path) -> None:
    folder.write_text("")
    with pytest.raises(CacheNotWritable, match="set ATTNDSL_CACHE_DIR to another folder"):
        disk_cache.make_entry("a", filled(1))


def test_keys_tell_parts_apart() -> None:
    assert disk_cache.content_key("ab", "c") != disk_cache.content_key("a", "bc")
    assert disk_cache.content_key("ab", b"c") == disk_cache.content_key("ab", "c")


def test_many_processes_at_once() -> None:
    code = (
        "from attndsl.base.disk_cache import make_entry\n"
        "for n in range(40): make_entry(f'programs/{n}', lambda p: (p / 'data').write_text('whole'))"
    )
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [each.wait() for each in running] == [0, 0, 0]
    found = list(disk_cache.entries())
    assert len(found) == 40 and {(each.path / "data").read_text() for each in found} == {"whole"}
