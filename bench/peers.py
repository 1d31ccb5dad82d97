"""Public kernels and ours on the same inputs, run by the emulator: results, findings and predicted times.

    CXX='zig c++' python bench/peers.py --catlass DIR      (--only PATTERN for some problems)

Kernels are read where they are; nothing of them is stored. Each result is judged as `attndsl verify` judges
ours: against the spec in float64, by the bound of an element of its dtype. What the judge says of a public
kernel is printed, and the exit code is 1 where a kernel of either side misses, or ours has a finding. Times
are of the emulator's model, with data; its error is printed by ``attndsl profile``.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parent))
from catlass_kernels import built

from attndsl.campaign.judging import bound_of
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator.errors import EmulatorError
from attndsl.execute.execute import execute
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load
from attndsl.target import DEFAULT_DEVICE, device
from attndsl.verify.judge import benchmark
from attndsl.verify.judge.compare import Comparison, compare
from attndsl.verify.judge.golden import Result, golden

Array = npt.NDArray[Any]
_BLOCK = 128
_DTYPES: Mapping[str, Any] = {"half": np.float16, "bf16": ml_dtypes.bfloat16}
_VARIANTS = Path(__file__).parents[1] / "specs" / "variants"


@dataclass(frozen=True)
class PublicRun:
    """A command of a public program.

    Attributes:
        main: its source, in the checkout; ``needs``: further ones.
        arguments: of its command line.
        files: what it reads: NAME.bin of each.
    """

    main: str
    arguments: tuple[str, ...]
    files: Mapping[str, Array]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """A call of ours, whose first result public programs compute from the same numbers.

    ``from_public``: their result in the layout of ours.
    """

    name: str
    call: Call
    public: Mapping[str, PublicRun]
    from_public: Callable[[Array], Array]


@dataclass(frozen=True)
class Ran:
    """What a kernel gave. ``microseconds``: predicted, of all its launches; ``says``: what it printed."""

    values: Array
    findings: tuple[str, ...]
    microseconds: float
    says: str = ""


@dataclass(frozen=True)
class Expected:
    """The first result of a call in float64, and a plain computation of it in its dtype."""

    call: Call
    golden: Result
    plain: Array


# ------------------------------------------------------------------------------------------------
# Problems


def _numbers(seed: int, dtype: str, *shape: int) -> Array:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, shape).astype(_DTYPES[dtype])


def _pages(rows: Array, lengths: Sequence[int], table: Array) -> Array:
    """Packed rows of keys as blocks of 128, where a table has them; the rest of the last blocks is NaN."""
    pool = np.full((table.size, _BLOCK, *rows.shape[1:]), np.nan, rows.dtype)
    begin = 0
    for row, length in enumerate(lengths):
        for block in range(-(-length // _BLOCK)):
            part = rows[begin + block * _BLOCK : begin + min((block + 1) * _BLOCK, length)]
            pool[table[row, block], : len(part)] = part
        begin += length
    return pool


def _table(lengths: Sequence[int]) -> Array:
    width = -(-max(lengths) // _BLOCK)
    order = np.random.default_rng(3).permutation(len(lengths) * width)
    return order.reshape(len(lengths), width).astype(np.int32)


def prompt(
    name: str, lengths: Sequence[int], heads: int, kv_heads: int, dtype: str, *, causal: bool
) -> Problem:
    """Prompts of several lengths, all keys seen or those before a query and its own."""
    size, tokens = 128, sum(lengths)
    query = _numbers(0, dtype, tokens, heads, size)
    key, value = (_numbers(seed, dtype, tokens, kv_heads, size) for seed in (1, 2))
    arguments: dict[str, Any] = {}
    if causal:
        hidden = -65504.0 if dtype == "half" else 1.0
        mask = np.triu(np.full((_BLOCK, _BLOCK), hidden, np.float32), 1).astype(_DTYPES[dtype])
        arguments = {"mask": mask, "maskType": "NORM_COMPRESS", "isTriuMask": 1}
    call = (
        load("self_attention")
        .mode_named("PA_ENCODER")
        .bind(
            query=query,
            key=key,
            value=value,
            seqLen=np.array(lengths, np.int32),
            headNum=heads,
            kvHeadNum=kv_heads,
            qkScale=1 / math.sqrt(size),
            **arguments,
        )
    )
    table = _table(lengths)
    files = {
        "q": query,
        "k": _pages(key, lengths, table),
        "v": _pages(value, lengths, table),
        "mask": np.triu(np.ones((1024, 1024), np.float32), 1).astype(_DTYPES[dtype]),
        "q_ntokens": np.array([tokens], np.int32),
        "q_seqlen": np.array(lengths, np.int64),
        "kv_seqlen": np.array(lengths, np.int64),
        "block_table": table,
    }
    sizes = (len(lengths), max(lengths), max(lengths), heads, kv_heads, size, 0, int(causal))
    command = (*map(str, sizes), "--dtype", dtype)
    return Problem(
        name,
        call,
        {
            "catlass 23": PublicRun("examples/23_flash_attention_infer/fai.cpp", command, files),
            "catlass 40": PublicRun("examples/40_flash_attention_infer_tla/fai.cpp", command, files),
        },
        lambda values: values.reshape(tokens, heads, size),
    )


def latent(name: str, lengths: Sequence[int], heads: int, dtype: str) -> Problem:
    """Absorbed latent decoding over a paged cache: 512 latent channels, then 64 rotary ones."""
    batch, latent_size, size = len(lengths), 512, 576
    query = _numbers(0, dtype, batch, heads, size)
    table = _table(lengths)
    cache = _pages(_numbers(1, dtype, sum(lengths), 1, size), lengths, table)
    call = load(str(_VARIANTS / "mla_decode.py")).bind(
        query=query.reshape(batch, heads, 1, size),
        cache=np.nan_to_num(cache).transpose(0, 2, 1, 3).copy(),
        table=table,
        lengths=np.array(lengths, np.int32),
        scale=1 / math.sqrt(size),
        latent=latent_size,
    )
    files = {
        "q": query[..., :latent_size],
        "q_rope": query[..., latent_size:],
        "k": np.nan_to_num(cache)[..., :latent_size],
        "k_rope": np.nan_to_num(cache)[..., latent_size:],
        "q_ntokens": np.array([batch], np.int32),
        "q_seqlen": np.ones(batch, np.int32),
        "kv_seqlen": np.array(lengths, np.int32),
        "block_table": table,
    }
    arguments = (batch, ",".join(["1"] * batch), ",".join(map(str, lengths)), heads, table.size, _BLOCK)
    run = PublicRun(
        "examples/19_mla/mla.cpp",
        (*map(str, arguments), "--dtype", dtype),
        files,
        needs=("examples/19_mla/mla_tiling.cpp",),
    )
    return Problem(
        name, call, {"catlass 19": run}, lambda values: values.reshape(batch, heads, 1, latent_size)
    )


def catlass_problems() -> Iterator[Problem]:
    """Problems that catlass' examples solve."""
    yield prompt("full, 8 heads, 1024 tokens, fp16", [1024], 8, 8, "half", causal=False)
    yield prompt("causal, 8 heads, 1024 tokens, fp16", [1024], 8, 8, "half", causal=True)
    yield prompt(
        "causal, 8 heads on 2, 700, 1, 129 and 512 tokens, fp16",
        [700, 1, 129, 512],
        8,
        2,
        "half",
        causal=True,
    )
    yield prompt("full, 4 heads on 1, 640 and 333 tokens, bf16", [640, 333], 4, 1, "bf16", causal=False)
    yield latent("latent, 128 heads, 4 rows of 1024 keys, fp16", [1024] * 4, 128, "half")
    yield latent("latent, 32 heads, 700, 64, 1500 keys, fp16", [700, 64, 1500], 32, "half")
    yield latent("latent, 16 heads, 2 rows of 900 keys, bf16", [900] * 2, 16, "bf16")


