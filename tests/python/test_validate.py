"""The checks of the simulator, that they can fail, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import replications
import validation
from click.testing import CliRunner

from forebay._cli import app
from forebay._engine import ScenarioError
from forebay._judge import THEORY
from forebay._validate import Check, all_checks, run_checks, select
from forebay._validate.check import Criterion, Exact, Statistical, Summary, Within

CHECKS = {check.name: check for check in all_checks()}


def verdicts(check: Check) -> dict[str, str]:
    outcome = run_checks([check])
    return {each.quantity.name: each.verdict for each in outcome.findings}


def fewer(check: Check) -> Check:
    """The check with as many runs as show a fault of a tenth and more."""
    return replace(check, replications=min(4, check.replications))


def broken(name: str, **changes: Any) -> Check:
    """The check with other fields of its link, which theory is not told of."""
    check = CHECKS[name]
    link = dict(check.scenario["link"][0]) | changes
    return replace(check, scenario=dict(check.scenario) | {"link": [link]})


def perturbed(name: str, change: Callable[[Summary], None]) -> Check:
    """The check reading summaries that `change` has altered."""

    def read(measure: Callable[[Summary], float]) -> Callable[[Summary], float]:
        def altered(summary: Summary) -> float:
            copy = json.loads(json.dumps(summary))
            change(copy)
            return measure(copy)

        return altered

    check = CHECKS[name]
    quantities = tuple(replace(each, measure=read(each.measure)) for each in check.quantities)
    return replace(check, quantities=quantities)


QUICK = [name for name, check in CHECKS.items() if check.quick]


@pytest.mark.parametrize(
    ("names", "least"),
    [(["conservation", "md1-0.6"], 2), pytest.param(QUICK, 50, marks=pytest.mark.long)],
    ids=["two", "quick"],
)
def test_the_simulator_agrees_with_theory(names: list[str], least: int) -> None:
    outcome = run_checks([CHECKS[name] for name in names])
    assert len(outcome.findings) > least
    wrong = [
        (each.check.name, each.quantity.name, each.verdict, each.error) for each in outcome.failures
    ]
    assert wrong == []


def test_a_service_time_2_percent_too_long_is_found() -> None:
    for name in ("md1-0.6", "mg1-bimodal-0.3"):
        assert set(verdicts(broken(name, rate="9800kbit")).values()) == {"differs"}


def test_uncounted_drops_are_found() -> None:
    def one_drop_less(summary: Any) -> None:
        summary["classes"]["all"]["dropped"] -= 1

    assert set(verdicts(perturbed("conservation", one_drop_less)).values()) == {"differs"}

    def every_50th_less(summary: Any) -> None:
        summary["queues"]["link"]["loss"] *= 0.98

    found = verdicts(perturbed("mm1k-0.9", every_50th_less))
    assert found["share of packets lost"] == "differs"


def test_a_place_too_many_is_found() -> None:
    queue = {"kind": "fifo", "limit": "10p"}
    found = verdicts(fewer(broken("mm1k-0.9", queue=queue)))
    assert found["share of packets lost"] == "differs"


def test_swapped_weights_are_found() -> None:
    for kind in ("drr", "wrr"):
        queue = {"kind": kind, "limit": "100p", "weights": [2, 1, 5]}
        found = list(verdicts(broken(f"{kind}-1-2-5", queue=queue)).values())
        assert found[:2] == ["differs", "differs"]


def test_priority_the_wrong_way_round_is_found() -> None:
    check = fewer(CHECKS["priority-0.6"])
    sources = [dict(each) | {"q": 1 - each.get("q", 0)} for each in check.scenario["traffic"]]
    swapped = replace(check, scenario=dict(check.scenario) | {"traffic": sources})
    found = verdicts(swapped)
    assert found['mean wait of "high"'] == found['mean wait of "low"'] == "differs"


def test_a_path_a_millisecond_longer_is_found() -> None:
    assert verdicts(broken("window-limited", delay="20.5ms")) == {"goodput": "differs"}


def test_a_loss_rate_half_as_high_again_is_found() -> None:
    check = broken("square-root-0.001-sack", loss=1.5e-3)
    assert verdicts(check) == {"mean window": "differs"}


def _words(rule: Criterion) -> Callable[[list[float], float], str]:
    return lambda samples, reference: THEORY[rule.standing(samples, reference)]


def test_statistical_verdicts() -> None:
    judge = _words(Statistical())
    samples = [0.999, 1.0, 1.001] * 5
    assert judge(samples, 1.0) == "agrees"
    assert judge(samples, 1.004) == "differs"
    assert judge([0.9, 1.0, 1.1] * 5, 1.0) == "imprecise"
    assert judge([1.0], 1.0) == "imprecise"
    # A reference that the wide interval contains, but 1.2 % off: the runs are too few to tell.
    assert judge([0.97, 1.03, 0.98, 1.02, 1.0], 1.012) == "imprecise"


def test_verdicts_with_a_tolerance() -> None:
    judge = _words(Within(0.05, "an approximation"))
    assert judge([1.02, 1.021], 1.0) == "agrees"
    assert judge([1.06, 1.061], 1.0) == "differs"
    assert judge([1.0, 1.04, 0.96], 1.0) == "imprecise"
    assert _words(Exact())([0.0, 0.0], 0.0) == "agrees"
    assert _words(Exact())([0.0, 1.0], 0.0) == "differs"


def test_seeds_follow_from_names_and_differ() -> None:
    seeds = [seed for check in CHECKS.values() for seed in check.seeds]
    assert len(set(seeds)) == len(seeds)
    assert CHECKS["mm1-0.3"].seeds == CHECKS["mm1-0.3"].seeds


def test_names_choose_checks_and_families() -> None:
    chosen = select(list(CHECKS.values()), ["schedulers", "mm1-0.3"])
    assert chosen[0].name == "mm1-0.3"
    assert {check.family for check in chosen[1:]} == {"schedulers"}
    with pytest.raises(ScenarioError, match='no check "mm2"'):
        select(list(CHECKS.values()), ["mm2"])


def test_the_command_writes_a_section_of_the_page(tmp_path: Path) -> None:
    file = tmp_path / "closed-forms.json"
    arguments = ["validate", "--only", "conservation", "--only", "md1-0.3", "--out", str(file)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "5 of 5 quantities agree" in result.output
    validation.write(tmp_path, tmp_path / "validation.md")
    text = (tmp_path / "validation.md").read_text("utf-8")
    assert text.startswith("# Validation\n")
    assert "## Closed forms\n" in text
    whole = validation.assemble(validation.read(tmp_path))
    assert "`md1-0.3`" in whole
    assert "| mean wait | ms | 0.17143 |" in whole
    section = json.loads(file.read_text("utf-8"))
    assert [each["verdict"] for each in section["results"]] == ["agrees"] * 5


def test_the_command_fails_if_something_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    from forebay._validate import runner

    monkeypatch.setattr(runner, "all_checks", lambda: [broken("md1-0.3", rate="9800kbit")])
    result = CliRunner().invoke(app, ["validate", "--json"])
    assert result.exit_code == 1
    assert {each["verdict"] for each in json.loads(result.stdout)["results"]} == {"differs"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "mm2"], 'there is no check "mm2"'),
        (["--only", "mm1-0.9", "--quick"], "leave out --quick"),
    ],
)
def test_the_command_refuses(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["validate", *arguments])
    assert result.exit_code == 2
    assert message in result.output


def test_sections_of_others_fit_the_page() -> None:
    section: dict[str, Any] = {
        "section": "Peers",
        "order": 2,
        "version": "1",
        "command": "make bench-peers",
        "text": ["One paragraph."],
        "tables": [{"heading": "Queue", "text": "", "columns": ["a", "b"], "rows": [[1.5, "x|y"]]}],
    }
    efficiency = replications.section(replications.Efficiency(2, 10.0, 5.2, 5.1), "command")
    text = validation.assemble({"replications": efficiency, "others": section})
    assert text.index("## Peers") < text.index("## Replications on all cores")
    assert "| a | b |\n|---|---|\n| 1.5 | x\\|y |\n" in text
    assert "| 2 threads | 5.2 | 0.96154 |" in text
