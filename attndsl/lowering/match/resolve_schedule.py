"""The schedule that an author's choices give, and what kernels assert of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from attndsl.base.source_location import UNKNOWN_LINE, SourceLine
from attndsl.expr import Expr, Named
from attndsl.lowering.errors import IllegalScheduleValue, UnknownScheduleChoice
from attndsl.lowering.match.option_couplings import COUPLINGS
from attndsl.lowering.match.schedule_options import Schedule, legal_values
from attndsl.target import Device

LIMITS_OF = "limits of "
"""What the meaning of an option's own limits begins with; its name follows."""


def resolve(
    choices: Mapping[str, object],
    device: Device,
    lines: Mapping[str, SourceLine] | None = None,
    defaults: Mapping[str, object] | None = None,
) -> Schedule:
    """The schedule that an author's choices give for a device, the rest filled with defaults.

    ``defaults``: those of this computation that are others than of :class:`Schedule`.

    Raises:
        UnknownScheduleChoice, IllegalScheduleValue: naming the nearest legal choice.
    """
    ranges = legal_values(device)
    for name, value in choices.items():
        where = (lines or {}).get(name, UNKNOWN_LINE)
        if name not in ranges:
            nearest = difflib.get_close_matches(name, ranges, n=1, cutoff=0.0)[0]
            raise UnknownScheduleChoice(name, nearest, where)
        bounds = ranges[name]
        if not bounds.holds(value):
            raise IllegalScheduleValue(name, value, bounds.text(), bounds.nearest(value), where)
    schedule = replace(Schedule(), **{**(defaults or {}), **choices})  # type: ignore[arg-type]
    architecture = device.architecture
    for each in COUPLINGS:
        if each.option not in choices:
            schedule = each.repair(schedule, architecture)
        elif each.asserted and not each.is_kept(schedule, architecture):
            stated, bound = getattr(schedule, each.option), each.bound_in(schedule, architecture)
            rule = each.rule_of(f"{{}} = {bound}", architecture)
            closest = each.nearest(ranges[each.option], stated, bound)
            where = (lines or {}).get(each.option, UNKNOWN_LINE)
            raise IllegalScheduleValue(each.option, stated, rule, closest, where)
    return schedule


def limits_of(options: Mapping[str, Named], device: Device) -> Iterator[tuple[Expr, str]]:
    """What :func:`resolve` asks of options, as conditions on the constants that stand for them."""
    for name, bounds in legal_values(device).items():
        value = options.get(name)
        if value is None:
            continue
        condition = (value >= bounds.low) & (value <= bounds.high)
        if bounds.multiple > 1:
            condition = condition & ((value % bounds.multiple) == 0)
        yield condition, f"{LIMITS_OF}{name}"
    for each in COUPLINGS:
        if (kept := each.condition(options, device.architecture)) is not None:
            yield kept, each.asserted
