"""Which names generated code may use: ASCII, and nobody else's.

Keywords of C++ and Python, types and macros of AscendC's, CANN's and the system's headers, and what generated
code is written in itself are taken.
"""

from __future__ import annotations

import re
from functools import lru_cache

_CXX_WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t
    class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
    decltype default delete do double dynamic_cast else enum explicit export extern false final float for
    friend goto if import inline int long module mutable namespace new noexcept not not_eq nullptr operator
    or or_eq override private protected public register reinterpret_cast requires restrict return short signed
    sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef
    typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
_PYTHON_WORDS = """
    False None True as assert async await def del elif except finally from global in is lambda nonlocal pass
    raise with yield self
"""
# Types, namespaces and macros of headers; macros in capitals have a rule of their own.
_HEADER_WORDS = """
    AscendC aicore at c10 c10_npu errno alloca assert ge gert half bfloat16_t int8_t
    uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t size_t likely linux npu optiling ops offsetof
    platform_ascendc std stderr stdin stdout torch torch_npu unix unlikely abs max min isnan isinf
"""
# What generated functions, classes and modules call their own things where names of a spec stand beside them.
_OWN_WORDS = """
    attndsl block_idx block_num main options tiling tiling_key workspace
    Addresses Allocate Call DataType Plan PlanStatus Problem Recipe Size Sizes Status Tensor TensorList
    T Key kernel chosen Check IsMeasured Measure ReadCall Reader Require ResolveLists ResultShape ResultShapes
    Run RunOnMeta RunOnNpu CopyToDevice DeviceShare SetAlone ShareOf kDevice kOperator FromTorch ToTorch
    MakeList MakeTensor NumberOf Numbered RunCall ToAcl
    allocate alone alone_on_device bytes call copy cores data device executor guard known library load memory
    reader refused share
    numberedLanes sample shapes sizes solver status validLists
    stream values warnings workspaceSize warning error available importlib os why Path
"""
_TAKEN = frozenset(" ".join([_CXX_WORDS, _PYTHON_WORDS, _HEADER_WORDS, _OWN_WORDS]).split())
# Macros are in capitals; a few of the system's are not quite. Functions of CANN's runtime begin with acl.
_PATTERNS = re.compile(r"[A-Z][A-Z0-9_]{2,}|M_[A-Z0-9_]+\w*|(si|sa|sched|pthread|sigev)_\w+|acl[A-Zrn]\w*")


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """A name with ``uXXXX`` for what is no letter, digit or ``_`` of ASCII; no ``__``."""
    text = "".join(c if re.fullmatch(r"[A-Za-z0-9_]", c) else f"u{ord(c):04x}" for c in name)
    return re.sub(r"__+", "_", text)


def is_taken(name: str) -> bool:
    """Whether a name is a keyword, a type or macro of headers, or one that generated code has for itself."""
    return name in _TAKEN or (not name.endswith("_") and _PATTERNS.fullmatch(name) is not None)
