"""Plug-ins: named in scenarios and on the command line, checked, identified, and at fault."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import forebay
from forebay import _engine, _new_crate, _written, lab, sweep
from forebay import _scenario as scenario
from forebay._advice import gate as gates
from forebay._suite import catalogue, run
from kept_sources import kept
from small_study import study
from test_embedding import HAS_NS3, compiled_module, said, standing_queue
from test_lab import gate as gate  # a fixture

ROOT = Path(__file__).parents[2]
FOREBAY = Path(sys.executable).parent / "forebay"
BLUE = ROOT / "examples" / "plugins" / "blue.c"


def compiled(source: Path, to: Path, *more: str) -> Path:
    """The shared library of a plug-in in C, with more options of the compiler."""
    include = ROOT / "crates" / "abi" / "include"
    strict = ["-Wall", "-Wextra", "-Werror"]
    options = ["-std=c11", *strict, "-shared", "-fPIC", "-O2", "-I", str(include)]
    words = ["cc", *options, *more, "-o", str(to), str(source)]
    subprocess.run(words, check=True)
    return to


@pytest.fixture(scope="module")
def blue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """BLUE as a shared library."""
    return compiled(BLUE, tmp_path_factory.mktemp("plugins") / "libblue.so")


def test_the_example_in_c_tests_itself_by_numbers(tmp_path: Path) -> None:
    program, source = tmp_path / "blue_test", BLUE.with_name("blue_test.c")
    include = ROOT / "crates" / "abi" / "include"
    words = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", include, "-o", program, source]
    subprocess.run(["cc", *map(str, words)], check=True)
    subprocess.run([program], check=True)


def document(**more: Any) -> dict[str, Any]:
    """A congested link."""
    return {
        "duration": "5s",
        "dumbbell": {"rate": "5Mbit", "delay": "10ms", "queue": {"kind": "blue", "limit": 50}},
        "traffic": [{"kind": "bulk", "flows": 4}],
    } | more


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    return subprocess.run([FOREBAY, *map(str, words)], capture_output=True, text=True)


def test_a_scenario_names_its_plugins(blue: Path) -> None:
    here = forebay.Scenario.of(document(plugins=[blue.name]), base=str(blue.parent))
    summary = forebay.run(here).summary
    (plugin,) = summary["plugins"]
    assert plugin["file"] == blue.name and len(plugin["sha256"]) == 64
    queue = summary["queues"]["bottleneck"]
    assert queue["kind"] == "blue" and queue["dropped"] > 0
    assert "drop_probability" in queue["variables"]
    assert forebay.run(here).fingerprint == forebay.run(here).fingerprint
    # Its defaults are filled in, and its effective form runs.
    effective = here.effective()
    assert effective["dumbbell"]["queue"]["increment"] == 0.02
    with pytest.raises(forebay.ScenarioError, match='unknown kind "blue"'):
        forebay.Scenario.of(document()).effective()
    with pytest.raises(forebay.ScenarioError, match=r"plugins\[0\]: plug-in .*nothing\.so"):
        forebay.Scenario.of(document(plugins=["nothing.so"])).effective()
    with pytest.raises(forebay.ScenarioError, match=r'there is another kind "blue"'):
        forebay.Scenario.of(document(plugins=[str(blue), str(blue)])).effective()


def test_a_gate_s_file_names_them_by_their_whole_paths(blue: Path, tmp_path: Path) -> None:
    here = forebay.Scenario.of(document(plugins=[blue.name]), base=str(blue.parent))
    compared = forebay.compare(here, disciplines=["blue"], replications=1)
    (tmp_path / "gate.toml").write_text(gates.configuration(compared, "blue"))
    found = _written.load(tmp_path / "gate.toml")
    assert found["plugins"] == [str(blue.resolve())]
    assert found["link"]["queue"]["kind"] == "blue"


def test_the_content_of_a_plugin_is_part_of_the_identity(blue: Path, tmp_path: Path) -> None:
    text = BLUE.read_text().replace("drops more after each overflow", "other words")
    changed = tmp_path / "blue.c"
    changed.write_text(text)
    other = compiled(changed, tmp_path / "libblue.so")

    def identity(path: Path) -> str:
        scenario = document(plugins=["libblue.so"])
        return _engine.identity(json.dumps(scenario), str(path.parent))

    assert identity(blue) != identity(other)
    assert identity(blue) == identity(blue)


def test_the_command_line_names_plugins(blue: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    base = document()
    base["dumbbell"]["queue"] = {"kind": "fifo"}
    scenario.write_text(json.dumps(base))
    run = command("--plugin", blue, "run", scenario, "--discipline", "blue", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["queues"]["bottleneck"]["kind"] == "blue"
    compare = command(
        *("--plugin", blue, "compare", scenario, "--disciplines", "fifo,blue"),
        *("-r", "2", "--out", tmp_path / "out"),
    )
    assert compare.returncode == 0 and "blue" in compare.stdout, compare.stderr
    kinds = command("--plugin", blue, "kinds", "blue")
    assert "freeze_time_ms" in kinds.stdout
    missing = command("--plugin", tmp_path / "libno.so", "run", scenario)
    assert missing.returncode == 2 and "libno.so" in missing.stderr


def test_the_conformance_suite_is_at_hand(blue: Path, tmp_path: Path) -> None:
    good = command("kinds", "--check", blue)
    assert (good.returncode, good.stdout) == (0, "blue: keeps every contract\n"), good.stderr
    source = tmp_path / "loses.c"
    whole = "blue->bytes += packet.len;\n    return FOREBAY_QUEUED;"
    assert whole in BLUE.read_text()
    source.write_text(
        BLUE.read_text().replace(
            whole, whole.replace("return", "if (packet.id == 7) { blue->count -= 1; }\n    return")
        )
    )
    loses = compiled(source, tmp_path / "libloses.so")
    bad = command("kinds", "--check", loses)
    assert bad.returncode == 1 and "it lost packets" in bad.stdout, bad.stdout + bad.stderr
    scenario = forebay.Scenario.of(document(plugins=[str(loses)]))
    expected = r'link "bottleneck": plug-in .*libloses\.so, discipline "blue": it lost packets'
    with pytest.raises(forebay.ScenarioError, match=expected):
        forebay.run(scenario)


def test_a_kind_with_a_name_of_forebay_does_not_pass_the_check(tmp_path: Path) -> None:
    source = tmp_path / "fifo.c"
    source.write_text(BLUE.read_text("utf-8").replace('.name = "blue"', '.name = "fifo"'))
    found = command("kinds", "--check", compiled(source, tmp_path / "libfifo.so"))
    assert found.returncode == 1
    assert found.stdout == 'fifo: there is another kind "fifo"; choose another name\n'


def test_a_call_that_does_not_return_is_named(tmp_path: Path) -> None:
    whole = "blue->bytes += packet.len;"
    waits = "if (blue->count == 9) { for (;;) { pause(); } } " + whole
    source = tmp_path / "waits.c"
    source.write_text("#include <unistd.h>\n" + BLUE.read_text().replace(whole, waits))
    library = compiled(source, tmp_path / "libwaits.so")
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps(document(plugins=[str(library)])))
    # Both at once, as each waits for seconds until it gives up.
    words = (["kinds", "--check", library], ["run", scenario])
    runs = [
        subprocess.Popen([FOREBAY, *map(str, each)], stderr=subprocess.PIPE, text=True)
        for each in words
    ]
    for each in runs:
        _, said = each.communicate(timeout=60)
        complaint = f'plug-in {library}, discipline "blue": its enqueue does not return; given up'
        assert each.returncode == 2 and complaint in said


@pytest.mark.parametrize("function", ["exit", "quick_exit"])
def test_a_plugin_that_ends_the_process_is_named(function: str, tmp_path: Path) -> None:
    whole = "blue->bytes += packet.len;"
    source = tmp_path / "ends.c"
    # Where two runs go on at a time, both end the process at the same instant.
    both = "static _Atomic int here; here++; for (long i = 0; i < 200000000 && here < 2; i++);"
    ends = f"if (blue->count == 9) {{ {both} {function}(0); }} "
    source.write_text(BLUE.read_text().replace(whole, ends + whole))
    library = compiled(source, tmp_path / "libends.so")
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps(document(plugins=[str(library)])))
    base: list[str | Path] = ["compare", scenario, "--disciplines", "blue", "-r", "4", "-j", "2"]
    ways: list[list[str | Path]] = [["run", scenario], [*base, "--out", tmp_path / "out"]]
    for each in ways:
        found = command(*each)
        complaint = f'error: plug-in {library}, discipline "blue": its enqueue ended the process'
        assert found.returncode == 2 and complaint in found.stderr, found.stderr


def test_a_plugin_that_ends_the_process_when_it_is_loaded_is_named(tmp_path: Path) -> None:
    source = tmp_path / "early.c"
    ends = "__attribute__((constructor)) static void ends(void) { exit(0); }\n"
    source.write_text(BLUE.read_text() + ends)
    library = compiled(source, tmp_path / "libearly.so")
    found = command("kinds", "--check", library)
    complaint = f"error: plug-in {library}: its loading ended the process"
    assert found.returncode == 2 and complaint in found.stderr, found.stderr


@pytest.fixture
def named(blue: Path) -> Iterator[None]:
    """BLUE, named as by `forebay --plugin`."""
    scenario.plugins[:] = [str(blue)]
    yield
    scenario.plugins.clear()


@pytest.mark.usefixtures("named")
def test_a_sweep_knows_plugins(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep.run(study(tmp_path, disciplines=["fifo", "blue"], replications=1), out)
    found = sweep.results(out)
    assert sorted(found.runs["discipline"].unique()) == ["blue", "fifo"]
    assert found.runs["queues.up.variables.drop_probability.mean"].drop_nulls().len() == 2


@pytest.mark.usefixtures("named")
def test_a_suite_knows_plugins(tmp_path: Path) -> None:
    whole = catalogue.load("rfc7928", ["fifo", "blue"], quick=True)
    [test] = (test for test in whole.tests if test.name == "8.2.6-varying-capacity")
    one = dataclasses.replace(whole, tests=(test,))
    run.run(one, tmp_path / "out")
    # The buffer of the test, in packets, is the limit that BLUE counts in packets.
    limits = {queue["limit"] for _, queue in test.study.disciplines if queue}
    assert limits == {"833p"}
    runs = sweep.results(tmp_path / "out" / test.name).runs
    assert set(runs["discipline"]) == {"fifo", "blue"}


@pytest.mark.usefixtures("named")
def test_a_suite_of_requirements_judges_plugins(tmp_path: Path) -> None:
    whole = catalogue.load("l4s", ["blue"], quick=True)
    [test] = (test for test in whole.tests if test.name == "14-small-windows")
    one = dataclasses.replace(whole, tests=(test,))
    run.run(one, tmp_path / "out")
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    delay, dropped, fairness = (each["queues"]["blue"] for each in found["checks"])
    # BLUE keeps no millisecond, marks what may be marked, and is judged by it.
    assert delay["verdict"] == "does not hold" and fairness["verdict"] == "not judged"
    assert dropped["verdict"] in ("holds", "does not hold")


def test_the_lab_and_its_gates_know_plugins(gate: Path, blue: Path) -> None:
    base = document(duration="2s", plugins=[str(blue)])
    summary = lab.run(forebay.Scenario.of(base), gate=gate).summary
    queue = summary["queues"]["bottleneck"]
    assert queue["kind"] == "blue" and queue["max_packets"] <= 50
    assert summary["links"]["bottleneck"]["sent_packets"] > 100


def test_a_new_discipline_is_refused_with_the_reason(tmp_path: Path) -> None:
    def refused(*words: str | Path) -> str:
        done = command("new", "discipline", *words, "--in", tmp_path)
        assert done.returncode == 2, done.stdout
        return done.stderr

    assert "small letters" in refused("My AQM", "--source", ROOT)
    assert "has no forebay-abi-VERSION.crate" in refused("my-aqm", "--source", tmp_path)
    for name in ("abi", "conformance", "core", "disciplines", "plugin"):
        (tmp_path / f"forebay-{name}-0.1.0.crate").write_bytes(b"no archive")
    assert "is not a packed crate" in refused("my-aqm", "--source", tmp_path)
    (tmp_path / "forebay-abi-0.2.0.crate").touch()
    assert "has several forebay-abi-VERSION.crate" in refused("my-aqm", "--source", tmp_path)
    # In the source tree it is built on that.
    made = command("new", "discipline", "my-aqm", "--in", tmp_path, "--source", ROOT)
    assert made.returncode == 0, made.stderr
    manifest = (tmp_path / "my-aqm" / "Cargo.toml").read_text()
    (path,) = re.findall(r'^forebay-plugin = \{ path = "(.*)" \}$', manifest, re.M)
    assert (tmp_path / "my-aqm" / path / "Cargo.toml").samefile(ROOT / "crates/plugin/Cargo.toml")
    assert "exists" in refused("my-aqm", "--source", ROOT)


BUILT = ROOT / "target" / "new-crate"
"""Kept from one time to the next: what new crates depend on is the larger part."""


def cargo(where: Path, *words: str | Path) -> str:
    environment = {
        "CARGO_NET_OFFLINE": "true",
        "CARGO_TARGET_DIR": str(BUILT),
        "CARGO_PROFILE_DEV_DEBUG": "0",
    }
    done = subprocess.run(
        ["cargo", *map(str, words)],
        cwd=where,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def packed(folder: Path, crates: Sequence[str]) -> Path:
    """The folder of these crates of forebay, packed."""
    options: list[str | Path] = ["--locked", "--no-verify", "--allow-dirty"]
    options += ["--target-dir", folder / "packages"]
    cargo(ROOT, "package", *options, *(f"--package=forebay-{each}" for each in crates))
    return folder / "packages" / "package"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs Rust")
def test_a_new_endpoint_runs_in_its_world_with_packed_crates_alone(tmp_path: Path) -> None:
    kind = _new_crate.ENDPOINT
    # That of tests is packed beside them.
    packages = packed(tmp_path, [kind.base, *kind.parts, "conformance"])
    made = command("new", "endpoint", "my-protocol", "--in", tmp_path, "--source", packages)
    assert made.returncode == 0, made.stderr
    crate = kept(tmp_path / "my-protocol", ROOT / "target" / "new-endpoint")
    texts = (path.read_bytes() for path in crate.rglob("*") if path.is_file())
    assert not any(str(ROOT).encode() in text for text in texts)
    assert "4 passed" in cargo(crate, "test")
    # What breaks the protocol fails its tests: a control that never gives way fills the queue.
    source = crate / "src" / "lib.rs"
    text = source.read_text()
    assert "(self.window / 2)" in text
    source.write_text(text.replace("(self.window / 2)", "(self.window)"))
    with pytest.raises(AssertionError, match=r"queue_ms|mean wait"):
        cargo(crate, "test", "--test", "world")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs Rust")
def test_a_new_discipline_builds_tests_and_runs_with_packed_crates_alone(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    packages = packed(tmp_path, ["abi", "conformance", "core", "disciplines", "plugin"])
    made = command("new", "discipline", "my-aqm", "--in", tmp_path, "--source", packages)
    assert made.returncode == 0, made.stderr
    crate = kept(tmp_path / "my-aqm", ROOT / "target" / "new-discipline")
    # Nothing in it leads to the source tree.
    texts = (path.read_bytes() for path in crate.rglob("*") if path.is_file())
    assert not any(str(ROOT).encode() in text for text in texts)
    for task in ("test", "build"):
        cargo(crate, task)
    library = BUILT / "debug" / "libmy_aqm.so"
    checked = command("kinds", "--check", library)
    assert checked.stdout == "my-aqm: keeps every contract\n", checked.stderr
    text = (crate / "scenario.toml").read_text()
    (crate / "scenario.toml").write_text(text.replace("target/release/libmy_aqm.so", str(library)))
    compared = command(
        *("compare", crate / "scenario.toml", "--set", "duration=6s", "-r", "2"),
        *("--out", tmp_path / "out"),
    )
    assert compared.returncode == 0 and "my-aqm" in compared.stdout, compared.stderr
    # ns-3 hosts it, where it is installed.
    if HAS_NS3:
        standing = standing_queue(compiled_module(tmp_path), tmp_path)
        hosted = said(standing, "my-aqm", "{}", "36", str(library))
        assert re.search(r"Packets/Bytes dequeued: [1-9]\d{3} /", hosted), hosted
    # The gate shapes real packets with it; where it cannot run, this part is skipped.
    gate = request.getfixturevalue("gate")
    base = document(duration="2s", plugins=[str(library)])
    base["dumbbell"]["queue"] = {"kind": "my-aqm"}
    summary = lab.run(forebay.Scenario.of(base), gate=gate).summary
    assert summary["queues"]["bottleneck"]["kind"] == "my-aqm"
    assert summary["links"]["bottleneck"]["sent_packets"] > 100


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs Rust")
def test_an_engine_of_one_s_own_takes_the_place_of_the_package_s(tmp_path: Path) -> None:
    # With the features that `cargo test` chooses for the workspace: little is left to build.
    words = ["cargo", "build", "--locked", "--workspace", "--lib", "--tests"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shutil.copyfile(ROOT / "target/debug/libsmall_first.so", tmp_path / "small_first.abi3.so")

    def python(text: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-c", text, *map(str, words)]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    program = "import small_first; from forebay.__main__ import main; main()"
    parts = {"classify": {"kind": "size"}, "schedule": {"kind": "strict-priority"}}
    queue = parts | {"admit": {"kind": "tail-drop", "limit": "50p"}}
    scenario = tmp_path / "scenario.json"
    base = document(traffic=[{"kind": "bulk", "flows": 4}, {"kind": "voice"}])
    base["compare"] = {"disciplines": ["fifo", queue], "replications": 2}
    base["dumbbell"]["queue"] = queue
    scenario.write_text(json.dumps(base))
    # It is known, explained, has defaults and a schema, and is compared.
    explained = python(program, "kinds", "size")
    assert "Longest small packet" in explained.stdout, explained.stderr
    checked = python(program, "check", scenario, "--json")
    assert json.loads(checked.stdout)["dumbbell"]["queue"]["classify"]["small"] == 256
    assert '"small"' in python(program, "schema").stdout
    out = tmp_path / "out"
    compared = python(program, "compare", scenario, "--out", out)
    assert compared.returncode == 0 and "size" in compared.stdout, compared.stderr
    # Without it nothing has changed, and it does not come too late unheard.
    assert 'unknown kind "size"' in command("check", scenario).stderr
    late = python("import forebay._engine, small_first")
    assert "import small_first before forebay" in late.stderr
