"""What the comparison leaves out or compares differently: one row each, with its reason."""

from __future__ import annotations

# Entries that cannot be compared at all (operator of the database, reason).
EXCLUDED = {
    "jiterator_unary": "compiles CUDA source",
    "jiterator_binary": "compiles CUDA source",
    "jiterator_4inputs_with_extra_args": "compiles CUDA source",
    "jiterator_binary_return_by_ref": "compiles CUDA source",
    "jiterator_2inputs_2outputs": "compiles CUDA source",
    "to_sparse": "sparse layout",
    "sparse.mm.reduce": "sparse layout",
    "sparse.sampled_addmm": "sparse layout",
    "torch.ops.aten._flash_attention_forward": "needs CUDA",
    "torch.ops.aten._efficient_attention_forward": "needs CUDA",
}

# Entries that differ in every dtype, and why. There are at most eight.
DIFFERENT = {
    "fft.ifft": "an out= without elements gets the strides of PyTorch's transform",
    "fft.ihfft": "as fft.ifft",
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
    **{(name, check): "PyTorch may leave an out as it is, where there is one dimension"
       for name in ("fft.ihfft2", "fft.ihfftn") for check in ("out= other layout", "out= empty")},
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

# Tolerances wider than those of torch.testing, where what `accuracy.py` allows is not enough either:
# entry, dtype -> (rtol, atol), reason.
TOLERANCES: dict[tuple[str, str], tuple[float, float, str]] = {
    ("special.bessel_j0", "float64"): (1e-5, 1e-6, "PyTorch's coefficients have single precision"),
    ("special.bessel_y1", "float64"): (1e-5, 1e-6, "PyTorch's coefficients have single precision"),
    **{(name, "bfloat16"): (4e-2, 2e-2, "a running variance that PyTorch rounds twice")
       for name in ("native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update")},
}
