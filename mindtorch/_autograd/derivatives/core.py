"""Derivatives of what the library is written in."""
from __future__ import annotations

from ..._dispatch.schemas import registry
from ..derivative import derivative
from ..utils import reduce_grad

expand, reshape, t, threshold_backward = (registry[n].call for n in ("expand", "reshape", "t", "threshold_backward"))

derivative("add.Tensor",
           self=lambda grad: grad,
           other=lambda grad, alpha: grad if alpha == 1 else grad * alpha)
derivative("mul.Tensor",
           self=lambda grad, other: grad * other,
           other=lambda grad, self: grad * self)
derivative("relu", self=lambda grad, result: threshold_backward(grad, result, 0))
derivative("sum", self=lambda grad, self_shape: expand(grad, self_shape))
derivative("view", self=lambda grad, self_shape: reshape(grad, self_shape))
derivative("t", self=lambda grad: t(grad))
derivative("expand", self=lambda grad, self_shape: reduce_grad(grad, self_shape))
derivative("clone", self=lambda grad: grad)
derivative("_to_copy", self=lambda grad, self_dtype, self_device: grad.to(self_device, self_dtype))
