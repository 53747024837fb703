"""The rule of the advice, on constructed results."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import forebay
from advice_said import FOLDER, SCENARIOS, said
from forebay import Scenario
from forebay._advice import advice_from, advise
from forebay._advice.criteria import Criterion, of_link
from forebay._advice.pick import rank
from forebay._compared.tables import by_class
from forebay._measures import (
    ABSENT,
    COMPLETION,
    DELAY_VARIATION,
    DISTORTED,
    GOODPUT,
    LOSS,
    MOS,
    QUEUE_DELAY,
    TAIL_DELAY,
    VIDEO_QUALITY,
    Beside,
    Measure,
)
from forebay._report.page import Group
from forebay._scenario import TODAY
from forebay.stats import LEVEL

CASES = range(300)
PRICE = re.compile(
    r"(.*?) [\d.]+( ±[\d.]+)?( \S+| percentage points)? (lower|higher) than (today|under (d\d))"
)
UNSURE = re.compile(
    r"(.*?) from [\d.]+ lower to [\d.]+( \S+| percentage points)? higher than under (d\d): "
    r"the two cannot be told apart with these runs"
)
SIZES = {GOODPUT: 5e6, TAIL_DELAY: 80.0, LOSS: 0.01, COMPLETION: 2.0, MOS: 3.2, QUEUE_DELAY: 60.0}


def spread(mean: float, noise: float, count: int, luck: Random) -> list[float | None]:
    """Values with exactly this mean."""
    raw = [luck.gauss(0, noise) for _ in range(count)]
    centre = sum(raw) / count
    return [mean * (1 + each - centre) for each in raw]


def constructed(luck: Random) -> tuple[list[Criterion], list[str], int]:
    """Random results of some disciplines, by some measures."""
    labels = [f"d{number}" for number in range(luck.randint(2, 5))]
    replications = luck.randint(2, 12)
    criteria = []
    for number in range(luck.randint(1, 4)):
        measure: Measure = luck.choice([GOODPUT, TAIL_DELAY, LOSS, COMPLETION, MOS])
        samples = {}
        for label in labels:
            mean = SIZES[measure] * luck.choice([1.0, luck.uniform(0.3, 1.3)])
            samples[label] = spread(mean, luck.choice([0.0, 0.01, 0.3]), replications, luck)
            if luck.random() < 0.04:
                samples[label] = [None] * replications
        if any(value is not None for values in samples.values() for value in values):
            criteria.append(Criterion(f"class{number}", measure, 1.0, samples))
    waits = {
        label: spread(SIZES[QUEUE_DELAY] * luck.uniform(0.1, 3), 0.1, replications, luck)
        for label in labels
    }
    criteria.append(of_link("link", waits, luck.choice([0.0, 0.04, 0.6])))
    return criteria, labels, replications


def better(criterion: Criterion, first: str, second: str) -> bool:
    """Whether the first has the better mean; what could not be measured is worst."""
    own, other = (criterion.intervals.get(label) for label in (first, second))
    if own is None or other is None:
        return other is None and own is not None
    return (own.mean > other.mean) == criterion.measure.higher_is_better and own.mean != other.mean


def test_nobody_is_better_than_the_pick_by_every_measure() -> None:
    for case in CASES:
        criteria, labels, replications = constructed(Random(case))
        advice = advice_from(criteria, [], [], labels, replications, LEVEL)
        if advice.pick is None:
            continue
        for label in labels:
            assert not all(better(each, label, advice.pick) for each in criteria), (case, label)


def test_the_sentences_agree_with_the_means() -> None:
    for case in CASES:
        criteria, labels, replications = constructed(Random(case))
        advice = advice_from(criteria, [], [], labels, replications, LEVEL)
        by_name = {each.name: each for each in criteria}
        for sentence in advice.price:
            match = UNSURE.fullmatch(sentence) or PRICE.fullmatch(sentence)
            if match is None:
                assert "nothing was measured" in sentence
                continue
            criterion, best = by_name[match[1]], match[match.re.groups]
            assert ("percentage points" in sentence) == (criterion.measure is LOSS), sentence
            assert advice.pick is not None
            assert best == criterion.best[0]
            difference = criterion.difference(advice.pick, best)
            assert difference is not None
            known = difference.half_width is None or difference.excludes_zero
            assert (match.re is PRICE) == known, (case, sentence)
            if match.re is UNSURE:
                continue
            own, other = criterion.intervals[advice.pick].mean, criterion.intervals[best].mean
            assert match[4] == ("lower" if own < other else "higher")
            assert criterion.measure.difference_matters(own, other)
        for criterion, finding in zip(criteria, advice.findings, strict=True):
            match = re.match(r"(highest|lowest) .*? under (d\d) ", finding.sentence)
            if match is None:
                assert set(criterion.best) == set(labels)
                continue
            means = {label: value.mean for label, value in criterion.intervals.items()}
            assert match[1] == ("highest" if criterion.measure.higher_is_better else "lowest")
            assert means[match[2]] == (max if match[1] == "highest" else min)(means.values())


def test_benefit_and_price_are_beside_today() -> None:
    seen = 0
    for case in CASES:
        criteria, labels, replications = constructed(Random(case))
        labels = [TODAY if label == "d0" else label for label in labels]
        named = [
            replace(
                each,
                samples={TODAY if k == "d0" else k: values for k, values in each.samples.items()},
            )
            for each in criteria
        ]
        advice = advice_from(named, [], [], labels, replications, LEVEL, 'fifo, limit = "9p"')
        assert advice.today == 'fifo, limit = "9p"'
        if advice.pick in (None, TODAY):
            assert not advice.benefit and not advice.price
            assert advice.pick is None or advice.headline.startswith("Keep today's queue")
            continue
        by_name = {each.name: each for each in named}
        for gains, sentences in ((True, advice.benefit), (False, advice.price)):
            for sentence in sentences:
                if (match := PRICE.fullmatch(sentence)) is None:
                    assert not gains
                    continue
                criterion = by_name[match[1]]
                assert match[5] == "today"
                assert (match[4] == "higher") == (criterion.measure.higher_is_better == gains)
                seen += 1
    assert seen > 100


def test_noise_neither_helps_nor_harms() -> None:
    for case in CASES:
        luck = Random(case)
        criteria, labels, _ = constructed(luck)
        noisy = luck.choice(labels)
        wider = [
            Criterion(each.subject, each.measure, each.weight, _widened(each, noisy, luck))
            for each in criteria
        ]
        before, after = rank(criteria, labels, LEVEL), rank(wider, labels, LEVEL)
        assert before.order == after.order, case


def _widened(criterion: Criterion, noisy: str, luck: Random) -> dict[str, list[float | None]]:
    """The same means; one discipline's values lie further apart."""
    samples = {label: list(values) for label, values in criterion.samples.items()}
    known = [value for value in samples[noisy] if value is not None]
    if known:
        samples[noisy] = spread(sum(known) / len(known), 0.5, len(known), luck)
    return samples


