"""The roofline of a device with a kernel's two points on it: against memory and against L2."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.profile.profile import Profile


@dataclass(frozen=True)
class Roof:
    """A ceiling that rises with bytes: ``rate`` bytes a second."""

    name: str
    rate: float


@dataclass(frozen=True)
class Point:
    """Where the kernel is: operations a byte of ``against``, and operations a second."""

    against: str
    intensity: float
    speed: float
    roof: Roof


@dataclass(frozen=True)
class Roofline:
    """All in operations a second, bytes a second, and operations a byte."""

    peak: float
    roofs: tuple[Roof, ...]
    points: tuple[Point, ...]

    def span(self) -> tuple[float, float]:
        """Intensities that show every ridge and every point, powers of two."""
        shown = [self.peak / roof.rate for roof in self.roofs] + [each.intensity for each in self.points]
        return 2.0 ** math.floor(math.log2(min(shown)) - 1), 2.0 ** math.ceil(math.log2(max(shown)) + 1)


def roofline_of(profile: Profile) -> Roofline:
    """Operations are those of the products that the kernel computes, scores that it hides with them."""
    device, seconds = profile.device, max(profile.time, 1e-9) * 1e-6
    peak = device.cube_peak
    memory = Roof("memory, as measured", device.memory_bandwidth.value)
    loads = Roof("loads of all cube cores from memory", device.cube_loads(device.rates))
    l2 = Roof("L2, mixed traffic", device.l2_bandwidth.value)
    moved = profile.bytes
    against = (
        ("memory", moved["hbm_read"] + moved["hbm_write"], memory),
        ("L2", moved["l2_read"] + moved["l2_write"], l2),
    )
    done = profile.cube * peak * seconds
    points = tuple(
        Point(name, done / size, done / seconds, roof) for name, size, roof in against if size and done
    )
    return Roofline(peak, (l2, memory, loads), points)


def ticks(low: float, high: float, base: float) -> Iterator[float]:
    """Powers of ``base`` from ``low`` to ``high``."""
    power = math.ceil(math.log(low, base) - 1e-9)
    while base**power <= high * (1 + 1e-9):
        yield float(base**power)
        power += 1
