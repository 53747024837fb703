"""What a twin of a provider costs: hours of a day with 10 000 circuits.

.venv/bin/python benches/twin.py --circuits 10000 --hours 4,12,20

Writes the files of a provider and the statistics of a day: 1.6 Mbit/s a circuit on average at four
in the afternoon, a seventh of it at four in the morning, lognormal among people. Prints for each
hour what the scenario has, and the processor time and memory of `forebay twin` and `forebay run`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIG = """[link]
rate = "25Gbit"
[link.reverse]
rate = "25Gbit"
[subscribers]
network = "network.json"
devices = "devices.csv"
queue = {{ kind = "{queue}" }}
[io]
inside = "a"
outside = "b"
"""
EACH = 40
"""Circuits of an access point; three of these are a site."""


def provider(folder: Path, circuits: int, queue: str) -> None:
    """Writes the gate's configuration, its two files and the statistics of a day."""
    draw = random.Random(1)
    points = -(-circuits // EACH)
    mbps = {"downloadBandwidthMbps": 300, "uploadBandwidthMbps": 150}
    sites: dict[str, dict[str, object]] = {}
    for point in range(points):
        site = sites.setdefault(f"S{point // 3}", {**mbps, "children": {}})
        children = site["children"]
        assert isinstance(children, dict)
        children[f"AP{point}"] = {"downloadBandwidthMbps": 150, "uploadBandwidthMbps": 75}
    (folder / "network.json").write_text(json.dumps(sites), "utf-8")
    (folder / "isp.toml").write_text(CONFIG.format(queue=queue), "utf-8")
    devices = ["Circuit ID,Parent Node,Download Max Mbps,Upload Max Mbps"]
    day = ["circuit,hour,down_mbps,up_mbps"]
    for circuit in range(circuits):
        plan = draw.choice((25, 50, 100))
        devices.append(f"{circuit},AP{circuit // EACH},{plan},{plan / 5:g}")
        # Mean use at the evening's peak, by person: most use little, and few much.
        busy = draw.lognormvariate(0, 1)
        for hour in range(24):
            shape = 0.15 + 0.85 * (1 - math.cos((hour - 4) / 24 * 2 * math.pi)) / 2
            down = min(busy * shape, plan / 3)
            day.append(f"{circuit},{hour},{down:.4f},{down / 10:.4f}")
    (folder / "devices.csv").write_text("\n".join(devices), "utf-8")
    (folder / "day.csv").write_text("\n".join(day), "utf-8")


def cost(folder: Path, *words: str) -> tuple[float, float, str]:
    """Processor time in s, memory in MB and output of a forebay command."""
    child = subprocess.Popen(
        [sys.executable, "-m", "forebay", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert child.stdout is not None
    said = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(said)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3, said


def main() -> None:
    """Measure, and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--circuits", type=int, default=10_000)
    arguments.add_argument("--hours", default="4,12,20")
    arguments.add_argument("--duration", default="20s")
    arguments.add_argument("--queue", default="cake")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        provider(folder, options.circuits, options.queue)
        print("| hour | twin s | MB | run s | MB | events, million | packets, million |")
        print("|---|---|---|---|---|---|---|")
        for hour in options.hours.split(","):
            out = f"h{hour}.toml"
            make = ("twin", "isp.toml", "--stats", "day.csv", "--hour", hour, "--out", out)
            made, made_mb, _ = cost(folder, *make)
            play = ("run", out, "--json", "--set", f"duration={options.duration}")
            ran, ran_mb, said = cost(folder, *play)
            summary = json.loads(said[said.index("{") :])
            events = summary["events"] / 1e6
            packets = sum(queue["offered"] for queue in summary["queues"].values())
            cells = (hour, f"{made:.1f}", f"{made_mb:.0f}", f"{ran:.1f}", f"{ran_mb:.0f}")
            print(
                "|", " | ".join((*cells, f"{events:.1f}", f"{packets / 1e6:.2f}")), "|", flush=True
            )


if __name__ == "__main__":
    main()
