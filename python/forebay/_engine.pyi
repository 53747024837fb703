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

def plan(scenario: str, base: str) -> str:
    """What the scenario (JSON) asks of an emulation, as JSON: its links, and everyone's way.

    Raises:
        ScenarioError: anything in it that could not run.
    """

def flow_hash(
    seed: int, source: str, destination: str, protocol: int, ports: tuple[int, int] | None
) -> int:
    """The number that a gate of this seed gives to a flow (ports: source, destination)."""

class Live:
    """Sources and meters of a scenario (JSON) that runs on real packets.

    Times are nanoseconds since the scenario began. A step of a source is (when, bytes, flow among
    the source's own): the size of a datagram's IP packet, or a transfer's payload, None without
    end.
    """

    def __init__(self, scenario: str, base: str) -> None: ...
    def participants(self) -> list[tuple[int, int, int]]:
        """Everyone who sends: (number of the traffic entry, start, stop)."""

    def measured(self) -> tuple[int, int]:
        """End of the warm-up, and of the scenario."""

    def next(self, index: int, after_ns: int) -> tuple[int, int | None, int] | None:
        """What a participant does next, at `after_ns` or later; None when it has ended."""

    def completed(self, index: int, now_ns: int) -> tuple[int, int | None, int] | None:
        """The transfer that a participant begins because one has ended."""

    def datagram(self, index: int, size: int, sent_ns: int, arrived_ns: int | None) -> None:
        """A datagram of `size` bytes of IP was sent, and came or did not; in order of sending."""

    def payload(self, index: int, count: float, at_ns: int) -> None:
        """So many bytes of payload of a transfer have arrived."""

    def transferred(self, index: int, start_ns: int, end_ns: int) -> None:
        """A transfer has ended."""

    def retransmitted(self, index: int, segments: int) -> None:
        """Segments were sent again while measured."""

    def recording(
        self, name: str, path: str, began_ns: int, flows: dict[int, tuple[int, bool]]
    ) -> None:
        """What the queue of link `name` did, by a gate's recording whose clock began so late.

        `flows` has the participant of each flow of TCP data, and whether the link is its last.

        Raises:
            OSError: the file cannot be read.
        """

    def finish(self) -> Output:
        """Summary and tables, as of a simulated run; it can do nothing else afterwards."""
