"""Operators, kernels and derivatives that users register, and what the dispatcher says when something is missing."""
from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import library, registry
from mindtorch._dispatch.dispatcher import dispatch
from mindtorch._dispatch.keys import DispatchKey, DispatchKeySet
from mindtorch._dispatch.schema import REQUIRED, parse
from mindtorch.introspect.why import explain


@pytest.fixture
def restored():
    """Operators defined in a test are gone after it, and replaced kernels are back."""
    names, packets = set(registry.operators), {name: list(ops) for name, ops in registry.packets.items()}
    kernels = {name: dict(op.kernels) for name, op in registry.operators.items()}
    derivatives = dict(registry.derivatives)
    yield
    for op in [op for name, op in registry.operators.items() if name not in names]:
        registry.undefine(op)
        packet = op.packet
        torch.Tensor.__dict__.get(packet) and delattr(torch.Tensor, packet)
        vars(torch).pop(packet, None)
    registry.packets.clear()
    registry.packets.update(packets)
    registry.derivatives.clear()
    registry.derivatives.update(derivatives)
    for name, op in registry.operators.items():
        if op.kernels != kernels[name]:
            op.kernels.clear()
            op.kernels.update(kernels[name])
        op.table.clear()


def test_a_new_operator_has_a_function_a_method_a_derivative_and_shows_in_traces(restored):
    @library.kernel("softclip(Tensor self, float limit=1.0) -> Tensor", "cpu")
    def softclip(self, limit=1.0):
        return limit * (self / limit).tanh()

    library.meta("softclip", lambda self, limit=1.0: torch.empty_like(self))
    library.derivative("softclip", self=lambda grad, result, limit: grad * (1 - (result / limit) ** 2))
    x = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
    with torch.observe() as trace:
        y = x.softclip(2.0)
    np.testing.assert_allclose(y.detach().numpy(), 2 * np.tanh(x.detach().numpy() / 2), rtol=1e-6)
    assert y.grad_fn.name() == "SoftclipBackward0"
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 1 - np.tanh(x.detach().numpy() / 2) ** 2, rtol=1e-5)
    event = trace.events[0]
    assert event.op == "softclip" and event.kernel == "softclip"
    assert event.file == __file__ and event.line == inspect.getsourcelines(softclip)[1]
    assert torch.softclip(torch.ones(2, 3, device="meta")).shape == (2, 3)
    assert torch.ops.aten.softclip.default._operator is registry["softclip"]


def test_a_kernel_replaces_that_of_an_existing_operator_and_is_used_by_its_forms(restored):
    calls = []

    def double(self, other, alpha=1):
        calls.append(1)
        return torch.mul(self, 2)

    library.impl("add.Tensor", "cpu", double)
    a = torch.ones(3)
    assert (a + a).tolist() == [2.0, 2.0, 2.0] and calls == [1]
    a.add_(a)
    assert calls == [1, 1] and a._version == 1
    b = torch.ones(3, requires_grad=True)
    assert (b + b).grad_fn.name() == "AddBackward0"


def test_register_makes_an_operator_from_a_plain_function(restored):
    registry.register("triple", "cpu", lambda x: x + x + x, meta=lambda x: torch.empty_like(x))
    assert dispatch("triple", "cpu", torch.ones(2)).tolist() == [3.0, 3.0]
    assert dispatch("triple", None, torch.ones(2, device="meta")).is_meta
    with pytest.raises(ValueError, match="unknown device 'tpu'"):
        registry.register("triple", "tpu", lambda x: x)


def test_a_registered_composite_is_differentiated_through_the_operators_that_it_calls(restored):
    registry.register("cubed", "composite", lambda x: x * x * x)
    x = torch.tensor([2.0], requires_grad=True)
    cubed = dispatch("cubed", None, x)
    assert cubed.grad_fn.name() == "MulBackward0"
    cubed.backward()
    assert x.grad.tolist() == [12.0]
    has_kernel = torch.ops.aten.cubed.default.has_kernel_for_dispatch_key
    assert has_kernel("CompositeImplicitAutograd") and not has_kernel("CPU")


