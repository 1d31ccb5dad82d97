"""Accesses as bits: what an instruction clashes with, and what ages with the slots of a buffer."""

from __future__ import annotations

from attndsl.expr import Const
from attndsl.passes.events.access_sets import AccessIndex
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import LoadRows, StoreRows
from attndsl.tile.statements import Barrier, Seq, Statement, seq

from .trees import MTE2, MTE3, V, awaited, compute, fill, lifetime, load, loop, raised, store, ub

X, Y = ub("x"), ub("y")
PAIR, TRIPLE = ub("pair", slots=2), ub("triple", slots=3)
RING = GlobalTensor(name="ring", dtype="float32", role="workspace", shared="block")


def told(index: AccessIndex, accesses: int) -> set[str]:
    """A set of accesses in words: the pipe of the instruction, and what it accesses."""
    return {f"{item.pipe.value} {memory.name}" for item, memory in index.members(accesses)}


def clashes(tree: Seq, item: Statement) -> set[str]:
    index = AccessIndex(tree)
    return told(index, index.clashing[item])  # type: ignore[index]


def test_an_instruction_accesses_each_of_its_buffers_once():
    both = compute(X, X)
    index = AccessIndex(seq(both, store(Y)))
    assert told(index, index.of[both]) == {"V x"} and index.of[both].bit_count() == 1


def test_accesses_clash_where_one_of_the_two_writes():
    write, read, unlike = load(X), store(X), fill(Y)
    tree = seq(write, read, unlike)
    assert clashes(tree, write) == {"MTE2 x", "MTE3 x"}
    assert clashes(tree, read) == {"MTE2 x"}
    assert clashes(tree, unlike) == {"V y"}


def test_rings_are_accessed_and_clash_with_nothing():
    """Who may overwrite a slot of a ring is a matter of flags between cores."""
    read = LoadRows(dst=X.region(0, 1, 64), src=RING.region(0, 1, 64))
    write = StoreRows(dst=RING.region(0, 1, 64), src=Y.region(0, 1, 64))
    index = AccessIndex(seq(read, write))
    assert told(index, index.rings) == {"MTE2 ring", "MTE3 ring"}
    assert told(index, index.of[read]) == {"MTE2 x", "MTE2 ring"}
    assert not index.clashing[write] & index.rings
    assert RING.is_ring and not GlobalTensor(name="in", dtype="float32", role="input").is_ring


def test_pipes_are_those_that_the_tree_uses():
    tree = seq(load(X), raised("e", MTE2, V), awaited("e", MTE2, V), Barrier(pipe=MTE3))
    assert set(AccessIndex(tree).pipes) == {MTE2, MTE3, V}
    assert AccessIndex(seq(load(X))).pipes == (MTE2,)


def test_accesses_of_several_ages_lie_apart():
    """As many copies as the deepest lifetime has slots, and one for each disjoint loop of a nest."""
    written, other = fill(TRIPLE), fill(X)
    nest = loop(loop(fill(X), disjoint=(X,)), disjoint=(X,))
    assert AccessIndex(seq(lifetime(TRIPLE, written), nest)).blocks == 5
    index = AccessIndex(seq(lifetime(TRIPLE, written), loop(other, disjoint=(X,))))
    assert index.ages == 3 and index.blocks == 4
    every = index.at_any_age(index.of[written])
    assert every.bit_count() == 4 and every & index.of[written]
    assert told(index, every) == {"V triple"}
    assert index.of_pipe[V] == every | index.at_any_age(index.of[other])


def test_what_ages_with_a_lifetime_is_its_buffers_and_their_events():
    events = {"ids": 2, "slot_of": PAIR}
    up, down = raised("free", V, MTE2, **events), awaited("free", V, MTE2, **events)
    loaded, other = load(PAIR), fill(X)
    index = AccessIndex(seq(lifetime(PAIR, loaded, up, down), other))
    assert index.ages_with_slots(up) and index.slot_events == {(PAIR,): ("free",)} and index.ids(up) == 2
    every, oldest = index.rotation((PAIR,))
    assert every & index.of[loaded] and every & index.waits["free"] and not every & index.of[other]
    assert oldest & every == oldest and not oldest & index.of[loaded]
    assert oldest == (index.of[loaded] | index.waits["free"]) << index.width
    plain = raised("plain", V, MTE2)
    assert not index.ages_with_slots(plain) and index.ids(plain) == 1


def test_only_what_is_wanted_is_numbered():
    written, read = load(X), store(X)
    index = AccessIndex(seq(written, read, fill(Y)), wanted=lambda access: access[1] is X)
    assert index.width == 2 and index.clashing[read] == index.of[written]
    assert set(index.bit_of) == {(written, X), (read, X)}


def test_an_event_is_numbered_once_and_is_no_member():
    index = AccessIndex(seq(load(X), raised("e", MTE2, V), awaited("e", MTE2, V)))
    assert set(index.waits) == {"e"} and told(index, index.waits["e"]) == set()


def test_buffers_of_one_name_are_different_memories():
    twin = Buffer(name="x", space=MemorySpace.UB, dtype="float32", size=Const(64))
    first, second = fill(X), fill(twin)
    index = AccessIndex(seq(first, second))
    assert not index.clashing[first] & index.of[second]
    assert index.of_buffers((X, twin)) == index.of[first] | index.of[second]
    assert index.of_buffers((Y,)) == 0
