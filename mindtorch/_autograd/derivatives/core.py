"""Derivatives of what the library is written in."""
from __future__ import annotations

from ..._dispatch.aten import zeros_like
from ..derivative import derivative, not_differentiable

derivative("clone", self=lambda grad: grad)
derivative("_to_copy", self=lambda grad, self_dtype, self_device:
           (grad.real if grad.is_complex() and not self_dtype.is_complex else grad).to(self_device, self_dtype))
derivative("copy_", "torch::autograd::CopyBackwards", self=lambda grad: zeros_like(grad),
           src=lambda grad: grad)
not_differentiable("_local_scalar_dense")
