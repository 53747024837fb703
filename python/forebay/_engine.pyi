"""The compiled engine. Scenarios and summaries cross as JSON, tables as columns of numbers.

An extension module of somebody's own may stand here, which knows more (docs/extending.md).
"""

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from numpy import bool_, float32, float64, int64
from numpy.typing import NDArray

version: str
"""Version of the engine, which is the version of the package."""
commit: str
"""The commit of its source, with a `+` if files were changed; empty if `make` did not build it."""

class ScenarioError(ValueError):
    """A scenario that cannot run; the message names the place and the remedy.

    Example:
        >>> forebay.run(scenario.with_("dumbbell.rate", "fast"))
        Traceback (most recent call last):
            ...
        ScenarioError: lab.toml: dumbbell.rate: ...
    """

class Cancelled(Exception):
    """The run was stopped through its `Cancel`."""

class Cancel:
    """A flag that stops a run from another thread."""

    def __init__(self) -> None: ...
    def set(self) -> None:
        """Stop the run that holds this flag; it raises `Cancelled` within milliseconds."""
    def is_set(self) -> bool:
        """Whether it is set."""

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

class Packet:
    """A packet that a discipline in Python holds; the engine owns it.

    If its last reference disappears before the packet has left, it is lost and the run ends.

    Example:
        >>> class Calls(forebay.Discipline):
        ...     "Expedited forwarding first."
        ...
        ...     def setup(self):
        ...         self.calls, self.others = forebay.Queue(), forebay.Queue()
        ...
        ...     def enqueue(self, packet, now):
        ...         queue = self.calls if packet.dscp == 46 else self.others
        ...         if queue.bytes + packet.len <= 45_000:
        ...             queue.append(packet)
        ...         else:
        ...             self.drop(packet, "overflow")
        ...
        ...     def dequeue(self, now):
        ...         queue = self.calls or self.others
        ...         return queue.popleft() if queue else None
        >>> forebay.run(scenario, discipline=Calls).summary["classes"]["calls"]["loss"]
        0.0
    """

    @property
    def len(self) -> int:
        """Length of the IP packet in bytes, link overhead excluded."""
    @property
    def flow(self) -> int:
        """Flow: a number, the same for all its packets."""
    @property
    def qos_class(self) -> int:
        """QoS class, 0 to 255: higher is served first."""
    @property
    def precedence(self) -> int:
        """Precedence, 0 to 255: higher is more important."""
    @property
    def drop_precedence(self) -> int:
        """Drop precedence, 0 to 7: higher is dropped first (RFC 2597)."""
    @property
    def tos(self) -> int:
        """The byte of DSCP and ECN, as it is now."""
    @property
    def dscp(self) -> int:
        """Differentiated services codepoint, 0 to 63 (RFC 2474)."""
    @property
    def ecn(self) -> int:
        """ECN codepoint: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE (RFC 3168)."""
    @property
    def is_ect(self) -> bool:
        """Whether its transport understands marks."""
    @property
    def kind(self) -> str:
        """What it carries: "data", "ack" (without payload) or "control" (such as SYN)."""
    @property
    def source(self) -> int:
        """Host that it comes from, never 0; 0 if it is not known."""
    @property
    def destination(self) -> int:
        """Host that it goes to, likewise."""
    @property
    def queued(self) -> int:
        """When it came, in ns."""

