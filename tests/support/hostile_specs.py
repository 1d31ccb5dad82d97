"""Malformed specs from a seed: a small right one in which a few arguments, names or lines are hostile."""

from __future__ import annotations

import random

_LINES = (
    "from attndsl.spec import attend, errors, Operator, ceil_div, maximum, minimum",
    "op = Operator({'fuzzed'}, document={''}, target={'atlas-a2'}, summary={'A summary.'})",
    "B, N, K, T, D = op.dims({'B N K T D'})",
    "P = op.dim({'P'}, default={4})",
    "op.axes(B={B}, N={N}, K={K}, Q={1}, T={T}, D={D}, E={D})",
    "query = op.input({'query'}, {'B N 1 D'}, dtype={('float16', 'bfloat16')}, axes={'B N Q D'})",
    "key = op.input({'key'}, {['B K T D']}, dtype={query}, axes={'B K T D'}, split={False})",
    "value = op.input({'value'}, {'B K T D'}, dtype={query}, axes={'B K T E'}, meaning={'rows'})",
    "mask = op.input({'mask'}, {'B T'}, dtype={'uint8'}, axes={'B T'}, optional={True}, at_least={True})",
    "bias = op.input({'bias'}, {{'a': 'B N 1 T'}}, dtype={query}, axes={'B N Q T'}, optional={True})",
    "lens = op.lengths({'lens'}, {'B'}, dtype={'int64'}, optional={True}, one_for_all={True})",
    "scale = op.param({'scale'}, {float}, default={0.5}, gt={0}, le={8.0}, meaning={'a factor'})",
    "kind = op.param({'kind'}, {int}, default={1}, choices={(1, 2)}, error={errors.ChoiceError})",
    "form = op.enum({'form'}, {'PLAIN OTHER'}, prefix={'FORM_'}, default={0}, meaning={'how'})",
    "op.reserved({'spare'}, {8})",
    "op.require({N % K == 0}, {'a multiple'}, argument={'query'}, error={errors.HeadMismatchError})",
    "op.require({T > 0}, {'some rows'}, when={mask.given}, over={None}, hint={'pass some'})",
    "op.let({P}, {kind})",
    "op.default({P}, {2})",
    "op.schedule(tile_k={64}, slots={2})",
    "rows = attend.rows({key}, length={lens}, start={None})",
    "s = attend.scores({query}, {rows}) * {scale}",
    "s = s + {bias}",
    "s = s.replace({mask}, {-1e12})",
    "s = s.where({attend.KEY <= attend.QUERY + T})",
    "s = attend.when({kind == 1}, {s}, {attend.tanh(s)})",
    "s = {attend.maximum(s, -100)}",
    "w = attend.softmax({s})",
    "op.output({'out'}, {w @ attend.rows(value, length=lens)}, like={query})",
)
_FURTHER = (
    "s = attend.window({key}, {1}, length={2})",
    "s = attend.ring({key}, {4}, length={lens})",
    "s = attend.paged({key}, {mask}, {16}, length={lens})",
    "s = attend.listed({key}, index={None}, length={lens})",
    "s = attend.packed({query}, {lens}, length={None})",
    "s = attend.append({key}, {value}, position={0}, length={lens})",
    "s = attend.leading({key}, {D})",
    "s = attend.take({key}, {'B'}, {0})",
    "s = attend.merge({s}, {s})",
    "s = attend.choose({(mask, s)}, otherwise={s})",
    "s = attend.condition({attend.KEY > 1})",
    "s = attend.index({attend.KEY})",
    "s = attend.requantize({s}, {64}, {None})",
    "s = attend.dequantize({s}, {bias}, {None})",
    "s = attend.quantize({s}, {bias}, {None})",
    "s = attend.exp({s})",
    "s = s.cast({'float16'})",
    "s = s.part({0})",
    "s = s.top({4}, forced={None}, length={None})",
    "s = s.window_sum(step={2}, last={3}, counts={(2, 2)})",
    "s = s.row_max",
    "s = s.repeated()",
    "s = s.sum_over_group()",
    "s = mask.at({attend.BATCH}, {attend.KEY})",
    "s = mask.form({'B T'})",
    "s = lens[{0}]",
    "s = lens.rows({attend.BATCH})",
    "ends = op.prefix_sums({'ends'}, {'B'}, total={T}, arrays={True}, meaning={'ends'})",
    "op.longest({'lens'})",
    "op.given({'mask'})",
    "op.ahead({'later'})",
    "m = op.mode({'other'}, by={'kind'}, value={2}, summary={'another'})",
    "op.keyword_only()",
    "with op.constraints_on({'query'}, when={mask.given}, error={errors.ShapeError}):\n    pass",
    "raise SystemExit({0})",
    "exit({3})",
    "raise {KeyboardInterrupt.__mro__[1]('x')}",
    "raise GeneratorExit",
    "import nowhere_{0}",
    "def f(): return f()",
    "f()",
    "if N: pass",
    "for each in {N}: pass",
    "x = {N} / 0",
    "x = [{s}][1]",
    "assert {N} == 3",
    "x: = 1",
    "    indented = 1",
    "op2 = Operator({'second'})",
    "del op",
    "op = {None}",
)
_HOSTILE = (
    "None", "True", "False", "0", "-1", "1", "2", "1 << 63", "-(1 << 63) - 1", "10 ** 400", "1e400", "-1e400",
    "float('nan')", "1e-320", "1j", "''", "' '", "'B'", "'b'", "'x y'", "'\\ud800'", "'\\x00'", "'\\n'",
    "'\\u202e'", "'int'", "'class'", "'None'", "'backend'", "'K_\\u00e9'", "'B (N D)'", "'((('", "'B N B N'",
    "'float16'", "'float99'", "'given(mask)'", "b''", "b'\\xff'", "()", "[]", "{}", "set()", "(1,)", "[None]",
    "[[]]", "{1: 2}", "{'a': 1}", "{None: None}", "('float16', 3)", "object()", "object", "int", "str",
    "float", "type", "list", "Exception", "BaseException", "KeyboardInterrupt", "errors", "errors.ShapeError",
    "len", "lambda: 1", "lambda *a: 1 / 0", "...", "NotImplemented", "range(3)", "iter(())",
    "(x for x in ())",
    "op", "op.input", "N", "K", "D", "N + 1", "N // K", "N % K", "-N", "N * 10 ** 30", "N == K", "N > 1.5",
    "(N > 1) & (K > 1)", "ceil_div(N, 2)", "maximum(N, 0)", "minimum(1, 2)", "attend", "attend.BATCH",
    "attend.KEY", "attend.QUERY", "attend.rows", "query", "key", "mask", "mask.given", "mask.dtype",
    "mask.layout", "lens", "lens[0]", "lens.highest", "scale", "kind", "form", "s", "s * s", "w", "rows",
    "'x' * 100000", "'B ' * 500", "[1] * 1000", "Bad()", "BadText()", "BadInt(3)", "BadStr('B')",
    "BadHash()", "DEEP",
    "WIDE", "NESTED", "CYCLE",
)  # fmt: skip
_HELPERS = """
class Bad:
    def __getattr__(self, name): raise RuntimeError("no attribute")
    def __eq__(self, other): raise ValueError("no comparison")
    __hash__ = None
class BadText:
    def __repr__(self): raise OSError("no text")
    __str__ = __repr__
class BadHash:
    def __hash__(self): raise ZeroDivisionError("no hash")
class BadInt(int):
    def __index__(self): raise MemoryError
    def __repr__(self): return 7
class BadStr(str):
    def split(self, *a): raise KeyError("no parts")
    def __str__(self): return "\\ud800"
CYCLE = []
CYCLE.append(CYCLE)
NESTED = CYCLE
for _ in range(300): NESTED = [NESTED]
"""
_VALUES_OF_SIZES = """
DEEP = N
for _ in range({depth}): DEEP = DEEP + K
WIDE = N > 0
for _ in range({depth}): WIDE = WIDE & (K > _)
"""


