"""Calls: shapes, dtypes, lengths and parameters that do not go together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.support.right_specs import DENSE, PACKED, PAGED, changed


def halves(*shape: int) -> Any:
    return np.zeros(shape, np.float16)


DENSE_CALL: Mapping[str, Any] = {
    "query": halves(2, 4, 8, 32),
    "key": halves(2, 2, 8, 32),
    "value": halves(2, 2, 8, 32),
    "lengths": [8, 5],
}
PAGED_CALL: Mapping[str, Any] = {
    "query": halves(2, 4, 1, 32),
    "key_cache": halves(6, 2, 16, 32),
    "value_cache": halves(6, 2, 16, 32),
    "table": np.zeros((2, 3), np.int32),
    "lengths": [48, 20],
}
PACKED_CALL: Mapping[str, Any] = {
    "query": halves(9, 4, 32),
    "key": halves(12, 2, 32),
    "value": halves(12, 2, 32),
    "query_ends": [4, 9],
    "key_ends": [7, 12],
}
PLAIN_ENDS = changed(
    PACKED,
    (
        ('op.let(M, op.longest("key_ends"))', 'op.let(M, op.param("most", int, default=7, ge=1))'),
        (
            'tokens = op.prefix_sums("key_ends", "B", total=U)',
            'tokens = op.input("key_ends", "B", dtype="int32", axes="B")',
        ),
    ),
)
PLAIN_CALL = {**PACKED_CALL, "key_ends": np.array([7, 12], np.int32)}
RIGHT = {DENSE: DENSE_CALL, PAGED: PAGED_CALL, PACKED: PACKED_CALL, PLAIN_ENDS: PLAIN_CALL}


@dataclass(frozen=True)
class WrongCall:
    """A right call of ``right`` with ``changes``; an argument that changes to None is left out."""

    name: str
    right: str
    changes: Mapping[str, Any]
    message: str

    def arguments(self) -> dict[str, Any]:
        return {name: each for name, each in (RIGHT[self.right] | self.changes).items() if each is not None}


CALLS = (
    WrongCall(
        "an axis too few",
        DENSE,
        {"query": halves(4, 8, 32)},
        "mine: query: shape [4, 8, 32] has 3 dimensions; it must be (B, N, S, D)",
    ),
    WrongCall(
        "another batch",
        DENSE,
        {"key": halves(3, 2, 8, 32)},
        (
            "mine: key: shape [3, 2, 8, 32] should be (B, K, T, D): dimension 0 is 3, must be B "
            "= 2 (B = 2 from query)"
        ),
    ),
    WrongCall(
        "heads that do not divide",
        DENSE,
        {"query": halves(2, 3, 8, 32)},
        (
            "mine: query: must be a multiple of the heads of key; N is 3; K is 2; the nearest "
            "legal values of N are 2 and 4"
        ),
    ),
    WrongCall(
        "another dtype",
        DENSE,
        {"query": np.zeros((2, 4, 8, 32), np.float32)},
        "mine: query: dtype float32 is not supported; it must be bfloat16 or float16",
    ),
    WrongCall(
        "two dtypes",
        DENSE,
        {"key": np.zeros((2, 2, 8, 32), np.int8)},
        "mine: key: dtype int8 is not supported; it must be float16",
    ),
    WrongCall(
        "keys and values of two lengths",
        DENSE,
        {"value": halves(2, 2, 9, 32)},
        (
            "mine: value: shape [2, 2, 9, 32] should be (B, K, T, D): dimension 2 is 9, must be "
            "T = 8 (T = 8 from key)"
        ),
    ),
    WrongCall(
        "length beyond the rows",
        DENSE,
        {"lengths": [8, 9]},
        (
            "mine: lengths: must be at most T, the rows there are; lengths[1] is 9; T is 8; the "
            "nearest legal value is 8"
        ),
    ),
    WrongCall(
        "ends of packed keys, in a plain input, beyond the keys",
        PLAIN_ENDS,
        {"key_ends": np.array([7, 13], np.int32)},
        (
            "mine: key_ends: no prefix sum may exceed U, the rows there are; key_ends[1] is 13; U is 12; "
            "the nearest legal value is 12"
        ),
    ),
    WrongCall(
        "a packed row that is longer than its axis",
        PLAIN_ENDS,
        {"most": 6},
        (
            "mine: key_ends: no batch row may have more than M rows; key_ends[0] is 7; M is 6; the nearest "
            "legal value of M is 7"
        ),
    ),
    WrongCall(
        "one length too many",
        DENSE,
        {"lengths": [8, 8, 8]},
        ("mine: lengths: must have B = 2 entries in one dimension (B = 2 from query), got shape [3]"),
    ),
    WrongCall("an argument left out", DENSE, {"value": None}, "mine: value: this argument is missing"),
    WrongCall(
        "an argument that there is not",
        DENSE,
        {"values": halves(2, 2, 8, 32)},
        "mine: unknown argument 'values'; did you mean 'value'?",
    ),
    WrongCall(
        "scale that is no number",
        DENSE,
        {"scale": float("nan")},
        "mine: scale: must be finite, got nan; pass a number such as 1.0",
    ),
    WrongCall(
        "window of no keys",
        DENSE,
        {"window": 0},
        "mine: window: must be >= 1, got 0; the nearest legal value is 1",
    ),
    WrongCall(
        "window of a fraction",
        DENSE,
        {"window": 2.5},
        "mine: window: must be a Python int, got 2.5 of type float; the default is 256",
    ),
    WrongCall(
        "block size",
        PAGED,
        {"key_cache": halves(6, 2, 20, 32), "value_cache": halves(6, 2, 20, 32)},
        (
            "mine: key_cache: must have a multiple of 16 rows a block; R is 20; the nearest "
            "legal values of R are 16 and 32"
        ),
    ),
    WrongCall(
        "another table",
        PAGED,
        {"table": np.zeros((3, 3), np.int32)},
        ("mine: table: shape [3, 3] should be (B, W): dimension 0 is 3, must be B = 2 (B = 2 from query)"),
    ),
    WrongCall(
        "sums that fall",
        PACKED,
        {"query_ends": [9, 4]},
        (
            "mine: query_ends: prefix sums must begin at 0 or above and not decrease; "
            "query_ends[1] is 4; query_ends[0] is 9; the nearest legal value is 9"
        ),
    ),
    WrongCall(
        "sums of keys alone that begin with 0",
        PACKED,
        {"key_ends": np.array([0, 7, 12], np.int32)},
        ("mine: key_ends: must have B = 2 entries in one dimension (B = 2 from query_ends), got shape [3]"),
    ),
    WrongCall(
        "sums in an array of fractions",
        PACKED,
        {"query_ends": np.array([4.0, 9.0])},
        "mine: query_ends: dtype float64 is not supported; it must be int64",
    ),
    WrongCall(
        "one sum without a list",
        PACKED,
        {"query_ends": 9},
        (
            "mine: query_ends: must be a list, tuple or array of integers of dtype int64, got 9 of "
            "type int; write [9]"
        ),
    ),
    WrongCall(
        "sums that end early",
        PACKED,
        {"key_ends": [7, 11]},
        (
            "mine: key_ends: the last prefix sum must be U; key_ends[1] is 11; U is 12; the "
            "nearest legal value is 12"
        ),
    ),
    WrongCall(
        "an integer beyond the host's type",
        DENSE,
        {"window": 2**63},
        (
            "mine: window: must fit int64, the type that a host has it in, -9223372036854775808 to "
            "9223372036854775807, got 9223372036854775808; the nearest legal value is 9223372036854775807"
        ),
    ),
    WrongCall(
        "a number beyond all numbers",
        DENSE,
        {"scale": 10**400},
        (
            "mine: scale: must be a Python float, got 1000000000000000000000000000000000000... of type int; "
            "the default is 0.125"
        ),
    ),
)
