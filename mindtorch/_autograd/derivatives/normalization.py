"""Derivatives of normalisation. Those of its backward operators are one formula, for all groups of elements."""
from __future__ import annotations

from typing import Any

from ..._base.groups import Groups, by_channel, by_group, by_row
from ..._dispatch.aten import native_batch_norm_backward, native_group_norm_backward, native_layer_norm_backward
from ..._dispatch.dispatcher import is_seen
from ..._dispatch.local import local
from ..derivative import derivative


def wide(tensor: Any, shape: Any) -> Any:
    """A tensor in some shape, in float32 if it is of half precision."""
    if tensor is None:
        return None
    return (tensor.float() if tensor.dtype.itemsize == 2 else tensor).reshape(shape)


def double_grads(grads: Any, grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, groups: Groups,
                 fixed: bool = False) -> tuple[Any, Any, Any]:
    """The gradients of ``grad_out``, input and weight for those of the three outputs of a backward operator.

    The gradient of the input is ``rstd * P(grad_out * weight)``, where P takes away the mean and what is parallel to
    the normalised input. P is symmetric, so what comes back through it goes through it again; besides it depends on the
    normalised input, and so does ``rstd``. With ``fixed`` moments P does nothing.
    """
    of_input, of_weight, of_bias = [
        wide(grad, shape) for grad, shape in zip(grads, (groups.shape, groups.affine, groups.affine), strict=True)]
    grad, x, factor = wide(grad_out, groups.shape), wide(input, groups.shape), wide(weight, groups.affine)
    mean, rstd = wide(mean, groups.moments), wide(rstd, groups.moments)
    normal = (x - mean) * rstd
    over = list(groups.over)

    def average(values: Any) -> Any:
        return values.mean(over, True)

    def projected(values: Any) -> Any:
        return values if fixed else values - average(values) - normal * average(values * normal)

    to_grad, to_input, to_weight = [], [], None
    if of_input is not None:
        through = grad if factor is None else grad * factor
        back = rstd * projected(of_input)
        to_grad.append(back if factor is None else back * factor)
        if factor is not None:
            to_weight = (back * grad).sum(list(groups.shared)).reshape(weight.shape).to(weight.dtype)
        if not fixed:
            of_normal = of_input * average(through * normal) + through * average(of_input * normal)
            of_rstd = average(of_input * projected(through))
            to_input.append(-rstd * rstd * (projected(of_normal) + normal * of_rstd))
    if of_weight is not None:
        to_grad.append(of_weight * normal)
        to_input.append(rstd * projected(of_weight * grad))
    if of_bias is not None:
        to_grad.append(of_bias)
    found = [sum(parts[1:], parts[0]).expand(groups.shape).reshape(like.shape).to(like.dtype) if parts else None
             for parts, like in ((to_grad, grad_out), (to_input, input))]
    return found[0], found[1], to_weight


# -- by channel --------------------------------------------------------------------------------------------------------

def batch_norm_grads(grad: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, result1: Any,
                     result2: Any, training: bool, eps: float, output_mask: Any) -> Any:
    return native_batch_norm_backward(grad, input, weight, running_mean, running_var, result1, result2, training, eps,
                                      output_mask)


def batch_norm_double_grads(grads: Any, grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any,
                            save_mean: Any, save_invstd: Any, train: bool, eps: float) -> Any:
    groups = by_channel(input.shape)
    if train:
        return double_grads(grads, grad_out, input, save_mean, save_invstd, weight, groups)
    return double_grads(grads, grad_out, input, running_mean, (running_var + eps).rsqrt(), weight, groups, fixed=True)


OUTPUT: tuple[int, ...] = (0,)
derivative("native_batch_norm", None, OUTPUT, **{"input, weight, bias": batch_norm_grads})
derivative("_native_batch_norm_legit", None, OUTPUT, **{"input, weight, bias": batch_norm_grads})
derivative("_native_batch_norm_legit.no_stats", "NativeBatchNormLegitBackward1", OUTPUT, **{
    "input, weight, bias": lambda grad, input, weight, result1, result2, training, eps, output_mask:
    native_batch_norm_backward(grad, input, weight, None, None, result1, result2, training, eps, output_mask)})
derivative("_batch_norm_with_update", None, OUTPUT, **{
    "input, weight, bias": lambda grad, input, weight, running_mean, running_var, result1, result2, eps, output_mask:
    native_batch_norm_backward(grad, input, weight, running_mean, running_var, result1, result2, True, eps,
                               output_mask)})
derivative("native_batch_norm_backward", **{"grad_out, input, weight": batch_norm_double_grads})

# -- by row ------------------------------------------------------------------------------------------------------------

derivative("native_layer_norm", None, OUTPUT, **{
    "input, weight, bias": lambda grad, input, normalized_shape, result1, result2, weight, bias, output_mask:
    native_layer_norm_backward(grad, input, normalized_shape, result1, result2, weight, bias, output_mask)})
derivative("native_layer_norm_backward", **{
    "grad_out, input, weight": lambda grads, grad_out, input, normalized_shape, mean, rstd, weight:
    double_grads(grads, grad_out, input, mean, rstd, weight, by_row(input.shape, len(normalized_shape)))})


# -- by group: here the moments have gradients, too --------------------------------------------------------------------

def group_norm_grads(grads: Any, input: Any, weight: Any, N: int, C: int, HxW: int, group: int, result1: Any,
                     result2: Any, output_mask: Any) -> Any:
    grad, of_mean, of_rstd = grads
    found = [None, None, None]
    if grad is not None:
        at_once = (*output_mask[:2], output_mask[2] and not local.grad_enabled)
        if is_seen(grad):
            grad = grad.contiguous()  # so that PyTorch's kernel can read it
        found = list(native_group_norm_backward(grad, input, result1, result2, weight, N, C, HxW, group, at_once))
        if output_mask[2] and local.grad_enabled:  # it depends on nothing but ``grad``, as the graph is to show
            found[2] = wide(grad, (N, C, HxW)).sum((0, 2)).to(result1.dtype)
    if output_mask[0]:
        groups = by_group(N, C, HxW, group)
        for part in (of_mean, of_rstd):
            if part is None:
                continue
            more = wide(part, groups.moments) / groups.elements
            if part is of_rstd:
                mean, rstd = wide(result1, groups.moments), wide(result2, groups.moments)
                more = -more * rstd**3 * (wide(input, groups.shape) - mean)
            more = more.expand(groups.shape).reshape(input.shape).to(input.dtype)
            found[0] = more if found[0] is None else found[0] + more
    return found


derivative("native_group_norm", **{"input, weight, bias": group_norm_grads})
derivative("native_group_norm_backward", **{
    "grad_out, input, weight": lambda grads, grad_out, input, mean, rstd, weight, N, C, HxW, group:
    double_grads(grads, grad_out, input, mean, rstd, weight, by_group(N, C, HxW, group))})
