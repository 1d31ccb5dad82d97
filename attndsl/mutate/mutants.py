"""All mutants of a project, and a draw from them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from attndsl.base.disk_cache import content_key
from attndsl.base.errors import UserError
from attndsl.mutate import data_rules, event_rules, plan_rules
from attndsl.mutate.bench import RUNTIME_HEADER, KernelFiles, Trial
from attndsl.mutate.contract_limits import limits_of
from attndsl.mutate.defects import Defect, Rule, defects_of
from attndsl.mutate.instructions import EmittedText, Instructions
from attndsl.mutate.source_model import SourceModel, Span

CLASS_SHARE = 25
"""Of N mutants, each class has at least N/25, where it has as many."""
DEVICE_HEADER = "op_kernel/attndsl_device.h"
"""The constants of the device."""
_WORD = re.compile(r"\w+")
_READ = re.compile(r"\btiling_\.(\w+)")
_ENUMERATOR = re.compile(r"\b(k\w+) = (\d+),")


class UnknownMutant(UserError, LookupError):
    """A mutant that no project of the operator has."""

    def __init__(self, name: str, count: int) -> None:
        super().__init__(
            f"no mutant {name} among {count}: identifiers are those that attndsl mutate prints, of the same "
            "sources"
        )


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One defect in one file of a project.

    Attributes:
        name: tells it from all others; the same as long as the file is.
        kernel: the kernel that it is tried with.
        kind: the class of the mistake.
        file, line: its place. ``before``, ``after``: the text there, on one line each.
        start, end: the place of the text that ``replacement`` is put for.
        statement: the number of the statement around it, None outside of functions.
    """

    name: str
    kernel: str
    kind: str
    file: str
    line: int
    before: str
    after: str
    start: int
    end: int
    replacement: str
    statement: int | None

    def text(self, files: KernelFiles) -> str:
        """The changed file."""
        text = files.files[self.file]
        return text[: self.start] + self.replacement + text[self.end :]

    def reaching(self, trials: Sequence[Trial]) -> tuple[Trial, ...]:
        """The trials that execute the changed line; all of a line that is no statement."""
        if self.statement is None:
            return tuple(trials)
        return tuple(each for each in trials if self.statement in each.reached.get(self.file, frozenset()))


def mutants_of(kernels: Sequence[KernelFiles]) -> Iterator[Mutant]:
    """All mutants of the kernels of a project and of its plan, each once.

    Which of several kernels that share a file a mutant is tried with, its name decides.
    """
    of_header, of_runtime, of_schedule = (dict[str, list[KernelFiles]]() for _ in range(3))
    for each in kernels:
        of_header.setdefault(each.header, []).append(each)
        if RUNTIME_HEADER in each.files:
            of_runtime.setdefault(RUNTIME_HEADER, []).append(each)
        if each.schedule in each.files:
            of_schedule.setdefault(each.schedule, []).append(each)
    sources = {file: _source(file, sharing[0]) for file, sharing in of_header.items()}
    for file, sharing in of_header.items():
        yield from _in_file(sources[file], file, sharing, (*event_rules.RULES, *data_rules.RULES))
    for file, sharing in of_runtime.items():
        rescaling = [each for each in sharing if not data_rules.has_no_maxima(sources[each.header])]
        yield from _in_runtime(file, sharing, rescaling)
    for file, sharing in of_schedule.items():
        source = _source(file, sharing[0], sources[sharing[0].header])
        yield from _in_file(source, file, sharing, data_rules.RULES)
    if kernels:
        yield from _in_plan(kernels)


def drawn(mutants: Sequence[Mutant], count: int, seed: int) -> Iterator[tuple[int, tuple[Mutant, ...]]]:
    """How many mutants to take from which lists, in order: the quota of each class, then the rest of all.

    Those that do not compile are passed over, so that the lists are longer than the numbers. A mutant's place
    is drawn by its name: other mutants of one kernel leave the order of all others.
    """
    order = sorted(mutants, key=lambda each: content_key(str(seed), each.name))
    quota = count // CLASS_SHARE
    for kind in sorted({each.kind for each in order}):
        yield quota, tuple(each for each in order if each.kind == kind)
    yield count, tuple(order)


# --------------------------------------------------------------------------------------------------------


def _source(file: str, of: KernelFiles, kernel: EmittedText | None = None) -> EmittedText:
    """A file of a kernel; ``kernel``: its text, of others."""
    known = Instructions.of(of.files.get(RUNTIME_HEADER, ""))
    constants = "".join(of.files.get(name, "") for name in (DEVICE_HEADER, of.schedule))
    limits = limits_of(of.source, of.mode)
    return EmittedText(of.files[file], known, of.files[of.plan], kernel, constants, limits)


def _in_file(
    source: EmittedText, file: str, kernels: Sequence[KernelFiles], rules: Sequence[Rule]
) -> Iterator[Mutant]:
    for defect in defects_of(source, rules):
        name = _name(kernels[0], file, defect)
        yield _mutant(source, file, defect, name, _pick(kernels, name))


def _in_runtime(
    file: str, kernels: Sequence[KernelFiles], rescaling: Sequence[KernelFiles]
) -> Iterator[Mutant]:
    """The mutants of the runtime header, each for a kernel that uses its function; others are left out.

    ``rescaling``: kernels in which a product with a rescaling factor changes something."""
    source = EmittedText(kernels[0].files[file], Instructions.of(kernels[0].files[file]))
    used = {each.kernel: used_functions(source, each.files[each.header]) for each in kernels}
    for defect in defects_of(source, (*event_rules.RULES, *data_rules.RULES)):
        statement = source.statement_at(defect.span.start)
        tried = rescaling if data_rules.multiplies_by_rescale(source, defect) else kernels
        fitting = [each for each in tried if statement is None or statement.function in used[each.kernel]]
        if fitting:
            name = _name(kernels[0], file, defect)
            yield _mutant(source, file, defect, name, _pick(fitting, name))


