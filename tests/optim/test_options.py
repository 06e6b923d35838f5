"""Every option of every optimizer: its default, what it refuses, what it changes, what is saved and loaded of it."""
from __future__ import annotations

import copy
import importlib
import inspect
import math
import types
from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch
from tests.nn.both import plain, same
from tests.support import torch

NAMES = ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "RAdam",
         "RMSprop", "Rprop", "SGD", "SparseAdam"]
STEPPING = [name for name in NAMES if name not in ("LBFGS", "SparseAdam")]
FUNCTIONS = ["asgd", "adadelta", "_adafactor", "adagrad", "adam", "adamw", "adamax", "_muon", "nadam", "radam",
             "rmsprop", "rprop", "sgd"]
#: How a step is carried out; what it computes is another matter.
WAYS = ("foreach", "fused", "capturable", "differentiable")


def options_of(name: str) -> dict[str, Any]:
    """The options of an optimizer, with PyTorch's defaults."""
    return {option: parameter.default
            for option, parameter in inspect.signature(getattr(torch.optim, name)).parameters.items()
            if parameter.default is not inspect.Parameter.empty}


OPTIONS = [(name, option) for name in NAMES for option in options_of(name)]


def parameter(t: types.ModuleType) -> Any:
    return t.nn.Parameter(t.arange(6.0).view(2, 3))


@pytest.mark.parametrize("name", NAMES)
def test_options_have_pytorchs_names_order_and_defaults(name: str) -> None:
    ours, theirs = ([(p.name, p.kind, p.default) for p in inspect.signature(getattr(t.optim, name)).parameters.values()]
                    for t in (mindtorch, torch))
    assert ours == theirs
    same(lambda t: (getattr(t.optim, name)([parameter(t)]).defaults, repr(getattr(t.optim, name)([parameter(t)])),
                    getattr(t.optim, name)([parameter(t)]).state_dict()))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_pytorchs_parameters(name: str) -> None:
    functions = [getattr(importlib.import_module(f"{t.__name__}.optim.{name}"), name.strip("_"))
                 for t in (mindtorch, torch)]
    ours, theirs = ([(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]
                    for function in functions)
    assert [row for row in ours if row in theirs] == theirs


def odd_values(default: Any) -> Iterator[Any]:
    """Values that an option may not take, or only just."""
    if isinstance(default, tuple):
        for i in range(len(default)):
            for value in (-1.0, 0.0, 1.0, 1.5, float("nan")):
                yield (*default[:i], value, *default[i + 1:])
    elif isinstance(default, bool):
        yield not default
    else:
        yield from (-1.0, -1e-9, 0.0, 0, 0.5, 1.0, 2.5, float("inf"), float("nan"), "text")


@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=[f"{name}, {option}" for name, option in OPTIONS])
def test_an_option_takes_and_refuses_what_it_does_in_pytorch(name: str, option: str) -> None:
    for value in odd_values(options_of(name)[option]):
        if name == "SGD" and value != value:
            continue  # which PyTorch takes here alone

        def program(t: types.ModuleType, value: Any = value) -> Any:
            return plain(getattr(t.optim, name)([parameter(t)], **{option: value}).defaults)

        same(program, message=not isinstance(value, str))


def other_value(option: str, default: Any) -> Any:
    """A value other than the default with which steps are not the same."""
    if option == "adjust_lr_fn":
        return "match_rms_adamw"
    if option == "step_sizes":
        return 0.004, 0.012
    if isinstance(default, tuple):
        return tuple(0.3 if value is None else value * 0.9 for value in default)
    if isinstance(default, bool):
        return not default
    return {"ns_steps": 3, "t0": 1.0, "d": 1.5, "beta2_decay": -0.4, "eps": 0.3}.get(
        option, (default or 0.0) * 0.7 + 0.06)


def steps(t: types.ModuleType, name: str, options: dict[str, Any]) -> tuple[Any, list[Any], Any]:
    """An optimizer after some steps, with which the parameters were moved, and those."""
    dtype = t.float32 if name == "Muon" else t.float64
    params = [t.nn.Parameter(t.linspace(-1, 2, 12, dtype=dtype).view(3, 4)),
              t.nn.Parameter(t.linspace(1, -2, 4, dtype=dtype).view(4, 1))]
    optimizer, seen = getattr(t.optim, name)(params, **options), []
    for step in range(7):
        for i, param in enumerate(params):
            param.grad = t.cos(param.detach() * (3 + i) + step) * (1 + i + step)
        optimizer.step()
        seen.append([param.detach().clone() for param in params])
    return optimizer, seen, params


CHANGING = [(name, option) for name, option in OPTIONS if name in STEPPING and option not in WAYS]


