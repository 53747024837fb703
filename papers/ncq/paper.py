"""Non-congestive queuing: its analysis, four scenarios, and what its options do."""

from __future__ import annotations

from forebay.papers import Figure, Paper, Quick, Section, StudyFile

from .analysis import KB, figure_1, figure_2, figure_5, times
from .claims import CLAIMS, CONCLUSIONS
from .figures import (
    figure_8,
    figure_9,
    figure_10,
    figure_11,
    figure_12,
    figure_14,
    figure_15,
    figure_16,
    figure_17,
    figure_19,
    figure_20,
    figure_attacks,
    figure_limit,
)
from .points import TEXT
from .sections import SHIP, ablation, found, open_choices, sensor_table, single_runs

SOME = [["10 %", 45, 5, "1MB"], ["10 %", 72, 8, "1MB"], ["10 %", 81, 9, "1MB"],
        ["10 %", 90, 10, "1MB"], ["20 %", 64, 16, "1MB"], ["short", 72, 8, "100KB"]]  # fmt: skip
CALLS = [["as many", 50, 50], ["as many", 90, 90], ["one of ten", 45, 5]]
SHORT = {"duration": "25s"}
PAPER = Paper(
    title="Differentiating Services with Non-Congestive Queuing (NCQ)",
    citation=TEXT["citation"],
    setup=TEXT["setup"],
    statistics=TEXT["statistics"],
    found=found,
    studies=(
        StudyFile("ftp", "ftp-study.toml", Quick(3, axes={"load": SOME})),
        StudyFile("starts", "starts.toml", Quick(2)),
        StudyFile("tasks", "tasks.toml", Quick(4), tables=("class",)),
        StudyFile("limit", "limit.toml", Quick(3)),
        StudyFile("phase", "phase.toml", Quick(3)),
        StudyFile("sensors", "sensors-study.toml", Quick(2, axes={"flows": [10, 50, 100]})),
        StudyFile("sensors-choices", "sensors-choices.toml", Quick(2)),
        StudyFile("calls", "calls-study.toml", Quick(2, axes={"flows": CALLS}), ("flows",)),
        StudyFile("calls-threshold", "calls-threshold.toml", Quick(2, SHORT)),
        StudyFile("deployment", "deployment.toml", Quick(1, SHORT)),
        StudyFile("attacks", "attacks.toml", Quick(2, SHORT)),
        StudyFile("ablation", "ablation.toml", Quick(2)),
    ),
    figures=(
        Figure("1", "Average queuing delay with and without priority", figure_1,
               note=TEXT["figure-1"]),
        Figure("2", "Average queuing delay with ncqthresh", figure_2, note=TEXT["figure-2"]),
        Figure("3", "Numerical results of FTP application", times(KB)),
        Figure("4", "Numerical results of congestive multimedia application", times(500)),
        Figure("5", "Queuing delay for non-congestive multimedia application", figure_5),
        Figure("6", "Task completion time for non-congestive multimedia application", times(140)),
        Figure("8", "Impact of NCQ on goodput", figure_8, ("ftp",)),
        Figure("9", "Average and worst task completion time in the system", figure_9, ("ftp",)),
        Figure("10", "Non-congestive flows, 20 % of all", figure_10, ("ftp",)),
        Figure("11", "Tasks completed (50 flows)", figure_11, ("tasks",)),
        Figure("12", "Impact of NCQ on non-congestive applications and short FTP flows", figure_12,
               ("ftp",)),
        Figure("14", "Sensor internetworking: goodput and energy efficiency", figure_14,
               ("sensors",)),
        Figure("15", "Sensor internetworking: fairness", figure_15, ("sensors",)),
        Figure("16", "VoIP: goodput and fairness", figure_16, ("calls",)),
        Figure("17", "VoIP: voice quality", figure_17, ("calls",)),
        Figure("19", "Incremental deployment: goodput", figure_19, ("deployment",)),
        Figure("20", "Incremental deployment: voice quality and fairness", figure_20,
               ("deployment",)),
        Figure("limit", "The limit of 130 B (footnote 2)", figure_limit, ("limit",)),
        Figure("attacks", "Who tries to be favoured, and floods", figure_attacks, ("attacks",),
               TEXT["attacks"]),
    ),
    claims=CLAIMS,
    conclusions=CONCLUSIONS,
    sections=(
        Section("What scenario 1 leaves open", TEXT["starts"], open_choices, ("starts",)),
        Section("What scenario 2 leaves open", TEXT["sensors"], sensor_table,
                ("sensors", "sensors-choices")),
        Section("Single runs", TEXT["single"], single_runs, ("ftp", "tasks")),
        Section("Misprints and simplifications", TEXT["misprints"]),
        Section("The open issues, as options", TEXT["options"], ablation, ("ablation",), SHIP),
    ),
)  # fmt: skip
