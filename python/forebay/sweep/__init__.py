"""Studies at scale: a scenario over axes of values, under several disciplines, many times.

    >>> from forebay import sweep
    >>> study = sweep.load("study.toml")
    >>> sweep.run(study, "out/study")             # goes on where it was if it was stopped
    >>> data = sweep.results("out/study")
    >>> data.differences("classes.voice.p99_delay_ms", against="fifo")

`docs/studies.md` explains the file and the folder.
"""

from forebay.sweep.axes import Axis
from forebay.sweep.control import run
from forebay.sweep.data import StudyData, results
from forebay.sweep.study import Study, Until, load, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forebay.sweep.report import write_report

__all__ = [
    "Axis",
    "Study",
    "StudyData",
    "Until",
    "load",
    "read",
    "results",
    "run",
    "write_report",
]


def __getattr__(name: str) -> object:
    # What draws pages is imported when a page is asked for.
    if name == "write_report":
        from forebay.sweep.report import write_report

        return write_report
    raise AttributeError(f"module 'forebay.sweep' has no attribute {name!r}")
