"""``torch.distributed.tensor.debug``: what is communicated, and what lies where."""
from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ...library import ops
from ...utils._python_dispatch import TorchDispatchMode
from ._api import DTensor
from ._dtensor_spec import local_shape_and_offset

__all__ = ["CommDebugMode", "visualize_sharding"]


class CommDebugMode(TorchDispatchMode):
    """Counts the collectives of a block (``torch.distributed.tensor.debug.CommDebugMode``).

    ``get_comm_counts()`` has them by their operators in ``torch.ops.c10d_functional``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.comm_counts: Counter[Any] = Counter()

    def __enter__(self) -> CommDebugMode:
        self.comm_counts.clear()
        super().__enter__()
        return self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # first the DTensor, whose collectives come back here
        namespace, _, name = func._schema.name.partition("::")
        if namespace == "_c10d_functional" and name != "wait_tensor":
            self.comm_counts[getattr(ops.c10d_functional, name)] += 1
        return func(*args, **(kwargs or {}))

    def get_total_counts(self) -> int:
        """Return the number of collectives."""
        return self.comm_counts.total()

    def get_comm_counts(self) -> Counter[Any]:
        """Return the numbers of collectives by their operators: 0 for others."""
        return Counter(self.comm_counts)


def visualize_sharding(dtensor: DTensor, header: str = "", use_rich: bool = False) -> None:
    """Print which process has which elements of a DTensor of one or two dimensions
    (``torch.distributed.tensor.debug.visualize_sharding``).
    """
    if dtensor.dim() not in (1, 2):
        raise RuntimeError("visualize sharding supports only 1D or 2D DTensor")
    mesh = dtensor.device_mesh
    rows: dict[Any, list[int]] = {}
    for place in np.ndindex(*mesh.shape):
        shape, offset = local_shape_and_offset(dtensor.shape, mesh, dtensor.placements, place)
        part = tuple((start, start + length - 1) for start, length in zip(offset, shape, strict=True))
        rows.setdefault(part, []).append(int(mesh._ranks[place]))
    if header:
        print(header)
    for part, ranks in sorted(rows.items()):
        where = ", ".join(f"{'row' if dim == 0 else 'column'} {low}-{high}" for dim, (low, high) in enumerate(part))
        print(f"{where}: {mesh.device_type}:{', '.join(map(str, ranks))}")
