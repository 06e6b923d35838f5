"""``torch.utils._python_dispatch``: modes that see every operator, and help for tensor subclasses."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._base.interrupts import contextmanager, leaving
from .._dispatch.dispatcher import set_local, state_of, switched
from .._dispatch.local import local
from .._dispatch.torch_dispatch import dispatches
from .._dispatch.torch_function import check_plain_method
from .._tensor import Tensor
from .._transforms.pytree import tree_leaves


class TorchDispatchMode:
    """A block in which every operator of this thread goes to ``__torch_dispatch__(func, types, args, kwargs)``, below
    autograd (``torch.utils._python_dispatch.TorchDispatchMode``). While the method runs, the mode is not active.
    """

    pre_dispatch: bool = False  #: whether operators come before autograd, autocast and other modes, composites whole

    def __init__(self, _dispatch_key: Any = None):
        pass

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run in place of an operator."""
        raise NotImplementedError

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return True if the mode is a library's machinery; False unless overridden."""
        return False

    def __enter__(self) -> Any:
        check_plain_method(self, "__torch_dispatch__")
        set_local("dispatch_modes", (*local.dispatch_modes, self))
        return self

    @leaving(state_of("dispatch_modes"))
    def __exit__(self, *exc: Any) -> None:
        set_local("dispatch_modes", local.dispatch_modes[:-1])

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchDispatchMode:
        """Return an instance, to be entered."""
        return cls(*args, **kwargs)


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that runs every operator as it is (``torch.utils._python_dispatch.BaseTorchDispatchMode``)."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator."""
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """Return the innermost mode of this thread."""
    return local.dispatch_modes[-1] if local.dispatch_modes else None


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """Return the modes of this thread, the innermost last."""
    return list(local.dispatch_modes)


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[TorchDispatchMode]:
    """Run a block without the innermost mode, which is yielded."""
    modes = local.dispatch_modes
    with switched(dispatch_modes=modes[:-1]):
        yield modes[-1]


@contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """Run a block without modes, which are yielded."""
    modes = local.dispatch_modes
    with switched(dispatch_modes=()):
        yield list(modes)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return True if this thread is in a mode, or in one of the program's (``torch.utils._python_dispatch``)."""
    return any(include_infra_modes or not mode.is_infra_mode() for mode in local.dispatch_modes)


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Return True if a subclass has ``__tensor_flatten__`` (``torch.utils._python_dispatch``)."""
    return (isinstance(t, Tensor) and dispatches(type(t)) and hasattr(t, "__tensor_flatten__")
            and hasattr(t, "__tensor_unflatten__"))


def transform_subclass(t: Any, callback: Any, outer_size: Any = None, outer_stride: Any = None) -> Any:
    """Return the subclass around ``callback(name, tensor)`` of each inner tensor (``torch.utils._python_dispatch``)."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    return type(t).__tensor_unflatten__(inner, context, t.size() if outer_size is None else outer_size,
                                        t.stride() if outer_stride is None else outer_stride)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """Return a ``__torch_dispatch__``'s outputs for an operator: views share their input's storage, and an argument
    written in place is returned itself (``torch.utils._python_dispatch.return_and_correct_aliasing``).
    """
    schema = func._schema
    given = dict(zip((argument.name for argument in schema.arguments), args, strict=False)) | (kwargs or {})
    shared = {argument.name: argument for argument in schema.arguments if argument.alias_info is not None}
    if not func.is_view:
        written = [given[name] for name, argument in shared.items() if argument.is_write and name in given]
        if not schema.returns or schema.returns[0].alias_info is None or not written:
            return out
        return written[0] if len(schema.returns) == 1 else type(out)(written)
    source = given[next(iter(shared))]
    for view in tree_leaves(out):
        if isinstance(view, Tensor) and dispatches(type(view)) and view is not source:
            view._storage = source.untyped_storage()
            view._storage.add_alias(view)
    return out
