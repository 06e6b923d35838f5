"""Meta kernels of random numbers. Operators that only exist in place are checked here, and have no output."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._base.about import about
from ...._base.errors import NAMES, check, check_takes
from ...._base.layout import Ints, Spec, broadcast_shapes, like_strides
from ...._dtype import BOOL, COMPLEX, FLOATING, INTEGER, DType, bool_, int64
from . import META_KERNELS
from .special import same_floating

Check = Callable[..., None]
REAL = (BOOL, INTEGER, FLOATING)


def filled(kernel: str, *categories: int) -> Check:
    """The check of an operator that fills a tensor, of dtypes of these categories."""

    def check_dtype(self: Any, *parameters: Any) -> None:
        check_takes(self._dtype.category in categories, kernel, self._dtype)

    return check_dtype


def bounded_integers(self: Any, *bounds: Any) -> None:
    check(self._dtype.category != COMPLEX, "check_random_bounds handles only integral, floating-point and "
                                           "boolean types")


def continuous(name: str) -> Check:
    """The check of a distribution of real numbers."""

    def check_dtype(self: Any, *parameters: Any) -> None:
        check(self._dtype.category == FLOATING, lambda: f"{name} distribution is a continuous probability "
              f"distribution. dtype must be a floating point but you specified {NAMES[self._dtype.name]}")

    return check_dtype


def bernoulli_tensor(self: Any, p: Any, generator: Any = None) -> None:
    filled("bernoulli_tensor_cpu_self_", *REAL)(self)
    filled("bernoulli_tensor_cpu_p_", FLOATING)(p)
    if p.shape != self.shape:
        p.expand(self.shape)


def sampled(check_dtype: Check) -> Callable[..., Spec]:
    """The meta kernel of an operator whose output is like its input, given its check."""

    def meta(self: Any, *parameters: Any) -> Spec:
        check_dtype(self)
        return Spec(tuple(self.shape), self._dtype)

    return meta


def multinomial(self: Any, num_samples: int, replacement: bool = False, generator: Any = None) -> Spec:
    dtype, shape = self._dtype, tuple(self.shape)
    check(dtype.category == FLOATING,
          lambda: f"multinomial only supports floating-point dtypes for input, got: {NAMES[dtype.name]}")
    check(0 < len(shape) <= 2, "prob_dist must be 1 or 2 dim")
    check(num_samples > 0, "cannot sample n_sample <= 0 samples")
    check(replacement or num_samples <= shape[-1],
          "cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    return Spec((*shape[:-1], num_samples), int64)


def binomial(count: Any, prob: Any, generator: Any = None) -> Spec:
    for name, tensor in (("count", count), ("prob", prob)):
        if tensor._dtype.category != FLOATING:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: "
                             f"{NAMES[tensor._dtype.name]}")
    check(count._dtype is prob._dtype,
          lambda: f"Found dtype {NAMES[prob._dtype.name]} but expected {NAMES[count._dtype.name]}")
    check_takes(count._dtype.itemsize >= 4, "binomial_cpu", count._dtype)
    return Spec(broadcast_shapes(count.shape, prob.shape), count._dtype)


def randperm(n: int, generator: Any, dtype: DType | None = None, *options: Any) -> Spec:
    check(n >= 0, lambda: about(RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]"),
                                "negative size", shape=(n,)))
    dtype = dtype or int64
    check_takes(dtype.category in (INTEGER, FLOATING), "randperm", dtype)
    return Spec((n,), dtype)


def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Spec, Spec]:
    shape = tuple(input.shape)
    stride: Ints | None = like_strides(shape, input._strides())
    check(input._dtype.category >= FLOATING,
          lambda: about(RuntimeError("result type Float can't be cast to the desired output type "
                                     f"{NAMES[input._dtype.name]}"),
                        "result cast", result="float32", target=input._dtype.name))
    return Spec(shape, input._dtype, stride), Spec(shape, bool_, stride)


META_KERNELS.add(multinomial, binomial, native_dropout)
META_KERNELS.update({
    "randperm.generator": randperm,
    "uniform_": filled("check_uniform_bounds", FLOATING, COMPLEX),
    "normal_": filled("normal_kernel_cpu", FLOATING, COMPLEX),
    "random_": filled("random_kernel_cpu", *REAL),
    "random_.from": bounded_integers,
    "random_.to": bounded_integers,
    "bernoulli_.float": filled("bernoulli_scalar_cpu_", *REAL),
    "bernoulli_.Tensor": bernoulli_tensor,
    "exponential_": continuous("Exponential"),
    "geometric_": filled("geometric_cpu", INTEGER, FLOATING),
    "cauchy_": continuous("Cauchy"),
    "log_normal_": filled("log_normal_cpu", FLOATING),
    "bernoulli": sampled(lambda self: bernoulli_tensor(self, self)),
    "bernoulli.p": sampled(filled("bernoulli_scalar_cpu_", *REAL)),
    "_standard_gamma": lambda self, generator=None: same_floating("gamma_cpu")(self),
    "_sample_dirichlet": lambda self, generator=None: same_floating("dirichlet")(self),
    "poisson": sampled(filled("poisson_cpu", FLOATING)),
})
