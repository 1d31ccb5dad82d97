"""Two pictures of an operator's kernel for a page of the documentation: its timeline, and what its on-chip
memories hold over a stretch of it. A call of usual sizes is run on the emulator without data."""

from __future__ import annotations

from attndsl.base.package_files import sources_key
from attndsl.cli.profile_page.drawing import PLOT, memory_plot, overview, stretch
from attndsl.cli.profile_page.memory_use import memory_uses
from attndsl.cli.profile_page.page import PIPES
from attndsl.cli.stored_answers import stored_answer
from attndsl.codegen.text.render import render
from attndsl.compiler.prepare_launch import prepare
from attndsl.expr import Symbol
from attndsl.profile.spans import middle, spans_of
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.shaped_call import call_of_shape

TEMPLATE = "report/pictures.html.j2"
SIZES = {"N": 8, "K": 2, "D": 128}
PROMPT = 1024
"""Sizes by axis, and tokens where there are as many queries as keys; what is left open has its usual size."""
_MOST_SPANS, _RESOLUTION, _BLOCK = 600, 1000, 0


def pictures(operator: Operator) -> str:
    """Both pictures as HTML without a blank line, from the disk where nothing has changed since.

    Raises:
        ProfileError: there is no legal call of these sizes.
        As :func:`attndsl.profile.spans.spans_of`.
    """
    key = operator.content_key
    if key is None:
        return _pictures(operator)
    found: str = stored_answer(("pictures", sources_key(), key), lambda: _pictures(operator))
    return found


def shape_of(operator: Operator) -> dict[str, int]:
    """The sizes that the pictured call is asked for, by the spec's own names."""
    extents = operator.axis_extents
    wanted = {axis: size for axis, size in SIZES.items() if axis in extents}
    if "Q" in extents and extents["Q"].same(extents.get("T", extents["Q"])):
        wanted["Q"] = PROMPT
    named = {axis: extents[axis] for axis in wanted}
    free = operator.dims_by_name
    return {
        size.name: wanted[axis]
        for axis, size in named.items()
        if isinstance(size, Symbol) and size.name in free and free[size.name].definition is None
    }


def _pictures(operator: Operator) -> str:
    call = call_of_shape(operator, shape_of(operator))
    launch = prepare(call)
    block = spans_of(launch, _BLOCK)
    begin, end = middle(block, _MOST_SPANS)
    seen = [
        each for each in block.spans if begin <= each.start <= end and each.core in ("AIC", "AIV", "AIV0")
    ]
    uses = memory_uses(launch.compiled.program, seen, (end - begin) / _RESOLUTION)
    sizes = ", ".join(f"{name} = {value}" for name, value in call.dims.items() if value)
    text = render(
        TEMPLATE,
        sizes=sizes,
        plot=int(PLOT),
        overview=overview(block, PIPES, block.until),
        marks=stretch(block, PIPES, begin, end).marks,
        memories=tuple(memory_plot(use, begin, end) for use in uses),
    )
    return "\n".join(line for line in text.splitlines() if line.strip())
