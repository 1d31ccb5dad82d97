"""A public program in a folder with the files that it reads."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl.emulator.knobs import Knobs
from attndsl.emulator.program import Program, ProgramReport
from attndsl.target import Device

HERE = "FOLDER"
"""Stands in the arguments of a program for the folder with its files."""


def run_with_files(
    program: Program,
    arguments: Sequence[str],
    files: Mapping[str, npt.NDArray[Any] | int],
    on: Device,
    *,
    knobs: Knobs | None = None,
    copies: Path | None = None,
) -> ProgramReport:
    """Runs a program among its files, NAME.bin each: the numbers of an array, or so many bytes of zeros.

    ``copies``: a folder, which exists, for what it copies from the device.

    Raises:
        RuntimeError: it launches nothing.
    """
    with tempfile.TemporaryDirectory() as name:
        for file, content in files.items():
            path = Path(name) / f"{file}.bin"
            if isinstance(content, int):
                with path.open("wb") as made:
                    made.truncate(content)
            else:
                np.ascontiguousarray(content).tofile(path)
        given = [name if each == HERE else each for each in arguments]
        place = None if copies is None else copies.resolve()
        with chdir(name):
            report = program.run(given, knobs=knobs, copies=place, device=on)
    if not report.launches:
        raise RuntimeError(f"{program.path.name} launched nothing: {report.error or report.stdout}")
    return report
