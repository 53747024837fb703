"""`forebay explain`: every word that a command prints can be asked."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

import forebay
from forebay import _engine
from forebay._cli import app
from forebay._measures import MEASURES, Measure
from forebay._reference import files, words
from forebay._reference.words import Word, glossary
from forebay._terminal import GROUPS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def made_once() -> Iterator[None]:
    """The schemas, which each word would make again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "open_schema", cache(files.open_schema))
        yield


def explained(word: str) -> str:
    found = CliRunner().invoke(app, ["explain", word])
    assert found.exit_code == 0, (word, found.output)
    return found.output


@pytest.mark.parametrize("measure", MEASURES, ids=lambda each: each.key)
def test_a_measure_is_explained_by_its_key_and_by_its_names(measure: Measure) -> None:
    for word in (measure.key, measure.short, measure.title):
        assert len(explained(word).split()) > 8, word


def test_every_kind_and_every_parameter_is_explained() -> None:
    catalogue = json.loads(_engine.kinds([]))
    found = 0
    for group in GROUPS:
        for kind in catalogue[group]:
            assert kind["name"] in explained(kind["name"])
            for parameter in kind["parameters"]:
                word = f"{kind['name']}.{parameter['name']}"
                assert parameter["name"] in explained(word), word
                found += 1
    assert found > 200


@pytest.mark.parametrize("word", ["fq_codel", "FQ-CoDel", "fq_codel.target", "CAKE"])
def test_a_kind_may_be_spelled_as_elsewhere(word: str) -> None:
    assert explained(word) == explained(word.lower().replace("_", "-"))


@pytest.mark.parametrize("word", glossary(), ids=lambda each: each.names[0])
def test_a_word_of_the_glossary_is_explained(word: Word) -> None:
    for name in word.names:
        assert word.names[0] in explained(name)


def test_the_networks_of_the_confirmed_advice_can_be_run() -> None:
    files = sorted((ROOT / "examples" / "confirmed").glob("*.toml"))
    assert len(files) == 5
    for file in files:
        short = forebay.load(file).with_("duration", "3s").with_("warmup", "1s")
        assert forebay.run(short).summary["links"]
        name = file.stem
        assert re.search(rf"\b{name}\b", (ROOT / "docs" / "advice.md").read_text("utf-8")), name


def test_the_bench_of_the_advice_needs_a_kernel_before_it_begins(tmp_path: Path) -> None:
    program = (
        "import sys, runpy; from pathlib import Path; from forebay.lab.virtual import kernel; "
        f"kernel.places = lambda _version: [Path({str(tmp_path)!r})]; kernel.RUNNERS = {{}}; "
        f"runpy.run_path({str(ROOT / 'benches' / 'advice.py')!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: no kernel in") and "make virtual-linux" in done.stderr
    assert done.stdout == ""
