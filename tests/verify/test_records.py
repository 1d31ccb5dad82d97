"""Records: written by runs, read by lists, stale as soon as what decides them is another."""

import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

import attndsl
from attndsl.api import ops
from attndsl.base.package_files import specs_dir
from attndsl.campaign import judging, record_keys, records, verify
from attndsl.campaign.records import CHECKED, FAILED, IMMATERIAL, INEFFECTIVE, STALE, UNCHECKED, Record
from attndsl.campaign.source_meaning import cxx_meaning, python_meaning
from attndsl.compiler.prepare_launch import compiled_for
from attndsl.expr import Const
from attndsl.reference import run as reference
from attndsl.spec.operator.loader import load, shipped_names
from attndsl.verify.cases.immaterial import ONLY_VALUE
from tests.support.disguise import posing_as

NAME = "relay_attention"


@pytest.fixture(scope="module")
def verified():
    return verify(ops.relay_attention, cases=4, backends=())


@pytest.fixture
def recorded(verified, tmp_path):
    records.write(ops.relay_attention, verified, (), tmp_path)
    return verified, tmp_path


def test_features_of_cases_that_passed_are_checked_and_others_are_not(recorded):
    found, folder = recorded
    states = records.features_by_backend(ops.relay_attention, records.read(NAME, folder))
    seen = set(found.features_covered())
    passed = (CHECKED, INEFFECTIVE, IMMATERIAL)
    assert {name for name, each in states.items() if each["reference"] in passed} == seen
    assert {each["emulator"] for each in states.values()} == {UNCHECKED}
    assert "maskType=NORM" not in states  # no legal call has it
    assert states["maskType=UNDEFINED"]["reference"] == IMMATERIAL
    assert records.read(NAME, folder).immaterial == {"maskType=UNDEFINED": ONLY_VALUE}


@pytest.mark.parametrize(
    ("effective", "misses", "state"),
    [({"mask": 1}, 0, CHECKED), ({"mask": 0}, 0, INEFFECTIVE), ({}, 0, CHECKED), ({"mask": 0}, 1, FAILED)],
)
def test_a_feature_that_matters_in_no_case_is_told(effective, misses, state):
    """Features that cases have by chance, such as rows of several lengths, are not among those counted."""
    backend = {"features": {"mask": {"pass": 3, "miss": misses}}, "effective": effective}
    backend["digest"] = records.digest(NAME, "tile")
    assert Record(NAME, {"tile": backend}, ()).state("mask", "tile") == state
    told = Record(NAME, {"tile": backend}, (), {"mask": "a reason"}).state("mask", "tile")
    assert told == (IMMATERIAL if state == INEFFECTIVE else state)


@pytest.mark.parametrize("part", record_keys.PARTS["reference"])
def test_another_part_makes_a_record_stale_and_none_leaves_it(recorded, part):
    """Where all sources are as they were, nobody looks at the parts."""
    _, folder = recorded
    path = folder / f"{NAME}.json"
    data = json.loads(path.read_text())
    found = data["backends"]["reference"]
    found["digest"] = "of other sources"
    path.write_text(json.dumps(data))
    assert records.read(NAME, folder).differing("reference") == ()
    found["parts"][part] = "of another"
    path.write_text(json.dumps(data))
    record = records.read(NAME, folder)
    assert record.differing("reference") == (part,)
    assert {record.state(each, "reference") for each in found["features"]} == {STALE}


@pytest.fixture
def of_other_sources(recorded):
    """A record of the tile backend, too, with one kernel, made of sources of which one was another."""
    _, folder = recorded
    path = folder / f"{NAME}.json"
    data = json.loads(path.read_text())
    found, kernels = data["backends"]["reference"], record_keys.kernels_of(judging_cases())
    found["digest"] = "of other sources"
    data["backends"]["tile"] = {
        **found,
        "parts": record_keys.part_digests(ops.relay_attention, "tile"),
        "programs": record_keys.program_digests(ops.relay_attention, kernels[:1]),
    }
    path.write_text(json.dumps(data))
    return path, data


