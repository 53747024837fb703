"""The simulator against closed forms: `forebay validate`.

One file a family of checks (`queues`, `schedulers`, `tcp`), how a verdict comes about (`check`),
how they are run (`runner`), how well replications use the cores (`replications`) and what is kept
of the results (`record`).
"""

from forebay._validate.check import Check, Finding, Quantity, judge
from forebay._validate.runner import Outcome, all_checks, run_checks, select

__all__ = [
    "Check",
    "Finding",
    "Outcome",
    "Quantity",
    "all_checks",
    "judge",
    "run_checks",
    "select",
]
