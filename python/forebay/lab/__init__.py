"""Scenarios on real packets: hosts in network namespaces, real Linux TCP, gates for links.

    >>> from forebay import lab, load
    >>> result = lab.run(load("examples/lab.toml"))          # as root, on Linux
    >>> result.summary["classes"]["downloads"]["goodput_bps"]
    >>> result = lab.virtual.run(load("examples/lab.toml"))  # in virtual time, as anybody
    >>> kernel = lab.virtual.find()
    >>> lab.compare(load("examples/lab.toml"), ["cake", "kernel:cake"], kernel=kernel)

`docs/lab.md` says what becomes of each part of a scenario, and what the lab cannot do.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forebay.lab import virtual
    from forebay.lab.agreement import against_simulation
    from forebay.lab.beside import compare
    from forebay.lab.errors import LabError
    from forebay.lab.runs import run

__all__ = ["LabError", "against_simulation", "compare", "run", "virtual"]

_HOMES = {
    "LabError": "errors",
    "against_simulation": "agreement",
    "compare": "beside",
    "run": "runs",
}
"""Where names live: imported when first asked for, as a guest has no use for tables."""


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"forebay.lab.{_HOMES[name]}"), name)
    if name == "virtual":
        return import_module("forebay.lab.virtual")
    raise AttributeError(f"module 'forebay.lab' has no attribute {name!r}")
