"""``torch.distributed.tensor.experimental``: plain tensors among DTensors, functions of parts, rules of one's own."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..._base.interrupts import contextmanager
from ..device_mesh import DeviceMesh
from . import _dispatch
from ._api import DTensor
from ._ops.rows import RULES, Call, Row
from .placement_types import Placement

__all__ = ["implicit_replication", "local_map", "register_sharding"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Treat plain tensors among DTensors as replicated, in the block
    (``torch.distributed.tensor.experimental.implicit_replication``).
    """
    before = _dispatch.implicit_replication.set(True)
    try:
        yield
    finally:
        _dispatch.implicit_replication.reset(before)


def local_map(func: Callable[..., Any], out_placements: Any, in_placements: Sequence[Any] | None = None,
              in_grad_placements: Sequence[Any] | None = None, device_mesh: DeviceMesh | None = None, *,
              redistribute_inputs: bool = False) -> Callable[..., Any]:
    """Return a function of DTensors that calls ``func`` with this process's parts
    (``torch.distributed.tensor.experimental.local_map``).

    Args:
        func: takes and returns plain tensors.
        out_placements: how the outputs make the whole: placements, or a tuple of them for several outputs; None for
            what is no tensor.
        in_placements: how each argument must lie; None for what is no DTensor.
        in_grad_placements: how the arguments' gradients lie.
        device_mesh: the mesh; that of the arguments unless given.
        redistribute_inputs: redistribute arguments that lie otherwise, which is else an error.

    Raises:
        ValueError: if an argument lies otherwise.
    """

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        mesh, parts = device_mesh, []
        for index, arg in enumerate(args):
            if not isinstance(arg, DTensor):
                parts.append(arg)
                continue
            mesh = mesh or arg.device_mesh
            wanted = None if in_placements is None else in_placements[index]
            if wanted is not None and arg.placements != tuple(wanted):
                if not redistribute_inputs:
                    raise ValueError(f"arg {arg} in local_map has a mismatched placements: arg placements is "
                                     f"{arg.placements} but the input placements is {wanted}! If redistribute_inputs "
                                     "is wanted, set redistribute_inputs=True to local_map.")
                arg = arg.redistribute(placements=wanted)
            grads = None if in_grad_placements is None else in_grad_placements[index]
            parts.append(arg.to_local(grad_placements=grads))
        out = func(*parts, **kwargs)
        if mesh is None:
            return out
        several = isinstance(out, (tuple, list))
        lie = [out_placements] if not several or isinstance(out_placements[0], Placement) else out_placements
        made = [value if place is None else DTensor.from_local(value, mesh, place)
                for value, place in zip(out if several else [out], lie * (len(out) if several and len(lie) == 1 else 1),
                                        strict=True)]
        return type(out)(made) if several else made[0]

    return call


def register_sharding(op: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a rule for operators (``torch.distributed.tensor.experimental.register_sharding``): called with the
    operator's arguments, with specs in the place of tensors, it returns pairs of the outputs' and inputs' placements,
    of which each is a way to run it on one dimension of a mesh.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def rule(call: Call) -> Iterator[Row]:
            specs = iter(call.specs)
            given = _dispatch.each_tensor(dict(call.args), lambda name, tensor: next(specs))
            for outputs, inputs in function(*given.values()):
                yield Row(tuple(outputs), tuple(place for place in inputs if place is not None))

        for overload in op if isinstance(op, (list, tuple)) else [op]:
            RULES[_dispatch.base_name(overload)] = rule
        return function

    return register
