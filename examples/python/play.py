"""Plays a policy that ppo.py saved, without noise and without torch, here or in Gymnasium's own environment.

    python examples/python/play.py examples/python/policies/humanoid.npz --simulator manyworlds gymnasium
    python examples/python/play.py examples/python/policies/humanoid.npz --film humanoid.webp     # needs Pillow
"""

import argparse
import json
import warnings

import gymnasium
import manyworlds  # noqa: F401 (registers the environments)
import numpy as np
from gymnasium.vector import AutoresetMode


class Policy:
    """A network of hyperbolic tangents: observations `(n, n_seen)` to actions of -1 to 1, `(n, n_action)`."""

    def __init__(self, path):
        with np.load(path, allow_pickle=False) as parts:
            self.task, self.options = str(parts["task"]), json.loads(str(parts["options"]))
            self.mean, self.deviation = parts["mean"], parts["deviation"]
            count = sum(name.startswith("weight") for name in parts.files)
            layers = [(parts[f"weight{i}"], parts[f"bias{i}"]) for i in range(count)]
        self.layers = [(weight.astype(np.float32), bias.astype(np.float32)) for weight, bias in layers]

    def __call__(self, seen):
        x = ((seen - self.mean) / self.deviation).clip(-10, 10).astype(np.float32)
        for number, (weight, bias) in enumerate(self.layers):
            x = x @ weight.T + bias
            if number < len(self.layers) - 1:
                x = np.tanh(x)
        return x


def stretched(actions, space):
    """Actions of -1 to 1 over the range of the environment's; what is beyond is clipped."""
    middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2
    return middle + half * actions.clip(-1, 1)


def play(policy, simulator="manyworlds", episodes=16, seed=1000, refine=1, **settings):
    """Returns of as many episodes, `(episodes,)`, and what the environment told beside rewards in the last step of each.

    refine: how many times shorter Gymnasium's time steps are than its own. settings: further arguments of the environments here.
    """
    mode = {"autoreset_mode": AutoresetMode.DISABLED}
    if simulator == "manyworlds":
        name, kind = f"manyworlds/{policy.task}-v0", "vector_entry_point"
        envs = gymnasium.make_vec(name, episodes, kind, **mode, **policy.options, **settings)
    else:
        envs = gymnasium.make_vec(f"{policy.task}-v5", episodes, "sync", mode, **policy.options)
        for env in envs.envs:
            env.unwrapped.model.opt.timestep /= refine
            env.unwrapped.frame_skip *= refine
    seen, _ = envs.reset(seed=seed)
    returns, last = np.zeros(episodes), {}
    running = np.ones(episodes, bool)
    while running.any():
        seen, rewards, terminated, truncated, info = envs.step(stretched(policy(seen), envs.single_action_space))
        returns += rewards * running
        over = (terminated | truncated) & running
        for name, numbers in info.items():
            if over.any() and not name.startswith("_") and np.shape(numbers) == (episodes,):
                last.setdefault(name, np.zeros(episodes))[over] = numbers[over]
        running &= ~over
        if running.any() and not running.all():
            # Episodes that are over go on unseen, from a new start.
            ended = terminated | truncated
            if ended.any():
                seen, _ = envs.reset(options={"reset_mask": ended})
    envs.close()
    return returns, last


def film(policy, out, start=1.0, seconds=2.0, rate=15, seed=1000, **settings):
    """Writes an animated picture of one episode from `start` seconds on, at the speed at which it happens."""
    from PIL import Image

    kind = {"render_mode": "rgb_array", "width": 320, "height": 240}
    env = gymnasium.make(f"manyworlds/{policy.task}-v0", **kind, **policy.options, **settings)
    seen, _ = env.reset(seed=seed)
    frames, time, over = [], 0.0, False
    while time < start + seconds and not over:
        seen, _, terminated, truncated, _ = env.step(stretched(policy(seen[None])[0], env.action_space))
        time, over = time + env.unwrapped.dt, terminated or truncated
        if start + len(frames) / rate <= time:
            frames.append(Image.fromarray(env.render()))
    env.close()
    if not frames:
        raise SystemExit(f"{policy.task}: the episode was over before {start:g} s")
    frames[0].save(out, save_all=True, append_images=frames[1:], duration=round(1000 / rate), loop=0, quality=30)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="+", metavar="POLICY.npz")
    parser.add_argument("--simulator", nargs="+", default=["manyworlds"], choices=["manyworlds", "gymnasium"])
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--settings", default="{}", metavar="JSON", type=json.loads, help="further arguments of the environments here")
    parser.add_argument("--refine", type=int, default=1, help="how many times shorter Gymnasium's time steps are than its own")
    parser.add_argument("--film", default=None, metavar="OUT", help="an animated picture (.gif, .webp) of the first policy instead")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    if asked.film:
        film(Policy(asked.policies[0]), asked.film, **asked.settings)
        return
    for path in asked.policies:
        policy = Policy(path)
        for simulator in asked.simulator:
            settings = asked.settings if simulator == "manyworlds" else {"refine": asked.refine}
            found, _ = play(policy, simulator, asked.episodes, **settings)
            told = f"return {found.mean():.0f}, from {found.min():.0f} to {found.max():.0f}"
            print(f"{path}, {policy.task} in {simulator}: {told}", flush=True)


if __name__ == "__main__":
    main()
