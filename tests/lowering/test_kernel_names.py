"""No two specialisations of an operator share a name."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attndsl.base.errors import InternalError
from attndsl.lowering.signature.specialisation import Specialisation, kernel_suffix
from attndsl.spec.operator.operator import Operator
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec


def name(*settings: tuple[str, Any], dtype: str = "float16", value_bucket: int | None = None) -> str:
    special = Specialisation(dtype=dtype, bucket=32, settings=settings, value_bucket=value_bucket)
    return special.suffix(())


DEFAULT = name()


@pytest.mark.parametrize(
    "values", [(-1, 0, 1, 2), (-0.5, 0.0, 0.5, 5.0), (False, True), ("a-b", "a_b", "a b", "ab", "", "-")]
)
def test_values_of_a_parameter_tell_kernels_apart(values: tuple[Any, ...]) -> None:
    names = {DEFAULT, *(name(("mode", value)) for value in values)}
    assert len(names) == len(values) + 1
    assert all(each.replace("_", "").isalnum() for each in names)


def test_settings_of_tensors() -> None:
    assert name(("layout(key)", "packed")) == f"{DEFAULT}_key_packed"
    assert name(("dtype(mask)", "int8")) != name(("dtype(mask)", "bool")) != DEFAULT
    assert name(value_bucket=16) != DEFAULT


def test_what_dtype_and_features_tell_is_not_repeated() -> None:
    assert name(("dtype(key)", "bfloat16"), dtype="bfloat16") == name(dtype="bfloat16")
    assert name(("layout(mask)", None)) == DEFAULT


def with_biases(folder: Path, *names: str) -> Operator:
    """An operator with optional tensors of these names."""
    declared = "\n".join(
        f'{each} = op.input("{each}", "B N T", dtype=query, axes="B N T", optional=True)' for each in names
    )
    added = "s = " + " + ".join(("s", *names))
    return decode_spec(folder, DECODE_SCORES, added, DECODE_RESULT, declared=declared)


PLAIN = Specialisation(dtype="float16", bucket=32)


@pytest.mark.parametrize(("third", "clashes"), [("low_high", True), ("highest", False)])
def test_features_whose_names_run_together_are_refused(tmp_path: Path, third: str, clashes: bool) -> None:
    op = with_biases(tmp_path, "low", "high", third)
    both, one = (replace(PLAIN, features=frozenset(each)) for each in (("low", "high"), (third,)))
    kernel_suffix(op, both)
    if not clashes:
        assert kernel_suffix(op, one) != kernel_suffix(op, both)
        return
    with pytest.raises(InternalError, match="small_decode: two kernels are called float16_d32_low_high: "):
        kernel_suffix(op, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [(("mode", 1), ("mode", "1")), (("mode", -1), ("mode", "minus1")), (("layout(low)", "x"), ("low", "x"))],
)
def test_settings_with_the_same_words_are_refused(tmp_path: Path, one: Any, other: Any) -> None:
    op = with_biases(tmp_path, "low")
    assert name(one) == name(other)
    kernel_suffix(op, replace(PLAIN, settings=(one,)))
    with pytest.raises(InternalError, match="two kernels are called"):
        kernel_suffix(op, replace(PLAIN, settings=(other,)))


def test_one_kernel_has_one_name_however_often_it_is_asked_for(tmp_path: Path) -> None:
    op = with_biases(tmp_path, "low")
    again = replace(PLAIN, settings=(("dtype(query)", "float16"),))  # what dtype tells already
    assert kernel_suffix(op, PLAIN) == kernel_suffix(op, PLAIN) == kernel_suffix(op, again)
    assert kernel_suffix(with_biases(tmp_path, "low"), PLAIN) == kernel_suffix(op, PLAIN)
