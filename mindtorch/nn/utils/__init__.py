"""``torch.nn.utils``."""
from typing import TYPE_CHECKING

from ..._base.lazy import lazily
# Functions that are called as their modules: loaded at once, so that an import of the module does not hide them.
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

if TYPE_CHECKING:
    from . import parametrizations, parametrize, prune, rnn, stateless
    from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
    from .convert_parameters import parameters_to_vector, vector_to_parameters
    from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
    from .init import skip_init
    from .memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format
else:
    __getattr__, _lazy_names = lazily(__name__, __file__)

    def __dir__() -> list[str]:
        return sorted([*_lazy_names(), "remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"])

    __all__ = __dir__()
