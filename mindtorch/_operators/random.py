"""Random numbers: what a tensor is filled with in place, what is drawn for the elements of another, and dropout."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backends.common.inplace_and_out import resize_output
from .._base.about import about
from .._base.errors import NAMES, check, check_takes
from .._base.layout import Ints, Spec, broadcast_shapes, contiguous_strides, iterator_strides, like_strides
from .._dispatch.aten import (
    _standard_gamma_grad, empty_like, empty_memory_format as empty, normal_, random__from, randperm_generator,
    scalar_tensor, uniform_, zeros_like,
)
from .._dispatch.dispatcher import has_values, registry
from .._dispatch.local import local
from .._dtype import BOOL, COMPLEX, FLOATING, INTEGER, DType, bool_, int64
from .._tensor import Tensor
from .._transforms.batching.draws import to_fill
from .._transforms.batching.rules import elementwise
from . import operator, schemas
from .creation import fresh, options_of
from .special import same_floating

Check = Callable[..., None]


def filled(kernel: str, *categories: int, empty: bool = True) -> Check:
    """Return the check of an operator that fills a tensor, for dtypes of these categories; ``empty`` tensors pass."""

    def check_dtype(self: Tensor, *parameters: Any) -> None:
        if self._dtype.category not in categories and not (empty and self.numel() == 0):
            check_takes(False, kernel, self._dtype)

    return check_dtype


Options = Any  # what all factories take, and the memory format of a tensor like another


def drawn(fill: Callable[..., Any], first: float, second: float) -> dict[str, Callable[..., Any]]:
    """Return a factory's four forms: of a size or like a tensor, from the default or a given generator."""

    def by(make: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
        return (lambda like, *options: fresh(fill(to_fill(make(like, *options)), first, second)),
                lambda like, generator, *options: fresh(fill(to_fill(make(like, *options)), first, second, generator)))

    return dict(zip(("", ".generator", "_like", "_like.generator"), (*by(empty), *by(empty_like)), strict=True))


def zero(grad: Tensor) -> Tensor:
    return zeros_like(grad)


schemas("""
method:
    uniform_(Tensor(a!) self, float from=0, float to=1, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with numbers drawn uniformly from `from` up to, but without, `to`.
    normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with numbers drawn from the normal distribution of mean `mean` and standard deviation `std`.
function, out:
    normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor  # Numbers drawn from the normal distributions of means `mean` and standard deviations `std`.
    normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor
    normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor
operator only, explicit:
    normal.float_float(float mean, float std, int[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
""")  # noqa: E501


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


operator("uniform_", filled("check_uniform_bounds", FLOATING, COMPLEX, empty=False), self=zero)
operator("normal_", filled("normal_kernel_cpu", FLOATING, COMPLEX), self=zero)
operator("normal.Tensor_Tensor", composite=_normal, node="NormalBackward3",
         mean=lambda grad, mean_shape: grad.new_zeros(mean_shape),
         std=lambda grad, std_shape: grad.new_zeros(std_shape))
operator("normal.Tensor_Tensor_out normal.Tensor_float_out normal.float_Tensor_out", composite=_normal_out)
operator("normal.Tensor_float", composite=_normal, node="NormalBackward1",
         mean=lambda grad, mean_shape: grad.new_zeros(mean_shape))
operator("normal.float_Tensor", composite=_normal, node="NormalBackward2",
         std=lambda grad, std_shape: grad.new_zeros(std_shape))
operator("normal.float_float",
         composite=lambda mean, std, size, generator=None, *options:
             fresh(normal_(empty(size, *options), mean, std, generator)))

schemas("""
method:
    random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with integers drawn uniformly from `from` up to, but without, `to`.
    random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)
    random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)
    bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with ones, drawn with probability `p`, and zeros.
    bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)
    exponential_(Tensor(a!) self, float lambd=1, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with numbers drawn from the exponential distribution of rate `lambd`.
    cauchy_(Tensor(a!) self, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with numbers drawn from the Cauchy distribution of median `median` and half-width `sigma`.
    geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with how many trials, each of success probability `p`, it takes to the first success.
    log_normal_(Tensor(a!) self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with numbers whose logarithms are drawn from the normal distribution of mean `mean` and standard deviation `std`.
function, method, out:
    bernoulli(Tensor self, *, Generator? generator=None) -> Tensor  # Ones, each drawn with the probability that `self` has there, and zeros.
function, method:
    bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor
function:
    poisson(Tensor self, Generator? generator=None) -> Tensor  # Numbers drawn from the Poisson distributions whose rates are the elements of `self`.
""")  # noqa: E501

REAL = (BOOL, INTEGER, FLOATING)


def bounded_integers(self: Tensor, *bounds: Any) -> None:
    check(self._dtype.category != COMPLEX, "check_random_bounds handles only integral, floating-point and "
                                           "boolean types")


def continuous(name: str, empty: bool = False) -> Check:
    """Return the check of a distribution of real numbers; ``empty`` tensors pass."""

    def check_dtype(self: Tensor, *parameters: Any) -> None:
        check(self._dtype.category == FLOATING or (empty and self.numel() == 0),
              lambda: f"{name} distribution is a continuous probability distribution. dtype must be a floating point "
              f"but you specified {NAMES[self._dtype.name]}")

    return check_dtype


def bernoulli_tensor(self: Tensor, p: Any, generator: Any = None) -> None:
    filled("bernoulli_tensor_cpu_self_", *REAL, empty=False)(self)
    filled("bernoulli_tensor_cpu_p_", FLOATING)(p)
    if p.shape != self.shape:
        p.expand(self.shape)


def sampled(check_dtype: Check) -> Callable[..., Spec]:
    """Return the meta kernel of an operator whose output is like its input, given its check."""

    def meta(self: Tensor, *parameters: Any) -> Spec:
        check_dtype(self)
        return Spec(tuple(self.shape), self._dtype)

    return meta


operator("random_.from", bounded_integers, node="RandomBackward0", self=zero)
operator("random_.to", bounded_integers, node="RandomBackward1", self=zero)
operator("random_", filled("random_kernel_cpu", *REAL), node="RandomBackward2", self=zero)
operator("bernoulli_.Tensor", bernoulli_tensor, node="BernoulliBackward1", self=zero, p=lambda grad, p: zeros_like(p))
operator("bernoulli_.float", filled("bernoulli_scalar_cpu_", *REAL), node="BernoulliBackward2", self=zero)
operator("bernoulli", sampled(lambda self: bernoulli_tensor(self, self)), self=zero)
operator("bernoulli.out",
         composite=lambda self, generator, out: resize_output(out, self.shape).bernoulli_(self, generator=generator))
operator("bernoulli.p", sampled(filled("bernoulli_scalar_cpu_", *REAL)))
operator("poisson", sampled(filled("poisson_cpu", FLOATING, empty=False)), self=zero)
operator("exponential_", continuous("Exponential", empty=True), self=zero)
operator("cauchy_", continuous("Cauchy"), self=zero)
operator("geometric_", filled("geometric_cpu", INTEGER, FLOATING), self=zero)
operator("log_normal_", filled("log_normal_cpu", FLOATING), self=zero)

schemas("""
function, method, out, exact dtype, no overlap:
    multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor  # `num_samples` positions in each row of `self`, drawn with probabilities in proportion to its elements, more than once only with `replacement`.
function:
    binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor  # How many of `count` trials, each of success probability `prob`, succeed.
    _standard_gamma(Tensor self, Generator? generator=None) -> Tensor  # Numbers drawn from the gamma distributions of rate 1 whose shape parameters are the elements of `self`.
    _sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor  # Points drawn from the Dirichlet distributions whose concentrations lie along the last dimension of `self`.
    native_dropout(Tensor input, float p, bool? train) -> (Tensor result0, Tensor result1)  # `input` with elements zeroed with probability `p` and the others divided by 1 - `p`, unless `train` is False, and the mask of those kept.
operator only:
    native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor  # The gradient of `native_dropout`: `grad_output` times `mask` and `scale`.
""")  # noqa: E501


def meta_multinomial(self: Tensor, num_samples: int, replacement: bool = False, generator: Any = None) -> Spec:
    dtype, shape = self._dtype, tuple(self.shape)
    check(dtype.category == FLOATING,
          lambda: f"multinomial only supports floating-point dtypes for input, got: {NAMES[dtype.name]}")
    check(0 < len(shape) <= 2, "prob_dist must be 1 or 2 dim")
    check(num_samples > 0, "cannot sample n_sample <= 0 samples")
    check(replacement or num_samples <= shape[-1],
          "cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    return Spec((*shape[:-1], num_samples), int64)


def meta_binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Spec:
    for name, tensor in (("count", count), ("prob", prob)):
        if tensor._dtype.category != FLOATING:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: "
                             f"{NAMES[tensor._dtype.name]}")
    check(count._dtype is prob._dtype,
          lambda: f"Found dtype {NAMES[prob._dtype.name]} but expected {NAMES[count._dtype.name]}")
    check_takes(count._dtype.itemsize >= 4, "binomial_cpu", count._dtype)
    return Spec(broadcast_shapes(count.shape, prob.shape), count._dtype)


def meta_native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Spec, Spec]:
    shape = tuple(input.shape)
    stride: Ints | None = like_strides(shape, input._strides())
    check(input._dtype.category >= FLOATING,
          lambda: about(RuntimeError("result type Float can't be cast to the desired output type "
                                     f"{NAMES[input._dtype.name]}"),
                        "result cast", result="float32", target=input._dtype.name))
    if train is False or 0 in shape:
        return Spec(shape, input._dtype, stride), Spec(shape, bool_, stride)
    mask = stride or contiguous_strides(shape)
    product = iterator_strides(shape, ((shape, tuple(input._strides())), (shape, mask)), False)
    return Spec(shape, input._dtype, product), Spec(shape, bool_, stride)


