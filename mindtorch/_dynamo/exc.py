"""``torch._dynamo.exc``: what the compiler raises."""
from .._compile.breaks import FailOnRecompileLimitHit, InvalidBackend, TorchDynamoException, Unsupported

__all__ = ["FailOnRecompileLimitHit", "InvalidBackend", "TorchDynamoException", "Unsupported"]
__dir__ = __all__.copy
