"""self_attention: attention of query tokens over keys that are cached, passed along, or paged.

The document has a table of inputs for each group of calcTypes, and so has this file an operator for each:
flash attention with a cache (UNDEFINED, ENCODER, DECODER), PA_ENCODER and PREFIX_ENCODER. All are called
by one name, and calcType decides.

Tokens of all batch rows lie back to back; row b has ``seqLen[b]`` of them. headNum query heads of headSize
channels share kvHeads key/value heads, values have headSizeV channels.
"""

from attndsl.spec import (
    Expr,
    ExprLike,
    Operator,
    Symbol,
    TensorValue,
    Value,
    attend,
    errors,
    highest,
    maximum,
    minimum,
    one_of,
    select,
    total,
)

op = Operator(
    "self_attention",
    document="ATB SelfAttentionOperation",
    target="atlas-a2",
    summary="Attention of new tokens over a key/value cache that they are appended to (calcType 0, 1, 2).",
)
pa = op.mode("pa_encoder", by="calcType", value=3, summary="Attention of prompts over their own keys.")
prefix = op.mode("prefix_encoder", by="calcType", value=4, summary="Attention over a paged cache.")

# Parameters: one structure for all calcTypes -----------------------------------------------------

UNDEFINED, ENCODER, DECODER, PA_ENCODER, PREFIX_ENCODER = range(5)
NO_MASK, NORM, ALIBI, NORM_COMPRESS, ALIBI_COMPRESS = range(5)
ALIBI_SQRT, ALIBI_LEFT, WINDOW, WINDOW_COMPRESS, CAUSAL = range(5, 10)
MASK_TYPES = (
    "UNDEFINED NORM ALIBI NORM_COMPRESS ALIBI_COMPRESS ALIBI_COMPRESS_SQRT ALIBI_COMPRESS_LEFT_ALIGN"
    " SLIDING_WINDOW_NORM SLIDING_WINDOW_COMPRESS CAUSAL_MASK"
)
QUANT_TYPES = {"UNDEFINED": 0, "UNQUANT": 0, "QKV_OFFLINE": 2, "QKV_ONLINE": 3}
ACL_TYPES = {"DT_UNDEFINED": -1, "FLOAT": 0, "FLOAT16": 1, "INT8": 2, "INT32": 3, "UINT8": 4, "INT16": 6}
ACL_TYPES |= {"UINT16": 7, "UINT32": 8, "INT64": 9, "UINT64": 10, "DOUBLE": 11, "BOOL": 12, "BF16": 27}
FP16, BF16 = 1, 27

quantType, outDataType, headNum, kvHeadNum = op.ahead("quantType outDataType headNum kvHeadNum")
qScale, qkScale, batchRunStatusEnable, isTriuMask = op.ahead("qScale qkScale batchRunStatusEnable isTriuMask")
calcType, kernelType, clampType, clampMin = op.ahead("calcType kernelType clampType clampMin")
clampMax, maskType, kvcacheCfg, scaleType = op.ahead("clampMax maskType kvcacheCfg scaleType")
inputLayout, mlaVHeadSize, cacheType, windowSize = op.ahead("inputLayout mlaVHeadSize cacheType windowSize")


def parameters(op: Operator) -> None:
    """The parameters, in the order of the structure."""
    op.keyword_only()
    op.enum("quantType", QUANT_TYPES | {f"QUANT_{k}": v for k, v in QUANT_TYPES.items()}, prefix="TYPE_")
    op.enum("outDataType", ACL_TYPES, prefix="ACL_", default=-1, meaning="of quantised calls")
    op.param("headNum", int, default=0, gt=0)
    op.param("kvHeadNum", int, default=0, ge=0, meaning="0: as headNum")
    for name, meaning in (
        ("qScale", "on the query, in its dtype; with a cache"),
        ("qkScale", "on the scores"),
    ):
        op.param(name, float, default=1.0, takes_int=True, finite=True, meaning=meaning)
    op.param("batchRunStatusEnable", bool, default=False)
    op.param("isTriuMask", int, default=0, choices=(0, 1), meaning="1: the mask hides all later keys")
    op.enum("calcType", "UNDEFINED ENCODER DECODER PA_ENCODER PREFIX_ENCODER")
    op.enum("kernelType", "DEFAULT HIGH_PRECISION", prefix="KERNELTYPE_")
    op.enum("clampType", "UNDEFINED MIN_MAX", prefix="CLAMP_TYPE_", meaning="of scores, before the mask")
    op.param("clampMin", float, default=0.0, takes_int=True)
    op.param("clampMax", float, default=0.0, takes_int=True)
    op.enum("maskType", MASK_TYPES, prefix="MASK_TYPE_")
    op.enum("kvcacheCfg", "K_CACHE_V_CACHE K_BYPASS_V_BYPASS")
    op.enum("scaleType", "TOR LOGN", prefix="SCALE_TYPE_")
    op.enum("inputLayout", "BSND BNSD", prefix="TYPE_")
    op.param("mlaVHeadSize", int, default=0, ge=0, le=576, meaning="channels of keys that are values")
    op.enum("cacheType", "NORM SWA", prefix="CACHE_TYPE_")
    op.param("windowSize", int, default=0, ge=0, meaning="keys that a query sees, its own included")
    op.reserved("rsv", 64)


