"""What the page and the server of `forebay explore` tell each other.

Over the WebSocket `/live?token=TOKEN` each side sends JSON objects, one a message, whose field
`type` says which they are. Of what the server sends there are `TypedDict`s here, of what the page
sends pydantic models, which `command` reads.

The way of a page: it connects and is sent `stage`, and then `frame` after `frame`. It answers each
frame with `ack` when it has drawn it, and is sent the next one only then. All tabs see one stage.
What a tab asks for holds for all of them; `stage` is sent again to all whenever anything in it
changes.

Times in messages are whole nanoseconds (`*_ns`) or seconds (`*_s`); sizes are bytes of IP packets;
rates are bit/s. Numbers of flows and classes are places in the lists of `stage`.
"""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Annotated, Any, Literal, TypedDict

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from forebay import _engine

# What the server sends.

MOST_PACKETS = 400
"""Packets of a queue, and packets under way, that a frame shows at most."""


class ScenarioField(TypedDict):
    """A field that may be changed while the scenario runs."""

    path: str
    """As `change` takes it, such as "link.uplink.rate" or "dumbbell.queue.target"."""
    name: str
    """Its last step, such as "target"."""
    kind: Literal[
        "rate", "duration", "limit", "bytes", "number", "integer", "boolean", "choice", "value"
    ]
    """How it is written. "limit" is packets ("30p") or bytes ("45KB"); "choice" is one of
    `choices`; "value" anything else, as TOML writes it (lists, tables)."""
    unit: str
    """Unit of the numbers below: bit/s, s, B, p (packets); empty for plain numbers."""
    value: Any
    """What holds now, as a scenario writes it ("5ms"); None if it is not set."""
    number: float | None
    """The same in `unit`; None if it is no quantity, or not set."""
    low: float | None
    high: float | None
    """Range of a slider in `unit`, around what is usual; not the limits of what is allowed, which
    the server says when it refuses. The slider is logarithmic where `low` is above 0."""
    default: Any
    """As a scenario writes it; None if there is none."""
    choices: list[str]
    """What a "choice" may be."""
    help: str
    """What the field means: its documentation."""


class Node(TypedDict):
    """A node of the picture."""

    name: str
    x: float
    y: float
    """Where to draw it, 0 to 1 from left to right and from top to bottom."""


class Link(TypedDict):
    """One direction of a link; `frame.moving` names links by their place in `stage.links`."""

    name: str
    source: str
    target: str
    """Nodes."""
    reverse: bool
    """Whether it is the reverse direction of the link before it."""
    rate_bps: float | None
    """None if it varies."""
    delay_s: float | None
    queue: str | None
    """Kind of its queue in the first lane; None: it never drops."""
    watched: bool
    """Whether its queue is the one that is shown."""


class Class(TypedDict):
    """A class of traffic."""

    id: int
    name: str


class Flow(TypedDict):
    """A flow, or all flows of a traffic entry that has many."""

    id: int
    name: str
    traffic: int
    """Place of its traffic entry in `stage.traffic`."""
    class_id: int
    flows: int
    """How many flows it stands for."""
    transport: Literal["tcp", "datagrams"]


class Traffic(TypedDict):
    """A traffic entry."""

    id: int
    name: str
    kind: str
    class_id: int
    flows: int
    joined_s: float
    """Since when it takes part: 0, or the instant of its `join`."""
    left_s: float | None
    """Since when it sends no more, if it was told to `leave`."""


class Lane(TypedDict):
    """One of the disciplines side by side."""

    id: int
    label: str
    colour: int
    """Number of its colour, from 0."""
    kind: str
    queue: dict[str, Any]
    """The queue as a scenario writes it, every default filled in."""
    limit_packets: int | None
    limit_bytes: int | None
    """Room in the watched queue, where it has one limit of this sort."""
    fields: list[ScenarioField]
    """Parameters of the discipline, to be changed with this lane's `id`."""


