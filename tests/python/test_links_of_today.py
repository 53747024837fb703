"""`examples/record/links.py`: courses and scenarios of public data, here of made-up ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from forebay import load, run

PROGRAM = Path(__file__).parents[2] / "examples" / "record" / "links.py"
PROFILE: dict[str, Any] = {
    "measurement_node": "nowhere",
    "link_type": "cellular",
    "config": {
        "uplink": {
            "bottleneck_bandwidth": 6792,
            "buffer_size_packets": 30,
            "propagation_delay": 24,
            "cross_traffic_pattern": [0, 3000, 1000] * 10,
        },
        "downlink": {"bottleneck_bandwidth": 100_000, "propagation_delay": 1},
    },
}


def links(what: str, path: Path | str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), what, str(path), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_trace_as_steps(tmp_path: Path) -> None:
    path = tmp_path / "cell.pps"
    # A packet each ms for 0.2 s, nothing, and two at once.
    path.write_text("".join(f"{at}\n" for at in [*range(200), 350, 350]))
    made = links("rate", path)
    assert made.stdout.splitlines() == ["0s 12032000bit", "0.2s 0bit", "0.3s 240640bit"]
    assert len(links("rate", path, "--seconds", "0.1").stdout.splitlines()) == 1


def test_pings_as_delays(tmp_path: Path) -> None:
    path = tmp_path / "ping.txt"
    lines = [(1_723_489_200 + at / 2, 140 if at < 24 else 90 + at % 3) for at in range(60)]
    path.write_text(
        "".join(f"[{at:.6f}] 64 bytes from x: icmp_seq=1 time={ms} ms\n" for at, ms in lines)
    )
    # 1723489200 is a whole minute, so that the first interval ends after 12 s.
    assert links("delay", path).stdout.splitlines() == ["0s 70ms", "15s 45ms", "30s 45ms"]


def test_a_profile_as_a_scenario(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(PROFILE))
    made = tmp_path / "made.toml"
    made.write_text(links("ibox", path).stdout)
    summary = run(load(made)).summary
    assert summary["links"]["uplink"]["utilization"] > 0.8
    # 1333 kbit/s in the mean.
    assert summary["classes"]["others"]["goodput_bps"] == pytest.approx(1.3e6, rel=0.35)


@pytest.mark.parametrize("what", ["rate", "delay", "ibox"])
def test_other_files_end_in_a_line(tmp_path: Path, what: str) -> None:
    path = tmp_path / "odd"
    for content in ("", "hello", '{"config": 3}'):
        path.write_text(content)
        done = links(what, path)
        assert done.returncode == 1 and done.stdout == ""
        [line] = done.stderr.splitlines()
        assert line.startswith(f"error: {path}: ")


def test_a_station_of_wifi_has_its_share_of_the_channel() -> None:
    times = [
        [int(line) for line in links("wifi", str(each), "--seconds", "20").stdout.split()]
        for each in range(4)
    ]
    assert all(own == sorted(own) and own[-1] <= 20_000 for own in times)
    counts = [len(own) for own in times]
    assert max(counts) < 1.2 * min(counts)
    # Aggregates of 4 ms, some of which collide, and the waits between them.
    assert 0.7 * 5000 < sum(counts) < 5000
    # One that is alone waits for 7.5 slots in the mean: 4.2 ms for each.
    alone = links("wifi", "0", "--stations", "1", "--seconds", "20").stdout.split()
    assert len(alone) == pytest.approx(20 / 4.1985e-3, rel=0.01)
    assert links("wifi", "4").returncode == 1
