"""Choices of presence and settings: legal, near to the defaults, and none where the contract has none."""

from __future__ import annotations

from itertools import pairwise

import pytest

from attndsl.api import ops
from attndsl.codegen.kernel_set.kernel_request import IllegalSetting, wanted_specializations
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.lowering.signature.specialization import Specialization, settings_of, specialized_on
from attndsl.spec import Operator, attend, errors
from attndsl.spec.operator.covering import choosable, nearest_choice

MODES = {mode.name: mode for mode in (ops.self_attention, *ops.self_attention.modes)}


def chain(length: int) -> Operator:
    """Parameter n asks for n + 1; so a choice of the first is one of all."""
    op = Operator("chain", summary="A chain of conditions.")
    B, N, K, T, D = op.dims("B N K T D")
    op.axes(B=B, N=N, K=K, T=T, D=D, E=D)
    query = op.input("query", "B N D", dtype=("float16", "bfloat16"), axes="B N D")
    key = op.input("key", "B K T D", dtype=query, axes="B K T D")
    value = op.input("value", "B K T D", dtype=query, axes="B K T E")
    flags = [op.param(f"flag{number}", bool, default=False) for number in range(length)]
    for one, other in pairwise(flags):
        with op.constraints_on(error=errors.ParameterError):
            op.require(other == 1, "goes with the one before", when=one == 1)
    if length > 2:
        op.require(flags[1] + flags[2] < 4, "always", error=errors.ParameterError)
    scores = attend.scores(query, attend.rows(key))
    op.output("out", attend.softmax(scores) @ attend.rows(value), like=query)
    return op


def test_defaults_stay_where_nothing_forces_them():
    choice = nearest_choice(chain(4), {"flag2": True})
    assert choice is not None
    assert [choice.settings[f"flag{number}"] for number in range(4)] == [False, False, True, True]


def test_what_a_choice_asks_for_is_followed_to_the_end():
    choice = nearest_choice(chain(6), {"flag0": True})
    assert choice is not None and all(choice.settings[f"flag{number}"] for number in range(6))


def test_a_contradiction_has_no_choice():
    assert nearest_choice(chain(3), {"flag0": True, "flag2": False}) is None
    assert nearest_choice(chain(3), {"flag0": False, "flag2": False}) is not None
    assert nearest_choice(chain(3), {"unknown": 1}) is None


def test_a_goal_passes_further_tensors():
    op = ops.incre_flash_attention
    wanted = {"given(attn_mask)": True}
    alone = nearest_choice(op, wanted)
    more = nearest_choice(op, wanted, lambda choice: "pse_shift" in choice.present)
    assert alone is not None and "pse_shift" not in alone.present
    assert more is not None and more.present == alone.present | {"pse_shift"}


@pytest.mark.parametrize(
    ("name", "wanted", "present", "settings"),
    [
        # K_CACHE_V_CACHE appends, so new rows come along; a bypass takes none.
        ("self_attention", {}, {"key", "value"}, {"kvcacheCfg": 0}),
        ("self_attention", {"kvcacheCfg": 1}, set(), {"maskType": 0}),
        # TYPE_BNSD needs the bypass and a mask.
        ("self_attention", {"inputLayout": 1}, {"attentionMask"}, {"kvcacheCfg": 1, "maskType": 1}),
        # Lists of caches: a bypassed DECODER alone, and both caches.
        (
            "self_attention",
            {"split(cacheK)": True},
            set(),
            {"calcType": 2, "kvcacheCfg": 1, "split(cacheV)": True},
        ),
        # A cache of fixed length goes with a window, which has a size and, but in a DECODER, a mask.
        (
            "self_attention",
            {"cacheType": 1},
            {"key", "value", "attentionMask"},
            {"maskType": 7, "windowSize": 1},
        ),
        ("self_attention_pa_encoder", {"given(pScale)": True}, {"pScale", "qkDescale"}, {"quantType": 2}),
        ("self_attention_pa_encoder", {"given(value)": False}, set(), {"mlaVHeadSize": 1}),
        ("self_attention_prefix_encoder", {}, set(), {"maskType": 9, "isTriuMask": 1, "kernelType": 1}),
    ],
)
def test_the_contract_decides_what_goes_together(name, wanted, present, settings):
    choice = nearest_choice(MODES[name], wanted)
    assert choice is not None and present <= choice.present
    assert {key: choice.settings[key] for key in settings} == settings


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("self_attention", {"maskType": 9}),  # CAUSAL_MASK is for PREFIX_ENCODER alone
        ("self_attention", {"calcType": 2, "maskType": 8}),  # no compressed window in a DECODER
        ("self_attention_pa_encoder", {"dtype(query)": "int8", "quantType": 0}),
        ("self_attention_pa_encoder", {"dtype(query)": "float16", "quantType": 2}),
        ("self_attention_prefix_encoder", {"maskType": 0}),
    ],
)
def test_what_the_contract_forbids_is_not_chosen(name, wanted):
    assert nearest_choice(MODES[name], wanted) is None


