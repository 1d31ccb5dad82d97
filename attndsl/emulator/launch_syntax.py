"""Kernel launches in C++ text: found, rewritten as ordinary calls, and the kernels they start."""

from __future__ import annotations

import re
from dataclasses import dataclass

from attndsl.emulator.errors import LaunchError

_TOKEN = re.compile(
    r"""//(?:\\\n|[^\n])*          # line comment, continued lines included
      | /\*.*?(?:\*/|\Z)          # block comment
      | R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
      | "(?:\\.|[^"\\\n])*"
      | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'
    """,
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE)
_ENTRY = re.compile(r"\b__global__\b")
_NAME_BEFORE_PARENTHESIS = re.compile(r"(?:__\w+__[ \t]*\([^()]*\)|[^;{}()#])*?\b(?!__)(\w+)\s*\(")
_MIX = re.compile(r"__mix__\s*\(\s*(\d)\s*,\s*(\d)\s*\)")
_PACKED_LAUNCH = re.compile(r"\bACLRT_LAUNCH_KERNEL\s*\(\s*(\w+)\s*\)|\baclrtlaunch_(\w+?)\b(?!\.h)")
_CUBE_API = re.compile(
    r"\b(Mmad|LoadData\w*|Fixpipe|Matmul\w*|MatmulImpl|ASCEND_IS_AIC|ASCEND_IS_NOT_AIC|CrossCoreSetFlag)\b"
)
_VECTOR_API = re.compile(
    r"\b(VECIN|VECOUT|VECCALC|ASCEND_IS_AIV|Hardware::UB|ASCEND_IS_NOT_AIV|Iterate(?:All|Batch|NBatch))\b"
)

# Places in KernelMetaType
_AIV_ONLY, _AIC_ONLY = 0, 1
_MIXES = {(0, 1): 2, (1, 0): 3, (1, 1): 4, (1, 2): 5}


def mask(text: str, *, keep_strings: bool = False) -> str:
    """The text with comments and the insides of literals blank, every character at its old place."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if found[0] == "/":
            return re.sub(r"[^\n]", " ", found)
        return found if keep_strings else found[0] + re.sub(r"[^\n]", " ", found[1:-1]) + found[-1]

    return _TOKEN.sub(blank, text)


def includes(text: str) -> list[tuple[int, int, bool, str]]:
    """Each include directive outside comments: start and end of its path, whether quoted, the path."""
    code = mask(text, keep_strings=True)
    return [(m.start(2), m.end(2), m.group(1) == '"', m.group(2)) for m in _INCLUDE.finditer(code)]


def has_launch(text: str) -> bool:
    """Whether the text launches a kernel by ``<<<...>>>``."""
    return "<<<" in text and "<<<" in mask(text)


def _start_of_name(code: str, end: int) -> int:
    """Where the kernel's name before ``<<<`` begins: identifiers joined by ``::``, template arguments."""
    at = len(code[:end].rstrip())
    if at and code[at - 1] == ">":
        depth = parentheses = 0
        while at:
            at -= 1
            parentheses += {")": 1, "(": -1}.get(code[at], 0)
            if not parentheses:
                depth += {">": 1, "<": -1}.get(code[at], 0)
            if depth == 0 and not parentheses:
                break
        at = len(code[:at].rstrip())
    # a kernel of a template may be named by "template": ns::template kernel<T>
    found = re.search(r"(?:(?:::)?\s*\w+\s*(?:::\s*(?:template\s+)?\w+\s*)*)\Z", code[:at])
    if not found or not found.group().strip():
        line = code.count("\n", 0, end) + 1
        raise LaunchError(f"line {line}: no kernel name stands before '<<<'")
    start = found.start() + len(found.group()) - len(found.group().lstrip())
    if code[start:at].startswith("return") and not code[start + 6 : start + 7].isidentifier():
        start += 6 + len(code[start + 6 : at]) - len(code[start + 6 : at].lstrip())
    return start


def _end_of_configuration(code: str, start: int) -> int:
    depth = 0
    for at in range(start, len(code)):
        if depth == 0 and code.startswith(">>>", at):
            return at
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[at], 0)
        if depth < 0 or (code[at] == ";" and depth == 0):
            break
    line = code.count("\n", 0, start) + 1
    raise LaunchError(f"line {line}: '<<<' has no matching '>>>'")


def rewrite_launches(text: str) -> str:
    """Every ``kernel<<<blocks, l2ctrl, stream>>>(args)`` as a call, on the lines it stood.

    Raises `LaunchError` where ``<<<`` has no kernel name before it or no ``>>>`` behind it.
    """
    code = mask(text)
    pieces: list[str] = []
    done = 0
    while (opening := code.find("<<<", done)) >= 0:
        start = max(_start_of_name(code, opening), done)
        closing = _end_of_configuration(code, opening + 3)
        name = text[start:opening]
        last = re.findall(r"\w+", re.sub(r"\s*<.*", "", name, flags=re.DOTALL))[-1]
        pieces += [
            text[done:start],
            f'::attnemu::prepare_launch("{last}", [&](auto... attnemu_a) {{ {name}(attnemu_a...); }}, ',
            text[opening + 3 : closing],
            ")",
        ]
        done = closing + 3
    return "".join(pieces) + text[done:]


def packed_launches(text: str) -> list[str]:
    """Kernels that the text launches by ``ACLRT_LAUNCH_KERNEL`` or ``aclrtlaunch_<kernel>``."""
    code = mask(text)
    return sorted({m.group(1) or m.group(2) for m in _PACKED_LAUNCH.finditer(code)})


@dataclass(frozen=True)
class KernelText:
    """A kernel's definition or declaration as found in the text."""

    name: str
    kind: int | None
    """Place in `attndsl.emulator.KINDS` that its attributes say; None when they say nothing."""
    defined: bool = True
    """Whether the text has its body, not only a declaration."""


def kernels(text: str) -> list[KernelText]:
    """The functions marked ``__global__``, with the core kinds that their attributes name."""
    code = mask(text)
    found: dict[str, KernelText] = {}
    for match in _ENTRY.finditer(code):
        named = _NAME_BEFORE_PARENTHESIS.match(code, match.end())
        if named is None:
            continue
        before = max(code.rfind(stop, 0, match.start()) for stop in ";{}#")
        head = code[before + 1 : named.start(1)]
        kind: int | None = None
        mix = _MIX.search(head)
        if mix:
            kind = _MIXES.get((int(mix.group(1)), int(mix.group(2))))
        elif "__vector__" in head:
            kind = _AIV_ONLY
        elif "__cube__" in head:
            kind = _AIC_ONLY
        known = found.get(named.group(1))
        defined = _has_body(code, named.end()) or (known is not None and known.defined)
        if known is not None and known.kind is not None:
            kind = known.kind
        found[named.group(1)] = KernelText(named.group(1), kind, defined)
    return list(found.values())


def _has_body(code: str, start: int) -> bool:
    """Whether a body follows the parameters, whose opening parenthesis ends at `start`."""
    depth = 1
    for at in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return code[at + 1 :].lstrip().startswith("{")
    return False


def guessed_kind(texts: list[str]) -> int:
    """The kind of a kernel that says nothing, from the interfaces its program uses.

    As the official compiler infers it from the instructions: vector alone, cube alone, or one cube and two
    vector cores a block when both are in use.
    """
    code = [mask(text) for text in texts]
    cube = any(_CUBE_API.search(part) for part in code)
    vector = any(_VECTOR_API.search(part) for part in code)
    return _MIXES[1, 2] if cube and vector else _AIC_ONLY if cube else _AIV_ONLY
