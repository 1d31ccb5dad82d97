"""Backends: found by entry points, from the spec alone; what is missing is told with the next step."""

import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from attndsl.api.backends import BACKENDS as OF_USERS
from attndsl.spec import Operator, errors
from attndsl.spec.operator import backends

ROOT = Path(__file__).parents[2]


def doubled() -> Operator:
    op = Operator("doubled")
    B, N, D = op.dims("B N D")
    op.axes(B=B, N=N, D=D, E=D)
    query = op.input("query", "B N D", dtype="float32")
    op.output("out", query + query, like=query)
    return op


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    backends._registered.cache_clear()
    backends._loaded.cache_clear()


def registered(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    backends._loaded.cache_clear()
    found = {name: EntryPoint(name, value, backends.GROUP) for name, value in values.items()}
    monkeypatch.setattr(backends, "_registered", _Fixed(found))


class _Fixed(dict[str, EntryPoint]):
    def __call__(self) -> dict[str, EntryPoint]:
        return self

    def cache_clear(self) -> None:
        """As the function that it replaces."""


def test_pyproject_registers_the_backends_in_their_order() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert tuple(project["entry-points"][backends.GROUP]) == backends.BACKENDS == OF_USERS
    for name, value in project["entry-points"][backends.GROUP].items():
        assert isinstance(EntryPoint(name, value, backends.GROUP).load(), backends.Backend)


def test_only_kernels_have_limits_and_only_the_emulator_has_checks() -> None:
    found = {name: backends.find_backend(name) for name in backends.BACKENDS}
    assert {name for name, each in found.items() if each.on_target} == {"tile", "emulator"}
    assert {name for name, each in found.items() if each.run_checked} == {"emulator"}


def test_the_spec_alone_runs_a_call() -> None:
    """No module of ``attndsl.api`` is imported, and no backend but the one that is asked for."""
    text = textwrap.dedent("""
        import sys
        import numpy as np
        from attndsl.spec import Operator
        assert not [name for name in sys.modules if name.startswith(("attndsl.reference", "attndsl.api"))]
        op = Operator("doubled")
        B, N, D = op.dims("B N D")
        op.axes(B=B, N=N, D=D, E=D)
        query = op.input("query", "B N D", dtype="float32")
        op.output("out", query + query, like=query)
        print(op(np.ones((1, 1, 2), np.float32)).tolist())
        upper = ("attndsl.api", "attndsl.tile_interpreter", "attndsl.execute", "attndsl.tile.")
        assert not [name for name in sys.modules if name.startswith(upper)]
    """)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[[[2.0, 2.0]]]", "")


def test_a_backend_of_another_package_computes_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by its entry point; it takes its own option, others ignore it, and it has no limits."""
    info = tmp_path / "its_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: its-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[attndsl.backends]\nthreefold = threefold_backend:BACKEND\n")
    (tmp_path / "threefold_backend.py").write_text(
        "from attndsl.spec.operator.backends import Backend\n"
        "def run(call, precision='float32'):\n"
        "    return (3 * call.arrays['query'].astype(precision),)\n"
        "BACKEND = Backend(run, ('precision',), on_target=False)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    backends._registered.cache_clear()
    query = np.ones((1, 1, 2), np.float32)
    assert doubled()(query, backend="threefold", precision="float64").dtype == np.float64
    assert doubled()(query, backend="threefold").tolist() == [[[3, 3]]]
    assert doubled()(query, precision="float64").tolist() == [[[2, 2]]]
    with pytest.raises(errors.UnknownBackendError, match="did you mean 'threefold'"):
        doubled()(query, backend="threefolt")


def test_a_backend_that_the_installation_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    registered(monkeypatch, reference="attndsl.reference.run:BACKEND")
    query = np.ones((1, 1, 2), np.float32)
    assert doubled()(query).tolist() == [[[2, 2]]]
    with pytest.raises(errors.BackendNotInstalledError, match=r"'tile' is not installed.*pip install -e \."):
        doubled()(query, backend="tile")
    with pytest.raises(errors.UnknownBackendError, match="there are reference, tile, emulator"):
        doubled()(query, backend="x")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("attndsl.reference.gone:BACKEND", "No module named 'attndsl.reference.gone'; install its package"),
        ("attndsl.reference.run:GONE", "has no attribute 'GONE'; install its package"),
        ("attndsl.reference.run:run", "is a function; it must be a Backend"),
    ],
)
def test_an_entry_point_that_names_no_backend(monkeypatch: pytest.MonkeyPatch, value: str, told: str) -> None:
    registered(monkeypatch, reference=value)
    with pytest.raises(errors.BackendLoadError, match=f"backend 'reference'.*{told}"):
        doubled()(np.ones((1, 1, 2), np.float32))


def test_an_option_that_no_backend_has() -> None:
    call = doubled().bind(np.ones((1, 1, 2), np.float32))
    assert backends.run(call, "reference", precision="float64")[0].tolist() == [[[2, 2]]]
    with pytest.raises(
        errors.SignatureError, match="unknown option 'prec' of backend 'tile'; there are prec"
    ):
        backends.run(call, "tile", prec="float64")


def test_empty_results_have_the_dtype_of_the_contract() -> None:
    op = Operator("copied")
    B, N, D = op.dims("B N D")
    op.axes(B=B, N=N, D=D, E=D)
    query = op.input("query", "B N D", dtype=("bool", "float64"))
    op.output("out", query, like=query)
    assert op(np.ones((0, 1, 2), bool)).dtype == bool and op(np.ones((0, 1, 2))).dtype == np.float64
    assert doubled()(np.ones((0, 1, 2), np.float32)).shape == (0, 1, 2)
