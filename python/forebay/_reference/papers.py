"""The JSON Schema of what a paper's folder declares, from the dataclasses that `paper.py` uses."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from forebay.papers import declare, judge
from forebay.report import panel

_MADE: dict[tuple[str, str], type] = {
    ("Figure", "panels"): panel.Panel,
    ("Claim", "judge"): judge.Part,
    ("Statement", "parts"): judge.Part,
    ("Section", "tables"): declare.Table,
}
"""What the functions of a paper answer: lists of these."""

_ALL = (
    *(declare.Paper, declare.StudyFile, declare.Quick, declare.Figure, declare.Claim),
    *(declare.Section, declare.Statement, panel.Panel, panel.Series, panel.Region),
    *(declare.Table, judge.Part),
)


class _WithFunctions(GenerateJsonSchema):
    """Functions are a type of their own, for there is none in JSON."""

    def callable_schema(self, _: core_schema.CallableSchema) -> JsonSchemaValue:
        return {"type": "function"}


def schema() -> dict[str, Any]:
    """The tables of `paper.py`; what its functions answer stands under `items` of theirs."""
    for each in _ALL:
        setattr(each, "__pydantic_config__", ConfigDict(use_attribute_docstrings=True))  # noqa: B010
    mode: Literal["validation"] = "validation"
    adapters = [(each.__name__, mode, TypeAdapter[Any](each)) for each in _ALL]
    _, found = TypeAdapter.json_schemas(adapters, schema_generator=_WithFunctions)
    tables: dict[str, Any] = found["$defs"]
    for (table, field), made in _MADE.items():
        node = tables[table]["properties"][field]
        node.pop("anyOf", None)
        node |= {"type": "function", "items": {"$ref": f"#/$defs/{made.__name__}"}}
    for end in ("low", "high"):
        del tables["Part"]["properties"][end]["default"]  # infinite, which JSON has no word for
    return {**tables.pop("Paper"), "$defs": tables}
