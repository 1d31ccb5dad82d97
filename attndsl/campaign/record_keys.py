"""What decides the result of a verification, in parts with a digest each.

A part is told by what it means. What an author declares: contract, graph and schedule, without lines and
words. What the compiler makes: tile programs of the cases' own kernels, and the committed operator projects.
What runs and judges: sources without comments. So a change that alters none of these leaves a record as it
is: of documents, commands, benches, other operators, or of how the compiler arrives at the same kernels.
"""

from __future__ import annotations

import enum
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import attndsl
from attndsl.base.disk_cache import content_key
from attndsl.base.errors import InternalError
from attndsl.base.package_files import generated_dir
from attndsl.campaign.source_meaning import CXX, PYTHON, meaning_of
from attndsl.compiler.prepare_launch import compiled_for, specialization_of
from attndsl.graph.graph import structure
from attndsl.lowering.errors import ScheduleError
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.operator import Operator
from attndsl.tile.printer import print_statement
from attndsl.tile.program import Program
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import spaces

SAMPLED = 6
"""Kernels of a record whose tile programs the fast tests compare: the first of its list."""

SOURCES: Mapping[str, tuple[str, ...]] = {
    "calls": ("base/stored_order.py", "expr", "graph", "spec", "target/architecture.py"),
    "cases": ("verify/cases", "verify/data", "verify/space"),
    "judge": ("campaign/judging.py", "campaign/less_l2.py", "verify/judge"),
    "reference": ("reference",),
    "launch": ("compiler/launch_scalars.py", "compiler/prepare_launch.py"),
    "tile interpreter": ("tile", "tile_interpreter"),
    "emulator": ("emulator", "execute/execute.py"),
    "mutants": (
        "codegen/kernel_set/entry.py",
        "execute",
        "mutate/asked_plans.py",
        "mutate/bench.py",
        "mutate/runner.py",
        "mutate/trial_run.py",
    ),
}
"""The parts that are sources: files and folders of the package. Rules of mutants decide which there are; what
one is, its name and the file tell."""
_WORDS_ALONE = frozenset(
    {
        "expr/interval_rules.py",
        "expr/intervals.py",
        "expr/proofs.py",
        "graph/next_steps.py",
        "graph/row_rules.py",
        "graph/rules.py",
        "graph/verifier.py",
        "spec/binding/shape_messages.py",
        "spec/contract/contract_text.py",
        "spec/contract/nearest.py",
        "spec/contract/wording.py",
        "spec/errors.py",
        "spec/loader.py",
        "spec/operator/files_read.py",
        "spec/operator/loader.py",
        "spec/operator/python_mistakes.py",
        "spec/operator/starting_specs.py",
        "tile/naming.py",
        "tile/printer.py",
        "tile/verifier.py",
    }
)
"""Files in these folders that refuse, word or prove something, and decide no result."""
_TOLD_BY_CONTENT = ("spec/authoring",)
"""Folders whose work is told by what comes of it, the contract and the graph."""
_OF_ALL = ("contract", "calls", "cases", "judge", "reference")
PARTS: Mapping[str, tuple[str, ...]] = {
    "reference": _OF_ALL,
    "tile": (*_OF_ALL, "launch", "tile interpreter"),
    "emulator": (*_OF_ALL, "launch", "emulator", "project"),
}
"""The parts that decide what a backend's run finds, beside the tile programs."""
PROGRAMS = "tile programs"


def part_digests(operator: Operator, backend: str) -> dict[str, str]:
    """A digest of each part that decides what a run on ``backend`` finds, but for the tile programs.

    "" of one that is not installed, so that nothing can be said of it.
    """
    return {part: _digest(operator, part) for part in PARTS[backend]}


def differing_parts(operator: Operator, backend: str, parts: Mapping[str, str]) -> tuple[str, ...]:
    """The parts that are not as a record has them, tile programs apart: nothing is compiled."""
    now = part_digests(operator, backend)
    return tuple(part for part, digest in now.items() if digest and parts.get(part) != digest)