@pytest.mark.parametrize(("name", "option"), CHANGING, ids=[f"{name}, {option}" for name, option in CHANGING])
def test_an_option_changes_steps_and_state_as_in_pytorch(name: str, option: str) -> None:
    extra = ({"momentum": 0.5} if name == "SGD" and option in ("dampening", "nesterov") else
             {"weight_decay": 0.1} if option == "decoupled_weight_decay" else {})
    options = {option: other_value(option, options_of(name)[option]), **extra}
    loose = {"rel": 2e-3, "abs": 2e-3} if name == "Muon" else {"rel": 1e-9, "abs": 1e-11}

    def found(t: types.ModuleType, options: dict[str, Any]) -> tuple[Any, Any]:
        optimizer, seen, _ = steps(t, name, options)
        state = optimizer.state_dict()["state"]
        return ([value for row in seen for param in row for value in param.flatten().tolist()],
                {(i, key): (str(value.dtype).rpartition(".")[2], tuple(value.shape), value.flatten().tolist())
                 if hasattr(value, "dtype") else value for i in state for key, value in state[i].items()})

    ours, theirs = found(mindtorch, options), found(torch, options)
    assert ours[0] == pytest.approx(theirs[0], **loose)
    assert list(ours[1]) == list(theirs[1])
    for key, value in theirs[1].items():
        mine = ours[1][key]
        if isinstance(value, tuple):
            assert mine[:2] == value[:2] and mine[2] == pytest.approx(value[2], **loose), key
        else:
            assert mine == value, key
    usual = found(torch, extra)
    assert usual != theirs, f"{options} changes nothing, so that nothing was tried"


@pytest.mark.parametrize("name", STEPPING)
def test_a_saved_optimizer_goes_on_as_if_it_had_not_been_saved(name: str) -> None:
    kept, _, params = steps(mindtorch, name, {})
    again, _, others = steps(mindtorch, name, {"lr": 0.5})
    with mindtorch.no_grad():
        for other, param in zip(others, params, strict=True):
            other.copy_(param)
            other.grad = param.grad
    again.load_state_dict(copy.deepcopy(kept.state_dict()))
    assert again.param_groups[0]["lr"] == kept.param_groups[0]["lr"]
    for optimizer in kept, again:
        optimizer.step()
    assert all(mindtorch.allclose(a, b, rtol=1e-7) for a, b in zip(params, others, strict=True))


#: What groups that older versions saved lack, and PyTorch gives them.
LACKED: dict[str, tuple[str, ...]] = {
    "SGD": ("nesterov", "maximize", "foreach", "differentiable"), "Adafactor": ("foreach",), "Muon": (),
    "RMSprop": ("momentum", "centered", "maximize", "foreach", "capturable", "differentiable"),
}


@pytest.mark.parametrize("name", STEPPING)
def test_what_older_versions_saved_is_loaded_as_in_pytorch(name: str) -> None:
    """Their groups lack settings that came later, and steps were numbers."""
    numbers = ("step", "mu_product", "eta", "mu")
    lacked = LACKED.get(name, (*WAYS, "maximize", "amsgrad", "decoupled_weight_decay"))

    def program(t: types.ModuleType) -> Any:
        optimizer = steps(t, name, {})[0]
        state = copy.deepcopy(optimizer.state_dict())
        for group in state["param_groups"]:
            for option in lacked:
                group.pop(option, None)
        for of_one in state["state"].values():
            for key in set(numbers) & set(of_one):
                of_one[key] = of_one[key].item()
        optimizer.load_state_dict(state)
        group = sorted((key, str(value)) for key, value in optimizer.param_groups[0].items() if key != "params")
        loaded = optimizer.state_dict()["state"]
        return group, {i: {key: (value.dtype, value.item()) for key, value in loaded[i].items() if key in numbers}
                       for i in loaded}

    same(program)


@pytest.mark.parametrize("name", [name for name in STEPPING if "differentiable" in options_of(name)])
def test_a_differentiable_step_has_pytorchs_gradients(name: str) -> None:
    """Of what it started from, of the gradients, and of the learning rate if that is a tensor."""
    def program(t: types.ModuleType) -> Any:
        start = t.linspace(-1, 2, 4, dtype=t.float64).requires_grad_()
        slope = t.linspace(1, 3, 4, dtype=t.float64).requires_grad_()
        param = start.clone()
        optimizer = getattr(t.optim, name)([param], lr=0.1, differentiable=True)
        for step in range(2):
            param.grad = slope * (step + 1)
            optimizer.step()
        (param * t.arange(4)).sum().backward()
        return [None if x.grad is None else x.grad.tolist() for x in (start, slope)], param.tolist()

    if not isinstance(ask(program, torch), Exception):  # two of PyTorch's write what backward needs
        same(program)


@pytest.mark.parametrize("name", STEPPING)
@pytest.mark.parametrize("way", ["foreach", "capturable", "fused", "differentiable"])
def test_flags_that_do_not_go_together_are_refused_as_in_pytorch(name: str, way: str) -> None:
    if way not in options_of(name):
        return
    for other in WAYS:
        if other in options_of(name) and other != way:
            def program(t: types.ModuleType, other: str = other) -> Any:
                return getattr(t.optim, name)([parameter(t)], **{way: True, other: True}).defaults

            same(program)


