"""What an expert would remark about a scenario before it is run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay._advice.network import Entry, Network, bytes_of, number
from forebay._advice.toml import inline
from forebay._advice.words import listed, verb
from forebay._comparison import BY_TAIL_DROP
from forebay._scenario import TODAY, Scenario, lookup

FEWEST_ROUND_TRIPS = 100
"""Round trips that measuring should last."""
WARM_UP_ROUND_TRIPS = 10
LONG_BUFFER_S = 1.0
SHORTEST_INTERVAL = 0.9
"""Of the round trip: a shorter interval is remarked."""
CODEL = ("codel", "fq-codel")
PIE = ("pie", "fq-pie")
PIE_RTT_S = 0.2
"""Round trip above which PIE's time between updates costs throughput."""
PIE_UPDATE = 0.15
"""Time between updates, of a round trip: the default at 100 ms (measured: docs/advice.md)."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field that should have another value."""

    path: str
    """In the scenario, or in the discipline's queue table."""
    value: Any
    discipline: str | None = None
    """Label of the discipline in whose queue table the field is."""


@dataclass(frozen=True, slots=True)
class Hint:
    """One remark and what to change."""

    kind: str
    """Stable name of what was found, for programs."""
    text: str
    changes: tuple[Change, ...] = ()
    before: bool = True
    """Whether the scenario alone shows it, without results."""

    @property
    def remedy(self) -> str:
        """The lines to change; empty if no single value would do."""
        by_place: dict[str | None, list[str]] = {}
        for each in self.changes:
            line = f"{each.path} = {inline(each.value)}"
            by_place.setdefault(each.discipline, []).append(line)
        own = by_place.pop(None, [])
        lines = [f"set {listed(own)}"] if own else []
        by_lines: dict[str, list[str]] = {}
        for label, settings in by_place.items():
            by_lines.setdefault(", ".join(settings), []).append(str(label))
        lines += [f"give {listed(labels)} {settings}" for settings, labels in by_lines.items()]
        return "; ".join(lines)

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "kind": self.kind,
            "text": self.text,
            "changes": [
                {"path": each.path, "value": each.value}
                | ({} if each.discipline is None else {"discipline": each.discipline})
                for each in self.changes
            ],
        }


UNFIT = ("interval-below-rtt", "pie-for-short-rtt", "target-below-packet", "ecn-not-marked")
"""Remarks after which a comparison is of settings rather than of disciplines."""


@dataclass(frozen=True, slots=True)
class Discipline:
    """A discipline that is put on the link."""

    label: str
    queue: Mapping[str, Any]
    """As written."""
    effective: Mapping[str, Any]
    """Every default filled in."""

    def field(self, name: str) -> tuple[str, Any]:
        """Path and value of a parameter, of the queue or of its admission; empty if it has none."""
        if name in self.effective:
            return name, self.effective[name]
        admit = self.effective.get("admit") or {}
        return (f"admit.{name}", admit[name]) if name in admit else ("", None)

    @property
    def kind(self) -> str:
        """Its kind, or that of its admission where it is put together from parts."""
        admit = self.effective.get("admit") or {}
        return str(self.effective.get("kind") or admit.get("kind") or "")

    @property
    def classifier(self) -> Mapping[str, Any]:
        """How it sorts packets into queues; empty if not by a classifier."""
        found = self.effective.get("classify")
        return found if isinstance(found, Mapping) else {}


def hints_before(network: Network, disciplines: Sequence[Discipline]) -> tuple[Hint, ...]:
    """What the scenario alone shows: constants, classes, buffers, ECN, time, and open loops."""
    return (
        *_intervals(network, disciplines),
        *_targets(network, disciplines),
        *_hasty_pie(network, disciplines),
        *_one_class(network, disciplines),
        *_classes_beyond(network, disciplines),
        *_long_buffers(network, disciplines),
        *_ecn(network, disciplines),
        *_freezes(network),
        *_time(network),
        *_open_loop(network),
    )


def apply(
    hints: Iterable[Hint], scenario: Scenario, queues: Mapping[str, Mapping[str, Any]]
) -> tuple[Scenario, dict[str, dict[str, Any]]]:
    """The scenario and the disciplines' queue tables with every change of the hints."""
    changed = {label: Scenario.of(dict(queue)) for label, queue in queues.items()}
    for change in (change for hint in hints for change in hint.changes):
        if change.discipline is None:
            scenario = scenario.with_(change.path, change.value)
        elif change.discipline in changed:
            queue = changed[change.discipline]
            changed[change.discipline] = queue.with_(change.path, change.value)
    return scenario, {label: queue.document for label, queue in changed.items()}


