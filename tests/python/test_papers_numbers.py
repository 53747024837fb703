"""Papers as data: rows of variables, functions of measures.py, tables and conclusions."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import polars as pl
import pytest

from forebay import stats
from forebay._engine import ScenarioError
from forebay._judge import Bounds
from forebay.papers import Number, Panel, Setting, Sources, drawn, exactly, tables
from forebay.papers.claims import parts
from forebay.papers.data import Data
from forebay.papers.files import Allowed, Curve
from forebay.papers.numbers import like
from forebay.papers.paper import Paper, read
from forebay.papers.published import larger_error, predicted
from forebay.papers.tables import Table
from forebay.papers.variables import amount
from forebay.stats import Interval, Span

RUNS = pl.DataFrame(
    [
        {
            "point": at,
            "replication": run,
            "rate": rate,
            "queue": queue,
            "queue.limit": limit,
            "got": base + run,
        }
        for at, (rate, queue, limit, base) in enumerate(
            [("1Mbit", "fifo", 50, 10.0), ("1Mbit", "codel", 9, 20.0), ("2Mbit", "fifo", 5, 30.0)]
        )
        for run in (0, 1)
    ]
)


class Toy(Data):
    """Results of one study that are given."""

    def _study(self, name: str) -> Any:
        assert name == "toy"
        return SimpleNamespace(runs=RUNS)


def sources(*, quick: bool = False, named: Any = None, **calls: Any) -> Sources:
    return Sources(Toy({"toy": ()}, {}, quick), {}, calls, named or {})


def listed(factors: Any, values: Any = None, **more: Any) -> list[Any]:
    return [dict(row) for row in sources(**more).rows(factors, Number(study="toy"), values or {})]


PUBLISHED = [{"mbps": 1, "here": 9.0}, {"mbps": 2, "here": 30.5}]
RATES = [{"mbps": 1, "rate": "1Mbit"}, {"mbps": 2, "rate": "2Mbit"}]


def test_rows_are_combined_where_their_variables_agree() -> None:
    named = {"published": PUBLISHED, "points": {"rows": "published", "rate": RATES}}
    both = [{**PUBLISHED[0], "rate": "1Mbit"}, {**PUBLISHED[1], "rate": "2Mbit"}]
    assert listed("points", named=named) == both
    assert listed({"rows": "points", "mbps": 2}, named=named) == both[1:]
    assert listed({"rows": "points", "mbps": "{n}"}, {"n": 1}, named=named) == [{"n": 1, **both[0]}]
    names = {"who": [{"name": "one", "stated": "{here}"}], "rows": "published", "queue": ["a", "b"]}
    assert len(listed(names, named=named)) == 4
    several = listed({"rows": ["published", "points"]}, named=named)
    assert several == both
    with pytest.raises(ScenarioError, match=r'no rows called "publishd".*published'):
        listed("publishd", named=named)
    with pytest.raises(ScenarioError, match="no row agrees with mbps = 3"):
        listed({"rows": "points", "mbps": 3}, named=named)
    with pytest.raises(ScenarioError, match='rows "round" are made of themselves'):
        listed("round", named={"round": {"rows": "again"}, "again": {"rows": ["round"]}})


def test_a_variable_that_rows_name_is_its_value() -> None:
    found = listed({"rows": "published", "who": [{"stated": "{here}"}]}, named={
        "published": PUBLISHED
    })  # fmt: skip
    assert [row["stated"] for row in found] == [9.0, 30.5]
    # A text in braces that is no variable is a value like any other.
    assert listed({"tcp": ['{"congestion": "cubic"}']}) == [{"tcp": '{"congestion": "cubic"}'}]


def test_a_function_gives_rows() -> None:
    def double(_: Sources, n: int) -> list[dict[str, Any]]:
        return [{"queue": "fifo", "n": 2 * n}, {"queue": "codel", "n": 3 * n}]

    assert listed({"call": "double", "queue": "codel"}, {"n": 5}, double=double) == [
        {"queue": "codel", "n": 15}
    ]


def test_a_variable_may_have_the_name_of_any_column() -> None:
    found = listed({"queue.limit": "all", "least": "{queue.limit}"})
    assert [row["least"] for row in found] == [50, 9, 5]


def test_all_points_of_a_curve_go_along_its_axis() -> None:
    curve = Curve(study="toy", label="", of="got", along="queue.limit")
    assert list(drawn.curves(sources(), curve, {})[0].x) == [5, 9, 50]
    given = curve.model_copy(update={"x": [50, 5]})
    assert list(drawn.curves(sources(), given, {})[0].x) == [50, 5]


def test_a_span_goes_from_the_least_mean_to_the_greatest() -> None:
    over = {"queue.limit": "all"}
    found = sources().interval(Number(study="toy", of="got", over=over, take="span", scale=2))
    assert found is not None and (found.low, found.mean, found.high) == (21, 41, 61)


def test_a_quick_run_leaves_out_what_was_not_run() -> None:
    factors = {"rate": ["1Mbit", "3Mbit"], "queue": "all"}
    assert len(listed(factors)) == 4
    assert len(listed(factors, quick=True)) == 2


def test_a_function_gets_the_variables_that_it_has_parameters_for() -> None:
    def half(_: Sources, mbps: float) -> Interval:
        return exactly(mbps / 2)

    def every(_: Sources, **row: Any) -> str:
        return ", ".join(row)

    known = sources(half=half, every=every, named={"published": PUBLISHED})
    row = {"mbps": 3, "queue": "fifo"}
    assert known.interval(Number(call="half"), row) == exactly(1.5)
    assert known.told("every", row, {"more": 1}) == "mbps, queue, more"
    counted = Number(call="half", over="published", take="above", than=0.7)
    assert known.interval(counted) == Span(1.0, 0.0, 0, 1.0, 1.0)
    between = Number(call="half", over="published", take="between", ends=[0.4, 0.6])
    assert known.interval(between) == exactly(1)
    above = between.model_copy(update={"ends": [0.4]})
    assert known.interval(above) == exactly(2)
    with pytest.raises(ScenarioError, match=r"half of measures.py: .*mbps"):
        known.interval(Number(call="half"))
    with pytest.raises(ScenarioError, match=r"half of measures.py: .*mbp"):
        known.interval(Number(call="half", at={"mbp": 1}))


def test_steps_that_rise_are_counted_run_by_run() -> None:
    known = sources()
    steps = [{"rate": "1Mbit", "queue": "fifo"}, {"rate": "1Mbit", "queue": "codel"},
             {"rate": "2Mbit", "queue": "fifo"}, {"rate": "1Mbit", "queue": "fifo"}]  # fmt: skip
    rises = Number(study="toy", of="got", over=steps, take="rises")
    assert known.interval(rises) == Span(2.0, 0.0, 0, 2.0, 2.0)
    falls = Number(study="toy", of="got", over=steps, take="falls")
    assert known.interval(falls) == Span(1.0, 0.0, 0, 1.0, 1.0)


def test_an_amount_is_a_number_or_an_expression_of_variables() -> None:
    values = {"a": 3, "b": 12.65, "none": None}
    assert amount("{b}", values) == 12.65 and amount(2, {}) == 2.0
    assert amount("{a} / {b}", values) == pytest.approx(3 / 12.65)
    assert amount("{none}", values) is None and amount(None, {}) is None
    with pytest.raises(ScenarioError, match='"3 / x" is not a number'):
        amount("{a} / x", values)


def test_published_numbers_stand_beside_the_range_of_one_more_run() -> None:
    # Two runs of 10 and 11: the mean is 10.5, and one more run lies 11.0 around it.
    point = {"rate": "1Mbit", "queue": "fifo"}
    assert larger_error(sources(), "toy", point, {"got": 10.0}).mean == pytest.approx(5.0)
    worst = larger_error(sources(), "toy", point, {"got": 10.0, '"got" * 2': 42.0})
    assert worst.mean == pytest.approx(-50.0)
    assert predicted(sources(), "toy", point, {"got": 21.0})
    assert not predicted(sources(), "toy", point, {"got": 22.0})
    assert not predicted(sources(), "toy", point, {"got": 10.0, '"got" * 2': 99.0})


PAPER = """
title = "Toy"
study = [
    { name = "toy", quick = { replications = 1 } },
    { name = "other", quick = { replications = 1 } },
]
[rows]
points = { rows = "table.csv", rate = [{ mbps = 1, rate = "1Mbit" }, { mbps = 2, rate = "2Mbit" }] }
[[figure]]
number = "1"
caption = "One"
[[figure.panel]]
study = "toy"
[[figure.panel.curve]]
label = "here"
of = "got"
at = { queue = "fifo" }
points = "points"
x_is = "{here}"
intervals = false
[[section]]
heading = "All"
[[section.table]]
heading = "{queue}"
study = "toy"
for = { queue = ["fifo", "codel"] }
rows = { rows = "points", rate = "1Mbit" }
only = "shown"
head = { "rate" = "{mbps} Mbit/s" }
column = [
    { head = "got", of = "got" },
    { head = "published", text = "{here}" },
    { head = "rounded", of = "got", text = "{mean:.0f} of {here}" },
    { head = "minus fifo", of = "got", less = { queue = "fifo" } },
]
"""
CLAIMS = """
[[claim]]
id = "T-1"
words = "one"
study = "toy"
[[claim.number]]
what = "at {mbps}"
of = "got"
for = "points"
at = { queue = "fifo" }
share = 0.5
stated = "{here}"
[[claim.number]]
what = "exact"
value = "{mbps} + 1.5"
for = { rows = "points", mbps = 1 }
exactly = 2.5
[[conclusion]]
words = "so"
claims = { T-1 = [2] }
"""


def made(folder: Path, claims: str = CLAIMS, more: str = "", **calls: Any) -> Paper:
    (folder / "paper.toml").write_text(PAPER + more)
    (folder / "claims.toml").write_text(claims)
    heads = ("citation", "setup", "statistics", "found")
    (folder / "words.md").write_text("".join(f"# {each}\n\nText.\n\n" for each in heads))
    (folder / "table.csv").write_text("mbps,here\n1,9.0\n2,30.5\n")
    module = ModuleType("toy_measures")
    for name, call in calls.items():
        call.__module__ = module.__name__
        setattr(module, name, call)
    return read(folder, module)


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "table.csv").write_bytes(b"mbps,here\n1,2,3,4\n")
    with pytest.raises(ScenarioError, match=re.escape(f"{tmp_path / 'table.csv'}: ")):
        read(tmp_path, ModuleType("toy_measures"))


def shown(_: Sources, queue: str) -> bool:
    return queue != "none"


def toy(*, quick: bool = False) -> Toy:
    return Toy({"toy": ()}, {}, quick)


def whats(paper: Paper) -> list[str]:
    """The numbers of the first conclusion."""
    numbers = paper.numbers(paper.claims.conclusion[0])
    return [part.what for part in parts(paper.sources(toy()), numbers)]


def tables_of(paper: Paper, section: int, *, quick: bool = False) -> list[Table]:
    """The tables of a section."""
    known = paper.sources(toy(quick=quick))
    return [
        one for each in paper.file.section[section].table for one in tables.made(paper, known, each)
    ]


def test_a_folder_of_files_makes_claims_figures_and_tables(tmp_path: Path) -> None:
    paper = made(tmp_path, shown=shown)
    known = paper.sources(toy())
    judged = parts(known, paper.numbers(paper.claims.claim[0]))
    assert [(part.what, part.stated) for part in judged] == [
        ("at 1", 9.0), ("at 2", 30.5), ("exact", None),
    ]  # fmt: skip
    assert judged[0].bounds == Bounds(4.5, 13.5)
    assert whats(paper) == ["exact"]
    assert paper.studies_of(paper.claims.conclusion[0]) == ["toy"]
    series = drawn.panels(known, paper.file.figure[0])[0].series[0]
    assert (series.x, series.y, series.low) == ([9.0, 30.5], [10.5, 30.5], [])
    fifo, codel = tables_of(paper, 0)
    assert (fifo.heading, codel.heading) == ("fifo", "codel")
    assert [cell if isinstance(cell, str | float) else cell.mean for cell in fifo.rows[0]] == [
        "1 Mbit/s", 10.5, 9.0, "10 of 9.0", "",
    ]  # fmt: skip
    assert codel.rows[0][4].mean == 10.0


def test_a_table_without_rows_to_show_is_left_out(tmp_path: Path) -> None:
    def only_codel(_: Sources, queue: str) -> bool:
        return queue == "codel"

    paper = made(tmp_path, shown=only_codel)
    assert [each.heading for each in tables_of(paper, 0)] == ["codel"]


def test_claims_are_judged_under_choices_that_were_run(tmp_path: Path) -> None:
    text = """
