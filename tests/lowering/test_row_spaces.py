"""Row spaces: which rows a task has, where they are stored, how they are numbered."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from attndsl.expr import Const, Expr, Symbol
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.rows.decoding_rows import DecodingRows
from attndsl.lowering.rows.grouped_rows import GroupedRows
from attndsl.lowering.rows.positioned_rows import PackedTokens, PaddedRows
from attndsl.lowering.rows.row_space import RowRun
from attndsl.target import MemorySpace
from attndsl.tile.statements import For, Let, Note, Statement
from tests.support.builders import (
    DECODING,
    PACKED,
    PADDED,
    attention,
    context,
    contexts,
    dense,
    elementwise,
    lengths,
    lines,
    masked,
    scalar,
    tensor,
    text,
)

POSITIONS = Symbol("Q")
EXISTING = masked(Symbol("i") >= Symbol("limit"), 0.0)


def decoding(**options: Any) -> Context:
    return context(attention(DECODING), **options)


def padded(**options: Any) -> Context:
    return context(attention(PADDED, epilogue=[EXISTING]), positions=POSITIONS, **options)


def packed(**options: Any) -> Context:
    return context(attention(PACKED), positions=POSITIONS, **options)


def grouped() -> Context:
    """The first of two attentions: its keys are those of a group of batch rows."""
    group = scalar(Symbol("b") // 4, "B")
    shared = nodes.Listed(
        tensors=tensor("prefix", ("G", "K", "T", "D")), index=group, axes=("B", "K", "T", "D")
    )
    query = tensor("query", DECODING)
    parts = tuple(attention(query, keys).source for keys in (shared, dense("key")))
    merged = nodes.LogSumExpMerge(parts=parts)
    output = nodes.Output(name="out", source=merged, dtype="query", axes=("B", "N", "Q", "E"))
    return contexts(output)[0]


def fields(c: Context) -> dict[str, str]:
    return {field.name: str(field.value).replace("tiling.", "") for field in c.inventory.fields}


def defined(statements: list[Statement]) -> dict[str, Expr]:
    return {each.symbol.name: each.value for each in statements if isinstance(each, Let)}


def note(value: Any) -> Statement:
    shown = f"rows {value.rows} along {value.along}" if isinstance(value, RowRun) else f"row {value}"
    return Note(text=shown)


def test_the_kind_follows_from_how_queries_are_stored() -> None:
    assert [type(c.rows) for c in (decoding(), padded(), packed(), grouped())] == [
        DecodingRows,
        PaddedRows,
        PackedTokens,
        GroupedRows,
    ]
    one_position = context(attention(PADDED))  # the axis has the size 1
    assert type(one_position.rows) is DecodingRows


def test_tasks_of_decoding_rows_are_batch_rows_and_heads() -> None:
    c = decoding()
    c.rows.tasks(c)
    found = fields(c)
    assert found["rowsPerTask"] == "headsPerTask" and found["tasks"] == "B * kvHeads * headTiles"
    assert "queriesPerTask" not in found


def test_tasks_of_several_positions_are_cut_by_positions_too() -> None:
    c = padded(max_rows=32)
    c.rows.tasks(c)
    found = fields(c)
    assert found["queriesPerTask"] == "max(1, maxRows // max(headsPerTask, 1))"
    assert found["queryTiles"] == "ceil_div(Q, queriesPerTask)"
    assert found["rowsPerTask"] == "headsPerTask * queriesPerTask"
    assert found["tasks"] == "B * kvHeads * headTiles * queryTiles"


def test_tasks_of_grouped_rows_are_list_entries_and_members() -> None:
    c = grouped()
    c.rows.tasks(c)
    found = fields(c)
    assert found["rowsPerTaskPrefix"] == "headsPerTask * membersPerTask"
    assert found["tasksPrefix"] == "G * kvHeads * headTiles * memberTiles"


@pytest.mark.parametrize("make", [decoding, padded, packed])
def test_tasks_cover_every_row_once(make: Any) -> None:
    """All tasks of a call with numbers, evaluated: their rows are all heads at all existing positions."""
    sizes = {"B": 3, "N": 6, "K": 2, "Q": 1 if make is decoding else 5, "S": 8, "limit": 5}
    ends = np.array([2, 3, 8])
    c = make(max_rows=16)
    c.rows.tasks(c)
    for field in c.inventory.fields:
        sizes[field.name] = field.value.evaluate({**sizes, **{f"tiling.{k}": v for k, v in sizes.items()}})
    seen = []
    for task in range(sizes["tasks"]):
        env: dict[str, Any] = {**sizes, "task": task, "queryEnds": ends}
        for name, value in defined(c.rows.enter(c)).items():
            env[name] = value.evaluate(env)
        for row in range(env["taskRows"]):
            head = env["firstHead"] + row % env["heads"]
            seen.append((env["batch"], head, env.get("firstQuery", 0) + row // env["heads"]))
    counts = {decoding: [1, 1, 1], padded: [5, 5, 5], packed: [2, 1, 5]}[make]
    every = [(b, n, i) for b, n in product(range(3), range(6)) for i in range(counts[b])]
    assert sorted(seen) == every


def test_decoding_rows_reach_l1_in_one_copy() -> None:
    c = decoding()
    target = c.buffer("queryL1", MemorySpace.L1, "float16", 64 * 64, "")
    (copy,) = lines(c.rows.load_query(c, target))
    assert "heads x headDim pitch queryStrideN" in copy
    assert "query[batch * queryStrideB + firstHead * queryStrideN" in copy


def test_positions_reach_l1_in_one_copy_unless_they_are_too_far_apart() -> None:
    c = packed()
    target = c.buffer("queryL1", MemorySpace.L1, "float16", 64 * 64, "")
    found = lines(c.rows.load_query(c, target))
    assert found[0] == "if heads == 1 and queryStrideS <= 65535:"
    assert "queries x headDim pitch queryStrideS" in found[1]
    assert found[2:4] == ["else:", "if queryStrideS <= 65535:"]
    assert "queries times pitch queryStrideS" in found[4] and "heads x headDim pitch queryStrideN" in found[4]
    assert found[5:7] == ["else:", "for position in 0..queries:"]
    assert "(firstToken + firstQuery + position) * queryStrideS" in found[7]


def test_scaled_queries_are_read_where_the_factor_is_not_one() -> None:
    stored = tensor("query", DECODING)
    times = nodes.Elementwise(op="multiply", inputs=(stored, scalar(Symbol("scale"))), axes=DECODING)
    c = context(attention(nodes.Cast(source=times, dtype="float16", axes=DECODING)))
    target = c.buffer("queryL1", MemorySpace.L1, "float16", 64 * 64, "")
    found = lines(c.rows.load_query(c, target))
    assert found[0] == "if queryIsScaled:" and "<- scaledQuery[" in found[1]
    assert found[2] == "else:" and "<- query[" in found[3]
    assert c.rows.scaled is not None
    stage = text(c.rows.scaled.stage(c))
    assert "queryWide[elements] = Muls(queryWide[elements], scale)" in stage
    assert "scaledQuery[firstElement" in stage


def test_queries_that_are_computed_otherwise_are_refused() -> None:
    stored = tensor("query", DECODING)
    added = nodes.Elementwise(op="add", inputs=(stored, scalar(Symbol("scale"))), axes=DECODING)
    with pytest.raises(NotLowered, match="otherwise than by a factor"):
        context(attention(nodes.Cast(source=added, dtype="float16", axes=DECODING)))


def test_each_row_defines_its_indices() -> None:
    assert lines(decoding().rows.each_row(note)) == [
        "for row in 0..stepRows:",
        "head := firstHead + rowBegin + r0 + row",
        "# row row",
    ]
    assert lines(padded().rows.each_row(note)) == [
        "for row in 0..stepRows:",
        "head := firstHead + (rowBegin + r0 + row) % heads",
        "queryIndex := firstQuery + (rowBegin + r0 + row) // heads",
        "# row row",
    ]
    assert lines(grouped().rows.each_row(note))[1:] == [
        "head := firstHead + (rowBegin + r0 + row) % heads",
        "rowBatch := memberRows[(rowBegin + r0 + row) // heads]",
        "# row row",
    ]


def test_runs_are_as_long_as_neighbours_are_stored_evenly() -> None:
    assert lines(decoding().rows.each_run(note)) == ["# rows stepRows along N"]
    found = lines(packed().rows.each_run(note))
    assert found[0] == "if heads == 1:" and "# rows stepRows along S" in found
    assert found[-1] == "# rows 1 along N"
    assert "if heads == 1:" not in lines(packed().rows.each_run(note, spread=False))
    assert lines(grouped().rows.each_run(note))[-1] == "# rows 1 along N"


class Stored:
    """What a step's runs of stored rows come to, of a task of so many heads."""

    def __init__(self, made: Context, heads: int, begin: int, step: int, rows: int) -> None:
        self.env = {"heads": heads, "rowBegin": begin, "r0": step, "stepRows": rows, "rows": step + rows}
        self.env |= {"firstHead": 0, "firstQuery": 0}
        self.found: list[tuple[int, int]] = []
        self.pitches: set[str] = set()
        for each in made.rows.length_of_stored_runs():
            self.run(each)
        self.run(made.rows.each_stored_run(self.note))

    def note(self, run: RowRun) -> Statement:
        self.made = run
        return Note(text="stored")

    def run(self, tree: Statement) -> None:
        if isinstance(tree, Let):
            self.env[tree.symbol.name] = tree.value.evaluate(self.env)
        elif isinstance(tree, For):
            for number in range(tree.begin.evaluate(self.env), tree.end.evaluate(self.env)):
                self.env[tree.var.name] = number
                self.run(tree.body)
        elif isinstance(tree, Note) and tree.text == "stored":
            self.store()
        else:
            for child in tree.children():
                self.run(child)

    def store(self) -> None:
        first, count = (int(each.evaluate(self.env)) for each in (self.made.row, self.made.rows))
        along = self.made.pitch(Symbol).evaluate(
            {"S": "positions", "Q": "positions", "N": "heads"} | self.env
        )
        head, query = self.env["head"], self.env["queryIndex"]
        self.pitches.add(along)
        for number in range(count):
            at = (head, query + number) if along == "positions" else (head + number, query)
            assert len(self.found) == first + number
            self.found.append(at)


