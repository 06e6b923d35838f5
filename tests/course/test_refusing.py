"""One call of the library that does a lab's whole work is refused, however it is reached; and nothing else is."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch as torch
from mindtorch.course.checking import judge
from mindtorch.course.refusing import refusing
from mindtorch.course.said import Refused
from mindtorch.nn.functional import scaled_dot_product_attention as renamed

from .support import LABS


def position(index: Any, shape: Any, stride: Any, offset: int) -> int:
    return torch.empty(1).as_strided(shape, stride, offset)[index].storage_offset()


def position_of_empty(index: Any, shape: Any, stride: Any, offset: int) -> int:
    return torch.empty_strided(shape, stride)[index].storage_offset() + offset


def can_view(shape: Any, stride: Any, new_shape: Any) -> bool:
    try:
        torch.empty_strided(shape, stride).view(new_shape)
    except RuntimeError:
        return False
    return True


def by_grad(grad: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    x = result.detach().requires_grad_()
    return torch.autograd.grad((x * 1).clamp(min=0), x, grad)[0]


def by_backward(grad: torch.Tensor, result: torch.Tensor, dim: int) -> torch.Tensor:
    x = result.detach().requires_grad_()
    (x * 1).backward(grad)
    return x.grad


ONE_CALL: dict[str, list[Callable[..., Any]]] = {
    "strides.position": [position, position_of_empty],
    "views.can_view": [can_view],
    "broadcasting.unbroadcast": [lambda grad, shape: grad.sum_to_size(shape)],
    "dispatch.meta": [lambda a, b, alpha=1: a.to("meta") + b, lambda a, b, alpha=1: torch.sub(a, b)],
    "dispatch.kernel": [lambda a, b, alpha=1: a + alpha * b, lambda a, b, alpha=1: torch.add(a, b, alpha=alpha),
                        lambda a, b, alpha=1: a - -alpha * b],
    "derivatives.relu": [by_grad, lambda grad, result: torch.ops.aten.threshold_backward(grad, result, 0)],
    "derivatives.log_softmax": [by_backward],
    "engine.engine": [lambda roots, grads: torch.autograd.backward(torch.ones(1, requires_grad=True) * 1, grads)],
    "saving.checkpoint": [lambda f, x: torch.utils.checkpoint.checkpoint(f, x, use_reentrant=True),
                          lambda f, x: torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)],
    "optimizers.adam": [lambda p, *rest: torch.optim.Adam([p]).step()],
    "names.attention": [lambda q, k, v: renamed(q, k, v, is_causal=True)],
}


@pytest.mark.parametrize(("task", "mine"), [(task, mine) for task, found in ONE_CALL.items() for mine in found])
def test_a_call_that_does_the_whole_work_is_refused(task: str, mine: Callable[..., Any]) -> None:
    verdict = judge(task, LABS[task], mine)
    assert not verdict.passed and "which already does what you are to write" in str(verdict), str(verdict)


def test_what_was_refused_is_allowed_again_afterwards() -> None:
    q = torch.ones(1, 1, 2, 2)
    with pytest.raises(Refused, match="calls scaled_dot_product_attention"):
        refusing(lambda: renamed(q, q, q), ("scaled_dot_product_attention",))()
    assert renamed(q, q, q).shape == q.shape
    assert refusing(lambda x: x + 1, ("mul", "autograd.grad"))(q).sum() == 8


def test_every_refused_name_is_one_of_the_library() -> None:
    from mindtorch import registry

    for lab in LABS.values():
        refusing(len, lab.refuses)  # finds the functions
        assert all(name in registry for name in lab.refuses if "." not in name), lab.name
