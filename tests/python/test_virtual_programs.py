"""Programs of Linux in the virtual lab, and links that vary there.

Runs need a kernel (`make virtual-linux`). Where it is built they must work in CI.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from forebay import Scenario, lab, run
from forebay._cli import app
from forebay._engine import ScenarioError
from forebay.lab import topology
from forebay.lab.errors import LabError
from forebay.lab.virtual import kernel, programs, runs
from test_virtual_lab import guests_of

SCENARIO = {
    "title": "programs",
    "duration": "5s",
    "tcp": {"preset": "linux"},
    "link": [
        {
            "name": "wire",
            "from": "client",
            "to": "server",
            "rate": "10Mbit",
            "delay": "10ms",
            "queue": {"kind": "fifo", "limit": "50p"},
        }
    ],
}
SERVER = """
import http.server, os, socketserver
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.urandom(200_000))
socketserver.TCPServer(("", 80), Handler).serve_forever()
"""
CLIENT = """
import os, random, socket, time, urllib.request
body = urllib.request.urlopen("http://server/").read()
open("body", "wb").write(body)
print(len(body), random.random(), time.time(), time.monotonic_ns(), os.getpid(), id(body))
print(socket.gethostname(), hash("forebay"), open("/proc/self/maps").readline())
"""


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def test_equal_seeds_give_equal_bytes(guest_gate: Path, tmp_path: Path) -> None:
    scenario = Scenario.of(SCENARIO)
    asked = [f"server: {python(SERVER)}", f"client: {python(CLIENT)}"]
    told = partial(lab.virtual.run, scenario, gate=guest_gate, programs=asked)
    with ThreadPoolExecutor() as pool:
        names = [(7, "first"), (7, "second"), (8, "other")]
        waits = [pool.submit(told, seed=seed, captures=tmp_path / name) for seed, name in names]
        first, second, other = (each.result() for each in waits)
    assert first.summary == second.summary and first.files == second.files
    for file in ("host-client.pcap", "link-wire-reverse.pcap"):
        one, same = (tmp_path / name / "seed-7" / file for name in ("first", "second"))
        assert one.read_bytes() == same.read_bytes()
    body, wanted = (each.files["programs/files-client/body"] for each in (first, other))
    assert len(body) == len(wanted) == 200_000 and body != wanted
    size, chance, clock, *_ = first.files["programs/2-client.stdout"].split()
    assert size == b"200000" and chance not in other.files["programs/2-client.stdout"]
    # A second's quarter and some round trips after the day begins.
    assert 0.16 < float(clock) - programs.DATE / 1e9 < 0.6
    assert b"client" in first.files["programs/2-client.stdout"]
    server, client = first.summary["programs"]
    assert server["stopped"] and server["exit_code"] == -15 and server["end_s"] > 5
    assert not client["stopped"] and client["exit_code"] == 0 and 0.16 < client["end_s"] < 0.6
    assert first.summary["links"]["wire-reverse"]["sent_bytes"] > 200_000


ALL = """
import os, signal, subprocess, sys, time
begin = time.monotonic()
while time.monotonic() < begin + 0.02:
    pass
