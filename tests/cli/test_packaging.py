"""What a wheel and a source distribution hold, built without a network."""

from __future__ import annotations

import email
import email.message
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
pytest.importorskip("hatch_fancy_pypi_readme")
ROOT = Path(__file__).parents[2]


def files_of(folder: str) -> set[str]:
    """The files of a folder of the repository by their paths from its root."""
    found = (ROOT / folder).rglob("*")
    return {
        str(path.relative_to(ROOT)) for path in found if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    offline = {**os.environ, "https_proxy": "http://127.0.0.1:9", "PIP_NO_INDEX": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=offline, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("attndsl-*-py3-none-any.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def source(built: Path) -> Path:
    (path,) = built.glob("attndsl-*.tar.gz")
    with tarfile.open(path) as archive:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.4 and newer
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(built)
    return built / path.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(wheel.read(name))


def test_a_wheel_holds_the_package_with_its_specs_and_templates_and_nothing_else(
    wheel: zipfile.ZipFile,
) -> None:
    wanted = files_of("attndsl") | {
        f"attndsl/_data/{each}" for each in files_of("specs") | files_of("templates")
    }
    assert {each for each in wheel.namelist() if ".dist-info/" not in each} == wanted
    for kind in ("emulator/include/", "emulator/src/", "campaign/recorded/"):
        assert any(each.startswith(f"attndsl/{kind}") for each in wanted), kind
    told = {each.rpartition("/")[2] for each in wheel.namelist() if ".dist-info/" in each}
    assert told == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "LICENSE"}


def test_a_wheel_says_what_an_index_asks_for(metadata: email.message.Message) -> None:
    assert metadata["Author"] == "attndsl developers" and metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    classifiers = set(metadata.get_all("Classifier") or ())
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)} <= classifiers
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert metadata["Version"] == version and version in (ROOT / "CHANGELOG.md").read_text()


def test_the_page_on_an_index_has_no_link_to_a_file(metadata: email.message.Message) -> None:
    page = str(metadata.get_payload())
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert [each for each in links if not each.startswith("https://")] == []
    assert "docs/architecture.md" in page and page.startswith("# attndsl\n")
    assert re.search(r"\]\((?!https://)", (ROOT / "README.md").read_text()), "nothing to take out any more"


def test_a_source_distribution_has_what_the_commands_of_the_readme_need(source: Path) -> None:
    folders = (".ci", "attndsl", "specs", "templates", "generated", "tests", "docs", "bench")
    wanted = {each for folder in folders for each in files_of(folder)}
    wanted |= {
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "pyproject.toml",
        "mkdocs.yml",
        "PKG-INFO",
        ".gitignore",
    }
    assert {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()} == wanted
    commands = re.findall(r"^    (sh .*)$", (source / "README.md").read_text(), re.MULTILINE)
    scripts = {words[1] for each in commands if (words := each.split())}
    assert len(commands) == 2 and scripts == {".ci/prepare"}
    generate = [*_after_preparation(commands[0], "generate"), "--dtype", "float16", "--feature", "none"]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    run = [sys.executable, "-m", "attndsl", *generate]
    done = subprocess.run(run, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (source / "out/incre_flash_attention/build.sh").is_file()
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/base", "tests/cli"]
    done = subprocess.run(collect, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "test_packaging.py" in done.stdout, done.stdout + done.stderr


def _after_preparation(line: str, command: str) -> list[str]:
    """The words behind ``attndsl`` of one command of a line."""
    (found,) = (part for part in line.split("&&") if f"attndsl {command} " in part)
    return found.split()[1:]
