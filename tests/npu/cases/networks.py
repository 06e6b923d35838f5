"""Cases of losses, normalisation and the step of Adam."""
from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from .draw import aten, case

# -- losses ------------------------------------------------------------------------------------------------------------

for reduction in (0, 1, 2):
    grad = () if reduction else (3, 4)
    for name, op in (("MseLoss", "mse_loss"), ("SoftMarginLoss", "soft_margin_loss")):
        case(name, lambda x, r=reduction: (x(3, 4), x(3, 4), r), getattr(aten, op))
        case(
            f"{name}Backward",
            lambda x, r=reduction, g=grad: (x(*g), x(3, 4), x(3, 4), r),
            getattr(aten, f"{op}_backward"),
            "float32",
        )
    case("L1Loss", lambda x, r=reduction: (x(3, 4), x(3, 4), r), aten.l1_loss, "reduced|float32")
    case(
        "L1LossBackward",
        lambda x, r=reduction, g=grad: (x(*g), x(3, 4), x(3, 4), r),
        lambda g, a, b, r: g * torch.sign(a - b) / (12 if r == 1 else 1),
        "float32",
    )
    case("SmoothL1Loss", lambda x, r=reduction: (x(3, 4), x(3, 4), r, 0.7), aten.smooth_l1_loss)
    case(
        "SmoothL1LossBackward",
        lambda x, r=reduction, g=grad: (x(*g), x(3, 4), x(3, 4), r, 0.7),
        aten.smooth_l1_loss_backward,
        "float32",
    )
    for weighted in (False, True):
        weight = (lambda x: x.unit(3, 4)) if weighted else (lambda x: None)
        case(
            "BinaryCrossEntropy",
            lambda x, r=reduction, w=weight: (x.unit(3, 4), x.unit(3, 4), w(x), r),
            aten.binary_cross_entropy,
            "float32",
        )
        case("BinaryCrossEntropyBackward",
             lambda x, r=reduction, w=weight, g=grad: (x(*g), x.unit(3, 4), x.unit(3, 4), w(x), r),
             aten.binary_cross_entropy_backward, "float32")
        case("BinaryCrossEntropyWithLogits", lambda x, r=reduction, w=weight: (x(3, 4), x.unit(3, 4), w(x), w(x), r),
             aten.binary_cross_entropy_with_logits)

        def logits_backward(g: Any, a: Any, b: Any, w: Any, p: Any, r: int) -> Any:
            a = a.detach().requires_grad_()
            return torch.autograd.grad(aten.binary_cross_entropy_with_logits(a, b, w, p, r), a, g)[0]

        case(
            "BinaryCrossEntropyWithLogitsBackward",
            lambda x, r=reduction, w=weight, g=grad: (x(*g), x(3, 4), x.unit(3, 4), w(x), w(x), r),
            logits_backward,
            "float32",
        )
    for log_target in (False, True):
        case(
            "KlDiv",
            lambda x, r=reduction, t=log_target: (x(3, 4), x.unit(3, 4), r, t),
            lambda a, b, r, t: aten.kl_div(a, b, r, log_target=t),
            "float32",
        )

        def kl_div_backward(g: Any, a: Any, b: Any, r: int, log_target: bool) -> Any:
            a = a.detach().requires_grad_()
            return torch.autograd.grad(aten.kl_div(a, b, r, log_target=log_target), a, g)[0]

        case(
            "KlDivBackward",
            lambda x, r=reduction, t=log_target, g=grad: (x(*g), x(3, 4), x.unit(3, 4), r, t),
            kl_div_backward,
            "float32",
        )
    case(
        "NLLLoss",
        lambda x, r=reduction: (x(5, 4), torch.tensor([0, 3, 1, 2, 3]), x.unit(4), r, 1),
        aten.nll_loss_forward,
        "float32",
    )
    case("NLLLossBackward",
         lambda x, r=reduction: (x(*(() if r else (5,))), x(5, 4), torch.tensor([0, 3, 1, 2, 3]), x.unit(4), r, 1,
                                 x.positive()),
         aten.nll_loss_backward, "float32")
    case(
        "NLLLoss2d",
        lambda x, r=reduction: (x(2, 4, 3, 3), x.below(4, 2, 3, 3), x.unit(4), r, 1),
        aten.nll_loss2d_forward,
        "float32",
    )
    case("NLLLoss2dBackward",
         lambda x, r=reduction: (x(*(() if r else (2, 3, 3))), x(2, 4, 3, 3), x.below(4, 2, 3, 3), x.unit(4), r, 1,
                                 x.positive()),
         aten.nll_loss2d_backward, "float32")
    case(
        "MultilabelMarginLoss",
        lambda x, r=reduction: (x(2, 4), torch.tensor([[1, 2, -1, 0], [3, -1, 1, 1]]), r),
        aten.multilabel_margin_loss_forward,
        "float32",
    )
