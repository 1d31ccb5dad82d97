"""Bounds of keys that a mask makes harmless, each with a near twin that no mask does."""

from __future__ import annotations

import pytest

from attndsl.mutate import data_rules
from attndsl.mutate.defects import defects_of
from attndsl.mutate.instructions import EmittedText, Helper, Instructions

KNOWN = Instructions({"FillInterval": Helper("V", ())})
SCHEDULE = "constexpr int64_t kTileKeys = 512, kBaseN = 128, kRepeatLanes = 64, kRowsPerBand = 128;"
KERNEL = """
void Decode()
{
    found.keyEnd = MinOf(capacity, MaxOf(0, found.firstQuery + found.queries));
}
void ScoreTile()
{
    for (int64_t n0 = 0; n0 < keys; n0 += kBaseN) {
        const int64_t bandKeys =
            MinOf(keys, RoundUp(MaxOf(1, MaxOf(0, work.firstQuery + (band + bandRows - 1) / work.heads + 1)
                - firstKey), kRepeatLanes));
        if (n0 < bandKeys) {
            Mmad(product, left, right, ProductParams(16, 16, 16, 0, false, true));
        }
    }
}
void SoftmaxTile()
{
    const int64_t keys = MinOf(tileKeys, RoundUp(MaxOf(1, MaxOf(0, work.firstQuery
        + MaxOf(rowBegin, MinOf(work.taskRows, RoundUp(rowBegin + rows, kRowsPerBand)) - 1) / work.heads + 1)
        - firstKey), kRepeatLanes));
    FillInterval(score[row * kTileKeys], MinOf(keys, MaxOf(0, queryIndex + 1 - firstKey)), keys,
        -__builtin_inff());
}
"""
BY_NAME = (
    """const int64_t keys = MinOf(tileKeys, RoundUp(MaxOf(1, MaxOf(0, work.firstQuery
        + MaxOf(rowBegin, MinOf(work.taskRows, RoundUp(rowBegin + rows, kRowsPerBand)) - 1) / work.heads + 1)
        - firstKey), kRepeatLanes));
    FillInterval(""",
    """const int64_t lastBandRow =
        MaxOf(rowBegin, MinOf(work.taskRows, RoundUp(rowBegin + rows, kRowsPerBand)) - 1);
    const int64_t keys = MinOf(tileKeys, RoundUp(MaxOf(1, MaxOf(0, work.firstQuery
        + lastBandRow / work.heads + 1) - firstKey), kRepeatLanes));
    LoadScores(keys);
}
void LoadScores()
{
    FillInterval(""",
)
"""The same with the last row by a name, and the mask in a function that the stage calls."""
LEFT_OUT = {
    "(capacity)",  # more tiles, all of them hidden
    "(keys)",  # of the pieces; of the mask it is made
    "(tileKeys)",
    "(work.taskRows)",
    "(RoundUp(rowBegin + rows, kRowsPerBand))",
    "(MaxOf(0, queryIndex + 1 - firstKey))",
}


def made(old: str = "", new: str = "") -> list[str]:
    """What stands in place of a minimum or of what is rounded up."""
    assert old in KERNEL
    source = EmittedText(KERNEL.replace(old, new) if old else KERNEL, KNOWN, "", None, SCHEDULE)
    found = [" ".join(each.after.split()) for each in defects_of(source, [data_rules.tails])]
    return [each for each in found if each.startswith("(")]


def test_what_a_mask_hides_is_no_defect() -> None:
    """Left are an end behind the last key, the rest of a band, what a row must see, and lanes of a repeat."""
    found = made()
    assert [each for each in found if each in LEFT_OUT] == ["(keys)"]  # a mask that hides nothing
    assert "(MaxOf(0, found.firstQuery + found.queries))" in found
    assert "(rowBegin + rows)" in found
    assert len(found) == 5
    assert [each for each in made(*BY_NAME) if each in LEFT_OUT] == ["(keys)"]


def test_of_a_last_row_that_bounds_other_keys_the_end_is_made() -> None:
    old, new = BY_NAME
    assert "(work.taskRows)" in made(old, new.replace("LoadScores(keys);", ""))
    twice = "    const int64_t ends = MinOf(some, MaxOf(0, lastBandRow));\n    LoadScores(keys);"
    assert "(work.taskRows)" in made(old, new.replace("    LoadScores(keys);", twice))


