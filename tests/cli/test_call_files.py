"""Files of calls: what is damaged or ambiguous is refused by name."""

import numpy as np
import pytest

from attndsl.cli.call_files import CallFileError, load_call


@pytest.fixture
def whole(tmp_path):
    file = tmp_path / "in.npz"
    np.savez_compressed(
        file, query=np.arange(4096.0), **{"key.0": np.ones(9), "key.1": np.ones(3)}, n=np.int32(4)
    )
    return file


def test_a_whole_file_is_read(whole) -> None:
    found = load_call(whole)
    assert list(map(len, found["key"])) == [9, 3] and found["n"] == 4 and found["query"].shape == (4096,)


def test_a_file_that_is_cut_anywhere_is_refused(whole) -> None:
    data = whole.read_bytes()
    for end in range(0, len(data), 37):
        whole.write_bytes(data[:end])
        with pytest.raises(CallFileError, match=r"in\.npz' is no whole \.npz file") as found:
            load_call(whole)
        assert "\n" not in str(found.value)


def test_a_file_with_any_byte_changed_is_read_or_refused(whole) -> None:
    data = whole.read_bytes()
    for at in range(0, len(data), 11):
        whole.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        try:
            found = load_call(whole)
        except CallFileError as error:
            assert "in.npz" in str(error)
        else:
            assert found


def test_other_files_are_refused(tmp_path) -> None:
    np.save(tmp_path / "one.npy", np.ones(3))
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "both.npz", **{"key": np.ones(3), "key.0": np.ones(3)})
    np.savez(tmp_path / "hole.npz", **{"key.1": np.ones(3)})
    for name in ("one.npy", "text.npz", "both.npz", "hole.npz", "missing.npz"):
        with pytest.raises(CallFileError, match=name):
            load_call(tmp_path / name)
    with pytest.raises(CallFileError):
        load_call(tmp_path)
