"""No two specializations of an operator share a name."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attndsl.lowering.errors import KernelsOfOneName
from attndsl.lowering.signature.specialization import Specialization
from attndsl.lowering.signature.specialization_words import check_kernel_names, kernel_suffix
from attndsl.spec.operator.operator import Operator
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec

PLAIN = Specialization(dtype="float16", padded_head_size=32)
PLAIN_NAME = "float16_d32"


@pytest.fixture
def plain(tmp_path: Path) -> Operator:
    return decode_spec(tmp_path, DECODE_SCORES, DECODE_RESULT)


def with_setting(name: str, value: Any) -> Specialization:
    return replace(PLAIN, settings=((name, value),))


def with_words(folder: Path, *words: str) -> Operator:
    """An operator with a parameter that is one of these words."""
    listed = ", ".join(f"{word!r}: {word!r}" for word in words)
    declared = f"mode = op.param('mode', str, default={words[0]!r}, choices={{{listed}}})"
    return decode_spec(folder, DECODE_SCORES, DECODE_RESULT, declared=declared)


@pytest.mark.parametrize("values", [(-1, 0, 1, 2), (-0.5, 0.0, 0.5, 5.0), (False, True), ("ab", "c")])
def test_values_of_a_parameter_tell_kernels_apart(plain: Operator, values: tuple[Any, ...]) -> None:
    names = {kernel_suffix(plain, each) for each in (PLAIN, *(with_setting("mode", v) for v in values))}
    assert len(names) == len(values) + 1
    assert all(each.replace("_", "").isalnum() for each in names)


def test_declared_words_of_the_same_letters_are_told_apart(tmp_path: Path) -> None:
    words = ("a-b", "a_b", "a b", "ab", "-", "+")
    op = with_words(tmp_path, *words)
    names = [kernel_suffix(op, with_setting("mode", word)) for word in words]
    told = [each.removeprefix(f"{PLAIN_NAME}_mode_") for each in names]
    assert told == ["a_b", "a_b_2", "a_b_3", "ab", "word", "word_6"]
    check_kernel_names(op, [with_setting("mode", word) for word in words])


def test_a_number_makes_no_word_that_another_value_has(tmp_path: Path) -> None:
    words = ("a-b", "a_b", "a_b_2")
    op = with_words(tmp_path, *words)
    specials = [with_setting("mode", word) for word in words]
    assert len({kernel_suffix(op, each) for each in specials}) == 3
    check_kernel_names(op, specials)


SCALED = "s = attend.when({condition}, s * 2.0, s)"


@pytest.mark.parametrize(
    ("condition", "values", "words"),
    [
        ("window > 0", (1, 300), "window_above_0"),
        ("window >= 16", (16, 20), "window_from_16"),
        ("(window > 2) & (window < 9)", (3, 8), "window_above_2_and_window_below_9"),
        ("window % 4 == 3", (3, 7), "window_mod_4_is_3"),
        ("window < -1", (-2, -9), "window_below_minus1"),
    ],
)
def test_numbers_are_named_by_what_is_asked_of_them(
    tmp_path: Path, condition: str, values: tuple[int, ...], words: str
) -> None:
    declared = "window = op.param('window', int, default=0)"
    op = decode_spec(
        tmp_path, DECODE_SCORES, SCALED.format(condition=condition), DECODE_RESULT, declared=declared
    )
    specials = [with_setting("window", value) for value in values]
    assert {kernel_suffix(op, each) for each in specials} == {f"{PLAIN_NAME}_{words}"}
    check_kernel_names(op, (PLAIN, *specials))
    assert kernel_suffix(op, PLAIN) == PLAIN_NAME


def test_settings_of_tensors(plain: Operator) -> None:
    assert kernel_suffix(plain, with_setting("layout(key)", "packed")) == f"{PLAIN_NAME}_key_packed"
    int8, plain_bool = (kernel_suffix(plain, with_setting("dtype(mask)", each)) for each in ("int8", "bool"))
    assert len({int8, plain_bool, PLAIN_NAME}) == 3
    assert kernel_suffix(plain, replace(PLAIN, padded_value_size=16)) == f"{PLAIN_NAME}_e16"


def test_what_dtype_and_features_tell_is_not_repeated(plain: Operator) -> None:
    assert kernel_suffix(plain, with_setting("dtype(key)", "float16")) == PLAIN_NAME
    assert kernel_suffix(plain, with_setting("layout(mask)", None)) == PLAIN_NAME


def with_biases(folder: Path, *names: str) -> Operator:
    """An operator with optional tensors of these names."""
    declared = "\n".join(
        f'{each} = op.input("{each}", "B N T", dtype=query, axes="B N T", optional=True)' for each in names
    )
    added = "s = " + " + ".join(("s", *names))
    return decode_spec(folder, DECODE_SCORES, added, DECODE_RESULT, declared=declared)


@pytest.mark.parametrize(("third", "clashes"), [("low_high", True), ("highest", False)])
def test_features_whose_names_run_together_are_refused(tmp_path: Path, third: str, clashes: bool) -> None:
    op = with_biases(tmp_path, "low", "high", third)
    both, one = (replace(PLAIN, features=frozenset(each)) for each in (("low", "high"), (third,)))
    if not clashes:
        check_kernel_names(op, (both, one))
        assert kernel_suffix(op, one) != kernel_suffix(op, both)
        return
    for order in ((both, one), (one, both)):
        with pytest.raises(
            KernelsOfOneName, match="small_decode: two kernels are called float16_d32_low_high: "
        ):
            check_kernel_names(op, order)


@pytest.mark.parametrize(
    ("one", "other"),
    [(("mode", 1), ("mode", "1")), (("mode", -1), ("mode", "minus1")), (("layout(key)", "x"), ("key", "x"))],
)
def test_settings_with_the_same_words_are_refused(plain: Operator, one: Any, other: Any) -> None:
    specials = [with_setting(*one), with_setting(*other)]
    assert len({kernel_suffix(plain, each) for each in specials}) == 1
    with pytest.raises(KernelsOfOneName, match="two kernels are called"):
        check_kernel_names(plain, specials)


def test_a_name_depends_on_nothing_but_operator_and_specialization(tmp_path: Path) -> None:
    op = with_biases(tmp_path, "low", "high", "low_high")
    both, one = (replace(PLAIN, features=frozenset(each)) for each in (("low", "high"), ("low_high",)))
    assert kernel_suffix(op, both) == kernel_suffix(op, one) == kernel_suffix(op, both)
    again = with_setting("dtype(query)", "float16")  # what dtype tells already
    assert kernel_suffix(op, PLAIN) == kernel_suffix(op, again)
    check_kernel_names(op, (PLAIN, again, PLAIN))
