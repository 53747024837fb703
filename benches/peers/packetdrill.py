"""Linux's packetdrill scripts about ECN, put to forebay's endpoints.

    python benches/peers/packetdrill.py FOLDER [--out FOLDER]

FOLDER holds `*.pkt` as `tools/testing/selftests/net/packetdrill` of Linux has them. Each becomes
one or two scripts of `crates/tcp/tests/runner`, which are run, and are said to pass or not.
forebay's data flow from client to server. A server that sends is asked in two parts, therefore: the
handshake as the side that answers, what it sends as a sender that is established already.
Left out is what forebay's endpoints have not: PSH, times (what is sent in answer counts, not when),
the codepoint of what carries no data or is sent again, and the client's own option. Where it ends
before the script does, it is said at which line, and which parts do not apply.
Exit code 0: all pass, 1: some do not, 2: bad input.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

PACKET = re.compile(
    r"^(?P<time>\S*(?:\s*~\s*\+?\S+)?)\s+(?P<way>[<>])\s+(?:\[(?P<ecn>\w+)\]\s*)?"
    r"(?P<flags>[SEWAPFR.0-7]+)\s+(?P<seq>\d+):\d+\((?P<len>\d+)\)"
    r"(?:\s+ack\s+(?P<ack>\d+))?(?:\s+win\s+(?P<win>\d+))?(?:\s+<(?P<options>.*)>)?\s*$"
)
CODEPOINTS = {"ect0": "ect", "ect1": "ect1", "ce": "ce", "noecn": "", None: ""}
HEADERS = 40
"""Bytes of an IPv4 and a TCP header."""


@dataclass(frozen=True)
class Packet:
    """A packet of a script, and the line where it stands."""

    line: int
    out: bool
    ecn: str | None
    flags: str
    seq: int
    len: int
    ack: int
    win: int | None
    options: str
    wait: str

    @property
    def ace(self) -> int:
        """AE, CWR and ECE as a number, which may be written as one."""
        digits = [int(flag) for flag in self.flags if flag.isdigit()]
        if digits:
            return digits[0]
        return 4 * ("A" in self.flags) + 2 * ("W" in self.flags) + ("E" in self.flags)

    def sack(self) -> str:
        """SACK blocks, as an option of a script's line."""
        found = re.search(r"\bsack ([\d: ]+)", self.options)
        blocks = found[1].split() if found else []
        return "sack=" + ",".join(each.replace(":", "-") for each in blocks) if blocks else ""

    def stamps(self) -> str:
        """Timestamps, as an option of a script's line."""
        found = re.search(r"TS val (\d+) ecr (\d+)", self.options)
        return f"ts={found[1]}/{found[2]}" if found else ""

    def counters(self) -> tuple[str, dict[str, int]]:
        """The AccECN option: the first field, and all of them."""
        found = re.search(r"\bECN((?: e\db \d+| ceb \d+)+)", self.options)
        words = found[1].split() if found else []
        fields = dict(zip(words[::2], map(int, words[1::2]), strict=True))
        return (words[0] if words else ""), fields


@dataclass
class Source:
    """What a script of packetdrill says, as far as it matters."""

    client: bool = False
    ecn: int = 1
    options: bool = True
    steps: list[Packet | tuple[int, str]] = field(default_factory=list)

    @property
    def packets(self) -> list[Packet]:
        """The packets alone."""
        return [step for step in self.steps if isinstance(step, Packet)]

    @property
    def asked(self) -> str:
        """What the first SYN asks a server for."""
        syn = next(each for each in self.packets if "S" in each.flags and not each.out)
        return {0: "nothing", 3: "classic"}.get(syn.ace, "accurate")

    def foreign(self) -> str:
        """What a server learns of the handshake that only a server that sends can show."""
        handshake = [each for each in self.packets if not each.out][:3]
        acked = next(each for each in handshake if "S" not in each.flags)
        if self.asked != "accurate" or self.ecn == 1:
            return ""
        if acked.ace == 0 or any("S" in each.flags and each.ace == 0 for each in handshake):
            return "a server that sends, but must not as ECT"
        return "a server that sends, whose SYN-ACK came marked" if acked.ace == 6 else ""


