"""Meta kernels of softmax: the input's shape, contiguous."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._base.errors import check, check_takes
from ...._base.layout import Spec, wrap_dim
from ...._dtype import FLOATING
from . import META_KERNELS


def softmax(name: str) -> Callable[..., Spec]:
    def meta(self: Any, dim: int, half_to_float: bool = False) -> Spec:
        last = wrap_dim(dim, self.ndim) == max(self.ndim - 1, 0)
        check(not half_to_float, lambda: f"{name} with half to float conversion is not supported on CPU")
        check_takes(self._dtype.category == FLOATING or not self.numel(),
                    f"{name}{'_lastdim' if last else ''}_kernel_impl", self._dtype)
        return Spec(tuple(self.shape), self._dtype)

    return meta


def backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Spec:
    wrap_dim(dim, grad_output.ndim)
    check(grad_output.shape == output.shape, lambda: "expected the shapes of grad and output to match, but got "
          f"{list(grad_output.shape)} and {list(output.shape)}")
    check(grad_output._dtype is output._dtype,
          lambda: f"expected grad and output to have the same dtype, but got {grad_output.dtype} and {output.dtype}")
    return Spec(tuple(grad_output.shape), input_dtype)


META_KERNELS.update({
    "_softmax": softmax("softmax"),
    "_log_softmax": softmax("log_softmax"),
    "_softmax_backward_data": backward_data,
    "_log_softmax_backward_data": backward_data,
})
