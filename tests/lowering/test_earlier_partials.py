"""Partials of earlier calls as parts of a merge: results against float64 by hand, their place in a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.expr import Symbol
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.results.earlier_partials import merge_earlier, merges_earlier
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.errors import GraphError
from attndsl.spec.operator.operator import Operator
from attndsl.tile.statements import Stage
from tests.support.builders import DECODING, PADDED, attention, context, contexts, dense, lines, tensor
from tests.support.small_specs import (
    DECODE_SCORES,
    assert_computes,
    decode_call,
    decode_spec,
    halves,
    packed_call,
    packed_spec,
)

EARLIER = """
before = op.input("before", "B N 1 D", dtype={dtype}, axes="B N Q E")
logs = op.input("logs", "B N 1", dtype="float32", axes="B N Q")
"""
DECLARED = EARLIER.format(dtype='"float32"')
PART = "part = attend.softmax(s) @ attend.rows(value)"
MERGE = "m = attend.merge((before, logs), part)"
OUT = 'op.output("out", m, like=query, dtype="float32")'
LSE = 'op.output("lse", m.lse, like=query, layouts="B N 1", dtype="float32")'
BACKENDS = ["reference", "tile", "emulator"]
_RNG = np.random.default_rng(7)

Array = Any


def rows(*shape: int) -> tuple[Array, Array]:
    """The rows of an earlier partial and their log-sum-exps; each third is absent, and no number."""
    out, lse = _RNG.standard_normal(shape), 6 + 2 * _RNG.standard_normal(shape[:-1])
    absent = np.arange(lse.size).reshape(lse.shape) % 3 == 1
    out[absent] = np.nan
    return out.astype(np.float32), np.where(absent, -np.inf, lse).astype(np.float32)


def attended(call: dict[str, Any], visible: Array, scale: float = 0.2) -> tuple[Array, Array]:
    """Decoding in float64, where ``visible``, broadcast over (B, N, T), holds."""
    query, key, value = (np.asarray(call[name], np.float64) for name in ("query", "key", "value"))
    key, value = (np.repeat(each, query.shape[1] // key.shape[1], axis=1) for each in (key, value))
    scores = np.einsum("bnqd,bntd->bnqt", query, key) * scale
    scores = np.where(np.broadcast_to(visible, scores[:, :, 0].shape)[:, :, None], scores, -np.inf)
    with np.errstate(divide="ignore"):
        lse = np.log(np.exp(scores).sum(axis=-1))
    weights = np.exp(scores - np.where(np.isneginf(lse), 0, lse)[..., None])
    return np.einsum("bnqt,bntd->bnqd", weights, value), lse


def merged(*parts: tuple[Array, Array]) -> tuple[Array, Array]:
    """The formula of the merge, in float64: absent rows are left out of the sum."""
    logs = [np.asarray(lse, np.float64) for _, lse in parts]
    lse = np.logaddexp.reduce(logs)
    out = np.zeros(parts[0][0].shape)
    for (rows_of, _), each in zip(parts, logs, strict=True):
        share = np.exp(each - np.where(np.isneginf(lse), 0, lse))[..., None]
        out += np.where(share > 0, share * np.asarray(rows_of, np.float64), 0)
    return out, lse


def agrees(found: tuple[Array, Array], want: tuple[Array, Array], tolerance: float = 2e-3) -> None:
    np.testing.assert_allclose(np.asarray(found[0], np.float64), want[0], rtol=0, atol=tolerance)
    np.testing.assert_allclose(found[1], want[1], rtol=2e-5, atol=2e-5)


def compiled(op: Operator, dtype: str = "float16", size: int = 32, **special: Any) -> None:
    compile_operator(op, Specialization(dtype=dtype, padded_head_size=size, **special))


# Results ----------------------------------------------------------------------------------------------------


@pytest.mark.sweep(fast=4)
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (6, 2)], ids=["mha", "gqa"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_step_of_decoding(tmp_path: Path, backend: str, heads: int, kv_heads: int, splits: int) -> None:
    """Rows that are absent before, now (a batch row without keys), in both and in neither."""
    declared = DECLARED + 'count = op.lengths("count", "B", one_for_all=False)'
    scores = DECODE_SCORES + "\ns = s.where(j < count[b])"
    schedule = f"tile_k=128, split_kv={splits}"
    op = decode_spec(tmp_path, scores, PART, MERGE, OUT, LSE, declared=declared, schedule=schedule)
    call, before = decode_call(b=3, n=heads, k=kv_heads, t=400), rows(3, heads, 1, 32)
    counts = np.array([400, 0, 130])
    found = op(**call, before=before[0], logs=before[1], count=counts.tolist(), backend=backend)
    want = merged(before, attended(call, np.arange(400) < counts[:, None, None]))
    agrees(found, want)
    nobody = np.isneginf(want[1])
    assert nobody.any() and (found[0][nobody] == 0).all() and (found[1][nobody] == -np.inf).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_in_the_dtype_of_the_query(tmp_path: Path, backend: str) -> None:
    declared, out = EARLIER.format(dtype="query"), 'op.output("out", m, like=query)'
    op = decode_spec(tmp_path, DECODE_SCORES, PART, MERGE, out, LSE, declared=declared)
    call, (before, logs) = decode_call(), rows(2, 4, 1, 32)
    before = before.astype(np.float16)
    found = op(**call, before=before, logs=logs, backend=backend)
    assert found[0].dtype == np.float16
    agrees(found, merged((before, logs), attended(call, np.True_)), 4e-3)


@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_packed_prompts_with_several_heads_a_position(tmp_path: Path, backend: str) -> None:
    """A head size that is no multiple of 16, rows of several steps, heads whose layout is not the query's."""
    declared = """
before = op.input("before", "N T1 D", dtype="float32", axes="N S E")
logs = op.input("logs", "N T1", dtype="float32", axes="N S")
"""
    part = "m = attend.merge(attend.softmax(s.where(j <= i)) @ attend.packed(value, keys), (before, logs))"
    lse = LSE.replace("B N 1", "T1 N")
    op = packed_spec(tmp_path, part, OUT, lse, declared=declared)
    before, logs = rows(4, 45, 40)
    call = packed_call([37, 5, 3], [300, 5, 0], d=40) | {"before": before, "logs": logs}
    out, lse = op(**call, backend=backend)
    want, want_lse = op(**call, precision="float64")
    agrees((out, lse), (want, want_lse))
    turned = np.moveaxis(np.where(np.isneginf(logs)[..., None], 0, before), 0, 1)
    np.testing.assert_allclose(out[42:], turned[42:], rtol=1e-6)  # what has no keys now is what was before


