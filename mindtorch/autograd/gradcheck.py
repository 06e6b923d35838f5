"""Derivatives compared with differences of values (``torch.autograd.gradcheck``).

The gradient of a real function of a complex input is its derivative by the real part plus i times that by the imaginary
part; a complex output counts as two real ones. In fast mode the Jacobian is not computed element by element: only one
random combination of its rows and columns is compared.
"""
from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .._autograd.engine import execute, grad
from .._autograd.grad_mode import no_grad
from .._creation import zeros_like
from .._dtype import FLOATING
from .._random import Generator
from .._random.factories import randn, randn_like
from .._tensor import Tensor

Function = Callable[..., Any]


class GradcheckError(RuntimeError):
    """What ``gradcheck`` and ``gradgradcheck`` raise where derivatives are wrong."""


def gradcheck(
    func: Function, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_batched_forward_grad: bool = False, check_forward_ad: bool = False,
    check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Whether the gradients of ``func(*inputs)`` with respect to those inputs that require grad are the limits of
    ``(func(x + eps) - func(x - eps)) / (2 * eps)``, within ``atol`` and ``rtol`` (``torch.autograd.gradcheck``).

    Inputs should be float64 or complex128. ``masked`` concerns sparse tensors and has no effect.

    Raises:
        GradcheckError: if they are not, unless not ``raise_exception``.
        ValueError: if no input requires grad.
        RuntimeError: for an input whose elements share memory, and for forward mode and batched gradients.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    for name, wanted in (("check_forward_ad", check_forward_ad), ("check_batched_grad", check_batched_grad),
                         ("check_batched_forward_grad", check_batched_forward_grad)):  # fmt: skip
        if wanted:
            raise RuntimeError(f"gradcheck: {name}=True is not supported: there is no forward mode and no vmap")
    check = _Check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    try:
        check.run()
        if check_undefined_grad:
            check.undefined_gradients()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function, inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """``gradcheck`` of the gradients of ``func``, as functions of the inputs and of ``grad_outputs``
    (``torch.autograd.gradgradcheck``).

    ``grad_outputs`` are random where they are not given; with ``gen_non_contig_grad_outputs`` their memory has gaps.

    Raises:
        GradcheckError: if second derivatives are wrong, unless not ``raise_exception``.
        ValueError, RuntimeError: as ``gradcheck`` does.
    """
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*inputs))
        given = tuple(_cotangent(output, gen_non_contig_grad_outputs) for output in outputs)
    else:
        given = _as_tuple(grad_outputs)
        given = tuple(g.detach().requires_grad_() if isinstance(g, Tensor) else g for g in given)

    def gradients(*args: Any) -> tuple[Any, ...]:
        arguments, cotangents = args[: len(inputs)], args[len(inputs) :]
        wanted = [x for x in arguments if _requires_grad(x)]
        found = grad(_differentiable(func(*arguments)), wanted, cotangents, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients, inputs + given, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


class _Check:
    """One check: a function, its inputs, and how exact the derivatives have to be.

    A Jacobian here is a tensor of (elements of the input, elements of the output); in fast mode it has shape (1, 1).
    """

    def __init__(self, func: Function, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float,
                 check_grad_dtypes: bool, fast: bool) -> None:
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.check_grad_dtypes, self.fast = check_grad_dtypes, fast
        self.generator = Generator().manual_seed(0)
        self.checked = [x for x in inputs if _requires_grad(x)]
        self.check_inputs()

    def check_inputs(self) -> None:
        if not self.checked:
            raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have "
                             "requires_grad=True.")
        for i, x in enumerate(self.inputs):
            if not _requires_grad(x):
                continue
            if x.dtype.itemsize != (16 if x.is_complex() else 8):
                warnings.warn(f"Input #{i} requires gradient and is not a double precision floating point or complex. This "
                              "check will likely fail if all the inputs are not of double precision floating point or "
                              "complex.", stacklevel=4)
            if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape)):
                raise RuntimeError(f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                                   "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                                   ".contiguous on the input before passing it to gradcheck.")

    def run(self) -> None:
        """Compare the Jacobian of each output with respect to each input.

        Raises:
            GradcheckError: at the first that is wrong.
        """
        outputs = _differentiable(self.func(*self.inputs))
        directions = [randn(x.shape, generator=self.generator) for x in self.checked] if self.fast else None
        differences = [self.differences(i) for i in range(len(self.checked))]
        if not outputs:
            if any((d != 0).any() for columns in differences for d in columns):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        for o, output in enumerate(outputs):
            for unit, part, where in _parts(output):
                analytical = self.analytical(output, unit)
                for i, x in enumerate(self.checked):
                    self.compare(part(differences[i][o]), analytical[i], o, i, where)
        self.check_multiplied(outputs)
