"""Proximal policy optimization (Schulman et al. 2017) in one file, in the manner of CleanRL, on many environments at once.

    pip install './crates/python[gymnasium,torch]'
    python examples/python/ppo.py --task HalfCheetah --minutes 5
    python examples/python/ppo.py --task HalfCheetah --minutes 5 --simulator gymnasium   # the same on Gymnasium's own

Prints the mean return of the episodes that ended since the line before, and writes the lines to --out as CSV. In the end the
policy is played, without noise, in the simulators of --play.
"""

import argparse
import csv
import json
import math
import time
import warnings

import gymnasium
import manyworlds  # noqa: F401 (registers the environments)
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import nn

TRACE, CLIP, ENTROPY, VALUE, NORM = 0.95, 0.2, 0.0, 0.5, 0.5


def make(simulator, task, num_envs, threads=None, options={}):
    """Environments of one of the simulators, on so many threads; None: all there are. Options are Gymnasium's arguments."""
    settings = {"autoreset_mode": AutoresetMode.SAME_STEP}
    if simulator == "manyworlds":
        name, mode = f"manyworlds/{task}-v0", "vector_entry_point"
        return gymnasium.make_vec(name, num_envs=num_envs, vectorization_mode=mode, threads=threads, **settings, **options)
    mode = "sync" if threads == 1 else "async"
    return gymnasium.make_vec(f"{task}-v5", num_envs=num_envs, vectorization_mode=mode, vector_kwargs=settings, **options)


def stretched(actions, space):
    """Actions of -1 to 1 over the range of the environment's; what is beyond is clipped."""
    middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2
    return middle + half * actions.clip(-1, 1)


class Normalizer:
    """Running mean and variance of rows (Chan et al. 1979)."""

    def __init__(self, width):
        self.mean, self.variance, self.count = np.zeros(width), np.ones(width), 1e-4

    def update(self, rows):
        mean, variance, count = rows.mean(axis=0), rows.var(axis=0), len(rows)
        change, total = mean - self.mean, self.count + count
        self.mean = self.mean + change * count / total
        sums = self.variance * self.count + variance * count + change**2 * self.count * count / total
        self.variance, self.count = sums / total, total

    def __call__(self, rows):
        return torch.from_numpy(((rows - self.mean) / np.sqrt(self.variance + 1e-8)).clip(-10, 10).astype(np.float32))


def network(widths, scale):
    layers = []
    for number, (n, m) in enumerate(zip(widths, widths[1:])):
        last = number == len(widths) - 2
        layer = nn.Linear(n, m)
        nn.init.orthogonal_(layer.weight, scale if last else 2**0.5)
        nn.init.zeros_(layer.bias)
        layers += [layer] if last else [layer, nn.Tanh()]
    return nn.Sequential(*layers)


class Agent(nn.Module):
    def __init__(self, n_seen, n_action, width, deviation):
        super().__init__()
        self.policy, self.value = network([n_seen, width, width, n_action], 0.01), network([n_seen, width, width, 1], 1.0)
        self.log_deviation = nn.Parameter(torch.full((n_action,), math.log(deviation)))

    def distribution(self, seen):
        return torch.distributions.Normal(self.policy(seen), self.log_deviation.exp())


def save(path, task, options, agent, look):
    """Writes the policy, float16 and what it needs of the observations' scale, for play.py."""
    layers = [layer for layer in agent.policy if isinstance(layer, nn.Linear)]
    parts = {"task": task, "options": json.dumps(options), "mean": look.mean.astype(np.float32), "deviation": np.sqrt(look.variance + 1e-8).astype(np.float32)}
    for number, layer in enumerate(layers):
        parts[f"weight{number}"] = layer.weight.detach().numpy().astype(np.float16)
        parts[f"bias{number}"] = layer.bias.detach().numpy().astype(np.float16)
    np.savez_compressed(path, **parts)


