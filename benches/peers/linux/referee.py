"""Runs a scenario in Linux in virtual time; prints what the other peers' programs print.

The stack of the scenario says which version runs it.

Usage: python benches/peers/linux/referee.py SCENARIO.toml [--seed N] [--control NAME]
           [--qdisc "cake besteffort"] [--traces FOLDER] [--trace-seconds 20] [--records FILE]

`make virtual-linux` builds the kernel. README.md beside this file says what the traces hold.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import qdisc
import records
from scenario import KERNEL_CONTROLS, Dumbbell, Hop, Link, dumbbell, load

from forebay.lab.errors import LabError
from forebay.lab.virtual import kernel, machine
from forebay.lab.virtual.machine import EPOCH, RESULTS, TCP_MEMORY

SECOND = 1_000_000_000
FIRST_LISTENER = 5001
SYSCTLS = {
    # Flows do not learn from each other.
    "tcp_no_metrics_save": "1",
}


class Missing(Exception):
    """What a run needs of the machine; the message names the remedy."""


@dataclass(frozen=True)
class Found:
    """The measures of one run, those of the other peers first."""

    queue: float
    """Mean waiting packets, the one in transmission not counted."""
    utilization: float
    loss: float
    """Dropped over offered packets."""
    once: float
    """Different segments over packets that left the congested link."""
    segments: int
    """Different segments that left the congested link."""
    run_cpu: float
    """CPU seconds, boot included."""
    offered: int
    dropped: int
    marked: int
    """Packets of the measured time."""
    marks: float
    """Marked over offered packets."""
    packets: int
    """Data packets of the whole run."""
    end: str
    """Time of the last record, ns: two runs of one seed have the same."""


def versions(version: str = kernel.USUAL) -> dict[str, str]:
    """What was built, and of what.

    Raises:
        Missing: nothing was.
    """
    return built(version).marks


def built(version: str) -> kernel.Kernel:
    """The kernel of that version.

    Raises:
        Missing: it is not built.
    """
    try:
        return kernel.found(version)
    except LabError as error:
        raise Missing(str(error)) from None


def hop_parameters(prefix: str, hop: Hop) -> list[str]:
    """A hop as the driver's parameters."""
    return [
        f"forebay_link.{prefix}rate={hop.rate}",
        f"forebay_link.{prefix}delay={hop.delay}",
        f"forebay_link.{prefix}overhead={hop.overhead}",
    ]


def network(mtu: int, qdiscs: qdisc.Commands, gso_max_segs: int = 1) -> list[str]:
    """The plan's steps that lay out hosts and router."""
    place = {"sender": "left", "ingress": "router", "egress": "router", "receiver": "right"}
    steps = [f"namespace {name}" for name in dict.fromkeys(place.values())]
    steps += [f"move {device} {name}" for device, name in place.items()]
    for device, name in place.items():
        # The kernel divides a buffer before the interface, so the links see packets.
        link = f"ip link set {device} mtu {mtu} gso_max_segs {gso_max_segs} up"
        steps.append(f"run {name} {link}")
        steps.append(f"write {name} /proc/sys/net/ipv4/conf/{device}/rp_filter 0")
    steps += [
        "write router /proc/sys/net/ipv4/ip_forward 1",
        "run left ip addr add 10.0.0.1/32 dev sender",
        "run left ip route add 10.0.0.2 dev sender",
        "run right ip addr add 10.0.0.2/32 dev receiver",
        "run right ip route add 10.0.0.1 dev receiver",
        "run router ip route add 10.0.0.2 dev egress",
        "run router ip route add 10.0.0.1 dev ingress",
    ]
    return steps + [f"run router {' '.join(command)}" for command in qdiscs]


def hosts(run: Dumbbell) -> list[str]:
    """The plan's steps that set up TCP and its flows."""
    steps = [f"write - /proc/sys/net/ipv4/tcp_mem {TCP_MEMORY}"]
    sysctls = SYSCTLS | {
        "tcp_ecn": "1" if run.ecn else "0",
        # As on a machine with 4 GB and more; by default the maxima follow the guest's memory.
        "tcp_rmem": f"4096 131072 {run.host.rmem_max}",
        "tcp_wmem": f"4096 16384 {run.host.wmem_max}",
    }
    for name in ("left", "right"):
        steps += [f"write {name} /proc/sys/net/ipv4/{key} {sysctls[key]}" for key in sysctls]
    # A controller that needs ECN asks for it at both ends.
    controls = sorted({sender.control for sender in run.senders})
    ports = {control: FIRST_LISTENER + index for index, control in enumerate(controls)}
    steps += [f"listen right {port} {control}" for control, port in ports.items()]
    levels = run.queue["kind"] == "wred"
    for sender in run.senders:
        # GRED reads the level where dsmark would have put it.
        codepoint = sender.flow.drop_precedence if levels else sender.dscp
        at, number, control = EPOCH + sender.start, sender.flow.number, sender.control
        steps.append(
            f"send left {at} {number} {ports[control]} {control} {codepoint << 2} {sender.size}"
        )
    return steps


