"""Operators that only write, as operators that return new values: the forms that functionalization puts in their place.

They have no derivatives: functionalization runs below autograd, which has recorded the operators that write.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.errors import check
from .._dispatch.schemas import registry
from .._tensor import Tensor
from . import operator, schemas
from .views import clone_preserve_strides

schemas("""
operator only, explicit:
    copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor  # `src` in the layout and dtype of `self`.
    zero(Tensor self) -> Tensor  # Zeros in the layout of `self`.
    resize(Tensor self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor  # A copy of `self`, resized.
    set.source_Tensor(Tensor self, Tensor source) -> Tensor  # `source`.
    lift_fresh_copy(Tensor self) -> Tensor  # A copy of the constant `self`.
    uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor  # Numbers drawn uniformly, in the layout of `self`.
    normal_functional(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor  # Numbers drawn from a normal distribution, in the layout of `self`.
    random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor  # Integers drawn uniformly, in the layout of `self`.
    random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor
    random(Tensor self, *, Generator? generator=None) -> Tensor
    bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor  # Ones, drawn with the probabilities `p`, and zeros, in the layout of `self`.
    exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor  # Numbers drawn from an exponential distribution, in the layout of `self`.
    cauchy(Tensor self, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor  # Numbers drawn from a Cauchy distribution, in the layout of `self`.
    geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor  # Numbers drawn from a geometric distribution, in the layout of `self`.
    log_normal(Tensor self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor  # Numbers drawn from a log-normal distribution, in the layout of `self`.
    embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor  # The rows of `self`, those at `indices` with norms of at most `max_norm`.
    _foreach_zero(Tensor[] self) -> Tensor[]  # Zeros in the layouts of `self`.
    _foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[]  # `src` in the layouts and dtypes of `self`.
    _native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor result0, Tensor result1, Tensor result2, Tensor running_mean_out, Tensor running_var_out)  # The outputs of `native_batch_norm`, and the moved running statistics.
    _native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)  # The outputs of `native_batch_norm` by the running statistics.
    _batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3, Tensor running_mean_out, Tensor running_var_out)  # The outputs of `_batch_norm_with_update`, and the moved running statistics.
    rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)  # The leaky ReLU of `self` with random slopes, and the `noise`.
""")  # noqa: E501


def written(name: str) -> Callable[..., Any]:
    """Return the function that writes into a copy of its first argument, or of the list that it is."""
    write = registry[name].call

    def row(self: Tensor, *args: Any) -> Any:
        if isinstance(self, (list, tuple)):
            copies = [clone_preserve_strides(tensor) for tensor in self]
            write(copies, *args)
            return copies
        return write(clone_preserve_strides(self), *args)

    return row


def returned(name: str, *positions: int) -> Callable[..., Any]:
    """Return the function that writes into copies of the arguments at these positions and returns them, too."""
    run = registry[name].call

    def row(*args: Any) -> Any:
        given = list(args)
        for position in positions:
            given[position] = clone_preserve_strides(args[position])
        outputs = run(*given)
        return (*(outputs if isinstance(outputs, tuple) else (outputs,)), *[given[position] for position in positions])

    return row


def copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Return ``src`` as ``self.copy_(src)`` leaves it in ``self``."""
    check(len(src.shape) <= len(self.shape), lambda: "The expanded size of the tensor must be at least that of the "
          f"source: cannot copy {list(src.shape)} into {list(self.shape)}")
    return registry["copy_"].call(clone_preserve_strides(self), src, non_blocking)


operator("copy", composite=copy)
operator("lift_fresh_copy", composite=lambda self: registry["clone"].call(self))
operator("set.source_Tensor", composite=lambda self, source: registry["alias"].call(source))
for name in ("zero", "resize", "uniform", "random.from", "random.to", "random", "bernoulli.Tensor", "exponential",
             "cauchy", "geometric", "log_normal", "embedding_renorm", "_foreach_zero", "_foreach_copy"):
    packet, dot, overload = name.partition(".")
    operator(name, composite=written(f"{packet}_{dot}{overload}"))
operator("normal_functional", composite=written("normal_"))
operator("_native_batch_norm_legit_functional", composite=returned("_native_batch_norm_legit", 3, 4))
operator("_batch_norm_with_update_functional", composite=returned("_batch_norm_with_update", 3, 4))
operator("rrelu_with_noise_functional", composite=returned("rrelu_with_noise", 1))
operator("_native_batch_norm_legit_no_training", composite=lambda input, weight, bias, mean, var, momentum, eps:
         registry["_native_batch_norm_legit"].call(input, weight, bias, mean, var, False, momentum, eps))
