"""Activation modules, as ``torch.nn.modules.activation``. Each wraps the function of its name."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._base.call_site import outside
from ..._creation import empty
from ..._tensor import Tensor
from .. import functional as F, init as _init
from ..functional.attention import canonical_mask
from ..module import Module
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear


class _Function(Module):
    """A module that calls one function with its settings, which ``__constants__`` names in that order."""

    function: Callable[..., Tensor]

    def forward(self, input: Tensor) -> Tensor:
        settings = self.__dict__
        return self.function(input, *[settings[name] for name in self.__constants__])


class _Activation(_Function):
    """An activation with settings, which its repr shows."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.__dict__.update(settings)

    def extra_repr(self) -> str:
        shown = [name for name in self.__constants__ if name != "inplace" or self.inplace]
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)


class _InPlace(_Activation):
    """An activation that may write into its input, and has no other setting."""

    __constants__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class _Silent(_InPlace):
    """An activation whose repr does not show whether it writes into its input."""

    def extra_repr(self) -> str:
        return ""


class _Shrink(_Activation):
    """An activation that is 0 where |x| <= lambd."""

    __constants__ = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class ReLU(_InPlace):
    """Replaces each element by max(0, x) (``torch.nn.ReLU``)."""

    function = staticmethod(F.relu)

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class Threshold(_Activation):
    """Replaces elements that are not greater than ``threshold`` by ``value`` (``torch.nn.Threshold``)."""

    __constants__ = ("threshold", "value", "inplace")
    function = staticmethod(F.threshold)

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value, inplace=inplace)


class RReLU(_Activation):
    """Applies ``LeakyReLU`` with slopes drawn from [lower, upper), or their mean in evaluation (``torch.nn.RReLU``)."""

    __constants__ = ("lower", "upper", "inplace")

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_Activation):
    """Limits each element to [min_val, max_val] (``torch.nn.Hardtanh``); AssertionError if the interval is empty."""

    __constants__ = ("min_val", "max_val", "inplace")
    function = staticmethod(F.hardtanh)

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
                 min_value: float | None = None, max_value: float | None = None) -> None:
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning,
                              stacklevel=outside())
        super().__init__(min_val=min_val if min_value is None else min_value,
                         max_val=max_val if max_value is None else max_value, inplace=inplace)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


class ReLU6(Hardtanh):
    """Limits each element to [0, 6] (``torch.nn.ReLU6``)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(_Function):
    """Computes 1 / (1 + exp(-x)) for each element (``torch.nn.Sigmoid``)."""

    function = staticmethod(F.sigmoid)


class Tanh(_Function):
    """Computes tanh(x) for each element (``torch.nn.Tanh``)."""

    function = staticmethod(F.tanh)


class LogSigmoid(_Function):
    """Computes log(sigmoid(x)) without loss of accuracy (``torch.nn.LogSigmoid``)."""

    function = staticmethod(F.logsigmoid)


class Softsign(_Function):
    """Computes x / (1 + |x|) for each element (``torch.nn.Softsign``)."""

    function = staticmethod(F.softsign)


class Tanhshrink(_Function):
    """Computes x - tanh(x) for each element (``torch.nn.Tanhshrink``)."""

    function = staticmethod(F.tanhshrink)


class Hardsigmoid(_Silent):
    """Computes x / 6 + 1/2, limited to [0, 1] (``torch.nn.Hardsigmoid``)."""

    function = staticmethod(F.hardsigmoid)


class Hardswish(_Silent):
    """Computes x·hardsigmoid(x) for each element (``torch.nn.Hardswish``)."""

    function = staticmethod(F.hardswish)


class SiLU(_InPlace):
    """Computes x·sigmoid(x) for each element (``torch.nn.SiLU``)."""

    function = staticmethod(F.silu)


class Mish(_InPlace):
    """Computes x·tanh(softplus(x)) for each element (``torch.nn.Mish``)."""

    function = staticmethod(F.mish)


class ELU(_Activation):
    """Keeps positive elements, and replaces the others by alpha·(exp(x) - 1) (``torch.nn.ELU``)."""

    __constants__ = ("alpha", "inplace")
    function = staticmethod(F.elu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class CELU(_Activation):
    """Computes max(0, x) + min(0, alpha·(exp(x / alpha) - 1)) (``torch.nn.CELU``)."""

    __constants__ = ("alpha", "inplace")
    function = staticmethod(F.celu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class SELU(_InPlace):
    """Applies the self-normalising ``ELU``, scaled by a constant (``torch.nn.SELU``)."""

    function = staticmethod(F.selu)


class GLU(_Activation):
    """Multiplies the first half along ``dim`` by the sigmoid of the second (``torch.nn.GLU``)."""

    __constants__ = ("dim",)
    function = staticmethod(F.glu)

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim=dim)


class GELU(_Activation):
    """Multiplies x by the normal distribution function of x, or its approximation by ``'tanh'`` (``torch.nn.GELU``)."""

    __constants__ = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__(approximate=approximate)

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input) if self.approximate == "none" else F.gelu(input, approximate=self.approximate)


class LeakyReLU(_Activation):
    """Keeps positive elements, and multiplies the others by ``negative_slope`` (``torch.nn.LeakyReLU``)."""

    __constants__ = ("negative_slope", "inplace")
    function = staticmethod(F.leaky_relu)

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(negative_slope=negative_slope, inplace=inplace)


class Hardshrink(_Shrink):
    """Keeps elements with |x| > lambd, and sets the others to zero (``torch.nn.Hardshrink``)."""

    function = staticmethod(F.hardshrink)


class Softshrink(_Shrink):
    """Moves each element by ``lambd`` towards 0, and sets it to 0 where |x| <= lambd (``torch.nn.Softshrink``)."""

    function = staticmethod(F.softshrink)


class Softplus(_Activation):
    """Computes log(1 + exp(beta·x)) / beta, and keeps x where beta·x > threshold (``torch.nn.Softplus``)."""

    __constants__ = ("beta", "threshold")
    function = staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=beta, threshold=threshold)


class PReLU(Module):
    """Applies ``LeakyReLU`` with a learnt slope, or with one per channel of (N, C, ...) (``torch.nn.PReLU``)."""

    __constants__ = _shown = ("num_parameters",)

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype).fill_(init))

    def reset_parameters(self) -> None:
        """Set the slopes back to ``init``, as ``torch.nn.PReLU.reset_parameters`` does."""
        _init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class _OverDim(Module):
    """A softmax: its warning about a missing dimension points at the caller of the module."""

    __constants__ = _shown = ("dim",)
    function: Callable[..., Tensor]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return self.function(input, self.dim, 5)


class Softmax(_OverDim):
    """Divides exp(x) by its sum along ``dim`` (``torch.nn.Softmax``)."""

    function = staticmethod(F.softmax)


class Softmin(_OverDim):
    """Applies ``Softmax`` to -x (``torch.nn.Softmin``)."""

    function = staticmethod(F.softmin)


class LogSoftmax(_OverDim):
    """Computes the logarithm of ``Softmax`` without loss of accuracy (``torch.nn.LogSoftmax``)."""

    function = staticmethod(F.log_softmax)


class Softmax2d(Module):
    """Applies ``Softmax`` to the channels of (N, C, H, W) or (C, H, W) (``torch.nn.Softmax2d``). Raises ValueError if
    the input of a call has any other number of dimensions.
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


