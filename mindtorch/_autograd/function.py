"""``torch.autograd.Function``: user-defined operators with their own derivative, written as two static methods."""
from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from .._base.about import about
from .._dispatch.aten import zeros
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.keys import AUTOGRAD, FUNCTION
from .._dispatch.local import local
from .._dtype import FLOATING
from . import views
from .anomaly import AnomalyMode, remember_call
from .forward import Level, live_level, tangent_of, zeros_of
from .grad_mode import no_grad
from .node import Node, described, new, next_sequence_nr
from .saved import SavedTensor, attached, freed, save


class FunctionCtx:
    """The ``ctx`` of a Function's ``forward`` and ``backward``: holds attributes and has these methods
    (``torch.autograd.function.FunctionCtx``).
    """

    to_save: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] | None = None
    saved_for_forward: tuple[Any, ...] | None = None
    _materializes = True
    _materialize_non_diff_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors (or None) for backward, as ``ctx.saved_tensors``
        (``torch.autograd.function.FunctionCtx.save_for_backward``).
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors for ``jvp``, as ``ctx.saved_tensors``
        (``torch.autograd.function.FunctionCtx.save_for_forward``).
        """
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Declare the inputs that forward wrote and returns (``torch.autograd.function.FunctionCtx.mark_dirty``)."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Declare which outputs have no gradient (``torch.autograd.function.FunctionCtx.mark_non_differentiable``)."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward receives zeros (the default) or None for outputs without a gradient
        (``torch.autograd.function.FunctionCtx.set_materialize_grads``).
        """
        self._materializes = bool(value)


