from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from forebay import _engine
from forebay._cli import ORDER, app, tune
from forebay.tune.search import Tuning

run = CliRunner().invoke


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_compare_prints_a_table_and_writes_a_folder(scenario_file: Path) -> None:
    result = run(app, ["compare", str(scenario_file), "-r", "2"])
    assert result.exit_code == 0, result.output
    assert "MOS" in result.stdout and "short codel" in result.stdout and "±" in result.stdout
    assert "Report: out/branch/report.html" in result.stdout
    assert Path("out/branch/report.html").exists()


def test_compare_without_a_report(scenario_file: Path) -> None:
    result = run(app, ["compare", str(scenario_file), "-r", "1", "--no-report", "-o", "x"])
    assert result.exit_code == 0, result.output
    assert not Path("x/report.html").exists() and Path("x/summary.json").exists()


def test_disciplines_and_settings_are_taken(scenario_file: Path) -> None:
    arguments = [
        "--disciplines",
        "pie, fifo, fifo:limit=500p, codel:target=15ms",
        "--set",
        "traffic.voice.flows=2",
        "--seed",
        "9",
    ]
    result = run(app, ["compare", str(scenario_file), "-r", "1", "-o", "x", *arguments])
    assert result.exit_code == 0, result.output
    summary = json.loads(Path("x/summary.json").read_text(encoding="utf-8"))
    # The link's own queue leads, and the same queue is not run again.
    labels = ["today", "pie", "fifo 1000p", "codel target=15ms"]
    assert [each["label"] for each in summary["disciplines"]] == labels
    assert summary["disciplines"][0]["queue"] == {"kind": "fifo", "limit": "500p"}
    assert summary["disciplines"][3]["queue"] == {"kind": "codel", "target": "15ms"}
    assert summary["advice"]["today"] == 'fifo, limit = "500p"'
    assert summary["seeds"] == [9]


def test_run_prints_json_and_nothing_else(scenario_file: Path) -> None:
    result = run(app, ["run", str(scenario_file), "--json", "--discipline", "codel"])
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["queues"]["uplink"]["kind"] == "codel"
    assert summary["classes"]["voice"]["mos"] > 4


def test_run_prints_tables_and_writes_them(scenario_file: Path) -> None:
    result = run(app, ["run", str(scenario_file), "-o", "x"])
    assert result.exit_code == 0, result.output
    assert "voice" in result.stdout and "fingerprint" in result.stdout
    assert sorted(path.name for path in Path("x").iterdir()) == [
        "delays.parquet",
        "flows.parquet",
        "series.parquet",
        "summary.json",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "absent.toml"], "error: absent.toml: there is no such file"),
        (["run", "branch.toml", "--set", "nonsense=1"], "error: branch.toml: nonsense: unknown"),
        (["run", "branch.toml", "--set", "nonsense"], "expected PATH=VALUE"),
        (["run", "branch.toml", "--discipline", "nope"], 'unknown kind "nope"'),
        (["run", "branch.toml", "--link", "uplink"], "give both or neither"),
        (["compare", "branch.toml", "--link", "nope"], 'branch.toml: no link is called "nope"'),
        (["compare", "branch.toml", "--disciplines", "fifo 300p"], "fifo:limit=300p"),
        (["compare", "branch.toml", "--disciplines", "fifo:300p"], "written :NAME=VALUE"),
        (["compare", "branch.toml", "--disciplines", "fifo=300p"], "as in fifo:limit=300p"),
        (["compare", "branch.toml", "--disciplines", "pie:target=5ms,ecn=true"], "written :NAME"),
        (["compare", "branch.toml", "--disciplines", "codel:tarket=5ms"], 'mean "target"'),
        (["check", "branch.toml", "--set", "link[0].rate=20Mbps"], 'mean "20Mbit"'),
        (["check", "branch.toml", "--set", 'traffic[0].kind="voip"'], 'mean "voice"'),
        (["compare", "branch.toml", "--disciplines", ","], "there is none to compare"),
        (["compare", "branch.toml", "--out", "branch.toml"], "is a file"),
        (["compare", "branch.toml", "--out", "branch.toml/x"], "branch.toml"),
        (["check", "branch.toml", "--set", "link[7].rate=1"], "the list has 1 entries"),
        (["kinds", "nope"], 'there is no kind "nope"'),
        (["kinds", "ccodel"], "did you mean codel?"),
    ],
)
def test_bad_input_gives_one_message(
    scenario_file: Path, arguments: list[str], message: str
) -> None:
    result = run(app, [word.replace("branch.toml", str(scenario_file)) for word in arguments])
    assert result.exit_code == 2
    assert message.split(": ")[-1] in result.stderr
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert not Path("out").exists() or not any(Path("out").iterdir())


