"""Papers: verdicts, quick and full results apart, going on after a stop, the page."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomllib
from click.testing import CliRunner

import toy_paper
from forebay import _cli, sweep
from forebay._engine import ScenarioError
from forebay._judge import Bounds
from forebay._report.table import cell
from forebay._runs import Record, Task, record_of
from forebay.papers import Part, exactly, library, page, record, run, studies
from forebay.papers.data import Data
from forebay.papers.intervals import surely
from forebay.papers.judge import in_range, readings, verdict_of
from forebay.papers.paper import load, texts
from forebay.papers.verdicts import CONTRADICTED, WITH, Class, class_of, counts
from forebay.stats import Interval

RUNNER = CliRunner()


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree with one toy paper, and nothing else."""
    home = tmp_path / "papers"
    toy_paper.write(home)
    (tmp_path / "docs" / "papers").mkdir(parents=True)
    monkeypatch.setattr(library, "LIBRARY", home)
    monkeypatch.chdir(tmp_path)
    return home


def made(folder: str, **arguments: Any) -> dict[str, Any]:
    return run.run("toy", Path(folder), command="forebay paper run toy", **arguments)


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {claim["id"]: claim["verdict"] for claim in found["claims"]}


@pytest.mark.parametrize(
    ("mean", "half_width", "verdict"),
    [
        (5.0, 0.9, "reproduced"),
        (5.0, 1.1, "not testable"),
        (3.5, 0.6, "not testable"),
        (3.0, 0.9, "differs"),
        (7.0, 0.5, "differs"),
        (5.0, None, "not testable"),
        (math.nan, 0.0, "not testable"),
    ],
)
def test_a_verdict_is_where_the_interval_lies(
    mean: float, half_width: float | None, verdict: str
) -> None:
    part = Part("x", "4 to 6", Interval(mean, half_width, 3), Bounds(4.0, 6.0))
    assert part.verdict == verdict


def test_one_part_that_differs_decides() -> None:
    good, bad, unknown = (
        Part("", "", found, Bounds(0, 2)) for found in (exactly(1), exactly(3), None)
    )
    assert verdict_of([good, good]) == "reproduced"
    assert verdict_of([good, unknown]) == "not testable"
    assert verdict_of([good, unknown, bad]) == "differs"
    with pytest.raises(ValueError, match="nothing was judged"):
        verdict_of([])


def test_a_claim_has_the_verdict_of_the_reading_that_fits_best() -> None:
    def part(found: float, reading: str = "") -> Part:
        return Part("", "", exactly(found), Bounds(0, 2), reading=reading)

    parts = [part(1), part(3, "as printed"), part(1, "exact"), part(4, "as drawn")]
    assert verdict_of(parts) == "reproduced" and in_range(parts) == 2
    assert list(readings(parts)) == ["exact", "as printed", "as drawn"]
    assert verdict_of([part(3), *parts]) == "differs"
    assert list(readings([part(1)])) == [""]


def test_classes_of_claims() -> None:
    good, bad = ({"id": "T-1", "verdict": verdict} for verdict in ("reproduced", "differs"))
    assert class_of(good).told() == "reproduced"
    assert class_of(good | {"reading": "as printed"}) == Class(WITH, 'the reading "as printed"')
    assert class_of(bad | {"theirs": [good]}).told() == "differs"
    contradicted = bad | {"theirs": [good, bad]}
    assert class_of(contradicted).told() == "contradicted by the paper's own numbers"
    tried = {"id": "T-1", "again": 1, "with": {"starts": "within 1 s"}}
    best = {"changed": {"starts": "within 1 s", "clock": "10 ms"}, "claims": {"T-1": "differs"}}
    fit = {"claims": [tried], "best": best}
    assert class_of(contradicted, fit).told() == "reproduced with starts: within 1 s"
    best["claims"] = {"T-1": "reproduced"}
    assert class_of(bad, fit).choice == "starts: within 1 s; clock: 10 ms"
    tried["again"] = 0
    assert class_of(bad, fit).told() == "differs"
    assert counts([good, contradicted, bad], fit) == {
        "reproduced": 1,
        WITH: 0,
        CONTRADICTED: 1,
        "differs": 1,
        "not testable": 0,
    }