class BackwardCFunction(Node, FunctionCtx):
    """The node of a Function's call, and its ``ctx``; the class is named ``<Name>Backward``
    (``torch.autograd.function.BackwardCFunction``).
    """

    _forward_cls: type[Function]
    _keeps_dtype = True
    _saved: list[Any] | tuple[Any, ...] = ()
    _in_jvp = False
    _taken = False  #: whether ``saved_tensors`` was read, if only one access is allowed
    _is_input: tuple[bool, ...] = ()  #: which arguments were tensors
    _freed = False
    needs_input_grad: tuple[bool, ...] = ()

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors saved by ``save_for_backward`` (``torch.autograd.function.BackwardCFunction.saved_tensors``).

        Raises:
            RuntimeError: if they were freed, or one was written in place since.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        if self._in_jvp:
            return ()
        if self._freed:
            raise freed(self)
        if self._taken:
            raise RuntimeError("saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set "
                               "on the autograd.Function. Either access saved_tensors only once, or set "
                               "clear_saved_tensors_on_access=False.")
        tensors = tuple(None if saved is None else saved.unpack(self, True) for saved in self._saved)
        if self._forward_cls.clear_saved_tensors_on_access:
            self._saved, self._taken = (), True
        return tensors

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The deprecated name of ``saved_tensors``."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self._freed:
            raise freed(self)
        return tuple(SavedTensor(self, functools.partial(self._saved_at, i)) for i in range(len(self._saved)))

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    def _saved_at(self, i: int) -> Any:
        if self._freed:
            raise freed(self)
        return self._saved[i]

    def apply(self, grads: list[Any]) -> list[Any]:
        """Return the inputs' gradients, one per edge, in a new list, from the outputs' gradients
        (``torch.autograd.function.BackwardCFunction.apply``).
        """
        if self._materializes:
            left_out = () if self._materialize_non_diff_grads else self._constant
            for i, output in enumerate(self._outputs):
                if grads[i] is None and output is not None and i not in left_out:
                    shape, dtype, device = output
                    grads[i] = zeros(tuple(shape), dtype, None, device)
        user = self._forward_cls
        if user.vjp is not Function.vjp and user.backward is not Function.backward:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                               "should only implement one of them.")
        backward = user.vjp if user.vjp is not Function.vjp else user.backward
        mode, formula = local.grad_enabled, local.formula
        local.formula = False
        try:
            results = backward(self, grads) if user.boxed_grads_call else backward(self, *grads)
        finally:
            local.grad_enabled, local.formula = mode, formula
        return self._checked(results if isinstance(results, tuple) else (results,))

    def _checked(self, results: tuple[Any, ...]) -> list[Any]:
        """Check the results of backward, and return the gradients of the arguments that are tensors.

        Raises:
            RuntimeError: PyTorch's, if backward did not return a tensor or None for each argument.
        """
        count = len(self._is_input)
        if len(results) > count and all(result is None for result in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise about(RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected "
                                     f"{count}, got {len(results)})"),
                        "gradients returned", function=self.name(), wanted=count, got=len(results))
        gradients = []
        for i, (result, is_input) in enumerate(zip(results, self._is_input, strict=True)):
            if not is_input:
                if result is not None:
                    raise RuntimeError(f"function {self.name()} returned a gradient different than None at position "
                                       f"{i + 1}, but the corresponding forward input was not a Variable")
                continue
            if result is not None and result.__class__ not in TENSOR_TYPES:
                raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
            gradients.append(result)
        return gradients

    def release_variables(self) -> None:
        """Free the values saved for backward."""
        self._saved, self._freed = (), True

    # -- after forward ---------------------------------------------------------------------------------------------

    def _wrap(self, raw: Any, inputs: list[Any], records: bool) -> Any:
        """Return forward's outputs, with this node as their history if ``records``."""
        outputs = list(raw) if isinstance(raw, tuple) else [raw]
        dirty = self._marked(self.dirty_tensors, "mark_dirty can only accept variables, but argument {} is of type {}")
        without = self._marked(self.non_differentiable,
                               "mark_non_differentiable only accepts variable arguments, but got {} of type {}")
        for tensor in dirty:
            if not _among(tensor, outputs):
                raise RuntimeError("Some elements marked as dirty during the forward method were not returned as "
                                   "output. The inputs that are modified inplace must all be outputs of the Function.")
            if not _among(tensor, inputs):
                warnings.warn("ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have "
                              "been mutated should be passed to ctx.mark_dirty().", stacklevel=4)
            tensor._bump()
        self._constant = tuple(i for i, output in enumerate(outputs) if _among(output, without))
        tensors = sum(output.__class__ in TENSOR_TYPES for output in outputs)
        done: dict[int, Any] = {}
        for number, output in enumerate(outputs):
            if output.__class__ not in TENSOR_TYPES:
                continue
            if id(output) in done:
                outputs[number] = done[id(output)]
            elif not records or output._dtype.category < FLOATING or _among(output, without):
                outputs[number] = self._without_history(output, _among(output, inputs), _among(output, dirty))
            elif _among(output, dirty):
                self._write_history(output, number, tensors)
            else:
                outputs[number] = self._with_history(output, _among(output, inputs))
            if outputs[number]._grad_fn is self:
                outputs[number]._output_nr = number
            done[id(output)] = outputs[number]
        self._outputs = tuple([described(t) if t.__class__ in TENSOR_TYPES else None for t in outputs])
        if sum(t.__class__ in TENSOR_TYPES and bool(t._keys & AUTOGRAD) for t in outputs) > 1:
            for output in outputs:
                if output.__class__ in TENSOR_TYPES and output._base is not None:
                    output._creation_meta = views.MULTIPLE
        if records:
            self._save()
        else:
            self.to_save = self.non_differentiable = None
        return tuple(outputs) if isinstance(raw, tuple) else outputs[0]

    def _carry(self, level: Level, args: tuple[Any, ...], output: Any) -> None:
        """Set the outputs' tangents, which ``jvp`` computes from the inputs'."""
        tangents = [tangent_of(arg, level) if is_input else None
                    for arg, is_input in zip(args, self._is_input, strict=True)]
        if self._materializes:
            tangents = [zeros_of(arg) if tangent is None and is_input and arg._dtype.category >= FLOATING else tangent
                        for arg, tangent, is_input in zip(args, tangents, self._is_input, strict=True)]
        versions = [None if tangent is None else tangent._version for tangent in tangents]
        self._in_jvp = True
        try:
            made = self._forward_cls.jvp(self, *tangents)
        finally:
            self._in_jvp, self.saved_for_forward = False, None
        outputs = output if isinstance(output, tuple) else (output,)
        for number, (value, tangent) in enumerate(zip(outputs, as_tuple(made), strict=True)):
            if tangent is None:
                continue
            if number in self._constant:
                raise RuntimeError(f"function {self.name()} returned a forward gradient different than None at "
                                   f"position {number + 1}, but the corresponding forward output is not a "
                                   "differentiable Tensor. You should return None at that position instead.")
            for arg, given, version in zip(args, tangents, versions, strict=True):
                if arg is not None and value.__class__ in TENSOR_TYPES and arg.__class__ in TENSOR_TYPES:
                    _check_aliasing(value, tangent, arg, given, version)
            level.attach(value, tangent)

    def _marked(self, tensors: tuple[Any, ...] | None, message: str) -> tuple[Any, ...]:
        for i, tensor in enumerate(tensors or ()):
            if tensor.__class__ not in TENSOR_TYPES:
                raise RuntimeError(message.format(i, type(tensor).__name__))
        return tensors or ()

    def _without_history(self, output: Any, is_input: bool, is_dirty: bool) -> Any:
        if not output._keys & AUTOGRAD:
            if output._base is not None and not is_input and output._creation_meta is not None:
                output._creation_meta = views.IN_FUNCTION
            return _as_is(output) if is_input and not is_dirty else output
        if is_input or output._base is not None:
            return output.detach() if is_input else output
        return output.detach_()

    def _with_history(self, output: Any, is_input: bool) -> Any:
        if is_input:
            output = _as_is(output)
        output._grad_fn = self
        output._keys |= AUTOGRAD
        if output._base is not None:
            output._creation_meta, output._attr_version = views.IN_FUNCTION, output._version
        return output

    def _write_history(self, output: Any, number: int, count: int) -> None:
        """Make this node the history of an input that forward wrote in place."""
        if output._keys & AUTOGRAD and output.grad_fn is None:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if output._base is not None and count > 1:
            raise RuntimeError("If your Function modifies inplace an input that is a view of another Tensor, your "
                               "Function cannot return more than one Tensor. This is not supported by the current "
                               "autograd engine. You should either make sure the input is not a view (using .clone() "
                               "for example) or make your Function only return one Tensor (potentially splitting it "
                               "into two Functions: one doing the inplace that returns a single Tensor and a second "
                               "one that does the other operations).")
        self._outputs = (None,) * number + (described(output),)
        views.rebase(output, self)

    def _save(self) -> None:
        """Save the tensors that forward passed to ``save_for_backward``; an output as a twin, to avoid a reference
        cycle.
        """
        kept: list[Any] = []
        for i, tensor in enumerate(self.to_save or ()):
            if tensor is None:
                kept.append(None)
            elif tensor.__class__ not in TENSOR_TYPES:
                raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type "
                                f"{type(tensor).__name__}")
            elif tensor._grad_fn is self:
                kept.append(save(tensor._saved_alias(), tensor._output_nr, self))
            else:
                kept.append(save(tensor))
        self._saved, self.to_save = kept, None


