"""Lists of tensors are decoded on the cores that read them, where an item does."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from attndsl import ops
from attndsl.codegen.kernel.list_decoding import decoding_lines, list_decodings
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.samples.device_files import device_files, kernel_path
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.expr.argument_facts import split_of
from attndsl.lowering.signature.specialization import Specialization
from attndsl.target import Core
from attndsl.tile.statements import For, Seq, Statement

RELAY = Specialization(dtype="float16", padded_head_size=128)


@pytest.fixture(scope="module")
def relay() -> Compiled:
    return compile_operator(ops.relay_attention, RELAY)


def test_each_list_is_decoded_where_its_own_items_are(relay: Compiled) -> None:
    """Without share groups the lists of shared keys and values are empty; vector cores read no list."""
    found = list_decodings(relay.program, names_of(relay.operator))
    assert [(each.core, each.condition) for each in found] == [
        ("AIC", "tiling_.itemsKey > 0"),
        ("AIC", "tiling_.itemsKeyShare > 0"),
    ]
    assert found[1].lists == (("keyShareList_", "keyShare"), ("valueShareList_", "valueShare"))
    source = device_files([relay])[kernel_path(relay)]
    assert source.count(".Init(") == 4
    cube = re.findall(r"if ASCEND_IS_AIC \{\n(.*?)TakeCubeMemories", source, re.DOTALL)
    assert len(cube) == 1 and cube[0].count(".Init(") == 4


def test_both_kinds_of_core_decode_what_both_read() -> None:
    special = Specialization(
        dtype="float16",
        padded_head_size=64,
        settings=tuple((split_of(name).name, True) for name in ("key", "value")),
    )
    made = compile_operator(ops.incre_flash_attention, special)
    keys, values = list_decodings(made.program, names_of(made.operator))
    assert (keys.core, keys.condition, keys.lists) == ("", "tiling_.items > 0", (("keyList_", "key"),))
    assert (values.core, values.condition) == ("AIC", "tiling_.items > 0"), "vector cores count keys alone"
    plain = compile_operator(ops.incre_flash_attention, replace(special, settings=()))
    assert list_decodings(plain.program, names_of(plain.operator)) == ()


def test_what_is_read_outside_of_items_is_decoded_in_any_case(relay: Compiled) -> None:
    """The same program, whose loops are no loops over items any more."""
    tree = plain_loops(relay.program.cores[Core.AIC])
    assert isinstance(tree, Seq)
    changed = relay.program.with_(cores={**relay.program.cores, Core.AIC: tree})
    (found,) = list_decodings(changed, names_of(relay.operator))
    assert found.condition == "" and len(found.lists) == 4
    assert decoding_lines([found])[0] == "keyList_.Init(key);"


def plain_loops(tree: Statement) -> Statement:
    if isinstance(tree, For) and tree.over_items:
        return replace(tree, over_items=False)
    children = tuple(map(plain_loops, tree.children()))
    return tree.with_children(children) if children else tree