def _intervals(network: Network, disciplines: Sequence[Discipline]) -> Iterable[Hint]:
    """Constants that wait for a sender's reaction must not be shorter than its round trip."""
    rtt = network.rtt_s
    low = [
        each
        for each in disciplines
        if each.kind in (*CODEL, "gsp")
        and (interval := number(each.field("interval")[1])) is not None
        and interval < SHORTEST_INTERVAL * rtt
    ]
    if not low:
        return
    interval = _round_up(1.1 * rtt)
    changes: list[Change] = []
    for each in low:
        changes.append(Change(each.field("interval")[0], duration(interval), each.label))
        path, target = each.field("target")
        if each.kind in CODEL and (number(target) or 0.0) < 0.05 * interval:
            changes.append(Change(path, duration(0.05 * interval), each.label))
    shown = listed(_values(low, "interval"))
    yield Hint(
        "interval-below-rtt",
        f"The interval of {_labels(low)} ({shown}) is shorter than the round trip "
        f"of {spoken(rtt)}: packets are dropped before a sender can react to the last drop, and "
        "the link may not be fully used. The interval should be the longest usual round trip, and "
        "CoDel's target a twentieth of it (RFC 8289, sections 4.3 and 4.4).",
        tuple(changes),
    )


def _targets(network: Network, disciplines: Sequence[Discipline]) -> Iterable[Hint]:
    """A target below the time of one packet calls a single packet a standing queue."""
    if network.rate_bps is None:
        return
    packet = 8 * network.mtu_bytes / network.rate_bps
    low = [
        each
        for each in disciplines
        if each.kind in (*CODEL, *PIE)
        and (target := number(each.field("target")[1])) is not None
        and as_shown(target) < as_shown(packet)
    ]
    if not low:
        return
    target = _round_up(1.5 * packet)
    changes = []
    for each in low:
        changes.append(Change(each.field("target")[0], duration(target), each.label))
        path, interval = each.field("interval")
        if path and (number(interval) or 0.0) <= target:
            changes.append(Change(path, duration(20 * target), each.label))
    yield Hint(
        "target-below-packet",
        f"The target of {_labels(low)} ({listed(_values(low, 'target'))}) is shorter than the "
        f"time that a packet of {network.mtu_bytes:.0f} B takes on {network.link} "
        f"({spoken(packet)}), so a single packet counts as a standing queue (RFC 8290, section "
        "5.2.5).",
        tuple(changes),
    )


def _hasty_pie(network: Network, disciplines: Sequence[Discipline]) -> Iterable[Hint]:
    """PIE's gains are per update, so that the time between updates sets the pace."""
    rtt = network.rtt_s
    if rtt <= PIE_RTT_S:
        return
    update = _round_up(PIE_UPDATE * rtt)
    low = [
        each
        for each in disciplines
        if each.kind in PIE and (number(each.field("t_update")[1]) or update) < update
    ]
    if low:
        yield Hint(
            "pie-for-short-rtt",
            f"{_labels(low)} {verb(low, 'changes', 'change')} the drop probability every "
            f"{listed(_values(low, 't_update'))}, but senders react after a round trip of "
            f"{spoken(rtt)}. The probability overshoots, and the link may not be fully used. "
            "PIE's gains are per update (RFC 8033, section 4.2), so fewer updates slow it down "
            "(measured: docs/advice.md).",
            tuple(Change(each.field("t_update")[0], duration(update), each.label) for each in low),
        )


def _one_class(network: Network, disciplines: Sequence[Discipline]) -> Iterable[Hint]:
    """Disciplines that serve classes differently, where all packets are of one class."""
    for reads, classes in (("class", _classes), ("dscp", _codepoints)):
        sorting = [each for each in disciplines if each.classifier.get("kind") == reads]
        if not sorting or not network.entries:
            continue
        used = {q for entry in network.entries for q in classes(entry)}
        if reads == "class":
            queues = min(int(each.classifier.get("queues") or 2) for each in sorting)
            used = {min(int(q), queues - 1) for q in used}
        if len(used) != 1:
            continue
        text = (
            f"{_labels(sorting)} {verb(sorting, 'serves', 'serve')} classes differently, but all "
            f"traffic on {network.link} is in one class, so "
            f"{verb(sorting, 'it works', 'they work')} like one queue."
        )
        changes: tuple[Change, ...] = ()
        if reads == "class":
            marked = [
                entry
                for entry in network.entries
                if entry.table.get("dscp", "DF") not in ("DF", "CS1", "LE", 0)
            ]
            raised = marked or [entry for entry in network.entries if not entry.reacts]
            if marked:
                text += (
                    f" The codepoint of {listed([entry.name for entry in marked])} alone sets no "
                    "class; q does."
                )
            if raised and len(raised) < len(network.entries):
                changes = tuple(Change(f"traffic[{entry.place}].q", 1) for entry in raised)
            if not changes:
                text += " Set q = 1 for the traffic that should be served first."
        else:
            text += " Set a dscp for traffic that should be treated differently."
        yield Hint("one-class", text, changes)


