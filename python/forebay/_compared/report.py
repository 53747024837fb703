"""The report of a comparison: one HTML file that needs no network."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Any

from forebay._advice import Advice, advise, judged_by
from forebay._compared import links, wireless
from forebay._compared.tables import by_class, measured, of_criteria, of_links
from forebay._comparison import Comparison, Variant
from forebay._measures import DISTORTED, MARKED
from forebay._report import html
from forebay._report.page import (
    Block,
    Bullets,
    Code,
    Facts,
    Figure,
    Fold,
    Heading,
    Legend,
    Md,
    Page,
    Section,
    Table,
    Text,
    plain,
)
from forebay._report.panel import Panel, Series
from forebay._scenario import resolved_link, to_toml

_POINTS = 600
"""Most points of a curve over time, about one for each two pixels."""

_CDF_POINTS = 300

_ENTRIES = 50
"""Most links, entries of traffic and so on that are listed."""


def render(comparison: Comparison) -> str:
    """The report as HTML, with everything it needs inside."""
    return html.render(page(comparison))


def page(comparison: Comparison) -> Page:
    """The report: the pick, tables, figures and what was run."""
    advice = advise(comparison)
    return Page(
        comparison.title,
        "Queue disciplines compared",
        _lede(comparison),
        [
            Section(advice.headline, list(_pick(advice)), card=True),
            Section("What decides", list(_deciding(comparison, advice))),
            Section("Before you trust these numbers", [Bullets(_remarks(advice))]),
            Section("Everything measured", list(_tables(comparison))),
            *links.section(comparison),
            Section("Figures", list(_figures(comparison))),
            Section("What was run", list(_what_was_run(comparison))),
        ],
        comparison.labels,
    )


def _lede(comparison: Comparison) -> str:
    summary, count = comparison.runs[0].result.summary, len(comparison.seeds)
    where = "every link that has a queue"
    if not comparison.everywhere:
        where = f"the link **{plain(comparison.link)}**"
    return Md(
        f"{len(comparison.labels)} disciplines on {where}, {len(comparison.classes)} classes of "
        f"traffic, {count} {'replication' if count == 1 else 'replications'} of "
        f"{summary['duration_s']:g} s each; measured after {summary['warmup_s']:g} s of warm-up."
    )


def _pick(advice: Advice) -> Iterator[Block]:
    def said(findings: Any) -> Bullets:
        return Bullets([Md(f"**{plain(f.subject)}**: {plain(f.sentence)}") for f in findings])

    if advice.today is not None:
        yield Text(Md(f"**Today**: `{advice.today}`"))
    yield Text(advice.why)
    for title, sentences in advice.beside_today:
        yield Heading(title)
        yield Bullets(sentences)
    if advice.findings:
        yield Fold("Measure by measure", [said(advice.findings)])
    if advice.distorted:
        yield Heading(f"Distorted ({DISTORTED}), and kept out of the score")
        yield said(advice.distorted)
    if advice.others:
        yield Fold("Other differences, which do not decide", [said(advice.others)])


def _deciding(comparison: Comparison, advice: Advice) -> Iterator[Block]:
    how = (
        f" {advice.pick} has the best mean over all of them, as a geometric mean of ratios of the "
        "values in the table. If one class matters most to you, choose by its column."
    )
    yield Text(f"{advice.judged}{how if advice.pick else ''}", small=True)
    yield of_criteria(comparison, judged_by(comparison))


def _remarks(advice: Advice) -> list[str]:
    """What an expert would change, then what to know about the intervals."""

    def said(hint: Any) -> str:
        if not hint.changes:
            return str(hint.text)
        remedy = hint.remedy[0].upper() + hint.remedy[1:]
        return Md(f"{plain(hint.text)}\\\n*{plain(remedy)}.*")

    return [*map(said, advice.hints), *advice.notes]


def _tables(comparison: Comparison) -> Iterator[Block]:
    said = ["Delay is one way, from source to destination."]
    if len(comparison.seeds) > 1:
        said[:0] = [
            f"Mean ± {100 * comparison.level:g} % interval.",
            f"In each column: {MARKED}",
        ]
    said += [f"{m.short}: {m.explained}." for m in measured(comparison) if m.explained]
    yield Text(" ".join(said), small=True)
    yield Fold("Every measure of each class", [by_class(comparison)])
    yield Heading(f"The link {comparison.link}")
    if comparison.everywhere:
        which = "It is the most used of the links that carry the disciplines, and the judged one."
        yield Text(which, small=True)
    yield from of_links(comparison)


def _figures(comparison: Comparison) -> Iterator[Block]:
    first = f"replication 1 (seed {comparison.seeds[0]})"
    yield Legend(comparison.labels)
    how = (
        "Point at a curve to see its values. Drag to move, scroll with Ctrl to zoom, double click "
        "to see everything."
    )
    yield Text(how, small=True)
    yield Heading("Queue length over time")
    yield Text(
        f"Mean packets in the queue of {comparison.link}, {first}. "
        "The grey part is the warm-up, which is not measured.",
        small=True,
    )
    queue = _with_data([queue_panel(comparison)])
    yield Figure(queue, "Queue length over time for each discipline")
    yield Heading("Delay of each class")
    yield Text(
        "Share of packets that arrived within a time, all replications together. "
        "Further left is better.",
        small=True,
    )
    delays = [delay_panel(comparison, class_) for class_ in comparison.classes]
    yield Figure(_with_data(delays), "Distribution of the delay for each discipline")
    yield Heading("Throughput of each class over time")
    yield Text(f"Means over 1 s of what reached the application, {first}.", small=True)
    rates = [rate_panel(comparison, class_) for class_ in comparison.classes]
    yield Figure(_with_data(rates), "Throughput over time for each discipline")
    if maps := wireless.maps(comparison):
        yield Heading("The wireless network")
        yield Text(
            f"The stations at the end of the run, and the hops that data packets took, in {first}. "
            "A wider line carried more packets; all maps have the same scale. A square is a base "
            "station, which is connected to wires. A dashed line is the path of something that "
            "moves or is sensed; it starts at the ring.",
            small=True,
        )
        yield Figure(maps, "Map of the stations and their routes")


def _with_data(panels: list[Panel]) -> list[Panel]:
    return [each for each in panels if each.series]


def _what_was_run(comparison: Comparison) -> Iterator[Block]:
    queues: list[Block] = []
    for variant in comparison.variants:
        queues += [Heading(variant.label, 4), Code(_queue_of(comparison, variant))]
    yield Fold("The disciplines, with every default", queues)
    which = f" (as run with {comparison.labels[0]})" if len(comparison.labels) > 1 else ""
    configuration = _configuration(comparison.variants[0].effective)
    yield Fold(f"The scenario, with every default{which}", [Code(configuration)])
    prints = [
        [label, *(run.result.fingerprint or "–" for run in comparison.runs_of(label))]
        for label in comparison.labels
    ]
    heads = ["Discipline", *(f"seed {seed}" for seed in comparison.seeds)]
    equal = "Runs with equal fingerprints are equal in every event, on any machine."
    yield Fold(
        "Seeds and fingerprints", [Text(equal, small=True), Table(heads, prints, "Fingerprints")]
    )
    summaries = [run.result.summary for run in comparison.runs]
    packets = sum(each["packets"] for each in summaries)
    # Runs on real packets have no cost.
    spent = sum(each.get("cost", {}).get("cpu_seconds", 0) for each in summaries)
    facts = [("Scenario", comparison.scenario.name), ("forebay", str(summaries[0]["version"]))]
    if comparison.command:
        facts.insert(0, ("Command", Md(f"`{comparison.command}`")))
    facts += [
        ("Plug-in", f"{each['file']}, SHA-256 {each['sha256']}") for each in comparison.plugins
    ]
    if spent:
        facts.append(("Simulated", f"{packets:,} packets in {spent:.1f} s of CPU time"))
    else:
        facts.append(("Carried", f"{packets:,} packets of Linux"))
    yield Facts(facts)


def queue_panel(comparison: Comparison) -> Panel:
    """The mean queue of the compared link over time, in the first replication."""
    series = [
        _curve(run.discipline, run.result.rows("queue", comparison.link), "mean_packets", 1.0, 0.0)
        for run in _first(comparison)
    ]
    return _over_time(comparison, "", "packets", series)


def rate_panel(comparison: Comparison, class_: str) -> Panel:
    """The throughput of a class over time, in the first replication."""
    series = [
        _curve(run.discipline, run.result.rows("class", class_), "throughput_bps", 1e-3, 1.0)
        for run in _first(comparison)
    ]
    return _over_time(comparison, class_, "kb/s", series)


def delay_panel(comparison: Comparison, class_: str) -> Panel:
    """The distribution of the delay of a class, over all replications together."""
    series = [_distribution(comparison, label, class_) for label in comparison.labels]
    series = [each for each in series if len(each.x)]
    delays = [float(x) for each in series for x in each.x if float(x) > 0]
    # On a narrow range a logarithmic axis says nothing.
    log = bool(delays) and max(delays) >= 4 * min(delays)
    ends = (0.0, 1.02)
    return Panel(class_, "delay, ms", "share of packets", series, y_range=ends, x_log=log)


def _first(comparison: Comparison) -> list[Any]:
    replication = comparison.runs[0].replication
    return [run for run in comparison.runs if run.replication == replication]


def _over_time(comparison: Comparison, title: str, unit: str, series: list[Series]) -> Panel:
    warmup = comparison.runs[0].result.summary["warmup_s"]
    known = [each for each in series if len(each.x)]
    shade = (0.0, warmup) if warmup else None
    return Panel(title, "time, s", unit, known, y_range=(0.0, None), shade=shade)


def _curve(
    label: str, table: Mapping[str, Sequence[Any]], column: str, scale: float, step_s: float
) -> Series:
    """A column over time, as means over steps of at least `step_s` seconds."""
    times = table.get("time_s", [])
    if not times:
        return Series(label, [], [])
    step = max(step_s, max(times) / _POINTS)
    found: dict[int, list[float]] = {}
    for time, value in zip(times, table[column], strict=True):
        # A row's time ends its interval: one at exactly 1 s belongs to the first second.
        found.setdefault(math.floor((time - 1e-9) / step), []).append(value)
    steps = sorted(found)
    means = [scale * math.fsum(found[at]) / len(found[at]) for at in steps]
    return Series(label, [(at + 1) * step for at in steps], means, style="curve")


def _distribution(comparison: Comparison, label: str, class_: str) -> Series:
    """The share of packets with at most a delay, over all replications together."""
    counts: Counter[float] = Counter()
    for run in comparison.runs_of(label):
        rows = run.result.rows("delay", class_)
        for delay, count in zip(rows.get("delay_ms", []), rows.get("count", []), strict=True):
            counts[delay] += count
    total = sum(counts.values())
    if not total:
        return Series(label, [], [])
    delays = sorted(delay for delay, count in counts.items() if count > 0)
    shares = [sent / total for sent in accumulate(counts[delay] for delay in delays)]
    points = list(zip(delays, shares, strict=True))
    if len(points) > _CDF_POINTS:
        # Even steps of probability, and every step of the upper tail.
        steps = [math.floor(share * _CDF_POINTS * 0.7) for share in shares]
        points = [
            point
            for at, point in enumerate(points)
            if at == 0 or steps[at] != steps[at - 1] or point[1] > 0.999
        ][: 2 * _CDF_POINTS]
    return Series(label, [x for x, _ in points], [y for _, y in points], style="steps")


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
                f"# {key}: the first {_ENTRIES} of {len(value)}; forebay check --effective prints "
                "all\n"
            )
    return "".join(left) + to_toml(shown)


def _queue_of(comparison: Comparison, variant: Variant) -> str:
    """The effective queue of the compared link as TOML."""
    return to_toml({"queue": resolved_link(variant.scenario, comparison.link)["queue"]})
