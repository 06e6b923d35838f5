"""Numbers and sizes that depend on data, in compiled programs: ``capture_scalar_outputs`` and the like."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._dynamo.testing import CompileCounterWithBackend

PROGRAMS: dict[str, Callable[..., Any]] = {
    "number": lambda x: x * x.sum().item(), "arithmetic": lambda x: x * (x.sum().item() * 2 + 1 - 3 / 4),
    "integer": lambda x: torch.zeros(x.long().sum().item()), "boolean": lambda x: x * (x > 0).all().item(),
    "result": lambda x: [x + 1, {"a": x.max().item(), "b": x.max().item() > 2}],
    "twice": lambda x: x * x.sum().item() + x.sum().item(), "fill": lambda x: torch.full((2,), x.sum().item()),
    "check": lambda x: (torch._check(x.long().sum().item() >= 5), x + 1)[1], "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 1] * 2, "size": lambda x: x[x > 1].numel() + x + x.nonzero().shape[0]}
BROKEN: dict[str, Callable[..., Any]] = {
    "branch": lambda x: x + 1 if x.sum().item() > 0 else x - 1, "int": lambda x: x[:int(x.sum().item()) % 2 + 1],
    "range": lambda x: sum(x * i for i in range(x.long().max().item())), "view": lambda x: x.repeat(
        x.long().max().item())}


@pytest.mark.parametrize("name", [*PROGRAMS, *BROKEN])
@pytest.mark.parametrize("backend", ["inductor", "eager"])
def test_numbers_that_depend_on_data_are_nodes_until_python_needs_them(name, backend) -> None:
    function = {**PROGRAMS, **BROKEN}[name]
    counter = CompileCounterWithBackend(backend)
    with torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(function, backend=counter, fullgraph=name in PROGRAMS)
        for values in ([1.0, 2.0, 3.0], [4.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]):
            for requires_grad in (False, True):
                x, y = (torch.tensor(values, requires_grad=requires_grad) for _ in range(2))
                result, expected = compiled(x), function(y)
                torch.testing.assert_close(result, expected)
                if isinstance(expected, torch.Tensor) and expected.requires_grad:
                    result.sum().backward()
                    expected.sum().backward()
                    assert x.grad.tolist() == y.grad.tolist()
        if name in BROKEN and name != "view":  # of which sizes that are known are captured whole
            with pytest.raises(torch._dynamo.exc.Unsupported, match="data-dependent"):
                torch.compile(function, fullgraph=True)(torch.tensor([1.0, 2.0]))
    assert counter.frame_count == 4 if name in PROGRAMS else counter.frame_count


def test_a_promise_about_data_is_checked_when_the_program_runs() -> None:
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(PROGRAMS["check"], fullgraph=True)
        assert compiled(torch.tensor([3.0, 3.0])).tolist() == [4, 4]
        with pytest.raises(RuntimeError, match="Expected cond to be True"):
            compiled(torch.tensor([1.0, 1.0]))


@pytest.mark.parametrize("name,reason", [("number", "reads data"), ("nonzero", "Dynamic shape operator")])
@pytest.mark.parametrize("dynamic", [None, True])
def test_without_the_options_they_break_the_graph(name, reason, dynamic) -> None:
    with pytest.raises(torch._dynamo.exc.Unsupported, match=reason):
        torch.compile(PROGRAMS[name], fullgraph=True, dynamic=dynamic)(torch.tensor([1.0, 2.0]))
