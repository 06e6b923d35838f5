"""Autocast chooses PyTorch's dtypes, and GradScaler has its arithmetic."""
from __future__ import annotations

import copy
from typing import Any

import pytest

import mindtorch
from tests.support import array, assert_same, name_of, port, torch

OPERATIONS = {
    "matmul": lambda t, x, y: x @ y, "mm": lambda t, x, y: t.mm(x, y), "addmm": lambda t, x, y: t.addmm(x, x, y),
    "bmm": lambda t, x, y: t.bmm(x[None], y[None]), "linear": lambda t, x, y: t.nn.functional.linear(x, y),
    "einsum": lambda t, x, y: t.einsum("ij,jk->ik", x, y), "add": lambda t, x, y: x + y,
    "softmax": lambda t, x, y: x.softmax(-1), "exp": lambda t, x, y: x.exp(), "sum": lambda t, x, y: x.sum(),
    "prod": lambda t, x, y: x.prod(), "trace": lambda t, x, y: t.trace(x), "cdist": lambda t, x, y: t.cdist(x, y),
    "mse_loss": lambda t, x, y: t.nn.functional.mse_loss(x, y), "l1": lambda t, x, y: t.nn.functional.l1_loss(x, y),
    "cross_entropy": lambda t, x, y: t.nn.functional.cross_entropy(x, t.tensor([0, 1, 2])),
    "nll_loss": lambda t, x, y: t.nn.functional.nll_loss(x, t.tensor([0, 1, 2])),
    "log_softmax": lambda t, x, y: t.nn.functional.log_softmax(x, 1), "cat": lambda t, x, y: t.cat([x, y]),
    "stack": lambda t, x, y: t.stack([x, y]), "inverse": lambda t, x, y: t.linalg.inv(x + t.eye(3)),
    "quantile": lambda t, x, y: x.quantile(0.5), "gelu": lambda t, x, y: t.nn.functional.gelu(x),
    "in place": lambda t, x, y: (x * 1).add_(y), "matrix_rank": lambda t, x, y: t.linalg.matrix_rank(x),
    "out": lambda t, x, y: t.mm(x.float(), y.float(), out=t.empty(3, 3)),
}


@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("bfloat16", "float32"), ("float64", "float64"),
                                    ("bfloat16", "bfloat16")], ids=str)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_operators_choose_the_dtypes_of_pytorch(operation, dtypes, lower) -> None:
    inputs = [torch.randn(3, 3).to(getattr(torch, dtype)) for dtype in dtypes]
    found = []
    for lib in (torch, mindtorch):
        x, y = inputs if lib is torch else port(inputs, lib)
        try:
            with lib.autocast("cpu", dtype=getattr(lib, lower)):
                result = OPERATIONS[operation](lib, x, y)
        except RuntimeError as error:
            found.append((type(error), None))
            continue
        found.append((name_of(result.dtype), array(result.double())))
    assert found[0][0] == found[1][0]
    if found[0][1] is not None:
        assert found[1][1] == pytest.approx(found[0][1], rel=2e-2, abs=2e-2, nan_ok=True)


def test_a_step_of_training_has_the_gradients_of_pytorch() -> None:
    found = []
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    x, y = torch.randn(5, 8), torch.tensor([0, 1, 2, 1, 0])
    for lib in (torch, mindtorch):
        net = lib.nn.Sequential(lib.nn.Linear(8, 16), lib.nn.ReLU(), lib.nn.Linear(16, 3))
        net.load_state_dict(port(dict(model.state_dict()), lib))
        with lib.autocast("cpu"):
            out = net(port(x, lib))
            loss = lib.nn.functional.cross_entropy(out, port(y, lib))
        loss.backward()
        assert name_of(out.dtype) == "bfloat16" and name_of(loss.dtype) == "float32"
        found.append([array(parameter.grad) for parameter in net.parameters()])
        assert all(name_of(parameter.grad.dtype) == "float32" for parameter in net.parameters())
    for ours, theirs in zip(*found, strict=True):
        assert ours == pytest.approx(theirs, rel=3e-2, abs=3e-3)


