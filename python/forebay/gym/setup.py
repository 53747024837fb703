"""From a scenario and its `[agent]` table to what the engine is told, and to spaces."""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box
from numpy.typing import NDArray

from forebay import _engine
from forebay._engine import ScenarioError
from forebay._scenario import Scenario, load, named
from forebay.tune.space import Parameter, read_parameter

_AT_LINK: dict[str, Any] = {
    "actions": {"drop_probability": "0.0001..1:log"},
    "observations": [
        "sojourn_ms",
        "backlog_packets",
        "arrival_pps",
        "departure_pps",
        "dropped",
        "marked",
    ],
    "reward": {"log_utilization": 1.0, "sojourn_ms": -0.01},
}
_AT_SENDER: dict[str, Any] = {
    "actions": {"window": "1..1000:log"},
    "observations": [
        "srtt_ms",
        "throughput_bps",
        "cwnd_packets",
        "in_flight_packets",
        "dropped",
        "marked",
    ],
    "reward": {"log_throughput": 1.0, "srtt_ms": -0.01},
}

RENDER_MODES = ["ansi"]
"""What `render` can do."""


def rendered(mode: str | None) -> str | None:
    """The render mode `mode`.

    Raises:
        ValueError: there is no such mode.
    """
    if mode is not None and mode not in RENDER_MODES:
        raise ValueError(f'render_mode: must be "ansi" or None, got {mode!r}')
    return mode


_BYTES_EACH = 20_000
"""Memory of an environment beside what its scenario needs."""

_LEAST_LOG = math.log(0.01)
"""Of less the engine takes no logarithm."""
_LINEAR = {
    "drop_share": (0.0, 1.0),
    "mark_share": (0.0, 1.0),
    "utilization": (0.0, 1.0),
    "log_utilization": (_LEAST_LOG, 0.0),
    "log_throughput": (_LEAST_LOG, math.log(1e6)),
}
"""Least and largest value of what is normalised as it is; throughput in Mbit/s."""
_MOST = {
    "ms": 1e4,
    "packets": 1e5,
    "bytes": 1e9,
    "pps": 1e8,
    "bps": 1e12,
    "dropped": 1e6,
    "marked": 1e6,
}
"""Largest value of what is normalised by its logarithm, log(1 + x), by the end of its name."""

_OWN_AT_LINK = {"drop_probability", "mark_probability"}
_OWN_AT_SENDER = {"window", "rate"}
"""Parameters of the kind and of the control `agent`: who sets no others gets these parts."""


@dataclass(frozen=True)
class Setup:
    """A scenario with an agent, all defaults filled in."""

    scenario: Scenario
    """What an episode runs, before anything is drawn."""
    agent: str
    """What the engine is told of the agent (JSON)."""
    draws: tuple[Parameter, ...]
    """What each episode draws."""
    agents: tuple[str, ...]
    """Names of the agents: that of the link, or of each flow of a traffic entry."""
    actions: tuple[str, ...]
    """Parameters that are set, in the order of the action space."""
    observations: tuple[str, ...]
    """What is seen, in the order of the observation space."""
    normalised: bool
    """Whether observations are brought to the range from 0 to 1."""

    @property
    def action_space(self) -> Space[NDArray[np.float32]]:
        """From -1 to 1 for each parameter."""
        return _floats(Box(-1.0, 1.0, (len(self.actions),), np.float32))

    @property
    def observation_space(self) -> Space[NDArray[np.float32]]:
        """What can be seen: logarithms may be negative."""
        if self.normalised:
            return _floats(Box(0.0, 1.0, (len(self.observations),), np.float32))
        low = [-np.inf if name.startswith("log_") else 0.0 for name in self.observations]
        return _floats(Box(np.array(low, np.float32), np.inf, (len(low),), np.float32))

    def acted(self, run: _engine.Episodes, action: Any, rows: int = 1) -> NDArray[np.float32]:
        """What the engine is told of an action, or of those of `rows` environments, in a row.

        Raises:
            ValueError: `run` has no episode, or the action has another number of numbers.
        """
        run.now(0)
        try:
            flat = np.asarray(action).astype(np.float32, "C", "same_kind", copy=False)
            got = f"{flat.size} numbers"
        except (TypeError, ValueError):
            flat, got = None, f"{action!r}"[:80]
        if flat is None or flat.size != rows * len(self.actions):
            each = f" in each of {rows} environments" if rows > 1 else ""
            raise ValueError(
                f"action: got {got}; give one from -1 to 1 for each of "
                f"{', '.join(self.actions)}{each}"
            )
        return flat.reshape(-1)

    def shown(self, seen: NDArray[np.float32]) -> NDArray[np.float32]:
        """What agents are shown of what the engine saw: `seen` itself unless it is normalised."""
        if not self.normalised:
            return seen
        columns = [_unit(name, seen[..., at]) for at, name in enumerate(self.observations)]
        return np.clip(np.stack(columns, axis=-1), 0.0, 1.0).astype(np.float32)

    def line(self, now_s: float, seen: NDArray[np.float32], reward: float) -> str:
        """The last step for people: simulated time, what the engine saw, and the reward."""
        values = zip(self.observations, seen.tolist(), strict=True)
        shown = ", ".join(f"{name} {value:.4g}" for name, value in values)
        return f"{now_s:.3f} s: {shown}; reward {reward:.4g}"

    def episodes(self, count: int, threads: int) -> _engine.Episodes:
        """Places for `count` runs."""
        return _engine.episodes(self.agent, count, threads)

    def draw(self, random: np.random.Generator) -> tuple[Scenario, int, dict[str, Any]]:
        """An episode's scenario, its seed, and the values that were drawn for it, by path."""
        drawn = {each.path: each.value(_drawn(each, random)) for each in self.draws}
        seed = int(random.integers(2**63))
        return self.scenario.with_all(drawn | {"seed": seed}), seed, drawn

    def begin(
        self, run: _engine.Episodes, number: int, random: np.random.Generator
    ) -> dict[str, Any]:
        """Begin an episode in a place; what is said of it."""
        scenario, seed, drawn = self.draw(random)
        with named(scenario):
            agents = run.reset(number, scenario.text, scenario.base)
        if agents != len(self.agents):
            raise ScenarioError(
                f"{scenario.name}: agent.draws: the number of agents cannot change from episode to "
                f"episode; there were {len(self.agents)}, now {agents}"
            )
        return {"seed": seed, "drawn": drawn}


