"""``torch.distributed.tensor.placement_types``: how a tensor lies on the processes along one dimension of a mesh."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..._creation import arange
from ..._dispatch.aten import cat
from ..._tensor import Tensor
from .._functional_collectives import all_gather_tensor, all_reduce
from ..device_mesh import DeviceMesh

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor lies on processes (``torch.distributed.tensor.Placement``)."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Return True if it is divided (along ``dim``, if that is given)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Return True if every process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Return True if it is what the processes' tensors reduce to (by ``reduce_op``, if that is given)."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


def local_size_and_offset(size: int, parts: int, index: int) -> tuple[int, int]:
    """Return the size of a part and where it begins: parts are as ``torch.chunk`` makes them, the last may be empty."""
    chunk = -(-size // parts)
    start = min(index * chunk, size)
    return min(chunk, size - start), start


@dataclass(frozen=True)
class Shard(Placement):
    """Divided along a dimension into as many parts as there are processes (``torch.distributed.tensor.Shard``).

    Parts are those of ``torch.chunk``: the last ones may be smaller, or empty.
    """

    dim: int

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __str__(self) -> str:
        return f"S({self.dim})"

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """Return the size of a rank's part, and where it begins."""
        return local_size_and_offset(curr_local_size, num_chunks, rank)

    def _split_tensor(self, tensor: Tensor, num_chunks: int, *, with_padding: bool = True,
                      contiguous: bool = True) -> tuple[list[Tensor], list[int]]:
        """Return the parts, padded with zeros to equal sizes if asked, and how many rows were added to each."""
        size, parts, pads = tensor.shape[self.dim], [], []
        for rank in range(num_chunks):
            length, start = local_size_and_offset(size, num_chunks, rank)
            part = tensor.narrow(self.dim, start, length)
            pads.append(-(-size // num_chunks) - length)
            part = padded(part, self.dim, length + pads[-1]) if with_padding else part
            parts.append(part.contiguous() if contiguous else part)
        return parts, pads if with_padding and any(pads) else []

    def _to_replicate_tensor(self, local_tensor: Tensor, mesh: DeviceMesh, mesh_dim: int,
                             current_logical_shape: Sequence[int]) -> Tensor:
        """Return the whole of all processes' parts along a dimension of the mesh."""
        parts = self._split_tensor(arange(current_logical_shape[self.dim]).view(
            *(-1 if dim == self.dim else 1 for dim in range(local_tensor.dim()))), mesh.size(mesh_dim),
            with_padding=False)[0]
        rows = max(part.numel() for part in parts)
        pieces = all_gather_tensor(padded(local_tensor, self.dim, rows).contiguous(), self.dim, (mesh, mesh_dim)
                                   ).split(rows, self.dim)
        whole = cat([piece.narrow(self.dim, 0, part.numel()) for piece, part in zip(pieces, parts, strict=True)],
                    self.dim)
        return whole.index_select(self.dim, cat([part.reshape(-1) for part in parts], 0).argsort())


@dataclass(frozen=True, repr=False)
class _StridedShard(Shard):
    """A shard that is divided after the shards of later dimensions of the mesh: FSDP over tensor parallelism.

    ``split_factor`` is the number of parts that the later dimensions make first.
    """

    split_factor: int = 1

    def _split_tensor(self, tensor: Tensor, num_chunks: int, *, with_padding: bool = True,
                      contiguous: bool = True) -> tuple[list[Tensor], list[int]]:
        """Return the parts, a piece of each of those that later dimensions of the mesh make, without padding; and how
        many rows each lacks of the longest, if padding is asked for.
        """
        outer = Shard(self.dim)._split_tensor(tensor, self.split_factor, with_padding=False, contiguous=False)[0]
        columns = [Shard(self.dim)._split_tensor(part, num_chunks, with_padding=False, contiguous=False)[0]
                   for part in outer]
        parts = [cat(list(pieces), self.dim) for pieces in zip(*columns, strict=True)]
        rows = max(part.shape[self.dim] for part in parts)
        pads = [rows - part.shape[self.dim] for part in parts]
        return parts, pads if with_padding else []

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """On every process, all of it (``torch.distributed.tensor.Replicate``)."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Still to be reduced: "sum", "avg", "product", "min" or "max" of all processes' tensors
    (``torch.distributed.tensor.Partial``).
    """

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"

    def _reduce_value(self, tensor: Tensor, mesh: DeviceMesh, mesh_dim: int) -> Tensor:
        return all_reduce(tensor, self.reduce_op, (mesh, mesh_dim))

    def _partition_value(self, tensor: Tensor, mesh: DeviceMesh, mesh_dim: int) -> Tensor:
        """Return tensors that reduce to this one."""
        if self.reduce_op == "sum":
            return tensor / mesh.size(mesh_dim)
        if self.reduce_op == "product":
            raise NotImplementedError(f"a replicated tensor cannot become {self!r}")
        return tensor


_Partial = Partial  # the older name


@dataclass(frozen=True, repr=False)
class _NormPartial(Partial):
    """Norms of parts, which make the norm of the whole."""

    reduce_op: str = "sum"
    norm_type: float = 2.0

    def __repr__(self) -> str:
        return f"_NormPartial(reduce_op={self.reduce_op}, norm_type={self.norm_type})"

    def _reduce_value(self, tensor: Tensor, mesh: DeviceMesh, mesh_dim: int) -> Tensor:
        if self.norm_type == float("inf"):
            return all_reduce(tensor, "max", (mesh, mesh_dim))
        if self.norm_type == float("-inf"):
            return all_reduce(tensor, "min", (mesh, mesh_dim))
        if self.norm_type == 0:
            return all_reduce(tensor, "sum", (mesh, mesh_dim))
        return all_reduce(tensor ** self.norm_type, "sum", (mesh, mesh_dim)) ** (1 / self.norm_type)


def padded(tensor: Tensor, dim: int, size: int) -> Tensor:
    """Return a tensor with zeros behind it along a dimension, up to a size."""
    missing = size - tensor.shape[dim]
    if not missing:
        return tensor
    shape: list[Any] = list(tensor.shape)
    shape[dim] = size
    out = tensor.new_zeros(shape)
    out.narrow(dim, 0, tensor.shape[dim]).copy_(tensor)
    return out
