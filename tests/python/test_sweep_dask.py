"""The same study on a cluster of processes, of which some die."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import distributed
import pytest
from distributed import Client, LocalCluster

from forebay import Progress, ScenarioError, load, sweep
from forebay._runs import cluster
from forebay._runs.task import Task, record_of
from forebay.sweep.layout import parts
from small_study import FLOWS, RATE, study

pytestmark = [
    # Of Dask itself: sockets and loops that end with the processes that are killed here.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def local_cluster() -> LocalCluster:
    return LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )


def test_a_cluster_whose_workers_are_killed_gives_the_same_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Batches so short that many are under way while workers die.
    monkeypatch.setattr(cluster, "BATCH_S", 0.05)
    plan = study(tmp_path, axis=[RATE, FLOWS], replications=40)
    sweep.run(plan, tmp_path / "threads")
    killed: list[int] = []

    with local_cluster() as processes, Client(processes) as client:

        def kill(progress: Progress) -> None:
            if progress.finished >= 100 * (len(killed) + 1) and len(killed) < 3:
                [pid, *_] = client.run(os.getpid).values()
                if pid not in killed:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

        total = sweep.run(plan, tmp_path / "cluster", client=client, progress=kill)
    assert len(killed) >= 2
    assert total.finished == 480
    found, expected = sweep.results(tmp_path / "cluster"), sweep.results(tmp_path / "threads")
    assert found.runs.equals(expected.runs)
    [one], [other] = parts(tmp_path / "cluster"), parts(tmp_path / "threads")
    assert one.read_bytes() == other.read_bytes()


def test_what_is_lost_with_a_worker_is_run_again(scenario_file: Path) -> None:
    task = Task("lost", 1, 1, load(scenario_file))
    with local_cluster() as processes, Client(processes) as client:
        pool = cluster.Cluster(client)
        pool.submit([task])
        [future] = [each for each, _ in pool._batches.values()]
        distributed.wait([future])
        [[holder]] = client.who_has([future]).values()
        os.kill(client.run(os.getpid)[holder], signal.SIGKILL)
        while future.status == "finished":
            time.sleep(0.001)
        while not (found := pool.collect(0.1)):
            pass
    [(ended, record)] = found
    assert ended is task
    assert record == record_of(task)


def test_a_cluster_that_goes_leaves_what_had_ended_and_threads_finish_it(tmp_path: Path) -> None:
    plan = study(tmp_path, axis=[RATE, FLOWS], replications=40)
    with local_cluster() as processes, Client(processes) as client:
        gone = threading.Event()

        def close(progress: Progress) -> None:
            if progress.finished >= 50 and not gone.is_set():
                gone.set()
                threading.Thread(target=processes.close).start()

        with pytest.raises(ScenarioError, match="scheduler has gone"):
            sweep.run(plan, tmp_path / "out", client=client, progress=close)
    kept = sweep.results(tmp_path / "out")
    assert 50 <= kept.runs.height < 480
    sweep.run(plan, tmp_path / "out")
    sweep.run(plan, tmp_path / "whole")
    assert sweep.results(tmp_path / "out").runs.equals(sweep.results(tmp_path / "whole").runs)


def test_a_run_that_cannot_run_stops_a_cluster_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_cluster() as processes, Client(processes) as client:
        plan = study(tmp_path)
        monkeypatch.setattr("forebay._engine.version", "9.9.9")
        with pytest.raises(ScenarioError, match=r"a worker has forebay .* runs with 9\.9\.9"):
            sweep.run(plan, tmp_path / "out", client=client)
        time.sleep(0.1)