# -- attention ---------------------------------------------------------------------------------------------------------

class MultiheadAttention(Module):
    """Attends with several heads (``torch.nn.MultiheadAttention``): queries (L, N, embed_dim), keys (S, N, kdim) and
    values (S, N, vdim) to (L, N, embed_dim) and the weights (N, L, S); with ``batch_first`` N comes first everywhere,
    and it may be missing. The matrices that make queries, keys and values start uniform after Xavier and Glorot. Raises
    ValueError if ``embed_dim`` or ``num_heads`` is not positive, and AssertionError if ``embed_dim`` cannot be divided
    among the heads.
    """

    __constants__ = ("batch_first",)
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                             f"num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = same = self.kdim == self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(wanted: bool, *shape: int) -> Parameter | None:
            return Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None

        for name, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            self.register_parameter(f"{name}_proj_weight", parameter(not same, embed_dim, width))
        self.register_parameter("in_proj_weight", parameter(same, 3 * embed_dim, embed_dim))
        self.register_parameter("in_proj_bias", parameter(bias, 3 * embed_dim))
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        if add_bias_kv:
            self.bias_k, self.bias_v = parameter(True, 1, 1, embed_dim), parameter(True, 1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                _init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            _init.constant_(self.in_proj_bias, 0.0)
            _init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                _init.xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"_qkv_same_embed_dim": True, **state})

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
        padding = canonical_mask(key_padding_mask, "key_padding_mask", query.dtype, attn_mask, "attn_mask")
        mask = canonical_mask(attn_mask, "attn_mask", query.dtype)
        swapped = self.batch_first and query.dim() == 3
        if swapped:  # one tensor stays one
            turned = {id(tensor): tensor.transpose(1, 0) for tensor in (query, key, value)}
            query, key, value = (turned[id(tensor)] for tensor in (query, key, value))
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training,
            padding, need_weights, mask, not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight,
            self.v_proj_weight, average_attn_weights=average_attn_weights, is_causal=is_causal)
        return out.transpose(1, 0) if swapped else out, weights

    def merge_masks(self, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
                    query: Tensor) -> tuple[Tensor | None, int | None]:
        """Both masks as one, and its kind: None, 1 for padding (N, S), 2 for one of all heads (N, heads, L, S)
        (``torch.nn.MultiheadAttention.merge_masks``).
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        merged = attn_mask.view(batch if attn_mask.dim() == 3 else 1, -1, length, length)
        merged = merged.expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2
