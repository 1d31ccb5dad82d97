"""Layouts: sizes, axes, dtypes and names of arguments."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake
from tests.support.right_specs import DENSE, PACKED, PAGED

LAYOUTS = (
    Mistake(
        "a mask of a paged cache",
        PAGED,
        (
            (
                'B, N, K, D, P, R, W = op.dims("B N K D P R W")',
                'B, N, K, D, P, R, W, M = op.dims("B N K D P R W M")',
            ),
            (
                "table = op.input(",
                'mask = op.input("mask", "B M", dtype="bool", axes="B T")\ntable = op.input(',
            ),
        ),
        (
            "mine.py:10: layout 'B M': 'M' is none of the axes B T of this tensor; axis T has the size W * R "
            "in all tensors: write op.axes(T=M) and op.require(W * R == M, text)"
        ),
        instead=(
            (
                'B, N, K, D, P, R, W = op.dims("B N K D P R W")',
                'B, N, K, D, P, R, W, M = op.dims("B N K D P R W M")',
            ),
            ("T=W * R", "T=M"),
            (
                "table = op.input(",
                'mask = op.input("mask", "B M", dtype="bool", axes="B T")\ntable = op.input(',
            ),
            ("op.require(N % K", 'op.require(W * R == M, "is a column a token")\nop.require(N % K'),
            (
                "s = attend.scores(query, keys) * scale",
                "s = (attend.scores(query, keys) * scale).where(mask)",
            ),
        ),
    ),
    Mistake(
        "keys of a second capacity",
        DENSE,
        (("# more", 'more = op.input("more", "B K S D", dtype=query, axes="B K T D")'),),
        (
            "mine.py:13: layout 'B K S D': 'S' is none of the axes B K T D of this tensor; axis T has the "
            "size T in all tensors: write T for S, or op.axes(T=maximum(T, S)) where caches have place for "
            "different numbers of rows"
        ),
        instead=(
            ("import Operator, attend, select", "import Operator, attend, maximum, select"),
            (
                "op.axes(B=B, N=N, K=K, Q=S, T=T, D=D, E=D)",
                "op.axes(B=B, N=N, K=K, Q=S, T=maximum(T, S), D=D, E=D)",
            ),
            (
                "# more",
                'more = op.input("more", "B K S D", dtype=query, axes="B K T D")\n'
                'most = op.input("most", "B K S D", dtype=query, axes="B K T E")\n'
                'counts = op.lengths("counts", "B", one_for_all=False)',
            ),
            (
                "out = p @ values",
                "x, y = (attend.rows(each, length=counts) for each in (more, most))\n"
                "out = attend.merge(p @ values, attend.softmax(attend.scores(query, x)) @ y)",
            ),
        ),
    ),
    Mistake(
        "size without a role",
        DENSE,
        (
            (
                '"B N S D", dtype=("float16", "bfloat16"), axes="B N Q D"',
                '"B N S X", dtype=("float16", "bfloat16"), axes="B N Q D"',
            ),
        ),
        (
            "mine.py:7: layout 'B N S X': 'X' is none of the axes B N Q D of this tensor; axis D "
            "has the size D in all tensors: write D for X; channels in parts, as rotary ones, "
            "are one tensor: join them in the caller, a rotary key of all heads once for each "
            "head; latent rows that all heads share (MLA, absorbed) have one key/value head: "
            "specs/variants/mla_decode.py"
        ),
    ),
    Mistake(
        "sizes without blanks",
        DENSE,
        (
            (
                '"B N S D", dtype=("float16", "bfloat16"), axes="B N Q D"',
                '"BNSD", dtype=("float16", "bfloat16"), axes="B N Q D"',
            ),
        ),
        (
            "mine.py:7: layout 'BNSD': 'BNSD' is none of the axes B N Q D of this tensor; part "
            'sizes by blanks, "B N S D"'
        ),
    ),
    Mistake(
        "small axis letters",
        DENSE,
        (
            (
                '"B N S D", dtype=("float16", "bfloat16"), axes="B N Q D"',
                '"B N S D", dtype=("float16", "bfloat16"), axes="b n q d"',
            ),
        ),
        (
            "mine.py:7: query: axis 'b' has no size in op.axes; 'b' is no axis; there are B, N, "
            "K, Q, H, T, D, E, P, R, W, C, J, G, X, L, U, S, Y"
        ),
    ),
    Mistake(
        "another library's dtype",
        DENSE,
        (
            (
                '"B N S D", dtype=("float16", "bfloat16"), axes="B N Q D"',
                '"B N S D", dtype="fp16", axes="B N Q D"',
            ),
        ),
        (
            "mine.py:7: unknown dtype 'fp16'; there are bool int8 uint8 int32 uint32 int64 "
            "uint64 float16 float32 float64 bfloat16"
        ),
    ),
    Mistake(
        "queries in fp32",
        DENSE,
        (
            (
                '"B N S D", dtype=("float16", "bfloat16"), axes="B N Q D"',
                '"B N S D", dtype="float32", axes="B N Q D"',
            ),
        ),
        (
            "mine has no kernel yet: mine.py:22: io dtype float32 (kernels take float16 and "
            "bfloat16 and int8) has no lowering rule yet; declare the query with "
            'dtype=("float16", "bfloat16"); the reference backend computes it'
        ),
    ),
    Mistake(
        "no dtype",
        DENSE,
        (('"B N S D", dtype=("float16", "bfloat16"), axes="B N Q D"', '"B N S D", axes="B N Q D"'),),
        (
            "mine.py:7: TypeError: op.input() missing 1 required keyword-only argument: 'dtype'; "
            "write op.input(name, layouts=None, *, dtype, axes='', optional=False, "
            "sequence_of=0, list_of=None, at_least=False, indexed=False, split=False, "
            "shape_error=None, meaning='')"
        ),
    ),
    Mistake(
        "channels not last",
        DENSE,
        (('"B K T D", dtype=query, axes="B K T D"', '"B K D T", dtype=query, axes="B K T D"'),),
        (
            "mine has no kernel yet: mine.py:8: key in layout 'B K D T', whose axis D is not "
            "contiguous, has no lowering rule yet; let axis D be the last of the layout; the "
            "reference backend computes it"
        ),
    ),
    Mistake(
        "keys of one dtype",
        DENSE,
        (('"B K T D", dtype=query, axes="B K T D"', '"B K T D", dtype="float16", axes="B K T D"'),),
        (
            "mine has no kernel yet: mine.py:8: key in a dtype other than the query's (float16) "
            "has no lowering rule yet; declare it with dtype=query, as the query; the reference backend "
            "computes it"
        ),
    ),
    Mistake(
        "keys of int8",
        DENSE,
        (('"B K T D", dtype=query, axes="B K T D"', '"B K T D", dtype="int8", axes="B K T D"'),),
        (
            "mine has no kernel yet: mine.py:8: key of dtype int8 beside queries of float16 has "
            "no lowering rule yet; write attend.dequantize(key, scale) for what it is; the "
            "reference backend computes it"
        ),
    ),
    Mistake(
        "name with a slip",
        DENSE,
        (('"B K T D", dtype=query, axes="B K T D"', '"B K T D", dtype=quer, axes="B K T D"'),),
        "mine.py:8: NameError: name 'quer' is not defined; did you mean 'query'?",
    ),
    Mistake(
        "query heads for keys",
        DENSE,
        (('"B K T D", dtype=query, axes="B K T D"', '"B N T D", dtype=query, axes="B N T D"'),),
        (
            "mine.py:18: mine: Scores: key rows have the axes (B, K, T, D), not (B, N, T, D); "
            'the heads of keys and values have the axis K: pass axes="B K T D" to op.input of '
            "the keys [scores_contract_over_d]"
        ),
    ),
    Mistake(
        "name of a size",
        DENSE,
        (('op.input("key"', 'op.input("K"'),),
        "mine.py:8: 'K' is declared twice",
    ),
    Mistake(
        "values with axes of keys",
        DENSE,
        (('axes="B K T E"', 'axes="B K T D"'),),
        (
            "mine.py:21: mine: WeightedSum: value rows have the axes (B, K, T, E), not (B, K, T, "
            'D); pass axes="B K T E" to op.input of the values, or attend.leading(tensor, D) of a tensor '
            "whose "
            "rows are keys, too [weighted_sum_runs_over_keys]"
        ),
    ),
    Mistake(
        "axis without a size",
        DENSE,
        (("op.axes(B=B, N=N, K=K, Q=S, T=T, D=D, E=D)", "op.axes(B=B, N=N, K=K, T=T, D=D, E=D)"),),
        (
            "mine.py:7: query: axis 'Q' has no size in op.axes; write op.axes(Q=...) for query "
            "positions of a batch row, or take one of B N K T D E"
        ),
    ),
    Mistake(
        "letter that is no axis",
        DENSE,
        (("op.axes(B=B, N=N, K=K, Q=S, T=T, D=D, E=D)", "op.axes(B=B, Z=N, K=K, Q=S, T=T, D=D, E=D)"),),
        (
            "mine.py:5: 'Z' is no axis; there are B batch rows, N query heads, K key/value "
            "heads, Q query positions of a batch row, H blocks of query positions that share a "
            "list, T key positions of a batch row, D channels of queries and keys, E channels of "
            "values, P blocks of a cache, R rows of a cache block, W columns of a block table, C "
            "components, such as key and value, of one tensor, J blocks of keys of a selection, "
            "G groups of batch rows that share keys, X ranks in a selection, L copies of a "
            "value, U stored key rows, of a group or of all batch rows, S packed query tokens of "
            "all batch rows, Y layers of a cache"
        ),
    ),
    Mistake(
        "axes as a text",
        DENSE,
        (("op.axes(B=B, N=N, K=K, Q=S, T=T, D=D, E=D)", 'op.axes("B N K Q T D E")'),),
        (
            "mine.py:5: TypeError: op.axes() takes 1 positional argument but 2 were given; write "
            "op.axes(B=B, N=N, Q=S, ...)"
        ),
    ),
    Mistake(
        "names with commas",
        DENSE,
        (('op.dims("B N K S T D")', 'op.dims("B, N, K, S, T, D")'),),
        "mine.py:4: 'B,' is no identifier; names are separated by blanks alone",
    ),
    Mistake(
        "one name too few",
        DENSE,
        (('op.dims("B N K S T D")', 'op.dims("B N K S T")'),),
        "mine.py:4: ValueError: not enough values to unpack (expected 6, got 5)",
    ),
    Mistake(
        "query in two tensors",
        DENSE,
        (
            ('B, N, K, S, T, D = op.dims("B N K S T D")', 'B, N, K, S, T, D, F = op.dims("B N K S T D F")'),
            ("# more", 'rope = op.input("rope", "B N S F", dtype=query, axes="B N Q D")'),
        ),
        (
            "mine.py:13: layout 'B N S F': 'F' is none of the axes B N Q D of this tensor; axis "
            "D has the size D in all tensors: write D for F; channels in parts, as rotary ones, "
            "are one tensor: join them in the caller, a rotary key of all heads once for each "
            "head; latent rows that all heads share (MLA, absorbed) have one key/value head: "
            "specs/variants/mla_decode.py"
        ),
    ),
    Mistake(
        "an extent that is computed",
        PACKED,
        (
            (
                "scale = op.param",
                'firsts = op.input("firsts", "B + 1", dtype="int32", indexed=True)\nscale = op.param',
            ),
        ),
        (
            "mine.py:14: layout 'B + 1' has the operator '+', and a layout is names of sizes and "
            'whole numbers: give the extent a size of its own, as A = op.dim("A"), and state it, as '
            'in op.require(A == B + 1, "must be B + 1")'
        ),
        instead=(
            ('op.dims("B N K S U D C M")\n', 'op.dims("B N K S U D C M")\nA = op.dim("A")\n'),
            (
                "scale = op.param",
                'firsts = op.input("firsts", "A", dtype="int32", indexed=True)\n'
                'op.require(A == B + 1, "must be B + 1")\nscale = op.param',
            ),
            ("i, j = attend.QUERY, attend.KEY", "b, i, j = attend.BATCH, attend.QUERY, attend.KEY"),
            ("s.where(j <= i)", "s.where((j <= i) & (j >= firsts[b]))"),
        ),
    ),
    Mistake(
        "positions of packed queries that no call tells",
        PACKED,
        (('op.let(C, op.longest("query_ends"))\n', ""),),
        (
            "mine.py:4: no layout of an input has the size 'C' of axis Q, so that no call tells it; write "
            "op.axes(Q=S), or op.let(C, ...) with op.longest('query_ends') of op.prefix_sums('query_ends', "
            "...)"
        ),
    ),
    Mistake(
        "rows of a paged cache that no call tells",
        PAGED,
        (
            ('op.dims("B N K D P R W")', 'op.dims("B N K D P R W T")'),
            ("R, W = ", "R, W, T = "),
            ("T=W * R", "T=T"),
        ),
        (
            "mine.py:4: no layout of an input has the size 'T' of axis T, so that no call tells it; write "
            "op.axes(T=W * R), the rows of a block table"
        ),
    ),
)
