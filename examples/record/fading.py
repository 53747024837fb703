#!/usr/bin/env python3
"""Records fading.trace.gz before it is packed: arrivals over a real link whose rate fades.

Usage: sudo ./fading.py OUTPUT [SECONDS] [SEED]

Two network namespaces are joined by a veth pair. Every 100 ms the rate of its token bucket (tbf) is
set from a model of radio fading. Meanwhile iperf3 saturates the link with UDP packets of 1500
bytes, and tcpdump records their arrivals. Each arrival becomes a line of a trace in mahimahi's
format (whole milliseconds, one opportunity of 1504 bytes each). So the rate comes from a model, and
the arrivals from a real queue, timer and network stack. Needs: iproute2, ethtool, tcpdump, iperf3.

The model, for one slow pedestrian:
  - fast fading: Rayleigh (Clarke's isotropic scattering as a sum of 16 sinusoids), Doppler 0.8 Hz;
  - shadowing: lognormal, 7 dB, decorrelation 4 s (Gudmundson, Electronics Letters 27(23), 1991);
  - mean signal-to-noise ratio 11 dB; rate = 2.2 MHz * log2(1 + SNR), at most 4.8 bit/s/Hz;
  - below 0.15 bit/s/Hz the link is out (tbf at 8 kbit/s: a packet in 1.5 s).

Setting a rate fills the bucket again, with one packet. This adds at most 120 kbit/s, and nothing
during an outage.
"""

import math
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEP = 0.1
DOPPLER_HZ = 0.8
SINUSOIDS = 16
SHADOW_DB = 7.0
SHADOW_SECONDS = 4.0
SNR_DB = 11.0
BANDWIDTH_HZ = 2.2e6
MOST_BITS_PER_HZ = 4.8
LEAST_BITS_PER_HZ = 0.15
OUTAGE_BPS = 8_000


def rates(seconds: float, seed: int) -> list[int]:
    """Link rates in bit/s, one each STEP."""
    rng = random.Random(seed)
    angles = [
        (rng.uniform(0, 2 * math.pi), rng.uniform(0, 2 * math.pi), rng.uniform(0, 2 * math.pi))
        for _ in range(SINUSOIDS)
    ]
    memory = math.exp(-STEP / SHADOW_SECONDS)
    shadow = rng.gauss(0, SHADOW_DB)
    result = []
    for index in range(round(seconds / STEP)):
        phase = 2 * math.pi * DOPPLER_HZ * index * STEP
        real = sum(math.cos(phase * math.cos(a) + b) for a, b, _ in angles)
        imaginary = sum(math.cos(phase * math.cos(a) + c) for a, _, c in angles)
        power = (real * real + imaginary * imaginary) / SINUSOIDS
        snr = power * 10 ** ((SNR_DB + shadow) / 10)
        bits_per_hz = min(math.log2(1 + snr), MOST_BITS_PER_HZ)
        out = bits_per_hz < LEAST_BITS_PER_HZ
        result.append(OUTAGE_BPS if out else round(BANDWIDTH_HZ * bits_per_hz))
        shadow = memory * shadow + rng.gauss(0, SHADOW_DB * math.sqrt(1 - memory * memory))
    return result


def run(*command: str) -> None:
    """Runs a command to its end."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def record(seconds: float, seed: int, capture: Path) -> None:
    """Records the arrivals behind the fading link."""
    started = []

    def start(*command: str) -> subprocess.Popen:
        quiet = subprocess.DEVNULL
        started.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet))
        return started[-1]

    sender, receiver = (("ip", "netns", "exec", f"rec-{side}") for side in ("send", "take"))
    tbf = [*sender, "tc", "qdisc", "replace", "dev", "rec-send", "root", "tbf"]
    bucket = ["burst", "1600", "limit", "30000"]
    try:
        for side in ("send", "take"):
            run("ip", "netns", "add", f"rec-{side}")
        run(
            "ip",
            "link",
            "add",
            "rec-send",
            "netns",
            "rec-send",
            "type",
            "veth",
            "peer",
            "name",
            "rec-take",
            "netns",
            "rec-take",
        )
        for side, prefix, address in (("send", sender, "1"), ("take", receiver, "2")):
            run(*prefix, "ip", "addr", "add", f"10.89.0.{address}/30", "dev", f"rec-{side}")
            run(*prefix, "ip", "link", "set", f"rec-{side}", "up")
            run(*prefix, "ethtool", "-K", f"rec-{side}", "tso", "off", "gso", "off", "gro", "off")
        start(*receiver, "iperf3", "-s")
        recorder = start(
            *receiver,
            "tcpdump",
            "-i",
            "rec-take",
            "-s",
            "64",
            "-Z",
            "root",
            "-B",
            "16384",
            "-w",
            str(capture),
            "udp and greater 1500",
        )
        time.sleep(1)
        plan = rates(seconds, seed)
        run(*tbf, "rate", f"{plan[0]}bit", *bucket)
        start(
            *sender,
            "iperf3",
            "-c",
            "10.89.0.2",
            "-u",
            "-b",
            "14M",
            "-l",
            "1472",
            "-t",
            str(round(seconds) + 5),
        )
        time.sleep(1)
        begin = time.monotonic()
        for index, rate in enumerate(plan):
            time.sleep(max(0.0, begin + index * STEP - time.monotonic()))
            if rate != plan[max(0, index - 1)]:
                run(*tbf, "rate", f"{rate}bit", *bucket)
        recorder.send_signal(signal.SIGTERM)
        recorder.wait()
    finally:
        for process in started:
            process.terminate()
            process.wait()
        for side in ("send", "take"):
            subprocess.run(["ip", "netns", "del", f"rec-{side}"], check=False)


def arrivals(capture: Path) -> list[float]:
    """Times of arrival in seconds since the first."""
    command = ["tcpdump", "-r", str(capture), "-tt", "-n"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    times = [float(line.split()[0]) for line in text.splitlines()]
    return [at - times[0] for at in times]


if __name__ == "__main__":
    length = float(sys.argv[2]) if len(sys.argv) > 2 else 90.0
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "arrivals.pcap"
        record(length, int(sys.argv[3]) if len(sys.argv) > 3 else 1, file)
        lines = [f"{round(at * 1000) + 1}\n" for at in arrivals(file)]
    Path(sys.argv[1]).write_text("".join(lines))
