"""When Python searches for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from attndsl.base.garbage import seldom_collected


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """The tests run among objects that are frozen once for all."""
    before = gc.get_threshold()
    gc.unfreeze()
    yield
    gc.set_threshold(*before)
    gc.enable()
    gc.freeze()


def test_it_is_as_before_behind_it() -> None:
    before = gc.get_threshold()
    with seldom_collected():
        seldom = gc.get_threshold()
        assert seldom > before and gc.get_freeze_count()
        with seldom_collected():
            pass
        assert gc.get_threshold() == seldom and gc.get_freeze_count()
    assert gc.get_threshold() == before and not gc.get_freeze_count() and gc.isenabled()


def test_a_process_that_ends_looks_at_nothing_any_more() -> None:
    with seldom_collected(for_good=True):
        made = [[] for _ in range(1000)]
    assert not gc.isenabled() and not any(each is made for each in gc.get_objects())
