"""Operators by name (shipped in ``specs/``) or from an author's own file."""

from __future__ import annotations

import difflib
import functools
import sys
import traceback
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attndsl.base.errors import UserError, error_text, printable
from attndsl.base.package_files import spec_names, specs_dir
from attndsl.spec.errors import SpecFileError, UnknownOperatorError
from attndsl.spec.operator.files_read import is_own, recorded_reads
from attndsl.spec.operator.helper_modules import asking_helpers
from attndsl.spec.operator.operator import Operator
from attndsl.spec.operator.python_mistakes import advice, without_classes
from attndsl.spec.operator.python_truth import compiled


def shipped_names() -> tuple[str, ...]:
    """Names of the shipped operators, sorted."""
    return spec_names()


def load(name_or_file: str | Path) -> Operator:
    """The operator of this name, or the one that a ``.py`` file declares.

    Raises:
        UnknownOperatorError: no shipped operator has this name.
        SpecFileError: the file is missing, raises, or declares no or several operators.
        SpecError: the spec contradicts itself.
    """
    text = str(name_or_file)
    if text.endswith(".py") or "/" in text or isinstance(name_or_file, Path):
        operator = load_file(Path(name_or_file))
        operator.source = text
        return operator
    return load_shipped(text)


@functools.cache
def load_shipped(name: str) -> Operator:
    """The shipped operator of this name; each is loaded once.

    Raises:
        UnknownOperatorError: with the nearest name.
    """
    names = shipped_names()
    if name not in names:
        close = difflib.get_close_matches(name, names, 1, cutoff=0.5)
        advice = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(names)}."
        raise UnknownOperatorError(
            f"unknown operator '{name}'; {advice} A spec of your own is given as FILE.py"
        )
    return load_file(specs_dir() / f"{name}.py")


def load_file(path: Path) -> Operator:
    """The module-level Operator of a spec file, checked.

    Raises:
        SpecFileError: the file is missing, raises, or declares no or several operators.
        SpecError: the spec contradicts itself.
    """
    if not path.is_file():
        raise SpecFileError(f"{path}: no such spec file")
    with recorded_reads() as read, asking_helpers(is_own):
        module = _execute(path)
    # By the type itself: what else a spec leaves in its module may answer isinstance as it likes.
    found: dict[int, Operator] = {
        id(value): value for value in vars(module).values() if issubclass(type(value), Operator)
    }
    for operator in [*found.values()]:
        for mode in operator.modes:
            found.pop(id(mode), None)
    if len(found) != 1:
        how = "declares no Operator" if not found else f"declares {len(found)} Operators"
        raise SpecFileError(
            f"{path}: {how}; a spec file has exactly one, at module level: op = Operator('name')"
        )
    operator = next(iter(found.values()))
    operator.files_read, operator.file = tuple(sorted(read)), path
    operator.check()
    return operator


def _execute(path: Path) -> types.ModuleType:
    module = types.ModuleType(f"attndsl_spec_{path.stem}")
    module.__file__ = str(path)
    try:
        source = path.read_text(encoding="utf-8")
        code, questions = compiled(source, str(path))
        vars(module).update(questions)
        exec(code, vars(module))  # a spec is a program: its author runs it
    except UserError as error:
        if _is_authors(path, traceback.extract_tb(error.__traceback__)[-1].filename):
            raise _failed(path, error) from error  # an author's own statement raises it, without a line
        raise
    except KeyboardInterrupt:
        raise
    except (OSError, UnicodeDecodeError) as error:
        if not _author_line(path):
            raise SpecFileError(f"{path}: cannot be read: {error}") from error
        raise _failed(path, error) from error
    except BaseException as error:  # whatever a spec does, it is a mistake in the spec
        raise _failed(path, error, vars(module)) from error
    return module


def _failed(path: Path, error: BaseException, names: Mapping[str, Any] | None = None) -> SpecFileError:
    """What an error of a spec's own making is for the user: one line, with the author's."""
    if isinstance(error, SyntaxError) and _is_authors(path, error.filename or ""):
        where = f"{Path(str(error.filename)).name}:{error.lineno or 1}"
        return SpecFileError(f"{where}: {error.msg}: {(error.text or '').strip()}")
    where = _author_line(path) or path.name
    if isinstance(error, SystemExit):
        return SpecFileError(
            f"{where}: the spec ends the program, with exit code {_one_line(error)}; a spec only declares: "
            "remove the call"
        )
    said = without_classes(error) if isinstance(error, TypeError) else error
    return SpecFileError(f"{where}: {type(error).__name__}: {_one_line(said)}{advice(error, names or {})}")


def _one_line(said: BaseException | str) -> str:
    text = said if isinstance(said, str) else error_text(said)
    return printable(" ".join(text.split()))


def _author_line(path: Path) -> str:
    """The innermost line of the spec, or of a module of the author's that it imports, in the traceback of the
    exception being handled, as ``file.py:12``; empty where there is none."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    found = (frame for frame in reversed(frames) if _is_authors(path, frame.filename))
    return next((f"{Path(frame.filename).name}:{frame.lineno or 0}" for frame in found), "")


def _is_authors(path: Path, file: str) -> bool:
    """Whether a file is the spec, which may be one that attndsl has, or neither installed nor of attndsl."""
    return file == str(path) or is_own(file)
