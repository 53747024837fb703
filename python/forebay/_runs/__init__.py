"""Runs: what to run (`task`), where (`pool`, `cluster`), where results lie (`journal`, `folder`).

`service` joins them: every command that runs scenarios goes through `run_all` or `work_off`.
"""

from forebay._runs.result import Result
from forebay._runs.service import Progress, Tell, run, run_all
from forebay._runs.task import Change, Keep, Record, Task, record_of, result_of, summary_of

__all__ = [
    "Change",
    "Keep",
    "Progress",
    "Record",
    "Result",
    "Task",
    "Tell",
    "record_of",
    "result_of",
    "run",
    "run_all",
    "summary_of",
]