def used_functions(header: SourceModel, kernel: str) -> frozenset[str]:
    """The functions of a header whose names a kernel uses, directly or through others of them."""
    bodies: dict[str, str] = {}
    for each in header.statements:
        bodies[each.function] = bodies.get(each.function, "") + header.code_at(each.span)
    found, waiting = set[str](), [kernel]
    while waiting:
        words = set(_WORD.findall(waiting.pop()))
        new = (words & bodies.keys()) - found
        found |= new
        waiting += [bodies[each] for each in sorted(new)]
    return frozenset(found)


def _in_plan(kernels: Sequence[KernelFiles]) -> Iterator[Mutant]:
    """The mutants of a plan, each for a kernel whose calls it plans; none of a stride that neither these nor
    the plan itself read."""
    file = kernels[0].plan
    source = EmittedText(kernels[0].files[file])
    by_key = _by_key_name(kernels)
    flags, members = plan_rules.selecting_flags(source), plan_rules.members_of_kernels(source)
    told = {by_key[key].kernel: (flags[key], members[key]) for key in flags if key in by_key}
    for defect in defects_of(source, plan_rules.RULES):
        name = _name(kernels[0], file, defect)
        keys = [key for key in plan_rules.chosen_kernels(source, defect.span) if key in by_key]
        planned = _planned(by_key, source, defect.span) or kernels
        if defect.kind == plan_rules.PLAN_STRIDE and _is_unread(planned, source, defect.span):
            continue
        fitting = [by_key[key] for key in keys] or _using(planned, told, source, defect.span)
        yield _mutant(source, file, defect, name, _pick(fitting, name))


def _is_unread(kernels: Sequence[KernelFiles], source: SourceModel, place: Span) -> bool:
    """Whether a place of a plan computes a field that neither some kernels nor the plan read."""
    field = plan_rules.computed_field(source, place)
    if field is None or plan_rules.is_read(source, field):
        return False
    return not any(_reads(each, frozenset((field,))) for each in kernels)


def _planned(by_key: Mapping[str, KernelFiles], source: SourceModel, place: Span) -> list[KernelFiles]:
    """The kernels for whose calls a place of the plan is executed, as far as its function and the cases of
    switches tell."""
    told = [
        each
        for each in (
            plan_rules.kernels_of_function(source, place),
            plan_rules.kernels_of_case(source, place),
        )
        if each is not None
    ]
    return [kernel for key, kernel in by_key.items() if all(key in each for each in told)]


def _using(
    kernels: Sequence[KernelFiles],
    told: Mapping[str, tuple[Mapping[str, bool], frozenset[str]]],
    source: SourceModel,
    place: Span,
) -> Sequence[KernelFiles]:
    """The kernels for whose calls a place of a plan decides something that they read.

    ``told``: by kernel, the flags that lead to it and what the plan is told of it.
    """
    fitting = kernels
    field = plan_rules.computed_field(source, place)
    if field is not None:
        read = re.compile(rf"\btiling_\.{field}\b")
        fitting = [each for each in kernels if read.search(each.files[each.header])] or kernels
    if switched := plan_rules.switched_fields(source, place):
        found = {each.kernel: _reads(each, switched) for each in kernels}
        return [each for each in kernels if found[each.kernel] == max(found.values())]
    flags, members = plan_rules.wanted_flags(source, place), plan_rules.used_members(source, place)
    untold = plan_rules.untold_members(source, place)
    if not (flags or members or untold):
        return fitting
    taking = {
        name
        for name, (own, known) in told.items()
        if flags.items() <= own.items() and members <= known and not untold & known
    }
    return [each for each in fitting if each.kernel in taking] or fitting


def _reads(kernel: KernelFiles, fields: frozenset[str]) -> int:
    """How many of some fields of the tiling data a kernel reads."""
    return len(fields & set(_READ.findall(kernel.files[kernel.header])))


def _by_key_name(kernels: Sequence[KernelFiles]) -> dict[str, KernelFiles]:
    """The kernels by the names of their tiling keys."""
    tiling = next(text for name, text in kernels[0].files.items() if name.endswith("_tiling.h"))
    names = {int(number): name for name, number in _ENUMERATOR.findall(tiling)}
    return {names[each.listed.key]: each for each in kernels if each.listed.key in names}


def _name(of: KernelFiles, file: str, defect: Defect) -> str:
    """Of a defect: projects share names of files, such as that of the runtime header."""
    told = f"{of.mode} {file} {defect.kind} {defect.span.start} {defect.span.end} {defect.after}"
    return hashlib.sha256(told.encode()).hexdigest()[:10]


def _pick(kernels: Sequence[KernelFiles], name: str) -> KernelFiles:
    return kernels[int(name, 16) % len(kernels)]


def _mutant(source: SourceModel, file: str, defect: Defect, name: str, kernel: KernelFiles) -> Mutant:
    statement = source.statement_at(defect.span.start)
    return Mutant(
        name=name,
        kernel=kernel.kernel,
        kind=defect.kind,
        file=file,
        line=source.line(defect.span.start),
        before=_shown(source, defect.span),
        after=" ".join(defect.after.split()),
        start=defect.span.start,
        end=defect.span.end,
        replacement=defect.after,
        statement=None if statement is None else statement.number,
    )


def _shown(source: SourceModel, span: Span) -> str:
    return " ".join(source.at(span).split())
