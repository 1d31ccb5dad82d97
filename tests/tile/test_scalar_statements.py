"""Lists of tensors, collected indices and sums over index ranges: a whole kernel made of them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from attndsl.base.errors import InternalError
from attndsl.codegen.text.scalar_helpers import kernel_helpers
from attndsl.compiler.compile import Compiled
from attndsl.expr import Const, Scope, Symbol, as_expr
from attndsl.expr.reductions import highest, total
from attndsl.passes.events.trip_counts import proved_to_run
from attndsl.target import Core, MemorySpace
from attndsl.tile.buffers import GlobalTensor, ScalarArray
from attndsl.tile.instructions import Fixpipe, LoadFractals, LoadNz, LoadRows, Mmad, StoreRows
from attndsl.tile.printer import print_statement
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, SUB_BLOCK
from attndsl.tile.statements import Alloc, Collect, For, If, Let, PickTensor, Seq, Stage, seq
from attndsl.tile.verifier import what_is_read_was_chosen
from attndsl.tile_interpreter.run import interpret

from .bench import buffer
from .programs import launch, made, run_both, source

ENTRIES, WIDTH, BATCH, GROUPS = 3, 16, 7, 4
KEYS = GlobalTensor(name="keys", dtype="float16", role="input", listed=True)
OF_ROW, LENGTHS, SLOTS = (
    GlobalTensor(name=name, dtype=dtype, role="scalars")
    for name, dtype in (("group_of_row", "int32"), ("row_lengths", "uint32"), ("list_entry", "int64"))
)
PACKED = GlobalTensor(name="packed", dtype="float16", role="output")
SQUARES = GlobalTensor(name="squares", dtype="float32", role="output")
MEMBERS = ScalarArray(name="members", capacity=4, meaning="rows of the group")
INDEX, GROUP, COUNT, M, ROW, ENTRY, FIRST, LENGTH, LONGEST = (
    Symbol(name) for name in ("i", "group", "memberCount", "m", "row", "entry", "first", "length", "longest")
)
UB = buffer("lines", "float16", 64 * WIDTH)
L1, L0A, L0B, L0C = (
    buffer(name, dtype, 1024, space)
    for name, dtype, space in (
        ("keysNz", "float16", MemorySpace.L1), ("left", "float16", MemorySpace.L0A),
        ("right", "float16", MemorySpace.L0B), ("sums", "float32", MemorySpace.L0C),
    )
)  # fmt: skip


def _copy_rows() -> Seq:
    """A member's rows, from its element of the list to where the packed rows of its batch row start."""
    region = UB.region(0, LENGTH, WIDTH, WIDTH)
    copies = seq(
        Let(symbol=ROW, value=MEMBERS.at(M)),
        PickTensor(tensor=KEYS, index=SLOTS.at(ROW)),
        Let(symbol=FIRST, value=total(LENGTHS.at(INDEX), INDEX, ROW)),
        Let(symbol=LENGTH, value=LENGTHS.at(ROW)),
        LoadRows(dst=region, src=KEYS.region(ROW * WIDTH, LENGTH, WIDTH, WIDTH)),
        StoreRows(dst=PACKED.region(FIRST * WIDTH, LENGTH, WIDTH, WIDTH), src=region),
    )
    return seq(Alloc(buffers=(UB,), body=copies))


def _held(product: Seq) -> Seq:
    for held in (L0C, L0B, L0A, L1):
        product = seq(Alloc(buffers=(held,), body=product))
    return product


def _square() -> Seq:
    """k . k^T of the first 16 rows of the group's element, where a length of the batch reaches 3."""
    longest = highest(LENGTHS.at(INDEX), INDEX, as_expr(BATCH))
    one = Const(1)
    product = seq(
        PickTensor(tensor=KEYS, index=GROUP % ENTRIES),
        LoadNz(dst=L1.region(), src=KEYS.region(0, 16, WIDTH, WIDTH), padded_rows=as_expr(16)),
        LoadFractals(dst=L0A.region(), src=L1.region(), repeat=one, src_stride=one),
        LoadFractals(dst=L0B.region(), src=L1.region(), repeat=one, src_stride=one),
        Mmad(
            dst=L0C.region(), a=L0A.region(), b=L0B.region(), m=as_expr(16), n=as_expr(16), k=as_expr(16),
            initial=Const(True),
        ),
        Fixpipe(dst=SQUARES.region(GROUP * 256, 16, 16, 16), src=L0C.region(), m=as_expr(16)),
    )  # fmt: skip
    return seq(Let(symbol=LONGEST, value=longest - 1), If(condition=LONGEST >= 2, then=_held(product)))


