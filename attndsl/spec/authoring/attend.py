"""The vocabulary of attention: where keys come from, scores, softmax, quantization.

Everything here builds graph nodes (:mod:`attndsl.graph.nodes`); nothing computes.
"""

from __future__ import annotations

from dataclasses import replace as with_fields

import numpy as np

from attndsl.base.source_location import author_line
from attndsl.expr import Expr, ExprLike, Symbol
from attndsl.graph.nodes import (
    INDEX_AXES,
    Axes,
    BlockRequantize,
    CacheAppend,
    Choose,
    Conditional,
    Dense,
    Dequantize,
    EarlierPartial,
    Elementwise,
    Leading,
    Listed,
    LogSumExpMerge,
    Node,
    Packed,
    PackedQueries,
    Paged,
    Quantize,
    Ring,
    Rows,
    Scalar,
    Scores,
    Selected,
    Softmax,
    Take,
    Windowed,
)
from attndsl.spec.authoring.argument_checks import (
    check_condition,
    check_expression,
    check_flags,
    check_text,
    scalar,
    wrong,
)
from attndsl.spec.authoring.values import (
    Operand,
    TensorValue,
    Value,
    as_rows,
    elementwise,
    index_condition,
    node_of,
    number_node,
)
from attndsl.spec.errors import GraphError, SpecError

BATCH = Symbol("b")
HEAD = Symbol("n")
QUERY = Symbol("i")
KEY = Symbol("j")
LOWEST = float(np.finfo(np.float32).min)
GROUP = Symbol("g")


def rows(tensor: Value, *, length: Value | ExprLike | None = None, start: ExprLike | None = None) -> Value:
    """Key or value rows of a tensor with a row axis T.

    Args:
        tensor: axes (B, K, T, D) or (B, K, T, E).
        length: valid rows of each batch row, axes (B,); all of them where a call leaves it out.
        start: first valid row as an expression of the batch index ``attend.BATCH``; a batch row whose rows
            would lie outside the tensor has none at all.
    """
    node_of("tensor", tensor)
    where = author_line()
    first = (
        None if start is None else Scalar(value=check_expression("start", start), axes=("B",), where=where)
    )
    axes = tensor.axes
    return Value(
        Dense(axes=axes, tensor=node_of("tensor", tensor), length=_per_row(length), start=first, where=where)
    )


def paged(
    tensor: Value, table: Value, block_size: ExprLike, *, length: Value | ExprLike | None = None
) -> Value:
    """Key or value rows of a paged cache, axes (P, K, R, D): block, head, row in the block, channel.

    Row t of batch row b is row ``t % block_size`` of block ``table[b, t // block_size]``.
    """
    node_of("tensor", tensor)
    axes: Axes = ("B", *_of_rows(tensor.axes))
    node = Paged(
        axes=axes,
        tensor=node_of("tensor", tensor),
        table=node_of("table", table),
        block_size=check_expression("block_size", block_size),
        length=_per_row(length),
        where=author_line(),
    )
    return Value(node)


def _of_rows(axes: Axes) -> Axes:
    """The axes of rows of a batch row; a tensor without K has the same for all heads."""
    return (*(axis for axis in axes if axis == "K"), "T", *(axis for axis in axes if axis in ("D", "E")))


def listed(
    tensors: Value, *, index: Value | ExprLike | None = None, length: Value | ExprLike | None = None
) -> Value:
    """Key or value rows of a list of tensors, axes (B, K, T, D): batch row b reads tensor b.

    Args:
        tensors: the list, its own axis first.
        index: number of the tensor that batch row ``attend.BATCH`` reads, for a list with the axes
            (G, K, U, D); a negative one means no rows.
        length: valid rows, one a batch row; all of them where a call leaves it out.
    """
    node_of("tensors", tensors)
    where = author_line()
    axes: Axes = ("B", *("T" if axis == "U" else axis for axis in tensors.axes[1:]))
    return Value(
        Listed(
            axes=axes,
            tensors=node_of("tensors", tensors),
            index=_per_row(index),
            length=_per_row(length),
            where=where,
        )
    )


def packed(tensor: Value, ends: Value | None = None, *, length: Value | ExprLike | None = None) -> Value:
    """Queries (S, N, D), or key or value rows (U, K, D), of all batch rows back to back in one tensor.

    Args:
        tensor: the tokens of all batch rows.
        ends: prefix sums of their numbers of tokens, axes (B,); batch row b owns ``ends[b-1] .. ends[b]-1``.
        length: instead of ``ends``, the number of tokens of each batch row.
    """
    node_of("tensor", tensor)
    where = author_line()
    count = _per_row(length)
    if "S" in tensor.axes:
        return Value(
            PackedQueries(tensor=node_of("tensor", tensor), ends=_node(ends), length=count, where=where)
        )
    axes: Axes = ("B", *_of_rows(tensor.axes))
    return Value(
        Packed(axes=axes, tensor=node_of("tensor", tensor), ends=_node(ends), length=count, where=where)
    )