def differing_programs(
    operator: Operator, programs: Mapping[str, str], most: int | None = None
) -> tuple[str, ...]:
    """The kernels whose tile programs are not as a record has them, among the first ``most`` of it.

    ``programs``: digests by the text of a :class:`Kernel`. Each kernel is compiled.
    """
    first = itertools.islice(programs.items(), most)
    return tuple(kernel for kernel, digest in first if program_digest(operator, kernel) != digest)


def _digest(operator: Operator, part: str) -> str:
    if part == "contract":
        return _contract_digest(operator)
    return _project_digest(operator) if part == "project" else source_digest(part)


# Sources ----------------------------------------------------------------------------------------------------


@cache
def source_digest(part: str) -> str:
    """A digest of the sources of a part, which all operators share."""
    return content_key(*(f"{name} {meaning_of(path)}" for path, name in source_files(part)))


def source_files(part: str) -> Iterator[tuple[Path, str]]:
    """The sources of a part, with their names in the package."""
    root = Path(attndsl.__file__).parent
    for name in SOURCES[part]:
        path = root / name
        for each in [path] if path.is_file() else sorted(path.rglob("*")):
            told = each.relative_to(root).as_posix()
            is_source = each.suffix in PYTHON | CXX
            if is_source and told not in _WORDS_ALONE and not told.startswith(_TOLD_BY_CONTENT):
                yield each, told


# What the author declares -----------------------------------------------------------------------------------

_NOT_MEANT = frozenset({"where", "meaning", "text", "hint", "errors", "shape_error"})
"""Fields of a contract that are words for readers, or lines."""


@cache
def _contract_digest(operator: Operator) -> str:
    return content_key(*map(contract_meaning, (operator, *operator.modes)))


def contract_meaning(operator: Operator) -> str:
    """What an operator declares: arguments, sizes, constraints, results, computation, and the schedule."""
    nodes = dict.fromkeys(node for root in operator.roots for node in root.walk())
    edges = [space.edges for space in spaces(operator)]
    told = (
        operator.name,
        operator.device.name,
        operator.parameters,
        operator.dims_by_name,
        operator.axis_extents,
        operator.outputs,
        operator.constraints,
        operator.schedule_choices,
        edges,
    )
    return "\n".join((*map(_told, told), structure(nodes)))


def _told(value: Any) -> str:
    """Declarations as text without the author's words and lines."""
    if isinstance(value, enum.Enum):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type) and type(value).__module__.startswith(_CONTRACTS):
        told = (f"{each.name}={_told(getattr(value, each.name))}" for each in _meant(type(value)))
        return f"{type(value).__name__}({', '.join(told)})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_told(key)}: {_told(each)}' for key, each in value.items())}}}"
    if isinstance(value, frozenset | set):
        return f"{{{', '.join(sorted(map(_told, value)))}}}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_told, value))}]"
    if isinstance(value, type):
        return f"warning {value.__name__}" if issubclass(value, Warning) else "type " + _type_name(value)
    return str(value) if hasattr(value, "symbols") else repr(value)


_CONTRACTS = "attndsl.spec.contract"


def _type_name(kind: type) -> str:
    return "error" if issubclass(kind, Exception) else kind.__name__


@cache
def _meant(kind: Any) -> tuple[Any, ...]:
    return tuple(each for each in fields(kind) if each.name not in _NOT_MEANT)


