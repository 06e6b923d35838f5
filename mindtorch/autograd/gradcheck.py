"""Derivatives compared with differences of values (``torch.autograd.gradcheck``).

The gradient of a real function of a complex input is its derivative by the real part plus i times that by the imaginary
part; a complex output counts as two real ones. In fast mode the Jacobian is not computed element by element: only one
random combination of its rows and columns is compared.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._autograd.engine import execute, grad
from .._backends.random import Generator
from .._creation import eye, zeros_like
from .._creation.random import randn, randn_like
from .._dispatch.keys import SPARSES
from .._dtype import FLOATING, promote_types
from .._methods.api import FUNCTIONS
from .._tensor import Tensor
from ..sparse.invariants import as_sparse_gradcheck
from .forward_ad import dual_level, make_dual, unpack_dual

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
__dir__ = __all__.copy


stack = FUNCTIONS["stack"]
Function = Callable[..., Any]


class GradcheckError(RuntimeError):
    """The error that gradient checks raise (``torch.autograd.gradcheck.GradcheckError``)."""


def gradcheck(func: Function, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False,
              check_batched_forward_grad: bool = False, check_forward_ad: bool = False, check_backward_ad: bool = True,
              fast_mode: bool = False, masked: bool | None = None) -> bool:
    """Compare the gradients of ``func(*inputs)`` with the difference quotients ``(func(x + eps) - func(x - eps)) / (2 *
    eps)``, within ``atol`` and ``rtol`` (``torch.autograd.gradcheck``): in backward mode, and with ``check_forward_ad``
    in forward mode.

    Inputs should be float64 or complex128; those that require grad are checked. ``check_batched_grad`` has no effect,
    since batches of gradients are computed one by one. Sparse inputs vary in their values, and without ``masked`` also
    where they have none. Raises GradcheckError if they differ, unless ``raise_exception`` is unset, and ValueError if
    no input requires grad, and RuntimeError for an input whose elements share memory, and for batched forward
    gradients.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_forward_grad:
        raise RuntimeError("gradcheck: check_batched_forward_grad=True is not supported")
    if any(isinstance(x, Tensor) and x._keys & SPARSES for x in _as_tuple(inputs)):
        return as_sparse_gradcheck(gradcheck)(
            func, inputs, masked=masked, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
            nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
            check_forward_ad=check_forward_ad, check_backward_ad=check_backward_ad, fast_mode=fast_mode)
    check = _Check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    try:
        check.run(check_backward_ad, check_forward_ad)
        if check_undefined_grad and check_backward_ad:
            check.undefined_gradients()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Function, inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
                  rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
                  nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
                  check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
                  fast_mode: bool = False, masked: bool = False) -> bool:
    """Apply ``gradcheck`` to the gradients of ``func``, as functions of the inputs and of ``grad_outputs``
    (``torch.autograd.gradgradcheck``).

    ``grad_outputs`` are random if not given; with ``gen_non_contig_grad_outputs`` their memory has gaps.

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

    differentiable = [i for i, x in enumerate((*inputs, *given)) if _requires_grad(x)]

    def gradients(*args: Any) -> tuple[Any, ...]:
        for i in differentiable:  # forward mode hands over tensors outside of the graph
            args[i].requires_grad_()
        arguments, cotangents = args[: len(inputs)], args[len(inputs) :]
        wanted = [x for x in arguments if _requires_grad(x)]
        found = grad(_differentiable(func(*arguments)), wanted, cotangents, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(gradients, inputs + given, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad,
                     check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
                     check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, fast_mode=fast_mode,
                     masked=masked)


class _Check:
    """One check: a function, its inputs, and how exact the derivatives have to be.

    Both Jacobians are tensors of (directions in the input, weightings of the output): in slow mode these are the
    elements, in fast mode a single random one.
    """

    def __init__(self, func: Function, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float,
                 check_grad_dtypes: bool, fast: bool) -> None:
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.check_grad_dtypes, self.fast = check_grad_dtypes, fast
        self.generator = Generator().manual_seed(0)
        self.checked = [x for x in inputs if _requires_grad(x)]
        if not self.checked:
            raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have "
                             "requires_grad=True.")
        for i, x in enumerate(inputs):
            if _requires_grad(x):
                _check_input(i, x)

    def run(self, backward: bool, forward: bool) -> None:
        """Compare the Jacobian of each output with respect to each input, as these modes compute it.

        Raises:
            GradcheckError: at the first that is wrong.
        """
        self.modes = backward, forward
        values = _as_tuple(self.func(*self.inputs))
        self.positions = [k for k, value in enumerate(values) if _requires_grad(value)]
        self.outputs = [values[k] for k in self.positions]
        if not self.outputs:
            self.positions = [k for k, value in enumerate(values)
                              if isinstance(value, Tensor) and value.dtype.category >= FLOATING]
        directions = [self.basis(x, normalized=True) for x in self.checked]
        differences = [self.differences(x, basis) for x, basis in zip(self.checked, directions, strict=True)]
        if backward:
            self.compare_backward(directions, differences)
        if forward:
            self.compare_forward(directions, differences)

    def compare_backward(self, directions: list[Any], differences: list[list[list[Any]]]) -> None:
        """Compare the gradients of all outputs with the slopes, and have those of zeros be zeros."""
        if not self.outputs:
            if any((d != 0).any() for rows in differences for steps in rows for d in steps):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        for o, output in enumerate(self.outputs):
            if output.numel():
                slopes = [[steps[o] for steps in rows if steps] for rows in differences]
                self.compare(o, output, directions, slopes)
        zeros = [zeros_like(output) for output in self.outputs]
        found = grad(self.outputs, self.checked, zeros, retain_graph=True, allow_unused=True)
        if any((g != 0).any() for g in found if g is not None):
            raise GradcheckError("backward not multiplied by grad_output")

    def compare(self, o: int, output: Any, directions: list[Any], slopes: list[list[Any]]) -> None:
        """Compare the Jacobians of one output with the slopes along the directions in each input."""
        weights = self.basis(output)
        for unit, part, where in _parts(output):
            gradients = self.gradients(output, weights * unit)
            for i, (basis, steps, gradient) in enumerate(zip(directions, slopes, gradients, strict=True)):
                if not steps:  # an input without elements
                    continue
                numerical, analytical, atol = _joined([part(step) for step in steps]), gradient.t(), self.atol
                if self.fast:
                    numerical = (numerical * weights.flatten()).sum().view(1, 1)
                    analytical = (gradient * basis.flatten()).sum().view(1, 1)
                    atol *= (weights.abs().sum() * basis.abs().sum()).item()
                dtype = promote_types(numerical.dtype, analytical.dtype)
                numerical, analytical = numerical.to(dtype), analytical.to(dtype)
                if not analytical.allclose(numerical, self.rtol, atol):
                    self.fail(f"{where}Jacobian mismatch for output {o} with respect to input {i},\n"
                              f"numerical:{numerical}\nanalytical:{analytical}\n")

    def compare_forward(self, directions: list[Any], differences: list[list[list[Any]]]) -> None:
        """Compare the derivatives of forward mode along the directions in each input with the slopes."""
        for i, (x, basis, rows) in enumerate(zip(self.checked, directions, differences, strict=True)):
            for unit, steps in zip((1, 1j), rows, strict=False):
                tangents = [self.tangents(x, direction * unit) for direction in basis]
                for o, (numerical, column) in enumerate(zip(steps, zip(*tangents, strict=True), strict=True)):
                    analytical = stack(column)
                    if not analytical.allclose(numerical.to(analytical.dtype), self.rtol, self.atol):
                        self.fail(f"Jacobian computed with forward mode mismatch for output {o} with respect to input "
                                  f"{i},\nnumerical:{numerical}\nanalytical:{analytical}\n")

    def tangents(self, x: Any, direction: Any) -> list[Any]:
        """Return the derivatives of all outputs along a direction in one input, in forward mode."""
        with dual_level():
            values = _as_tuple(self.func(*(
                make_dual(value.detach(), direction.to(x.dtype) if value is x else zeros_like(value.detach()))
                if _requires_grad(value) else value for value in self.inputs)))
            pairs = [unpack_dual(values[k]) for k in self.positions]
        return [(zeros_like(primal) if tangent is None else tangent).detach().flatten() for primal, tangent in pairs]

    def fail(self, message: str) -> None:
        """Raise the error; in fast mode with the report of slow mode."""
        if self.fast:
            slow = _Check(self.func, self.inputs, self.eps, self.atol, self.rtol, self.nondet_tol, False, False)
            message += "\nThese are random combinations of the Jacobians' elements (fast mode). "
            try:
                slow.run(*self.modes)
                message += "The elements themselves (slow mode) do not differ by more than the tolerances."
            except GradcheckError as error:
                message += f"In slow mode:\n{error}"
        raise GradcheckError(message)

    def basis(self, like: Any, normalized: bool = False) -> Any:
        """Return stacked real tensors in the shape of another: one with a 1 for each element, or a random one."""
        count, dtype = like.numel(), like.dtype.to_real()
        if not self.fast:
            return eye(count, dtype=dtype, device=like.device).view(count, *like.shape)
        vector = randn(1, *like.shape, dtype=dtype, device=like.device, generator=self.generator)
        return vector / vector.norm() if normalized else vector

    def differences(self, x: Any, directions: Any) -> list[list[Any]]:
        """Return the slopes of all outputs along each direction, and for a complex input along i times each.

        Each of the two is a list with, for each output, a tensor of (directions, elements of the output).
        """
        result = []
        for unit in (1, 1j) if x.is_complex() else (1,):
            rows = [self.slopes(x, direction * (unit * self.eps)) for direction in directions]
            result.append([stack(column) for column in zip(*rows, strict=True)])
        return result

    def slopes(self, x: Any, step: Any) -> list[Any]:
        before, after = self.evaluate(x, -step), self.evaluate(x, step)
        for a, b in zip(before, after, strict=True):
            for what, first, second in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
                if first != second:
                    raise AssertionError(f"Expected `func` to return outputs with the same {what} when inputs are "
                                         f"perturbed on [-{self.eps}, {self.eps}], but got {first} vs {second}")
        return [((b - a) / (2 * self.eps)).flatten() for a, b in zip(before, after, strict=True)]

    def evaluate(self, x: Any, step: Any) -> list[Any]:
        """Return the outputs after a step of one input, which is changed in place meanwhile."""
        saved = x.detach().clone()
        x.data.copy_(saved + step)
        try:
            values = _as_tuple(self.func(*self.inputs))
            return [values[k].detach().clone() for k in self.positions]
        finally:
            x.data.copy_(saved)

    def gradients(self, output: Any, weights: Any) -> list[Any]:
        """Return the gradients that backward computes: for each input a tensor of (weightings, elements of the input).
        Raises GradcheckError if a second time they are others, or of another dtype if that is checked.
        """
        given = weights.to(output.dtype)
        first, second = (grad(output, self.checked, given, retain_graph=True, allow_unused=True, is_grads_batched=True)
                         for _ in range(2))
        result = []
        for x, g, again in zip(self.checked, first, second, strict=True):
            if g is None:
                result.append(x.new_zeros((len(weights), x.numel())))
                continue
            if self.check_grad_dtypes and g.dtype != x.dtype:
                raise GradcheckError("Gradient has dtype mismatch")
            if g.numel() and (g - again).abs().max() > self.nondet_tol:
                raise GradcheckError("Backward is not reentrant, i.e., running backward with same input and "
                                     "grad_output multiple times gives different values. The tolerance for "
                                     f"nondeterminism was {self.nondet_tol}.")
            result.append(g.reshape(len(weights), x.numel()))
        return result

    def undefined_gradients(self) -> None:
        """Leave out the gradients of all outputs or one, and check that the result is zero."""
        edges = [x._grad_edge() for x in self.checked]
        roots = [output._grad_edge() for output in self.outputs]
        zeros = [zeros_like(output) for output in self.outputs]
        for left_out in {tuple(range(len(roots))), *((k,) for k in range(len(roots)))} if roots else ():
            given = [None if k in left_out else zero for k, zero in enumerate(zeros)]
            try:
                found = execute(roots, given, True, False, edges, True)
            except RuntimeError as error:
                self.warn_of_undefined_gradients()
                raise GradcheckError("Expected backward function to handle undefined output grads.") from error
            if any((g != 0).any() for g in found if g is not None):
                self.warn_of_undefined_gradients()
                raise GradcheckError("Expected all input grads to be undefined or zero when all output grads are "
                                     "undefined or zero.")

    def warn_of_undefined_gradients(self) -> None:
        """Issue PyTorch's warning before the error."""
        warnings.warn("Backwards compatibility: New undefined gradient support checking feature is enabled by default, "
                      "but it may break existing callers of this function. If this is true for you, you can call this "
                      'function with "check_undefined_grad=False" to disable the feature', stacklevel=4)


