"""Figures in the README are those of the results and pages that they are taken from."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
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
    return [f"by more than {math.ceil(100 * max(off)) / 100:g} %"]


def linux() -> list[str]:
    row = line("validation.md", "| Linux 6.1.192-2 in virtual time |")
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
