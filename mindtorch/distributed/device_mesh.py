"""``torch.distributed.device_mesh``: processes as an array, with a group of processes along each of its dimensions.

In ``init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))``, process 5 has the coordinate (1, 1): its group
along "dp" is 1, 5, and its group along "tp" is 4, 5, 6, 7.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from .._creation import conversion as _conversion, tensor as make_tensor
from .._dtype import int32
from .._tensor import Tensor
from ._collectives import groups
from ._collectives.groups import ProcessGroup, get_process_group_ranks, get_rank, init_process_group, is_initialized

__all__ = ["DeviceMesh", "init_device_mesh"]


class _Resources:
    """The meshes that ``with`` blocks have made the current ones, the innermost last."""

    def __init__(self) -> None:
        self.mesh_stack: list[DeviceMesh] = []
        self.made: WeakValueDictionary[Any, DeviceMesh] = WeakValueDictionary()  # those that have groups

    def get_current_mesh(self) -> DeviceMesh:
        """Return the mesh of the innermost block."""
        if not self.mesh_stack:
            raise RuntimeError("No device mesh is currently active!")
        return self.mesh_stack[-1]

    def get_root_mesh(self, device_mesh: DeviceMesh) -> DeviceMesh:
        """Return the mesh that a mesh is a slice of."""
        return device_mesh._get_root_mesh()


_mesh_resources = _Resources()


class DeviceMesh:
    """Processes that are arranged in an array (``torch.distributed.device_mesh.DeviceMesh``).

    All processes of the world make one, also those that are not in it.

    Args:
        device_type: the kind of device of the tensors, such as "cpu".
        mesh: the ranks, as an array of any number of dimensions.
        mesh_dim_names: a name for each dimension.
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None,
                 backend_override: Any = None, _groups: Sequence[Any] | None = None, _root: DeviceMesh | None = None,
                 _init_backend: bool = True):
        self.device_type = device_type
        self._ranks = np.array(mesh.tolist() if isinstance(mesh, Tensor) else mesh, dtype=np.int64)
        self._mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names else None
        self._root_mesh = _root
        self._flatten_mapping: dict[Any, DeviceMesh] = {}  # the meshes that _flatten has made of dimensions, by names
        self._joined: list[int] = []  # the dimensions of the root, if this is one of them
        if len(set(self._ranks.flat)) < self._ranks.size:
            raise AssertionError(f"Mesh should have no repeated ranks, but has {self._ranks.tolist()}")
        if not is_initialized() and _init_backend:
            init_process_group()
        world = groups.get_world_size() if is_initialized() else self._ranks.size
        if self._ranks.size > world:
            raise RuntimeError(f"Mesh should not be bigger than default world size {world}, but found "
                               f"{self._ranks.size} ranks!")
        found: Any = np.argwhere(self._ranks == get_rank()) if is_initialized() else []
        self._coordinate = tuple(int(index) for index in found[0]) if len(found) else None
        self._groups: list[Any] = list(_groups) if _groups is not None else (
            [self._make_groups(dim) for dim in range(self.ndim)] if _init_backend else [])
        if self._groups:
            _mesh_resources.made[self._key()] = self

    def _make_groups(self, dim: int) -> Any:
        """Build the groups along a dimension; return the group of this process, or None."""
        rows = np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim]).tolist()
        if rows == [list(range(groups.get_world_size()))]:
            return groups.default_group()
        made = [groups.new_group(row, sort_ranks=False) for row in rows]
        return next((group for group in made if groups.is_member(group)), None)

    @property
    def mesh(self) -> Tensor:
        """The ranks, as a tensor."""
        return make_tensor(self._ranks.tolist(), dtype=int32)

    @property
    def mesh_dim_names(self) -> tuple[str, ...] | None:
        """The names of the dimensions."""
        return self._mesh_dim_names

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of processes along each dimension."""
        return self._ranks.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """Return the number of processes, of all or along one dimension."""
        return self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim]

    def numel(self) -> int:
        """Return the number of processes."""
        return self._ranks.size

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._coordinate is not None

    def _get_root_mesh(self) -> DeviceMesh:
        return self if self._root_mesh is None else self._root_mesh

    def __repr__(self) -> str:
        names = self._mesh_dim_names or [str(dim) for dim in range(self.ndim)]
        shape = ", ".join(f"{name}={size}" for name, size in zip(names, self.shape, strict=True))
        return f"DeviceMesh(({shape}), '{self.device_type}', stride={_strides(self._ranks)})"

    def _repr_html_(self) -> str:
        """Return the grid of ranks that notebooks show."""
        return _conversion.draw(self)

    def _key(self) -> tuple[Any, ...]:
        return self._ranks.tobytes(), self.shape, self.device_type, self._mesh_dim_names

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._key() == other._key())

    def __reduce__(self) -> Any:
        return _rebuilt, (self.device_type, self._ranks.tolist(), self._mesh_dim_names)

    def __deepcopy__(self, memo: Any) -> DeviceMesh:
        return self  # processes are not copied

    def __enter__(self) -> DeviceMesh:
        _mesh_resources.mesh_stack.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        _mesh_resources.mesh_stack.pop()

    def _dim(self, mesh_dim: int | str | None, ask: str) -> int:
        """Return the index of a dimension that is given by its index or name, or is the only one."""
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions",
                                   f"Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.{ask}")
            return 0
        if isinstance(mesh_dim, int):
            return mesh_dim
        if not self._mesh_dim_names:
            raise KeyError("No `mesh_dim_names` found.")
        if mesh_dim not in self._mesh_dim_names:
            raise KeyError(f"Mesh dimension '{mesh_dim}' does not exist. Available mesh dimensions are: "
                           f"mesh_dim_names={self._mesh_dim_names}")
        return self._mesh_dim_names.index(mesh_dim)

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """Return the group of this process along a dimension, which a mesh of several needs to know."""
        flat = self._get_root_mesh()._flatten_mapping.get(mesh_dim)
        if flat is not None and mesh_dim not in (self._mesh_dim_names or ()):
            return flat.get_group()
        dim = self._dim(mesh_dim, " If you want to get the list of all the ProcessGroups in the DeviceMesh, please use "
                                  "`get_all_groups()` instead.")
        if not self._groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        return self._groups[dim]

    def get_all_groups(self) -> list[ProcessGroup]:
        """Return the groups of this process along all dimensions."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def get_rank(self) -> int:
        """Return this process's rank in the world."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return this process's place along a dimension."""
        return get_rank(self.get_group(self._dim(mesh_dim, "")))

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Return this process's place along each dimension; None if it is not in the mesh."""
        return self._coordinate

    def _row(self, dims: Sequence[int]) -> Any:
        """Return the ranks that share this process's place along the other dimensions, in the order of ``dims``."""
        place = self._coordinate or (0,) * self.ndim
        part = self._ranks[tuple(slice(None) if dim in dims else place[dim] for dim in range(self.ndim))]
        kept = [dim for dim in range(self.ndim) if dim in dims]
        return part.transpose([kept.index(dim) for dim in dims])

    def __getitem__(self, mesh_dim_names: str | Sequence[str]) -> DeviceMesh:
        """Return the mesh of some dimensions, by their names in ascending order, through this process's place. Names
        may be those that ``_flatten`` has given.

        Raises:
            RuntimeError: if the dimensions have no names.
            KeyError: if there is no such name, or the order is another.
        """
        if not self._mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if names == self._mesh_dim_names:
            return self
        flat = self._flatten_mapping if self._root_mesh is None else {}
        if len(names) == 1 and names[0] in flat:
            return flat[names[0]]
        if not set(names) <= {*self._mesh_dim_names, *flat}:
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are "
                           f"{[*self._mesh_dim_names, *flat]}.")
        parts = [self._dims_of(name) for name in names]
        dims = [dim for part in parts for dim in part]
        if dims != sorted(set(dims)):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Mesh dim indices should be in ascending order.")
        shape = [int(np.prod([self.shape[dim] for dim in part])) for part in parts]
        return DeviceMesh(self.device_type, self._row(dims).reshape(shape), mesh_dim_names=names,
                          _root=self._get_root_mesh(),
                          _groups=[flat[name]._groups[0] if name in flat else self._groups[part[0]]
                                   for name, part in zip(names, parts, strict=True)])

    def _dims_of(self, name: str) -> list[int]:
        """Return the dimensions that a name denotes: one, or those that ``_flatten`` has joined under it."""
        known = self._mesh_dim_names or ()
        return [known.index(name)] if name in known else self._flatten_mapping[name]._joined

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """Return a mesh of one dimension with the processes of this one; all processes of the world make this call."""
        root = self._get_root_mesh()
        name = mesh_dim_name or "_".join(self._mesh_dim_names or ())
        if self.ndim == 1 and name in (self._mesh_dim_names or ()):
            return self
        known = root._flatten_mapping.get(name)
        if known is not None:
            if known._ranks.tolist() != self._ranks.reshape(-1).tolist():
                raise ValueError(f"Flatten mesh with mesh_dim_name {name} has been created before, Please specify "
                                 "another valid mesh_dim_name.")
            return known
        if name in (root._mesh_dim_names or ()):
            raise ValueError(f"{name} already exists for submesh of the {root}. The mesh_dim_names of submesh and "
                             f"flattened mesh are {[*(root._mesh_dim_names or ()), *root._flatten_mapping]}. Please "
                             "specify another valid mesh_dim_name.")
        mine = [(root._mesh_dim_names or ()).index(dim) for dim in self._mesh_dim_names or ()]
        rest = [dim for dim in range(root.ndim) if dim not in mine]
        rows = (root._ranks.transpose([*rest, *mine]).reshape(-1, self.size()) if self is not root else
                root._ranks.reshape(1, -1)).tolist()
        made = [groups.new_group(row, sort_ranks=False) for row in rows]
        flat = DeviceMesh(self.device_type, self._ranks.reshape(-1), mesh_dim_names=(name,), _root=root,
                          _groups=[next((group for group in made if groups.is_member(group)), None)])
        flat._joined = mine or list(range(root.ndim))
        root._flatten_mapping[name] = flat
        return flat

    @staticmethod
    def from_group(group: Any, device_type: str, mesh: Any = None, *,
                   mesh_dim_names: Sequence[str] | None = None) -> DeviceMesh:
        """Return a mesh around groups that exist: one group, or a list with one for each dimension of ``mesh``."""
        if isinstance(group, ProcessGroup):
            ranks = get_process_group_ranks(group)
            if mesh is not None and np.array(mesh.tolist() if isinstance(mesh, Tensor) else mesh).tolist() != ranks:
                raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {ranks}")
            return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=[group])
        if not group:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        made = DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=list(group))
        if made.ndim != len(group):
            raise ValueError("Expects mesh with ndim equal to number of ProcessGroups but got mesh "
                             f"{made._ranks.tolist()} and {len(group)} ProcessGroups")
        return made


