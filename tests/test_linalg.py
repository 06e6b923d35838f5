"""Linear algebra and Fourier transforms: graphs, layouts, errors and derivatives, beside what `tests/parity`
compares.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch
from mindtorch._backends.cpu.ops import fft
from tests.both import assert_same_outcome
from tests.support import Outcome, assert_same, error_differences, torch

Lib = Any
LIBS = (mindtorch, torch)


def numbers(lib: Lib, *shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    """Draw the same normal numbers in both libraries."""
    values = np.random.RandomState(seed).standard_normal((*shape, 2))
    values = values[..., 0] + 1j * values[..., 1] if dtype.startswith("complex") else values[..., 0]
    return lib.tensor(values.tolist(), dtype=getattr(lib, dtype))


def leaf(lib: Lib, *shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    return numbers(lib, *shape, dtype=dtype, seed=seed).requires_grad_()


def graph(node: Any, depth: int = 8) -> Any:
    """Return the names of a node and of those below it."""
    if node is None or depth == 0:
        return None
    return (node.name().rpartition("::")[2], *(graph(below, depth - 1) for below, _ in node.next_functions))


# -- products ------------------------------------------------------------------------------------------------

R = leaf
GRAPHS: dict[str, Callable[[Lib], Any]] = {
    "vector @ vector": lambda lib: R(lib, 3) @ R(lib, 3),
    "matrix @ vector": lambda lib: R(lib, 2, 3) @ R(lib, 3),
    "vector @ matrix": lambda lib: R(lib, 3) @ R(lib, 3, 2),
    "batch @ vector": lambda lib: R(lib, 5, 2, 3) @ R(lib, 3),
    "batch @ matrix": lambda lib: R(lib, 5, 2, 3) @ R(lib, 3, 4),
    "batch @ constant matrix": lambda lib: R(lib, 5, 2, 3) @ numbers(lib, 3, 4),
    "strided batch @ constant matrix": lambda lib: R(lib, 5, 3, 2).mT @ numbers(lib, 3, 4),
    "matrix @ batch": lambda lib: R(lib, 2, 3) @ R(lib, 5, 3, 4),
    "constant matrix @ batch": lambda lib: numbers(lib, 2, 3) @ R(lib, 5, 3, 4),
    "vector @ batch": lambda lib: R(lib, 3) @ R(lib, 5, 3, 4),
    "batch @ batch": lambda lib: R(lib, 5, 2, 3) @ R(lib, 5, 3, 4),
    "batch of 1 @ batch": lambda lib: R(lib, 1, 2, 3) @ R(lib, 5, 3, 4),
    "batch @ batch of 1": lambda lib: R(lib, 5, 2, 3) @ R(lib, 1, 3, 4),
    "batches @ batch": lambda lib: R(lib, 6, 1, 2, 3) @ R(lib, 5, 3, 4),
    "inner": lambda lib: lib.inner(R(lib, 2, 3), R(lib, 4, 3)),
    "inner of vectors": lambda lib: lib.inner(R(lib, 3), R(lib, 3)),
    "outer": lambda lib: lib.outer(R(lib, 2), R(lib, 3)),
    "kron": lambda lib: lib.kron(R(lib, 2, 2), R(lib, 3)),
    "tensordot": lambda lib: lib.tensordot(R(lib, 2, 3, 1), R(lib, 4, 3, 2), ([1, 2], [1, 0])),
    "tensordot over all": lambda lib: lib.tensordot(R(lib, 2, 3), R(lib, 3, 2), ([0, 1], [1, 0])),
    "vecdot": lambda lib: lib.linalg.vecdot(R(lib, 2, 3), R(lib, 3)),
    "cross": lambda lib: lib.linalg.cross(R(lib, 2, 3), R(lib, 1, 3)),
    "matrix_power": lambda lib: lib.linalg.matrix_power(R(lib, 3, 3), 6),
    "matrix_power 0": lambda lib: lib.linalg.matrix_power(R(lib, 3, 3), 0),
    "multi_dot": lambda lib: lib.linalg.multi_dot([R(lib, 10, 3), R(lib, 3, 40), R(lib, 40, 5), R(lib, 5)]),
    "bilinear": lambda lib: lib.nn.functional.bilinear(R(lib, 5, 2), R(lib, 5, 3), R(lib, 4, 2, 3),
                                                       R(lib, 4)),
    "vander": lambda lib: lib.vander(R(lib, 3)),
    "einsum": lambda lib: lib.einsum("bij,bjk->ik", R(lib, 2, 3, 4), R(lib, 2, 4, 5)),
    "solve": lambda lib: lib.linalg.solve(R(lib, 3, 3), R(lib, 3)),
    "inv": lambda lib: lib.linalg.inv(R(lib, 3, 3)),
    "logdet": lambda lib: lib.logdet(R(lib, 3, 3)),
    "cond": lambda lib: lib.linalg.cond(R(lib, 3, 3), 1),
    "nuclear norm": lambda lib: lib.linalg.matrix_norm(R(lib, 2, 3, 3), "nuc", dim=(0, 1), keepdim=True),
    "spectral norm": lambda lib: lib.linalg.norm(R(lib, 3, 3), 2),
    "svd": lambda lib: lib.svd(R(lib, 3, 2)).V,
    "tensorsolve": lambda lib: lib.linalg.tensorsolve(R(lib, 2, 6, 3), R(lib, 6), dims=(0, 2)),
    "ihfftn": lambda lib: lib.fft.ihfftn(R(lib, 3, 4)),
    "fftn": lambda lib: lib.fft.fftn(R(lib, 3, 4), s=(2, 6)),
}


@pytest.mark.parametrize("call", GRAPHS.values(), ids=GRAPHS)
def test_graphs_and_layouts_are_pytorchs(call: Callable[[Lib], Any]) -> None:
    ours, theirs = (call(lib) for lib in LIBS)
    assert graph(ours.grad_fn) == graph(theirs.grad_fn)
    assert_same(ours, theirs)


#: An equation and the shapes of what it is of.
OPERANDS = {
    "ij,jk->ik": [(2, 3), (3, 4)], "ij,jk->ki": [(2, 3), (3, 4)], "ij,kj": [(2, 3), (4, 3)], "bij,bjk->bik":
    [(5, 2, 3), (5, 3, 4)], "bhqd,bhkd->bhqk": [(2, 3, 4, 5), (2, 3, 6, 5)], "bqhd,bkhd->bhqk": [(2, 4, 3, 5),
    (2, 6, 3, 5)], "...ij,...jk": [(2, 1, 2, 3), (3, 3, 4)], "ij,ij->": [(2, 3), (2, 3)], "i,j->ij": [(2,), (3,)],
    "bij,bkj->bki": [(1, 2, 3), (5, 4, 3)], "aij,jk->ak": [(2, 3, 4), (4, 5)], "iij,jk->ik": [(2, 2, 3), (3, 4)],
    "jb,bkj->bk": [(3, 5), (5, 4, 3)], "ab,bc,cd->ad": [(2, 3), (3, 4), (4, 5)],
}


@pytest.mark.parametrize("equation", OPERANDS)
@pytest.mark.parametrize("swapped", [False, True])
def test_einsum_makes_the_same_tensor_whether_it_is_recorded_or_not(equation: str, swapped: bool) -> None:
    def operands(lib: Lib, requires_grad: bool) -> list[Any]:
        lib.manual_seed(0)
        found = [numbers(lib, *shape).requires_grad_(requires_grad) for shape in OPERANDS[equation]]
        return [x.mT.contiguous().mT if swapped and x.ndim > 1 else x for x in found]

    theirs, ours, recorded = [lib.einsum(equation, *operands(lib, grad))
                              for lib, grad in zip((LIBS[1], LIBS[0], LIBS[0]), (False, False, True), strict=True)]
    assert_same(ours, theirs)
    assert_same(recorded.detach(), theirs)
    assert ours._is_view() == recorded._is_view() and ours.storage_offset() == recorded.storage_offset()
    assert (ours._base is None) or ours._base.shape == recorded._base.shape


@pytest.mark.parametrize(("device", "requires_grad", "is_one_product"), [
    ("cpu", False, True), ("cpu", True, False), ("meta", False, False)])
def test_an_equation_of_two_factors_is_one_product_where_only_its_values_are_observed(
        device: str, requires_grad: bool, is_one_product: bool) -> None:
    factors = [LIBS[0].ones(shape, device=device, requires_grad=requires_grad) for shape in OPERANDS["ij,jk->ik"]]
    with LIBS[0].observe() as trace:
        LIBS[0].einsum("ij,jk->ik", *factors)
    assert ("unsqueeze" not in [event.op for event in trace.events]) is is_one_product


@pytest.mark.parametrize(("equation", "wrong"), [("ij,jk->ik", [(2, 3), (4, 5)]), ("ij,jk->ik", [(2, 3), (3,)]),
                                                 ("ij,jk->iz", [(2, 3), (3, 4)]), ("ij->i", [(2, 3), (3, 4)])])
def test_an_equation_that_does_not_fit_is_refused_each_time(equation: str, wrong: list[tuple[int, ...]]) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"einsum\(\)"):
            LIBS[0].einsum(equation, *[LIBS[0].ones(shape) for shape in wrong])


@pytest.mark.parametrize("equation", [
    ". . .ij,jk->. . .ik", ".. .ij,jk->...ik", "...ij,jk->. ..ik", "i.j,jk->ik", "..ij,jk->ik", "....ij,jk->ik",
    "...i...j,jk->ik", "...i.j,jk->ik", "... ij,jk", "ij... ,...jk", " i j , j k -> i k ", "...ij,jk->ik..",
    "...ij,jk->...ik...", "ij,jk->ik-", "ij,jk- >ik", "ij,jk->ik->ik", "ij,jk->\tik", "ij,jk,", "ij", "", "ij,jk->i,k",
    "i-j,jk->ik", "ij,j1",
])
def test_an_equation_may_have_spaces_but_not_in_an_ellipsis_or_an_arrow(equation: str) -> None:
    assert_same_outcome(lambda t: t.einsum(equation, t.ones(2, 3), t.ones(3, 4)))


@pytest.mark.parametrize("equation, shapes", [
    ("aa", [(2, 3)]), ("aa", [(1, 3)]), ("aa", [(3, 1)]), ("aab,b", [(2, 3, 4), (4,)]), ("ab,bb", [(2, 3), (3, 4)]),
    ("ab,bb", [(2, 3), (1, 1)]), ("ab,bb", [(2, 3), (4, 4)]), ("aa...", [(2, 3, 4)]), ("ab->cc", [(2, 3)]),
    ("ab->aab", [(2, 3)]), ("ab->acac", [(2, 3)]), ("...,...", [(2,), (2, 3)]), ("...a,a...", [(2, 3), (3, 4)]),
    ("a...,a...->...", [(2, 3), (2, 2)]), ("...,...", [(2, 1), (2, 3)]),
])
def test_a_subscript_that_is_repeated_has_one_size_and_is_in_the_output_once(equation: str, shapes: Any) -> None:
    assert_same_outcome(lambda t: t.einsum(equation, *[t.ones(shape) for shape in shapes]).shape)


SHAPES: list[tuple[int, ...]] = [(), (3,), (1,), (0,), (3, 3), (2, 3), (3, 0), (4, 3, 3), (1, 3, 3),
                                 (2, 4, 2, 3), (4, 0, 3)]
PRODUCTS: dict[str, Callable[[Lib, Any, Any], Any]] = {
    "matmul": lambda lib, a, b: a @ b, "inner": lambda lib, a, b: lib.inner(a, b), "dot": lambda lib, a, b: a.dot(b),
    "mv": lambda lib, a, b: a.mv(b), "tensordot": lambda lib, a, b: lib.tensordot(a, b, 1),
    "tensordot of two": lambda lib, a, b: lib.tensordot(a, b, 2),
    "tensordot of named": lambda lib, a, b: lib.tensordot(a, b, ([1], [0])),
    "cross": lambda lib, a, b: lib.linalg.cross(a, b), "cross of lines": lambda lib, a, b: lib.cross(a, b, dim=0),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_have_pytorchs_values_and_layouts_or_are_refused(name: str) -> None:
    def attempt(lib: Lib, shapes: Any, dtypes: Any) -> Any:
        try:
            return PRODUCTS[name](lib, *(numbers(lib, *shape, dtype=dtype, seed=i)
                                         for i, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))))
        except (IndexError, RuntimeError) as error:
            return type(error)

    for shapes in itertools.product(SHAPES, repeat=2):
        for dtypes in (("float64", "float64"), ("float32", "float32"), ("float32", "float64"), ("complex64",) * 2):
            ours, theirs = attempt(mindtorch, shapes, dtypes), attempt(torch, shapes, dtypes)
            if isinstance(theirs, type):
                assert ours is theirs, (shapes, dtypes, ours)
            else:
                assert_same(ours, theirs)


NAN = float("nan")
#: Matrices with NaN, in places where LAPACK's libraries differ.
BROKEN: list[Any] = [
    [[1, 2], [NAN, 3]], [[NAN, 1], [3, 2]], [[1, NAN], [2, 3]], [[1, 2, 3], [NAN, 5, 6], [9, 8, 7]],
    [[NAN, 0, 0], [0, 0, 0], [0, 0, 1]], [[0, 0], [0, NAN]], [[0, 0, 0], [NAN, 0, 0], [0, 0, 1]], [[NAN, NAN]] * 2,
    [[[1, 0], [0, 1]], [[NAN, 1], [3, 2]]], [[4, 0], [0, NAN]],
]


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)], ids=str)
def test_singular_values_of_a_matrix_with_an_infinity_are_nan_at_each_call(shape) -> None:
    for times in range(4):
        x = mindtorch.ones(shape)
        if times == 3:
            x[..., 0, 0] = mindtorch.inf  # for which LAPACK does not return
        values, (u, also, _) = mindtorch.linalg.svdvals(x), mindtorch.linalg.svd(x)
        assert values.isnan().all() == also.isnan().all() == (times == 3)
        assert u.isfinite().all()


@pytest.mark.parametrize("matrix", BROKEN, ids=str)
@pytest.mark.parametrize("name", ["lu_factor_ex", "lu", "inv", "inv_ex", "det", "cholesky", "svdvals", "svd", "pinv",
                                  "matrix_rank", "solve"])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_a_matrix_with_nan_is_factored_or_refused_as_by_pytorch(name: str, matrix: Any, dtype: str) -> None:
    def call(t: Any) -> Any:
        x = t.tensor(matrix, dtype=getattr(t, dtype))
        more = (t.ones(x.shape[-1], 1, dtype=x.dtype),) if name == "solve" else ()
        return getattr(t.linalg, name)(x, *more)

    assert_same_outcome(lambda t: repr(call(t)).replace("_LinAlg", "LinAlg"))


@pytest.mark.parametrize("matrix", BROKEN, ids=str)
def test_least_squares_of_a_matrix_with_nan_are_refused_and_end(matrix: Any) -> None:
    x = mindtorch.tensor(matrix, dtype=mindtorch.float32)
    with pytest.raises(RuntimeError, match=r"torch\.linalg\.lstsq: .*The input matrix contains NaNs"):
        mindtorch.linalg.lstsq(x, mindtorch.ones(*x.shape[:-1], 1))


def test_the_status_of_cholesky_names_the_first_nan_of_the_diagonal() -> None:
    for matrix in BROKEN:
        statuses = [lib.linalg.cholesky_ex(lib.tensor(matrix, dtype=lib.float32)).info for lib in LIBS]
        assert_same(*statuses)


def test_integers_are_multiplied_exactly() -> None:
    for lib in LIBS:
        a = lib.tensor([[2**40 + 1, 3], [5, -7]])
        assert (a @ a).tolist() == [[(2**40 + 1) ** 2 % 2**64 + 15, 3 * (2**40 + 1) - 21],
                                    [5 * (2**40 + 1) - 35, 64]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32", "complex64"])
@pytest.mark.parametrize("scales", [(1, 1), (3, 2), (0, 1), (-2, 0)])
def test_later_products_without_columns_and_of_two_vectors_are_added_as_by_pytorch(dtype, scales) -> None:
    def program(lib: Lib) -> list[Any]:
        def made(*shape: int) -> Any:
            values = np.random.RandomState(len(shape)).randint(-4, 5, shape)
            return lib.tensor(values.tolist(), dtype=getattr(lib, dtype)).reshape(shape)

        beta, alpha = scales
        calls = [*[(lib.addmm, made(*shape), made(4, 0), made(0, 5)) for shape in ((4, 5), (5,))],
                 (lib.addmv, made(4), made(4, 0), made(0)), (lib.baddbmm, made(2, 4, 5), made(2, 4, 0), made(2, 0, 5)),
                 *[(lib.addr, made(*shape), made(4), made(5)) for shape in ((4, 5), (5,), ())]]
        return [call(*given, beta=beta, alpha=alpha) for call, *given in calls for _ in range(3)]

    for mine, theirs in zip(program(mindtorch), program(torch), strict=True):
        assert_same(mine, theirs)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int32"])
@pytest.mark.parametrize("scales", [(1, 1), (3, 2), (0, 1)])
def test_many_products_of_two_vectors_are_added_by_blocks_with_each_step_rounded(dtype: str, scales: Any) -> None:
    def program(lib: Lib) -> list[Any]:
        def made(*shape: int) -> Any:
            return (numbers(lib, *shape, seed=len(shape)) * 9).to(getattr(lib, dtype))

        beta, alpha = scales
        return [lib.addr(given, made(300), made(310), beta=beta, alpha=alpha)
                for given in (made(300, 310), made(310, 300).t(), made(310), made(300, 620)[:, ::2]) for _ in range(3)]

    for mine, theirs in zip(program(mindtorch), program(torch), strict=True):
        assert_same(mine, theirs)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_summed_in_single(dtype: str) -> None:
    results = []
    for lib in LIBS:
        ones = lib.ones(1, 5000, dtype=getattr(lib, dtype))
        results.append((ones @ ones.mT).item())
    assert results[0] == results[1]
    assert abs(results[0] - 5000) < 20  # summed in half precision it would stay at 2048, or at 256


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ii->i", (3, 3)), ("ii", (3, 3)),
    ("ij->ji", (3, 2)),
    ("ij->", (3, 2)), ("i,j->ij", (3,), (2,)), ("i,i->", (3,), (3,)),
    ("ij,jk,kl->il", (3, 2), (2, 4), (4, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)), ("bn,anm,bm->ba", (2, 3), (5, 3, 4), (2, 4)),
    ("i...->...", (3, 2, 4)),
    ("ijk,ilm,njm,nlk->", (2, 3, 4), (2, 5, 6), (7, 3, 6), (7, 5, 4)), ("a b , b c -> c a", (2, 3), (3, 4)),
    ("iij,j->i", (3, 3, 2), (2,)), ("ij,ij->ij", (2, 3), (2, 3)), ("ij,j", (1, 3), (1,)),
    ("ab...,b...", (2, 3, 4), (3, 4)),
]


@pytest.mark.parametrize("equation, shapes", [(equation, shapes) for equation, *shapes in EQUATIONS])
def test_einsum_contracts_as_pytorch(equation: str, shapes: list[tuple[int, ...]]) -> None:
    ours, theirs = (lib.einsum(equation, *(numbers(lib, *shape, seed=i) for i, shape in enumerate(shapes)))
                    for lib in LIBS)
    assert_same(ours, theirs)


def test_einsum_takes_lists_of_dimensions() -> None:
    ours, theirs = (lib.einsum(numbers(lib, 2, 3), [0, ..., 1], numbers(lib, 3, 4), [1, 30], [30, 0])
                    for lib in LIBS)
    assert_same(ours, theirs)


# -- factorizations ------------------------------------------------------------------------------------------

FACTORIZATIONS: dict[str, Callable[[Lib, Any], Any]] = {
    "lu": lambda lib, a: lib.linalg.lu(a), "lu_factor": lambda lib, a: lib.linalg.lu_factor(a),
    "qr": lambda lib, a: lib.linalg.qr(a), "qr complete": lambda lib, a: lib.linalg.qr(a, mode="complete"),
    "qr r": lambda lib, a: lib.linalg.qr(a, mode="r"), "svdvals": lambda lib, a: lib.linalg.svdvals(a),
    "geqrf": lambda lib, a: lib.geqrf(a), "pinv": lambda lib, a: lib.linalg.pinv(a),
    "matrix_rank": lambda lib, a: lib.linalg.matrix_rank(a),
    "lstsq": lambda lib, a: lib.linalg.lstsq(a, a).solution,
}


@pytest.mark.parametrize("call", FACTORIZATIONS.values(), ids=FACTORIZATIONS)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (3, 4), (0, 3), (3, 0), (2, 0, 3, 3)], ids=str)
def test_factorizations_have_pytorchs_layouts(call: Callable[[Lib, Any], Any],
                                              shape: tuple[int, ...]) -> None:
    ours, theirs = (Outcome.of(call, lib, numbers(lib, *shape)) for lib in LIBS)
    assert not list(error_differences(ours, theirs))
    if theirs.error is None:
        assert_same(ours.value, theirs.value)
        fields = getattr(theirs.value, "__match_args__", ())
        assert all(hasattr(ours.value, field) for field in fields)


def test_a_failed_factorization_says_where() -> None:
    for lib in LIBS:
        batch = lib.stack([lib.eye(2), lib.zeros(2, 2)])
        for call, words in ((lib.linalg.inv, "singular"), (lib.linalg.cholesky, "not positive-definite"),
                            (lambda a, lib=lib: lib.linalg.solve(a, lib.ones(2, 1)), "singular")):
            with pytest.raises(lib.linalg.LinAlgError, match=rf"\(Batch element 1\).*{words}"):
                call(batch)
        assert lib.linalg.inv_ex(batch).info.tolist() == [0, 1]
        assert issubclass(lib.linalg.LinAlgError, RuntimeError)


def test_triangular_systems_are_solved_in_the_place_of_their_right_side() -> None:
    def solve(lib: Lib) -> Any:
        out = numbers(lib, 2, 3, 4)
        triangles = numbers(lib, 3, 3).triu().expand(2, 3, 3)
        assert lib.linalg.solve_triangular(triangles, out, upper=True, out=out) is out
        return out.tolist()

    np.testing.assert_allclose(solve(mindtorch), solve(torch), rtol=1e-12)


@pytest.mark.parametrize("driver", ["gelsd", "gelss"])
@pytest.mark.parametrize("rcond", [None, 0.7, 1.0, 2.0])
def test_least_squares_leave_out_what_the_driver_takes_for_zero(driver: str, rcond: float | None) -> None:
    ours, theirs = ([x.tolist() for x in lib.linalg.lstsq(lib.tensor([[0.5, 0], [0, 0.25], [0, 0]]), lib.ones(3, 1),
                                                          rcond=rcond, driver=driver)] for lib in LIBS)
    assert ours == theirs


ERRORS: list[Callable[[Lib], Any]] = [
    lambda lib: lib.ones(2, 3) @ lib.ones(2, 3), lambda lib: lib.ones(()) @ lib.ones(3),
    lambda lib: lib.ones(3) @ lib.ones(4),
    lambda lib: lib.ones(2, 3) @ lib.ones(3, 2).double(),
    lambda lib: lib.ones(2, 2).bool() @ lib.ones(2, 2).bool(),
    lambda lib: lib.ones(5, 2, 3) @ lib.ones(4, 3, 4), lambda lib: lib.mm(lib.ones(3), lib.ones(3, 3)),
    lambda lib: lib.mv(lib.ones(2, 3), lib.ones(2)), lambda lib: lib.dot(lib.ones(3), lib.ones(3).int()),
    lambda lib: lib.bmm(lib.ones(2, 3), lib.ones(2, 3, 4)),
    lambda lib: lib.addmm(lib.ones(5), lib.ones(2, 3), lib.ones(3, 4)),
    lambda lib: lib.addmv(lib.ones(5), lib.ones(2, 3), lib.ones(3)),
    lambda lib: lib.addr(lib.ones(2, 3), lib.ones(2, 1), lib.ones(3)),
    lambda lib: lib.addr(lib.ones(2, 3).int(), lib.ones(2).int(), lib.ones(3).int(), alpha=0.5),
    lambda lib: lib.baddbmm(lib.ones(5), lib.ones(2, 2, 3), lib.ones(2, 3, 4)),
    lambda lib: lib.outer(lib.ones(2, 2), lib.ones(2)),
    lambda lib: lib.kron(lib.ones(2, 2).t(), lib.ones(3, 3)),
    lambda lib: lib.tensordot(lib.ones(2, 3), lib.ones(3), -1),
    lambda lib: lib.tensordot(lib.ones(2, 3), lib.ones(2, 3), 1),
    lambda lib: lib.linalg.cross(lib.ones(2, 4), lib.ones(2, 4)),
    lambda lib: lib.linalg.multi_dot([lib.ones(2, 3)]),
    lambda lib: lib.linalg.matrix_power(lib.ones(2, 3), 2),
    lambda lib: lib.einsum("ij,jk->ik", lib.ones(2, 3)), lambda lib: lib.einsum("ij->ik", lib.ones(2, 3)),
    lambda lib: lib.einsum("i1->i", lib.ones(2, 3)),
    lambda lib: lib.einsum("ij,j", lib.ones(2, 3), lib.ones(4)),
    lambda lib: lib.einsum("ijk", lib.ones(2, 3)), lambda lib: lib.einsum("ij->ii", lib.ones(2, 3)),
    lambda lib: lib.einsum("i"), lambda lib: lib.einsum("", []),
    lambda lib: lib.linalg.inv(lib.ones(2, 3)), lambda lib: lib.linalg.inv(lib.ones(3)),
    lambda lib: lib.linalg.inv(lib.ones(2, 2).int()),
    lambda lib: lib.linalg.inv(lib.zeros(2, 2)), lambda lib: lib.linalg.inv(lib.ones(2, 2).half()),
    lambda lib: lib.linalg.solve(lib.eye(3), lib.ones(2)),
    lambda lib: lib.linalg.solve(lib.eye(3), lib.ones(3).double()),
    lambda lib: lib.linalg.cholesky(-lib.eye(3)), lambda lib: lib.linalg.eigh(lib.eye(3), UPLO="X"),
    lambda lib: lib.linalg.svd(lib.full((3, 3), float("nan"))),
    lambda lib: lib.linalg.eig(lib.full((3, 3), float("nan"))),
    lambda lib: lib.linalg.eigh(lib.full((3, 3), float("nan"))),
    lambda lib: lib.linalg.qr(lib.eye(3), mode="bad"),
    lambda lib: lib.linalg.lu_factor(lib.zeros(3, 3)), lambda lib: lib.linalg.lu(lib.eye(3), pivot=False),
    lambda lib: lib.linalg.cond(lib.eye(3), 7), lambda lib: lib.linalg.matrix_norm(lib.eye(3), 3),
    lambda lib: lib.linalg.norm(lib.ones(2, 2, 2), 2), lambda lib: lib.linalg.matrix_norm(lib.eye(3), 1 + 2j),
    lambda lib: lib.linalg.lu_solve(lib.eye(2), lib.tensor([0, 2], dtype=lib.int32), lib.eye(2)),
    lambda lib: lib.linalg.lu_solve(lib.eye(2), lib.tensor([1, 9], dtype=lib.int32), lib.eye(2), left=False),
    lambda lib: lib.lu_unpack(lib.eye(2), lib.tensor([0, 2], dtype=lib.int32)),
    lambda lib: lib.lu_unpack(lib.eye(2), lib.tensor([1, 3], dtype=lib.int32)),
    lambda lib: lib.linalg.lstsq(lib.eye(3), lib.eye(3), driver="bad"),
    lambda lib: lib.linalg.svd(lib.eye(3), driver="gesvd"), lambda lib: lib.linalg.tensorinv(lib.ones(2, 3)),
    lambda lib: lib.linalg.qr(lib.ones(3, 2, requires_grad=True), mode="complete").R.sum().backward(),
    lambda lib: lib.linalg.svd(numbers(lib, 3, 3,
                                       dtype="complex64").requires_grad_()).U.sum().abs().backward(),
    lambda lib: lib.fft.fft(lib.ones(3).half()), lambda lib: lib.fft.fft(lib.ones(())),
    lambda lib: lib.fft.fft(lib.ones(3), n=0),
    lambda lib: lib.fft.rfft(lib.ones(3, dtype=lib.complex64)),
    lambda lib: lib.fft.fft(lib.ones(3), norm="bad"),
    lambda lib: lib.fft.fftn(lib.ones(3, 3), dim=(0, 0)),
    lambda lib: lib.fft.fftn(lib.ones(3, 3), s=(2,), dim=(0, 1)),
    lambda lib: lib.fft.irfft(lib.ones(3, 1)), lambda lib: lib.fft.fftfreq(5, dtype=lib.int64),
]


@pytest.mark.parametrize("call", ERRORS, ids=range(len(ERRORS)))
def test_what_pytorch_refuses_is_refused(call: Callable[[Lib], Any]) -> None:
    ours, theirs = Outcome.of(call, mindtorch), Outcome.of(call, torch)
    assert theirs.error is not None
    assert not list(error_differences(ours, theirs))


# -- derivatives of derivatives ------------------------------------------------------------------------------

T = mindtorch
L = mindtorch.linalg
PIVOTS = [2, 3, 3]


def hermitian(a: Any) -> Any:
    return a + a.mH


def positive(a: Any) -> Any:
    return a @ a.mH + T.eye(a.shape[-1], dtype=a.dtype)


def lower(a: Any) -> Any:
    return a.tril() + 3 * T.eye(a.shape[-1], dtype=a.dtype)


def sizes(parts: Any) -> Any:
    """Absolute values: what does not depend on signs and phases."""
    return tuple(part.abs() for part in parts)


def lu_solved(left: bool, adjoint: bool) -> Callable[..., Any]:
    return lambda a, b: L.lu_solve(a, T.tensor(PIVOTS, dtype=T.int32), b, left=left, adjoint=adjoint)


# One row a derivative: the function, and the shapes of its inputs.
DERIVATIVES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "addmm": (lambda a, b, c: T.addmm(a, b, c, beta=0.5, alpha=2), ((2,), (2, 3), (3, 2))),
    "addmv": (lambda a, b, c: T.addmv(a, b, c, beta=0.5, alpha=2), ((2,), (2, 3), (3,))),
    "addr": (lambda a, b, c: T.addr(a, b, c, beta=0.5, alpha=2), ((2, 3), (2,), (3,))),
    "addbmm": (lambda a, b, c: T.addbmm(a, b, c, beta=0.5, alpha=2), ((2, 2), (2, 2, 3), (2, 3, 2))),
    "baddbmm": (lambda a, b, c: T.baddbmm(a, b, c, beta=0.5, alpha=2), ((2, 2), (2, 2, 3), (2, 3, 2))),
    "dot": (T.dot, ((3,), (3,))),
    "vdot": (T.vdot, ((3,), (3,))),
    "mv": (T.mv, ((2, 3), (3,))),
    "cross": (L.cross, ((2, 3), (1, 3))),
    "bilinear": (T.bilinear, ((2, 2), (2, 3), (2, 2, 3), (2,))),
    "inv": (L.inv, ((3, 3),)),
    "det": (L.det, ((2, 3, 3),)),
    "slogdet": (lambda a: L.slogdet(a).logabsdet, ((3, 3),)),
    "solve": (L.solve, ((3, 3), (3, 2))),
    "solve vectors": (L.solve, ((2, 3, 3), (2, 3))),
    "solve from the right": (lambda a, b: L.solve(a, b, left=False), ((3, 3), (2, 3))),
    "solve_triangular": (lambda a, b: L.solve_triangular(lower(a), b, upper=False), ((3, 3), (3, 2))),
    "solve_triangular from the right": (
        lambda a, b: L.solve_triangular(lower(a).mT, b, upper=True, left=False, unitriangular=True),
        ((3, 3), (2, 3))),
    "triangular_solve": (lambda b, a: T.triangular_solve(b, lower(a), upper=False, transpose=True).solution,
                         ((3, 2), (3, 3))),
    "cholesky": (lambda a: L.cholesky(positive(a)), ((3, 3),)),
    "cholesky upper": (lambda a: L.cholesky(positive(a), upper=True), ((3, 3),)),
    "cholesky_solve": (lambda b, a: T.cholesky_solve(b, lower(a)), ((3, 2), (3, 3))),
    "cholesky_inverse": (lambda a: T.cholesky_inverse(lower(a)), ((3, 3),)),
    "lu": (lambda a: L.lu(a)[1:], ((3, 3),)),
    "lu of a tall matrix": (lambda a: L.lu(a)[1:], ((4, 2),)),
    "lu of a wide matrix": (lambda a: L.lu(a)[1:], ((2, 4),)),
    "lu_factor": (lambda a: L.lu_factor(a).LU, ((3, 4),)),
    "lu_solve": (lu_solved(True, False), ((3, 3), (3, 2))),
    "lu_solve adjoint": (lu_solved(True, True), ((3, 3), (3, 2))),
    "lu_solve from the right": (lu_solved(False, False), ((3, 3), (2, 3))),
    "lu_solve adjoint from the right": (lu_solved(False, True), ((3, 3), (2, 3))),
    "qr": (lambda a: sizes(L.qr(a)), ((4, 2),)),
    "qr of a wide matrix": (lambda a: sizes(L.qr(a)), ((2, 3),)),
    "householder_product": (L.householder_product, ((4, 3), (2,))),
    "ormqr": (T.ormqr, ((3, 2), (2,), (3, 2))),
    "svdvals": (L.svdvals, ((3, 2),)),
    "svd": (lambda a: sizes(L.svd(a, full_matrices=False)), ((3, 2),)),
    "svd of a wide matrix": (lambda a: sizes(L.svd(a, full_matrices=False)), ((2, 3),)),
    "eigh": (lambda a: sizes(L.eigh(hermitian(a))), ((3, 3),)),
    "eig": (lambda a: sizes(L.eig(a)), ((3, 3),)),
    "pinv": (L.pinv, ((3, 2),)),
    "pinv of a wide matrix": (L.pinv, ((2, 3),)),
    "lstsq": (lambda a, b: L.lstsq(a, b, driver="gelsd")[:2], ((4, 2), (4, 2))),
    "matrix_exp": (T.matrix_exp, ((2, 2),)),
    "fft": (T.fft.fft, ((4,),)),
    "ifftn": (T.fft.ifftn, ((2, 3),)),
    "irfft": (T.fft.irfft, ((4,),)),
    "hfftn": (T.fft.hfftn, ((2, 3),)),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("function, shapes", DERIVATIVES.values(), ids=DERIVATIVES)
def test_derivatives_have_derivatives(function: Callable[..., Any], shapes: Any, dtype: str) -> None:
    inputs = [leaf(T, *shape, dtype=dtype, seed=i + 1) for i, shape in enumerate(shapes)]
    if function is T.bilinear and dtype == "complex128":
        with pytest.raises(RuntimeError, match="_trilinear does not support automatic differentiation for outputs"):
            function(*inputs)
        return
    assert T.autograd.gradcheck(function, inputs)
    assert T.autograd.gradgradcheck(function, inputs, fast_mode=True)


def test_the_determinant_of_a_singular_matrix_has_derivatives() -> None:
    results = []
    for lib in LIBS:
        a = lib.tensor([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]], dtype=lib.float64, requires_grad=True)
        (first,) = lib.autograd.grad(lib.linalg.det(a), a)
        (kept,) = lib.autograd.grad(lib.linalg.det(a), a, create_graph=True)
        (second,) = lib.autograd.grad((kept * kept).sum(), a)
        results.append((kept, second))
        if lib is mindtorch:  # PyTorch's is 0 where its factorisation meets a pivot of exactly 0
            cofactors = torch.tensor([[4.0, 4, -4], [-2, -2, 2], [0, 0, 0]], dtype=torch.float64)
            assert_same(first, cofactors, rtol=1e-6, atol=1e-6, strides=False)
    for ours, theirs in zip(*results, strict=True):
        assert_same(ours.detach(), theirs.detach(), rtol=1e-6, atol=1e-6, strides=False)


@pytest.mark.parametrize(("n", "m", "k"), [(6, 4, 4), (6, 4, 2), (3, 3, 3), (1, 1, 1)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_products_of_reflections_are_pytorchs(dtype: str, n: int, m: int, k: int) -> None:
    """Also where a reflection is none, and by the gradients' own gradients."""
    rng = np.random.default_rng(0)
    matrix, scales, grad = (rng.standard_normal((2, *shape)).astype(dtype) for shape in ((n, m), (k,), (n, m)))
    matrix, scales = matrix * (1 + 1j if dtype == "complex128" else 1), scales * (np.arange(k) != 1)

    def gradients(lib: Any) -> list[Any]:
        leaves = [lib.tensor(values, requires_grad=True) for values in (matrix, scales)]
        first = lib.autograd.grad(lib.linalg.householder_product(*leaves), leaves, lib.tensor(grad), create_graph=True)
        return [*first, *lib.autograd.grad([abs(g).square().sum() for g in first], leaves)]

    for ours, theirs in zip(gradients(mindtorch), gradients(torch), strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-9)


