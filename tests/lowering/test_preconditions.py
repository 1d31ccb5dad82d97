"""A spec outside what the lowering covers is refused with its line; its near twin compiles and computes.

Each twin differs in the one thing that its rule is about.
"""

from pathlib import Path

import numpy as np
import pytest

from attndsl.base.package_files import specs_dir
from attndsl.compiler.compile import compile_operator
from attndsl.lowering.errors import IllegalScheduleValue, NotLowered
from attndsl.lowering.match.resolve_schedule import resolve
from attndsl.lowering.preconditions import RULES, largest_head
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator
from tests.support.devices import ARCHITECTURE, DEVICE
from tests.support.small_specs import decode_spec

SPEC = """
from attndsl.spec import attend, Operator
op = Operator("some_attention", summary="A variant.")
B, N, KN, T, D = op.dims("B N KN T D")
{extra}
op.axes(B=B, N=N, K=KN, Q={queries}, T=T, D=D, E={value_size}, L={copies})
query = op.input("query", "B N {query_dim} D", dtype={io}, axes="B N Q D")
key = op.input("key", "{key}", dtype={key_dtype}, axes="B K T D")
value = op.input("value", "B KN T {value_letter}", dtype=query, axes="B K T E")
bias = op.input("bias", "{bias}", dtype=query, axes="{bias_axes}"{optional})
{scale} = op.param("{scale}", float, default=1.0)
op.schedule({schedule})
s = attend.scores(query, attend.rows(key)) * {scale}
s = {modified}
p = attend.softmax(s)
out = {weights} @ attend.rows(value)
op.output("out", {result}, like=query{output})
{more}
"""
PLAIN = {
    "extra": "",
    "queries": "1",
    "query_dim": "1",
    "io": '("float16", "bfloat16")',
    "key": "B KN T D",
    "key_dtype": "query",
    "value_size": "D",
    "copies": "8",
    "value_letter": "D",
    "bias": "B N 1 T",
    "bias_axes": "B N Q T",
    "optional": ", optional=True",
    "scale": "scale_value",
    "schedule": "",
    "modified": "s + bias",
    "output": "",
    "weights": "p",
    "result": "out",
    "more": "",
}


def operator(tmp_path: Path, **changes: str) -> Operator:
    file = tmp_path / "some_attention.py"
    file.write_text(SPEC.format(**{**PLAIN, **changes}))
    return load_file(file)


def compile_(op: Operator, dtype: str = "float16", features: frozenset[str] = frozenset({"bias"})) -> None:
    compile_operator(op, Specialization(dtype=dtype, padded_head_size=32, features=features))


INT8 = {"io": '("float16", "int8")', "result": 'out.cast("float16")', "modified": "s"}
REFUSED = {
    "the_cube_takes_the_io_dtype": ({"io": '("float32", "float16")'}, "float32"),
    "statistics_are_fp32": (
        {"more": 'op.output("peaks", p.row_max.repeated(), like=query, layouts="B N 1 8")'},
        r"'peaks' of row statistics in the dtype of 'query' \(write dtype=\"float32\"\)",
    ),
    "repeated_statistics_have_a_block_of_copies": (
        {
            "copies": "4",
            "more": 'op.output("peaks", p.row_max.repeated(), like=query, layouts="B N 1 4",'
            ' dtype="float32")',
        },
        r"'peaks' of other than 8 copies \(leave \.repeated\(\) out",
    ),
    "statistics_are_not_of_padded_positions": (
        {
            "result": "out.replace(attend.condition(attend.QUERY >= 1), 0.0)",
            "more": 'op.output("peaks", p.row_max, like=query, layouts="B N 1", dtype="float32")',
        },
        "'peaks' of row statistics where positions are padded",
    ),
    "selections_sum_windows_over_groups": (
        {
            "extra": "op.axes(J=4, X=2)",
            "more": 'op.output("best", p.window_sum(step=4, last=3, counts=(4, 2)).sum_over_group().top(2),'
            ' like=query, layouts="B KN 1 2", dtype="int32")',
        },
        "'best' for queries that are not packed",
    ),
    "probabilities_have_the_io_dtype": ({"weights": "attend.requantize(p, 128)"}, "through int8 for float16"),
    "blocks_are_tiles": (INT8 | {"weights": "attend.requantize(p, 96)"}, "in blocks of 96 keys"),
    "rows_are_contiguous": ({"key": "B KN D T"}, "not contiguous"),
    "lists_are_told_apart": (
        {
            "key_dtype": "query, split=True",
            "modified": "attend.scores(query, attend.listed(key)) * scale_value + bias",
            "result": "p @ attend.listed(value)",
        },
        "key, one tensor or a list, without attend.when",
    ),
    "tensors_have_the_io_dtype": ({"key_dtype": '"bfloat16"'}, "key in a dtype other than the query's"),
    "integers_stand_for_numbers": (
        {"key_dtype": '"int8"'},
        r"key of dtype int8 beside queries of float16 .*; write attend\.dequantize\(key, scale\)",
    ),
    "results_have_the_io_dtype_or_fp32": (
        {"output": ', dtype="bfloat16"'},
        r"of dtype bfloat16 \(leave dtype out for that of 'query', or write dtype=\"float32\"\)",
    ),
}


