"""Masks in bits, whose operators numbers of a call do not have."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake
from tests.support.right_specs import DENSE

BITS = (
    Mistake(
        "shifted bits",
        DENSE,
        (
            ("# more\n", 'bits = op.input("bits", "B S", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where((bits[b, i] >> (j - 2)) & 1 == 1)"),
        ),
        (
            "mine.py:19: TypeError: 'bits[b * S + i] >> (j - 2)': numbers of a call have + - * / // "
            "%; a mask in bits is passed as bytes, x[b, i, j], or x[b, i, j - first] in a part over "
            "the keys from first on"
        ),
        instead=(
            ("# more\n", 'bits = op.input("bits", "B S T", dtype="bool", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(bits[b, i, j])"),
        ),
    ),
    Mistake(
        "quotient by a power of two",
        DENSE,
        (
            ("# more\n", 'bits = op.input("bits", "B S", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(bits[b, i] // 2 ** (j - (lengths[b] - S)) % 2 == 1)"),
        ),
        (
            "mine.py:19: TypeError: '2 ** (j - (lengths[b] - S))': numbers of a call have + - * / // "
            "% and no such powers; a mask in bits is passed as bytes, x[b, i, j], or x[b, i, j - "
            "first] in a part over the keys from first on"
        ),
        instead=(
            ("# more\n", 'bits = op.input("bits", "B S S", dtype="bool", indexed=True)\n'),
            (
                "keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                'op.require(lengths[b] >= S, "must be S at least", over={b: B})\n'
                "first = lengths[b] - S\n"
                "keys = attend.window(attend.rows(key, length=lengths), first, length=S)\n"
                "values = attend.window(attend.rows(value, length=lengths), first, length=S)",
            ),
            ("s = s.where(j <= i)", "s = s.where(bits[b, i, j - first])"),
        ),
    ),
    Mistake(
        "a shifted bit",
        DENSE,
        (
            ("# more\n", 'bits = op.input("bits", "B S", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(bits[b, i] & (1 << j) != 0)"),
        ),
        (
            "mine.py:19: TypeError: '1 << j': numbers of a call have + - * / // %; a mask in bits is "
            "passed as bytes, x[b, i, j], or x[b, i, j - first] in a part over the keys from first on"
        ),
        instead=(
            ("# more\n", 'bits = op.input("bits", "B S T", dtype="bool", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(bits[b, i, j])"),
        ),
    ),
    Mistake(
        "bits of a literal",
        DENSE,
        (
            ("# more\n", 'bits = op.input("bits", "B S", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(bits[b, i] & 4 != 0)"),
        ),
        (
            "mine.py:19: TypeError: 'bits[b * S + i] & 4': '&' joins conditions, each in parentheses;"
            " a mask in bits is passed as bytes, x[b, i, j], or x[b, i, j - first] in a part over the"
            " keys from first on"
        ),
        instead=(
            ("# more\n", 'bits = op.input("bits", "B S T", dtype="bool", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(bits[b, i, j])"),
        ),
    ),
    Mistake(
        "exclusive or of bits",
        DENSE,
        (
            ("# more\n", 'bits = op.input("bits", "B S", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(bits[b, i] ^ 4 == 0)"),
        ),
        (
            "mine.py:19: TypeError: 'bits[b * S + i] ^ 4': numbers of a call have + - * / // %; a "
            "mask in bits is passed as bytes, x[b, i, j], or x[b, i, j - first] in a part over the "
            "keys from first on"
        ),
        instead=(
            ("# more\n", 'bits = op.input("bits", "B S T", dtype="bool", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(bits[b, i, j])"),
        ),
    ),
    Mistake(
        "quotient by powers in a table",
        DENSE,
        (
            ("# more\n", 'bits = op.input("bits", "B S", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(bits[b, i] // bits[b, j] % 2 == 1)"),
        ),
        (
            "mine has no kernel yet: mine.py:19: a mask in a form that no kernel tests ('bits[b * S +"
            " i] // bits[b * S + j]' divides by what differs by key, query, head or batch row) has no"
            " lowering rule yet; a mask in bits is passed as bytes, x[b, i, j], or x[b, i, j - first]"
            " in a part over the keys from first on; the reference backend computes it"
        ),
        instead=(
            ("# more\n", 'bits = op.input("bits", "B S T", dtype="bool", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(bits[b, i, j])"),
        ),
    ),
)
