"""Heist and Morton's tests of L4S: scenarios 1 and 6, and what today's Prague makes of them."""

from __future__ import annotations

from forebay.papers import Data, Figure, Paper, Quick, Section, StudyFile

from .claims import CLAIMS, CONCLUSIONS, HYPOTHESES
from .figures import published, shared
from .points import CHOICES, CLASSIC, MAIN, QUEUES, TEXT, TODAY, near_rows, run_rows
from .sections import choices as choices_table
from .sections import rows as row_tables
from .sections import shared as shared_table
from .sections import today as today_table


def found(data: Data) -> str:
    """The page's beginning."""
    near = {queue: near_rows(data, queue) for queue in QUEUES}
    kinds = ("dualpi2", "fq_codel", "pfifo")
    counts = {
        kind.partition("_")[0]: sum(near[queue] for queue in QUEUES if kind in queue)
        for kind in kinds
    }
    total = sum(len(run_rows(data, queue)) for queue in QUEUES)
    return TEXT["found"].format(near=sum(near.values()), rows=total, **counts)


SHORT = {"duration": "60s", "warmup": "30s"}
PAPER = Paper(
    title="L4S: two transfers through DualPI2, FQ-CoDel and others",
    citation=TEXT["citation"],
    setup=TEXT["setup"],
    statistics=TEXT["statistics"],
    found=found,
    studies=(
        StudyFile(MAIN, "rtt-fairness.toml", Quick(2, SHORT)),
        StudyFile(CLASSIC, "classic.toml", Quick(2)),
        StudyFile(CHOICES, "choices.toml", Quick(2, SHORT)),
        StudyFile(TODAY, "today.toml", Quick(2, SHORT)),
    ),
    figures=(
        Figure("1", "Scenario 1: every throughput over the published one.", published, (MAIN,)),
        Figure("6", "Scenario 6: what Prague leaves its rival in a shared queue.", shared,
               (CLASSIC,), "Each rival with and without ECN."),
    ),
    claims=CLAIMS,
    conclusions=CONCLUSIONS,
    hypotheses=HYPOTHESES,
    sections=(
        Section("Scenario 1, row by row", TEXT["rows"], row_tables, (MAIN,)),
        Section("Scenario 6, row by row", TEXT["classic"], shared_table, (CLASSIC,)),
        Section("One thing changed", TEXT["choices"], choices_table, (MAIN, CHOICES)),
        Section("Today's Prague", TEXT["today"], today_table, (MAIN, TODAY)),
    ),
)  # fmt: skip
