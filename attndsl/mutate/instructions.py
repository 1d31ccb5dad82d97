"""What is known of the calls of a kernel: which pipe they keep busy, and what their numbers are.

The API's names are those of the instructions of :mod:`attndsl.tile.instructions`, parameters stand in a
table; of the helpers in a project's runtime header, their text tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from attndsl.mutate.source_model import CallText, SourceModel, StatementText
from attndsl.target import Pipe
from attndsl.tile.instructions import instruction_classes
from attndsl.tile.instructions.units import block_elements, repeat_elements

COUNT, LENGTH, STRIDE, OTHER = "count", "length", "stride", ""
"""What a number of a call is: rows, elements of a row, a distance, something else."""

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "DataCopyParams": (COUNT, LENGTH, STRIDE, STRIDE),
    "DataCopyExtParams": (COUNT, LENGTH, STRIDE, STRIDE, OTHER),
    "Nd2NzParams": (OTHER, COUNT, LENGTH, OTHER, STRIDE, STRIDE, OTHER, OTHER),
    "LoadData2DParams": (OTHER, COUNT, STRIDE, OTHER, OTHER, OTHER, OTHER),
    "LoadData2dTransposeParams": (OTHER, COUNT, STRIDE, STRIDE, OTHER),
    "FixpipeParamsV220": (LENGTH, COUNT, STRIDE, STRIDE, OTHER),
    "ProductParams": (LENGTH, LENGTH, LENGTH, OTHER),
    "BinaryRepeatParams": (STRIDE,) * 6,
    "UnaryRepeatParams": (STRIDE,) * 4,
    "CopyRepeatParams": (STRIDE,) * 4,
    "BrcbRepeatParams": (STRIDE, STRIDE),
}
"""The fields of an instruction's parameters, by what constructs them."""
_VECTOR = {
    api for each in instruction_classes().values() if each.pipe is Pipe.V for api in each.api_names()
} - {"DataCopy"}
"""The names of the vector pipe's instructions. A DataCopy is mostly between UB and global memory."""
Limit = tuple[tuple[str, ...], str]
"""Tensors whose entries are at most a size of a call, as :mod:`attndsl.mutate.contract_limits` has both."""
_SIGNATURE = re.compile(r"\binline\s+(?:constexpr\s+)?[\w:]+\s+(\w+)\s*\(([^()]*)\)")
_FIELD = re.compile(r"tiling_\.(\w+)\Z")
_WRITES_ALL, _ALIAS = re.compile(r"Sort|Mrg|Gather"), re.compile(r"(?:auto|(?:AscendC::)?LocalTensor)\b")
_GLOBAL = re.compile(r"\w*Gm_|\w+\.\w*Gm\b|global\b")
_BLOCK, _REPEAT = block_elements("float32"), repeat_elements("float32")
"""Lanes of float32 in a block, and in a repeat."""
_BLOCK_OF_ANY = block_elements("int8")
"""Elements of one block or several, whatever their type."""
_DISTANCE, _ROWS = re.compile(r"(?i)pitch|stride|step|imageRows|productRows"), re.compile(r"(?i)rows|count")


