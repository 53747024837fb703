"""The stage: disciplines side by side in simulated time, one for a process, seen by all its tabs.

A thread of its own advances the runs; the engine does so without the interpreter's lock. Commands
reach it by an inbox, and it is the only one that touches the runs.
"""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import cycle
from typing import Any, NamedTuple

from forebay._comparison import contrast
from forebay._engine import ScenarioError
from forebay._explore import describe, fields, joining, protocol, stories
from forebay._explore.inbox import Asked, Inbox
from forebay._explore.lane import Ended, Entry, Lane, in_words, recorded_at
from forebay._explore.pace import Pace
from forebay._scenario import TODAY, Queue, Scenario, labelled, nanoseconds

POINTS = 3000
"""Points of the series that a run has, at most."""


class Client:
    """A tab: frames are sent to it one at a time."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        """A tab that has been sent nothing; `tell` is called from the stage's thread."""
        self.tell = tell
        self.waits_for: int | None = None
        """The frame that it has to draw before it is sent the next one."""
        self.version = -1
        self.known: list[int] = []
        """Of each lane: the points of its series that the tab has."""


def attempt(act: Callable[[], None], tell: Callable[[str], None], field: str | None = None) -> None:
    """Do something; what is wrong is told, beside `field` if it is one's."""
    try:
        act()
    except Ended:
        raise
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

        Unless `queues` are given, the link's own queue is beside one that the scenario compares;
        the link is the compared one. If it `plays`, it begins when the first tab has come;
        otherwise also the first story waits until somebody lets it play.
        """
        self._begins = plays
        self._waits = not plays
        self._inbox = Inbox()
        self._ends = threading.Event()
        self._clients: list[Client] = []
        self._playing = False
        self._speed: float | None = 1.0
        self._pause_at: int | None = None
        self._version = 0
        self._frames = 0
        self._pace = Pace()
        self._next_change = 0
        self._changeable: set[str] = set()
        """Paths of the fields that the tabs have been shown."""
        self._story: dict[str, Any] | None = None
        self._begin(*self._taken_over(scenario), queues, link, 0)
        self._thread = threading.Thread(target=self._work, name="stage", daemon=True)

    def _begin(
        self,
        scenario: Scenario,
        changes: list[_Recorded],
        queues: Sequence[Queue] | None,
        link: str | None,
        at_ns: int,
    ) -> None:
        """Put other lanes side by side, at an instant. If it fails, nothing has changed."""
        watched = _watched(scenario, link)
        chosen = queues if queues is not None else _usual(scenario, watched)
        grain = _grain(scenario.resolved()["duration_s"])
        lanes = []
        for number, (label, base) in enumerate(_bases(scenario, chosen, watched)):
            own = [each for each in changes if each.lane in (None, number)]
            label = next((each.label for each in reversed(own) if each.label), label)
            recorded = recorded_at(base, [(each.at_ns, each.entry) for each in own])
            lanes.append(Lane(label, recorded, watched, grain, self._ends))
        _each(lanes, lambda lane: lane.advance(at_ns))
        self._scenario, self._queues, self.watched = scenario, chosen, watched
        self._grain_ns, self._lanes, self._changes = grain, lanes, changes
        # What the tabs know is of other lanes.
        for client in self._clients:
            client.known = []

    def _taken_over(self, scenario: Scenario) -> tuple[Scenario, list[_Recorded]]:
        """The scenario without its changes, and these, which are the stage's from now on."""
        changes = []
        for each in scenario.document.get("change", []):
            entry = dict(each)
            at_ns = nanoseconds(entry.pop("at"))
            changes.append(_Recorded(self._next_change, None, at_ns, entry))
            self._next_change += 1
        return scenario.without("change"), changes

    # From other threads.

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """End, whatever is being done or has been asked for."""
        self._ends.set()
        self._inbox.wake()
        self._thread.join(timeout=10)

    def connect(self, client: Client) -> None:
        """A tab wants to see it."""

        def act() -> None:
            self._clients.append(client)
            client.tell(self._description())
            if self._begins:
                self._begins = False
                self._play()

        self.call(client, act)

    def disconnect(self, client: Client) -> None:
        """A tab has gone; without any, it does not play on."""
        self.call(client, lambda: self._clients.remove(client))

    def post(
        self, client: Client, command: protocol.Command, done: Callable[[], None] = lambda: None
    ) -> None:
        """A tab asks for something; what is wrong with it is told to it.

        `done` is called, from any thread, when it has been done or a later command makes up for it.
        """
        if isinstance(command, protocol.Ack):
            if client.waits_for == command.number:
                client.waits_for = None
                self._inbox.wake()
            done()
            return
        field = command.path if isinstance(command, protocol.SetField) else None
        kind = command.type if isinstance(command, protocol.Seek | protocol.Speed) else None
        self.call(client, lambda: self._obey(client, command), done, field, kind)

    def call(
        self,
        client: Client,
        act: Callable[[], None],
        done: Callable[[], None] = lambda: None,
        field: str | None = None,
        kind: str | None = None,
    ) -> None:
        """Do something when all that the tab asked for before is done.

        What is wrong is told to the tab. Of several of a kind in a row, the last one alone is done.
        """
        asked = Asked(lambda: attempt(act, client.tell, field), done, kind)
        self._inbox.put(client, asked)

    def lanes(self) -> list[tuple[str, Scenario]]:
        """Label and recorded scenario of each lane."""
        return [(lane.label, lane.scenario) for lane in self._lanes]

    def fingerprints(self) -> list[str | None]:
        """Of each lane: the run's fingerprint, if it is complete."""
        return [lane.fingerprint() for lane in self._lanes]

    def tell_all(self, text: str) -> None:
        """Send a message to every tab."""
        for client in list(self._clients):
            client.tell(text)

    # In its own thread.

    def _work(self) -> None:
        with suppress(Ended):
            while not self._ends.is_set():
                wait = self._pace.until_next() if self._plays() else None
                asked = self._inbox.take(wait)
                if asked is not None:
                    try:
                        asked.act()
                    finally:
                        asked.done()
                # However much is asked for, it plays on.
                if not self._plays():
                    self._pace.rest()
                elif self._pace.until_next() <= 0:
                    attempt(self._tick, self.tell_all)
                attempt(self._show, self.tell_all)

    def _plays(self) -> bool:
        return self._playing and bool(self._clients)

    def _tick(self) -> None:
        now, end = self._lanes[0].times
        goal = now + self._pace.span(self._speed)
        stop = end if self._pause_at is None else min(end, self._pause_at)
        goal = min(goal, stop)
        with self._or_back():
            for lane in self._lanes:
                lane.advance(goal)
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
            client.version = self._version
            lanes = (
                [lane.run.picture(protocol.MOST_PACKETS) for lane in self._lanes]
                if lanes is None
                else lanes
            )
            self._frames += 1
            client.waits_for = self._frames
            client.tell(self._frame(client, lanes))

    def _frame(self, client: Client, pictures: Sequence[str]) -> str:
        """A frame, with the points of the series that the tab has not got."""
        known = client.known or [0] * len(self._lanes)
        client.known, lanes = [], []
        for number, (lane, picture) in enumerate(zip(self._lanes, pictures, strict=True)):
            first = known[number]
            there, points = lane.run.points(first)
            client.known.append(there)
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
        changes = [each.shown() for each in self._changes]
        whole = describe.stage(self._lanes, self.watched, self._grain_ns, changes, self._story)
        shown = [whole["fields"], *(lane["fields"] for lane in whole["lanes"])]
        self._changeable = {field["path"] for group in shown for field in group}
        return json.dumps(whole)

    def _describe(self) -> None:
        """What does not move has: tell everyone."""
        self._version += 1
        self.tell_all(self._description())

    def _obey(self, client: Client, command: protocol.Command) -> None:
        # Of a story that a page opens with, Space is to begin the first step.
        waits, self._waits = self._waits, False
        match command:
            case protocol.Plain(type="play"):
                self._pause_at = None
                self._play()
            case protocol.Plain(type="pause"):
                self._halt()
            case protocol.Plain(type="step"):
                self._step()
            case protocol.Speed(factor=factor):
                self._speed = factor
                self._pace.rest()
                self._version += 1
            case protocol.Seek(at_ns=at_ns):
                self._seek(at_ns)
            case protocol.Plain(type="reset"):
                self._halt()
                self._again([], 0)
            case protocol.Lanes(queues=queues):
                self._with_lanes(queues, self.watched)
            case protocol.Watch(link=link):
                self._with_lanes(self._queues, link)
            case protocol.SetField(path=path, value=value, lane=lane):
                self._set(path, value, lane)
            case protocol.SetQueue(queue=queue_, lane=lane):
                self._exchange(queue_, lane)
            case protocol.Join(traffic=traffic):
                self._record({"join": joining.named(self._lanes[0], traffic)}, None)
            case protocol.Leave(traffic=place):
                self._record({"leave": joining.entry(self._lanes[0], place)["name"]}, None)
            case protocol.Burst():
                burst = joining.burst(self._lanes[0], command, self.watched)
                self._record({"join": burst}, None)
            case protocol.Forget(change=change):
                self._forget(change)
            case protocol.Ask(lane=lane, id=number):
                self._tell_story(client, lane, number)
            case protocol.Story(name=name, step=step):
                self._go_to_step(name, step, plays=not waits)
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
        with self._or_back():
            first.advance_to_packet()
            for lane in others:
                lane.advance(first.times[0])

    def _seek(self, at_ns: int) -> None:
        now, end = self._lanes[0].times
        is_back = at_ns < now
        with self._or_back():
            _each(self._lanes, lambda lane: lane.seek(min(at_ns, end)))
        # What the tabs know beyond may come to be something else.
        for client in self._clients:
            known = zip(client.known, self._lanes, strict=False)
            client.known = [min(count, lane.run.points(count)[0]) for count, lane in known]
        self._pace.rest()
        self._version += 1
        # What has been changed since then is to come again.
        if is_back or self._changes:
            self._describe()

    @contextmanager
    def _or_back(self) -> Iterator[None]:
        """Do something with all lanes; if a run cannot go on, all are where they were."""
        before = self._lanes[0].times[0]
        try:
            yield
        except (ScenarioError, ValueError):
            self._halt()
            _each(self._lanes, lambda lane: lane.restart(before))
            raise

    def _again(self, changes: list[_Recorded], at_ns: int) -> None:
        """Go through it again to an instant, with other changes."""
        self._begin(self._scenario, changes, self._queues, self.watched, at_ns)
        self._pace.rest()
        self._describe()

    def _with_lanes(self, queues: Sequence[Queue], link: str | None) -> None:
        shared = [each for each in self._changes if each.lane is None]
        self._begin(self._scenario, shared, queues, link, self._lanes[0].times[0])
        self._story = None
        self._pace.rest()
        self._describe()

    def _set(self, path: str, value: Any, lane: int | None) -> None:
        # Whatever else a path might lead to is not the page's to change.
        if path not in self._changeable:
            raise ValueError(f'"{path}" cannot be changed here; the fields that are shown can')
        self._record({"set": {path: value}}, lane)

    def _record(self, entry: Entry, number: int | None, label: str | None = None) -> None:
        """Change something now, in a lane or in all of them."""
        lanes = self._lanes if number is None else [self._lane(number)]
        with self._or_back():
            at_ns = max(lane.run.instant() for lane in self._lanes)
            for lane in self._lanes:
                lane.advance(at_ns)
        before = [(lane, lane.scenario) for lane in lanes]
        try:
            for lane in lanes:
                lane.change(at_ns, entry)
            # What happens at this instant happens now, so that another change has its own instant.
            for lane in self._lanes:
                lane.advance(at_ns)
        except (ScenarioError, ValueError):
            # Those that have changed go back.
            for lane, scenario in before:
                if lane.scenario is not scenario:
                    lane.scenario = scenario
                    lane.restart(at_ns)
            raise
        self._changes.append(_Recorded(self._next_change, number, at_ns, entry, label))
        self._changes.sort(key=lambda each: each.at_ns)
        self._next_change += 1
        for lane in lanes:
            lane.label = label or lane.label
        self._describe()

    def _exchange(self, chosen: str | dict[str, Any], number: int) -> None:
        lane = self._lane(number)
        label, table = labelled(fields.with_box(chosen))
        if "box" in table:
            raise ScenarioError(f"{label}: has a box from the beginning; choose new lanes")
        for link in lane.now.resolved()["links"]:
            if link["name"] == self.watched:
                self._record({"set": {link["queue_path"]: table}}, number, label)

    def _forget(self, change: int) -> None:
        left = [each for each in self._changes if each.id != change]
        if len(left) == len(self._changes):
            raise ValueError(f"there is no change {change}")
        self._again(left, self._lanes[0].times[0])

    def _lane(self, number: int) -> Lane:
        if not 0 <= number < len(self._lanes):
            raise ValueError(f"there is no lane {number}")
        return self._lanes[number]

    def _tell_story(self, client: Client, number: int, packet: int) -> None:
        found = self._lane(number).story(packet)
        if found is None:
            gone = {"flow": 0, "class_id": 0, "bytes": 0, "kind": "data", "ended": True}
            found = {"id": packet, "steps": [], **gone}
        client.tell(json.dumps({"type": "story_of", "lane": number, **found}))

    def _go_to_step(self, name: str, number: int, *, plays: bool) -> None:
        story = stories.load(name)
        if number >= len(story.step):
            raise ValueError(f'story "{name}" has {len(story.step)} steps')
        step = story.step[number]
        scenario, changes = self._taken_over(story.run)
        self._begin(scenario, changes, story.lanes_of(number + 1), story.link, step.at_ns)
        self._story = {"name": name, "step": number}
        self._speed, self._pause_at = step.speed, step.until_ns
        self._describe()
        if plays:
            self._play()


class _Recorded(NamedTuple):
    """A change, and whom it concerns."""

    id: int
    lane: int | None
    at_ns: int
    entry: Entry
    label: str | None = None
    """What its lane is called from then on, if it is called otherwise."""

    def shown(self) -> dict[str, Any]:
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


def _each(lanes: Sequence[Lane], act: Callable[[Lane], None]) -> None:
    """Do what takes long with all lanes at a time."""
    with ThreadPoolExecutor(len(lanes)) as pool:
        list(pool.map(act, lanes))


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


def _usual(scenario: Scenario, watched: str | None) -> Sequence[Queue]:
    """Today's queue of the watched link beside a contrast."""
    return [] if watched is None else contrast(scenario, watched)


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
        if chosen == TODAY:
            bases.append((TODAY, scenario.bare()))
            continue
        if isinstance(chosen, str) and chosen in known:
            label, table = chosen, known[chosen]
        else:
            label, table = labelled(fields.with_box(chosen))
        taken = [each for each, _ in bases]
        if label in taken:
            label = f"{label} ({taken.count(label) + 1})"
        bases.append((label, stories.lane_scenario(scenario, table, watched).bare()))
    return bases
