"""Pages are in step with the code: words of the glossary, files and names of recipes, schedule options."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

import attndsl
from attndsl.lowering.match import schedule_options
from attndsl.lowering.match.schedule_options import (
    MANY_ROWS,
    OF_NARROW_SCORES,
    Legal,
    Schedule,
    legal_values,
)
from attndsl.target import device, device_names

ROOT = Path(attndsl.__file__).parent
DOCS = ROOT.parent / "docs"
GLOSSARY = DOCS / "glossary.md"
WALK = DOCS / "from_spec_to_line.md"
BUILT = (
    DOCS / "architecture.md",
    WALK,
    *sorted(DOCS.glob("packages/*.md")),
    *sorted(DOCS.glob("passes/*.md")),
)
"""The pages about how it is built."""


@cache
def code() -> str:
    """All of the package's Python, and that of its tests except for this file."""
    files = (path for folder in (ROOT, Path(__file__).parent) for path in sorted(folder.rglob("*.py")))
    return "\n".join(path.read_text() for path in files if path != Path(__file__))


def words(page: str) -> list[str]:
    """The words that a glossary explains, without what stands in parentheses."""
    rows = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", page, re.MULTILINE)
    return [re.sub(r" \(.*\)", "", row) for row in rows if row != "word"]


def unknown(page: str) -> list[str]:
    """Words of a glossary that the code has in no form: ``access set``, ``access_sets`` or ``AccessSet``."""
    return [word for word in words(page) if not re.search(pattern(word), code())]


def pattern(word: str) -> str:
    """Matches a word of one or more parts, as prose or as a name; not as a part of another word."""
    parts = re.split(r"[\s-]", word)
    prose = r"[\s_-]+".join(map(re.escape, parts))
    camel = "".join(part.capitalize() for part in parts)
    return rf"(?<![A-Za-z])(?i:{prose})s?(?![a-z])|{camel}s?(?![a-z])"


def test_every_word_of_the_glossary_is_in_the_code() -> None:
    page = GLOSSARY.read_text()
    assert len(words(page)) > 40
    assert unknown(page) == []


@pytest.mark.parametrize("word", ["hidden handover", "ipelin", "wait set"])
def test_a_word_that_is_not_in_the_code_is_found(word: str) -> None:
    known = words(GLOSSARY.read_text())[0]
    assert unknown(f"| {known} | one that is there |\n| {word} | a planted word |\n") == [word]


def test_words_are_in_order_and_each_is_explained_once() -> None:
    found = words(GLOSSARY.read_text())
    assert found == sorted(set(found))


@cache
def tree() -> tuple[str, ...]:
    """The Python files of the project, from its root."""
    folders = (ROOT.parent / name for name in ("attndsl", "bench", "docs", "specs", "tests"))
    found = (path for folder in folders for path in folder.rglob("*.py"))
    return tuple(sorted(path.relative_to(ROOT.parent).as_posix() for path in found))


def files(name: str, package: str) -> list[str]:
    """The files that a page means by a path, or by the end of one: those of its own package, if it has any.

    ``NAME``, ``KIND`` and ``*`` stand for any word.
    """
    pattern = re.compile("(?:.*/)?" + re.sub(r"NAME|KIND|\*", "[^/]+", name.replace(".", r"\.")) + "$")
    found = [path for path in tree() if pattern.match(path)]
    return [path for path in found if path.startswith(f"attndsl/{package}/")] or found


