"""Minima and roundings that guard against nothing, each with a near twin that guards against something."""

from __future__ import annotations

import pytest

from attndsl.mutate import data_rules
from attndsl.mutate.contract_limits import limits_of
from attndsl.mutate.defects import Rule, defects_of
from attndsl.mutate.instructions import EmittedText, Helper, Instructions, Limit

SCHEDULE = "constexpr int64_t kTileKeys = 512;\nconstexpr int64_t kRowsPerStep = 16;\n"
KNOWN = Instructions({"Load": Helper("MTE2", ()), "SumOfBlocks": Helper("V", ())})


def made(
    text: str,
    rule: Rule = data_rules.tails,
    *,
    plan: str = "",
    schedule: str = SCHEDULE,
    limits: frozenset[Limit] = frozenset(),
) -> list[str]:
    """What a rule puts in place of something in the function, or functions, of a kernel."""
    text = text if text.startswith("void") else f"void Stage()\n{{\n{text}\n}}\n"
    source = EmittedText(text, KNOWN, plan, None, schedule, limits)
    return [each.after for each in defects_of(source, [rule])]


TURNS = """const int64_t turnsEnd = tiling_.items + MinOf(tiling_.items, blockCount_);
for (int64_t turn = blockIndex_; turn < turnsEnd; turn += blockCount_) {{
    {}
}}"""


PLACES = """const int64_t placesEnd = order.itemsOfBlock + MinOf(order.itemsOfBlock, 1);
for (int64_t place = 0; place < placesEnd; ++place) {{
    {}
}}"""


def test_turns_that_do_nothing_may_be_more() -> None:
    assert made(TURNS.format("Steps(turn);")) == ["(blockCount_)"]
    writes = "if (earlier.tile == work.steps - 1) { WriteRows(); }"
    assert made(TURNS.format(writes)) == ["(blockCount_)", "(tiling_.items)"]
    assert made(PLACES.format("Steps(turn);")) == ["(1)"]
    assert made(PLACES.format(writes)) == ["(1)", "(order.itemsOfBlock)"]


DOUBLING = """for (int64_t lanes = 64; lanes < kTileKeys; lanes *= 2) {
    Adds(places_[lanes], places_, float(lanes), MinOf(lanes, kTileKeys - lanes));
}"""


def test_lanes_that_double_to_the_end() -> None:
    assert made(DOUBLING) == ["(kTileKeys - lanes)"]
    assert len(made(DOUBLING, schedule=SCHEDULE.replace("512", "384"))) == 2
    assert len(made(DOUBLING.replace("*= 2", "+= 64"))) == 2


GROUPS = """const int64_t stepRows = MinOf(kRowsPerStep, rows - r0);
for (int64_t r8 = 0; r8 < stepRows; r8 += 8) {
    const int64_t groupRows = MinOf(8, stepRows - r8);
    Add(partial[r8 * kPitch], partial[r8 * kPitch], lse_, groupRows * kPitch);
}"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("partial[r8 * kPitch]", "partial[(r0 + r8) * kPitch]"),
        ("Add(partial[r8 * kPitch], partial[r8 * kPitch], lse_,", "Load(partial[r8 * kPitch], "),
        ("r8 += 8", "r8 += 4"),
        ("MinOf(kRowsPerStep,", "MinOf(kTileRows,"),
    ],
)
def test_rows_of_a_last_group_that_are_none_of_another_step(old: str, new: str) -> None:
    assert "(8)" not in made(GROUPS)
    assert "(8)" in made(GROUPS.replace(old, new))


WIDE_GROUPS = """const int64_t rowsOfStep = tiles == 1 ? kRowsPerStep * 2 : kRowsPerStep;
const int64_t stepRows = MinOf(rowsOfStep, rows - r0);
for (int64_t r8 = 0; r8 < stepRows; r8 += 8) {
    const int64_t groupRows = MinOf(8, stepRows - r8);
    Add(score[c0 + r8 * pitch], score[c0 + r8 * pitch],
        blocks_[r8 * (2 * kBlockLanes) + kRepeatLanes - (c0 + r8 * kBlockLanes) % (2 * kRepeatLanes)],
        kRepeatLanes, groupRows);
}"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (": kRowsPerStep;", ": kRowsOfStep;"),
        ("% (2 * kRepeatLanes)", "% (2 * kRepeatLanes) + row"),
        ("[c0 + r8 * pitch]", "[c0 + (r0 + r8) * pitch]"),
    ],
)
def test_rows_of_a_last_group_in_columns(old: str, new: str) -> None:
    assert "(8)" not in made(WIDE_GROUPS)
    assert "(8)" in made(WIDE_GROUPS.replace(old, new))


