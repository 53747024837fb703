"""CQ-AQM in whole runs: the paper's verification, and precedence from real packets' codepoints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forebay import Scenario, run
from forebay._validate import Check, all_checks, run_checks

CHECKS = {check.name: check for check in all_checks()}


def without_thresholds(queue: dict[str, Any]) -> dict[str, Any]:
    """CQ-AQM with all thresholds at the buffer sizes, in place of a FIFO or plain priority."""
    count = 2 if queue["kind"] == "prio" else 1
    queues = [{"limit": queue["limit"]} for _ in range(count)]
    return {"kind": "cq-aqm", "queues": queues}


def in_place(check: Check) -> dict[str, Any]:
    """The scenario of a check, with CQ-AQM as its queue."""
    [link] = check.scenario["link"]
    queue = without_thresholds(link["queue"])
    return dict(check.scenario) | {"link": [link | {"queue": queue}]}


@pytest.mark.parametrize(
    "name", ["mm1-0.3", "mg1-bimodal-0.3", "mm1k-0.9", "superposed-0.6", "priority-0.6"]
)
def test_what_the_paper_verified_holds_with_the_discipline_in_place(name: str) -> None:
    """M/M/1, M/G/1, M/M/1/K, a superposition of Poisson sources, and Cobham's priorities."""
    plain = run(Scenario.of(dict(CHECKS[name].scenario) | {"seed": 3}))
    ours = run(Scenario.of(in_place(CHECKS[name]) | {"seed": 3}))
    assert ours.fingerprint == plain.fingerprint


@pytest.mark.long
def test_theory_holds_with_the_discipline_in_place() -> None:
    check = CHECKS["mm1k-0.9"]
    assert not run_checks([replace(check, scenario=in_place(check))]).failures


def test_the_codepoint_says_queue_and_precedence() -> None:
    """Of three assured forwarding flows of one class, the drop precedence decides who loses."""
    link = {
        "name": "line",
        "from": "a",
        "to": "b",
        "rate": "2Mbit",
        "queue": {
            "kind": "cq-aqm",
            "precedences": 3,
            "classify": {"kind": "dscp"},
            "thresholds": {"local": 0.5},
            "queues": [{"limit": "60p"}] * 5,
        },
    }
    traffic = [
        {"name": name, "kind": "poisson", "from": "a", "to": "b", "rate": "900kbit", "dscp": name}
        for name in ("AF11", "AF12", "AF13", "EF")
    ]
    document = {"duration": "60s", "warmup": "5s", "link": [link], "traffic": traffic}
    classes = run(Scenario.of(document)).summary["classes"]
    # 180 % of the line: EF and AF11 take 90 %, AF12 what is left, AF13 nothing.
    assert classes["EF"]["loss"] == 0.0
    assert classes["AF11"]["loss"] < 0.02
    assert 0.7 < classes["AF12"]["loss"] < 0.97
    assert classes["AF13"]["loss"] > 0.97
    own = {"queues": 2, "default": 0, "table": {"EF": 1, "AF13": {"queue": 0, "precedence": 2}}}
    link["queue"]["classify"] = {"kind": "dscp", **own}  # type: ignore[index]
    link["queue"]["queues"] = [{"limit": "60p"}] * 2  # type: ignore[index]
    classes = run(Scenario.of(document)).summary["classes"]
    assert classes["AF13"]["loss"] < 0.02 < 0.3 < classes["AF11"]["loss"]
