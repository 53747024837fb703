"""Amicable strict priority queuing (ASPQ): figures 5 and 6, table I, and what lies beyond."""

from __future__ import annotations

from pathlib import Path

from forebay.papers import (
    Claim,
    Figure,
    Paper,
    Quick,
    Section,
    StudyFile,
)

from .beyond import (
    FLOWS_NOTE,
    GAPS,
    OPTIONS,
    PERIODS_NOTE,
    ablation,
    flow_panels,
    gaps,
    period_panels,
    when_tables,
)
from .discussion import OPTIONS_SAY, WHEN_SAYS
from .table import (
    claim_1,
    claim_2,
    claim_3,
    claim_4,
    claim_5,
    figure_5,
    figure_6,
    r2_figure,
    table_1,
    why_2,
    windows,
)


def text(name: str) -> str:
    """A text that lies beside this file."""
    return Path(__file__).with_name(name).read_text("utf-8")


PAPER = Paper(
    title="ASPQ: amicable strict priority queuing",
    citation=(
        "M. Rahimi, V. Pournaghshband, *An Improvement Mechanism for Low Priority Traffic TCP "
        "Performance in Strict Priority Queueing*."
    ),
    setup=text("setup.md"),
    statistics=text("statistics.md"),
    studies=(
        StudyFile("table1", "table1.toml", Quick(2, axes={"delay": ["10ms", "50ms", "100ms"]})),
        StudyFile("figure5", "figure5.toml", Quick(2), tables=("class",)),
        StudyFile("r2", "r2.toml", Quick(2)),
        StudyFile("rtt", "rtt.toml", Quick(2)),
        StudyFile("tcp", "tcp.toml", Quick(2)),
        StudyFile("options", "options.toml", Quick(2)),
        StudyFile("periods", "periods.toml", Quick(2)),
        StudyFile("transfers", "transfers.toml", Quick(2)),
        StudyFile("flows", "flows.toml", Quick(2)),
        StudyFile("elsewhere", "elsewhere.toml", Quick(2)),
    ),
    figures=(
        Figure("5", "Comparison of the performance of ASPQ against SPQ.", figure_5, ("figure5",),
               "One run, in intervals of 50 ms, as the low-priority receiver sees it."),
        Figure("6", "Measurement of the difference of goodput against different RTTs.", figure_6,
               ("table1",)),
        Figure("windows", "(not in the paper) The congestion window that the freeze keeps.",
               windows, ("figure5",), "It stands still while the sender is frozen."),
        Figure("R2", "(not in the paper) The connection that strict priority ends.", r2_figure,
               ("r2",), "Five retransmissions of a segment take 1 + 2 + 4 + 8 + 16 + 32 = 63 s."),
        Figure("periods", "(not in the paper) High-priority traffic that comes and goes.",
               period_panels, ("periods", "transfers"), PERIODS_NOTE),
        Figure("flows", "(not in the paper) One to a hundred low-priority flows.", flow_panels,
               ("flows",), FLOWS_NOTE),
    ),
    claims=(
        Claim("ASPQ-1", "Table I: the average goodputs of ASPQ and SPQ at ten round-trip times.",
              claim_1, ("table1",)),
        Claim("ASPQ-2", "The amount of the difference always remained positive; with the increase "
              "of RTT the quality of SPQ's performance deteriorates (table I: from 4.5 to 294 "
              "kb/s).", claim_2, ("table1",), why_2),
        Claim("ASPQ-3", "The low priority sender in Amicable SPQ leaves the persist mode promptly "
              "and reaches approximately the maximum available bandwidth. SPQ saturates the link "
              "for a short period of time, and after that starts slowly.", claim_3, ("figure5",)),
        Claim("ASPQ-4", "By taking the low priority senders into persist mode, we are able to keep "
              "their congestion window intact.", claim_4, ("figure5",)),
        Claim("ASPQ-5", "SPQ can cause termination of low priority connections; ASPQ does not.",
              claim_5, ("r2",)),
    ),
    sections=(
        Section("Table I, row by row", "", table_1, ("table1",)),
        Section("What the readings change", GAPS, gaps, ("rtt", "tcp")),
        Section("The options", OPTIONS, ablation, ("options",), OPTIONS_SAY),
        Section("When to freeze", text("when.md"), when_tables,
                ("periods", "transfers", "flows", "elsewhere"), WHEN_SAYS),
    ),
)  # fmt: skip
