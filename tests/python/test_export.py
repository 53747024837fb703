"""`forebay export`: the tables of results for other programs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from forebay import Scenario, ScenarioError, compare, load, run, sweep, write
from forebay._cli import app
from forebay._export import export
from small_study import BASE, study


def test_a_comparison_is_exported(scenario_file: Path, tmp_path: Path) -> None:
    found = compare(
        load(scenario_file).with_("duration", "8s"), disciplines=["fifo", "codel"], replications=1
    )
    write(found, tmp_path / "out", report=False)
    done = CliRunner().invoke(app, ["export", str(tmp_path / "out"), "--csv"])
    assert done.exit_code == 0, done.output
    tables = tmp_path / "out-tables"
    names = ["delays.csv", "flows.csv", "links.csv", "runs.csv", "series.csv"]
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


def _with_tables(folder: Path) -> Scenario:
    (folder / "small.toml").write_text(BASE)
    return load(folder / "small.toml").with_("tables", ["flow_series", "transfers"])


def test_what_the_scenario_asks_for_is_kept_and_exported(tmp_path: Path) -> None:
    scenario = _with_tables(tmp_path)
    result = run(scenario)
    kept = {"flow_series": result.flow_series, "transfers": result.transfers}
    key = ["class", "traffic", "flow"]
    assert result.flow_series.columns == [*key, "time_s", "throughput_bps"]
    assert result.transfers.columns == [*key, "start_s", "bytes", "end_s", "duration_s"]
    assert [result.transfers.schema[name] for name in ("flow", "bytes")] == [pl.Int64, pl.Int64]
    names = dict(result.flows.select("id", "traffic").iter_rows())
    for table in kept.values():
        pairs = dict(table.select("flow", "traffic").unique().iter_rows())
        assert pairs.items() <= names.items()
    # Transfers without end have neither size nor end, and the flows of a class are its throughput.
    bulk = result.transfers.filter(pl.col("traffic") == "bulk")
    assert (bulk.height, bulk["bytes"].null_count(), bulk["end_s"].null_count()) == (2, 2, 2)
    sums = result.flow_series.group_by("class", "time_s").agg(pl.sum("throughput_bps"))
    both = sums.join(result.classes, on=["class", "time_s"])
    assert both.height == result.classes.height
    assert both["throughput_bps"].to_list() == pytest.approx(both["throughput_bps_right"].to_list())
    assert result.transfers.to_dict(as_series=False).keys() == set(result.transfers.columns)

    write(result, tmp_path / "run")
    for path in export(tmp_path / "run", tmp_path / "tables", "csv"):
        if path.stem in kept:
            assert pl.read_csv(path).shape == kept.pop(path.stem).shape
    assert not kept

    found = compare(scenario, disciplines=["fifo", "codel"], replications=2)
    write(found, tmp_path / "compared", report=False)
    write(found, tmp_path / "compared", report=False)  # in place of the earlier one
    series = pl.read_parquet(tmp_path / "compared" / "flow_series.parquet")
    assert series.columns[:3] == ["discipline", "replication", "seed"]
    assert series.height == 4 * result.flow_series.height


def test_a_study_keeps_what_its_scenario_asks_for(tmp_path: Path) -> None:
    asking = study(tmp_path, scenario=_with_tables(tmp_path).document)
    sweep.run(asking, tmp_path / "out")
    names = [path.name for path in export(tmp_path / "out", tmp_path / "tables", "csv")]
    assert names == ["runs.csv", "flow_series.csv", "transfers.csv"]
    # And from Python a study may ask for them itself.
    sweep.run(study(tmp_path), tmp_path / "other", tables=("transfers",))
    assert len(list((tmp_path / "other" / "tables").glob("*.transfers.parquet"))) == 12


def test_what_was_not_asked_for_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(BASE)
    result = run(load(tmp_path / "small.toml"))
    with pytest.raises(ScenarioError, match=r'tables = \["transfers"\]'):
        _ = result.transfers
    write(result, tmp_path / "run")
    assert not (tmp_path / "run" / "transfers.parquet").exists()
