"""``Module``: the base of everything that has parameters."""
from __future__ import annotations

import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from .._autograd.accumulate import forget_gradients
from .._autograd.grad_mode import no_grad
from .._base.about import about
from .._base.forks import load_module
from .._creation import conversion as _conversion, empty_like
from .._creation.conversion import parse_to
from .._dtype import FLOATING, DType, bfloat16, float16, float32, float64
from .._tensor import Tensor
from .._tensor.swap import get_overwrite_module_params_on_conversion, get_swap_module_params_on_conversion, swap_tensors
from . import _hooks
from ._hooks import GLOBAL_HOOKS, HookedCall, note_module, registered
from ._state import State
from .parameter import Buffer, Parameter

NOTHING: dict[str, Any] = {}


def typename(value: Any) -> str:
    """Return the name by which messages call a value's type (``torch.typename``)."""
    if isinstance(value, Tensor):
        return value.type()
    kind = value if isinstance(value, type) else type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _hook_tables() -> dict[str, OrderedDict[int, Any]]:
    """Empty tables of a module's hooks and of their options, by name."""
    return {name: OrderedDict() for name in (
        "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
        "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks",
        "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")}


class Module(HookedCall, State):
    """The base of all neural network modules; mirrors ``torch.nn.Module``.

    Parameters, buffers and modules that are assigned as attributes are registered, and found again by name.
    """

    __constants__: tuple[str, ...] = ()  #: the names of the settings
    _shown: tuple[str, ...] = ()  #: the names of those that a repr shows
    dump_patches = False
    call_super_init = False
    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise about(TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                                      f"'{next(iter(kwargs))}'"), "unknown argument",
                            function=type(self).__name__, keyword=next(iter(kwargs)))
            if args:
                raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but "
                                f"{len(args) + 1} were given")
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _is_full_backward_hook=None,
            _modules={}, **_hook_tables(),
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- calling ---------------------------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; subclasses define it (``torch.nn.Module.forward``). Raises NotImplementedError
        if a subclass does not define it.
        """
        name = type(self).__name__
        raise about(NotImplementedError(f'Module [{name}] is missing the required "forward" function'),
                    "no forward", module=self)

    _compiled_call_impl: Callable[..., Any] | None = None  #: what ``compile`` made of calls

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Have calls of this module compiled from now on, as by ``torch.compile`` with these arguments
        (``torch.nn.Module.compile``).
        """
        self.__dict__["_compiled_call_impl"] = load_module(".._dynamo.eval_frame", __package__).compile(
            self._hooked_call, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        try:
            own = self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
            if own or any(GLOBAL_HOOKS):
                return self._hooked_call(*args, **kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            note_module(error, self, args, kwargs)
            raise

    # -- registering -----------------------------------------------------------------------------------------

    def _check_name(self, kind: str, name: Any, taken: dict[str, Any]) -> None:
        if "_modules" not in self.__dict__:
            raise about(AttributeError(f"cannot assign {kind} before Module.__init__() call"), "before init", what=kind)
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in taken and self._may_have(name) and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def _may_have(self, name: str) -> bool:
        """Return False if there is no attribute of that name: ``__getattr__`` takes longer to say so."""
        kind, state = type(self), self.__dict__
        return (hasattr(kind, name) or name in state or kind.__getattr__ is not Module.__getattr__
                or any(name in state[table] for table in ("_parameters", "_buffers", "_modules")))

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None if there is none of that name (``torch.nn.Module.register_parameter``). Raises
        TypeError if it is not a Parameter, and KeyError if the name is taken, empty, or contains a dot.
        """
        self._check_name("parameter", name, self.__dict__.get("_parameters", {}))
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' "
                                "(torch.nn.Parameter or None required)")
            if param.grad_fn is not None:
                raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters "
                                 f"must be created explicitly. To express '{name}' as a function of another "
                                 "Tensor, compute the value in the forward() method.")
            param = registered(_hooks.global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a buffer, which is a tensor of the module's state that is not a parameter
        (``torch.nn.Module.register_buffer``). It is in the state dict if ``persistent``. Raises TypeError if the value
        is not a tensor, and KeyError if the name is taken, empty, or contains a dot.
        """
        self._check_name("buffer", name, self.__dict__.get("_buffers", {}))
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or "
                            "None required)")
        self._buffers[name] = registered(_hooks.global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module below this one (``torch.nn.Module.add_module``). Raises TypeError if the value is not a module,
        and KeyError if the name is taken, empty, or contains a dot.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, self.__dict__.get("_modules", {}))
        self._modules[name] = registered(_hooks.global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a child module, as ``add_module`` does (``torch.nn.Module.register_module``)."""
        self.add_module(name, module)

    # -- attributes ------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        if name in (found := state.get("_parameters") or NOTHING):  # spelled out: models read many names at every call
            return found[name]
        if name in (found := state.get("_buffers") or NOTHING):
            return found[name]
        if name in (found := state.get("_modules") or NOTHING):
            return found[name]
        raise about(AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'"),
                    "no attribute", module=self, name=name)

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in state:
                raise about(AttributeError("cannot assign parameters before Module.__init__() call"),
                            "before init", what="parameter")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif name in state.get("_parameters", ()):
            if value is not None:
                raise about(TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or "
                                      "None expected)"), "no parameter", name=name, value=value, given=typename(value))
            self.register_parameter(name, None)
        elif isinstance(value, Module) or name in state.get("_modules", ()):
            if "_modules" not in state:
                raise about(AttributeError("cannot assign module before Module.__init__() call"),
                            "before init", what="module")
            if value is not None and not isinstance(value, Module):
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' "
                                "(torch.nn.Module or None expected)")
            self._forget(name, "_parameters", "_buffers")
            self._modules[name] = registered(_hooks.global_module_registration_hooks, self, name, value)
        elif isinstance(value, Buffer) or name in state.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, "
                                "torch.Tensor or None expected)")
            persistent = getattr(value, "persistent", None) if isinstance(value, Buffer) else None
            if persistent is None:
                persistent = name not in self._non_persistent_buffers_set
            register = type(self).register_buffer
            if register is Module.register_buffer or "persistent" in inspect.signature(register).parameters:
                self.register_buffer(name, value, persistent)
            else:  # an override from before there were other buffers
                self.register_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, *tables: str) -> None:
        """Take a name out of the instance's attributes and tables, because something else is registered under it."""
        state = self.__dict__
        state.pop(name, None)
        for table in tables:
            state[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[0].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled_call_impl"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(_hook_tables())  # an older module lacks some
        self.__dict__.update(state)

    # -- by path ---------------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """Return the module at a dotted path, or this one for '' (``torch.nn.Module.get_submodule``). Raises
        AttributeError if nothing is there, or no module.
        """
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replace the module at a dotted path (``torch.nn.Module.set_submodule``). If ``strict``, something has to be
        there. Raises ValueError if the path is empty, or the value is not a module, and AttributeError if the path
        leads nowhere.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a dotted path (``torch.nn.Module.get_parameter``). Raises AttributeError if nothing
        is there, or no parameter.
        """
        found = self._get_member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a dotted path (``torch.nn.Module.get_buffer``). Raises AttributeError if nothing is
        there, or no buffer.
        """
        path, _, name = target.rpartition(".")
        found = self._get_member(target)
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _get_member(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return getattr(module, name)

    # -- members ---------------------------------------------------------------------------------------------

    def named_modules(self, memo: set[Any] | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield this module and all below it with their dotted paths (``torch.nn.Module.named_modules``)."""
        memo = set() if memo is None else memo
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    path = f"{prefix}.{name}" if prefix else name
                    yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """Yield this module and all below it, each once (``torch.nn.Module.modules``)."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yield the modules directly below this one with their names (``torch.nn.Module.named_children``)."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """Yield the modules directly below this one, each once (``torch.nn.Module.children``)."""
        for _, module in self.named_children():
            yield module

    def _named_members(self, members_of: Callable[[Any], Any], prefix: str = "", recurse: bool = True,
                       remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        memo = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in members_of(module):
                if member is not None and member not in memo:
                    if remove_duplicate:
                        memo.add(member)
                    yield f"{path}.{name}" if path else name, member

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters with their dotted paths, each once (``torch.nn.Module.named_parameters``)."""
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters, each once (``torch.nn.Module.parameters``)."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers with their dotted paths, each once (``torch.nn.Module.named_buffers``)."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers, each once (``torch.nn.Module.buffers``)."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # -- all at once -----------------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Any], None]) -> Any:
        """Call ``fn`` with every module below this one, and then with this one (``torch.nn.Module.apply``)."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Any:
        """Set training mode, here and below (``torch.nn.Module.train``); ValueError if ``mode`` is not a bool."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Any:
        """Leave training mode, as ``train(False)`` does (``torch.nn.Module.eval``)."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set whether the parameters require grad (``torch.nn.Module.requires_grad_``)."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the parameters' gradients, or set them to zero (``torch.nn.Module.zero_grad``)."""
        forget_gradients(self.parameters(), set_to_none)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Replace the data of every parameter, gradient and buffer by what ``fn`` makes of it. The Parameter objects
        stay, unless they go to the meta device or come from there, or ``torch.__future__`` asks otherwise.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            with no_grad():
                data = fn(param)
                gradient = None if param._grad is None else fn(param._grad)
            if get_swap_module_params_on_conversion():
                self._swap(name, param, data, gradient)
            elif data.is_meta == param.is_meta and not get_overwrite_module_params_on_conversion():
                param.data = data
                if gradient is not None:
                    param._grad.data = gradient
            else:
                moved = self._parameters[name] = Parameter(data, param.requires_grad)
                moved._grad = None if gradient is None else gradient.requires_grad_(param._grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _swap(self, name: str, param: Tensor, data: Tensor, gradient: Tensor | None) -> None:
        """Exchange a parameter and its gradient with what they have been converted to."""
        before = param._grad
        try:
            new: Any = Parameter(data, requires_grad=param.requires_grad)
            swap_tensors(param, new)
            if before is not None and gradient is not None:
                swap_tensors(before, gradient.requires_grad_(before.requires_grad))
                param._grad = before
        except Exception as error:
            raise RuntimeError(f"_apply(): Couldn't swap {type(self).__name__}.{name}") from error

    # -- conversion ------------------------------------------------------------------------------------------

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Move the module to a device, and convert floating point and complex tensors to another such dtype
        (``torch.nn.Module.to``). The module itself is changed and returned.

        Raises:
            TypeError: if the dtype is neither floating point nor complex.
            NotImplementedError: from the meta device to another, which ``to_empty`` does.
        """
        device, dtype, non_blocking, _, memory_format = parse_to(*args, **kwargs)
        if dtype is not None:
            if dtype.category < FLOATING:
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got "
                                f"desired dtype={dtype}")
            if dtype.is_complex:
                warnings.warn("Complex modules are a new feature under active development whose design may change, and "
                              "some modules might not work as expected when using complex tensors as parameters or "
                              "buffers.", stacklevel=2)

        def convert(tensor: Tensor) -> Tensor:
            wanted = dtype if tensor._dtype.category >= FLOATING else None
            if memory_format is not None and tensor.dim() in (4, 5):
                return tensor.to(device, wanted, non_blocking, memory_format=memory_format)
            return tensor.to(device, wanted, non_blocking)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Move the module to a device without its values (``torch.nn.Module.to_empty``)."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse=recurse)

    def cpu(self) -> Any:
        """Move the module to the CPU (``torch.nn.Module.cpu``)."""
        return self._apply(lambda tensor: tensor.cpu())

    def npu(self, device: Any = None) -> Any:
        """Move the module to an NPU, by default the current one, as ``torch.nn.Module.cuda`` does to a GPU."""
        return self._apply(lambda tensor: tensor.npu(device))

    def cuda(self, device: Any = None) -> Any:
        """Raise the error of a PyTorch without CUDA, unless there is nothing to move (``torch.nn.Module.cuda``)."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def type(self, dst_type: DType | str) -> Any:
        """Convert all parameters and buffers to a dtype (``torch.nn.Module.type``)."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _floating_to(self, dtype: DType) -> Any:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self) -> Any:
        """Convert floating point tensors to float32 (``torch.nn.Module.float``)."""
        return self._floating_to(float32)

    def double(self) -> Any:
        """Convert floating point tensors to float64 (``torch.nn.Module.double``)."""
        return self._floating_to(float64)

    def half(self) -> Any:
        """Convert floating point tensors to float16 (``torch.nn.Module.half``)."""
        return self._floating_to(float16)

    def bfloat16(self) -> Any:
        """Convert floating point tensors to bfloat16 (``torch.nn.Module.bfloat16``)."""
        return self._floating_to(bfloat16)

    def share_memory(self) -> Any:
        """Move everything to shared memory (``torch.nn.Module.share_memory``)."""
        return self._apply(lambda tensor: tensor.share_memory_())

    # -- printing --------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the text between a repr's parentheses; subclasses define it (``torch.nn.Module.extra_repr``)."""
        return ", ".join([f"{name}={getattr(self, name)}" for name in self._shown])

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"

    def _repr_html_(self) -> str:
        """Return the tree that notebooks show."""
        return _conversion.draw(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


def indented(text: str, spaces: int = 2) -> str:
    """Indent all lines of a text but the first."""
    return text.replace("\n", "\n" + " " * spaces)
