from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from rich.console import Console

from forebay import Progress, ScenarioError, load
from forebay._cli import app
from forebay._judge import Standing
from forebay._measures import Beside
from forebay._relative import relative
from forebay._runs.journal import read_journal
from forebay._scenario import TODAY
from forebay.tune import Outcome, tune
from forebay.tune.goal import Estimate, Goal, read_bound, read_goal
from forebay.tune.search import Tried, Tuning, _shortlist
from forebay.tune.show import draw, plain, print_outcome
from forebay.tune.space import Parameter, combinations, read_parameter
from small_study import BASE

GOODPUT, DELAY = "classes.bulk.goodput_bps", "classes.sensors.mean_delay_ms"
FEW: dict[str, Any] = {"trials": 6, "replications": 2, "candidates": 2, "verify": 3}
LIMIT = "link.up.queue.limit=2p..60p"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(BASE)
    return path


def limited(scenario: Path, folder: Path, **more: Any) -> Outcome:
    """The largest goodput with sensors' delay below 30 ms, by the limit of a FIFO."""
    arguments: dict[str, Any] = {
        "maximize": GOODPUT,
        "subject_to": [f"{DELAY} <= 30"],
        "parameters": [LIMIT],
    }
    return tune(load(scenario), folder, **(arguments | FEW | more))


def test_a_bound_is_kept_by_what_is_chosen(scenario: Path, tmp_path: Path) -> None:
    outcome = limited(scenario, tmp_path / "out", trials=24, candidates=4)
    assert outcome.best is not None and outcome.best.estimate is not None
    delay = outcome.best.estimate.interval(DELAY)
    assert delay is not None and delay.high is not None and delay.high <= 30
    # 60 packets of 1500 B at 5 Mb/s are 144 ms: the bound binds, and well below the room's end.
    [written] = outcome.beside
    assert written.estimate is not None
    assert written.estimate.standing(outcome.plan.goal) is Standing.OUTSIDE
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert found["best"]["values"] == {"link.up.queue.limit": outcome.best.values[0]}
    assert (tmp_path / "out" / "pareto.png").stat().st_size > 10_000


def test_only_seeds_that_the_search_has_not_seen_decide(scenario: Path, tmp_path: Path) -> None:
    outcome = limited(scenario, tmp_path / "out")
    records, _ = read_journal(tmp_path / "out")
    seeds: dict[str, set[int]] = {}
    for record in records:
        seeds.setdefault(record.id, set()).add(record.replication)
    # From the scenario's seed 11 on: two for every trial, the next three for some.
    assert set().union(*seeds.values()) == {11, 12, 13, 14, 15}
    assert sum({13, 14, 15} <= each for each in seeds.values()) == 3
    assert all(
        len(each.estimate.samples[DELAY]) == 3 for each in outcome.candidates if each.estimate
    )


def test_stopped_anywhere_it_ends_as_if_it_had_not_been(scenario: Path, tmp_path: Path) -> None:
    whole = limited(scenario, tmp_path / "whole", jobs=1)

    class Stop:
        after = 4

        def __call__(self, progress: Progress) -> None:
            if progress.finished >= self.after:
                raise KeyboardInterrupt

    stop = Stop()
    for stop.after in (3, 9):
        with pytest.raises(KeyboardInterrupt):
            limited(scenario, tmp_path / "parts", progress=stop)
    kept, _ = read_journal(tmp_path / "parts")
    assert len(kept) >= 9
    parts = limited(scenario, tmp_path / "parts")
    assert (parts.trials, parts.candidates, parts.beside) == (
        whole.trials,
        whole.candidates,
        whole.beside,
    )
    journal = (tmp_path / "parts" / "journal").read_bytes()
    limited(scenario, tmp_path / "parts", subject_to=[f"{DELAY} <= 30", f"{GOODPUT} >= 0"])
    records, _ = read_journal(tmp_path / "parts")
    assert len({(each.id, each.replication) for each in records}) == len(records)
    assert (tmp_path / "parts" / "journal").read_bytes().startswith(journal)


def test_what_the_engine_refuses_is_avoided(scenario: Path, tmp_path: Path) -> None:
    queue = {"kind": "cq-aqm", "queues": [{"limit": "20p", "local": 10}]}
    outcome = limited(
        scenario,
        tmp_path / "out",
        discipline=queue,
        parameters=[
            "link.up.queue.queues[0].local=1..20",
            "link.up.queue.queues[0].non_local=1..20",
        ],
        trials=16,
    )
    refused = [each for each in outcome.trials if each.estimate is None]
    assert refused and all("non_local" in each.refusal for each in refused)
    assert all(local <= non_local for local, non_local in (e.values for e in outcome.candidates))