def body() -> Seq:
    collect = Collect(
        array=MEMBERS, count=COUNT, index=INDEX, extent=as_expr(BATCH), condition=OF_ROW.at(INDEX) == GROUP
    )
    members = For(var=M, begin=SUB_BLOCK, step=as_expr(2), end=COUNT, body=_copy_rows())
    copy = Stage(
        name="CopyMember", core=Core.AIV, doc="Copies the rows of a group's members.", body=seq(members)
    )
    square = Stage(name="Square", core=Core.AIC, doc="The product of a group's keys.", body=_square())
    groups = For(
        var=GROUP, begin=BLOCK_INDEX, end=as_expr(GROUPS), step=BLOCK_COUNT, body=seq(collect, copy, square)
    )
    return seq(groups)


@lru_cache(maxsize=1)
def compiled() -> Compiled:
    return made(body(), (KEYS, OF_ROW, LENGTHS, SLOTS, PACKED, SQUARES))


def arguments(lengths: list[int]):
    rng = np.random.default_rng(3)
    keys = tuple(rng.integers(-3, 4, (30 + entry, WIDTH)).astype(np.float16) for entry in range(ENTRIES))
    return {
        "keys": keys,
        "group_of_row": np.array([2, 0, 2, 3, 2, 0, 2], np.int32),
        "row_lengths": np.array(lengths, np.uint32),
        "list_entry": np.array([1, 0, 2, 2, 0, 1, 1], np.int64),
        "packed": np.zeros((max(sum(lengths), 1), WIDTH), np.float16),
        "squares": np.zeros((GROUPS, 16, 16), np.float32),
    }


@pytest.mark.parametrize("lengths", [[3, 1, 4, 1, 5, 9, 2], [2, 0, 0, 1, 2, 0, 1]])
def test_a_kernel_of_lists_and_collected_rows(lengths):
    given = arguments(lengths)
    ends = np.cumsum(lengths)
    packed, squares = given["packed"].copy(), given["squares"].copy()
    for row, (entry, length) in enumerate(zip(given["list_entry"], lengths, strict=True)):
        packed[ends[row] - length : ends[row]] = given["keys"][entry][row : row + length]
    for group in range(GROUPS if max(lengths) >= 3 else 0):
        keys = given["keys"][group % ENTRIES][:16].astype(np.float32)
        squares[group] = keys @ keys.T
    for run in run_both(compiled(), given):
        assert np.array_equal(run.arguments["packed"], packed)
        assert np.array_equal(run.arguments["squares"], squares)


def test_the_kernel_reads_well():
    text = source(compiled())
    assert '#include "kernel_operator_list_tensor_intf.h"' in text
    assert "keysList_.Init(keys);" in text
    assert "Bind(keysGm_" not in text
    assert "keysGm_.SetGlobalBuffer(keysList_.GetDataPtr<half>(static_cast<uint32_t>(" in text
    assert "for (int64_t i = 0; i < 7 && memberCount < 4; ++i) {" in text
    assert "if (static_cast<int64_t>(groupOfRowGm_.GetValue(i)) == group) {" in text
    assert "int64_t members_[4];  // rows of the group" in text
    assert "const int64_t first = SumOfRowLengths(row);" in text
    assert "const int64_t longest = MaxOfRowLengths(7) - 1;" in text
    cube, vector = text.split("void RunVector()")
    assert "memberCount" not in cube.split("void RunCube()")[1], "only the vector cores look at members"
    assert "void CopyMember(int64_t memberCount)" in vector


def test_kernels_without_lists_do_not_mention_them():
    from .programs import _shell

    text = source(_shell())
    assert "ListTensor" not in text
    assert "list_tensor" not in text


def test_a_program_says_what_it_picks_and_collects():
    text = print_statement(body())
    assert "keys := element list_entry[row] of the list" in text
    assert "members, memberCount := i in 0..7 where group_of_row[i] == group (at most 4)" in text
    assert "first := sum(row_lengths[i] for i < row)" in text


