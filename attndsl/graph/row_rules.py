"""The rules of stored rows: keys, values and packed queries, their lengths, tables, lists and caches."""

from __future__ import annotations

from attndsl.graph.graph import Graph
from attndsl.graph.next_steps import as_lists, as_lists_of_heads, as_packed, reader_of
from attndsl.graph.nodes import (
    CacheAppend,
    Dense,
    Leading,
    Listed,
    Packed,
    PackedQueries,
    Paged,
    Ring,
    Rows,
    Selected,
    Windowed,
    stored,
)
from attndsl.graph.rules import INTEGERS, Rules, axes_of, axes_text, stored_dtypes

ROW_RULES = Rules()


@ROW_RULES.of(Dense)
def _dense_rows_have_their_axes(node: Dense, graph: Graph) -> str | None:
    if "T" not in axes_of(node.tensor):
        axes = axes_of(node.tensor)
        return f"the tensor has the axes {axes_text(axes)}, rows need an axis T{reader_of(axes)}"
    if set(node.axes) != set(axes_of(node.tensor)):
        return (
            f"rows {axes_text(node.axes)} differ from their tensor's axes {axes_text(axes_of(node.tensor))}"
        )
    return None


@ROW_RULES.of(Paged)
def _paged_rows_have_their_axes(node: Paged, graph: Graph) -> str | None:
    axes = axes_of(node.tensor)
    if not {"P", "R"} <= set(axes):
        needed = "a paged tensor needs the axes P (block) and R (row in a block)"
        return f"{needed}, has {axes_text(axes)}{reader_of(axes)}"
    if set(node.axes) - {"B", "T"} != set(axes) - {"P", "R"}:
        return f"rows {axes_text(node.axes)} do not come from a tensor with the axes {axes_text(axes)}"
    return None


@ROW_RULES.of(Paged)
def _tables_are_integers(node: Paged, graph: Graph) -> str | None:
    if set(axes_of(node.table)) != {"B", "W"}:
        found = axes_text(axes_of(node.table))
        alone = set(axes_of(node.table)) == {"W"}
        shared = "; of blocks that all batch rows share the caller repeats the row for each" if alone else ""
        instead = (
            as_lists_of_heads(axes_of(node.table)) or f'pass axes="B W" to op.input of the table{shared}'
        )
        return f"a block table has the axes (B, W), not {found}; {instead}"
    dtypes = stored_dtypes(node.table)
    return (
        f"a block table holds integers, not {'/'.join(sorted(dtypes))}"
        if dtypes and dtypes - INTEGERS
        else None
    )


@ROW_RULES.of(Listed)
def _listed_rows_have_their_axes(node: Listed, graph: Graph) -> str | None:
    axes = axes_of(node.tensors)
    if node.index is not None and not set(axes_of(node.index)) <= {"B"}:
        return f"an index of tensors has the axes (B,), not {axes_text(axes_of(node.index))}"
    wanted = "B" if node.index is None else "G"
    if axes[:1] != (wanted,):
        how = "without" if node.index is None else "with"
        return f"a list {how} an index has the first axis {wanted}, its axes are {axes_text(axes)}"
    stored = {wanted, "U" if "U" in axes else "T"}
    if set(node.axes) - {"B", "T"} != set(axes) - stored or "T" not in node.axes:
        return f"rows {axes_text(node.axes)} do not come from tensors with the axes {axes_text(axes)}"
    return None


@ROW_RULES.of(Packed, PackedQueries)
def _packed_rows_have_their_axes(node: Packed | PackedQueries, graph: Graph) -> str | None:
    axes = set(axes_of(node.tensor))
    token, gained = ("S", {"B", "Q"}) if isinstance(node, PackedQueries) else ("U", {"B", "T"})
    if token not in axes or axes - {token} != set(node.axes) - gained or not gained <= set(node.axes):
        found, hint = axes_of(node.tensor), as_packed(axes_of(node.tensor), queries=token == "S")
        return f"{axes_text(node.axes)} do not come from tokens {token} of a tensor {axes_text(found)}{hint}"
    return None


