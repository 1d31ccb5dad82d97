"""Where a kernel decodes its lists of tensors: on the cores that read them, where an item does.

`ListTensorDesc` reads the first tensor's descriptor when it decodes a list, which an empty list has not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attndsl.codegen.kernel.item_decoding import attention_of, choice_of, item_loops
from attndsl.codegen.names.arguments import Names
from attndsl.codegen.names.members import list_member
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.tile.program import Program, tiling_scalar
from attndsl.tile.scalars import tensors_in
from attndsl.tile.statements import For, Stage, Statement


@dataclass(frozen=True, slots=True)
class DecodedLists:
    """Lists that are decoded together.

    ``core``: the kind of core that reads them, empty if both do. ``condition``: that there are items which
    read them, empty if something else does. ``lists``: the member that decodes, the argument.
    """

    core: str
    condition: str
    lists: tuple[tuple[str, str], ...]


def list_decodings(program: Program, names: Names) -> tuple[DecodedLists, ...]:
    """The lists of tensors that a program reads, by where they are decoded."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for tensor in program.parameters:
        if not tensor.listed:
            continue
        cores = [core for core, tree in program.cores.items() if tensor.name in tensors_in(tree.walk())]
        if cores:
            where = (cores[0].value if len(cores) == 1 else "", _condition(program, tensor.name))
            found.setdefault(where, []).append((list_member(tensor.name), names.address(tensor.name)))
    return tuple(DecodedLists(*where, tuple(lists)) for where, lists in found.items())


def decoding_lines(groups: Sequence[DecodedLists]) -> tuple[str, ...]:
    """The statements that decode some of the lists."""
    found = list[str]()
    if any(each.condition for each in groups):
        found.append("// A list that no item reads may be empty: it has no descriptor to decode then.")
    for each in groups:
        decoded = [f"{member}.Init({argument});" for member, argument in each.lists]
        if each.condition:
            found += (f"if ({each.condition}) {{", *(f"    {line}" for line in decoded), "}")
        else:
            found += decoded
    return tuple(found)


def _condition(program: Program, tensor: str) -> str:
    """When items read a tensor; empty if it is read outside of loops over items whose number is a field."""
    fields, counts = {field.name for field in program.fields}, dict[str, None]()
    for tree in program.cores.values():
        if tensor in tensors_in(_outside(tree)):
            return ""
        loops = list(item_loops(tree))
        for loop in (each for each in loops if tensor in tensors_in(each.walk())):
            several = len(loops) > 1 or choice_of(loop) is not None
            for attention in _reading(loop, tensor) if several else [""]:
                if f"items{attention}" not in fields:
                    return ""
                counts[f"items{attention}"] = None
    return " || ".join(f"{cxx_text(tiling_scalar(count))} > 0" for count in counts)


def _reading(loop: For, tensor: str) -> Iterator[str]:
    """The attentions whose items read a tensor in a loop."""
    choice = choice_of(loop)
    if choice is None:
        yield attention_of(loop)
        return
    sides = zip(choice.sides, choice.attention_names, strict=True)
    yield from (name for side, name in sides if tensor in tensors_in(side.walk()))
    stages = (item for item in loop.walk() if isinstance(item, Stage))
    yield from (stage.attention_name for stage in stages if tensor in tensors_in(stage.walk()))


def _outside(tree: Statement) -> Iterator[Statement]:
    """The statements that are in no loop over items."""
    if isinstance(tree, For) and tree.over_items:
        return
    yield tree
    for child in tree.children():
        yield from _outside(child)
