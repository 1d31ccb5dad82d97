"""Values for the tensors of a case, by what they are for in the computation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.array_expr import evaluate_arrays
from attndsl.graph.nodes import IndexCondition, Replace
from attndsl.interpret.state import rounded
from attndsl.spec.arguments import DTYPES, TensorSpec, dtype_of, given, layout_of
from attndsl.spec.layout import Array, Layout
from attndsl.verify import probes, roles
from attndsl.verify.roles import Roles, scores_factor
from attndsl.verify.space import FILL, PROBE, CaseSpace, fill_of

SPREAD = 1000.0
"""Largest score of the extreme inputs: softmax saturates."""


@dataclass
class Filler:
    """Builds the arguments of one case. ``made``: tensors by name, as they are passed."""

    space: CaseSpace
    assignment: Mapping[str, Any]
    env: dict[str, Any]
    rng: np.random.Generator
    made: dict[str, Array]

    def __post_init__(self) -> None:
        operator = self.space.operator
        self.present = {spec.name for spec in operator.tensors if self.env[given(spec.name).name]}
        self.graph = operator.graph(frozenset(self.present))
        self.roles: Roles = roles.roles(self.graph)
        self.stored = roles.stored(self.graph)
        ext = {**dict.fromkeys("BNKQTDE", 1), **self.space.extents(self.env)}
        self.sizes = probes.Sizes(ext["B"], ext["N"], ext["K"], ext["Q"], ext["T"], ext["D"], ext["E"])
        self.io = self.dtype(self.roles.named(roles.QUERY)[0]) if self.roles.named(roles.QUERY) else "float16"

    def arguments(self) -> dict[str, Any]:
        """All arguments by name."""
        self._integers()
        self._factors()
        self._attention()
        operator = self.space.operator
        values: dict[str, Any] = {spec.name: self.env[spec.name] for spec in operator.params}
        for spec in operator.tensors:
            if spec.name not in self.present:
                continue
            if spec.name not in self.made:
                self.made[spec.name] = self._any(spec)
            array = self.made[spec.name]
            values[spec.name] = [array] * spec.sequence_of if spec.sequence_of else array
            if spec.kind == "lengths" and self.assignment.get(fill_of(spec.name)) in ("mixed", "edges"):
                values[spec.name] = [int(each) for each in array]
        return values

    def dtype(self, name: str) -> str:
        """The dtype of a tensor in this case."""
        return str(self.env[dtype_of(name).name])

    def layout(self, name: str) -> Layout:
        """The layout of a tensor in this case."""
        return self.space.operator.tensor(name).layouts[self.env[layout_of(name).name]]

    # Lengths, pages and masks first: the others depend on which rows are read. ----------------------

    def _integers(self) -> None:
        s = self.sizes
        ext = self.space.extents(self.env)
        paged = bool(self.roles.named(roles.TABLE))
        self.capacity = min(s.keys, ext["W"] * ext["R"]) if paged else s.keys
        self.count = np.full(s.batch, self.capacity)
        for name in self.roles.named(roles.LENGTHS):
            kind = self.assignment.get(fill_of(name), "mixed")
            lengths = self._lengths(kind)
            self.count = np.broadcast_to(lengths, (s.batch,)).astype(np.int64)
            self.made[name] = lengths.astype(DTYPES[self.dtype(name)])
        first = np.zeros(s.batch, np.int64)
        for name in self.roles.named(roles.START):
            room = s.keys - int(self.count.max(initial=0))
            padding = int(self.rng.choice([0, room, room // 2, -3, room + 1]))
            if self.roles.named(roles.LENGTHS):
                first = s.keys - max(padding, 0) - self.count
            self.made[name] = np.full(self._shape(name), padding, DTYPES[self.dtype(name)])
        empty = (first < 0) | (first + self.count > s.keys)
        at = np.arange(s.keys)[None]
        self.readable = (at >= first[:, None]) & (at < (first + self.count)[:, None]) & ~empty[:, None]
        self.visible = np.ones((s.batch, s.keys), bool)
        for name in self.roles.named(roles.MASK):
            hidden = self._mask()
            self.visible &= ~hidden
            marks = self.rng.integers(1, 100, hidden.shape) if self.dtype(name) != "bool" else 1
            self.made[name] = self._over_scores(name, (hidden * marks)[:, None, None, :])
        for name in self.roles.named(roles.TABLE):
            self.made[name] = self._table(name)

    def _lengths(self, kind: str) -> Array:
        rows, most, (tile, _) = self.sizes.batch, self.capacity, self.space.edges
        near = [m * tile + d for m in range(1, most // tile + 1) for d in (-1, 0, 1)]
        edges = [each for each in (0, 1, *near, most - 1, most) if 0 <= each <= most]
        if kind == "single":
            return np.array([int(self.rng.integers(0, most + 1))])
        found = {
            "full": np.full(rows, most),
            "zero": np.zeros(rows, np.int64),
            "one": np.minimum(np.ones(rows, np.int64), most),
            "edges": self.rng.choice(edges, rows),
        }.get(kind)
        if found is None:
            found = self.rng.integers(0, most + 1, rows)
            found[0] = most
        return np.asarray(found)

    def _mask(self) -> Array:
        """(B, T), true where hidden."""
        s, kind = self.sizes, self.assignment.get("mask", "random")
        hidden = self.rng.random((s.batch, s.keys)) < 0.3
        if kind == "none":
            hidden[:] = False
        elif kind == "all":
            hidden[:] = True
        elif kind == "rows":
            hidden[:: max(2, s.batch - 1)] = True
        elif kind == "last":
            hidden[:] = True
            last = np.maximum(self.readable.sum(axis=1) - 1, 0)
            if s.keys:
                hidden[np.arange(s.batch), last] = False
        return hidden

    def _table(self, name: str) -> Array:
        """Distinct pages for every used entry where there are enough of them; rubbish behind."""
        ext = self.space.extents(self.env)
        shape, size, pages = self._shape(name), ext["R"], max(ext["P"], 1)
        used = np.arange(shape[1])[None] * size < self.count[:, None]
        need = int(used.sum())
        table = self.rng.choice([-1, pages, 2**31 - 1], shape)
        table[used] = (
            self.rng.permutation(pages)[:need] if need <= pages else self.rng.integers(0, pages, need)
        )
        return table.astype(DTYPES[self.dtype(name)])

    # Scales and offsets ----------------------------------------------------------------------------

    def _factors(self) -> None:
        """Of the results; those of key and value are made with them."""
        for name in self.roles.named(roles.OUT_SCALE):
            shape = self._shape(name)
            values = self.rng.choice([-1, 1], shape) * self.rng.uniform(4, 24, shape)
            self.made[name] = values.astype(DTYPES[self.dtype(name)])
        for name in self.roles.named(roles.OUT_OFFSET):
            values = self.rng.uniform(-9, 9, self._shape(name))
            self.made[name] = values.astype(DTYPES[self.dtype(name)])

    # Queries, keys, values, biases -------------------------------------------------------------------

    def _attention(self) -> None:
        made = self._values()
        for name in self.roles.named(roles.QUERY):
            self.made[name] = self._placed(name, made.query, "BNQD")
        for name in self.roles.named(roles.BIAS):
            self.made[name] = self._over_scores(name, made.bias[None, :, None])
        for role, values, channel in ((roles.KEY, made.key, "D"), (roles.VALUE, made.value, "E")):
            for name in self.roles.named(role):
                self.made[name] = self._cache(name, values, channel)

    def _values(self) -> probes.Attention:
        s, rng, kind = self.sizes, self.rng, self.assignment[FILL]
        factor = scores_factor(self.graph, self.env)
        if kind == PROBE:
            seen = self._seen_by_index()
            biased = bool(self.roles.named(roles.BIAS)) and seen == 1.0
            share = probes.SHARE * seen
            return probes.ledger(
                rng, s, self.readable, self.visible, factor, self.io, biased=biased, share=share
            )
        query = rng.standard_normal((s.batch, s.heads, s.queries, s.head))
        key = rng.standard_normal((s.batch, s.kv_heads, s.keys, s.head))
        value = rng.standard_normal((s.batch, s.kv_heads, s.keys, s.channels))
        bias = rng.standard_normal((s.heads, s.keys))
        reach = abs(factor) * s.head or 1.0
        if kind == "extreme":
            query, key = self._spotlights(SPREAD / reach)
        elif kind == "ramp":
            code = rng.choice([-1.0, 1.0], (s.batch, s.kv_heads, 1, s.head))
            slope = np.linspace(0, 1, s.keys) if rng.random() < 0.5 else np.linspace(1, 0, s.keys)
            key = 0.1 * key + code * slope[None, None, :, None]
            query = 0.1 * query + np.repeat(code, s.heads // s.kv_heads, axis=1) * min(30.0 / reach, 1e4)
        elif kind == "tiny":
            value *= 2.0**-12
        self._spoil(key, value)
        return probes.Attention(query, key, value, bias)

    def _seen_by_index(self) -> float:
        """The part of the readable keys that a typical row sees through masks computed from indices."""
        s = self.sizes
        shape = (s.batch, s.heads, s.queries, s.keys)
        seen = np.broadcast_to(self.readable[:, None, None, :], shape)
        before = seen.sum(axis=-1)
        grids = np.meshgrid(*map(np.arange, shape), indexing="ij", sparse=True)
        env = {**self.env, **self.made, **dict(zip("bnij", grids, strict=True))}
        for node in self.graph.nodes:
            if isinstance(node, Replace) and isinstance(node.condition, IndexCondition):
                seen = seen & ~np.asarray(evaluate_arrays(node.condition.condition, env), bool)
        parts = seen.sum(axis=-1) / np.maximum(before, 1)
        return float(np.median(parts[parts > 0])) if (parts > 0).any() else 1.0

    def _spotlights(self, size: float) -> tuple[Array, Array]:
        """Each query head has one key, at an edge of a tile, that takes (almost) all the weight."""
        s, rng, tile = self.sizes, self.rng, self.space.edges[0]
        code = rng.choice([-1.0, 1.0], (s.batch, s.heads, s.head))
        key = rng.integers(-4, 5, (s.batch, s.kv_heads, s.keys, s.head)) / 16.0
        group = s.heads // s.kv_heads
        for b in range(s.batch):
            rows = np.flatnonzero(self.readable[b] & self.visible[b])
            edges = (
                rows[np.isin(rows % tile, (0, 1, tile - 2, tile - 1)) | (rows >= rows[-1] - 1)]
                if rows.size
                else rows
            )
            for n in range(s.heads):
                if rows.size:
                    key[b, n // group, rng.choice(edges if rng.random() < 0.8 else rows)] = code[b, n]
        size = float(np.clip(size, 2.0**-14, 2.0**14))
        return np.repeat(code[:, :, None], s.queries, axis=2) * size, key

    def _spoil(self, key: Array, value: Array) -> None:
        """Rows that must not be read hold NaN, or numbers that would be seen."""
        hidden = ~self.readable
        rubbish = np.nan if self.rng.random() < 0.5 else 1000.0
        for array in (key, value):
            array[np.broadcast_to(hidden[:, None], array.shape[:3])] = rubbish

    def _cache(self, name: str, values: Array, channel: str) -> Array:
        """Key or value rows (B, K, T, channel), quantised where the cache is, in their layout."""
        values = self._quantised(name, values)
        layout = self.layout(name)
        if "T" in layout.roles:
            return self._placed(name, values, "BKT" + channel)
        ext = self.space.extents(self.env)
        pages = np.zeros((ext["P"], ext["K"], ext["R"], values.shape[-1]))
        if self.dtype(name) != "int8":
            pages[:] = np.nan
        table = self.made[self.roles.named(roles.TABLE)[0]]
        for b in range(self.sizes.batch):
            for column in range(-(-int(self.count[b]) // ext["R"])):
                rows = values[b, :, column * ext["R"] : (column + 1) * ext["R"]]
                pages[table[b, column], :, : rows.shape[1]] = rows
        return self._placed(name, pages, "PKR" + channel)

    def _quantised(self, name: str, values: Array) -> Array:
        """Integers that stand for ``values``; their scale and offset are made here.

        A probe is stored exactly, up to one power of two for the whole tensor; other values are random.
        """
        how = self.stored.get(name)
        if how is None:
            return values
        exact = self.assignment[FILL] == PROBE
        values = np.nan_to_num(values, nan=127.0)
        largest = max(float(np.abs(values).max(initial=0.0)), 1.0)
        unit = max(largest / 64, 1.0) if exact else 2.0**-5
        offset = self._entry(how.offset, how.component, self.rng.integers(-9, 10, self._shape_or(how.offset)))
        spread = 1.0 if exact else 2.0 ** self.rng.integers(-1, 2, self._shape_or(how.scale))
        self._entry(how.scale, how.component, unit * np.broadcast_to(spread, self._shape_or(how.scale)))
        shift = 0 if offset is None else self._of_channels(name, how, offset)
        return np.clip(np.rint(values / unit) - shift, -128, 127)

    def _entry(self, name: str, component: int | None, values: Array) -> Array | None:
        """Write one component of a scale or offset (all of it without components)."""
        if not name:
            return None
        dtype = DTYPES[self.dtype(name)]
        array = self.made.setdefault(name, np.zeros(self._shape(name), dtype))
        at = slice(None) if component is None else component
        array[at] = np.asarray(values)[at].astype(dtype)
        return array

    def _shape_or(self, name: str) -> tuple[int, ...]:
        return self._shape(name) if name else ()

    def _of_channels(self, name: str, how: roles.Stored, factor: Array) -> Array:
        """An offset as it meets the rows (B, K, T, channel)."""
        layout = self.layout(how.offset)
        ext = self.space.extents(self.env)
        view = layout.view(factor, self.env, ext)
        if how.component is not None:
            view = view.take(how.component, axis=layout.roles.index("C"))
        axes = [role for role in layout.roles if role != "C"]
        if axes == ["K", "D"] or axes == ["K", "E"]:
            return np.asarray(view, np.float64)[None, :, None, :]
        return np.zeros(())

    def _any(self, spec: TensorSpec) -> Array:
        """A tensor that no rule is for: standard normal, or small integers."""
        shape = self._shape(spec.name) if spec.layouts else (1,)
        dtype = DTYPES[self.dtype(spec.name)]
        if dtype.kind in "biu":
            return self.rng.integers(0, 2, shape).astype(dtype)
        return self.rng.standard_normal(shape).astype(dtype)

    # --------------------------------------------------------------------------------------------------

    def _shape(self, name: str) -> tuple[int, ...]:
        return tuple(int(size.evaluate(self.env)) for size in self.layout(name).shape())

    def _over_scores(self, name: str, values: Array) -> Array:
        """``values``, broadcast against (B, N, Q, T), in the tensor's layout."""
        s = self.sizes
        return self._placed(name, np.broadcast_to(values, (s.batch, s.heads, s.queries, s.keys)), "BNQT")

    def _placed(self, name: str, values: Array, axes: str) -> Array:
        """``values`` with canonical ``axes``, stored in the layout of the tensor.

        Axes that the layout has with extent 1 or lacks keep their first entry.
        """
        layout = self.layout(name)
        swap = {"E": "D"} if "E" in layout.roles and "E" not in axes else {"D": "E"} if "E" in axes else {}
        wanted = [role if role in axes else swap.get(role, role) for role in layout.roles]
        broadcast = {axis.role for dim in layout.dims for axis in dim if axis.broadcast}
        picks: list[Any] = [slice(None)] * values.ndim
        for position, axis in enumerate(axes):
            if axis not in wanted:
                picks[position] = 0
            elif axis in broadcast:
                picks[position] = slice(0, 1)
        kept = [axis for axis in axes if axis in wanted]
        ordered = values[tuple(picks)].transpose([kept.index(axis) for axis in wanted if axis in kept])
        for position, axis in enumerate(wanted):
            if axis not in kept:
                ordered = np.expand_dims(ordered, position)
        dtype = DTYPES[self.dtype(name)]
        stored = layout.restore(ordered, self.env)
        return rounded(stored.astype(np.float64), dtype) if dtype.kind not in "biu" else stored.astype(dtype)
