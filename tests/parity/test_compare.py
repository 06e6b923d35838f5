"""The comparison itself: PyTorch agrees with PyTorch, and each way of being wrong is found and named."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.compare import Entry, Result, database
from tests.support import torch


class Altered:
    """A namespace with some names replaced, such as a PyTorch with one wrong operator."""

    def __init__(self, target: Any, **names: Any) -> None:
        self.__dict__.update(names)
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


def compare(name: str, dtype: torch.dtype = torch.float32, methods: dict[str, Any] | None = None,
            **functions: Any) -> Result:
    lib = Altered(torch, **functions, Tensor=Altered(torch.Tensor, **(methods or {})))
    return Entry(database()[name], lib, most=8).compare(dtype)


@pytest.mark.parametrize("name", ["add", "transpose", "var", "cat", "nn.functional.dropout", "zero_", "empty",
                                  "__getitem__", "split", "max.reduction_with_dim", "linalg.svdvals", "to"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_pytorch_agrees_with_pytorch(name: str, dtype: torch.dtype) -> None:
    result = compare(name, dtype)
    assert result.status in ("agrees", "not applicable"), [str(d) for _, _, d in result.found]


def moved(x: torch.Tensor) -> torch.Tensor:
    """Return the same tensor, one element into a larger storage."""
    return torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape)


def writes_to_input(x: torch.Tensor) -> torch.Tensor:
    result = torch.abs(x)
    with torch.no_grad():
        x.add_(0)
    return result


def writes_behind_the_version(x: torch.Tensor) -> torch.Tensor:
    result = torch.abs(x)
    if x.device.type == "cpu":
        x.data.neg_()
    return result


def raising(error: Exception) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise error
    return function


def other_error(*args: Any, **kwargs: Any) -> Any:
    try:
        return torch.dot(*args, **kwargs)
    except RuntimeError as error:
        raise ValueError(*error.args) from error


def kth(change: Callable[[torch.Tensor, torch.Tensor], Any]) -> Callable[..., Any]:
    """`torch.kthvalue` with its values and indices changed."""
    return lambda *args, **kwargs: torch.return_types.kthvalue(change(*torch.kthvalue(*args, **kwargs)))


WRONG_FUNCTIONS = [
    ("abs", lambda x, **k: torch.abs(x, **k) * (1 + 1e-4), "function", "value"),
    ("abs", lambda x: torch.abs(x).double(), "function", "dtype"),
    ("abs", lambda x: torch.abs(x)[None], "function", "shape"),
    ("abs", lambda x: torch.abs(x).mT.contiguous().mT if x.ndim == 2 else torch.abs(x), "function", "stride"),
    ("abs", lambda x: moved(torch.abs(x)), "function", "offset"),
    ("abs", lambda x: torch.abs(x.detach()), "function", "requires_grad"),
    ("abs", lambda x: torch.abs(x).tolist(), "function", "type"),
    ("abs", lambda x: [torch.abs(x)], "function", "type"),
    ("abs", lambda x: torch.abs(x).view(-1).view(x.shape), "function", "alias view"),
    ("abs", writes_to_input, "function", "version"),
    ("abs", writes_behind_the_version, "function", "value"),
    ("abs", raising(RuntimeError("no")), "function", "error"),
    ("exp", lambda x: torch.exp(x) + (x - x.detach()), "grad", "value"),
    ("exp", lambda x: torch.exp(x) * (1 + x.double() - x.detach()).float(), "grad", "value"),
    ("dot", other_error, "errors", "error"),
    ("dot", lambda a, b, **k: torch.sum(a * b), "errors", "error"),
    ("transpose", lambda *a: torch.transpose(*a).clone(memory_format=torch.preserve_format), "function",
     "alias storage"),
    ("transpose", lambda x, *a: torch.transpose(x.view_as(x).data, *a), "function", "alias base"),
    ("positive", lambda x: x.view_as(x), "function", "alias is"),
    ("abs", lambda x: torch.abs(x).double() if x.is_meta else torch.abs(x), "meta", "dtype"),
    ("abs", lambda x: torch.abs(x)[None] if x.is_meta else torch.abs(x), "meta", "shape"),
    ("abs", lambda x: torch.abs(x).mT.contiguous().mT if x.is_meta and x.ndim == 2 else torch.abs(x), "meta",
     "stride"),
    ("abs", lambda x: torch.abs(x) if not x.is_meta else raising(TypeError("meta"))(), "meta", "error"),
    ("abs", lambda x, **k: torch.abs(x), "out= other layout", "alias is"),
    ("abs", lambda x, out=None: torch.abs(x, out=out) if out is None or out.shape == x.shape else
     raising(RuntimeError("does not resize"))(), "out= empty", "error"),
    ("abs", lambda x, out=None: torch.abs(x) if out is None else out.copy_(torch.abs(x)), "out= other dtype",
     "error"),
    ("max.reduction_with_dim", lambda *a, **k: tuple(torch.max(*a, **k)), "function", "type"),
    ("kthvalue", kth(lambda values, indices: (values + 1, indices)), "function", "value"),
    ("kthvalue", kth(lambda values, indices: (values, indices * 0)), "function", "value"),
    ("equal", lambda *a: int(torch.equal(*a)), "function", "type"),
]


@pytest.mark.parametrize(("name", "wrong", "check", "kind"), WRONG_FUNCTIONS)
def test_a_wrong_function_is_found(name: str, wrong: Callable[..., Any], check: str, kind: str) -> None:
    result = compare(name, **{name.partition(".")[0]: wrong})
    assert result.status == "differs"
    assert (check, kind) in {(check, difference.kind) for check, _, difference in result.found}


WRONG_METHODS = [
    ("abs", lambda x: torch.abs(x) + 1, "method", "value"),
    ("abs_", lambda x: torch.abs(x), "in-place", "alias is"),
    ("abs_", lambda x: x.copy_(torch.abs(x)).mul_(2), "in-place", "value"),
    ("abs_", lambda x: x.copy_(torch.abs(x).detach() + 0 * x), "grad", "value"),
    ("abs_", lambda x: (x.data.abs_(), x)[1], "in-place", "version"),
]


@pytest.mark.parametrize(("name", "wrong", "check", "kind"), WRONG_METHODS)
def test_a_wrong_method_is_found(name: str, wrong: Callable[..., Any], check: str, kind: str) -> None:
    result = compare("abs", methods={name: wrong})
    assert result.status == "differs"
    assert (check, kind) in {(check, difference.kind) for check, _, difference in result.found}


def test_the_index_of_any_of_equal_elements_is_right() -> None:
    def last(x: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
        values = torch.kthvalue(x, k, dim, True).values
        from_the_end = (x == values).to(torch.int64).flip(dim).argmax(dim, True)
        indices = (x.shape[dim] if x.ndim else 1) - 1 - from_the_end
        return torch.return_types.kthvalue((values, indices) if keepdim or not x.ndim else
                                           (values.squeeze(dim), indices.squeeze(dim)))

    result = compare("kthvalue", torch.int64, kthvalue=last)
    assert not [d for check, _, d in result.found if (check, d.kind) == ("function", "value")]


def test_what_is_missing_is_told_from_what_is_wrong() -> None:
    class Empty:
        default_generator = torch.default_generator

    result = Entry(database()["abs"], Empty()).compare(torch.float32)
    assert (result.status, result.reason) == ("missing", "no abs")
    result = compare("repeat", methods={"repeat": raising(AttributeError("inside"))})
    assert result.status == "differs"


def test_an_entry_that_cannot_be_compared_says_why() -> None:
    result = compare("to_sparse")
    assert (result.status, result.reason) == ("excluded", "sparse layout")
