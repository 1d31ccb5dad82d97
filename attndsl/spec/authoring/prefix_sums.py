"""Prefix sums of the lengths of batch rows, as packed (TND) layouts take them: ``[3, 3, 8]`` for 3, 0, 5."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.expr import Const, Expr, ExprLike, Symbol, compare, select
from attndsl.spec.authoring.argument_checks import scalar
from attndsl.spec.authoring.values import TensorValue


class PrefixSums(TensorValue):
    """Prefix sums as an argument; entry b is the end of batch row b."""

    __slots__ = ()

    def start(self, b: ExprLike) -> Expr:
        """First row of batch row ``b``."""
        index = scalar("a batch row", b)
        return select(compare("==", index, Const(0)), 0, self[index - 1])

    def length(self, b: ExprLike) -> Expr:
        """Rows of batch row ``b``."""
        index = scalar("a batch row", b)
        return self[index] - self.start(index)

    def demands(
        self, count: Symbol, total: Expr | None
    ) -> Iterator[tuple[Expr, str, dict[Symbol, ExprLike] | None]]:
        """What ``count`` prefix sums must keep: condition, words, range of the batch index."""
        b = Symbol("b")
        yield count > 0, "must have at least one batch row", None
        yield self[b] >= self.start(b), "prefix sums must begin at 0 or above and not decrease", {b: count}
        if total is not None:
            yield self[count - 1] == total, f"the last prefix sum must be {total}", None
