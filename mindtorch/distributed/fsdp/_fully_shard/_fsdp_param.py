"""Sharded parameters: each process keeps one part."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...._dispatch.aten import cat
from ...._tensor import Tensor
from ....nn.module import Module
from ....nn.parameter import Parameter
from ...device_mesh import DeviceMesh
from ...tensor._api import DTensor
from ...tensor._dispatch import spec_of
from ...tensor._dtensor_spec import DTensorSpec
from ...tensor.placement_types import Placement, Replicate, Shard, _StridedShard, local_size_and_offset


@dataclass
class ParamModuleInfo:
    """The module and the name that have a parameter, and further ones if it is tied."""

    module: Module
    param_name: str
    shared_modules: list[Module] = field(default_factory=list)
    shared_param_names: list[str] = field(default_factory=list)

    def places(self) -> list[tuple[Module, str]]:
        """Return all modules and names."""
        return [(self.module, self.param_name), *zip(self.shared_modules, self.shared_param_names, strict=True)]


class FSDPParam:
    """A sharded parameter: a DTensor under each name that it has in the modules."""

    def __init__(self, info: ParamModuleInfo, mesh: DeviceMesh, dim: int):
        self.places, self.mesh, self.dim = info.places(), mesh, dim
        self._kept: Any = None  # the part, while the modules see the whole
        whole = self.sharded
        #: Where the parameter lies while it is whole, if it is divided already, as by tensor parallelism.
        self.inner: DTensorSpec | None = whole._spec if isinstance(whole, DTensor) else None
        local = whole._local_tensor if isinstance(whole, DTensor) else whole.detach()
        self.shape = tuple(local.shape)
        made = getattr(whole, "_sharded", None)  # a parameter tied to one of another group stays tied
        if made is None:
            length, start = self.rows(mesh.get_local_rank(mesh.ndim - 1))
            part = local.detach().narrow(dim, start, length).clone()
            made = Parameter(DTensor(part, self._spec(whole)), whole.requires_grad)
            whole._sharded = made
        for owner, name in self.places:
            owner._parameters[name] = made

    @property
    def sharded(self) -> Any:
        """The part as the modules have it, or had it before they saw the whole."""
        owner, name = self.places[0]
        return owner._parameters[name] if self._kept is None else self._kept

    def show(self, whole: Any) -> None:
        """Let the modules see the whole."""
        self._kept = self.sharded
        whole._is_param = True
        for owner, name in self.places:
            owner._parameters[name] = whole

    def hide(self) -> None:
        """Let the modules see the part."""
        if self._kept is not None:
            for owner, name in self.places:
                owner._parameters[name] = self._kept
            self._kept = None

    @property
    def ranks(self) -> int:
        """The number of processes that have parts."""
        return self.mesh.size(self.mesh.ndim - 1)

    def rows(self, rank: int) -> tuple[int, int]:
        """Return how many rows a process has, and the first."""
        return local_size_and_offset(self.shape[self.dim], self.ranks, rank)

    @property
    def chunk(self) -> tuple[int, ...]:
        """The shape of a part with zeros behind it, which is the same for all."""
        rows = -(-self.shape[self.dim] // self.ranks)
        return (*self.shape[:self.dim], rows, *self.shape[self.dim + 1:])

    def _spec(self, whole: Any) -> DTensorSpec:
        placements: list[Placement] = [Replicate()] * (self.mesh.ndim - 1)
        if self.inner is None:
            return DTensorSpec(self.mesh, (*placements, Shard(self.dim)), spec_of(whole))
        root = self.inner.mesh._get_root_mesh()
        names = (*(self.mesh.mesh_dim_names or ()), *(self.inner.mesh.mesh_dim_names or ()))
        if root is not self.mesh._get_root_mesh() or len(names) < self.mesh.ndim + self.inner.mesh.ndim:
            raise ValueError("fully_shard of DTensors needs one mesh with names for both kinds of parallelism: take "
                             "mesh['dp'] and mesh['tp'] of init_device_mesh(..., mesh_dim_names=('dp', 'tp'))")
        parts = self.inner.parts(self.dim)
        own = Shard(self.dim) if parts == 1 else _StridedShard(self.dim, split_factor=parts)
        return DTensorSpec(root[names], (*placements, own, *self.inner.placements), self.inner.tensor_meta)

    def whole(self, parts: Tensor) -> Tensor:
        """Return the whole of all processes' parts, which lie in rows."""
        pieces = list(parts.reshape(self.ranks, *self.chunk).unbind(0))
        out = cat(pieces, self.dim)
        return out.narrow(self.dim, 0, self.shape[self.dim]) if out.shape[self.dim] > self.shape[self.dim] else out

    def given(self, tensor: Tensor) -> Tensor:
        """Return a whole as the modules see it: a DTensor if the parameter was one."""
        return tensor if self.inner is None else DTensor(
            tensor, DTensorSpec(self.inner.mesh, self.inner.placements,
                                self.inner.tensor_meta._replace(dtype=tensor.dtype)))

    def gradient(self, gradient: Any) -> Tensor:
        """Return this process's gradient of the whole."""
        if isinstance(gradient, DTensor):
            assert self.inner is not None
            if gradient.placements != self.inner.placements:
                gradient = gradient.redistribute(placements=self.inner.placements)
            return gradient._local_tensor
        return gradient
