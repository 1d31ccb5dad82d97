"""The text of an operand that is read as another type: a member of the kernel, or one slot of several."""

from __future__ import annotations

import pytest

from attndsl.expr import Const
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Bitwise, Gather, Instruction, ShiftBits, SortGroups, SplitRecords

from .bench import Names, buffer

X, OUT, RECORDS = (buffer(name, "float32", 64) for name in ("x", "out", "records_"))


def line(target: Buffer, offset: int = 0):
    return target.region(offset, 1, 32)


def instructions(slots: int) -> dict[str, tuple[Instruction, list[str]]]:
    """Each instruction that reads an operand as another type, with the operands that it reads so."""
    numbers = buffer("numbers", "int32", 64, slots=slots)
    bits, more = (buffer(name, "uint8", 64, slots=slots) for name in ("bits", "more"))
    words = buffer("words", "float32", 64, slots=slots)
    wide = RECORDS.region(0, 1, 64)
    return {
        "Sort32": (SortGroups(dst=wide, scores=line(X), indices=line(numbers)), ["numbers"]),
        "Extract": (SplitRecords(dst=line(OUT), indices=line(numbers), src=wide), ["numbers"]),
        "Gather": (
            Gather(dst=line(OUT), src=line(X), offsets=line(numbers, 8), base=Const(0)),
            ["numbers[8]"],
        ),
        "And": (
            Bitwise(op="And", dst=line(bits), first=line(bits), second=line(more)),
            ["bits", "bits", "more"],
        ),
        "ShiftLeft": (
            ShiftBits(op="ShiftLeft", dst=line(words), src=line(words), bits=3),
            ["words", "words"],
        ),
    }


@pytest.mark.parametrize("name", instructions(1))
def test_member_templates_of_a_slot_carry_the_word_that_clang_asks_for(name: str) -> None:
    """A slot is a local of a deduced type: g++ takes it without the word, CANN's compiler does not."""
    for slots, call in ((1, ".ReinterpretCast<"), (2, ".template ReinterpretCast<")):
        item, places = instructions(slots)[name]
        text = item.text(Names())
        rest = text
        for place in places:
            assert place + call in rest, text
            rest = rest.split(place + call, 1)[1]
        assert text.count("ReinterpretCast<") == len(places)
