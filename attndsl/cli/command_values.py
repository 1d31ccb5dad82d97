"""Values of the command line: numbers, and ``NAME=VALUE`` lists.

Numbers are written in ASCII digits alone. Python's ``int`` also reads ``1_000``, blanks and the digits of
other scripts; these are more likely a slip than a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

LARGEST = (1 << 63) - 1
"""The largest number that a size or parameter of a call can be."""

_WHOLE = re.compile(r"-?[0-9]{1,19}")
_DECIMAL = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,19})?([eE][-+]?[0-9]{1,3})?")


def _is_long(text: str) -> bool:
    """Whether it is a whole number that a message must not call none: it is beyond the largest."""
    return text.removeprefix("-").isdigit() and text.isascii() and len(text) > 18


class Whole(click.ParamType):  # type: ignore[type-arg]  # no generic at run time in click 8.1
    """A whole number from ``least`` to ``most``."""

    name = "integer"

    def __init__(self, least: int, most: int = LARGEST) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number.

        Raises:
            click.BadParameter: the text is no whole number in ASCII digits, or outside the range.
        """
        if isinstance(value, int):
            return value
        if not _WHOLE.fullmatch(str(value)) or not self.least <= int(value) <= self.most:
            self.fail(f"'{value}' is no {self._legal(str(value))}", param, ctx)
        return int(value)

    def _legal(self, text: str) -> str:
        if self.most == LARGEST and not _is_long(text):
            return f"whole number of at least {self.least}, in digits 0 to 9"
        return f"whole number from {self.least} to {self.most}, in digits 0 to 9"


class Decimal(click.ParamType):  # type: ignore[type-arg]
    """A number from ``least`` to ``most``, such as 0.5."""

    name = "number"

    def __init__(self, least: float, most: float) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number.

        Raises:
            click.BadParameter: the text is no number in ASCII digits, or outside the range.
        """
        if isinstance(value, float):
            return value
        if not _DECIMAL.fullmatch(str(value)) or not self.least <= float(value) <= self.most:
            self.fail(f"'{value}' is no number from {self.least:g} to {self.most:g}", param, ctx)
        return float(value)


class Place(click.Path):
    """A path that is not empty: an empty one would stand for the current folder."""

    def __init__(self, *, file: bool = True, folder: bool = True) -> None:
        super().__init__(path_type=Path, file_okay=file, dir_okay=folder)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path.

        Raises:
            click.BadParameter: it is empty, holds a zero byte, or is a folder where a file is wanted.
        """
        text = str(value)
        if not text.strip() or "\0" in text:
            what = "folder" if not self.file_okay else "path"
            self.fail(f"'{text}' names no {what}; '.' is the current folder", param, ctx)
        return super().convert(value, param, ctx)


def named_values(settings: Iterable[str], option: str, example: str) -> dict[str, str]:
    """``("D=128,maskType=NORM", "ring=2")`` as texts by name.

    Raises:
        click.UsageError: a part is no ``NAME=VALUE``, or names what another one names.
    """
    found: dict[str, str] = {}
    for name, value in _parts(settings, option, example):
        if name in found:
            both = f"{name}={found[name]} and {name}={value}"
            raise click.UsageError(f"{option} gives '{name}' twice, {both}; give it once")
        found[name] = value
    return found


def _parts(settings: Iterable[str], option: str, example: str) -> Iterator[tuple[str, str]]:
    for item in (part for setting in settings for part in setting.split(",")):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not (name and equals and value):
            raise click.UsageError(f"{option} takes {example}; got '{item}'")
        yield name, value


def whole(text: str, subject: str, least: int = 1) -> int:
    """A size or parameter; ``subject`` names it in the message.

    Raises:
        click.UsageError: the text is no whole number in ASCII digits, or below ``least``.
    """
    is_whole = _WHOLE.fullmatch(text)
    if not is_whole or not least <= int(text) <= LARGEST:
        no_number = not is_whole and not _is_long(text)
        from_to = "" if least == -LARGEST and no_number else f" from {least} to {LARGEST}"
        raise click.UsageError(f"{subject}: '{text}' is no whole number{from_to}, in digits 0 to 9")
    return int(text)
