"""Problems of catlass' examples, and of our operators on the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from catlass_kernels import built
from peer_inputs import BLOCK, LATENT, PROMPTS, Latent, block_table, latent, pages, prompt_name, prompts
from peer_runs import DTYPES, Problem, PublicRun

_HERE = ("--datapath", ".")


def prompt(
    checkout: Path, lengths: Sequence[int], heads: int, kv_heads: int, dtype: str, *, causal: bool
) -> Problem:
    """Prompts by its examples of flash attention."""
    made = prompts(lengths, heads, kv_heads, dtype, causal=causal)
    query, key, value = made.query, made.key, made.value
    tokens, _, size = query.shape
    table = block_table(lengths)
    files = {
        "q": query,
        "k": pages(key, lengths, table),
        "v": pages(value, lengths, table),
        "mask": np.triu(np.ones((1024, 1024), np.float32), 1).astype(DTYPES[dtype]),
        "q_ntokens": np.array([tokens], np.int32),
        "q_seqlen": np.array(lengths, np.int64),
        "kv_seqlen": np.array(lengths, np.int64),
        "block_table": table,
    }
    sizes = (len(lengths), max(lengths), max(lengths), heads, kv_heads, size, 0, int(causal))
    command = (*map(str, sizes), "--dtype", dtype, *_HERE)
    runs = {
        f"catlass {number}": PublicRun(partial(built, checkout, f"examples/{folder}/fai.cpp"), command, files)
        for number, folder in ((23, "23_flash_attention_infer"), (40, "40_flash_attention_infer_tla"))
    }
    return Problem(
        prompt_name(lengths, heads, kv_heads, dtype, causal=causal),
        made.call,
        lambda values: values.reshape(query.shape),
        runs,
    )


def latent_decoding(checkout: Path, made: Latent) -> Problem:
    """Latent decoding by its example of it."""
    batch, heads, _ = made.query.shape
    files = {
        **made.split(),
        "q_ntokens": np.array([batch], np.int32),
        "q_seqlen": np.ones(batch, np.int32),
        "kv_seqlen": made.lengths,
        "block_table": made.table,
    }
    lengths = ",".join(map(str, made.lengths))
    arguments = (batch, ",".join(["1"] * batch), lengths, heads, made.table.size, BLOCK)
    run = PublicRun(
        partial(built, checkout, "examples/19_mla/mla.cpp", ("examples/19_mla/mla_tiling.cpp",)),
        (*map(str, arguments), "--dtype", made.dtype, *_HERE),
        files,
    )
    return Problem(made.name, made.call, made.result, {"catlass 19": run})


def catlass_problems(checkout: Path) -> Iterator[Problem]:
    """Problems that catlass' examples solve."""
    for lengths, heads, kv_heads, dtype, causal in PROMPTS:
        yield prompt(checkout, lengths, heads, kv_heads, dtype, causal=causal)
    for each in LATENT:
        yield latent_decoding(checkout, latent(*each))