AT_ONCE = """void SubRows()
{{
    for (int64_t r0 = 0; r0 < count; r0 += RowsAtOnce<kCopies>(count)) {{
        {}(rows[r0 * pitch], blocks[r0], 64, MinOf(RowsAtOnce<kCopies>(count), count - r0), 1);
    }}
}}
"""


def test_a_helper_may_work_on_whole_groups_of_local_rows() -> None:
    """Not one that loads rows, or is no helper."""
    known = Instructions({**KNOWN.helpers, "SubRows": Helper("V", ())})

    def first(text: str, of: Instructions) -> str:
        return next(each.after for each in defects_of(EmittedText(text, of), [data_rules.tails]))

    assert first(AT_ONCE.format("Sub"), known) == "(RowsAtOnce<kCopies>(count) + 1)"
    assert first(AT_ONCE.format("Load"), known) == "(RowsAtOnce<kCopies>(count))"
    assert first(AT_ONCE.format("Sub"), KNOWN) == "(RowsAtOnce<kCopies>(count))"


SPLIT = """void Decode()
{{
    found.firstTile = MinOf(found.split * tilesPerSplit, tileTotal);
    found.tiles = MinOf(tilesPerSplit, tileTotal - found.firstTile);
    found.steps = MaxOf(found.tiles, 1);
}}
void Scores()
{{
    const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
}}
void Run()
{{
    if (work.tiles > 0) {{
        Begin();
    }}
    if ({}) {{
        Scores();
    }}
    {}
}}
"""


def test_a_split_without_tiles_begins_anywhere() -> None:
    first = "(found.split * tilesPerSplit)"
    assert first not in made(SPLIT.format("tile < work.tiles", ""))
    assert first not in made(SPLIT.format("tile < work.tiles", "if (tile >= work.tiles) { Zeros(); }"))
    assert first in made(SPLIT.format("tile < work.tiles", "if (tile >= work.tiles - 1) { Zeros(); }"))
    assert first in made(SPLIT.format("tile < work.steps", ""))
    assert first in made(SPLIT.format("tile < work.tiles", "Warm(work.firstTile);"))
    assert first in made(SPLIT.format("tile < work.tiles", "if (work.tiles == 0) { Begin(); }"))


COLLECTED = """const int64_t firstTile = MinOf(found.split * tilesPerSplit, tileTotal);
for (int64_t candidate = firstTile;
     candidate < MinOf({} + tilesPerSplit, {}) && found.tiles < 512;
     ++candidate) {{
    Collect({});
}}"""


@pytest.mark.parametrize(
    ("first", "total", "collected"),
    [
        ("firstTile", "tileTotal", "candidate"),
        ("lastTile", "tileTotal", "candidate"),
        ("firstTile", "allTiles", "candidate"),
        ("firstTile", "tileTotal", "firstTile"),
    ],
)
def test_a_loop_collects_no_tile_behind_the_last(first: str, total: str, collected: str) -> None:
    harmless = (first, total, collected) == ("firstTile", "tileTotal", "candidate")
    found = made(COLLECTED.format(first, total, collected))
    assert ("(found.split * tilesPerSplit)" in found) is not harmless


