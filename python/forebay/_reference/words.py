"""What every word of forebay means: fields, kinds, their parameters, measures and the glossary."""

from __future__ import annotations

import difflib
import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from forebay import _engine, _terminal
from forebay._engine import ScenarioError
from forebay._measures import MEASURES, QUEUE_DELAY, Measure
from forebay._reference.files import File, open_schema
from forebay._scenario import plugins

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Word:
    """An entry of the glossary."""

    names: tuple[str, ...]
    """The word, then what else people call it."""
    means: str
    page: str
    """Where docs say more."""


@cache
def glossary() -> tuple[Word, ...]:
    """The entries of the glossary, in the order of the alphabet."""
    text = Path(__file__).with_name("glossary.toml").read_text("utf-8")
    return tuple(
        Word(tuple(each["names"]), each["means"], each["page"])
        for each in tomllib.loads(text)["word"]
    )


def print_meaning(console: Console, word: str) -> None:
    """Print what a word means: as a field of a scenario, a kind, a parameter, a measure.

    Raises:
        ScenarioError: it means nothing; with the nearest words.
    """
    catalogue: dict[str, Any] = json.loads(_engine.kinds(plugins))
    word = _spelled(catalogue, word)
    found = _terminal.print_named(console, catalogue, word)
    found = _print_parameter(console, catalogue, word) or found
    measures = [each for each in (*MEASURES, QUEUE_DELAY) if _same(word, _names(each))]
    asked = [word, *(name for each in measures for name in _names(each))]
    told = [each for each in glossary() if any(_same(one, each.names) for one in asked)]
    for each in told:
        console.print(Text(each.names[0], "bold"), Text(f"({', '.join(each.names[1:])})", "dim"))
        console.print(Padding(each.means, (0, 0, 0, 2)), highlight=False)
        console.print(Padding(f"docs/{each.page}", (0, 0, 0, 2)), style="dim", highlight=False)
    for measure in measures if not told else []:
        console.print(Text(measure.key, "bold"), Text(f"{measure.title}, {measure.unit}"))
        console.print(Padding(measure.explained or "docs/summary.md", (0, 0, 0, 2)))
    try:
        print_field(console, word, File.scenario)
    except ScenarioError as error:
        if not (found or told or measures):
            raise ScenarioError(_nearest(word, catalogue) or str(error)) from None


def print_field(console: Console, path: str, file: File) -> None:
    """Print the field of a file at a path: type, default and meaning, under each kind.

    Raises:
        ScenarioError: no field is there.
    """
    kinds: dict[Any, list[str]] = {}
    for kind, found in open_schema(file).find(path):
        kinds.setdefault(found, []).append(kind)
    for number, (found, of) in enumerate(kinds.items()):
        head = Text.assemble("\n" if number else "", (found.name, "bold"), f"  {found.type}")
        if found.default:
            head.append(f"  {found.default}", style="dim")
        named = ", ".join(kind for kind in dict.fromkeys(of) if kind)
        if named and len(kinds) > 1:
            head.append(f"  ({named})", style="cyan")
        console.print(head)
        about = [found.description, *(f"{value}: {words}" for value, words in found.values)]
        for line in about:
            console.print(Padding(Text(line), (0, 0, 0, 2)))


def _spelled(catalogue: dict[str, Any], word: str) -> str:
    """A word as forebay writes it if it begins with a kind, such as `fq_codel` or `CAKE`."""
    kind, dot, name = word.partition(".")
    kinds = {entry["name"] for group in _terminal.GROUPS for entry in catalogue[group]}
    own = next((each for each in sorted(kinds) if _same(kind, (each,))), kind)
    return word if kind in kinds else f"{own}{dot}{name}"


def _print_parameter(console: Console, catalogue: dict[str, Any], word: str) -> bool:
    """Print a parameter by the name of its kind and its own, such as `fq-codel.target`."""
    kind, _, name = word.rpartition(".")
    for entry in (each for group in _terminal.GROUPS for each in catalogue[group]):
        for parameter in entry["parameters"]:
            if (entry["name"], parameter["name"]) == (kind, name):
                _terminal.print_parameter(console, parameter, of=f"{kind}.")
                return True
    return False


def _names(measure: Measure) -> tuple[str, ...]:
    return measure.key, measure.key.rpartition("_")[0], measure.short, measure.title


def _same(word: str, names: tuple[str, ...]) -> bool:
    def plain(name: str) -> str:
        return name.lower().replace("_", " ").replace("-", " ")

    return plain(word) in map(plain, names)


def _nearest(word: str, catalogue: dict[str, Any]) -> str:
    """That a word is unknown, with those that are near; empty for a path of several steps."""
    first, dot, name = word.rpartition(".") if "." in word else (word, "", "")
    entries = {each["name"]: each for group in catalogue.values() for each in group}
    if dot:
        if first not in entries:
            return ""
        known = [f"{first}.{each['name']}" for each in entries[first]["parameters"]]
        near = difflib.get_close_matches(word, known, n=3) or known
        said = f"one of {', '.join(near)}" if near else f"{first} has no parameters"
        return f'{first} has no parameter "{name}"; {said}'
    fields = open_schema(File.scenario).root["properties"]
    words = {name.lower(): name for each in glossary() for name in each.names}
    words |= {name: name for name in (*fields, *entries)}
    near = difflib.get_close_matches(word.lower(), words, n=3, cutoff=0.6)
    hint = (
        f"did you mean {', '.join(words[each] for each in near)}?"
        if near
        else ("forebay kinds lists what scenarios can name, docs/reference/glossary.md other words")
    )
    return f'there is no field "{word}", and no kind or word; {hint}'