def _classes_beyond(network: Network, disciplines: Sequence[Discipline]) -> Iterable[Hint]:
    """Classes that no queue has join the highest."""
    for each in disciplines:
        if each.classifier.get("kind") != "class":
            continue
        queues = int(each.classifier.get("queues") or 2)
        beyond = {
            entry.name: q for entry in network.entries for q in _classes(entry) if int(q) >= queues
        }
        if beyond:
            names = listed([f"{name} (q = {q})" for name, q in beyond.items()])
            yield Hint(
                "class-without-queue",
                f"{each.label} has queues for the classes 0 to {queues - 1}. Traffic of higher "
                f"classes joins the highest queue: {names}.",
            )


def _long_buffers(network: Network, disciplines: Sequence[Discipline]) -> Iterable[Hint]:
    if network.rate_bps is None or network.highest_bps is None:
        return
    long: dict[str, float] = {}
    changes = []
    enough_s = max(0.1, network.rtt_s)
    packets = math.ceil(network.highest_bps * enough_s / 8 / network.mtu_bytes)
    # Beside today's queue, a long one in the list is there to be compared.
    today = [each for each in disciplines if each.label == TODAY]
    for each in today or disciplines:
        if each.kind not in BY_TAIL_DROP:
            continue
        path, limit = each.field("limit")
        room = bytes_of(limit, network.mtu_bytes)
        if room is None:
            continue
        seconds = 8 * room / network.rate_bps
        if seconds > max(LONG_BUFFER_S, 2 * network.rtt_s):
            long[each.label] = seconds
            # Today's queue is what it is; the scenario is not to hide it.
            if not today:
                changes.append(Change(path, f"{max(10, packets)}p", each.label))
    if long:
        names = {label: "today's queue" if label == TODAY else label for label in long}
        shown = listed([f"{names[label]} holds {seconds:.2g} s" for label, seconds in long.items()])
        shown = f"{shown[0].upper()}{shown[1:]}" if today else shown
        rate = "rate" if network.constant else "lowest rate"
        yield Hint(
            "buffer-of-seconds",
            f"{shown} at the {rate} of {network.link}. When transfers fill such a buffer, every "
            f"packet waits that long. Room for {spoken(enough_s)} is enough to keep the link busy.",
            tuple(changes),
        )


def _ecn(network: Network, disciplines: Sequence[Discipline]) -> Iterable[Hint]:
    """Marks that nobody understands, and senders that nobody marks."""
    transfers = [entry for entry in network.entries if entry.transport == "tcp"]
    speaking = [entry.name for entry in transfers if entry.table["tcp"].get("ecn")]
    able = [each for each in disciplines if each.field("ecn")[0]]
    asked = [each for each in able if lookup(dict(each.queue), each.field("ecn")[0]) is True]
    if asked and transfers and not speaking:
        yield Hint(
            "ecn-not-spoken",
            f"{_labels(asked)} could mark packets instead of dropping them, but no transfer on "
            f"{network.link} uses ECN.",
            (Change("tcp.ecn", True),),
        )
    silent = [each for each in able if each.field("ecn")[1] is False]
    if speaking and silent:
        yield Hint(
            "ecn-not-marked",
            f"{listed(speaking)} {verb(speaking, 'uses', 'use')} ECN, but {_labels(silent)} "
            f"{verb(silent, 'does', 'do')} not mark. "
            f"{verb(silent, 'It drops', 'They drop')} packets instead.",
            tuple(Change(each.field("ecn")[0], True, each.label) for each in silent),
        )


