"""Cases for a kernel: the first of them have the data and the work that show most mistakes in kernels."""

from __future__ import annotations

import pytest

from attndsl.api import ops
from attndsl.base.package_files import generated_dir
from attndsl.execute.user_project import UserProject
from attndsl.verify.cases.cases import Stream
from attndsl.verify.cases.features import work_of
from attndsl.verify.space.values import FILL, PROBE, RAMP, SUNK

KERNELS = (
    ("incre_flash_attention", "incre_flash_attention", "incre_flash_attention_float16_d128"),
    (
        "self_attention",
        "self_attention_pa_encoder",
        "self_attention_pa_encoder_bfloat16_d128_e128_value_ma",
    ),
)


@pytest.mark.parametrize(("name", "project", "kernel"), KERNELS)
def test_first_cases_have_sunk_scores_rising_maxima_and_many_rows(
    name: str, project: str, kernel: str
) -> None:
    operator = getattr(ops, name)
    kernels = UserProject.at(generated_dir() / project, operator).kernels()
    wanted = next(each for each in kernels if each.name.startswith(kernel))
    sunk, ramp, many = Stream(operator, kernels=(wanted,)).take(3)
    assert [each.assignment[FILL] for each in (sunk, ramp, many)] == [SUNK, RAMP, PROBE]
    works = [work_of(each.space, each.call()) for each in (sunk, ramp, many)]
    assert works[0].few and works[0].tiles > 1
    assert works[1].tiles > 1
    assert works[2].several_a_core


def test_kernels_begin_with_different_data() -> None:
    operator = ops.incre_flash_attention
    kernels = UserProject.at(generated_dir() / operator.name, operator).kernels()[:3]
    found = [each.assignment[FILL] for each in Stream(operator, kernels=kernels).take(6)]
    assert found == [SUNK, RAMP, PROBE, RAMP, PROBE, SUNK]


def test_cases_of_no_kernel_are_as_they_were() -> None:
    """Records are of them: they begin with no data of their own."""
    found = [each.assignment[FILL] for each in Stream(ops.incre_flash_attention).take(3)]
    assert found != [SUNK, RAMP, PROBE]
