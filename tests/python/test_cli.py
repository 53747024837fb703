from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from forebay.cli import app

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
    arguments = ["--disciplines", "pie, red", "--set", "traffic.voice.flows=2", "--seed", "9"]
    result = run(app, ["compare", str(scenario_file), "-r", "1", "-o", "x", *arguments])
    assert result.exit_code == 0, result.output
    summary = json.loads(Path("x/summary.json").read_text(encoding="utf-8"))
    assert [each["label"] for each in summary["disciplines"]] == ["pie", "red"]
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
        (["run", "absent.toml"], "error: absent.toml: No such file"),
        (["run", "branch.toml", "--set", "nonsense=1"], "error: branch.toml: nonsense: unknown"),
        (["run", "branch.toml", "--set", "nonsense"], "expected PATH=VALUE"),
        (["run", "branch.toml", "--discipline", "nope"], 'unknown kind "nope"'),
        (["run", "branch.toml", "--link", "uplink"], "give both or neither"),
        (["compare", "branch.toml", "--link", "nope"], 'no link is called "nope"'),
        (["compare", "branch.toml", "--disciplines", ","], "there is none to compare"),
        (["compare", "branch.toml", "--out", "branch.toml"], "is a file"),
        (["compare", "branch.toml", "--out", "branch.toml/x"], "branch.toml"),
        (["check", "branch.toml", "--set", "link[7].rate=1"], "the list has 1 entries"),
        (["kinds", "nope"], 'there is no kind "nope"'),
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


def test_check_prints_defaults(scenario_file: Path) -> None:
    result = run(app, ["check", str(scenario_file), "--set", "link[0].queue.kind=pie"])
    assert result.exit_code == 0
    assert 'sample = "100ms"' in result.stdout and 'kind = "pie"' in result.stdout
    as_json = run(app, ["check", str(scenario_file), "--json"])
    assert json.loads(as_json.stdout)["sample"] == "100ms"


def test_kinds_lists_and_explains() -> None:
    everything = run(app, ["kinds"])
    assert "fq-codel" in everything.stdout and "Traffic sources" in everything.stdout
    one = run(app, ["kinds", "pcap"])
    assert "file" in one.stdout and "default" in one.stdout
    assert json.loads(run(app, ["kinds", "fifo", "--json"]).stdout)[0]["group"] == "kinds"


def test_schema_is_json() -> None:
    assert json.loads(run(app, ["schema"]).stdout)["type"] == "object"


@pytest.mark.parametrize("command", ["compare", "run", "kinds", "schema", "check"])
def test_every_command_has_help(command: str) -> None:
    result = run(app, [command, "--help"])
    assert result.exit_code == 0
    assert command in run(app, ["--help"]).stdout
