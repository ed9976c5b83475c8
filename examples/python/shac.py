"""Short-horizon actor-critic (Xu et al. 2022): HalfCheetah learns by the gradient of its rewards through the simulation.

    pip install './crates/python[gymnasium,torch]' 'gymnasium[mujoco]'      # the model's file is Gymnasium's
    python examples/python/shac.py --minutes 5

The policy goes up the gradient of the rewards of a few steps and of the value of where they lead, through contacts as well. Observations,
rewards and starts are those of ppo.py's HalfCheetah; episodes start at different times. Prints the mean return of the episodes that ended
since the line before, and writes the lines to --out as CSV.
"""

import argparse
import csv
import time
from pathlib import Path

import gymnasium
import manyworlds as mw
import numpy as np
import torch
from torch import nn

FRAME_SKIP, LENGTH, DISCOUNT, TRACE = 5, 1000, 0.99, 0.95


def network(widths):
    layers = []
    for n, m in zip(widths[:-2], widths[1:-1]):
        layers += [nn.Linear(n, m), nn.ELU(), nn.LayerNorm(m)]
    return nn.Sequential(*layers, nn.Linear(widths[-2], widths[-1]))


class Scale:
    """Running mean and variance of observations."""

    def __init__(self, width):
        self.mean, self.variance, self.count = torch.zeros(width), torch.ones(width), 1e-4

    def update(self, rows):
        mean, variance, n = rows.mean(0), rows.var(0, correction=0), len(rows)
        change, total = mean - self.mean, self.count + n
        self.mean = self.mean + change * n / total
        self.variance = (self.variance * self.count + variance * n + change**2 * self.count * n / total) / total
        self.count = total

    def __call__(self, seen):
        return ((seen - self.mean) / (self.variance + 1e-8).sqrt()).clip(-10, 10)


def shorten(gradient):
    """A world's gradient to 3 times the median world's at most: impacts in a row make some a thousand times longer."""
    length = gradient.norm(dim=1, keepdim=True)
    return gradient * (3 * length.median() / length.clip(min=1e-300)).clip(max=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--worlds", type=int, default=16)
    parser.add_argument("--horizon", type=int, default=16, help="steps of the environment that gradients go back through")
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--clock", default="wall", choices=["wall", "processor"], help="as of ppo.py")
    parser.add_argument("--out", default=None)
    asked = parser.parse_args()
    torch.manual_seed(asked.seed)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    clock = {"wall": time.perf_counter, "processor": time.process_time}[asked.clock]

    file = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / "half_cheetah.xml"
    model, n = mw.load(file), asked.worlds
    batch = mw.Batch(model, n, executor="cpu", precision="f64", threads=asked.threads)
    policy, value = network([17, 64, 64, 6]), network([17, 64, 64, 1])
    slow = network([17, 64, 64, 1])
    slow.load_state_dict(value.state_dict())
    deviation = nn.Parameter(torch.full((6,), -0.5))
    learner = torch.optim.Adam([*policy.parameters(), deviation], asked.learning_rate, betas=(0.7, 0.95))
    critic = torch.optim.Adam(value.parameters(), asked.learning_rate, betas=(0.7, 0.95))
    look = Scale(17)

    def start(count):
        return torch.tensor(model.initial_q) + 0.1 * (2 * torch.rand(count, 9) - 1), 0.1 * torch.randn(count, 9)

    q, v = start(n)
    ages, returns, ended, rows = torch.randint(LENGTH, (n,)), torch.full((n,), torch.nan), [], []
    begin, taken = clock(), 0
    while (passed := clock() - begin) < 60 * asked.minutes:
        left = 1 - passed / (60 * asked.minutes)
        learner.param_groups[0]["lr"] = critic.param_groups[0]["lr"] = asked.learning_rate * max(left, 0.05)
        q, v = q.detach(), v.detach()
        look.update(torch.cat([q[:, 1:], v], 1))
        gain, weight = 0.0, torch.ones(n)
        window = {"seen": [], "rewards": [], "nexts": [], "cut": []}
        for step in range(asked.horizon):
            seen = look(torch.cat([q[:, 1:], v], 1))
            action = torch.tanh(policy(seen) + deviation.exp() * torch.randn(n, 6))
            action.register_hook(shorten)
            x = q[:, 0]
            for _ in range(FRAME_SKIP):
                q, v = mw.torch.step(batch, q, v, action)
            reward = (q[:, 0] - x) / (FRAME_SKIP * model.timestep) - 0.1 * action.square().sum(1)
            gain = gain + (weight * reward).sum()
            weight = weight * DISCOUNT
            after = slow(look(torch.cat([q[:, 1:], v], 1)))[:, 0]
            ages, returns = ages + 1, returns + reward.detach()
            over = ages >= LENGTH
            # Where the time is over, or the window, the value stands for what would come.
            last = over | (step == asked.horizon - 1)
            gain = gain + (weight * after * last).sum()
            for name, part in [("seen", seen), ("rewards", reward), ("nexts", after), ("cut", last)]:
                window[name].append(part.detach())
            if over.any():
                ended += [x for x in returns[over].tolist() if not np.isnan(x)]
                new_q, new_v = start(n)
                q, v = torch.where(over[:, None], new_q, q), torch.where(over[:, None], new_v, v)
                weight = torch.where(over, 1.0, weight)
                returns, ages = torch.where(over, 0.0, returns), torch.where(over, 0, ages)
        taken += n * asked.horizon
        learner.zero_grad()
        (-gain / (n * asked.horizon)).backward()
        nn.utils.clip_grad_norm_([*policy.parameters(), deviation], 1.0)
        learner.step()

        # Values are fitted to the rewards seen and what is thought of the rest (TD-lambda).
        targets, target = [], window["nexts"][-1]
        for step in reversed(range(asked.horizon)):
            after, cut = window["nexts"][step], window["cut"][step]
            target = window["rewards"][step] + DISCOUNT * torch.where(cut, after, (1 - TRACE) * after + TRACE * target)
            targets.append(target)
        seen, targets = torch.cat(window["seen"]), torch.cat(targets[::-1])
        for _ in range(4):
            for chosen in torch.randperm(len(seen)).chunk(4):
                critic.zero_grad()
                (value(seen[chosen])[:, 0] - targets[chosen]).square().mean().backward()
                nn.utils.clip_grad_norm_(value.parameters(), 1.0)
                critic.step()
        with torch.no_grad():
            for own, new in zip(slow.parameters(), value.parameters()):
                own.lerp_(new, 0.2)
        if len(ended) >= n:
            rows.append({"seconds": clock() - begin, "steps": taken, "return": float(np.mean(ended))})
            print("{seconds:7.1f} s {steps:10d} steps, return {return:8.1f}".format(**rows[-1]), flush=True)
            ended = []
    if asked.out:
        with open(asked.out, "w", newline="") as file:
            writer = csv.DictWriter(file, ["seconds", "steps", "return"])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
