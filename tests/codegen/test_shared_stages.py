"""Stages that are alike but for what is each attention's own become one function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import pytest

from attndsl.api import ops
from attndsl.codegen.kernel.kernel import kernel_text
from attndsl.codegen.kernel.shared_stages import SharedStages, shared_stages
from attndsl.codegen.kernel.statements import Writer
from attndsl.codegen.names.spelling import Spelling
from attndsl.codegen.samples.device_files import device_files, kernel_path
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.expr import Const, Expr, Symbol
from attndsl.expr.reductions import total
from attndsl.lowering.signature.specialization import Specialization
from attndsl.target import Core, MemorySpace, Pipe
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import Fill, LoadRows
from attndsl.tile.naming import stage_name
from attndsl.tile.program import Program, TilingField, tiling_scalar
from attndsl.tile.scalars import tensors_used
from attndsl.tile.statements import Barrier, Let, PickTensor, SetCrossFlag, Stage, Statement, seq
from tests.support.devices import DEVICE

TILE = Symbol("tile")
ROWS, OTHER = (
    Buffer(name=name, space=MemorySpace.UB, dtype="float32", size=Const(64)) for name in ("rows", "other")
)
KEY, KEY_SHARE, VALUE_SHARE = (
    GlobalTensor(name=name, dtype="float32", role="input", meaning=f"{name} rows")
    for name in ("key", "keyShare", "valueShare")
)
LENGTHS, GROUPS = (GlobalTensor(name=name, dtype="int64", role="scalars") for name in ("lengths", "groups"))
OWN_LIST, SHARED_LIST, OTHER_TYPES = (
    GlobalTensor(name=name, dtype=dtype, role="input", listed=True)
    for name, dtype in (("ownKeys", "float32"), ("sharedKeys", "float32"), ("halves", "float16"))
)
TENSORS = (KEY, KEY_SHARE, VALUE_SHARE, LENGTHS, GROUPS, OWN_LIST, SHARED_LIST, OTHER_TYPES)
FIELDS = tuple(
    TilingField(name, ctype, Const(1), f"meaning of {name}")
    for name, ctype in (("strideKey", "int64"), ("strideKeyShare", "int64"), ("scale", "float32"))
)
STRIDE, STRIDE_SHARE, SCALE = (each.symbol for each in FIELDS)
READY = {"Key": "ringKeyReady", "KeyShare": "ringKeyShareReady"}


def load(tensor: GlobalTensor, offset: Expr, target: Buffer = ROWS) -> Statement:
    return LoadRows(dst=target.region(0, 1, 64), src=tensor.region(offset, 1, 64))


def ready(attention: str, mode: int = 2) -> Statement:
    name = READY[attention]
    return SetCrossFlag(name=name, flag=list(READY).index(attention), mode=mode, pipe=Pipe.MTE2)


def stage(attention: str, *body: Statement, stem: str = "LoadTile", doc: str = "A tile.") -> Stage:
    return Stage(
        name=stage_name(stem, attention), core=Core.AIV, doc=doc, body=seq(*body), attention_name=attention
    )


def program(*stages: Stage) -> Program:
    return Program(
        name="hand_made", summary="", dtype="float16", parameters=TENSORS,
        workspace=(), tiling=FIELDS, device=DEVICE, constants=(), body=seq(),
        cores={Core.AIV: seq(*stages)}, flags={name: number for number, name in enumerate(READY.values())},
    )  # fmt: skip


def written(*stages: Stage) -> tuple[SharedStages, Writer, tuple[str, ...]]:
    """What stages share, the writer behind it, and the lines that call them."""
    made = program(*stages)
    spelling = Spelling(made)
    found = shared_stages(made, {tensor: spelling.ctype(tensor) for tensor in made.parameters})
    writer = Writer(made, spelling, shared=found)
    return found, writer, writer.body(made.cores[Core.AIV])


OWN = stage("Key", load(KEY, TILE * STRIDE), ready("Key"))
SHARED = stage("KeyShare", load(KEY_SHARE, TILE * STRIDE_SHARE), ready("KeyShare"))


def test_operands_of_each_attention_become_members() -> None:
    found, writer, lines = written(OWN, SHARED)
    (function,) = writer.functions
    assert (function.name, function.parameters) == (
        "LoadTile",
        ("const StageOperands &operands", "int64_t tile"),
    )
    assert function.lines == (
        "    LoadRow(rows_, operands.keyGm[tile * operands.stride], 64);",
        "    CrossCoreSetFlag<kBlockCores, PIPE_MTE2>(operands.ringReady);",
    )
    assert [(each.ctype, each.name, each.meaning) for each in found.members] == [
        ("const GlobalTensor<float> &", "keyGm", "key rows"),
        ("int64_t ", "stride", "meaning of strideKey"),
        ("uint16_t ", "ringReady", ""),
    ]
    assert [tuple(value for _, value in each.values) for each in found.operands.values()] == [
        ("keyGm_", "tiling_.strideKey", "kRingKeyReady"),
        ("keyShareGm_", "tiling_.strideKeyShare", "kRingKeyShareReady"),
    ]
    assert lines == (
        "    const StageOperands keyOperands = KeyOperands();",
        "    const StageOperands keyShareOperands = KeyShareOperands();",
        "    LoadTile(keyOperands, tile);",
        "    LoadTile(keyShareOperands, tile);",
    )


def test_the_function_has_the_first_attentions_body_whoever_is_called_first() -> None:
    made = program(OWN, SHARED)
    spelling = Spelling(made)
    found = shared_stages(made, {tensor: spelling.ctype(tensor) for tensor in made.parameters})
    writer = Writer(made, spelling, shared=found)
    writer.body(seq(SHARED, OWN))
    assert [each.lines for each in writer.functions] == [
        each.lines for each in written(OWN, SHARED)[1].functions
    ]


def test_a_stage_that_calls_shared_ones_has_their_operands() -> None:
    """They are locals of the function that calls them, and of no other."""
    whole = Stage(name="Both", core=Core.AIV, doc="Both tiles.", body=seq(OWN, SHARED))
    _, writer, lines = written(whole)
    assert [each.name for each in writer.functions] == ["LoadTile", "Both"]
    assert writer.functions[-1].lines == (
        "    const StageOperands keyOperands = KeyOperands();",
        "    const StageOperands keyShareOperands = KeyShareOperands();",
        "    LoadTile(keyOperands, tile);",
        "    LoadTile(keyShareOperands, tile);",
    )
    assert lines == ("    Both(tile);",)


def test_parameters_of_a_part_stand_in_the_order_in_which_its_whole_defines_them() -> None:
    """Whatever stages before define under the same names."""
    row, place = Symbol("row"), Symbol("place")
    part = Stage(name="Part", core=Core.AIV, doc="A part.", body=seq(load(KEY, row + place)))
    lets = [Let(symbol=each, value=TILE) for each in (row, place)]
    whole = Stage(
        name="Whole", core=Core.AIV, doc="All.", body=seq(lets[0], Let(symbol=place, value=row * 2), part)
    )
    before = Stage(name="Before", core=Core.AIV, doc="Other.", body=seq(*reversed(lets), load(KEY, place)))
    _, writer, _ = written(before, whole)
    (function,) = (each for each in writer.functions if each.name == "Part")
    assert function.parameters == ("int64_t row", "int64_t place")


def test_lists_that_stages_pick_from_become_members() -> None:
    """A stage changes which element its tensor is, so that the tensor is no constant."""
    found, writer, _ = written(
        *(
            stage(attention, PickTensor(tensor=each, index=TILE), load(each, TILE))
            for attention, each in (("Key", OWN_LIST), ("KeyShare", SHARED_LIST))
        )
    )
    assert [(each.ctype, each.name) for each in found.members] == [
        ("GlobalTensor<float> &", "ownKeysGm"),
        ("ListTensorDesc &", "ownKeysList"),
    ]
    assert [tuple(value for _, value in each.values) for each in found.operands.values()] == [
        ("ownKeysGm_", "ownKeysList_"),
        ("sharedKeysGm_", "sharedKeysList_"),
    ]
    (function,) = writer.functions
    text = " ".join(line.strip() for line in function.lines)
    assert "operands.ownKeysGm.SetGlobalBuffer(operands.ownKeysList.template GetDataPtr<float>(" in text


def others() -> Iterator[tuple[str, tuple[Stage, Stage]]]:
    flag = ready("KeyShare")
    share = load(KEY_SHARE, TILE * STRIDE_SHARE)
    yield "a buffer", (OWN, stage("KeyShare", load(KEY_SHARE, TILE * STRIDE_SHARE, OTHER), flag))
    yield "an operation", (OWN, stage("KeyShare", load(KEY_SHARE, TILE + STRIDE_SHARE), flag))
    yield "a barrier", (OWN, stage("KeyShare", share, flag, Barrier(pipe=Pipe.V)))
    yield "a tensor's type", (OWN, stage("KeyShare", load(LENGTHS, TILE * STRIDE_SHARE), flag))
    yield "a field's type", (OWN, stage("KeyShare", load(KEY_SHARE, TILE * SCALE), flag))
    yield "a local scalar", (OWN, stage("KeyShare", load(KEY_SHARE, Symbol("tail") * STRIDE_SHARE), flag))
    yield "a flag's mode", (OWN, stage("KeyShare", share, ready("KeyShare", mode=0)))
    yield "the document", (OWN, stage("KeyShare", share, flag, doc="Another tile."))
    sums = [total(each.at(Symbol("i")), Symbol("i"), TILE) for each in (LENGTHS, GROUPS)]
    yield "what a sum reads", (stage("Key", load(KEY, sums[0])), stage("KeyShare", load(KEY, sums[1])))
    picks = [PickTensor(tensor=each, index=TILE) for each in (OWN_LIST, OTHER_TYPES)]
    yield "the type of a list", (stage("Key", picks[0]), stage("KeyShare", picks[1]))
    picks = [PickTensor(tensor=OWN_LIST, index=TILE), PickTensor(tensor=SHARED_LIST, index=TILE + 1)]
    yield "the element of a list", (stage("Key", picks[0]), stage("KeyShare", picks[1]))


@pytest.mark.parametrize(
    ("own", "shared"), [each for _, each in others()], ids=[name for name, _ in others()]
)
def test_stages_that_differ_in_anything_else_stay_two(own: Stage, shared: Stage) -> None:
    found, writer, lines = written(own, shared)
    assert [each.name for each in writer.functions] == ["LoadTileForKey", "LoadTileForKeyShare"]
    assert not found.members and not found.functions
    assert not any("Operands" in line for line in (*lines, *writer.functions[0].parameters))


def test_an_operand_that_stands_for_two_keeps_the_later_stage_apart() -> None:
    """The stride is each attention's own in the first pair of stages, and the same for both in the second."""
    second = [stage(attention, load(KEY, STRIDE), stem="Rows") for attention in READY]
    _, writer, _ = written(OWN, SHARED, *second)
    assert [each.name for each in writer.functions] == ["LoadTile", "RowsForKey", "RowsForKeyShare"]