REFUSED_SELECTIONS = {
    "windows_are_short": [
        ("ge=16, le=128, meaning=\"l'", "ge=16, meaning=\"l'", "more than 64 terms"),
        ("int, ge=1, le=32)", "int, ge=1, le=64)", "a selection of more than 32 blocks"),
    ],
    "selections_see_all_keys": [
        (
            "scores.replace(atten_mask, attend.LOWEST)",
            "scores.replace(attend.condition(attend.KEY > attend.QUERY), attend.LOWEST)",
            "a selection under a mask of indices",
        ),
    ],
    "heads_of_a_selection_fit_one_core": [
        (
            'op.limit(128 % (N1 // N2) == 0, "query heads a key/value head divide 128")',
            "",
            "groups of 65 heads",
        ),
        ("max_rows=128", "max_rows=64", "groups of 64 heads, of more than 32"),
    ],
}


# Rules that are about more than one line of one spec; each has a test of its own below.
REFUSED_ELSEWHERE = (
    "rows_fit_an_instruction",
    "padding_is_added_last",
    "one_attention_has_effects",
    "tensors_of_a_list_tell_their_rows",  # test_lists.py
    "integers_are_multiplied_in_fp16",  # test_dequantized_rows.py
    "scales_are_of_channels_or_heads",  # test_dequantized_rows.py
    "sinks_reach_all_rows",  # test_sinks.py
    "int8_probabilities_have_keys_side_by_side",  # test_selected_keys.py
    "earlier_partials_meet_all_rows",  # test_earlier_partials.py
    "offsets_need_row_sums",  # test_softmax_off.py
)


def test_the_plain_spec_compiles(tmp_path: Path) -> None:
    compile_(operator(tmp_path))
    compile_(operator(tmp_path), "bfloat16")
    compile_(operator(tmp_path, key_dtype='"float16"', io='"float16"'))  # said again, not taken over


@pytest.mark.parametrize("rule", REFUSED)
def test_rule_refuses_and_names_the_line(tmp_path: Path, rule: str) -> None:
    changes, words = REFUSED[rule]
    dtypes = {"the_cube_takes_the_io_dtype": "float32", "blocks_are_tiles": "int8"}
    with pytest.raises(NotLowered, match=words) as caught:
        compile_(operator(tmp_path, **changes), dtypes.get(rule, "float16"))
    assert "some_attention.py:" in str(caught.value)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_keys_of_another_dtype_than_the_queries_are_refused(tmp_path: Path, dtype: str) -> None:
    made = operator(tmp_path, key_dtype=f'"{dtype}"', io='"float16"')
    with pytest.raises(NotLowered, match=rf"key in a dtype other than the query's \({dtype}\)"):
        compile_(made)


@pytest.mark.parametrize("result", ["out", 'out.cast("float32")'])
def test_results_may_stay_fp32(tmp_path: Path, result: str) -> None:
    """``results_have_the_io_dtype_or_fp32``: said of the output, or of its value."""
    said = ', dtype="float32"' if result == "out" else ""
    compile_(operator(tmp_path, output=said, result=result))


