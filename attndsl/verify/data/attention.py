"""Queries, keys, values and biases of a case: made by batch row and head, stored where they are read."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np

from attndsl.graph.nodes import BlockRequantize, EarlierPartial, RowSum, Softmax
from attndsl.reference.state import rounded
from attndsl.reference.streaming import row_statistics
from attndsl.reference.whole import new_state
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import DTYPES
from attndsl.spec.contract.layout import Array
from attndsl.spec.contract.split import one_row, one_row_sizes
from attndsl.verify.data import probes
from attndsl.verify.data.draws import Draws
from attndsl.verify.data.earlier_partials import fill_earlier
from attndsl.verify.data.row_locations import RowLocations
from attndsl.verify.space import argument_roles
from attndsl.verify.space.values import FILL, LEVEL, LOST, PROBE, SATURATED, SLOPE, SPIKED, SUNK, UNEVEN

DEPTH = 120.0
"""How far below zero all scores of the sunk inputs are: the exponential of any is 0 in float32."""
_STEP, _MOST_RISE, DEEPER = 6.0, 60.0, 160.0
"""Of cases that are asked for a slope: by how much scores rise from one tile to the next, half of it in one
step, so that a row which sees one key of the next tile rescales; by how much at most; how far sunk ones are
below 0."""
JUMP, _CALM = 8.8, 0.1
"""Of spiked cases: by how much a key is higher than all before it, which is more than sums go without being
rescaled for and leaves 512 earlier ones 7 % of the weight; the part of the usual noise that scores have."""
SPREAD = 1000.0
"""Largest score of the extreme inputs: softmax saturates."""
FLAT, BORDER = 0.02, 0.06
"""Deviation of the scores of level inputs, and by how much those at the edges of tiles are larger. Sums of a
few dozen probabilities then differ by less than one of them, and by far more than float32 rounds."""
_LARGEST_VALUE = 2.0
"""Size of random values. Probabilities in bfloat16 are off by 2^-9 of themselves, and their sum of values by
2^-9 of sum(probability * |value|), a result by half its last place: 2^-9 below 1, 2^-8 from there on. With
larger values of both signs, one of two or three keys may be off by more than 2^-7 of max(1, |result|)."""
_HALVED = 59
"""Most units of a probe whose halves, and an offset up to 9, int8 holds."""
_FLOAT32 = np.dtype(np.float32)


class AttentionFiller:
    """Fills what attention reads. ``draft``: the call with zeros there."""

    def __init__(self, filler: Draws, draft: Call) -> None:
        self.filler, self.draft, self.rng = filler, draft, filler.rng
        self.locations = RowLocations(draft)
        self.stored = argument_roles.dequantizations(draft.graph)
        self.entries: set[tuple[str, int | None]] = set()
        """Scales and offsets, by component, that what is stored now already has."""
        self.sizes = {**dict.fromkeys("BNKQDE", 1), **draft.extents}
        self.factor = filler.factor()
        # Elements of rows that are values.
        self.is_value = np.zeros(self.locations.content.size, bool)
        self.integers = {
            name
            for name in self.locations.tensors()
            if filler.dtype(name) == "int8" and name not in self.stored
        }

    def fill(self) -> None:
        """Give the filler the tensors."""
        s, made = self.sizes, self.filler.made
        kind = self.filler.assignment[FILL]
        if kind == PROBE:
            query, bias = self._probe()
        else:
            query, bias = self._random(kind)
            query = self._lost(query) if LOST in self.filler.assignment else query
        self._store_queries(query)
        for name in self.filler.roles.named(argument_roles.BIAS):
            if name in made:
                continue
            axes, sizes = self.filler.layout(name).roles, (s["B"], s["N"], s["Q"], self._keys())
            shape = tuple(
                size if axis in axes else max(size, 1) for axis, size in zip("BNQT", sizes, strict=True)
            )
            wide = np.broadcast_to(bias[None, :, None, : shape[-1]], shape)
            made[name] = self._over_scores(name, wide)
        if kind == PROBE:
            self._size_values()
            self._store_queries(query / self._share_units(query))
        self._store_rows()
        if any(isinstance(node, EarlierPartial) for node in self.draft.graph.nodes):
            fill_earlier(self.filler, self._as_made(), self._size())

    # The probe --------------------------------------------------------------------------------------------

    def _probe(self) -> tuple[Array, Array]:
        locations, s = self.locations, self.sizes
        requantized = any(isinstance(node, BlockRequantize) for node in self.draft.graph.nodes)
        # With weights of a half, half of 127 steps would be a tie of rounding.
        base = 2.2 if requantized else 2.0
        queries = self.filler.roles.named(argument_roles.QUERY)
        dtype = self.filler.dtype(queries[0]) if queries else "float16"
        step = probes.step(self.factor, dtype, base)
        most = max(self._keys(), self._most_rows())
        ledger = probes.Ledger(
            self.rng, s["N"], s["K"], max(most, 1), s["D"], step, carrying=self._carrying()
        )
        query = ledger.query_rows(s["B"], s["Q"])
        for keys, values in zip(locations.keys, locations.values, strict=True):
            for b in range(s["B"]):
                for k in range(s["K"]):
                    self._probe_rows(ledger, locations.rows(keys, b, k), locations.rows(values, b, k), k)
        return query, ledger.bias()

    def _carrying(self) -> Array | None:
        """The channels of keys that are no channels of values at the same time; None if all may carry."""
        for keys, values in zip(self.locations.keys, self.locations.values, strict=True):
            for b in range(self.sizes["B"]):
                mine, others = self.locations.rows(keys, b, 0), self.locations.rows(values, b, 0)
                if mine.size and others.size:
                    alone = ~np.isin(mine[0], others[0])
                    return alone if alone.any() and not alone.all() else None
        return None

    def _probe_rows(self, ledger: probes.Ledger, keys: Array, values: Array, k: int) -> None:
        if not keys.size:
            return
        fresh = np.asarray(~self.locations.written[values].any(axis=1))
        overlap = np.isin(values[0], keys[0]).any()
        if not overlap or ledger.carrying is not None:
            self.is_value[values] = True
            self.locations.write(values, ledger.signs(k, fresh, values.shape[1]))
        self.locations.write(keys, ledger.key_rows(k, len(keys)))

    def _size_values(self) -> None:
        """Values in proportion to the largest row sum, which the scores that are there by now tell."""
        io, content = self.filler.io, self.locations.content
        size = probes.size_of_values(self._row_sum(), io)
        if self.filler.roles.named(argument_roles.SLOPE):
            size = min(size, probes.LARGEST_WITH_SLOPES[io])
        for name, (first, last) in self.locations.ranges().items():
            part = slice(first, last)
            value = self.is_value[part]
            own = size if name not in self.integers else 64.0
            content[part][value] *= own
            unread = ~self.locations.written[part]
            content[part][unread] = probes.ALARM * own if value.any() else 0.0
        if self.integers:
            for name in self.filler.roles.named(argument_roles.OUT_FACTOR):
                made = self.filler.made[name]
                made[...] = size / 64.0 * self.rng.choice([1.0, -1.0, 0.5], made.shape)

    def _share_units(self, query: Array) -> float:
        """What queries are divided by, a power of two, and keys multiplied with.

        Where keys and values have the same scale, it is that of the values, of which keys, small integers,
        would be no multiples. The queries have to hold the quotient; of values that need more there is less.
        """
        content, keys = self.locations.content, self.locations.written & ~self.is_value
        values, unit = self.is_value | ~self.locations.written, 1.0
        for name in self.stored:
            parts = self._sharing(name)
            if all(any(of[part].any() for part in parts) for of in (keys, self.is_value)):
                unit = max(unit, self._unit(name))
        dtypes = [self.filler.dtype(name) for name in self.filler.roles.named(argument_roles.QUERY)]
        least = max(2.0**-14 if name == "float16" else 2.0**-126 for name in dtypes)
        integer = any(DTYPES[name].kind == "i" for name in dtypes)
        smallest = float(np.abs(query[query != 0]).min(initial=math.inf))
        held = 1.0 if integer else 2.0 ** max(math.floor(math.log2(min(smallest / least, 2.0**100))), 0)
        if unit > held:
            content[values] *= held / unit
            unit = held
        content[keys] *= unit
        return unit

    def _row_sum(self) -> float:
        """The largest sum of weights of a row over all segments; the largest weight is 1."""
        call = self._as_made()
        state = new_state(call, _FLOAT32)
        total: Any = 0.0
        with np.errstate(all="ignore"):
            for node in call.graph.nodes:
                if isinstance(node, Softmax):
                    total = total + row_statistics(state, node)[RowSum].data
        return float(np.max(np.nan_to_num(total), initial=1.0))

    def _size(self) -> float:
        """The root mean square of the values that are read, 1 if there are none."""
        read = self.locations.content[self.is_value & self.locations.written]
        return float(np.sqrt(np.mean(np.square(read)))) if read.size else 1.0

    def _as_made(self) -> Call:
        """The call with all tensors that are made so far."""
        arrays, lists = dict(self.draft.arrays), dict(self.draft.lists)
        for name, made in self._stored_rows().items():
            if name in lists:
                lists[name] = tuple(made)
            else:
                arrays[name] = made[0].reshape(arrays[name].shape)
        for name, array in self.filler.made.items():
            if name in arrays and isinstance(array, np.ndarray) and array.shape == arrays[name].shape:
                arrays[name] = array if array.dtype.kind != "i" else arrays[name]
        return replace(self.draft, arrays={**arrays, **self._quantized_now(arrays)}, lists=lists)

    def _quantized_now(self, arrays: dict[str, Array]) -> dict[str, Array]:
        """Queries as they are stored, in the shapes of the bound call."""
        names = self.filler.roles.named(argument_roles.QUERY)
        return {name: self.filler.made[name].reshape(arrays[name].shape) for name in names}

    def _bound_values(self) -> None:
        """Values, unless they are keys as well, within :data:`_LARGEST_VALUE`."""
        locations, s = self.locations, self.sizes
        pairs = tuple(zip(locations.keys, locations.values, strict=True))
        heads = tuple(itertools.product(pairs, range(s["B"]), range(s["K"])))
        alone = np.zeros(locations.content.size, bool)
        for (_, values), b, k in heads:
            alone[locations.rows(values, b, k)] = True
        for (keys, _), b, k in heads:
            alone[locations.rows(keys, b, k)] = False
        locations.content[alone] = np.clip(locations.content[alone], -_LARGEST_VALUE, _LARGEST_VALUE)

    # Random values ----------------------------------------------------------------------------------------

    def _random(self, kind: str) -> tuple[Array, Array]:
        locations, s, rng = self.locations, self.sizes, self.rng
        query = rng.standard_normal((s["B"], s["N"], s["Q"], s["D"]))
        locations.content[:] = rng.standard_normal(locations.content.size)
        self._bound_values()
        codes, group = rng.choice([-1.0, 1.0], (s["B"], s["N"], s["D"])), self._group
        reach = abs(self.factor) * s["D"] or 1.0
        drawn = rng.choice([-1.0, 1.0])
        asked = self.filler.assignment.get(SLOPE)
        steps = max((self._most_rows() - 1) // min(self.filler.key_tiles), 1)
        jumps, noise = self._most_jumps(steps), 0.1 * (_CALM if asked == SPIKED else 1.0)
        for keys, values in zip(locations.keys, locations.values, strict=True):
            for b in range(s["B"]):
                for k in range(s["K"]):
                    places, others = locations.rows(keys, b, k), locations.rows(values, b, k)
                    if not places.size:
                        continue
                    locations.written[places] = locations.written[others] = True
                    self.is_value[others] = True
                    if kind == SATURATED:
                        self._spotlights(places, codes[b], k)
                    elif kind == LEVEL:
                        self.locations.content[places[self._at_edges(len(places))]] += codes[b, k * group]
                    elif kind in ("ramp", SUNK):
                        if asked is None:
                            along = np.linspace(0, 1, len(places))[:: int(drawn)]
                        elif asked == SPIKED:
                            along = self._in_jumps(len(places), k) / jumps
                            self._tell_tiles_apart(places, others)
                        else:
                            along = self._in_steps(len(places), steps, asked)
                        along = along if kind == "ramp" else along / 8.0 - 1.0
                        code = codes[b, k * self._group]
                        locations.content[places] = noise * locations.content[places] + code * along[:, None]
        if kind == SATURATED:
            query = np.repeat(codes[:, :, None], s["Q"], axis=2) * np.clip(SPREAD / reach, 2**-14, 2**14)
        elif kind in ("ramp", SUNK):
            code = np.repeat(codes[:, ::group], group, axis=1)[:, :, None]
            rise, depth = (
                (30.0, DEPTH) if asked is None else (min(_STEP * steps * abs(asked), _MOST_RISE), DEEPER)
            )
            rise = JUMP * jumps if asked == SPIKED else rise
            signed = kind == SUNK or asked is not None  # the scores have the slope, whatever their factor is
            steep = rise if kind == "ramp" else depth
            steep = math.copysign(steep, self.factor) if signed else steep
            turned = self._turned(asked) if asked is not None and (abs(asked) < 1 or asked == UNEVEN) else 1.0
            query = noise * query + code * turned * min(max(steep / reach, -1e4), 1e4)
            if asked is not None:
                locations.content[self.is_value] /= locations.sums_of_a_value
        elif kind == LEVEL:
            code = np.repeat(codes[:, ::group], group, axis=1)[:, :, None]
            query = query * FLAT / (abs(self.factor) * math.sqrt(s["D"]) or 1.0)
            query += code * math.copysign(BORDER / reach, self.factor)
        elif kind == "tiny":
            locations.content[self.is_value] *= 2.0**-12
        locations.content[~locations.written] = np.nan if rng.random() < 0.5 else 1000.0
        bias = rng.standard_normal((s["N"], max(self._keys(), 1)))
        return query, bias

    def _lost(self, query: Array) -> Array:
        """Queries with an element that is infinite, so that all scores of the row are -inf, in every second
        head of some positions."""
        locations, s = self.locations, self.sizes
        for keys in locations.keys:
            for b in range(s["B"]):
                for k in range(s["K"]):
                    locations.content[locations.rows(keys, b, k)[:, :1]] = 1.0
        if self.factor:
            query[:, ::2, 1::3, 0] = math.copysign(math.inf, -self.factor)
        return query

    def _in_steps(self, count: int, steps: int, slope: float) -> Array:
        """Numbers from 0 that rise to about 1 where rows are longest, or fall: within a tile by as much
        as between two."""
        tile = min(self.filler.key_tiles)
        whole, rest = np.divmod(np.arange(count), tile)
        along: Array = (whole + rest / (2.0 * tile)) / steps
        return along if slope > 0 else 1.0 - along

    @staticmethod
    def _most_jumps(steps: int) -> float:
        """Jumps from the lowest key of a spiked case to the highest."""
        return max(2.0, min(2.0 * _STEP * steps, _MOST_RISE) / JUMP)

    def _in_jumps(self, count: int, head: int) -> Array:
        """How high keys are, in jumps, by their key/value head.

        Of every third one the first key of the second tile is higher than all others; of the next one that of
        the third tile, where those of the second are as high as each other, above the first tile; of the last
        one keys rise from tile to tile.
        """
        tile = min(self.filler.key_tiles)
        whole, rest = np.divmod(np.arange(count), tile)
        if head % 3 == 2:
            steps = max(int(whole.max(initial=0)), 1)
            return np.asarray((whole + rest / (2.0 * tile)) * self._most_jumps(steps) / steps)
        flat = np.minimum(whole, 1.0) * (head % 3)
        flat[(whole == 1 + head % 3) & (rest == 0)] += 1.0
        return np.asarray(flat)

    def _tell_tiles_apart(self, keys: Array, values: Array) -> None:
        """Values that are around 1 in one tile and -1 in the next, unless they are channels of keys."""
        if values.size and not np.isin(values[0], keys[0]).any():
            tiles = np.arange(len(values)) // min(self.filler.key_tiles)
            self.locations.content[values] += np.where(tiles % 2, -1.0, 1.0)[:, None]

    def _turned(self, slope: float) -> Array:
        """-1 of every second row of queries, whose scores fall where those of others rise; where the slope is
        uneven, of none in some runs of 16 positions, of all in others, and of all but one of eight."""
        heads, positions = np.arange(self.sizes["N"])[:, None, None], np.arange(self.sizes["Q"])[:, None]
        falls = (heads + positions) % 2 == 1
        if slope == UNEVEN:
            runs = (positions // 16 + heads) % 4
            falls = np.choose(runs, (True, positions % 8 != 0, False, positions % 16 != 15))
        turned: Array = np.where(falls, -1.0, 1.0)
        return turned

    def _spotlights(self, places: Array, codes: Array, k: int) -> None:
        """Each query head has one key, mostly at an edge of a tile, that takes (almost) all the weight."""
        rng, count = self.rng, len(places)
        self.locations.content[places] = rng.integers(-4, 5, places.shape) / 16.0
        rows = np.arange(count)
        edges = rows[self._at_edges(count)]
        for n in range(k * self._group, (k + 1) * self._group):
            at = rng.choice(edges if rng.random() < 0.8 else rows)
            self.locations.content[places[at]] = codes[n, : places.shape[1]]

    def _at_edges(self, count: int) -> Array:
        """Which of so many keys are the first or last two of a tile, or the last two of all."""
        rows = np.arange(count)
        edges = [np.isin(rows % tile, (0, 1, tile - 2, tile - 1)) for tile in self.filler.key_tiles]
        found: Array = np.logical_or.reduce(edges) | (rows >= count - 2)
        return found

    # Storing ----------------------------------------------------------------------------------------------

    @property
    def _group(self) -> int:
        return max(1, self.sizes["N"] // self.sizes["K"])

    def _most_rows(self) -> int:
        """Rows of the longest batch row: a ring that wraps may have had more than its cache holds."""
        sources, batch = self.locations.keys, self.sizes["B"]
        return max(
            (len(self.locations.rows(keys, b, 0)) for keys in sources for b in range(batch)), default=0
        )

    def _keys(self) -> int:
        return max(self.draft.extents.get("T", 1), self.draft.extents.get("U", 0))

    def _store_queries(self, query: Array) -> None:
        for name, stored in self.locations.queries(query).items():
            dtype = self.filler.dtype(name)
            shape = self.filler.shape(name)
            if DTYPES[dtype].kind == "i":
                scaled = stored if self.filler.probe else stored * 40
                self.filler.made[name] = (
                    np.clip(np.rint(scaled), -128, 127).astype(DTYPES[dtype]).reshape(shape)
                )
            else:
                self.filler.made[name] = rounded(stored, DTYPES[dtype]).reshape(shape)

    def _store_rows(self) -> None:
        self.filler.made |= {
            name: made if name in self.draft.lists else made[0] for name, made in self._stored_rows().items()
        }

    def _stored_rows(self) -> dict[str, list[Array]]:
        """The stored tensors in their dtypes, quantized where they are."""
        found = {}
        self.entries.clear()
        for name, parts in self.locations.tensors().items():
            dtype = DTYPES[self.filler.dtype(name)]
            if name in self.stored:
                parts = [self._dequantizable(name, part) for part in parts]
            elif dtype.kind == "i":
                scale = 1 if self.filler.probe else 40
                parts = [np.clip(np.rint(np.nan_to_num(p * scale, nan=127.0)), -128, 127) for p in parts]
            found[name] = [
                part.astype(dtype) if dtype.kind == "i" else rounded(part, dtype) for part in parts
            ]
        return found

    def _dequantizable(self, name: str, values: Array) -> Array:
        """Integers that stand for ``values``; their scale and offset are made here.

        A probe is stored exactly, up to a power of two that differs from entry to entry of the scale; other
        values are random.
        """
        how, exact, rng = self.stored[name], self.filler.probe, self.rng
        values = np.nan_to_num(values, nan=127.0)
        unit: Any = self._unit(name) if exact else 2.0**-5
        offset = self._entry(how.offset, how.component, rng.integers(-9, 10, self._shape_or(how.offset)))
        finest = -1 if not exact or self._largest(name) / unit <= _HALVED else 0
        spread = 2.0 ** rng.integers(finest, 1 if exact else 2, self._shape_or(how.scale))
        scale = self._entry(how.scale, how.component, unit * spread)
        shift = 0 if offset is None else self._of_channels(name, how.offset, how.component, offset)
        if exact and scale is not None:
            unit = self._of_channels(name, how.scale, how.component, scale)
        env, extents = self.draft.env(), self.draft.extents
        layout = self.filler.layout(name)
        stored = np.ascontiguousarray(values)
        if name in self.draft.lists:
            env, extents = one_row_sizes(layout, stored, env, extents)
            layout = one_row(layout)
        view = layout.view(stored, env, extents)
        view[...] = np.clip(np.rint(view / unit) - shift, -128, 127)
        return stored

    def _sharing(self, name: str) -> list[slice]:
        """Where the content of all quantized tensors lies that have the scale of this one."""
        ranges, scales = self.locations.ranges(), {n: (s.scale, s.component) for n, s in self.stored.items()}
        return [slice(*ranges[n]) for n, scale in scales.items() if scale == scales[name] and n in ranges]

    def _largest(self, name: str) -> float:
        """Of what the tensors with this scale stand for, at least 1."""
        parts = (np.nan_to_num(self.locations.content[part], nan=127.0) for part in self._sharing(name))
        return max((float(np.abs(part).max(initial=1.0)) for part in parts), default=1.0)

    def _unit(self, name: str) -> float:
        """The power of two of which 64 are what is largest, and what a probe stores is a multiple."""
        return float(2.0 ** np.ceil(np.log2(max(self._largest(name) / 64, 1.0))))

    def _entry(self, name: str, component: int | None, values: Array) -> Array | None:
        """One component of a scale or offset (all of it without components), written where none is there."""
        if not name:
            return None
        dtype = DTYPES[self.filler.dtype(name)]
        array = self.filler.made.setdefault(name, np.zeros(self.filler.shape(name), dtype))
        at = slice(None) if component is None else component
        if (name, component) not in self.entries:
            self.entries.add((name, component))
            array[at] = np.asarray(values)[at].astype(dtype)
        return np.asarray(array)

    def _shape_or(self, name: str) -> tuple[int, ...]:
        return self.filler.shape(name) if name else ()

    def _of_channels(self, name: str, tensor: str, component: int | None, factor: Array) -> Array:
        """A scale or an offset, ``tensor``, shaped to broadcast against the canonical axes of the rows of
        tensor ``name``."""
        layout = self.filler.layout(tensor)
        view = layout.view(factor, self.draft.env(), self.draft.extents)
        if component is not None:
            view = view.take(component, axis=layout.roles.index("C"))
        own = [{"D": "E"}.get(role, role) for role in layout.roles if role != "C"]
        wanted = [{"D": "E"}.get(role, role) for role in self.filler.layout(name).roles]
        order = [own.index(role) for role in wanted if role in own]
        spread = np.asarray(view, np.float64).transpose(order)
        return np.expand_dims(spread, tuple(i for i, role in enumerate(wanted) if role not in own))

    def _over_scores(self, name: str, values: Array) -> Array:
        """``values`` (B, N, Q, T), in the tensor's layout; axes that it lacks keep their first entry.

        A key/value head K has the values of the first of its query heads.
        """
        layout = self.filler.layout(name)
        heads = "K" if "K" in layout.roles and "N" not in layout.roles else "N"
        if heads == "K":
            values = values[:, :: self.sizes["N"] // self.sizes["K"]]
        broadcast = {axis.role for dim in layout.dims for axis in dim if axis.broadcast}
        picks = tuple(
            0 if axis not in layout.roles else slice(0, 1) if axis in broadcast else slice(None)
            for axis in ("B", heads, "Q", "T")
        )
        kept = [axis for axis in ("B", heads, "Q", "T") if axis in layout.roles]
        ordered = values[picks].transpose([kept.index(axis) for axis in layout.roles])
        return rounded(layout.restore(ordered, self.draft.env()), DTYPES[self.filler.dtype(name)])
