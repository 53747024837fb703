# mypy: allow-untyped-defs, allow-untyped-calls
"""What the scenarios say of the paper's claims, and why."""

import math

import polars as pl

from forebay import stats
from forebay.papers import Part

from .scenarios import (
    CALL_VARIANTS,
    CALLS_AT,
    FEW_AT,
    ROUTERS,
    TAIL,
    VARIANTS,
    deployed,
    ftp_at,
    known,
    share,
)


def ratio(data, study, key, first, second, percent=False):
    """Mean of first over second, run by run, with its interval."""
    one, other = (
        dict(data.runs(study, where).select("replication", key).iter_rows())
        for where in (first, second)
    )
    both = [one[r] / other[r] for r in one if other.get(r)]
    return stats.interval([100 * (value - 1) if percent else value for value in both])


def ftp(share, n, label):
    return {**ftp_at(share)[n // 10 - 1], "discipline": label}


SMALL_GOODPUT = "classes.small.transfer_goodput_bps"
LARGE_GOODPUT = "classes.congestive.transfer_goodput_bps"
SMALL_TIME = "classes.small.mean_completion_s"


def scenario_1(data):
    best, tail = ftp(0.1, 80, "NCQ 5 %"), ftp(0.1, 80, TAIL)
    crowd, crowd_tail = ftp(0.1, 100, "NCQ 5 %"), ftp(0.1, 100, TAIL)
    late, late_tail = ftp(0.1, 90, "NCQ 3 %"), ftp(0.1, 90, TAIL)
    return [
        Part(
            "goodput of small flows, 80 flows, NCQ 5 % over drop-tail",
            "10.43 times (read: 7 to 14)",
            ratio(data, "ftp", SMALL_GOODPUT, best, tail),
            7,
            14,
        ),
        Part(
            "goodput of congestive flows, 100 flows, NCQ 5 %, change",
            "not hurt, +7.6 % (read: no less than -5 %)",
            ratio(data, "ftp", LARGE_GOODPUT, crowd, crowd_tail, True),
            low=-5,
            unit="%",
        ),
        Part(
            "mean completion time of all, 80 flows, NCQ 5 % - drop-tail",
            "shorter",
            data.difference("ftp", "system.mean_completion_s", best, tail),
            high=0,
            unit="s",
        ),
        Part(
            "worst completion time, 90 flows, NCQ 3 % - drop-tail",
            "24.8 s sooner (read: sooner)",
            data.difference("ftp", "system.max_completion_s", late, late_tail),
            high=0,
            unit="s",
        ),
    ]


def why_scenario_1(data):
    tail, best = (data.runs("ftp", ftp(0.1, 80, label)) for label in (TAIL, "NCQ 5 %"))
    arriving = data.runs("overflow", {**ftp_at(0.1)[7], "discipline": "drop arriving"})
    mean = lambda frame, key: float(frame[key].mean())  # noqa: E731
    return (
        "The gain is there and grows with the flows, but not to ten times in the mean over runs. "
        f"At 80 flows a small flow loses {mean(tail, 'classes.small.loss'):.0%} of its packets "
        f"under drop-tail and {mean(best, 'classes.small.loss'):.0%} under NCQ 5 %; its task takes "
        f"{mean(tail, SMALL_TIME):.1f} s and {mean(best, SMALL_TIME):.1f} s. How much is gained "
        "depends on what a full buffer drops, which the paper does not say: if favoured packets "
        "push out normal ones, as in ns-2's priority queue, the small flows' goodput is "
        f"{mean(best, SMALL_GOODPUT) / mean(tail, SMALL_GOODPUT):.1f} times drop-tail's, if the "
        "arriving packet is dropped "
        f"{mean(arriving, SMALL_GOODPUT) / mean(tail, SMALL_GOODPUT):.1f} times (study "
        "`overflow`). The paper shows one run a point; a single run's gain varies from "
        f"{min(singles(data)):.1f} to {max(singles(data)):.1f} times over ours, for eight flows "
        "whose few timeouts decide."
    )


def singles(data):
    one, other = (
        data.runs("ftp", ftp(0.1, 80, label)).sort("replication")[SMALL_GOODPUT]
        for label in ("NCQ 5 %", TAIL)
    )
    return (one / other).to_list()


def more_small(data):
    gain = {
        share: ratio(data, study, SMALL_GOODPUT, ftp(share, 80, "NCQ 5 %"), ftp(share, 80, TAIL))
        for study, share in (("ftp", 0.1), ("ftp-20", 0.2))
    }
    lesser = stats.Interval(
        gain[0.2].mean - gain[0.1].mean,
        math.hypot(gain[0.2].half_width or math.inf, gain[0.1].half_width or math.inf),
        gain[0.1].samples,
    )
    table = data.table("tasks", "class").filter(pl.col("time_s") <= 30.5)
    done = (
        table.group_by("discipline", "replication")
        .agg(pl.col("completed").sum())
        .sort("replication")
    )
    at = {label: done.filter(pl.col("discipline") == label)["completed"] for label in VARIANTS}
    return [
        Part(
            "gain of small flows' goodput at 80 flows: 20 % of them less 10 %",
            "decreasing",
            lesser,
            high=0,
        ),
        Part(
            "mean completion time of small flows, 20 %, 80 flows, NCQ 5 % over drop-tail",
            "remains significant (read: 0.8 or less)",
            ratio(data, "ftp-20", SMALL_TIME, ftp(0.2, 80, "NCQ 5 %"), ftp(0.2, 80, TAIL)),
            high=0.8,
        ),
        Part(
            "tasks completed at 30.5 s, 50 flows, NCQ 1 % - drop-tail",
            "10 - 7 (read: more)",
            stats.interval((at["NCQ 1 %"] - at[TAIL]).to_list()),
            low=0,
        ),
    ]


def why_more_small(data):
    table = data.table("tasks", "class")
    runs = table["replication"].n_unique()

    def ended(label, name, time):
        at = (
            (pl.col("discipline") == label) & (pl.col("class") == name) & (pl.col("time_s") <= time)
        )
        return table.filter(at)["completed"].sum() / runs

    at = {
        (label, name, time): ended(label, name, time)
        for label in (TAIL, "NCQ 1 %")
        for name in ("small", "congestive")
        for time in (20, 30.5, 40)
    }
    both = lambda name, time: (  # noqa: E731
        f"{at[TAIL, name, time]:.1f} and {at['NCQ 1 %', name, time]:.1f}"
    )
    return (
        f"Of the five small tasks {both('small', 20)} have ended after 20 s under drop-tail and "
        f"NCQ 1 %, {both('small', 30.5)} after 30.5 s. What differs are the 45 congestive ones: "
        f"{both('congestive', 30.5)} after 30.5 s, {both('congestive', 40)} after 40 s. They share "
        "the same rate either way and have the same to send, so that most end together at about "
        "40 s; how many are done at 30.5 s says how unequal they are, not how fast. (Study "
        "`tasks`.)"
    )


def short_flows(data):
    best, tail = ftp(0.1, 80, "NCQ 5 %"), ftp(0.1, 80, TAIL)
    return [
        Part(
            "goodput of 100 kB flows, 80 flows, NCQ 5 %, change",
            "no noticeable impact (read: no less than -5 %)",
            ratio(data, "ftp-short", LARGE_GOODPUT, best, tail, True),
            low=-5,
            unit="%",
        ),
        Part(
            "goodput of small flows, 80 flows, NCQ 5 % over drop-tail",
            "significant improvement (read: 1.3 times or more)",
            ratio(data, "ftp-short", SMALL_GOODPUT, best, tail),
            low=1.3,
        ),
    ]


def why_short(data):
    tail, best = (data.runs("ftp-short", ftp(0.1, 80, label)) for label in (TAIL, "NCQ 5 %"))
    time = lambda frame: float(frame["classes.congestive.mean_completion_s"].mean())  # noqa: E731
    return (
        f"A flow of 100 kB takes {time(tail):.2f} s under drop-tail and {time(best):.2f} s under "
        "NCQ 5 %: what the small flows no longer lose, the others do."
    )


SENSOR_GOODPUT = "classes.sensors.goodput_bps"


def sensors(data):
    at = lambda n, label: {"flows": n, "discipline": label}  # noqa: E731
    gains = [
        ratio(data, "sensors", SENSOR_GOODPUT, at(n, "NCQ 5 %"), at(n, TAIL), True)
        for n in data.runs("sensors")["flows"].unique().sort()
    ]
    best = max(gains, key=lambda each: each.mean)
    return [
        Part(
            "goodput of the sensors, NCQ 5 %, largest change",
            "up to +92 % (read: 50 to 120)",
            best,
            50,
            120,
            "%",
        ),
        Part(
            "goodput of the sensors, 50 flows, NCQ 5 %, change",
            "significant (read: 5 % or more)",
            ratio(data, "sensors", SENSOR_GOODPUT, at(50, "NCQ 5 %"), at(50, TAIL), True),
            low=5,
            unit="%",
        ),
        Part(
            "energy potential of the sensors, 50 flows, NCQ 5 % - drop-tail",
            "better",
            data.difference("sensors", sensor_potential(), at(50, "NCQ 5 %"), at(50, TAIL)),
            low=0,
        ),
        Part(
            "goodput of FTP, 50 flows, NCQ 5 %, change",
            "no important loss (read: within 2 %)",
            ratio(
                data, "sensors", "classes.ftp.goodput_bps", at(50, "NCQ 5 %"), at(50, TAIL), True
            ),
            -2,
            2,
            "%",
        ),
        Part(
            "goodput of the sensors, 50 flows, NCQ 5 % against NCQ 1 %",
            "the value does not matter beyond 20 flows (read: within 3 %)",
            ratio(data, "sensors", SENSOR_GOODPUT, at(50, "NCQ 5 %"), at(50, "NCQ 1 %"), True),
            -3,
            3,
            "%",
        ),
    ]


def sensor_potential():
    """Energy potential with what the sensors send as the largest throughput."""
    sent, got = pl.col("classes.sensors.sent_bps"), pl.col(SENSOR_GOODPUT)
    return 1 - 0.5 * (sent - got) / sent


def calls(data):
    at = lambda n, label: {**CALLS_AT[n // 10 - 1], "discipline": label}  # noqa: E731
    few = lambda n, label: {**FEW_AT[n // 10 - 1], "discipline": label}  # noqa: E731
    r = "classes.calls.r_factor"
    return [
        Part(
            "R-factor of 50 calls beside 50 flows, drop-tail",
            "poor (50 to 60)",
            data.interval("calls", r, at(50, TAIL)),
            50,
            60,
        ),
        Part(
            "R-factor of 50 calls beside 50 flows, NCQ 1 %",
            "medium (70 to 80)",
            data.interval("calls", r, at(50, "NCQ 1 %")),
            70,
            80,
        ),
        Part(
            "goodput of FTP, 50 and 50, NCQ 1 %, change",
            "not degraded (read: no less than -2 %)",
            ratio(data, "calls", "classes.ftp.goodput_bps", at(50, "NCQ 1 %"), at(50, TAIL), True),
            low=-2,
            unit="%",
        ),
        Part(
            "R-factor of 5 calls beside 45 flows, NCQ 1 % - drop-tail",
            "better",
            data.difference("calls-few", r, few(50, "NCQ 1 %"), few(50, TAIL)),
            low=0,
        ),
    ]


def why_calls(data):
    at = lambda n, label: {**CALLS_AT[n // 10 - 1], "discipline": label}  # noqa: E731
    mean = lambda label, key: float(data.runs("calls", at(50, label))[key].mean())  # noqa: E731
    offered, loss = "classes.calls.offered", "classes.calls.loss"
    part = mean(TAIL, offered) / (mean(TAIL, offered) + mean(TAIL, "classes.ftp.offered"))
    few = {
        label: data.runs("calls-few", {**FEW_AT[4], "discipline": label}) for label in CALL_VARIANTS
    }
    r = {label: float(frame["classes.calls.r_factor"].mean()) for label, frame in few.items()}
    return (
        f"Fifty calls send {part:.0%} of all packets, so that a threshold of 1 % favours one of "
        f"{part * 100:.0f} of theirs: loss falls from {mean(TAIL, loss):.1%} to "
        f"{mean('NCQ 1 %', loss):.1%}. The rule of section 3 cannot lift fifty calls by a class at "
        "that threshold, whatever the network. With one call to nine FTP flows (study "
        f"`calls-few`), at 50 flows, R goes from {r[TAIL]:.1f} to {r['NCQ 1 %']:.1f}. Fifty calls "
        f"become medium at larger thresholds (study `calls-threshold`): {over_threshold(data)}."
    )


def over_threshold(data):
    labels = data.study("calls-threshold").runs["discipline"].unique(maintain_order=True)
    r = {
        label: data.interval("calls-threshold", "classes.calls.r_factor", {"discipline": label})
        for label in labels
    }
    return "R is " + ", ".join(f"{each.mean:.0f} at {label}" for label, each in r.items())


def deployment(data):
    found = deployed(data)
    of = lambda n, key: found.filter(pl.col("routers") == ROUTERS[n])[key].to_list()  # noqa: E731
    worst = min((known(of(n, "ftp")) for n in range(1, 5)), key=lambda each: each.mean)
    return [
        Part(
            "goodput of FTP, any number of routers, largest mean loss",
            "minor impact (read: within 5 %)",
            worst,
            -5,
            5,
            "%",
        ),
        Part(
            "runs with more than 100 % of goodput gained, 4 routers",
            "38 % (read: 20 to 55)",
            share(of(4, "calls"), 100),
            20,
            55,
            "%",
        ),
        Part(
            "runs whose R-factor gains up to 50 %, 3 routers",
            "88 % (read: 70 or more)",
            share(of(3, "r"), 0, 50),
            low=70,
            unit="%",
        ),
        Part(
            "runs whose ASI gains, flow by flow, 3 routers",
            "82 % (read: 65 or more)",
            share(of(3, "asi"), 0),
            low=65,
            unit="%",
        ),
    ]


def why_deployment(data):
    found = deployed(data)
    four = found.filter(pl.col("routers") == ROUTERS[4])
    three = found.filter(pl.col("routers") == ROUTERS[3])
    return (
        "Calls are datagrams: twice the goodput needs a loss of half of them under drop-tail. Over "
        f"our 50 loads the calls gain {four['calls'].median():.1f} % of goodput in the median and "
        f"{four['calls'].max():.1f} % at most with four routers. With three, R gains "
        f"{three['r'].median():.1f} % in the median; it falls or stays in "
        f"{share(three['r'].to_list(), high=0).mean:.0f} % of the runs, and the index in "
        f"{share(three['asi'].to_list(), high=0).mean:.0f} % (as printed: "
        f"{share(three['asi_printed'].to_list(), high=0).mean:.0f} %). (Study `deployment`.)"
    )
