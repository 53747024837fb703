"""What the page and the server of `forebay explore` tell each other.

Over the WebSocket `/live?token=TOKEN` each side sends JSON objects, one a message, whose field
`type` says which they are. What the server sends is declared in `page/messages.d.ts`; what the page
sends is in `crates/stage/src/message.rs`, and `command` reads it.

The way of a page: it connects and is sent `stage`, and then `frame` after `frame`. It answers each
frame with `ack` when it has drawn it, and is sent the next one only then. All tabs see one stage.
What a tab asks for holds for all of them; `stage` is sent again to all whenever anything in it
changes.

Times in messages are whole nanoseconds (`*_ns`) or seconds (`*_s`); sizes are bytes of IP packets;
rates are bit/s. Numbers of flows and classes are places in the lists of `stage`.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from forebay import _engine


class Command(NamedTuple):
    """What a message of the page asks for."""

    type: str
    """Its kind, such as "seek"."""
    fields: dict[str, Any]
    """Its other fields, with every default."""
    text: str
    """The message."""


def command(text: str) -> Command:
    """What a message of the page says.

    Raises:
        ScenarioError: it is not understood; the message has the path of the field.
    """
    ((type_, fields),) = json.loads(_engine.command(text)).items()
    return Command(type_, fields, text)
