"""The branches of a plan: kernels of both float dtypes share one, others keep their order."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pytest

from attndsl.api import ops
from attndsl.codegen.host.dispatch_text import USUAL, PlannedKernel, _asking, _usual, dispatch
from attndsl.codegen.host.problem_words import problem_words
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.lowering.signature.specialization import Specialization

WORDS = problem_words(ops.incre_flash_attention)
PICKED = "problem.queryDtype == values::QueryDtype::kFloat16 ? {} : {}"


@lru_cache
def compiled(dtype: str, *features: str) -> Compiled:
    special = Specialization(dtype=dtype, padded_head_size=64, features=frozenset(features))
    return compile_operator(ops.incre_flash_attention, special)


def planned(dtype: str, *features: str, ring: str = "schedule::kRing") -> PlannedKernel:
    text = f"text_{'_'.join(features)}"
    return PlannedKernel(compiled(dtype, *features), "Tile", "BlocksWait", text, {"ring": ring})


def test_kernels_of_two_dtypes_share_a_branch_that_asks_for_the_dtype_once() -> None:
    found = dispatch([planned("float16"), planned("bfloat16")], WORDS, ["ring"])
    (branch,) = found.branches
    assert branch.key == PICKED.format("Key::kFloat16D64", "Key::kBfloat16D64")
    asked = [test for test in branch.test if "queryDtype" in test]
    assert len(asked) == 1 and "kFloat16" in asked[0] and "kBfloat16" in asked[0]
    assert branch.members == ()
    (known,) = found.kernels
    assert (known.name, known.namespace, known.values) == (branch.kernel, "text_", ("schedule::kRing",))


def test_a_number_that_differs_by_dtype_is_picked_by_it() -> None:
    found = dispatch([planned("float16", ring="0"), planned("bfloat16", ring="1")], WORDS, ["ring"])
    (branch,), (known,) = found.branches, found.kernels
    assert known.values == ("0",)
    assert branch.members == (("ring", PICKED.format(0, 1)),)


@pytest.mark.parametrize("change", [{"namespace": "other"}, {"function": "Tile2"}])
def test_kernels_that_are_launched_otherwise_have_branches_of_their_own(change: dict[str, str]) -> None:
    other = replace(planned("bfloat16"), **change)  # type: ignore[arg-type]
    found = dispatch([planned("float16"), other], WORDS, ["ring"])
    assert len(found.branches) == 2


def test_what_all_kernels_ask_for_is_asked_once() -> None:
    kernels = [planned(dtype, *given) for dtype in ("float16", "bfloat16") for given in ((), ("pse_shift",))]
    found = dispatch(kernels, WORDS, ["ring"])
    assert [each.namespace for each in found.branches] == ["text_", "text_pse_shift"]
    assert "problem.D > 48 && problem.D <= 64" in found.common
    assert not any(test in found.common for each in found.branches for test in each.test)
    assert "problem.pseShiftGiven != 0" in found.branches[1].test


def test_conditions_that_several_branches_ask_for_have_a_name() -> None:
    """Two of three kernels take values, in the layouts of packed rows."""
    pa = ops.self_attention.modes[0]
    kernels = []
    for features in (("value",), ("value", "logN"), ()):
        special = Specialization(
            dtype="float16", padded_head_size=64, padded_value_size=64, features=frozenset(features)
        )
        text = f"text_{'_'.join(features)}"
        kernels.append(PlannedKernel(compile_operator(pa, special), "Tile", "BlocksWait", text, {}))
    found = dispatch(kernels, problem_words(pa), [])
    ((name, text),) = found.named
    assert name == "valueIsTokensOrMerged" and "kTokens" in text and "kMerged" in text
    assert [name in branch.test for branch in found.branches] == [True, True, False]
    assert not any(text in branch.test for branch in found.branches)


def test_functions_of_several_orders_are_named_in_the_rows() -> None:
    one, other = planned("float16"), replace(planned("float16", "pse_shift"), function="Tile2", waits="W2")
    found = dispatch([one, other], WORDS, ["ring"])
    assert (found.function, found.waits) == ("", "")
    assert not any(branch.members for branch in found.branches)
    assert {each.name: each.values for each in found.kernels} == {
        "OfText": ("schedule::kRing", "&Tile", "&BlocksWait"),
        "OfTextPseShift": ("schedule::kRing", "&Tile2", "&W2"),
    }


def test_a_function_that_all_have_is_named_once() -> None:
    """Whether blocks wait for each other, though their tiling functions differ."""
    one, other = planned("float16"), replace(planned("float16", "pse_shift"), function="TileOther")
    found = dispatch([one, other], WORDS, ["ring"])
    assert (found.function, found.waits) == ("", "BlocksWait")
    assert [each.values[1:] for each in found.kernels] == [("&Tile",), ("&TileOther",)]


def test_kernels_of_one_dtype_are_tried_in_their_order() -> None:
    """The second one of bfloat16 does not go in front of the first, which has no branch to share."""
    kernels = [planned("float16"), planned("bfloat16", "pse_shift"), planned("bfloat16")]
    assert [each.namespace for each in dispatch(kernels, WORDS, ["ring"]).branches] == [
        "text_",
        "text_pse_shift",
        "text_",
    ]


def test_what_most_branches_ask_for_has_one_name() -> None:
    """Conditions that many ask for together stand once; a branch that lacks one of them asks for each."""
    alike = ("a", "b", "c", "d", "e")
    tests = [(*alike, f"own{number}") for number in range(4)]
    rare = ("a", "b", "other")
    usual = _usual([*tests, rare])
    assert usual == alike
    assert [_asking(test, usual) for test in (tests[0], rare)] == [(USUAL, "own0"), rare]
    assert _usual(tests[:2]) == () == _usual([rare]), "nothing is saved"
