"""What a plan is told of each kernel: the values of the members of its struct ``Kernel``."""

from __future__ import annotations

import re
from collections.abc import Mapping

_STRUCT = re.compile(r"struct Kernel \{([^{}]*)\};")
_DECLARED = re.compile(r"(?<![\w(])(?:\w+ (\w+) =|\w+ \(\*(\w+)\))")
_GIVEN = re.compile(r"constexpr Kernel (\w+)\(\)\s*\{[^{}]*\breturn \{([^{}]*)\};")


def told_of_kernels(code: str) -> Mapping[str, Mapping[str, str]]:
    """The values that each function of a plan gives for a kernel, by member; those that are 0 are left out.

    ``code``: the plan, without comments.
    """
    struct = _STRUCT.search(code)
    members = [one or other for one, other in _DECLARED.findall(struct[1] if struct else "")]
    found = {}
    for name, given in _GIVEN.findall(code):
        values = (" ".join(each.split()) for each in given.split(","))
        found[name] = {key: value for key, value in zip(members, values, strict=True) if value != "0"}
    return found
