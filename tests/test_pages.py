"""Pages for authors: commands print what the pages say, and the site is built without a broken link."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import attndsl
from attndsl.lowering.match.schedule_options import Schedule, legal_values
from attndsl.lowering.ways import WAYS
from attndsl.target import DEFAULT_DEVICE, device
from tests.support.markdown_commands import Command, File, matches, run, steps
from tests.support.stable_folders import tmp_path, tmp_path_factory

__all__ = ["tmp_path", "tmp_path_factory"]

ROOT = Path(attndsl.__file__).parents[1]
PAGES = ("tutorial.md", "writing/errors.md")
MISSING = [name for name in ("mkdocs", "material", "mkdocstrings") if importlib.util.find_spec(name) is None]
WITH_DOCS = pytest.mark.skipif(
    bool(MISSING), reason=f"{' and '.join(MISSING)} not installed: pip install '.[docs]' builds the site"
)


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_print_what_it_says(page: str, tmp_path: Path) -> None:
    found = list(steps((ROOT / "docs" / page).read_text()))
    assert any(isinstance(each, Command) for each in found)
    for step in found:
        assert run(step, tmp_path) == ""


def test_all_pages_with_commands_are_run() -> None:
    with_commands = {
        path.relative_to(ROOT / "docs").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if any(isinstance(each, Command) for each in steps(path.read_text()))
    }
    assert with_commands == set(PAGES)


def test_every_page_is_in_the_navigation_once() -> None:
    pages = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))
    named = re.findall(r"- (?:[^:\n]*: )?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(named) == pages


PAGE = """
```python title="made.py"
print("one")
print("took 3.5 s")
```

```console
$ python made.py
one
took 12 s
$ ls
made.py
```
"""


def test_files_are_written_and_outputs_compared(tmp_path: Path) -> None:
    file, first, second = steps(PAGE)
    assert isinstance(file, File) and file.name == "made.py"
    assert [run(each, tmp_path) for each in (file, first, second)] == ["", "", ""]
    told = run(Command("python made.py", "two\n..."), tmp_path)
    assert told == "$ python made.py\n--- the page\ntwo\n...\n--- printed\none\ntook 3.5 s\n"


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a\n...\nd", "a\nb\nc\nd\n", True),
        ("a\n...\nd", "a\nd\n", True),
        ("...\nd", "a\nb\n", False),
        ("a ... c", "a b c\n", True),
        ("a ... c", "a b\nc\n", False),
        ("a", "a\nb\n", False),
        ("4 pass", "5 pass\n", False),
        ("done, 30 s", "done, 4.2 s\n", True),
        ("done, 30 us", "done, 31 us\n", False),
    ],
)
def test_dots_are_any_text_and_only_seconds_are_not_compared(expected: str, printed: str, same: bool) -> None:
    assert matches(expected, printed) is same


def built(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "-d", str(site)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_page_is_printed_with_its_tables_without_the_site() -> None:
    command = [sys.executable, "docs/printed_tables.py", "writing/axes.md"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "| `T` | key positions of a batch row |" in printed
    assert "<!--" not in printed and "printed_tables.py" not in printed


def test_the_page_on_schedules_says_what_each_option_decides_and_when_its_values_are_refused() -> None:
    command = [sys.executable, "docs/printed_tables.py", "writing/schedule.md"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    table = printed.split("| option | what it decides |")[1].split("\n\n")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE))
    assert told.keys() == {each.name for each in fields(Schedule)}
    for name, legal in legal_values(device(DEFAULT_DEVICE)).items():
        assert len(told[name].split()) > 3, name
        assert all(f'`"{word}"`' in told[name] for word in legal.words if word != "auto"), name
    for way in WAYS:
        for words, _ in way.obstacles:
            assert f"| `{way.option}={way.value!r}` | {words} | `{way.other!r}` |" in printed


def test_the_page_on_modules_has_each_with_a_sentence() -> None:
    command = [sys.executable, "docs/printed_tables.py", "modules.md"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^\| `(\w+\.py)` \| (.+) \|$", printed, re.MULTILINE)
    files = [each.name for each in (ROOT / "attndsl").rglob("*.py") if each.name != "__init__.py"]
    assert sorted(name for name, _ in rows) == sorted(files)
    assert [name for name, says in rows if len(says.split()) < 3] == []


def test_pages_that_lack_something_in_the_repository_say_how_to_read_them() -> None:
    for path in (ROOT / "docs").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        page = path.relative_to(ROOT / "docs").as_posix()
        made = re.search(r"^(<!-- print:|:::)", text, re.MULTILINE)
        told = f"docs/printed_tables.py {page}`" in text or "python -m pydoc" in text
        assert told is bool(made), page


@WITH_DOCS
def test_the_site_is_built(tmp_path: Path) -> None:
    done = built(ROOT, tmp_path)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    kernels = (tmp_path / "writing" / "kernels.html").read_text()
    assert "a mask that is tested key by key" in kernels and "print:" not in kernels
    assert 'id="attndsl.spec.authoring.attend.paged"' in (tmp_path / "writing" / "functions.html").read_text()
    variants = {path.stem for path in (ROOT / "specs" / "variants").glob("*.py")}
    gallery = (tmp_path / "gallery.html").read_text()
    assert variants and all(f'id="{name}"' in gallery for name in variants)
    assert (
        gallery.count('aria-label="timeline"') == gallery.count('aria-label="UB over time"') == len(variants)
    )


@WITH_DOCS
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("[gone](gone.md)", "gone.md"),
        ("[part](writing/masks.md#gone)", "#gone"),
        ("<!-- print: gone -->", "no table is called 'gone'"),
        ("::: attndsl.gone", "attndsl.gone"),
    ],
)
def test_what_a_page_names_and_there_is_not_fails_the_build(wrong: str, said: str, tmp_path: Path) -> None:
    for name in ("docs", "mkdocs.yml", "attndsl"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "docs").unlink()
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    with (tmp_path / "docs" / "index.md").open("a") as page:
        page.write(f"\n{wrong}\n")
    done = built(tmp_path, tmp_path / "site")
    assert done.returncode != 0 and said in done.stderr