@pytest.mark.parametrize("make", [packed, padded], ids=["packed", "padded"])
@pytest.mark.parametrize("heads", [1, 2, 3, 8, 40])
def test_runs_of_stored_rows_cover_a_step(make: Any, heads: int) -> None:
    """Row r of a task is head r % heads at position r // heads, wherever the step begins."""
    for begin, step, rows in ((0, 0, 16), (5, 16, 16), (32, 0, 7), (24, 16, 1)):
        stored = Stored(make(), heads, begin, step, rows)
        first = begin + step
        assert stored.found == [(row % heads, row // heads) for row in range(first, first + rows)]
        assert stored.pitches == {"positions" if heads == 1 else "heads"}


def test_a_tensor_without_the_axis_of_runs_does_not_spread() -> None:
    bias = tensor("bias", ("B", "T"), "float32")
    c = context(attention(DECODING, scores=[elementwise("add", bias)]))
    assert c.rows.has_nonzero_stride(c, "query") and not c.rows.has_nonzero_stride(c, "bias")
    assert c.rows.has_nonzero_stride(c, "bias", within="N")  # no layout has the axis


@pytest.mark.parametrize(
    ("make", "offset"),
    [
        (decoding, "batch * outStrideB + head * outStrideN"),
        (padded, "batch * outStrideB + head * outStrideN + queryIndex * outStrideQ"),
        (packed, "(firstToken + queryIndex) * outStrideS + head * outStrideN"),
        (grouped, "rowBatch * outStrideB + head * outStrideN"),
    ],
)
def test_result_rows_are_placed(make: Any, offset: str) -> None:
    c = make()
    one = c.rows.place(c, "out", RowRun(Const(0), Const(1), "N"), c.value_dim)
    several = c.rows.place(c, "out", RowRun(Const(0), Symbol("stepRows"), "N"), c.value_dim)
    assert str(one.offset) == str(several.offset) == offset
    assert (str(one.pitch), str(several.pitch)) == ("0", "outStrideN")


@pytest.mark.parametrize(
    ("make", "total", "number"),
    [
        (decoding, "B * N", "batch * queryHeads + head"),
        (padded, "B * Q * N", "(batch * Q + queryIndex) * queryHeads + head"),
        (packed, "S * N", "(firstToken + queryIndex) * queryHeads + head"),
        (grouped, "B * N", "rowBatch * queryHeads + head"),
    ],
)
def test_result_rows_are_numbered(make: Any, total: str, number: str) -> None:
    c = make()
    assert str(c.rows.row_total(c)) == total
    first, distance = c.rows.flat_row_index(c, RowRun(Const(0), Const(1), "N"))
    assert (str(first), str(distance)) == (number, "1")


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (decoding, {"batch": "token"}),
        (padded, {"batch": "token // Q", "queryIndex": "token % Q"}),
        (packed, {"firstToken": "token", "queryIndex": "0"}),
        (grouped, {"batch": "token", "rowBatch": "token"}),
    ],
)
def test_a_token_defines_what_numbers_a_row(make: Any, found: dict[str, str]) -> None:
    c = make()
    scalars = defined(c.rows.enter_token(c, Symbol("token")))
    assert {name: str(value) for name, value in scalars.items()} == found