def test_another_program_makes_a_record_stale(of_other_sources):
    path, data = of_other_sources
    assert records.read(NAME, path.parent).differing_programs("tile") == ()
    programs = data["backends"]["tile"]["programs"]
    for now, told in ((dict.fromkeys(programs, "of another"), tuple(programs)), ({}, ("none recorded",))):
        data["backends"]["tile"]["programs"] = now
        path.write_text(json.dumps(data))
        assert records.read(NAME, path.parent).differing_programs("tile") == told


def test_states_are_told_without_compiling(of_other_sources, monkeypatch):
    path, _ = of_other_sources
    monkeypatch.setattr(record_keys, "program_digest", None)
    states = records.features_by_backend(ops.relay_attention, records.read(NAME, path.parent))
    known = {CHECKED, IMMATERIAL, INEFFECTIVE, UNCHECKED}
    assert {CHECKED} <= {each["tile"] for each in states.values()} <= known
    assert records.sources_changed(records.read(NAME, path.parent)) == ("reference", "tile")


def test_a_record_that_holds_is_renewed(of_other_sources):
    path, data = of_other_sources
    assert records.renew(NAME, path.parent) == {}
    for backend, found in data["backends"].items():
        found["digest"] = records.digest(NAME, backend)
    assert json.loads(path.read_text()) == data
    assert records.sources_changed(records.read(NAME, path.parent)) == ()


@pytest.mark.parametrize(
    ("key", "part", "told"),
    [("parts", "judge", {"tile": ("judge",)}), ("programs", None, {"tile": (record_keys.PROGRAMS,)})],
)
def test_a_stale_record_is_not_renewed(of_other_sources, key, part, told):
    path, data = of_other_sources
    digests = data["backends"]["tile"][key]
    digests[part or next(iter(digests))] = "of another"
    path.write_text(json.dumps(data))
    assert records.renew(NAME, path.parent) == told
    assert json.loads(path.read_text()) == data


def test_what_was_never_recorded_is_not_renewed(tmp_path):
    assert set(records.renew(NAME, tmp_path)) == {"reference", "tile", "emulator"}
    assert list(tmp_path.iterdir()) == []


def test_a_miss_is_no_check(tmp_path, monkeypatch):
    def wrong(call):
        return tuple(output + 1 for output in reference.run(call)), []

    monkeypatch.setitem(judging._BACKENDS, "reference", posing_as("reference", wrong))
    found = verify(ops.relay_attention, cases=1, backends=())
    records.write(ops.relay_attention, found, (), tmp_path)
    states = records.features_by_backend(ops.relay_attention, records.read(NAME, tmp_path))
    assert {each["reference"] for each in states.values()} == {FAILED, UNCHECKED}


def test_what_an_earlier_run_says_of_other_backends_stays(recorded):
    found, folder = recorded
    path = folder / f"{NAME}.json"
    data = json.loads(path.read_text())
    data["backends"]["emulator"] = {"digest": "old", "features": {"dtype float16": {"pass": 1}}}
    path.write_text(json.dumps(data))
    records.write(ops.relay_attention, found, (), folder)
    states = records.features_by_backend(ops.relay_attention, records.read(NAME, folder))
    assert states["dtype float16"]["emulator"] == STALE


def test_the_digest_covers_spec_and_sources(monkeypatch, tmp_path):
    assert records.digest(NAME, "reference") != records.digest("self_attention", "reference")
    assert records.digest(NAME, "tile") != records.digest(NAME, "emulator")
    names = {name for _, name in records._files("emulator")}
    assert {"reference/run.py", "compiler/prepare_launch.py", "codegen/kernel/kernel.py"} <= names
    assert any(name.endswith(".h") for name in names)


@pytest.mark.parametrize("name", shipped_names())
def test_committed_records_hold(name):
    """Of today's code, all backends, no miss."""
    record = records.read(name)
    assert record is not None and set(record.backends) == {"reference", "tile", "emulator"}
    stale = {backend: told for backend in record.backends if (told := record.differing(backend))}
    stale |= {
        backend: (record_keys.PROGRAMS,)
        for backend in record.backends
        if backend not in stale and record.differing_programs(backend, record_keys.SAMPLED)
    }
    cases = record.backends["tile"]["cases"]
    assert not stale, f"stale by {stale}; run: attndsl verify {name} --cases {cases} --record --no-shrink"
    states = {
        record.state(each, backend) for backend, of in record.backends.items() for each in of["features"]
    }
    assert states <= {CHECKED, IMMATERIAL, INEFFECTIVE, UNCHECKED} and CHECKED in states