def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    check(mask._dtype is bool_, lambda: f"Mask should be Bool Scalar Type {mask.dtype}")
    return grad_output * (mask.to(grad_output.dtype) * scale)


def scale_of(p: float, train: bool | None) -> float:
    """Return the factor by which dropout multiplies the kept elements."""
    if train is False:
        return 1.0
    return 0.0 if p == 1 else 1.0 / (1.0 - p)


operator("multinomial", meta_multinomial, differentiable=False)
operator("binomial", meta_binomial)
operator("_standard_gamma", lambda self, generator=None: same_floating("gamma_cpu")(self),
         self=lambda grad, self, result: grad * _standard_gamma_grad(self, result))
operator("_sample_dirichlet", lambda self, generator=None: same_floating("dirichlet")(self))
operator("native_dropout", meta_native_dropout,
         input=lambda grad, result1, p, train: (
             grad * (result1 * scale_of(p, train)) if local.grad_enabled else
             registry["native_dropout_backward"].call(grad, result1, scale_of(p, train))))
operator("native_dropout_backward", composite=native_dropout_backward, batching=elementwise,
         grad_output=lambda grad, mask, scale: grad * (mask.to(grad.dtype) * scale))

schemas("""
function:
    dropout(Tensor input, float p, bool train) -> Tensor  # `input` with elements zeroed with probability `p` and the others divided by 1 - `p`, if `train`.
    dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)  # Zeroes elements of `self` with probability `p` and divides the others by 1 - `p`, if `train`.
    feature_dropout(Tensor input, float p, bool train) -> Tensor  # `input` with whole channels zeroed with probability `p` and the others divided by 1 - `p`, if `train`.
    feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)  # Zeroes whole channels of `self` with probability `p` and divides the others by 1 - `p`, if `train`.
    alpha_dropout(Tensor input, float p, bool train) -> Tensor  # `input` with elements set to the negative limit of `selu` with probability `p`, then scaled and shifted to keep mean and variance, if `train`.
    alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)  # Sets elements of `self` to the negative limit of `selu` with probability `p`, then scales and shifts it to keep mean and variance, if `train`.
    feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor  # `input` with whole channels set to the negative limit of `selu` with probability `p`, then scaled and shifted to keep mean and variance, if `train`.
    feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)  # Sets whole channels of `self` to the negative limit of `selu` with probability `p`, then scales and shifts it to keep mean and variance, if `train`.
operator only, explicit:
    randperm(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # The integers from 0 up to, but without, `n` in random order.
    rand(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of shape `size` with numbers drawn uniformly from 0 up to, but without, 1.
    rand.generator(int[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    randn(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of shape `size` with numbers drawn from the normal distribution of mean 0 and standard deviation 1.
    randn.generator(int[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    randint(int high, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # A tensor of shape `size` with integers drawn uniformly from `low`, which is 0 unless given, up to, but without, `high`.
    randint.generator(int high, int[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    randint.low(int low, int high, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    randint.low_generator(int low, int high, int[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
    rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor  # A tensor with the shape, dtype and device of `self`, with numbers drawn uniformly from 0 up to, but without, 1.
    rand_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
    randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor  # A tensor with the shape, dtype and device of `self`, with numbers drawn from the normal distribution of mean 0 and standard deviation 1.
    randn_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
operator only:
    randperm.generator(int n, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
""")  # noqa: E501


