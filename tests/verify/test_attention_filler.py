"""What fills queries, keys and values, step by step: edges, slopes, stored integers, scales, probes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.graph.nodes import BlockRequantize, EarlierPartial
from attndsl.spec.contract.layout import Array
from attndsl.verify.data import attention as module
from attndsl.verify.data import probes
from attndsl.verify.data.attention import AttentionFiller
from attndsl.verify.space import argument_roles
from attndsl.verify.space.argument_roles import ArgumentRoles
from attndsl.verify.space.values import FILL, LOST, PROBE, SPIKED, UNEVEN

SIZES = dict.fromkeys("BNKQTUDE", 1)


class Places:
    """Rows of keys and values in one array of elements: of a source by batch row and head."""

    sums_of_a_value = 1

    def __init__(self, size: int = 24, **rows: Any) -> None:
        self.content, self.written = np.zeros(size), np.zeros(size, bool)
        self.keys, self.values = ("keys",), ("values",)
        self._rows = rows

    def rows(self, source: str, b: int, k: int) -> Array:
        return np.asarray(self._rows.get(source, np.zeros((0, 0), int)))

    def write(self, places: Array, values: Array) -> None:
        self.content[places], self.written[places] = values, True

    def ranges(self) -> dict[str, tuple[int, int]]:
        return {"key": (0, 12), "value": (12, 24)}

    def tensors(self) -> dict[str, list[Array]]:
        return {"key": [self.content[:12]], "value": [self.content[12:]]}


@dataclass(frozen=True)
class Draft:
    """A call with zeros."""

    arrays: dict[str, Any]
    lists: dict[str, Any]


KEYS, VALUES = np.arange(12).reshape(3, 4), np.arange(12, 24).reshape(3, 4)


def stubbed(**more: Any) -> Any:
    """A filler of a call with one head."""
    found: Any = object.__new__(AttentionFiller)
    found.rng, found.factor, found.stored, found.entries = np.random.default_rng(0), 0.5, {}, set()
    found.sizes, found.integers, found.locations = dict(SIZES), set(), Places()
    found.is_value = np.zeros(24, bool)
    found.draft = SimpleNamespace(extents={}, arrays={}, lists={}, graph=SimpleNamespace(nodes=()))
    found.filler = SimpleNamespace(
        probe=False, made={}, key_tiles=(8,), io="float16", assignment={}, roles=ArgumentRoles({}),
        dtype=lambda name: "float16", shape=lambda name: (2, 3), layout=lambda name: None,
    )  # fmt: skip
    for name, value in more.items():
        setattr(found.filler if hasattr(found.filler, name) else found, name, value)
    return found


# Where keys lie ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tiles", "count", "wanted"),
    [
        ((8,), 20, [0, 1, 6, 7, 8, 9, 14, 15, 16, 17, 18, 19]),
        ((8,), 5, [0, 1, 3, 4]),
        ((8, 20), 21, [0, 1, 6, 7, 8, 9, 14, 15, 16, 17, 18, 19, 20]),
        ((8,), 1, [0]),
        ((8,), 0, []),
    ],
)
def test_keys_at_edges_of_tiles(tiles: tuple[int, ...], count: int, wanted: list[int]) -> None:
    assert np.flatnonzero(stubbed(key_tiles=tiles)._at_edges(count)).tolist() == wanted


def test_scores_step_up_or_down_from_tile_to_tile() -> None:
    """Within a tile by half a step."""
    rising = stubbed()._in_steps(17, 4, 1.0)
    assert rising[[0, 7, 8, 16]].tolist() == [0, 7 / 64, 0.25, 0.5]
    assert np.allclose(stubbed()._in_steps(17, 4, -1.0), 1 - rising)


def test_most_heads_look_at_an_edge_of_a_tile() -> None:
    places = np.arange(40)[:, None]
    at_edge = stubbed(key_tiles=(20,))._at_edges(40)
    hits = []
    for seed in range(40):
        found = stubbed(key_tiles=(20,), locations=Places(40), rng=np.random.default_rng(seed))
        found._spotlights(places, np.full((1, 1), 77.0), 0)
        (at,) = np.flatnonzero(found.locations.content == 77)
        assert set(np.abs(np.delete(found.locations.content, at)) * 16) <= set(range(5))
        hits.append(bool(at_edge[at]))
    assert 0.6 < np.mean(hits) < 1


@pytest.mark.parametrize(("heads", "kv_heads", "group"), [(8, 2, 4), (1, 1, 1), (0, 2, 1)])
def test_query_heads_of_a_key_head(heads: int, kv_heads: int, group: int) -> None:
    assert stubbed(sizes={**SIZES, "N": heads, "K": kv_heads})._group == group


def test_rows_are_as_many_as_are_read_or_shown() -> None:
    found = stubbed(locations=Places(keys=KEYS), sizes={**SIZES, "B": 2})
    assert found._most_rows() == 3
    found.locations.keys = ()
    assert found._most_rows() == 0
    for extents, keys in (({"T": 5, "U": 9}, 9), ({"T": 9, "U": 5}, 9), ({}, 1), ({"T": 0}, 0)):
        found.draft.extents = extents
        assert found._keys() == keys


def test_the_size_of_values_that_are_read() -> None:
    found = stubbed()
    assert found._size() == 1.0
    found.locations.content[:4], found.is_value[:6] = [3, 4, 9, 9], True
    found.locations.written[:2] = found.locations.written[20:] = True
    assert found._size() == pytest.approx(math.sqrt(12.5))


# Stored -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "probe", "wanted"),
    [
        ("float16", False, [1.0, -2.5, 1000]),
        ("bfloat16", True, [1.0, -2.5, 1000]),
        ("int8", True, [1, -2, 127]),
        ("int8", False, [40, -100, 127]),
    ],
)
def test_queries_are_stored_in_their_dtype(dtype: str, probe: bool, wanted: list[float]) -> None:
    """Integers of a probe are what they are, others fill the range."""
    query = np.array([1.0, -2.5, 1000.0])
    places = SimpleNamespace(queries=lambda values: {"query": values})
    found = stubbed(locations=places, probe=probe, dtype=lambda name: dtype, shape=lambda name: (3, 1))
    found._store_queries(query)
    made = found.filler.made["query"]
    assert made.dtype.name == dtype and made.shape == (3, 1)
    assert made.reshape(-1).astype(float).tolist() == wanted


@pytest.mark.parametrize(("probe", "wanted"), [(True, [2, -3, 127, 127]), (False, [80, -120, 127, 127])])
def test_rows_of_integers_are_stored_as_queries_are(probe: bool, wanted: list[int]) -> None:
    """What must not be read is the largest."""
    found = stubbed(probe=probe, dtype=lambda name: "int8" if name == "key" else "float16")
    found.locations.content[:4], found.locations.content[12:14] = [2, -3, 1000, np.nan], [0.5, np.nan]
    found.entries = {("scale", None)}
    stored = found._stored_rows()
    assert stored["key"][0][:4].tolist() == wanted and stored["key"][0].dtype == np.int8
    assert stored["value"][0][0] == 0.5 and np.isnan(stored["value"][0][1]) and not found.entries
    found.stored = {"key": None}
    found._dequantizable = lambda name, part: np.full(12, 9.0)
    assert set(found._stored_rows()["key"][0].tolist()) == {9}
    found.draft.lists = {"key": ()}
    found._store_rows()
    assert isinstance(found.filler.made["key"], list) and found.filler.made["value"].shape == (12,)


def test_entries_of_a_scale_are_written_once() -> None:
    """Components each on its own; none where there is no such tensor."""
    found = stubbed(dtype=lambda name: "float32")
    assert found._entry("", None, np.ones(3)) is None and found._shape_or("") == ()
    assert found._shape_or("scale") == (2, 3)
    first = found._entry("scale", 1, np.full((2, 3), 5.0))
    assert first.tolist() == [[0] * 3, [5] * 3]
    assert found._entry("scale", 1, np.full((2, 3), 7.0)).tolist() == [[0] * 3, [5] * 3]
    assert found._entry("scale", 0, np.full((2, 3), 7.0)).tolist() == [[7] * 3, [5] * 3]
    assert found._entry("offset", None, np.full((2, 3), 7.0)).tolist() == [[7] * 3] * 2


def test_tensors_so_far_are_those_of_the_bound_call() -> None:
    """In its shapes; integers stay as they were bound, and lists are lists."""
    bound: dict[str, Any] = {name: np.zeros((2, 3)) for name in ("bias", "query", "lengths", "value")}
    found = stubbed(roles=ArgumentRoles({"query": argument_roles.QUERY}))
    found.draft = Draft(bound, {"key": ()})
    found._stored_rows = lambda: {"key": [np.ones(2), np.ones(3)], "value": [np.ones(6)]}
    found.filler.made = {
        "bias": np.full((2, 3), 4.0), "query": np.full(6, 5.0), "lengths": np.full((2, 3), 6),
        "mask": np.ones(4), "spelled": [1, 2],
    }  # fmt: skip
    call = found._as_made()
    assert {name: float(array.max()) for name, array in call.arrays.items()} == {
        "bias": 4, "query": 5, "lengths": 0, "value": 1,
    }  # fmt: skip
    assert all(array.shape == (2, 3) for array in call.arrays.values())
    assert [each.size for each in call.lists["key"]] == [2, 3]


# Probes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "values", "wanted"),
    [
        ([[0, 1, 2, 3]], [[2, 3]], [True, True, False, False]),
        ([[0, 1]], [[2, 3]], None),
        ([[0, 1]], [[0, 1]], None),
        (np.zeros((0, 0), int), [[0]], None),
        ([[0]], np.zeros((0, 0), int), None),
    ],
)
def test_channels_that_are_values_too_carry_no_scores(keys: Any, values: Any, wanted: Any) -> None:
    """Where some are values and some are not."""
    found = stubbed(locations=Places(keys=np.array(keys), values=np.array(values)))._carrying()
    assert (None if found is None else found.tolist()) == wanted


@pytest.mark.parametrize(
    ("values", "carrying", "written"),
    [(VALUES, None, True), (KEYS, None, False), (KEYS[:, 2:], np.array([True, True, False, False]), True)],
)
def test_values_are_signs_where_keys_leave_them_free(values: Array, carrying: Any, written: bool) -> None:
    told: list[Any] = []

    def signs(k: int, fresh: Array, channels: int) -> float:
        told.append((fresh.tolist(), channels))
        return 5.0

    ledger = SimpleNamespace(carrying=carrying, signs=signs, key_rows=lambda k, count: 7.0)
    found = stubbed()
    found.locations.written[values[1]] = True
    found._probe_rows(ledger, KEYS, values, 0)
    assert told == ([([True, False, True], values.shape[1])] if written else [])
    assert found.is_value.sum() == (values.size if written else 0)
    assert (found.locations.content[KEYS] == 7).all()
    told.clear()
    found._probe_rows(ledger, KEYS[:0], values, 0)
    assert not told


@pytest.mark.parametrize(("slopes", "size"), [(False, 3.0), (True, 2.0)])
def test_values_of_probes_have_the_size_of_a_row_sum(
    monkeypatch: pytest.MonkeyPatch, slopes: bool, size: float
) -> None:
    """Integers 64; what is unread is an alarm, where there are values. Factors of results make up for it."""
    monkeypatch.setattr(probes, "size_of_values", lambda total, dtype: 3.0)
    monkeypatch.setattr(module.probes, "LARGEST_WITH_SLOPES", {"float16": 2.0})
    roles = {"gain": argument_roles.OUT_FACTOR} | ({"slope": argument_roles.SLOPE} if slopes else {})
    for integers in (set(), {"value"}):
        found = stubbed(roles=ArgumentRoles(roles), made={"gain": np.zeros(60)})
        found._row_sum, found.integers = lambda: 1.0, integers
        found.locations.content[:], found.is_value[12:18] = 1.0, True
        found.locations.written[:8] = found.locations.written[12:18] = True
        found._size_values()
        own = 64.0 if integers else size
        content = found.locations.content
        assert content[:8].tolist() == [1.0] * 8 and content[8:12].tolist() == [0.0] * 4
        assert content[12:18].tolist() == [own] * 6 and content[18:].tolist() == [probes.ALARM * own] * 6
        gains = set(np.unique(found.filler.made["gain"]).tolist())
        assert gains == ({size / 64 * each for each in (1.0, -1.0, 0.5)} if integers else {0.0})


@pytest.mark.parametrize(("requantized", "base"), [(True, 2.2), (False, 2.0)])
@pytest.mark.parametrize("queries", [True, False])
def test_steps_of_probes(
    monkeypatch: pytest.MonkeyPatch, requantized: bool, base: float, queries: bool
) -> None:
    """Of the dtype of queries; no tie of rounding where probabilities become integers."""
    told: list[Any] = []
    monkeypatch.setattr(module.probes, "step", lambda factor, dtype, base: told.append((factor, dtype, base)))
    ledger = SimpleNamespace(query_rows=lambda *of: "query", bias=lambda: "bias")
    monkeypatch.setattr(module.probes, "Ledger", lambda *of, carrying: ledger)
    found = stubbed(
        roles=ArgumentRoles({"q": argument_roles.QUERY} if queries else {}), dtype=lambda name: "bfloat16"
    )
    found.draft.graph.nodes = (object(), *([object.__new__(BlockRequantize)] if requantized else ()))
    assert found._probe() == ("query", "bias")
    assert told == [(0.5, "bfloat16" if queries else "float16", base)]


# All of it --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("earlier", [True, False])
@pytest.mark.parametrize("kind", [PROBE, "normal"])
@pytest.mark.parametrize("lost", [True, False])
def test_the_order_in_which_tensors_are_made(
    monkeypatch: pytest.MonkeyPatch, kind: str, lost: bool, earlier: bool
) -> None:
    """Probes are sized by the scores that are there by then; partials come last, where there are any."""
    assignment = {FILL: kind} | ({LOST: True} if lost else {})
    done: list[Any] = []
    roles, layout = dict.fromkeys("bm", argument_roles.BIAS), SimpleNamespace(roles=("N", "T"))
    found = stubbed(assignment=assignment, roles=ArgumentRoles(roles), made={"m": "made"})
    found.filler.layout = lambda name: layout
    found.draft.graph.nodes = (object(), *([object.__new__(EarlierPartial)] if earlier else ()))
    found.draft.extents, found.sizes = {"T": 3}, {**SIZES, "N": 2, "Q": 0}
    bias = np.arange(6.0).reshape(2, 3)
    found._probe = lambda: (np.full(1, 8.0), bias)
    found._random = lambda of: (np.full(1, 8.0), bias)
    found._lost = lambda query: query + 1
    found._share_units = lambda query: 2.0
    found._store_queries = lambda query: done.append(float(query[0]))
    found._size_values = lambda: done.append("values")
    found._store_rows = lambda: done.append("rows")
    found._over_scores = lambda name, wide: (name, wide.shape)
    found._as_made, found._size = lambda: "call", lambda: 3.0
    monkeypatch.setattr(module, "fill_earlier", lambda filler, call, size: done.append((call, size)))
    found.fill()
    own = [8.0, "values", 4.0] if kind == PROBE else [9.0 if lost else 8.0]
    assert done == [*own, "rows", *([("call", 3.0)] if earlier else [])]
    assert found.filler.made == {"m": "made", "b": ("b", (1, 2, 1, 3))}


@pytest.mark.parametrize("factor", [0.5, -0.5, 0.0])
def test_lost_rows_have_an_element_that_is_infinite(factor: float) -> None:
    """Every second head of every third position; all keys are 1 there, so that their scores are -inf."""
    found = stubbed(locations=Places(keys=KEYS), factor=factor)
    query = found._lost(np.ones((1, 4, 7, 2)))
    lost = np.isinf(query)
    assert lost.sum() == (2 * 2 if factor else 0)
    if factor:
        assert lost[:, ::2, 1::3, 0].all() and (np.sign(query[lost]) == -np.sign(factor)).all()
    assert (found.locations.content[KEYS[:, 0]] == 1).all() and not found.locations.content[KEYS[:, 1:]].any()


# Random values ----------------------------------------------------------------------------------------------

COUNT, CHANNELS = 33, 64
MANY = np.arange(COUNT * CHANNELS).reshape(COUNT, CHANNELS)


def random(
    kind: str, seed: int = 0, factor: float = 0.5, asked: float | None = None, sums: int = 1
) -> tuple[Any, Array, Array]:
    """A filler, queries and the scores of its keys, with values behind them and some rows that none reads."""
    places = Places(3 * MANY.size, keys=MANY, values=MANY + MANY.size)
    places.sums_of_a_value = sums
    found = stubbed(locations=places, factor=factor, rng=np.random.default_rng(seed), key_tiles=(8,))
    found.is_value = np.zeros(3 * MANY.size, bool)
    found.sizes, found.draft.extents = {**SIZES, "D": CHANNELS, "N": 2, "Q": 3}, {"T": COUNT}
    found.filler.assignment = {} if asked is None else {module.SLOPE: asked}
    query, bias = found._random(kind)
    assert query.shape == (1, 2, 3, CHANNELS) and bias.shape == (2, COUNT)
    return found, query, query[0] @ places.content[MANY].T * factor


@pytest.mark.parametrize("kind", ["normal", "tiny", "ramp", "sunk", "extreme", "level"])
def test_what_is_read_is_written_and_what_is_not_is_seen(kind: str) -> None:
    """NaN, or a number far larger than others."""
    unread = set()
    for seed in range(12):
        found, _, _ = random(kind, seed)
        places = found.locations
        assert places.written.sum() == 2 * MANY.size and found.is_value.sum() == MANY.size
        assert found.is_value[MANY + MANY.size].all() and np.isfinite(places.content[places.written]).all()
        unread |= {str(each) for each in np.unique(places.content[~places.written])}
        values = np.abs(places.content[MANY + MANY.size]).max()
        assert values < 2**-9 if kind == "tiny" else values == 2
    assert unread == {"nan", "1000.0"}


def test_values_are_no_larger_than_leaves_their_rounding_errors_allowed() -> None:
    """Unless they are keys, too, whose scores would be others."""
    found = stubbed(locations=Places(keys=KEYS, values=np.concatenate([KEYS[:1], VALUES])))
    found.locations.content[:] = np.linspace(-5, 5, 24)
    found._bound_values()
    assert np.array_equal(found.locations.content[KEYS.ravel()], np.linspace(-5, 5, 24)[:12])
    assert np.array_equal(found.locations.content[VALUES.ravel()], np.linspace(-5, 5, 24)[12:].clip(-2, 2))


@pytest.mark.parametrize(
    ("kind", "factor", "asked", "first", "last"),
    [
        ("sunk", 0.5, None, -113, -113),
        ("sunk", -0.5, None, -113, -113),
        ("sunk", 0.5, 1.0, -160, -150),
        ("sunk", -0.5, -1.0, -140, -150),
        ("ramp", 0.5, 1.0, 0, 24),
        ("ramp", -0.5, 1.0, 0, 24),
        ("ramp", 0.5, -1.0, 24, 0),
        ("ramp", 0.5, 8.0, 0, 60),
    ],
)
def test_scores_are_as_low_and_as_steep_as_they_are_asked_for(
    kind: str, factor: float, asked: float | None, first: float, last: float
) -> None:
    """Whatever the sign of what they are multiplied with."""
    _, _, scores = random(kind, 1, factor, asked)
    near = 12 if kind == "sunk" else 4
    assert abs(scores[:, :, 0].mean() - first) < near and abs(scores[:, :, -1].mean() - last) < near


def test_gentle_scores_rise_in_some_rows_and_fall_in_others() -> None:
    """By turns of heads and positions; steeper ones have one direction."""
    _, _, scores = random("ramp", 1, 0.5, -0.25)
    steps = np.sign((scores[..., 0] - scores[..., -1])[:, :3])
    assert (steps == [[1, -1, 1], [-1, 1, -1]]).all() and abs(scores).max() < 6 + 4
    _, _, steep = random("ramp", 1, 0.5, -1.0)
    assert (steep[..., 0] > steep[..., -1]).all()


@pytest.mark.parametrize(("asked", "ratio"), [(1.0, 2.0), (None, 1.0)])
def test_rising_scores_have_smaller_values_where_two_sums_read_them(
    asked: float | None, ratio: float
) -> None:
    """The errors of both sets of probabilities add up, where few keys have the weight of a row."""
    one, two = (random("ramp", 1, asked=asked, sums=count)[0].locations.content for count in (1, 2))
    values = MANY + MANY.size
    assert np.array_equal(one[values], ratio * two[values]) and np.array_equal(one[MANY], two[MANY])


def test_plain_ramps_rise_or_fall_by_a_half_of_what_decides() -> None:
    ends = {round(float((scores[..., -1] - scores[..., 0]).mean()), -1) for scores in
            (random("ramp", seed)[2] for seed in range(9))}  # fmt: skip
    assert ends == {-30.0, 30.0}


def test_level_scores_are_higher_at_edges_of_tiles() -> None:
    for factor in (0.5, -0.5):
        found, _, scores = random("level", 0, factor)
        at = found._at_edges(COUNT)
        gap = scores[..., at].mean() - scores[..., ~at].mean()
        assert 0.04 < gap < 0.08 and scores.std() < 0.1


def test_saturated_heads_have_one_key_each() -> None:
    _, query, scores = random("extreme")
    assert (np.sort(scores, axis=-1)[..., -1] > 900).all()
    assert (query[:, :, 0] == query[:, :, 1]).all() and len(np.unique(query)) == 2


def test_of_an_uneven_slope_rows_fall_in_some_steps_and_rise_in_others() -> None:
    """Of 16 positions all fall, all but one of eight, none, all but the last; the next head begins later."""
    found = stubbed(sizes={"N": 2, "Q": 64})._turned(UNEVEN)[:, :, 0]
    runs = found.reshape(2, 4, 16)
    assert (runs[0, 0] == -1).all() and (runs[0, 2] == 1).all()
    assert np.flatnonzero(runs[0, 1] == 1).tolist() == [0, 8]
    assert np.flatnonzero(runs[0, 3] == 1).tolist() == [15] and (runs[1] == np.roll(runs[0], -1, 0)).all()
    assert (stubbed(sizes={"N": 2, "Q": 2})._turned(-0.25)[:, :, 0] == [[1, -1], [-1, 1]]).all()


def test_of_spiked_heads_one_key_is_higher_than_many_by_a_jump() -> None:
    """In the second tile, or the third one; of the last head in all, which lose what is before."""
    found = stubbed(key_tiles=(4,))
    assert found._in_jumps(10, 0).tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert found._in_jumps(10, 1).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 1]
    rising = found._in_jumps(10, 2)
    assert (np.diff(rising) > 0).all() and rising[0] == 0 and rising[4] * module.JUMP > 8
    _, _, scores = random("ramp", 1, asked=SPIKED)
    others = np.delete(scores, 8, axis=-1)
    assert (scores[..., 8] - others.max(axis=-1) > 8).all() and np.ptp(others) < 1


@pytest.mark.parametrize("factor", [1.0, -0.5])
def test_what_is_left_of_the_keys_before_a_jump_is_seen(factor: float) -> None:
    """512 of them have a share of the result of which no tolerance is as large, as tiles differ in value."""
    found, _, scores = random("ramp", 1, factor, asked=SPIKED)
    values = found.locations.content[MANY + MANY.size]
    means = [values[8 * tile : 8 * tile + 8].mean() for tile in range(4)]
    assert np.allclose(means, [1, -1, 1, -1], atol=0.2)
    jump = float((scores[..., 8] - scores[..., :8].max(axis=-1)).max())
    assert 512 * np.exp(-jump) > 0.05 and jump > 8


def test_values_that_are_keys_at_the_same_time_are_left_alone() -> None:
    found, _, _ = random("ramp", 1, asked=1.0)
    before = found.locations.content.copy()
    found._tell_tiles_apart(MANY, MANY[:, :8])
    assert np.array_equal(found.locations.content, before, equal_nan=True)
    found._tell_tiles_apart(MANY, MANY + MANY.size)
    assert not np.array_equal(found.locations.content, before, equal_nan=True)
