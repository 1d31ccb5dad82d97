"""Schedules: what an author states is kept or refused, what is left out shrinks until everything fits."""

from __future__ import annotations

import re
from copy import copy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attndsl.api import ops
from attndsl.base.errors import UserError
from attndsl.base.package_files import specs_dir
from attndsl.compiler.compile import compile_operator, rows_of_a_task
from attndsl.compiler.prepare_launch import launch_of, prepare, specialization_of
from attndsl.execute import execute
from attndsl.expr import Const, Symbol
from attndsl.lowering.errors import (
    DoesNotFit,
    IllegalScheduleValue,
    ScheduleError,
    UnknownScheduleChoice,
)
from attndsl.lowering.lower import lower
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.option_couplings import COUPLINGS
from attndsl.lowering.match.resolve_schedule import resolve
from attndsl.lowering.match.schedule_options import BAND_ROWS, MANY_ROWS, Schedule, describe
from attndsl.lowering.match.shrink_schedule import STEPS, smaller, with_fewer_events
from attndsl.lowering.signature.kernel_signature import kernel_signature_of
from attndsl.lowering.signature.specialization import Specialization
from attndsl.reference import run as reference
from attndsl.spec.operator.loader import load, load_file
from attndsl.target import MemorySpace
from attndsl.tile.statements import Let, Pipelined
from attndsl.tile_interpreter import run as tile
from attndsl.verify.cases.shaped_call import call_of_shape
from tests.support.authored import call_of, with_schedule
from tests.support.builders import PADDED, attention, room, signature
from tests.support.devices import ARCHITECTURE, DEVICE
from tests.support.specials import compiled

BOTH = frozenset({"attn_mask", "pse_shift"})
LEGAL = {
    "tile_k": range(64, 1985, 64), "ring": range(2, 9), "rows": range(8, 65, 8), "base_n": range(16, 257, 16),
    "base_k": range(16, 257, 16), "slots": (1, 2), "max_rows": range(16, 257, 16),
    "split_kv": range(1, 4097), "cores": range(1, 25), "value_n": range(16, 257, 16), "query_slots": (1, 2),
    "value_slots": (1, 2), "result_slots": (1, 2), "widen_lead": range(7), "value_width": range(16, 1025, 16),
    "result_rows": range(8, 129, 8),
}  # fmt: skip


WORDS = {
    "task_rows": ("even", "most"), "pipeline": ("auto", "continuous", "drained"),
    "item_order": ("auto", "splits", "tasks", "longest"), "split_kv": ("auto", "idle", "even"),
    "cores": ("auto",),
    "value_n": ("auto",), "query_slots": ("auto",), "value_slots": ("auto",), "value_width": ("auto",),
    "result_rows": ("auto",),
    "score_slots": ("auto", "ring", "prefetch"), "value_source": ("auto", "memory", "keys"),
    "first_stores": ("auto", "vector", "cube"),
    "prob_layout": ("rows", "fractals"), "few_keys": ("same", "auto", "double"),
    "key_copies": ("parts", "whole"), "sums": ("auto", "vector", "workspace"),
    "halves": ("auto", "alternate", "none"), "score_dtype": ("float32", "float16"),
    "row_sums": ("auto", "lanes", "blocks", "step"), "maxima": ("auto", "each", "kept"),
    "item_loops": ("auto", "joint", "separate"),
}  # fmt: skip


def special(padded_size=128, features=frozenset()):
    return Specialization(dtype="float16", padded_head_size=padded_size, features=features)


