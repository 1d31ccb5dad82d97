"""What cases for a kernel are asked for first."""

from __future__ import annotations

import pytest

from attndsl.base.package_files import generated_dir, specs_dir
from attndsl.codegen.kernel_set.kernel_list import KERNEL_LIST, read_kernel_list
from attndsl.compiler.prepare_launch import compiled_for, specialization_of
from attndsl.execute.wanted_kernels import _has_halves, wanted_kernel
from attndsl.lowering.signature.specialization import feature_names
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.shaped_call import call_of_shape


@pytest.mark.parametrize("name", ["self_attention", "relay_attention", "incre_flash_attention"])
def test_likely_calls_of_a_kernel_pass_what_it_reads_and_nothing_that_it_does_not_know(name: str) -> None:
    """A kernel without values has no case whose call passes them; the nearest call to the defaults passes
    them where the kernel's own features alone are asked for."""
    operator = load(name)
    for mode in (operator, *operator.modes):
        folder = generated_dir() / mode.name
        for listed in read_kernel_list(mode, folder / KERNEL_LIST):
            wanted = wanted_kernel(mode, listed)
            passed = {each for each in feature_names(mode) if wanted.likely[f"given({each})"]}
            assert passed >= listed.special.features, listed.name
            if not listed.special.features:
                assert "value" not in passed and "key" not in passed, listed.name


@pytest.mark.parametrize(("positions", "halved"), [(265, False), (1033, True)])
def test_a_call_has_tasks_of_two_halves_by_the_plan_of_its_kernel(positions: int, halved: bool) -> None:
    """Under a causal mask from two rounds of them on; of kernels that never have any each call does."""
    operator = load(str(specs_dir() / "variants" / "gqa_prefill_lse.py"))
    call = call_of_shape(operator, {"K": 24, "N": 24, "S": positions})
    assert _has_halves(compiled_for(operator, specialization_of(call)), call) is halved
    decode = load("incre_flash_attention")
    single = call_of_shape(decode, {})
    assert _has_halves(compiled_for(decode, specialization_of(single)), single)


def test_likely_calls_of_a_kernel_are_those_of_no_other() -> None:
    """Prompts with a window over a ring cache pass a mask, which their kernel does not read; without it the
    nearest legal call is a decoder's, of another kernel."""
    operator = load("self_attention")
    kernels = read_kernel_list(operator, generated_dir() / operator.name / KERNEL_LIST)
    windowed = [each for each in kernels if ("cacheType", 1) in each.special.settings]
    assert windowed
    for listed in windowed:
        own, likely = dict(listed.special.settings), wanted_kernel(operator, listed).likely
        assert likely["calcType"] == own.get("calcType", 0), listed.name
        assert likely["given(attentionMask)"], listed.name
