"""Compare rounding errors with PyTorch's: ``python -m tests.benchmarks.exactness [name part ...]``.

Each row is computed by both libraries in float32 (or ``--dtype``), and by PyTorch in float64 from the same numbers,
over sizes and kinds of numbers. An error is a difference from float64 in units of the precision: of functions of an
element the largest relative one, of others the largest in relation to the largest result. The errors of a row are
medians over seeds, since a sum that is almost zero would rule a mean. Rows whose error is over LIMIT times PyTorch's,
and over one unit or what ALLOWED says, are marked, and the exit status is 1 if there are any.
"""
from __future__ import annotations

import argparse
import importlib
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

LIMIT, SEEDS, LARGE = 2.0, 15, 10_000  #: of larger arrays, fewer seeds do
SIZES = (1, 10, 900, 5_000, 90_000, 1_000_000)
Array = np.ndarray


#: Rows, as regular expressions, whose error may be that many units, since PyTorch's would take longer; and why.
ALLOWED = (
    (r"exp|expm1|exp of steps|log|log2|log10|log1p|cosh|grad of sinh|tan|asin|acos|atan2|angle of complex|softplus|"
     r"logsigmoid|elu|celu|xlogy|(grad of )?(log_)?softm(ax|in).*", 2.5,
     "NumPy's vectors keep that; float64, or many passes, would take several times as long."),
    (r"grad of (tanh|erfinv)", 6, "The gradient enlarges errors of NumPy's vectors."),
    (r"sigmoid|silu|glu|grad of softplus", 31,
     "The exponential is a power of 2, in two thirds of the time: it loses digits far from zero."),
    (r"trapezoid", 100, "Few numbers are summed by a product with ones, in a quarter of NumPy's time."),
    (r"prod of a line", 12, "NumPy rounds each step of few numbers."),
    (r"linear|cov", 6, "BLAS adds in another order."),
    (r"nuclear norm", 2, "LAPACK's steps come in another order."),
    (r"linalg\.(inv|solve|slogdet|det)", 1000,
     "LAPACK's steps come in another order, and the matrices are badly conditioned."),
)


# -- numbers -----------------------------------------------------------------------------------------------------------

#: Numbers of a kind, from normal ones: centred, far from zero, of very different sizes, cancelling in pairs, small.
KINDS: dict[str, Callable[[Array], Array]] = {
    "normal": lambda x: x,
    "offset": lambda x: x + 1000,
    "spread": lambda x: np.sign(x) * np.exp(4 * np.abs(x)),
    "cancelling": lambda x: np.where(np.arange(x.size) % 2, 100 + x, -100 + x),
    "small": lambda x: x / 1000,
}


def within(x: Array) -> Array:
    """Return numbers between -1 and 1, of which some are close to either."""
    return np.clip(x / (1 + abs(x)), -1 + 2**-24, 1 - 2**-24)


def positive(x: Array) -> Array:
    return abs(x) + 1e-30


def probabilities(x: Array) -> Array:
    return np.clip((1 + np.sin(x)) / 2, 1e-30, 1 - 2**-24)


def moderate(x: Array) -> Array:
    """Return numbers whose exponentials are finite."""
    return np.clip(x, -80, 80)


def scores(x: Array) -> Array:
    """Return numbers of whose exponentials none is negligible."""
    return 3 * np.sin(x)


def bent(x: Array) -> Array:
    """Return numbers where functions that end in a line have not come to it."""
    return np.clip(x, -4, 4)


def near_one(x: Array) -> Array:
    return 1 + np.tanh(x) / 1000


# -- rows --------------------------------------------------------------------------------------------------------------

class Row(NamedTuple):
    """A function of a library and a line of numbers, which ``numbers`` has made of those of a kind."""

    call: Callable[[Any, Any], Any]
    each: bool = False  #: whether each result has its own error
    numbers: Callable[[Array], Array] = lambda x: x
    most: int = 10**9  #: the largest size
    least: int = 1


