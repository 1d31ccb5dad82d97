"""Public kernels and ours on the same inputs, run by the emulator: results, findings and predicted times.

    CXX='zig c++' python bench/peers.py --catlass DIR --atb DIR --cann DIR     (--only PATTERN for some)

Kernels are read where they are; nothing of them is stored. Each result is judged as `attndsl verify` judges
ours: against the spec in float64, by the bound of an element of its dtype. What the judge says of a public
kernel is printed, and the exit code is 1 where a kernel of either side misses or does not run (the row says
why, and the rest runs), or ours has a finding. Times
are of the emulator's model, with data; its error is printed by ``attndsl profile``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from peer_runs import Problem, compare_problem, joined
from peers_atb import atb_problems
from peers_cann import cann_problems
from peers_catlass import catlass_problems

from attndsl.emulator.vendor_headers import VendorHeaders


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--catlass", type=Path, help="a checkout of catlass")
    parser.add_argument("--atb", type=Path, help="a checkout of ascend-transformer-boost; needs --cann")
    parser.add_argument(
        "--cann",
        type=Path,
        help="an installed CANN 8: its own operators, and headers that ATB's kernels are compiled against",
    )
    parser.add_argument("--only", default="", help="problems whose name matches this regular expression")
    asked = parser.parse_args(arguments)
    problems: list[Problem] = []
    if asked.catlass:
        problems += catlass_problems(asked.catlass.resolve())
    if asked.atb and not asked.cann:
        parser.error("--atb needs --cann")
    if asked.cann:
        headers = VendorHeaders.at(asked.cann)
        problems += cann_problems(headers)
        if asked.atb:
            problems += atb_problems(asked.atb.resolve(), headers)
    chosen = [each for each in joined(problems) if re.search(asked.only, each.name)]
    if not chosen:
        parser.error(
            "no public kernels: --catlass, --atb, --cann" if not problems else f"no problem is {asked.only!r}"
        )
    told = [compare_problem(each) for each in chosen]
    return int(not all(told))


if __name__ == "__main__":
    sys.exit(main())
