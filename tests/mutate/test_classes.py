"""Each class of defects applies to emitted texts, and a mutant of it is killed."""

from __future__ import annotations

import pytest

from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.finished import finished_projects
from attndsl.execute.execute import stored
from attndsl.mutate import data_rules, event_rules, plan_rules
from attndsl.mutate.bench import RUNTIME_HEADER, kernel_files
from attndsl.mutate.defects import Rule, defects_of
from attndsl.mutate.instructions import EmittedText, Instructions
from attndsl.mutate.mutants import mutants_of, used_functions
from attndsl.mutate.source_model import Span
from attndsl.mutate.trial_run import (
    FINDING,
    KILLED,
    NOT_COMPILED,
    NOT_REACHED,
    REFUSED,
    STATIC,
    SURVIVED,
    VALUE,
    try_mutant,
)
from attndsl.spec.operator.loader import load

from .conftest import Subject

KINDS = {
    event_rules.DROPPED_EVENT: "WaitFlag<HardEvent::MTE2_V>(kScoreReady",
    event_rules.SWAPPED_EVENT: "",
    event_rules.MISNUMBERED_EVENT: "kScoreReady + scoreSlot_",
    event_rules.WRONG_PIPE: "V_MTE3",
    event_rules.DROPPED_CROSS_FLAG: "CrossCoreWaitFlag(kOutRingReady);",
    event_rules.MISSING_BARRIER: "PipeBarrier<PIPE_V>();",
    data_rules.STRIDE: "tiling_.queryStrideN",
    data_rules.TAIL: "MinOf(kTileKeys, work.keyEnd - firstKey)",
    data_rules.MASK: "",
    data_rules.BOUND: "<",
    data_rules.WRONG_SLOT: "queryL1Slot_",
    data_rules.WRONG_BUFFER: "newMax_",
    data_rules.STALE_RING: "slot",
    data_rules.DROPPED_RESCALE: "Exp(rescale_",
    plan_rules.BATCH_MODE: "kBatchMode",
    plan_rules.BUCKET: ">",
    plan_rules.WORKSPACE: "tiling.blocks",
    plan_rules.SPLITS: "problem.B * tiling.kvHeads",
    plan_rules.PLAN_STRIDE: "problem.D",
}
"""Each class, and how the changed text of the mutant that is tried begins."""
TRIED = 6
"""Mutants that are tried until one is killed: others may be equivalent."""


def test_every_class_has_a_test(subject: Subject) -> None:
    assert set(subject.mutants) == set(KINDS)


@pytest.mark.sweep(fast=9)
@pytest.mark.parametrize("kind", KINDS)
def test_a_mutant_is_killed(subject: Subject, kind: str) -> None:
    beginning = " ".join(KINDS[kind].split())
    fitting = [each for each in subject.mutants[kind] if each.before.startswith(beginning)]
    assert fitting, f"no place for: {kind}"
    ends = []
    for mutant in fitting[:TRIED]:
        assert mutant.text(subject.files) != subject.files.files[mutant.file]
        trials = mutant.reaching(subject.trials)
        ends.append(try_mutant(subject.files, mutant.file, mutant.text(subject.files), trials))
        if ends[-1].status == KILLED:
            break
    assert ends[-1].status == KILLED and ends[-1].message, ends
    assert ends[-1].by in (FINDING, VALUE, STATIC, REFUSED)


def test_text_that_means_the_same_survives(subject: Subject) -> None:
    text = subject.files.files[subject.files.header]
    end = try_mutant(subject.files, subject.files.header, text + "// changed\n", subject.trials[:2])
    assert (end.status, end.cases) == (SURVIVED, 2)


def test_text_that_is_no_program_does_not_count(subject: Subject) -> None:
    text = subject.files.files[subject.files.header]
    end = try_mutant(subject.files, subject.files.header, text + "int;;x y\n", subject.trials[:1])
    assert end.status == NOT_COMPILED


def test_an_assertion_of_the_schedule_kills(subject: Subject) -> None:
    file = subject.files.schedule
    text = subject.files.files[file]
    assert "kRing = 3;" in text
    end = try_mutant(subject.files, file, text.replace("kRing = 3;", "kRing = 9;"), subject.trials[:1])
    assert (end.status, end.by) == (KILLED, STATIC)