def _check_input(i: int, x: Any) -> None:
    if x.dtype.itemsize != (16 if x.is_complex() else 8):
        warnings.warn(f"Input #{i} requires gradient and is not a double precision floating point or complex. This "
                      "check will likely fail if all the inputs are not of double precision floating point or complex.",
                      stacklevel=4)
    if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
        raise RuntimeError(f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                           "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                           ".contiguous on the input before passing it to gradcheck.")


def _parts(output: Any) -> list[tuple[complex, Function, str]]:
    """Return the real functions that an output consists of: the start of their gradient, a selector, and a name."""
    if not output.is_complex():
        return [(1, lambda t: t, "")]
    where = "While considering the {} part of complex outputs only, "
    return [(1j, lambda t: t.imag, where.format("imaginary")), (1, lambda t: t.real, where.format("real"))]


def _joined(slopes: list[Any]) -> Any:
    """Return the gradient from slopes along real and, for complex inputs, imaginary directions."""
    return slopes[0] if len(slopes) == 1 else slopes[0] + slopes[1] * 1j


def _cotangent(output: Any, gaps: bool) -> Any:
    """Return a random gradient of an output, that requires grad."""
    if not gaps:
        return randn_like(output).requires_grad_()
    return stack([randn_like(output)] * 2, -1)[..., 0].detach().requires_grad_()


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _differentiable(outputs: Any) -> tuple[Any, ...]:
    return tuple(output for output in _as_tuple(outputs) if _requires_grad(output))
