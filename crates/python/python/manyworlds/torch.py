"""Steps with gradients for PyTorch.

    q, v = manyworlds.torch.step(batch, q, v, ctrl)             # as often as you like, one after the other
    q, v, act = manyworlds.torch.step(batch, q, v, ctrl, act)   # of a model whose actuators have activations
    loss(q, v).backward()
"""

try:
    import torch
except ImportError as error:
    raise ImportError("manyworlds.torch needs PyTorch: pip install torch") from error
from torch.autograd.function import once_differentiable

__all__ = ["step"]


def step(batch, q, v, ctrl, act=None):
    """One step of all worlds of a batch of one model, from q, v and act, as a differentiable function.

    q `(worlds, n_q)`, v `(worlds, n_v)`, ctrl `(worlds, n_u)`, act `(worlds, n_act)`: tensors. Gives q and v after the step, and
    act where that is given, as tensors of the batch's precision on the device of q. Every step starts afresh: impulses of the
    step before are not remembered, so that the result is a function of the arguments alone (and of forces that the batch has, and
    of its activations where act is not given: these count as constant). Gradients are by coordinates: those by a quaternion are at
    right angles to it.

    A gradient in doubt, `valid` false in `KeptStep.vjp`, is given as it is; what is not finite counts as zero.
    """
    return _Step.apply(batch, q, v, ctrl, act)


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, batch, q, v, ctrl, act):
        ctx.set_materialize_grads(False)
        start = _host(q)
        batch.keep_steps(True)
        batch.set_state(start, _host(v), act=None if act is None else _host(act))
        batch.step(_host(ctrl))
        end = batch.q
        ctx.batch, ctx.start, ctx.end = batch, start, end
        ctx.like = [(given.dtype, given.device) for given in (q, v, ctrl, act) if given is not None]
        ctx.kept = batch.kept_step() if any(ctx.needs_input_grad) else None
        after = (end, batch.v) if act is None else (end, batch.v, batch.act)
        return tuple(_tensor(array, q.device) for array in after)

    @staticmethod
    @once_differentiable
    def backward(ctx, by_q, by_v, by_act=None):
        if by_q is None and by_v is None and by_act is None:
            return None, None, None, None, None
        by_q = None if by_q is None else ctx.batch.to_tangent(ctx.end, _host(by_q))
        found = ctx.kept.vjp(by_q, *(None if given is None else _host(given) for given in (by_v, by_act)))
        by_start = ctx.batch.from_tangent(ctx.start, found.q)
        gradients = zip((by_start, found.v, found.ctrl, found.act), ctx.like)
        gradients = [torch.from_numpy(array).to(device, dtype) for array, (dtype, device) in gradients]
        return None, *gradients, *([None] if len(gradients) < 4 else [])


def _host(tensor):
    """A tensor's numbers in main memory, where they lie if they are there."""
    return torch.as_tensor(tensor).detach().cpu().contiguous().numpy()


def _tensor(array, device):
    return torch.from_numpy(array).to(device)
