"""The race analysis on trees of a few statements: each hazard is found, and its ordered twin is not."""

from __future__ import annotations

import pytest

from attndsl.expr import Symbol
from attndsl.passes.events.hazards import insert_barriers
from attndsl.target import Core
from attndsl.tile.statements import Alloc, Barrier, If, Stage, seq

from .trees import (
    L0C,
    MTE2,
    MTE3,
    S,
    V,
    accumulate,
    awaited,
    compute,
    fill,
    find_conflicts,
    load,
    loop,
    order,
    raised,
    store,
    ub,
)

X, Y, Z = ub("x"), ub("y"), ub("z")
TEST = Symbol("n") > 0


def pairs(*statements):
    """Conflicts as "earlier pipe > later pipe on buffer"."""
    found = find_conflicts(seq(*statements))
    return sorted(f"{c.earlier.pipe.value}>{c.later.pipe.value} on {c.buffer.name}" for c in found)


ACROSS_PIPES = {
    "read after write": ([load(X)], [compute(Y, X)], MTE2, V, "MTE2>V on x"),
    "write after read": ([compute(Y, X)], [load(X)], V, MTE2, "V>MTE2 on x"),
    "write after write": ([load(X)], [fill(X)], MTE2, V, "MTE2>V on x"),
    "write before a store": ([fill(X)], [store(X)], V, MTE3, "V>MTE3 on x"),
    "a store before a write": ([store(X)], [fill(X)], MTE3, V, "MTE3>V on x"),
}


@pytest.mark.parametrize("name", ACROSS_PIPES)
def test_two_pipes(name):
    first, second, source, target, conflict = ACROSS_PIPES[name]
    assert pairs(*first, *second) == [conflict]
    assert pairs(*first, order("e", source, target), *second) == []


def test_two_reads_need_no_order():
    assert pairs(store(X), compute(Y, X), compute(Z, X)) == []
    assert pairs(store(X), compute(Y, X), compute(X, Z)) == ["MTE3>V on x", "V>V on x"]


def test_different_buffers_need_no_order():
    assert pairs(load(X), fill(Y), store(Z)) == []


@pytest.mark.parametrize(
    "between",
    [
        [order("e", MTE2, MTE3)],  # another pair of pipes
        [order("e", V, MTE2)],  # the other direction
        [awaited("e", MTE2, V), raised("e", MTE2, V)],  # awaited too early
        [raised("e", MTE2, V)],  # never awaited
        [Barrier(pipe=V)],
        [Barrier(pipe=MTE2)],
    ],
    ids=["other pipes", "backwards", "wait first", "no wait", "barrier of V", "barrier of MTE2"],
)  # fmt: skip
def test_what_does_not_order_a_load_and_its_use(between):
    assert pairs(load(X), *between, compute(Y, X)) == ["MTE2>V on x"]


def test_an_event_raised_too_early():
    assert pairs(raised("e", MTE2, V), load(X), awaited("e", MTE2, V), compute(Y, X)) == ["MTE2>V on x"]
    assert pairs(load(X), raised("e", MTE2, V), awaited("e", MTE2, V), compute(Y, X)) == []


def test_order_is_transitive():
    """MTE2 before V before MTE3 orders MTE2 and MTE3, if V had learned of MTE2 when it raised its event."""
    first, second = (raised("a", MTE2, V), awaited("a", MTE2, V)), order("b", V, MTE3)
    assert pairs(load(X), *first, second, store(X)) == []
    assert pairs(load(X), first[0], second, first[1], store(X)) == ["MTE2>MTE3 on x"]


@pytest.mark.parametrize("later", [fill(X), store(X), load(X)], ids=["V", "MTE3", "MTE2"])
def test_what_the_scalar_unit_waits_for_is_complete_for_all_that_it_hands_over_later(later):
    assert pairs(fill(X), order("e", V, S), later) == []
    assert len(pairs(fill(X), raised("e", V, S), later)) == 1  # it does not wait
    assert len(pairs(fill(X), order("e", MTE2, S), later)) == 1  # for another pipe
    assert len(pairs(order("e", V, S), fill(X), later)) == 1  # too early
    between = If(condition=TEST, then=seq(order("e", V, S)))
    assert len(pairs(fill(X), between, later)) == 1  # perhaps not


def test_one_pipe_needs_a_barrier():
    assert pairs(fill(X), compute(Y, X)) == ["V>V on x"]
    assert pairs(fill(X), Barrier(pipe=V), compute(Y, X)) == []
    assert pairs(fill(X), Barrier(pipe=MTE2), compute(Y, X)) == ["V>V on x"]
    assert pairs(compute(Y, X), fill(X)) == ["V>V on x"]
    assert pairs(fill(X), fill(Y)) == []


