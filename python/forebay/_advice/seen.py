"""What an expert would remark about a comparison once it has been run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from forebay._advice.criteria import class_of, measured, samples_of
from forebay._advice.hints import Change, Discipline, Hint, as_shown, duration, hints_before
from forebay._advice.network import Network, number, other_direction, queue_on, rate
from forebay._advice.words import listed, queue_in_words, verb
from forebay._comparison import written_queue
from forebay._measures import COMPLETION, LOSS, QUEUE_DELAY, VIDEO_QUALITY
from forebay._scenario import resolved_link

if TYPE_CHECKING:
    from forebay._comparison import Comparison
    from forebay.stats import Interval

CONGESTED = 0.8
"""Utilisation below which the link is said to be hardly congested."""
FEWEST_TRANSFERS = 20
"""Completed transfers of a class in a run, below which their mean time is luck."""
FEWEST_PACKETS = 1000
"""Packets of a class in a run, below which its 99th percentile rests on less than ten."""
_NO_QUEUE_MS = 5.0
_NO_LOSS = 1e-3


def disciplines_of(comparison: Comparison) -> tuple[Discipline, ...]:
    """The compared disciplines, as hints see them."""
    return tuple(
        Discipline(variant.label, variant.queue, queue_on(variant.scenario, comparison.link))
        for variant in comparison.variants
    )


def hints_after(comparison: Comparison, network: Network) -> tuple[Hint, ...]:
    """What scenario and results show together."""
    reverse = tuple(_reverse_full(comparison))
    return (
        *hints_before(network, disciplines_of(comparison)),
        *_never_full(comparison, network, explained=bool(reverse)),
        *reverse,
        *_overload(comparison, network),
        *_rare(comparison, network),
        *_same(comparison, network),
    )


def _never_full(comparison: Comparison, network: Network, *, explained: bool) -> Iterable[Hint]:
    """That the link had room left; `explained` if a full reverse direction is the reason."""
    used = _means([comparison.utilization(label) for label in comparison.labels])
    if not used or max(used) >= CONGESTED:
        return
    most = max(used)
    if (fuller := _fuller(comparison)) is not None:
        name, share = fuller
        yield Hint(
            "another-link-full",
            f"{_at_most(most)} of {network.link} was used, but {100 * share:.0f} % of "
            f"{name}, which the same traffic crosses. The queue of {name} matters more. Compare "
            f"with --link {name}, too.",
            before=False,
        )
        return
    if explained:
        return
    lost = _means([comparison.queue_interval(label, LOSS.key) for label in comparison.labels])
    waits = _means(
        [comparison.queue_interval(label, QUEUE_DELAY.key) for label in comparison.labels]
    )
    if max(lost, default=0.0) > _NO_LOSS or max(waits, default=0.0) > _NO_QUEUE_MS:
        yield Hint(
            "not-filled",
            f"{_at_most(most)} of {network.link} was used, although packets waited or were dropped "
            "there. Either the load comes in bursts, or congestion windows cannot "
            "fill the link between drops.",
        )
        return
    changes: tuple[Change, ...] = ()
    if network.constant and network.rate_bps is not None and most > 0.001:
        lower = float(f"{network.rate_bps * most * 0.9:.2g}")
        changes = (Change(f"{network.path}.rate", rate(lower)),)
    yield Hint(
        "never-full",
        f"{_at_most(most)} of {network.link} was used, and hardly any packet waited. "
        "Disciplines differ only under congestion. Add flows, or lower the rate.",
        changes,
        before=False,
    )


def _at_most(share: float) -> str:
    """How much of a link was used, at the beginning of a sentence."""
    return f"At most {100 * share:.0f} %" if share > 0.005 else "Less than 1 %"


def _fuller(comparison: Comparison) -> tuple[str, float] | None:
    """The fullest congested link but the compared one on the way of the traffic that crosses it."""
    scenario = comparison.variants[0].scenario
    ways = [entry["links"] for entry in scenario.resolved()["traffic"]]
    beside = {name for way in ways if comparison.link in way for name in way} - {comparison.link}

    def used(name: str) -> float:
        return max(
            _mean([run.result.summary["links"][name]["utilization"] for run in runs])
            for runs in map(comparison.runs_of, comparison.labels)
        )

    found = max(((used(name), name) for name in sorted(beside)), default=(0.0, ""))
    return (found[1], found[0]) if found[0] >= CONGESTED else None


def _reverse_full(comparison: Comparison) -> Iterable[Hint]:
    """A queue in the other direction, which no discipline of the comparison was given."""
    name = other_direction(comparison.link)
    scenario = comparison.variants[0].scenario
    summaries = [run.result.summary for run in comparison.runs]
    if not all(name in each["queues"] for each in summaries):
        return
    written = bool(queue_on(scenario, name))
    if comparison.everywhere and written:
        return
    used = _mean([each["links"][name]["utilization"] for each in summaries])
    wait = _mean([each["queues"][name][QUEUE_DELAY.key] for each in summaries])
    if used < CONGESTED or wait < QUEUE_DELAY.matters_at_least:
        return
    default = {"kind": summaries[0]["queues"][name]["kind"]}
    queue = queue_in_words(written_queue(scenario, name) if written else default)
    most = max(_means([comparison.utilization(label) for label in comparison.labels]), default=1.0)
    full = (
        f"The other direction, {name}, is full, too"
        if most >= CONGESTED
        else f"{_at_most(most)} of {comparison.link} was used, but the other direction, "
        f"{name}, is full"
    )
    changes: tuple[Change, ...] = ()
    both = "Compare"
    if not written:
        both = "Give it a queue of its own, then compare"
        changes = (Change(resolved_link(scenario, name)["queue_path"], default),)
    yield Hint(
        "reverse-full",
        f"{full}: {100 * used:.0f} % of it was used. Packets, among them requests and "
        f"acknowledgments, waited {wait:.0f} ms in its queue ({queue}). {both} both directions "
        f"with --link '*', or the other one with --link {name}.",
        changes,
        before=False,
    )


def _overload(comparison: Comparison, network: Network) -> Iterable[Hint]:
    """Datagrams that alone are more than the link carries."""
    names = {class_of(entry.table) for entry in network.entries if not entry.reacts}
    names -= {class_of(entry.table) for entry in network.entries if entry.reacts}
    label = comparison.labels[0]
    sent = [_mean(comparison.samples(label, name, "sent_bps")) for name in sorted(names)]
    run = comparison.runs_of(label)[0].result.summary["links"].get(comparison.link, {})
    capacity = run.get("capacity_bps") or 0.0
    if capacity and as_shown(sum(sent)) > as_shown(capacity):
        yield Hint(
            "overload",
            f"{listed(sorted(names))} {verb(sorted(names), 'sends', 'send')} "
            f"{sum(sent) / 1e6:.3g} Mbit/s whatever happens, but {network.link} carries only "
            f"{capacity / 1e6:.3g}. Disciplines can then only choose which packets to drop.",
        )


def _rare(comparison: Comparison, network: Network) -> Iterable[Hint]:
    """Classes of which too little was seen in a run."""
    shares: list[float] = []
    shown: list[str] = []
    for class_ in comparison.classes:
        datagrams = any(
            class_of(entry.table) == class_ and not entry.reacts for entry in network.entries
        )
        if measured(samples_of(comparison, class_, VIDEO_QUALITY)):
            continue
        if measured(samples_of(comparison, class_, COMPLETION)):
            key, fewest, what = "completed", FEWEST_TRANSFERS, "transfers"
        elif datagrams:
            key, fewest, what = "delivered", FEWEST_PACKETS, "packets"
        else:
            continue
        most = max(_mean(comparison.samples(label, class_, key)) for label in comparison.labels)
        if 0 < most < fewest:
            shares.append(most / fewest)
            shown.append(f"{most:.0f} {what} of {class_}")
    if not shown:
        return
    span = network.duration_s - network.warmup_s
    longer = network.warmup_s + span / max(min(shares), 0.05)
    yield Hint(
        "rare",
        f"A run had at most {listed(shown)}. This is too few for a useful mean or 99th percentile. "
        "Use longer runs or more flows.",
        (Change("duration", duration(float(f"{1.05 * longer:.2g}"))),),
        before=False,
    )


def _same(comparison: Comparison, network: Network) -> Iterable[Hint]:
    """Replications that repeat one run, whose intervals have no width."""
    same = [label for label in comparison.labels if _is_same(comparison, label)]
    changes = [
        Change(f"traffic[{entry.place}].start", [f"{at:g}s", f"{at + 1:g}s"])
        for entry in network.entries
        if (at := number(entry.table.get("start"))) is not None
    ]
    if not same or not changes or len(comparison.seeds) < 2:
        return
    of = "" if len(same) == len(comparison.labels) else f" of {listed(same)}"
    yield Hint(
        "same-runs",
        f"Nothing random changes these runs: all replications{of} measured the same, and ±0 says "
        "nothing. Let flows start in a range.",
        tuple(changes),
        before=False,
    )


def _is_same(comparison: Comparison, label: str) -> bool:
    """Whether all replications of a discipline measured the same, to the last bit."""
    runs = [
        [run.result.summary[part] for part in ("links", "queues", "classes")]
        for run in comparison.runs_of(label)
    ]
    return all(each == runs[0] for each in runs)


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0


def _means(values: Iterable[Interval | None]) -> list[float]:
    return [value.mean for value in values if value is not None]
