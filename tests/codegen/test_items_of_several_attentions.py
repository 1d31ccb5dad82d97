"""Kernels of several attentions: items of one struct, decoded by a function an attention, or one for all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import pytest

from attndsl import ops
from attndsl.base.errors import InternalError
from attndsl.codegen.kernel.function_text import Function
from attndsl.codegen.kernel.item_decoding import ItemDecodings, item_decodings
from attndsl.codegen.kernel.shared_stages import shared_stages
from attndsl.codegen.kernel.statements import Writer
from attndsl.codegen.names.spelling import Spelling
from attndsl.codegen.samples.device_files import device_files, kernel_path
from attndsl.compiler.compile import compile_operator
from attndsl.expr import Const, Expr, Scope, Symbol
from attndsl.lowering.signature.specialization import Specialization
from attndsl.target import Core, MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor, ScalarArray
from attndsl.tile.instructions import LoadRows
from attndsl.tile.naming import stage_name
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, Program, TilingField
from attndsl.tile.statements import Collect, Either, For, If, Let, Stage, Statement, seq
from tests.support.devices import DEVICE

TURN, TASK, BATCH, HEAD, KEYS, ROWS = (
    Symbol(name) for name in ("turn", "task", "batch", "kvHead", "keyEnd", "rows")
)
MEMBER, COUNT = Symbol("candidate"), Symbol("members")
UB = Buffer(name="rows", space=MemorySpace.UB, dtype="float32", size=Const(64))
KEY, SHARE = (GlobalTensor(name=name, dtype="float32", role="input") for name in ("key", "keyShare"))
LENGTHS = GlobalTensor(name="lengths", dtype="int64", role="scalars")
MEMBERS = ScalarArray(name="memberRows", capacity=8)
ITEMS = {name: TilingField(f"items{name}", "int64", Const(1), "items") for name in ("Key", "KeyShare")}
TENSORS = {"Key": KEY, "KeyShare": SHARE}


def decoded(name: str, *more: Statement, batch: int = 7) -> list[Statement]:
    items = ITEMS[name].symbol
    return [
        Let(symbol=TASK, value=TURN % items),
        Let(symbol=BATCH, value=TASK // batch),
        Let(symbol=HEAD, value=TASK % batch),
        Let(symbol=KEYS, value=BATCH * items),
        *more,
    ]


def collect(name: str = "Key", limit: int = 4, array: ScalarArray = MEMBERS) -> list[Statement]:
    """The batch rows of a task, and the first of them."""
    return [
        Collect(array=array, count=COUNT, index=MEMBER, extent=KEYS, condition=MEMBER % limit == HEAD),
        Let(symbol=ROWS, value=COUNT * array.at(0)),
    ]


def stage(name: str, offset: Expr, core: Core = Core.AIC, stem: str = "LoadTile") -> Stage:
    load = LoadRows(dst=UB.region(0, 1, 64), src=TENSORS[name].region(offset, 1, 64))
    return Stage(name=stage_name(stem, name), core=core, doc="Rows.", body=seq(load), attention_name=name)


def loop(name: str, lets: Sequence[Statement], *inside: Statement) -> For:
    """The items of an attention on one kind of core."""
    body = seq(*lets, *inside)
    return For(
        var=TURN, begin=BLOCK_INDEX, end=ITEMS[name].symbol, step=BLOCK_COUNT, body=body, over_items=True
    )


def program(cube: Sequence[Statement], vector: Sequence[Statement]) -> Program:
    return Program(
        name="hand_made", summary="", dtype="float16", parameters=(KEY, SHARE, LENGTHS), workspace=(),
        tiling=tuple(ITEMS.values()), device=DEVICE, constants=(), body=seq(),
        cores={Core.AIC: seq(*cube), Core.AIV: seq(*vector)},
    )  # fmt: skip


USED = BATCH + HEAD + KEYS


def both(
    own: Sequence[Statement], share: Sequence[Statement], of_own: Expr = USED, of_share: Expr = USED
) -> Program:
    """A program whose cores begin items with the same statements."""
    made = [
        [
            loop("Key", own, stage("Key", of_own, core)),
            loop("KeyShare", share, stage("KeyShare", of_share, core)),
        ]
        for core in (Core.AIC, Core.AIV)
    ]
    return program(*made)


def written(made: Program) -> tuple[list[Function], list[str], list[Function]]:
    """The functions that decode items, the lines of the cube, and its stages."""
    found, spelling = item_decodings(made), Spelling(made)
    ctypes = {tensor: spelling.ctype(tensor) for tensor in made.parameters}
    shared = shared_stages(made, ctypes, [each.function for each in found.each])
    writer = Writer(made, spelling, found, shared)
    lines = [line.strip() for line in writer.body(made.cores[Core.AIC])]
    return list(writer.decodings()), lines, writer.functions


def members(found: ItemDecodings) -> list[str]:
    return [symbol.name for symbol in found.members]


def test_attentions_that_decode_alike_have_one_function_with_the_operands_of_each() -> None:
    (function,), lines, (tile,) = written(both(decoded("Key"), decoded("KeyShare")))
    assert (function.name, function.doc) == ("DecodeItem", "")
    assert function.parameters == ("const StageOperands &operands", "int64_t turn")
    assert function.lines == (
        "Item found;",
        "const int64_t task = turn % operands.items;",
        "found.batch = task / 7;",
        "found.kvHead = task % 7;",
        "found.keyEnd = found.batch * operands.items;",
        "return found;",
    )
    assert [line for line in lines if "DecodeItem" in line] == [
        "const Item work = DecodeItem(keyOperands, turn);",
        "const Item work = DecodeItem(keyShareOperands, turn);",
    ]
    assert tile.parameters == ("const StageOperands &operands", "const Item &work")


def test_attentions_that_decode_otherwise_have_a_function_each_for_items_of_one_struct() -> None:
    """Stages are shared all the same. What one attention has alone is 0 in the items of others."""
    more = Let(symbol=ROWS, value=HEAD * 3)
    (own, share), lines, (tile,) = written(both(decoded("Key"), decoded("KeyShare", batch=5)))
    assert [each.name for each in (own, share)] == ["DecodeItemForKey", "DecodeItemForKeyShare"]
    assert [each.doc for each in (own, share)] == [
        "An item of the attention over key.",
        "An item of the attention over keyShare.",
    ]
    assert own.parameters == share.parameters == ("int64_t turn",)
    assert own.lines[0] == share.lines[0] == "Item found;"
    assert "LoadTile(keyShareOperands, work);" in lines and tile.name == "LoadTile"
    made = both(decoded("Key"), decoded("KeyShare", more), of_share=USED + ROWS)
    (own, share), lines, stages = written(made)
    assert (own.lines[0], share.lines[0]) == ("Item found{};", "Item found;")
    assert members(item_decodings(made)) == ["batch", "kvHead", "keyEnd", "rows"]
    assert [each.name for each in stages] == ["LoadTileForKey", "LoadTileForKeyShare"]
    assert "LoadTileForKeyShare(work);" in lines


def test_a_shared_stage_takes_of_items_what_those_of_all_attentions_have() -> None:
    """``rows`` is in the items of one attention alone: the other's cube computes it."""
    more = Let(symbol=ROWS, value=HEAD * 3)
    own = (decoded("Key", Let(symbol=ROWS, value=HEAD + factor)) for factor in (1, 2))
    share = decoded("KeyShare", more)
    cube, vector = (
        [
            loop("Key", lets, stage("Key", USED + ROWS)),
            loop("KeyShare", share, stage("KeyShare", USED + ROWS)),
        ]
        for lets in own
    )
    made = program(cube, vector)
    assert item_decodings(made).common == {"batch", "kvHead", "keyEnd"}
    _, lines, (tile,) = written(made)
    assert tile.parameters[1:] == ("const Item &work", "int64_t rows")
    assert [line for line in lines if "LoadTile" in line] == [
        "LoadTile(keyOperands, work, rows);",
        "LoadTile(keyShareOperands, work, work.rows);",
    ]