def test_rows_of_a_half_end_where_its_own_rows_do() -> None:
    """A function that is given the first query of a half writes its position without the item's name."""
    half = KERNEL.replace("MaxOf(0, work.firstQuery\n", "MaxOf(0, firstQuery\n")
    assert half != KERNEL
    source = EmittedText(half, KNOWN, "", None, SCHEDULE)
    found = [" ".join(each.after.split()) for each in defects_of(source, [data_rules.tails])]
    assert "(tileKeys)" not in found and "(work.taskRows)" not in found


@pytest.mark.parametrize(
    ("old", "new", "back"),
    [
        ("queryIndex + 1 - firstKey", "queryIndex + window - firstKey", {"(capacity)", "(tileKeys)"}),
        ("-__builtin_inff()", "0.0f", {"(capacity)", "(tileKeys)", "(work.taskRows)"}),
        ("if (n0 < bandKeys)", "if (n0 + 16 < bandKeys)", {"(keys)"}),
        ("Mmad(product", "CrossCoreSetFlag<2, PIPE_FIX>(kReady); Mmad(product", {"(keys)"}),
        ("-firstKey)), keys,".replace("-", "- "), "- firstKey)), end,", {"(capacity)"}),
    ],
)
def test_without_the_mask_or_with_other_uses_it_is_one(old: str, new: str, back: set[str]) -> None:
    before, after = made(), made(old, new)
    for each in back:
        assert after.count(each) > before.count(each)


def test_pieces_begin_at_multiples_of_what_is_rounded_up_to() -> None:
    """Otherwise the piece of the last keys may be skipped."""
    rounded = "(MaxOf(1, MaxOf(0, work.firstQuery + (band + bandRows - 1) / work.heads + 1) - firstKey))"
    assert rounded not in made()
    assert rounded in made("n0 += kBaseN", "n0 += kFractal")


def test_a_product_with_probabilities_may_end_within_a_repeat() -> None:
    """Behind the end of the last row they are 0. Scores of a repeat are all computed."""
    rounded = "(MaxOf(1, MaxOf(0, work.firstQuery + (band + bandRows - 1) / work.heads + 1) - firstKey))"
    pieces = (
        "for (int64_t k1 = 0; k1 < bandKeys; k1 += kBaseN) {{ Load({}[k1], MinOf(kBaseN, bandKeys - k1)); }}"
    )
    skipped = """if (n0 < bandKeys) {
            Mmad(product, left, right, ProductParams(16, 16, 16, 0, false, true));
        }"""
    assert skipped in KERNEL
    assert rounded not in made(skipped, pieces.format("probL1"))
    assert rounded in made(skipped, pieces.format("queryL1"))
    unhidden = KERNEL.replace(skipped, pieces.format("probL1")).replace("-__builtin_inff()", "0.0f")
    found = defects_of(EmittedText(unhidden, KNOWN, "", None, SCHEDULE), [data_rules.tails])
    assert rounded in [" ".join(each.after.split()) for each in found]


def test_columns_in_front_of_a_window_are_skipped_afterwards() -> None:
    """Where a tile begins has another name then."""
    windowed = KERNEL.replace(
        "const int64_t keys = MinOf(tileKeys", "const int64_t keysOfTile = MinOf(tileKeys"
    )
    windowed = windowed.replace(
        "/ work.heads + 1)\n        - firstKey)", "/ work.heads + 1)\n        - tileFirst)"
    )
    assert windowed.count("keysOfTile") == windowed.count("tileFirst") == 1
    source = EmittedText(windowed, KNOWN, "", None, SCHEDULE)
    found = [" ".join(each.after.split()) for each in defects_of(source, [data_rules.tails])]
    assert "(tileKeys)" not in found and "(work.taskRows)" not in found


NUMBERS = """FillInterval({}, MaxOf(0, keyBlock * 64 - firstKey), MinOf(keys, (keyBlock + 1) * {} - firstKey),
    float(blocksGm_.GetValue(keyBlock)));"""


@pytest.mark.parametrize(
    ("buffer", "size", "harmless"),
    [("keyTestNumbers_", 64, True), ("keyTestNumbers_", 48, False), ("score[row * kTileKeys]", 64, False)],
)
def test_numbers_of_a_test_may_fill_the_last_repeat(buffer: str, size: int, harmless: bool) -> None:
    text = f"void Stage()\n{{\n{NUMBERS.format(buffer, size)}\n}}\n"
    found = [each.after for each in defects_of(EmittedText(text, KNOWN), [data_rules.tails])]
    assert (f"((keyBlock + 1) * {size} - firstKey)" not in found) is harmless
