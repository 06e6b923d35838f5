"""Jacobians, Hessians and their products with vectors, of functions of tensors (``torch.autograd.functional``).

``inputs`` is a tensor or a tuple of them, and so is what ``func(*inputs)`` returns. An input that an output does not
depend on has a derivative of zeros, or with ``strict`` is an error. The results are part of the graph only with
``create_graph``.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._autograd.engine import grad
from .._autograd.grad_mode import enable_grad, is_grad_enabled, set_grad_enabled
from .._creation import eye, ones_like, zeros_like
from .._tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
__dir__ = __all__.copy

Tensors = tuple[Any, ...]
OUTPUTS = "outputs of the user-provided function"
#: What strict mode says of input {i} that something does not depend on.
NO_GRAPH = ("The {what} of the user-provided function is independent of input {i}. This is not allowed in strict "
            "mode{when}.")
INDEPENDENT_OUTPUT = NO_GRAPH.format(what="output", i="{i}", when="")
INDEPENDENT_GRADIENT = ("The gradient with respect to input {i} is independent of the inputs of the user-provided "
                        "function. This is not allowed in strict mode.")
INDEPENDENT_JACOBIAN = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example).")
NO_GRADIENT = ("Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
               "differentiable manner from the input when running in strict mode.")


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the outputs of ``func``, and the product of the vector ``v`` and its Jacobian
    (``torch.autograd.functional.vjp``).

    ``v`` has the outputs' shapes, and may be left out for a single output of one element; the product has the inputs'.
    Raises TypeError for inputs, outputs or ``v`` that are not tensors, and RuntimeError if ``v`` does not fit, or in
    strict mode.
    """
    with enable_grad():
        single, inputs = _tensors(inputs, "inputs", "vjp")
        inputs = _prepared(inputs, create_graph)
        single_output, outputs = _call(func, inputs, "vjp", strict)
        v = _vector(v, outputs, single_output, "vjp", create_graph, "the user-provided function returns")
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = _gradients(outputs, inputs, v, create_graph)
        product = _filled(found, inputs, strict, create_graph, INDEPENDENT_OUTPUT, "jacobian")
    return _result(outputs, create_graph, single_output), _result(product, create_graph, single)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the outputs of ``func``, and the product of its Jacobian and the vector ``v``
    (``torch.autograd.functional.jvp``).

    ``v`` has the inputs' shapes, and may be left out for a single input of one element; the product has the outputs'.
    It is computed by differentiating the product of a vector and the Jacobian with respect to that vector. Raises
    TypeError for inputs, outputs or ``v`` that are not tensors, and RuntimeError if ``v`` does not fit, or in strict
    mode.
    """
    with enable_grad():
        single, inputs = _tensors(inputs, "inputs", "jvp")
        inputs = _prepared(inputs, create_graph)
        v = _vector(v, inputs, single, "jvp", create_graph)
        single_output, outputs = _call(func, inputs, "jvp", strict)
        cotangents = tuple(zeros_like(output, requires_grad=True) for output in outputs)
        gradients = _gradients(outputs, inputs, cotangents, True)
        _require_grad(gradients, strict, INDEPENDENT_GRADIENT)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = _gradients(gradients, cotangents, v, create_graph)
        message = ("The gradient with respect to the input is independent of entry {i} in the grad_outputs when using "
                   "the double backward trick to compute forward mode gradients. This is not allowed in strict mode.")
        product = _filled(found, outputs, strict, create_graph, message, "jacobian")
    return _result(outputs, create_graph, single_output), _result(product, create_graph, single_output)


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output of ``func``, a single element, and the product of the vector ``v`` and its Hessian
    (``torch.autograd.functional.vhp``).

    ``v`` has the inputs' shapes, and so has the product; it may be left out for a single input of one element. Raises
    TypeError for inputs, outputs or ``v`` that are not tensors, and RuntimeError if ``v`` or the output does not fit,
    or in strict mode.
    """
    with enable_grad():
        single, inputs, v, single_output, outputs, jacobian = _first_derivative(func, inputs, v, "vhp", create_graph,
                                                                                strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = _gradients(jacobian, inputs, v, create_graph)
        independent = NO_GRAPH.format(what="jacobian", i="{i}", when="")
        product = _filled(found, inputs, strict, create_graph, independent, "hessian")
    return _result(outputs, create_graph, single_output), _result(product, create_graph, single)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output of ``func``, a single element, and the product of its Hessian and the vector ``v``
    (``torch.autograd.functional.hvp``).

    ``v`` has the inputs' shapes, and so has the product; it may be left out for a single input of one element. As the
    Hessian is symmetric, ``vhp`` gives the same at less cost. Raises TypeError for inputs, outputs or ``v`` that are
    not tensors, and RuntimeError if ``v`` or the output does not fit, or in strict mode.
    """
    with enable_grad():
        single, inputs, v, single_output, outputs, jacobian = _first_derivative(func, inputs, v, "hvp", create_graph,
                                                                                strict)
        cotangents = tuple(zeros_like(tensor, requires_grad=True) for tensor in inputs)
        second = _gradients(jacobian, inputs, cotangents, True)
        _require_grad(second, strict, "The hessian of the user-provided function with respect to input {i} is "
                      "independent of the input. This is not allowed in strict mode. You should ensure that your "
                      "function is thrice differentiable and that the hessian depends on the inputs.")
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = _gradients(second, cotangents, v, create_graph)
        message = ("The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This "
                   "is not allowed in strict mode as it prevents from using the double backward trick to replace "
                   "forward mode AD.")
        product = _filled(found, inputs, strict, create_graph, message, "hessian")
    return _result(outputs, create_graph, single_output), _result(product, create_graph, single)


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
             vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """Return the Jacobian of ``func`` at ``inputs`` (``torch.autograd.functional.jacobian``).

    For an output of shape (*o) and an input of shape (*i), it has shape (*o, *i). With several inputs it is a tuple
    over them, with several outputs one over those, with both a tuple over the outputs of tuples over the inputs.
    ``vectorize`` and ``strategy`` say how PyTorch computes; the result is the same. Raises TypeError for inputs or
    outputs that are not tensors, and RuntimeError in strict mode; for a complex output, unless ``vectorize``.
    """
    _check_strategy("jacobian", strategy, create_graph, strict, vectorize)
    if strict and vectorize:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
                           "together. Please either set `strict=False` or `vectorize=False`.")
    with enable_grad():
        single, inputs = _tensors(inputs, "inputs", "jacobian")
        inputs = _prepared(inputs, create_graph)
        single_output, outputs = _call(func, inputs, "jacobian", strict)
        rows = []
        for i, output in enumerate(outputs):
            if output.is_complex() and not vectorize:
                raise RuntimeError("grad can be implicitly created only for real scalar outputs but got "
                                   f"{output.dtype}")
            row = _jacobian_of(output, inputs, create_graph)
            message = (f"Output {i} of the user-provided function is independent of input {{i}}. This is not allowed "
                       "in strict mode.")
            filled = _filled(row, [output.new_zeros(output.shape + x.shape, dtype=x.dtype) for x in inputs],
                             strict, create_graph, message, "jacobian")
            rows.append(_result(filled, create_graph, single))
    return rows[0] if single_output else tuple(rows)


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
            vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """Return the Hessian of ``func``, whose output is a single element (``torch.autograd.functional.hessian``).

    For inputs of shapes (*i) and (*j), it has shape (*i, *j). With several inputs it is a tuple of tuples over them.
    ``vectorize`` and ``outer_jacobian_strategy`` say how PyTorch computes; the result is the same. Raises TypeError for
    inputs or outputs that are not tensors, and RuntimeError for an output that is not a single element; in strict mode.
    """
    single, inputs = _tensors(inputs, "inputs", "hessian")
    _check_strategy("hessian", outer_jacobian_strategy, create_graph, strict, vectorize)

    def single_element(*tensors: Any) -> Any:
        outputs = _tensors(func(*tensors), OUTPUTS, "hessian")[1]
        _require_grad(outputs, strict, NO_GRADIENT)
        _check_single_element(outputs, "hessian")
        return outputs[0].squeeze()

    def first(*tensors: Any) -> Any:
        found = jacobian(single_element, tensors, create_graph=True)
        _require_grad(found, strict, INDEPENDENT_JACOBIAN)
        return found

    rows = jacobian(first, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows[0][0] if single else rows


# -- what they share ---------------------------------------------------------------------------------------------------


def _tensors(value: Any, what: str, function: str) -> tuple[bool, Tensors]:
    """Return whether the value is a single tensor, and the tensors as a tuple."""
    single = not isinstance(value, tuple)
    items = (value,) if single else value
    for i, item in enumerate(items):
        if not isinstance(item, Tensor):
            where = f"given {what}" if single else f"value at index {i}"
            raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the "
                            f"{where} has type {type(item)}.")
    return single, items


def _prepared(tensors: Tensors, create_graph: bool, need_graph: bool = True) -> Tensors:
    """Return tensors of the same values to differentiate with respect to: still in the caller's graph, or leaves."""
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(need_graph)
                 for t in tensors)


