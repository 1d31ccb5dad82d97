"""How far extrapolated times are from those of whole calls, for the problems of bench/kernels.py.

    python bench/extrapolation.py                        (prompts of 8192 tokens, a quarter simulated)
    python bench/extrapolation.py --only 'decode' --share 0.1

A call is stopped when the share of its committed time has passed (``bench/figures.json``, which
``bench/kernels.py --check`` holds) and extrapolated, as ``attndsl profile`` does with long calls.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from kernel_rows import Row, rows
from kernels import read_committed

from attndsl.compiler.prepare_launch import prepare
from attndsl.profile.profile import profile_call


def line(row: Row, committed: float, share: float) -> str:
    """A row of the table; ``committed``: microseconds of the whole call."""
    call = row.call()
    launch = prepare(call)
    device = launch.compiled.program.device
    cores = launch.blocks * (1 + device.architecture.aiv_per_aic)
    started = time.perf_counter()
    found = profile_call(call, most_core_cycles=int(share * committed * 1e-6 * device.clock * cores))
    seconds = time.perf_counter() - started
    if found.extrapolation is None:
        return f"{row.name:44} {committed:10.1f} {found.time:10.1f}  simulated whole"
    return (
        f"{row.name:44} {committed:10.1f} {found.time:10.1f} {found.time / committed - 1:+8.2%} "
        f"{found.extrapolation.spread:8.2%} {found.extrapolation.share:8.1%} {seconds:6.1f} s"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", metavar="PATTERN", default="S8192 fp16|S8192.*window", help="rows to take")
    parser.add_argument("--share", type=float, default=0.25, help="of the time that is simulated")
    options = parser.parse_args()
    committed = read_committed()["figures"]
    print(f"{'problem':44} {'whole us':>10} {'from part':>10} {'off':>8} {'spread':>8} {'work':>8}")
    for row in rows():
        if re.search(options.only, row.name):
            print(line(row, committed[row.name]["microseconds"], options.share), flush=True)


if __name__ == "__main__":
    main()
