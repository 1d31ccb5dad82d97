"""How the reference shares out its work: tasks, the rows that they read, the threads that do them."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from attndsl.reference.arithmetic import exp_in_place
from attndsl.reference.products import row_sums
from attndsl.reference.query_space import query_space
from attndsl.reference.ranges import Visibility
from attndsl.reference.streaming import row_statistics
from attndsl.reference.tasks import Rowsets, query_block, query_tasks, spread
from attndsl.reference.threads import cores, for_each
from attndsl.reference.whole import new_state
from attndsl.spec import Operator, attend

FLOAT32 = np.dtype(np.float32)


def attention(b=1, n=2, q=300, t=300, hide=None, values=None):
    """A call of attention in fp32, its scores replaced by -inf where ``hide(i, j)`` holds."""
    op = Operator("shared_out")
    B, N, Q, T, D = op.dims("B N Q T D")
    op.axes(B=B, N=N, K=N, Q=Q, T=T, D=D, E=D)
    query = op.input("query", "B N Q D", dtype="float32")
    key = op.input("key", "B N T D", dtype=query, axes="B K T D")
    value = op.input("value", "B N T D", dtype=query, axes="B K T E")
    s = attend.scores(query, attend.rows(key))
    if hide is not None:
        s = s.replace(attend.condition(hide(attend.QUERY, attend.KEY)), float("-inf"))
    op.output("out", attend.softmax(s) @ attend.rows(value), like=query)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((b, n, rows, 8), dtype=np.float32) for rows in (q, t, t))
    return op, [q, k, v if values is None else values(v)]


def prepared(op, arrays):
    """The state of a run, the space of its queries, its softmax and the rows that are read."""
    state = new_state(op.bind(*arrays), FLOAT32)
    weights = state.call.graph.outputs[0].source.weights
    rows = [node for node in state.call.graph.nodes if type(node).__name__ == "Dense"]
    return state, query_space(state, weights), weights, rows


def test_tasks_cover_every_query_once_the_last_first():
    state, space, _, _ = prepared(*attention(b=2, n=3, q=300))
    tasks = query_tasks(state, space)
    done = np.zeros((2, 3, 300), int)
    for task in tasks:
        done[task.b, task.k, task.queries] += 1
    assert (done == 1).all()
    places = [(task.b, task.k) for task in tasks]
    assert places == sorted(places)
    assert [task.queries.start for task in tasks[:3]] == [256, 128, 0]


def test_tasks_of_one_head_share_what_they_read_and_others_do_not():
    state, space, _, rows = prepared(*attention(n=cores() + 4))
    rowsets = Rowsets(state, rows, 128)
    by_head = {}
    for task in query_tasks(state, space):
        by_head.setdefault(task.k, []).append(rowsets.of(task))
    assert all(each is group[0] for group in by_head.values() for each in group)
    readers = [group[0].readers[id(rows[0])] for group in by_head.values()]
    assert readers[0].read(0, 64) is not readers[1].read(0, 64)
    assert np.shares_memory(readers[0].read(0, 128), readers[0].read(64, 128))
    assert (readers[0].read(0, 64) != readers[1].read(0, 64)).any()
    again = rowsets.of(query_tasks(state, space)[0])
    assert again is not by_head[0][0]  # heads long done are forgotten


@pytest.mark.parametrize(
    "most, chosen",
    [(None, [0, 1, 2, 3, 4]), (5, [0, 1, 2, 3, 4]), (3, [0, 2, 4]), (2, [0, 4]), (1, [0]), (0, [])],
)
def test_some_tasks_are_evenly_chosen(most, chosen):
    left_out = [task for task in range(5) if task not in chosen]
    assert spread([*range(5)], most) == (chosen, left_out)


@pytest.mark.parametrize("q, piece", [(64, 0), (129, 128)])
def test_rows_that_one_task_reads_are_not_kept(q, piece):
    state, space, weights, rows = prepared(*attention(n=1, q=q))
    (task, *_) = query_tasks(state, space)
    assert Rowsets(state, rows, 128).of(task).readers[id(rows[0])].piece == piece
    row_statistics(state, weights)
    assert not state.scratch._buffers.keys() & {"result", "term"}, (
        "statistics alone need no memory for results"
    )


def test_statistics_are_computed_once():
    state, _, weights, _ = prepared(*attention(n=1, q=2, t=3))
    assert row_statistics(state, weights) is row_statistics(state, weights)


def test_edges_of_masks_are_cut_close():
    state, space, weights, _ = prepared(*attention(q=1024, t=1024, hide=lambda i, j: j > i))
    visibility = Visibility(state, weights.scores, 1024)
    for task in query_tasks(state, space):
        block = query_block(state, space, task, {})
        (part,) = visibility.parts(block, slice(0, 1024))
        assert part.keys == slice(0, task.queries.stop)
        assert part.masked == task.queries


def test_rows_without_a_key_are_zero_whatever_the_values():
    def broken(v):
        v[..., 200, :] = np.nan
        v[..., 201, :] = np.inf
        return v

    op, arrays = attention(hide=lambda i, j: (i < 20) | (j > 150), values=broken)
    out = op(*arrays)
    assert not out[..., :20, :].any()
    assert np.isfinite(out[..., 20:, :]).all() and out[..., 20:, :].all()
    none = attention(hide=lambda i, j: j >= 0, values=broken)
    assert not none[0](*none[1]).any()


@pytest.mark.parametrize("many", [-1.0, -500.0, -np.inf, np.nan])
def test_exp_of_any_spread(many):
    x = np.linspace(-110, 80, 4000, dtype=np.float32).reshape(8, 500)
    x[5:], x[3, :4] = many, [-np.inf, np.inf, np.nan, 0]
    exact = np.exp(x.astype(np.float64))
    out = exp_in_place(x)
    assert out is x
    np.testing.assert_allclose(out, exact, rtol=6e-6, atol=1e-44)
    assert np.isnan(out[3, 2]) and out[3, 0] == 0 and out[3, 3] == 1


@pytest.mark.parametrize("mild", [False, True])
def test_either_exp_takes_special_values(mild):
    x = np.full((8, 500), -1.0 if mild else -500.0, np.float32)
    x[3, 1:5] = [-np.inf, np.inf, np.nan, 0]  # between the elements that are looked at
    out = exp_in_place(x)
    np.testing.assert_array_equal(out[3, 1:5], [0, np.inf, np.nan, 1])
    np.testing.assert_allclose(out[0], np.exp(-1.0) if mild else 0, rtol=1e-6)


def test_scores_far_apart_take_no_longer():
    def seconds(value):
        best = np.inf
        for _ in range(7):
            x = np.full((64, 512), -1.0, np.float32)
            x[:, 400:] = value  # as a mask does, or one key that all others fall short of
            started = time.thread_time()
            exp_in_place(x)
            best = min(best, time.thread_time() - started)
        return best

    usual = seconds(-1.0)
    for value in (-90.0, -200.0, -np.inf):  # subnormal, 0 and 0
        assert seconds(value) < 6 * usual


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("keys", [0, 1, 1000, 4096])
def test_row_sums_are_as_exact_as_pairwise_ones(real, keys):
    weights = np.random.default_rng(keys).random((5, keys)).astype(real)
    exact = weights.sum(axis=1, dtype=np.longdouble)
    np.testing.assert_allclose(row_sums(weights), exact, rtol=4 * np.finfo(real).eps)


def test_tasks_may_share_out_tasks_of_their_own():
    sums = []

    def outer(first):
        found = []
        for_each(found.append, range(first, first + 50))
        sums.append(sum(found))

    thread = threading.Thread(target=for_each, args=(outer, range(6 * cores())), daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert sorted(sums) == [sum(range(first, first + 50)) for first in range(6 * cores())]


def test_threads_stay():
    seen = set()
    barrier = threading.Barrier(cores())

    def meet(_):
        barrier.wait(30)  # so that every thread takes one task
        seen.add(threading.current_thread())

    for _ in range(5):
        for_each(meet, range(cores()))
    assert len(seen) == cores()


FORKS = """
import os, threading
from attndsl.reference.threads import cores, for_each
met = []
def meet(_):
    barrier.wait(10)
    met.append(threading.get_ident())
for process in "parent", "child":
    barrier = threading.Barrier(cores())
    for_each(meet, range(cores()))
    if process == "parent" and (child := os.fork()):
        print(len(met) - cores(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        os._exit(0)
os._exit(len(met) != 2 * cores())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_threads_of_its_own():
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=120
    )
    assert run.stdout.split() == ["0", "0"], run.stderr


def test_arithmetic_of_tasks_does_not_warn():
    divided = []
    with np.errstate(all="raise"):
        for_each(lambda x: divided.append(np.divide(1, np.full(3, x))), [0.0] * 8)
        with pytest.raises(FloatingPointError):
            np.divide(1, np.zeros(3))
    assert all(np.isinf(each).all() for each in divided) and len(divided) == 8
