"""What a sweep costs beside its runs, on this machine and through Dask, and how well it spreads.

    .venv/bin/python benches/sweep_overhead.py

Every figure of `docs/scale.md` that is called measured comes from here. The measure of all is the
engine alone: two processes that know nothing of each other, each calling it for half of the runs.
Efficiency is what that takes over what a sweep with two workers takes, once in elapsed time and
once in processor time of all processes together. Elapsed time counts idle workers too, but other
programs disturb it, though both alike as they take turns; processor time is hardly disturbed, but
does not see an idle worker. What Dask takes while it waits, which grows with elapsed time, does not
count as processor time and is shown apart. Medians over the tries are shown, with the least and the
most.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import get_context
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median
from unittest.mock import patch

from distributed import Client, LocalCluster, wait
from sweep_kill import BASE

from forebay import _engine, sweep
from forebay._runs import Record, Task, cluster, record_of
from forebay._runs.cluster import timed_batch
from forebay._runs.journal import line_of
from forebay.sweep import control

TRIES = 3


def plan_of(
    folder: Path, seconds: float, replications: int, rate: str, points: int = 10
) -> sweep.Study:
    """A study of which every run takes about a time."""
    folder.mkdir(exist_ok=True)
    base = BASE.read_text("utf-8").replace('duration = "4s"', f'duration = "{seconds:g}s"')
    (folder / "base.toml").write_text(base.replace("5Mbit", rate))
    document = {
        "scenario": "base.toml",
        "disciplines": ["fifo", "codel"],
        "axis": [{"path": "traffic.bulk.flows", "values": list(range(2, 2 + points // 2))}],
        "replications": replications,
    }
    return sweep.read(document, "study.toml", folder)


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def texts(plan: sweep.Study, count: int) -> list[str]:
    """Scenarios of the first runs of a study."""
    points = plan.points
    tasks = (plan.task(points[at % len(points)], 1 + at // len(points)) for at in range(count))
    return [task.scenario.text for task in tasks]


def engine_alone(runs: Sequence[str], ready: Barrier, out: Queue[tuple[float, float]]) -> None:
    """In a process of its own: run scenarios one after the other, and tell how long it took."""
    ready.wait()
    out.put(timed(lambda: [_engine.run(text, ".") for text in runs]))


def apart(runs: Sequence[str]) -> tuple[float, float]:
    """Wall and CPU seconds that two processes need for half of the runs each."""
    spawn = get_context("spawn")
    ready, out = spawn.Barrier(2), spawn.Queue()
    both = [spawn.Process(target=engine_alone, args=(runs[n::2], ready, out)) for n in range(2)]
    for each in both:
        each.start()
    times = [out.get() for _ in both]
    for each in both:
        each.join()
    return max(wall for wall, _ in times), sum(cpu for _, cpu in times)


def with_threads(
    folder: Path, seconds: float, replications: int, rate: str, out: Queue[tuple[float, float]]
) -> None:
    """In a process of its own, without Dask: sweep with two threads, and tell how long it took."""
    plan = plan_of(folder, seconds, replications, rate)
    assert plan.points
    out.put(timed(lambda: sweep.run(plan, folder / "threads", jobs=2)))


def threaded(folder: Path, seconds: float, replications: int, rate: str) -> tuple[float, float]:
    """Wall and CPU seconds of a sweep with two threads."""
    spawn = get_context("spawn")
    out = spawn.Queue()
    process = spawn.Process(target=with_threads, args=(folder, seconds, replications, rate, out))
    process.start()
    wall, cpu = out.get()
    process.join()
    return wall, cpu


def idle(client: Client) -> float:
    """CPU seconds a second that Dask takes here and in its workers when there is nothing to do."""
    wall, cpu, _ = on_cluster(client, lambda: time.sleep(3.0))
    return cpu / wall


def on_cluster(client: Client, action: Callable[[], object]) -> tuple[float, float, float]:
    """Wall and CPU seconds of all, and CPU seconds of this process, where the scheduler is too."""
    before = sum(client.run(time.process_time).values())
    wall, cpu = timed(action)
    return wall, cpu + sum(client.run(time.process_time).values()) - before, cpu


def shown(values: Sequence[float]) -> str:
    """Median, least and most."""
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def spread(
    name: str, folder: Path, client: Client, seconds: float, replications: int, rate: str
) -> None:
    """Print the efficiency of two workers of both kinds."""
    plan = plan_of(folder, seconds, replications, rate)
    runs = plan.most * len(plan.points)
    scenarios = texts(plan, runs)
    ideal, threads, dask = [], [], []
    background = idle(client)
    for number in range(TRIES):
        at = folder / f"{name}-{number}"
        ideal.append(apart(scenarios))
        threads.append(threaded(at, seconds, replications, rate))
        run = partial(sweep.run, plan, at / "cluster", client=client)
        wall, used, own = on_cluster(client, run)
        dask.append((wall, used - background * wall, own))
    cpu = median(cpu for _, cpu in ideal) / runs
    print(f"{runs} {name} runs, {1e3 * cpu:.1f} ms of processor time each: efficiency on")
    for which, found in (("2 threads", threads), ("2 Dask workers", dask)):
        walls, cpus = ([a[n] / b[n] for a, b in zip(ideal, found, strict=True)] for n in range(2))
        print(f"  {which:14} elapsed {shown(walls)}, processor time {shown(cpus)}", flush=True)
    ours = median(own for _, _, own in dask) / runs
    print(
        f"  this process with the scheduler: {1e3 * ours:.2f} ms a run; Dask idle: "
        f"{100 * background:.0f} % of a processor"
    )
    written(folder / f"{name}-0" / "threads")


def overhead(folder: Path) -> None:
    """Print what a run costs beside the engine where it is run."""
    plan = plan_of(folder, 0.25, 400, "1Mbit")
    runs = plan.most * len(plan.points)
    _, cpu = timed(lambda: sweep.run(plan, folder / "overhead", jobs=1))
    engine = timed(lambda: [_engine.run(text, ".") for text in texts(plan, 400)])[1] / 400
    print(f"a run: {1e3 * engine:.3f} ms of engine, {1e3 * (cpu / runs - engine):.3f} ms beside it")


def written(folder: Path) -> None:
    """Print what a finished study takes on the disk."""
    data = sweep.results(folder)
    points = len(data.layout.manifest["points"])
    taken = sum(path.stat().st_size for path in (folder / "runs").iterdir())
    manifest = (folder / "study.json").stat().st_size
    row = data.runs.row(0, named=True)
    measures = {key: row[key] for key in data.measures if row[key] is not None}
    line = line_of(Record(row["point"], row["replication"], row["fingerprint"], measures))
    print(
        f"on the disk: {taken / data.runs.height:.0f} bytes of Parquet a run of "
        f"{len(data.measures)} measures, {len(line)} in the journal before; "
        f"{manifest / points:.0f} bytes of manifest a point"
    )


def ended(tasks: Sequence[Task], like: Record) -> list[Record]:
    """Runs with the measures of another, at no cost."""
    return [Record(each.id, each.replication, like.fingerprint, like.measures) for each in tasks]


class Prepared:
    """Runs that have ended as soon as they are asked for: what is left is the sweep's own work."""

    def __init__(self, like: Record) -> None:
        """Give every run the measures of one."""
        self._like = like
        self._ended: list[tuple[Task, Record]] = []

    def room(self, left: int) -> int:
        """A batch of a hundred."""
        return min(left, 100) if not self._ended else 0

    def submit(self, tasks: Sequence[Task]) -> None:
        """End them."""
        self._ended = list(zip(tasks, ended(tasks, self._like), strict=True))

    def collect(self, timeout: float) -> list[tuple[Task, Record]]:  # noqa: ARG002 - of use to others
        """All that were submitted."""
        found, self._ended = self._ended, []
        return found

    def begun(self) -> float:
        """Nothing is under way."""
        return 0.0

    def close(self) -> None:
        """Nothing to stop."""


