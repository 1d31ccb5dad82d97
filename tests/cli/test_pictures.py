"""The pictures of a kernel in the gallery: drawings that are well formed, of calls of usual sizes."""

from xml.etree import ElementTree

import pytest

from attndsl.base.package_files import specs_dir
from attndsl.cli.profile_page.pictures import pictures, shape_of
from attndsl.emulator.toolchain import find_compiler
from attndsl.spec.operator.loader import load_file

SHELF = specs_dir() / "variants"


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("alibi", {"N": 8, "K": 2, "D": 128, "S": 1024}),
        ("ring_step", {"N": 8, "K": 2, "D": 128}),
        ("mla_decode", {"N": 8, "D": 128}),
    ],
)
def test_sizes_are_asked_for_by_the_names_of_the_spec(name: str, shape: dict[str, int]) -> None:
    assert shape_of(load_file(SHELF / f"{name}.py")) == shape


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
def test_both_pictures_are_well_formed_and_have_no_blank_line() -> None:
    text = pictures(load_file(SHELF / "cascade.py"))
    assert all(line.strip() for line in text.splitlines())
    root = ElementTree.fromstring(f"<div>{text}</div>")
    labels = [each.get("aria-label") for each in root.iter("svg")]
    assert labels == ["timeline", *(f"{space} over time" for space in ("UB", "L1", "L0A", "L0B", "L0C"))]
    busy = [each for each in root.iter("path") if each.get("fill") == "#2f6f8f"]
    assert len(busy) >= 6 and all("V" in str(each.get("d")) for each in busy)