quantized, offline = quantType > 0, quantType == 2
unclamped = (clampType == 0) & (clampMin == 0.0) & (clampMax == 0.0)
high_precision, decoder, bypass = kernelType == 1, calcType == DECODER, kvcacheCfg == 1
BSND, BNSD = inputLayout == 0, inputLayout == 1
alibi_compress = one_of(maskType, ALIBI_COMPRESS, ALIBI_SQRT, ALIBI_LEFT)
windowed, dense = one_of(maskType, WINDOW, WINDOW_COMPRESS), one_of(maskType, NORM, ALIBI)


def check_parameters(op: Operator) -> None:
    """What every calcType demands of the parameters alone."""
    with op.constraints_on(kvHeadNum > 0, error=errors.DivisibilityError, early=True):
        op.require(headNum % kvHeadNum == 0, "must be a multiple of kvHeadNum", argument="headNum")
    with op.constraints_on(error=errors.ParameterError, early=True):
        op.require(isTriuMask == 0, "a triangular mask needs a maskType", when=maskType == NO_MASK)
        op.require(windowSize > 0, "a sliding window needs its size", when=windowed)
        op.require(windowSize == 0, "only a sliding window has a size", when=windowed == 0)
        op.require(cacheType == 0, "only a sliding window has a cache of fixed length", when=windowed == 0)
    with op.constraints_on(windowed, error=errors.ParameterError, early=True):
        op.require(kernelType == 0, "a sliding window needs the DEFAULT kernel")
        op.require(clampType == 0, "a sliding window takes no clamp")
        op.require(scaleType == 0, "a sliding window takes no logN")
        op.require(quantType == 0, "a sliding window takes no quantisation")
        op.require(inputLayout == 0, "a sliding window needs TYPE_BSND")
    with op.constraints_on(BNSD, error=errors.ParameterError, early=True):
        op.require(scaleType == 0, "TYPE_BNSD takes no logN")
        op.require(quantType == 0, "TYPE_BNSD takes no quantisation")


def check_passed(op: Operator, needed: Expr, *tensors: TensorValue, why: str) -> None:
    """Inputs that are passed if, and only if, the features in use need them."""
    with op.constraints_on(error=errors.InputCountError, early=True):
        for tensor in tensors:
            op.require(tensor.given, f"needed by {why}", when=needed)
            op.require(tensor.absent, f"only for {why}", when=needed == 0)


# Scores, masks and their checks, for all calcTypes ------------------------------------------------

b, n, i, j = attend.BATCH, attend.HEAD, attend.QUERY, attend.KEY
r, c = op.ahead("r c")
NOT_CAUSAL = "MASK_TYPE_CAUSAL_MASK is for PREFIX_ENCODER alone"
EACH: dict[Symbol, ExprLike] = {b: op.ahead("batch")[0]}
MASK = {
    "square": ("maskRows maskCols", one_of(maskType, NORM, ALIBI, WINDOW)),
    "per head": ("headNum maskRows maskCols", maskType == ALIBI),
    "per batch": ("batch maskRows maskCols", dense),
    "full": ("batch headNum maskRows maskCols", dense),
    "128": ("128 128", maskType == NORM_COMPRESS),
    "256": ("256 256", alibi_compress),
    "columns": ("headNum maskRows 128", one_of(maskType, ALIBI_COMPRESS, ALIBI_SQRT)),
    "512": ("512 512", maskType == WINDOW_COMPRESS),
}


def zero_one(query: TensorValue, mask: TensorValue) -> Expr:
    """Whether a mask holds 1 for hidden and 0 for visible keys, and is multiplied by -3e38.

    Kernels with fp32 scores do so for masks that are the same for all heads; otherwise a mask is added.
    """
    wide = (query.dtype == "bfloat16") | (high_precision & one_of(calcType, UNDEFINED, ENCODER, PA_ENCODER))
    told = wide & (query.dtype != "int8") & shared_by_heads(mask)
    return told & one_of(maskType, NORM, NORM_COMPRESS, WINDOW, WINDOW_COMPRESS)


def either_kind(query: TensorValue, mask: TensorValue) -> Expr:
    """Whether a mask may hide keys with 1 as well as with negative entries.

    The dtype of int8 queries tells no convention, and the pages about them show both. Each entry tells its
    own: up to 0 it is added, above it is multiplied by -3e38. Masks that have both are no convention's.
    """
    return (query.dtype == "int8") & shared_by_heads(mask) & (maskType == NORM)


def shared_by_heads(mask: TensorValue) -> Expr:
    """Whether all heads have the same mask."""
    return one_of(mask.layout, "square", "per batch", "128", "512")


