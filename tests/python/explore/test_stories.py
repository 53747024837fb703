"""Guided stories: what they say is true of the runs that they show."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import forebay
from forebay._engine import ScenarioError
from forebay._explore import stories
from forebay._explore.stories import Claim, Step, Story
from forebay._scenario import lookup

CLAIMS = [
    pytest.param(story, step, claim, id=f"{story.name}-{number}: {claim.says}")
    for story in stories.all_stories()
    for number, step in enumerate(story.step, 1)
    for claim in step.claim
]
STEPS = [
    pytest.param(story, number, id=f"{story.name}-{number}")
    for story in stories.all_stories()
    for number in range(1, len(story.step) + 1)
]
NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")


@cache
def summary(name: str, lane: str, link: str, begin: str, end: str) -> dict[str, Any]:
    scenario = stories.load(name).run.with_("warmup", begin).with_("duration", end)
    result = forebay.run(stories.lane_scenario(scenario, json.loads(lane), link))
    return result.summary


def measured(story: Story, step: Step, claim: Claim) -> float:
    lanes = {lane["label"]: json.dumps(lane) for lane in step.lanes or story.lanes}

    def of(label: str, measure: str) -> float:
        found = summary(story.name, lanes[label], story.link, claim.from_, claim.until)
        value = lookup(found, measure)
        assert isinstance(value, int | float), measure
        return value

    value = of(claim.lane, claim.of)
    if claim.per is not None:
        value /= of(claim.lane, claim.per)
    return value * claim.scale


@pytest.mark.parametrize(("story", "step", "claim"), CLAIMS)
def test_figures_are_true(story: Story, step: Step, claim: Claim) -> None:
    assert claim.low <= measured(story, step, claim) <= claim.high


@pytest.mark.parametrize(("story", "number"), STEPS)
def test_every_figure_of_a_text_is_claimed_or_set(story: Story, number: int) -> None:
    step = story.step[number - 1]
    text = " ".join(step.text.split())
    for claim in step.claim:
        text = text.replace(claim.says, "")
    set_here = [step.at, step.until, *(f"{each.from_} {each.until}" for each in step.claim)]
    for lane in story.lanes_of(number):
        scenario = stories.lane_scenario(story.run, lane, story.link)
        set_here.append(json.dumps(scenario.effective()))
    known = set(re.findall(r"\d+(?:\.\d+)?", " ".join(set_here))) | set(step_words(story))
    assert [each for each in NUMBER.findall(text) if each not in known] == []


def step_words(story: Story) -> list[str]:
    """Shares of the parameters as percentages, and what a text calculates of what is set."""
    calculated = {
        "bufferbloat": ["24"],  # 20 packets of 1500 B at 10 Mbit/s, in ms
        "cp-aqm": ["30", "1", "1.2"],  # 45 KB in packets; a default that no lane has
        "ncq": ["5"],  # ncqthresh as a percentage
        "wred": ["10", "2000"],  # max_p as a percentage; the year
        "aspq": ["0.1"],  # the round trip with its queue, in s
    }
    return calculated.get(story.name, [])


def test_what_is_wrong_is_named_with_its_place(tmp_path: Path) -> None:
    text = (stories.HOME / "bufferbloat.toml").read_text("utf-8")
    file = tmp_path / "mine.toml"
    for wrong, words in {
        text.replace("speed = 0.3", "sped = 0.3", 1): (
            'mine.toml: step[0].sped: unknown field "sped"; did you mean speed?'
        ),
        text.replace('at = "2.9s"', 'at = "9s"', 1): 'mine.toml: step[1]: at: "9s" is not before',
        text.replace('says = "245 ms"', 'says = "244 ms"', 1): "the text does not say",
        text.replace('lane = "CoDel"', 'lane = "Codel"', 1): 'there is no lane "Codel"',
        text.replace('look = ["FIFO"]', 'look = ["LIFO"]', 1): 'no lane or series "LIFO"',
    }.items():
        assert wrong != text
        file.write_text(wrong, "utf-8")
        with pytest.raises(ScenarioError, match=re.escape(words)):
            stories.read(file)


def test_stories_are_found_by_name() -> None:
    assert len(stories.names()) == 6
    assert stories.load("wred").title == "Which packet to drop"
    with pytest.raises(ScenarioError, match="did you mean bufferbloat"):
        stories.load("buferbloat")
