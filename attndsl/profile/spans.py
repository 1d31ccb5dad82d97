"""What one block did when: the spans of its cores' pipes, with the functions of the kernel they belong to."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from attndsl.codegen.samples.device_files import kernel_path
from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import Launch
from attndsl.emulator import Knobs
from attndsl.execute.execute import execute, written
from attndsl.profile.extrapolation import LONGEST_RUN

_FUNCTION = re.compile(r"__aicore__ inline [\w<>:]+ (\w+)\(")
_LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand on chip: the memory's name, its first byte, and whether it is written."""

    space: str
    address: int
    written: bool


@dataclass(frozen=True, slots=True)
class Span:
    """An instruction on its pipe, or a wait of the pipe; times in microseconds from the launch.

    Attributes:
        core: as "AIC" or "AIV0".
        what: the API, or what the pipe waits for. ``operands``: those on chip.
        line: "file:number" in the kernel.
        function: the kernel's function around it, or around the last call before that of a helper in another
            file; empty outside of the kernel's own text.
    """

    core: str
    pipe: str
    start: float
    length: float
    what: str
    line: str
    function: str
    waiting: bool
    operands: tuple[Operand, ...] = ()

    @property
    def end(self) -> float:
        """When it is over."""
        return self.start + self.length


@dataclass(frozen=True)
class BlockSpans:
    """All spans of a block. ``until``: microseconds to which they are whole; later ones may be left out."""

    block: int
    spans: tuple[Span, ...]
    until: float

    def rows(self, pipes: Sequence[str]) -> dict[tuple[str, str], list[Span]]:
        """The spans of each core's pipes that have any, in the order of ``pipes``, by their starts."""
        found: dict[tuple[str, str], list[Span]] = {}
        for span in sorted(self.spans, key=lambda span: span.start):
            found.setdefault((span.core, span.pipe), []).append(span)
        worked = {(span.core, span.pipe) for span in self.spans if not span.waiting}
        places = [(core, pipe) for core in sorted({core for core, _ in worked}) for pipe in pipes]
        return {place: found[place] for place in places if place in worked}


def spans_of(launch: Launch, block: int, *, most_core_cycles: int = 0) -> BlockSpans:
    """Runs the launch again without data and records one block.

    ``most_core_cycles``: cycles of all cores together after which the run is stopped; 0: none.

    Raises:
        As :func:`attndsl.profile.profile.profile_call`.
    """
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        knobs = Knobs(timing=True, most_core_cycles=most_core_cycles)
        execute(launch, knobs, trace=trace, trace_block=block, timeout=LONGEST_RUN)
        events = json.loads(trace.read_text())["traceEvents"]
    return read_spans(events, block, functions_of(launch.compiled))


def read_spans(
    events: Iterable[Mapping[str, object]], block: int, functions: Mapping[str, str]
) -> BlockSpans:
    """The spans in a trace's events. ``functions``: by "file:number" the kernel's function."""
    cores, pipes, spans, whole = dict[object, str](), dict[object, str](), list[Span](), True
    for event in events:
        name, place = str(event["name"]), (event["pid"], event["tid"])
        arguments = event.get("args")
        if event["ph"] == "i":
            whole = whole and _LEFT_OUT not in name
        elif name == "process_name" and isinstance(arguments, Mapping):
            cores[event["pid"]] = str(arguments["name"]).rpartition(" ")[2]
        elif name == "thread_name" and isinstance(arguments, Mapping):
            pipes[place] = str(arguments["name"])
        elif event["ph"] == "X" and isinstance(arguments, Mapping):
            line = str(arguments["source"])
            spans.append(
                Span(
                    core=cores[event["pid"]],
                    pipe=pipes[place],
                    start=float(str(event["ts"])),
                    length=float(str(event["dur"])),
                    what=name.removesuffix(f" {line}"),
                    line=line,
                    function=functions.get(line) or functions.get(str(arguments.get("before")), ""),
                    waiting=event["cat"] == "wait",
                    operands=_operands(str(arguments.get("operands", ""))),
                )
            )
    last = dict[str, float]()
    for span in spans:
        last[span.core] = max(last.get(span.core, 0.0), span.end)
    until = max(last.values(), default=0.0) if whole else min(last.values(), default=0.0)
    return BlockSpans(block, tuple(spans), until)


def _operands(text: str) -> tuple[Operand, ...]:
    """Those of "w UB 1024,r UB 0"."""
    parts = (part.split() for part in text.split(",") if part)
    return tuple(Operand(space, int(address), how == "w") for how, space, address in parts)


def functions_of(compiled: Compiled) -> dict[str, str]:
    """By "file:number" the function of an emitted kernel that the line is in."""
    path = written(compiled) / kernel_path(compiled)
    found, function = dict[str, str](), ""
    for number, text in enumerate(path.read_text().splitlines(), 1):
        match = _FUNCTION.search(text)
        function = match[1] if match else function
        if function:
            found[f"{path.name}:{number}"] = function
    return found


def middle(block: BlockSpans, most: int) -> tuple[float, float]:
    """A stretch around the middle of the recorded time with at most ``most`` spans; all if it has less."""
    begin = min((span.start for span in block.spans), default=0.0)
    starts = sorted(span.start for span in block.spans if span.start <= block.until)
    if len(starts) <= most:
        return begin, block.until
    centre = (begin + block.until) / 2
    first = sum(start < centre for start in starts)
    first = min(max(first - most // 2, 0), len(starts) - most)
    return starts[first], starts[first + most - 1]