def own_loop(core: Core) -> For:
    return loop("Key", decoded("Key"), stage("Key", USED, core))


def share_loop(core: Core, *, name: str = "KeyShare", of: str = "KeyShare") -> For:
    """With a stage of another attention or of none, too, if it is ``of`` that."""
    other = replace(stage("KeyShare", USED, core, "Other"), attention_name=of)
    return loop("KeyShare", decoded("KeyShare"), stage(name, USED, core), other)


CUBE = (own_loop(Core.AIC), share_loop(Core.AIC))


@pytest.mark.parametrize(
    ("vector", "count"),
    [
        ((own_loop(Core.AIV), share_loop(Core.AIV)), 2),
        ((share_loop(Core.AIV), own_loop(Core.AIV)), 0),
        ((own_loop(Core.AIV),), 0),
        ((own_loop(Core.AIV), share_loop(Core.AIV), own_loop(Core.AIV)), 0),
        ((own_loop(Core.AIV), share_loop(Core.AIV, of="")), 2),
        ((own_loop(Core.AIV), share_loop(Core.AIV, of="Key")), 0),
        ((own_loop(Core.AIV), share_loop(Core.AIV, name="Key", of="Key")), 0),
        ((own_loop(Core.AIV), loop("KeyShare", decoded("KeyShare", batch=9), stage("KeyShare", USED))), 0),
    ],
    ids=[
        "pairs",
        "another order",
        "one loop",
        "one more",
        "a stage of none",
        "of two",
        "of one attention",
        "too little alike",
    ],
)
def test_loops_are_pairs_of_one_attention_each(vector: Sequence[For], count: int) -> None:
    assert len(item_decodings(program(CUBE, vector)).each) == count


