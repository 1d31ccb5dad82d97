"""Jobs of a campaign: each result once, whoever runs them, whatever workers are lost; journals; clusters."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attndsl.api import ops
from attndsl.base.package_files import specs_dir
from attndsl.campaign import jobs as module
from attndsl.campaign import records, verify
from attndsl.campaign.jobs import Job, LocalProcesses, LocalThreads, WrongJournal, results_of
from attndsl.campaign.runner import CannotTravel, SpecDiffers, case_job
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.cases import Stream, stream_of
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec


def square(number: int) -> int:
    return number * number


def jobs_of(count: int, function: Any = square) -> list[Job]:
    return [Job(f"job {number}", function, (number,)) for number in range(count)]


def in_a_process(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In one of its own: one with threads, as another test may leave, forks no workers."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


@pytest.mark.parametrize("runner", [LocalProcesses(1), LocalProcesses(3), LocalThreads(1), LocalThreads(3)])
def test_each_result_is_there_under_its_key(runner: Any) -> None:
    told: list[int] = []
    found = results_of(jobs_of(25), runner, progress=told.append)
    assert found == {f"job {number}": number * number for number in range(25)}
    assert told == list(range(1, 26))


def test_processes_share_the_work_and_a_lost_one_loses_nothing(tmp_path: Path) -> None:
    """One job kills its worker the first time; all results are there, none twice."""
    done = in_a_process(
        """
        import json, os, signal, sys
        from pathlib import Path
        from attndsl.campaign.jobs import Job, LocalProcesses
        def work(number, folder):
            mark = Path(folder) / "killed"
            if number == 5 and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return number, os.getpid()
        jobs = [Job(str(n), work, (n, sys.argv[1])) for n in range(12)]
        found = [(job.key, *result) for job, result in LocalProcesses(2).run(jobs)]
        print(json.dumps([found, os.getpid()]))
        """,
        str(tmp_path),
    )
    found, parent = json.loads(done.stdout)
    assert (tmp_path / "killed").exists(), done.stderr
    assert sorted((int(key), number) for key, number, _ in found) == [(n, n) for n in range(12)]
    assert parent not in {worker for _, _, worker in found}


def test_a_job_that_kills_each_worker_ends_the_campaign_by_name() -> None:
    done = in_a_process(
        """
        import os, signal
        from attndsl.base.jobs import WorkersLost
        from attndsl.campaign.jobs import Job, LocalProcesses
        def work(number):
            if number == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return number
        try:
            list(LocalProcesses(2).run([Job(f"case {n}", work, (n,)) for n in range(3)]))
        except WorkersLost as error:
            print(error)
        """
    )
    assert "case 1" in done.stdout and "case 0" not in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("runner", ["LocalProcesses(2)", "LocalThreads(2)"])
def test_an_error_is_raised_here_as_it_is(runner: str) -> None:
    done = in_a_process(
        f"""
        from attndsl.campaign.jobs import Job, LocalProcesses, LocalThreads
        class Awkward(Exception):
            def __init__(self, what, where):
                super().__init__(f"{{what}} at {{where}}")
        def work(number):
            if number == 2:
                raise Awkward("job", number)
            return number
        try:
            list({runner}.run([Job(str(n), work, (n,)) for n in range(50)]))
        except Awkward as error:
            print("raised:", error)
        """
    )
    assert done.stdout == "raised: job at 2\n", done.stderr


def test_a_worker_has_no_workers() -> None:
    """What a job would do in several processes, it does in its own."""
    done = in_a_process(
        """
        import os
        from attndsl.base.jobs import fork_map
        from attndsl.campaign.jobs import Job, LocalProcesses
        def work():
            return os.getpid(), set(fork_map(lambda _: os.getpid(), range(4), 2))
        for job, (worker, used) in LocalProcesses(2).run([Job(name, work) for name in "ab"]):
            print(used == {worker}, worker != os.getpid())
        """
    )
    assert done.stdout == "True True\n" * 2, done.stderr


def test_workers_end_with_their_parent() -> None:
    """Also with one that is killed, which can end nobody."""
    code = """
        import os, time
        from attndsl.campaign.jobs import Job, LocalProcesses
        def work(number):
            os.write(1, f"{os.getpid()}\\n".encode())  # in one piece, whoever writes beside it
            time.sleep(60)
        list(LocalProcesses(2).run([Job(str(n), work, (n,)) for n in range(2)]))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        parent.send_signal(signal.SIGKILL)
        # the pipe ends when nobody holds it any more: neither parent nor workers
        assert parent.stdout.read() == "" and len(set(workers)) == 2