def meta_randperm(n: int, generator: Any, dtype: DType | None = None, *options: Any) -> Spec:
    check(n >= 0, lambda: about(RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]"),
                                "negative size", shape=(n,)))
    dtype = dtype or int64
    check_takes(dtype.category in (INTEGER, FLOATING), "randperm", dtype)
    return Spec((n,), dtype)


def _randint(low: int, high: int, size: Any, generator: Any, dtype: Any = None, *options: Options) -> Any:
    return fresh(random__from(empty(size, dtype or int64, *options), low, high, generator))


ALPHA = 1.7580993408473766  # SELU tends to -ALPHA for large negative numbers


def dropping(inplace: bool = False, feature: bool = False, alpha: bool = False) -> Callable[..., Any]:
    """Return a dropout: of elements or whole features, to zero or SELU's lowest value, anew or in place."""

    def dropout(self: Any, p: float, train: bool) -> Any:
        check(0 <= p <= 1, lambda: f"dropout probability has to be between 0 and 1, but got {p:g}")
        if p == 0 or not train or not self.numel():
            return self
        if local.python_dispatcher and not (inplace or feature or alpha):
            return registry["native_dropout"].call(self, p, True)[0]
        multiply = self.mul_ if inplace else self.mul
        if p == 1:
            return multiply(scalar_tensor(0, *options_of(self)))
        if feature:
            noise: Any = _one_per_feature(self)
        else:  # where vmap draws for all elements at once, it does so in their order, however they lie
            noise = empty_like(self, *(None,) * 4, None if self._batched is None else "contiguous_format")
        noise = to_fill(noise).bernoulli_(1 - p)
        if not alpha:
            return multiply(fresh(noise.div_(1 - p)))
        scale = 1 / ((ALPHA**2 * p + 1) * (1 - p)) ** 0.5  # keeps the variance, as the shift the mean
        shift = noise.add(-1).mul_(ALPHA * scale).add_(ALPHA * scale * p)
        return multiply(fresh(noise.mul_(scale))).add_(shift)

    return dropout


