"""The report of a comparison: one HTML file that needs no network."""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from forebay._report.links import links_map
from forebay._report.wireless import network
from forebay._terminal import blocks, link_rows
from forebay.advice import advise
from forebay.comparison import Comparison, Variant
from forebay.scenario import to_toml

_POINTS = 600
"""Most points of a curve over time, about one for each two pixels."""

_CDF_POINTS = 300

_ENTRIES = 50
"""Most links, entries of traffic and so on that are listed."""


def render(comparison: Comparison) -> str:
    """The report as HTML, with everything it needs inside."""
    first = comparison.runs[0].result.summary
    links = links_map(comparison)
    return template("_report").render(
        comparison=comparison,
        advice=advise(comparison),
        blocks=blocks(comparison),
        summary=first,
        link_rows=link_rows(comparison),
        configuration=_configuration(comparison.variants[0].effective),
        queues=[
            (variant.label, to_toml({"queue": _queue_of(comparison, variant)}))
            for variant in comparison.variants
        ],
        # Runs on real packets do not tell.
        cpu_seconds=sum(
            run.result.summary.get("cost", {}).get("cpu_seconds", 0) for run in comparison.runs
        ),
        packets=sum(run.result.summary["packets"] for run in comparison.runs),
        style=Markup(resource("report.css")),
        network=links,
        script=Markup(resource("links.js") + resource("report.js")),
        plotly=Markup(plotly_source()),
        figures=Markup(embedded(_figures(comparison) | {"network": links})),
    )


def template(folder: str) -> Template:
    """The page of a kind of reports: `template.html` of a folder of this package."""
    environment = Environment(
        loader=PackageLoader("forebay", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(f"{folder}/template.html")


def drawn(image: Path) -> Markup:
    """An SVG file as an element of a page."""
    text = image.read_text("utf-8")
    return Markup(text[text.index("<svg") :])


def resource(name: str) -> str:
    """A file of this package as text."""
    return resources.files("forebay._report").joinpath(name).read_text(encoding="utf-8")


@cache
def plotly_source() -> str:
    """The plotting library, compressed to under half its size; the browser unpacks it."""
    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()


def embedded(value: Any) -> str:
    """JSON that cannot end the script element around it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _figures(comparison: Comparison) -> dict[str, Any]:
    """The numbers that the figures draw."""
    replication = comparison.runs[0].replication
    warmup = comparison.runs[0].result.summary["warmup_s"]
    return {
        "labels": comparison.labels,
        "classes": comparison.classes,
        "warmup": warmup,
        "queue": {
            run.discipline: _curve(
                run.result.queue.filter(pl.col("link") == comparison.link), "mean_packets", 1.0, 0.0
            )
            for run in comparison.runs
            if run.replication == replication
        },
        "throughput": {
            class_: {
                run.discipline: _curve(
                    run.result.classes.filter(pl.col("class") == class_),
                    "throughput_bps",
                    1e-3,
                    1.0,
                )
                for run in comparison.runs
                if run.replication == replication
            }
            for class_ in comparison.classes
        },
        "delay": {
            class_: {label: _distribution(comparison, label, class_) for label in comparison.labels}
            for class_ in comparison.classes
        },
        "map": network(comparison),
    }


def _curve(
    table: pl.DataFrame, column: str, scale: float, step_s: float
) -> dict[str, list[float | None]]:
    """A column over time, as means over steps of at least `step_s` seconds."""
    last = table["time_s"].max()
    if not isinstance(last, float):
        return {"x": [], "y": []}
    step = max(step_s, last / _POINTS)
    # A row's time is the end of its interval, so one at exactly 1 s belongs to the first second.
    means = (
        table.group_by(((pl.col("time_s") - 1e-9) / step).floor().alias("step"))
        .agg(pl.col(column).mean() * scale)
        .sort("step")
    )
    return {
        "x": _rounded(((means["step"] + 1) * step).to_list()),
        "y": _rounded(means[column].to_list()),
    }


def _distribution(comparison: Comparison, label: str, class_: str) -> dict[str, list[float | None]]:
    """The share of packets with at most a delay, over all replications together."""
    table = (
        comparison.delays.filter(pl.col("discipline") == label, pl.col("class") == class_)
        .group_by("delay_ms")
        .agg(pl.col("count").sum())
        .filter(pl.col("count") > 0)
        .sort("delay_ms")
    )
    total = table["count"].sum()
    if not total:
        return {"x": [], "y": []}
    share = table.select("delay_ms", share=pl.col("count").cum_sum() / total)
    if share.height > _CDF_POINTS:
        # Even steps of probability, and every step of the upper tail.
        step = (pl.col("share") * _CDF_POINTS * 0.7).floor()
        keep = (step != step.shift(1)).fill_null(True) | (pl.col("share") > 0.999)
        share = share.filter(keep).head(2 * _CDF_POINTS)
    return {
        "x": _rounded(share["delay_ms"].to_list()),
        "y": _rounded(share["share"].to_list(), 6),
    }


def _rounded(values: list[float | None], digits: int = 5) -> list[float | None]:
    return [None if value is None else float(f"{value:.{digits}g}") for value in values]


def _configuration(effective: dict[str, Any]) -> str:
    """The scenario without the seed, which runs differ in; of long lists the beginning."""
    shown = {key: value for key, value in effective.items() if key != "seed"}
    left = []
    for key, value in effective.items():
        if isinstance(value, list | dict) and len(value) > _ENTRIES:
            kind = type(value)
            entries = value.items() if isinstance(value, dict) else value
            shown[key] = kind(islice(entries, _ENTRIES))
            left.append(
                f"# {key}: the first {_ENTRIES} of {len(value)}; forebay check prints all\n"
            )
    return "".join(left) + to_toml(shown)


def _queue_of(comparison: Comparison, variant: Variant) -> Any:
    """The effective queue of the compared link."""
    links = variant.scenario.resolved()["links"]
    return next(link["queue"] for link in links if link["name"] == comparison.link)
