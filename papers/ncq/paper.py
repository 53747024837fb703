# mypy: allow-untyped-defs, allow-untyped-calls
"""Non-congestive queuing: its analysis, four scenarios, and what its options do."""

from functools import cache
from pathlib import Path

import tomllib

from forebay.papers import Claim, Figure, Paper, Quick, Section, StudyFile, Table

from .analysis import (
    KB,
    case_1,
    figure_1,
    figure_2,
    figure_5,
    misprints,
    splitting,
    strategy_numbers,
    thresholds,
    times,
    why_splitting,
    why_strategies,
)
from .options import SHIP
from .scenarios import (
    TAIL,
    all_goodput,
    call_panel,
    figure_11,
    figure_19,
    figure_20,
    ftp_panel,
    sensor_panel,
    several,
)
from .verdicts import (
    LARGE_GOODPUT,
    SENSOR_GOODPUT,
    SMALL_GOODPUT,
    SMALL_TIME,
    calls,
    deployment,
    more_small,
    scenario_1,
    sensor_potential,
    sensors,
    short_flows,
    why_calls,
    why_deployment,
    why_more_small,
    why_scenario_1,
    why_short,
)

MIX = (
    ("classes.calls.r_factor", "R of calls", 1.0),
    ("classes.short.mean_completion_s", "10 kB, s", 1.0),
    ("classes.bulk.goodput_bps", "bulk, Mb/s", 1e-6),
    ("classes.back.goodput_bps", "back, Mb/s", 1e-6),
    ("system.jain", "Jain", 1.0),
)


def ablation(data):
    labels = data.study("ablation").runs["discipline"].unique(maintain_order=True)
    rows = [
        [
            label,
            *(
                data.interval("ablation", key, {"discipline": label}, scale=scale)
                for key, _, scale in MIX
            ),
        ]
        for label in labels
    ]
    return [Table(["Discipline", *(title for _, title, _ in MIX)], rows)]


@cache
def gaming_columns():
    return (("classes.gamer.goodput_bps", "the splitter, kb/s", 1e-3),
            ("classes.bulk.goodput_bps", "nine others, kb/s", 1e-3),
            ("classes.calls.r_factor", "R of calls", 1.0))  # fmt: skip


def split(data):
    rows = []
    for label in data.study("split").runs["discipline"].unique(maintain_order=True):
        for size in data.runs("split")["packet"].unique(maintain_order=True):
            where = {"discipline": label, "packet": size}
            rows.append(
                [
                    label,
                    size,
                    *(
                        data.interval("split", key, where, scale=scale)
                        for key, _, scale in gaming_columns()
                    ),
                ]
            )
    return [
        Table(["Discipline", "its packets", *(title for _, title, _ in gaming_columns())], rows)
    ]


def flood(data):
    rows = []
    keys = (("classes.flood.loss", 100), ("classes.bulk.goodput_bps", 1e-6),
            ("classes.calls.r_factor", 1))  # fmt: skip
    for label in data.study("flood").runs["discipline"].unique(maintain_order=True):
        for rate in data.runs("flood")["flood"].unique(maintain_order=True):
            where = {"discipline": label, "flood": rate}
            rows.append(
                [
                    label,
                    rate,
                    *(data.interval("flood", key, where, scale=scale) for key, scale in keys),
                ]
            )
    return [Table(["Discipline", "flood", "lost of it, %", "bulk, Mb/s", "R of calls"], rows)]


def overflow(data):
    rows = []
    for n in data.runs("overflow")["traffic.small.flows"].unique().sort():
        for label in (TAIL, "drop arriving", "push out"):
            where = {"traffic.small.flows": n, "discipline": label}
            rows.append(
                [
                    10 * n,
                    label,
                    *(
                        data.interval("overflow", key, where, scale=scale)
                        for key, scale in (
                            (SMALL_GOODPUT, 1e-3),
                            (LARGE_GOODPUT, 1e-3),
                            ("classes.small.loss", 100),
                        )
                    ),
                ]
            )
    return [
        Table(["Flows", "Full buffer", "small, kb/s", "congestive, kb/s", "small lost, %"], rows)
    ]


FEW = {"flows": [[45, 5], [72, 8], [81, 9], [90, 10]]}
FEW_20 = {"flows": [[40, 10], [64, 16]]}


TEXT = tomllib.loads((Path(__file__).parent / "text.toml").read_text("utf-8"))


def figure(number, panels, studies=()):
    return Figure(number, panels=panels, studies=studies, **TEXT["figures"][number])


def claim(name, judge, studies=(), reason=""):
    return Claim(name, TEXT["claims"][name], judge, studies, reason)


def section(number, tables, studies=(), statements=()):
    return Section(
        tables=tables, studies=studies, statements=statements, **TEXT["sections"][number]
    )


