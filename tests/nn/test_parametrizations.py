"""Parametrised, normalised, pruned and fused modules, beside PyTorch's."""
from __future__ import annotations

import copy
import importlib
import pickle

import pytest

import mindtorch
from tests.both import assert_same_outcome, each_program
from tests.nn.both import plain, same
from tests.support import torch

LIBRARIES = (mindtorch, torch)
importlib.import_module("torch.nn.utils.prune")  # PyTorch does not import it by itself


def shown(module) -> list:
    """The module, its state, and what it makes of an input, with gradients."""
    return [module, dict(module.state_dict()), sorted(name for name, _ in module.named_parameters())]


def trained(lib, module, features: int = 3) -> list:
    """A forward and backward pass, and what is left in the module."""
    output = module(lib.arange(2.0 * features).reshape(2, features).cos())
    (output * output).sum().backward()
    return [output, [parameter.grad for parameter in module.parameters()], *shown(module)]


def doubling(lib):
    class Doubled(lib.nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, x):
            return x / 2

    return Doubled()


def splitting(lib):
    class Sum(lib.nn.Module):
        def forward(self, a, b):
            return a + b

        def right_inverse(self, x):
            return x / 4, 3 * x / 4

    return Sum()


def returning(lib, function):
    class Given(lib.nn.Module):
        def forward(self, x):
            return function(x)

    return Given()


def registered(lib, made, module=None, **options):
    module = lib.nn.Linear(3, 2) if module is None else module
    return lib.nn.utils.parametrize.register_parametrization(module, "weight", made(lib), **options)


@pytest.mark.parametrize("program", [
    lambda lib: trained(lib, registered(lib, doubling)),
    lambda lib: trained(lib, registered(lib, splitting)),
    lambda lib: trained(lib, registered(lib, doubling, registered(lib, doubling))),
    lambda lib: trained(lib, lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(3, 2))),
    lambda lib: trained(lib, lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(3, 2), dim=None)),
    lambda lib: trained(lib, lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(3, 2), dim=1)),
    lambda lib: trained(lib, lib.nn.utils.parametrizations.spectral_norm(lib.nn.Linear(3, 2))),
    lambda lib: trained(lib, lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(3, 3))),
    lambda lib: trained(lib, lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(3, 2))),
    lambda lib: trained(lib, lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(3, 5), orthogonal_map="cayley")),
    lambda lib: trained(lib, lib.nn.utils.weight_norm(lib.nn.Linear(3, 2))),
    lambda lib: trained(lib, lib.nn.utils.spectral_norm(lib.nn.Linear(3, 2), n_power_iterations=2)),
    lambda lib: trained(lib, lib.nn.utils.remove_weight_norm(lib.nn.utils.weight_norm(lib.nn.Linear(3, 2)))),
    lambda lib: trained(lib, lib.nn.utils.remove_spectral_norm(lib.nn.utils.spectral_norm(lib.nn.Linear(3, 1)))),
])
@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
def test_training_gives_pytorchs_numbers_and_names(program) -> None:
    same(program)


@pytest.mark.parametrize("program", [
    lambda lib: registered(lib, lambda lib: returning(lib, lambda x: x.double())),
    lambda lib: registered(lib, lambda lib: returning(lib, lambda x: x[:1])),
    lambda lib: registered(lib, lambda lib: returning(lib, lambda x: [x])),
    lambda lib: registered(lib, lambda lib: returning(lib, lambda x: x.double()), registered(lib, doubling)),
    lambda lib: registered(lib, doubling, lib.nn.ReLU()),
    lambda lib: lib.nn.utils.parametrize.remove_parametrizations(lib.nn.Linear(2, 2), "weight"),
    lambda lib: lib.nn.utils.parametrize.remove_parametrizations(registered(lib, splitting), "weight", False),
    lambda lib: setattr(registered(lib, lambda lib: returning(lib, lambda x: x * 1)), "weight", lib.zeros(2, 3)),
    lambda lib: pickle.dumps(registered(lib, doubling)),
    lambda lib: lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(2, 2), "bias"),
    lambda lib: lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(2, 2), orthogonal_map="other"),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(lib.nn.Linear(2, 2), n_power_iterations=0),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(lib.nn.Linear(2, 2), dim=2),
    lambda lib: lib.nn.utils.remove_weight_norm(lib.nn.Linear(2, 2)),
    lambda lib: lib.nn.utils.remove_spectral_norm(lib.nn.Linear(2, 2)),
])
def test_wrong_parametrizations_raise_pytorchs_errors(program) -> None:
    same(program)


def test_parametrized_tensor_can_be_assigned_to_cached_copied_and_removed() -> None:
    def program(lib):
        parametrize = lib.nn.utils.parametrize
        module = registered(lib, doubling)
        module.weight = lib.full((2, 3), 6.0)
        found = [module.parametrizations.weight.original, module.weight, parametrize.is_parametrized(module),
                 parametrize.is_parametrized(module, "bias"), parametrize.type_before_parametrizations(module)]
        with parametrize.cached():
            found.append(module.weight is module.weight)
        found += [module.weight is module.weight, copy.deepcopy(module).weight]
        other = parametrize.transfer_parametrizations_and_params(module, lib.nn.Linear(3, 2))
        found += shown(other)
        parametrize.remove_parametrizations(module, "weight")
        return [*found, *shown(module), type(module)]

    same(program)


def test_state_of_the_older_weight_norm_is_read() -> None:
    def program(lib):
        old = lib.nn.utils.weight_norm(lib.nn.Linear(3, 2))
        new = lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(3, 2))
        new.load_state_dict(old.state_dict())
        return [new.weight, dict(new.state_dict())]

    with pytest.warns(FutureWarning, match="deprecated in favor of"):
        same(program)


