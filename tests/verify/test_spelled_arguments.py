"""Arguments as callers write them, and what of a case's tensors follows from its lengths."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.graph.nodes import Cast, Paged, Selected, WindowSum
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.errors import ShapeError
from attndsl.verify.data import data as module
from attndsl.verify.data.data import Filler
from attndsl.verify.space import argument_roles
from attndsl.verify.space.argument_roles import ArgumentRoles
from attndsl.verify.space.values import FEW_FORCED, LOST, MASK, SLOPE, fill_of

DTYPES = {"mask": "bool", "count": "int32", "bytes": "int8"}


def stubbed(**more: Any) -> Any:
    """A filler of a case without an operator."""
    found: Any = object.__new__(Filler)
    found.rng, found.made, found.env, found.assignment = np.random.default_rng(0), {}, {}, {}
    found.extents, found.present, found.probe = {"B": 2, "T": 9}, frozenset(), False
    found.roles, found.graph = ArgumentRoles({}), SimpleNamespace(nodes=())
    operator = SimpleNamespace(constraints=(), tensors=(), params=())
    found.space = SimpleNamespace(measures={}, summed=frozenset(), operator=operator, tiles=(512,))
    found.dtype = lambda name: DTYPES.get(name, "float32")
    found.shape = lambda name: (2, 3)
    found.number = lambda name: 0
    found.__dict__ |= more
    return found


def tensor(name: str = "x", **more: Any) -> Any:
    return TensorSpec(**{"name": name, "layouts": {"": None}, "dtypes": ("float32",), **more})


@pytest.mark.parametrize(
    ("made", "axis", "summed", "wanted"),
    [
        ([3, 4], "T", False, [3, 4]),
        ([3, 7], "T", True, [3, 4]),
        ([1, 2, 3, 4], "T", False, [3, 4]),
        ([5], "T", False, [5, 5]),
        ([[1, 2], [3, 4]], "T", False, [3, 4]),
        ([3, 4], "Q", False, [9, 9]),
        (None, "T", False, [9, 9]),
    ],
)
def test_keys_of_batch_rows(made: Any, axis: str, summed: bool, wanted: list[int]) -> None:
    """As lengths tell them, the second of two rows; all where none do."""
    found = stubbed(made={} if made is None else {"lengths": np.array(made)})
    found.space.measures, found.space.summed = {"lengths": axis}, {"lengths"} if summed else set()
    assert found.rows_counted().tolist() == wanted


ROW = np.array([3, 7])


@pytest.mark.parametrize(
    ("spec", "made", "number", "fill", "wanted"),
    [
        ({"prefix_sums": True}, ROW, 0, "full", [3, 7]),
        ({"list_of": 2}, [ROW, ROW], 0, "", [ROW, ROW]),
        ({"list_of": 2}, [ROW, ROW], 4, "", np.stack([ROW, ROW])),
        ({"list_of": 2}, [], 4, "", []),
        ({"split": True}, [ROW, ROW], 4, "", [ROW, ROW]),
        ({"kind": "lengths"}, ROW, 0, "mixed", [3, 7]),
        ({"kind": "lengths"}, ROW, 0, "edges", [3, 7]),
        ({"kind": "lengths"}, ROW, 0, "full", ROW),
        ({"kind": "tensor"}, ROW, 0, "mixed", ROW),
        ({"sequence_of": 2}, ROW, 0, "", [ROW, ROW]),
    ],
)
def test_how_arguments_are_written(
    spec: dict[str, Any], made: Any, number: int, fill: str, wanted: Any
) -> None:
    """Lengths as lists or arrays, lists of tensors as lists or as one tensor of all."""
    found = stubbed(made={"x": made}, assignment={fill_of("x"): fill}, number=lambda name: number)
    told = found._argument(tensor(**spec), False)
    assert type(told) is type(wanted)
    assert all(np.array_equal(a, b) for a, b in zip(told, wanted, strict=True))


def test_plain_numbers_of_rows_have_the_dtype_of_the_call() -> None:
    found = stubbed(made={"count": ROW})
    assert found._argument(tensor("count"), False).dtype == np.int64
    found.space.measures = {"count": "T"}
    assert found._argument(tensor("count"), False).dtype == np.int32


def test_tensors_without_values_are_zeros_once_and_then_some_numbers() -> None:
    """Of the shape and dtype of the call; those of no layout have one element."""
    for name, kind in (("x", "f"), ("mask", "b"), ("count", "i"), ("bytes", "i")):
        found = stubbed()
        zeros = found._argument(tensor(name), True)
        assert zeros.shape == (2, 3) and not zeros.any() and name not in found.made
        drawn = [found._any(tensor(name)) for _ in range(9)]
        assert all(each.dtype.kind == kind and each.shape == (2, 3) for each in drawn)
        values = np.unique(np.concatenate(drawn))
        assert set(values.tolist()) == {0, 1} if kind in "bi" else len(values) > 40
        assert found._argument(tensor(name), False) is found.made[name]
        alone = tensor(name, layouts={})
        assert found._zeros(alone).shape == found._any(alone).shape == (1,)


def test_lists_have_as_many_zeros_as_the_contract_says() -> None:
    found = stubbed()
    spec = tensor(list_of=SimpleNamespace(evaluate=lambda env: 3))
    assert [each.shape for each in found._zeros(spec)] == [(2, 3)] * 3
    found._entries = lambda spec: ["one", "two"]
    found.env = {"split(x)": True}
    assert found._zeros(tensor(split=True)) == ["one", "two"]
    found.env = {"split(x)": False}
    assert found._zeros(tensor(split=True)).shape == found._zeros(tensor()).shape == (2, 3)


def test_choices_are_written_by_number_and_by_name() -> None:
    found = stubbed(env={"kind": 2, "free": 5})
    choices = {1: 1, "ONE": 1, 2: 2, "TWO": 2}
    found.space.operator.params = [
        SimpleNamespace(name="kind", choices=choices), SimpleNamespace(name="free", choices={}),
    ]  # fmt: skip
    told = [stubbed_number(found, number)._spelled() for number in (0, 1)]
    assert told == [{"kind": 2, "free": 5}, {"kind": "TWO", "free": 5}]


def stubbed_number(found: Any, number: int) -> Any:
    found.number = lambda name: number
    return found


def test_shapes_are_no_less_than_nothing() -> None:
    found = stubbed()
    for size, legal in ((0, True), (-1, False)):
        sizes = [SimpleNamespace(evaluate=lambda env, each=each: each) for each in (3, size)]
        found.layout = lambda name, sizes=sizes: SimpleNamespace(shape=lambda: sizes)
        if legal:
            assert Filler.shape(found, "x") == (3, 0)
        else:
            with pytest.raises(ShapeError, match="x has no shape"):
                Filler.shape(found, "x")


@pytest.mark.parametrize(
    ("query", "casts", "wanted"),
    [
        ("float16", ["bfloat16"], "float16"),
        ("int8", ["float16", "bfloat16"], "bfloat16"),
        ("int8", [], "int8"),
    ],
)
def test_results_of_integers_have_the_last_dtype_that_they_are_cast_to(
    query: str, casts: list[str], wanted: str
) -> None:
    found = stubbed(dtype=lambda name: query, roles=ArgumentRoles({"q": argument_roles.QUERY}))
    nodes = [object.__new__(Cast) for _ in casts]
    for node, dtype in zip(nodes, casts, strict=True):
        object.__setattr__(node, "dtype", dtype)
    found.graph = SimpleNamespace(nodes=nodes)
    assert found.io == wanted
    assert stubbed().io == "float16"


# Masks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [((9,), None), ((3, 9), None), ((2, 9), [2, 9]), ((2, 4, 9), [2, 1, 9]), ((2, 1, 4, 9), [2, 1, 1, 9])],
)
def test_which_keys_of_a_mask_of_batch_rows_are_valid(shape: tuple[int, ...], wanted: Any) -> None:
    valid = stubbed()._readable(shape, np.array([3, 9]))
    assert (valid is None) is (wanted is None)
    if valid is not None:
        assert list(valid.shape) == wanted and valid.reshape(2, 9).sum(axis=-1).tolist() == [3, 9]


@pytest.mark.parametrize(
    ("role", "dtype", "shows", "values"),
    [
        (argument_roles.MASK, "bool", False, {1}),
        (argument_roles.MASK, "int8", False, set(range(1, 100))),
        (argument_roles.MASK, "int8", True, set(range(1, 100))),
    ],
)
def test_what_masks_in_bytes_hold(
    monkeypatch: pytest.MonkeyPatch, role: str, dtype: str, shows: bool, values: set[int]
) -> None:
    """Any number that is not 0 hides, or shows, a key."""
    hidden = np.arange(600).reshape(2, 300) % 3 == 0
    monkeypatch.setattr(module, "pattern", lambda *of: hidden)
    monkeypatch.setattr(argument_roles, "shows_keys", lambda graph: {"m"} if shows else set())
    found = stubbed(roles=ArgumentRoles({"m": role}), dtype=lambda name: dtype, shape=lambda name: (2, 300))
    found.space.operator.tensor = lambda name: tensor("m")
    if dtype == "bool":
        found.rng = None  # nothing is drawn for what is 1 anyway
    found._masks()
    assert ((found.made["m"] != 0) == (~hidden if shows else hidden)).all()
    held = set(found.made["m"][found.made["m"] != 0].astype(int).tolist())
    assert held <= values and (len(values) == 1 or len(held) > 20)


@pytest.mark.parametrize("at_least", [True, False])
def test_masks_may_be_larger_than_they_must(at_least: bool) -> None:
    found = stubbed(roles=ArgumentRoles({"m": argument_roles.MASK}))
    found.space.operator.tensor = lambda name: tensor("m", at_least=at_least)
    shapes = set()
    for seed in range(20):
        found.rng = np.random.default_rng(seed)
        found._masks()
        shapes.add(found.made["m"].shape)
    assert shapes == ({(2, 3), (4, 5)} if at_least else {(2, 3)})


def test_added_masks_are_those_that_are_added_or_looked_at() -> None:
    """Of what is read by indices; no other tensor, and none that is made or absent."""
    roles = dict.fromkeys(("added", "made", "absent"), argument_roles.ADDED)
    found = stubbed(roles=ArgumentRoles({**roles, "query": argument_roles.QUERY}))
    rule = SimpleNamespace(tensors=lambda: {"indexed", "plain"})
    specs = {name: tensor(name, indexed=name == "indexed") for name in (
        "added", "made", "absent", "query", "indexed", "plain", "other",
    )}  # fmt: skip
    found.space.operator.tensors, found.space.operator.constraints = tuple(specs.values()), (rule,)
    found.present, found.made = frozenset(specs) - {"absent"}, {"made": 1}
    found._added_mask = lambda name, kind, count: f"{name} {kind}"
    found.assignment = {MASK: "rows"}
    found._masks()
    assert found.made == {"made": 1, "added": "added rows", "indexed": "indexed rows"}


@pytest.mark.parametrize(("probe", "rows"), [(True, [True, False]), (False, [True, True])])
def test_rows_of_added_masks_show_some_key_in_a_probe(
    monkeypatch: pytest.MonkeyPatch, probe: bool, rows: list[bool]
) -> None:
    """What other tensors hold is told, but for absent ones; scores with a slope are hidden wholly."""
    told: dict[str, Any] = {}

    class Some:
        def __init__(self, operator: Any, name: str, dtype: str, shape: Any, env: Any, rng: Any) -> None:
            told["env"] = env

        def fill(self, hidden: Any, *, exact: bool, wholly: bool) -> Any:
            told.update(hidden=hidden, exact=exact, wholly=wholly)
            return told.get("found")

    monkeypatch.setattr(module, "MaskFiller", Some)
    monkeypatch.setattr(module, "pattern", lambda *of: np.array([[True, False, True], [True] * 3]))
    found = stubbed(probe=probe, env={"n": 1, "absent": 0, "made": 0}, made={"made": 5})
    found.space.operator.tensors = (tensor("absent"), tensor("made"))
    for slope in (True, False):
        found.assignment, told["found"] = {SLOPE: 1.0} if slope else {}, "mask"
        assert found._added_mask("m", "random", np.array([3, 3])) == "mask"
        assert told["env"] == {"n": 1, "made": 5}
        assert told["hidden"].all(axis=-1).tolist() == [False, rows[1]]
        assert (told["exact"], told["wholly"]) == (probe, slope)
    told["found"] = None
    with pytest.raises(ShapeError, match="no legal content of m"):
        found._added_mask("m", "random", np.array([3, 3]))


@pytest.mark.parametrize(
    ("kind", "assignment", "share"),
    [("none", {SLOPE: 1.0}, 0.0), ("none", {SLOPE: 1.0, LOST: True}, 0.3), ("all", {SLOPE: 1.0}, 0.3),
     ("none", {}, 0.3)],
)  # fmt: skip
def test_nothing_is_forced_where_scores_decide(kind: str, assignment: dict[str, Any], share: float) -> None:
    forced = stubbed(assignment=assignment)._forced((3, 900), kind)
    assert abs(forced.mean() - share) < 0.15 and (share or not forced.any())


def test_few_blocks_are_forced_where_scores_shall_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less than are selected, at edges of tiles as the steps of windows tell."""
    told: list[Any] = []
    monkeypatch.setattr(
        module, "few_forced", lambda rng, shape, most, edges: told.append((most, edges.tolist()))
    )
    found = stubbed(assignment={FEW_FORCED: True}, extents={"X": 4})
    found.space.tiles = (12,)
    step = object.__new__(WindowSum)
    object.__setattr__(step, "step", SimpleNamespace(evaluate=lambda env: 4))
    found.graph.nodes = (object(), step)
    found._forced((2, 6), "random")
    assert told == [(4, [2, 3, 4, 5, 6, 7])]
    found.graph.nodes = ()
    found._forced((2, 13), "random")
    assert told[1] == (4, [11, 12, 13, 23, 24, 25])