def test_an_operand_that_stands_for_two_within_a_stage_keeps_it_apart() -> None:
    both = stage("Key", load(KEY, TILE), load(KEY, TILE))
    found, writer, _ = written(both, stage("KeyShare", load(KEY_SHARE, TILE), load(VALUE_SHARE, TILE)))
    assert not found.functions and len(writer.functions) == 2


def test_stages_without_operands_of_their_own_take_none() -> None:
    found, writer, lines = written(
        *(stage(attention, Fill(dst=ROWS.region(0, 1, 64), value=TILE)) for attention in READY)
    )
    assert [(each.name, each.parameters) for each in writer.functions] == [("LoadTile", ("int64_t tile",))]
    assert lines == ("    LoadTile(tile);",) * 2 and not found.members


def test_a_function_has_no_other_stages_name() -> None:
    plain = Stage(name="LoadTile", core=Core.AIV, doc="Another.", body=seq(load(KEY, TILE)))
    _, writer, _ = written(plain, OWN, SHARED)
    assert [each.name for each in writer.functions] == ["LoadTile", "LoadTileForKey", "LoadTileForKeyShare"]


def test_the_tensors_that_a_program_looks_at_are_known_from_its_statements() -> None:
    assert tensors_used(program(OWN)) == {"key"}
    scalars = load(KEY_SHARE, LENGTHS.at(tiling_scalar("strideKey")))
    assert tensors_used(program(stage("", scalars))) == {"keyShare", "lengths"}
    sums = total(GROUPS.at(Symbol("i")), Symbol("i"), TILE)
    assert tensors_used(program(stage("", load(KEY, sums)))) == {"key", "groups"}
    assert tensors_used(program(stage("", PickTensor(tensor=VALUE_SHARE, index=TILE)))) == {"valueShare"}


