"""Outputs: results, row statistics, merges and sums of attentions."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake
from tests.support.right_specs import DENSE

OUTPUTS = (
    Mistake(
        "probabilities for a result",
        DENSE,
        (('op.output("out", out, like=query)', 'op.output("out", p, like=query)'),),
        (
            "mine.py:22: output 'out' has the axes (B, N, Q, T), 'query' (B, N, Q, D): say "
            'layouts=, such as layouts="B N S T"'
        ),
    ),
    Mistake(
        "no input to be like",
        DENSE,
        (('op.output("out", out, like=query)', 'op.output("out", out)'),),
        (
            "mine.py:22: TypeError: op.output() missing 1 required keyword-only argument: "
            "'like'; write op.output(name, value, *, like, layouts=None, dtype='')"
        ),
    ),
    Mistake(
        "name to be like",
        DENSE,
        (('op.output("out", out, like=query)', 'op.output("out", out, like="query")'),),
        ("mine.py:22: like must be an input, whose dtype and layout the output takes, got 'query'"),
    ),
    Mistake(
        "like the key",
        DENSE,
        (('op.output("out", out, like=query)', 'op.output("out", out, like=key)'),),
        (
            "mine.py:22: output 'out' has the axes (B, N, Q, E), 'key' (B, K, T, D): say "
            'layouts=, such as layouts="B N S D"'
        ),
    ),
    Mistake(
        "arguments exchanged",
        DENSE,
        (('op.output("out", out, like=query)', 'op.output(out, "out", like=query)'),),
        "mine.py:22: a name must be a text, got a Value",
    ),
    Mistake(
        "a name twice",
        DENSE,
        (('op.output("out", out, like=query)', 'op.output("query", out, like=query)'),),
        "mine.py:22: 'query' is declared twice",
    ),
    Mistake(
        "no output",
        DENSE,
        (('op.output("out", out, like=query)', ""),),
        "mine.py:3: mine has no output; end it with op.output(...)",
    ),
    Mistake(
        "two results",
        DENSE,
        (
            (
                'op.output("out", out, like=query)',
                'op.output("out", out, like=query)\nop.output("again", out * 2.0, like=query)',
            ),
        ),
        (
            "mine has no kernel yet: mine.py:23: 'again', a second attention result beside "
            "'out', has no lowering rule yet; write an operator for each; a kernel has one, row "
            "statistics such as p.lse, and a selection; the reference backend computes it"
        ),
    ),
    Mistake(
        "statistics without a layout",
        DENSE,
        (
            (
                'op.output("out", out, like=query)',
                'op.output("out", out, like=query)\nop.output("lse", p.lse, like=query)',
            ),
        ),
        (
            "mine.py:23: output 'lse' has the axes (B, N, Q), 'query' (B, N, Q, D): say "
            'layouts=, such as layouts="B N S"'
        ),
    ),
    Mistake(
        "statistics in halves",
        DENSE,
        (
            (
                'op.output("out", out, like=query)',
                ('op.output("out", out, like=query)\nop.output("lse", p.lse, like=query, layouts="B N S")'),
            ),
        ),
        (
            "mine has no kernel yet: mine.py:23: output 'lse' of row statistics in the dtype of "
            "'query' (write dtype=\"float32\") has no lowering rule yet; the reference backend "
            "computes it"
        ),
        instead=(
            (
                'op.output("out", out, like=query)',
                (
                    'op.output("out", out, like=query)\nop.output("lse", p.lse, like=query, layouts="B N '
                    'S", dtype="float32")'
                ),
            ),
        ),
    ),
    Mistake(
        "statistics of a result",
        DENSE,
        (
            (
                'op.output("out", out, like=query)',
                (
                    'op.output("out", out, like=query)\nop.output("lse", out.lse, like=query, layouts="B '
                    'N S", dtype="float32")'
                ),
            ),
        ),
        (
            "mine.py:23: row_max, row_sum and lse belong to the result of attend.softmax or "
            "attend.merge: keep it, as in p = attend.softmax(s), and write p.lse beside p @ "
            "values"
        ),
    ),
    Mistake(
        "statistics by a function",
        DENSE,
        (
            (
                'op.output("out", out, like=query)',
                (
                    'op.output("out", out, like=query)\nop.output("lse", attend.logsumexp(s), like=query, '
                    'layouts="B N S", dtype="float32")'
                ),
            ),
        ),
        (
            "mine.py:23: AttributeError: module 'attndsl.spec.authoring.attend' has no attribute "
            "'logsumexp'; p.lse of p = attend.softmax(s) is it"
        ),
    ),
    Mistake(
        "copies without a size",
        DENSE,
        (
            (
                'op.output("out", out, like=query)',
                (
                    'op.output("out", out, like=query)\nop.output("most", p.row_max.repeated(), '
                    'like=query, layouts="B N S 8", dtype="float32")'
                ),
            ),
        ),
        "mine.py:23: axis 'L', copies of a value, has no size; write op.axes(L=...)",
    ),
    Mistake(
        "statistics alone",
        DENSE,
        (
            (
                'op.output("out", out, like=query)',
                'op.output("lse", p.lse, like=query, layouts="B N S", dtype="float32")',
            ),
        ),
        (
            "mine has no kernel yet: mine.py:22: 'lse' without an attention result beside it has "
            "no lowering rule yet; add an output of weights @ values, such as attend.softmax(s) "
            "@ attend.rows(value); the reference backend computes it"
        ),
    ),
    Mistake(
        "statistics of another softmax",
        DENSE,
        (
            (
                'op.output("out", out, like=query)',
                (
                    'op.output("out", out, like=query)\nother = attend.softmax(s * 2.0)\nop.output("lse", '
                    'other.lse, like=query, layouts="B N S", dtype="float32")'
                ),
            ),
        ),
        (
            "mine has no kernel yet: mine.py:24: row statistics of other probabilities than "
            "those of 'out' has no lowering rule yet; a kernel has those of its result: of "
            "attend.softmax(...) that it is made of, of several parts those of their merge, as "
            "in m = attend.merge(...), m.lse; the reference backend computes it"
        ),
    ),
    Mistake(
        "result times itself",
        DENSE,
        (('op.output("out", out, like=query)', 'op.output("out", out * out, like=query)'),),
        (
            "mine has no kernel yet: mine.py:22: 'multiply' of the result by a function of "
            "itself has no lowering rule yet; results take functions of one operand, and +, -, "
            "*, /, minimum and maximum with a number, with an fp32 number of each batch row, "
            "head and query or a function of p.lse, p.row_max and p.row_sum, or with a float input over E "
            "and any of B, N, Q and S or a function of it; the reference backend computes it"
        ),
    ),
    Mistake(
        "result times values",
        DENSE,
        (('op.output("out", out, like=query)', 'op.output("out", out @ values, like=query)'),),
        (
            "mine.py:22: mine: WeightedSum: weights need a key axis T, have (B, N, Q, E); scores "
            "are attend.scores(query, keys), and weights are made of them "
            "[weighted_sum_runs_over_keys]"
        ),
    ),
    Mistake(
        "part of a result",
        DENSE,
        (('op.output("out", out, like=query)', 'op.output("out", out[0], like=query)'),),
        (
            "mine.py:22: TypeError: 'Value' object is not subscriptable; only arguments are read "
            "by index; attend.window(rows, start, length=count) is a part of rows"
        ),
    ),
    Mistake(
        "merge of scores",
        DENSE,
        (('op.output("out", out, like=query)', 'op.output("out", attend.merge(out, s), like=query)'),),
        (
            "mine.py:22: mine: LogSumExpMerge: a part must be a softmax times value rows, or an earlier "
            "partial (out, lse), not Replace; pass attend.softmax(s) @ values, and let operations "
            "act on what attend.merge gives [merged_parts_are_attention]"
        ),
    ),
    Mistake(
        "merge of a list",
        DENSE,
        (('op.output("out", out, like=query)', 'op.output("out", attend.merge([out, out]), like=query)'),),
        ("mine.py:22: a part must be a value of the computation, such as an input, got [a Value, a Value]"),
    ),
    Mistake(
        "merge of one part twice",
        DENSE,
        (('op.output("out", out, like=query)', 'op.output("out", attend.merge(out, out), like=query)'),),
        (
            "mine has no kernel yet: mine.py:22: one attention twice among the parts of a result "
            "has no lowering rule yet; give each part keys, scores or a mask of its own, or "
            "multiply the result; the reference backend computes it"
        ),
    ),
    Mistake(
        "merge of a scaled part",
        DENSE,
        (
            (
                'op.output("out", out, like=query)',
                'op.output("out", attend.merge(out * 2.0, out), like=query)',
            ),
        ),
        (
            "mine.py:22: mine: LogSumExpMerge: a part must be a softmax times value rows, or an earlier "
            "partial (out, lse), not Elementwise; pass attend.softmax(s) @ values, and let operations "
            "act on what attend.merge gives [merged_parts_are_attention]"
        ),
    ),
    Mistake(
        "product of attentions",
        DENSE,
        (
            (
                'op.output("out", out, like=query)',
                'other = attend.softmax(s * 2.0) @ values\nop.output("out", out * other, like=query)',
            ),
        ),
        (
            "mine has no kernel yet: mine.py:23: 'multiply' of several attentions has no "
            "lowering rule yet; attentions are joined by +, - and attend.merge(...); the "
            "reference backend computes it"
        ),
    ),
    Mistake(
        "channels of each key/value head",
        DENSE,
        (
            ("# more", 'channel = op.input("channel", "K D", dtype="float32", axes="K E")'),
            ("out = p @ values", "out = (p @ values) * channel"),
        ),
        (
            "mine.py:22: output 'out' has the axes (B, N, K, Q, E), with N query heads and K key/value "
            "heads: give what it is computed with an axis N in place of K, a row for each query head"
        ),
        instead=(
            ("# more", 'channel = op.input("channel", "N D", dtype="float32", axes="N E")'),
            ("out = p @ values", "out = (p @ values) * channel"),
        ),
    ),
    Mistake(
        "result times a number of each key",
        DENSE,
        (
            ("# more\n", 'gate = op.input("gate", "B T", dtype=query, axes="B T")\n'),
            ("out = p @ values\n", "out = p @ values * gate\n"),
        ),
        (
            "mine.py:21: 'gate' has an axis T of keys, and the result of p @ values has none: a "
            "number of each key is added to the scores, or multiplies the probabilities, as in (p * "
            "gate) @ values; Python takes p @ values * gate for (p @ values) * gate; a number of each"
            " query has the axis Q in place of T"
        ),
        instead=(
            ("# more\n", 'gate = op.input("gate", "B T", dtype=query, axes="B T")\n'),
            ("out = p @ values\n", "out = (p * gate) @ values\n"),
        ),
    ),
    Mistake(
        "result and scores",
        DENSE,
        (("out = p @ values\n", "out = p @ values + s\n"),),
        (
            "mine.py:21: an operand x has an axis T of keys, and the result of p @ values has none: a"
            " number of each key is added to the scores, or multiplies the probabilities, as in (p * "
            "x) @ values; Python takes p @ values * x for (p @ values) * x; a number of each query "
            "has the axis Q in place of T"
        ),
    ),
)
