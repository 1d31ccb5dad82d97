"""What a user asks to be generated, as it was said: nothing here knows how kernels are made."""

from __future__ import annotations

from dataclasses import dataclass

# The head size that most models have; others are asked for with --set D=...
DEFAULT_HEAD_SIZES = (128,)


@dataclass(frozen=True, kw_only=True)
class KernelRequest:
    """Which specialisations are wanted; None stands for all that the spec enables.

    ``features``: the optional tensors of one kernel. ``settings``: values, as a user spells them, by the
    names of parameters, and ``dtype(x)``, ``layout(x)`` and ``split(x)`` of tensors.
    """

    dtypes: tuple[str, ...] | None = None
    head_sizes: tuple[int, ...] = DEFAULT_HEAD_SIZES
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
        return repr((self.dtypes, self.head_sizes, features, self.settings))
