"""The C library as it is installed: pkg-config, CMake, and the example of a host's loop."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EMBED = ROOT / "examples" / "embed"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

pytestmark = [
    pytest.mark.skipif(shutil.which("cargo") is None, reason="needs Rust"),
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux"),
    pytest.mark.xdist_group("install"),
]


def run(*words: str | Path, **more: str) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(
        [*map(str, words)], cwd=ROOT, capture_output=True, text=True, env=os.environ | more
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `make library install` has put the library, not optimised."""
    root = tmp_path_factory.mktemp("installed")
    run("make", "library", "PROFILE=dev")
    run("make", "install", "PROFILE=dev", f"PREFIX={root}")
    return root


def version() -> str:
    """Version of the C interface, which is that of the installed files."""
    header = (ROOT / "crates" / "abi" / "include" / "forebay.h").read_text()
    return ".".join(re.findall(r"^#define FOREBAY_M(?:AJ|IN)OR (\d+)$", header, re.M))


@pytest.mark.usefixtures("installed")
def test_what_is_installed_where(tmp_path: Path) -> None:
    run(
        "make",
        "install",
        "PROFILE=dev",
        "PREFIX=/opt/x",
        "LIBDIR=/opt/x/lib64",
        f"DESTDIR={tmp_path}",
    )
    staged = tmp_path / "opt" / "x"
    whole, major = version(), version().split(".")[0]
    files = {str(path.relative_to(staged)) for path in staged.rglob("*") if not path.is_dir()}
    assert files == {
        "include/forebay.h",
        "lib64/libforebay.a",
        "lib64/libforebay.so",
        f"lib64/libforebay.so.{major}",
        f"lib64/libforebay.so.{whole}",
        "lib64/pkgconfig/forebay.pc",
        "lib64/cmake/forebay/forebay-config.cmake",
        "lib64/cmake/forebay/forebay-config-version.cmake",
    }
    pc = (staged / "lib64/pkgconfig/forebay.pc").read_text()
    assert "prefix=/opt/x\n" in pc and "libdir=/opt/x/lib64\n" in pc and "@" not in pc
    config = (staged / "lib64/cmake/forebay/forebay-config.cmake").read_text()
    assert '/../../../include"' in config and "@" not in config


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="needs pkg-config")
def test_pkg_config_finds_it(installed: Path, tmp_path: Path) -> None:
    place = {"PKG_CONFIG_PATH": str(installed / "lib" / "pkgconfig")}
    assert run("pkg-config", "--modversion", "forebay", **place) == f"{version()}\n"
    flags = run("pkg-config", "--cflags", "--libs", "forebay", **place).split()
    program = tmp_path / "queue"
    run("c++", "-std=c++17", *STRICT, EMBED / "queue.cpp", *flags, "-o", program)
    # It names the library by its major version alone.
    needed = run("readelf", "-d", program) if shutil.which("readelf") else "[libforebay.so.1]"
    assert f"[libforebay.so.{version().split('.')[0]}]" in needed
    said = run(program, "codel", '{"ecn": true}', LD_LIBRARY_PATH=str(installed / "lib"))
    assert said.startswith("codel: sent 200, dropped 0")
    static = run("pkg-config", "--cflags", "--static", "--libs", "forebay", **place)
    archive = static.replace("-lforebay", str(installed / "lib" / "libforebay.a")).split()
    run("c++", "-std=c++17", EMBED / "queue.cpp", *archive, "-o", program)
    assert run(program).startswith("fifo: sent 200")


PROJECT = """\
cmake_minimum_required(VERSION 3.16)
project(embed C CXX)
find_package(forebay {version} REQUIRED)
add_executable(shared {source})
target_link_libraries(shared PRIVATE forebay::forebay)
add_executable(static {source})
target_link_libraries(static PRIVATE forebay::static)
target_compile_features(shared PRIVATE cxx_std_17)
target_compile_features(static PRIVATE cxx_std_17)
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
def test_cmake_finds_it_also_when_it_was_moved(installed: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(installed, moved, symlinks=True)
    project, build = tmp_path / "project", tmp_path / "build"
    project.mkdir()
    words: list[str | Path] = ["cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={moved}"]
    source = EMBED / "queue.cpp"
    text = PROJECT.format(version=version(), source=source)
    (project / "CMakeLists.txt").write_text(text)
    run(*words)
    run("cmake", "--build", build)
    for program in ("shared", "static"):
        assert run(build / program).startswith("fifo: sent 200")
    (project / "CMakeLists.txt").write_text(PROJECT.format(version="77.0", source=source))
    other = subprocess.run([*map(str, words)], capture_output=True, text=True)
    assert other.returncode != 0 and f"version: {version()}" in other.stderr, other.stderr


def ports() -> tuple[int, socket.socket]:
    """A port that nobody uses, and a socket on another."""
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.bind(("127.0.0.1", 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1]), here


def test_the_example_of_a_host_s_loop_shapes_datagrams(installed: Path, tmp_path: Path) -> None:
    program = tmp_path / "relay"
    library = installed / "lib" / "libforebay.a"
    include: list[str | Path] = ["-I", installed / "include"]
    libraries = ["-lm", "-lpthread", "-ldl"]
    run("cc", "-std=c11", *STRICT, *include, EMBED / "relay.c", library, *libraries, "-o", program)
    bad = subprocess.run(
        [program, "1", "2", "0", "1", "fifo", "{}"], capture_output=True, text=True
    )
    assert bad.returncode == 2 and "above 0" in bad.stderr
    # 60 packets of 1000 bytes at once: a FIFO takes 20, and sends one each 10 ms at 800 kbit/s.
    port, here = ports()
    words = [program, port, here.getsockname()[1], 800_000, 4, "fifo", '{"limit": "20p"}']
    with subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, text=True) as relay:
        assert relay.stdout is not None and relay.stdout.readline() == "ready\n"
        begun = time.monotonic()
        with here:
            for _ in range(60):
                here.sendto(bytes(972), ("127.0.0.1", port))
            here.settimeout(30)
            count = 0
            while count < 20:
                assert len(here.recv(2048)) == 972
                count += 1
            lasted = time.monotonic() - begun
            said = relay.stdout.read()
        assert relay.wait() == 0
    sent, dropped, refused = map(int, re.findall(r"\d+", said))
    assert sent >= 20 and sent + dropped == 60 and refused == 0, said
    assert lasted >= 0.19
