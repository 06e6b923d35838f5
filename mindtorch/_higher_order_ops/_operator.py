"""``HigherOrderOperator``: an operator among whose arguments are functions (``torch._ops.HigherOrderOperator``)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.formats import contiguous_format
from .._dispatch.dispatcher import switched
from .._dispatch.local import local
from .._dispatch.overloads import ops
from .._subclasses.fake_class import FakeTensor
from .._subclasses.fake_tensor import FakeTensorMode
from .._tensor import Tensor
from .._transforms.pytree import tree_flatten, tree_leaves, tree_map

#: Record an operator's call in a trace, by the type of the mode; ``tracing`` puts one here.
RECORDERS: dict[type, Callable[..., Any]] = {}


class GraphOperator:
    """An operator of ``torch.ops.higher_order`` that applies a function of the library to graphs."""

    def __init__(self, name: str, eager: Callable[..., Any]) -> None:
        self._name = self.__name__ = self.__qualname__ = name
        self.__module__ = "torch.ops.higher_order"
        self.namespace, self._eager = "higher_order", eager
        setattr(ops.higher_order, name, self)

    def name(self) -> str:
        """Return the operator's name."""
        return self._name

    def __str__(self) -> str:
        return self._name

    __repr__ = __str__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply the operator."""
        return self._eager(*args, **kwargs)


def called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function, for operators that only keep a call whole."""
    return function(*args, **kwargs)


class HigherOrderOperator(GraphOperator):
    """An operator whose functions eager code calls, and a trace records as graphs of their own."""

    recorded: Any = None  #: the autograd ``Function`` of the operands, where AOTAutograd traces gradients

    def __init__(self, name: str, eager: Callable[..., Any], fake: Callable[..., Any],
                 bodies: Callable[..., dict[int, Any]], labels: dict[int, str], further: int,
                 data_choose: bool = False) -> None:
        """``bodies(*args)`` returns example arguments for the functions, by their positions; ``labels`` are the names
        of their graphs; ``further`` is the position of the operands that all functions take last. If ``data_choose``,
        values decide which functions run, or how often, so that AOTAutograd keeps the operator in its graph.
        """
        super().__init__(name, eager)
        self._fake = fake
        self.bodies, self.labels, self.further, self.data_choose = bodies, labels, further, data_choose

    def __call__(self, *args: Any) -> Any:
        """Run the operator: the innermost mode that knows it records it or computes its shape, or it runs eagerly."""
        modes = local.dispatch_modes
        recorder = RECORDERS.get(type(modes[-1])) if modes else None
        if recorder is not None:
            with switched(dispatch_modes=modes[:-1]):
                return recorder(modes[-1], self, args)
        fakes = [leaf for leaf in tree_leaves(args) if isinstance(leaf, FakeTensor)]
        if fakes or (modes and isinstance(modes[-1], FakeTensorMode)):
            with fakes[0].fake_mode if fakes else modes[-1]:
                return self._fake(*args)
        return self._eager(*args)


def shown(value: Any) -> list[Any]:
    """Return the shapes, dtypes and devices of the tensors in a value, as errors show them."""
    return [(list(leaf.shape), str(leaf.dtype), str(leaf.device)) if isinstance(leaf, Tensor) else type(leaf).__name__
            for leaf in tree_leaves(value)]


def check_same(what: str, first: Any, second: Any) -> None:
    """Raise RuntimeError unless two values have the same structure, and tensors of the same shapes and dtypes."""
    if tree_flatten(first)[1] != tree_flatten(second)[1] or shown(first) != shown(second):
        raise RuntimeError(f"{what}, but got {shown(first)} and {shown(second)}.")


def on_fakes(function: Callable[..., Any], args: Any) -> Any:
    """Return a function's results of fake tensors in place of its arguments; nothing is recorded or written."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    fakes = tree_map(lambda leaf: mode.from_tensor(leaf) if isinstance(leaf, Tensor) else leaf, args)
    with switched(dispatch_modes=()), mode:
        return function(*fakes)


def repeated(x: Tensor, length: Any) -> Tensor:
    """Return a tensor for a stack of as many slices like ``x``, which requires grad if ``x`` does."""
    return x.expand((length, *x.shape)).clone(memory_format=contiguous_format)
