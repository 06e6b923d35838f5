"""CPU kernels of products. NumPy passes matrices of any strides to BLAS."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from math import prod
from typing import Any

import numpy as np

from ...._storage import allocate
from ...common.blocks import SMALL, each_block
from ...common.half import convert, converted as as_dtype
from ..precision import is_half, narrowed_both, to_opmath
from ..rows import MOST, Prepared, taking
from . import AT_ONCE, CPU_KERNELS
from .shape import of_one_dtype
from .sums import summed

ndarray = np.ndarray
Product = Callable[[ndarray, ndarray], Any]
dot: Product = ndarray.dot  #: for few elements, in a third of the time of ``matmul``

batched: Product = partial(np.matmul, order="C")


def product_of(left: ndarray, right: ndarray) -> Product:
    """Return ``dot``, or ``matmul`` where one of the arrays is a single number: by that, BLAS's axpy multiplies for
    ``dot``, which takes 0 times infinity or NaN for 0.
    """
    return dot if left.size > 1 < right.size else np.matmul


#: From this many multiplications on, integers are multiplied by BLAS. MULTIPLIED: elements of half precision that NumPy
#: multiplies in less time than it converts them.
MANY, MULTIPLIED = 1 << 14, 1 << 7
#: Elements of a block of rows that stays in the cache; and of arrays for whose products a search for BLAS's calls pays.
STEP, SEARCHED = 1 << 14, 1 << 10


def multiplied(left: ndarray, right: ndarray) -> Any:
    """Multiply matrices. Integers use BLAS in float64 if all sums are exact, since NumPy's integer product is slow;
    ``einsum`` multiplies vectors of them in vectors.
    """
    if left.dtype.kind in "iu" and left.ndim > 1 and left.size * right.shape[-1] >= MANY and right.size:
        if right.ndim == 1:
            return np.einsum("...ij,j->...i", left, right)
        largest = [max(abs(int(x.max())), abs(int(x.min()))) for x in (left, right)]
        if largest[0] * largest[1] * left.shape[-1] <= 1 << 53:
            product = np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64)
            return product.astype(left.dtype, copy=False)
    return np.matmul(left, right)


def are_floats(*arrays: ndarray) -> bool:
    """Return True if all arrays are of one dtype that BLAS multiplies as it is."""
    dtype = arrays[0].dtype
    for array in arrays:
        if array.dtype is not dtype:
            return False
    return dtype.char in "fdFD"


def are_alike(*arrays: ndarray) -> bool:
    """Return True if all arrays are of one dtype in which NumPy multiplies them at once: few integers, too."""
    first, last = arrays[0], arrays[-1]
    if first.dtype.kind not in "iu":
        return are_floats(*arrays)
    return all(array.dtype is first.dtype for array in arrays) and last.ndim > 0 and (
        first.size * last.shape[-1] < MANY > last.size)


def in_floats(prepare: Callable[..., Callable[..., Any] | None]) -> Prepared:
    """Return a function that prepares a product of arrays, computed in float32 if they are of half precision."""
    @wraps(prepare)
    def prepared(*arrays: Any) -> Callable[..., Any] | None:
        narrow = arrays[0].dtype
        if not is_half(arrays[0]) or any(array is not None and array.dtype is not narrow for array in arrays):
            return prepare(*arrays)
        inner = prepare(*map(to_opmath, arrays))
        return inner and (lambda *arrays: as_dtype(np.asarray(inner(*map(to_opmath, arrays))), narrow))

    return Prepared(prepared, len(signature(prepare).parameters))


def widened(product: Callable[[ndarray, ndarray], Any], of_floats: Product | None = None,
            ranks: tuple[int, int] = (0, 0)) -> Prepared:
    """Return the row of a product of two arrays, which computes half precision in float32. NumPy compares the sizes of
    arrays with these numbers of dimensions.
    """
    def prepare(self: ndarray, other: ndarray) -> Product:
        chosen = of_floats if of_floats and self.size > 1 < other.size else product
        if are_floats(self, other):
            return chosen
        if is_half(self) and other.dtype == self.dtype:
            return narrowed_both(chosen, self, other)
        if self.dtype.kind in "iu" and other.dtype is self.dtype:
            return product if not are_alike(self, other) else np.matmul if product is multiplied else chosen
        return lambda self, other: product(to_opmath(self), to_opmath(other))

    def sure(self: ndarray, other: ndarray) -> Product | None:
        return of_floats if are_floats(self, other) and (self.ndim, other.ndim) == ranks and (
            self.size > 1 < other.size) else None

    return Prepared(prepare, 2, sure=of_floats and sure)


def added(self: ndarray, product: ndarray, beta: Any, alpha: Any) -> ndarray:
    """Return ``beta * self + alpha * product``, overwriting the product."""
    if alpha != 1:
        product *= _scalar(alpha, product)
    if beta == 0:  # self is then ignored, even NaN
        return product
    product += self if beta == 1 else self * _scalar(beta, product)
    return product


def _scalar(value: Any, array: ndarray) -> Any:
    """Convert a number to an array's dtype as C does."""
    return np.asarray(value).astype(array.dtype)[()]


