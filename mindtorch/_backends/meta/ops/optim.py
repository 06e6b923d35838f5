"""Meta kernels of optimizer steps: they have no outputs, and check that the lists go together."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._errors import check
from . import META_KERNELS


def same_lengths(*lists: list[Any]) -> None:
    check(len({len(tensors) for tensors in lists}) == 1, lambda: "Tensor lists must have the same number of tensors, "
          f"got {', '.join(str(len(tensors)) for tensors in lists)}")


def fused(lists: int, optional: int = 0) -> Callable[..., None]:
    """The check of an operator whose first arguments are this many lists, of which one may be empty."""

    def check_lists(*args: Any) -> None:
        same_lengths(*(tensors for i, tensors in enumerate(args[:lists]) if tensors or i != optional))

    return check_lists


META_KERNELS.update({
    "_foreach_add_.Scalar": lambda self, scalar: None,
    "_fused_sgd_": fused(3, optional=2),
    "_fused_adam_": fused(6, optional=4),
    "_fused_adamw_": fused(6, optional=4),
    "_fused_adagrad_": fused(4),
})
