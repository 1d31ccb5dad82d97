"""Masks that divide the key index by sizes, of which constraints state bounds."""

from __future__ import annotations

from tests.mistakes.mistake import Changes, Mistake
from tests.support.right_specs import PAGED

_SCORES = "s = attend.scores(query, keys) * scale\n"
_OTHER_SIZE: Changes = (
    ('dims("B N K D P R W")', 'dims("B N K D P R W F")'),
    ("B, N, K, D, P, R, W =", "B, N, K, D, P, R, W, F ="),
    ("scale = op.param", 'flags = op.input("flags", "F", dtype="int32", indexed=True)\nscale = op.param'),
)


def _divided(stated: str, divisor: str) -> Changes:
    """A mask by blocks of ``divisor`` keys, and what is stated in front of it."""
    mask = f"j = attend.KEY\ns = s.where((j // {divisor} == 0) | (j % 4 == 0))\n"
    return ((_SCORES, _SCORES + stated + mask),)


DIVISORS = (
    Mistake(
        "quotient by a size without a bound",
        PAGED,
        _divided("", "R"),
        (
            "mine has no kernel yet: mine.py:21: a mask in a form that no kernel tests ('R' in 'j // "
            "R' may be anything from 1 to inf) has no lowering rule yet; write a literal, or state "
            'that the size is 1048576 at most, as in op.require(R <= 1024, "must be at most 1024"); '
            "the reference backend computes it"
        ),
        instead=_divided('op.require(R <= 1024, "must be at most 1024")\n', "R"),
    ),
    Mistake(
        "quotient by a size with a bound for some calls",
        PAGED,
        _divided('op.require(R <= 1024, "must be at most 1024", when=B == 1)\n', "R"),
        (
            "mine has no kernel yet: mine.py:22: a mask in a form that no kernel tests ('R' in 'j // "
            "R' may be anything from 1 to inf) has no lowering rule yet; write a literal, or state "
            'that the size is 1048576 at most, as in op.require(R <= 1024, "must be at most 1024"); '
            "the reference backend computes it"
        ),
    ),
    Mistake(
        "quotient by a size that may be 0",
        PAGED,
        (*_OTHER_SIZE, *_divided('op.require(F <= 1024, "must be at most 1024")\n', "F")),
        (
            "mine has no kernel yet: mine.py:23: a mask in a form that no kernel tests ('F' in 'j // "
            "F' may be anything from 0 to 1024) has no lowering rule yet; write a literal, or state "
            'that the size is from 1 to 1048576, as in op.require((F >= 1) & (F <= 1024), "must be '
            'from 1 to 1024"); the reference backend computes it'
        ),
        instead=(
            *_OTHER_SIZE,
            *_divided('op.require((F >= 1) & (F <= 1024), "must be from 1 to 1024")\n', "F"),
        ),
    ),
    Mistake(
        "quotient by a quotient of sizes",
        PAGED,
        _divided('op.require((N <= 64) & (K <= 64), "must be at most 64", argument="query")\n', "(N // K)"),
        (
            "mine has no kernel yet: mine.py:22: a mask in a form that no kernel tests ('N // K' in "
            "'j // (N // K)' may be anything from 0 to 64) has no lowering rule yet; write a literal, "
            "or a size or an integer parameter that is stated to be from 1 to 1048576; the reference "
            "backend computes it"
        ),
    ),
)
