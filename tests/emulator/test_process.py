"""Child processes end: by processor time where the machine may be busy, by the clock otherwise."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attndsl.emulator.process import TETHER, run_process
from attndsl.emulator.program import build_program

SPIN = ("sh", "-c", "while :; do :; done")


def test_waiting_counts_for_the_clock():
    assert run_process(("sleep", "30"), timeout=0.2).stopped == (
        "did not end within 0.2 s: an endless loop, or raise the timeout"
    )


def test_waiting_does_not_count_where_there_is_patience():
    ended = run_process(("sleep", "0.6"), timeout=0.1, patience=1000)
    assert (ended.stopped, ended.exit_code) == (None, 0)


@pytest.mark.parametrize(("command", "patience"), [(SPIN, 1e6), (("sleep", "30"), 3)], ids=["spins", "waits"])
def test_patience_ends(command, patience):
    ended = run_process(command, timeout=0.2, patience=patience)
    assert ended.stopped is not None and "within 0.2 s" in ended.stopped


def test_an_end_is_seen_with_descriptors_of_processes_and_without(monkeypatch):
    """The same is told either way, and the descriptor is closed."""
    held = Path("/proc/self/fd")
    descriptors = len(list(held.iterdir())) if held.is_dir() else 0
    found = [run_process(("sh", "-c", "echo made; exit 3"), timeout=60) for _ in range(3)]
    assert not held.is_dir() or len(list(held.iterdir())) == descriptors
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    monkeypatch.setattr(sys, "platform", "elsewhere")
    found.append(run_process(("sh", "-c", "echo made; exit 3"), timeout=60))
    assert {(each.exit_code, each.stdout, each.stopped) for each in found} == {(3, "made\n", None)}


ENDLESS = """
#include <cstdio>
#include <unistd.h>
int main() {
  std::printf("%d\\n", getpid());
  std::fflush(stdout);
  for (volatile int i = 0;;) i = 0;
}
"""


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    source = tmp_path_factory.mktemp("endless") / "endless.cpp"
    source.write_text(ENDLESS)
    return build_program(source)


def runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return False


def test_a_run_ends_with_the_process_that_started_it(endless):
    code = (
        "from attndsl.emulator.process import run_process\n"
        f"run_process(['{endless.executable}'], timeout=100, capture=False)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            assert runs(child)
            parent.kill()
            parent.wait()
            end = time.monotonic() + 5
            while runs(child) and time.monotonic() < end:
                time.sleep(0.01)
            assert not runs(child)
        finally:
            if runs(child):
                os.kill(child, signal.SIGKILL)


def test_a_run_of_a_process_that_is_gone_does_not_start(endless):
    gone = subprocess.Popen(["true"])
    gone.wait()
    ended = subprocess.run([endless.executable], env={**os.environ, TETHER: f"{gone.pid} 100"}, timeout=20)
    assert ended.returncode == 125


def test_processor_time_is_bounded_even_if_nobody_watches(endless):
    command, environment = [endless.executable], {**os.environ, TETHER: f"{os.getpid()} 1"}
    ended = subprocess.run(command, env=environment, timeout=60, stdout=subprocess.DEVNULL)
    assert ended.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
