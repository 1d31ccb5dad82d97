"""The files of somebody's program, prepared for an ordinary C++ compiler."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from attndsl.emulator.build_definitions import definitions_beside, workspace_place
from attndsl.emulator.conditionals import active_text, defined_names
from attndsl.emulator.device_syntax import has_device_syntax, rewrite_device_syntax
from attndsl.emulator.errors import LaunchError
from attndsl.emulator.launch_syntax import (
    guessed_kind,
    has_launch,
    includes,
    kernels,
    mask,
    packed_launches,
    rewrite_launches,
)
from attndsl.emulator.toolchain import INCLUDE, PRELUDE

_LAUNCH_HEADER = re.compile(r"(?:^|/)aclrtlaunch_(\w+)\.h$")
_SOURCES = ("*.cpp", "*.asc", "*.cc", "*.cxx")


@functools.lru_cache(maxsize=1)
def _names_of_ours() -> frozenset[str]:
    """Macros of the emulator's own headers."""
    return frozenset(defined_names(file.read_text() for file in INCLUDE.rglob("*.h")))


@dataclass
class Unit:
    """A source file with the program's own headers that it reaches; `texts` starts with the file itself.

    `given`: macros that are defined from outside; `perhaps`: those that some text defines.
    """

    path: Path
    texts: dict[Path, str] = field(default_factory=dict)
    resolved: dict[tuple[Path, str], Path] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    perhaps: set[str] = field(default_factory=lambda: set(_names_of_ours()))

    def add(self, file: Path) -> None:
        """Reads a file."""
        self.texts[file] = file.read_text(errors="replace")
        self.perhaps |= defined_names([self.texts[file]])

    def active(self, file: Path) -> str:
        """A file's text without comments and without what the preprocessor leaves out."""
        return active_text(mask(self.texts[file], keep_strings=True), self.given, self.perhaps)

    @property
    def text(self) -> str:
        """The file's own text."""
        return self.texts[self.path]

    def has_kernels(self) -> bool:
        """Whether a file of the unit holds or needs the device's face."""
        return any(re.search(r"__global__|__aicore__|kernel_operator", text) for text in self.texts.values())


def read_unit(path: Path, include_dirs: Sequence[Path], defines: Iterable[str] = ()) -> Unit:
    """Follows the include directives of `path` through the program's own folders.

    `defines`: macros given from outside, ``NAME`` or ``NAME=VALUE``; includes that they rule out are not
    followed.
    """
    unit = Unit(path, given={*defines, *definitions_beside(path)})
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file in unit.texts:
            continue
        unit.add(file)
        for _, _, quoted, name in includes(unit.active(file)):
            folders = [*([file.parent] if quoted else []), *include_dirs, *([path.parent] if quoted else [])]
            for folder in folders:
                target = folder / name
                if target.is_file():
                    unit.resolved[file, name] = target.resolve()
                    waiting.append(target.resolve())
                    break
    return unit


def defined_kernels(texts: Iterable[str]) -> set[str]:
    """Names of the kernels that have a body in one of the texts."""
    return {kernel.name for text in texts for kernel in kernels(text) if kernel.defined}


