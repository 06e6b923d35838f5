"""``Parameter`` and ``Buffer``: tensors that a module registers when they are assigned to it."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

from .. import _utils
from .._backends.common.uninitialized import refusal
from .._creation import as_subclass, empty
from .._dispatch.keys import AUTOGRAD, FUNCTION, PYTHON, UNINITIALIZED
from .._dispatch.torch_function import disabled_torch_function
from .._tensor import Tensor, keys_of_class

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]
__dir__ = __all__.copy


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """A tensor of another subclass is a parameter if it was made one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False))


def _custom_parameter(data: Any, requires_grad: bool) -> Any:
    """Mark a tensor of a subclass as a parameter, as PyTorch does, without changing its class."""
    made = data.detach().requires_grad_(requires_grad)
    if type(made) is not type(data):
        raise RuntimeError(f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
                           f"detach() returns an instance of the same type, but return type {type(made).__name__} was "
                           "found instead. To use the type as a Parameter, please correct the detach() semantics "
                           "defined by its __torch_dispatch__() implementation.")
    made._is_param = True
    return made


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module registers as a parameter (``torch.nn.Parameter``).

    It is a leaf on the memory of ``data`` (an empty tensor for None), and requires grad by default. Raises RuntimeError
    if it is to require grad and ``data`` is of neither a floating point nor a complex dtype.
    """

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if not isinstance(requires_grad, bool):
            raise TypeError(f"Parameter(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
        if data is not None and type(data) is not Tensor and not isinstance(data, Parameter):
            return _custom_parameter(data, requires_grad)
        made = (empty(0) if data is None else data)._shallow_copy_and_detach(cls)
        made._keys = made._keys & ~(FUNCTION | PYTHON) | keys_of_class(cls)
        return made._require_grad(requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts: tuple[Any, ...] = (self.data, self.requires_grad, OrderedDict())
        state = _utils.get_obj_state(self)
        return (_rebuild_parameter, parts) if not state else (_rebuild_parameter_with_state, (*parts, state))

    def __repr__(self) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """Make a parameter on a tensor's memory (called by ``pickle``)."""
    return _rebuild_parameter_with_state(data, requires_grad, backward_hooks, None)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Parameter:
    """Make a parameter with its saved attributes (called by ``pickle``)."""
    if not isinstance(data, Tensor):
        raise TypeError(f"a parameter needs a tensor, but got {type(data).__name__}")
    return _utils._set_obj_state(Parameter(data, requires_grad), state)


for _function in (_rebuild_parameter, _rebuild_parameter_with_state):
    _function.__module__ = _utils.__name__  # where PyTorch has them
    setattr(_utils, _function.__name__, _function)


class _BufferType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(metaclass=_BufferType):
    """A mark of a tensor that a module registers as a buffer, in the state dict if ``persistent``
    (``torch.nn.Buffer``). Calling it returns a plain tensor with that mark.
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        source = empty(0) if data is None else data
        marked: Any = source.detach().requires_grad_(source.requires_grad)
        marked.persistent, marked._is_buffer = persistent, True
        return marked


class UninitializedTensorMixin:
    """A parameter or buffer without a shape; only moving, converting and loading it is not an error."""

    __torch_function__ = disabled_torch_function
    cls_to_become: Any
    _keys: int
    _dtype: Any
    _device: Any

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give it a shape, and uninitialised memory; it is a plain parameter or buffer from then on."""
        made = empty(shape, device=device or self._device, dtype=dtype or self._dtype)
        self.__class__ = self.cls_to_become
        self._keys &= ~UNINITIALIZED
        self.data = made

    @property
    def data(self) -> Any:
        """A plain tensor without elements, of this dtype and on this device."""
        return Tensor.data.fget(self)  # type: ignore[attr-defined]

    @data.setter
    def data(self, value: Any) -> None:
        lazy, self.__class__ = type(self), self.cls_to_become  # which has a shape
        try:
            self.data = value.data
        finally:
            self.__class__ = lazy

    @property
    def shape(self) -> Any:
        """There is none.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens "
                           "in `load_state_dict` when trying to load an uninitialized parameter into an initialized "
                           "one. Call `forward` to initialize the parameters before accessing their attributes.")

    def share_memory_(self) -> Any:
        """Refuse to move to shared memory.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize "
                           "the parameters before calling `module.share_memory()`.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(bool(self._keys & AUTOGRAD), self._device, self._dtype)  # type: ignore
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (bool(self._keys & AUTOGRAD),)


def _refused(name: str) -> Any:
    """Return a method that asks about elements or memory without an operator, for what has none."""
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise refusal(name)

    return method


for _name in ("data_ptr", "detach", "dim", "item", "ndimension", "nelement", "numel", "tolist"):
    setattr(UninitializedTensorMixin, _name, _refused(_name))


def is_lazy(param: Tensor) -> bool:
    """Return whether this is a parameter or a buffer that has no shape yet (``torch.nn.parameter.is_lazy``)."""
    return isinstance(param, UninitializedTensorMixin)


def check_initialized(param: Tensor, hook: str, kind: str) -> None:
    """Raise PyTorch's ValueError if a parameter that is to be normalised has no shape yet."""
    if is_lazy(param):
        raise ValueError(f"The module passed to `{hook}` can't have uninitialized parameters. Make sure to run the "
                         f"dummy forward before applying {kind} normalization")


def _without_shape(cls: type[Tensor], requires_grad: bool, device: Any, dtype: Any) -> Any:
    made: Any = as_subclass(empty(0, device=device, dtype=dtype), cls)
    made.requires_grad_(requires_grad)
    made._stride = (1,)  # they would be worked out from the shape
    made._keys |= UNINITIALIZED
    return made


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[metaclass, misc]
    """A parameter whose shape is not known yet (``torch.nn.UninitializedParameter``)."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _without_shape(cls, requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore
    """A buffer whose shape is not known yet (``torch.nn.UninitializedBuffer``)."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None,
                persistent: bool = True) -> Any:
        made = _without_shape(cls, requires_grad, device, dtype)
        made.persistent, made._is_buffer = persistent, True
        return made
