"""The stage: disciplines side by side in simulated time, one for a process, seen by all its tabs.

A thread of its own advances the runs; the engine does so without the interpreter's lock. Commands
reach it by a queue, and it is the only one that touches the runs.
"""

from __future__ import annotations

import json
import queue
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import Any

from forebay._engine import ScenarioError
from forebay.explore import describe, fields, protocol, stories
from forebay.explore.lane import Entry, Lane, in_words, recorded_at
from forebay.explore.pace import Pace
from forebay.explore.protocol import Change, StoryPlace
from forebay.scenario import Queue, Scenario, instant, labelled, nanoseconds

POINTS = 3000
"""Points of the series that a run has, at most."""


class Client:
    """A tab: frames are sent to it one at a time."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        """A tab that has been sent nothing.

        Args:
            tell: sends it a message; called from the stage's thread.
        """
        self.tell = tell
        self.waits_for: int | None = None
        """The frame whose acknowledgment is missing."""
        self.version = -1
        self.known: list[tuple[int, int]] = []
        """Of each lane: its epoch, and the points of its series that the tab has."""


def attempt(act: Callable[[], None], tell: Callable[[str], None], field: str | None = None) -> None:
    """Do something; what is wrong is told, beside `field` if it is one's."""
    try:
        act()
    except (ScenarioError, ValueError, OSError) as error:
        tell(said("error", str(error), field))
    except Exception as error:
        # A defect of ours ends what was asked for, and nothing else.
        traceback.print_exc()
        tell(said("error", f"this failed: {error!r}", field))


