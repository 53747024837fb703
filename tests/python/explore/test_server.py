"""The server of `forebay explore`: what a page gets from it, and what it refuses."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

import forebay
from explore.driven import declared
from forebay import _engine
from forebay._explore.protocol import Command
from forebay._explore.server import HOST, MOST_ASKED, MOST_UNREAD
from forebay._explore.server import server as serve
from forebay._explore.stage import Client, Stage
from forebay._measures import DISTORTED, MARKED
from forebay._scenario import load

TOKEN = "not-to-be-guessed"
SMALL = {
    "title": "Small",
    "duration": "5s",
    "dumbbell": {"rate": "4Mbit", "delay": "10ms", "queue": {"kind": "fifo", "limit": "40p"}},
    "traffic": [
        {"name": "bulk", "kind": "bulk", "flows": 2},
        {"name": "calls", "kind": "voice"},
    ],
    "compare": {"disciplines": [{"kind": "fifo", "limit": "40p"}, "codel"], "replications": 2},
}


class Page:
    """What a tab does: it draws frames, acknowledges them, and keeps what is said."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.stage: dict[str, Any] = {}
        self.frame: dict[str, Any] = {}
        self.points: list[list[Any]] = []
        self.others: list[dict[str, Any]] = []

    def send(self, type_: str, **more: Any) -> Page:
        self.connection.send(json.dumps({"type": type_, **more}))
        return self

    def take(self) -> str:
        message = json.loads(self.connection.recv(20))
        if message["type"] == "stage":
            self.stage = message
        elif message["type"] == "frame":
            self.frame = message
            self.points += [[]] * (len(message["lanes"]) - len(self.points))
            for number, lane in enumerate(message["lanes"]):
                self.points[number] = self.points[number][: lane["first"]] + lane["points"]
            self.send("ack", number=message["number"])
        else:
            self.others.append(message)
        return str(message["type"])

    def until(self, true: Callable[[], Any], seconds: float = 20) -> Page:
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, (self.frame.get("now_ns"), self.others)
            self.take()
        return self

    def said(self, part: str) -> dict[str, Any]:
        """The next message that holds `part`, of those that are neither stage nor frame."""
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = [each for each in self.others if part in json.dumps(each)]
            return bool(found)

        self.until(there)
        self.others.remove(found[0])
        return found[0]

    def begin(self) -> Page:
        """Until the first frame is there."""
        return self.until(lambda: self.stage and self.frame)

    @property
    def now(self) -> int:
        return int(self.frame.get("now_ns", -1))


@dataclass
class Server:
    """A server that runs, and how to reach it."""

    port: int

    def get(
        self, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
    ) -> tuple[int, str, str]:
        """Status, policy and text of an answer."""
        asked = HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            asked.request("GET" if body is None else "POST", path, body, headers or {})
            answer = asked.getresponse()
            policy = answer.getheader("Content-Security-Policy") or ""
            return answer.status, policy, answer.read().decode()
        finally:
            asked.close()

    def live(self, token: str = TOKEN, origin: str | None = None) -> ClientConnection:
        """A tab's connection."""
        address = f"ws://127.0.0.1:{self.port}/{token}/live"
        origin_ = None if origin is None else Origin(origin)
        return connect(address, origin=origin_, max_size=1 << 24, compression=None, proxy=None)

    def deaf(self) -> socket.socket:
        """The connection of a tab that never reads."""
        tab = socket.create_connection((HOST, self.port))
        lines = (
            f"GET /{TOKEN}/live HTTP/1.1",
            f"Host: {HOST}:{self.port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version: 13",
        )
        tab.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode())
        return tab


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    scenario = forebay.Scenario.of(SMALL, "small.toml", str(tmp_path))
    with socket.create_server((HOST, 0)) as listening:
        port = listening.getsockname()[1]
        running = serve(Stage(scenario), TOKEN, port)
        thread = threading.Thread(target=running.run, args=([listening],))
        thread.start()
        yield Server(port)
        running.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture
def page(server: Server) -> Iterator[Page]:
    with server.live() as connection:
        yield Page(connection).begin()


