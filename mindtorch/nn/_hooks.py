"""A module's hooks: registering them, the call that runs them, and the note on modules in an error of a call."""
from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from .._autograd.hooks import RemovableHandle
from .._autograd.node import Node, described, next_sequence_nr
from .._autograd.views import IN_FUNCTION
from .._base.about import note, sketch_call, strongly, tell
from .._creation import zeros
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._tensor import Tensor

Hook = Callable[..., Any]
Hooks = OrderedDict[int, Hook]
Flags = OrderedDict[int, bool]  #: the ids of the hooks that were registered with an option


class HookHandle(RemovableHandle):
    """Handle of a module's hook; removing the hook removes its options, too."""

    def __init__(self, hooks: Hooks, hook: Hook, prepend: bool = False, *options: tuple[bool, Flags]):
        flags = [flag for on, flag in options if on]
        super().__init__(hooks, hook, extra_dict=flags)
        if prepend:
            hooks.move_to_end(self.id, last=False)
        for flag in flags:
            flag[self.id] = True


def note_module(error: Exception, outer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Note a module's call on an error, and in which module below, by path and arguments, it arose."""
    note(error, outer, args, kwargs)
    paths, modules = {id(outer): ""}, [outer]
    for module in modules:
        for name, child in module.__dict__.get("_modules", {}).items():
            if child is not None and id(child) not in paths:
                paths[id(child)] = f"{paths[id(module)]}.{name}".lstrip(".")
                modules.append(child)
    inner, call = next((strongly(call.function), call) for call in error.__dict__["_about"].calls
                       if id(strongly(call.function)) in paths)
    if inner is not outer:
        tell(error, id(inner), f"in {paths[id(inner)]} ({type(inner).__name__}) of {type(outer).__name__}, called with "
                               f"{sketch_call(strongly(call.args), strongly(call.kwargs))}")


# -- hooks of all modules ------------------------------------------------------------------------------------

global_forward_hooks: Hooks = OrderedDict()
global_forward_hooks_always_called: Flags = OrderedDict()
global_forward_hooks_with_kwargs: Flags = OrderedDict()
global_forward_pre_hooks: Hooks = OrderedDict()
global_backward_hooks: Hooks = OrderedDict()
old_global_backward_hooks: Hooks = OrderedDict()  # which see the node of the output only
global_backward_pre_hooks: Hooks = OrderedDict()
GLOBAL_HOOKS = (global_forward_hooks, global_forward_pre_hooks, global_backward_hooks, global_backward_pre_hooks,
                old_global_backward_hooks)  #: that a module's call runs
global_buffer_registration_hooks: Hooks = OrderedDict()
global_module_registration_hooks: Hooks = OrderedDict()
global_parameter_registration_hooks: Hooks = OrderedDict()


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False,
                                 always_call: bool = False) -> RemovableHandle:
    """Have ``hook(module, args, output)`` called after every module's forward (``torch.nn.modules.module``)."""
    return HookHandle(global_forward_hooks, hook, False, (with_kwargs, global_forward_hooks_with_kwargs),
                      (always_call, global_forward_hooks_always_called))


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(module, args)`` called before every module's forward (``torch.nn.modules.module``)."""
    return HookHandle(global_forward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(module, grad_input, grad_output)`` called after each backward (``torch.nn.modules.module``)."""
    _check_global_kind(old_global_backward_hooks)
    return HookHandle(global_backward_hooks, hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(module, grad_input, grad_output)`` called after the node of every module's output ran
    (``torch.nn.modules.module.register_module_backward_hook``). Raises RuntimeError if there are full backward hooks of
    all modules.
    """
    _check_global_kind(global_backward_hooks)
    return HookHandle(old_global_backward_hooks, hook)


def _check_global_kind(others: Hooks) -> None:
    if others:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
                           "Please use only one of them.")


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(module, grad_output)`` called before every module's backward (``torch.nn.modules.module``)."""
    return HookHandle(global_backward_pre_hooks, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(module, name, buffer)`` called when a buffer is registered; what it returns replaces the buffer
    (``torch.nn.modules.module.register_module_buffer_registration_hook``).
    """
    return HookHandle(global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(module, name, submodule)`` called when a module is registered; what it returns replaces the module
    (``torch.nn.modules.module.register_module_module_registration_hook``).
    """
    return HookHandle(global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(module, name, param)`` called when a parameter is registered; what it returns replaces it
    (``torch.nn.modules.module.register_module_parameter_registration_hook``).
    """
    return HookHandle(global_parameter_registration_hooks, hook)


def registered(hooks: Hooks, module: Any, name: str, value: Any) -> Any:
    """Return the value that the registration hooks put in place of another."""
    for hook in hooks.values():
        replaced = hook(module, name, value)
        if replaced is not None:
            value = replaced
    return value


# -- backward hooks ------------------------------------------------------------------------------------------


class BackwardHookFunctionBackward(Node):
    """The border of a module in the graph, which hands gradients on as they are, and zeros where none arrived."""

    def __init__(self, tensors: list[Tensor]):
        self._order = next_sequence_nr()
        self._edges = tuple(t._grad_edge() if t._keys & AUTOGRAD else None for t in tensors)
        self._outputs: Any = tuple([described(t) for t in tensors])

    def apply(self, grads: list[Any]) -> list[Any]:
        return [zeros(shape, dtype=dtype, device=device) if grad is None else grad
                for grad, (shape, dtype, device) in zip(grads, self._outputs, strict=True)]


class Border:
    """The tensors among the values that go into or come out of a module, tied to a node of their own."""

    def __init__(self, values: tuple[Any, ...]):
        self.count = len(values)
        self.positions = [i for i, value in enumerate(values) if value.__class__ in TENSOR_TYPES]
        tensors = [values[i] for i in self.positions]
        self.node: Node | None = None
        self.values = values
        if local.grad_enabled and any(t._keys & AUTOGRAD for t in tensors):
            node = self.node = BackwardHookFunctionBackward(tensors)
            tied = list(values)
            for number, (i, tensor) in enumerate(zip(self.positions, tensors, strict=True)):
                tied[i] = _tie(tensor, node, number)
            self.values = type(values)(*tied) if hasattr(values, "_fields") else tuple(tied)

    def spread(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the gradients as one value per argument, which is None where the argument is not a tensor."""
        whole: list[Any] = [None] * self.count
        for i, grad in zip(self.positions, grads, strict=True):
            whole[i] = grad
        return tuple(whole)

    def pick(self, whole: Any) -> tuple[Any, ...]:
        """Return the gradients of the tensors, from one value per argument."""
        return tuple(whole[i] for i in self.positions)


def _tie(tensor: Tensor, node: Node, number: int) -> Tensor:
    alias = tensor._view(tensor.shape, tensor._strides(), tensor._offset)
    alias._creation_meta = IN_FUNCTION
    if tensor._keys & AUTOGRAD:
        alias._keys |= AUTOGRAD
        alias._grad_fn, alias._output_nr = node, number
    return alias


class BackwardHook:
    """A module's full backward hooks during one call: they run at the borders of what forward records."""

    def __init__(self, module: Any, hooks: list[Hook], pre_hooks: list[Hook]):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.inputs: Border
        self.outputs: Border

    def tie_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Have the hooks called with the gradients of these arguments."""
        self.inputs = Border(args)
        if self.inputs.node is not None:
            self.inputs.node.register_hook(self._at_inputs)
        return self.inputs.values

    def tie_output(self, output: Any) -> Any:
        """Have the pre-hooks called with the gradients of a module's output."""
        if not isinstance(output, (Tensor, tuple)):
            warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of "
                          f"Tensors but received {type(output)}", stacklevel=4)
            return output
        self.outputs = Border(output if isinstance(output, tuple) else (output,))
        if self.outputs.node is not None:
            self.outputs.node.register_hook(self._at_outputs)
        return self.outputs.values if isinstance(output, tuple) else self.outputs.values[0]

    def _run(self, hook: Hook, *grads: Any) -> Any:
        try:
            return hook(self.module, *grads)
        except Exception as error:
            tell(error, id(self), f"in a backward hook of {type(self.module).__name__}, called with "
                                  f"{sketch_call(grads, {})}")
            raise

    def _at_outputs(self, _grad_inputs: Any, grads: tuple[Any, ...]) -> Any:
        grad_outputs = self.outputs.spread(grads)
        for hook in self.pre_hooks:
            grad_outputs = self._replaced(self._run(hook, grad_outputs), grad_outputs, "pre hook", "grad_output")
        self.grad_outputs = grad_outputs
        if self.inputs.node is None:
            self._without_inputs()
        return self.outputs.pick(grad_outputs)

    def _at_inputs(self, grads: tuple[Any, ...], _grad_outputs: Any) -> Any:
        if self.grad_outputs is None:  # the gradient did not come through the output, as in double backward
            return None
        grad_inputs = self.inputs.spread(grads)
        for hook in self.hooks:
            grad_inputs = self._replaced(self._run(hook, grad_inputs, self.grad_outputs), grad_inputs,
                                         "hook", "grad_input")
        self.grad_outputs = None
        return self.inputs.pick(grad_inputs)

    def _without_inputs(self) -> None:
        warnings.warn("Full backward hook is firing when gradients are computed with respect to module "
                      "outputs since no inputs require gradients.", stacklevel=5)
        for hook in self.hooks:
            result = self._run(hook, (None,) * self.inputs.count, self.grad_outputs)
            nothing = isinstance(result, tuple) and all(item is None for item in result)
            if result is not None and not nothing:
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always "
                                   "return None or None for all gradients.")
        self.grad_outputs = None

    @staticmethod
    def _replaced(result: Any, grads: tuple[Any, ...], kind: str, side: str) -> Any:
        if result is None:
            return grads
        if len(result) != len(grads):
            raise RuntimeError(f"Backward {kind} returned an invalid number of {side}, got {len(result)}, "
                               f"but expected {len(grads)}")
        return result


