"""The comparison with ns-2 and ns-3: what they print, where forebay stands apart, the page."""

from __future__ import annotations

import json
from typing import Any

import cases
import engine
import peers
import pytest
import reasons
import render
import validation

from forebay import _engine


def summary(**means: float) -> dict[str, dict[str, float]]:
    whole = {"queue": 10.0, "utilization": 1.0, "loss": 0.01, "once": 1.0} | means
    return {name: {"mean": mean, "half_width": mean / 100} for name, mean in whole.items()}


def row(ours: float, ns_2: float, ns_3: float, **options: Any) -> dict[str, Any]:
    found = {
        "forebay": summary(queue=ours),
        "ns-2": summary(queue=ns_2),
        "ns-3": summary(queue=ns_3),
    }
    return {"group": "sack", "options": {"tcp": "sack"} | options, "found": found}


def test_every_case_is_a_scenario_of_a_group_with_a_heading() -> None:
    every = [*cases.CASES, *(each.case for each in cases.EXPERIMENTS)]
    assert len(every) > 80
    for case in every:
        assert case.group in reasons.GROUPS
        scenario = peers.scenario(case.settings, case.only.get("forebay", {}), 1)
        _engine.effective(json.dumps(scenario), ".")
    # What is ns-3's own is seen beside ns-2 in the tables of tail drop.
    assert {each.reason for each in cases.EXPERIMENTS} == set(reasons.REASONS) - {"ns-3"}


def test_a_short_run_gives_what_the_peers_give() -> None:
    settings = peers.COMMON | {"duration": 8.0, "warmup": 2.0, "flows": 4}
    found = engine.measure(json.dumps(peers.scenario(settings, {}, 1)))
    assert 0 < found["queue"] < 30
    assert 0.9 < found["utilization"] <= 1
    # 10 Mbit/s for 6 s in packets of 1500 bytes are 5000.
    assert found["segments"] == pytest.approx(5000 * found["utilization"] * found["once"], rel=0.01)


def test_the_measurement_is_found_among_what_ns_2_says() -> None:
    values = {"queue": 1.5, "utilization": 0.9, "loss": 0.1, "once": 1, "segments": 7}
    text = json.dumps(values | {"run_cpu": 0.1, "memory": 5})
    found = peers.parse(f"cmd select_ca cubic\ncm{text}\nd set_ca_param cubic beta 717\n")
    assert found["queue"] == 1.5 and found["grown"] is None
    with pytest.raises(ValueError, match="no measurement"):
        peers.parse("Segmentation fault")
    with pytest.raises(ValueError, match="lacks memory"):
        peers.parse(json.dumps(values | {"run_cpu": 0.1}))


def test_ten_per_cent_outside_the_peers_span_is_apart() -> None:
    assert render.outside(row(10.5, 10, 12)["found"], "queue") is None
    assert render.outside(row(13.1, 10, 12)["found"], "queue") is None
    assert render.outside(row(13.3, 10, 12)["found"], "queue") == pytest.approx(0.108, abs=1e-3)
    assert render.outside(row(8.9, 10, 12)["found"], "queue") == pytest.approx(-0.11)
    # Less than the last digit shown is no difference.
    assert render.outside(row(0.09, 0.01, 0.02)["found"], "queue") is None


def test_the_page_shows_all_three_and_the_reason() -> None:
    versions = {"forebay": "1", "ns-2": "2.35", "ns-3": "3.37"}
    apart = row(9.0, 20.0, 21.0, tcp="cubic", delay=0.05)
    inside = row(10.0, 9.0, 12.0)
    unexplained = row(5.0, 20.0, 21.0)
    rows = [inside, unexplained, apart]
    results = {"sack": {"seeds": 3, "versions": versions, "rows": rows}}
    experiment = apart | {"about": "friendly", "change": "beta"}
    experiment["found"] = {"ns-2": summary(queue=15.0)}
    results["experiments"] = {"seeds": 3, "versions": versions, "rows": [experiment]}
    section = render.section(results)
    assert "1 of 3 scenarios are within" in "\n".join(section["text"])
    [table, tried] = section["tables"]
    assert table["rows"][0][3] == "10.0 ± 0.1 / 9.0 ± 0.1 / 12.0 ± 0.1"
    assert table["rows"][0][-1] == ""
    assert table["rows"][1][-1] == "open"
    assert table["rows"][2][3].startswith("**9.0 ± 0.1**") and table["rows"][2][-1] == "1"
    assert tried["rows"][0][4] == "20.0 → 15.0"
    text = validation.assemble({"peers": json.loads(json.dumps(section))})
    assert "## Beside ns-2 and ns-3" in text and "### Tail drop, New Reno with SACK" in text


def test_speed_is_given_as_ratios() -> None:
    def found(rate: float, memory: float) -> dict[str, float]:
        return {"runs": 3, "run_rate": rate, "process_rate": rate / 2, "memory": memory}

    load = {
        "name": "many",
        "options": {"flows": 100_000},
        "results": {
            "forebay": found(4e6, 400e6) | {"grown": 350e6},
            "ns-2": found(8e5, 1600e6) | {"grown": None},
        },
    }
    versions = {"forebay": "1", "ns-2": "2.35", "ns-3": "3.37"}
    section = render.speed_section({"versions": versions, "machine": "m", "loads": [load]})
    assert "3.50 and 4.00 kB with 100000 flows" in section["text"][-1]
    [table] = section["tables"]
    assert table["rows"][1][3:] == ["800 k", "400 k", "5 x", "5 x", "1600", "4 x"]
