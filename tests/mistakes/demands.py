"""What is demanded: constraints, definitions of sizes, parameters, the schedule."""

from __future__ import annotations

from tests.mistakes.mistake import Mistake
from tests.support.right_specs import DENSE

DEMANDS = (
    Mistake(
        "condition as a text",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require("N % K == 0", "multiple")',
            ),
        ),
        (
            "mine.py:14: the condition of a constraint must be a symbolic condition, such as N % "
            "2 == 0, got 'N % K == 0'"
        ),
    ),
    Mistake(
        "no words",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                "op.require(N % K == 0)",
            ),
        ),
        (
            "mine.py:14: TypeError: op.require() missing 1 required positional argument: 'text'; "
            "write op.require(condition, text, *, error=None, when=None, over=None, argument='', "
            "hint='')"
        ),
    ),
    Mistake(
        "tensor to blame",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require(N % K == 0, "multiple", argument=query)',
            ),
        ),
        "mine.py:14: argument must be a text, got a TensorValue",
    ),
    Mistake(
        "assertion",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                "assert N % K == 1",
            ),
        ),
        (
            "mine.py:14: Python decides 'assert' while the spec is read, and 'N % K == 1' has no "
            "value until the operator is called; what must hold of calls is stated by "
            "op.require(condition, text)"
        ),
    ),
    Mistake(
        "whole lengths in a constraint",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require(lengths <= T, "fit")',
            ),
        ),
        (
            "mine.py:14: whole tensors and values are not compared: compare elements in a "
            "condition on indices, as in lengths[b, j] > 0 with b, j = attend.BATCH, attend.KEY, "
            "or pass a mask"
        ),
    ),
    Mistake(
        "index without a range",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require(lengths[attend.BATCH] <= T, "fit")',
            ),
        ),
        (
            "mine.py:14: constraint 'lengths[b] <= T': unknown 'b'; it counts the batch row: "
            "pass over={attend.BATCH: size}, how many there are"
        ),
    ),
    Mistake(
        "range by a text",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require(lengths[attend.BATCH] <= T, "fit", over={"b": B})',
            ),
        ),
        "mine.py:14: over must be a mapping from index symbols to their extents, got {'b': B}",
    ),
    Mistake(
        "text in order",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require(scale > "a", "positive")',
            ),
        ),
        ("mine.py:14: TypeError: 'scale > a' orders a text: texts are equal or not, by == and !="),
    ),
    Mistake(
        "no number is left",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require(D == 100.5, "odd")',
            ),
        ),
        "mine: no value of 'D' keeps its constraints; widen the rules of op.require on it",
    ),
    Mistake(
        "class by its name",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.require(N % K == 0, "multiple", error="ValueError")',
            ),
        ),
        "mine.py:14: error must be a class of errors or warnings, got 'ValueError'",
    ),
    Mistake(
        "size defined by a size",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                "op.let(T, S)",
            ),
        ),
        (
            "mine.py:14: op.let(T, S) reads the size 'S', which shapes tell; define sizes by "
            "parameters and op.longest(...), and demand equal sizes by op.require(T == S, ...)"
        ),
    ),
    Mistake(
        "size defined by its name",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                'op.let("T", window)',
            ),
        ),
        "mine.py:14: the size must be a dimension that op.dims or op.dim declared, got 'T'",
    ),
    Mistake(
        "parameter defined",
        DENSE,
        (
            (
                'op.require(N % K == 0, "must be a multiple of the heads of key", argument="query")',
                "op.let(scale, 0.5)",
            ),
        ),
        "mine.py:14: 'scale' is no declared dimension",
    ),
    Mistake(
        "type as a text",
        DENSE,
        (("# more\n", 'cap = op.param("cap", "float", default=1.0)\n'),),
        ("mine.py:13: the type of parameter 'cap' must be one of bool, int, float, str, bytes, got 'float'"),
    ),
    Mistake(
        "limits exchanged",
        DENSE,
        (("# more\n", 'cap = op.param("cap", int, ge=5, le=1)\n'),),
        (
            "mine.py:13: no value of parameter 'cap' is legal: ge=5 and le=1 leave none; "
            "exchange or widen them"
        ),
    ),
    Mistake(
        "limit by another name",
        DENSE,
        (("# more\n", 'cap = op.param("cap", int, min=1)\n'),),
        (
            "mine.py:13: TypeError: op.param() got an unexpected keyword argument 'min'; write "
            "op.param(name, type, *, default=<required>, choices=(), gt=None, ge=None, lt=None, "
            "le=None, error=None, meaning='', alias='', takes_int=False, finite=False)"
        ),
    ),
    Mistake(
        "name of an index",
        DENSE,
        (("# more\n", 'cap = op.param("j", int, default=1)\n'),),
        (
            "mine.py:13: 'j' is what expressions call the key (attend.KEY): no size or parameter "
            "can have the name; call it 'j_', say"
        ),
    ),
    Mistake(
        "parameter as a truth value",
        DENSE,
        (("# more\n", 'cap = op.param("cap", bool, default=True)\nif cap:\n    pass\n'),),
        (
            "mine.py:14: Python decides 'if' while the spec is read, and 'cap' has no value "
            "until the operator is called; attend.when(condition, a, b) chooses between values "
            "and select(condition, a, b) between numbers"
        ),
    ),
    Mistake(
        "parameter counted to",
        DENSE,
        (("# more\n", 'cap = op.param("cap", int, default=1)\nfor _ in range(cap):\n    pass\n'),),
        (
            "mine.py:14: TypeError: 'Symbol' object cannot be interpreted as an integer; a size "
            "or a parameter has no value until the operator is called: compute with + - * / // "
            "%, or pass the result as a parameter, as in op.param(name, float)"
        ),
    ),
    Mistake(
        "schedule option with a slip",
        DENSE,
        (("# more\n", "op.schedule(tilek=512)\n"),),
        "mine.py:13: op.schedule has no choice 'tilek'; the nearest is 'tile_k'",
    ),
    Mistake(
        "tile that is no multiple",
        DENSE,
        (("# more\n", "op.schedule(tile_k=100)\n"),),
        (
            "mine.py:13: tile_k=100 must be an integer from 64 to 1984, a multiple of 64; the "
            "nearest legal value is 128"
        ),
    ),
    Mistake(
        "tile as a text",
        DENSE,
        (("# more\n", 'op.schedule(tile_k="512")\n'),),
        (
            "mine.py:13: tile_k='512' must be an integer from 64 to 1984, a multiple of 64; the "
            "nearest legal value is 512"
        ),
    ),
    Mistake(
        "option without its name",
        DENSE,
        (("# more\n", "op.schedule(512)\n"),),
        (
            "mine.py:13: TypeError: op.schedule() takes 1 positional argument but 2 were given; "
            "write op.schedule(tile_k=512, ...)"
        ),
    ),
    Mistake(
        "rows that do not divide",
        DENSE,
        (("# more\n", "op.schedule(rows=48)\n"),),
        (
            "mine.py:13: rows=48 must be a divisor of max_rows / 2 = 128, the rows of one vector "
            "core; the nearest legal value is 32"
        ),
    ),
    Mistake(
        "option that is no word",
        DENSE,
        (("# more\n", 'op.schedule(pipeline="fast")\n'),),
        (
            'mine.py:13: pipeline=\'fast\' must be "auto" or "continuous" or "drained"; the '
            "nearest legal value is 'auto'"
        ),
    ),
    Mistake(
        "option twice",
        DENSE,
        (("# more\n", "op.schedule(tile_k=512)\nop.schedule(tile_k=256)\n"),),
        "mine.py:14: schedule choice 'tile_k' is made twice",
    ),
)