# -- a module's own hooks ------------------------------------------------------------------------------------


class HookedCall:
    """The part of a module that registers hooks and calls forward between them."""

    training: bool
    _backward_hooks: Hooks
    _backward_pre_hooks: Hooks
    _is_full_backward_hook: bool | None
    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: Flags
    _forward_hooks_always_called: Flags
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: Flags
    forward: Callable[..., Any]

    def register_forward_pre_hook(self, hook: Hook, *, prepend: bool = False,
                                  with_kwargs: bool = False) -> RemovableHandle:
        """Have ``hook(module, args)`` called before forward; what it returns replaces the arguments
        (``torch.nn.Module.register_forward_pre_hook``).

        With ``with_kwargs`` it is ``hook(module, args, kwargs)``, and returns None or ``(args, kwargs)``.
        """
        return HookHandle(self._forward_pre_hooks, hook, prepend, (with_kwargs, self._forward_pre_hooks_with_kwargs))

    def register_forward_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """Have ``hook(module, args, output)`` called after forward; what it returns replaces the output
        (``torch.nn.Module.register_forward_hook``).

        With ``with_kwargs`` it is ``hook(module, args, kwargs, output)``; with ``always_call`` it is called even if
        forward, or a hook before it, raises.
        """
        return HookHandle(self._forward_hooks, hook, prepend, (with_kwargs, self._forward_hooks_with_kwargs),
                          (always_call, self._forward_hooks_always_called))

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Have ``hook(module, grad_input, grad_output)`` called when the gradients of the inputs are computed; what it
        returns replaces them (``torch.nn.Module.register_full_backward_hook``). Raises RuntimeError if the module has
        hooks of the old kind.
        """
        self._backward_kind(True)
        return HookHandle(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Have ``hook(module, grad_output)`` called when the gradients of the output are computed; what it returns
        replaces them (``torch.nn.Module.register_full_backward_pre_hook``).
        """
        return HookHandle(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(module, grad_input, grad_output)`` called after the node of the output ran
        (``torch.nn.Module.register_backward_hook``). This old kind of hook sees that one node only. Raises RuntimeError
        if the module has full backward hooks.
        """
        self._backward_kind(False)
        return HookHandle(self._backward_hooks, hook)

    def _backward_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single "
                               "Module. Please use only one of them.")
        self._is_full_backward_hook = full

    def _hooked_call(self, *args: Any, **kwargs: Any) -> Any:
        """Forward between the hooks."""
        called: set[int] = set()
        result: Any = None
        try:
            args, kwargs = self._run_pre_hooks(args, kwargs)
            border = self._backward_border()
            if border is not None:
                args = border.tie_inputs(args)
            result = self.forward(*args, **kwargs)
            for hooks, with_kwargs in self._forward_hook_tables():
                for number, hook in list(hooks.items()):
                    called.add(number)
                    given = (args, kwargs, result) if number in with_kwargs else (args, result)
                    changed = hook(self, *given)
                    if changed is not None:
                        result = changed
            if border is not None:
                result = border.tie_output(result)
            old = [*old_global_backward_hooks.values(),
                   *(() if self._is_full_backward_hook else self._backward_hooks.values())]
            if old:
                self._hook_last_node(old, args, result)
            return result
        except Exception:
            self._run_always_called(called, args, kwargs, result)
            raise

    def _run_pre_hooks(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        for number, hook in [*global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()]:
            if number in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, "
                                           f"new_kwargs), but got {changed}.")
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _forward_hook_tables(self) -> tuple[tuple[Hooks, Flags], tuple[Hooks, Flags]]:
        return ((global_forward_hooks, global_forward_hooks_with_kwargs),
                (self._forward_hooks, self._forward_hooks_with_kwargs))

    def _backward_border(self) -> BackwardHook | None:
        hooks = list(global_backward_hooks.values())
        if self._is_full_backward_hook:
            hooks += self._backward_hooks.values()
        pre_hooks = [*global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        return BackwardHook(self, hooks, pre_hooks) if hooks or pre_hooks else None

    def _hook_last_node(self, hooks: list[Hook], args: Any, result: Any) -> None:
        """Attach hooks of the old kind to the node of the (first) output."""
        output = result
        while not isinstance(output, Tensor):
            if isinstance(output, dict):
                output = next(value for value in output.values() if isinstance(value, Tensor))
            else:
                output = output[0]
        if output.grad_fn is not None:
            for hook in hooks:
                output.grad_fn.register_hook(partial(hook, self))
            _warn_of_old_hook(args, result, output.grad_fn)

    def _run_always_called(self, called: set[int], args: Any, kwargs: Any, result: Any) -> None:
        always = {**global_forward_hooks_always_called, **self._forward_hooks_always_called}
        for hooks, with_kwargs in self._forward_hook_tables():
            for number, hook in list(hooks.items()):
                if number not in always or number in called:
                    continue
                try:
                    given = (args, kwargs, result) if number in with_kwargs else (args, result)
                    changed = hook(self, *given)
                    result = result if changed is None else changed
                except Exception as error:
                    warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced "
                                  f"as another error was raised in forward: {error}", stacklevel=4)


def _warn_of_old_hook(inputs: Any, result: Any, node: Any) -> None:
    """Warn if a backward hook of the old kind does not see all gradients of the module."""
    results = result if isinstance(result, tuple) else (result,)
    kind, missing = "hook", "some grad_output."
    nodes = {id(value.grad_fn) for value in results if isinstance(value, Tensor) and value.grad_fn is not None}
    if not all(isinstance(value, Tensor) for value in results):
        kind, what = "hooks", "on a Module that does not return a single Tensor or a tuple of Tensors"
        missing = "some of the grad_output."
    elif not all(isinstance(value, Tensor) for value in inputs):
        kind, what = "hooks", "on a Module that does not take as input a single Tensor or a tuple of Tensors"
        missing = "some of the grad_input."
    elif len(nodes) > 1:
        what = "when outputs are generated by different autograd Nodes"
    elif {id(value.grad_fn) for value in inputs if value.grad_fn is not None} != {
            id(previous) for previous, _ in node.next_functions}:
        what, missing = "when the forward contains multiple autograd Nodes", "some grad_input."
    else:
        return
    warnings.warn(f"Using {'a ' if kind == 'hook' else ''}non-full backward {kind} {what} is deprecated and will be "
                  f"removed in future versions. This hook will be missing {missing} Please use "
                  "register_full_backward_hook to get the documented behavior.", FutureWarning, stacklevel=5)
