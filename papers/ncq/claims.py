"""The claims NCQ-1 to NCQ-11 and the authors' conclusions: words, what they allow, and reasons.

Scenario 1's are functions of a `View`, so that they can also be judged under another choice of what
the paper leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl

from forebay import metrics
from forebay.papers import Claim, Conclusion, Data, Part, exactly
from forebay.papers.points import change, mean
from forebay.stats import Interval, proportion

from .analysis import case_1, case_3, splitting, why_splitting
from .points import (
    ASI,
    BEST,
    CALLS,
    FEW,
    FTP,
    LARGE_GOODPUT,
    MANY,
    MEAN_TIME,
    RATING,
    ROUTERS,
    SENSORS,
    SMALL_GOODPUT,
    SMALL_TIME,
    TAIL,
    WORST_TIME,
    SensorView,
    View,
    calls_at,
    choices,
    completed,
    deployed,
    level,
    potential,
    rated,
    share,
)

STATED_GAIN = 10.43


def ncq_4(view: View) -> list[Part]:
    return [
        Part(
            "goodput of small flows, 80 flows, NCQ 5 %, times drop-tail's",
            "significant gains, e.g. 10.43 times",
            view.ratio(SMALL_GOODPUT, "10 %", 80),
            2,
            stated=STATED_GAIN,
        ),
        Part(
            "goodput of congestive flows, 100 flows, NCQ 5 %, change",
            "not hurt, occasionally +7.6 %",
            view.change(LARGE_GOODPUT, "10 %", 100),
            -5,
            unit="%",
            stated=7.6,
        ),
        Part(
            "mean completion time of all, 80 flows, NCQ 5 % less drop-tail",
            "a positive impact",
            view.less(MEAN_TIME, "10 %", 80),
            high=0,
            unit="s",
        ),
        Part(
            "worst completion time, 90 flows, NCQ 3 % less drop-tail",
            "up to 24.8 s sooner",
            view.less(WORST_TIME, "10 %", 90, "NCQ 3 %"),
            high=0,
            unit="s",
            stated=-24.8,
        ),
    ]


def gains(data: Data) -> list[Interval]:
    """Gain of the small flows at 80 flows, under every start and timeout."""
    return [view.ratio(SMALL_GOODPUT, "10 %", 80) for view in choices(data, starts=True)]


def inside(data: Data) -> Part:
    """Whether the paper's gain lies among those that starts and timeouts give."""
    found = gains(data)
    below = sum(each.high is not None and each.high < STATED_GAIN for each in found)
    above = sum(each.low is not None and each.low > STATED_GAIN for each in found)
    what = f"of {len(found)} starts and timeouts: the fewer of those with surely less and more gain"
    return Part(what, "10.43 times lies among them", exactly(min(below, above)), 1)


def ncq_5(view: View) -> list[Part]:
    few, many = (view.ratio(SMALL_GOODPUT, kind, 80) for kind in ("10 %", "20 %"))
    width = math.hypot(few.half_width or math.inf, many.half_width or math.inf)
    return [
        Part(
            "gain of small flows' goodput at 80 flows: with 20 % of them less with 10 %",
            "gradually decreasing",
            Interval(many.mean - few.mean, width, few.samples),
            high=0,
        ),
        Part(
            "mean completion time of small flows, 20 %, 80 flows, NCQ 5 %, times drop-tail's",
            "remains significant",
            view.ratio(SMALL_TIME, "20 %", 80),
            high=0.8,
        ),
    ]


def dearest(data: Data) -> tuple[int, Interval]:
    """The number of flows at which congestive flows lose most, NCQ 5 %, and their change."""
    runs = data.runs("ftp").filter(pl.col("title") == "10 %")
    flows = runs["traffic.congestive.flows"] + runs["traffic.small.flows"]
    found = [(n, View(data).change(LARGE_GOODPUT, "10 %", n)) for n in sorted(set(flows))]
    return min(found, key=lambda each: each[1].mean)


def unhurt(data: Data) -> Part:
    what = "goodput of congestive flows, NCQ 5 %, change, the worst number of flows"
    return Part(what, "insignificant", dearest(data)[1], -5, unit="%")


