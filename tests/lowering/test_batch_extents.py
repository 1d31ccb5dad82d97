"""Where the rows of a batch row begin: equal sums of lengths are one function of the kernel."""

from __future__ import annotations

import re

from attndsl.api import ops
from attndsl.codegen.kernel.kernel import kernel_text
from attndsl.compiler.compile import Compiled, compile_operator
from attndsl.lowering.signature.specialization import Specialization
from attndsl.tile.statements import Let

PA_ENCODER = next(each for each in ops.self_attention.modes if each.name.endswith("pa_encoder"))


def packed() -> Compiled:
    """Tokens back to back, keys with lengths of their own only where seqLen has two rows."""
    special = Specialization(
        dtype="float16", padded_head_size=64, padded_value_size=64, features=frozenset(["value"])
    )
    return compile_operator(PA_ENCODER, special)


def test_keys_without_lengths_of_their_own_begin_where_the_queries_do() -> None:
    values = [str(each.value) for each in packed().joint.statements() if isinstance(each, Let)]
    queries, *keys = (value for value in values if "sum(" in value)
    assert queries == "sum(seqLen[b] for b < batch)"
    assert keys and all(re.fullmatch(r"sum\(.*\) if \w+ else firstToken", each) for each in keys)


def test_each_place_of_lengths_has_one_running_sum() -> None:
    helpers = [each for each in kernel_text(packed()).helpers if each.name.endswith("Before")]
    assert [each.name for each in helpers] == ["RowsBefore", "KeysBefore"]
    assert all(each.parameters == "int64_t extent" and "?" not in " ".join(each.lines) for each in helpers)
