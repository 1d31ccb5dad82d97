"""Names that programs and generated text share."""

from __future__ import annotations

from attndsl.base.reserved_names import plain


def camel(name: str) -> str:
    """``attn_mask`` as ``attnMask``: letters and digits of ASCII, a letter first."""
    head, *rest = [part for part in plain(name).split("_") if part] or ["n"]
    head = head if head[0].isalpha() else f"n{head}"
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def list_name(tensor: str) -> str:
    """A list of tensors among the names of a kernel."""
    return f"{camel(tensor)}List"


def global_name(tensor: str) -> str:
    """A tensor in global memory among the names of a kernel."""
    return f"{camel(tensor)}Gm"


def stage_name(stem: str, attention_name: str) -> str:
    """``LoadQueryForKeyShare``: what a stage does, and for which attention if there are several."""
    return f"{stem}For{attention_name}" if attention_name else stem
