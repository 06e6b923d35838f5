"""What optimizers refuse, in PyTorch's words."""
from __future__ import annotations

import pytest

from tests.nn.both import same

from .programs import optimizer_module, param

REFUSED = {
    "a tensor": lambda t: t.optim.SGD(param(t)),
    "nothing": lambda t: t.optim.SGD([]),
    "a number": lambda t: t.optim.SGD([1]),
    "a set": lambda t: t.optim.SGD([{"params": {param(t)}}]),
    "a non-leaf": lambda t: t.optim.SGD([param(t) * 2]),
    "a group that is a list": lambda t: t.optim.SGD([param(t)]).add_param_group([param(t)]),
    "some names missing": lambda t: t.optim.SGD([("a", param(t)), param(t)]),
    "groups with and without names":
        lambda t: t.optim.SGD([("a", param(t))]).add_param_group({"params": [param(t)]}),
    "a required setting missing":
        lambda t: t.optim.Optimizer([param(t)], {"lr": optimizer_module(t).required}),
    "step of the base": lambda t: t.optim.Optimizer([param(t)], {}).step(),
    "SGD lr": lambda t: t.optim.SGD([param(t)], lr=-1),
    "SGD lr of several": lambda t: t.optim.SGD([param(t)], lr=t.ones(2)),
    "SGD momentum": lambda t: t.optim.SGD([param(t)], momentum=-1),
    "SGD weight decay": lambda t: t.optim.SGD([param(t)], weight_decay=-1),
    "SGD nesterov": lambda t: t.optim.SGD([param(t)], nesterov=True),
    "SGD nesterov and dampening":
        lambda t: t.optim.SGD([param(t)], momentum=0.9, dampening=0.1, nesterov=True),
    "SGD fused and foreach": lambda t: t.optim.SGD([param(t)], fused=True, foreach=True),
    "SGD fused and differentiable": lambda t: t.optim.SGD([param(t)], fused=True, differentiable=True),
    "Adam lr": lambda t: t.optim.Adam([param(t)], lr=-1),
    "Adam eps": lambda t: t.optim.Adam([param(t)], eps=-1),
    "Adam first beta": lambda t: t.optim.Adam([param(t)], betas=(1.0, 0.5)),
    "Adam second beta": lambda t: t.optim.Adam([param(t)], betas=(0.5, 1.0)),
    "Adam beta of int": lambda t: t.optim.Adam([param(t)], betas=(0, 0.5)),
    "Adam betas of two kinds": lambda t: t.optim.Adam([param(t)], betas=(t.tensor(0.5), 0.5)),
    "Adam betas and foreach":
        lambda t: t.optim.Adam([param(t)], betas=(t.tensor(0.5), t.tensor(0.5)), foreach=True),
    "Adam beta of several": lambda t: t.optim.Adam([param(t)], betas=(t.tensor(0.5), t.tensor([]))),
    "Adam weight decay": lambda t: t.optim.Adam([param(t)], weight_decay=-1),
    "Adam lr of several": lambda t: t.optim.Adam([param(t)], lr=t.ones(2)),
    "Adam lr and foreach": lambda t: t.optim.Adam([param(t)], lr=t.ones(1), foreach=True),
    "Adam fused and foreach": lambda t: t.optim.AdamW([param(t)], fused=True, foreach=True),
    "Adam fused and differentiable": lambda t: t.optim.AdamW([param(t)], fused=True, differentiable=True),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusing(case):
    same(REFUSED[case])


def test_the_same_parameter_in_two_groups():
    def program(t):
        shared = param(t)
        t.optim.SGD([{"params": [shared]}, {"params": [shared]}])

    same(program)


def test_the_same_parameter_twice_in_a_group_warns():
    def program(t):
        shared = param(t)
        with pytest.warns(UserWarning, match="duplicate parameters"):
            t.optim.SGD([shared, shared])

    same(program)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_fused_refuses_complex_parameters(name):
    def program(t):
        param = t.nn.Parameter(t.ones(2, dtype=t.complex64))
        param.grad = t.ones(2, dtype=t.complex64)
        getattr(t.optim, name)([param], fused=True).step()

    same(program, message=False)


def test_capturable_refuses_the_cpu():
    def program(t):
        p = param(t)
        p.grad = t.ones(2)
        t.optim.Adam([p], capturable=True).step()

    same(program, message=False)


@pytest.mark.parametrize(("grads", "buffers"), [(0, 0), (1, 2), (2, 1)])
def test_fused_operators_refuse_lists_that_do_not_go_together(grads, buffers):
    def program(t):
        x = t.ones(2)
        try:
            t._fused_sgd_([x], [x] * grads, [x] * buffers, weight_decay=0.0, momentum=0.9, lr=0.1,
                          dampening=0.0, nesterov=False, maximize=False, is_first_step=False)
        finally:
            assert x.tolist() == [1, 1]

    same(program, message=False)


def test_fused_operators_refuse_leaves_in_grad_mode():
    def program(t):
        p = param(t)
        t._foreach_add_([p], 1)

    same(program, message=False)


@pytest.mark.parametrize("name", ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS",
                                  "NAdam", "RAdam", "RMSprop", "Rprop", "SGD"])
def test_a_learning_rate_of_several_elements_is_refused_by_name(name):
    same(lambda t: getattr(t.optim, name)([t.ones(2, requires_grad=True)], lr=t.tensor([0.1, 0.2])))
