"""The kernel function of an operator: all its tensors, and the specialisation that the tiling key names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attndsl.codegen.arguments import Argument, Names, names_of
from attndsl.codegen.identifiers import comment
from attndsl.codegen.kernel import kernel_name
from attndsl.codegen.keys import tiling_key
from attndsl.schedule.compile import Compiled


@dataclass(frozen=True, slots=True)
class Branch:
    """A specialisation: its key, its namespace, the arguments that it takes."""

    name: str
    key: int
    arguments: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EntryText:
    """Everything the template prints.

    ``unwrapped``: lists that may be of one tensor, which most kernels take alone.
    """

    names: Names
    operator: str
    document: str
    parameters: tuple[str, ...]
    unused: tuple[str, ...]
    unwrapped: tuple[str, ...]
    branches: tuple[Branch, ...]


def entry_text(kernels: Sequence[Compiled]) -> EntryText:
    """The kernel function that dispatches to these specialisations."""
    operator = kernels[0].operator
    names = names_of(operator)
    lists = tuple(names.address(item.spec.name) for item in names.tensors if is_unwrapped(item))
    branches = tuple(_branches(kernels, names, lists))
    alone = {name for branch in branches for name in branch.arguments}
    taken = {names.address(tensor.name) for each in kernels for tensor in each.program.parameters}
    updated = (f"{item.name}Ref" for item in names.updated)
    tensors = (*(item.spec.name for item in names.tensors), *names.outputs)
    parameters = (*(names.address(name) for name in tensors), *updated)
    return EntryText(
        names=names,
        operator=comment(operator.name),
        document=comment(operator.document),
        parameters=parameters,
        unused=tuple(name for name in parameters if name not in taken),
        unwrapped=tuple(name for name in lists if _only(name) in alone),
        branches=branches,
    )


def is_unwrapped(item: Argument) -> bool:
    """Whether the operator takes a list of it, but kernels its only tensor unless it is one a batch row."""
    return item.listed and item.tensor is not None and item.tensor.list_of is None


def _only(name: str) -> str:
    """The only tensor of a list."""
    return f"{name}Only"


def _branches(kernels: Sequence[Compiled], names: Names, lists: tuple[str, ...]) -> Iterator[Branch]:
    for compiled in kernels:
        arguments = []
        for tensor in compiled.program.parameters:
            name = names.address(tensor.name)
            arguments.append(_only(name) if name in lists and not tensor.listed else name)
        yield Branch(kernel_name(compiled), tiling_key(compiled), tuple(arguments))
