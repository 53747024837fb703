"""The claims ASPQ-1 to ASPQ-6 and the authors' conclusions: words, what they allow, and reasons.

Those about table I are functions of a `View`, so that they can also be judged under another choice
of what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import polars as pl

from forebay.papers import Claim, Conclusion, Data, Part
from forebay.papers.points import mean, samples, surely
from forebay.stats import Interval

from .points import (
    ASPQ,
    BOXES,
    CHOICES,
    DELAYS,
    END,
    FEWEST,
    GOODPUT,
    LINK,
    MAIN,
    MOST,
    R2,
    SPQ,
    STEP,
    TABLE,
    TAKEN,
    WINDOWS,
    View,
    around_the_end,
    at_the_end,
    choices,
    ns_3_23,
    referee,
    stated,
    stated_gain,
)

LOW = "classes.low."
GIVEN_UP = LOW + "aborted"


def aspq_1(view: View) -> list[Part]:
    parts = []
    for rtt in view.rtts:
        for box, label in BOXES.items():
            value = stated(rtt, box)
            what, found = f"{label}, {rtt} ms", view.goodput(rtt, box)
            parts.append(
                Part(
                    what,
                    "within 5 %",
                    found,
                    0.95 * value,
                    1.05 * value,
                    "kbit/s",
                    value,
                    referee(rtt, box),
                )
            )
    return parts


def aspq_2(view: View) -> list[Part]:
    parts = [
        Part(f"ASPQ minus SPQ, {rtt} ms", "always positive", view.gain(rtt), 0, unit="kbit/s",
             stated=stated_gain(rtt))
        for rtt in view.rtts
    ]  # fmt: skip
    what = f"the difference at {MOST} ms minus that at {FEWEST} ms"
    grown = view.growth(FEWEST, MOST)
    parts.append(Part(what, "from 4.54 to 294.02 kbit/s: it grows", grown, 0, unit="kbit/s"))
    steps = [view.less((near, SPQ), (far, SPQ)) for near, far in pairwise(view.rtts)]
    what = f"steps of the round-trip time, of {len(steps)}, at which SPQ's goodput falls"
    return [*parts, Part(what, "it deteriorates", surely(steps), len(steps), len(steps))]


def over(
    data: Data, choice: str, box: str, first: float, last: float, take: Callable[[pl.Series], Any]
) -> Interval:
    """Throughput after the end of the high transfer, % of the link."""
    runs = around_the_end(data, box, first, last + 1e-9, choice)
    return mean([100 * float(take(run["throughput_bps"])) / LINK for run in runs])


def aspq_3(data: Data, choice: str = TAKEN) -> list[Part]:
    # Two round trips with transmission and queueing take about 90 ms, and the end is known to 50.
    back = 3 * STEP
    return [
        Part("ASPQ, least throughput of any 50 ms, from 150 ms to 5 s after the end",
             "promptly, approximately the maximum: nine tenths",
             over(data, choice, ASPQ, back, 5.0, pl.Series.min), 90, unit="%"),
        Part("SPQ, highest throughput of any 50 ms in the first 300 ms",
             "saturates the link for a short period",
             over(data, choice, SPQ, STEP, 0.3, pl.Series.max), 90, unit="%"),
        Part("SPQ, mean from 0.3 to 0.8 s", "after that starts slowly: below nine tenths",
             over(data, choice, SPQ, 0.3, 0.8, pl.Series.mean), high=90, unit="%"),
    ]  # fmt: skip


def frozen_change(data: Data, choice: str) -> Interval:
    """By how much the congestion window moves while the sender is frozen, in bytes."""
    table = at_the_end(data, choice).filter((pl.col("class") == "low"), box=ASPQ)
    # The high transfer lasts from 2 s to about 87 s.
    held = table.filter(pl.col("time_s").is_between(5.0, 80.0)).group_by("replication")
    spread = held.agg(pl.col("cwnd_bytes").max() - pl.col("cwnd_bytes").min())["cwnd_bytes"]
    return mean([float(each) for each in spread])


UNANSWERED = pl.col(LOW + "probes") - pl.col("boxes.trunk.probes_answered")
"""Window probes that the controller did not answer."""


def aspq_4(data: Data, choice: str = TAKEN) -> list[Part]:
    def count(key: str | pl.Expr) -> Interval:
        return data.interval(END, key, {"title": choice, "box": ASPQ})

    return [
        Part("change of its congestion window from 5 s to 80 s", "intact",
             frozen_change(data, choice), 0, 0, "B"),
        Part("timeouts", "none", count(LOW + "timeouts"), 0, 0),
        Part("retransmissions", "none", count(LOW + "retransmissions"), 0, 0),
        Part("window probes", "it probes", count(LOW + "probes"), 1),
        Part("probes that the controller did not answer", "none", count(UNANSWERED), 0, 0),
    ]  # fmt: skip


def ended(data: Data, box: str, size: str) -> Interval:
    return data.interval(R2, GIVEN_UP, {"box": box, "traffic.high.size": size})


def aspq_5(data: Data) -> list[Part]:
    parts = []
    for size in ("100MB", "150MB"):
        for box, paper, count in ((SPQ, "can be terminated", 1), (ASPQ, "is not", 0)):
            what = f"{BOXES[box]}, low connections given up, {size[:-2]} MB of high priority"
            parts.append(Part(what, paper, ended(data, box, size), count, count))
    return parts


def fallen(view: View, box: str) -> Interval:
    """Change of goodput from the shortest to the longest round-trip time, in %."""
    near, far = (samples(view.data, view.study, GOODPUT, view.at(rtt, box))
                 for rtt in (FEWEST, MOST))  # fmt: skip
    return mean([100 * (far[run] / near[run] - 1) for run in near if run in far])


def aspq_6(view: View) -> list[Part]:
    what = f"change of goodput from {FEWEST} to {MOST} ms"
    return [
        Part(f"{what}, ASPQ", "not highly affected", fallen(view, ASPQ), -10, unit="%"),
        Part(f"{what}, SPQ", "deteriorated significantly", fallen(view, SPQ), high=-20, unit="%"),
    ]


def why_2(data: Data) -> str:
    found = {str(each.choice): each for each in choices(data)}
    gains = {name: each.gain(FEWEST).mean for name, each in found.items()}
    quick = {box: 800e3 / found[QUICK].goodput(FEWEST, box).mean for box in BOXES}
    theirs = {box: 800e3 / stated(FEWEST, box) for box in BOXES}
    known = ns_3_23()
    itself = known["table1"][DELAYS[FEWEST]]
    other = [each - itself for each in known["at_10ms"].values()]
    return (
        f"At {FEWEST} ms, ASPQ gains nothing. Under strict priority, the packets in the device's "
        "own queue bridge the restart, while the link of a frozen sender is idle for a round "
        f"trip. The paper's {stated_gain(FEWEST)} kbit/s are 0.16 s in 169 s. The sender is not "
        f"the reason: under strict priority, ns-3.23 itself takes {itself:.2f} s, ours with its "
        f"quick first acknowledgment {quick[SPQ]:.2f} s, and the paper {theirs[SPQ]:.2f} s. With "
        "that acknowledgment, both of our transfers are faster than the paper's by about the "
        f"same time: ASPQ by {theirs[ASPQ] - quick[ASPQ]:.2f} s and SPQ by "
        f"{theirs[SPQ] - quick[SPQ]:.2f} s. ASPQ is {gains[QUICK]:.1f} kbit/s ahead then. The "
        "half second must come from the authors' setup, which they do not describe. In ns-3.23, "
        f"links of 7 ms at the receivers take {other[0]:.2f} s more. A first threshold of a "
        f"quarter takes {other[1]:.2f} s more, and room for 100 packets {other[2]:.2f} s. Over "
        f"all readings in study `choices`, the difference is {min(gains.values()):+.0f} to "
        f"{max(gains.values()):+.0f} kbit/s."
    )


QUICK = "its own quick first acknowledgment"


def table_falls() -> list[float]:
    """The same in table I, with ASPQ and with SPQ."""
    return [100 * (TABLE[MOST][at] / TABLE[FEWEST][at] - 1) for at in range(len(BOXES))]


def why_6(data: Data) -> str:
    paper = table_falls()
    large = View(data, WINDOWS, "1048576B")
    return (
        f"Table I contradicts this sentence: its own goodput falls by {-paper[0]:.0f} % with ASPQ "
        f"and by {-paper[1]:.0f} % with SPQ. From 110 ms on, the receiver's window of 128 KiB "
        "limits both, because no more can be sent in a round trip. With a window of 1 MiB (study "
        f"`windows`), ASPQ changes by {fallen(large, ASPQ).mean:+.1f} % and SPQ by "
        f"{fallen(large, SPQ).mean:+.1f} %. Then the sentence holds."
    )


def of(judge: Callable[[View], list[Part]]) -> Callable[[Data], list[Part]]:
    """The claim as judged by the main study."""
    return lambda data: judge(View(data))


AT_THE_END = {"ASPQ-3": aspq_3, "ASPQ-4": aspq_4}
JUDGED = {"ASPQ-1": aspq_1, "ASPQ-2": aspq_2, "ASPQ-6": aspq_6}
"""What is also judged under every other choice."""
CLAIMS = (
    Claim("ASPQ-1", "Table I: the average goodputs of ASPQ and SPQ at ten round-trip times.",
          of(aspq_1), (MAIN,)),
    Claim("ASPQ-2", 'The difference "always remained positive", 4.54 kbit/s at 30 ms and 294.02 at '
          '210; "with the increase of RTT the quality of [SPQ\'s] performance deteriorates".',
          of(aspq_2), (MAIN, CHOICES), why_2),
    Claim("ASPQ-3", 'Figure 5: ASPQ "leaves the persist mode promptly and reaches approximately '
          'the maximum available bandwidth"; SPQ "saturates the link for a short period of time, '
          'and after that starts slowly".', aspq_3, (END,)),
    Claim("ASPQ-4", '"By taking the low priority senders into persist mode, we are able to keep '
          'their congestion window intact"; the controller answers their probes.', aspq_4, (END,)),
    Claim("ASPQ-5", '"SPQ can cause termination of low priority connections" (after five '
          "retransmissions of a segment, as Windows has it); ASPQ does not.", aspq_5, (R2,)),
    Claim("ASPQ-6", '"In larger RTTs, ASPQ performance was not highly affected, but the '
          'performance of regular SPQ deteriorated significantly".', of(aspq_6), (MAIN, WINDOWS),
          why_6),
)  # fmt: skip


def better(view: View) -> list[Part]:
    each = [view.gain(rtt) for rtt in view.rtts]
    width = sum((gain.half_width or 0.0) ** 2 for gain in each) ** 0.5 / len(each)
    found = Interval(sum(gain.mean for gain in each) / len(each), width, each[0].samples)
    what = "ASPQ's goodput minus SPQ's, mean over the round-trip times"
    return [Part(what, "better", found, 0, unit="kbit/s")]


CONCLUSIONS = (
    Conclusion('ASPQ "provided a better performance for low priority traffic".', of(better),
               (MAIN,)),
    Conclusion("Frozen senders resume at full speed.", lambda data: aspq_3(data)[:1], (END,)),
    Conclusion("The congestion window is kept.", lambda data: aspq_4(data)[:1], (END,)),
    Conclusion("Connections are not terminated.",
               lambda data: [part for part in aspq_5(data) if part.what.startswith("ASPQ")],
               (R2,)),
    Conclusion("In larger round-trip times ASPQ is not highly affected.",
               lambda data: aspq_6(View(data))[:1], (MAIN,)),
)  # fmt: skip
