"""The error table of nsa_compress_attention: legal calls, wrong calls, and what is said of them."""

import ml_dtypes
import numpy as np

F16, F32, I8, I32, BF16 = np.float16, np.float32, np.int8, np.int32, ml_dtypes.bfloat16


def t(*shape, dtype=F16):
    return np.ones(shape, dtype)


def call(**changes):
    """A legal call: two batch rows of 3 and 2 queries, 9 and 4 keys, 3 and 1 blocks; N1 4, N2 2, D 32, 16."""
    found = {
        "query": t(5, 4, 32),
        "key": t(13, 2, 32),
        "value": t(13, 2, 16),
        "scale_value": 0.5,
        "head_num": 4,
        "compress_block_size": 32,
        "compress_stride": 16,
        "select_block_size": 64,
        "select_block_count": 1,
        "topk_mask": np.zeros((3, 3), bool),
        "atten_mask": np.zeros((3, 9), bool),
        "actual_seq_qlen": [3, 5],
        "actual_cmp_seq_kvlen": [9, 13],
        "actual_sel_seq_kvlen": [3, 4],
    }
    return {**found, **changes}


def sizes(block, stride, select, **changes):
    """A legal call with other windows, but for what is wrong with them."""
    return call(compress_block_size=block, compress_stride=stride, select_block_size=select, **changes) | {
        "topk_mask": None
    }


def without(name):
    return {key: value for key, value in call().items() if key != name}


LEGAL = {
    "plain": call(),
    "tuples": call(actual_seq_qlen=(3, 5), actual_cmp_seq_kvlen=(9, 13), actual_sel_seq_kvlen=(3, 4)),
    "no masks": call(topk_mask=None, atten_mask=None),
    "uint8 masks": call(topk_mask=t(3, 3, dtype="uint8"), atten_mask=t(3, 9, dtype="uint8")),
    "larger masks": call(topk_mask=np.ones((4, 5), bool), atten_mask=np.ones((7, 30), bool)),
    "an integer scale": call(scale_value=1),
    "a NumPy scale": call(scale_value=np.float32(0.5), head_num=np.int64(4)),
    "bfloat16": call(
        query=t(5, 4, 32, dtype=BF16), key=t(13, 2, 32, dtype=BF16), value=t(13, 2, 16, dtype=BF16)
    ),
    "a batch row without queries": call(actual_seq_qlen=[0, 5], topk_mask=None, atten_mask=None),
    "l % d != 0": sizes(80, 48, 96, actual_sel_seq_kvlen=[5, 7]),
    "the smallest windows": sizes(16, 16, 16, actual_sel_seq_kvlen=[9, 13]),
    "the largest windows": sizes(128, 64, 128, actual_sel_seq_kvlen=[5, 7]),
    "head sizes 8 and 7": call(query=t(5, 4, 8), key=t(13, 2, 8), value=t(13, 2, 7), relaxed=True),
}


