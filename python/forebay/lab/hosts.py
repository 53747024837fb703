"""What hosts send and receive over Linux' own TCP and UDP, in the lab's namespaces.

The engine's sources say who sends what and when, as in a simulated run; times are nanoseconds
since the scenario began. Everyone waits in the kernel, in a thread of their own, for as long as
possible: in virtual time a system call costs more than a packet.
"""

from __future__ import annotations

import heapq
import mmap
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from forebay._engine import Live
from forebay.lab.network import inside
from forebay.lab.topology import BULK_PORT, Topology, flow_number, uses_tcp

STAMP = struct.Struct("!IQQ")
"""Of a datagram: participant, number, when it was sent (ns of the real-time clock)."""
HEAD = struct.Struct("!IQ")
"""Of a transfer: participant, when it began."""
SHORTEST = 20 + 8 + STAMP.size
"""Shortest IP packet that has room for a stamp: after the headers of IPv4 and UDP."""
INTERVAL = 100_000_000
"""Between two counts of what has arrived over a connection, ns."""
DRAIN_S = 1.0
"""How long packets under way at the end may still arrive."""
_LOOK = 200_000_000
"""Between two looks at what has failed, ns."""
_SO_TIMESTAMPNS = 35
_TCP_TOTAL_RETRANS = struct.Struct("=100xI")
"""Where `tcp_info` has the number of segments sent again."""
_TIMEVAL = struct.Struct("ll")
_AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER by which a connection ends with what it has not sent yet."""
_CHUNK = bytes(1 << 20)
_ALL = socket.MSG_WAITALL | socket.MSG_TRUNC
"""To wait for all that is asked for, and to throw it away."""


class Journal:
    """Writes down what `Live` is to be told, each call as its name and arguments."""

    def __init__(self) -> None:
        """Nothing so far."""
        self.told: list[tuple[Any, ...]] = []

    def __getattr__(self, what: str) -> Callable[..., None]:
        """A method of `Live`."""
        return lambda *values: self.told.append((what, *values))


@dataclass
class Clock:
    """The scenario's time."""

    begin_ns: int
    """Its zero, of the monotonic clock."""
    real_ns: int = field(default_factory=lambda: time.time_ns() - time.monotonic_ns())
    """What the real-time clock, which stamps packets, is ahead of the monotonic one."""

    def now(self) -> int:
        """Nanoseconds since the scenario began."""
        return time.monotonic_ns() - self.begin_ns

    def of_real(self, real_ns: int) -> int:
        """The scenario's time of a stamp."""
        return real_ns - self.real_ns - self.begin_ns

    def sleep_until(self, at: int, stop: threading.Event) -> None:
        """Wait; not when `stop` is set."""
        left = at - self.now()
        # An event counts microseconds; the last millisecond is slept to the nanosecond.
        if left > 2_000_000 and stop.wait((left - 1_000_000) / 1e9):
            return
        if not stop.is_set() and (left := at - self.now()) > 0:
            time.sleep(left / 1e9)


@dataclass(frozen=True)
class Participant:
    """One flow of a traffic entry."""

    index: int
    entry: int
    start: int
    stop: int


