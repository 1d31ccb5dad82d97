"""Stored schedule choices: used by the compiler, part of the cache's key, refused or reported where wrong."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.compiler.prepare_launch import compiled_for
from attndsl.compiler.stored_programs import compiled_or_stored, entry_name
from attndsl.compiler.stored_schedules import (
    StoredSchedule,
    StoredSchedulesError,
    chosen_schedule,
    condition_of,
    stale_text,
    store,
    stored_entry,
)
from attndsl.lowering.errors import IllegalScheduleValue, StoredScheduleRefused
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.loader import load, load_file
from attndsl.spec.operator.operator import Operator
from attndsl.target import device
from tests.support.authored import with_schedule

SPECIAL = Specialization(dtype="float16", padded_head_size=64)


def entry(operator: Operator, **changes: Any) -> dict[str, Any]:
    """A whole entry for a kernel of heads of 64."""
    return {
        **condition_of(operator, SPECIAL), "options": {"tile_k": 256}, "shape": {"B": 1},
        "predicted_microseconds": 9.0, "default_microseconds": 10.0,
        "model": operator.device.model_version, **changes,
    }  # fmt: skip


def with_entries(operator: Operator, *rows: Any, schema: Any = 1) -> Operator:
    """The same operator, loaded again with these entries beside its spec."""
    file = operator.schedules_file
    assert file is not None and operator.file is not None
    file.write_text(json.dumps({"schema": schema, "schedules": rows}))
    return load_file(operator.file)


def test_a_stored_choice_is_compiled_and_says_who_chose(tmp_path):
    plain = with_schedule(tmp_path)
    assert chosen_schedule(plain, SPECIAL) is None
    assert compiled_or_stored(plain, SPECIAL).schedule.tile_k == 512
    operator = with_entries(plain, entry(plain))
    compiled = compiled_or_stored(operator, SPECIAL)
    assert compiled.schedule.tile_k == 256
    assert compiled.reasons["tile_k"] == "stored" and compiled.reasons["ring"] == "default"
    assert re.search(r"tile_k +256 +stored\n", compiled.schedule_text)


@pytest.mark.parametrize(
    "other",
    [{"dtype": "bfloat16"}, {"padded_head_size": 128}, {"features": ["attn_mask"]}, {"device": "atlas-a3"}],
    ids=str,
)
def test_a_choice_for_another_kernel_is_none_for_this_one(other, tmp_path):
    plain = with_schedule(tmp_path)
    operator = with_entries(plain, entry(plain, **other), entry(plain, options={"tile_k": 128}))
    assert compiled_or_stored(operator, SPECIAL).schedule.tile_k == 128
    alone = with_entries(plain, entry(plain, **other))
    assert chosen_schedule(alone, SPECIAL) is None and stale_text(alone, SPECIAL) == ""


def test_the_key_of_the_cache_follows_the_stored_choices(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNDSL_STORE_PROGRAMS", "1")
    plain = with_schedule(tmp_path)
    names = [entry_name(plain, SPECIAL)]
    for options in ({"tile_k": 256}, {"tile_k": 128}):
        names.append(entry_name(with_entries(plain, entry(plain, options=options)), SPECIAL))
    assert None not in names and len(set(names)) == 3
    assert entry_name(load_file(plain.file), SPECIAL) == names[-1]


def test_a_choice_of_another_model_is_reported_and_not_used(tmp_path, caplog):
    plain = with_schedule(tmp_path)
    operator = with_entries(plain, entry(plain, model="0123456789ab"))
    with caplog.at_level(logging.WARNING, "attndsl"):
        compiled = compiled_for(operator, SPECIAL)
    assert compiled.schedule.tile_k == 512 and compiled.chosen is None
    (said,) = (record.getMessage() for record in caplog.records)
    assert said == stale_text(operator, SPECIAL)
    name = operator.schedules_file.name
    assert said.startswith(
        f"{name}: entry 1 is not used: model 0123456789ab chose it, predictions are now of "
    )
    assert operator.device.model_version in said and "attndsl tune" in said
    caplog.clear()
    fresh = with_entries(plain, entry(plain))
    assert compiled_for(fresh, SPECIAL).schedule.tile_k == 256 and not caplog.records


def test_models_of_other_costs_and_parts_have_other_versions():
    names = ("atlas-a2", "ascend910b1", "ascend910b3", "ascend910b4")
    assert len({device(name).model_version for name in names}) == len(names)
    assert device("atlas-a2").model_version == device("ascend910b2").model_version


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tile_k": 100}, "tile_k=100 must be an integer from 64 to 1984, a multiple of 64; .* is 128;"),
        ({"tile": 128}, "op.schedule has no choice 'tile'; the nearest is 'tile_k';"),
        ({"ring": 4}, "ring=4 must be 3, the spec states it; the nearest legal value is 3;"),
        ({"base_n": 256, "max_rows": 128}, "the schedule needs .* of L0C, .*choose a smaller .*base_n.*;"),
        ({"pipeline": "drain"}, "pipeline='drain' must be .*; the nearest legal value is 'drained';"),
    ],
    ids=str,
)
def test_an_illegal_choice_names_file_and_entry(options, message, tmp_path):
    plain = with_schedule(tmp_path, ring=3)
    operator = with_entries(plain, entry(plain, dtype="bfloat16"), entry(plain, options=options))
    place = f"^{operator.schedules_file.name}: entry 2: "
    with pytest.raises(StoredScheduleRefused, match=place + message + " run attndsl tune with --write again"):
        compiled_or_stored(operator, SPECIAL)
    legal = {"tile_k": 128, "ring": 3, "base_n": 64, "max_rows": 128, "pipeline": "drained"}
    twin = with_entries(plain, entry(plain, options={name: legal[name] for name in options if name in legal}))
    assert compiled_or_stored(twin, SPECIAL).chosen is not None


def test_an_error_of_the_spec_is_none_of_the_stored_choice(tmp_path):
    """Without an entry the message names the author's line, as ever."""
    with pytest.raises(IllegalScheduleValue, match=r"authored_\d+\.py:\d+: tile_k=100"):
        compiled_or_stored(with_schedule(tmp_path, tile_k=100), SPECIAL)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"option": {}}, "entry 1 has 'option'; the nearest key is 'options'"),
        ({"options": None}, "entry 1: 'options' is None; it must be Mapping"),
        ({"padded_head_size": True}, "entry 1: 'padded_head_size' is True; it must be int"),
        ({"model": 3}, "entry 1: 'model' is 3; it must be str"),
    ],
    ids=str,
)
def test_an_entry_of_other_keys_or_types_is_refused(change, message, tmp_path):
    plain = with_schedule(tmp_path)
    operator = with_entries(plain, {**entry(plain), **change})
    with pytest.raises(StoredSchedulesError, match=message):
        chosen_schedule(operator, SPECIAL)
    row = entry(plain)
    del row["shape"]
    with pytest.raises(StoredSchedulesError, match="entry 1 has no 'shape'"):
        chosen_schedule(with_entries(plain, row), SPECIAL)
    assert chosen_schedule(with_entries(plain, entry(plain)), SPECIAL) is not None


