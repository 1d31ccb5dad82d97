"""Stages that are the same but for the names of what is each attention's own are printed once."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

import pytest

from attndsl.api import ops
from attndsl.codegen.kernel.kernel import kernel_text
from attndsl.codegen.kernel.shared_stages import share
from attndsl.codegen.kernel.statements import Function
from attndsl.codegen.samples.device_files import device_files, kernel_path
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.lowering.signature.specialization import Specialization


@lru_cache(maxsize=1)
def relay() -> Compiled:
    return compile_operator(ops.relay_attention, Specialization(dtype="float16", padded_head_size=128))


def stage(name: str, part: str, *lines: str, doc: str = "a tile") -> Function:
    return Function(name + part, doc, ("int64_t tile",), lines, part)


OWN = stage(
    "ScoreTile",
    "Key",
    "DataCopy(keyL1, keyGm_[tile * tiling_.keyStrideT]);",
    "CrossCoreSetFlag(kScoreRingKeyReady);",
)
SHARED = stage(
    "ScoreTile",
    "KeyShare",
    "DataCopy(keyL1, keyShareGm_[tile * tiling_.keyShareStrideU]);",
    "CrossCoreSetFlag(kScoreRingKeyShareReady);",
)
BODY = ("    ScoreTileKey(tile);", "    ScoreTileKeyShare(tile);")


def shared(*functions: Function):
    return share(relay().program, (functions,), (BODY,))


def test_the_stages_of_both_attentions_of_relay_are_one_function_each():
    source = device_files([relay()])[kernel_path(relay())]
    functions = re.findall(r"inline void (\w+)\(", source)
    for stem in ("ScoreTile", "WeightedTile", "SoftmaxTile", "UpdateTile"):
        assert functions.count(stem) == 1
        assert [name for name in functions if name.startswith(stem)] == [stem]
        assert len(re.findall(rf"^ +{stem}\(key(?:Share)?Segment, ", source, re.M)) == 2
    assert source.count("\n") < 1300


def test_names_of_each_attention_become_members():
    found = shared(OWN, SHARED)
    (function,) = found.functions[0]
    assert function.name == "ScoreTile"
    assert function.parameters == ("const Segment &segment", "int64_t tile")
    assert function.lines == (
        "DataCopy(keyL1, segment.keyGm[tile * segment.keyStrideT]);",
        "CrossCoreSetFlag(segment.scoreRingReady);",
    )
    assert [member.name for member in found.members] == ["keyGm", "keyStrideT", "scoreRingReady"]
    assert [segment.values for segment in found.segments] == [
        ("keyGm_", "tiling_.keyStrideT", "kScoreRingKeyReady"),
        ("keyShareGm_", "tiling_.keyShareStrideU", "kScoreRingKeyShareReady"),
    ]
    assert found.bodies[0][-2:] == (
        "    ScoreTile(keySegment, tile);",
        "    ScoreTile(keyShareSegment, tile);",
    )


@pytest.mark.parametrize(
    "other",
    [
        replace(SHARED, lines=(SHARED.lines[0].replace("keyL1", "valueL1"), SHARED.lines[1])),
        replace(SHARED, lines=(SHARED.lines[0].replace("tile *", "tile +"), SHARED.lines[1])),
        replace(SHARED, lines=(*SHARED.lines, "PipeBarrier<PIPE_V>();")),
        replace(SHARED, lines=(SHARED.lines[0].replace("keyShareGm_", "scoreRingKeyGm_"), SHARED.lines[1])),
        replace(SHARED, parameters=("int64_t tile", "int64_t rows")),
    ],
    ids=["a buffer", "an operation", "a barrier", "a tensor's type", "a parameter"],
)
def test_stages_that_differ_in_anything_else_stay_two(other):
    found = shared(OWN, other)
    assert found.functions == ((OWN, other),)
    assert found.bodies == (BODY,) and not found.members and not found.segments


def test_a_name_that_stands_for_two_keeps_the_later_stage_apart():
    """``keyStrideT`` is each attention's own in the first pair, and the same for both in the second."""
    second = [stage("Rows", part, "Copy(tiling_.keyStrideT);") for part in ("Key", "KeyShare")]
    found = shared(OWN, SHARED, *second)
    assert [item.name for item in found.functions[0]] == ["ScoreTile", "RowsKey", "RowsKeyShare"]


def test_stages_without_names_of_their_own_take_no_segment():
    both = [stage("ScoreTile", part, "Duplicate(rowMax_, kLowest);") for part in ("Key", "KeyShare")]
    found = shared(*both)
    assert [(item.name, item.parameters) for item in found.functions[0]] == [("ScoreTile", ("int64_t tile",))]
    assert found.bodies[0] == ("    ScoreTile(tile);",) * 2 and not found.segments


def test_only_tensors_that_a_kernel_looks_at_are_its_members():
    names = [tensor.name for tensor in kernel_text(relay()).tensors]
    assert "kvSeqLenGm_" in names and "queryGm_" in names
    assert not {"attentionMaskGm_", "seqLenGm_"} & set(names)