def masked(s: Value, query: TensorValue, mask: TensorValue, slopes: TensorValue | None, row: Expr) -> Value:
    """Scores with the mask; ``row`` is the row of the mask that query ``i`` reads.

    With cached keys it counts new queries alone, as ATB's kernels do: query 0 sees key 0, the oldest one.
    """
    factor = select(zero_one(query, mask), -3e38, 1.0)
    added = attend.when(mask.layout == "square", mask.at(i, j), mask.at(b, i, j))
    added = attend.when(mask.layout == "per head", mask.at(n, i, j), added)
    added = attend.when(mask.layout == "full", mask.at(b, n, i, j), added)
    result = attend.when(maskType == NORM, s + added * factor, s + added)
    hides = attend.maximum(added, 0.0) * -3e38
    result = attend.when(either_kind(query, mask), s + attend.minimum(added, 0.0) + hides, result)
    if slopes is not None:
        far = maximum(row - j, 0)
        linear, root = slopes * attend.index(far), slopes * attend.sqrt(attend.index(far))
        bias = attend.when(maskType == ALIBI_SQRT, root, linear)
        bias = attend.when(maskType == ALIBI_LEFT, slopes * attend.index(j), bias)
        bias = attend.when(
            mask.layout == "columns", mask.at(n, maximum(row - j // 128 * 128, 0), j % 128), bias
        )
        result = attend.when(alibi_compress, (s + bias).where(j <= row), result)
    result = attend.when(one_of(maskType, NORM_COMPRESS, CAUSAL), s.where(j <= row), result)
    result = attend.when(windowed, s.where((j <= row) & (row - j < windowSize)), result)
    return attend.when(maskType == NO_MASK, s, result)


def check_mask(op: Operator, query: TensorValue, mask: TensorValue, rows: Expr, keys: Expr) -> None:
    """Sizes and values of the mask, which covers ``rows`` x ``keys``.

    Compressed masks and windows are computed from indices, so their content must be what the type says.
    """
    maskRows, maskCols, headSize = op.ahead("maskRows maskCols headSize")
    added, either, name = zero_one(query, mask) == 0, either_kind(query, mask), mask.spec.name
    whole = one_of(mask.layout, "square", "per batch", "per head", "full")
    with op.constraints_on(mask.given, error=errors.ShapeError):
        tall, tile = whole | (mask.layout == "columns"), (mask.layout == "128") & (isTriuMask == 0)
        op.require(maskRows >= rows, "must have a row for each query", when=tall, argument=name)
        op.require(maskCols >= keys, "must have a column for each key", when=whole, argument=name)
        op.require(rows <= 128, "needs isTriuMask for more than 128 queries", when=tile, argument=name)
        op.require(keys <= 128, "needs isTriuMask for more than 128 keys", when=tile, argument=name)
    with op.constraints_on(mask.given, error=errors.MaskValueError):
        binary = added & (maskType == NORM) & one_of(mask.layout, "square", "per batch") & (mask.lowest >= 0)
        binary = binary & (either == 0)
        hint = "hide with 1 and show with 0 (bfloat16, or HIGH_PRECISION)"
        op.require(mask.lowest >= 0, "must not be negative, it is 1 or 0", when=added == 0, hint=hint)
        op.require(mask.highest <= 1, "must be 1 or 0", when=added == 0, hint=hint)
        op.require(mask.highest != 1, "must not be 1, which is added", when=binary, hint="hide with -10000")
        op.require(mask.highest <= 1, "must be at most 1, which hides", when=either)
        one_kind = (mask.highest <= 0) | (mask.lowest >= 0)
        hint = "hide with 1 or with -10000; maskType ALIBI adds any mask"
        op.require(one_kind, "must not have entries below and above 0", when=either, hint=hint)
    part = select(headSize <= 128, 128, 64)
    width = select(windowSize % part == 0, 3 * part, 2 * part + windowSize % part)
    width = select(windowSize <= 3 * part, windowSize, width)
    square, tile, wide = mask[r * maskCols + c], mask[r * 128 + c], mask[r * 512 + c]
    dont_care = (windowSize >= keys) & (r - c >= width)
    for key, m, extents, hidden, free, text in (
        ("128", tile, (128, 128), c > r, c < 0, "the keys after the query"),
        ("512", wide, (512, 512), (c > r) | (r - c >= width), dont_care, "what the compressed window hides"),
        ("square", square, (rows, keys), (c > r) | (r - c >= windowSize), c < 0, "what the window hides"),
    ):
        op.require(
            select(free, c >= 0, select(hidden, select(added, m <= -10000, m == 1), m == 0)),
            f"must hide {text} and nothing else",
            error=errors.MaskValueError,
            argument=name,
            over={r: extents[0], c: extents[1]},
            when=mask.given & (mask.layout == key) & (windowed | (maskType == NORM_COMPRESS)),
            hint="maskType NORM takes any mask",
        )
    m, far = mask[r * 256 + c], r - c
    for kind, shown, wanted, above in (
        (ALIBI_COMPRESS, m, far, m >= 30000),
        (ALIBI_SQRT, m * m, far, m >= 30000),
        (ALIBI_LEFT, m, c, m <= -10000),
    ):
        near = maximum(wanted / 64, 0.01)
        op.require(
            select(c > r, above, (shown - wanted <= near) & (wanted - shown <= near) & (m >= 0)),
            "must have the bias of the compressed form on and below the diagonal, and hide above it",
            error=errors.MaskValueError,
            over={r: 256, c: 256},
            when=mask.given & (mask.layout == "256") & (maskType == kind),
            hint="entry [r, c] is r - c (with SQRT its root, with LEFT_ALIGN c), above 60000 more (or -inf)",
        )


def scored(query: Value, keys: Value, factor: Value | None) -> Value:
    """Scores up to the mask: logN or the scale of int8 scores, qkScale, clamp."""
    s = attend.scores(query, keys)
    s = (s if factor is None else s * factor) * qkScale
    return attend.when(clampType == 1, attend.minimum(attend.maximum(s, clampMin), clampMax), s)


# Flash attention with a cache: UNDEFINED, ENCODER, DECODER --------------------------------------------

batch, kvHeads, headSize, headSizeV = op.dims("batch kvHeads headSize headSizeV")
nTokens, qRows, newRows, maxLogN = op.dims("nTokens qRows newRows maxLogN", default=0)
op.dims("maskRows maskCols", default=0)
(layerNum,) = op.dims("layerNum", default=1)
(maxSeqLen,) = op.dims("maxSeqLen")
op.let(kvHeads, select(kvHeadNum == 0, headNum, kvHeadNum))
op.axes(B=batch, N=headNum, K=kvHeads, S=nTokens, Q=qRows, U=newRows, T=maxSeqLen, D=headSize, E=headSizeV)
op.axes(Y=layerNum)

QUERY = {
    "packed": ("nTokens (headNum headSize)", BSND),
    "padded": ("batch qRows headNum headSize", BSND),
    "BNSD": ("batch headNum qRows headSize", BNSD),
}


def new_tokens(size: str) -> dict[str, object]:
    """New keys or values: packed as the query, or padded."""
    return {
        "packed": (f"newRows (kvHeads {size})", BSND),
        "padded": (f"batch newRows kvHeads {size}", BSND),
    }


def cache(size: str) -> dict[str, object]:
    """A cache of all layers; with batchRunStatusEnable of one."""
    return {
        "layers": (f"layerNum batch maxSeqLen (kvHeads {size})", BSND & (batchRunStatusEnable == 0)),
        "layer": (f"batch maxSeqLen (kvHeads {size})", BSND & (batchRunStatusEnable == 1)),
        "BNSD": (f"layerNum batch kvHeads maxSeqLen {size}", BNSD),
    }


query = op.input("query", QUERY, dtype=("float16", "bfloat16"))
key = op.input("key", new_tokens("headSize"), dtype=query, optional=True, meaning="new tokens alone")
value = op.input("value", new_tokens("headSizeV"), dtype=query, optional=True, meaning="new tokens alone")
cacheK = op.input("cacheK", cache("headSize"), dtype=query, split=True, meaning="updated in place")
cacheV = op.input("cacheV", cache("headSizeV"), dtype=query, split=True, meaning="updated in place")
attentionMask = op.input("attentionMask", MASK, dtype=query, optional=True, indexed=True)
INDEX = ("int32", "uint32")
tokenOffset = op.lengths("tokenOffset", "batch", dtype=INDEX, one_for_all=False, meaning="keys, new ones too")
seqLen = op.lengths("seqLen", "batch", dtype=INDEX, one_for_all=False, meaning="query tokens")
layerId = op.lengths("layerId", "1", dtype=INDEX, one_for_all=False, meaning="the layer of the cache")
batchStatus = op.lengths(
    "batchStatus", "batch", dtype=INDEX, one_for_all=False, optional=True, meaning="0: skip the row"
)
logN = op.input("logN", "maxLogN", dtype="float32", optional=True, indexed=True)
parameters(op)

# Rows that are skipped may have any tokenOffset; they write nothing.
ql, written = seqLen[b], maximum(tokenOffset[b] - seqLen[b], 0)
runs = select(batchStatus.given, batchStatus[b], 1) != 0
kl = select(batchStatus.given, select(batchStatus[b] == 0, 0, tokenOffset[b]), tokenOffset[b])
longest, longest_kv = highest(ql, b, batch), highest(kl, b, batch)
op.default(qRows, longest)
in_ring = (cacheType == 1) & (decoder | (bypass == 0))

check_parameters(op)
with op.constraints_on(error=errors.ParameterError, early=True):
    op.require(quantType == 0, "quantised queries are for PA_ENCODER alone")
    op.require(mlaVHeadSize == 0, "values that are channels of keys are for PA_ENCODER alone")
    op.require(alibi_compress == 0, "must not be compressed ALiBi", hint="use ALIBI, or PA_ENCODER")
    op.require(maskType != CAUSAL, NOT_CAUSAL, hint="use NORM_COMPRESS, or calcType PREFIX_ENCODER")
    hint = "use SLIDING_WINDOW_NORM, which takes no mask"
    op.require(maskType != WINDOW_COMPRESS, "must not be compressed in DECODER", when=decoder, hint=hint)
    op.require(batchRunStatusEnable == 0, "a sliding window takes no batch status", when=windowed)
with op.constraints_on(BNSD, error=errors.ParameterError, early=True):
    op.require(kvcacheCfg == 1, "TYPE_BNSD needs K_BYPASS_V_BYPASS")
    op.require(maskType != NO_MASK, "TYPE_BNSD needs a mask", hint="pass maskType NORM and attentionMask")
    op.require(batchRunStatusEnable == 0, "TYPE_BNSD takes no batch status")
for each in (cacheK, cacheV):
    with op.constraints_on(each.split, error=errors.ParameterError, argument=each.spec.name, early=True):
        hint = "pass one tensor, or calcType DECODER with K_BYPASS_V_BYPASS"
        op.require(decoder & bypass, "only a bypassed DECODER takes lists", hint=hint)
without_mask = (maskType == NO_MASK) | (decoder & (maskType == WINDOW))
with op.constraints_on(error=errors.RankError, argument="cacheV"):
    op.require(cacheV.split == cacheK.split, "must be a list where cacheK is one", hint="pass both as lists")
check_passed(op, bypass == 0, key, value, why="K_CACHE_V_CACHE")
check_passed(op, without_mask == 0, attentionMask, why="a maskType (but for the window of a DECODER)")
check_passed(op, batchRunStatusEnable == 1, batchStatus, why="batchRunStatusEnable")
check_passed(op, scaleType == 1, logN, why="SCALE_TYPE_LOGN")

with op.constraints_on(error=errors.EmptyTensorError):
    op.require(batch > 0, "must have at least one batch row", argument="seqLen")
    op.require(headSize > 0, "must have a head size of at least 1", argument="query")
limited = windowed | BNSD | (scaleType == 1)
with op.constraints_on(error=errors.HeadSizeError, argument="query"):
    op.require(headSize <= 1024, "must have a head size of at most 1024")
    op.require(headSize <= 256, "the head size must be at most 256 with windows, logN and BNSD", when=limited)
with op.constraints_on(error=errors.HeadSizeError, argument="cacheV"):
    op.require(headSizeV <= 1024, "must have a head size of at most 1024")
    op.require(headSizeV == headSize, "must have the head size of query with these features", when=limited)
with op.constraints_on(key.given, error=errors.DivisibilityError):
    op.require(kvHeads * headSize % 16 == 0, "must have a multiple of 16 channels a row", argument="key")
    op.require(kvHeads * headSizeV % 16 == 0, "must have a multiple of 16 channels a row", argument="value")
with op.constraints_on(error=errors.ShapeError):
    op.require(value.layout == key.layout, "must be packed as key is", when=value.given)
with op.constraints_on(logN.given, error=errors.ShapeError, argument="logN"):
    op.require(maxLogN >= longest, "must have an entry for each query token", when=decoder == 0)
    op.require(maxLogN == batch, "must have an entry for each batch row", when=decoder)
with op.constraints_on(error=errors.LengthRangeError):
    op.require(ql > 0, "must be at least 1", over=EACH, when=runs)
    op.require(ql >= 0, "must not be negative", over=EACH)
    op.require(ql == 1, "must be 1 for DECODER", over=EACH, when=decoder & runs)
    op.require(ql <= qRows, "must be at most the rows of query", over=EACH, when=query.layout != "packed")
    packed = query.layout == "packed"
    op.require(total(ql, b, batch) == nTokens, "must add up to the tokens of query", when=packed)
    packed = key.layout == "packed"
    op.require(total(ql, b, batch) == newRows, "must add up to the tokens of key", when=packed)
    op.require(ql <= newRows, "must be at most the rows of key", over=EACH, when=key.layout == "padded")
with op.constraints_on(runs, error=errors.LengthRangeError, argument="tokenOffset"):
    window_rows, linear = minimum(tokenOffset[b], windowSize), in_ring == 0
    rows_used = select(cacheType == 1, window_rows, tokenOffset[b])
    op.require(tokenOffset[b] >= ql, "must be at least seqLen, new tokens count", over=EACH)
    op.require(tokenOffset[b] <= maxSeqLen, "must be at most the rows of the cache", over=EACH, when=linear)
    op.require(rows_used <= cacheK.rows(b), "must be at most the rows of its tensor", over=EACH)
    op.require(window_rows <= maxSeqLen, "the cache must hold the window", over=EACH, when=in_ring)
with op.constraints_on(batchRunStatusEnable == 0, error=errors.LayerError):
    op.require(layerId[0] >= 0, "must not be negative")
    op.require(layerId[0] < layerNum, "must be a layer of the cache")
check_mask(op, query, attentionMask, longest, longest_kv)


def cached(cache: TensorValue, new: TensorValue) -> Value:
    """Of the cache, new ones appended; a windowed decoder reads its last rows, an encoder all as they lie."""
    layer = attend.when(
        cache.layout == "layers", attend.take(cache.form("layers"), "Y", layerId[0]), cache.form("layer")
    )
    layer = attend.when(BNSD, attend.take(cache.form("BNSD"), "Y", layerId[0]), layer)
    stored = attend.when(cache.split, attend.listed(layer), attend.rows(layer))
    linear = attend.when(cache.split, attend.listed(layer, length=kl), attend.rows(layer, length=kl))
    old = attend.when(in_ring, attend.ring(stored, windowSize, length=kl, overwritten=True), linear)
    packed = attend.packed(new.form("packed"), length=ql)
    tokens = attend.when(new.layout == "packed", packed, attend.listed(new.form("padded"), length=ql))
    rows = attend.choose((new, attend.append(old, tokens, position=written, length=kl)), otherwise=old)
    last = attend.window(rows, maximum(kl - windowSize, 0), length=minimum(kl, windowSize))
    return attend.when(decoder & (maskType == WINDOW), last, rows)


def attention(query_rows: Value) -> Value:
    """The result for packed or padded queries."""
    s = scored(query_rows, cached(cacheK, key), attend.when(decoder, logN.at(b), logN.at(i)))
    s = attend.when(without_mask, s, masked(s, query, attentionMask, None, i))
    return attend.softmax(s) @ cached(cacheV, value)


def scaled(form: str) -> Value:
    """The query, scaled in its own dtype."""
    return (query.form(form) * qScale).cast(query)


padded = attend.when(BNSD, scaled("BNSD"), scaled("padded"))
out = attend.when(
    query.layout == "packed",
    attention(attend.packed(scaled("packed"), length=ql)),
    attention(padded).replace(attend.condition(i >= ql), 0.0),
)
OUTPUT = {"padded": "batch qRows (headNum headSizeV)", "BNSD": "batch headNum qRows headSizeV"}
op.output("output", out, like=query, layouts={"packed": "nTokens (headNum headSizeV)"} | OUTPUT)

# PA_ENCODER ---------------------------------------------------------------------------------------

pa.dims("batch kvHeads headSize headSizeV")
pa.dims("nTokens qRows kvRows maskRows maskCols maxLogN", default=0)
kvRows = pa.ahead("kvRows")[0]
pa.let(kvHeads, select(kvHeadNum == 0, headNum, kvHeadNum))
pa.default(headSizeV, select(mlaVHeadSize > 0, mlaVHeadSize, headSize))
pa.axes(B=batch, N=headNum, K=kvHeads, S=nTokens, Q=qRows, U=kvRows, D=headSize, E=headSizeV)

latent = mlaVHeadSize > 0


def tokens(rows: str, heads: str, size: str) -> dict[str, object]:
    """Packed tokens with two or three dimensions; padded ones with TYPE_BNSD and latent attention."""
    return {
        "tokens": (f"{rows} {heads} {size}", BSND),
        "merged": (f"{rows} ({heads} {size})", BSND),
        "padded": (f"batch {rows} {heads} {size}".replace("nTokens", "qRows"), BSND & latent),
        "BNSD": (f"batch {heads} {rows} {size}".replace("nTokens", "qRows"), BNSD),
    }


def is_packed(tensor: TensorValue) -> Expr:
    """Whether tokens of all batch rows lie back to back."""
    return one_of(tensor.layout, "tokens", "merged")


FLOATS = ("float16", "bfloat16")
query = pa.input("query", tokens("nTokens", "headNum", "headSize"), dtype=(*FLOATS, "int8"))
key = pa.input("key", tokens("kvRows", "kvHeads", "headSize"), dtype=query)
value = pa.input("value", tokens("kvRows", "kvHeads", "headSizeV"), dtype=query, optional=True)
mask = pa.input("mask", MASK, dtype=FLOATS, optional=True, indexed=True)
BOTH = ["batch", "2 batch"]
seqLen = pa.lengths(
    "seqLen", BOTH, dtype=INDEX, one_for_all=False, meaning="query tokens, and keys if others"
)
slopes = pa.input("slopes", "headNum", dtype="float32", axes="N", optional=True)
qkDescale = pa.input("qkDescale", "headNum", dtype="float32", axes="N", optional=True)
qkOffset = pa.input("qkOffset", dtype="int32", optional=True, meaning="reserved")
vpvDescale = pa.input("vpvDescale", "headNum", dtype="float32", axes="N", optional=True)
vpvOffset = pa.input("vpvOffset", dtype="int32", optional=True, meaning="reserved")
pScale = pa.input("pScale", "headNum", dtype="float32", axes="N", optional=True)
logN = pa.input("logN", "maxLogN", dtype="float32", optional=True, indexed=True)
parameters(pa)

ql = seqLen[b]
kl = select(seqLen.layout == "2 batch", seqLen[batch + b], seqLen[b])
longest, longest_kv = highest(ql, b, batch), highest(kl, b, batch)
pa.default(qRows, longest)
pa.axes(T=longest_kv)

check_parameters(pa)
with pa.constraints_on(error=errors.ParameterError, early=True):
    pa.require(kvcacheCfg == 0, "PA_ENCODER has no cache to bypass")
    pa.require(batchRunStatusEnable == 0, "PA_ENCODER takes no batch status")
    pa.require(maskType != CAUSAL, NOT_CAUSAL, hint="use NORM_COMPRESS, or calcType PREFIX_ENCODER")
    pa.require(kernelType == 1, "logN needs HIGH_PRECISION", when=scaleType == 1)
with pa.constraints_on(BNSD, error=errors.ParameterError, early=True):
    pa.require(mlaVHeadSize == 0, "TYPE_BNSD takes no latent attention")
    pa.require(kernelType == 0, "TYPE_BNSD needs the DEFAULT kernel")
    pa.require(maskType == NO_MASK, "TYPE_BNSD takes no mask")
with pa.constraints_on(latent, error=errors.ParameterError, early=True):
    pa.require(
        one_of(maskType, 0, NORM, WINDOW, WINDOW_COMPRESS),
        "latent attention takes few types",
        argument="maskType",
    )
    pa.require(scaleType == 0, "latent attention takes no logN")
    pa.require(clampType == 0, "latent attention takes no clamp")
with pa.constraints_on(quantized, error=errors.ParameterError, early=True):
    pa.require(one_of(outDataType, FP16, BF16), "must be FLOAT16 or BF16", argument="outDataType")
    pa.require(scaleType == 0, "quantised calls take no logN")
    pa.require(maskType != NORM_COMPRESS, "quantised calls take no compressed mask", hint="use NORM")
with pa.constraints_on(error=errors.IgnoredParameterWarning):
    pa.require(qScale == 1.0, "has no effect in PA_ENCODER", hint="multiply qkScale instead")
check_passed(pa, latent == 0, value, why="mlaVHeadSize 0")
check_passed(pa, maskType != NO_MASK, mask, why="a maskType")
check_passed(pa, alibi_compress, slopes, why="compressed ALiBi")
check_passed(pa, quantized, qkDescale, qkOffset, vpvDescale, vpvOffset, why="quantType")
check_passed(pa, offline, pScale, why="TYPE_QUANT_QKV_OFFLINE")
check_passed(pa, scaleType == 1, logN, why="SCALE_TYPE_LOGN")

with pa.constraints_on(error=errors.DtypeError):
    pa.require(query.dtype == "int8", "must be int8 with a quantType", when=quantized)
    hint = "pass quantType"
    pa.require(query.dtype != "int8", "must not be int8 without a quantType", when=quantType == 0, hint=hint)
    floats = mask.given & (quantType == 0)
    pa.require(mask.dtype == query.dtype, "must have the dtype of query", argument="mask", when=floats)
with pa.constraints_on(alibi_compress & (mask.dtype == "float16"), error=errors.ParameterError):
    pa.require(high_precision, "must be HIGH_PRECISION with a float16 mask", argument="kernelType")
with pa.constraints_on(error=errors.EmptyTensorError):
    pa.require(batch > 0, "must have at least one batch row", argument="seqLen")
    pa.require(headSize > 0, "must have a head size of at least 1", argument="query")
with pa.constraints_on(error=errors.RankError):
    alike, passed_value = "must have as many dimensions as query", value.given
    pa.require(key.layout == query.layout, alike, argument="key", when=latent == 0)
    pa.require(value.layout == key.layout, alike, argument="value", when=passed_value)
equal = (windowed | BNSD | (scaleType == 1) | quantized | alibi_compress) & (latent == 0)
with pa.constraints_on(error=errors.HeadSizeError, argument="query"):
    pa.require(headSize <= 1024, "must have a head size of at most 1024")
    pa.require(headSize <= 576, "must have a head size of at most 576 with mlaVHeadSize", when=latent)
    pa.require(headSize <= 256, "must have a head size of at most 256 with these features", when=equal)
    pa.require(headSize <= 128, "must have a head size of at most 128 with ALiBi", when=alibi_compress)
    pa.require(headSize % 32 == 0, "the head size must be a multiple of 32 for int8", when=quantized)
with pa.constraints_on(error=errors.HeadSizeError, argument="value"):
    pa.require(headSizeV <= 1024, "must have a head size of at most 1024")
    pa.require(headSizeV == headSize, "must have the head size of query with these features", when=equal)
with pa.constraints_on(latent, error=errors.HeadSizeError, argument="mlaVHeadSize"):
    pa.require(mlaVHeadSize <= headSize, "must be at most the channels of a key")
    pa.require(mlaVHeadSize % 32 == 0, "must be a multiple of 32 for int8", when=quantized)
with pa.constraints_on(error=errors.LengthRangeError):
    pa.require(ql >= 0, "must not be negative", over=EACH)
    pa.require(kl >= 0, "must not be negative", over=EACH)
    same = (kl == ql) | (ql == 1)
    pa.require(same, "must tell as many keys as tokens, or one token", over=EACH, hint="use PREFIX_ENCODER")
    pa.require(total(ql, b, batch) == nTokens, "must add up to the tokens of query", when=is_packed(query))
    pa.require(total(kl, b, batch) == kvRows, "must add up to the tokens of key", when=is_packed(key))
    pa.require(ql <= qRows, "must be at most the rows of query", over=EACH)
    pa.require(kl <= kvRows, "must be at most the rows of key", over=EACH)
    pa.require(longest_kv >= longest, "the longest keys must cover the longest query", argument="seqLen")
with pa.constraints_on(logN.given, error=errors.ShapeError):
    pa.require(maxLogN >= longest, "must have an entry for each query token", argument="logN")
check_mask(pa, query, mask, longest, longest_kv)


def passed(tensor: TensorValue, *, first: Expr | None = None) -> Value:
    """Rows of keys or values; ``first``: that many channels of keys as values."""

    def form(name: str) -> Value:
        return tensor.form(name) if first is None else attend.leading(tensor.form(name), first)

    packed = attend.packed(form("tokens"), length=kl)
    padded = attend.when(BNSD, form("BNSD"), form("padded"))
    return attend.when(is_packed(tensor), packed, attend.listed(padded, length=kl))


def prompt_attention(query_rows: Value) -> Value:
    """The result for packed or padded queries."""
    values = attend.choose((value, passed(value)), otherwise=passed(key, first=mlaVHeadSize))
    s = scored(query_rows, passed(key), attend.when(quantized, qkDescale, logN.at(i)))
    p = attend.softmax(masked(s, query, mask, slopes, i))
    # The clamp acts on scores here too, although the document's own runner leaves it out.
    through_int8 = attend.requantize(p, 128, pScale) @ values
    return attend.when(quantized, through_int8 * vpvDescale, p @ values)


def in_result_dtype(result: Value) -> Value:
    """Quantised calls name the dtype of their result."""
    named = attend.when(outDataType == BF16, result.cast("bfloat16"), result.cast("float16"))
    return attend.when(quantized, named, result)


padded = attend.when(BNSD, query.form("BNSD"), query.form("padded"))
out = attend.when(
    is_packed(query),
    in_result_dtype(prompt_attention(attend.packed(query.form("tokens"), length=ql))),
    in_result_dtype(prompt_attention(padded).replace(attend.condition(i >= ql), 0.0)),
)
OUTPUT |= {"tokens": "nTokens headNum headSizeV", "merged": "nTokens (headNum headSizeV)"}
pa.output("output", out, like=query, layouts=OUTPUT)

# PREFIX_ENCODER -----------------------------------------------------------------------------------

prefix.dims("batch kvHeads headSize numBlocks blockSize maxBlockNum nTokens")
prefix.dims("maskRows maskCols", default=0)
numBlocks, blockSize, maxBlockNum = prefix.ahead("numBlocks blockSize maxBlockNum")
prefix.let(kvHeads, select(kvHeadNum == 0, headNum, kvHeadNum))
prefix.axes(B=batch, N=headNum, K=kvHeads, S=nTokens, P=numBlocks, R=blockSize, W=maxBlockNum)
prefix.axes(T=maxBlockNum * blockSize, D=headSize, E=headSize)

PAGES = ["numBlocks blockSize (kvHeads headSize)", "numBlocks blockSize kvHeads headSize"]
query = prefix.input(
    "query", ["nTokens (headNum headSize)", "nTokens headNum headSize"], dtype=FLOATS, axes="S N D"
)
key = prefix.input("key", PAGES, dtype=query, axes="P K R D")
value = prefix.input("value", PAGES, dtype=query, axes="P K R E")
blockTables = prefix.input("blockTables", "batch maxBlockNum", dtype="int32", axes="B W")
mask = prefix.input("mask", MASK, dtype=query, optional=True, indexed=True)
seqLen = prefix.lengths("seqLen", "batch", dtype=INDEX, one_for_all=False, meaning="query tokens")
kvSeqLen = prefix.lengths("kvSeqLen", "batch", dtype=INDEX, one_for_all=False, meaning="keys, prefix and new")
slopes = prefix.input("slopes", "headNum", dtype="float32", axes="N", optional=True)
parameters(prefix)

ql, kl = seqLen[b], kvSeqLen[b]
longest, longest_kv = highest(ql, b, batch), highest(kl, b, batch)
prefix.axes(Q=longest)

check_parameters(prefix)
with prefix.constraints_on(error=errors.ParameterError, early=True):
    prefix.require(quantType == 0, "PREFIX_ENCODER takes no quantisation")
    prefix.require(outDataType == -1, "PREFIX_ENCODER has no result dtype of its own")
    prefix.require(qScale == 1.0, "PREFIX_ENCODER takes no qScale")
    prefix.require(batchRunStatusEnable == 0, "PREFIX_ENCODER takes no batch status")
    prefix.require(isTriuMask == 1, "PREFIX_ENCODER is causal, isTriuMask must be 1")
    prefix.require(kernelType == 1, "PREFIX_ENCODER needs HIGH_PRECISION")
    prefix.require(unclamped, "PREFIX_ENCODER takes no clamp", argument="clampType", hint="leave it all at 0")
    compressed = one_of(maskType, NORM_COMPRESS, ALIBI_COMPRESS, ALIBI_SQRT, CAUSAL)
    prefix.require(compressed, "PREFIX_ENCODER takes compressed masks", argument="maskType")
    prefix.require(kvcacheCfg == 0, "PREFIX_ENCODER needs K_CACHE_V_CACHE")
    prefix.require(scaleType == 0, "PREFIX_ENCODER takes no logN")
    prefix.require(inputLayout == 0, "PREFIX_ENCODER needs TYPE_BSND")
    prefix.require(mlaVHeadSize == 0, "PREFIX_ENCODER takes no latent attention")
check_passed(prefix, maskType != CAUSAL, mask, why="a maskType other than CAUSAL_MASK")
check_passed(prefix, alibi_compress, slopes, why="compressed ALiBi")

with prefix.constraints_on(error=errors.EmptyTensorError):
    prefix.require(batch > 0, "must have at least one batch row", argument="blockTables")
    prefix.require(headSize > 0, "must have a head size of at least 1", argument="query")
    prefix.require(blockSize > 0, "must have blocks of at least one row", argument="key")
with prefix.constraints_on(error=errors.HeadSizeError, argument="query"):
    prefix.require(headSize <= 128, "must have a head size of at most 128")
    prefix.require(headSize % 16 == 0, "must have a head size that is a multiple of 16")
with prefix.constraints_on(error=errors.ShapeError, argument="value"):
    prefix.require(value.layout == key.layout, "must have the shape of key")
with prefix.constraints_on(error=errors.PagingError, argument="key"):
    prefix.require(blockSize <= 128 * 128 // headSize, "a head must have at most 128 * 128 elements a block")
with prefix.constraints_on(error=errors.LengthRangeError):
    prefix.require(ql >= 0, "must not be negative", over=EACH)
    prefix.require(total(ql, b, batch) == nTokens, "must add up to the tokens of query")
with prefix.constraints_on(error=errors.LengthRangeError, argument="kvSeqLen"):
    prefix.require(kvSeqLen[b] >= ql, "must be at least seqLen, new tokens count", over=EACH)
    prefix.require((kl - ql) % 128 == 0, "the prefix must be a multiple of 128", over=EACH)
    prefix.require(kvSeqLen[b] <= maxBlockNum * blockSize, "must fit in blockTables' columns", over=EACH)
with prefix.constraints_on(error=errors.PagingError):
    prefix.require(
        (blockTables[b, j] >= 0) & (blockTables[b, j] < numBlocks),
        "must name a block of the cache wherever rows are valid",
        over={b: batch, j: maxBlockNum},
        when=j * blockSize < kvSeqLen[b],
        hint="ids run from 0 to numBlocks - 1",
    )
check_mask(prefix, query, mask, longest_kv, longest_kv)

# Query token i of batch row b is row kl - ql + i of the mask: the new tokens end with the keys.
s = scored(attend.packed(query, length=ql), attend.paged(key, blockTables, blockSize, length=kl), None)
s = masked(s, query, mask, slopes, kl - ql + i)
out = attend.softmax(s) @ attend.paged(value, blockTables, blockSize, length=kl)
prefix.output("output", out, like=query)