# What the compiler makes ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """A kernel that cases used: the operator of its calls, and its specialization."""

    mode: str
    special: Specialization

    @property
    def text(self) -> str:
        """As a record names it."""
        special = self.special
        sizes = [special.padded_head_size, special.padded_value_size]
        settings = [list(each) for each in special.settings]
        return json.dumps([self.mode, special.dtype, sizes, sorted(special.features), settings])

    @staticmethod
    def of_text(text: str) -> Kernel:
        """The kernel that a record names."""
        mode, dtype, sizes, features, settings = json.loads(text)
        special = Specialization(
            dtype=dtype,
            padded_head_size=sizes[0],
            features=frozenset(features),
            padded_value_size=sizes[1],
            settings=tuple((name, value) for name, value in settings),
        )
        return Kernel(mode, special)

    def traits(self) -> tuple[str, ...]:
        """What it has, as far as that decides how its program is made."""
        special = self.special
        head = "small" if special.padded_head_size <= 128 else "large"
        other = "" if special.padded_value_size is None else " values of a size of their own"
        return (
            f"{self.mode} {head}{other}",
            special.dtype,
            *sorted(special.features),
            *(f"{name}={value}" for name, value in special.settings),
        )


def kernels_of(cases: Iterable[Case]) -> tuple[Kernel, ...]:
    """The kernels that cases use; each has most pairs of traits that those before it do not have."""
    found: dict[Kernel, None] = {}
    for case in cases:
        call = case.outline()
        found.setdefault(Kernel(call.operator.name, specialization_of(call)))
    left = {kernel: _pairs(kernel) for kernel in sorted(found, key=lambda each: each.text)}
    order: list[Kernel] = []
    while left:
        best = max(left, key=lambda kernel: len(left[kernel]))
        seen = left.pop(best)
        order.append(best)
        for pairs in left.values():
            pairs -= seen
    return tuple(order)


def _pairs(kernel: Kernel) -> set[tuple[str, str]]:
    return set(itertools.combinations_with_replacement(kernel.traits(), 2))


def program_digests(operator: Operator, kernels: Iterable[Kernel]) -> dict[str, str]:
    """The tile programs of kernels, by the texts of the kernels."""
    return {kernel.text: program_digest(operator, kernel.text) for kernel in kernels}


@cache
def program_digest(operator: Operator, kernel: str) -> str:
    """A digest of the tile program of a kernel; the name of the error where there is none."""
    wanted = Kernel.of_text(kernel)
    for mode in (operator, *operator.modes):
        if mode.name == wanted.mode:
            try:
                return content_key(program_meaning(compiled_for(mode, wanted.special).program))
            except ScheduleError as error:
                return type(error).__name__
            except (KeyError, TypeError, ValueError):
                break  # a setting that the operator no longer has
    return "no such kernel"


_NOTE = re.compile(r"^\s*#.*\n|  # \S*:\d+$", re.MULTILINE)


def program_meaning(program: Program) -> str:
    """A finished tile program as text: statements without notes, tensors, tiling fields, numbers, places."""
    parts = [f"{core.value}:\n{print_statement(tree)}\n" for core, tree in program.cores.items()]
    told = [
        *(f"{each.name} {each.dtype}" for each in (*program.parameters, *program.workspace)),
        *(f"{each.name} {each.ctype} = {each.value}" for each in program.tiling),
        *(f"{each.named} = {each.named.value}" for each in program.constants),
        *(f"flag {name} {number}" for name, number in program.flags.items()),
        *(
            f"{buffer.name} {buffer.space} {buffer.slots} x {buffer.slot_bytes} at {address}"
            for buffer, address in program.addresses.items()
        ),
    ]
    return _NOTE.sub("", "".join(parts)) + "\n".join(told)


_PROJECT: tuple[Callable[[str], bool], ...] = (
    lambda name: name.startswith("op_kernel/"),
    lambda name: name.startswith("op_host/") and name.endswith(("_plan.h", "arithmetic.h")),
)
"""The files of a project that a run on the emulator consists of."""


@cache
def _project_digest(operator: Operator) -> str:
    """The committed projects of an operator and its modes, as far as they decide a launch."""
    found = []
    try:
        root = generated_dir()
    except InternalError:
        return ""
    for mode in (operator, *operator.modes):
        for path in sorted((root / mode.name).rglob("*")):
            name = path.relative_to(root / mode.name).as_posix()
            if path.suffix in CXX and any(asked(name) for asked in _PROJECT):
                found.append(f"{name} {meaning_of(path)}")
    return content_key(*found)
