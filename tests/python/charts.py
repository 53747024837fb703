"""What a report draws, read back from its page."""

from __future__ import annotations

import json
import re
from typing import Any


def charts(page: str) -> list[dict[str, Any]]:
    """Each chart with its `title`, its `spec`, and its `data`: rows by the names of data sets."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    whole = json.loads(found[1])

    def rows(blocks: list[Any]) -> list[dict[str, Any]]:
        return [
            same | dict(zip(columns, values, strict=True))
            for same, columns in blocks
            for values in zip(*(whole["columns"][at] for at in columns.values()), strict=True)
        ]

    return [
        panel
        | {
            "spec": whole["specs"][panel["spec"]],
            "data": {name: rows(blocks) for name, blocks in panel["data"].items()},
        }
        for panel in whole["panels"]
    ]


def chosen(page: str, **values: str) -> list[dict[str, Any]]:
    """The charts that a reader sees who has chosen some values, by the names of the lists."""
    drawn, key = charts(page), re.escape(" ".join(values.values()))
    whole = page.partition(f'<div data-of="{" ".join(values)}">')[2].partition("<div data-of=")[0]
    part = re.search(rf'<template data-key="{key}">(.*?)</template>', whole, re.DOTALL)
    found = [] if part is None else re.findall(r'data-panels="([\d ]*)"', part[1])
    return [drawn[int(at)] for each in found for at in each.split()]


def options(page: str, name: str) -> dict[str, str]:
    """What can be chosen in one of a page's lists: texts by their values."""
    [select] = re.findall(rf'<select id="{name}">(.*?)</select>', page, re.DOTALL)
    return dict(re.findall(r'<option value="([^"]*)"[^>]*>([^<]*)</option>', select))


def of(chart: dict[str, Any], name: str, label: str) -> list[dict[str, Any]]:
    """The rows of one variant in a data set of a chart."""
    return [row for row in chart["data"][name] if row["s"] == label]
