"""The time of a long call from a run that was stopped: what is left takes its time as what was simulated did.

What a launch has to do is counted before it runs (:mod:`attndsl.tuning.work`): for each item of a block the
cycles of its cube core's products, which the emulator counts alike. What that takes is fitted to the run:

    time = start of the block + a * cycles of products + b * items,    a, b >= 0, the same for all blocks

Each block ends when what it has left has taken its time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl.compiler.prepare_launch import Launch
from attndsl.target import Core, Device, Pipe
from attndsl.tile.statements import EitherStage, For
from attndsl.tuning.bounds import scalars_of
from attndsl.tuning.work import Counter

Array = npt.NDArray[np.float64]

LONGEST_RUN = 3600.0
"""Seconds of processor time that a run may take: a long call that is simulated whole takes minutes."""
_WARM = 1 / 8
"""The share of a run that is left out of the fit: caches and pipelines are filled."""
_EXACT = 1e-6
"""The share by which counted products may be off, for rounding."""
_LATER = (1 / 4, 1 / 2)
"""Shares that are left out to see how much the answer depends on it."""


@dataclass(frozen=True)
class Extrapolation:
    """How a whole call follows from a part of it that was simulated.

    Attributes:
        share: of the call's products, those that were simulated.
        ends: cycles at which each block ends.
        spread: how far off the time would be, as a share of it, had later parts of the run been fitted.
    """

    share: float
    ends: tuple[float, ...]
    spread: float

    @property
    def cycles(self) -> float:
        """Those of the whole call."""
        return max(self.ends)

    @property
    def words(self) -> str:
        """What a reader of the time must know."""
        return (
            f"extrapolated: {100 * self.share:.2g} % of the work is simulated, the rest taken to go on like "
            f"that; fitted to later parts of it alone, the time differs by up to {self.spread:.1%}, which is "
            "no bound of the error"
        )

    def to_json(self) -> dict[str, float]:
        """The part of the document of ``attndsl profile --json``."""
        return {"simulated_share": round(self.share, 4), "spread": round(self.spread, 4)}


def whole_because(launch: Launch) -> str:
    """Why no part of a launch tells the rest; empty where one does: its work can be counted, as it depends on
    nothing that the kernel finds out, and its steps are of one kind, in one loop over items."""
    program = launch.compiled.joint
    statements = program.statements()
    if program.found_by_kernel:
        return "its work depends on what the kernel finds in the data"
    if any(isinstance(item, EitherStage) for item in statements):
        return "its steps are of two kinds"
    loops = sum(isinstance(item, For) and item.over_items for item in statements)
    return "" if loops == 1 else f"it has {loops} loops over items"


def items_of_blocks(launch: Launch) -> list[Array]:
    """For each block of a launch that can be extrapolated: the cycles of each item's products, if any."""
    program, call = launch.compiled.joint, launch.call
    scalars = scalars_of(program, launch.tiling, {**call.arrays, **call.lists})
    counter = Counter(program, Core.AIC, scalars, samples=True)
    counted = (counter.cycles_of_items(Pipe.M, block, launch.blocks) for block in range(launch.blocks))
    return [np.array([each for each in items if each]) for items in counted]


def extrapolated(counters: Mapping[str, Any], items: Sequence[Array]) -> Extrapolation | str:
    """The whole call from the counters of a run that was stopped, or why its pace is not known.

    ``items``: of :func:`items_of_blocks`.
    """
    notes = np.array(counters["progress"])
    if not all(map(len, items)):
        return "a block has no products"
    if counters["halfway"] is None or notes.ndim != 3 or notes.shape[1] != len(items) or len(notes) < 2:
        return "too little of it is simulated to tell its pace"
    if any(busy > (1 + _EXACT) * each.sum() for busy, each in zip(notes[-1, :, 1], items, strict=True)):
        return "it has more products than were counted"
    if notes[-1, :, 1].sum() <= notes[-2, :, 1].sum():
        return "no product is in the last part that was simulated"
    progress = _Progress.of(notes, items)
    ended = np.array(counters["block_ends"])
    ends, *others = (progress.ends(round(warm * len(notes)), ended) for warm in (_WARM, *_LATER))
    time = ends.max()
    return Extrapolation(
        share=float(notes[-1, :, 1].sum() / sum(each.sum() for each in items)),
        ends=tuple(ends.tolist()),
        spread=float(max(abs(other.max() / time - 1) for other in others)),
    )


