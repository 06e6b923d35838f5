"""``torch.autograd``: gradients, modes, functions with derivatives of one's own."""
from .._autograd.anomaly import detect_anomaly, set_detect_anomaly
from .._autograd.engine import backward, grad
from .._autograd.function import Function
from .._autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled
from .._dispatch.torch_function import overridable as _overridable
from . import forward_ad, function, functional, grad_mode, graph, profiler
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .variable import Variable

__all__ = ["Function", "GradcheckError", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad",
           "function", "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode",
           "no_grad", "profiler", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled"]
__dir__ = __all__.copy
grad = _overridable(grad)


def is_multithreading_enabled() -> bool:
    """Return True if backward may use several threads, see ``set_multithreading_enabled``."""
    return set_multithreading_enabled.enabled
