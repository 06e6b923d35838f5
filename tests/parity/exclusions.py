"""What the comparison leaves out or compares differently: one row each, with its reason."""

from __future__ import annotations

# Entries that cannot be compared at all (operator of the database, reason).
EXCLUDED = {
    "jiterator_unary": "compiles CUDA source",
    "jiterator_binary": "compiles CUDA source",
    "jiterator_4inputs_with_extra_args": "compiles CUDA source",
    "jiterator_binary_return_by_ref": "compiles CUDA source",
    "jiterator_2inputs_2outputs": "compiles CUDA source",
    "chalf": "dtype complex32, which the library does not have",
    "to_sparse": "sparse layout",
    "sparse.mm.reduce": "sparse layout",
    "sparse.sampled_addmm": "sparse layout",
    "torch.ops.aten._flash_attention_forward": "needs CUDA",
    "torch.ops.aten._efficient_attention_forward": "needs CUDA",
}

# Entries that differ in every dtype, and why. There are at most eight.
DIFFERENT = {
    "amax": "two error inputs have 65 dimensions, and NumPy's arrays at most 64",
    "amin": "as amax",
    "aminmax": "as amax",
    "fft.ifft": "conjugation is computed at once, and PyTorch's result of a real input is lazily conjugated",
    "fft.ihfft": "as fft.ifft",
    "fft.ihfft2": "as fft.ifft",
    "fft.ihfftn": "as fft.ifft",
    "hash_tensor": "its result has dtype uint64, which the library does not have",
}

# Checks of an entry that cannot be made (entry, check, reason).
EXCLUDED_CHECKS = {
    ("nn.functional.gelu", "out= other layout"): "PyTorch leaves an out of another layout unwritten",
    ("nn.functional.linear", "out= other layout"): "PyTorch adds the bias in the shape of the out before",
    ("matmul", "out= other layout"): "PyTorch fails for an out that it cannot fold",
    ("geqrf", "out= other layout"): "PyTorch leaves a tau without elements its strides, but not the matrix",
    ("lu_unpack", "out= other layout"): "PyTorch writes out of bounds",
    ("linalg.lu", "out= other layout"): "PyTorch writes out of bounds",
    ("narrow_copy", "out= other layout"): "PyTorch writes as if it were contiguous",
    ("nn.functional.avg_pool3d", "out= other layout"): "PyTorch writes as if it were contiguous",
    ("tril", "out= other layout"): "PyTorch writes out of bounds",
    ("triu", "out= other layout"): "PyTorch writes out of bounds",
}

# Entries whose result is uninitialised memory: compared in everything but values.
UNINITIALISED = frozenset({
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_",
    "resize_as_",
})

# Entries whose result is unique only up to a sign, a phase or a rotation: values are compared after the
# function that the database gives with each sample for this purpose.
UP_TO_GAUGE = frozenset({
    "linalg.eig", "linalg.eigh", "linalg.svd", "svd", "svd_lowrank", "pca_lowrank",
})

# Entries that give values, indices or both where the index is that of any of several equal elements: which one
# is left to the algorithm (quickselect, or a sort that is not stable). The element at the index is compared, and the
# gradient only where no elements are equal. Entry -> position of `dim`.
ANY_OF_EQUALS = {
    "kthvalue": 1, "topk": 1, "median": 0, "mode": 0, "nanmedian": 0, "sort": 0, "argsort": 0, "msort": None,
}