def test_a_line_that_no_case_executes_is_no_kill(subject: Subject) -> None:
    text = subject.files.files[subject.files.header]
    assert try_mutant(subject.files, subject.files.header, text, ()).status == NOT_REACHED


# Statements that the small kernel does not have, and forms of those that it has ----------------------------


RUNTIME = """
class KernelBase {
    template <typename Element>
    __aicore__ static inline void LoadRows(const AscendC::LocalTensor<Element> &local,
        const AscendC::GlobalTensor<Element> &global, int64_t rows, int64_t columns, int64_t globalPitch)
    {
        AscendC::DataCopyPad(local, global,
            AscendC::DataCopyExtParams(rows, columns * 2, (globalPitch - columns) * 2, 0, 0));
    }
    __aicore__ static inline void LoadTwice(const AscendC::LocalTensor<half> &local, int64_t stride)
    {
        LoadRows(local, global, 2, 16, stride);
    }
    template <int64_t kCopies>
    __aicore__ static inline void MulRows(const AscendC::LocalTensor<float> &rows, int64_t count)
    {
        for (int64_t r = 0; r < count; ++r) {
            AscendC::Mul(rows[r], rows[r], rows[r], 8);
        }
    }
    static inline void MaxOfBlocks(const AscendC::LocalTensor<float> &rows, int64_t columns, int64_t pitch)
    {
        for (int64_t c0 = 0; c0 < columns; c0 += kRepeatLanes) {
            AscendC::BlockReduceMax(rows[c0], rows[c0], 8, kRepeatLanes, 8, 1, pitch / kBlockLanes);
        }
    }
};
"""
STORES_ROWS = RUNTIME.replace(
    "};\n",
    """    template <typename Element>
    __aicore__ static inline void StoreRows(const AscendC::GlobalTensor<Element> &global,
        const AscendC::LocalTensor<Element> &local, int64_t rows, int64_t columns, int64_t globalPitch,
        int64_t localPitch)
    {
        AscendC::DataCopyPad(global, local, AscendC::DataCopyExtParams(rows, columns * kSize,
            (localPitch - RoundUp(columns, kBlock)) / kBlock, (globalPitch - columns) * kSize, 0));
    }
};
""",
    1,
)


def changes(rule: Rule, statement: str) -> list[str]:
    """The texts that a rule makes of a statement."""
    text = f"void Stage()\n{{\n{statement}\n}}\n"
    source = EmittedText(text, Instructions.of(RUNTIME))
    found = []
    for each in defects_of(source, [rule]):
        changed = text[: each.span.start] + each.after + text[each.span.end :]
        found.append(changed.partition("{\n")[2].rpartition("\n}")[0])
    return found


def test_a_helper_that_sets_and_waits_is_an_event() -> None:
    pair = "Handover<HardEvent::V_MTE3>(kProbReady);"
    assert changes(event_rules.dropped_events, pair) == [";"]
    assert changes(event_rules.misnumbered_events, pair) == []


def test_a_flag_is_swapped_with_work_of_its_pipe_alone() -> None:
    early = "Exp(x, x, 8);\nSetFlag<HardEvent::V_MTE3>(k);"
    assert changes(event_rules.swapped_events, early) == ["SetFlag<HardEvent::V_MTE3>(k);\nExp(x, x, 8);"]
    other = "Exp(x, x, 8);\nSetFlag<HardEvent::MTE2_V>(k);"
    assert changes(event_rules.swapped_events, other) == []


def test_an_id_becomes_one_that_another_event_of_the_same_pipes_has() -> None:
    """Any other id would be as good as its own."""
    ids = "constexpr int32_t kA = 0;\nconstexpr int32_t kB = 2;\nconstexpr int32_t kC = 1;\n"
    stage = "SetFlag<HardEvent::V_MTE2>(kA);\nSetFlag<HardEvent::{}>(kB);\nSetFlag<HardEvent::MTE2_V>(kC);"

    def numbers(pipes: str) -> list[str]:
        source = EmittedText(f"{ids}void Stage()\n{{\n{stage.format(pipes)}\n}}\n", Instructions.of(RUNTIME))
        found = defects_of(source, [event_rules.misnumbered_events])
        return [f"{source.at(each.span)} -> {each.after}" for each in found if each.after.isdigit()]

    assert numbers("V_MTE2") == ["0 -> 2", "2 -> 0"]
    assert numbers("V_MTE3") == []