def test_a_count_of_differences_shows_what_is_undecided() -> None:
    found = [Interval(2.0, 1.0, 9), Interval(1.0, 2.0, 9), Interval(-3.0, 1.0, 9)]
    above, below = surely(found), surely(found, -1)
    assert (above.mean, above.low, above.high, above.samples) == (2.0, 1.0, 2.0, 9)
    assert (below.mean, below.low, below.high) == (1.0, 1.0, 2.0)
    assert Part("", "", above, Bounds(3, 3)).verdict == "differs"
    assert Part("", "", above, Bounds(2, 2)).verdict == "not testable"
    decided = surely([found[0], None, found[2]])
    assert Part("", "", decided, Bounds(1, 1)).verdict == "reproduced" and decided.samples == 0


def test_words_are_found_by_their_headings(tmp_path: Path) -> None:
    (tmp_path / "words.md").write_text("# setup\n\nOne link.\n\n# found\n\n## No heading\n")
    assert texts(tmp_path / "words.md") == {"setup": "One link.", "found": "## No heading"}
    (tmp_path / "words.md").write_text("# setup\n\n# found\n\nA text.\n")
    with pytest.raises(ScenarioError, match='the heading "setup" has no text; write one'):
        texts(tmp_path / "words.md")


def test_intervals_in_cells_are_no_finer_than_their_mean() -> None:
    def said(mean: float, half_width: float | None) -> str:
        return cell({"mean": mean, "half_width": half_width})

    assert said(8.3149, 0.1234) == "8.315 ± 0.12"
    assert said(9.6881, 0.00012) == "9.688 ± 0.001"
    assert said(261.94, 1.2) == "261.9 ± 1.2"
    assert said(99.882, 4.3e-14) == said(99.882, 0.0) == said(99.882, None) == "99.88"
    assert said(0.0, 0.002) == "0 ± 0.002"


@pytest.mark.usefixtures("papers")
def test_a_run_judges_draws_and_writes_its_page() -> None:
    found = made("out")
    assert verdicts(found) == {
        "T-1": "reproduced",
        "T-2": "differs",
        "T-3": "reproduced",
        "T-4": "not testable",
    }
    assert json.loads(Path("out/results.json").read_text()) == found
    text = Path("out/toy.md").read_text()
    assert "### T-2: differs" in text and "Why: as codel drops" in text
    numbers = text[text.index("### T-2") :]
    assert "| number | 95 % | paper | verdict |" in numbers[: numbers.index("Why:")]
    assert "Note: needs a kernel" in text
    # What was found stands first: conclusions, then every number that the paper states.
    begins = text[: text.index("## Figures")]
    assert "Codel's queue is" in begins
    assert "| Codel shortens queues. | holds |" in begins
    assert "| Codel lengthens queues. | does not hold |" in begins
    assert "Numbers that the paper states: 1 of 1 are in range." in begins
    assert "| T-3 | 2 + 2 | 5 (3 to 5) | 4 | 4.5 | reproduced |  | -20.0 % |" in begins
    assert "| [T-3](#t-3-reproduced) | reproduced | 2/2 | a sum |" in begins
    # A hypothesis of ours is judged, and not among the claims.
    assert [each["verdict"] for each in found["hypotheses"]] == ["reproduced"]
    assert "## Our own hypotheses" in text and "> our own" in text and "4 claims:" in begins
    for number in "123":
        image = Path(f"out/images/toy-{number}.svg")
        assert f"(images/{image.name})" in text and image.stat().st_size > 1000
    study = found["studies"][0]
    assert study["points"] == 4 and 3 <= study["fewest"] <= study["most"] <= 6
    # The page needs nothing but the record.
    before = image.read_bytes()
    home = library.folder_of("toy")
    page.write(found, Path("again"), home)
    assert Path("again/toy.md").read_text() == text
    assert Path("again/images", image.name).read_bytes() == before
    # It replaces an earlier one, but neither a link nor the paper's own texts.
    page.write(found, Path("again"), home)
    image = Path("again/images/toy-3.svg")
    image.unlink()
    image.symlink_to(home / library.WORDS)
    words, page_before = image.read_bytes(), Path("again/toy.md").stat()
    for kept, folder, refused in (
        (found, Path("again"), "symbolic link"),
        (found | {"paper": "words"}, home, "is read by this command"),
    ):
        with pytest.raises(OSError, match=refused):
            page.write(kept, folder, home)
    assert image.read_bytes() == words and Path("again/toy.md").stat() == page_before


