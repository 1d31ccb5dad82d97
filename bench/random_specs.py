"""Random legal specs through the whole way, and how many a minute: those of seeds 0, 1, ...

    python bench/random_specs.py --specs 500 --verified 30

Each spec is loaded, its first kernel compiled and written as text; of ``--verified`` of them ``--cases``
cases run on all backends. Exit code 1 if one ends in anything but a kernel, a refusal or cases that pass.
``--seed N`` shows the spec of one seed; ``attndsl verify`` takes it from a file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from attndsl.base.errors import UserError
from attndsl.base.jobs import fork_map, worker_count
from attndsl.campaign.runner import NotGenerated, verify
from attndsl.codegen.kernel.kernel import kernel_text
from attndsl.codegen.kernel_set.kernel_request import wanted_specializations
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.text.render import render
from attndsl.compiler.prepare_launch import compiled_for
from attndsl.lowering.errors import NotLowered
from attndsl.spec.operator.loader import load
from tests.support.random_specs import random_spec

HALF = KernelRequest(dtypes=("float16",))


def outcome(seed: int, work: Callable[[Path], str]) -> str:
    """What becomes of the spec of a seed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"drawn_{seed}.py"
        file.write_text(random_spec(seed), encoding="utf-8")
        try:
            return work(file)
        except (NotLowered, NotGenerated) as error:
            return f"refused: {error}"
        except UserError as error:
            return f"wrong: {error}"
        except Exception as error:
            return f"defect: {type(error).__name__}: {error}"


def generated(file: Path) -> str:
    """The kernel of the spec's defaults, as text."""
    operator = load(str(file))
    compiled = compiled_for(operator, wanted_specializations(operator, HALF)[0].special)
    text = render("op_kernel/kernel.h.j2", kernel=kernel_text(compiled))
    return "well" if "class" in text else "defect: no text"


def verified(cases: int) -> Callable[[Path], str]:
    """A number of cases on all backends."""

    def work(file: Path) -> str:
        found = verify(load(str(file)), cases=cases)
        if found.misses:
            row = found.misses[0]
            return f"miss: case {row.case}: {[(each.backend, each.message) for each in row.results]}"
        return f"refused: {found.idle}" if found.idle else "well"

    return work


def campaign(name: str, seeds: Sequence[int], work: Callable[[Path], str]) -> bool:
    """Runs ``work`` of each seed's spec over processes; prints what came of it, and how many a minute."""
    started = time.monotonic()
    found = dict(zip(seeds, fork_map(lambda seed: outcome(seed, work), list(seeds)), strict=True))
    seconds = time.monotonic() - started
    counts = Counter(text.partition(":")[0] for text in found.values())
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    print(f"{name}: {told}; {60 * len(seeds) / seconds:.0f} a minute by {worker_count()} processes")
    for seed, text in found.items():
        if text != "well":
            print(f"  seed {seed}: {text[:300]}")
    return not counts.keys() - {"well", "refused"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--specs", type=int, default=200)
    parser.add_argument("--verified", type=int, default=10)
    parser.add_argument("--cases", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="print the spec of this seed")
    options = parser.parse_args()
    if options.seed is not None:
        print(random_spec(options.seed), end="")
        return 0
    first = options.first
    well = campaign("generated", range(first, first + options.specs), generated)
    well &= campaign("verified", range(first, first + options.verified), verified(options.cases))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
