"""``torch.nn.parallel.scatter_gather``: batches split over devices, and results joined."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._device import device
from ..._dispatch.aten import cat, stack
from ..._tensor import Tensor
from ..._transforms.pytree import tree_flatten

__all__ = ["gather", "scatter", "scatter_kwargs"]
__dir__ = __all__.copy


def _place(target: Any) -> Any:
    return device("npu", target) if isinstance(target, int) else device(target)


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Split the tensors of a nested value into a part for each device; other objects are given to all
    (``torch.nn.parallel.scatter_gather.scatter``).
    """
    leaves, spec = tree_flatten(inputs)
    places = [_place(target) for target in target_gpus]
    split = [leaf.chunk(len(places), dim) if isinstance(leaf, Tensor) else [leaf] * len(places) for leaf in leaves]
    return [spec.unflatten([part.to(place) if isinstance(part, Tensor) else part for part in parts])
            for place, parts in zip(places, zip(*split, strict=False), strict=False)]


def scatter_kwargs(inputs: Any, kwargs: dict[str, Any] | None, target_gpus: Sequence[Any],
                   dim: int = 0) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Split positional and named arguments of a call into those of each device
    (``torch.nn.parallel.scatter_gather.scatter_kwargs``).
    """
    parts = scatter((tuple(inputs), kwargs or {}), target_gpus, dim) if inputs or kwargs else []
    return tuple(part[0] for part in parts), tuple(part[1] for part in parts)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Join the tensors of nested values along ``dim`` on a device; numbers of no dimension become a vector
    (``torch.nn.parallel.scatter_gather.gather``).
    """
    flat = [tree_flatten(output) for output in outputs]
    place = _place(target_device)

    def joined(parts: tuple[Any, ...]) -> Any:
        if not isinstance(parts[0], Tensor):
            return parts[0]
        moved = [part.to(place) for part in parts]
        return cat(moved, dim) if moved[0].dim() else stack(moved)

    return flat[0][1].unflatten(map(joined, zip(*(leaves for leaves, _ in flat), strict=True)))