def test_a_file_that_is_none_of_stored_choices_is_refused(tmp_path):
    plain = with_schedule(tmp_path)
    file: Path = plain.schedules_file
    with pytest.raises(StoredSchedulesError, match="schema is 2; it must be 1"):
        chosen_schedule(with_entries(plain, schema=2), SPECIAL)
    with pytest.raises(StoredSchedulesError, match="entry 1 is 7; it must be an object"):
        chosen_schedule(with_entries(plain, 7), SPECIAL)
    for dtype in ("bfloat16", "float16"):  # of another kernel, and of the one that is asked for
        twice = (entry(plain, dtype=dtype), entry(plain, dtype=dtype))
        with pytest.raises(StoredSchedulesError, match="entry 2 is for the same kernel as entry 1"):
            chosen_schedule(with_entries(plain, *twice), SPECIAL)
    file.write_text("{")
    with pytest.raises(StoredSchedulesError, match=f"{file.name}: cannot be read"):
        chosen_schedule(plain, SPECIAL)
    assert chosen_schedule(with_entries(plain), SPECIAL) is None


def test_an_entry_is_replaced_kept_and_taken_away(tmp_path):
    plain = with_schedule(tmp_path)
    file = plain.schedules_file
    assert store(plain, SPECIAL, None) is None and not file.exists()
    other = StoredSchedule(**entry(plain, dtype="bfloat16"))
    with_entries(plain, entry(plain, dtype="bfloat16"))
    for tile in (256, 128):
        assert store(plain, SPECIAL, StoredSchedule(**entry(plain, options={"tile_k": tile}))) == file
        assert stored_entry(plain, SPECIAL).options == {"tile_k": tile}
        bf16 = Specialization(dtype="bfloat16", padded_head_size=64)
        assert stored_entry(plain, bf16) == other
    assert store(plain, SPECIAL, None) == file
    assert stored_entry(plain, SPECIAL) is None
    assert len(json.loads(file.read_text())["schedules"]) == 1


def test_an_operator_without_a_file_has_no_place_for_choices(tmp_path):
    plain = with_schedule(tmp_path)
    row = StoredSchedule(**entry(plain))
    vars(plain)["file"] = None
    assert chosen_schedule(plain, SPECIAL) is None
    with pytest.raises(StoredSchedulesError, match="no file declares this operator"):
        store(plain, SPECIAL, row)


def test_modes_share_the_file_of_their_operator():
    operator = load("self_attention")
    mode = operator.mode_named("PA_ENCODER")
    assert mode.schedules_file == operator.schedules_file
    assert mode.schedules_file.name == "self_attention.schedules.json"
    assert condition_of(mode, SPECIAL)["operator"] != condition_of(operator, SPECIAL)["operator"]


def test_defaults_of_a_compilation_know_no_stored_choice(tmp_path):
    """A search compares with the default: this way of compiling reads no file."""
    plain = with_schedule(tmp_path)
    assert compile_operator(with_entries(plain, entry(plain)), SPECIAL).schedule.tile_k == 512