def boot(
    folder: Path,
    plan: Sequence[str],
    parameters: Iterable[str],
    seed: int,
    version: str = kernel.USUAL,
) -> tuple[records.Records, float]:
    """Carries out a plan in a new guest; its record, and the processor time in s.

    Raises:
        RuntimeError: the guest failed; the message has what it said.
    """
    words = [f"forebay_link.epoch={EPOCH}", *parameters]
    try:
        with machine.Guests() as guests:
            cpu = machine.boot(
                guests, kernel.found(version), folder, plan, seed=seed, parameters=words
            )
    except LabError as error:
        raise RuntimeError(str(error)) from None
    return records.read(folder / "records"), cpu


def run(
    tree: Mapping[str, Any],
    *,
    seed: int | None = None,
    control: str | None = None,
    own_qdisc: str | None = None,
    trace: float = 0.0,
) -> tuple[Found, records.Records]:
    """One run of a scenario, with traces for `trace` seconds; its measures and records.

    Raises:
        Missing: the kernel is not built.
        qdisc.Refused: the scenario has what the guest has not.
        RuntimeError: the guest failed.
    """
    if seed is not None:
        tree = {**tree, "seed": seed}
    given = dumbbell(tree, control)
    built(given.kernel)
    link = qdisc.Link(given.bottleneck.rate, given.mtu, [each.flow for each in given.senders])
    if own_qdisc is None:
        qdiscs = qdisc.commands(given.queue, link)
    else:
        qdiscs = [qdisc.root(*own_qdisc.split())]
    with machine.folder() as folder:
        until = EPOCH + given.duration + SECOND
        plan = [
            *network(given.mtu, qdiscs, given.host.gso_max_segs),
            *hosts(given),
            f"record {RESULTS}/records {until}",
        ]
        words = parameters(given, round(trace * SECOND))
        seen, cpu = boot(folder, plan, words, given.seed, given.kernel)
    return measure(given, seen, cpu), seen


def parameters(given: Dumbbell, trace: int) -> list[str]:
    """The driver's parameters."""
    return [
        *hop_parameters("", given.bottleneck),
        *hop_parameters("access_", given.access),
        *hop_parameters("reverse_", given.reverse),
        f"forebay_link.trace={trace}",
        f"forebay_link.loss={round(given.link.loss * 2**32)}",
        *police(given.link),
        *steps(given.link),
    ]


def police(link: Link) -> list[str]:
    """A policer as the driver's parameters."""
    if link.police is None:
        return []
    rate, burst = link.police
    return [f"forebay_link.police_rate={rate}", f"forebay_link.police_burst={burst}"]


def steps(link: Link) -> list[str]:
    """Changes of the rate as the driver's parameters."""
    if len(link.steps) == 1:
        return []
    times, rates = (",".join(map(str, each)) for each in zip(*link.steps[1:], strict=True))
    return [f"forebay_link.step_times={times}", f"forebay_link.step_rates={rates}"]


def measure(given: Dumbbell, seen: records.Records, cpu: float) -> Found:
    """The measures of a run, from `warmup` to `duration`."""
    start, end = given.warmup, given.duration
    passed = records.passage(seen)
    inside = (passed.arrived >= start) & (passed.arrived < end)
    dropped = int((passed.dropped & inside).sum())
    sent = (passed.left >= start) & (passed.left < end)
    first = records.first_departures(passed)
    segments = int((first & sent).sum())
    steps, overhead = given.link.steps, given.bottleneck.overhead
    return Found(
        queue=records.mean_length(seen, start, end),
        utilization=records.used(passed, start, end, steps, overhead),
        loss=dropped / max(int(inside.sum()), 1),
        once=segments / max(int(sent.sum()), 1),
        segments=segments,
        run_cpu=cpu,
        offered=int(inside.sum()),
        dropped=dropped,
        marked=int((passed.marked & inside).sum()),
        marks=float((passed.marked & inside).sum() / max(int(inside.sum()), 1)),
        packets=len(passed.departures),
        end=str(int(seen["time"].max())),
    )


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", type=Path, help="a TOML file with a [dumbbell]")
    parser.add_argument("--seed", type=int, help="in place of the scenario's")
    parser.add_argument(
        "--control", choices=KERNEL_CONTROLS, help="congestion control of all flows"
    )
    parser.add_argument("--qdisc", help="as tc has it, in place of the scenario's queue")
    parser.add_argument("--traces", type=Path, help="folder for sender.csv and bottleneck.csv")
    parser.add_argument("--trace-seconds", type=float, default=20.0)
    parser.add_argument("--records", type=Path, help="file for the whole record")
    options = parser.parse_args()
    try:
        found, seen = run(
            load(options.scenario),
            seed=options.seed,
            control=options.control,
            own_qdisc=options.qdisc,
            trace=options.trace_seconds if options.traces else 0.0,
        )
    except (Missing, qdisc.Refused, RuntimeError) as error:
        print(f"error: {options.scenario}: {error}", file=sys.stderr)
        return 2
    if options.traces:
        options.traces.mkdir(parents=True, exist_ok=True)
        records.write_traces(seen, options.traces, round(options.trace_seconds * SECOND))
    if options.records:
        seen.tofile(options.records)
    print(json.dumps(asdict(found), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