@cache
def defined(path: str) -> frozenset[str]:
    """The names that a file defines: functions, classes, variables and fields."""
    found = set()
    for node in ast.walk(ast.parse((ROOT.parent / path).read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)


def named(page: str) -> Iterator[tuple[str, str]]:
    """The names that a page says to be those of a file, each with the file.

    They are written "`NAME` of `file`", "`NAME` in `file`" or "`file` (`NAME`, ...)".
    """
    before = re.findall(r"((?:`\w+`(?:, | and | or |\s+))+)(?:of|in)\s+`([\w/*]+\.py)`", page)
    behind = re.findall(r"`([\w/*]+\.py)`\s+\(((?:`\w+`(?:,? and | or |,\s+|\s+)?)+)", page)
    for names, name in [*before, *((names, name) for name, names in behind)]:
        yield from ((each, name) for each in re.findall(r"`(\w+)`", names))


def missing(page: str, package: str = "") -> Iterator[str]:
    """What a page names that the tree has not: a file, or a name in one."""
    for name in re.findall(r"`([\w/*]+\.py)`", page):
        if not files(name, package):
            yield name
    for each, name in named(page):
        candidates = [defined(path) for path in files(name, package)]
        if candidates and not any(each in found for found in candidates):
            yield f"{each} of {name}"


@cache
def computed(path: str) -> frozenset[str]:
    """The constants of a file that are computed of others, element by element: nobody adds a line to them."""
    found = set()
    for node in ast.parse((ROOT.parent / path).read_text()).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        comprehensions = (ast.SetComp, ast.DictComp, ast.ListComp, ast.GeneratorExp)
        if any(isinstance(part, comprehensions) for part in ast.walk(node.value)):
            found |= {each.id for each in targets if isinstance(each, ast.Name)}
    return frozenset(found)


def tables_without_lines(page: str, package: str = "") -> Iterator[str]:
    """Tables that a recipe sends its reader to, but that have no line to add."""
    for each, name in named(page):
        if any(each in computed(path) for path in files(name, package)):
            yield f"{each} of {name}"


@pytest.mark.parametrize("path", BUILT, ids=lambda path: path.stem)
def test_the_files_and_names_of_a_page_exist(path: Path) -> None:
    assert list(missing(path.read_text(), path.stem)) == []


@pytest.mark.parametrize("path", BUILT, ids=lambda path: path.stem)
def test_tables_that_a_page_names_are_written_by_hand(path: Path) -> None:
    assert list(tables_without_lines(path.read_text(), path.stem)) == []


def test_a_table_that_is_computed_is_found() -> None:
    page = (
        "names in `_VECTOR` of `mutate/instructions.py`, fields in `PARAMETERS` of `mutate/instructions.py`"
    )
    assert list(tables_without_lines(page)) == ["_VECTOR of mutate/instructions.py"]


def test_files_and_names_that_are_not_there_are_found() -> None:
    right = (
        "`PARAMETERS` of `mutate/instructions.py`, `_BINARY`, `_SHIFTS` in `arithmetic.py`, `scores/NAME.py`"
    )
    assert list(missing(right, "tile")) == []
    wrong = (
        "`PARAMETERS` of `mutate/event_rules.py`, `_BINARY`, `_SHIFT` in\n`arithmetic.py`, `mutate/gone.py`"
    )
    expected = ["mutate/gone.py", "PARAMETERS of mutate/event_rules.py", "_SHIFT of arithmetic.py"]
    assert list(missing(wrong, "tile")) == expected
    assert list(missing("`gone/NAME.py`", "tile")) == ["gone/NAME.py"]
    assert list(missing("`arithmetic.py` (`_BINARY`, and\n`_SHIFTS` where it shifts)", "tile")) == []
    behind = "`arithmetic.py` (`_BINARIES`, and `_SHIFT`; `_SHIFTED`)"
    assert list(missing(behind, "tile")) == ["_BINARIES of arithmetic.py", "_SHIFT of arithmetic.py"]


def unlisted(page: str, package: str) -> list[str]:
    """The modules of a package that its page does not name, if it is one that lists them: as items, or in a
    table of modules."""
    items = re.findall(r"^(?:- |1\. )`\w+\.py`", page, re.MULTILINE)
    if len(items) < 3 and "| module |" not in page:
        return []
    named = set(re.findall(r"`(?:\w+/)*(\w+)(?:\.py)?`", page))
    return sorted({path.stem for path in (ROOT / package).glob("*.py")} - named - {"__init__"})


PACKAGES = sorted(DOCS.glob("packages/*.md"))


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.stem)
def test_a_page_that_lists_modules_lists_all_of_them(path: Path) -> None:
    assert unlisted(path.read_text(), path.stem) == []


@pytest.mark.parametrize(("package", "line"), [("base", "- `jobs.py`"), ("expr", "| `fold`")])
def test_a_module_that_a_page_leaves_out_is_found(package: str, line: str) -> None:
    page = (DOCS / "packages" / f"{package}.md").read_text()
    (whole,) = (each for each in page.splitlines() if each.startswith(line))
    left = unlisted(page.replace(whole, ""), package)
    assert left and set(left) <= set(re.findall(r"`(\w+?)(?:\.py)?`", whole))


def options(page: str) -> dict[str, tuple[str, str]]:
    """What the table of schedule options says of each: its values, and its default up to a condition."""
    table = page.split("| option | values | default |")[1].split("\n\n")[0]
    found = {}
    for names, values, default in re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|", table, re.MULTILINE):
        for name in re.findall(r"`(\w+)`", names):
            found[name] = (values, default)
    return found


