"""The list of a project's kernels, ``kernels.json``: which calls each is for, its key, the file of its text.

Whoever looks for the kernel of a call, or for the calls of a kernel, reads it here; names of files say
nothing that is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attndsl.base.errors import UserError
from attndsl.codegen.kernel.kernel import settings_told
from attndsl.codegen.kernel.shared_texts import SharedText, shared_texts
from attndsl.codegen.kernel_set.kernel_names import kernel_name
from attndsl.codegen.kernel_set.tiling_keys import tiling_key
from attndsl.codegen.samples.device_files import text_path
from attndsl.compiler.compile import Compiled
from attndsl.lowering.signature.specialization import Specialization, feature_names
from attndsl.spec.contract.contract import Contract

KERNEL_LIST = "kernels.json"


class IllegalKernelList(UserError, ValueError):
    """A list of kernels that does not say what it should."""


@dataclass(frozen=True, slots=True)
class ListedKernel:
    """A kernel of a project: its name, tiling key and specialization, and the file of its text."""

    name: str
    key: int
    file: str
    special: Specialization


def kernel_list(kernels: Sequence[Compiled]) -> str:
    """The text of the list, a line a kernel."""
    about = (
        "what each kernel is specialized on: settings of one such call, and conditions that all of its calls "
        "keep; attndsl verify --project makes calls for those listed here"
    )
    texts = shared_texts(kernels)
    rows = ",\n".join(f"  {json.dumps(_row(each, texts.of(each)))}" for each in kernels)
    return f'{{\n "about": {json.dumps(about)},\n "kernels": [\n{rows}\n ]\n}}\n'


def _row(compiled: Compiled, text: SharedText) -> dict[str, Any]:
    operator, special = compiled.operator, compiled.specialization
    return {
        "name": kernel_name(compiled),
        "key": tiling_key(compiled),
        "file": text_path(text),
        "dtype": special.dtype,
        "head_size": special.padded_head_size,
        "value_size": special.padded_value_size,
        "features": [name for name in feature_names(operator) if name in special.features],
        "settings": dict(special.settings),
        "conditions": list(settings_told(operator, special)),
    }


def read_kernel_list(operator: Contract, path: Path) -> tuple[ListedKernel, ...]:
    """The kernels that a list names.

    Raises:
        IllegalKernelList: the file is no list of kernels, or names features or settings that the operator
            does not have.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["kernels"]
        found = tuple(_listed(row) for row in rows)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IllegalKernelList(
            f"{path} is no list of kernels ({type(error).__name__}: {error}); attndsl generate writes one"
        ) from error
    for each in found:
        unknown = each.special.features - set(feature_names(operator))
        unknown |= dict(each.special.settings).keys() - operator.specialization_parameters
        if unknown:
            raise IllegalKernelList(
                f"{path}: kernel {each.name} has {', '.join(sorted(unknown))}, of which {operator.name} "
                "knows nothing"
            )
    return found


def _listed(row: dict[str, Any]) -> ListedKernel:
    special = Specialization(
        dtype=row["dtype"],
        padded_head_size=int(row["head_size"]),
        features=frozenset(row["features"]),
        padded_value_size=None if row["value_size"] is None else int(row["value_size"]),
        settings=tuple(row["settings"].items()),
    )
    return ListedKernel(str(row["name"]), int(row["key"]), str(row["file"]), special)