def _result(tensors: Sequence[Any], create_graph: bool, single: bool) -> Any:
    """Return results with or without their graph; one or a tuple, as the arguments were given."""
    done = tuple(tensors) if create_graph else tuple(t.detach() for t in tensors)
    return done[0] if single else done


def _call(func: Callable[..., Any], inputs: Tensors, function: str, strict: bool) -> tuple[bool, Tensors]:
    single, outputs = _tensors(func(*inputs), OUTPUTS, function)
    _require_grad(outputs, strict, NO_GRADIENT)
    return single, outputs


def _vector(v: Any, like: Tensors, single: bool, function: str, create_graph: bool,
            who: str = "the input to the user-provided function is") -> Tensors:
    """Return the checked vector of a product, which must have the shapes of ``like``; one if a scalar needs none."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {who} a single Tensor with a single element.")
        return (ones_like(like[0]),)
    v = _prepared(_tensors(v, "v", function)[1], create_graph, need_graph=False)
    if len(v) != len(like):
        raise RuntimeError("The given v should contain a single Tensor." if single else
                           f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
    for i, (have, want) in enumerate(zip(v, like, strict=True)):
        if have.shape != want.shape:
            where = "" if single else f"Entry {i} in "
            raise RuntimeError(f"{where}v has invalid size: should be {want.shape} but got {have.shape}.")
    return v


def _check_single_element(outputs: Tensors, function: str) -> None:
    if len(outputs) != 1:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")


def _first_derivative(func: Callable[..., Any], inputs: Any, v: Any, function: str, create_graph: bool,
                      strict: bool) -> Any:
    """Return the start of both products with the Hessian: checked arguments, output, and gradients with a graph."""
    single, inputs = _tensors(inputs, "inputs", function)
    inputs = _prepared(inputs, create_graph)
    v = _vector(v, inputs, single, function, create_graph)
    single_output, outputs = _call(func, inputs, function, strict)
    _check_single_element(outputs, function)
    jacobian = _gradients(outputs, inputs, None, True)
    _require_grad(jacobian, strict, INDEPENDENT_JACOBIAN)
    return single, inputs, v, single_output, outputs, jacobian


def _gradients(outputs: Sequence[Any], inputs: Tensors, vectors: Tensors | None, create_graph: bool) -> Tensors:
    """Return the gradients of the outputs that have a graph; None for inputs that they do not depend on."""
    pairs = [(output, v) for output, v in zip(outputs, vectors or (None,) * len(outputs), strict=True)
             if output is not None and output.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    kept, given = zip(*pairs, strict=True)
    return grad(kept, inputs, given, create_graph=create_graph, allow_unused=True)


def _jacobian_of(output: Any, inputs: Tensors, create_graph: bool) -> Tensors:
    """Return one output's Jacobian, a gradient for each element; None for inputs that it does not depend on."""
    count = output.numel()
    if not count or not output.requires_grad:
        return (None,) * len(inputs)
    units = eye(count, dtype=output.dtype, device=output.device).view(count, *output.shape)
    rows = grad(output, inputs, units, retain_graph=True, create_graph=create_graph, allow_unused=True,
                is_grads_batched=True)
    return tuple(None if row is None else row.view(output.shape + x.shape) for row, x in zip(rows, inputs, strict=True))


