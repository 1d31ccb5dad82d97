"""One kernel of a project on the emulator, alone, so that a mutant compiles in a second: its files, and calls
for it with the statements that each executes."""

from __future__ import annotations

import ctypes
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from attndsl import emulator
from attndsl.base.disk_cache import content_key
from attndsl.base.errors import UserError
from attndsl.campaign.judging import Wanted, judge, wanted_of
from attndsl.campaign.less_l2 import call_of
from attndsl.campaign.results import PASS, BackendResult
from attndsl.campaign.runner import CaseData, NotGenerated, case_data, operator_of
from attndsl.codegen.kernel.shared_texts import SharedText, SharedTexts
from attndsl.codegen.kernel_set.entry import entry_text
from attndsl.codegen.kernel_set.kernel_list import KERNEL_LIST, ListedKernel, read_kernel_list
from attndsl.codegen.names.arguments import Names, names_of
from attndsl.codegen.text.render import render
from attndsl.compiler.prepare_launch import Launch, compiled_for
from attndsl.emulator.kernel import MOST_STATEMENTS
from attndsl.emulator.launch_syntax import includes
from attndsl.emulator.report import Report
from attndsl.emulator.statements import instrument
from attndsl.execute.execute import stored
from attndsl.execute.user_project import UserProject
from attndsl.execute.wanted_kernels import wanted_kernel
from attndsl.mutate.asked_plans import ask
from attndsl.reference.threads import single_threaded_blas
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import stream_of

_SECONDS = 20.0
"""Processor time of a launch of the kernel as it is that a mutant may take, besides ten times its own."""
_SLOWER = 10.0
_STREAMS, _NEXT_SEED = 3, 1 << 16
_KEPT = 24
"""Cases whose golden results a process keeps."""
RUNTIME_HEADER = "op_kernel/attndsl_kernel.h"
"""What all kernels of a project rest on."""
_COUNTED = f"#include <cstdint>\nnamespace attnemu {{ inline uint8_t reached[{MOST_STATEMENTS}]; }}\n"
_SYMBOL = "_ZN7attnemu7reachedE"
"""What an instrumented plan notes the statements in that run, and its name in the library."""


@dataclass(frozen=True, kw_only=True)
class MissedCase:
    """A case that a kernel misses as it is: its number, and what was told."""

    kernel: str
    case: int
    message: str


class KernelFails(UserError):
    """Kernels miss cases as they are: nothing can be learnt from their mutants."""

    def __init__(self, *missed: MissedCase) -> None:
        self.missed = missed
        first, *others = missed
        beside = f"; so do {', '.join(each.kernel for each in others)} theirs" if others else ""
        super().__init__(
            f"{first.kernel} fails case {first.case} as it is, so that its mutants show nothing: "
            f"{first.message}{beside}; attndsl verify --project shows the case"
        )


@dataclass(frozen=True, kw_only=True)
class KernelFiles:
    """One kernel of a project, as it travels between processes.

    Attributes:
        source: what the operator is loaded from. ``device``: the name of the one that its kernels are for.
        mode: the operator that takes the calls. ``content``: of the files that declare it.
        listed: what the list of kernels says of it.
        files: texts by path in the project.
    """

    source: str
    device: str
    mode: str
    content: str
    listed: ListedKernel
    files: Mapping[str, str]

    @property
    def kernel(self) -> str:
        """Its name."""
        return self.listed.name

    @property
    def header(self) -> str:
        """The file of its text."""
        return self.listed.file

    @cached_property
    def key(self) -> str:
        """Over all that decides what the kernel computes."""
        return content_key(self.kernel, self.content, *(part for item in self.files.items() for part in item))

    @property
    def plan(self) -> str:
        """The file of the host's plan."""
        return next(name for name in self.files if name.startswith("op_host/") and name.endswith("_plan.h"))

    @property
    def schedule(self) -> str:
        """The header of the kernel's schedule."""
        return self.header.removesuffix(".h") + "_schedule.h"

    def changed(self, file: str, text: str) -> KernelFiles:
        """The same with another text of a file."""
        return replace(self, files={**self.files, file: text})


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A case for a kernel: what it is made of, the seconds that it takes, and by file the numbers of the
    statements that run."""

    data: CaseData
    seconds: float
    reached: Mapping[str, frozenset[int]]

    @property
    def patience(self) -> float:
        """Processor seconds that a mutant may take for the case."""
        return _SECONDS + _SLOWER * self.seconds


def kernel_files(folder: Path, operator: Operator, mode: Operator) -> Iterator[KernelFiles]:
    """The kernels that the list of a project names, each with the files that it needs.

    Args:
        folder: the project of ``mode``.
        operator: what is loaded by name; ``mode`` is this or one of its modes.
    """
    names = names_of(mode)
    content = operator.content_key
    assert content is not None, "asked of operators that a file declares"
    host = sorted(
        each for each in folder.glob("op_host/*.h") if each.name.endswith(("_plan.h", "arithmetic.h"))
    )
    for listed in read_kernel_list(mode, folder / KERNEL_LIST):
        texts = {f"op_host/{path.name}": path.read_text(encoding="utf-8") for path in host}
        texts[KERNEL_LIST] = (folder / KERNEL_LIST).read_text(encoding="utf-8")
        for path in _reached_headers(folder, listed.file):
            texts[path] = (folder / path).read_text(encoding="utf-8")
        for path in _reached_headers(folder, f"op_host/{names.op}_plan.h"):
            texts[path] = (folder / path).read_text(encoding="utf-8")
        yield KernelFiles(
            source=operator.source,
            device=operator.device.name,
            mode=mode.name,
            content=content,
            listed=listed,
            files=dict(sorted(texts.items())),
        )


def _reached_headers(folder: Path, first: str) -> list[str]:
    """A file and the project's own headers that it includes, directly or through others."""
    found, waiting = [], [first]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.append(name)
            path = folder / name
            quoted = (each for *_, quoted, each in includes(path.read_text(encoding="utf-8")) if quoted)
            near = ((path.parent / each).resolve() for each in quoted)
            waiting += [each.relative_to(folder.resolve()).as_posix() for each in near if each.is_file()]
    return found


