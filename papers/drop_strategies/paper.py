"""Bodin and Schelén: drop strategies and loss-rate differentiation."""

from __future__ import annotations

import json
from functools import partial

from forebay.papers import Claim, Figure, Paper, Quick, Section, StudyFile

from .claims import (
    ds_1,
    ds_2,
    ds_3,
    ds_4,
    ds_5,
    ds_6,
    ds_7,
    ds_8,
    ds_9,
)
from .figures import (
    cost,
    loss,
    oscillation,
    spacing,
    starvation,
    throughput,
    trace,
    victims,
)
from .points import CASES, FAR, GAPS, HERE, MAIN, MOVED, SPACED, TRACES, text
from .reasons import ends, filled, longer, nearly, spared
from .sections import elsewhere, gaps, memory, sensitivity, victim_table

QUICK_RATES = [
    [rate, rate]
    for rate in ("0bit", "400kbit", "2500kbit", "2800kbit", "3400kbit", "4000kbit", "4600kbit")
]
SHORT = Quick(2, set={"duration": "40s"})
# The other studies are shorter than the paper's runs by an axis.
SPAN = {"span": ["40s"]}
SHORT_SPAN = Quick(2, axes=SPAN)
PAPER_FIGURES = [
    Figure(str(4 + 3 * number + at), f"{what} - {name}", partial(drawn, case=case), (study,))
    for number, (case, name) in enumerate(CASES.items())
    for at, (what, drawn, study) in enumerate(
        (("Loss-rates", loss, MAIN), ("Throughputs", throughput, MAIN), ("Queues", trace, TRACES))
    )
]
OWN_FIGURES = [
    Figure("oscillation", "Queue oscillation over the in-profile rate", oscillation, (MAIN,)),
    Figure("spacing", "Without ns-2's wait", spacing, (SPACED,), text("spacing")),
    Figure("cost", "What dropping from the queue costs, and buys", cost, (MAIN,), text("cost")),
    Figure("victims", "Which packet to drop", victims, ("victims",)),
    Figure("starvation", "In-profile traffic that is not policed", starvation, ("starvation",),
           text("starvation")),
]  # fmt: skip
WORDS = json.loads((HERE / "claims.json").read_text("utf-8"))
PAPER = Paper(
    title="Drop strategies and loss-rate differentiation",
    citation=text("citation"),
    setup=text("setup"),
    statistics=text("statistics"),
    studies=(
        StudyFile(MAIN, "strategies.toml", Quick(2, {"duration": "40s"}, {"rate": QUICK_RATES})),
        StudyFile(TRACES, "traces.toml", Quick(1), tables=("queue",)),
        StudyFile(MOVED, "round-trips.toml", SHORT_SPAN),
        StudyFile(FAR, "far.toml", Quick(2, axes={**SPAN, "rate": QUICK_RATES})),
        StudyFile(SPACED, "spacing.toml", SHORT_SPAN),
        StudyFile(GAPS, "gaps.toml", SHORT_SPAN),
        StudyFile("conditioners", "conditioners.toml", SHORT),
        StudyFile("victims", "victims.toml", SHORT_SPAN),
        StudyFile("starvation", "starvation.toml", SHORT),
    ),
    figures=(*PAPER_FIGURES, *OWN_FIGURES),
    claims=(
        Claim("DS-1", WORDS["DS-1"], ds_1, (MAIN,), ends),
        Claim("DS-2", WORDS["DS-2"], ds_2, (MAIN,), ends),
        Claim("DS-3", WORDS["DS-3"], ds_3, (MAIN,), nearly),
        Claim("DS-4", WORDS["DS-4"], ds_4, (MAIN, TRACES), spared),
        Claim("DS-5", WORDS["DS-5"], ds_5, (MAIN, TRACES), spared),
        Claim("DS-6", WORDS["DS-6"], ds_6, (MAIN,), longer),
        Claim("DS-7", WORDS["DS-7"], ds_7, (MAIN,), filled),
        Claim("DS-8", WORDS["DS-8"], ds_8, (MAIN,)),
        Claim("DS-9", WORDS["DS-9"], ds_9, (MAIN, "conditioners")),
    ),
    sections=(
        Section("Round trips and the spacing of drops", text("round-trips"), sensitivity, (MOVED,)),
        Section("The claims with longer round trips", text("far"), elsewhere, (MAIN, FAR)),
        Section("What else is open", text("gaps"), gaps, (GAPS,)),
        Section(
            "The last, the first or a random packet", text("victims"), victim_table, ("victims",)
        ),
        Section("Memory", text("memory"), memory),
    ),
)