@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_several_partials_several_attentions_and_a_sink(tmp_path: Path, backend: str) -> None:
    declared = DECLARED + DECLARED.replace("before", "older").replace("logs", "olds")
    declared += 'sinks = op.input("sinks", "N", dtype="float32", axes="N")'
    body = f"""
{DECODE_SCORES}
first = attend.softmax(s.where(j < 90), sink=sinks) @ attend.rows(value)
second = attend.softmax(s.where(j >= 200)) @ attend.rows(value)
m = attend.merge((before, logs), first, (older, olds), second)
"""
    op = decode_spec(tmp_path, body, OUT, LSE, declared=declared)
    call, one, two = decode_call(), rows(2, 4, 1, 32), rows(2, 4, 1, 32)
    two[1][...] = np.roll(two[1], 1)  # other rows are absent
    two = np.nan_to_num(two[0]), two[1]
    sinks = np.array([-np.inf, 0.5, 4, 7], np.float32)
    more = {"before": one[0], "logs": one[1], "older": two[0], "olds": two[1], "sinks": sinks}
    keys = np.arange(300)
    sink = np.zeros((2, 4, 1, 32)), np.broadcast_to(sinks[:, None], (2, 4, 1))
    parts = one, two, sink, attended(call, keys < 90), attended(call, keys >= 200)
    agrees(op(**call, **more, backend=backend), merged(*parts))