TABLE = [
    # types
    ("query a list", call(query=[1.0]), TypeError, "query: must be a NumPy array"),
    ("key None", call(key=None), TypeError, "key: a tensor is needed"),
    ("value left out", without("value"), TypeError, "value: this argument is missing"),
    ("query float32", call(query=t(5, 4, 32, dtype=F32)), TypeError, "query: dtype float32"),
    ("query int8", call(query=t(5, 4, 32, dtype=I8)), TypeError, "query: dtype int8"),
    ("key dtype", call(key=t(13, 2, 32, dtype=BF16)), TypeError, "key: dtype bfloat16 differs from query"),
    ("value dtype", call(value=t(13, 2, 16, dtype=F32)), TypeError, "value: dtype float32"),
    ("topk_mask dtype", call(topk_mask=t(3, 3)), TypeError, "topk_mask: dtype float16"),
    ("atten_mask dtype", call(atten_mask=t(3, 9, dtype=I32)), TypeError, "atten_mask: dtype int32"),
    ("atten_mask no tensor", call(atten_mask=True), TypeError, "atten_mask"),
    ("scale text", call(scale_value="1"), TypeError, "scale_value: must be a Python float"),
    ("scale bool", call(scale_value=True), TypeError, "scale_value"),
    ("scale None", call(scale_value=None), TypeError, "scale_value"),
    ("scale left out", without("scale_value"), TypeError, "scale_value: this argument is missing"),
    *(
        (f"{name} {kind}", call(**{name: value}), TypeError, f"{name}: must be a Python int")
        for name in (
            "head_num",
            "compress_block_size",
            "compress_stride",
            "select_block_size",
            "select_block_count",
        )
        for kind, value in (("float", 16.0), ("bool", True), ("text", "16"), ("None", None))
    ),
    *(
        (f"{name} {kind}", call(**{name: value}), TypeError, name)
        for name in ("actual_seq_qlen", "actual_cmp_seq_kvlen", "actual_sel_seq_kvlen")
        for kind, value in (
            ("None", None),
            ("a number", 5),
            ("an array", np.array([1, 2])),
            ("floats", [1.0, 2.0]),
            ("bools", [True, False]),
            ("text", "12"),
        )
    ),
    ("actual_seq_qlen left out", without("actual_seq_qlen"), TypeError, "actual_seq_qlen"),
    ("relaxed int", call(relaxed=1), TypeError, "relaxed"),
    ("an unknown argument", call(sparse_mode=1), TypeError, "sparse_mode"),
    # shapes and heads
    ("query rank 4", call(query=t(1, 5, 4, 32)), ValueError, "query: shape [1, 5, 4, 32] has 4 dimensions"),
    ("key rank 2", call(key=t(13, 64)), ValueError, "key"),
    ("value rank 4", call(value=t(13, 2, 16, 1)), ValueError, "value"),
    ("N1 % N2", call(key=t(13, 3, 32), value=t(13, 3, 16)), ValueError, "legal values of N1 are 3 and 6"),
    ("N1 < N2", call(key=t(13, 8, 32), value=t(13, 8, 16)), ValueError, "a multiple of the number of heads"),
    ("N2 0", call(key=t(13, 0, 32), value=t(13, 0, 16)), ValueError, "key: must have at least one head"),
    ("head_num", call(head_num=8), ValueError, "head_num is 8; N1 is 4; the nearest legal value is 4"),
    (
        "head_num 0",
        call(head_num=0),
        ValueError,
        "head_num: must be > 0, got 0; the nearest legal value is 1",
    ),
    ("head_num -1", call(head_num=-1), ValueError, "head_num"),
    ("D1 of key", call(key=t(13, 2, 16)), ValueError, "D1 = 32 from query"),
    (
        "D2 > D1",
        call(value=t(13, 2, 48)),
        ValueError,
        "D2 is 48; D1 is 32; the nearest legal value of D2 is 32",
    ),
    ("D2 > D1 relaxed", call(value=t(13, 2, 33), relaxed=True), ValueError, "D2 is 33"),
    (
        "D1 0",
        call(query=t(5, 4, 0), key=t(13, 2, 0), value=t(13, 2, 0)),
        ValueError,
        "the nearest legal value of D1 is 16",
    ),
    ("D2 0", call(value=t(13, 2, 0)), ValueError, "value: must have a head size"),
    (
        "D1 % 16",
        call(query=t(5, 4, 40), key=t(13, 2, 40)),
        ValueError,
        "the nearest legal values of D1 are 32 and 48",
    ),
    ("D2 % 16", call(value=t(13, 2, 7)), ValueError, "the nearest legal value of D2 is 16"),
    ("T of value", call(value=t(12, 2, 16)), ValueError, "T2 = 13 from key"),
    ("N of value", call(value=t(13, 1, 16)), ValueError, "N2 = 2 from key"),
    # windows
    (
        "l 18",
        sizes(18, 16, 64),
        ValueError,
        "compress_block_size is 18; the nearest legal values are 16 and 32",
    ),
    ("l 0", sizes(0, 16, 64), ValueError, "compress_block_size: must be >= 16, got 0"),
    ("l 144", sizes(144, 16, 64), ValueError, "compress_block_size: must be <= 128, got 144"),
    (
        "d 15",
        sizes(32, 15, 64),
        ValueError,
        "compress_stride: must be >= 16, got 15; the nearest legal value is 16",
    ),
    ("d 24", sizes(32, 24, 64), ValueError, "the nearest legal values are 16 and 32"),
    ("d 80", sizes(128, 80, 128), ValueError, "compress_stride: must be <= 64, got 80"),
    ("l' 15", sizes(32, 16, 15), ValueError, "select_block_size: must be >= 16, got 15"),
    ("l' 72", sizes(32, 16, 72), ValueError, "the nearest legal values are 64 and 80"),
    ("l' 144", sizes(32, 16, 144), ValueError, "select_block_size: must be <= 128"),
    ("k 33", call(select_block_count=33), ValueError, "must be <= 32, got 33; the nearest legal value is 32"),
    ("k 0", call(select_block_count=0), ValueError, "must be >= 1, got 0; the nearest legal value is 1"),
    ("k -1", call(select_block_count=-1), ValueError, "select_block_count"),
    ("l < d", sizes(16, 32, 64), ValueError, "at least compress_stride; compress_block_size is 16"),
    ("l' < l", sizes(64, 16, 48), ValueError, "at least compress_block_size; select_block_size is 48"),
    ("l' % d", sizes(32, 32, 48), ValueError, "a multiple of compress_stride"),
    # prefix sums
    ("two and one", call(actual_seq_qlen=[5]), ValueError, "actual_cmp_seq_kvlen: must have B = 1 entries"),
    (
        "two and three",
        call(actual_sel_seq_kvlen=[3, 4, 4]),
        ValueError,
        "actual_sel_seq_kvlen: must have B = 2",
    ),
    (
        "empty",
        call(actual_seq_qlen=[], actual_cmp_seq_kvlen=[], actual_sel_seq_kvlen=[]),
        ValueError,
        "actual_seq_qlen: must have at least one batch row",
    ),
    ("empty queries", call(actual_seq_qlen=[]), ValueError, "must have B = 0"),
    (
        "negative",
        call(actual_seq_qlen=[-1, 5]),
        ValueError,
        "actual_seq_qlen[0] is -1; the nearest legal value is 0",
    ),
    ("decreasing", call(actual_seq_qlen=[6, 5]), ValueError, "is 5"),
    (
        "decreasing keys",
        call(actual_cmp_seq_kvlen=[14, 13]),
        ValueError,
        "actual_cmp_seq_kvlen[1]",
    ),
    ("decreasing blocks", call(actual_sel_seq_kvlen=[3, 2]), ValueError, "actual_sel_seq_kvlen[1] is 2"),
    ("last below T1", call(actual_seq_qlen=[3, 4]), ValueError, "actual_seq_qlen[1] is 4; T1 is 5"),
    ("last above T1", call(actual_seq_qlen=[3, 6]), ValueError, "the nearest legal value is 5"),
    (
        "last below T2",
        call(actual_cmp_seq_kvlen=[9, 12]),
        ValueError,
        "actual_cmp_seq_kvlen[1] is 12; T2 is 13",
    ),
    ("last above T2", call(actual_cmp_seq_kvlen=[9, 14]), ValueError, "T2 is 13"),
    ("beyond int64", call(actual_seq_qlen=[3, 2**70]), ValueError, "does not fit int64"),
    # masks
    ("topk_mask rank", call(topk_mask=np.ones(3, bool)), ValueError, "topk_mask: shape [3] has 1 dimension;"),
    ("atten_mask rank", call(atten_mask=np.ones((1, 3, 9), bool)), ValueError, "atten_mask"),
    (
        "topk_mask rows",
        call(topk_mask=np.ones((2, 3), bool)),
        ValueError,
        "dimension 0 is 2, must be at least S1 = 3",
    ),
    ("topk_mask columns", call(topk_mask=np.ones((3, 2), bool)), ValueError, "must be at least selS2 = 3"),
    ("atten_mask rows", call(atten_mask=np.ones((2, 9), bool)), ValueError, "atten_mask"),
    ("atten_mask columns", call(atten_mask=np.ones((3, 8), bool)), ValueError, "must be at least cmpS2 = 9"),
    # blocks
    (
        "k > J",
        call(select_block_count=2),
        ValueError,
        "must be at most the blocks of each batch row; select_block_count is 2",
    ),
    (
        "no keys",
        call(actual_cmp_seq_kvlen=[13, 13], actual_sel_seq_kvlen=[4, 5]),
        ValueError,
        "actual_cmp_seq_kvlen: must give each batch row at least one key; actual_cmp_seq_kvlen[1] is 13",
    ),
    (
        "too few blocks",
        call(actual_sel_seq_kvlen=[2, 3]),
        ValueError,
        "actual_sel_seq_kvlen: must have blocks for all keys of a batch row; actual_sel_seq_kvlen[0] is 2",
    ),
    # ours
    ("reading", call(index_reading="papers"), ValueError, "index_reading: 'papers' is none of"),
]