@pytest.mark.parametrize("name", ["weight", "bias"])
@pytest.mark.parametrize("program", [
    lambda prune, module, name: prune.l1_unstructured(module, name, 0.5),
    lambda prune, module, name: prune.l1_unstructured(prune.l1_unstructured(module, name, 1), name, 1),
    lambda prune, module, name: prune.random_unstructured(module, name, amount=2),
    lambda prune, module, name: prune.ln_structured(module, name, amount=1, n=2, dim=0),
    lambda prune, module, name: prune.ln_structured(prune.random_structured(module, name, 1, 1), name, 1, 1, 0),
    lambda prune, module, name: prune.remove(prune.l1_unstructured(module, name, 2), name),
    lambda prune, module, name: prune.identity(module, name),
    lambda prune, module, name: prune.l1_unstructured(module, name, 99),
    lambda prune, module, name: prune.l1_unstructured(module, name, -1),
    lambda prune, module, name: prune.l1_unstructured(module, name, "all"),
    lambda prune, module, name: prune.remove(module, name),
    lambda prune, module, name: prune.global_unstructured(
        [(module, "weight"), (module, "bias")], prune.L1Unstructured, amount=3) or module,
    lambda prune, module, name: prune.global_unstructured([(module, name)], prune.LnStructured, amount=1, n=1),
])
def test_pruning_keeps_what_pytorch_keeps(program, name: str) -> None:
    def run(lib):
        module = program(lib.nn.utils.prune, lib.nn.Linear(4, 3), name)
        return [*trained(lib, module, 4), lib.nn.utils.prune.is_pruned(module)]

    same(run)


def test_modules_are_made_without_initial_values() -> None:
    made = mindtorch.nn.utils.skip_init(mindtorch.nn.Linear, 2, 3, dtype=mindtorch.float64)
    assert (made.weight.shape, made.weight.dtype, made.weight.device.type) == ((3, 2), mindtorch.float64, "cpu")
    same(lambda lib: lib.nn.utils.skip_init(lib.nn.ReLU))


@pytest.mark.filterwarnings("ignore:.*stateless.functional_call.*:FutureWarning")
@pytest.mark.parametrize("options", [{}, {"strict": True}, {"tie_weights": False}], ids=str)
@pytest.mark.parametrize("names", [("0.weight",), ("0.weight", "0.bias"), ("0.weight", "1.weight"), ("2.weight",)])
def test_module_is_called_with_other_parameters(names: tuple[str, ...], options: dict) -> None:
    def program(lib):
        module = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Linear(2, 2))
        module[1].weight = module[0].weight
        before = module[0].weight
        given = {name: lib.full((2,) if "bias" in name else (2, 2), 1.0 + i) for i, name in enumerate(names)}
        result = lib.nn.utils.stateless.functional_call(module, given, lib.ones(1, 2), **options)
        return [result, module[0].weight is before]

    same(program, message="2" not in names[0])


def test_state_of_a_normalised_module_is_pytorchs() -> None:
    ours, theirs = (lib.nn.utils.spectral_norm(lib.nn.Linear(2, 2)).state_dict() for lib in LIBRARIES)
    assert list(ours) == list(theirs)
    assert ours._metadata[""] == theirs._metadata[""]
    assert plain(ours["weight_u"].shape) == plain(theirs["weight_u"].shape)


def test_spectral_norm_reads_the_state_of_pytorch_0_4():
    def program(t):
        module = t.nn.utils.spectral_norm(t.nn.Linear(3, 2))
        state = {f"weight{suffix}": t.tensor(values) for suffix, values in {
            "_orig": [[1., 2., 3.], [4., 1., -1.]], "": [[.5, 1., 1.5], [2., .5, -.5]], "_u": [.6, .8]}.items()}
        module.load_state_dict({"bias": t.zeros(2), **state})
        plain = t.nn.utils.remove_spectral_norm(module)
        return plain.weight, sorted(plain.state_dict())

    same(program)
    same(lambda t: t.nn.utils.spectral_norm(t.nn.Linear(3, 2)).load_state_dict({"bias": t.zeros(2)}))


@each_program(*[
    lambda t, settings=settings: t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(2, 3), **settings)  # type: ignore[misc]
    for settings in ({"dim": 2}, {"dim": -3}, {"n_power_iterations": 0})])
def test_a_spectral_norm_has_a_dimension_and_iterations(program) -> None:
    assert_same_outcome(program)


@pytest.mark.parametrize("kind", ["unstructured", "structured", "global", "strange"])
def test_a_container_leaves_to_a_method_of_each_type_what_the_others_have_left(kind) -> None:
    def program(t):
        prune = t.nn.utils.prune

        class Smallest(prune.BasePruningMethod):
            PRUNING_TYPE, dim = kind, 1

            def compute_mask(self, tensor, default_mask):
                seen.append(tensor)
                return default_mask * (tensor != tensor.min())

        seen, container = [], prune.PruningContainer()
        container._tensor_name = Smallest._tensor_name = "weight"
        container.add_pruning_method(Smallest())
        weight = t.tensor([[3.0, 1.0, 0.5], [2.0, 4.0, 6.0]])
        return container.compute_mask(weight, t.tensor([[1.0, 1, 0], [1, 1, 0]])), seen

    assert_same_outcome(program)


@pytest.mark.parametrize("training", [True, False])
def test_a_parametrization_is_in_the_mode_of_its_module(training) -> None:
    module, parametrization = mindtorch.nn.Linear(2, 2).train(training), mindtorch.nn.Dropout().train(not training)
    mindtorch.nn.utils.parametrize.register_parametrization(module, "weight", parametrization)
    assert parametrization.training == training