# ------------------------------------------------------------------------------------------------
# Runs


def run_ours(call: Call) -> Ran:
    """Our kernel on the emulator."""
    launch = prepare(call)
    report = execute(launch)
    on = launch.compiled.program.device
    return Ran(launch.outputs()[0], report.first_findings(), on.microseconds(report.counters["total_cycles"]))


def run_public(run: PublicRun, checkout: Path, expected: Expected) -> Ran:
    """A public program on the emulator: what it copies to the host last is its result.

    Examples of catlass compare it with golden.bin, in float32, and one with cpu_low.bin, in the io dtype.

    Raises:
        EmulatorError: it does not compile, or is refused.
        RuntimeError: it launches nothing or copies nothing.
    """
    on = device(DEFAULT_DEVICE)
    program = built(checkout, run.main, run.needs)
    with tempfile.TemporaryDirectory() as name:
        data, copies = Path(name) / "data", Path(name) / "copies"
        data.mkdir()
        copies.mkdir()
        own = {"golden": expected.golden.values.astype(np.float32), "cpu_low": expected.plain}
        for file, values in {**run.files, **own}.items():
            np.ascontiguousarray(values).tofile(data / f"{file}.bin")
        before = Path.cwd()
        os.chdir(data)
        try:
            report = program.run((*run.arguments, "--datapath", str(data)), copies=copies, device=on)
        finally:
            os.chdir(before)
        found = sorted(copies.iterdir())
        if not found or not report.launches:
            raise RuntimeError(f"{run.main} computed nothing: {report.error or report.stdout}")
        values = np.fromfile(found[-1], expected.plain.dtype)
    cycles = sum(launch["cycles"] for launch in report.launches)
    findings = tuple(str(each) for each in report.findings)
    if report.error:
        findings += (report.error,)
    return Ran(values, findings, on.microseconds(cycles), report.stdout.strip())