class Hosts:
    """Everyone who sends and receives in a lab."""

    def __init__(
        self,
        topology: Topology,
        names: Mapping[str, str],
        live: Live,
        meters: Live | Journal,
        clock: Clock,
    ) -> None:
        """Those of `topology` in the namespaces `names`, fed by the sources of `live`."""
        self._topology = topology
        self._names = names
        self._live = live
        self._meters = meters
        self._clock = clock
        self._warmup, self._duration = live.measured()
        self._participants = [
            Participant(index, *each) for index, each in enumerate(live.participants())
        ]
        self._stop = threading.Event()
        self._ready = threading.Semaphore(0)
        self._failure: list[BaseException] = []
        self._threads: set[threading.Thread] = set()
        self._open: set[socket.socket] = set()
        # Nothing is ever written into it.
        self._nowhere = mmap.mmap(-1, 1 << 28)
        # By source, destination, source port and destination port of TCP data.
        self._data_flows: dict[tuple[str, str, int, int], int] = {}
        self._sent: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._arrived: dict[int, dict[int, int]] = defaultdict(dict)

    def listen(self) -> None:
        """Open every socket at which something arrives."""
        for number, entry in enumerate(self._topology.traffic):
            self._spawn(self._accept if uses_tcp(entry) else self._take_datagrams, number)
        for _ in self._topology.traffic:
            while not self._ready.acquire(timeout=0.2):
                self.check()

    def carry_out(
        self, check: Callable[[], None], progress: Callable[[float], None] | None
    ) -> None:
        """Let everyone send from time zero to the end of the scenario, and tell the meters."""
        self._start()
        while (now := self._clock.now()) < self._duration:
            check()
            self.check()
            if progress is not None:
                progress(max(now, 0) / self._duration)
            # Time zero of a guest is twenty minutes after it was started.
            steps = max(1, -now // _LOOK)
            time.sleep(min(steps * _LOOK, self._duration - now) / 1e9)
        time.sleep(DRAIN_S)
        self.close()
        self.check()
        for each in self._participants:
            arrived = self._arrived[each.index]
            for number, (sent, size) in enumerate(self._sent[each.index]):
                self._meters.datagram(each.index, size, sent, arrived.get(number))

    def flows(self) -> dict[str, dict[int, tuple[int, bool]]]:
        """For each link the flows of its recording, as `Live.recording` wants them."""
        found: dict[str, dict[int, tuple[int, bool]]] = defaultdict(dict)
        for (source, goal, own, port), index in self._data_flows.items():
            number = flow_number(source, goal, socket.IPPROTO_TCP, (own, port))
            way = self._topology.traffic[self._participants[index].entry]["forward"]
            for link in way:
                found[link][number] = (index, link == way[-1])
        return found

    def _start(self) -> None:
        datagrams = defaultdict(list)
        for each in self._participants:
            entry = self._topology.traffic[each.entry]
            if entry["kind"] == "bulk":
                self._spawn(self._send_bulk, each)
            elif uses_tcp(entry):
                self._spawn(self._transfer, each, self._live.next(each.index, each.start))
            else:
                datagrams[entry["from"]].append(each)
        for node, members in datagrams.items():
            self._spawn(self._send_datagrams, node, members)

    def check(self) -> None:
        """Raise what went wrong in a thread."""
        if self._failure:
            raise self._failure[0]

    def close(self) -> None:
        """Stop every thread."""
        self._stop.set()
        while threads := list(self._threads):
            # Whoever waits at a socket is told that nothing comes any more.
            for opened in list(self._open):
                with suppress(OSError):
                    opened.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(0.2)

    def _spawn(self, work: Callable[..., None], *args: Any) -> None:
        def run() -> None:
            try:
                work(*args)
            except BaseException as error:
                # What is cut off at the end has not failed.
                if not (self._stop.is_set() and isinstance(error, OSError)):
                    self._failure.append(error)
            finally:
                self._threads.discard(thread)

        thread = threading.Thread(target=run, daemon=True, name=f"lab-{work.__name__}")
        self._threads.add(thread)
        thread.start()

    @contextmanager
    def _socket(self, node: str, kind: socket.SocketKind) -> Iterator[socket.socket]:
        """A socket of a node's host."""
        with inside(self._names[node]):
            opened = socket.socket(socket.AF_INET, kind)
        with self._kept(opened):
            yield opened

    @contextmanager
    def _kept(self, opened: socket.socket) -> Iterator[None]:
        """Close it in the end, and shut it down if the lab ends before."""
        self._open.add(opened)
        try:
            with opened:
                yield
        finally:
            self._open.discard(opened)

    def _goal(self, each: Participant) -> tuple[str, int]:
        """Where a flow arrives."""
        entry = self._topology.traffic[each.entry]
        return self._topology.address(entry["to"]), self._topology.port(each.entry)

    # Datagrams

    def _send_datagrams(self, node: str, members: list[Participant]) -> None:
        with ExitStack() as opened:
            sockets = {}
            for each in members:
                made = opened.enter_context(self._socket(node, socket.SOCK_DGRAM))
                tos = self._topology.traffic[each.entry]["tos"]
                made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
                made.connect(self._goal(each))
                sockets[each.index] = made
            self._pace_datagrams(members, sockets)

    def _pace_datagrams(
        self, members: list[Participant], sockets: Mapping[int, socket.socket]
    ) -> None:
        due: list[tuple[int, int, int]] = []

        def plan(index: int, after: int) -> None:
            step = self._live.next(index, after)
            if step is not None and step[0] < self._duration:
                at, size, _ = step
                assert size is not None
                heapq.heappush(due, (at, index, max(size, SHORTEST)))

        for each in members:
            plan(each.index, each.start)
        while due and not self._stop.is_set():
            at, index, size = heapq.heappop(due)
            self._clock.sleep_until(at, self._stop)
            real = time.time_ns()
            number = len(self._sent[index])
            self._sent[index].append((self._clock.of_real(real), size))
            # What the kernel refuses is lost, as far as the receiver is concerned.
            with suppress(BlockingIOError, ConnectionRefusedError):
                sockets[index].send(STAMP.pack(index, number, real) + bytes(size - SHORTEST))
            plan(index, at)

    def _take_datagrams(self, entry: int) -> None:
        with self._listener(entry, socket.SOCK_DGRAM) as opened:
            opened.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            self._ready.release()
            while not self._stop.is_set():
                data, ancillary, _, _ = opened.recvmsg(1 << 16, 64)
                if len(data) < STAMP.size:
                    continue
                index, number, _ = STAMP.unpack_from(data)
                _, _, value = ancillary[0]
                seconds, nanos = struct.unpack("qq", value[:16])
                self._arrived[index][number] = self._clock.of_real(seconds * 10**9 + nanos)

    # Connections

    def _transfer(self, each: Participant, step: tuple[int, int | None, int] | None) -> None:
        """Carry out a step of a source, and those that follow when it has begun and ended."""
        while step is not None and step[0] < self._duration:
            at, size, _ = step
            assert size is not None
            self._clock.sleep_until(at, self._stop)
            if self._stop.is_set():
                return
            after = self._live.next(each.index, at)
            if after is not None:
                self._spawn(self._transfer, each, after)
            self._send_file(each, size)
            step = self._live.completed(each.index, self._clock.now())

    def _send_file(self, each: Participant, size: int) -> None:
        """Send `size` bytes over a connection of their own, and wait until all have arrived."""
        began = self._clock.now()
        with self._connection(each) as connection:
            text = HEAD.pack(each.index, began) + _CHUNK[: max(size - HEAD.size, 0)]
            left = size - len(text)
            connection.sendall(text)
            while left > 0:
                connection.sendall(_CHUNK[:left])
                left -= len(_CHUNK)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
            if self._warmup <= self._clock.now() < self._duration:
                self._meters.retransmitted(each.index, _sent_again(connection))

    def _send_bulk(self, each: Participant) -> None:
        step = self._live.next(each.index, each.start)
        until = min(each.stop, self._duration)
        if step is None or step[0] >= until:
            return
        self._clock.sleep_until(step[0], self._stop)
        if self._stop.is_set():
            return
        with self._connection(each, BULK_PORT + each.index) as connection:
            # The head would leave alone, in a segment of its own.
            _wait_for(connection, socket.SO_SNDTIMEO, until - self._clock.now())
            connection.send(HEAD.pack(each.index, self._clock.now()) + _CHUNK)
            self._fill(connection, min(self._warmup, until))
            before = _sent_again(connection)
            self._fill(connection, until)
            self._meters.retransmitted(each.index, _sent_again(connection) - before)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)

    def _fill(self, connection: socket.socket, until: int) -> None:
        """Send without end until then."""
        while (left := until - self._clock.now()) > 0 and not self._stop.is_set():
            _wait_for(connection, socket.SO_SNDTIMEO, left)
            with suppress(BlockingIOError):
                connection.send(_CHUNK)

    @contextmanager
    def _connection(self, each: Participant, port: int = 0) -> Iterator[socket.socket]:
        """A connection of a flow, from that port."""
        entry = self._topology.traffic[each.entry]
        source, goal = self._topology.address(entry["from"]), self._goal(each)
        with self._socket(entry["from"], socket.SOCK_STREAM) as connection:
            connection.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, entry["tos"])
            _use(connection, entry)
            connection.bind((source, port))
            own = connection.getsockname()[1]
            self._data_flows[source, goal[0], own, goal[1]] = each.index
            connection.connect(goal)
            yield connection

    # Receivers

    @contextmanager
    def _listener(self, number: int, kind: socket.SocketKind) -> Iterator[socket.socket]:
        """A socket at which the traffic of an entry arrives."""
        entry = self._topology.traffic[number]
        with self._socket(entry["to"], kind) as opened:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind((self._topology.address(entry["to"]), self._topology.port(number)))
            yield opened

    def _accept(self, entry: int) -> None:
        with self._listener(entry, socket.SOCK_STREAM) as listener:
            # One that needs ECN asks for it at both ends.
            _use(listener, self._topology.traffic[entry])
            listener.listen(4096)
            self._ready.release()
            while not self._stop.is_set():
                connection, _ = listener.accept()
                self._spawn(self._receive, connection)

    def _receive(self, connection: socket.socket) -> None:
        """Take all that comes, and tell the meters of it every now and then."""
        with self._kept(connection):
            try:
                head = connection.recv(HEAD.size, socket.MSG_WAITALL)
            except ConnectionResetError:
                # A flow that stopped before anything of it came.
                return
            if len(head) < HEAD.size:
                return
            index, began = HEAD.unpack(head)
            self._meters.payload(index, len(head), self._clock.now())
            with suppress(ConnectionResetError):
                while self._count(connection, index):
                    pass
                if not self._stop.is_set():
                    self._meters.transferred(index, began, self._clock.now())

    def _count(self, connection: socket.socket, index: int) -> bool:
        """Tell the meters what comes until they are to be told again; whether more may come."""
        now = self._clock.now()
        until = now + INTERVAL - now % INTERVAL
        until = min(edge for edge in (until, self._warmup, self._duration) if edge > now)
        _wait_for(connection, socket.SO_RCVTIMEO, until - now)
        try:
            count = connection.recv_into(self._nowhere, 0, _ALL)
        except BlockingIOError:
            return True
        # The kernel's ticks are late by up to four milliseconds.
        self._meters.payload(index, count, min(self._clock.now(), until - 1))
        return count > 0


def _use(opened: socket.socket, entry: Mapping[str, Any]) -> None:
    """Let connections have the congestion control of a traffic entry."""
    control = entry["tcp"]["linux"].encode()
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)


def _wait_for(opened: socket.socket, option: int, span: int) -> None:
    """Let calls at a socket wait so long, ns: SO_SNDTIMEO or SO_RCVTIMEO."""
    micros = max(span // 1000, 1)
    opened.setsockopt(socket.SOL_SOCKET, option, _TIMEVAL.pack(*divmod(micros, 1_000_000)))


def _sent_again(connection: socket.socket) -> int:
    """Segments that have been sent again."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return int(_TCP_TOTAL_RETRANS.unpack(info)[0])