def test_gradients_of_products_of_reflections_in_float32_are_those_of_float64() -> None:
    rng = np.random.default_rng(1)
    matrix, scales = rng.standard_normal((50, 6, 4)), rng.standard_normal((50, 4))

    def gradients(dtype: str) -> Any:
        leaves = [mindtorch.tensor(values.astype(dtype), requires_grad=True) for values in (matrix, scales)]
        product = mindtorch.linalg.householder_product(*leaves)
        return mindtorch.autograd.grad(product, leaves, mindtorch.ones_like(product))

    for narrow, wide in zip(gradients("float32"), gradients("float64"), strict=True):
        assert (abs(narrow - wide).flatten(1).amax(1) < 1e-5 * abs(wide).flatten(1).amax(1)).all()


@pytest.mark.parametrize("left", [True, False])
def test_fewer_scales_than_reflections_are_refused_by_a_product_with_them(left: bool) -> None:
    assert_same_outcome(lambda t: t.ormqr(t.zeros(6, 4), t.zeros(2), t.zeros(6, 6), left))


def test_outputs_that_have_no_gradient_do_not_require_one() -> None:
    for lib in LIBS:
        a = leaf(lib, 4, 3)
        assert [part.requires_grad for part in lib.linalg.lu(a)] == [False, True, True]
        assert [part.requires_grad for part in lib.linalg.lstsq(a, a, driver="gelsd")] == [True, True, False,
                                                                                           False]
        assert [part.requires_grad for part in lib.linalg.lu_factor_ex(a)] == [True, False, False]


