"""Proofs about tiling fields: they hold for what the host computes, and are found where they should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.api import ops
from attndsl.codegen.kernel_set.kernel_request import wanted_specializations
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.compiler.compile import compile_operator
from attndsl.compiler.prepare_launch import prepare
from attndsl.compiler.tiling_proofs import INT64, contract_facts, print_proofs, prove_tiling
from attndsl.expr import Symbol
from attndsl.expr.proofs import Prover
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.loader import shipped_names
from attndsl.verify.cases.cases import stream_of
from tests.support.devices import ARCHITECTURE
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec

OPERATORS = shipped_names()


@pytest.mark.parametrize("name", OPERATORS)
def test_what_the_host_computes_is_within_what_is_proved(name: str) -> None:
    for case in stream_of(getattr(ops, name)).take(1):
        launch = prepare(case.call())
        operator, special = launch.compiled.operator, launch.compiled.specialization
        values = launch.compiled.program.host_values(launch.host)
        for proof in prove_tiling(operator, special):
            value, (low, high) = values[proof.name], proof.range
            assert low <= value <= high, (special, proof.name)
            if proof.ctype == "int64":
                assert value % proof.divisor == 0 if proof.divisor else value == 0, (special, proof.name)


def test_all_fields_of_incre_flash_attention_are_proved() -> None:
    """No field overflows int64, no divisor is 0, and every workspace tensor begins where it should."""
    operator = ops.incre_flash_attention
    special = wanted_specializations(operator, KernelRequest())[0].special
    proofs = {proof.name: proof for proof in prove_tiling(operator, special)}
    assert [text for proof in proofs.values() for text in proof.open] == []
    for name in ("blocks", "splits", "group", "headsPerTask", "tasks"):
        assert proofs[name].range[0] >= 1, name
    places = [proof for name, proof in proofs.items() if name.endswith(("Offset", "Part"))]
    assert len(places) > 6 and all(proof.divisor % ARCHITECTURE.workspace_alignment == 0 for proof in places)
    assert proofs["workspaceBytes"].range[1] < 2**50
    text = print_proofs(operator, special)
    assert "every field is proved to fit its type" in text and "multiple of 512" in text


def test_what_does_not_follow_from_a_contract_is_told() -> None:
    """With no rows at all, nothing bounds the heads of a call of self_attention."""
    operator = ops.self_attention
    special = wanted_specializations(operator, KernelRequest())[0].special
    assert "not proved:\n" in (text := print_proofs(operator, special))
    assert "tasks: 'batch * tiling.kvHeads' may leave int64" in text


def test_a_number_stands_for_all_that_decide_as_it_does(tmp_path: Path) -> None:
    """A kernel for a window of 1 takes any from 1 to 7: no proof may rest on the 1."""
    op = decode_spec(
        tmp_path,
        DECODE_SCORES,
        "s = attend.when((window > 0) & (window < 8), s * 2.0, s)",
        DECODE_RESULT,
        declared="window = op.param('window', int, default=0, ge=0)",
    )
    for settings, known in (((("window", 1),), (1, 7)), ((), (0, INT64[1]))):
        special = Specialization(dtype="float16", padded_head_size=16, settings=settings)
        facts = contract_facts(compile_operator(op, special))
        assert Prover(facts).range(Symbol("window")) == known