def play(simulator, task, options, agent, look, episodes=16):
    """Returns of the policy's mean action, from as many starts."""
    envs = make(simulator, task, episodes, options=options)
    raw, _ = envs.reset(seed=1000)
    returns, running = np.zeros(episodes), np.ones(episodes, bool)
    while running.any():
        with torch.no_grad():
            action = stretched(agent.policy(look(raw)).numpy(), envs.single_action_space)
        raw, reward, terminated, truncated, _ = envs.step(action)
        returns += reward * running
        running &= ~(terminated | truncated)
    envs.close()
    return returns


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="HalfCheetah")
    parser.add_argument("--simulator", default="manyworlds", choices=["manyworlds", "gymnasium"])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--num-steps", type=int, default=128, help="of each environment between updates")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--width", type=int, default=64, help="of the networks' two hidden layers")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--discount", type=float, default=0.99)
    parser.add_argument("--deviation", type=float, default=0.5, help="of actions at first; their range is from -1 to 1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=None, help="of the environments; 1: Gymnasium's take turns in this process")
    parser.add_argument(
        "--clock",
        default="wall",
        choices=["wall", "processor"],
        help="processor: time that this process computes, which is that of the clock where it has one thread and a core to itself",
    )
    parser.add_argument("--options", default="{}", metavar="JSON", type=json.loads, help="arguments of the environment")
    parser.add_argument("--save", default=None, metavar="POLICY.npz")
    parser.add_argument("--out", default=None)
    parser.add_argument("--play", nargs="*", default=["manyworlds"], choices=["manyworlds", "gymnasium"])
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.manual_seed(asked.seed)
    # Networks this small gain nothing by threads, which the simulation needs.
    torch.set_num_threads(1)

    clock = {"wall": time.perf_counter, "processor": time.process_time}[asked.clock]
    envs = make(asked.simulator, asked.task, asked.num_envs, asked.threads, asked.options)
    n, steps = asked.num_envs, asked.num_steps
    n_seen, n_action = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]
    agent, look = Agent(n_seen, n_action, asked.width, asked.deviation), Normalizer(n_seen)
    optimizer = torch.optim.Adam(agent.parameters(), asked.learning_rate, eps=1e-5)
    # Rewards are divided by the deviation of their discounted sums.
    sums, spread = np.zeros(n), Normalizer(1)
    returns, ended, rows = np.zeros(n), [], []
    raw, _ = envs.reset(seed=asked.seed)
    look.update(raw)
    begin, taken = clock(), 0
    while clock() - begin < 60 * asked.minutes:
        seen, actions = torch.zeros(steps, n, n_seen), torch.zeros(steps, n, n_action)
        chances, values, nexts = torch.zeros(steps, n), torch.zeros(steps, n), torch.zeros(steps, n)
        rewards, stops = torch.zeros(steps, n), torch.zeros(steps, n)
        with torch.no_grad():
            for step in range(steps):
                seen[step] = look(raw)
                distribution = agent.distribution(seen[step])
                actions[step] = distribution.sample()
                chances[step] = distribution.log_prob(actions[step]).sum(1)
                raw, reward, terminated, truncated, info = envs.step(stretched(actions[step].numpy(), envs.single_action_space))
                over = terminated | truncated
                # The value of what came next is that of the episode's own last look, and nothing where it is lost.
                after = raw.copy()
                if over.any():
                    after[over] = np.stack(list(info["final_obs"][over]))
                nexts[step] = agent.value(look(after))[:, 0] * torch.from_numpy(~terminated)
                stops[step] = torch.from_numpy(over)
                returns += reward
                sums = sums * asked.discount + reward
                spread.update(sums[:, None])
                rewards[step] = torch.from_numpy((reward / np.sqrt(spread.variance + 1e-8)).clip(-10, 10))
                ended.extend(returns[over])
                returns[over] = sums[over] = 0
                look.update(raw)
            values = agent.value(seen)[..., 0]
            advantages, trace = torch.zeros(steps, n), torch.zeros(n)
            for step in reversed(range(steps)):
                error = rewards[step] + asked.discount * nexts[step] - values[step]
                trace = error + asked.discount * TRACE * (1 - stops[step]) * trace
                advantages[step] = trace
        taken += steps * n
        flat = [x.reshape(steps * n, *x.shape[2:]) for x in (seen, actions, chances, advantages, advantages + values)]
        for group in optimizer.param_groups:
            group["lr"] = asked.learning_rate * max(0.05, 1 - (clock() - begin) / (60 * asked.minutes))
        for _ in range(asked.epochs):
            for chosen in torch.randperm(steps * n).chunk(asked.batches):
                own_seen, own_actions, own_chances, own_advantages, own_returns = (x[chosen] for x in flat)
                distribution = agent.distribution(own_seen)
                ratio = (distribution.log_prob(own_actions).sum(1) - own_chances).exp()
                own_advantages = (own_advantages - own_advantages.mean()) / (own_advantages.std() + 1e-8)
                gain = torch.min(ratio * own_advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * own_advantages).mean()
                missed = (agent.value(own_seen)[:, 0] - own_returns).square().mean()
                loss = VALUE * missed - gain - ENTROPY * distribution.entropy().sum(1).mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), NORM)
                optimizer.step()
        if ended:
            row = {"seconds": clock() - begin, "steps": taken, "return": float(np.mean(ended))}
            print("{seconds:7.1f} s {steps:10d} steps, return {return:8.1f}".format(**row), flush=True)
            rows.append(row)
            ended = []
    envs.close()
    if asked.save:
        save(asked.save, asked.task, asked.options, agent, look)
    for simulator in asked.play:
        found = play(simulator, asked.task, asked.options, agent, look)
        print(f"played in {simulator}: return {found.mean():.0f}, from {found.min():.0f} to {found.max():.0f}")
    if asked.out:
        with open(asked.out, "w", newline="") as file:
            writer = csv.DictWriter(file, ["seconds", "steps", "return"])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
