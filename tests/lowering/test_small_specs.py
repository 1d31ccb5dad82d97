"""Small specs that ask for what the shipped operators do not: computed right, or refused with their line.

Each was once computed wrong without a word.
"""

from pathlib import Path

import numpy as np
import pytest

from attndsl.compiler.prepare_launch import prepare
from attndsl.lowering.errors import NotLowered
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from attndsl.tile.statements import If

HEAD = """
from attndsl.spec import attend, Operator
op = Operator("small_attention", summary="A variant.")
"""
DENSE = (
    HEAD
    + """
B, N, K, T, D = op.dims("B N K T D")
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D, C=2, G=B)
query = op.input("query", "{query}", dtype=("float16", "bfloat16"), axes="{query_axes}")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
value = op.input("value", "B K T D", dtype=query, axes="B K T E")
{declared}
s = attend.scores({asked}, {keys}) * 0.2
{body}
"""
)
PACKED = (
    HEAD
    + """
T1, T2, N1, N2, D, B = op.dims("T1 T2 N1 N2 D B")
S1, S2 = op.dims("S1 S2")
op.let(S1, op.longest("q_ends"))
op.let(S2, op.longest("k_ends"))
op.axes(B=B, S=T1, N=N1, Q=S1, D=D, U=T2, K=N2, T=S2, E=D)
query = op.input("query", "{query}", dtype=("float16", "bfloat16"), axes="{query_axes}")
key = op.input("key", "T2 N2 D", dtype=query, axes="U K D")
value = op.input("value", "T2 N2 D", dtype=query, axes="U K E")
{declared}
rows = op.prefix_sums("q_ends", "B", total=T1, meaning="queries")
keys = op.prefix_sums("k_ends", "B", total=T2, meaning="keys")
s = attend.scores(attend.packed(query, rows), attend.packed(key, keys)) * 0.2
{body}
"""
)
DENSE_RESULT = 'op.output("out", attend.softmax(s) @ attend.rows(value), like=query)'
PACKED_RESULT = 'op.output("out", attend.softmax(s) @ attend.packed(value, keys), like=query)'
DENSE_PLAIN = {
    "query": "B N 1 D", "query_axes": "B N Q D", "declared": "", "asked": "query",
    "keys": "attend.rows(key)", "body": DENSE_RESULT,
}  # fmt: skip
PACKED_PLAIN = {"query": "T1 N1 D", "query_axes": "S N D", "declared": "", "body": PACKED_RESULT}


def made(folder: Path, text: str, plain: dict[str, str], **changes: str) -> Operator:
    file = folder / "small_attention.py"
    file.write_text(text.format(**{**plain, **changes}))
    return load_file(file)


