"""Child processes end: by processor time where the machine may be busy, by the clock otherwise."""

import pytest

from attndsl.emulator.process import run_process

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