def test_a_parameter_is_cast_once_a_block() -> None:
    weight, x = mindtorch.ones(3, 3, requires_grad=True), mindtorch.ones(3, 3)
    with mindtorch.observe() as trace, mindtorch.autocast("cpu"):
        (x @ weight) @ weight
    casts = [event for event in trace if "_to_copy" in str(event)]
    assert len(casts) == 2  # of x and of weight; the product has the dtype already
    with mindtorch.autocast("cpu"), mindtorch.no_grad():
        weight @ weight
        with mindtorch.enable_grad():
            assert (weight @ weight).requires_grad


def test_blocks_nest_and_decorate() -> None:
    x = mindtorch.ones(2, 2)

    @mindtorch.autocast("cpu")
    def multiply() -> Any:
        return x @ x

    assert multiply().dtype is mindtorch.bfloat16
    with mindtorch.autocast("cpu", dtype=mindtorch.float16):
        assert mindtorch.get_autocast_dtype("cpu") is mindtorch.float16
        with mindtorch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is mindtorch.float32 and not mindtorch.is_autocast_enabled("cpu")
        assert (x @ x).dtype is mindtorch.float16
    assert (x @ x).dtype is mindtorch.float32
    with mindtorch.autocast("cpu"), mindtorch.pipeline():
        later = x @ x
    assert later.dtype is mindtorch.bfloat16
    with mindtorch.inference_mode(), mindtorch.autocast("cpu"):
        assert (x @ x).is_inference()


def test_an_npu_has_its_own_list() -> None:
    x = mindtorch.ones(2, 2, device="npu")
    with mindtorch.autocast("npu"):
        assert (x @ x).dtype is mindtorch.float16 and (x @ x).exp().dtype is mindtorch.float32
        assert (x.cpu() @ x.cpu()).dtype is mindtorch.float32


def test_a_scaler_passes_itself_to_a_step_that_takes_it() -> None:
    for lib in (mindtorch, torch):
        weight = lib.ones(2, requires_grad=True)

        class Taking(lib.optim.SGD):
            def step(self, closure=None, *, grad_scaler=None):
                assert not hasattr(self, "grad_scale") and not hasattr(self, "found_inf")
                grad_scaler.unscale_(self)
                return super().step()

        optimizer, scaler = Taking([weight], lr=1), lib.amp.GradScaler("cpu", init_scale=4.0)
        optimizer._step_supports_amp_scaling = True
        scaler.scale((weight * 3).sum()).backward()
        with pytest.warns(FutureWarning, match="stop passing itself"):
            scaler.step(optimizer)
        scaler.update()
        assert weight.tolist() == [-2, -2]


@pytest.mark.parametrize("wrong", [
    lambda t: t.autocast(3), lambda t: t.autocast("nowhere"), lambda t: t.autocast("cpu")(3),
    lambda t: t.amp.custom_fwd(len, device_type=0),
])
def test_what_is_wrong_raises_the_errors_of_pytorch(wrong) -> None:
    for lib in (torch, mindtorch):
        with pytest.raises((TypeError, ValueError, RuntimeError)) as raised:
            wrong(lib)
        found = type(raised.value) if lib is torch else found  # type: ignore[has-type] # noqa: F821
    assert found is type(raised.value)


def test_other_dtypes_and_cuda_switch_it_off_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported"):
        assert not mindtorch.autocast("cpu", dtype=mindtorch.float32)._enabled
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not mindtorch.autocast("cuda")._enabled


def test_functions_of_ones_own_cast_as_they_say() -> None:
    seen = []

    class Function(mindtorch.autograd.Function):
        @staticmethod
        @mindtorch.amp.custom_fwd(device_type="cpu", cast_inputs=mindtorch.float32)
        def forward(ctx: Any, x: Any) -> Any:
            seen.append((x.dtype, mindtorch.is_autocast_enabled("cpu")))
            return x @ x

        @staticmethod
        @mindtorch.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(mindtorch.is_autocast_enabled("cpu"))
            return grad

    with mindtorch.autocast("cpu"):
        out = Function.apply(mindtorch.ones(2, 2, dtype=mindtorch.bfloat16, requires_grad=True))
        out.sum().backward()
    assert out.dtype is mindtorch.float32 and seen == [(mindtorch.float32, False), False]


