"""Two processes that compile one kernel at once, with an empty cache: both run it, and one of each entry is
left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attndsl.emulator.toolchain import find_compiler

PROBE = """
import sys, time
import numpy as np
from pathlib import Path
from attndsl.cli.doctor import _KERNEL
from attndsl.emulator import Argument, build

mine, other = map(Path, sys.argv[1:])
mine.touch()
while not other.exists():  # both have imported everything: now they compile at once
    time.sleep(0.001)
out = np.zeros(8, np.int32)
report = build(_KERNEL, entry="probe").run(1, [Argument("out", out)])
assert report.ok, report.findings
print(out[0])
"""


@pytest.mark.long
@pytest.mark.skipif(find_compiler() is None, reason="needs a C++ compiler")
def test_two_processes_compile_one_kernel(tmp_path: Path) -> None:
    cache, ready = tmp_path / "cache", [tmp_path / "first", tmp_path / "second"]
    environment = {**os.environ, "ATTNDSL_CACHE_DIR": str(cache)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROBE, str(mine), str(other)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for mine, other in (ready, reversed(ready))
    ]
    ended = [(*each.communicate(timeout=280), each.returncode) for each in running]
    assert [(out.strip(), code) for out, _, code in ended] == [("42", 0)] * 2, ended
    folders = [path.name for path in cache.iterdir() if path.is_dir()]
    assert sorted(name.partition("-")[0] for name in folders) == ["emulator", "kernel"]