def _check_aliasing(output: Any, tangent: Any, arg: Any, given: Any, version: Any) -> None:
    """Check a tangent's aliasing: an output written in place needs the input's tangent, written; a view needs a view of
    it.

    Raises:
        RuntimeError: otherwise.
    """
    if output is arg:
        if given is not None and (tangent is not given or given._version == version):
            raise RuntimeError("An inplace custom Function is not modifying the forward mode gradients inplace. If the "
                               "forward is modifying an input inplace, then the jvp function must modify the "
                               "corresponding gradient inplace.")
    elif output._base is not None and output._base is (arg if arg._base is None else arg._base):
        if tangent._base is None:
            raise RuntimeError("A custom Function's forward is returning a view (or an input as-is) but the jvp is not "
                               "returning a view.")
        if given is not None and given._base is not None and tangent._base is not given._base:
            raise RuntimeError("A custom Function is returning a view but the jvp is not returning a view of the same "
                               "base as the given grad input.")
        if given is not None and given._base is None and tangent._base is not given:
            raise RuntimeError("A custom Function is returning a view but the jvp is not returning a view of the given "
                               "grad input.")


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return the result of a static method as a tuple."""
    return value if isinstance(value, tuple) else (value,)


def _among(tensor: Any, tensors: Any) -> bool:
    return any(tensor is other for other in tensors)


def _as_is(tensor: Any) -> Any:
    """Return a view with the same layout, for an input that forward returned as is."""
    if tensor._keys & FUNCTION:
        return tensor.view_as(tensor)  # a subclass may want its own
    return tensor._view(tensor.shape, tensor._strides(), tensor._offset)


#: Builds the static method ``vmap`` for ``generate_vmap_rule``; set by ``_wiring``.
generated_rule: Callable[[type[Function]], Callable[..., Any]]


class FunctionMeta(type):
    """The metaclass that makes the node class of each Function (``torch.autograd.function.FunctionMeta``)."""

    _backward_cls: type[BackwardCFunction]

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]):
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,),
                                 {"_forward_cls": cls, "__module__": "torch.autograd.function"})


class Function(FunctionCtx, metaclass=FunctionMeta):
    """The base of user-defined operators with their own derivative (``torch.autograd.Function``).

    A subclass defines the static methods ``forward(ctx, *args)`` and ``backward(ctx, *grad_outputs)``, or
    ``forward(*args)`` with ``setup_context(ctx, inputs, output)``; it is called as ``Subclass.apply(*args)``.
    """

    clear_saved_tensors_on_access = False
    boxed_grads_call = False
    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any):
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you "
                      "should invoke them on the class itself.", DeprecationWarning, stacklevel=2)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs (``torch.autograd.Function.forward``)."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save values for backward if forward takes no ctx (``torch.autograd.Function.setup_context``)."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the arguments' gradients (None for arguments that are not tensors) from the outputs' gradients
        (``torch.autograd.Function.backward``).
        """
        raise NotImplementedError("You must implement either the backward or vjp method for your custom "
                                  "autograd.Function to use it with backward mode AD.")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the outputs' tangents from the inputs', in forward mode (``torch.autograd.Function.jvp``).

        A Function without ``jvp`` does not support forward mode: its backward need not be the derivative of its
        forward.
        """
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with "
                                  "forward mode AD.")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """Compute a batch at once inside ``vmap`` (``torch.autograd.Function.vmap``).

        ``info`` has ``batch_size`` and ``randomness``; ``in_dims`` holds the batch dimension of each argument, or None.
        Return the outputs and their batch dimensions. A Function with ``generate_vmap_rule`` does not define it: its
        forward and backward run on the batch like any operators.
        """
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod "
                                  "or set generate_vmap_rule=True.")

    @classmethod
    def _frame(cls, args: tuple[Any, ...]) -> Any:
        """Return the innermost ``vmap`` call that batches an argument, or None.

        Raises:
            RuntimeError: if the Function has no vmap rule, or two.
        """
        frames = [arg._batched[2] for arg in args if arg.__class__ in TENSOR_TYPES and arg._batched is not None]
        if not frames:
            return None
        more = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
        has_rule = cls.vmap is not Function.vmap
        if has_rule and cls.generate_vmap_rule:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden "
                "vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to "
                f"avoid ambiguity. {more}")
        if not (has_rule or cls.generate_vmap_rule):
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and "
                f"implement the vmap staticmethod or set generate_vmap_rule=True. {more}")
        return max(frames, key=lambda frame: frame.number)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use "
                           "new-style autograd function with static forward method.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record this Function as the history of its outputs (``torch.autograd.Function.apply``)."""
        has_setup = cls.setup_context is not Function.setup_context
        if has_setup or kwargs:
            args, kwargs = _bound(cls.forward, args, kwargs, has_setup)
        if not has_setup and (local.transforms or local.frames):
            raise RuntimeError("In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
                               "jacrev, ...), it must override the setup_context staticmethod. For more details, "
                               "please see https://pytorch.org/docs/main/notes/extending.func.html")
        if local.frames and (frame := cls._frame(args)) is not None:
            rule = cls.vmap if cls.vmap is not Function.vmap else generated_rule(cls)  # noqa: F821 (put here later)
            return frame.through_rule(rule, args)
        ctx = new(cls._backward_cls)
        ctx._is_input = tuple([arg.__class__ in TENSOR_TYPES for arg in args])
        inputs = [arg for arg in args if arg.__class__ in TENSOR_TYPES]
        ctx.needs_input_grad = tuple([arg.__class__ in TENSOR_TYPES and bool(arg._keys & AUTOGRAD) for arg in args])
        mode, below = local.grad_enabled, local.dual_below
        level = None if local.inference else live_level(inputs)
        records = mode and any(ctx.needs_input_grad)
        if records:
            ctx._order = next_sequence_nr()
            ctx._edges = tuple([tensor._grad_edge() if tensor._keys & AUTOGRAD else None for tensor in inputs])
            if AnomalyMode.enabled:
                remember_call(ctx)
        local.grad_enabled = False  # ``no_grad`` would cost every call a microsecond
        if level is not None:
            local.dual_below = level.number
        try:
            if has_setup:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
            output = ctx._wrap(output, inputs, records)
            if level is not None:
                local.grad_enabled = mode
                ctx._carry(level, args, output)
            return output
        finally:
            local.grad_enabled, local.dual_below = mode, below