[[section]]
heading = "Choices"
[[section.table]]
rows = { queue = ["fifo", "none"] }
head = { choice = "{queue}" }
claims = ["T-1"]
studies = { toy = "toy" }
at = { queue = "{queue}" }
"""
    paper = made(tmp_path, more=text, shown=shown)
    (found,) = tables_of(paper, 1)
    assert found.columns == ["choice", "T-1"]
    assert found.rows == [["fifo", "?, 2 of 3"], ["none", ""]]


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("T-1 = [2]", "T-2 = [2]", 'no claim "T-2".*T-1'),
        ("T-1 = [2]", "T-1 = [3]", "T-1 has 2 numbers"),
    ],
)
def test_a_conclusion_names_a_claim_and_numbers_that_there_are(
    tmp_path: Path, old: str, new: str, match: str
) -> None:
    with pytest.raises(ScenarioError, match=match):
        made(tmp_path, CLAIMS.replace(old, new), shown=shown)


KERNEL: list[dict[str, Any]] = [
    {"rate": "1Mbit", "queue": "fifo", "got": 9.0},
    {"rate": "1Mbit", "queue": "codel", "got": 21.0},
    {"rate": "2Mbit", "queue": "fifo", "got": None},
]


def test_a_number_is_looked_up_in_rows() -> None:
    known = sources(named={"kernel": KERNEL})

    def found(**fields: Any) -> Any:
        return known.interval(Number(lookup="kernel", of="got", **fields), {"rate": "1Mbit"})

    assert found(at={"queue": "codel"}, scale=2) == exactly(42)
    assert found(over={"queue": ["fifo", "codel", "red"]}, take="least") == exactly(9)
    assert found(at={"queue": "red"}) is None
    assert found(at={"queue": "fifo", "rate": "2Mbit"}) is None
    with pytest.raises(ScenarioError, match="more than one row"):
        found()
    with pytest.raises(ScenarioError, match=r'no column "gott".*got'):
        known.interval(Number(lookup="kernel", of="gott", at=KERNEL[0]))


def test_a_looked_up_referee_is_the_same_number() -> None:
    number = Allowed(
        what="",
        study="toy",
        of="got",
        at={"rate": "1Mbit"},
        over={"queue": ["fifo", "codel"]},
        take="greatest",
        scale=2,
        at_least=0,
        referee=Number(lookup="kernel"),
    )
    [part] = parts(sources(named={"kernel": KERNEL}), [number])
    assert part.referee == 42


def test_rows_of_studies_that_are_not_asked_for_are_not_measured() -> None:
    rows = [{"run": name, "rate": "1Mbit", "queue": "fifo"} for name in ("toy", "not-run")]
    number = Allowed.model_validate(
        {"what": "{run}", "study": "{run}", "of": "got", "for": rows, "at_least": 0}
    )
    assert [part.what for part in parts(sources(), [number], {"toy"})] == ["toy"]
    with pytest.raises(AssertionError, match="not-run"):
        parts(sources(), [number])


def test_the_same_measure_of_other_runs_is_taken_away_without_pairs() -> None:
    other = Number(at={"queue": "codel"})
    number = Number(study="toy", of="got", at={"rate": "1Mbit", "queue": "fifo"}, minus=other)
    study = number.model_copy(update={"minus": other.model_copy(update={"study": "toy"})})
    found, one = (
        sources().interval(study),
        sources().interval(like(other, study, ("of", "study")), {"rate": "1Mbit"}),
    )
    assert found is not None and one is not None and one.half_width is not None
    assert found.mean == -10
    assert found.half_width == pytest.approx(2**0.5 * one.half_width)
    alone = sources().interval(study.model_copy(update={"mean_only": True}))
    assert alone == exactly(-10)


def test_a_number_is_divided_by_the_mean_of_another() -> None:
    point = {"rate": "1Mbit", "queue": "codel"}
    less, per = {"queue": "fifo"}, Number(at={"queue": "fifo"})
    plain = Number(study="toy", of="got", at=point, less=less, scale=100)
    whole, found = sources().known(plain), sources().known(plain.model_copy(update={"per": per}))
    assert whole.mean == 1000.0 and found.mean == pytest.approx(1000 / 10.5)
    nothing = Number(lookup="kernel", of="got", at={"queue": "red"})
    with pytest.raises(ScenarioError, match='"got" was not measured'):
        sources(named={"kernel": KERNEL}).mean(nothing)


@pytest.mark.parametrize(("share", "low"), [(0.5, 2), (0.4, 2), (0.7, 3)])
def test_a_share_of_the_points_is_asked_for(share: float, low: int) -> None:
    assert Allowed(what="", more_than=share).bounds(3).low == low
    assert Allowed(what="", no_more_than=share).bounds(3).high == low - 1


def test_what_was_not_run_leaves_no_number() -> None:
    number = Allowed(
        what="", study="toy", of="got", take="least", at_least=0, over={"rate": ["9Mbit"]}
    )
    assert parts(sources(quick=True), [number]) == []


def test_a_negative_factor_keeps_the_ends_in_order() -> None:
    def told(_: Sources) -> Interval:
        return Interval(10.0, 1.0, 2)

    def span(_: Sources) -> Span:
        return Span(3.0, 1.0, 2, 2.0, 4.0)

    known = sources(told=told, span=span)
    for name, ends in (("told", (-11, -9)), ("span", (-4, -2))):
        found = known.interval(Number(call=name, scale=-1))
        assert found is not None and (found.low, found.high) == ends


def test_a_function_asks_what_a_claim_comes_to_under_another_choice(tmp_path: Path) -> None:
    paper = """
