"""Generated folders: in step with the last generation, a user's own files left alone, none touched twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from attndsl.codegen.project import files as module
from attndsl.codegen.project.files import (
    MANIFEST,
    OutputNotWritable,
    change_of,
    remembered_requests,
    write_files,
)
from attndsl.codegen.project.folder_lock import FolderLocked, locked

FIRST = {
    "README.md": "one\n",
    "op_kernel/a.h": "a\n",
    "op_kernel/b.h": "b\n",
    "old/deep/c.h": "c\n",
    "build.sh": "x",
}
SECOND = {"README.md": "two\n", "op_kernel/a.h": "a\n", "build.sh": "x"}


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def stamps(folder):
    """Times and identities of everything there, folders too."""
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in (folder, *folder.rglob("*"))}


def test_files_of_an_earlier_generation_go(tmp_path):
    folder = tmp_path / "project"
    write_files(folder, FIRST)
    changed = write_files(folder, SECOND)
    assert names(folder) == sorted([*SECOND, MANIFEST]) and not (folder / "old").exists()
    told = sorted(str(path.relative_to(folder)) for path in changed)
    assert told == ["README.md", "old/deep/c.h", "op_kernel/b.h"]
    assert os.access(folder / "build.sh", os.X_OK)
    assert [path.name for path in tmp_path.iterdir()] == ["project"], "something was left beside it"


def test_what_is_a_users_stays(tmp_path):
    """Files of their own, beside ours and under names of ours, and ours that they have changed."""
    folder = tmp_path / "project"
    write_files(folder, FIRST)
    (folder / "op_kernel/mine.h").write_text("mine")
    (folder / "old/deep/mine.h").write_text("mine")
    (folder / "op_kernel/b.h").write_text("b, as I like it\n")
    write_files(folder, SECOND)
    assert (folder / "op_kernel/mine.h").read_text() == (folder / "old/deep/mine.h").read_text() == "mine"
    assert (folder / "op_kernel/b.h").read_text() == "b, as I like it\n" and not (
        folder / "old/deep/c.h"
    ).exists()


def test_without_a_manifest_nothing_goes(tmp_path):
    folder = tmp_path / "project"
    write_files(folder, FIRST)
    (folder / MANIFEST).unlink()
    write_files(folder, SECOND)
    assert set(names(folder)) == {*FIRST, MANIFEST}


@pytest.mark.parametrize("listed", ["../outside.h", "{absolute}", "link.h", "op_kernel", "way/outside.h"])
def test_a_manifest_reaches_nothing_else(tmp_path, listed):
    """Whoever wrote it: no file outside of the folder, no link, no folder."""
    folder, outside = tmp_path / "project", tmp_path / "outside.h"
    write_files(folder, FIRST)
    outside.write_text("b\n")
    (folder / "link.h").symlink_to(outside)
    (folder / "way").symlink_to(tmp_path)
    name = listed.format(absolute=outside)
    text = (folder / MANIFEST).read_text().replace('"op_kernel/b.h"', f'"{name}"')
    (folder / MANIFEST).write_text(text)
    write_files(folder, SECOND)
    assert (
        outside.read_text() == "b\n"
        and (folder / "link.h").is_symlink()
        and (folder / "op_kernel/b.h").is_file()
    )


@pytest.mark.parametrize("text", ["", "[]", "{", '{"files": 3}', '{"files": ["README.md"]}', "\0"])
def test_a_manifest_that_is_none_is_replaced(tmp_path, text):
    folder = tmp_path / "project"
    write_files(folder, FIRST)
    (folder / MANIFEST).write_text(text)
    write_files(folder, SECOND)
    assert set(names(folder)) == {*FIRST, MANIFEST} and "README.md" in (folder / MANIFEST).read_text()


def test_nothing_new_touches_nothing(tmp_path):
    folder = tmp_path / "project"
    write_files(folder, FIRST)
    before = stamps(tmp_path)
    assert write_files(folder, FIRST) == () and stamps(tmp_path) == before
    write_files(folder, {**FIRST, "README.md": "new\n"})
    same = {path for path, stamp in stamps(folder).items() if before.get(path) == stamp and path.is_file()}
    assert sorted(path.name for path in same) == ["a.h", "b.h", "build.sh", "c.h"]


def test_an_operator_without_kernels_takes_nothing_away(tmp_path):
    folder = tmp_path / "project"
    write_files(folder, FIRST)
    assert write_files(folder, {}) == () and set(names(folder)) == {*FIRST, MANIFEST}


def test_a_disk_that_fails_leaves_the_folder_as_it_was(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    write_files(folder, FIRST)
    before = stamps(folder)

    def full(self, *_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.Path, "write_text", full)
    with pytest.raises(OutputNotWritable, match="No space left"):
        write_files(folder, SECOND)
    assert stamps(folder) == before and [path.name for path in tmp_path.iterdir()] == ["project"]


def test_a_removal_that_fails_is_made_up_for(tmp_path, monkeypatch):
    """The manifest is written last, so that the next call knows what is still to go."""
    folder = tmp_path / "project"
    write_files(folder, FIRST)

    def refused(self):
        raise OSError(13, "Permission denied")

    with monkeypatch.context() as broken:
        broken.setattr(module.Path, "unlink", refused)
        with pytest.raises(OutputNotWritable, match="Permission denied"):
            write_files(folder, SECOND)
    assert (folder / "op_kernel/b.h").is_file()
    write_files(folder, SECOND)
    assert names(folder) == sorted([*SECOND, MANIFEST])


def test_targets_are_tested_before_anything_is_touched(tmp_path):
    folder = tmp_path / "project"
    write_files(folder, {"README.md": "one\n"})
    (folder / "op_kernel").write_text("a file of mine, in the way")
    before = stamps(tmp_path)
    with pytest.raises(OutputNotWritable, match=r"op_kernel' is in the way"):
        write_files(folder, FIRST | {"README.md": "two\n"})
    (folder / "op_kernel").unlink()
    (folder / "build.sh").mkdir()
    with pytest.raises(OutputNotWritable, match=r"build\.sh' is a folder"):
        write_files(folder, FIRST | {"README.md": "two\n"})
    (folder / "build.sh").rmdir()
    assert (folder / "README.md").read_text() == "one\n" and {*stamps(tmp_path)} < {*before}
    write_files(folder, FIRST)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_told_before(tmp_path):
    folder = tmp_path / "project"
    write_files(folder, FIRST)
    (folder / "op_kernel").chmod(0o555)
    with pytest.raises(OutputNotWritable, match=r"op_kernel' is not writable"):
        write_files(folder, SECOND | {"op_kernel/a.h": "new\n"})
    assert (folder / "README.md").read_text() == FIRST["README.md"]
    (folder / "op_kernel").chmod(0o755)


def test_a_manifest_remembers_requests_and_is_the_same_without(tmp_path):
    folder = tmp_path / "project"
    assert remembered_requests(folder) is None
    write_files(folder, FIRST)
    assert remembered_requests(folder) == [] and "requests" not in (folder / MANIFEST).read_text()
    assert write_files(folder, FIRST, [{"head_sizes": [64]}]) == ()
    assert remembered_requests(folder) == [{"head_sizes": [64]}]
    for text in ("", "[]", '{"files": 3}', '{"files": {}, "requests": 3}'):
        (folder / MANIFEST).write_text(text)
        assert remembered_requests(folder) is None


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
def test_a_diff_is_what_the_next_call_would_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = {**FIRST, "same.txt": "same\n", "end.txt": "no newline"}
    after = {**SECOND, "same.txt": "same\n", "end.txt": "still none", "new/d.h": "one\ntwo\n"}
    write_files(module.Path("patched"), before)
    text = "\n".join([*change_of(module.Path("patched"), after).diff(), ""])
    assert "same.txt" not in text and MANIFEST not in text and "+++ /dev/null" in text
    subprocess.run(["patch", "-p0", "-E", "-s"], input=text, text=True, check=True)
    assert {name: (tmp_path / "patched" / name).read_text() for name in names(tmp_path / "patched")} == {
        **after,
        MANIFEST: (tmp_path / "patched" / MANIFEST).read_text(),
    }


def test_one_process_at_a_time_writes_a_folder(tmp_path):
    folder = tmp_path / "project"
    hold = (
        "import sys, time; from pathlib import Path; from attndsl.codegen.project.folder_lock import locked\n"
        f"with locked([Path({str(folder)!r})]): print('held', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            told = rf"'{folder}' is being written by process {holder.pid};"
            with pytest.raises(FolderLocked, match=told), locked([folder]):
                pytest.fail("two processes hold one lock")
            with locked([tmp_path / "another"]):
                pass
        finally:
            holder.kill()
    assert (tmp_path / ".project.lock").is_file(), "a process that is killed leaves its file behind"
    with locked([folder]), pytest.raises(FolderLocked, match=f"process {os.getpid()};"), locked([folder]):
        pytest.fail("two threads hold one lock")
    assert list(tmp_path.iterdir()) == []
