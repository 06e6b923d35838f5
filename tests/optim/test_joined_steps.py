"""Small parameters are stepped as one array: with the values of one optimizer for each, to the last bit."""
from __future__ import annotations

import pytest

import mindtorch as torch

OPTIMIZERS = {
    "SGD": (torch.optim.SGD, {}), "weight decay": (torch.optim.SGD, {"weight_decay": 0.1, "maximize": True}),
    "Nesterov": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    "Adam": (torch.optim.Adam, {"weight_decay": 0.1}),
    "AMSGrad": (torch.optim.Adam, {"amsgrad": True, "maximize": True}),
    "AdamW": (torch.optim.AdamW, {"betas": (0.4, 0.9)}), "Adagrad": (torch.optim.Adagrad, {"lr_decay": 0.1}),
}


def parameters(dtype=torch.float32):
    torch.manual_seed(5)
    made = [torch.randn(size, dtype=dtype) for size in ((), (3,), (2, 4), (5, 1, 2))]
    made.append(torch.randn(4, 3, dtype=dtype).t())
    for x in made:
        x.requires_grad_()
    return made


def step(optimizers, params, times=3):
    torch.manual_seed(6)
    for _ in range(times):
        for x in params:
            x.grad = torch.randn(x.shape, dtype=x.dtype)
        for optimizer in optimizers:
            optimizer.step()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("fused", [None, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_joined_parameters_get_the_values_of_separate_ones(name, fused, dtype):
    make, settings = OPTIMIZERS[name]
    joined, apart = parameters(dtype), parameters(dtype)
    together = make(joined, lr=0.1, fused=fused, **settings)
    alone = [make([x], lr=0.1, fused=fused, **settings) for x in apart]
    step([together], joined)
    step(alone, apart)
    for x, y, optimizer in zip(joined, apart, alone, strict=True):
        assert torch.equal(x, y) and x.stride() == y.stride() and x._version == y._version
        for key, value in optimizer.state[y].items():
            assert torch.equal(together.state[x][key], value), key


def test_parameters_that_share_memory_are_stepped_one_after_the_other():
    base, other = torch.zeros(6), torch.zeros(6)
    both = [base[:4].requires_grad_(), base[2:].requires_grad_()]
    one_by_one = [other[:4].requires_grad_(), other[2:].requires_grad_()]
    step([torch.optim.SGD(both, lr=1, weight_decay=0.5)], both)
    step([torch.optim.SGD([x], lr=1, weight_decay=0.5) for x in one_by_one], one_by_one)
    assert torch.equal(base, other) and base.count_nonzero() == 6


def test_a_parameter_that_is_given_twice_is_stepped_twice():
    x = torch.zeros(3, requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate"):
        optimizer = torch.optim.SGD([x, x], lr=1)
    x.grad = torch.ones(3)
    optimizer.step()
    assert x.tolist() == [-2.0, -2.0, -2.0]


def test_step_counts_that_differ_are_kept_apart():
    params, alone = parameters()[:3], parameters()[:3]
    optimizer, each = torch.optim.Adam(params, lr=0.1), [torch.optim.Adam([x], lr=0.1) for x in alone]
    for xs, optimizers in ((params, [optimizer]), (alone, each)):
        for x in xs:
            x.grad = torch.ones_like(x)
        xs[0].grad = None
        optimizers[0].step()
        for other in optimizers[1:]:
            other.step()
        step(optimizers, xs)
    for x, y in zip(params, alone, strict=True):
        assert torch.equal(x, y)
