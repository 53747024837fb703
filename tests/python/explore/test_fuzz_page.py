"""Whatever a page sends, the stage stays whole: it answers, and `reset` brings all back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from explore.driven import SCENARIO, Tab, looked, staged
from explore.messages import CANARY, messages, texts
from forebay._engine import ScenarioError
from forebay._explore import protocol, results
from forebay._explore.stage import Stage
from fuzzing import fuzz

SHORT = {**SCENARIO, "duration": "200ms"}


def test_every_text_is_a_command_or_a_clear_error() -> None:
    def understood(text: str) -> None:
        try:
            command = protocol.command(text)
        except ValueError as error:
            assert isinstance(error, ScenarioError) and str(error)
        else:
            assert json.loads(text)["type"] == command.type

    fuzz(understood, texts)


def state(stage: Stage) -> tuple[set[int], int]:
    """The instants of all lanes, and how many there are."""
    instants = stage.instants()
    return set(instants), len(instants)


def test_no_message_breaks_the_stage(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / CANARY).write_text("CANARY")

    def sent(stage: Stage, tab: Tab, message: dict[str, Any]) -> None:
        try:
            command = protocol.command(json.dumps(message))
        except ValueError:
            return
        if command.type == "save":
            results.Results(stage, "").takes(tab.client, command, lambda: None)
        else:
            tab.said.clear()
            tab.ask(**{"type_" if key == "type" else key: message[key] for key in message})
        instants, lanes = looked(stage, tab, lambda: state(stage))
        # While it plays, lanes are advanced one after the other, but not between two things.
        assert len(instants) == 1
        assert not any("this failed" in said or "CANARY" in said for said in tab.said), tab.said
        assert len(tab.shown["lanes"]) == lanes

    def whole(several: list[dict[str, Any]]) -> None:
        with staged(SHORT, str(tmp_path)) as stage:
            tab, other = Tab(stage), Tab(stage)
            for message in several:
                sent(stage, tab, message)
            assert tab.ask("reset") == []
            assert looked(stage, tab, lambda: state(stage))[0] == {0}
            assert tab.shown["changes"] == other.shown["changes"] == []
            assert tab.ask("seek", at_ns=150_000_000) == []
        for file in tmp_path.iterdir():
            assert file.name == CANARY or file.suffix == ".toml", file
            if file.name != CANARY:
                file.unlink()
        assert capfd.readouterr().err == ""

    # Scenarios of stories are saved where the command runs.
    monkeypatch.chdir(tmp_path)
    fuzz(whole, st.lists(messages, min_size=1, max_size=8))