def test_quick_results_do_not_touch_full_ones(papers: Path) -> None:
    made("out")
    before = Path("out/results.json").read_bytes()
    with pytest.raises(ScenarioError, match="holds full results"):
        made("out", quick=True)
    quick = made("quick", quick=True)
    assert [study["most"] for study in quick["studies"]] == [3, 1]
    assert "too few replications" in Path("quick/toy.md").read_text()
    assert Path("out/results.json").read_bytes() == before
    outcome = RUNNER.invoke(_cli.app, ["paper", "run", "toy", "--quick", "--page"])
    assert outcome.exit_code == 2 and "leave out --quick" in outcome.output
    assert not (papers / "toy" / "results.json").exists()


def test_quick_shortens_runs_and_axes(papers: Path) -> None:
    home = toy_paper.write(papers, quick=True)
    rates = load("toy").file.study[0]
    plan = studies.read(rates, home, quick=True)
    assert plan.replications == 2 and plan.until is None
    assert plan.base.document["duration"] == "2s"
    assert plan.axes[0].rows == (("5Mbit",),)
    full = studies.read(rates, home, quick=False)
    assert full.until is not None and len(full.axes[0].rows) == 2


def test_a_changed_copy_of_a_paper_runs(papers: Path) -> None:
    shutil.copytree(papers / "toy", "mine")
    for name in ("studies/rates.toml", "paper.toml", "claims.toml"):
        file = Path("mine", name)
        file.write_text(file.read_text().replace("5Mbit", "6Mbit"))
    outcome = RUNNER.invoke(_cli.app, ["paper", "run", "./mine", "--quick"])
    assert outcome.exit_code == 0, outcome.output
    found = json.loads(Path("out/papers/mine-quick/results.json").read_text())
    assert found["paper"] == "mine"
    # A value that the study no longer has is named with what needs it, and no traceback.
    study = Path("mine/studies/rates.toml")
    study.write_text(study.read_text().replace("6Mbit", "7Mbit"))
    lacking = RUNNER.invoke(_cli.app, ["paper", "run", "./mine", "--quick", "-o", "lacking"])
    assert lacking.exit_code == 2, lacking.output
    said = 'claim T-1: study "rates": no run has rate = 6Mbit; there are 2Mbit, 7Mbit'
    assert said in lacking.output and "Traceback" not in lacking.output
    data = Data({"rates": ()}, {"rates": Path("lacking/rates")}, quick=True)
    with pytest.raises(ScenarioError, match='there is no axis "rat"'):
        data.interval("rates", "links.up.utilization", {"rat": "2Mbit"})
    refused = RUNNER.invoke(_cli.app, ["paper", "run", "./mine", "--page"])
    assert refused.exit_code == 2 and "forebay paper list" in refused.output
    nowhere = RUNNER.invoke(_cli.app, ["paper", "run", "./none"])
    assert nowhere.exit_code == 2 and "a folder with a" in nowhere.output


@pytest.mark.usefixtures("papers")
def test_fields_of_a_paper_are_changed() -> None:
    words = ["paper", "run", "toy", "--quick", "--set"]
    outcome = RUNNER.invoke(_cli.app, [*words, "link.up.delay=9ms"])
    assert outcome.exit_code == 0, outcome.output
    assert "changed by --set" in outcome.output
    folder = Path("out/papers/toy-changed-quick")
    study = json.loads((folder / "time" / "study.json").read_text())
    assert '"9ms"' in json.dumps(study)
    again = RUNNER.invoke(_cli.app, [*words, "link.up.delay=8ms"])
    assert again.exit_code == 2 and "link.up.delay=9ms" in again.output
    axis = RUNNER.invoke(_cli.app, [*words, "link.up.rate=8Mbit", "-o", "other"])
    assert axis.exit_code == 2 and "an axis of this study sets it; change" in axis.output