def matrix(x: Any) -> Any:
    """Return the numbers as a square, or few as a line; the last ones are left out."""
    side = max(min(10, x.numel()), math.isqrt(x.numel()))
    return x[:x.numel() // side * side].view(-1, side)


def other_rows(x: Any) -> Any:
    """Return the last rows of a matrix, their elements moved by two places: none is among the first ones."""
    return x[-40:].roll(2, -1)


def square(x: Any) -> Any:
    """Return a square of the first numbers."""
    side = min(math.isqrt(x.numel()), 100)
    return x[:side * side].view(side, side)


def image(x: Any, channels: int = 6) -> Any:
    """Return two images of the first numbers, of several channels."""
    side = min(math.isqrt(x.numel() // (2 * channels)), 60)
    return x[:2 * channels * side * side].view(2, channels, side, side)


def gradient(call: Callable[[Any, Any], Any], shaped: Callable[[Any], Any] = matrix) -> Callable[[Any, Any], Any]:
    """Return the gradient of a function of an arranged line; the results' gradients are the numbers from the end."""
    def of(t: Any, x: Any) -> Any:
        leaf = shaped(x).clone().requires_grad_()
        out = call(t, leaf)
        weights = None if out.numel() == 1 else x.flip(0)[:out.numel()].reshape(out.shape)
        return t.autograd.grad(out, leaf, weights)[0]

    return of


def rows() -> Iterator[tuple[str, Row]]:
    """Yield the name of each row, and the row."""
    yield from reductions()
    yield from scans()
    yield from layers()
    yield from products()
    yield from pointwise()


WAYS: dict[str, Callable[[Any], tuple[Any, Any]]] = {  #: views of a line, and dimensions
    "all": lambda x: (matrix(x), (0, 1)),
    "lines": lambda x: (matrix(x), (1,)),
    "columns": lambda x: (matrix(x), (0,)),
    "lines of a transpose": lambda x: (matrix(x).t(), (1,)),
    "all of steps": lambda x: (matrix(x)[:, ::2], (0, 1)),
    "columns of steps": lambda x: (matrix(x)[:, ::2], (0,)),
    "short lines": lambda x: (x[:x.numel() // 5 * 5].view(-1, 5), (1,)),
    "short columns": lambda x: (x[:x.numel() // 5 * 5].view(5, -1), (0,)),
    "middle": lambda x: (x[:x.numel() // 12 * 12].view(3, -1, 4), (1,)),
    "outer": lambda x: (x[:x.numel() // 12 * 12].view(3, -1, 4), (0, 2)),
}


def reductions() -> Iterator[tuple[str, Row]]:
    for way, shaped in WAYS.items():
        for name, each in (("sum", False), ("mean", False), ("var", True), ("std", True), ("logsumexp", True)):
            has_roots = name == "logsumexp" and way.startswith("short")  # at which the largest number is cancelled
            yield f"{name} of {way}", Row(lambda t, x, name=name, shaped=shaped: getattr(
                (view := shaped(x))[0], name)(view[1]), each, positive if has_roots else lambda x: x, least=24)
        for p in (1, 2, 3, 0.5):
            yield f"norm {p} of {way}", Row(lambda t, x, p=p, shaped=shaped: t.linalg.vector_norm(
                (view := shaped(x))[0], p, view[1]), True, least=24)
        if way in ("lines", "columns", "short lines", "short columns", "middle"):
            yield f"prod of {way}", Row(lambda t, x, shaped=shaped: (view := shaped(x))[0].prod(view[1][0]), True,
                                        near_one, least=24)
    yield "sum of a line", Row(lambda t, x: x.sum())
    yield "prod of a line", Row(lambda t, x: x.prod(), True, near_one)
    yield "prod of a view", Row(lambda t, x: matrix(x).t()[::2].prod(), True, near_one)
    yield "nansum", Row(lambda t, x: matrix(x).nansum(0))
    yield "nanmean", Row(lambda t, x: matrix(x).nanmean(1))
    yield "var_mean", Row(lambda t, x: t.stack(t.var_mean(matrix(x), 1)), True, least=24)
    yield "quantile", Row(lambda t, x: x.quantile(0.37), True)
    yield "cov", Row(lambda t, x: matrix(x)[:50].cov(), least=24)
    yield "corrcoef", Row(lambda t, x: matrix(x)[:50].corrcoef(), least=900)
    yield "trapezoid", Row(lambda t, x: t.trapezoid(matrix(x)))
    yield "renorm", Row(lambda t, x: matrix(x).renorm(2, 0, 1.5), True)
    yield "matrix_norm", Row(lambda t, x: t.linalg.matrix_norm(matrix(x)), True)
    yield "nuclear norm", Row(lambda t, x: t.linalg.matrix_norm(square(x), "nuc"), True)
    yield "index_add", Row(lambda t, x: x.new_zeros(3).index_add(0, t.arange(x.numel()) % 3, x))
    yield "scatter_add", Row(lambda t, x: x.new_zeros(3).scatter_add(0, t.arange(x.numel()) % 3, x))
    yield "scatter_reduce mean", Row(lambda t, x: x.new_zeros(3).scatter_reduce(
        0, t.arange(x.numel()) % 3, x, "mean"))
    yield "index_reduce mean", Row(lambda t, x: x.new_zeros(3).index_reduce(0, t.arange(x.numel()) % 3, x, "mean"))
    yield "bincount", Row(lambda t, x: (t.arange(x.numel()) % 3).bincount(x))
    yield "index_put", Row(lambda t, x: x.new_zeros(3).index_put((t.arange(x.numel()) % 3,), x, accumulate=True))
    yield "embedding_bag", Row(lambda t, x: t.nn.functional.embedding_bag(
        t.arange(len(matrix(x))).view(1, -1), matrix(x)))
    yield "grad of embedding", Row(gradient(lambda t, x: t.nn.functional.embedding(
        t.arange(x.numel()) % 3, x[:3]), lambda x: x.view(-1, 1)), least=10)
    yield "grad of expand", Row(gradient(lambda t, x: x[:1].expand(len(x), 1), lambda x: x.view(-1, 1)))
    for name in ("var", "std", "prod", "logsumexp", "norm"):
        yield f"grad of {name}", Row(gradient(lambda t, x, name=name: getattr(x, name)(dim=1)), numbers=(
            near_one if name == "prod" else moderate), least=24)


def scans() -> Iterator[tuple[str, Row]]:
    for dim in (0, 1):
        yield f"cumsum {dim}", Row(lambda t, x, dim=dim: matrix(x).cumsum(dim))
        yield f"cumprod {dim}", Row(lambda t, x, dim=dim: matrix(x).cumprod(dim), True, near_one)
        yield f"logcumsumexp {dim}", Row(lambda t, x, dim=dim: matrix(x).logcumsumexp(dim))
    yield "cumsum of a line", Row(lambda t, x: x.cumsum(0))
    yield "cumsum of a view", Row(lambda t, x: matrix(x).t()[::2].cumsum(1))
    yield "cumprod of a line", Row(lambda t, x: x.cumprod(0), True, near_one)
    yield "cumulative_trapezoid", Row(lambda t, x: t.cumulative_trapezoid(matrix(x)))
    for name in ("cumsum", "cumprod", "logcumsumexp"):
        yield f"grad of {name}", Row(gradient(lambda t, x, name=name: getattr(x, name)(1)), numbers=(
            near_one if name == "cumprod" else moderate))


def layers() -> Iterator[tuple[str, Row]]:
    for dim, way in ((1, ""), (0, " of columns")):
        for name in ("softmax", "log_softmax", "softmin"):
            yield name + way, Row(lambda t, x, name=name, dim=dim: getattr(t.nn.functional, name)(matrix(x), dim), True)
            yield f"grad of {name}{way}", Row(gradient(lambda t, x, name=name, dim=dim: getattr(
                t.nn.functional, name)(x, dim)), numbers=scores)
    norms: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any], int]] = {
        "layer_norm": (lambda t, x: t.nn.functional.layer_norm(x, x.shape[1:]), matrix, 24),
        "rms_norm": (lambda t, x: t.nn.functional.rms_norm(x, x.shape[1:]), matrix, 24),
        "normalize": (lambda t, x: t.nn.functional.normalize(x), matrix, 24),
        "batch_norm of lines": (lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True), matrix, 900),
        "batch_norm": (lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True), image, 900),
        "batch_norm as it was": (lambda t, x: t.nn.functional.batch_norm(
            x, x.detach()[0, :, 0, 0], x.detach()[0, :, 0, 1].abs()), image, 900),
        "group_norm": (lambda t, x: t.nn.functional.group_norm(x, 3), image, 900),
        "instance_norm": (lambda t, x: t.nn.functional.instance_norm(x), image, 900),
        "local_response_norm": (lambda t, x: t.nn.functional.local_response_norm(x, 3), image, 900),
        "avg_pool": (lambda t, x: t.nn.functional.avg_pool2d(x, 3), image, 900),
        "adaptive_avg_pool": (lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2), image, 900),
        "lp_pool": (lambda t, x: t.nn.functional.lp_pool2d(x, 2, 2), image, 900),
        "bilinear": (lambda t, x: t.nn.functional.interpolate(x, scale_factor=0.7, mode="bilinear"), image, 3000),
        "bicubic": (lambda t, x: t.nn.functional.interpolate(x, scale_factor=0.7, mode="bicubic"), image, 3000),
        "cosine_similarity": (lambda t, x: t.nn.functional.cosine_similarity(x, x.flip(0)), matrix, 24),
        "pairwise_distance": (lambda t, x: t.nn.functional.pairwise_distance(x, x.flip(0)), matrix, 24),
        "conv1d": (lambda t, x: t.nn.functional.conv1d(x.view(1, 1, -1), x.view(-1)[:9].view(1, 1, -1)), matrix, 24),
        "conv2d": (lambda t, x: t.nn.functional.conv2d(x, x[:, :, :3, :3]), image, 900),
        "conv_transpose2d": (lambda t, x: t.nn.functional.conv_transpose2d(
            x, x[:, :, :3, :3].transpose(0, 1)), image, 900),
        "attention": (lambda t, x: t.nn.functional.scaled_dot_product_attention(x, x.flip(0), x.flip(1)), image, 900),
    }
    for name, (call, shaped, least) in norms.items():
        numbers = scores if name == "attention" else lambda x: x
        yield name, Row(lambda t, x, call=call, shaped=shaped: call(t, shaped(x)), False, numbers, least=least)
        if name != "batch_norm as it was":
            yield f"grad of {name}", Row(gradient(call, shaped), False, numbers, least=least)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "poisson_nll_loss",
                 "binary_cross_entropy_with_logits", "kl_div", "binary_cross_entropy", "gaussian_nll_loss"):
        numbers = (probabilities if name == "binary_cross_entropy" else
                   scores if name == "poisson_nll_loss" else moderate if name == "kl_div" else lambda x: x)

        def loss(t: Any, x: Any, name: str = name) -> Any:
            other = x.detach().flip(0)
            found: Any = getattr(t.nn.functional, name)(
                x, other, *[other.abs() + 1] * (name == "gaussian_nll_loss"))
            return found

        yield name, Row(loss, False, numbers)
        yield f"grad of {name}", Row(gradient(loss, lambda x: x), name != "poisson_nll_loss", numbers)  # it has a root
    for name in ("cross_entropy", "nll_loss", "multi_margin_loss"):
        def classes(t: Any, x: Any, name: str = name) -> Any:
            return getattr(t.nn.functional, name)(x, t.arange(len(x)) % x.shape[1])

        yield name, Row(lambda t, x, classes=classes: classes(t, matrix(x)))
        yield f"grad of {name}", Row(gradient(classes))


def products() -> Iterator[tuple[str, Row]]:
    yield "matmul", Row(lambda t, x: matrix(x)[:300] @ matrix(x)[:300].t())
    yield "matmul by a vector", Row(lambda t, x: matrix(x) @ matrix(x)[0])
    yield "matmul of a vector", Row(lambda t, x: matrix(x)[:, 0] @ matrix(x))
    yield "bmm", Row(lambda t, x: (y := image(x)[0]) @ y.flip(0).mT, least=900)
    yield "linear", Row(lambda t, x: t.nn.functional.linear(matrix(x), matrix(x)[:5], matrix(x)[0, :5]), least=900)
    yield "einsum", Row(lambda t, x: t.einsum("ij,ij->i", matrix(x), matrix(x).flip(0)))
    yield "dot", Row(lambda t, x: x.dot(x.flip(0)))
    yield "dot of itself", Row(lambda t, x: x.dot(x))
    yield "linalg.vecdot", Row(lambda t, x: t.linalg.vecdot(matrix(x), matrix(x).flip(0)))
    yield "inner", Row(lambda t, x: t.inner(matrix(x)[0], matrix(x)))
    for p in (1.0, 2.0, 3.0, math.inf):
        yield f"cdist {p}", Row(lambda t, x, p=p: t.cdist(matrix(x)[:40], other_rows(matrix(x)), p), True)
        yield f"pdist {p}", Row(lambda t, x, p=p: t.pdist(matrix(x)[:40], p), least=900)
        yield f"grad of cdist {p}", Row(gradient(lambda t, x, p=p: t.cdist(x[:40], other_rows(x).detach(), p)),
                                        most=90_000)
    for name in ("det", "slogdet", "inv", "pinv", "cholesky", "svdvals", "eigvalsh", "matrix_exp", "qr", "solve"):
        def solved(t: Any, x: Any, name: str = name) -> Any:
            a = square(x)
            if name in ("cholesky", "eigvalsh"):
                a = a @ a.t() if name == "cholesky" else a + a.t()
                a = a + a.diagonal().diag() if name == "cholesky" else a
            if name == "matrix_exp":
                a = a / (1 + a.abs().sum(1).max())
            found = getattr(t.linalg, name)(a, *[a[0]] * (name == "solve"))
            return found[1] if name == "slogdet" else found[1].abs() if name == "qr" else found

        yield f"linalg.{name}", Row(solved, name in ("det", "slogdet"))
    for name in ("fft", "rfft", "ifft", "hfft", "fft2"):
        yield f"fft.{name}", Row(lambda t, x, name=name: t.view_as_real(y.resolve_conj()) if (
            y := getattr(t.fft, name)(matrix(x))).is_complex() else y, least=10)


def power(exponent: float) -> Callable[[Any, Any], Any]:
    return lambda t, x: x ** exponent


def pointwise() -> Iterator[tuple[str, Row]]:
    numbers = {
        "log": positive, "log2": positive, "log10": positive, "sqrt": positive, "rsqrt": positive, "asin": within,
        "acos": within, "acosh": lambda x: 1 + abs(x), "atanh": within, "log1p": lambda x: np.where(
            x > 0, x, within(x)), "erfinv": within, "logit": probabilities, "exp": moderate, "sinh": moderate,
        "cosh": moderate, "expm1": moderate, "exp2": moderate, "i0": moderate, "special.i1": moderate,
        "special.ndtri": probabilities, "special.entr": positive, "special.erfcx": bent,
        "nn.functional.gelu": bent, "nn.functional.tanhshrink": lambda x: np.sign(x) * (0.1 + abs(x)),
        "special.modified_bessel_i0": moderate, "special.modified_bessel_i1": moderate,
        **{f"special.{scaled}modified_bessel_{k}": positive for k in ("k0", "k1") for scaled in ("", "scaled_")},
        **{f"special.bessel_{y}": positive for y in ("y0", "y1")},
    }
    names = (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "square", "sigmoid",
        "tanh", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sin", "cos", "tan", "sinc", "erf",
        "erfc", "erfinv", "lgamma", "digamma", "logit", "i0", "deg2rad", "rad2deg", "special.i0e", "special.i1",
        "special.i1e", "special.ndtr", "special.ndtri", "special.log_ndtr", "special.erfcx", "special.entr",
        "special.bessel_j0", "special.bessel_j1", "special.bessel_y0", "special.bessel_y1",
        "special.modified_bessel_i0", "special.modified_bessel_i1", "special.modified_bessel_k0",
        "special.modified_bessel_k1", "special.scaled_modified_bessel_k0", "special.scaled_modified_bessel_k1",
        "special.spherical_bessel_j0",
        *[f"nn.functional.{name}" for name in ("gelu", "silu", "mish", "softplus", "logsigmoid", "elu", "selu", "celu",
                                               "tanhshrink", "softsign", "hardswish", "leaky_relu", "hardsigmoid")])

    def named(t: Any, name: str) -> Any:
        for part in name.split("."):
            t = getattr(t, part)
        return t

    for name in names:
        yield name.removeprefix("nn.functional."), Row(
            lambda t, x, name=name: named(t, name)(x), True, numbers.get(name, lambda x: x))
        if "bessel" not in name:  # which have no derivative
            yield f"grad of {name.removeprefix('nn.functional.')}", Row(
                gradient(lambda t, x, name=name: named(t, name)(x), lambda x: x),
                not name.endswith(("silu", "mish", "gelu")), numbers.get(name, bent))  # whose gradients have a root
    other: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Array], Array]]] = {
        "gelu of tanh": (lambda t, x: t.nn.functional.gelu(x, approximate="tanh"), bent),
        "polygamma 1": (lambda t, x: x.polygamma(1), positive), "polygamma 2": (lambda t, x: x.polygamma(2), positive),
        "mvlgamma": (lambda t, x: x.mvlgamma(3), lambda x: 2 + abs(x)),
        "zeta": (lambda t, x: t.special.zeta(x, x.flip(0)), lambda x: 1.01 + abs(x)),
        "gammainc": (lambda t, x: t.special.gammainc(x, x.flip(0)), positive),
        "gammaincc": (lambda t, x: t.special.gammaincc(x, x.flip(0)), positive),
        "xlogy": (lambda t, x: t.xlogy(x, x.flip(0)), positive),
        "xlog1py": (lambda t, x: t.special.xlog1py(x, x.flip(0)), positive),
        **{f"pow {exponent}": (power(exponent), positive) for exponent in (3, -1, -2, 0.5, -0.5, 2.5, 4, 7)},
        "pow": (lambda t, x: x ** x.flip(0).clamp(-9, 9), positive),
        "pow of 2": (lambda t, x: 2.5 ** x, moderate),
        "float_power": (lambda t, x: x.float_power(1.7), positive),
        "atan2": (lambda t, x: t.atan2(x, x.flip(0)), lambda x: x),
        "hypot": (lambda t, x: t.hypot(x, x.flip(0)), lambda x: x),
        "logaddexp": (lambda t, x: t.logaddexp(x, x.flip(0)), positive),  # of others, it has roots
        "logaddexp2": (lambda t, x: t.logaddexp2(x, x.flip(0)), positive),
        "remainder": (lambda t, x: t.remainder(x, x.flip(0)), positive),
        "fmod": (lambda t, x: t.fmod(x, x.flip(0)), positive),
        "div": (lambda t, x: x / x.flip(0), positive),
        "lerp": (lambda t, x: t.lerp(x, x.flip(0), 0.3), positive),
        "addcmul": (lambda t, x: t.addcmul(x, x.flip(0), x.roll(1), value=0.3), positive),
        "addcdiv": (lambda t, x: t.addcdiv(x, x.flip(0), x.roll(1), value=0.3), positive),
        "add with alpha": (lambda t, x: t.add(x, x.flip(0), alpha=0.3), positive),
        "glu": (lambda t, x: t.nn.functional.glu(x.view(-1, 2).repeat(1, 2)), lambda x: x),
        "exp of steps": (lambda t, x: x[::2].exp(), moderate), "erf of steps": (lambda t, x: x[::2].erf(), lambda x: x),
        "tanh of a transpose": (lambda t, x: matrix(x).t().tanh(), lambda x: x),
        "abs of complex": (lambda t, x: t.complex(x, x.flip(0)).abs(), lambda x: x),
        "angle of complex": (lambda t, x: t.complex(x, x.flip(0)).angle(), lambda x: x),
        **{f"{name} of complex": (lambda t, x, name=name: t.view_as_real(getattr(t, name)(t.complex(x, x.flip(0)))),
                                  moderate)
           for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "square", "reciprocal", "sigmoid", "atan", "asin",
                        "acosh", "log1p", "expm1", "prod", "sum", "mean", "rsqrt", "tan", "sinh", "log2", "log10")},
        "div of complex": (lambda t, x: t.view_as_real(t.complex(x, x.flip(0)) / t.complex(x.roll(1), x.roll(2))),
                           moderate),
        "mul of complex": (lambda t, x: t.view_as_real(t.complex(x, x.flip(0)) * t.complex(x.roll(1), x.roll(2))),
                           moderate),
        "pow of complex": (lambda t, x: t.view_as_real(t.complex(x, x.flip(0)) ** 2.5), moderate),
    }
    for name, (call, made) in other.items():
        yield name, Row(call, "complex" not in name, (lambda x: near_one(x) / 2**0.5) if name == "prod of complex" else
                        made, least=10 if name == "glu" else 1)