def hostile_spec(seed: int) -> str:
    """The text of one spec; the same for a seed."""
    rng = random.Random(seed)
    lines = list(_LINES)
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        lines.insert(rng.randrange(4, len(lines) + 1), rng.choice(_FURTHER))
    if rng.random() < 0.1:
        del lines[rng.randrange(1, len(lines))]
    if rng.random() < 0.05:
        first, second = (rng.randrange(1, len(lines)) for _ in range(2))
        lines[first], lines[second] = lines[second], lines[first]
    parts = [_parts(line) for line in lines]
    places = [(i, j) for i, line in enumerate(parts) for j, (_, given) in enumerate(line) if given]
    chosen = set(rng.sample(places, rng.choice((0, 1, 1, 1, 1, 2))))
    text = []
    for i, line in enumerate(parts):
        text.append(
            "".join(rng.choice(_HOSTILE) if (i, j) in chosen else part for j, (part, _) in enumerate(line))
        )
        if i == 0:
            text.append(_HELPERS)
        if line[0][0].startswith("B, N, K"):
            text.append(_VALUES_OF_SIZES.format(depth=rng.choice((3, 30, 300))))
    return "\n".join(text) + "\n"


def _parts(line: str) -> list[tuple[str, bool]]:
    """A line in pieces, each with whether it is an argument, which stands in braces."""
    found, start, depth = [], 0, 0
    for at, letter in enumerate(line):
        if letter == "{":
            depth += 1
            if depth == 1:
                found.append((line[start:at], False))
                start = at + 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                found.append((line[start:at], True))
                start = at + 1
    return [*found, (line[start:], False)]
