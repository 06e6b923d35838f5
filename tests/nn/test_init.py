"""``nn.init`` draws what PyTorch draws from the same seed."""
from __future__ import annotations

import inspect

import pytest

import mindtorch
from tests.nn.both import same
from tests.support import assert_same, torch

CASES = {
    "uniform_": lambda i, x: i.uniform_(x, -2, 3),
    "normal_": lambda i, x: i.normal_(x, 1, 2),
    "constant_": lambda i, x: i.constant_(x, 0.3),
    "ones_": lambda i, x: i.ones_(x),
    "zeros_": lambda i, x: i.zeros_(x),
    "eye_": lambda i, x: i.eye_(x),
    "trunc_normal_": lambda i, x: i.trunc_normal_(x),
    "trunc_normal_ around another mean": lambda i, x: i.trunc_normal_(x, mean=1, std=2, a=-1, b=3),
    "trunc_normal_ far out": lambda i, x: i.trunc_normal_(x, std=0.5, a=1, b=3),
    "trunc_normal_ in a narrow interval": lambda i, x: i.trunc_normal_(x, a=-0.5, b=0.5),
    "xavier_uniform_": lambda i, x: i.xavier_uniform_(x, gain=2),
    "xavier_normal_": lambda i, x: i.xavier_normal_(x),
    "kaiming_uniform_": lambda i, x: i.kaiming_uniform_(x, a=0.2),
    "kaiming_uniform_ by outputs": lambda i, x: i.kaiming_uniform_(x, mode="fan_out", nonlinearity="relu"),
    "kaiming_normal_": lambda i, x: i.kaiming_normal_(x),
    "orthogonal_": lambda i, x: i.orthogonal_(x, gain=0.5),
    "sparse_": lambda i, x: i.sparse_(x, 0.4),
}


@pytest.mark.parametrize("shape", [(5, 7), (7, 5), (30, 40)])
@pytest.mark.parametrize("case", CASES)
def test_values(case, shape):
    results = []
    for lib in (mindtorch, torch):
        lib.manual_seed(9)
        tensor = lib.empty(*shape).requires_grad_()
        result = CASES[case](lib.nn.init, tensor)
        assert result is tensor
        assert tensor.grad_fn is None
        results.append(tensor)
    assert_same(*results, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 3, 5), (4, 3, 2, 3), (4, 2, 3, 3, 3)])
@pytest.mark.parametrize("name", ["kaiming_uniform_", "xavier_normal_", "orthogonal_", "dirac_"])
def test_values_of_convolutions(name, shape):
    results = []
    for lib in (mindtorch, torch):
        lib.manual_seed(9)
        results.append(getattr(lib.nn.init, name)(lib.empty(*shape)))
    assert_same(*results, rtol=1e-5, atol=1e-5)


def test_dirac_in_groups():
    same(lambda t: t.nn.init.dirac_(t.empty(6, 2, 3), groups=2))


@pytest.mark.parametrize("nonlinearity", ["linear", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu",
                                          "leaky_relu", "selu"])
def test_gains(nonlinearity):
    same(lambda t: round(t.nn.init.calculate_gain(nonlinearity), 12))
    same(lambda t: round(t.nn.init.calculate_gain(nonlinearity, 0.3), 12))


REFUSED = {
    "unknown nonlinearity": lambda t: t.nn.init.calculate_gain("x"),
    "a slope that is a bool": lambda t: t.nn.init.calculate_gain("leaky_relu", True),
    "fan of a vector": lambda t: t.nn.init.xavier_uniform_(t.empty(3)),
    "unknown mode": lambda t: t.nn.init.kaiming_uniform_(t.empty(3, 3), mode="x"),
    "eye of a vector": lambda t: t.nn.init.eye_(t.empty(3)),
    "sparse of a vector": lambda t: t.nn.init.sparse_(t.empty(3), 0.1),
    "orthogonal of a vector": lambda t: t.nn.init.orthogonal_(t.empty(3)),
    "dirac of a matrix": lambda t: t.nn.init.dirac_(t.empty(3, 3)),
    "dirac in groups that do not divide": lambda t: t.nn.init.dirac_(t.empty(3, 3, 3), groups=2),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusing(case):
    same(REFUSED[case])


def test_warnings():
    def empty(t):
        with pytest.warns(UserWarning, match="zero-element"):
            return t.nn.init.kaiming_uniform_(t.empty(0, 3))

    def deprecated(t):
        with pytest.warns(FutureWarning, match="nn.init.ones_|nn.init.constant_"):
            return t.nn.init.constant(t.empty(2), 1)

    def truncated(t):
        with pytest.warns(UserWarning, match="more than 2 std"):
            return t.nn.init.trunc_normal_(t.empty(3), mean=9).shape

    for program in (empty, deprecated, truncated):
        same(program)


@pytest.mark.parametrize("name", [name for name in dir(torch.nn.init) if name.endswith("_")
                                  and name[0] != "_"])
def test_signatures(name):
    ours, theirs = (inspect.signature(getattr(lib.nn.init, name)).parameters for lib in (mindtorch, torch))
    assert [(p.name, p.default) for p in ours.values()] == [(p.name, p.default) for p in theirs.values()]