def expected_of(call: Call) -> Expected:
    """What the first result of a call should be."""
    plain = benchmark.run(call)[0]
    assert plain is not None
    return Expected(call, golden(call).results[0], plain)


def judged(expected: Expected, values: Array) -> Comparison:
    """A result, as ``verify`` judges it element by element."""
    call, want = expected.call, expected.golden
    return compare(
        values,
        want.values,
        expected.plain,
        bound=bound_of(call, want.name),
        level=None,
        empty=want.exact,
        sizes=want.sizes,
        precision=benchmark.precision(call, want.name),
    )


def compare_problem(problem: Problem, checkout: Path) -> bool:
    """Prints a problem's results side by side. Whether all are right, and ours without findings."""
    print(problem.name, flush=True)
    expected = expected_of(problem.call)
    ours = run_ours(problem.call)
    right = _told("ours", expected, ours) and not ours.findings
    for name, run in problem.public.items():
        try:
            theirs = run_public(run, checkout, expected)
        except EmulatorError as error:
            print(f"  {name:<11} does not run: {error}")
            right = False
            continue
        right &= _told(name, expected, replace(theirs, values=problem.from_public(theirs.values)), ours)
    return right


def _told(name: str, expected: Expected, ran: Ran, ours: Ran | None = None) -> bool:
    comparison = judged(expected, ran.values)
    verdict = "right" if comparison.ok else "; ".join(comparison.problems)
    beside = f", ours {ours.microseconds / ran.microseconds:.2f} of it" if ours else ""
    print(
        f"  {name:<11} {verdict}: off by {comparison.error:.1e} of {comparison.bound:.1e} allowed, "
        f"{ran.microseconds:.1f} us{beside}"
    )
    for line in (*ran.says.splitlines(), *ran.findings):
        print(f"    {line}")
    sys.stdout.flush()
    return comparison.ok


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--catlass", type=Path, required=True, help="a checkout of catlass")
    parser.add_argument("--only", default="", help="problems whose name matches this regular expression")
    asked = parser.parse_args(arguments)
    problems = [each for each in catlass_problems() if re.search(asked.only, each.name)]
    if not problems:
        parser.error(f"no problem matches {asked.only!r}")
    told = [compare_problem(each, asked.catlass.resolve()) for each in problems]
    return int(not all(told))


if __name__ == "__main__":
    sys.exit(main())
