"""nsa_compress_attention: attention over compressed keys, and the key blocks that matter most to each token.

First branch of native sparse attention. T1 query tokens of N1 heads and T2 compressed key/value tokens of N2
heads, batch rows back to back (TND); head sizes D1 of queries and keys, D2 of values; S1 queries, cmpS2
compressed keys and selS2 selection blocks of the longest batch row.

softmax_max_out and softmax_sum_out are indexed [token, head, copy]; devices store them head by head within a
batch row: ``attndsl.packing`` converts.
"""

from attndsl.spec import Operator, attend, ceil_div, errors, select

op = Operator(
    "nsa_compress_attention",
    document="mindspore.ops.nsa_compress_attention",
    target="atlas-a2",
    summary="Attention over compressed keys, and the key blocks that matter most to each token.",
)

T1, T2, N1, N2, D1, D2, B = op.dims("T1 T2 N1 N2 D1 D2 B")
S1, cmpS2, selS2 = op.dims("S1 cmpS2 selS2")
(select_block_count,) = op.ahead("select_block_count")
op.let(S1, op.longest("actual_seq_qlen"))
op.let(cmpS2, op.longest("actual_cmp_seq_kvlen"))
op.let(selS2, op.longest("actual_sel_seq_kvlen"))
op.axes(B=B, S=T1, N=N1, Q=S1, D=D1, U=T2, K=N2, T=cmpS2, E=D2, J=selS2, X=select_block_count, L=8)

# Arguments, in the order of the document ----------------------------------------------------------

query = op.input("query", "T1 N1 D1", dtype=("float16", "bfloat16"), axes="S N D")
key = op.input("key", "T2 N2 D1", dtype=query, axes="U K D")
value = op.input("value", "T2 N2 D2", dtype=query, axes="U K E")
scale_value = op.param("scale_value", float, takes_int=True, finite=True)
head_num = op.param("head_num", int, gt=0)
l = op.param("compress_block_size", int, ge=16, le=128, meaning="l, keys of a compressed block")  # noqa: E741 - the document's letter
d = op.param("compress_stride", int, ge=16, le=64, meaning="d, keys between the starts of compressed blocks")
lsel = op.param("select_block_size", int, ge=16, le=128, meaning="l', keys of a selected block")
select_block_count = op.param("select_block_count", int, ge=1, le=32)
op.keyword_only()
TRUTH = ("bool", "uint8")
topk_mask = op.input(
    "topk_mask",
    "S1 selS2",
    dtype=TRUTH,
    axes="Q J",
    optional=True,
    at_least=True,
    meaning="non-zero: the block is selected before all others",
)
atten_mask = op.input(
    "atten_mask",
    "S1 cmpS2",
    dtype=TRUTH,
    axes="Q T",
    optional=True,
    at_least=True,
    meaning="non-zero hides the key",
)
rows = op.prefix_sums("actual_seq_qlen", "B", total=T1, arrays=False, meaning="queries")
keys = op.prefix_sums("actual_cmp_seq_kvlen", "B", total=T2, arrays=False, meaning="compressed keys")
blocks = op.prefix_sums("actual_sel_seq_kvlen", "B", arrays=False, meaning="selection blocks")
index_reading = op.param(
    "index_reading",
    str,
    default="op",
    choices=("op", "paper", "literal0"),
    meaning="where the sums of step 4 begin: as shipped kernels do, as the paper does, all from 0",
)
relaxed = op.param("relaxed", bool, default=False, meaning="head sizes need not be multiples of 16")

# Constraints, in the order of the checks ----------------------------------------------------------

b = attend.BATCH

with op.constraints_on(error=errors.DivisibilityError):
    for size in (l, d, lsel):
        op.require(size % 16 == 0, "must be a multiple of 16")
    op.require(lsel % d == 0, "must be a multiple of compress_stride", argument="select_block_size")
with op.constraints_on(error=errors.RangeError):
    op.require(l >= d, "must be at least compress_stride", argument="compress_block_size")
    op.require(lsel >= l, "must be at least compress_block_size", argument="select_block_size")
with op.constraints_on(error=errors.HeadMismatchError):
    op.require(head_num == N1, "must be the number of heads of query", argument="head_num")
    op.require(N2 > 0, "must have at least one head", argument="key")
with op.constraints_on(error=errors.DivisibilityError):
    op.require(N1 % N2 == 0, "must have a multiple of the number of heads of key", argument="query")
with op.constraints_on(error=errors.HeadSizeError):
    op.require(D1 > 0, "must have a head size of at least 1", argument="query")
    op.require(D2 > 0, "must have a head size of at least 1", argument="value")
    op.require(D2 <= D1, "must have a head size of at most that of key", argument="value")
with op.constraints_on(relaxed == False, error=errors.HeadSizeError):  # noqa: E712 - symbolic
    op.require(D1 % 16 == 0, "must have a head size that is a multiple of 16", argument="query")
    op.require(D2 % 16 == 0, "must have a head size that is a multiple of 16", argument="value")

M, R = lsel // d, l // d
needed = blocks.start(b) + ceil_div(keys.length(b), M)

with op.constraints_on(error=errors.LengthRangeError):
    op.require(
        keys[b] > keys.start(b),
        "must give each batch row at least one key",
        argument="actual_cmp_seq_kvlen",
        over={b: B},
    )
    op.require(
        blocks[b] >= needed,
        "must have blocks for all keys of a batch row",
        argument="actual_sel_seq_kvlen",
        over={b: B},
    )
    op.require(
        select_block_count <= blocks.length(b),
        "must be at most the blocks of each batch row",
        argument="select_block_count",
        over={b: B},
    )
op.require(
    blocks[b] <= needed,
    "blocks beyond the keys of a row have the score 0",
    error=errors.ContractWarning,
    argument="actual_sel_seq_kvlen",
    over={b: B},
)

op.limit(B <= 4096, "at most 4096 batch rows")
op.limit(cmpS2 <= 14000, "at most 14000 compressed keys a batch row")
op.limit(N1 // N2 < 128, "at most 127 query heads a key/value head")
op.limit(128 % (N1 // N2) == 0, "query heads a key/value head divide 128")
op.limit(D1 <= 512, "a head size of at most 512")

# The computation, in the steps of the document ----------------------------------------------------

scores = attend.scores(attend.packed(query, rows), attend.packed(key, keys)) * scale_value  # 1
p_cmp = attend.softmax(scores.replace(atten_mask, attend.LOWEST))  # 2
attention_out = p_cmp @ attend.packed(value, keys)  # 3

# P_slc[j] = sum over m < M, n < R of P_cmp[M * j - m - n]: with j from 1 and P_cmp from 0 ("op"), both
# from 1 ("paper"), or both from 0 ("literal0"). Blocks are numbered from 0 here.
last = select(index_reading == "literal0", 0, M - select(index_reading == "paper", 1, 0))
p_slc = p_cmp.window_sum(step=M, last=last, counts=(M, R))  # 4
importance = p_slc.sum_over_group()  # 5
topk_indices = importance.top(select_block_count, forced=topk_mask, length=blocks.length(b))  # 6 and 7

op.output("attention_out", attention_out, like=query)
op.output("topk_indices_out", topk_indices, like=query, layouts="T1 N2 select_block_count", dtype="int32")
op.output("softmax_max_out", p_cmp.row_max.repeated(), like=query, layouts="T1 N1 8", dtype="float32")
op.output("softmax_sum_out", p_cmp.row_sum.repeated(), like=query, layouts="T1 N1 8", dtype="float32")

# A position's heads are added on one vector core: 64 rows for the largest group.
op.schedule(max_rows=128)
