"""The shelf of variants: each is generated and verified on all backends, and right by a separate computation.

The computations are in float64, row by row, from the formula in each file's docstring.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from attndsl.base.package_files import specs_dir
from attndsl.campaign.results import PASS
from attndsl.campaign.runner import verify
from attndsl.cli.cli import cli
from attndsl.spec.operator.loader import load, load_file

SHELF = sorted((specs_dir() / "variants").glob("*.py"))
NAMES = [path.stem for path in SHELF]
CASES = 2
UNLIKE_OTHERS = {"chunked_prefill", "nsa_selection", "ring_step"}
B, N, K, S, D = 2, 4, 2, 70, 32
BLOCK, COLUMNS = 16, 5
_RNG = np.random.default_rng(0)

Array = Any
Visible = Callable[[int, int], Array]


def halves(*shape: int) -> Array:
    return _RNG.standard_normal(shape).astype(np.float16)


def prompts(layout: str = "BNSD") -> dict[str, Array]:
    made = {"query": halves(B, N, S, D), "key": halves(B, K, S, D), "value": halves(B, K, S, D)}
    return {
        name: np.ascontiguousarray(each.swapaxes(1, 2)) if layout == "BSND" else each
        for name, each in made.items()
    }


def attention(
    query: Array, key: Array, value: Array, scores: Callable[[Array, int, int], Array]
) -> tuple[Array, Array]:
    """Rows of (B, N, Q, D) over (B, K, T, D): ``scores`` makes those of a batch row and head of raw ones."""
    query, key, value = (np.asarray(each, np.float64) for each in (query, key, value))
    group = query.shape[1] // key.shape[1]
    out = np.zeros((*query.shape[:3], value.shape[-1]))
    lse = np.full(query.shape[:3], -np.inf)
    for b, n in np.ndindex(*query.shape[:2]):
        s = scores(query[b, n] @ key[b, n // group].T, b, n)
        with np.errstate(divide="ignore"):
            lse[b, n] = np.log(np.exp(s).sum(axis=-1))
        weights = np.where(
            np.isneginf(lse[b, n])[:, None], 0, np.exp(s - np.maximum(lse[b, n], -1e9)[:, None])
        )
        out[b, n] = weights @ value[b, n // group]
    return out, lse


def hidden(scores: Array, visible: Array) -> Array:
    return np.where(visible, scores, -np.inf)


def places(queries: int = S, keys: int = S) -> tuple[Array, Array]:
    return np.arange(queries)[:, None], np.arange(keys)[None]


ROW, KEY = places()


def paged_cache(channels: int = D, heads: int = K) -> dict[str, Array]:
    blocks = B * COLUMNS
    table = _RNG.permutation(blocks).reshape(B, COLUMNS).astype(np.int32)
    return {"cache": halves(blocks, heads, BLOCK, channels), "table": table}


def unpaged(cache: Array, table: Array) -> Array:
    """The rows of each batch row, (B, K, T, D)."""
    return np.stack([np.concatenate(list(cache[row]), axis=1) for row in table])


def gqa_prefill_lse() -> tuple[dict[str, Array], tuple[Array, ...]]:
    call = prompts()
    return call, attention(*call.values(), lambda s, b, n: hidden(s * 0.125, KEY <= ROW))


def narrow_scores() -> tuple[dict[str, Array], tuple[Array, ...]]:
    call = prompts()
    return {**call, "scale": 0.25}, (attention(*call.values(), lambda s, b, n: s * 0.25)[0],)


def gemma2() -> tuple[dict[str, Array], tuple[Array, ...]]:
    call = prompts("BSND")
    rows = [each.swapaxes(1, 2) for each in call.values()]
    out, _ = attention(
        *rows, lambda s, b, n: hidden(5 * np.tanh(s * 0.5 / 5), (KEY <= ROW) & (KEY > ROW - 20))
    )
    return {**call, "scale": 0.5, "cap": 5.0, "window_size": 20}, (out.swapaxes(1, 2),)


def alibi() -> tuple[dict[str, Array], tuple[Array, ...]]:
    call, slopes = prompts(), np.array([0.5, 0.25, 0.1, 0.0], np.float32)
    out, _ = attention(
        *call.values(), lambda s, b, n: hidden(s * 0.125 + float(slopes[n]) * (KEY - ROW), KEY <= ROW)
    )
    return {**call, "slopes": slopes}, (out,)


def sinks() -> tuple[dict[str, Array], tuple[Array, ...]]:
    call, sink = prompts(), np.array([-np.inf, -1, 0.5, 9], np.float32)
    out, lse = attention(*call.values(), lambda s, b, n: hidden(s * 0.125, (KEY <= ROW) & (KEY > ROW - 30)))
    whole = np.logaddexp(lse, sink[None, :, None].astype(float))
    return {**call, "sink": sink, "window": 30}, (out * np.exp(lse - whole)[..., None], whole)


def sigmoid() -> tuple[dict[str, Array], tuple[Array, ...]]:
    call = prompts()
    query, key, value = (np.asarray(each, np.float64) for each in call.values())
    key, value = (np.repeat(each, N // K, axis=1) for each in (key, value))
    s = np.einsum("bnqd,bntd->bnqt", query, key) * 0.125 - 4
    return call, (np.where(KEY <= ROW, 1 / (1 + np.exp(-s)), 0) @ value,)


def documents() -> tuple[dict[str, Array], tuple[Array, ...]]:
    call, ids = prompts(), _RNG.integers(0, 4, (B, S)).astype(np.int32)

    def scores(s: Array, b: int, n: int) -> Array:
        return hidden(s * 0.125, (ids[b][:, None] == ids[b][None]) & (KEY <= ROW) & (KEY > ROW - 40))

    return {**call, "segment_ids": ids, "window": 40}, (attention(*call.values(), scores)[0],)


def prefix_lm() -> tuple[dict[str, Array], tuple[Array, ...]]:
    call, prefix = prompts(), [0, 33]
    out, _ = attention(*call.values(), lambda s, b, n: hidden(s * 0.125, (KEY <= ROW) | (prefix[b] > KEY)))
    return {**call, "prefix": prefix}, (out,)


def chunked_prefill() -> tuple[dict[str, Array], tuple[Array, ...]]:
    key, value = paged_cache(), paged_cache()["cache"]
    counts, lengths = [7, 40], [7, 75]
    query = halves(sum(counts), N, D)
    keys, values = (unpaged(each, key["table"]) for each in (key["cache"], value))
    parts = []
    for b, rows in enumerate(np.split(query, [counts[0]])):
        i, j = places(counts[b], keys.shape[2])
        visible = (j <= i + lengths[b] - counts[b]) & (j < lengths[b])
        one = rows.swapaxes(0, 1)[None], keys[b : b + 1], values[b : b + 1]
        parts.append(attention(*one, lambda s, _, n, visible=visible: hidden(s * 0.125, visible))[0][0])
    call = {"query": query, "key_cache": key["cache"], "value_cache": value, "table": key["table"]}
    ends = np.cumsum(counts).tolist()
    return {**call, "query_ends": ends, "lengths": lengths}, (np.concatenate(parts, axis=1).swapaxes(0, 1),)


def tree_decode() -> tuple[dict[str, Array], tuple[Array, ...]]:
    key, value, drafts, lengths = paged_cache(), paged_cache()["cache"], 4, [20, 75]
    ancestors = np.zeros((B, drafts, BLOCK * COLUMNS), bool)
    for b, length in enumerate(lengths):
        ancestors[b, :, : length - drafts] = True
        for draft, parent in enumerate([None, 0, 0, 2]):  # a tree of four drafts
            ancestors[b, draft] |= ancestors[b, parent] if parent is not None else False
            ancestors[b, draft, length - drafts + draft] = True
    query = halves(B, N, drafts, D)
    rows = (unpaged(each, key["table"]) for each in (key["cache"], value))
    out, _ = attention(query, *rows, lambda s, b, n: hidden(s * 0.125, ancestors[b]))
    call = {"query": query, "key_cache": key["cache"], "value_cache": value, "table": key["table"]}
    return {**call, "lengths": lengths, "ancestors": ancestors}, (out,)


def mla_decode() -> tuple[dict[str, Array], tuple[Array, ...]]:
    made, lengths, latent = paged_cache(96, 1), [33, 0], 64
    query, rows = halves(B, N, 2, 96), unpaged(made["cache"], made["table"])
    j, last = np.arange(rows.shape[2]), np.array([[-2], [-1]])
    found = attention(
        query, rows, rows[..., :latent], lambda s, b, n: hidden(s * 0.0722, j <= lengths[b] + last)
    )
    return {"query": query, **made, "lengths": lengths, "latent": latent}, found


def cascade() -> tuple[dict[str, Array], tuple[Array, ...]]:
    query, lengths, sizes = halves(B, N, 1, D), [[70, 0], [0, 0], [13, 0]], (70, 9, 20)
    levels = [(halves(B, K, size, D), halves(B, K, size, D)) for size in sizes]
    call: dict[str, Array] = {"query": query}
    for level, (key, value), length in zip(("system", "group", "own"), levels, lengths, strict=True):
        call |= {f"{level}_key": key, f"{level}_value": value, f"{level}_length": length}
    keys, values = (np.concatenate(each, axis=2) for each in zip(*levels, strict=True))
    seen = zip(sizes, lengths, strict=True)
    visible = np.concatenate([np.arange(size) < np.array(length)[:, None] for size, length in seen], axis=1)
    return call, attention(query, keys, values, lambda s, b, n: hidden(s * 0.125, visible[b]))


def ring_step() -> tuple[dict[str, Array], tuple[Array, ...]]:
    """The second of two steps: its block lies before the queries, and one batch row has no keys in it."""
    call, lengths, behind = prompts(), [S, 0], 30
    keys = np.arange(S)
    now, lse = attention(
        *call.values(), lambda s, b, n: hidden(s * 0.125, (ROW + behind >= KEY) & (keys < lengths[b]))
    )
    before, prev_lse = _RNG.standard_normal(now.shape), 4 + _RNG.standard_normal(lse.shape)
    prev_lse[:, :, ::5], before[:, :, ::5] = -np.inf, np.nan
    whole = np.logaddexp(lse, prev_lse)
    seen = np.where(np.isneginf(whole), 0, whole)
    parts = ((now, lse), (np.nan_to_num(before), prev_lse))
    out = sum(np.exp(each - seen)[..., None] * rows for rows, each in parts)
    earlier = {"prev_out": before.astype(np.float32), "prev_lse": prev_lse.astype(np.float32)}
    return {**call, **earlier, "length": lengths, "behind": behind}, (out, whole)


def block_sparse() -> tuple[dict[str, Array], tuple[Array, ...]]:
    """The first batch row sees the second block of keys in one head alone; some rows see no key."""
    call, blocks = prompts(), np.zeros((B, N, 2, 2), bool)
    blocks[0, 1, 1, 1] = blocks[0, :3, 1, 0] = blocks[1, 2, 0, 0] = True
    seen = np.repeat(np.repeat(blocks, 64, axis=2), 64, axis=3)[:, :, :S, :S]
    out, _ = attention(*call.values(), lambda s, b, n: hidden(s * 0.125, seen[b, n] & (KEY <= ROW)))
    return {**call, "blocks": blocks}, (out,)


def nsa_selection() -> tuple[dict[str, Array], tuple[Array, ...]]:
    counts, lengths, size = [5, 40], [300, 75], 64
    query, key, value = halves(45, N, D), halves(375, K, D), halves(375, K, 48)
    lists = _RNG.integers(-1, 5, (45, K, 3)).astype(np.int32)
    lists[::4, :, 2] = lists[::4, :, 0]
    parts = []
    for b, rows in enumerate(np.split(query, counts[:1])):
        own = slice(*np.cumsum([0, *lengths])[b : b + 2])
        names = np.split(lists, counts[:1])[b]
        i, j = places(counts[b], lengths[b])
        one = [each[own].swapaxes(0, 1)[None] for each in (key, value)]

        def scores(s: Array, _: int, n: int, names: Array = names, i: Array = i, j: Array = j) -> Array:
            named = (names[:, n // (N // K), :, None] == j[0] // size).any(axis=1)
            return hidden(s * 0.125, named & (j <= i + j.shape[1] - i.shape[0]))

        parts.append(attention(rows.swapaxes(0, 1)[None], *one, scores))
    out, lse = (np.concatenate([part[which][0] for part in parts], axis=1) for which in (0, 1))
    ends = {"query_ends": np.cumsum(counts).tolist(), "key_ends": np.cumsum(lengths).tolist()}
    call = {"query": query, "key": key, "value": value, "topk_indices": lists, **ends}
    return call, (out.swapaxes(0, 1), lse.swapaxes(0, 1))


def differential() -> tuple[dict[str, Array], tuple[Array, ...]]:
    first, second, value = prompts(), prompts(), halves(B, K, S, 48)

    def part(made: dict[str, Array]) -> Array:
        return attention(made["query"], made["key"], value, lambda s, b, n: hidden(s * 0.125, KEY <= ROW))[0]

    call = {f"{name}{at}": made[name] for at, made in ((1, first), (2, second)) for name in ("query", "key")}
    return {**call, "value": value, "lam": 0.6}, (part(first) - 0.6 * part(second),)


ORACLES = {
    each.__name__: each
    for each in (
        gqa_prefill_lse, narrow_scores, gemma2, alibi, sinks, sigmoid, documents, prefix_lm, chunked_prefill,
        tree_decode, mla_decode, cascade, ring_step, differential, block_sparse, nsa_selection,
    )
}  # fmt: skip


def test_every_variant_is_computed_by_hand() -> None:
    assert set(NAMES) == set(ORACLES)


@pytest.mark.sweep(fast=9)
@pytest.mark.parametrize("path", SHELF, ids=NAMES)
def test_backends_compute_what_the_docstring_says(path: Path) -> None:
    op = load_file(path)
    call, want = ORACLES[path.stem]()
    for backend in ("reference", "tile", "emulator"):
        found = op(**call, backend=backend)
        found = found if isinstance(found, tuple) else (found,)
        for place, (actual, expected) in enumerate(zip(found, want, strict=True)):
            tolerance = 1e-4 if place else 4e-3  # the first is made of probabilities in fp16
            np.testing.assert_allclose(
                np.asarray(actual, np.float64), expected, rtol=tolerance, atol=tolerance
            )


def _verified(path: Path) -> Any:
    """A variant as a parameter. In the fast suite are a mask of chunks, selected blocks and a merge of parts;
    most others are held there against their oracle on each backend."""
    return pytest.param(path, id=path.stem, marks=() if path.stem in UNLIKE_OTHERS else pytest.mark.long)


@pytest.mark.parametrize("path", [_verified(path) for path in SHELF])
def test_variants_are_verified_on_all_backends(path: Path) -> None:
    found = verify(load(str(path)), cases=CASES)
    results = [each for row in found.rows for each in row.results]
    assert [each for each in results if each.status != PASS] == [] and len(results) == 3 * CASES


@pytest.mark.sweep(fast=5)
@pytest.mark.parametrize("path", SHELF, ids=NAMES)
def test_variants_have_projects(path: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["generate", str(path), "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    (project,) = tmp_path.iterdir()
    assert list(project.glob("op_kernel/*.h")) and list(project.glob("op_host/*.h"))


def test_variants_are_short_and_say_what_they_are() -> None:
    for path in SHELF:
        text = path.read_text()
        assert text.startswith('"""') and 10 <= len(text.splitlines()) <= 60, path.name
