"""Environments: the checkers of Gymnasium and PettingZoo, and that episodes are plain runs."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from pettingzoo.test import parallel_api_test

import forebay
import forebay.gym

STEP = "50ms"


def scenario(**changes: Any) -> forebay.Scenario:
    """A slow link with a drawn rate, three downloads and a call."""
    document = {
        "duration": "2s",
        "dumbbell": {"rate": "4Mbit", "delay": "10ms", "queue": {"kind": "codel"}},
        "tcp": {"congestion": "cubic"},
        "traffic": [
            {"name": "downloads", "kind": "bulk", "flows": 3, "start": ["0s", "100ms"]},
            {"name": "call", "kind": "voice", "flows": 1},
        ],
        "agent": {"step": STEP},
    }
    return forebay.Scenario.of(document | changes)


DRAWS = {"dumbbell.rate": "2Mbit..8Mbit:log", "traffic[0].flows": "1..4"}


def acted(env: Any, actions: Any, seed: int | None = 1) -> list[Any]:
    """What is seen and paid in an episode, from the first observation on."""
    seen: list[Any] = [env.reset(seed=seed)[0].tolist()]
    over = False
    while not over:
        observation, reward, terminated, over, _ = env.step(next(actions))
        assert not terminated
        seen.append((observation.tolist(), reward))
    return seen


def constant(*values: float) -> Any:
    action = np.array(values, np.float32)
    while True:
        yield action


def random_actions(seed: int) -> Any:
    random = np.random.default_rng(seed)
    while True:
        yield random.uniform(-1, 1, 1).astype(np.float32)


@pytest.mark.parametrize("place", [{}, {"traffic": "alone"}, {"actions": {"target": "1ms..50ms"}}])
def test_gymnasium_s_checker_passes(place: dict[str, Any]) -> None:
    alone = {"name": "alone", "kind": "bulk"}
    base = scenario(traffic=[*scenario().document["traffic"], alone])
    env = gymnasium.make("forebay/Scenario-v0", scenario=base, **place)
    with warnings.catch_warnings():
        # It recommends bounds for what is seen; a backlog has none.
        warnings.simplefilter("ignore")
        check_env(env.unwrapped)
    # Normalised, it has no complaint: a warning is an error in these tests.
    check_env(
        gymnasium.make("forebay/Scenario-v0", scenario=base, normalise=True, **place).unwrapped
    )


EVERYTHING = {
    "link": "sojourn_ms backlog_packets backlog_bytes backlog_ms arrival_pps departure_pps "
    "departure_bps dropped marked drop_share mark_share utilization log_utilization rate_bps",
    "sender": "srtt_ms throughput_bps log_throughput cwnd_packets in_flight_packets dropped marked",
}


def test_every_observation_has_a_range() -> None:
    known = json.loads(forebay._engine.schema())["$defs"]["Seen"]["oneOf"]
    assert {each["const"] for each in known} == set(" ".join(EVERYTHING.values()).split())


@pytest.mark.parametrize("place", EVERYTHING)
def test_normalised_observations_lie_within_their_space_and_keep_the_order(place: str) -> None:
    seen = EVERYTHING[place].split()
    alone = [{"name": "alone", "kind": "bulk", "flows": 1}]
    base = scenario(traffic=alone).with_queue({"kind": "codel", "limit": "60p"})
    more = {"traffic": "alone"} if place == "sender" else {"actions": {"target": "1ms..50ms"}}
    plain = forebay.gym.Env(base, observations=seen, **more)
    env = forebay.gym.Env(base, observations=seen, normalise=True, **more)
    rows = np.array([row[0] for row in acted(plain, random_actions(1))[1:]])
    shown = np.array([row[0] for row in acted(env, random_actions(1))[1:]])
    assert all(env.observation_space.contains(row.astype(np.float32)) for row in shown)
    for column, name in enumerate(seen):
        order = np.argsort(rows[:, column], kind="stable")
        assert (np.diff(shown[order, column]) >= 0).all(), name
        if np.ptp(rows[:, column]) > 0 and name != "utilization":
            assert np.ptp(shown[:, column]) > 0.01, name
    # Rewards are of what is not normalised.
    assert acted(plain, constant(0.1))[-1][1] == acted(env, constant(0.1))[-1][1]
    many = forebay.gym.VectorEnv(base, 2, observations=seen, normalise=True, copy=False, **more)
    assert np.array_equal(many.reset(seed=1)[0][0], env.reset(seed=1)[0])
    assert copy.copy(env).observation_space == env.observation_space


def test_pettingzoo_s_checker_passes() -> None:
    env = forebay.gym.ParallelEnv(scenario(), traffic="downloads")
    assert env.possible_agents == ["downloads_0", "downloads_1", "downloads_2"]
    with pytest.warns(UserWarning, match="options: 'options' is not known"):
        parallel_api_test(env, num_cycles=100)


@pytest.mark.parametrize(
    ("agent", "action", "queue"),
    [
        (
            {"actions": {"drop_probability": "0..1"}},
            -0.9375,
            {"kind": "agent", "drop_probability": 2**-5},
        ),
        ({"actions": {"target": "2ms..66ms"}}, -0.5, {"kind": "codel", "target": "18ms"}),
        ({"actions": {"limit": "10p..90p"}}, -0.75, {"kind": "cp-aqm", "limit": "20p"}),
    ],
)
def test_a_constant_action_is_the_plain_run(
    agent: dict[str, Any], action: float, queue: dict[str, Any]
) -> None:
    # The file's own value is another one: what counts is what the agent sets.
    base = scenario(warmup="500ms").with_queue(queue["kind"])
    env = forebay.gym.Env(base, **agent)
    acted(env, constant(action))
    result = env.finish()
    assert result.summary["queues"]["bottleneck"]["dropped"] > 0
    plain = forebay.run(base.bare(), discipline=queue, seed=result.summary["seed"])
    assert result.summary["fingerprint"] == plain.summary["fingerprint"]
    assert result.summary["queues"] == plain.summary["queues"]


def test_constant_windows_are_the_plain_run() -> None:
    control = {"congestion": "agent", "agent": {"window": 33.0}}
    base = scenario(tcp=control)
    env = forebay.gym.ParallelEnv(base, traffic="downloads", actions={"window": "1..65"})
    env.reset(seed=3)
    while env.agents:
        env.step(dict.fromkeys(env.agents, np.zeros(1, np.float32)))
    result = env.finish()
    plain = forebay.run(base.bare(), seed=result.summary["seed"])
    assert result.summary["fingerprint"] == plain.summary["fingerprint"]


def test_windows_and_rates_do_what_they_say() -> None:
    only = [{"name": "flow", "kind": "bulk"}]
    actions = {"window": "1..129", "rate": "0.5Mbit..4.5Mbit"}
    seen = ["throughput_bps", "cwnd_packets", "srtt_ms"]
    env = forebay.gym.Env(
        scenario(traffic=only, duration="4s", tcp={"congestion": "agent"}),
        traffic="flow",
        actions=actions,
        observations=seen,
    )
    env.reset(seed=1)
    assert env.actions == ("rate", "window")
    for rate, window, expected in [(-0.5, 1.0, 1.5e6), (0.5, -0.75, 3.5e6), (-1.0, 1.0, 0.5e6)]:
        rows = [env.step(np.array([rate, window], np.float32))[0] for _ in range(25)]
        # Of what leaves at that rate, 40 bytes in 1500 are headers.
        assert np.mean([row[0] for row in rows[5:]]) == pytest.approx(
            expected * 1460 / 1500, rel=0.1
        )
        assert rows[-1][1] == pytest.approx(65 + 64 * window, abs=0.1)


def test_equal_seeds_are_equal_episodes() -> None:
    env = forebay.gym.Env(scenario(), draws=DRAWS)
    first = acted(env, random_actions(1))
    other = forebay.gym.Env(scenario(), draws=DRAWS)
    assert acted(other, random_actions(1)) == first
    assert acted(env, random_actions(1), seed=2) != first
    # Without a seed the next episode is another one.
    assert acted(env, random_actions(1), seed=None) != first


def test_what_an_episode_draws_is_told_and_in_range() -> None:
    env = forebay.gym.Env(scenario(), draws=DRAWS)
    drawn = [env.reset(seed=seed)[1]["drawn"] for seed in range(20)]
    flows = {each["traffic[0].flows"] for each in drawn}
    assert flows == {1, 2, 3, 4}
    rates = [float(each["dumbbell.rate"].removesuffix("Mbit")) for each in drawn]
    assert 2 <= min(rates) < 3.5 and 4.5 < max(rates) <= 8


def test_observations_go_on_through_the_end_of_the_warm_up() -> None:
    seen = ["departure_pps", "dropped", "arrival_pps", "sojourn_ms"]
    plain, warm = (
        acted(forebay.gym.Env(scenario(warmup=warmup), observations=seen), constant(0.2))
        for warmup in ("0s", "1.01s")
    )
    assert plain == warm
    assert sum(row[0][1] for row in plain[1:]) > 0


def test_what_is_seen_is_what_the_run_measures() -> None:
    seen = [
        "departure_pps",
        "arrival_pps",
        "dropped",
        "departure_bps",
        "sojourn_ms",
        "backlog_packets",
    ]
    env = forebay.gym.Env(scenario(), observations=seen, actions={"target": "5ms..50ms"})
    rows = np.array([row[0] for row in acted(env, constant(-1.0))[1:]])
    summary = env.finish().summary
    queue, link = summary["queues"]["bottleneck"], summary["links"]["bottleneck"]
    packets = rows[:, 0].sum() * 0.05
    assert rows[:, 2].sum() == queue["dropped"]
    assert rows[:, 1].sum() * 0.05 == pytest.approx(
        packets + rows[:, 2].sum() + rows[-1, 5], abs=0.1
    )
    assert rows[:, 3].mean() / 4e6 == pytest.approx(link["utilization"], rel=1e-3)
    mean = (rows[:, 4] * rows[:, 0]).sum() / rows[:, 0].sum()
    assert mean == pytest.approx(queue["mean_delay_ms"], rel=1e-3)


def test_the_reward_is_the_weighted_sum_of_what_is_seen() -> None:
    seen = ["log_utilization", "sojourn_ms", "dropped"]
    env = forebay.gym.Env(
        scenario(), observations=seen, reward={"log_utilization": 2.0, "dropped": -0.5}
    )
    for observation, reward in acted(env, constant(-0.3))[1:]:
        assert reward == pytest.approx(2 * observation[0] - 0.5 * observation[2], rel=1e-5)


def test_a_knob_keeps_what_waits() -> None:
    env = forebay.gym.Env(
        scenario().with_queue({"kind": "cp-aqm", "limit": "300p", "bucket": "2MB"}),
        actions={"threshold": "1p..290p"},
        observations=["backlog_packets", "departure_pps"],
    )
    env.reset(seed=1)
    before = [env.step(np.ones(1, np.float32))[0] for _ in range(20)][-1]
    assert before[0] > 30
    after, *_ = env.step(-np.ones(1, np.float32))
    assert after[0] > before[0] - 20, "the queue goes on as it was"
    assert after[1] > 300


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("threads", [1, 2])
def test_a_vector_environment_is_single_ones_step_by_step(
    mode: AutoresetMode, threads: int
) -> None:
    count = 3
    envs = forebay.gym.VectorEnv(
        scenario(), count, threads=threads, autoreset_mode=mode, draws=DRAWS
    )
    singles = [forebay.gym.Env(scenario(), draws=DRAWS) for _ in range(count)]
    rows, _ = envs.reset(seed=7)
    expected = [env.reset(seed=7 + number)[0] for number, env in enumerate(singles)]
    assert np.array_equal(rows, expected)
    random, over = np.random.default_rng(1), np.zeros(count, bool)
    ends = 0
    for _ in range(100):
        actions = random.uniform(-1, 1, (count, 1)).astype(np.float32)
        if mode is AutoresetMode.DISABLED and over.any():
            with pytest.raises(ValueError, match="reset_mask"):
                envs.step(actions)
            rows, _ = envs.reset(options={"reset_mask": over})
            for number in np.flatnonzero(over).tolist():
                assert np.array_equal(rows[number], singles[number].reset()[0])
            over[:] = False
        rows, rewards, terminated, truncated, infos = envs.step(actions)
        assert not terminated.any()
        for number, env in enumerate(singles):
            if mode is AutoresetMode.NEXT_STEP and over[number]:
                assert np.array_equal(rows[number], env.reset()[0])
                assert (rewards[number], truncated[number]) == (0, False)
                continue
            row, reward, _, end, _ = env.step(actions[number])
            assert (rewards[number], truncated[number]) == (reward, end)
            if end and mode is AutoresetMode.SAME_STEP:
                assert np.array_equal(infos["final_obs"][number], row)
                row, _ = env.reset()
            assert np.array_equal(rows[number], row)
        over = truncated
        ends += int(over.sum())
    assert ends >= 2 * count


def test_arrays_are_shared_unless_copies_are_wanted() -> None:
    envs = forebay.gym.VectorEnv(scenario(), 2, copy=False)
    first, _ = envs.reset(seed=1)
    actions = np.zeros((2, 1), np.float32)
    second = [envs.step(actions)[0] for _ in range(3)]
    assert all(a is b for a, b in pairwise([first, *second]))
    copies = forebay.gym.VectorEnv(scenario(), 2)
    copies.reset(seed=1)
    assert copies.step(actions)[0] is not copies.step(actions)[0]


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ({"link": "nowhere"}, r'agent\.link: there is no "nowhere"; one of bottleneck'),
        ({"traffic": "nobody"}, r'agent\.traffic: there is no "nobody"; one of downloads, call'),
        ({"traffic": "call"}, "sends datagrams; name an entry that uses TCP"),
        ({"traffic": "downloads"}, "there are 3 flows; .*ParallelEnv"),
        ({"link": "bottleneck", "traffic": "call"}, "give `link` or `traffic`, not both"),
        ({"step": "0s"}, r"agent\.step: must be above 0"),
        ({"stp": "1s"}, 'agent.stp: unknown field "stp"'),
        ({"actions": {"target": "9ms..1ms"}}, "the low end comes first"),
        ({"actions": {"tagret": "1ms..9ms"}}, r'agent\.actions\.tagret: unknown field "tagret"'),
        ({"actions": {"target": "1ms..900ms"}}, r"agent\.actions\.target: must be below interval"),
        ({"actions": {"ecn": "true,false"}}, "takes a range such as 1ms..100ms"),
        ({"actions": {"target": 3}}, r"agent\.actions.*target: must be a text"),
        ({"observations": ["sojourn"]}, r"agent\.observations\[0\]: unknown value \"sojourn\""),
        (
            {"observations": ["srtt_ms"]},
            r"agent\.observations: srtt_ms cannot be observed at a link",
        ),
        (
            {"reward": {"cwnd_packets": 1.0}},
            r"agent\.reward: cwnd_packets cannot be observed at a link",
        ),
        ({"actions": {}}, r"agent\.actions: is empty; leave it out for the usual ones"),
        ({"observations": []}, r"agent\.observations: is empty; leave it out for the usual ones"),
        ({"reward": {}}, r"agent\.reward: is empty; leave it out for the usual ones"),
        ({"reward": {"dropped": np.nan}}, r"agent\.reward\.dropped: must be a finite number"),
        ({"step": np.inf}, r"agent\.step: must be a finite number, got inf"),
        ({"draws": object()}, r"agent\.draws: must be a plain value, got object <object"),
        ({"draws": {"dumbbell.rat": "1..2"}}, "unknown field"),
        ({"draws": {"traffic[7].flows": "1..2"}}, r"traffic\[7\]"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(agent: dict[str, Any], message: str) -> None:
    with pytest.raises(forebay.ScenarioError, match=message):
        forebay.gym.Env(scenario(), **agent)


def test_kinds_that_cannot_change_say_which_can() -> None:
    message = r'"cake" queue cannot change while packets wait.*codel.*pie'
    with pytest.raises(forebay.ScenarioError, match=message):
        forebay.gym.Env(scenario().with_queue("cake"), actions={"target": "1ms..9ms"})
    dctcp = scenario(tcp={"ecn": True, "congestion": "dctcp"})
    with pytest.raises(forebay.ScenarioError, match="cannot change while a connection is open"):
        forebay.gym.ParallelEnv(dctcp, traffic="downloads", actions={"gain": "0.01..0.5"})


def test_a_step_needs_an_episode() -> None:
    env = forebay.gym.Env(scenario())
    with pytest.raises(ValueError, match="there is no episode; call reset first"):
        env.step(np.zeros(1, np.float32))
    env.reset(seed=1)
    with pytest.raises(
        ValueError, match=r"got 2 numbers; give one from -1 to 1 for each of drop_p"
    ):
        env.step(np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="has not ended"):
        env.finish()


def test_the_agent_s_table_means_nothing_to_a_run() -> None:
    plain = scenario()
    other = plain.with_("agent.step", "10ms")
    assert plain.bare().text == other.bare().text
    assert forebay._engine.identity(plain.text, plain.base) == forebay._engine.identity(
        other.text, other.base
    )


def test_more_environments_than_there_is_memory_for_are_refused() -> None:
    for many in (10**9, 10**18):
        with pytest.raises(ValueError, match=r"num_envs: \d+ environments need about .* at most"):
            forebay.gym.VectorEnv(scenario(), num_envs=many)
    with pytest.raises(MemoryError):
        forebay.gym.VectorEnv(scenario())._setup.episodes(2**62, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: forebay.gym.Env(scenario(), draws=DRAWS),
        lambda: forebay.gym.VectorEnv(scenario(), num_envs=2, draws=DRAWS),
        lambda: forebay.gym.ParallelEnv(scenario(), traffic="downloads"),
        lambda: gymnasium.make("forebay/Scenario-v0", scenario=scenario()).unwrapped,
    ],
)
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]
)
def test_a_copy_begins_the_episode_that_would_have_begun(make: Any, copied: Any) -> None:
    env = make()
    env.reset(seed=3)
    again = copied(env)
    parallel = isinstance(env, forebay.gym.ParallelEnv)
    with pytest.raises(ValueError, match="there is no episode; call reset first"):
        again.step({} if parallel else env.action_space.sample())
    first, second = (each.reset() for each in (env, again))
    assert str(first) == str(second)
    # They go on, each for itself.
    assert str(env.reset()) == str(again.reset()) != str(first)


def test_nan_is_no_action() -> None:
    for env, action in (
        (forebay.gym.Env(scenario()), np.array([np.nan])),
        (forebay.gym.VectorEnv(scenario(), num_envs=2), np.array([[0], [np.nan]])),
        (
            forebay.gym.ParallelEnv(scenario(), traffic="downloads"),
            {"downloads_1": np.array([np.nan])},
        ),
    ):
        env.reset(seed=1)
        with pytest.raises(ValueError, match=r"action \d is nan; an action is a number from -1"):
            env.step(action)  # type: ignore[arg-type]


def test_what_is_not_understood_is_refused() -> None:
    for make, wrong in (
        (forebay.gym.Env, {"normalise": "no"}),
        (forebay.gym.ParallelEnv, {"normalise": 1}),
        (forebay.gym.VectorEnv, {"copy": "no"}),
    ):
        with pytest.raises(ValueError, match="must be True or False, got"):
            make(scenario(), **wrong)
    counts: tuple[dict[str, Any], ...]
    counts = ({"num_envs": "2"}, {"num_envs": 1.5}, {"threads": 1.5}, {"threads": 0})
    for count in counts:
        with pytest.raises(ValueError, match="must be whole numbers, 1 or more"):
            forebay.gym.VectorEnv(scenario(), **count)
    given: Any
    for given in (None, {"duration": "1s"}, 5):
        for make in (forebay.gym.Env, forebay.gym.VectorEnv, forebay.gym.ParallelEnv):
            with pytest.raises(forebay.ScenarioError, match="expected a scenario or the name of"):
                make(given)
    envs = forebay.gym.VectorEnv(scenario(), num_envs=2)
    with pytest.raises(ValueError, match="there is no episode; call reset first"):
        envs.step(np.zeros((2, 1), np.float32))
    assert str(envs.reset(seed=np.int64(4))) == str(envs.reset(seed=4))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"got 3 numbers; .* in each of 2 environments"):
        envs.step(np.zeros((3, 1), np.float32))
    for given in ("x", None, {}, 1j, [["x"], [0]]):
        with pytest.raises(ValueError, match=r"action: got .*; give one from -1 to 1 for each"):
            envs.step(given)
    with pytest.raises(ValueError, match=r"seed: must be a whole number, one for each .* got 1.5"):
        envs.reset(seed=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"options: 'mask' is not known; the one there is, is 're"):
        envs.reset(options={"mask": np.array([True, False])})
    senders = forebay.gym.ParallelEnv(scenario(), traffic="downloads")
    env = forebay.gym.Env(scenario())
    for options, said in (({"x": 1}, "'x' is not known; there are none"), (5, "must be a dict or")):
        with pytest.raises(ValueError, match=f"options: {said}"):
            env.reset(options=options)  # type: ignore[arg-type]
        with pytest.warns(UserWarning, match=f"options: {said}"):
            senders.reset(options=options)  # type: ignore[arg-type]
    env.reset(options={})
    with pytest.raises(ValueError, match="actions: must be a dict by agent, got None"):
        senders.step(None)  # type: ignore[arg-type]


def test_a_refused_action_leaves_no_trace() -> None:
    def rewards(wrong: bool) -> list[dict[str, float]]:
        env = forebay.gym.ParallelEnv(scenario(), traffic="downloads")
        env.reset(seed=1)
        if wrong:
            for action in (
                {"downloads_1": np.array([np.nan], np.float32)},
                {"downloads_9": np.zeros(1, np.float32)},
            ):
                with pytest.raises(ValueError, match=r"is nan|there is no agent \"downloads_9\""):
                    env.step(action)
        return [env.step({})[1] for _ in range(5)]

    assert rewards(wrong=True) == rewards(wrong=False)


def test_a_step_is_shown_as_a_line() -> None:
    env = forebay.gym.Env(scenario(), render_mode="ansi", observations=["sojourn_ms", "dropped"])
    env.reset(seed=1)
    assert env.render() == "0.000 s: sojourn_ms 0, dropped 0; reward 0"
    for _ in range(3):
        observation, reward, *_ = env.step(np.array([0.5], np.float32))
    sojourn, dropped = observation
    expected = f"{env.now_s:.3f} s: sojourn_ms {sojourn:.4g}, dropped {dropped:.4g}"
    assert env.render() == f"{expected}; reward {reward:.4g}" and sojourn > 0
    # In its own units, whatever the agent is shown.
    same = forebay.gym.Env(
        scenario(), render_mode="ansi", normalise=True, observations=["sojourn_ms", "dropped"]
    )
    same.reset(seed=1)
    for _ in range(3):
        same.step(np.array([0.5], np.float32))
    assert same.render() == env.render()
    many = forebay.gym.ParallelEnv(scenario(), render_mode="ansi", traffic="downloads")
    many.reset(seed=1)
    shown = many.render()
    assert shown is not None
    assert [line.partition(": ")[0] for line in shown.splitlines()] == many.agents
    assert forebay.gym.Env(scenario()).render() is None
    with pytest.raises(ValueError, match=r'render_mode: must be "ansi" or None, got \'human\''):
        forebay.gym.Env(scenario(), render_mode="human")  # type: ignore[arg-type]
