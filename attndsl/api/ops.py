"""The shipped operators as functions: ``from attndsl import ops; ops.incre_flash_attention(...)``.

Each attribute is the :class:`attndsl.spec.Operator` of the spec file of that name, loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attndsl.spec.operator.operator import Operator


def __getattr__(name: str) -> Operator:
    if name.startswith("_"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from attndsl.spec.operator.loader import load_shipped

    return load_shipped(name)


def __dir__() -> list[str]:
    from attndsl.spec.operator.loader import shipped_names

    return list(shipped_names())