PHASES = """
constexpr int32_t kScoreReady = 0;
constexpr int32_t kPartMaxReady = 4;
void SoftmaxTile()
{
    SetFlag<HardEvent::MTE2_V>(kScoreReady);
    WaitFlag<HardEvent::MTE2_V>(kScoreReady);
}
void MergePartials()
{
    CrossCoreSetFlag<kAllCores, PIPE_MTE3>(kBeforeMergePartials);
    SetFlag<HardEvent::MTE2_V>(kPartMaxReady);
    WaitFlag<HardEvent::MTE2_V>(kPartMaxReady);
}
void Run()
{
    SoftmaxTile();
    MergePartials();
}
"""


def _numbers(text: str) -> list[str]:
    found = event_rules.misnumbered_events(EmittedText(text, Instructions.of(RUNTIME)))
    return [each.after for each in found if each.after.isdigit()]


def test_ids_of_events_before_and_after_all_blocks_wait_may_be_one() -> None:
    """Unless the first is still set then, or the phases are none."""
    assert _numbers(PHASES) == []
    set_alone = PHASES.replace("    WaitFlag<HardEvent::MTE2_V>(kScoreReady);\n", "")
    assert _numbers(set_alone) == ["0", "4"]
    ready = "    SoftmaxTile();"
    led = PHASES.replace(ready, f"{ready}\n    SetFlag<HardEvent::MTE2_V>(kScoreReady);")
    assert _numbers(led) == ["0", "4"]
    one_phase = PHASES.replace("    CrossCoreSetFlag<kAllCores, PIPE_MTE3>(kBeforeMergePartials);\n", "")
    assert _numbers(one_phase) == ["0", "4"]


SLOTS = """
void WriteRows()
{
    Cast(View(ub_, kResultAt + resultSlot_ * kResultSlot), x, 8);
}
void WriteMerged()
{
    Cast(View(ub_, kResultAt + resultSlot_ * kResultSlot), x, 8);
}
void MergePartials()
{
    CrossCoreSetFlag<kAllCores, PIPE_MTE3>(kBeforeMergePartials);
    WriteMerged();
}
void Run()
{
    WriteRows();
    MergePartials();
}
"""


def _slots(text: str) -> int:
    return len(list(data_rules.wrong_slots(EmittedText(text, Instructions.of(RUNTIME)))))


def test_slots_of_a_buffer_that_one_place_takes_are_numbered_another_way() -> None:
    one = "Add(View(ub_, kPartMaxAt + partMaxSlot_ * 8), View(ub_, {} + partMaxSlot_ * 8), y, 8);"
    assert changes(data_rules.wrong_slots, one.format("kPartSumAt")) == []
    assert len(changes(data_rules.wrong_slots, one.format("kPartMaxAt"))) == 2


def test_slots_are_those_of_work_before_or_after_all_blocks_wait() -> None:
    """What took the buffer before is done then; without the flag, or called by both, it may not be."""
    assert _slots(SLOTS) == 0
    assert (
        _slots(SLOTS.replace("    CrossCoreSetFlag<kAllCores, PIPE_MTE3>(kBeforeMergePartials);\n", "")) == 2
    )
    assert _slots(SLOTS.replace("    WriteRows();", "    WriteRows();\n    WriteMerged();")) == 2


def test_strides_of_a_single_row_are_none() -> None:
    many = "DataCopyPad(x, y, DataCopyExtParams(rows, 4, a, b, 0));"
    assert [each.count("+ 1") for each in changes(data_rules.strides, many)] == [1, 1]
    assert changes(data_rules.strides, many.replace("rows", "1")) == []


