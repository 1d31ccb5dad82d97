"""Requests for one project, one after another: kernels of earlier ones stay until they are pruned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attndsl.base import disk_cache
from attndsl.codegen.kernel_set.request import KernelRequest, in_order
from attndsl.codegen.project.files import MANIFEST, FolderTaken, OutputNotWritable
from attndsl.codegen.project.finished import EarlierRequestFails
from attndsl.codegen.project.generation import Generation
from attndsl.spec.operator.loader import load_file
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_file, decode_spec

DEFAULT = KernelRequest()
HALF = KernelRequest(dtypes=("float16",), head_sizes=(16,))
WIDE = KernelRequest(dtypes=("float16",), head_sizes=(32,))


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATTNDSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv(disk_cache.STORE_VARIABLE, "1")
    return decode_file(tmp_path, DECODE_SCORES, DECODE_RESULT)


def generate(spec: Path, out: Path, request: KernelRequest, *, prune: bool = False):
    generation = Generation([load_file(spec)], request, out, prune=prune)
    (done,) = generation.write(generation.plan())
    return done


def head_sizes(out: Path) -> list[int]:
    listed = json.loads((out / "small_decode/kernels.json").read_text())["kernels"]
    return sorted({row["head_size"] for row in listed})


def contents(out: Path) -> dict[str, str]:
    return {str(path.relative_to(out)): path.read_text() for path in out.rglob("*") if path.is_file()}


def test_kernels_of_earlier_requests_stay_until_they_are_pruned(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate(spec, out, HALF)
    assert head_sizes(out) == [16]
    done = generate(spec, out, WIDE)
    assert head_sizes(out) == [16, 32] and done.change.removed == ()
    assert done.project.requests == (HALF, WIDE)
    assert generate(spec, out, HALF).change.texts == {}
    done = generate(spec, out, WIDE, prune=True)
    assert head_sizes(out) == [32] and any("d16" in name for name in done.change.removed)
    assert [path.name for path in out.iterdir()] == ["small_decode"]


def test_the_order_of_requests_decides_nothing(spec: Path, tmp_path: Path) -> None:
    for name, order in (("one", (HALF, WIDE)), ("two", (WIDE, HALF))):
        for request in order:
            generate(spec, tmp_path / name, request)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_manifest_without_requests_is_of_the_default_one(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate(spec, out, DEFAULT)
    default = contents(out)
    assert "requests" not in default[f"small_decode/{MANIFEST}"]
    assert generate(spec, out, HALF).project.requests == (DEFAULT, HALF)
    assert head_sizes(out) == [16, 128]
    generate(spec, out, DEFAULT, prune=True)
    assert contents(out) == default


def test_what_an_earlier_request_cannot_have_any_more_is_told(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate(spec, out, HALF)
    manifest = out / "small_decode" / MANIFEST
    manifest.write_text(manifest.read_text().replace('"float16"', '"float64"'))
    before = contents(out)
    with pytest.raises(EarlierRequestFails, match=r"--dtype float64.*float64.*--prune forgets"):
        generate(spec, out, WIDE)
    assert contents(out) == before
    generate(spec, out, WIDE, prune=True)
    assert head_sizes(out) == [32]


def test_a_request_that_came_meanwhile_is_kept(spec: Path, tmp_path: Path) -> None:
    """Two processes plan, one after the other writes: the later one plans again."""
    out = tmp_path / "out"
    first, second = (Generation([load_file(spec)], request, out) for request in (HALF, WIDE))
    plans = first.plan(), second.plan()
    first.write(plans[0])
    second.write(plans[1])
    assert head_sizes(out) == [16, 32]


def test_no_project_is_touched_when_a_target_of_another_cannot_be(spec: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    other.mkdir()
    decode_spec(other, DECODE_SCORES, DECODE_RESULT)
    twin = load_file(other / "small_decode.py")  # of its own: its name is changed
    vars(twin)["name"] = "zz_decode"
    (out / "zz_decode").mkdir(parents=True)
    (out / "zz_decode/op_kernel").write_text("in the way")
    generation = Generation([load_file(spec), twin], HALF, out)
    planned = generation.plan()
    with pytest.raises(OutputNotWritable, match="zz_decode/op_kernel' is in the way"):
        generation.write(planned)
    assert list(contents(out)) == ["zz_decode/op_kernel"]


@pytest.mark.parametrize(
    ("request_", "options"),
    [
        (DEFAULT, ""),
        (HALF, "--dtype float16 --set D=16"),
        (KernelRequest(features=frozenset()), "--feature none"),
        (KernelRequest(head_sizes=(576,), value_sizes=(512,)), "--set D=576,E=512"),
        (
            KernelRequest(features=frozenset({"b", "a"}), settings=(("layout(x)", "TND"),)),
            "--set 'layout(x)=TND' --feature a --feature b",
        ),
    ],
)
def test_a_request_is_told_and_read_again(request_: KernelRequest, options: str) -> None:
    assert request_.options == options
    assert KernelRequest.from_json(json.loads(json.dumps(request_.to_json()))) == request_
    assert (request_.to_json() == {}) == (request_ == DEFAULT)


@pytest.mark.parametrize(
    "data", [[], 3, None, {"dtypes": 3}, {"dtypes": [3]}, {"head_sizes": ["a"]}, {"head_sizes": []},
             {"value_sizes": []}, {"settings": []}, {"settings": {"a": 1}}, {"features": [None]}],
)  # fmt: skip
def test_what_is_no_request_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match="no request"):
        KernelRequest.from_json(data)  # type: ignore[arg-type]


def test_requests_have_one_order() -> None:
    assert in_order((WIDE, HALF, DEFAULT, WIDE)) == in_order((HALF, DEFAULT, WIDE)) == (DEFAULT, HALF, WIDE)


def named(spec: Path, name: str) -> Path:
    """The same operator under another name, in a file of its own."""
    file = spec.with_name(f"{name[-8:]}.py")
    file.write_text(spec.read_text().replace("small_decode", name))
    return file


LONG = "a_decode_whose_name_goes_on_and_on_until_its_folder_has_to_be_cut_"


def test_operators_whose_long_names_begin_alike_are_both_named(spec: Path, tmp_path: Path) -> None:
    one, other = (named(spec, LONG + end) for end in ("at_first", "later_on"))
    both = Generation([load_file(one), load_file(other)], HALF, tmp_path / "both")
    with pytest.raises(FolderTaken, match=rf"'{LONG}at_first' and of '{LONG}later_on'"):
        both.plan()
    out = tmp_path / "out"
    before = [generate(one, out, HALF).project.files, contents(out)]
    with pytest.raises(FolderTaken, match=rf"'{LONG}at_first' and of '{LONG}later_on'"):
        generate(other, out, HALF)
    assert [generate(one, out, HALF).project.files, contents(out)] == before
