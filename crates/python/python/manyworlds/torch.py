"""Steps with gradients for PyTorch.

    q, v = manyworlds.torch.step(batch, q, v, ctrl)     # as often as you like, one after the other
    loss(q, v).backward()
"""

try:
    import torch
except ImportError as error:
    raise ImportError("manyworlds.torch needs PyTorch: pip install torch") from error
from torch.autograd.function import once_differentiable

__all__ = ["step"]


def step(batch, q, v, ctrl):
    """One step of all worlds of a batch of one model, from q and v, as a differentiable function.

    q `(worlds, n_q)`, v `(worlds, n_v)`, ctrl `(worlds, n_u)`: tensors. Gives q and v after the step, as tensors of the batch's
    precision on the device of q. Every step starts afresh: impulses of the step before are not remembered, so that the result is
    a function of the arguments alone (and of forces and activations that the batch has). Gradients are by coordinates:
    those by a quaternion are at right angles to it.

    A gradient in doubt, `valid` false in `KeptStep.vjp`, is given as it is; what is not finite counts as zero.
    """
    return _Step.apply(batch, q, v, ctrl)


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, batch, q, v, ctrl):
        ctx.set_materialize_grads(False)
        start = _host(q)
        batch.keep_steps(True)
        batch.set_state(start, _host(v))
        batch.step(_host(ctrl))
        end = batch.q
        ctx.batch, ctx.start, ctx.end = batch, start, end
        ctx.like = [(given.dtype, given.device) for given in (q, v, ctrl)]
        ctx.kept = batch.kept_step() if any(ctx.needs_input_grad) else None
        return _tensor(end, q.device), _tensor(batch.v, q.device)

    @staticmethod
    @once_differentiable
    def backward(ctx, by_q, by_v):
        if by_q is None and by_v is None:
            return None, None, None, None
        by_q = None if by_q is None else ctx.batch.to_tangent(ctx.end, _host(by_q))
        found = ctx.kept.vjp(by_q, None if by_v is None else _host(by_v))
        by_start = ctx.batch.from_tangent(ctx.start, found.q)
        gradients = zip((by_start, found.v, found.ctrl), ctx.like)
        return None, *(torch.from_numpy(array).to(device, dtype) for array, (dtype, device) in gradients)


def _host(tensor):
    """A tensor's numbers in main memory, where they lie if they are there."""
    return torch.as_tensor(tensor).detach().cpu().contiguous().numpy()


def _tensor(array, device):
    return torch.from_numpy(array).to(device)
