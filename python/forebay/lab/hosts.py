"""What hosts send and receive: datagrams, transfers over Linux' TCP, and iperf3 for bulk.

The engine's sources say who sends what and when, as in a simulated run; times are nanoseconds
since the scenario began.
"""

from __future__ import annotations

import heapq
import json
import math
import selectors
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any

from forebay._engine import Live
from forebay.lab.gates import LabError
from forebay.lab.network import inside
from forebay.lab.topology import Topology, uses_tcp

STAMP = struct.Struct("!IQQ")
"""Of a datagram: participant, number, when it was sent (ns of the real-time clock)."""
HEAD = struct.Struct("!IQ")
"""Of a transfer: participant, when it began."""
SHORTEST = 20 + 8 + STAMP.size
"""Shortest IP packet that has room for a stamp: after the headers of IPv4 and UDP."""
IPERF_INTERVAL_S = 0.2
BULK_PORT = 10_000
"""The first port from which iperf3 sends, below those that the kernel hands out."""
_SO_TIMESTAMPNS = 35
_TCP_TOTAL_RETRANS = struct.Struct("=100xI")
"""Where `tcp_info` has the number of segments sent again."""
_CHUNK = bytes(1 << 16)


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
        while not stop.is_set() and (left := at - self.now()) > 0:
            time.sleep(min(left / 1e9, 0.1))


@dataclass(frozen=True)
class Participant:
    """One flow of a traffic entry."""

    index: int
    entry: int
    flow: int
    start: int
    stop: int


