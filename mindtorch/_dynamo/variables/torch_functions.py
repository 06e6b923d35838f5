"""Functions of the library: nodes of the graph, or constants (``torch._dynamo.variables.torch``)."""
from __future__ import annotations

from typing import Any

from ..._dispatch.overloads import OpOverload, OpOverloadPacket
from ..exc import Break
from .base import BoundBuiltin, Known, Translator, Variable, fold
from .tensor import TensorVariable

#: Functions whose result is known while the function is interpreted, given constants or tensors.
KNOWN = frozenset([
    "is_grad_enabled", "is_inference_mode_enabled", "get_default_dtype", "is_floating_point", "is_complex", "is_conj",
    "is_neg", "is_inference", "is_autocast_enabled", "is_autocast_cpu_enabled", "get_autocast_dtype",
    "get_autocast_cpu_dtype", "get_autocast_gpu_dtype", "is_autocast_cache_enabled", "numel", "promote_types",
    "result_type", "can_cast", "broadcast_shapes", "is_same_size", "get_default_device", "is_signed", "typename",
    "are_deterministic_algorithms_enabled", "get_float32_matmul_precision", "is_warn_always_enabled",
    "is_deterministic_algorithms_warn_only_enabled", "is_nested", "is_storage", "is_available", "device_count",
    "is_anomaly_enabled", "is_scripting", "is_tracing", "has_torch_function", "has_torch_function_unary",
    "get_num_threads",
])
#: Functions that a graph does not have, and why.
BREAKS = {
    "set_default_dtype": "changes what the following calls do", "set_default_device": "changes what the following calls"
    " do", "set_default_tensor_type": "changes what the following calls do", "manual_seed": "seeds the generator",
    "set_printoptions": "changes what the following calls do", "use_deterministic_algorithms": "changes what the "
    "following calls do", "set_num_threads": "changes what the following calls do", "from_numpy": "takes an array of "
    "NumPy's", "from_file": "reads a file", "is_nonzero": "reads data", "equal": "reads data", "allclose": "reads data",
    "save": "writes a file", "load": "reads a file", "set_float32_matmul_precision": "changes what the following calls "
    "do", "set_warn_always": "changes what the following calls do", "frombuffer": "takes memory", "from_dlpack":
    "takes memory", "to_dlpack": "gives memory away",
}


class TorchFunction(Known):
    """A function of the library."""

    def __init__(self, function: Any) -> None:
        self.function = function

    @property
    def value(self) -> Any:
        return self.function

    def attribute(self, tx: Translator, name: str) -> Variable:
        if name == "__get__" and not isinstance(self.function, OpOverloadPacket):
            return BoundBuiltin(self, name)
        return tx.made(fold(tx, getattr, self.function, name))

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        name = getattr(self.function, "__name__", "")
        if name in KNOWN and not (isinstance(self.function, (OpOverload, OpOverloadPacket))):
            given = [arg.example if isinstance(arg, TensorVariable) else arg.value for arg in args]
            named = {key: arg.example if isinstance(arg, TensorVariable) else arg.value for key, arg in kwargs.items()}
            return tx.made(self.function(*given, **named))
        if name in BREAKS:
            raise Break(f"torch.{name} {BREAKS[name]}")
        if args and isinstance(args[0], TensorVariable) and self.is_method:
            return args[0].method(tx, name, args[1:], kwargs)
        return tx.output.call(tx, "call_function", self.function, args, kwargs)

    @property
    def is_method(self) -> bool:
        """True for a function of ``Tensor``: ``torch.Tensor.add``."""
        return getattr(self.function, "__qualname__", "").startswith("Tensor.")

    def __str__(self) -> str:
        return f"the function {getattr(self.function, '__name__', self.function)} of the library"


