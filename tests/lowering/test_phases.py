"""The phases of a kernel stand in the order of their table, and the page on the lowering lists them all."""

from __future__ import annotations

import re
from pathlib import Path

from attndsl.compiler.compile import compile_operator
from attndsl.lowering.phases import PHASES, Place
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.loader import load_shipped
from attndsl.tile.statements import Stage
from tests.support.specials import compiled

PAGE = (Path(__file__).parents[2] / "docs" / "packages" / "lowering.md").read_text()
WORDS = {Place.BEFORE: "before", Place.ITEM: "item", Place.AFTER: "after"}


def stages(joint) -> list[str]:
    """The stages of a joint program, in their order."""
    return [item.name for item in joint.body.walk() if isinstance(item, Stage)]


def test_the_page_lists_the_phases_in_their_order() -> None:
    rows = re.findall(r"^\| (before|item|after) \| ([^|(]+?) (?:\(|\|)", PAGE, flags=re.MULTILINE)
    assert rows == [(WORDS[phase.place], phase.name) for phase in PHASES]


def test_phases_of_a_place_follow_each_other() -> None:
    places = [phase.place for phase in PHASES]
    assert places == sorted(places, key=list(Place).index)


def test_phases_that_are_asked_for_stand_in_the_order_of_the_table() -> None:
    operator = load_shipped("nsa_compress_attention")
    special = Specialization(dtype="float16", padded_head_size=32, padded_value_size=32)
    wanted = ["PrepareSelection", "StartSelection", "StartRows", "ScoreTile", "SelectBlocks"]
    wanted += ["SelectRest", "WriteSelection", "UpdateTile", "WriteStatistics", "WriteRows"]
    found = stages(compile_operator(operator, special).joint)
    assert [name for name in found if name in wanted] == wanted
    assert "MergePartials" not in found


def test_phases_that_nobody_asks_for_are_left_out() -> None:
    found = stages(compiled(64).joint)
    assert found[-3:] == ["MergePartials", "MergeParts", "WriteMerged"]
    assert not {"ScaleQuery", "WriteStatistics", "StartSelection", "ZeroPadding", "AppendRows"} & set(found)
