"""Whether the values of an attention are channels of its keys, as in MLA decoding: read once, used twice."""

from __future__ import annotations

from dataclasses import fields

from attndsl.expr import Expr
from attndsl.graph import nodes
from attndsl.lowering.match.computation import Attention


def reads_keys_again(attention: Attention) -> bool:
    """Whether its values are channels of its keys, as they are stored."""
    keys, values = (
        {each.name for each in rows.walk() if isinstance(each, nodes.Input)}
        for rows in (attention.keys, attention.values)
    )
    plain = not any(isinstance(each, nodes.Dequantize) for each in attention.keys.walk())
    return plain and values <= keys


def values_are_channels(attention: Attention) -> bool:
    """Whether its values are the first channels of its keys, row by row the same."""
    return reads_keys_again(attention) and _same_but_leading(attention.keys, attention.values)


def _same_but_leading(keys: object, values: object) -> bool:
    """Whether two graphs differ in nothing but that the second takes leading channels."""
    if keys is values:
        return True
    if isinstance(values, nodes.Leading) and not isinstance(keys, nodes.Leading):
        return _same_but_leading(keys, values.source)
    if isinstance(keys, Expr) and isinstance(values, Expr):
        return keys.same(values)
    if isinstance(keys, tuple) and isinstance(values, tuple):
        return len(keys) == len(values) and all(map(_same_but_leading, keys, values))
    if type(keys) is not type(values) or not isinstance(keys, nodes.Node):
        return bool(keys == values)
    if isinstance(keys, nodes.Input) and isinstance(values, nodes.Input):
        return keys.name == values.name
    told = (field.name for field in fields(keys) if field.name not in ("where", "axes"))
    return all(_same_but_leading(getattr(keys, name), getattr(values, name)) for name in told)
