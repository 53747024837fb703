"""The engine in a page, in the place of `forebay._engine`, whose stub documents the functions.

Only what the judgement of a comparison asks for is here; runs are made by the page's workers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

asked: list[Callable[[str], str]] = []
"""Its last answers a request (JSON) of `crates/web/src/request.rs`; the page adds it."""


class ScenarioError(ValueError):
    """A scenario that cannot run; the message names the place and the remedy."""


class Cancel:
    """Nothing is run here, so nothing is stopped."""


def _means(question: str, **fields: Any) -> Any:
    answer = json.loads(asked[-1](json.dumps({"means": {question: fields}})))
    if "error" in answer:
        raise ScenarioError(answer["error"])
    return answer["ok"]


def load_text(text: str, *, is_json: bool) -> str:
    """The scenario in the text of a file, as JSON; a stub's `load` without a file."""
    return json.dumps(_means("load", text=text, json=is_json))


def effective(scenario: str, _base: str) -> str:
    """As the stub says."""
    return json.dumps(_means("effective", scenario=json.loads(scenario)))


def resolve(scenario: str, _base: str) -> str:
    """As the stub says."""
    return json.dumps(_means("resolve", scenario=json.loads(scenario)))


def plan(scenario: str, _base: str) -> str:
    """As the stub says."""
    return json.dumps(_means("plan", scenario=json.loads(scenario)))


def identity(scenario: str, _base: str) -> str:
    """As the stub says."""
    return str(_means("identity", scenario=json.loads(scenario)))


def compared_link(scenario: str, _base: str, link: str | None) -> str:
    """As the stub says."""
    return str(_means("compared_link", scenario=json.loads(scenario), link=link))


def with_queue(scenario: str, _base: str, link: str | None, queue: str) -> str:
    """As the stub says."""
    tree, table = json.loads(scenario), json.loads(queue)
    return json.dumps(_means("with_queue", scenario=tree, link=link, queue=table))


def with_fields(document: str, fields: str) -> str:
    """As the stub says."""
    tree, values = json.loads(document), json.loads(fields)
    return json.dumps(_means("with_fields", document=tree, fields=values))


def field(document: str, path: str) -> str | None:
    """As the stub says."""
    found = _means("field", document=json.loads(document), path=path)
    return json.dumps(found[0]) if found else None


def quantity(text: str, dimension: str | None) -> str:
    """As the stub says."""
    return json.dumps(_means("quantity", text=text, dimension=dimension))


def labelled(text: str) -> tuple[str, str]:
    """As the stub says."""
    label, table = _means("labelled", text=text)
    return label, json.dumps(table)


def student(freedom: float, share: float) -> float:
    """As the stub says."""
    found = _means("student", freedom=freedom, share=share)
    return float("nan") if found is None else float(found)


def __getattr__(name: str) -> Any:
    if name == "version":
        return _means("version")
    raise AttributeError(f"the engine in a page has no {name}")
