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
    own = sorted(_PACKAGE.rglob("*.py"))
    sources = (path for path in own if path.relative_to(_PACKAGE).parts[0] not in without)
    templates = (path for path in sorted(templates_dir().rglob("*")) if path.is_file())
    files = (*sources, *templates)
    return content_key(*(part for path in files for part in (path.name, path.read_bytes())))