@ROW_RULES.of(Packed, PackedQueries)
def _packed_rows_have_boundaries(node: Packed | PackedQueries, graph: Graph) -> str | None:
    found = [each for each in (node.ends, node.length) if each is not None]
    if len(found) != 1:
        return "packed rows need their prefix sums, attend.packed(tensor, ends), or else their length="
    if not set(axes_of(found[0])) <= {"B"}:
        return f"boundaries have the axes (B,), not {axes_text(axes_of(found[0]))}"
    dtypes = stored_dtypes(found[0]) or INTEGERS
    return f"boundaries are integers, not {'/'.join(sorted(dtypes))}" if dtypes - INTEGERS else None


@ROW_RULES.of(Ring, Windowed)
def _rows_of_rows_have_their_axes(node: Ring | Windowed, graph: Graph) -> str | None:
    if not isinstance(node.source, Rows):
        return f"rows are needed below, not {type(node.source).__name__}"
    if set(node.axes) != set(axes_of(node.source)):
        return f"rows {axes_text(node.axes)} differ from those below, {axes_text(axes_of(node.source))}"
    return None


@ROW_RULES.of(Selected)
def _selected_rows_have_lists(node: Selected, graph: Graph) -> str | None:
    if set(node.axes) != set(axes_of(node.source)):
        return f"rows {axes_text(node.axes)} differ from those below, {axes_text(axes_of(node.source))}"
    axes = axes_of(node.blocks)
    if (
        "X" not in axes
        or not set(axes) <= {"B", "S", "K", "Q", "H", "X"}
        or len({"S", "Q", "H"} & {*axes}) > 1
    ):
        return (
            "lists of blocks have an axis X, and any of B, K, and Q, H for blocks of queries, or S of packed "
            f"queries, not {axes_text(axes)}{as_lists(axes)}"
        )
    if ("H" in axes) != (node.queries is not None):
        return (
            "lists that query positions share have an axis H, and queries= says how many share one: "
            f"the axes are {axes_text(axes)}, queries={node.queries}"
        )
    if node.count is not None and set(axes_of(node.count)) != set(axes) - {"X"}:
        return f"there is a count for each list {axes_text(axes)}, not {axes_text(axes_of(node.count))}"
    for lists in (node.blocks, node.count):
        dtypes = stored_dtypes(lists) if lists is not None else None
        if dtypes and dtypes - INTEGERS:
            return f"lists hold integers, not {'/'.join(sorted(dtypes))}"
    return None


@ROW_RULES.of(CacheAppend)
def _appends_write_inputs(node: CacheAppend, graph: Graph) -> str | None:
    if stored(node.cache) is None:
        return "only rows of an input can be written, at most through a layer or a ring"
    if node.length is None:
        return "the rows in the end are needed"
    if not set(axes_of(node.position)) <= {"B"}:
        return f"a position has the axes (B,), not {axes_text(axes_of(node.position))}"
    for part in (node.rows, node.cache):
        if set(axes_of(part)) != set(node.axes):
            return f"{axes_text(axes_of(part))} are no rows {axes_text(node.axes)}"
    return None


@ROW_RULES.of(Leading)
def _leading_channels_become_values(node: Leading, graph: Graph) -> str | None:
    axes = axes_of(node.source)
    if isinstance(node.source, Rows):
        return (
            "leading channels are those of a tensor, and rows that a call appends are of two: let an "
            "operator before this one append, and read attend.rows(attend.leading(cache, count), length=...)"
        )
    if "D" not in axes or set(node.axes) != {"E" if axis == "D" else axis for axis in axes}:
        return f"channels D become E, the axes are {axes_text(axes)} and {axes_text(node.axes)}"
    return None


@ROW_RULES.of(Rows)
def _lengths_are_per_row(node: Rows, graph: Graph) -> str | None:
    for field in (node.length, getattr(node, "start", None)):
        if field is not None and not set(axes_of(field)) <= {"B"}:
            return f"a length or start has the axes (B,), not {axes_text(axes_of(field))}"
    dtypes = stored_dtypes(node.length) if node.length is not None else None
    return f"lengths are integers, not {'/'.join(sorted(dtypes))}" if dtypes and dtypes - INTEGERS else None
