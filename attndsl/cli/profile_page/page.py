"""The page of ``attndsl profile --html``: everything it says, decided here; how it looks, in its template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from attndsl.base.errors import UserError
from attndsl.cli.profile_page.drawing import (
    PLOT,
    Share,
    memory_plot,
    overview,
    roofline_plot,
    shares,
    stretch,
)
from attndsl.cli.profile_page.memory_use import memory_uses
from attndsl.cli.profile_page.roofline import roofline_of
from attndsl.codegen.text.render import render
from attndsl.compiler.prepare_launch import prepare
from attndsl.profile.calibration_text import calibration_lines
from attndsl.profile.profile import Profile, largest_first
from attndsl.profile.spans import BlockSpans, middle, spans_of
from attndsl.spec.binding.call import Call
from attndsl.target import Pipe
from attndsl.tile.program import Program

TEMPLATE = "report/profile.html.j2"
PIPES = tuple(pipe.value for pipe in Pipe if pipe is not Pipe.S)
"""Rows of a core, in the order in which data pass the pipes. What the scalar unit does is no instruction."""
_MOST_SPANS = 3000
_NEAR, _EVEN = 0.9, 0.9


class PageNotWritten(UserError):
    """The page cannot be written where it was asked for."""


def write_page(
    call: Call, profile: Profile, path: Path, *, cores: int | None = None, most_core_cycles: int = 0
) -> None:
    """Runs the block of the call that ends last once more, recorded, and writes the page.

    ``cores``, ``most_core_cycles``: what the profile was made with.

    Raises:
        PageNotWritten: ``path`` cannot be written.
    """
    launch = prepare(call, cores)
    slowest = max(range(len(profile.block_ends)), key=lambda block: profile.block_ends[block])
    most = 0 if profile.extrapolation is None else most_core_cycles
    block = spans_of(launch, slowest, most_core_cycles=most)
    text = page_text(profile, block, launch.compiled.program)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PageNotWritten(f"cannot write the page to '{path}': {error.strerror or error}") from error


def page_text(profile: Profile, block: BlockSpans, program: Program) -> str:
    """The page as HTML, with all that it needs in it."""
    begin, end = middle(block, _MOST_SPANS)
    seen = [
        span for span in block.spans if begin <= span.start <= end and span.core in ("AIC", "AIV", "AIV0")
    ]
    uses = memory_uses(program, seen, (end - begin) / 4000)
    return render(
        TEMPLATE,
        profile=profile,
        sizes=", ".join(f"{name} = {size}" for name, size in profile.sizes.items()),
        sentence=sentence(profile),
        headline=tuple(headline(profile)),
        plot=int(PLOT),
        block=block.block,
        left_out=block.until < 0.98 * profile.time,
        over="over the launch" if profile.extrapolation is None else "in the part that is simulated",
        until=f"{block.until:.1f}",
        overview=overview(block, PIPES, profile.time if profile.extrapolation is None else block.until),
        stretch=stretch(block, PIPES, begin, end),
        memories=tuple(memory_plot(use, begin, end) for use in uses),
        roofline=roofline_plot(roofline_of(profile)),
        bounds=tuple(_bounds(profile)),
        path=tuple(_path(profile)),
        ends=tuple(
            shares(
                ((str(at), end, f"{end:.1f} us") for at, end in enumerate(profile.block_ends)), profile.time
            )
        ),
        ends_text=f"the first is done after {min(profile.block_ends):.1f} us, the last after "
        f"{profile.time:.1f}.",
        bytes=tuple((name.replace("_", " "), f"{size:,}") for name, size in profile.bytes.items()),
        tensors=tuple(tensors(profile.read_by_tensor)),
        conflicts=tuple((line, f"{cycles:,.0f}") for line, cycles in profile.bank_conflicts.items()),
        schedule=tuple((name, str(value)) for name, value in profile.schedule.items()),
        calibration=tuple(line.strip() for line in calibration_lines(profile.device)),
    )


def sentence(profile: Profile) -> str:
    """What bounds the kernel, in one sentence."""
    limit, time = profile.limit, profile.time
    alone = f"{profile.bounds[limit]:.1f} of the {time:.1f} us"
    if profile.attained >= _NEAR:
        return f"{limit} bounds it: its work alone takes {alone} ({profile.attained:.0%})."
    ends = profile.block_ends
    last = max(ends, default=0.0)
    even = sum(ends) / len(ends) / last if last else 1.0
    path = largest_first(profile.critical_path)[:2]
    chain = " and ".join(f"{name} ({took / time:.0%})" for name, took in path)
    nearest = f"Nothing is at its limit: {limit} is nearest with {alone} ({profile.attained:.0%})"
    if even < _EVEN:
        return f"{nearest}, and blocks end unevenly: the mean one is done after {even:.0%} of the time."
    return f"{nearest}, and most of the chain of events that ends last is {chain}."


def headline(profile: Profile) -> Iterator[tuple[str, str]]:
    """The figures at the top, each with its name."""
    hbm = profile.hbm()
    yield f"{profile.time:.1f} us", "predicted"
    yield f"{profile.worst:.1f} us", "at worst"
    if profile.extrapolation is not None:
        yield f"{profile.extrapolation.share:.0%}", "simulated, the rest extrapolated"
    yield f"{profile.cube:.1%}", "of the cube"
    yield f"{hbm['of_r']:.1%}", f"of R = {hbm['r'] / 1e12:.2f} TB/s"
    yield f"{profile.bytes['hbm_read'] / 1e6:.1f} MB", "from memory"
    yield f"+ {profile.device.launch_microseconds:g} us", "a launch"


def tensors(read: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Bytes by tensor, those of a list (``key[0]``, ``key[1]``) together."""
    found = dict[str, list[int]]()
    for name, size in read.items():
        found.setdefault(name.partition("[")[0], []).append(size)
    for name, sizes in found.items():
        yield name if len(sizes) == 1 else f"{name}, {len(sizes)} tensors", f"{sum(sizes):,}"


def _bounds(profile: Profile) -> Iterator[Share]:
    time = max(profile.time, 1e-9)
    ordered = largest_first(profile.bounds)
    yield from shares(
        ((name, bound, f"{bound:.1f} us, {bound / time:.0%}") for name, bound in ordered), profile.time
    )


def _path(profile: Profile) -> Iterator[Share]:
    ordered = largest_first(profile.critical_path)
    yield from shares(((name, took, f"{took:.1f} us") for name, took in ordered), profile.time)
