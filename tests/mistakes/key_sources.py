"""Key sources: rows, packed rows, paged caches, lengths."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake
from tests.support.right_specs import DENSE, PACKED, PAGED

KEYS = (
    Mistake(
        "lengths by position",
        DENSE,
        (
            (
                "keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                "keys, values = attend.rows(key, lengths), attend.rows(value, lengths)",
            ),
        ),
        (
            "mine.py:17: TypeError: attend.rows() takes 1 positional argument but 2 were given; "
            "write attend.rows(tensor, *, length=None, start=None)"
        ),
    ),
    Mistake(
        "lengths of keys alone",
        DENSE,
        (
            (
                "keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                "keys, values = attend.rows(key, length=lengths), attend.rows(value)",
            ),
        ),
        (
            "mine.py:21: mine: WeightedSum: keys and values are taken from different rows "
            "(source, length, start or block table); read both alike, with the same length "
            "[keys_and_values_share_rows]"
        ),
    ),
    Mistake(
        "lengths by name",
        DENSE,
        (
            (
                "keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                'keys, values = attend.rows(key, length="lengths"), attend.rows(value)',
            ),
        ),
        "mine.py:17: rows are counted by an integer, lengths or an expression, got 'lengths'",
    ),
    Mistake(
        "start of whole lengths",
        DENSE,
        (
            (
                "keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                "keys, values = attend.rows(key, start=lengths), attend.rows(value)",
            ),
        ),
        "mine.py:17: start must be a number or a symbolic expression, got a TensorValue",
    ),
    Mistake(
        "rows that are not paged",
        DENSE,
        (
            (
                "keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                "keys, values = attend.paged(key, lengths, 128), attend.paged(value, lengths, 128)",
            ),
        ),
        (
            "mine.py:17: mine: Paged: a paged tensor needs the axes P (block) and R (row in a "
            "block), has (B, K, T, D); attend.rows(tensor) reads rows of an axis T "
            "[paged_rows_have_their_axes]"
        ),
    ),
    Mistake(
        "rows that are not packed",
        DENSE,
        (
            (
                "keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                "keys, values = attend.packed(key, lengths), attend.packed(value, lengths)",
            ),
        ),
        (
            "mine.py:17: mine: Packed: (B, K, T, D) do not come from tokens U of a tensor (B, K, "
            "T, D); rows with an axis of batch rows are not packed: attend.rows(tensor) reads "
            "them [packed_rows_have_their_axes]"
        ),
    ),
    Mistake(
        "slice of rows",
        DENSE,
        (
            (
                "keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                "keys, values = attend.rows(key)[:64], attend.rows(value)[:64]",
            ),
        ),
        (
            "mine.py:17: TypeError: 'Value' object is not subscriptable; only arguments are read "
            "by index; attend.window(rows, start, length=count) is a part of rows"
        ),
    ),
    Mistake(
        "window without a length",
        DENSE,
        (
            (
                "keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                "keys, values = attend.window(key, 5), attend.window(value, 5)",
            ),
        ),
        (
            "mine.py:17: TypeError: attend.window() missing 1 required keyword-only argument: "
            "'length'; write attend.window(source, start, *, length)"
        ),
    ),
    Mistake(
        "channels beside E",
        DENSE,
        (
            (
                "keys, values = attend.rows(key, length=lengths), attend.rows(value, length=lengths)",
                "keys, values = attend.rows(key), attend.rows(attend.leading(key, 64))",
            ),
        ),
        ("mine.py:17: attend.leading(..., 64) has 64 channels, and axis E has D; write op.axes(E=64)"),
    ),
    Mistake(
        "packed keys as rows",
        PACKED,
        (
            (
                "keys, values = attend.packed(key, tokens), attend.packed(value, tokens)",
                "keys, values = attend.rows(key), attend.rows(value)",
            ),
        ),
        (
            "mine.py:18: mine: Dense: the tensor has the axes (U, K, D), rows need an axis T; "
            "attend.packed(tensor, ends) reads rows that are packed [dense_rows_have_their_axes]"
        ),
    ),
    Mistake(
        "packed keys with an axis T",
        PACKED,
        (('"U K D", dtype=query, axes="U K D"', '"M K D", dtype=query, axes="T K D"'),),
        (
            "mine.py:18: mine: Packed: (B, K, T, D) do not come from tokens U of a tensor (T, K, "
            'D); give it the axes "U K D" by axes= of op.input: its rows are packed '
            "[packed_rows_have_their_axes]"
        ),
    ),
    Mistake(
        "packed keys without sums",
        PACKED,
        (
            (
                "keys, values = attend.packed(key, tokens), attend.packed(value, tokens)",
                "keys, values = attend.packed(key), attend.packed(value)",
            ),
        ),
        (
            "mine.py:18: mine: Packed: packed rows need their prefix sums, attend.packed(tensor, "
            "ends), or else their length= [packed_rows_have_boundaries]"
        ),
    ),
    Mistake(
        "packed by other sums",
        PACKED,
        (
            (
                "keys, values = attend.packed(key, tokens), attend.packed(value, tokens)",
                "keys, values = attend.packed(key, queries), attend.packed(value, queries)",
            ),
        ),
        (
            "mine.py:18: rows are packed by 'query_ends', and axis T has longest(key_ends) rows; "
            "pass the prefix sums of the axis, or define its size by op.let(M, op.longest('query_ends'))"
        ),
    ),
    Mistake(
        "packed query as it is",
        PACKED,
        (("attend.packed(query, queries)", "query"),),
        (
            "mine.py:19: mine: Scores: a query has the axes (B, N, Q, D), not (S, N, D); "
            "attend.packed(query, ends) reads queries that are packed [scores_contract_over_d]"
        ),
    ),
    Mistake(
        "longest of a variable",
        PACKED,
        (('op.longest("query_ends")', 'op.longest("queries")'),),
        (
            "mine.py:5: op.longest('queries') is of prefix sums, and 'queries' is none; there "
            "are query_ends, key_ends"
        ),
    ),
    Mistake(
        "longest of lengths",
        PACKED,
        (('op.prefix_sums("query_ends", "B", total=S)', 'op.lengths("query_ends", "B")'),),
        (
            "mine.py:5: op.longest('query_ends') is of prefix sums, and 'query_ends' is none; "
            "there are key_ends"
        ),
    ),
    Mistake(
        "method that is not called",
        PACKED,
        (("s.where(j <= i)", "s.where(j <= i + tokens.length - queries.length)"),),
        (
            "mine.py:20: TypeError: a number or a symbolic expression is needed here, got the "
            "function PrefixSums.length; call it"
        ),
    ),
    Mistake(
        "no block size",
        PAGED,
        (
            (
                "keys = attend.paged(key_cache, table, R, length=lengths)",
                "keys = attend.paged(key_cache, table, length=lengths)",
            ),
        ),
        (
            "mine.py:17: TypeError: attend.paged() missing 1 required positional argument: "
            "'block_size'; write attend.paged(tensor, table, block_size, *, length=None)"
        ),
    ),
    Mistake(
        "two block sizes",
        PAGED,
        (
            (
                "keys = attend.paged(key_cache, table, R, length=lengths)",
                "keys = attend.paged(key_cache, table, 128, length=lengths)",
            ),
        ),
        (
            "mine.py:20: mine: WeightedSum: keys and values are taken from different rows "
            "(source, length, start or block table); read both alike, with the same block_size "
            "[keys_and_values_share_rows]"
        ),
    ),
    Mistake(
        "lengths for the table",
        PAGED,
        (
            (
                "keys = attend.paged(key_cache, table, R, length=lengths)",
                "keys = attend.paged(key_cache, lengths, R, length=lengths)",
            ),
        ),
        (
            'mine.py:17: mine: Paged: a block table has the axes (B, W), not (B); pass axes="B '
            'W" to op.input of the table [tables_are_integers]'
        ),
    ),
    Mistake(
        "a table of each key/value head",
        PAGED,
        (('"table", "B W", dtype="int32", axes="B W"', '"table", "B K W", dtype="int32", axes="B K W"'),),
        (
            "mine.py:17: mine: Paged: a block table has the axes (B, W), not (B, K, W); what each key/value "
            "head or query names for itself are lists of blocks: attend.selected(attend.rows(cache), lists, "
            'block_size, count=counts), lists with axes="B K X" and op.axes(X=...), the cache as a tensor of '
            'rows with the layout "M K D", axes="T K D" and T=M [tables_are_integers]'
        ),
    ),
    Mistake(
        "cache as rows",
        PAGED,
        (
            (
                "keys = attend.paged(key_cache, table, R, length=lengths)",
                "keys = attend.rows(key_cache, length=lengths)",
            ),
        ),
        (
            "mine.py:17: mine: Dense: the tensor has the axes (P, K, R, D), rows need an axis T; "
            "attend.paged(tensor, table, block_size) reads a cache in blocks "
            "[dense_rows_have_their_axes]"
        ),
    ),
    Mistake(
        "table of halves",
        PAGED,
        (('dtype="int32", axes="B W"', 'dtype="float16", axes="B W"'),),
        ("mine.py:17: mine: Paged: a block table holds integers, not float16 [tables_are_integers]"),
    ),
    Mistake(
        "no size of keys",
        PAGED,
        (("T=W * R, ", ""),),
        ("mine.py:17: axis 'T', key positions of a batch row, has no size; write op.axes(T=...)"),
    ),
    Mistake(
        "keys as values",
        DENSE,
        (("attend.rows(value, length=lengths)", "attend.rows(key, length=lengths)"),),
        (
            "mine.py:21: mine: WeightedSum: value rows have the axes (B, K, T, E), not (B, K, T, D); pass "
            'axes="B K T E" to op.input of the values, or attend.leading(tensor, D) of a tensor whose rows '
            "are keys, too [weighted_sum_runs_over_keys]"
        ),
        instead=(
            ("attend.rows(value, length=lengths)", "attend.rows(attend.leading(key, D), length=lengths)"),
        ),
    ),
    Mistake(
        "rows that are dequantized",
        DENSE,
        (
            ("# more", 'key_scale = op.input("key_scale", "K D", dtype=query, axes="K D")'),
            ('key = op.input("key", "B K T D", dtype=query', 'key = op.input("key", "B K T D", dtype="int8"'),
            (
                "keys, values = attend.rows(key, length=lengths)",
                "keys, values = attend.dequantize(attend.rows(key, length=lengths), key_scale)",
            ),
        ),
        (
            "mine.py:17: mine: Dequantize: tensors are dequantized, and rows are read of what that gives: "
            "write "
            "attend.rows(attend.dequantize(tensor, scale), length=...), and paged or packed alike "
            "[dequantize_reads_int8]"
        ),
        instead=(
            ("# more", 'key_scale = op.input("key_scale", "K D", dtype=query, axes="K D")'),
            ('key = op.input("key", "B K T D", dtype=query', 'key = op.input("key", "B K T D", dtype="int8"'),
            ('dtype=("float16", "bfloat16")', 'dtype="float16"'),
            (
                "keys, values = attend.rows(key, length=lengths)",
                "keys, values = attend.rows(attend.dequantize(key, key_scale), length=lengths)",
            ),
        ),
    ),
    Mistake(
        "lists by query head",
        DENSE,
        (
            (
                "# more",
                'H, X = op.dims("H X")\nop.axes(H=H, X=X)\n'
                'lists = op.input("lists", "B N H X", dtype="int32", axes="B N H X")',
            ),
            (
                "s = attend.scores(query, keys) * scale",
                "keys, values = (attend.selected(each, lists, 64, queries=64) for each in (keys, values))\n"
                "s = attend.scores(query, keys) * scale",
            ),
        ),
        (
            "mine.py:20: mine: Selected: lists of blocks have an axis X, and any of B, K, and Q, H for "
            "blocks of "
            "queries, or S of packed queries, not (B, N, H, X); query heads of a key/value head share its "
            "keys and "
            "its list: what each of them sees is a mask by blocks, as s.where(blocks[b, n, i // 64, j // "
            "64]) "
            "[selected_rows_have_lists]"
        ),
        instead=(
            (
                "# more",
                'H, X = op.dims("H X")\nblocks = op.input("blocks", "B N H X", dtype="bool", indexed=True)',
            ),
            ("s = s.where(j <= i)", "s = s.where(blocks[b, n, i // 64, j // 64] & (j <= i))"),
        ),
    ),
    Mistake(
        "a ring of pages",
        PAGED,
        (
            (
                "keys = attend.paged(key_cache, table, R, length=lengths)",
                "keys = attend.ring(attend.paged(key_cache, table, R), 1024, length=lengths)",
            ),
            (
                "values = attend.paged(value_cache, table, R, length=lengths)",
                "values = attend.ring(attend.paged(value_cache, table, R), 1024, length=lengths)",
            ),
        ),
        (
            "mine has no kernel yet: mine.py:17: attend.ring over attend.paged has no lowering rule yet; "
            "read the last rows of pages without a ring: attend.window(attend.paged(...), start, "
            "length=...); the reference backend computes it"
        ),
        instead=(
            (
                "keys = attend.paged(key_cache, table, R, length=lengths)",
                "start = maximum(lengths[attend.BATCH] - 1024, 0)\n"
                "last = minimum(lengths[attend.BATCH], 1024)\n"
                "keys = attend.window(attend.paged(key_cache, table, R), start, length=last)",
            ),
            (
                "values = attend.paged(value_cache, table, R, length=lengths)",
                "values = attend.window(attend.paged(value_cache, table, R), start, length=last)",
            ),
            ("import Operator, attend", "import Operator, attend, maximum, minimum"),
        ),
    ),
    Mistake(
        "table of all batch rows",
        PAGED,
        (
            (
                'table = op.input("table", "B W", dtype="int32", axes="B W")',
                'table = op.input("table", "W", dtype="int32", axes="W")',
            ),
        ),
        (
            'mine.py:17: mine: Paged: a block table has the axes (B, W), not (W); pass axes="B '
            'W" to op.input of the table; of blocks that all batch rows share the caller repeats '
            "the row for each [tables_are_integers]"
        ),
    ),
    Mistake(
        "scale of heads for a cache without",
        PAGED,
        (
            ("scale = op", 'factor = op.input("factor", "1", dtype="float32", axes="K")\nscale = op'),
            (
                '"P K R D", dtype=query, axes="P K R D"',
                '"P R D", dtype="int8", axes="P R D"',
            ),
            (
                "keys = attend.paged(key_cache, table",
                "keys = attend.paged(attend.dequantize(key_cache, factor), table",
            ),
        ),
        (
            "mine.py:18: mine: Dequantize: a scale or offset with the axes (K) does not fit (P, R, D); give "
            'the tensor the axis K: pass axes="P K R D" to its op.input, and a layout with the number of '
            "heads there, 1 where all share one [scales_broadcast]"
        ),
    ),
    Mistake(
        "scale of query heads",
        PAGED,
        (
            ("scale = op", 'factor = op.input("factor", "N", dtype="float32", axes="N")\nscale = op'),
            (
                '"P K R D", dtype=query, axes="P K R D"',
                '"P K R D", dtype="int8", axes="P K R D"',
            ),
            (
                "keys = attend.paged(key_cache, table",
                "keys = attend.paged(attend.dequantize(key_cache, factor), table",
            ),
        ),
        (
            "mine.py:18: mine: Dequantize: a scale or offset with the axes (N) does not fit (P, K, R, D); a "
            'scale has the axes "K", a number for each key/value head, or "K D", for each channel '
            "[scales_broadcast]"
        ),
    ),
)