def keeping(folder: Path, client: Client) -> None:
    """Print what a point and a run cost the one process that hands out and writes down."""
    plan = plan_of(folder, 10, 1000, "5Mbit", points=100)
    checking = timed(lambda: plan.points)[1] / len(plan.points)
    like = record_of(plan.task(plan.points[0], 1))
    runs = plan.most * len(plan.points)

    def at_no_cost(version: str, tasks: Sequence[Task]) -> tuple[list[Record], float, None]:  # noqa: ARG001
        return ended(tasks, like), len(tasks) / 500, None

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with patch.object(control, "Threads", lambda *_: Prepared(like)):
        cpu = timed(lambda: sweep.run(plan, folder / "kept"))[1]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(
        f"the process that writes, alone: {1e3 * checking:.2f} ms to check a point, "
        f"{1e3 * cpu / runs:.3f} ms a run, {1024 * grown / runs:.0f} bytes of memory a run more "
        f"({runs} runs of {len(plan.points)} points that cost nothing)"
    )
    with patch.object(cluster, "timed_batch", at_no_cost):
        wall, cpu = timed(lambda: sweep.run(plan, folder / "through", client=client))
    print(f"through Dask: {runs / wall:.0f} runs a second, {1e3 * cpu / runs:.3f} ms a run of the "
          "process that writes, with the scheduler in it")  # fmt: skip


def scheduler(client: Client) -> None:
    """Print how many empty batches a second go through a scheduler and back."""
    count = 3000
    rates, costs = [], []

    def used(dask_scheduler: object) -> float:  # noqa: ARG001 - Dask fills it by its name
        return time.process_time()

    for _ in range(TRIES):
        before, start = client.run_on_scheduler(used), time.perf_counter()
        wait([client.submit(timed_batch, _engine.version, [], pure=False) for _ in range(count)])
        rates.append(count / (time.perf_counter() - start))
        costs.append((client.run_on_scheduler(used) - before) / count)
    print(
        f"Dask: {max(rates):.0f} empty batches a second; {1e3 * min(costs):.2f} ms of CPU a batch "
        "for scheduler and client together"
    )


def main() -> None:
    """Measure everything."""
    with (
        tempfile.TemporaryDirectory() as name,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local,
        Client(local) as client,
    ):
        folder = Path(name)
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", flush=True)
        overhead(folder)
        scheduler(client)
        keeping(folder / "keeping", client)
        spread("short", folder, client, 10, 100, "5Mbit")
        spread("long", folder, client, 60, 1, "800Mbit")


if __name__ == "__main__":
    main()