@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_quantized_values_are_dequantized_before_the_merge(tmp_path: Path, backend: str) -> None:
    declared = (
        DECLARED
        + """
codes = op.input("codes", "B K T D", dtype="int8", axes="B K T E")
step = op.input("step", "K D", dtype=query, axes="K E")
zero = op.input("zero", "K D", dtype=query, axes="K E")
"""
    )
    part = PART.replace("attend.rows(value)", "attend.rows(attend.dequantize(codes, step, zero))")
    op = decode_spec(tmp_path, DECODE_SCORES, part, MERGE, OUT, LSE, declared=declared)
    call, (before, logs) = decode_call(), rows(2, 4, 1, 32)
    codes = _RNG.integers(-60, 60, call.pop("value").shape).astype(np.int8)
    step, zero = (abs(halves(2, 32)) / 64 + 1 / 64, halves(2, 32))
    values = (codes + zero[None, :, None].astype(float)) * step[None, :, None].astype(float)
    more = {"before": before, "logs": logs, "codes": codes, "step": step, "zero": zero}
    found = op(**call, value=halves(2, 2, 300, 32), **more, backend=backend)
    agrees(found, merged((before, logs), attended({**call, "value": values}, np.True_)), 6e-3)


def test_split_prefill_adds_up_to_attention_over_all_keys(tmp_path: Path) -> None:
    """Two steps, each a call of its own, give what one call over all keys gives."""
    op = decode_spec(tmp_path, DECODE_SCORES, PART, MERGE, OUT, LSE, declared=DECLARED)
    call = decode_call(t=512)
    state: tuple[Array, Array] = (
        np.full((2, 4, 1, 32), np.nan, np.float32),
        np.full((2, 4, 1), -np.inf, np.float32),
    )
    for keys in (slice(0, 200), slice(200, 512)):
        step = {name: np.ascontiguousarray(call[name][:, :, keys]) for name in ("key", "value")}
        state = op(query=call["query"], **step, before=state[0], logs=state[1], backend="tile")
    agrees(state, attended(call, np.True_))


def test_fp32_results_are_not_rounded_to_the_dtype_of_the_query(tmp_path: Path) -> None:
    op = decode_spec(tmp_path, DECODE_SCORES, PART, 'op.output("out", part, like=query, dtype="float32")')
    for backend in BACKENDS:
        found = op(**decode_call(), backend=backend)
        assert found.dtype == np.float32
        assert (found != found.astype(np.float16)).mean() > 0.9


# Their place in a kernel ------------------------------------------------------------------------------------


def with_earlier(query: tuple[str, ...] = DECODING, dtype: str = "float32") -> nodes.Output:
    """The merge of an attention and a partial."""
    alone = attention(query)
    out = tensor("before", ("B", "N", "Q", "E"), dtype)
    lse = tensor("logs", ("B", "N", "Q"), "float32")
    partial = nodes.EarlierPartial(out=out, lse=lse)
    merge = nodes.LogSumExpMerge(parts=(partial, alone.source))
    return nodes.Output(name="out", source=merge, dtype="query", axes=merge.axes)


def test_an_attention_alone_merges_nothing() -> None:
    assert not merges_earlier(context(attention()))
    assert merges_earlier(context(with_earlier()))


def test_the_first_key_split_takes_them() -> None:
    once, some = (lines(merge_earlier(context(with_earlier(), split_kv=splits))) for splits in (1, "auto"))
    assert "if split == 0:" in some and "if split == 0:" not in once
    assert [line for line in some if line != "if split == 0:"] == once


