"""Spaces of cases of shipped operators and of the shelf, each made once for all tests."""

from __future__ import annotations

from functools import cache

from attndsl.base.package_files import specs_dir
from attndsl.spec.operator.loader import load, load_shipped, shipped_names
from attndsl.verify.cases.cases import spaces
from attndsl.verify.space.space import CaseSpace


@cache
def space_of(name: str) -> CaseSpace:
    """The space of an operator, of a mode of one, or of a spec of the shelf; tests leave it as it is."""
    for operator in map(load_shipped, shipped_names()):
        if name in (operator.name, *(mode.name for mode in operator.modes)):
            return next(each for each in spaces(operator) if each.operator.name == name)
    (found,) = spaces(load(str(specs_dir() / "variants" / f"{name}.py")))
    return found
