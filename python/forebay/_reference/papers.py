"""The JSON Schema of a paper's files, and of the diagrams and tables that its functions give."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, TypeAdapter

from forebay._report.panel import Panel, Region, Series
from forebay.papers.files import ClaimsFile, PaperFile
from forebay.papers.tables import Table

_GIVEN = {"PanelTable": Panel, "TableTable": Table}
"""What the function that `call` names gives: lists of these."""


class _Both(PaperFile, ClaimsFile):
    """The files `paper.toml` and `claims.toml`."""


def schema() -> dict[str, Any]:
    """The tables of both files; what functions give stands under `items` of `call`.

    So do the numbers of `[said]`, whose names a paper chooses.
    """
    whole = _Both.model_json_schema(by_alias=True)
    for given in (Region, Series, Panel, Table):
        setattr(given, "__pydantic_config__", ConfigDict(use_attribute_docstrings=True))  # noqa: B010
    for table, answer in _GIVEN.items():
        made = TypeAdapter[Any](answer).json_schema()
        whole["$defs"] |= made.pop("$defs", {}) | {answer.__name__: made}
        call = whole["$defs"][table]["properties"]["call"]
        call["items"] = {"$ref": f"#/$defs/{answer.__name__}"}
    whole["properties"]["said"]["items"] = {"$ref": "#/$defs/Said"}
    return whole
