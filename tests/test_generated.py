"""The committed operator projects are what the compiler writes today."""

import pytest

from attndsl.codegen.project import Selection, plan_projects
from attndsl.resources import generated_dir
from attndsl.spec.loader import load, shipped_names


@pytest.mark.parametrize("name", shipped_names())
def test_generated_is_in_step(name: str) -> None:
    for project in plan_projects(load(name), Selection()):
        files, folder = project.files(), generated_dir() / project.folder
        committed = {
            str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()
        }
        assert sorted(committed) == sorted(files)
        changed = [file for file in files if committed[file] != files[file]]
        assert not changed, "run: attndsl generate"
