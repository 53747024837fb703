"""Disciplines that are classes in Python: named, checked, identified, compared, and at fault."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from click.testing import CliRunner
from pydantic import Field

import forebay
from forebay import _scenario as scenario
from forebay import sweep
from forebay._advice import gate as gates
from forebay._cli import app, kinds
from forebay._plugin import process
from forebay.testing import check
from small_study import study
from test_lab import gate as gate  # a fixture
from test_plugins import command

ROOT = Path(__file__).parents[2]
CODEL = ROOT / "examples" / "plugins" / "codel.py"

SHORT = '''
import forebay

class Short(forebay.Discipline):
    """Drops what finds a long queue."""
    limit: forebay.Packets = "20p"
    """Packets that may wait."""

    def setup(self):
        self.queue, self.count = forebay.Queue(), 0

    def enqueue(self, packet, now):
        self.count += 1
        if len(self.queue) >= self.limit:
            return self.drop(packet, "overflow")
        self.queue.append(packet)

    def dequeue(self, now):
        if self.queue:
            return self.queue.popleft()
'''
FAR = "if self.count > 40: "


def document(kind: Any = "short", **more: Any) -> dict[str, Any]:
    """A congested link."""
    return {
        "duration": "5s",
        "dumbbell": {"rate": "5Mbit", "delay": "10ms", "queue": {"kind": kind}},
        "traffic": [{"kind": "bulk", "flows": 4}],
    } | more


class Marks(forebay.Discipline):
    """Marks at random what finds a queue."""

    target: forebay.Time = "1ms"
    """Wait above which packets are marked."""
    share: Annotated[float, Field(ge=0, le=1)] = 0.5
    rate_of_marks: forebay.Rate = "1Mbit"
    room: forebay.Size = "90KB"

    def setup(self) -> None:
        self.queue = forebay.Queue()
        self.seen: list[Any] = [self.target, self.share, self.rate_of_marks, self.room, self.rate]
        self.marked = 0

    def enqueue(self, packet: forebay.Packet, now: int) -> None:
        fits = self.queue.bytes + packet.len <= self.room
        if not fits or (self.random() < self.share and self.is_late(now) and not self.mark(packet)):
            self.drop(packet)
        else:
            self.queue.append(packet)

    def is_late(self, now: int) -> bool:
        return len(self.queue) > 0 and now - self.queue[0].queued > self.target

    def dequeue(self, _now: int) -> forebay.Packet | None:
        return self.queue.popleft() if self.queue else None


class Holds(forebay.Discipline):
    """Lets a packet go every 5 ms."""

    def setup(self) -> None:
        self.packets: list[forebay.Packet] = []
        self.next = 0

    def enqueue(self, packet: forebay.Packet, _now: int) -> None:
        if len(self.packets) < 30:
            self.packets.append(packet)
        else:
            self.drop(packet, "overflow")

    def dequeue(self, now: int) -> forebay.Packet | None:
        if not self.packets or now < self.next:
            return None
        self.next = now + 5_000_000
        return self.packets.pop(0)

    def wake(self, now: int) -> int | None:
        return max(now, self.next) if self.packets else None


def test_codel_in_python_does_to_every_packet_what_the_built_in_does() -> None:
    base = document(plugins=[str(CODEL)], duration="20s")
    runs = [
        forebay.run(forebay.Scenario.of(base), discipline=kind)
        for kind in ("codel", "codel-in-python", {"kind": "codel-in-python", "target": "20ms"})
    ]
    built_in, same, other = (run.summary["queues"]["bottleneck"] for run in runs)
    assert built_in["dropped"] > 100 and runs[0].fingerprint == runs[1].fingerprint
    assert same["variables"].keys() == {"count", "dropping"}
    assert other["mean_delay_ms"] > 1.5 * same["mean_delay_ms"]
    check(CODEL)


def test_classes_are_handed_over_and_keep_the_contract() -> None:
    for each in (Marks, Holds):
        check(each)
    here = forebay.Scenario.of(document("fifo"))
    run = forebay.run(here.with_("tcp.ecn", True), discipline=Marks)
    queue = run.summary["queues"]["bottleneck"]
    assert queue["kind"] == "marks" and queue["marked"] > 100
    (plugin,) = run.summary["plugins"]
    assert plugin["file"].startswith("class:marks-") and len(plugin["sha256"]) == 64
    # A packet every 5 ms is 2.4 Mbit/s.
    held = forebay.run(here.with_queue(Holds), seed=2).summary["links"]["bottleneck"]
    assert 0.40 < held["utilization"] < 0.49
    with pytest.raises(forebay.ScenarioError, match=r"int is no class of forebay\.Discipline"):
        here.with_queue({"kind": int})


def test_parameters_have_units_bounds_and_words() -> None:
    here = forebay.Scenario.of(document("fifo"))

    def with_(**given: Any) -> dict[str, Any]:
        queue = {"kind": Marks, **given}
        effective = here.with_queue(queue).effective()
        found: dict[str, Any] = effective["dumbbell"]["queue"]
        return found

    whole = {"target": "1ms", "share": 0.5, "rate_of_marks": "1Mbit", "room": "90KB"}
    assert with_() == {"kind": "marks"} | whole
    assert with_(target="2500us")["target"] == "2.5ms"
    for given, said in (
        ({"target": 5}, 'dumbbell.queue.target: expected a value such as "5ms", got 5'),
        ({"target": "5"}, "has no unit"),
        ({"share": 1.5}, "dumbbell.queue.share: must be less than or equal to 1, got 1.5"),
        ({"shard": 1}, 'dumbbell.queue.shard: unknown field "shard"; did you mean share'),
    ):
        with pytest.raises(forebay.ScenarioError, match=said):
            with_(**given)
    made = Marks(target="3ms", room="1KB")
    assert made.seen == [3_000_000, 0.5, 1_000_000, 1000, 10_000_000]


def test_kinds_explains_a_file_and_the_gate_refuses_it(gate: Path, tmp_path: Path) -> None:
    shown = command("--plugin", CODEL, "kinds", "codel-in-python").stdout
    assert "RFC 8289" in shown and "Acceptable standing delay" in shown and '"100ms"' in shown
    checked = command("kinds", "--check", CODEL)
    assert checked.stdout == "codel-in-python: keeps every contract\n", checked.stderr
    (tmp_path / "gate.toml").write_text(
        f'plugins = ["{CODEL}"]\n[link]\nrate = "1Mbit"\nqueue = {{ kind = "fifo" }}\n'
        '[io]\nbackend = "tun"\ninside = { name = "a" }\noutside = { name = "b" }\n'
    )
    refused = subprocess.run(
        [gate, "check", tmp_path / "gate.toml"], capture_output=True, text=True
    )
    assert refused.returncode == 2
    assert "plugins[0]: a class in Python runs only in simulations" in refused.stderr
    here = forebay.Scenario.of(document("fifo"))
    compared = forebay.compare(here, disciplines=[Marks], replications=1)
    assert not gates.fits(compared)
    with pytest.raises(forebay.ScenarioError, match=r"plugins\[0\]: a class in Python runs in sim"):
        gates.configuration(compared, "marks")


def test_a_long_check_gives_a_sign_of_life(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def check(_: str) -> list[tuple[str, str | None]]:
        time.sleep(0.2)
        return [("short", None)]

    (tmp_path / "mine.py").write_text(SHORT)
    monkeypatch.setattr(kinds, "_engine", SimpleNamespace(check_plugin=check))
    words = ["kinds", "--check", str(tmp_path / "mine.py")]
    assert "checking" not in CliRunner().invoke(app, words).stderr
    monkeypatch.setattr(kinds, "PATIENCE", 0.0)
    done = CliRunner().invoke(app, words)
    assert "checking" in done.stderr and done.stdout == "short: keeps every contract\n"


def test_the_content_of_a_file_is_part_of_the_identity(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    here = forebay.Scenario.of(document(plugins=["mine.py"]), base=str(tmp_path))

    def run(text: str) -> tuple[str, int]:
        file.write_text(text)
        return here.identity(), forebay.run(here).summary["queues"]["bottleneck"]["max_packets"]

    first, second = run(SHORT), run(SHORT.replace("20p", "7p"))
    # The changed file is read again, in the same process.
    assert (first[1], second[1]) == (20, 7) and first[0] != second[0]
    assert run(SHORT) == first


def test_replications_in_processes_are_equal_to_those_in_this_one() -> None:
    here = forebay.Scenario.of(document("fifo"))
    disciplines: list[scenario.Queue] = [Marks, {"label": "tight", "kind": Marks, "share": 1.0}]
    with process._here:  # as if another run were under way: all go to processes
        apart = forebay.compare(here, disciplines=disciplines, replications=3, jobs=2)
    alone = forebay.compare(here, disciplines=disciplines, replications=3, jobs=1)
    assert [run.result.fingerprint for run in apart.runs] == [
        run.result.fingerprint for run in alone.runs
    ]
    assert apart.runs[0].result.queue.equals(alone.runs[0].result.queue)
    assert apart.labels == ("marks", "tight")


class Breaks(Marks):
    """Breaks the tenth packet."""

    def enqueue(self, packet: forebay.Packet, now: int) -> None:
        self.marked += 1
        if self.marked == 10:
            os._exit(7) if os.environ.get("FOREBAY_BREAKS") == "process" else 1 / 0
        super().enqueue(packet, now)


def test_faults_in_other_processes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    here = forebay.Scenario.of(document("fifo")).with_queue(Breaks)
    line = 'test_plugins_in_python.py:.*, discipline "breaks": test_plugins_in_python.py:.*, in enq'
    with process._here:
        with pytest.raises(forebay.ScenarioError, match=line + "ueue: ZeroDivisionError"):
            forebay.run(here)
        for worker in process._idle:
            worker.end()
        process._idle.clear()
        monkeypatch.setenv("FOREBAY_BREAKS", "process")
        with pytest.raises(forebay.ScenarioError, match="ended, with code 7"):
            forebay.run(here)


@pytest.mark.parametrize("function", ["exit", "quick_exit"])
@pytest.mark.parametrize("place", ["enqueue", "loading"])
def test_a_class_that_ends_the_process_is_named(place: str, function: str, tmp_path: Path) -> None:
    ends = f"ctypes.CDLL(None).{function}(0)"
    before, inside = (ends, "pass") if place == "loading" else ("", ends)
    (tmp_path / "ends.py").write_text(
        f"import ctypes\nimport forebay\n{before}\n\n\nclass Ends(forebay.Discipline):\n"
        f'    """Ends."""\n\n    def enqueue(self, packet, now):\n        {inside}\n\n'
        "    def dequeue(self, now):\n        return None\n"
    )
    whole = {**document("ends"), "plugins": ["ends.py"]}
    (tmp_path / "scenario.json").write_text(json.dumps(whole))
    words = [sys.executable, "-m", "forebay", "run", "scenario.json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and f"its {place} ended the process" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("wake", "said"),
    [("now + 1_000_000", "for ever: whenever the time comes"), ("2**62", "more than a day")],
)
def test_a_class_that_holds_packets_for_ever_is_named(wake: str, said: str, tmp_path: Path) -> None:
    never = f"    def wake(self, now):\n        return {wake} if self.queue else None\n"
    (tmp_path / "mine.py").write_text(SHORT + never)
    here = forebay.Scenario.of(document("short", plugins=["mine.py"]), base=str(tmp_path))
    with pytest.raises(
        forebay.ScenarioError, match=rf"it holds back (1 packet|(?!1 )\d+ packets) .*{said}"
    ):
        forebay.run(here)
    with pytest.raises(AssertionError, match=r"holds back|waiting"):
        check(tmp_path / "mine.py")


@pytest.mark.parametrize(
    ("place", "fault", "said"),
    [
        ("enqueue", "1 / 0", r"{file}:14, in enqueue: ZeroDivisionError: division by zero"),
        ("enqueue", "raise SystemExit(0)", r"{file}:14, in enqueue: SystemExit: 0"),
        ("enqueue", "return", r"{file}:12, in enqueue: packet \d+ is neither kept nor sent nor"),
        ("enqueue", "return 7", r"{file}:12, in enqueue: it returned 7; it must return nothing"),
        ("enqueue", "self.drop(packet)", r"packet \d+ has already left: it was sent or dropped"),
        ("enqueue", "self.drop(packet, 'overflw')", r"{file}:14, .*did you mean \"overflow\"\?"),
        ("dequeue", "return self.queue[0]", r"{file}:18, in dequeue: .*\d+ has already left"),
        ("dequeue", "self.queue.popleft()", r"{file}:20, in dequeue: packet \d+ is neither kept"),
        ("dequeue", "return 'x'", r"{file}:18, in dequeue: it returned 'x'; it must return a pac"),
        (
            "dequeue",
            "return None",
            r"{file}:4, discipline .*says that one is ready, but returns none",
        ),
        ("dequeue", "return self.queue.pop()", r"{file}:4, discipline .*and it says that it keeps"),
        ("dequeue", "while self.count > 40: pass", r"{file}:20, in dequeue: it did not return"),
    ],
)
def test_who_breaks_the_contract_is_named(
    place: str, fault: str, said: str, tmp_path: Path
) -> None:
    where = {"enqueue": "        if len(self.queue) >=", "dequeue": "        if self.queue:\n"}[
        place
    ]
    inside = f"        {'' if fault.startswith('while') else FAR}{fault}\n"
    if place == "dequeue":
        text = SHORT.replace(where, where + "    " + inside)
    else:
        text = SHORT.replace(where, inside + where)
    file = tmp_path / "mine.py"
    file.write_text(text)
    compile(text, str(file), "exec")
    (tmp_path / "scenario.json").write_text(json.dumps(document(plugins=["mine.py"])))
    found = command("run", tmp_path / "scenario.json")
    assert found.returncode == 2, found.stdout
    message = " ".join(found.stderr.split())
    assert re.search(said.replace("{file}", "mine.py"), message), message
    assert 'link "bottleneck": plug-in mine.py:4, discipline "short"' in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("def setup", "def __init__", "class Short has a method `__init__`; call it `setup"),
        ("def dequeue", "def deque", "class Short has no method `dequeue`"),
        ('"20p"', "20.5", 'limit: expected a value such as "100p", got 20.5'),
        (' = "20p"', "", "class Short: limit: a parameter needs a default value"),
        ('forebay.Packets = "20p"', "type = int", "class Short: limit: a scenario cannot write it"),
        ('"20p"', "print", "limit: expected a value such as"),
        (
            'forebay.Packets = "20p"',
            'Annotated[int, Field(json_schema_extra={"enum": 3})] = 20',
            'class Short: its schema: property "limit": `enum` must be a list of values, got 3',
        ),
        (
            'forebay.Packets = "20p"',
            'Annotated[int, Field(json_schema_extra={"least": float("nan")})] = 20',
            "class Short: its schema: expected value at line 1",
        ),
        ("forebay.Packets", "forebay.Package", r"mine.py:6, in Short: AttributeError"),
        ("class Short", "class (Short", "line 4: invalid syntax"),
        (
            "    limit",
            '    name = "My AQM"\n    limit',
            'class Short cannot be called "My AQM"; use',
        ),
        ("    limit", "    name = 5\n    limit", "class Short cannot be called 5; use letters"),
        ("(forebay.Discipline)", "", "it defines no part"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    imports = "from typing import Annotated\n\nfrom pydantic import Field\n"
    (tmp_path / "mine.py").write_text(imports * ("Annotated" in new) + SHORT.replace(old, new))
    here = forebay.Scenario.of(document(plugins=["mine.py"]), base=str(tmp_path))
    with pytest.raises(forebay.ScenarioError, match=r"plugins\[0\]: plug-in mine.py: .*" + said):
        forebay.run(here)


def test_a_class_of_another_process_is_not_known() -> None:
    here = forebay.Scenario.of(document("fifo", plugins=["class:marks-0123456789abcdef"]))
    with pytest.raises(forebay.ScenarioError, match="only the process that defined this class"):
        here.effective()


@pytest.fixture
def named(tmp_path: Path) -> Iterator[Path]:
    """A file, named as by `forebay --plugin`."""
    file = tmp_path / "mine.py"
    file.write_text(SHORT)
    scenario.plugins[:] = [str(file)]
    yield file
    scenario.plugins.clear()


def test_compare_and_sweep_know_files(tmp_path: Path, named: Path) -> None:
    (tmp_path / "scenario.json").write_text(json.dumps(document("fifo")))
    words = ("--disciplines", "codel,short", "-r", "2", "--out", tmp_path / "compared")
    made = command("--plugin", named, "compare", tmp_path / "scenario.json", *words)
    assert made.returncode == 0 and "short" in made.stdout, made.stderr
    digest = hashlib.sha256(named.read_bytes()).hexdigest()
    summary = json.loads((tmp_path / "compared" / "summary.json").read_text())
    assert summary["plugins"] == [{"file": str(named), "sha256": digest}]
    assert f"SHA-256 {digest}" in (tmp_path / "compared" / "report.html").read_text()
    out = tmp_path / "out"
    sweep.run(study(tmp_path, disciplines=["fifo", "short"], replications=1), out)
    assert set(sweep.results(out).runs["discipline"]) == {"fifo", "short"}


def test_pytest_finds_the_fixture(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SHORT)
    (tmp_path / "test_mine.py").write_text(
        "from mine import Short\n"
        "class Loses(Short):\n"
        "    def enqueue(self, packet, now):\n"
        "        if packet.flow != 3: super().enqueue(packet, now)\n"
        "def test_short(conformance): conformance(Short)\n"
        "def test_a_file(conformance): conformance('mine.py')\n"
        "def test_loses(conformance): conformance(Loses)\n"
    )
    # An installed package has told pytest of it, a source tree that was never installed has not.
    known = any(each.value == "forebay.testing" for each in entry_points(group="pytest11"))
    words = [sys.executable, "-m", "pytest", "-q", *([] if known else ["-p", "forebay.testing"])]
    found = subprocess.run([*words, "test_mine.py"], cwd=tmp_path, capture_output=True, text=True)
    assert "2 passed" in found.stdout and "1 failed" in found.stdout, found.stdout
    assert re.search(r"test_mine.py:3, in enqueue: packet \d+ is neither kept", found.stdout)