class Hosts:
    """Everyone who sends and receives in a lab."""

    def __init__(
        self,
        topology: Topology,
        names: Mapping[str, str],
        live: Live,
        clock: Clock,
        measured: tuple[int, int],
    ) -> None:
        """Those of `topology` in the namespaces `names`, fed by and measured by `live`.

        `measured` is the end of the warm-up, and that of the scenario.
        """
        self._topology = topology
        self._names = names
        self._live = live
        self._clock = clock
        self._warmup, self._duration = measured
        self._stop = threading.Event()
        self._failure: list[BaseException] = []
        self._threads: list[threading.Thread] = []
        self._children: list[subprocess.Popen[bytes]] = []
        flows: dict[int, int] = defaultdict(int)
        self._participants = []
        for index, (entry, start, stop) in enumerate(live.participants()):
            number = flows[entry]
            flows[entry] += 1
            self._participants.append(Participant(index, entry, number, start, stop))
        self.data_flows: dict[tuple[str, str, int, int], int] = {}
        """Participant of each TCP flow: source, destination, source port, destination port."""
        self._sent: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._arrived: dict[int, dict[int, int]] = defaultdict(dict)
        self._bulk: list[tuple[Participant, int, subprocess.Popen[bytes], IO[str]]] = []

    def start(self) -> None:
        """Open every socket and start every thread; nothing is sent before time zero."""
        datagrams = defaultdict(list)
        transfers, bulk = [], []
        for each in self._participants:
            entry = self._topology.traffic[each.entry]
            if entry["kind"] == "bulk":
                bulk.append(each)
            elif uses_tcp(entry):
                transfers.append(each)
            else:
                datagrams[entry["from"]].append(each)
        self._listen()
        for node, members in datagrams.items():
            self._spawn(self._send_datagrams, node, members)
        if transfers:
            self._spawn(self._schedule_transfers, transfers)
        for each in bulk:
            self._serve_bulk(each)
            self._spawn(self._run_bulk, each)

    def entry_of(self, index: int) -> int:
        """Number of the traffic entry that a participant belongs to."""
        return self._participants[index].entry

    def check(self) -> None:
        """Raise what went wrong in a thread."""
        if self._failure:
            raise self._failure[0]

    def finish(self) -> None:
        """End everything after the scenario's end, and tell the engine what was seen."""
        for _, _, process, _ in self._bulk:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
        self.close()
        self.check()
        for each in self._participants:
            arrived = self._arrived[each.index]
            for number, (sent, size) in enumerate(self._sent[each.index]):
                self._live.datagram(each.index, size, sent, arrived.get(number))
        for each, began, _, said in self._bulk:
            with said:
                said.seek(0)
                self._count_bulk(each, began, said.read())

    def close(self) -> None:
        """Stop every thread and child."""
        self._stop.set()
        for thread in self._threads:
            thread.join(5)
        for child in self._children:
            if child.poll() is None:
                child.kill()
            child.wait()

    def _spawn(self, work: Callable[..., None], *args: Any) -> None:
        def run() -> None:
            try:
                work(*args)
            except BaseException as error:
                self._failure.append(error)

        thread = threading.Thread(target=run, daemon=True, name=f"lab-{work.__name__}")
        self._threads.append(thread)
        thread.start()

    # Datagrams

    def _send_datagrams(self, node: str, members: list[Participant]) -> None:
        with ExitStack() as opened:
            sockets = {}
            for each in members:
                entry = self._topology.traffic[each.entry]
                sockets[each.index] = opened.enter_context(
                    self._socket(node, socket.SOCK_DGRAM, entry["tos"])
                )
                sockets[each.index].connect((self._topology.address(entry["to"]), self._port(each)))
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

    def _socket(self, node: str, kind: socket.SocketKind, tos: int = 0) -> socket.socket:
        """A socket of a node's host."""
        with inside(self._names[node]):
            made = socket.socket(socket.AF_INET, kind)
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        return made

    def _on_datagrams(self, opened: socket.socket) -> None:
        while True:
            try:
                data, ancillary, _, _ = opened.recvmsg(1 << 16, 64)
            except BlockingIOError:
                return
            if len(data) < STAMP.size:
                continue
            index, number, _ = STAMP.unpack_from(data)
            _, _, value = ancillary[0]
            seconds, nanos = struct.unpack("qq", value[:16])
            self._arrived[index][number] = self._clock.of_real(seconds * 10**9 + nanos)

    # Transfers

    def _schedule_transfers(self, members: list[Participant]) -> None:
        due: list[tuple[int, int, int]] = []
        ended: list[tuple[int, int]] = []
        free = threading.Lock()

        def plan(index: int, step: tuple[int, int | None, int] | None) -> None:
            if step is not None and step[0] < self._duration:
                assert step[1] is not None
                heapq.heappush(due, (step[0], index, step[1]))

        def transfer(index: int, size: int) -> None:
            self._transfer(self._participants[index], size)
            with free:
                ended.append((index, self._clock.now()))

        for each in members:
            plan(each.index, self._live.next(each.index, each.start))
        while not self._stop.is_set() and self._clock.now() < self._duration:
            with free:
                done, ended[:] = ended[:], []
            for index, at in done:
                plan(index, self._live.completed(index, at))
            if not due or due[0][0] > self._clock.now():
                time.sleep(0.001)
                continue
            at, index, size = heapq.heappop(due)
            self._spawn(transfer, index, size)
            plan(index, self._live.next(index, at))

    def _transfer(self, each: Participant, size: int) -> None:
        """Send `size` bytes over a connection of their own, and wait until all have arrived."""
        entry = self._topology.traffic[each.entry]
        began = self._clock.now()
        with self._socket(entry["from"], socket.SOCK_STREAM, entry["tos"]) as connection:
            congestion = entry["tcp"]["linux"].encode()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion)
            source = self._topology.address(entry["from"])
            goal = (self._topology.address(entry["to"]), self._port(each))
            connection.bind((source, 0))
            port = connection.getsockname()[1]
            self.data_flows[source, goal[0], port, goal[1]] = each.index
            connection.settimeout(0.2)
            self._patiently(lambda: connection.connect(goal))
            left = memoryview(HEAD.pack(each.index, began))
            size = max(size - len(left), 0)
            while left or size:
                if not left:
                    left = memoryview(_CHUNK)[: min(size, len(_CHUNK))]
                    size -= len(left)
                sent = self._patiently(partial(connection.send, left))
                if sent is None:
                    return
                left = left[sent:]
            connection.shutdown(socket.SHUT_WR)
            self._patiently(lambda: connection.recv(1))
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
            if self._warmup <= self._clock.now() < self._duration:
                self._live.retransmitted(each.index, _TCP_TOTAL_RETRANS.unpack(info)[0])

    def _patiently(self, act: Callable[[], Any]) -> Any:
        """Do it however long it takes; None once the lab has ended."""
        while not self._stop.is_set():
            try:
                return act()
            except (TimeoutError, BlockingIOError):
                continue
        return None

    # Receivers

    def _listen(self) -> None:
        chosen = selectors.DefaultSelector()
        for number, entry in enumerate(self._topology.traffic):
            if entry["kind"] == "bulk":
                continue
            place = (self._topology.address(entry["to"]), self._topology.ports[number][0])
            is_tcp = uses_tcp(entry)
            kind = socket.SOCK_STREAM if is_tcp else socket.SOCK_DGRAM
            opened = self._socket(entry["to"], kind)
            opened.setblocking(False)
            if is_tcp:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                opened.bind(place)
                opened.listen(1024)
                chosen.register(opened, selectors.EVENT_READ, self._accept)
            else:
                opened.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
                opened.bind(place)
                chosen.register(opened, selectors.EVENT_READ, self._on_datagrams)
        if chosen.get_map():
            self._spawn(self._receive, chosen)

    def _receive(self, chosen: selectors.BaseSelector) -> None:
        self._chosen = chosen
        while not self._stop.is_set():
            for key, _ in chosen.select(0.2):
                key.data(key.fileobj)
        for key in list(chosen.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]

    def _accept(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        connection.setblocking(False)
        buffer = bytearray(1 << 18)
        head = bytearray()

        def read(connection: socket.socket) -> None:
            try:
                count = connection.recv_into(buffer)
            except ConnectionResetError:
                count = 0
            now = self._clock.now()
            if len(head) < HEAD.size:
                head.extend(buffer[: min(count, HEAD.size - len(head))])
            if len(head) == HEAD.size:
                index, began = HEAD.unpack(head)
                self._live.payload(index, count, max(now, 0))
                if count == 0:
                    self._live.transferred(index, began, now)
            if count == 0:
                self._chosen.unregister(connection)
                connection.close()

        self._chosen.register(connection, selectors.EVENT_READ, read)

    # Bulk

    def _serve_bulk(self, each: Participant) -> None:
        entry = self._topology.traffic[each.entry]
        options = ["--server", "--one-off", "--json", "--interval", str(IPERF_INTERVAL_S)]
        self._iperf(entry["to"], subprocess.DEVNULL, *options, "--port", str(self._port(each)))

    def _run_bulk(self, each: Participant) -> None:
        entry = self._topology.traffic[each.entry]
        step = self._live.next(each.index, each.start)
        if step is None:
            return
        source, goal = (self._topology.address(entry[end]) for end in ("from", "to"))
        port, own = self._port(each), BULK_PORT + each.index
        self.data_flows[source, goal, own, port] = each.index
        self._clock.sleep_until(step[0], self._stop)
        began = self._clock.now()
        seconds = (min(each.stop, self._duration) - began) / 1e9
        if seconds <= 0 or self._stop.is_set():
            return
        options = {
            "--client": goal,
            "--bind": source,
            "--port": str(port),
            "--cport": str(own),
            "--congestion": entry["tcp"]["linux"],
            "--time": str(math.ceil(seconds)),
            "--interval": str(IPERF_INTERVAL_S),
            "--tos": str(entry["tos"]),
        }
        flat = [part for option in options.items() for part in option]
        # A file, since a pipe that nobody reads would stop it.
        said = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed at the end
        process = self._iperf(entry["from"], said, *flat, "--json", "--get-server-output")
        self._bulk.append((each, began, process, said))

    def _iperf(self, node: str, said: IO[str] | int, *args: str) -> subprocess.Popen[bytes]:
        command = ["ip", "netns", "exec", self._names[node], "iperf3", *args]
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.DEVNULL)
        self._children.append(process)
        return process

    def _count_bulk(self, each: Participant, began: int, text: str) -> None:
        name = self._topology.traffic[each.entry]["name"]
        try:
            said = json.loads(text or "{}")
        except ValueError:
            raise LabError(f'iperf3 of traffic "{name}" did not come to its end') from None
        if "error" in said or "intervals" not in said:
            raise LabError(f'iperf3 of traffic "{name}": {said.get("error", "it said nothing")}')
        server = said.get("server_output_json", {})
        if "intervals" not in server:
            raise LabError(f'iperf3 of traffic "{name}": its server said nothing')
        for interval in server["intervals"]:
            part = interval["sum"]
            self._live.payload(each.index, part["bytes"], began + round(part["end"] * 1e9))
        for interval in said["intervals"]:
            part = interval["sum"]
            end = began + round(part["end"] * 1e9)
            if self._warmup <= end < self._duration:
                self._live.retransmitted(each.index, part["retransmits"])

    def _port(self, each: Participant) -> int:
        ports = self._topology.ports[each.entry]
        return ports[each.flow] if len(ports) > 1 else ports[0]
