"""Kill a sweep five times at random, here and on a cluster; compare it with a whole one.

    .venv/bin/python benches/sweep_kill.py [--runs 10000] [--kills 5] [--seed 1] [--folder DIR]

Prints what happened and ends with an error if a table differs in a single bit.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster

from forebay import sweep as sweeps
from forebay.sweep.layout import parts

COMMAND = str(Path(sys.executable).with_name("forebay"))
BASE = Path(__file__).parents[1] / "tests/python/small.toml"
STUDY = """\
scenario = "base.toml"
disciplines = ["fifo", "codel", "fq-codel", "pie"]
replications = {replications}

[[axis]]
name = "rate"
path = "link.up.rate"
range = {{ from = "2Mbit", to = "10Mbit", count = 5 }}

[[axis]]
name = "flows"
path = "traffic.bulk.flows"
values = [1, 2, 3, 4, 5]
"""
POINTS = 4 * 5 * 5


def sweep(plan: Path, folder: Path, *more: str) -> subprocess.Popen[bytes]:
    """Start a sweep."""
    return subprocess.Popen([COMMAND, "sweep", str(plan), "-o", str(folder), *more])


def size_of(folder: Path) -> int:
    """Bytes that tell whether runs are being kept."""
    journal = folder / "journal"
    return journal.stat().st_size if journal.exists() else 0


def killed(plan: Path, folder: Path, kills: int, luck: random.Random, took: float, *more: str,
           client: Client | None = None) -> None:  # fmt: skip
    """Sweep with `kills` interruptions, each at a random moment after runs began to come."""
    kept = 0
    for number in range(kills):
        before = size_of(folder)
        process = sweep(plan, folder, *more)
        while process.poll() is None and size_of(folder) == before:
            time.sleep(0.001)
        time.sleep(luck.uniform(0, took / (kills + 1)))
        if client is not None:
            [pid, *_] = client.run(os.getpid).values()
            os.kill(pid, signal.SIGKILL)
            time.sleep(luck.uniform(0, 0.5))
        process.kill()
        code = process.wait()
        now = sweeps.results(folder).runs.height
        print(f"  kill {number + 1}: {now} runs kept (exit {code})", flush=True)
        if now < kept or code != -signal.SIGKILL:
            sys.exit("a finished run was lost, or the sweep had ended before it was killed")
        kept = now
    if sweep(plan, folder, *more).wait() != 0:
        sys.exit("the last sweep failed")


def same(one: Path, other: Path) -> bool:
    """Whether two studies hold the same table, bit by bit."""
    first, second = sweeps.results(one), sweeps.results(other)
    [a], [b] = parts(one), parts(other)
    return (
        first.complete
        and second.complete
        and first.runs.equals(second.runs)
        and a.read_bytes() == b.read_bytes()
    )


def main() -> None:
    """Run the proof."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    luck = random.Random(given.seed)
    folder = given.folder or Path(tempfile.mkdtemp(prefix="sweep-kill-"))
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(BASE, folder / "base.toml")
    plan = folder / "study.toml"
    plan.write_text(STUDY.format(replications=-(-given.runs // POINTS)))

    print("uninterrupted:", flush=True)
    start = time.monotonic()
    if sweep(plan, folder / "whole").wait() != 0:
        sys.exit("the sweep failed")
    took = time.monotonic() - start
    print(f"  {sweeps.results(folder / 'whole').runs.height} runs in {took:.1f} s")

    print("killed on this machine:", flush=True)
    killed(plan, folder / "killed", given.kills, luck, took)
    ok = same(folder / "whole", folder / "killed")
    print(f"  identical: {ok}")

    print("killed on a cluster of two workers, of which one is killed each time too:", flush=True)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        address = ("--cluster", cluster.scheduler_address)
        killed(plan, folder / "cluster", given.kills, luck, took, *address, client=client)
    ok_there = same(folder / "whole", folder / "cluster")
    print(f"  identical: {ok_there}")
    sys.exit(0 if ok and ok_there else 1)


if __name__ == "__main__":
    main()
