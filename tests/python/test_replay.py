"""`forebay replay` on recordings written here, byte by byte as docs/gate.md describes them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("forebay"))
HEAD = (
    b"forebay recording 2\n"
    + json.dumps(
        {
            "plan": {
                "rate": "8Mbit",
                "overhead": 0,
                "mtu": 1500,
                "queue": {"kind": "fifo", "limit": "1p"},
            },
            "seed": 1,
        }
    ).encode()
    + b"\n"
)
# 1000 B in LEB128, no flow, class, precedence or codepoint, data, hosts that are not known.
OFFER = bytes([0, 0]), bytes([0xE8, 0x07]) + bytes(13)
QUEUED, REFUSED, POLL, FULL = b"\x01\x00", b"\x01\x01", b"\x02\x00", b"\x06\x02\x00"
MILLISECOND = bytes([0xC0, 0x84, 0x3D])


def offer(packet: int) -> bytes:
    return OFFER[0] + bytes([packet]) + OFFER[1]


def sent(packet: int) -> bytes:
    return bytes([3, packet, 0]) + MILLISECOND


def replay(path: Path, operations: bytes, *options: str) -> subprocess.CompletedProcess[str]:
    path.write_bytes(HEAD + operations)
    command = [COMMAND, "replay", str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_true_recording_is_the_same(tmp_path: Path) -> None:
    # The first is in transmission, the second waits, the third finds the queue full.
    operations = offer(0) + QUEUED + POLL + sent(0) + offer(1) + QUEUED + offer(2) + FULL + REFUSED
    result = replay(tmp_path / "a.rec", operations, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["difference"] is None and not found["truncated"]
    assert (found["offered"], found["sent"], found["dropped"]) == (3, 1, {"overflow": 1})
    assert "Everything is the same." in replay(tmp_path / "a.rec", operations).stdout


def test_another_verdict_is_found(tmp_path: Path) -> None:
    operations = offer(0) + QUEUED + offer(1) + QUEUED
    result = replay(tmp_path / "a.rec", operations)
    assert result.returncode == 1
    assert "call 2" in result.stdout and "recorded [Verdict(Queued)]" in result.stdout


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b.rec").write_bytes(b"\x00\x01\x02")
    for path in (tmp_path / "b.rec", tmp_path / "missing.rec"):
        command = [COMMAND, "replay", str(path)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 2 and str(path) in result.stderr, result
