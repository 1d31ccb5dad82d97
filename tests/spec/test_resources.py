"""Specs are found in a checkout and in an installed package that carries them inside."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import attndsl
from attndsl.base import package_files
from attndsl.base.errors import InternalError

PACKAGE = Path(attndsl.__file__).parent


def test_the_checkout_is_used_where_there_is_one():
    assert (package_files.specs_dir() / "incre_flash_attention.py").is_file()
    with pytest.raises(InternalError, match="'nothing'"):
        package_files.resource_dir("nothing")


def test_an_installed_package_carries_its_specs(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "attndsl", ignore=shutil.ignore_patterns("__pycache__", "emulator"))
    shutil.copytree(package_files.specs_dir(), tmp_path / "attndsl" / "_data" / "specs")
    code = (
        "from attndsl import ops; from attndsl.base.package_files import specs_dir; "
        "print(specs_dir(), ops.incre_flash_attention.where)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=True,
    )
    folder, line = done.stdout.split()
    assert folder == str(tmp_path / "attndsl" / "_data" / "specs")
    assert line.startswith("incre_flash_attention.py:")


def test_ops_lists_the_shipped_operators():
    from attndsl.api import ops

    assert "incre_flash_attention" in dir(ops)
    assert not hasattr(ops, "no_such_operator")
