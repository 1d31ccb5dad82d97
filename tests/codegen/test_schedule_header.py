"""The schedule header of a kernel: a number that is edited there is one that kernel and plan both follow."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.campaign import Verification, verify
from attndsl.codegen.kernel.schedule_header import _literal, constant_text
from attndsl.codegen.kernel.schedule_limits import limits, meanings
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.project import plan_projects
from attndsl.codegen.text.line_breaks import WIDTH
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator.errors import CompileFailed
from attndsl.execute.user_project import TooManyRows, UserProject
from attndsl.expr import Named, ceil_div, maximum, minimum, round_up
from attndsl.lowering.match.schedule_options import Legal
from attndsl.spec.operator.operator import Operator
from attndsl.tile.program import Constant, Requirement
from tests.support.selection_cases import arguments

OPERATOR = ops.incre_flash_attention
REQUEST = KernelRequest(dtypes=("float16",), head_sizes=(64,), features=frozenset({"attn_mask"}))
ONE_GROUP = KernelRequest(dtypes=("float16",), head_sizes=(128,), features=frozenset({"pse_shift"}))
"""A kernel whose vector steps have eight rows, and no loop over groups of eight."""
KERNEL = "op_kernel/incre_flash_attention_d64_attn_mask.h"
HEADER = "op_kernel/incre_flash_attention_d64_attn_mask_schedule.h"
PLAN = "op_host/incre_flash_attention_plan.h"
OTHERS = {"kRing": 2, "kBaseN": 64, "kBaseK": 64, "kMaxRows": 32}


@lru_cache(maxsize=2)
def files(request: KernelRequest = REQUEST, operator: Operator = OPERATOR) -> dict[str, str]:
    (project,) = plan_projects(operator, request)
    return project.files()


def stored(folder: Path, request: KernelRequest = REQUEST, operator: Operator = OPERATOR) -> Path:
    for name, text in files(request, operator).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return stored(tmp_path / "mine")


def edit(path: Path, **numbers: int) -> None:
    text = path.read_text()
    for name, number in numbers.items():
        text, count = re.subn(rf"(?<=int64_t {name} = )\d+(?=;)", str(number), text)
        assert count == 1, name
    path.write_text(text)


def partition_of_assertions(header: str, meaning: str) -> tuple[str, list[str]]:
    """A header without the assertions that say so, and these."""
    gone: list[str] = []

    def decide(match: re.Match[str]) -> str:
        text = match[0]
        if meaning not in text.replace('"\n    "', ""):
            return text
        gone.append(text)
        return ""

    return re.sub(r"(?ms)^static_assert\(.*?\);$", decide, header), gone


def found(folder: Path, cases: int = 3) -> Verification:
    project = UserProject.at(folder, OPERATOR)
    return verify(
        OPERATOR,
        cases=cases,
        backends=("emulator",),
        execute=project.execute,
        kernels=project.kernels(),
        options=f"--project {folder}",
    )


@pytest.mark.sweep(fast=1)
@pytest.mark.parametrize(
    "numbers",
    [{"kRing": 4, "kTileKeys": 256}, {"kRowsPerStep": 8}, OTHERS],
    ids=["ring and tile", "rows", "others"],
)
def test_a_number_that_is_edited_in_the_header_alone_keeps_results_right(folder, numbers):
    edit(folder / HEADER, **numbers)
    result = found(folder)
    assert result.ok and len(result.rows) == 3


def test_the_plan_follows_the_header(folder):
    query, rows = np.zeros((2, 4, 1, 64), np.float16), np.zeros((2, 4, 640, 64), np.float16)
    call = OPERATOR.bind(
        query=query,
        key=[rows],
        value=[rows],
        attn_mask=np.zeros((2, 640), bool),
        num_heads=4,
        input_layout="BNSD",
    )
    launch = prepare(call, 24)
    before = UserProject.at(folder, OPERATOR).plan(launch)
    edit(folder / HEADER, kRing=6)
    after = UserProject.at(folder, OPERATOR).plan(launch)
    assert (before.key, before.blocks) == (after.key, after.blocks)
    assert after.workspace > before.workspace


def test_a_plan_with_a_number_of_its_own_is_caught(folder):
    """What a shared header prevents: the rings of the plan are too small for the kernel."""
    edit(folder / HEADER, kRing=6)
    plan = folder / PLAN
    plan.write_text(plan.read_text().replace("RoundUp(kernel.ring * ", "RoundUp(1 * "))
    assert not found(folder).ok


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"kTileKeys": 500}, "kTileKeys: a multiple of "),
        ({"kRing": 1}, "kRing: from 2 to 8"),
        ({"kRowsPerStep": 24}, "kRowsPerStep divides the rows of a vector core"),
        ({"kBaseK": 32}, "one matrix multiply takes a whole head"),
        ({"kTileKeys": 576}, "one repeat has the folded lanes of a row"),
        ({"kTileKeys": 512, "kRowsPerStep": 64}, "the buffers fit into UB"),
    ],
    ids=["tile", "ring", "rows", "base_k", "folded lanes", "memory"],
)
def test_a_number_outside_of_the_limits_does_not_compile(folder, numbers, message):
    edit(folder / HEADER, **numbers)
    (miss,) = found(folder, cases=1).misses
    assert message in miss.results[-1].message


def test_a_step_of_one_group_of_rows_takes_no_more(tmp_path):
    folder = stored(tmp_path / "mine", ONE_GROUP)
    (header,) = folder.glob("op_kernel/*_schedule.h")
    edit(header, kRowsPerStep=16)
    (miss,) = found(folder, cases=1).misses
    assert "a vector step has one group of 8 rows" in miss.results[-1].message


def test_a_task_with_more_rows_than_its_kernel_takes_is_not_launched(tmp_path):
    """64 heads a position are no rows of a core that has 32: the header says so, and the plan without it."""
    request = KernelRequest(dtypes=("float16",), head_sizes=(16,))
    stored(tmp_path, request, ops.nsa_compress_attention)

    def plan(launch):
        return UserProject.at(tmp_path, ops.nsa_compress_attention).plan(launch)

    few, many = (
        prepare(ops.nsa_compress_attention.bind(**arguments([3], [70], group=group)), 24)
        for group in (32, 64)
    )
    assert plan(many).blocks == 2
    headers = [*tmp_path.glob("op_kernel/*_schedule.h")]
    for header in headers:
        edit(header, kMaxRows=64)
    rule = "a vector core has all heads of a position"
    with pytest.raises(CompileFailed, match=rule):
        plan(many)
    for header in headers:
        kept, (gone, *others) = partition_of_assertions(header.read_text(), rule)
        assert rule in gone and not others
        header.write_text(kept)
    assert plan(few).blocks > 0
    with pytest.raises(TooManyRows, match="128 query rows, more than kMaxRows"):
        plan(many)


@pytest.mark.parametrize(("rows", "room"), [(64, False), (32, True)])
def test_results_in_the_place_of_scores_have_room_there(tmp_path, rows, room):
    """Where items of one tile end in the cube, a step of others comes to the place of scores, and leaves from
    that of probabilities."""
    stored(tmp_path, KernelRequest(dtypes=("float16",)), ops.nsa_compress_attention)
    for header in tmp_path.glob("op_kernel/*_schedule.h"):
        edit(header, kTileKeys=256, kRowsPerStep=16, kResultRowsPerStep=rows)
    call = ops.nsa_compress_attention.bind(**arguments([3], [70], group=32, sizes=(128, 128)))
    launch = prepare(call, 24)
    if room:
        assert UserProject.at(tmp_path, ops.nsa_compress_attention).plan(launch).blocks > 0
        return
    with pytest.raises(CompileFailed, match="the place of scores has room for a step of results"):
        UserProject.at(tmp_path, ops.nsa_compress_attention).plan(launch)


def test_kernel_and_plan_have_no_number_of_the_schedule_of_their_own():
    names = re.findall(r"constexpr \w+ (k\w+) = ", files()[HEADER])
    assert {"kTileKeys", "kRing", "kRowsPerStep", "kMaxRows", "kBaseN", "kBaseK", "kPrefetch"} <= set(names)
    kernel, plan = files()[KERNEL], files()[PLAN]
    assert not set(re.findall(r"constexpr \w+ (k\w+) = ", kernel)) & set(names)
    for name in (HEADER, KERNEL):
        assert f"namespace {Path(KERNEL).stem} {{" in files()[name]
    assert f'#include "{Path(HEADER).name}"' in kernel
    assert f'#include "../{HEADER}"' in plan
    rings = re.findall(r"tiling\.\w+RingPart =\s+(.*?);", plan, re.DOTALL)
    assert len(rings) == 3
    for value in rings:
        assert "kernel.ring" in value and "rowsPerTask" in value


def test_constants_are_written_in_operators_alone():
    a, b = Named(5, "a"), Named(3, "b")
    for expr in (ceil_div(a, b), round_up(a + 1, 4), minimum(a, b) * 2, maximum(a * b, round_up(b, 2)) * 2):
        text = re.sub(r"\bk([AB])\b", lambda m: {"A": "5", "B": "3"}[m[1]], constant_text(expr))
        assert not re.search(r"[A-Za-z]", text)
        python = re.sub(
            r"\((\S+(?: \* \S+)?) ([<>]) (.+?) \? (.+?) : (.+?)\)", r"(\4 if \1 \2 \3 else \5)", text
        )
        assert eval(python.replace("/", "//")) == expr.evaluate({})


ROWS, RING, BASE = Named(64, "maxRows"), Named(3, "ring"), Named(128, "baseK")
HEAD, HALF, LANES = Named(128, "paddedHeadSize"), Named(32, "rowsPerVector"), Named(64, "lanes")
CONSTANTS = (
    Constant(ROWS, "", option="max_rows"),
    Constant(RING, "", option="ring"),
    Constant(BASE, "", option="base_k"),
    Constant(HEAD, ""),
    Constant(LANES, "", of_device=True),
    Constant(HALF, "", definition=ROWS // 2),
)
LEGAL = {"max_rows": Legal(16, 256, 16), "ring": Legal(2, 8), "base_k": Legal(16, 256, 16)}


def told(*requirements: Requirement) -> list[tuple[str, str]]:
    """Each assertion: what it states and what that means."""
    return [
        (" && ".join(map(constant_text, each.conditions)), "; ".join(meanings(each, CONSTANTS)))
        for each in limits(requirements, CONSTANTS, LEGAL)
    ]


def test_the_limits_of_one_constant_are_one_assertion() -> None:
    """The tightest bounds with all that they mean; what compares two constants stands by itself."""
    assert told(
        Requirement((ROWS >= 16) & (ROWS <= 256) & ((ROWS % 16) == 0), "limits of max_rows"),
        Requirement((RING >= 2) & (RING <= 8), "limits of ring"),
        Requirement(ROWS <= 128, "one band"),
        Requirement((ROWS % 32) == 0, "whole steps"),
        Requirement(RING <= ROWS, "some rule"),
        Requirement((RING % 2) == 1, "odd rings"),
    ) == [
        (
            "kMaxRows >= 32 && kMaxRows <= 128 && kMaxRows % 32 == 0",
            "kMaxRows: a multiple of 32 from 32 to 128; one band; whole steps",
        ),
        ("kRing >= 2 && kRing <= 8 && kRing % 2 == 1", "kRing: from 2 to 8; odd rings"),
        ("kRing <= kMaxRows", "some rule"),
    ]


def test_a_rule_on_what_follows_from_one_option_is_a_bound_of_the_option() -> None:
    legal = Requirement((ROWS >= 16) & (ROWS <= 256), "limits of max_rows")
    derived = Requirement(round_up(HALF, 64) <= LANES, "one repeat")
    assert told(legal, derived) == [
        ("kMaxRows >= 16 && kMaxRows <= 128", "kMaxRows: from 16 to 128; one repeat")
    ]
    assert told(legal, Requirement(HALF >= 100, "all heads")) == [
        ("kMaxRows >= 208 && kMaxRows <= 256", "kMaxRows: from 208 to 256; all heads")
    ]
    assert told(derived, Requirement(HALF >= 64, "all heads")) == [
        ("kMaxRows == 128", "one repeat; all heads")
    ]


def test_a_rule_that_is_no_bound_stays_as_it_is() -> None:
    """One of two options, one that single values break, and one that every legal value keeps."""
    rules = (
        Requirement(HALF <= BASE, "two options"),
        Requirement((HALF % 24) == 8, "some values"),
        Requirement(HALF <= 256, "every value"),
    )
    assert told(*rules) == [
        ("kRowsPerVector <= kBaseK", "two options"),
        ("kRowsPerVector % 24 == 8", "some values"),
        ("kRowsPerVector <= 256", "every value"),
    ]


def test_a_bound_by_a_fixed_constant_names_it() -> None:
    legal = Requirement((BASE >= 16) & (BASE <= 256), "limits of base_k")
    assert told(legal, Requirement(HEAD <= BASE, "a whole head")) == [
        ("kBaseK >= kPaddedHeadSize && kBaseK <= 256", "kBaseK: from kPaddedHeadSize to 256; a whole head")
    ]


def test_a_long_meaning_is_literals_side_by_side() -> None:
    first, second = _literal(" ".join(["many words"] * 12)).split("\n    ")
    assert first.endswith('words "') and second.startswith('"many') and len(first) <= WIDTH - 4
