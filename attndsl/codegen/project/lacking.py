"""What a project lacks, and why: features without a kernel, kernels without a case, tests and samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attndsl.codegen.samples.device_cases import ATTEMPTS, MOST_INPUTS, MOST_RESULTS, DeviceCase

_SMALL = (
    f"none of {ATTEMPTS} legal calls that were drawn for it has at most {MOST_RESULTS:,} elements of results "
    f"and {MOST_INPUTS:,} of tensors, as cases that travel as text, and a result that tells whether it ran"
)


def lacking(
    kernels: Mapping[str, Sequence[DeviceCase]], not_lowered: Mapping[str, str], *, samples: bool
) -> Iterator[str]:
    """A sentence for each thing that is not there.

    Args:
        kernels: the cases of each kernel, by its name.
        not_lowered: features without a kernel, with the reason.
        samples: whether there is a sample with ``main``, and a call through aclnn.
    """
    for label, reason in not_lowered.items():
        yield f"A kernel for {label}: {reason}."
    without = [name for name, cases in kernels.items() if not cases]
    if len(without) == len(kernels):
        yield f"`test/`, `direct/main.cpp` and `aclnn/`: of each kernel, {_SMALL}."
        return
    for name in without:
        yield f"A case for {name} in `test/`: {_SMALL}."
    if not samples:
        yield (
            "`direct/main.cpp` and `aclnn/`: samples in C++ make their tensors by counting, and each case of "
            "`test/` has one whose elements the contract speaks of."
        )