def more_done(data: Data) -> list[int]:
    """Tasks completed at 30.5 s with 50 flows, NCQ 1 % less drop-tail, run by run."""
    done = completed(data, 30.5)
    return [one - other for one, other in zip(done["NCQ 1 %"], done[TAIL], strict=True)]


def at_30(data: Data) -> list[Part]:
    return [
        Part(
            "tasks completed at 30.5 s, 50 flows, NCQ 1 % less drop-tail",
            "on average more finish earlier, e.g. 10 against 7",
            mean(more_done(data)),
            0,
            stated=3,
        ),
        Part(
            "runs in which NCQ 1 % is ahead by 3 or more then",
            "one run: not rarer than one in forty",
            proportion([each >= 3 for each in more_done(data)]),
            2.5,
            unit="%",
        ),
    ]


def ncq_6(view: View) -> list[Part]:
    return [
        Part(
            "goodput of 100 kB flows, 80 flows, NCQ 5 %, change",
            "without noticeable impact",
            view.change(LARGE_GOODPUT, "short", 80),
            -5,
            unit="%",
        ),
        Part(
            "goodput of small flows beside them, times drop-tail's",
            "a significant improvement",
            view.ratio(SMALL_GOODPUT, "short", 80),
            1.3,
        ),
    ]


def ncq_7(view: SensorView) -> list[Part]:
    most = max((view.change(SENSORS, n) for n in view.flows), key=lambda each: each.mean)
    return [
        Part("goodput of the sensors, NCQ 5 %, largest change", "up to 92 %", most,
             50, 120, "%", stated=92),
        Part("goodput of the sensors, 50 flows, NCQ 5 %, change", "significant",
             view.change(SENSORS, 50), 5, unit="%"),
        Part("energy potential of the sensors, 50 flows, NCQ 5 % less drop-tail", "gains",
             view.less(potential(), 50), 0),
        Part("ASI of the system, flow by flow, 50 flows, NCQ 5 % less drop-tail",
             "appears fair: no lower", view.less("system.asi_by_flow", 50), 0),
        Part("goodput of FTP, 50 flows, NCQ 5 %, change", "no important loss",
             view.change(FTP, 50), -2, 2, "%"),
        Part("goodput of the sensors, 50 flows, NCQ 5 % against NCQ 1 %, change",
             "the value does not impact the results",
             view.change(SENSORS, 50, BEST, "NCQ 1 %"), -3, 3, "%"),
    ]  # fmt: skip


def call_change(data: Data, kind: str, key: str, n: int) -> Interval:
    return change(data, "calls", key, calls_at(kind, n, "NCQ 1 %"), calls_at(kind, n, TAIL))


def call_less(data: Data, kind: str, key: str, n: int) -> Interval:
    one, other = calls_at(kind, n, "NCQ 1 %"), calls_at(kind, n, TAIL)
    return data.difference("calls", key, one, other)


def ncq_8(data: Data) -> list[Part]:
    r = {label: data.interval("calls", RATING, calls_at(MANY, 50, label)) for label in LABELS}
    calls = zip(*(rated(data, 50, label) for label in LABELS), strict=True)
    steps = [level(b) - level(a) for a, b in calls if a is not None and b is not None]
    better, worse = sum(each > 0 for each in steps), sum(each < 0 for each in steps)
    poor = proportion([each < 60 for each in rated(data, 90, "NCQ 1 %") if each is not None])
    return [
        Part("R-factor of 50 calls beside 50 flows, drop-tail", "poor", r[TAIL],
             50, 60),
        Part("R-factor of 50 calls beside 50 flows, NCQ 1 %", "medium", r["NCQ 1 %"],
             70, 80),
        Part("calls of the 50 rated better with NCQ 1 %, less those rated worse, all runs",
             "more calls are rated better", exactly(better - worse), 1),
        Part("of 90 calls with NCQ 1 %, those rated poor or worse", "several are rated poor",
             poor, 1, unit="%"),
        Part("goodput of 50 calls beside 50 flows, change (figure 16)",
             "significant performance gains", call_change(data, MANY, CALLS, 50),
             5, unit="%"),
        Part("ASI of the calls, flow by flow, NCQ 1 % less drop-tail (figure 16)", "is improved",
             call_less(data, MANY, ASI, 50), 0),
        Part("goodput of FTP, 50 and 50, change (figure 16)", "not degraded",
             call_change(data, MANY, FTP, 50), -2, unit="%"),
        Part("R-factor of 5 calls beside 45 flows, NCQ 1 % less drop-tail",
             "a significant improvement", call_less(data, FEW, RATING, 50), 0),
    ]  # fmt: skip