def test_an_operator_takes_keywords_in_any_order_and_fills_in_defaults():
    x, y = torch.tensor([1.0]), torch.tensor([2.0])
    assert dispatch("add.Tensor", None, x, other=y).tolist() == [3.0]
    assert dispatch("add.Tensor", None, alpha=3, other=y, self=x).tolist() == [7.0]
    with pytest.raises(TypeError, match=r"add.Tensor\(\) got an unexpected keyword argument 'alpa'") as error:
        dispatch("add.Tensor", None, x, y, alpa=3)
    explanation = explain(error.value)
    assert explanation.title == "add has no argument alpa" and explanation.fixes[0].code == "alpha=…"


def test_a_derivative_registered_later_is_used_by_the_next_call(restored):
    x = torch.ones(2, requires_grad=True)
    library.derivative("mul.Tensor", self=lambda grad, other: grad * 100, other=lambda grad, self: grad)
    (x * torch.ones(2)).sum().backward()
    assert x.grad.tolist() == [100.0, 100.0]


def test_a_derivative_that_names_an_unknown_input_is_refused(restored):
    library.derivative("mul.Tensor", nonsense=lambda grad: grad)
    with pytest.raises(ValueError, match="no input 'nonsense'"):
        torch.ones(2, requires_grad=True) * 2


def test_a_missing_kernel_says_which_operator_which_keys_and_which_keys_have_one(restored):
    library.define("nokernel(Tensor self) -> Tensor")
    library.impl("nokernel", "meta", lambda self: self)
    with pytest.raises(NotImplementedError) as error:
        torch.nokernel(torch.ones(2))
    message = str(error.value)
    assert "aten::nokernel" in message and "'CPU' backend" in message and "[Meta]" in message


def test_an_unknown_operator_or_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_operator"):
        registry["no_such_operator"]
    with pytest.raises(AttributeError, match="no_such_name"):
        torch.no_such_name
    with pytest.raises(AttributeError, match="no overload name 'Nope'"):
        torch.ops.aten.add.Nope


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda packet: pickle.loads(pickle.dumps(packet))],
                         ids=["copy", "deepcopy", "pickle"])
def test_a_copied_packet_has_the_same_overloads(copied):
    packet = torch.ops.aten.add
    assert copied(packet).overloads() == packet.overloads() and copied(packet).Tensor is packet.Tensor
    assert not hasattr(packet, "__missing__")


def test_defining_twice_or_with_a_broken_schema_is_refused(restored):
    with pytest.raises(RuntimeError, match="exists already"):
        library.define("add.Tensor(Tensor self, Tensor other) -> Tensor")
    with pytest.raises(ValueError, match="cannot parse the schema"):
        parse("broken(Tensor self")


def test_schemas_are_parsed_as_aten_writes_them():
    schema = parse("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
    dim, keepdim, dtype = schema.parameters[1:]
    assert (dim.base, dim.is_list, dim.size, dim.optional, dim.default) == ("int", True, 1, True, REQUIRED)
    assert (keepdim.default, keepdim.kwarg_only) == (False, False)
    assert (dtype.default, dtype.kwarg_only) == (None, True)
    assert parse("max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)").returns == ("values", "indices")
    assert parse("add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)").parameters[0].writes
    assert parse("f(Tensor?[] indices, float[]? scale=None, int[] pad=[0,1]) -> Tensor[]").returns_list


def test_key_sets_are_read_in_the_order_of_dispatch():
    keys = DispatchKeySet(DispatchKey.CPU | DispatchKey.Autograd | DispatchKey.Pipeline)
    assert [key.name for key in keys] == ["Pipeline", "Autograd", "CPU"]
    assert keys.highest() is DispatchKey.Pipeline and DispatchKey.Meta not in keys


def test_every_kernel_takes_the_arguments_of_its_schema() -> None:
    for op in registry.operators.values():
        parameters = op.schema.parameters
        for kernel in map(op.kernel, (1, 2)) if op.functional is None else ():
            if kernel is None or isinstance(kernel.origin, np.ufunc):
                continue
            try:
                signature = inspect.signature(kernel.fn)
            except (TypeError, ValueError):
                continue
            signature.bind(*[None] * len(parameters))
            if not any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
                signature.bind(*[None for p in parameters if p.default is REQUIRED])
