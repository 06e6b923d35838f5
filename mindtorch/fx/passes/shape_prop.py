"""Shapes, dtypes and strides of all values of a graph, recorded by running it (``torch.fx.passes.shape_prop``)."""
from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

from ..._base.formats import QSCHEMES, channels_last, channels_last_3d, contiguous_format, memory_format
from ..._base.size import Size
from ..._dispatch.keys import SPARSES
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
    sparse = result._keys & SPARSES
    formats = (contiguous_format, channels_last, channels_last_3d) if include_contiguity and not sparse else ()
    layout = next((found for found in formats if result.is_contiguous(memory_format=found)), None)
    strides, parameters = () if sparse else result.stride(), _parameters(result) if result.is_quantized else {}
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, strides, layout, result.is_quantized,
                          parameters)


def _parameters(quantized: Any) -> dict[str, Any]:
    """Return how the integers of a quantised tensor stand for numbers."""
    scheme = quantized.qscheme()
    if scheme is QSCHEMES["per_tensor_affine"]:
        return {"qscheme": scheme, "scale": quantized.q_scale(), "zero_point": quantized.q_zero_point()}
    return {"qscheme": scheme, "scale": quantized.q_per_channel_scales().tolist(),
            "zero_point": quantized.q_per_channel_zero_points().tolist(), "axis": quantized.q_per_channel_axis()}


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
