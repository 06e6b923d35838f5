"""SGD, Adam and AdamW step for step beside PyTorch's, however a step is run."""
from __future__ import annotations

import pytest

import mindtorch
from tests.nn.both import same
from tests.support import assert_same, port, torch

from .programs import parameters_of, run, starting_point

SGD = [
    {},
    {"lr": 0.1},
    {"momentum": 0.9},
    {"momentum": 0.9, "dampening": 0.5},
    {"momentum": 0.9, "nesterov": True},
    {"weight_decay": 0.3},
    {"weight_decay": 0.3, "maximize": True},
    {"weight_decay": 0.3, "maximize": True, "momentum": 0.5},
    {"momentum": 0.9, "foreach": True},
    {"momentum": 0.9, "fused": True},
    {"momentum": 0.9, "differentiable": True},
    {"momentum": 0.9, "differentiable": True, "nesterov": True, "weight_decay": 0.1, "maximize": True},
]
ADAM = [
    {},
    {"lr": 0.1},
    {"betas": (0.8, 0.9)},
    {"eps": 0.1},
    {"weight_decay": 0.3},
    {"amsgrad": True},
    {"maximize": True},
    {"amsgrad": True, "weight_decay": 0.2, "maximize": True},
    {"foreach": True},
    {"fused": True},
    {"differentiable": True, "weight_decay": 0.1},
    {"differentiable": True, "amsgrad": True, "maximize": True},
]
CASES = [(name, kwargs) for name, all_kwargs in (("SGD", SGD), ("Adam", ADAM), ("AdamW", ADAM))
         for kwargs in all_kwargs]


@pytest.mark.parametrize(("name", "kwargs"), CASES, ids=[f"{name} {kwargs}" for name, kwargs in CASES])
@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_steps(name, kwargs):
    theirs, ours = run(torch, name, kwargs), run(mindtorch, name, kwargs)
    for mine, other in zip(ours, theirs, strict=True):
        assert_same(mine[0], other[0], rtol=1e-5, atol=1e-6)
        if other[1] is not None:
            assert_same(mine[1], other[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_lbfgs_starts_with_the_gradient_itself(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    optimizer = lib.optim.LBFGS([x], max_iter=1)

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    state = optimizer.state[x]
    assert (state["H_diag"], state["n_iter"], state["func_evals"], state["d"].tolist()) == (1, 1, 1, [-2, -4])


@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_a_differentiable_step_keeps_its_first_momentum_outside_the_graph(lib):
    """The buffer is made of the gradient's values, not of its history nor in its memory."""
    param = lib.ones(2, requires_grad=True).clone()
    scale = lib.tensor(3.0, requires_grad=True)
    optimizer = lib.optim.SGD([param], lr=0.1, momentum=0.9, differentiable=True)
    param.grad = gradient = scale * lib.ones(2)
    optimizer.step()
    buffer = optimizer.state[param]["momentum_buffer"]
    assert not buffer.requires_grad and buffer.data_ptr() != gradient.data_ptr()
    assert buffer.tolist() == [3, 3]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.complex64])
@pytest.mark.parametrize("differentiable", [True, False])
@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_steps_in_other_dtypes(name, dtype, differentiable):
    kwargs = {"momentum": 0.9} if name == "SGD" else {"amsgrad": dtype is not torch.complex64}
    kwargs["differentiable"] = differentiable
    tolerance = 2e-2 if dtype is torch.bfloat16 else 1e-5
    for mine, other in zip(run(mindtorch, name, kwargs, dtype), run(torch, name, kwargs, dtype), strict=True):
        assert_same(mine, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "kwargs"), [
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), ("SGD", {"momentum": 0.9, "dampening": 0.5}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.2}), ("AdamW", {"maximize": True}),
])  # fmt: skip
@pytest.mark.parametrize("way", ["foreach", "differentiable", "npu"])
@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_a_step_gives_the_same_numbers_however_it_is_run(name, kwargs, way):
    """Its mathematics is written once: in NumPy's arithmetic, in operators that are recorded, in calls of ACLNN."""
    usual = [params for params, _ in run(mindtorch, name, kwargs)]
    if way != "npu":
        found = [params for params, _ in run(mindtorch, name, {**kwargs, way: True})]
    else:
        values, gradients = starting_point(torch.float32)
        params = [p.detach().to("npu").requires_grad_() for p in parameters_of(mindtorch, values)]
        optimizer, found = getattr(mindtorch.optim, name)(params, **kwargs), []
        for number, step in enumerate(gradients):
            for i, (param, gradient) in enumerate(zip(params, step, strict=True)):
                param.grad = port(gradient, mindtorch).to("npu") if i != 1 or number else None
            optimizer.step()
            found.append([p.detach().cpu() for p in params])
    for mine, other in zip(found, usual, strict=True):
        for a, b in zip(mine, other, strict=True):
            assert mindtorch.allclose(a, b, rtol=1e-5, atol=1e-6)


def test_strided_parameters():
    def program(t):
        param = t.nn.Parameter(t.arange(12.0).view(3, 4).t())
        optimizers = [t.optim.SGD([param], momentum=0.9), t.optim.Adam([param], lr=0.1)]
        for optimizer in optimizers:
            for _ in range(2):
                param.grad = t.ones(3, 4).t()
                optimizer.step()
        return param, param.stride(), optimizers[0].state[param]["momentum_buffer"].stride()

    same(program)