def read(scenario: Scenario | str | Path) -> Scenario:
    """A scenario that may be given by its file."""
    return scenario if isinstance(scenario, Scenario) else load(scenario)


def set_up(base: Scenario, given: Mapping[str, Any], normalised: bool) -> Setup:
    """The scenario with its `[agent]` table, whose fields those that are given replace."""
    switch("normalise", normalised)
    table = {**base.document.get("agent", {}), **given}
    whole = Scenario.of({**base.document, "agent": table}, base.name, base.base)
    checked = whole.effective()
    table = checked["agent"]
    if "link" in table and "traffic" in table:
        raise ScenarioError(f"{base.name}: agent: give `link` or `traffic`, not both")
    traffic = table.get("traffic")
    defaults = _AT_LINK if traffic is None else _AT_SENDER
    agents: tuple[str, ...]
    actions = set(table.get("actions", {}))
    if traffic is None:
        link = _link(whole, table.get("link"))
        agents, place = (link,), {"link": link}
        if actions <= _OWN_AT_LINK and _kind(whole, link) != "agent":
            whole = whole.with_queue("agent", link)
    else:
        index, flows = _entry(checked, traffic, base.name)
        agents = tuple(f"{traffic}_{flow}" for flow in range(flows))
        place = {"traffic": traffic}
        if actions <= _OWN_AT_SENDER:
            whole = whole.with_(f"traffic[{index}].tcp.congestion", "agent")
    table = {**defaults, **table}
    ranges = [_parameter(base.name, "actions", *each) for each in table["actions"].items()]
    draws = [_parameter(base.name, "draws", *each) for each in table.get("draws", {}).items()]
    agent = {
        "place": place,
        "step": table["step"],
        "actions": [_range(base.name, each) for each in ranges],
        "observations": table["observations"],
        "reward": sorted(table["reward"].items()),
    }
    whole = whole.bare()
    for draw in draws:
        _try(whole, draw)
    made = Setup(
        whole,
        json.dumps(agent),
        tuple(draws),
        agents,
        tuple(each.path for each in ranges),
        tuple(table["observations"]),
        normalised,
    )
    # Whether the agent can set its parameters there shows at the beginning of an episode.
    with named(whole):
        made.episodes(1, 1).reset(0, whole.text, whole.base)
    return made


