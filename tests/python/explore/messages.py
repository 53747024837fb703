"""Messages that a page might send, right and wrong, for tests that try many."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from forebay import _engine

CATALOGUE: dict[str, list[dict[str, Any]]] = json.loads(_engine.kinds())
CANARY = "canary.pcap"
"""A file beside the scenario, of which no answer may say anything."""
NAMES = (
    *("fifo", "codel", "fq-codel", "bulk", "calls", "bottleneck", "bottleneck-reverse", "nowhere"),
    *(
        "kernel",
        "kernel:cake",
        "../../etc/passwd",
        CANARY,
        "",
        "x" * 300,
        "\0",
        "<b>",
        "ü",
        "a.b[0]",
    ),
    *("wred", "cp-aqm", "burst"),
)
PATHS = (
    *("dumbbell.rate", "dumbbell.delay", "dumbbell.loss", "dumbbell.queue", "dumbbell.queue.limit"),
    *("dumbbell.queue.target", "dumbbell.queue.kind", "dumbbell.queue.quantum", "dumbbell.pcap"),
    *("dumbbell.trace", "dumbbell.box", "dumbbell", "plugins", "plugins[0]", "title", "duration"),
    *(
        "traffic",
        "traffic[0]",
        "traffic.bulk.flows",
        "tcp_trace",
        "seed",
        "link[0].rate",
        "",
        "...",
    ),
    *(
        "compare",
        "agent",
        "tune",
        "positions",
        "change",
        '"dumbbell".rate',
        "dumbbell.reverse.rate",
    ),
)
QUANTITIES = (
    *("0s", "1ns", "5ms", "100ms", "-1ms", "1e9s", "0bit", "1bit", "64kbit", "3Mbit", "20Mbit"),
    *("0p", "1p", "20p", "99999999999999999999p", "1B", "45KB", "auto", "5 parsecs", "NaN", "inf"),
)

numbers = st.one_of(
    st.integers(-2, 6),
    st.sampled_from([2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63), 10**8]),
    st.floats(),
)
plain = st.one_of(
    st.none(), st.booleans(), numbers, st.sampled_from((*NAMES, *QUANTITIES)), st.text(max_size=8)
)
anything = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(("kind", "label", "limit", "file", "name", "x")), inner),
    ),
    max_leaves=6,
)


def _table(group: str, **others: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A kind of a group of the catalogue with some of its parameters."""

    def of(kind: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
        parameters = {
            each["name"]: st.one_of(
                st.just(each.get("default")), st.sampled_from(QUANTITIES), anything
            )
            for each in kind["parameters"]
        }
        return st.fixed_dictionaries(
            {"kind": st.just(kind["name"])}, optional={**parameters, **others}
        )

    return st.sampled_from(CATALOGUE[group]).flatmap(of)


queues = st.one_of(
    st.sampled_from([each["name"] for each in CATALOGUE["kinds"]]),
    st.sampled_from(NAMES),
    _table("kinds", label=plain),
    anything,
)
traffic = st.one_of(
    _table(
        "sources",
        name=plain,
        flows=st.one_of(st.integers(-1, 3), plain),
        start=st.sampled_from(QUANTITIES),
        stop=st.sampled_from(QUANTITIES),
        q=numbers,
        direction=st.sampled_from(("forward", "reverse", "up")),
        tcp=st.dictionaries(st.sampled_from(("congestion", "mss", "ecn")), plain, max_size=2),
    ),
    anything,
)
_FIELDS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "play": {},
    "pause": {},
    "step": {},
    "reset": {},
    "save": {},
    "speed": {"factor": st.one_of(st.none(), st.floats(0.001, 100), numbers)},
    "seek": {"at_ns": st.one_of(st.integers(0, 300_000_000), numbers)},
    "lanes": {"queues": st.one_of(st.lists(queues, max_size=7), anything)},
    "watch": {"link": st.sampled_from(NAMES)},
    "change": {
        "path": st.one_of(st.sampled_from(PATHS), st.text(max_size=9)),
        "value": st.one_of(st.sampled_from(QUANTITIES), queues, anything),
        "lane": st.one_of(st.none(), numbers),
    },
    "queue": {"queue": queues, "lane": numbers},
    "join": {"traffic": traffic},
    "leave": {"traffic": numbers},
    "burst": {"packets": st.one_of(st.integers(1, 200), plain), "size": numbers, "like": numbers},
    "forget": {"change": numbers},
    "ask": {"lane": numbers, "id": st.one_of(st.integers(0, 2000), numbers)},
    "why": {"lane": numbers, "at_ns": numbers, "loss": plain},
    "story": {"name": st.sampled_from(NAMES), "step": st.one_of(st.integers(0, 6), numbers)},
    "ack": {"number": numbers},
}


def _message(type_: str) -> st.SearchStrategy[dict[str, Any]]:
    fields = _FIELDS[type_]
    return st.fixed_dictionaries({"type": st.just(type_)}, optional=fields)


def _whole(type_: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(type_)} | _FIELDS[type_])


messages = st.sampled_from(list(_FIELDS)).flatmap(lambda type_: _whole(type_) | _message(type_))
"""Messages of the page, most of them nearly right."""
texts = st.one_of(
    st.text(),
    messages.map(json.dumps),
    st.builds(
        lambda text, place, other: text[: place % (len(text) + 1)] + other,
        messages.map(json.dumps),
        st.integers(0, 500),
        st.text(max_size=5),
    ),
    st.integers(1, 3000).map(lambda deep: '{"type":"join","traffic":{"a":' + "[" * deep),
)
"""What the socket may bring."""
