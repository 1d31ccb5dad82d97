"""Legal specs from a seed: key sources, layouts, masks, scores and results drawn from what the docs allow.

A spec is put together from parts that declare the inputs they read, so that any parts may meet. Whether a
combination has a kernel is not decided here: it lowers, or is refused with a way out.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class _Draft:
    """A spec that is being drawn: its text by sections, in the order of a file."""

    rng: random.Random
    heads: str = "K"
    rows: str = ""
    queries: str = "prompt"
    dims: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dims = ["B", "N", "D"]

    def dim(self, *names: str) -> None:
        """Declares sizes that a part uses."""
        self.dims += [name for name in names if name not in self.dims]

    def declare(self, line: str) -> None:
        """Adds a declaration, once."""
        if line not in self.inputs:
            self.inputs.append(line)

    @property
    def row(self) -> str:
        """The sizes and axes of a number a query row."""
        return {"prompt": "B N S|B N Q", "decode": "B N 1|B N Q", "packed": "S N|S N"}[self.queries]


def random_spec(seed: int) -> str:
    """The text of a legal spec."""
    rng = random.Random(seed)
    draft = _Draft(rng)
    draft.queries = rng.choice(["prompt", "prompt", "decode", "decode", "packed"])
    draft.heads = rng.choice(["K", "K", "N", "1"])
    if draft.heads == "K":
        draft.dim("K")
        draft.rules.append('op.require(N % K == 0, "must be a multiple of key heads", argument="query")')
    values = rng.choice(["D", "D", "D", "E"])
    draft.dim(values)
    _declare_queries(draft)
    sources = _keys(draft, values)
    scores = _scores(draft)
    weights, statistics = _weights(draft)
    result = _result(draft, values)
    axes = f"B=B, N=N, K={draft.heads}, Q={_QUERY_ROWS[draft.queries]}, T={draft.rows}, D=D, E={values}"
    for name in ("P", "R", "W", "U", "S"):
        if name in draft.dims and (name != "S" or draft.queries == "packed"):
            axes += f", {name}={name}"
    return "\n".join(
        [
            f'"""Drawn by seed {seed}."""',
            "",
            "from attndsl.spec import Operator, attend, maximum",
            "",
            f'op = Operator("drawn_{seed}", summary="A drawn attention.")',
            f'{", ".join(draft.dims)} = op.dims("{" ".join(draft.dims)}")',
            *(['op.let(M, op.longest("query_ends"))'] if draft.queries == "packed" else []),
            f"op.axes({axes})",
            "b, n, i, j = attend.BATCH, attend.HEAD, attend.QUERY, attend.KEY",
            *draft.inputs,
            *draft.rules,
            f"keys, values = {sources}",
            *scores,
            *weights,
            f"out = {result}",
            f'op.output("out", out, like=query{_result_layout(draft, values)})',
            *statistics,
            "",
        ]
    )


_QUERY_ROWS = {"prompt": "S", "decode": "1", "packed": "M"}


def _declare_queries(draft: _Draft) -> None:
    rng = draft.rng
    dtype = rng.choice(['("float16", "bfloat16")', '("float16", "bfloat16")', '"float16"'])
    if draft.queries == "packed":
        draft.dim("S", "M")
        draft.declare(f'query = op.input("query", "S N D", dtype={dtype}, axes="S N D")')
        draft.declare('query_ends = op.prefix_sums("query_ends", "B", total=S)')
        return
    if draft.queries == "prompt":
        draft.dim("S")
    layout = rng.choice(["B N S D", "B S N D", "B S (N D)"])
    if draft.queries == "decode":
        layout = rng.choice(["B N 1 D", "B 1 (N D)"])
    roles = {"B N S D": "B N Q D", "B S N D": "B Q N D", "B S (N D)": "B Q N D"}
    roles |= {"B N 1 D": "B N Q D", "B 1 (N D)": "B Q N D"}
    draft.declare(f'query = op.input("query", "{layout}", dtype={dtype}, axes="{roles[layout]}")')


def _result_layout(draft: _Draft, values: str) -> str:
    if values == "D":
        return ""
    sizes = {"prompt": "B N S E", "decode": "B N 1 E", "packed": "S N E"}
    return f', layouts="{sizes[draft.queries]}"'


def _keys(draft: _Draft, values: str) -> str:
    """Declares keys and values of a source; the sources of both."""
    rng, heads = draft.rng, draft.heads
    kind = rng.choice(["dense", "dense", "lengths", "paged", "packed"])
    if kind == "packed" and draft.queries == "decode":
        kind = "lengths"
    if kind in ("dense", "lengths"):
        draft.dim("T")
        draft.rows = "T"
        layout = rng.choice(["B {0} T {1}", "B T {0} {1}"])
        roles = layout.replace("{0}", "K")
        for name, size, role in (("key", "D", "D"), ("value", values, "E")):
            sizes, axes = layout.format(heads, size), roles.replace("{1}", role)
            draft.declare(f'{name} = op.input("{name}", "{sizes}", dtype=query, axes="{axes}")')
        if kind == "dense":
            return "attend.rows(key), attend.rows(value)"
        draft.declare('lengths = op.lengths("lengths", "B", one_for_all=False)')
        draft.rules.append('op.require(lengths[b] >= 0, "must not be negative", over={b: B})')
        return "attend.rows(key, length=lengths), attend.rows(value, length=lengths)"
    if kind == "packed":
        draft.dim("U", "T")
        draft.rows = "T"
        draft.rules.insert(0, 'op.let(T, op.longest("key_ends"))')
        draft.declare(f'key = op.input("key", "U {heads} D", dtype=query, axes="U K D")')
        draft.declare(f'value = op.input("value", "U {heads} {values}", dtype=query, axes="U K E")')
        draft.declare('key_ends = op.prefix_sums("key_ends", "B", total=U)')
        return "attend.packed(key, key_ends), attend.packed(value, key_ends)"
    draft.dim("P", "R", "W")
    draft.rows = "W * R"
    layout = rng.choice(["P {0} R {1}", "P R {0} {1}"])
    roles = layout.replace("{0}", "K")
    for name, size, role in (("key", "D", "D"), ("value", values, "E")):
        sizes, axes = layout.format(heads, size), roles.replace("{1}", role)
        draft.declare(f'{name} = op.input("{name}", "{sizes}", dtype=query, axes="{axes}")')
    draft.declare('table = op.input("table", "B W", dtype="int32", axes="B W")')
    draft.declare('lengths = op.lengths("lengths", "B", one_for_all=False)')
    draft.rules.append('op.require(R % 16 == 0, "must be a multiple of 16", argument="key")')
    draft.rules.append('op.require(lengths[b] >= 0, "must not be negative", over={b: B})')
    return ", ".join(f"attend.paged({each}, table, R, length=lengths)" for each in ("key", "value"))


def _scores(draft: _Draft) -> list[str]:
    rng = draft.rng
    queries = "attend.packed(query, query_ends)" if draft.queries == "packed" else "query"
    lines = [f"s = attend.scores({queries}, keys)" + _factor(draft)]
    for change in rng.sample(_CHANGES, rng.choice([0, 0, 1, 1, 2])):
        lines += change(draft)
    for mask in rng.sample(_MASKS, rng.choice([0, 1, 1, 2])):
        lines += mask(draft)
    return lines


def _factor(draft: _Draft) -> str:
    if draft.rng.random() < 0.3:
        return f" * {draft.rng.choice(['0.125', '0.0883883'])}"
    draft.declare('scale = op.param("scale", float, default=0.125, finite=True)')
    return " * scale"


def _keys_have_an_axis(draft: _Draft) -> bool:
    return draft.rows == "T" and "U" not in draft.dims


def _cap(draft: _Draft) -> list[str]:
    draft.declare('cap = op.param("cap", float, default=30.0, gt=0.0, finite=True)')
    return ["s = attend.tanh(s / cap) * cap"]


def _bias(draft: _Draft) -> list[str]:
    if not _keys_have_an_axis(draft) or draft.queries == "packed":
        return _head_bias(draft)
    query = {"prompt": "S", "decode": "1"}[draft.queries]
    axes = draft.rng.choice(["B N Q T", "N Q T", "Q T", "B T", "B N T"])
    sizes = axes.replace("Q", query)
    optional = draft.rng.choice(["", ", optional=True"])
    dtype = draft.rng.choice(["query", "query", '"float32"'])
    draft.declare(f'bias = op.input("bias", "{sizes}", dtype={dtype}, axes="{axes}"{optional})')
    return ["s = s + bias"]


def _head_bias(draft: _Draft) -> list[str]:
    draft.declare('by_head = op.input("by_head", "N", dtype="float32", axes="N")')
    return [draft.rng.choice(["s = s + by_head", "s = s * by_head"])]


def _alibi(draft: _Draft) -> list[str]:
    draft.declare('slopes = op.input("slopes", "N", dtype="float32", axes="N")')
    return [
        draft.rng.choice(
            ["s = s + slopes * attend.index(j - i)", "s = s - slopes * abs(attend.index(i - j))"]
        )
    ]


def _row_factor(draft: _Draft) -> list[str]:
    sizes, axes = draft.row.split("|")
    draft.declare(f'factor = op.input("factor", "{sizes}", dtype="float32", axes="{axes}")')
    return [draft.rng.choice(["s = s * attend.sigmoid(factor)", "s = s + factor", "s = s * factor"])]


def _key_element(draft: _Draft) -> list[str]:
    if not _keys_have_an_axis(draft):
        return _cap(draft)
    draft.declare('weight = op.input("weight", "B T", dtype="float32", axes="B T")')
    return [draft.rng.choice(["s = s * weight.at(b, j)", "s = s + weight.at(b, j)"])]


def _chosen(draft: _Draft) -> list[str]:
    draft.declare('capped = op.param("capped", bool, default=False)')
    return ["s = attend.when(capped, attend.tanh(s / 20.0) * 20.0, s)"]


_CHANGES = [_cap, _bias, _head_bias, _alibi, _row_factor, _key_element, _chosen]


def _first(draft: _Draft) -> str:
    """The key that stands beside the first query."""
    rows = {"prompt": "S", "decode": "1", "packed": "query_ends.length(b)"}[draft.queries]
    if "lengths = " in "\n".join(draft.inputs):
        return f"lengths[b] - {rows}"
    if "U" in draft.dims:
        return f"key_ends.length(b) - {rows}"
    return f"T - {rows}"


def _causal(draft: _Draft) -> list[str]:
    return [draft.rng.choice(["s = s.where(j <= i)", f"s = s.where(j <= i + {_first(draft)})"])]


def _window(draft: _Draft) -> list[str]:
    draft.declare('window = op.param("window", int, default=64, ge=1, le=1048576)')
    return [
        draft.rng.choice(["s = s.where((j <= i) & (j > i - window))", "s = s.where(abs(i - j) <= window)"])
    ]


def _first_keys_too(draft: _Draft) -> list[str]:
    draft.declare('always = op.param("always", int, default=4, ge=0, le=64)')
    return ["s = s.where((j <= i) & ((j > i - 32) | (j < always)))"]


def _of_blocks(draft: _Draft) -> list[str]:
    block = draft.rng.choice([16, 64, 128])
    return [f"s = s.where(j < (i // {block} + 1) * {block})"]


def _strided(draft: _Draft) -> list[str]:
    return [draft.rng.choice(["s = s.where(j % 4 == 0)", "s = s.where((i - j) % 8 == 0)"])]


def _bytes(draft: _Draft) -> list[str]:
    if not _keys_have_an_axis(draft) or draft.queries == "packed":
        return _causal(draft)
    query = {"prompt": "S", "decode": "1"}[draft.queries]
    axes = draft.rng.choice(["B N Q T", "B Q T", "Q T", "B T"])
    sizes = axes.replace("Q", query)
    dtype = draft.rng.choice(["bool", "uint8", "int8"])
    optional = draft.rng.choice(["", ", optional=True"])
    draft.declare(f'mask = op.input("mask", "{sizes}", dtype="{dtype}", axes="{axes}"{optional})')
    return [draft.rng.choice(["s = s.where(mask)", "s = s.where(~mask)", "s = s.replace(mask, -1e12)"])]


def _segments(draft: _Draft) -> list[str]:
    if not _keys_have_an_axis(draft) or draft.queries != "prompt":
        return _strided(draft)
    draft.declare('segment = op.input("segment", "B T", dtype="int32", indexed=True)')
    draft.rules.append('op.require(S <= T, "must have a segment for each query", argument="segment")')
    return ["s = s.where(segment[b, i] == segment[b, j])"]


_MASKS = [_causal, _window, _first_keys_too, _of_blocks, _strided, _bytes, _segments]


def _weights(draft: _Draft) -> tuple[list[str], list[str]]:
    rng = draft.rng
    kind = rng.choice(["softmax"] * 5 + ["sink", "sigmoid", "relu"])
    if kind in ("sigmoid", "relu"):
        return [f"p = attend.{kind}(s)"], []
    if kind == "sink":
        draft.declare('sink = op.input("sink", "N", dtype="float32", axes="N")')
    lines = ["p = attend.softmax(s, sink=sink)" if kind == "sink" else "p = attend.softmax(s)"]
    sizes = draft.row.split("|")[0]
    statistics = [
        f'op.output("{name}", p.{name}, like=query, layouts="{sizes}", dtype="float32")'
        for name in rng.sample(["lse", "row_max", "row_sum"], rng.choice([0, 0, 1, 2]))
    ]
    return lines, statistics


def _result(draft: _Draft, values: str) -> str:
    kind = draft.rng.choice(["plain"] * 4 + ["rows", "channels", "factor"])
    sizes, axes = draft.row.split("|")
    if kind == "rows":
        draft.declare(f'gate = op.input("gate", "{sizes}", dtype="float32", axes="{axes}")')
        return "(p @ values) * attend.sigmoid(gate)"
    if kind == "channels":
        draft.declare(f'channels = op.input("channels", "N {values}", dtype=query, axes="N E")')
        return "(p @ values) * channels"
    if kind == "factor":
        draft.declare('times = op.param("times", float, default=1.0, finite=True)')
        return "(p @ values) * times"
    return "p @ values"
