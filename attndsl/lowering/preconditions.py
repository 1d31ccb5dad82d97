"""What a graph must satisfy beyond its shape to be lowered: a table of rules that name what is not covered.

Whatever the lowering takes for granted stands here, so that a spec outside it is refused with its line and
never compiled into something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr
from attndsl.expr.argument_facts import split_of
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.keys.channel_quantization import AXES, CHANNELS, absorbed_forms, axes_read, has_channels
from attndsl.lowering.masks.mask_kind import KnownNumbers
from attndsl.lowering.masks.mask_rules import mask_kind
from attndsl.lowering.match.computation import Attention, Computation
from attndsl.lowering.match.padded_queries import pads_rows
from attndsl.lowering.match.resolve_schedule import resolve
from attndsl.lowering.match.schedule_options import GRANULE
from attndsl.lowering.match.stored_inputs import stored_in, stored_node
from attndsl.lowering.results.epilogue_rules import EPILOGUE_RULES
from attndsl.lowering.selection.selection_buffers import KEPT
from attndsl.lowering.signature.stated_ranges import stated_ranges
from attndsl.lowering.signature.tensor_layouts import legal_layouts
from attndsl.lowering.signature.window_bounds import MOST_CARRIED, parameter_ranges, range_of, window_limits
from attndsl.spec.contract.arguments import OutputSpec, TensorSpec
from attndsl.spec.contract.contract import Contract
from attndsl.spec.contract.layout import Layout
from attndsl.spec.contract.split import BATCH, rows_from_end
from attndsl.target import Architecture
from attndsl.tile.instructions.units import block_elements

# The io dtypes that cube and vector instructions of the lowering take.
IO_DTYPES = ("float16", "bfloat16", "int8")
_TILES = (64, 128)
_BLOCK_LANES = block_elements("float32")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A recognized computation with the declarations it came from.

    ``layouts``: the layouts that each tensor, results included, can have in this specialization.
    ``head_sizes``: those of queries and values that it is made for.
    """

    operator: Contract
    computation: Computation
    dtype: str
    layouts: dict[str, tuple[Layout, ...]]
    head_sizes: tuple[int, int]


def candidate(
    operator: Contract,
    computation: Computation,
    dtype: str,
    present: frozenset[str],
    settings: Mapping[str, Any] | None = None,
    *,
    head_sizes: tuple[int, int],
) -> Candidate:
    """What the lowerability rules look at."""
    passed = [spec for spec in operator.tensors if spec.name in present]
    layouts = {spec.name: legal_layouts(spec, present, settings) for spec in passed}
    for output in operator.outputs:
        layouts[output.name] = tuple(output.layout(layout.key) for layout in layouts[output.like])
    return Candidate(operator, computation, dtype, layouts, head_sizes)


def largest_head(architecture: Architecture) -> int:
    """Largest padded head size: the distance of two fp32 rows is a repeat stride."""
    return architecture.max_repeat_stride * _BLOCK_LANES // architecture.fractal * architecture.fractal


_SELECTION = (
    "of packed queries a selection is p.window_sum(...).sum_over_group().top(...), with a mask in bytes over "
    "(Q, J) for blocks that are forced"
)
Finding = tuple[str, SourceLine] | tuple[str, SourceLine, str]
"""What is not covered, where it is asked for, and perhaps what an author can write."""
Rule = Callable[[Candidate], Iterator[Finding]]


def check_lowerable(candidate: Candidate) -> None:
    """Refuse what the lowering would not compute as the graph says.

    Raises:
        NotLowered: the first rule that does not hold.
    """
    for rule in RULES:
        for what, where, *instead in rule(candidate):
            raise NotLowered(what, where, *instead)


def the_cube_takes_the_io_dtype(c: Candidate) -> Iterator[Finding]:
    """Probabilities are stored in the io dtype, that of the first result's model, and multiplied on the
    cube."""
    if c.dtype not in IO_DTYPES:
        first, queries = c.operator.outputs[0], sorted(_queries(c))
        if queries and first.like not in queries:
            what = f"result {first.name} like '{first.like}', in {c.dtype}"
            yield f'{what} (write like={queries[0]}, dtype="{c.dtype}")', first.where
        what = f"io dtype {c.dtype} (kernels take {' and '.join(IO_DTYPES)})"
        yield what, c.computation.output.where, 'declare the query with dtype=("float16", "bfloat16")'


