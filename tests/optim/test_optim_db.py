"""Every optimizer with every option of PyTorch's ``optim_db``, 20 steps beside PyTorch's, however they are run."""
from __future__ import annotations

import pytest

import mindtorch
from tests.support import assert_same, port, torch

from torch.testing._internal.common_optimizers import optim_db  # isort: skip

INFOS = {info.name: info for info in optim_db if not info.only_supports_sparse_grads}
SHAPES = {"Muon": [(5, 4), (4, 3)], "LBFGS": [(6,)]}


def ported(value, lib):
    if isinstance(value, torch.Tensor):
        return port(value, mindtorch) if lib is mindtorch else value.clone()
    if isinstance(value, (list, tuple)):
        return type(value)(ported(item, lib) for item in value)
    return value


def minimize(lib, optimizer, x, curvature):
    """Some steps of an optimizer that calls a closure."""

    def closure():
        optimizer.zero_grad()
        loss = ((curvature * x - 1) ** 2).sum() + (x**4).sum()
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(closure)


def run(lib, name, kwargs, dtype=torch.float32, device="cpu"):
    """The parameters and the tensors of the state after 20 steps."""
    torch.manual_seed(0)
    values = [torch.randn(shape, dtype=dtype) for shape in SHAPES.get(name, [(3, 4), (5,), (), (2, 3, 4)])]
    gradients = [[torch.randn_like(value) for value in values] for _ in range(20)]
    params = [lib.nn.Parameter(ported(value, lib).to(device)) for value in values]
    if kwargs.get("differentiable"):
        params = [param.clone() for param in params]
    optimizer = getattr(lib.optim, name)(params, **{key: ported(value, lib) for key, value in kwargs.items()})
    if name == "LBFGS":
        minimize(lib, optimizer, params[0], ported(torch.arange(1, 7).to(dtype), lib))
    else:
        for step in gradients:
            for param, gradient in zip(params, step, strict=True):
                with lib.no_grad():
                    param.grad = ported(gradient, lib).to(device)
            optimizer.step()
    if kwargs.get("differentiable"):
        return [param.detach() for param in params]
    state = optimizer.state_dict()["state"]
    tensors = [value for number in sorted(state) for _, value in sorted(state[number].items())
               if isinstance(value, lib.Tensor)]
    return [value.detach().cpu() for value in (*params, *tensors)]


def cases(info):
    """The options with which PyTorch tests an optimizer, with each flag that chooses an implementation."""
    for given in info.optim_inputs_func(device="cpu"):
        for flag in ({}, *({name: True} for name in info.supported_impls)):
            if not (flag.get("differentiable") and "fused" in given.kwargs):
                yield {**given.kwargs, **flag}


@pytest.mark.parametrize("name", INFOS)
@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.sampled(2)
def test_steps_are_pytorch_s(name):
    for kwargs in cases(INFOS[name]):
        loose = name == "Muon"  # which computes in bfloat16
        rtol, atol = (1e-3, 2e-4) if loose else (1e-4, 1e-5) if "differentiable" in kwargs else (2e-5, 2e-6)
        dtype = torch.float64 if name == "LBFGS" else torch.float32  # it divides differences of close numbers
        try:
            theirs = run(torch, name, kwargs, dtype)
        except Exception as error:  # whatever PyTorch refuses is to be refused
            with pytest.raises(type(error)):
                run(mindtorch, name, kwargs, dtype)
        else:
            assert_same(run(mindtorch, name, kwargs, dtype), theirs, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", [name for name, info in INFOS.items() if info.supports_complex and name != "LBFGS"])
@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_steps_of_complex_and_of_double_precision_parameters(name):
    for dtype in (torch.complex64, torch.float64):
        for flag in ({}, *({flag: True} for flag in INFOS[name].supported_impls if flag != "fused")):
            assert_same(run(mindtorch, name, flag, dtype), run(torch, name, flag, dtype), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in INFOS if name != "LBFGS"])