# -- the rest ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 4, 5])
def test_frequencies(n: int) -> None:
    for name in ("fftfreq", "rfftfreq"):
        ours, theirs = (Outcome.of(getattr(lib.fft, name), n, 0.5, dtype=lib.float64) for lib in LIBS)
        assert not list(error_differences(ours, theirs))
        if theirs.error is None:
            assert_same(ours.value, theirs.value)


def test_low_rank_factorizations_find_the_range() -> None:
    a = numbers(T, 20, 3) @ numbers(T, 3, 9, seed=1)
    U, S, V = T.svd_lowrank(a, q=4)
    assert U.shape == (20, 4) and S.shape == (4,) and V.shape == (9, 4)
    np.testing.assert_allclose(((U * S) @ V.mT).numpy(), a.numpy(), atol=1e-10)
    U, S, V = T.pca_lowrank(a.mT)
    np.testing.assert_allclose(((U * S) @ V.mT).numpy(), (a.mT - a.mT.mean(-2, keepdim=True)).numpy(),
                               atol=1e-10)


def test_lstsq_on_meta_says_that_it_depends_on_data() -> None:
    a = T.ones(4, 3, device="meta")
    with pytest.raises(NotImplementedError):
        L.lstsq(a, a, driver="gelsd")


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float16", "int64"])
def test_a_right_side_is_converted_to_the_dtype_of_its_triangular_matrix(dtype: str, left: bool) -> None:
    got, expected = (lib.linalg.solve_triangular(
        lib.tensor([[2.0, 0], [0.5, 1]]), lib.ones(2, 2, dtype=getattr(lib, dtype)), upper=False, left=left)
        for lib in LIBS)
    assert_same(got, expected)