print("waited", round(time.monotonic() - begin, 3), flush=True)
open("/etc/mine", "w").write("mine")
open("here", "w").write("x")
os.mkdir("below")
open("below/deep", "w").write("deep")
os.symlink("here", "link")
print(os.path.exists("/dev/null"), sorted(os.listdir("/run")), flush=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("no", file=sys.stderr, flush=True)
while True:
    time.sleep(1)
"""


def test_a_program_has_a_machine_of_its_own_and_ends_with_the_run(guest_gate: Path) -> None:
    other = "client: sh -c 'sleep 1; cat /etc/mine here; exit 3'"
    asked = [
        f"client: {python(ALL)}",
        other,
        "server: sh -c 'sleep 1; cat /etc/mine'",
        "server: ping -c 1 client" if shutil.which("ping") else "server: true",
    ]
    found = lab.virtual.run(Scenario.of(SCENARIO), gate=guest_gate, programs=asked)
    first, second, third, last = found.summary["programs"]
    said = {name.removeprefix("programs/"): text for name, text in found.files.items()}
    # It never waits: after 10 000 calls each takes time.
    assert said["1-client.stdout"].startswith(b"waited 0.02\nTrue ['lock', 'sshd']\n")
    assert said["1-client.stderr"] == b"no\n"
    assert first["stopped"] and first["exit_code"] == -9
    assert said["2-client.stdout"] == b"minex" and second["exit_code"] == 3
    assert not second["stopped"] and 1 <= second["end_s"] < 1.1
    # Hosts share no files, and the machine has none of them.
    assert third["exit_code"] == 1 and not Path("/etc/mine").exists()
    assert {name for name in said if "files" in name} == {
        "files-client/here",
        "files-client/below/deep",
    }
    assert last["exit_code"] == 0
    if shutil.which("ping"):
        assert b"time=20.1 ms" in said["4-server.stdout"]


def test_the_command_keeps_what_programs_said(guest_gate: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "scenario.json", tmp_path / "out"
    file.write_text(json.dumps(SCENARIO))
    words = ["lab", str(file), "--virtual", "--gate", str(guest_gate), "--out", str(out)]
    program = "client: sh -c 'seq 30; echo bad >&2; exit 4'"
    for _ in range(2):
        found = CliRunner().invoke(app, [*words, "--run", program])
        assert found.exit_code == 0, found.output
    assert "exit code 4" in found.output and "10 lines more above" in found.output
    assert "\n  30\n  bad\n" in found.output
    assert (out / "programs" / "1-client.stdout").read_text().split() == [
        str(number) for number in range(1, 31)
    ]
    summary = json.loads((out / "summary.json").read_text())
    assert summary["programs"][0]["exit_code"] == 4


def test_programs_run_in_linux_6_12(guest_gate: Path) -> None:
    if (new := kernel.find(version="6.12")) is None:
        pytest.skip("no Linux 6.12; make virtual-linux KERNEL=6.12")
    told = partial(lab.virtual.run, Scenario.of(SCENARIO), gate=guest_gate)
    found = [
        told(programs=["server: uname -r"], kernel=each).files["programs/1-server.stdout"]
        for each in (new, kernel.found())
    ]
    assert [each[:5] for each in found] == [b"6.12.", b"6.1.1"]


def test_a_folder_can_take_the_place_of_the_machine(guest_gate: Path, tmp_path: Path) -> None:
    root = tmp_path / "a, b: c"
    shell = shutil.which("dash") or "/bin/sh"
    needed = subprocess.run(["ldd", shell], capture_output=True, text=True, check=True).stdout
    libraries = [word for word in needed.split() if word.startswith("/")]
    for path in [shell, *libraries]:
        to = root / path.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    (root / "bin").mkdir(exist_ok=True)
    shutil.copy(shell, root / "bin" / "sh")
    asked = ["client: sh -c 'echo /*; while read -r line; do echo $line; done </etc/hosts'"]
    found = lab.virtual.run(Scenario.of(SCENARIO), gate=guest_gate, programs=asked, root=root)
    said = found.files["programs/1-client.stdout"].decode()
    assert found.summary["programs"][0]["exit_code"] == 0
    assert "/root" not in said.splitlines()[0] and "/proc" in said.splitlines()[0]
    assert "10.211.0.3 server" in said
    assert not (root / "etc").exists()
    with pytest.raises(ScenarioError, match='no program "python3" in'):
        programs.read(["client: python3"], root)
    with pytest.raises(ScenarioError, match="is not a folder"):
        programs.read(["client: sh"], root / "nowhere")


def test_a_program_that_computes_without_end_is_said(
    guest_gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_PATIENCE_S", 3.0)
    with pytest.raises(LabError, match="time has stood still for 3 s of processor time"):
        lab.virtual.run(
            Scenario.of(SCENARIO), gate=guest_gate, programs=["client: sh -c 'while :; do :; done'"]
        )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--virtual", "--run", "client: nosuchprogram -x"], 'no program "nosuchprogram"'),
        (["--virtual", "--run", "nobody: true"], 'no host "nobody"; it has client, server'),
        (["--virtual", "--run", "true"], 'must be "HOST: COMMAND"'),
        (["--virtual", "--run", "client:"], 'must be "HOST: COMMAND"'),
        (["--virtual", "--run", "client: sh -c 'x"], "No closing quotation"),
        (["--run", "client: true"], "--run: needs --virtual"),
        (["--virtual", "--root", "/"], "--root: is for programs"),
        (["--virtual", "--run", "client: true", "-r", "2"], "-r: cannot be combined"),
        (["--virtual", "--run", "client: true", "--set", "tcp.congestion=pcc"], "pcc"),
    ],
)
def test_what_cannot_run_is_one_line(
    guest_gate: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    file, out = tmp_path / "scenario.json", tmp_path / "out"
    file.write_text(json.dumps(SCENARIO))
    words = [sys.executable, "-m", "forebay", "lab", str(file), "--out", str(out), *options]
    words += ["--gate", str(guest_gate)]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert found.returncode == 2, found.stderr
    assert found.stderr.startswith("error: ") and said in found.stderr
    assert found.stderr.count("\n") == 1 and not out.exists()


def test_programs_go_by_the_scenarios_tcp_and_access_links() -> None:
    row = {
        "duration": "5s",
        "tcp": {"preset": "linux", "congestion": "cubic", "initial_window": 4},
        "dumbbell": {"rate": "10Mbit", "delay": "10ms", "access": {"delay": "3ms"}},
        "traffic": [],
    }
    plan = topology.read(Scenario.of(row), None, ["left"])
    assert plan.access_delay_ns("bottleneck") == 6_000_000
    assert {entry["tcp"]["linux"] for entry in plan.programs} == {"cubic"}
    assert not plan.traffic
    assert {(at, device) for at, _, device in plan.routes()} == {
        ("left", "link0"),
        ("right", "link0"),
    }
    with pytest.raises(ScenarioError, match="is empty"):
        run(Scenario.of(row))


VARIES = {
    "rate": {"steps": [["0s", "10Mbit"], ["2s", "2Mbit"]], "period": "4s"},
    "delay": {"steps": [["0s", "10ms"], ["3s", "40ms"]]},
    "loss": 0.02,
}


def test_links_vary_as_in_the_simulation(guest_gate: Path) -> None:
    link = SCENARIO["link"][0] | VARIES  # type: ignore[index]
    calls = {"kind": "cbr", "rate": "1Mbit", "size": "500B", "from": "client", "to": "server"}
    whole = SCENARIO | {"duration": "12s", "warmup": "1s", "link": [link], "traffic": [calls]}
    bulk = whole | {"traffic": [{"kind": "bulk", "flows": 2, "from": "client", "to": "server"}]}
    found, wanted = (
        each(Scenario.of(whole)).summary
        for each in (partial(lab.virtual.run, gate=guest_gate), run)
    )
    for name in ("sent_packets", "capacity_bps"):
        one, other = (each["links"]["wire"][name] for each in (found, wanted))
        assert one == pytest.approx(other, rel=0.002), name
    linux, model = found["classes"]["cbr"], wanted["classes"]["cbr"]
    # 2750 datagrams, of which 2 % are lost: within four standard deviations of each other's mean.
    lost = found["links"]["wire"]["wire_lost"]
    assert abs(lost - 55) < 30 and linux["dropped"] == pytest.approx(lost, abs=1)
    assert linux["mean_delay_ms"] == pytest.approx(model["mean_delay_ms"], rel=0.02)
    assert linux["p99_delay_ms"] == pytest.approx(model["p99_delay_ms"], rel=0.02)
    linux, model = (
        each(Scenario.of(bulk)).summary["links"]["wire"]["utilization"]
        for each in (partial(lab.virtual.run, gate=guest_gate), run)
    )
    assert linux == pytest.approx(model, rel=0.15)


def test_a_trace_of_opportunities_drives_a_gate(guest_gate: Path, tmp_path: Path) -> None:
    trace = tmp_path / "cell.trace"
    trace.write_text("".join(f"{at}\n" for at in range(2, 800, 3)) + "900\n")
    link = SCENARIO["link"][0] | {"rate": {"trace": str(trace)}}  # type: ignore[index]
    bulk = {"kind": "bulk", "from": "client", "to": "server"}
    whole = Scenario.of(SCENARIO | {"duration": "10s", "link": [link], "traffic": [bulk]})
    linux, model = (
        each(whole).summary["links"]["wire"]
        for each in (partial(lab.virtual.run, gate=guest_gate), run)
    )
    assert linux["capacity_bps"] == pytest.approx(model["capacity_bps"], rel=0.001)
    assert linux["utilization"] == pytest.approx(model["utilization"], rel=0.05)


FRONT = """
import sys
from forebay import Scenario, lab

link = {"name": "wire", "from": "client", "to": "server", "rate": "10Mbit", "delay": "10ms"}
lab.virtual.run(
    Scenario.of({"duration": "10000s", "link": [link]}),
    gate=sys.argv[1],
    programs=["server: sh -c 'sleep 9000 & sleep 9000'", "client: ping -i 0.01 server"],
)
"""


def test_of_a_killed_front_no_program_is_left(guest_gate: Path) -> None:
    words = [sys.executable, "-c", FRONT, str(guest_gate)]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as front:
        # Linux itself, its helpers and the programs, each a process of the machine.
        deadline = time.monotonic() + 120
        while (begun := len(list(guests_of(front.pid)))) < 6 and time.monotonic() < deadline:
            assert front.poll() is None
            time.sleep(0.05)
        front.kill()
    assert begun >= 6
    deadline = time.monotonic() + 60
    while (left := list(guests_of(front.pid))) and time.monotonic() < deadline:
        time.sleep(0.05)
    for each in left:
        os.kill(each, signal.SIGKILL)
    assert not left