def _one_per_feature(self: Tensor) -> Any:
    check(self.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input")
    return self.new_empty((*self.shape[:2], *(1 for _ in self.shape[2:])))


operator("dropout", composite=dropping())
operator("dropout_", composite=dropping(inplace=True))
operator("feature_dropout", composite=dropping(feature=True))
operator("feature_dropout_", composite=dropping(inplace=True, feature=True))
operator("alpha_dropout", composite=dropping(alpha=True))
operator("alpha_dropout_", composite=dropping(inplace=True, alpha=True))
operator("feature_alpha_dropout", composite=dropping(feature=True, alpha=True))
operator("feature_alpha_dropout_", composite=dropping(inplace=True, feature=True, alpha=True))
operator("randperm", composite=lambda n, *options: randperm_generator(n, None, *options))
operator("randperm.generator", meta_randperm)
operator("randint", composite=lambda high, size, *options: _randint(0, high, size, None, *options))
operator("randint.generator",
         composite=lambda high, size, generator, *options: _randint(0, high, size, generator, *options))
operator("randint.low", composite=lambda low, high, size, *options: _randint(low, high, size, None, *options))
operator("randint.low_generator", composite=_randint)
operator("rand_like rand_like.generator randn_like randn_like.generator", differentiable=False)

schemas("""
operator only, explicit:
    randint_like(Tensor self, int high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor  # A tensor with the shape, dtype and device of `self`, with integers drawn uniformly from `low`, which is 0 unless given, up to, but without, `high`.
    randint_like.generator(Tensor self, int high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
    randint_like.low_dtype(Tensor self, int low, int high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
    randint_like.low_generator_dtype(Tensor self, int low, int high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
""")  # noqa: E501


def _randint_like(self: Any, low: int, high: int, generator: Any, *options: Options) -> Any:
    return fresh(random__from(to_fill(empty_like(self, *options)), low, high, generator))


operator("randint_like", composite=lambda self, high, *options: _randint_like(self, 0, high, None, *options),
         differentiable=False)
operator("randint_like.generator",
         composite=lambda self, high, generator, *options: _randint_like(self, 0, high, generator, *options),
         differentiable=False)
operator("randint_like.low_dtype",
         composite=lambda self, low, high, *options: _randint_like(self, low, high, None, *options),
         differentiable=False)
operator("randint_like.low_generator_dtype", composite=_randint_like, differentiable=False)
for name, fill, first, second in (("rand", uniform_, 0.0, 1.0), ("randn", normal_, 0.0, 1.0)):
    for form, function in drawn(fill, first, second).items():
        operator(f"{name}{form}", composite=function)
