"""``torch._decomp``: each row gives what the operator's kernel gives."""
from __future__ import annotations

import inspect

import pytest

import mindtorch as torch
from mindtorch import _decomp
from mindtorch._decomp import decompositions

aten = torch.ops.aten


def numbers(*shape, dtype=torch.float32):
    """Numbers between -3 and 3 that depend on their place."""
    count = max(1, torch.Size(shape).numel())
    return (torch.arange(count) * 7 % 13 / 2 - 3.0).reshape(shape).to(dtype)


x, y, square = numbers(3, 4), numbers(3, 4).flip(0) + 0.3, numbers(4, 4)
unit = torch.sigmoid(x)
images, weight, bias = numbers(2, 6, 5), numbers(6) + 0.5, numbers(6)
labels, class_weight = torch.tensor([1, 0, 3]), torch.tensor([1.0, 2.0, 0.5, 1.5])
means = images.mean((0, 2))
rstd = (images.var((0, 2), correction=0) + 1e-5).rsqrt()
group_moments = aten.native_group_norm.default(images, None, None, 2, 6, 5, 3, 1e-5)[1:]
layer_mean, layer_rstd = x.mean(-1, keepdim=True), (x.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt()

#: By operator: the arguments of calls.
CALLS = {
    "sigmoid_backward": [(y, unit)], "tanh_backward": [(y, x.tanh())], "softplus": [(x,), (x, 2.0, 3.0)],
    "softplus_backward": [(y, x, 2.0, 3.0)], "elu": [(x, 1.5, 2.0, 0.5)],
    "elu_backward": [(y, 1.5, 2.0, 0.5, False, x), (y, 1.5, 2.0, 0.5, True, x)], "celu": [(x, 2.0)],
    "hardsigmoid": [(x,)], "hardsigmoid_backward": [(y, x)], "hardtanh_backward": [(y, x, -1.0, 1.0)],
    "hardswish": [(x,)], "hardswish_backward": [(y, x)], "threshold": [(x, 0.5, 9.0)],
    "threshold_backward": [(y, x, 0.5)], "leaky_relu": [(x, 0.2)], "leaky_relu_backward": [(y, x, 0.2, False)],
    "_prelu_kernel": [(x, torch.full((1, 4), 0.3))], "_prelu_kernel_backward": [(y, x, torch.full((3, 4), 0.3))],
    "gelu_backward": [(y, x), (y, x, "tanh")], "mish": [(x,)], "mish_backward": [(y, x)],
    "silu": [(x,), (x.half(),)], "silu_backward": [(y, x)], "softshrink": [(x, 0.7)], "hardshrink": [(x, 0.7)],
    "glu": [(x, 1)], "glu_backward": [(y[:, :2], x, 1)], "log_sigmoid_forward": [(x,)],
    "log_sigmoid_backward": [(y, x, aten.log_sigmoid_forward.default(x)[1])], "logit": [(unit,), (unit, 0.2)],
    "rrelu_with_noise_backward": [(y, x, unit, 0.1, 0.3, True, False), (y, x, unit, 0.1, 0.3, False, False)],
    "_softmax": [(x, 1, False), (x, 0, False)], "_log_softmax": [(x, -1, False)],
    "_softmax_backward_data": [(y, x.softmax(1), 1, torch.float32)],
    "_log_softmax_backward_data": [(y, x.log_softmax(1), 1, torch.float32)],
    "mse_loss": [(x, y), (x, y, 0), (x, y, 2)], "mse_loss_backward": [(y, x, y, 0), (torch.tensor(2.0), x, y, 1)],
    "smooth_l1_loss": [(x, y, 1, 0.5)], "smooth_l1_loss_backward": [(y, x, y + 1, 0, 0.5)],
    "huber_loss": [(x, y, 1, 0.5)], "huber_loss_backward": [(y, x, y + 1, 0, 0.5)],
    "soft_margin_loss": [(x, y.sign())], "soft_margin_loss_backward": [(y, x, y.sign(), 0), (y, x, y.sign(), 1)],
    "binary_cross_entropy": [(unit, unit.flip(0)), (unit, unit.flip(0), unit, 2)],
    "binary_cross_entropy_backward": [(y, unit, unit.flip(0), None, 0), (torch.tensor(2.0), unit, unit.flip(0), unit)],
    "binary_cross_entropy_with_logits": [(x, unit), (x, unit, unit, torch.full((4,), 2.0), 2)],
    "nll_loss_forward": [(x, labels, None, 1, -100), (x, labels, class_weight, 2, 0), (x, labels, None, 0, 1)],
    "nll_loss_backward": [(torch.tensor(2.0), x, labels, class_weight, 1, 0, torch.tensor(3.5)),
                          (y[:, 0].contiguous(), x, labels, None, 0, -100, torch.tensor(0.0))],
    "nll_loss2d_forward": [(numbers(2, 3, 2, 2), torch.tensor([[[0, 1], [2, 0]]] * 2), None, 1, -100)],
    "nll_loss2d_backward": [(torch.tensor(1.0), numbers(2, 3, 2, 2), torch.tensor([[[0, 1], [2, 0]]] * 2), None, 1,
                             -100, torch.tensor(8.0))],
    "multi_margin_loss": [(x, labels), (x, labels, 2, 0.5, class_weight, 0)],
    "multilabel_margin_loss_forward": [(x, torch.tensor([[0, 2, -1, 1], [3, -1, 0, 0], [-1, 0, 0, 0]]), 0)],
    "native_batch_norm": [(images, weight, bias, means.clone(), rstd.clone(), False, 0.1, 1e-5),
                          (images, weight, bias, means.clone(), rstd.clone(), True, 0.1, 1e-5)],
    "native_batch_norm_backward": [(images.flip(0), images, weight, means, rstd, means, rstd, train, 1e-5, [True] * 3)
                                   for train in (True, False)],
    "native_layer_norm": [(x, [4], y[0], y[1], 1e-5), (x, [4], None, None, 1e-5)],
    "native_layer_norm_backward": [(y, x, [4], layer_mean, layer_rstd, y[0], y[1], [True] * 3)],
    "native_group_norm": [(images, weight, bias, 2, 6, 5, 3, 1e-5)],
    "native_group_norm_backward": [(images.flip(0), images, *group_moments, gamma, 2, 6, 5, 3,
                                    [True, True, True]) for gamma in (weight, None)],
    "native_dropout_backward": [(y, x > 0, 2.0)], "_weight_norm_interface": [(x, numbers(3, 1) + 0.2, 0)],
    "addcdiv": [(x, y, unit, 2.0)], "addcmul": [(x, y, unit, 2.0)], "addmm": [(x, numbers(3, 5), numbers(5, 4), 2, 3)],
    "addmv": [(numbers(3), x, numbers(4), 2, 3)], "addr": [(x, numbers(3), numbers(4), 2, 3)],
    "baddbmm": [(numbers(2, 3, 4), numbers(2, 3, 5), numbers(2, 5, 4), 0, 3)], "mv": [(x, numbers(4))],
    "dot": [(numbers(4), numbers(4) + 1)], "vdot": [(numbers(4), numbers(4) + 1)],
    "lerp.Scalar": [(x, y, 0.3), (x, y, 0.7)], "lerp.Tensor": [(x, y, unit)], "rsub.Tensor": [(x, y, 2)],
    "sgn": [(x,), (torch.complex(x, y),)], "deg2rad": [(x,)], "rad2deg": [(x,)], "frac": [(x,)],
    "floor_divide": [(x, y)], "heaviside": [(x, y)], "isposinf": [(x / 0,)], "isneginf": [(x / 0,)],
    "nan_to_num": [(x / 0,), (x / 0, 1.0, 2.0, 3.0)], "logaddexp": [(x, y), (x / 0, x / 0)], "logaddexp2": [(x, y)],
    "logsumexp": [(x, [1]), (x, [0, 1], True)], "sinc": [(x,)], "xlogy.Tensor": [(x, unit), (x * 0, x)],
    "special_xlog1py": [(x, unit), (x * 0, x)], "special_entr": [(x,), (unit,)], "special_log_ndtr": [(x,)],
    "mvlgamma": [(unit + 3, 3)], "sum": [(x,)], "nansum": [(x / 0 * 0, [1])], "count_nonzero.dim_IntList": [(x, [1])],
    "all": [(x,)], "all.dim": [(x, 1)], "aminmax": [(x,)], "std.correction": [(x, [1])],
    "std_mean.correction": [(x, [1])], "var_mean.correction": [(x, [0])], "linalg_cross": [(x[:, :3], y[:, :3])],
    "_euclidean_dist": [(x, y)], "norm.ScalarOpt_dim": [(x, 3, [1])], "renorm": [(x, 2, 0, 3.0)],
    "t": [(x,)], "transpose.int": [(x, 0, -1)], "_unsafe_view": [(x, [12])], "squeeze": [(x[None],)],
    "squeeze.dim": [(x[None], 0), (x, 0)], "split.Tensor": [(x, 3, 1)], "unbind.int": [(x, 1)], "stack": [([x, y], -1)],
    "tril": [(square, -1)], "triu": [(square, 1)], "zeros": [([2, 3],)], "ones": [([2],)], "zeros_like": [(x,)],
    "ones_like": [(x,)], "new_zeros": [(x, [2])], "new_ones": [(x, [2])], "new_full": [(x, [2], 5.0)],
    "masked_fill.Scalar": [(x, x > 0, 7)], "masked_fill.Tensor": [(x, x > 0, torch.tensor(7.0))],
    "clamp_min": [(x, 0.5)], "clamp_max": [(x, 0.5)], "take": [(x, labels)],
    "isin.Tensor_Tensor": [(labels, torch.tensor([1, 2])), (labels, torch.tensor([1, 2]), False, True)],
    "embedding": [(x, torch.tensor([[0, 2], [1, 1]]))],
    "embedding_dense_backward": [(numbers(2, 2, 4), torch.tensor([[0, 2], [1, 1]]), 3, 2, freq)
                                 for freq in (True, False)],
    "linspace": [(0.0, 3.0, 7), (2.0, 5.0, 1)], "logspace": [(0.0, 3.0, 7)], "eye": [(3,)], "eye.m": [(2, 3)],
    "upsample_nearest1d": [(images, [7])], "upsample_nearest2d": [(numbers(1, 2, 3, 4), [6, 5])],
    "upsample_nearest3d": [(numbers(1, 1, 2, 3, 4), [4, 3, 2])],
}


def overload(name):
    packet, _, which = name.partition(".")
    return getattr(getattr(aten, packet), which or "default")


def canonical(op, args):
    """Positional and keyword arguments, from all in the schema's order."""
    names = op._schema.arguments
    given = [(a.name, value, a.kwarg_only) for a, value in zip(names, args, strict=False)]
    return [value for _, value, named in given if not named], {name: value for name, value, named in given if named}


@pytest.mark.parametrize("name", CALLS)
def test_a_row_computes_what_the_operator_does(name) -> None:
    op = overload(name)
    row = _decomp.get_decompositions([op])[op]
    for args in CALLS[name]:
        def call(function, args=args):
            copies = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
            given, named = canonical(op, copies)
            result = function(*given, **named)
            return [*(result if isinstance(result, (tuple, list)) else [result]),
                    *[copy for copy in copies if isinstance(copy, torch.Tensor)]]

        found, wanted = call(row), call(op)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape
            torch.testing.assert_close(one, other, equal_nan=True, rtol=1e-3 if one.dtype == torch.half else 2e-5,
                                       atol=2e-5)


def test_every_row_of_a_deterministic_operator_is_tested() -> None:
    rows = {op.__name__.removesuffix(".default") for op in _decomp.decomposition_table.rows if op.namespace == "aten"}
    same = {"rsub.Scalar", "xlogy.Scalar_Self", "xlogy.Scalar_Other", "special_xlog1py.self_scalar", "all.dims",
            "special_xlog1py.other_scalar", "_reshape_alias", "unsafe_split.Tensor", "unsafe_split_with_sizes",
            "clamp_min.Tensor", "clamp_max.Tensor", "isin.Tensor_Scalar", "isin.Scalar_Tensor", "detach",
            "_native_batch_norm_legit.no_stats", "_native_batch_norm_legit_functional",
            "_native_batch_norm_legit_no_training", "dropout", "native_dropout", "bernoulli", "uniform"}
    assert rows - same == set(CALLS)


def test_a_composite_is_its_own_decomposition() -> None:
    op = aten.index_add.default
    found = _decomp.get_decompositions([op])[op]
    args = (numbers(3), 0, torch.tensor([0, 2]), torch.ones(2))
    assert found(*args).tolist() == op(*args).tolist()
    assert op not in _decomp.decomposition_table.rows


def test_a_packet_stands_for_its_overloads() -> None:
    found = _decomp.get_decompositions([aten.lerp])
    assert {aten.lerp.Scalar, aten.lerp.Tensor} <= set(found)


def test_a_second_row_for_an_operator_is_refused() -> None:
    table: dict = {}
    register = _decomp.register_decomposition(aten.sin.default, table)
    register(lambda self: self)
    with pytest.raises(RuntimeError, match="duplicate registrations"):
        register(lambda self: self)
    with pytest.raises(TypeError, match="not 'sin'"):
        _decomp.register_decomposition("sin", table)(lambda self: self)


def test_rows_have_pytorchs_names() -> None:
    assert decompositions.gelu_backward is _decomp.decomposition_table[aten.gelu_backward.default]


def test_defaults_of_decompositions_are_those_of_the_schemas() -> None:
    compared = 0
    for op, function in _decomp.decomposition_table.items():
        given = {argument.name: argument for argument in op._schema.arguments}
        for name, parameter in inspect.signature(inspect.unwrap(function)).parameters.items():
            if parameter.default is not parameter.empty and name in given and given[name].has_default_value():
                assert (op, name, given[name].default_value) == (op, name, parameter.default)
                compared += 1
    assert compared > 100
