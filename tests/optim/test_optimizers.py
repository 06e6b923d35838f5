"""SGD, Adam and AdamW step for step beside PyTorch's, and what they refuse."""
from __future__ import annotations

import copy
import importlib
import pickle

import pytest

import mindtorch
from tests.nn.both import same
from tests.support import assert_same, port, torch

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


@pytest.mark.parametrize(("name", "kwargs"), CASES, ids=[f"{name} {kwargs}" for name, kwargs in CASES])
@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_steps(name, kwargs):
    theirs, ours = run(torch, name, kwargs), run(mindtorch, name, kwargs)
    for mine, other in zip(ours, theirs, strict=True):
        assert_same(mine[0], other[0], rtol=1e-5, atol=1e-6)
        if other[1] is not None:
            assert_same(mine[1], other[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS",
                                  "NAdam", "RAdam", "RMSprop", "Rprop", "SGD"])
def test_a_learning_rate_of_several_elements_is_refused_by_name(name):
    same(lambda t: getattr(t.optim, name)([t.ones(2, requires_grad=True)], lr=t.tensor([0.1, 0.2])))


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


@pytest.mark.parametrize("name", ["state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post"])
@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_hooks_of_states_run_in_their_order_and_those_that_ask_for_it_first(lib, name):
    optimizer, seen = lib.optim.SGD([lib.ones(1)], lr=0.1), []
    register = getattr(optimizer, f"register_{name}_hook")
    register(lambda *args: seen.append("first"))
    register(lambda *args: seen.append("second"))
    register(lambda *args: seen.append("in front"), prepend=True)
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == ["in front", "first", "second"]


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


# -- groups, state, hooks ------------------------------------------------------------------------------------


def test_groups_with_settings_of_their_own():
    def program(t):
        model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Linear(2, 1))
        with t.no_grad():
            for param in model.parameters():
                param.fill_(1)
        optimizer = t.optim.SGD([{"params": model[0].parameters(), "lr": 0.5}, {"params": model[1].weight}],
                                lr=0.1, momentum=0.9)
        optimizer.add_param_group({"params": [model[1].bias], "weight_decay": 1.0})
        for _ in range(2):
            optimizer.zero_grad()
            model(t.ones(1, 2)).sum().backward()
            optimizer.step()
        return list(model.parameters()), repr(optimizer), optimizer.state_dict(), optimizer.defaults

    same(program)


def test_named_parameters():
    def program(t):
        layer = t.nn.Linear(2, 1)
        optimizer = t.optim.Adam(layer.named_parameters())
        return optimizer.state_dict(), optimizer.param_groups[0]["param_names"]

    same(program)


def trained(t, name, kwargs, steps=3):
    model = t.nn.Linear(2, 2)
    optimizer = getattr(t.optim, name)(model.parameters(), **kwargs)
    for _ in range(steps):
        optimizer.zero_grad()
        model(t.ones(1, 2)).sum().backward()
        optimizer.step()
    return model, optimizer


@pytest.mark.parametrize(("name", "kwargs"), [("SGD", {"momentum": 0.9}), ("SGD", {}),
                                              ("Adam", {"amsgrad": True}), ("AdamW", {})])
def test_saving_and_loading_state(name, kwargs):
    def program(t):
        _, saved = trained(t, name, kwargs)
        model, loaded = trained(t, name, {**kwargs, "lr": 0.5}, steps=0)
        model.double()
        loaded.load_state_dict(saved.state_dict())
        kept = loaded.state_dict()
        loaded.zero_grad()
        model(t.ones(1, 2, dtype=t.float64)).sum().backward()
        loaded.step()
        return kept, loaded.param_groups[0]["lr"], list(model.parameters())

    same(program)


@pytest.mark.parametrize("make", [copy.deepcopy, lambda optimizer: pickle.loads(pickle.dumps(optimizer))])
def test_copies_keep_state_and_step_on(make):
    _, optimizer = trained(mindtorch, "Adam", {})
    again = make(optimizer)
    assert repr(again) == repr(optimizer)
    param = again.param_groups[0]["params"][0]
    assert param is not optimizer.param_groups[0]["params"][0]
    assert again.state[param]["step"].item() == 3
    before = param.detach().clone()
    param.grad = mindtorch.ones_like(param)
    again.step()
    assert not bool((before == param).any())