def test_from_one_iteration_to_the_next():
    """Within an iteration the load is ordered; it overwrites what the previous iteration still reads."""
    body = (load(X), order("ready", MTE2, V), compute(Y, X), Barrier(pipe=V))
    free = {"set": raised("free", V, MTE2), "wait": awaited("free", V, MTE2)}
    assert pairs(*body) == []
    unordered = ["MTE2>MTE2 on x", "V>MTE2 on x"]
    assert pairs(loop(*body)) == unordered
    assert pairs(free["set"], loop(free["wait"], *body, free["set"]), free["wait"]) == []
    assert pairs(free["set"], loop(free["wait"], free["set"], *body), free["wait"]) == unordered


def test_a_loop_may_not_run_at_all():
    """A wait or a barrier inside a loop orders nothing behind it."""
    event = raised("e", MTE2, V), awaited("e", MTE2, V)
    assert pairs(load(X), event[0], loop(event[1]), compute(Y, X)) == ["MTE2>V on x"]
    assert pairs(load(X), event[0], event[1], loop(), compute(Y, X)) == []
    assert pairs(fill(X), loop(Barrier(pipe=V)), compute(Y, X)) == ["V>V on x"]


def test_branches():
    """What only one side orders is unordered behind the branch; what both sides order is not."""
    event = raised("e", MTE2, V), awaited("e", MTE2, V)
    one = If(condition=TEST, then=seq(event[1]))
    both = If(condition=TEST, then=seq(event[1]), otherwise=seq(event[1]))
    assert pairs(load(X), event[0], one, compute(Y, X)) == ["MTE2>V on x"]
    assert pairs(load(X), event[0], both, compute(Y, X)) == []
    writes = If(condition=TEST, then=seq(load(X)), otherwise=seq(fill(Y)))
    assert pairs(writes, store(Y)) == ["V>MTE3 on y"]
    assert pairs(writes, order("o", V, MTE3), store(Y)) == []


def test_iterations_that_touch_different_elements():
    """``disjoint`` silences the loop against itself, and nothing else."""
    assert pairs(loop(fill(X))) == ["V>V on x"]
    assert pairs(loop(fill(X), disjoint=(X,))) == []
    assert pairs(loop(fill(X), disjoint=(Y,))) == ["V>V on x"]
    assert pairs(loop(fill(X), disjoint=(X,)), store(X)) == ["V>MTE3 on x"]
    assert pairs(loop(fill(X), disjoint=(X,)), compute(Y, X)) == ["V>V on x"]
    assert pairs(loop(fill(X), disjoint=(X,)), Barrier(pipe=V), compute(Y, X)) == []
    assert pairs(fill(X), loop(fill(X), disjoint=(X,))) == ["V>V on x"]
    assert pairs(fill(X), Barrier(pipe=V), loop(fill(X), disjoint=(X,))) == []


def test_a_disjoint_loop_around_two_steps():
    """Both steps access the iteration's own elements: ordered inside, they are ordered altogether."""
    steps = fill(X), Barrier(pipe=V), compute(X, X)
    assert pairs(loop(*steps, disjoint=(X,))) == []
    assert pairs(loop(steps[0], steps[2], disjoint=(X,))) == ["V>V on x"]


def slotted(slots, *, inside=(), wait=True, late=False, set_=True, prime=True):
    """A loop over lifetimes of a buffer: loaded by MTE2, read by V, given back by an event.

    ``late``: the event is awaited behind the load instead of in front of it.
    """
    x = ub("slotted", slots)
    more = {"ids": slots, "slot_of": x, "reuse": True}
    waits = [awaited("free", V, MTE2, **more)] if wait else []
    body = [
        *([load(x), *waits] if late else [*waits, load(x)]),
        *inside,
        raised("ready", MTE2, V, ids=slots, slot_of=x),
        awaited("ready", MTE2, V, ids=slots, slot_of=x),
        Barrier(pipe=V),
        compute(Y, x),
        *([raised("free", V, MTE2, **more)] if set_ else []),
    ]
    start = [raised("free", V, MTE2, **more, slot=slot) for slot in range(slots)] if prime else []
    end = [awaited("free", V, MTE2, **more, slot=slot) for slot in range(slots)] if prime else []
    return [*start, loop(Alloc(buffers=(x,), body=seq(*body))), *end]