HALVES = """void Decode()
{{
    found.firstTile = MinOf(found.split * tilesPerSplit, tileTotal);
    const int64_t tiles = MinOf(tilesPerSplit, tileTotal - found.firstTile);
    found.keySteps = found.halves * tiles;
    found.steps = MaxOf(found.keySteps, {});
}}
void Scores()
{{
    const int64_t firstKey = (work.firstTile + tile) * kTileKeys;
}}
void Run()
{{
    if (step < work.keySteps) {{
        Scores();
    }}
    if (step >= work.keySteps{}) {{
        Zeros();
    }}
}}
"""


def test_a_split_of_halves_without_tiles_begins_anywhere() -> None:
    first = "(found.split * tilesPerSplit)"
    assert first not in made(HALVES.format("found.halves", ""))
    assert first in made(HALVES.format("-9", ""))
    assert first in made(HALVES.format("found.halves", " - work.halves"))


LENGTHS = """found.lengthsOfBatch = lengthsGm_.GetValue(found.batch);
const int64_t end = MinOf(found.lengthsOfBatch{}, tiling_.keyCapacity);"""


def test_lengths_that_the_contract_keeps_within_the_rows() -> None:
    limits = frozenset({(("lengths",), "W * R")})
    plan = "tiling.keyCapacity = problem.W * problem.R;"
    assert made(LENGTHS.format(""), plan=plan, limits=limits) == ["(tiling_.keyCapacity)"]
    assert len(made(LENGTHS.format(" + 1"), plan=plan, limits=limits)) == 2
    assert len(made(LENGTHS.format(""), plan=plan.replace("R", "S"), limits=limits)) == 2
    assert len(made(LENGTHS.format(""), plan=plan)) == 2


def test_lengths_within_the_largest_of_them() -> None:
    longest = "tiling.keyCapacity = problem.maxOfLengths;"
    assert made(LENGTHS.format(""), plan=longest) == ["(tiling_.keyCapacity)"]
    assert len(made(LENGTHS.format(" + 1"), plan=longest)) == 2
    assert len(made(LENGTHS.format(""), plan=longest.replace("Lengths", "Others"))) == 2


def test_limits_of_every_call_alone() -> None:
    """Entries for a ring, or for batch rows that take no part, may be above the rows of the cache."""
    found = limits_of("self_attention", "self_attention_pa_encoder")
    assert {(("seqlen",), "qRows"), (("seqlen", "seqlen"), "kvRows")} <= found
    assert not any("tokenoffset" in names for names, _ in limits_of("self_attention", "self_attention"))


ROW = """Muls(score[row * kTileKeys], score[row * kTileKeys], scale, RoundUp(keys, kRepeatLanes));
PipeBarrier<PIPE_V>();
if (keys % kRepeatLanes != 0) {{
    {}
}}
SumOfBlocks(lanes_, score, stepRows);"""


def test_lanes_that_are_filled_afterwards() -> None:
    """A row has a key less instead."""
    fill = "FillLanes(score[keys / kRepeatLanes * kRepeatLanes], keys % kRepeatLanes, 0.0f, rows, kTileKeys);"
    assert made(ROW.format(fill)) == ["(keys - 1)"]
    assert made(ROW.format("PipeBarrier<PIPE_V>();")) == ["(keys)"]
    assert made(ROW.format(fill).replace("Muls", "Load")) == ["(keys)"]


def test_a_fold_of_an_earlier_step_comes_in_between() -> None:
    fill = "FillLanes(score[keys / kRepeatLanes * kRepeatLanes], keys % kRepeatLanes, 0.0f, rows, kTileKeys);"
    fold = "SumOfBlocks(sumBlocks_[(r0 - kRowsPerStep) * kBlockLanes], {}, kRowsPerStep);\nPipeBarrier"
    assert made(ROW.format(fill).replace("PipeBarrier", fold.format("stepLanes_"), 1)) == ["(keys - 1)"]
    assert made(ROW.format(fill).replace("PipeBarrier", fold.format("score"), 1)) == ["(keys)"]


RUNS = """int64_t row = 0;
while (row < rows) {
    const int64_t count = MinOf(run - taskRow % run, rows - row);
    Store(global, local[row * pitch], count);
    row += count;
}"""


