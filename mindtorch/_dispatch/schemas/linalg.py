"""Linear algebra."""

SCHEMAS = """
fmo  mm(Tensor self, Tensor mat2) -> Tensor
fmo  bmm(Tensor self, Tensor mat2) -> Tensor
fmio addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
-    linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
"""
