"""float16 is converted as NumPy converts it, bit for bit, whatever the numbers."""
import math

import numpy as np
import pytest

import mindtorch as torch
from mindtorch._backends.common.half import BLOCK, convert, converted
from mindtorch._base.loops import Loop

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


@pytest.fixture(autouse=True)
def by_numpy(monkeypatch):
    """Without loops, which have other bits of NaN; ``loops`` has them."""
    monkeypatch.setattr(Loop, "compiled", lambda self, size: None)


def narrowed(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        out = converted(x, np.dtype(np.float16))
        assert (out.view(np.uint16) == x.astype(np.float16).view(np.uint16)).all()
    return out


@pytest.mark.parametrize("chosen", [HALVES, HALVES[np.isfinite(HALVES)], HALVES[:100], HALVES.reshape(256, 256).T])
def test_every_half_becomes_the_float_of_its_value(chosen):
    expected = chosen.astype(np.float32)
    assert (converted(chosen, np.dtype(np.float32)).view(np.uint32) == expected.view(np.uint32)).all()


@pytest.mark.parametrize("part", [np.s_[:, ::3], np.s_[::-1, 5:], np.s_[3], np.s_[:, None, 1::2]], ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_halves_with_gaps_between_them_are_converted_as_those_without(part, order):
    chosen, targets = np.array(HALVES.reshape(16, 64, 64)[1:], order=order)[part], np.zeros((16, 64, 64), np.float32)
    wide, out = converted(chosen, np.dtype(np.float32)), np.array(targets[1:], order=order)[part]
    convert(chosen, out)
    back = np.zeros((16, 64, 64), np.float16)[1:][part]
    convert(out, back)
    for found in (wide, out):
        np.testing.assert_array_equal(found, chosen.astype(np.float32))
    np.testing.assert_array_equal(back, chosen)


def test_floats_beside_and_between_halves_are_rounded_to_even():
    finite = np.sort(HALVES[np.isfinite(HALVES)].astype(np.float64))
    middle = ((finite[1:] + finite[:-1]) / 2).astype(np.float32)
    for numbers in (finite.astype(np.float32), middle, np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)):
        narrowed(numbers)
        narrowed(numbers[np.abs(numbers) > 1e-4])  # blocks without subnormal numbers


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 65519.99, 65520, -65520, 1e30, 0, -0.0, 1e-5, 1e-40])
def test_a_special_number_among_others(special):
    numbers = np.linspace(-3, 3, 3 * BLOCK + 5, dtype=np.float32)
    numbers[BLOCK + 7] = special
    narrowed(numbers)
    narrowed(np.where(numbers > 1, np.float32(special), numbers))


def test_what_is_no_half_is_converted_by_numpy():
    numbers = np.linspace(-3, 3, BLOCK)
    out = np.empty(BLOCK, np.int8)
    convert(numbers, out)
    assert (out == numbers.astype(np.int8)).all()
    assert (converted(numbers, np.dtype(np.float16)) == numbers.astype(np.float16)).all()


@pytest.mark.parametrize("dims", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_dense_halves_are_computed_in_the_order_of_their_memory(dims):
    x = torch.randn(12, 10, 14).to(torch.float16).permute(dims)
    for function in (torch.neg, torch.exp, torch.isnan, abs, lambda y: y + y, lambda y: y.float(), lambda y: 2 * y,
                     lambda y: torch.maximum(y, -y), lambda y: torch.addcmul(y, y, -y), lambda y: y + y.flip(0),
                     lambda y: torch.lerp(y, -y, 0.3), lambda y: torch.where(y > 0, y, 2)):
        expected = function(x.contiguous())
        for _ in range(3):  # the later calls are settled
            found = function(x)
            assert found.stride() == x.stride() and torch.equal(found, expected)


def test_the_sign_of_halves_is_a_bit():
    values = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1.5, -2.0] * 200, dtype=torch.bfloat16)
    assert np.signbit((-values).float().numpy()).tolist() == (~np.signbit(values.float().numpy())).tolist()
    assert not np.signbit(values.abs().float().numpy()).any() and values.abs().isnan().sum() == 200


@pytest.mark.parametrize(("dtype", "near"), [(torch.float16, 8), (torch.bfloat16, 64)])
def test_gradients_of_distances_of_rows_far_from_zero_are_those_of_float64(dtype, near):
    x, y = ((torch.randn(30, 30) + 1000).to(dtype).requires_grad_() for _ in range(2))
    grad = torch.randn(30, 30).to(dtype) + 1000
    wide = [value.detach().double().requires_grad_() for value in (x, y)]
    ours = torch.autograd.grad(torch.cdist(x, y), (x, y), grad)
    exact = torch.autograd.grad(torch.cdist(*wide), wide, grad.double())
    for made, expected in zip(ours, exact, strict=True):
        torch.testing.assert_close(made.double(), expected, rtol=0.01, atol=near)
