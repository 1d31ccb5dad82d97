"""Which sources of rows a source that adapts others may adapt, and what to write instead of the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.stored_inputs import stored_node

Kind = type[nodes.Node]
"""A source, by its graph node; integers that stand for numbers, in whichever source, by theirs."""

WRITTEN: Mapping[Kind, str] = {
    nodes.Dense: "attend.rows",
    nodes.Packed: "attend.packed",
    nodes.Listed: "attend.listed",
    nodes.Paged: "attend.paged",
    nodes.Dequantize: "attend.dequantize",
    nodes.Ring: "attend.ring",
    nodes.CacheAppend: "attend.append",
    nodes.Windowed: "attend.window",
    nodes.Selected: "attend.selected",
}
"""How an author writes each."""

_AT_A_PITCH: tuple[Kind, ...] = (nodes.Dense, nodes.Packed, nodes.Listed)


@dataclass(frozen=True, slots=True)
class Composition:
    """What a source adapts, and ``instead``: what an author can write where that is another one."""

    over: tuple[Kind, ...]
    instead: Mapping[Kind, str]


_NUMBERS = "let the tensor hold numbers of the query's dtype"
COMPOSITIONS: Mapping[type[nodes.Rows], Composition] = {
    nodes.Ring: Composition(
        over=_AT_A_PITCH,
        instead={
            nodes.Paged: "read the last rows of pages without a ring: "
            "attend.window(attend.paged(...), start, length=...)",
            nodes.Dequantize: _NUMBERS,
            nodes.Ring: "write one attend.ring around the tensor's rows",
            nodes.CacheAppend: "append to the ring: attend.append(attend.ring(...), ...)",
            nodes.Windowed: "rows of a ring by their numbers are a window of it: "
            "attend.window(attend.ring(...), start, length=...); a ring that begins behind other rows of its "
            "tensor is something else: pass it as an input of its own, or read the rows as they lie, and let "
            "the mask count by %, as in s.where((last - (j - start)) % size < window)",
            nodes.Selected: "select of the ring: attend.selected(attend.ring(...), ...)",
        },
    ),
    nodes.CacheAppend: Composition(
        over=(*_AT_A_PITCH, nodes.Ring),
        instead={
            nodes.Paged: "write the new rows into their blocks before the call, and read all of them by "
            "attend.paged(...)",
        },
    ),
    nodes.Windowed: Composition(over=tuple(WRITTEN), instead={}),
    nodes.Selected: Composition(over=tuple(WRITTEN), instead={}),
}


def check_composition(rows: nodes.Rows, source: nodes.Rows) -> None:
    """``rows`` adapts ``source``, or else is refused.

    Raises:
        NotLowered: kernels do not read these rows of those; with what to write instead.
    """
    known, kind = COMPOSITIONS[type(rows)], _kind(source)
    if kind in known.over:
        return
    what = f"{WRITTEN[type(rows)]} over {WRITTEN[kind]}"
    of = ", ".join(WRITTEN[each] for each in known.over)
    raise NotLowered(what, rows.where, known.instead.get(kind, f"it takes rows of {of}"))


def check_new_rows(rows: nodes.CacheAppend) -> None:
    """New rows are a tensor's, at an even pitch.

    Raises:
        NotLowered: they are other ones.
    """
    kind = _kind(rows.rows)
    if kind not in _AT_A_PITCH:
        of = ", ".join(WRITTEN[each] for each in _AT_A_PITCH)
        what = f"attend.append of new rows of {WRITTEN[kind]}"
        raise NotLowered(what, rows.where, f"pass new rows in a tensor of their own, by one of {of}")


def _kind(rows: nodes.Rows) -> Kind:
    return nodes.Dequantize if isinstance(stored_node(rows), nodes.Dequantize) else type(rows)