def switch(name: str, value: bool) -> bool:
    """The argument `name`, on or off.

    Raises:
        ValueError: it is neither.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{name}: must be True or False, got {value!r}")
    return value


def check_memory(made: Setup, num_envs: int) -> None:
    """Check that this machine has the memory for many environments."""
    with named(made.scenario):
        each = _BYTES_EACH + _engine.footprint(made.scenario.text, made.scenario.base)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if num_envs * each > there:
        raise ValueError(
            f"num_envs: {num_envs} environments need about {num_envs * each / 1e9:.3g} GB, and "
            f"this machine has {there / 1e9:.3g} GB; give at most {there // each}"
        )


def known_options(options: dict[str, Any] | None, *known: str) -> dict[str, Any]:
    """Options of `reset`, if they are among those that are known.

    Raises:
        ValueError: they are no dict, or one is not known.
    """
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise ValueError(f"options: must be a dict or None, got {options!r}")
    strange = next((name for name in options if name not in known), None)
    if strange is not None:
        there = f"the one there is, is {known[0]!r}" if known else "there are none"
        raise ValueError(f"options: {strange!r} is not known; {there}")
    return options


class Remade:
    """An environment whose copies are made of what it was made of.

    A copy, by `copy` or `pickle`, has the scenario, the settings and the random numbers to come.
    It has no episode: `reset` begins one, the one that `reset` would have begun in the original.
    """

    _arguments: dict[str, Any]
    """What it was made with."""
    _copied: tuple[str, ...]
    """Attributes that a copy gets copies of."""

    def __getstate__(self) -> dict[str, Any]:
        """What a copy is made of."""
        return {"made": self._arguments} | {name: getattr(self, name) for name in self._copied}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become a copy."""
        made = state.pop("made")
        self.__init__(**made)  # type: ignore[misc]
        for name, value in state.items():
            setattr(self, name, copy.deepcopy(value))


def single(made: Setup, name: str) -> Setup:
    """`made`, if it has one agent."""
    if len(made.agents) != 1:
        raise ScenarioError(
            f"{made.scenario.name}: agent.traffic: {name} has one agent, there are "
            f"{len(made.agents)} flows; set flows = 1, or use forebay.gym.ParallelEnv"
        )
    return made


def _link(scenario: Scenario, name: str | None) -> str:
    """The link at which the agent sits."""
    if name is None:
        return scenario.compared_link()
    known = [link["name"] for link in scenario.resolved()["links"]]
    if name not in known:
        raise ScenarioError(
            f'{scenario.name}: agent.link: there is no "{name}"; one of {", ".join(known)}'
        )
    return name


def _kind(scenario: Scenario, link: str) -> Any:
    links = scenario.resolved()["links"]
    return next((each.get("kind") for each in links if each["name"] == link), None)


def _entry(checked: dict[str, Any], name: str, file: str) -> tuple[int, int]:
    """Place and number of flows of a traffic entry."""
    names = [entry["name"] for entry in checked["traffic"]]
    if name not in names:
        known = ", ".join(names)
        raise ScenarioError(f'{file}: agent.traffic: there is no "{name}"; one of {known}')
    index = names.index(name)
    return index, checked["traffic"][index]["flows"]


def _parameter(file: str, field: str, path: str, values: str) -> Parameter:
    try:
        return read_parameter(f"{path}={values}")
    except ScenarioError as error:
        what = str(error).partition(": ")[2]
        raise ScenarioError(f'{file}: agent.{field}: "{path} = {values}": {what}') from None


def _range(file: str, action: Parameter) -> dict[str, Any]:
    if action.choices:
        raise ScenarioError(
            f"{file}: agent.actions: {action.path}: takes a range such as 1ms..100ms, not a choice"
        )
    return {
        "path": action.path,
        "low": action.low,
        "high": action.high,
        "unit": action.unit,
        "log": action.log,
    }


def _try(scenario: Scenario, draw: Parameter) -> None:
    """Check that what is drawn could run."""
    ends = draw.choices or (draw.value(draw.low), draw.value(draw.high))
    for value in ends:
        scenario.with_(draw.path, value).effective()


def _unit(name: str, seen: NDArray[np.float32]) -> NDArray[np.float32]:
    """An observation in units of its range, about from 0 to 1."""
    if name in _LINEAR:
        low, high = _LINEAR[name]
        return (seen - low) / (high - low)
    most = _MOST[name.rpartition("_")[2]]
    return np.asarray(np.log1p(seen) / math.log1p(most), np.float32)


def _floats(space: Box) -> Space[NDArray[np.float32]]:
    return cast("Space[NDArray[np.float32]]", space)


def _drawn(parameter: Parameter, random: np.random.Generator) -> float | int:
    if parameter.choices:
        return int(random.integers(len(parameter.choices)))
    if parameter.log:
        value = math.exp(random.uniform(math.log(parameter.low), math.log(parameter.high)))
        return round(value) if parameter.whole else value
    if parameter.whole:
        return int(random.integers(int(parameter.low), int(parameter.high), endpoint=True))
    return float(random.uniform(parameter.low, parameter.high))