@pytest.mark.parametrize("kwargs", [{}, {"fused": True}, {"foreach": True}], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_a_step_count_is_loaded_in_its_dtype_unless_the_step_is_fused(kwargs, dtype):
    def program(t):
        param = t.ones(2, requires_grad=True)
        param.grad = t.ones(2)
        optimizer = t.optim.Adam([param], **kwargs)
        optimizer.step()
        state = optimizer.state_dict()
        state["state"][0]["step"] = state["state"][0]["step"].to(getattr(t, dtype))
        optimizer.load_state_dict(state)
        return optimizer.state[param]

    same(program)


def test_loading_what_does_not_fit():
    def other_groups(t):
        _, optimizer = trained(t, "SGD", {})
        optimizer.load_state_dict({"state": {}, "param_groups": []})

    def other_parameters(t):
        _, optimizer = trained(t, "SGD", {})
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0]}]})

    same(other_groups)
    same(other_parameters)


@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad(set_to_none):
    def program(t):
        model, optimizer = trained(t, "SGD", {})
        gradient = model.weight.grad
        optimizer.zero_grad(set_to_none=set_to_none)
        return model.weight.grad, model.weight.grad is gradient

    same(program)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_closures(name):
    def program(t):
        model, optimizer = trained(t, name, {}, steps=0)

        def closure():
            optimizer.zero_grad()
            loss = (model(t.ones(1, 2)) ** 2).sum()
            loss.backward()
            return loss

        with t.no_grad():
            losses = [optimizer.step(closure) for _ in range(3)]
        return losses, t.is_grad_enabled()

    same(program)


def without_extra(state):
    return {key: value for key, value in state.items() if key != "extra"}


def test_hooks():
    def program(t):
        seen = []
        _, optimizer = trained(t, "SGD", {})
        everywhere = optimizer_module(t)
        handles = [
            everywhere.register_optimizer_step_pre_hook(lambda *args: seen.append(("all pre", len(args)))),
            everywhere.register_optimizer_step_post_hook(lambda *args: seen.append(("all post", len(args)))),
            optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", len(args), kwargs))),
            optimizer.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: 7})),
            optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("post", list(kwargs)))),
            optimizer.register_state_dict_pre_hook(lambda o: seen.append("saving")),
            optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1}),
            optimizer.register_state_dict_post_hook(lambda o, s: seen.append(sorted(s)), prepend=True),
            optimizer.register_load_state_dict_pre_hook(lambda o, state: without_extra(state)),
            optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded")),
        ]
        try:
            loss = optimizer.step()
            state = optimizer.state_dict()
            optimizer.load_state_dict(state)
        finally:
            for handle in handles:
                handle.remove()
        count = len(seen)
        optimizer.step()
        return loss, seen, sorted(state), len(seen) == count

    same(program)


def test_a_hook_that_returns_no_pair():
    def program(t):
        _, optimizer = trained(t, "SGD", {})
        optimizer.register_step_pre_hook(lambda *args: 1)
        optimizer.step()

    same(program, message=False)


def test_an_optimizer_of_ones_own():
    def program(t):
        calls, required = [], optimizer_module(t).required

        class Sign(t.optim.Optimizer):
            def __init__(self, params, lr=required):
                super().__init__(params, {"lr": lr})

            @t.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for param in group["params"]:
                        self.state[param]["count"] = self.state[param].get("count", 0) + 1
                        param.add_(param.grad.sign(), alpha=-group["lr"])

        param = t.nn.Parameter(t.ones(2))
        param.grad = t.tensor([3.0, -3.0])
        optimizer = Sign([param], lr=0.5)
        optimizer.register_step_post_hook(lambda *args: calls.append(1))
        optimizer.step()
        optimizer.step()
        return param, calls, optimizer.state_dict(), repr(optimizer)

    same(program)


# -- what is refused -----------------------------------------------------------------------------------------


def param(t):
    return t.nn.Parameter(t.ones(2))


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
