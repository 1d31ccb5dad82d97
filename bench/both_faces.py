"""Every generated kernel on two faces: compiled against our headers of AscendC, and against those of a CANN.

    python bench/both_faces.py --cann DIR                           (the four operators and the shelf)
    python bench/both_faces.py --cann DIR relay_attention --cases 3 --journal faces.jsonl (goes on)

``attndsl verify --cann`` runs the calls that its cases make, which are for some kernels; here each kernel
of each project gets cases of its own. A line for each kernel whose launches differ in a bit, in findings or
in the instructions of a pipe, or that misses a case; then the sums. Exit code 1 on a miss, other bits or
findings.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from attndsl.base.disk_cache import content_key
from attndsl.campaign.jobs import Job, LocalProcesses, results_of
from attndsl.campaign.judging import judge, wanted_of
from attndsl.campaign.record_keys import part_digests
from attndsl.campaign.results import PASS
from attndsl.cli.command_options import operators
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.finished import finished_projects
from attndsl.emulator import VendorHeaders
from attndsl.execute.execute import stored
from attndsl.execute.second_face import SecondFace
from attndsl.mutate.bench import Bench, KernelFiles, kernel_files
from attndsl.reference.threads import single_threaded_blas

SHELF = Path(__file__).parents[1] / "specs" / "variants"
SHIPPED = ("relay_attention", "incre_flash_attention", "self_attention", "nsa_compress_attention")


@dataclass(frozen=True)
class Seen:
    """What became of one kernel: its launches on both faces, how often they differ in which way, and the
    first case that it missed on CANN's headers, if any."""

    kernel: str
    launches: int
    differences: dict[str, int]
    missed: str


def on_both_faces(files: KernelFiles, cann: Path, cases: int) -> Seen:
    """The job of running a kernel on cases that are for it."""
    face, missed = SecondFace(VendorHeaders.at(cann)), ""
    with single_threaded_blas():
        for case in Bench(files).cases(0, cases):
            call = case.call()
            result = judge(call, "emulator", wanted_of(case, call), face.execute)
            if result.status != PASS:
                missed = missed or f"case {case.number}: {result.status}, {result.message}"
    told = face.to_json()
    return Seen(files.kernel, told["launches"], told["differences"], missed)


def kernel_jobs(names: Sequence[str], cann: Path, cases: int) -> Iterator[Job]:
    """A job for each kernel of the projects of operators."""
    for operator in operators(tuple(names)):
        modes = {each.name: each for each in (operator, *operator.modes)}
        parts = part_digests(operator, "emulator")
        decides = [parts[each] for each in sorted(parts) if each != "project"]
        for made in finished_projects(operator, KernelRequest()):
            mode = modes[made.operator]
            for files in kernel_files(stored(made.files), operator, mode) if made.files else ():
                key = content_key(*decides, files.key, str(cann), str(cases))
                yield Job(f"faces-{key}", on_both_faces, (files, cann, cases))


def report(found: Sequence[Seen], seconds: float) -> Iterator[str]:
    """A line for each kernel that differs or misses, then the sums."""
    for each in found:
        differing = [f"{number} x {text}" for text, number in each.differences.items()]
        for line in (*differing, *([f"missed {each.missed}"] if each.missed else ())):
            yield f"{each.kernel}: {line}"
    kinds = Counter[str]()
    for each in found:
        for text, number in each.differences.items():
            kinds["instructions alone" if is_of_counts(text) else "bits or findings"] += number
    launches, missed = sum(each.launches for each in found), sum(bool(each.missed) for each in found)
    equal = launches - kinds.total()
    yield f"{len(found)} kernels, {launches} launches on both faces, {missed} kernels missed a case"
    yield f"{equal} launches alike, {kinds['instructions alone']} with other instructions alone, " + (
        f"{kinds['bits or findings']} with other bits or findings; {seconds:.0f} s"
    )


def is_of_counts(difference: str) -> bool:
    """Whether two launches differ in numbers of instructions alone."""
    return difference.startswith("instructions on CANN's headers")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cann", type=Path, required=True, help="an installed CANN 8 or 9, or its headers")
    parser.add_argument("--cases", type=int, default=1, help="cases of each kernel (default 1)")
    parser.add_argument("--journal", type=Path, help="finished kernels, which are not run again")
    parser.add_argument("names", nargs="*", metavar="NAME", help="operators or specs; default: all")
    given = parser.parse_args(arguments)
    names = given.names or [*SHIPPED, *(str(each) for each in sorted(SHELF.glob("*.py")))]
    started = time.monotonic()

    def show(done: int) -> None:
        print(f"\r{done} of {len(jobs)} kernels", end="", file=sys.stderr, flush=True)

    jobs = list(kernel_jobs(names, given.cann.resolve(), given.cases))
    done = results_of(jobs, LocalProcesses(), given.journal, show)
    found = [done[job.key] for job in jobs]
    print(file=sys.stderr)
    print("\n".join(report(found, time.monotonic() - started)))
    alike = all(not each.missed and all(map(is_of_counts, each.differences)) for each in found)
    return 0 if alike else 1


if __name__ == "__main__":
    sys.exit(main())
