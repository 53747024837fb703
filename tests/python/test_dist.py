"""What `make dist` has made. `make test-dist` also installs the wheel, which takes a network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
WANTED = bool(os.environ.get("FOREBAY_DIST"))

pytestmark = pytest.mark.skipif(
    not WANTED and not (DIST / "SHA256SUMS").exists(), reason="make dist has made nothing yet"
)


def only(pattern: str) -> Path:
    found = list(DIST.glob(pattern))
    assert len(found) == 1, (pattern, found)
    return found[0]


def answer(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, env=env)


def wheels() -> list[Path]:
    return [only("*.whl"), *DIST.glob("aarch64/*.whl")]


def test_sums_are_those_of_the_files() -> None:
    done = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=DIST)
    assert done.returncode == 0
    names = {line.split()[1] for line in (DIST / "SHA256SUMS").read_text("utf-8").splitlines()}
    files = {str(path.relative_to(DIST)) for path in DIST.rglob("*") if path.is_file()}
    assert names == files - {"SHA256SUMS"}


def test_wheels_hold_the_licences_and_nothing_of_the_machine_that_built_them() -> None:
    for wheel in wheels():
        assert "-cp310-abi3-manylinux2014_" in wheel.name
        with zipfile.ZipFile(wheel) as archive:
            names = {name.rpartition("/")[2] for name in archive.namelist() if "licenses/" in name}
            assert names == {"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.md"}
            assert all(archive.read(name) for name in archive.namelist() if "licenses/" in name)
            engine = archive.read("forebay/_engine.abi3.so")
        for path in (ROOT, Path.home()):
            assert str(path).encode() not in engine


def check_binary(binary: bytes, folder: Path) -> None:
    """It is for the machine whose folder it came from, and needs no newer C library than 2.17."""
    machine = int.from_bytes(binary[18:20], "little")  # e_machine of ELF
    assert machine == (183 if folder.name == "aarch64" else 62)
    assert max(int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)", binary)) <= 17


def test_the_engine_needs_no_newer_c_library_than_the_wheel_says() -> None:
    for wheel in wheels():
        with zipfile.ZipFile(wheel) as archive:
            check_binary(archive.read("forebay/_engine.abi3.so"), wheel.parent)


@pytest.mark.skipif(not WANTED, reason="downloads 150 MB: make test-dist")
def test_from_the_wheel_to_a_report_without_a_compiler(tmp_path: Path) -> None:
    start = time.monotonic()
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    there = {"PATH": str(home / "bin"), "VIRTUAL_ENV": ""}
    assert not any(shutil.which(each, path=there["PATH"]) for each in ("cargo", "rustc", "cc"))
    installed = answer(home / "bin/pip", "install", "--only-binary=:all:", only("*.whl"), **there)
    assert installed.returncode == 0, installed.stderr
    ready = time.monotonic()

    program, scenario = home / "bin/forebay", tmp_path / "home.toml"
    words = ["new", "scenario", "--template", "household", "--out", str(scenario)]
    made = answer(program, *words, **there)
    assert made.returncode == 0, made.stderr
    words = ["compare", str(scenario), "--disciplines", "fifo,codel,fq-codel,cake", "-r", "5"]
    done = answer(program, *words, "--out", str(tmp_path / "out"), **there)
    assert done.returncode == 0, done.stderr
    assert "Start with" in done.stdout
    (report,) = tmp_path.glob("out/**/report.html")
    assert "fq-codel" in report.read_text("utf-8")
    end = time.monotonic()
    print(f"installed in {ready - start:.0f} s, reported in {end - ready:.0f} s")


@pytest.mark.skipif(not WANTED or not shutil.which("cargo"), reason="compiles: make test-dist")
def test_from_the_source_distribution_where_there_is_rust(tmp_path: Path) -> None:
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    installed = answer(home / "bin/pip", "install", only("forebay-?.*.tar.gz"))
    assert installed.returncode == 0, installed.stderr
    scenario = tmp_path / "home.toml"
    words = ["new", "scenario", "--template", "household", "--out", str(scenario)]
    assert answer(home / "bin/forebay", *words).returncode == 0
    done = answer(home / "bin/forebay", "run", scenario, "--set", "duration=15s")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    with tarfile.open(only("forebay-gate-*-static.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    return folder


def test_the_static_gate_needs_no_library(unpacked: Path) -> None:
    assert answer("ldd", unpacked / "forebay-gate").stdout.strip() in ("statically linked", "")
    assert (unpacked / "THIRD-PARTY.md").stat().st_size > 10_000
    checked = answer(unpacked / "forebay-gate", "check", ROOT / "examples/gate/uplink.toml")
    assert checked.returncode == 0, checked.stderr
    assert 'kind = "fq-codel"' in checked.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_image_of_the_gate_needs_nothing_else(unpacked: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "etc/forebay").mkdir(parents=True)
    shutil.copy(unpacked / "forebay-gate", root)
    shutil.copy(ROOT / "examples/gate/uplink.toml", root / "etc/forebay/gate.toml")
    done = answer("chroot", root, "/forebay-gate", "check", "/etc/forebay/gate.toml")
    assert done.returncode == 0, done.stderr


def test_the_static_gate_refuses_plug_ins(unpacked: Path) -> None:
    file = unpacked / "plugin.toml"
    text = (ROOT / "examples/gate/uplink.toml").read_text("utf-8")
    file.write_text(f'plugins = ["{unpacked}/any.so"]\n{text}', "utf-8")
    (unpacked / "any.so").write_bytes(b"")
    done = answer(unpacked / "forebay-gate", "check", file)
    assert done.returncode == 2
    assert "a statically linked program cannot load plug-ins" in done.stderr


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="needs dpkg-deb")
def test_the_debian_package_is_whole(tmp_path: Path) -> None:
    for package in [only("*.deb"), *DIST.glob("aarch64/*.deb")]:
        root = tmp_path / package.name
        assert answer("dpkg-deb", "--extract", package, root).returncode == 0
        assert answer("dpkg-deb", "--control", package, root / "control").returncode == 0
        assert (root / "control/conffiles").read_text().split() == ["/etc/forebay/gate.toml"]
        script = (root / "control/postinst").read_text()
        assert re.search(r"systemd-sysusers .*forebay-gate\.conf", script)
        # dpkg-shlibdeps would ask for what this machine has.
        control = (root / "control/control").read_text()
        assert "libc6 (>= 2.17)" in control
        architecture = "arm64" if package.parent.name == "aarch64" else "amd64"
        assert f"Architecture: {architecture}\n" in control
        assert package.name.endswith(f"_{architecture}.deb")
        check_binary((root / "usr/bin/forebay-gate").read_bytes(), package.parent)
        for name in (
            "usr/bin/forebay-gate",
            "usr/lib/sysusers.d/forebay-gate.conf",
            "usr/share/man/man1/forebay-gate.1.gz",
            "usr/share/man/man1/forebay-gate-run.1.gz",
            "usr/share/bash-completion/completions/forebay-gate",
            "usr/share/zsh/vendor-completions/_forebay-gate",
            "usr/share/fish/vendor_completions.d/forebay-gate.fish",
            "usr/share/doc/forebay-gate/copyright",
        ):
            assert (root / name).stat().st_size > 0, name
        assert list(root.glob("usr/share/doc/forebay-gate/THIRD-PARTY.md*"))
        assert len(list(root.glob("**/systemd/system/forebay-gate.service"))) == 1
    native = tmp_path / only("*.deb").name
    checked = answer(native / "usr/bin/forebay-gate", "check", native / "etc/forebay/gate.toml")
    assert checked.returncode == 0, checked.stderr


def test_rattler_build_understands_the_conda_recipe() -> None:
    builder = pytest.importorskip("rattler_build", reason="needs requirements-release.lock")
    recipe = builder.Stage0Recipe.from_file(ROOT / "contrib/conda/recipe.yaml")
    variants = builder.VariantConfig({"python": ["3.12.*"]})
    (rendered,) = recipe.render(variants)
    (source,) = rendered.recipe.to_dict()["source"]
    assert (ROOT / "contrib/conda" / source["path"]).resolve() == only("forebay-?.*.tar.gz")
    assert len(rendered.recipe.to_dict()["tests"]) == 2


TYPED = """
import { Engine, type Progress } from "forebay";
export function share(engine: Engine, text: string): number {
  engine.begin(engine.read(text), ["queue"]);
  const state: Progress = engine.advance();
  return "share" in state ? state.share : 1;
}
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_npm_package_runs_in_node_and_has_types(tmp_path: Path) -> None:
    package = tmp_path / "node_modules/forebay"
    package.mkdir(parents=True)
    with tarfile.open(only("forebay-*.tgz")) as archive:
        for member in archive.getmembers():
            member.name = member.name.removeprefix("package/")
            archive.extract(member, package, filter="data")
    assert (package / "LICENSE-MIT").exists() and (package / "example.html").exists()
    readme = (package / "README.md").read_text("utf-8")
    program = tmp_path / "program.mjs"
    program.write_text(readme.split("```js\n")[1].split("```")[0])
    done = answer("node", program)
    assert done.returncode == 0 and "goodput_bps" in done.stdout, done.stderr
    tsc = ROOT / "tools/js/node_modules/.bin/tsc"
    words = ["--noEmit", "--strict", "--module", "nodenext", "--lib", "es2023,dom"]
    for text, fits in ((TYPED, True), (TYPED.replace('["queue"]', '"queue"'), False)):
        (tmp_path / "typed.mts").write_text(text)
        assert (answer(tsc, *words, tmp_path / "typed.mts").returncode == 0) is fits
