"""The kernel function of an operator: all its tensors, and the specialization that the tiling key names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from attndsl.codegen.host.problem_members import io_tensor
from attndsl.codegen.kernel.dtype_parameter import dtype_parameter
from attndsl.codegen.kernel.kernel import class_name
from attndsl.codegen.kernel.shared_texts import SharedTexts, shared_texts
from attndsl.codegen.kernel_set.kernel_names import key_name
from attndsl.codegen.kernel_set.tiling_keys import tiling_key
from attndsl.codegen.names.arguments import Argument, Names, dtype_row, names_of
from attndsl.codegen.names.identifiers import comment
from attndsl.codegen.names.members import cxx_type
from attndsl.compiler.compile import Compiled


@dataclass(frozen=True, slots=True)
class Branch:
    """A kernel as it is called: the namespace of its text with the dtype that the text leaves open, the
    arguments that it takes.

    ``keys``: number and name of each specialization that is this kernel.
    """

    text: str
    dtype: str
    arguments: tuple[str, ...]
    keys: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """The specializations of one io dtype, by CANN's name of it."""

    dtype: str
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class Included:
    """The texts that kernels of these io dtypes have, and no others."""

    dtypes: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EntryText:
    """Everything the template prints.

    ``dtype_macro``: what CANN's build of a dtype column defines as the io dtype; direct launches, which have
    all kernels in one binary, do not define it. ``unwrapped``: lists that may be of one tensor, which most
    kernels take alone.
    """

    names: Names
    class_name: str
    operator: str
    document: str
    parameters: tuple[str, ...]
    unused: tuple[str, ...]
    unwrapped: tuple[str, ...]
    dtype_macro: str
    groups: tuple[Group, ...]

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All specializations."""
        return tuple(branch for group in self.groups for branch in group.branches)

    @property
    def includes(self) -> tuple[Included, ...]:
        """The texts, each once, by the io dtypes of their kernels."""
        dtypes: dict[str, tuple[str, ...]] = {}
        for group in self.groups:
            for text in dict.fromkeys(branch.text for branch in group.branches):
                dtypes[text] = (*dtypes.get(text, ()), group.dtype)
        texts: dict[tuple[str, ...], tuple[str, ...]] = {}
        for text, found in dtypes.items():
            texts[found] = (*texts.get(found, ()), text)
        return tuple(Included(found, each) for found, each in texts.items())


def entry_text(kernels: Sequence[Compiled], texts: SharedTexts | None = None) -> EntryText:
    """The kernel function that dispatches to these specializations.

    ``texts``: of the kernels of a project, of which these may be a part; by default they are all of one.
    """
    operator = kernels[0].operator
    names = names_of(operator)
    lists = tuple(names.address(item.spec.name) for item in names.tensors if is_unwrapped(item))
    groups = tuple(_groups(kernels, names, lists, shared_texts(kernels) if texts is None else texts))
    alone = {name for group in groups for branch in group.branches for name in branch.arguments}
    taken = {names.address(tensor.name) for each in kernels for tensor in each.program.parameters}
    updated = (f"{item.name}Ref" for item in names.updated)
    tensors = (*(item.spec.name for item in names.tensors), *names.outputs)
    parameters = (*(names.address(name) for name in tensors), *updated)
    return EntryText(
        names=names,
        class_name=class_name(names),
        operator=comment(operator.name),
        document=comment(operator.document),
        parameters=parameters,
        unused=tuple(name for name in parameters if name not in taken),
        unwrapped=tuple(name for name in lists if _only(name) in alone),
        dtype_macro=f"ORIG_DTYPE_{names.argument(io_tensor(operator).name).name.upper()}",
        groups=groups,
    )


def is_unwrapped(item: Argument) -> bool:
    """Whether the operator takes a list of it, but kernels its only tensor unless it is one a batch row."""
    return item.listed and item.tensor is not None and item.tensor.list_of is None


def _only(name: str) -> str:
    """The only tensor of a list."""
    return f"{name}Only"


def _groups(
    kernels: Sequence[Compiled], names: Names, lists: tuple[str, ...], texts: SharedTexts
) -> Iterator[Group]:
    """The specializations by io dtype, in the order in which dtypes first come."""
    for dtype in dict.fromkeys(each.specialization.dtype for each in kernels):
        same = tuple(each for each in kernels if each.specialization.dtype == dtype)
        yield Group(dtype_row(dtype).ge, tuple(_branches(same, names, lists, texts)))


def _branches(
    kernels: Sequence[Compiled], names: Names, lists: tuple[str, ...], texts: SharedTexts
) -> Iterator[Branch]:
    found: dict[Branch, list[tuple[int, str]]] = {}
    for compiled in kernels:
        arguments = []
        for tensor in compiled.program.parameters:
            name = names.address(tensor.name)
            arguments.append(_only(name) if name in lists and not tensor.listed else name)
        parameter = dtype_parameter(compiled)
        dtype = "" if parameter is None else cxx_type(parameter.own)
        branch = Branch(texts.of(compiled).name, dtype, tuple(arguments))
        found.setdefault(branch, []).append((tiling_key(compiled), key_name(compiled)))
    for branch, keys in found.items():
        yield replace(branch, keys=tuple(keys))
