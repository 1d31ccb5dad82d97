"""Stages of several attentions that are the same but for what is each attention's own become one function.

A kernel that merges attentions (over own and over shared keys, say) has the stages of each. Where the texts
of two stages differ in nothing but names of global tensors, tiling values and cross-core flags, one function
is printed, and those names are members of a ``Segment`` that it is called with. Equal text is equal meaning,
so nothing is assumed of what a stage does; stages that differ in anything else stay as they are.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from attndsl.codegen.kernel.statements import Function
from attndsl.codegen.names.members import constant, gm_member, scalar
from attndsl.codegen.names.spelling import Spelling
from attndsl.tile.program import Program

TYPE, PARAMETER = "Segment", "segment"
_NAME = re.compile(r"(?:tiling_\.)?[A-Za-z_]\w*")
_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the segments: ``ctype name;  // meaning``."""

    ctype: str
    name: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Segment:
    """What the attention over ``keys`` gives for the members, in their order; ``name`` is the function's."""

    name: str
    keys: str
    values: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """The values as lines of a list."""
        return textwrap.wrap(", ".join(self.values), _WIDTH)


@dataclass(frozen=True, slots=True)
class Shared:
    """The functions of a kernel, those that are the same printed once, and what they are called with.

    ``names``: the stages that became functions of another name.
    """

    functions: tuple[tuple[Function, ...], ...]
    bodies: tuple[tuple[str, ...], ...]
    members: tuple[Member, ...] = ()
    segments: tuple[Segment, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """All lines of code."""
        for body in self.bodies:
            yield from body
        for item in (item for each in self.functions for item in each):
            yield from item.lines
        for segment in self.segments:
            yield from segment.values


def share(
    program: Program,
    functions: Sequence[Sequence[Function]],
    bodies: Sequence[Sequence[str]],
    spelling: Spelling | None = None,
) -> Shared:
    """Print alike functions once: ``functions`` and ``bodies`` (which call them) by kind of core."""
    own = _own_names(program, spelling or Spelling(program))
    parts = tuple(dict.fromkeys(item.part for each in functions for item in each if item.part))
    same: dict[str, dict[str, str]] = {part: {} for part in parts}
    alike: dict[str, str] = {}
    groups = [_group(each, item, parts) for each in functions for item in each]
    for group in (found for found in groups if len(found) > 1):
        pairs = [_pairs(group[0], other, own) for other in group[1:]]
        known = [same[other.part] for other in group[1:]]
        if all(pair is not None and _agree(pair, before) for pair, before in zip(pairs, known, strict=True)):
            for pair, before in zip(pairs, known, strict=True):
                before.update(pair or {})
            alike |= {item.name: group[0].name for item in group}
    differ = {name for pairs in same.values() for name, its in pairs.items() if name != its}
    kinds = ["const", "int64_t", "float", "uint16_t"]
    names = [name for name in _in_order(functions, alike) if name in differ]
    names.sort(key=lambda name: kinds.index(own[name][0].split()[0]))
    members = _members(names, parts[0], own) if names else ()
    segments = tuple(
        Segment(f"{part}{TYPE}", keys_of(part), tuple(same[part].get(name, name) for name in names))
        for part in (parts if names else ())
    )
    spelled = {name: f"{PARAMETER}.{member.name}" for name, member in zip(names, members, strict=True)}
    printed = [tuple(_printed(each, alike, spelled)) for each in functions]
    return Shared(
        tuple(printed),
        tuple(
            tuple(_called(body, each, once, alike))
            for body, each, once in zip(bodies, functions, printed, strict=True)
        ),
        members,
        segments,
        {item.name: item.stem for each in functions for item in each if item.name in alike},
    )


def _own_names(program: Program, spelling: Spelling) -> dict[str, tuple[str, str]]:
    """What may be a member: C++ type and meaning by name."""
    found = {
        gm_member(tensor.name): (f"const GlobalTensor<{spelling.ctype(tensor)}> &", tensor.meaning)
        for tensor in (*program.parameters, *program.workspace)
    }
    ctypes = {"int64": "int64_t ", "float32": "float "}
    found |= {scalar(each.symbol): (ctypes[each.ctype], each.meaning) for each in program.tiling}
    return found | {constant(name): ("uint16_t ", "") for name in program.flags}


def _group(functions: Sequence[Function], first: Function, parts: tuple[str, ...]) -> tuple[Function, ...]:
    """The functions that do for the other attentions what ``first`` does for the first of them."""
    if not parts or first.part != parts[0]:
        return ()
    by_part = {item.part: item for item in functions if item.stem == first.stem}
    return tuple(by_part[part] for part in parts) if len(by_part) == len(parts) else ()


def _pairs(first: Function, other: Function, own: Mapping[str, tuple[str, str]]) -> dict[str, str] | None:
    """The names in ``other`` by those in ``first``; None if more than names of their own differs."""
    if (first.doc, first.parameters, len(first.lines)) != (other.doc, other.parameters, len(other.lines)):
        return None
    pairs: dict[str, str] = {}
    for mine, others in zip(first.lines, other.lines, strict=True):
        if _NAME.sub("", mine) != _NAME.sub("", others):
            return None
        for name, its in zip(_NAME.findall(mine), _NAME.findall(others), strict=True):
            if name != its and (own.get(name, name)[0] != own.get(its, its)[0]):
                return None
            if name in own and pairs.setdefault(name, its) != its:
                return None
    return pairs


def _agree(pairs: Mapping[str, str] | None, known: Mapping[str, str]) -> bool:
    return all(known.get(name, its) == its for name, its in (pairs or {}).items())


def _in_order(functions: Sequence[Sequence[Function]], alike: Mapping[str, str]) -> Iterator[str]:
    """All names in the texts that are printed once, in order, each once."""
    texts = (
        line
        for each in functions
        for item in each
        if alike.get(item.name) == item.name
        for line in item.lines
    )
    yield from dict.fromkeys(name for line in texts for name in _NAME.findall(line))


def _members(names: Sequence[str], part: str, own: Mapping[str, tuple[str, str]]) -> tuple[Member, ...]:
    """The members for ``names``, which are those of the first attention: without its part's name."""
    short = {name: _short(name, part) for name in names}
    texts = list(short.values())
    return tuple(
        Member(own[name][0], text if texts.count(text) == 1 else _bare(name), own[name][1])
        for name, text in short.items()
    )


def _bare(name: str) -> str:
    """A member's name without the sign of members, and without the struct that it is in."""
    return name.removeprefix("tiling_.").strip("_")


def _short(name: str, part: str) -> str:
    text = re.sub(rf"(?<=[a-z0-9]){part}(?=[A-Z]|$)", "", _bare(name))
    return keys_of(re.sub("^k(?=[A-Z])", "", text))


def keys_of(part: str) -> str:
    """The keys that an attention is named after."""
    return f"{part[:1].lower()}{part[1:]}"


def _variable(part: str) -> str:
    return f"{keys_of(part)}{TYPE}"


def _printed(
    functions: Sequence[Function], alike: Mapping[str, str], spelled: Mapping[str, str]
) -> Iterator[Function]:
    for item in functions:
        if item.name not in alike:
            yield item
        elif alike[item.name] == item.name:
            lines = tuple(_NAME.sub(lambda m: spelled.get(m.group(), m.group()), line) for line in item.lines)
            segment = (f"const {TYPE} &{PARAMETER}",) if lines != item.lines else ()
            yield replace(item, name=item.stem, parameters=(*segment, *item.parameters), lines=lines)


def _called(
    body: Sequence[str], functions: Sequence[Function], printed: Sequence[Function], alike: Mapping[str, str]
) -> Iterator[str]:
    """The lines of ``body``; functions that are printed once are called by their common name."""
    called = {item.name: item for item in functions if item.name in alike}
    taking = {item.name for item in printed if item.parameters[:1] == (f"const {TYPE} &{PARAMETER}",)}
    for part in dict.fromkeys(item.part for item in called.values() if item.stem in taking):
        yield f"    const {TYPE} {_variable(part)} = {part}{TYPE}();"
    for line in body:
        call = re.match(r"( *)(\w+)\((.*)\);$", line)
        if call and call[2] in called:
            item = called[call[2]]
            segment = _variable(item.part) if item.stem in taking else ""
            line = f"{call[1]}{item.stem}({', '.join(filter(None, (segment, call[3])))});"
        yield line