@dataclass(frozen=True)
class _Progress:
    """How far each block was at each note of a run, as (notes, blocks).

    ``begun``: items, the present one in part. ``left``: cycles of products, and items, of each block.
    """

    at: Array
    busy: Array
    begun: Array
    left: Array

    @classmethod
    def of(cls, notes: Array, items: Sequence[Array]) -> _Progress:
        at, busy = notes[..., 0], notes[..., 1]
        sums = [np.concatenate([[0.0], np.cumsum(each)]) for each in items]
        begun = [
            np.interp(busy[:, block], each, np.arange(len(each), dtype=float))
            for block, each in enumerate(sums)
        ]
        products = [max(each[-1] - busy[-1, block], 0.0) for block, each in enumerate(sums)]
        others = [len(each) - 1 - begun[block][-1] for block, each in enumerate(sums)]
        return cls(at, busy, np.stack(begun, axis=1), np.array([products, others]))

    def ends(self, first: int, ended: Array) -> Array:
        """When each block ends, fitted from note ``first`` on.

        ``ended``: of a block that has nothing left.
        """
        at, busy, begun = (
            (part[first:] - part[first:].mean(axis=0)).ravel() for part in (self.at, self.busy, self.begun)
        )
        taken = np.linalg.lstsq(np.stack([busy, begun], axis=1), at, rcond=None)[0]
        if taken.min() < 0:
            taken = np.array([(busy @ at) / (busy @ busy), 0.0])
        going: Array = np.maximum(self.at[-1] + taken @ self.left, ended)
        ends: Array = np.where(self.left[0] > 0, going, ended)
        return ends


def whole_counters(counters: Mapping[str, Any], found: Extrapolation, device: Device) -> dict[str, Any]:
    """The counters of a run that was stopped as the whole call's, but for those that no prediction tells.

    What the second half of the run did goes on with the products that are left; what only the first half did,
    such as zeros that a workspace begins with, comes once. Tensors that L2 can hold, or that the run has read
    in part, are taken to be read from memory once at most.
    """
    half = counters["halfway"]
    done, before = (float(each["busy_by_core"]["AIC"]["M"]) for each in (counters, half))
    left = done * (1 / found.share - 1) / (done - before)

    def whole(now: float, then: float) -> float:
        return now + max(now - then, 0.0) * left

    def each_of(now: Mapping[str, float], then: Mapping[str, float]) -> dict[str, float]:
        return {name: whole(value, then.get(name, 0.0)) for name, value in now.items()}

    def read_of(name: str, size: float) -> int:
        held, now = counters["gm_bytes"][name], counters["memory_read_by_tensor"][name]
        is_read_once = now <= held or held <= device.rates["l2_bytes"].value
        return int(max(min(size, held), now) if is_read_once else size)

    fetched = each_of(counters["memory_read_by_tensor"], half["memory_read_by_tensor"])
    read = {name: read_of(name, size) for name, size in fetched.items()}
    beside, written = (whole(*map(of, (counters, half))) for of in (_read_beside_tensors, _written))
    return {
        **counters,
        **{
            name: each_of(counters[name], half[name])
            for name in ("bank_conflicts", "gm_read_bytes", "gm_write_bytes")
        },
        "busy_by_core": {
            kind: each_of(pipes, half["busy_by_core"][kind])
            for kind, pipes in counters["busy_by_core"].items()
        },
        "total_cycles": found.cycles,
        "microseconds": device.microseconds(found.cycles),
        "memory_read_by_tensor": read,
        "memory_read_bytes": sum(read.values()) + beside,
        "memory_bytes": sum(read.values()) + beside + written,
        "product_cycles": counters["product_cycles"] / found.share,
        "critical_path": {
            what: cycles * found.cycles / counters["total_cycles"]
            for what, cycles in counters["critical_path"].items()
        },
        "block_ends": list(found.ends),
    }


def _read_beside_tensors(counters: Mapping[str, Any]) -> float:
    return float(counters["memory_read_bytes"] - sum(counters["memory_read_by_tensor"].values()))


def _written(counters: Mapping[str, Any]) -> float:
    """Bytes to memory behind L2."""
    return float(counters["memory_bytes"] - counters["memory_read_bytes"])
