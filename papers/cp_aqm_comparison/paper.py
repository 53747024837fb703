"""The comparison that the authors of CP-AQM ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forebay.papers import Claim, Figure, Paper, Quick, Section, StudyFile

from .claims import (
    SLOWER,
    held,
    intriguing,
    mostly_full,
    mostly_full_why,
    unresponsive_why,
)
from .discussion import LOSES, WINS
from .figures import (
    bursts,
    capacity_steps,
    cell_phone,
    eight,
    unresponsive,
)
from .points import DEEP, RATES, SETTINGS, studies_of
from .tables import (
    dominance,
    stepped,
    tuned,
)


def text(name: str) -> str:
    """A part of the page, from a file beside this one."""
    return Path(__file__).with_name(name).read_text("utf-8")


SHORT = {"duration": "30s"}


def quick_span(measured: str) -> dict[str, Any]:
    """A short run, in place of warm-up, duration and start."""
    return {"span": [["5s", measured, "0s"]]}


UDP = tuple(f"udp-{rate}" for rate in RATES)
EVERY = tuple(study for setting in SETTINGS for study in studies_of(setting))
SLOW = tuple(study for rate in SLOWER for study in studies_of(rate))
FAST = studies_of("1000")

PAPER = Paper(
    title="CP-AQM beside RED, CoDel, PIE, GSP and FQ-CoDel",
    citation=(
        "The conclusion of the [CP-AQM paper](cp-aqm.md) asks for a comparison with other AQM "
        "mechanisms, at other bandwidths, and with bandwidth that varies."
    ),
    found=text("found.md"),
    setup=text("setup.md"),
    statistics=text("statistics.md"),
    studies=(
        *(StudyFile(f"udp-{rate}", f"udp-{rate}.toml", Quick(2, {"duration": "8s"}))
          for rate in RATES),
        StudyFile("threshold", "threshold.toml", Quick(2, {"duration": "8s"})),
        StudyFile("burst", "burst.toml", Quick(2), ("queue",)),
        StudyFile("cellular", "cellular.toml", Quick(2, SHORT)),
        StudyFile("step", "step.toml", Quick(1), ("queue", "class")),
        *(StudyFile(f"tcp-{rate}", f"tcp-{rate}.toml", Quick(1, SHORT)) for rate in ("1", "10")),
        StudyFile("deep", "deep.toml", Quick(2, SHORT)),
        StudyFile("tcp-100", "tcp-100.toml", Quick(1, SHORT)),
        StudyFile("tuned", "tuned.toml", Quick(1, SHORT)),
        StudyFile("one-100", "one-100.toml", Quick(1, axes=quick_span("20s"))),
        StudyFile("tcp-1000", "tcp-1000.toml", Quick(1, axes=quick_span("10s"))),
        StudyFile("cubic-1000", "cubic-1000.toml", Quick(1, axes=quick_span("10s"))),
        StudyFile("reno-1000", "reno-1000.toml", Quick(1, axes=quick_span("10s"))),
        StudyFile("slow-1000", "slow-1000.toml", Quick(1, axes=quick_span("10s"))),
    ),
    figures=(
        *(Figure(str(number), f"Queue against utilization at {RATES[rate]}, with the 95 % regions "
                              "of both means. Left and high is good.", eight(rate),
                              studies_of(rate))
          for number, rate in enumerate(RATES, 1)),
        Figure("5", "Queue against utilization at 10 Mb/s. The other disciplines have room for "
                    "1000 packets.",
               eight(DEEP), (DEEP,)),
        Figure("6", "Unresponsive traffic of 1.5 times the link's rate, at exponential "
                    "intervals. Disciplines side by side, with 95 % intervals.", unresponsive, UDP),
        Figure("7", "The capacity is 100 Mb/s, 10 Mb/s from 30 s on, and 100 Mb/s again from 60 "
                    "s on; 16 TCP flows and 5 Mb/s of UDP. Means over the replications.",
                    capacity_steps, ("step",)),
        Figure("8", "A fading cell with a mean of 5.3 Mb/s: queue against utilization.", cell_phone,
               ("cellular",)),
        Figure("9", "At 30 s, 30 packets at 1 Gb/s join TCP flows on a link of 10 Mb/s. Means "
                    "over the replications.", bursts, ("burst",)),
    ),
    hypotheses=(
        Claim("V-1", '"It is unclear whether CP-AQM can be extended to cope with varying '
                     "bandwidth.\" (If R_CA follows the link's rate or the drain, the queue is "
                     "held when the rate falls from 100 to 10 Mb/s.)", held, ("step",)),
        Claim("V-2", '"The most intriguing feature": queue lengths very short for persistent '
                     "non-responsive traffic. (Shorter than with any other discipline.)",
                     intriguing,
              (*UDP, "threshold"), unresponsive_why),
        Claim("V-3", '"... while allowing mostly full utilization for TCP traffic". (At least 95 '
                     "% with 16 flows, up to 100 Mb/s.)", lambda data: mostly_full(data, SLOWER),
                     SLOW,
              lambda data: mostly_full_why(data, SLOWER)),
        Claim("V-4", "The same at 1 Gb/s.", lambda data: mostly_full(data, ["1000"]), FAST,
              lambda data: mostly_full_why(data, ["1000"])),
    ),
    sections=(
        Section("Where CP-AQM wins", text("wins.md"), None, (*EVERY, *UDP, "burst", "step"), WINS),
        Section("Where it does not", "", None,
                (*EVERY, *UDP, "tuned", "burst", "cellular", "step"), LOSES),
        Section("Which is better, by rate", text("dominance.md"), dominance, EVERY),
        Section("Other parameters", text("tuned.md"), tuned, ("tcp-100", "tuned")),
        Section("Capacity that varies", text("step.md"), stepped, ("step",)),
    ),
)  # fmt: skip
