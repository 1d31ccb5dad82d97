"""Scores and weights: what acts on scores, and softmax."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake
from tests.support.right_specs import DENSE, PACKED

SCORES = (
    Mistake(
        "query times key",
        DENSE,
        (("s = attend.scores(query, keys) * scale", "s = query @ key * scale"),),
        (
            "mine.py:18: mine: WeightedSum: weights need a key axis T, have (B, N, Q, D); scores "
            "are attend.scores(query, keys), and weights are made of them "
            "[weighted_sum_runs_over_keys]"
        ),
    ),
    Mistake(
        "power of a size",
        DENSE,
        (("s = attend.scores(query, keys) * scale", "s = attend.scores(query, keys) * D**-0.5"),),
        (
            "mine.py:18: TypeError: 'D ** -0.5': numbers of a call have + - * / // % and whole "
            'powers up to 4; pass a scale as a parameter, as in scale = op.param("scale", float), or divide '
            "scores by attend.sqrt(attend.index(D))"
        ),
        instead=(
            (
                "s = attend.scores(query, keys) * scale",
                "s = attend.scores(query, keys) / attend.sqrt(attend.index(D))",
            ),
        ),
    ),
    Mistake(
        "scaled query",
        DENSE,
        (("s = attend.scores(query, keys) * scale", "s = attend.scores(query * scale, keys)"),),
        (
            "mine has no kernel yet: mine.py:18: 'multiply' of query before it is multiplied has "
            "no lowering rule yet; scale scores, as in attend.scores(query, keys) * scale, "
            "probabilities, as in (p * weight) @ values, or results; the reference backend "
            "computes it"
        ),
        instead=(("s = attend.scores(query, keys) * scale", "s = attend.scores(query, keys) * scale"),),
    ),
    Mistake(
        "query without heads",
        DENSE,
        (
            ('B, N, K, S, T, D = op.dims("B N K S T D")', 'N, (B, K, S, T, D) = 1, op.dims("B K S T D")'),
            ('"query", "B N S D"', '"query", "B S D"'),
            ('axes="B N Q D")', 'axes="B Q D")'),
            ("like=query)", 'like=query, layouts="B 1 S D")'),
        ),
        (
            "mine has no kernel yet: mine.py:7: queries without heads, 'query' with the axes (B, Q, D), has "
            'no lowering rule yet; give them an axis N: of one head the size 1, as in op.input(..., "B 1 S '
            'D", axes="B N Q D"); the reference backend computes it'
        ),
        instead=(
            ('B, N, K, S, T, D = op.dims("B N K S T D")', 'N, (B, K, S, T, D) = 1, op.dims("B K S T D")'),
            ('"query", "B N S D"', '"query", "B 1 S D"'),
        ),
    ),
    Mistake(
        "query of another dtype",
        DENSE,
        (
            (
                "s = attend.scores(query, keys) * scale",
                's = attend.scores(query.cast("float32"), keys) * scale',
            ),
        ),
        (
            "mine has no kernel yet: mine.py:18: queries that are computed otherwise than by a "
            "factor has no lowering rule yet; act on the scores, as in attend.scores(query, "
            "keys) * scale; the reference backend computes it"
        ),
    ),
    Mistake(
        "operands exchanged",
        DENSE,
        (("s = attend.scores(query, keys) * scale", "s = attend.scores(keys, query) * scale"),),
        (
            "mine.py:18: key or value rows are needed here, as of attend.rows(key), or a tensor "
            "with an axis T, not axes (B, N, Q, D)"
        ),
    ),
    Mistake(
        "keys left out",
        DENSE,
        (("s = attend.scores(query, keys) * scale", "s = attend.scores(query) * scale"),),
        (
            "mine.py:18: TypeError: attend.scores() missing 1 required positional argument: "
            "'keys'; write attend.scores(query, keys)"
        ),
    ),
    Mistake(
        "values for keys",
        DENSE,
        (("s = attend.scores(query, keys) * scale", "s = attend.scores(query, values) * scale"),),
        (
            "mine.py:18: mine: Scores: key rows have the axes (B, K, T, D), not (B, K, T, E); E "
            'is the axis of channels of values: pass axes="B K T D" to op.input of the keys '
            "[scores_contract_over_d]"
        ),
    ),
    Mistake(
        "key for the query",
        DENSE,
        (("s = attend.scores(query, keys) * scale", "s = attend.scores(key, keys) * scale"),),
        (
            "mine.py:18: mine: Scores: a query has the axes (B, N, Q, D), not (B, K, T, D); the "
            "heads of queries have the axis N, those of keys and values K "
            "[scores_contract_over_d]"
        ),
    ),
    Mistake(
        "numpy on values",
        DENSE,
        (
            (
                "s = attend.scores(query, keys) * scale",
                "import numpy as np\ns = np.tanh(attend.scores(query, keys) * scale)",
            ),
        ),
        (
            "mine.py:19: TypeError: loop of ufunc does not support argument 0 of type Value "
            "which has no callable tanh method; write attend.tanh(x)"
        ),
        instead=(
            ("s = attend.scores(query, keys) * scale", "s = attend.tanh(attend.scores(query, keys) * scale)"),
        ),
    ),
    Mistake(
        "math on parameters",
        DENSE,
        (
            (
                "s = attend.scores(query, keys) * scale",
                "import math\ns = attend.scores(query, keys) * math.sqrt(scale)",
            ),
        ),
        (
            "mine.py:19: TypeError: must be real number, not Symbol; a size or a parameter has "
            "no value until the operator is called: compute with + - * / // %, or pass the "
            "result as a parameter, as in op.param(name, float)"
        ),
    ),
    Mistake(
        "function of a parameter",
        DENSE,
        (("s = attend.scores(query, keys) * scale", "s = attend.scores(query, keys) * attend.log(scale)"),),
        (
            "mine.py:18: an operand of attend.log must be a value of the computation; numbers "
            "are computed before, or passed as parameters (attndsl.spec has maximum and minimum "
            "of numbers), got scale"
        ),
    ),
    Mistake(
        "index as a number",
        DENSE,
        (("s = attend.scores(query, keys) * scale", "s = attend.scores(query, keys) * scale + (j - i)"),),
        ("mine.py:18: 'j - i' differs from row to row or from key to key: write attend.index(j - i)"),
        instead=(
            (
                "s = attend.scores(query, keys) * scale",
                "s = attend.scores(query, keys) * scale + attend.index(j - i)",
            ),
        ),
    ),
    Mistake(
        "square of the key",
        DENSE,
        (
            (
                "s = attend.scores(query, keys) * scale",
                "s = attend.scores(query, keys) * scale + attend.index(j * j)",
            ),
        ),
        (
            "mine has no kernel yet: mine.py:18: 'j * j' of key indices has no lowering rule "
            "yet; numbers of keys are j, or an element x[b, j] of an integer tensor, in + - * "
            "and minimum and maximum with numbers without j; functions are of attend.index(...), "
            "as in abs(attend.index(i - j)); the reference backend computes it"
        ),
    ),
    Mistake(
        "distance of both sides",
        DENSE,
        (
            (
                "s = attend.scores(query, keys) * scale",
                "s = attend.scores(query, keys) * scale + attend.index(abs(i - j))",
            ),
        ),
        (
            "mine has no kernel yet: mine.py:18: 'max(i - j, 0 - (i - j))' of key indices has no "
            "lowering rule yet; numbers of keys are j, or an element x[b, j] of an integer "
            "tensor, in + - * and minimum and maximum with numbers without j; functions are of "
            "attend.index(...), as in abs(attend.index(i - j)); the reference backend computes it"
        ),
        instead=(
            (
                "s = attend.scores(query, keys) * scale",
                "s = attend.scores(query, keys) * scale + abs(attend.index(i - j))",
            ),
        ),
    ),
    Mistake(
        "function that there is not",
        DENSE,
        (("s = attend.scores(query, keys) * scale", "s = attend.gelu(attend.scores(query, keys))"),),
        (
            "mine.py:18: AttributeError: module 'attndsl.spec.authoring.attend' has no attribute "
            "'gelu'; x * attend.sigmoid(x * 1.702) is near it"
        ),
    ),
    Mistake(
        "slopes times a distance",
        DENSE,
        (
            ("# more\n", 'slopes = op.input("slopes", "N", dtype="float32", axes="N")\n'),
            (
                "s = attend.scores(query, keys) * scale",
                "s = attend.scores(query, keys) * scale + slopes * (j - i)",
            ),
        ),
        (
            "mine.py:18: 'j - i' differs from row to row or from key to key: write "
            "slopes * attend.index(j - i)"
        ),
        (
            ("# more\n", 'slopes = op.input("slopes", "N", dtype="float32", axes="N")\n'),
            (
                "s = attend.scores(query, keys) * scale",
                "s = attend.scores(query, keys) * scale + slopes * attend.index(j - i)",
            ),
        ),
    ),
    Mistake(
        "slopes times a distance of packed rows",
        PACKED,
        (
            (
                "op.require(N % K",
                'slopes = op.input("slopes", "N", dtype="float32", axes="N")\nop.require(N % K',
            ),
            (
                "queries), keys) * scale",
                "queries), keys) * scale - (j - tokens.length(attend.BATCH) - i) * slopes",
            ),
        ),
        (
            "mine.py:20: a number with indices differs from row to row or from key to key: write "
            "attend.index(...) * slopes"
        ),
    ),
    Mistake(
        "element as a number",
        DENSE,
        (
            ("# more\n", 'depth = op.input("depth", "B T", dtype="int32", indexed=True)\n'),
            (
                "s = attend.scores(query, keys) * scale",
                "s = attend.scores(query, keys) * scale + depth[b, j]",
            ),
        ),
        (
            "mine.py:18: 'depth[b * T + j]' differs from row to row or from key to key: write "
            "attend.index(depth[b * T + j]), or depth.at(...) for an element of any dtype"
        ),
        instead=(
            ("# more\n", 'depth = op.input("depth", "B T", dtype="int32", indexed=True)\n'),
            (
                "s = attend.scores(query, keys) * scale",
                "s = attend.scores(query, keys) * scale + attend.index(depth[b, j])",
            ),
        ),
    ),
    Mistake(
        "floats in an index",
        DENSE,
        (
            ("# more\n", 'depth = op.input("depth", "B T", dtype="float32", indexed=True)\n'),
            (
                "s = attend.scores(query, keys) * scale",
                "s = attend.scores(query, keys) * scale + attend.index(depth[b, j])",
            ),
        ),
        (
            "mine has no kernel yet: mine.py:18: depth[b * T + j] of dtype float32, read at each "
            "key has no lowering rule yet; declare it with int32 or uint8 or bool; the reference "
            "backend computes it"
        ),
        instead=(
            ("# more\n", 'depth = op.input("depth", "B T", dtype="float32", indexed=True)\n'),
            (
                "s = attend.scores(query, keys) * scale",
                "s = attend.scores(query, keys) * scale + depth.at(b, j)",
            ),
        ),
    ),
    Mistake(
        "slopes of halves",
        DENSE,
        (
            ("# more\n", 'slopes = op.input("slopes", "N", dtype="float16", axes="N")\n'),
            (
                "s = attend.scores(query, keys) * scale",
                "s = attend.scores(query, keys) * scale + slopes * attend.index(j - i)",
            ),
        ),
        (
            "mine has no kernel yet: mine.py:13: slopes in a dtype other than the query's (float16) has no "
            'lowering rule yet; declare it with dtype="float32"; the reference backend computes '
            "it"
        ),
    ),
    Mistake(
        "softmax with an axis",
        DENSE,
        (("p = attend.softmax(s)", "p = attend.softmax(s, axis=-1)"),),
        (
            "mine.py:20: TypeError: attend.softmax() got an unexpected keyword argument 'axis'; "
            "write attend.softmax(value, *, sink=None)"
        ),
    ),
    Mistake(
        "sink with channels",
        DENSE,
        (("p = attend.softmax(s)", "p = attend.softmax(s, sink=query)"),),
        (
            "mine.py:20: mine: Softmax: a sink is a number of each head, axes (N,), or of each "
            "row, (B, N, Q), not (B, N, Q, D) [sinks_are_numbers_of_rows]"
        ),
    ),
    Mistake(
        "softmax twice",
        DENSE,
        (("p = attend.softmax(s)", "p = attend.softmax(attend.softmax(s))"),),
        (
            "mine has no kernel yet: mine.py:20: Softmax of the probabilities of attend.softmax "
            "has no lowering rule yet; multiply them by what is no function of scores, as in (p "
            "* weight) @ values; let all else act on the scores in front, or on the result of p "
            "@ values; the reference backend computes it"
        ),
    ),
    Mistake(
        "masked after softmax",
        DENSE,
        (("p = attend.softmax(s)", "p = attend.softmax(s).where(j <= i)"),),
        (
            "mine has no kernel yet: mine.py:20: a mask on the probabilities of attend.softmax "
            "has no lowering rule yet; multiply them by what is no function of scores, as in (p "
            "* weight) @ values; let all else act on the scores in front, or on the result of p "
            "@ values; the reference backend computes it"
        ),
    ),
    Mistake(
        "softmax of the query",
        DENSE,
        (("p = attend.softmax(s)", "p = attend.softmax(query)"),),
        (
            "mine.py:20: mine: Softmax: softmax needs scores with a key axis T, has (B, N, Q, "
            "D); scores are attend.scores(query, keys) [softmax_runs_over_keys]"
        ),
    ),
    Mistake(
        "dropout",
        DENSE,
        (("p = attend.softmax(s)", "p = attend.dropout(attend.softmax(s), 0.1)"),),
        (
            "mine.py:20: AttributeError: module 'attndsl.spec.authoring.attend' has no attribute "
            "'dropout'; operators are of inference: leave it out"
        ),
    ),
    Mistake(
        "bias by a clamped distance",
        DENSE,
        (
            (
                "# more\n",
                '(M,) = op.dims("M")\nbias = op.input("bias", "N M", dtype="float32", indexed=True)\n',
            ),
            (
                "s = s.where(j <= i)",
                "from attndsl.spec import minimum\ns = s + bias.at(n, minimum(abs(i - j), M - 1))",
            ),
        ),
        (
            "mine has no kernel yet: mine.py:21: scores and bias[n, min(max(i - j, 0 - (i - j)), M - "
            "1)] has no lowering rule yet; let the last index be j, or j plus what is the same for "
            "all keys, as in x.at(n, j - i + S - 1), or j % 64, and no other index have j; for what "
            "depends on the distance of both in another way, as min(max(i - j, 0 - (i - j)), M - 1) "
            "does, let the caller pass bias with an element for each of the 2 * S - 1 distances, and "
            "write bias.at(n, j - i + S - 1); the reference backend computes it"
        ),
        instead=(
            (
                "# more\n",
                '(M,) = op.dims("M")\nbias = op.input("bias", "N M", dtype="float32", indexed=True)\n',
            ),
            ("s = s.where(j <= i)", "s = s + bias.at(n, j - i + S - 1)"),
        ),
    ),
    Mistake(
        "mean over channels",
        DENSE,
        (("out = p @ values", "out = p @ values\nout = out / attend.sqrt((out * out).mean(-1))"),),
        (
            "mine.py:22: AttributeError: 'Value' object has no attribute 'mean'; nothing is "
            "summed over channels or keys but by the products and the softmax: p.row_sum, "
            "p.row_max and p.lse of p = attend.softmax(s) are a row's numbers; an RMS norm or a "
            "mean of results is an operation of its own after the kernel"
        ),
    ),
    Mistake(
        "sum over keys",
        DENSE,
        (("out = p @ values", "out = (p * p).sum(-1)"),),
        (
            "mine.py:21: AttributeError: 'Value' object has no attribute 'sum'; nothing is "
            "summed over channels or keys but by the products and the softmax: p.row_sum, "
            "p.row_max and p.lse of p = attend.softmax(s) are a row's numbers; an RMS norm or a "
            "mean of results is an operation of its own after the kernel"
        ),
    ),
    Mistake(
        "entropy",
        DENSE,
        (("out = p @ values", "out = (p * attend.log(p)) @ values"),),
        (
            "mine has no kernel yet: mine.py:21: 'multiply' of two functions of the "
            "probabilities of attend.softmax has no lowering rule yet; numbers of a row that a "
            "kernel has are p.row_max, p.row_sum and p.lse, of which attend.exp(p.row_max - "
            "p.lse) is the largest probability; an entropy there is not; the reference backend "
            "computes it"
        ),
    ),
    Mistake(
        "probabilities plus a number",
        DENSE,
        (("out = p @ values", "out = (p + 0.5) @ values"),),
        (
            "mine has no kernel yet: mine.py:21: 'add' of the probabilities of attend.softmax "
            "has no lowering rule yet; multiply them by what is no function of scores, as in (p "
            "* weight) @ values; let all else act on the scores in front, or on the result of p "
            "@ values; the reference backend computes it"
        ),
        instead=(("out = p @ values", "out = (p * 0.5) @ values"),),
    ),
    Mistake(
        "probabilities of two products",
        DENSE,
        (
            (
                "out = p @ values",
                "q = attend.softmax(attend.scores(query, keys) * 0.5)\nout = (p - q) @ values",
            ),
        ),
        (
            "mine has no kernel yet: mine.py:22: 'subtract' of the scores, or probabilities, of "
            "two products has no lowering rule yet; join results: attend.softmax(s1) @ values - "
            "(attend.softmax(s2) @ values) * number; channels in parts are joined in the caller, "
            "to one query and one key; the reference backend computes it"
        ),
    ),
    Mistake(
        "weight on the tensor of values",
        DENSE,
        (
            ("# more", 'weight = op.input("weight", "B T", dtype="float32", axes="B T")'),
            (
                "values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                "values = attend.rows(key, length=lengths), attend.rows(value * weight, length=lengths)",
            ),
        ),
        (
            "mine has no kernel yet: mine.py:17: 'multiply' of value, weight before it is "
            "multiplied has no lowering rule yet; scale scores, as in attend.scores(query, keys) "
            "* scale, probabilities, as in (p * weight) @ values, or results; the reference "
            "backend computes it"
        ),
        instead=(
            ("# more", 'weight = op.input("weight", "B T", dtype="float32", axes="B T")'),
            ("out = p @ values", "out = (p * weight) @ values"),
        ),
    ),
    Mistake(
        "weight on the rows of values",
        DENSE,
        (
            ("# more", 'weight = op.input("weight", "B T", dtype="float32", axes="B T")'),
            ("out = p @ values", "out = p @ (values * weight)"),
        ),
        (
            "mine.py:21: mine: Elementwise: rows of keys and values cannot be computed with; "
            "scale scores, as in attend.scores(query, keys) * scale, probabilities, as in (p * "
            "weight) @ values, or results [rows_are_no_operands]"
        ),
    ),
    Mistake(
        "sink in half precision",
        DENSE,
        (
            ("# more", 'sinks = op.input("sinks", "N", dtype=query, axes="N")'),
            ("p = attend.softmax(s)", "p = attend.softmax(s, sink=sinks)"),
        ),
        (
            "mine has no kernel yet: mine.py:13: sinks of dtype float16, which has a number for "
            "each head, row or batch row, has no lowering rule yet; such numbers are float32: "
            'declare it with dtype="float32"; the reference backend computes it'
        ),
        instead=(
            ("# more", 'sinks = op.input("sinks", "N", dtype="float32", axes="N")'),
            ("p = attend.softmax(s)", "p = attend.softmax(s, sink=sinks)"),
        ),
    ),
    Mistake(
        "cast of scores",
        DENSE,
        (("p = attend.softmax(s)", 'p = attend.softmax(s.cast("float16"))'),),
        (
            "mine has no kernel yet: mine.py:20: Cast of scores has no lowering rule yet; scores "
            "take masks and add, subtract, multiply, divide, minimum, maximum, negate, abs, exp, "
            "log, sqrt, sigmoid, tanh; they are float32 in kernels, without a cast; the "
            "reference backend computes it"
        ),
    ),
)