def _strides(ranks: Any) -> tuple[int, ...]:
    return tuple(stride // ranks.itemsize for stride in np.ascontiguousarray(ranks).strides)


def _rebuilt(device_type: str, ranks: Any, names: Any) -> DeviceMesh:
    """Return a pickled mesh: the one of this process that equals it, else one without groups."""
    made = DeviceMesh(device_type, ranks, mesh_dim_names=names, _init_backend=False)
    return _mesh_resources.made.get(made._key(), made)


def init_device_mesh(device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None,
                     backend_override: Any = None) -> DeviceMesh:
    """Arrange the first processes of the world in an array (``torch.distributed.device_mesh.init_device_mesh``).

    Args:
        device_type: the kind of device, without a number.
        mesh_shape: the number of processes along each dimension.
        mesh_dim_names: a name for each.

    Raises:
        RuntimeError: if a name comes twice, there are not as many names as dimensions, or the device has a number.
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) < len(mesh_dim_names):
            raise RuntimeError("Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names "
                               f"{mesh_dim_names}")
        if len(mesh_dim_names) != len(mesh_shape):
            raise RuntimeError("mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
                               f"{len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}.")
    if device_type and not device_type.isalpha():
        raise RuntimeError(f"Device type with index is not supported but got {device_type}. ",
                           "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.")
    size = int(np.prod(mesh_shape))
    return DeviceMesh(device_type, np.arange(size).reshape(tuple(mesh_shape)), mesh_dim_names=mesh_dim_names)
