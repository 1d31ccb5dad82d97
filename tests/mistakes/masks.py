"""Masks: conditions on indices, mask tensors, elements read at keys."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake
from tests.support.right_specs import DENSE, PACKED

PADDED = (
    ("scale = op.param", 'valid = op.input("valid", "B M", dtype="bool", indexed=True)\nscale = op.param'),
    ("i, j = attend.QUERY", "b, i, j = attend.BATCH, attend.QUERY"),
    ("s.where(j <= i)", "s.where(valid[b, j] & (j <= i))"),
)

MASKS = (
    Mistake(
        "python and",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where((j <= i) and (j > i - window))"),),
        (
            "mine.py:19: Python decides 'and' while the spec is read, and 'j <= i' has no value "
            "until the operator is called; join conditions by &, each in parentheses, as in (a) "
            "& (b)"
        ),
        instead=(("s = s.where(j <= i)", "s = s.where((j <= i) & (j > i - window))"),),
    ),
    Mistake(
        "and without parentheses",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(j <= i & j > i - window)"),),
        (
            "mine.py:19: Python decides a chain of comparisons while the spec is read, and 'j <= "
            "i and j > i - window' has no value until the operator is called; join both "
            "comparisons by &, each in parentheses, as in (a < b) & (b < c)"
        ),
    ),
    Mistake(
        "chained comparison",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(i - window < j <= i)"),),
        (
            "mine.py:19: Python decides a chain of comparisons while the spec is read, and 'i - "
            "window < j <= i' has no value until the operator is called; join both comparisons "
            "by &, each in parentheses, as in (a < b) & (b < c)"
        ),
        instead=(("s = s.where(j <= i)", "s = s.where((i - window < j) & (j <= i))"),),
    ),
    Mistake(
        "index without its module",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(KEY <= i)"),),
        "mine.py:19: NameError: name 'KEY' is not defined; write attend.KEY",
    ),
    Mistake(
        "another library's mask",
        DENSE,
        (("s = s.where(j <= i)", "s = s.masked_fill(j > i, -1e9)"),),
        (
            "mine.py:19: AttributeError: 'Value' object has no attribute 'masked_fill'; "
            "s.where(visible), as in s.where(attend.KEY <= attend.QUERY), keeps what is visible, "
            "and s.replace(hidden, number) puts a number where hidden holds"
        ),
        instead=(("s = s.where(j <= i)", "s = s.replace(j > i, -1e9)"),),
    ),
    Mistake(
        "numpy's where",
        DENSE,
        (("s = s.where(j <= i)", "s = attend.where(j <= i, s, -1e9)"),),
        (
            "mine.py:19: AttributeError: module 'attndsl.spec.authoring.attend' has no attribute "
            "'where'; s.where(visible), as in s.where(attend.KEY <= attend.QUERY), keeps what is "
            "visible, and s.replace(hidden, number) puts a number where hidden holds"
        ),
    ),
    Mistake(
        "a text for a number",
        DENSE,
        (("s = s.where(j <= i)", "s = s.replace(j > i, '-inf')"),),
        "mine.py:19: the value of replace must be a number, got '-inf'",
    ),
    Mistake(
        "a truth value of Python",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(True)"),),
        (
            "mine.py:19: what is visible must be a symbolic condition, such as N % 2 == 0; "
            "Python has compared plain values, got True: elements of tensors are compared as "
            "x[b, j], not as x or x.at(b, j)"
        ),
    ),
    Mistake(
        "a number for a condition",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(1)"),),
        "mine.py:19: what is visible must be a symbolic condition, such as N % 2 == 0, got 1",
    ),
    Mistake(
        "whole lengths compared",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(lengths > j)"),),
        (
            "mine.py:19: whole tensors and values are not compared: compare elements in a "
            "condition on indices, as in lengths[b, j] > 0 with b, j = attend.BATCH, attend.KEY, "
            "or pass a mask"
        ),
    ),
    Mistake(
        "key times a parameter",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(j * window <= i)"),),
        (
            "mine has no kernel yet: mine.py:19: a mask in a form that no kernel tests ('j * "
            "window' multiplies the key index by what is no literal) has no lowering rule yet; "
            "divide both sides of the comparison by window; the reference backend computes it"
        ),
        instead=(("s = s.where(j <= i)", "s = s.where(j <= i // window)"),),
    ),
    Mistake(
        "remainder by the query",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(j % (i + 1) == 0)"),),
        (
            "mine has no kernel yet: mine.py:19: a mask in a form that no kernel tests ('j % (i "
            "+ 1)' divides by what differs by key, query, head or batch row) has no lowering "
            "rule yet; a comparison has on one side j, plus or minus numbers without j, or such "
            "a sum // or % a literal, or a size or an integer parameter of stated bounds, or an "
            "element x[b, j] of an integer tensor; on the other side numbers without j; or "
            "declare a mask in bytes "
            "over any of the axes B, S, N, K, Q and T, with a column for each key, and pass it "
            "expanded; the reference backend computes it"
        ),
    ),
    Mistake(
        "bound that is no integer",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(j <= i * scale)"),),
        (
            "mine has no kernel yet: mine.py:19: a mask in a form that no kernel tests ('j <= i "
            "* scale' compares with numbers that are no integers) has no lowering rule yet; "
            "declare parameters as int, or write the bound in integers, by // or ceil_div(...); "
            "the reference backend computes it"
        ),
    ),
    Mistake(
        "remainder without comparison",
        DENSE,
        (("s = s.where(j <= i)", "s = s.where(j % 4)"),),
        "mine.py:19: 'j % 4' is a number, no condition; compare it, as in (j % 4) != 0",
        instead=(("s = s.where(j <= i)", "s = s.where(j % 4 == 0)"),),
    ),
    Mistake(
        "condition as a number",
        DENSE,
        (("s = s.where(j <= i)", "s = s + (j <= i)"),),
        ("mine.py:19: 'j <= i' is a condition, no number: s.where(j <= i) keeps the scores where it holds"),
    ),
    Mistake(
        "condition as an index",
        DENSE,
        (("s = s.where(j <= i)", "s = s + attend.index(j <= i)"),),
        (
            "mine has no kernel yet: mine.py:19: 'j <= i' of key indices has no lowering rule "
            "yet; numbers of keys are j, or an element x[b, j] of an integer tensor, in + - * "
            "and minimum and maximum with numbers without j; functions are of attend.index(...), "
            "as in abs(attend.index(i - j)); the reference backend computes it"
        ),
    ),
    Mistake(
        "mask of floats",
        DENSE,
        (
            ("# more\n", 'mask = op.input("mask", "S T", dtype="float32", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where(mask)"),
        ),
        (
            "mine.py:19: mine: Opposite: a mask is bool or integer, not float32; declare it with "
            'dtype="bool", or add it to the scores [opposites_are_of_truth_values]'
        ),
    ),
    Mistake(
        "mask of int32",
        DENSE,
        (
            ("# more\n", 'mask = op.input("mask", "S T", dtype="int32", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where(mask)"),
        ),
        (
            "mine has no kernel yet: mine.py:19: a mask of dtype int32, mask, has no lowering "
            'rule yet; declare it with dtype="bool", or compare its elements, as in s.where(x[b, '
            "j] != 0); the reference backend computes it"
        ),
        instead=(
            ("# more\n", 'mask = op.input("mask", "S T", dtype="int32", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where(mask[i, j] != 0)"),
        ),
    ),
    Mistake(
        "mask and condition",
        DENSE,
        (
            ("# more\n", 'mask = op.input("mask", "S T", dtype="bool", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where(mask & (j <= i))"),
        ),
        ("mine.py:19: masks are joined one after the other: write s.where(a).where(b) for s.where(a & b)"),
        instead=(
            ("# more\n", 'mask = op.input("mask", "S T", dtype="bool", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where(mask).where(j <= i)"),
        ),
    ),
    Mistake(
        "condition and mask",
        DENSE,
        (
            ("# more\n", 'mask = op.input("mask", "S T", dtype="bool", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where((j <= i) & mask)"),
        ),
        ("mine.py:19: masks are joined one after the other: write s.where(a).where(b) for s.where(a & b)"),
    ),
    Mistake(
        "mask or condition",
        DENSE,
        (
            ("# more\n", 'mask = op.input("mask", "S T", dtype="bool", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where(mask | (j <= i))"),
        ),
        (
            "mine.py:19: a mask tensor is not joined by '|': pass one tensor, or write both "
            "sides as conditions on indices"
        ),
        instead=(
            ("# more\n", 'mask = op.input("mask", "S T", dtype="bool", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where((mask[i, j] != 0) | (j <= i))"),
        ),
    ),
    Mistake(
        "mask compared with 1",
        DENSE,
        (
            ("# more\n", 'mask = op.input("mask", "S T", dtype="bool", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where(mask == 1)"),
        ),
        (
            "mine.py:19: whole tensors and values are not compared: compare elements in a "
            "condition on indices, as in mask[b, j] > 0 with b, j = attend.BATCH, attend.KEY, or "
            "pass a mask"
        ),
    ),
    Mistake(
        "mask turned by minus",
        DENSE,
        (
            ("# more\n", 'mask = op.input("mask", "S T", dtype="bool", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where(1 - mask)"),
        ),
        "mine.py:19: '~' is of a mask: a bool or integer input, as in s.where(~mask)",
        instead=(
            ("# more\n", 'mask = op.input("mask", "S T", dtype="bool", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where(~mask)"),
        ),
    ),
    Mistake(
        "mask read by at",
        DENSE,
        (
            ("# more\n", 'mask = op.input("mask", "S T", dtype="bool", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where(mask.at(i, j))"),
        ),
        (
            "mine has no kernel yet: mine.py:19: a mask that is read by index, mask[i, j], has "
            "no lowering rule yet; mask[i, j] != 0 is a condition on indices; or declare a mask "
            "in bytes over any of the axes B, S, N, K, Q and T, with a column for each key, and "
            "pass it expanded; the reference backend computes it"
        ),
        instead=(
            ("# more\n", 'mask = op.input("mask", "S T", dtype="bool", axes="Q T")\n'),
            ("s = s.where(j <= i)", "s = s.where(mask[i, j] != 0)"),
        ),
    ),
    Mistake(
        "mask with a wrong axis",
        DENSE,
        (
            ("# more\n", 'mask = op.input("mask", "S T", dtype="bool", axes="S T")\n'),
            ("s = s.where(j <= i)", "s = s.where(mask)"),
        ),
        (
            "mine.py:13: mask: axis 'S' has no size in op.axes; write op.axes(S=...) for packed "
            "query tokens of all batch rows, or take one of B N K Q T D E"
        ),
    ),
    Mistake(
        "elements compared by at",
        DENSE,
        (
            ("# more\n", 'seg = op.input("seg", "B S", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(seg.at(b, i) == seg.at(b, j))"),
        ),
        (
            "mine.py:19: what is visible must be a symbolic condition, such as N % 2 == 0; "
            "Python has compared plain values, got False: elements of tensors are compared as "
            "x[b, j], not as x or x.at(b, j)"
        ),
        instead=(
            ("# more\n", 'seg = op.input("seg", "B S", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(seg[b, i] == seg[b, j])"),
        ),
    ),
    Mistake(
        "indices exchanged",
        DENSE,
        (
            ("# more\n", 'seg = op.input("seg", "B S", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(seg[b, i] == seg[j, b])"),
        ),
        (
            "mine has no kernel yet: mine.py:19: a mask in a form that no kernel tests ('seg[j * "
            "S + b]' reads a tensor at another place than the key's) has no lowering rule yet; "
            "let the last index be the key itself, as in x[b, j], or a block of keys, as in x[b, "
            "i // 64, j // 64], or declare a mask in bytes over any of the axes B, S, N, K, Q "
            "and T, with a column for each key, and pass it expanded; the reference backend "
            "computes it"
        ),
    ),
    Mistake(
        "mask of the last keys",
        DENSE,
        (
            ("# more\n", 'tree = op.input("tree", "B S S", dtype="bool", indexed=True)\n'),
            (
                "b, n, i, j = ",
                "b = attend.BATCH\nop.require(lengths[b] >= S, 'fit', over={b: B})\nb, n, i, j = ",
            ),
            ("s = s.where(j <= i)", "s = s.where((j < lengths[b] - S) | tree[b, i, j - (lengths[b] - S)])"),
        ),
        (
            "mine.py:21: 'tree' is read at j - (lengths[b] - S) in its dimension 2, which begins "
            "with S - lengths[b], and has the size S; what a condition hides is read, too: give the "
            "keys from lengths[b] - S on a part of their own, attend.merge(...) of attention over "
            "attend.window(source, 0, length=lengths[b] - S) and over attend.window(source, "
            "lengths[b] - S, length=S), and read tree[b, i, j - (lengths[b] - S)] in the second one "
            "alone"
        ),
    ),
    Mistake(
        "mask by row of a window",
        DENSE,
        (
            ("# more\n", 'tree = op.input("tree", "B S S", dtype="bool", indexed=True)\n'),
            (
                "keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                "keys, values = (attend.window(attend.rows(x, length=lengths), lengths[b] - S, length=S) "
                "for x in (key, value))",
            ),
            ("s = s.where(j <= i)", "s = s.where(tree[b, i, j])"),
        ),
        (
            "mine.py:19: 'tree' is read at j in its dimension 2, which has the size S, and the keys "
            "of this attend.window begin with lengths[b] - S: rows of a window keep their numbers; "
            "write tree[b, i, j - (lengths[b] - S)]"
        ),
        instead=(
            ("# more\n", 'tree = op.input("tree", "B S S", dtype="bool", indexed=True)\n'),
            (
                "keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                "keys, values = (attend.window(attend.rows(x, length=lengths), lengths[b] - S, length=S) "
                "for x in (key, value))",
            ),
            ("s = s.where(j <= i)", "s = s.where(tree[b, i, j - (lengths[b] - S)])"),
        ),
    ),
    Mistake(
        "neighbour of the key",
        DENSE,
        (
            ("# more\n", 'seg = op.input("seg", "T", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(seg[j] == seg[j + 1])"),
        ),
        (
            "mine.py:19: 'seg' is read at j + 1 in its dimension 0, which goes as far as T, and "
            "has the size T; let the index stay within it, or declare a larger one"
        ),
    ),
    Mistake(
        "element multiplied",
        DENSE,
        (
            ("# more\n", 'seg = op.input("seg", "B S", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(seg[b, j] * 2 <= seg[b, i])"),
        ),
        (
            "mine has no kernel yet: mine.py:19: a mask in a form that no kernel tests ('seg[b * "
            "S + j]' is multiplied) has no lowering rule yet; divide both sides of the "
            "comparison; the reference backend computes it"
        ),
    ),
    Mistake(
        "element divided",
        DENSE,
        (
            ("# more\n", 'seg = op.input("seg", "B S", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(seg[b, j] // 4 == i)"),
        ),
        (
            "mine has no kernel yet: mine.py:19: a mask in a form that no kernel tests ('seg[b * "
            "S + j] // 4' divides 'seg[b * S + j]') has no lowering rule yet; pass the quotient "
            "or remainder as an input of its own; the reference backend computes it"
        ),
    ),
    Mistake(
        "elements of int64",
        DENSE,
        (
            ("# more\n", 'seg = op.input("seg", "B S", dtype="int64", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(seg[b, i] == seg[b, j])"),
        ),
        (
            "mine has no kernel yet: mine.py:19: seg[b * S + j] of dtype int64, read at each key "
            "has no lowering rule yet; declare it with int32 or uint8 or bool; the reference "
            "backend computes it"
        ),
    ),
    Mistake(
        "one index too many",
        DENSE,
        (
            ("# more\n", 'seg = op.input("seg", "B S", dtype="int32", indexed=True)\n'),
            ("s = s.where(j <= i)", "s = s.where(seg[b, i, 0] == seg[b, j])"),
        ),
        "mine.py:19: 'seg' does not have 3 dimensions: its layout is 'B S'",
    ),
    Mistake(
        "a mask of packed keys",
        PACKED,
        (
            ("scale = op.param", 'valid = op.input("valid", "U", dtype="bool", axes="U")\nscale = op.param'),
            ("s.where(j <= i)", "s.where(valid).where(j <= i)"),
        ),
        (
            "mine has no kernel yet: mine.py:21: a mask in bytes over (U), valid, has no lowering rule "
            "yet; of packed keys, pass it padded, as (B, T), and write valid[b, j]; masks in bytes are "
            "over any of the axes B, S, N, K, Q and T; the reference backend computes it"
        ),
        instead=PADDED,
    ),
)