def told(legal: Legal, most: str = "") -> str:
    """Legal values as the table states them."""
    few = not most and (legal.low, legal.high, legal.multiple) == (1, 2, 1)
    numbers = ["1, 2" if few else f"{legal.low} to {most or legal.high}"] if legal.high else []
    times = [f"times {legal.multiple}"] if legal.multiple > 1 else []
    return ", ".join([*numbers, *times, *(f'`"{word}"`' for word in legal.words)])


def test_the_table_of_schedule_options_is_that_of_the_code() -> None:
    found = options((DOCS / "writing" / "schedule.md").read_text())
    assert found.keys() == {each.name for each in fields(Schedule)}
    for name, legal in legal_values(device(device_names()[0])).items():
        most = "the device's cube cores" if name == "cores" else ""
        assert found[name][0] == told(legal, most), name
    for name, value in asdict(Schedule()).items():
        stated = f'`"{value}"`' if isinstance(value, str) else str(value)
        assert re.split(r"[;:,]", found[name][1])[0] == stated, name
    tables = [value for name, value in vars(schedule_options).items() if name.startswith("OF_")]
    assert len(tables) >= 5
    for name, value in (("max_rows", MANY_ROWS), *(each for table in tables for each in table.items())):
        of_narrow = (name, value) in OF_NARROW_SCORES.items()
        where = found["score_dtype" if of_narrow else name][1].partition(";")[2]
        assert str(value) in re.findall(r"\w+", where), (name, value)


def foreign(page: str) -> list[str]:
    """The first lines of a page's blocks that no file named in their section has as a whole: line after line,
    indented alike."""
    found = []
    for section in page.split("\n## ")[1:]:
        named = re.findall(r"`(?:specs/)?(\w+\.(?:py|h))`", section)
        texts = [text for name in named for text in _shown(name)]
        blocks = [
            block.splitlines() for block in re.findall(r"^```\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
        ]
        assert blocks, section
        found += [block[0] for block in blocks if not any(_holds(text, block) for text in texts)]
    return found


def _shown(name: str) -> list[list[str]]:
    """The lines of the spec, or of the generated kernels, of a name."""
    root = ROOT.parent
    paths = [root / "specs" / name, *root.glob(f"generated/*/op_kernel/{name}")]
    return [path.read_text().splitlines() for path in paths if path.exists()]


def _holds(lines: list[str], block: list[str]) -> bool:
    runs = ("\n".join(lines[i : i + len(block)]) for i in range(len(lines)))
    return any(dedent(run) == dedent("\n".join(block)) for run in runs)


def test_the_blocks_of_the_walks_are_those_of_the_spec_and_the_kernel() -> None:
    assert foreign(WALK.read_text()) == []


@pytest.mark.parametrize(
    ("shown", "instead"),
    [
        ("Add(score, score,", "Sub(score, score,"),
        ("(spec line 174)", "(self_attention.py:174)"),
        ("PipeBarrier<PIPE_V>();\nAdd(", "Add("),
        ("    PipeBarrier<PIPE_V>();\n    Muls(", "PipeBarrier<PIPE_V>();\nMuls("),
    ],
    ids=["another call", "another comment", "a line is left out", "other indentation"],
)
def test_a_block_that_is_not_in_the_kernel_is_found(shown: str, instead: str) -> None:
    page = WALK.read_text()
    assert shown in page
    changed = "// score + mask * maskFactor  (spec line 174)".replace(shown, instead)
    assert foreign(page.replace(shown, instead)) == [changed]


def lengths(folder: Path) -> str:
    """The lines of the shortest and of the longest file of a folder."""
    counts = [len(path.read_text().splitlines()) for path in folder.glob("*.py")]
    return f"{min(counts)} to {max(counts)}"


def test_pages_say_how_long_specs_are(tmp_path: Path) -> None:
    specs = ROOT.parent / "specs"
    variants, readme = lengths(specs / "variants"), (ROOT.parent / "README.md").read_text()
    assert f"{variants} lines for a variant of attention, {lengths(specs)} for those shipped" in readme
    assert f"variants of {variants} lines" in readme
    assert f"specs of {variants} lines" in (DOCS / "variants.md").read_text()
    for name, count in (("short", 2), ("long", 5)):
        (tmp_path / f"{name}.py").write_text("x = 1\n" * count)
    assert lengths(tmp_path) == "2 to 5"