@pytest.mark.parametrize("slots", [1, 2])
def test_slots_are_given_back(slots):
    assert pairs(*slotted(slots)) == []
    unordered = ["MTE2>MTE2 on slotted", "V>MTE2 on slotted"]
    assert pairs(*slotted(slots, wait=False, set_=False, prime=False)) == unordered
    assert pairs(*slotted(slots, set_=False)) == unordered


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("how", [{"late": True}, {"wait": False}], ids=["late", "never"])
def test_slots_are_taken_before_they_are_given_back(slots, how):
    assert "V>MTE2 on slotted" in pairs(*slotted(slots, **how))


def test_two_slots_do_not_order_neighbouring_iterations():
    """With one slot the lifetime's event also orders a buffer beside it; with two slots it is raised for
    the iteration after the next, and the buffer beside it is unordered."""
    both = [load(Z)]
    use = compute(Y, Z)

    def tree(slots):
        statements = slotted(slots, inside=both)
        loop_index = next(i for i, s in enumerate(statements) if hasattr(s, "var"))
        lifetime = statements[loop_index].body.body[0]
        body = list(lifetime.body.body)
        body[-1:-1] = [Barrier(pipe=V), use]  # V reads the buffer beside it, before it gives the slot back
        statements[loop_index] = loop(Alloc(buffers=lifetime.buffers, body=seq(*body)))
        return statements

    assert pairs(*tree(1)) == []
    assert pairs(*tree(2)) == ["MTE2>MTE2 on z", "V>MTE2 on z"]


def test_barriers_are_inserted_where_needed_and_only_there():
    tree = seq(fill(X), fill(Y), compute(Z, X), compute(X, Y))
    done = insert_barriers(tree)
    kinds = [type(item).__name__ for item in done.body]
    assert kinds == ["Fill", "Fill", "Barrier", "Unary", "Barrier", "Unary"]
    assert find_conflicts(done) == ()
    assert insert_barriers(done) is done


def test_a_stage_in_several_places_has_the_barriers_that_any_of_them_needs():
    """It is one function; another stage between them keeps its own."""

    def stage(name):
        body = seq(compute(Y, X), compute(Z, X))
        return Stage(name=name, core=Core.AIV, doc="", body=body)

    done = insert_barriers(seq(stage("Twice"), fill(X), stage("Twice"), stage("Once")))
    kinds = {
        number: [type(item).__name__ for item in each.body.body]
        for number, each in enumerate(each for each in done.body if isinstance(each, Stage))
    }
    assert kinds[0] == kinds[1] == ["Barrier", "Unary", "Unary"]
    alone = insert_barriers(seq(stage("First"), fill(X), stage("Twice")))
    assert not barriers(alone.body[0]) and len(barriers(alone.body[-1])) == 1


def test_a_barrier_moves_out_of_a_loop_that_does_not_need_it_inside():
    """The loop's iterations are disjoint: one barrier in front of all of them is enough."""
    done = insert_barriers(seq(fill(X), loop(compute(X, X), disjoint=(X,))))
    kinds = [type(item).__name__ for item in done.walk()]
    assert kinds == ["Seq", "Fill", "Barrier", "For", "Seq", "Unary"]
    carried = insert_barriers(seq(loop(compute(X, X))))
    assert [type(item).__name__ for item in carried.walk()] == ["Seq", "For", "Seq", "Barrier", "Unary"]


def barriers(statement):
    return [item for item in statement.walk() if isinstance(item, Barrier)]


def test_a_product_behind_itself_needs_a_barrier_only_where_it_is_small():
    done = insert_barriers(seq(loop(accumulate())))
    (barrier,) = barriers(done)
    assert barrier.buffer is L0C and barrier.when is not None
    assert [barrier.when.evaluate({"m": rows}) for rows in (16, 32, 48)] == [True, True, False]
    assert find_conflicts(done) == () and insert_barriers(done) is done


def test_a_product_behind_another_needs_its_barrier_always():
    """Rows of the two may differ: the other may be a small one."""
    done = insert_barriers(seq(accumulate(True), loop(accumulate())))
    assert [item.when for item in barriers(done)] == [None]
    assert find_conflicts(done) == ()


def test_a_barrier_for_a_buffer_orders_nothing_else():
    limited = Barrier(pipe=V, when=TEST, buffer=Y)
    assert pairs(fill(X), limited, compute(Z, X)) == ["V>V on x"]
    assert pairs(fill(X), Barrier(pipe=V, when=TEST, buffer=X), compute(Z, X)) == []
