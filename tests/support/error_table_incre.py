"""The error table of incre_flash_attention: calls, their classes of error, and words of the message."""

import ml_dtypes
import numpy as np

EITHER = (ValueError, RuntimeError)
F16, F32, I8, BF16 = np.float16, np.float32, np.int8, ml_dtypes.bfloat16


def dense(**changes):
    """A legal call: BSH, B 2, N 4, kvN 2, S 10, D 16."""
    call = {
        "query": np.ones((2, 1, 64), F16),
        "key": [np.ones((2, 10, 32), F16)],
        "value": [np.ones((2, 10, 32), F16)],
        "num_heads": 4,
        "num_key_value_heads": 2,
    }
    return call | changes


def bnsd(**changes):
    call = {
        "query": np.ones((2, 4, 1, 16), F16),
        "key": [np.ones((2, 2, 10, 16), F16)],
        "value": [np.ones((2, 2, 10, 16), F16)],
        "num_heads": 4,
        "num_key_value_heads": 2,
        "input_layout": "BNSD",
    }
    return call | changes


def int8(**changes):
    cache = np.ones((2, 10, 32), I8)
    scale = np.ones((2, 32), F16)
    return dense(key=[cache], value=[cache], antiquant_scale=scale) | changes


def paged(**changes):
    cache = np.ones((5, 16, 32), F16)
    call = {
        "key": [cache],
        "value": [cache],
        "block_table": np.array([[0, 3], [1, -1]], np.int32),
        "block_size": 16,
        "actual_seq_lengths": [20, 16],
    }
    return dense(**call) | changes


def both(tensor):
    return {"key": [tensor], "value": [tensor]}


def vector(*shape, dtype=F32):
    return np.ones(shape, dtype)


