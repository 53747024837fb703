"""PettingZoo's environment for many senders."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pettingzoo
from gymnasium import Space
from gymnasium.utils import seeding
from numpy.typing import NDArray

from forebay._runs import Result
from forebay._scenario import Scenario
from forebay.gym.setup import RENDER_MODES, Remade, known_options, read, rendered, set_up

Array = NDArray[np.float32]


class ParallelEnv(Remade, pettingzoo.ParallelEnv[str, Array, Array]):  # type: ignore[misc]
    """A scenario with an agent at each flow of a traffic entry; all act at once.

    Agents are called after the entry and the number of the flow, such as `web_0`. Actions,
    observations, episodes and copies are as those of `Env`.

    Example:
        >>> env = forebay.gym.ParallelEnv("examples/branch-uplink.toml", traffic="web")
        >>> observations, infos = env.reset(seed=1)
        >>> actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        >>> observations, rewards, terminated, truncated, infos = env.step(actions)
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "forebay", "render_modes": RENDER_MODES}
    _copied = ("action_spaces", "_random")

    def __init__(
        self,
        scenario: Scenario | str | Path,
        render_mode: Literal["ansi"] | None = None,
        *,
        normalise: bool = False,
        **agent: Any,
    ) -> None:
        """Make the environment of a scenario.

        Args:
            scenario: the scenario, or its file.
            render_mode: "ansi" for `render`.
            normalise: whether observations are brought to the range from 0 to 1, most of them by
                their logarithm.
            agent: fields of the `[agent]` table, instead of the scenario's.

        Raises:
            ScenarioError: anything in it that is not understood or could not run.
            ValueError: there is no such render mode, or `normalise` is no bool.
        """
        self.render_mode = rendered(render_mode)
        scenario = read(scenario)
        self._arguments = {
            "scenario": scenario,
            "render_mode": render_mode,
            "normalise": normalise,
            **agent,
        }
        self._setup = set_up(scenario, agent, normalise)
        self.possible_agents = list(self._setup.agents)
        self.agents: list[str] = []
        """Those whose episode has not ended."""
        self._run = self._setup.episodes(1, 1)
        self._random = seeding.np_random()[0]
        self._action_space = self._setup.action_space
        self._observation_space = self._setup.observation_space
        self.action_spaces = dict.fromkeys(self.possible_agents, self._action_space)
        self.observation_spaces = dict.fromkeys(self.possible_agents, self._observation_space)
        count = len(self.possible_agents)
        self._actions = np.zeros((count, len(self._setup.actions)), np.float32)
        self._observations = np.zeros((count, len(self._setup.observations)), np.float32)
        self._rewards = np.zeros(count, np.float64)
        self._ended = np.zeros(1, np.bool_)

    def action_space(self, agent: str) -> Space[Array]:
        """The space of an agent's actions, the same for all."""
        return self.action_spaces[agent]

    def observation_space(self, agent: str) -> Space[Array]:
        """The space of what an agent sees, the same for all."""
        return self.observation_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Begin an episode, as `Env.reset`; every agent is told the same of it.

        An option brings a warning: PettingZoo's own checker gives one, and takes no error.
        """
        try:
            known_options(options)
        except ValueError as error:
            warnings.warn(str(error), stacklevel=2)
        if seed is not None:
            self._random, _ = seeding.np_random(seed)
        info = self._setup.begin(self._run, 0, self._random)
        self._run.begin(0, self._observations.reshape(-1))
        self.agents = list(self.possible_agents)
        return self._seen(self.agents), {agent: dict(info) for agent in self.agents}

    def step(
        self, actions: dict[str, Array]
    ) -> tuple[
        dict[str, Array],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Every agent acts, and the scenario goes on for a step.

        Args:
            actions: by agent; who is not named acts as in the step before.

        Raises:
            ValueError: there is no episode, an agent is not known, or an action has not the form
                of its space or holds nan. Then nothing has changed.
        """
        if not isinstance(actions, dict):
            raise ValueError(f"actions: must be a dict by agent, got {actions!r}")
        unknown = next((agent for agent in actions if agent not in self.action_spaces), None)
        if unknown is not None:
            known = ", ".join(self.possible_agents)
            raise ValueError(f'actions: there is no agent "{unknown}"; one of {known}')
        self._run.now(0)
        acts = self._actions.copy()
        for number, agent in enumerate(self.possible_agents):
            if agent in actions:
                acts[number] = self._setup.acted(self._run, actions[agent])
        observations = self._observations.reshape(-1)
        self._run.step(acts.reshape(-1), observations, self._rewards, self._ended)
        self._actions = acts
        over, agents = bool(self._ended[0]), self.agents
        rewards = {agent: float(self._rewards[number]) for number, agent in enumerate(agents)}
        if over:
            self.agents = []
        return (
            self._seen(agents),
            rewards,
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, over),
            {agent: {} for agent in agents},
        )

    def render(self) -> str | None:
        """As `Env.render`, a line for each agent."""
        if self.render_mode is None:
            return None
        rows = zip(self.possible_agents, self._observations, self._rewards.tolist(), strict=True)
        now_s = self._run.now(0) / 1e9
        return "\n".join(
            f"{name}: {self._setup.line(now_s, seen, paid)}" for name, seen, paid in rows
        )

    def finish(self) -> Result:
        """As `Env.finish`."""
        return Result.of(self._run.finish(0))

    def _seen(self, agents: list[str]) -> dict[str, Array]:
        shown = self._setup.shown(self._observations.copy())
        return dict(zip(agents, shown, strict=False))