@pytest.mark.usefixtures("papers")
def test_an_interrupted_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop_at(name: str | tuple[str, ...], share: float) -> Any:
        def tell(text: str, done: float) -> None:
            if text.startswith(name) and done >= share:
                raise KeyboardInterrupt

        return tell

    with pytest.raises(KeyboardInterrupt):
        made("out", jobs=1, tell=stop_at("rates", 0.3))
    with pytest.raises(KeyboardInterrupt):
        made("out", jobs=1, tell=stop_at(("time: 1 of", "time: 2 of"), 0.0))
    assert not Path("out/results.json").exists()
    before = len(sweep.results("out/rates").runs)
    begun: list[Task] = []

    def watched(task: Task, *rest: Any) -> Record:
        begun.append(task)
        return record_of(task, *rest)

    monkeypatch.setattr("forebay.sweep.control.record_of", watched)
    found = made("out")
    assert len(begun) <= 1
    assert [study["runs"] for study in found["studies"]] == [before, 2]


@pytest.mark.usefixtures("papers")
def test_what_has_not_run_is_left_out_and_said() -> None:
    made("out", figure="1")
    found = made("out", partial=True)
    assert [study["name"] for study in found["studies"]] == ["rates"]
    assert found["missing"] == ["time"]
    assert [figure["number"] for figure in found["figures"]] == ["1", "3"]
    assert "left out below: `time`" in Path("out/toy.md").read_text()
    (Path("out") / "rates" / "complete").unlink()
    found = made("out", partial=True)
    assert not found["studies"][0]["complete"]
    assert "**not finished**" in Path("out/toy.md").read_text()
    assert verdicts(made("empty", partial=True))["T-1"] == "not testable"


@pytest.mark.usefixtures("papers")
def test_a_figure_runs_only_its_studies() -> None:
    found = made("out", figure="2")
    assert [study["name"] for study in found["studies"]] == ["time"]
    assert set(verdicts(found)) == {"T-3", "T-4"}
    assert [path.name for path in Path("out/images").iterdir()] == ["toy-2.svg"]
    assert not Path("out/results.json").exists()


def test_commands(papers: Path) -> None:
    home = papers
    listed = RUNNER.invoke(_cli.app, ["paper", "list", "--json"])
    [state] = json.loads(listed.output)
    assert state["paper"] == "toy" and state["claims"] is None
    done = RUNNER.invoke(_cli.app, ["paper", "run", "toy", "--page"])
    assert done.exit_code == 0, done.output
    assert "H-1 reproduced: our own" in done.output
    assert "3 reproduced, 1 differs, 1 not testable" in done.output
    assert Path("docs/papers/toy.md").exists() and (home / "toy" / "results.json").exists()
    [state] = json.loads(RUNNER.invoke(_cli.app, ["paper", "list", "--json"]).output)
    assert list(state["claims"].values()) == [2, 0, 0, 1, 1]
    assert state["conclusions"] == {"good": 1, "of": 2}
    assert state["numbers"] == {"good": 1, "of": 1}
    assert [claim["id"] for claim in state["judged"]] == ["T-1", "T-2", "T-3", "T-4"]
    assert state["judged"][2]["parts"][0]["stated"] == 5.0
    shown = RUNNER.invoke(_cli.app, ["paper", "list"], env={"COLUMNS": "100"}).output
    assert "1 of 2" in shown and "1 of 1" in shown
    assert "changed" not in state["state"]
    short = Path("docs/papers/toy.md").read_text()
    assert "| T-2 | differs | 0/1 | longer |" in short and "**T-2:** as codel drops" in short
    assert "images/" not in short and not Path("docs/papers/images").exists()
    assert "studies have changed" not in short
    for named in ([], ["toy"]):  # all papers unless one is named
        shutil.rmtree("again", ignore_errors=True)
        again = RUNNER.invoke(_cli.app, ["paper", "page", *named, "--out", "again"])
        assert again.exit_code == 0, again.output
        written = Path("again/toy.md").read_text()
        assert written == Path("out/papers/toy/toy.md").read_text()
        assert "images/toy-1.svg" in written and Path("again/images/toy-1.svg").exists()
    study = home / "toy" / "studies" / "rates.toml"
    study.write_text(study.read_text().replace('"5%"', '"6%"'))
    [state] = json.loads(RUNNER.invoke(_cli.app, ["paper", "list", "--json"]).output)
    assert "changed since" in state["state"]
    assert RUNNER.invoke(_cli.app, ["paper", "page"]).exit_code == 0
    assert "studies have changed since this run" in Path("docs/papers/toy.md").read_text()
    refused = RUNNER.invoke(_cli.app, ["paper", "run", "toy"])
    assert refused.exit_code == 2 and "another study" in refused.output


