"""The commands that messages and files tell users to run, for modes and for specs of their own: they run."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from attndsl.cli.cli import cli
from attndsl.codegen.kernel_set.kernel_request import NoLegalCall, wanted_specializations
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.project import plan_projects
from attndsl.execute.user_project import NoProject, UserProject
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.shaped_call import ProfileError, call_of_shape

SPEC = """
from attndsl.spec import attend, Operator

op = Operator("plain")
B, N, Q, T, D = op.dims("B N Q T D")
op.axes(B=B, N=N, K=N, Q=Q, T=T, D=D, E=D)
query = op.input("query", "B N Q D", dtype="float16")
key = op.input("key", "B N T D", dtype=query, axes="B K T D")
value = op.input("value", "B N T D", dtype=query, axes="B K T E")
op.output("out", attend.softmax(attend.scores(query, key)) @ value, like=query)
"""


def told(text, command):
    """The arguments of the one command of this name that a text tells."""
    (found,) = set(re.findall(rf"attndsl {command} ([^`;\n]*?)(?= prints| writes|[`;\n]|$)", text))
    return shlex.split(found)


def shows(text):
    done = CliRunner().invoke(cli, ["show", *told(text, "show")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def spec_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("of mine") / "my_plain.py"
    path.write_text(SPEC)
    return str(path)


def test_a_project_of_ones_own_spec_names_its_file(spec_file):
    (project,) = plan_projects(load(spec_file), KernelRequest(features=frozenset(), head_sizes=(16,)))
    files = project.files()
    (command,) = re.findall(r"`(attndsl generate [^`]*)`", " ".join(files["README.md"].split()))
    assert shlex.split(command)[2] == spec_file
    assert f'ATTNDSL_SPEC", "{spec_file}"' in files["torch/plain.py"]
    kernels = [text for name, text in files.items() if "Step t" in text]
    assert kernels
    for kernel in kernels:  # for lines of the spec, without where it lies on this machine
        assert ' * Spec: my_plain.py; "spec line"' in kernel and str(Path(spec_file).parent) not in kernel
    for name, text in files.items():  # and none says what the spec does not
        assert not re.search(r"(Contract|Document): *\.?($| T)|^\. ", text, re.MULTILINE), name


HELPER = """
from attndsl.spec import attend


def causal(scores):
    return scores.where(attend.KEY <= attend.QUERY)
"""


def test_comments_name_the_file_of_a_line_that_is_not_the_specs(tmp_path, monkeypatch):
    name = "masks_of_commands"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / f"{name}.py").write_text(HELPER)
    scores = "attend.scores(query, key)"
    spec = SPEC.replace(scores, f"causal({scores} * 0.5)").replace("\n", f"\nfrom {name} import causal\n", 1)
    (tmp_path / "my_causal.py").write_text(spec)
    (project,) = plan_projects(
        load(tmp_path / "my_causal.py"), KernelRequest(features=frozenset(), head_sizes=(16,))
    )
    (kernel,) = (text for text in project.files().values() if "Step t" in text)
    own_line = spec.splitlines().index(next(each for each in spec.splitlines() if scores in each)) + 1
    assert set(re.findall(r"\((spec line \d+|\w+\.py line \d+)\)", kernel)) == {
        f"spec line {own_line}",
        f"{name}.py line 6",
    }


def test_a_mode_is_told_by_its_parameter(tmp_path):
    operator = load("self_attention")
    mode = operator.mode_named("PREFIX_ENCODER")
    assert told(f"attndsl show {mode.in_commands}\n", "show")[0] == "self_attention"
    with pytest.raises(NoLegalCall) as refused:
        wanted_specializations(mode, KernelRequest(settings=(("maskType", "NORM"),)))
    assert f"\n{mode.name}(" in shows(str(refused.value))
    with pytest.raises(ProfileError) as refused:
        call_of_shape(mode, {"headNum": 3, "kvHeadNum": 2})
    assert f"\n{mode.name}(" in shows(str(refused.value))
    folder = tmp_path / mode.name / "op_kernel"
    folder.mkdir(parents=True)
    (folder / f"{mode.name}_custom.cpp").touch()
    with pytest.raises(NoProject) as refused:
        UserProject.at(folder.parent, operator)
    assert told(str(refused.value), "generate") == ["self_attention", "--set", "calcType=PREFIX_ENCODER"]