def rows_fit_an_instruction(c: Candidate) -> Iterator[Finding]:
    """Vector instructions step from row to row."""
    most = largest_head(c.operator.device.architecture)
    if max(c.head_sizes) > most:
        what = f"head size {max(c.head_sizes)} (kernels take up to {most})"
        yield (
            what,
            c.computation.output.where,
            f"state op.require(size <= {most}, text) where no call has larger ones",
        )


def int8_probabilities_have_keys_side_by_side(c: Candidate) -> Iterator[Finding]:
    """Probabilities in int8 blocks are of keys side by side, and items of selected blocks may be split."""
    for attention in c.computation.attentions:
        if attention.selected is not None and attention.requantize is not None:
            what = "probabilities in int8 of keys in selected blocks"
            yield what, attention.requantize.where, "multiply probabilities of the io dtype with the values"


def padding_is_added_last(c: Candidate) -> Iterator[Finding]:
    """Padded positions are zeros in the result itself: nothing after may make other numbers of them."""
    padded = False
    for node in c.computation.epilogue:
        rule = EPILOGUE_RULES.get(type(node))
        if padded and (rule is None or not rule.keeps_zeros(node)):
            yield f"{type(node).__name__} behind the zeros of padded positions", node.where
        padded = padded or isinstance(node, nodes.Replace)


def statistics_are_fp32(c: Candidate) -> Iterator[Finding]:
    """A statistic leaves as it was computed."""
    for output in c.computation.statistics:
        if _spec(c, output).dtype != "float32":
            what = f"output '{output.name}' of row statistics in the dtype of '{_spec(c, output).like}'"
            yield f'{what} (write dtype="float32")', output.where


def repeated_statistics_have_a_block_of_copies(c: Candidate) -> Iterator[Finding]:
    """A statistic leaves as one number a row, or as one block of equal ones."""
    copies = c.operator.axis_extents.get("L")
    for output in c.computation.statistics:
        if "L" in output.axes and (copies is None or not copies.same(Const(_BLOCK_LANES))):
            what = f"output '{output.name}' of other than {_BLOCK_LANES} copies"
            yield f"{what} (leave .repeated() out for one number a row)", output.where


def statistics_are_not_of_padded_positions(c: Candidate) -> Iterator[Finding]:
    """Only the main result is padded: zeros are written for it after the last query of a batch row, and
    nothing for row statistics."""
    padded = any(pads_rows(node) for node in c.computation.epilogue)
    for output in c.computation.statistics if padded else ():
        yield (
            f"output '{output.name}' of row statistics where positions are padded",
            output.where,
            "leave the statistics out, or pack the positions: attend.packed(query, ...)",
        )


def selections_sum_windows_over_groups(c: Candidate) -> Iterator[Finding]:
    """Packed queries select blocks by window sums of probabilities, summed over each group."""
    if c.computation.selection is None:
        return
    output, node = c.computation.selection, c.computation.selection.source
    assert isinstance(node, nodes.TopK)
    summed = isinstance(node.source, nodes.GroupSum) and isinstance(node.source.source, nodes.WindowSum)
    if not summed or not isinstance(node.source.source.source, nodes.Softmax):  # type: ignore[attr-defined]
        yield f"'{output.name}', no selection by window sums over groups", node.where, _SELECTION
    elif not isinstance(c.computation.attentions[0].query, nodes.PackedQueries):
        yield f"'{output.name}' for queries that are not packed", node.where, _SELECTION
    mask = node.forced
    if mask is not None and not _is_mask(c, mask, ("Q", "J")):
        yield f"'{output.name}' with forced blocks that are no byte mask over (Q, J)", node.where, _SELECTION
    if _spec(c, output).dtype != "int32":
        yield f"'{output.name}' of other than int32", output.where, 'write dtype="int32"'


def windows_are_short(c: Candidate) -> Iterator[Finding]:
    """Windows reach back into one tile of keys, and no more blocks are selected than are kept."""
    for node in c.computation.selection.walk() if c.computation.selection else ():
        ranges = parameter_ranges(c.operator)
        if isinstance(node, nodes.WindowSum) and window_limits(node, ranges) is None:
            yield (
                f"window sums that may have more than {MOST_CARRIED} terms, or three counts",
                node.where,
                "bound their parameters by ge= and le=",
            )
        if isinstance(node, nodes.TopK) and range_of(node.count, ranges)[1] > KEPT.value:
            yield (
                f"a selection of more than {KEPT.value} blocks",
                node.where,
                f"bound its count by le={KEPT.value}",
            )