def _bound(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
           has_setup: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments in the order of forward's parameters, with defaults filled in if forward takes no ctx."""
    bound = inspect.signature(forward).bind(*(args if has_setup else (None, *args)), **kwargs)
    if has_setup:
        bound.apply_defaults()
    return (bound.args if has_setup else bound.args[1:]), bound.kwargs


class Error(Node):
    """The node of gradients that must not be differentiated."""

    def __init__(self, message: str, outputs: list[Any]):
        self._message = message
        self._order = next_sequence_nr()
        self._edges = tuple([None if t is None or not t._keys & AUTOGRAD else t._grad_edge() for t in outputs])
        self._outputs = tuple([described(t) if t is not None else None for t in outputs])

    def name(self) -> str:
        return "torch::autograd::Error"

    def apply(self, grads: list[Any]) -> list[Any]:
        raise RuntimeError(self._message)


def undifferentiable(tensors: list[Any], message: str) -> list[Any]:
    """Return tensors over the same memory whose gradients raise a RuntimeError (ATen's ``DelayedError``)."""
    node = Error(message, tensors)
    return [None if tensor is None else attached(tensor, node, i) for i, tensor in enumerate(tensors)]


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward whose results must not be differentiated again: doing so raises an error
    (``torch.autograd.function.once_differentiable``).
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            results = fn(ctx, *args)
        if not local.grad_enabled or not any(arg.__class__ in TENSOR_TYPES and arg._keys & AUTOGRAD for arg in args):
            return results
        flat = list(results) if isinstance(results, tuple) else [results]
        leaves = [None if t is None else t.detach().requires_grad_() for t in flat]  # PyTorch's graph has them
        tied = undifferentiable(
            leaves, "trying to differentiate twice a function that was marked with @once_differentiable")
        return tuple(tied) if isinstance(results, tuple) else tied[0]

    return wrapper


class InplaceFunction(Function):
    """The former base of Functions that write in place (``torch.autograd.function.InplaceFunction``)."""

    def __init__(self, inplace: bool = False):
        self.inplace = inplace