def test_rows_are_rescaled_to_the_larger_maximum() -> None:
    found = lines(merge_earlier(context(with_earlier(), split_kv=1)))
    vector = [line.removeprefix("V     ") for line in found if line.startswith("V ")]
    made = [line for line in vector if line.startswith(("rowMax", "newMax[stepRows]", "tileStat", "rowSum"))]
    stem = [line.split("[")[0] + " = " + line.split(" = ")[1].split("(")[0] for line in made]
    assert stem == [
        *("tileStat = Max", "rowMax = Sub", "newMax = Sub", "rowMax = Exp", "newMax = Exp"),
        *("rowSum = Mul", "rowSum = Add", "rowMax = Adds"),
    ]


def test_absent_rows_are_told_by_their_log_sum_exp_and_read_as_zeros() -> None:
    found = lines(merge_earlier(context(with_earlier(), split_kv=1)))
    told = next(line for line in found if line.startswith("V     earlierPresent"))
    assert "GE" in told and "earlierLanes" in told
    place = found.index(told)
    assert found[place + 1].startswith("V     partial[") and "Select(earlierPresent" in found[place + 1]
    weighed = next(at for at, line in enumerate(found) if at > place and "= Mul(partial" in line)
    assert weighed > place


@pytest.mark.parametrize(("dtype", "lands"), [("float32", "partial"), ("float16", "earlierRows")])
def test_rows_land_in_their_own_dtype(dtype: str, lands: str) -> None:
    c = context(with_earlier(PADDED, dtype), positions=Symbol("Q"))
    found = lines(merge_earlier(c))
    loads = [line for line in found if line.startswith("MTE2")]
    assert loads and all(line.split()[1].startswith(f"{lands}[") for line in loads)
    assert any("Cast(earlierRows" in line for line in found) == (dtype == "float16")


def test_the_first_attention_with_an_item_for_each_row_takes_them() -> None:
    named = nodes.Listed(
        tensors=tensor("shared", ("G", "K", "T", "D")),
        index=tensor("index", ("B",), "int64"),
        axes=("B", "K", "T", "D"),
    )
    values = nodes.Listed(
        tensors=tensor("others", ("G", "K", "T", "E")), index=named.index, axes=("B", "K", "T", "E")
    )
    part = with_earlier().source
    assert isinstance(part, nodes.LogSumExpMerge)
    parts = (attention(keys=named, values=values).source, *part.parts)
    output = nodes.Output(name="out", source=nodes.LogSumExpMerge(parts=parts), dtype="query", axes=part.axes)
    assert [len(each.earlier) for each in recognize((output,)).attentions] == [0, 1]


def test_statistics_leave_after_the_merge(tmp_path: Path) -> None:
    op = decode_spec(tmp_path, DECODE_SCORES, PART, MERGE, OUT, LSE, declared=DECLARED)
    joint = compile_operator(op, Specialization(dtype="float16", padded_head_size=32)).joint
    order = [each.name for each in joint.body.walk() if isinstance(each, Stage)]
    assert order.index("UpdateTile") < order.index("MergeEarlier") < order.index("WriteStatistics")


# Refusals ---------------------------------------------------------------------------------------------------

