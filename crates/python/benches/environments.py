"""Steps a second of environments with random actions: ours, EnvPool's and Gymnasium's own, in turns on one machine.

    pip install './crates/python[gymnasium]' 'gymnasium[mujoco]' envpool
    python crates/python/benches/environments.py --envs 256 --rounds 5

Each round runs each contender for a while, so that what else the machine does hits all of them; the median counts. Random actions
are drawn before the clock starts. "core us" is what a step of one environment takes of all cores together, which other programs
change little: they take turns at cores. The last column is the fixed cost of a call from Python: a step of one inverted pendulum,
all of it, beside the time of a step of all environments.
"""

import argparse
import os
import statistics
import time
import warnings

import gymnasium
import manyworlds  # noqa: F401 (registers the environments)
import numpy as np

# Actions that are drawn before, and taken again and again.
DRAWN = 64


def ours(task, envs, precision):
    made = gymnasium.make_vec(
        f"manyworlds/{task}-v0", num_envs=envs, vectorization_mode="vector_entry_point", executor="cpu", precision=precision
    )
    made.reset(seed=0)
    return made, made.step


def envpools(task, envs):
    import envpool

    made = envpool.make_gymnasium(f"{task}-v5", num_envs=envs, num_threads=os.cpu_count(), seed=0)
    made.reset()
    return made, made.step


def gymnasiums(task, envs, mode):
    made = gymnasium.make_vec(f"{task}-v5", num_envs=envs, vectorization_mode=mode)
    made.reset(seed=0)
    return made, made.step


def actions(made, envs, dtype):
    space = made.action_space
    low, high = np.broadcast_to(space.low, (envs, space.shape[-1])), np.broadcast_to(space.high, (envs, space.shape[-1]))
    rng = np.random.default_rng(1)
    return [rng.uniform(low, high).astype(dtype) for _ in range(DRAWN)]


def rate(step, drawn, envs, seconds):
    """Steps of environments a second; of the call, us; of a step on all cores together, us."""
    begin, busy, count = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - begin < seconds:
        step(drawn[count % DRAWN])
        count += 1
    passed, busy = time.perf_counter() - begin, time.process_time() - busy
    return envs * count / passed, 1e6 * passed / count, 1e6 * busy / (envs * count)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=["HalfCheetah", "Ant", "Humanoid"])
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each contender in each round")
    parser.add_argument("--without", nargs="*", default=[], choices=["envpool", "sync"])
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")

    pendulum, call = ours("InvertedPendulum", 1, "f32")
    rates = [rate(call, actions(pendulum, 1, np.float32), 1, 0.5)[1] for _ in range(3)]
    fixed = min(rates)

    print(f"{asked.envs} environments, {os.cpu_count()} threads, random actions, median of {asked.rounds} rounds")
    print(f"{'task':14}{'contender':16}{'steps/s':>12}{'ratio':>8}{'us/call':>10}{'core us':>10}{'ratio':>8}{'fixed cost':>12}")
    for task in asked.tasks:
        contenders = {"ours, f32": ours(task, asked.envs, "f32"), "ours, f64": ours(task, asked.envs, "f64")}
        if "envpool" not in asked.without:
            contenders["EnvPool"] = envpools(task, asked.envs)
        if "sync" not in asked.without:
            contenders["Gymnasium sync"] = gymnasiums(task, asked.envs, "sync")
        runs = {}
        for name, (made, step) in contenders.items():
            dtype = {"ours, f32": np.float32, "EnvPool": made.action_space.dtype}.get(name, np.float64)
            runs[name] = (step, actions(made, asked.envs, dtype), [])
        for _ in range(asked.rounds):
            for step, drawn, found in runs.values():
                found.append(rate(step, drawn, asked.envs, asked.seconds))
        first, first_busy = (statistics.median(column) for column in list(zip(*runs["ours, f32"][2]))[::2])
        for name, (_, _, found) in runs.items():
            steps, micros, busy = (statistics.median(column) for column in zip(*found))
            cost = f"{100 * fixed / micros:.1f} %" if name.startswith("ours") else ""
            ratios = f"{steps:12.0f}{first / steps:8.1f}{micros:10.0f}{busy:10.2f}{busy / first_busy:8.1f}"
            print(f"{task:14}{name:16}{ratios}{cost:>12}")


if __name__ == "__main__":
    main()
