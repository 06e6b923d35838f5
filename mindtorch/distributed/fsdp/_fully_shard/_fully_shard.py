"""``fully_shard``: the modules whose parameters are divided, and what can be set for them."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ....autograd.graph import saved_tensors_hooks
from ....nn.module import Module
from ....utils._pytree import tree_map
from ..._collectives.groups import default_group
from ..._composable_state import _State, contract, roots
from ...device_mesh import DeviceMesh
from ...tensor.placement_types import Shard
from ._fsdp_api import MixedPrecisionPolicy, OffloadPolicy
from ._fsdp_init import _get_managed_modules, _get_managed_states
from ._fsdp_param import FSDPParam, ParamModuleInfo
from ._fsdp_param_group import FSDPParamGroup, _get_param_module_infos, cast

DEFAULT, STAYS = MixedPrecisionPolicy(), OffloadPolicy()


class FSDPState(_State):
    """The state that modules which are sharded together share."""

    def __init__(self) -> None:
        self.group: FSDPParamGroup | None = None
        self.policy = DEFAULT
        self.prefetched: Sequence[FSDPModule] = []
        self.is_outermost = True  # whether no module around it is sharded, and nothing else was asked for


class UnshardHandle:
    """An all-gather of parameters that may still be running (``torch.distributed.fsdp.UnshardHandle``)."""

    def __init__(self, group: FSDPParamGroup | None):
        self._group = group

    def wait(self) -> None:
        """Wait until the parameters are whole; then the module has them."""
        if self._group is not None:
            self._group.show()


class FSDPModule:
    """A module whose parameters are divided (``torch.distributed.fsdp.FSDPModule``)."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a module that is not sharded, as a slice of a sharded ``Sequential`` is."""
        kind: Any = cls.__mro__[2]
        made = kind.__new__(kind)
        made.__init__(*args, **kwargs)
        return made

    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")

    @property
    def _fsdp_state(self) -> FSDPState:
        return fully_shard.state(self)

    @property
    def _group(self) -> FSDPParamGroup | None:
        return self._fsdp_state.group

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module's own forward pass with whole parameters."""
        return self._with_parameters(super().forward, *args, **kwargs)  # type: ignore[misc]

    def _with_parameters(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        state = self._fsdp_state
        group, policy = state.group, state.policy
        if policy.param_dtype is not None and policy.cast_forward_inputs:
            args, kwargs = tree_map(lambda x: cast(x, policy.param_dtype), (args, kwargs))
        if group is None or group.runs:  # a module that calls itself, or one of several that are sharded together
            output = function(*args, **kwargs)
        else:
            group.show()
            group.runs = True
            for module in state.prefetched:
                if module._group is not None:
                    module._group.begin()
            try:
                if group.reshard_after_forward:
                    with saved_tensors_hooks(group.pack, group.unpack):
                        output = function(*args, **kwargs)
                else:
                    output = function(*args, **kwargs)
            finally:
                group.runs = False
                group.hide(free=group.reshard_after_forward)
        if policy.output_dtype is not None:
            output = tree_map(lambda x: cast(x, policy.output_dtype), output)
        return output

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather this module's parameters; with ``async_op`` return a handle to wait for them."""
        handle = UnshardHandle(self._group)
        if async_op:
            if self._group is not None:
                self._group.begin()
            return handle
        handle.wait()
        return None

    def reshard(self) -> None:
        """Free this module's whole parameters."""
        if self._group is not None:
            self._group.hide(free=True)

    def _each(self, recurse: bool) -> Iterable[FSDPParamGroup]:
        for module in self.modules() if recurse else [self]:  # type: ignore[attr-defined]
            if isinstance(module, FSDPModule) and module._group is not None:
                yield module._group

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Set whether backward passes reduce gradients; else these are added up until one does."""
        for group in self._each(recurse):
            group.reduce_grads = group.all_reduce_grads = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Set whether gradients are reduced over replicas, on a mesh of two dimensions."""
        for group in self._each(recurse):
            group.all_reduce_grads = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Set whether whole parameters are freed after the forward pass."""
        for group in self._each(recurse):
            group.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Set whether whole parameters are freed after the backward pass."""
        for group in self._each(recurse):
            group.reshard_after_backward = reshard_after_backward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide the sum of gradients by a number, instead of the number of processes."""
        for group in self._each(recurse=False):
            group.divide_factor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Set whether the next backward pass is the last one: nothing waits for it here."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Set whether the backward pass gathers: it does where the graph needs a parameter."""

    def set_modules_to_forward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Set the modules whose parameters begin to be gathered when this module's forward pass begins."""
        _check_all(modules)
        self._fsdp_state.prefetched = list(modules)

    def set_modules_to_backward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Set the modules to gather early in backward: here a module's parameters are gathered when they are needed."""
        _check_all(modules)


def _check_all(modules: Sequence[Any]) -> None:
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"Expects FSDPModule but got {type(module)}: {module}")