LABELS = (TAIL, "NCQ 1 %")


def gained(data: Data, routers: int, key: str) -> list[float]:
    found: list[float] = deployed(data).filter(routers=ROUTERS[routers])[key].to_list()
    return found


def ncq_9(data: Data) -> list[Part]:
    ftp = min((mean(gained(data, n, "ftp")) for n in range(1, 5)), key=lambda each: each.mean)
    return [
        Part("goodput of FTP, any number of routers, largest mean loss",
             "only a minor impact", ftp, -5, 5, "%"),
        Part("runs with more than 100 % of goodput gained, 4 routers", "38 %",
             share(gained(data, 4, "calls"), 100), 20, 55, "%", stated=38),
        Part("runs whose R-factor gains up to 50 %, 3 routers", "88 %",
             share(gained(data, 3, "r"), 0, 50), 70, unit="%", stated=88),
        Part("runs whose ASI gains, flow by flow, 3 routers", "82 %",
             share(gained(data, 3, "asi"), 0), 65, unit="%", stated=82),
    ]  # fmt: skip


def attacked(name: str, label: str) -> dict[str, str]:
    return {"title": name, "discipline": label}


def ncq_10(data: Data) -> list[Part]:
    def less(name: str) -> Interval:
        one, other = attacked(name, "NCQ"), attacked(name, TAIL)
        return data.difference("attacks", RATING, one, other)

    gamer = "classes.gamer.goodput_bps"
    split, whole = attacked("a split", "NCQ"), attacked("none", "NCQ")
    return [
        Part("goodput of a bulk sender that splits its data, less without splitting, NCQ 5 %",
             "the overhead is not counterbalanced by the gains",
             data.difference("attacks", gamer, split, whole, scale=1e-3), high=0, unit="kb/s"),
        Part("R of calls, 10 Mbit/s of small packets, NCQ 5 % less drop-tail",
             "would disable the extra prioritization", less(SMALL_FLOOD),
             -2),
        Part("R of calls, 10 Mbit/s of large packets, NCQ 5 %",
             "many would not suffer",
             data.interval("attacks", RATING, attacked(LARGE_FLOOD, "NCQ")), 70),
        Part("R of calls, 10 Mbit/s of large packets, NCQ 5 % less drop-tail", "gains",
             less(LARGE_FLOOD), 0),
    ]  # fmt: skip


SMALL_FLOOD, LARGE_FLOOD = "10 Mbit/s, small", "10 Mbit/s, large"
PACKETS = ("120B", "240B", "480B", "1040B")


def limited(packet: str, label: str) -> dict[str, str]:
    return {"traffic.small.tcp.mtu": packet, "discipline": label}


def cost_of(data: Data, packet: str) -> Interval:
    return change(data, "limit", LARGE_GOODPUT, limited(packet, BEST), limited(packet, TAIL))


SPURIOUS = 100 * (
    (pl.col("classes.small.retransmissions") - pl.col("classes.small.dropped"))
    / pl.col("classes.small.offered")
)
"""Packets sent again that had not been lost, of those sent, %."""


def ncq_11(data: Data) -> list[Part]:
    short, long = cost_of(data, PACKETS[0]), cost_of(data, PACKETS[-1])
    width = math.hypot(short.half_width or math.inf, long.half_width or math.inf)
    extra = data.difference("limit", SPURIOUS, limited("120B", BEST), limited("120B", TAIL))
    return [
        Part("goodput of congestive flows, small packets of 120 B, change",
             "not significant up to 130 B", short, -5, unit="%"),
        Part("the same with 1040 B, less that with 120 B",
             "the cost starts to be significant",
             Interval(long.mean - short.mean, width, long.samples), high=0, unit="points"),
        Part("packets of small flows sent again without a loss, NCQ 5 % less drop-tail",
             "not significant", extra, high=1, unit="%"),
    ]  # fmt: skip


