"""Dropout functions of ``torch.nn.functional``."""
import warnings
from typing import Any

from ..._base.call_site import outside
from ..._methods.functions import (
    alpha_dropout as _alpha_dropout, alpha_dropout_ as _alpha_dropout_, dropout as _dropout, dropout_ as _dropout_,
    feature_alpha_dropout as _feature_alpha_dropout, feature_alpha_dropout_ as _feature_alpha_dropout_,
    feature_dropout as _feature_dropout, feature_dropout_ as _feature_dropout_,
)
from ..._tensor import Tensor

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]
__dir__ = __all__.copy


#: By name, what returns a new tensor, and what writes in place.
_FORMS = {
    "dropout": (_dropout, _dropout_), "alpha_dropout": (_alpha_dropout, _alpha_dropout_),
    "feature_dropout": (_feature_dropout, _feature_dropout_),
    "feature_alpha_dropout": (_feature_alpha_dropout, _feature_alpha_dropout_),
}


def _drop(name: str, input: Tensor, p: float, training: bool, inplace: bool) -> Any:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return _FORMS[name][bool(inplace)](input, p, training)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zero elements with probability p and scale the others by 1 / (1 - p)
    (``torch.nn.functional.dropout``). Raises ValueError if p is not in [0, 1].
    """
    return _drop("dropout", input, p, training, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Drop elements of an output of ``selu`` to its lower limit, and keep mean and variance
    (``torch.nn.functional.alpha_dropout``). Raises ValueError if p is not in [0, 1].
    """
    return _drop("alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply ``alpha_dropout`` to whole channels of (N, C, ...) (``torch.nn.functional.feature_alpha_dropout``). Raises
    ValueError if p is not in [0, 1].
    """
    return _drop("feature_alpha_dropout", input, p, training, inplace)


def _drop_channels(name: str, spatial: int, input: Tensor, p: float, training: bool, inplace: bool) -> Any:
    """Dropout of the channels of an input that may lack its batch dimension."""
    unbatched = input.dim() != spatial + 2
    if unbatched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _drop(name, input, p, training, inplace)
    if unbatched:
        return result.squeeze_(0) if inplace else result.squeeze(0)
    return result


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of an input (N, C, L) or (C, L) (``torch.nn.functional.dropout1d``). Raises ValueError if p
    is not in [0, 1], and RuntimeError if the input is neither 2 nor 3-dimensional.
    """
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that "
                           "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a "
                           "channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs).")
    return _drop_channels("feature_dropout", 1, input, p, training, inplace)


def _warn_of_dimensions(name: str, input: Tensor, spatial: int) -> None:
    allowed = (spatial + 1, spatial + 2)
    if input.dim() not in allowed:
        warnings.warn(
            f"{name}: Received a {input.dim()}-D input to {name}, which is deprecated and will result in an error in a "
            "future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
            f"{name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel "
            f"dimension, and an optional batch dimension (i.e. {allowed[0]}D or {allowed[1]}D inputs).",
            stacklevel=outside())


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of an input (N, C, H, W) (``torch.nn.functional.dropout2d``). As in PyTorch, (N, C, L) is
    taken as well, with a warning. Raises ValueError if p is not in [0, 1].
    """
    _warn_of_dimensions("dropout2d", input, 2)
    if input.dim() == 3:
        warnings.warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior "
                      "is desired - input is interpreted as shape (N, C, L), where C is the channel dim.",
                      stacklevel=outside())
    return _drop("feature_dropout", input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of an input (N, C, D, H, W) or (C, D, H, W) (``torch.nn.functional.dropout3d``). Raises
    ValueError if p is not in [0, 1].
    """
    _warn_of_dimensions("dropout3d", input, 3)
    return _drop_channels("feature_dropout", 3, input, p, training, inplace)
