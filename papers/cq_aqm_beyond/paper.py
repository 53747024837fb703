"""CQ-AQM beyond its paper: more queues and precedences, other schedulers, thresholds."""

from __future__ import annotations

from forebay.papers import Figure, Paper, Quick, Section, StudyFile

from .figures import adaptive, classes, laws, levels, over_local, schedulers
from .points import TEXT
from .sections import (
    ADAPTIVE,
    LEVELS_HOLD,
    fixed_table,
    found,
    hysteresis,
    scheduler_table,
    thresholds,
)

TUNED = ("tcp-thresholds", "mixed-thresholds")
PAPER = Paper(
    title="CQ-AQM beyond its paper",
    citation=TEXT["citation"],
    setup=TEXT["setup"],
    statistics=TEXT["statistics"],
    found=found,
    studies=(
        StudyFile("adaptive", "adaptive.toml", Quick(2, {"duration": "80s"})),
        StudyFile("many", "many-study.toml", Quick(2, {"duration": "40s"})),
        StudyFile("schedulers", "schedulers.toml", Quick(2, {"duration": "40s"})),
        StudyFile("tcp-thresholds", "tcp-thresholds.toml", Quick(3, {"duration": "60s"})),
        StudyFile("mixed-thresholds", "mixed-thresholds.toml", Quick(4)),
    ),
    figures=(
        Figure("B1", "Four classes and five precedences, loss over the load", levels, ("many",)),
        Figure("B2", "Four classes and five precedences at 150 % load", classes, ("many",)),
        Figure("B3", "Other schedulers at 150 % load, weights 1 to 4", schedulers, ("schedulers",)),
        Figure("B4", "Fixed and adaptive thresholds over the load", adaptive, ("adaptive",)),
        Figure("B5", "What T_local decides", over_local, TUNED),
        Figure("B6", "Room above T_local: two laws", laws, ("mixed-thresholds",), TEXT["laws"]),
    ),
    sections=(
        Section("More queues and precedences", TEXT["levels"], studies=("many",),
                statements=LEVELS_HOLD),
        Section("Adaptive thresholds", TEXT["adaptive"], fixed_table, ("adaptive",), ADAPTIVE),
        Section("The choice of thresholds", TEXT["thresholds"], thresholds, TUNED),
        Section("Two thresholds against thrashing", TEXT["hysteresis"], hysteresis, TUNED),
        Section("Other schedulers", TEXT["schedulers"], scheduler_table, ("schedulers",)),
    ),
)  # fmt: skip
