"""What errors of the library are about: their kinds, facts and calls, which keep no tensor alive."""
from __future__ import annotations

import copy
import dataclasses
import gc
import pickle

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._base.about import sketch, strongly
from mindtorch._base.errors import check

from .notebook.errors import ERRORS, caught


def calls(error):
    """List the calls that an error went through, the innermost first: each function, and the shapes of its tensors."""
    found = []
    for call in error._about.calls:
        function = strongly(call.function)
        name = function if isinstance(function, str) else getattr(function, "name", type(function).__name__)
        found.append((name, [tuple(arg.shape) for arg in strongly(call.args) if isinstance(arg, torch.Tensor)]))
    return found


def test_a_message_is_composed_only_for_an_error():
    check(True, lambda: pytest.fail("the message was composed"))
    with pytest.raises(IndexError, match="5 is too much"):
        check(False, lambda: f"{5} is too much", IndexError)


def test_an_error_knows_its_kind_and_the_operator_and_operands_that_it_arose_from():
    error = caught(lambda: torch.ones(3, 4) + torch.ones(2, 4))
    assert type(error) is RuntimeError and error._about.kind == "broadcast"
    assert calls(error) == [("add.Tensor", [(3, 4), (2, 4)])]
    error.__traceback__ = None  # which held the operands
    assert calls(error) == [("add.Tensor", [])]


def test_an_error_knows_the_facts_that_its_message_states():
    x = torch.ones(3)
    error = caught(lambda: x[5])
    assert str(error) == "index 5 is out of bounds for dimension 0 with size 3"
    assert error._about.kind == "index" and error._about.facts == {"index": 5, "dim": 0, "size": 3}


def test_an_error_in_a_module_of_a_module_knows_all_the_calls_on_its_way():
    model, x = nn.Sequential(nn.Sequential(nn.Linear(4, 2))), torch.ones(3, 5)
    names = [name for name, _ in calls(caught(lambda: model(x)))]
    assert names == ["addmm", "linear", "Linear", "Sequential", "Sequential"]


def test_an_error_in_a_pipeline_and_in_a_hook_and_in_backward_knows_its_operator():
    x, w = torch.arange(5.0), torch.ones(3, requires_grad=True)

    def queued():
        with torch.pipeline():
            x[torch.tensor([7])]

    assert calls(caught(queued).__cause__)[0][0] == "index.Tensor"
    w.register_hook(lambda gradient: gradient + torch.ones(2))
    assert [name for name, _ in calls(caught(lambda: w.sum().backward()))] == ["add.Tensor", "backward"]


def test_an_error_on_an_npu_knows_its_operator():
    x = torch.ones(3, device="npu")
    assert calls(caught(lambda: x + torch.ones(2, device="npu")))[-1][0] == "add.Tensor"


def of(kind):
    return pytest.param(*next(case[:2] for case in ERRORS if case[0] == kind), id=kind)


@pytest.mark.parametrize(("kind", "function"), [of(kind) for kind in (
    "broadcast", "index", "linear shapes", "view strides", "expand", "cat shapes", "top k", "no parameter",
    "arguments", "no tensor", "state dict", "not for this dtype", "backward of many", "assigned gradient",
)])
def test_an_error_keeps_no_tensor_alive_longer_than_its_traceback(kind, function):
    def tensors():
        return {id(thing) for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor)}

    caught(function)  # what is kept from the first time on, such as constants, is no error's
    gc.collect()
    gc.disable()
    try:
        before = tensors()
        error = caught(function)
        error.__traceback__ = error.__context__ = error.__cause__ = None
        assert tensors() <= before and error._about.kind
    finally:
        gc.enable()


def test_an_error_can_be_copied_and_pickled():
    error = caught(lambda: torch.ones(3) + torch.ones(4))
    for other in (copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(other) is RuntimeError and str(other) == str(error)
        assert other._about.kind == "broadcast" and other._about.calls == []


def test_an_error_whose_attributes_cannot_be_set_passes_as_it_is():
    @dataclasses.dataclass(frozen=True)
    class Mine(Exception):
        reason: str

    def fail(gradient):
        raise Mine("own")

    w = torch.ones(2, requires_grad=True)
    w.register_hook(fail)
    error = caught(lambda: w.sum().backward())
    assert error == Mine("own") and [name for name, _ in calls(error)] == ["backward"]


@pytest.mark.parametrize(("value", "text"), [
    (torch.ones(2, 3), "float32[2, 3]"), (torch.ones(2, device="meta"), "float32[2] on meta"),
    ([1, 2, 3, 4], "[1, 2, 3, 4]"), ((1, "a", None, 2.5, 5), "[1, 'a', None, 2.5, ...]"), ("x" * 41, repr("x" * 40)),
    (int, "type"), (torch.float64, "torch.float64"), (object(), "object"),
])
def test_a_value_is_described_in_a_few_words(value, text):
    assert sketch(value) == text
