"""Figures in the README and on the gate's page are those of the results that they come from."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from forebay._explore import stories
from forebay._reference.files import Template
from forebay.papers import library, verdicts

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
SYSTEMS = ("cq-aqm", "ncq", "cp-aqm", "aspq", "drop-strategies")
"""Papers in the README's table of five systems."""
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def results(name: str) -> Any:
    return json.loads((ROOT / "docs" / "validation" / f"{name}.json").read_text("utf-8"))["results"]


def line(page: str, beginning: str) -> str:
    """The first line of a page that begins so."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return next(each for each in text.splitlines() if each.startswith(beginning))


def shaping() -> list[str]:
    off = [
        abs(each)
        for row in results("gate")["shaping"]["rows"]
        if row["rate_mbps"] in (10, 100) and row["way"] != "tbf"
        for each in row["error_percent"]
    ]
    return [f"by more than {math.ceil(1000 * max(off)) / 1000:g} %"]


def linux() -> list[str]:
    row = line("validation.md", "| Linux 6.1.")
    _, _, within, queue, *_ = (each.strip() for each in row.split("|"))
    return [f"{within} scenarios", f"{queue.split(' / ')[0]} % from Linux 6.1"]


def speed() -> list[str]:
    loads = {each["name"]: each for each in results("speed")["loads"]}
    load = loads["16 flows, 10 Mbit/s, 1010 s"]
    rates = {name: each["run_rate"] for name, each in load["results"].items()}
    ns_2, ns_3 = (rates["forebay"] / rates[name] for name in ("ns-2", "ns-3"))
    return [f"{ns_2:.1f} times the packets per CPU second of ns-2", f"{ns_3:.0f} times those of"]


def conclusions() -> list[str]:
    kept = [library.kept(key) for key in SYSTEMS]
    held = [verdicts.inside(each["conclusions"]) for each in kept if each is not None]
    good, of = (sum(each[key] for each in held) for key in ("good", "of"))
    return [f"{good} of the {of} conclusions of the five papers"]


def inside_ns3() -> list[str]:
    said = line("performance.md", "Does a forebay discipline in ns-3")
    found = re.search(r"[\d ]+\d packets of \d+ runs", said)
    assert found is not None
    return [found.group().strip()]


FIGURES: dict[str, Callable[[], list[str]]] = {
    "docs/gate.md#measured": shaping,
    "docs/validation.md#in-two-minutes": linux,
    "docs/validation.md#speed-and-memory": speed,
    "docs/papers/README.md": conclusions,
    "docs/performance.md#inside-ns-3": inside_ns3,
}
"""What the README says, by the page that it names last."""


def claims() -> dict[str, str]:
    """Cells of the table, by the last page that each names."""
    _, _, rest = README.partition("| What | One figure | Its command |\n|---|---|---|\n")
    rows = rest.partition("\n\n")[0].splitlines()
    cells = [row.split(" | ")[1] for row in rows]
    return {re.findall(r"\]\(([^)]+)\)", cell)[-1]: cell for cell in cells}


def test_every_figure_has_a_source() -> None:
    assert claims().keys() == FIGURES.keys()


@pytest.mark.parametrize("page", FIGURES)
def test_a_figure_is_that_of_its_source(page: str) -> None:
    for said in FIGURES[page]():
        assert said in claims()[page]


def test_what_is_counted_in_words() -> None:
    assert f"There are [{WORDS[len(Template)]} templates]" in README
    assert f"{WORDS[len(stories.names())].capitalize()} guided stories" in README


WAYS = ("direct", "tun", "packet", "xdp")
SHORT = ("fq-codel", "cq-aqm", "cp-aqm")
"""Disciplines whose rates share a row of the gate's table."""


def measured(part: str, **wanted: Any) -> list[dict[str, Any]]:
    rows = results("gate")[part]["rows"]
    return [row for row in rows if wanted.items() <= row.items()]


def forwarded(what: str, way: str, discipline: str, digits: int) -> str:
    [row] = measured("forwarding", way=way, discipline=discipline)
    return f"{median(row[what]):.{digits}f}"


def gate_tables() -> list[str]:
    """Rows of the two tables of rates and delays on docs/gate.md."""
    rows, gates = [], WAYS[1:]
    for way in ("tbf", *gates):
        errors = [median(each["error_percent"]) for each in measured("shaping", way=way)]
        cells = (f"{each:.3f}".replace("-0.000", "0.000") for each in errors)
        rows.append(f"| `{'tc ' * (way == 'tbf')}{way}` | {' | '.join(cells)} |")
    # The last row of a way is that through a discipline.
    delays = [measured("delay", way=way)[-1] for way in WAYS]
    several = (", ".join(forwarded("tcp_gbps", way, kind, 1) for kind in SHORT) for way in gates)
    tables = {
        "One-way time of a single packet, median in us, fq-codel at 100 Mbit/s": [
            f"{each['p50_us']:.0f}" for each in delays
        ],
        "its 99th percentile": [f"{each['p99_us']:.0f}" for each in delays],
        "Processor time of the gate for a packet of 64 B in us, through fifo": [
            "",
            *(forwarded("us_per_packet", way, "fifo", 1) for way in gates),
        ],
        "the same without the receiving host": [
            "",
            "",
            *(forwarded("us_per_packet_alone", way, "fifo", 1) for way in gates[1:]),
        ],
        "the same through fq-codel": [
            "",
            *(forwarded("us_per_packet", way, "fq-codel", 1) for way in gates),
        ],
        "Million packets of 64 B a second, through fifo": [
            forwarded("mpps", "direct", "none", 2),
            *(forwarded("mpps", way, "fifo", 2) for way in gates),
        ],
        "One TCP flow in Gbit/s, through fifo": [
            f"{forwarded('tcp_gbps', 'direct', 'none', 1)} (no gate)",
            *(forwarded("tcp_gbps", way, "fifo", 1) for way in gates),
        ],
        f"through {', '.join(SHORT)}": ["", *several],
    }
    rows += [
        re.sub(" +", " ", f"| {what} | {' | '.join(cells)} |") for what, cells in tables.items()
    ]
    return rows


def test_the_tables_of_the_gate_are_what_was_measured() -> None:
    page = (ROOT / "docs" / "gate.md").read_text("utf-8")
    for row in gate_tables():
        assert f"\n{row}\n" in page