NEAR_MISSES = {
    "out without lse": (DECLARED, "attend.merge(before, part)", r"write \(before, lse\) with the fp32"),
    "lse in half precision": (
        DECLARED.replace('"B N 1", dtype="float32"', '"B N 1", dtype=query'),
        "attend.merge((before, logs), part)",
        r"is float32, not bfloat16/float16: declare it with dtype=\"float32\"",
    ),
    "lse of batch rows and heads alone": (
        DECLARED.replace('"B N 1", dtype="float32", axes="B N Q"', '"B N", dtype="float32", axes="B N"'),
        "attend.merge((before, logs), part)",
        r"has the axes \(B, N, Q\), not \(B, N\)",
    ),
    "out with the channels of queries": (
        DECLARED.replace('axes="B N Q E"', 'axes="B N Q D"'),
        "attend.merge((before, logs), part)",
        r"not \(B, N, Q, D\); pass axes=\"B N Q E\" to op.input",
    ),
    "lse and out exchanged": (
        DECLARED,
        "attend.merge((logs, before), part)",
        r"rows of an earlier partial have the axes \(B, N, Q, E\).*not \(B, N, Q\)",
    ),
    "no attention": (DECLARED, "attend.merge((before, logs))", "one part is a softmax times value rows"),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses_are_told_at_their_line_what_to_write(tmp_path: Path, name: str) -> None:
    declared, merge, words = NEAR_MISSES[name]
    with pytest.raises(GraphError, match=rf"small_decode\.py:\d+: .*{words}"):
        decode_spec(tmp_path, DECODE_SCORES, PART, f"m = {merge}", OUT, declared=declared)


REFUSED = {
    "rows of several dtypes": (
        EARLIER.format(dtype='(query, "float32")'),
        MERGE,
        r"before of several dtypes .*declare it with the dtype of the query or \"float32\"",
    ),
    "rows that are computed": (
        DECLARED,
        MERGE.replace("before,", "before * 2,"),
        "whose rows are computed .*pass its rows as they are",
    ),
    "statistics of a part": (
        DECLARED,
        MERGE + "\np = attend.softmax(s)\n" + LSE.replace("m.lse", "p.lse").replace('"lse"', '"own"'),
        r"row statistics of other probabilities.*m = attend.merge",
    ),
}


def test_a_result_is_like_the_query(tmp_path: Path) -> None:
    """Its dtype is that of the call; one that is like the rows before it would make the call fp32."""
    out = OUT.replace('like=query, dtype="float32"', "like=before")
    op = decode_spec(tmp_path, DECODE_SCORES, PART, MERGE, out, declared=DECLARED)
    words = (
        r"small_decode\.py:\d+: result out like 'before', in float32 \(write like=query, dtype=\"float32\"\)"
    )
    with pytest.raises(NotLowered, match=words):
        compiled(op, "float32")


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_kernel_is_refused_at_its_line(tmp_path: Path, name: str) -> None:
    declared, merge, words = REFUSED[name]
    op = decode_spec(tmp_path, DECODE_SCORES, PART, merge, OUT, declared=declared)
    with pytest.raises(NotLowered, match=rf"small_decode\.py:\d+: .*{words}"):
        compiled(op)


def test_rows_that_may_name_no_tensor_have_no_item_to_merge_in(tmp_path: Path) -> None:
    declared = f"""{DECLARED}
index = op.lengths("index", "B", one_for_all=False)
op.axes(G=B)
parts = op.input("parts", "B K T D", dtype=query, axes="G K T D")
others = op.input("others", "B K T D", dtype=query, axes="G K T E")
"""
    listed = "attend.listed({}, index=index[b])"
    scores = f"s = attend.scores(query, {listed.format('parts')}) * 0.2"
    part = PART.replace("attend.rows(value)", listed.format("others"))
    op = decode_spec(tmp_path, scores, part, MERGE, OUT, declared=declared)
    with pytest.raises(NotLowered, match="an earlier partial of rows that may name no tensor of a list"):
        compiled(op)


def test_operations_follow_a_merge(tmp_path: Path) -> None:
    """The epilogue, and functions of its log-sum-exp, as of other results."""
    body = (DECODE_SCORES, PART, MERGE, OUT.replace(", m,", ", attend.tanh(m) * attend.sigmoid(m.lse),"))
    op = decode_spec(tmp_path, *body, declared=DECLARED)
    before, logs = rows(2, 4, 1, 32)
    assert_computes(op, "tile", **decode_call(), before=before, logs=logs)


def test_contexts_of_other_attentions_merge_nothing() -> None:
    source = with_earlier().source
    assert isinstance(source, nodes.LogSumExpMerge)
    second = attention(keys=dense("other"), values=dense("more", "E")).source
    merge = nodes.LogSumExpMerge(parts=(*source.parts, second))
    output = nodes.Output(name="out", source=merge, dtype="query", axes=merge.axes)
    assert [merges_earlier(each) for each in contexts(output)] == [True, False]
