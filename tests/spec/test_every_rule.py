"""Every rule of every shipped contract has a call that it refuses, and says so itself.

A rule that is gone is not missed by a table of classes where another rule refuses the same call.
"""

from __future__ import annotations

from typing import Any

import pytest

from attndsl.api import ops
from attndsl.base.errors import UserError
from attndsl.spec.operator.loader import load
from tests.support import error_table_incre as incre
from tests.support import error_table_nsa as nsa
from tests.support import error_table_relay as relay
from tests.support import error_table_self_attention as sa
from tests.support.further_rules import BY_OPERATOR
from tests.support.rules_said import SAID

ROWS: dict[str, dict[str, Any]] = {
    "self_attention": {name: row[0] for name, row in sa.TABLE.items()},
    "incre_flash_attention": {row[0]: row[1] for row in incre.TABLE},
    "nsa_compress_attention": {row[0]: row[1] for row in nsa.TABLE},
    "relay_attention": {row[1]: row[2] for row in relay.TABLE},
}
OTHERS = {
    "is for self_attention_pa_encoder": "calls are taken by the operator of their calcType",
    "is for self_attention_prefix_encoder": "the same",
    "must be one tensor with block_table": "no shape of a list is one of pages; plans need not ask for it",
}


def of_file(name: str) -> str:
    return "self_attention" if name.startswith("self_attention") else name


def refused(name: str, call: dict[str, Any]) -> str:
    with pytest.raises(UserError) as caught:
        getattr(ops, of_file(name))(**call)
    return str(caught.value)


@pytest.mark.parametrize(("name", "row"), [(name, row) for name, rows in SAID.items() for row in rows])
def test_the_rule_that_a_row_of_the_tables_is_for_refuses_it(name: str, row: str) -> None:
    text = refused(name, ROWS[name][row])
    assert text.partition(";")[0].partition(": ")[2] == SAID[name][row], text


@pytest.mark.parametrize(
    ("name", "said"), [(name, said) for name, rows in BY_OPERATOR.items() for said in rows]
)
def test_further_rules_refuse_their_calls(name: str, said: str) -> None:
    text = refused(name, BY_OPERATOR[name][said])
    assert text.startswith(f"{name}: {said};"), text


@pytest.mark.parametrize("name", ROWS)
def test_no_rule_is_without_a_call(name: str) -> None:
    """Those of functions that several modes use are for one of them."""
    said = {text.rpartition(": ")[2] for text in SAID[name].values()}
    said |= {
        text.partition(": ")[2]
        for mode, rows in BY_OPERATOR.items()
        if of_file(mode) == name
        for text in rows
    }
    operator = load(name)
    rules = [rule for mode in (operator, *operator.modes) for rule in mode.constraints if not rule.target]
    missing = {rule.text for rule in rules if not issubclass(rule.error, Warning)} - said - OTHERS.keys()
    assert not missing


@pytest.mark.filterwarnings("error")
def test_a_warning_is_raised_where_the_contract_warns() -> None:
    more = nsa.call(actual_sel_seq_kvlen=[4, 5], topk_mask=None)
    with pytest.warns(match="actual_sel_seq_kvlen: blocks beyond the keys of a row have the score 0"):
        ops.nsa_compress_attention(**more)
    ops.nsa_compress_attention(**nsa.call())  # as many blocks as the keys need
