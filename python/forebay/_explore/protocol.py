"""What the page and the server of `forebay explore` tell each other.

Over the WebSocket `/live?token=TOKEN` each side sends JSON objects, one a message, whose field
`type` says which they are. What the server sends is declared in `page/messages.d.ts`; of what the
page sends there are pydantic models here, which `command` reads.

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
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from forebay import _engine

MOST_PACKETS = 400
"""Packets of a queue, and packets under way, that a frame shows at most."""


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


class Plain(_Command):
    """What needs no more words.

    - `play`: go on; `pause`: stop.
    - `step`: go on until a packet joins or leaves a watched queue, and pause.
    - `reset`: jump to the beginning and forget every change.
    - `save`: write the scenario of every lane with its changes beside the scenario's file, or, if
      there is none, to the folder in which the command was started. No file is replaced.
    - `report`: write the report of the last `compare`, or of one with the usual replications.
    """

    type: Literal["play", "pause", "step", "reset", "save", "report"]


class Speed(_Command):
    """Set the speed."""

    type: Literal["speed"]
    factor: float | None = Field(ge=0.001, le=1e6)
    """Simulated seconds a second; null: as fast as it goes."""


class Seek(_Command):
    """Jump to an instant; whether it plays stays as it is."""

    type: Literal["seek"]
    at_ns: Number


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


class Compare(_Command):
    """Run all lanes with their changes, with replications."""

    type: Literal["compare"]
    runs: int = Field(default=10, ge=2, le=100)


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


_Control = Plain | Speed | Seek | Lanes | Watch | Story
_Change = SetField | SetQueue | Join | Leave | Burst | Forget
Command = Annotated[_Control | _Change | Ask | Compare | Ack, Field(discriminator="type")]

_COMMANDS: TypeAdapter[Command] = TypeAdapter(Command)


def command(text: str) -> Command:
    """What a message of the page says."""
    try:
        return _COMMANDS.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "message"
        raise ValueError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from None
