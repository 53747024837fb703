"""The claims NCQ-1 to NCQ-11 and the authors' conclusions, in the paper's words."""

from __future__ import annotations

from collections.abc import Callable

from forebay.papers import Claim, Conclusion, Data, Part

from .analysis import case_1, case_3, splitting, why_splitting
from .parts import (
    at_30,
    call_less,
    inside,
    ncq_4,
    ncq_5,
    ncq_6,
    ncq_7,
    ncq_8,
    ncq_9,
    ncq_10,
    ncq_11,
    unhurt,
)
from .points import FEW, MEAN_TIME, RATING, SensorView, View
from .reasons import why_4, why_5, why_6, why_8, why_9, why_10, why_11, why_exact, why_printed


def of(judge: Callable[[View], list[Part]]) -> Callable[[Data], list[Part]]:
    """The claim as judged by the main study."""
    return lambda data: judge(View(data))


JUDGED = {"NCQ-4": ncq_4, "NCQ-5": ncq_5, "NCQ-6": ncq_6}
"""What is also judged under every other choice; of NCQ-5 what does not need tasks over time."""
WORDS_1 = (
    'Figure 1: with 10 % of non-congestive packets there is "a slight increase" for the '
    'congestive above 0.6 and "a significant improvement" for the others, with 20 % the impact '
    '"appears significant" above 0.3; the system\'s delay "remains statistically the same"'
)
WORDS_2 = (
    'Figure 2: with ncqthresh 0.01 to 0.05 the impact on congestive delay is "almost-zero"; below '
    '23 % nothing changes, then there are "significant gains", more for higher values'
)
CLAIMS = (
    Claim("NCQ-1 printed", f"{WORDS_1}. By equation 9 as printed.", case_1(False)),
    Claim(
        "NCQ-1 exact", "The same by the exact form of equation 9.", case_1(True), reason=why_exact
    ),
    Claim("NCQ-2 printed", f"{WORDS_2}. kthresh as printed.", case_3(True), reason=why_printed),
    Claim("NCQ-2 exact", "The same with the share that the algorithm favours.", case_3(False)),
    Claim(
        "NCQ-3",
        'Figures 3 to 6: bulk applications "should, in general, avoid splitting their packets"; at '
        "0.60 that costs 240 and 371 % (1 kB), 143 and 253 % (500 B), -21 and 19 % (140 B) of "
        "time, without a threshold and with 0.05; 140 B pays from 0.48 without one.",
        splitting,
        reason=why_splitting,
    ),
    Claim(
        "NCQ-4",
        'Figures 8 and 9: small flows "achieve significant performance gains (e.g., 10.43 times)"; '
        "congestive flows are not hurt (+7.6 % at 100 flows); average and worst completion improve "
        "(up to 24.8 s).",
        lambda data: [inside(data), *ncq_4(View(data)), unhurt(data)],
        ("ftp", "starts", "phase"),
        why_4,
    ),
    Claim(
        "NCQ-5",
        'Figures 10 and 11: with 20 % of small flows the benefit "is gradually decreasing", '
        'their completion time "remains significant"; "on average, more applications finish '
        'earlier", at 30.5 s 10 with NCQ 1 % and 7 with drop-tail.',
        lambda data: [*ncq_5(View(data)), *at_30(data)],
        ("ftp", "tasks"),
        why_5,
    ),
    Claim(
        "NCQ-6",
        'Figure 12: with congestive flows of 100 kB "a significant improvement in terms of goodput '
        'without noticeable impact" on these.',
        of(ncq_6),
        ("ftp", "starts"),
        why_6,
    ),
    Claim(
        "NCQ-7",
        'Figures 14 and 15: sensors gain "up to 92%" of goodput, and energy efficiency; FTP '
        'suffers no "important performance loss"; the system "appears fair"; ncqthresh does not '
        "matter beyond 20 flows.",
        lambda data: ncq_7(SensorView(data)),
        ("sensors",),
    ),
    Claim(
        "NCQ-8",
        "Figures 16 and 17: calls gain goodput and fairness, FTP is not degraded; of 50 calls "
        '"all are rated poor; NCQ improves their rating to medium"; "for more than 80 calls, '
        'several are rated poor".',
        ncq_8,
        ("calls", "calls-threshold"),
        why_8,
    ),
    Claim(
        "NCQ-9",
        'Figures 19 and 20: "only a minor impact" on congestive flows; with 4 routers more than '
        "100 % of goodput gained in 38 % of the runs; with 3, up to 50 % of R in 88 %, and ASI "
        "improves in 82 %.",
        ncq_9,
        ("deployment",),
        why_9,
    ),
    Claim(
        "NCQ-10",
        'Section 4.2: who sends small packets at a high rate gains nothing; a flood of them "would '
        'disable the extra prioritization"; if it "uses large packets, many non-congestive '
        'applications would not suffer".',
        ncq_10,
        ("attacks",),
        why_10,
    ),
    Claim(
        "NCQ-11",
        'Footnotes 2 and 3: for packets longer than 130 B "the cost of prioritization for the '
        'congestive flows starts to be significant"; re-ordered packets are "not significant".',
        ncq_11,
        ("limit", "phase"),
        why_11,
    ),
)


def benefits(data: Data) -> list[Part]:
    return [
        ncq_4(View(data))[0],
        ncq_7(SensorView(data))[1],
        Part("R-factor of 5 calls beside 45 flows, NCQ 1 % minus drop-tail", "better",
             call_less(data, FEW, RATING, 50), 0),
    ]  # fmt: skip


def harmless(data: Data) -> list[Part]:
    return [unhurt(data), ncq_4(View(data))[1], ncq_7(SensorView(data))[4]]


def contention(data: Data) -> list[Part]:
    key = "classes.congestive.loss"
    return [
        Part(f"loss of congestive flows, {n} flows, NCQ 5 % minus drop-tail", "lower",
             View(data).less(key, "10 %", n), high=0)
        for n in (80, 100)
    ]  # fmt: skip


def satisfied(data: Data) -> list[Part]:
    return [
        Part(f"mean completion time of all, {n} flows, NCQ 5 % minus drop-tail", "shorter",
             View(data).less(MEAN_TIME, "10 %", n), high=0, unit="s")
        for n in (80, 100)
    ]  # fmt: skip


CONCLUSIONS = (
    Conclusion(
        'A limited prioritization "benefits non-congestive flows significantly".',
        benefits,
        ("ftp", "sensors", "calls"),
    ),
    Conclusion(
        'It causes no "statistically important Goodput losses to the congestive flows".',
        harmless,
        ("ftp", "sensors", "calls"),
    ),
    Conclusion('It "reduces contention among the congestive flows".', contention, ("ftp",)),
    Conclusion('It results in "satisfying more users".', satisfied, ("ftp",)),
)
