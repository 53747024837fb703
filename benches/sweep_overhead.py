"""What a sweep costs beside its runs, on this machine and through Dask, and how well it spreads.

    .venv/bin/python benches/sweep_overhead.py

Every figure of `docs/scale.md` that is called measured comes from here. Efficiency is the time that
two processes which know nothing of each other take for half of the runs each, over the time of one
sweep with two workers: what two workers could do at best on this machine as it is. The two take
turns and the median is shown, so that other programs disturb both alike.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median

from distributed import Client, LocalCluster, wait
from sweep_kill import BASE

from forebay import study, sweep
from forebay.sweep.cluster import timed_batch
from forebay.sweep.control import common_of
from forebay.sweep.work import Common

TRIES = 5


def plan_of(folder: Path, seconds: float, replications: int, rate: str) -> sweep.Study:
    """A study of 10 points of which every run takes about a time."""
    (folder / "base.toml").write_text(
        BASE.replace('duration = "4s"', f'duration = "{seconds:g}s"').replace("5Mbit", rate)
    )
    document = {
        "scenario": "base.toml",
        "disciplines": ["fifo", "codel"],
        "axis": [{"path": "traffic.bulk.flows", "values": [2, 3, 4, 5, 6]}],
        "replications": replications,
    }
    return sweep.read(document, "study.toml", folder)


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def half(
    folder: Path, seconds: float, replications: int, rate: str, ready: Barrier, out: Queue[float]
) -> None:
    """In a process of its own: sweep alone with one thread, and tell how long it took."""
    folder.mkdir(parents=True)
    plan = plan_of(folder, seconds, replications, rate)
    assert plan.points
    ready.wait()
    out.put(timed(lambda: sweep.run(plan, folder / "out", jobs=1))[0])


def apart(folder: Path, seconds: float, replications: int, rate: str) -> float:
    """Seconds that two processes need for half of the runs each."""
    spawn = get_context("spawn")
    ready, out = spawn.Barrier(2), spawn.Queue()
    both = [
        spawn.Process(
            target=half, args=(folder / f"{n}", seconds, replications // 2, rate, ready, out)
        )
        for n in range(2)
    ]
    for each in both:
        each.start()
    times = [out.get() for _ in both]
    for each in both:
        each.join()
    return max(times)


def spread(
    name: str, folder: Path, client: Client, seconds: float, replications: int, rate: str
) -> None:
    """Print the efficiency of two workers of both kinds."""
    plan = plan_of(folder, seconds, replications, rate)
    runs = plan.most * len(plan.points)
    threads, cluster, ideal = [], [], []
    for number in range(TRIES):
        at = folder / f"{name}-{number}"
        ideal.append(apart(at / "apart", seconds, replications, rate))
        threads.append(timed(lambda at=at: sweep.run(plan, at / "threads", jobs=2))[0])
        cluster.append(timed(lambda at=at: sweep.run(plan, at / "cluster", client=client))[0])
    both = [median(a / b for a, b in zip(ideal, each, strict=True)) for each in (threads, cluster)]
    print(
        f"{name} runs, {2e3 * median(ideal) / runs:.1f} ms each: efficiency on 2 threads "
        f"{both[0]:.2f}, on 2 Dask workers {both[1]:.2f}",
        flush=True,
    )


def overhead(folder: Path) -> None:
    """Print what a run costs this process beside the engine, and what it leaves on the disk."""
    plan = plan_of(folder, 0.25, 400, "1Mbit")
    runs = plan.most * len(plan.points)
    out = folder / "overhead"
    _, cpu = timed(lambda: sweep.run(plan, out, jobs=1))
    common = common_of(plan)
    engine = engine_cpu(plan, common, 400)
    written = sum(path.stat().st_size for path in (out / "runs").iterdir())
    data = study.load(out)
    print(
        f"a run: {1e3 * engine:.3f} ms of engine, {1e3 * (cpu / runs - engine):.3f} ms beside it; "
        f"{written / runs:.0f} bytes of Parquet with {len(data.measures)} measures; "
        f"{(out / 'study.json').stat().st_size / len(plan.points):.0f} bytes of manifest a point; "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB of memory"
    )


def engine_cpu(plan: sweep.Study, common: Common, count: int) -> float:
    """Mean CPU seconds of the engine alone."""
    from forebay import _engine
    from forebay.sweep.work import Task, scenario_text

    total = 0.0
    queues = dict(plan.disciplines)
    for number in range(count):
        point = plan.points[number % len(plan.points)]
        values = tuple(plan.values(point.steps).items())
        task = Task(point.id, number, number, queues[point.discipline], values)
        text = scenario_text(common, task)
        total += timed(lambda text=text: _engine.run(text, common.base.base))[1]
    return total / count


def scheduler(plan: sweep.Study, client: Client) -> None:
    """Print how many empty batches a second go through a scheduler and back."""
    common, count = common_of(plan), 3000
    rates, costs = [], []

    def used(dask_scheduler: object) -> float:  # noqa: ARG001 - Dask fills it by its name
        return time.process_time()

    for _ in range(TRIES):
        before, start = client.run_on_scheduler(used), time.perf_counter()
        wait([client.submit(timed_batch, common, [], pure=False) for _ in range(count)])
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
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        folder = Path(name)
        overhead(folder)
        scheduler(plan_of(folder, 1, 1, "5Mbit"), client)
        spread("short", folder, client, 10, 200, "5Mbit")
        spread("long", folder, client, 60, 2, "800Mbit")


if __name__ == "__main__":
    main()