def ring(
    cache: Value, size: ExprLike, *, length: Value | ExprLike | None = None, overwritten: bool = False
) -> Value:
    """Rows of a cache that is written round and round: row t lives in row ``t % size`` of ``cache``.

    The last ``size`` rows are there. The contract demands that there are no others, unless a window,
    ``attend.window(attend.ring(...), maximum(length - size, 0), length=minimum(length, size))``, or a mask,
    ``s.where(attend.KEY >= length - size)``, hides them.

    Args:
        cache: :func:`rows`, or another source.
        size: the places.
        length: rows ever written, one number a batch row; ``size`` of them if left out.
        overwritten: nothing is demanded: where earlier rows are not hidden, each is what its place holds now.
    """
    check_flags(overwritten=overwritten)
    source = as_rows(cache)
    node = Ring(
        axes=source.axes,
        source=source,
        size=check_expression("size", size),
        length=_per_row(length),
        overwritten=overwritten,
        where=author_line(),
    )
    return Value(node)


def window(source: Value, start: ExprLike, *, length: Value | ExprLike) -> Value:
    """Rows ``start .. start + length - 1`` of another source of rows, expressions of ``attend.BATCH``.

    They keep their numbers: ``attend.KEY`` begins with ``start``, and what is counted from the first row of
    the window is read at ``attend.KEY - start``.
    """
    inner, where = as_rows(source), author_line()
    first = Scalar(value=check_expression("start", start), axes=("B",), where=where)
    return Value(Windowed(axes=inner.axes, source=inner, start=first, length=_per_row(length), where=where))


def selected(
    source: Value,
    blocks: Value,
    block_size: ExprLike,
    *,
    queries: ExprLike | None = None,
    count: Value | None = None,
) -> Value:
    """Rows of another source in the blocks that a list names, one for each query position and key/value head.

    Rows keep their numbers, so that ``j <= i`` is causal in the block of the diagonal, too. The order of a
    list is without meaning, and a block that it names twice counts once. What a kernel reads is in proportion
    to the lists, whatever the number of keys.

    Args:
        source: :func:`rows`, :func:`paged` or another source.
        blocks: integers with an axis X, the entries of a list, and any of B, K, and Q, H for blocks of
            ``queries`` positions, or S of packed queries; block c has the rows ``c * block_size`` and on.
            Entries that are negative, or behind the last row, name none.
        block_size: rows of a block.
        queries: query positions that share a list of an axis H.
        count: how many entries of each list count, axes of ``blocks`` but X; all of them if None.
    """
    inner = as_rows(source)
    node = Selected(
        axes=inner.axes,
        source=inner,
        blocks=node_of("blocks", blocks),
        size=check_expression("block_size", block_size),
        queries=None if queries is None else check_expression("queries", queries),
        count=_node(count),
        where=author_line(),
    )
    return Value(node)


def append(cache: Value, new: Value, *, position: ExprLike, length: Value | ExprLike) -> Value:
    """Rows below ``position`` of a cache, then new rows; and these are written into the cache in place.

    Args:
        cache: :func:`rows` of an argument, or a :func:`ring` of them.
        new: the rows to write.
        position: where row 0 of ``new`` goes, an expression of ``attend.BATCH``.
        length: rows of each batch row in the end.
    """
    source, rows_, where = as_rows(cache), as_rows(new), author_line()
    first = Scalar(value=check_expression("position", position), axes=("B",), where=where)
    axes = source.axes
    return Value(
        CacheAppend(axes=axes, cache=source, rows=rows_, position=first, length=_per_row(length), where=where)
    )


def leading(tensor: Value, count: Expr) -> Value:
    """The first ``count`` channels of keys as values: latent attention keeps both in one tensor.

    ``tensor``: also dequantized, or rows of a tensor.
    """
    source = node_of("tensor", tensor)
    if isinstance(source, Dequantize):
        # Each channel is dequantized by itself, so that these are the dequantized leading channels.
        factors = [None if each is None else Value(each) for each in (source.scale, source.offset)]
        scale, offset = (leading(f, count) if f is not None and "D" in f.axes else f for f in factors)
        assert scale is not None
        return dequantize(leading(Value(source.source), count), scale, offset)
    axes = tuple("E" if axis == "D" else axis for axis in tensor.axes)
    read = next((name for name in _READ if isinstance(getattr(source, name, None), Node)), None)
    if isinstance(source, Rows) and read is not None:
        # Of rows they are those of what the rows are read from.
        below = leading(Value(getattr(source, read)), count).node
        return Value(with_fields(source, **{read: below}, axes=axes))  # type: ignore[arg-type]
    channels = check_expression("count", count)
    return Value(Leading(source=source, count=channels, axes=axes, where=author_line()))


