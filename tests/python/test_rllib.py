"""RLlib's own runner samples from the registered ids, vectorised by our native threads."""

from __future__ import annotations

import gymnasium
import pytest

import lodestep.gym

for library in ("torch", "tree", "ray.rllib"):
    pytest.importorskip(library, reason=f"{library} is not installed")

from ray.rllib.algorithms.ppo import PPOConfig  # noqa: E402
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner  # noqa: E402


def test_a_runner_samples_whole_episodes(env_name: str) -> None:
    form = {"observation": "bytes", "actions": "index", "max_length": 8192, "max_steps": 6}
    config = (
        PPOConfig()
        .environment(lodestep.gym.env_id(env_name), env_config=form)
        .env_runners(num_envs_per_env_runner=4, gym_env_vectorize_mode=gymnasium.VectorizeMode.VECTOR_ENTRY_POINT)
    )
    episodes = SingleAgentEnvRunner(config=config).sample(num_episodes=8, random_actions=True)
    assert len(episodes) >= 8
    for episode in episodes[:8]:
        assert 1 <= len(episode) <= 6 and (episode.is_terminated or episode.is_truncated)
        infos = episode.get_infos()
        # No step that only resets is among the transitions, and an episode keeps its task.
        assert not any("autoreset" in info for info in infos[1:])
        assert len({info["task"] for info in infos}) == 1
        assert [info["steps"] for info in infos] == list(range(len(episode) + 1))