def test_a_scaler_has_the_arithmetic_of_pytorch() -> None:
    found = []
    for lib in (torch, mindtorch):
        parameter = lib.nn.Parameter(lib.tensor([1.0, 2.0]))
        optimizer = lib.optim.SGD([parameter], lr=0.1)
        scaler = lib.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
        states = []
        for factor in (1.0, 1.0, float("inf"), 1.0, float("nan"), 1.0, 1.0, 3.0):
            optimizer.zero_grad()
            scaler.scale((parameter * factor).sum()).backward()
            if factor == 3.0:
                scaler.unscale_(optimizer)
                states.append(parameter.grad.tolist())
            scaler.step(optimizer)
            scaler.update()
            states.append((scaler.get_scale(), scaler._get_growth_tracker(), parameter.tolist(), scaler.state_dict()))
        copied = copy.deepcopy(scaler)
        copied.load_state_dict(scaler.state_dict())
        states.append(copied.state_dict())
        scaler.update(4.0)
        found.append([states, scaler.get_scale(), [x.tolist() for x in scaler.scale([parameter, parameter * 2])]])
    assert numbers(found[0]) == pytest.approx(numbers(found[1]), rel=1e-6)


def numbers(value: Any) -> list[float]:
    """List the numbers in a nesting of lists, tuples and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    return [number for item in value for number in numbers(item)] if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("wrong", [
    lambda scaler, optimizer: scaler.step(optimizer),
    lambda scaler, optimizer: scaler.update(),
    lambda scaler, optimizer: (scaler.scale(optimizer.param_groups[0]["params"][0]), scaler.update()),
    lambda scaler, optimizer: scaler.step(optimizer, closure=int),
    lambda scaler, optimizer: (scaler.scale(optimizer.param_groups[0]["params"][0].sum()).backward(),
                               scaler.unscale_(optimizer), scaler.unscale_(optimizer)),
    lambda scaler, optimizer: (scaler.scale(optimizer.param_groups[0]["params"][0].sum()).backward(),
                               scaler.step(optimizer), scaler.step(optimizer)),
    lambda scaler, optimizer: scaler.load_state_dict({}),
    lambda scaler, optimizer: scaler.scale(3),
])
def test_wrong_use_of_a_scaler_raises_the_errors_of_pytorch(wrong) -> None:
    errors = []
    for lib in (torch, mindtorch):
        optimizer = lib.optim.SGD([lib.nn.Parameter(lib.tensor([1.0, 2.0]))], lr=0.1)
        with pytest.raises(Exception) as raised:
            wrong(lib.amp.GradScaler("cpu"), optimizer)
        errors.append((raised.type, str(raised.value)))
    assert errors[0] == errors[1]


def test_a_scaler_notes_where_an_optimizer_is_in_its_step() -> None:
    import mindtorch
    from mindtorch.amp.grad_scaler import OptState

    weight = mindtorch.nn.Parameter(mindtorch.ones(2))
    optimizer, scaler = mindtorch.optim.SGD([weight]), mindtorch.amp.GradScaler("cpu")
    scaler.scale(weight.sum()).backward()
    stages = [scaler._states[id(optimizer)]["stage"]]
    for step in (scaler.unscale_, scaler.step):
        step(optimizer)
        stages.append(scaler._states[id(optimizer)]["stage"])
    assert stages == [OptState.READY, OptState.UNSCALED, OptState.STEPPED]


@pytest.mark.parametrize("dtypes", [("float32", "bfloat16"), ("bfloat16", "float32"), ("bfloat16", "bfloat16")])
def test_operands_of_operators_that_promote_have_the_widest_dtype(dtypes):
    def program(t, device="cpu"):
        x, y = (t.arange(3.0, device=device).to(getattr(t, dtype)) for dtype in dtypes)
        with t.autocast(device, dtype=t.bfloat16):
            if device != "cpu":
                return t.dot(x, y).dtype, t.cross(x, y, dim=0).dtype
            return x.index_copy(0, t.tensor([1, 0]), y[:2])

    assert_same(program(mindtorch), program(torch))
    widest = mindtorch.float32 if "float32" in dtypes else mindtorch.bfloat16
    assert program(mindtorch, "npu")[0] is widest
