"""Products of tensors in terms of products of vectors and matrices."""
from __future__ import annotations

import warnings
from itertools import pairwise
from math import prod
from typing import Any

from .._backends.common.matrices import check_same_dtype, check_square
from .._base.errors import NAMES, check
from .._base.layout import broadcast_shapes, wrap_dim, wrap_dims
from .._creation import empty, eye, ones
from .._dispatch.aten import (
    _trilinear as trilinear, _unsafe_view, _weight_norm_interface, addmm, bmm, cat, dot, linalg_cross,
    linalg_inv as inverse, mm, mv, t, vdot,
)
from .._dispatch.dispatcher import is_unseen
from .._dispatch.keys import AUTOGRAD, NONCONTIGUOUS
from .._dtype import FLOATING, bool_, int64, promote_types
from . import COMPOSITES

Ints = tuple[int, ...]


# -- linear maps ---------------------------------------------------------------------------------------------

def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``torch.nn.functional.linear``: ``input @ weight.T + bias`` over the last dimension."""
    ndim = input.ndim
    if ndim == 2:
        return mm(input, t(weight)) if bias is None else addmm(bias, input, t(weight))
    check(ndim and weight.ndim,
          lambda: f"both arguments to linear need to be at least 1D, but they are {ndim}D and {weight.ndim}D")
    if bias is not None and not input._keys & NONCONTIGUOUS:
        rows = input.view((-1, input.shape[-1]))
        return addmm(bias, rows, t(weight)).view((*input.shape[:-1], weight.shape[0]))
    product = input.matmul(t(weight))
    return product if bias is None else product.add_(bias)


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """``torch.nn.functional.bilinear``: ``input1 @ weight[k] @ input2 + bias[k]`` for each k."""
    operands = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    dtypes = {name: operand.dtype for name, operand in operands.items() if operand is not None}
    check(len({*dtypes.values()}) == 1, lambda: "All tensors must have the same dtype, got "
          + ", ".join(f"{name}: {dtype}" for name, dtype in dtypes.items()))
    check(input1.ndim == input2.ndim,
          lambda: f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for d, (size1, size2) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if size1 != size2:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {d}: got {size1} and {size2}")
    for name, given, d in (("input1", input1.size(-1), 1), ("input2", input2.size(-1), 2)):
        if given != weight.size(d):
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {given} but expected "
                               f"{weight.size(d)}")
    outputs, size1, size2 = weight.shape
    if bias is not None:
        check(bias.size(0) == outputs,
              lambda: f"bilinear(): bias size does not match weight size: got {bias.size(0)} but expected {outputs}")
    rows1, rows2 = input1.reshape((-1, size1)), input2.reshape((-1, size2))
    out = trilinear(rows1, weight, rows2, (1, 3), (0,), (1, 2), (2, 3), 1)
    out = out.reshape((*input1.shape[:-1], outputs))
    return out if bias is None else out + bias


# -- matmul --------------------------------------------------------------------------------------------------

def matmul(self: Any, other: Any) -> Any:
    """``torch.matmul``: by ``dot``, ``mv`` or ``mm`` where it can be, with batch dimensions folded; else by ``bmm``."""
    ndim, other_ndim = self.ndim, other.ndim
    check(ndim and other_ndim, lambda: f"both arguments to matmul need to be at least 1D, but they are {ndim}D and "
          f"{other_ndim}D", kind="no dimensions")
    if ndim == 2 and other_ndim == 2:
        return mm(self, other)
    if ndim == 1 and other_ndim == 1:
        return dot(self, other)
    if ndim == 2 and other_ndim == 1:
        return mv(self, other)
    if ndim == 1 and other_ndim == 2:
        return mm(self.unsqueeze(0), other).squeeze_(0)
    if _folds(self, other):
        return _folded(self, other)
    return _batched(self, other)


def _folds(self: Any, other: Any) -> bool:
    """Whether a batch times one matrix or vector is computed as one product of matrices: if it needs no
    copy, or saves the gradient of the one matrix from being made for the whole batch first.
    """
    swapped = other.ndim > self.ndim
    many, one = (other, self) if swapped else (self, other)
    if many.ndim < 3 or one.ndim > 2:
        return False
    if one._keys & AUTOGRAD:
        return True
    if self.ndim == 2:
        return False
    shape, stride = list(many.shape), list(many._strides())
    if swapped:
        shape[-2:], stride[-2:] = shape[:-3:-1], stride[:-3:-1]
    return 0 in shape or all(stride[d] == stride[d + 1] * shape[d + 1] for d in range(len(shape) - 2))


def _folded(self: Any, other: Any) -> Any:
    swapped = other.ndim > self.ndim
    many, one = (other.mT, t(self) if self.ndim == 2 else self) if swapped else (self, other)
    batch = tuple(many.shape[:-1])
    rows = many.reshape((prod(batch), many.shape[-1]))
    if one.ndim == 1:
        return _unsafe_view(mv(rows, one), batch)
    out = _unsafe_view(mm(rows, one), (*batch, one.shape[1]))
    return out.mT.contiguous() if swapped else out


def _batched(self: Any, other: Any) -> Any:
    if self.ndim == other.ndim == 3 and self.shape[0] == other.shape[0] and is_unseen(self, other):
        return bmm(self, other)  # of which nobody sees that it is not made of views
    if self.ndim == other.ndim == 3 and self.shape[0] != other.shape[0]:
        if self.shape[0] == 1 and self._keys & AUTOGRAD:
            return matmul(self.squeeze(0), other)
        if other.shape[0] == 1 and other._keys & AUTOGRAD:
            return matmul(self, other.squeeze(0))
    rows = tuple(self.shape[-2:]) if self.ndim > 1 else (1, *self.shape)
    columns = tuple(other.shape[-2:])
    batch = broadcast_shapes(self.shape[:-2], other.shape[:-2])
    left = self.expand((*batch, *rows)).reshape((prod(batch), *rows))
    right = other.expand((*batch, *columns)).reshape((prod(batch), *columns))
    shape = batch + rows[:-1] * (self.ndim > 1) + columns[1:]
    if other.ndim > 1:
        return _unsafe_view(bmm(left, right), shape)
    return _unsafe_view(bmm(left, right.unsqueeze(2)).squeeze(-1), shape)


# -- sums of products ----------------------------------------------------------------------------------------

def inner(self: Any, other: Any) -> Any:
    """``torch.inner``: products over the last dimensions of both."""
    if not self.ndim or not other.ndim:
        return self * other
    check(self.shape[-1] == other.shape[-1], lambda: "inner() the last dimension must match on both input tensors but "
          f"got shapes {list(self.shape)} and {list(other.shape)}")
    return tensordot(self, other, (-1,), (-1,))


def outer(self: Any, vec2: Any) -> Any:
    """``torch.outer``: all products of the elements of two vectors."""
    for name, vector in (("self", self), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D")
    return self.reshape((self.shape[0], 1)) * vec2


def linalg_vecdot(x: Any, y: Any, dim: int = -1) -> Any:
    """``torch.linalg.vecdot``: ``sum(conj(x) * y)`` over a dimension."""
    for name, value in (("x", x), ("y", y)):
        if value._dtype.category < FLOATING:
            raise RuntimeError("linalg.vecdot: Expected a floating point or complex tensor as input. Got "
                               f"{NAMES[value._dtype.name]} for {name}")
    check_same_dtype("linalg.vecdot", x, y, ("x", "y"))
    if x.ndim == y.ndim == 1:
        return vdot(x, y)
    return ((x.conj() if x.is_complex() else x) * y).sum((dim,))


def tensordot(self: Any, other: Any, dims_self: Ints, dims_other: Ints) -> Any:
    """``torch.tensordot``: products over these dimensions of both, as one product of matrices."""
    check(len(dims_self) == len(dims_other),
          lambda: f"both dimension lists should have same length, got {list(dims_self)} and {list(dims_other)}")
    check(self._dtype is other._dtype,
          lambda: f"both inputs should have same dtype, got {self.dtype} and {other.dtype}")
    left, right, size = self, other, 1
    for d, e in zip(dims_self, dims_other, strict=True):
        n, m = self.size(d), other.size(e)
        if m == 1:
            left = left.sum(d, keepdim=True, dtype=left.dtype)
        elif n == 1:
            right = right.sum(e, keepdim=True, dtype=right.dtype)
        else:
            if n != m:
                raise RuntimeError(f"contracted dimensions need to match, but first has size {n} in dim {d} and second "
                                   f"has size {m} in dim {e}")
            size *= n
    wrap_dims(dims_self, self.ndim)  # raises for one that is repeated
    wrap_dims(dims_other, other.ndim)
    inside = tuple(wrap_dim(d, self.ndim) for d in dims_self)
    other_inside = tuple(wrap_dim(d, other.ndim) for d in dims_other)
    outside = tuple(d for d in range(self.ndim) if d not in inside)
    other_outside = tuple(d for d in range(other.ndim) if d not in other_inside)
    shape = (*(left.shape[d] for d in outside), *(right.shape[d] for d in other_outside))
    left, right = left.permute(outside + inside), right.permute(other_inside + other_outside)
    if not shape:
        return _full_contraction(left, right, size)
    rows, columns = prod(shape[:len(outside)]), prod(shape[len(outside):])
    return mm(left.reshape((rows, size)), right.reshape((size, columns))).reshape(shape)


def _full_contraction(left: Any, right: Any, size: int) -> Any:
    if left.ndim == 1 and right.ndim == 1:
        return dot(left, right).view(())
    return (left.squeeze() * right.squeeze()).sum().reshape(())


def kron(self: Any, other: Any) -> Any:
    """``torch.kron``: each element of ``self`` times all of ``other``, side by side."""
    ndim = max(self.ndim, other.ndim)
    a, b = ((1,) * (ndim - x.ndim) + tuple(x.shape) for x in (self, other))
    left = _unsafe_view(self, tuple(n for size in a for n in (size, 1)))
    right = _unsafe_view(other, tuple(n for size in b for n in (1, size)))
    return _unsafe_view(left * right, tuple(n * m for n, m in zip(a, b, strict=True)))


def cross(self: Any, other: Any, dim: int | None = None) -> Any:
    """``torch.cross``: over ``dim``, or the first dimension of size 3."""
    if dim is None:
        warnings.warn("Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass "
                      "the dim explicitly or simply use torch.linalg.cross.\nThe default value of dim will "
                      "change to agree with that of linalg.cross in a future release.", stacklevel=2)
        dim = next((d for d, n in enumerate(self.shape) if n == 3), None)
        check(dim is not None, lambda: f"no dimension of size 3 in input, got shape {list(self.shape)}")
    return linalg_cross(self, other, dim)


# -- chains and powers ---------------------------------------------------------------------------------------

def linalg_multi_dot(tensors: list[Any]) -> Any:
    """``torch.linalg.multi_dot``: the product of matrices in the cheapest order; the first and last may be vectors."""
    count = len(tensors)
    check(count >= 2, lambda: f"multi_dot(): expected at least 2 tensors but got {count}")
    first, *middle, last = tensors
    for i, (name, x) in enumerate((("first", first), ("last", last))):
        if x.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {x.ndim}D (tensor "
                               f"{i * (count - 1)})")
    for i, x in enumerate(middle, 1):
        if x.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {x.ndim}D")
    shape = (*first.shape[:-1], *last.shape[1:])
    matrices = [first.unsqueeze(0) if first.ndim == 1 else first, *middle,
                last.unsqueeze(-1) if last.ndim == 1 else last]
    for i, (a, b) in enumerate(pairwise(matrices)):
        if a._dtype is not b._dtype:
            raise RuntimeError(f"multi_dot(): all tensors must have be the same dtype but tensor {i} is {a.dtype} and "
                               f"tensor {i + 1} {b.dtype}")
        if a._device != b._device:
            raise RuntimeError(f"multi_dot(): all tensors must be on the same device but tensor {i} is on {a.device} "
                               f"and tensor {i + 1} on {b.device}")
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(f"multi_dot(): tensors {i} and {i + 1} with shapes {list(tensors[i].shape)} and "
                               f"{list(tensors[i + 1].shape)} cannot be multiplied")
    if count == 2:
        return mm(*matrices).view(shape)
    if count == 3:
        return _product_of_three(*matrices).view(shape)
    split = _cheapest_order([x.shape[0] for x in matrices] + [matrices[-1].shape[1]])
    return _chain(matrices, split, 0, count - 1).view(shape)


def _product_of_three(a: Any, b: Any, c: Any) -> Any:
    (n, k), (m, p) = a.shape, c.shape
    left_first, right_first = (n * m) * (k + p), (k * p) * (n + m)
    return mm(mm(a, b), c) if left_first <= right_first else mm(a, mm(b, c))


def _cheapest_order(sizes: list[int]) -> dict[tuple[int, int], int]:
    """For each stretch (i, j) of a chain, after which matrix to split it (Cormen et al., 15.2)."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], split[i, j] = min((cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                                          for k in range(i, j))
    return split


