"""Normalisation of layers and groups of channels; mirrors ``torch.nn.modules.normalization``."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._creation import empty
from ..._methods.functions import cat
from ..._tensor import Tensor
from .. import functional as F, init
from ..module import Module
from ..parameter import Parameter


class _Affine(Module):
    """A normalisation with a weight and a bias of one shape, or without."""

    def _make_parameters(self, shape: Any, weight: bool, bias: bool | None, device: Any, dtype: Any) -> None:
        """Register no bias for None."""
        for name, wanted in (("weight", weight), ("bias", weight and bias)):
            if name == "weight" or bias is not None:
                self.register_parameter(
                    name, Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight back to 1, and the bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)


class LocalResponseNorm(Module):
    """Divides elements of (N, C, ...) by a power of the mean square over ``size`` neighbouring channels
    (``torch.nn.LocalResponseNorm``).
    """

    __constants__ = ("size", "alpha", "beta", "k")

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """Divides elements of (N, C, H, W) by a power of the mean square over the ``size`` nearest channels, less one if
    that is even, of which as in PyTorch the first channel is always one (``torch.nn.CrossMapLRN2d``, from Caffe). The
    gradient is that of these values, which PyTorch's is not. Raises ValueError for another number of dimensions.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach, squares = (self.size - 1) // 2, input.square()
        total = F.pad(squares, (0, 0, 0, 0, reach, reach)).unfold(1, 2 * reach + 1, 1).sum(-1)
        total = cat([total[:, :reach + 1], total[:, reach + 1:] + squares[:, :1]], 1)
        return input * (total * (self.alpha / self.size) + self.k) ** -self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LayerNorm(_Affine):
    """Normalises over the last dimensions, of sizes ``normalized_shape`` (``torch.nn.LayerNorm``). ``weight`` and
    ``bias`` have that shape, and start at 1 and 0.
    """

    __constants__ = ("normalized_shape", "eps", "elementwise_affine")

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make_parameters(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
                f"bias={self.bias is not None}")


class GroupNorm(_Affine):
    """Normalises each of ``num_groups`` groups of the channels of each sample of (N, C, ...) (``torch.nn.GroupNorm``).
    ``weight`` and ``bias`` (C,) start at 1 and 0. Raises ValueError if the channels cannot be divided so.
    """

    __constants__ = ("num_groups", "num_channels", "eps", "affine")

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
                 dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make_parameters(num_channels, affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
                f"bias={self.bias is not None}")


class RMSNorm(_Affine):
    """Divides by the root of the mean square over the last dimensions, of sizes ``normalized_shape``
    (``torch.nn.RMSNorm``). ``weight`` has that shape, and starts at 1.
    """

    __constants__ = ("normalized_shape", "eps", "elementwise_affine")

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None,
                 elementwise_affine: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make_parameters(self.normalized_shape, elementwise_affine, None, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


def _sizes(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)
