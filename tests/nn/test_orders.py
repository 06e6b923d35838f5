"""Orders of memory: outputs and gradients of images in channels-last and other orders have PyTorch's strides."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.support import torch

#: Of a library, and a batch of four channels.
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True),
    "batch_norm of given moments": lambda t, x: t.nn.functional.batch_norm(x, t.zeros(4), t.ones(4)),
    **{f"{name} {args}": lambda t, x, name=name, args=args: getattr(t.nn.functional, name)(x, *args)
       for name, args in (
           ("instance_norm", ()), ("group_norm", (2,)), ("max_pool2d", (2,)), ("avg_pool2d", (2,)),
           ("adaptive_avg_pool2d", (2,)), ("adaptive_avg_pool2d", (1,)), ("adaptive_max_pool2d", (2,)),
           ("lp_pool2d", (2, 2)), ("pixel_shuffle", (2,)), ("channel_shuffle", (2,)), ("local_response_norm", (2,)),
           ("softmax", (1,)), ("log_softmax", (-1,)), ("gelu", ()), ("silu", ()), ("glu", (1,)), ("rrelu", ()),
           ("softplus", ()), ("logsigmoid", ()), ("threshold", (0, 1)), ("dropout2d", (0.0,)), ("normalize", ()),
           ("interpolate", (None, 2)), ("interpolate", (None, 2, "bilinear")),
           ("interpolate", ((2, 2), None, "area")))},
    **{f"pad {mode}": lambda t, x, mode=mode: t.nn.functional.pad(x, (1, 2, 1, 1), mode)
       for mode in ("constant", "reflect", "replicate", "circular")},
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, x.shape[1:]),
    "prelu": lambda t, x: t.nn.functional.prelu(x, t.ones(4)),
    "conv2d": lambda t, x: t.nn.functional.conv2d(x, t.ones(3, 4, 2, 2)),
    "conv2d of each channel": lambda t, x: t.nn.functional.conv2d(x, t.ones(4, 1, 2, 2), groups=4),
    "conv_transpose2d": lambda t, x: t.nn.functional.conv_transpose2d(x, t.ones(4, 3, 2, 2)),
    "mse_loss": lambda t, x: t.nn.functional.mse_loss(x, x * 2, reduction="none"),
    "grid_sample": lambda t, x: t.nn.functional.grid_sample(x, t.zeros(len(x), 3, 3, 2), align_corners=False)}
ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "channels last": lambda t, x: x.contiguous(memory_format=t.channels_last),
    "reversed": lambda t, x: x.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
    "rows first": lambda t, x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "every second": lambda t, x: t.cat([x, x], -1)[..., ::2], "expanded": lambda t, x: x[:1].expand(x.shape)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_outputs_and_gradients_have_pytorchs_strides(name: str) -> None:
    def strides(t: Any, shape: tuple[int, ...], order: str) -> Any:
        x = ORDERS[order](t, t.arange(float(t.Size(shape).numel())).sin().reshape(shape)).detach()
        plain = PROGRAMS[name](t, x).stride()
        result = PROGRAMS[name](t, x.requires_grad_())
        return plain, result.stride(), t.autograd.grad(result.sum(), x)[0].stride()

    for shape in ((2, 4, 4, 6), (1, 4, 4, 4)):
        for order in ORDERS:
            assert strides(mindtorch, shape, order) == strides(torch, shape, order), (shape, order)
