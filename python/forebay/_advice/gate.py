"""A discipline of a comparison as the configuration of a gate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from forebay import _engine
from forebay._advice.hints import Discipline
from forebay._advice.network import Entry, Network, network_of, number, other_direction, rate
from forebay._advice.seen import disciplines_of
from forebay._advice.toml import inline
from forebay._comparison import is_by_host, written_queue
from forebay._engine import ScenarioError
from forebay._plugins import is_python
from forebay._scenario import TODAY, Scenario, resolved_link

if TYPE_CHECKING:
    from forebay._comparison import Comparison

BELOW = 0.95
"""Of the link's rate: the queue must stand in the gate, not in the link behind it."""
LARGEST_MTU = 9000
MARKS = ("q", "precedence", "drop_precedence")
"""What traffic of a scenario and a rule of the gate say alike."""
_BY_PRECEDENCE = ("cq-aqm", "wred", "rio", "wrt")


def configuration(comparison: Comparison, label: str) -> str:
    """The file for `forebay-gate` that puts a discipline on a link like the compared one.

    Interfaces are placeholders, and the rate is a little below the link's.

    Raises:
        ScenarioError: the link has no rate that a gate could be given.
    """
    scenario = comparison.variants[0].scenario
    network = network_of(scenario, comparison.link)
    variant = next(each for each in comparison.variants if each.label == label)
    check(variant.scenario, comparison.link)
    chosen = next(each for each in disciplines_of(comparison) if each.label == label)
    tables = _links(variant.scenario)
    own = tables.get(comparison.link, {})
    name = comparison.link
    whole = "the link's" if network.constant else "the lowest that the link has"
    lines = [
        f"# {label} on {name} of {comparison.scenario.name}.",
        f"# The rate is {100 * BELOW:.0f} % of {whole}: the queue must stand here, not behind the "
        "gate.",
        *(f"plugins = {inline(files)}" for files in [variant.scenario.libraries()] if files),
        "",
        "[link]",
        *_direction(own, network, variant.queue),
    ]
    back = tables.get(other_direction(name), {})
    if back.get("queue") and isinstance(back["rate"], str):
        bps = number(back["rate"]) or 0.0
        both = comparison.everywhere
        kept = () if both else ("# The scenario's own queue: --link '*' compares both directions.",)
        queue = variant.queue if both else back["queue"]
        lines += ["", *kept, "[link.reverse]", *_fields(back, bps, queue)]
    ends = resolved_link(scenario, name)
    lines += [
        "",
        f"# The interfaces of this machine: inside is that towards {ends['from']}, outside that "
        f"towards {ends['to']}.",
        "[io]",
        'backend = "packet"',
        'inside = "eth0"',
        'outside = "eth1"',
    ]
    if _reads_marks(chosen):
        lines += _rules(network.entries)
    return "\n".join(lines) + "\n"


def check(scenario: Scenario, link: str) -> None:
    """Check that no queue of a link tells hosts apart by number, as that of a twin does.

    Raises:
        ScenarioError: one does, in either direction.
    """
    if _by_host(scenario, link):
        raise ScenarioError(
            f"--gate: {scenario.name}: the queue of {link} tells hosts apart by number, which only "
            "a gate with subscribers can; change queue or devices under [subscribers] in its own "
            "file instead (docs/isp.md)"
        )


def fits(comparison: Comparison) -> bool:
    """Whether a gate could stand there.

    The link keeps its rate, nothing is in Python, and no queue tells hosts apart by number.
    """
    scenario = comparison.variants[0].scenario
    name = comparison.link
    if any(map(is_python, scenario.document.get("plugins", []))):
        return False
    if any(_by_host(each.scenario, name) for each in comparison.variants):
        return False
    return name in _links(scenario) and network_of(scenario, name).constant