def test_what_does_not_come_from_the_page_is_refused(server: Server) -> None:
    status, policy, text = server.get(f"/{TOKEN}/")
    assert status == 200 and "default-src 'none'" in policy and "<html" in text
    assert server.get(f"/{TOKEN}/static/main.js")[0] == 200
    for path in ("/", "/live", "/wrong/", f"/{TOKEN}x/", f"/{TOKEN}/static/../server.py"):
        assert server.get(path)[0] == 404, path
    own = f"http://127.0.0.1:{server.port}"
    assert server.get(f"/{TOKEN}/", {"origin": own})[0] == 200
    foreign = ("http://example.org", "null", f"http://127.0.0.1:{server.port + 1}", f"{own}.org")
    for origin in foreign:
        assert server.get(f"/{TOKEN}/", {"origin": origin})[0] == 403, origin
        with pytest.raises(InvalidStatus):
            server.live(origin=origin)
    for host in ("example.org", "127.0.0.1", f"example.org:{server.port}"):
        assert server.get(f"/{TOKEN}/", {"host": host})[0] == 403, host
    assert server.get(f"/{TOKEN}/", body=b"x" * 10)[0] == 413
    with pytest.raises(InvalidStatus):
        server.live("wrong")
    assert server.get(f"/{TOKEN}/report")[0] == 404
    with server.live() as connection:
        connection.send("x" * (1 << 20))
        with pytest.raises(ConnectionClosed, match="1009"):
            while True:
                connection.recv(20)


def test_a_scenario_is_played_in_step(page: Page) -> None:
    assert [lane["label"] for lane in page.stage["lanes"]] == ["today", "codel"]
    assert page.stage["watched"] == "bottleneck" and page.now == 0
    assert [flow["name"] for flow in page.stage["flows"]] == ["bulk 1", "bulk 2", "calls"]
    page.send("speed", factor=20).send("play")
    page.until(lambda: page.now > 2_000_000_000)
    lanes = page.frame["lanes"]
    assert page.frame["playing"] and [lane["id"] for lane in lanes] == [0, 1]
    page.send("pause").until(lambda: not page.frame["playing"])
    now = page.now
    for lane, points in zip(page.frame["lanes"], page.points, strict=True):
        assert lane["total"] == sum(each["total"] for each in lane["queues"])
        assert len(points) == now // round(page.stage["grain_s"] * 1e9)
        times = [point["t"] for point in points]
        assert times == sorted(set(times))
        assert sum(point["bps"][0] for point in points) > 0
    full, short = (lane["total"] for lane in page.frame["lanes"])
    assert full > short
    assert sum(sum(each["dropped"].values()) for each in page.points[0]) > 0
    assert "count" in page.points[1][-1]["variables"] or page.points[1][-1]["variables"]


def test_a_step_is_one_move_of_the_queue(page: Page) -> None:
    page.send("seek", at_ns=1_500_000_000).until(lambda: page.now == 1_500_000_000)
    seen = []
    for _ in range(5):
        before = page.now
        page.send("step").until(partial(lambda old: page.now > old, before))
        seen.append(page.frame["lanes"][0]["total"])
    assert all(abs(new - old) <= 2 for old, new in pairwise(seen))
    assert page.now < 1_600_000_000 and not page.frame["playing"]


def test_a_jump_back_shows_the_same_again(page: Page) -> None:
    page.send("seek", at_ns=1_000_000_000).until(lambda: page.now == 1_000_000_000)
    before = [dict(lane, first=0, points=[], gone=[]) for lane in page.frame["lanes"]]
    points = [list(each) for each in page.points]
    page.send("seek", at_ns=4_000_000_000).until(lambda: page.now == 4_000_000_000)
    later = [list(each) for each in page.points]
    page.send("change", path="dumbbell.rate", value="1Mbit")
    page.send("seek", at_ns=1_000_000_000).until(lambda: page.now == 1_000_000_000)
    after = [dict(lane, first=0, points=[], gone=[]) for lane in page.frame["lanes"]]
    assert (after, page.points) == (before, points)
    page.send("seek", at_ns=4_000_000_000).until(lambda: page.now == 4_000_000_000)
    assert page.points == later


