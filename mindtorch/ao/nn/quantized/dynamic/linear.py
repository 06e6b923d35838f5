"""A linear layer with int8 weights (``torch.ao.nn.quantized.dynamic.Linear``)."""
from __future__ import annotations

from typing import Any

from ....._creation import zeros
from ....._dispatch import aten
from ....._dtype import QUANTIZED, DType, float32
from .....nn.module import Module
from ...._tensor import QuantizedTensor, quantize_per_channel, quantize_per_tensor, quantize_per_tensor_dynamic

QINT8 = QUANTIZED["qint8"]


def linear_dynamic(x: Any, weight: QuantizedTensor, bias: Any) -> Any:
    """Quantise the input to 7 bits, as FBGEMM does so that sums of products do not overflow, and multiply integers."""
    rows = quantize_per_tensor_dynamic(x, QUANTIZED["quint8"], True)
    left = rows._integers.to(float32) - rows.q_zero_point()
    zero_point = weight._zero_point if weight._axis is None else weight._zero_point.reshape(-1, 1)
    product = left @ aten.t(weight._integers.to(float32) - zero_point)
    out = product * (rows.q_scale() * weight._scale if weight._axis is None else
                     (rows.q_scale() * weight._scale).to(float32))
    return out if bias is None else out + bias


def quantize_weight(weight: Any, observer: Any) -> Any:
    """Return a weight quantised by an observer, for the tensor or by channel."""
    observer(weight)
    scale, zero_point = observer.calculate_qparams()
    if hasattr(observer, "ch_axis"):
        return quantize_per_channel(weight.detach(), scale, zero_point, observer.ch_axis, observer.dtype)
    return quantize_per_tensor(weight.detach(), float(scale), int(zero_point), observer.dtype)


class Linear(Module):
    """A linear layer with int8 weights, that quantises its input at each call."""

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: DType = QINT8) -> None:
        super().__init__()
        self.in_features, self.out_features, self.dtype = in_features, out_features, dtype
        self.scale, self.zero_point = 1.0, 0
        self._weight = quantize_per_tensor(zeros(out_features, in_features), 1.0, 0, dtype)
        self._bias = zeros(out_features) if bias_ else None

    def forward(self, x: Any) -> Any:
        """Multiply by the weight, and add the bias."""
        return linear_dynamic(x, self._weight, self._bias).to(x.dtype)

    def weight(self) -> QuantizedTensor:
        """Return the quantised weight."""
        return self._weight

    def bias(self) -> Any:
        """Return the bias, or None."""
        return self._bias

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Put another quantised weight and bias in the place of these."""
        self._weight, self._bias = w, None if b is None else b.detach()

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        """Return the sizes, and how the weight is quantised."""
        return (f"in_features={self.in_features}, out_features={self.out_features}, dtype={self.dtype}, "
                f"qscheme={self._weight.qscheme()}")

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}scale"], destination[f"{prefix}zero_point"] = _as_tensor(1.0), _as_tensor(0)
        destination[f"{prefix}_packed_params.dtype"] = self.dtype
        destination[f"{prefix}_packed_params._packed_params"] = self._weight, self._bias

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        for name in ("scale", "zero_point", "_packed_params.dtype"):
            state_dict.pop(f"{prefix}{name}", None)
        packed = state_dict.pop(f"{prefix}_packed_params._packed_params", None)
        if packed is None:
            args[2].append(f"{prefix}_packed_params._packed_params")
        else:
            self.set_weight_bias(*packed)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Linear:
        """Return the quantised layer of a linear one. Raises AssertionError for one without a ``qconfig``."""
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        made = cls(mod.in_features, mod.out_features)
        made.set_weight_bias(quantize_weight(mod.weight.float(), mod.qconfig.weight()), mod.bias)
        return made


def _as_tensor(value: float) -> Any:
    from ....._creation import tensor
    return tensor(value)