def test_efficiency_is_beside_a_baseline(scenario: Path, tmp_path: Path) -> None:
    base = {"maximize": "efficiency", "subject_to": [], "discipline": "codel", "parameters": [
        "link.up.queue.target=1ms|20ms".replace("|", ","), "traffic.bulk.flows=1,2"]}  # fmt: skip
    outcome = limited(scenario, tmp_path / "out", baseline="fifo", **base)
    assert len(outcome.trials) == 4 == combinations(outcome.plan.parameters)
    one, two = (
        {t.values[1]: t for t in outcome.trials if t.values[0] == "20ms"}[n] for n in (1, 2)
    )
    # The baseline has as many flows as the trial, so that the number of flows is no gain.
    for each in (one, two):
        assert each.estimate is not None
        found = each.estimate.interval("efficiency")
        assert found is not None and 0.8 < found.mean < 1.1
    with pytest.raises(ScenarioError, match="--baseline"):
        limited(scenario, tmp_path / "other", **base)


def test_the_scenario_can_say_it_all(scenario: Path, tmp_path: Path) -> None:
    table = f'\n[tune]\nminimize = "{DELAY}"\nsubject_to = ["{GOODPUT} >= 1e6"]\n'
    scenario.write_text(BASE + table + 'parameters = { "link.up.queue.limit" = "2p..60p" }\n')
    arguments = ["tune", str(scenario), "-o", str(tmp_path / "out"), "--json", "--trials", "5"]
    arguments += ["-r", "2", "--verify", "3", "--candidates", "2"]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert found["goal"] == f"minimize {DELAY} subject to {GOODPUT} >= 1e+06"
    assert found["best"]["bounds"] == "holds"
    ran = CliRunner().invoke(app, arguments[:4])
    assert "Use it: forebay run" in ran.output and "Picture:" in ran.output


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--maximize", "classes.bulk.godput_bps"], "nearest are classes.bulk.goodput_bps"),
        (["--maximize", "efficiency"], "--baseline"),
        ([], "give one of --maximize KEY"),
        (["--maximize", GOODPUT, "--subject-to", "x < 1"], "expected KEY <= VALUE"),
        (["--maximize", GOODPUT, "--param", "duration=1s-2s"], "LOW..HIGH"),
        (["--maximize", GOODPUT, "--param", "link.down.rate=1..2"], '"down"'),
        (["--maximize", GOODPUT, "--discipline", "nosuch"], "nosuch"),
        (["--maximize", GOODPUT, "--param", "link.up.delay=-9ms..-1ms"], "no trial could run"),
    ],
)
def test_what_is_wrong_is_said(
    scenario: Path, tmp_path: Path, more: list[str], message: str
) -> None:
    arguments = ["tune", str(scenario), "-o", str(tmp_path / "out"), *more]
    if "--param" not in more:
        arguments += ["--param", LIMIT]
    ran = CliRunner().invoke(app, [*arguments, "--trials", "2", "-r", "2"])
    assert ran.exit_code == 2
    assert message in " ".join(ran.output.split()), ran.output


