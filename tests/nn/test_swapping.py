"""Modules that exchange their parameters with new ones, in place of changing their data (``torch.__future__``)."""
from __future__ import annotations

import gc
import weakref

import pytest

import mindtorch
from tests.nn.both import same
from tests.support import torch


@pytest.fixture(params=["swap", "overwrite"])
def setting(request: pytest.FixtureRequest):
    """One of the two settings, on in both libraries."""
    setters = [getattr(lib.__future__, f"set_{request.param}_module_params_on_conversion")
               for lib in (mindtorch, torch)]
    for setter in setters:
        setter(True)
    yield request.param
    for setter in setters:
        setter(False)


def test_conversion_keeps_parameters_only_if_they_are_swapped(setting: str) -> None:
    def program(lib):
        module = lib.nn.Linear(2, 2)
        weight = module.weight
        module(lib.ones(1, 2)).sum().backward()
        gradient = weight.grad
        module.double()
        return [module.weight is weight, module.weight.dtype, module.weight.grad, weight.grad is gradient]

    same(program)


def test_loading_swaps_what_the_parameter_is() -> None:
    def program(lib):
        lib.__future__.set_swap_module_params_on_conversion(True)
        try:
            module, other = lib.nn.Linear(2, 2), lib.nn.Linear(2, 2)
            weight = module.weight
            result = module.load_state_dict(other.state_dict())
            return [str(result), module.weight is weight, weight, module.weight.data_ptr() != other.weight.data_ptr()]
        finally:
            lib.__future__.set_swap_module_params_on_conversion(False)

    same(program)


def test_swapped_tensors_exchange_values_attributes_and_storage() -> None:
    def program(lib):
        a, b = lib.ones(2), lib.nn.Parameter(lib.zeros(3, 2))
        a.note, pointers = "first", (a.data_ptr(), b.data_ptr())
        lib.utils.swap_tensors(a, b)
        return [a, b, b.note, hasattr(a, "note"), (b.data_ptr(), a.data_ptr()) == pointers]

    same(program)


def test_graph_before_a_swap_refuses_to_run_backward() -> None:
    def program(lib):
        a, b = lib.nn.Parameter(lib.ones(2)), lib.nn.Parameter(lib.zeros(2))
        out = (a * 2).sum()
        lib.utils.swap_tensors(a, b)
        out.backward()

    with pytest.raises(RuntimeError, match="poisoned by swap_tensors"):
        program(mindtorch)


def test_hook_of_loading_does_not_keep_its_module() -> None:
    module = mindtorch.nn.Linear(2, 2)
    module.register_load_state_dict_pre_hook(lambda *args: None)
    alive = weakref.ref(module)
    gc.disable()
    try:
        del module
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:.*non-full backward:FutureWarning")
def test_old_backward_hooks_of_all_modules_see_the_last_node(monkeypatch: pytest.MonkeyPatch) -> None:
    # PyTorch remembers which kind of hook was registered first, for good
    monkeypatch.setattr(torch.nn.modules.module, "_global_is_full_backward_hook", None)

    def program(lib):
        seen = []
        handle = lib.nn.modules.module.register_module_backward_hook(
            lambda module, inputs, outputs: seen.append((type(module).__name__, len(inputs), len(outputs))))
        try:
            module = lib.nn.ReLU()
            module(lib.ones(2, requires_grad=True)).sum().backward()
        finally:
            handle.remove()
        return seen

    same(program)


@pytest.mark.parametrize("forward", [lambda self, x: [x * 2], lambda self, x: (x * 2, x.exp()),
                                     lambda self, x: x.exp() * 2])
def test_old_backward_hook_warns_of_what_it_does_not_see(forward) -> None:
    for lib in (mindtorch, torch):
        module = type("Made", (lib.nn.Module,), {"forward": forward})()
        module.register_backward_hook(lambda *args: None)
        with pytest.warns(FutureWarning, match="non-full backward hook"):
            module(lib.ones(2, requires_grad=True).exp())