def test_what_both_cores_collect_is_decoded_with_what_reads_it() -> None:
    made = both(decoded("Key", *collect()), decoded("KeyShare", *collect(limit=3)), USED + COUNT, USED + ROWS)
    (own, share), lines, _ = written(made)
    for function, limit in ((own, 4), (share, 3)):
        assert function.lines[0] == "Item found;" and function.lines[-8:] == (
            "found.members = 0;",
            "for (int64_t candidate = 0; candidate < found.keyEnd && found.members < 8; ++candidate) {",
            f"    if (candidate % {limit} == found.kvHead) {{",
            "        memberRows_[found.members++] = candidate;",
            "    }",
            "}",
            "found.rows = found.members * memberRows_[0];",
            "return found;",
        )
    assert not any("candidate" in line for line in lines)


def test_what_cores_collect_otherwise_stays_with_what_reads_it() -> None:
    """Also what reads the array alone. What counts by the kernel's own counters is decoded."""
    begun = Symbol("itemsBegun", Scope.MEMBER)
    place, first = Symbol("place"), Symbol("first")

    def lets(limit: int) -> list[Statement]:
        return decoded(
            "Key",
            Let(symbol=place, value=(begun + 1) % 3),
            *collect(limit=limit),
            Let(symbol=first, value=MEMBERS.at(1)),
        )

    def one(core: Core, limit: int) -> For:
        return loop("Key", lets(limit), stage("Key", USED + ROWS + place + first, core))

    (alike,) = item_decodings(program([one(Core.AIC, 4)], [one(Core.AIV, 4)])).each
    (apart,) = item_decodings(program([one(Core.AIC, 4)], [one(Core.AIV, 5)])).each
    assert {"place", "rows", "first"} <= alike.names
    assert "place" in apart.names and apart.names.isdisjoint({"members", "rows", "first"})
    for each in apart.loops:
        assert [type(item) for item in apart.rest(each).body] == [Collect, Let, Let, Stage]


def test_a_scalar_known_before_an_array_is_filled_is_not_taken_for_one_behind() -> None:
    early, late = Symbol("early"), Symbol("late")
    value = MEMBERS.at(0)
    lets = decoded("Key", Let(symbol=early, value=value), *collect(), Let(symbol=late, value=value))
    made = loop("Key", lets, stage("Key", USED + early + late + ROWS))
    (decoding,) = item_decodings(program([made], [made])).each
    assert [let.symbol.name for let in decoding.known()] == ["batch", "kvHead", "keyEnd", "rows", "late"]


OVER, PLACE = Symbol("overKey"), Symbol("place")


