"""Every shape and spelling that the documents allow for one tensor or parameter, with what it means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl import ops
from attndsl.spec.contract.layout import Array

RNG = np.random.default_rng(11)
BATCH, HEADS, KEYS, SIZE = 2, 2, 6, 16


def some(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float16)


QUERY, KEY, VALUE = (
    some(BATCH, HEADS, 1, SIZE),
    some(BATCH, HEADS, KEYS, SIZE),
    some(BATCH, HEADS, KEYS, SIZE),
)


def decoded(**more: Any) -> Array:
    """incre_flash_attention of the same numbers."""
    known = {"num_heads": HEADS, "scale_value": 0.25, "input_layout": "BNSD"}
    known |= {"query": QUERY, "key": [KEY], "value": [VALUE]}
    return np.asarray(ops.incre_flash_attention(**(known | more)), np.float64)


HIDDEN = np.arange(BATCH * KEYS).reshape(BATCH, KEYS) % 3 == 1


@pytest.mark.parametrize("shape", [(BATCH, KEYS), (BATCH, 1, KEYS), (BATCH, 1, 1, KEYS)])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8])
def test_masks_of_decoding_have_up_to_four_dimensions(shape: tuple[int, ...], dtype: type) -> None:
    """All hide the same keys, those with any number but 0."""
    weights = np.einsum("bnqd,bntd->bnt", QUERY.astype(float), KEY.astype(float)) * 0.25
    weights = np.exp(np.where(HIDDEN[:, None], -np.inf, weights))
    weights /= weights.sum(axis=-1, keepdims=True)
    wanted = np.einsum("bnt,bntd->bnd", weights, VALUE.astype(float))
    found = decoded(attn_mask=HIDDEN.reshape(shape).astype(dtype))
    np.testing.assert_allclose(found[:, :, 0], wanted, atol=4e-3)


@pytest.mark.parametrize("rows", [1, BATCH])
def test_biases_are_for_each_batch_row_or_for_all(rows: int) -> None:
    bias = some(rows, HEADS, 1, KEYS)
    every = np.broadcast_to(bias, (BATCH, HEADS, 1, KEYS)).copy()
    assert np.array_equal(decoded(pse_shift=bias), decoded(pse_shift=every))
    assert not np.array_equal(decoded(pse_shift=bias), decoded())


@pytest.mark.parametrize("padding", [np.array(2, np.int64), np.array([2], np.int64)])
def test_left_padding_is_a_number_or_one_in_a_tensor(padding: Array) -> None:
    """The last row that is read lies so far before the end."""
    found = decoded(actual_seq_lengths=[3, 3], kv_padding_size=padding)
    moved = decoded(key=[KEY[:, :, 1:]], value=[VALUE[:, :, 1:]], actual_seq_lengths=[3, 3])
    assert np.array_equal(found, moved)


def merged(rows: Array) -> Array:
    """(B, N, S, D) as (B, S, N * D)."""
    return rows.transpose(0, 2, 1, 3).reshape(len(rows), rows.shape[2], -1)


def test_heads_are_merged_or_apart() -> None:
    found = decoded(query=merged(QUERY), key=[merged(KEY)], value=[merged(VALUE)], input_layout="BSH")
    assert np.array_equal(found.reshape(BATCH, HEADS, 1, SIZE), decoded())


@pytest.mark.parametrize("shape", [(2, HEADS, 1, SIZE), (2, HEADS * SIZE)])
def test_factors_of_quantized_keys_are_for_keys_and_then_for_values(shape: tuple[int, ...]) -> None:
    """For the channels of all heads."""
    layout = "BNSD" if len(shape) == 4 else "BSH"
    turned = merged if layout == "BSH" else np.asarray
    integers = RNG.integers(-9, 10, (BATCH, HEADS, KEYS, SIZE)).astype(np.int8)
    scale = (0.25 + 0.5 * RNG.random((2, HEADS, 1, SIZE))).astype(np.float16)
    found = decoded(
        query=turned(QUERY),
        key=[turned(integers)],
        value=[turned(integers)],
        antiquant_scale=scale.reshape(shape),
        input_layout=layout,
    )
    key, value = (integers.astype(float) * scale[i].astype(float)[None] for i in (0, 1))
    wanted = decoded(key=[key.astype(np.float16)], value=[value.astype(np.float16)])
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, atol=2e-2)


@pytest.mark.parametrize("shape", [(1,), (HEADS * SIZE,)])
def test_results_are_quantized_by_one_factor_or_one_a_channel(shape: tuple[int, ...]) -> None:
    """With an offset of the same shape."""
    scale = (8 + 4 * RNG.random(shape)).astype(np.float32)
    offset = (5 * RNG.random(shape)).astype(np.float32)
    query, key, value = merged(QUERY), [merged(KEY)], [merged(VALUE)]
    plain = decoded(query=query, key=key, value=value, input_layout="BSH")
    found = decoded(
        query=query, key=key, value=value, input_layout="BSH", quant_scale2=scale, quant_offset2=offset
    )
    assert np.abs(found - (plain * scale + offset)).max() <= 0.75


TOKENS = {name: some(BATCH, KEYS, HEADS, SIZE) for name in ("own", "shared")}


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_heads_of_own_and_of_shared_keys_are_merged_or_apart(own: bool, shared: bool) -> None:
    def entries(rows: Array, apart: bool) -> list[Array]:
        return [each if apart else each.reshape(KEYS, -1) for each in rows]

    def relayed(own: bool, shared: bool) -> Array:
        return np.asarray(
            ops.relay_attention(
                QUERY.reshape(BATCH, -1),
                entries(TOKENS["own"], own),
                entries(TOKENS["own"] + 1, own),
                entries(TOKENS["shared"], shared),
                entries(TOKENS["shared"] - 1, shared),
                attentionMask=np.zeros(1, np.float16),
                seqLen=[1, 1],
                kvSeqLen=[7, 5],
                kvShareMap=[1, -1],
                kvShareLen=[2, 3],
                headNum=HEADS,
                qkScale=0.25,
            )
        )

    assert np.array_equal(relayed(own, shared), relayed(True, True))


@pytest.mark.parametrize(
    "spelled",
    [
        {"maskType": "MASK_TYPE_NORM_COMPRESS", "calcType": "PA_ENCODER", "isTriuMask": 1},
        {"maskType": "NORM_COMPRESS", "calcType": 3},
        {"maskType": 3, "calcType": 3},
    ],
)
def test_choices_are_spelled_as_names_or_numbers(spelled: dict[str, Any]) -> None:
    rows = some(3, 4, HEADS, SIZE)
    mask = np.where(np.triu(np.ones((128, 128)), 1) > 0, -10000, 0).astype(np.float16)
    found = ops.self_attention(*rows, mask=mask, seqLen=[4], headNum=HEADS, **spelled)
    assert np.array_equal(np.asarray(found)[0], rows[2, 0])  # the first token sees itself alone


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((4, 4), "NORM"),
        ((1, 4, 4), "NORM"),
        ((1, HEADS, 4, 4), "NORM"),
        ((HEADS, 4, 4), "ALIBI"),
        ((1, 4, 4), "ALIBI"),
        ((5, 9), "NORM"),
    ],
)
def test_masks_of_prompts_are_for_all_for_heads_or_for_batch_rows(shape: tuple[int, ...], kind: str) -> None:
    rows, last = some(3, 4, HEADS, SIZE), shape[-2:]
    mask = np.broadcast_to(np.where(np.triu(np.ones(last), 1) > 0, -10000, 0), shape).astype(np.float16)
    found = np.asarray(
        ops.self_attention(*rows, mask=mask, seqLen=[4], headNum=HEADS, maskType=kind, calcType="PA_ENCODER")
    )
    causal = np.where(np.triu(np.ones((128, 128)), 1) > 0, -10000, 0).astype(np.float16)
    wanted = ops.self_attention(
        *rows, mask=causal, seqLen=[4], headNum=HEADS, maskType="NORM_COMPRESS", calcType="PA_ENCODER"
    )
    np.testing.assert_allclose(found.astype(float), np.asarray(wanted, float), atol=2e-3)
