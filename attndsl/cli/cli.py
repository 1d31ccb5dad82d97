"""The ``attndsl`` command. It only calls the packages; it decides nothing itself.

Exit codes and errors: ``command_frame.py``. Commands import what they need, for help to be fast.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from attndsl import __version__
from attndsl.cli.command_frame import FAILED, answer, run_command
from attndsl.cli.command_values import LARGEST, Decimal, Place, Whole, named_values, whole

if TYPE_CHECKING:
    from rich.console import Console

MOST_CASES = 1_000_000
DEFAULT_CASES = 48


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="attndsl")
def cli() -> None:
    """Attention operators for Ascend NPUs: from a declarative spec to checked AscendC."""


def main() -> None:
    """Run the command of ``sys.argv`` and end with its exit code."""
    sys.exit(run_command(cli, sys.argv[1:]))


def _console() -> Console:
    """Wide enough for tables when the output is a pipe or a file."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 200
    return Console(width=width, highlight=False)


def _operators(names: tuple[str, ...]) -> list[Any]:
    from attndsl.spec.operator.loader import load, shipped_names

    return [load(name) for name in names or shipped_names()]


def _request(dtypes: tuple[str, ...], settings: tuple[str, ...], features: tuple[str, ...]) -> Any:
    from attndsl.codegen.kernel_set.request import DEFAULT_HEAD_SIZES, KernelRequest

    found = named_values(settings, "--set", "NAME=VALUE, for example D=128")
    size = found.pop("D", "")
    if "none" in features and len(features) > 1:
        raise click.UsageError("--feature none stands alone; several --feature together name one kernel")
    wanted = None if not features else frozenset(features) - {"none"}
    heads = (whole(size, "--set D", least=-LARGEST),) if size else DEFAULT_HEAD_SIZES
    return KernelRequest(
        dtypes=dtypes or None, head_sizes=heads, features=wanted, settings=tuple(found.items())
    )


_dtype = click.option("--dtype", "dtypes", multiple=True, metavar="NAME", help="io dtype; may be repeated")


def _at_most_one(_: click.Context, __: click.Parameter, dtypes: tuple[str, ...]) -> tuple[str, ...]:
    if len(dtypes) > 1:
        raise click.UsageError(f"--dtype names one io dtype here, got {' and '.join(dtypes)}")
    return dtypes


_one_dtype = click.option(
    "--dtype", "dtypes", multiple=True, metavar="NAME", callback=_at_most_one, help="io dtype, one"
)
_set = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="head size (D=128 by default), or a parameter, layout(x), dtype(x), split(x) that kernels depend on",
)
_feature = click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="NAME",
    help="optional tensor in use; repeat it for a kernel with several; 'none' for none",
)
_json = click.option("--json", "as_json", is_flag=True, help="print one JSON document")


@cli.command("list")
@_json
def list_operators(as_json: bool) -> None:
    """The shipped operators, their documents, and which features are checked on which backend.

    The last comes from recorded verifications (attndsl verify --record), never from declarations; a record
    of other code than today's is shown as stale.
    """
    from attndsl.campaign.records import CHECKED, STALE, features_by_backend

    rows = [
        {
            "name": operator.name,
            "document": operator.document,
            "summary": operator.summary,
            "target": operator.target,
            "dtypes": list(operator.tensors[0].dtypes),
            "features": features_by_backend(operator),
        }
        for operator in _operators(())
    ]
    if as_json:
        answer(operators=rows)
        return
    for row in rows:
        click.echo(f"{row['name']}  ({row['document']})")
        click.echo(f"    {row['summary']}")
        click.echo(f"    dtypes {', '.join(row['dtypes'])}; {len(row['features'])} features")
        for backend in ("reference", "tile", "emulator"):
            states = [states[backend] for states in row["features"].values()]
            stale = f", {states.count(STALE)} stale" if STALE in states else ""
            click.echo(f"    {backend}: {states.count(CHECKED)} of them checked{stale}")


STAGES = ("contract", "graph", "schedule", "tile", "memory", "cores", "source")


