"""The golden results of a call: the executable spec in float64, not rounded, with what judging them needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from attndsl.graph.nodes import (
    CacheAppend,
    Cast,
    EarlierPartial,
    Node,
    Output,
    PackedQueries,
    Quantize,
    Replace,
    RowSum,
    Softmax,
    TopK,
    WeightedSum,
)
from attndsl.reference.blocks import Block
from attndsl.reference.cache import write_appended
from attndsl.reference.query_space import boundaries, integer
from attndsl.reference.scores import evaluate
from attndsl.reference.state import Labelled, State
from attndsl.reference.streaming import row_statistics
from attndsl.reference.whole import new_state
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array, Layout
from attndsl.verify.judge.compare import THRESHOLD
from attndsl.verify.judge.narrow_scores import NarrowRuns, narrow_runs, narrows_scores
from attndsl.verify.judge.rounding_sensitivity import shifted
from attndsl.verify.judge.score_rounding import score_errors
from attndsl.verify.judge.weight_range import left_open, sums_of_any_weights
from attndsl.verify.judge.whole_rows import weighted_sum

_FLOAT64, _FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)
_LEAST = 2.0**-20
_MARGIN = 4.0


@dataclass(frozen=True)
class Importance:
    """What a selection chooses from, in the order of its result with the entries last.

    ``values``: in float64; ``rounding``: for each row what float32 arithmetic may change a value by: four
    times the largest error of the float32 reference in that row, at least 2^-20 of the value; ``forced``:
    entries that come first in any case; ``entries``: how many each row has.
    """

    values: Array
    rounding: Array
    forced: Array | None
    entries: Array


@dataclass(frozen=True)
class Result:
    """One golden result. ``values``: float64, in the layout of the call; ``exact``: where nothing was
    attended to, or a constant was put; ``sizes``: of the elements, at least 1 (of a quantized result: of what
    is scaled and rounded; of weights that are no softmax: of all terms; of statistics of scores: with what
    rounding makes of these), ``row_sizes``: the same, at least
    the root mean square of the row's channels; ``unrounded``: of a quantized result, the value before
    rounding, and ``step`` what one unit of the float result is in it; ``importance``: of indices; ``slack``:
    what either of two right integers of probabilities makes of the result (of a quantized one, before it is
    rounded), or rounding of scores to float16; NaN where one of these, or a weight that is no softmax, is
    beyond its range."""

    name: str
    values: Array
    exact: Array
    sizes: Array | None = None
    row_sizes: Array | None = None
    unrounded: Array | None = None
    step: Array | None = None
    importance: Importance | None = None
    slack: Array | None = None


@dataclass(frozen=True)
class Golden:
    """All results, and the arguments that the call updates in place as they must be afterwards."""

    results: tuple[Result, ...]
    updated: Mapping[str, Array]


def golden(call: Call) -> Golden:
    """The golden results of ``call``, whose own arrays stay as they are."""
    own = with_own_arrays(call)
    state = new_state(own, _FLOAT64)
    with np.errstate(all="ignore"):
        narrow = narrow_runs(state) if narrows_scores(own) else None
        results = tuple(_result(state, output, narrow) for output in own.graph.outputs)
    for node in own.graph.nodes:
        if isinstance(node, CacheAppend):
            write_appended(state, node)
    return Golden(results, {name: own.arrays[name] for name in own.graph.updated()})


def with_own_arrays(call: Call) -> Call:
    """The call with copies of its arrays, which a backend may write to."""
    return replace(
        call,
        arrays={name: array.copy() for name, array in call.arrays.items()},
        lists={name: tuple(entry.copy() for entry in entries) for name, entries in call.lists.items()},
    )


def _result(state: State, output: Output, narrow: NarrowRuns | None) -> Result:
    call = state.call
    spec = next(spec for spec in call.operator.outputs if spec.name == output.name)
    layout = spec.layout(call.layouts[spec.like])

    def stored(value: Labelled) -> Array:
        return layout.restore(value.aligned(layout.roles), call.env())

    value = state.whole(output.source)
    exact = layout.restore(_exact(state, output.source, layout), call.env())
    node, moved = output.source, _slack(state, output, narrow)
    slack = None if moved is None else stored(moved)
    if isinstance(node, TopK):
        return Result(output.name, stored(value), exact, importance=_importance(state, node, layout))
    real = node.source if isinstance(node, Quantize) else node
    plain = state.whole(real)
    summed, moved_scores = _summed(state, real), score_errors(state, output)
    sizes, row_sizes = (stored(each) for each in _sizes(plain, summed, moved_scores))
    found = Result(output.name, stored(value), exact, sizes, row_sizes, slack=slack)
    if not isinstance(node, Quantize):
        return found
    step = np.broadcast_to(np.abs(state.whole(node.scale).aligned(plain.axes)), plain.data.shape)
    unrounded = stored(before_rounding(state, node))
    return replace(found, unrounded=unrounded, step=stored(Labelled(plain.axes, step)))


def _summed(state: State, node: Node) -> Labelled | None:
    """``node`` with the sizes of all terms added up in each sum of weights that are no softmax, which may be
    any number and cancel; None where there is no such sum. Probabilities sum up to 1."""
    sums = list(sums_of_any_weights(node))
    if not sums:
        return None

    def sizes(each: WeightedSum) -> Labelled:
        def attend(block: Block, table: Array) -> Array:
            weights = np.broadcast_to(evaluate(state, each.weights, block), block.shape)
            found: Array = np.abs(weights.reshape(-1, block.shape[2])) @ np.abs(table)
            return found

        return weighted_sum(state, each, State.reader, attend)

    found = {id(each): sizes(each) for each in sums}
    return new_state(state.call, state.real, values=found).whole(node)


def _sizes(value: Labelled, summed: Labelled | None, moved: Labelled | None) -> tuple[Labelled, Labelled]:
    """Of elements, and of elements or their rows; infinite and absent values count as 0 in a row.

    ``moved``: how far rounding may move the scores of a row, in a result that is a statistic of them: so much
    is within the bound of float32.
    """
    sizes = np.maximum(1.0, np.abs(value.data))
    if moved is not None:
        sizes = sizes * np.maximum(1.0, moved.aligned(value.axes) / THRESHOLD["float32"])
    if summed is not None:
        sizes = np.fmax(sizes, np.abs(summed.aligned(value.axes)))
    rows = np.square(np.where(np.isfinite(value.data), value.data, 0.0))
    if "E" in value.axes:
        rows = rows.mean(axis=value.axes.index("E"), keepdims=True)
    return Labelled(value.axes, sizes), Labelled(value.axes, np.maximum(sizes, np.sqrt(rows)))


def before_rounding(state: State, node: Quantize) -> Labelled:
    """What a quantized result is rounded from."""
    plain = state.whole(node.source)
    scaled = plain.data * state.whole(node.scale).aligned(plain.axes)
    if node.offset is not None:
        scaled = scaled + state.whole(node.offset).aligned(plain.axes)
    return Labelled(plain.axes, scaled)


def _slack(state: State, output: Output, narrow: NarrowRuns | None) -> Labelled | None:
    """How far a result moves where every probability at a rounding boundary becomes the other integer, or
    where scores are rounded; not rounded to the dtype of the result, of which such a move may be less than
    one last place. NaN where the result is left open."""
    found, beyond = _moved(state, output, narrow), _left_open(state, output.source)
    if beyond is None or found is None:
        return beyond if found is None else found
    return Labelled(found.axes, found.data + beyond.aligned(found.axes))


def _left_open(state: State, node: Node) -> Labelled | None:
    while isinstance(node, Cast | Quantize):  # integers have no NaN
        node = node.source
    return None if isinstance(node, TopK) else left_open(state, node)


def _moved(state: State, output: Output, narrow: NarrowRuns | None) -> Labelled | None:
    node = output.source
    while isinstance(node, Cast):
        node = node.source

    def read(run: State) -> Labelled:
        return before_rounding(run, node) if isinstance(node, Quantize) else run.whole(node)

    if narrow is not None and not isinstance(node, TopK):
        return narrow.slack(read)
    other = shifted(state, output)
    if other is None:
        return None
    one, another = read(state), read(other)
    return Labelled(one.axes, np.abs(another.aligned(one.axes) - one.data))


def _importance(state: State, node: TopK, layout: Layout) -> Importance:
    axes = tuple("J" if axis == "X" else axis for axis in layout.roles)
    values = state.whole(node.source).aligned(axes)
    single = new_state(state.call, _FLOAT32).whole(node.source).aligned(axes)
    errors = np.abs(single.astype(np.float64) - values)
    rounding = np.maximum(_MARGIN * errors.max(axis=-1, keepdims=True, initial=0.0), _LEAST * np.abs(values))
    entries = np.full(values.shape[:-1], values.shape[-1])
    if node.length is not None:
        entries = _entries(state, node, axes, values.shape)
    forced = None
    if node.forced is not None:
        forced = np.broadcast_to(_forced(state, node.forced, axes, values.shape) != 0, values.shape)
    return Importance(values, np.broadcast_to(rounding, values.shape), forced, entries)


def _token_rows(state: State) -> tuple[Array, Array]:
    """Batch row and query position of each packed token."""
    node = next(each for each in state.call.graph.nodes if isinstance(each, PackedQueries))
    starts = boundaries(state, node)
    lengths = np.diff(starts)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return rows, np.arange(int(starts[-1])) - starts[rows]


def _entries(state: State, node: TopK, axes: tuple[str, ...], shape: tuple[int, ...]) -> Array:
    assert node.length is not None
    counts = np.array([integer(state, node.length, b) for b in range(state.call.extents["B"])])
    along = counts[_token_rows(state)[0]] if "S" in axes else counts
    at = axes.index("S" if "S" in axes else "B")
    wide = along.reshape([-1 if position == at else 1 for position in range(len(axes) - 1)])
    return np.broadcast_to(wide, shape[:-1])


def _forced(state: State, node: Node, axes: tuple[str, ...], shape: tuple[int, ...]) -> Array:
    value = state.whole(node)
    if "S" in axes and "Q" in value.axes:
        data = value.aligned(("B", "Q", "J"))
        rows, positions = _token_rows(state)
        data = data[rows if data.shape[0] > 1 else np.zeros_like(rows), positions]
        value = Labelled(("S", "J"), data)
    return value.aligned(axes)


def _exact(state: State, source: Node, layout: Layout) -> Array:
    """True, with the axes of ``layout``, where no softmax has a key, or where a condition puts a constant."""
    shape = tuple(state.call.extents[role] for role in layout.roles)
    softmaxes = [node for node in source.walk() if isinstance(node, Softmax)]
    empty = np.full(shape, bool(softmaxes))
    for node in softmaxes:
        total = row_statistics(state, node)[RowSum]
        if not set(total.axes) <= set(layout.roles):
            return np.zeros(shape, bool)
        empty &= total.aligned(layout.roles) == 0
    for each in source.walk():
        if isinstance(each, EarlierPartial):
            empty &= np.isneginf(state.whole(each.lse).aligned(layout.roles))
    for each in source.walk():
        if isinstance(each, Replace) and "T" not in each.axes:
            empty |= state.whole(each.condition).aligned(layout.roles) != 0
    return empty