class Change(TypedDict):
    """A recorded change."""

    id: int
    lane: int | None
    """The lane that it concerns; None: all."""
    at_s: float
    text: str
    """In words, such as "dumbbell.rate = 5Mbit"."""


class Kind(TypedDict):
    """A discipline to choose."""

    name: str
    summary: str
    source: str


class StoryPlace(TypedDict):
    """Where in a guided story the stage is."""

    name: str
    step: int


class Stage(TypedDict):
    """All that does not move."""

    type: Literal["stage"]
    title: str
    scenario: str
    """Name of the scenario's file."""
    duration_s: float
    warmup_s: float
    grain_s: float
    """Time between two points of the series."""
    watched: str | None
    """Name of the link whose queue is shown; None: the scenario has no links."""
    nodes: list[Node]
    links: list[Link]
    classes: list[Class]
    flows: list[Flow]
    traffic: list[Traffic]
    lanes: list[Lane]
    fields: list[ScenarioField]
    """What may be changed of the links, for all lanes at once."""
    kinds: list[Kind]
    changes: list[Change]
    """In order of time."""
    stories: list[dict[str, Any]]
    """The guided stories, whole (`forebay.explore.stories`)."""
    story: StoryPlace | None
    """The step that is told; None: none."""


Waiting = tuple[int, int, int, int, int, int]
"""A packet in the queue: id, flow, class, bytes, age in ns, 1 if it is marked (CE) and else 0."""
Sending = tuple[int, int, int, int, float]
"""The packet in transmission: id, flow, class, bytes, and how much of it is sent, 0 to 1."""
Gone = tuple[int, int, int, str]
"""A packet that the watched queue dropped: id, flow, class, reason."""
Moving = tuple[int, int, int, int, int, float]
"""A packet under way: id (0: nothing is known of it yet), flow, class, bytes, place in
`stage.links` of the link that it is on (-1: on its way to its first queue), and how far it has
come, 0 to 1."""


class InnerQueue(TypedDict):
    """A queue inside a discipline."""

    id: int
    """Its number in the discipline."""
    packets: list[Waiting]
    """Those that are served first, first."""
    total: int
    """How many wait in it; more than `packets` has if the queue is long."""
    bytes: int


class Point(TypedDict):
    """What has been since the point before."""

    t: float
    """End of the interval, in s."""
    packets: int
    bytes: int
    """What waits in the watched queue at its end."""
    delay_ms: list[float | None]
    """By class: mean one-way delay of the data packets delivered; None: there was none."""
    bps: list[float]
    """By flow: delivered, in bits of IP packets."""
    cwnd: list[float | None]
    """By flow: congestion windows in bytes, their sum; None without an open connection."""
    dropped: dict[str, int]
    """Packets that the watched queue dropped, by reason: overflow, aqm, preempted, policed,
    pushed_out, redundant_ack."""
    marked: int
    """Packets that it marked."""
    variables: dict[str, float]
    """The discipline's own, by name, at the end of the interval."""


class LaneFrame(TypedDict):
    """One lane now."""

    id: int
    queues: list[InnerQueue]
    """Those that hold packets; in order of service as far as the discipline can say, else of their
    numbers."""
    total: int
    bytes: int
    """What waits in all of them."""
    sending: Sending | None
    gone: list[Gone]
    """What the watched queue dropped since the last frame, the latest hundred."""
    moving: list[Moving]
    moving_total: int
    """Packets under way in all, the one in transmission included."""
    first: int
    """Number of the first of `points`: if it is not the number of points that the page has, points
    from this number on are replaced (after a jump back)."""
    points: list[Point]


class Frame(TypedDict):
    """What moves."""

    type: Literal["frame"]
    number: int
    """To be given back in `ack`."""
    now_ns: int
    playing: bool
    speed: float | None
    """What was asked for: simulated seconds a second; None: as fast as it goes."""
    actual: float | None
    """What was reached of it lately; None while it does not play."""
    complete: bool
    """Whether the scenario's end is reached."""
    lanes: list[LaneFrame]