def _chain(matrices: list[Any], split: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return matrices[i]
    return mm(_chain(matrices, split, i, split[i, j]), _chain(matrices, split, split[i, j] + 1, j))


def chain_matmul(matrices: list[Any]) -> Any:
    """``torch.chain_matmul``: the product of matrices in the cheapest order."""
    for i, x in enumerate(matrices):
        if x.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {x.ndim}, expected 2 instead (argument {i} of chain_matmul)")
    check(matrices, "chain_matmul(): Expected one or more matrices")
    return matrices[0].clone() if len(matrices) == 1 else linalg_multi_dot(matrices)


def linalg_matrix_power(self: Any, n: int) -> Any:
    """``torch.linalg.matrix_power``: a product of ``n`` of these matrices, or of their inverses, by squaring."""
    check_square("linalg.matrix_power", self)
    if n == 0:
        unit = eye(self.shape[-1], dtype=self.dtype, device=self.device).expand(tuple(self.shape))
        return self.clone(memory_format="contiguous_format").copy_(unit)
    if n == 1:
        return self.clone(memory_format="contiguous_format")
    base = inverse(self) if n < 0 else self
    n = abs(n)
    if n == 3:
        return matmul(matmul(base, base), base)
    result = None
    while n:
        if n % 2:
            result = base if result is None else matmul(result, base)
        n //= 2
        if n:
            base = matmul(base, base)
    return result


# -- powers of numbers ---------------------------------------------------------------------------------------

def linalg_vander(x: Any, N: int | None = None) -> Any:
    """``torch.linalg.vander``: rows of the powers 0 to N - 1 of each element."""
    check(x._dtype is not bool_ and x._dtype.name not in ("float16", "bfloat16"), lambda: "linalg.vander supports "
          f"floating point, complex, and integer tensors, but got {NAMES[x._dtype.name]}")
    n = x.size(-1) if N is None else N
    check(n > 1, lambda: f"N must be greater than 1, got {n}")
    x = x if x.ndim else x.unsqueeze(0)
    powers = x.unsqueeze(-1).expand((*x.shape, n - 1)).cumprod(-1)
    return cat([ones((*x.shape, 1), dtype=powers.dtype, device=x.device), powers], -1)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """``torch.vander``: rows of the powers N - 1 to 0 of each element of a vector."""
    check(x.ndim == 1, lambda: f"x must be a one-dimensional tensor, got {x.ndim}-D")
    n = x.shape[0] if N is None else N
    check(n >= 0, lambda: f"N must be non-negative, got {n}")
    powers = empty(x.shape[0], n, dtype=promote_types(x._dtype, int64), device=x.device)
    if n:
        powers.select(1, 0).fill_(1)
    if n > 1:
        powers.narrow(1, 1, n - 1).copy_(x.unsqueeze(1))
        powers.narrow(1, 1, n - 1).copy_(powers.narrow(1, 1, n - 1).cumprod(1))
    return powers if increasing else powers.flip((1,))


# -- directions and lengths ------------------------------------------------------------------------------------

def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """The norms of order ``pow`` over all dimensions but ``dim``; over all if it is -1."""
    if dim == -1:
        return v.norm(pow)
    if dim == 0:
        return v.contiguous().view((v.size(0), -1)).norm(pow, 1).view((v.size(0), *[1] * (v.ndim - 1)))
    if dim == v.ndim - 1:
        return v.contiguous().view((-1, v.size(-1))).norm(pow, 0).view((*[1] * (v.ndim - 1), v.size(-1)))
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


def _weight_norm(v: Any, g: Any, dim: int = 0) -> Any:
    check(v.device == g.device,
          lambda: f"weight_norm: expected v and g to be on the same device, but v is on {v.device} and g on {g.device}")
    if dim in (0, v.ndim - 1) and v._dtype.itemsize != 2:
        return _weight_norm_interface(v.contiguous(), g.contiguous(), dim)[0]
    return v * (g / norm_except_dim(v, 2, dim))


COMPOSITES.add(norm_except_dim, _weight_norm)
COMPOSITES.add(linear, bilinear, matmul, inner, outer, kron, cross, linalg_vecdot, tensordot, linalg_multi_dot,
               chain_matmul, linalg_matrix_power, linalg_vander, vander)
COMPOSITES.update({"linalg_matmul": matmul, "ger": outer, "matrix_power": linalg_matrix_power})
