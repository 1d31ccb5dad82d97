"""A tree as transfer functions: what each pipe does not know to be complete after a few statements."""

from __future__ import annotations

from attndsl.expr import Const, Symbol
from attndsl.passes.events.access_sets import AccessIndex
from attndsl.passes.events.analysis_state import State
from attndsl.passes.events.flow import Flow
from attndsl.passes.events.transfer_functions import Start, Walk
from attndsl.passes.events.trip_counts import surely_run
from attndsl.tile.statements import Barrier, For, If, SetEvent, Statement, seq

from .trees import MTE2, MTE3, V, awaited, compute, fill, lifetime, load, loop, order, raised, store, ub

X, Y = ub("x"), ub("y")
PAIR, TRIPLE = ub("pair", slots=2), ub("triple", slots=3)


class Noting(Walk):
    """Notes what clashes and what overruns, as text."""

    def __init__(self, index: AccessIndex, flow: Flow, without: str = "") -> None:
        super().__init__(flow.marks[without] if without else 0)
        self.index, self.rows = index, flow.rows
        self.clashes: list[str] = []
        self.overruns: list[str] = []

    def clash(self, start: Start, clashes: int, state: State) -> None:
        first = self.rows.pipe(start.item.pipe)
        for earlier, memory in self.index.members(clashes >> first & self.rows.row):
            self.clashes.append(f"{earlier.pipe.value}>{start.item.pipe.value} {memory.name}")

    def overrun(self, event: SetEvent) -> None:
        self.overruns.append(event.name)


def walked(*statements: Statement, without: str = "") -> tuple[Noting, dict[str, set[str]]]:
    """The walk, and what each pipe does not know to be complete behind it."""
    tree = seq(*statements)
    index = AccessIndex(tree)
    flow = Flow(tree, index, surely_run(tree))
    walk, state = Noting(index, flow, without), flow.start()
    walk.run(flow.functions, state)
    rows = {pipe.value: state.bits >> flow.rows.pipe(pipe) & flow.rows.row for pipe in index.pipes}
    return walk, {
        pipe: {f"{item.pipe.value} {memory.name}" for item, memory in index.members(bits)}
        for pipe, bits in rows.items()
    }


def unfinished(*statements: Statement, without: str = "") -> dict[str, set[str]]:
    return walked(*statements, without=without)[1]


def clashes(*statements: Statement) -> list[str]:
    return walked(*statements)[0].clashes


def test_what_starts_is_unfinished_for_every_pipe():
    assert unfinished(load(X), fill(Y)) == {"MTE2": {"MTE2 x", "V y"}, "V": {"MTE2 x", "V y"}}


def test_an_event_tells_its_target_what_the_source_did():
    assert unfinished(load(X), order("e", MTE2, V)) == {"MTE2": {"MTE2 x"}, "V": set()}


def test_an_event_tells_nothing_of_what_came_after_it():
    after = unfinished(raised("e", MTE2, V), load(X), awaited("e", MTE2, V))
    assert after["V"] == {"MTE2 x"}


def test_an_event_hands_on_what_its_source_was_told():
    assert unfinished(load(X), order("a", MTE2, V), order("b", V, MTE3))["MTE3"] == set()


def test_an_event_that_is_taken_for_absent_tells_nothing():
    assert unfinished(load(X), order("e", MTE2, V), without="e")["V"] == {"MTE2 x"}


def test_a_barrier_is_for_its_pipe_alone():
    after = unfinished(fill(X), load(Y), Barrier(pipe=V))
    assert after == {"MTE2": {"V x", "MTE2 y"}, "V": {"MTE2 y"}}
    assert unfinished(fill(X), fill(Y), Barrier(pipe=V, buffer=X)) == {"V": {"V y"}}


def test_either_side_of_a_branch_may_have_been_taken():
    test = Symbol("n") > 0
    assert unfinished(If(condition=test, then=seq(load(X)), otherwise=seq(fill(Y)))) == {
        "MTE2": {"MTE2 x", "V y"},
        "V": {"MTE2 x", "V y"},
    }
    once = If(condition=test, then=seq(Barrier(pipe=V)))
    assert unfinished(fill(X), once)["V"] == {"V x"}


def test_a_loop_may_not_have_run_unless_it_surely_did():
    assert unfinished(fill(X), loop(Barrier(pipe=V)))["V"] == {"V x"}
    sure = For(var=Symbol("i"), end=Const(2), body=seq(Barrier(pipe=V)))
    assert unfinished(fill(X), sure)["V"] == set()


def test_an_iteration_meets_what_the_one_before_it_left():
    found = clashes(loop(compute(Y, X), store(Y)))
    assert sorted(set(found)) == ["MTE3>V y", "V>MTE3 y", "V>V y"]


def test_iterations_of_a_disjoint_loop_do_not_meet():
    assert clashes(loop(fill(X), disjoint=(X,))) == []
    assert clashes(loop(fill(X), disjoint=(X,)), fill(X)) == ["V>V x"]


def test_a_slot_comes_round_after_as_many_lifetimes_as_there_are():
    def turns(count: int) -> list[str]:
        return clashes(*(lifetime(TRIPLE, fill(TRIPLE)) for _ in range(count)))

    assert [len(turns(count)) for count in (1, 2, 3, 4)] == [0, 0, 0, 1]


def test_an_event_with_an_id_for_each_slot_speaks_of_its_slot():
    """Two slots: the third lifetime has the slot of the first, whose event only it may await."""
    each = {"ids": 2, "slot_of": PAIR}
    told = lifetime(PAIR, load(PAIR), raised("e", MTE2, V, **each))
    wait, use = awaited("e", MTE2, V, **each), compute(Y, PAIR)
    assert clashes(told, lifetime(PAIR, load(X)), lifetime(PAIR, wait, use)) == []
    assert clashes(told, lifetime(PAIR, wait), lifetime(PAIR, use)) == ["MTE2>V pair"]


def test_an_event_that_is_up_is_not_raised_again():
    once = raised("e", MTE2, V), awaited("e", MTE2, V)
    assert walked(load(X), *once)[0].overruns == []
    assert walked(load(X), once[0], raised("e", MTE2, V), awaited("e", MTE2, V))[0].overruns == ["e"]
