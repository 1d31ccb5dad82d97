"""Programs of ATB's kernels (ascend-transformer-boost).

A checkout is read where it is: its kernels and the tiling that plans their launches, compiled as they stand
against the headers of a CANN; hosts of ours in ``atb_host`` call them, and stand for the little of ATB's host
library that the tiling asks for. Nothing of the checkout is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attndsl.base.disk_cache import content_key, make_entry
from attndsl.emulator.program import Program, build_program
from attndsl.emulator.vendor_headers import VendorHeaders
from attndsl.target import DEFAULT_DEVICE, device

_HOSTS = Path(__file__).parent / "atb_host"
_KERNELS = Path("src/kernels")
_LIBRARY_HEADERS = (
    "tensor",
    "types",
    "launch_param",
    "kernel_info",
    "utils/SVector/SVector",
    "utils/assert/assert",
    "utils/checktensor/check_tensor",
    "utils/compare/compare",
    "utils/const/op_const",
    "utils/log/log",
    "utils/math/math",
    "utils/platform/platform_info",
    "utils/status/status",
)
"""What sources include of ATB's host library: all of it is ``atb_host/mki.h``."""


@dataclass(frozen=True)
class Operation:
    """A folder of kernels, and the name of the sources that plan their launches."""

    folder: str
    tiling: str


FLASH = Operation("unpad_flash_attention", "flash_attention_tiling")
PAGED = Operation("pagedattention", "paged_attention_tiling")
LATENT = Operation("multi_latent_attention", "mla_tiling")


@dataclass(frozen=True)
class Atb:
    """A checkout, and the headers that its kernels are compiled against."""

    checkout: Path
    headers: VendorHeaders

    def program(self, host: str, kernel: str, operation: Operation) -> Program:
        """One of our hosts with a kernel's source and its tiling.

        Raises:
            EmulatorError: it does not compile.
        """
        kernels = self.checkout / _KERNELS
        operation_folder = kernels / "mixkernels" / operation.folder
        tiling = [operation_folder / f"tiling/{operation.tiling}{part}.cpp" for part in ("", "_dependency")]
        return build_program(
            _HOSTS / host,
            sources=[operation_folder / "op_kernel" / kernel, *tiling],
            include_dirs=[_library(), kernels, kernels / "include", operation_folder / "tiling", _HOSTS],
            headers=self.headers,
        )


def _library() -> Path:
    """A folder with the headers of ATB's host library, the same in every run: it is in the key of a build."""

    def write(folder: Path) -> None:
        for header in _LIBRARY_HEADERS:
            file = folder / "mki" / f"{header}.h"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f'#include "{_HOSTS / "mki.h"}"\n')

    return make_entry(
        f"atb-host-{content_key(str(_HOSTS).encode(), *(h.encode() for h in _LIBRARY_HEADERS))}", write
    )


def words_of(*values: object) -> tuple[str, ...]:
    """A command line of one of our hosts, which begins with the number of cube cores."""
    return (str(device(DEFAULT_DEVICE).aic), *map(str, values))