def test_a_journal_spares_what_it_holds(tmp_path: Path) -> None:
    journal, ran = tmp_path / "journal", []

    def run(number: int) -> int:
        ran.append(number)
        return number * number

    first = results_of(jobs_of(3, run), LocalThreads(1), journal)
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-5])  # the process died while it wrote the last line
    again = results_of(jobs_of(5, run), LocalThreads(1), journal)
    assert ran == [0, 1, 2, 2, 3, 4] and first.items() < again.items()
    assert module.read_journal(journal) == again


@pytest.mark.parametrize("content", [b"no journal\n", b'{"key": "a"}\n', b'{"key": "a", "result": "eA=="}\n'])
def test_another_file_is_no_journal(tmp_path: Path, content: bytes) -> None:
    journal = tmp_path / "notes.txt"
    journal.write_bytes(content)
    with pytest.raises(WrongJournal, match=r"notes\.txt:1: .*name another file"):
        results_of(jobs_of(1), LocalThreads(1), journal)
    assert journal.read_bytes() == content


# ------------------------------------------------------------------------------------------------
# Cases as jobs


def timeless(found: Any) -> str:
    """A verification as text, but for its times."""

    def without(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: without(value) for key, value in part.items() if key != "seconds"}
        return [without(each) for each in part] if isinstance(part, list) else part

    return json.dumps(without(found.to_json()))


def recorded(found: Any, operator: Any, folder: Path) -> bytes:
    """The record of a verification."""
    return records.write(operator, found, (), folder).read_bytes()


@pytest.mark.parametrize("name", ["incre_flash_attention", "self_attention", "nsa_compress_attention"])
def test_a_case_that_travels_is_the_same_case(name: str) -> None:
    for case in stream_of(getattr(ops, name)).take(2):
        data = pickle.loads(pickle.dumps(case_job(case, ("reference",), None).arguments[0]))
        here, there = case.call(), data.case().call()
        assert here.arrays.keys() == there.arrays.keys() and here.params == there.params
        for key, array in here.arrays.items():
            assert array.tobytes() == there.arrays[key].tobytes()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An operator of one file whose cases are found, run and judged in a fraction of a second."""
    written = decode_spec(tmp_path_factory.mktemp("small"), DECODE_SCORES, DECODE_RESULT).file
    assert written is not None
    return load(written)


def test_who_runs_the_cases_makes_no_difference(small: Any, tmp_path: Path) -> None:
    operator = small
    runners = (None, LocalThreads(1), LocalThreads(2), LocalProcesses(2))
    found = [verify(operator, cases=2, backends=(), jobs=runner) for runner in runners]
    assert len({timeless(each) for each in found}) == 1
    folders = (tmp_path / str(number) for number in range(len(found)))
    assert len({recorded(each, operator, folder) for each, folder in zip(found, folders, strict=True)}) == 1


def test_a_journal_of_cases_is_that_of_their_spec_and_seed(small: Any, tmp_path: Path) -> None:
    journal, operator = tmp_path / "journal", small
    verify(operator, cases=3, backends=(), journal=journal)
    lines = journal.read_bytes().count(b"\n")
    found = verify(operator, cases=4, backends=(), journal=journal)
    assert lines == 3 and journal.read_bytes().count(b"\n") == 4
    assert timeless(found) == timeless(verify(operator, cases=4, backends=()))
    verify(operator, cases=1, seed=1, backends=(), journal=journal)
    assert journal.read_bytes().count(b"\n") == 5


def test_a_spec_that_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text((specs_dir() / "relay_attention.py").read_text())
    (case,) = Stream(load(file)).take(1)
    data = case_job(case, ("reference",), None).arguments[0]
    assert data.case().operator.name == case.operator.name
    with pytest.raises(SpecDiffers, match=r"own\.py"):
        replace(data, content="another").case()


def test_a_name_may_be_that_of_another_file_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative name, in another folder."""
    for place, spec in (("one", "relay_attention"), ("two", "nsa_compress_attention")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "own.py").write_text((specs_dir() / f"{spec}.py").read_text())
        monkeypatch.chdir(tmp_path / place)
        (case,) = Stream(load("own.py")).take(1)
        data = case_job(case, ("reference",), None).arguments[0]
        assert data.case().operator.name == spec


