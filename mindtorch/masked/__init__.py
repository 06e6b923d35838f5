"""``torch.masked``: reductions with masks, and tensors that carry one."""
from . import _ops, _table
from ._ops import (
    amax, amin, argmax, argmin, cumprod, cumsum, log_softmax, logaddexp, logsumexp, mean, median, norm, normalize, prod,
    softmax, softmin, std, sum, var,
)
from .maskedtensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

__all__ = [*_ops.__all__, "MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]
__dir__ = __all__.copy
MaskedTensor._function, MaskedTensor._operator = _table.function, _table.operator
