"""Results as files: tables, a summary and a report in a folder, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forebay import _disk
from forebay._advice import advise
from forebay._comparison import Comparison, Variant
from forebay._measures import MEASURES
from forebay._runs import Result
from forebay._runs.folder import Content, write_folder
from forebay._runs.result import ON_REQUEST
from forebay.stats import Interval


def write(found: Result | Comparison, folder: str | Path, *, report: bool = True) -> Path:
    """Write tables, summary and, of a comparison, the report to `folder`.

    A folder that an earlier run or comparison wrote is replaced.

    Args:
        found: what to write.
        folder: where.
        report: whether the report of a comparison is written, too.

    Raises:
        FileExistsError: the folder holds something else.
        OSError: it cannot be written.

    Example:
        >>> folder = forebay.write(forebay.run(scenario), "out/lab")
        >>> sorted(path.name for path in folder.iterdir())
        ['delays.parquet', 'flows.parquet', 'series.parquet', 'summary.json']
    """
    if isinstance(found, Result):
        return write_folder(Path(folder), _of_run(found))
    files: dict[str, Content] = {
        "runs.parquet": found.runs_table,
        "links.parquet": found.links,
        "flows.parquet": found.flows,
        "series.parquet": found.series,
        "delays.parquet": found.delays,
        **{f"{name}.parquet": table for name, table in found.requested.items()},
        "summary.json": summary(found),
    }
    if report:
        from forebay._compared.report import render

        files["report.html"] = render(found)
    return write_folder(Path(folder), files)


def write_report(comparison: Comparison, path: str | Path) -> Path:
    """Write the report of a comparison, one HTML file that needs no network.

    Args:
        comparison: what it reports.
        path: the file; one that is there is replaced.

    Example:
        >>> found = forebay.compare(scenario, disciplines=["fifo", "codel"], replications=2)
        >>> forebay.write_report(found, "lab.html").stat().st_size > 300_000
        True
    """
    from forebay._compared.report import render

    path = Path(path)
    _disk.write(path, render(comparison))
    return path


def summary(comparison: Comparison) -> dict[str, Any]:
    """What a comparison found, as plain values; keys documented in `docs/summary.md`."""
    advice = advise(comparison)
    return {
        "forebay": comparison.runs[0].result.summary["version"],
        "title": comparison.title,
        "scenario": comparison.scenario.name,
        "link": comparison.link,
        "replications": len(comparison.seeds),
        "seeds": list(comparison.seeds),
        "confidence": comparison.level,
        "baseline": comparison.baseline,
        "plugins": comparison.plugins,
        "disciplines": [_of_variant(comparison, variant) for variant in comparison.variants],
        "advice": advice.plain(),
    }


def _of_run(result: Result) -> dict[str, Content]:
    import polars as pl

    return {
        "flows.parquet": result.flows,
        "series.parquet": pl.concat([result.queue, result.classes], how="diagonal"),
        "delays.parquet": pl.concat([result.delay, result.queue_delay], how="diagonal"),
        **{f"{name}.parquet": result.tables[name] for name in ON_REQUEST if name in result.tables},
        "summary.json": {"forebay": result.summary["version"]} | result.summary,
        **result.files,
    }


def _of_variant(comparison: Comparison, variant: Variant) -> dict[str, Any]:
    label = variant.label
    queue_keys = comparison.runs[0].result.summary["queues"][comparison.link]
    return {
        "label": label,
        "queue": variant.queue,
        "fingerprints": [run.result.fingerprint for run in comparison.runs_of(label)],
        "utilization": _plain(comparison.utilization(label)),
        "efficiency": _plain(comparison.efficiency(label)),
        "queue_measures": {
            key: _plain(comparison.queue_interval(label, key))
            for key, value in queue_keys.items()
            if isinstance(value, int | float)
        },
        "classes": {
            class_: {
                measure.key: _plain(comparison.interval(label, class_, measure.key))
                for measure in MEASURES
            }
            for class_ in comparison.classes
        },
    }


def _plain(value: Interval | None) -> dict[str, float | int | None] | None:
    if value is None:
        return None
    return {"mean": value.mean, "low": value.low, "high": value.high, "samples": value.samples}