@pytest.mark.filterwarnings("ignore:An operator")
@pytest.mark.sampled(2)
def test_steps_on_the_npu(name):
    kwargs = {} if name in ("Adafactor", "Muon") else {"foreach": True}
    for options in ({}, kwargs):
        for a, b in zip(run(mindtorch, name, options, device="npu"), run(mindtorch, name, options), strict=True):
            assert mindtorch.allclose(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", [name for name, info in INFOS.items() if info.has_capturable_arg])
def test_capturable_is_for_devices(name):
    param = mindtorch.ones(2, requires_grad=True)
    param.grad = mindtorch.ones(2)
    with pytest.raises(AssertionError, match="capturable=True"):
        getattr(mindtorch.optim, name)([param], capturable=True).step()
    on_npu = run(mindtorch, name, {"capturable": True}, device="npu")
    for a, b in zip(on_npu, run(mindtorch, name, {}), strict=True):
        assert mindtorch.allclose(a, b, rtol=1e-3, atol=1e-4)


def test_dense_gradients_are_refused_where_sparse_ones_are_needed():
    for lib in (torch, mindtorch):
        param = lib.nn.Parameter(lib.ones(2))
        param.grad = lib.ones(2)
        with pytest.raises(RuntimeError, match="does not support dense gradients, please consider Adam"):
            lib.optim.SparseAdam([param]).step()


# -- what a trace shows ------------------------------------------------------------------------------------------------

def operators(name, kwargs):
    """The operators of a step, in PyTorch and here, but for looks at single numbers, which are no operators here."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, op, types, args=(), kwargs=None):
            seen.append(str(op).removeprefix("aten.").removesuffix(".default"))
            return op(*args, **(kwargs or {}))

    theirs, ours = (lib.nn.Parameter(lib.ones(3, 4)) for lib in (torch, mindtorch))
    optimizers = [getattr(lib.optim, name)([param], **kwargs)
                  for lib, param in ((torch, theirs), (mindtorch, ours))]
    for _ in range(7):
        theirs.grad, ours.grad = torch.ones(3, 4), mindtorch.ones(3, 4)
        seen.clear()
        with Mode():
            optimizers[0].step()
        with mindtorch.observe(one_by_one=True) as trace:
            optimizers[1].step()
    hidden = ("_local_scalar_dense", "lift_fresh")
    return ([op for op in seen if op not in hidden and not op.startswith("profiler")],
            [event.op for event in trace if event.depth == 0])


@pytest.mark.parametrize(("name", "kwargs"), [
    ("SGD", {}), ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}), ("AdamW", {}), ("Adagrad", {}), ("Adadelta", {}), ("Adamax", {}),
    ("NAdam", {}), ("RAdam", {}), ("RMSprop", {}), ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("SGD", {"foreach": True, "momentum": 0.9}),
], ids=str)  # fmt: skip
def test_a_trace_shows_pytorch_s_operators(name, kwargs):
    theirs, ours = operators(name, kwargs)
    assert ours == theirs


def test_the_fused_operator_is_shown_where_it_is_asked_for():
    assert operators("Adam", {"fused": True})[1] == ["_foreach_add_.Scalar", "_fused_adam_"]


@pytest.mark.parametrize(("name", "kwargs"), [
    ("SGD", {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1}), ("SGD", {"nesterov": True, "momentum": 0.5}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}), ("Adam", {"betas": (0.3, 0.4), "maximize": True}),
    ("AdamW", {"foreach": True}), ("Adagrad", {"lr_decay": 0.1}),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("dtype", [mindtorch.float32, mindtorch.float64])
def test_a_step_that_is_watched_computes_the_same_bits(name, kwargs, dtype):
    mindtorch.manual_seed(0)
    values = [mindtorch.randn(shape, dtype=dtype) for shape in ((40, 600), (5,), ())]
    runs = [[value.clone().requires_grad_() for value in values] for _ in range(2)]
    optimizers = [getattr(mindtorch.optim, name)(params, **kwargs) for params in runs]
    for _ in range(6):
        for a, b in zip(*runs, strict=True):
            a.grad = b.grad = mindtorch.randn(a.shape, dtype=dtype)
        optimizers[0].step()
        with mindtorch.observe():
            optimizers[1].step()
    for a, b in zip(*runs, strict=True):
        assert mindtorch.equal(a, b)


# -- state, both ways --------------------------------------------------------------------------------------------------

def across(value, lib):
    """A state dict with the tensors of the other library."""
    if isinstance(value, dict):
        return {key: across(item, lib) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(across(item, lib) for item in value)
    if isinstance(value, (torch.Tensor, mindtorch.Tensor)):
        return lib.from_numpy(value.detach().numpy().copy())
    return value


@pytest.mark.parametrize("name", [name for name in INFOS if name != "LBFGS"])
@pytest.mark.parametrize("way", [(torch, mindtorch), (mindtorch, torch)], ids=["from PyTorch", "to PyTorch"])
def test_a_state_dict_is_loaded_across_libraries(name, way):
    first, second = way
    value, gradients = torch.randn(4, 3), [torch.randn(4, 3) for _ in range(6)]

    def steps(lib, optimizer, param, gradients):
        for gradient in gradients:
            param.grad = ported(gradient, lib)
            optimizer.step()

    params = [lib.nn.Parameter(ported(value, lib)) for lib in way]
    optimizers = [getattr(lib.optim, name)([param]) for lib, param in zip(way, params, strict=True)]
    steps(first, optimizers[0], params[0], gradients[:3])
    params[1].data.copy_(across(params[0], second))
    optimizers[1].load_state_dict(across(optimizers[0].state_dict(), second))
    assert repr(optimizers[0]) == repr(optimizers[1])
    for i, lib in enumerate(way):
        steps(lib, optimizers[i], params[i], gradients[3:])
    ours, theirs = (params if first is mindtorch else reversed(params))
    assert_same(ours.detach(), theirs.detach(), rtol=1e-3, atol=1e-4)