title = "Toy"
study = [
    { name = "toy", quick = { replications = 2 } },
    { name = "other", quick = { replications = 2 } },
]
[[section]]
heading = "Choices"
studies = ["toy"]
[[section.table]]
rows = [{ run = "toy" }]
head = { run = "{run}" }
column = [{ head = "holds", call = "holds" }]
"""
    claims = """
[[claim]]
id = "T-1"
words = "More."
study = "toy"
number = [
    { of = "got", at = { rate = "1Mbit", queue = "fifo" }, at_least = 0 },
    { study = "other", of = "got", at_least = 0 },
]
"""

    def holds(found: Sources, run: str) -> str:
        return str(len(found.under(Setting({run: run})).parts("T-1")))

    module = ModuleType("measures")
    holds.__module__ = module.__name__
    module.__dict__["holds"] = holds
    for name, text in (("paper.toml", paper), ("claims.toml", claims)):
        (tmp_path / name).write_text(text)
    heads = ("citation", "setup", "statistics", "found")
    (tmp_path / "words.md").write_text("".join(f"# {each}\n\nText.\n\n" for each in heads))
    [table] = tables_of(read(tmp_path, module), 0)
    assert table.rows == [["toy", "1"]]


def test_a_conclusion_may_rest_on_several_claims(tmp_path: Path) -> None:
    claims = CLAIMS.replace("claims = { T-1 = [2] }\n", "").replace(
        "[[conclusion]]",
        """[[claim]]