def test_a_full_array_ends_the_collection():
    """Going on behind the last element finds the others; a kernel that copies what it collected."""
    found = GlobalTensor(name="found", dtype="float16", role="output")
    numbers = GlobalTensor(name="numbers", dtype="float16", role="input")
    array, begin, place = ScalarArray(name="some", capacity=3), Symbol("begin"), Symbol("place")
    chunk = Symbol("chunk")
    one = UB.region(0, 1, 1)
    copies = For(
        var=M, end=COUNT,
        body=seq(
            Let(symbol=place, value=chunk * 3 + M),
            Alloc(
                buffers=(UB,),
                body=seq(
                    LoadRows(dst=one, src=numbers.region(array.at(M), 1, 1)),
                    StoreRows(dst=found.region(place, 1, 1), src=one),
                ),
            ),
        ),
    )  # fmt: skip
    twos = OF_ROW.at(INDEX) == 2
    first, again = (
        Collect(array=array, count=COUNT, index=INDEX, extent=as_expr(BATCH), condition=twos, begin=begin)
        for _ in range(2)
    )
    last = array.at(2) + 1
    chunks = seq(
        Let(symbol=begin, value=Const(0)), Let(symbol=chunk, value=Const(0)), first, copies,
        If(
            condition=COUNT == 3,
            then=seq(Let(symbol=chunk, value=Const(1)), Let(symbol=begin, value=last), again, copies),
        ),
    )  # fmt: skip
    only = If(condition=(SUB_BLOCK == 0) & (BLOCK_INDEX == 0), then=chunks)
    stage = Stage(name="Chunks", core=Core.AIV, doc="Copies in chunks of three.", body=seq(only))
    program = made(seq(stage), (OF_ROW, numbers, found), blocks=1)
    given = {
        "group_of_row": np.array([2, 0, 2, 3, 2, 0, 2], np.int32),
        "numbers": np.arange(10, 17).astype(np.float16),
        "found": np.zeros(6, np.float16),
    }
    for run in run_both(program, given):
        assert run.arguments["found"].tolist() == [10, 12, 14, 16, 0, 0]


@pytest.mark.parametrize(("skip", "kept"), [(0, [10, 12, 14]), (2, [14, 16]), (9, [])])
def test_the_first_that_are_skipped_are_not_collected(skip, kept):
    """Condition with an ``or``, which the count of the skipped must not get into."""
    found = GlobalTensor(name="found", dtype="float16", role="output")
    numbers = GlobalTensor(name="numbers", dtype="float16", role="input")
    array, one = ScalarArray(name="some", capacity=3), UB.region(0, 1, 1)
    collect = Collect(
        array=array, count=COUNT, index=INDEX, extent=as_expr(BATCH),
        condition=(OF_ROW.at(INDEX) == 2) | (OF_ROW.at(INDEX) == 7), skip=Const(0) + BLOCK_INDEX * 0 + skip,
    )  # fmt: skip
    load = LoadRows(dst=one, src=numbers.region(array.at(M), 1, 1))
    copy = seq(load, StoreRows(dst=found.region(M, 1, 1), src=one))
    copies = For(var=M, end=COUNT, body=seq(Alloc(buffers=(UB,), body=copy)))
    only = If(condition=(SUB_BLOCK == 0) & (BLOCK_INDEX == 0), then=seq(collect, copies))
    stage = Stage(name="Late", core=Core.AIV, doc="Copies what is left.", body=seq(only))
    program = made(seq(stage), (OF_ROW, numbers, found), blocks=1)
    given = {
        "group_of_row": np.array([2, 0, 7, 3, 2, 0, 2], np.int32),
        "numbers": np.arange(10, 17).astype(np.float16),
        "found": np.zeros(3, np.float16),
    }
    for run in run_both(program, given):
        assert run.arguments["found"].tolist() == kept + [0] * (3 - len(kept))


def _of_two_places(read):
    """Collects where the number is 2 into the first place of an array, then 0 into the second; copies what
    stands at the indices ``read``."""
    found = GlobalTensor(name="found", dtype="float16", role="output")
    numbers = GlobalTensor(name="numbers", dtype="float16", role="input")
    array, one = ScalarArray(name="some", capacity=3, places=Const(2)), UB.region(0, 1, 1)
    collects = (
        Collect(
            array=array, count=Symbol(f"count{place}"), index=INDEX, extent=as_expr(BATCH),
            condition=OF_ROW.at(INDEX) == value, place=Symbol("at") + 3 * place,
        )
        for place, value in ((0, 2), (1, 0))
    )  # fmt: skip
    copies = (
        Alloc(
            buffers=(UB,),
            body=seq(
                LoadRows(dst=one, src=numbers.region(array.at(index), 1, 1)),
                StoreRows(dst=found.region(to, 1, 1), src=one),
            ),
        )
        for to, index in enumerate(read)
    )
    begin = Let(symbol=Symbol("at"), value=BLOCK_INDEX * 3)
    only = If(condition=(SUB_BLOCK == 0) & (BLOCK_INDEX == 0), then=seq(begin, *collects, *copies))
    stage = Stage(name="Places", core=Core.AIV, doc="Copies what two places hold.", body=seq(only))
    given = {
        "group_of_row": np.array([2, 0, 7, 3, 2, 0, 2], np.int32),
        "numbers": np.arange(10, 17).astype(np.float16),
        "found": np.zeros(len(read), np.float16),
    }
    return made(seq(stage), (OF_ROW, numbers, found), blocks=1), given