def test_what_only_this_process_can_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotTravel, match="relay_attention"):
        verify(ops.relay_attention, cases=1, execute=lambda launch: None, journal=tmp_path / "j")  # type: ignore[arg-type, return-value]
    assert not (tmp_path / "j").exists()


# ------------------------------------------------------------------------------------------------
# A cluster


@pytest.mark.long
def test_a_cluster_that_loses_a_worker_gives_the_same_record(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    done = in_a_process(_CLUSTER, str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    local, cluster = (tmp_path / name for name in ("local", "cluster"))
    assert (tmp_path / "killed").read_text().isdigit()
    assert (local / "relay_attention.json").read_bytes() == (cluster / "relay_attention.json").read_bytes()
    assert (local / "rows").read_text() == (cluster / "rows").read_text()
    assert sorted(map(int, (tmp_path / "told").read_text().split())) == list(range(1, 13))
    journal = module.read_journal(tmp_path / "journal")
    assert len(journal) == (tmp_path / "journal").read_bytes().count(b"\n") == 12


_CLUSTER = """
    import os, signal, sys
    from pathlib import Path
    from distributed import Client, LocalCluster
    from attndsl.api import ops
    from attndsl.campaign import records, verify
    from attndsl.campaign.cluster import Cluster
    from tests.verify.test_campaign_jobs import timeless

    def main(folder):
        operator, options = ops.relay_attention, dict(cases=12, backends=("tile",))
        made = {}
        found = verify(operator, **options, made=made)
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            address = cluster.scheduler_address
            with Client(address) as client:
                workers = client.run(os.getpid)
            told = []
            def progress(done, total):
                told.append(done)
                if done == 3:
                    victim = sorted(workers.values())[0]
                    os.kill(victim, signal.SIGKILL)
                    (folder / "killed").write_text(str(victim))
            lost = verify(operator, **options, jobs=Cluster(address), progress=progress,
                          journal=folder / "journal")
        (folder / "told").write_text(" ".join(map(str, told)))
        for name, each in (("local", found), ("cluster", lost)):
            records.write(operator, each, made.values(), folder / name)
            (folder / name / "rows").write_text(timeless(each))

    if __name__ == "__main__":
        main(Path(sys.argv[1]))
"""


@pytest.mark.long
def test_a_worker_that_differs_is_refused_by_name() -> None:
    pytest.importorskip("distributed")
    done = in_a_process(_REFUSED)
    said = done.stdout.splitlines()
    assert len(said) == 3, done.stderr[-3000:]
    for line, what in zip(said, ("version", "sources", "compiler"), strict=True):
        assert line.startswith("worker tcp://") and f"its {what} 'another'" in line


_REFUSED = """
    from dataclasses import replace
    from distributed import Client, LocalCluster
    from attndsl.api import ops
    from attndsl.campaign import cluster as module, verify

    def disguise(field):
        told = replace(module.Identity.of_here(), **{field: "another"})
        module.identity = lambda: told

    def main():
        with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
            runner = module.Cluster(cluster.scheduler_address)
            for field in ("version", "sources", "compiler"):
                with Client(cluster.scheduler_address) as client:
                    client.run(disguise, field)
                try:
                    verify(ops.relay_attention, cases=1, backends=(), jobs=runner)
                except module.WorkerRefused as error:
                    print(error, flush=True)

    if __name__ == "__main__":
        main()
"""


def test_a_scheduler_that_is_not_there_is_named() -> None:
    pytest.importorskip("distributed")
    from attndsl.campaign.cluster import Cluster, SchedulerMissing

    with pytest.raises(SchedulerMissing, match="no scheduler answers at 'nowhere'"):
        verify(ops.relay_attention, cases=1, backends=(), jobs=Cluster("nowhere"))
