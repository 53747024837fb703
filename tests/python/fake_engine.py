"""Stands in for the engine where a test is about the front alone.

Numbers are drawn from the seed and the kind of the compared queue, so that equal runs are equal
and disciplines differ as one would expect of them.
"""

from __future__ import annotations

import json
import math
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from forebay._engine import Cancelled, ScenarioError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KINDS = ("fifo", "codel", "fq-codel", "ncq", "prio", "red", "pie", "drr")
TOP = ("title", "duration", "warmup", "seed", "link", "dumbbell", "tcp", "traffic", "compare")
QUEUE_MS = dict(zip(KINDS, (480.0, 12.0, 9.0, 300.0, 320.0, 60.0, 25.0, 210.0), strict=True))
FAIR = ("fq-codel", "drr")
SMALL_FIRST = ("fq-codel", "ncq", "prio", "drr")

seconds_a_run = 0.0
"""How long a run takes; it can be cancelled meanwhile."""
cancels: list[FakeCancel] = []


class FakeCancel:
    def __init__(self) -> None:
        self.is_set = False
        cancels.append(self)

    def set(self) -> None:
        self.is_set = True


def load(path: str) -> str:
    try:
        return json.dumps(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise ScenarioError(f"{Path(path).name}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{Path(path).name}: not TOML: {error}") from None


def effective(scenario: str, base: str) -> str:  # noqa: ARG001 - the engine's signature
    document = {"title": "", "duration": "60s", "warmup": "10s", "seed": 1} | json.loads(scenario)
    for key in document:
        if key not in TOP:
            raise ScenarioError(f"{key}: unknown field, expected one of {', '.join(TOP)}")
    for entry in document["traffic"]:
        if entry["kind"] in ("bulk", "web"):
            entry.setdefault("tcp", {"congestion": "cubic"})
    for number, link in enumerate(document["link"]):
        if set(link) - {"name", "from", "to", "rate", "delay", "overhead", "loss", "queue"}:
            raise ScenarioError(f"link[{number}]: unknown field")
        queue = link.setdefault("queue", {"kind": "fifo"})
        if queue["kind"] not in KINDS:
            raise ScenarioError(f'link[{number}].queue.kind: unknown kind "{queue["kind"]}"')
        queue.setdefault("limit", "1000p")
        link.setdefault("delay", "10ms")
    return json.dumps(document)


class FakeOutput:
    def __init__(self, summary: str, tables: list[tuple[str, dict[str, str], dict[str, bytes]]]):
        self.summary = summary
        self._tables = tables

    def tables(self) -> list[tuple[str, dict[str, str], dict[str, bytes]]]:
        return self._tables


def run(
    scenario: str,
    base: str,
    cancel: FakeCancel | None = None,
    progress: Callable[[float], None] | None = None,
) -> FakeOutput:
    document = json.loads(effective(scenario, base))
    steps = max(1, round(seconds_a_run / 0.02))
    for step in range(steps):
        if cancel is not None and cancel.is_set:
            raise Cancelled
        if progress is not None:
            progress(step / steps)
        time.sleep(seconds_a_run / steps)
    return _output(document)


def _output(document: dict[str, Any]) -> FakeOutput:
    [link] = document["link"]
    kind, name, seed = link["queue"]["kind"], link["name"], document["seed"]
    traffic_luck = Random(seed)
    luck = Random(f"{seed} {kind}")
    load_factor = 1.0 + 0.1 * traffic_luck.gauss(0, 1)
    queue_ms = QUEUE_MS[kind] * load_factor * (1 + 0.02 * luck.gauss(0, 1))
    entries = document["traffic"]
    flows: list[dict[str, Any]] = []
    classes: dict[str, Any] = {}
    tables: list[tuple[str, dict[str, str], dict[str, bytes]]] = []
    times = np.arange(0.1, 60.0, 0.1)
    for number, entry in enumerate(entries):
        class_, source = entry["name"], entry["kind"]
        small = source in ("voice", "poisson")
        delay = 20 + (8.0 if small and kind in SMALL_FIRST else queue_ms) * 0.8
        goodput = {"bulk": 6.4e6, "web": 1.1e6, "voice": 4.4e5, "poisson": 9.6e3}.get(source, 8e5)
        goodput *= (0.94 if kind in FAIR and source == "bulk" else 1.0) * (2 - load_factor)
        loss = 0.0004 if small and kind in SMALL_FIRST else 0.012 if kind == "fifo" else 0.006
        tcp = source in ("bulk", "web")
        r = 94.2 - 0.024 * delay - max(0.0, 0.11 * (delay - 177.3)) - 30 * math.log1p(15 * loss)
        r = min(100.0, max(0.0, r))
        classes[class_] = {
            "flows": entry.get("flows", 1),
            "goodput_bps": goodput,
            "offered": 61000,
            "delivered": 60000,
            "dropped": int(61000 * loss),
            "loss": loss * load_factor,
            "marked": 0,
            "mean_delay_ms": delay,
            "p50_delay_ms": delay * 0.9,
            "p95_delay_ms": delay * 1.5,
            "p99_delay_ms": delay * 1.9,
            "max_delay_ms": delay * 2.6,
            "jitter_ms": delay * 0.1,
            "retransmissions": 400 if tcp else 0,
            "timeouts": 3 if tcp else 0,
            "completed": 210 if source == "web" else 0,
            "mean_completion_s": 0.3 + delay * 0.012 if source == "web" else None,
            "p95_completion_s": 0.9 + delay * 0.03 if source == "web" else None,
            "jain": 0.93,
        }
        if source == "voice":
            mos = 1 + 0.035 * r + 7e-6 * r * (r - 60) * (100 - r)
            classes[class_] |= {"mos": mos, "r_factor": r}
        flows += [
            {
                "id": 100 * number + flow,
                "traffic": entry["name"],
                "class": class_,
                "goodput_bps": goodput / entry.get("flows", 1),
                "delivered_bytes": 8_000_000,
                "retransmissions": 40 if tcp else 0,
                "timeouts": 0,
                "loss": loss,
                "mean_delay_ms": delay,
                "completion_s": None,
            }
            for flow in range(entry.get("flows", 1))
        ]
        noise = np.array([luck.gauss(1, 0.12) for _ in times])
        tables.append(
            ("class", {"class": class_}, _columns(time_s=times, throughput_bps=goodput * noise))
        )
        delays = np.geomspace(11, delay * 2.6, 240)
        spread = np.exp(-0.5 * (np.log(delays / delay) / 0.35) ** 2)
        tables.append(
            ("delay", {"class": class_}, _columns(delay_ms=delays, count=np.ceil(2e3 * spread)))
        )
    packets = queue_ms / 1.2
    wave = 1 + 0.35 * np.sin(times * (3 if kind == "fifo" else 8)) + 0.02 * (times % 1)
    shape = packets * wave * np.minimum(1, times / 4)
    extra = {"drop_probability": times * 0 + 0.02} if kind in ("red", "pie") else {}
    tables.append(
        (
            "queue",
            {"link": name},
            _columns(
                time_s=times,
                mean_packets=shape,
                max_packets=shape * 1.3,
                mean_bytes=shape * 1200,
                dropped=times * 0,
                marked=times * 0,
                **extra,
            ),
        )
    )
    tables.append(
        (
            "queue_delay",
            {"link": name},
            _columns(delay_ms=np.geomspace(0.1, 900, 50), count=np.full(50, 3.0)),
        )
    )
    summary = {
        "title": document["title"],
        "seed": seed,
        "duration_s": 60.0,
        "warmup_s": 10.0,
        "version": "0.1.0",
        "fingerprint": f"{zlib.crc32(json.dumps(document, sort_keys=True).encode()):08x}",
        "events": 1_200_000,
        "packets": 250_000,
        "cpu_seconds": 0.31,
        "links": {
            name: {
                "utilization": 0.97,
                "sent_packets": 50_000,
                "sent_bytes": 70_000_000,
                "capacity_bps": 1e7,
                "wire_lost": 0,
            }
        },
        "queues": {
            name: {
                "kind": kind,
                "mean_packets": packets,
                "std_packets": packets / 3,
                "max_packets": packets * 2,
                "mean_bytes": packets * 1200,
                "mean_delay_ms": queue_ms,
                "p50_delay_ms": queue_ms * 0.95,
                "p99_delay_ms": queue_ms * 1.9,
                "offered": 61000,
                "dropped": 700,
                "marked": 0,
                "loss": 0.0115,
                "drops": {"full": 700},
            }
        },
        "classes": classes,
        "flows": flows,
    }
    return FakeOutput(json.dumps(summary), tables)


def _columns(**columns: Any) -> dict[str, bytes]:
    return {name: np.asarray(values, "<f8").tobytes() for name, values in columns.items()}


def kinds() -> str:
    def entry(name: str, parameters: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "name": name,
            "summary": f"what {name} does",
            "source": "RFC 7567",
            "parameters": parameters,
        }

    limit = {
        "name": "limit",
        "type": "string",
        "default": "1000p",
        "description": "Room in the queue, in packets or bytes | above 0.",
    }
    file = {"name": "file", "type": "string", "description": "Capture to replay."}
    return json.dumps(
        {
            "kinds": [entry(name, [limit]) for name in KINDS],
            "classifiers": [entry("one", [])],
            "admissions": [entry("tail-drop", [limit])],
            "schedulers": [entry("fifo", [])],
            "boxes": [entry("aspq", [])],
            "sources": [entry("pcap", [file])],
            "profiles": [entry("tsw", [])],
        }
    )


def schema() -> str:
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"})