def test_a_loop_by_what_is_left_ends_before_its_last_run() -> None:
    """Once more, it would never end."""
    assert made(RUNS, data_rules.bounds) == [" - run"]
    assert made(RUNS.replace("row += count", "row += run"), data_rules.bounds) == ["<="]


MAXIMA = """Duplicate(rowMax_[slot * kRows], 0.0f, rows);
Duplicate(mergedMax_, float(kLowest), lanes);
{}"""


def test_a_maximum_of_zeros_starts_above_them() -> None:
    assert made(MAXIMA.format(""), data_rules.masks) == ["float(-kLowest)"]
    update = "CopyLanes(rowMax_[slot * kRows], newMax_, rows);"
    assert made(MAXIMA.format(update), data_rules.masks) == ["float(0)"]


PIECES = """const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey);
for (int64_t k0 = 0; k0 < keys; k0 += kBaseK) {
    const int64_t depth = MinOf(kBaseK, keys - k0);
    Load(depth);
}"""


@pytest.mark.parametrize(("tile", "made_too"), [(128, False), (256, True)])
def test_what_is_left_of_a_tile_of_one_piece_is_the_tile(tile: int, made_too: bool) -> None:
    """Of two pieces the first is one step."""
    schedule = f"constexpr int64_t kTileKeys = {tile};\nconstexpr int64_t kBaseK = 128;\n"
    found = made(PIECES, schedule=schedule)
    assert "(kBaseK)" in found and ("(keys - k0)" in found) is made_too


BLOCK = """const int64_t firstKey = block * {0};
const int64_t keys = MinOf(block * {0} + {0}, work.keyEnd) - firstKey;
"""


@pytest.mark.parametrize(
    ("first", "made_too"),
    [
        (BLOCK.format(64), False),
        (BLOCK.format("kTileKeys"), False),
        (BLOCK.format(256), True),
        (BLOCK.format(64).replace("firstKey = block", "firstKey = tile"), True),  # it may begin elsewhere
        ("const int64_t keys = MinOf(MinOf(kTileKeys, work.keyEnd - firstKey), end);\n", False),
        ("const int64_t keys = MinOf(kTileKeys, work.keyEnd - firstKey) + more;\n", True),
    ],
)
def test_the_keys_of_a_block_are_one_piece(first: str, made_too: bool) -> None:
    schedule = "constexpr int64_t kTileKeys = 128;\nconstexpr int64_t kBaseK = 128;\n"
    loop = first + PIECES.partition("\n")[2]
    assert ("(keys - k0)" in made(loop, schedule=schedule)) is made_too
    loads = loop.replace("Load(depth)", "Load(values[first + k0 * tiling_.valueStride])")
    assert ("(tiling_.valueStride + 1)" in made(loads, data_rules.strides, schedule=schedule)) is made_too
    other = loads.replace("first + k0 *", "first + head *")
    assert "(tiling_.valueStride + 1)" in made(other, data_rules.strides, schedule=schedule)


@pytest.mark.parametrize(("unit", "made_too"), [("kRowsPerStep", False), ("kOddRows", True), ("rows", True)])
def test_a_quotient_of_whole_units_needs_no_rounding(unit: str, made_too: bool) -> None:
    schedule = SCHEDULE + "constexpr int64_t kBlockLanes = 8, kOddRows = 12;\n"
    found = made(f"Sum(CeilDiv(RoundUp(rows, {unit}), kBlockLanes));", schedule=schedule)
    assert any("/ (kBlockLanes)" in each for each in found) is made_too


@pytest.mark.parametrize(
    ("plan", "made_too"),
    [
        ("tiling.splits = 1;", False),
        ("tiling.splits = parts;", True),
        ("tiling.splits = 1; tiling.splits = MaxOf(2, parts);", True),
    ],
)
def test_a_quotient_by_what_the_plan_sets_to_one_needs_no_rounding(plan: str, made_too: bool) -> None:
    found = made("const int64_t tiles = CeilDiv(total, tiling_.splits);", plan=plan)
    assert bool(found) is made_too
