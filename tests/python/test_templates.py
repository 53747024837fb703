"""`forebay new scenario`: templates that run, and the pictures of them."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from picture import picture

from forebay import load, run
from forebay._cli import app
from forebay._reference.files import TEMPLATES, Template

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("template", list(Template))
def test_a_template_runs_as_it_is_written(template: Template) -> None:
    done = CliRunner().invoke(app, ["new", "scenario", "--template", template.value])
    assert done.exit_code == 0, done.output
    written = load(f"{template.value}.toml")
    assert written.text == load(template.file).text
    short = written.with_("duration", "12s").with_("warmup", "6s").without("sample")
    if template is Template.sensors:
        short = short.with_("traffic.reports.track", [["0s", 0, 0], ["12s", 800, 800]])
    summary = run(short).summary
    assert all(each["goodput_bps"] > 0 for each in summary["classes"].values())
    assert summary["links"][written.compared_link()]["utilization"] > 0.2


@pytest.mark.parametrize("template", list(Template))
def test_comments_explain_a_template(template: Template) -> None:
    text = template.file.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert text.count("\n# ") >= 2


def test_nothing_is_overwritten() -> None:
    Path("office.pcap.gz").write_text("mine", encoding="utf-8")
    done = CliRunner().invoke(app, ["new", "scenario", "-t", "branch"])
    assert (done.exit_code, Path("branch.toml").exists()) == (2, False)
    assert "office.pcap.gz: exists already" in done.stderr
    again = ["new", "scenario", "-t", "household", "-o", "x.toml"]
    assert CliRunner().invoke(app, again).exit_code == 0
    assert CliRunner().invoke(app, again).exit_code == 0
    Path("x.toml").write_text("mine", encoding="utf-8")
    assert CliRunner().invoke(app, again).exit_code == 2


@pytest.mark.parametrize("template", list(Template))
def test_pictures_are_current_and_hold_every_name(template: Template) -> None:
    kept = ROOT / "docs/images" / f"topology-{template.value}.svg"
    drawn = picture(load(template.file))
    assert kept.read_text(encoding="utf-8") == drawn, "run make docs"
    words = " ".join(text for text in ElementTree.fromstring(drawn).itertext())
    resolved = load(template.file).resolved()
    for each in (*resolved["traffic"], *(x for x in resolved["links"] if not x["reverse"])):
        assert each["name"] in words


def test_templates_are_the_examples() -> None:
    assert TEMPLATES.resolve() == (ROOT / "examples").resolve()