def selections_see_all_keys(c: Candidate) -> Iterator[Finding]:
    """A selection walks all keys of a batch row, from its first on."""
    if c.computation.selection is None:
        return
    attention = c.computation.attentions[0]
    for node in attention.factors[:1]:
        yield (
            "a selection beside probabilities that are multiplied before they meet values",
            node.where,
            "multiply the result, or write an operator for each",
        )
    if not isinstance(attention.keys, nodes.Packed):
        yield (
            f"a selection from {type(attention.keys).__name__} keys",
            attention.keys.where,
            "selections are from attend.packed(key, ...)",
        )
    known = _known_numbers(c)
    for node in attention.modifiers:
        if not isinstance(node, nodes.Replace):
            continue
        kind = mask_kind(node, known)
        if kind.visible(node, known) is not None:
            yield (
                f"a selection under {kind.name}, which skips keys",
                node.where,
                "declare a mask in bytes over (Q, T)",
            )


def heads_of_a_selection_fit_one_core(c: Candidate) -> Iterator[Finding]:
    """The heads that are added are rows of one vector core, in all calls within the limits of the target."""
    selection = c.computation.selection
    if selection is None:
        return
    device = c.operator.device
    schedule = resolve(c.operator.schedule_choices, device, c.operator.schedule_lines)
    most = schedule.rows_per_core(device.architecture)
    heads, shared = c.operator.axis_extents["N"], c.operator.axis_extents["K"]
    names = {str(heads), str(shared)}
    rules = [each for each in c.operator.constraints if each.symbols() and each.symbols() <= names]
    for group in (*range(most + 1, 4 * most + 1), 8 * most, 64 * most):
        call = {str(heads): group, str(shared): 1}
        if not any(rule.violation(call) for rule in rules):
            yield (
                f"a selection over groups of {group} heads, of more than {most}",
                selection.where,
                f"state op.require({heads} <= {most} * {shared}, text)",
            )
            return


def probabilities_have_the_io_dtype(c: Candidate) -> Iterator[Finding]:
    """Probabilities are multiplied in the io dtype: through int8 exactly where values are int8."""
    for attention in c.computation.attentions:
        node = attention.requantize
        if node is None and c.dtype == "int8":
            yield (
                "int8 values whose probabilities do not pass through int8",
                attention.where,
                "write attend.requantize(p, ...) @ values, or declare the query in float16 or bfloat16",
            )
        if node is not None and c.dtype != "int8":
            yield (
                f"probabilities through int8 for {c.dtype} values",
                node.where,
                "multiply the probabilities as they are: p @ values",
            )


def integers_are_multiplied_in_fp16(c: Candidate) -> Iterator[Finding]:
    """Where keys or values are quantized, the cube multiplies everything in fp16.

    So others have to be fp16, too. Queries absorb the scale of keys as they are stored.
    """
    rows = [(a, each) for a in c.computation.attentions for each in (a.keys, a.values)]
    quantized = [any(isinstance(node, nodes.Dequantize) for node in each.walk()) for _, each in rows]
    for (attention, each), is_quantized in zip(rows, quantized, strict=True):
        if any(quantized) and not is_quantized and c.dtype != "float16":
            instead = "let all keys and values be attend.dequantize(...), or declare the query in float16"
            yield f"{c.dtype} rows beside rows of integers that stand for numbers", each.where, instead
        if is_quantized and c.dtype == "int8":
            what = "int8 queries of keys or values that stand for other numbers"
            yield what, each.where, "declare the query in float16 or bfloat16"
        if is_quantized and any(isinstance(node, nodes.Cast) for node in attention.query.walk()):
            what = "queries that are rounded before they meet dequantized rows"
            yield (
                what,
                attention.query.where,
                "multiply the scores instead: attend.scores(query, ...) * scale",
            )


def scales_are_of_channels_or_heads(c: Candidate) -> Iterator[Finding]:
    """Queries and weighted sums absorb scales and offsets, so that those are the same for all keys."""
    for attention in c.computation.attentions:
        found = (node for rows in (attention.keys, attention.values) for node in rows.walk())
        for node in (each for each in found if isinstance(each, nodes.Dequantize)):
            for factor in (node.scale, node.offset):
                yield from _not_absorbed(c, node, factor) if factor is not None else ()


