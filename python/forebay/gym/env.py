"""Gymnasium's environment for one agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from numpy.typing import NDArray

from forebay._runs import Result
from forebay._scenario import Scenario
from forebay.gym.setup import RENDER_MODES, Remade, known_options, read, rendered, set_up, single

Array = NDArray[np.float32]


class Env(Remade, gymnasium.Env[Array, Array]):
    """A scenario with one agent, at a link's queue or at a sender.

    An action is a number from -1 to 1 for each parameter that is set; what is beyond counts as the
    end. An observation is a number for each thing that is seen. An episode is truncated at the
    scenario's end, and never terminated. Equal seeds give equal episodes.

    An environment can be copied and pickled. A copy has the scenario, the settings and the random
    numbers to come, but no episode: `reset` begins one.

    Example:
        >>> env = forebay.gym.Env("examples/branch-uplink.toml", step="20ms")
        >>> observation, info = env.reset(seed=1)
        >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": 10}  # noqa: RUF012 - Gymnasium's own form
    _copied = ("spec", "action_space", "_np_random", "_np_random_seed")

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
        self._setup = single(set_up(scenario, agent, normalise), "forebay.gym.Env")
        self._run = self._setup.episodes(1, 1)
        self.action_space = self._setup.action_space
        self.observation_space = self._setup.observation_space
        self._observation = np.zeros(len(self._setup.observations), np.float32)
        self._reward = np.zeros(1, np.float64)
        self._ended = np.zeros(1, np.bool_)

    @property
    def actions(self) -> tuple[str, ...]:
        """Paths of the parameters that are set, in the order of the action space."""
        return self._setup.actions

    @property
    def observations(self) -> tuple[str, ...]:
        """Names of what is seen, in the order of the observation space."""
        return self._setup.observations

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: of all that follows; None goes on with what there is.
            options: none are known.

        Returns:
            What is seen before anything has happened, and the scenario's `seed` and what was
            `drawn` for it, by path.

        Raises:
            ScenarioError: what was drawn cannot run.
            ValueError: an option is given.
        """
        known_options(options)
        super().reset(seed=seed, options=options)
        info = self._setup.begin(self._run, 0, self.np_random)
        self._run.begin(0, self._observation)
        return self._shown(), info

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Set the parameters and go on for a step.

        Returns:
            What is seen, the reward, False, whether the scenario has ended, and nothing else.

        Raises:
            ValueError: there is no episode, or the action has not the form of `action_space`, or
                holds nan.
        """
        act = self._setup.acted(self._run, action)
        self._run.step(act, self._observation, self._reward, self._ended)
        return self._shown(), float(self._reward[0]), False, bool(self._ended[0]), {}

    def _shown(self) -> Array:
        return self._setup.shown(self._observation.copy())

    def render(self) -> str | None:
        """The last step in a line: simulated time, what was seen in its own units, and the reward.

        None unless the render mode is "ansi".
        """
        if self.render_mode is None:
            return None
        return self._setup.line(self.now_s, self._observation, float(self._reward[0]))

    @property
    def now_s(self) -> float:
        """Simulated time of the episode in seconds."""
        return self._run.now(0) / 1e9

    def finish(self) -> Result:
        """What an episode that has ended measured, as `forebay.run` has it; the episode is gone.

        Raises:
            ValueError: it has not ended.
        """
        return Result.of(self._run.finish(0))
