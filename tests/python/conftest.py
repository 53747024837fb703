"""Fixtures: a scenario file whose runs take milliseconds, and what virtual labs need."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from explore.browser import PROGRAM, browsing
from forebay.lab.errors import LabError
from forebay.lab.virtual import kernel

OFFICE = Path(__file__).parents[2] / "examples" / "office.pcap.gz"

GATE = Path(__file__).parents[2] / "target" / "debug" / "deps" / "libforebay_gate.so"
"""Built by the gate's own tests."""

SCENARIO = """\
title = "A branch office's uplink"
duration = "30s"
warmup = "5s"
seed = 5

[[link]]
name = "uplink"
from = "branch"
to = "internet"
rate = "10Mbit"
delay = "20ms"
queue = { kind = "fifo", limit = "500p" }

[[traffic]]
name = "backup"
kind = "bulk"
from = "branch"
to = "internet"
flows = 4

[[traffic]]
name = "web"
kind = "web"
from = "branch"
to = "internet"
flows = 20

[[traffic]]
name = "voice"
kind = "voice"
from = "branch"
to = "internet"
flows = 6

[[traffic]]
name = "sensors"
kind = "poisson"
from = "branch"
to = "internet"
rate = "8kbit"
flows = 10

[[traffic]]
name = "office"
kind = "pcap"
from = "branch"
to = "internet"
file = "OFFICE"

[compare]
link = "uplink"
replications = 3
disciplines = ["fifo", "codel", { label = "short codel", kind = "codel", limit = "20p" }, "ncq"]
"""


SLOW = {
    *("test_audit", "test_chart", "test_compare", "test_console", "test_cq_aqm", "test_disk"),
    *("test_dist", "test_documents", "test_embedding", "test_faults", "test_fuzz_files"),
    *("test_kernel_queues", "test_lab", "test_learning", "test_narrow", "test_notebook"),
    *("test_plugins", "test_plugins_in_python", "test_report_page", "test_results_pages"),
    *("test_suite", "test_suite_behaviour", "test_suite_requirements", "test_sweep_dask"),
    *("test_sweep_kill", "test_validate", "test_virtual_lab", "test_virtual_linux"),
    *("test_virtual_programs",),
    *("test_address", "test_advice_hints", "test_engine", "test_parts_in_python"),
    *("test_python_reference", "test_server", "test_sweep", "test_tune", "test_attack"),
    *("test_attack_suite", "test_why"),
    *("test_fuzz_page", "test_papers", "test_papers_fit", "test_suite_controls", "test_try_it"),
    *("test_fit", "test_rattan", "test_next_minor", "test_quinn", "test_source"),
}
"""Files that `make test-fast` leaves out: long runs, compilers, browsers, kernels, namespaces."""


def pytest_configure() -> None:
    # A shell has its background jobs ignore Ctrl-C, and so would all that the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    # What is imported by now stays to the end. The collector need not look through it at each turn.
    gc.collect()
    gc.freeze()


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "branch.toml"
    path.write_text(SCENARIO.replace("OFFICE", str(OFFICE)), encoding="utf-8")
    return path


@pytest.fixture
def guest_gate() -> Path:
    """The gate on a machine that can run a virtual lab; elsewhere the test is skipped."""
    try:
        kernel.found()
        if not GATE.is_file():
            raise LabError(f"{GATE} is missing; cargo test -p forebay-gate --no-run")
    except LabError as why:
        if os.environ.get("FOREBAY_CI") and any(each.exists() for each in kernel.places()):
            raise
        pytest.skip(str(why))
    return GATE


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of a process, in which there can be no second."""
    if PROGRAM is None:
        pytest.skip("there is no chromium")
    with browsing() as browser:
        yield browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a file that share a browser run in one process, where several share the tests."""
    for item in items:
        browser = "chromium" in getattr(item, "fixturenames", ())
        if browser:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        if browser or item.path.stem in SLOW:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("long") and not os.environ.get("FOREBAY_CI"):
            item.add_marker(pytest.mark.skip(reason="takes long: FOREBAY_CI=1"))