id = "T-2"
words = "two"
number = [{ what = "codel", study = "toy", of = "got", at = { queue = "codel" }, at_least = 0 }]
[[conclusion]]
claims = { T-1 = [2], T-2 = [] }""",
    )
    assert whats(made(tmp_path, claims, shown=shown)) == ["exact", "codel"]


def test_a_function_gives_the_diagrams_of_each_combination(tmp_path: Path) -> None:
    text = """
[[figure]]
number = "2"
caption = "Two"
panel = [{ call = "titled", for = { queue = ["fifo", "codel"] } }]
"""

    def titled(_: Sources, queue: str) -> list[Panel]:
        return [Panel(queue, "", "", [])]

    paper = made(tmp_path, more=text, shown=shown, titled=titled)
    panels = drawn.panels(paper.sources(toy()), paper.file.figure[1])
    assert [each.title for each in panels] == ["fifo", "codel"]


def test_a_quick_run_leaves_out_columns_whatever_their_rows_name(tmp_path: Path) -> None:
    text = """
[[section]]
heading = "Quick"
[[section.table]]
study = "toy"
rows = [{ of = "fifo" }]
[[section.table.column]]
head = "{rate}"
of = "got"
at = { queue = "{of}" }
for = { rate = ["1Mbit", "2Mbit", "3Mbit"] }
"""
    (found,) = tables_of(made(tmp_path, more=text, shown=shown), 1, quick=True)
    assert found.columns == ["1Mbit", "2Mbit"]


def test_diagrams_take_over_what_their_figure_says(tmp_path: Path) -> None:
    text = """
