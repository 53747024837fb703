"""Hints about a scenario that has not been run, and the scenario with their changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from forebay._advice.hints import Change, Discipline, Hint, apply, hints_before
from forebay._advice.network import at, network_of, queue_on
from forebay._advice.toml import inline
from forebay._comparison import Variant
from forebay._scenario import TODAY, Scenario, labelled, resolved_link


def hints_of_variants(variants: Sequence[Variant], link: str) -> tuple[Hint, ...]:
    """Hints about disciplines that are to be compared on a link."""
    disciplines = [
        Discipline(each.label, each.queue, queue_on(each.scenario, link)) for each in variants
    ]
    found = hints_before(network_of(variants[0].scenario, link), disciplines)
    path = resolved_link(variants[0].scenario, link)["queue_path"]
    return tuple(_at_link(hint, path, TODAY) for hint in found)


def hints_of_links(scenario: Scenario) -> tuple[Hint, ...]:
    """Hints about the queues that a scenario has on its links."""
    bare = scenario.bare()
    found: dict[tuple[str, str], Hint] = {}
    for link in bare.resolved()["links"]:
        if link["queue"] is None:
            continue
        name, path = link["name"], link["queue_path"]
        discipline = Discipline(f"the queue of {name}", at(bare.document, path), link["queue"])
        for hint in hints_before(network_of(bare, name), [discipline]):
            found[hint.kind, hint.text] = _at_link(hint, path, discipline.label)
    return tuple(found.values())


def _at_link(hint: Hint, path: str, label: str) -> Hint:
    """The hint with the changes of a discipline as those of the link's own queue at `path`."""
    changes = tuple(
        Change(f"{path}.{each.path}", each.value) if each.discipline == label else each
        for each in hint.changes
    )
    return replace(hint, changes=changes)


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