# -- batches of small matrices, which are computed at once ---------------------------------------------------

def singular(lib: Lib, a: Any) -> Any:
    return a * lib.tensor([1, 0, 1, 1], dtype=a.dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("function", [
    lambda lib, a, b: lib.linalg.lu_factor_ex(a), lambda lib, a, b: lib.linalg.lu_factor_ex(singular(lib, a)),
    lambda lib, a, b: lib.linalg.det(a), lambda lib, a, b: lib.linalg.inv(a), lambda lib, a, b: lib.linalg.solve(a, b),
    lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b, adjoint=True),
    lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True),
    lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=False, unitriangular=True),
    lambda lib, a, b: lib.linalg.cholesky_ex(a @ a.mH, upper=True), lambda lib, a, b: lib.linalg.cholesky_ex(a @ a.mH),
])
def test_many_small_matrices_are_factored_and_solved_as_by_pytorch(function: Any, dtype: str) -> None:
    got, expected = (function(lib, numbers(lib, 5, 8, 4, 4, dtype=dtype), numbers(lib, 5, 8, 4, 2, dtype=dtype, seed=1))
                     for lib in LIBS)
    assert_same(got, expected)


@pytest.mark.parametrize("options", [
    {}, {"k": 3}, {"k": 2, "largest": False}, {"method": "basic"}, {"X": 2}, {"B": True, "k": 2}, {"sparse": True},
    {"k": 9}, {"X": 12}], ids=str)
