"""Files that travel with the package: specs, templates, generated operator projects.

In a checkout they stand at the top level, where readers look first; an installed wheel carries them under
``attndsl/_data``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path

from attndsl.base.disk_cache import content_key
from attndsl.base.errors import InternalError

USERS_OF_KERNELS = frozenset(
    {"api", "campaign", "cli", "diagnosis", "emulator", "mutate", "profile", "tuning"}
)
"""Packages that decide nothing about tile programs and files made of them: they run them, look into them, or
search for schedules."""
_PACKAGE = Path(__file__).resolve().parents[1]


def resource_dir(name: str) -> Path:
    """The folder ``name`` (``"specs"``, ``"templates"``, ``"generated"``).

    Raises:
        InternalError: the installation is incomplete.
    """
    places = (_PACKAGE / "_data" / name, _PACKAGE.parent / name)
    for place in places:
        if place.is_dir() and (place != places[1] or (_PACKAGE.parent / "pyproject.toml").is_file()):
            return place
    raise InternalError(f"the folder '{name}' is missing from this installation; reinstall attndsl")


def specs_dir() -> Path:
    """The shipped specs, one file an operator."""
    return resource_dir("specs")


def spec_names() -> tuple[str, ...]:
    """Names of the shipped specs, sorted; files whose names begin with _ are parts of others."""
    return tuple(sorted(path.stem for path in specs_dir().glob("*.py") if not path.stem.startswith("_")))


def starting_specs_dir() -> Path:
    """The commented specs that ``attndsl new`` begins with, one file a kind."""
    return specs_dir() / "starting"


def templates_dir() -> Path:
    """The Jinja templates of the generated files."""
    return resource_dir("templates")


def generated_dir() -> Path:
    """The committed operator projects; in a checkout only."""
    return resource_dir("generated")


@cache
def sources_key(without: Collection[str] = frozenset()) -> str:
    """A key over the Python sources of attndsl and its templates, without the packages named: what is kept on
    disk of their work is of no use to others."""
    return content_key(*(digest for package, digest in _file_digests() if package not in without))


@cache
def _file_digests() -> tuple[tuple[str, str], ...]:
    """Each source and template, read once: its package, "" of templates, and a key over its name and text."""
    sources = [(path.relative_to(_PACKAGE).parts[0], path) for path in sorted(_PACKAGE.rglob("*.py"))]
    templates = [("", path) for path in sorted(templates_dir().rglob("*")) if path.is_file()]
    return tuple(
        (package, content_key(path.name, path.read_bytes())) for package, path in sources + templates
    )
