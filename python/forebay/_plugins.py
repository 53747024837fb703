"""Plug-ins by their names."""

from __future__ import annotations

CLASS = "class:"
"""How the name of a plug-in begins that is a class of this process."""


def is_python(plugin: str) -> bool:
    """Whether a plug-in is in Python."""
    return plugin.endswith(".py") or plugin.startswith(CLASS)
