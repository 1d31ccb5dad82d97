"""The shipped operator with a schedule of one's own, as an author would write it into the spec file."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np

from attndsl.base.package_files import specs_dir
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.operator import Operator

_NUMBER = itertools.count()


def with_schedule(folder: Path, **choices: Any) -> Operator:
    """A fresh operator whose ``op.schedule(...)`` states exactly these choices."""
    source = (specs_dir() / "incre_flash_attention.py").read_text()
    stated = ", ".join(f"{name}={value!r}" for name, value in choices.items())
    text, count = re.subn(r"^op\.schedule\(.*\)", f"op.schedule({stated})", source, flags=re.MULTILINE)
    assert count == 1
    file = folder / f"authored_{next(_NUMBER)}.py"
    file.write_text(text)
    return load_file(file)


def call_of(
    operator: Operator, *, batch: int = 1, kv_heads: int = 1, group: int = 1, keys: int = 64,
    head_dim: int = 64, features: frozenset[str] = frozenset(), lengths: list[int] | None = None,
    seed: int = 0,
) -> Call:  # fmt: skip
    """A random call in float16, BNSD."""
    rng = np.random.default_rng(seed)
    heads = kv_heads * group

    def normal(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape).astype(np.float16)

    optional: dict[str, Any] = {}
    if lengths is not None:
        optional["actual_seq_lengths"] = lengths
    if "attn_mask" in features:
        optional["attn_mask"] = rng.random((batch, keys)) < 0.3
    if "pse_shift" in features:
        optional["pse_shift"] = normal(batch, heads, 1, keys)
    return operator.bind(
        normal(batch, heads, 1, head_dim), [normal(batch, kv_heads, keys, head_dim)],
        [normal(batch, kv_heads, keys, head_dim)], num_heads=heads, num_key_value_heads=kv_heads,
        scale_value=head_dim**-0.5, input_layout="BNSD", **optional,
    )  # fmt: skip
