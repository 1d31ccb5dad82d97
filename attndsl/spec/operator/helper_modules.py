"""Modules that a spec imports while it is loaded: Python's own decisions are asked about there, too.

Modules of the Python installation and of attndsl are imported as ever.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader

from attndsl.spec.operator.python_truth import compiled

IsOwn = Callable[[str], bool]


@contextlib.contextmanager
def asking_helpers(is_own: IsOwn) -> Iterator[None]:
    """Modules that are imported in the block ask where Python decides, as the spec itself does.

    ``is_own``: whether the file of this path is an author's. Modules imported before stay as they are.
    """
    finder = _Finder(is_own)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder:
    """Finds modules as Python does, and gives those of an author the loader that asks."""

    def __init__(self, is_own: IsOwn) -> None:
        self._is_own = is_own

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module, if it is an author's file of Python; None leaves it to Python's own finders."""
        found = PathFinder.find_spec(name, path, target)
        if found is None or type(found.loader) is not SourceFileLoader or not self._is_own(str(found.origin)):
            return None
        found.loader = _AskingLoader(name, str(found.origin))
        return found


class _AskingLoader(SourceFileLoader):
    """Compiles a module with a question at each place where Python decides; nothing of it is kept on disk."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Runs the module with the questions among its names."""
        path = self.get_filename(module.__name__)
        code, questions = compiled(importlib.util.decode_source(self.get_data(path)), path)
        vars(module).update(questions)
        exec(code, vars(module))  # as the import would
