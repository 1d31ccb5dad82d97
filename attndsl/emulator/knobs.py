"""Choices of the device model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Knobs:
    """Every choice the device model makes where public documentation is silent or leaves it open.

    Mirrors ``include/attnemu/knobs.h``.
    """

    seed: int = 0
    """Which core goes on among those that are as good as level in time; 0 takes the lowest index. Cores
    behind in time always go first."""
    auto_sync: bool = False
    """The compiler's automatic synchronization on the vector core (``--cce-auto-sync``): barriers between
    vector instructions, events between the scalar unit's accesses and the pipes V, MTE2 and MTE3. A barrier
    takes its time where an instruction needs or replaces the result of an earlier one."""
    flags_count: bool = False
    """A flag set again before the pipe passed its earlier wait: false takes flags for single bits, and the
    set for a defect; true lets the hardware keep both, as vendor samples that never set a flag back need."""
    clean_at_end: bool = False
    """The compiler writes the scalar cache back when a kernel ends (``-cce-aicore-dcci-before-kernel-end``,
    on by default, also in official builds for Atlas A2): false takes a store never cleaned for a defect."""
    saturate: bool = False
    """CTRL[48] = 0: half and bfloat16 results saturate and NaN becomes 0; false keeps inf and NaN."""
    rough_reciprocal: bool = False
    """``Reciprocal`` and ``Rsqrt`` as inexact as documented, which promises neither 1e-3 for half nor 1e-4
    for float: results are cut to 8 and 12 bits behind the leading one. False rounds correctly."""
    timing: bool = False
    """The timeline alone: instructions take their time, but no data is computed or moved, and hazards and
    definedness are not followed. What the scalar unit reads and writes in global memory and in UB is real,
    and so are copies of it, of arrays of up to 1 MiB, of integers of 32 and 64 bits and of masks in bytes,
    and what vector instructions make of nothing but these."""
    most_core_cycles: int = 0
    """With ``timing``: cycles of all cores together after which the run is stopped; 0: it runs to its end."""
    racecheck: bool = True
    """racecheck: hazards that nothing orders."""
    memcheck: bool = True
    """memcheck: ranges, alignment, positions, limits."""
    synccheck: bool = True
    """synccheck: flags, counters, deadlock."""
    initcheck: bool = True
    """initcheck: never-written bytes that reach an output, a scalar or an address."""
    strict_core: bool = True
    """An instruction the core kind does not have is a finding; false: silently nothing, as on the device."""
    poison: int = 0x7FFF
    """16-bit pattern of never-written memory: a NaN for half, bfloat16 and float."""
    device_poison: int = 0
    """16-bit pattern of never-written device memory of a host program: drivers hand out zeroed pages, and
    programs lean on it. Reading it stays a finding of initcheck."""
    max_per_rule: int = 20
    """Findings kept a rule; the rest are counted."""
    stack_bytes: int = 1 << 20
    """Stack of one core's task."""