# -- errors ------------------------------------------------------------------------------------------------------------

def allowed(name: str) -> float:
    """Return the error, in units, that is never too large."""
    return next((units for pattern, units, _ in ALLOWED if re.fullmatch(pattern, name)), 1.0)


class Unsupported(Exception):
    """PyTorch has no such kernel for a dtype."""


def error(result: Array, exact: Array, each: bool, limits: Any) -> float:
    """Return the largest difference, in units of the precision of its result or of the largest that is finite; 0 if
    there is none. Results below the smallest normal number have fewer digits: they are left out.
    """
    kept = np.isfinite(exact) & (abs(exact) < limits.max / 2)
    if each:
        kept &= abs(exact) > max(4 * limits.tiny, 1e-12 * abs(exact[kept]).max(initial=0))  # below it, float64 rounds
    if not kept.any() or abs(exact[kept]).max() <= 4 * limits.tiny:
        return 0.0
    away, exact = np.nan_to_num(abs(result[kept] - exact[kept]), nan=np.inf), abs(exact[kept])
    return float((away / exact if each else away.max() / exact.max()).max() / limits.eps)


def errors_of(row: Row, size: int, kind: str, dtype: str) -> tuple[float, float]:
    """Return the median errors of mindtorch and of PyTorch."""
    mindtorch, torch = importlib.import_module("mindtorch"), importlib.import_module("torch")
    limits, found = torch.finfo(getattr(torch, dtype)), []
    for seed in range(SEEDS if size < LARGE else 5):
        x = row.numbers(KINDS[kind](np.random.default_rng(seed).standard_normal(size))).astype(np.float32)
        given = torch.from_numpy(x).to(getattr(torch, dtype))
        try:
            exact, theirs = (row.call(torch, numbers).detach().double().numpy() for numbers in (given.double(), given))
        except (NotImplementedError, RuntimeError) as refusal:
            if dtype == "float32":
                raise
            raise Unsupported from refusal
        numbers = mindtorch.from_numpy(given.float().numpy()).to(getattr(mindtorch, dtype))
        ours = row.call(mindtorch, numbers).detach().double().numpy()
        found.append([error(result, exact, row.each, limits) for result in (ours, theirs)])
    first, second = np.median(found, 0)
    return float(first), float(second)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--dtype", default="float32", choices=("float32", "float16", "bfloat16"))
    parser.add_argument("--numpy", action="store_true", help="without compiled loops")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.numpy:
        importlib.import_module("mindtorch._base.loops").obtain = lambda *args: None
    worse = done = 0
    print(f"{'operator':<36}{'numbers':<12}{'size':>9}{'mindtorch':>11}{'torch':>9}")
    for name, row in rows():
        if options.names and not any(part in name for part in options.names):
            continue
        for kind in KINDS:
            for size in options.sizes:
                if not row.least <= size <= row.most:
                    continue
                try:
                    ours, theirs = errors_of(row, size, kind, options.dtype)
                except Unsupported:
                    continue
                marked = ours > max(LIMIT * theirs, allowed(name))
                worse, done = worse + marked, done + 1
                if marked or options.names:
                    print(f"{name:<36}{kind:<12}{size:>9}{ours:11.2f}{theirs:9.2f}{' !' * marked}", flush=True)
    print(f"{worse} of {done} rows over {LIMIT} times PyTorch's error")
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())