@pytest.mark.long
@pytest.mark.parametrize("name", shipped_names())
def test_all_tile_programs_of_committed_records_are_those_of_today(name):
    operator, programs = load(name), records.read(name).backends["tile"]["programs"]
    changed = [
        each for each, digest in programs.items() if record_keys.program_digest(operator, each) != digest
    ]
    assert programs and not changed


def test_sources_are_read_once_a_process(monkeypatch):
    """``attndsl list`` asks for the digest once a feature and must not read all sources each time."""
    read = []
    whole = records._files
    monkeypatch.setattr(records, "_files", lambda backend: read.append(backend) or whole(backend))
    records._source_digest.cache_clear()
    records.digest.cache_clear()
    first = {name: records.digest(name, "reference") for name in shipped_names()}
    records.features_by_backend(ops.relay_attention, records.read(NAME))
    assert {name: records.digest(name, "reference") for name in shipped_names()} == first
    assert sorted(read) == ["emulator", "reference", "tile"]
    assert len(set(first.values())) == len(first)  # what is shared is copied, not continued


def test_the_digest_is_that_of_names_and_contents():
    total = hashlib.sha256()
    own = [(specs_dir() / f"{NAME}.py", "spec"), (specs_dir() / f"{NAME}.schedules.json", "schedules")]
    for path, name in (*records._files("tile"), *own):
        total.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    assert records.digest(NAME, "tile") == total.hexdigest()[:32]


# What decides a result --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same", "other"),
    [
        ("x = 1\n", "# why\n\nx = 1  # so\n", "x = 2\n"),
        (
            "def f(a):\n    return a\n",
            'def f(a):\n    """It."""\n    return (a)\n',
            "def f(a):\n    return\n",
        ),
        ("LIMIT = 3\n", 'LIMIT = 3\n"""Of tries."""\n', 'LIMIT = 3\nf("""Of tries.""")\n'),
        ("if a:\n    b()\nc()\n", "if a: b()\nc()\n", "if a:\n    b()\n    c()\n"),
        ("x = a - b\n", "x = (a -\n  b)\n", "x = b - a\n"),
        ("f(1, *a)\n", "f( 1, *a )\n", "f(1, a)\n"),
    ],
)
def test_python_means_the_same_without_its_comments(text, same, other):
    assert python_meaning(text) == python_meaning(same) != python_meaning(other)


@pytest.mark.parametrize(
    ("text", "same", "other"),
    [
        ("int x = 1;", "int x /* of it */\n  = 1;  // so", "int x = 2;"),
        ('f("// a");', 'f("// a"); // b', 'f("// b");'),
        ('f(\'"\'); g("a");', 'f(\'"\'); /* " */ g("a");', 'f(\'"\'); /* g("a"); */'),
    ],
)
def test_cxx_means_the_same_without_its_comments(text, same, other):
    assert cxx_meaning(text) == cxx_meaning(same) != cxx_meaning(other)


def test_a_contract_means_the_same_on_other_lines(tmp_path):
    """Comments, summaries and hints are words; a bound, a default and an operation are not."""
    spec = (specs_dir() / f"{NAME}.py").read_text()
    texts = {
        "own": spec,
        "moved": "# about it\n\n" + spec,
        "bound": spec.replace("ge=0, le=8", "ge=0, le=9"),
        "length": spec.replace("length=shared", "length=group"),
    }
    assert len(set(texts.values())) == len(texts)
    told = {}
    for key, text in texts.items():
        (tmp_path / f"{key}.py").write_text(text)
        told[key] = record_keys.contract_meaning(load(str(tmp_path / f"{key}.py")))
    assert told["own"] == told["moved"] and " at 0x" not in told["own"]
    assert len({told["own"], told["bound"], told["length"]}) == 3


def judging_cases():
    from attndsl.verify.cases.cases import Stream

    return Stream(ops.relay_attention).take(2)


