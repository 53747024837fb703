"""Hints about a scenario that has not been run, and the scenario with their changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forebay.advice.hints import Change, Discipline, Hint, apply, hints_before
from forebay.advice.network import at, network_of, path_of, queue_at
from forebay.advice.toml import inline
from forebay.result import labelled, single
from forebay.scenario import Scenario

if TYPE_CHECKING:
    from forebay.study import Variant


def hints_of_variants(variants: Sequence[Variant], link: str) -> tuple[Hint, ...]:
    """Hints about disciplines that are to be compared on a link."""
    disciplines = [
        Discipline(each.label, each.queue, queue_at(each.effective, link)) for each in variants
    ]
    return hints_before(network_of(variants[0].scenario, link), disciplines)


def hints_of_links(scenario: Scenario) -> tuple[Hint, ...]:
    """Hints about the queues that a scenario has on its links."""
    bare = single(scenario)
    effective = bare.effective()
    found: dict[tuple[str, str], Hint] = {}
    for link, path in links_of(effective).items():
        written = at(bare.document, path).get("queue") or {}
        queue = at(effective, path).get("queue")
        if not queue:
            continue
        label = f"the queue of {link}"
        for hint in hints_before(network_of(bare, link), [Discipline(label, written, queue)]):
            changes = tuple(
                Change(f"{path}.queue.{each.path}", each.value) if each.discipline else each
                for each in hint.changes
            )
            found[hint.kind, hint.text] = replace(hint, changes=changes)
    return tuple(found.values())


def links_of(effective: Mapping[str, Any]) -> dict[str, str]:
    """Names of all links, a direction each, and where their tables stand."""
    names = [str(table["name"]) for table in effective.get("link") or []]
    if effective.get("dumbbell"):
        names.append("bottleneck")
    if lot := effective.get("parking_lot"):
        names += [f"hop{number + 1}" for number in range(int(lot["hops"]))]
    return {name: path_of(effective, name) for each in names for name in (each, f"{each}-reverse")}


def fixed(scenario: Scenario, hints: Iterable[Hint]) -> tuple[Scenario, list[str]]:
    """The scenario with every change of the hints, and the same as settings for `--set`."""
    hints = tuple(hints)
    listed = (scenario.document.get("compare") or {}).get("disciplines") or []
    queues = dict(labelled(entry) for entry in listed)
    changed, tables = apply(hints, scenario, queues)
    settings = {
        change.path: f"{change.path}={inline(change.value)}"
        for hint in hints
        for change in hint.changes
        if change.discipline is None
    }
    for place, entry in enumerate(listed):
        label, queue = labelled(entry)
        if tables[label] == queue:
            continue
        table = tables[label]
        if isinstance(entry, Mapping) and "label" in entry:
            table = {"label": label, **table}
        path = f"compare.disciplines[{place}]"
        changed = changed.with_(path, table)
        settings[path] = f"{path}={inline(table)}"
    return changed, list(settings.values())
