"""incre_flash_attention: attention of one new query token a batch row over its cached keys and values.

B batch rows, N query heads, kvN key/value heads, S cache capacity, D head size, H = N * D.
"""

from attndsl.spec import Operator, TensorValue, Value, attend, errors, maximum, select

op = Operator(
    "incre_flash_attention",
    document="mindspore.ops.incre_flash_attention",
    target="atlas-a2",
    summary="Attention of one new query token a batch row over its cached keys and values.",
)

B, N, kvN, D = op.dims("B N kvN D")
num_blocks, max_blocks = op.dims("num_blocks max_block_num_per_seq", default=0)
block_size, input_layout = op.ahead("block_size input_layout")
S = op.dim("S", default=max_blocks * block_size)
op.axes(B=B, N=N, K=kvN, Q=1, T=S, D=D, E=D, P=num_blocks, R=block_size, W=max_blocks, C=2)

# Arguments, in the order of the document -------------------------------------------------------

paged = op.given("block_table")
QUERY = {"BSH": "B 1 (N D)", "BNSD": "B N 1 D"}
CACHE = {
    "BSH": "B S (kvN D)",
    "BNSD": "B kvN S D",
    "paged": ("num_blocks block_size (kvN D)", paged),
    "paged BNSD": ("num_blocks kvN block_size D", paged & (input_layout == "BNSD")),
}
ANTIQUANT = {"BSH": "2 (kvN D)", "BNSD": "2 kvN 1 D"}
POSTQUANT = {"per tensor": "1", "per channel": "(N D)"}

query = op.input("query", QUERY, dtype=("float16", "bfloat16"), axes="B N Q D")
key = op.input("key", CACHE, dtype=(query, "int8"), axes="B K T D", sequence_of=1, split=True)
value = op.input("value", CACHE, dtype=key, axes="B K T E", sequence_of=1, split=True)
attn_mask = op.input(
    "attn_mask",
    ["B S", "B 1 S", "B 1 1 S"],
    dtype=("bool", "int8", "uint8"),
    axes="B T",
    optional=True,
    shape_error=errors.MaskShapeError,
    meaning="non-zero hides the key",
)
lengths = op.lengths("actual_seq_lengths", "B", optional=True, meaning="valid rows of the cache; S if absent")
pse_shift = op.input("pse_shift", ["1 N 1 S", "B N 1 S"], dtype=query, axes="B N Q T", optional=True)
dequant_scale1 = op.input("dequant_scale1", dtype=("uint64", "float32"), optional=True, meaning="disabled")
quant_scale1 = op.input("quant_scale1", dtype="float32", optional=True, meaning="disabled")
dequant_scale2 = op.input("dequant_scale2", dtype=("uint64", "float32"), optional=True, meaning="disabled")
quant_scale2 = op.input("quant_scale2", POSTQUANT, dtype="float32", axes="N E", optional=True)
quant_offset2 = op.input("quant_offset2", POSTQUANT, dtype="float32", axes="N E", optional=True)
antiquant_scale = op.input("antiquant_scale", ANTIQUANT, dtype=query, axes="C K D", optional=True)
antiquant_offset = op.input("antiquant_offset", ANTIQUANT, dtype=query, axes="C K D", optional=True)
block_table = op.input("block_table", "B max_block_num_per_seq", dtype="int32", axes="B W", optional=True)
num_heads = op.param("num_heads", int, default=1, gt=0, error=errors.HeadCountError)
input_layout = op.param("input_layout", str, default="BSH", choices=("BSH", "BNSD"))
scale_value = op.param("scale_value", float, default=1.0, finite=True)
num_key_value_heads = op.param("num_key_value_heads", int, default=0, ge=0, meaning="0: as num_heads")
block_size = op.param("block_size", int, default=0, meaning="rows in a block of a paged cache")
inner_precise = op.param("inner_precise", int, default=1, choices=(0, 1), meaning="0: precise, 1: fast")
kv_padding_size = op.input("kv_padding_size", ["", "1"], dtype="int64", optional=True, meaning="left padding")

op.let(N, num_heads)
op.let(kvN, select(num_key_value_heads == 0, num_heads, num_key_value_heads))

# Constraints, in the order of the checks ----------------------------------------------------------

b, j = attend.BATCH, attend.KEY

with op.constraints_on(error=errors.SequenceLengthError):
    op.require(
        value.split == key.split,
        "must be one tensor, or one a batch row, as key is",
        argument="value",
        hint="pass as many tensors in value as in key",
    )
with op.constraints_on(error=errors.EmptyTensorError):
    op.require(B > 0, "must have at least one batch row", argument="query")
    op.require(D > 0, "must have a head size of at least 1", argument="query")
