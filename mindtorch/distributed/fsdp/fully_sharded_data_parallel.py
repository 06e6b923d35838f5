"""``FullyShardedDataParallel``: the older way to shard, as a module around a module, on ``fully_shard``."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._base.interrupts import contextmanager
from ..._dtype import DType
from ..._tensor import Tensor
from ...nn.module import Module
from ...nn.utils.clip_grad import clip_grad_norm_
from .._collectives.groups import resolve
from ..device_mesh import DeviceMesh
from ..tensor._api import DTensor, distribute_tensor
from ._fully_shard._fsdp_api import MixedPrecisionPolicy
from ._fully_shard._fully_shard import FSDPModule, fully_shard


class ShardingStrategy(Enum):
    """How much is divided (``torch.distributed.fsdp.ShardingStrategy``)."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When backward gathers the next parameters (``torch.distributed.fsdp.BackwardPrefetch``): here, when needed."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """Kinds of contents of ``state_dict`` (``torch.distributed.fsdp.StateDictType``)."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """Dtypes (``torch.distributed.fsdp.MixedPrecision``)."""

    param_dtype: DType | None = None
    reduce_dtype: DType | None = None
    buffer_dtype: DType | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Where parts are kept (``torch.distributed.fsdp.CPUOffload``): on the CPU anyway."""

    offload_params: bool = False


@dataclass
class FullStateDictConfig:
    """A ``state_dict`` of whole tensors (``torch.distributed.fsdp.FullStateDictConfig``)."""

    offload_to_cpu: bool = False
    rank0_only: bool = False


FullOptimStateDictConfig = FullStateDictConfig


@dataclass
class ShardedStateDictConfig:
    """A ``state_dict`` of DTensors (``torch.distributed.fsdp.ShardedStateDictConfig``)."""

    offload_to_cpu: bool = False


LocalStateDictConfig = ShardedStateDictConfig


class FullyShardedDataParallel(Module):
    """A module whose parameters are divided (``torch.distributed.fsdp.FullyShardedDataParallel``).

    Args:
        module: the module.
        process_group: the group; the world unless given.
        sharding_strategy: FULL_SHARD frees whole parameters after the forward pass, SHARD_GRAD_OP after backward.
        auto_wrap_policy: ``policy(module=, recurse=, nonwrapped_numel=)`` chooses submodules that are gathered by
            themselves.
        mixed_precision: dtypes.
        device_mesh: a mesh in the group's place.
        ignored_modules: modules whose parameters are left alone.

    Raises:
        NotImplementedError: for NO_SHARD: that is DistributedDataParallel.
    """

    def __init__(self, module: Module, process_group: Any = None, sharding_strategy: ShardingStrategy | None = None,
                 cpu_offload: CPUOffload | None = None, auto_wrap_policy: Callable[..., bool] | None = None,
                 backward_prefetch: BackwardPrefetch | None = None, mixed_precision: MixedPrecision | None = None,
                 ignored_modules: Any = None, param_init_fn: Any = None, device_id: Any = None,
                 sync_module_states: bool = False, forward_prefetch: bool = False, limit_all_gathers: bool = True,
                 use_orig_params: bool = False, ignored_states: Any = None, device_mesh: DeviceMesh | None = None):
        super().__init__()
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        if strategy is ShardingStrategy.NO_SHARD:
            raise NotImplementedError("FullyShardedDataParallel(NO_SHARD): use DistributedDataParallel")
        mesh = device_mesh or DeviceMesh.from_group(resolve(process_group), "cpu")
        if sync_module_states:
            with no_grad():
                for tensor in (*module.parameters(), *module.buffers()):
                    tensor.copy_(distribute_tensor(tensor.detach(), mesh).to_local())
        mixed = mixed_precision or MixedPrecision()
        frees = strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)
        options: dict[str, Any] = {"mesh": mesh, "reshard_after_forward": frees,
                                   "mp_policy": MixedPrecisionPolicy(mixed.param_dtype, mixed.reduce_dtype)}
        ignored = {parameter for item in ignored_modules or () for parameter in item.parameters()}
        if auto_wrap_policy is not None:
            self._wrap(module, auto_wrap_policy, options, ignored)
        if not isinstance(module, FSDPModule):
            fully_shard(module, ignored_params=ignored, **options)
        self.module = module
        self._state_dict_type = StateDictType.FULL_STATE_DICT

    def _wrap(self, module: Module, policy: Callable[..., bool], options: dict[str, Any], ignored: Any) -> None:
        for child in module.children():
            self._wrap(child, policy, options, ignored)
            size = sum(parameter.numel() for parameter in child.parameters())
            if not isinstance(child, FSDPModule) and size and policy(module=child, recurse=False,
                                                                     nonwrapped_numel=size):
                fully_shard(child, ignored_params=ignored, **options)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("module"), name)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Yield the parameters under their names in the module."""
        return self.module.named_parameters(*args, **kwargs)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Return the module's ``state_dict``: of whole tensors, or of DTensors; see ``state_dict_type``."""
        found = self.module.state_dict(*args, **kwargs)
        if self._state_dict_type is StateDictType.FULL_STATE_DICT:
            with no_grad():
                for name, value in found.items():
                    found[name] = value.full_tensor() if isinstance(value, DTensor) else value
        return found

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Load whole tensors, or DTensors, into the module."""
        own = self.module.state_dict()
        parts = {name: distribute_tensor(value, own[name].device_mesh, own[name].placements, src_data_rank=None)
                 if isinstance(own.get(name), DTensor) and not isinstance(value, DTensor) else value
                 for name, value in state_dict.items()}
        return self.module.load_state_dict(parts, strict, assign)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Limit the norm of all gradients, of all processes."""
        total = clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return total.full_tensor() if isinstance(total, DTensor) else total

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Only add up gradients in each process during the block."""
        self.module.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            self.module.set_requires_gradient_sync(True)

    @staticmethod
    @contextmanager
    def state_dict_type(module: Module, state_dict_type: StateDictType, state_dict_config: Any = None,
                        optim_state_dict_config: Any = None) -> Iterator[None]:
        """Choose what ``state_dict`` holds, in the block."""
        chosen = [item for item in module.modules() if isinstance(item, FullyShardedDataParallel)]
        before = [item._state_dict_type for item in chosen]
        for item in chosen:
            item._state_dict_type = state_dict_type
        try:
            yield
        finally:
            for item, kind in zip(chosen, before, strict=True):
                item._state_dict_type = kind

    @staticmethod
    @contextmanager
    def summon_full_params(module: Module, recurse: bool = True, writeback: bool = True, rank0_only: bool = False,
                           offload_to_cpu: bool = False, with_grads: bool = False) -> Iterator[None]:
        """Let the modules have whole parameters in the block."""
        shown = [item for item in module.modules() if isinstance(item, FSDPModule)]
        for item in shown:
            item.unshard()
        try:
            yield
        finally:
            for item in shown:
                item.reshard()