@given(name=st.sampled_from(sorted(LEGAL)), value=st.integers(-100, 5000))
def test_every_integer_is_legal_or_told_the_nearest(name, value):
    if value in LEGAL[name]:
        stated = {name: value}
        if name == "rows":
            stated["max_rows"] = 16 * (value // 8)  # one step a core
        if name == "result_rows":
            stated |= {"max_rows": 2 * value, "rows": 8}
        if name == "max_rows":
            stated["rows"] = 8
        if name == "widen_lead":
            stated["ring"] = value + 2
        follow = {"result_slots": 1} if stated.get("slots") == 1 else {}
        if stated.get("ring") == 2:
            follow["widen_lead"] = 0
        assert resolve(stated, DEVICE) == replace(Schedule(), **{**follow, **stated})
        return
    with pytest.raises(IllegalScheduleValue) as caught:
        resolve({name: value}, DEVICE)
    message = str(caught.value)
    assert f"{name}={value} must be an integer from " in message
    advice = int(message.rsplit(" ", 1)[1])
    assert advice in LEGAL[name]
    assert abs(advice - value) == min(abs(legal - value) for legal in LEGAL[name])


@pytest.mark.parametrize(
    ("name", "value"), [("tile_k", 512.0), ("ring", "3"), ("slots", True), ("rows", None), ("tile_k", "auto")]
)
def test_other_types_are_refused(name, value):
    with pytest.raises(IllegalScheduleValue, match=f"{name}={re.escape(repr(value))} must be an integer"):
        resolve({name: value}, DEVICE)


@pytest.mark.parametrize(
    ("name", "value", "nearest"),
    [("tile_k", 512.0, 512), ("tile_k", "500", 512), ("tile_k", float("inf"), 1984), ("ring", "many", 2)],
)
def test_another_type_is_told_the_integer_that_was_meant(name, value, nearest):
    with pytest.raises(IllegalScheduleValue, match=f"; the nearest legal value is {nearest}$"):
        resolve({name: value}, DEVICE)


@pytest.mark.parametrize("name", ["rows", "result_rows"])
@given(max_rows=st.sampled_from(LEGAL["max_rows"]), data=st.data())
def test_the_divisor_that_is_advised_is_the_nearest_that_is_accepted(name, max_rows, data):
    """Twice 104 rows, steps of 64: the nearest divisor, 104, is above what a step may have."""
    value = data.draw(st.sampled_from(LEGAL[name]))
    legal = [rows for rows in LEGAL[name] if max_rows // 2 % rows == 0]
    if value in legal:
        assert getattr(resolve({"max_rows": max_rows, name: value}, DEVICE), name) == value
        return
    with pytest.raises(IllegalScheduleValue) as caught:
        resolve({"max_rows": max_rows, name: value}, DEVICE)
    advice = int(str(caught.value).rsplit(" ", 1)[1])
    assert abs(advice - value) == min(abs(rows - value) for rows in legal)
    assert getattr(resolve({"max_rows": max_rows, name: advice}, DEVICE), name) == advice


def test_words_are_kept():
    for name, words in WORDS.items():
        for word in words:
            assert resolve({name: word}, DEVICE) == replace(Schedule(), **{name: word})
    with pytest.raises(IllegalScheduleValue, match=r'or "auto" or "idle" or "even"; the nearest .* is 1$'):
        resolve({"split_kv": "all"}, DEVICE)


@pytest.mark.parametrize(
    ("name", "value", "nearest"),
    [
        ("pipeline", "drain", "drained"),
        ("item_order", 1, "auto"),
        ("task_rows", "mostly", "most"),
        ("split_kv", "Idle", "idle"),
    ],
)
def test_another_word_is_told_the_likest(name, value, nearest):
    with pytest.raises(IllegalScheduleValue) as caught:
        resolve({name: value}, DEVICE)
    assert f"{name}={value!r} must be " in str(caught.value)
    assert str(caught.value).endswith(f"the nearest legal value is {nearest!r}")


@pytest.mark.parametrize("pipeline", ["continuous", "drained"])
def test_a_pipeline_goes_on_or_drains_as_the_author_says(pipeline, tmp_path):
    """A selection takes the tiles of an item twice, in either pipeline."""
    compiled = compile_operator(with_schedule(tmp_path, pipeline=pipeline), special())
    loops = [each for each in compiled.joint.body.walk() if _is_loop(each)]
    assert {loop.continuous for loop in loops} == {pipeline == "continuous"}
    source = (specs_dir() / "nsa_compress_attention.py").read_text()
    (tmp_path / "changed.py").write_text(source.replace(STATED, f"{STATED}, pipeline={pipeline!r}"))
    operator = load_file(tmp_path / "changed.py")
    selecting = Specialization(dtype="float16", padded_head_size=32, padded_value_size=32)
    loops = [each for each in compile_operator(operator, selecting).joint.body.walk() if _is_loop(each)]
    assert [loop.continuous for loop in loops] == [pipeline == "continuous"]


def _is_loop(statement):
    return isinstance(statement, Pipelined)


def test_items_of_one_task_follow_each_other_where_the_author_says_so(tmp_path):
    """Seven splits of each task: in the order of tasks the second item is the second split of task 0."""
    for order, expected in (("splits", (0, 1)), ("tasks", (1, 0))):
        launch = prepare(
            call_of(with_schedule(tmp_path, item_order=order, split_kv=7), batch=3, keys=4000, head_dim=16)
        )
        statements = launch.compiled.joint.body.walk()
        lets = {each.symbol.name: each.value for each in statements if isinstance(each, Let)}
        env = {**launch.tiling, "item": 1}
        assert (lets["split"].evaluate(env), lets["task"].evaluate(env)) == expected


def test_the_host_takes_one_band_of_rows_only_where_it_may():
    """Four tasks of 256 rows leave cores idle that eight of 128 do not."""
    found = {}
    for choice in ("even", "most"):
        operator = copy(load("self_attention").mode_named("PA_ENCODER"))
        vars(operator)["schedule_choices"] = {"task_rows": choice}  # an author cannot set it
        call = call_of_shape(operator, {"batch": 1, "qRows": 1024, "headNum": 1})
        compiled = compile_operator(operator, specialization_of(call))
        found[choice] = launch_of(call, compiled).tiling["queriesPerTask"]
    assert found == {"even": 128, "most": 256}


@pytest.mark.parametrize(
    ("wrong", "right"), [("tile_K", "tile_k"), ("rings", "ring"), ("basen", "base_n"), ("split", "split_kv")]
)
def test_an_unknown_choice_names_the_nearest_and_the_line(wrong, right, tmp_path):
    operator = with_schedule(tmp_path, **{wrong: 2})
    with pytest.raises(UnknownScheduleChoice) as caught:
        compile_operator(operator, special())
    assert re.match(
        rf"authored_\d+\.py:\d+: op\.schedule has no choice '{wrong}'; the nearest is '{right}'",
        str(caught.value),
    )


def test_errors_are_the_users():
    for kind in (UnknownScheduleChoice, IllegalScheduleValue, DoesNotFit):
        assert (
            issubclass(kind, ScheduleError) and issubclass(kind, UserError) and issubclass(kind, ValueError)
        )


CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "tile_k": st.sampled_from([64, 192, 512, 960]), "ring": st.sampled_from([2, 3, 8]),
        "rows": st.sampled_from([8, 16]), "base_n": st.sampled_from([16, 48, 128]),
        "base_k": st.sampled_from([16, 48, 128]), "slots": st.sampled_from([1, 2]),
        "max_rows": st.sampled_from([64, 96]), "split_kv": st.sampled_from([1, 2, 7]),
        "cores": st.sampled_from([1, 5]), "pipeline": st.sampled_from(["continuous", "drained"]),
        "item_order": st.sampled_from(["splits", "tasks", "longest"]), "value_n": st.sampled_from([16, 64]),
        "query_slots": st.sampled_from([1, 2]), "value_slots": st.sampled_from([1, 2]),
    },
)  # fmt: skip


