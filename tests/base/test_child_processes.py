"""Guarded commands: their answer, their bounds, and no process that is left."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from attndsl.base.child_processes import end_children, run_guarded, start_again

ROOM = 1 << 30


def test_a_command_answers_as_without_a_guard(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd(), *sys.argv[1:]); print('wrong', file=sys.stderr); sys.exit(7)"
    done = run_guarded([sys.executable, "-c", code, "a b", "$x", "'"], seconds=60, memory=ROOM, cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == (f"{tmp_path} a b $x '\n", "wrong\n", 7)


def test_nothing_is_said_of_a_guard_that_ends() -> None:
    done = run_guarded(["true"], seconds=60, memory=ROOM)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_a_command_reads_no_input() -> None:
    assert run_guarded(["cat"], seconds=60, memory=ROOM).stdout == ""


def test_messages_of_any_encoding_are_read() -> None:
    assert run_guarded(["printf", "a\\377b"], seconds=60, memory=ROOM).stdout == "a\ufffdb"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no bound on address space")
def test_memory_is_bounded() -> None:
    code = "x = bytearray(1 << 30); print('had it')"
    assert run_guarded([sys.executable, "-c", code], seconds=60, memory=4 * ROOM).stdout == "had it\n"
    done = run_guarded([sys.executable, "-c", code], seconds=60, memory=ROOM)
    assert done.returncode == 1 and "MemoryError" in done.stderr


def test_time_is_bounded_for_all_that_a_command_starts() -> None:
    started = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        run_guarded(["sh", "-c", "sleep 600 & sleep 600"], seconds=0.3, memory=ROOM)
    assert time.monotonic() - started < 30


def test_commands_of_other_threads_are_ended(tmp_path: Path) -> None:
    ended: list[BaseException] = []

    def work() -> None:
        try:
            run_guarded(["sh", "-c", "touch started; sleep 600"], seconds=600, memory=ROOM, cwd=tmp_path)
        except KeyboardInterrupt as interrupt:
            ended.append(interrupt)

    thread = threading.Thread(target=work)
    thread.start()
    while not (tmp_path / "started").exists() and thread.is_alive():
        time.sleep(0.01)
    end_children()
    thread.join(60)
    assert len(ended) == 1
    with pytest.raises(KeyboardInterrupt):
        run_guarded(["true"], seconds=60, memory=ROOM)
    start_again()
    assert run_guarded(["true"], seconds=60, memory=ROOM).returncode == 0


def test_no_process_is_left(tmp_path: Path) -> None:
    if not Path("/proc/self/task").is_dir():
        pytest.skip("reads /proc")
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    before = children.read_text()
    for _ in range(3):
        run_guarded(["true"], seconds=60, memory=ROOM)
    assert children.read_text() == before
