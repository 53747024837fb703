"""What a sweep costs beside its runs, on this machine and through Dask, and how well it spreads.

    .venv/bin/python benches/sweep_overhead.py

Every figure of `docs/scale.md` that is called measured comes from here. Efficiency is the time of
the runs one after another over twice the time with two workers; the best of several tries, since
other programs can only make it worse.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from distributed import Client, LocalCluster, wait
from sweep_kill import BASE

from forebay import study, sweep
from forebay.sweep.cluster import timed_batch
from forebay.sweep.control import common_of
from forebay.sweep.work import Common

TRIES = 3


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


def best(plan: sweep.Study, folder: Path, jobs: int, client: Client | None = None) -> float:
    """The shortest time of some sweeps, in seconds."""
    times = []
    for number in range(TRIES):
        out = folder / f"{os.urandom(4).hex()}-{number}"
        times.append(timed(lambda out=out: sweep.run(plan, out, jobs=jobs, client=client))[0])
    return min(times)


def spread(folder: Path, name: str, plan: sweep.Study, client: Client) -> None:
    """Print the efficiency of two workers of both kinds."""
    runs = plan.most * len(plan.points)
    alone = best(plan, folder, 1)
    threads = best(plan, folder, 2)
    cluster = best(plan, folder, 2, client)
    print(
        f"{name}: {1e3 * alone / runs:.2f} ms a run alone; efficiency on 2 threads "
        f"{alone / (2 * threads):.2f}, on 2 Dask workers {alone / (2 * cluster):.2f}"
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
        spread(folder, "short runs", plan_of(folder, 8, 100, "5Mbit"), client)
        spread(folder, "long runs", plan_of(folder, 30, 2, "500Mbit"), client)


if __name__ == "__main__":
    main()
