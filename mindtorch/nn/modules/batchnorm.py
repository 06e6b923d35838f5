"""Batch normalisation; mirrors ``torch.nn.modules.batchnorm``."""
from __future__ import annotations

from typing import Any

from ..._creation import empty, ones, tensor, zeros
from ..._dtype import int64
from ..._tensor import Tensor
from .. import functional as F, init
from ..module import Module
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin


class _NormBase(Module):
    """Weight and bias (C,), and the running moments of channels."""

    _version = 2
    __constants__ = ("track_running_stats", "momentum", "eps", "num_features", "affine")
    #: How many dimensions an input may have.
    dims: tuple[int, ...] = ()

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *,
                 bias: bool = True) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(empty(num_features, device=device, dtype=dtype)) if wanted
                                    else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the batches that were seen, as ``torch.nn.BatchNorm1d.reset_running_stats`` does."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set weight and bias back to 1 and 0, and the running moments, too."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if not self.dims:
            raise NotImplementedError
        if input.dim() not in self.dims:
            raise ValueError(f"expected {' or '.join(f'{n}D' for n in self.dims)} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *args: Any) -> None:
        """Load a state; one saved before version 2 lacks the count of batches."""
        if (local_metadata.get("version") or 0) < 2 and self.track_running_stats:
            count = self.num_batches_tracked
            state_dict.setdefault(f"{prefix}num_batches_tracked",
                                  tensor(0) if count is None or count.is_meta else count)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_NormBase):
    """In training normalises by the batch's moments, which the running ones follow; in evaluation by these."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if momentum is None:  # the mean over all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        mean, var = self.running_mean, self.running_var
        by_batch = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, momentum or 0.0, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalises the channels of (N, C) or (N, C, L) over the batch (``torch.nn.BatchNorm1d``). Raises ValueError if
    the input of a call has any other number of dimensions.
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises the channels of (N, C, H, W) over the batch (``torch.nn.BatchNorm2d``). Raises ValueError if the input
    of a call has any other number of dimensions.
    """

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises the channels of (N, C, D, H, W) over the batch (``torch.nn.BatchNorm3d``). Raises ValueError if the
    input of a call has any other number of dimensions.
    """

    dims = (5,)


class _LazyNormBase(LazyModuleMixin):
    """A normalisation that takes ``num_features`` from its first input."""

    num_features: int
    affine: bool
    track_running_stats: bool

    def __init__(self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *,
                 bias: bool = True) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Set all back to where it starts, once there are channels."""
        if not self.has_uninitialized_params() and self.num_features:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        """Give all of them as many elements as an input has channels."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for part in (self.weight, self.bias, self.running_mean, self.running_var):
                if part is not None:
                    part.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A ``BatchNorm1d`` that takes ``num_features`` from its first input, and becomes a plain one then
    (``torch.nn.LazyBatchNorm1d``).
    """

    dims, cls_to_become = BatchNorm1d.dims, BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A ``BatchNorm2d`` that takes ``num_features`` from its first input, and becomes a plain one then
    (``torch.nn.LazyBatchNorm2d``).
    """

    dims, cls_to_become = BatchNorm2d.dims, BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A ``BatchNorm3d`` that takes ``num_features`` from its first input, and becomes a plain one then
    (``torch.nn.LazyBatchNorm3d``).
    """

    dims, cls_to_become = BatchNorm3d.dims, BatchNorm3d


class SyncBatchNorm(_BatchNorm):
    """``BatchNorm`` of the batches of all processes of a group (``torch.nn.SyncBatchNorm``). Without processes, as
    here, PyTorch's normalises its own batch, and so does this one. Raises RuntimeError if it is given a process group,
    for which there is nothing to communicate with.
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *,
                 bias: bool = True) -> None:
        if process_group is not None:
            raise RuntimeError("SyncBatchNorm needs a process group that is initialized, and mindtorch has no "
                               f"distributed package to make one, got process_group={process_group!r}")
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace every batch normalisation in a module by one of this class with the old one's parameters and buffers
        (``torch.nn.SyncBatchNorm.convert_sync_batchnorm``).
        """
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(module.num_features, module.eps, module.momentum, module.affine,
                            module.track_running_stats, process_group, bias=module.bias is not None)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(converted, name, getattr(module, name))
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted
