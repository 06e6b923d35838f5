"""Groups of parameters, state that is saved and loaded, closures and hooks: as in PyTorch."""
from __future__ import annotations

import copy
import pickle

import pytest

import mindtorch
from tests.nn.both import same
from tests.support import torch

from .programs import optimizer_module, trained


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


@pytest.mark.parametrize("create_graph", [True, False])
@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad(set_to_none, create_graph):
    def program(t):
        model, optimizer = trained(t, "SGD", {})
        gradient = model.weight.grad.requires_grad_(create_graph)
        if create_graph:
            (model.weight ** 3).sum().backward(inputs=[model.weight], create_graph=True)
            gradient = model.weight.grad
        optimizer.zero_grad(set_to_none=set_to_none)
        return model.weight.grad, model.weight.grad is gradient, gradient.requires_grad

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
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got 1\.$"):
        program(mindtorch)


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
