"""What cube and vector cores compute of an item alike is computed by one function."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from attndsl import ops
from attndsl.codegen.kernel.item_decoding import ItemDecoding, item_decodings
from attndsl.codegen.samples.device_files import device_files, kernel_path
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.expr import Const
from attndsl.lowering.signature.specialization import Specialization
from attndsl.target import Core
from attndsl.tile.program import Program
from attndsl.tile.scalars import defined
from attndsl.tile.statements import For, Let, Seq, Statement


@lru_cache(maxsize=1)
def compiled() -> Compiled:
    return compile_operator(ops.incre_flash_attention, Specialization(dtype="float16", padded_head_size=64))


def only_decoding(program: Program) -> ItemDecoding:
    (found,) = item_decodings(program).each
    return found


def names_of(decoding: ItemDecoding) -> list[str]:
    return [name for item in decoding.statements for name in defined(item)]


def with_vector_core(program: Program, tree: Statement) -> Program:
    assert isinstance(tree, Seq)
    return program.with_(cores={**program.cores, Core.AIV: tree})


def changed(statement: Statement, name: str) -> Statement:
    """The tree with another value for a scalar."""
    if isinstance(statement, Let) and statement.symbol.name == name:
        return Let(symbol=statement.symbol, value=statement.value + Const(1))
    children = tuple(changed(child, name) for child in statement.children())
    return statement.with_children(children) if children else statement


def test_the_text_decodes_items_in_one_place() -> None:
    source = device_files([compiled()])[kernel_path(compiled())]
    decoding = only_decoding(compiled().program)
    assert len(decoding.statements) > 8
    assert source.count("= DecodeItem(turn);") == 2
    assert len(re.findall(r"inline Item DecodeItem\(int64_t turn\)", source)) == 1
    (struct,) = re.findall(r"struct Item \{\n(.*?)\n    \};", source, re.DOTALL)
    members = [cxx_text(symbol) for symbol in decoding.members]
    assert [re.split(r"int64_t |;  // ", line)[1] for line in struct.split("\n")] == members
    assert all(line.partition("//")[2].strip() for line in struct.split("\n"))
    assert {"batch", "keyEnd", "tiles"} <= set(members) and "tilesPerSplit" not in members
    used = set(re.findall(r"\bwork\.(\w+)", source))
    assert used == set(members)
    for name in names_of(decoding):
        assert len(re.findall(rf"const int64_t {name} =", source.split("RunVector")[0])) == 0
    for loop in decoding.loops:
        kept = {item.symbol.name for item in decoding.rest(loop).body if isinstance(item, Let)}
        assert kept.isdisjoint(names_of(decoding))
        assert len(decoding.rest(loop).body) + len(decoding.statements) == len(loop.body.body)


def test_a_scalar_that_one_kind_of_core_computes_otherwise_is_no_part_of_it_nor_what_uses_it() -> None:
    program = compiled().program
    vector = program.cores[Core.AIV]
    names = names_of(only_decoding(program))
    left = names_of(only_decoding(with_vector_core(program, changed(vector, "batch"))))
    assert "batch" in names and "keyEnd" in names and "task" in left
    assert not {"batch", "keyEnd", "tiles"} & set(left)


def test_loops_over_other_items_share_nothing() -> None:
    program = compiled().program

    def longer(statement: Statement) -> Statement:
        if isinstance(statement, For) and statement.over_items:
            return replace(statement, end=statement.end + Const(1))
        children = tuple(longer(child) for child in statement.children())
        return statement.with_children(children) if children else statement

    changed_loop = longer(program.cores[Core.AIV])
    assert [item.end for item in changed_loop.walk() if isinstance(item, For) and item.over_items]
    assert not item_decodings(with_vector_core(program, changed_loop)).each


def test_loops_over_items_are_told_by_their_mark_alone() -> None:
    program = compiled().program

    def renamed(statement: Statement) -> Statement:
        children = tuple(renamed(child) for child in statement.children())
        if isinstance(statement, For) and statement.over_items:
            statement = replace(statement, over_items=False)
        return statement.with_children(children) if children else statement

    assert item_decodings(program).each
    assert not item_decodings(with_vector_core(program, renamed(program.cores[Core.AIV]))).each


def test_stages_take_the_item_itself_and_steps_name_its_slot() -> None:
    """One reference instead of a list of numbers, whose order nothing checks, and no copy a step."""
    source = device_files([compiled()])[kernel_path(compiled())]
    assert "ScoreTile(const Item &work, " in source and "ScoreTile(work, " in source
    assert "WeightedTile(earlierWork, " in source
    steps = re.findall(r"struct \w+Step \{\n(.*?)\n    \} \w+Steps_\[kRing\]\{\};", source, re.DOTALL)
    decoding = only_decoding(compiled().program)
    assert len(steps) == 2
    for fields in steps:
        own = set(re.findall(r"\w+(?=[,;])", fields))
        assert "itemSlot" in own and own.isdisjoint(decoding.names)
    assert source.count("const Item &earlierWork = items_[earlier.itemSlot];") == source.count(
        "Step &earlier ="
    )
    assert source.count("itemSlot = (itemsBegun_ + 1) % kRing;") == 2
    assert source.count("items_[itemSlot] = DecodeItem(turn);") == 2
    assert source.count("Item items_[kRing];") == 1, "a place is free when it is taken"
    assert source.count("itemsBegun_ += tile == 0;") == 2, "each core counts the items that it has begun"


def test_the_turn_that_drains_the_pipeline_has_no_tile() -> None:
    """So that stages ask for tiles alone."""
    source = device_files([compiled()])[kernel_path(compiled())]
    assert re.search(r"found.keyEnd =\s+turn >= tiling_.items\s+\? 0\s+: ", source)
    assert "< tiling_.items" not in source.split("struct Item")[0]


def test_a_scalar_of_the_value_of_another_is_that_one() -> None:
    """New keys and new values begin at the same row, which the item has already."""
    special = Specialization(
        dtype="float16",
        padded_head_size=64,
        padded_value_size=64,
        features=frozenset({"key", "value"}),
    )
    kernel = compile_operator(ops.self_attention, special)
    source = device_files([kernel])[kernel_path(kernel)]
    assert "newValueStart = " not in source and "newKeyStart = " not in source.split("AppendRows()")[0]
    assert source.count("const int64_t keyPosition = ") == 2, "one for the cube, one where rows are appended"
    assert "valuePosition = " not in source


def test_the_order_of_items_has_its_reason_and_a_condition_is_asked_once() -> None:
    special = Specialization(
        dtype="float16",
        padded_head_size=64,
        padded_value_size=64,
        features=frozenset({"value"}),
    )
    prompts = compile_operator(ops.self_attention.mode_named("PA_ENCODER"), special)
    decoding = device_files([prompts])[kernel_path(prompts)].split("DecodeItem(int64_t turn)")[1]
    decoding = decoding.split("return found;")[0]
    assert "const bool isLarge = tiling_.largeTasks > task;" in decoding
    assert decoding.count("tiling_.largeTasks >") == 1
    lines = [line.strip() for line in decoding.splitlines()]
    for name in ("found.split", "const bool isLarge", "const int64_t queryTile", "const int64_t headTile"):
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{name} ="))
        assert lines[at - 1].startswith("//"), name
