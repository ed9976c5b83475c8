"""Rollouts from many processes, on one machine or on a cluster, by Ray: each worker has a batch of environments of its own.

    pip install './crates/python[gymnasium,ray]'
    python examples/python/ray_rollouts.py --workers 2
    python examples/python/ray_rollouts.py --workers 2 --kill      # kills a worker while it works: the same numbers come out

Work is handed out in pieces, which have numbers. A piece counts when its result is here, so none counts twice; that of a worker that
died is handed out again. The number of a piece is its seed: its result is the same whoever does it.
"""

import argparse
import json
import os
import signal
import time
from collections import deque

import gymnasium
import numpy as np
import ray
from gymnasium.vector import AutoresetMode


@ray.remote(num_cpus=1)
class Worker:
    """Many environments in a process."""

    def __init__(self, task, num_envs):
        import manyworlds  # noqa: F401 (registers the environments)

        settings = {"autoreset_mode": AutoresetMode.SAME_STEP, "executor": "cpu", "threads": 1}
        self.envs = gymnasium.make_vec(f"manyworlds/{task}-v0", num_envs, "vector_entry_point", **settings)

    def process(self):
        return os.getpid()

    def collect(self, piece, policy, steps):
        """So many steps of all environments from new starts: arrays whose first axes are step and environment.

        policy: weights `(n_action, n_seen)` and deviation of the noise that is added to actions.
        """
        space, n = self.envs.single_action_space, self.envs.num_envs
        weights, deviation = policy
        rng = np.random.default_rng(piece)
        seen, _ = self.envs.reset(seed=piece * n)
        out = {"observations": np.empty((steps, *seen.shape), np.float32)}
        out["actions"] = np.empty((steps, n, *space.shape), np.float32)
        out["rewards"], out["over"] = np.empty((steps, n)), np.empty((steps, n), bool)
        for step in range(steps):
            out["observations"][step] = seen
            chosen = seen @ weights.T + deviation * rng.normal(size=(n, *space.shape))
            out["actions"][step] = np.clip(chosen, space.low, space.high)
            seen, out["rewards"][step], terminated, truncated, _ = self.envs.step(out["actions"][step])
            out["over"][step] = terminated | truncated
        return out


class Workers:
    """Workers that are replaced when they die."""

    def __init__(self, count, task, num_envs):
        self.task, self.num_envs, self.lost = task, num_envs, 0
        self.idle, self.under_way = [self.new() for _ in range(count)], {}
        # Asked for before there is work: an actor answers one call after the other.
        self.processes = {worker: ray.get(worker.process.remote()) for worker in self.idle}

    def new(self):
        return Worker.remote(self.task, self.num_envs)

    def results(self, pieces, policy, steps):
        """Pieces and their results, as they are done: each once."""
        # Stored once for all workers.
        policy, waiting = ray.put(policy), deque(pieces)
        while waiting or self.under_way:
            while self.idle and waiting:
                worker, piece = self.idle.pop(), waiting.popleft()
                self.under_way[worker.collect.remote(piece, policy, steps)] = (worker, piece)
            [done], _ = ray.wait(list(self.under_way), num_returns=1)
            worker, piece = self.under_way.pop(done)
            try:
                result = ray.get(done)
            except (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError):
                self.lost += 1
                waiting.appendleft(piece)
                self.idle.append(self.new())
                continue
            self.idle.append(worker)
            yield piece, result

    def kill_one(self):
        """Ends the process of a worker that has a piece under way, as a machine that fails does."""
        worker, _ = next(iter(self.under_way.values()))
        os.kill(self.processes[worker], signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="HalfCheetah")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--num-envs", type=int, default=64, help="of each worker")
    parser.add_argument("--pieces", type=int, default=12)
    parser.add_argument("--steps", type=int, default=100, help="of each environment in a piece")
    parser.add_argument("--kill", action="store_true", help="kills a worker while it works")
    parser.add_argument("--address", default=None, help="of a cluster; without one, a cluster is started here")
    asked = parser.parse_args()
    if asked.address is None:
        ray.init(num_cpus=asked.workers, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    else:
        ray.init(address=asked.address)

    space = gymnasium.make_vec(f"manyworlds/{asked.task}-v0", 1, "vector_entry_point", executor="cpu")
    policy = np.zeros((space.single_action_space.shape[0], space.single_observation_space.shape[0])), 0.5
    workers = Workers(asked.workers, asked.task, asked.num_envs)
    begin, counted, steps, rewards = time.perf_counter(), [], 0, 0.0
    for piece, result in workers.results(range(asked.pieces), policy, asked.steps):
        counted.append(piece)
        steps += result["rewards"].size
        # Sums of what comes in any order differ by rounding: whole thousandths do not.
        rewards += int(round(1000 * result["rewards"].sum()))
        if asked.kill and len(counted) == 1:
            workers.kill_one()
    seconds = time.perf_counter() - begin
    told = {"pieces": sorted(counted), "steps": steps, "rewards": rewards / 1000, "lost": workers.lost, "seconds": round(seconds, 2)}
    print(json.dumps(told))
    ray.shutdown()


if __name__ == "__main__":
    import manyworlds  # noqa: F401 (registers the environments)

    main()
