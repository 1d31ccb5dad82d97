"""Forked processes that have imported all but what changes: a start of Python and pytest takes seconds.

What is imported beforehand are the modules of attndsl that use none of the changing packages, not even by
way of others, and the shipped specs. A child drops all other modules, and imports them anew when it needs
them.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_THIRD = ("numpy", "jinja2", "click", "hypothesis", "pytest", "xdist.plugin")
_LOADER = "attndsl.spec.operator.loader"
_PAUSE = 0.02


def forget_specs() -> None:
    """Let a child load the shipped specs anew."""
    importlib.import_module(_LOADER).load_shipped.cache_clear()


def _modules() -> dict[str, Path]:
    found = {}
    for path in sorted((ROOT / "attndsl").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _imported(tree: ast.AST) -> Iterator[str]:
    """The modules, and names in modules, that an import of this one imports."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
        yield from _imported(node)


def _with_parents(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]


@cache
def unconcerned(changing: tuple[str, ...]) -> frozenset[str]:
    """The modules of attndsl whose import imports nothing of some packages."""
    files = _modules()
    uses = {
        name: {
            part
            for each in (name, *_imported(ast.parse(path.read_text(encoding="utf-8"))))
            for part in _with_parents(each)
            if part in files
        }
        for name, path in files.items()
    }
    concerned = {name for name in files if any(part in changing for part in _with_parents(name))}
    while more := {name for name, used in uses.items() if used & concerned} - concerned:
        concerned |= more
    return frozenset(files) - concerned


def warm(changing: tuple[str, ...]) -> None:
    """Import now what children will need."""
    mine = [each for each in sorted(unconcerned(changing)) if not each.endswith("__main__")]
    for name in (*_THIRD, *mine):
        with contextlib.suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(name)
    loader = importlib.import_module(_LOADER)  # to load a spec runs nothing of what may change
    for name in loader.shipped_names():
        loader.load_shipped(name)
    gc.collect()
    gc.freeze()


def run_tests(
    arguments: Sequence[str],
    environment: dict[str, str],
    changing: tuple[str, ...],
    output: Path,
    seconds: float,
    before: Callable[[], object] | None = None,
) -> int | None:
    """Run pytest in a child, with what it prints in a file; its exit code, None if it did not end in time.

    ``before`` is called in the child, before anything of attndsl is imported anew.
    """
    child = os.fork()
    if child == 0:
        code = 70
        try:
            _become_clean(environment, changing, output)
            if before is not None:
                before()
            import pytest

            code = int(pytest.main(list(arguments)))
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    return _ended(child, seconds)


def _become_clean(environment: dict[str, str], changing: tuple[str, ...], output: Path) -> None:
    """Output, environment and modules of a process that has just begun."""
    os.setpgid(0, 0)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    os.environ.update(environment)
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "bench")]
    for name in [each for each in sys.modules if each.partition(".")[0] in ("attndsl", "tests")]:
        if name not in unconcerned(changing):
            package, _, short = name.rpartition(".")
            if package in sys.modules and hasattr(sys.modules[package], short):
                delattr(sys.modules[package], short)
            del sys.modules[name]


def _ended(child: int, seconds: float) -> int | None:
    """The exit code of a child; it is ended, with what it started, where it takes longer."""
    begun = time.monotonic()
    try:
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() - begun > seconds:
                return None
            time.sleep(_PAUSE)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
