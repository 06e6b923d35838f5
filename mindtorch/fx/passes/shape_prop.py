"""Shapes, dtypes and strides of all values of a graph, recorded by running it (``torch.fx.passes.shape_prop``)."""
from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

from ..._base.formats import channels_last, channels_last_3d, contiguous_format, memory_format
from ..._base.size import Size
from ..._dtype import DType
from ..._tensor import Tensor
from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]
__dir__ = __all__.copy


class TensorMetadata(NamedTuple):
    """The facts about a tensor that passes need, in ``node.meta["tensor_meta"]``
    (``torch.fx.passes.shape_prop.TensorMetadata``).
    """

    shape: Size
    dtype: DType
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    formats = (contiguous_format, channels_last, channels_last_3d) if include_contiguity else ()
    layout = next((found for found in formats if result.is_contiguous(memory_format=found)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), layout, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and records the metadata of each value in ``meta["tensor_meta"]``, and its type in ``meta["type"]``
    (``torch.fx.passes.shape_prop.ShapeProp``). With a ``fake_mode``, arguments have no data: only sizes are computed.
    """

    def __init__(self, gm: GraphModule, fake_mode: Any = None):
        super().__init__(gm)
        self.fake_mode = fake_mode

    def run_node(self, n: Node) -> Any:
        """Return the value of a node, and record its metadata.

        Raises:
            RuntimeError: if the node raises, with its error as the cause.
        """
        try:
            with nullcontext() if self.fake_mode is None else self.fake_mode:
                result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found: list[Tensor] = []

        def metadata(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor):
                return leaf
            found.append(leaf)
            return _extract_tensor_metadata(leaf)

        meta = map_aggregate(result, metadata)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def fetch_attr(self, target: str) -> Any:
        """Return an attribute of the module; with a ``fake_mode``, tensors without data."""
        value = super().fetch_attr(target)
        return value if self.fake_mode is None or not isinstance(value, Tensor) else self.fake_mode.from_tensor(value)

    def propagate(self, *args: Any) -> Any:
        """Run the graph for these arguments, and return its result (``torch.fx.passes.shape_prop.ShapeProp``)."""
        if self.fake_mode is not None:
            args = tuple(self.fake_mode.from_tensor(arg) if isinstance(arg, Tensor) else arg for arg in args)
        return super().run(*args)
