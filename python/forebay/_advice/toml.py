"""Values as one writes them on a line of TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def inline(value: Any) -> str:
    """A value as TOML on one line; what is null is left out of tables."""
    if isinstance(value, Mapping):
        # What a table is goes first.
        given = sorted(value.items(), key=lambda each: each[0] != "kind")
        pairs = [f"{_key(key)} = {inline(each)}" for key, each in given if each is not None]
        return "{ " + ", ".join(pairs) + " }" if pairs else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)
