"""One call made ready for a kernel: the specialization it needs, its tiling values, arguments and outputs."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl.compiler.compile import Compiled, signature_of
from attndsl.compiler.launch_scalars import launch_scalars
from attndsl.compiler.stored_programs import compiled_or_stored
from attndsl.compiler.stored_schedules import report_stale
from attndsl.expr.argument_facts import DTYPE, asks
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.signature.specialization import Specialization, specialized_on
from attndsl.passes.twin_programs import TwinPasses
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.contract import Contract
from attndsl.spec.contract.split import whole_rank
from attndsl.spec.operator.operator import Operator
from attndsl.tile.buffers import NUMPY_DTYPES, GlobalTensor
from attndsl.tile.operand_pairs import TWIN

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Launch:
    """A kernel launch.

    Attributes:
        host: the scalars the tiling is computed from.
        tiling: tiling fields' values by name.
        arguments: arrays by kernel parameter name, tuples of them for lists of tensors, None for an absent
            optional one; outputs hold no numbers yet.
    """

    compiled: Compiled
    call: Call
    host: Mapping[str, Any]
    tiling: Mapping[str, int | float]
    arguments: Mapping[str, Array | tuple[Array, ...] | None]

    @property
    def blocks(self) -> int:
        """Blocks to launch."""
        return int(self.tiling["blocks"])

    @property
    def workspace_bytes(self) -> int:
        """Size of the user workspace."""
        return int(self.tiling["workspaceBytes"])

    @cached_property
    def workspace(self) -> Array:
        """The user workspace, uint8; after a run it holds what the cores left there."""
        return np.zeros(max(self.workspace_bytes, 1), np.uint8)

    def outputs(self) -> tuple[Array, ...]:
        """The output arrays, in the operator's order."""
        found = (self.arguments[output.name] for output in self.call.operator.outputs)
        return tuple(array for array in found if isinstance(array, np.ndarray))


def prepare(call: Call, cores: int | None = None) -> Launch:
    """The launch of a call on ``cores`` blocks at most, None: as many as the operator's device has.

    Raises:
        ScheduleError: the operator has no lowering for the call's features.
        TargetLimitError: the call is legal but beyond the operator's limits on the target.
    """
    call.check_target()
    return launch_of(call, compiled_for(call.operator, specialization_of(call)), cores)


def launch_of(call: Call, compiled: Compiled, cores: int | None = None) -> Launch:
    """The launch of a call with a kernel of its specialization; ``cores`` as of :func:`prepare`."""
    program = compiled.program
    env = launch_scalars(
        call, signature_of(call.operator, compiled.specialization), cores or program.device.aic
    )
    tiling = program.tiling_values(env)
    return Launch(
        compiled=compiled,
        call=call,
        host=env,
        tiling=tiling,
        arguments={**_inputs(call, compiled), **_outputs(call, compiled, env)},
    )


def specialization_of(call: Call) -> Specialization:
    """What the kernel of a call is specialized on."""
    operator, env = call.operator, call.env()
    key, value = (int(operator.axis_extents[axis].evaluate(env)) for axis in "DE")
    whole = operator.device.architecture.whole_fractals
    padded_sizes = whole(key), whole(value)
    return specialized_on(operator, call.present, env, call.dtype, padded_sizes)


def compiled_for(operator: Contract, specialization: Specialization) -> Compiled:
    """The compiled specialization, made or read once a process; by its stored schedule choices, if any.

    Twins that follow each other share passes; threads wait for each other.

    Raises:
        StoredSchedulesError: the file of stored choices is no such file.
        ScheduleError: as of :func:`attndsl.compiler.compile.compile_operator`.
    """
    assert isinstance(operator, Operator)
    kernels = _kernels(operator)
    with kernels.lock:
        if specialization not in kernels.compiled:
            report_stale(operator, specialization)
            like = next(reversed(kernels.compiled.values()), None)
            if like is not None and not _may_be_twins(like.specialization, specialization):
                like = None
            made = compiled_or_stored(operator, specialization, kernels.passes, like)
            kernels.compiled[specialization] = made
        return kernels.compiled[specialization]


def _may_be_twins(first: Specialization, second: Specialization) -> bool:
    """Whether two specializations may differ in float16 and bfloat16 alone."""
    return second.dtype in (first.dtype, TWIN.get(first.dtype)) and _but_dtypes(first) == _but_dtypes(second)


def _but_dtypes(special: Specialization) -> Specialization:
    settings = tuple(each for each in special.settings if asks(each[0])[0] != DTYPE)
    return replace(special, dtype="", settings=settings)


def keep_compiled(compiled: Compiled) -> Compiled:
    """What another process has compiled, as :func:`compiled_for` gives it from now on."""
    return _kernels(compiled.operator).compiled.setdefault(compiled.specialization, compiled)


@dataclass(frozen=True)
class _Kernels:
    """The compiled specializations of an operator, in this process, and what ran the passes for them.

    ``lock``: of the thread that compiles; what runs the passes remembers programs, and can serve one alone.
    """

    compiled: dict[Specialization, Compiled] = field(default_factory=dict)
    passes: TwinPasses = field(default_factory=TwinPasses)
    lock: threading.RLock = field(default_factory=threading.RLock)


@lru_cache(maxsize=64)
def _kernels(operator: Operator) -> _Kernels:
    return _Kernels()


def _inputs(call: Call, compiled: Compiled) -> dict[str, Array | tuple[Array, ...] | None]:
    found: dict[str, Array | tuple[Array, ...] | None] = {}
    for tensor in compiled.program.parameters:
        if tensor.role == "output":
            continue
        if tensor.listed:
            entries = call.lists.get(tensor.name)
            found[tensor.name] = entries and tuple(_entry(each, tensor, call) for each in entries)
            continue
        array = call.arrays.get(tensor.name)
        found[tensor.name] = None if array is None else _as_argument(array, tensor, call)
    return found


def _entry(array: Array, tensor: GlobalTensor, call: Call) -> Array:
    """A tensor of a list, all of which have as many dimensions."""
    spec = call.operator.tensor(tensor.name)
    whole = whole_rank(spec.layouts[call.layouts[spec.name]], array) if spec.split else array
    return _as_argument(whole, tensor, call)


def _as_argument(array: Array, tensor: GlobalTensor, call: Call) -> Array:
    wanted = NUMPY_DTYPES[tensor.dtype]
    if array.dtype == wanted:
        return array
    if array.dtype.itemsize == wanted.itemsize == 1:
        return array.view(wanted)  # a mask: any non-zero byte hides
    where = call.operator.tensor(tensor.name).where
    raise NotLowered(
        f"{tensor.name} of dtype {array.dtype} in a kernel for {call.dtype}",
        where,
        f"pass it as {call.dtype}",
    )


def _outputs(call: Call, compiled: Compiled, env: Mapping[str, Any]) -> dict[str, Array]:
    dtypes = {tensor.name: tensor.dtype for tensor in compiled.program.parameters}
    found = {}
    for output in call.operator.outputs:
        layout = output.layout(call.layouts[output.like])
        shape = [int(size.evaluate(env)) for size in layout.shape()]
        found[output.name] = _unwritten(shape, NUMPY_DTYPES[dtypes[output.name]])
    return found


def _unwritten(shape: list[int], dtype: np.dtype[Any]) -> Array:
    """Memory as a device hands it out: it holds anything, here no number, so that a hole shows."""
    size = int(np.prod(shape)) * dtype.itemsize
    return np.full(size, 0x7F, np.uint8).view(dtype).reshape(shape)
