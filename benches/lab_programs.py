"""Programs of Linux in the virtual lab: each pair run twice, and iperf3 beside our own sender.

    .venv/bin/python benches/lab_programs.py bytes      # 20 pairs twice, are all bytes equal?
    .venv/bin/python benches/lab_programs.py iperf3     # goodput of iperf3 and of `forebay run`
    .venv/bin/python benches/lab_programs.py quinn      # quinn on tokio, and the source `quic`

The programs are Debian's: apt-get install --no-install-recommends nginx-light openssh-server
openssh-client wget socat netcat-openbsd bind9-dnsutils dnsmasq-base rsync git redis-server
redis-tools openssl apache2-utils wrk lighttpd memcached mosquitto mosquitto-clients iputils-ping
traceroute nghttp2-client nghttp2-server iperf3 curl

quinn is built from benches/quinn. The part `quinn` needs an engine with the source `quic`:
.venv/bin/maturin develop --release --features quic
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from forebay import Result, Scenario, _engine, lab, run

HERE = Path(__file__).parent
KEPT = HERE.parent / "docs" / "lab" / "programs.json"
CERTIFICATE = (
    "openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -days 30 -subj /CN=server 2>&1"
)
QUINN = HERE.parent / "target" / "quinn" / "release" / "quinn-bulk"
BIG = "head -c 2000000 /dev/zero >/tmp/big"
PAIRS: dict[str, list[str]] = {
    "iperf3": ["server: iperf3 -s", "client: iperf3 -c server -t 5"],
    "iperf3 -u": ["server: iperf3 -s", "client: iperf3 -u -b 5M -c server -t 5"],
    "curl, python": [
        f"server: sh -c '{BIG}; cd /tmp; exec python3 -m http.server 80'",
        "client: curl -sv -o page http://server/big",
    ],
    "curl, nginx": [
        f"server: sh -c '{BIG}; mv /tmp/big /var/www/html; exec nginx'",
        "client: curl -sv -o page http://server/big",
    ],
    "wget, lighttpd": [
        f'server: sh -c \'{BIG}; echo server.document-root=\\"/tmp\\" >/tmp/l; '
        "exec lighttpd -D -f /tmp/l'",
        "client: wget -O page http://server/big",
    ],
    "ab, nginx": ["server: nginx", "client: ab -n 200 -c 10 http://server/"],
    "wrk, nginx": ["server: nginx", "client: wrk -t 1 -c 10 -d 2s --latency http://server/"],
    "h2load, nghttpd": [
        f"server: sh -c '{BIG}; exec nghttpd --no-tls -d /tmp 80'",
        "client: h2load -n 3 -c 2 http://server/big",
    ],
    "openssl s_client": [
        f"server: sh -c 'cd /tmp; {CERTIFICATE}; exec openssl s_server "
        "-accept 443 -key k -cert c -www'",
        'client: sh -c \'sleep 1; printf "GET / HTTP/1.0\\r\\n\\r\\n" | '
        "openssl s_client -connect server:443 -ign_eof'",
    ],
    "ssh": [
        'server: sh -c \'ssh-keygen -q -t ed25519 -N "" -f /tmp/host; '
        "mkdir -p /root/.ssh; chmod 700 /root/.ssh; "
        "{ while ! nc -l -p 9 >/root/.ssh/authorized_keys; do :; done; } & "
        "exec /usr/sbin/sshd -D -e -o StrictModes=no -h /tmp/host'",
        'client: sh -c \'ssh-keygen -q -t ed25519 -N "" -f /tmp/key; '
        "nc -N server 9 </tmp/key.pub; sleep 1; "
        'ssh -i /tmp/key -o StrictHostKeyChecking=no root@server "hostname; seq 2000"\'',
    ],
    "socat": [
        "server: socat TCP-LISTEN:7,fork,reuseaddr EXEC:cat",
        "client: sh -c 'seq 20000 | socat -t 2 - TCP:server:7'",
    ],
    "netcat": ["server: nc -l -p 9", f"client: sh -c '{BIG}; nc -N server 9 </tmp/big'"],
    "quinn, Linux 6.12": [f"server: {QUINN} receive", f"client: {QUINN} send server cubic 5"],
    "iperf3, Linux 6.12": ["server: iperf3 -s", "client: iperf3 -c server -t 5"],
    "quinn, BBR": [f"server: {QUINN} receive", f"client: {QUINN} send server bbr 5"],
    "iperf3, BBR": ["server: iperf3 -s", "client: iperf3 -C bbr -c server -t 5"],
    "ping": ["client: ping -c 5 -i 0.3 server"],
    "traceroute": ["client: traceroute -n server"],
    "dig, dnsmasq": [
        "server: dnsmasq -k --no-resolv --no-hosts --address=/example.test/192.0.2.7 -u root",
        "client: dig @server example.test",
    ],
    "rsync": [
        f'server: sh -c \'{BIG}; printf "[t]\\npath=/tmp\\nuse chroot=no\\n" >/tmp/r; '
        "exec rsync --daemon --no-detach --config=/tmp/r'",
        "client: rsync -av rsync://server/t/big got",
    ],
    "git": [
        "server: sh -c 'mkdir /tmp/r; cd /tmp/r; git init -q; git config user.email a@b; "
        "git config user.name a; seq 50000 >f; git add f; git commit -qm one; "
        "exec git daemon --export-all --base-path=/tmp'",
        "client: sh -c 'sleep 1; git clone git://server/r r; git -C r log'",
    ],
    "redis": [
        'server: redis-server --protected-mode no --save ""',
        "client: redis-benchmark -h server -n 500 -c 5 -t set,get",
    ],
    "memcached": [
        "server: memcached -u root",
        'client: sh -c \'printf "set k 0 0 5\\r\\nhello\\r\\nget k\\r\\nquit\\r\\n" | '
        "nc -N server 11211'",
    ],
    "mosquitto": [
        'server: sh -c \'printf "listener 1883\\nallow_anonymous true\\n" >/tmp/m; '
        "exec mosquitto -c /tmp/m'",
        "server: mosquitto_sub -h server -t t -C 1",
        "client: mosquitto_pub -h server -t t -m hello",
    ],
}
WIRE = {
    "name": "wire",
    "from": "client",
    "to": "server",
    "rate": "10Mbit",
    "delay": "10ms",
    "queue": {"kind": "fq-codel"},
}


def scenario(**changes: Any) -> Scenario:
    """The link with some fields changed."""
    whole = {"title": "programs", "duration": "10s", "tcp": {"preset": "linux"}}
    return Scenario.of(whole | {"link": [WIRE | changes]})


def twice(name: str) -> dict[str, Any]:
    """A pair of programs run twice beside each other."""
    kernel = lab.virtual.find(version="6.12" if name.endswith("6.12") else "6.1")
    with TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        waits = [
            pool.submit(
                lab.virtual.run,
                scenario(),
                seed=1,
                programs=PAIRS[name],
                kernel=kernel,
                captures=Path(folder, number),
            )
            for number in ("one", "two")
        ]
        one, two = (each.result() for each in waits)
        captures = [
            {each.name: each.read_bytes() for each in sorted(Path(folder, number).glob("*/*.pcap"))}
            for number in ("one", "two")
        ]
    different = [key for key in one.files if one.files[key] != two.files.get(key)]
    different += [key for key in captures[0] if captures[0][key] != captures[1].get(key)]
    if one.summary != two.summary:
        different.append("summary")
    return {
        "programs": name,
        "exit_codes": [each["exit_code"] for each in one.summary["programs"]],
        "stopped": [each["stopped"] for each in one.summary["programs"]],
        "packets": one.summary["links"]["wire"]["sent_packets"]
        + one.summary["links"]["wire-reverse"]["sent_packets"],
        "output_bytes": sum(map(len, one.files.values())),
        "differ": different,
        "tail": said(one),
    }


def said(result: Result) -> str:
    """The end of what the last program said."""
    number = len(result.summary["programs"])
    texts = [text for name, text in result.files.items() if name.startswith(f"programs/{number}-")]
    return b"".join(texts)[-300:].decode("utf-8", "replace")


CASES = [
    (rate, delay, congestion)
    for congestion in ("cubic", "new-reno")
    for rate, delay in (
        ("2Mbit", "10ms"),
        ("10Mbit", "2ms"),
        ("10Mbit", "40ms"),
        ("50Mbit", "10ms"),
    )
]


def iperf3(rate: str, delay: str, congestion: str) -> dict[str, Any]:
    """What iperf3 gets after 5 s of start, and what our sender gets in the simulation."""
    queue = {"kind": "fq-codel"}
    seconds = 30
    base = scenario(rate=rate, delay=delay, queue=queue).with_all(
        {"duration": f"{seconds + 6}s", "tcp.congestion": congestion}
    )
    programs = [
        "server: iperf3 -s",
        f"client: iperf3 -c server -t {seconds} -O 5 -J",
    ]
    found = lab.virtual.run(base, seed=1, programs=programs)
    report = json.loads(found.files["programs/2-client.stdout"])
    linux = report["end"]["sum_received"]["bits_per_second"]
    bulk = {"kind": "bulk", "from": "client", "to": "server"}
    ours = run(
        base.with_all({"traffic": [bulk], "warmup": "5s", "duration": f"{seconds + 5}s"}), seed=1
    )
    model = ours.summary["classes"]["bulk"]["goodput_bps"]
    return {
        "rate": rate,
        "delay": delay,
        "congestion": congestion,
        "iperf3_bps": linux,
        "forebay_bps": model,
        "difference": linux / model - 1,
    }


def link(rate: str, delay: str, queue: str, **fields: Any) -> dict[str, Any]:
    """Fields of the link, with a queue as on the command line."""
    kind, _, limit = queue.partition(":")
    own = {"kind": kind} | ({"limit": limit} if limit else {})
    return {"rate": rate, "delay": delay, "queue": own, **fields}


CASES_OF_QUINN = [
    ("cubic", link("2Mbit", "20ms", "fifo:50p")),
    ("cubic", link("10Mbit", "10ms", "fifo:50p")),
    ("cubic", link("10Mbit", "40ms", "fifo:25p")),
    ("cubic", link("50Mbit", "10ms", "fifo:150p")),
    ("cubic", link("10Mbit", "20ms", "codel")),
    ("cubic", link("20Mbit", "10ms", "fq-codel")),
    ("cubic", link("10Mbit", "20ms", "fifo:100p", loss=0.005)),
    ("new-reno", link("10Mbit", "10ms", "fifo:50p")),
    ("new-reno", link("20Mbit", "20ms", "fq-codel")),
    ("new-reno", link("10Mbit", "20ms", "pie")),
]
ALONE = (CASES_OF_QUINN[1], CASES_OF_QUINN[4])
WARMUP_S, MEASURED_S = 10, 60


def build_quinn() -> None:
    """Build the program in benches/quinn."""
    words = ["cargo", "build", "--release", "--locked", "--target-dir", str(QUINN.parents[1])]
    subprocess.run([*words, "--manifest-path", HERE / "quinn" / "Cargo.toml"], check=True)


def quinn(control: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Sockets, timers and TLS of quinn in the lab, and its protocol in the engine.

    "alone" is quinn without segmentation offload, with the first seed.
    """
    end = WARMUP_S + MEASURED_S
    base = scenario(**fields).with_all({"duration": f"{end}s", "warmup": f"{WARMUP_S}s"})
    source = {"kind": "quic", "from": "client", "to": "server", "congestion": f"quinn-{control}"}

    def real(seed: int, *words: str) -> dict[str, float]:
        send = f"client: {QUINN} send server {' '.join([control, str(end + 1), *words])}"
        result = lab.virtual.run(base, seed=seed, programs=[f"server: {QUINN} receive", send])
        lines = result.files["programs/1-server.stdout"].decode().split("\n")
        marks = [(int(time) * 1e-9, int(size)) for time, size in map(str.split, lines[:-1])]
        return at_wire(result, 8 * rate_of(marks))

    def model(seed: int) -> dict[str, float]:
        result = run(base.with_("traffic", [source]), seed=seed)
        return at_wire(result, result.summary["classes"]["quic"]["goodput_bps"])

    # What is lost at random differs more from seed to seed.
    seeds = range(1, 7 if "loss" in fields else 3)
    found = {"quinn": list(map(real, seeds)), "forebay": list(map(model, seeds))}
    if (control, fields) in ALONE:
        found["alone"] = [real(1, "one-by-one")]
    return {"congestion": control, "link": fields, **found}