@pytest.mark.parametrize("name", MODES)
def test_every_choice_keeps_the_constraints_that_it_decides(name):
    operator = MODES[name]
    found = 0
    for symbol, values in choosable(operator).items():
        for value in values:
            choice = nearest_choice(operator, {symbol: value})
            if choice is None:
                continue
            found += 1
            known = dict(choice.settings)
            known |= {f"given({spec.name})": spec.name in choice.present for spec in operator.tensors}
            assert known[symbol] == value or known[symbol] is None
            for rule in operator.constraints:
                decided = rule.symbols() <= known.keys() and not rule.tensors() and not rule.over
                if decided and not issubclass(rule.error, Warning):
                    assert rule.violation(known) is None, (symbol, value, rule.text)
    assert found > 20


def stepped() -> Operator:
    """Numbers choose the computation: m beyond 1, and w at least 0.5 (without default)."""
    op = Operator("stepped", summary="A mask for some numbers.")
    B, N, K, T, D = op.dims("B N K T D")
    op.axes(B=B, N=N, K=K, T=T, D=D, E=D)
    query = op.input("query", "B N D", dtype="float16", axes="B N D")
    key = op.input("key", "B K T D", dtype=query, axes="B K T D")
    value = op.input("value", "B K T D", dtype=query, axes="B K T E")
    m = op.param("m", int, default=0, ge=0, le=3)
    w = op.param("w", float)
    s = attend.scores(query, attend.rows(key))
    s = attend.when(m > 1, s * 2.0, attend.when(w >= 0.5, s * 3.0, s))
    op.output("out", attend.softmax(s) @ attend.rows(value), like=query)
    return op


def test_numbers_that_conditions_do_not_tell_apart_share_a_kernel():
    op = stepped()

    def special(m: int, w: float) -> Specialization:
        return specialized_on(op, frozenset(), {"m": m, "w": w}, "float16", (128, 128))

    assert special(2, 0.0) == special(3, 0.0) == special(3, 7.0) != special(1, 0.0)
    assert special(0, 0.75) == special(1, 123.0) != special(1, 0.25) == special(0, 0.0)


def test_numbers_that_choose_a_computation_are_covered():
    op = stepped()
    assert set(choosable(op)["m"]) == {0, 1, 2} and {0.5, -0.5} <= set(choosable(op)["w"])
    wanted = wanted_specializations(op, KernelRequest())
    graphs = {op.graph(frozenset(), settings_of(op, each.special)).key for each in wanted}
    assert len(graphs) == 3
    (chosen,) = wanted_specializations(op, KernelRequest(settings=(("m", "3"), ("w", "7.25"))))
    assert dict(chosen.special.settings)["m"] == 2  # stands for all numbers above 1
    with pytest.raises(IllegalSetting, match="m=4"):
        wanted_specializations(op, KernelRequest(settings=(("m", "4"),)))
