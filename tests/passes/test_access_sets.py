"""Touches as bits: what an instruction clashes with, how sets age with slots, what iterations set apart."""

from __future__ import annotations

from attndsl.passes.events.access_sets import TouchIndex, is_ring
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import LoadRows, StoreRows
from attndsl.tile.statements import Barrier, Seq, Statement, seq

from .trees import MTE2, MTE3, V, awaited, compute, fill, lifetime, load, raised, store, ub

X, Y = ub("x"), ub("y")
PAIR, TRIPLE = ub("pair", slots=2), ub("triple", slots=3)
RING = GlobalTensor(name="ring", dtype="float32", role="workspace", shared="block")


def told(index: TouchIndex, touches: int) -> set[str]:
    """A set of touches in words: the pipe of the instruction, and what it touches."""
    return {f"{item.pipe.value} {memory.name}" for item, memory in index.members(touches)}


def clashes(tree: Seq, item: Statement) -> set[str]:
    index = TouchIndex(tree)
    return told(index, index.clashing[item])  # type: ignore[index]


def test_an_instruction_touches_each_of_its_buffers_once():
    both = compute(X, X)
    index = TouchIndex(seq(both, store(Y)))
    assert told(index, index.of[both]) == {"V x"} and index.of[both].bit_count() == 1


def test_touches_clash_where_one_of_the_two_writes():
    write, read, unlike = load(X), store(X), fill(Y)
    tree = seq(write, read, unlike)
    assert clashes(tree, write) == {"MTE2 x", "MTE3 x"}
    assert clashes(tree, read) == {"MTE2 x"}
    assert clashes(tree, unlike) == {"V y"}


def test_rings_are_touched_and_clash_with_nothing():
    """Who may overwrite a slot of a ring is a matter of flags between cores."""
    read = LoadRows(dst=X.region(0, 1, 64), src=RING.region(0, 1, 64))
    write = StoreRows(dst=RING.region(0, 1, 64), src=Y.region(0, 1, 64))
    index = TouchIndex(seq(read, write))
    assert told(index, index.rings) == {"MTE2 ring", "MTE3 ring"}
    assert told(index, index.of[read]) == {"MTE2 x", "MTE2 ring"}
    assert not index.clashing[write] & index.rings
    assert is_ring(RING) and not is_ring(GlobalTensor(name="in", dtype="float32", role="input"))


def test_pipes_are_those_that_the_tree_uses():
    tree = seq(load(X), raised("e", MTE2, V), awaited("e", MTE2, V), Barrier(pipe=MTE3))
    assert set(TouchIndex(tree).pipes) == {MTE2, MTE3, V}
    assert TouchIndex(seq(load(X))).pipes == (MTE2,)


def test_touches_age_with_the_lifetimes_of_their_buffer_and_come_round():
    """Of a buffer of three slots the touch is of another slot twice, then of this one again."""
    written = fill(TRIPLE)
    index = TouchIndex(seq(lifetime(TRIPLE, written), fill(X)))
    fresh = index.of[written]
    ages = [fresh]
    for _ in range(3):
        ages.append(index.turned((TRIPLE,), ages[-1]))
    assert ages[3] == fresh and len(set(ages[:3])) == 3
    assert [bool(age & index.clashing[written]) for age in ages] == [True, False, False, True]
    assert all(age & index.of_pipe[V] for age in ages)


def test_touches_of_other_buffers_do_not_age():
    written, other = fill(PAIR), fill(X)
    index = TouchIndex(seq(lifetime(PAIR, written), other))
    both = index.of[written] | index.of[other]
    turned = index.turned((PAIR,), both)
    assert turned & index.of[other] and not turned & index.of[written]
    assert index.turned((PAIR,), turned) == both


def test_an_event_with_an_id_for_each_slot_ages_with_its_buffer():
    events = {"ids": 2, "slot_of": PAIR}
    up, down = raised("free", V, MTE2, **events), awaited("free", V, MTE2, **events)
    index = TouchIndex(seq(lifetime(PAIR, load(PAIR), up, down)))
    assert index.ages_with_slots(up) and index.slot_events == {(PAIR,): ("free",)}
    wait = index.waits["free"]
    assert index.turned((PAIR,), wait) != wait
    assert index.turned((PAIR,), index.turned((PAIR,), wait)) == wait
    plain = raised("plain", V, MTE2)
    assert not index.ages_with_slots(plain)


def test_what_other_iterations_touch_is_set_apart_and_taken_back():
    one, other = fill(X), fill(Y)
    index = TouchIndex(seq(one, other, lifetime(PAIR, fill(PAIR))))
    both = index.of[one] | index.of[other]
    apart = index.set_apart(index.of[one], both)
    assert not apart & index.clashing[one] and apart & index.clashing[other]
    assert apart & ~index.of[other] & index.of_pipe[V]
    assert index.taken_back(index.of[one], apart) == both


def test_an_event_is_numbered_once_and_is_no_member():
    index = TouchIndex(seq(load(X), raised("e", MTE2, V), awaited("e", MTE2, V)))
    assert set(index.waits) == {"e"} and told(index, index.waits["e"]) == set()


def test_buffers_of_one_name_are_different_memories():
    twin = Buffer(name="x", space=MemorySpace.UB, dtype="float32", elements=64)
    first, second = fill(X), fill(twin)
    index = TouchIndex(seq(first, second))
    assert not index.clashing[first] & index.of[second]
    assert index.of_buffers((X, twin)) == index.of[first] | index.of[second]
    assert index.of_buffers((Y,)) == 0