def test_lobpcg_gives_the_eigenvalues_that_pytorch_finds(options):
    def program(t):
        t.manual_seed(0)
        a = t.randn(2, 20, 20, dtype=t.float64)
        a = (a @ a.mT + t.eye(20))[0 if options.get("sparse") else slice(None)]
        given = {**options}
        if given.pop("sparse", False):
            a = a.to_sparse()
        if "X" in given:
            given["X"] = t.randn(2, 20, given["X"], dtype=t.float64)
        if "B" in given:
            given["B"] = t.diag(t.arange(1.0, 21, dtype=t.float64)).expand(2, 20, 20)
        values, vectors = t.lobpcg(a, **given)
        return values, vectors.abs()

    ours, theirs = Outcome.of(program, mindtorch), Outcome.of(program, torch)
    assert not list(error_differences(ours, theirs))
    if theirs.error is None:
        assert_same(ours.value, theirs.value, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("order", ["fro", 1, -1, float("inf"), -float("inf")])
def test_norms_of_matrices_are_pytorchs_along_any_dimensions_again_and_again(order) -> None:
    def norms(t: Any) -> list[Any]:
        x = (t.arange(22.0 * 23 * 24) ** 2 % 17 - 8).reshape(22, 23, 24)
        special = t.tensor([[1.0, -2.0], [float("inf"), 0.5], [float("nan"), 3.0]])
        return [t.linalg.matrix_norm(given, order, dim, keepdim) for given in (
            x, x.mT, x[:4, :5].double(), x.half()[0, :5, :5], special, special[:1], t.ones(2, 0, 3)[:, :, :1])
            for dim in ((-2, -1), (-1, 0)) for keepdim in (False, True) for _ in range(3)
            if given.numel() or order == "fro"]

    assert_same_outcome(norms)


@pytest.mark.parametrize("order", [1, 2, float("inf"), -1])
def test_the_norm_of_a_matrix_without_elements_is_zero(order: float) -> None:
    """It has no graph; a least norm is 0 only where there are rows or columns to choose from."""
    assert_same_outcome(lambda t: [t.linalg.matrix_norm(t.ones(0, 3, requires_grad=True), order, keepdim=keepdim)
                                   for keepdim in (False, True)])
    if order != -1:
        for shape in ((0, 0), (3, 0), (2, 3, 0)):
            assert_same_outcome(lambda t, shape=shape: t.linalg.matrix_norm(t.ones(shape, requires_grad=True), order))


@pytest.mark.parametrize(("name", "settings"), [
    *[("c2c", ((0, 1), forward)) for forward in (True, False)], ("r2c", ((0, 1), True)),
    *[("c2r", ((1,), 9, forward)) for forward in (True, False)], ("c2r", ((0, 1), 8, False))])
@pytest.mark.parametrize("scale", [0, 1, 2])
def test_public_transforms_of_scipy_take_the_place_of_the_compiled_ones(name, settings, scale) -> None:
    x = np.random.default_rng(0).random((4, 5))
    x = x if name == "r2c" else x + 1j
    made, expected = (getattr(transforms, name)(x, *settings, scale, None, 1) for transforms in (
        fft.public_fft(), fft.scipy_fft()))
    np.testing.assert_allclose(made, expected, 1e-12, 1e-12)


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_integers_are_transformed_in_the_default_dtype_of_the_call(dtype: str) -> None:
    x = mindtorch.ones(3, 4, dtype=getattr(mindtorch, dtype))
    try:
        for default in (mindtorch.float64, mindtorch.float32) * 2:
            mindtorch.set_default_dtype(default)
            assert {mindtorch.fft.fft2(x).dtype for _ in range(3)} == {default.to_complex()}
    finally:
        mindtorch.set_default_dtype(mindtorch.float32)


#: Functions of a matrix and a right side whose results are unique.
OF_A_MATRIX: dict[str, Callable[[Lib, Any, Any], Any]] = {
    "lu_factor_ex": lambda lib, a, b: lib.linalg.lu_factor_ex(a), "lu": lambda lib, a, b: lib.linalg.lu(a),
    "pivots alone": lambda lib, a, b: lib.lu_unpack(*lib.linalg.lu_factor_ex(a)[:2], unpack_data=False)[0],
    "det": lambda lib, a, b: lib.linalg.det(a), "inv_ex": lambda lib, a, b: lib.linalg.inv_ex(a),
    "solve_ex": lambda lib, a, b: lib.linalg.solve_ex(a, b),
    "solve_ex of a vector": lambda lib, a, b: lib.linalg.solve_ex(a, b[..., 0]),
    "solve_ex of one right side": lambda lib, a, b: lib.linalg.solve_ex(a, b[..., :2, :].reshape(-1, 2)[:a.shape[-1]]),
    "lu_solve": lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor_ex(a)[:2], b, adjoint=True),
    "cholesky_ex": lambda lib, a, b: lib.linalg.cholesky_ex(a @ a.mH, upper=True),
    "ldl_factor_ex": lambda lib, a, b: lib.linalg.ldl_factor_ex(a + a.mT),
    "solve_triangular": lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True),
    "eigvalsh": lambda lib, a, b: lib.linalg.eigvalsh(a, "U"), "svdvals": lambda lib, a, b: lib.linalg.svdvals(a),
    "pinv": lambda lib, a, b: lib.linalg.pinv(a, atol=0.5, rtol=0.1),
    "pinv of a Hermitian matrix": lambda lib, a, b: lib.linalg.pinv(a + a.mH, hermitian=True),
    "matrix_rank": lambda lib, a, b: lib.linalg.matrix_rank(a), "pinverse": lambda lib, a, b: lib.pinverse(a),
}