def joint(core: Core, of_own: Expr = USED) -> For:
    """One loop over the items of both attentions; the shared ones have ``rows`` besides."""
    nothing, more = Let(symbol=ROWS, value=Const(0)), Let(symbol=ROWS, value=HEAD * 3)
    either = Either(
        condition=OVER,
        then=seq(*decoded("Key", nothing)),
        otherwise=seq(*decoded("KeyShare", more, batch=5)),
        scalars=(BATCH, HEAD, KEYS, ROWS),
        attention_names=("Key", "KeyShare"),
    )

    def either_stage(own: Stage, share: Stage) -> If:
        return If(condition=OVER, then=seq(own), otherwise=seq(share))

    body = seq(
        Let(symbol=OVER, value=PLACE % 2 == 0),
        Let(symbol=TURN, value=PLACE // 2),
        either,
        either_stage(stage("Key", of_own, core), stage("KeyShare", USED, core)),
        either_stage(stage("Key", USED, core, "Own"), stage("KeyShare", USED + ROWS, core, "Own")),
    )
    return For(var=PLACE, end=ITEMS["Key"].symbol, body=body, over_items=True)


def test_items_of_one_loop_are_decoded_by_the_function_of_their_attention() -> None:
    """Stages that are alike are one call, which takes what the item's attention gives; others are a branch.
    What an attention has not is 0 in the struct, without a word in its function."""
    made = program([joint(Core.AIC)], [joint(Core.AIV)])
    (own, share, at_place), lines, stages = written(made)
    assert (own.name, share.name) == ("DecodeItemForKey", "DecodeItemForKeyShare")
    assert own.parameters == share.parameters == ("int64_t turn",)
    assert own.lines[0] == "Item found{};" and not any("rows" in line for line in own.lines)
    assert share.lines[0] == "Item found;" and "found.rows = found.kvHead * 3;" in share.lines
    assert (at_place.name, at_place.parameters) == ("ItemAt", ("int64_t place",))
    assert list(at_place.lines) == [
        "const bool overKey = place % 2 == 0;",
        "const int64_t turn = place / 2;",
        "Item found = overKey ? DecodeItemForKey(turn) : DecodeItemForKeyShare(turn);",
        "found.overKey = overKey;",
        "return found;",
    ]
    at = lines.index("const Item work = ItemAt(place);")
    assert lines[at:] == [
        "const Item work = ItemAt(place);",
        "LoadTile(work.overKey ? keyOperands : keyShareOperands, work);",
        "if (work.overKey) {",
        "OwnForKey(work);",
        "} else {",
        "OwnForKeyShare(work);",
        "}",
        "}",
    ]
    assert [each.name for each in stages] == ["LoadTile", "OwnForKey", "OwnForKeyShare"]


def test_what_the_order_of_items_is_made_of_is_asked_for_once() -> None:
    """Both kinds of core ask one function; what is a step on the way to that is a local of it."""
    first, between, end = Symbol("firstItem"), Symbol("between"), Symbol("placesEnd")
    lets = (
        Let(symbol=between, value=ITEMS["Key"].symbol * 2, why="twice as many"),
        Let(symbol=first, value=between + 1),
        Let(symbol=end, value=first + 3),
    )

    def ordered(core: Core) -> list[Statement]:
        made = joint(core)
        over, _, *rest = made.body.body
        at = Let(symbol=TURN, value=PLACE + first)
        return [*lets, replace(made, end=end, body=seq(over, at, *rest))]

    made = program(ordered(Core.AIC), ordered(Core.AIV))
    order = item_decodings(made).order
    assert order is not None
    functions, lines, _ = written(made)
    assert functions[-1].parameters == ("const ItemOrder &order", "int64_t place")
    assert "const int64_t turn = place + order.firstItem;" in functions[-1].lines
    assert order.struct == ("int64_t firstItem;",)
    assert list(order.making(Spelling(made)).lines) == [
        "ItemOrder found;",
        "// twice as many",
        f"const int64_t between = {Spelling(made).expr(ITEMS['Key'].symbol * 2)};",
        "found.firstItem = between + 1;",
        "return found;",
    ]
    at = lines.index("const ItemOrder order = OrderOfItems();")
    assert lines[at + 1] == "const int64_t placesEnd = order.firstItem + 3;"
    assert "const Item work = ItemAt(order, place);" in lines


def test_items_that_both_kinds_of_core_take_in_different_orders_are_an_error() -> None:
    other = joint(Core.AIV)
    _, *rest = other.body.body
    other = replace(other, body=seq(Let(symbol=OVER, value=PLACE % 2 == 1), *rest))
    with pytest.raises(InternalError, match="in different orders"):
        item_decodings(program([joint(Core.AIC)], [other]))


@lru_cache(maxsize=1)
def relay() -> str:
    compiled = compile_operator(ops.relay_attention, Specialization(dtype="float16", padded_head_size=128))
    return device_files([compiled])[kernel_path(compiled)]


def test_own_and_shared_keys_are_decoded_once_each() -> None:
    source = relay()
    for name in ("Key", "KeyShare"):
        assert source.count(f"Item DecodeItemFor{name}(int64_t turn)") == 1
    assert source.count("overKey ? DecodeItemForKey(turn) : DecodeItemForKeyShare(turn);") == 1
    assert source.count("items_[itemSlot] = ItemAt(order, place);") == 2
    assert source.count("const ItemOrder order = OrderOfItems();") == 2
    assert source.count("int64_t placesBetween =") == source.count("int64_t before =") == 1
    assert source.count("memberRows_[found.memberPlace + membersFound++] = candidate;") == 1
    assert source.count("Item items_[kRing];") == 1
    (struct,) = re.findall(r"struct Item \{\n(.*?)\n    \};", source, re.DOTALL)
    assert "members;  // batch rows of the task, over keyShare" in struct
    assert "batch;  // batch row\n" in struct