[[figure]]
number = "2"
caption = "Two"
study = "toy"
along = "rate"
x = "rate, Mbit/s"
x_log = true
y = "got"

[[figure.panel]]
[[figure.panel.curve]]
label = "fifo"
of = "got"
at = { queue = "fifo" }
x_scale = "1e-6 * {n}"
for = { n = [2] }

[[figure.panel]]
x = "mine"
x_log = false
curve = [{ label = "none", x = [1], y = [2] }]
"""
    paper = made(tmp_path, more=text, shown=shown)
    own, other = drawn.panels(paper.sources(toy()), paper.file.figure[1])
    assert (own.x_label, own.y_label, own.x_log) == ("rate, Mbit/s", "got", True)
    assert list(own.series[0].x) == [2, 4]
    assert (other.x_label, other.y_label, other.x_log) == ("mine", "got", False)


def test_a_name_with_variables_stands_for_every_study_of_its_form(tmp_path: Path) -> None:
    claims = """
[[claim]]
id = "T-1"
words = "one"
study = "to{last}"
number = [{ of = "got", at_least = 0 }, { study = "{any}", of = "got", at_least = 0 }]

[[claim]]
id = "T-2"
words = "two"
studies = ["toy"]
number = [{ study = "{any}", of = "got", at_least = 0 }]
"""
    paper = made(tmp_path, claims, shown=shown)
    assert paper.studies_of(paper.claims.claim[0]) == ["toy", "other"]
    assert paper.studies_of(paper.claims.claim[1]) == ["toy"]


def test_a_fitted_number_is_not_judged() -> None:
    from forebay._judge import Bounds, exactly
    from forebay.papers.judge import Part, in_range, judged, verdict_of

    good = Part("used", "98", exactly(98), Bounds(97.5, 98.5))
    fitted = Part("loss", "4", exactly(9), Bounds(3.5, 4.5), fitted=True)
    assert verdict_of([good, fitted]) == "reproduced"
    assert (in_range([good, fitted]), judged([good, fitted])) == (1, 1)


def test_pooled_steps_are_averaged_within_each_replication() -> None:
    data = Toy({"toy": ()}, {}, False, pooled={"toy": ["rate"]})
    # Of 10 and 11 at 1 Mbit/s, and 30 and 31 at 2 Mbit/s: two samples, not four.
    both = data.interval("toy", "got", {"queue": "fifo"})
    assert data.samples("toy", "got", {"queue": "fifo"}) == {0: 20.0, 1: 21.0}
    assert both == stats.interval([20.0, 21.0])
    # A step that is named is a point of its own, and other axes are not pooled.
    assert data.samples("toy", "got", {"queue": "fifo", "rate": "2Mbit"}) == {0: 30.0, 1: 31.0}
    with pytest.raises(ScenarioError, match="more than one point"):
        data.samples("toy", "got", {})
    # A replication that lacks a step would be the mean of others.
    second = (pl.col("rate") == "2Mbit") & (pl.col("replication") == 1)
    lacking = pl.when(~second).then("got")
    assert data.samples("toy", lacking, {"queue": "fifo"}) == {0: 20.0}