def read(text: str) -> Source:
    """Read a script.

    Raises:
        ValueError: A line with a packet is not understood.
    """
    source = Source()
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("//")[0].strip()
        if found := re.search(r"tcp_ecn=(\d)", line):
            source.ecn = int(found[1])
        elif re.search(r"tcp_ecn_option=0", line):
            source.options = False
        elif "connect(" in line:
            source.client = True
        elif found := re.search(r"\bwrite\(\d+, ..., (\d+)\)", line):
            source.steps.append((number, f"write {found[1]}"))
        elif re.search(r"\bclose\(", line):
            source.steps.append((number, "close"))
        elif counts := re.findall(r"assert tcpi_delivered_ce(_bytes)? == (\d+)", line):
            wanted = " ".join(f"{'marked' if each else 'marks'}={n}" for each, n in counts)
            source.steps.append((number, f"expect {wanted}"))
        elif re.match(r"^\S+(\s*~\s*\+?\S+)?\s+[<>]\s", line):
            source.steps.append(packet(number, line))
    return source


def packet(number: int, line: str) -> Packet:
    """Read a packet's line."""
    found = PACKET.match(line)
    if not found:
        raise ValueError(f"line {number}: not understood: {line}")
    wait = re.sub(r"~.*", "", found["time"]).strip().lstrip("+") or "0"
    return Packet(
        line=number,
        out=found["way"] == ">",
        ecn=found["ecn"],
        flags=found["flags"],
        seq=int(found["seq"]),
        len=int(found["len"]),
        ack=int(found["ack"] or 0),
        win=int(found["win"]) if found["win"] else None,
        options=found["options"] or "",
        wait=f"+{float(wait) * 1000:.0f}ms" if wait != "..." else "+0ms",
    )


@dataclass
class Script:
    """A script of forebay's, and the line at which it has to end."""

    part: str
    lines: list[str]
    ends: int | None = None
    foreign: str = ""
    """Why it does not apply."""


def header(source: Source, side: str, established: bool) -> str:
    """The first line: the side that is asked, and its parameters."""
    out_by_client = side == "sender" and source.client
    accurate = source.ecn == 3 or (source.ecn in (4, 5) and not out_by_client)
    ecn = source.ecn != 5 or not out_by_client
    if established and source.asked != "accurate":
        accurate, ecn = False, source.asked == "classic"
    syns = [each for each in source.packets if "S" in each.flags]
    stamped = all(each.stamps() for each in syns) and bool(syns)
    peer = next((each for each in syns if not each.out), None)
    found = re.search(r"mss (\d+)", peer.options) if peer else None
    mss = int(found[1]) if found else 1460
    sent = [each.len for each in source.packets if each.out and each.len > 0]
    if len(sent) > 1 and max(sent) < mss:
        # The client's own option takes its room.
        mss = max(sent)
    words = [side, f'mtu="{mss + HEADERS}B"', f"ecn={str(ecn).lower()}", "quick_acks=16"]
    if stamped:
        words.append("timestamps=true")
    if accurate and ecn:
        words.append("accurate_ecn=true")
    if established:
        words.append("handshake=false")
    return " ".join(words) + "\nloose"


def scripts(source: Source) -> list[Script]:
    """The scripts that ask the same of forebay's endpoints."""
    sends = any(each.out and each.len > 0 for each in source.packets)
    if source.client:
        return [as_sender(source, established=False)]
    parts = [as_receiver(source, until_data=sends)]
    if sends:
        parts.append(as_sender(source, established=True))
        parts[-1].foreign = source.foreign()
    return parts


def codepoint(sent: Packet) -> str:
    """The codepoint of a packet, as a word of a script's line."""
    return CODEPOINTS[sent.ecn]


def joined(*words: str) -> str:
    """The words that are there."""
    return " ".join(word for word in words if word)


def arriving(it: Packet, scale: int) -> str:
    """A packet that comes, as a line."""
    first, fields = it.counters()
    option = ""
    if fields:
        order = 1 if first == "e1b" else 0
        option = f"accecn{order}=" + ",".join(str(value) for value in fields.values())
    ace = f"ace={it.ace}" if it.ace else ""
    window = f"win={it.win << scale}" if it.win is not None else ""
    words = joined(ace, it.stamps(), it.sack(), option, codepoint(it))
    if "R" in it.flags:
        return f"{it.wait} rst"
    if "S" in it.flags:
        return joined(f"{it.wait} {'syn-ack' if '.' in it.flags else 'syn'}", window, words)
    if it.len > 0:
        return joined(f"{it.wait} recv {it.seq} {it.len}", words)
    return joined(f"{it.wait} ack {it.ack}", window, words)