_READ = ("tensor", "tensors", "source")
"""The fields of rows with what they are read from; rows that a call appends are read from two tensors."""


def take(tensor: Value, axis: str, index: Expr) -> Value:
    """Entry ``index`` of one axis, such as the layer Y of a cache."""
    source = node_of("tensor", tensor)
    check_text("axis", axis)
    entry = check_expression("index", index)
    axes = tuple(each for each in tensor.axes if each != axis)
    return Value(Take(source=source, axis=axis, index=entry, axes=axes, where=author_line()))


def merge(*parts: Value | tuple[Value, Value]) -> Value:
    """Attention over all rows of several segments, from the attention over each.

    The log-sum-exp merge: each part weighs as much as the sum of exponentials behind it. What it gives has
    the row statistics of all parts together, ``merge(...).lse`` among them.

    Args:
        parts: ``softmax(s) @ values``, or a pair ``(out, lse)`` of what an earlier call gave for other keys
            of the same rows: ``out`` with the axes (B, N, Q, E), or (S, N, E) of packed queries, in the io
            dtype or fp32, and ``lse`` with the same axes but E, fp32. A row whose ``lse`` is -inf is absent,
            whatever ``out`` holds there. Where a call passes neither, the pair is no part.

    Raises:
        GraphError: there is no part.
        AuthorArgumentError: a part is neither a value nor a pair of values.
    """
    where = author_line()
    if not parts:
        raise GraphError("attend.merge needs at least one part, softmax(s) @ values", where)
    nodes = tuple(_earlier(part) if isinstance(part, tuple) else node_of("a part", part) for part in parts)
    attended = (node for node in nodes if not isinstance(node, EarlierPartial))
    axes: Axes = getattr(next(attended, nodes[0]), "axes", ())
    return Value(LogSumExpMerge(parts=nodes, axes=axes, where=where))


def _earlier(pair: tuple[object, ...]) -> EarlierPartial:
    """The node of what an earlier call gave, rows and their log-sum-exps."""
    if len(pair) != 2:
        raise wrong("a part of merge()", pair, "softmax(s) @ values, or a pair (out, lse)")
    out, lse = node_of("the rows of an earlier partial", pair[0]), node_of("its log-sum-exp", pair[1])
    return EarlierPartial(out=out, lse=lse, axes=getattr(out, "axes", ()), where=author_line())


def choose(*cases: tuple[TensorValue | tuple[TensorValue, ...], Value], otherwise: Value) -> Value:
    """The first case whose arguments a call passes.

    As in ``choose((block_table, paged(...)), otherwise=rows(...))``; a tuple of arguments needs them all.
    """
    needs, values = [], []
    for case in cases:
        if not (isinstance(case, tuple) and len(case) == 2):
            raise wrong("a case of choose()", case, "a tuple (argument, value)")
        condition, value = case
        group = condition if isinstance(condition, tuple) else (condition,)
        if not group or not all(isinstance(tensor, TensorValue) for tensor in group):
            raise wrong("what a case of choose() needs", condition, "an input, or a tuple of inputs")
        needs.append(frozenset(tensor.spec.name for tensor in group))
        values.append(node_of("the value of a case", value))
    alternatives = (*values, node_of("otherwise", otherwise))
    axes = otherwise.axes
    if any(getattr(node, "axes", ()) != axes for node in alternatives):
        raise GraphError("all alternatives of choose() must have the same axes", author_line())
    node = Choose(needs=tuple(needs), alternatives=alternatives, axes=axes, where=author_line())
    return Value(node)


def when(condition: Expr, value: Value, otherwise: Value) -> Value:
    """``value`` in calls where ``condition`` holds, else ``otherwise``.

    The condition is over parameters, and dtypes, layouts and presence of arguments: it shapes the kernel.
    """
    check_condition("the condition of when()", condition)
    then, other = node_of("value", value), node_of("otherwise", otherwise)
    node = Conditional(
        condition=condition,
        then=then,
        otherwise=other,
        axes=value.axes,
        where=author_line(),
    )
    return Value(node)


def scores(query: Value, keys: Value) -> Value:
    """``query . key^T`` in fp32, axes (B, N, Q, T); query head n reads key/value head ``n // (N / K)``."""
    return Value(Scores(query=node_of("query", query), keys=as_rows(keys), where=author_line()))