def _freezes(network: Network) -> Iterable[Hint]:
    """A freeze that ends with a pause of high priority, which may never come."""
    box = network.box
    if box.get("kind") != "aspq" or box["freeze"] != "always" or box.get("freeze_limit"):
        return
    pause = number(box["idle_timeout"]) or 0.0
    ceaseless = [
        entry.name
        for entry in network.entries
        if entry.table.get("q")
        and not entry.reacts
        and (number(entry.table.get("off")) or 0.0) < pause
    ]
    if ceaseless:
        yield Hint(
            "ceaseless-freeze",
            f"The box aspq freezes low-priority TCP until high priority pauses for "
            f"{box['idle_timeout']}, and the pauses of {listed(ceaseless)} are shorter. So low "
            "priority never sends again, whatever high priority leaves of the link. A freeze_limit "
            "ends a freeze, too.",
            (Change(f"{network.path}.box.freeze", "when-full"),),
        )


def _time(network: Network) -> Iterable[Hint]:
    rtt = network.rtt_s
    measured = network.duration_s - network.warmup_s
    warmup = network.warmup_s
    reacts = any(entry.reacts for entry in network.entries)
    if reacts and rtt and round(warmup / rtt) < WARM_UP_ROUND_TRIPS:
        warmup = _round_up(2 * WARM_UP_ROUND_TRIPS * rtt)
        changes = [Change("warmup", duration(warmup))]
        if network.duration_s - warmup < measured:
            changes.append(Change("duration", duration(_round_up(warmup + measured))))
        yield Hint(
            "warm-up-too-short",
            f"The warm-up of {spoken(network.warmup_s)} lasts {network.warmup_s / rtt:.0f} round "
            f"trips of {spoken(rtt)}, so the start of transfers is measured with the rest. Unless "
            "you study the start, use a longer warm-up.",
            tuple(changes),
        )
    if reacts and rtt and round(measured / rtt) < FEWEST_ROUND_TRIPS:
        duration_s = _round_up(warmup + 2 * FEWEST_ROUND_TRIPS * rtt)
        yield Hint(
            "too-short",
            f"Only {spoken(measured)} are measured. This is {measured / rtt:.0f} round trips of "
            f"{spoken(rtt)}, too few for transfers to reach a steady state.",
            (Change("duration", duration(duration_s)),),
        )


def _open_loop(network: Network) -> Iterable[Hint]:
    replayed = [entry.name for entry in network.entries if entry.table["kind"] == "pcap"]
    if replayed:
        yield Hint(
            "replayed",
            f"{listed(replayed)} {verb(replayed, 'is a', 'are')} replayed "
            f"{verb(replayed, 'capture', 'captures')} (open loop): it sends what was "
            "recorded, and does not slow down when the link is congested.",
        )
    if network.entries and not any(entry.reacts for entry in network.entries):
        yield Hint(
            "open-loop",
            f"No traffic on {network.link} slows down when packets are lost or late (all of it is "
            "open loop). Most disciplines are made for TCP, and this scenario does not show what "
            'they do to it. Add a transfer, such as kind = "bulk".',
        )


def _classes(entry: Entry) -> set[Any]:
    rules = entry.table.get("rules") or []
    own = {entry.table.get("q", 0)}
    return own | {rule["q"] for rule in rules if rule.get("q") is not None}


def _codepoints(entry: Entry) -> set[Any]:
    rules = entry.table.get("rules") or []
    return {entry.table.get("dscp", "DF")} | {rule["dscp"] for rule in rules if rule.get("dscp")}


def _labels(disciplines: Sequence[Discipline]) -> str:
    return listed([each.label for each in disciplines])


def _values(disciplines: Sequence[Discipline], field: str) -> list[str]:
    values = [number(each.field(field)[1]) or 0.0 for each in disciplines]
    return list(dict.fromkeys(map(spoken, values)))


def duration(seconds: float) -> str:
    """A duration as scenarios write it, to three digits."""
    steps: list[tuple[float, str]] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")]
    for scale, unit in steps:
        if seconds >= scale or unit == "us":
            return f"{as_shown(seconds / scale):g}{unit}"
    raise AssertionError


def as_shown(number: float) -> float:
    """A number to the three digits that sentences show: what looks the same is no remark."""
    return float(f"{number:.3g}")


def spoken(seconds: float) -> str:
    """A duration inside a sentence, to three digits."""
    return re.sub(r"(\d)([a-z])", r"\1 \2", duration(seconds))


def _round_up(seconds: float) -> float:
    """To one significant digit, or to a half of one."""
    step = 10.0 ** math.floor(math.log10(seconds)) / 2
    return round(math.ceil(seconds / step - 1e-9) * step, 9)