class Bench:
    """A kernel, and its mutants, ready to run on cases."""

    _golden: ClassVar[dict[str, tuple[Call, Wanted]]] = {}

    def __init__(self, files: KernelFiles) -> None:
        self.files = files
        self.operator, spaces = operator_of(files.source, files.device)
        self.mode: Operator = spaces[files.mode].operator

    @property
    def _names(self) -> Names:
        return names_of(self.mode)

    @cached_property
    def _entry(self) -> str:
        """The kernel function with this kernel alone, whose text may be named after others of the project."""
        compiled = compiled_for(self.mode, self.files.listed.special)
        text = SharedText(Path(self.files.header).stem, compiled)
        return render("op_kernel/entry.cpp.j2", entry=entry_text([compiled], SharedTexts({compiled: text})))

    @property
    def entry_file(self) -> str:
        """The file of the kernel function, which is named after it."""
        return f"op_kernel/{self._names.kernel}.cpp"

    def folder(self, files: Mapping[str, str] | None = None) -> Path:
        """Where the kernel lies, in the cache; ``files``: other ones than its own."""
        return stored({**(self.files.files if files is None else files), self.entry_file: self._entry})

    def trials(self, seed: int, cases: range) -> tuple[Trial, ...]:
        """Cases for the kernel, which passes them, with what each executes, the cheapest first.

        Args:
            seed: of the cases.
            cases: their places among those of the kernel.

        Raises:
            KernelFails: it does not.
            NotGenerated: there are no cases.
        """
        texts, plan_file = dict(self.files.files), self.files.plan
        texts[self.files.header], own = instrument(texts[self.files.header])
        if RUNTIME_HEADER in texts:
            texts[RUNTIME_HEADER], _ = instrument(texts[RUNTIME_HEADER], len(own))
        texts[plan_file] = _COUNTED + instrument(texts[plan_file])[0]
        folder = self.folder(texts)
        kernel = emulator.build(folder / self.entry_file, entry=self._names.kernel)
        project, found = UserProject(folder, self.mode), []
        for case in itertools.islice(self.cases(seed, cases.stop), cases.start, None):
            data, reports = case_data(case), list[Report]()
            marks = (ctypes.c_uint8 * MOST_STATEMENTS).in_dll(project.compiled_plan(), _SYMBOL)
            ctypes.memset(marks, 0, MOST_STATEMENTS)

            def execute(launch: Launch, reports: list[Report] = reports) -> Report:
                plan = project.plan(launch)
                ask(project, launch, marks)  # noqa: B023
                reports.append(plan.run(kernel, launch))
                return reports[-1]

            begun = time.monotonic()
            result = self.judged(data, execute)
            if result.status != PASS:
                raise KernelFails(
                    MissedCase(kernel=self.files.kernel, case=case.number, message=result.message)
                )
            seconds = time.monotonic() - begun
            planned = frozenset(int(each) for each in np.flatnonzero(np.frombuffer(bytes(marks), np.uint8)))
            reached = {
                self.files.header: frozenset(each for each in reports[0].reached if each < len(own)),
                RUNTIME_HEADER: frozenset(each - len(own) for each in reports[0].reached if each >= len(own)),
                plan_file: planned,
            }
            found.append(Trial(data=data, seconds=seconds, reached=reached))
        return tuple(sorted(found, key=lambda each: each.seconds))

    def cases(self, seed: int, count: int) -> Iterator[Case]:
        """Cases for the kernel; where a stream has no further one, those of another seed go on.

        Raises:
            NotGenerated: none of several has any.
        """
        kernels, found, reason = (wanted_kernel(self.mode, self.files.listed),), 0, ""
        for attempt in range(_STREAMS):
            stream = stream_of(self.operator, seed + attempt * _NEXT_SEED, kernels)
            for number in range(count - found):
                try:
                    case = stream.take(number + 1)[number]
                except (LookupError, StopIteration, RuntimeError) as error:
                    reason = f"{type(error).__name__}: {error}"
                    break
                found += 1
                yield case
        if not found:
            raise NotGenerated(self.operator.name, reason)

    def judged(self, data: CaseData, execute: Callable[[Launch], Report]) -> BackendResult:
        """What one way to run the kernel makes of a case."""
        with single_threaded_blas():
            call, wanted = self._inputs(data)
            return judge(call, "emulator", wanted, execute)

    def _inputs(self, data: CaseData) -> tuple[Call, Wanted]:
        """The call of a case and what it is judged by, kept for the next mutants of the kernel."""
        key = f"{self.files.kernel}-{data.content}-{data.seed}-{data.number}-{data.attempt}"
        if key not in self._golden:
            while len(self._golden) >= _KEPT:
                del self._golden[next(iter(self._golden))]
            case = data.case()
            call = call_of(case)
            self._golden[key] = (call, wanted_of(case, call))
        return self._golden[key]
