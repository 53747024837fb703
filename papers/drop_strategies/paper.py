"""Bodin and Schelén: drop strategies and loss-rate differentiation."""

from __future__ import annotations

from functools import partial

from forebay.papers import Figure, Paper, Quick, Section, StudyFile

from .claims import CLAIMS, CONCLUSIONS
from .figures import cost, loss, oscillation, starvation, throughput, trace, victims
from .found import found
from .points import CASES, CHOICES, CONDITIONERS, LONGER, MAIN, TEXT, TRACES
from .sections import DEFERRED, choices, round_trips, victim_table

SHORT = {"duration": "40s"}
SPAN = {"span": ["40s"]}
"""Of studies that are shorter than the paper's runs by an axis."""
RATES = ("0bit", "400kbit", "2500kbit", "2800kbit", "3400kbit", "4000kbit", "4600kbit")
FEW = {"rate": [[rate, rate] for rate in RATES]}
PAPER_FIGURES = [
    Figure(str(4 + 3 * number + at), f"{what} - {name}", partial(drawn, case=case), (study,))
    for number, (case, name) in enumerate(CASES.items())
    for at, (what, drawn, study) in enumerate(
        (("Loss-rates", loss, MAIN), ("Throughputs", throughput, MAIN), ("Queues", trace, TRACES))
    )
]
OWN_FIGURES = [
    Figure("oscillation", "Queue oscillation over the in-profile rate", oscillation, (MAIN,)),
    Figure("cost", "What dropping from the queue costs, and buys", cost, (MAIN,), TEXT["cost"]),
    Figure("victims", "Which packet to drop", victims, ("victims",)),
    Figure("starvation", "In-profile traffic that is not policed", starvation, ("starvation",),
           TEXT["starvation"]),
]  # fmt: skip
PAPER = Paper(
    title="Drop strategies and loss-rate differentiation",
    citation=TEXT["citation"],
    setup=TEXT["setup"],
    statistics=TEXT["statistics"],
    studies=(
        StudyFile(MAIN, "strategies.toml", Quick(2, SHORT, FEW)),
        StudyFile(LONGER, "round-trips.toml", Quick(2, SHORT, FEW)),
        StudyFile(TRACES, "traces.toml", Quick(1), tables=("queue",)),
        StudyFile(CHOICES, "choices.toml", Quick(2, axes={**SPAN, **FEW})),
        StudyFile(CONDITIONERS, "conditioners.toml", Quick(2, SHORT)),
        StudyFile("victims", "victims.toml", Quick(2, axes=SPAN)),
        StudyFile("starvation", "starvation.toml", Quick(2, SHORT)),
    ),
    figures=(*PAPER_FIGURES, *OWN_FIGURES),
    claims=CLAIMS,
    conclusions=CONCLUSIONS,
    found=found,
    sections=(
        Section("Round trips", TEXT["round-trips"], round_trips, (MAIN, LONGER)),
        Section("What the paper leaves open", TEXT["choices"], choices, (CHOICES,), (DEFERRED,)),
        Section(
            "The last, the first or a random packet", TEXT["victims"], victim_table, ("victims",)
        ),
    ),
)