HALF_MOMENTS = "moments rounded to half precision, and differences that cancel"
# Tolerances wider than those of torch.testing: entry, dtype -> (rtol, atol), reason.
TOLERANCES: dict[tuple[str, str], tuple[float, float, str]] = {
    ("fft.hfft2", "float32"): (1.3e-6, 1e-4, "sums that cancel, in another order"),
    ("linalg.eigh", "float32"): (2e-5, 2e-5, "the gradient divides by differences of eigenvalues"),
    ("linalg.householder_product", "float32"): (5e-5, 5e-5, "the gradient is a long product, associated otherwise"),
    ("linalg.lstsq", "float32"): (5e-5, 2e-4, "the gradient is that of the pseudo-inverse of nearly singular matrices"),
    ("linalg.lstsq.grad_oriented", "float32"): (5e-5, 2e-4, "as linalg.lstsq"),
    ("linalg.svd", "float32"): (5e-5, 5e-5, "the gradient divides by differences of squared singular values"),
    ("svd", "float32"): (5e-5, 5e-5, "as linalg.svd"),
    ("matmul", "float32"): (1e-5, 1e-4, "with out= PyTorch sums in another order"),
    ("matrix_exp", "float32"): (1e-4, 1e-2, "PyTorch computes in float32, here it is float64"),
    ("cov", "float32"): (1.3e-6, 5e-5, "the gradient is a small difference of large sums"),
    **{(name, "float32"): (2e-5, 2e-4, "the gradient of the places is a difference of large sums")
       for name in ("nn.functional.grid_sample", "grid_sampler_2d", "grid_sampler_3d")},
    ("nn.functional.conv3d", "float32"): (1.3e-6, 1e-4, "sums of many terms, in another order"),
    ("nn.functional.conv_transpose3d", "float32"): (1.3e-6, 3e-4, "as nn.functional.conv3d"),
    ("nn.functional.conv_transpose2d", "float16"): (1e-3, 2e-2, "sums of many terms, in another order"),
    ("nn.functional.conv_transpose3d", "float16"): (1e-3, 1e-1, "as nn.functional.conv_transpose2d"),
    ("nn.functional.conv2d", "complex64"): (1.3e-6, 1e-4, "PyTorch computes it of three real convolutions"),
    ("nn.functional.conv3d", "complex64"): (1.3e-6, 5e-4, "as nn.functional.conv2d"),
    ("nn.functional.conv_transpose2d", "complex64"): (1.3e-6, 1e-4, "as nn.functional.conv2d"),
    ("nn.functional.conv_transpose3d", "complex64"): (1.3e-6, 5e-4, "as nn.functional.conv2d"),
    **{(f"nn.functional.{name}", dtype): (eps, eps, "PyTorch adds up in half precision")
       for name in ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "interpolate.linear",
                    "interpolate.bicubic", "interpolate.trilinear", "interpolate.area", "grid_sample")
       for dtype, eps in (("float16", 1e-2), ("bfloat16", 8e-2))},
    ("nn.functional.conv_transpose2d", "bfloat16"): (1.6e-2, 2e-1, "as in float16"),
    ("nn.functional.conv_transpose3d", "bfloat16"): (1.6e-2, 1.0, "as in float16"),
    ("pow", "float32"): (2e-5, 1e-5, "large powers of both signs, summed in another order"),
    ("nn.functional.ctc_loss", "float32"): (1e-4, 1e-4, "PyTorch adds up logarithms in float32, here it is float64"),
    ("special.bessel_j0", "float64"): (1e-5, 1e-6, "PyTorch's coefficients have single precision"),
    ("special.bessel_y1", "float64"): (1e-5, 1e-6, "PyTorch's coefficients have single precision"),
    ("special.hermite_polynomial_he", "float32"): (
        5e-5,
        1e-5,
        "a recurrence that cancels, whose products PyTorch fuses",
    ),
    ("nn.functional.scaled_dot_product_attention", "float32"): (3e-5, 5e-5, "scores up to hundreds, in another order"),
    ("nn.functional.scaled_dot_product_attention", "float16"): (2e-3, 3e-2, "PyTorch rounds the weights"),
    ("nn.functional.scaled_dot_product_attention", "bfloat16"): (2e-2, 2e-1, "PyTorch rounds the weights"),
    ("native_batch_norm", "float16"): (4e-3, 4e-3, HALF_MOMENTS),
    ("native_batch_norm", "bfloat16"): (4e-2, 2e-2, HALF_MOMENTS),
    ("_native_batch_norm_legit", "float16"): (4e-3, 4e-3, HALF_MOMENTS),
    ("_native_batch_norm_legit", "bfloat16"): (4e-2, 2e-2, HALF_MOMENTS),
    ("_batch_norm_with_update", "float16"): (4e-3, 4e-3, HALF_MOMENTS),
    ("_batch_norm_with_update", "bfloat16"): (4e-2, 2e-2, HALF_MOMENTS),
    ("nn.functional.batch_norm", "float16"): (4e-3, 4e-3, HALF_MOMENTS),
    ("nn.functional.batch_norm", "bfloat16"): (4e-2, 2e-2, HALF_MOMENTS),
    ("nn.functional.instance_norm", "float16"): (4e-3, 4e-3, HALF_MOMENTS),
    ("nn.functional.instance_norm", "bfloat16"): (4e-2, 2e-2, HALF_MOMENTS),
    ("native_group_norm", "float16"): (4e-3, 4e-3, HALF_MOMENTS),
    ("native_group_norm", "bfloat16"): (4e-2, 2e-2, HALF_MOMENTS),
    ("nn.functional.group_norm", "float16"): (4e-3, 4e-3, HALF_MOMENTS),
    ("nn.functional.group_norm", "bfloat16"): (4e-2, 2e-2, HALF_MOMENTS),
    ("native_layer_norm", "float16"): (4e-3, 4e-3, HALF_MOMENTS),
    ("native_layer_norm", "bfloat16"): (4e-2, 2e-2, HALF_MOMENTS),
    ("nn.functional.layer_norm", "float16"): (4e-3, 4e-3, HALF_MOMENTS),
    ("nn.functional.layer_norm", "bfloat16"): (4e-2, 2e-2, HALF_MOMENTS),
    ("nn.functional.embedding_bag", "float16"): (2e-3, 2e-3, "sums of half precision in another order"),
    ("nn.functional.embedding_bag", "bfloat16"): (2e-2, 2e-2, "sums of half precision in another order"),
}
