"""A laboratory for packet queues.

    >>> import forebay
    >>> scenario = forebay.load("examples/branch-uplink.toml").with_("link[0].rate", "5Mbit")
    >>> result = forebay.run(scenario, discipline="codel", seed=7)
    >>> result.summary["classes"]["calls"]["mos"]
    >>> result.queue                              # queue length over time, a polars DataFrame
    >>> comparison = forebay.compare(scenario, disciplines=["fifo", "codel"], replications=10)
    >>> comparison.interval("codel", "calls", "p99_delay_ms")
    >>> forebay.write(comparison, "out/branch")   # tables, summary and report
    >>> session = forebay.open(scenario).advance_to("10s")
    >>> session.queues["uplink"].packets          # look, change with `set`, go on

Names of measures and columns end in their unit: `_ms`, `_s`, `_bps` (bits per second), `_bytes`.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forebay._comparison import Comparison, Run, Variant, compare
    from forebay._engine import ScenarioError, version
    from forebay._files import write, write_report
    from forebay._plugin import (
        Ack,
        Congestion,
        CongestionControl,
        Discipline,
        Endpoint,
        Packet,
        Packets,
        Queue,
        Rate,
        Size,
        Source,
        Time,
        Window,
    )
    from forebay._runs import Progress, Result, run
    from forebay._scenario import Scenario, load
    from forebay._session import Session, open  # noqa: A004 - forebay.open
    from forebay.stats import Interval, interval, paired_difference

    __version__ = version

__all__ = [
    "Ack",
    "Comparison",
    "Congestion",
    "CongestionControl",
    "Discipline",
    "Endpoint",
    "Interval",
    "Packet",
    "Packets",
    "Progress",
    "Queue",
    "Rate",
    "Result",
    "Run",
    "Scenario",
    "ScenarioError",
    "Session",
    "Size",
    "Source",
    "Time",
    "Variant",
    "Window",
    "compare",
    "interval",
    "load",
    "open",
    "paired_difference",
    "run",
    "write",
    "write_report",
]

_HOMES = {
    "_engine": ("ScenarioError", "version"),
    "_comparison": ("Comparison", "Run", "Variant", "compare"),
    "_files": ("write", "write_report"),
    "_plugin": (
        "Ack",
        "Congestion",
        "CongestionControl",
        "Discipline",
        "Endpoint",
        "Packet",
        "Packets",
        "Queue",
        "Rate",
        "Size",
        "Source",
        "Time",
        "Window",
    ),
    "_runs": ("Progress", "Result", "run"),
    "_scenario": ("Scenario", "load"),
    "_session": ("Session", "open"),
    "stats": ("Interval", "interval", "paired_difference"),
}
"""Where names live: imported when first asked for, as tables need libraries that take a second."""


def __getattr__(name: str) -> object:
    # Here, as every import before a command begins is time in which Ctrl-C is not caught.
    from importlib import import_module

    if name == "__version__":
        name = "version"
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"forebay.{home}"), name)
    raise AttributeError(f"module 'forebay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
