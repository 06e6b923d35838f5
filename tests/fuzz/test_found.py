"""Programs that differed once: each is one of a family, and has PyTorch's outcome now."""
from __future__ import annotations

from typing import Any

import pytest

from tests.fuzz.comparison import compare
from tests.fuzz.explanations import explanation
from tests.fuzz.functions import Drawn
from tests.support import torch

INF, NAN = float("inf"), float("nan")
HALF = [-INF, -0.0, 0.0, 2.7, 1e-4, NAN]


def floats(*values: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values or [[1.25, -0.5, 2.0], [0.75, 1.5, -1.0]], dtype=dtype)


#: name: (mode, lines, inputs)
FOUND: dict[str, tuple[str, str, list[torch.Tensor]]] = {
    **{f"float16 to the power {n}": ("plainly", f"v1 = v0.pow({n})", [floats(*HALF, dtype=torch.float16)])
       for n in (0.5, -0.5, 2)},
    **{f"bfloat16 to the power {n}": ("plainly", f"v1 = v0.pow({n})", [floats(*HALF, dtype=torch.bfloat16)])
       for n in (3, -2)},
    "degrees": ("plainly", "v1 = v0.rad2deg()", [torch.tensor([2, 7, 11])]),
    "unsigned targets": ("plainly", "v2 = F.soft_margin_loss(v0, v1)", [floats(1.5, 2.5), torch.tensor([1, 2]).byte()]),
    "tensordot of one element of integers": ("plainly", "v1 = lib.tensordot(v0, v0, 2)", [torch.ones(2, 2).int()]),
    "weight of bilinear without three dimensions": (
        "plainly", "v1 = F.bilinear(v0, v0, v0)", [torch.ones(1, 1, 1, 1)]),
    "tensordot of one element under autocast": ("autocast", "v1 = lib.tensordot(v0[:1], v0[0], 1)", [floats()]),
    "float32 before float16 in cat under autocast": ("autocast", "v1 = lib.cat([v0, v0.half()])", [floats()]),
    "float16 before float32 in cat under autocast": ("autocast", "v1 = lib.cat([v0.half(), v0])", [floats()]),
    "gradient of power 0, transposed": ("gradients", "v1 = v0.pow(0)", [floats().t()]),
    "gradient of distances from nothing": ("gradients", "v1 = lib.cdist(v0, v0)", [torch.ones(0, 3).as_strided(
        (0, 3), (1, 1))]),
    "gradient of what was subtracted twice, transposed": (
        "gradients", "v2 = lib.sub(v0, v1, alpha=2).t()", [torch.ones(3, 1), torch.ones(3, 1).double()]),
    "gradient of a sum without NaN": (
        "gradients", "v1 = v0.nansum(-1)", [torch.tensor([1.5, NAN]).expand(2, 3, 2).permute(2, 1, 0).clone()]),
    "matrix as weight of bilinear": ("plainly", "v1 = F.bilinear(v0, v0, v0)", [torch.ones(2, 2)]),
    "second gradient of pdist": ("second gradients", "v1 = F.pdist(v0)", [floats()]),
    "tangent of hardsigmoid in double precision": ("tangents", "v1 = F.hardsigmoid(v0)", [floats().double()]),
    "tangent of the mean of nothing": ("tangents", "v1 = v0.mean(0)", [torch.ones(0, 3)]),
    "index without dimensions in a batch": (
        "batches", "v1 = v0.view(1).scatter(0, v0.long() % 1, 1.5)", [floats(2.0)[0]]),
    "gather by an index without dimensions in a batch": (
        "batches", "v1 = v0.view(1).gather(0, v0.long() % 1)", [floats(2.0)[0]]),
    "slice that does not fit, in a batch": (
        "batches", "v2 = lib.select_scatter(v0, v1, 0, 1)", [floats(), torch.ones(1)]),
    "mask that does not fit, in a batch": ("batches", "v2 = v0[..., v1]", [floats(), torch.tensor([True, False])]),
    "mask of bytes in a batch": ("batches", "v2 = v0[:, v1]", [floats(), torch.tensor([1, 0, 1]).byte()]),
    "mask of bytes that writes in a batch": (
        "batches", "v2 = v0.clone(); v2[:, v1] = 2.5", [floats(), torch.tensor([1, 0, 1]).byte()]),
    **{f"{name} of integers in a batch": ("batches", f"v1 = lib.{name}(v0, v0)", [torch.ones(3).int()])
       for name in ("dot", "vdot")},
    "bilinear of integers in a batch": ("batches", "v1 = F.bilinear(v0, v0, v0[None])", [torch.ones(2, 2).int()]),
    "bias that is larger than the product in a Jacobian": ("jacfwd", "v1 = F.linear(v0, v0, v0)", [torch.ones(1, 3)]),
    "tangent of numbers between NaN and a number": ("tangents", "v2 = v0.clamp(v1, v0)", [floats(), floats(
        INF, NAN, -INF)]),
    "second gradient of complex distances, transposed": ("second gradients", "v1 = F.l1_loss(v0.clone().t(), v0)", [
        torch.complex(floats()[:, :2], floats()[:, 1:])]),
    "second gradient of angles, transposed": ("second gradients", "v1 = v0.angle()", [
        torch.complex(floats(), floats()).t()]),
    "second gradient of a loss of classes, turned": ("second gradients", "v1 = F.nll_loss(v0.rot90(1), lib.tensor(["
                                                     "0, 1, 0]))", [floats()]),
    "norm of complex numbers of which a part is infinite": ("plainly", "v1 = v0.norm()", [
        torch.complex(floats(INF, 1, 2), floats(NAN, 1, 2))]),
    **{f"{name} of nothing on an NPU": ("npu", f"v1 = v0.{name}", [torch.ones(0, 3)]) for name in (
        "scatter(0, lib.tensor([[0, 0, 1]]), 1.5)", "index_fill(0, lib.tensor([], dtype=lib.int64), 1.5)")},
    "gradient of logcumsumexp where the gradient before it is NaN": (
        "gradients", "v1 = v0.logcumsumexp(0); v1 = lib.lerp(v1, v1, v0)", [floats(2.25, 1, INF, -1.5)]),
    "gelu of infinities that are not contiguous": ("plainly", "v1 = F.gelu(v0)", [floats(*[INF] * 9).view(3, 3).t()]),
    "index of rows without elements": ("plainly", "v1 = v0.index_fill(0, lib.tensor([7]), 1.5)", [torch.ones(2, 0)]),
    "gradient of a source of other dimensions than the empty tensor's": (
        "gradients", "v2 = v0.scatter_reduce(0, v1.long(), v1, 'amax')", [torch.ones(0, 3, 1), torch.ones(0, 3)]),
    **{f"dtype of a target {text}": ("plainly", f"v1 = F.nll_loss({text})", [floats()]) for text in (
        "v0[0], v0[0]", "v0, v0[:, 0], v0")},
    **{f"{mode} of {name} at NaN": (mode, f"v2 = F.{name}(v0, v1, reduction='none')", [
        floats(0.25, NAN, 1, 2.5, INF), floats(0.5, 0, 0, 0, 0)])
       for mode in ("gradients", "second gradients", "tangents") for name in ("huber_loss", "smooth_l1_loss")},
    **{f"{mode} of logit({eps}), transposed, at its bounds and NaN": (
        mode, f"v1 = v0.t().logit({eps})", [torch.tensor([[0.25, NAN, -1], [0, 0.5, 1], [2, 0.75, 0.125]])])
       for mode in ("gradients", "second gradients", "tangents") for eps in ("", "0.125", "0.5")},
    **{f"cosine_similarity of {one} number and {two} rows": (
        "gradients", "v2 = F.cosine_similarity(v0, v1, -1)", [
            torch.tensor(1.5, dtype=getattr(torch, one)), floats(dtype=getattr(torch, two))])
       for one, two in (("float32", "float16"), ("float16", "float32"), ("float64", "bfloat16"))},
    **{f"{name} on an NPU, with keepdim={keepdim}": ("npu", f"v1 = lib.{name}(v0, 0, keepdim={keepdim})", [floats()])
       for name in ("std", "var") for keepdim in (False, True)},
    **{f"{name} on an NPU": ("npu", f"v1 = sum(lib.{name}(v0))", [floats()]) for name in ("std_mean", "var_mean")},
    "product of no rows and matrices of another dtype": ("plainly", "v2 = v0 @ v1", [
        torch.ones(0, 3), torch.ones(2, 3, 3).byte()]),
    "comparison of what PyTorch rounds to equal numbers": (
        "plainly", "v1 = lib.matrix_exp(v0.flip(1)) < v0", [torch.tensor(
            [[-0.75, -1.25, 1.25], [1, 0.5, 1], [3, 0, -0.25]]).bfloat16()]),
    **{f"batch_norm without channels, of shape {shape}": (
        "plainly", "v1 = F.batch_norm(v0, None, None, training=True)", [torch.ones(shape)]) for shape in ((), 1, 2)},
    **{f"{mode} of as_strided, {name}": (mode, lines, [x]) for mode in ("tangents", "jacfwd") for name, lines, x in (
        ("of what is contiguous", "v1 = v0.as_strided((2, 2), (1, 2))", torch.arange(9.0).view(3, 3)),
        ("between elements", "v1 = v0.as_strided((2, 2), (1, 2), 1)", torch.arange(18.0).view(3, 6)[:, ::2]),
        ("written", "v1 = v0.clone(); v1.as_strided((2,), (4,)).mul_(3)", torch.arange(18.0).view(3, 6)[:, ::2]),
        ("written in two views", "v1 = v0 * 2; a = v1.as_strided((2,), (4,)); v1.as_strided((3,), (1,)).mul_(a.sum());"
         " a.mul_(3)", torch.arange(9.0).view(3, 3)))},
    "tangent of as_strided before what is seen": ("tangents", "v1 = v0.as_strided((2, 2), (1, 2), 0)", [
        torch.arange(10.0)[2:8]]),
    **{f"second gradient of {name} of {shape} without freedom": ("second gradients", f"v1 = v0.{name}()", [
        torch.full(shape, 2.75)]) for name in ("var", "std") for shape in ((), (1,))},
    **{f"strides of one element, {name}": ("plainly", "v1 = v0.exp(); v1 = v1 * v1", [x]) for name, x in (
        ("contiguous", torch.ones(1, 3).t()), ("channels last", torch.ones(2, 2, 2).movedim(0, -1)[:, None]),
        ("neither", torch.ones(2, 3).t()[:, None]))},
    **{f"strides of one element in a copy, {name}": ("plainly", "v1 = v0.clone()", [x]) for name, x in (
        ("conjugated", torch.ones(1, 3).cfloat().t().conj()), ("negated", torch._neg_view(torch.ones(1, 3).t())),
        ("conjugated, contiguous", torch.ones(6).cfloat().as_strided((2, 1, 3), (3, 17, 1)).conj()))},
    **{f"tangent of {name}({text}) of quotients that are NaN": (
        "tangents", f"v1 = (v0 / v0).{name}({text})", [floats(0, 1, 2).expand(2, 3)])
       for name in ("nansum", "nanmean") for text in ("", "0", "-1, keepdim=True")},
    "hessian of logcumsumexp": ("hessian", "v1 = v0.logcumsumexp(0)", [floats(1.5, -0.5, 2.0)]),
    "tangent of logcumsumexp of what is far apart": ("tangents", "v1 = v0.logcumsumexp(0)", [floats(-1e30, 1.5, 2.0)]),
    "hessian of a clamp of a number": ("hessian", "v1 = lib.clamp(v0.sum(), v0.sum(), v0)", [floats()]),
    **{f"second gradient of {name}, transposed": ("second gradients", f"v1 = F.{name}(v0)", [floats().t()])
       for name in ("elu", "selu", "celu")},
    **{f"hessian of distances of {name}, on whose second operand they do not depend": (
        "hessian", f"v2 = lib.{name}(v1, v0); v2 = lib.cdist(v2, v2)", [floats(), floats()])
       for name in ("nextafter", "copysign")},
    **{f"second gradient of {name} of {one} and {two}": (
        "second gradients", f"v2 = F.{name}({one}, {two})", [floats().t(), floats().t() * 2])
       for name in ("smooth_l1_loss", "huber_loss", "mse_loss")
       for one, two in (("v0", "v1"), ("v0.contiguous()", "v1"), ("v0", "v1[:1].expand(3, 2)"))},
    **{f"tangent of the mean of no elements, by {name} over {dim}": ("tangents", f"v1 = lib.{name}(v0, {dim})[1]", [
        torch.ones(0, 3)]) for name in ("var_mean", "std_mean") for dim in ("0", "None")},
    **{f"{mode} of no elements, of which {name}": (mode, lines, [torch.ones(0, 3)])
       for mode in ("jacfwd", "hessian") for name, lines in (
           ("others are made", "v1 = v0.any(0).reshape(-1) * v0"),
           ("a value is read", "v1 = v0 * 2 if v0.sum() == 0 else v0"))},
    **{f"sign of the nll_loss of zeros, {reduction}, of shape {tuple(x.shape)}": (
        "plainly", f"v1 = [F.nll_loss(v0, {target}, reduction='{reduction}').signbit() for _ in range(3)][-1]", [x])
       for x, target in ((torch.zeros(2, 2), "lib.tensor([1, 0])"), (torch.zeros(2), "lib.tensor(1)"))
       for reduction in ("none", "mean", "sum")},
    "gradient of soft_margin_loss for unsigned targets": ("gradients", "v2 = F.soft_margin_loss(v0, v1)", [
        floats(0.25, 0.125), torch.tensor([1, 2]).byte()]),
    **{f"{mode} of {name} of half precision whose squares overflow": (
        mode, f"v1 = F.{name}", [floats(1.5, 2, 900, 2, -1, 2.5, -900, 0.5, 1, dtype=torch.float16).view(3, 3)])
       for mode in ("tangents", "jacfwd") for name in (
           "batch_norm(v0, None, None, v0[0], v0[1], training=True)", "layer_norm(v0, (3,), v0[0], v0[1])")},
    **{f"topk of lines with as many equal elements as NaNs, largest={largest}": (
        "plainly", f"v1 = v0.topk(2, -1, largest={largest})[0]", [floats(INF, NAN, INF, 2, dtype=torch.float64)])
       for largest in (True, False)},
    **{f"product of {shape} and one number, plus a number": ("plainly", "v3 = F.linear(v0, v1, v2)", [
        torch.ones(shape), torch.ones(1), torch.ones(())]) for shape in (1, (2, 2, 1))},
    "gradient of group_norm by rounded moments": ("gradients", "v2 = F.group_norm(v0, 1, v1, v1)", [
        floats(1.75, 1.25, 1.75, dtype=torch.bfloat16).view(1, 3), floats(-1.25, 0.25, -1.75, dtype=torch.bfloat16)]),
    "Jacobian of a sign": ("jacfwd", "v2 = lib.copysign(v1, v0).log1p()", [floats(), torch.ones(2, 3).int()]),
    "write into a transposed constant in a Jacobian": (
        "jacfwd", "v2 = v1.t().clone(); v2[:, 1] = v0[0]", [floats(), floats()]),
    **{f"gradient of {name} over no points": ("gradients", f"v1 = lib.{name}", [torch.ones(2, 0)])
       for name in ("trapezoid(v0)", "trapezoid(v0, v0)", "trapz(v0, dx=2.0)", "cumulative_trapezoid(v0)")},
    **{f"sign of a difference of -0.0, {text}, alpha={alpha}, in {dtype}": (
        "plainly", f"v1 = lib.{text}, alpha={alpha}).signbit()", [torch.tensor([-0.0, 1.5], dtype=dtype)])
       for alpha in (0, 0.0) for text in ("sub(v0, v0 + 1", "rsub(v0 + 1, v0", "sub(v0, 1", "rsub(v0.abs(), -0.0")
       for dtype in (torch.float32, torch.float16)},
    **{f"imaginary part of a complex {name} of infinities": (
        "plainly", f"v1 = lib.{name}(v0, v0, v0).imag.isnan()", [
            torch.complex(floats(INF, -INF, 1), floats(0.5, -INF, 2))]) for name in ("addcmul", "addcdiv")},
    "classes of another number than the rows, in a Jacobian": (
        "hessian", "v1 = F.nll_loss(v0.cumprod(0), lib.tensor([0, 1, 0, 1]))", [floats(1.5, 2)]),
    **{f"{mode} of {name} by a matrix without dimensions": (mode, f"v1 = lib.{name}", [floats()[:1]])
       for mode in ("batches", "jacfwd")
       for name in ("linalg.solve(v0[0, 0], v0)", "cholesky_solve(v0, v0[0, 0])")},
    **{f"{name}({text}) of conjugated vectors": ("plainly", f"v2 = lib.{name}({text})", [
        torch.complex(floats(1, 2), floats(0.5, 1)), torch.complex(floats(-1, 2), floats(1.5, 1))])
       for name in ("dot", "vdot", "inner", "linalg.vecdot")
       for text in ("v0.conj(), v1.conj()", "v0.conj(), v1", "v0, v1.conj()", "lib._neg_view(v0.conj()), v1.conj()")},
    "Jacobian of rows of a table without dimensions": ("jacfwd", "v1 = F.embedding(v0.long() % 2, v0)", [
        torch.tensor(2.5)]),
    **{f"gradient of a sum of {name} of what is transposed": ("gradients", f"v1 = {name}(v0.t()).sum_to_size(1)", [
        floats() / 4]) for name in ("lib.atanh", "F.logsigmoid")},
    "product of no matrices of two dtypes": ("plainly", "v3 = lib.baddbmm(v0, v0, v1)", [
        torch.ones(1, 0, 3).char(), torch.ones(1, 3, 3)]),
    **{f"tangent of {name} beside what is NaN": ("tangents", f"v1 = (v0 / v0).sin().add(v0).{name}", [
        floats(0, 1, 2, 2.5).expand(2, 4).contiguous()[:, n:]]) for n, name in (
            (0, "amin(0)[1:]"), (0, "amax(0, True)[:, 1:]"), (1, "amax()"), (0, "nan_to_num(-5).amax(1)"))},
    "second gradient of running products of one factor": ("second gradients", "v2 = v0.cumprod(1)", [
        torch.tensor([[0.75], [2.5], [-1.25]]), floats()]),
    **{f"tangent of logcumsumexp of shape {shape}": ("tangents", f"v1 = v0.logcumsumexp({dim})", [torch.ones(shape)])
       for shape, dim in (((0, 3), 0), ((0, 3), 1), ((3, 0), 1), ((), 0))},
    **{f"tangent of 0 to a power of {dtype} plus {shift}": ("tangents", "v2 = v0 ** v1", [
        torch.tensor([0, 0, 2, 0]), torch.tensor([3, 0.5, 1, -1]).to(dtype) + shift])
       for dtype, shift in ((torch.float32, 0), (torch.complex64, 0), (torch.complex64, 0.5j))},
    "hessian of a copy without elements": ("hessian", "v1 = v0.clone(); v1[..., 0] += 1; v1.mul_(v0)", [
        torch.ones(0, 3)]),
    **{f"Jacobian of {name} with parameters of two dtypes": ("jacfwd", f"v2 = F.{name}, v1[0], v0[0])", [
        floats().bfloat16(), floats().char()]) for name in ("group_norm(v0[..., None], 1", "layer_norm(v0, (3,)")},
    **{f"tangent of {name}": ("tangents", f"v2 = {name}", [floats().double(), floats().double()]) for name in (
        "lib.as_strided_scatter(v0, v1[:, :2], (2, 2), (1, 2))",
        "F.embedding(lib.tensor([0, 1]), v0, padding_idx=1)")},
    **{f"{name} number in a Jacobian": ("jacfwd", f"v1 = F.one_hot(v0.long(){rest})", [floats(1, value)])
       for name, value, rest in (("negative", -1, ""), ("negative", -INF, ", 3"), ("too large", 3, ", 2"))},
    **{f"values of {shape} for indices in a batch": ("batches", "v2 = v1.index_put((v0.long(),), v1[:, :1])", [
        floats(1.0, 0.0, 1.0)[:n].reshape(shape), floats().t()]) for n, shape in ((3, (3,)), (1, ()), (2, (2, 1)))},
    "gradients of samples beyond an image that are NaN": (
        "gradients", "v2 = F.grid_sample(v1[None, None], v0[None, :, :2, None].expand(1, -1, -1, 2)); v3 = v2.var(0)", [
            floats([-0.75, 0.5], [1.5, 1.5], [3.0, 0.0]), floats()]),
    "quotient of complex numbers that is rounded before it is an integer": (
        "plainly", "v1 = (v0 / v0).real.long()", [torch.complex(*[torch.arange(1.0, 33).double() / 7] * 2)]),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_program_that_differed_has_pytorchs_outcome(name: str) -> None:
    mode, lines, inputs = FOUND[name]
    program = Drawn([lines], inputs)
    assert [text for text in compare(mode, program) if explanation(mode, program, text) is None] == []
