"""Calls with some numbers in the place of a tensor that is absent, or with the bytes of one read anew."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl import ops
from attndsl.expr import Symbol
from attndsl.graph.nodes import CacheAppend, Scalar
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.verify.cases import other_calls as other_calls_module
from attndsl.verify.cases.other_calls import (
    _again_and_again,
    _in_layout,
    _is_meant,
    _symbols_read,
    _with_some,
    _without,
    may_matter,
    other_calls,
)
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_call, decode_spec


def decoding() -> Call:
    rows = np.arange(2 * 2 * 9 * 16, dtype=np.float16).reshape(2, 2, 9, 16)
    return ops.incre_flash_attention.bind(
        np.ones((2, 2, 1, 16), np.float16), key=[rows], value=[rows], num_heads=2, num_key_value_heads=2,
        input_layout="BNSD", actual_seq_lengths=[5, 9],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kind"),
    [("pse_shift", "f"), ("block_table", "i"), ("kv_padding_size", "i"), ("quant_scale2", "f")],
)
def test_some_numbers_stand_for_what_is_not_passed(name: str, kind: str) -> None:
    """Neighbours differ where they are numbers; integers are 0, which any table holds."""
    call = decoding()
    other = _with_some(call, call.operator.tensor(name))
    array = other.arrays[name]
    assert other.present - call.present == {name} and name in other.layouts
    assert other.env()[f"given({name})"] is True and array.dtype.kind == kind
    if kind == "i":
        assert not array.any()
    elif array.size > 1:
        flat = array.reshape(-1)
        assert (flat[1:] != flat[:-1]).all()


def test_a_tensor_that_is_left_out_is_nowhere() -> None:
    call = decoding()
    other = _without(call, "actual_seq_lengths")
    assert call.present - other.present == {"actual_seq_lengths"}
    assert "actual_seq_lengths" not in {*other.arrays, *other.lists, *other.layouts}
    env = other.env()
    assert env["given(actual_seq_lengths)"] is False and env["dtype(actual_seq_lengths)"] is None


@pytest.mark.parametrize(
    ("size", "shape"),
    [(6, (2, 3)), (6, (4, 3)), (7, (5, 5)), (1, (3, 4)), (9, (2, 2)), (3, (0, 4)), (0, (0,))],
)
def test_bytes_are_read_again_and_again(size: int, shape: tuple[int, ...]) -> None:
    """As far as there are any, from the first on."""
    array: Array = np.arange(1, size + 1)
    assert (_again_and_again(array, shape) == np.resize(array, shape)).all()


def test_the_same_bytes_are_read_in_another_layout() -> None:
    call = decoding()
    spec = call.operator.tensor("key")
    assert call.layouts["key"] == "BNSD" and _is_meant(spec.layouts["BNSD"], call)
    meant = [key for key, layout in spec.layouts.items() if _is_meant(layout, call)]
    assert "BNSD" in meant and set(meant) < set(spec.layouts)
    other = _in_layout(call, spec, "BSH")
    assert other is not None and other.layouts["key"] == "BSH"
    assert other.arrays["key"].shape == (2, 9, 32)
    assert (other.arrays["key"].reshape(-1) == call.arrays["key"].reshape(-1)).all()
    assert other.env()["layout(key)"] == "BSH" and call.layouts["key"] == "BNSD"


CHOSEN = """
kind = op.param("kind", int, default=1, choices=(1, 2, 3, 4, 5))
wide = op.param("wide", bool, default=False)
idle = op.param("idle", int, default=0, choices=(0, 1))
"""


def test_choices_that_are_read_have_other_values_tried(tmp_path: Path) -> None:
    """Three at most; what nothing reads has none, and cannot matter."""
    body = f"{DECODE_SCORES}; s = attend.when(wide == 0, s, s * 2.0) * attend.index(kind + b * 0)"
    call = decode_spec(tmp_path, body, DECODE_RESULT, declared=CHOSEN).bind(**decode_call(t=5, d=16), kind=2)
    assert [each.params["kind"] for each in other_calls(call, "kind=2")] == [1, 3, 4]
    assert [each.params["wide"] for each in other_calls(call, "wide=False")] == [True]
    assert not list(other_calls(call, "idle=0")) and not may_matter(call, "idle=0")
    assert may_matter(call, "kind=2") and may_matter(call, "wide=False") and may_matter(call, "dtype float16")
    assert {"kind", "T", "D"} <= _symbols_read(call) and "idle" not in _symbols_read(call)


def test_where_rows_are_stored_is_read_as_sizes_of_all_layouts_are() -> None:
    """Rows that are stored at a number of a call; sizes of arguments, of results, and of axes."""
    append = object.__new__(CacheAppend)
    for each in fields(CacheAppend):
        object.__setattr__(append, each.name, None)
    object.__setattr__(append, "position", Scalar(value=Symbol("at") + 1))

    def shown(size: str) -> Any:
        return SimpleNamespace(layouts={"": SimpleNamespace(shape=lambda: (Symbol(size),))})

    declared = SimpleNamespace(
        tensors=(shown("rows"),), outputs=(shown("made"),), axis_extents={"B": Symbol("batch")}
    )
    for outputs, found in (((append,), {"at"}), ((), set())):
        call: Any = SimpleNamespace(graph=SimpleNamespace(outputs=outputs), operator=declared)
        assert _symbols_read(call) == {*found, "rows", "made", "batch"}


def test_some_numbers_have_the_dtype_of_the_call_and_a_layout_that_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the tensor may have that dtype; none are passed where no layout has them."""
    layouts: Any = {"no": None, "none": None, "some": None, "more": None}
    monkeypatch.setattr(other_calls_module, "_is_meant", lambda layout, call: True)
    monkeypatch.setattr(
        other_calls_module,
        "_in_layout",
        lambda call, spec, key: (call, key) if key in ("some", "more") else None,
    )
    call = decoding()
    for dtypes, like, wanted in (
        (("float32", "float16"), (), "float16"),
        (("float32", "int8"), (), "float32"),
        (("float32",), ("query",), "float16"),
    ):
        spec: Any = SimpleNamespace(name="x", dtypes=dtypes, dtype_like=like, layouts=layouts)
        passed, key = _with_some(call, spec)  # type: ignore[misc]
        assert key == "some" and passed.arrays["x"].dtype == wanted
    monkeypatch.setattr(other_calls_module, "_is_meant", lambda layout, call: False)
    assert _with_some(call, spec) is call