def kept_and_right(folder, choices, group, keys):
    operator = with_schedule(folder, **choices)
    call = call_of(
        operator, batch=2, group=group, keys=keys, head_dim=80, features=BOTH, lengths=[keys, keys // 2]
    )
    try:
        launch = prepare(call)
    except DoesNotFit:
        return  # refused; that it names the right things is tested below
    assert {name: getattr(launch.compiled.schedule, name) for name in choices} == choices
    tile.interpret(launch)
    got, expected = launch.outputs()[0], reference.run(call)[0]
    np.testing.assert_allclose(got.astype(float), expected.astype(float), atol=2**-8)


EXAMPLES = {"choices": CHOICES, "group": st.sampled_from([1, 17, 64]), "keys": st.sampled_from([1, 300, 700])}
_FOLDER = HealthCheck.function_scoped_fixture


@settings(max_examples=5, suppress_health_check=[_FOLDER])
@given(**EXAMPLES)
def test_stated_values_are_kept_and_the_result_is_right(tmp_path, choices, group, keys):
    kept_and_right(tmp_path, choices, group, keys)


@pytest.mark.long
@settings(max_examples=60, suppress_health_check=[_FOLDER])
@given(**EXAMPLES)
def test_many_stated_values_are_kept_and_the_result_is_right(tmp_path, choices, group, keys):
    kept_and_right(tmp_path, choices, group, keys)


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize(
    "choices",
    [
        {"tile_k": 64, "ring": 2, "slots": 1, "rows": 16},
        {"tile_k": 1024, "ring": 8, "slots": 1},
        {"base_n": 48, "base_k": 16, "split_kv": 3},
        {"pipeline": "drained", "item_order": "tasks", "split_kv": 3},
        {"value_n": 16, "query_slots": 1, "value_slots": 1},
        {"value_n": 32, "value_width": 48, "tile_k": 192},
        {"result_rows": 32, "split_kv": 2},
    ],
    ids=str,
)
def test_generated_kernels_of_other_schedules_have_no_finding(choices, tmp_path):
    operator = with_schedule(tmp_path, **choices)
    call = call_of(operator, batch=2, group=20, keys=1100, head_dim=80, lengths=[1100, 70])
    (out,) = execute.run(call, cores=3)  # raises for findings
    np.testing.assert_allclose(out.astype(float), reference.run(call)[0].astype(float), atol=2**-8)


@pytest.mark.parametrize("features", [frozenset(), BOTH], ids=["plain", "both"])
@pytest.mark.parametrize("padded_size", [16, 256, 448, 512])
def test_every_head_size_compiles(padded_size, features):
    """The largest ones with every feature need fewer rows a step and a task, and fewer slots."""
    schedule = compiled(padded_size, "float16", *sorted(features)).schedule
    assert schedule.tile_k % 64 == 0
    if padded_size == 512 and features:
        plain = Schedule()
        assert schedule.rows < plain.rows and schedule.result_slots < plain.result_slots
        assert schedule.max_rows < plain.max_rows and schedule.tile_k <= plain.tile_k
    if padded_size <= 256:
        assert schedule.tile_k == Schedule().tile_k


@pytest.mark.parametrize("features", [frozenset(), frozenset({"atten_mask", "topk_mask"})])
def test_tasks_of_selections_keep_the_rows_of_a_group(tmp_path, features):
    """All heads of a group are added on one core. Without a selection rows of this size shrink, see above."""
    text = (specs_dir() / "nsa_compress_attention.py").read_text()
    stated = "op.schedule(max_rows=128)"
    assert stated in text
    file = tmp_path / "unstated.py"
    file.write_text(text.replace(stated, ""))
    special = Specialization(dtype="float16", padded_head_size=512, padded_value_size=512, features=features)
    assert compile_operator(load_file(file), special).schedule.max_rows == 128


def test_only_what_is_left_open_shrinks():
    schedule, seen = Schedule(max_rows=128), []
    while schedule is not None:
        found = (schedule.rows, schedule.tile_k, schedule.slots, schedule.max_rows, schedule.result_slots)
        seen.append(found)
        schedule = smaller(schedule, room())
    results_first = [(16, 512, 2, 128, 2), (16, 512, 2, 128, 1), (8, 512, 2, 128, 2), (8, 512, 2, 128, 1)]
    assert seen[:6] == [*results_first, (8, 256, 2, 128, 1), (8, 512, 2, 64, 1)]
    many = Schedule(max_rows=256, halves="none")
    assert smaller(Schedule(max_rows=256), room()) == many
    assert smaller(many, room()) == replace(many, max_rows=128)
    assert [each[:4] for each in seen[6:9]] == [(8, 256, 2, 64), (8, 128, 2, 64), (8, 128, 1, 64)]
    assert [each[:4] for each in seen[9:]] == [(8, 64, 1, 64), (8, 64, 1, 32), (8, 64, 1, 16)]
    assert smaller(Schedule(), room("result_slots")) == Schedule(rows=8)
    few = Schedule(rows=8, max_rows=64, result_slots=1)
    single = replace(few, slots=1, result_slots=1)
    assert smaller(few, room("tile_k")) == single
    kept = smaller(few, room("tile_k", "result_slots"))
    assert kept == replace(few, slots=1)
    assert smaller(few, room("tile_k", "slots")) == replace(few, max_rows=32)
    assert smaller(few, room("tile_k", "slots", "max_rows")) is None
    assert smaller(few, room("slots")) == replace(few, tile_k=256)
    small = replace(few, tile_k=256)
    assert smaller(small, room("slots", "max_rows")) == replace(small, tile_k=128)


def test_options_do_not_shrink_below_their_least_value():
    schedule, seen = Schedule(max_rows=256), set()
    while schedule is not None:
        seen.add(schedule.max_rows)
        schedule = smaller(schedule, room(max_rows=128))
    assert seen == {256, 128}
    below = Schedule(max_rows=64, rows=8, result_slots=1)  # as an author may state
    assert smaller(below, room("max_rows", max_rows=128)) == replace(below, tile_k=256)


def test_every_step_of_the_search_gives_way_somewhere():
    full = Schedule(max_rows=256, base_n=256, prob_layout="fractals", value_width=256, result_rows=16)
    full = replace(full, few_keys="auto", key_copies="whole")
    few = Schedule(max_rows=256, base_n=256)
    narrow = replace(few, score_dtype="float16", rows=32, result_rows=8)
    whole = Schedule(max_rows=128, key_copies="whole")
    plain, gathers = room(), replace(room(), gathers=lambda schedule: True)
    used = set()
    for begun, space, place in (
        *((schedule, space, plain) for schedule in (full, few, narrow, whole) for space in ("UB", "L1")),
        (few, "UB", gathers),
    ):
        schedule = begun
        while (found := smaller(schedule, place, space)) is not None:
            used.add(next(s for s in STEPS if s.space in ("", space) and s.change(schedule, place) == found))
            schedule = found
    assert used == set(STEPS)


def test_events_run_out_for_results_first():
    """Each slot takes an event id; the buffers of the scores keep their two for longest."""
    two = Schedule()
    assert with_fewer_events(two, room()) == replace(two, result_slots=1)
    assert with_fewer_events(two, room("result_slots")) == replace(two, slots=1)
    single = replace(two, slots=1, result_slots=1)
    assert with_fewer_events(replace(two, result_slots=1), room()) == single
    assert with_fewer_events(single, room()) == smaller(single, room())


@pytest.mark.parametrize(("ring", "lead"), [(2, 1), (3, 2), (4, 6)])
def test_rows_are_widened_fewer_tiles_ahead_than_the_ring_has(ring, lead):
    with pytest.raises(
        IllegalScheduleValue, match=rf"widen_lead={lead} must be at most ring - 2 = {ring - 2}"
    ):
        resolve({"ring": ring, "widen_lead": lead}, DEVICE)
    assert resolve({"ring": ring, "widen_lead": ring - 2}, DEVICE).widen_lead == ring - 2


def test_rows_of_a_step_stay_where_another_memory_than_theirs_is_full():
    """Only the unified buffer holds the rows of a step; fewer rows a task may still mean fewer of them."""
    one = {"query_slots": 1}
    assert smaller(Schedule(max_rows=128, **one), room(), "L1") == Schedule(max_rows=64, **one)
    least = Schedule(max_rows=32, tile_k=64, slots=1, **one)
    assert smaller(least, room(), "L1") == replace(least, max_rows=16, rows=8)
    assert smaller(least, room("rows"), "L1") is None


def test_l1_gives_up_what_waits_before_rows():
    """Queries of the next item come later, keys do not stay, and copies of values bring the columns of one
    multiply."""
    wide = Schedule(value_width=256)
    single = replace(wide, query_slots=1)
    assert smaller(wide, room(), "L1") == single
    again = replace(single, value_source="memory")
    assert smaller(single, room(), "L1") == again
    assert smaller(again, room(), "L1") == replace(again, value_width="auto")
    assert smaller(again, room("value_width"), "L1") == replace(again, max_rows=64)


def test_queries_have_their_slots_again_where_whole_keys_find_no_room():
    whole = Schedule(key_copies="whole")
    single = replace(whole, query_slots=1)
    shorter = replace(whole, base_k=96)
    assert smaller(whole, room(), "L1") == shorter, "shorter blocks of values may be room enough"
    assert smaller(shorter, room(), "L1") == single, "and are as long again where they are not"
    assert smaller(whole, room("base_k"), "L1") == single
    assert smaller(single, room(), "L1") == Schedule()
    assert smaller(single, room("query_slots"), "L1") == Schedule(query_slots=1)


def test_the_depth_of_a_multiply_is_not_cut_to_slivers():
    schedule = Schedule(base_n=256, base_k=256)
    for depth in (128, 64):
        schedule = smaller(schedule, room(), "L0B")
        assert schedule == Schedule(base_n=256, base_k=depth)
    assert smaller(schedule, room(), "L0B").base_k == 64


def test_prompts_have_more_rows_a_task_than_decoding():
    """Keys and values in L1 serve two bands of rows; decoding has few rows, int8 products one band."""
    prompts = signature(attention(PADDED), positions=Symbol("Q"))
    assert rows_of_a_task(prompts, "float16") == MANY_ROWS
    assert rows_of_a_task(prompts, "int8") == BAND_ROWS
    assert rows_of_a_task(replace(prompts, padded_value_size=256), "float16") == BAND_ROWS
    assert rows_of_a_task(signature(attention()), "float16") == BAND_ROWS
    assert compile_operator(ops.incre_flash_attention, special()).schedule.max_rows == BAND_ROWS


@pytest.mark.parametrize(("group", "keys"), [(250, 700), (130, 1100), (256, 512)])
def test_bands_of_rows_give_what_one_matrix_multiply_gives(group, keys, tmp_path):
    """The last band has 122, 2 and 128 rows; tiles end within a piece of the probabilities and at its end."""
    call = call_of(with_schedule(tmp_path, max_rows=256), group=group, keys=keys, head_dim=112)
    expected = reference.run(call)[0].astype(float)
    launch = prepare(call)
    tile.interpret(launch)
    np.testing.assert_allclose(launch.outputs()[0].astype(float), expected, atol=2**-8)
    (out,) = execute.run(call, cores=2)  # raises for findings
    np.testing.assert_allclose(out.astype(float), expected, atol=2**-8)


def test_bands_of_rows_have_heads_of_one_part(tmp_path):
    """Products of parts of the head size would be added up for all bands at once."""
    operator = with_schedule(tmp_path, max_rows=256, base_k=64)
    with pytest.raises(DoesNotFit, match="products of 256 rows"):
        compile_operator(operator, special())


def test_rows_of_a_step_divide_the_rows_that_an_author_states():
    assert resolve({"max_rows": 16}, DEVICE).rows == 8
    assert resolve({"max_rows": 48}, DEVICE).rows == 8
    assert resolve({"max_rows": 96}, DEVICE).rows == 16


def test_what_does_not_fit_names_memory_and_largest_buffer(tmp_path):
    choices = {"tile_k": 1984, "slots": 2, "max_rows": 64, "rows": 8, "result_slots": 2}
    operator = with_schedule(tmp_path, **choices)
    with pytest.raises(DoesNotFit) as caught:
        compile_operator(operator, special())
    interface = kernel_signature_of(operator, "float16", 128, frozenset())
    program = lower(
        recognize(operator.graph(interface.present).outputs), interface, resolve(choices, DEVICE), DEVICE
    )
    buffers = [buffer for buffer in program.buffers() if buffer.space is MemorySpace.UB]
    largest = max(buffers, key=lambda buffer: buffer.total_bytes)
    needed = sum(buffer.slots * -(-buffer.slot_bytes // 32) * 32 for buffer in buffers)
    message = str(caught.value)
    assert f"needs {needed} bytes of UB, {184 * 1024} are usable" in message
    assert f"the largest buffer is {largest.name} with 2 x {largest.slot_bytes} bytes" in message
    assert "smaller tile_k" in message
    fitting = with_schedule(tmp_path, tile_k=960, slots=1)
    assert compile_operator(fitting, special()).schedule.tile_k == 960


def test_a_wide_multiply_gets_the_depth_that_fits(tmp_path):
    """base_n=256 fits L0B with base_k=64, which the author left open."""
    assert compile_operator(with_schedule(tmp_path, base_n=256, max_rows=32), special()).schedule.base_k == 64
    wide = with_schedule(tmp_path, value_n=256, max_rows=32)
    assert compile_operator(wide, special(256)).schedule.base_k == 64
    with pytest.raises(DoesNotFit, match="base_n"):
        compile_operator(with_schedule(tmp_path, base_n=256, max_rows=32, base_k=128), special())


@pytest.mark.parametrize(
    ("rows", "max_rows", "nearest"), [(24, 64, (16, 32)), (64, 64, (32,)), (16, 16, (8,)), (32, 80, (40,))]
)
def test_steps_that_do_not_divide_the_rows_of_a_core(rows, max_rows, nearest):
    """Legal values each, but not together: a step would reach beyond the rows of its core."""
    with pytest.raises(
        IllegalScheduleValue, match=f"rows={rows} must be a divisor of max_rows / 2"
    ) as caught:
        resolve({"rows": rows, "max_rows": max_rows}, DEVICE)
    assert int(str(caught.value).rsplit(" ", 1)[1]) in nearest
    for fitting in nearest:
        assert resolve({"rows": fitting, "max_rows": max_rows}, DEVICE).rows == fitting


def test_more_rows_than_the_schedule_holds_are_several_tasks(tmp_path):
    call = call_of(with_schedule(tmp_path, max_rows=16), group=37)
    assert prepare(call).tiling["headTiles"] == 3
    np.testing.assert_allclose(
        tile.run(call)[0].astype(float), reference.run(call)[0].astype(float), atol=2**-8
    )


def test_as_many_rows_as_the_schedule_holds(tmp_path):
    operator = with_schedule(tmp_path, max_rows=16)
    call = call_of(operator, group=16)
    np.testing.assert_allclose(
        tile.run(call)[0].astype(float), reference.run(call)[0].astype(float), atol=2**-8
    )


def test_the_printed_schedule_tells_who_chose():
    stated = {"tile_k": 256, "split_kv": "auto"}
    lines = describe(resolve(stated, DEVICE), stated).splitlines()
    found = {line.split()[0]: line.split(maxsplit=2)[1:] for line in lines}
    assert found["tile_k"] == ["256", "spec"]
    assert found["split_kv"] == ["auto", "spec"]
    assert found["ring"] == ["3", "default"]
    assert set(found) == LEGAL.keys() | WORDS.keys()
    shrunk = describe(Schedule(tile_k=128), {"ring": 3})
    assert re.search(r"tile_k +128 +default", shrunk)


STATED = "op.schedule(max_rows=128"


@pytest.mark.parametrize(
    ("stated", "instead"), [("", ""), (", split_kv=1", ""), (", split_kv=4", ", not 4 as in the spec")]
)
def test_what_the_computation_leaves_no_choice_in(tmp_path, stated, instead):
    """A selection needs all keys of a row: the table says so, and the kernel never splits them."""
    source = (specs_dir() / "nsa_compress_attention.py").read_text()
    assert source.count(STATED) == 1
    (tmp_path / "changed.py").write_text(source.replace(STATED, STATED + stated))
    operator = load_file(tmp_path / "changed.py")
    compiled = compile_operator(
        operator, Specialization(dtype="float16", padded_head_size=32, padded_value_size=32)
    )
    (line,) = (line for line in compiled.schedule_text.splitlines() if "split_kv" in line)
    words = r"  split_kv +1 +needed: a selection needs probabilities under all keys"
    assert re.fullmatch(words + instead + r" \(changed\.py:\d+\)", line)
    (splits,) = (field.value for field in compiled.program.tiling if field.name == "splits")
    assert splits.same(Const(1))


def test_what_is_meant_stays_when_a_choice_is_free(tmp_path):
    operator = with_schedule(tmp_path, split_kv=4)
    compiled = compile_operator(operator, Specialization(dtype="float16", padded_head_size=64))
    assert compiled.required == ()
    assert re.search(r"split_kv +4 +spec", compiled.schedule_text)


# Bytes from the programming guide; UB without the 8 KiB that Select uses, L1 without its last 256 bytes.
MEMORIES = {
    "UB": (188416, 32),
    "L1": (524032, 32),
    "L0A": (65536, 512),
    "L0B": (65536, 512),
    "L0C": (131072, 1024),
}


@pytest.mark.parametrize(
    "combination",
    [(16, "float16"), (128, "float16", *sorted(BOTH)), (512, "bfloat16", *sorted(BOTH))],
    ids=str,
)
def test_buffers_lie_apart_aligned_and_inside(combination):
    program = compiled(*combination).program
    for name, (size, alignment) in MEMORIES.items():
        space = MemorySpace(name)
        assert ARCHITECTURE.memory(space).usable == size
        ranges = sorted(
            (program.addresses[b], program.addresses[b] + b.slots * program.slot_stride(b))
            for b in program.buffers()
            if b.space is space
        )
        assert ranges and ranges[-1][1] <= size
        assert all(start % alignment == 0 for start, _ in ranges)
        assert all(end <= start for (_, end), (start, _) in pairwise(ranges))
    for buffer in program.buffers():
        assert program.slot_stride(buffer) >= buffer.slot_bytes
        assert program.slot_stride(buffer) % ARCHITECTURE.memory(buffer.space).alignment == 0


@pytest.mark.parametrize(
    ("stated", "option", "followed"),
    [
        ({"max_rows": 48}, "rows", 8),
        ({"max_rows": 48}, "result_rows", 8),
        ({"slots": 1}, "result_slots", 1),
        ({"ring": 2}, "widen_lead", 0),
    ],
)
def test_an_option_that_is_left_open_follows_the_one_that_bounds_it(stated, option, followed):
    """Also where the computation's default is another than the option's."""
    defaults = {"result_rows": 16}
    assert getattr(resolve({}, DEVICE, defaults=defaults), option) != followed
    assert getattr(resolve(stated, DEVICE, defaults=defaults), option) == followed


def test_each_coupling_refuses_or_keeps_what_is_stated_against_it():
    against = {"rows": 24, "result_rows": 24, "result_slots": 2, "widen_lead": 3}
    assert against.keys() == {each.option for each in COUPLINGS}
    for each in COUPLINGS:
        stated = {"slots": 1, each.option: against[each.option]}
        if not each.asserted:
            assert getattr(resolve(stated, DEVICE), each.option) == against[each.option]
            continue
        rule = each.rule_of(r"{} = \d+", ARCHITECTURE)
        with pytest.raises(IllegalScheduleValue, match=f"{each.option}={stated[each.option]} must be {rule}"):
            resolve(stated, DEVICE)
