"""Names of kernels, of their tiling keys and of the files of their texts.

A name is for readers; kernels are told apart by their specializations, and found by their tiling keys.
"""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.base.errors import InternalError
from attndsl.base.reserved_names import plain
from attndsl.codegen.kernel_set.tiling_keys import key_of, tiling_key
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.names.identifiers import capitalized, pascal
from attndsl.compiler.compile import Compiled
from attndsl.lowering.signature.specialization import Specialization
from attndsl.lowering.signature.specialization_words import kernel_suffix, shared_suffix
from attndsl.spec.contract.contract import Contract

LONGEST_SUFFIX = 160
"""Letters of a name after the operator's, at most: names of files have limits."""


def kernel_name(compiled: Compiled) -> str:
    """The name of a compiled specialization's kernel."""
    return name_of(compiled.operator, compiled.specialization)


def name_of(operator: Contract, special: Specialization) -> str:
    """The name that the kernel of a specialization has."""
    return f"{names_of(operator).op}_{_suffix(operator, special)}"


def key_name(compiled: Compiled) -> str:
    """The name of a kernel's tiling key: ``kFloat16D64MaskTypeAlibiCompress``."""
    words = _suffix(compiled.operator, compiled.specialization).split("_")
    return f"k{pascal('_'.join(map(capitalized, words)))}"


def named_keys(kernels: Sequence[Compiled]) -> tuple[tuple[str, int], ...]:
    """The tiling keys of a project's kernels with their names.

    Raises:
        InternalError: two kernels have one key, or one name of it.
    """
    by_name: dict[str, Compiled] = {}
    by_key: dict[int, Compiled] = {}
    for each in kernels:
        name, key = key_name(each), tiling_key(each)
        for first in (by_name.setdefault(name, each), by_key.setdefault(key, each)):
            if first is not each:
                both = f"{kernel_name(first)} and {kernel_name(each)}"
                raise InternalError(f"{both} have the same tiling key {key}, or its name {name}")
    return tuple((name, tiling_key(each)) for name, each in by_name.items())


def text_name_of(operator: Contract, special: Specialization, dtype: str) -> str:
    """The name of a text that leaves ``dtype`` open; empty: none, so that it is for one kernel alone."""
    return f"{names_of(operator).op}_{_suffix(operator, special, dtype)}"


def shared_name_of(operator: Contract, specials: Sequence[Specialization], dtype: str) -> str:
    """The name of a text that several kernels have, by what their names share; ``dtype`` as above."""
    words = _without(dtype, plain(shared_suffix(operator, specials)))
    return f"{names_of(operator).op}_{words}"


def _without(dtype: str, words: str) -> str:
    return words.removeprefix(f"{dtype}_") if dtype else words


def is_cut(compiled: Compiled) -> bool:
    """Whether the name of a kernel ends with its tiling key, since its words are too many."""
    return len(plain(kernel_suffix(compiled.operator, compiled.specialization))) > LONGEST_SUFFIX


def _suffix(operator: Contract, special: Specialization, left_out: str = "") -> str:
    """The words of a specialization; many of them end with the tiling key instead of the last ones."""
    text = _without(left_out, plain(kernel_suffix(operator, special)))
    if len(text) <= LONGEST_SUFFIX:
        return text
    end = f"_key{key_of(operator, special)}"
    return text[: LONGEST_SUFFIX - len(end)].rstrip("_") + end
