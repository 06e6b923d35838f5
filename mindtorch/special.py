"""Special functions under PyTorch's names: ``torch.special``."""
from __future__ import annotations

from ._dispatch.binding import make_namespace
from ._dispatch.schemas import registry

#: Names that are other names of operators outside this namespace.
ALIASES = {"digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2", "expit": "sigmoid",
           "expm1": "expm1", "gammainc": "igamma", "gammaincc": "igammac", "gammaln": "lgamma", "i0": "i0",
           "log1p": "log1p", "log_softmax": "log_softmax", "logit": "logit", "logsumexp": "logsumexp",
           "multigammaln": "mvlgamma", "polygamma": "polygamma", "psi": "digamma", "sinc": "sinc", "softmax": "softmax",
           "xlogy": "xlogy"}
PREFIX = "special_"
_packets = {packet.removeprefix(PREFIX): packet for packet in registry.packets if packet.startswith(PREFIX)}
_functions = make_namespace(__name__, {**_packets, **ALIASES})
globals().update(_functions)
__all__ = sorted(_functions)
__dir__ = __all__.copy
