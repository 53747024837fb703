"""Odd measurements: clocks that were set, cut headers, tags, other versions, blank files."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from fit_files import ARRIVED, FLENT, IPERF, PING, SENT, captured, check, iperf, loaded, put
from forebay import ScenarioError, fit
from forebay.fit.direct import read_off
from fuzzing import fuzz, mutated

Record = tuple[int, int, bytes]
"""Nanoseconds, length on the link, what was kept of it."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Four transfers over a FIFO at 5 Mbit/s and 30 ms, as tcpdump writes them."""
    folder = tmp_path_factory.mktemp("capture")
    return captured(folder, loaded({"kind": "fifo", "limit": "60p"})).read_bytes()


def records(raw: bytes) -> Iterator[Record]:
    at = 24
    while at < len(raw):
        secs, nanos, kept, length = struct.unpack_from("<4I", raw, at)
        yield secs * 10**9 + nanos, length, raw[at + 16 : at + 16 + kept]
        at += 16 + kept


def capture(rows: list[Record], link: int = 101) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, link)
    return head + b"".join(
        struct.pack("<4I", at // 10**9, at % 10**9, len(data), length) + data
        for at, length, data in rows
    )


def refused(path: Path) -> str:
    with pytest.raises(ScenarioError) as error:
        fit.read([path])
    message = str(error.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message


def test_a_clock_that_was_set_back(tmp_path: Path, whole: bytes) -> None:
    rows = list(records(whole))
    middle = len(rows) // 2
    hour = 3600 * 10**9
    set_ = [(at - hour if row >= middle else at, *rest) for row, (at, *rest) in enumerate(rows)]
    message = refused(put(tmp_path / "set.pcap", capture(set_)))  # type: ignore[arg-type]
    assert f"packet {middle + 1} is 36" in message and f"PART 1-{middle}" in message
    pings = PING + PING.replace(b"[16000", b"[15999")
    assert "goes back in time by 100000 s" in refused(put(tmp_path / "ping.txt", pings))


def test_an_hour_of_silence_is_left_out(tmp_path: Path, whole: bytes) -> None:
    rows = list(records(whole))
    first = rows[0]
    early = [(first[0] - 3600 * 10**9, *first[1:]), *rows]
    seen = fit.read([put(tmp_path / "early.pcap", capture(early))])
    plain = fit.read([put(tmp_path / "plain.pcap", whole)])
    assert seen.end < plain.end + 40 and any("are used" in note for note in seen.notes)
    assert len(seen.trips.at) == len(plain.trips.at)
    np.testing.assert_allclose(np.sort(seen.trips.delay), np.sort(plain.trips.delay))


def test_packets_that_are_not_in_order(tmp_path: Path, whole: bytes) -> None:
    rows = list(records(whole))
    swapped = list(rows)
    for at in range(0, len(rows) - 1, 2):
        swapped[at], swapped[at + 1] = rows[at + 1], rows[at]
    near = fit.read([put(tmp_path / "near.pcap", capture(swapped))])
    assert near.trips.at.shape == fit.read([put(tmp_path / "a.pcap", whole)]).trips.at.shape
    far = [rows[at] for at in np.random.default_rng(1).permutation(len(rows))]
    assert "reordercap" in refused(put(tmp_path / "far.pcap", capture(far)))


@pytest.mark.parametrize("kept", [10, 30])
def test_headers_that_were_not_recorded(tmp_path: Path, whole: bytes, kept: int) -> None:
    short = [(at, length, data[:kept]) for at, length, data in records(whole)]
    assert "tcpdump -s 120" in refused(put(tmp_path / "short.pcap", capture(short)))


def tagged(data: bytes) -> bytes:
    return bytes(12) + b"\x81\x00\x00\x07\x08\x00" + data


def tagged_ipv6(data: bytes) -> bytes:
    return tagged(as_ipv6(data)).replace(b"\x08\x00", b"\x86\xdd", 1)


def as_ipv6(data: bytes) -> bytes:
    """The same TCP segment or echo over IPv6, with the same ends."""
    head = 4 * (data[0] & 15)
    protocol = {6: 6, 1: 58}[data[9]]
    echo = {8: 128, 0: 129}
    rest = data[head:]
    if protocol == 58:
        rest = bytes([echo[rest[0]]]) + rest[1:]
    payload = int.from_bytes(data[2:4], "big") - head
    ends = bytes(12) + data[12:16] + bytes(12) + data[16:20]
    mark = 6 << 28 | data[1] << 20
    return struct.pack(">IHBB", mark, payload, protocol, 64) + ends + rest


CHANGES: dict[str, tuple[Callable[[bytes], bytes], int, int]] = {
    "VLAN": (tagged, 1, 18),
    "IPv6": (as_ipv6, 101, 20),
    "IPv6 over VLAN": (
        lambda data: tagged(as_ipv6(data)).replace(b"\x08\x00", b"\x86\xdd", 1),
        1,
        38,
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_tags_and_ipv6(tmp_path: Path, whole: bytes, name: str) -> None:
    change, link, more = CHANGES[name]
    rows = [(at, length + more, change(data)) for at, length, data in records(whole)]
    seen = fit.read([put(tmp_path / "changed.pcap", capture(rows, link))])
    plain = fit.read([put(tmp_path / "plain.pcap", whole)])
    np.testing.assert_allclose(seen.trips.delay, plain.trips.delay)
    assert len(seen.losses.at) == len(plain.losses.at) > 0
    found, direct = read_off(seen), read_off(plain)
    assert found.rate is not None and direct.rate is not None
    # 20 B more in each packet.
    longer = 1520 / 1500 if "IPv6" in name else 1.0
    assert found.rate.value == pytest.approx(direct.rate.value * longer, rel=0.005)


def test_another_version_of_flents_format(tmp_path: Path) -> None:
    message = refused(put(tmp_path / "a.flent", FLENT | {"version": 99}))
    assert "version 99 of Flent's format" in message and "1 to 4" in message
    for version in (1, 4):
        assert fit.read([put(tmp_path / "b.flent", FLENT | {"version": version})]).flows


def test_packed_files_are_told_by_what_is_in_them(tmp_path: Path) -> None:
    for blank in (b"", b" \n" * 5000):
        assert "is empty" in refused(put(tmp_path / "blank.json.gz", gzip.compress(blank)))
    assert "no measurement" in refused(put(tmp_path / "text.gz", gzip.compress(b"hello")))
    packed = put(tmp_path / "ping.txt.gz", gzip.compress(PING))
    assert len(fit.read([packed]).trips.at) == 2
    spaced = put(tmp_path / "a.json.gz", gzip.compress(b"\n" * 100 + json.dumps(IPERF).encode()))
    assert fit.read([spaced]).flows


def test_a_recording_of_the_gate(tmp_path: Path) -> None:
    path = put(tmp_path / "forward.rec", b"forebay" + bytes(40))
    assert "forebay replay FILE" in refused(path)


def test_fuzz_folders_of_the_lab(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "20p"})
    near, far = (
        captured(tmp_path, whole, end).read_bytes()[:40_000] for end in ("sender", "receiver")
    )
    folder = tmp_path / "seed-1"
    folder.mkdir()

    def given(raw: bytes) -> None:
        put(folder / "host-sender.pcap", raw)
        check(folder)

    put(folder / "host-receiver.pcap", far)
    fuzz(given, mutated(near))


def test_both_directions_at_once(tmp_path: Path) -> None:
    both = json.loads(json.dumps(IPERF))
    for each in both["intervals"]:
        back = each["streams"][0] | {"socket": 6, "sender": False}
        each["streams"] = [each["streams"][0] | {"sender": True}, back]
    assert fit.read([put(tmp_path / "bidir.json", both)]).two_way


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_what_arrived_is_divided_by_the_receivers_time(tmp_path: Path, share: float) -> None:
    # With 0.3, large sockets took most of what was sent.
    arrived = ARRIVED | {"bytes": round(share * 15_128_704)}
    seen = fit.read([put(tmp_path / "iperf3.json", iperf(SENT, arrived))])
    # 1448 of 1500 bytes are payload.
    least = share * 15_128_704 * 8 * 1500 / 1448 / 25.181281
    assert least < 5e6 and read_off(seen).most == pytest.approx(least, rel=1e-6)


def test_a_report_without_the_receivers_time(tmp_path: Path) -> None:
    arrived = {"bytes": 15_000_000}
    seen = fit.read([put(tmp_path / "iperf3.json", iperf(SENT, arrived))])
    assert read_off(seen).most == pytest.approx(15e6 * 8 * 1500 / 1448 / 25, rel=1e-6)


def test_a_stream_of_events(tmp_path: Path) -> None:
    path = put(
        tmp_path / "stream.json", b'{"event":"start","data":{}}\n{"event":"end","data":{}}\n'
    )
    with pytest.raises(ScenarioError, match="run iperf3 with --json"):
        fit.read([path])


def test_ping_in_another_language(tmp_path: Path) -> None:
    lines = PING.replace(b"bytes from", b"Bytes von").replace(b"time=", b"Zeit=")
    with pytest.raises(ScenarioError, match="LC_ALL=C ping -D"):
        fit.read([put(tmp_path / "ping.txt", lines)])