def test_places_of_an_array_hold_what_was_collected_there():
    program, given = _of_two_places((0, 1, 2, 3, 4))
    for run in run_both(program, given):
        assert run.arguments["found"].tolist() == [10, 14, 16, 11, 15]
    assert "int64_t some_[6];" in source(program)
    assert "some, count1" not in print_statement(program.joint.body)
    assert "some[at + 3..], count1 := i in 0..7" in print_statement(program.joint.body)


def test_what_was_not_collected_is_not_read():
    """The second place has two elements of three."""
    program, given = _of_two_places((5,))
    with pytest.raises(IndexError, match="element 5 of an array is read, which was not collected"):
        interpret(launch(program, given))


def test_an_element_beyond_the_list_is_an_error():
    given = arguments([1] * BATCH) | {"list_entry": np.full(BATCH, ENTRIES, np.int64)}
    with pytest.raises(IndexError, match="keys: element 3 of a list of 3 is picked"):
        interpret(launch(compiled(), given))


@pytest.mark.parametrize(("begin", "runs"), [(0, True), (1, False)])
def test_a_count_is_bounded_by_the_array(begin, runs):
    """capacity + 1 - count >= 1 is known, capacity - count >= 1 is not."""
    loop = For(var=M, begin=COUNT + begin, end=as_expr(MEMBERS.capacity + 1), body=seq())
    collect = Collect(array=MEMBERS, count=COUNT, index=INDEX, extent=Symbol("n"), condition=INDEX > 3)
    assert (loop in proved_to_run(seq(collect, loop))) == runs


def _touching(*before):
    stage = Stage(
        name="s",
        core=Core.AIV,
        doc="",
        body=seq(*before, LoadRows(dst=UB.region(0, 1, 16), src=KEYS.region(0, 1, 16))),
    )
    return made_raw(seq(stage))


def made_raw(tree: Seq):
    return compiled().joint.with_(body=tree)


def test_every_path_picks_before_it_reads():
    pick = PickTensor(tensor=KEYS, index=Const(0))
    loop = For(var=M, end=Symbol("n"), body=seq(pick))
    for before, says in (
        ((), True),
        ((loop,), True),
        ((If(condition=M > 0, then=seq(pick)),), True),
        ((pick,), False),
    ):
        problems = list(what_is_read_was_chosen(_touching(*before)))
        assert bool(problems) == says, before
        assert all("touches keys, of which no element was picked" in text for text in problems)


def test_an_array_is_collected_before_it_is_read():
    read = Let(symbol=ROW, value=MEMBERS.at(0))
    collect = Collect(array=MEMBERS, count=COUNT, index=INDEX, extent=Const(3), condition=INDEX > 0)
    assert list(what_is_read_was_chosen(made_raw(seq(collect, read)))) == []
    problems = list(what_is_read_was_chosen(made_raw(seq(read, collect))))
    assert problems == ["members[0] is read where members was not collected"]


def test_one_function_for_all_extents_and_none_for_two_bodies():
    one, other = total(LENGTHS.at(INDEX), INDEX, ROW), total(LENGTHS.at(M), M, ROW + 1)
    assert [helper.name for helper in kernel_helpers([one, other])] == ["SumOfRowLengths"]
    with pytest.raises(InternalError, match="two folds are called SumOfRowLengths"):
        kernel_helpers([one, total(LENGTHS.at(INDEX) * 2, INDEX, ROW)])


def test_narrow_integers_do_not_wrap():
    """uint32 zeros minus one: -1, as in int64_t."""
    env = {"row_lengths": np.array([0, 5], np.uint32), "n": 2}
    assert highest(LENGTHS.at(INDEX) - 1, INDEX, as_expr(1)).evaluate(env) == -1
    assert total(LENGTHS.at(INDEX) - 6, INDEX, Symbol("n")).evaluate(env) == -7


def test_a_sum_goes_on_where_the_last_call_ended_unless_its_terms_may_change():
    """Terms of global tensors and tiling fields stay the same; those of an array that is collected do not."""
    kept, fixed = kernel_helpers([total(LENGTHS.at(INDEX), INDEX, ROW)]), Symbol("pitch", Scope.TILING)
    assert kept[0].members == ("sumOfRowLengthsEnd_", "sumOfRowLengthsSum_")
    assert "for (; sumOfRowLengthsEnd_ < extent; ++sumOfRowLengthsEnd_) {" in kept[0].lines
    assert kernel_helpers([total(LENGTHS.at(INDEX) * fixed, INDEX, ROW)])[0].members
    for body in (LENGTHS.at(INDEX) * ROW, MEMBERS.at(INDEX)):
        (helper,) = kernel_helpers([total(body, INDEX, ROW)])
        assert not helper.members and "int64_t found = 0;" in helper.lines
