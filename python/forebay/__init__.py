"""A laboratory and a data path for packet queues.

    >>> import forebay
    >>> scenario = forebay.load("examples/branch-uplink.toml").with_("link[0].rate", "5Mbit")
    >>> result = forebay.run(scenario, discipline="codel", seed=7)
    >>> result.summary["classes"]["calls"]["mos"]
    >>> result.queue                              # queue length over time, a polars DataFrame
    >>> comparison = forebay.compare(scenario, disciplines=["fifo", "codel"], replications=10)
    >>> comparison.interval("codel", "calls", "p99_delay_ms")
    >>> forebay.write(comparison, "out/branch")   # tables, summary and report

Names of measures and columns end in their unit: `_ms`, `_s`, `_bps` (bits a second), `_bytes`.
"""

from forebay._engine import ScenarioError, version
from forebay.comparison import Comparison, Run, Variant, compare
from forebay.files import write, write_report
from forebay.runs import Progress, Result, run
from forebay.scenario import Scenario, load
from forebay.stats import Interval, interval, paired_difference

__version__ = version

__all__ = [
    "Comparison",
    "Interval",
    "Progress",
    "Result",
    "Run",
    "Scenario",
    "ScenarioError",
    "Variant",
    "compare",
    "interval",
    "load",
    "paired_difference",
    "run",
    "write",
    "write_report",
]
