"""The timeline of a run as a trace that Perfetto and chrome://tracing open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attndsl.emulator.errors import LaunchError
from attndsl.target import Pipe

_PIPES = tuple(pipe.value for pipe in Pipe)
"""Threads of a core, in the order in which data pass them."""


def trace_events(lines: Iterator[str], clock: float, *, stopped: bool = False) -> list[dict[str, Any]]:
    """Chrome trace events from the emulator's records; times in microseconds at ``clock`` cycles a second.

    One process a core, one thread a pipe. Instructions have the category "instruction" and are named after
    the API and its source line, time spent waiting has the category "wait". Launches follow each other.
    ``before`` of an instruction in a header tells where its core came from: the last call in another file.
    ``operands`` are those on chip with their first bytes, as "w UB 1024,r UB 0": written, and read.
    ``stopped``: whether the run was, before the kernel's end.
    """
    per_cycle = 1e6 / clock
    events: list[dict[str, Any]] = []
    named: set[int] = set()
    start = end = 0.0
    for line in lines:
        kind, *fields = line.rstrip("\n").split("\t")
        if kind == "launch":
            kernel, cycles, dropped = fields
            start = end
            end = start + float(cycles)
            events.append(_instant(f"launch of {kernel}", start * per_cycle))
            if stopped:
                events.append(_instant("stopped here: what follows was not simulated", end * per_cycle))
            if int(dropped):
                events.append(_instant(f"{dropped} further instructions are left out", end * per_cycle))
        elif kind == "core":
            core = int(fields[0])
            if core not in named:
                named.add(core)
                events += _names(core, fields[1])
        else:
            index, pipe, waiting, at, taken, what, source, before, operands = fields
            label = f"wait for {what}" if waiting == "1" else what
            events.append(
                {
                    "name": f"{label} {source}",
                    "cat": "wait" if waiting == "1" else "instruction",
                    "ph": "X",
                    "ts": round((start + float(at)) * per_cycle, 6),
                    "dur": round(float(taken) * per_cycle, 6),
                    "pid": int(index),
                    "tid": _PIPES.index(pipe),
                    "args": {
                        "source": source,
                        "before": before,
                        "operands": operands,
                        "start cycle": float(at),
                        "cycles": float(taken),
                    },
                }
            )
    return events


def _instant(name: str, at: float) -> dict[str, Any]:
    return {"name": name, "ph": "i", "s": "g", "ts": round(at, 6), "pid": 0, "tid": 0}


def _names(core: int, label: str) -> Iterator[dict[str, Any]]:
    yield {"name": "process_name", "ph": "M", "pid": core, "tid": 0, "args": {"name": label}}
    yield {"name": "process_sort_index", "ph": "M", "pid": core, "tid": 0, "args": {"sort_index": core}}
    for order, pipe in enumerate(_PIPES):
        yield {"name": "thread_name", "ph": "M", "pid": core, "tid": order, "args": {"name": pipe}}
        yield {
            "name": "thread_sort_index",
            "ph": "M",
            "pid": core,
            "tid": order,
            "args": {"sort_index": order},
        }


def write_trace(records: Path, to: Path, clock: float, *, stopped: bool = False) -> None:
    """The records of a run, which may have been stopped, as one JSON document.

    Raises `LaunchError` when it cannot be written.
    """
    with records.open(errors="replace") as lines:
        events = trace_events(iter(lines), clock, stopped=stopped)
    note = "predicted times: see docs/emulator.md for how far off they may be"
    document = {"displayTimeUnit": "ns", "otherData": {"note": note}, "traceEvents": events}
    try:
        to.write_text(json.dumps(document, separators=(",", ":")))
    except OSError as error:
        raise LaunchError(f"cannot write the trace to '{to}': {error.strerror or error}") from error