def results(measure: Measure, means: dict[str, float], noise: float, count: int = 10) -> Criterion:
    luck = Random(7)
    return Criterion(
        "class",
        measure,
        1.0,
        {label: spread(mean, noise, count, luck) for label, mean in means.items()},
    )


def test_a_wide_interval_is_no_merit() -> None:
    # One noisy discipline was "not to be told from the best".
    luck = Random(1)

    def measured(name: str, measure: Measure, clear: float, noisy: float) -> Criterion:
        samples = {"fq-codel": spread(clear, 0.002, 10, luck), "pie": spread(noisy, 0.2, 10, luck)}
        return Criterion(name, measure, 1.0, samples)

    criteria = [
        measured("calls", MOS, 3.69, 3.60),
        measured("backup", GOODPUT, 2983e3, 2862e3),
        measured("web", COMPLETION, 1.45, 1.46),
    ]
    advice = advice_from(criteria, [], [], ["pie", "fq-codel"], 10, LEVEL)
    assert advice.pick in ("fq-codel", None)
    assert advice.verdict == "open"
    assert advice.replications is not None and advice.replications > 10


def test_it_says_how_many_more_and_that_many_decide() -> None:
    few = [results(GOODPUT, {"a": 5e6, "b": 4.6e6, "c": 1e6}, 0.2, count=5)]
    advice = advice_from(few, [], [], ["a", "b", "c"], 5, LEVEL)
    assert advice.verdict == "open" and advice.pick == "a"
    assert advice.headline == "Start with a, and run more."
    assert "a and b cannot be told apart with these runs" in advice.why
    assert advice.replications is not None and f"-r {advice.replications}" in advice.why
    # The same variance, measured more often.
    times = -(-advice.replications // 5)
    samples = {label: list(values) * times for label, values in few[0].samples.items()}
    more = [Criterion("class", GOODPUT, 1.0, samples)]
    assert advice_from(more, [], [], ["a", "b", "c"], 5 * times, LEVEL).verdict != "open"


def test_verdicts() -> None:
    def verdict(means: dict[str, float], noise: float, count: int = 10) -> str:
        criteria = [results(GOODPUT, means, noise, count)]
        return advice_from(criteria, [], [], list(means), count, LEVEL).verdict

    assert verdict({"a": 5e6, "b": 3e6}, 0.01) == "clear"
    assert verdict({"a": 5e6, "b": 4.85e6, "c": 1e6}, 0.002) == "equal"
    assert verdict({"a": 5e6, "b": 4.99e6}, 0.001) == "none"
    assert verdict({"a": 5e6, "b": 4.8e6}, 0.4) == "open"
    assert verdict({"a": 5e6, "b": 3e6}, 0.0, count=1) == "open"


def test_nobody_is_clearly_best_by_what_nobody_notices() -> None:
    # One and two packets of 10 Mbit/s: a ratio of two, and 1.2 ms.
    game = results(DELAY_VARIATION, {"fq": 1.2, "cake": 2.4, "today": 823.0}, 0.001)
    wait = results(QUEUE_DELAY, {"fq": 5.1, "cake": 5.2, "today": 720.0}, 0.001)
    advice = advice_from([game, wait], [], [], ["fq", "cake", "today"], 10, LEVEL)
    assert (advice.pick, advice.verdict) == ("fq", "equal")
    assert "In no measure that decides would a user notice whether it is fq or cake." in advice.why
    # A single measure in which it can be noticed is enough.
    call = results(MOS, {"fq": 4.4, "cake": 4.2, "today": 1.0}, 0.001)
    advice = advice_from([game, wait, call], [], [], ["fq", "cake", "today"], 10, LEVEL)
    assert (advice.pick, advice.verdict) == ("fq", "clear")
    # Nor may it be chance that it cannot.
    game = results(DELAY_VARIATION, {"fq": 1.2, "cake": 2.4, "today": 823.0}, 2.0)
    advice = advice_from([game, wait], [], [], ["fq", "cake", "today"], 10, LEVEL)
    assert "In no measure" not in advice.why


def test_too_small_to_notice_and_not_told_apart_are_two_things() -> None:
    wait = results(QUEUE_DELAY, {"cake": 3.2, "codel": 9.3, "fifo": 820.0}, 0.03)
    assert wait.beside == {
        "cake": Beside.BEST, "codel": Beside.SMALL, "fifo": Beside.WORSE
    }  # fmt: skip
    advice = advice_from([wait], [], [], ["cake", "codel", "fifo"], 10, LEVEL)
    [finding] = advice.findings
    assert "codel (9.3" in finding.sentence and "told apart" not in finding.sentence
    assert "is too small to notice (up to 10.0 ms)" in finding.sentence
    noisy = results(QUEUE_DELAY, {"cake": 30.0, "codel": 60.0, "fifo": 820.0}, 2.0)
    assert noisy.beside["codel"] is Beside.OPEN
    advice = advice_from([noisy], [], [], ["cake", "codel", "fifo"], 10, LEVEL)
    assert "it and codel (60 ±89 ms)" in advice.findings[0].sentence
    assert Beside.OPEN.value in advice.findings[0].sentence
    assert "too small" not in advice.findings[0].sentence
    # A small mean difference is not known to be small if its interval is wide.
    wide = results(QUEUE_DELAY, {"cake": 30.0, "codel": 31.0}, 2.0)
    assert wide.beside["codel"] is Beside.OPEN


def test_a_picture_below_nothing_counts_as_nothing() -> None:
    means = {"fair": 5e6, "slow": 1e6, "dark": -3e6, "darker": -9e6}
    criterion = results(VIDEO_QUALITY, means, 0.01)
    assert rank([criterion], list(means), LEVEL).order[:2] == ("fair", "slow")
    beside = results(MOS, {"fair": 4.0, "slow": 4.0, "dark": 4.0, "darker": 4.3}, 0.001)
    order = rank([criterion, beside], list(means), LEVEL).order
    assert order.index("darker") < order.index("dark")


def test_what_is_distorted_is_said_and_does_not_decide() -> None:
    document = {
        "duration": "6s",
        "warmup": "2s",
        "dumbbell": {"rate": "5Mbit", "delay": "20ms"},
        "traffic": [
            {"name": "replay", "kind": "pcap", "file": "office.pcap.gz"},
            {"name": "video", "kind": "adaptive-video"},
            {"name": "film", "kind": "adaptive-video"},
            {"name": "load", "kind": "bulk", "start": "5s"},
            {"name": "steady", "kind": "bulk"},
        ],
    }
    base = Path(__file__).parents[2] / "examples"
    scenario = Scenario.of(document, "s.json", str(base))
    found = forebay.compare(scenario, disciplines=["fifo", "fq-codel"], replications=2)
    advice = advise(found)
    said = [str(each) for each in advice.distorted]
    assert any(each.startswith("replay: ") and "recorded" in each for each in said)
    # Those with the same reason share a sentence.
    assert any(each.startswith("video and film: goodput is distorted") for each in said)
    assert any(each.startswith("load: goodput is distorted: a slow start") for each in said)
    assert not any(each.startswith("steady: ") for each in said)
    assert "replay" not in advice.judged and "load" not in advice.judged
    assert "video and film by video quality" in advice.judged
    assert not any(each.startswith(("replay", "load")) for each in map(str, advice.findings))
    cells = [row for row in by_class(found).rows if not isinstance(row, Group) and row[0] == "fifo"]
    place = 1 + found.classes.index("replay")
    assert all(str(row[place]) == ABSENT or str(row[place]).endswith(DISTORTED) for row in cells)
    assert advice.plain()["distorted"] == said


def test_nothing_but_transfers_is_judged_by_what_others_get_too() -> None:
    goodput = results(GOODPUT, {"fifo": 9.81e6, "codel": 9.54e6}, 0.005)
    wait = results(QUEUE_DELAY, {"fifo": 1022.0, "codel": 16.0}, 0.05)
    link = of_link("up", wait.samples, 0.04)
    advice = advice_from([goodput, link], [], [], ["fifo", "codel"], 10, LEVEL)
    assert advice.pick == "codel"
    assert "lowest queueing delay on up" in advice.why
    assert any(price.startswith("goodput of class") for price in advice.price)
    assert "up, for anyone else who uses it" in advice.judged


def test_a_wait_counts_as_much_as_it_lengthens_the_round_trip() -> None:
    # 13 ms are nothing beside 600 ms, and much beside 10 ms.
    goodput = results(GOODPUT, {"a": 15.9e6, "b": 14.3e6}, 0.001)
    waits = results(QUEUE_DELAY, {"a": 30.0, "b": 17.0}, 0.001).samples
    labels = ["a", "b"]
    far, near = of_link("l", waits, 0.6), of_link("l", waits, 0.01)
    assert rank([goodput, far], labels, LEVEL).order[0] == "a"
    assert rank([goodput, near], labels, LEVEL).order[0] == "b"


def test_what_could_not_be_measured_counts_as_worst() -> None:
    done = results(COMPLETION, {"a": 2.0, "b": 9.0}, 0.01)
    criterion = Criterion("web", COMPLETION, 1.0, {**done.samples, "starved": [None] * 10})
    advice = advice_from([criterion], [], [], ["starved", "a", "b"], 10, LEVEL)
    assert advice.pick == "a"
    assert "nothing could be measured under starved" in advice.findings[0].sentence
    assert rank([criterion], ["starved", "a", "b"], LEVEL).order == ("a", "b", "starved")


# Eight runs of the second complete nothing, and in the others it is slower.
FAIR = [2.0, 2.2, 2.1, 2.3, 2.0, 2.1, 2.2, 2.0, 1.0, 1.05]
STARVED = [*[None] * 8, 1.2, 1.26]
LACKS = "nothing {} measured under starved in 8 of 10 runs, because nothing completed"


def test_who_completes_only_what_is_easy_is_not_fast() -> None:
    web = Criterion("web", COMPLETION, 1.0, {TODAY: FAIR, "starved": STARVED})
    assert web.beside == {TODAY: Beside.BEST, "starved": Beside.WORSE}
    assert web.counted["starved"] == [2 * value for value in FAIR[:8]] + STARVED[8:]
    advice = advice_from([web], [], [], [TODAY, "starved"], 10, LEVEL, "fifo")
    assert (advice.pick, advice.verdict) == (TODAY, "clear")
    [finding] = advice.findings
    assert finding.sentence == (
        f"lowest completion time under today (1.90 ±0.34 s); {LACKS.format('could be')}."
    )
    # Nor is it if today's queue is what starves: the difference is of the runs that have both.
    web = Criterion("web", COMPLETION, 1.0, {"fair": FAIR, TODAY: STARVED})
    advice = advice_from([web], [], [], ["fair", TODAY], 10, LEVEL, "fifo")
    lacks = LACKS.format("was").replace("starved", "today")
    assert advice.benefit == (f"completion time of web 0.20 ±0.07 s lower than today; {lacks}",)


@pytest.mark.parametrize("lacking", [8, 10])
def test_a_pick_that_lacks_values_is_neither_sure_of_them_nor_free(lacking: int) -> None:
    labels = [TODAY, "starved"]
    starved = [*[None] * lacking, *STARVED[lacking:]]
    web = Criterion("web", COMPLETION, 1.0, {TODAY: FAIR, "starved": starved})
    call = results(MOS, {TODAY: 1.1, "starved": 4.4}, 0.001)
    advice = advice_from([web, call], [], [], labels, 10, LEVEL, "fifo")
    assert (advice.pick, advice.verdict) == ("starved", "clear")
    whole = LACKS.replace(" in 8 of 10 runs", "") if lacking == 10 else LACKS
    assert advice.price == (f"completion time of web: {whole.format('was')}",)
    assert len(advice.benefit) == 1 and advice.benefit[0].startswith("MOS of class")


def test_a_pick_is_not_sure_by_a_measure_that_it_lacks() -> None:
    def open_(*samples: dict[str, list[float | None]]) -> tuple[str, ...]:
        criteria = [
            Criterion(f"class{at}", COMPLETION, 1.0, each) for at, each in enumerate(samples)
        ]
        ranking = rank(criteria, ["fast", "fifo"], LEVEL)
        assert ranking.order[0] == "fast"
        return ranking.open

    # A run that completes nothing counts 8 s, which 39 of 0.1 s outweigh.
    assert open_({"fifo": [4.0] * 40, "fast": [0.1] * 40}) == ()
    assert open_({"fifo": [4.0] * 40, "fast": [None, *[0.1] * 39]}) == ("fifo",)
    # What is noise alone is not sure because what counts for no value makes up for it.
    noise: dict[str, list[float | None]] = {"fifo": [*[5.0] * 3, *[0.8] * 7], "fast": [1.0] * 10}
    assert open_(noise) == ("fifo",)
    assert open_(noise, {"fifo": [1.0] * 10, "fast": [*[None] * 3, *[0.3] * 7]}) == ("fifo",)


def test_what_no_run_can_have_counts_for_nobody() -> None:
    samples: dict[str, list[float | None]] = {"a": [None, 1.0, 1.1], "b": [None, 2.0, 2.1]}
    web = Criterion("web", COMPLETION, 1.0, samples)
    assert web.counted == samples and web.lacking == {}
    assert "measured" not in advice_from([web], [], [], ["a", "b"], 3, LEVEL).findings[0].sentence


def test_what_lacks_a_quality_counts_half_of_it() -> None:
    call = Criterion("call", MOS, 1.0, {"a": [4.0, 3.0], "b": [None, 2.0], "c": [3.0, 2.9]})
    assert call.counted["b"] == [2.0, 2.0]
    film = Criterion("film", VIDEO_QUALITY, 1.0, {"a": [-3e6, -3e6], "b": [None, 1e6]})
    assert film.counted["b"] == [-6e6, 1e6]


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_it_says_about_real_traffic(name: str) -> None:
    """Read the difference as a stranger would; `python tests/python/advice_said.py` accepts it."""
    assert said(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
