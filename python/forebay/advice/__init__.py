"""Plain advice from a comparison: what each class gets, what to pick and what it costs.

`criteria` says what is judged, `pick` holds the rule, `hints` what an expert would remark about the
scenario, `gate` the configuration of a gate. `docs/advice.md` explains all of it to users.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from forebay.advice.criteria import Criterion, criteria_of, others_of
from forebay.advice.hints import Hint
from forebay.advice.pick import MATTERS, MOST, Ranking, rank
from forebay.advice.seen import hints_after
from forebay.advice.words import amount, grouped, listed, value

if TYPE_CHECKING:
    from forebay.study import Comparison

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
    price: tuple[str, ...]
    """Where the pick is worse than the best, largest disadvantage first."""
    findings: tuple[Finding, ...]
    """For each class and measure that decides."""
    others: tuple[Finding, ...]
    """What differs without deciding."""
    hints: tuple[Hint, ...]
    """What an expert would change."""
    notes: tuple[str, ...]
    """What to know before trusting the numbers."""

    def plain(self) -> dict[str, Any]:
        """For programs; keys documented in `docs/summary.md`."""
        return {
            "pick": self.pick,
            "verdict": self.verdict,
            "headline": self.headline,
            "why": self.why,
            "judged": self.judged,
            "replications": self.replications,
            "price": list(self.price),
            "findings": list(map(str, self.findings)),
            "others": list(map(str, self.others)),
            "hints": [hint.plain() for hint in self.hints],
            "notes": list(self.notes),
        }


def advise(comparison: Comparison) -> Advice:
    """Read the comparison: who is best for each class, a pick for all, its price, and hints."""
    criteria = criteria_of(comparison)
    others = tuple(each for each in others_of(comparison, criteria) if each.decided)
    findings = tuple(Finding(each.subject, _finding(each)) for each in criteria)
    beside = tuple(Finding(each.subject, _spread(each)) for each in others)
    hints, notes = hints_after(comparison), tuple(_notes(comparison))
    judged = _judged(criteria)

    def advice(
        pick: str | None,
        verdict: Verdict,
        headline: str,
        why: str,
        more: int | None = None,
        price: Iterable[str] = (),
    ) -> Advice:
        return Advice(
            pick, verdict, headline, why, judged, more, tuple(price), findings, beside, hints, notes
        )

    if len(comparison.labels) == 1:
        return advice(None, "none", "Nothing to choose from.", "Only one discipline was run.")
    ranking = rank(criteria, comparison.labels, comparison.level)
    single = len(comparison.seeds) == 1
    more = FEW if single else ranking.needed
    if not any(each.decided for each in criteria):
        if ranking.open:
            return advice(None, "open", "Run more.", _undecided(comparison, ranking), more)
        return advice(
            None,
            "none",
            "Take the simplest.",
            "By none of the measures that decide do these disciplines differ by more than chance "
            "and enough for a user to notice.",
        )
    pick = ranking.order[0]
    prices = _prices(criteria, pick)
    why = _why(criteria, pick)
    if ranking.open:
        headline = f"Start with {pick}, and run more."
        return advice(
            pick, "open", headline, f"{why} {_undecided(comparison, ranking)}", more, prices
        )
    if ranking.equal:
        why += (
            f" Overall {listed(ranking.equal)} {'is' if len(ranking.equal) == 1 else 'are'} as good"
            f" (within {100 * (MATTERS):.0f} % on average): choose by the class that matters most."
        )
        return advice(pick, "equal", f"Start with {pick}.", why, None, prices)
    return advice(pick, "clear", f"Start with {pick}.", why, None, prices)


def _why(criteria: Sequence[Criterion], pick: str) -> str:
    decided = [each for each in criteria if each.decided]
    first = [each for each in decided if each.best[0] == pick]
    close = [each for each in decided if pick in each.best[1:]]
    parts = []
    if first:
        parts.append(f"It has the best {grouped(first)}.")
    if close:
        start = "It" if not first else "Beside that it"
        parts.append(f"{start} cannot be distinguished from the best by {grouped(close)}.")
    if not parts:
        parts.append("It is best by no single measure, but on average nearest to the best.")
    return " ".join(parts)


def _undecided(comparison: Comparison, ranking: Ranking) -> str:
    first, found = ranking.order[0], listed(ranking.open)
    if ranking.needed is None:
        return f"One run cannot say how much of that is chance: run it with -r {FEW} or more."
    runs = len(comparison.seeds)
    much = (
        f"more than {MOST} would be needed, so that choosing by other reasons is wiser"
        if ranking.needed > MOST
        else f"about {ranking.needed} would (-r {ranking.needed})"
    )
    return (
        f"Over all measures together {runs} replications cannot distinguish {first} from {found}; "
        f"{much}."
    )


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
        f"what anyone else on {each.subject} would get by {_inside(each.measure.title)}"
        for each in criteria
        if each.of_link
    ]
    return f"Judged: {'; '.join(parts)}. Every class weighs the same, and so does the link."


def _inside(title: str) -> str:
    """A title inside a sentence."""
    return title[0].lower() + title[1:]


def _finding(criterion: Criterion) -> str:
    measure, best = criterion.measure, criterion.best
    short = measure.short
    missing = [label for label in criterion.samples if label not in criterion.intervals]
    if len(best) + len(missing) == len(criterion.samples) and not missing:
        return (
            f"{short} differs by no more than chance, or by too little to notice "
            f"({value(criterion, best[0])} under {best[0]})."
        )
    sentence = f"best {short} under {best[0]} ({value(criterion, best[0])})"
    if best[1:]:
        sentence += f"; {listed(best[1:])} cannot be distinguished from it"
    if missing:
        sentence += f"; nothing could be measured under {listed(missing)}"
    rest = [label for label in criterion.intervals if label not in best]
    if rest:
        worst = (min if measure.higher_is_better else max)(
            rest, key=lambda label: criterion.intervals[label].mean
        )
        sentence += f". Worst under {worst} ({value(criterion, worst)})"
    return f"{sentence}."


def _spread(criterion: Criterion) -> str:
    """From the best to the worst, of a measure that does not decide."""
    best, worst = criterion.best[0], criterion.worst
    return (
        f"{criterion.measure.short} {value(criterion, best)} under {best}, "
        f"{value(criterion, worst)} under {worst}."
    )


def _prices(criteria: Sequence[Criterion], pick: str) -> list[str]:
    """What the pick loses by each criterion, beside the best mean."""
    found: list[tuple[float, str]] = []
    for each in criteria:
        best = each.best[0]
        if pick == best:
            continue
        if pick not in each.intervals:
            found.append((float("inf"), f"{each.name}: nothing could be measured under {pick}"))
            continue
        own, other = each.intervals[pick].mean, each.intervals[best].mean
        if not each.measure.difference_matters(own, other):
            continue
        difference = each.difference(pick, best)
        if difference is None:
            continue
        way = "lower" if own < other else "higher"
        chance = ", which may be chance" if pick in each.best else ""
        sentence = f"{each.name} {amount(difference, each)} {way} than under {best}{chance}"
        found.append((abs(own - other) / (abs(other) or 1.0), sentence))
    return [sentence for _, sentence in sorted(found, key=lambda each: -each[0])]


def _notes(comparison: Comparison) -> Iterable[str]:
    replications = len(comparison.seeds)
    if replications == 1:
        yield (
            "One replication only: there are no intervals, and any difference may be chance. "
            f"Run with --replications {FEW} or more before deciding."
        )
    else:
        yield (
            f"Intervals are {100 * comparison.level:g} % Student t intervals over {replications} "
            "replications; differences are paired, as every discipline faced the same traffic. "
            "Each interval stands for itself: among many comparisons a few differ by chance."
        )


__all__ = ["Advice", "Finding", "Hint", "Verdict", "advise"]