def test_only_padded_rows_have_positions_that_do_not_exist() -> None:
    found = [c.rows.existing_queries(c) for c in (decoding(), padded(), packed(), grouped())]
    assert [None if each is None else str(each) for each in found] == [None, "limit", None, None]


def test_rows_are_grouped_only_where_batch_rows_share_everything() -> None:
    own = lengths("prefixLengths")
    shared = nodes.Listed(
        tensors=tensor("prefix", ("G", "K", "T", "D")),
        index=scalar(Symbol("b") // 4, "B"),
        length=own,
        axes=("B", "K", "T", "D"),
    )
    query = tensor("query", DECODING)
    parts = tuple(attention(query, keys).source for keys in (shared, dense("key")))
    merged = nodes.LogSumExpMerge(parts=parts)
    output = nodes.Output(name="out", source=merged, dtype="query", axes=("B", "N", "Q", "E"))
    assert type(contexts(output)[0].rows) is DecodingRows  # each batch row has a length of its own
    assert type(contexts(output)[1].rows) is DecodingRows


def test_as_many_members_are_collected_as_a_task_may_have_rows() -> None:
    """By the constant that the schedule header has: who edits it there has edited the array."""
    c = grouped()
    assert isinstance(c.rows, GroupedRows)
    rows = c.rows.in_flight(Const(2), Symbol("coming"))
    assert rows.member_rows.capacity == c.max_rows.value
    assert str(rows.member_rows.size) == f"2 * {c.max_rows.name}"
    assert str(rows.first_member) == f"coming * {c.max_rows.name}"
    assert any(each.named.same(rows.member_rows.most) for each in c.inventory.constants)