def softmax(value: Value, *, sink: Value | ExprLike | None = None) -> Value:
    """Probabilities over the keys of each row; a row without keys is all zero.

    ``sink``: a further logit of each head (or batch row and query) that no key has, fp32: rows are divided by
    ``sum(exp(s - m)) + exp(sink - m)`` with the larger of both maxima for m. The row statistics of such a
    softmax count the sink: they are what its rows are divided by. Those of the keys alone are of
    ``p = attend.softmax(s)``, and ``(p @ v) * attend.sigmoid(p.lse - sink)`` is the same result.
    """
    logit = None if sink is None else number_node("sink", sink)
    return Value(Softmax(scores=node_of("scores", value), sink=logit, where=author_line()))


def condition(condition: Expr) -> Value:
    """A condition over ``attend.BATCH``, ``HEAD``, ``QUERY`` and ``KEY``, for ``scores.replace``."""
    return index_condition(condition)


def index(value: Expr) -> Value:
    """A number computed from ``attend.BATCH``, ``HEAD``, ``QUERY`` and ``KEY``, such as ``QUERY - KEY``."""
    number = check_expression("an index", value)
    used = tuple(axis for symbol, axis in INDEX_AXES.items() if symbol in number.symbols())
    return Value(Scalar(value=number, axes=used, where=author_line()))


def requantize(probabilities: Value, block: int, scale: Value | None = None) -> Value:
    """Probabilities through int8, block by block of ``block`` keys, before they meet int8 values.

    ``scale``: the step of the integers; where a call passes none, a 127th of the row's largest in the block.
    """
    node = BlockRequantize(
        source=node_of("probabilities", probabilities),
        block=check_expression("block", block),
        scale=_node(scale),
        where=author_line(),
    )
    return Value(node)


def dequantize(source: Value, scale: Value, offset: Value | None = None) -> Value:
    """``(source + offset) * scale`` in fp32; just ``source`` where a call passes no scale."""
    return _scaled(Dequantize, source, scale, offset)


def quantize(source: Value, scale: Value, offset: Value | None = None) -> Value:
    """``clip(round_half_even(source * scale + offset))`` to int8; just ``source`` without a scale."""
    return _scaled(Quantize, source, scale, offset)


def _scaled(
    kind: type[Quantize] | type[Dequantize], source: Value, scale: Value, offset: Value | None
) -> Value:
    node_of("source", source)
    node_of("scale", scale)
    scale, offset = _channels_of(source, scale), None if offset is None else _channels_of(source, offset)
    return Value(
        kind(
            source=node_of("source", source),
            scale=node_of("scale", scale),
            offset=_node(offset),
            axes=source.axes,
            where=author_line(),
        )
    )


def maximum(left: Operand, right: Operand) -> Value:
    """The larger of two values."""
    return elementwise("maximum", left, right)


def minimum(left: Operand, right: Operand) -> Value:
    """The smaller of two values."""
    return elementwise("minimum", left, right)


def tanh(value: Value) -> Value:
    """The hyperbolic tangent, as in logit soft-capping."""
    return elementwise("tanh", value)


def exp(value: Value) -> Value:
    """The natural exponential; for weights ``exp(s) @ v`` what :func:`relu` says of large ones holds."""
    return elementwise("exp", value)


def log(value: Value) -> Value:
    """The natural logarithm."""
    return elementwise("log", value)


def sqrt(value: Value) -> Value:
    """The square root."""
    return elementwise("sqrt", value)


def sigmoid(value: Value) -> Value:
    """The logistic function; ``sigmoid(s) @ v`` is attention without a row normalization."""
    return elementwise("sigmoid", value)


def relu(value: Value) -> Value:
    """``maximum(value, 0)``; ``relu(s) @ v`` is attention without a row normalization.

    Kernels round such weights to the dtype of the query. A row with a weight beyond that, 65504 in float16,
    has no specified result.
    """
    return elementwise("maximum", value, 0.0)


def _per_row(value: Value | ExprLike | None) -> Node | None:
    """The node of a number a batch row; an expression is one of the batch index."""
    if value is None or isinstance(value, Value):
        return _node(value)
    if isinstance(value, bool) or not isinstance(value, Expr | int):
        raise SpecError(
            f"rows are counted by an integer, lengths or an expression, got {value!r}", author_line()
        )
    return Scalar(value=scalar("rows", value), axes=("B",), where=author_line())


def _node(value: Value | None) -> Node | None:
    return None if value is None else node_of("an argument", value)


def _channels_of(source: Value, factor: Value) -> Value:
    """``factor`` with its channel axis named as the source names it (D of a query or key, E of a value)."""
    node_of("offset", factor)
    names = {"D": "E", "E": "D"}
    if all(axis in source.axes or axis not in names for axis in factor.axes):
        return factor
    axes = tuple(axis if axis in source.axes else names.get(axis, axis) for axis in factor.axes)
    node = factor.node
    if isinstance(node, Take | Elementwise):
        return Value(with_fields(node, axes=axes))
    return Value(Take(source=node, axis="", index=0, axes=axes, where=author_line()))
