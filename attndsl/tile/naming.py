"""Names that programs and generated text share."""

from __future__ import annotations

from attndsl.base.reserved_names import plain


def camel(name: str) -> str:
    """``attn_mask`` as ``attnMask``: letters and digits of ASCII, a letter first."""
    head, *rest = [part for part in plain(name).split("_") if part] or ["n"]
    head = head if head[0].isalpha() else f"n{head}"
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def list_member(tensor: str) -> str:
    """The member of a kernel that decodes a list of tensors."""
    return f"{camel(tensor)}List_"


def gm_member(tensor: str) -> str:
    """The member of a kernel that holds a global tensor."""
    return f"{camel(tensor)}Gm_"
