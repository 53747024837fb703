"""Set-ups that a paper does not tell: the search, its counts, going on after a stop, errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import toy_paper
from forebay import _cli
from forebay.papers import fit, library
from forebay.papers.choices import Choices
from forebay.papers.paper import load
from forebay.sweep import several

RUNNER = CliRunner()
CHOICES = """
[[choice]]
name = "buffer"
words = "Not given."
studies = ["rates"]
option = [
    { name = "large" },
    { name = "tiny", disciplines = { fifo = { "link.up.queue.limit" = "2p" } } },
]

[[choice]]
name = "flows"
words = "A few."
option = [
    { name = "as run" },
    { name = "five", set = { "traffic.bulk.flows" = 5 } },
    { name = "by rate", call = "flows_by_rate" },
]
"""
CALL = """

def flows_by_rate(point):
    return {"traffic.bulk.flows": 3 if point["link.up.rate"] == "5Mbit" else 2}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree with one toy paper that leaves two things open."""
    made = toy_paper.write(tmp_path / "papers")
    (tmp_path / "docs" / "papers").mkdir(parents=True)
    monkeypatch.setattr(library, "LIBRARY", tmp_path / "papers")
    monkeypatch.chdir(tmp_path)
    declare(made, CHOICES)
    return made


def declare(home: Path, choices: str) -> None:
    toy_paper.write(home.parent)
    for name, more in (("paper.toml", choices), ("measures.py", CALL)):
        (home / name).write_text((home / name).read_text() + more)


def made(folder: str = "out", **arguments: Any) -> dict[str, Any]:
    return fit.fit("toy", Path(folder), command="forebay paper fit toy", **arguments)


def claims(found: dict[str, Any]) -> dict[str, tuple[int, int, int]]:
    return {each["id"]: (each["holds"], each["open"], each["differs"]) for each in found["claims"]}


@pytest.mark.usefixtures("home")
def test_every_set_up_is_judged_if_the_budget_allows_it() -> None:
    found = made()
    assert (found["tried"], found["setups"]) == (6, 6)
    assert claims(found) == {"T-1": (3, 0, 3), "T-2": (3, 0, 3), "T-3": (6, 0, 0)}
    by_id = {each["id"]: each for each in found["claims"]}
    assert by_id["T-1"]["with"] == {} and by_id["T-1"]["only"] == {"buffer": ["large"]}
    assert by_id["T-2"]["with"] == {"buffer": "tiny"}
    assert by_id["T-2"]["only"] == {"buffer": ["tiny"]}
    assert "only" not in by_id["T-3"]
    # Of equals, the set-up with fewest changes; its conclusions are judged under it.
    assert found["best"]["changed"] == {} and found["best"] == found["page"]
    assert [each["verdict"] for each in found["best"]["conclusions"]] == ["reproduced", "differs"]


@pytest.mark.usefixtures("home")
def test_only_points_that_claims_ask_for_are_run_and_shared_between_set_ups() -> None:
    found = made()
    (study,) = found["studies"]
    assert study["name"] == "rates" and study["points"] == 2  # of four, and not the other study
    studies = [json.loads(path.read_text()) for path in Path("out").glob("rates-*/study.json")]
    narrow = [each for each in studies if len(each["points"]) == 2]
    # Six set-ups, and three again with other seeds, and the first look with all points.
    assert len(studies) == len(narrow) + 1 and len(narrow) == 6 + found["again"]
    seeds = {each["study"]["seed"] for each in narrow}
    assert seeds == {study["seed"], study["again_seed"]}
    assert study["again_seed"] == study["seed"] + 6


@pytest.mark.usefixtures("home")
def test_a_finished_search_runs_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = made()

    def run(*_: Any, **__: Any) -> None:
        raise AssertionError("it was run already")

    monkeypatch.setattr(several, "run", run)
    assert made() == before


@pytest.mark.parametrize("stop_at", [1, 2, 5, 8])
@pytest.mark.usefixtures("home")
def test_a_search_that_was_stopped_goes_on(stop_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls, run = made("whole"), iter(range(1, 99)), several.run

    def stopping(*given: Any, **more: Any) -> None:
        if next(calls) == stop_at:
            raise KeyboardInterrupt
        run(*given, **more)

    monkeypatch.setattr(several, "run", stopping)
    words = ["paper", "fit", "toy", "-o", "out", "--json"]
    stopped = RUNNER.invoke(_cli.app, words)
    assert stopped.exit_code == 130 and "the same command goes on" in stopped.output
    assert not Path("out/fit.json").exists()
    done = RUNNER.invoke(_cli.app, words)
    found = json.loads(done.stdout)
    assert found == json.loads(Path("out/fit.json").read_text())
    varying = {"cpu_seconds", "command"}
    assert {k: v for k, v in found.items() if k not in varying} == {
        k: v for k, v in whole.items() if k not in varying
    }


@pytest.mark.usefixtures("home")
def test_the_optimiser_starts_from_the_page_and_what_differs_in_one_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []
    judged = fit._Search._judged

    def noted(self: Any, setup: Any, *more: Any) -> Any:
        order.append(self._choices.told(setup))
        return judged(self, setup, *more)

    monkeypatch.setattr(fit._Search, "_cost", lambda *_, **__: float("inf"))
    monkeypatch.setattr(fit._Search, "_judged", noted)
    found = made()
    assert order[:4] == ["the page's set-up", "buffer: tiny", "flows: five", "flows: by rate"]
    assert claims(found)["T-3"] == (found["tried"], 0, 0) and found["tried"] == 6
    assert found["studies"][0]["runs"] == 3


@pytest.mark.usefixtures("home")
def test_a_small_budget_tries_the_page_and_a_larger_one_goes_on() -> None:
    least = made(budget=1e-6)
    assert least["tried"] == 1 and least["again"] == 1 and least["best"] == least["page"]
    assert made()["tried"] == 6


@pytest.mark.usefixtures("home")
def test_what_is_kept_is_a_section_of_the_pages() -> None:
    assert RUNNER.invoke(_cli.app, ["paper", "fit", "toy", "--page"]).exit_code == 2
    assert RUNNER.invoke(_cli.app, ["paper", "run", "toy", "--page"]).exit_code == 0
    short = Path("docs/papers/toy.md")
    assert "Set-ups tried" not in short.read_text()
    shown = RUNNER.invoke(_cli.app, ["paper", "fit", "toy", "--page"])
    assert shown.exit_code == 0, shown.output
    said = "Hold under some: T-1 (3), T-2 (3)"
    assert said in shown.output and "Hold under all 6 tried: T-3." in shown.output
    assert "## Set-ups tried" in short.read_text() and "T-1 (3), T-2 (3)" in short.read_text()
    assert RUNNER.invoke(_cli.app, ["paper", "page", "toy", "--out", "full"]).exit_code == 0
    page = Path("full/toy.md").read_text()
    assert "| T-2 | 3 | 0 | 3 | buffer: tiny. Only buffer: tiny |" in page
    assert "| flows | A few. | as run; five; by rate |" in page


def changed(old: str, new: str) -> str:
    assert old in CHOICES
    return CHOICES.replace(old, new)


def slips() -> Iterator[tuple[str, str]]:
    yield "", "declares no choices"
    yield changed('["rates"]', '["rate"]'), 'there is no study that claims need "rate"'
    yield changed("{ fifo =", "{ fifi ="), 'there is no discipline "fifi"; did you mean fifo?'
    yield changed('"flows_by_rate"', '"flows"'), 'there is no function of measures.py "flows"'
    yield changed("bulk.flows", "bulk.flow"), 'flows: five: study "rates": '
    yield changed('name = "five"', 'name = "as run"'), 'two are called option "as run"'
    yield changed('name = "flows"', 'name = "buffer"'), 'two are called choice "buffer"'
    yield (
        changed('fifo = { "link.up.queue.limit" = "2p" }', 'fifo = { "traffic.bulk.flows" = 2 }'),
        'choice "buffer" sets traffic.bulk.flows too',
    )
    yield changed('name = "large"', 'nam = "large"'), "nam"
    yield changed('    { name = "large" },\n', ""), "option"


@pytest.mark.parametrize(("choices", "said"), list(slips()))
def test_a_slip_in_a_choice_is_told(home: Path, choices: str, said: str) -> None:
    declare(home, choices)
    shown = RUNNER.invoke(_cli.app, ["paper", "fit", "toy"])
    assert shown.exit_code == 2, shown.output
    assert said in shown.output and "paper.toml" in shown.output
    assert "Traceback" not in shown.output and not Path("out/papers/toy-fit/fit.json").exists()


def test_an_option_replaces_what_an_axis_sets_unless_claims_vary_it(home: Path) -> None:
    rate = '{ name = "five", set = { "link.up.rate" = "3Mbit" } }'
    declare(home, changed('{ name = "five", set = { "traffic.bulk.flows" = 5 } }', rate))
    assert made()["tried"] == 6
    every = 'at = { discipline = "codel" }\nfor = { rate = ["2Mbit", "5Mbit"] }'
    path = home / "claims.toml"
    text = path.read_text().replace('at = { rate = "5Mbit", discipline = "codel" }', every, 1)
    path.write_text(text)
    shown = RUNNER.invoke(_cli.app, ["paper", "fit", "toy"])
    assert shown.exit_code == 2, shown.output
    assert 'flows: five: study "rates": an option sets what claims vary' in shown.output


@pytest.mark.usefixtures("home")
def test_a_folder_of_something_else_is_left_alone() -> None:
    assert RUNNER.invoke(_cli.app, ["paper", "run", "toy", "--quick", "-o", "out"]).exit_code == 0
    shown = RUNNER.invoke(_cli.app, ["paper", "fit", "toy", "-o", "out"])
    assert shown.exit_code == 2 and "choose another folder with --out" in shown.output


def test_choices_of_every_paper_of_the_library_fit_its_studies() -> None:
    declared = [paper for paper in map(load, library.names()) if paper.file.choice]
    assert declared
    for paper in declared:
        assert Choices(paper, fit.needed(paper)).count > 1