with op.constraints_on(pse_shift.given, error=errors.ShapeError):
    op.require(D % 16 == 0, "needs a head size that is a multiple of 16", argument="pse_shift")
with op.constraints_on(error=errors.DivisibilityError):
    op.require(N % kvN == 0, "must be a multiple of num_key_value_heads", argument="num_heads")
with op.constraints_on(error=errors.LengthRangeError):
    op.require(lengths[b] >= 0, "must not be negative", over={b: B})
    op.require(lengths[b] <= key.rows(b), "must be at most the rows of its tensor", over={b: B})
    op.require(lengths[b] <= S, "must be at most the cache size", over={b: B}, when=block_table.absent)
with op.constraints_on(paged, error=errors.PagingError):
    op.require(lengths.given, "needed by a paged cache")
    op.require(key.split == 0, "must be one tensor with block_table", argument="key")
    op.require(block_size > 0, "must be positive with block_table")
    op.require(block_size <= 512, "must be at most 512")
    op.require(block_size % 16 == 0, "must be a multiple of 16")
    op.require(block_size % 32 == 0, "must be a multiple of 32 for int8", when=key.dtype == "int8")
    op.require(
        max_blocks <= 16384,
        "must have at most 16384 columns, longer rows need a larger block_size",
        argument="block_table",
    )
    op.require(lengths[b] <= max_blocks * block_size, "must fit in the columns of block_table", over={b: B})
    both = "attn_mask and pse_shift must cover the columns of block_table"
    op.require(max_blocks * block_size <= S, both, argument="attn_mask")
    op.require(
        num_blocks * block_size * kvN * D <= 2**31 - 1,
        "must fit int32",
        argument="key",
        hint="use fewer or smaller blocks",
    )
    op.require(kvN * D <= 65535, "must have at most 65535 channels a row", when=key.layout == "paged")
    op.require(
        (block_table[b, j] >= 0) & (block_table[b, j] < num_blocks),
        "must name a block of the cache wherever rows are valid",
        over={b: B, j: max_blocks},
        when=j * block_size < lengths[b],
        hint="ids run from 0 to num_blocks - 1",
    )
with op.constraints_on(error=errors.NotSupportedError):
    for disabled in (dequant_scale1, quant_scale1, dequant_scale2):
        op.require(disabled.absent, "not supported, must be None")
with op.constraints_on(error=errors.QuantizationError):
    op.require(antiquant_scale.given, "needed by int8 key and value", when=key.dtype == "int8")
    op.require(
        key.dtype == "int8",
        "is for int8 key and value alone",
        argument="antiquant_scale",
        when=antiquant_scale.given,
        hint="leave antiquant_scale out",
    )
    op.require(antiquant_scale.given, "needed by antiquant_offset", when=antiquant_offset.given)
    op.require(quant_scale2.given, "needed by quant_offset2", when=quant_offset2.given)
    op.require(
        quant_offset2.layout == quant_scale2.layout,
        "must have the shape of quant_scale2",
        argument="quant_offset2",
        when=quant_offset2.given,
    )
    op.require(
        quant_scale2.layout == "per tensor",
        "must have one entry with a paged cache",
        when=quant_scale2.given & paged,
    )

op.limit(B <= 65536, "at most 65536 batch rows")
op.limit(kvN <= 256, "at most 256 key/value heads")
op.limit(D <= 512, "a head size of at most 512")
op.limit(S <= 262144, "at most 262144 cache rows")
op.limit(B <= 256, "at most 256 tensors in a list", when=key.split)

# The computation --------------------------------------------------------------------------------

op.schedule(ring=3, split_kv="auto", cores="auto")  # tile_k is left open: 512 keys where they fit


def cached(cache: TensorValue, component: int) -> Value:
    """The valid rows of a cache: in a tensor a batch row, in pages, behind left padding, or from row 0 on."""
    scale, offset = antiquant_scale.part(component), antiquant_offset.part(component)
    rows, pages = (attend.dequantize(form, scale, offset) for form in (cache, cache.form("paged")))
    start = S - maximum(kv_padding_size[0], 0) - lengths[b]
    one_tensor = attend.choose(
        (block_table, attend.paged(pages, block_table, block_size, length=lengths)),
        ((kv_padding_size, lengths), attend.rows(rows, length=lengths, start=start)),
        otherwise=attend.rows(rows, length=lengths),
    )
    return attend.when(cache.split, attend.listed(rows, length=lengths), one_tensor)


s = attend.scores(query, cached(key, 0)) * scale_value
s = s + pse_shift
s = s.replace(attn_mask, -1e12)
out = attend.softmax(s) @ cached(value, 1)
op.output("attention_out", attend.quantize(out, quant_scale2, quant_offset2), like=query)
