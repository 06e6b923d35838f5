"""Simulated random numbers, and what kernels do beside computing: outputs that are larger, or not wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch
from mindtorch._backends.npu.simulator.kernels import KERNELS

N = 20_000
HALF = mindtorch._dtype.bfloat16.np


def filled(name: str, dtype: Any, *args: Any, shape: Any = (N,)) -> np.ndarray:
    """What an operator that fills its first tensor leaves there."""
    out = np.zeros(shape, dtype)
    KERNELS[name](out, *args)
    return out


def made(name: str, dtype: Any, *args: Any, shape: Any = (N,)) -> np.ndarray:
    """What an operator whose output comes last leaves there."""
    out = np.zeros(shape, dtype)
    KERNELS[name](*args, out)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float16, HALF, np.float64])
def test_normal_and_uniform_numbers_have_their_moments(dtype: Any) -> None:
    normal = filled("aclnnInplaceNormal", dtype, 2.0, 3.0, 1, 0).astype(np.float64)
    assert abs(normal.mean() - 2) < 0.1 and abs(normal.std() - 3) < 0.1
    uniform = filled("aclnnInplaceUniform", dtype, -1.0, 3.0, 1, 0).astype(np.float64)
    assert abs(uniform.mean() - 1) < 0.1 and uniform.min() >= -1 and uniform.max() <= 3


def test_random_integers_lie_in_their_range() -> None:
    drawn = filled("aclnnInplaceRandom", np.int64, -3, 5, 1, 0)
    assert set(drawn) == set(range(-3, 5))


@pytest.mark.parametrize(
    "name, before", [("aclnnInplaceBernoulli", ()), ("aclnnBernoulli", (np.zeros(N, np.float32),))]
)
def test_bernoulli_by_a_number(name: str, before: Any) -> None:
    call = made if before else filled
    drawn = call(name, np.float32, *before, np.float64(0.3), 1, 0)
    assert set(drawn) == {0, 1} and abs(drawn.mean() - 0.3) < 0.02


@pytest.mark.parametrize("name", ["aclnnInplaceBernoulliTensor", "aclnnBernoulliTensor"])
def test_bernoulli_by_a_tensor(name: str) -> None:
    p = np.repeat(np.float32([0, 0.25, 1]), N // 3)
    if name == "aclnnBernoulliTensor":
        drawn = made(name, np.float32, np.zeros(p.shape, np.float32), p, 1, 0, shape=p.shape)
    else:
        drawn = filled(name, np.float32, p, 1, 0, shape=p.shape)
    means = [part.mean() for part in np.split(drawn, 3)]
    assert [abs(mean - want) < 0.02 for mean, want in zip(means, (0, 0.25, 1), strict=True)] == [True] * 3


def test_normal_numbers_by_tensors() -> None:
    mean, std = np.repeat(np.float32([0, 100]), N // 2), np.repeat(np.float32([1, 5]), N // 2)
    for name, args in (("TensorTensor", (mean, std)), ("TensorFloat", (mean, 2.0)), ("FloatTensor", (3.0, std)),
                       ("FloatFloat", (3.0, 2.0))):
        drawn = made("aclnnNormal" + name, np.float32, *args, 1, 0)
        middles, spreads = (np.broadcast_to(a, N)[[0, -1]] for a in args)
        for part, middle, spread in zip(np.split(drawn, 2), middles, spreads, strict=True):
            assert abs(part.mean() - middle) < 0.2 and abs(part.std() - spread) < 0.2


def test_permutations_and_samples() -> None:
    assert sorted(made("aclnnRandperm", np.int64, 50, 1, 0, shape=50)) == list(range(50))
    p = np.float32([[0, 1, 3], [1, 0, 0]])
    drawn = made("aclnnMultinomial", np.int64, p, 4000, True, 1, 0, shape=(2, 4000))
    assert abs((drawn[0] == 2).mean() - 0.75) < 0.05 and set(drawn[0]) == {1, 2} and set(drawn[1]) == {0}


def test_the_seed_and_the_offset_decide() -> None:
    first = filled("aclnnInplaceNormal", np.float32, 0.0, 1.0, 7, 0)
    assert np.array_equal(first, filled("aclnnInplaceNormal", np.float32, 0.0, 1.0, 7, 0))
    for other in (
        filled("aclnnInplaceNormal", np.float32, 0.0, 1.0, 7, 10),
        filled("aclnnInplaceNormal", np.float32, 0.0, 1.0, 8, 0),
    ):
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.05


def test_without_an_offset_numbers_are_the_cpus() -> None:
    mindtorch.manual_seed(7)
    assert np.array_equal(filled("aclnnInplaceNormal", np.float32, 0.0, 1.0, 7, 0), mindtorch.randn(N).numpy())


def test_dropout_keeps_what_its_mask_says_and_scales_it() -> None:
    x = np.arange(1, 1001, dtype=np.float32).reshape(10, 100)
    mask = made("aclnnDropoutGenMask", np.uint8, x.shape, 0.25, 1, 0, shape=(128,))
    out = made("aclnnDropoutDoMask", np.float32, x, mask, 0.25, shape=x.shape)
    kept = out != 0
    assert abs(kept.mean() - 0.75) < 0.05
    np.testing.assert_allclose(out[kept], x[kept] / 0.75, 1e-6)
    bits = np.unpackbits(mask, count=x.size, bitorder="little").reshape(x.shape)
    assert np.array_equal(kept, bits.astype(bool))


def test_results_whose_number_depends_on_the_data_come_first_in_larger_outputs() -> None:
    x = np.int64([[0, 3], [5, 0]])
    out = np.full((4, 2), -1)
    assert KERNELS["aclnnNonzero"](x, out) == [(2, 2)]
    assert out.tolist() == [[0, 1], [1, 0], [-1, -1], [-1, -1]]
    values, inverse, counts = np.full(4, -1), np.full((2, 2), -1), np.full(4, -1)
    assert KERNELS["aclnnUnique2"](x, True, True, True, values, inverse, counts) == [(3,), (2, 2), (3,)]
    assert (
        values.tolist() == [0, 3, 5, -1] and counts.tolist() == [2, 1, 1, -1] and inverse.tolist() == [[0, 1], [2, 0]]
    )
    out = np.full(4, -1)
    assert KERNELS["aclnnMaskedSelect"](x, x > 4, out) == [(1,)] and out.tolist() == [5, -1, -1, -1]


def test_outputs_that_are_not_wanted_are_left_alone() -> None:
    grad, x, weight = (np.ones(shape, np.float32) for shape in ((1, 1, 3), (1, 1, 5), (1, 1, 3)))
    left = np.full((1, 1, 5), 7, np.float32)
    of_weight = np.zeros((1, 1, 3), np.float32)
    settings = (1,), (0,), (1,), False, (0,), 1
    convolution_backward = KERNELS["aclnnConvolutionBackward"]
    convolution_backward(grad, x, weight, None, *settings, (False, True, False), 0, left, of_weight, None)
    assert (left == 7).all() and of_weight.tolist() == [[[3, 3, 3]]]
    out = np.zeros((2, 3), np.float32)
    KERNELS["aclnnLayerNorm"](np.float32([[1, 2, 3], [4, 6, 8]]), (3,), None, None, 0.0, out, None, None)
    np.testing.assert_allclose(out, np.float32([[-1.2247449, 0, 1.2247449]] * 2), 1e-6)


def test_an_operator_may_write_over_what_it_reads() -> None:
    x = np.arange(5, dtype=np.float32)
    KERNELS["aclnnAdd"](x, x, np.int64(2), x)
    assert x.tolist() == [0, 3, 6, 9, 12]


def test_a_kernel_refuses_what_has_no_meaning() -> None:
    with pytest.raises(IndexError, match="index out of range"):
        KERNELS["aclnnEmbedding"](np.zeros((3, 2), np.float32), np.array([3]), np.zeros((1, 2), np.float32))
    with pytest.raises(IndexError):
        KERNELS["aclnnIndex"](np.zeros((3, 2)), [np.array([9])], np.zeros((1, 2)))


def test_kernels_do_not_warn() -> None:
    out = np.zeros(3, np.float32)
    with np.errstate(all="raise"):
        KERNELS["aclnnLog"](np.float32([0, -1, 1]), out)
    assert out[0] == -np.inf and np.isnan(out[1])
