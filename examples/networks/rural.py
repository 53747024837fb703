#!/usr/bin/env python3
"""A rural provider with 5000 subscribers, in LibreQoS' format: rural.json and rural-devices.csv.

A fibre leads to a core site. Twelve towers are connected to it, six of them through others, and
each has eight access points. rural-demands.csv has the traffic: all read web pages, a third watch
video, and one in twenty downloads. The network is fictitious, made with seed 1, and the same each
time.

    python rural.py [FOLDER]
"""

from __future__ import annotations

import csv
import json
import random
import sys
from pathlib import Path
from typing import Any

TOWERS = 12
POINTS = 8
"""Access points of each tower."""
SUBSCRIBERS = 5000
PLANS = {(25, 5): 0.45, (50, 10): 0.35, (100, 20): 0.2}
"""Mbit/s down and up, and the share of subscribers who have it."""
START = {"web": '["0s", "30s"]', "adaptive-video": '["0s", "4s"]'}
"""When they begin: people read a page for 30 s, and a segment of video lasts 4 s."""
COLUMNS = (
    *("Circuit ID", "Circuit Name", "Device ID", "Device Name", "Parent Node", "MAC"),
    *("IPv4", "IPv6", "Download Min Mbps", "Upload Min Mbps"),
    *("Download Max Mbps", "Upload Max Mbps", "Comment"),
)


def node(down: int, up: int, kind: str, children: dict[str, Any]) -> dict[str, Any]:
    """A node of the tree."""
    return {
        "downloadBandwidthMbps": down,
        "uploadBandwidthMbps": up,
        "type": kind,
        "children": children,
    }


def tree() -> dict[str, Any]:
    """Core, towers and access points."""

    def tower(number: int) -> dict[str, Any]:
        points = {f"T{number}-AP{each + 1}": node(300, 100, "AP", {}) for each in range(POINTS)}
        if number <= TOWERS // 2:
            behind = number + TOWERS // 2
            points[f"Tower {behind}"] = tower(behind)
        return node(1000 if number <= TOWERS // 2 else 500, 400, "Site", points)

    towers = {f"Tower {number}": tower(number) for number in range(1, TOWERS // 2 + 1)}
    return {"Core": node(5000, 5000, "Site", towers)}


def circuits(rng: random.Random) -> list[dict[str, Any]]:
    """A line for each subscriber."""
    points = [f"T{tower + 1}-AP{each + 1}" for tower in range(TOWERS) for each in range(POINTS)]
    rows = []
    for number in range(1, SUBSCRIBERS + 1):
        down, up = rng.choices(list(PLANS), list(PLANS.values()))[0]
        values = {
            "Circuit ID": number,
            "Device ID": number,
            "Parent Node": points[number % len(points)],
            "IPv4": f"100.{64 + number // 65536}.{number // 256 % 256}.{number % 256}",
            "Download Min Mbps": 1,
            "Upload Min Mbps": 1,
            "Download Max Mbps": down,
            "Upload Max Mbps": up,
        }
        rows.append({column: values.get(column, "") for column in COLUMNS})
    return rows


def demands(rng: random.Random) -> list[tuple[str, str, str, int]]:
    """Rows: from, to, kind, flows."""
    rows = []
    for number in range(1, SUBSCRIBERS + 1):
        circuit = f"circuit {number}"
        rows.append(("internet", circuit, "web", 2))
        if rng.random() < 1 / 3:
            rows.append(("internet", circuit, "adaptive-video", 1))
        if rng.random() < 1 / 20:
            rows.append(("internet", circuit, "bulk", 1))
    return rows


def main() -> None:
    """Write the three files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rng = random.Random(1)
    (folder / "rural.json").write_text(json.dumps(tree(), indent=1) + "\n")
    with (folder / "rural-devices.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(circuits(rng))
    with (folder / "rural-demands.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("from", "to", "kind", "flows", "start"))
        rows.writerows((*row, START.get(row[2], "0s")) for row in demands(rng))
    print(f"{SUBSCRIBERS} subscribers on {TOWERS * POINTS} access points")


if __name__ == "__main__":
    main()
