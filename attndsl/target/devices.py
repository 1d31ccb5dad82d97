"""The devices, by name: an architecture with core counts, a clock, memory and costs.

Sources, by tag
    INI    CANN 8.1.RC1 ``platform_config/Ascend910B*.ini`` and ``Ascend910_93*.ini``
    DEVKIT asc-devkit: its samples and guides state bandwidths
    GUIDE  asc-devkit programming guide, "NPU architecture 2201"
    KPP    mskpp ``resource910b.cpp``: rows measured on 910B1 and on 910B3
    EST    an estimate of ours: nothing public was found
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from attndsl.base.errors import UserError
from attndsl.target.architecture import DAV_2201, Architecture
from attndsl.target.costs import (
    COSTS,
    LAUNCH_MICROSECONDS,
    RATES,
    UNKNOWN,
    Cost,
    Rate,
    at_their_worst,
    cost_lines,
    measurements,
)

_MIB, _GIB = 1024**2, 1024**3
_L2_USED = 2 / 3
"""The share of L2 that lines fill before others have to leave.

DEVKIT: bank_conflict_nd2nz reads and writes 134 MB each in 131 us, as if 70 MB went back to memory;
Add, case 4, reads 268 MB and writes 134 MB in 258 us, as if all did.
"""


class UnknownDeviceError(UserError, ValueError):
    """No device has this name."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """How far predictions are from public measurements.

    Attributes:
        measured_on: the parts that were measured. ``devices``: the names of the devices that they are.
        errors: relative errors: of ``instructions`` and of published ``kernels``.
        unknown: what no measurement tells.
    """

    measured_on: str
    devices: frozenset[str]
    errors: Mapping[str, Any]
    unknown: tuple[str, ...] = UNKNOWN


_CALIBRATION = Calibration(
    measured_on="910B1 and 910B3",
    devices=frozenset(("atlas-a2", "ascend910b1", "ascend910b3")),
    errors={name: each for name, each in measurements().items() if name != "costs"},
)
"""KPP has rows of 910B1 and 910B3, parts of Atlas A2; DEVKIT's pages have the clock of 910B1."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Device:
    """A device, or a family of devices that one kernel is made for.

    There is one object a name: devices are compared by identity, and pickled as their names.

    Attributes:
        title: what readers call it.
        aic: cube cores; of a family those of its largest parts (INI).
        clock: cycles a second (INI).
        global_memory: bytes; all tensors of a call and its workspace are in there (INI).
        memory_bandwidth: bytes a second from and to global memory that kernels were measured to reach.
        memory_peak: bytes a second of global memory as documents quote them.
        l2_bytes: what L2 holds (INI).
        l2_bandwidth: bytes a second of mixed traffic through L2.
        l2_read_bandwidth: bytes a second read from L2.
        costs: what its operations cost, in cycles of the core.
        core_rates: numbers of its cores and pipes that belong to no single operation.
        calibration: how well costs and rates meet measurements, maybe those of other parts.
        launch_microseconds: what a launch on all cores takes before the kernel works.
    """

    name: str
    title: str
    architecture: Architecture
    aic: int
    clock: float
    global_memory: int
    memory_bandwidth: Rate
    memory_peak: Rate
    l2_bytes: int
    l2_bandwidth: Rate
    l2_read_bandwidth: Rate
    costs: Mapping[str, Cost] = field(default_factory=lambda: COSTS, repr=False)
    core_rates: Mapping[str, Rate] = field(default_factory=lambda: RATES, repr=False)
    calibration: Calibration = field(default=_CALIBRATION, repr=False)
    launch_microseconds: float = LAUNCH_MICROSECONDS

    @property
    def aiv(self) -> int:
        """Vector cores."""
        return self.aic * self.architecture.aiv_per_aic

    @cached_property
    def rates(self) -> Mapping[str, Rate]:
        """The numbers that belong to no single operation; bandwidths are in bytes a cycle of all cores."""
        return {
            "clock": Rate(self.clock, "INI"),
            "l2": self._a_cycle(self.l2_bandwidth),
            "l2_read": self._a_cycle(self.l2_read_bandwidth),
            "l2_bytes": Rate(self.l2_bytes * _L2_USED, "INI, DEVKIT"),
            "hbm": self._a_cycle(self.memory_bandwidth),
            **self.core_rates,
        }

    @property
    def cube_peak(self) -> float:
        """Floating-point operations a second of all cube cores: a multiplication and an addition of 16-bit
        elements for each place of a fractal's cube in a cycle (GUIDE)."""
        return 2.0 * self.aic * self.architecture.fractal**3 * self.clock

    def cube_loads(self, rates: Mapping[str, Rate]) -> float:
        """Bytes a second from memory that the load paths of all cube cores take; ``rates``: see
        :meth:`worst_costs`."""
        return self.aic * rates["miss"].value * self.clock

    def readable(self, rates: Mapping[str, Rate]) -> float:
        """R, bytes a second: what keys and values can be read at, by memory as measured and by the load paths
        of all cube cores. ``rates``: see :meth:`worst_costs`."""
        return min(rates["hbm"].value * self.clock, self.cube_loads(rates))

    def worst_costs(self, rates: Mapping[str, Rate]) -> str:
        """Lines of costs as the emulator reads them, with what no measurement tells as bad as it may be.

        ``rates``: its own, or some other ones.
        """
        return at_their_worst(self.costs, rates)

    @property
    def is_calibrated(self) -> bool:
        """Whether the calibration's measurements are of this device, or of parts of the family that it is."""
        return self.name in self.calibration.devices

    @property
    def calibration_error(self) -> Mapping[str, Any]:
        """The calibration as documents have it: relative errors, ``unknown``, and of which parts they are."""
        known = self.calibration
        return {
            **known.errors,
            "unknown": list(known.unknown),
            "measured_on": known.measured_on,
            "of_this_device": self.is_calibrated,
        }

    @cached_property
    def model_version(self) -> str:
        """A key over all numbers that times are predicted with: costs, rates and bandwidths."""
        lines = cost_lines(self.costs, self.rates)
        return hashlib.sha256(f"{self.aic} {lines}".encode()).hexdigest()[:12]

    def _a_cycle(self, bandwidth: Rate) -> Rate:
        return Rate(bandwidth.value / self.clock, bandwidth.source)

    def microseconds(self, cycles: float) -> float:
        """Cycles of a core as time."""
        return round(cycles / self.clock * 1e6, 3)

    def __reduce__(self) -> tuple[Callable[[str], Device], tuple[str]]:
        return device, (self.name,)


