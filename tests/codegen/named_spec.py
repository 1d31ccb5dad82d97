"""A small attention with arguments and sizes of any names; as a spec file, of names that are taken."""

from attndsl.spec import Operator, attend

# Parameters that the kernel reads.
READ = (
    "default",
    "register",
    "int",
    "asm",
    "signed",
    "_leading",
    "__gm__",
    "größe",
    "lambda",
    "self",
    "cores",
    "x_",
)
# Parameters that only hosts see.
SEEN = (
    "GM_ADDR",
    "half",
    "namespace",
    "ASCEND_IS_AIC",
    "TILING_KEY_IS",
    "None",
    "std",
    "at",
    "kept",
    "queryLayout",
)
TENSORS = (
    "tiling",
    "workspace",
    "pipe",
    "kernel",
    "values",
    "__aicore__",
    "PIPE_V",
    "π",
    "_",
    "template",
    "aclInit",
)


def operator(params=(), tensors=(), dims=(), lists=(), lengths=(), name="operator"):
    """One query a batch row; parameters of READ limit the keys that it sees."""
    op = Operator(name, document="none")
    B, N, K, T, D = op.dims("B N K T D")
    for each in dims:
        op.dims(each, default=1)
    op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D)
    q = op.input("query", "B N 1 D", dtype=("float16", "bfloat16"), axes="B N Q D")
    k = op.input("key", "B K T D", dtype=q, axes="B K T D")
    v = op.input("value", "B K T D", dtype=q, axes="B K T E")
    mask = op.input("__mask__", "B T", dtype="bool", axes="B T", optional=True)
    ends = op.lengths("goto", "B", optional=True)
    for each in tensors:
        op.input(each, dtype="float16", optional=True)
    for each in lists:
        op.input(each, dtype="float16", optional=True, sequence_of=1)
    for each in lengths:
        op.lengths(each, "B", optional=True)
    symbols = {each: op.param(each, int, default=2, ge=0) for each in params}
    op.require(N % K == 0, "a multiple", argument="query")
    scores = attend.scores(q, attend.rows(k, length=ends)) * 0.25
    for number, each in enumerate(each for each in params if each in READ):
        scores = scores.where(attend.KEY - symbols[each] < 9 - number // 2)
    scores = scores.replace(mask, -1e12)
    op.output("out", attend.softmax(scores) @ attend.rows(v, length=ends), like=q)
    return op


op = operator(READ + SEEN, TENSORS, dims=("union", "Ünion"), name="operator")