# Integers and factors ---------------------------------------------------------------------------------------


def drawn(role: str, make: str = "_factors", count: int = 60, **more: Any) -> Any:
    """What a tensor of that role holds in some draws."""
    found = stubbed(roles=ArgumentRoles({"x": role, "query": argument_roles.QUERY}), **more)
    found.factor = lambda: 0.5
    found.space.operator.tensor = lambda name: tensor(name)
    values = []
    for seed in range(count):
        found.rng, found.made = np.random.default_rng(seed), {}
        getattr(found, make)()
        if "x" in found.made:
            values.append(np.asarray(found.made["x"], np.float64))
    return np.array(values)


INTEGER: dict[str, Any] = {"dtype": lambda name: "int8" if name == "query" else "float32"}


def test_scales_offsets_steps_and_weights() -> None:
    """Of results of int8, and of probabilities."""
    scale = drawn(argument_roles.OUT_SCALE)
    assert (
        (scale > 0).any() and (scale < 0).any() and (np.abs(scale) >= 4).all() and (np.abs(scale) <= 24).all()
    )
    assert np.abs(drawn(argument_roles.OUT_OFFSET)).max() > 8
    weights = drawn(argument_roles.PROBABILITY_FACTOR)
    assert set(np.unique(weights).tolist()) == {1.0, 0.5, 0.25, 0.0, -0.5, -1.0}
    assert np.allclose(np.unique(drawn(argument_roles.STEP)), [1 / 200, 1 / 127, 1 / 100, 1 / 64])