case(
    "KlDiv", lambda x: (x(3, 4), x.unit(3, 4), 3, False), lambda a, b, r, t: F.kl_div(a, b, reduction="batchmean"),
    "float32"
)
case("KlDivBackward", lambda x: (x(), x(3, 4), x.unit(3, 4), 3, False), lambda g, a, b, r, t: -g * b / 3, "float32")

# -- normalisation and Adam --------------------------------------------------------------------------------------------


def layer_norm(a: Any, shape: Any, w: Any, b: Any, eps: float) -> Any:
    return torch.native_layer_norm(a, shape, w, b, eps)


MASK = (True, True, True)
case("LayerNorm", lambda x: (x(2, 3, 4), (3, 4), x(3, 4), x(3, 4), 1e-5), layer_norm, "float32")
case("LayerNorm", lambda x: (x(2, 3, 4), (4,), None, None, 1e-3), layer_norm, "float32")
case("LayerNormBackward",
     lambda x: (x(2, 3, 4), a := x(2, 3, 4), (4,), *layer_norm(a, (4,), None, None, 1e-5)[1:], x(4), x(4), MASK),
     aten.native_layer_norm_backward, "float32")


def rms_norm(a: Any, gamma: Any, eps: float) -> Any:
    rstd = torch.rsqrt(a.square().mean(-1, keepdim=True) + eps)
    return F.rms_norm(a, gamma.shape, gamma, eps), rstd


def rms_norm_grad(g: Any, a: Any, rstd: Any, gamma: Any) -> Any:
    a, gamma = a.detach().requires_grad_(), gamma.detach().requires_grad_()
    return torch.autograd.grad(F.rms_norm(a, gamma.shape, gamma, 1e-6), (a, gamma), g)


case("RmsNorm", lambda x: (x(2, 3, 4), x(4), 1e-6), rms_norm, "float32")
case(
    "RmsNormGrad",
    lambda x: (x(2, 3, 4), a := x(2, 3, 4), rms_norm(a, torch.ones(4), 1e-6)[1], x(4)),
    rms_norm_grad,
    "float32",
)


def batch_norm(a: Any, w: Any, b: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float) -> Any:
    out, save_mean, save_invstd = torch.native_batch_norm(a, w, b, mean, var, training, momentum, eps)
    return mean, var, out, save_mean, save_invstd


def batch_norm_eval(a: Any, w: Any, b: Any, mean: Any, var: Any, *rest: Any) -> Any:
    """What is saved for the backward has no elements."""
    return mean, var, F.batch_norm(a, mean, var, w, b, eps=rest[-1]), torch.empty(0), torch.empty(0)


case("BatchNorm", lambda x: (x(3, 4, 5), x(4), x(4), x(4), x.unit(4), True, 0.3, 1e-5), batch_norm, "float32")
case("BatchNorm", lambda x: (x(3, 4), None, None, None, None, True, 0.3, 1e-5), batch_norm, "float32")
case("BatchNorm", lambda x: (x(3, 4, 2, 2), x(4), x(4), x(4), x.unit(4), False, 0.3, 1e-5), batch_norm_eval, "float32")
for training in (True, False):
    case("BatchNormBackward",
         lambda x, t=training: (x(3, 4, 5), x(3, 4, 5), x(4), x(4), x.unit(4), x(4), x.unit(4), t, 1e-5, MASK),
         aten.native_batch_norm_backward, "float32")
case("GroupNorm", lambda x: (x(2, 6, 5), x(6), x(6), 2, 6, 5, 3, 1e-5), torch.native_group_norm, "float32")
case("GroupNorm", lambda x: (x(2, 6, 5), None, None, 2, 6, 5, 2, 1e-5), torch.native_group_norm, "float32")
case("GroupNormBackward",
     lambda x: (x(2, 6, 5), a := x(2, 6, 5), *torch.native_group_norm(a, None, None, 2, 6, 5, 3, 1e-5)[1:], x(6),
                2, 6, 5, 3, MASK),
     aten.native_group_norm_backward, "float32")


def adam_w(var: Any, m: Any, v: Any, peak: Any, grad: Any, step: Any, lr: float, beta1: float, beta2: float,
           decay: float, eps: float, amsgrad: bool, maximize: bool) -> Any:
    peaks = [] if peak is None else [peak]
    torch._fused_adamw_([var], [grad], [m], [v], peaks, [step.float().reshape(()) + 1], lr=lr, beta1=beta1, beta2=beta2,
                        weight_decay=decay, eps=eps, amsgrad=amsgrad, maximize=maximize)
    return (var, m, v, *peaks) if peaks else (var, m, v, None)


RATES = (0.01, 0.9, 0.99, 0.1, 1e-8)
case(
    "ApplyAdamWV2",
    lambda x: (x(3, 4), x(3, 4), x.unit(3, 4), None, x(3, 4), torch.tensor([2]), *RATES, False, True),
    adam_w,
    "float32",
)
case("ApplyAdamWV2",
     lambda x: (x(3, 4), x(3, 4), x.unit(3, 4), x.unit(3, 4), x(3, 4), torch.tensor([2.0]), *RATES, True, False),
     adam_w, "float32")