@pytest.mark.parametrize(
    ("rows_of_step", "rows", "strides"),
    [
        (8, "const int64_t stepRows = MinOf(kRowsPerStep, rows - r0);", 0),
        (16, "const int64_t stepRows = MinOf(kRowsPerStep, rows - r0);", 2),
        (8, "const int64_t stepRows = rows - r0;", 2),
        (8, "const int64_t stepRows = MaxOf(kRowsPerStep, rows - r0);", 2),
    ],
)
def test_strides_between_blocks_of_rows_are_none_where_a_step_has_one(
    rows_of_step: int, rows: str, strides: int
) -> None:
    text = f"""void Stage()
{{
    {rows}
    LoadRows(tileStat_, rowsGm_, CeilDiv(stepRows, kBlockLanes), kRepeatLanes, 8);
    DataCopyPad(x, y, DataCopyExtParams(CeilDiv(stepRows, kBlockLanes), 4, a, b, 0));
}}
"""
    constants = f"constexpr int64_t kBlockLanes = 8;\nconstexpr int64_t kRowsPerStep = {rows_of_step};\n"
    source = EmittedText(text, Instructions.of(RUNTIME), schedule=constants)
    made = [source.line(each.span.start) for each in data_rules.strides(source)]
    assert made == [4] * (strides // 2) + [5] * strides


def test_rounding_that_a_division_does_again_is_no_tail() -> None:
    assert changes(data_rules.tails, "F((kTile - RoundUp(keys, 8)) / 8);") == []
    assert changes(data_rules.tails, "F((kTile - RoundUp(keys, 8)) / 4);") == ["F((kTile - (keys)) / 4);"]


def test_strides_between_repeats_of_one_repeat_are_none() -> None:
    many = "Adds(x, x, float(1), lanes, repeats, UnaryRepeatParams(1, 1, 8, 8));"
    assert len(changes(data_rules.strides, many)) == 4
    once = many.replace("repeats", "1")
    found = changes(data_rules.strides, once)
    assert found == [once.replace("(1, 1,", "(1 + 1, 1,"), once.replace("(1, 1,", "(1, 1 + 1,")]


def test_tails_of_what_is_read_ahead_and_of_cores_without_rows_are_none() -> None:
    load = "LoadRows(x, keyGm_[8], tiling_.warmKeys, columns, pitch);"
    stages = f"void {{}}()\n{{{{\n{load}\n}}}}\n"
    texts = (
        EmittedText(stages.format(name), Instructions.of(RUNTIME)) for name in ("WarmScores", "ScoreTile")
    )
    assert [len(list(defects_of(each, [data_rules.tails]))) for each in texts] == [0, 2]
    begin = "rowBegin = MinOf(subBlock_ * rowsPerCore, taskRows);"
    assert changes(data_rules.tails, begin) == ["rowBegin = (taskRows);"]
    other = "rowBegin = MinOf(step * rowsPerCore, taskRows);"
    assert len(changes(data_rules.tails, other)) == 2


def test_what_is_stored_ahead_may_come_from_anywhere() -> None:
    """Where it goes to counts."""
    store = "StoreRows(ringGm_[8], zeros, rows, tiling_.warmKeys, kTileKeys, kTileKeys);"
    stages = f"void {{}}()\n{{{{\n{store}\n}}}}\n"
    texts = (
        EmittedText(stages.format(name), Instructions.of(STORES_ROWS))
        for name in ("WarmScores", "SoftmaxTile")
    )
    assert [len(list(defects_of(each, [data_rules.strides]))) for each in texts] == [1, 2]


def test_bounds_of_what_is_brought_ahead_count_where_flags_are_set() -> None:
    def count(name: str, body: str) -> int:
        text = f"void {name}()\n{{\nfor (int64_t r0 = 0; r0 < rows; r0 += 8) {{\n{body}\n}}\n}}\n"
        return len(list(data_rules.bounds(EmittedText(text))))

    store, flag = "StoreRows(ring, zeros, 8);", "CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kWarm);"
    assert [count("WarmScores", each) for each in (store, flag)] == [0, 2]
    assert count("ScoreTile", store) == 2


def test_a_guard_of_work_on_rows_takes_one_less() -> None:
    """On no rows, there would be none to do."""
    guard = "if (rows > 0) {\n    Duplicate(x, 0.0f, rows);\n}"
    assert changes(data_rules.bounds, guard) == [guard.replace("> 0", "> 1")]
    tiles = guard.replace("rows > 0", "work.tiles > 0")
    assert changes(data_rules.bounds, tiles) == [tiles.replace("> 0", "> 1")]
    step = guard.replace("rows > 0", "r0 > 0")
    steps = f"for (int64_t r0 = 0; r0 < rows; r0 += kStep) {{\n{step}\n}}"
    assert steps.replace("r0 > 0", "r0 > kStep") in changes(data_rules.bounds, steps)
    both = guard.replace("rows > 0", "rows > 0 && tiles != 1")
    assert changes(data_rules.bounds, both) == [both.replace("> 0", "> 1")]
    compared = guard.replace("rows > 0", "rows > 0 && tile < tiles")
    assert compared.replace("> 0", ">= 0") in changes(data_rules.bounds, compared)
    other = guard.replace("rows > 0", "rows > first")
    assert changes(data_rules.bounds, other) == [other.replace(">", ">=")]


def test_comparisons_of_bounds() -> None:
    loop = "for (int64_t r = 0; r < rows; r += 8) {}"
    found = ["for (int64_t r = 1; r < rows; r += 8) {}", "for (int64_t r = 0; r <= rows; r += 8) {}"]
    assert changes(data_rules.bounds, loop) == found


def test_a_loop_that_takes_the_rest_ends_a_step_early() -> None:
    loop = "for (int64_t r0 = 0; r0 < count; r0 += Some(count)) {{\n    Mul(x, x, y, 64, {}, 8);\n}}"
    left = loop.format("MinOf(Some(count), count - r0)")
    assert changes(data_rules.bounds, left) == [
        left.replace("r0 = 0", "r0 = 1"),
        left.replace("< count", "< count - Some(count)"),
    ]
    whole = loop.format("Some(count)")
    assert changes(data_rules.bounds, whole) == [
        whole.replace("r0 = 0", "r0 = 1"),
        whole.replace("<", "<="),
    ]
    other = loop.format("MinOf(Some(count), rows - r0)")
    assert len(changes(data_rules.bounds, other)) == 2


def test_comparisons_of_masks() -> None:
    compare = "Compare(mask, x, y, CMPMODE::LT, 64);"
    assert changes(data_rules.masks, compare) == [";", compare.replace("LT", "LE")]


def test_lanes_that_are_filled_one_late_or_not_at_all() -> None:
    fill = "FillLanes(score, keys % 64, x, stepRows, 512);"
    assert changes(data_rules.masks, fill) == [";", fill.replace("keys %", "1 + keys %")]
    assert changes(data_rules.masks, "FillRows(score, keys % 64, x, stepRows, 512);") == []
    part = "FillInterval(score, begin, end, x);"
    assert changes(data_rules.masks, part) == [";", part.replace("begin", "1 + begin")]


def test_the_last_barrier_of_a_kernel_orders_nothing() -> None:
    assert changes(event_rules.missing_barriers, "PipeBarrier<PIPE_ALL>();") == []
    assert changes(event_rules.missing_barriers, "PipeBarrier<PIPE_V>();") == [";"]


def test_the_text_of_a_helper_tells_what_its_arguments_are() -> None:
    load = "LoadRows(score, scoreGm_[8], stepRows, keys, kTileKeys);"
    assert changes(data_rules.strides, load) == [load.replace("kTileKeys", "kTileKeys + 1")]
    assert changes(data_rules.tails, load) == [
        load.replace("stepRows", "stepRows - 1"),
        load.replace("keys", "keys - 1"),
    ]


def test_what_a_helper_is_given_of_whole_repeats_is_a_repeat_less() -> None:
    """What a kernel's own function is given may have a rest."""
    helper = "inline void Merge(const T &rows, int64_t count, int64_t columns)\n{\n"
    text = helper + "    MaxOfBlocks(rows, columns, 8);\n}\n"

    def made(runtime: str) -> list[str]:
        source = EmittedText(text, Instructions.of(runtime))
        return [each.after for each in data_rules.tails(source)]

    assert (made(RUNTIME + text), made(RUNTIME)) == (["columns - 64"], ["columns - 1"])


def test_of_rows_of_blocks_a_row_is_left_out() -> None:
    """One lane less of the last row is none where a block's lanes are alike."""
    helper = "inline void Copy(const T &rows, int64_t columns)\n{\n    LoadRows(rows, columns, 8);\n}\n"

    def made(columns: str) -> list[str]:
        text = f"void Stage()\n{{\n    Copy(x, {columns});\n}}\n"
        found = data_rules.tails(EmittedText(text, Instructions.of(RUNTIME + helper)))
        return [each.after for each in found if "stepRows" in each.after]

    assert made("stepRows * kBlockLanes") == ["stepRows * kBlockLanes - kBlockLanes"]
    assert made("stepRows * kPadded") == ["stepRows * kPadded - 1"]


@pytest.mark.parametrize(
    ("statement", "multiplies"),
    [
        ("AscendC::Mul(sums, sums, rescale, lanes);", True),
        ("MulRows<1>(rows, rescale, count, columns, columns);", True),
        ("AscendC::Exp(rescale, rescale, lanes);", False),
        ("AscendC::Mul(rescale, rescale, sums, lanes);", False),
    ],
)
def test_a_product_with_a_factor_that_may_be_1(statement: str, multiplies: bool) -> None:
    instructions = Instructions.of(RUNTIME)
    source = EmittedText(f"void Stage()\n{{\n{statement}\n}}\n", instructions)
    found = [data_rules.multiplies_by_rescale(source, each) for each in data_rules.dropped_rescales(source)]
    assert found == [multiplies]


@pytest.mark.parametrize(("name", "products"), [("sigmoid", 0), ("sinks", 2)])
def test_factors_of_merged_rows_are_1_where_rows_have_no_maximum(name: str, products: int) -> None:
    operator = load(f"specs/variants/{name}.py")
    (project,) = finished_projects(operator, KernelRequest(dtypes=("float16",)))
    files = list(kernel_files(stored(project.files), operator, operator))
    of_header = [each for each in mutants_of(files) if each.file == RUNTIME_HEADER]
    factors = [each.before for each in of_header if each.kind == data_rules.DROPPED_RESCALE]
    assert sum("Mul" in each for each in factors) == products
    assert any("Exp" in each for each in factors)


def test_functions_of_the_runtime_header_that_a_kernel_uses() -> None:
    source = EmittedText(RUNTIME, Instructions.of(RUNTIME))
    assert used_functions(source, "LoadTwice(x, 8);") == {"LoadTwice", "LoadRows"}
    assert used_functions(source, "MulRows<2>(x, 8);") == {"MulRows"}


def test_the_text_of_a_helper_tells_in_what_it_counts() -> None:
    """Less than a block of a pitch, or than a repeat of whole ones, makes no difference."""
    known = "MaxOfBlocks(lanes_, kPaddedHeadSize, kTileKeys);"
    assert changes(data_rules.strides, known) == [known.replace("kTileKeys", "kTileKeys + 8")]
    assert changes(data_rules.tails, known) == [known.replace("HeadSize", "HeadSize - 64")]
    some = "MaxOfBlocks(lanes_, keys, kTileKeys);"
    assert changes(data_rules.tails, some) == [some.replace("keys", "keys - 1")]


def test_a_store_that_adds_may_replace_and_the_other_way_round() -> None:
    assert changes(data_rules.stale_rings, "SetAtomicAdd<float>();") == [";"]
    assert changes(data_rules.stale_rings, "SetAtomicNone();") == [";"]
    assert changes(data_rules.stale_rings, "SetMaskNorm();") == []


def test_slots_of_halves_that_one_function_numbers_may_be_others() -> None:
    made = "found.halfSlot = itemSlot * kMostHalves + found.halfOfTask;"
    assert changes(data_rules.stale_rings, made) == []
    assert len(changes(data_rules.stale_rings, f"{made}\n{made.replace('found.halfSlot', 'x')}")) == 2


@pytest.mark.parametrize(("behind", "count"), [("Fill(tileSum_, x)", 1), ("Add(x, tileSum_)", 2)])
def test_maxima_that_may_not_grow_are_no_defect(behind: str, count: int) -> None:
    """Sums are rescaled more often then; what the result went to is filled before it is read."""
    growth = "Adds(tileStat_, tileStat_, float(tile >= work.halves ? -kGrowthLimit : 0.0f), 8);"
    text = f"void Stage()\n{{\n{growth}\n{behind};\n}}\nLocalTensor<float> tileStat_, tileSum_;\n"
    source = EmittedText(text, Instructions.of(RUNTIME))
    made = [each for each in data_rules.wrong_buffers(source) if each.span.start < text.index(behind)]
    assert len(made) == count


@pytest.mark.parametrize(
    ("condition", "limit", "made"),
    [
        ("step >= work.halves", "-kGrowthLimit", []),
        ("tile > 0", "-kGrowthLimit", [">="]),
        ("step >= work.halves", "-kOther", [">"]),
    ],
)
def test_maxima_that_may_grow_a_step_later_are_no_defect(condition: str, limit: str, made: list[str]) -> None:
    statement = f"Adds(tileStat_, tileStat_, float({condition} ? {limit} : 0.0f), stepRows);"
    source = EmittedText(f"void Stage()\n{{\n{statement}\n}}\n", Instructions.of(RUNTIME))
    assert [each.after for each in data_rules.bounds(source)] == made


def test_the_slot_of_a_row_may_be_another_one() -> None:
    told = "Load(ring[RingRow(itemSlot, r0) * kSize], lanes[slot * kRows]);"
    found = changes(data_rules.stale_rings, told)
    assert any("RingRow(((itemSlot + kRing - 1) % kRing), r0)" in each for each in found)
    assert any("lanes[((slot + kRing - 1) % kRing) * kRows]" in each for each in found)


def test_the_text_of_a_helper_tells_its_pipe() -> None:
    assert changes(data_rules.dropped_rescales, "MulRows<2>(accumulator_, rescale_);") == [";"]
    assert changes(data_rules.dropped_rescales, "LoadTwice(rescale_, 8);") == []
    early = "LoadTwice(x, 8);\nSetFlag<HardEvent::MTE2_V>(k);"
    assert len(changes(event_rules.swapped_events, early)) == 1


def test_calls_with_their_namespace() -> None:
    early = "AscendC::Exp(x, x, 8);\nAscendC::SetFlag<AscendC::HardEvent::V_MTE3>(k);"
    assert len(changes(event_rules.swapped_events, early)) == 1
    assert changes(event_rules.dropped_events, early) == ["AscendC::Exp(x, x, 8);\n;"]


@pytest.mark.parametrize(
    ("statement", "pipe"),
    [
        ("Extract(values_, items_, records_, 4);", "V"),
        ("MrgSort(records_, list, info);", "V"),
        ("AscendC::CompareScalar(mask_, x_, y, CMPMODE::LT, 64);", "V"),
        ("DataCopyPad(outGm_[8], x_, copies);", "MTE3"),
        ("DataCopy(x_, keyGm_[8], 64);", "MTE2"),
        ("LoadDataWithTranspose(right_, image_, steps);", "MTE1"),
        ("MrgSortSrcList(x_, y_);", None),  # parameters of one
        ("Advance(x_);", None),
    ],
)
def test_a_call_keeps_the_pipe_of_its_instruction_busy(statement: str, pipe: str | None) -> None:
    source = EmittedText(f"void Stage()\n{{\n{statement}\n}}\n", Instructions({}))
    (call,) = (each for one in source.statements if (each := source.leading_call(one)) is not None)
    assert source.pipe_of(call) == pipe


PLAN = """
bool SelectKernel(const Problem &problem, Choice &choice)
{
    if (problem.antiquantScaleGiven == 0 &&
        problem.keySplit == 0) {
        choice.key = problem.queryDtype == values::QueryDtype::kFloat16 ? Key::kFloat16 : Key::kBfloat16;
        return true;
    }
    if (problem.antiquantScaleGiven != 0) {
        choice.key = Key::kAntiquant;
        return true;
    }
    return false;
}
void Lay(const Problem &problem, Tiling &tiling)
{
    tiling.outRingOffset =
        problem.antiquantScaleGiven == 0
            ? tiling.withoutScales
            : tiling.withScales;
}
"""


@pytest.mark.parametrize(
    ("place", "kernels"),
    [
        ("tiling.withoutScales", ["kFloat16", "kBfloat16"]),
        ("tiling.withScales", ["kAntiquant"]),
        ("problem.antiquantScaleGiven == 0\n            ?", ["kFloat16", "kBfloat16", "kAntiquant"]),
    ],
)
def test_a_branch_of_a_plan_is_tried_with_a_kernel_that_takes_it(place: str, kernels: list[str]) -> None:
    source = EmittedText(PLAN)
    start = PLAN.index(place)
    wanted = plan_rules.wanted_flags(source, Span(start, start + 1))
    asked = plan_rules.selecting_flags(source)
    assert [key for key, flags in asked.items() if wanted.items() <= flags.items()] == kernels


def test_an_id_of_two_events_that_are_never_outstanding_is_no_defect() -> None:
    ready = "SetAndWaitFlag<HardEvent::V_MTE3>(k{}Ready);"
    waited = "SetFlag<HardEvent::V_MTE3>(k{}Ready);\nWaitFlag<HardEvent::V_MTE3>(k{}Ready);"
    constants = "constexpr int32_t kProbReady = 0;\nconstexpr int32_t kResultReady = 1;\n"

    def numbers(*statements: str) -> list[str]:
        source = EmittedText(constants + "void Stage()\n{\n" + "\n".join(statements) + "\n}\n")
        found = defects_of(source, [event_rules.misnumbered_events])
        return [each.after for each in found if each.span.start < len(constants)]

    assert numbers(ready.format("Prob"), ready.format("Result")) == []
    assert numbers(ready.format("Prob"), waited.format("Result", "Result")) == ["1", "0"]


ALL_WAIT = "CrossCoreSetFlag<kAllCores, PIPE_MTE3>(k{0});\n{1}CrossCoreWaitFlag(k{0});\n"


@pytest.mark.parametrize(("between", "ids"), [("", []), ("Store();\n", ["1", "0"])])
def test_cores_that_wait_for_each_other_twice_may_do_so_by_one_flag(between: str, ids: list[str]) -> None:
    constants = "constexpr uint16_t kAllScale = 0;\nconstexpr uint16_t kMerge = 1;\n"
    flags = ALL_WAIT.format("AllScale", "") + ALL_WAIT.format("Merge", between)
    source = EmittedText(f"{constants}void Stage()\n{{\n{flags}}}\n")
    found = defects_of(source, [event_rules.misnumbered_events])
    assert [each.after for each in found if each.span.start < len(constants)] == ids


@pytest.mark.parametrize(("between", "pipes"), [("", 1), ("StoreRows(x);\n", 2)])
def test_any_pipe_sets_a_flag_behind_a_wait_for_all(between: str, pipes: int) -> None:
    ready = "CrossCoreSetFlag<kBlockCores, PIPE_MTE3>(kReady);"
    text = f"void Stage()\n{{\n{ALL_WAIT.format('All', '')}{between}{ready}\n}}\n"
    assert len(list(event_rules.wrong_pipes(EmittedText(text)))) == pipes


def test_flags_of_cube_and_vector_are_other_counters() -> None:
    constants = "constexpr uint16_t kScoreReady = 0;\nconstexpr uint16_t kProbReady = 1;\n"

    def numbers(score: str, prob: str) -> list[str]:
        set_flag = "CrossCoreSetFlag<kBlockCores,"
        flags = f"{set_flag} {score}>(kScoreReady);\n{set_flag} {prob}>(kProbReady);"
        source = EmittedText(f"{constants}void Stage()\n{{\n{flags}\n}}\n")
        found = defects_of(source, [event_rules.misnumbered_events])
        return [each.after for each in found if each.span.start < len(constants)]

    assert numbers("PIPE_FIX", "PIPE_MTE3") == []
    assert numbers("PIPE_FIX", "PIPE_FIX") == ["1", "0"]


def test_a_pitch_in_local_memory_differs_by_a_block() -> None:
    store = "StoreRows(gm, rows, count, 16, globalPitch, localPitch);"
    source = EmittedText(f"void Stage()\n{{\n{store}\n}}\n", Instructions.of(STORES_ROWS))
    found = {source.at(each.span): each.after for each in defects_of(source, [data_rules.strides])}
    assert found == {"globalPitch": "globalPitch + 1", "localPitch": "localPitch + 32"}


def test_what_a_constant_stands_for_has_no_tail_where_it_is_a_multiple() -> None:
    def made(value: str) -> list[str]:
        text = f"void Stage()\n{{\nconst int64_t cols = {value};\nLoad(x, CeilDiv(cols, kFractal));\n}}\n"
        schedule = "constexpr int64_t kFractal = 16, kBaseK = 128, kOddRows = 24;"
        source = EmittedText(text, Instructions.of(RUNTIME), schedule=schedule)
        return [each.after for each in data_rules.tails(source) if "kFractal" in each.after]

    assert made("kBaseK") == []
    assert made("kOddRows") == made("keys") == ["((cols) / (kFractal))"]