def test_a_folder_of_something_else_is_left_alone(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("mine")
    with pytest.raises(ScenarioError, match=r"thesis\.tex"):
        limited(scenario, tmp_path / "out")


def test_parameters_as_they_are_written() -> None:
    assert read_parameter("a.b=1..9") == Parameter("a.b", 1, 9, whole=True)
    assert read_parameter("a=0.5 .. 2:log") == Parameter("a", 0.5, 2, log=True)
    assert read_parameter("a=10p..400p").value(17) == "17p"
    assert read_parameter("a=0.5ms..20ms").value(1.23456789) == "1.23457ms"
    assert read_parameter("a=100ms..1s:log") == Parameter("a", 100, 1000, "ms", True, True)
    choice = read_parameter('a="fifo",codel,3')
    assert [choice.value(each) for each in range(3)] == ["fifo", "codel", 3]
    assert [read_parameter("a=1p..9p").drawn(each) for each in ("4p", "4.5p", "10p", 4)] == [
        4, None, None, None]  # fmt: skip
    for wrong in ("a", "a=", "=1..2", "a=2..1", "a=0..1:log", "a=1ms..2Mbit", "a=2s..1ms", "a=5"):
        with pytest.raises(ScenarioError, match="expected PATH"):
            read_parameter(wrong)


def test_bounds_and_where_intervals_lie() -> None:
    bound = read_bound(" classes.p1.loss<=0.1% ")
    assert (bound.key, bound.at_most, bound.value) == ("classes.p1.loss", True, 0.001)
    goal = read_goal("g", None, ["x <= 1", "y >= 2"])

    def standing(x: list[float], y: list[float | None]) -> Standing:
        return Estimate({"x": x, "y": y, "g": [0.0]}).standing(goal)

    assert standing([0.5, 0.6, 0.5], [3.0, 3.0, 3.0]) is Standing.INSIDE
    assert standing([0.9, 1.05, 0.9], [3.0, 3.0, 3.0]) is Standing.OPEN
    assert standing([0.5, 0.6, 0.5], [1.0, 1.0, 1.1]) is Standing.OUTSIDE
    assert standing([0.5, 0.6, 0.5], [None, None, None]) is Standing.OUTSIDE
    with pytest.raises(ScenarioError, match="one of"):
        read_goal("a", "b", [])


def test_the_best_is_chosen_among_those_that_hold_and_its_equals_are_named(scenario: Path) -> None:
    goal = Goal("g", True, (read_bound("x <= 1"),))
    plan = Tuning(load(scenario), None, None, (), goal)

    def tried(label: str, g: list[float], x: float) -> Tried:
        return Tried(label, (), Estimate({"g": g, "x": [x] * len(g)}))

    many = (
        tried("breaks it", [99, 99, 99, 99], 2),
        tried("best", [10, 12, 11, 13], 0.5),
        tried("equal", [9.9, 12.2, 10.8, 12.9], 0.1),
        tried("worse, though it varies as much", [9, 11, 10, 12], 0.1),
    )
    outcome = Outcome(plan, (), many, ())
    assert outcome.best is many[1]
    assert outcome.equals == (many[2],)
    assert Outcome(plan, (), many[:1], ()).best is None


def test_what_stands_beside_is_never_worse_and_called_so(scenario: Path) -> None:
    goal = Goal("classes.up.goodput_bps", True, (read_bound("x <= 1"),))
    path = "link.up.queue.target"
    plan = Tuning(
        load(scenario), "up", {"kind": "codel"}, (read_parameter(f"{path}=1ms..99ms"),), goal
    )

    def tried(label: str, values: tuple[str, ...], g: float, x: float) -> Tried:
        samples = {goal.key: [g - 1e4, g, g + 2e4, g], "x": [x] * 4}
        return Tried(label, values, Estimate(samples))

    ours = tried("trial 7", ("68ms",), 4.04e6, 0.5)
    prio, fails = tried("prio", (), 4.474e6, 0.5), tried("fifo", (), 9e6, 2.0)
    outcome = Outcome(plan, (ours,), (ours,), (prio, fails))
    assert (outcome.best, outcome.tuned, outcome.equals) == (prio, ours, ())
    for width in (60, 80, 120):
        screen = StringIO()
        print_outcome(Console(file=screen, width=width), outcome, "small.toml")
        said = screen.getvalue()
        assert max(len(line.rstrip()) for line in said.splitlines()) <= width
        assert "Best: prio (*), which was not tuned." in said
        assert "it is 0.434 ±0.000 Mb/s below prio" in " ".join(said.split())
        assert "e+0" not in said and "…" not in said
        for shown in ("* prio", "68ms", "4.476", "up goodput, Mb/s", "fails"):
            assert shown in said
    # Without what stands beside, and where the two cannot be distinguished.
    assert Outcome(plan, (ours,), (ours,), (fails,)).best is ours
    close = tried("prio", (), 4.04e6, 0.5)
    assert Outcome(plan, (ours,), (ours,), (close,)).best is ours
    assert Outcome(plan, (ours,), (ours,), (close,)).equals == (close,)


def test_the_best_is_beside_the_queue_of_today(scenario: Path) -> None:
    goal = Goal("classes.up.goodput_bps", True, ())
    path = "link.up.queue.target"
    plan = Tuning(
        load(scenario), "up", {"kind": "codel"}, (read_parameter(f"{path}=1ms..99ms"),), goal
    )

    def said(*today: float) -> str:
        ours = Tried("trial 7", ("68ms",), Estimate({goal.key: [4e6, 4.01e6, 4.02e6, 4.01e6]}))
        other = Tried(TODAY, (), Estimate({goal.key: list(today)}))
        screen = StringIO()
        print_outcome(
            Console(file=screen, width=200), Outcome(plan, (ours,), (ours,), (other,)), "small.toml"
        )
        return " ".join(screen.getvalue().split())

    assert re.search(
        r"Beside today: up goodput is 1\.\d+ ±0\.\d+ Mb/s above it\.",
        said(3e6, 3.01e6, 3.02e6, 3e6),
    )
    assert f"Beside today: by up goodput the two {Beside.OPEN.value}." in said(3e6, 5e6, 4e6, 4e6)


Samples = list[float | None]


def verified(
    scenario: Path, bounds: list[str], today: dict[str, Samples], *candidates: dict[str, Samples]
) -> Outcome:
    """What was found if the runs had these values; the goal is to make g small."""
    goal = Goal("g", False, tuple(map(read_bound, bounds)))
    plan = Tuning(load(scenario), None, None, (read_parameter("x=1..99"),), goal)
    many = tuple(
        Tried(f"trial {at}", (at * 10,), Estimate(samples))
        for at, samples in enumerate(candidates, 1)
    )
    return Outcome(plan, many, many, (Tried(TODAY, (), Estimate(today)),))


def printed(outcome: Outcome) -> str:
    screen = StringIO()
    print_outcome(Console(file=screen, width=200), outcome, "small.toml")
    return " ".join(screen.getvalue().split())


@pytest.mark.parametrize("lacking", [[None, None, None], [None, 1.0, 1.1]])
def test_what_lacks_the_measure_in_a_run_is_not_the_best(scenario: Path, lacking: Samples) -> None:
    found = verified(scenario, [], {"g": [2.0, 2.5, 2.1]}, {"g": lacking})
    [today] = found.beside
    assert (found.best, found.tuned, found.equals) == (today, None, ())
    said = printed(found)
    assert "Best: today (*), which was not tuned. No candidate has a value of g in every" in said
    assert "Use it" not in said
    # Whatever else it was that had the measure there.
    bounded = verified(
        scenario,
        ["x <= 1"],
        {"g": [2.0, 2.5, 2.1], "x": [5.0] * 3},
        {"g": lacking, "x": [0.5] * 3},
    )
    assert bounded.best is None
    assert "Nothing surely keeps every bound and has a value of g in every run." in printed(bounded)


def test_a_run_in_which_nothing_has_the_measure_is_held_against_nothing(scenario: Path) -> None:
    found = verified(scenario, [], {"g": [None, 2.5, 2.1]}, {"g": [None, 1.0, 1.1]})
    assert found.best is found.candidates[0]
    said = printed(found)
    assert "Some runs have no value of g; longer runs may have one." in said
    assert re.search(r"\* trial 1 10 1\.0\d ±0\.\d+ \(2 runs\)", said)


def test_without_any_measure_nothing_is_best(scenario: Path) -> None:
    found = verified(scenario, [], {"g": [None, None]}, {"g": [None, None]})
    assert (found.best, found.tuned, found.equals) == (None, None, ())
    assert "Nothing has a value of g in every run." in printed(found)
    assert plain(found, "")["best"] is None


def test_a_bound_does_not_hold_by_the_runs_that_have_a_value(scenario: Path) -> None:
    goal = read_goal("g", None, ["x <= 12"])

    def estimate(*x: float | None) -> Estimate:
        return Estimate({"g": [1.0] * len(x), "x": x})

    whole, survivors = estimate(4.0, 4.1, 4.2, 4.1), estimate(4.0, 4.1, None, None)
    assert whole.standing(goal) is Standing.INSIDE
    assert survivors.standing(goal) is Standing.OPEN
    assert estimate(14.0, 14.1, 14.2, None).standing(goal) is Standing.OUTSIDE
    # The search keeps away by the share of such runs; by the mean alone the bound may be kept.
    [sure], [worse], [worst] = (
        each.excess(goal, cautious=True)
        for each in (whole, survivors, estimate(None, None, None, None))
    )
    assert sure < 0 < worse < worst
    assert survivors.excess(goal, cautious=False)[0] < 0
    found = verified(
        scenario,
        ["x <= 12"],
        {"g": [5.0, 5.1, 5.2], "x": [2.0, 2.1, 2.2]},
        {"g": [1.0, 1.1, 1.2], "x": [4.0, None, 4.1]},
    )
    assert found.best is found.beside[0]
    said = printed(found)
    assert re.search(r"trial 1 10 1\.1\d* ±0\.\d+ 4\.\d+ ±0\.\d+ \(2 runs\) not sure", said)
    assert "No candidate surely keeps every bound." in said


def test_trials_that_lack_the_measure_are_judged_again_last(scenario: Path) -> None:
    found = verified(
        scenario, [], {"g": [1.0, 1.0]}, {"g": [0.1, None]}, {"g": [3.0, 4.0]}, {"g": [5.0, 6.0]}
    )
    chosen = _shortlist(replace(found.plan, candidates=2), found.trials)
    assert [each.label for each in chosen] == ["trial 2", "trial 3"]


@pytest.mark.parametrize("lacking", [[None, None], [None, 3.0]])
def test_the_picture_is_of_what_was_measured(
    scenario: Path, tmp_path: Path, lacking: Samples
) -> None:
    some: dict[str, Samples] = {"g": [1.0, 1.1], "x": [2.0, 2.1]}
    found = verified(scenario, ["x <= 12"], some, some, {"g": [1.0, 1.2], "x": lacking})
    assert draw(found, tmp_path / "some.png")
    none: dict[str, Samples] = {"g": [1.0, 1.1], "x": [None, None]}
    assert draw(verified(scenario, ["x <= 12"], none, none), tmp_path / "none.png")


def test_today_is_equal_and_beside_the_best_at_one_level(scenario: Path) -> None:
    # Its paired difference is 1 ±0.83 at 95 %, and ±1.5 at the level for five beside the best.
    today: dict[str, Samples] = {"g": [1.5, 2.5, 1.6, 2.4]}
    worse: dict[str, Samples] = {"g": [9.0, 9.0, 9.0, 9.1]}
    best: dict[str, Samples] = {"g": [1.0, 1.0, 1.0, 1.0]}
    few = verified(scenario, [], today, best)
    assert few.equals == () and "Beside today: g is 1.00 ±0.84 below it." in printed(few)
    many = verified(scenario, [], today, best, worse, worse, worse, worse)
    assert many.equals == many.beside
    assert f"Beside today: by g the two {Beside.OPEN.value}." in printed(many)
    # Nor is it told apart if it breaks a bound, and so is no equal.
    bounded = verified(
        scenario,
        ["x <= 1"],
        today | {"x": [5.0] * 4},
        *(each | {"x": [0.5] * 4} for each in (best, worse, worse, worse, worse)),
    )
    assert bounded.equals == ()
    assert f"Beside today: by g the two {Beside.OPEN.value}." in printed(bounded)


def test_a_difference_says_on_how_few_runs_it_rests(scenario: Path) -> None:
    found = verified(scenario, [], {"g": [5.0, None, 5.2, 5.1]}, {"g": [1.0, 1.1, 1.0, 1.1]})
    assert re.search(r"g is 4\.\d+ ±0\.\d+ below it \(3 runs\)\.", printed(found))


def test_gain_and_efficiency_are_ratios_within_a_replication() -> None:
    runs = pl.DataFrame(
        {
            "discipline": ["none", "none", "cq", "cq"],
            "replication": [1, 2, 1, 2],
            "classes.p1.goodput_bps": [100.0, 200.0, 150.0, 240.0],
            "classes.p0.goodput_bps": [300.0, 0.0, 240.0, 10.0],
            "classes.voice.goodput_bps": [5.0, 5.0, 5.0, 5.0],
        }
    )
    found = relative(runs, ["replication"], "none", ["p1", "p0"])
    assert found["classes.p1.gain"].to_list() == [1.0, 1.0, 1.5, 1.2]
    assert found["classes.p0.gain"].to_list() == [1.0, None, 0.8, None]
    assert found["efficiency"].to_list() == [1.0, 1.0, 390 / 400, 250 / 200]
    every = relative(runs, ["replication"], "none")
    assert every["efficiency"][2] == 395 / 405
    with pytest.raises(ScenarioError, match="one of none, cq"):
        relative(runs, ["replication"], "zzz")
