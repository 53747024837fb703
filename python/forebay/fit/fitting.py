"""From a measurement to what stands at the bottleneck, with intervals, or why it cannot be told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from forebay import _disk
from forebay._engine import ScenarioError
from forebay._scenario import Scenario
from forebay.fit.buffer import Held, Named, Queue, at_losses, buffer_of, held_of, top_of, usual_top
from forebay.fit.candidates import (
    SHARED,
    Judged,
    Rooms,
    Trials,
    candidates,
    judge,
    limit,
    marking,
)
from forebay.fit.course import mean_of
from forebay.fit.direct import HARDLY, Between, Direct, read_off, waits_of
from forebay.fit.features import features, ranks
from forebay.fit.found import Discipline, Estimate, Fitted
from forebay.fit.measurement import Measurement, Numbers, part_of
from forebay.fit.naming import CAPTURE, LITTLE, LOAD, loaded, named
from forebay.fit.readers import read
from forebay.fit.show import check_unedited, quantity, write
from forebay.fit.trial import UPLINK, How, Load, Route, document, measured

_FEW = 12
"""Packets of a queue that is never far from full."""
_STRANGE = 3.0
"""Mean square of standard deviations beyond which other senders are tried."""
_CONTROLS = ("cubic", "bbr", "new-reno")
"""Congestion controls of Linux, the usual one first."""
_PACKETS = 40_000
"""Full packets that the link sends in a candidate's run; five times as many if few are lost."""
_LOSSES = 60
"""Lost packets that are enough to see a discipline by."""
_LEAST_S = 6.0
"""Seconds of load that a candidate's run has at least, or 40 round trips if those are shorter."""
_PINGS, _OFTEN = 50, 0.95
"""Pings that show how long a queue grew, and the share of them that waited less than then."""
_COMPARED = ("fifo", "codel", "pie", "fq-codel", "cake")
"""What the scenario compares with what was found."""