@dataclass(frozen=True, slots=True)
class Helper:
    """A function of the runtime header. ``pipe``: that of its instructions, None without any; ``fields``:
    what its arguments are; ``units``: in what the function counts them, for others do not differ; ``writes``:
    the places of those that its instructions write."""

    pipe: str | None
    fields: tuple[str, ...]
    units: tuple[int, ...] = ()
    writes: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Instructions:
    """The calls of a project's kernels. ``helpers``: by name."""

    helpers: Mapping[str, Helper]

    @staticmethod
    def of(runtime: str) -> Instructions:
        """Those of a project with this runtime header."""
        source = SourceModel(runtime)
        own, found = Instructions({}), dict[str, Helper]()
        matches = list(_SIGNATURE.finditer(source.code))
        ends = [*(match.start() for match in matches[1:]), len(source.code)]
        signatures = [
            (match[1], match[2], _units(match[2], source.code[match.end() : end]))
            for match, end in zip(matches, ends, strict=False)
        ]
        for _ in signatures:  # helpers may call each other, in any order
            before = dict(found)
            for name, parameters, units in signatures:
                writes = own._writes_within(source, name, parameters)
                found[name] = Helper(own._pipe_within(source, name), _fields(parameters), units, writes)
            own = Instructions(dict(found))
            if found == before:
                break
        return own

    def pipe_of(self, source: SourceModel, call: CallText) -> str | None:
        """The pipe that a call keeps busy; None of what is no instruction, or of unknown ones."""
        if call.name in _VECTOR:
            return "V"
        if call.name.startswith("DataCopy") and call.arguments:
            return "MTE3" if _GLOBAL.match(source.code_at(call.arguments[0])) else "MTE2"
        if call.name.startswith("LoadData"):
            return "MTE1"
        known = {"Mmad": "M", "Fixpipe": "FIX"}.get(call.name)
        return known or (self.helpers[call.name].pipe if call.name in self.helpers else None)

    def fields_of(self, call: CallText) -> tuple[str, ...]:
        """What the arguments of a call are, of parameters and helpers; empty of others."""
        if call.name in self.helpers and self.helpers[call.name].pipe is not None:
            return self.helpers[call.name].fields
        return PARAMETERS.get(call.name, ())

    def units_of(self, call: CallText) -> tuple[int, ...]:
        """In what the arguments of :meth:`fields_of` are counted."""
        units = self.helpers[call.name].units if call.name in self.helpers else ()
        return units or (1,) * len(self.fields_of(call))

    def written(self, call: CallText) -> frozenset[int]:
        """The places of the arguments that a call writes; the first one of an instruction, all of those that
        have other results or space to work in, too."""
        if call.name in self.helpers:
            return self.helpers[call.name].writes
        return frozenset(range(len(call.arguments) if _WRITES_ALL.match(call.name) else 1))

    def _writes_within(self, source: SourceModel, function: str, parameters: str) -> frozenset[int]:
        """The places of the parameters that the instructions of a function write."""
        own = source.functions.get(function, ())
        names = [name for _, name in _names(parameters)]
        if any(_ALIAS.match(source.code_at(each.span)) for each in own):
            return frozenset(range(len(names)))
        calls = [call for each in own if (call := source.leading_call(each)) is not None]
        written = {
            word[0]
            for call in calls
            for place in self.written(call)
            if place < len(call.arguments)
            and (word := re.match(r"\w+", source.code_at(call.arguments[place]))) is not None
        }
        return frozenset(place for place, name in enumerate(names) if name in written)

    def _pipe_within(self, source: SourceModel, function: str) -> str | None:
        """The pipe of the first instruction in a function."""
        for statement in source.functions.get(function, ()):
            call = source.leading_call(statement)
            if call is not None and (pipe := self.pipe_of(source, call)) is not None:
                return pipe
        return None


def _names(parameters: str) -> list[tuple[str, str]]:
    """The parameters, each with its name."""
    texts = re.split(r",(?![^<]*>)", parameters)
    return [(each, re.findall(r"\w+", each)[-1] if each.strip() else "") for each in texts]


def _units(parameters: str, body: str) -> tuple[int, ...]:
    """What the parameters of a function are divided by, or taken in steps of: blocks or repeats of lanes."""
    return tuple(
        _REPEAT
        if re.search(rf"< {name}; \w+ \+= kRepeatLanes\b", body)
        else _BLOCK
        if re.search(rf"\b{name} / kBlockLanes\b|OfBlocks\({name}\)", body)
        else _BLOCK_OF_ANY
        if re.search(rf"\({name} - [^;]*?\) / kBlock\b", body)
        else 1
        for _, name in _names(parameters)
    )


def _fields(parameters: str) -> tuple[str, ...]:
    """What parameters are, by their names."""
    found = []
    for each, name in _names(parameters):
        if "Tensor" in each:
            found.append(OTHER)
        elif _DISTANCE.search(name):
            found.append(STRIDE)
        elif _ROWS.search(name):
            found.append(COUNT)
        else:
            found.append(LENGTH if name == "columns" else OTHER)
    return tuple(found)


@dataclass(frozen=True)
class EmittedText(SourceModel):
    """A text of a project with what is known of its calls, and what stands in others. ``plan``: the host's
    plan; ``kernel``: the kernel that it is for, None of a kernel itself; ``schedule``: its constants;
    ``limits``: what the contract says of entries."""

    instructions: Instructions = field(default_factory=lambda: Instructions({}))
    plan: str = ""
    kernel: EmittedText | None = None
    schedule: str = ""
    limits: frozenset[Limit] = frozenset()

    def given_by_plan(self, code: str) -> list[str]:
        """All that the plan gives the tiling field that some code of a kernel is; nothing of other code."""
        field = _FIELD.match(code)
        return [] if field is None else re.findall(rf"\btiling\.{field[1]} =\s+([^;]*);", self.plan)

    def pipe_of(self, call: CallText) -> str | None:
        """As :meth:`Instructions.pipe_of`."""
        return self.instructions.pipe_of(self, call)

    def keeps_vector_busy(self, statement: StatementText) -> bool:
        """Whether a statement is an instruction of the vector pipe."""
        call = self.leading_call(statement)
        return call is not None and self.pipe_of(call) == "V"

    def is_vector_barrier(self, statement: StatementText) -> bool:
        """Whether a statement is a barrier of the vector pipe."""
        return self.code_at(statement.span) == "PipeBarrier<PIPE_V>();"
