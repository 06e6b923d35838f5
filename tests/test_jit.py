"""``torch.jit`` and ``torch.futures``: scripted programs run as Python; what needs TorchScript says so."""
from __future__ import annotations

import threading
import types
from typing import Dict, List, Optional, Tuple, Union  # noqa: UP035

import pytest

import mindtorch as torch
from mindtorch import jit, nn
from mindtorch.futures import Future, collect_all, wait_all


@jit.script
def clamped(x, low: float = 0.):
    """Clamp from below."""
    return x.clamp(min=low)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 1)

    def forward(self, x):
        return self.again(x) if x.sum() > 0 else -self.linear(x)

    @jit.export
    def again(self, x):
        return self.linear(x)


def test_a_scripted_function_is_the_function() -> None:
    assert clamped(torch.tensor([-1., 2.]), low=1.).tolist() == [1., 2.]
    assert clamped.__name__ == "clamped" and clamped.__doc__ == "Clamp from below."
    assert "x.clamp(min=low)" in clamped.code
    assert isinstance(clamped, jit.ScriptFunction) and jit.script(clamped) is clamped and not jit.is_scripting()


@pytest.mark.parametrize("make", [jit.script, lambda net: jit.trace(net, torch.ones(1, 2)),
                                  lambda net: jit.trace_module(net, {"again": torch.ones(1, 2)})])
def test_a_scripted_module_shares_its_parameters_and_follows_values(make) -> None:
    net = Net()
    scripted = make(net)
    assert isinstance(scripted, jit.ScriptModule) and isinstance(scripted, nn.Module)
    assert scripted.linear.weight is net.linear.weight and scripted.original_name == "Net"
    for x in (torch.ones(1, 2), -torch.ones(1, 2)):  # the other branch, too, also where PyTorch's trace keeps one
        assert scripted(x).equal(net(x)) and scripted.again(x).equal(net.again(x))
    assert scripted.state_dict().keys() == net.state_dict().keys() and "def forward" in scripted.code
    frozen = jit.optimize_for_inference(jit.freeze(scripted.eval()))
    assert not frozen.training and net.training


@pytest.mark.parametrize(("call", "message"), [
    (lambda: clamped.graph, "no TorchScript graph"), (lambda: jit.script(Net()).graph, "no TorchScript graph"),
    (lambda: jit.save(jit.script(Net()), "net.pt"), "state_dict"), (lambda: jit.load("net.pt"), "state_dict"),
    (lambda: jit.script(Net()).save("net.pt"), "state_dict"),
    (lambda: jit.script(3), "a function, a module or a class"),
    (lambda: jit.freeze(Net()), "expects a ScriptModule"), (lambda: jit.freeze(jit.script(Net())), "in eval mode"),
    (lambda: jit.CompilationUnit("def f(): pass"), "does not compile"),
])
def test_what_needs_torchscript_says_so(call, message) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.parametrize(("value", "kind", "expected"), [
    ([1, 2], List[int], True), ([1, "a"], List[int], False), ({"a": 1}, Dict[str, int], True),  # noqa: UP006
    ({"a": "b"}, Dict[str, int], False), ((1, "a"), Tuple[int, str], True), ((1,), Tuple[int, str], False),  # noqa: UP006
    (None, Optional[int], True), (1., Optional[int], False), (1, Union[int, str], True),  # noqa: UP007, UP045
    ([[1]], list[list[int]], True), (torch.ones(1), torch.Tensor, True), (1, (str, int), True),
])
def test_isinstance_checks_the_items_too(value, kind, expected) -> None:
    assert jit.isinstance(value, kind) is expected


def test_a_future_is_waited_for() -> None:
    future: Future[int] = Future()
    doubled = future.then(lambda done: done.value() * 2)
    failed = future.then(lambda done: done.value() / 0)
    both = collect_all([future, doubled])
    with pytest.raises(RuntimeError, match="before the future is completed"):
        future.value()
    thread = threading.Thread(target=future.set_result, args=(21,))
    thread.start()
    assert wait_all([future, doubled]) == [21, 42] and doubled.done() and len(both.wait()) == 2
    thread.join()
    with pytest.raises(RuntimeError, match="error when running the callback: ZeroDivisionError"):
        failed.wait()
    with pytest.raises(RuntimeError, match="division by zero"):
        collect_all([Future(), failed]).wait()
    with pytest.raises(RuntimeError, match="only be marked completed once"):
        future.set_result(1)
    assert jit.wait(jit.fork(lambda a, b: a + b, 1, b=2)) == 3 and collect_all([]).wait() == []


@pytest.mark.parametrize("library", ["mindtorch", "torch"])
def test_types_of_torchscript_are_printed_and_compared(library: str) -> None:
    t = pytest.importorskip(library, reason="PyTorch, whose types they are, is not installed")
    number = t.IntType.get()
    made = [t.ListType(number), t.OptionalType(t.TensorType.get()), t.DictType(t.StringType.get(), number),
            t.TupleType([number, t.FloatType.get()]), t.UnionType([t.StringType.get(), number])]
    assert [*map(str, made)] == ["List[int]", "Optional[Tensor]", "Dict[str, int]", "Tuple[int, float]",
                                 "Union[int, str]"]
    assert made[0] == t.ListType(number) != t.ListType(t.FloatType.get())
    assert [getattr(t, f"{name}Type").get().annotation_str for name in ("DeviceObj", "StreamObj", "Number", "Any")] == [
        "Device", "Stream", "number", "Any"]
    assert isinstance(str | t.DeviceObjType, types.UnionType)