def test_a_paper_of_two_words_is_called_by_its_key(papers: Path) -> None:
    (papers / "toy").rename(papers / "two_words")
    found = run.run("two-words", Path("out"), command="")
    assert found["paper"] == "two-words" and Path("out/two-words.md").exists()


def test_a_difference_without_a_reason_fails(papers: Path) -> None:
    toy_paper.write(papers, reason="")
    outcome = RUNNER.invoke(_cli.app, ["paper", "run", "toy"])
    assert outcome.exit_code == 1 and "T-2 differs, and no reason is given" in outcome.output
    # Too few runs to ask for one.
    assert RUNNER.invoke(_cli.app, ["paper", "run", "toy", "--quick"]).exit_code == 0


def test_a_reason_may_need_a_study_that_was_not_run(papers: Path) -> None:
    home = toy_paper.write(papers, reason="{flows:.0f} flow")
    claims = (home / "claims.toml").read_text()
    said = 'said = { flows = { study = "time", of = "mean_packets", at = {} } }'
    (home / "claims.toml").write_text(
        claims.replace('{flows:.0f} flow"', '{flows:.0f} flow"\n' + said)
    )
    part = run.run("toy", Path("part"), command="", figure="1")
    assert part["claims"][1]["reason"] == "time has not been run, on which the reason depends."
    whole = run.run("toy", Path("whole"), command="")
    assert whole["claims"][1]["reason"] == "1 flow"


def test_sentences_that_the_numbers_do_not_bear_out_are_struck_out(papers: Path) -> None:
    assert RUNNER.invoke(_cli.app, ["paper", "run", "toy", "--page"]).exit_code == 0
    text = Path("out/papers/toy/toy.md").read_text()
    assert re.search(r"- Codel's queue is shorter\. \*\(codel - fifo: -.* packets", text)
    assert "~~" not in text
    toy_paper.write(papers, total=5)
    outcome = RUNNER.invoke(_cli.app, ["paper", "run", "toy", "--page"])
    assert outcome.exit_code == 1 and "Not borne out: Two and two are 4." in outcome.output
    text = Path("out/papers/toy/toy.md").read_text()
    assert "- ~~Two and two are 4.~~ **This does not hold**, 0 of 1 numbers do: 2 + 2: 5" in text
    listed = RUNNER.invoke(_cli.app, ["paper", "list", "--json"])
    assert "not borne out" in json.loads(listed.output)[0]["state"]


@pytest.mark.usefixtures("papers")
def test_a_table_that_is_wanted_later_is_made_later(papers: Path) -> None:
    made("out", figure="2")
    text = (papers / "toy" / "paper.toml").read_text()
    (papers / "toy" / "paper.toml").write_text(
        text.replace('["queue", "flows"]', '["queue", "class"]')
    )
    made("out", figure="2")
    found = {path.name.split(".")[-2] for path in Path("out/time/tables").glob("*.parquet")}
    assert found == {"queue", "flows", "class"}


