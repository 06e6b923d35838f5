"""An error in a nested program says below its message, which stays PyTorch's, where it arose: the program's line, the
operator and its operands, the module by its path, the node of the graph.
"""
from __future__ import annotations

import inspect
import re
import traceback
from functools import partial

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch.utils.checkpoint import checkpoint
from mindtorch.utils.data import DataLoader, Dataset

THREE = torch.ones(3)


def fails(*_):
    """Raise the error that all these programs are about, in one line."""
    return THREE + torch.ones(2)


FILE = re.escape(__file__)
LINE = inspect.getsourcelines(fails)[1] + 2
AT_LINE = rf"aten::add.Tensor\(self=float32\[3\], other=float32\[2\]\), called at {FILE}:{LINE} in fails"


class Attention(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return self.body(x)


class Calling(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return fails()


class Broken(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, number):
        return fails()


def error_of(program, *args):
    with pytest.raises(Exception) as caught:
        program(*args)
    return caught.value


def leaf():
    return torch.ones(3, requires_grad=True)


def transformer():
    model = nn.Module()
    model.layers = nn.ModuleList([Attention(nn.Linear(3, 3)), Attention(nn.Linear(4, 5))])
    model.forward = lambda x: model.layers[1](model.layers[0](x))  # type: ignore[method-assign]
    model(torch.ones(2, 3))


def in_a_dict():
    blocks = nn.ModuleDict({"first": nn.Sequential(nn.Linear(3, 4), nn.Linear(3, 4))})
    Attention(nn.Sequential(blocks["first"]))(THREE)


def hooked(kind, result=None):
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    getattr(model[0], f"register_{kind}_hook")(fails)
    model(leaf()).sum().backward()


def tensor_hook():
    x = leaf()
    x.register_hook(fails)
    (x * 2).sum().backward()


def in_place():
    x = leaf()
    y = x.exp()
    z = (y * y).sum()
    y.add_(1)
    z.backward()


def anomaly():
    x = leaf()
    with torch.autograd.set_detect_anomaly(True):
        y = Square.apply(x)
        y.sum().backward()


ANOMALY = inspect.getsourcelines(anomaly)[1] + 3


def queued():
    x = torch.arange(5.0)
    with torch.pipeline():
        x[torch.tensor([7])]


def on_npu():
    x = torch.ones(3, device="npu")
    torch.npu.simulator.faults.fail("aclnnExp", phase="async")
    try:
        y = x.exp()
        (y + 1).cpu()
    finally:
        torch.npu.simulator.faults.clear()


def stepped(kind, state):
    x = leaf()
    x.grad = torch.ones(3)
    optimizer = kind([x], lr=0.1)
    optimizer.step()
    optimizer.state[x][state] = torch.ones(2)
    optimizer.step()


def recomputed(reentrant):
    calls = []

    def function(x):
        calls.append(x)
        return fails() if len(calls) == 2 else x.exp()

    checkpoint(function, leaf(), use_reentrant=reentrant).sum().backward()


#: the program, and what its notes say, in order, the innermost first
CASES = {
    "a module in modules": (
        transformer,
        [rf"aten::addmm\(self=float32\[5\], mat1=float32\[2, 3\], mat2=float32\[4, 5\]\), called at {FILE}",
         r"in layers\.1\.body \(Linear\) of Module, called with \(float32\[2, 3\]\)"]),
    "a Sequential of a ModuleDict": (
        in_a_dict, [r"aten::", r"in body\.0\.1 \(Linear\) of Attention, called with \(float32\[4\]\)"]),
    "a module of the user's": (
        lambda: nn.Sequential(nn.ReLU(), Calling(fails))(THREE),
        [AT_LINE, r"in 1 \(Calling\) of Sequential, called with \(float32\[3\]\)"]),
    "a forward hook": (
        partial(hooked, "forward"), [AT_LINE, r"in 0 \(Linear\) of Sequential, called with \(float32\[3\]\)"]),
    "a forward pre-hook": (
        partial(hooked, "forward_pre"), [AT_LINE, r"in 0 \(Linear\) of Sequential, called with \(float32\[3\]\)"]),
    "a backward hook": (
        partial(hooked, "full_backward"),
        [AT_LINE, r"in a backward hook of Linear, called with \(\[float32\[3\]\], \[float32\[3\]\]\)",
         "in BackwardHookFunctionBackward"]),
    "a backward pre-hook": (
        partial(hooked, "full_backward_pre"),
        [AT_LINE, r"in a backward hook of Linear, called with \(\[float32\[3\]\]\)",
         "in BackwardHookFunctionBackward"]),
    "a hook of a leaf": (
        tensor_hook, [AT_LINE, r"in torch::autograd::AccumulateGrad, the gradient of a leaf float32\[3\]"]),
    "backward of a Function": (
        lambda: Square.apply(leaf()).sum().backward(),
        [AT_LINE, r"in SquareBackward, the backward of Square -> float32\[3\]; .*set_detect_anomaly\(True\)"]),
    "backward of a Function in anomaly mode": (
        anomaly,
        [AT_LINE, rf"in SquareBackward, .* float32\[3\], called at {FILE}:{ANOMALY} in anomaly"]),
    "backward of an operator": (in_place, [r"in MulBackward0, the backward of Mul -> float32\[3\]"]),
    "recomputation": (
        partial(recomputed, False), [AT_LINE, r"in ExpBackward0, the backward of Exp -> float32\[3\]"]),
    "reentrant recomputation": (
        partial(recomputed, True), [AT_LINE, r"in CheckpointFunctionBackward, the backward of CheckpointFunction"]),
    "a pipeline": (
        queued, [rf"aten::index.Tensor\(self=float32\[5\], indices=\[int64\[1\]\]\), recorded at {FILE}"]),
    "an NPU, late": (
        on_npu, [rf"aclnnExp\(float32\[3\], float32\[3\]\), queued at {FILE}:\d+ in on_npu"]),
    "a step of SGD": (
        partial(stepped, partial(torch.optim.SGD, momentum=0.9), "momentum_buffer"),
        [r"aten::_fused_sgd_\(self=\[float32\[3\]\], .*momentum_buffer_list=\[float32\[2\]\].* in stepped",
         "in the step of SGD"]),
    "a step of Adagrad": (
        partial(stepped, torch.optim.Adagrad, "sum"), [r"aten::.*float32\[2\].* in stepped", "in the step of Adagrad"]),
    "vmap": (
        lambda: torch.func.vmap(lambda x: x + torch.ones(2))(torch.ones(4, 3)),
        [r"aten::add.Tensor\(self=float32\[4, 3\], other=float32\[2\]\), called at .*<lambda>",
         r"in vmap of <lambda>, called with \(float32\[3\]\)"]),
    "torch.func.grad": (
        lambda: torch.func.grad(fails)(THREE), [AT_LINE, r"in grad_and_value of fails, called with \(float32\[3\]\)"]),
    "torch.func.jvp": (
        lambda: torch.func.jvp(fails, (THREE,), (THREE,)), [AT_LINE, r"in jvp of fails, called with \(float32\[3\]\)"]),
    "a transform of a transform": (
        lambda: torch.func.vmap(torch.func.grad(lambda x: fails(x).sum()))(torch.ones(4, 3)),
        [AT_LINE, "in grad_and_value of <lambda>", "in vmap of"]),
}


@pytest.mark.filterwarnings("ignore:Error detected in", "ignore:aten::.* has no NPU kernel")
@pytest.mark.parametrize("name", CASES)
def test_an_error_says_where_it_arose(name):
    program, expected = CASES[name]
    notes = error_of(program).__notes__
    assert len(notes) == len(expected), notes
    for note, pattern in zip(notes, expected, strict=True):
        assert re.match(pattern, note), f"{note!r} is not {pattern!r}"


def test_an_error_of_a_worker_process_says_the_same():
    with pytest.raises(RuntimeError) as caught:
        next(iter(DataLoader(Broken(), num_workers=1)))
    text = str(caught.value)
    assert text.startswith("Caught RuntimeError in DataLoader worker process 0.\nOriginal Traceback")
    assert re.search(AT_LINE, text) and f'File "{__file__}", line {LINE}, in fails' in text


def test_an_error_that_is_raised_again_says_it_once():
    error = error_of(fails)

    def again(_):
        raise error

    for _ in range(3):
        assert error_of(nn.Sequential(Calling(again)), THREE) is error
    assert re.match(AT_LINE, error.__notes__[0])
    assert error.__notes__[1:] == ["in 0 (Calling) of Sequential, called with (float32[3])"]


def test_a_module_that_is_not_below_another_has_a_sentence_of_its_own():
    inner = nn.Sequential(nn.ReLU(), Calling(fails))
    error = error_of(nn.Sequential(Calling(inner.__call__)), THREE)
    assert [note.split(",")[0] for note in error.__notes__[1:]] == [
        "in 1 (Calling) of Sequential", "in 0 (Calling) of Sequential"]


def test_an_error_that_is_not_nested_says_no_more_than_its_message():
    for program in (fails, lambda: nn.Linear(3, 2)(torch.ones(4)), lambda: Calling(fails)(THREE)):
        assert not hasattr(error_of(program), "__notes__")


def test_type_and_message_stay_and_the_traceback_shows_the_notes():
    error = error_of(transformer)
    assert str(error) == "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"
    shown = traceback.format_exception_only(error)
    assert shown[0] == f"RuntimeError: {error}\n" and [line.rstrip("\n") for line in shown[1:]] == error.__notes__


def test_a_broken_module_is_told_of_too():
    model = nn.Sequential(Calling(fails))
    del model[0].__dict__["_modules"]
    assert "Calling" in error_of(model, THREE).__notes__[-1]


def test_a_late_error_of_backward_names_the_operator_that_failed_and_not_one_whose_name_begins_its() -> None:
    simulator = torch.npu.simulator
    x = torch.ones(2, 3, device="npu", requires_grad=True)
    total = x.sigmoid().sum()
    simulator.faults.fail("aclnnSigmoidBackward", phase="async")
    try:
        total.backward()
        with pytest.raises(torch.npu.AclError) as raised:
            torch.npu.synchronize()
    finally:
        simulator.faults.clear()
    assert raised.value.__notes__[0].startswith("aclnnSigmoidBackward(float32[2, 3]")


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad])
def test_an_optimizer_names_the_shapes_of_a_parameter_that_has_changed(kind) -> None:
    param = nn.Parameter(torch.ones(3))
    optimizer = kind([param], lr=0.1, **({"momentum": 0.9} if kind is torch.optim.SGD else {}))
    param.sum().backward()
    optimizer.step()
    param.data, param.grad = torch.ones(4), torch.ones(4)
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match .* tensor b \(4\)") as raised:
        optimizer.step()
    assert "in the step of" in str(raised.value.__notes__)