def test_tensors_that_nothing_reads_cannot_matter() -> None:
    call = decoding()
    assert may_matter(call, "actual_seq_lengths") and not may_matter(call, "block_table")
    first, second = other_calls(call, "actual_seq_lengths")
    assert "actual_seq_lengths" not in first.arrays
    assert second.arrays["actual_seq_lengths"].tolist() == [4, 8]
    assert not list(other_calls(call, "dtype float16"))


# Parts, each on its own -------------------------------------------------------------------------------------


def size(value: int) -> Any:
    return SimpleNamespace(evaluate=lambda env: value)


def test_steps_are_those_of_axes_with_several_elements() -> None:
    """Not of what is broadcast, nor of dimensions that are no axis."""
    axes = [("B", 2, False), ("N", 1, False), ("T", 5, True), (None, 4, False), ("D", 16, False)]
    dims = [[SimpleNamespace(role=role, extent=size(of), broadcast=same)] for role, of, same in axes]
    strides = {role: size(10 * of) for role, of, _ in axes if role is not None}
    layout: Any = SimpleNamespace(dims=dims, strides=lambda: strides)
    assert other_calls_module._steps(layout, {}) == {"B": 20, "D": 160}


@pytest.mark.parametrize(
    ("extents", "rows"),
    [({"S": 9, "B": 2, "Q": 3, "T": 4}, 9), ({"B": 2, "Q": 3, "T": 4}, 6), ({"B": 2, "T": 7}, 7), ({}, 1)],
)
def test_sizes_that_no_tensor_has_are_as_large_as_any(extents: dict[str, int], rows: int) -> None:
    """Of a layout; parameters and known sizes are what they are."""
    dims = {"known": None, "zero": None, "new": None, "other": None}
    call: Any = SimpleNamespace(
        env=lambda: {"known": 5, "zero": 0}, extents=extents, operator=SimpleNamespace(dims_by_name=dims)
    )
    names = ("known", "zero", "new", "count")
    layout: Any = SimpleNamespace(shape=lambda: tuple(Symbol(name) for name in names))
    assert other_calls_module._with_sizes(call, layout) == {"zero": rows, "new": rows}


