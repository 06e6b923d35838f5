"""Numbers that loops compute with, and programs of several tests."""
from __future__ import annotations

from typing import Any

from mindtorch._base import loops

from ..support import torch

LARGE = 1 << 19  #: elements, for which loops are compiled and some are shared by threads
SPECIAL = [0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1e-45, -1e-40, 88.7, -88.8, -103.9, 65519.99, 65520.0, 3e38,
           -1e38]
#: Loops that may run before the one of a test.
OTHERS = {*[f"{name}_{half}" for name in ("widen", "narrow") for half in ("float16", "bfloat16")], *[
    f"{name}_{kind}" for name in (
        "fractional_ends", "remainder", "add_at_rows", "add_at_each", "sum_rows", *loops.elements)
    for kind in ("float32", "float64")], *[f"gather_int{bits}" for bits in (16, 32, 64)]}


def numbers(dtype: torch.dtype = torch.float32, scale: float = 3.0) -> torch.Tensor:
    """Many numbers, special ones among them: in pairs, and between others."""
    pairs = torch.stack(torch.meshgrid(*[torch.tensor(SPECIAL)] * 2, indexing="ij")).reshape(2, -1)
    normal = torch.randn(2, LARGE, generator=torch.Generator().manual_seed(1)) * scale
    return torch.cat([normal[:, :777], pairs, normal], 1).to(dtype)


def lines(x: Any) -> Any:
    return x[: x.shape[0] // 640 * 640].reshape(-1, 640)


def tame(x: Any) -> Any:
    return lines(x.nan_to_num(1, 2, 3).clamp(-9, 9))


def again(call: Any, *args: Any) -> Any:
    """Return the result of the third call, for which there is a plan."""
    call(*args), call(*args)
    return call(*args)


def normalised(t: Any, x: Any, affine: bool, same: bool) -> list[Any]:
    """Lines normalised, and the gradients; ``same`` for each line or not."""
    x, weight, bias = (part.detach().clone().requires_grad_() for part in (lines(x), x[:640], x[640:1280]))
    out = t.nn.functional.layer_norm(x, (640,), *([weight, bias] if affine else []))
    (out.sum() if same else (out * lines(x.reshape(-1).detach()).sin()).sum()).backward()
    return [out.detach(), x.grad, *([weight.grad, bias.grad] if affine else [])]