def as_receiver(source: Source, until_data: bool) -> Script:
    """The server, up to the first data of its own."""
    lines = [header(source, "receiver", established=False)]
    syn, acked = "", False
    answered = True
    for step in source.steps:
        if not isinstance(step, Packet):
            continue
        if step.out and step.len > 0:
            return Script("handshake", lines) if until_data else Script("", lines, step.line)
        if "F" in step.flags:
            return Script("", lines, step.line)
        ace = f"ace={step.ace}" if step.ace else ""
        if step.out and "S" in step.flags:
            if answered:
                # A SYN-ACK that is sent again: forebay's has no timer, the client's SYN has.
                lines.append(f"+1000ms {syn}")
            answered = True
            tells = "option" if step.counters()[1] else "no-option"
            lines.append(joined("expect syn-ack", ace, tells if source.options else ""))
        elif step.out:
            _, fields = step.counters()
            told = ",".join(str(fields.get(name, "")) for name in ("e0b", "ceb", "e1b"))
            known = f"counters={told}" if len(fields) == 3 else ""
            lines.append(joined(f"expect ack {step.ack}", ace, known, step.sack(), "any-ecn"))
        elif "S" in step.flags:
            lines.append(arriving(step, 0))
            syn, answered = lines[-1].split(" ", 1)[1], False
        elif step.len == 0 and acked and until_data:
            return Script("handshake", lines)
        else:
            acked = True
            at = arriving(step, 0)
            lines.append(re.sub(r" ack \d+", f" recv {step.seq} 0", re.sub(r" win=\d+", "", at)))
    return Script("", lines)


def as_sender(source: Source, established: bool) -> Script:
    """The client, or a server that is established."""
    lines = [header(source, "sender", established)]
    scale = next((int(n) for n in re.findall(r"wscale (\d+)", str(source.packets))), 0)
    mss = int(lines[0].split('"')[1][:-1]) - HEADERS
    part = "data" if established else ""
    begun, next_seq = not established, 1
    for step in source.steps:
        if not isinstance(step, Packet):
            lines.extend([step[1]] if begun else [])
            continue
        if not begun:
            if not step.out and "S" not in step.flags:
                # The acknowledgment of the SYN-ACK, which the other part reads.
                begun = True
                window = f"win={(step.win or 0) << scale}"
                ace = "ace=5" if "accurate_ecn" in lines[0] else ""
                lines.append(joined("ack 1", ace, window, step.stamps(), codepoint(step)))
            continue
        ace = f"ace={step.ace}" if step.ace else ""
        if not step.out:
            if step.len > 0 or "F" in step.flags:
                return Script(part, lines, step.line)
            lines.append(arriving(step, 0 if "S" in step.flags else scale))
        elif "S" in step.flags:
            lines.append(joined("expect syn", ace))
        elif "F" in step.flags:
            lines.append(joined(f"expect fin {step.seq}", ace, "any-ecn"))
        elif step.len > 0:
            again = step.seq < next_seq
            words = joined(ace, "any-ecn" if again else codepoint(step))
            for at in range(step.seq, step.seq + step.len, mss):
                size = min(mss, step.seq + step.len - at)
                lines.append(joined(f"expect seg {at} {size}", words))
            next_seq = max(next_seq, step.seq + step.len)
        else:
            lines.append(joined(f"expect ack {step.ack}", ace, "any-ecn"))
    return Script(part, lines)


def main() -> int:
    """Translate, run and tell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, help="keep the translations here")
    given = parser.parse_args()
    files = sorted(given.folder.glob("*.pkt"))
    if not files:
        print(f"{given.folder}: holds no *.pkt; see Linux' selftests", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as made:
        out = given.out or Path(made)
        out.mkdir(parents=True, exist_ok=True)
        written: dict[Path, tuple[str, Script]] = {}
        for file in files:
            try:
                made_of = scripts(read(file.read_text()))
            except ValueError as error:
                print(f"{file}: {error}", file=sys.stderr)
                return 2
            for script in made_of:
                path = out / f"{file.stem}{'-' if script.part else ''}{script.part}.tcp"
                path.write_text("\n".join(script.lines) + "\n")
                written[path] = (file.stem, script)
        command = ["cargo", "run", "-q", "-p", "forebay-tcp", "--example", "script", "--"]
        root = Path(__file__).parents[2]
        names = [str(path.resolve()) for path, (_, it) in written.items() if not it.foreign]
        ran = subprocess.run([*command, *names], cwd=root, capture_output=True, text=True)
        said = dict(line.split(": ", 1) for line in ran.stdout.splitlines())
        if len(said) < len(names):
            print(ran.stderr, file=sys.stderr)
            return 2
        for path, (stem, script) in written.items():
            upto = f", up to line {script.ends}" if script.ends else ""
            part = f" ({script.part})" if script.part else ""
            found = f"does not apply: {script.foreign}" if script.foreign else ""
            print(f"{stem}{part}{upto}: {found or said[str(path.resolve())]}")
        passed = sum(text == "passes" for text in said.values())
        print(f"{passed} of {len(said)} parts of {len(files)} scripts pass")
    return ran.returncode and 1


if __name__ == "__main__":
    sys.exit(main())