@pytest.mark.parametrize(
    ("probe", "slope", "wanted", "alike"),
    [
        (True, False, 0.1 / 0.5, True),
        (False, False, 16**-0.5 / 1600 / 0.5, False),
        (True, True, 1 / 1600 / 0.5, True),
        (False, True, 1 / 1600 / 0.5, False),
    ],
)
def test_factors_of_integer_scores(probe: bool, slope: bool, wanted: float, alike: bool) -> None:
    """Such that scores are of order 1, or as high as a slope says."""
    assignment = {SLOPE: 1.0} if slope else {}
    extents = {"B": 2, "T": 9, "D": 16}
    found = drawn(argument_roles.SCORE_FACTOR, probe=probe, assignment=assignment, extents=extents, **INTEGER)
    ratio = found / wanted
    assert np.allclose(ratio, 1) if alike else ratio.min() < 0.8 and ratio.max() > 1.2
    assert ratio.min() >= (0.7 if slope and not probe else 0.49) and ratio.max() <= (1.26 if slope else 1.51)


@pytest.mark.parametrize("looked_at", [True, False])
def test_temperatures_lie_to_both_sides_of_one(looked_at: bool) -> None:
    """To one where constraints may know a least; in some cases they are 1."""
    found = drawn(argument_roles.SCORE_FACTOR, _is_looked_at=lambda name: looked_at)
    plain = (found == 1).all(axis=(1, 2))
    assert 8 < plain.sum() < 30 and found.max() > 1.9 and found.max() <= 2
    assert 0.5 <= found.min() < 0.6 if not looked_at else found.min() == 1