def test_every_change_is_recorded_and_saved_to_the_same_fingerprint(
    page: Page, tmp_path: Path
) -> None:
    page.send("seek", at_ns=800_000_000)
    page.send("change", path="dumbbell.rate", value="3Mbit")
    page.send("change", path="dumbbell.queue.target", value="20ms", lane=1)
    page.send("seek", at_ns=1_600_000_000)
    page.send("queue", queue={"kind": "pie", "limit": "30p"}, lane=0)
    page.send("join", traffic={"kind": "bulk"}).send("burst", packets=20)
    page.send("seek", at_ns=2_400_000_000).send("leave", traffic=1)
    page.until(lambda: len(page.stage["changes"]) == 6)
    assert [each["text"] for each in page.stage["changes"]] == [
        *("dumbbell.rate = 3Mbit", "dumbbell.queue.target = 20ms, codel", "pie replaces today"),
        *("bulk-2 joins", "burst joins", "calls leaves"),
    ]
    names = [each["name"] for each in page.stage["traffic"]]
    assert names == ["bulk", "calls", "bulk-2", "burst"]
    assert page.stage["traffic"][1]["left_s"] == pytest.approx(2.4)
    assert [lane["kind"] for lane in page.stage["lanes"]] == ["pie", "codel"]
    page.send("seek", at_ns=5_000_000_000).until(lambda: page.frame["complete"])
    page.send("save")
    saved = page.said('"saved"')["files"]
    grain = round(page.stage["grain_s"] * 1e9)
    for file, seen, frame in zip(saved, page.points, page.frame["lanes"], strict=True):
        path = Path(file["path"])
        assert path.parent == tmp_path and path.read_text() == file["text"]
        # The file's run goes through all that the page has seen, and ends like a plain run.
        again = _engine.open(load(path).text, str(tmp_path))
        again.watch("bottleneck", grain)
        while not again.advance(5_000_000_000):
            pass
        assert json.loads(again.points(0)[1]) == seen
        assert json.loads(f"{{{again.picture(400)}}}")["queues"] == frame["queues"]
        assert forebay.run(load(path)).fingerprint == file["fingerprint"]
    page.send("save")
    others = page.said('"saved"')["files"]
    assert {each["path"] for each in others}.isdisjoint(each["path"] for each in saved)


def test_a_change_can_be_taken_back(page: Page) -> None:
    page.send("seek", at_ns=2_000_000_000).until(lambda: page.now == 2_000_000_000)
    plain = [list(each) for each in page.points]
    page.send("seek", at_ns=1_000_000_000).send("change", path="dumbbell.rate", value="1Mbit")
    page.send("seek", at_ns=2_000_000_000).until(lambda: page.now == 2_000_000_000)
    page.until(lambda: len(page.stage["changes"]) == 1)
    assert page.points != plain
    page.send("forget", change=page.stage["changes"][0]["id"])
    page.until(lambda: not page.stage["changes"]).until(lambda: page.points == plain)


def test_what_is_wrong_is_said_and_the_run_goes_on(page: Page) -> None:
    page.send("change", path="dumbbell.rate", value="fast")
    said = page.said("expected a rate")
    assert (said["level"], said["field"]) == ("error", "dumbbell.rate")
    page.send("change", path="dumbbell.queue.limit", value="0p", lane=1)
    assert page.said("limit")["field"] == "dumbbell.queue.limit"
    for bad, part in (
        ({"type": "jump"}, "jump"),
        ({"type": "speed", "factor": 0}, "speed.factor"),
        ({"type": "ask", "lane": 9, "id": 1}, "there is no lane 9"),
        ({"type": "leave", "traffic": 77}, "no traffic entry 77"),
        ({"type": "lanes", "queues": ["codle"]}, "codle"),
        ({"type": "watch", "link": "nowhere"}, "nowhere"),
        ({"type": "story", "name": "nowhere", "step": 0}, "no story"),
        ({"type": "join", "traffic": {"kind": "bulk", "q": 300}}, "join"),
    ):
        page.connection.send(json.dumps(bad))
        assert page.said(part)["level"] == "error"
    page.connection.send("{")
    assert page.said("JSON")["level"] == "error"
    assert page.stage["changes"] == []
    page.send("play").until(lambda: page.now > 100_000_000)