def _not_absorbed(c: Candidate, node: nodes.Dequantize, factor: nodes.Node) -> Iterator[Finding]:
    spec = c.operator.tensor(stored_in(factor)[0].name)
    beyond = [axis for axis in nodes.AXIS_ORDER if axis in axes_read(factor) - AXES]
    channels = next(axis for axis in node.axes if axis in CHANNELS)
    if beyond:
        what = f"attend.dequantize by {spec.name}, which differs along {' and '.join(beyond)},"
        yield what, node.where, absorbed_forms(node, factor, channels)
    elif not has_channels(factor) and spec.dtypes != ("float32",):
        what = f"attend.dequantize by {spec.name} of dtype {', '.join(spec.dtypes)}, one number a head,"
        yield (
            what,
            node.where,
            f'declare it with dtype="float32", or with a number for each channel, "K {channels}"',
        )


def blocks_are_tiles(c: Candidate) -> Iterator[Finding]:
    """Probabilities pass through int8 tile by tile, and tiles begin where blocks do.

    Keys that no row sees are skipped in granules, of which a block must be a part.
    """
    blocks = {str(each.requantize.block): each for each in c.computation.attentions if each.requantize}
    for attention in blocks.values():
        node = attention.requantize
        assert node is not None
        block = node.block.value if isinstance(node.block, Const) else 0
        legal = [size for size in _TILES if GRANULE % size == 0]
        if block not in legal:
            sizes = " or ".join(str(size) for size in legal)
            yield (
                f"probabilities through int8 in blocks of {node.block} keys (not {sizes})",
                node.where,
                f"write a block of {sizes}",
            )
        if len(blocks) > 1:
            yield (
                "attentions with other blocks of probabilities",
                node.where,
                "give all of them the same block",
            )
        if getattr(attention.keys, "start", None) is not None:
            yield (
                "probabilities through int8 of keys behind a first one",
                node.where,
                "let rows begin with the first",
            )


def one_attention_has_effects(c: Candidate) -> Iterator[Finding]:
    """What is done once for the whole call belongs to the only attention."""
    for attention in c.computation.attentions if len(c.computation.attentions) > 1 else ():
        if any(isinstance(node, nodes.Cast) for node in attention.query.walk()):
            yield (
                "queries that are scaled for one of several attentions",
                attention.query.where,
                "scale the scores, as in attend.scores(query, keys) * scale",
            )
        for node in (inner for rows in (attention.keys, attention.values) for inner in rows.walk()):
            if isinstance(node, nodes.CacheAppend):
                yield (
                    "a cache that one of several attentions appends to",
                    node.where,
                    "let an operator before this one append",
                )


def offsets_need_row_sums(c: Candidate) -> Iterator[Finding]:
    """The offset of quantized values is added as often as probabilities sum up to."""
    for attention in c.computation.attentions:
        if attention.softmax is None or attention.factors:
            for node in attention.values.walk():
                if isinstance(node, nodes.Dequantize) and node.offset is not None:
                    plain = attention.softmax is None
                    what = "are no softmax" if plain else "are probabilities times numbers"
                    instead = "store values whose offset is 0: attend.dequantize(value, scale)"
                    yield f"values with an offset under weights that {what}", node.where, instead


def sinks_reach_all_rows(c: Candidate) -> Iterator[Finding]:
    """Rows that name no tensor of a list have no item in which their sink could be counted."""
    for attention in c.computation.attentions:
        softmax = attention.softmax
        if softmax is not None and softmax.sink is not None and not attention.reaches_all_rows:
            yield (
                "a sink of rows that may name no tensor of a list",
                softmax.where,
                "give the sink to a softmax whose rows all have keys, which is merged with this one",
            )


def earlier_partials_meet_all_rows(c: Candidate) -> Iterator[Finding]:
    """They are merged into the rows of an item; and their rows are read in one dtype."""
    for attention in c.computation.attentions:
        for partial in attention.earlier:
            if not attention.reaches_all_rows:
                yield (
                    "an earlier partial of rows that may name no tensor of a list",
                    partial.where,
                    "merge it with an attention whose rows all have keys",
                )
            if not isinstance(partial.out, nodes.Input):
                instead = "pass its rows as they are, and compute with what attend.merge(...) gives"
                yield "an earlier partial whose rows are computed", partial.where, instead
                continue
            spec = c.operator.tensor(partial.out.name)
            own = spec.name in _queries(c) or spec.follows or spec.dtypes == ("float32",)
            if not own:
                what = f"{spec.name} of several dtypes ({', '.join(spec.dtypes)})"
                yield what, partial.where, 'declare it with the dtype of the query or "float32"'


