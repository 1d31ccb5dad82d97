"""Choices by the names that the documents give them: each means its number, with its prefix and without."""

from __future__ import annotations

from typing import Any

import pytest

from attndsl import ops
from attndsl.spec.operator.loader import load

ATB: dict[str, tuple[str, dict[str, int]]] = {
    "calcType": ("", {"UNDEFINED": 0, "ENCODER": 1, "DECODER": 2, "PA_ENCODER": 3, "PREFIX_ENCODER": 4}),
    "kernelType": ("KERNELTYPE_", {"DEFAULT": 0, "HIGH_PRECISION": 1}),
    "clampType": ("CLAMP_TYPE_", {"UNDEFINED": 0, "MIN_MAX": 1}),
    "maskType": (
        "MASK_TYPE_",
        {
            "UNDEFINED": 0, "NORM": 1, "ALIBI": 2, "NORM_COMPRESS": 3, "ALIBI_COMPRESS": 4,
            "ALIBI_COMPRESS_SQRT": 5, "ALIBI_COMPRESS_LEFT_ALIGN": 6, "SLIDING_WINDOW_NORM": 7,
            "SLIDING_WINDOW_COMPRESS": 8, "CAUSAL_MASK": 9,
        },
    ),
    "kvcacheCfg": ("", {"K_CACHE_V_CACHE": 0, "K_BYPASS_V_BYPASS": 1}),
    "scaleType": ("SCALE_TYPE_", {"TOR": 0, "LOGN": 1}),
    "inputLayout": ("TYPE_", {"BSND": 0, "BNSD": 1}),
    "cacheType": ("CACHE_TYPE_", {"NORM": 0, "SWA": 1}),
    "quantType": (
        "TYPE_",
        {
            "UNDEFINED": 0, "UNQUANT": 0, "QKV_OFFLINE": 2, "QKV_ONLINE": 3, "QUANT_UNDEFINED": 0,
            "QUANT_UNQUANT": 0, "QUANT_QKV_OFFLINE": 2, "QUANT_QKV_ONLINE": 3,
        },
    ),
    "outDataType": (
        "ACL_",
        {
            "DT_UNDEFINED": -1, "FLOAT": 0, "FLOAT16": 1, "INT8": 2, "INT32": 3, "UINT8": 4, "INT16": 6,
            "UINT16": 7, "UINT32": 8, "INT64": 9, "UINT64": 10, "DOUBLE": 11, "BOOL": 12, "BF16": 27,
        },
    ),
}  # fmt: skip


def choices(operator: Any, name: str) -> dict[Any, Any]:
    return dict(next(each for each in operator.params if each.name == name).choices)


@pytest.mark.parametrize("name", sorted(ATB))
def test_choices_of_self_attention(name: str) -> None:
    """All of its modes share them, but for what chooses the mode."""
    prefix, known = ATB[name]
    for operator in (ops.self_attention, *(ops.self_attention.modes if name != "calcType" else ())):
        found = choices(operator, name)
        assert {each for each in found if isinstance(each, str)} == {
            *known,
            *(prefix + each for each in known),
        }
        assert all(found[each] == found[prefix + each] == number for each, number in known.items())
        assert set(found.values()) == set(known.values())


@pytest.mark.parametrize(
    ("spec", "name", "wanted"),
    [
        ("relay_attention", "maskType", {"UNDEFINED": 0, "NORM": 1}),
        ("incre_flash_attention", "input_layout", {"BSH": "BSH", "BNSD": "BNSD"}),
        ("incre_flash_attention", "inner_precise", {0: 0, 1: 1}),
        ("nsa_compress_attention", "index_reading", {each: each for each in ("op", "paper", "literal0")}),
        ("self_attention", "isTriuMask", {0: 0, 1: 1}),
    ],
)
def test_choices_of_other_parameters(spec: str, name: str, wanted: dict[Any, Any]) -> None:
    found = choices(load(spec), name)
    assert found.items() >= wanted.items() and set(found.values()) == set(wanted.values())