@pytest.mark.parametrize("name", OF_A_MATRIX)
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)], ids=str)
@pytest.mark.parametrize("kind", ["regular", "singular", "nan", "complex"])
def test_later_calls_on_one_matrix_or_two_have_pytorchs_outcome(name: str, shape: tuple[int, ...], kind: str) -> None:
    dtype = "complex128" if kind == "complex" else "float64"

    def program(lib: Lib, calls: int) -> Any:
        a, b = numbers(lib, *shape, dtype=dtype), numbers(lib, *shape[:-1], 2, dtype=dtype, seed=1)
        if kind in ("singular", "nan"):
            a[..., 1] = 0 if kind == "singular" else float("nan")
        return [OF_A_MATRIX[name](lib, a, b) for _ in range(calls)][-1]

    ours, theirs = Outcome.of(program, mindtorch, 3), Outcome.of(program, torch, 1)
    assert not list(error_differences(ours, theirs))
    if theirs.error is None:
        regular = kind in ("regular", "complex")  # else what LAPACK leaves is its own
        parts = ([o.value] if hasattr(o.value, "dtype") else o.value for o in (ours, theirs))
        for mine, other in zip(*parts, strict=True):
            assert (str(mine.dtype).split(".")[-1], tuple(mine.shape), mine.stride()) == (
                str(other.dtype).split(".")[-1], tuple(other.shape), other.stride())
            if regular:
                np.testing.assert_allclose(mine.resolve_conj().numpy(), other.resolve_conj().numpy(), 1e-9, 1e-9)
