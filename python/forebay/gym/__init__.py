"""Environments in which agents learn: any scenario, stepped by the engine.

An agent sits at a link's queue and sets a parameter of it, or at a sender and sets its window.
The scenario's `[agent]` table says what it observes and what its reward is (docs/gym.md).

    >>> import forebay.gym
    >>> env = forebay.gym.Env("examples/branch-uplink.toml")
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

`Env` is Gymnasium's for one agent, `VectorEnv` its vector environment, stepped in Rust, and
`ParallelEnv` PettingZoo's for many senders. Importing this module registers
`forebay/Scenario-v0` with Gymnasium.
"""

try:
    import gymnasium
except ImportError as error:
    raise ImportError(
        "forebay.gym needs gymnasium and pettingzoo: pip install 'forebay[gym]'"
    ) from error

from forebay.gym.env import Env
from forebay.gym.parallel import ParallelEnv
from forebay.gym.vector import VectorEnv

__all__ = ["Env", "ParallelEnv", "VectorEnv"]

gymnasium.register(
    "forebay/Scenario-v0",
    entry_point="forebay.gym:Env",
    vector_entry_point="forebay.gym:VectorEnv",
)
