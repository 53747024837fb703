"""Scenarios on real packets: hosts in network namespaces, real Linux TCP, gates for links.

    >>> from forebay import lab, load
    >>> result = lab.run(load("examples/lab.toml"))          # as root, on Linux
    >>> result.summary["classes"]["downloads"]["goodput_bps"]

`docs/lab.md` says what becomes of each part of a scenario, and what the lab cannot do.
"""

from forebay.lab.agreement import against_simulation
from forebay.lab.session import LabError, run

__all__ = ["LabError", "against_simulation", "run"]
