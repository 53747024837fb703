"""Why claims differ, each by the run that shows it."""

from __future__ import annotations

from forebay import metrics
from forebay.papers import Data
from forebay.papers.points import change
from forebay.stats import Interval

from .parts import LARGE_FLOOD, attacked, dearest, gained, gains, more_done, ncq_6
from .points import (
    BEST,
    LARGE_GOODPUT,
    MANY,
    PACKETS,
    RATING,
    SMALL_GOODPUT,
    TAIL,
    calls_at,
    choices,
    completed,
    cost_of,
    limited,
)


def why_exact(_: Data) -> str:
    return (
        "Equation 9 uses the square of the mean service time instead of the mean of the square, "
        "and so gives too short a wait without priority. With the exact form, which agrees with "
        "simulation, priority costs the congestive class less than 2 % at any load of figure 1."
    )


def why_printed(_: Data) -> str:
    return (
        "With kthresh as printed, lambda_1 / lambda times ncqthresh, 0.5 % of class 1 are "
        "favoured at 10 % and 0.05, and nothing is gained. The gains in the paper's figure 2 "
        "need the share that the algorithm uses, ncqthresh of all packets."
    )


def spread(found: list[Interval]) -> str:
    means = [each.mean for each in found]
    return f"{min(means):.1f} to {max(means):.1f}"


def why_4(data: Data) -> str:
    found = {view.choice: view.ratio(SMALL_GOODPUT, "10 %", 80).mean for view in choices(data)}
    n, lost = dearest(data)
    alone, stray = (phase(data, "30 flows", each) for each in PHASES)
    return (
        "The gain depends on when flows start, which the paper does not say. Over ten starting "
        f"times and timeouts, it is {spread(gains(data))} times at 80 flows (study `starts`). "
        f"With small flows from 2 to 5 s, it is {found['small from 2 to 5 s, RTO 0.2 s']:.1f}. If "
        "all start together, their small packets exceed the threshold while the queue is "
        f"longest. Congestive flows change by {lost.mean:+.1f} % at {n} flows. No other flow "
        "takes this from them: the last one ends as early, and those before it end later. Equal "
        "flows with equal packets synchronise behind a full buffer, and the same ones always "
        "lose (phase effects, Floyd and Jacobson 1991). Other packets weaken this effect: under "
        "NCQ, the small ones are sent and have that influence. Beside 1 % of stray packets "
        f"(study `phase`), the congestive flows do equally well under both: {stray.mean:+.1f} % "
        f"(±{stray.half_width or 0:.1f}), and {alone.mean:+.1f} % alone."
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
        "Congestive flows have the same amount to send and end together at about 40 s. How many "
        "have ended at 30.5 s shows how unequal they are, not how fast, and NCQ makes them more "
        f"equal. {small[0]:.1f} tasks have ended under drop-tail and {small[1]:.1f} under NCQ 1 "
        f"%, over {len(ahead)} runs (study `tasks`). The paper shows one run. In "
        f"{sum(each >= 3 for each in ahead)} of ours, NCQ is ahead by three or more."
    )


def why_6(data: Data) -> str:
    found = {view.choice: ncq_6(view) for view in choices(data, starts=True)}
    low = {name: [part.found.mean for part in parts if part.found] for name, parts in found.items()}
    late, slow = low["small from 2 to 5 s, RTO 0.2 s"], low["small from 5 to 15 s, RTO 0.2 s"]
    return (
        "Here, too, the starting times decide (study `starts`). If all flows start within a "
        "second, eighty slow starts meet in a full buffer, and the others lose what small flows "
        "no longer lose. With small flows from 2 to 5 s, the 100 kB flows change by "
        f"{late[0]:+.1f} %, and the small ones get {late[1]:.2f} times their goodput, as the "
        f"paper says. After 5 s, the others have ended ({slow[1]:.2f} times)."
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
        f"There is a bound: fifty calls send {part:.0%} of all packets, so a threshold of 1 % "
        f"favours at most {0.01 / part:.1%} of theirs. Even if these neither waited nor were "
        f"lost, the loss would fall from {loss:.1%} to {loss * (1 - 0.01 / part):.1%}. R would "
        f"rise by {after - before:.1f} at most, whatever the network, and a class is 10 wide. "
        f"Larger thresholds help (study `calls-threshold`): {over_threshold(data)}."
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
        "There is a bound. Assume that a share f of the calls' packets is favoured and never "
        "lost. Then twice the goodput requires a loss under drop-tail above 1 / (1 + f), so "
        f"above a half. Over our 50 loads, the calls lose {loss[len(loss) // 2]:.1f} % in the "
        f"median and {loss[-1]:.1f} % at most under drop-tail. They gain "
        f"{calls[len(calls) // 2]:.1f} % and {calls[-1]:.1f} % (study `deployment`)."
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
        f"The congestive flows' goodput changes by {found} (study `limit`). With 1040 B, the "
        "small flows' data are 1.4 % of all, so there is little to take. The others gain because "
        "of the phase effect of NCQ-4 in the other direction. Under drop-tail, the small flows "
        f"weaken it for the {last[0]:.0f} s that they last, and under NCQ for {last[1]:.0f} s. "
        f"Beside 3 % of stray packets (study `phase`), {alone.mean:+.1f} % become "
        f"{stray.mean:+.1f} % (±{stray.half_width or 0:.1f}). The paper does not say what its "
        "authors measured."
    )
