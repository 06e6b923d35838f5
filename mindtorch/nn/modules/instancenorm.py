"""Instance normalisation; mirrors ``torch.nn.modules.instancenorm``."""
from __future__ import annotations

import warnings
from typing import Any

from ..._base.call_site import outside
from ..._tensor import Tensor
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase


class _InstanceNorm(_NormBase):
    """The number of dimensions of an input without batch comes first in ``dims``."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Any = None, dtype: Any = None, *,
                 bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *args: Any) -> None:
        """Load a state; one saved before version 1 has running moments in any case."""
        *_, errors = args
        if local_metadata.get("version") is None and not self.track_running_stats:
            found = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            for name in found:
                del state_dict[prefix + name]
            if found:
                kind, names = type(self).__name__, " and ".join(f'"{name}"' for name in found)
                errors.append(
                    f"Unexpected running stats buffer(s) {names} for {kind} with track_running_stats=False. If "
                    f"state_dict is a checkpoint saved before 0.4.0, this may be expected because {kind} does not "
                    "track running stats by default since 0.4.0. Please remove these keys from state_dict. If the "
                    f"running stats are actually needed, instead set track_running_stats=True in {kind} to enable "
                    f"them. See the documentation of {kind} for details.")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        unbatched = input.dim() == self.dims[0]
        channels = input.dim() - self.dims[0]
        size = input.size(channels)
        if size != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={channels} to match num_features "
                                 f"({self.num_features}), but got: {size}.")
            warnings.warn(f"input's size at dim={channels} does not match num_features. You can silence this warning "
                          "by not passing in num_features, which is not used because affine=False",
                          stacklevel=outside())
        out = F.instance_norm(input.unsqueeze(0) if unbatched else input, self.running_mean, self.running_var,
                              self.weight, self.bias, self.training or not self.track_running_stats,
                              self.momentum or 0.0, self.eps)
        return out.squeeze(0) if unbatched else out


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, L) or (C, L) (``torch.nn.InstanceNorm1d``). Raises ValueError if
    the input of a call has any other number of dimensions, or of channels.
    """

    dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, H, W) or (C, H, W) (``torch.nn.InstanceNorm2d``). Raises
    ValueError if the input of a call has any other number of dimensions, or of channels.
    """

    dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalises each channel of each sample of (N, C, D, H, W) or (C, D, H, W) (``torch.nn.InstanceNorm3d``). Raises
    ValueError if the input of a call has any other number of dimensions, or of channels.
    """

    dims = (4, 5)


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm1d`` that takes ``num_features`` from its first input, and becomes a plain one then
    (``torch.nn.LazyInstanceNorm1d``).
    """

    dims, cls_to_become = InstanceNorm1d.dims, InstanceNorm1d



class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm2d`` that takes ``num_features`` from its first input, and becomes a plain one then
    (``torch.nn.LazyInstanceNorm2d``).
    """

    dims, cls_to_become = InstanceNorm2d.dims, InstanceNorm2d



class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm3d`` that takes ``num_features`` from its first input, and becomes a plain one then
    (``torch.nn.LazyInstanceNorm3d``).
    """

    dims, cls_to_become = InstanceNorm3d.dims, InstanceNorm3d