@lru_cache(maxsize=1)
def relay() -> Compiled:
    return compile_operator(ops.relay_attention, Specialization(dtype="float16", padded_head_size=128))


def test_the_stages_of_both_attentions_of_relay_are_one_function_each() -> None:
    source = device_files([relay()])[kernel_path(relay())]
    functions = re.findall(r"inline void (\w+)\(", source)
    for stem in ("ScoreTile", "WeightedTile", "SoftmaxTile", "UpdateTile"):
        assert functions.count(stem) == 1
        assert [name for name in functions if name.startswith(stem)] == [stem]
        assert len(re.findall(rf"^ +{stem}\(", source, re.M)) == 1
    assert source.count("Tile(work.overKey ? keyOperands : keyShareOperands, work, ") == 1
    assert source.count("\n") < 1300


def test_only_tensors_that_a_kernel_looks_at_are_its_members() -> None:
    names = [tensor.name for tensor in kernel_text(relay()).tensors]
    assert "kvSeqLenGm_" in names and "queryGm_" in names
    assert not {"attentionMaskGm_", "seqLenGm_"} & set(names)


def test_the_members_of_a_task_have_room_by_the_schedule_header_alone() -> None:
    """An edit of kMaxRows there changes the array, its parts, and the loop that fills one."""
    text = device_files([relay()])[kernel_path(relay())]
    assert re.search(r"int64_t memberRows_\[kRing \* kMaxRows\];", text)
    assert re.search(r"memberPlace = .* % kRing \* kMaxRows;", text)
    assert re.search(r"membersFound < kMaxRows;", text)