class Stage:
    """What is played."""

    def __init__(
        self,
        scenario: Scenario,
        queues: Sequence[Queue] | None = None,
        link: str | None = None,
        *,
        plays: bool = False,
    ) -> None:
        """The stage at the beginning of a scenario.

        Args:
            scenario: what is played.
            queues: the disciplines side by side; those that it says itself unless given.
            link: the link whose queue is watched; the compared one unless given.
            plays: whether it begins to play by itself when the first tab has come.

        Raises:
            ScenarioError: anything in it that could not run.
        """
        self._begins = plays
        self._inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._clients: list[Client] = []
        self._playing = False
        self._speed: float | None = 1.0
        self._pause_at: int | None = None
        self._version = 0
        self._frames = 0
        self._pace = Pace()
        self._changes: list[_Recorded] = []
        self._next_change = 0
        self._story: StoryPlace | None = None
        self._begin(self._taken_over(scenario), queues, link)
        self._thread = threading.Thread(target=self._work, name="stage", daemon=True)

    def _begin(self, scenario: Scenario, queues: Sequence[Queue] | None, link: str | None) -> None:
        watched = _watched(scenario, link)
        chosen = queues if queues is not None else _usual(scenario, watched)
        grain = _grain(scenario.resolved()["duration_s"])
        bases = _bases(scenario, chosen, watched)
        changes = [each for each in self._changes if each.lane is None]
        lanes = [
            Lane(label, recorded_at(base, _entries(changes, None)), watched, grain)
            for label, base in bases
        ]
        self._scenario, self._queues, self._watched = scenario, chosen, watched
        self._grain_ns, self._lanes, self._changes = grain, lanes, changes
        self._bases = [base for _, base in bases]

    def _taken_over(self, scenario: Scenario) -> Scenario:
        """The scenario without its changes, which are the stage's from now on."""
        self._changes = []
        for each in scenario.document.get("change", []):
            entry = dict(each)
            at_ns = nanoseconds(entry.pop("at"))
            self._changes.append(_Recorded(self._next_change, None, at_ns, entry))
            self._next_change += 1
        return scenario.without("change")

    # From other threads.

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """End, when what is asked for before is done."""
        self._inbox.put(None)
        self._thread.join(timeout=10)

    def connect(self, client: Client) -> None:
        """A tab wants to see it."""

        def act() -> None:
            self._clients.append(client)
            client.tell(self._description())
            if self._begins:
                self._begins = False
                self._play()

        self.call(act, client.tell)

    def disconnect(self, client: Client) -> None:
        """A tab has gone; without any, it does not play on."""
        self.call(lambda: self._clients.remove(client), client.tell)

    def post(self, client: Client, command: protocol.Command) -> None:
        """A tab asks for something; what is wrong with it is told to it."""
        field = command.path if isinstance(command, protocol.SetField) else None
        self.call(lambda: self._obey(client, command), client.tell, field)

    def call(
        self, act: Callable[[], None], tell: Callable[[str], None], field: str | None = None
    ) -> None:
        """Do something when all that was asked for before is done; what is wrong is told."""
        self._inbox.put(lambda: attempt(act, tell, field))

    def lanes(self) -> list[tuple[str, Scenario]]:
        """Label and recorded scenario of each lane."""
        return [(lane.label, lane.scenario) for lane in self._lanes]

    def fingerprints(self) -> list[str | None]:
        """Of each lane: the run's fingerprint, if it is complete."""
        return [lane.fingerprint() for lane in self._lanes]

    @property
    def watched(self) -> str | None:
        """The link whose queue is shown."""
        return self._watched

    def tell_all(self, text: str) -> None:
        """Send a message to every tab."""
        for client in list(self._clients):
            client.tell(text)

    # In its own thread.

    def _work(self) -> None:
        while True:
            wait = self._pace.until_next() if self._plays() else None
            try:
                act = self._inbox.get(timeout=wait)
            except queue.Empty:
                self._tick()
                self._show()
                continue
            if act is None:
                return
            act()
            if not self._plays():
                self._pace.rest()
            self._show()

    def _plays(self) -> bool:
        return self._playing and bool(self._clients)

    def _tick(self) -> None:
        now, end = self._lanes[0].times
        goal = now + self._pace.span(self._speed)
        stop = end if self._pause_at is None else min(end, self._pause_at)
        goal = min(goal, stop)
        try:
            for lane in self._lanes:
                lane.advance(goal)
        except (ScenarioError, ValueError) as error:
            self._halt()
            self.tell_all(said("error", str(error)))
            return
        self._pace.went(goal - now)
        self._version += 1
        if goal >= stop:
            self._halt()
        elif self._pace.is_slow(self._speed):
            text = (
                f"This is as fast as it goes: {self._pace.actual:.3g} simulated seconds a second, "
                f"not {self._speed:g}."
            )
            self.tell_all(said("warning", text, "speed"))

    def _halt(self) -> None:
        self._playing = False
        self._pause_at = None
        self._version += 1
        self._pace.rest()

    def _show(self) -> None:
        """Send a frame to each tab that waits for one."""
        lanes: list[str] | None = None
        for client in self._clients:
            if client.waits_for is not None or client.version == self._version:
                continue
            lanes = [lane.picture() for lane in self._lanes] if lanes is None else lanes
            client.version = self._version
            self._frames += 1
            client.waits_for = self._frames
            client.tell(self._frame(client, lanes))

    def _frame(self, client: Client, pictures: Sequence[str]) -> str:
        """A frame, with the points of the series that the tab has not got."""
        client.known += [(-1, 0)] * (len(self._lanes) - len(client.known))
        lanes = []
        for number, (lane, picture) in enumerate(zip(self._lanes, pictures, strict=True)):
            epoch, count = client.known[number]
            first = count if epoch == lane.epoch else 0
            there, points = lane.points(first)
            client.known[number] = (lane.epoch, there)
            lanes.append(f'{{"id":{number},{picture},"first":{first},"points":{points}}}')
        now, end = self._lanes[0].times
        head = {
            "type": "frame",
            "number": self._frames,
            "now_ns": now,
            "playing": self._playing,
            "speed": self._speed,
            "actual": self._pace.actual if self._playing else None,
            "complete": now >= end,
        }
        return f'{json.dumps(head)[:-1]},"lanes":[{",".join(lanes)}]}}'

    def _description(self) -> str:
        changes: list[Change] = [each.shown() for each in self._changes]
        whole = describe.stage(self._lanes, self._watched, self._grain_ns, changes, self._story)
        return json.dumps(whole)

    def _describe(self) -> None:
        """What does not move has: tell everyone."""
        self._version += 1
        self.tell_all(self._description())

    def _obey(self, client: Client, command: protocol.Command) -> None:
        match command:
            case protocol.Ack(number=number):
                if client.waits_for == number:
                    client.waits_for = None
            case protocol.Play():
                self._pause_at = None
                self._play()
            case protocol.Pause():
                self._halt()
            case protocol.StepOn():
                self._step()
            case protocol.Speed(factor=factor):
                self._speed = factor
                self._pace.rest()
                self._version += 1
            case protocol.Seek(at_ns=at_ns):
                self._seek(at_ns)
            case protocol.Reset():
                self._changes = []
                self._halt()
                self._again(0)
            case protocol.Lanes(queues=queues):
                self._with_lanes(queues, self._watched)
            case protocol.Watch(link=link):
                self._with_lanes(self._queues, link)
            case protocol.SetField(path=path, value=value, lane=lane):
                self._record({"set": {path: value}}, lane)
            case protocol.SetQueue(queue=queue_, lane=lane):
                self._exchange(queue_, lane)
            case protocol.Join(traffic=traffic):
                self._record({"join": self._named(traffic)}, None)
            case protocol.Leave(traffic=place):
                self._record({"leave": self._entry(place)["name"]}, None)
            case protocol.Burst():
                self._record({"join": self._burst(command)}, None)
            case protocol.Forget(change=change):
                self._forget(change)
            case protocol.Ask(lane=lane, id=number):
                self._tell_story(client, lane, number)
            case protocol.Story(name=name, step=step):
                self._go_to_step(name, step)
            case _:
                raise ValueError(f'the stage does not know "{command.type}"')

    def _play(self) -> None:
        now, end = self._lanes[0].times
        if now >= end:
            raise ValueError("the scenario is at its end; jump back to see it again")
        self._playing = True
        self._pace.rest()
        self._version += 1

    def _step(self) -> None:
        self._halt()
        first, *others = self._lanes
        first.advance_to_packet()
        for lane in others:
            lane.advance(first.times[0])

    def _seek(self, at_ns: int) -> None:
        is_back = at_ns < self._lanes[0].times[0]
        self._each(lambda lane: lane.seek(at_ns))
        # What the tabs know beyond may come to be something else.
        for client in self._clients:
            for number, (epoch, count) in enumerate(client.known):
                there, _ = self._lanes[number].points(count)
                client.known[number] = (epoch, min(count, there))
        self._pace.rest()
        self._version += 1
        # What has been changed since then is to come again.
        if is_back or self._changes:
            self._describe()

    def _again(self, at_ns: int) -> None:
        """Go through it again to an instant, with the changes as they now are."""
        made = {
            lane: recorded_at(base, _entries(self._changes, number))
            for number, (lane, base) in enumerate(zip(self._lanes, self._bases, strict=True))
        }
        self._each(lambda lane: lane.become(made[lane], at_ns))
        self._pace.rest()
        self._describe()

    def _at(self, at_ns: int, epoch: int) -> None:
        """Bring new lanes, which are something else than what the tabs know, to an instant."""
        for lane in self._lanes:
            lane.epoch = epoch
        self._each(lambda lane: lane.advance(at_ns))

    def _each(self, act: Callable[[Lane], None]) -> None:
        """Do what takes long with all lanes at a time."""
        with ThreadPoolExecutor(len(self._lanes)) as pool:
            list(pool.map(act, self._lanes))

    def _with_lanes(self, queues: Sequence[Queue], link: str | None) -> None:
        now = self._lanes[0].times[0]
        epoch = max(lane.epoch for lane in self._lanes) + 1
        self._begin(self._scenario, queues, link)
        self._at(now, epoch)
        self._story = None
        self._pace.rest()
        self._describe()

    def _record(self, entry: Entry, number: int | None) -> None:
        """Change something now, in a lane or in all of them."""
        lanes = self._lanes if number is None else [self._lane(number)]
        at_ns = max(lane.instant() for lane in self._lanes)
        before = [lane.scenario for lane in lanes]
        for place, lane in enumerate(lanes):
            try:
                lane.advance(at_ns)
                lane.change(at_ns, entry)
            except ScenarioError:
                # Those that have changed go back.
                for changed, scenario in list(zip(lanes, before, strict=True))[:place]:
                    changed.become(scenario, at_ns)
                raise
        for lane in self._lanes:
            lane.advance(at_ns)
        self._changes.append(_Recorded(self._next_change, number, at_ns, entry))
        self._changes.sort(key=lambda each: each.at_ns)
        self._next_change += 1
        self._describe()

    def _exchange(self, chosen: str | dict[str, Any], number: int) -> None:
        lane = self._lane(number)
        label, table = labelled(fields.with_box(chosen))
        if "box" in table:
            raise ScenarioError(f"{label}: has a box from the beginning; choose new lanes")
        for link in lane.now.resolved()["links"]:
            if link["name"] == self._watched:
                self._record({"set": {link["queue_path"]: table}}, number)
                lane.label = label
                self._describe()

    def _forget(self, change: int) -> None:
        left = [each for each in self._changes if each.id != change]
        if len(left) == len(self._changes):
            raise ValueError(f"there is no change {change}")
        before, self._changes = self._changes, left
        try:
            self._again(self._lanes[0].times[0])
        except ScenarioError:
            self._changes = before
            raise

    def _lane(self, number: int) -> Lane:
        if not 0 <= number < len(self._lanes):
            raise ValueError(f"there is no lane {number}")
        return self._lanes[number]

    def _entry(self, place: int) -> dict[str, Any]:
        entries: list[dict[str, Any]] = self._lanes[0].now.resolved()["traffic"]
        if not 0 <= place < len(entries):
            raise ValueError(f"there is no traffic entry {place}")
        return entries[place]

    def _named(self, traffic: dict[str, Any]) -> dict[str, Any]:
        """The entry with a name that nobody has."""
        taken = {entry["name"] for entry in self._lanes[0].scenario_at_end().resolved()["traffic"]}
        wanted = name = str(traffic.get("name") or traffic.get("kind") or "traffic")
        number = 1
        while name in taken:
            number += 1
            name = f"{wanted}-{number}"
        return {**traffic, "name": name}

    def _burst(self, burst: protocol.Burst) -> dict[str, Any]:
        """Datagrams at the rate of the hosts' own links, or a hundred times the watched link's."""
        document = self._lanes[0].now.document
        place = burst.like if burst.like is not None else self._crossing()
        entry = document["traffic"][place] if self._entry(place) else {}
        kept = ("from", "to", "direction", "hop", "q", "precedence", "drop_precedence", "dscp")
        rate = 10**9
        span = burst.packets * burst.size * 8 / rate
        at_ns = self._lanes[0].times[0]
        table = {key: entry[key] for key in kept if key in entry} | {
            "name": "burst",
            "kind": "cbr",
            "rate": "1Gbit",
            "size": f"{burst.size}B",
            "stop": instant(at_ns + round(span * 1e9)),
        }
        return self._named(table)

    def _crossing(self) -> int:
        entries = self._lanes[0].now.resolved()["traffic"]
        for place, entry in enumerate(entries):
            if self._watched in entry["links"]:
                return place
        return 0

    def _tell_story(self, client: Client, number: int, packet: int) -> None:
        found = self._lane(number).story(packet)
        if found is None:
            gone = {"flow": 0, "class_id": 0, "bytes": 0, "kind": "data", "ended": True}
            found = {"id": packet, "steps": [], **gone}
        client.tell(json.dumps({"type": "story_of", "lane": number, **found}))

    def _go_to_step(self, name: str, number: int) -> None:
        story = stories.load(name)
        if number >= len(story.step):
            raise ValueError(f'story "{name}" has {len(story.step)} steps')
        step = story.step[number]
        epoch = max(lane.epoch for lane in self._lanes) + 1
        self._begin(self._taken_over(story.run), story.lanes_of(number + 1), story.link)
        self._at(step.at_ns, epoch)
        self._story = {"name": name, "step": number}
        self._speed, self._pause_at = step.speed, step.until_ns
        self._describe()
        self._play()


