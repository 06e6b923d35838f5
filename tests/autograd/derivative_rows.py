"""What the checks of derivatives run besides PyTorch's samples, and what they leave out, with the reason."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import mindtorch

importlib.import_module("mindtorch.nested._internal.nested_tensor")  # whose operators exist from then on

# Entries of PyTorch's database whose derivatives are not the limits of differences at its samples.
FIRST = {
    "__rpow__": "powers of negative numbers: NaN",
    "as_strided_scatter": "PyTorch's own derivative is another: it does not pass the check either",
    "bfloat16": "computes in too low a precision",
    "half": "computes in too low a precision",
    "float": "computes in too low a precision",
    "cfloat": "computes in too low a precision",
    "chalf": "computes in too low a precision",
    "cov": "weights whose normaliser is a rounding error",
    "linalg.norm.subgradients_at_zero": "not differentiable at zero",
    **{
        f"masked.{name}": "PyTorch masks its results with torch.masked's private functions before it compares"
        for name in ("amax", "amin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
                     "norm", "softmax", "softmin", "std", "var")
    },
    **{f"nn.functional.max_unpool{n}d": "where two elements have one place, the later counts; the entry .grad has none"
       for n in (1, 2, 3)},
    "nn.functional.ctc_loss": "its samples are too large for differences; tests/nn/test_sequence_losses.py has others",
    "normal": "the derivative is zero by definition, although the numbers drawn move with the mean",
    "normal.number_mean": "the derivative is zero by definition, although the numbers drawn move with the mean",
}

# Entries whose second derivatives are not.
SECOND: dict[str, str] = {
    "nn.functional.linear_cross_entropy.chunked": "there is none, as in PyTorch",
    "nn.functional.linear_cross_entropy.chunked_none": "there is none, as in PyTorch",
    "nn.functional.scaled_dot_product_attention": "the kernel in blocks has none, as in PyTorch",
}

# Entries that need other tolerances than the usual ones: (atol, rtol).
TOLERANCES = {
    "logsumexp": (1e-5, 1e-2),  # of numbers around 1e6, whose last digits the difference is made of
}


def vector(*values: float) -> Any:
    return mindtorch.tensor(values, dtype=mindtorch.float64, requires_grad=True)


def matrix() -> Any:
    return vector(-1.3, 0.2, 0.9, -0.4, 1.7, 0.6).detach().view(2, 3).requires_grad_()


def scalar() -> Any:
    return mindtorch.tensor(0.7, dtype=mindtorch.float64, requires_grad=True)


def signs() -> Any:
    return vector(-1.3, 0.2, 0.9)


def zs() -> Any:
    return mindtorch.tensor([0.3 - 1j, 2 + 0.5j], dtype=mindtorch.complex128, requires_grad=True)


def indices(*values: int) -> Any:
    return mindtorch.tensor(values)


def grid(*shape: int) -> Any:
    """Return a tensor of distinct numbers that requires grad."""
    return mindtorch.arange(prod(shape), dtype=mindtorch.float64).mul(0.7).sin().view(shape).requires_grad_()


SOME_ROWS = mindtorch.tensor([0, 2, 2])
#: By number of dimensions: the shape of an image, its padding, the shape of the padded image.
PADDINGS = {
    1: ((1, 2, 4), (1, 2), (1, 2, 7)),
    2: ((1, 1, 3, 4), (1,) * 4, (1, 1, 5, 6)),
    3: ((1, 1, 2, 3, 3), (1,) * 6, (1, 1, 4, 5, 5)),
}

# Rows of the table of derivatives that no sample reaches: the operator's arguments.
# An operator that writes in place gets a copy of the first.
CALLS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "_unsafe_masked_index": lambda: (signs(), indices(1, 0, 1).bool(), [indices(0, 1, 2)], 0),
    "_unsafe_masked_index_put_accumulate": lambda: (signs(), indices(1, 0, 1).bool(), [indices(0, 1, 2)], signs()),
    "unsafe_split.Tensor": lambda: (matrix(), 1),
    "unsafe_split_with_sizes": lambda: (matrix(), [1, 1]),
    **{name: lambda: (zs(),) for name in ("_conj_physical", "_neg_view")},
    **{name: lambda: (signs(),) for name in ("_conj_copy", "_neg_view_copy")},
    "_native_batch_norm_legit.no_stats": lambda: (grid(2, 2, 3), vector(0.5, 2.0), vector(0.1, 0.2), True, 0.1, 1e-5),
    **{f"_upsample_{kind}2d_aa": lambda: (grid(1, 1, 4, 4), (2, 3), False) for kind in ("bicubic", "lanczos")},
    **{f"_upsample_{kind}2d_aa_backward": lambda: (grid(1, 1, 2, 3), (2, 3), (1, 1, 4, 4), False)
       for kind in ("bicubic", "lanczos")},
    "_weight_norm_interface": lambda: (matrix(), grid(2, 1), 0),
    "affine_grid_generator": lambda: (grid(1, 2, 3), (1, 1, 2, 2), False),
    "affine_grid_generator_backward": lambda: (grid(1, 2, 2, 2), (1, 1, 2, 2), False),
    "_euclidean_dist": lambda: (matrix(), matrix().detach().add(0.3).requires_grad_()),
    "_reshape_alias_copy": lambda: (matrix(), (3, 2), (2, 1)),
    "as_strided_": lambda: (matrix(), (2, 2), (3, 1), 0),
    **{f"{kind}_pad{n}d": partial(lambda image, padding, padded: (grid(*image), padding), *PADDINGS[n])
       for kind in ("reflection", "replication") for n in PADDINGS},
    **{f"{kind}_pad{n}d_backward": partial(
        lambda image, padding, padded: (grid(*padded), grid(*image).detach(), padding), *PADDINGS[n])
       for kind in ("reflection", "replication") for n in PADDINGS},
    "aminmax": lambda: (grid(2, 3),),
    "mkldnn_rnn_layer": lambda: (
        grid(2, 1, 2), grid(6, 2), grid(6, 2), grid(6), grid(6), grid(1, 2), grid(0), False, [], 3, 2, 1, True, False,
        False, True),
    "channel_shuffle": lambda: (grid(1, 4, 2, 2), 2),
    "col2im": lambda: (grid(1, 4, 9), (4, 4), (2, 2), (1, 1), (0, 0), (1, 1)),
    "embedding": lambda: (grid(4, 3), SOME_ROWS),
    "embedding_dense_backward": lambda: (grid(3, 3), SOME_ROWS, 4, -1, False),
    "im2col": lambda: (grid(1, 1, 4, 4), (2, 2), (1, 1), (0, 0), (1, 1)),
    "narrow_copy": lambda: (grid(2, 3), 1, 0, 2),
    "pixel_shuffle": lambda: (grid(1, 4, 2, 2), 2),
    "pixel_unshuffle": lambda: (grid(1, 1, 4, 4), 2),
    "split_with_sizes_copy": lambda: (grid(2, 3), (1, 1), 0),
    "unbind_copy.int": lambda: (grid(2, 3), 0),
    "bernoulli_.Tensor": lambda: (signs(), vector(0.2, 0.5, 0.8)),
    "bernoulli_.float": lambda: (signs(), 0.5),
    "cauchy_": lambda: (signs(),),
    "celu_": lambda: (signs(), 0.7),
    "clamp_max": lambda: (signs(), 0.5),
    "elu_": lambda: (signs(), 0.7),
    "eq_.Tensor": lambda: (signs(), vector(-1.3, 0.5, 0.1)),
    "exponential_": lambda: (signs(),),
    "fill.Tensor": lambda: (signs(), scalar()),
    "fill_.Scalar": lambda: (signs(), 2.5),
    "fill_.Tensor": lambda: (signs(), scalar()),
    "fmod.Scalar": lambda: (signs(), 0.7),
    "ge_.Tensor": lambda: (signs(), vector(-1.5, 0.5, 0.1)),
    "geometric_": lambda: (signs(), 0.5),
    "gt_.Tensor": lambda: (signs(), vector(-1.5, 0.5, 0.1)),
    "igamma": lambda: (vector(0.5, 2.0).detach(), vector(1.5, 0.7)),
    "igammac": lambda: (vector(0.5, 2.0).detach(), vector(1.5, 0.7)),
    "index_fill.int_Tensor": lambda: (matrix(), 1, indices(0, 2), scalar()),
    "le_.Tensor": lambda: (signs(), vector(-1.5, 0.5, 0.1)),
    "leaky_relu_": lambda: (signs(), 0.1),
    "log_normal_": lambda: (signs(),),
    "lt_.Tensor": lambda: (signs(), vector(-1.5, 0.5, 0.1)),
    "native_dropout": lambda: (matrix(), 0.5, True),
    "ne_.Tensor": lambda: (signs(), vector(-1.5, 0.5, 0.1)),
    "normal_": lambda: (signs(),),
    "poisson": lambda: (vector(0.5, 3.0),),
    "random_": lambda: (signs(),),
    "random_.from": lambda: (signs(), 2, 5),
    "random_.to": lambda: (signs(), 5),
    "remainder.Scalar": lambda: (signs(), 0.7),
    "rrelu_with_noise_": lambda: (signs(), mindtorch.zeros(3, dtype=mindtorch.float64), 0.1, 0.3, True),
    "rsub.Scalar": lambda: (signs(), 2.0, 3.0),
    "select_copy.int": lambda: (matrix(), 1, 2),
    "slice_copy.Tensor": lambda: (matrix(), 1, 0, 3, 2),
    "special_xlog1py.other_scalar": lambda: (signs(), 1.5),
    "special_xlog1py.self_scalar": lambda: (1.5, vector(0.5, 2.0)),
    "special_zeta": lambda: (vector(2.5, 3.0).detach(), vector(0.5, 2.0)),
    "special_zeta.self_scalar": lambda: (2.5, vector(0.5, 2.0)),
    "split_copy.Tensor": lambda: (matrix(), 2, 1),
    "squeeze_": lambda: (scalar(),),
    "squeeze_.dims": lambda: (matrix(), (0,)),
    "squeeze_copy.dims": lambda: (matrix(), (0,)),
    "t_": lambda: (matrix(),),
    "uniform_": lambda: (signs(),),
    "view_as_real_copy": lambda: (zs(),),
    "xlogy.Scalar_Other": lambda: (signs(), 1.5),
    "xlogy.Scalar_Self": lambda: (1.5, vector(0.5, 2.0)),
}

# Formulas that nothing reaches: the row, and the inputs that they are for.
UNREACHED = {
    ("_pdist_backward", "grad, self, pdist"): "is not implemented, in PyTorch either",
    **{(row, name): "is of sparse tensors; see tests/sparse" for row, names in {
        "_coalesce": "self", "_sparse_addmm": "self mat1 mat2", "_sparse_broadcast_to": "self",
        "_sparse_coo_tensor_with_dims_and_tensors": "values", "_sparse_log_softmax": "self", "_sparse_softmax": "self",
        "_sparse_sparse_matmul": "self other", "_sparse_sum.dim": "self", "_to_dense": "self", "_to_sparse": "self",
        "_to_sparse.sparse_dim": "self", "_to_sparse_bsc": "self", "_to_sparse_bsr": "self", "_to_sparse_csc": "self",
        "_to_sparse_csr": "self", "sparse_compressed_tensor.comp_plain_value_size": "values", "sparse_mask": "self",
        "sparse_sampled_addmm": "self mat1 mat2", "values": "self"}.items() for name in names.split()},
    **{(row, "self"): "is of nested tensors; see tests/nested" for row in (
        "_nested_get_values", "_nested_view_from_jagged")},
    **{(row, "self"): "is that of the identity, which rounding is not; see tests/quantization" for row in (
        "fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine",
        "fake_quantize_per_tensor_affine.tensor_qparams")},
    ("_scaled_dot_product_fused_attention_overrideable", "query, key, value"):
        "is called on devices outside of PyTorch's tree; see tests/npu",
    ("_ctc_loss", "log_probs"): "has no second derivative, as in PyTorch; see tests/nn/test_sequence_losses.py",
    ("_standard_gamma", "self"): "the numbers drawn depend on the rate by rejection; see tests/distributions",
    ("_standard_gamma_grad", "self"): "refuses, as PyTorch's",
    ("view_as_complex_copy", "self"): "refuses, as PyTorch's",
    ("atanh_", "self"): "refuses, as PyTorch's",
    ("asinh_", "self"): "refuses, as PyTorch's",
    ("acosh_", "self"): "refuses, as PyTorch's",
    ("_unique2", "self"): "refuses, as PyTorch's",
    ("unique_dim", "self"): "refuses, as PyTorch's",
    ("unique_consecutive", "self"): "refuses, as PyTorch's",
    ("igamma", "self"): "refuses, as PyTorch's",
    ("igammac", "self"): "refuses, as PyTorch's",
    ("special_zeta", "self"): "refuses, as PyTorch's",
    ("special_zeta.other_scalar", "self"): "refuses, as PyTorch's",
    ("_cdist_backward", "grad, x1, x2, cdist"): "refuses, as PyTorch's",
    ("_embedding_bag_backward", "grad"): "refuses, as PyTorch's",
    ("normal.Tensor_float", "mean"): "zero by definition, although the numbers drawn move with the mean",
    ("normal.float_Tensor", "std"): "zero by definition, although the numbers drawn move with the mean",
    ("normal.Tensor_Tensor", "mean"): "zero by definition, although the numbers drawn move with the mean",
    ("normal.Tensor_Tensor", "std"): "zero by definition, although the numbers drawn move with the mean",
    ("as_strided_scatter", "self"): FIRST["as_strided_scatter"],
    ("as_strided_scatter", "src"): FIRST["as_strided_scatter"],
}