class Queue:
    """A queue of packets, first in, first out, that counts their bytes.

    Example:
        >>> class Newest(forebay.Discipline):
        ...     "Last in, first out."
        ...
        ...     keeps_order = False
        ...
        ...     def setup(self):
        ...         self.queue = forebay.Queue()
        ...
        ...     def enqueue(self, packet, now):
        ...         self.queue.append(packet)
        ...         if self.queue.bytes > 45_000:
        ...             self.drop(self.queue.popleft(), "overflow")
        ...
        ...     def dequeue(self, now):
        ...         return self.queue.pop() if self.queue else None
        >>> forebay.run(scenario, discipline=Newest).summary["queues"]["bottleneck"]["kind"]
        'newest'
    """

    def __init__(self) -> None: ...
    def append(self, packet: Packet, /) -> None:
        """Put a packet at the end."""
    def popleft(self) -> Packet:
        """Take the first packet out.

        Raises:
            IndexError: there is none.
        """
    def pop(self) -> Packet:
        """Take the last packet out.

        Raises:
            IndexError: there is none.
        """
    @property
    def bytes(self) -> int:
        """Bytes of the IP packets in it."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Packet: ...

class Port:
    """What a discipline in Python has of its host: the base of `forebay.Discipline`."""

    def __init__(self, *positional: object, **named: object) -> None: ...
    def drop(self, packet: Packet, reason: str = "aqm") -> None:
        """Drop a packet that is held, or is arriving.

        Args:
            packet: it leaves by this.
            reason: "overflow" (no room), "aqm" (the rule), "preempted" (by a threshold that
                protects higher precedence), "policed" or "pushed_out" (for another packet).

        Raises:
            ValueError: it is not held, or there is no such reason.
        """
    def mark(self, packet: Packet) -> bool:
        """Mark a packet congestion-experienced if its transport understands that.

        Returns:
            Whether it was marked; if not, it is to be dropped instead (RFC 3168, section 5).

        Raises:
            ValueError: it is not held.
        """
    def random(self) -> float:
        """A random number, at least 0 and less than 1; equal seeds give equal numbers.

        Raises:
            RuntimeError: no packet has come yet, as in `setup`.
        """

class Window:
    """The windows of a connection, in bytes; both are at least one segment.

    Example:
        >>> class Plain(forebay.CongestionControl):
        ...     "Reno (RFC 5681)."
        ...
        ...     def on_ack(self, window, ack):
        ...         slow = window.in_slow_start
        ...         window.cwnd += ack.acked if slow else window.mss * ack.acked // window.cwnd
        ...
        ...     def on_congestion(self, window, event):
        ...         window.ssthresh = max(event.flight // 2, 2 * window.mss)
        >>> plain = scenario.with_classes(Plain).with_("tcp.congestion", "plain")
        >>> forebay.run(plain).summary["classes"]["downloads"]["goodput_bps"] > 5e6
        True
    """

    @property
    def cwnd(self) -> int:
        """Congestion window; what is above the connection's maximum is cut off."""
    @cwnd.setter
    def cwnd(self, size: int) -> None: ...
    @property
    def ssthresh(self) -> int:
        """Slow start threshold."""
    @ssthresh.setter
    def ssthresh(self, size: int) -> None: ...
    @property
    def mss(self) -> int:
        """Largest payload of a segment."""
    @property
    def in_slow_start(self) -> bool:
        """Whether `cwnd` is below `ssthresh` (RFC 5681, section 3.1)."""

class Ack:
    """An acknowledgment of new data, outside recovery.

    Example:
        >>> class Cautious(forebay.CongestionControl):
        ...     "Grows while the round trip is short."
        ...
        ...     def on_ack(self, window, ack):
        ...         if ack.rtt is None or ack.rtt < 50_000_000:
        ...             window.cwnd += ack.acked
        ...
        ...     def on_congestion(self, window, event):
        ...         window.ssthresh = max(event.flight // 2, 2 * window.mss)
        >>> cautious = scenario.with_classes(Cautious).with_("tcp.congestion", "cautious")
        >>> forebay.run(cautious).summary["classes"]["downloads"]["goodput_bps"] > 5e6
        True
    """

    @property
    def now(self) -> int:
        """When it arrived, in ns."""
    @property
    def acked(self) -> int:
        """Bytes newly acknowledged."""
    @property
    def rtt(self) -> int | None:
        """Round-trip time that it measured, in ns."""
    @property
    def srtt(self) -> int | None:
        """Smoothed round-trip time in ns."""
    @property
    def one_way(self) -> int | None:
        """Delay from sender to receiver in ns, by timestamps (RFC 7323)."""
    @property
    def limited(self) -> bool:
        """Whether the window held the sender back, not the application or the receiver."""
    @property
    def after_timeout(self) -> bool:
        """Whether this is slow start after a retransmission timeout."""

class Congestion:
    """Congestion, at most once in each window of data.

    Example:
        >>> class Bold(forebay.CongestionControl):
        ...     "Takes a mark more lightly than a loss."
        ...
        ...     def on_ack(self, window, ack):
        ...         window.cwnd += window.mss * ack.acked // window.cwnd
        ...
        ...     def on_congestion(self, window, event):
        ...         share = 0.85 if event.kind == "ecn" else 0.5
        ...         window.ssthresh = max(int(event.flight * share), 2 * window.mss)
        >>> bold = scenario.with_classes(Bold).with_("tcp.congestion", "bold")
        >>> forebay.run(bold).summary["classes"]["downloads"]["goodput_bps"] > 5e6
        True
    """

    @property
    def now(self) -> int:
        """When it was found, in ns."""
    @property
    def kind(self) -> str:
        """By what: "loss", "ecn" or "timeout"."""
    @property
    def flight(self) -> int:
        """Bytes outstanding, without what limited transmit added (FlightSize)."""

class Stream:
    """What a source in Python has of its host: the base of `forebay.Source`."""

    def __init__(self, *positional: object, **named: object) -> None: ...
    def random(self) -> float:
        """A random number, at least 0 and less than 1; equal seeds give equal numbers.

        Raises:
            RuntimeError: no datagram has been asked for yet, as in `setup`.
        """

def provider(network: tuple[str, str], devices: tuple[str, str] | None) -> str:
    """The nodes and circuits of LibreQoS' files, and what is not used of them, as JSON.

    A file is its text and its name.

    Raises:
        ScenarioError: a file is wrong; the message names file and line.
    """

def subscribers(
    network: tuple[str, str] | None,
    devices: tuple[str, str],
    part: str | None,
    rates: tuple[str, str],
    others: str | None,
    queue: str,
) -> str:
    """The trees of both directions and the circuits by leaf, of LibreQoS' files, as JSON.

    A file is its text and its name; `rates` are those of the link, down and up.

    Raises:
        ScenarioError: a file is wrong, or `part` is no node; the message names file and line.
    """

def load(path: str) -> str:
    """The scenario file (TOML or JSON) as written, as JSON.

    Raises:
        ScenarioError: the file cannot be read or is not TOML.
    """

def read_file(path: str | PathLike[str], most: int) -> bytes | None:
    """What a regular file of at most `most` bytes holds, or None if there is none.

    Raises:
        ScenarioError: it is no regular file (such as a FIFO, a device or a folder), or larger, or
            it cannot be read.
    """

def error_words(number: int) -> str:
    """What an error of the system (errno) is in words, and what to do about it."""

_Capture = tuple[list[str], int, list[tuple[str, NDArray[int64]]]]

def read_segments(path: str | PathLike[str]) -> _Capture:
    """The IP packets of a capture (pcap, pcapng, plain or packed by gzip), in order of time.

    Addresses as texts, the time of the first packet in ns since 1970, and columns by name, with a
    row for each packet: `at_ns` since the first packet, `len` (of IP, in bytes), `dscp`, `ecn`,
    `protocol`, `source` and `destination` (numbers of addresses), `source_port` and
    `destination_port` (-1 without), and of TCP `flags`, `payload` (bytes), `seq`, `ack`,
    `has_timestamps`, `timestamp`, `echo`, `has_sack`, `sack_left` and `sack_right` (of the first
    block). For ICMP, `flags` is the type, `seq` and `ack` are number and identifier of an echo; for
    UDP, they are bytes 1 to 4 and 9 to 12 of the payload.

    Raises:
        ScenarioError: it cannot be read, is larger than 1 GiB, or is no whole capture.
    """

def effective(scenario: str, base: str) -> str:
    """The scenario (JSON) with every default filled in.

    `base` is the folder from which relative file names start.

    Raises:
        ScenarioError: anything in it that could not run.
    """

def resolve(scenario: str, base: str) -> str:
    """Links, traffic and files of the scenario (JSON), as JSON.

    An object with `title`, `duration_s`, `warmup_s`, `seed`, `default_link` (the link on which
    disciplines are compared, if it must be named once `[compare]` is gone; null for a dumbbell, a
    parking lot, and where none is chosen) and three lists:

    - `links`: each direction of each link, in the order of a summary's `links`: `name`, `from`,
      `to`, `reverse` (whether it is a reverse direction), `path` (where its table stands in this
      document, such as `link[2].reverse`), `queue_path` (where its queue is written, or would
      be), `queue` (with every default, or null), `shares_with` (names of the links whose queue
      is written at the same place: hops of a parking lot), `rate_bps` and `delay_s` (null if
      they vary), `loss` and `pcap` (the file in which it records, or null).
    - `traffic`: each entry: `name`, `kind`, `class`, `flows`, `transport` ("tcp" or "datagrams"),
      `judged_by` ("mos", "completion", "goodput", "playback", "responsiveness" or
      "delay-and-loss"), `open_loop` (whether it
      replays a capture), `from`, `to`, `path` and `links` (names of those on the way, forward).
    - `files`: every file that the scenario reads, once: `file` (as written) and `path` (of the
      field that names it first).

    Raises:
        ScenarioError: a queue that is not understood, or ends between which there is no way.
    """

def with_queue(scenario: str, base: str, link: str | None, queue: str) -> str:
    """The scenario (JSON) as written, with the queue (a table as JSON) on a link.

    `link` is any name of a summary's `links`. Without one it is that of `compare.link`, or the only
    link, or a dumbbell's `bottleneck`, or every hop of a parking lot, forward. The queue itself is
    not checked.

    Raises:
        ScenarioError: the document is no scenario, there is no such link, or there are several and
            none is chosen.
    """

def compared_link(scenario: str, base: str, link: str | None) -> str:
    """Name of the link whose measures tell what `with_queue` did: the first hop of a parking lot.

    Raises:
        ScenarioError: as `with_queue`.
    """

def identity(scenario: str, base: str) -> str:
    """Hash, 64 hexadecimal digits, of all that decides what a run does except its seed.

    That is the effective scenario without title, compare and tune, the content of the files that it
    reads, and the engine's version. Scenarios that run differently never share one.

    Raises:
        ScenarioError: anything in it that could not run.
    """

def footprint(scenario: str, base: str) -> int:
    """Approximate memory in bytes that a run needs at its start or by its length.

    Packets in transit and in queues come beside it.

    Raises:
        ScenarioError: anything in the scenario that could not run.
    """

def field(document: str, path: str) -> str | None:
    """What stands at a path such as `link[0].queue.target` of a document (JSON), as JSON.

    None if nothing does.

    Raises:
        ScenarioError: it is no path.
    """

def with_fields(document: str, fields: str) -> str:
    """The document (JSON) with values at paths; a table that is missing there is made.

    `fields` is an object (JSON) of values by path, set in this order.

    An entry of a list whose entries have names may be addressed by its name; a name that holds a
    dot stands in quotes. The order of the keys stays.

    Raises:
        ScenarioError: it is no path, or cannot be followed.
    """

def quantity(text: str, dimension: str | None) -> str:
    """A number with its unit, such as "5ms", read as a field of a scenario reads it, as JSON.

    `dimension` is "time", "rate", "size" or "packets"; without one the unit says which. The answer
    has `dimension`, `value` (in base units), `base_unit` ("s", "bit/s", "B" or "p"), and `number`
    and `unit` as written.

    Raises:
        ScenarioError: no field would take it.
    """

def labelled(text: str) -> tuple[str, str]:
    """Label and table (JSON) of a discipline written as a text, such as "codel:target=15ms".

    Raises:
        ScenarioError: a parameter has no value, or the kind has a blank.
    """

def format_quantity(value: float, dimension: str) -> str:
    """A value in base units as a scenario shows it: 0.005 and "time" make "5ms".

    Raises:
        ScenarioError: the value is negative, not finite or too large.
    """

def student(freedom: float, share: float) -> float:
    """The value below which a share (0 to 1) of Student's t distribution lies; nan outside."""

def run(
    scenario: str,
    base: str,
    cancel: Cancel | None = None,
    progress: Callable[[float], None] | None = None,
    threads: int = 1,
) -> Output:
    """Run the scenario (JSON) without holding the interpreter's lock.

    `progress` receives the fraction of simulated time that has passed, a few times a second. On at
    most `threads` threads the results are the same.

    Raises:
        ScenarioError: anything in it that could not run, or a plug-in's call that does not return.
        Cancelled: `cancel` was set.
    """

def replay(path: str, plugins: list[str] = []) -> str:
    """What the queue says to a recording of a gate, compared with what it said then, as JSON.

    Raises:
        ScenarioError: the file cannot be read, or is no recording.
    """

def kinds(plugins: list[str] = []) -> str:
    """Every discipline, part of a discipline and traffic source with its parameters, as JSON.

    Raises:
        ScenarioError: a plug-in that cannot be loaded.
    """

def schema(plugins: list[str] = []) -> str:
    """The JSON Schema of a scenario.

    Raises:
        ScenarioError: a plug-in that cannot be loaded.
    """

def check_plugin(path: str) -> list[tuple[str, str | None]]:
    """Each discipline of a plug-in, and what it did against which contract, if it did.

    Raises:
        ScenarioError: it cannot be loaded, or a call of it does not return.
    """

def plan(scenario: str, base: str) -> str:
    """What the scenario (JSON) asks of an emulation, as JSON: its links, and everyone's way.

    Raises:
        ScenarioError: anything in it that could not run.
    """

def flow_hash(
    seed: int, source: str, destination: str, protocol: int, ports: tuple[int, int] | None
) -> int:
    """The number that a gate of this seed gives to a flow (ports: source, destination)."""

class Episodes:
    """Runs with agents that are stepped together; arrays are contiguous and shared, not copied."""

    def reset(self, number: int, scenario: str, base: str) -> int:
        """Begin a scenario (JSON) in a place; how many agents there are.

        Raises:
            ScenarioError: anything in it that could not run, or that the agent cannot set.
        """

    def begin(self, number: int, observations: NDArray[float32]) -> None:
        """What the agents in a place see before they act, a row each."""

    def step(
        self,
        actions: NDArray[float32],
        observations: NDArray[float32],
        rewards: NDArray[float64],
        ended: NDArray[bool_],
    ) -> None:
        """Every agent of every run acts; runs that have ended stay as they are.

        Raises:
            ScenarioError: a run cannot go on.
            ValueError: the arrays do not fit, or a place is empty.
        """

    def now(self, number: int) -> int:
        """Simulated time of a run in ns."""

    def finish(self, number: int) -> Output:
        """What a complete run measured; its place is empty then."""

def episodes(agent: str, count: int, threads: int) -> Episodes:
    """Places for runs with an agent (JSON), stepped by a number of threads.

    Raises:
        ScenarioError: anything in the agent that is not understood.
        MemoryError: there is no memory for so many.
    """

def open(scenario: str, base: str) -> Session:  # noqa: A001 - forebay._engine.open
    """The scenario (JSON) at its beginning, to be run step by step.

    Raises:
        ScenarioError: anything in it that could not run.
    """

class Session:
    """A run that stops where it is told to.

    Each method raises ValueError if the run has ended, could not go on, or another thread is at it.
    """

    def times(self) -> tuple[int, int]:
        """The present instant, and the scenario's end, in ns."""

    def advance(self, until_ns: int) -> bool:
        """Go on for some milliseconds of real time, up to an instant; whether that is reached.

        Raises:
            ScenarioError: a plug-in broke the contract, or what is under way no longer fits memory.
        """

    def links(self) -> str:
        """Every link by its name, as JSON, with the fields of `forebay._session.QueueNow`."""

    def flows(self) -> tuple[str, list[str]]:
        """Every flow, as JSON, whose `traffic` is an index of the names beside it."""

    def watch(self, link: str | None, grain_ns: int) -> None:
        """Watch the queue of a link; nothing of the run must have happened.

        Args:
            link: its name in results; none: only who sends.
            grain_ns: time between two points of the series, above 0.

        Raises:
            ScenarioError: there is no such link.
        """

    def advance_to_packet(self) -> bool:
        """Go on to the next instant at which a packet joins or leaves the watched queue.

        Or for some milliseconds of real time; whether it is reached.

        Raises:
            ScenarioError: as `advance`.
        """

    def shown(self) -> str:
        """Who takes part in pictures, as JSON.

        `classes` (names), and `flows`: traffic entry, class and number of flows of each row.
        """

    def picture(self, most: int) -> str:
        """What waits and what is under way, as the fields of a JSON object, without braces.

        They are those of `LaneFrame` in explore/page/messages.d.ts from `queues` to
        `moving_total`, with at most `most` packets in the queue and on the links.
        """

    def points(self, first: int) -> tuple[int, str]:
        """How many points the series has, and those from `first` on, as a JSON list.

        They are as `Point` there.
        """

    def story(self, number: int) -> str | None:
        """The story of a packet, as JSON, with the fields of `StoryOf` there.

        None if it is not kept.
        """

    def fingerprint(self) -> str:
        """The fingerprint so far; at the end, that of the run."""

    def instant(self) -> int:
        """The present instant in ns, made ready for a change: all that happens at it has happened.

        It is the next nanosecond if something has followed a change at this one.
        """

    def scenario(self) -> str:
        """The scenario as it now is, as JSON, without its changes."""

    def change(self, scenario: str) -> None:
        """Go on as another scenario (JSON) says: the same with more changes from `instant` on.

        Raises:
            ScenarioError: something in it cannot change while it runs; nothing has changed.
        """

    def finish(self) -> Output:
        """What a run that is complete measured; nothing can be done afterwards."""

def command(message: str) -> str:
    """What a message of the page of explore asks for, as JSON: fields by its type.

    Raises:
        ScenarioError: it is not understood; the path of the field is named.
    """

def stage(
    scenario: str,
    name: str,
    base: str,
    *,
    queues: str,
    link: str | None,
    stories: str,
    plays: bool,
    ends: Cancel,
) -> Stage:
    """The stage at the beginning of a scenario (JSON).

    `queues` (JSON, a list) are side by side on a link: the compared one unless it is given.
    `stories` are those of `Story.for_stage` (JSON, a list). It begins to play with the first tab if
    it `plays`. `ends` ends what takes long.

    Raises:
        ScenarioError: the scenario cannot run, or a discipline cannot be put on the link.
    """

class Stage:
    """Disciplines side by side at the same instant: `crates/stage`.

    It has no thread and no clock; times are seconds from any origin. Messages are those of
    explore/page/messages.d.ts, each with the number of its tab, or none for all.

    Raises:
        Cancelled: `ends` was set; each method that takes long.
    """

    def connect(self, tab: int) -> list[tuple[int | None, str]]:
        """A tab with a new number wants to see it; messages."""

    def disconnect(self, tab: int) -> None:
        """A tab has gone."""

    def acknowledge(self, tab: int, frame: int) -> None:
        """A tab has drawn a frame."""

    def obey(self, tab: int, message: str) -> list[tuple[int | None, str]]:
        """Do what a message of a tab asks for; messages."""

    def wait(self, now: float) -> float | None:
        """Seconds until the next tick; none while it does not play."""

    def turn(self, now: float) -> None:
        """Go on by a tick, if one is due."""

    def show(self, now: float) -> list[tuple[int | None, str]]:
        """Frames for the tabs that wait for one, and what was said; messages."""

    def lanes(self) -> list[tuple[str, str, str, Path]]:
        """Of each lane: label, recorded scenario (JSON), its name and its base."""

    def instants(self) -> list[int]:
        """The present instant of each lane, in ns."""

    def watched(self) -> str | None:
        """The link whose queue is shown."""

    def files(self) -> list[tuple[str, str, str | None]]:
        """Of each lane: a file's name, the scenario as TOML, the fingerprint of a complete run."""

def live(scenario: str, base: str) -> Live:
    """Sources and meters of the scenario (JSON), to run it on real packets.

    Raises:
        ScenarioError: anything in it that could not run.
    """

class Live:
    """Sources and meters of a scenario that runs on real packets.

    Times are nanoseconds since the scenario began. A step of a source is (when, bytes, flow among
    the source's own): the size of a datagram's IP packet, or a transfer's payload, None without
    end.
    """

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