@pytest.mark.parametrize("name", [name for name in STEPPING if "foreach" in options_of(name) and name != "Muon"])
def test_lists_of_unlike_tensors_step_together_as_one_by_one(name: str) -> None:
    """Of other dtypes, complex, without a gradient at first, with more steps behind them than others."""
    def run(t: types.ModuleType, foreach: bool) -> list[Any]:
        dtypes = [t.float32, t.float64, t.float32, t.float64] + ([] if name == "Adafactor" else [t.complex64])
        params = [t.nn.Parameter((t.arange(4) - 1.5).to(dtype)) for dtype in dtypes]
        optimizer = getattr(t.optim, name)(params, lr=0.1, foreach=foreach)
        for step in range(3):
            for i, param in enumerate(params):
                param.grad = None if step < i % 3 else param.detach() * 2 + step
            optimizer.step()
        return [t.view_as_real(p).detach() if p.is_complex() else p.detach() for p in params]

    for mine, single, theirs in zip(run(mindtorch, True), run(mindtorch, False), run(torch, True), strict=True):
        assert mine.flatten().tolist() == pytest.approx(theirs.flatten().tolist(), rel=1e-5, abs=1e-6)
        assert mine.flatten().tolist() == pytest.approx(single.flatten().tolist(), rel=1e-6, abs=1e-7)


# -- L-BFGS ------------------------------------------------------------------------------------------------------------

LOSSES = {
    "a bowl": lambda t, x: (t.arange(1, 5, dtype=x.dtype) * x * x).sum(),
    "a valley": lambda t, x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(),
    "waves": lambda t, x: (t.sin(2 * x) / 2 + 0.1 * x * x).sum(),
    "a slope": lambda t, x: t.exp(-x).sum() + 0.01 * x.sum(),
    "a flat": lambda t, x: ((x - 1) ** 4).sum() * 1e-3,
}
SEARCHES: list[dict[str, Any]] = [
    {}, {"history_size": 1}, {"lr": 0.3}, {"max_iter": 3}, {"max_eval": 4}, {"tolerance_grad": 0.5},
    {"tolerance_change": 0.05}, {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "history_size": 2},
    {"line_search_fn": "strong_wolfe", "lr": 0.01}, {"line_search_fn": "strong_wolfe", "lr": 30.0},
    {"line_search_fn": "strong_wolfe", "max_eval": 5}, {"line_search_fn": "strong_wolfe", "tolerance_change": 0.05},
    {"line_search_fn": "other"},
]


@pytest.mark.parametrize("options", SEARCHES, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_lbfgs_takes_pytorchs_steps_and_keeps_pytorchs_state(loss: str, options: dict[str, Any]) -> None:
    def program(t: types.ModuleType) -> Any:
        parts = [t.nn.Parameter(t.tensor([-1.2, 1.0], dtype=t.float64)), t.nn.Parameter(t.tensor([[0.5], [2.0]],
                                                                                           dtype=t.float64))]
        optimizer, seen = t.optim.LBFGS(parts, **{"max_iter": 7, **options}), []

        def closure() -> Any:
            optimizer.zero_grad()
            value = LOSSES[loss](t, t.cat([part.flatten() for part in parts]))
            value.backward()
            seen.append(value.item())
            return value

        seen += [float(optimizer.step(closure)) for _ in range(2)]
        state = optimizer.state_dict()["state"][0]
        numbers = {key: len(value) if isinstance(value, list) else value.flatten().tolist()
                   if isinstance(value, t.Tensor) else value for key, value in state.items() if key != "al"}
        return seen, [part.flatten().tolist() for part in parts], numbers

    ours, theirs = ask(program, mindtorch), ask(program, torch)
    assert type(ours) is type(theirs)
    if isinstance(ours, Exception):
        assert str(ours) == str(theirs)
        return
    assert close(ours[0], theirs[0]) and close(ours[1], theirs[1])
    assert set(ours[2]) == set(theirs[2])
    assert all(close(ours[2][key], value) for key, value in theirs[2].items()), (ours[2], theirs[2])


@pytest.mark.parametrize("start", [0.0, 3.0])
def test_a_search_at_a_corner_ends_where_its_interval_is_small(start: float) -> None:
    def program(t: types.ModuleType) -> list[float]:
        x, seen = t.tensor([start], dtype=t.float64, requires_grad=True), []
        optimizer = t.optim.LBFGS([x], max_iter=1, max_eval=60, line_search_fn="strong_wolfe")

        def closure() -> Any:
            optimizer.zero_grad()
            value = (x - 1.3).abs().sum()  # whose slope is never small
            value.backward()
            seen.append(value.item())
            return value

        optimizer.step(closure)
        return seen

    ours, theirs = program(mindtorch), program(torch)
    assert len(ours) == len(theirs) < 30 and close(ours, theirs)


def ask(program: Any, t: types.ModuleType) -> Any:
    try:
        return program(t)
    except Exception as error:  # which one it is, is what is compared
        return error


def close(mine: Any, other: Any) -> bool:
    """Whether numbers agree as far as rounding that a search magnifies lets them."""
    if isinstance(other, list):
        return len(mine) == len(other) and all(map(close, mine, other))
    if isinstance(other, (int, float)):
        return math.isclose(mine, other, rel_tol=1e-4, abs_tol=1e-7) or (mine != mine and other != other)
    return bool(mine == other)