def rows_are_contiguous(c: Candidate) -> Iterator[Finding]:
    """The last axis of every tensor is contiguous in all its layouts."""
    stored = (node for node in _inputs(c) if node.axes and node.name in c.layouts)
    wanted = [(node.name, _channels(node.axes), node.where) for node in stored]
    output = c.computation.output
    wanted.append((output.name, output.axes[-1], output.where))
    for name, axis, where in wanted:
        for layout in c.layouts[name]:
            stride = layout.strides().get(axis)
            if stride is None or not _is_one(stride):
                what = f"{name} in layout '{layout.text}', whose axis {axis} is not contiguous,"
                yield what, where, f"let axis {axis} be the last of the layout"


def lists_are_told_apart(c: Candidate) -> Iterator[Finding]:
    """A kernel reads one tensor or a list, so that the computation has to ask which."""
    for node in _inputs(c):
        if (
            c.operator.tensor(node.name).split
            and split_of(node.name).name not in c.operator.specialization_parameters
        ):
            yield (
                f"{node.name}, one tensor or a list, without attend.when({node.name}.split, ...)",
                node.where,
                "write attend.when(...) with a source for each",
            )


def tensors_of_a_list_tell_their_rows(c: Candidate) -> Iterator[Finding]:
    """Kernels read from the shape of a tensor how many rows of its own it has."""
    for node in (node for node in c.computation.output.walk() if isinstance(node, nodes.Listed)):
        for each in (each for each in node.tensors.walk() if isinstance(each, nodes.Input)):
            for layout in c.layouts[each.name] if c.operator.tensor(each.name).split else ():
                if BATCH in layout.roles and rows_from_end(layout) is None:
                    what = f"{each.name} as a list of tensors '{layout.text}', whose rows share a dimension"
                    yield what, node.where


def _channels(axes: tuple[str, ...]) -> str:
    """The axis of channels, or the last one."""
    return next((axis for axis in axes if axis in ("D", "E")), axes[-1])


def tensors_have_the_io_dtype(c: Candidate) -> Iterator[Finding]:
    """Floating-point tensors have the dtype of the query, or fp32 where the cube does not multiply them."""
    multiplied, queries = frozenset(_rows_of_keys(c)), _queries(c)
    for node in _inputs(c):
        spec = c.operator.tensor(node.name)
        if spec.dtypes == ("float32",) and node.name not in multiplied:
            continue
        same = len(spec.dtypes) == 1 and all(c.operator.tensor(q).dtypes == spec.dtypes for q in queries)
        if not (same or spec.dtype_like or _is_bytes(spec) or spec.name in queries or spec.indexed):
            kept = 'dtype="float32"' if _of_rows(node.axes) else f"dtype={min(queries)}, as the query"
            if node.name not in multiplied and not _of_rows(node.axes):
                kept += ', or with dtype="float32" alone'
            what = f"{node.name} in a dtype other than the query's ({', '.join(spec.dtypes)})"
            yield what, node.where, f"declare it with {kept}"


def _rows_of_keys(c: Candidate) -> Iterator[str]:
    """Tensors with rows of channels for keys; scales of channels have no rows."""
    for attention in c.computation.attentions:
        found = (inner for rows in (attention.keys, attention.values) for inner in rows.walk())
        for node in (each for each in found if isinstance(each, nodes.Input)):
            axes = set(node.axes)
            if axes & {"D", "E"} and not axes <= {"B", "C", "N", "K", "D", "E"}:
                yield node.name


def _of_rows(axes: nodes.Axes) -> bool:
    """Whether a tensor has one number for each row or head."""
    return not {"T", "D", "E"} & set(axes)


def integers_stand_for_numbers(c: Candidate) -> Iterator[Finding]:
    """Rows of integers beside floating-point queries are dequantized, whatever source they are read from."""
    for attention in c.computation.attentions if c.dtype != "int8" else ():
        for stored in _stored_rows(attention):
            if _is_bytes(_of(c, stored)):
                what = f"{stored.name} of dtype {', '.join(stored.dtypes)} beside queries of {c.dtype}"
                yield what, stored.where, f"write attend.dequantize({stored.name}, scale) for what it is"