def rate_of(marks: list[tuple[float, int]]) -> float:
    """Bytes a second from the end of the warm-up on, of times and bytes so far."""
    zero = datetime(2026, 1, 1, tzinfo=timezone.utc).timestamp()
    begin = min(marks, key=lambda mark: abs(mark[0] - zero - WARMUP_S))
    end = marks[-1]
    return (end[1] - begin[1]) / (end[0] - begin[0])


def at_wire(result: Result, goodput_bps: float) -> dict[str, float]:
    """The measures that are compared."""
    queue = result.summary["queues"]["wire"]
    return {"goodput_bps": goodput_bps, **{key: queue[key] for key in ("mean_delay_ms", "loss")}}


def main() -> int:
    """Measure one part, and keep it."""
    part, *names = sys.argv[1:]
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    if part == "bytes":
        rows = {row["programs"]: row for row in kept.get("bytes", [])}
        build_quinn()
        for name in names or PAIRS:
            rows[name] = {"version": _engine.version, **twice(name)}
            print(json.dumps(rows[name]), flush=True)
            kept["bytes"] = [rows[each] for each in PAIRS if each in rows]
            KEPT.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    if part == "iperf3":
        kept["iperf3"] = []
        for case in CASES:
            kept["iperf3"].append({"version": _engine.version, **iperf3(*case)})
            print(json.dumps(kept["iperf3"][-1]), flush=True)
            KEPT.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    if part == "quinn":
        build_quinn()
        known = {(row["congestion"], str(row["link"])): row for row in kept.get("quinn", [])}
        for number in map(int, names or range(len(CASES_OF_QUINN))):
            control, fields = CASES_OF_QUINN[number]
            row = {"version": _engine.version, **quinn(control, fields)}
            known[control, str(fields)] = row
            print(json.dumps(row), flush=True)
            keys = [(control, str(fields)) for control, fields in CASES_OF_QUINN]
            kept["quinn"] = [known[key] for key in keys if key in known]
            KEPT.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