PAPER = Paper(
    title=TEXT["title"],
    citation=TEXT["citation"],
    setup=TEXT["setup"],
    statistics=TEXT["statistics"],
    studies=(
        StudyFile("ftp", "ftp-10.toml", Quick(3, axes=FEW)),
        StudyFile("ftp-20", "ftp-20.toml", Quick(3, axes=FEW_20)),
        StudyFile("ftp-short", "ftp-short.toml", Quick(3, axes=FEW)),
        StudyFile("tasks", "tasks.toml", Quick(3), tables=("class",)),
        StudyFile("sensors", "internetworking.toml", Quick(2, axes={"flows": [10, 50, 100]})),
        StudyFile("calls", "calls.toml", Quick(2, axes={"flows": [[50, 50]]})),
        StudyFile("calls-few", "calls-few.toml", Quick(2, axes={"flows": [[45, 5]]})),
        StudyFile("calls-threshold", "calls-threshold.toml", Quick(2)),
        StudyFile("deployment", "deployment.toml", Quick(1, set={"duration": "20s"})),
        StudyFile("overflow", "overflow.toml", Quick(3)),
        StudyFile("ablation", "ablation.toml", Quick(2)),
        StudyFile("split", "split.toml", Quick(2)),
        StudyFile("flood", "flood.toml", Quick(2)),
    ),
    figures=(
        figure("1", figure_1),
        figure("2", figure_2),
        figure("3", times(KB)),
        figure("4", times(500)),
        figure("5", figure_5),
        figure("6", times(140)),
        figure(
            "8",
            several(
                ftp_panel("ftp", 0.1, SMALL_GOODPUT, "kb/s", "Non-congestive flows", 1e-3),
                ftp_panel("ftp", 0.1, LARGE_GOODPUT, "kb/s", "Congestive flows", 1e-3),
                ftp_panel("ftp", 0.1, all_goodput(), "kb/s", "All flows", 1e-3),
            ),
            ("ftp",),
        ),
        figure(
            "9",
            several(
                ftp_panel("ftp", 0.1, "system.mean_completion_s", "s", "Average"),
                ftp_panel("ftp", 0.1, "system.max_completion_s", "s", "Worst"),
            ),
            ("ftp",),
        ),
        figure(
            "10",
            several(
                ftp_panel("ftp-20", 0.2, SMALL_GOODPUT, "kb/s", "Average goodput", 1e-3),
                ftp_panel("ftp-20", 0.2, SMALL_TIME, "s", "Average completion time"),
            ),
            ("ftp-20",),
        ),
        figure("11", figure_11, ("tasks",)),
        figure(
            "12",
            several(
                ftp_panel("ftp-short", 0.1, SMALL_GOODPUT, "kb/s", "Non-congestive flows", 1e-3),
                ftp_panel("ftp-short", 0.1, LARGE_GOODPUT, "kb/s", "Flows of 100 kB", 1e-3),
            ),
            ("ftp-short",),
        ),
        figure(
            "14",
            several(
                sensor_panel("classes.ftp.goodput_bps", "Mb/s", "FTP flows, all", 1e-6),
                sensor_panel(SENSOR_GOODPUT, "kb/s", "Sensors, all", 1e-3),
                sensor_panel(sensor_potential(), "energy potential", "Sensors"),
            ),
            ("sensors",),
        ),
        figure(
            "15",
            several(
                sensor_panel("system.asi", "ASI", "System, as printed"),
                sensor_panel("classes.sensors.asi", "ASI", "Sensors, as printed"),
                sensor_panel("system.asi_by_flow", "ASI", "System, flow by flow"),
                sensor_panel("classes.sensors.asi_by_flow", "ASI", "Sensors, flow by flow"),
            ),
            ("sensors",),
        ),
        figure(
            "16",
            several(
                call_panel("classes.calls.goodput_bps", "calls, kb/s", 1e-3),
                call_panel("classes.ftp.goodput_bps", "FTP, Mb/s", 1e-6),
                call_panel("classes.calls.asi_by_flow", "ASI of calls, flow by flow"),
                call_panel("classes.calls.goodput_bps", "calls, kb/s", 1e-3, few=True),
            ),
            ("calls", "calls-few"),
        ),
        figure(
            "17",
            several(
                call_panel("classes.calls.r_factor", "R-factor"),
                call_panel("classes.calls.mos", "MOS"),
                call_panel("classes.calls.r_factor", "R-factor", few=True),
                call_panel("classes.calls.mos", "MOS", few=True),
            ),
            ("calls", "calls-few"),
        ),
        figure("19", figure_19, ("deployment",)),
        figure("20", figure_20, ("deployment",)),
    ),
    claims=(
        claim("NCQ-1", case_1),
        claim("NCQ-2", thresholds),
        claim("NCQ-3", splitting, reason=why_splitting),
        claim("NCQ-3, numbers", strategy_numbers, reason=why_strategies),
        claim("NCQ-4", scenario_1, ("ftp", "overflow"), why_scenario_1),
        claim("NCQ-5", more_small, ("ftp", "ftp-20", "tasks"), why_more_small),
        claim("NCQ-6", short_flows, ("ftp-short",), why_short),
        claim("NCQ-7", sensors, ("sensors",)),
        claim("NCQ-8", calls, ("calls", "calls-few", "calls-threshold"), why_calls),
        claim("NCQ-9", deployment, ("deployment",), why_deployment),
    ),
    sections=(
        section(0, misprints),
        section(1, overflow, ("overflow",)),
        section(2, ablation, ("ablation", "flood"), SHIP),
        section(3, split, ("split",)),
        section(4, flood, ("flood",)),
    ),
)