@pytest.mark.parametrize("looked_at", [True, False])
def test_gains_have_signs_and_some_are_powers_of_two(looked_at: bool) -> None:
    found = drawn(argument_roles.OUT_FACTOR, _is_looked_at=lambda name: looked_at)
    powers = np.log2(np.abs(found))
    share = (powers == np.rint(powers)).mean()
    assert 0.15 < share < 0.45 and (found > 0).any() and bool((found < 0).any()) is not looked_at
    whole = np.log2(np.abs(drawn(argument_roles.OUT_FACTOR, **INTEGER)))
    assert set(np.unique(whole).tolist()) == {-7.0, -6.0, -5.0, -4.0}


def test_slopes_of_heads() -> None:
    """Those of a probe are flat; others as documents have them, of either sign."""
    flat = drawn(argument_roles.SLOPE, probe=True)
    assert set(np.round(np.unique(flat) * 36, 5).tolist()) == {-1.0, 1.0}
    steep = drawn(argument_roles.SLOPE)
    heads = -(2.0 ** (-8.0 * (np.arange(6).reshape(2, 3) + 1) / 6))
    ratio = steep / heads
    assert set(np.round(np.unique(ratio), 4).tolist()) == {1.0, -0.125}


def test_paddings_and_limits_are_drawn_where_nobody_has() -> None:
    """And no lengths are paddings, nor limits what constraints look at."""
    found = drawn(
        argument_roles.START, "_integers", dtype=lambda name: "int32", rows_counted=lambda: np.array([3, 4])
    )
    assert set(np.unique(found).tolist()) == {0, 5, 2, -3, 6}
    limits = drawn(argument_roles.LIMIT, "_integers", dtype=lambda name: "int32")
    assert limits.min() == 0 and limits.max() == 9 and len(np.unique(limits)) == 10
    edges = [set(np.unique(each).tolist()) <= {0, 1, 8, 9} for each in limits]
    assert 10 < sum(edges) < 50
    assert not drawn(argument_roles.LIMIT, "_integers", _is_looked_at=lambda name: True).size
    for role in (argument_roles.START, argument_roles.LIMIT, argument_roles.LISTS):
        found = stubbed(roles=ArgumentRoles({"x": role}), made={"x": "made"})
        found.space.operator.tensor = lambda name: tensor(name)
        found._integers()
        assert found.made == {"x": "made"}
    lengths = stubbed(roles=ArgumentRoles({"x": argument_roles.START}))
    lengths.space.operator.tensor = lambda name: tensor(name, kind="lengths")
    lengths._integers()
    assert lengths.made == {}


