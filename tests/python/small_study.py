"""A scenario whose runs take milliseconds, and studies of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forebay import sweep

BASE = Path(__file__).with_name("small.toml").read_text()
RATE = {"name": "rate", "path": "link.up.rate", "values": ["2Mbit", "10Mbit"]}
FLOWS = {"path": "traffic.bulk.flows", "range": {"from": 1, "to": 3, "step": 1}}
TAIL = "classes.sensors.p99_delay_ms"


def study(folder: Path, **fields: Any) -> sweep.Study:
    """A study of the scenario, by default of two rates, two disciplines, three replications."""
    (folder / "base.toml").write_text(BASE)
    document: dict[str, Any] = {
        "scenario": "base.toml",
        "disciplines": ["fifo", "codel"],
        "axis": [RATE],
        "replications": 3,
    }
    document |= fields
    return sweep.read(
        {key: value for key, value in document.items() if value is not None}, "study.toml", folder
    )
