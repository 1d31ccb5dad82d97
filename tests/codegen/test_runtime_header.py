"""A project's runtime header has the functions that its kernels call, and those that these call."""

from __future__ import annotations

import re

from attndsl.codegen.kernel.runtime_header import with_used_functions
from attndsl.codegen.text.render import runtime

HEADER = runtime("op_kernel/attndsl_kernel.h")
FUNCTION = re.compile(r"^    __aicore__ .*?\b(\w+)\($|^    __aicore__ [^(\n]*\b(\w+)\(", re.MULTILINE)


def functions(text: str) -> set[str]:
    return {one or other for one, other in FUNCTION.findall(text)}


def test_what_a_function_calls_stays_with_it() -> None:
    found = with_used_functions(HEADER, ["LoadNzOfAnyPitch(x);"])
    assert functions(found) == {"LoadNzOfAnyPitch", "LoadNz"}
    assert functions(with_used_functions(HEADER, ["LoadNz(x);"])) == {"LoadNz"}


def test_the_rest_of_the_header_stays() -> None:
    """Members, and the constants of the class."""
    found = with_used_functions(HEADER, [])
    assert functions(found) == set()
    assert "int64_t blockIndex_ = 0;" in found and "kAllCores" in found
    assert with_used_functions(HEADER, [" ".join(functions(HEADER))]) == HEADER


def test_each_function_has_a_comment_of_its_own() -> None:
    """So that one may be left out without what it says of another."""
    pieces = [piece for piece in HEADER.split("\n\n") if functions(piece)]
    assert all(len(functions(piece)) == 1 and "    // " in piece.split("__aicore__")[0] for piece in pieces)
    assert not re.search(r"// The same\b", HEADER)