def misfit(x):
    return x.exp() + torch.ones(2)


def loaded():
    model = nn.Sequential(nn.Linear(3, 4))
    model.load_state_dict({"0.weight": torch.ones(4, 5), "0.bias": torch.ones(4)})


#: The program, the function of this file whose line its traceback names last, and what its message says of operands.
PLAIN = {
    "load_state_dict": (loaded, "loaded", r"size mismatch for 0\.weight: .*\[4, 5\].*\[4, 3\]"),
    "a distribution's parameter": (
        lambda: torch.distributions.Normal(torch.tensor([0.0, torch.nan]), 1.0), "<lambda>",
        r"parameter loc \(Tensor of shape \(2,\)\) of distribution Normal"),
    "a distribution's value": (
        lambda: torch.distributions.Normal(torch.zeros(2), 1.0).log_prob(torch.ones(3)), "<lambda>",
        r"not broadcastable with .*\[3\]\) vs torch\.Size\(\[2\]\)"),
    "torch.compile": (lambda: torch.compile(misfit)(THREE), "misfit", r"tensor a \(3\) must match .* tensor b \(2\)"),
    "a checkpoint": (
        lambda: checkpoint(misfit, leaf(), use_reentrant=False), "misfit", r"tensor a \(3\) must match .* b \(2\)"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_an_error_in_a_program_of_one_level_has_the_users_line_in_its_traceback(name):
    program, function, message = PLAIN[name]
    error = error_of(program)
    mine = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
    assert mine[-1].name == function
    assert re.search(message, str(error).replace("\n", " ")), str(error)