@contract(state_cls=FSDPState)
def fully_shard(module: Any, *, mesh: DeviceMesh | None = None, reshard_after_forward: bool | int | None = None,
                shard_placement_fn: Callable[[Any], Shard | None] | None = None,
                mp_policy: MixedPrecisionPolicy = DEFAULT, offload_policy: OffloadPolicy = STAYS,
                ignored_params: set[Any] | None = None) -> Any:
    """Keep a part of a module's parameters in each process (``torch.distributed.fsdp.fully_shard``).

    Shard the layers of a model first, and then the model, for its other parameters: what is sharded together is
    gathered together. Each parameter becomes a DTensor under its own name, for the optimizer and ``state_dict``. All
    processes must start with equal parameters.

    Args:
        module: the module, or a list of modules that are sharded together; changed in place.
        mesh: of one dimension; of two for replicas along the first, and parts along the second. The world unless given.
        reshard_after_forward: free whole parameters after the forward pass; None does so except in the outermost
            module. A number counts as True.
        shard_placement_fn: returns ``Shard(dim)`` for a parameter that is not divided along its first dimension.
        mp_policy, offload_policy: dtypes, and where parts are kept.
        ignored_params: parameters that are left alone.

    Returns:
        The module, which is an ``FSDPModule`` as well.

    Raises:
        ValueError: if a module has no forward pass, a parameter no dimension, or the mesh more dimensions.
        NotImplementedError: if a parameter is not contiguous.
        AssertionError: if a parameter does not have the dimension along which it is to be divided, or the module is
            sharded already.
    """
    modules = roots(module) if isinstance(module, (list, tuple)) else [module]
    for item in modules:
        if type(item).forward is Module.forward:
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {item}")
    mesh = mesh or DeviceMesh.from_group(default_group(), "cpu")
    if not isinstance(mesh, DeviceMesh) or mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    if mesh.ndim == 2 and mesh.mesh_dim_names is None:
        raise AssertionError("Please init the 2D mesh for HSDP with mesh_dim_names specified")
    managed = _get_managed_modules(modules)
    found = _get_managed_states(managed, ignored_params)[0]
    infos = _get_param_module_infos(found, modules)
    dims = [((shard_placement_fn(parameter) if shard_placement_fn is not None else None) or Shard(0)).dim
            for parameter in found]
    for each in zip(found, infos, dims, strict=True):
        _check(*each)
    parameters = [FSDPParam(info, mesh, dim % parameter.dim())
                  for parameter, info, dim in zip(found, infos, dims, strict=True)]
    state: FSDPState = fully_shard.state(modules[0])
    state.policy, state.is_outermost = mp_policy, reshard_after_forward is None
    if parameters:
        state.group = FSDPParamGroup(type(modules[0]).__name__, parameters, mesh, mp_policy)
        state.group.reshard_after_forward = reshard_after_forward is not None and reshard_after_forward is not False
    for item in modules:
        for path, inner in item.named_modules():
            if isinstance(inner, FSDPModule) and inner._group is not None:
                inner._group.path = path
                inner._group.reshard_after_forward |= inner._fsdp_state.is_outermost
                inner._fsdp_state.is_outermost = False
        kind: Any = type(item)
        item.__class__ = _class_of(kind)
    return module


def _check(parameter: Any, info: ParamModuleInfo, dim: int) -> None:
    """Check that a parameter can be divided along a dimension."""
    owner, name = info.module, info.param_name
    if parameter.dim() == 0:
        raise ValueError("fully_shard doesn't support scalar parameters. "
                         f"Change {name} to a 1D tensor with numel equal to 1.")
    if not parameter.is_contiguous():
        raise NotImplementedError("FSDP does not support non-contiguous parameters yet: "
                                  f"{name} of {type(owner).__name__} has the shape {tuple(parameter.shape)} and the "
                                  f"strides {parameter.stride()}")
    if not -parameter.dim() <= dim < parameter.dim():
        raise AssertionError(f"Shard dim {dim} is invalid for {parameter.dim()}D tensor: {tuple(parameter.shape)}, "
                             f"{name} of {type(owner).__name__}")


@functools.cache
def _class_of(kind: type) -> type:
    """Return the class of a module that is sharded."""
    return type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Let a method of a sharded module, such as ``generate``, run with whole parameters
    (``torch.distributed.fsdp.register_fsdp_forward_method``). A module that is not sharded stays as it is.

    Raises:
        ValueError: if there is no such method.
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return module._with_parameters(method, *args, **kwargs)

    object.__setattr__(module, method_name, call)


__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]
