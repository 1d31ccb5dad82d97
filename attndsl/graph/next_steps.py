"""What an author writes where a graph breaks a rule, by what the axes of a tensor tell of it."""

from __future__ import annotations

from attndsl.graph.nodes import AXIS_ORDER, Axes, Input, Node


def reader_of(axes: Axes) -> str:
    """Which key source reads a tensor with these axes, after "; "; empty where none does."""
    if {"P", "R"} <= set(axes):
        return "; attend.paged(tensor, table, block_size) reads a cache in blocks"
    if "U" in axes and not {"B", "G"} & set(axes):
        return "; attend.packed(tensor, ends) reads rows that are packed"
    if "G" in axes:
        return "; attend.listed(tensors, index=...) reads a list of tensors"
    if "T" in axes:
        return "; attend.rows(tensor) reads rows of an axis T"
    return ""


def as_scaled(axes: Axes, factor: Axes) -> str:
    """How a tensor or its scale is declared, so that the one meets the other, after "; "."""
    if set(factor) - set(axes) == {"K"} and "N" not in axes:
        declared = " ".join(axis for axis in AXIS_ORDER if axis in {*axes, "K"})
        return (
            f'; give the tensor the axis K: pass axes="{declared}" to its op.input, and a layout with the '
            "number of heads there, 1 where all share one"
        )
    channels = next((axis for axis in axes if axis in ("D", "E")), "D")
    return (
        f'; a scale has the axes "K", a number for each key/value head, or "K {channels}", for each channel'
    )


def as_packed(axes: Axes, *, queries: bool) -> str:
    """How a tensor is declared whose rows are packed, after "; "."""
    token, row = ("S", "Q") if queries else ("U", "T")
    if row in axes and "B" in axes:
        how = "it is the query itself" if queries else "attend.rows(tensor) reads them"
        return f"; rows with an axis of batch rows are not packed: {how}"
    packed = " ".join(token if axis == row else axis for axis in axes)
    return f'; give it the axes "{packed}" by axes= of op.input: its rows are packed' if row in axes else ""


def as_query(axes: Axes) -> str:
    """How a tensor becomes queries, after "; "."""
    if "S" in axes:
        return "; attend.packed(query, ends) reads queries that are packed"
    if "K" in axes and "N" not in axes:
        return "; the heads of queries have the axis N, those of keys and values K"
    return '; pass axes="B N Q D" to op.input of the query'


def as_values(axes: Axes) -> str:
    """How rows become values, after "; "."""
    declared = '; pass axes="B K T E" to op.input of the values'
    if "D" in axes:
        return f"{declared}, or attend.leading(tensor, D) of a tensor whose rows are keys, too"
    return declared


def as_lists(axes: Axes) -> str:
    """How lists of selected blocks are declared, after "; "."""
    if "N" in axes:
        return (
            "; query heads of a key/value head share its keys and its list: what each of them sees is a "
            "mask by "
            "blocks, as s.where(blocks[b, n, i // 64, j // 64])"
        )
    return '; pass axes="B K Q X" to op.input of the lists'


def as_lists_of_heads(axes: Axes) -> str:
    """How blocks are read that each key/value head or query names for itself; empty of other tables."""
    if not {"W", "X"} & {*axes} or not {"K", "Q"} & {*axes}:
        return ""
    lists = " ".join("X" if axis == "W" else axis for axis in axes)
    return (
        "what each key/value head or query names for itself are lists of blocks: "
        f'attend.selected(attend.rows(cache), lists, block_size, count=counts), lists with axes="{lists}" '
        'and op.axes(X=...), the cache as a tensor of rows with the layout "M K D", axes="T K D" and T=M'
    )


def as_keys(axes: Axes) -> str:
    """How rows become keys, after "; "."""
    if "E" in axes:
        return '; E is the axis of channels of values: pass axes="B K T D" to op.input of the keys'
    if "N" in axes:
        return '; the heads of keys and values have the axis K: pass axes="B K T D" to op.input of the keys'
    return ""


def of_summed_keys(operand: Node) -> str:
    """What is wrong with an operand of each key beside a result, and where it belongs."""
    name = operand.name if isinstance(operand, Input) else "x"
    what = f"'{name}'" if isinstance(operand, Input) else "an operand x"
    return (
        f"{what} has an axis T of keys, and the result of p @ values has none: a number of each key is added "
        f"to the scores, or multiplies the probabilities, as in (p * {name}) @ values; Python takes "
        f"p @ values * {name} for (p @ values) * {name}; a number of each query has the axis Q in place of T"
    )
