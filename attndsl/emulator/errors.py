"""What can go wrong when a kernel is compiled for the emulator or run on it."""

from __future__ import annotations

from attndsl.errors import AttnDslError, UserError


class EmulatorError(AttnDslError):
    """Root of the emulator's errors."""


class CompilerMissing(EmulatorError, UserError):
    """No C++17 compiler was found."""

    def __init__(self, tried: tuple[str, ...]) -> None:
        super().__init__(
            f"no C++17 compiler found (tried {', '.join(tried)}): install g++ or clang++, set CXX, "
            "or install the extra attndsl[cxx]"
        )


class CacheNotWritable(EmulatorError, UserError):
    """The folder for compiled kernels cannot be made or written."""

    def __init__(self, folder: object, reason: str) -> None:
        super().__init__(
            f"cannot write compiled kernels to '{folder}': {reason}; set ATTNDSL_CACHE_DIR to another folder"
        )


class CompileFailed(EmulatorError):
    """The compiler rejected a kernel; `log` has everything it said."""

    def __init__(self, what: str, log: str) -> None:
        self.log = log
        told = ("error", "undefined reference", "multiple definition")
        lines = [line for line in log.splitlines() if any(word in line for word in told)] or log.splitlines()
        super().__init__(f"{what} does not compile:\n" + "\n".join(lines[:8]))


class EmulatorNotCompiled(CompileFailed):
    """The compiler rejected the emulator's own sources or headers: no kernel can be run."""

    def __init__(self, what: str, log: str) -> None:
        super().__init__(what, log)
        self.args = (f"{self}\nreinstall attndsl, or set CXX to another compiler; see attndsl doctor",)


class KernelCrashed(EmulatorError):
    """The kernel's process died: a wild pointer, an exhausted stack, too much memory."""


class KernelTimeout(EmulatorError):
    """The kernel did not end in time."""


class LaunchError(EmulatorError, UserError):
    """The launch itself is wrong: number of arguments, a read-only output, an unknown entry."""


class FindingsError(EmulatorError):
    """The checks found something; the message lists it."""
