"""Tensors: nodes of the graph, with an example of the value without data (``torch._dynamo.variables.tensor``)."""
from __future__ import annotations

from typing import Any

from ..._compile import config
from ..._creation.legacy import TypedTensor
from ..._guards import Source
from ..._tensor import Tensor
from ...fx import Node
from ..exc import Break
from .base import (
    BoundBuiltin, Codegen, ConstantVariable, Identity, IteratorVariable, Translator, Variable, gives, no_attribute,
    throw,
)

#: Attributes and methods whose result the example knows.
KNOWN = frozenset(["device", "dtype", "is_complex", "is_cpu", "is_cuda", "is_floating_point", "is_mps", "is_meta",
                   "is_nested", "is_npu", "is_quantized", "is_sparse", "is_xpu", "itemsize", "layout", "nbytes",
                   "ndim", "requires_grad", "shape", "is_contiguous", "dim", "ndimension", "nelement", "numel", "size",
                   "stride", "storage_offset", "element_size", "is_signed", "is_conj", "is_neg", "is_inference",
                   "get_device", "is_same_size", "__len__"])
#: Attributes that are tensors, as operators.
VIEWS = frozenset(["T", "mT", "H", "mH", "real", "imag", "data"])
#: Methods that read data, or state that no graph has.
BREAKS = {
    "item": "Tensor.item() reads data", "tolist": "Tensor.tolist() reads data", "numpy": "Tensor.numpy() leaves the "
    "graph", "backward": "Tensor.backward() runs autograd", "register_hook": "Tensor.register_hook()",
    "retain_grad": "Tensor.retain_grad()", "data_ptr": "Tensor.data_ptr() reads an address", "untyped_storage":
    "Tensor.untyped_storage()", "storage": "Tensor.storage()", "set_": "Tensor.set_()", "share_memory_":
    "Tensor.share_memory_()", "register_post_accumulate_grad_hook": "Tensor.register_post_accumulate_grad_hook()",
    "__array__": "Tensor.__array__()", "is_shared": "Tensor.is_shared()", "resize_": "Tensor.resize_()", "resize_as_":
    "Tensor.resize_as_()",
}

#: Methods that change a tensor's layout. PyTorch, too, runs them outside of a graph on an input.
RELAYOUTS = frozenset(["as_strided_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"])


def has_views(tensor: Tensor) -> bool:
    """Return whether another tensor shares a tensor's memory."""
    return tensor._storage is not None and any(other is not tensor for other in tensor._storage.aliases())


class TensorVariable(Variable):
    """A tensor: the node that computes it, and an example."""

    output: Any = None  #: the graph whose input the tensor becomes, at its first use
    returned: TensorVariable | None = None  #: the input that a call returned, as ``add_`` does, or ``contiguous`` may

    def __init__(self, node: Node | None, example: Any, source: Source | None = None, real: Any = None) -> None:
        self._node, self.example, self.source, self.real = node, example, source, real

    @property
    def origin(self) -> TensorVariable | None:
        """The input that the tensor is, if it is one."""
        return self.returned if self.real is None else self

    @property
    def node(self) -> Node:
        """The node that computes the tensor."""
        if self._node is None:
            self._node = self.output.placeholder(self)
        return self._node

    @property
    def known(self) -> Any:
        """The tensor that answers questions about the layout and the like."""
        return self.example

    def python_type(self) -> type:
        return Tensor if self.real is None else type(self.real)

    def argument(self) -> Any:
        return self.node

    def key(self) -> Any:
        return Identity(self.example)  # which in-place operators return again, as they return the tensor

    def attribute(self, tx: Translator, name: str) -> Variable:
        if name in VIEWS:
            return tx.output.call(tx, "call_function", getattr, [self, ConstantVariable(name)], {})
        if name in KNOWN and not callable(found := getattr(self.known, name)):
            return tx.made(found)
        if name == "is_leaf":
            if self.origin is not None and self.origin.source is not None:
                tx.output.guards.leaf(self.origin.source, self.origin.real)
            return tx.made(self.example.is_leaf)
        if name in ("grad", "_grad") and self.origin is not None and self.origin.source is not None:
            return tx.wrap(self.origin.real.grad, self.origin.source.attribute("grad"))
        if name == "__class__":
            return tx.made(self.python_type())
        if name in ("grad_fn", "grad", "_version", "_base", "output_nr", "_backward_hooks", "names"):
            raise Break(f"Tensor.{name} is state that a graph does not have")
        if gives(Tensor, name):
            return BoundBuiltin(self, name)
        if self.source is not None and name in getattr(self.real, "__dict__", ()):
            return tx.wrap(self.real.__dict__[name], self.source.attribute(name))
        if (found := tx.output.side_effects.read(self, name)) is not None:
            return found
        if self.source is not None:
            tx.output.guards.absent(self.source, self.real, name)
        no_attribute(tx, self, name)

    def set_attribute(self, tx: Translator, name: str, value: Variable) -> None:
        # what the graph saved of its own tensor would not be what uncompiled operators find there in the backward pass
        raise Break(f"Tensor.{name} is set", skip=name == "data" and self.origin is None)

    def method(self, tx: Translator, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if name == "item" and config.capture_scalar_outputs:
            number: Variable = tx.output.item(tx, self)
            return number
        if name in BREAKS:
            raise Break(BREAKS[name])
        if name == "size" and not args and not kwargs:
            return tx.made(self.example.shape)
        if name in KNOWN and all(arg.is_constant for arg in (*args, *kwargs.values())):
            return tx.made(getattr(self.known, name)(*[arg.value for arg in args],
                                                       **{key: arg.value for key, arg in kwargs.items()}))
        if name == "__iter__":
            return self.iterator(tx)
        if name == "requires_grad_":
            wanted = args[0].value if args else kwargs["requires_grad"].value if kwargs else True
            origin = self.origin
            tensor = self.example if origin is None else origin.real
            if wanted is not tensor.requires_grad or (wanted and tensor._base is not None and tensor.is_leaf):
                raise Break("Tensor.requires_grad_() changes a tensor for what follows the graph")
            if wanted and origin is not None and origin.source is not None:
                tx.output.guards.not_a_leaf_view(origin.source)
        if name == "detach_" and self.example.requires_grad and (self.origin is not None or has_views(self.example)):
            raise Break("Tensor.detach_() changes a tensor for what follows the graph")
        if name in RELAYOUTS and self.origin is not None and self.example.requires_grad:
            raise Break(f"Tensor.{name}() changes the layout of an input that requires grad")
        if name in ("new", "type") and not args and not kwargs:
            return tx.made(getattr(self.example, name)())
        if name == "type" and args and issubclass(args[0].python_type(), TypedTensor):
            args = [tx.made(args[0].value.dtype), *args[1:]]
        if name == "__hash__":
            return ConstantVariable(id(self))
        return tx.output.call(tx, "call_method", name, [self, *args], kwargs)

    def truth(self, tx: Translator) -> bool:
        raise Break("Data-dependent branching: the truth of a tensor depends on its data")

    def iterator(self, tx: Translator) -> Variable:
        if not self.example.dim():
            throw(tx, TypeError, "iteration over a 0-d tensor")
        return IteratorVariable(self.items(tx))

    def items(self, tx: Translator) -> list[Variable]:
        if not self.example.dim():
            throw(tx, TypeError, "iteration over a 0-d tensor")
        made = tx.output.call(tx, "call_method", "unbind", [self], {})
        return made.items(tx)

    def reconstruct(self, cg: Codegen) -> str:
        return cg.output(self)

    def __str__(self) -> str:
        return f"the tensor {self.source.name if self.source is not None else self.node.name}"
