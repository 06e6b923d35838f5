"""Programs on fake tensors: the shapes, strides, dtypes and devices of real ones, and PyTorch's errors."""
from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from mindtorch._guards import active_fake_mode, detect_fake_mode
from mindtorch._subclasses import FakeTensor, FakeTensorMode
from mindtorch._subclasses.fake_tensor import (
    DataDependentOutputException, DynamicOutputShapeException, FakeCopyMode, unset_fake_temporarily,
)
from mindtorch.fx.experimental.symbolic_shapes import ShapeEnv
from tests.support import torch


def trained(lib: Any) -> Any:
    """Return the gradients of a small network."""
    net = lib.nn.Sequential(lib.nn.Conv2d(1, 4, 3), lib.nn.BatchNorm2d(4), lib.nn.ReLU(), lib.nn.Flatten(),
                            lib.nn.Linear(4 * 36, 5))
    lib.nn.functional.cross_entropy(net(lib.randn(2, 1, 8, 8)), lib.zeros(2, dtype=lib.int64)).backward()
    return [parameter.grad for parameter in net.parameters()]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "factories": lambda lib: [lib.zeros(2, 3), lib.randn(4), lib.arange(5), lib.full((2, 2), 1), lib.eye(3),
                              lib.tensor([1.0, 2.0]), lib.randint(9, (3,)), lib.linspace(0, 1, 4)],
    "a copy is written": lambda lib: lib.ops.aten.rrelu_with_noise_functional(
        lib.ones(3, requires_grad=True) * 2, lib.ones(3), 0.1, 0.2, True),
    "views": lambda lib: [(x := lib.randn(3, 4)).t(), x[1:], x[:, 2], x.view(2, 6), x.expand(2, 3, 4), x.diagonal()],
    "promotion": lambda lib: [lib.ones(2, dtype=lib.int32) * 2.0, lib.ones(2) / lib.ones(2, dtype=lib.int64)],
    "reductions": lambda lib: [(x := lib.randn(3, 4)).sum(), x.mean(1), x.max(0), x.std(0, keepdim=True), x.argmax()],
    "strides": lambda lib: [lib.randn(2, 3, 4, 5).to(memory_format=lib.channels_last) + 1,
                            lib.randn(3, 4).t().contiguous(), lib.empty_strided((2, 3), (1, 2)).relu()],
    "dtypes": lambda lib: [lib.randn(3).double(), lib.randn(3).to(lib.int32), lib.randn(3) > 0],
    "linear algebra": lambda lib: [lib.randn(2, 3) @ lib.randn(3, 4), lib.linalg.qr(lib.randn(4, 3)),
                                   lib.linalg.solve(lib.randn(3, 3), lib.randn(3, 2))],
    "in place": lambda lib: [lib.zeros(3).add_(1), lib.zeros(2, 3).t_(), lib.zeros(4).resize_(2, 3)],
    "out": lambda lib: [lib.add(lib.ones(3), 1, out=lib.empty(3))],
    "training": trained,
    "numbers": lambda lib: [lib.tensor(4.0).item(), bool(lib.tensor(3) > 2), lib.tensor([5]).item()],
    "indexing": lambda lib: [lib.randn(4, 5)[lib.tensor([0, 2])], lib.zeros(3).index_fill(0, lib.tensor([0]), 1)],
    "meta": lambda lib: [lib.randn(3, device="meta") + 1],
    "attention": lambda lib: [lib.nn.functional.scaled_dot_product_attention(*[lib.randn(2, 4, 8)] * 3)],
}


def facts(value: Any) -> Any:
    """Return shapes, strides, dtypes and devices in place of tensors."""
    if isinstance(value, (list, tuple)):
        return [facts(item) for item in value]
    if isinstance(value, (mindtorch.Tensor, torch.Tensor)):
        return [*value.shape], [*value.stride()], str(value.dtype), str(value.device)
    return value


@pytest.mark.parametrize("name", PROGRAMS)
def test_fake_results_have_the_real_ones_layouts(name: str) -> None:
    with FakeTensorMode():
        fake = PROGRAMS[name](mindtorch)
    assert facts(fake) == facts(PROGRAMS[name](mindtorch))
    with torch._subclasses.FakeTensorMode():
        assert facts(fake) == facts(PROGRAMS[name](torch))


