from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import forebay
from charts import charts, of

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Reader(HTMLParser):
    """Checks nesting and collects what would be fetched, texts of scripts and identifiers."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.labels: list[str] = []
        self.text = ""
        self._script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.fetched += [
            f"{tag} {key}"
            for key in ("src", "href", "srcset")
            if key in values and not str(values[key]).startswith("#")
        ]
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if "data-label" in values:
            self.labels.append(str(values["data-label"]))
        self._script = tag == "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._script = False

    def handle_data(self, data: str) -> None:
        if not self._script:
            self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_report_is_whole_and_needs_no_network(scenario_file: Path, tmp_path: Path) -> None:
    comparison = forebay.compare(forebay.load(scenario_file), command="forebay compare branch.toml")
    path = forebay.write_report(comparison, tmp_path / "report.html")
    page = path.read_text(encoding="utf-8")
    reader = read(page)
    assert reader.fetched == []
    assert "@import" not in page and "url(" not in page
    assert len(reader.ids) == len(set(reader.ids))
    for words in ("A branch office's uplink", "short codel", "Start with", "open loop"):
        assert words in reader.text
    assert "forebay compare branch.toml" in reader.text
    # Only runs on real packets have no cost.
    assert "s of CPU time" in reader.text and "packets of Linux" not in reader.text
    assert comparison.runs[-1].result.fingerprint in reader.text
    queue, *others = charts(page)
    assert [row["s"] for row in queue["data"]["curve"] if row["x"] == 30] == list(comparison.labels)
    delay, rate = (each for each in others if each["title"] == "voice")
    assert len(of(rate, "curve", "ncq")) == 30
    curve = of(delay, "steps", "ncq")
    share, delays = ([row[axis] for row in curve] for axis in "yx")
    assert share == sorted(share) and share[-1] == 1.0
    assert delays == sorted(delays)
    assert len(page) < 1_000_000


def test_names_from_the_scenario_cannot_break_the_page(scenario_file: Path) -> None:
    from forebay._compared.report import render

    evil = '</script><img src="http://example.com/x">&'
    scenario = forebay.load(scenario_file).with_("title", evil).with_("traffic[0].name", evil)
    page = render(forebay.compare(scenario, disciplines=["fifo", {"label": evil, "kind": "pie"}]))
    reader = read(page)
    assert reader.fetched == []
    assert reader.text.count(evil) > 4
    assert evil in {row["s"] for row in charts(page)[0]["data"]["curve"]}
    assert evil in reader.labels


def test_what_has_no_data_is_not_drawn(scenario_file: Path) -> None:
    from forebay._compared.report import render

    scenario = forebay.load(scenario_file).with_("duration", "2ms").with_("warmup", "1ms")
    drawn = charts(render(forebay.compare(scenario, disciplines=["fifo"], replications=1)))
    assert all(any(each["data"].values()) for each in drawn)


def test_every_discipline_keeps_its_colour(scenario_file: Path) -> None:
    from forebay._compared.report import render

    page = render(forebay.compare(forebay.load(scenario_file), replications=1))
    swatches = re.findall(r'swatch (d\d)"></i>([\w ]+)', page)
    assert len(set(swatches)) == 4
