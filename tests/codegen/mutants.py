"""Generated kernels with synchronization statements taken out.

:func:`without` deletes a statement from the text. Compiling one kernel per deletion costs a second or two
each, so :class:`Switched` compiles the kernel once with every synchronization statement behind
``if (Present(i))``; the numbers to leave out travel behind the tiling struct.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from attndsl import emulator
from attndsl.codegen.kernel.dtype_parameter import text_name
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.samples.device_files import device_files, kernel_path
from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import Launch
from attndsl.execute.execute import arguments_of, plan_of, written

_STATEMENT = re.compile(
    r"^\s*(?:(?P<event>SetFlag|WaitFlag|SetAndWaitFlag)<HardEvent::(?P<pair>\w+)>\((?P<id>\w+)(?P<slot>[^)]*)\)"
    r"|PipeBarrier<PIPE_(?P<barrier>\w+)>\(\)"
    r"|(?P<cross>CrossCoreSetFlag<\w+, PIPE_\w+>|CrossCoreWaitFlag)\((?P<flag>[\w.]+)\));$"
)


@dataclass(frozen=True)
class Sync:
    """One synchronization statement of a generated file.

    ``line`` counts from 0. ``kind`` is SetFlag, WaitFlag, SetAndWaitFlag, PipeBarrier, CrossCoreSetFlag or
    CrossCoreWaitFlag, ``channel`` the pipe pair, pipe or flag, ``name`` the event constant (empty for
    barriers).
    """

    line: int
    kind: str
    channel: str
    name: str
    text: str

    def __str__(self) -> str:
        return f"line {self.line + 1}: {self.text}"


def sync_statements(source: str) -> list[Sync]:
    """Every event, barrier and cross-core statement, in the order of the text."""
    found = []
    for number, line in enumerate(source.split("\n")):
        if match := _STATEMENT.match(line):
            kind = match["event"] or (match["cross"] or "PipeBarrier").split("<")[0]
            channel = match["pair"] or match["barrier"] or match["flag"]
            found.append(Sync(number, kind, channel, match["id"] or match["flag"] or "", line.strip()))
    return found


def without(source: str, statement: Sync) -> str:
    """The text with one statement deleted; its line stays, empty, so that line numbers agree."""
    lines = source.split("\n")
    assert lines[statement.line].strip() == statement.text
    lines[statement.line] = ""
    return "\n".join(lines)


def place(source: str, statement: Sync) -> str:
    """A name of the statement that survives changes elsewhere: function, text and the next line of code."""
    lines = source.split("\n")
    heads = [
        match[1] for line in lines[: statement.line] if (match := re.search(r" inline void (\w+)\(", line))
    ]
    rest = (line.strip() for line in lines[statement.line + 1 :])
    following = next(line for line in rest if line not in ("", "{", "}") and not line.startswith("//"))
    operand = re.split(" = |,|;", following)[0]
    return f"{heads[-1]}: {statement.text} before {operand}"


_SWITCH = """namespace {
int64_t gAbsent[64];  // numbers of the statements to leave out, ended by -1
bool Present(int64_t number)
{
    for (const int64_t *at = gAbsent; *at >= 0; ++at) {
        if (*at == number) {
            return false;
        }
    }
    return true;
}
}  // namespace
"""
_TASK_TYPE = "    KERNEL_TASK_TYPE_DEFAULT("


def whole_source(compiled: Compiled, kernel: str) -> str:
    """A kernel's text with the operator's kernel function behind it, whose include of it is then idle."""
    return kernel + device_files([compiled])[f"op_kernel/{names_of(compiled.operator).kernel}.cpp"]


def _switched_source(compiled: Compiled, source: str) -> str:
    lines = source.split("\n")
    for number, statement in enumerate(sync_statements(source)):
        lines[statement.line] = f"if (Present({number})) {statement.text}"
    start = f"\nnamespace {text_name(compiled)} {{\n"
    switched = "\n".join(lines)
    assert switched.count(start) == 1
    text = whole_source(compiled, switched.replace(start, f"\n{_SWITCH}{start}"))
    assert text.count(_TASK_TYPE) == 1
    copy = (
        f"    for (int i = 0; i < 64; ++i) gAbsent[i] = reinterpret_cast<__gm__ int64_t *>"
        f"(tiling + sizeof({names_of(compiled.operator).tiling}))[i];\n"
    )
    return text.replace(_TASK_TYPE, copy + _TASK_TYPE)


class Switched:
    """A compiled specialization whose synchronization statements can be left out at run time."""

    def __init__(self, compiled: Compiled) -> None:
        self.source = device_files([compiled])[kernel_path(compiled)]
        self.statements = sync_statements(self.source)
        self.folder = written(compiled)
        self._kernel = _built(compiled, _switched_source(compiled, self.source))

    def run(self, launch: Launch, absent: Iterable[int] = ()) -> emulator.Report:
        """Run a launch without the statements of these numbers (positions in ``statements``)."""
        numbers = np.full(64, -1, np.int64)
        chosen = list(absent)
        assert len(chosen) < 64
        numbers[: len(chosen)] = chosen
        plan = plan_of(launch, self.folder)
        tiling = np.concatenate([plan.tiling, numbers.view(np.uint8)])
        return self._kernel.run(launch.blocks, arguments_of(launch, tiling), tiling_key=plan.key)


def _built(compiled: Compiled, text: str) -> emulator.Kernel:
    names = names_of(compiled.operator)
    return emulator.build(text, entry=names.kernel, include_dirs=[written(compiled) / "op_kernel"])


def is_reported_as_text(source: str, launches: Iterable[Launch]) -> bool:
    """Compile a mutated kernel text; whether a check finds something in any of its launches."""
    kernel = None
    try:
        for launch in launches:
            kernel = kernel or _built(launch.compiled, whole_source(launch.compiled, source))
            plan = plan_of(launch, written(launch.compiled))
            if not kernel.run(launch.blocks, arguments_of(launch, plan.tiling), tiling_key=plan.key).ok:
                return True
        return False
    finally:
        if kernel is not None:  # hundreds of mutants would fill the cache of compiled kernels
            shutil.rmtree(kernel.executable.parent, ignore_errors=True)


def event_groups(statements: list[Sync]) -> Mapping[str, list[int]]:
    """Numbers of all statements with the same event constant or cross-core flag."""
    groups: dict[str, list[int]] = {}
    for number, statement in enumerate(statements):
        if statement.name:
            groups.setdefault(statement.name, []).append(number)
    return groups