DEFAULT_DEVICE = "atlas-a2"
"""The name of the device that kernels are made for where nobody names one."""

# The clock is that of 910B2 and 910B3. Bandwidths are those of asc-devkit's sample data_copy: 302 MB from
# memory to UB in 202.7 us are 1.49 TB/s (case 3); its estimate takes 5.2 TB/s for reads of L2, and 302 MB
# from memory and 906 MB from L2 took 354.6 us (case 6). Its guide to L2 takes 7 TB/s for mixed traffic and
# 1.6 TB/s for memory.
_A2 = Device(
    name=DEFAULT_DEVICE,
    title="Atlas A2",
    architecture=DAV_2201,
    aic=24,
    clock=1.8e9,
    global_memory=64 * _GIB,
    memory_bandwidth=Rate(1.49e12, "DEVKIT"),
    memory_peak=Rate(1.6e12, "DEVKIT"),
    l2_bytes=192 * _MIB,
    l2_bandwidth=Rate(7e12, "DEVKIT"),
    l2_read_bandwidth=Rate(5.2e12, "DEVKIT"),
)
# The slower part with half of the memory. Of it only the memory's quoted rate is public: the share that
# kernels reach is taken from the others, and L2 passes as many bytes a cycle as theirs.
_B4 = replace(
    _A2,
    name="ascend910b4",
    title="Ascend 910B4",
    aic=20,
    clock=1.5e9,
    global_memory=32 * _GIB,
    memory_bandwidth=Rate(0.8e12 * 1.49 / 1.6, "EST"),
    memory_peak=Rate(0.8e12, "DEVKIT"),
    l2_bytes=96 * _MIB,
    l2_bandwidth=Rate(7e12 * 1.5 / 1.8, "EST"),
    l2_read_bandwidth=Rate(5.2e12 * 1.5 / 1.8, "EST"),
)

_DEVICES: Mapping[str, Device] = {
    each.name: each
    for each in (
        _A2,
        replace(_A2, name="ascend910b1", title="Ascend 910B1", clock=1.85e9),
        replace(_A2, name="ascend910b2", title="Ascend 910B2"),
        replace(_A2, name="ascend910b3", title="Ascend 910B3", aic=20),
        _B4,
        # a die of the 910C: cores of Ascend910_9381 to _9392, the clock of _9391 and _9392
        replace(_A2, name="atlas-a3", title="Atlas A3", clock=1.85e9),
    )
}


def device_names() -> tuple[str, ...]:
    """The names of all devices."""
    return tuple(_DEVICES)


def device(name: str) -> Device:
    """The device of this name.

    Raises:
        UnknownDeviceError: with the nearest name, or all of them.
    """
    found = _DEVICES.get(name)
    if found is None:
        close = difflib.get_close_matches(name.lower(), list(_DEVICES), 1)
        advice = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(_DEVICES)}"
        raise UnknownDeviceError(f"unknown device '{name}'; {advice}")
    return found