@pytest.mark.parametrize(
    ("indexed", "layouts", "stands_for", "wanted"),
    [
        (False, {"own": (6, 1), "one": (6, 2), "two": (6, 1), "three": (9, 2)}, 0, ["one"]),
        (True, {"own": (6, 1), "one": (6, 2), "two": (6, 1), "three": (9, 2)}, 0, ["one", "two"]),
        (False, {"own": (6, 1), "two": (6, 1), "none": None}, 0, ["changed"]),
        (False, {"own": (6, 1), "one": (6, 2)}, 9, ["one", *["stands for"] * 6]),
        (False, {"own": (6, 1)}, 2, ["stands for", "stands for", "changed"]),
    ],
)
def test_the_same_bytes_in_layouts_that_read_them_otherwise(
    monkeypatch: pytest.MonkeyPatch,
    indexed: bool,
    layouts: dict[str, Any],
    stands_for: int,
    wanted: list[str],
) -> None:
    """Of as many elements. What is read by indices has no steps; where nothing else is read, other values."""
    module = other_calls_module

    def told(key: str, of: Any) -> Any:
        arrays = {"x": SimpleNamespace(size=of[0])}
        return SimpleNamespace(name=key, arrays=arrays, layouts={"x": key}, env=lambda: {"key": key})

    monkeypatch.setattr(
        module, "_in_layout", lambda call, spec, key: layouts[key] and told(key, layouts[key])
    )
    monkeypatch.setattr(module, "_steps", lambda layout, env: layouts[env["key"]][1])
    others = [SimpleNamespace(name="stands for")] * stands_for
    monkeypatch.setattr(module, "_without_what_it_stands_for", lambda call, spec: iter(others))
    monkeypatch.setattr(module, "_with_other_values", lambda call, name: SimpleNamespace(name="changed"))
    spec: Any = SimpleNamespace(name="x", indexed=indexed, layouts=dict.fromkeys(layouts))
    found = list(module._in_other_layouts(told("own", layouts["own"]), spec))
    assert [each.name for each in found] == wanted
    absent = SimpleNamespace(layouts={"x": "own"}, arrays={})
    assert [each.name for each in module._in_other_layouts(absent, spec)] == ["changed"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "reads", "changes", "computes", "wanted"),
    [
        (int, True, False, False, [1, 3]),
        (int, False, False, False, []),
        (int, False, True, False, [1, 3]),
        (int, False, False, True, [1, 3]),
        (bool, True, False, False, [True, False]),
    ],
)
def test_other_choices_are_those_that_decide_something(
    monkeypatch: pytest.MonkeyPatch, kind: type, reads: bool, changes: bool, computes: bool, wanted: list[Any]
) -> None:
    """What is computed reads them, or tensors, layouts or the computation are others."""
    module = other_calls_module
    monkeypatch.setattr(module, "_symbols_read", lambda call: {"kind"} if reads else set())
    monkeypatch.setattr(module, "_computation", lambda call: call.value if computes else "same")

    def told(value: Any) -> Any:
        layouts = {"x": value if changes else "same"}
        return SimpleNamespace(value=value, params={"kind": value}, layouts=layouts, present=frozenset("x"))

    monkeypatch.setattr(module, "_with_choice", lambda call, name, value: told(value))
    param: Any = SimpleNamespace(name="kind", type=kind, choices={1: 1, "ONE": 1, 2: 2, 3: 3})
    found = [each.value for each in module._with_other_choices(told(2), param)]
    assert found == ([False, True] if kind is bool else wanted)


@pytest.mark.parametrize(("asks", "wanted"), [("kind", [3]), ("other", []), (None, [])])
def test_a_layout_stands_for_the_choices_that_its_condition_asks_for(
    monkeypatch: pytest.MonkeyPatch, asks: str | None, wanted: list[int]
) -> None:
    """Those are tried with which it is none of theirs."""
    module = other_calls_module
    condition = None if asks is None else Symbol(asks) < 3
    calls = [SimpleNamespace(value=value, env=lambda value=value: {"kind": value}) for value in (1, 3)]
    monkeypatch.setattr(module, "_with_other_choices", lambda call, param: iter(calls))
    operator = SimpleNamespace(params=(SimpleNamespace(name="kind"), SimpleNamespace(name="free")))
    call: Any = SimpleNamespace(layouts={"x": "own"}, operator=operator)
    spec: Any = SimpleNamespace(name="x", layouts={"own": SimpleNamespace(when=condition)})
    assert [each.value for each in module._without_what_it_stands_for(call, spec)] == wanted  # type: ignore[attr-defined]
