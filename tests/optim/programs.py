"""What the tests of optimizers share: parameters, gradients, and programs that take steps with them."""
from __future__ import annotations

import copy
import importlib

import mindtorch
from tests.support import port, torch


def optimizer_module(t):
    return importlib.import_module(f"{t.__name__}.optim.optimizer")


def starting_point(dtype):
    """Values of parameters, and of their gradients at each step."""
    torch.manual_seed(5)
    shapes = [(3, 4), (5,), (), (2, 0), (40, 600)]
    make = lambda shape: torch.randn(shape).to(dtype)  # noqa: E731
    return [make(s) for s in shapes], [[make(s) for s in shapes] for _ in range(4)]


def parameters_of(lib, values):
    if lib is torch:
        return [torch.nn.Parameter(v.clone()) for v in values]
    return [mindtorch.nn.Parameter(port(v, mindtorch)) for v in values]


def run(lib, name, kwargs, dtype=torch.float32):
    """Parameters and state after each of some steps; one parameter has no gradient at first."""
    values, gradients = starting_point(dtype)
    params = parameters_of(lib, values)
    differentiable = kwargs.get("differentiable", False)
    late = not kwargs.get("fused")  # whose buffers PyTorch wants all at once
    if differentiable:
        params = [p.clone() for p in params]
    optimizer = getattr(lib.optim, name)(params, **kwargs)
    seen = []
    for number, step in enumerate(gradients):
        for i, (param, gradient) in enumerate(zip(params, step, strict=True)):
            with lib.no_grad():
                param.grad = gradient if lib is torch else port(gradient, mindtorch)
                if late and i == 1 and not number:
                    param.grad = None
        optimizer.step()
        seen.append(([p.detach().clone() for p in params], copy.deepcopy(optimizer.state_dict())
                     if not differentiable else None))
    return seen


def trained(t, name, kwargs, steps=3):
    model = t.nn.Linear(2, 2)
    optimizer = getattr(t.optim, name)(model.parameters(), **kwargs)
    for _ in range(steps):
        optimizer.zero_grad()
        model(t.ones(1, 2)).sum().backward()
        optimizer.step()
    return model, optimizer


def param(t):
    return t.nn.Parameter(t.ones(2))