def why_exact(_: Data) -> str:
    return (
        "Equation 9 takes the square of the mean service time where the mean of the square "
        "belongs, and so understates the wait without priority. By the exact form, which agrees "
        "with simulation, priority costs the congestive class less than 2 % at any load of "
        "figure 1."
    )


def why_printed(_: Data) -> str:
    return (
        "kthresh as printed, lambda_1 / lambda times ncqthresh, favours 0.5 % of class 1 at 10 % "
        "and 0.05, and nothing is gained. The gains of the paper's figure 2 come with the "
        "algorithm's own share, ncqthresh of all packets."
    )


def spread(found: list[Interval]) -> str:
    means = [each.mean for each in found]
    return f"{min(means):.1f} to {max(means):.1f}"


def why_4(data: Data) -> str:
    found = {view.choice: view.ratio(SMALL_GOODPUT, "10 %", 80).mean for view in choices(data)}
    n, lost = dearest(data)
    alone, stray = (phase(data, "30 flows", each) for each in PHASES)
    return (
        "When flows start decides the gain, and the paper does not say it. Over ten starts and "
        f"timeouts it is {spread(gains(data))} times at 80 flows (study `starts`). With small "
        f"flows from 2 to 5 s it is {found['small from 2 to 5 s, RTO 0.2 s']:.1f}. If all begin "
        "together their small packets exceed the threshold while the queue is worst. Congestive "
        f"flows change by {lost.mean:+.1f} % at {n} flows. Nobody takes that from them: the last "
        "one ends as early, those ahead of it later. Equal flows with equal packets lock in "
        "behind a full buffer, and the same ones keep losing (phase effects, Floyd and Jacobson "
        "1991). Other packets loosen that: under NCQ the small ones get through and do. Beside "
        "1 % of stray packets (study `phase`) the congestive flows fare alike under both: "
        f"{stray.mean:+.1f} % (±{stray.half_width or 0:.1f}), alone {alone.mean:+.1f} %."
    )


PHASES = ("alone", "stray packets")


def phase(data: Data, load: str, beside: str, label: str = BEST) -> Interval:
    """Change of the congestive flows' goodput, alone or beside stray packets."""
    one, other = ({"title": f"{load}, {beside}", "discipline": each} for each in (label, TAIL))
    return change(data, "phase", LARGE_GOODPUT, one, other)


def why_5(data: Data) -> str:
    ahead = more_done(data)
    done = completed(data, 30.5)
    small = [sum(done[label]) / len(done[label]) for label in (TAIL, "NCQ 1 %")]
    return (
        "Congestive flows have the same to send and end together at about 40 s. How many are done "
        "at 30.5 s says how unequal they are, not how fast, and NCQ makes them "
        f"more equal. {small[0]:.1f} tasks are done under drop-tail and {small[1]:.1f} "
        f"under NCQ 1 %, over {len(ahead)} runs (study `tasks`). The paper shows one run, and in "
        f"{sum(each >= 3 for each in ahead)} of ours NCQ is ahead by three or more."
    )


def why_6(data: Data) -> str:
    found = {view.choice: ncq_6(view) for view in choices(data, starts=True)}
    low = {name: [part.found.mean for part in parts if part.found] for name, parts in found.items()}
    late, slow = low["small from 2 to 5 s, RTO 0.2 s"], low["small from 5 to 15 s, RTO 0.2 s"]
    return (
        "Here too the start decides (study `starts`). If all begin within a second, the eighty "
        "slow starts meet in a full buffer. What small flows no longer lose, the others do. "
        f"With small flows from 2 to 5 s the 100 kB flows change by {late[0]:+.1f} %, and the "
        f"small ones get {late[1]:.2f} times their goodput, as the paper says. From 5 s on the "
        f"others have ended ({slow[1]:.2f} times)."
    )


def lifted(data: Data, share_: float) -> tuple[float, float, float]:
    """Of 50 calls: R under drop-tail, R if `share_` of their packets neither wait nor are lost."""
    at = calls_at(MANY, 50, TAIL)
    loss = data.interval("calls", "classes.calls.loss", at).mean
    delay = data.interval("calls", "classes.calls.mean_delay_ms", at).mean
    wait = data.interval("calls", "classes.calls.mean_wait_ms", at).mean
    before = float(metrics.r_factor(delay + 20.0, loss))
    after = float(metrics.r_factor(delay - share_ * wait + 20.0, loss * (1 - share_)))
    return before, after, loss


