"""The race analysis against the same analysis written down with sets, on random trees.

Transfer functions on one integer, fixpoints that go on where they stopped and loops that are not run again
must not change what is found.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.expr import Const, Symbol
from attndsl.passes.events.access_sets import AccessIndex
from attndsl.passes.events.analysis_state import State
from attndsl.passes.events.flow import Flow
from attndsl.passes.events.hazards import Conflict, find_problems, insert_barriers, superfluous_events
from attndsl.passes.events.transfer_functions import Walk
from attndsl.passes.events.trip_counts import surely_run, surely_run_too
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import (
    Alloc,
    Barrier,
    For,
    If,
    Seq,
    SetEvent,
    Statement,
    WaitEvent,
    as_seq,
    rewrite,
    seq,
)

from .trees import MTE2, MTE3, V, awaited, compute, fill, load, loop, order, raised, store, ub

PIPES = (V, MTE2, MTE3)
PAIRS = tuple((a, b) for a in PIPES for b in PIPES if a is not b)
PLAIN, SLOTTED, PARTNER = ub("plain"), ub("slotted", 2), ub("partner", 2)
GROUP = (SLOTTED, PARTNER)
TEST = Symbol("n") > 0


def events_of(name: str, source, target, slots: bool):
    """A raise and a wait, with an id for each slot or with one."""
    more = {"ids": 2, "slot_of": SLOTTED} if slots else {}
    return raised(name, source, target, **more), awaited(name, source, target, **more)


def leaves():
    buffers = st.sampled_from([PLAIN, SLOTTED, PARTNER])
    made = [st.builds(kind, buffers) for kind in (load, store, fill)]
    made.append(st.builds(compute, buffers, buffers))
    made.append(st.builds(lambda pipe: Barrier(pipe=pipe), st.sampled_from(PIPES)))
    for number, (source, target) in enumerate(PAIRS):
        made.append(st.builds(lambda n=number, s=source, t=target: order(f"e{n}", s, t)))
        for slots in (False, True):
            pair = events_of(f"{'s' if slots else 'p'}{number}", source, target, slots)
            made += [st.builds(lambda event=event: replace(event)) for event in pair]
    return st.one_of(made)


def blocks(children):
    some = st.lists(children, min_size=1, max_size=5)
    return st.one_of(
        some.map(lambda body: loop(*body)),
        some.map(lambda body: loop(*body, disjoint=(PLAIN,))),
        some.map(lambda body: replace(loop(*body), end=Const(3))),
        some.map(lambda body: If(condition=TEST, then=seq(*body))),
        st.tuples(some, some).map(lambda two: If(condition=TEST, then=seq(*two[0]), otherwise=seq(*two[1]))),
        some.map(lambda body: Alloc(buffers=GROUP, body=seq(*body))),
    )


TREES = st.lists(st.recursive(leaves(), blocks, max_leaves=15), min_size=1, max_size=6).map(
    lambda body: seq(*body)
)


# ------------------------------------------------------------------------------------------------
# The analysis with sets


@dataclass
class Sets:
    """What may be unfinished for each pipe, what each event does not know, what may be up: (what, age)."""

    unfinished: dict
    events: dict = field(default_factory=dict)
    up: frozenset = frozenset()

    def join(self, other):
        return Sets(
            {pipe: self.unfinished[pipe] | other.unfinished[pipe] for pipe in PIPES},
            {
                key: self.events.get(key, frozenset()) | other.events.get(key, frozenset())
                for key in self.events.keys() | other.events.keys()
            },
            self.up | other.up,
        )

    def changed(self, change):
        return Sets(
            {pipe: change(known) for pipe, known in self.unfinished.items()},
            {key: change(known) for key, known in self.events.items()},
            self.up,
        )


class Plain:
    """The rules of hazards.py, one statement at a time; every loop from the start."""

    def __init__(self, tree: Seq) -> None:
        self.found: set = set()
        self.sure = surely_run(tree)
        self.aging = any(isinstance(item, Alloc) for item in tree.walk())
        self.slotted = {
            item.name for item in tree.walk() if isinstance(item, SetEvent) and item.ids > 1 and self.aging
        }
        self.walk(tree, Sets(dict.fromkeys(PIPES, frozenset())))

    def walk(self, item: Statement, state: Sets) -> Sets:
        if isinstance(item, Instruction):
            return self.instruction(item, state)
        if isinstance(item, WaitEvent):
            return self.wait(item, state)
        if isinstance(item, SetEvent):
            return self.set(item, state)
        if isinstance(item, Barrier):
            return self.complete(item.pipe, state)
        if isinstance(item, For):
            return self.loop(item, state)
        if isinstance(item, If):
            then = self.walk(item.then, state)
            return then.join(self.walk(item.otherwise, state) if item.otherwise is not None else state)
        for child in item.children():
            state = self.walk(child, state)
        return self.turned(state) if isinstance(item, Alloc) else state

    def instruction(self, item, state):
        accesses = {(item, buffer) for buffer in (*item.reads(), *item.writes())}
        for (earlier, buffer), age in (each for each in state.unfinished[item.pipe] if each[0][0] != "wait"):
            writes = buffer in earlier.writes() or buffer in item.writes()
            if age == 0 and writes and buffer in (*item.reads(), *item.writes()):
                self.found.add((earlier, item, buffer))
        return state.changed(lambda known: known | {(access, 0) for access in accesses})

    def set(self, event, state):
        wait = (("wait", event.name), 0)
        if wait in state.up or wait in state.unfinished[event.source]:
            self.found.add(event.name)
        own = {
            each
            for each in state.unfinished[event.source]
            if each[0][0] != "wait" and each[0][0].pipe is event.source
        }
        events = {**state.events, (event.name, 0): state.unfinished[event.source] - own}
        return Sets(state.unfinished, events, state.up | {wait})

    def wait(self, event, state):
        wait, known = (("wait", event.name), 0), state.unfinished[event.target]
        known = known & state.events.get((event.name, 0), known)
        after = Sets({**state.unfinished, event.target: known}, state.events, state.up - {wait})
        after = after.changed(lambda known: known | {wait})
        after.unfinished[event.target] -= {wait}
        return after

    def complete(self, pipe, state):
        left = {
            each for each in state.unfinished[pipe] if each[0][0] == "wait" or each[0][0].pipe is not pipe
        }
        return Sets({**state.unfinished, pipe: frozenset(left)}, state.events, state.up)

    def turned(self, state):
        def older(known):
            return frozenset((what, self.aged(what, age)) for what, age in known)

        after = state.changed(older)
        events = {
            (name, 1 - age if name in self.slotted else age): known
            for (name, age), known in after.events.items()
        }
        return Sets(after.unfinished, events, older(state.up))

    def aged(self, what, age):
        turns = what[1] in (self.slotted if what[0] == "wait" else GROUP)
        return 1 - age if turns and age in (0, 1) else age

    def loop(self, item, state):
        inside = [each for each in item.body.walk() if isinstance(each, Instruction)]
        taken = any(isinstance(each, Alloc) for each in item.body.walk())
        apart = {
            (each, buffer)
            for each in inside
            for buffer in item.disjoint
            if buffer in (*each.reads(), *each.writes()) and not (taken and buffer in GROUP)
        }

        def other(known):
            return frozenset((w, ("apart", item, a) if w in apart and a == 0 else a) for w, a in known)

        def back(known):
            return frozenset((w, a[2] if w in apart and isinstance(a, tuple) else a) for w, a in known)

        entry = state
        while True:
            after = self.walk(item.body, entry)
            grown = entry.join(after.changed(other))
            if grown == entry:
                break
            entry = grown
        return (after if item in self.sure else state.join(after)).changed(back)


def found_in(tree: Seq) -> set:
    return {
        (item.earlier, item.later, item.buffer) if isinstance(item, Conflict) else item.event.name
        for item in find_problems(tree)
    }


@settings(max_examples=100, deadline=None)
@given(TREES)
def test_the_steps_find_what_sets_find(tree):
    assert found_in(tree) == Plain(tree).found


def without(tree: Seq, names: set[str]) -> Seq:
    def change(statement):
        return None if isinstance(statement, SetEvent) and statement.name in names else statement

    return as_seq(rewrite(tree, change) or Seq(body=()))


@settings(max_examples=50, deadline=None)
@given(TREES)
def test_an_event_is_superfluous_if_its_absence_shows_nowhere(tree):
    names = tuple(dict.fromkeys(item.name for item in tree.walk() if isinstance(item, SetEvent)))
    expected, gone = found_in(tree), set()
    for name in names:
        if found_in(without(tree, gone | {name})) <= expected:
            gone.add(name)
    assert superfluous_events(tree, names) == gone


@settings(max_examples=50, deadline=None)
@given(TREES)
def test_barriers_leave_no_clash_inside_a_pipe(tree):
    done = insert_barriers(tree)
    left = [item for item in find_problems(done) if isinstance(item, Conflict)]
    assert not [item for item in left if item.earlier.pipe is item.later.pipe]
    before = [item for item in tree.walk() if not isinstance(item, Barrier | Seq)]
    after = [item for item in done.walk() if not isinstance(item, Barrier | Seq)]
    assert [type(item) for item in before] == [type(item) for item in after]


@settings(max_examples=50, deadline=None)
@given(TREES)
def test_a_walk_may_start_from_what_one_with_more_events_found(tree):
    """The states of loops are the same as from the start."""
    names = sorted({item.name for item in tree.walk() if isinstance(item, SetEvent)})
    flow = Flow(tree, AccessIndex(tree), surely_run(tree))
    whole = Walk()
    whole.run(flow.functions, flow.start())
    for name in names if not whole.unraised else ():
        fresh = Walk(flow.marks[name])
        warm = Walk(
            flow.marks[name],
            {key: entry.without(flow.traces(name)) for key, entry in whole.entries.items()},
        )
        ends = []
        for walk in (fresh, warm):
            ends.append(flow.start())
            walk.run(flow.functions, ends[-1])
        assert ends[0].same(ends[1])
        assert fresh.entries.keys() == warm.entries.keys()
        assert all(fresh.entries[key].same(warm.entries[key]) for key in fresh.entries)


def test_an_event_that_was_never_raised_tells_nothing():
    """Its row stays empty, and joins as nothing, whatever is issued."""
    flow_of = seq(load(PLAIN), If(condition=TEST, then=seq(raised("e", MTE2, V))), store(PLAIN))
    flow = Flow(flow_of, AccessIndex(flow_of), frozenset())
    state = flow.start()
    Walk().run(flow.functions[:1], state)
    assert not state.bits & flow.rows.ids("e", 1) and not state.present & flow.rows.ids("e", 1)
    Walk().run(flow.functions[1:], state)
    assert state.present & flow.rows.ids("e", 1)


def test_states_join_bit_by_bit():
    assert State(0b01, 0b11).join(State(0b10, 0b01)).same(State(0b11, 0b11))
    assert not State(0b01, 0b11).same(State(0b01, 0b01))


def test_loops_that_surely_run_are_known_in_a_tree_with_other_events():
    surely, perhaps = replace(loop(fill(PLAIN)), end=Const(2)), loop(fill(PLAIN))
    tree = seq(order("e", V, MTE2), surely, perhaps)
    other = without(tree, {"e"})
    assert surely_run_too(other, tree, surely_run(tree)) == surely_run(other) == {surely}
    with pytest.raises(ValueError):
        surely_run_too(seq(surely), tree, surely_run(tree))
