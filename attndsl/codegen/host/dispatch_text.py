"""The branches in which a plan picks a kernel: one for each text and what it asks of a problem.

Kernels that differ in their io dtype alone share a branch, which picks the tiling key by the dtype.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import or_

from attndsl.codegen.host.problem_members import io_tensor
from attndsl.codegen.host.problem_words import Words
from attndsl.codegen.kernel_set.dispatch_guards import DispatchGuard, guards
from attndsl.codegen.kernel_set.kernel_names import key_name
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.names.identifiers import capitalized, pascal
from attndsl.compiler.compile import Compiled
from attndsl.expr.argument_facts import DTYPE, dtype_of, kind_of

USUAL = "isUsual"
"""What the plan calls the conditions that most branches ask for."""
_FEWEST_SAVED = 8
"""Lines that must be saved by that."""
_LONGEST_NAME = 48
"""Characters of a name that says a condition; longer ones say no more than the condition."""


@dataclass(frozen=True, slots=True)
class PlannedKernel:
    """One kernel in the host's choice.

    Attributes:
        compiled: the kernel.
        function: its tiling function. ``waits``: that which tells whether its blocks wait for each other.
        namespace: of its text.
        members: what the plan knows of it, by member of ``Kernel``: constants of its schedule, the numbers of
            its forms. What is 0 is left out.
    """

    compiled: Compiled
    function: str
    waits: str
    namespace: str
    members: Mapping[str, str]

    @property
    def dtype(self) -> str:
        """The io dtype."""
        return self.compiled.specialization.dtype


@dataclass(frozen=True, slots=True)
class Branch:
    """Kernels that the plan launches alike.

    Attributes:
        title: the text of the kernels, and their dtypes.
        test: what a problem of theirs meets, operands of ``&&``.
        key: the expression of the tiling key. ``kernel``: the function that says what the plan knows of them.
        members: values of members of ``Kernel``, by name, that this does not say: those in which kernels of
            one text differ.
    """

    title: str
    test: tuple[str, ...]
    key: str
    kernel: str
    namespace: str
    members: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class KnownKernel:
    """What a plan knows of the kernels of one text: the function ``name`` gives ``values``, those of all
    members of ``Kernel`` in order."""

    name: str
    namespace: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dispatch:
    """How a plan picks a kernel.

    Attributes:
        common: what all kernels ask of a problem, operands of ``&&``; asked once where there are several.
        named: conditions that several branches ask for, by names.
        usual: what most branches ask for, operands of ``&&``; they ask for :data:`USUAL` instead.
        branches: in the order in which the plan tries them. ``kernels``: what they know of each text.
        function: the tiling function of all kernels; empty where each kernel names its own. ``waits``: the
            same of the function that tells whether blocks wait for each other.
    """

    common: tuple[str, ...]
    named: tuple[tuple[str, str], ...]
    usual: tuple[str, ...]
    branches: tuple[Branch, ...]
    kernels: tuple[KnownKernel, ...]
    function: str
    waits: str

    @property
    def usual_name(self) -> str:
        """The name of what most branches ask for."""
        return USUAL


def dispatch(
    kernels: Sequence[PlannedKernel], words: Mapping[str, Words], members: Sequence[str]
) -> Dispatch:
    """The choice between some kernels; those of one dtype stay in order.

    ``members``: those of ``Kernel`` but for functions.
    """
    functions, waits = {each.function for each in kernels}, {each.waits for each in kernels}
    if len(functions) > 1:
        kernels = [replace(each, members={**each.members, "tile": f"&{each.function}"}) for each in kernels]
    if len(waits) > 1:
        kernels = [replace(each, members={**each.members, "waits": f"&{each.waits}"}) for each in kernels]
    every = (*members, *(["tile"] if len(functions) > 1 else []), *(["waits"] if len(waits) > 1 else []))
    known = {
        each.namespace: _known([one for one in kernels if one.namespace == each.namespace])
        for each in kernels
    }
    made = [_branch(group, words, known[group[0].namespace]) for group in _groups(kernels)]
    found = [branch for branch, _ in made]
    common = tuple(test for test in found[0].test if all(test in each.test for each in found))
    own = [tuple(test for test in each.test if test not in common) for each in found]
    if len(found) < 2 or not all(own):  # the only one, or one that takes all that others take
        common = ()
        own = [each.test for each in found]
    named = _named_conditions(own, {text: name for _, names in made for text, name in names.items()})
    tests = [tuple(named.get(text, text) for text in test) for test in own]
    usual = _usual(tests)
    branches = tuple(
        replace(each, test=_asking(test, usual)) for each, test in zip(found, tests, strict=True)
    )
    return Dispatch(
        common,
        tuple((name, text) for text, name in named.items()),
        usual,
        branches,
        tuple(
            KnownKernel(_kernel_name(kernels[0], text), text, tuple(values.get(name, "0") for name in every))
            for text, values in known.items()
        ),
        kernels[0].function if len(functions) == 1 else "",
        kernels[0].waits if len(waits) == 1 else "",
    )


def _known(kernels: Sequence[PlannedKernel]) -> dict[str, str]:
    """What the plan knows of the kernels of one text, by member: that in which they are alike."""
    first = kernels[0].members
    return {
        name: value
        for name, value in first.items()
        if all(each.members.get(name) == value for each in kernels)
    }


def _kernel_name(kernel: PlannedKernel, namespace: str) -> str:
    """The function that says what the plan knows of a text: named as it, without the operator."""
    words = namespace.removeprefix(f"{names_of(kernel.compiled.operator).op}_").split("_")
    return f"Of{pascal('_'.join(map(capitalized, words)))}"


def _usual(tests: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The conditions that many branches ask for together, where that saves lines: those that save most."""
    shared = [tuple(text for text in one if text in other) for one, other in combinations(tests, 2)]

    def saved(conditions: tuple[str, ...]) -> int:
        asking = sum(set(conditions) <= set(test) for test in tests)
        return (asking - 1) * len(conditions) - asking

    most = max(shared, key=saved, default=())
    return most if len(most) > 1 and saved(most) >= _FEWEST_SAVED else ()