class Step(TypedDict):
    """One step of a packet's story."""

    at_ns: int
    what: Literal["sent", "queued", "dropped", "marked", "transmitted", "lost", "delivered"]
    where: str
    """Name of the link, or of the traffic entry at the ends."""
    why: str
    """Of a drop or mark: its reason, in words; else empty."""
    waiting: int | None
    """Packets that waited in that queue, at `queued` and `dropped`."""
    variables: dict[str, float]
    """The discipline's own variables when it decided; empty where nothing was decided."""


class StoryOf(TypedDict):
    """A packet's story, as far as it has come."""

    type: Literal["story_of"]
    lane: int
    id: int
    flow: int
    class_id: int
    bytes: int
    kind: Literal["data", "ack", "control"]
    ended: bool
    steps: list[Step]
    """Empty if it is so long ago that nothing is kept of it."""


class Said(TypedDict):
    """What to show where the person looks."""

    type: Literal["said"]
    level: Literal["info", "warning", "error"]
    text: str
    field: str | None
    """Path of the field that it is about."""


class SavedFile(TypedDict):
    """The scenario of one lane with its changes."""

    lane: int
    path: str
    """Where it was written, on this machine."""
    text: str
    """What `forebay run` repeats."""
    fingerprint: str | None
    """That of the run, if it is complete: `forebay run` ends with the same."""


class Saved(TypedDict):
    """Answer to `save`."""

    type: Literal["saved"]
    files: list[SavedFile]


class ComparedCell(TypedDict):
    """A measure's mean over the replications, and its interval."""

    mean: float | None
    low: float | None
    high: float | None
    best: bool
    """Whether no other lane is better beyond doubt."""


class ComparedRow(TypedDict):
    """A measure of a class."""

    class_name: str
    measure: str
    """Its title with its unit, such as "mean delay (ms)"."""
    cells: list[ComparedCell]
    """By lane."""


class Compared(TypedDict):
    """Answer to `compare`: first with `done` below 1 and no rows, again and again; then whole."""

    type: Literal["compared"]
    done: float
    """Share of the runs that have ended."""
    runs: int
    """Replications of each lane."""
    lanes: list[str]
    """Labels."""
    rows: list[ComparedRow]


class Reported(TypedDict):
    """Answer to `report`: first with `done` below 1 and no address, then with it."""

    type: Literal["reported"]
    done: float
    address: str | None
    """To be opened beside the page; it has the token in it."""


# What the page sends.


@cache
def files() -> frozenset[str]:
    """Names of the fields of a scenario that name files, as its schema marks them."""
    found: set[str] = set()

    def look(schema: Any, name: str) -> None:
        if isinstance(schema, dict):
            if schema.get("format") == "path":
                found.add(name)
            for key, value in schema.items():
                within = key in ("items", "anyOf", "oneOf")
                look(value, name if within else key)
        elif isinstance(schema, list):
            for each in schema:
                look(each, name)

    look(json.loads(_engine.schema()), "")
    return frozenset(found)