def lists(count: str | None) -> Any:
    node = object.__new__(Selected)
    for name, value in {"blocks": "blocks", "count": count}.items():
        object.__setattr__(node, name, value)
    object.__setattr__(node, "size", SimpleNamespace(evaluate=lambda env: 4))
    return node


@pytest.mark.parametrize("count", ["counts", None])
def test_lists_of_blocks(monkeypatch: pytest.MonkeyPatch, count: str | None) -> None:
    """Of 30 keys there are eight blocks of four; with numbers of entries where a list has them."""
    monkeypatch.setattr(argument_roles, "input_name", lambda node: node or "")
    shares, odd, counts = set[float](), set[int](), set[int]()
    for seed in range(80):
        found = stubbed(rng=np.random.default_rng(seed), extents={"B": 2, "T": 30, "X": 5})
        found.dtype, found.shape = lambda name: "int64", lambda name: (1, 400)
        found.graph.nodes = (object(), lists(count))
        found._integers()
        assert found.made.keys() == {"blocks", *([count] if count else [])}
        entries = found.made["blocks"]
        unused = (entries < 0) | (entries >= 8)
        odd |= set(entries[unused].tolist())
        shares.add(min((abs(share - unused.mean()), share) for share in (0.0, 0.1, 0.5, 1.0))[1])
        counts |= set(found.made.get("counts", np.zeros(0)).reshape(-1).tolist())
    assert odd == {-1, -7, 8, 2**31 - 1} and shares == {0.0, 0.1, 0.5, 1.0}
    assert counts == (set(range(6)) if count else set())