def affine(bias: ndarray, left: ndarray, right: ndarray) -> ndarray:
    """Multiply matrices of any strides and add a bias to each column."""
    array: ndarray = product_of(left, right)(left, right)
    return np.add(array, bias, array)


def affine_transposed(bias: ndarray, left: ndarray, right: ndarray) -> ndarray:
    """Compute ``affine`` by the transposed product, and restore the order as the bias is added."""
    return np.add(right.T.dot(left.T.copy()).T, bias, order="C")


def favours_transposed(left: ndarray, right: ndarray) -> bool:
    """Return True for a few rows times a larger transposed matrix, as in ``linear``: OpenBLAS is up to 1.5 times as
    fast in float32 with the matrix as it lies in memory.
    """
    return 16 <= left.shape[0] <= 32 and left.shape[1] >= 64 <= right.shape[1] and right.strides[0] == 4  # of float32


def added_product(self: ndarray, mat1: ndarray, mat2: ndarray, beta: Any = 1, alpha: Any = 1) -> ndarray:
    """Add ``self`` and a product of matrices, of batches of matrices, or of a matrix and a vector."""
    self, mat1, mat2 = map(to_opmath, (self, mat1, mat2))
    return added(self, multiplied(mat1, mat2), beta, alpha)


@partial(Prepared, count=3)
def addmm(self: ndarray, mat1: ndarray, mat2: ndarray, beta: Any = 1, alpha: Any = 1) -> Callable[..., ndarray]:
    """Prepare a product plus ``self``; a bias is added to each column of the product, or a batch to that of a batch."""
    plain = beta == alpha == 1
    if plain and mat1.ndim == mat2.ndim == 2 and self.ndim == 1 and are_floats(self, mat1, mat2):
        return affine_transposed if favours_transposed(mat1, mat2) else affine
    if are_alike(mat1, self, mat2) and mat1.size and mat2.size:
        factor, other = _scalar(alpha, self), _scalar(beta, self)
        multiply = product_of(mat1, mat2) if mat1.ndim == 2 else np.matmul
        if plain:
            return lambda self, left, right: np.add(product := multiply(left, right), self, product)

        def scaled(self: ndarray, left: ndarray, right: ndarray) -> ndarray:
            product = multiply(left, right)
            product *= factor
            return product if beta == 0 else np.add(product, self * other, product)  # 0 ignores even NaN

        return scaled
    if not mat1.shape[-1] and beta != 0 and (is_half(self) or self.dtype.char in "fd") and (
            self.shape == (*mat1.shape[:-1], *mat2.shape[mat2.ndim - 1:][:mat1.ndim - 1])):
        return lambda self, mat1, mat2: as_dtype(to_opmath(self) * beta, self.dtype)
    return lambda self, mat1, mat2: added_product(self, mat1, mat2, beta, alpha)


