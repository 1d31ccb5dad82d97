"""Archives that are no calls: each ends in an error that says what is wrong with it, with exit code 2."""

from __future__ import annotations

import io
import json
import os
import pickle
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from attndsl.cli import call_files
from attndsl.cli.call_files import CallFileError, load_call
from attndsl.cli.cli import cli
from attndsl.cli.command_frame import run_command

CALL = {
    "query": np.zeros((2, 1, 64), np.float16),
    "key.0": np.zeros((2, 10, 32), np.float16),
    "value.0": np.zeros((2, 10, 32), np.float16),
    "num_heads": np.int64(4),
    "num_key_value_heads": np.int64(2),
}


def npy(array: np.ndarray) -> bytes:
    text = io.BytesIO()
    np.lib.format.write_array(text, array)
    return text.getvalue()


def headed(header: str, data: bytes = b"\0" * 64) -> bytes:
    """An array with a header of its own."""
    head = header.encode("latin-1") + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + data


def archive(file: Path, members: list[tuple[str, bytes]], way: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(file, "w", way) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that come twice
        for name, data in members:
            made.writestr(name, data)


def with_query(data: bytes) -> list[tuple[str, bytes]]:
    others = [(f"{name}.npy", npy(np.asarray(array))) for name, array in CALL.items() if name != "query"]
    return [("query.npy", data), *others]


def whole(file: Path, **changes: object) -> None:
    np.savez(file, **(CALL | changes))  # type: ignore[arg-type]


def cut(file: Path) -> None:
    whole(file)
    file.write_bytes(file.read_bytes()[:-100])


def without(*names: str) -> Callable[[Path], None]:
    return lambda file: np.savez(file, **{k: v for k, v in CALL.items() if k not in names})  # type: ignore[arg-type]


def of_header(header: str, data: bytes = b"\0" * 64) -> Callable[[Path], None]:
    return lambda file: archive(file, with_query(headed(header, data)))


def encrypted(file: Path) -> None:
    whole(file)
    data = bytearray(file.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.index(mark)
        data[place + at] |= 1
    file.write_bytes(bytes(data))


class Opener:
    """What a pickle would run."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("pickle-was-run",)


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut": (cut, "is no whole .npz file"),
    "wrong dtype": (lambda file: whole(file, query=np.zeros((2, 1, 64))), "float64"),
    "complex": (lambda file: whole(file, query=np.zeros((2, 1, 64), complex)), "complex128"),
    "texts": (lambda file: whole(file, query=np.full((2, 1, 64), "x")), "query"),
    "dates": (lambda file: whole(file, query=np.zeros((2, 1, 64), "M8[s]")), "query"),
    "records": (lambda file: whole(file, query=np.zeros((2, 1, 64), "i4,f2")), "query"),
    "objects": (lambda file: whole(file, query=np.array([None, 3], object)), "holds Python objects"),
    "a pickle": (lambda file: archive(file, with_query(pickle.dumps(Opener()))), "magic string"),
    "pickled objects": (lambda file: whole(file, query=np.array([Opener()], object)), "Python objects"),
    "a member that is no array": (
        lambda file: archive(file, [*with_query(npy(CALL["query"])), ("notes.txt", b"hello")]),
        "'notes.txt' is no array",
    ),
    "names missing": (without("query"), "query: this argument is missing"),
    "unknown names": (lambda file: whole(file, kwery=np.zeros(3)), "kwery"),
    "a name of control characters": (
        lambda file: whole(file, **{"\x1b[2J\n": np.zeros(3)}),
        "is no name of an argument",
    ),
    "a name that is a path": (lambda file: whole(file, **{"../query": np.zeros(3)}), "../query"),
    "no members": (lambda file: archive(file, []), "missing"),
    "a member twice": (
        lambda file: archive(file, [*with_query(npy(CALL["query"])), ("query.npy", npy(CALL["query"]))]),
        "has 'query' twice",
    ),
    "no zip": (lambda file: file.write_bytes(b"PK but no archive" * 9) and None, "is no whole .npz file"),
    "empty": (lambda file: file.write_bytes(b"") and None, "it is no archive"),
    "a folder": (Path.mkdir, "a folder"),
    "a pipe": (os.mkfifo, "no file"),
    "missing": (lambda file: None, "not there"),
    "shape of NaN": (
        of_header("{'descr': '<f2', 'fortran_order': False, 'shape': (float('nan'),)}"),
        "is no whole .npz file",
    ),
    "negative shape": (of_header("{'descr': '<f2', 'fortran_order': False, 'shape': (-2, -16)}"), "-2, -16"),
    "shape of floats": (of_header("{'descr': '<f2', 'fortran_order': False, 'shape': (2.5,)}"), "2.5"),
    "huge shape": (of_header("{'descr': '<f2', 'fortran_order': False, 'shape': (1 << 60,)}"), "no whole"),
    "a shape beyond the data": (
        of_header(f"{{'descr': '<f2', 'fortran_order': False, 'shape': ({1 << 60},)}}"),
        "has 64 bytes for an array",
    ),
    "data beyond the shape": (of_header("{'descr': '<f2', 'fortran_order': False, 'shape': (2,)}"), "has 64"),
    "huge element": (
        of_header("{'descr': '<U9999999', 'fortran_order': False, 'shape': (1,)}"),
        "64 bytes",
    ),
    "huge header": (
        of_header("{'descr': '<f2', 'fortran_order': False, 'shape': (" + "1, " * 20000 + ")}"),
        "is no whole .npz file",
    ),
    "nested header": (of_header("(" * 9000), "is no whole .npz file"),
    "header that is code": (of_header("__import__('os').mkdir('code-was-run')"), "is no whole .npz file"),
    "encrypted": (encrypted, "encrypted"),
    "unknown format": (
        lambda file: archive(file, with_query(b"\x93NUMPY\x09\x00" + b"\0" * 80)),
        "has format (9, 0)",
    ),
    "a hole in a list": (lambda file: whole(file, **{"key.2": CALL["key.0"]}), "has entries [0, 2]"),
    "a list and an array": (lambda file: whole(file, key=CALL["key.0"]), "not both"),
    "NaN for a count": (lambda file: whole(file, num_heads=np.float64("nan")), "num_heads"),
    "an array for a number": (lambda file: whole(file, num_heads=np.zeros(3, int)), "num_heads"),
}


def test_the_whole_one_is_a_call(tmp_path: Path) -> None:
    """The near twin of all others."""
    whole(tmp_path / "call.npz")
    done = CliRunner().invoke(cli, ["run", "incre_flash_attention", str(tmp_path / "call.npz")])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("command", ["run", "profile"])
def test_an_archive_that_is_no_call(name, command, tmp_path, monkeypatch, capsys) -> None:
    make, said = HOSTILE[name]
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "call.npz"
    make(file)
    code = run_command(cli, [command, "incre_flash_attention", str(file), "--json"])
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert (code, told["exit_code"]) == (2, 2), err
    assert said in err and said in told["error"], err
    assert err.count("\n") == 1 and len(err) < 700 and err.strip().isprintable(), err
    assert not {"pickle-was-run", "code-was-run"} & {each.name for each in tmp_path.iterdir()}


def test_an_archive_beyond_the_memory_is_not_unpacked(tmp_path: Path, monkeypatch) -> None:
    """A megabyte of zeros in a kilobyte, where half a megabyte is all there is; and where there is room."""
    file = tmp_path / "bomb.npz"
    np.savez_compressed(file, query=np.zeros(1 << 20, np.uint8))
    assert file.stat().st_size < 1 << 12
    assert load_call(file)["query"].size == 1 << 20
    monkeypatch.setattr(call_files, "_memory_bytes", lambda: 1 << 19)
    with pytest.raises(CallFileError, match="bytes, and this machine has 524288"):
        load_call(file)
