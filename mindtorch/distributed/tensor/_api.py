"""``DTensor``: a tensor whose elements lie on several processes, and which is used as if they lay on one."""
from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..._autograd.function import Function
from ..._autograd.grad_mode import is_grad_enabled, no_grad
from ..._base.layout import contiguous_strides
from ..._base.size import Size
from ..._creation import empty as _empty, full as _full, ones as _ones, zeros as _zeros
from ..._methods.functions import rand as _rand, randn as _randn
from ..._tensor import Tensor
from ...nn.module import Module
from ...nn.parameter import Parameter
from .._collectives.engine import purpose
from .._collectives.groups import get_world_size
from .._collectives.objects import all_gather_object
from ..device_mesh import DeviceMesh, _mesh_resources
from . import _ops as _ops
from ._collective_utils import mesh_broadcast
from ._dispatch import Elsewhere, dispatch, refresh, spec_of
from ._dtensor_spec import DTensorSpec, TensorMeta, local_shape_and_offset
from ._redistribute import redistribute_local_tensor
from .placement_types import Partial, Placement, Replicate, Shard, _StridedShard


def for_gradients(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """Return the placements of a gradient: every process has the whole gradient of a summand."""
    return tuple(Replicate() if placement.is_partial() else placement for placement in placements)


class _ToTorchTensor(Function):
    """The part of a DTensor on this process; its gradient is the part of a DTensor's gradient."""

    @staticmethod
    def forward(ctx: Any, input: DTensor, grad_placements: Any) -> Tensor:
        ctx.spec, ctx.grad_placements = input._spec, grad_placements
        refresh(input)
        local = input._local_tensor
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        placements = ctx.grad_placements or for_gradients(ctx.spec.placements)
        meta = ctx.spec.tensor_meta
        return DTensor.from_local(gradient, ctx.spec.mesh, placements, shape=meta.shape, stride=meta.stride), None


class _FromTorchTensor(Function):
    """A DTensor of the processes' tensors; each gets its part of the gradient."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, spec: DTensorSpec, grad_placements: Any) -> DTensor:
        ctx.spec, ctx.grad_placements = spec, grad_placements
        return DTensor(input.view_as(input), spec, requires_grad=input.requires_grad)

    @staticmethod
    def backward(ctx: Any, gradient: DTensor) -> Any:
        wanted = ctx.grad_placements or for_gradients(ctx.spec.placements)
        target = gradient._spec.with_placements(wanted)
        return redistribute_local_tensor(gradient._local_tensor, gradient._spec, target), None, None


class Redistribute(Function):
    """A DTensor under other placements; its gradient comes back under the old ones."""

    @staticmethod
    def forward(ctx: Any, input: DTensor, placements: tuple[Placement, ...], forward_dtype: Any,
                backward_dtype: Any) -> DTensor:
        ctx.spec, ctx.dtype, ctx.backward_dtype = input._spec, input.dtype, backward_dtype
        return moved(input, placements, forward_dtype)

    @staticmethod
    def backward(ctx: Any, gradient: DTensor) -> Any:
        out = moved(gradient, for_gradients(ctx.spec.placements), ctx.backward_dtype)
        return out.to(ctx.dtype) if out.dtype != ctx.dtype else out, None, None, None


def moved(input: DTensor, placements: tuple[Placement, ...], dtype: Any = None) -> DTensor:
    """Return a DTensor under other placements (and with another dtype), outside the graph."""
    refresh(input)
    source, local = input._spec, input._local_tensor
    if dtype is not None and dtype != local.dtype:
        local = local.to(dtype)
        source = DTensorSpec(source.mesh, source.placements, source.tensor_meta._replace(dtype=dtype))
    target = source.with_placements(placements)
    return DTensor(redistribute_local_tensor(local, source, target), target, requires_grad=False)


class DTensor(Tensor):
    """A tensor on several processes (``torch.distributed.tensor.DTensor``).

    It has the shape of the whole; ``to_local`` returns the part on this process, ``full_tensor`` the whole on every
    process. Operators run on the parts, after redistribution where the operator's rule needs it.
    """

    _local_tensor: Tensor
    _spec: DTensorSpec
    _elsewhere: Elsewhere | None = None  # of a view whose source had to be redistributed

    @staticmethod
    def __new__(cls: Any, local_tensor: Tensor, spec: DTensorSpec, *, requires_grad: bool = False) -> Any:
        if local_tensor.requires_grad and not requires_grad:
            warnings.warn("To construct DTensor from torch.Tensor, it's recommended to use local_tensor.detach() and "
                          "make requires_grad consistent.", stacklevel=2)
        meta = spec.tensor_meta
        out = Tensor._make_wrapper_subclass(
            cls, meta.shape, strides=meta.stride, dtype=meta.dtype, device=local_tensor.device,
            requires_grad=requires_grad)
        out._local_tensor = local_tensor.detach() if local_tensor.requires_grad else local_tensor
        out._spec = spec
        return out

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return (f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, "
                f"placements={self.placements})")

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return dispatch(DTensor, func, args, kwargs or {})

    def __tensor_flatten__(self) -> Any:
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(inner: Any, context: Any, outer_size: Any, outer_stride: Any) -> DTensor:
        spec, requires_grad = context
        return DTensor(inner["_local_tensor"], spec, requires_grad=requires_grad)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (self._local_tensor, self._spec, self.requires_grad, getattr(self, "_is_param", False))

    def __deepcopy__(self, memo: Any) -> DTensor:
        if id(self) not in memo:
            out = DTensor(self._local_tensor.clone(), self._spec, requires_grad=self.requires_grad)
            memo[id(self)] = Parameter(out, self.requires_grad) if getattr(self, "_is_param", False) else out
        return memo[id(self)]

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh that it lies on."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How it lies along each dimension of the mesh."""
        return self._spec.placements

    @staticmethod
    def from_local(local_tensor: Tensor, device_mesh: DeviceMesh | None = None,
                   placements: Sequence[Placement] | None = None, *, run_check: bool = False, shape: Any = None,
                   stride: Any = None, grad_placements: Sequence[Placement] | None = None) -> DTensor:
        """Return a DTensor of the processes' tensors (``torch.distributed.tensor.DTensor.from_local``).

        Args:
            local_tensor: this process's part.
            device_mesh: the mesh; that of the ``with`` block unless given.
            placements: how the parts make the whole; all replicated unless given.
            run_check: compare the parts' dtypes, and give all processes the first one's tensor along replicated
                dimensions.
            shape, stride: those of the whole, which are needed if the parts' sizes differ.
            grad_placements: how the gradient lies that comes back.

        Raises:
            RuntimeError: if the part is a DTensor, or only one of shape and stride is given.
            ValueError: with ``run_check``, if the parts' dtypes or ``requires_grad`` differ.
        """
        if isinstance(local_tensor, DTensor):
            raise RuntimeError("the local_tensor argument only accepts torch.Tensor but got "
                               f"{type(local_tensor)} value.")
        if (shape is None) != (stride is None):
            raise RuntimeError(f"Found shape:{shape}, stride:{stride}.",
                               "Please pass both shape and stride at the same time.")
        mesh = device_mesh or _mesh_resources.get_current_mesh()
        lie = normalized(placements, mesh, local_tensor.dim())
        if shape is None:
            sizes = list(local_tensor.shape)
            for i, placement in enumerate(lie):
                if isinstance(placement, Shard):
                    sizes[placement.dim] *= mesh.size(i)
            shape = sizes
            stride = _scaled(local_tensor, sizes)
        if mesh.get_coordinate() is None:
            local_tensor = local_tensor.new_empty(0)
        elif run_check:
            _check_agreement(local_tensor)
            for i, placement in enumerate(lie):
                if placement.is_replicate():
                    local_tensor = _from_first(local_tensor, mesh, i)
        spec = DTensorSpec(mesh, lie, TensorMeta(Size(shape), tuple(stride), local_tensor.dtype))
        return _FromTorchTensor.apply(local_tensor, spec, grad_placements and tuple(grad_placements))

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Return the part on this process; its gradient has ``grad_placements``
        (``torch.distributed.tensor.DTensor.to_local``).
        """
        if not is_grad_enabled():
            refresh(self)
            return self._local_tensor
        return _ToTorchTensor.apply(self, grad_placements and tuple(grad_placements))

    def redistribute(self, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *,
                     async_op: bool = False, forward_dtype: Any = None, backward_dtype: Any = None) -> DTensor:
        """Return the same tensor under other placements (``torch.distributed.tensor.DTensor.redistribute``).

        Raises:
            RuntimeError: if placements are missing, or are to be partial.
            NotImplementedError: if the mesh is another.
        """
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        wanted = normalized(placements, self.device_mesh, self.dim())
        for old, new in zip(self.placements, wanted, strict=True):
            if new.is_partial() and old != new:
                raise RuntimeError(f"Can not redistribute from {old} to {new}, redistributing to Partial is for "
                                   "internal use only!")
        return Redistribute.apply(self, wanted, forward_dtype, backward_dtype)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Return the whole, on every process (``torch.distributed.tensor.DTensor.full_tensor``)."""
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        return _ToTorchTensor.apply(whole, grad_placements and tuple(grad_placements))


def _rebuilt(local: Tensor, spec: DTensorSpec, requires_grad: bool, is_parameter: bool) -> Any:
    """Return a pickled DTensor."""
    out = DTensor(local, spec, requires_grad=requires_grad)
    return Parameter(out, requires_grad) if is_parameter else out


def normalized(placements: Sequence[Placement] | None, mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    """Return a placement for each dimension of the mesh, with dimensions counted from the front.

    Raises:
        ValueError: if there are not as many as the mesh has dimensions, or they reduce in several ways.
    """
    if placements is None:
        return (Replicate(),) * mesh.ndim
    if len(placements) != mesh.ndim:
        raise ValueError("`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
                         f"{len(placements)}, and device_mesh.ndim: {mesh.ndim}.")
    out: list[Placement] = []
    for placement in placements:
        if isinstance(placement, _StridedShard):
            out.append(_StridedShard(placement.dim % max(ndim, 1), split_factor=placement.split_factor))
        else:
            out.append(Shard(placement.dim % max(ndim, 1)) if isinstance(placement, Shard) else placement)
    if len({placement.reduce_op for placement in out if isinstance(placement, Partial)}) > 1:
        raise ValueError(f"Mixed Partial reduce types are not supported: {tuple(out)}")
    return tuple(out)


def _check_agreement(local: Tensor) -> None:
    """Raise ValueError in all processes of the world if their parts differ in dtype or ``requires_grad``."""
    found: list[Any] = [None] * get_world_size()
    all_gather_object(found, (str(local.dtype), local.requires_grad))
    if len(set(found)) > 1:
        raise ValueError("Inconsistent tensor metadata (including shape and stride) across ranks: (dtype, requires_grad"
                         f") are {found}")


def _scaled(local: Tensor, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a whole whose parts have the strides of this one."""
    if local.is_contiguous():
        return contiguous_strides(tuple(shape))
    order, step, out = sorted(range(local.dim()), key=lambda dim: (local.stride(dim), -dim)), 1, [0] * local.dim()
    for dim in order:
        out[dim], step = step, step * shape[dim]
    return tuple(out)


def _from_first(tensor: Tensor, mesh: DeviceMesh, i: int) -> Tensor:
    """Return the tensor of the first process along a dimension of the mesh."""
    group = mesh.get_group(i)
    if group.size() == 1:
        return tensor
    out = tensor.detach().contiguous()
    out = out.clone() if group.rank() == 0 else out.new_empty(out.shape)
    mesh_broadcast(out, mesh, i)
    return out


def distribute_tensor(tensor: Tensor, device_mesh: DeviceMesh | None = None,
                      placements: Sequence[Placement] | None = None, *, src_data_rank: int | None = 0) -> DTensor:
    """Divide a tensor among processes (``torch.distributed.tensor.distribute_tensor``).

    Args:
        tensor: a leaf, of the same shape in all processes.
        device_mesh: the mesh; that of the ``with`` block unless given.
        placements: how it is divided; all replicated unless given.
        src_data_rank: whose elements count, along each dimension of the mesh; with None every process takes its own.

    Raises:
        RuntimeError: if it is no leaf.
        ValueError: if it is a DTensor that lies otherwise, or placements are too few or too many.
    """
    mesh = device_mesh or _mesh_resources.get_current_mesh()
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    lie = normalized(placements, mesh, tensor.dim())
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device "
                             f"mesh {mesh}.")
        if tensor.placements != lie:
            raise ValueError(f"Cannot distribute a DTensor with placements {tensor.placements} to a different "
                             f"placements {placements}. do you want to call `redistribute` instead?")
        return tensor
    local = tensor.detach()
    with no_grad():
        if src_data_rank is not None and mesh.get_coordinate() is not None and not local.is_meta:
            for i in range(mesh.ndim):
                local = _from_first(local, mesh, i)
        spec = DTensorSpec(mesh, lie, spec_of(tensor))
        part = redistribute_local_tensor(local, spec.with_placements((Replicate(),) * mesh.ndim), spec)
    return DTensor(part if part is not tensor else part.detach(), spec, requires_grad=tensor.requires_grad)


def _shard_tensor(full_tensor: Tensor, placements: Sequence[Placement],
                  device_mesh: DeviceMesh | None = None) -> DTensor:
    """Divide a tensor that all processes have, without communication."""
    return distribute_tensor(full_tensor, device_mesh, placements, src_data_rank=None)


def distribute_module(module: Module, device_mesh: DeviceMesh | None = None,
                      partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
                      input_fn: Callable[..., Any] | None = None,
                      output_fn: Callable[..., Any] | None = None) -> Module:
    """Make a module's parameters and buffers DTensors (``torch.distributed.tensor.distribute_module``).

    Args:
        module: the module, changed in place.
        device_mesh: the mesh; that of the ``with`` block unless given.
        partition_fn: is called with each module's name, the module and the mesh, and divides its parameters; others
            are replicated.
        input_fn, output_fn: are called with module, inputs or outputs, and mesh, and return what takes their place.

    Raises:
        RuntimeError: if it has been distributed already.
    """
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError("distribute_module should only be called once on a module, but it has already been called "
                           "on this module!")
    mesh = device_mesh or _mesh_resources.get_current_mesh()
    shared: dict[int, Parameter] = {}  # what is tied stays tied
    for name, submodule in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, submodule, mesh)
        for key, parameter in submodule._parameters.items():
            if parameter is not None and not isinstance(parameter, DTensor):
                if id(parameter) not in shared:
                    shared[id(parameter)] = Parameter(distribute_tensor(parameter.data, mesh), parameter.requires_grad)
                submodule._parameters[key] = shared[id(parameter)]
        for key, buffer in submodule._buffers.items():
            if buffer is not None and not isinstance(buffer, DTensor):
                submodule._buffers[key] = distribute_tensor(buffer, mesh)
    for hooked, register, around in (
            (input_fn, module.register_forward_pre_hook, lambda f: lambda m, inputs: _for(m, f, inputs, mesh)),
            (output_fn, module.register_forward_hook, lambda f: lambda m, inputs, outputs: _for(m, f, outputs, mesh))):
        if hooked is not None:
            count, kind = len(inspect.signature(hooked).parameters), "input" if hooked is input_fn else "output"
            if count == 2:
                warnings.warn(f"Deprecating {kind}_fn that takes two arguments ({kind}s, device_mesh), please use "
                              f"{kind}_fn that takes in (module, {kind}s, device_mesh) instead!", FutureWarning,
                              stacklevel=2)
            elif count != 3:
                raise ValueError(f"{kind}_fn should take in 3 arguments, but got {count} arguments!")
            register(around(hooked if count == 3 else _without_module(hooked)))
    module._distribute_module_applied = True
    return module


def _without_module(function: Callable[[Any, DeviceMesh], Any]) -> Callable[..., Any]:
    return lambda module, values, mesh: function(values, mesh)


def _for(module: Any, function: Callable[..., Any], values: Any, mesh: DeviceMesh) -> Any:
    """Call a module's function of its inputs or outputs; timelines name what is redistributed there by the module."""
    before = purpose.set(f"{type(module).__name__} {getattr(module, '_distributed_path', '')}".rstrip())
    try:
        return function(module, values, mesh)
    finally:
        purpose.reset(before)


def _made(factory: Callable[..., Tensor], size: Any, args: tuple[Any, ...], mesh: DeviceMesh | None,
          placements: Sequence[Placement] | None, requires_grad: bool, options: dict[str, Any],
          drawn: bool = False) -> DTensor:
    """Make this process's part of a tensor; of random numbers, every process draws those of the whole."""
    mesh = mesh or _mesh_resources.get_current_mesh()
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)
    lie = normalized(placements, mesh, len(shape))
    part = local_shape_and_offset(shape, mesh, lie)[0]
    local = factory(shape if drawn else part, *args, device=mesh.device_type, **options)
    spec = DTensorSpec(mesh, lie, TensorMeta(Size(shape), contiguous_strides(shape), local.dtype))
    if drawn:
        local = redistribute_local_tensor(local, spec.with_placements((Replicate(),) * mesh.ndim), spec)
    return DTensor(local, spec, requires_grad=requires_grad)


def _factory(function: Callable[..., Tensor], name: str, drawn: bool = False) -> Callable[..., DTensor]:
    def make(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = None,
             device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
        return _made(function, size, (), device_mesh, placements, requires_grad, {"dtype": dtype}, drawn)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (f"Return a DTensor of a size, as ``torch.{name}`` fills it, on ``device_mesh`` under "
                    f"``placements`` (``torch.distributed.tensor.{name}``).")
    return make


zeros, ones = _factory(_zeros, "zeros"), _factory(_ones, "ones")
empty = _factory(_empty, "empty")
rand, randn = _factory(_rand, "rand", drawn=True), _factory(_randn, "randn", drawn=True)


def full(size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, requires_grad: bool = False,
         device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """Return a DTensor filled with a number (``torch.distributed.tensor.full``)."""
    return _made(_full, (size,), (fill_value,), device_mesh, placements, requires_grad, {"dtype": dtype})