def _stored_rows(attention: Attention) -> Iterator[nodes.Input]:
    """The tensors whose elements are the numbers of key rows and value rows as they are."""
    found = (node for rows in (attention.keys, attention.values) for node in rows.walk())
    for node in (stored_node(each) for each in found if isinstance(each, nodes.Rows)):
        if node is not None and not isinstance(node, nodes.Dequantize):
            yield stored_in(node)[0]


def _of(c: Candidate, node: nodes.Input) -> TensorSpec:
    return c.operator.tensor(node.name)


def results_have_the_io_dtype_or_fp32(c: Candidate) -> Iterator[Finding]:
    """The result has the dtype of the query, or stays the fp32 that rows are computed in."""
    output = _spec(c, c.computation.output)
    if output.dtype not in ("", "float32"):
        what = f"result {output.name} of dtype {output.dtype} (leave dtype out for that of '{output.like}'"
        yield f'{what}, or write dtype="float32")', c.computation.output.where
    rules = [EPILOGUE_RULES.get(type(node)) for node in c.computation.epilogue]
    wide = c.computation.output.dtype == "float32"
    if c.dtype == "int8" and not wide and not any(rule is not None and rule.rounds for rule in rules):
        yield f"result {output.name} in int8 that nothing rounds", c.computation.output.where


RULES: tuple[Rule, ...] = (
    int8_probabilities_have_keys_side_by_side,
    the_cube_takes_the_io_dtype,
    rows_fit_an_instruction,
    padding_is_added_last,
    statistics_are_fp32,
    repeated_statistics_have_a_block_of_copies,
    statistics_are_not_of_padded_positions,
    selections_sum_windows_over_groups,
    windows_are_short,
    selections_see_all_keys,
    heads_of_a_selection_fit_one_core,
    probabilities_have_the_io_dtype,
    integers_are_multiplied_in_fp16,
    scales_are_of_channels_or_heads,
    blocks_are_tiles,
    one_attention_has_effects,
    offsets_need_row_sums,
    sinks_reach_all_rows,
    earlier_partials_meet_all_rows,
    rows_are_contiguous,
    lists_are_told_apart,
    tensors_of_a_list_tell_their_rows,
    tensors_have_the_io_dtype,
    integers_stand_for_numbers,
    results_have_the_io_dtype_or_fp32,
)


def _known_numbers(c: Candidate) -> KnownNumbers:
    floats = frozenset(spec.name for spec in c.operator.params if spec.type is float)
    return KnownNumbers(floats, stated_ranges(c.operator), frozenset(c.operator.dims_by_name))


def _spec(c: Candidate, output: nodes.Output) -> OutputSpec:
    """The declaration of a result."""
    return next(each for each in c.operator.outputs if each.name == output.name)


def _inputs(c: Candidate) -> tuple[nodes.Input, ...]:
    """Every tensor that scores and weighted sums read, lengths and other integers aside."""
    found: dict[str, nodes.Input] = {}
    parts = [node for each in c.computation.attentions for node in (each.weights, each.values)]
    parts += [partial.out for each in c.computation.attentions for partial in each.earlier]
    for node in (inner for part in parts for inner in part.walk()):
        if isinstance(node, nodes.Input) and c.operator.tensor(node.name).kind == "tensor":
            found.setdefault(node.name, node)
    return tuple(node for node in found.values() if not _is_integer(c.operator.tensor(node.name)))


def _queries(c: Candidate) -> frozenset[str]:
    """The tensors whose dtype is the io dtype."""
    inputs = (node for attention in c.computation.attentions for node in attention.query.walk())
    return frozenset(node.name for node in inputs if isinstance(node, nodes.Input))


def _is_mask(c: Candidate, node: nodes.Node, axes: nodes.Axes) -> bool:
    return isinstance(node, nodes.Input) and node.axes == axes and _is_bytes(c.operator.tensor(node.name))


def _is_bytes(spec: TensorSpec) -> bool:
    return {"bool", "int8", "uint8"}.issuperset(spec.dtypes)


def _is_integer(spec: TensorSpec) -> bool:
    return {"int32", "uint32", "int64"}.issuperset(spec.dtypes)


def _is_one(extent: Expr) -> bool:
    return isinstance(extent, Const) and extent.value == 1
