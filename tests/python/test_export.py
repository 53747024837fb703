"""`forebay export`: the tables of results for other programs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from forebay import ScenarioError, compare, load, sweep, write
from forebay._cli import app
from forebay._export import export
from small_study import study


def test_a_comparison_is_exported(scenario_file: Path, tmp_path: Path) -> None:
    found = compare(
        load(scenario_file).with_("duration", "8s"), disciplines=["fifo", "codel"], replications=1
    )
    write(found, tmp_path / "out", report=False)
    done = CliRunner().invoke(app, ["export", str(tmp_path / "out"), "--csv"])
    assert done.exit_code == 0, done.output
    tables = tmp_path / "out-tables"
    names = ["delays.csv", "flows.csv", "runs.csv", "series.csv"]
    assert sorted(path.name for path in tables.iterdir()) == names
    flows = pl.read_csv(tables / "flows.csv")
    assert flows.shape == found.flows.shape
    assert flows["goodput_bps"].sum() == pytest.approx(found.flows["goodput_bps"].sum())


def test_a_study_is_exported_with_the_tables_it_keeps(tmp_path: Path) -> None:
    sweep.run(study(tmp_path), tmp_path / "out", tables=("flows",))
    paths = export(tmp_path / "out", tmp_path / "tables", "parquet")
    assert [path.name for path in paths] == ["runs.parquet", "flows.parquet"]
    data = sweep.results(tmp_path / "out")
    assert pl.read_parquet(paths[0]).equals(data.runs)
    flows = pl.read_parquet(paths[1])
    assert flows.select("point", "replication").unique().height == data.runs.height


def test_what_holds_no_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="holds no tables"):
        export(tmp_path, tmp_path / "tables", "csv")
    assert not (tmp_path / "tables").exists()
    done = CliRunner().invoke(app, ["export", str(tmp_path)])
    assert (done.exit_code, "either --csv or --parquet" in done.stderr) == (2, True)