@cli.command()
@click.argument("name")
@_one_dtype
@_set
@_feature
@click.option(
    "--stage", "stages", multiple=True, type=click.Choice(STAGES), help="default: all but the last two"
)
@_json
def show(
    name: str,
    dtypes: tuple[str, ...],
    settings: tuple[str, ...],
    features: tuple[str, ...],
    stages: tuple[str, ...],
    as_json: bool,
) -> None:
    """Contract, graph, schedule, tile program and memory map of one operator."""
    from attndsl.cli.show import describe_stages

    operator = _operators((name,))[0]
    request = _request(dtypes, settings, features)
    texts = describe_stages(operator, request, stages or STAGES[:-2])
    if as_json:
        answer(operator=operator.name, **texts)
        return
    for stage, text in texts.items():
        click.echo(f"== {stage} " + "=" * (96 - len(stage)))
        click.echo(text.rstrip() + "\n")


@cli.command()
@click.argument("names", nargs=-1)
@click.option("--out", default="generated", show_default=True, type=Place(file=False), help="folder")
@_dtype
@_set
@_feature
@_json
def generate(
    names: tuple[str, ...],
    out: Path,
    dtypes: tuple[str, ...],
    settings: tuple[str, ...],
    features: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write the operators' projects to OUT/NAME/: kernels, host code, build files, bindings, tests.

    Files that an earlier generation wrote there and this one does not are removed; others are left alone.
    A spec file is a Python program of yours, which is executed to load it; nothing else is.
    """
    from attndsl.codegen.project.finished import FinishedProject, finished_projects

    request = _request(dtypes, settings, features)
    # Everything is computed before the first file is written.
    projects: list[FinishedProject] = []
    for operator in _operators(names):
        made = finished_projects(operator, request)
        if names and not any(project.files for project in made):
            raise click.UsageError(f"{operator.name} has no kernel yet: {made[0].reason}")
        projects += made
    rows = []
    for project in projects:
        changed = project.write(out)
        rows.append(
            {
                "operator": project.operator,
                "folder": str(out / project.folder),
                "files": sorted(project.files),
                "written": [path.name for path in changed if path.exists()],
                "removed": [path.name for path in changed if not path.exists()],
                "without_kernel": list(project.not_lowered),
                "reason": project.reason,
            }
        )
    if as_json:
        answer(projects=rows)
        return
    for row in rows:
        if row["reason"]:
            click.echo(f"{row['operator']}: no kernel yet, {row['reason']}")
            continue
        removed = f", {len(row['removed'])} of earlier generations removed" if row["removed"] else ""
        click.echo(f"{row['folder']}: {len(row['files'])} files, {len(row['written'])} written{removed}")
        if row["without_kernel"]:
            click.echo(f"    no kernel yet for {', '.join(row['without_kernel'])}")


@cli.command()
@click.argument("names", nargs=-1)
@click.option(
    "--cases", default=DEFAULT_CASES, show_default=True, type=Whole(1, MOST_CASES), help="cases an operator"
)
@click.option("--seed", default=0, show_default=True, type=Whole(0), help="seed of the cases")
@click.option(
    "--case", "only", multiple=True, type=Whole(0, MOST_CASES - 1), help="only this case; repeatable"
)
@click.option(
    "--backend",
    "backends",
    multiple=True,
    type=click.Choice(["reference", "tile", "emulator"]),
    help="default: all; the reference always runs",
)
@click.option("--coverage", is_flag=True, help="print the statements of the kernels that no case reached")
@click.option(
    "--project",
    type=Place(file=False),
    metavar="DIR",
    help="run the kernels and the tiling of the project in DIR, as they are there, over cases for them",
)
@click.option("--record", is_flag=True, help="write what was checked to attndsl/campaign/recorded")
@click.option(
    "--scheduler",
    metavar="tcp://HOST:PORT",
    help="run the cases on the workers of a Dask cluster (pip install 'attndsl[cluster]')",
)
@click.option(
    "--journal",
    type=Place(folder=False),
    metavar="FILE",
    help="keep finished cases in FILE; those that it holds are not run again",
)
@_json
def verify(
    names: tuple[str, ...],
    cases: int,
    seed: int,
    only: tuple[int, ...],
    backends: tuple[str, ...],
    coverage: bool,
    project: Path | None,
    record: bool,
    scheduler: str | None,
    journal: Path | None,
    as_json: bool,
) -> None:
    """Compare reference, tile program and executed kernel over generated cases.

    Exit code 0 only if every backend that was asked for ran at least one case of each operator
    and none missed.
    """
    from attndsl.campaign import NotGenerated, records
    from attndsl.campaign import verify as verify_operator
    from attndsl.campaign.cluster import Cluster
    from attndsl.execute.coverage import Coverage
    from attndsl.execute.user_project import UserProject

    chosen = backends or (("emulator",) if coverage or project else ("tile", "emulator"))
    _check_numbers(cases, only)
    if (coverage or project) and "emulator" not in chosen:
        option = "--coverage" if coverage else "--project"
        raise click.UsageError(f"{option} speaks of what the emulator runs; add --backend emulator")
    if project:
        _check_for_project(names, record)
    if (scheduler or journal) and (coverage or project):
        option = "--scheduler" if scheduler else "--journal"
        raise click.UsageError(f"{option} cannot be joined with --coverage or --project: they run here alone")
    if "emulator" in chosen:
        from attndsl.base.disk_cache import cache_dir
        from attndsl.emulator.toolchain import require_compiler

        require_compiler()
        cache_dir()
    console = _console()
    results, gaps = [], []
    for operator in _operators(names):
        progress = _progress() if sys.stderr.isatty() and not as_json else None
        seen = Coverage() if coverage else None
        edited = UserProject.at(project, operator, seen) if project else None
        runs = edited or seen
        try:
            result = verify_operator(
                operator,
                cases=cases,
                seed=seed,
                backends=chosen,
                progress=progress,
                only=only,
                execute=runs.execute if runs else None,
                kernels=edited.kernels() if edited else (),
                jobs=Cluster(scheduler) if scheduler else None,
                journal=journal,
                options=f"--project {shlex.quote(str(project))}" if project else "",
            )
        except NotGenerated as gap:
            if names:
                raise
            gaps.append({"operator": operator.name, "reason": str(gap)})
            click.echo(f"not verified: {gap}", err=True)
        else:
            results.append((result, seen))
            if record and not only:
                path = records.write(operator, result)
                click.echo(f"recorded in {path}", err=True)
    if as_json:
        answer(
            ok=not gaps and all(result.ok for result, _ in results),
            verifications=[
                {**result.to_json(), **({"coverage": seen.to_json()} if seen else {})}
                for result, seen in results
            ],
            not_verified=gaps,
        )
    else:
        for result, seen in results:
            result.print(console)
            for line in seen.lines() if seen else ():
                click.echo(line)
    if gaps or not all(result.ok for result, _ in results):
        raise click.exceptions.Exit(FAILED)


def _check_numbers(cases: int, only: tuple[int, ...]) -> None:
    """Any case of the seed's stream can be run alone; where its length is given, one of these."""
    given = click.get_current_context().get_parameter_source("cases") is ParameterSource.COMMANDLINE
    for number in only:
        if given and number >= cases:
            raise click.UsageError(
                f"--case {number} is beyond --cases {cases}; cases are numbered from 0 to {cases - 1}"
            )


def _progress() -> Any:
    from rich.console import Console

    error = Console(stderr=True, highlight=False)
    return lambda done, total: error.print(f"  {done} of {total} cases", end="\r")


def _check_for_project(names: tuple[str, ...], record: bool) -> None:
    if len(names) != 1:
        raise click.UsageError("--project DIR is the project of one operator; name it")
    if record:
        raise click.UsageError("--record keeps what was found of generated kernels, not those of --project")


@cli.command()
@click.argument("name")
@click.argument("inputs", type=Place())
@click.option("--backend", default="reference", show_default=True, help="reference, tile or emulator")
@click.option("--out", type=Place(folder=False), help="where to write the results (.npz)")
@_json
def run(name: str, inputs: Path, backend: str, out: Path | None, as_json: bool) -> None:
    """One call from a file: arrays by argument name, lists as key.0, key.1, scalars as 0-d arrays."""
    from attndsl.cli.call_files import load_call, save_results

    operator = _operators((name,))[0]
    results = operator(**load_call(inputs), backend=backend)
    results = results if isinstance(results, tuple) else (results,)
    named = {output.name: array for output, array in zip(operator.outputs, results, strict=True)}
    if out is not None:
        save_results(out, named)
    summary = {key: {"shape": list(array.shape), "dtype": str(array.dtype)} for key, array in named.items()}
    if as_json:
        answer(operator=operator.name, backend=backend, results=summary)
        return
    for key, row in summary.items():
        click.echo(f"{key}: {row['dtype']} {tuple(row['shape'])}" + (f" -> {out}" if out else ""))


@cli.command()
@click.argument("name")
@click.argument("inputs", required=False, type=Place())
@click.option(
    "--shape", "shapes", multiple=True, metavar="NAME=NUMBER,...", help="sizes by the contract's names"
)
@_one_dtype
@_set
@_feature
@click.option("--cores", default=24, show_default=True, type=Whole(1), help="blocks at most")
@click.option("--trace", type=Place(folder=False), help="timeline, for Perfetto")
@_json
def profile(
    name: str,
    inputs: Path | None,
    shapes: tuple[str, ...],
    dtypes: tuple[str, ...],
    settings: tuple[str, ...],
    features: tuple[str, ...],
    cores: int,
    trace: Path | None,
    as_json: bool,
) -> None:
    """Predicted time of a call, its bounds and how busy each pipe is.

    The call is one from a file, as `run` takes it, or one of normal numbers with the sizes of --shape.
    """
    from attndsl.cli.call_files import load_call
    from attndsl.cli.profile import call_of_shape, profile_call
    from attndsl.codegen.kernel_set.kernel_request import chosen_mode, requested_values
    from attndsl.codegen.kernel_set.request import KernelRequest

    operator = _operators((name,))[0]
    if inputs is not None:
        if shapes or dtypes or settings or features:
            raise click.UsageError(
                "--shape, --dtype, --set and --feature describe a call; the file is one already"
            )
        call = operator.bind(**load_call(inputs))
    else:
        sizes = named_values(shapes, "--shape", "NAME=NUMBER, for example batch=2")
        asked = named_values(settings, "--set", "NAME=VALUE, for example maskType=NORM")
        if "D" in asked:
            raise click.UsageError("--set D: sizes of a call are given by --shape, with the contract's names")
        for name in sizes.keys() & asked.keys():
            raise click.UsageError(f"'{name}' is given by --shape and by --set; give it once")
        request = KernelRequest(dtypes=dtypes or None, settings=tuple(asked.items()))
        operator, request = chosen_mode(operator, request)
        call = call_of_shape(
            operator,
            {name: whole(text, f"--shape {name}", least=-LARGEST) for name, text in sizes.items()},
            dtype=dtypes[0] if dtypes else None,
            features=features,
            settings=requested_values(operator, request),
        )
    result = profile_call(call, cores=cores, trace=trace)
    if as_json:
        answer(**result.to_json())
        return
    for line in result.lines():
        click.echo(line)


@cli.command(context_settings={"ignore_unknown_options": True})
@click.argument("file", type=Place())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="preprocessor definition")
@click.option("-I", "include_dirs", multiple=True, metavar="DIR", help="folder of headers")
@click.option("--source", "sources", multiple=True, metavar="FILE", help="further source file")
@click.option("--auto-sync", default="on", show_default=True, type=click.Choice(["on", "off"]))
@click.option("--timeout", default=300.0, show_default=True, type=Decimal(0.1, 1e7), metavar="SECONDS")
@click.option("--memory", default=16.0, show_default=True, type=Decimal(0.5, 1 << 20), metavar="GIB")
@click.option("--trace", type=Place(folder=False), help="timeline, for Perfetto")
@_json
def emulate(
    file: Path,
    args: tuple[str, ...],
    defines: tuple[str, ...],
    include_dirs: tuple[str, ...],
    sources: tuple[str, ...],
    auto_sync: str,
    timeout: float,
    memory: float,
    trace: Path | None,
    as_json: bool,
) -> None:
    """Compile and run an AscendC program with its own host main, with every check on.

    ARGS are the program's own, behind -- when one of ours has the same name. It runs in the current folder.
    """
    from attndsl.emulator.program import FOREIGN, build_program

    program = build_program(file, sources=sources, include_dirs=include_dirs, defines=defines)
    result = program.run(
        args,
        knobs=replace(FOREIGN, auto_sync=auto_sync == "on", clean_at_end=auto_sync == "on"),
        timeout=timeout,
        memory=int(memory * (1 << 30)),
        capture=as_json,
        trace=trace,
    )
    if as_json:
        answer(**result.to_json())
    else:
        for finding in result.findings:
            click.echo(str(finding))
        if result.error or result.exit_code:
            click.echo(f"attndsl: {result.error or f'{file} ended with code {result.exit_code}'}", err=True)
    if not result.ok:
        raise click.exceptions.Exit(FAILED)


@cli.command()
@_json
def doctor(as_json: bool) -> None:
    """What is installed, which compiler is used, what is missing and how to get it."""
    from attndsl.cli.doctor import examine

    checks = examine()
    if as_json:
        answer(ok=all(check.ok for check in checks), checks=[check.to_json() for check in checks])
    else:
        for check in checks:
            click.echo(check.line())
    if not all(check.ok for check in checks):
        raise click.exceptions.Exit(FAILED)


if __name__ == "__main__":
    main()
