"""No two specialisations of an operator share a name."""

from typing import Any

import pytest

from attndsl.schedule.specialisation import Specialisation


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