def of_circuits(comparison: Comparison, label: str) -> str | None:
    """What to change in the gate for a discipline of its twin: a queue, or the file of the plans.

    None where there is nothing to change, or the discipline is no tree of circuits.
    """
    tree = next(each.queue for each in comparison.variants if each.label == label)
    if label == TODAY or not is_by_host(tree) or "leaf" not in tree:
        return None
    if tree["leaf"] == written_queue(comparison.scenario, comparison.link).get("leaf"):
        return f'[subscribers]\ndevices = "..."  # the file with the plans of {label}'
    return (
        "[subscribers]\n"
        f"queue = {inline(tree['leaf'])}  # both ways, of circuits whose sqm is empty"
    )


def _by_host(scenario: Scenario, link: str) -> bool:
    ways = (link, other_direction(link))
    return any(
        is_by_host(each["queue"] or {})
        for each in scenario.resolved()["links"]
        if each["name"] in ways
    )


def excerpt(text: str) -> str:
    """The lines of its link, of a whole configuration."""
    return text[text.index("[link]") :].split("\n\n")[0]


def _links(scenario: Scenario) -> dict[str, Mapping[str, Any]]:
    """The links, a direction each; none where a radio channel keeps the engine from knowing."""
    try:
        plan = json.loads(_engine.plan(scenario.text, scenario.base))
    except ScenarioError:
        return {}
    return {link["name"]: link for link in plan["links"]}


def _direction(
    link: Mapping[str, Any], network: Network, queue: Mapping[str, Any]
) -> Iterable[str]:
    if network.rate_bps is None:
        raise ScenarioError(
            f"--gate: the link {network.link} follows a recording, and a gate needs a rate; choose "
            "one below what the link has most of the time"
        )
    return _fields(link, network.rate_bps, queue)


def _fields(link: Mapping[str, Any], rate_bps: float, queue: Mapping[str, Any]) -> Iterable[str]:
    yield f'rate = "{rate(BELOW * rate_bps)}"'
    yield f"overhead = {inline(link.get('overhead', 'none'))}"
    yield f'mtu = "{min(float(link.get("mtu_bytes", 1500)), LARGEST_MTU):.0f}B"'
    box = link.get("box")
    if isinstance(box, Mapping) and box.get("kind") == "aspq":
        yield f"box = {inline(box)}"
    yield f"queue = {inline(queue)}"


def _reads_marks(discipline: Discipline) -> bool:
    return (
        discipline.classifier.get("kind") in ("class", "precedence")
        or discipline.kind in _BY_PRECEDENCE
    )


def _rules(entries: Iterable[Entry]) -> list[str]:
    """A rule for each mark that traffic carries, by what is seen on the wire."""
    lines: list[str] = []
    seen: set[str] = set()
    for entry in entries:
        table = entry.table
        given = [
            (f"{entry.name}-{place + 1}", rule)
            for place, rule in enumerate(table.get("rules") or [])
        ]
        for name, rule in [*given, (entry.name, {**_marks(table), "dscp": table.get("dscp")})]:
            marks = _marks(rule)
            if not any(marks.values()):
                continue
            conditions = _conditions(rule)
            what = " and ".join(conditions)
            if what and what in seen:
                continue
            seen.add(what)
            block = [f"name = {inline(name)}", *conditions]
            block += [f"{key} = {value}" for key, value in marks.items() if value]
            if not conditions:
                lines += [
                    "",
                    f"# Nothing on the wire tells {name} from other traffic: add a condition such "
                    "as port = [5060].",
                    *(f"# {line}" for line in ("[[rule]]", *block)),
                ]
            else:
                lines += ["", "[[rule]]", *block]
    return lines


def _marks(table: Mapping[str, Any]) -> dict[str, int]:
    return {key: int(table.get(key) or 0) for key in MARKS}


def _conditions(rule: Mapping[str, Any]) -> list[str]:
    found = []
    if rule.get("dscp") not in (None, "DF", 0):
        found.append(f"dscp = {inline([rule['dscp']])}")
    if rule.get("protocol") is not None:
        found.append(f"protocol = {inline(rule['protocol'])}")
    for key in ("port", "source", "destination"):
        if rule.get(key) is not None:
            found.append(f"{key} = {inline([rule[key]])}")
    return found