def test_check_gives_a_verdict_and_prints_defaults_on_request(scenario_file: Path) -> None:
    plain = run(app, ["check", str(scenario_file)])
    assert plain.exit_code == 0 and "sample" not in plain.stdout
    words = " ".join(plain.stdout.split())
    assert words.endswith(
        "branch.toml is valid: 1 link, 5 traffic entries, 41 flows, 4 disciplines to compare."
    )
    arguments = ["check", str(scenario_file), "--effective", "--set", "link[0].queue.kind=pie"]
    result = run(app, arguments)
    assert result.exit_code == 0 and "is valid" in result.stderr
    assert 'sample = "100ms"' in result.stdout and 'kind = "pie"' in result.stdout
    as_json = run(app, ["check", str(scenario_file), "--json"])
    assert json.loads(as_json.stdout)["sample"] == "100ms"


def test_the_version_names_the_commit_of_the_engine() -> None:
    said = CliRunner().invoke(app, ["--version"])
    commit = f" ({_engine.commit})" if _engine.commit else ""
    assert said.output == f"forebay {_engine.version}{commit}\n"
    assert re.fullmatch(r"([0-9a-f]{12}\+?)?", _engine.commit)


def test_kinds_lists_and_explains() -> None:
    everything = run(app, ["kinds"])
    assert "fq-codel" in everything.stdout and "Traffic sources" in everything.stdout
    one = run(app, ["kinds", "pcap"])
    assert "file" in one.stdout and "default" in one.stdout
    assert json.loads(run(app, ["kinds", "fifo", "--json"]).stdout)[0]["group"] == "kinds"


def test_kinds_prints_each_thing_once() -> None:
    for name in ("codel", "ncq", "drr", "red", "cq-aqm"):
        shown = run(app, ["kinds", name]).stdout
        paragraphs = shown.split("\n\n")
        assert len(set(paragraphs)) == len(paragraphs), name


def test_schema_is_json() -> None:
    assert json.loads(run(app, ["schema"]).stdout)["type"] == "object"


def helps() -> list[list[str]]:
    found: list[list[str]] = [[]]
    for name in ORDER:
        command = app.get_command(click.Context(app), name)
        found += [
            [name, *inner] for inner in [[], *([x] for x in getattr(command, "commands", {}))]
        ]
    found.remove(["gate"])
    return found


@pytest.mark.parametrize("command", helps(), ids=" ".join)
def test_the_help_of_a_command_fits_a_screen(command: list[str]) -> None:
    shown = run(app, [*command, "--help"], prog_name="forebay", terminal_width=80).stdout
    lines = shown.splitlines()
    examples = shown.partition("\nExamples:\n")[2].splitlines()
    assert len(lines) <= (30 if command else 38), len(lines)
    assert all(len(line) <= 80 for line in lines if line not in examples)
    assert not re.search(r"<\w+>|[{}]|\[x[<>]| None |default: True", shown)
    if "--help-all" in shown:
        everything = run(app, [*command, "--help-all"]).stdout
        assert len(everything) > len(shown)


def test_commands_stand_in_the_order_of_their_use() -> None:
    shown = run(app, ["--help"]).stdout
    names = [line.split()[0] for line in shown.splitlines() if re.match("  [a-z]", line)]
    order = [name for name in names if name in ("compare", "run", "check", "kinds", "sweep", "lab")]
    assert order == ["compare", "run", "check", "kinds", "sweep", "lab"]


LARGE = "polars numpy scipy pydantic jinja2 markdown_it vl_convert optuna starlette networkx"


@pytest.mark.parametrize(
    ("words", "unneeded"),
    [
        (["--help"], f"{LARGE} rich"),
        (["run", "--help"], f"{LARGE} rich"),
        (["paper", "fit", "--help"], f"{LARGE} rich"),
        (["check", "FILE"], LARGE),
        (["run", "FILE", "--set", "duration=6s"], LARGE),
    ],
)
def test_a_command_imports_only_what_it_needs(
    words: list[str], unneeded: str, scenario_file: Path
) -> None:
    words = [str(scenario_file) if word == "FILE" else word for word in words]
    code = (
        "import atexit, sys; from forebay.__main__ import main; "
        f"sys.argv = ['forebay', *{words}]; "
        f"there = lambda: sorted(set({unneeded.split()}) & set(sys.modules)); "
        "atexit.register(lambda: print(there(), file=sys.stderr)); main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_amounts_of_tune_are_those_of_a_search() -> None:
    defaults = {each.name: each.default for each in tune.command.params}
    for name in ("trials", "replications", "candidates", "verify"):
        assert defaults[name] == getattr(Tuning, name)
