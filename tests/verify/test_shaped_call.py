"""Legal calls with sizes that somebody states, and why there is none."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from attndsl.expr import Load, Symbol
from attndsl.graph.nodes import IndexCondition, Replace
from attndsl.spec.operator.loader import load
from attndsl.verify.cases import shaped_call as module
from attndsl.verify.cases.shaped_call import (
    ProfileError,
    _agree,
    _counts,
    _holds,
    _known,
    _legal_sizes,
    _lengths_of,
    _show_all,
    _size_names,
    _Usual,
    _usual_sizes,
    call_of_shape,
)
from tests.support.case_spaces import space_of
from tests.support.right_specs import PACKED

SHAPE = {"B": 1, "num_heads": 8, "num_key_value_heads": 2, "S": 640, "D": 64}


@pytest.fixture(scope="module")
def operator():
    return load("incre_flash_attention")


def test_a_call_has_the_sizes_asked_for(operator):
    call = call_of_shape(operator, SHAPE, features=["attn_mask"])
    assert call.dims.items() >= {"B": 1, "S": 640, "D": 64}.items()
    assert call.params["num_heads"] == 8 and call.params["num_key_value_heads"] == 2
    assert call.present == {"query", "key", "value", "attn_mask"}
    assert call.dtype == "float16"
    assert call_of_shape(operator, SHAPE, dtype="bfloat16").dtype == "bfloat16"


def test_a_call_may_be_as_large_as_in_practice(operator):
    sizes = {"B": 1, "S": 16384, "num_heads": 32, "num_key_value_heads": 8, "D": 128}
    assert call_of_shape(operator, sizes).dims["S"] == 16384


def test_what_is_left_open_takes_a_usual_value(operator):
    call = call_of_shape(operator, {})
    assert call.dims["B"] == 1 and call.dims["S"] >= 512 and call.dims["D"] >= 64


def test_what_is_left_open_is_near_the_defaults():
    call = call_of_shape(load("self_attention"), {"batch": 2}, settings={"calcType": 2})
    assert call.params["calcType"] == 2 and call.params["cacheType"] == 0 and call.params["qScale"] == 1.0
    assert {"key", "value"} <= call.present and "attentionMask" not in call.present


def test_a_setting_chooses_among_kernels():
    prompts = load("self_attention").mode_named("PA_ENCODER")
    call = call_of_shape(prompts, {"batch": 2, "qRows": 96, "headNum": 4}, settings={"maskType": 3})
    assert call.params["maskType"] == 3 and "mask" in call.present
    assert call.arrays["seqLen"].tolist() == [96, 96]  # rows of the longest prompt are lengths


@pytest.mark.parametrize(("groups", "shared_by"), [(1, [0, 0, 0, 0]), (2, [0, 0, 1, 1])])
def test_rows_that_may_share_keys_do(groups, shared_by):
    sizes = {"B": 4, "headNum": 8, "kvHeadNum": 2, "D": 64, "S1": 128, "S2": 512, "BS": groups}
    call = call_of_shape(load("relay_attention"), sizes)
    assert call.arrays["kvShareMap"].tolist() == shared_by
    assert call.arrays["kvSeqLen"].tolist() == [128 + 512] * 4
    assert call.arrays["kvShareLen"].tolist() == [512] * groups


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ({"num_head": 8}, {}, "unknown size 'num_head'; did you mean 'num_heads'"),
        (
            {"D": 1000},
            {},
            "no legal call of incre_flash_attention was found with D=1000; in the way: .*at most 512",
        ),
        (
            {"num_heads": 7, "num_key_value_heads": 2},
            {},
            "no legal call.*in the way: .*must be a multiple of num_key_value_heads; "
            "left open were B, .*S.*: give some",
        ),
        ({}, {"features": ["mask"]}, "unknown optional tensor 'mask'"),
        ({}, {"dtype": "float64"}, "never float64; its dtypes are float16"),
    ],
)
def test_shapes_that_no_call_has(operator, shape, options, message):
    with pytest.raises(ProfileError, match=message):
        call_of_shape(operator, shape, **options)


@pytest.mark.parametrize("mode", ["UNDEFINED", "PA_ENCODER"])
def test_a_default_in_the_way_is_told(mode):
    """A compressed mask is for 128 rows, unless it says that it is triangular."""
    operator = load("self_attention").mode_named(mode)
    shape, settings = {"batch": 1, "qRows": 512, "headNum": 2, "headSize": 16}, {"maskType": 3}
    with pytest.raises(ProfileError, match="more than 128 queries") as caught:
        call_of_shape(operator, shape, settings=settings)
    said = str(caught.value)
    assert "isTriuMask=0 (by default) does not go with that: '" in said and "add --set isTriuMask=1;" in said
    call = call_of_shape(operator, shape, settings=settings | {"isTriuMask": 1})
    assert call.params["isTriuMask"] == 1 and call.dims["qRows"] == 512
    assert call_of_shape(operator, shape | {"qRows": 128}, settings=settings).params["isTriuMask"] == 0


def test_usual_sizes_of_packed_rows_are_those_of_the_longest(tmp_path):
    """Sizes that follow from lengths are no variables; without usual lengths there would be one token."""
    (tmp_path / "packed.py").write_text(PACKED)
    dims = call_of_shape(load(str(tmp_path / "packed.py")), {}).dims
    assert (dims["C"], dims["M"]) == (128, 4096)
    asked = call_of_shape(load(str(tmp_path / "packed.py")), {"longest(key_ends)": 640}).dims
    assert (asked["C"], asked["M"]) == (128, 640)


def test_a_shape_gives_sizes_counts_and_lengths_and_no_other_numbers() -> None:
    space = space_of("incre_flash_attention")
    names = _size_names(space)
    assert {"S", "B", "D", "num_heads"} & space.variables.keys() <= names
    others = {each.name for each in space.operator.params if each.type is not int} & space.variables.keys()
    assert others and not others & names


@pytest.mark.parametrize(("element", "hides"), [(0, True), (1, False)])
def test_what_a_condition_reads_may_be_one_number(element, hides):
    condition = (Load("shown", Symbol("j")) == 0) & (Symbol("j") <= Symbol("i"))
    assert _holds(condition, {}, element) is hides


def test_heads_are_numbers_by_which_sizes_follow(operator):
    """And rows of a page, blocks that are selected."""
    assert _counts(operator) == ["num_heads", "num_key_value_heads", "block_size"]
    assert _counts(load("nsa_compress_attention")) == ["select_block_count"]


def test_sizes_that_nobody_thought_of_may_be_any():
    assert _Usual().of_role("X", 512, 4) == tuple(range(1, 65))


@pytest.mark.parametrize(
    ("sizes", "error"),
    [
        ({"B": -1}, "size 'B' is -1; sizes are at least 0"),
        ({"B": 0}, ""),
        ({"calcType": 9}, "'calcType' is 9; self_attention takes 0, 1, 2"),
        ({"calcType": 1}, ""),
        ({"headNum": -5}, "'headNum' is -5; it must be "),
        ({"headNum": 1}, ""),
    ],
)
def test_sizes_are_within_what_the_contract_says_of_each(sizes, error):
    operator = load("self_attention")
    if error:
        with pytest.raises(ProfileError, match=error):
            _legal_sizes(operator, sizes)
    else:
        _legal_sizes(operator, sizes)


@pytest.mark.parametrize(
    ("dtype", "features", "settings", "error"),
    [
        (
            "float16",
            [],
            {"dtype(query)": "bfloat16"},
            r"dtype\(query\) is bfloat16 by the settings and float16",
        ),
        ("float16", [], {"dtype(query)": "float16"}, ""),
        (None, [], {"dtype(query)": "bfloat16"}, ""),
        (None, ["mask"], {"given(mask)": False}, r"given\(mask\) is False by the settings"),
        (None, ["mask"], {"given(mask)": True, "D": 3}, ""),
    ],
)
def test_settings_say_what_the_dtype_and_the_features_say(dtype, features, settings, error):
    if error:
        with pytest.raises(ProfileError, match=error):
            _agree("query", dtype, features, settings)
    else:
        _agree("query", dtype, features, settings)


def test_names_that_are_near_another_are_advised():
    with pytest.raises(ProfileError, match="unknown size 'bath'; did you mean 'batch'"):
        _known(["batch", "bath"], ["batch", "rows"], "size")
    with pytest.raises(ProfileError, match="unknown size 'x'; there are batch, rows"):
        _known(["x"], ["rows", "batch"], "size")
    _known(["rows"], ["rows", "batch"], "size")


def test_sizes_of_axes_and_what_defines_them_are_usual(operator):
    """Those that are variables; of lengths the longest."""
    space = space_of("incre_flash_attention")
    found = _usual_sizes(space)
    assert (
        found["S"] == 4096
        and found["D"] == 128
        and found["B"] == 1
        and found.keys() <= space.variables.keys()
    )
    prompts = space_of("self_attention_pa_encoder")
    assert _usual_sizes(prompts).keys() <= prompts.variables.keys()


def test_lengths_are_as_long_as_a_size_that_they_tell():
    """Where the call does not pass it otherwise."""
    prompts = space_of("self_attention_pa_encoder")
    assert _lengths_of(prompts, {"qRows": 96, "headNum": 4}) == {"longest(seqLen)": 96}
    assert _lengths_of(space_of("incre_flash_attention"), {"B": 2, "S": 3}) == {}


def test_sizes_that_follow_from_others_are_none_that_a_shape_gives():
    """Nor those of masks, which are as large as lengths ask for."""
    for name in ("self_attention", "self_attention_prefix_encoder", "nsa_compress_attention"):
        space = space_of(name)
        assert _size_names(space) <= space.variables.keys()
        assert not _size_names(space) & space.derived.bounded


@pytest.mark.parametrize(("hiding", "value"), [(0, 1), (1, 0)])
def test_masks_that_conditions_read_hide_nothing(hiding, value):
    """In bytes; what is made, absent or has another dtype stays."""
    names = ("shown", "made", "absent", "wide")
    condition = Load("shown", Symbol("j")) == hiding
    for name in names[1:]:
        condition = condition | (Load(name, Symbol("j")) == hiding)
    node, asked = object.__new__(Replace), object.__new__(IndexCondition)
    object.__setattr__(node, "condition", asked)
    object.__setattr__(asked, "condition", condition)
    filler = SimpleNamespace(
        graph=SimpleNamespace(nodes=(object(), node)), present=set(names) - {"absent"}, made={"made": "made"},
        env={}, dtype=lambda name: "int32" if name == "wide" else "int8", shape=lambda name: (2, 3),
    )  # fmt: skip
    _show_all(filler)
    assert filler.made.pop("made") == "made" and filler.made.keys() == {"shown"}
    assert (filler.made["shown"] == value).all() and filler.made["shown"].shape == (2, 3)


def test_sizes_without_legal_elements_make_no_call(monkeypatch):
    space = space_of("incre_flash_attention")
    monkeypatch.setattr(module, "solve", lambda space, rng, pins, walks: dict(pins))
    monkeypatch.setattr(module, "_LongRows", lambda *of: SimpleNamespace(solve=lambda: None))
    assert module._find(space.operator, space, {}, 2) is None
