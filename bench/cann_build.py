"""Programs of the kernels that CANN ships as source.

They are read where they are, in the user's CANN, and compiled against its headers; hosts of ours in
``cann_host`` plan and launch them, as the operator's own host library has no public source for this version.
A kernel is compiled as CANN's own source instantiates it for one tiling key. Nothing of CANN is stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from attndsl.emulator.program import Program, build_program
from attndsl.emulator.vendor_headers import VendorHeaders

_HOSTS = Path(__file__).parent / "cann_host"
_KERNELS = Path("opp/built-in/op_impl/ai_core/tbe/impl/ascendc")
_BRANCH = re.compile(r"\bTILING_KEY_IS\s*\(\s*(\d+)(?:UL)?\s*\)(.*?)(?=\bTILING_KEY_IS\b|\Z)", re.DOTALL)
_CALL = re.compile(r"\bINVOKE_\w+\(\s*(\w+)\s*,([^()]*)\)")


@dataclass(frozen=True)
class Instance:
    """What CANN's source does for a tiling key: a class of its kernels, the arguments of its types, how many
    vector cores a block has.
    """

    kernel: str
    arguments: str
    ratio: int


def instance_for(key: int, source: str) -> Instance:
    """What a kernel function's text calls for a tiling key on Atlas A2.

    Raises:
        ValueError: it has nothing for the key.
    """
    for branch in _BRANCH.finditer(source):
        called = _CALL.search(branch[2])
        if int(branch[1]) == key and called:
            arguments = ",".join(word.strip() for word in called[2].split(","))
            return Instance(called[1], arguments, 1 if "KERNEL_TYPE_MIX_AIC_1_1" in branch[2] else 2)
    raise ValueError(f"the source has no kernel for tiling key {key}")


@dataclass(frozen=True)
class Cann:
    """An installed CANN 8 with the sources of its operators."""

    headers: VendorHeaders

    def program(self, operator: str, host: str, key: int) -> Program:
        """One of our hosts with the kernel that an operator's source has for a tiling key.

        Raises:
            EmulatorError: it does not compile.
            ValueError: there is no kernel for the key.
        """
        kernels = self.headers.root / _KERNELS
        folder = kernels / operator
        instance = instance_for(key, (folder / f"{operator}.cpp").read_text())
        return build_program(
            _HOSTS / f"{host}.cpp",
            sources=[_HOSTS / f"{host}_kernel.cpp"],
            include_dirs=[folder, kernels / "common", _HOSTS],
            defines=[
                f"CANN_KERNEL={instance.kernel}",
                f"CANN_ARGUMENTS={instance.arguments}",
                f"CANN_KIND=KERNEL_TYPE_MIX_AIC_1_{instance.ratio}",
                f"__MIX_CORE_AIC_RATION__={instance.ratio}",  # as the official build says it
            ],
            headers=self.headers,
        )