@partial(Prepared, count=3)
def addbmm(self: ndarray, batch1: ndarray, batch2: ndarray, beta: Any = 1, alpha: Any = 1) -> Callable[..., ndarray]:
    """Prepare the sum of a batch of products; others are added one after the other, each sum rounded to the dtype, as
    in ATen.
    """
    if are_alike(batch1, self, batch2) and len(batch1):
        return lambda self, batch1, batch2: added(
            self, np.add.reduce(np.matmul(batch1, batch2), 0, batch1.dtype), beta, alpha)
    shape = batch1.shape[1], batch2.shape[2]

    def one_by_one(self: ndarray, batch1: ndarray, batch2: ndarray) -> ndarray:
        factor = beta
        for mat1, mat2 in zip(batch1, batch2, strict=True):
            self, factor = added_product(self, mat1, mat2, factor, alpha).astype(self.dtype), 1
        return np.broadcast_to(self if len(batch1) else added(self, np.zeros(shape, self.dtype), factor, 1), shape)

    return one_by_one


@partial(Prepared, count=3)
def addr(self: ndarray, vec1: ndarray, vec2: ndarray, beta: Any = 1, alpha: Any = 1) -> Callable[..., ndarray]:
    """Prepare the product of two vectors plus ``self``: many elements by blocks of rows, or of columns if these lie in
    memory; half precision in float32, with each step rounded.
    """
    dtype, size = self.dtype, vec1.size * vec2.size
    if beta == 0 or dtype.kind not in "biufcV" or not vec1.dtype is vec2.dtype is dtype:
        return lambda self, vec1, vec2: added_outer(self, vec1, vec2, beta, alpha)
    factor, other = (None if value == 1 else np.asarray(value).astype(dtype) for value in (alpha, beta))
    turned = self.ndim == 2 and not self.flags.c_contiguous and self.T.flags.c_contiguous
    is_wide = is_half(self) and size > MULTIPLIED

    def added(self: ndarray, column: ndarray, row: ndarray, out: Any = None) -> ndarray:
        product = np.multiply(column[:, None], row, out)
        return np.add(product, self if other is None else self * other, product)

    def wide(x: Any) -> Any:
        return as_dtype(x, np.dtype(np.float32))

    def added_halves(self: ndarray, column: ndarray, row: ndarray, out: ndarray) -> None:
        product = wide(as_dtype(wide(column)[:, None] * wide(row), dtype))
        scaled = wide(self) if other is None else wide(as_dtype(wide(self) * wide(other), dtype))
        convert(np.add(product, scaled, product), out)

    def run(self: ndarray, vec1: ndarray, vec2: ndarray) -> ndarray:
        first = vec1 if factor is None else vec1 * factor
        column, row, self = (vec2, first, self.T) if turned else (first, vec2, self)
        if not is_wide and size < SMALL:
            out = added(self, column, row)
        else:
            out = allocate((column.size, row.size), dtype)
            self = np.broadcast_to(self, out.shape)
            work = added_halves if is_wide else added
            each_block(lambda at: work(self[at], column[at], row, out[at]), len(out), max(1, STEP // row.size), size)
        return out.T if turned else out

    return run


def added_outer(self: ndarray, vec1: ndarray, vec2: ndarray, beta: Any, alpha: Any) -> ndarray:
    """Add ``self`` and the product of two vectors, of any dtypes."""
    self, vec1, vec2 = of_one_dtype([self, vec1, vec2])
    product = np.multiply.outer(vec1 if alpha == 1 else vec1 * _scalar(alpha, vec1), vec2)
    return added(np.broadcast_to(self, product.shape), product, beta, 1)


def cross(a: ndarray, b: ndarray, dim: int = -1) -> ndarray:
    if a.shape != b.shape:
        a, b = np.broadcast_arrays(a, b)
    before: Any = (slice(None),) * (dim % a.ndim)
    (a0, a1, a2), (b0, b1, b2) = ([x[(*before, i)] for i in range(3)] for x in (a, b))
    out = np.empty(a.shape, np.result_type(a, b))
    for i, (first, second, third, fourth) in enumerate(
            ((a1, b2, a2, b1), (a2, b0, a0, b2), (a0, b1, a1, b0))):
        np.subtract(first * second, third * fourth, out[(*before, i, ...)])
    return out


def crossing(a: ndarray, b: ndarray, dim: int = -1) -> Product | None:
    """Prepare ``linalg_cross`` of small arrays: the plan keeps the places of the factors."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    if a.dtype != b.dtype or not 0 < prod(shape) <= MOST:
        return None
    whole = [np.broadcast_to(np.arange(x.size).reshape(x.shape), shape) for x in (a, b)]
    first, second = (np.stack([np.roll(places, shift, dim) for shift in shifts])
                     for places, shifts in zip(whole, ((-1, -2), (-2, -1)), strict=True))
    return lambda a, b: np.subtract(*np.multiply(a.take(first), b.take(second)))


def trilinear(i1: ndarray, i2: ndarray, i3: ndarray, expand1: Any, expand2: Any, expand3: Any, sumdim: Any,
              unroll_dim: int = 1) -> ndarray:
    """Sum the product of three arrays over ``sumdim``; ``expand`` lists the broadcast dimensions of each."""
    dims = range(i1.ndim + len(expand1))
    first, second, third = ([d for d in dims if d not in expand] for expand in (expand1, expand2, expand3))
    both = [d for d in dims if (d in first or d in second) and not (d in sumdim and d in expand3)]
    many = max(i1.size, i2.size, i3.size) > SEARCHED
    product = np.einsum(to_opmath(i1), first, to_opmath(i2), second, both, optimize=many).astype(i1.dtype)
    rest = [d for d in dims if d not in sumdim]
    return np.einsum(to_opmath(product), both, to_opmath(i3), third, rest, optimize=many)


def weight_norm_interface(v: ndarray, g: ndarray, dim: int = 0) -> tuple[ndarray, ndarray]:
    norms = np.sqrt(np.square(v).sum(tuple(d for d in range(v.ndim) if d != dim), keepdims=True)).reshape(g.shape)
    return v * (g / norms), norms


# -- composites ------------------------------------------------------------------------------------------------------

def linear(input: ndarray, weight: ndarray, bias: ndarray | None = None) -> Callable[..., ndarray] | None:
    """Prepare a product of matrices with a transposed weight, and a bias for each column, as in ``addmm``. An input of
    more dimensions is a matrix of the rows along the last one.
    """
    if not are_floats(input, weight) or not input.ndim or weight.ndim != 2 or input.shape[-1] != weight.shape[1] or (
            bias is not None and (bias.dtype is not input.dtype or bias.ndim != 1)):
        return None
    matrix, shape = (prod(input.shape[:-1]), input.shape[-1]), (*input.shape[:-1], len(weight))
    multiply = product_of(input, weight)
    if bias is None and input.ndim <= 2:
        return lambda input, weight, bias=None: multiply(input, weight.T)
    if bias is None:
        return lambda input, weight, bias=None: multiply(input.reshape(matrix), weight.T).reshape(shape)
    product = affine_transposed if favours_transposed(input.reshape(matrix), weight.T) else affine
    if input.ndim <= 2:
        return lambda input, weight, bias: product(bias, input, weight.T)
    return lambda input, weight, bias: product(bias, input.reshape(matrix), weight.T).reshape(shape)


def matmul(left: ndarray, right: ndarray) -> Product | None:
    """Prepare one product with a matrix or vector, or a batched product, of arrays of any strides: of one matrix with
    each of a batch, or of two batches of one size.
    """
    if not left.ndim or not right.ndim or not are_alike(left, right) or not left.size or not right.size:
        return None
    if right.ndim > 2:
        alike = left.ndim == right.ndim and left.shape[:-2] == right.shape[:-2]
        return batched if alike or left.ndim == 2 else None
    multiply = product_of(left, right)
    if left.ndim <= 2:
        return multiply
    last, shape = left.shape[-1], left.shape[:-1] + right.shape[1:]
    return lambda left, right: multiply(left.reshape(-1, last), right).reshape(shape)


def inner(left: ndarray, right: ndarray) -> Product | None:
    """Prepare a product over the last dimensions."""
    if not left.ndim or not right.ndim or left.shape[-1] != right.shape[-1] or not left.size or not right.size:
        return None
    if not (are_alike(left, right.T) or (left.ndim == right.ndim == 1 and are_alike(left, right[:1]))):
        return None
    count, shape, multiply = right.shape[-1], left.shape[:-1] + right.shape[:-1], product_of(left, right)
    return lambda left, right: multiply(left.reshape(-1, count), right.reshape(-1, count).T).reshape(shape)


def linalg_vecdot(x: ndarray, y: ndarray, dim: int = -1) -> Product | None:
    """Prepare the products of vectors along a dimension, which are rounded before they are summed."""
    half = is_half(x)
    if x.shape != y.shape or x.dtype is not y.dtype or not x.size or not (half or are_floats(x)) or (
            not -x.ndim <= dim < x.ndim):
        return None
    if x.ndim == 1:
        run: Product = CPU_KERNELS["vdot"].prepare(x, y)
        return run
    add: Any = summed.prepare(np.multiply(x, y), (dim,))
    if x.dtype.kind == "c":
        return lambda x, y: add(np.multiply(np.conj(x), y))
    return lambda x, y: add(np.multiply(x, y))


def times(left: ndarray, right: ndarray, size: int) -> Product | None:
    """Return the function that multiplies arrays of one dtype, which broadcast to so many elements that are not large;
    None for other arrays. Half precision is multiplied in float32, in which its products are exact.
    """
    dtype = left.dtype
    if right.dtype is not dtype or not 0 < size < SMALL:
        return None
    if size <= MULTIPLIED or not is_half(left):
        return np.multiply
    return lambda left, right: as_dtype(np.multiply(to_opmath(left), to_opmath(right)), dtype)


def kron(left: ndarray, right: ndarray) -> Product | None:
    """Prepare the product of each element with all of another array of as many dimensions."""
    if (multiply := times(left, right, left.size * right.size)) is None or left.ndim != right.ndim:
        return None
    first, second = (tuple([n for size in x.shape for n in pair(size)])
                     for x, pair in ((left, lambda size: (size, 1)), (right, lambda size: (1, size))))
    shape = tuple([n * m for n, m in zip(left.shape, right.shape, strict=True)])
    return lambda left, right: multiply(left.reshape(first), right.reshape(second)).reshape(shape)


def outer(left: ndarray, right: ndarray) -> Product | None:
    """Prepare all products of the elements of two vectors."""
    if (multiply := times(left, right, left.size * right.size)) is None or left.ndim != 1 or right.ndim != 1:
        return None
    return lambda left, right: multiply(left[:, None], right)


def linalg_vander(x: ndarray, N: int | None = None) -> Callable[[ndarray], ndarray] | None:
    """Prepare the powers of small arrays of numbers that are not converted."""
    if x.dtype.char not in "fdl" or not x.ndim or not 0 < x.size <= MOST:
        return None
    shape = (*x.shape, x.shape[-1] if N is None else N)

    def run(x: ndarray) -> ndarray:
        out = np.empty(shape, x.dtype)
        out[..., 0] = 1
        out[..., 1:] = x[..., None]
        return np.multiply.accumulate(out, -1, out=out)

    return run


def vander(x: ndarray, N: int | None = None, increasing: bool = False) -> Callable[[ndarray], ndarray] | None:
    """Prepare the powers of a small vector, of which the last one is 1 unless they are ``increasing``."""
    powers = linalg_vander(x, N)
    if powers is None or x.ndim != 1 or (N is not None and N < 1):
        return None
    return powers if increasing else lambda x: np.ascontiguousarray(powers(x)[:, ::-1])


AT_ONCE.add(in_floats(linear), in_floats(matmul), kron, linalg_vander, linalg_vecdot, outer, vander)
AT_ONCE["inner"] = taking(2)(in_floats(inner).prepare)  # its first calls tell that the result is a view
AT_ONCE["ger"] = outer
CPU_KERNELS.add(addmm, addr, addbmm)
CPU_KERNELS.update({
    "mm": widened(multiplied, dot, (2, 2)),
    "bmm": widened(multiplied),
    "mv": widened(multiplied, dot, (2, 1)),
    "dot": widened(np.matmul, dot, (1, 1)),
    "vdot": widened(np.vdot),
    "addmv": addmm,
    "baddbmm": addmm,
    "linalg_cross": Prepared(crossing, 2, cross),
    "_trilinear": trilinear,
    "_weight_norm_interface": weight_norm_interface,
})
