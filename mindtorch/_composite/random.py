"""New tensors of random numbers, ``out=`` forms that draw in its order, and dropout."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backends.common.inplace_and_out import resize_output
from .._base.errors import check
from .._base.layout import broadcast_shapes
from .._dispatch.aten import (
    empty_like, empty_memory_format as empty, normal_, random__from, randperm_generator, scalar_tensor, uniform_,
)
from .._dispatch.dispatcher import has_values
from .._dtype import bool_, int64
from . import COMPOSITES
from .creation import fresh, options_of

Options = Any  # what all factories take, and the memory format of a tensor like another

# -- factories -----------------------------------------------------------------------------------------------

def drawn(fill: Callable[..., Any], first: float, second: float) -> dict[str, Callable[..., Any]]:
    """The four forms of a factory that fills new memory by an operator with two parameters: of a size or like a tensor,
    from the default generator or a given one.
    """

    def by(make: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
        return (lambda like, *options: fresh(fill(make(like, *options), first, second)),
                lambda like, generator, *options: fresh(fill(make(like, *options), first, second, generator)))

    return dict(zip(("", ".generator", "_like", "_like.generator"), (*by(empty), *by(empty_like)), strict=True))


def _randint(low: int, high: int, size: Any, generator: Any, dtype: Any = None, *options: Options) -> Any:
    return fresh(random__from(empty(size, dtype or int64, *options), low, high, generator))


def _randint_like(self: Any, low: int, high: int, generator: Any, *options: Options) -> Any:
    return fresh(random__from(empty_like(self, *options), low, high, generator))


# -- normal and bernoulli ------------------------------------------------------------------------------------

def _draw_normal(out: Any, mean: Any, std: Any, generator: Any) -> Any:
    """Fill ``out`` with normal numbers; a number's deviation is drawn with, a tensor's multiplied by."""
    if isinstance(std, (int, float)):
        return out.normal_(0, std, generator=generator).add_(mean)
    check(not std.is_complex(), "normal expects standard deviation to be non-complex")
    check(not has_values(std) or bool((std >= 0).all()), "normal expects all elements of std >= 0.0")
    return out.normal_(0, 1, generator=generator).mul_(std).add_(mean)


def _normal(mean: Any, std: Any = 1.0, generator: Any = None) -> Any:
    mean, std = (value.detach() if hasattr(value, "detach") else value for value in (mean, std))
    out = empty(_shape(mean, std), *options_of(_like(mean, std)))
    return fresh(_draw_normal(out, mean, std, generator))


def _normal_out(mean: Any, std: Any, generator: Any, out: Any) -> Any:
    # where the deviation is one, PyTorch broadcasts the mean with ``out``
    number = isinstance(std, (int, float))
    return _draw_normal(resize_output(out, _shape(mean, out if number else std)), mean, std, generator)


def _like(mean: Any, std: Any) -> Any:
    return mean if hasattr(mean, "dtype") else std


def _shape(mean: Any, std: Any) -> tuple[int, ...]:
    return broadcast_shapes(*(value.shape for value in (mean, std) if hasattr(value, "shape")))


# -- dropout -------------------------------------------------------------------------------------------------

def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    check(mask._dtype is bool_, lambda: f"Mask should be Bool Scalar Type {mask.dtype}")
    return grad_output * (mask.to(grad_output.dtype) * scale)


ALPHA = 1.7580993408473766  # SELU tends to -ALPHA for large negative numbers


def dropping(inplace: bool = False, feature: bool = False, alpha: bool = False) -> Callable[..., Any]:
    """A dropout: of elements or whole features, to zero or SELU's lowest value, anew or in place."""

    def dropout(self: Any, p: float, train: bool) -> Any:
        check(0 <= p <= 1, lambda: f"dropout probability has to be between 0 and 1, but got {p:g}")
        if p == 0 or not train or not self.numel():
            return self
        multiply = self.mul_ if inplace else self.mul
        if p == 1:
            return multiply(scalar_tensor(0, *options_of(self)))
        if feature:
            noise: Any = _one_per_feature(self)
        else:  # where vmap draws for all elements at once, it does so in their order, however they lie
            noise = empty_like(self, *(None,) * 4, None if self._batched is None else "contiguous_format")
        noise.bernoulli_(1 - p)
        if not alpha:
            return multiply(fresh(noise.div_(1 - p)))
        scale = 1 / ((ALPHA**2 * p + 1) * (1 - p)) ** 0.5  # keeps the variance, as the shift the mean
        shift = noise.add(-1).mul_(ALPHA * scale).add_(ALPHA * scale * p)
        return multiply(fresh(noise.mul_(scale))).add_(shift)

    return dropout


def _one_per_feature(self: Any) -> Any:
    check(self.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input")
    return self.new_empty((*self.shape[:2], *(1 for _ in self.shape[2:])))


COMPOSITES.add(native_dropout_backward)
COMPOSITES.update({
    **{f"rand{form}": function for form, function in drawn(uniform_, 0.0, 1.0).items()},
    **{f"randn{form}": function for form, function in drawn(normal_, 0.0, 1.0).items()},
    "randint": lambda high, size, *options: _randint(0, high, size, None, *options),
    "randint.generator": lambda high, size, generator, *options: _randint(0, high, size, generator, *options),
    "randint.low": lambda low, high, size, *options: _randint(low, high, size, None, *options),
    "randint.low_generator": _randint,
    "randint_like": lambda self, high, *options: _randint_like(self, 0, high, None, *options),
    "randint_like.generator": lambda self, high, generator, *options: _randint_like(self, 0, high, generator, *options),
    "randint_like.low_dtype": lambda self, low, high, *options: _randint_like(self, low, high, None, *options),
    "randint_like.low_generator_dtype": _randint_like,
    "randperm": lambda n, *options: randperm_generator(n, None, *options),
    "normal.float_float": lambda mean, std, size, generator=None, *options:
        fresh(normal_(empty(size, *options), mean, std, generator)),
    "normal.Tensor_Tensor": _normal,
    "normal.Tensor_float": _normal,
    "normal.float_Tensor": _normal,
    "normal.Tensor_Tensor_out": _normal_out,
    "normal.Tensor_float_out": _normal_out,
    "normal.float_Tensor_out": _normal_out,
    "bernoulli.out": lambda self, generator, out: resize_output(out, self.shape).bernoulli_(self, generator=generator),
    "dropout": dropping(),
    "dropout_": dropping(inplace=True),
    "feature_dropout": dropping(feature=True),
    "feature_dropout_": dropping(inplace=True, feature=True),
    "alpha_dropout": dropping(alpha=True),
    "alpha_dropout_": dropping(inplace=True, alpha=True),
    "feature_alpha_dropout": dropping(feature=True, alpha=True),
    "feature_alpha_dropout_": dropping(inplace=True, feature=True, alpha=True),
})
