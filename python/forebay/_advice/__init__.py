"""Plain advice from a comparison: what each class gets, what to pick and what it costs.

`criteria` says what is judged, `pick` holds the rule, `hints` what an expert would remark about the
scenario, `gate` the configuration of a gate. `docs/advice.md` explains all of it to users.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from forebay._advice.criteria import Criterion, criteria_of, distorted_of, others_of
from forebay._advice.hints import UNFIT, Hint
from forebay._advice.network import network_of
from forebay._advice.pick import MOST, Ranking, rank
from forebay._advice.seen import hints_after
from forebay._advice.words import (
    amount,
    between,
    grouped,
    least_noticed,
    listed,
    missing,
    queue_in_words,
    superlative,
    value,
    verb,
)
from forebay._measures import Beside
from forebay._scenario import TODAY

if TYPE_CHECKING:
    from forebay._comparison import Comparison

Verdict = Literal["clear", "equal", "open", "none"]
"""The pick is surely best overall; others are as good; more runs must decide; nothing differs."""

FEW = 10
"""Replications that are asked for where there is only one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence about a class or the link."""

    subject: str
    sentence: str

    def __str__(self) -> str:
        """With its subject."""
        return f"{self.subject}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class Advice:
    """What a comparison says, in words."""

    pick: str | None
    """The discipline with the best score; None if nothing differs, or if only one was run."""
    verdict: Verdict
    headline: str
    """What to do, in a few words."""
    why: str
    """Reasons, in a sentence or two."""
    judged: str
    """By which measures."""
    replications: int | None
    """How many would decide what these runs leave open."""
    today: str | None
    """The link's own queue, as the scenario writes it; None if it was not among the disciplines."""
    benefit: tuple[str, ...]
    """Where the pick is better than today's queue, largest advantage first."""
    price: tuple[str, ...]
    """Where it is worse than today's queue, or than the best without one; the largest first."""
    findings: tuple[Finding, ...]
    """For each class and measure that decides."""
    others: tuple[Finding, ...]
    """What differs without deciding."""
    distorted: tuple[Finding, ...]
    """What was kept out of the score, and why."""
    hints: tuple[Hint, ...]
    """What an expert would change."""
    notes: tuple[str, ...]
    """What to know before trusting the numbers."""

    @property
    def beside_today(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Benefit and price, each with its title, as every reader is told them.

        What is empty is said only against today's queue: there, nothing is an answer, too.
        """
        against = self.today is not None and self.pick not in (None, TODAY)
        nothing = ("nothing that a user would notice",) if against else ()
        found = (("Its benefit", self.benefit or nothing), ("Its price", self.price or nothing))
        return tuple((title, sentences) for title, sentences in found if sentences)

    def plain(self) -> dict[str, Any]:
        """For programs; keys documented in `docs/summary.md`."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        for name, said in found.items():
            if isinstance(said, tuple):
                found[name] = [
                    each.plain() if isinstance(each, Hint) else str(each) for each in said
                ]
        return found


def advise(comparison: Comparison) -> Advice:
    """Read the comparison: who is best for each class, a pick for all, its price, and hints."""
    network = network_of(comparison.variants[0].scenario, comparison.link)
    criteria = criteria_of(comparison, network)
    distorted = distorted_of(comparison, network)
    return advice_from(
        criteria,
        (*distorted, *others_of(comparison, (*criteria, *distorted))),
        hints_after(comparison, network),
        comparison.labels,
        len(comparison.seeds),
        comparison.level,
        today_of(comparison),
    )


def judged_by(comparison: Comparison) -> tuple[Criterion, ...]:
    """The measures that decide."""
    return criteria_of(comparison, network_of(comparison.variants[0].scenario, comparison.link))


def today_of(comparison: Comparison) -> str | None:
    """The link's own queue in words; None if it is not among the disciplines."""
    if comparison.today is None:
        return None
    return "each link's own queue" if comparison.everywhere else queue_in_words(comparison.today)


def advice_from(
    criteria: Sequence[Criterion],
    others: Sequence[Criterion],
    hints: Sequence[Hint],
    labels: Sequence[str],
    replications: int,
    level: float,
    today: str | None = None,
) -> Advice:
    """Advice from what was measured; `today` is in words what `TODAY` among the labels is."""
    ranking = rank(criteria, labels, level) if len(labels) > 1 and criteria else None
    verdict, pick, headline, why, more = _conclusion(criteria, ranking, replications)
    if today is not None and (pick == TODAY or verdict == "none") and len(labels) > 1:
        headline = (
            "Keep today's queue, and run more." if verdict == "open" else "Keep today's queue."
        )
    unfit = [label for label in labels if any(_unfit(hint, label) for hint in hints)]
    if unfit and len(labels) > 1:
        why += (
            f" But the settings of {listed(unfit)} do not fit this link and its traffic: see "
            "below, and compare again with --fix."
        )
    beside = () if pick is None else _beside(criteria, pick, None if today is None else TODAY)
    return Advice(
        pick,
        verdict,
        headline,
        why,
        _judged(criteria),
        more,
        today,
        tuple(sentence for better, sentence in beside if better),
        tuple(sentence for better, sentence in beside if not better),
        tuple(Finding(each.subject, _finding(each)) for each in criteria),
        tuple(
            Finding(each.subject, _spread(each))
            for each in others
            if each.decided and not each.distorted
        ),
        tuple(_kept_out(others)),
        tuple(hints),
        tuple(_notes(replications, level)),
    )


def _unfit(hint: Hint, label: str) -> bool:
    """Whether a remark is that a discipline was not run as it should be."""
    return hint.kind in UNFIT and any(change.discipline == label for change in hint.changes)


def _conclusion(
    criteria: Sequence[Criterion], ranking: Ranking | None, replications: int
) -> tuple[Verdict, str | None, str, str, int | None]:
    """Verdict, pick, headline, reasons, and replications that are needed."""
    if ranking is None:
        why = "Only one discipline was run." if criteria else "Nothing undistorted was measured."
        return "none", None, "Nothing to choose from.", why, None
    more = FEW if replications == 1 else ranking.needed
    if not any(each.decided for each in criteria):
        if ranking.open:
            return "open", None, "Run more.", _undecided(ranking, replications), more
        why = (
            f"In every deciding measure the differences are {Beside.SMALL.value}, or the "
            f"disciplines {Beside.OPEN.value}."
        )
        return "none", None, "Take the simplest.", why, None
    pick = ranking.order[0]
    why = _why(criteria, pick)
    if ranking.alike:
        several = listed((pick, *ranking.alike), "or")
        why += f" In no measure that decides would a user notice whether it is {several}."
    if ranking.open:
        why = f"{why} {_undecided(ranking, replications)}"
        return "open", pick, f"Start with {pick}, and run more.", why, more
    if ranking.equal:
        why += (
            f" On average over all measures {listed(ranking.equal)} "
            f"{verb(ranking.equal, 'comes', 'come')} within 5 % of it: choose by the class that "
            "matters most."
        )
    if ranking.equal or ranking.alike:
        return "equal", pick, f"Start with {pick}.", why, None
    return "clear", pick, f"Start with {pick}.", why, None


def _undecided(ranking: Ranking, replications: int) -> str:
    if ranking.needed is None:
        return f"One run cannot say how much of that is chance: run it with -r {FEW} or more."
    much = (
        f"that would take more than {MOST}, so choose for other reasons"
        if ranking.needed > MOST
        else f"about {ranking.needed} would (-r {ranking.needed})"
    )
    return (
        f"Over all measures together {listed((ranking.order[0], *ranking.open))} "
        f"{Beside.OPEN.value} ({replications} replications); {much}."
    )


def _why(criteria: Sequence[Criterion], pick: str) -> str:
    decided = [each for each in criteria if each.decided]
    first = [each for each in decided if each.best[0] == pick]
    close = [each for each in decided if pick in each.best[1:]]
    parts = []
    if first:
        parts.append(f"It has the {grouped(first, best=True)}.")
    else:
        parts.append("It is best in no single measure, but closest to the best on average.")
    if close:
        small = [each for each in close if each.beside[pick] is Beside.SMALL]
        open_ = [each for each in close if each.beside[pick] is Beside.OPEN]
        if small:
            parts.append(f"In {grouped(small)} its difference to the best is {Beside.SMALL.value}.")
        if open_:
            parts.append(f"In {grouped(open_)} it and the best {Beside.OPEN.value}.")
    return " ".join(parts)


def _judged(criteria: Sequence[Criterion]) -> str:
    """By what, measure by measure."""
    measures: dict[str, list[str]] = {}
    for each in criteria:
        if not each.of_link:
            measures.setdefault(each.subject, []).append(_inside(each.measure.title))
    subjects: dict[str, list[str]] = {}
    for subject, titles in measures.items():
        subjects.setdefault(listed(titles), []).append(subject)
    parts = [f"{listed(names)} by {titles}" for titles, names in subjects.items()]
    parts += [
        f"{each.subject}, for anyone else who uses it, by {_inside(each.measure.title)}"
        for each in criteria
        if each.of_link
    ]
    if not parts:
        return ""
    return f"Judged: {'; '.join(parts)}. All classes and the link have the same weight."


def _inside(title: str) -> str:
    """A title inside a sentence."""
    return title[0].lower() + title[1:]


def _finding(criterion: Criterion) -> str:
    measure, best = criterion.measure, criterion.best
    short = measure.short
    which = f"{superlative(measure)} " if criterion.decided else ""
    sentence = f"{which}{short} under {best[0]} ({value(criterion, best[0])})"
    if best[1:]:
        sentence += f"; {_rest_of_best(criterion)}"
    sentence += _without(criterion, "; nothing could be")
    # A mean of the runs that have a value says little where it counts what the others lack.
    rest = [label for label in criterion.intervals if label not in (*best, *criterion.lacking)]
    if rest:
        worst = (min if measure.higher_is_better else max)(
            rest, key=lambda label: criterion.intervals[label].mean
        )
        opposite = "Lowest" if measure.higher_is_better else "Highest"
        sentence += f". {opposite} under {worst} ({value(criterion, worst)})"
    return f"{sentence}."


def _without(criterion: Criterion, nothing: str) -> str:
    """That there is no value in some runs, beginning with `nothing`; empty if they have all."""
    without = missing(criterion)
    return f"{nothing} measured under {without}" if without else ""


def _rest_of_best(criterion: Criterion) -> str:
    """Those that are as good, or may be: which rule says so, and its threshold."""
    parts = []
    if small := criterion.those(Beside.SMALL):
        found = [f"{label} ({value(criterion, label)})" for label in small]
        limit = least_noticed(criterion)
        parts.append(f"the difference of {listed(found)} is {Beside.SMALL.value} (up to {limit})")
    if open_ := criterion.those(Beside.OPEN):
        found = [f"{label} ({value(criterion, label)})" for label in open_]
        parts.append(f"it and {listed(found)} {Beside.OPEN.value}")
    return "; ".join(parts)


def _spread(criterion: Criterion) -> str:
    """From the best to the worst, of a measure that does not decide."""
    ends = dict.fromkeys((criterion.best[0], criterion.worst))
    shown = ", ".join(f"{value(criterion, label)} under {label}" for label in ends)
    return f"{criterion.measure.short} {shown}{_without(criterion, '; nothing could be')}."


def _kept_out(others: Sequence[Criterion]) -> Iterable[Finding]:
    """A sentence for each reason, with the classes and measures that have it."""
    measures: dict[tuple[str, str], list[str]] = {}
    for each in others:
        if each.distorted:
            measures.setdefault((each.subject, each.distorted), []).append(each.measure.short)
    subjects: dict[str, list[str]] = {}
    for (subject, why), names in measures.items():
        said = f"{listed(names)} {verb(names, 'is', 'are')} distorted: {why}."
        subjects.setdefault(said, []).append(subject)
    for said, those in subjects.items():
        yield Finding(listed(those), said)


def _beside(criteria: Sequence[Criterion], pick: str, today: str | None) -> list[tuple[bool, str]]:
    """Whether the pick is better, and by how much, than today's queue, or than the best mean.

    The largest differences come first. Those that a user would not notice are left out, and so is
    an advantage that may be chance, or is one only of the runs in which the pick has a value.
    """
    found: list[tuple[float, bool, str]] = []
    for each in criteria:
        other = each.best[0] if today is None else today
        if pick == other or other not in each.intervals:
            continue
        pair = each.pair(pick, other)
        if pick in pair.lacking:
            found.append((math.inf, False, _without(pair, f"{each.name}: nothing was")))
            continue
        difference = each.difference(pick, other)
        if difference is None:
            continue
        before = each.intervals[other].mean
        own = before + difference.mean
        if not each.measure.difference_matters(own, before):
            continue
        better = (own > before) == each.measure.higher_is_better
        beside = "today" if today is not None else f"under {other}"
        if difference.half_width is None or difference.excludes_zero:
            way = "lower" if own < before else "higher"
            sentence = f"{each.name} {amount(difference, each)} {way} than {beside}"
        elif better:
            continue
        else:
            sentence = (
                f"{each.name} {between(difference, each)} than {beside}: the two "
                f"{Beside.OPEN.value}"
            )
        sentence += _without(pair, "; nothing was")
        found.append((abs(own - before) / (abs(before) or 1.0), better, sentence))
    found.sort(key=lambda each: -each[0])
    return [(better, sentence) for _, better, sentence in found]


def _notes(replications: int, level: float) -> Iterable[str]:
    if replications == 1:
        yield (
            "One replication only: there are no intervals, and any difference may be chance. "
            f"Run with --replications {FEW} or more before deciding."
        )
    else:
        yield (
            f"Intervals are {100 * level:g} % Student t intervals over {replications} "
            "replications. Differences are paired, because every discipline had the same traffic. "
            "Intervals are not corrected for their number: among many comparisons, a few differ "
            "by chance."
        )


__all__ = ["Advice", "Finding", "Hint", "Verdict", "advise"]