def test_what_does_not_exist_is_named(papers: Path) -> None:
    for arguments, said in (
        (["run", "nothing"], 'no paper "nothing"; one of toy'),
        (["run", "toy", "--figure", "9"], 'no figure "9"'),
        (["page", "toy"], "no full results yet"),
    ):
        outcome = RUNNER.invoke(_cli.app, ["paper", *arguments])
        assert outcome.exit_code == 2 and said in outcome.output
    text = (papers / "toy" / "paper.toml").read_text()
    Path("papers/toy/paper.toml").write_text(
        text.replace('studies = ["time"]', 'studies = ["tim"]')
    )
    outcome = RUNNER.invoke(_cli.app, ["paper", "run", "toy"])
    assert outcome.exit_code == 2 and 'no study "tim"' in outcome.output
    Path("out").mkdir()
    Path("out/mine").touch()
    toy_paper.write(Path("papers"))
    outcome = RUNNER.invoke(_cli.app, ["paper", "run", "toy", "--out", "out"])
    assert outcome.exit_code == 2 and "not of this command" in outcome.output


def test_modules_beside_one_paper_are_not_found_by_another(papers: Path) -> None:
    (papers / "toy" / "keys.py").write_text("")
    measures = "from .keys import __name__\n"
    (papers / "toy" / "measures.py").write_text(measures)
    load("toy")
    other = papers / "other"
    shutil.copytree(papers / "toy", other)
    (other / "keys.py").unlink()
    with pytest.raises(ModuleNotFoundError, match="keys"):
        load("other")


def test_packages_hold_every_file_of_the_papers() -> None:
    root = Path(__file__).parents[2]
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    patterns = [each["path"] for each in settings["tool"]["maturin"]["include"]]
    held = {path for pattern in patterns for path in root.glob(pattern)}
    papers = root / "python" / "forebay" / "papers" / "collection"
    files = {
        path
        for folder in papers.iterdir()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files and files <= held


def test_every_paper_of_the_library_loads() -> None:
    for key in library.names():
        paper = load(key)
        assert paper.claims.claim or paper.file.figure
        for study in paper.file.study:
            for quick in (False, True):
                assert studies.read(study, paper.home, quick).most > 0


@pytest.mark.parametrize("key", library.names())
def test_kept_results_and_pages_follow_their_paper(key: str) -> None:
    found = library.kept(key)
    assert found is not None
    told = record.retold(load(key), found)
    changed = [name for name in found if told[name] != found[name]]
    assert not changed, f"run: forebay paper page {key}"
    docs = run.docs_folder()
    short = page.short(found, library.folder_of(key))
    assert (docs / f"{key}.md").read_text("utf-8") == page.text(short), (
        f"run: forebay paper page {key}"
    )


@pytest.mark.usefixtures("papers")
def test_a_table_is_read_at_some_points() -> None:
    made("out")
    data = Data({"time": ("queue",)}, {"time": Path("out/time")}, quick=False)
    whole = data.table("time", "queue")
    assert data.table("time", "queue", {"discipline": "fifo"}).equals(whole)
    with pytest.raises(ScenarioError, match="no run has discipline = codel; there are fifo"):
        data.table("time", "queue", {"discipline": "codel"})


def test_a_change_of_one_claim_is_a_change_of_few_lines(papers: Path) -> None:
    assert RUNNER.invoke(_cli.app, ["paper", "run", "toy", "--page"]).exit_code == 0
    before = (papers / "toy" / "results.json").read_text().splitlines()
    toy_paper.write(papers, reason="otherwise")
    assert RUNNER.invoke(_cli.app, ["paper", "page", "toy"]).exit_code == 0
    after = (papers / "toy" / "results.json").read_text().splitlines()
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1


def test_a_list_of_papers_reads_no_study_and_no_table() -> None:
    code = "import sys; from forebay._cli import app; app(['paper', 'list'], standalone_mode=False)"
    more = "; print('loaded', *{'polars', 'scipy', 'forebay.sweep'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code + more], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "loaded"
