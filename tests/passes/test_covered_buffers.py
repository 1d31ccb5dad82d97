"""What an event says of the buffers that it orders besides its own."""

from __future__ import annotations

from attndsl.passes.events.covered_buffers import covered_buffers
from attndsl.passes.events.synchronize import synchronize
from attndsl.target import Core
from attndsl.tile.buffers import Buffer
from attndsl.tile.statements import SetEvent, Statement, WaitEvent, seq

from .trees import MTE2, V, awaited, compute, fill, lifetime, load, loop, program, raised, ub

X, Y, Z = ub("x"), ub("y"), ub("z")
PAIR = ub("pair", slots=2)


def events(*statements: Statement) -> dict[str, tuple[tuple[Buffer, ...], tuple[Buffer, ...]]]:
    """By event the buffers that it is for, and those that it orders besides, after the pass."""
    tree = synchronize(program(cores={Core.AIV: seq(*statements)})).cores[Core.AIV]
    found = [item for item in tree.walk() if isinstance(item, SetEvent)]
    assert all(item.also == other.also for item in found for other in found if item.name == other.name)
    return {item.name: (item.buffers, item.also) for item in found if not isinstance(item, WaitEvent)}


def test_an_event_says_which_earlier_load_it_stands_in_for() -> None:
    """x is loaded before the loop, used in it after the wait for the pair."""
    found = events(load(X), loop(lifetime(PAIR, load(PAIR), compute(Z, PAIR), compute(Z, X))))
    assert found["pairReadyMTE2V"] == ((PAIR,), (X,))
    assert "xReadyMTE2V" not in found


def test_a_buffer_that_is_used_before_that_wait_keeps_its_event() -> None:
    found = events(load(X), loop(lifetime(PAIR, compute(Z, X), load(PAIR), compute(Z, PAIR))))
    assert found["xReadyMTE2V"] == ((X,), ())
    assert found["pairReadyMTE2V"] == ((PAIR,), ())


def chain(*between: Statement) -> dict[str, tuple[Buffer, ...]]:
    dropped = raised("xReady", MTE2, V, buffers=(X,))
    tree = seq(load(X), dropped, *between, awaited("xReady", MTE2, V, buffers=(X,)), compute(Z, X))
    return dict(covered_buffers(tree, frozenset({"xReady"})))


SET, WAIT = (make("yReady", MTE2, V, buffers=(Y,)) for make in (raised, awaited))


def test_an_event_of_the_same_pipes_stands_in_if_set_after_the_load_and_awaited_before_the_use() -> None:
    assert chain(load(Y), SET, WAIT) == {"yReady": (X,)}


def test_an_event_that_the_load_comes_after_or_that_other_pipes_have_does_not() -> None:
    assert chain(load(Y), WAIT) == {}, "set before the load"
    other, its_wait = (make("other", V, MTE2, buffers=(Y,)) for make in (raised, awaited))
    assert chain(fill(Y), other, its_wait) == {}


def test_what_the_pipe_only_read_is_not_told_as_written() -> None:
    read = raised("xFree", V, MTE2, buffers=(X,))
    covers, its_wait = (make("yDone", V, MTE2, buffers=(Y,)) for make in (raised, awaited))
    gone = frozenset({"xFree"})
    after = (covers, its_wait, awaited("xFree", V, MTE2), load(X))
    assert covered_buffers(seq(compute(Y, X), read, *after), gone) == {}
    assert covered_buffers(seq(fill(X), read, *after), gone) == {"yDone": (X,)}