def test_a_packet_tells_its_story(page: Page) -> None:
    page.send("seek", at_ns=2_000_000_000).until(lambda: page.now == 2_000_000_000)
    packet = page.frame["lanes"][1]["queues"][0]["packets"][-1]
    page.send("ask", lane=1, id=packet[0])
    story = page.said('"story_of"')
    assert [step["what"] for step in story["steps"]] == ["sent", "queued"]
    assert story["steps"][1]["variables"] and not story["ended"]
    page.send("seek", at_ns=3_000_000_000).send("ask", lane=1, id=packet[0])
    story = page.said('"story_of"')
    whole = [step["what"] for step in story["steps"]]
    assert story["ended"] and whole[2:] in (["transmitted", "delivered"], ["dropped"])
    assert story["bytes"] == packet[3]
    page.send("speed", factor=30).send("play")
    page.until(lambda: any(lane["gone"] for lane in page.frame["lanes"]))
    number, gone = next(
        (at, each["gone"]) for at, each in enumerate(page.frame["lanes"]) if each["gone"]
    )
    page.send("pause").send("ask", lane=number, id=gone[0][0])
    last = page.said('"story_of"')["steps"][-1]
    assert (last["what"], last["why"]) == ("dropped", gone[0][3])
    page.send("ask", lane=0, id=10**9)
    assert page.said('"story_of"')["steps"] == []


def test_a_second_tab_sees_the_same_and_a_slow_one_holds_nobody_up(server: Server) -> None:
    with server.live() as one, server.live() as two:
        page, slow = Page(one).begin(), two
        # It is sent the stage and a frame, and no other without an acknowledgment.
        types = [json.loads(slow.recv(20))["type"] for _ in range(2)]
        page.send("speed", factor=10).send("play").until(lambda: page.now > 1_000_000_000)
        page.send("pause").until(lambda: not page.frame["playing"])
        assert types == ["stage", "frame"]
        with pytest.raises(TimeoutError):
            slow.recv(0.2)
        late = Page(slow)
        late.send("ack", number=1).send("ack", number=2).until(lambda: late.now == page.now)
        assert late.points == page.points
    with server.live() as again:
        reloaded = Page(again).begin()
        assert reloaded.now == page.now and reloaded.points == page.points


def test_a_tab_that_floods_and_does_not_read_is_held_back_and_nobody_else(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered: list[int] = []

    def answers(_stage: Stage, client: Client, command: Command) -> None:
        lane, number = command.fields["lane"], command.fields["id"]
        answered.append(number)
        text = "x" * (1 << 18) if lane == 1 else "x"
        client.tell(json.dumps({"type": "story_of", "lane": lane, "id": number, "text": text}))

    monkeypatch.setattr(Stage, "_obey", answers)
    with server.deaf() as flood, server.live() as other:
        sent: list[int] = []

        def floods() -> None:
            with contextlib.suppress(OSError):
                for number in range(200_000):
                    text = json.dumps({"type": "ask", "lane": 1, "id": number}).encode()
                    # A text in one frame, with a mask of zeros.
                    flood.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)
                    sent.append(number)

        sender = threading.Thread(target=floods)
        sender.start()
        try:
            page = Page(other).begin()
            for number in range(100):
                page.send("ask", lane=0, id=10**6 + number)
                assert page.said('"story_of"')["id"] == 10**6 + number
            own = [number for number in answered if number < 10**6]
            # What waits to be read, what waits to be obeyed, and what the sockets hold.
            assert len(own) < MOST_UNREAD + MOST_ASKED + 64
            assert own == list(range(len(own)))
        finally:
            flood.shutdown(socket.SHUT_RDWR)
            sender.join(20)
        assert not sender.is_alive() and len(sent) < 200_000


def test_lanes_links_and_stories_are_chosen(page: Page) -> None:
    page.send("seek", at_ns=500_000_000)
    page.send("lanes", queues=["pie", {"kind": "codel", "label": "mine", "target": "9ms"}, "gsp"])
    page.until(lambda: len(page.stage["lanes"]) == 3).until(lambda: len(page.frame["lanes"]) == 3)
    assert [lane["label"] for lane in page.stage["lanes"]] == ["pie", "mine", "gsp"]
    assert page.now == 500_000_000 and len(page.points[2]) > 0
    page.send("lanes", queues=["aspq", "fifo"])
    page.until(lambda: [lane["kind"] for lane in page.stage["lanes"]] == ["prio", "fifo"])
    limit = next(each for each in page.stage["lanes"][0]["fields"] if each["name"] == "limit")
    assert (limit["kind"], limit["unit"]) == ("limit", "p") and limit["low"] < limit["number"]
    page.send("queue", queue="aspq", lane=1)
    assert page.said("from the beginning")["level"] == "error"
    page.send("watch", link="bottleneck-reverse")
    page.until(lambda: page.stage["watched"] == "bottleneck-reverse")
    story = page.stage["stories"][0]
    page.send("story", name=story["name"], step=1)
    page.until(lambda: page.stage["story"] == {"name": story["name"], "step": 1})
    page.until(lambda: page.now == story["steps"][1]["until_ns"], seconds=60)
    page.until(lambda: not page.frame["playing"])


