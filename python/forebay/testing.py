"""For tests of users' disciplines: a fixture, which pytest finds by itself.

def test_mine_keeps_the_contract(conformance):
conformance(Mine)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

if TYPE_CHECKING:
    from forebay._plugin import Discipline

__all__ = ["Checked", "check", "conformance"]

Checked: TypeAlias = "type[Discipline] | str | Path"
"""A class, or a plug-in's file.

Example:
    >>> checked: testing.Checked = "examples/plugins/short.py"
"""


def check(discipline: Checked) -> None:
    """Hold a discipline to the contract, under random and adverse arrivals.

    Args:
        discipline: a class, or a plug-in: a file in Python or a shared library.

    Raises:
        AssertionError: what it did against which contract.
        ScenarioError: it cannot be loaded, or a call of it does not return.

    Example:
        >>> class Loser(forebay.Discipline):
        ...     "Loses what it is handed."
        ...
        ...     def enqueue(self, packet, now):
        ...         pass
        ...
        ...     def dequeue(self, now):
        ...         return None
        >>> testing.check(Loser)
        Traceback (most recent call last):
            ...
        AssertionError: loser: ...
    """
    from forebay import _engine
    from forebay import _scenario as scenario

    if isinstance(discipline, type):
        _, plugin = scenario.plain(discipline)
    else:
        plugin = str(discipline)
    faults = [f"{name}: {fault}" for name, fault in _engine.check_plugin(str(plugin)) if fault]
    if faults:
        raise AssertionError("\n".join(faults))


@pytest.fixture(scope="session")
def conformance() -> Callable[[Checked], None]:
    """The conformance suite: call it with a class, or with a plug-in's file.

    Example:
        >>> def test_mine_keeps_the_contract(conformance):
        ...     conformance(Mine)
    """
    return check
