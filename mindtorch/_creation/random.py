"""New tensors of random numbers: ``rand``, ``randn``, ``randint``, ``randperm``, ``normal``, ``*_like``.

All draw in place, into a new tensor or into ``out=``, in the order of its memory.
"""
from __future__ import annotations

from typing import Any

from .._device import CPU
from .._dispatch.aten import normal_, random__from, resize_, uniform_
from .._dispatch.dispatcher import refuse_random_out
from .._dispatch.factory import Factory
from .._dispatch.keys import AUTOGRAD
from .._tensor import Tensor
from .functions import copied, factory


def _drawn(factory: Factory, out: Tensor, given: dict[str, Any]) -> Tensor:
    """Draw into ``out``, brought to the size. Raises RuntimeError if it requires grad."""
    refuse_random_out()
    if out._keys & AUTOGRAD:
        raise RuntimeError(f"aten::{factory.packet}(): functions with out=... arguments don't support automatic "
                           "differentiation, but one of the arguments requires grad.")
    if out.shape != given["size"]:
        resize_(out, given["size"])
    chosen = () if (generator := given.get("generator")) is None else (generator,)  # calls without one have plans
    if factory.packet == "rand":
        return uniform_(out, 0.0, 1.0, *chosen)
    if factory.packet == "randint":
        return random__from(out, given.get("low", 0), given["high"], *chosen)
    return normal_(out, given.get("mean", 0.0), given.get("std", 1.0), *chosen)


rand = factory("rand", _drawn)
randn = factory("randn", _drawn)
randint = factory("randint", _drawn)
randperm = factory("randperm", copied)
normal = factory("normal", _drawn, device=CPU)  # whatever the default device is, as in PyTorch
rand_like = factory("rand_like")
randn_like = factory("randn_like")
randint_like = factory("randint_like")
