"""The code blocks of a page, run in a folder: files are written, commands run, and what they print compared.

    ```python title="mine.py"     the file mine.py
    ```console                    "$ command" lines, each with the output that it has after it

In outputs, ``...`` alone is any number of lines, within a line any text; times in seconds are not compared.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import attndsl
from attndsl.base.disk_cache import STORE_VARIABLE

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_SECONDS = re.compile(r"\b\d+(\.\d+)? s$", re.MULTILINE)


@dataclass(frozen=True)
class File:
    """A file that the page shows."""

    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command line of the page and what it prints."""

    line: str
    output: str


def steps(page: str) -> Iterator[File | Command]:
    """The files and commands of a page, in order."""
    for kind, title, text in _BLOCK.findall(page):
        if kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, output = part.partition("\n")
                yield Command(line, output.rstrip("\n"))
        elif title:
            yield File(title, text)


def run(step: File | Command, folder: Path) -> str:
    """What is wrong with a step: empty, or what was expected and what was printed."""
    if isinstance(step, File):
        (folder / step.name).write_text(step.text)
        return ""
    printed = _printed(step.line, folder)
    if matches(step.output, printed):
        return ""
    return f"$ {step.line}\n--- the page\n{step.output}\n--- printed\n{printed}"


def matches(expected: str, printed: str) -> bool:
    """Whether a command printed what a page says; ``...`` is any text, on a line of its own any lines."""
    lines = [_pattern(line) for line in _SECONDS.sub("N s", expected).splitlines()]
    return re.fullmatch("".join(lines), _SECONDS.sub("N s", printed.rstrip("\n")) + "\n") is not None


def _pattern(line: str) -> str:
    if line == "...":
        return r"(?:.*\n)*?"
    return r".*".join(map(re.escape, line.split("..."))) + r"[ ]*\n"


def _printed(line: str, folder: Path) -> str:
    words = shlex.split(line)
    programs = {"attndsl": [sys.executable, "-m", "attndsl"], "python": [sys.executable], "ls": ["ls"]}
    environment = {**os.environ, "PYTHONPATH": str(Path(attndsl.__file__).parents[1]), "LC_ALL": "C"}
    environment.pop(STORE_VARIABLE, None)  # no test has changed the compiler of a process of its own
    done = subprocess.run(
        [*programs[words[0]], *words[1:]],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout
