"""How far predictions are from public measurements, as every command that predicts prints it."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.target import Device


def calibration_lines(device: Device) -> Iterator[str]:
    """The errors on sizes and kernels that the fit has not seen, whether they are those of other parts, and
    what no measurement tells."""
    known = device.calibration
    error = known.errors["instructions"]
    if not device.is_calibrated:
        yield f"    calibration: none for this device, the figures are those of {known.measured_on}"
    yield (
        f"    calibration: {error['keys']} instructions and types are off by {error['median']:.2%} "
        f"(median), {error['p95']:.1%} (95th percentile) on sizes left out of the fit"
    )
    kernels = known.errors["kernels"]
    apart, every = kernels["apart"], kernels["all"]
    yield (
        f"    published kernels: durations are off by {apart['duration']:.1%} ({apart['kernels']} "
        f"apart from the fit), {every['duration']:.1%} (all {every['kernels']})"
    )
    yield "    unknown: " + "; ".join(known.unknown)