def _harmless(value: Any) -> Any:
    """What names no file that the engine would open, and nothing that a simulation has not."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            for name in sorted(files() & each.keys()):
                raise ValueError(f"{name}: the page cannot name files; write it in the scenario")
            if each.get("kind") == "kernel":
                raise ValueError("kind: the page cannot run Linux' own; choose one of forebay's")
            pending += each.values()
        elif isinstance(each, list):
            pending += each
        elif isinstance(each, float) and not math.isfinite(each):
            raise ValueError(f"must be a finite number, got {each}")
    return value


def _queue(value: Any) -> Any:
    _harmless({"kind": value.partition(":")[0]} if isinstance(value, str) else value)
    return value


Queue = Annotated[str | dict[str, Any], AfterValidator(_queue)]
"""A kind, or a table of a queue, which may have a `label`."""
Number = Annotated[int, Field(ge=0, lt=2**63)]
"""A number of something, or nanoseconds."""


class _Command(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Play(_Command):
    """Go on."""

    type: Literal["play"]


class Pause(_Command):
    """Stop."""

    type: Literal["pause"]


class StepOn(_Command):
    """Go on to the next instant at which a packet joins or leaves a watched queue, and pause."""

    type: Literal["step"]


class Speed(_Command):
    """Set the speed."""

    type: Literal["speed"]
    factor: float | None = Field(ge=0.001, le=1e6)
    """Simulated seconds a second; null: as fast as it goes."""


class Seek(_Command):
    """Jump to an instant; whether it plays stays as it is."""

    type: Literal["seek"]
    at_ns: Number


class Reset(_Command):
    """Jump to the beginning and forget every change."""

    type: Literal["reset"]


class Lanes(_Command):
    """Put other disciplines side by side; changes for single lanes are forgotten.

    The run goes through again to this instant.
    """

    type: Literal["lanes"]
    queues: list[Queue] = Field(min_length=1, max_length=6)


class Watch(_Command):
    """Show the queue of another link; the run goes through again to this instant."""

    type: Literal["watch"]
    link: str


class SetField(_Command):
    """Change a field from now on."""

    type: Literal["change"]
    path: str
    """That of one of the fields in `stage`."""
    value: Annotated[Any, AfterValidator(_harmless)]
    """As a scenario writes it: "5Mbit". Tables and lists as JSON."""
    lane: Number | None = None
    """For this lane alone; null: for all."""


class SetQueue(_Command):
    """Put another discipline on the watched link of a lane from now on, as a recorded change."""

    type: Literal["queue"]
    queue: Queue
    lane: Number


class Join(_Command):
    """A traffic entry takes part from now on."""

    type: Literal["join"]
    traffic: Annotated[dict[str, Any], AfterValidator(_harmless)]
    """As [[traffic]]; a name that is missing or taken is made."""


class Leave(_Command):
    """A traffic entry sends no more from now on."""

    type: Literal["leave"]
    traffic: Number
    """Its place in `stage.traffic`."""


class Burst(_Command):
    """Datagrams at once, as a traffic entry that joins."""

    type: Literal["burst"]
    packets: int = Field(default=100, ge=1, le=100_000)
    size: int = Field(default=1500, ge=64, le=65535)
    """Bytes of each."""
    like: Number | None = None
    """Traffic entry whose way and marks they have; null: the first one whose way crosses the
    watched link."""


class Forget(_Command):
    """Take a recorded change back; the run goes through again to this instant."""

    type: Literal["forget"]
    change: Number
    """Its `id` in `stage.changes`."""


class Ask(_Command):
    """Ask for a packet's story."""

    type: Literal["ask"]
    lane: Number
    id: Number


class Save(_Command):
    """Write the scenario of every lane with its changes beside the scenario's file.

    Without one, to the folder in which the command was started. No file is replaced.
    """

    type: Literal["save"]


class Compare(_Command):
    """Run all lanes with their changes, with replications."""

    type: Literal["compare"]
    runs: int = Field(default=10, ge=2, le=100)


class Report(_Command):
    """Write the report of the last `compare`, or of one with the usual replications."""

    type: Literal["report"]


class Story(_Command):
    """Go to a step of a story.

    That is its scenario, lanes, recorded changes, watched link, instant and speed. It plays from
    there to the step's end, and pauses.
    """

    type: Literal["story"]
    name: str
    step: Number


class Ack(_Command):
    """A frame has been drawn."""

    type: Literal["ack"]
    number: Number


_Control = Play | Pause | StepOn | Speed | Seek | Reset | Lanes | Watch | Story
_Change = SetField | SetQueue | Join | Leave | Burst | Forget
_Question = Ask | Save | Compare | Report | Ack
Command = Annotated[_Control | _Change | _Question, Field(discriminator="type")]

_COMMANDS: TypeAdapter[Command] = TypeAdapter(Command)


def command(text: str) -> Command:
    """What a message of the page says.

    Raises:
        ValueError: it is none; the message names the field.
    """
    try:
        return _COMMANDS.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "message"
        raise ValueError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from None