def half(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def dense_call(heads: int = 4, kv_heads: int = 2, keys: int = 90) -> dict[str, np.ndarray]:
    cache = half(2, kv_heads, keys, 32, seed=1), half(2, kv_heads, keys, 32, seed=2)
    return {"query": half(2, heads, 1, 32), "key": cache[0], "value": cache[1]}


def packed_call(queries: list[int], keys: list[int], heads: int, kv_heads: int) -> dict:
    return {
        "query": half(sum(queries), heads, 32),
        "key": half(sum(keys), kv_heads, 32, seed=1),
        "value": half(sum(keys), kv_heads, 32, seed=2),
        "q_ends": np.cumsum(queries).tolist(),
        "k_ends": np.cumsum(keys).tolist(),
    }


def check(op: Operator, arguments: dict, backend: str = "tile") -> None:
    expected = op(**arguments, precision="float64")
    got = op(**arguments, backend=backend)
    np.testing.assert_allclose(got.astype(float), expected.astype(float), atol=4e-3)


def test_the_plain_specs_are_right(tmp_path: Path) -> None:
    check(made(tmp_path, DENSE, DENSE_PLAIN), dense_call())
    check(made(tmp_path, PACKED, PACKED_PLAIN), packed_call([4, 70], [90, 7], 4, 2))


def test_a_part_of_the_query_is_refused(tmp_path: Path) -> None:
    body = DENSE_RESULT.replace("like=query", 'like=query, layouts="B N 1 D"')
    parts = {"query": "2 B N 1 D", "query_axes": "C B N Q D", "asked": "query.part(1)", "body": body}
    op = made(tmp_path, DENSE, DENSE_PLAIN, **parts)
    with pytest.raises(NotLowered, match=r"small_attention\.py:\d+: a part of query"):
        op(**{**dense_call(), "query": half(2, 2, 4, 1, 32)}, backend="tile")


@pytest.mark.parametrize("heads", [8, 4])
def test_a_bias_without_a_position_axis_is_the_same_for_all_positions(tmp_path: Path, heads: int) -> None:
    """With as many heads as key/value heads the rows of a task are positions, which the bias lacks."""
    bias = 'bias = op.input("bias", "B N1 S2", dtype=query, axes="B N T")'
    op = made(tmp_path, PACKED, PACKED_PLAIN, declared=bias, body=f"s = s + bias\n{PACKED_RESULT}")
    check(
        op,
        {**packed_call([4, 4], [30, 30], heads, 8 if heads == 8 else 2), "bias": half(2, heads, 30, seed=3)},
    )


@pytest.mark.parametrize("heads", [8, 4])
def test_a_scale_of_heads_quantizes_every_position(tmp_path: Path, heads: int) -> None:
    scale = 'scale = op.input("scale", "N1 D", dtype="float32", axes="N E")'
    result = "out = attend.quantize(attend.softmax(s) @ attend.packed(value, keys), scale)"
    op = made(
        tmp_path, PACKED, PACKED_PLAIN, declared=f"op.schedule(split_kv=1)\n{scale}",
        body=f'{result}\nop.output("out", out, like=query)',
    )  # fmt: skip
    call = packed_call([4, 5], [30, 30], heads, 8 if heads == 8 else 2)
    factors = np.random.default_rng(5).uniform(20, 60, (heads, 32)).astype(np.float32)
    expected = op(**call, scale=factors, precision="float64")
    got = op(**call, scale=factors, backend="tile")
    assert np.abs(got.astype(int) - expected).max() <= 1


def grouped(folder: Path, *, merged: bool) -> Operator:
    """Attention over one tensor of a list that each batch row names, with or without keys of its own."""
    text = (
        HEAD
        + """
B, N, K, T, D, G = op.dims("B N K T D G")
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D, G=G)
query = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B K T D", dtype=query, axes="B K T D")
value = op.input("value", "B K T D", dtype=query, axes="B K T E")
shared_key = op.input("shared_key", "K T D", dtype=query, axes="G K T D", list_of=G)
shared_value = op.input("shared_value", "K T D", dtype=query, axes="G K T E", list_of=G)
where = op.lengths("where", "B", dtype="int32", one_for_all=False)
mask = op.input("mask", "B T", dtype=("bool", "uint8"), axes="B T")

def part(keys, values, hidden):
    s = attend.scores(query, keys) * 0.2
    return attend.softmax(s.replace(mask, -1e12) if hidden else s) @ values

index = where[attend.BATCH]
shared = part(attend.listed(shared_key, index=index), attend.listed(shared_value, index=index), True)
"""
    )
    own = "attend.merge(part(attend.rows(key), attend.rows(value), False), shared)"
    file = folder / "small_attention.py"
    file.write_text(text + f'op.output("out", {own if merged else "shared"}, like=query)\n')
    return load_file(file)


@pytest.mark.parametrize("merged", [True, False])
def test_rows_that_share_keys_keep_their_own_masks(tmp_path: Path, merged: bool) -> None:
    """Row 3 names no tensor: it has its own keys alone, or zeros."""
    rng = np.random.default_rng(7)
    arguments = {
        "query": half(4, 4, 1, 32), "key": half(4, 2, 40, 32, seed=1), "value": half(4, 2, 40, 32, seed=2),
        "shared_key": [half(2, 40, 32, seed=3 + g) for g in range(2)],
        "shared_value": [half(2, 40, 32, seed=5 + g) for g in range(2)],
        "where": [0, 1, 1, -1], "mask": rng.random((4, 40)) < 0.4,
    }  # fmt: skip
    check(grouped(tmp_path, merged=merged), arguments)


def test_two_attentions_over_one_cache(tmp_path: Path) -> None:
    body = """
def part(keys, values):
    return attend.softmax(attend.scores(query, keys) * 0.3) @ values
first = part(attend.rows(key), attend.rows(value))
again = part(attend.rows(key), attend.rows(value))
op.output("out", attend.merge(first, again), like=query)
"""
    check(made(tmp_path, DENSE, DENSE_PLAIN, body=body), dense_call())


@pytest.mark.parametrize("layout", ["N1 T1 D", "T1 N1 D"])
def test_heads_that_lie_far_apart(tmp_path: Path, layout: str) -> None:
    """2,100 tokens of 32 channels between heads: more than a copy can express as a row pitch."""
    op = made(tmp_path, PACKED, PACKED_PLAIN, query=layout)
    call = packed_call([3, 2097], [20, 5], 4, 2)
    if layout.startswith("N"):
        call["query"] = np.ascontiguousarray(call["query"].transpose(1, 0, 2))
    check(op, call)
    program = prepare(op.bind(**call)).compiled.program
    choices = [str(item.condition) for item in program.statements() if isinstance(item, If)]
    assert any("queryStrideN <= 65535" in text for text in choices) == layout.startswith("N")


@pytest.mark.parametrize("queries", [[1, 0, 70, 0, 0, 130, 3], [0, 0, 1], [300]])
def test_items_of_all_lengths_follow_each_other(tmp_path: Path, queries: list[int]) -> None:
    """In one pipeline on two blocks: items without rows, without keys, with one tile and with many."""
    schedule = "op.schedule(tile_k=64, cores=2, split_kv=1)"
    op = made(tmp_path, PACKED, PACKED_PLAIN, declared=schedule)
    keys = [0 if number % 3 == 2 else 40 + 90 * number for number in range(len(queries))]
    check(op, packed_call(queries, keys, 4, 2))


def test_a_window_of_int8_rows(tmp_path: Path) -> None:
    """What wraps another source keeps all that it does, the preparation of its tiles too."""
    declared = """
cache = op.input("cache", "B K T D", dtype="int8", axes="B K T D")
scale = op.input("scale", "2 K D", dtype=query, axes="C K D")
lengths = op.lengths("lengths", "B", one_for_all=False)
n = lengths[attend.BATCH]
rows = attend.rows(attend.dequantize(cache, scale.part(0)), length=lengths)
"""
    keys = "attend.window(rows, n // 3, length=n - n // 3)"
    result = (
        "attend.softmax(s) @ attend.window(attend.rows(value, length=lengths), n // 3, length=n - n // 3)"
    )
    body = f'op.output("out", {result}, like=query)'
    op = made(tmp_path, DENSE, DENSE_PLAIN, declared=declared, keys=keys, body=body)
    cache = np.random.default_rng(8).integers(-100, 100, (2, 2, 700, 32)).astype(np.int8)
    scale = np.abs(half(2, 2, 32, seed=9)) / np.float16(50)
    call = {**dense_call(keys=700), "cache": cache, "scale": scale, "lengths": [700, 41]}
    check(op, call)


def test_an_index_picks_its_part_of_one_tensor(tmp_path: Path) -> None:
    declared = """
parts = op.input("parts", "B K T D", dtype=query, axes="G K T D")
values = op.input("values", "B K T D", dtype=query, axes="G K T E")
index = op.lengths("index", "B", one_for_all=False)
"""
    keys = "attend.listed(parts, index=index[attend.BATCH])"
    result = f"attend.softmax(s) @ {keys.replace('parts', 'values')}"
    body = f'op.output("out", {result}, like=query)'
    op = made(tmp_path, DENSE, DENSE_PLAIN, declared=declared, keys=keys, body=body)
    parts = {name: half(2, 2, 90, 32, seed=9) for name in ("parts", "values")}
    check(op, {**dense_call(), **parts, "index": [1, 0]})
