"""Forebay's disciplines in programs in C and C++, and in ns-3."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EMBED = ROOT / "examples" / "embed" / "queue.cpp"
CONTRIB = ROOT / "contrib" / "forebay" / "model"
STRICT = ["-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "crates" / "abi" / "include")]
NS3 = ["-I", str(CONTRIB), "-std=c++17"]
NS3_LIBRARIES = [
    f"-lns3-{name}"
    for name in (
        "applications",
        "flow-monitor",
        "internet",
        "bridge",
        "traffic-control",
        "point-to-point",
        "network",
        "stats",
        "core",
    )
]

HAS_NS3 = Path("/usr/include/ns3").is_dir()
needs_ns3 = pytest.mark.skipif(not HAS_NS3, reason="needs ns-3: apt-get install libns3-dev g++")
pytestmark = [
    pytest.mark.skipif(shutil.which("cargo") is None, reason="needs Rust"),
    pytest.mark.xdist_group("embedding"),  # compiles the module and a program once
]


@pytest.fixture(scope="module")
def library() -> Path:
    """The static library."""
    return static_library()


def static_library() -> Path:
    """The static library, as `make library` builds it, but not optimised."""
    words = ["cargo", "rustc", "--locked", "-p", "forebay-abi", "--features", "library"]
    done = subprocess.run(
        [*words, "--crate-type", "staticlib"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return ROOT / "target" / "debug" / "libforebay.a"


def compiled(*words: str | Path) -> None:
    """Compile and link."""
    done = subprocess.run(
        ["c++", *STRICT, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def said(program: Path, *words: str) -> str:
    """What a program prints; its files go to its folder."""
    done = subprocess.run(
        [program, *words], cwd=program.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_in_cpp_runs(library: Path, tmp_path: Path) -> None:
    program = tmp_path / "queue"
    compiled("-std=c++17", "-Wpedantic", EMBED, library, "-o", program)
    assert said(program) == "fifo: sent 200, dropped 0, marked 0\n"
    # Of 240 ms of packets, CoDel marks what it would drop.
    codel = said(program, "codel", '{"target": "2ms", "interval": "20ms", "ecn": true}')
    assert codel == "codel: sent 200, dropped 0, marked 37\n"
    refused = subprocess.run(
        [program, "codel", '{"targt": "2ms"}'], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2 and 'did you mean "target"?' in refused.stderr


# A link of 10 Mbit/s gets packets of 1 ms each as fast as it sends them, behind `burst` of them.
STANDING = """
#include "forebay-queue-disc.h"
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>
using namespace ns3;
int main(int count, char** words) {
    NodeContainer nodes(2);
    InternetStackHelper().Install(nodes);
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    wire.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    NetDeviceContainer devices = wire.Install(nodes);
    TrafficControlHelper helper;
    helper.SetRootQueueDisc("ns3::ForebayQueueDisc", "Kind", StringValue(words[1]),
                            "Parameters", StringValue(words[2]),
                            "Plugin", StringValue(count > 4 ? words[4] : ""));
    Ptr<QueueDisc> disc = helper.Install(devices.Get(0)).Get(0);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer ends = addresses.Assign(devices);
    Ptr<Socket> from = Socket::CreateSocket(nodes.Get(0), UdpSocketFactory::GetTypeId());
    from->Connect(InetSocketAddress(ends.GetAddress(1), 9));
    // 28 bytes of headers, and 2 of the link.
    auto send = [&] { from->Send(Create<Packet>(1220)); };
    for (int first = 0; first < std::stoi(words[3]); ++first) Simulator::Schedule(Seconds(1), send);
    for (int later = 1001; later < 3000; ++later) Simulator::Schedule(MilliSeconds(later), send);
    Simulator::Stop(Seconds(4));
    Simulator::Run();
    std::cout << disc->GetStats() << std::endl;
    Simulator::Destroy();
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Forebay's module for ns-3, compiled, and the library that it needs."""
    return compiled_module(tmp_path_factory.mktemp("module"))


def compiled_module(folder: Path) -> list[Path]:
    """Forebay's module for ns-3, compiled into a folder, and the library that it needs."""
    compiled(*NS3, "-c", CONTRIB / "forebay-queue-disc.cc", "-o", folder / "module.o")
    return [folder / "module.o", static_library()]


@pytest.fixture(scope="module")
def standing(module: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program in ns-3 with a standing queue."""
    return standing_queue(module, tmp_path_factory.mktemp("ns3"))


def standing_queue(module: list[Path], folder: Path) -> Path:
    """A program in ns-3 with a standing queue: its kind, parameters, packets, and a plug-in."""
    (folder / "standing.cc").write_text(STANDING)
    program = folder / "standing"
    compiled(*NS3, folder / "standing.cc", *module, "-o", program, *NS3_LIBRARIES)
    return program


@needs_ns3
def test_ns3_hosts_a_discipline_that_knows_how_long_packets_wait(standing: Path) -> None:
    # 36 packets wait 36 ms, a second and more after the start.
    below = said(standing, "codel", '{"target":"50ms"}', "36")
    assert "Packets/Bytes dropped: 0 / 0" in below
    above = said(standing, "codel", '{"target":"20ms"}', "36")
    assert re.search(r"dropped after dequeue: (\d+) / \d+\n  Target exceeded drop: \1 /", above), (
        above
    )


@needs_ns3
def test_ns3_counts_drops_by_its_own_reasons(standing: Path) -> None:
    full = said(standing, "fifo", '{"limit":"10p"}', "36")
    reason = "Queue disc limit exceeded"
    assert re.search(rf"dropped before enqueue: (\d+) / \d+\n  {reason}: \1 /", full), full
    pushed = said(standing, "fq-codel", '{"limit":"10p"}', "36")
    assert re.search(r"dropped after dequeue: (\d+) / \d+\n  Overlimit drop: \1 /", pushed), pushed


@needs_ns3
def test_the_program_in_the_page_for_users_of_ns3_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "coming-from-ns3.md").read_text("utf-8")
    program, _ = re.findall(r"```cpp\n(.*?)```", page, re.S)
    modules = "applications core flow-monitor internet network point-to-point traffic-control"
    includes = "".join(f"#include <ns3/{name}-module.h>\n" for name in modules.split())
    source = tmp_path / "page.cc"
    assert "Seconds(60)" in program
    text = program.replace("Seconds(60)", "Seconds(2)")
    source.write_text(f"{includes}using namespace ns3;\n{text}")
    compiled(*NS3, source, "-o", tmp_path / "page", *NS3_LIBRARIES)
    said(tmp_path / "page")


@needs_ns3
def test_the_example_of_the_module_runs(module: list[Path], tmp_path: Path) -> None:
    (tmp_path / "ns3").mkdir()
    (tmp_path / "ns3" / "forebay-queue-disc.h").symlink_to(CONTRIB / "forebay-queue-disc.h")
    example = CONTRIB.parent / "examples" / "forebay-example.cc"
    compiled(*NS3, "-I", tmp_path, example, *module, "-o", tmp_path / "example", *NS3_LIBRARIES)
    hosted = said(tmp_path / "example", "--seconds=4", "--kind=fq-codel")
    assert "Target exceeded drop" in hosted and re.search(r"call: 1\d\d packets", hosted), hosted
    own = said(tmp_path / "example", "--seconds=4", "--native=ns3::FqCoDelQueueDisc")
    assert re.search(r"call: 1\d\d packets", own), own


@needs_ns3
def test_a_plug_in_runs_in_ns3(standing: Path) -> None:
    """CoDel as a plug-in does there what the built-in one does."""
    words = ["cargo", "build", "--locked", "-p", "codel-plugin"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    library = ROOT / "target" / "debug" / "libcodel_plugin.so"
    parameters = '{"target":"20ms"}'
    plugged = said(standing, "my-codel", parameters, "36", str(library))
    assert "Target exceeded drop" in plugged
    assert plugged == said(standing, "codel", parameters, "36")

    def refused(*words: str) -> str:
        done = subprocess.run([standing, *words], capture_output=True, text=True, check=False)
        assert done.returncode != 0
        return done.stderr

    assert 'has no discipline "codle"' in refused("codle", "{}", "36", str(library))
    assert "cannot open shared object file" in refused("my-codel", "{}", "36", "nothing.so")
    assert "exports no forebay_plugin" in refused("my-codel", "{}", "36", "libm.so.6")


@needs_ns3
def test_the_dumbbell_with_a_hosted_discipline_compiles() -> None:
    source = ROOT / "benches" / "peers" / "dumbbell.cc"
    compiled(*NS3, "-DFOREBAY", "-fsyntax-only", source)
