"""``torch.nn.functional``: the functions that modules are made of."""
from ..._dispatch.torch_function import (
    handle_torch_function as handle_torch_function, has_torch_function as has_torch_function,
    has_torch_function_unary as has_torch_function_unary, has_torch_function_variadic as has_torch_function_variadic,
    overridable_names as _overridable_names,
)
from .. import grad as grad
from . import (
    activation as _activation, attention as _attention, convolution as _convolution, dropout as _dropout,
    embedding as _embedding, linear as _linear, loss as _loss, normalization as _normalization, pooling as _pooling,
    rearrange as _rearrange, resampling as _resampling, scaled as _scaled,
)
from .activation import *  # noqa: F403
from .attention import *  # noqa: F403
from .convolution import *  # noqa: F403
from .dropout import *  # noqa: F403
from .embedding import *  # noqa: F403
from .linear import *  # noqa: F403
from .loss import *  # noqa: F403
from .normalization import *  # noqa: F403
from .pooling import *  # noqa: F403
from .rearrange import *  # noqa: F403
from .resampling import *  # noqa: F403
from .scaled import *  # noqa: F403

__all__ = [
    *_activation.__all__, *_attention.__all__, *_convolution.__all__, *_dropout.__all__, *_embedding.__all__,
    *_linear.__all__, *_loss.__all__, *_normalization.__all__, *_pooling.__all__, *_rearrange.__all__,
    *_resampling.__all__, *_scaled.__all__,
]
__dir__ = __all__.copy
_overridable_names(globals(), __all__)
