"""Examples of tensors while a frame is interpreted: fake tensors, which have no data."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._compile import config
from .._dispatch.dispatcher import tensors_of
from .._dispatch.keys import SPARSES
from .._guards import ConstantSource
from .._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from .._tensor import Tensor
from .exc import Break


class Mode:
    """Makes fake tensors of inputs, and runs the calls of the graph on them."""

    def __init__(self) -> None:
        self.fake = FakeTensorMode()
        self.shape_env: Any = None  #: where sizes are symbols

    def input(self, value: Tensor, name: str = "", dynamic: set[int] | None = None) -> Tensor:
        """Return the example of a tensor that exists, with symbols for the sizes of ``dynamic`` dimensions."""
        if value._keys & SPARSES:
            raise Break("a sparse tensor: graphs have strided ones")
        try:
            if not dynamic:
                made: Tensor = self.fake.from_tensor(value, static_shapes=True)
                return made
            from ..fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

            self.start_symbols()
            context = StatelessSymbolicContext(dynamic_sizes=[
                DimDynamic.DYNAMIC if d in dynamic else DimDynamic.STATIC for d in range(value.dim())])
            made = self.fake.from_tensor(value, static_shapes=False, source=ConstantSource(name),
                                         symbolic_context=context)
        except Exception as error:
            raise Break(f"a tensor of which there is no example: {error}") from error
        return made

    def start_symbols(self) -> None:
        """Have numbers that are symbols from here on."""
        if self.shape_env is None:
            from ..fx.experimental.symbolic_shapes import ShapeEnv

            self.shape_env = self.fake.shape_env = ShapeEnv(
                allow_dynamic_output_shape_ops=config.capture_dynamic_output_shape_ops)

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a call on examples. What it raises is a graph break, and raised again when the call itself runs."""
        if config.capture_dynamic_output_shape_ops:
            self.start_symbols()
        try:
            with self.fake:
                result = function(*args, **kwargs)
        except DynamicOutputShapeException as error:
            raise Break(f"Dynamic shape operator: {error}") from error
        except DataDependentOutputException as error:
            raise Break(f"Data dependent operator: {error}") from error
        except Exception as error:
            raise Break(f"RuntimeError when making fake tensor call: {type(error).__name__}: {error}") from error
        if any(tensor._keys & SPARSES for tensor in tensors_of([result])):
            raise Break("a sparse tensor: graphs have strided ones")
        return result


def has_tensors(value: Any) -> bool:
    """Return whether there are tensors in a value."""
    if isinstance(value, (tuple, list)):
        return any(map(has_tensors, value))
    if isinstance(value, dict):
        return any(map(has_tensors, value.values()))
    return isinstance(value, Tensor)
