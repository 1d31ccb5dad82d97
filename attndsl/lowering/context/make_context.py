"""From an attention of a computation to its context: its rows, keys and values are chosen here."""

from __future__ import annotations

from dataclasses import replace

from attndsl.expr import Const, Expr
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.inventory import Inventory
from attndsl.lowering.keys.key_source import KeySource
from attndsl.lowering.keys.source_rules import key_source
from attndsl.lowering.match.computation import Attention, Computation
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.lowering.rows.row_rules import row_space
from attndsl.lowering.signature.kernel_signature import KernelSignature
from attndsl.target import Device
from attndsl.tile.naming import camel


def attention_contexts(
    computation: Computation,
    signature: KernelSignature,
    schedule: Schedule,
    device: Device,
    inventory: Inventory,
) -> tuple[Context, ...]:
    """The context of each attention, in the computation's order; all fill one inventory.

    Raises:
        NotLowered: for queries, keys or values without a rule.
    """
    found = list[Context]()
    before: Expr | None = None
    for attention in computation.attentions:
        context = _context(computation, attention, signature, schedule, device, inventory)
        found.append(replace(context, items_before=before))
        before = context.items if before is None else before + context.items
    return tuple(found)


def _context(
    computation: Computation,
    attention: Attention,
    signature: KernelSignature,
    schedule: Schedule,
    device: Device,
    inventory: Inventory,
) -> Context:
    one_position = signature.extents.get("Q", Const(1)).same(Const(1))
    rows = row_space(computation, attention, one_position=one_position, max_rows=schedule.max_rows)
    keys = key_source(attention.keys, "key", rows.list_entry())
    values = key_source(attention.values, "value", rows.list_entry())
    quantized = keys.quantization is not None or values.quantization is not None
    return Context(
        signature=signature,
        computation=computation,
        attention=attention,
        schedule=schedule,
        device=device,
        inventory=inventory,
        where=computation.output.where,
        cube_dtype="float16" if quantized else signature.dtype,
        rows=rows,
        keys=keys,
        values=values,
        attention_name=_attention_name(computation, attention, keys),
    )


def _attention_name(computation: Computation, attention: Attention, keys: KeySource) -> str:
    """What tells an attention from others: its keys, and its number where another has the same."""
    if len(computation.attentions) == 1:
        return ""
    name = camel(keys.name)
    names = [key_source(each.keys, "key").name for each in computation.attentions]
    number = str(computation.attentions.index(attention) + 1) if names.count(keys.name) > 1 else ""
    return name[:1].upper() + name[1:] + number
