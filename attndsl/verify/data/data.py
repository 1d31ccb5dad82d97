"""Values for the tensors of a case, by what they are for in the computation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.expr.argument_facts import dtype_of, layout_of, split_of
from attndsl.graph.nodes import Cast, Paged, Selected, Softmax, WindowSum
from attndsl.graph.scores_factor import scores_factor
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import DTYPES, TensorSpec
from attndsl.spec.contract.layout import Array, Layout
from attndsl.spec.contract.split import is_single, one_row, row_extent
from attndsl.spec.errors import ShapeError
from attndsl.verify.data import probes
from attndsl.verify.data.attention import DEEPER, AttentionFiller
from attndsl.verify.data.integers import near_tiles
from attndsl.verify.data.masks import MaskFiller, few_forced, pattern
from attndsl.verify.space import argument_roles
from attndsl.verify.space.argument_roles import ArgumentRoles
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import (
    FEW_FORCED,
    FILL,
    LOST,
    MASK,
    PROBE,
    SLOPE,
    SUNK,
    TRUTH_FILLS,
    fill_of,
)

_EXTRA = (0, 0, 0, 2)
_EDGES = 0.5
_PLAIN = 0.3
"""Share of the factors that are powers of two."""
_GAINS = (-1.0, 0.5)
"""Logarithms of the sizes of factors of results, to base 2."""


@dataclass
class Filler:
    """Builds the arguments of one case. ``made``: tensors by name, as they are passed; at first the
    integers that were found for the assignment."""

    space: CaseSpace
    assignment: Mapping[str, Any]
    made: dict[str, Any]
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.env: dict[str, Any] = self.space.environment(self.assignment, self.made)
        self.present = frozenset(spec.name for spec in self.space.present(self.env))
        self.graph = self.space.operator.graph(self.present, self.env)
        self.roles: ArgumentRoles = argument_roles.roles_of(self.graph)
        self.probe = self.assignment[FILL] == PROBE
        if self.probe:
            self._sharpen()
        self.extents = {**dict.fromkeys("BNKQTUDEX", 1), **self.space.extents(self.env)}
        self.made = {name: rows.astype(DTYPES[self.dtype(name)]) for name, rows in self.made.items()}

    def _sharpen(self) -> None:
        """A scale with which the probe's weights are powers of two although queries are rounded."""
        name, queries = argument_roles.scale_parameter(self.graph), self.roles.named(argument_roles.QUERY)
        factor = self.factor()
        if name is None or not queries or not factor or self.dtype(queries[0]) == "int8":
            return
        step = probes.step(factor, self.dtype(queries[0]))
        if step < probes.LARGEST[self.dtype(queries[0])]:
            self.env[name] *= math.log(2.0) / (step * abs(factor))

    def arguments(self) -> dict[str, Any]:
        """All arguments by name.

        Raises:
            CallError: no legal values were found for some tensor.
        """
        AttentionFiller(self, self.outline()).fill()
        return self._spelled()

    def outline(self) -> Call:
        """The call with zeros for what attention reads; whether it is legal, and its work, show in it.

        Raises:
            CallError: no legal values were found for some tensor.
        """
        self._integers()
        self._factors()
        self._masks()
        return self._draft()

    def result_elements(self) -> int:
        """Elements of all results together."""
        specs = {spec.name: spec for spec in self.space.operator.outputs}
        found = 0
        for output in self.graph.outputs:
            spec = specs[output.name]
            layout = spec.layout(self.env[layout_of(spec.like).name])
            found += math.prod(int(size.evaluate(self.env)) for size in layout.shape())
        return found

    def largest_tensor(self) -> int:
        """Elements of the largest tensor, known before any is made; of a list those of one.

        Raises:
            ShapeError: a size that follows from others is negative.
        """
        shown = (spec.name for spec in self.space.operator.tensors if spec.layouts)
        return max((math.prod(self.shape(name)) for name in shown if name in self.present), default=0)

    def dtype(self, name: str) -> str:
        """The dtype of a tensor in this case."""
        return str(self.env[dtype_of(name).name])

    def layout(self, name: str) -> Layout:
        """The layout of a tensor in this case."""
        return self.space.operator.tensor(name).layouts[self.env[layout_of(name).name]]

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, of one of a list.

        Raises:
            ShapeError: a size that follows from others is negative.
        """
        found = tuple(int(size.evaluate(self.env)) for size in self.layout(name).shape())
        if any(size < 0 for size in found):
            raise ShapeError(f"{name} has no shape of these sizes, {found}")
        return found

    @property
    def key_tiles(self) -> tuple[int, ...]:
        """Keys in a tile of each schedule that kernels of the operator have."""
        return self.space.tiles

    @property
    def io(self) -> str:
        """The dtype of queries, or that of the results where those are integers."""
        queries = self.roles.named(argument_roles.QUERY)
        found = self.dtype(queries[0]) if queries else "float16"
        casts = [node.dtype for node in self.graph.nodes if isinstance(node, Cast) and node.dtype in DTYPES]
        return casts[-1] if found == "int8" and casts else found

    def factor(self) -> float:
        """What raw scores are multiplied by."""
        return scores_factor(self.graph, self.env)

    def _draft(self) -> Call:
        """The call with zeros for every tensor that has no values yet."""
        values = self._spelled(zeros=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.space.operator.bind(**values)

    def rows_counted(self) -> Array:
        """Keys of each batch row as the integers tell them, (B,)."""
        batch = self.extents["B"]
        for name, axis in self.space.measures.items():
            if axis == "T" and name in self.made:
                rows = np.asarray(self.made[name], np.int64).reshape(-1)
                rows = np.diff(rows, prepend=0) if name in self.space.summed else rows
                return np.broadcast_to(rows[-batch:], (batch,))
        return np.full(batch, self.extents["T"])

    # Spelling -----------------------------------------------------------------------------------------

    def _spelled(self, *, zeros: bool = False) -> dict[str, Any]:
        """The arguments as a caller writes them: integers as lists or arrays, choices by number or name."""
        operator = self.space.operator
        values: dict[str, Any] = {}
        for param in operator.params:
            value = self.env[param.name]
            names = [spelling for spelling, meant in param.choices.items() if meant == value]
            values[param.name] = names[self.number(param.name) % len(names)] if names else value
        for spec in operator.tensors:
            if spec.name in self.present:
                values[spec.name] = self._argument(spec, zeros)
        return values

    def _argument(self, spec: TensorSpec, zeros: bool) -> Any:
        made: Any = self.made.get(spec.name)
        if made is None:
            made = self._zeros(spec) if zeros else self._any(spec)
            if not zeros:
                self.made[spec.name] = made
        if spec.prefix_sums:
            return [int(each) for each in made]
        if spec.list_of is not None:
            return np.stack(made) if made and self.number(spec.name) % 5 == 4 else list(made)
        if isinstance(made, list):
            return list(made)
        if spec.kind == "tensor" and spec.name in self.space.measures:  # numbers of rows are drawn as int64
            return made.astype(DTYPES[self.dtype(spec.name)])
        if spec.kind == "lengths" and self.assignment.get(fill_of(spec.name)) in ("mixed", "edges"):
            return made.tolist()
        return [made] * spec.sequence_of if spec.sequence_of else made

    def number(self, name: str) -> int:
        """A number that is the same whenever it is asked for."""
        return sum(map(ord, name)) + len(self.assignment) + sum(self.extents.values())

    def _zeros(self, spec: TensorSpec) -> Any:
        if spec.split and self.env.get(split_of(spec.name).name):
            return self._entries(spec)
        shape = self.shape(spec.name) if spec.layouts else (1,)
        dtype = DTYPES[self.dtype(spec.name)]
        if spec.list_of is not None:
            return [np.zeros(shape, dtype) for _ in range(int(spec.list_of.evaluate(self.env)))]
        return np.zeros(shape, dtype)

    def _entries(self, spec: TensorSpec) -> list[Array]:
        """A list of one tensor a batch row: every other one has the rows that its keys need and no more."""
        layout, dtype = self.layout(spec.name), DTYPES[self.dtype(spec.name)]
        rows = np.full(self.extents["B"], self.extents["T"])
        rows[1::2] = np.clip(self.rows_counted()[1::2], 1, self.extents["T"])
        shape, varied = one_row(layout).shape(), row_extent(layout).name
        sizes = [{**self.env, varied: int(count)} for count in rows]
        found = [np.zeros([int(size.evaluate(env)) for size in shape], dtype) for env in sizes]
        heads = next(place for place, roles in enumerate(layout.dims) if not is_single(roles))
        return found if self.number(spec.name) % 2 else [each.reshape(each.shape[heads:]) for each in found]

    def _any(self, spec: TensorSpec) -> Array:
        """A tensor that no rule is for: standard normal, or small integers; logits that no key has, beside
        scores that are sunk by so much, as far down as these."""
        shape = self.shape(spec.name) if spec.layouts else (1,)
        dtype = DTYPES[self.dtype(spec.name)]
        if dtype.kind == "b":
            return self._truths(shape)
        if dtype.kind in "biu":
            return self.rng.integers(0, 2, shape).astype(dtype)
        drawn = self.rng.standard_normal(shape)
        is_sunk = self.assignment.get(FILL) == SUNK and SLOPE in self.assignment
        return (drawn - DEEPER if is_sunk and spec.name in self._sinks() else drawn).astype(dtype)

    def _sinks(self) -> set[str]:
        """The tensors of a softmax's logits that no key has."""
        sinks = (
            node.sink for node in self.graph.nodes if isinstance(node, Softmax) and node.sink is not None
        )
        return {argument_roles.input_name(sink) for sink in sinks}

    def _truths(self, shape: tuple[int, ...]) -> Array:
        """Elements of conditions: by the case's masks all, none, the first or the last of each row; else few,
        some or most, so that masks by blocks hide tiles, too."""
        kind = self.assignment.get(MASK)
        if kind in TRUTH_FILLS and all(shape):
            return ~pattern(self.rng, str(kind), shape)
        return np.asarray(self.rng.random(shape) < self.rng.choice([0.05, 0.5, 0.9]))

    # Integers that are no lengths -----------------------------------------------------------------------

    def _integers(self) -> None:
        count = self.rows_counted()
        for name in self.roles.named(argument_roles.START):
            if name in self.made or self.space.operator.tensor(name).kind == "lengths":
                continue
            room = self.extents["T"] - int(count.max(initial=0))
            padding = int(self.rng.choice([0, room, room // 2, -3, room + 1]))
            self.made[name] = np.full(self.shape(name), padding, DTYPES[self.dtype(name)])
        for name in self.roles.named(argument_roles.LIMIT):
            if name not in self.made and not self._is_looked_at(name):
                self.made[name] = self._limits(name)
        for name in self.roles.named(argument_roles.TABLE):
            self.made[name] = self._table(name, count)
        for node in self.graph.nodes:
            if isinstance(node, Selected):
                self._lists(node)

    def _limits(self, name: str) -> Array:
        """Numbers of keys up to which a mask goes, with a tensor of more than one axis: some keys, or about
        those of whole tiles."""
        most = self.extents["T"]
        edges = self.rng.choice(near_tiles(self.space.tiles, most), self.shape(name))
        some = self.rng.integers(0, most + 1, self.shape(name))
        return np.where(self.rng.random() < _EDGES, edges, some).astype(DTYPES[self.dtype(name)])

    def _lists(self, node: Selected) -> None:
        """Lists of blocks in any order: most name blocks that there are, some twice, some none."""
        name = argument_roles.input_name(node.blocks)
        if name in self.made:
            return
        shape, rng = self.shape(name), self.rng
        blocks = max(1, -(-self.extents["T"] // max(1, int(node.size.evaluate(self.env)))))
        entries = rng.integers(0, blocks, shape)
        unused = rng.random(shape) < rng.choice([0.0, 0.1, 0.5, 1.0], p=[0.4, 0.3, 0.25, 0.05])
        entries[unused] = rng.choice([-1, -7, blocks, 2**31 - 1], shape)[unused]
        self._store(name, entries)
        if node.count is not None:
            counts = argument_roles.input_name(node.count)
            self._store(counts, rng.integers(0, self.extents["X"] + 1, self.shape(counts)))

    def _table(self, name: str, count: Array) -> Array:
        """Distinct pages for every used entry where there are enough of them, sometimes a first page that
        all rows share; rubbish behind."""
        shape, size, pages = self.shape(name), self.extents["R"], self._pages(name)
        used = np.arange(shape[1])[None] * size < count[:, None]
        need = int(used.sum())
        table = self.rng.choice([-1, pages, 2**31 - 1], shape)
        distinct = need <= pages
        ids = self.rng.permutation(pages)[:need] if distinct else self.rng.integers(0, pages, need)
        table[used] = ids
        if shape[1] and self.rng.random() < 0.3:
            table[used[:, 0], 0] = self.rng.integers(0, pages)
        return table.astype(DTYPES[self.dtype(name)])

    def _pages(self, table: str) -> int:
        """Pages of the smallest pool that a table names pages of, at least 1."""
        caches = [
            argument_roles.input_name(node.tensor)
            for node in self.graph.nodes
            if isinstance(node, Paged) and argument_roles.input_name(node.table) == table
        ]
        own = [self.layout(cache).own_extents.get("P") for cache in caches]
        return max(
            1, min(self.extents["P"] if each is None else int(each.evaluate(self.env)) for each in own)
        )

    # Scales, offsets and factors --------------------------------------------------------------------------

    def _factors(self) -> None:
        """Of scores and results; those of key and value are made with them."""
        rng = self.rng
        for name in self.roles.named(argument_roles.OUT_SCALE):
            shape = self.shape(name)
            self._store(name, rng.choice([-1, 1], shape) * rng.uniform(4, 24, shape))
        for name in self.roles.named(argument_roles.OUT_OFFSET):
            self._store(name, rng.uniform(-9, 9, self.shape(name)))
        queries = self.roles.named(argument_roles.QUERY)
        integer = bool(queries) and self.dtype(queries[0]) == "int8"
        of_keys = self.roles.named(argument_roles.KEY_FACTOR)
        for name in (*self.roles.named(argument_roles.SCORE_FACTOR), *of_keys):
            shape = self.shape(name)
            if not integer:
                one_for_all = self.probe and name in of_keys  # keys of a class have the same score
                drawn = self._temperatures(name, () if one_for_all else shape)
                if one_for_all and not self._is_looked_at(name):
                    drawn = drawn * rng.choice([-1, 1])  # scores of probes are below 0, where relu is 0
                self._store(name, np.broadcast_to(drawn, shape))
                continue
            factor = abs(self.factor()) or 1.0
            wanted = 0.8 / 8.0 if self.probe else self.extents["D"] ** -0.5 / 1600.0
            spread = 1.0 if self.probe else rng.uniform(0.5, 1.5, shape)
            if SLOPE in self.assignment:  # as high or low as they are meant, not of order 1
                wanted, spread = 1.0 / 1600.0, 0.5 + 0.5 * spread
            self._store(name, wanted / factor * spread * np.ones(shape))
        for name in self.roles.named(argument_roles.OUT_FACTOR):
            self._store(name, self._gains(name, self.shape(name), integer=integer))
        for name in self.roles.named(argument_roles.PROBABILITY_FACTOR):
            self._store(name, rng.choice([1.0, 0.5, 0.25, 0.0, -0.5, -1.0], self.shape(name)))
        for name in self.roles.named(argument_roles.STEP):
            self._store(name, rng.choice([1 / 127, 1 / 100, 1 / 64, 1 / 200], self.shape(name)))
        for name in self.roles.named(argument_roles.SLOPE):
            shape = self.shape(name)
            heads = np.arange(int(np.prod(shape))).reshape(shape) + 1
            steep = -(2.0 ** (-8.0 * heads / heads.size)) * rng.choice([1, 1, -0.125])
            flat = rng.choice([-1, 1]) / (4.0 * max(self.extents["T"], 1)) * np.ones(shape)
            self._store(name, flat if self.probe else steep)

    def _temperatures(self, name: str, shape: tuple[int, ...]) -> Array:
        """Factors and divisors of scores: around 1 to both sides, in some cases 1. Constraints on them may
        know a least one, and are taken to know none above 1."""
        spread = self.rng.uniform(0 if self._is_looked_at(name) else -1, 1, shape)
        return 2.0 ** (spread * (0 if self.rng.random() < _PLAIN else 1))

    def _gains(self, name: str, shape: tuple[int, ...], *, integer: bool) -> Array:
        """Factors and divisors of results, of both signs unless constraints look at them.

        Around 1, so that one that is lost, rounded or of another head shows in results of order 1, and no
        larger than leaves the rounding errors of a result within what is allowed of it. Some are powers of
        two. Those of sums of integers make results of order 1 of them.
        """
        rng = self.rng
        signs = 1 if self._is_looked_at(name) else rng.choice([-1, 1], shape)
        if integer:
            return np.asarray(signs * 2.0 ** rng.integers(-7, -3, shape))
        powers = rng.uniform(*_GAINS, shape)
        return np.asarray(signs * 2.0 ** np.where(rng.random(shape) < _PLAIN, np.rint(powers), powers))

    def _store(self, name: str, values: Array) -> None:
        self.made[name] = np.asarray(values).astype(DTYPES[self.dtype(name)])

    # Masks ------------------------------------------------------------------------------------------------

    def _masks(self) -> None:
        kind = str(self.assignment.get(MASK, "random"))
        count = self.rows_counted()
        shows = argument_roles.shows_keys(self.graph)
        for name in (*self.roles.named(argument_roles.MASK), *self.roles.named(argument_roles.FORCED)):
            shape = self.shape(name)
            if self.space.operator.tensor(name).at_least:
                more = int(self.rng.choice(_EXTRA))
                shape = tuple(size + more for size in shape)
            if name in self.roles.named(argument_roles.FORCED):
                hidden = self._forced(shape, kind)
            else:
                hidden = pattern(self.rng, kind, shape, self._readable(shape, count))
            hidden = ~hidden if name in shows else hidden
            marks = self.rng.integers(1, 100, hidden.shape) if self.dtype(name) != "bool" else 1
            self.made[name] = (hidden * marks).astype(DTYPES[self.dtype(name)])
        for spec in self.space.operator.tensors:
            if spec.name in self.present and spec.name not in self.made and self._is_mask(spec):
                self.made[spec.name] = self._added_mask(spec.name, kind, count)

    def _forced(self, shape: tuple[int, ...], kind: str) -> Array:
        """What is selected before all else: about a third, or few, some at the edges of tiles; nothing where
        scores that have a slope may decide alone."""
        alone = kind == "none" and SLOPE in self.assignment and LOST not in self.assignment
        if alone or FEW_FORCED not in self.assignment:
            return pattern(self.rng, "none" if alone else "random", shape)
        steps = [
            int(each.step.evaluate(self.env)) for each in self.graph.nodes if isinstance(each, WindowSum)
        ]
        step, most = (steps or [1])[0], shape[-1]
        keys = (each for tile in self.key_tiles for each in range(tile, most * step + tile, tile))
        edges = {each // step + beside for each in keys for beside in (-1, 0, 1)}
        return few_forced(self.rng, shape, self.extents.get("X", 1), np.array(sorted(edges), np.int64))

    def _is_mask(self, spec: TensorSpec) -> bool:
        """Whether it is added to scores, or constraints look at its elements."""
        looked_at = spec.indexed and self._is_looked_at(spec.name)
        return self.roles.of.get(spec.name) == argument_roles.ADDED or looked_at

    def _is_looked_at(self, name: str) -> bool:
        """Whether constraints look at the elements of a tensor."""
        return any(name in rule.tensors() for rule in self.space.operator.constraints)

    def _readable(self, shape: tuple[int, ...], count: Array) -> Array | None:
        """Which keys are valid, for a mask of batch rows."""
        if len(shape) < 2 or shape[0] != len(count):
            return None
        valid = np.arange(shape[-1]) < count[:, None]
        return valid.reshape(len(count), *[1] * (len(shape) - 2), shape[-1])

    def _added_mask(self, name: str, kind: str, count: Array) -> Array:
        shape = self.shape(name)
        hidden = pattern(self.rng, kind, shape, self._readable(shape, count))
        if self.probe:  # a row without any key in sight shows nothing
            hidden[hidden.all(axis=-1)] = False
        env = {**self.env, **self.made}
        for other in self.space.operator.tensors:  # what reads elements of absent tensors does not apply
            if other.name not in self.made:
                env.pop(other.name, None)
        filler = MaskFiller(self.space.operator, name, self.dtype(name), shape, env, self.rng)
        found = filler.fill(hidden, exact=self.probe, wholly=SLOPE in self.assignment)
        if found is None:
            raise ShapeError(f"no legal content of {name} was found")
        return found
