"""The compiled engine. Scenarios and summaries cross as JSON, tables as columns of numbers."""

from collections.abc import Callable

version: str
"""Version of the engine, which is the version of the package."""

class ScenarioError(ValueError):
    """A scenario that cannot run; the message names the place and the remedy."""

class Cancelled(Exception):
    """The run was stopped through its `Cancel`."""

class Cancel:
    """A flag that stops a run from another thread."""

    def __init__(self) -> None: ...
    def set(self) -> None:
        """Stop the run that holds this flag; it raises `Cancelled` within milliseconds."""

class Output:
    """What a finished run measured."""

    @property
    def summary(self) -> str:
        """The summary as JSON; the keys are documented in `docs/summary.md`."""

    def tables(self) -> list[tuple[str, dict[str, str], dict[str, bytes]]]:
        """Every table of the run.

        Each is its name, the labels that all its rows share and its columns, little-endian
        64-bit floats. A name occurs once for every set of labels.
        """

def load(path: str) -> str:
    """The scenario file (TOML or JSON) as written, as JSON.

    Raises:
        ScenarioError: the file cannot be read or is not TOML.
    """

def effective(scenario: str, base: str) -> str:
    """The scenario (JSON) with every default filled in.

    `base` is the folder from which relative file names start.

    Raises:
        ScenarioError: anything in it that could not run.
    """

def run(
    scenario: str,
    base: str,
    cancel: Cancel | None = None,
    progress: Callable[[float], None] | None = None,
) -> Output:
    """Run the scenario (JSON) without holding the interpreter's lock.

    `progress` receives the fraction of simulated time that has passed, a few times a second.

    Raises:
        ScenarioError: anything in it that could not run.
        Cancelled: `cancel` was set.
    """

def replay(path: str) -> str:
    """What the queue says to a recording of a gate, compared with what it said then, as JSON.

    Raises:
        ScenarioError: the file cannot be read, or is no recording.
    """

def kinds() -> str:
    """Every discipline, part of a discipline and traffic source with its parameters, as JSON."""

def schema() -> str:
    """The JSON Schema of a scenario."""