def _require_grad(tensors: Sequence[Any], strict: bool, message: str) -> None:
    """Refuse, in strict mode, a tensor that has no graph."""
    for i, tensor in enumerate(tensors):
        if strict and tensor is None:
            raise RuntimeError(INDEPENDENT_OUTPUT.format(i=i))
        if strict and not tensor.requires_grad:
            raise RuntimeError(message.format(i=i))


def _filled(found: Sequence[Any], like: Sequence[Any], strict: bool, create_graph: bool, message: str,
            what: str) -> Tensors:
    """Replace missing gradients by zeros; in strict mode a missing one, or one without a graph, is an error."""
    for i, tensor in enumerate(found):
        if strict and tensor is None:
            raise RuntimeError(message.format(i=i))
        if strict and create_graph and not tensor.requires_grad:
            raise RuntimeError(NO_GRAPH.format(what=what, i=i, when=" when create_graph=True"))
    return tuple(zeros_like(other) if tensor is None else tensor for tensor, other in zip(found, like, strict=True))


def _check_strategy(function: str, strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    """Enforce PyTorch's restrictions of its forward mode."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f'{function}: expected strategy to be either "forward-mode" or "reverse-mode", got '
                             f"{strategy!r}.")
    if strategy == "reverse-mode":
        return
    where = f"torch.autograd.functional.{function}"
    for option, given, error in (("create_graph=True", create_graph, NotImplementedError),
                                 ("strict=True", strict, RuntimeError)):
        if given:
            raise error(f'{where}: `{option}` and `strategy="forward-mode"` are not supported together. Please choose '
                        '`strategy="reverse-mode"`.')
    if not vectorize:
        raise NotImplementedError(f'{where}: `strategy="forward-mode"` needs `vectorize=True`.')