def why_8(data: Data) -> str:
    at = calls_at(MANY, 50, TAIL)
    calls, ftp = (
        data.interval("calls", f"classes.{name}.offered", at).mean for name in ("calls", "ftp")
    )
    part = calls / (calls + ftp)
    before, after, loss = lifted(data, 0.01 / part)
    return (
        f"A bound: fifty calls send {part:.0%} of all packets, so that a threshold of 1 % favours "
        f"at most {0.01 / part:.1%} of theirs. Even if these neither waited nor were lost, the "
        f"loss would fall from {loss:.1%} to {loss * (1 - 0.01 / part):.1%}. R would rise by "
        f"{after - before:.1f} at most, whatever the network, and a class is 10 wide. "
        f"Larger thresholds do it (study `calls-threshold`): {over_threshold(data)}."
    )


def over_threshold(data: Data) -> str:
    labels = data.study("calls-threshold").runs["discipline"].unique(maintain_order=True)
    found = [(each, data.interval("calls-threshold", RATING, {"discipline": each}).mean)
             for each in labels]  # fmt: skip
    label, r = next(each for each in found if each[1] >= 70)
    return f"from {label} on R is medium ({r:.0f})"


def why_9(data: Data) -> str:
    calls = sorted(gained(data, 4, "calls"))
    loss = sorted(gained(data, 4, "loss"))
    return (
        "A bound: let a share f of the calls' packets be favoured and never lost. Then twice the "
        "goodput takes a loss under drop-tail above 1 / (1 + f), so above a half. "
        "Over our 50 loads the calls lose "
        f"{loss[len(loss) // 2]:.1f} % in the median and {loss[-1]:.1f} % at most under drop-tail. "
        f"They gain {calls[len(calls) // 2]:.1f} % and {calls[-1]:.1f} % (study `deployment`)."
    )


def why_10(data: Data) -> str:
    r = {
        label: data.interval("attacks", RATING, attacked(LARGE_FLOOD, label)).mean
        for label in (TAIL, "NCQ", "NCQ by flow")
    }
    return (
        f"R of the calls beside 10 Mbit/s of large packets is {r[TAIL]:.0f} with drop-tail, "
        f"{r['NCQ']:.0f} with NCQ and {r['NCQ by flow']:.0f} if flows, not sizes, are identified "
        "(study `attacks`)."
    )


def why_11(data: Data) -> str:
    found = ", ".join(f"{cost_of(data, each).mean:+.1f} % at {each[:-1]} B" for each in PACKETS)
    alone, stray = (phase(data, "80 flows, 1040 B", each, "NCQ 5 %, 1100 B") for each in PHASES)
    last = [
        data.interval("limit", "classes.small.mean_completion_s", limited(PACKETS[-1], label)).mean
        for label in (TAIL, BEST)
    ]
    return (
        f"The congestive flows' goodput changes by {found} (study `limit`). With 1040 B the small "
        "flows' data are 1.4 % of all, so that there is little to take. That the others gain is "
        "the phase effect of NCQ-4 the other way round. Under drop-tail the small flows last "
        f"{last[0]:.0f} s and loosen it for so long, under NCQ {last[1]:.0f} s. Beside 3 % of "
        f"stray packets (study `phase`) {alone.mean:+.1f} % become {stray.mean:+.1f} % "
        f"(±{stray.half_width or 0:.1f}). The paper does not say what its authors measured."
    )


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
        Part("R-factor of 5 calls beside 45 flows, NCQ 1 % less drop-tail", "better",
             call_less(data, FEW, RATING, 50), 0),
    ]  # fmt: skip


def harmless(data: Data) -> list[Part]:
    return [unhurt(data), ncq_4(View(data))[1], ncq_7(SensorView(data))[4]]


def contention(data: Data) -> list[Part]:
    key = "classes.congestive.loss"
    return [
        Part(f"loss of congestive flows, {n} flows, NCQ 5 % less drop-tail", "lower",
             View(data).less(key, "10 %", n), high=0)
        for n in (80, 100)
    ]  # fmt: skip


def satisfied(data: Data) -> list[Part]:
    return [
        Part(f"mean completion time of all, {n} flows, NCQ 5 % less drop-tail", "shorter",
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