def fit(
    paths: Sequence[str | Path],
    folder: str | Path,
    *,
    jobs: int | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Fitted:
    """Find the link behind a measurement.

    Finished runs are kept in `folder`; called again, it goes on where it was. `scenario.toml`,
    `results.json` and `report.html` are written at the end.

    Args:
        paths: files of one measurement, such as a capture, or ping's output and iperf3's report.
        folder: where runs and what was found are kept.
        jobs: runs at a time; one a core unless given.
        progress: called with what is being done and the share that is done.

    Raises:
        ScenarioError: a file cannot be read, or holds nothing that says anything of a link; or the
            scenario in the folder has been edited.
        OSError: results could not be written.

    Example:
        >>> found = fit.fit(["examples/home.pcap.gz"], "out/home-fit")
        >>> found.discipline.kind, found.estimates["buffer"].unit
        ('fifo', 'B')
    """
    tell = progress or (lambda _what, _done: None)
    check_unedited(Path(folder))
    tell("reading", 0.0)
    seen = read(paths)
    found = fitted(seen, Path(folder), jobs=jobs, progress=tell)
    write(found, Path(folder))
    return found


def fitted(
    seen: Measurement,
    folder: Path,
    *,
    jobs: int | None = None,
    progress: Callable[[str, float], None] = lambda _what, _done: None,
) -> Fitted:
    """Find the link behind what was read; only the runs are written."""
    progress("reading off", 0.02)
    direct = read_off(seen)
    if direct.rtt is None or direct.most <= 0 or seen.two_way:
        return _partly(seen, direct, folder)
    rate = direct.rate.value if direct.rate is not None else direct.most
    if direct.course:
        rate = mean_of(direct.course, *seen.load)
    part = part_of(seen, 0.0, _horizon(seen, rate, direct.rtt.value))
    waits = waits_of(part, direct.rtt.value, rate)
    chosen = ~part.trips.probes if (~part.trips.probes).any() else part.trips.probes
    begin, end = part.load
    chosen &= (part.trips.at > begin + 0.3 * (end - begin)) & (part.trips.at < end)
    usual = float(np.median(waits[chosen])) if chosen.any() else 0.0
    route = Route(rate, direct.rtt.value, {"kind": "fifo"}, _cross(direct, rate))
    route = replace(route, course=direct.course)
    share, bound = _wire(seen, direct, rate)
    lost = 0.0 if share is None else share.value
    held = held_of(seen, direct.rtt.value, rate)
    listed = candidates(
        None if direct.course else rate,
        rate,
        _rooms(seen, direct, rate, held),
        usual,
        loss=lost,
        classes=any(flow.dscp for flow in seen.flows),
    )
    if seen.ecn:
        listed = marking(listed, len(seen.marks.at) > 0)
    how, shown = How.of(seen), features(part, direct.rtt.value, rate)

    def tried(control: str, number: int) -> tuple[list[Judged], Load]:
        load = replace(load_of(part), congestion=control)

        def tell(now: float) -> None:
            done, share = 0.05 + 0.3 * number, 0.85 if number == 0 else 0.3
            progress("trying", min(0.9, done + share * now))

        with Trials(folder, load, route, how, jobs) as trials:
            return judge(shown, trials, listed, tell), load

    judged, load = tried(seen.congestion, 0)
    if judged[0].misfit > _STRANGE:
        more = [tried(each, at) for at, each in enumerate(_others(seen), 1)]
        judged, load = max([(judged, load), *more], key=lambda each: each[0][0].likelihood)
    seen = replace(seen, congestion=load.congestion)
    discipline = named(seen, direct, judged)
    best = judged[0].candidate
    if discipline.kind is not None:
        best = next(each.candidate for each in judged if each.candidate.kind == discipline.kind)
    queue, route = dict(best.queue), replace(route, loss=best.loss)
    progress("measuring what was found", 0.92)
    again = _again(route, queue, load, how)
    estimates = _estimates(seen, direct, discipline, usual)
    estimates["buffer"] = buffer_of(
        seen, direct, Named(discipline, best, judged), Queue(rate, held, again)
    )
    estimates["loss"] = _share(share if best.loss > 0 else bound)
    if queue["kind"] == "fifo" and (room_ := estimates["buffer"].value) is not None:
        queue["limit"] = limit(room_)
        again = _again(route, queue, load, how)
    whole = document(replace(route, queue=queue), load_of(seen))
    begin, end = seen.load
    whole |= {
        "title": f"As measured: {seen.name}",
        "warmup": f"{begin + min(5.0, 0.3 * (end - begin)):.3g}s",
        "compare": {"link": UPLINK, "disciplines": list(_COMPARED), "replications": 5},
    }
    scenario = Scenario.of(json.loads(json.dumps(whole)), "scenario.toml")
    return Fitted(seen, estimates, discipline, tuple(judged), scenario, again, folder)


def _others(seen: Measurement) -> tuple[str, ...]:
    """What else may control the senders, if it does not say."""
    known = seen.said_congestion or seen.vantage == "summary"
    return () if known else tuple(each for each in _CONTROLS if each != seen.congestion)


def _again(route: Route, queue: Mapping[str, Any], load: Load, how: How) -> Measurement | None:
    """What was found, measured as the link was; None if nothing gets over it in so short a time."""
    with suppress(ScenarioError):
        return measured(document(replace(route, queue=queue), load, 11), "as found", how)
    return None


def _partly(seen: Measurement, direct: Direct, folder: Path) -> Fitted:
    """What probes tell without a load, a load without probes, or loads of both directions."""
    what = "nothing loaded the link; transfer at the same time"
    if seen.two_way:
        what = "both directions were loaded, so that each delay may be of either queue; load one"
    elif direct.most > 0:
        what = "no delay was measured; ping at the same time"
    why = f"{what}, as forebay fit --measure says"
    units = {"rate": "bit/s", "rtt": "s", "buffer": "B", "loss": "", "cross": "bit/s"}
    found = {name: Estimate(name, unit, None, why=why) for name, unit in units.items()}
    if direct.rtt is not None:
        found["rtt"] = _rtt(seen, direct, 0.0)
    if direct.rate is not None:
        # Whether it filled the link, only delays tell.
        found["rate"] = Estimate("rate", "bit/s", None, low=direct.rate.low, why=why)
    _disk.make_folder(folder, follow=True)
    return Fitted(seen, found, Discipline(None, {}, 0.0, why), (), None, None, folder)


def load_of(seen: Measurement) -> Load:
    """The load of a measurement, as a scenario has it."""
    sizes = seen.trips.size[seen.trips.probes]
    size = int(np.median(sizes)) if len(sizes) else 84
    every = seen.probe_interval
    if every is not None:
        every = max(every, 0.005)
    return Load(seen.flows, seen.end, every, max(48, size), seen.congestion, seen.ecn)


def _horizon(seen: Measurement, rate: float, rtt: float) -> float:
    """How long a candidate's run is, in s."""
    begin, _ = seen.load
    least = min(_LEAST_S, max(2.5, 40 * rtt))
    most = max(least, 5 * _PACKETS * 1500 * 8 / rate)
    # A discipline shows in its losses.
    lost = seen.losses.at[seen.losses.at > begin + 0.3 * least]
    enough = float(lost[_LOSSES - 1]) - begin if len(lost) >= _LOSSES else most
    wanted = max(least, _PACKETS * 1500 * 8 / rate, min(enough, most))
    return min(seen.end, begin + wanted)


def _rooms(seen: Measurement, direct: Direct, rate: float, held: Held | None) -> Rooms:
    """What was in the queue when packets were lost."""
    events = at_losses(seen, direct, held, rate)
    if seen.vantage == "summary":
        events = _longest(seen, direct, rate)
    if not len(events):
        return Rooms(None, None, None)
    most = max(1500.0, float(np.max(events)))
    counted = most if held is None else max(1500.0, usual_top((held.least + held.most) / 2))
    return Rooms(max(1500.0, top_of(events)[0]), most, counted)


def _longest(seen: Measurement, direct: Direct, rate: float) -> Numbers:
    """Bytes that waited when most did: a report has no times of losses."""
    begin, end = seen.load
    trips = seen.trips
    inside = trips.probes & (trips.at > begin + 0.3 * (end - begin)) & (trips.at < end)
    if not len(seen.losses.at) or direct.rtt is None or np.count_nonzero(inside) < _PINGS:
        return np.empty(0)
    waits = waits_of(seen, direct.rtt.value, rate)[inside]
    longest: Numbers = waits[waits >= np.quantile(waits, _OFTEN)] * rate / 8
    return longest


def _cross(direct: Direct, rate: float) -> float:
    """Others' rate for candidates: none unless it is sure."""
    if (cross := direct.cross) is not None:
        return cross.value if cross.low > 0.01 * rate else 0.0
    if direct.steady or direct.course or direct.most < LITTLE * rate:
        return 0.0
    rest = rate - direct.most
    return rest if rest > 0.01 * rate else 0.0


def _wire(seen: Measurement, direct: Direct, rate: float) -> tuple[Between | None, Between | None]:
    """The share of packets lost, if the wire may be to blame, and a bound of what the wire loses.

    A wire loses the same share whatever waits, so that waits at losses are like all others; some
    disciplines come near to that, so that it is only tried. What is lost while little waits bounds
    the wire's share. Intervals are Wilson's.
    """
    if seen.vantage != "sender" or not seen.exact_losses or direct.rtt is None:
        return None, None
    from scipy.stats import binomtest

    waits = waits_of(seen, direct.rtt.value, rate)
    data = ~seen.trips.probes
    packet = 1500 * 8 / rate
    begin, end = seen.load
    settled = begin + 0.3 * (end - begin)
    arrived = seen.arrivals.sent
    known, lost = np.sort(arrived[arrived > settled]), seen.losses.at[seen.losses.at > settled]
    chosen = data & (seen.trips.at > settled)
    if np.count_nonzero(chosen) < 50 or len(known) < 300:
        return None, None
    sent, wait = seen.trips.at[chosen], waits[chosen]
    if np.quantile(wait, 0.999) < _FEW * packet:
        # So short a queue is never far from full.
        return None, None

    def between(some: int, all_: int) -> Between:
        ends = binomtest(some, all_).proportion_ci(method="wilson")
        return Between(some / all_, float(ends.low), float(ends.high))

    rank = ranks(seen, waits, lost).get("rank")
    alike = rank is not None and abs(rank - 0.5) < 2.5 * 0.29 / np.sqrt(len(lost))
    share = between(len(lost), len(lost) + len(known)) if alike else None
    little = max(0.7 * packet, 0.1 * float(np.quantile(wait, 0.9)))

    def short(times: Numbers) -> int:
        after = np.minimum(np.searchsorted(sent, times), len(sent) - 1)
        before = np.maximum(after - 1, 0)
        return int(np.count_nonzero((wait[after] < little) & (wait[before] < little)))

    passed, gone = short(known), short(lost)
    if passed + gone < 300:
        return share, None
    return share, Between(0.0, 0.0, between(gone, passed + gone).high)


def _estimates(
    seen: Measurement,
    direct: Direct,
    discipline: Discipline,
    usual: float,
) -> dict[str, Estimate]:
    found: dict[str, Estimate] = {}
    if direct.course:
        rates = [rate for _, rate in direct.course]
        found["rate"] = Estimate(
            "rate",
            "bit/s",
            mean_of(direct.course, *seen.load),
            min(rates),
            max(rates),
            course=direct.course,
        )
    elif direct.rate is None:
        why = f"{direct.why}{_remedy(seen, direct)}"
        found["rate"] = Estimate("rate", "bit/s", None, low=direct.most, why=why)
    elif seen.vantage == "summary":
        why = (
            "a report does not tell what others sent meanwhile; if that was nothing, the rate is "
            f"about {quantity(direct.rate.value, 'bit/s')}; {CAPTURE}"
        )
        found["rate"] = Estimate("rate", "bit/s", None, low=direct.rate.low, why=why)
    elif len(seen.flows) == 1 and discipline.kind not in SHARED:
        why = (
            "in a queue for each flow, another's transfer beside a single one looks like a slower "
            "link; load the link with four transfers (forebay fit --measure)"
        )
        found["rate"] = Estimate("rate", "bit/s", None, low=direct.rate.low, why=why)
    else:
        found["rate"] = Estimate(
            "rate", "bit/s", direct.rate.value, direct.rate.low, direct.rate.high
        )
    found["rtt"] = _rtt(seen, direct, usual)
    cross = direct.cross
    if seen.vantage == "summary":
        why = "a report does not tell; a capture does"
        found["cross"] = Estimate("cross", "bit/s", None, why=why)
    elif found["rate"].value is None:
        why = "the link's rate cannot be told"
        found["cross"] = Estimate("cross", "bit/s", None, why=why)
    elif cross is None:
        why = "the load did not keep the link busy"
        found["cross"] = Estimate("cross", "bit/s", None, why=why)
    else:
        found["cross"] = Estimate("cross", "bit/s", cross.value, cross.low, cross.high)
    return found


def _remedy(seen: Measurement, direct: Direct) -> str:
    """What would tell the rate, of what was not done."""
    if not loaded(seen):
        return f"; {LOAD}"
    # If the load does not fill the link, a capture tells no more.
    return f"; {CAPTURE}" if seen.vantage == "summary" and direct.busy >= HARDLY else ""


def _rtt(seen: Measurement, direct: Direct, usual: float) -> Estimate:
    rtt = direct.rtt
    assert rtt is not None
    trips = seen.trips
    begin, _ = seen.load
    idle = int(np.count_nonzero(trips.at < begin))
    if idle < 3 and direct.busy > 0.97 and usual > 0.05 * rtt.value:
        # The queue may never have been empty.
        least = float(np.min(waits_of(seen, 0.0, direct.most)))
        why = "the queue may never have been empty; ping for 5 s before the load begins"
        return Estimate("rtt", "s", None, high=least, why=why)
    return Estimate("rtt", "s", rtt.value, rtt.low, rtt.high)


def _share(found: Between | None) -> Estimate:
    if found is None:
        why = (
            "too few packets passed while none waited; record at the sender, some time without load"
        )
        return Estimate("loss", "", None, why=why)
    return Estimate("loss", "", found.value, found.low, found.high)