TABLE = [
    # types
    ("query dtype", dense(query=vector(2, 1, 64)), TypeError, "query"),
    (
        "all int8",
        dense(query=vector(2, 1, 64, dtype=I8), **both(vector(2, 10, 32, dtype=I8))),
        TypeError,
        "query",
    ),
    ("key and value dtypes differ", dense(value=[vector(2, 10, 32, dtype=I8)]), TypeError, "value"),
    ("key dtype unknown", dense(**both(vector(2, 10, 32))), TypeError, "key"),
    ("key neither int8 nor as query", dense(query=vector(2, 1, 64, dtype=BF16)), TypeError, "key"),
    ("attn_mask dtype", dense(attn_mask=np.zeros((2, 10), F16)), TypeError, "attn_mask"),
    ("pse_shift dtype", dense(pse_shift=vector(1, 4, 1, 10)), TypeError, "pse_shift"),
    ("pse_shift not as query", dense(pse_shift=vector(1, 4, 1, 10, dtype=BF16)), TypeError, "pse_shift"),
    ("scale_value int", dense(scale_value=1), TypeError, "write 1.0"),
    ("scale_value bool", dense(scale_value=True), TypeError, "scale_value"),
    ("scale_value str", dense(scale_value="1"), TypeError, "scale_value"),
    ("input_layout no str", dense(input_layout=1), TypeError, "input_layout"),
    ("num_heads no int", dense(num_heads=4.0), TypeError, "num_heads"),
    ("num_heads bool", dense(num_heads=True), TypeError, "num_heads"),
    ("num_key_value_heads no int", dense(num_key_value_heads="2"), TypeError, "num_key_value_heads"),
    ("inner_precise no int", dense(inner_precise=1.0), TypeError, "inner_precise"),
    ("quant_scale1 dtype", dense(quant_scale1=vector(1, dtype=F16)), TypeError, "quant_scale1"),
    ("quant_scale1 no tensor", dense(quant_scale1=1.0), TypeError, "quant_scale1"),
    ("quant_scale2 dtype", dense(quant_scale2=vector(1, dtype=F16)), TypeError, "quant_scale2"),
    ("quant_offset2 no tensor", dense(quant_scale2=vector(1), quant_offset2=2.0), TypeError, "quant_offset2"),
    ("dequant_scale1 dtype", dense(dequant_scale1=vector(1, dtype=I8)), TypeError, "dequant_scale1"),
    ("quant_scale1 valid", dense(quant_scale1=vector(1)), RuntimeError, "must be None"),
    ("dequant_scale1 valid", dense(dequant_scale1=vector(1, dtype="uint64")), RuntimeError, "must be None"),
    ("dequant_scale2 valid", dense(dequant_scale2=vector(3)), RuntimeError, "must be None"),
    ("antiquant_scale dtype", int8(antiquant_scale=vector(2, 32)), TypeError, "antiquant_scale"),
    ("block_table dtype", paged(block_table=np.zeros((2, 2), np.int64)), TypeError, "block_table"),
    ("kv_padding_size dtype", dense(kv_padding_size=np.array([1], np.int32)), TypeError, "kv_padding_size"),
    ("lengths dtype", dense(actual_seq_lengths=vector(2)), TypeError, "actual_seq_lengths"),
    ("lengths with a float", dense(actual_seq_lengths=[1, 2.0]), TypeError, "actual_seq_lengths[1]"),
    ("lengths with a bool", dense(actual_seq_lengths=[True, 2]), TypeError, "actual_seq_lengths[0]"),
    ("lengths a number", dense(actual_seq_lengths=3), TypeError, "actual_seq_lengths"),
    ("key a bare array", dense(key=vector(2, 10, 32, dtype=F16)), TypeError, "[key]"),
    ("key None", dense(key=None), TypeError, "key"),
    ("unknown argument", dense(num_head=4), TypeError, "num_heads"),
    # layout, heads
    ("input_layout unknown", dense(input_layout="BSND"), ValueError, "BNSD"),
    ("inner_precise 2", dense(inner_precise=2), ValueError, "inner_precise"),
    ("num_heads 0", dense(num_heads=0), RuntimeError, "num_heads"),
    ("num_heads negative", dense(num_heads=-4), RuntimeError, "num_heads"),
    ("num_key_value_heads negative", dense(num_key_value_heads=-1), EITHER, "num_key_value_heads"),
    # shapes
    ("two tensors in key", dense(key=[vector(2, 10, 32, dtype=F16)] * 2), RuntimeError, "as key is"),
    ("no tensor in key", dense(key=()), RuntimeError, "exactly 1"),
    (
        "key and value shapes differ",
        dense(value=[vector(2, 9, 32, dtype=F16)]),
        RuntimeError,
        "S = 10 from key",
    ),
    ("query S not 1", dense(query=vector(2, 3, 64, dtype=F16)), RuntimeError, "query"),
    ("query rank", dense(query=vector(2, 64, dtype=F16)), RuntimeError, "query"),
    ("key rank", dense(**both(vector(2, 2, 10, 16, dtype=F16))), RuntimeError, "key"),
    ("BNSD query heads", bnsd(num_heads=2), RuntimeError, "query"),
    ("BNSD key heads", bnsd(num_key_value_heads=1), RuntimeError, "key"),
    ("BNSD head size", bnsd(**both(vector(2, 2, 10, 8, dtype=F16))), RuntimeError, "D = 16 from query"),
    ("batch of key", dense(**both(vector(3, 10, 32, dtype=F16))), RuntimeError, "B = 2 from query"),
    ("kvH", dense(**both(vector(2, 10, 33, dtype=F16))), RuntimeError, "key"),
    ("mask dim0", dense(attn_mask=np.zeros((1, 10), bool)), RuntimeError, "attn_mask"),
    ("mask last", dense(attn_mask=np.zeros((2, 1, 11), bool)), RuntimeError, "attn_mask"),
    ("mask rank", dense(attn_mask=np.zeros((2, 1, 1, 1, 10), bool)), RuntimeError, "attn_mask"),
    ("pse dim0", dense(pse_shift=vector(3, 4, 1, 10, dtype=F16)), RuntimeError, "pse_shift"),
    ("pse last", dense(pse_shift=vector(1, 4, 1, 9, dtype=F16)), RuntimeError, "pse_shift"),
    (
        "pse with D % 16",
        dense(num_heads=8, num_key_value_heads=4, pse_shift=vector(1, 8, 1, 10, dtype=F16)),
        RuntimeError,
        "pse_shift",
    ),
    (
        "empty batch",
        dense(query=vector(0, 1, 64, dtype=F16), **both(vector(0, 10, 32, dtype=F16))),
        EITHER,
        "batch",
    ),
    # divisibility
    ("Q_H % num_heads", dense(num_heads=5, num_key_value_heads=1), ValueError, "60 and 65"),
    (
        "num_heads % num_key_value_heads",
        bnsd(num_key_value_heads=3, **both(vector(2, 3, 10, 16, dtype=F16))),
        ValueError,
        "3 and 6",
    ),
    # lengths
    ("three lengths", dense(actual_seq_lengths=[1, 2, 3]), ValueError, "actual_seq_lengths"),
    ("no length", dense(actual_seq_lengths=[]), ValueError, "actual_seq_lengths"),
    ("a column of lengths", dense(actual_seq_lengths=np.array([[1], [2]])), ValueError, "actual_seq_lengths"),
    ("length > S", dense(actual_seq_lengths=[3, 11]), ValueError, "actual_seq_lengths[1] is 11"),
    ("length negative", dense(actual_seq_lengths=[-1]), ValueError, "value is 0"),
    ("length beyond int64", dense(actual_seq_lengths=[2**70]), ValueError, "int64"),
    # paging
    ("paged without lengths", paged(actual_seq_lengths=None), RuntimeError, "pass actual_seq_lengths"),
    ("block_size 0", paged(block_size=0), RuntimeError, "block_size"),
    (
        "block_size misaligned",
        paged(block_size=8, **both(vector(5, 8, 32, dtype=F16))),
        RuntimeError,
        "block_size is 8; the nearest legal value is 16",
    ),
    ("block_size > 512", paged(block_size=528, **both(vector(5, 528, 32, dtype=F16))), RuntimeError, "512"),
    (
        "int8 blocks of 16",
        paged(**both(vector(5, 16, 32, dtype=I8)), antiquant_scale=vector(2, 32, dtype=F16)),
        RuntimeError,
        "block_size",
    ),
    ("block_table rank", paged(block_table=np.zeros(2, np.int32)), RuntimeError, "block_table"),
    ("block_table dim0", paged(block_table=np.zeros((3, 2), np.int32)), RuntimeError, "block_table"),
    ("too few columns", paged(actual_seq_lengths=[33, 1]), RuntimeError, "actual_seq_lengths[0] is 33"),
    ("more than 16k columns", paged(block_table=np.zeros((2, 16385), np.int32)), RuntimeError, "16384"),
    ("mask narrower than the table", paged(attn_mask=np.zeros((2, 31), bool)), RuntimeError, "attn_mask"),
    ("size beyond int32", paged(**both(np.broadcast_to(F16(1), (2**22 + 1, 16, 32)))), RuntimeError, "int32"),
    ("per-channel post quantization", paged(quant_scale2=vector(64)), RuntimeError, "quant_scale2"),
    (
        "block id too large",
        paged(block_table=np.array([[0, 5], [1, 1]], np.int32)),
        RuntimeError,
        "[0, 1] is 5",
    ),
    ("block id -1 in use", paged(block_table=np.array([[0, -1], [1, 1]], np.int32)), RuntimeError, "is -1"),
    # quantization
    ("int8 without scale", int8(antiquant_scale=None), EITHER, "pass antiquant_scale"),
    ("scale without int8", dense(antiquant_scale=vector(2, 32, dtype=F16)), EITHER, "antiquant_scale"),
    ("offset without scale", dense(antiquant_offset=vector(2, 32, dtype=F16)), EITHER, "antiquant_scale"),
    ("scale shape", int8(antiquant_scale=vector(2, 31, dtype=F16)), EITHER, "antiquant_scale"),
    ("quant_offset2 alone", dense(quant_offset2=vector(1)), EITHER, "pass quant_scale2"),
    ("quant_scale2 shape", dense(quant_scale2=vector(2)), EITHER, "quant_scale2"),
]
