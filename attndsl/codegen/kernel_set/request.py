"""What a user asks to be generated, as it was said: nothing here knows how kernels are made."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class KernelRequest:
    """Which specializations are wanted; None stands for all that the spec enables.

    ``head_sizes``, ``value_sizes``: channels of query and key heads, and of value heads; where none is named,
    a legal size near to 128. ``features``: the optional tensors of one kernel. ``settings``: values, as a
    user spells them, by the names of parameters, and ``dtype(x)``, ``layout(x)`` and ``split(x)`` of tensors.
    """

    dtypes: tuple[str, ...] | None = None
    head_sizes: tuple[int, ...] = ()
    value_sizes: tuple[int, ...] = ()
    features: frozenset[str] | None = None
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def by_name(self) -> bool:
        """Whether one combination is asked for, not all that there is."""
        return self.features is not None or bool(self.settings)

    @property
    def told(self) -> str:
        """The request as text, the same in every process."""
        features = None if self.features is None else sorted(self.features)
        return repr((self.dtypes, self.head_sizes, self.value_sizes, features, self.settings))

    @property
    def options(self) -> str:
        """The options of ``attndsl generate`` that ask for this; empty of the default request."""
        words: list[str] = []
        for dtype in self.dtypes or ():
            words += ["--dtype", dtype]
        sizes = [f"D={size}" for size in self.head_sizes] + [f"E={size}" for size in self.value_sizes]
        if sizes:
            words += ["--set", ",".join(sizes)]
        for name, value in self.settings:
            words += ["--set", f"{name}={value}"]
        if self.features is not None:
            words += [word for name in sorted(self.features) or ["none"] for word in ("--feature", name)]
        return shlex.join(words)

    def to_json(self) -> dict[str, Any]:
        """The request as plain data, without what is as by default."""
        found: dict[str, Any] = {}
        if self.dtypes is not None:
            found["dtypes"] = list(self.dtypes)
        if self.head_sizes:
            found["head_sizes"] = list(self.head_sizes)
        if self.value_sizes:
            found["value_sizes"] = list(self.value_sizes)
        if self.features is not None:
            found["features"] = sorted(self.features)
        if self.settings:
            found["settings"] = dict(self.settings)
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KernelRequest:
        """The request that :meth:`to_json` described.

        Raises:
            ValueError: the data describes no request.
        """
        try:
            features = data.get("features")
            made = cls(
                dtypes=None if data.get("dtypes") is None else tuple(data["dtypes"]),
                head_sizes=tuple(data.get("head_sizes", ())),
                value_sizes=tuple(data.get("value_sizes", ())),
                features=None if features is None else frozenset(features),
                settings=tuple(data.get("settings", {}).items()),
            )
            texts = [*(made.dtypes or ()), *(made.features or ()), *(w for s in made.settings for w in s)]
        except (TypeError, AttributeError, KeyError) as error:
            raise ValueError(f"no request: {data!r}") from error
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"no request: {data!r}")
        stated = [data[name] for name in ("head_sizes", "value_sizes") if name in data]
        if not all(stated) or not all(type(size) is int for size in made.head_sizes + made.value_sizes):
            raise ValueError(f"no request: {data!r}")
        return made


def in_order(requests: Iterable[KernelRequest]) -> tuple[KernelRequest, ...]:
    """Each request once, the default one first: a project does not depend on which was made first."""
    unique = dict.fromkeys(requests)
    return tuple(sorted(unique, key=lambda each: (each != KernelRequest(), each.told)))
