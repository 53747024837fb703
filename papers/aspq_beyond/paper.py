"""ASPQ beyond its paper: traffic that comes and goes, and the controller's options."""

from __future__ import annotations

from forebay.papers import Figure, Paper, Quick, Section, StudyFile

from .figures import flows, periods
from .points import OPTIONS, TEXT, TRAFFICS
from .sections import OPTIONS_SAY, WHEN_SAY, found, option_tables, when_table

PAPER = Paper(
    title="ASPQ beyond its paper",
    citation=TEXT["citation"],
    setup=TEXT["setup"],
    statistics=TEXT["statistics"],
    found=found,
    studies=(
        StudyFile(OPTIONS, "options.toml", Quick(2)),
        StudyFile(TRAFFICS, "traffics.toml", Quick(2, {"duration": "70s"})),
    ),
    figures=(
        Figure("periods", "High-priority traffic that comes and goes", periods, (TRAFFICS,),
               TEXT["figure-periods"]),
        Figure("flows", "One to a hundred low-priority flows", flows, (TRAFFICS,),
               TEXT["figure-flows"]),
    ),
    sections=(
        Section("Whether to freeze", TEXT["when"], when_table, (TRAFFICS,), WHEN_SAY),
        Section("The controller's options", TEXT["options"], option_tables, (OPTIONS,),
                OPTIONS_SAY),
    ),
)  # fmt: skip
