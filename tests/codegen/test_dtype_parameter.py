"""Kernels of float16 and bfloat16 share a text where their programs differ in that dtype alone."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pytest

from attndsl import ops
from attndsl.codegen.kernel.dtype_parameter import differing_operands, dtype_parameter, text_name, twin
from attndsl.codegen.samples.device_files import device_files, kernel_path
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.expr import Const
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.operator import Operator
from attndsl.tile.program import Program
from attndsl.tile.statements import Barrier, Seq, Statement

PLAIN = Specialization(dtype="float16", padded_head_size=64, features=frozenset({"attn_mask"}))


def encoder() -> Operator:
    return next(mode for mode in ops.self_attention.modes if mode.name == "self_attention_pa_encoder")


@lru_cache(maxsize=8)
def compiled(dtype: str) -> Compiled:
    return compile_operator(ops.incre_flash_attention, replace(PLAIN, dtype=dtype))


def test_both_print_the_same_text_and_instantiate_it_with_their_own_dtype() -> None:
    half, brain = compiled("float16"), compiled("bfloat16")
    assert kernel_path(half) == kernel_path(brain) == "op_kernel/incre_flash_attention_d64_attn_mask.h"
    texts = [device_files([each]) for each in (half, brain)]
    assert texts[0][kernel_path(half)] == texts[1][kernel_path(half)]
    assert "GlobalTensor<T> queryGm_;" in texts[0][kernel_path(half)]
    assert "dtype T of query, key, value, attention_out: float16 or bfloat16" in texts[0][kernel_path(half)]
    entries = [text["op_kernel/incre_flash_attention_custom.cpp"] for text in texts]
    for entry, ctype in zip(entries, ("half", "bfloat16_t"), strict=True):
        assert entry.count("namespace chosen = incre_flash_attention_d64_attn_mask;") == 1
        assert entry.count(f"chosen::IncreFlashAttentionKernel<{ctype}> kernel;") == 1
        assert entry.count("kernel.Run(") == 1


def test_the_operands_are_those_whose_dtype_differs() -> None:
    half, brain = compiled("float16"), compiled("bfloat16")
    found, other = dtype_parameter(half), dtype_parameter(brain)
    assert found is not None and other is not None
    assert (found.own, other.own) == ("float16", "bfloat16")
    assert found.first == other.first == PLAIN
    every = (*half.program.parameters, *half.program.workspace, *half.program.buffers())
    half_in_both = {"attnMaskHalf"}  # bytes of a mask become numbers through float16
    halves = {each.name for each in every if each.dtype == "float16"}
    assert halves - half_in_both == {each.name for each in found.operands}
    assert half_in_both < halves
    assert {each.name for each in found.operands} == {each.name for each in other.operands}


def test_an_operand_that_is_float16_in_both_stays_what_it_is() -> None:
    """The cube multiplies integers that stand for numbers in float16, whatever the results are."""
    special = replace(PLAIN, features=frozenset({"antiquant_scale"}))
    made = compile_operator(ops.incre_flash_attention, special)
    parameter = dtype_parameter(made)
    assert parameter is not None
    text = device_files([made])[kernel_path(made)]
    assert "GlobalTensor<T> queryGm_;" in text and "GlobalTensor<half> probRingGm_;" in text


def without_a_barrier(tree: Seq) -> Seq:
    """The tree without its first barrier."""
    done = False

    def kept(statement: Statement) -> Statement:
        nonlocal done
        children = []
        for child in statement.children():
            if isinstance(child, Barrier) and not done:
                done = True
            else:
                children.append(kept(child))
        return statement.with_children(tuple(children)) if statement.children() else statement

    found = kept(tree)
    assert done and isinstance(found, Seq)
    return found


def changes(program: Program) -> dict[str, Program]:
    core, tree = next(iter(program.cores.items()))
    buffer, address = next(iter(program.addresses.items()))
    first, *others = program.constants
    other = replace(first, meaning=f"{first.meaning}, twice")
    return {
        "a statement": program.with_(cores={**program.cores, core: without_a_barrier(tree)}),
        "an address": program.with_(addresses={**program.addresses, buffer: address + 32}),
        "a flag": program.with_(flags={name: number + 1 for name, number in program.flags.items()}),
        "a meaning": program.with_(constants=(other, *others)),
        "a field": program.with_(tiling=program.tiling[:-1]),
    }


@pytest.mark.parametrize("what", changes(compile_operator(ops.incre_flash_attention, PLAIN).program))
def test_programs_that_differ_in_anything_else_share_nothing(what: str) -> None:
    first, second = compiled("float16").program, compiled("bfloat16").program
    assert differing_operands(first, second)
    assert differing_operands(first, changes(second)[what]) is None


def test_what_the_host_puts_into_a_field_is_no_part_of_the_text() -> None:
    first, second = compiled("float16").program, compiled("bfloat16").program
    tiling = tuple(replace(field, value=Const(7), meaning="seven") for field in second.tiling)
    assert differing_operands(first, second.with_(tiling=tiling)) == differing_operands(first, second)


def test_one_comparison_tells_the_operands_of_both() -> None:
    first, second = compiled("float16"), compiled("bfloat16")
    found = differing_operands(first.program, second.program)
    assert found is not None
    for kernel, operands in zip((first, second), found, strict=True):
        assert {each.dtype for each in operands} == {kernel.specialization.dtype}
        known = {*kernel.program.parameters, *kernel.program.workspace, *kernel.program.addresses}
        assert operands <= known
    assert {each.name for each in found[0]} == {each.name for each in found[1]}


def test_a_program_shares_no_text_with_itself() -> None:
    first = compiled("float16").program
    assert differing_operands(first, first) is None


def test_twins_change_the_dtypes_that_a_call_chooses_with_the_io_dtype() -> None:
    """A mask in the queries' dtype stays in it; the twin of a twin is the kernel itself."""
    operator = encoder()
    special = Specialization(
        dtype="bfloat16",
        padded_head_size=128,
        padded_value_size=128,
        features=frozenset({"mask", "value"}),
        settings=(("dtype(mask)", "bfloat16"), ("maskType", 1)),
    )
    other = twin(operator, special)
    assert other == replace(special, dtype="float16", settings=(("maskType", 1),))
    assert twin(operator, other) == special


def test_an_integer_kernel_is_named_after_its_io_dtype_and_leaves_that_of_the_mask_open() -> None:
    operator = encoder()
    features = frozenset({"mask", "qkDescale", "value", "vpvDescale"})
    settings = (("maskType", 2), ("quantType", 3))
    special = Specialization(
        dtype="int8", padded_head_size=64, padded_value_size=64, features=features, settings=settings
    )
    made = compile_operator(operator, special)
    parameter = dtype_parameter(made)
    assert parameter is not None and {each.name for each in parameter.operands} == {"mask", "maskRows"}
    assert text_name(made).startswith("self_attention_pa_encoder_int8_d64_e64_value_mask_")
    plain = compile_operator(operator, replace(special, features=features - {"mask"}, settings=settings[1:]))
    assert dtype_parameter(plain) is None