def _sources_naming(name: str, near: Path, include_dirs: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Source files beside `near`, in the folder's children or in `include_dirs` that speak of `name`."""
    folders = [
        near.parent,
        *sorted(child for child in near.parent.iterdir() if child.is_dir()),
        *include_dirs,
    ]
    for folder in folders:
        for pattern in _SOURCES:
            for file in sorted(folder.glob(pattern)):
                text = file.read_text(errors="replace")
                if file != near and name in text:
                    yield file, text


def find_kernel_file(name: str, near: Path, include_dirs: Iterable[Path]) -> Path:
    """The source file beside `near`, in the folder's children or in `include_dirs` that defines a kernel.

    Raises `LaunchError` when there is none.
    """
    for file, text in _sources_naming(name, near, include_dirs):
        if name in defined_kernels([text]):
            return file
    raise LaunchError(
        f"{near.name} launches '{name}', but no file beside it defines a __global__ function of that name: "
        "name the file by --source FILE"
    )


def _functions(texts: Iterable[str], end: str) -> set[str]:
    head = r"(?m)^[ \t]*(?:(?!return|else|delete|throw|new|case|using|static)[\w:<>,\"]+[\s*&]+)+(\w+)\s*\("
    pattern = re.compile(head + r"[^;{}()]*\)\s*" + end)
    return {found[1] for text in texts for found in pattern.finditer(text)}


def undefined_functions(units: Sequence[Unit]) -> set[str]:
    """Functions that the units declare and use, and that none of them defines."""
    texts = [unit.active(file) for unit in units for file in unit.texts]
    names = _functions(texts, ";") - _functions(texts, r"\{")
    return {name for name in names if sum(len(re.findall(rf"\b{name}\b", text)) for text in texts) > 1}


def find_function_file(name: str, near: Path, include_dirs: Iterable[Path]) -> Path | None:
    """The source file that defines a function, looked for where kernels are; other programs do not count.

    Raises `LaunchError` when several do: which one is meant, a build would say.
    """
    found: list[Path] = []
    for file, text in _sources_naming(name, near, include_dirs):
        defined = _functions([mask(text, keep_strings=True)], r"\{")
        if name in defined and "main" not in defined and file.resolve() not in found:
            found.append(file.resolve())
    if len(found) > 1:
        files = ", ".join(file.name for file in found)
        raise LaunchError(f"{near.name} calls '{name}', which {files} define: name the one by --source FILE")
    return found[0] if found else None


def _copies_needed(unit: Unit) -> list[Path]:
    """Files with syntax of the device compiler's, and those that include one of them."""
    needed = {unit.path}
    needed |= {file for file, text in unit.texts.items() if has_launch(text) or has_device_syntax(text)}
    while True:
        more = {file for (file, _), target in unit.resolved.items() if target in needed} - needed
        if not more:
            return sorted(needed)
        needed |= more


def _entry_lines(unit: Unit, name: str, texts: Iterable[str]) -> Iterator[str]:
    """The entry of a kernel that is launched by name, with what the build rules would wrap it in."""
    place = workspace_place(unit.given)
    if not place:
        yield f"ATTNEMU_ENTRY({name})"
        return
    yield f"ATTNEMU_ENTRY_WITH_WORKSPACE({name}, {place})"
    if any("KERNEL_TYPE_MIX_AIC_1_" in mask(text) for text in texts):
        yield f"ATTNEMU_CLEARS_WORKSPACE({name})"


def write_unit(unit: Unit, folder: Path, number: int, entries: Sequence[str]) -> tuple[Path, list[Path]]:
    """Writes the rewritten files of a unit; the file to compile, and folders for quoted includes.

    `entries`: kernels of this unit that another unit launches.
    """
    copies = {file: folder / f"unit{number}_{i}.h" for i, file in enumerate(_copies_needed(unit))}
    for file, copy in copies.items():
        text = unit.texts[file]
        parts: list[str] = []
        done = 0
        for start, end, _, name in includes(text):
            target = unit.resolved.get((file, name))
            if target in copies:
                parts += [text[done:start], str(copies[target])]
                done = end
        parts.append(text[done:])
        try:
            body = rewrite_launches(rewrite_device_syntax("".join(parts)))
        except LaunchError as error:
            raise LaunchError(f"{file.name}: {error}") from None
        copy.write_text(f'#line 1 "{file}"\n{body}\n')
    head = [f'#include "{PRELUDE}"'] if unit.has_kernels() else []
    lines = [*head, '#include "attnemu/host.h"', f'#include "{copies[unit.path]}"']
    guess = guessed_kind([unit.active(file) for file in unit.texts])
    defined = defined_kernels(unit.texts.values())
    # a kernel of two branches is what the compiled one says
    texts = [*unit.texts.values(), *(unit.active(file) for file in unit.texts)]
    known = {kernel.name: kernel for text in texts for kernel in kernels(text)}
    lines += [
        f"static const bool attnemu_kind_{name} = attnemu::note_kernel_kind("
        f'"{name}", {guess if kernel.kind is None else kernel.kind}, {int(kernel.kind is None)});'
        for name, kernel in known.items()
    ]
    lines += [line for name in entries if name in defined for line in _entry_lines(unit, name, texts)]
    main = folder / f"unit{number}.cpp"
    main.write_text("\n".join(lines) + "\n")
    return main, sorted({file.parent for file in copies})


def write_launch_headers(units: Sequence[Unit], folder: Path) -> list[str]:
    """The headers ``aclrtlaunch_<kernel>.h`` that the official build generates; the kernels' names."""
    texts = [text for unit in units for text in unit.texts.values()]
    names = sorted({name for text in texts for name in packed_launches(text)})
    names = [name for name in names if not name.endswith("_h")]
    # headers of kernels that a program names and never launches are wanted, too
    wanted = {
        found[1] for text in texts for *_, file in includes(text) if (found := _LAUNCH_HEADER.search(file))
    }
    for name in sorted({*names, *wanted}):
        (folder / f"aclrtlaunch_{name}.h").write_text(
            "#pragma once\n"
            '#include "attnemu/host.h"\n'
            "template <class... A>\n"
            f"uint32_t aclrtlaunch_{name}(uint32_t blocks, void* stream, A... arguments) {{\n"
            "  auto at = attnemu::SourceLine::here();\n"
            f'  return attnemu::launch_packed("{name}", blocks, stream, at, arguments...);\n'
            "}\n"
        )
    return names
