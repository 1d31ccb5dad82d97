"""The files of one kernel of a project, with a kernel function of its own."""

from __future__ import annotations

import re

import pytest

from attndsl.base.package_files import generated_dir
from attndsl.mutate.bench import Bench, kernel_files
from attndsl.spec.operator.loader import load

_MASKED = "self_attention_float16_d128_e128_key_value_attentionMask_attentionMask"


@pytest.mark.parametrize(
    ("kernel", "header"),
    [
        (f"{_MASKED}_full_maskType_NORM", "self_attention_d128_e128_key_value_attentionMask.h"),
        (f"{_MASKED}_per_head_maskType_ALIBI", "self_attention_d128_e128_key_value_attentionMask.h"),
        ("self_attention_float16_d128_e128_key_value", "self_attention_d128_e128_key_value.h"),
    ],
)
def test_the_kernel_function_includes_the_text_of_the_project(kernel: str, header: str) -> None:
    """Named after the kernel, or after what several share: alone, too, it has the name that its file has."""
    operator = load("self_attention")
    found = kernel_files(generated_dir() / operator.name, operator, operator)
    bench = Bench(next(each for each in found if each.listed.name == kernel))
    entry = bench.folder() / bench.entry_file
    included = re.findall(r'#include "(self_attention\w*\.h)"', entry.read_text())
    assert header in included
    assert all((entry.parent / name).is_file() for name in included)
