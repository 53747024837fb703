"""Gymnasium's vector environment, stepped in Rust."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from forebay._scenario import Scenario
from forebay.gym.setup import Remade, check_memory, known_options, read, set_up, single, switch

Rows = NDArray[np.float32]


class VectorEnv(Remade, gymnasium.vector.VectorEnv[Rows, Rows, NDArray[Any]]):
    """Many episodes of a scenario at once, each as `Env` has it.

    One call steps all of them, without Python's lock, and with several threads if these are asked
    for. Actions, observations and rewards are arrays that the engine reads and writes itself.

    They can be copied and pickled together, as `Env`.

    Example:
        >>> envs = forebay.gym.VectorEnv("examples/branch-uplink.toml", num_envs=64)
        >>> observations, infos = envs.reset(seed=1)
        >>> observations, rewards, terminated, truncated, infos = envs.step(
        ...     envs.action_space.sample()
        ... )
    """

    _copied = ("action_space", "_random")

    def __init__(
        self,
        scenario: Scenario | str | Path,
        num_envs: int = 1,
        *,
        threads: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        normalise: bool = False,
        **agent: Any,
    ) -> None:
        """Make the environments of a scenario.

        Args:
            scenario: the scenario, or its file.
            num_envs: how many, 1 or more.
            threads: how many threads step them, 1 or more.
            autoreset_mode: what follows the end of an episode: "NextStep", "SameStep" or
                "Disabled", as Gymnasium has them.
            copy: whether `step` and `reset` return new arrays, rather than those that the next call
                writes again.
            normalise: as for `Env`; `step` and `reset` then return new arrays in any case.
            agent: fields of the `[agent]` table, instead of the scenario's.

        Raises:
            ScenarioError: anything in it that is not understood or could not run.
            ValueError: a number that is not 1 or more, more environments than this machine has
                memory for, another mode, or `copy` or `normalise` is no bool.
        """
        counts = (num_envs, threads)
        if not all(type(count) is int and count >= 1 for count in counts):
            raise ValueError("num_envs and threads must be whole numbers, 1 or more")
        self._mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}
        scenario = read(scenario)
        self._setup = single(set_up(scenario, agent, normalise), "forebay.gym.VectorEnv")
        check_memory(self._setup, num_envs)
        self._run = self._setup.episodes(num_envs, min(threads, num_envs))
        self._arguments = {
            "scenario": scenario,
            "num_envs": num_envs,
            "threads": threads,
            "autoreset_mode": self._mode,
            "copy": copy,
            "normalise": normalise,
            **agent,
        }
        self.num_envs, self._copy = num_envs, switch("copy", copy)
        self.single_action_space = self._setup.action_space
        self.single_observation_space = self._setup.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._random = [seeding.np_random()[0] for _ in range(num_envs)]
        self._observations = np.zeros((num_envs, len(self._setup.observations)), np.float32)
        self._rewards = np.zeros(num_envs, np.float64)
        self._ended = np.zeros(num_envs, np.bool_)
        self._terminated = np.zeros(num_envs, np.bool_)
        self._flat = self._observations.reshape(-1)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Rows, dict[str, Any]]:
        """Begin episodes, all of them unless `options` has a `reset_mask`.

        Args:
            seed: of the first environment, the next has one more, and so on; or one for each.
            options: `reset_mask`, an array of bools: which environments begin anew.

        Returns:
            What is seen before anything has happened, and of each episode its `seed` and what was
            `drawn`.

        Raises:
            ScenarioError: what was drawn cannot run.
            ValueError: not as many seeds are given as there are environments, the mask does not
                fit, or another option is given.
        """
        mask = np.ones(self.num_envs, np.bool_)
        options = known_options(options, "reset_mask")
        if "reset_mask" in options:
            mask = np.asarray(options["reset_mask"])
            if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
                raise ValueError(f"reset_mask must be {self.num_envs} bools, one of them True")
        seeds: Sequence[int | None]
        if seed is None or isinstance(seed, (int, np.integer)):
            first = None if seed is None else int(seed)
            seeds = [None if first is None else first + number for number in range(self.num_envs)]
        elif isinstance(seed, Sequence) and not isinstance(seed, str):
            seeds = seed
        else:
            raise ValueError(
                f"seed: must be a whole number, one for each environment, or None, got {seed!r}"
            )
        if len(seeds) != self.num_envs:
            raise ValueError(f"{self.num_envs} seeds are needed, got {len(seeds)}")
        infos: dict[str, Any] = {}
        for number in np.flatnonzero(mask).tolist():
            if seeds[number] is not None:
                self._random[number], _ = seeding.np_random(seeds[number])
            infos = self._begin(number, infos)
        return self._shown(), infos

    def step(
        self, actions: Rows
    ) -> tuple[Rows, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Set the parameters of every environment and go on for a step.

        Returns:
            What is seen, rewards, whether it was terminated (never), whether it was truncated, and
            what is said of episodes that began, as Gymnasium's mode has it.

        Raises:
            ValueError: there are no episodes; or one has ended, and the mode is "Disabled"; or an
                action is nan.
        """
        over = self._ended.copy()
        if self._mode is AutoresetMode.DISABLED and over.any():
            raise ValueError("an episode has ended; reset it with options={'reset_mask': ...}")
        flat = self._setup.acted(self._run, actions, self.num_envs)
        self._run.step(flat, self._flat, self._rewards, self._ended)
        infos: dict[str, Any] = {}
        truncated = self._ended.copy()
        if self._mode is AutoresetMode.NEXT_STEP and over.any():
            # The engine left them as they were.
            for number in np.flatnonzero(over).tolist():
                infos = self._begin(number, infos)
            self._rewards[over] = 0.0
            truncated[over] = False
        elif self._mode is AutoresetMode.SAME_STEP and truncated.any():
            for number in np.flatnonzero(truncated).tolist():
                last = self._setup.shown(self._observations[number].copy())
                final = {"final_obs": last, "final_info": {}}
                infos = self._add_info(infos, final, number)
                infos = self._begin(number, infos)
        return self._shown(), self._own(self._rewards), self._terminated.copy(), truncated, infos

    def _begin(self, number: int, infos: dict[str, Any]) -> dict[str, Any]:
        """Begin an episode; the infos with what is said of it."""
        said = self._setup.begin(self._run, number, self._random[number])
        self._run.begin(number, self._observations[number])
        self._ended[number] = False
        return self._add_info(infos, said, number)

    def _shown(self) -> Rows:
        return self._own(self._setup.shown(self._observations))

    def _own(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.copy() if self._copy else array
