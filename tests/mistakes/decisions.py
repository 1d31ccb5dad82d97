"""What Python would decide while a spec is read, numbers for conditions, defaults and names that are none."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake
from tests.support.right_specs import DENSE

DECISIONS = (
    Mistake(
        "a length for a condition",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(lengths[b])"),),
        (
            "mine.py:19: 'lengths[b]' is a number, no condition: elements of bool and int8 tensors stand for "
            "themselves; compare it with what it counts, as in j < lengths[b], or with 0, as in "
            "lengths[b] != 0"
        ),
        instead=(("s = s.where(j <= i)", "s = s.where(j < lengths[b])"),),
    ),
    Mistake(
        "an element at keys for a condition",
        DENSE,
        (
            ("# more", 'segment = op.input("segment", "B T", dtype="int32", indexed=True)'),
            ("s = s.where(j <= i)", "s = s.where((j <= i) & ~segment[b, j])"),
        ),
        (
            "mine.py:19: 'segment[...]' is a number, no condition: elements of bool and int8 tensors stand "
            "for themselves; compare it, as in segment[...] != 0"
        ),
        instead=(
            ("# more", 'segment = op.input("segment", "B T", dtype="int32", indexed=True)'),
            ("s = s.where(j <= i)", "s = s.where((j <= i) & (segment[b, j] == 0))"),
        ),
    ),
    Mistake(
        "and of equalities",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where((j % 4 == 0) and (j <= i))"),),
        (
            "mine.py:19: Python decides 'and' while the spec is read, and 'j % 4 == 0' has no "
            "value until the operator is called; join conditions by &, each in parentheses, as "
            "in (a) & (b)"
        ),
        instead=(("s = s.where(j <= i)", "s = s.where((j % 4 == 0) & (j <= i))"),),
    ),
    Mistake(
        "python or",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where((j == i) or (j <= i))"),),
        (
            "mine.py:19: Python decides 'or' while the spec is read, and 'j == i' has no value "
            "until the operator is called; join conditions by |, each in parentheses, as in (a) "
            "| (b)"
        ),
        instead=(("s = s.where(j <= i)", "s = s.where((j == i) | (j <= i))"),),
    ),
    Mistake(
        "python not",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(not (j > i))"),),
        (
            "mine.py:19: Python decides 'not' while the spec is read, and 'j > i' has no value "
            "until the operator is called; negate conditions by ~, in parentheses, as in ~(a)"
        ),
        instead=(("s = s.where(j <= i)", "s = s.where(~(j > i))"),),
    ),
    Mistake(
        "not of an equality",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(not (j == i))"),),
        (
            "mine.py:19: Python decides 'not' while the spec is read, and 'j == i' has no value "
            "until the operator is called; negate conditions by ~, in parentheses, as in ~(a)"
        ),
        instead=(("s = s.where(j <= i)", "s = s.where(~(j == i))"),),
    ),
    Mistake(
        "if on a size",
        DENSE,
        (("s = s.where(j <= i)", "if D == 128:\n    s = s.where(j <= i)"),),
        (
            "mine.py:19: Python decides 'if' while the spec is read, and 'D == 128' has no value "
            "until the operator is called; attend.when(condition, a, b) chooses between values "
            "and select(condition, a, b) between numbers"
        ),
    ),
    Mistake(
        "if on a parameter",
        DENSE,
        (("s = s.where(j <= i)", "if window > 4:\n    s = s.where(j <= i)"),),
        (
            "mine.py:19: Python decides 'if' while the spec is read, and 'window > 4' has no "
            "value until the operator is called; attend.when(condition, a, b) chooses between "
            "values and select(condition, a, b) between numbers"
        ),
        instead=(("s = s.where(j <= i)", "s = attend.when(window > 4, s.where(j <= i), s)"),),
    ),
    Mistake(
        "conditional expression",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(j <= i) if window == 0 else s"),),
        (
            "mine.py:19: Python decides 'if' while the spec is read, and 'window == 0' has no "
            "value until the operator is called; attend.when(condition, a, b) chooses between "
            "values and select(condition, a, b) between numbers"
        ),
        instead=(("s = s.where(j <= i)", "s = attend.when(window == 0, s.where(j <= i), s)"),),
    ),
    Mistake(
        "while on a parameter",
        DENSE,
        (("s = s.where(j <= i)", "while window == 3:\n    s = s.where(j <= i)"),),
        (
            "mine.py:19: Python decides 'while' while the spec is read, and 'window == 3' has no "
            "value until the operator is called; loops of a spec are over plain numbers"
        ),
    ),
    Mistake(
        "chain of equalities",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(i == j == 0)"),),
        (
            "mine.py:19: Python decides a chain of comparisons while the spec is read, and 'i == "
            "j == 0' has no value until the operator is called; join both comparisons by &, each "
            "in parentheses, as in (a < b) & (b < c)"
        ),
    ),
    Mistake(
        "chain around a difference",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(0 <= i - j <= window)"),),
        (
            "mine.py:19: Python decides a chain of comparisons while the spec is read, and '0 <= "
            "i - j <= window' has no value until the operator is called; join both comparisons "
            "by &, each in parentheses, as in (a < b) & (b < c)"
        ),
        instead=(("s = s.where(j <= i)", "s = s.where((i - j >= 0) & (i - j <= window))"),),
    ),
    Mistake(
        "if on a layout",
        DENSE,
        (("s = s.where(j <= i)", "if key.layout == 'B K T D':\n    s = s.where(j <= i)"),),
        (
            "mine.py:19: Python decides 'if' while the spec is read, and 'layout(key) == B K T "
            "D' has no value until the operator is called; attend.when(condition, a, b) chooses "
            "between values and select(condition, a, b) between numbers"
        ),
    ),
    Mistake(
        "if on a dtype",
        DENSE,
        (("s = s.where(j <= i)", "if query.dtype == 'float16':\n    s = s.where(j <= i)"),),
        (
            "mine.py:19: Python decides 'if' while the spec is read, and 'dtype(query) == "
            "float16' has no value until the operator is called; attend.when(condition, a, b) "
            "chooses between values and select(condition, a, b) between numbers"
        ),
        instead=(("s = s.where(j <= i)", "s = attend.when(query.dtype == 'float16', s.where(j <= i), s)"),),
    ),
    Mistake(
        "if on an input",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(j <= i) if lengths else s"),),
        (
            "mine.py:19: 'if' decides by 'lengths', an input, while the spec is read: "
            "lengths.given tells whether a call passes it, as in attend.when(lengths.given, a, "
            "b); whether it is there at all in Python, x is not None"
        ),
    ),
    Mistake(
        "if on a value",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(j <= i) if s else s"),),
        (
            "mine.py:19: 'if' decides by a value of the computation, which has none while the "
            "spec is read; s.where(visible) acts on each score, x is not None asks whether "
            "Python has it at all"
        ),
    ),
    Mistake(
        "size among numbers",
        DENSE,
        (("s = s.where(j <= i)", "if D in (64, 128):\n    s = s.where(j <= i)"),),
        (
            "mine.py:19: Python decides 'in' while the spec is read, and 'D' has no value until "
            "the operator is called; one_of(x, 1, 2) of attndsl.spec is the condition"
        ),
    ),
    Mistake(
        "filter of a comprehension",
        DENSE,
        (("s = s.where(j <= i)", "s = [s for each in (1,) if window == each][0]"),),
        (
            "mine.py:19: Python decides 'if' while the spec is read, and 'window == 1' has no "
            "value until the operator is called; attend.when(condition, a, b) chooses between "
            "values and select(condition, a, b) between numbers"
        ),
    ),
    Mistake(
        "and in a demand",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require(N % K == 0 and D <= 128, "must be a multiple")',
            ),
        ),
        (
            "mine.py:14: Python decides 'and' while the spec is read, and 'N % K == 0' has no "
            "value until the operator is called; join conditions by &, each in parentheses, as "
            "in (a) & (b)"
        ),
        instead=(
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require((N % K == 0) & (D <= 128), "must be a multiple", argument="query")',
            ),
        ),
    ),
    Mistake(
        "number as a demand",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require(N % K, "must be a multiple", argument="query")',
            ),
        ),
        "mine.py:14: 'N % K' is a number, no condition; compare it, as in (N % K) != 0",
        instead=(
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require((N % K) == 0, "must be a multiple", argument="query")',
            ),
        ),
    ),
    Mistake(
        "difference as a mask",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(i - j)"),),
        "mine.py:19: 'i - j' is a number, no condition; compare it, as in (i - j) != 0",
        instead=(("s = s.where(j <= i)", "s = s.where((i - j) != 0)"),),
    ),
    Mistake(
        "number beside a condition",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where((j <= i) & window)"),),
        "mine.py:19: 'window' is a number, no condition; compare it, as in window != 0",
        instead=(("s = s.where(j <= i)", "s = s.where((j <= i) & (window != 0))"),),
    ),
    Mistake(
        "number for a choice",
        DENSE,
        (("s = s.where(j <= i)", "s = attend.when(window, s.where(j <= i), s)"),),
        "mine.py:19: 'window' is a number, no condition; compare it, as in window != 0",
        instead=(("s = s.where(j <= i)", "s = attend.when(window != 0, s.where(j <= i), s)"),),
    ),
    Mistake(
        "literal as a condition",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where((j <= i) | 1)"),),
        "mine.py:19: '1' is a number, no condition; leave it out",
    ),
    Mistake(
        "default among no choices",
        DENSE,
        (("# more\n", "mode = op.param('mode', int, default=3, choices=(0, 1))\n"),),
        (
            "mine.py:13: the default of 'mode' is no legal value: 3 is none of 0, 1; the nearest "
            "legal value is 1"
        ),
    ),
    Mistake(
        "number as the default of named choices",
        DENSE,
        (("# more\n", "mode = op.param('mode', int, default=0, choices={'no': 0, 'all': 1})\n"),),
        (
            "mine.py:13: the default of 'mode' is no legal value: 0 is none of 'no', 'all'; pass "
            "'no', for example"
        ),
        instead=(("# more\n", "mode = op.param('mode', int, default='no', choices={'no': 0, 'all': 1})\n"),),
    ),
    Mistake(
        "default of another type",
        DENSE,
        (("# more\n", "mode = op.param('mode', int, default='a')\n"),),
        ("mine.py:13: the default of 'mode' is no legal value: must be a Python int, got 'a' of type str"),
    ),
    Mistake(
        "default of no member",
        DENSE,
        (("# more\n", "mode = op.enum('mode', 'NONE CAUSAL', default='WINDOW')\n"),),
        (
            "mine.py:13: the default of 'mode' is no legal value: 'WINDOW' is none of 0 or "
            "'NONE', 1 or 'CAUSAL'; pass 0, for example"
        ),
        instead=(("# more\n", "mode = op.enum('mode', 'NONE CAUSAL', default='NONE')\n"),),
    ),
    Mistake(
        "no number as a default",
        DENSE,
        (("default=0.125, finite=True", "default=float('nan'), finite=True"),),
        (
            "mine.py:11: the default of 'scale' is no legal value: must be finite, got nan; pass "
            "a number such as 1.0"
        ),
    ),
    Mistake(
        "infinity as a default",
        DENSE,
        (("default=0.125, finite=True", "default=float('inf'), finite=True"),),
        (
            "mine.py:11: the default of 'scale' is no legal value: must be finite, got inf; pass "
            "a number such as 1.0"
        ),
    ),
    Mistake(
        "blamed argument misspelled",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="qery")',
            ),
        ),
        "mine.py:14: argument='qery' is no argument of mine; did you mean 'query'?",
    ),
    Mistake(
        "blamed size",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="N")',
            ),
        ),
        (
            "mine.py:14: argument='N' is no argument of mine; there are query, key, value, "
            "lengths, scale, window"
        ),
    ),
)