def test_every_rule_is_tested() -> None:
    named = {rule.__name__ for rule in RULES}
    assert named == set(REFUSED) | set(REFUSED_SELECTIONS) | set(REFUSED_ELSEWHERE)


def test_head_sizes_beyond_an_instruction_are_refused(tmp_path: Path) -> None:
    """``rows_fit_an_instruction``: rows of the largest head size, and one fractal more."""
    op = operator(tmp_path)
    compile_operator(op, Specialization(dtype="float16", padded_head_size=largest_head(ARCHITECTURE)))
    with pytest.raises(NotLowered, match=r"some_attention\.py:.*head size 2048 \(kernels take up to 2032\)"):
        compile_operator(
            op, Specialization(dtype="float16", padded_head_size=largest_head(ARCHITECTURE) + 16)
        )


SCALED = "q = (query * 0.5).cast(query)"
NEW = "attend.packed(n, length=b * 0 + 1)"
APPENDED = f"k, v = (attend.append(attend.rows(c), {NEW}, position=at, length=at + 1) for c, n in pairs)"
ATTEND = "def one(q, k, v): return attend.softmax(attend.scores(q, k) * 0.2) @ v"
ALONE = 'op.output("out", one(q, k, v), like=query)'
MERGED = 'op.output("out", attend.merge(one(q, k, v), one(query, *plain)), like=query)'


def with_an_effect(folder: Path, effect: str, result: str) -> Operator:
    """A result to which an attention with an effect on queries or caches contributes."""
    new = 'op.input("new_{0}", "B K D", dtype=query, axes="U K {1}")'
    declared = (
        "op.axes(U=B)",
        'at = op.param("at", int, ge=0, default=5)',
        f"pairs = [(key, {new.format('key', 'D')}), (value, {new.format('value', 'E')})]",
    )
    body = (
        "plain = attend.rows(key), attend.rows(value)",
        "q, (k, v) = query, plain",
        effect,
        ATTEND,
        result,
    )
    return decode_spec(folder, *body, declared="\n".join(declared))


@pytest.mark.parametrize(
    ("effect", "words"),
    [(SCALED, "queries that are scaled"), (APPENDED, "a cache that")],
    ids=["scaled", "appended"],
)
def test_several_attentions_have_no_effects(tmp_path: Path, effect: str, words: str) -> None:
    """``one_attention_has_effects``: what is done once for the call is done for the only attention."""
    wanted = Specialization(dtype="float16", padded_head_size=32)
    compile_operator(with_an_effect(tmp_path, effect, ALONE), wanted)
    with pytest.raises(NotLowered, match=rf"small_decode\.py:.*{words}.* one of several attentions"):
        compile_operator(with_an_effect(tmp_path, effect, MERGED), wanted)


def padded_int8(folder: Path, first: str, second: str) -> Operator:
    """Results that are padded and quantized, in some order."""
    file = folder / "padded_int8.py"
    file.write_text(PADDED.format(first=first, second=second))
    return load_file(file)


PADDED = """
from attndsl.spec import attend, Operator
op = Operator("padded_int8", summary="Prompts of several lengths, padded to the longest, in int8.")
B, N, KN, S, T, D = op.dims("B N KN S T D")
op.axes(B=B, N=N, K=KN, Q=S, T=T, D=D, E=D)
query = op.input("query", "B N S D", dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", "B KN T D", dtype=query, axes="B K T D")
value = op.input("value", "B KN T D", dtype=query, axes="B K T E")
queries = op.lengths("queries", "B", dtype="int32", one_for_all=False)
scale = op.input("scale", "N D", dtype="float32", axes="N E")
offset = op.input("offset", "N D", dtype="float32", axes="N E")
out = attend.softmax(attend.scores(query, attend.rows(key)) * 0.2) @ attend.rows(value)
def padded(x):
    return x.replace(attend.condition(attend.QUERY >= queries[attend.BATCH]), 0.0)
out = {first}
op.output("out", {second}, like=query)
"""
OFFSET = "attend.quantize(out, scale, offset)"
SYMMETRIC = "attend.quantize(out, scale)"


