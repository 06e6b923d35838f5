"""Meta kernels of optimizer steps: they have no outputs, and check that the lists go together."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._base.errors import check
from ...._base.layout import broadcast_shapes
from . import META_KERNELS


def same_lengths(*lists: list[Any]) -> None:
    check(len({len(tensors) for tensors in lists}) == 1, lambda: "Tensor lists must have the same number of tensors, "
          f"got {', '.join(str(len(tensors)) for tensors in lists)}")


def same_shapes(self: list[Any], *lists: list[Any]) -> None:
    """Refuse what was kept for a parameter of another shape, in the words of the first operator that would meet it."""
    for other in lists:
        for param, tensor in zip(self, other, strict=False):
            if param.shape != tensor.shape:
                broadcast_shapes(tensor.shape, param.shape)  # raises, unless they differ by dimensions of size 1
                raise RuntimeError(f"output with shape {list(tensor.shape)} doesn't match the broadcast shape "
                                   f"{list(param.shape)}")


def fused(lists: int, optional: int = 0, steps: int = 1) -> Callable[..., None]:
    """The check of an operator whose first arguments are this many lists, of which one may be empty. The last are of
    numbers of steps, the others of tensors with the shapes of the parameters.
    """

    def check_lists(*args: Any) -> None:
        same_lengths(*(tensors for i, tensors in enumerate(args[:lists]) if tensors or i != optional))
        same_shapes(*args[:lists - steps])

    return check_lists


META_KERNELS.update({
    "_foreach_add_.Scalar": lambda self, scalar: None,
    "_fused_sgd_": fused(3, optional=2, steps=0),
    "_fused_adam_": fused(6, optional=4),
    "_fused_adamw_": fused(6, optional=4),
    "_fused_adagrad_": fused(4),
})
