"""Files that people write for the front: models of their tables, and errors with place and remedy.

A scenario is the engine's own; studies, suites and searches are read here.
"""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from forebay import _engine
from forebay._engine import ScenarioError


class Table(BaseModel):
    """A table of a file: no other fields than its own, and no value of another type."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True
    )


Model = TypeVar("Model", bound=Table)


def load(path: Path) -> Any:
    """The document in a TOML or JSON file.

    Raises:
        ScenarioError: it is neither, cannot be read, or has a number that is not finite.
    """
    return json.loads(_engine.load(str(path)))


def dump(value: Any) -> str:
    """Plain values as JSON in which a change of one entry is a change of one line.

    What fits in `_LINE` characters is one line, and so is a list or table without others in it.
    """
    return _dumped(value, "") + "\n"


_LINE = 300


def _dumped(value: Any, margin: str) -> str:
    line = json.dumps(value, ensure_ascii=False)
    entries = value.values() if isinstance(value, dict) else value
    if len(line) <= _LINE or not isinstance(value, dict | list | tuple):
        return line
    if not any(isinstance(each, dict | list | tuple) for each in entries):
        return line
    deeper = margin + " "
    if isinstance(value, dict):
        rows = [f"{json.dumps(name)}: {_dumped(each, deeper)}" for name, each in value.items()]
    else:
        rows = [_dumped(each, deeper) for each in value]
    ends = "{}" if isinstance(value, dict) else "[]"
    return f"{ends[0]}\n{deeper}" + f",\n{deeper}".join(rows) + f"\n{margin}{ends[1]}"


def read(model: type[Model], document: Any, name: str) -> Model:
    """The table that a document holds.

    Raises:
        ScenarioError: anything in it that is not understood, with its place.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        place, words = complaint(model, error)
        raise ScenarioError(": ".join(part for part in (name, place, words) if part)) from None


def complaint(model: type[BaseModel], error: ValidationError) -> tuple[str, str]:
    """The place of what is wrong first, such as `axis[0].range`, and what is wrong."""
    first = error.errors(include_url=False)[0]
    return _place(first["loc"]), _words(model, first)


def nearest(name: str, known: list[str]) -> str:
    """What a wrong name may have meant, for the end of a message."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else f"; one of {', '.join(sorted(known))}"


def _place(steps: tuple[int | str, ...]) -> str:
    """The path of an error, such as `axis[0].range`."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif not step.startswith(("function-", "dict[", "list[")) and step not in _BRANCHES:
            path += f".{step}" if path else step
    return path


_BRANCHES = {"str", "int", "float", "bool"}
"""What pydantic calls the branches of a choice of types."""


def _words(model: type[BaseModel], error: Any) -> str:
    """What is wrong, and what would be right."""
    kind, steps = error["type"], error["loc"]
    if kind == "extra_forbidden":
        return f'unknown field "{steps[-1]}"{nearest(str(steps[-1]), _fields(model, steps[:-1]))}'
    if kind == "missing":
        return "is missing"
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    if kind == "value_error":
        return message
    if kind == "too_short":
        return f"must have at least {error['ctx']['min_length']} entries"
    return f"must be {message}, got {_shown(error['input'])}"


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _fields(model: type[BaseModel], steps: tuple[int | str, ...]) -> list[str]:
    """The fields of the table at a place."""
    schema = model.model_json_schema(by_alias=True)
    found: Any = schema
    for step in steps:
        found = _resolved(schema, found)
        if isinstance(step, int):
            found = found.get("items", {})
        elif step in found.get("properties", {}):
            found = found["properties"][step]
    return list(_resolved(schema, found).get("properties", {}))


def _resolved(schema: Any, found: Any) -> Any:
    for choice in found.get("anyOf", [found]):
        if "$ref" in choice:
            return schema["$defs"][choice["$ref"].rpartition("/")[2]]
        if "properties" in choice or "items" in choice:
            return choice
    return found
