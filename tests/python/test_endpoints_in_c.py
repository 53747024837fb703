"""Endpoints of flows that are shared libraries in C."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import forebay
from test_plugins import ROOT, command, compiled

WINDOW = ROOT / "examples" / "plugins" / "window.c"


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as a shared library."""
    return compiled(WINDOW, tmp_path_factory.mktemp("endpoints") / "libwindow.so")


def document(library: Path, **fields: Any) -> dict[str, Any]:
    """One flow over a link of 10 Mbit/s with a queue of a round trip."""
    return {
        "plugins": [str(library)],
        "duration": "20s",
        "warmup": "5s",
        "dumbbell": {"rate": "10Mbit", "delay": "10ms", "queue": {"kind": "fifo", "limit": "20p"}},
        "traffic": [{"kind": "window", **fields}],
    }


def test_an_endpoint_in_c_fills_a_link(window: Path) -> None:
    here = forebay.Scenario.of(document(window))
    one, two, other = (forebay.run(here.with_("seed", seed)) for seed in (1, 1, 2))
    assert one.fingerprint == two.fingerprint
    found = one.summary["classes"]["window"]
    # 1200 bytes in packets of 1228; it halves its window of twice what the link holds.
    assert found["goodput_bps"] == pytest.approx(10e6 * 1200 / 1228, rel=0.02)
    queue = one.summary["queues"]["bottleneck"]
    assert 0 < queue["loss"] < 0.01 and queue["mean_packets"] > 5
    assert one.summary["plugins"][0]["file"] == str(window)
    # Nothing of it is random, and no packet meets another flow's.
    assert other.summary["classes"] == one.summary["classes"]
    gentle = forebay.run(here.with_("traffic", [{"kind": "window", "decrease": 0.9}]))
    assert gentle.summary["queues"]["bottleneck"]["mean_packets"] > queue["mean_packets"] + 2


def test_an_endpoint_in_c_is_a_kind_for_every_command(window: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps(document(window, stop="10s") | {"duration": "12s"}))
    compared = command("compare", scenario, "--disciplines", "fifo,codel", "-r", "2")
    assert compared.returncode == 0, compared.stderr
    # An endpoint counts as a transfer: it is judged by its goodput, and no open loop.
    assert "window by goodput" in compared.stdout and "open loop" not in compared.stdout
    shown = command("--plugin", window, "kinds", "window")
    assert "decrease" in shown.stdout and "What is left of the window" in shown.stdout
    checked = command("kinds", "--check", window)
    assert checked.returncode == 2 and "contains no discipline" in checked.stderr
    for field, said in [("decrease=2", "must be at most 1"), ("size=1", 'unknown field "size"')]:
        traffic = f'traffic=[{{kind = "window", {field}}}]'
        refused = command("run", scenario, "--set", traffic)
        assert refused.returncode == 2 and said in refused.stderr, refused.stderr


FAULTLESS = ".on_timeout = on_timeout,"
FAULTS = [
    ("return DATAGRAM;", "return (intptr_t)size + 1;", "transmit returned 65536; at most 65535"),
    ("return DATAGRAM;", "return -7;", "transmit returned -7; at most 65535 bytes fit"),
    ("return DATAGRAM;", "return -1;", "it failed, without saying why"),
    ("return DATAGRAM;", "*ecn = 9; return DATAGRAM;", "set ECN codepoint 9, and 3 is the last"),
    ("return DATAGRAM;", "return 65535;", "more than an IP packet holds"),
    ("|| end->next - end->oldest == MOST", "&& now > 1", "does not wait for time to pass"),
    ("end->sends ? end->waits_since + PATIENCE : FOREBAY_IDLE", "0", "does not wait for time"),
    ("if (length < sizeof number) return;", "exit(0);", "its handle ended the process"),
    ("if (length < sizeof number) return;", "for (;;) sleep(1);", "its handle does not return"),
    (".on_timeout = on_timeout,", "", 'endpoint "window" has no function `on_timeout`'),
    (".handle = handle,", "", 'endpoint "window" has no function `handle`'),
    (".summary =", ".data =", "an endpoint without name, summary or source"),
    ('.name = "window"', '.name = "a window"', 'an endpoint cannot be called "a window"'),
    (".version = FOREBAY_VERSION", ".version = 2 << 16", "it speaks version 2.0"),
    ("= sizeof(ForebayEndpoint)", "= 8", "its struct has 8 bytes, and version 1.0 has 136"),
    ('\\"default\\": 0.5', '\\"default\\": 2', "its schema: property"),
    ("index == 0 ? &WINDOW : NULL", "(void)index, NULL", "no discipline and no endpoint"),
    ("end->sends = sends;", 'snprintf(error, size, "decrease: is odd"); return NULL;', "is odd"),
    (FAULTLESS, f"{FAULTLESS} .fault = says,", ": nothing works"),
    (FAULTLESS, f"{FAULTLESS} .fault = says_otherwise,", ": l\N{REPLACEMENT CHARACTER}uft nicht"),
    (FAULTLESS, f"{FAULTLESS} .fault = quits,", "its fault ended the process"),
    (FAULTLESS, f"{FAULTLESS} .fault = hangs,", "its fault does not return"),
    (".destroy = destroy,", ".destroy = leaves,", "its destroy ended the process"),
    (".headers = 28,", ".headers = 65535,", "its headers have 65535 bytes"),
]
HELPERS = r"""
static const char *says(const void *state) { (void)state; return "nothing works"; }
static const char *says_otherwise(const void *state) { (void)state; return "l\xe4uft nicht"; }
static const char *quits(const void *state) { (void)state; exit(0); return NULL; }
static const char *hangs(const void *state) { (void)state; for (;;) sleep(1); return NULL; }
static void leaves(void *state) { (void)state; exit(0); }
static const ForebayEndpoint"""


@pytest.mark.parametrize(("whole", "broken", "said"), FAULTS)
def test_an_endpoint_in_c_that_does_what_it_may_not_is_named(
    whole: str, broken: str, said: str, tmp_path: Path
) -> None:
    text = WINDOW.read_text("utf-8")
    assert text.count(whole) == 1, whole
    text = text.replace("static const ForebayEndpoint", HELPERS, 1)
    text = f"#include <unistd.h>\n{text}"  # for sleep
    source = tmp_path / "broken.c"
    source.write_text(text.replace(whole, broken), "utf-8")
    quiet = ["-Wno-unused-function", "-Wno-unused-variable", "-Wno-unused-const-variable"]
    library = compiled(source, tmp_path / "libbroken.so", *quiet, "-Wno-unused-parameter")
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps(document(library)))
    found = command("run", scenario)
    assert found.returncode == 2 and said in found.stderr, found.stderr
    (line,) = [line for line in found.stderr.splitlines() if said in line]
    place = (
        str(library),
        "the sending endpoint of flow 0 at 0.",
        "scenario.json: traffic[0].decrease",
    )
    assert line.startswith("error: ") and any(each in line for each in place)
