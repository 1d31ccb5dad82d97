"""Tables of the pages that the code prints: ``<!-- print: NAME -->`` in a page stands for one of them.

MkDocs calls :func:`on_page_markdown`, see mkdocs.yml. Nothing here says what the code says already.
``python docs/printed_tables.py writing/kernels.md`` prints a page with its tables.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any

from attndsl.base.package_files import resource_dir, specs_dir
from attndsl.cli.profile_page.pictures import pictures
from attndsl.graph.nodes import AXIS_MEANINGS
from attndsl.lowering.keys.compositions import COMPOSITIONS, WRITTEN, Kind
from attndsl.lowering.keys.source_rules import SOURCES
from attndsl.lowering.masks.mask_rules import MASK_KINDS
from attndsl.lowering.match.option_couplings import COUPLINGS
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.lowering.operands.elementwise_ops import OPERATIONS
from attndsl.lowering.preconditions import IO_DTYPES, RULES
from attndsl.lowering.results.elementwise_results import FORMS
from attndsl.lowering.ways import WAYS
from attndsl.spec.operator.loader import load_file
from attndsl.spec.operator.starting_specs import kinds
from attndsl.target import DEFAULT_DEVICE, device, device_names
from attndsl.tile.instructions import instruction_classes

_UNBUILT = re.compile(r"^<!-- unbuilt -->\n.*?^<!-- /unbuilt -->\n", re.MULTILINE | re.DOTALL)
"""What a page says to those who read it in the repository."""
_MARK = re.compile(r"^<!-- print: (.*) -->$", re.MULTILINE)


class UnknownTableError(ValueError):
    """A page asks for a table that nothing prints."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with its tables.

    Raises:
        UnknownTableError: nothing prints a table of this name.
    """

    def printed(mark: re.Match[str]) -> str:
        if mark[1] not in TABLES:
            raise UnknownTableError(f"no table is called '{mark[1]}'; there are {', '.join(TABLES)}")
        return "\n".join(TABLES[mark[1]]())

    return _MARK.sub(printed, _UNBUILT.sub("", markdown))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _first_sentence(documented: object) -> str:
    text = " ".join((documented.__doc__ or "").split("\n\n")[0].split()).replace("``", "`")
    return re.split(r"(?<=[a-z`])[.:;] ", text)[0].rstrip(".")


def axes() -> Iterator[str]:
    """The letters of axes."""
    yield from _table(("letter", "counts"), ((f"`{axis}`", says) for axis, says in AXIS_MEANINGS.items()))


def masks() -> Iterator[str]:
    """The kinds of masks, as the lowering tries them."""
    lowered = (kind for kind in MASK_KINDS if kind.form)
    yield from _table(("kind", "form"), ((kind.name, kind.form) for kind in lowered))


def sources() -> Iterator[str]:
    """The sources of keys and values."""
    yield from _table(
        ("source", "what it reads"), ((each.__name__, _first_sentence(each)) for each in SOURCES)
    )


def compositions() -> Iterator[str]:
    """The sources of rows that adapt others, and which."""

    def names(kinds: Iterable[Kind]) -> str:
        return ", ".join(f"`{WRITTEN[kind]}`" for kind in kinds)

    told = (
        (names([kind]), "every source" if len(each.over) == len(WRITTEN) else names(each.over))
        for kind, each in COMPOSITIONS.items()
    )
    yield from _table(("written", "of the rows of"), told)


def operations() -> Iterator[str]:
    """The elementwise operations of scores and of results."""
    yield f"Of scores and of results: {', '.join(f'`{name}`' for name in OPERATIONS)}."
    yield ""
    yield f"{FORMS[0].upper()}{FORMS[1:]}."


def dtypes() -> Iterator[str]:
    """The dtypes of queries."""
    yield f"Queries, keys and values are {', '.join(f'`{name}`' for name in IO_DTYPES)}."


def rules() -> Iterator[str]:
    """What must hold of a computation besides."""
    yield from _table(
        ("rule", "why"), ((rule.__name__.replace("_", " "), _first_sentence(rule)) for rule in RULES)
    )


def starting_kinds() -> Iterator[str]:
    """The kinds of ``attndsl new``."""
    folder = specs_dir() / "starting"
    texts = ((kind, (folder / f"{kind.replace('-', '_')}.py").read_text()) for kind in kinds())
    yield from _table(("kind", "what it computes"), ((f"`{kind}`", _summary(text)) for kind, text in texts))


def gallery() -> Iterator[str]:
    """Each variant of the shelf with its spec, and pictures of its kernel at work."""
    for path in sorted((specs_dir() / "variants").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield from (f"## {path.stem}", "", f"{_summary(text)}.", "")
        yield from (f'```python title="specs/variants/{path.name}"', text.rstrip(), "```", "")
        yield from (pictures(load_file(path)), "")


def instructions() -> Iterator[str]:
    """The calls of the AscendC API that kernels are made of, with the class that is one."""
    rows = sorted(
        (f"`{api}`", f"`{each.__name__}`", each.__module__.rpartition(".")[2], each.pipe.value)
        for each in instruction_classes().values()
        for api in each.api_names()
    )
    yield from _table(("AscendC", "class", "file of `tile/instructions`", "pipe"), rows)


def devices() -> Iterator[str]:
    """The devices by name."""
    rows = (
        (
            f"`{each.name}`",
            f"{each.title}{', the default' if each.name == DEFAULT_DEVICE else ''}",
            f"{each.aic} + {each.aiv}",
            f"{each.clock / 1e9:.2f} GHz",
            f"{each.l2_bytes >> 20} MiB",
            f"{each.global_memory >> 30} GiB",
        )
        for each in map(device, device_names())
    )
    yield from _table(("name", "device", "cube + vector cores", "clock", "L2", "memory"), rows)


def options() -> Iterator[str]:
    """The schedule options, and what their values mean, from the docstring of the class."""
    told = option_meanings()
    yield from _table(("option", "what it decides"), ((f"`{name}`", text) for name, text in told.items()))


def option_meanings() -> dict[str, str]:
    """What the docstring of schedules says of each option."""
    lines = cleandoc(Schedule.__doc__ or "").partition("Attributes:\n")[2].splitlines()
    found, name = dict[str, str](), ""
    for line in lines:
        begins = re.match(r"    (\w+): (.*)", line)
        name = begins[1] if begins else name
        text = begins[2] if begins else line.strip()
        found[name] = f"{found.get(name, '')} {text.replace('``', '`')}".strip()
    return {
        name: re.sub(r'("\w+")', r"`\1`", text.replace(":data:", "")).rstrip(".")
        for name, text in found.items()
    }


def couplings() -> Iterator[str]:
    """The schedule options that others bound."""
    architecture = device(DEFAULT_DEVICE).architecture
    told = (
        (f"`{each.option}`", each.rule_of("`{}`", architecture), "refused" if each.asserted else "kept")
        for each in COUPLINGS
    )
    yield from _table(("option", "left open, it is lowered to", "stated otherwise, it is"), told)


def ways() -> Iterator[str]:
    """The values of schedule options that not every computation can have."""
    told = (
        (f"`{way.option}={way.value!r}`", words, f"`{way.other!r}`")
        for way in WAYS
        for words, _ in way.obstacles
    )
    yield from _table(("value", "is refused", "the nearest legal value"), told)


def modules() -> Iterator[str]:
    """Every module, package by package, with what it says of itself first."""
    root, found = resource_dir("attndsl"), dict[str, list[tuple[str, str]]]()
    for path in sorted(each for each in root.rglob("*.py") if each.name != "__init__.py"):
        folder = path.parent.relative_to(root).as_posix()
        says = re.sub(r":\w+:(?=`)", "", _summary(path.read_text(encoding="utf-8"))).replace("``", "`")
        found.setdefault(folder, []).append((f"`{path.name}`", says))
    for folder, rows in found.items():
        title = "attndsl" if folder == "." else folder
        yield from (f"## {title}", "", *_table(("file", "what it holds"), rows), "")


def missed() -> Iterator[str]:
    """Committed figures that miss what is asked; float16 and bfloat16 once if they are alike."""
    sys.path.insert(0, str(resource_dir("bench")))
    from kernels import committed_misses

    told = [
        (name.removesuffix(" bf16").removesuffix(" fp16"), f"{us:,.1f}", aim.reached, aim.asked)
        for name, us, aim in committed_misses()
    ]
    yield from _table(("figure", "us", "reached", "asked"), dict.fromkeys(told))


def _summary(text: str) -> str:
    """The first sentence of a file's docstring."""
    return (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0].replace("\n", " ").rstrip(".")


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    each.__name__: each
    for each in (
        *(axes, masks, sources, compositions, operations, dtypes, rules),
        *(starting_kinds, gallery, instructions, options, couplings, ways, devices, modules, missed),
    )
}

if __name__ == "__main__":
    for page in sys.argv[1:]:
        print(on_page_markdown((Path(__file__).parent / page).read_text(encoding="utf-8")))
