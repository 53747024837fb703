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
