"""Key sources: the segments in which the rows of a tile lie, and what a task defines for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from attndsl.expr import Const, Load, Symbol, select
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.keys.append_rows import append_rows, appended_sources
from attndsl.lowering.keys.compositions import COMPOSITIONS, WRITTEN
from attndsl.lowering.keys.source_rules import SOURCES, STORED_FORMS
from attndsl.lowering.rows.row_segments import RowSegment
from attndsl.target import MemorySpace
from attndsl.tile.buffers import Buffer
from attndsl.tile.statements import Note, Statement
from tests.support.builders import attention, context, dense, lengths, lines, scalar, tensor, text

AXES = ("B", "K", "T", "D")
DENSE = "batch * keyStrideB + kvHead * keyStrideK"


def packed(name: str, **more: Any) -> nodes.Packed:
    return nodes.Packed(tensor=tensor(name, ("U", "K", "D")), axes=AXES, **more)


def paged() -> nodes.Paged:
    stored, table = tensor("key", ("P", "K", "R", "D")), tensor("table", ("B", "W"), "int32")
    return nodes.Paged(tensor=stored, table=table, block_size=Symbol("R"), length=lengths("lens"), axes=AXES)


def appended(cache: nodes.Rows) -> nodes.CacheAppend:
    new = packed("newKey", ends=lengths("ends"))
    return nodes.CacheAppend(
        cache=cache, rows=new, position=lengths("positions"), length=lengths("lens"), axes=AXES
    )


def ring() -> nodes.Ring:
    return nodes.Ring(source=dense("key"), size=Symbol("size"), axes=AXES)


def quantized(offset: bool = False) -> nodes.Dense:
    def of_channels(index: int) -> nodes.Take:
        return nodes.Take(source=tensor("scales", ("C", "K", "D")), axis="C", index=index, axes=("K", "D"))

    stored = tensor("key", AXES, "int8")
    numbers = nodes.Dequantize(
        source=stored, scale=of_channels(0), offset=of_channels(1) if offset else None, axes=AXES
    )
    return nodes.Dense(tensor=numbers, axes=AXES)


def shown(segment: RowSegment) -> Statement:
    rows = f"{segment.tensor.name} from {segment.at}, {segment.rows} rows"
    return Note(text=f"{rows} at {segment.offset} by {segment.pitch}")


def segments(c: Context) -> list[str]:
    """What a tile defines, and the segments of some of its rows."""
    found = c.keys.segments(c, Symbol("n0"), Symbol("count"), shown, ())
    return [*lines(c.keys.locate(c)), *lines(found)]


def loaded(c: Context) -> str:
    """How some rows of a tile come to L1."""
    target = Buffer(name="keyL1", space=MemorySpace.L1, dtype=c.cube_dtype, size=Const(8192))
    return text(c.keys.load(c, target, Symbol("n0"), Symbol("count"), Const(0), Const(64)))


def test_dense_rows_are_one_segment() -> None:
    c = context(attention(keys=dense("key")))
    assert c.keys.enter(c) == [] and str(c.keys.valid_rows(c)) == "keyCapacity"
    assert segments(c) == [
        f"keyTile := {DENSE} + firstKey * keyStrideT",
        "# key from 0, count rows at keyTile + n0 * keyStrideT by keyStrideT",
    ]


def test_rows_from_a_start_on_are_none_where_one_lies_outside() -> None:
    c = context(attention(keys=dense("key", start=lengths("starts"), length=lengths("lens"))))
    assert str(c.keys.first(c)) == "starts[batch]"
    most = "min(lens[batch], keyCapacity)"  # what the tensor holds
    outside = f"starts[batch] < 0 or starts[batch] + {most} > keyCapacity"
    assert str(c.keys.valid_rows(c)) == f"0 if {outside} else {most}"


def test_packed_rows_begin_where_those_of_the_batch_row_before_end() -> None:
    c = context(attention(keys=packed("key", ends=lengths("ends"))))
    before = "0 if batch == 0 else ends[batch - 1]"
    assert lines(c.keys.enter(c)) == [f"keyStart := {before}"]
    assert str(c.keys.valid_rows(c)) == f"min(ends[batch] - ({before}), keyCapacity)"
    assert segments(c)[0] == "keyTile := kvHead * keyStrideK + (keyStart + firstKey) * keyStrideU"


def test_packed_rows_of_lengths_begin_after_the_sum_of_those_before() -> None:
    c = context(attention(keys=packed("key", length=lengths("lens"))))
    assert lines(c.keys.enter(c)) == ["keyStart := sum(lens[b] for b < batch)"]
    assert str(c.keys.valid_rows(c)) == "min(lens[batch], keyCapacity)"


def test_packed_rows_without_lengths_are_refused() -> None:
    c = context(attention(keys=packed("key")))
    with pytest.raises(NotLowered, match="packed rows without lengths"):
        c.keys.enter(c)


def test_pages_are_read_from_the_table_once_each() -> None:
    place = "table[batch * tableStrideB + page] * keyStrideP + kvHead * keyStrideK"
    assert segments(context(attention(keys=paged()))) == [
        "firstRow := firstKey + n0",
        "for page in firstRow // R..ceil_div(firstRow + count, R):",
        "pageBegin := max(page * R, firstRow)",
        "pageEnd := min(page * R + R, firstRow + count)",
        f"pageOffset := {place} + (pageBegin - page * R) * keyStrideR",
        "# key from pageBegin - firstRow, pageEnd - pageBegin rows at pageOffset by keyStrideR",
    ]


def test_a_ring_is_read_turn_by_turn() -> None:
    found = segments(context(attention(keys=ring())))
    assert found[2] == "for ringTurn in firstRow // size..ceil_div(firstRow + count, size):"
    assert found[5] == f"ringTurnOffset := {DENSE} + (ringTurnBegin - ringTurn * size) * keyStrideT"


def test_a_list_gives_each_batch_row_its_tensor_or_none() -> None:
    index = lengths("groups")
    stored = tensor("key", ("G", "K", "T", "D"))
    c = context(attention(keys=nodes.Listed(tensors=stored, index=index, axes=AXES)))
    assert str(c.keys.has_rows(c)) == "groups[batch] >= 0"
    assert str(c.keys.valid_rows(c)) == "0 if groups[batch] < 0 else keyCapacity"
    assert "max(groups[batch], 0) * keyStrideG" in segments(c)[0]


@pytest.mark.parametrize(("asked", "left"), [(0, ""), (1, " if groups[batch] >= 1 else 0")])
def test_a_length_that_asks_for_a_tensor_need_not_where_there_is_one(asked: int, left: str) -> None:
    """Another question than whether there is a tensor stays."""
    b = Symbol("b")
    group = Load("groups", b)
    length = scalar(select(group >= asked, Load("lens", group), 0), "B")
    stored = tensor("key", ("G", "K", "T", "D"))
    keys = nodes.Listed(tensors=stored, index=lengths("groups"), length=length, axes=AXES)
    c = context(attention(keys=keys))
    rows = f"min(lens[groups[batch]]{left}, keyCapacity)"
    assert str(c.keys.valid_rows(c)) == f"0 if groups[batch] < 0 else {rows}"


def test_a_window_keeps_the_numbers_of_its_rows() -> None:
    inner = context(attention(keys=dense("key")))
    c = context(attention(keys=nodes.Windowed(source=dense("key"), start=lengths("starts"), axes=AXES)))
    assert segments(c) == segments(inner)
    assert str(c.keys.first(c)) == "starts[batch]" and inner.keys.first(inner) is None


def test_appended_rows_are_read_where_the_call_passes_them() -> None:
    c = context(attention(keys=appended(dense("key"))))
    assert "keyPosition := positions[batch]" in lines(c.keys.enter(c))
    new = "newKeyTile + (n0 + cachedRows - keyPosition) * newKeyStrideU by newKeyStrideU"
    assert segments(c)[2:] == [
        "cachedRows := max(0, min(count, keyPosition - firstKey - n0))",
        "if cachedRows > 0:",
        "# key from 0, cachedRows rows at keyTile + n0 * keyStrideT by keyStrideT",
        "if count > cachedRows:",
        f"# newKey from cachedRows, count - cachedRows rows at {new}",
    ]


@pytest.mark.parametrize("make", [dense, ring])
def test_new_rows_are_written_into_their_cache(make: Any) -> None:
    cache = make("key") if make is dense else make()
    c = context(attention(keys=appended(cache)))
    sources = appended_sources(c.keys, c.values)
    assert [each.role for each in sources] == ["key"]
    stage = append_rows(c, sources)
    assert stage.after_all_cores is (make is ring)  # only there do new rows overwrite old ones that are read
    found = lines(stage.body)
    slot = "keyPosition + newRow" if make is dense else "(keyPosition + newRow) % size"
    assert f"cacheRow := {slot}" in found
    assert any(line.startswith("MTE3  key[") for line in found)


def test_nothing_is_appended_to_plain_caches() -> None:
    c = context(attention(keys=ring()))
    assert appended_sources(c.keys, c.values) == ()


def in_a_ring(source: nodes.Rows) -> nodes.Ring:
    return nodes.Ring(source=source, size=Symbol("size"), axes=AXES)


def windowed(source: nodes.Rows) -> nodes.Windowed:
    return nodes.Windowed(source=source, start=lengths("starts"), axes=AXES)


@pytest.mark.parametrize(
    ("rows", "what", "instead"),
    [
        (
            appended(paged()),
            "attend.append over attend.paged",
            "before the call, and read all of them by",
        ),
        (in_a_ring(paged()), "attend.ring over attend.paged", r"attend.window\(attend.paged"),
        (in_a_ring(quantized()), "attend.ring over attend.dequantize", "hold numbers of the query's dtype"),
        (in_a_ring(windowed(dense("key"))), "attend.ring over attend.window", r"attend.window\(attend.ring"),
        (in_a_ring(appended(dense("key"))), "attend.ring over attend.append", r"attend.append\(attend.ring"),
    ],
)
def test_what_kernels_do_not_read_is_refused_with_a_way_out(
    rows: nodes.Rows, what: str, instead: str
) -> None:
    with pytest.raises(NotLowered, match=f"{what} has no lowering rule yet; .*{instead}"):
        context(attention(keys=rows))


def test_new_rows_lie_in_a_tensor_of_their_own() -> None:
    plain = appended(dense("key"))
    with pytest.raises(NotLowered, match=r"new rows of attend.window .* by one of attend.rows, "):
        context(attention(keys=replace(plain, rows=windowed(dense("newKey")))))


def test_every_source_says_how_it_is_written_and_what_it_adapts() -> None:
    assert {*SOURCES, *STORED_FORMS} == WRITTEN.keys()
    assert COMPOSITIONS.keys() == {kind for kind in SOURCES if {"source", "cache"} & {*kind.__annotations__}}


def test_quantized_rows_pass_through_a_ring_of_their_own() -> None:
    c = context(attention(keys=quantized(offset=True)))
    assert c.cube_dtype == "float16" and c.keys.quantization is not None
    load = loaded(c)
    assert "keyRing[slot * tileKeys * paddedHeadSize + n0 * fractal" in load
    widen = text(c.keys.widen(c))  # type: ignore[attr-defined]
    assert "float16 Nz" in widen and "MTE3  keyRing[slot * tileKeys * paddedHeadSize + k0 * fractal" in widen


def test_a_window_of_quantized_rows_is_loaded_from_their_ring() -> None:
    start = tensor("starts", ("B",), "int64")
    window = nodes.Windowed(source=quantized(), start=start, axes=AXES)
    c = context(attention(keys=window))
    load = loaded(c)
    assert "<- keyRing[" in load


def test_bfloat16_keys_are_multiplied_as_they_are_quantized_ones_in_float16() -> None:
    plain = context(attention(), dtype="bfloat16")
    assert (plain.cube_dtype, plain.product_dtype) == ("bfloat16", "float32")
    assert context(attention(keys=quantized()), dtype="bfloat16").cube_dtype == "float16"


def test_a_kind_of_rows_without_a_rule_is_refused() -> None:
    with pytest.raises(NotLowered, match="Rows"):
        context(attention(keys=nodes.Rows(axes=AXES, length=nodes.Scalar(value=Const(1)))))