REFUSED: dict[str, Callable[[Any], Any]] = {
    "shapes": lambda lib: lib.zeros(2) + lib.zeros(3),
    "matmul": lambda lib: lib.zeros(2, 3) @ lib.zeros(2, 3),
    "view": lambda lib: lib.zeros(6).view(4),
    "index": lambda lib: lib.zeros(3)[5],
    "a number of data": lambda lib: lib.randn(3).sum().item(),
    "a size of data": lambda lib: lib.randn(3).nonzero(),
    "truth of data": lambda lib: bool(lib.randn(1) > 0),
    "list of data": lambda lib: lib.randn(2).tolist(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_pytorchs(name: str) -> None:
    messages = []
    for lib, mode in ((mindtorch, FakeTensorMode()), (torch, torch._subclasses.FakeTensorMode())):
        with mode, pytest.raises(Exception) as caught:
            REFUSED[name](lib)
        messages.append((type(caught.value).__name__, str(caught.value).splitlines()[0]))
    assert messages[0][0] == messages[1][0]
    if messages[0][0] != "RuntimeError":
        assert messages[0] == messages[1]


def test_real_tensors_beside_fake_ones_are_an_error_unless_allowed() -> None:
    real = mindtorch.ones(3)
    with FakeTensorMode(), pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
        real + 1
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert isinstance(real + 1, FakeTensor)
    one, other = FakeTensorMode().from_tensor(real), FakeTensorMode().from_tensor(real)
    with pytest.raises(AssertionError, match="Mixing fake modes NYI"):
        one + other


def test_devices_are_as_they_are_said_to_be() -> None:
    with FakeTensorMode():
        there = mindtorch.zeros(3, device="npu")
        assert str((there + 1).device) == "npu:0"
        assert str((there * mindtorch.tensor(2.0)).device) == "npu:0"
        assert str(there.cpu().device) == "cpu"
        with pytest.raises(RuntimeError, match=r"Unhandled FakeTensor Device Propagation for aten\.add\.Tensor"):
            there + mindtorch.zeros(3)


def test_a_value_is_known_until_it_is_written_with_an_unknown_one() -> None:
    with FakeTensorMode():
        x = mindtorch.tensor([1.0])
        view = x[:]
        x.add_(1)
        assert view.item() == x.item() == 2.0
        view.add_(mindtorch.rand(1))
        assert x.constant is view.constant is None
        with pytest.raises(DataDependentOutputException):
            x.item()


def test_each_real_tensor_has_one_fake_and_shared_memory_stays_shared() -> None:
    mode, real = FakeTensorMode(), mindtorch.ones(2, 3)
    fake = mode.from_tensor(real)
    assert mode.from_tensor(real) is fake
    assert mode.from_tensor(real[0]).untyped_storage() is fake.untyped_storage()
    assert len(mode.fake_tensor_converter.tensor_memo) == 1
    del fake, real
    gc.collect()
    assert not len(mode.fake_tensor_converter.tensor_memo)


def test_a_parameter_stays_one_and_keeps_its_gradient() -> None:
    real = mindtorch.nn.Parameter(mindtorch.ones(3))
    real.grad = mindtorch.ones(3)
    fake = FakeTensorMode().from_tensor(real)
    assert isinstance(fake, mindtorch.nn.Parameter) and fake.requires_grad and isinstance(fake.grad, FakeTensor)


def test_modules_are_copied_as_fake_ones() -> None:
    with FakeCopyMode(FakeTensorMode()):
        copied = copy.deepcopy(mindtorch.nn.BatchNorm2d(3))
    assert all(isinstance(tensor, FakeTensor) for tensor in [*copied.parameters(), *copied.buffers()])
    assert isinstance(copied.weight, mindtorch.nn.Parameter)


def test_the_mode_is_found_by_its_tensors_and_can_be_left() -> None:
    mode = FakeTensorMode()
    fake = mode.from_tensor(mindtorch.ones(2))
    assert detect_fake_mode([1, (fake,)]) is mode and detect_fake_mode([mindtorch.ones(1)]) is None
    with mode:
        assert active_fake_mode() is mode
        with unset_fake_temporarily():
            assert type(mindtorch.ones(2)) is mindtorch.Tensor
    with pytest.raises(AssertionError, match="fake mode"):
        detect_fake_mode([fake, FakeTensorMode().from_tensor(mindtorch.ones(2))])


def test_data_makes_symbols_where_a_shape_env_is() -> None:
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(mindtorch.ones(5, 6))
    with mode:
        found = x.nonzero()
        assert str(found.shape) == "torch.Size([u0, 2])"
        assert (found + 1).shape[0] is not None and str(mindtorch.cat([found, found]).shape[0]) == "2*u0"
        assert x.nonzero().shape[0].node.expr == found.shape[0].node.expr
        number = x.to(mindtorch.int64).sum().item()
        assert str(number) == "u1"
        mindtorch._check(number >= 3)
        assert bool(number > 2)
    with FakeTensorMode(), pytest.raises(DynamicOutputShapeException):
        mindtorch.zeros(3).nonzero()


def test_a_training_step_makes_only_the_guards_that_it_needs() -> None:
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    x = mode.from_tensor(mindtorch.ones(5, 6))
    with mode:
        layer = mindtorch.nn.Linear(6, 2)
        layer(x).softmax(-1).sum().backward()
    assert [str(guard.expr.rhs) for guard in env.guards] == ["6"]


def test_printing_is_pytorchs() -> None:
    shown = []
    for lib, mode in ((mindtorch, FakeTensorMode()), (torch, torch._subclasses.FakeTensorMode())):
        with mode:
            x = lib.ones(2, 3, requires_grad=True)
            shown.append([repr(x), repr(x * 2), repr(lib.ones(2, dtype=lib.int64)), repr(lib.ones(1, device="meta"))])
    assert shown[0] == shown[1]
