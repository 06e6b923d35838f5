"""``Module``: what is registered, found, converted, and refused."""
from __future__ import annotations

import copy
import pickle

import pytest

import mindtorch
from tests.nn.both import same
from tests.support import torch


def net(t):
    inner = t.nn.Sequential(t.nn.Linear(4, 2), t.nn.Dropout(0.3))
    return t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU(), inner)


class Owner:
    """A module with a parameter, a buffer of each kind, a missing one of each, and a child."""

    def __new__(cls, t):
        class Model(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = t.nn.Parameter(t.ones(2))
                self.missing = None
                self.register_parameter("bias", None)
                self.register_buffer("mean", t.zeros(2))
                self.register_buffer("cache", t.zeros(3), persistent=False)
                self.register_buffer("none", None)
                self.inner = t.nn.Linear(2, 1)
                self.plain = [1, 2]

            def forward(self, x, scale=1):
                return self.inner(x * self.weight * scale + self.mean)

        return Model()


def assigned(name, make):
    """What becomes of a module when something is assigned."""

    def program(t):
        model = Owner(t)
        setattr(model, name, make(t))
        return (list(model._parameters), list(model._buffers), list(model._modules),
                sorted(model._non_persistent_buffers_set), name in model.__dict__)

    return program


VALUES = {
    "a parameter": lambda t: t.nn.Parameter(t.ones(1)), "a tensor": lambda t: t.ones(1),
    "a module": lambda t: t.nn.ReLU(),
    "None": lambda t: None, "a number": lambda t: 3, "a buffer": lambda t: t.nn.Buffer(t.ones(1)),
    "a passing buffer": lambda t: t.nn.Buffer(t.ones(1), persistent=False),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", ["new", "weight", "bias", "mean", "cache", "inner", "plain"])
def test_assigning(name, value):
    same(assigned(name, VALUES[value]))


@pytest.mark.parametrize("name", ["weight", "bias", "mean", "cache", "inner", "plain", "unknown"])
def test_deleting(name):
    def program(t):
        model = Owner(t)
        delattr(model, name)
        return hasattr(model, name), sorted(model._non_persistent_buffers_set), list(model.state_dict())

    same(program, message=name != "unknown")


def without_init(t, value):
    class Model(t.nn.Module):
        def __init__(self):
            self.x = value(t)

    return Model()


def without_init_but(t, register):
    class Model(t.nn.Module):
        def __init__(self):
            register(self)

    return Model()


REFUSED = {
    "unexpected argument": lambda t: t.nn.Module(1),
    "unexpected keyword": lambda t: t.nn.Module(a=1),
    "no forward": lambda t: t.nn.Module()(1),
    "unknown attribute": lambda t: Owner(t).unknown,
    "buffer with a dot": lambda t: Owner(t).register_buffer("a.b", None),
    "buffer without a name": lambda t: Owner(t).register_buffer("", None),
    "buffer of a taken name": lambda t: Owner(t).register_buffer("weight", None),
    "buffer that is a number": lambda t: Owner(t).register_buffer("x", 1),
    "buffer whose name is a number": lambda t: Owner(t).register_buffer(1, None),
    "parameter that is a number": lambda t: Owner(t).register_parameter("x", 1),
    "parameter that is a tensor": lambda t: Owner(t).register_parameter("x", t.ones(2)),
    "parameter of a taken name": lambda t: Owner(t).register_parameter("forward", None),
    "parameter with a dot": lambda t: Owner(t).register_parameter("a.b", None),
    "module that is a number": lambda t: Owner(t).add_module("x", 1),
    "module of a taken name": lambda t: Owner(t).add_module("weight", t.nn.ReLU()),
    "module whose name is a number": lambda t: Owner(t).add_module(1, t.nn.ReLU()),
    "module with a dot": lambda t: Owner(t).add_module("a.b", t.nn.ReLU()),
    "module without a name": lambda t: Owner(t).add_module("", t.nn.ReLU()),
    "parameter before init": lambda t: without_init(t, lambda t: t.nn.Parameter(t.ones(1))),
    "module before init": lambda t: without_init(t, lambda t: t.nn.ReLU()),
    "buffer before init": lambda t: without_init_but(t, lambda m: m.register_buffer("a", None)),
    "no parameter before init": lambda t: without_init_but(t, lambda m: m.register_parameter("a", None)),
    "submodule that is not there": lambda t: Owner(t).get_submodule("inner.x"),
    "submodule that is a parameter": lambda t: Owner(t).get_submodule("weight"),
    "parameter that is not there": lambda t: Owner(t).get_parameter("inner.x"),
    "parameter that is a buffer": lambda t: Owner(t).get_parameter("mean"),
    "buffer that is a parameter": lambda t: Owner(t).get_buffer("weight"),
    "setting no submodule": lambda t: Owner(t).set_submodule("", t.nn.ReLU()),
    "setting what is no module": lambda t: Owner(t).set_submodule("inner", 1),
    "setting in place of a parameter": lambda t: Owner(t).set_submodule("weight", t.nn.ReLU()),
    "setting strictly what is not there": lambda t: Owner(t).set_submodule("new", t.nn.ReLU(), strict=True),
    "setting below nothing": lambda t: Owner(t).set_submodule("a.b", t.nn.ReLU()),
    "mode that is no bool": lambda t: Owner(t).train(1),
    "conversion to integers": lambda t: Owner(t).to(t.int64),
    "conversion from meta": lambda t: t.nn.Linear(2, 2, device="meta").to("cpu"),
    "a parameter of integers": lambda t: t.nn.Parameter(t.ones(2, dtype=t.int64)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusing(case):
    same(REFUSED[case])


@pytest.mark.parametrize("device", ["cpu", None])
def test_a_truth_value_is_no_dtype(device):
    same(lambda t: Owner(t).to(device, True), message=False)


def test_parameters_and_buffers_with_their_names():
    def program(t):
        model = Owner(t)
        shared = t.nn.ModuleList([model, model, net(t)])
        return [[name for name, _ in found] for found in (
            model.named_parameters(), model.named_buffers(), model.named_children(), model.named_modules(),
            shared.named_parameters(), shared.named_parameters(remove_duplicate=False),
            shared.named_modules(),
            shared.named_modules(remove_duplicate=False), shared.named_parameters(prefix="p", recurse=False),
            shared.named_buffers(prefix="p"), shared.named_children(), model.named_parameters(recurse=False))]

    same(program)


def test_a_buffer_goes_through_an_override_that_knows_of_no_others():
    def program(t):
        class Old(t.nn.Linear):
            def register_buffer(self, name, value):
                super().register_buffer(name, value * 2)

        module = Old(1, 1)
        module.mean = t.nn.Buffer(t.ones(2))
        return list(module.named_buffers())

    same(program)


def test_looking_up_by_path():
    def program(t):
        model = t.nn.Sequential(Owner(t))
        model.set_submodule("0.inner", t.nn.Identity())
        model.set_submodule("0.extra", t.nn.Tanh())
        return (model.get_submodule("0.inner"), model.get_parameter("0.weight"), model.get_buffer("0.cache"),
                model)

    same(program)


def test_calling_forwards_arguments():
    same(lambda t: Owner(t)(t.ones(1, 2), scale=3))


def test_apply_visits_children_first():
    def program(t):
        seen = []
        net(t).apply(lambda module: seen.append(type(module).__name__))
        return seen

    same(program)


def test_train_and_eval_reach_everything_below():
    def program(t):
        model = net(t)
        states = [[m.training for m in model.modules()]]
        model.eval()
        states.append([m.training for m in model.modules()])
        model[2].train()
        states.append([m.training for m in model.modules()])
        return states, model.requires_grad_(False)[0].weight.requires_grad

    same(program)


@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad(set_to_none):
    def program(t):
        model = net(t).eval()
        model(t.ones(2, 3)).sum().backward()
        before = model[0].weight.grad
        model.zero_grad(set_to_none=set_to_none)
        return [p.grad for p in model.parameters()], before is model[0].weight.grad

    same(program)


CONVERSIONS = {
    "double": lambda m, t: m.double(), "half": lambda m, t: m.half(), "bfloat16": lambda m, t: m.bfloat16(),
    "float": lambda m, t: m.double().float(), "to dtype": lambda m, t: m.to(t.float64), "to device": lambda m,
    t: m.to("cpu"),
    "to both": lambda m, t: m.to("cpu", t.float64), "to another": lambda m,
    t: m.to(t.ones(1, dtype=t.float16)),
    "type": lambda m, t: m.type(t.float64), "type by name": lambda m, t: m.type("torch.DoubleTensor"),
    "to meta": lambda m, t: m.to("meta"), "to empty": lambda m, t: m.to_empty(device="meta"),
    "cpu": lambda m, t: m.cpu(),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_converting_keeps_the_parameters_objects(name):
    def program(t):
        model = Owner(t)
        model.register_buffer("count", t.ones(2, dtype=t.int64))
        model.weight.grad = t.ones(2)
        weight, gradient, mean = model.weight, model.weight.grad, model.mean
        converted = CONVERSIONS[name](model, t)
        return (converted is model, model.weight is weight, model.weight.grad is gradient, model.mean is mean,
                model.weight, model.weight.grad, model.mean, model.count,
                isinstance(model.weight, t.nn.Parameter), model.weight.is_leaf)

    same(program)


def test_converting_to_complex_warns():
    def program(t):
        with pytest.warns(UserWarning, match="Complex modules are a new feature"):
            return t.nn.Linear(1, 1).to(t.complex64).weight.dtype

    same(program)


def test_sharing_a_parameter_survives_conversion_and_copies():
    def program(t):
        model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Linear(2, 2))
        model[1].weight = model[0].weight
        return [(other[0].weight is other[1].weight, len(list(other.parameters())))
                for other in (model.double(), copy.deepcopy(model))]

    same(program)


def test_deepcopy_is_independent_and_drops_gradients():
    def program(t):
        model = Owner(t)
        model.weight.grad = t.ones(2)
        other = copy.deepcopy(model)
        with t.no_grad():
            other.weight.add_(1)
        return (model.weight, other.weight, other.weight.grad, type(other.weight), list(other.state_dict()),
                other.plain is model.plain)

    same(program)


def test_pickling_keeps_everything():
    model = net(mindtorch)
    again = pickle.loads(pickle.dumps(model))
    assert repr(again) == repr(model)
    assert list(again.state_dict()) == list(model.state_dict())
    assert all(bool((a == b).all()) for a, b in zip(again.parameters(), model.parameters(), strict=True))
    assert all(isinstance(p, mindtorch.nn.Parameter) and p.requires_grad for p in again.parameters())


def test_repr():
    def program(t):
        class Named(t.nn.Module):
            def extra_repr(self):
                return "first\nsecond"

        model = t.nn.Sequential(net(t), Named(), t.nn.Module(), t.nn.Linear(2, 2, bias=False))
        model.add_module("none", None)
        frozen = t.nn.Parameter(t.ones(2), requires_grad=False)
        return repr(model), repr(Named()), repr(t.nn.Parameter(t.ones(2))), repr(frozen)

    same(program)


def test_dir_lists_members_but_no_numbers():
    def program(t):
        model = Owner(t)
        model.add_module("0", t.nn.ReLU())
        names = dir(model)
        return [name in names for name in ("weight", "bias", "mean", "inner", "plain", "forward", "0")]

    same(program)


def test_parameter():
    def program(t):
        data = t.ones(3)
        param = t.nn.Parameter(data)
        data.add_(1)
        copied = copy.deepcopy(param)
        return (param, param.data_ptr() == data.data_ptr(), type(param.data), type(param + 1),
                type(param.detach()),
                type(copied), copied, isinstance(data, t.nn.Parameter), t.nn.Parameter().shape,
                t.nn.Parameter(data, requires_grad=False), param.is_leaf, param._version,
                t.nn.Parameter(param * 2).is_leaf)

    same(program)


def test_buffer_is_a_marked_tensor():
    def program(t):
        buffer = t.nn.Buffer(t.ones(2), persistent=False)
        return (type(buffer), isinstance(buffer, t.nn.Buffer), isinstance(t.ones(2), t.nn.Buffer),
                buffer.persistent)

    same(program)


@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_a_module_moves_its_parameters_by_their_own_method(lib):
    moves = []

    class Counted(lib.nn.Parameter):
        def to(self, *args, **kwargs):
            moves.append(args)
            return super().to(*args, **kwargs)

    net = lib.nn.Linear(2, 2)
    net.weight = Counted(net.weight.detach())
    net.to("cpu").to(lib.float64)
    assert len(moves) == 2 and net.weight.dtype == lib.float64