def _asking(test: tuple[str, ...], usual: tuple[str, ...]) -> tuple[str, ...]:
    """What a branch asks for, by one name where it asks for what most do."""
    if not usual or not set(usual) <= set(test):
        return test
    return (USUAL, *(text for text in test if text not in usual))


def _named_conditions(tests: Sequence[Sequence[str]], names: Mapping[str, str]) -> dict[str, str]:
    """Names for the conditions of several parts that more than one branch asks for, by text.

    ``names``: what conditions can be called.
    """
    counted = Counter(text for test in tests for text in test)
    found: dict[str, str] = {}
    for text, count in counted.items():
        name = names.get(text, "")
        if count > 1 and (" || " in text or " && " in text) and 0 < len(name) <= _LONGEST_NAME:
            found.setdefault(text, name)
    return found if len(set(found.values())) == len(found) else {}


def _groups(kernels: Sequence[PlannedKernel]) -> list[list[PlannedKernel]]:
    """The kernels of each branch."""
    groups: list[list[PlannedKernel]] = []
    for kernel in kernels:
        for group in reversed(groups):
            if all(_alike(other, kernel) for other in group):
                group.append(kernel)
                break
            if any(other.dtype == kernel.dtype for other in group):
                groups.append([kernel])
                break
        else:
            groups.append([kernel])
    return groups


def _alike(first: PlannedKernel, second: PlannedKernel) -> bool:
    """Whether two kernels are launched alike but for dtypes, those of the io and of other tensors."""
    mine, others = guards(first.compiled), guards(second.compiled)
    return (
        (first.function, first.namespace) == (second.function, second.namespace)
        and first.dtype != second.dtype
        and len(mine) == len(others)
        and all(
            _same(one, other) or _are_of_a_dtype(one, other) for one, other in zip(mine, others, strict=True)
        )
    )


def _same(first: DispatchGuard, second: DispatchGuard) -> bool:
    return first.holds == second.holds and first.condition.same(second.condition)


def _are_of_a_dtype(first: DispatchGuard, second: DispatchGuard) -> bool:
    """Whether both ask for the dtype of one tensor and nothing else."""
    symbols = first.condition.symbols()
    return symbols == second.condition.symbols() and len(symbols) == 1 and kind_of(*symbols) == DTYPE


def _io_guard(kernel: PlannedKernel) -> DispatchGuard:
    """The guard of the io dtype."""
    io = dtype_of(io_tensor(kernel.compiled.operator).name).name
    return next(each for each in guards(kernel.compiled) if each.condition.symbols() == {io})


def _picked(texts: Sequence[str], io: Sequence[str]) -> str:
    """One text, or the expression that picks it by the io dtype; ``io``: the test of each dtype."""
    if len(set(texts)) == 1:
        return texts[0]
    rest = _picked(texts[1:], io[1:])
    return f"{io[0]} ? {texts[0]} : {f'({rest})' if ' ? ' in rest else rest}"


def _branch(
    group: Sequence[PlannedKernel], words: Mapping[str, Words], known: Mapping[str, str]
) -> tuple[Branch, dict[str, str]]:
    """A branch, and names for its conditions by their text. ``known``: members of all kernels of its text."""
    first, every = group[0], [guards(kernel.compiled) for kernel in group]
    shared = [all(_same(column[0], each) for each in column) for column in zip(*every, strict=True)]
    rest = [guard for guard, common in zip(every[0], shared, strict=True) if common]
    own = [[guard for guard, common in zip(each, shared, strict=True) if not common] for each in every]
    names = {guard.shown(words): guard.name(words) for guard in rest}
    asked = []
    if len(group) > 1:
        alternatives = [" && ".join(guard.shown(words) for guard in each) for each in own]
        joined = " || ".join(f"({each})" if " && " in each else each for each in alternatives)
        asked = [f"({joined})"]
        if all(len(each) == 1 and each[0].holds for each in own):
            whole = DispatchGuard(reduce(or_, (each[0].condition for each in own)))
            asked = [whole.shown(words)]
            names[asked[0]] = whole.name(words)
    io = [_io_guard(kernel).shown(words) for kernel in group]
    members = dict.fromkeys(name for kernel in group for name in kernel.members if name not in known)
    branch = Branch(
        title=f"{first.namespace}: {' or '.join(kernel.dtype for kernel in group)}",
        test=(*asked, *(guard.shown(words) for guard in rest)),
        key=_picked([f"Key::{key_name(kernel.compiled)}" for kernel in group], io),
        kernel=_kernel_name(first, first.namespace),
        namespace=first.namespace,
        members=tuple(
            (name, _picked([kernel.members.get(name, "0") for kernel in group], io)) for name in members
        ),
    )
    return branch, names