def test_zeros_of_padded_positions_are_not_quantized(tmp_path: Path) -> None:
    """``padding_is_added_last``: zeros would become offsets."""
    with pytest.raises(NotLowered, match=r"padded_int8\.py:.*Quantize behind the zeros of padded positions"):
        compile_operator(
            padded_int8(tmp_path, "padded(out)", OFFSET), Specialization(dtype="float16", padded_head_size=32)
        )


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("backend", ["tile", "emulator"])
@pytest.mark.parametrize("order", [(OFFSET, "padded(out)"), ("padded(out)", SYMMETRIC)])
@pytest.mark.parametrize("size", [16, 32])
def test_padded_int8_results(tmp_path: Path, order: tuple[str, str], size: int, backend: str) -> None:
    op, rng = padded_int8(tmp_path, *order), np.random.default_rng(5)
    query = rng.standard_normal((2, 4, 6, size)).astype(np.float16)
    key, value = (rng.standard_normal((2, 2, 20, size)).astype(np.float16) for _ in range(2))
    numbers = {"scale": np.full((4, size), 50, np.float32), "offset": np.full((4, size), 20, np.float32)}
    call = {"query": query, "key": key, "value": value, "queries": [3, 6], **numbers}
    expected, got = op(**call, precision="float64"), op(**call, backend=backend)
    assert got.dtype == expected.dtype and np.abs(got.astype(int) - expected.astype(int)).max() <= 1
    assert not got[0, :, 3:].any() and got[0, :, :3].any()


@pytest.mark.parametrize("rule", REFUSED_SELECTIONS)
def test_a_selection_is_refused_and_its_line_named(tmp_path: Path, rule: str) -> None:
    """The shipped operator compiles (test_selection.py); with one word changed it does not."""
    for old, new, words in REFUSED_SELECTIONS[rule]:
        text = (specs_dir() / "nsa_compress_attention.py").read_text()
        assert text.count(old) == 1
        file = tmp_path / "changed.py"
        file.write_text(text.replace(old, new))
        with pytest.raises(NotLowered, match=words) as caught:
            compile_operator(
                load_file(file), Specialization(dtype="float16", padded_head_size=32, padded_value_size=32)
            )
        assert "changed.py:" in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"modified": "s - bias"},
        {"modified": "s * 0.5 + bias"},
        {"modified": "(s + bias) * scale_value"},
        {"scale": "group"},
        {"scale": "tile"},
        {"scale": "blocks"},
    ],
)
def test_near_twins_compute_the_same_on_tile_and_reference(tmp_path: Path, changes: dict[str, str]) -> None:
    op = operator(tmp_path, **changes)
    rng = np.random.default_rng(3)
    query = rng.standard_normal((2, 4, 1, 32)).astype(np.float16)
    key, value = (rng.standard_normal((2, 2, 90, 32)).astype(np.float16) for _ in range(2))
    bias = rng.standard_normal((2, 4, 1, 90)).astype(np.float16)
    arguments = {
        "query": query,
        "key": key,
        "value": value,
        "bias": bias,
        changes.get("scale", "scale_value"): 0.3,
    }
    expected = op(**arguments, precision="float64")
    got = op(**arguments, backend="tile")
    np.testing.assert_allclose(got.astype(float), expected.astype(float), atol=2**-9)


def test_a_modifier_without_a_rule_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotLowered, match=r"some_attention\.py:.*Cast"):
        compile_(operator(tmp_path, modified='s.cast("float16") + bias'))


@pytest.mark.parametrize("output", ["", ', dtype="float32"'])
def test_a_result_without_a_rule_is_refused(tmp_path: Path, output: str) -> None:
    """Rows are rounded once, when they are stored."""
    with pytest.raises(NotLowered, match=r"some_attention\.py:.*a result rounded to bfloat16 on the way"):
        compile_(operator(tmp_path, result='attend.tanh(out.cast("bfloat16"))', output=output))


def test_rows_must_divide_a_vector_core(tmp_path: Path) -> None:
    with pytest.raises(IllegalScheduleValue, match="nearest legal value is 8"):
        resolve({"rows": 16, "max_rows": 48}, DEVICE)
    assert resolve({"rows": 8, "max_rows": 48}, DEVICE).rows == 8
