"""Studies at scale: a scenario over axes of values, under several disciplines, many times.

    >>> from forebay import study, sweep
    >>> plan = sweep.load("study.toml")
    >>> sweep.run(plan, "out/study")              # goes on where it was if it was stopped
    >>> data = study.load("out/study")
    >>> data.differences("classes.voice.p99_delay_ms", against="fifo")

`docs/studies.md` explains the file and the folder.
"""

from forebay.sweep.axes import Axis, StudyError
from forebay.sweep.control import run
from forebay.sweep.plan import Study, Until, load, read

__all__ = ["Axis", "Study", "StudyError", "Until", "load", "read", "run"]