def test_tables_of_pages() -> None:
    """Each used entry has a page of its own where there are enough; sometimes all share the first."""
    shared, behind = 0, set[int]()
    for seed in range(40):
        found = stubbed(rng=np.random.default_rng(seed), extents={"R": 4}, shape=lambda name: (2, 5))
        found.dtype, found._pages = lambda name: "int32", lambda name: 9
        table = found._table("x", np.array([9, 4]))
        used = [table[0, :3].tolist(), table[1, :1].tolist()]
        same = used[0][0] == used[1][0]
        shared += same
        assert all(0 <= page < 9 for row in used for page in row)
        assert same or len({*used[0], *used[1]}) == 4
        behind |= set(table[0, 3:].tolist()) | set(table[1, 1:].tolist())
        found._pages = lambda name: 2
        few = found._table("x", np.array([9, 4]))
        assert set(few[0, :3].tolist()) <= {0, 1}
    assert 4 < shared < 25 and behind == {-1, 9, 2**31 - 1}


def test_a_table_names_pages_of_the_smallest_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which has a size of its own, or that of the axis; of none there is one page all the same."""
    monkeypatch.setattr(argument_roles, "input_name", lambda node: node)
    nodes = []
    for cache, table in (("one", "mine"), ("two", "mine"), ("three", "other")):
        node = object.__new__(Paged)
        object.__setattr__(node, "tensor", cache)
        object.__setattr__(node, "table", table)
        nodes.append(node)
    sizes: dict[str, int | None] = {}

    def layout(name: str) -> Any:
        size = sizes[name]
        own = {} if size is None else {"P": SimpleNamespace(evaluate=lambda env: size)}
        return SimpleNamespace(own_extents=own)

    found = stubbed(layout=layout, extents={"P": 7})
    found.graph.nodes = (object(), *nodes)
    for one, two, wanted in ((None, None, 7), (5, None, 5), (9, None, 7), (9, 8, 8), (0, 3, 1)):
        sizes.update({"one": one, "two": two, "three": 2})
        assert found._pages("mine") == wanted