@pytest.mark.parametrize("kwargs", [{}, {"fused": True}, {"foreach": True}, {"differentiable": True}], ids=str)
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_large_parameters_that_are_not_contiguous_are_written(name, kwargs):
    def program(t):
        value, gradient = t.arange(30_000.0).reshape(150, 200) / 30_000, t.arange(30_000.0).reshape(200, 150) / 10_000
        param = value.t().detach().requires_grad_()
        used = param.clone() if kwargs.get("differentiable") else param
        # PyTorch's fused kernels take a parameter and a gradient of other strides for each other's elements.
        optimizer = getattr(t.optim, name)([used], lr=0.1, **({} if t is torch and kwargs.get("fused") else kwargs))
        for _ in range(2):
            with t.no_grad():
                used.grad = gradient.clone()
            optimizer.step()
        return used.detach()[::50, ::50], used.stride(), value[::50, ::50]

    same(program)


@pytest.mark.parametrize("found_inf", [0.0, 1.0])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_steps_unscale_gradients_and_are_left_out_for_infinite_ones(name, found_inf):
    def program(t):
        param = t.full((5,), 3.0, requires_grad=True)
        param.grad = t.arange(5.0) * 4
        optimizer = getattr(t.optim, name)([param], lr=0.1, fused=True)
        optimizer.grad_scale, optimizer.found_inf = t.tensor(4.0), t.tensor(found_inf)
        optimizer.step()
        return param.detach(), optimizer.state[param]

    same(program)


def test_the_momentum_of_a_differentiable_step_is_its_own():
    def program(t):
        param = t.ones(3, requires_grad=True)
        used = param.clone()
        used.grad = t.full((3,), 2.0)
        optimizer = t.optim.SGD([used], lr=0.1, momentum=0.9, differentiable=True)
        optimizer.step()
        used.grad.zero_()
        return optimizer.state[used]["momentum_buffer"]

    same(program)


@pytest.mark.parametrize("foreach", [None, False])
@pytest.mark.parametrize(("name", "options"), [
    ("SGD", {}), ("SGD", {"momentum": 0.9}), ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", {}), ("Adam", {"amsgrad": True, "weight_decay": 0.1}), ("AdamW", {}), ("AdamW", {"weight_decay": 0}),
    ("Adamax", {}), ("NAdam", {}), ("RAdam", {}), ("Adadelta", {}), ("Adagrad", {}), ("ASGD", {}), ("RMSprop", {}),
    ("RMSprop", {"centered": True, "momentum": 0.9}), ("Rprop", {}), ("Adafactor", {}), ("Muon", {}), ("LBFGS", {})])
def test_versions_count_the_writes_of_pytorchs_steps(name, options, foreach):
    def program(t):
        param = t.nn.Parameter(t.ones(2, 2))
        param.grad = t.full((2, 2), 0.5)
        optimizer = getattr(t.optim, name)([param], lr=0.1, **options, **({} if name in ("Muon", "LBFGS") else
                                                                         {"foreach": foreach}))
        for _ in range(3):
            optimizer.step(*[lambda: t.tensor(1.0)] * (name == "LBFGS"))
            state = optimizer.state[param].items()
            yield param._version, param.grad._version, sorted((k, x._version) for k, x in state if t.is_tensor(x))

    assert list(program(mindtorch)) == list(program(torch))


def test_steps_count_writes_once_a_parameter():
    params = parameters_of(mindtorch, starting_point(torch.float32)[0])
    for name in ("SGD", "Adam"):
        before = [p._version for p in params]
        for param in params:
            param.grad = mindtorch.ones_like(param)
        getattr(mindtorch.optim, name)(params).step()
        assert [p._version - v for p, v in zip(params, before, strict=True)] == [1] * len(params)
        assert all(p.grad._version == 0 for p in params)


def test_a_step_invalidates_what_backward_needs():
    def program(t):
        layer = t.nn.Linear(2, 2)
        loss = (layer(t.ones(1, 2)) @ layer.weight).sum()
        loss.backward(retain_graph=True)
        t.optim.SGD(layer.parameters()).step()
        loss.backward()

    same(program, message=False)


def test_tensor_learning_rates():
    def program(t):
        param = t.nn.Parameter(t.ones(3))
        found = []
        for optimizer in (t.optim.SGD([param], lr=t.tensor(0.5)), t.optim.Adam([param], lr=t.tensor([0.5])),
                          t.optim.Adam([param], betas=(t.tensor(0.5), t.tensor([0.25])))):
            param.grad = t.ones(3)
            optimizer.step()
            found.append((param.detach().clone(), repr(optimizer)))
        return found

    same(program)


def test_gradients_through_a_differentiable_step():
    def program(t):
        rate = t.tensor(0.1, requires_grad=True)
        start = t.ones(3, requires_grad=True)
        param = start.clone()
        param.grad = t.arange(3.0)
        t.optim.SGD([param], lr=rate, differentiable=True).step()
        (param * param).sum().backward()
        return rate.grad, start.grad

    same(program)


@pytest.mark.parametrize("name, options", [("SGD", {"momentum": 0.9, "nesterov": True}), ("AdamW", {"amsgrad": True}),
                                           ("Adam", {"maximize": True, "weight_decay": 0.1}), ("Adagrad", {})])
def test_small_parameters_step_together_as_they_would_one_by_one(name, options):
    def trained(together):
        mindtorch.manual_seed(0)
        shapes = ((3,), (), (70, 70), (5, 4), (0,), (64, 64), (2, 3, 4))
        parameters = [mindtorch.randn(shape).requires_grad_() for shape in shapes] + [mindtorch.randn(4).double()]
        steps = [getattr(mindtorch.optim, name)(group, lr=0.1, **options)
                 for group in ([parameters] if together else [[p] for p in parameters])]
        for used in (parameters, parameters[::2], parameters):  # so that some have taken more steps
            for p in parameters:
                p.grad = p.detach().sin() if any(p is other for other in used) else None
            for optimizer in steps:
                optimizer.step()
        return parameters

    for joined, single in zip(trained(True), trained(False), strict=True):
        assert joined.equal(single) and joined._version == single._version
