"""What can go wrong when a kernel is compiled for the emulator or run on it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from attndsl.base.errors import AttnDslError, UserError

_OWN_HEADER = re.compile(r"^\S*\battndsl/emulator/(?:include|intrinsics)/")
"""Of any installation: what was compiled ahead keeps the paths of the one that did so."""
_REASON = re.compile(
    r"^(\S.*?:\d+(?::\d+)?):\s+(?:required from|note: in instantiation of .* requested here)"
)


class EmulatorError(AttnDslError):
    """Root of the emulator's errors."""


class CompilerMissing(EmulatorError, UserError):
    """No C++17 compiler was found."""

    def __init__(self, tried: tuple[str, ...]) -> None:
        super().__init__(
            f"no C++17 compiler found (tried {', '.join(tried)}): install g++ or clang++, set CXX, "
            "or install the extra attndsl[cxx]"
        )


class WrongCompiler(EmulatorError, UserError):
    """``CXX`` is set to what is no compiler."""

    def __init__(self, stated: str, reason: str) -> None:
        super().__init__(
            f"CXX={stated!r} cannot be used as the C++ compiler: {reason}; set it to a C++17 compiler, "
            "such as g++ or clang++, or unset it"
        )


class CompileFailed(EmulatorError):
    """The compiler rejected a kernel; `log` has everything it said."""

    def __init__(self, what: str, log: str) -> None:
        self.log = log
        told = ("error", "undefined reference", "multiple definition")
        all_lines = _with_lines_of_users(log.splitlines())
        lines = [line for line in all_lines if any(word in line for word in told)] or all_lines
        super().__init__(f"{what} does not compile:\n" + "\n".join([*lines[:8], *_advice(log)]))


def _advice(log: str) -> list[str]:
    """What helps against what is wrong with the compiler rather than with the kernel."""
    if "explicit specialization in non-namespace scope" not in log:
        return []
    return [
        "g++ takes explicit specializations inside classes from version 14 on: set CXX to a newer g++, "
        "to clang++, or, with the extra attndsl[cxx] installed, to 'python -m ziglang c++'"
    ]


def _with_lines_of_users(lines: list[str]) -> list[str]:
    """The same with errors inside the emulator's headers at the line of the kernel that asked for them.

    g++ tells the reasons in front of the error, clang++ behind it.
    """
    errors = [number for number, line in enumerate(lines) if "error: " in line]
    out = list(lines)
    for place, number in enumerate(errors):
        if not _OWN_HEADER.match(lines[number]):
            continue
        first = errors[place - 1] + 1 if place else 0
        last = errors[place + 1] if place + 1 < len(errors) else len(lines)
        found = [m[1] for line in lines[first:number] + lines[number:last] if (m := _REASON.match(line))]
        theirs = [location for location in found if not _OWN_HEADER.match(location)]
        if theirs:
            out[number] = f"{theirs[0]}: {lines[number][lines[number].index('error: ') :]}"
    return out


class EmulatorNotCompiled(CompileFailed):
    """The compiler rejected the emulator's own sources or headers: no kernel can be run."""

    def __init__(self, what: str, log: str) -> None:
        super().__init__(what, log)
        self.args = (f"{self}\nreinstall attndsl, or set CXX to another compiler; see attndsl doctor",)


class NoHeaders(EmulatorError, UserError):
    """A folder that was named as a CANN has no AscendC headers."""

    def __init__(self, root: Path, tried: Sequence[str]) -> None:
        super().__init__(
            f"{root} has no headers of AscendC's basic API (looked in {', '.join(tried)}): name the folder "
            "of an installed CANN, such as /usr/local/Ascend/ascend-toolkit/latest, or of a checkout of "
            "asc-devkit"
        )


class KernelCrashed(EmulatorError):
    """The kernel's process died: a wild pointer, an exhausted stack, too much memory."""


class KernelTimeout(EmulatorError):
    """The kernel did not end in time."""


class LaunchError(EmulatorError, UserError):
    """The launch itself is wrong: number of arguments, a read-only output, an unknown entry."""


class FindingsError(EmulatorError):
    """The checks found something; the message lists it."""