def test_lanes_are_compared_and_reported(page: Page, server: Server) -> None:
    page.send("seek", at_ns=1_000_000_000).send("change", path="dumbbell.rate", value="2Mbit")
    page.send("compare", runs=2)
    page.until(lambda: any(each.get("done") == 1.0 for each in page.others), seconds=60)
    found = page.others[-1]
    assert found["type"] == "compared" and found["lanes"] == ["today", "codel"]
    delay = next(each for each in found["rows"] if "Median delay" in each["measure"])
    assert all(float(each["text"]) > 0 and each["note"].startswith("±") for each in delay["cells"])
    # What the marks mean is said in the words of every other table.
    assert MARKED in found["marked"] and DISTORTED in found["marked"]
    assert {cell["mark"] for each in found["rows"] for cell in each["cells"]} <= {
        "",
        "best",
        "open",
    }
    assert any(cell["mark"] == "best" for each in found["rows"] for cell in each["cells"])
    # So are benefit and price against today's queue.
    assert "codel" in found["advice"]["headline"] or "today" in found["advice"]["headline"]
    assert declared(found, "Compared") > 10
    page.others.clear()
    page.send("report")
    page.until(lambda: any(each.get("address") for each in page.others), seconds=60)
    assert page.others[-1]["address"] == f"/{TOKEN}/report"
    assert "<html" in server.get(f"/{TOKEN}/report")[2]


def test_why_packets_wait_is_answered_with_the_changes(page: Page) -> None:
    page.send("seek", at_ns=1_000_000_000).send("change", path="dumbbell.rate", value="2Mbit")
    page.send("why", lane=0, at_ns=1_400_000_000)
    page.until(lambda: any(each.get("parts") for each in page.others), seconds=60)
    found = page.others[-1]
    assert declared(found, "Explained") == 1
    seen, shown, tried, _ = found["parts"]
    assert "At 1.4s packets wait" in seen[0]
    assert shown[0].startswith(("Cause: ", "No single cause"))
    assert any("2Mbit" in each or "dumbbell.rate" in each for each in tried)
    page.send("why", lane=7, at_ns=1_400_000_000)
    assert "there are 2 lanes" in page.said("lane")["text"]
    page.send("why", lane=0, at_ns=1 << 62)
    assert "must be within the run" in page.said("within")["text"]


def test_a_comparison_that_fails_is_told(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr("forebay._explore.results.Results._run", fails)
    page.send("compare", runs=2)
    assert "no memory" in page.said("this failed")["text"]
    assert page.others[-1]["done"] < 0
    page.send("play").until(lambda: page.now > 100_000_000)


def test_the_command_prints_an_address_and_refuses_a_port_that_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(forebay.Scenario.of(SMALL).to_toml())
    command = [sys.executable, "-m", "forebay", "explore", str(file), "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        address = first.stdout.readline().strip()
        port = address.split(":")[2].split("/")[0]
        assert address.startswith("http://127.0.0.1:") and len(address.split("/")[3]) > 20
        second = subprocess.run(
            [*command, "--port", port], capture_output=True, text=True, timeout=60
        )
        assert second.returncode == 2 and f"--port: {port} cannot be used" in second.stderr
        first.send_signal(signal.SIGINT)
        assert first.wait(20) == 0
    wrong = subprocess.run(
        [*command[:4], str(tmp_path / "no.toml")], capture_output=True, text=True
    )
    assert wrong.returncode == 2 and "no.toml" in wrong.stderr


def test_an_interrupt_ends_a_comparison_that_is_being_run(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(forebay.Scenario.of(SMALL | {"duration": "3000s"}).to_toml())
    command = [sys.executable, "-m", "forebay", "explore", str(file), "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().strip()
        with connect(f"{address.replace('http', 'ws', 1)}live") as connection:
            page = Page(connection).send("compare", runs=50)
            page.until(lambda: page.others)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        assert process.stderr.read() == ""
