"""What a caller may write, from the documents: names of choices, dtypes of arguments, layouts of masks."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from attndsl.api import ops
from attndsl.base.errors import UserError
from attndsl.spec import errors
from attndsl.spec.operator.loader import load
from tests.support import error_table_incre as incre
from tests.support import error_table_nsa as nsa
from tests.support import error_table_relay as relay
from tests.support import error_table_self_attention as sa

QUANT_TYPES = {"UNDEFINED": 0, "UNQUANT": 0, "QKV_OFFLINE": 2, "QKV_ONLINE": 3}
DTYPES = "DT_UNDEFINED FLOAT FLOAT16 INT8 INT32 UINT8 . INT16 UINT16 UINT32 INT64 UINT64 DOUBLE BOOL"
CALC_TYPES = "UNDEFINED ENCODER DECODER PA_ENCODER PREFIX_ENCODER"
MASK_TYPES = (
    "UNDEFINED NORM ALIBI NORM_COMPRESS ALIBI_COMPRESS ALIBI_COMPRESS_SQRT ALIBI_COMPRESS_LEFT_ALIGN"
    " SLIDING_WINDOW_NORM SLIDING_WINDOW_COMPRESS CAUSAL_MASK"
)


def numbered(words: str, *prefixes: str, start: int = 0) -> dict[str, int]:
    """The names, with each prefix, by their place; a dot is a number without a name."""
    found = {name: value for value, name in enumerate(words.split(" "), start=start) if name != "."}
    return {f"{prefix}{name}": value for name, value in found.items() for prefix in ("", *prefixes)}


NAMES: dict[tuple[str, str], dict[str, int]] = {
    ("self_attention", "quantType"): {
        f"{prefix}{name}": value
        for name, value in QUANT_TYPES.items()
        for prefix in ("", "TYPE_", "QUANT_", "TYPE_QUANT_")
    },
    ("self_attention", "outDataType"): {**numbered(DTYPES, "ACL_", start=-1), "BF16": 27, "ACL_BF16": 27},
    ("self_attention", "calcType"): numbered(CALC_TYPES),
    ("self_attention", "kvcacheCfg"): numbered("K_CACHE_V_CACHE K_BYPASS_V_BYPASS"),
    ("self_attention", "maskType"): numbered(MASK_TYPES, "MASK_TYPE_"),
    ("self_attention", "kernelType"): numbered("DEFAULT HIGH_PRECISION", "KERNELTYPE_"),
    ("self_attention", "clampType"): numbered("UNDEFINED MIN_MAX", "CLAMP_TYPE_"),
    ("self_attention", "scaleType"): numbered("TOR LOGN", "SCALE_TYPE_"),
    ("self_attention", "inputLayout"): numbered("BSND BNSD", "TYPE_"),
    ("self_attention", "cacheType"): numbered("NORM SWA", "CACHE_TYPE_"),
    ("relay_attention", "maskType"): numbered("UNDEFINED NORM", "MASK_TYPE_"),
}


@pytest.mark.parametrize(("name", "parameter"), NAMES)
def test_a_choice_has_the_names_and_numbers_of_the_document(name: str, parameter: str) -> None:
    wanted = NAMES[name, parameter]
    modes = () if parameter == "calcType" else load(name).modes  # a mode has its own value alone
    for operator in (load(name), *modes):
        (spec,) = (each for each in operator.params if each.name == parameter)
        assert dict(spec.choices) == wanted | {value: value for value in wanted.values()}


@pytest.mark.parametrize("reading", ["op", "paper", "literal0"])
def test_every_reading_of_the_sums_is_taken(reading: str) -> None:
    assert len(ops.nsa_compress_attention(**nsa.call(index_reading=reading))) == 4


BF16 = ml_dtypes.bfloat16


def cast(call: dict[str, Any], dtype: Any) -> dict[str, Any]:
    """The call with all float16 tensors in another dtype."""

    def one(value: Any) -> Any:
        if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            return [one(each) for each in value]
        return value.astype(dtype) if getattr(value, "dtype", None) == np.float16 else value

    return {name: one(value) for name, value in call.items()}


def shape_of(result: Any) -> tuple[int, ...]:
    found: tuple[int, ...] = (result[0] if isinstance(result, tuple) else result).shape
    return found


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("incre_flash_attention", incre.dense()),
        ("incre_flash_attention", incre.int8()),
        ("nsa_compress_attention", nsa.call()),
        ("relay_attention", relay.call()),
        ("self_attention", sa.fa()),
        ("self_attention", sa.pa()),
        ("self_attention", sa.prefix()),
        ("self_attention", sa.prefix(maskType=3, mask=sa.triangle(fill=1.0))),
    ],
)
def test_bfloat16_is_as_good_as_float16_and_float32_is_not(name: str, call: dict[str, Any]) -> None:
    function = getattr(ops, name)
    assert shape_of(function(**cast(call, BF16)))[0] == call["query"].shape[0]
    with pytest.raises(UserError, match="float32"):
        function(**cast(call, np.float32))


@pytest.mark.parametrize("shape", [(2, 10), (2, 1, 10), (2, 1, 1, 10)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
def test_masks_of_decoding(shape: tuple[int, ...], dtype: str) -> None:
    hidden = np.zeros(shape, dtype)
    hidden[..., 3] = 1
    call = incre.dense(attn_mask=hidden)
    rows = np.arange(10.0, dtype=np.float16)[None, :, None]
    call["value"] = [np.broadcast_to(rows, (2, 10, 32)).copy()]
    assert np.allclose(ops.incre_flash_attention(**call), 42 / 9, atol=0.01)  # all but 3 of 0 ... 9


@pytest.mark.parametrize(
    ("kind", "shape", "legal"),
    [
        (1, (9, 9), True),
        (2, (9, 9), True),
        (2, (4, 9, 9), True),  # a head each
        (1, (4, 9, 9), False),
        (1, (2, 9, 9), True),  # a batch row each
        (2, (2, 9, 9), True),
        (1, (2, 4, 9, 9), True),
        (2, (2, 4, 9, 9), True),
        (1, (3, 9, 9), False),
    ],
)
def test_masks_by_head_and_by_batch_row(kind: int, shape: tuple[int, ...], legal: bool) -> None:
    call = sa.fa(headNum=4, maskType=kind, attentionMask=sa.full(*shape))
    if legal:
        assert shape_of(ops.self_attention(**call)) == (7, 32)
    else:
        with pytest.raises(UserError, match="attentionMask"):
            ops.self_attention(**call)


@pytest.mark.parametrize(("kind", "legal"), [(4, True), (5, True), (6, False)])
def test_alibi_of_columns(kind: int, legal: bool) -> None:
    call = sa.pa_alibi(maskType=kind, mask=sa.full(2, 9, 128))
    if legal:
        assert shape_of(ops.self_attention(**call)) == (7, 2, 16)
    else:
        with pytest.raises(UserError, match="mask"):
            ops.self_attention(**call)


@pytest.mark.parametrize(
    ("name", "call", "first"),
    [
        ("nsa_compress_attention", nsa.call(), "topk_mask"),
        ("relay_attention", relay.call(), "headNum"),
        ("self_attention", sa.fa(), "headNum"),
    ],
)
def test_parameters_are_passed_by_name(name: str, call: dict[str, Any], first: str) -> None:
    text = load(name).contract_text().splitlines()[0]
    assert "*, " in text and text.index("*, ") < text.index(f" {first}")


def rows(batch: int, heads: int, size: int, keys: int, **more: Any) -> dict[str, Any]:
    """Decoding of zeros."""
    cache = np.zeros((batch, heads, keys, size), np.float16)
    call = {"query": np.zeros((batch, heads, 1, size), np.float16), "key": [cache], "value": [cache]}
    return {**call, "num_heads": heads, "input_layout": "BNSD"} | more


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        ((65536, 1, 16, 1), (65537, 1, 16, 1)),
        ((1, 256, 16, 1), (1, 257, 16, 1)),
        ((1, 1, 512, 1), (1, 1, 513, 1)),
        ((1, 1, 16, 262144), (1, 1, 16, 262145)),
    ],
)
def test_limits_of_kernels_that_decode(within: tuple[int, ...], beyond: tuple[int, ...]) -> None:
    ops.incre_flash_attention.bind(**rows(*within)).check_target()
    with pytest.raises(errors.TargetLimitError):
        ops.incre_flash_attention.bind(**rows(*beyond)).check_target()


@pytest.mark.parametrize(("count", "legal"), [(256, True), (257, False)])
def test_limit_of_tensors_in_a_list(count: int, legal: bool) -> None:
    entries = [np.zeros((1, 1, 1, 16), np.float16)] * count
    bound = ops.incre_flash_attention.bind(**rows(count, 1, 16, 1, key=entries, value=entries))
    if legal:
        bound.check_target()
    else:
        with pytest.raises(errors.TargetLimitError):
            bound.check_target()
