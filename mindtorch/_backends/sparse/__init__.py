"""Kernels of sparse tensors, on every device: they compute by dense operators on the parts (``_tensor/sparse.py``).

``coo`` has the rows of the layout ``sparse_coo`` (the dispatch key Sparse), ``compressed`` those of the others
(SparseCsr), by operator. A row takes an operator's arguments outside the graph. In-place and ``out=`` forms follow from
it. What has no row is computed by the operator's composite, if there is one, or else refused as by PyTorch.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from ..._base.backend import Backend, by_key
from ..._dispatch.dispatcher import outside_graph, registry, resolve
from ..._dispatch.keys import AUTOGRAD, BACKENDS, SPARSE, SPARSE_CSR, SPARSES, kernels_key
from ..._dispatch.registry import Kernel, Operator
from ..._tensor.sparse import become
from ..common.casts import check_cast
from ..common.inplace_and_out import write_out

Row = Callable[..., Any]
ROWS: dict[int, dict[str, Row]] = {SPARSE: {}, SPARSE_CSR: {}}
#: Operators whose in-place forms ask for coordinates that are coalesced.
COALESCED: set[str] = set()
#: The modules that have the rows.
FAMILIES = ("parts", "coordinates", "compressing", "pointwise", "products", "reduction", "shape")


def _adding(*keys: int) -> Callable[[str], Callable[[Row], Row]]:
    def names(names: str) -> Callable[[Row], Row]:
        def add(function: Row) -> Row:
            for key in keys:
                ROWS[key].update(dict.fromkeys(names.split(), function))
            return function

        return add

    return names


#: Decorators that make a function the row of operators, named by words in a string.
coo, compressed, sparse = _adding(SPARSE), _adding(SPARSE_CSR), _adding(SPARSE, SPARSE_CSR)


@cache
def _load() -> None:
    for family in FAMILIES:
        import_module(f".{family}", __name__)


class SparseBackend(Backend):
    """The kernels of a sparse layout, whatever the device."""

    def __init__(self, name: str, key: int):
        self.name, self.key = name, key

    def kernel(self, op: Operator) -> Kernel | None:
        _load()
        rows = ROWS[self.key]
        row = rows.get(op.name)
        if row is not None:
            return Kernel(row if op.is_inplace or op.is_out else outside_graph(row), row)
        functional = op.functional
        origin = None if functional is None else rows.get(functional.name)
        if origin is None and op.is_out:  # another name of an operator with a row
            origin = registry.composites.get(functional.name)  # type: ignore[union-attr]
        if functional is None or origin is None:
            return None
        return Kernel(_in_place(functional) if op.is_inplace else _out(op, functional), origin)


def _below_autograd(op: Operator) -> Callable[..., Any]:
    """Return an operator's function below autograd, for tensors outside the graph."""

    def call(*args: Any) -> Any:
        keys = 0
        for arg in args:
            keys |= getattr(arg, "_keys", 0)
        keys &= BACKENDS | SPARSES
        return (op.table.get(keys) or resolve(op, keys))(*args)

    return outside_graph(call)


def _in_place(functional: Operator) -> Callable[..., Any]:
    compute = _below_autograd(functional)

    def call(self: Any, *args: Any) -> Any:
        if functional.name in COALESCED and self.is_sparse and not self._sparse.coalesced:
            raise RuntimeError(f"{functional.packet}_ requires coalesced input")
        result = compute(self, *args)
        if result.shape != self.shape:
            raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape "
                               f"{list(result.shape)}")
        if not self._keys & SPARSES:
            kernel = registry["copy_"].kernel(kernels_key(self._keys))
            assert kernel is not None
            kernel.fn(self, result)
            return self
        return _written(functional, self, result)

    return call


def _out(op: Operator, functional: Operator) -> Callable[..., Any]:
    compute = _below_autograd(functional)

    def call(*args: Any) -> Any:
        *inputs, out = args
        return _written(op, out, compute(*inputs))

    return call


def _written(op: Operator, target: Any, result: Any) -> Any:
    """Put a result into a tensor, converted to its dtype."""
    if result is target or (result._keys & target._keys & SPARSES and result._sparse is target._sparse):
        return target
    if not target._keys & SPARSES:
        keys = target._keys
        target._keys = keys & ~AUTOGRAD
        try:
            return write_out(op, result if not result._keys & SPARSES else result.to_dense(), target)
        finally:
            target._keys = keys
    if not result._keys & SPARSES:
        raise RuntimeError(f"{op.packet}: a dense result cannot be written into a tensor of the layout {target.layout}")
    if result._dtype is not target._dtype:
        check_cast(result._dtype, target._dtype)
        result = result.to(target._dtype)
    return become(target, result)


for _name, _key in (("Sparse", SPARSE), ("SparseCsr", SPARSE_CSR)):
    by_key[_key] = SparseBackend(_name, _key)
