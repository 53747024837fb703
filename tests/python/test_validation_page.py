"""The validation page: what it opens with, the rows that miss the goal, and that it is current."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import beside
import dots
import opening
import pytest
import validation
from beside import Pair, Row

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENTS = validation.read(DOCS / "validation")


def row(
    ours: float, theirs: float, *, window: float = 5.0, difference: str = "", noise: float = 0.0
) -> Row:
    """A row that is apart in its queue alone."""
    same = {"utilization": Pair(1.0, 1.0), "loss": Pair(0.01, 0.01)}
    pairs = {"queue": Pair(ours, theirs, noise), **same}
    return Row("a kernel", "a scenario", pairs, window, difference)


def linux(*rows: dict[str, Any]) -> dict[str, Any]:
    """A file of Linux in virtual time."""
    about = {"section": "Beside Linux itself", "order": 2, "version": "1", "command": "run"}
    results = {"kernel": "6.1", "linux": "6.1", "rows": list(rows)}
    return {**about, "text": [], "tables": [], "results": results}


def measured(queue: float, loss: float = 0.01, **more: Any) -> dict[str, Any]:
    """A row of it: Linux has a queue of 20 packets and loses 1 %."""
    figures = {"utilization": [1.0, 1.0]}
    return {
        "case": {
            "queue": "tail drop",
            "control": "cubic",
            "flows": 16,
            "round_trip": 20,
            "offload": False,
        },
        "scenario": {"dumbbell": {"rate": "10Mbit"}},
        "linux": {"queue": [19.9, 20.1], "loss": [0.01, 0.01], **figures},
        "forebay": {"queue": [queue, queue], "loss": [loss, loss], **figures},
        **more,
    }


def table_of(section: Any, heading: str) -> list[list[Any]]:
    [found] = [each for each in section["tables"] if each["heading"] == heading]
    return list(found["rows"])


def test_where_the_referee_has_none_there_is_no_share() -> None:
    rows = [row(20.0, 19.0), row(1.0, 0.0)]
    assert beside.spread(rows, "queue") == pytest.approx((100 / 19, 100 / 19))
    assert beside.spread(rows[1:], "queue") == (0.0, 0.0)
    # Nor where both have none: such rows would make the median smaller.
    rows += [row(0.0, 0.0), row(0.0, 0.0), row(22.0, 20.0)]
    assert beside.spread(rows, "queue") == pytest.approx((100 * (1 / 19 + 0.1) / 2, 10.0))


AGAIN = "python benches/peers/validation.py docs/validation docs/validation.md"


def test_the_page_is_current() -> None:
    text = (DOCS / "validation.md").read_text("utf-8")
    assert text == validation.assemble(DOCUMENTS, whole=False), f"run {AGAIN}"
    assert len(text.split()) < 3000


def test_it_opens_with_everyone_who_was_asked() -> None:
    text = (DOCS / "validation.md").read_text("utf-8")
    start, _, rest = text.partition("## In two minutes")
    opened, _, _ = rest.partition("\n## ")
    assert len(start.splitlines()) < 8
    for name in ("in virtual time", "2.6.18 in NSC", "2.6.26 in NSC", "ns-2", "ns-3.37", "ns-3.18"):
        assert name in opened
    for name in ("live, over the gate", "fq-codel", "Closed forms"):
        assert name in opened
    # Two minutes at 250 words each; figures in tables are looked at, not read.
    prose = [line for line in opened.splitlines() if not line.startswith("|")]
    assert len(" ".join(prose).split()) < 500


def test_every_row_of_every_file_is_in_the_opening() -> None:
    rows = beside.rows_of(DOCUMENTS)
    count = sum(len(DOCUMENTS[name]["results"]["rows"]) for name in ("linux", "linux-6.12"))
    count += len(DOCUMENTS["linux-2.6"]["cases"])
    count += len(DOCUMENTS["stacks"]["results"]["rows"])
    count += sum(len(table["rows"]) for table in DOCUMENTS["lab"]["tables"])
    assert sum(each.is_preset for each in rows) == count
    said = table_of(opening.section(DOCUMENTS), "How far forebay is from each referee")
    assert sum(int(line[1].split(" of ")[1]) for line in said) == len(rows)


def test_a_changed_number_changes_the_opening() -> None:
    before = opening.section({"linux": linux(measured(20.0))})
    after = opening.section({"linux": linux(measured(22.0))})
    heading = "How far forebay is from each referee"
    assert table_of(before, heading)[0][:3] == [
        "Linux 6.1 in virtual time",
        "1 of 1",
        "0.00 / 0.00",
    ]
    assert table_of(after, heading)[0][:3] == ["Linux 6.1 in virtual time", "0 of 1", "10.0 / 10.0"]
    assert after["text"][2].startswith("In 1 scenarios")
    assert "0 of them are within the goal" in after["text"][2]
    [worst] = table_of(after, "The worst scenario of each referee")
    assert worst[2:] == ["mean queue, packets", "22 / 20", "+10.0 %", "not yet explained"]


@pytest.mark.parametrize("name", ["linux", "linux-6.12", "linux-2.6", "stacks", "lab", "peers"])
def test_each_file_is_counted(name: str) -> None:
    changed = copy.deepcopy(DOCUMENTS[name])

    def spoil(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: spoil_side(key, each) for key, each in value.items()}
        return [spoil(each) for each in value] if isinstance(value, list) else value

    def spoil_side(key: str, value: Any) -> Any:
        return scaled(value) if key == "forebay" and not isinstance(value, str) else spoil(value)

    def scaled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: scaled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [scaled(each) for each in value]
        return value * 3 if isinstance(value, float) else value

    if name == "lab":
        changed["tables"][0]["rows"] = [
            [*line[:3], *["1 ± 0"] * 6, ""] for line in changed["tables"][0]["rows"]
        ]
    else:
        changed = spoil(changed)
    assert opening.section(DOCUMENTS | {name: changed}) != opening.section(DOCUMENTS)


def test_the_goal_is_narrower_for_wide_windows() -> None:
    assert not row(20.5, 20.0).missed
    assert row(20.7, 20.0).missed == ["queue"]
    assert row(20.5, 20.0, window=11.0).missed == ["queue"]
    # A twentieth of a packet is nothing, however short the queue.
    assert not row(0.14, 0.1).missed
    assert row(21.2, 20.0).excess == pytest.approx(2.0)


def test_a_row_that_misses_shows_its_decision_or_that_there_is_none() -> None:
    decision = {"decision": "a tail loss probe", "time_s": 1.25, "forebay": "new", "linux": "old"}
    document = linux(
        measured(30.0, difference=decision), measured(25.0, 0.013), measured(20.2), measured(22.0)
    )
    text = validation.assemble({"linux": document})
    lines = [line for line in text.splitlines() if line.startswith("| Linux 6.1 in virtual")]
    [who, worst, first, second, third] = lines
    assert "| 1 of 4 |" in who and "a tail loss probe" in worst
    assert first.endswith("a tail loss probe (time 1.25 s; forebay: new; linux: old) |")
    # Those that miss most come first; another quantity has a line of its own.
    assert "+25.0 % | not yet explained |" in second and "+10.0 %" in third
    assert "|  |  |  | loss, % | 1.3 / 1 | +30.0 % |  |" in text
    assert "### Outside the goal: 3 of 4" in text


def test_the_counts_of_a_section_and_of_the_opening_are_one() -> None:
    opened = dict(
        line[:2]
        for line in table_of(opening.section(DOCUMENTS), "How far forebay is from each referee")
    )
    text = validation.assemble(DOCUMENTS)
    for name in ("linux", "linux-6.12"):
        section = DOCUMENTS[name]["section"]
        said = text.partition(f"\n## {section}\n")[2].partition(" rows are within")[0]
        assert said.endswith(opened[f"Linux {DOCUMENTS[name]['results']['linux']} in virtual time"])


def test_the_figure_has_a_dot_for_each_cell_that_the_referee_has() -> None:
    rows = [row(20.0, 19.0), row(3.0, 1.0), row(1.0, 0.0)]
    [queue, utilization, loss, marks] = dots.panels(rows)
    assert [[*each.y] for each in queue.series] == [[1.0526, 2.0]]
    assert [len(each.y) for each in (*utilization.series, *loss.series)] == [3, 3]
    assert [*marks.series[0].y] == []
    assert "8 dots. 1 of them are above 2" in dots.caption(rows)
    assert dots.caption(rows).endswith(
        "In 0 more cells both have none of the quantity, and in 1 forebay alone has."
    )
    assert opening.section({"linux": linux(measured(20.0))})["text"][1].startswith("<!-- figure ")


def test_noise_is_told_from_a_difference() -> None:
    assert row(21.0, 20.0, noise=1.5).why == "intervals overlap: more seeds are needed"
    assert row(21.0, 20.0, noise=0.5).why == beside.NOT_EXPLAINED
    assert row(21.0, 20.0, noise=1.5, difference="pacing").why == "pacing"


def test_differences_are_text_or_tables_with_a_decision() -> None:
    assert beside.told("pacing") == "pacing"
    assert beside.told({"decision": "pacing"}) == "pacing"
    # The figures of Linux 2.6 stand under the same name.
    assert beside.told({"queue": 0.1, "loss": 0.2}) == ""


def test_disciplines_and_theory_follow_their_files() -> None:
    documents = copy.deepcopy(DOCUMENTS)
    rows = documents["disciplines"]["results"]["rows"]
    fifo = [each for each in rows if each["queue"]["kind"] == "fifo"]
    fifo[0]["differ"] = sum(each["packets"] for each in fifo) // 2
    next(each for each in rows if each["queue"]["kind"] == "pie")["open"] = ["forebay: marks"]
    documents["closed-forms"]["results"][0]["verdict"] = "differs"
    section = opening.section(documents)
    said = {line[0]: line for line in table_of(section, "The kernel's own queue disciplines")}
    assert said["fifo"][3] == "50 %"
    assert said["pie"][-1] == "forebay: marks"
    [exact, *_] = table_of(section, "Closed forms")
    good = sum(each["rule"] == exact[0] for each in documents["closed-forms"]["results"]) - 1
    assert exact[1] == f"{good} of {good + 1}"


def test_a_reason_of_ns_2_and_ns_3_is_named() -> None:
    every = [row for row in beside.rows_of(DOCUMENTS) if not row.is_preset and row.missed]
    assert any("Reno-friendly" in row.why for row in every)
    # That forebay is between the two is no reason.
    assert any(row.why == beside.NOT_EXPLAINED for row in every)
    assert not any("between the peers" in row.why for row in every)


def test_each_row_that_misses_is_counted_once() -> None:
    overlap: dict[str, Any] = {
        "linux": {"queue": [15.0, 25.0], "loss": [0.01, 0.01], "utilization": [1.0, 1.0]}
    }
    rows = [
        measured(20.0),
        measured(30.0, difference="pacing"),
        measured(22.0, difference="pacing", **overlap),
        measured(22.0, **overlap),
        measured(30.0),
    ]
    section = opening.section({"linux": linux(*rows)})
    [line] = table_of(section, "How far forebay is from each referee")
    assert line[1] == "1 of 5" and line[-3:] == ["2 (1)", 1, 1]
    [said] = [each for each in section["text"] if "outside the goal" in each]
    assert said.startswith("4 scenarios are outside the goal. In 2 a difference is named")
    assert "In 1 of these, and in 1 others," in said and said.endswith(" 1 are not explained.")


def test_the_testbeds_stand_beside_the_headline() -> None:
    [said] = [each for each in opening.section(DOCUMENTS)["text"] if "testbed" in each]
    missed = [each["missed"] for each in DOCUMENTS["testbed"]["results"]]
    rates, trips = (
        sum(any(name.endswith(unit) for name in each) for each in missed)
        for unit in ("Mbit/s", "ms")
    )
    assert f"of its {len(missed)} cells, {rates} miss in throughput and {trips} in" in said
    assert f"Of {len(missed)} cells, {len(missed) - rates} fit" in DOCUMENTS["testbed"]["text"][0]
    assert DOCUMENTS["unseen"]["text"][0].partition(" goodputs")[0] in said


def test_without_referees_there_is_a_page_too(tmp_path: Path) -> None:
    section = {"section": "Peers", "order": 2, "version": "1", "command": "run", "text": ["One."]}
    (tmp_path / "x.json").write_text(json.dumps(section | {"tables": []}))
    validation.write(tmp_path, tmp_path / "page.md")
    assert "## Peers\n\nforebay 1; `run`.\n\nOne.\n" in (tmp_path / "page.md").read_text()


def test_a_decision_stands_beside_the_distances_of_linux_2_6() -> None:
    distances = {"queue": 0.1, "utilization": 0.0, "loss": 0.2}
    found = {"decision": "pacing", "time_s": 2.5, "flow": 0}
    assert beside.told(distances | found) == "pacing (time 2.5 s; flow: 0)"
