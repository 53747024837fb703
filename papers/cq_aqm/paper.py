"""CQ-AQM: figures 2 to 9, claims CQ-1 to CQ-12, and what the paper leaves open."""

from __future__ import annotations

from forebay.papers import Figure, Paper, Quick, Section, StudyFile

from .claims import CLAIMS, CONCLUSIONS
from .figures import figure_2, figure_3, figure_4, figure_5, figure_6, figure_7, figure_8, figure_9
from .points import TEXT
from .sections import choices, found

SHORT = {"duration": "80s"}
ALONE, BESIDE = ("tcp",), ("mixed",)
PAPER = Paper(
    title="Cross-queue active queue management (CQ-AQM)",
    citation=TEXT["citation"],
    setup=TEXT["setup"],
    statistics=TEXT["statistics"],
    studies=(
        StudyFile("tcp", "tcp-study.toml", Quick(3, SHORT)),
        StudyFile("equal-loss", "equal-loss.toml", Quick(3, SHORT), tables=("flows",)),
        StudyFile("mixed", "mixed-study.toml", Quick(3, SHORT)),
        StudyFile("tcp-choices", "tcp-choices.toml", Quick(2, {"duration": "50s"})),
        StudyFile("mixed-choices", "mixed-choices.toml", Quick(2, {"duration": "50s"})),
        StudyFile("background", "background.toml", Quick(2, SHORT)),
    ),
    figures=(
        Figure("2", "Impact of CQ-AQM on TCP throughput", figure_2, ALONE),
        Figure("3", "Impact of CQ-AQM on TCP loss", figure_3, ALONE),
        Figure("4", "Impact of CQ-AQM on TCP delay", figure_4, ALONE),
        Figure("5", "Impact of CQ-AQM on TCP gain and system efficiency", figure_5, ALONE),
        Figure("6", "Impact of CQ-AQM on TCP throughput in mixed traffic", figure_6, BESIDE),
        Figure("7", "Impact of CQ-AQM on delay in mixed traffic", figure_7, BESIDE),
        Figure("8", "Impact of CQ-AQM on loss in mixed traffic", figure_8, BESIDE),
        Figure("9", "Gain and system efficiency in mixed traffic", figure_9, BESIDE),
    ),
    claims=CLAIMS,
    conclusions=CONCLUSIONS,
    found=found,
    sections=(
        Section(
            "What the paper leaves open",
            TEXT["choices"],
            choices,
            ("tcp-choices", "mixed-choices"),
        ),
    ),
)