def test_a_program_is_told_by_what_it_does():
    kernel = record_keys.kernels_of(judging_cases())[0]
    assert record_keys.Kernel.of_text(kernel.text) == kernel
    program = compiled_for(ops.relay_attention, kernel.special).program
    own = record_keys.program_meaning(program)
    assert "# " not in own and "workspaceBytes" in own
    first, *others = program.tiling
    less = program.with_(tiling=(type(first)(first.name, first.ctype, Const(1), "other words"), *others))
    worded = program.with_(tiling=(type(first)(first.name, first.ctype, first.value, "other words"), *others))
    assert record_keys.program_meaning(worded) == own != record_keys.program_meaning(less)
    places = {buffer: place + 32 for buffer, place in program.addresses.items()}
    assert record_keys.program_meaning(program.with_(addresses=places)) != own


def test_what_a_program_does_is_told_of_all_its_fields():
    """A further field of programs is told by ``program_meaning``, too, or stands here with the reason."""
    told = {"parameters", "workspace", "tiling", "constants", "cores", "flags", "addresses"}
    decides_nothing = {
        "name": "of a kernel, as readers know it",
        "summary": "a sentence",
        "device": "part of the record's key by itself",
        "dtype": "that of the parameters",
        "body": "cores have its statements",
        "requirements": "what holds of constants",
    }
    program = compiled_for(ops.relay_attention, record_keys.kernels_of(judging_cases())[0].special).program
    assert {each.name for each in fields(program)} == told | decides_nothing.keys()


_BY_CONTENT = ("lowering", "passes", "compiler", "codegen", "spec/authoring")
"""Told by the kernels and contracts that they make, as templates are by the files of projects."""
_DECIDE_NOTHING = ("api", "base", "campaign", "execute", "target", "verify/__init__.py")
"""Processes, caches and errors; campaigns around a case; costs."""


def test_every_source_belongs_to_a_part_or_decides_nothing():
    told = {name for part in record_keys.SOURCES for _, name in record_keys.source_files(part)}
    root = Path(attndsl.__file__).parent
    rest = {
        name
        for path, name in records._files("emulator")
        if path.is_relative_to(root)
        and name not in told | record_keys._WORDS_ALONE
        and not name.startswith(_BY_CONTENT + _DECIDE_NOTHING)
    }
    assert rest == set()
    assert all((root / name).is_file() for name in record_keys._WORDS_ALONE)
    needed = {"reference/run.py", "verify/judge/compare.py", "tile_interpreter/run.py", "campaign/judging.py"}
    assert needed <= told and any(re.fullmatch(r"emulator/include/.*\.h", name) for name in told)


def test_digests_are_those_of_every_process() -> None:
    """Sets of names print in another order under these two hash seeds."""
    script = (
        "from attndsl.api import ops; from attndsl.campaign.record_keys import part_digests;"
        "print(part_digests(ops.incre_flash_attention, 'reference'))"
    )
    first, second = (
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "13")
    )
    assert first == second and "contract" in first


def test_a_verification_tells_features_as_the_list_does(verified):
    """Those without effect in the cases that have them, and apart those that can change no result."""
    never = {name for name, count in verified.features_effective().items() if not count}
    assert "maskType=UNDEFINED" in never
    immaterial = records.known_immaterial(ops.relay_attention, verified.features_effective())
    assert immaterial == {"maskType=UNDEFINED": ONLY_VALUE}
    plain, told = (
        "\n".join(each._summary()) for each in (verified, replace(verified, immaterial=immaterial))
    )
    assert "features without effect in their cases: " in plain and "can change no result" not in plain
    assert "features that can change no result: maskType=UNDEFINED" in told


def test_a_verification_tells_the_values_of_parameters(verified):
    """All of them in the document; in the table those that are not at their default."""
    for row, written in zip(verified.rows, verified.to_json()["rows"], strict=True):
        assert {"headNum", "kvHeadNum", "qkScale", "maskType"} <= set(written["parameters"])
        assert "headNum" in row.stated and "maskType" not in row.stated
        assert written["parameters"]["headNum"] == row.parameters["headNum"]
