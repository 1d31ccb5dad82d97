"""Records: written by runs, read by lists, stale as soon as the code is another."""

import hashlib
import json

import pytest

from attndsl.api import ops
from attndsl.base.package_files import specs_dir
from attndsl.campaign import judging, records, verify
from attndsl.campaign.records import CHECKED, FAILED, INEFFECTIVE, STALE, UNCHECKED, Record
from attndsl.reference import run as reference
from attndsl.spec.operator.loader import shipped_names

NAME = "relay_attention"


@pytest.fixture(scope="module")
def verified():
    return verify(ops.relay_attention, cases=4, backends=())


@pytest.fixture
def recorded(verified, tmp_path):
    records.write(ops.relay_attention, verified, tmp_path)
    return verified, tmp_path


def test_features_of_cases_that_passed_are_checked_and_others_are_not(recorded):
    found, folder = recorded
    states = records.features_by_backend(ops.relay_attention, folder)
    seen = set(found.features_covered())
    passed = (CHECKED, INEFFECTIVE)
    assert {name for name, each in states.items() if each["reference"] in passed} == seen
    assert {each["emulator"] for each in states.values()} == {UNCHECKED}
    assert "maskType=NORM" not in states  # no legal call has it


@pytest.mark.parametrize(
    ("effective", "misses", "state"),
    [({"mask": 1}, 0, CHECKED), ({"mask": 0}, 0, INEFFECTIVE), ({}, 0, CHECKED), ({"mask": 0}, 1, FAILED)],
)
def test_a_feature_that_matters_in_no_case_is_told(effective, misses, state):
    """Features that cases have by chance, such as rows of several lengths, are not among those counted."""
    backend = {"features": {"mask": {"pass": 3, "miss": misses}}, "effective": effective}
    backend["digest"] = records.digest(NAME, "tile")
    assert Record(NAME, {"tile": backend}, ()).state("mask", "tile") == state


def test_another_code_makes_a_record_stale(recorded, monkeypatch):
    _, folder = recorded
    before = records.digest(NAME, "reference")
    monkeypatch.setattr(records, "digest", lambda operator, backend: before[::-1])
    states = {each["reference"] for each in records.features_by_backend(ops.relay_attention, folder).values()}
    assert CHECKED not in states and STALE in states


def test_a_miss_is_no_check(tmp_path, monkeypatch):
    def wrong(call):
        return tuple(output + 1 for output in reference.run(call)), []

    monkeypatch.setitem(judging._BACKENDS, "reference", wrong)
    found = verify(ops.relay_attention, cases=2, backends=())
    records.write(ops.relay_attention, found, tmp_path)
    states = records.features_by_backend(ops.relay_attention, tmp_path)
    assert {each["reference"] for each in states.values()} == {FAILED, UNCHECKED}


def test_what_an_earlier_run_says_of_other_backends_stays(recorded):
    found, folder = recorded
    path = folder / f"{NAME}.json"
    data = json.loads(path.read_text())
    data["backends"]["emulator"] = {"digest": "old", "features": {"dtype float16": {"pass": 1}}}
    path.write_text(json.dumps(data))
    records.write(ops.relay_attention, found, folder)
    states = records.features_by_backend(ops.relay_attention, folder)
    assert states["dtype float16"]["emulator"] == STALE


def test_the_digest_covers_spec_and_sources(monkeypatch, tmp_path):
    assert records.digest(NAME, "reference") != records.digest("self_attention", "reference")
    assert records.digest(NAME, "tile") != records.digest(NAME, "emulator")
    names = {name for _, name in records._files("emulator")}
    assert {"reference/run.py", "compiler/prepare_launch.py", "codegen/kernel/kernel.py"} <= names
    assert any(name.endswith(".h") for name in names)


@pytest.mark.parametrize("name", shipped_names())
def test_committed_records_are_of_this_code_or_shown_as_stale(name):
    record = records.read(name)
    assert record is not None
    for backend, found in record.backends.items():
        current = found["digest"] == records.digest(name, backend)
        states = {record.state(feature, backend) for feature in found["features"]}
        assert (STALE not in states) if current else states <= {STALE, UNCHECKED}


def test_sources_are_read_once_a_process(monkeypatch):
    """``attndsl list`` asks for the digest once a feature and must not read all sources each time."""
    read = []
    whole = records._files
    monkeypatch.setattr(records, "_files", lambda backend: read.append(backend) or whole(backend))
    records._source_digest.cache_clear()
    records.digest.cache_clear()
    first = {name: records.digest(name, "reference") for name in shipped_names()}
    records.features_by_backend(ops.relay_attention)
    assert {name: records.digest(name, "reference") for name in shipped_names()} == first
    assert sorted(read) == ["emulator", "reference", "tile"]
    assert len(set(first.values())) == len(first)  # what is shared is copied, not continued


def test_the_digest_is_that_of_names_and_contents():
    total = hashlib.sha256()
    own = [(specs_dir() / f"{NAME}.py", "spec"), (specs_dir() / f"{NAME}.schedules.json", "schedules")]
    for path, name in (*records._files("tile"), *own):
        total.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    assert records.digest(NAME, "tile") == total.hexdigest()[:32]
