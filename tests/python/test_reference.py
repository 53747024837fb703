"""Reference pages, `forebay explain`, and what the shell completes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from commands import cli_page
from controls import controls_page, stacks_page
from glossary import glossary_page
from header import FILE, c_page
from kinds import kinds_page
from pages import PAGED, page

from forebay import Scenario, ScenarioError, _written, sweep
from forebay._cli import app
from forebay._measures import MEASURES, QUEUE_DELAY
from forebay._reference.fields import Schema
from forebay._reference.files import File, open_schema
from forebay._reference.words import glossary

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("file", PAGED)
def test_pages_are_current(file: File) -> None:
    kept = (ROOT / f"docs/reference/{file.value}.md").read_text(encoding="utf-8")
    assert kept == page(file), "run make docs"


def test_the_page_of_kinds_is_current() -> None:
    kept = (ROOT / "docs/reference/kinds.md").read_text(encoding="utf-8")
    assert kept == kinds_page(), "run make docs"


def test_the_glossary_is_current() -> None:
    kept = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
    assert kept == glossary_page(), "run make docs"


def test_the_page_of_congestion_controls_is_current_and_names_deviations() -> None:
    kept = (ROOT / "docs/reference/congestion.md").read_text(encoding="utf-8")
    assert kept == controls_page(ROOT), "run make docs"
    assert kept.count("### Deviations") > 5 and "[`" not in kept


def test_the_page_of_stacks_is_current() -> None:
    kept = (ROOT / "docs/reference/stacks.md").read_text(encoding="utf-8")
    assert kept == stacks_page(ROOT), "run make docs"
    assert "| `linux-6.1` | `sack` | any |" in kept


def test_the_page_of_the_command_line_is_current() -> None:
    kept = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert kept == cli_page(), "run make docs"


def test_the_page_of_the_c_interface_is_current_and_has_every_name() -> None:
    kept = (ROOT / "docs/reference/c.md").read_text(encoding="utf-8")
    assert kept == c_page(ROOT), "run make docs"
    header = (ROOT / FILE).read_text(encoding="utf-8")
    names = set(re.findall(r"#define (FOREBAY_\w+) ", header))
    names |= set(re.findall(r"^} (Forebay\w+);", header, flags=re.M))
    names |= set(re.findall(r"\b(forebay_\w+)\(", header)) - {"forebay_member"}
    names |= set(re.findall(r"^  \w[\w *]*?\(?\*?(\w+)(?:;|\)\()", header, flags=re.M))
    assert len(names) > 40
    assert {name for name in names if name not in kept} == set()


def every_field(schema: Schema) -> list[tuple[str, str]]:
    found = []
    for path in schema.paths(3):
        found += [(path, field.description) for _, field in schema.find(path)]
    return found


@pytest.mark.parametrize("file", list(File))
def test_every_field_says_what_it_means(file: File) -> None:
    silent = {path for path, about in every_field(open_schema(file)) if not about}
    # A choice of parts or kinds, each of which explains itself.
    parts = r"(classify|admit|schedule|kind)$"
    assert {path for path in silent if not re.search(parts, path)} == set()


def test_every_table_is_on_the_page() -> None:
    schema = open_schema(File.scenario)
    text = page(File.scenario)
    for path in schema.paths(1):
        for _, field in schema.find(path):
            assert f"`{field.name}`" in text or f"[{field.name}" in text


BASE = {
    "duration": "10s",
    "traffic": [{"kind": "bulk"}],
    "dumbbell": {"rate": "1Mbit"},
    "profile": {"gold": {"kind": "tsw", "rate": "1Mbit"}},
}
NET = [
    {"name": "uplink", "from": "home", "to": "internet", "rate": "1Mbit"},
    {"name": "backup", "from": "home", "to": "internet", "rate": "1Mbit"},
]


def toml(text: str, tmp_path: Path) -> dict[str, object]:
    file = tmp_path / "example.toml"
    file.write_text(text, encoding="utf-8")
    document: dict[str, object] = _written.load(file)
    return document


def test_the_examples_of_tables_are_right(tmp_path: Path) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```$", page(File.scenario), flags=re.S | re.M)
    assert len(blocks) > 12
    for block in blocks:
        document = toml(block, tmp_path)
        whole: dict[str, object] = BASE | document
        if {"link", "route", "parking_lot"} & set(document) or "from" in block:
            del whole["dumbbell"]
        if "parking_lot" not in document and "dumbbell" not in whole:
            whole["link"] = document.get("link", NET)
            first = whole["link"][0]  # type: ignore[index]
            ends = {"from": first["from"], "to": first["to"]}
            whole["traffic"] = document.get("traffic", [{"kind": "bulk", **ends}])
        if "compare" in document or "tune" in document:
            whole = {**whole, "link": NET, "traffic": [{"kind": "bulk", **_ends()}]}
            whole.pop("dumbbell", None)
        if isinstance(radio := document.get("wireless"), dict):
            nodes = [{"name": name, "at": [0, 0]} for name in ("one", "two")]
            whole["wireless"] = radio | {"node": [*radio.get("node", []), *nodes]}
        if "tune" in document:
            whole["link"] = [NET[0] | {"queue": {"kind": "codel"}}]
        Scenario.of(whole, block.splitlines()[0]).effective()


def _ends() -> dict[str, str]:
    return {"from": "home", "to": "internet"}


def test_the_examples_of_studies_are_right(tmp_path: Path) -> None:
    scenario = {
        "duration": "10s",
        "link": NET[:1],
        "traffic": [{"kind": "bulk", **_ends()}],
    }
    for block in re.findall(r"^```toml\n(.*?)^```$", page(File.study), flags=re.S | re.M):
        document = toml(block, tmp_path)
        least = {} if "until" in document else {"replications": 2}
        assert sweep.read(least | document | {"scenario": scenario}).points


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["link.rate"], ["10Mbit", "how it changes"]),
        (["link[0].queue.codel.target"], ["5ms", "standing delay"]),
        (["link.queue.target"], ["(codel, fq-codel)", "(fq-pie, pie)"]),
        (["traffic.web.from"], ["server"]),
        (["traffic.dscp"], ["does not set a class"]),
        (["profile.gold.rate"], ["in profile"]),
        (["link.rate"], ["bits per second", "above 0", "10Mbit"]),
        (["codel"], ["RFC 8289", "target", "default"]),
        (["fq-codel.target"], ["fq-codel.target", '"5ms"', "above 0"]),
        (["p99"], ["99 of 100 packets"]),
        (["bufferbloat"], ["buffer", "queueing delay"]),
        (["mos"], ["E-model"]),
        (["packet loss"], ["did not arrive"]),
        (["seed"], ["Seed of every random stream", "One run"]),
        (["--for", "study", "axis.range.scale"], ["log"]),
        (["--for", "test", "trade.class"], ["class"]),
        (["--for", "gate", "rule.q"], ["QoS class", "default 0"]),
        (["--for", "gate", "link.reverse.queue.codel.target"], ["standing delay"]),
        (["--for", "gate", "io.inside.netns"], ["namespace"]),
        (["--for", "gate", "link.box.aspq.trickle"], ["frozen sender"]),
        (["--for", "paper", "claim.number.at_least"], ["number", "Least value"]),
        (["--for", "paper", "figure.panel.curve.stated"], ["true or false", "stars"]),
    ],
)
def test_explain_prints_a_field(words: list[str], parts: list[str]) -> None:
    done = CliRunner().invoke(app, ["explain", *words])
    assert done.exit_code == 0, done.output
    assert all(part in " ".join(done.output.split()) for part in parts), done.output


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("link.quueue", "link: .*did you mean queue"),
        ("lnk.rate", "did you mean link"),
        ("link.queue.codel.targt", "did you mean target"),
        ("duration.x", "no field"),
    ],
)
def test_explain_suggests_the_nearest(path: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        open_schema(File.scenario).find(path)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("bufferblote", "bufferbloat"), ("codl", "codel"), ("fq-codel.targte", "fq-codel.target"),
     ("warmpu", "warmup"), ("link.quueue", "queue"), ("xyzzy", "forebay kinds")],
)  # fmt: skip
def test_an_unknown_word_gets_the_nearest(word: str, meant: str) -> None:
    done = CliRunner().invoke(app, ["explain", word])
    assert done.exit_code == 2 and meant in done.stderr


def test_every_word_of_a_comparison_can_be_asked() -> None:
    words = {name for each in glossary() for name in each.names}
    words |= {measure.short for measure in (*MEASURES, QUEUE_DELAY)}
    words |= {measure.key for measure in (*MEASURES, QUEUE_DELAY)}
    for word in words:
        assert CliRunner().invoke(app, ["explain", word]).exit_code == 0, word
    for each in glossary():
        assert (ROOT / "docs" / each.page).is_file(), each.page


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("kinds fq-", "fq-codel"),
        ("compare x.toml --disciplines fifo,co", "fifo,codel"),
        ("run FILE --link up", "uplink-reverse"),
        ("run FILE --set traffic.voice.fl", "traffic.voice.flows="),
        ("run --set link.queue.ta", "link.queue.target="),
        ("suite ", "rfc7928"),
        ("paper run cp", "cp-aqm"),
        ("explain traffic.re", "traffic.reading"),
        ("explain --for gate rule.drop", "rule.drop_precedence"),
    ],
)
def test_the_shell_completes(words: str, offered: str, scenario_file: Path) -> None:
    line = f"forebay {words}".replace("FILE", str(scenario_file))
    environment = os.environ | {
        "_FOREBAY_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    command = [sys.executable, "-m", "forebay"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert f"plain,{offered}" in done.stdout.splitlines(), done.stdout + done.stderr