class _Recorded:
    """A change, and whom it concerns."""

    def __init__(self, number: int, lane: int | None, at_ns: int, entry: Entry) -> None:
        self.id = number
        self.lane = lane
        self.at_ns = at_ns
        self.entry = entry

    def shown(self) -> Change:
        text = in_words(self.entry)
        return {"id": self.id, "lane": self.lane, "at_s": self.at_ns / 1e9, "text": text}


def said(level: str, text: str, field: str | None = None) -> str:
    """The message that shows a text."""
    return json.dumps({"type": "said", "level": level, "text": text, "field": field})


def _grain(duration_s: float) -> int:
    """Time between two points of the series in ns: 1, 2 or 5 ms, 10, 20 or 50 ms, and so on."""
    grain = 1_000_000
    for factor in cycle((2, 2.5, 2)):
        if duration_s * 1e9 <= POINTS * grain:
            break
        grain = round(grain * factor)
    return grain


def _entries(changes: Sequence[_Recorded], lane: int | None) -> list[tuple[int, Entry]]:
    """Those that concern a lane."""
    return [(each.at_ns, each.entry) for each in changes if each.lane in (None, lane)]


def _watched(scenario: Scenario, link: str | None) -> str | None:
    """The link whose queue is shown: the first if none is compared; None if there is none."""
    links = [each["name"] for each in scenario.resolved()["links"]]
    if not links:
        return None
    try:
        return scenario.compared_link(link)
    except ScenarioError:
        if link is not None:
            raise
        return str(links[0])


def _usual(scenario: Scenario, watched: str | None) -> list[Queue]:
    """The first two disciplines that a scenario compares, or the queue that it has."""
    compared = (scenario.document.get("compare") or {}).get("disciplines") or []
    if compared:
        return list(compared[:2])
    for link in scenario.resolved()["links"]:
        if link["name"] == watched and link["queue"] is not None:
            return [link["queue"]]
    return ["fifo"]


def _bases(
    scenario: Scenario, queues: Sequence[Queue], watched: str | None
) -> list[tuple[str, Scenario]]:
    """Label and scenario of each lane, without the changes of the stage."""
    if watched is None:
        return [(scenario.name, scenario.bare())]
    compared = (scenario.document.get("compare") or {}).get("disciplines") or []
    known = dict(labelled(each) for each in compared)
    bases: list[tuple[str, Scenario]] = []
    for chosen in queues:
        if isinstance(chosen, str) and chosen in known:
            label, table = chosen, known[chosen]
        else:
            label, table = labelled(fields.with_box(chosen))
        taken = [each for each, _ in bases]
        if label in taken:
            label = f"{label} ({taken.count(label) + 1})"
        bases.append((label, stories.lane_scenario(scenario, table, watched).bare()))
    return bases
