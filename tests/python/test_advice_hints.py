"""What an expert would say: each remark where it belongs, and only there; and a gate's file."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import forebay
from advice_said import FOLDER
from forebay import ScenarioError
from forebay import _comparison as comparison
from forebay._advice import advise, before, gate
from forebay._advice.hints import Hint, apply
from forebay._cli import app
from forebay._compared.tables import of_links
from forebay._reference.files import Template
from forebay._scenario import Scenario

runner = CliRunner()


def scenario(**changes: Any) -> Scenario:
    """A link of 10 Mbit/s and 40 ms with a transfer, and a call of class 1."""
    built = Scenario.of(
        {
            "duration": "20s",
            "warmup": "2s",
            "link": [
                {"name": "up", "from": "a", "to": "b", "rate": "10Mbit", "delay": "20ms",
                 "queue": {"kind": "fifo", "limit": "100p"}},
            ],
            "traffic": [
                {"name": "bulk", "kind": "bulk", "from": "a", "to": "b"},
                {"name": "call", "kind": "voice", "from": "a", "to": "b", "q": 1, "dscp": "EF"},
            ],
        }
    )  # fmt: skip
    for path, value in changes.items():
        built = built.with_(path.replace("__", "."), value)
    return built


def hints(of: Scenario, *disciplines: str | dict[str, Any]) -> dict[str, Hint]:
    variants = comparison.variants_of(of, "up", list(disciplines))
    return {hint.kind: hint for hint in before.hints_of_variants(variants, "up")}


def slow(delay: str) -> Scenario:
    return scenario().with_("link[0].delay", delay).with_("duration", "400s").with_("warmup", "60s")


def test_a_sound_scenario_gets_no_remark() -> None:
    every = ("codel", "pie", "fq-codel", "red", "gsp", {"kind": "prio", "limit": "100p"})
    assert hints(scenario(), *every) == {}


@pytest.mark.parametrize(
    ("delay", "kinds", "remarked"),
    [
        ("40ms", ("codel", "pie", "gsp"), set()),
        ("60ms", ("codel", "pie", "gsp"), {"interval-below-rtt"}),
        ("300ms", ("codel", "pie", "gsp"), {"interval-below-rtt", "pie-for-short-rtt"}),
        ("300ms", ("fifo", "cp-aqm"), set()),
    ],
)
def test_constants_for_shorter_round_trips(
    delay: str, kinds: tuple[str, ...], remarked: set[str]
) -> None:
    assert set(hints(slow(delay), *kinds)) == remarked


def test_what_looks_the_same_gets_no_remark() -> None:
    # The round trip is 100.4 ms, with the access.
    assert hints(slow("50ms"), "codel", "gsp") == {}
    text = hints(slow("60ms"), "codel")["interval-below-rtt"].text
    assert "is not fully used" not in text and "may not be fully used" in text
    # 998 ms are 9.94 round trips, and 10 s are 99.6.
    near = scenario(link__up__delay="50ms", warmup="998ms", duration="10.998s")
    fifo = {"kind": "fifo", "limit": "100p"}
    assert hints(near, fifo) == {}
    shorter = hints(near.with_("warmup", "940ms").with_("duration", "10.8s"), fifo)
    assert set(shorter) == {"warm-up-too-short", "too-short"}
    assert "lasts 9 round trips" in shorter["warm-up-too-short"].text
    assert "This is 99 round trips" in shorter["too-short"].text
    # A packet of 1500 B takes 5.002 ms.
    assert hints(scenario(link__up__rate="2.399Mbit"), {"kind": "codel", "target": "5ms"}) == {}


def test_changes_take_the_remark_away() -> None:
    for built, kinds in (
        (slow("300ms"), ("codel", "fq-codel", "gsp", "pie", "fq-pie")),
        (scenario().with_("link[0].rate", "1Mbit"), ("codel", "fq-codel", "pie")),
        (scenario().with_("link[0].rate", "1Mbit"), ("fifo", "prio", "drr", "ncq")),
        (scenario().with_("traffic[1].q", 0), ("prio", "cq-aqm")),
        (scenario().with_("tcp", {"ecn": True}), ("codel", "pie", "red", "cp-aqm")),
        (scenario().with_("link[0].delay", "100ms").with_("duration", "3s"), ("fifo",)),
    ):
        variants = comparison.variants_of(built, "up", kinds)
        found = before.hints_of_variants(variants, "up")
        assert found and all(hint.changes and hint.remedy for hint in found), kinds
        changed, tables = apply(found, built, {each.label: each.queue for each in variants})
        again = comparison.variants_of(
            changed, "up", [{"label": label, **table} for label, table in tables.items()]
        )
        assert before.hints_of_variants(again, "up") == (), kinds


def test_codel_at_600_ms() -> None:
    [hint] = hints(slow("300ms"), "codel", {"kind": "fq-codel", "target": "40ms"}).values()
    assert hint.remedy == (
        'give codel interval = "700ms", target = "35ms"; give fq-codel interval = "700ms"'
    )
    assert "(100 ms)" in hint.text and "600 ms" in hint.text


BURSTS = {"kind": "on-off", "rate": "9Mbit", "on": "5s", "off": "2s"}


@pytest.mark.parametrize(
    ("high", "box", "found"),
    [
        ({"kind": "cbr", "rate": "1Mbit"}, {}, True),
        ({**BURSTS, "off": "900ms"}, {}, True),
        (BURSTS, {}, False),
        (BURSTS, {"idle_timeout": "3s"}, True),
        (BURSTS, {"idle_timeout": "3s", "freeze": "when-full"}, False),
        (BURSTS, {"idle_timeout": "3s", "freeze_limit": "2s"}, False),
        ({"kind": "bulk"}, {}, False),
    ],
)
def test_a_freeze_that_no_pause_ends(
    high: dict[str, Any], box: dict[str, Any], found: bool
) -> None:
    low = scenario().document["traffic"][0]
    traffic = [low, {"name": "high", "from": "a", "to": "b", "q": 1, **high}]
    built = scenario(link__up__box={"kind": "aspq", **box}, traffic=traffic)
    hint = hints(built, "prio").get("ceaseless-freeze")
    assert (hint is not None) == found
    if hint is not None:
        assert hint.remedy == 'set link[0].box.freeze = "when-full"'
        assert "and the pauses of high are shorter" in hint.text
        assert "ceaseless-freeze" not in hints(apply([hint], built, {})[0], "prio")


def test_a_custom_admission_is_seen_through() -> None:
    queue = {
        "label": "mine",
        "classify": {"kind": "class", "queues": 2},
        "admit": {"kind": "codel"},
        "schedule": {"kind": "strict-priority"},
    }
    [hint] = hints(slow("300ms"), queue).values()
    assert hint.changes[0].path == "admit.interval"


def test_one_class_in_use() -> None:
    plain = scenario().with_("traffic[1].q", 0)
    hint = hints(plain, "prio", "cq-aqm")["one-class"]
    assert "The codepoint of call alone sets no class" in hint.text
    assert hint.remedy == "set traffic[1].q = 1"
    assert "one-class" not in hints(scenario(), "prio", "cq-aqm")
    # Classes beyond the highest queue share it.
    beyond = scenario().with_("traffic[0].q", 5).with_("traffic[1].q", 7)
    found = hints(beyond, {"kind": "prio", "limit": "100p"})
    assert {"one-class", "class-without-queue"} == set(found)
    assert "bulk (q = 5) and call (q = 7)" in found["class-without-queue"].text
    # A discipline that reads codepoints sees two.
    by_dscp = {"kind": "prio", "classify": {"kind": "dscp"}, "limit": "100p"}
    assert "one-class" not in hints(plain, by_dscp)
    assert "one-class" in hints(plain.with_("traffic[1].dscp", "DF"), by_dscp)


def test_ecn_that_nobody_speaks() -> None:
    # fq-codel marks by default; only who asks for marks is told.
    assert hints(scenario(), "fq-codel") == {}
    asked = hints(scenario(), {"kind": "codel", "ecn": True})
    assert asked["ecn-not-spoken"].remedy == "set tcp.ecn = true"
    spoken = hints(scenario().with_("tcp", {"ecn": True}), "codel", "pie", "fq-codel")
    assert spoken["ecn-not-marked"].remedy == "give codel and pie ecn = true"


def test_open_loop_and_time() -> None:
    document = scenario().document
    document["traffic"] = document["traffic"][1:]
    assert set(hints(Scenario.of(document), "fifo")) == {"buffer-of-seconds", "open-loop"}
    short = scenario().with_("duration", "3s").with_("warmup", "100ms")
    found = hints(short, {"kind": "fifo", "limit": "100p"})
    assert set(found) == {"warm-up-too-short", "too-short"}
    assert found["warm-up-too-short"].changes[0].path == "warmup"


def test_a_varying_link_is_judged_by_its_slowest_and_filled_by_its_fastest() -> None:
    link = {"name": "up", "from": "a", "to": "b", "delay": "20ms",
            "rate": {"steps": [["0s", "10Mbit"], ["5s", "500kbit"]]}}  # fmt: skip
    found = hints(scenario().with_("link", [link]), {"kind": "fifo", "limit": "100p"})
    hint = found["buffer-of-seconds"]
    assert "2.4 s at the lowest rate" in hint.text
    assert hint.remedy == 'give fifo limit = "84p"'


def test_a_scenario_without_a_list_is_told_by_paths() -> None:
    built = slow("300ms").with_("link[0].queue", {"kind": "codel"})
    [hint] = before.hints_of_links(built)
    assert [change.path for change in hint.changes] == [
        "link[0].queue.interval",
        "link[0].queue.target",
    ]
    changed, settings = before.fixed(built, [hint])
    assert settings == ['link[0].queue.interval="700ms"', 'link[0].queue.target="35ms"']
    assert before.hints_of_links(changed) == ()


def test_check_says_it_and_its_settings_work(tmp_path: Path) -> None:
    file = str(FOLDER / "satellite.toml")
    said = runner.invoke(app, ["check", file])
    assert said.exit_code == 0
    assert "What an expert would say" in said.stdout and "compare.disciplines[1]=" in said.stdout
    assert " ".join(said.stdout.split()).endswith("to compare.")
    fixed = tmp_path / "fixed.toml"
    made = runner.invoke(app, ["check", file, "--fix"])
    assert "What an expert" in made.stderr and "What an expert" not in made.stdout
    fixed.write_text(made.stdout, encoding="utf-8")
    again = runner.invoke(app, ["check", str(fixed)])
    assert again.exit_code == 0 and again.stdout.startswith("fixed.toml is valid: 1 link, ")
    queues = forebay.load(fixed).document["compare"]["disciplines"]
    assert queues[1] == {"kind": "codel", "interval": "700ms", "target": "35ms"}


def test_compare_with_the_changes(tmp_path: Path) -> None:
    file = str(FOLDER / "voice.toml")
    arguments = [
        "compare",
        file,
        "--disciplines",
        "prio,fifo",
        "-r",
        "2",
        "--out",
        str(tmp_path / "o"),
    ]
    plain = runner.invoke(app, arguments)
    assert "one class" in " ".join(plain.stdout.split()), plain.output
    fixed = runner.invoke(app, [*arguments, "--fix"])
    assert fixed.exit_code == 0, fixed.output
    assert "Changed for this comparison" in fixed.stdout
    assert "set traffic[0].q = 1" in fixed.stdout
    assert "one class" not in fixed.stdout


def test_what_becomes_the_same_is_compared_once(tmp_path: Path) -> None:
    file = str(Template.satellite.file)
    arguments = ["compare", file, "-r", "1", "--set", "duration=70s", "--fix", "--no-report"]
    for more, left_out in (([], "codel 700ms"), (["--baseline", "codel 700ms"], "codel")):
        done = runner.invoke(app, [*arguments, *more, "-o", str(tmp_path / "out")])
        assert done.exit_code == 0, done.output
        said = " ".join(done.stdout.split())
        [same] = {"codel", "codel 700ms"} - {left_out}
        assert f"leave out {left_out}, which is now the same as {same}" in said
        labels = [each["label"] for each in summary_of(tmp_path / "out")["disciplines"]]
        assert same in labels and left_out not in labels


def summary_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text("utf-8"))
    return found


def test_several_links_get_a_pick_each(tmp_path: Path) -> None:
    built = scenario().document
    built["link"][0]["to"] = "m"
    second = built["link"][0] | {"name": "down", "from": "m", "to": "b", "rate": "5Mbit"}
    built["link"].append(second)
    file = tmp_path / "two.json"
    file.write_text(Scenario.of(built).text, encoding="utf-8")
    arguments = ["compare", str(file), "--disciplines", "fifo,fq-codel", "-r", "2", "--no-report"]
    arguments += ["--link", "up", "--link", "down", "--out", str(tmp_path / "out")]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "A pick for each link" in done.stdout
    assert (tmp_path / "out-up" / "summary.json").exists()
    assert (tmp_path / "out-down" / "summary.json").exists()
    both = runner.invoke(app, [*arguments, "--gate", str(tmp_path / "g.toml")])
    assert both.exit_code == 2 and "one at a time" in both.stderr
    unknown = runner.invoke(app, [*arguments, "--link", "middle"])
    assert unknown.exit_code == 2 and 'no link is called "middle"' in unknown.stderr


def test_a_reverse_link_is_compared_with_its_own_queues(tmp_path: Path) -> None:
    built = scenario().with_("link[0].reverse", {"rate": "1Mbit", "queue": {"kind": "fifo"}})
    file = tmp_path / "one.json"
    file.write_text(built.with_("duration", "3s").text, encoding="utf-8")
    arguments = [
        "compare",
        str(file),
        "--link",
        "up-reverse",
        "--disciplines",
        "codel,red",
        "-r",
        "1",
    ]
    done = runner.invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    shown = page[page.index("The disciplines, with every default") :]
    assert shown.index("kind = &#34;codel&#34;") < shown.index("kind = &#34;red&#34;")


def gate_program() -> str | None:
    root = Path(__file__).parents[2]
    for built in ("release", "debug"):
        program = root / "target" / built / "forebay-gate"
        if program.is_file():
            return str(program)
    return shutil.which("forebay-gate")


@pytest.mark.parametrize(
    "discipline",
    [
        "fq-codel",
        {"kind": "prio", "limit": ["50p", "20p"]},
        {"kind": "cq-aqm", "thresholds": {"local": 0.6, "non_local": 0.7},
         "queues": [{"limit": "100p"}, {"limit": "20p"}],
         "classify": {"kind": "dscp", "queues": 2, "default": {"queue": 0, "precedence": 0},
                      "table": {"41": {"queue": 1, "precedence": 1}}}},
    ],
)  # fmt: skip
def test_a_gate_takes_what_is_written(discipline: str | dict[str, Any], tmp_path: Path) -> None:
    built = scenario(seed=3).with_("traffic[0].precedence", 1)
    built = built.with_("link[0].reverse", {"rate": "50Mbit", "queue": {"kind": "codel"}})
    comparison = forebay.compare(
        built.with_("duration", "3s"), disciplines=[discipline], replications=1
    )
    text = gate.configuration(comparison, comparison.labels[0])
    assert 'rate = "9.5Mbit"' in text and 'rate = "47.5Mbit"' in text
    # Which side is inside, and that the other direction has its own queue, is said where it counts.
    assert "inside is that towards a, outside that towards b" in text
    assert text.index("scenario's own queue") < text.index("[link.reverse]")
    if isinstance(discipline, dict):
        assert "# Nothing on the wire tells bulk from other traffic" in text
    file = tmp_path / "gate.toml"
    file.write_text(text, encoding="utf-8")
    program = gate_program()
    if program is None:
        pytest.skip("forebay-gate is not built")
    checked = subprocess.run([program, "check", file], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    if comparison.labels[0] == "prio":
        assert "EF" in checked.stdout and "q 1" in checked.stdout


def test_a_link_that_follows_a_recording_has_no_gate(tmp_path: Path) -> None:
    trace = tmp_path / "a.trace"
    trace.write_text("".join(f"{at}\n" for at in range(1, 1000, 3)), encoding="utf-8")
    built = scenario().document
    built["link"][0] |= {"rate": {"trace": "a.trace"}, "reverse": {"rate": "10Mbit"}}
    traced = Scenario.of(built, base=str(tmp_path)).with_("duration", "3s")
    comparison = forebay.compare(traced, disciplines=["fifo"], replications=1)
    assert not gate.fits(comparison)
    with pytest.raises(ScenarioError, match="follows a recording"):
        gate.configuration(comparison, "fifo")


def test_after_running_it_says_what_was_too_little() -> None:
    idle = scenario().with_("link[0].rate", "1Gbit").with_("duration", "5s")
    document = idle.document
    document["traffic"] = document["traffic"][1:]
    found = advise(
        forebay.compare(Scenario.of(document), disciplines=["fifo", "codel"], replications=2)
    )
    kinds = {hint.kind for hint in found.hints}
    assert {"never-full", "rare", "open-loop"} <= kinds
    assert any(hint.text.startswith("Less than 1 % of up was used") for hint in found.hints)
    flood = scenario().document
    flood["traffic"] = [
        {"name": "flood", "kind": "cbr", "from": "a", "to": "b", "rate": "12Mbit", "size": "1000B"}
    ]
    flooded = advise(
        forebay.compare(
            Scenario.of(flood).with_("duration", "5s"), disciplines=["fifo"], replications=1
        )
    )
    assert "overload" in {hint.kind for hint in flooded.hints}


def test_as_much_as_a_link_carries_is_no_overload() -> None:
    built = scenario(duration="5s", link__up__rate="9.999Mbit").document
    built["traffic"] = [
        {"name": "flood", "kind": "cbr", "from": "a", "to": "b", "rate": "10Mbit", "size": "1000B"}
    ]
    compared = forebay.compare(Scenario.of(built), disciplines=["fifo"], replications=1)
    sent, *_ = compared.samples("fifo", "flood", "sent_bps")
    assert sent is not None and sent > 9.999e6
    assert "overload" not in {hint.kind for hint in advise(compared).hints}


@pytest.mark.parametrize(
    ("start", "disciplines", "replications", "said"),
    [
        (None, ["fifo", "codel"], 2, "all replications measured the same"),
        ("2s", ["fifo", "codel"], 2, "all replications measured the same"),
        # PIE drops at random.
        (None, ["fifo", "pie"], 2, "all replications of fifo measured the same"),
        (None, ["fifo", "codel"], 1, None),
        (["0s", "1s"], ["fifo", "codel"], 2, None),
    ],
)
def test_replications_of_which_nothing_is_random(
    start: Any, disciplines: list[str], replications: int, said: str | None
) -> None:
    built = scenario(duration="8s").document
    built["traffic"] = [{"name": "load", "kind": "bulk", "from": "a", "to": "b", "flows": 3}]
    built["traffic"][0] |= {} if start is None else {"start": start}
    compared = forebay.compare(
        Scenario.of(built), disciplines=disciplines, replications=replications
    )
    found = [hint for hint in advise(compared).hints if hint.kind == "same-runs"]
    assert len(found) == (said is not None)
    for hint in found:
        assert said is not None and said in hint.text and not hint.before
        low = 0 if start is None else 2
        assert hint.remedy == f'set traffic[0].start = ["{low}s", "{low + 1}s"]'


def test_runs_of_which_only_some_measures_are_equal_are_not_the_same() -> None:
    built = scenario(duration="6s").document
    built["traffic"] = [
        {"name": "web", "kind": "files", "from": "a", "to": "b", "size": "20KB",
         "arrivals": "poisson", "interval": "500ms"}
    ]  # fmt: skip
    compared = forebay.compare(Scenario.of(built), disciplines=["fifo"], replications=2)
    assert compared.samples("fifo", "web", "loss") == [0.0, 0.0]
    assert "same-runs" not in {hint.kind for hint in advise(compared).hints}


@pytest.mark.parametrize(
    ("rates", "ends", "full"),
    [
        ({"up": "20Mbit", "next": "4Mbit"}, ("a", "c"), True),
        # Nothing that crosses the compared link crosses the other one.
        ({"up": "20Mbit", "next": "4Mbit"}, ("b", "c"), False),
        ({"up": "4Mbit", "next": "20Mbit"}, ("a", "c"), False),
    ],
)
def test_another_link_may_be_the_one_that_decides(
    rates: dict[str, str], ends: tuple[str, str], full: bool
) -> None:
    document = scenario(duration="6s").document
    first = document["link"][0] | {"rate": rates["up"]}
    document["link"] = [first, first | {"name": "next", "from": "b", "to": "c"}]
    document["link"][1]["rate"] = rates["next"]
    document["traffic"].append({"name": "far", "kind": "bulk", "from": ends[0], "to": ends[1]})
    document["traffic"][0] |= {"kind": "cbr", "rate": "1Mbit", "size": "500B"}
    compared = forebay.compare(
        Scenario.of(document), link="up", disciplines=["fifo", "codel"], replications=1
    )
    texts = [hint.text for hint in advise(compared).hints if hint.kind == "another-link-full"]
    assert len(texts) == full
    assert all("--link next" in text for text in texts)


def test_a_link_that_waits_for_the_other_direction_is_not_called_too_fast() -> None:
    built = scenario(duration="8s").document
    built["link"][0] |= {"rate": "20Mbit", "reverse": {"rate": "2Mbit"}}
    built["traffic"][1:] = [{"name": "back", "kind": "bulk", "from": "b", "to": "a", "flows": 2}]
    for link in ("up", "*"):
        found = forebay.compare(
            Scenario.of(built), link=link, disciplines=["codel"], replications=1
        )
        hints = {hint.kind: hint for hint in advise(found).hints}
        assert not {"never-full", "not-filled"} & hints.keys()
        [change] = hints["reverse-full"].changes
        assert (change.path, change.value) == ("link[0].reverse.queue", {"kind": "fifo"})
        assert "of up was used, but the other direction, up-reverse, is full" in (
            hints["reverse-full"].text
        )
    mended = Scenario.of(built).with_(change.path, change.value)
    found = forebay.compare(mended, link="*", disciplines=["fifo", "codel"], replications=1)
    assert "reverse-full" not in {hint.kind for hint in advise(found).hints}
    assert found.link == "up-reverse"


@pytest.mark.parametrize("full", [True, False])
def test_a_full_reverse_direction_is_named(full: bool) -> None:
    back = {"name": "back", "kind": "bulk", "from": "b", "to": "a", "flows": 2}
    built = scenario(duration="8s")
    built = built.with_("link[0].reverse", {"rate": "5Mbit", "queue": {"kind": "fifo"}})
    document = built.document
    document["traffic"] += [back] if full else []
    built = Scenario.of(document)
    compared = forebay.compare(built, link="up", disciplines=["fifo", "codel"], replications=1)
    found = [hint for hint in advise(compared).hints if hint.kind == "reverse-full"]
    assert len(found) == full
    assert all("--link '*'" in hint.text and "(fifo)" in hint.text for hint in found)
    both = forebay.compare(built, link="*", disciplines=["fifo", "codel"], replications=1)
    assert [table.columns[0] for table in of_links(compared)] == ["link up"]
    ways = {table.columns[0]: table.rows for table in of_links(both)}
    assert ways.keys() == {"link up", "link up-reverse"}
    assert ways["link up"] != ways["link up-reverse"]
    assert not any(hint.kind == "reverse-full" for hint in advise(both).hints)
    # Of what a link without a written queue has, the run alone tells.
    plain = Scenario.of(
        {
            **document,
            "link": [
                {key: value for key, value in link.items() if key not in ("queue", "reverse")}
                for link in document["link"]
            ],
        }
    )
    other = forebay.compare(plain, link="up", disciplines=["codel", "pie"], replications=1)
    found = [hint for hint in advise(other).hints if hint.kind == "reverse-full"]
    assert all("(fifo)" in hint.text for hint in found)
    text = gate.configuration(both, "codel")
    assert text.count('queue = { kind = "codel" }') == 2
    assert "scenario's own queue" not in text
