"""Operators on lists of tensors beside PyTorch's."""
from __future__ import annotations

import pytest

import mindtorch
from mindtorch import registry
from tests.nn.both import same
from tests.support import assert_same, torch

#: The arguments after the list, made with a library from a list of tensors like it.
BOUNDS = [lambda t, x: ([y * 0.5 for y in x],), lambda t, x: (1,), lambda t, x: ([0.2, 0.3],)]
SCALED = [lambda t, x: (x, x), lambda t, x: (x, x, 0.5), lambda t, x: (x, x, [0.5, 0.25]),
          lambda t, x: (x, x, t.tensor([0.5, 0.25]))]
NONE = [lambda t, x: ()]
ARGUMENTS = {
    "add": [lambda t, x: (x,), lambda t, x: (2,), lambda t, x: ([1.5, 2.5],), lambda t, x: (t.tensor(2.0),)],
    "sub": [lambda t, x: (x,), lambda t, x: (2,), lambda t, x: ([1.5, 2.5],)],
    "mul": [lambda t, x: (x,), lambda t, x: (0.5,), lambda t, x: ([1.5, 2.5],), lambda t, x: (t.tensor(2.0),)],
    "div": [lambda t, x: (x,), lambda t, x: (0.5,), lambda t, x: ([1.5, 2.5],), lambda t, x: (t.tensor(2.0),)],
    "pow": [lambda t, x: (x,), lambda t, x: (2,), lambda t, x: ([1.5, 2.5],)],
    **dict.fromkeys(("clamp_max", "clamp_min", "maximum", "minimum"), BOUNDS),
    **dict.fromkeys(("addcmul", "addcdiv"), SCALED),
    "lerp": [lambda t, x: (x, 0.5), lambda t, x: (x, x), lambda t, x: (x, [0.5, 0.25])],
    **dict.fromkeys([op.packet.removeprefix("_foreach_") for op in registry.operators.values()
                     if op.text == f"{op.packet}(Tensor[] self) -> Tensor[]" and op.family == "foreach"
                     and op.packet != "_foreach_max"], NONE),
}


def tensors(t):
    return [t.tensor([0.25, 0.5, 0.75]), t.tensor([[0.125], [0.875]])]


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("form", ["", "_"])
def test_each_tensor_of_the_list(name, form):
    def program(t, arguments):
        given = tensors(t)
        returned = getattr(t, f"_foreach_{name}{form}")(given, *arguments(t, tensors(t)))
        assert form or isinstance(returned, tuple)
        return [*given, *returned]

    for arguments in ARGUMENTS[name]:
        assert_same(program(mindtorch, arguments), program(torch, arguments), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if name not in ("maximum", "minimum")])  # PyTorch has none
def test_what_is_written_in_place_has_gradients(name):
    def program(t, arguments):
        leaves = [x.requires_grad_() for x in tensors(t)]
        given = [x * 1 for x in leaves]
        getattr(t, f"_foreach_{name}_")(given, *arguments(t, tensors(t)))
        return t.autograd.grad(sum(x.sum() for x in given), leaves, materialize_grads=True)

    for arguments in ARGUMENTS[name][:3 if name.startswith("addc") else None]:  # PyTorch has none for the fourth
        assert_same(program(mindtorch, arguments), program(torch, arguments), rtol=1e-5, atol=1e-5)


def test_scaled_operands():
    for name in ("add", "sub"):
        same(lambda t, name=name: list(getattr(t, f"_foreach_{name}")(tensors(t), tensors(t), alpha=3)))


def test_others():
    same(lambda t: list(t._foreach_norm(tensors(t))))
    same(lambda t: list(t._foreach_norm(tensors(t), 1)))
    same(lambda t: list(t._foreach_max(tensors(t))))
    same(lambda t: list(t._foreach_pow(2.0, tensors(t))))

    def write(t):
        given = tensors(t)
        t._foreach_zero_(given)
        first = [x.clone() for x in given]
        t._foreach_copy_(given, tensors(t))
        return first, given

    same(write)


def test_the_schemas_are_pytorch_s():
    theirs = {str(schema).removeprefix("aten::") for schema in torch._C._jit_get_all_schemas()
              if "_foreach_" in str(schema)}
    ours = {op.name for op in registry.operators.values() if op.family == "foreach"}
    assert ours <= {schema[:schema.index("(")] for schema in theirs}


def test_gradients_and_other_devices():
    x = [mindtorch.ones(2, requires_grad=True), mindtorch.ones(3, requires_grad=True)]
    sum(y.sum() for y in mindtorch._foreach_mul(x, [2.0, 3.0])).backward()
    assert [y.grad.tolist() for y in x] == [[2.0] * 2, [3.0] * 3]
    for device in ("npu", "meta"):
        given = [mindtorch.ones(2, device=device)]
        assert mindtorch._foreach_addcmul(given, given, given)[0].device.type == device


def test_lists_that_do_not_go_together():
    same(lambda t: t._foreach_sqrt([]))
    same(lambda t: t._foreach_add(tensors(t), tensors(t)[:1]))
    same(lambda t: t._foreach_add(tensors(t), [1.0]))


def test_observers_are_told_of_an_operator_of_several_lists():
    param = mindtorch.ones(2, requires_grad=True)
    param.grad = mindtorch.ones(2)
    with mindtorch.observe() as trace:
        mindtorch.optim.SGD([param], lr=0.1).step()
    assert "_fused_sgd_" in [event.op for event in trace.events]
